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
        *("PERSON", "", "NUMBER", "", "PERSON"),
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
