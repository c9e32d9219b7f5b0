"""Advice by class: the largest epsilon whose best guess stays within the risk."""

from __future__ import annotations

import json

import numpy as np
import pytest

from sanitizer import Cape
from sanitizer.cli.display import class_advice_text
from sanitizer.lm.masked import OnnxMaskedLM
from sanitizer.lm.tokens import WordPieces
from sanitizer.pipeline.classes import ClassDraws, common_first
from sanitizer.risk.classes import ClassAdvice, advise_classes, distributions
from sanitizer.text.policy import DRAWN

EPSILONS = (1.0, 3.0, 5.0)


@pytest.fixture(scope="module")
def advice(model: OnnxMaskedLM) -> ClassAdvice:
    return advise_classes(0.14, epsilons=EPSILONS, model=model)


def test_each_class_gets_the_largest_epsilon_within_the_risk(advice: ClassAdvice) -> None:
    assert tuple(advice.epsilons) == DRAWN
    for kind, epsilon in advice.epsilons.items():
        rows = [row for row in advice.table if row.kind == kind]
        assert epsilon == max((row.epsilon for row in rows if row.guess <= 0.14), default=None)
        assert all(row.guess > row.blind for row in rows)
        assert [row.guess for row in rows] == sorted(row.guess for row in rows)
    assert advice.epsilons["CONDITION"] == 3.0
    assert advice.epsilons["BELIEF"] == 1.0, "a class with two lists counts as the worse of them"
    assert advice.epsilon == 1.0
    assert advice.vault == ()


def test_the_guess_is_that_of_the_drawn_distribution(
    advice: ClassAdvice, model: OnnxMaskedLM
) -> None:
    draws = ClassDraws(Cape(3.0), model, WordPieces(model.folder / "tokenizer.json"))
    rows = distributions(draws, "CONDITION")
    best = float((rows * common_first(len(rows))[:, None]).max(axis=0).sum())
    (found,) = [r for r in advice.table if (r.kind, r.epsilon) == ("CONDITION", 3.0)]
    assert found.guess == pytest.approx(best)


def test_a_class_beyond_the_risk_goes_to_the_vault(model: OnnxMaskedLM) -> None:
    advice = advise_classes(0.05, epsilons=(1.0,), model=model)
    assert advice.epsilons["CONDITION"] == 1.0
    assert advice.vault == ("BELIEF", "ORIGIN", "CRIME")
    told = class_advice_text(advice)
    assert "with BELIEF, ORIGIN, CRIME in the vault" in told
    assert json.loads(json.dumps(advice.as_dict()))["vault"] == ["BELIEF", "ORIGIN", "CRIME"]


@pytest.mark.slow
def test_two_linked_things_allow_less(model: OnnxMaskedLM) -> None:
    one, two = (
        advise_classes(0.5, n_linked=n, epsilons=(1.0, 2.0), model=model).table for n in (1, 2)
    )
    for alone, linked in zip(one, two, strict=True):
        assert linked.guess > alone.guess
        odds = linked.blind / (1 - linked.blind) * np.exp(2 * linked.epsilon)
        assert linked.guess <= odds / (1 + odds), "two draws are 2 epsilon"


def test_bad_arguments_are_named(model: OnnxMaskedLM) -> None:
    with pytest.raises(ValueError, match="risk"):
        advise_classes(0.0, model=model)
    with pytest.raises(ValueError, match="n_linked"):
        advise_classes(0.1, n_linked=3, model=model)
    with pytest.raises(ValueError, match="epsilons"):
        advise_classes(0.1, epsilons=(), model=model)
