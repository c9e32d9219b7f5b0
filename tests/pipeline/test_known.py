"""Identifiers of a conversation are found wherever they stand in a text of the user."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from sanitizer import Sanitizer
from sanitizer.pipeline.surrogates import KnownIdentifiers
from sanitizer.storage.table import Originals

CASES = tomllib.loads(Path(__file__).with_name("cases.toml").read_text("utf-8"))
KINDS = {
    "8731": "CARD",
    "anna@x.org": "EMAIL",
    "hunter2x9": "KEY",
    "47": "NUMBER",
    "Nowak": "PERSON",
    "window": "KEY",
}


def known(*forms: str) -> KnownIdentifiers:
    found = KnownIdentifiers(lambda wanted: {w: KINDS[w] for w in wanted if w in KINDS})
    found.follow(Originals({f"<{KINDS[form]}_{i}>": form for i, form in enumerate(forms)}))
    return found


@pytest.mark.parametrize(("text", "found"), CASES["seen"])
def test_what_is_found(text: str, found: list[str]) -> None:
    spans = known(*KINDS).spans(text)
    assert [text[start:end] for start, end, _ in spans] == found
    kinds = [next(KINDS[form] for form in KINDS if form in token) for token in found]
    assert [kind for *_, kind in spans] == kinds


def test_names_are_a_detectors_task() -> None:
    assert known(*KINDS).spans("Nowak") == []


@pytest.mark.parametrize(
    ("spelling", "form"), [("8731", "8731"), ("8731.0", "8731"), ("87", None), ("47", None)]
)
def test_numbers_are_compared_by_value(spelling: str, form: str | None) -> None:
    wanted = known(*KINDS).number(spelling)
    assert (wanted and wanted[:2]) == (form and (KINDS[form], form))


def test_what_is_added_later_counts() -> None:
    found = known("8731")
    originals = Originals({"<CARD_1>": "8731"})
    found.follow(originals)
    originals["<KEY_2>"] = "hunter2x9"
    found.follow(originals)
    assert len(found.spans("hunter2x9 8731")) == 2
    found.follow(Originals())
    assert found.spans("hunter2x9 8731") == []


@pytest.mark.parametrize("policy", ["identifiers", "deidentify", "balanced"])
def test_an_identifier_is_hidden_whatever_stands_next_to_it(policy: str) -> None:
    sanitizer = Sanitizer(policy=policy)
    sanitizer.sanitize("My SSN is 078-05-1120.")
    out = sanitizer.sanitize("Please read a078-05-1120b to me.")
    assert "078-05-1120" not in out.text
    assert sanitizer.restore(out.text) == "Please read a078-05-1120b to me."


@pytest.mark.parametrize("policy", ["identifiers", "balanced"])
@pytest.mark.parametrize(("text", "value"), CASES["announced"])
def test_what_one_occurrence_announces_is_hidden_at_all_others(
    policy: str, text: str, value: str
) -> None:
    sanitizer = Sanitizer(policy=policy)
    result = sanitizer.sanitize(text)
    assert value not in result.text
    assert sanitizer.restore(result.text, result) == text


def test_what_a_later_text_announces_is_hidden_in_the_texts_before_it() -> None:
    sanitizer = Sanitizer(policy="identifiers")
    texts = ["Is 471188 paid?", "My customer number is 471188."]
    first, second = sanitizer.sanitize_batch(texts, together=True)
    assert "471188" not in first.text + second.text
    assert sanitizer.sanitize_batch(texts, together=True)[0].text == first.text


def test_rows_that_do_not_belong_together_tell_each_other_nothing() -> None:
    texts = ["Is 471188 paid?", "My customer number is 471188."]
    first, _ = Sanitizer(policy="identifiers").sanitize_batch(texts, together=False)
    assert first.text == texts[0]


def test_short_ids_count_where_they_are_announced_only() -> None:
    result = Sanitizer(policy="identifiers").sanitize("My customer number is 4711; 4711 sheep.")
    assert result.text.endswith("; 4711 sheep.")
    assert "number is 4711;" not in result.text
