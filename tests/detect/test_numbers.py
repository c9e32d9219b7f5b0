"""What form and visible words tell of a number."""

from __future__ import annotations

import pytest

from sanitizer.detect.counts import figure, public_number
from sanitizer.detect.numbers import role, ruled_out


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
        ("my son is ", " weeks and sleeps", "NUMBER"),
        ("I have had this cough for about ", " weeks now", "NUMBER"),
        ("plan what we have to do for ", " weeks", None),
        ("take ", " mg at night", "NUMBER"),
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
        ("32", "he works ", " hours a week", False),
        ("12", "in august my overtime of ", " hours", False),
        ("41", "Patients seen: ", ". Waiting", False),
        ("1", "do this: ", ". Open", True),
        ("144", "at SignView.onSave(SignView.\ufffc:", ")\n", True),
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
        ("1", "dated \ufffc\n(", ") \ufffc", True),
        ("3.4", "The Buyer shall pay.\n", " \ufffc is capped", True),
        ("3.40", "two lemons\n", " \ufffc", False),
        ("413", "my nginx returns ", ", why", True),
        ("413", "my aunt returns ", " bottles", False),
        ("365", "I have Office ", ";", True),
        ("6379", "redis at \ufffc:", " is slow", True),
        ("6311", "redis at \ufffc:", " is slow", False),
        ("2031-02-03", 'where start is like "', '" and', True),
        ("2031-02-03", 'she was born "', '" and', False),
        ("8", "We use .NET ", ",", True),
        ("2.11", "\ufffc ", " ships on", True),
        ("30", "for ", " s, then", True),
        ("four", "your notice is ", " weeks", False),
        ("16", "it is since ", " days in port", False),
        ("9", "plus ", " days of untaken holiday", False),
    ],
)
def test_numbers_of_the_task(number: str, before: str, after: str, expected: bool) -> None:
    assert public_number(number, before, after) is expected


def test_a_year_of_somebodys_life_is_a_date() -> None:
    assert role("she graduated from there in ", ".", "2012") == "DATE"
    assert role("the war ended in ", ".", "1945") is None
    assert role("UPDATE staff SET salary = ", ", grade", "51250") == "MONEY"
    assert role("document ", " was booked", "5105600312") == "ID"
    assert role("about ", " of them", "5000000") is None


@pytest.mark.parametrize(
    ("number", "before", "after", "found"),
    [
        ("1,420", "Sales were down and returns doubled to ", ".", True),
        ("412", "The premium rises from ", " to", True),
        ("38", "Sleep is poor. Attendance: ", ".", True),
        ("8", "Sales in the north were down ", "% and", True),
        ("2.3", "The lorry was ", " tonnes overweight", True),
        ("3", "They hope for ", " million a year", True),
        ("40", "Import is ", "% faster", False),
        ("640", "There are ", " left in the cellar", True),
        ("14", "There are ", " left in the cellar", False),
        ("500", "Add a discount for orders above ", " units", False),
        ("1,250", "What if a firm has ", " customers?", False),
        ("2019", "The lane was flooded in ", ".", False),
        ("9001", "They are certified under ISO ", ".", False),
        ("164", "it stops (abort:", ")", False),
        ("65", "They are made of ", "% Cotton", False),
        ("0.05", "The tolerance is ", " mm", False),
        ("four", "your notice is ", " weeks", True),
        ("9", "You will receive it plus ", " days of untaken holiday", True),
        ("four", "give me ", " weeks", False),
    ],
)
def test_figures_that_a_sentence_tells(number: str, before: str, after: str, found: bool) -> None:
    assert (figure(number, before, after) is not None) is found


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
