"""What form and visible words tell of a number."""

from __future__ import annotations

import pytest

from sanitizer.detect.numbers import public_number, role, ruled_out


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("she lies in room ", ", tired", "ID"),
        ("I'm ", " and tired", "NUMBER"),
        ("he is ", " years old", "NUMBER"),
        ("I'm ", " minutes late", None),
        ("I weigh ", " kg", "NUMBER"),
        ("the bag weighs ", " kg", None),
        ("my rent is ", " now", "MONEY"),
        ("he earns about $", " now", "MONEY"),
        ("a list of ", " words", None),
        ("on the ", " of may", "DATE"),
        ("we ", " may", None),
        ("my son is ", " weeks and sleeps", "NUMBER"),
        ("I have had this cough for about ", " weeks now", "NUMBER"),
        ("plan what we have to do for ", " weeks", None),
    ],
)
def test_the_role_of_a_number(before: str, after: str, expected: str | None) -> None:
    assert role(before, after) == expected


@pytest.mark.parametrize(
    ("number", "before", "after", "expected"),
    [
        ("14", "I want a refund within ", " days or", True),
        ("two", "add ", " sentences about it", True),
        ("6", "with troubleshooting steps, max ", ", please", True),
        ("12", "for a period of ", " months", True),
        ("3.9.0", "broken since ", ".", True),
        ("1", "\n", ". The contractor shall", True),
        ("57", "at IbanCheck.java:", ")", True),
        ("12", "explain it like im ", ", please", True),
        ("three", "she sent me ", " offers", True),
        ("16", "my son is ", " weeks and sleeps", False),
        ("41", "the lift was down for ", " days last winter", False),
        ("2", "boil them for ", " hours", True),
        ("fifty", "a watchmaker for ", " years people knew", False),
        ("38", "I'm ", " and tired", False),
        ("9", "she is ", " weeks pregnant", False),
        ("43,000", "I earn ", " a year", False),
        ("17", "my daughter is ", " years old", False),
        ("4417", "my card ends in ", ".", False),
    ],
)
def test_numbers_of_the_task(number: str, before: str, after: str, expected: bool) -> None:
    assert public_number(number, before, after) is expected


@pytest.mark.parametrize(
    ("word", "out", "left"),
    [
        ("148/92", {"DATE"}, {"NUMBER", "ID"}),
        ("2024-03-01", {"NUMBER", "MONEY"}, {"DATE"}),
        ("courier", {"MONEY", "DATE", "NUMBER"}, {"PERSON"}),
        ("Boxing", {"MONEY"}, {"DATE"}),
        ("grand", {"DATE"}, {"MONEY"}),
        ("nine", {"CONDITION"}, {"NUMBER", "DATE"}),
        ("5mg", {"DATE", "ID", "MONEY"}, {"NUMBER", "TREATMENT"}),
        ("4B", {"PERSON", "OCCUPATION", "MONEY"}, {"ID", "PRODUCT"}),
        ("14", {"ID"}, {"DATE", "NUMBER", "MONEY"}),
        ("18:22", {"ID", "MONEY"}, {"DATE"}),
        ("9k", {"PERSON"}, {"MONEY"}),
        ("4417", {"CONDITION"}, {"ID"}),
        ("8841290", {"NUMBER", "DATE"}, {"ID", "MONEY"}),
    ],
)
def test_what_a_written_form_rules_out(word: str, out: set[str], left: set[str]) -> None:
    assert out <= ruled_out(word)
    assert left.isdisjoint(ruled_out(word))
