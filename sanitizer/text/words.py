"""Words of a text with their character offsets, and the units made of them.

A word is a run of letters, marks and digits of any script, with apostrophes and joiners inside.
Characters that read as a letter count as one: circled and squared letters, Braille, radicals, and
those that may be one: private use, lone surrogates, code points unknown to this Python. All else
(spaces, punctuation, symbols, emoji) is the text between words; it is never changed.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Protocol, TypeVar

from sanitizer.randomness import Source

_Span = TypeVar("_Span", bound=tuple[Any, ...])


class PublicRule(Protocol):
    """Decides which words are released as they are."""

    def is_public(self, word: str, opens_sentence: bool, doubtful: bool) -> bool:
        """Return True if a word is public.

        Args:
            opens_sentence: a sentence begins with the word, or seems to.
            doubtful: it may only seem to, as after "Mr.".
        """

    def is_sensitive(self, word: str) -> bool:
        """Return True if a word must never be public, whatever its parts are."""


_CLITIC = re.compile(r"(.+?)(['’ʼ](?:s|d|ll|m|re|ve|t))", re.S)
_SENTENCE_END = re.compile(r"(?:[.!?…][\"')\]»”’*_]*\s|[。！？]|\n\s*\n)")
_JOINERS = "'’ʼ\u00ad\u180e\u200b-\u200d\u2060\ufeff"
"""Apostrophes, and invisible characters, which do not end a word."""
_BEFORE_WORD = re.compile(r"[\s\"'“”„‘’‚«»‹›*_(\[{<~`#$€£]+")
_SYMBOL_LETTER = re.compile(
    "LETTER|BRAILLE PATTERN DOTS|RADICAL|SQUARED (?:LATIN|[A-Z]+$)|SIGNWRITING"
)
WORD_KINDS = ("word", "number")
"""Kinds of the units that are words, and of those that are numbers, unless they go to the vault."""
_ASCII_WORD = re.compile(r"[^\W_]+(?:'+[^\W_]+)*", re.ASCII)
_IN_NUMERALS = (".", ",", ":", "/")
_LAST_LETTER = 0x32400
"""First of the rare, private or unassigned code points, all of which count as letters."""
_WESTERN_END = 0x2100
"""Behind the dashes, quotes and signs of currencies that western languages are written with."""
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
        form: how a placeholder is written at its place: "prose" (in angle brackets), "bare" (a name
            of code), "tag" (a name of code in angle brackets), or "quoted" (a string instead of a
            number).
        concept: member of its class's list that it names: other names of it are the same thing.
        found: what found it, in words: "pattern", "reader" with class and score, "list", "link".
        needed: the request seems to need it. age: it seems to be somebody's age.
    """

    start: int
    end: int
    text: str = field(repr=False)
    kind: str
    opens_sentence: bool
    form: str = "prose"
    concept: str = field(default="", repr=False)
    found: str = ""
    needed: bool = False
    age: bool = False


@dataclass(frozen=True, slots=True)
class Article:
    """A public "a" or "an" directly before unit number `unit`; its form follows the new word."""

    start: int
    end: int
    unit: int


@dataclass(frozen=True, slots=True)
class Segmented:
    """Units of a text in order, the articles before them, and the number of public words.

    Attributes:
        facts: stretches that seem to tell a sensitive fact.
        n_declared: how many of the public words were declared public.
        left: what would be hidden, and leaves since the request needs it.
    """

    units: tuple[Unit, ...]
    articles: tuple[Article, ...]
    n_public: int
    facts: tuple[tuple[int, int], ...] = ()
    language: str | None = None
    n_declared: int = 0
    left: tuple[Unit, ...] = ()


@cache
def _word_pattern(end: int) -> re.Pattern[str]:
    """Return the pattern of a word in texts below a code point, at first use.

    Args:
        end: _WESTERN_END, or _LAST_LETTER for any text.
    """
    # Python's `re` has no class for marks, nor for symbols that read as letters: both are listed.
    marks = (
        _ranges(c for c in range(0x300, end) if unicodedata.category(chr(c))[0] == "M")
        + _VARIATIONS
    )
    hidden = _ranges(c for c in range(0x80, end) if _reads_as_letter(chr(c)))
    rare = f"{chr(_LAST_LETTER)}-\U000e00ff\U000e01f0-\U0010ffff"
    start = f"(?:[^\\W_]|[{hidden}{rare}])"
    letter = f"(?:{start}|[{marks}])"
    keycap = "\\d+(?=\ufe0f?\u20e3)"
    return re.compile(f"{keycap}|{start}{letter}*(?:[{_JOINERS}]+{start}{letter}*)*")


