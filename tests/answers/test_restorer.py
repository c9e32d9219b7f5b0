"""Released values become originals again: in whole texts, and in streams however they are split."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sanitizer.answers.restorer import Restorer

ORIGINALS = {
    "<EMAIL_1>": "anna@x.org",
    "<EMAIL_12>": "bo@y.org",
    "<NAME_1>": "<EMAIL_1>",
    "ab": "1",
    "abc": "2",
    "bcd": "3",
}
PIECES = [
    *ORIGINALS,
    "<EMAIL_",
    "1>",
    "<",
    ">",
    "a",
    "b",
    "c",
    "d",
    "<EMAIL_7>",
    " plain ",
    "é",
    "",
]

texts = st.lists(st.sampled_from(PIECES), max_size=12).map("".join)


def reference(text: str, originals: dict[str, str]) -> str:
    """The leftmost, longest values replaced, by the standard library."""
    pattern = "|".join(re.escape(v) for v in sorted(originals, key=len, reverse=True))
    return re.sub(pattern, lambda m: originals[m.group()], text)


@given(texts)
def test_the_leftmost_longest_value_is_replaced_once(text: str) -> None:
    assert Restorer(ORIGINALS).text(text) == reference(text, ORIGINALS)


@given(texts, st.lists(st.integers(0, 80), max_size=8))
def test_any_split_of_a_stream_gives_the_same_text(text: str, cuts: list[int]) -> None:
    edges = [0, *sorted(min(c, len(text)) for c in cuts), len(text)]
    stream = Restorer(ORIGINALS).stream()
    shown = [stream.feed(text[a:b]) for a, b in pairwise(edges)]
    assert "".join([*shown, stream.finish()]) == reference(text, ORIGINALS)


@given(texts)
def test_only_what_may_become_a_released_value_is_held_back(text: str) -> None:
    stream = Restorer({"<EMAIL_1>": "anna@x.org"}).stream()
    fed = ""
    for c in text:
        fed += c
        stream.feed(c)
        assert re.fullmatch(
            r"|[<[&%\\]|(?:\\?[<[]|&lt;|%3C) ?[A-Z_0-9\\ ]*\\?|&lt?|%3", stream.held, re.I
        )
        assert fed.endswith(stream.held)


@pytest.mark.parametrize("text", ["", "no values", "<EMAIL_2>", "<EMAIL_1"])
def test_what_is_not_known_stays(text: str) -> None:
    assert Restorer({"<EMAIL_1>": "anna@x.org"}).text(text) == text
    assert Restorer({}).text(text) == text


def test_values_are_never_read_as_patterns() -> None:
    assert Restorer({"a.c": "1", "(": "2"}).text("abc a.c (") == "abc 1 2"


def test_a_stream_is_used_again_after_its_end() -> None:
    stream = Restorer({"ab": "X"}).stream()
    assert stream.feed("a") == ""
    assert stream.finish() == "a"
    assert stream.feed("b") == "b"
