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
        ("the permit is ", " weeks late", "NUMBER"),
        ("", "-month history of pain", "NUMBER"),
        ("a package plus ", "% bonus", "NUMBER"),
        ("our error rate fell to ", " %", "NUMBER"),
        ("the client is ", "% of revenue", "NUMBER"),
        ("how much is ", "% of revenue", None),
        ("raise all prices by ", "%", None),
        ("closed few files against a target of ", ", and", "NUMBER"),
        ("a target of ", " words", None),
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
        ("8080:80", 'ports: ["', '"]', True),
        ("22:41", 'ports: ["', '"]', False),
        ("5432", "  port: ", "\n", True),
        ("502", "it says error ", " now", True),
        ("ten", "we will look into it within ", " working days", True),
        ("two", "Can they do that after ", " months?", True),
        ("23", "she was in hospital for ", " days and", False),
        ("214", "She closed ", " files", False),
        ("22", "\ufffc. Led ", " people", False),
        ("88", "a plant with ", " employees", False),
        ("3.1", "net debt is ", " times earnings", False),
        ("3", "I took the pills, its been ", " days", True),
        ("two", "She bought a table for ", " adults", True),
        ("3", "They asked for ", " pages", True),
        ("4", "they went away. Write ", " sentences", True),
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
