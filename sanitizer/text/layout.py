"""What tools write around the lines of a file, and which rows of data a text holds.

`nl`, `grep -n`, `git diff` and the tools of coding agents put a margin before each line: a number,
or the sign of a change. A margin is no part of what the line says, and none of what is hidden.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from sanitizer.text.lexers import LINE
from sanitizer.text.prompt import merged
from sanitizer.text.syntax import Piece, pieces
from sanitizer.text.words import outside, overlapping

Offsets = Sequence[tuple[int, int]]
_NUMBERED = re.compile(
    r"(?:>(?=[ \t]))?[ \t]*+L?(?P<number>[0-9]{1,7})"
    r"(?P<sign>\u2192|\t|[ ]*[|\u2502](?: |(?=\n|\Z))|: ?(?![0-9]{2}(?:[:\s]|\Z)))"
)
_ALIGNED = 6
"""Columns in which `cat -n` and `nl` write a number, before a tab."""
ROW = re.compile(r"(?m)^(?:[^,\n(){}\[\]]*,(?![ \n])){3,}[^,\n(){}\[\]]*$")
"""A line of cells, as of a table that stands elsewhere."""
_HUNK = re.compile(r"@@ -[0-9]+(?:,([0-9]+))? \+[0-9]+(?:,([0-9]+))? @@")
_HASHES = re.compile(r"index [0-9a-f]{7,64}\.\.[0-9a-f]{7,64}(?: [0-7]{6})?$|commit [0-9a-f]{40}$")
_LINES = re.compile(r'(?<=[:\[, ])"((?:[^"\\\n]|\\.)*+)"(?=\s*[,}\]])')
"""A string of JSON."""
_WRAPPED = re.compile(r"^<(?P<tag>[a-z][\w-]*)>\n(?P<body>.*?)^</(?P=tag)>[ \t]*$", re.M | re.S)
"""What an agent puts between tags on lines of their own: a file, the output of a command."""
_ESCAPE, _ESCAPES = re.compile(r"\\([^u])"), {"n": "\n", "t": "\t", "r": "\r"}
_VALUES = re.compile(r"(?i)\bvalues\b")
_BRACES = re.compile(r'"[^"\\\n]*+(?:\\.[^"\\\n]*+)*+"?|[][{}]', re.S)
_FEW_ROWS = 3
"""Of so many rows of a table one tells of somebody, at the least."""
_FEW = 2
"""Values of an object that tell of somebody from which on it is a record, if it stands alone."""


def margins(text: str) -> list[tuple[int, int]]:
    """Return the margins of the lines of a text, ascending.

    Numbers of lines go up from line to line; before a tab, as in `cat -n`, they are aligned or
    count from 1. Rows of a diff are as many as the head of their hunk says.

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


@dataclass(frozen=True, slots=True)
class Layer:
    """One text inside a text: without margins, with line ends in place of escapes.

    Attributes:
        text: as it reads. origins: (start, end) in the original of each character; None: the same.
        left_out: stretches of the original that are no part of it, ascending.
    """

    text: str = field(repr=False)
    origins: Offsets | None
    left_out: Offsets

    def placed(self, start: int, end: int) -> list[tuple[int, int]]:
        """Return the parts of the original that a stretch of the text is."""
        if self.origins is None:
            return [(start, end)]
        if start == end:
            return []
        return outside(self.left_out, self.origins[start][0], self.origins[end - 1][1])

    def within(self, offset: int) -> int | None:
        """Return the offset in the text of one in the original; None if it is elsewhere."""
        if self.origins is None:
            return offset
        at = bisect_left(self.origins, offset, key=lambda place: place[1] - 1)
        return at if at < len(self.origins) and self.origins[at][0] <= offset else None