def _reads_as_letter(c: str) -> bool:
    """Return True if a character that is no letter to Python reads as one, or may."""
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
    """Return ascending code points as the inside of a character class."""
    found: list[list[int]] = []
    for c in codes:
        if found and found[-1][1] == c - 1:
            found[-1][1] = c
        else:
            found.append([c, c])
    return "".join(f"\\U{a:08x}-\\U{b:08x}" for a, b in found)


def word_spans(text: str) -> list[tuple[int, int]]:
    """Return the character spans of all words, in order.

    >>> word_spans("Anna's cat, 3.")
    [(0, 6), (7, 10), (12, 13)]
    """
    return [match.span() for match in _words_of(text).finditer(text)]


def _words_of(text: str) -> re.Pattern[str]:
    # All find the same words. That for ASCII text is fastest and needs no building; what the
    # western languages are written with is a hundredth of what else there is to look at.
    if text.isascii():
        return _ASCII_WORD
    is_western = ord(max(text)) < _WESTERN_END
    return _word_pattern(_WESTERN_END if is_western else _LAST_LETTER)


def folded(word: str) -> str:
    """Return the form in which words are compared: without case, accents in one encoding.

    >>> folded("Zoe\\u0308") == folded("ZO\\u00cb")
    True
    """
    return unicodedata.normalize("NFC", word).casefold()


def segment(
    text: str,
    rule: PublicRule,
    taken: Sequence[Unit] = (),
    kinds: tuple[str, str] = WORD_KINDS,
    declared: Sequence[tuple[int, int]] = (),
) -> Segmented:
    """Split a text into public words and units.

    Args:
        text: any string, lone surrogates included.
        rule: decides which words are released as they are.
        taken: stretches that are units as a whole, ascending; the rests of words at their edges are
            words.
        kinds: kind of the units that are words, and of those that are numbers.
        declared: stretches that are public and never changed, ascending, clear of `taken`.
    """
    units: list[Unit] = []
    articles: list[Article] = []
    n_public, n_declared, previous_end, article, after_unit = 0, 0, 0, None, False
    for begin, end, whole, shown in stretches(text, taken, declared):
        gap, token = text[previous_end:begin], text[begin:end]
        opens = previous_end == 0 or _SENTENCE_END.search(gap) is not None
        doubtful = after_unit and gap.strip() == "."
        previous_end = end
        if not _BEFORE_WORD.fullmatch(gap):
            article = None
        word = token
        public = shown or (whole is None and rule.is_public(token, opens, doubtful))
        if not public and whole is None and (word := without_clitic(token)) != token:
            public = not rule.is_sensitive(token) and rule.is_public(word, opens, doubtful)
        after_unit = not public
        if public:
            n_public += 1
            n_declared += shown
            article = (begin, end) if word.lower() in ("a", "an") and not shown else None
            continue
        if article is not None:
            articles.append(Article(*article, len(units)))
        article = None
        unit = whole or Unit(begin, begin + len(word), word, kinds[word.isdecimal()], opens)
        if unit.kind == "NUMBER" and units and _goes_on(text, units[-1], begin, declared):
            # "1,250.00" is one number: its parts alone would be restored in other numbers.
            first = units.pop().start
            unit = replace(unit, start=first, text=text[first : unit.end])
        units.append(unit)
        n_public += len(word) < len(token)
    return Segmented(tuple(units), tuple(articles), n_public, n_declared=n_declared)


def _goes_on(text: str, last: Unit, begin: int, declared: Sequence[tuple[int, int]]) -> bool:
    """Return True if the digits that begin here are part of the number before them."""
    if last.kind != "NUMBER" or text[last.end : begin] not in _IN_NUMERALS:
        return False
    return not overlapping(declared, last.end, begin)


