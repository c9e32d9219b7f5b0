"""Words, offsets and what lies between them."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sanitizer.lm.files import model_folder
from sanitizer.lm.tokens import WordPieces
from sanitizer.randomness import SYSTEM_RANDOM
from sanitizer.testing.models import SeededSource
from sanitizer.text.policy import Policy
from sanitizer.text.words import (
    _LAST_LETTER,
    _WESTERN_END,
    _word_pattern,
    article_for,
    cased,
    random_number,
    segment,
    word_spans,
)
from tests.detect.splitting import split


class Nothing:
    """A rule under which every word is private."""

    def is_public(self, word: str, opens_sentence: bool, doubtful: bool) -> bool:
        return False

    def is_sensitive(self, word: str) -> bool:
        return False


NOTHING = Nothing()


def found(text: str) -> list[str]:
    return [text[begin:end] for begin, end in word_spans(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("My father's house", ["My", "father's", "house"]),
        ("état-major naïve", ["état", "major", "naïve"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("می‌خواهم", ["می‌خواهم"]),
        ("שלום עולם", ["שלום", "עולם"]),
        ("北京 2024", ["北京", "2024"]),
        ("e\u0301tude", ["e\u0301tude"]),
        ("snake_case(x1)", ["snake", "case", "x1"]),
        ("❤️ 👩‍👩‍👧 ok", ["ok"]),
        ("3.14 1,000", ["3", "14", "1", "000"]),
        ("", []),
        ("... !!! \r\n", []),
        ("\ud800abc\x00def", ["\ud800abc", "def"]),
        ("Ⓟⓔⓣⓔⓡ 🅒🅐🅝 ⠏⠑⠞", ["Ⓟⓔⓣⓔⓡ", "🅒🅐🅝", "⠏⠑⠞"]),
        ("\ue000\ue001 ⽔ \U000e0041\U000e0042", ["\ue000\ue001", "⽔", "\U000e0041\U000e0042"]),
        ("in\u00adsu\u00adlin to\u2060m\u2060my", ["in\u00adsu\u00adlin", "to\u2060m\u2060my"]),
        ("a™ + 5€ → ok", ["a", "5", "ok"]),
    ],
)
def test_words_of_any_script(text: str, expected: list[str]) -> None:
    assert found(text) == expected


@given(st.text(st.characters(exclude_categories=[]), max_size=80))
def test_no_letter_mark_in_word_or_digit_is_left_between_words(text: str) -> None:
    at = 0
    for begin, end in [*word_spans(text), (len(text), len(text))]:
        assert at <= begin <= end
        assert not any(c.isalnum() for c in text[at:begin])
        at = end


@given(st.text(st.characters(exclude_categories=[]), max_size=80))
def test_units_tile_the_words_and_every_letter_is_private(text: str) -> None:
    segmented = segment(text, NOTHING)
    hidden = [False] * len(text)
    for unit in segmented.units:
        assert text[unit.start : unit.end] == unit.text
        hidden[unit.start : unit.end] = [True] * len(unit.text)
    clitics = "sdltmrev"
    for i, c in enumerate(text):
        if c.isalnum() and not hidden[i]:
            assert c.lower() in clitics


def test_capitals_after_a_clitic_are_not_carried_over() -> None:
    assert [u.text for u in segment("PETER'LL go", NOTHING).units] == ["PETER'LL", "go"]


def test_an_article_leans_on_numbers_and_through_quotes() -> None:
    class Articles(Nothing):
        def is_public(self, word: str, opens_sentence: bool, doubtful: bool) -> bool:
            return word in ("a", "an")

    for text in ("an 8", 'an "addict"', "a *clerk*", "an  (ex)"):
        assert len(segment(text, Articles()).articles) == 1
    assert segment("an, apple", Articles()).articles == ()


def test_a_possessive_is_split_and_a_foreign_apostrophe_is_not() -> None:
    units = segment("Peter's O'Brien", NOTHING).units
    assert [u.text for u in units] == ["Peter", "O'Brien"]


def test_kinds_and_sentence_openings_come_from_public_characters() -> None:
    units = segment('Anna ran. "Bob" met 12 Eves\n\nlast b2b', NOTHING).units
    assert [(u.text, u.kind, u.opens_sentence) for u in units] == [
        ("Anna", "word", True),
        ("ran", "word", False),
        ("Bob", "word", True),
        ("met", "word", False),
        ("12", "number", False),
        ("Eves", "word", False),
        ("last", "word", True),
        ("b2b", "word", False),
    ]


@given(st.text("0123456789٠١٢٣٤٥٦٧٨٩०१२३", min_size=1, max_size=40), st.integers())
def test_a_number_keeps_its_shape_only(digits: str, seed: int) -> None:
    new = random_number(digits, SeededSource(seed))
    assert len(new) == len(digits)
    assert all(
        ord(a) - unicodedata.decimal(a) == ord(b) - unicodedata.decimal(b)
        for a, b in zip(digits, new, strict=True)
    )
    other = "".join(chr(ord(c) - unicodedata.decimal(c) + 7) for c in digits)
    assert random_number(other, SeededSource(seed)) == new, "the value of the number mattered"


def test_numbers_are_uniform() -> None:
    source = SeededSource(1)
    drawn = [random_number("42", source) for _ in range(9_000)]
    counts = [drawn.count(str(i)) for i in range(10, 100)]
    assert min(counts) > 50
    assert max(counts) < 150  # 100 expected, standard deviation 10, fixed seed


@pytest.mark.parametrize(
    ("word", "form"),
    [
        ("apple", "an"),
        ("pear", "a"),
        ("hour", "an"),
        ("honest", "an"),
        ("hospital", "a"),
        ("user", "a"),
        ("union", "a"),
        ("uncle", "an"),
        ("uninvited", "an"),
        ("Europe", "a"),
        ("one", "a"),
        ("8", "an"),
        ("80", "an"),
        ("11", "an"),
        ("118", "a"),
        ("2", "a"),
        ("x", "a"),
    ],
)
def test_articles(word: str, form: str) -> None:
    assert article_for(word, "a") == form
    assert article_for(word, "An") == form.capitalize()


def test_a_sentence_begins_with_a_capital() -> None:
    assert cased("hospital", True) == "Hospital"
    assert cased("hospital", False) == "hospital"
    assert cased("", True) == ""


class TestWordPieces:
    """The packaged tokenizer."""

    pieces = WordPieces(model_folder("masked-lm") / "tokenizer.json")

    def test_special_tokens_typed_by_a_user_are_text(self) -> None:
        ids = self.pieces.encode("[MASK] [SEP] [CLS] [UNK]")
        assert not {self.pieces.mask, self.pieces.sep, self.pieces.cls} & set(ids)

    @given(st.text(st.characters(exclude_categories=[]), max_size=60))
    def test_any_text_can_be_encoded(self, text: str) -> None:
        assert self.pieces.mask not in self.pieces.encode(text)

    def test_tokens_lose_their_continuation_marks(self) -> None:
        (*_, last) = self.pieces.encode("hepatitis")
        assert not self.pieces.token(last).startswith("#")


def test_the_system_source_draws_numbers() -> None:
    assert random_number("5", SYSTEM_RANDOM) in "0123456789"


def test_the_way_through_western_text_finds_the_same_words() -> None:
    every = _word_pattern(_LAST_LETTER)
    for c in map(chr, range(0x80, _WESTERN_END)):
        text = f"Anna{c}s cat{c} {c}9 {c}{c}\u0301"
        assert list(word_spans(text)) == [m.span() for m in every.finditer(text)], hex(ord(c))


@given(st.text(st.characters(max_codepoint=127), max_size=60))
def test_the_quick_way_through_ascii_finds_the_same_words(text: str) -> None:
    assert list(word_spans(text)) == [m.span() for m in _word_pattern(_LAST_LETTER).finditer(text)]


@pytest.mark.parametrize(
    "between",
    [" ", ' "', " '", " (", " [", " {", " <", " #", " $", " €", " `", " “", " «", " „", "\n"],
)
def test_an_article_follows_its_word_across_signs(between: str) -> None:
    found = split(f"He has an{between}asthma", Policy.preset("strict"))
    assert [(each.start, each.end) for each in found.articles] == [(7, 9)]


@pytest.mark.parametrize("between", [". ", ", ", " = ", "/", ": ", "? "])
def test_a_letter_before_a_sign_that_ends_something_is_no_article(between: str) -> None:
    assert not split(f"plan a{between}asthma", Policy.preset("strict")).articles
