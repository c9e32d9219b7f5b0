"""Structured identifiers: what is found, what is left alone, and in what time."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import islice, pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sanitizer.identifiers.rows import KINDS, packaged
from sanitizer.identifiers.search import Identifier, find, same_form
from sanitizer.testing.models import SeededSource
from tests.identifiers.samples import FOUND

CASES = Path(__file__).parent / "cases"


def lines(name: str) -> list[str]:
    """Return the cases of a file, one a line; ⏎ is a line end."""
    text = (CASES / f"{name}.txt").read_text("utf-8")
    return [line.replace("⏎", "\n") for line in text.splitlines()]


@pytest.mark.parametrize(("kind", "identifier", "around"), FOUND)
def test_finds_the_identifier_and_nothing_around_it(
    kind: str, identifier: str, around: str
) -> None:
    text = around.format(identifier)
    at = text.index(identifier)
    assert Identifier(at, at + len(identifier), kind, identifier) in find(text)


@pytest.mark.parametrize("text", lines("left-alone"))
def test_leaves_what_only_looks_like_one(text: str) -> None:
    assert find(text) == []


@pytest.mark.parametrize(
    "text", ["-----BEGIN CERTIFICATE-----\nMIIB", "ıt60x0542811101000000123456", "-----BEGIN "]
)
def test_what_only_begins_like_an_identifier_raises_nothing(text: str) -> None:
    assert find(text) == []


@pytest.mark.parametrize(
    "address", ["http://intranet/wiki", "https://anna@a.com/b", "ssh://a.com/b", "a.com/b?q=1"]
)
def test_an_address_that_tells_more_than_a_page_is_no_plain_link(address: str) -> None:
    assert [i.kind for i in find(f"see {address}, and a.com/b", {"URL"})] == ["URL"]


@given(
    st.text(st.sampled_from("0123456789 .:-/@+(),aAbfxGz\n\u200b１-_="), max_size=80)
    | st.text(max_size=80)
)
@settings(max_examples=300)
def test_spans_are_slices_in_order_without_overlap(text: str) -> None:
    found = find(text)
    assert all(i.kind in KINDS and i.text == text[i.start : i.end] != "" for i in found)
    assert all(a.end <= b.start for a, b in pairwise(found))


@pytest.mark.parametrize(
    "address", ["jos\\u00e9.14@example.org", "zo\\u00eb\\xe9@example.org", "\\u00e9@example.org"]
)
def test_an_address_begins_before_its_escaped_letters(address: str) -> None:
    assert [i.text for i in find(f'{{"\\u00e9": "{address}"}}', {"EMAIL"})] == [address]


def test_only_the_wanted_kinds_are_searched() -> None:
    text = "https://10.0.0.1/ of anna@x.org"
    assert [i.kind for i in find(text)] == ["URL", "EMAIL"]
    assert [i.text for i in find(text, {"IP"})] == ["10.0.0.1"]
    assert find(text, ()) == []


def prefixes() -> Iterator[tuple[str, str, bool]]:
    """Yield what keys begin with, a dull rest that fits, and whether a word may stand before it."""
    dull = ["A" * n for n in range(16, 64)] + ["0" * n for n in range(16, 70)]
    for start, rows in packaged().begun.items():
        *_, row = rows
        free = not (row.before or row.check or "value" in row.form)
        if row.kind == "KEY" and free and len(start) > 3:
            fitting = (rest for rest in dull if row.pattern.fullmatch(rest))
            yield from ((start, rest, row.glued) for rest in islice(fitting, 1))


@pytest.mark.parametrize(("start", "rest", "glued"), list(prefixes()))
def test_a_prefix_with_its_length_suffices_whatever_the_letters(
    start: str, rest: str, glued: bool
) -> None:
    """Examples of vendors are not random, and what a user pastes may be one."""
    assert [i.text for i in find(f"it is {start}{rest}")] == [start + rest]
    assert not glued or find(f"tok_{start}{rest}") != []


def test_a_key_that_is_longer_than_its_form_is_hidden_whole() -> None:
    key = "shippo_live_" + "0a1b2c3d" * 6
    assert [i.text for i in find(f"it is {key}, see")] == [key]


def test_a_date_is_no_telephone_where_dates_are_not_wanted() -> None:
    assert find("call me on 12.10.2021", {"PHONE"}) == []


def test_an_unknown_kind_is_an_error() -> None:
    with pytest.raises(ValueError, match="SHOE_SIZE"):
        find("text", {"SHOE_SIZE"})
    with pytest.raises(ValueError, match="SHOE_SIZE"):
        same_form("SHOE_SIZE", "42", SeededSource(0))


def test_a_zero_width_character_can_also_be_a_border() -> None:
    assert [i.text for i in find("anna@x.org\u200band\u200bbob@y.org")] == [
        "anna@x.org",
        "bob@y.org",
    ]


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("born 1985-03-04, married 2010-06-05", ["DATE_OF_BIRTH", "DATE"]),
        ("ftp://anna@x.org:pw@10.0.0.1/2020-01-14", ["URL"]),
        (
            json.dumps({"to": "anna@x.org", "ip": "10.0.0.1", "card": "4111 1111 1111 1111"}),
            ["EMAIL", "IP", "CARD"],
        ),
        ("me (Alison) 07700 900882, GP Dr Lund at the surgery", ["PHONE"]),
    ],
)
def test_the_kinds_of_what_stands_side_by_side_or_inside(text: str, kinds: list[str]) -> None:
    assert [i.kind for i in find(text)] == kinds


def test_a_comma_between_quotes_parts_no_cells() -> None:
    text = 'name,balance,telephone\nMarek,"1,204.50",22 555 01 23\n'
    assert [text[i.start : i.end] for i in find(text)] == ["22 555 01 23"]


def test_the_private_text_is_not_in_the_repr() -> None:
    (found,) = find("anna@x.org")
    assert "anna" not in repr(found)


def pieces(name: str) -> list[str]:
    return [json.loads(line) for line in (CASES / f"{name}.jsonl").read_text("utf-8").splitlines()]


@pytest.mark.parametrize(
    "piece",
    [
        *pieces("hostile"),
        *(pytest.param(each, marks=pytest.mark.slow) for each in pieces("hostile-slow")),
    ],
)
def test_the_time_of_hostile_text_grows_with_its_length(piece: str) -> None:
    """Sixteen times the text in far less than 16 squared the time: no pattern backtracks over the
    whole.

    Of this thread alone, and once in three tries: other tests leave threads and much to collect
    behind.
    """

    def seconds(n: int) -> float:
        text = (piece * (n // len(piece) + 1))[:n]
        begin = time.thread_time()
        find(text)
        return time.thread_time() - begin

    seconds(1_000)
    short = min(seconds(10_000) for _ in range(3))
    assert any(seconds(160_000) < 64 * short + 0.1 for _ in range(3))


def test_importing_needs_the_standard_library_only() -> None:
    code = (
        "import sys, sanitizer.identifiers.search as i; i.find('call 555-234-5678');"
        "print([m for m in ('numpy', 'nltk', 'tokenizers', 'onnxruntime') if m in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
