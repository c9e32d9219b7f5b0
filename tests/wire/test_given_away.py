"""Originals that come back where nothing tells what they are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sanitizer.storage.vault import Originals
from sanitizer.wire.given_away import GivenAway


@pytest.fixture
def originals() -> Originals:
    return Originals({"<NUMBER_1>": "8731", "<EMAIL_1>": "anna@x.org", "<KEY_1>": "hunter2x9"})


def following(originals: Originals) -> GivenAway:
    known = GivenAway()
    known.follow(originals)
    return known


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("it is 8731.", "it is <NUMBER_1>."),
        ("it is 87310", "it is 87310"),
        ("x8731", "x8731"),
        ("anna@x.org, hunter2x9", "<EMAIL_1>, <KEY_1>"),
        ("<EMAIL_1> 8731", "<EMAIL_1> <NUMBER_1>"),
        ("", ""),
    ],
)
def test_whole_words_are_hidden(originals: Originals, text: str, hidden: str) -> None:
    assert following(originals).text(text) == hidden


@pytest.mark.parametrize(
    ("spelling", "hidden"), [("8731", "<NUMBER_1>"), ("8731.0", "<NUMBER_1>"), ("87", None)]
)
def test_numbers_are_compared_by_value(
    originals: Originals, spelling: str, hidden: str | None
) -> None:
    assert following(originals).number(spelling) == hidden


def test_what_is_added_and_removed_later_counts(originals: Originals) -> None:
    known = following(originals)
    originals["<KEY_2>"] = "swordfish7"
    known.follow(originals)
    assert known.text("swordfish7 8731") == "<KEY_2> <NUMBER_1>"
    del originals["<NUMBER_1>"]
    known.follow(originals)
    assert known.text("swordfish7 8731") == "<KEY_2> 8731"


def test_a_released_value_that_somebody_typed_before_stays(originals: Originals) -> None:
    typed = Originals({"<TEXT_1>": "<EMAIL_1>"})
    known = following(typed)
    assert known.text("<EMAIL_1>") == "<TEXT_1>"
    typed["<EMAIL_1>"] = "anna@x.org"
    known.follow(typed)
    assert known.text("<EMAIL_1> anna@x.org") == "<EMAIL_1> <EMAIL_1>"


def test_short_originals_and_those_added_later_are_hidden_too(originals: Originals) -> None:
    known = following(originals)
    originals["<TERM_1>"] = "é"
    originals["<TERM_2>"] = "X9"
    known.follow(originals)
    assert known.text("é: X9, X91, 8731") == "<TERM_1>: <TERM_2>, X91, <NUMBER_1>"
    del originals["<TERM_2>"]
    originals["<TERM_3>"] = "Y9"
    known.follow(originals)
    assert known.text("X9 Y9") == "X9 <TERM_3>"


def is_word(char: str) -> bool:
    return char.isalnum() or char == "_"


def hidden(text: str, values: dict[str, str]) -> str:
    """The same, place by place."""
    at, shown = 0, ""
    while at < len(text):
        inside = at > 0 and is_word(text[at - 1]) and is_word(text[at])
        fitting = [
            known
            for known in values
            if text.startswith(known, at)
            and not (
                at + len(known) < len(text)
                and is_word(known[-1])
                and is_word(text[at + len(known)])
            )
        ]
        found = max(fitting, key=len, default="") if not inside and not text[at].isspace() else ""
        shown += values[found] if found else text[at]
        at += len(found) or 1
    return shown


CHARS = st.sampled_from("ab1_<^-] \n\u00e9\u0301\u00b2")


@given(
    st.lists(st.text(CHARS, min_size=1, max_size=4), max_size=4, unique=True),
    st.text(CHARS, max_size=30),
)
def test_originals_are_hidden_where_a_word_begins(known: list[str], text: str) -> None:
    originals = Originals({f"<TERM_{i}>": each for i, each in enumerate(known)})
    values = {each: value for value, each in originals.items()} | {
        value: value for value in originals
    }
    assert following(originals).text(text) == hidden(text, values)
