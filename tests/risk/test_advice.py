"""The advice: the most meaning within the risk, or the safest setting; and the meter of a text."""

from __future__ import annotations

import json
from dataclasses import replace
from math import inf, nan
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from sanitizer import Cape, Sanitizer
from sanitizer.cli.display import advice_text
from sanitizer.privacy.cape import PROFILES
from sanitizer.risk.advice import NOTHING_PRIVATE, UNCERTIFIED, Advice, RiskMeter, advise
from sanitizer.risk.posterior import ceiling
from sanitizer.testing.models import SeededSource, ToyBackbone

PROMPT = "My father Peter has hepatitis."


def scores(n: int, m: int) -> NDArray[np.float32]:
    return np.random.default_rng(3).normal(size=(n, m)).astype(np.float32)


@pytest.fixture(scope="module")
def toy() -> ToyBackbone:
    return ToyBackbone(scores)


@pytest.fixture(scope="module")
def advice(toy: ToyBackbone) -> Advice:
    return advise([PROMPT], 0.05, epsilons=(2.0, 5.0, 10.0), model=toy, source=SeededSource(1))


@pytest.mark.slow
def test_the_choice_keeps_the_most_meaning_within_the_risk(advice: Advice) -> None:
    assert advice.met
    within = [
        s for s in advice.table if s.attack is not None and max(s.ceiling, s.attack) <= advice.risk
    ]
    assert advice.choice in within
    assert advice.choice.meaning == max(s.meaning for s in within)
    assert advice.choice.meaning < max(s.meaning for s in advice.table)


def test_the_table_has_every_mechanism_at_every_epsilon(advice: Advice) -> None:
    names = {f"cape {profile}" for profile in PROFILES} | {"dyntext"}
    assert {(s.name, s.mechanism.epsilon) for s in advice.table} == {
        (n, e) for n in names for e in (2.0, 5.0, 10.0)
    }
    assert all(s.mechanism.certified for s in advice.table)


def test_figures_follow_epsilon(advice: Advice) -> None:
    stairs = [s for s in advice.table if s.name == "cape staircase"]
    for figure in ("meaning", "ceiling", "worst_ceiling"):
        values = [getattr(s, figure) for s in stairs]
        assert values == sorted(values)
        assert values[0] < values[-1]
    for setting in advice.table:
        assert setting.ceiling <= setting.worst_ceiling
        assert setting.worst_ceiling == pytest.approx(
            ceiling(advice.worst_prior, setting.mechanism.epsilon)
        )
        assert (setting.attack is None) == (setting.ceiling > advice.risk)


@pytest.mark.slow
def test_where_nothing_meets_the_risk_the_safest_is_given(toy: ToyBackbone) -> None:
    found = advise([PROMPT], 1e-7, epsilons=(4.0, 2.0), model=toy, source=SeededSource(1))
    assert not found.met
    assert found.choice.mechanism.epsilon == 2.0
    assert found.choice.attack == min(s.attack for s in found.table if s.attack is not None)
    assert "No setting" in advice_text(found)


@pytest.mark.slow
def test_a_higher_risk_allows_more_meaning(toy: ToyBackbone, advice: Advice) -> None:
    bold = advise([PROMPT], 0.99, epsilons=(2.0, 10.0), model=toy, source=SeededSource(1))
    assert bold.met
    assert bold.choice.mechanism.epsilon == 10.0
    assert bold.choice.meaning > advice.choice.meaning


def test_three_samples_are_drawn_and_said_to_stay_here(advice: Advice) -> None:
    assert len(advice.samples) == 3
    assert all(s.startswith("My ") and s.endswith(".") and " has " in s for s in advice.samples)
    assert len(set(advice.samples)) > 1
    assert "releases nothing" in advice.note
    text = advice_text(advice)
    assert "releases nothing" in text
    assert f"> {advice.choice.name}" in text


def test_no_private_word_is_shown(advice: Advice) -> None:
    shown = repr(advice) + json.dumps(advice.as_dict()) + advice_text(advice)
    assert "Peter" not in shown
    assert "hepatitis" not in shown
    assert "father" not in repr(advice)
    assert advice.as_dict()["choice"]["settings"]["epsilon"] == advice.choice.mechanism.epsilon


@pytest.mark.slow
def test_long_texts_are_measured_in_part(toy: ToyBackbone) -> None:
    texts, source = ["Peter met Anna in Leeds. " * 10], SeededSource(1)
    found = advise(texts, 0.5, "words", epsilons=(2.0,), model=toy, source=source)
    assert (found.n_words, found.n_measured) == (30, 15)


def test_control_characters_in_a_sample_do_not_reach_the_terminal(advice: Advice) -> None:
    text = advice_text(replace(advice, samples=("\x1b[7m Peter \x00",)))
    assert "\x1b" not in text
    assert "\\x1b[7m Peter \\x00" in text


@pytest.mark.parametrize(
    ("texts", "options", "said"),
    [
        *(([PROMPT], {"risk": r}, "risk") for r in (0.0, 1.0, -0.1, 1.5, nan, inf, True)),
        ([], {}, "texts"),
        ("London", {}, "texts"),
        (["the of"], {}, "texts"),
        ([PROMPT], {"epsilons": ()}, "epsilons"),
        ([PROMPT], {"epsilons": (-1.0,)}, "epsilon"),
    ],
)
def test_bad_arguments_are_named(
    toy: ToyBackbone, texts: Any, options: dict[str, Any], said: str
) -> None:
    with pytest.raises(TypeError if texts == "London" else ValueError, match=said):
        advise(texts, **{"risk": 0.1, "model": toy, **options})


def test_the_choice_can_be_used(advice: Advice, toy: ToyBackbone) -> None:
    found = Sanitizer(advice.choice.mechanism, model=toy, policy="words").sanitize(
        PROMPT, source=SeededSource(1)
    )
    assert found.record.certified
    assert found.record.epsilon_per_unit == advice.choice.mechanism.epsilon


def test_the_meter_bounds_the_best_guess(toy: ToyBackbone) -> None:
    sanitizer = Sanitizer(Cape(2.0), model=toy, policy="words")
    meter = RiskMeter(sanitizer)
    risk = meter.measure(sanitizer, "Peter met Anna, and Paul met Mary in Leeds.")
    assert 0 < risk.ceiling < 1
    assert risk.expected is not None
    assert "as measured on 3 of them" in risk.note
    assert meter.measure(sanitizer, "of the").note == NOTHING_PRIVATE


def test_the_meter_has_no_bound_for_an_uncertified_mechanism(toy: ToyBackbone) -> None:
    sanitizer = Sanitizer(Cape(2.0, variant="published"), model=toy, policy="words")
    risk = RiskMeter(sanitizer).measure(sanitizer, PROMPT)
    assert (risk.ceiling, risk.expected, risk.note) == (1.0, None, UNCERTIFIED)
