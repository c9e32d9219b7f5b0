"""The examples of every row are its tests."""

from __future__ import annotations

import re

import pytest

from sanitizer.identifiers.rows import KINDS, Registry, Row, packaged, row_of
from sanitizer.identifiers.search import find

ROWS = list(packaged().rows.values())
WANTED = frozenset(KINDS) - {"LINK"}
"""All kinds but plain links, which may hold a key that is found where links are left."""


def parted(example: str) -> tuple[str, int, int]:
    """The text of an example, and where its value begins and ends."""
    before, value, after = re.split("[⟦⟧]", example)
    return before + value + after, len(before), len(before) + len(value)


@pytest.mark.parametrize(
    ("row", "example"),
    [
        pytest.param(row, each, id=f"{row.name}-{i}")
        for row in ROWS
        for i, each in enumerate(row.positive)
    ],
)
def test_a_positive_example_is_found_whole(row: Row, example: str) -> None:
    text, start, end = parted(example)
    wanted = WANTED | {row.kind}
    found = [each for each in find(text, wanted) if each.start <= start and end <= each.end]
    assert [each.kind for each in found] == [row.kind]


@pytest.mark.parametrize(
    ("row", "example"),
    [
        pytest.param(row, each, id=f"{row.name}-{i}")
        for row in ROWS
        for i, each in enumerate(row.negative)
    ],
)
def test_a_negative_example_is_left(row: Row, example: str) -> None:
    assert [each for each in find(example) if each.row == row.name] == []


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_row_says_what_it_is(row: Row) -> None:
    assert row.kind in KINDS
    assert row.label
    assert row.positive
    if row.form:
        assert row.pattern.match("") is None or row.at


def test_a_policy_may_switch_rows_off_and_add_some() -> None:
    ticket = row_of(
        {
            "name": "ticket-of-ours",
            "class": "ID",
            "label": "ticket",
            "words": {"en": ["our ticket"]},
            "form": "[A-Z]{2}-[0-9]{4}",
        }
    )
    registry = packaged().having([ticket], off=["github"])
    assert [i.row for i in find("see our ticket QX-4471", registry=registry)] == ["ticket-of-ours"]
    token = "ghp_" + "aK3x9QmZ" * 4 + "7pL2"
    assert [i.row for i in find(token)] == ["github"]
    assert find(token, registry=registry) == []
    with pytest.raises(ValueError, match="no kind 'hubbub'"):
        packaged().having(off=["hubbub"])
    with pytest.raises(ValueError, match="taken"):
        packaged().having([ROWS[0]])


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"name": "A b"}, "lower case"),
        ({"name": "a", "class": "SHOE"}, "class must be"),
        ({"name": "a", "class": "ID"}, "needs a form"),
        ({"name": "a", "class": "ID", "form": "(", "at": ["x"]}, "not valid"),
        ({"name": "a", "class": "ID", "form": "x", "at": ["x"], "check": "nothing"}, "nothing"),
        ({"name": "a", "class": "ID", "form": "x", "at": ["x"], "colour": "red"}, "keys must be"),
    ],
)
def test_a_row_that_says_nonsense_is_refused(table: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        row_of(table)


def test_an_empty_registry_finds_nothing() -> None:
    assert find("anna@example.org", registry=Registry([])) == []
