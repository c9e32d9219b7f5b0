"""Fields of tables and JSON, and what the detector makes of them."""

from __future__ import annotations

import csv
import json

import pytest

from sanitizer import Sanitizer
from sanitizer.text.syntax import pieces
from sanitizer.text.tables import Fields

CSV = """Who worked more than 15 hours?

name,department,age,hours
Olga Brandt,Sales,54,20
Henrik Aalto,Logistics,31,12.5
"""
MARKDOWN = """| guest | room | diet |
|---|---|---|
| Petra Zimmerlund | 109 | vegan |
| Judah Ost | 12 | none |
"""
JSON = '{"staff": [{"name": "Anna Moreau", "diagnosis": "asthma", "salary": 52000, "visits": 4}]}'


def kinds(text: str, *values: str) -> list[str | None]:
    fields = Fields(text, pieces(text), lambda word: True)
    return [fields.kind_at(text.index(value)) for value in values]


def test_a_field_is_told_by_its_column_or_key() -> None:
    assert kinds(CSV, "Olga", "Sales", "54", "20", "Henrik", "Who", "department") == [
        *("PERSON", "LISTED", "NUMBER", "", "PERSON"),
        *(None, None),
    ]
    assert kinds(MARKDOWN, "Petra", "109", "vegan", "Judah", "guest") == [
        *("PERSON", "ID", "", "PERSON", None)
    ]
    assert kinds(JSON, "Anna", "asthma", "52000", "4") == ["PERSON", "CONDITION", "MONEY", ""]


def test_a_hidden_name_tells_nothing() -> None:
    fields = Fields(CSV, pieces(CSV), lambda word: word != "age")
    assert fields.kind_at(CSV.index("54")) is None


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("first_name", "PERSON"),
        ("customerName", "PERSON"),
        ("plan name", ""),
        ("company name", "ORGANIZATION"),
        ("file_name", ""),
        ("product_name", "PRODUCT"),
        ("date_of_birth", "DATE"),
        ("order id", "ID"),
        ("actual_q1", "MONEY"),
        ("hba1c", "NUMBER"),
        ("absence_days", "NUMBER"),
        ("unit cost", "MONEY"),
        ("quantity", ""),
    ],
)
def test_names_of_several_words(name: str, kind: str) -> None:
    text = json.dumps({name: "xx yy"})
    assert kinds(text, "xx") == [kind]


@pytest.mark.parametrize(
    "text", ["", "|", "|-|", "|---|---|", "a|b\n---|---", "|a|\n|---|---|\n|", "{}"]
)
def test_broken_tables_are_no_error(text: str) -> None:
    assert Fields(text, pieces(text), lambda word: True).kind_at(0) is None


@pytest.mark.parametrize("policy", ["balanced", "deidentify"])
def test_a_table_keeps_its_shape_and_its_counts(policy: str) -> None:
    s = Sanitizer(policy=policy)
    out = s.sanitize(CSV)
    rows = list(csv.reader(out.text.strip().split("\n")[2:]))
    assert [len(row) for row in rows] == [4, 4, 4]
    assert rows[0] == ["name", "department", "age", "hours"]
    assert [row[3] for row in rows[1:]] == ["20", "12.5"]
    assert not any(word in out.text for word in ("Olga", "Brandt", "Aalto", "54", "31"))
    assert s.restore(out.text) == CSV


def test_json_stays_json() -> None:
    s = Sanitizer()
    out = s.sanitize(JSON)
    (row,) = json.loads(out.text)["staff"]
    assert row["visits"] == 4
    assert not any(word in out.text for word in ("Anna", "asthma", "52000"))
    assert s.restore(out.text) == JSON


TABLES = (
    "Here is our overtime for spring. Which of them worked more than 15 hours, and what do we owe "
    "in total at 31.50 an hour?\n\nname,department,age,hours\nOlga Brandt,Sales,54,20\n"
    "Henrik Aalto,Logistics,31,12.5\nNoor Haddad,Sales,29,17\n",
    "Show every customer with at least 3 open tickets, busiest first.\n\n| customer | status | "
    "tickets |\n|---|---|---|\n| Jocasta Byrne | Open | 4 |\n| Anselm Picot | Closed | 2 |\n",
)
STAYS = (
    ("more than 15 hours", "at 31.50 an hour", "Sales", "Logistics", ",20", "12.5", ",17"),
    ("at least 3 open tickets", "Open", "Closed", "| 4 |", "| 2 |"),
)


@pytest.mark.parametrize("policy", ["balanced", "deidentify"])
@pytest.mark.parametrize(("text", "stays"), list(zip(TABLES, STAYS, strict=True)))
def test_a_question_about_a_table_can_be_answered(
    policy: str, text: str, stays: tuple[str, ...]
) -> None:
    """Limits and prices of a question, groups and counts stay; the people leave."""
    sanitizer = Sanitizer(policy=policy)
    released = sanitizer.sanitize(text)
    assert [part for part in stays if part not in released.text] == []
    for name in ("Brandt", "Aalto", "Haddad", "Byrne", "Picot"):
        assert name not in released.text
    assert sanitizer.restore(released.text, released) == text


def test_a_log_in_name_in_a_path_is_hidden() -> None:
    """Under `deidentify`, where unknown words stay."""
    text = 'File "/home/tkowalski/app/billing.py", C:\\Users\\mquent\\x.log and /home/ubuntu/app'
    released = Sanitizer(policy="deidentify").sanitize(text).text
    assert "/home/ubuntu" in released
    assert [name for name in ("kowalski", "mquent") if name in released] == []
