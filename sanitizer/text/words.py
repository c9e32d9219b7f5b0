"""Text to words with character offsets, and public text to tokens.

A word is a run of letters, marks and digits of any script, with apostrophes and joiners inside.
What reads as a
letter counts as one: circled and squared letters, Braille, radicals, and what may be one: private
use, half surrogate pairs, code points unknown to this Python. All else (spaces, punctuation,
symbols, emoji) is the text between words; it is never changed.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Protocol

from sanitizer.randomness import Source


class PublicRule(Protocol):
    """Decides which words are released as they are."""

    def is_public(self, word: str, opens_sentence: bool, doubtful: bool) -> bool:
        """Whether a word is public; `doubtful`: the sentence may only seem to begin, as after
        "Mr.".
        """

    def is_sensitive(self, word: str) -> bool:
        """Whether a word must never be public, whatever its parts are."""


_CLITIC = re.compile(r"(.+?)(['’ʼ](?:s|d|ll|m|re|ve|t))", re.S)
_SENTENCE_END = re.compile(r"(?:[.!?…][\"')\]»”’*_]*\s|[。！？]|\n\s*\n)")
_JOINERS = "'’ʼ\u00ad\u180e\u200b-\u200d\u2060\ufeff"  # invisible ones do not end a word
_BEFORE_WORD = re.compile(r"[\s\"'“”‘«*_(\[~`]+")
_SYMBOL_LETTER = re.compile(
    "LETTER|BRAILLE PATTERN DOTS|RADICAL|SQUARED (?:LATIN|[A-Z]+$)|SIGNWRITING"
)
WORD_KINDS = ("word", "number")
_ASCII_WORD = re.compile(r"[^\W_]+(?:'+[^\W_]+)*", re.ASCII)
_IN_NUMERALS = (".", ",", ":", "/")
_LAST_LETTER = (
    0x32400  # code points from here on are rare, private or unassigned: all count as letters
)
_EMOJI = range(0x1F000, 0x1FC00)
_VARIATIONS = "\U000e0100-\U000e01ef"
_AN_SOUND = re.compile(
    r"(?:8|1[18](?!\d)|[aeio]|u(?!ni[^mn]|s[aeiu]|ti|r[aeiou]|b[aeiou]|k[aeiou])|hono|honest|hour|heir)",
    re.I,
)
_A_SOUND = re.compile(r"(?:eu|ewe|one|once)", re.I)


@dataclass(frozen=True, slots=True)
class Unit:
    """One sensitive word, number or identifier of the original text.

    Attributes:
        start, end: character offsets in the original text.
        text: the private characters.
        kind: "word"; "number" (made random); or, in capitals, what it is in the vault, such as
            "EMAIL" or "NUMBER".
        opens_sentence: true where a sentence begins, judged from public characters only.
    """

    start: int
    end: int
    text: str = field(repr=False)
    kind: str
    opens_sentence: bool


@dataclass(frozen=True, slots=True)
class Article:
    """A public "a" or "an" directly before unit number `unit`; its form follows the released word."""

    start: int
    end: int
    unit: int


@dataclass(frozen=True, slots=True)
class Segmented:
    """The units of a text in order, the articles that lean on them, and the number of public words."""

    units: tuple[Unit, ...]
    articles: tuple[Article, ...]
    n_public: int


@cache
def _word_pattern() -> re.Pattern[str]:
    """Built at first use: Python's `re` has no classes for marks and for symbols that read as
    letters.
    """
    marks = (
        _ranges(c for c in range(0x300, _LAST_LETTER) if unicodedata.category(chr(c))[0] == "M")
        + _VARIATIONS
    )
    hidden = _ranges(c for c in range(0x80, _LAST_LETTER) if _reads_as_letter(chr(c)))
    rare = f"{chr(_LAST_LETTER)}-\U000e00ff\U000e01f0-\U0010ffff"
    start = f"(?:[^\\W_]|[{hidden}{rare}])"
    letter = f"(?:{start}|[{marks}])"
    keycap = "\\d+(?=\ufe0f?\u20e3)"
    return re.compile(f"{keycap}|{start}{letter}*(?:[{_JOINERS}]+{start}{letter}*)*")


def _reads_as_letter(c: str) -> bool:
    """Whether a character that is no letter to Python reads as one, or may."""
    category = unicodedata.category(c)
    if category in ("Cs", "Co", "Cn"):
        return ord(c) not in _EMOJI
    if category[0] != "S" or c in "™℠":
        return False
    plain = unicodedata.normalize("NFKC", c)
    return (
        any(n.isalnum() for n in plain)
        or _SYMBOL_LETTER.search(unicodedata.name(c, "")) is not None
    )


def _ranges(codes: Iterable[int]) -> str:
    """The inside of a character class."""
    found: list[list[int]] = []
    for c in codes:
        if found and found[-1][1] == c - 1:
            found[-1][1] = c
        else:
            found.append([c, c])
    return "".join(f"\\U{a:08x}-\\U{b:08x}" for a, b in found)


def word_spans(text: str) -> Iterator[tuple[int, int]]:
    """Character spans of all words, in order."""
    return (match.span() for match in _words_of(text).finditer(text))


def _words_of(text: str) -> re.Pattern[str]:
    return _ASCII_WORD if text.isascii() else _word_pattern()  # the same words, faster


def segment(
    text: str, rule: PublicRule, taken: Sequence[Unit] = (), kinds: tuple[str, str] = WORD_KINDS
) -> Segmented:
    """Split a text into public words and units.

    Args:
        text: any string, lone surrogates included.
        rule: which words are released as they are.
        taken: stretches that are units as a whole, ascending; what is left of words at their edges
            are words.
        kinds: of the units that are words, and of those that are numbers.
    """
    units: list[Unit] = []
    articles: list[Article] = []
    n_public, previous_end, article, after_unit = 0, 0, None, False
    for begin, end, whole in _stretches(text, taken):
        gap, token = text[previous_end:begin], text[begin:end]
        opens = previous_end == 0 or _SENTENCE_END.search(gap) is not None
        doubtful = after_unit and gap.strip() == "."
        previous_end = end
        if not _BEFORE_WORD.fullmatch(gap):
            article = None
        word = token if whole or rule.is_public(token, opens, doubtful) else without_clitic(token)
        after_unit = (
            whole is not None
            or rule.is_sensitive(token)
            or not rule.is_public(word, opens, doubtful)
        )
        if not after_unit:
            n_public += 1
            article = (begin, end) if word.lower() in ("a", "an") else None
            continue
        if article is not None:
            articles.append(Article(*article, len(units)))
        article = None
        unit = whole or Unit(begin, begin + len(word), word, kinds[word.isdecimal()], opens)
        if unit.kind == "NUMBER" and units and units[-1].kind == "NUMBER" and gap in _IN_NUMERALS:
            first = units.pop().start  # "1,250.00" is one number
            unit = replace(unit, start=first, text=text[first : unit.end])
        units.append(unit)
        n_public += len(word) < len(token)
    return Segmented(tuple(units), tuple(articles), n_public)


def segment_taken(text: str, taken: Sequence[Unit]) -> Segmented:
    """As `segment` by a rule under which every word and number is public."""
    begins, ends = [0, *(unit.end for unit in taken)], [*(unit.start for unit in taken), len(text)]
    n_words = sum([_n_words(text[begin:end]) for begin, end in zip(begins, ends, strict=True)])
    return Segmented(tuple(taken), (), n_words)


def _n_words(text: str) -> int:
    return len(_words_of(text).findall(text))


def _stretches(text: str, taken: Sequence[Unit]) -> Iterator[tuple[int, int, Unit | None]]:
    """Words and taken units in order."""
    at = 0
    for unit in taken:
        yield from (
            (at + begin, at + end, None) for begin, end in word_spans(text[at : unit.start])
        )
        yield unit.start, unit.end, unit
        at = unit.end
    yield from ((at + begin, at + end, None) for begin, end in word_spans(text[at:]))


def without_clitic(token: str) -> str:
    """Turn "Peter's" into "Peter"; anything else unchanged. A clitic in capitals stays part of the
    word.
    """
    match = _CLITIC.fullmatch(token)
    return match.group(1) if match else token


def folded(word: str) -> str:
    """Return a form that is equal for words differing in case or in the encoding of accents.

    >>> folded("CAFE\u0301") == folded("café")
    True
    """
    return unicodedata.normalize("NFC", word).casefold()


def random_number(digits: str, source: Source) -> str:
    """A uniform number of the same shape: as many digits, in the same scripts, the first not zero.

    Guarantee: independent of the value; depends on the length and script only.

    Args:
        digits: decimal digits of any script, at least one.
    """
    zeros = [ord(c) - unicodedata.decimal(c) for c in digits]
    first = source.randbelow(10) if len(digits) == 1 else 1 + source.randbelow(9)
    values = [first, *(source.randbelow(10) for _ in digits[1:])]
    return "".join(chr(zero + value) for zero, value in zip(zeros, values, strict=True))


def cased(word: str, opens_sentence: bool) -> str:
    """The output word as it stands in the vocabulary, capitalized where a sentence begins."""
    return word[:1].upper() + word[1:] if opens_sentence else word


def article_for(word: str, original: str) -> str:
    """ "a" or "an" as `word` needs it, capitalized like the public original."""
    form = "an" if _AN_SOUND.match(word) and not _A_SOUND.match(word) else "a"
    return form.capitalize() if original[:1].isupper() else form
