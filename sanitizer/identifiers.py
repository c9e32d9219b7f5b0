"""Structured identifiers in a text: e-mail, telephone, card, account, address and key, checked and not just matched.

Unicode: full-width letters, digits and signs, other decimal digits, and the hyphens and spaces of typography
count as their ASCII twins. Zero-width characters are read both as nothing (inside an e-mail address) and as a
border; the span found holds the original characters, zero-width ones included.

Not protected: identifiers of other shapes, split over lines, spelled out ("anna at example dot org") or
written in scripts without the words this module knows (its context words are English).
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache

from sanitizer import identifier_numbers as numbers
from sanitizer import identifier_places as places
from sanitizer import identifier_words as words
from sanitizer.identifier_forms import same_form

__all__ = ["KINDS", "Identifier", "find", "same_form"]

# In order of precedence between spans of the same length.
KINDS: tuple[str, ...] = (
    "KEY", "EMAIL", "URL", "IBAN", "CARD", "SSN", "IP", "MAC", "DATE_OF_BIRTH", "DATE", "LICENCE", "PASSPORT", "PHONE",
    "ADDRESS", "POSTCODE",
)  # fmt: skip

_ALL = frozenset(KINDS)
_RANK = {kind: i for i, kind in enumerate(KINDS)}
_DIGIT_KINDS = frozenset({"CARD", "IBAN", "SSN", "IP", "PHONE", "DATE", "DATE_OF_BIRTH"})
_ANNOUNCED_KINDS = frozenset({"POSTCODE", "LICENCE", "PASSPORT"})
_LETTER = re.compile(r"[^\W\d_]")
_DIGIT = re.compile("[0-9]")
_ZERO_WIDTH = "\u00ad\u200b\u200c\u200d\u200e\u200f\u2060\ufeff"
_ANY_ZERO_WIDTH = re.compile(f"[{_ZERO_WIDTH}]")

Span = tuple[int, int, str]


@dataclass(frozen=True, slots=True)
class Identifier:
    """One identifier: `text` is the private characters from `start` to `end` of the text searched."""

    start: int
    end: int
    kind: str
    text: str = field(repr=False)


def find(text: str, kinds: Collection[str] = KINDS) -> list[Identifier]:
    """The identifiers of the wanted kinds, ascending and never overlapping; of overlapping ones the longest.

    Time is close to linear in the length of the text, whatever it holds.

    Raises:
        ValueError: a kind that is not in KINDS.
    """
    wanted = _ALL if kinds is KINDS else frozenset(kinds)
    if not wanted <= _ALL:
        raise ValueError(f"kinds must be of {', '.join(KINDS)}; got {sorted(wanted - _ALL)}")
    spans = _chosen(span for span in _spans(text, wanted) if span[2] in wanted)
    return [Identifier(start, end, kind, text[start:end]) for start, end, kind in spans]


def _spans(text: str, wanted: frozenset[str]) -> Iterable[Span]:
    if text.isascii():
        return _raw(text, wanted)
    plain = text.translate(_twins()) if _odd().search(text) else text
    if not _ANY_ZERO_WIDTH.search(plain):
        return _raw(plain, wanted)
    kept = [i for i, c in enumerate(plain) if c not in _ZERO_WIDTH]
    joined = _raw("".join(plain[i] for i in kept), wanted)
    found = [(kept[start], kept[end - 1] + 1, kind) for start, end, kind in joined]
    return found + list(_raw(_ANY_ZERO_WIDTH.sub(" ", plain), wanted))


def _raw(text: str, wanted: frozenset[str]) -> Iterator[Span]:
    """Candidates, overlapping and of more kinds than wanted."""
    if "EMAIL" in wanted and "@" in text:
        yield from words.emails(text)
    if "URL" in wanted and ("." in text or "://" in text):
        yield from words.urls(text)
    has_digit = _DIGIT.search(text)
    lowered = _lowered(text) if has_digit or "KEY" in wanted else ""
    if "KEY" in wanted:
        yield from words.keys(text, lowered)
    if not has_digit:
        return
    if not wanted.isdisjoint(("IP", "MAC")):
        yield from words.addresses(text)
    if "ADDRESS" in wanted:
        yield from places.boxes(text, lowered)
    if not wanted.isdisjoint(_ANNOUNCED_KINDS):
        yield from places.announced(text, lowered)
    yield from _of_digits(text, wanted)


def _lowered(text: str) -> str:
    """Lower case at the same offsets (a few letters, such as U+0130, become two when lowered)."""
    lowered = text.lower()
    return lowered if len(lowered) == len(text) else "".join(c.lower() if c.isascii() else c for c in text)


def _of_digits(text: str, wanted: frozenset[str]) -> Iterator[Span]:
    digits, streets = not wanted.isdisjoint(_DIGIT_KINDS), "ADDRESS" in wanted
    codes = "POSTCODE" in wanted
    for chunk in numbers.CHUNK.finditer(text):
        start, end = chunk.span()
        if end - start < 5 and not _LETTER.search(text[max(0, start - 3) : start] + text[end : end + 3]):
            continue  # a small number is part of an identifier only beside words
        if digits:
            yield from numbers.in_chunk(text, start, end)
        if streets:
            yield from places.streets(text, start, end)
        if codes:
            yield from places.postcodes(text, start, end)


def _chosen(spans: Iterable[Span]) -> list[Span]:
    """Longest first, then by rank; what overlaps one already chosen is dropped."""
    ordered = sorted(spans, key=lambda s: (s[0] - s[1], _RANK[s[2]], s[0]))
    chosen: list[Span] = []
    for span in ordered:
        at = bisect_left(chosen, span)
        if (at == 0 or chosen[at - 1][1] <= span[0]) and (at == len(chosen) or span[1] <= chosen[at][0]):
            chosen.insert(at, span)
    return chosen


@cache
def _twins() -> dict[int, str]:
    """One ASCII character for each typographic or full-width one, so that offsets stay."""
    table = {0xFF01 + i: chr(0x21 + i) for i in range(94)}
    table |= {ord(c): "-" for c in "\u2010\u2011\u2012\u2013\u2212\ufe63"}
    table |= {ord(c): " " for c in "\u00a0\u1680\u202f\u205f\u3000"} | dict.fromkeys(range(0x2000, 0x200B), " ")
    table |= {ord(c): "." for c in "\u3002\uff61"} | {0x2019: "'", 0x2018: "'"}
    for n in range(0x660, 0x1_0000):
        if unicodedata.category(chr(n)) == "Nd":
            table[n] = str(unicodedata.digit(chr(n)))
    return table


@cache
def _odd() -> re.Pattern[str]:
    return re.compile("[" + "".join(map(re.escape, map(chr, _twins()))) + "]")
