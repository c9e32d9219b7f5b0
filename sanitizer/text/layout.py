"""What tools write around the lines of a file, and which rows of data a text holds.

`nl`, `grep -n`, `git diff` and the tools of coding agents put a margin before each line: a number,
or the sign of a change. A margin is no part of what the line says, and none of what is hidden.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from sanitizer.text.lexers import LINE
from sanitizer.text.syntax import Piece
from sanitizer.text.words import outside

Offsets = Sequence[tuple[int, int]]
_NUMBERED = re.compile(
    r"(?:>(?=[ \t]))?[ \t]*+L?(?P<number>[0-9]{1,7})"
    r"(?P<sign>\u2192|\t|[ ]*[|\u2502](?: |(?=\n|\Z))|: ?(?![0-9]{2}(?:[:\s]|\Z)))"
)
_ALIGNED = 6
"""Columns in which `cat -n` and `nl` write a number, before a tab."""
_HUNK = re.compile(r"@@ -[0-9]+(?:,([0-9]+))? \+[0-9]+(?:,([0-9]+))? @@")
_HASHES = re.compile(r"index [0-9a-f]{7,64}\.\.[0-9a-f]{7,64}(?: [0-7]{6})?$|commit [0-9a-f]{40}$")
_VALUES = re.compile(r"(?i)\bvalues\b")
_BRACES = re.compile(r'"[^"\\\n]*+(?:\\.[^"\\\n]*+)*+"?|[][{}]', re.S)
_FEW = 2
"""Values of an object that tell of somebody from which on it is a record, if it stands alone."""


def margins(text: str) -> list[tuple[int, int]]:
    """Return the margins of the lines of a text, ascending.

    Numbers of lines go up from line to line; before a tab, as in `cat -n`, they are aligned or
    count from 1. Rows of a diff are as many as the head of their hunk says.

    Example:
        >>> diff = "@@ -1 +1 @@\\n-x\\n+y"
        >>> [diff[start:end] for start, end in margins(diff)]
        ['@@ -1 +1 @@', '-', '+']
    """
    found: list[tuple[int, int]] = []
    block: list[re.Match[str]] = []
    left = [0, 0]  # rows of the hunk that were and that are
    for line in LINE.finditer(text):
        first, last = line.span()
        sign = text[first : first + 1]
        if left != [0, 0] and sign in ("-", "+", " ", "\n"):
            left = [max(0, n - (sign != other)) for n, other in zip(left, "+-", strict=True)]
            found.append((first, first + (sign != "\n")))
            continue
        left = [0, 0] if sign != "\\" else left
        if head := _HUNK.match(text, first, last):
            left = [int(n or 1) for n in head.groups()]
            found.append(head.span())
        elif hashes := _HASHES.match(line.group().rstrip("\n")):
            found.append((first, first + hashes.end()))
        number = None if head else _NUMBERED.match(text, first, last)
        if block and not (number and _follows(block[-1], number)):
            found += _numbers(block)
            block = []
        block += [number] if number else []
    return sorted(span for span in [*found, *_numbers(block)] if span[0] < span[1])


def _follows(one: re.Match[str], two: re.Match[str]) -> bool:
    return one["sign"].strip(" ") == two["sign"].strip(" ") and int(one["number"]) < int(
        two["number"]
    )


def _numbers(block: Sequence[re.Match[str]]) -> Iterator[tuple[int, int]]:
    """Yield the margins of a block of lines, if their numbers are those of lines."""
    if not block or (len(block) == 1 and block[0]["sign"] != "\u2192"):
        return
    if block[0]["sign"] == "\t":
        aligned = all(
            m.group()[0] == " " and m.end("number") - m.start() >= _ALIGNED for m in block
        )
        if not aligned and [int(m["number"]) for m in block] != list(range(1, len(block) + 1)):
            return
    yield from (m.span() for m in block)


@dataclass(frozen=True)
class Bare:
    """A text without its margins, and where each of its characters came from.

    Attributes:
        text: without margins. origins: offset of each character; empty if there are no margins.
    """

    text: str = field(repr=False)
    origins: Sequence[int]
    margins: Offsets

    @classmethod
    def of(cls, text: str, margins: Offsets) -> Bare:
        """Return a text without these stretches."""
        if not margins:
            return cls(text, (), ())
        kept = outside(margins, 0, len(text))
        origins = [at for start, end in kept for at in range(start, end)]
        return cls("".join(text[start:end] for start, end in kept), origins, margins)

    def placed(self, start: int, end: int) -> list[tuple[int, int]]:
        """Return the parts of the original, without margins, that a stretch of the text is."""
        if not self.origins or start == end:
            return [(start, end)] if not self.origins else []
        return outside(self.margins, self.origins[start], self.origins[end - 1] + 1)

    def within(self, offset: int) -> int:
        """Return the offset in the text of one in the original."""
        return bisect_left(self.origins, offset) if self.origins else offset


def records(text: str, parts: Sequence[Piece], told: Collection[int]) -> list[tuple[int, int]]:
    """Return the rows of data that tell of somebody, ascending: where `told` things stand.

    A table (CSV, SQL's values, rows of cells between bars) counts as a whole; of JSON the objects
    that are elements of a list, and one that stands alone if two of its values tell of somebody.

    Args:
        parts: all code of the text.
        told: offsets of what tells of somebody.
    """
    places = sorted(told)
    found: list[tuple[int, int]] = []
    for start, end, language in _data(text, parts):
        here = places[bisect_left(places, start) : bisect_left(places, end)]
        if here and language == "json":
            found += _objects(text, start, end, here)
        elif here:
            found.append((start, end))
    return sorted(found)


def _data(text: str, parts: Sequence[Piece]) -> Iterator[tuple[int, int, str]]:
    """Yield tables, statements of SQL with values, and JSON."""
    data = [part for part in parts if part.language in ("csv", "json", "sql")]
    first = 0
    for number, (one, two) in enumerate(pairwise([*data, Piece(len(text), len(text), "text", "")])):
        apart = one.language != "json" and "\n\n" in text[one.end : two.start]
        if one.language == two.language and not apart:
            continue
        stop = text.find("\n", one.end)
        start, end = text.rfind("\n", 0, data[first].start) + 1, len(text) if stop < 0 else stop
        if one.language != "sql" or _VALUES.search(text, start, end):
            yield start, end, one.language
        first = number + 1
    rows: list[tuple[int, int]] = []
    for line in [*LINE.finditer(text), None]:
        bars = line.group().count("|") if line else 0
        if line and rows and bars == text.count("|", *rows[-1]):
            rows.append(line.span())
            continue
        if len(rows) > _FEW:
            yield rows[0][0], rows[-1][1], "csv"
        rows = [line.span()] if line and bars else []


def _objects(text: str, start: int, end: int, told: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the objects of JSON that are records."""
    opened: list[tuple[str, int]] = []
    n_inside = 0  # of what tells of somebody, in objects that are closed
    inner: list[int] = []
    for mark in _BRACES.finditer(text, start, end):
        sign = mark.group()
        if sign in "{[":
            opened.append((sign, mark.start()))
            inner.append(n_inside)
        elif sign in "}]" and opened:
            kind, begin = opened.pop()
            n_told = bisect_left(told, mark.end()) - bisect_left(told, begin)
            n_own = n_told - (n_inside - inner.pop())
            n_inside += n_own if kind == "{" else 0
            is_element = bool(opened) and opened[-1][0] == "["
            if kind == "{" and n_told and (is_element or n_own >= _FEW):
                yield begin, mark.end()
