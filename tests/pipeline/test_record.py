"""The record's bound at a small delta stands beside the plain sum."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from sanitizer import Cape, Sanitizer
from sanitizer.cli.display import describe
from sanitizer.lm.masked import OnnxMaskedLM
from sanitizer.pipeline.record import BOUND_DELTA
from sanitizer.privacy.accounting import Accountant, StaircaseEvent
from sanitizer.results import joined_record
from sanitizer.testing.models import SeededSource, ToyBackbone
from tests.conftest import Told
from tests.pipeline.recording import zeros

CASES = tomllib.loads(Path(__file__).with_name("cases.toml").read_text("utf-8"))
TEXT = "Peter met Anna Maria Schmidt near Leeds, Bath, Hull, York, Wells, Ely, Truro and Derby."


def test_many_draws_are_bounded_by_less_than_their_sum_at_a_small_delta() -> None:
    mechanism = Cape(0.5, n_shortlist=10, n_top=2)
    sanitizer = Sanitizer(mechanism, "strict", model=ToyBackbone(zeros))
    results = [sanitizer.sanitize(f"{TEXT} {n}", source=SeededSource(n)) for n in range(2)]
    record = results[0].record
    assert record.bound_delta == BOUND_DELTA
    accountant = Accountant()
    event = StaircaseEvent(0.5, 2, 10, unit="word", relation="replace-one")
    accountant.compose(event, record.n_units)
    assert record.epsilon_at_delta == accountant.epsilon(BOUND_DELTA)
    assert 0 < record.epsilon_at_delta < record.epsilon_total == 0.5 * record.n_units
    assert record.delta == 0.0, "the plain sum stays what it was"
    assert f"({record.epsilon_at_delta:.4g} at delta 1e-06)" in describe(record)
    both = joined_record(results)
    assert both.epsilon_at_delta == 2 * record.epsilon_at_delta
    assert both.bound_delta == 2 * BOUND_DELTA


def test_no_bound_is_stated_where_nothing_is_proved() -> None:
    published = Sanitizer(Cape(variant="published"), "strict", model=ToyBackbone(zeros)).sanitize(
        "Anna cried."
    )
    assert published.record.epsilon_at_delta == float("inf")
    assert published.record.as_dict()["epsilon_at_delta"] is None
    nothing = Sanitizer(Cape(2.0), "strict", model=ToyBackbone(zeros)).sanitize("of the")
    assert nothing.record.epsilon_at_delta == 0.0


def test_a_question_about_what_is_replaced_is_hinted_at(model: OnnxMaskedLM, told: Told) -> None:
    told(PERSON="Marsh", TREATMENT="warfarin aspirin", ORIGIN="Brazilian", DATE="2 March")
    text = "Dr Marsh gave me warfarin. Is it safe to take aspirin with it?"
    out = Sanitizer(policy="balanced", model=model).sanitize(text)
    assert [hint.split()[0] for hint in out.hints] == ["illnesses"]
    out = Sanitizer(policy="balanced", model=model).sanitize("Dr Marsh gave me warfarin.")
    assert out.hints == ()
    papers = "My passport expires on 2 March and I am Brazilian. Do I need a visa for Norway?"
    out = Sanitizer(policy="balanced", model=model).sanitize(papers)
    assert [hint.split()[0] for hint in out.hints] == ["where"]


@pytest.mark.parametrize(("text", "says"), CASES["hints"])
def test_a_task_that_needs_hidden_amounts_is_hinted_at(
    told: Told, text: str, says: list[str]
) -> None:
    told(
        PERSON="Elena Marsh Otto Quill",
        PLACE="Lisbon Lagos",
        ID="ORD 2024 00417",
        MONEY="240 95 42 000 39 500 950 420",
        DATE="1 3 4 5 March May June 1984 2026",
    )
    out = Sanitizer(policy="deidentify").sanitize(text)
    assert [hint.split()[0] for hint in out.hints] == says
    assert out.as_dict()["hints"] == list(out.hints)
    assert not any(word in hint for hint in out.hints for word in ("240", "Marsh", "1984"))
