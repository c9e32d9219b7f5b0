"""All finders of identifiers over one text that has been folded to ASCII twins already.

Importing it compiles the patterns of all of them.

Structured identifiers in a text: e-mail, telephone, card, account, address and key, checked and not
just matched.

Unicode: full-width letters, digits and signs, other decimal digits, and the hyphens and spaces of
typography count as their ASCII twins. Zero-width characters are read both as nothing (inside an
e-mail address) and as a border; the span found holds the original characters, zero-width ones
included.

Not protected: identifiers of other shapes, split over lines, spelled out ("anna at example dot
org") or written in scripts without the words this module knows (its context words are English).
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache

from sanitizer.identifiers import digits as numbers
from sanitizer.identifiers import internet as words
from sanitizer.identifiers import places
from sanitizer.randomness import Source

Span = tuple[int, int, str]

_DIGIT_KINDS = frozenset({"CARD", "IBAN", "SSN", "IP", "PHONE", "DATE", "DATE_OF_BIRTH"})
_WEB_KINDS = frozenset({"URL", "LINK"})
_ADDRESS_KINDS = frozenset({"IP", "MAC"})
_ANNOUNCED_KINDS = frozenset({"POSTCODE", "LICENCE", "PASSPORT"})
# The address of a page: no user, query or fragment, and a host that may be public.
_PLAIN_LINK = re.compile(r"(?:https?://)?(?:[\w-]+\.)+[^\W\d_]{2,}(?::\d+)?(?:/[^?#@]*)?", re.I)
_LETTER = re.compile(r"[^\W\d_]")
_DIGIT = re.compile("[0-9]")
_IN_WORD = re.compile("[A-Za-z0-9]{3}")


def candidates(text: str, wanted: frozenset[str]) -> list[Span]:
    """Candidates, overlapping, in any order and of more kinds than wanted."""
    found: list[Span] = []
    if "EMAIL" in wanted and "@" in text:
        found += words.emails(text)
    if ("." in text or "://" in text) and not wanted.isdisjoint(_WEB_KINDS):
        for start, end, _ in words.urls(text):
            found.append((start, end, "LINK" if _PLAIN_LINK.fullmatch(text, start, end) else "URL"))
    has_digit = _DIGIT.search(text)
    lowered = _lowered(text) if has_digit or "KEY" in wanted else ""
    if "KEY" in wanted:
        found += words.keys(text, lowered)
    if not has_digit:
        return found
    if not wanted.isdisjoint(_ADDRESS_KINDS):
        found += words.addresses(text)
    if "ADDRESS" in wanted:
        found += places.boxes(text, lowered)
    if not wanted.isdisjoint(_ANNOUNCED_KINDS):
        found += places.announced(text, lowered)
    found += _of_digits(text, wanted)
    return found


def _lowered(text: str) -> str:
    """Lower case at the same offsets (a few letters, such as U+0130, become two when lowered)."""
    lowered = text.lower()
    return (
        lowered
        if len(lowered) == len(text)
        else "".join(c.lower() if c.isascii() else c for c in text)
    )


def _of_digits(text: str, wanted: frozenset[str]) -> Iterator[Span]:
    digits, streets = not wanted.isdisjoint(_DIGIT_KINDS), "ADDRESS" in wanted
    codes = "POSTCODE" in wanted
    for chunk in numbers.CHUNK.finditer(text):
        start, end = chunk.span()
        if end - start < 5:
            before = text[max(0, start - 3) : start]
            if not _LETTER.search(before + text[end : end + 3]) or _IN_WORD.fullmatch(before):
                # a small number is part of an identifier only beside words, and two letters of its
                # own
                continue
        if digits:
            yield from numbers.in_chunk(text, start, end)
        if streets:
            yield from places.streets(text, start, end)
        if codes:
            yield from places.postcodes(text, start, end)


# In order of precedence between spans of the same length.
KINDS: tuple[str, ...] = (
    "KEY", "EMAIL", "URL", "LINK", "IBAN", "CARD", "SSN", "IP", "MAC", "DATE_OF_BIRTH", "DATE", "LICENCE", "PASSPORT",
    "PHONE", "ADDRESS", "POSTCODE",
)  # fmt: skip
"""A LINK is the plain address of a page; a URL has a user, a query, a fragment, or a host of one's
own.
"""

_ALL = frozenset(KINDS)
_RANK = {kind: i for i, kind in enumerate(KINDS)}
_ZERO_WIDTH = "\u00ad\u200b\u200c\u200d\u200e\u200f\u2060\ufeff"
_ANY_ZERO_WIDTH = re.compile(f"[{_ZERO_WIDTH}]")


@dataclass(frozen=True, slots=True)
class Identifier:
    """One identifier: `text` is the private characters from `start` to `end` of the text searched."""

    start: int
    end: int
    kind: str
    text: str = field(repr=False)


def find(text: str, kinds: Collection[str] = KINDS) -> list[Identifier]:
    """The identifiers of the wanted kinds, ascending and never overlapping; of overlapping ones the
    longest.

    Time is close to linear in the length of the text, whatever it holds.

    Raises:
        ValueError: a kind that is not in KINDS.
    """
    wanted = _ALL if kinds is KINDS else frozenset(kinds)
    if not wanted <= _ALL:
        raise ValueError(f"kinds must be of {', '.join(KINDS)}; got {sorted(wanted - _ALL)}")
    spans = _chosen([span for span in _spans(text, wanted) if span[2] in wanted])
    return [Identifier(start, end, kind, text[start:end]) for start, end, kind in spans]


def same_form(kind: str, text: str, source: Source) -> str:
    """A realistic other value of the same form, drawn from `source`; see `identifier_forms`.

    It is read as `find` reads it: typographic characters as their ASCII twins, zero-width ones as
    nothing.

    Args:
        kind: one of KINDS; `text`: an identifier that `find` gave as that kind.

    Raises:
        ValueError: unknown kind; or the text cannot be given another form. Never quotes the text.
    """
    from sanitizer.identifiers.forms import (
        another_value,
    )  # a table of forms that most calls never need

    return another_value(kind, _ANY_ZERO_WIDTH.sub("", _folded(text)), source)


def _spans(text: str, wanted: frozenset[str]) -> Iterable[Span]:
    if text.isascii():
        return _search()(text, wanted)
    plain = _folded(text)
    if not _ANY_ZERO_WIDTH.search(plain):
        return _search()(plain, wanted)
    kept = [i for i, c in enumerate(plain) if c not in _ZERO_WIDTH]
    joined = _search()("".join(plain[i] for i in kept), wanted)
    apart = _chosen(
        [span for span in _search()(_ANY_ZERO_WIDTH.sub(" ", plain), wanted) if span[2] in wanted]
    )
    whole = [(kept[start], kept[end - 1] + 1, kind) for start, end, kind in joined]
    return apart + [span for span in whole if not _cuts(span, apart)]


def _cuts(span: Span, chosen: list[Span]) -> bool:
    """Whether the span overlaps one of the ascending, disjoint `chosen` without covering it."""
    first, last = bisect_left(chosen, (span[0],)), bisect_left(chosen, (span[1],))
    before = first > 0 and chosen[first - 1][1] > span[0]
    return before or (last > first and chosen[last - 1][1] > span[1])


@cache
def _search() -> Callable[[str, frozenset[str]], list[Span]]:
    """Imported at first use, since that compiles all patterns."""

    return candidates


def _chosen(spans: list[Span]) -> list[Span]:
    """Longest first, then by rank; what overlaps one already chosen is dropped."""
    if len(spans) < 2:
        return spans
    ordered = sorted(spans, key=lambda s: (s[0] - s[1], _RANK[s[2]], s[0]))
    chosen: list[Span] = []
    for span in ordered:
        at = bisect_left(chosen, span)
        if (at == 0 or chosen[at - 1][1] <= span[0]) and (
            at == len(chosen) or span[1] <= chosen[at][0]
        ):
            chosen.insert(at, span)
    return chosen


def _folded(text: str) -> str:
    """The text with ASCII twins, at the same offsets."""
    return text.translate(_twins()) if not text.isascii() and _odd().search(text) else text


@cache
def _twins() -> dict[int, str]:
    """One ASCII character for each typographic or full-width one, so that offsets stay."""
    table = {0xFF01 + i: chr(0x21 + i) for i in range(94)}
    table |= {ord(c): "-" for c in "\u2010\u2011\u2012\u2013\u2212\ufe63"}
    table |= {ord(c): " " for c in "\u00a0\u1680\u202f\u205f\u3000"} | dict.fromkeys(
        range(0x2000, 0x200B), " "
    )
    table |= {ord(c): "." for c in "\u3002\uff61"} | {0x2019: "'", 0x2018: "'"}
    for n in range(0x660, 0x1_0000):
        if unicodedata.category(chr(n)) == "Nd":
            table[n] = str(unicodedata.digit(chr(n)))
    return table


@cache
def _odd() -> re.Pattern[str]:
    return re.compile("[" + "".join(map(re.escape, map(chr, _twins()))) + "]")