def segment_taken(
    text: str, taken: Sequence[Unit], declared: Sequence[tuple[int, int]] = ()
) -> Segmented:
    """Return what `segment` gives under a rule by which every word and number is public."""
    begins, ends = [0, *(unit.end for unit in taken)], [*(unit.start for unit in taken), len(text)]
    n_words = sum([_n_words(text[begin:end]) for begin, end in zip(begins, ends, strict=True)])
    n_declared = sum([_n_words(text[begin:end]) for begin, end in declared])
    return Segmented(tuple(taken), (), n_words, n_declared=n_declared)


def _n_words(text: str) -> int:
    return len(_words_of(text).findall(text))


def stretches(
    text: str, taken: Sequence[Unit], declared: Sequence[tuple[int, int]] = ()
) -> list[tuple[int, int, Unit | None, bool]]:
    """Return words and taken units in order: start, end, the unit or None, whether declared.

    No word crosses a border of a unit or of a declared stretch.

    Args:
        taken, declared: ascending, clear of each other.
    """
    wholes: list[tuple[int, int, Unit | None]] = [(u.start, u.end, u) for u in taken]
    if declared:
        wholes += [(begin, end, None) for begin, end in declared]
        wholes.sort(key=lambda whole: whole[:2])
    found: list[tuple[int, int, Unit | None, bool]] = []
    at = 0
    for start, end, unit in [*wholes, (len(text), len(text), None)]:
        found += [(at + a, at + b, None, False) for a, b in word_spans(text[at:start])]
        if unit is not None:
            found.append((start, end, unit, False))
        else:
            found += [(start + a, start + b, None, True) for a, b in word_spans(text[start:end])]
        at = end
    return found


def overlapping(spans: Sequence[_Span], start: int, end: int) -> Sequence[_Span]:
    """Return those of ascending spans (start, end, ...) that share a character with this stretch.

    >>> overlapping([(0, 2), (3, 5), (8, 9)], 4, 9)
    [(3, 5), (8, 9)]
    """
    first = bisect_right(spans, start, key=lambda span: span[1])
    return spans[first : bisect_left(spans, end, lo=first, key=lambda span: span[0])]


def outside(spans: Sequence[_Span], start: int, end: int) -> list[tuple[int, int]]:
    """Return the parts of a stretch that share no character with ascending spans (start, end, ...).

    >>> outside([(0, 2), (3, 5)], 1, 9)
    [(2, 3), (5, 9)]
    """
    found = []
    for begin, stop, *_ in overlapping(spans, start, end):
        if start < begin:
            found.append((start, begin))
        start = stop
    return [*found, (start, end)] if start < end else found


def straight(word: str) -> str:
    """Return a word with typewriter apostrophes."""
    return word.replace("’", "'").replace("ʼ", "'")


def without_clitic(token: str) -> str:
    """Return a word without "'s", "'t" and the like; a clitic in capitals stays.

    >>> without_clitic("Peter's"), without_clitic("PETER'S")
    ('Peter', "PETER'S")
    """
    match = _CLITIC.fullmatch(token)
    return match.group(1) if match else token


def random_number(digits: str, source: Source) -> str:
    """Return a uniform number of as many digits, in the same scripts, the first not zero.

    Guarantee: independent of the value; depends on the length and script only.

    Args:
        digits: decimal digits of any script, at least one.
    """
    zeros = [ord(c) - unicodedata.decimal(c) for c in digits]
    first = source.randbelow(10) if len(digits) == 1 else 1 + source.randbelow(9)
    values = [first, *(source.randbelow(10) for _ in digits[1:])]
    return "".join(chr(zero + value) for zero, value in zip(zeros, values, strict=True))


def cased(word: str, opens_sentence: bool) -> str:
    """Return a word of the vocabulary, capitalized where a sentence begins."""
    return word[:1].upper() + word[1:] if opens_sentence else word


def article_for(word: str, original: str) -> str:
    """Return "a" or "an" as the word needs it, capitalized like the public original.

    >>> article_for("hour", "A"), article_for("European", "an")
    ('An', 'a')
    """
    form = "an" if _AN_SOUND.match(word) and not _A_SOUND.match(word) else "a"
    return form.capitalize() if original[:1].isupper() else form