@dataclass(frozen=True, slots=True)
class Layout:
    """The texts inside a text, and what of it is read otherwise than it is written.

    Attributes:
        layers: the text without its strings of several lines, and each of these by itself, as
            tools write the output of a program into JSON, or between tags. margins: of all.
            escapes: (start, end, letter) of line ends, quotes and the like in these strings.
    """

    layers: tuple[Layer, ...]
    margins: Offsets = ()
    escapes: tuple[tuple[int, int, str], ...] = ()

    @classmethod
    def of(cls, text: str) -> Layout:
        """Return the layout of a text.

        >>> [layer.text for layer in Layout.of('{"out": "1: a\\\\n2: b"}').layers]
        ['{"out": ""}', 'a\\nb']
        """
        strings = [m.span("body") for m in _WRAPPED.finditer(text)]
        strings += [
            m.span(1)
            for start, end in outside(sorted(strings), 0, len(text))
            for m in _LINES.finditer(text, start, end)
            if r"\n" in m[1]
        ]
        escapes = [
            (*m.span(), _ESCAPES.get(m[1], m[1]))
            for start, end in strings
            if text[start - 1] == '"'
            for m in _ESCAPE.finditer(text, start, end)
        ]
        layers = [cls._layer(text, outside(sorted(strings), 0, len(text)), [])] if text else []
        layers += [cls._layer(text, [string], escapes) for string in strings]
        found = merged(span for layer, span_s in layers for span in span_s)
        return cls(tuple(layer for layer, _ in layers), found, tuple(escapes))

    def pieces(self) -> tuple[Piece, ...]:
        """Return the pieces of all code, at the offsets of the original, ascending."""
        found = [
            replace(piece, start=start, end=end)
            for layer in self.layers
            for piece in pieces(layer.text)
            for start, end in layer.placed(piece.start, piece.end)
        ]
        return tuple(
            sorted(found, key=lambda piece: piece.start) if len(self.layers) > 1 else found
        )

    @staticmethod
    def _layer(
        text: str, kept: Offsets, escapes: Sequence[tuple[int, int, str]]
    ) -> tuple[Layer, Offsets]:
        """Return a layer of these stretches, and its margins as offsets in the original."""
        letters, origins = [], []
        for start, end in kept:
            at = start
            for begin, stop, letter in overlapping(escapes, start, end):
                letters += [text[at:begin], letter]
                origins += [(i, i + 1) for i in range(at, begin)]
                origins.append((begin, stop))
                at = stop
            letters.append(text[at:end])
            origins += [(i, i + 1) for i in range(at, end)]
        written = "".join(letters)
        around = [(origins[a][0], origins[b - 1][1]) for a, b in margins(written)]
        if not around and kept == [(0, len(text))]:
            return Layer(text, None, ()), ()
        left_out = [*around, *outside(kept, 0, len(text))]
        inner = [
            (c, place)
            for c, place in zip(written, origins, strict=True)
            if not overlapping(around, *place)
        ]
        places = [place for _, place in inner]
        return Layer("".join(c for c, _ in inner), places, merged(left_out)), around


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
        elif here and _FEW_ROWS * len({text.count("\n", start, at) for at in here}) >= text.count(
            "\n", start, end
        ):
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
    n_own = [0]  # values of each object that tell of somebody
    at = start
    for mark in _BRACES.finditer(text, start, end):
        sign, span = mark.group(), mark.span()
        n_own[-1] += bisect_left(told, span[0]) - bisect_left(told, at)
        at = span[1]
        if sign in ("{", "["):
            opened.append((sign, span[0]))
            n_own.append(0)
        elif sign not in ("}", "]"):
            n_own[-1] += bisect_left(told, span[0]) < bisect_left(told, at)
        elif opened:
            kind, begin = opened.pop()
            n_here = n_own.pop()
            has_any = bisect_left(told, begin) < bisect_left(told, at)
            is_element = bool(opened) and opened[-1][0] == "["
            if kind == "{" and has_any and (is_element or n_here >= _FEW):
                yield begin, at
            elif kind == "[":
                n_own[-1] += n_here > 0
