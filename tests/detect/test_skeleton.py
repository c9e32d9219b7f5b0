"""What every reader of a text sees: fixed by lists and layout, never by another hidden word."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sanitizer.detect.skeleton import (
    NUMBER,
    NUMERAL,
    WORD,
    PublicForms,
    kind_of,
    public_forms,
    skeleton,
)
from sanitizer.text import NATIVE_ANYWHERE, UNREAD_ANYWHERE
from sanitizer.text.policy import word_list
from sanitizer.text.words import Unit

FORMS = PublicForms(
    anywhere=frozenset({"the", "i", "please", "json", "JavaScript"}),
    opening=frozenset({"file", "name", "call", "table", "house", "write"}),
    lower=frozenset({"will", "stone", "may"}),
    judged=frozenset({"rose", "divorce"}),
)


def hidden(text: str, forms: PublicForms = FORMS) -> list[str]:
    return [text[run.start : run.end] for run in skeleton(text, forms).runs]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("please call Elena Marsh", ["Elena Marsh"]),
        ("call Elena, call Otto", ["Elena", "Otto"]),
        ("Call the house", []),
        ("the House", ["House"]),
        ("will the stone call", []),
        ("Will may call", ["Will"]),
        ("the rose", ["rose"]),
        ("the TABLE, the JSON, the US", ["US"]),
        ("call O'Brien-Smith's house", ["O'Brien-Smith"]),
        ("fileName userHouse", ["userHouse"]),
        ("1. Table\n2) House 3) House", ["1", "2", "3", "House"]),
        ("the 1,250.00 the 7", ["1,250.00", "7"]),
        ("JavaScript javascript", ["javascript"]),
        ("PleaseCall fileTable PleaseTable", ["PleaseCall"]),
        ("J. Table", ["J", "Table"]),
        ("the file. Table", []),
        ("the file\nTable", []),
        ("the file_name, the file_quorn_2", ["file_quorn_2"]),
        ("the seven, the Forty-two, the five", ["seven", "Forty-two", "five"]),
    ],
)
def test_hidden_runs(text: str, expected: list[str]) -> None:
    assert hidden(text) == expected


def test_kinds_of_runs() -> None:
    mail = Unit(20, 27, "x@y.org", "EMAIL", False)
    runs = skeleton("call Otto 12 twelve x@y.org", FORMS, [mail]).runs
    assert [run.kind for run in runs] == [WORD, NUMBER, NUMERAL, "EMAIL"]


def test_what_is_unknown_is_hidden_in_every_script() -> None:
    assert hidden("the Ωmega, the 東京, the ـعلي") == ["Ωmega", "東京", "ـعلي"]


WORDS = st.sampled_from(
    ["Elena", "Otto", "zq", "Quark", "mcX", "12", "rose", "Stone", "été", "x1", "US", "Jo", "six"]
)


@given(
    before=st.lists(st.sampled_from(["the", "call", "Table", "please", "name", "\n", ". ", "1. "])),
    after=st.lists(st.sampled_from(["the", "call", "Table", "Otto", "\n", ". ", ", "])),
    word=WORDS,
    other=WORDS,
)
def test_another_hidden_word_moves_nothing_else(
    before: list[str], after: list[str], word: str, other: str
) -> None:
    """Condition (a) to (c) of theorem B: a run of the same kind instead of another."""
    head, tail = " ".join(before), " ".join(after)

    def parts(middle: str) -> tuple[list[tuple[int, int, str]], list[tuple[int, int, str]]]:
        text = f"{head} {middle} {tail}"
        start = len(head) + 1
        runs = skeleton(text, FORMS).runs
        left = [(r.start, r.end, r.kind) for r in runs if r.end <= start]
        shift = len(middle)
        right = [
            (r.start - shift, r.end - shift, r.kind) for r in runs if r.start > start + len(middle)
        ]
        return left, right

    same_kind = kind_of(word) == kind_of(other)
    both_hidden = bool(hidden(f"the {word}")) and bool(hidden(f"the {other}"))
    if same_kind and both_hidden:
        assert parts(word) == parts(other)


def test_packaged_lists_are_disjoint_and_of_the_stated_size() -> None:
    forms = public_forms()
    sets = [forms.anywhere, forms.opening, forms.lower, forms.judged]
    assert sum(map(len, sets)) == len(frozenset.union(*sets))
    english = forms.anywhere | forms.opening | frozenset(word_list("lower.txt", "forms"))
    english -= UNREAD_ANYWHERE | NATIVE_ANYWHERE
    words = {form for form in english if form == form.lower()}
    assert 15_000 <= len(words) <= 20_700  # British spellings among them
    assert len(english - words) <= 1_000  # "GitHub", "EBITDA"


@pytest.mark.parametrize("word", ["Will", "Rose", "US", "May", "Mark", "Hope"])
def test_words_that_may_be_names_are_not_visible_when_capitalized(word: str) -> None:
    assert not public_forms().visible(word, opens=True)


@pytest.mark.parametrize("word", ["The", "Please", "Python", "Friday", "German", "However"])
def test_words_that_are_no_names_are_visible_anywhere(word: str) -> None:
    assert public_forms().visible(word, opens=False)


@pytest.mark.parametrize(
    "word", ["divorce", "pregnant", "hepatitis", "muslim", "gay", "fraud", "cancer", "fired"]
)
def test_sensitive_words_are_never_visible(word: str) -> None:
    assert not public_forms().visible(word, opens=False)


def test_words_of_other_languages_that_are_names_are_visible_in_these_alone() -> None:
    forms = public_forms()
    for word in ("ben", "dan", "sean", "ella", "ravi"):
        assert not forms.visible(word, opens=False)
        assert any(forms.of(name).visible(word, opens=False) for name in forms.native)
    assert forms.of("en") is forms


@pytest.mark.parametrize("private", ["Zdenka", "B12", "Qx7y", "Vanbrugh"])
def test_what_opens_a_line_does_not_follow_from_what_is_hidden(private: str) -> None:
    """Heads of columns, lines of a form and ends of letters are told by visible text."""
    for text in (
        "{}    Result    Unit\nHb    9    g",
        "Ask {}.\n\nTest    {}    Mark\nHb    9    g",
        "1 {}:\n2 First name:",
        "Sent by {}\nWill you come?",
        "Regards,\n{}\nMark it.",
    ):
        one, other = (
            skeleton(text.replace("{}", name), public_forms()) for name in (private, "Lund")
        )
        shift = len(private) - len("Lund")
        ends = [(run.end - run.start, run.kind) for run in one.runs]
        others = [(run.end - run.start, run.kind) for run in other.runs]
        changed = [(n - shift, k) if (n, k) not in others else (n, k) for n, k in ends]
        assert len(changed) == len(others)
        assert [k for _, k in changed] == [k for _, k in others]
        assert one.n_visible == other.n_visible


def test_heads_of_columns_and_lines_of_a_form_open() -> None:
    def hidden(text: str) -> list[str]:
        return [text[run.start : run.end] for run in skeleton(text, public_forms()).runs]

    assert hidden("Test    Result    Unit\nHb    9    Result\nHb 9 Result") == [
        *("Hb", "9"),
        *("Hb", "9", "Result"),
    ]
    assert hidden("2 First name:") == ["2"]
    assert hidden("2 First name") == ["2", "First"]
    assert hidden("Regards,\nWill") == ["Will"]
