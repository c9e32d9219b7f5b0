"""Identifiers in a text: e-mail, telephone, card, account, address, key: one loop over the rows.

A text is read in several ways (`readings`): typographic and full-width characters and every decimal
digit of Unicode count as their ASCII twins, invisible characters both as nothing and as a border,
escapes such as `%40` and `&#64;` as what they stand for, and base64 or hexadecimal tokens as what
they say. A span found holds the original characters. What is found is said by rows of data files
(`rows`); `sanitizer kinds` lists them.

Not protected: identifiers of other forms, split over messages, spelled out in digits ("four one
one one"), encoded twice, or announced by words of languages that the rows do not have.
"""

from __future__ import annotations

import re
from bisect import bisect_left, insort
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import Any

from sanitizer.identifiers.announced import announced
from sanitizer.identifiers.numbers import proved
from sanitizer.identifiers.readings import Reading, folded, readings, unescaped, without_coded_ends
from sanitizer.identifiers.rows import KINDS, NUMBER, Registry, Row, Search, packaged
from sanitizer.identifiers.secrets import is_announced, is_placeholder
from sanitizer.progress import pulse
from sanitizer.randomness import Source

Span = tuple[int, int, Row]

_ALL = frozenset(KINDS)
_RANK = {kind: i for i, kind in enumerate(KINDS)}
_AS_WRITTEN = frozenset({"KEY", "URL", "LINK", "ENCODED"})
"""Kinds whose percent signs belong to them."""
_TRIMMED = ".,:;?"
_REST = re.compile("[A-Za-z0-9]{0,4000}")
_BEFORE = 100
"""Characters before a string that may belong to the value which it marks."""
PULSE_CHARS = 20_000
"""Characters of a text from which each row lets others go first, not the whole search alone."""


@dataclass(frozen=True, slots=True)
class Identifier:
    """One identifier found in a text.

    Attributes:
        start, end: offsets of its first character, and after its last. kind: one of `KINDS`.
        text: the private characters from `start` to `end`; not shown by `repr`.
        row: name of the row that found it; see `sanitizer kinds`.
    """

    start: int
    end: int
    kind: str
    text: str = field(repr=False)
    row: str = field(default="", compare=False)


def find(
    text: str, kinds: Collection[str] = KINDS, registry: Registry | None = None
) -> list[Identifier]:
    """Find the identifiers of the wanted kinds, ascending and without overlaps.

    Of overlapping ones the longest is returned. The time is close to linear in the length of the
    text, whatever it holds.

    >>> [(i.kind, i.text) for i in find("Mail anna@example.org or call (555) 234-5678.")]
    [('EMAIL', 'anna@example.org'), ('PHONE', '(555) 234-5678')]

    Raises:
        ValueError: a kind is not in KINDS.
    """
    wanted = _ALL if kinds is KINDS else frozenset(kinds)
    if not wanted <= _ALL:
        raise ValueError(f"kinds must be of {', '.join(KINDS)}; got {sorted(wanted - _ALL)}")
    spans = _spans(text, wanted, registry or packaged())
    if "\\" in text:
        spans = list(_with_escapes(text, spans))
    return [
        Identifier(start, end, row.kind, text[start:end], row.name) for start, end, row in spans
    ]


_CODED = r"(?:\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2})"
_CUT = re.compile(_CODED)
_BEFORE_CUT = re.compile(rf"(?:{_CODED}|[\w.+-])+\Z")
_REACH = 80  # characters before an escape that may belong to an address


def _with_escapes(text: str, spans: list[Span]) -> Iterator[Span]:
    r"""Yield spans of which none begins inside an escaped letter ("jos\u00e9@example.org")."""
    last = 0
    for start, end, row in spans:
        begin = start
        if start > last and text[start - 1] == "\\" and _CUT.match(text, start - 1):
            begin = start - 1
            low = max(last, begin - _REACH)
            local = _BEFORE_CUT.search(text, low, begin) if row.kind == "EMAIL" else None
            begin = local.start() if local else begin
        yield begin, end, row
        last = end


def same_form(kind: str, text: str, source: Source) -> str:
    """Draw a realistic other value of the same form; the module `forms` says what stays.

    The text is read as `find` reads it: typographic characters as their ASCII twins, invisible
    ones as nothing, escapes as what they stand for.

    >>> from sanitizer.testing import SeededSource
    >>> same_form("CARD", "4111-1111-1111-1111", SeededSource(1))
    '4291-4177-7631-7063'

    Args:
        text: an identifier that `find` gave as that kind.

    Raises:
        ValueError: the kind is unknown, or the text cannot be given another form. The message does
            not quote the text.
    """
    from sanitizer.identifiers.forms import another_value  # patterns that most calls never need

    plain = folded(text)
    return another_value(kind, plain if kind in _AS_WRITTEN else unescaped(plain), source)


def _spans(text: str, wanted: frozenset[str], registry: Registry) -> list[Span]:
    """Return what all readings of a text hold, at its own offsets, without overlaps."""
    first, *others = readings(text)
    chosen = _chosen(candidates(first.text, wanted, registry))
    for reading in others:
        # What another reading finds counts only if it does not cut what was found before, and what
        # the last one finds only beside that.
        found = (_placed(reading, span) for span in candidates(reading.text, wanted, registry))
        more = [span for span in found if span and not _bars(chosen, span, reading.covers)]
        chosen = _chosen([*chosen, *more])
    return chosen


def _placed(reading: Reading, span: Span) -> Span | None:
    """Return a span of a reading at the offsets of the original; None if it had to hold an escape
    and does not.
    """
    start, end, row = span
    if reading.starts is None or reading.ends is None:
        return span
    if reading.escapes is not None:
        first = bisect_left(reading.escapes, start)
        if first == len(reading.escapes) or reading.escapes[first] >= end:
            return None
    return reading.starts[start], reading.ends[end - 1], row


def _bars(chosen: list[Span], span: Span, covers: bool) -> bool:
    """Return True if a span cuts one of `chosen`; if it `covers`, it may lie over whole ones."""
    first = bisect_left(chosen, span[0], key=lambda each: each[0])
    last = bisect_left(chosen, span[1], key=lambda each: each[0])
    if first > 0 and chosen[first - 1][1] > span[0]:
        return True
    return last > first and (not covers or chosen[last - 1][1] > span[1])


def _chosen(spans: Iterable[Span]) -> list[Span]:
    """Return spans without overlaps, the longest first, then by rank."""
    chosen: list[Span] = []
    for span in sorted(spans, key=lambda s: (s[0] - s[1], _RANK[s[2].kind], s[0])):
        if not _bars(chosen, span, covers=False):
            insort(chosen, span, key=lambda each: each[0])
    return chosen


def candidates(text: str, wanted: frozenset[str], registry: Registry) -> list[Span]:
    """Return what rows of the wanted kinds find in a text with ASCII twins; spans may overlap."""
    lowered = lower(text)
    found: list[Span] = []
    for start, rows in registry.begun.items():
        if start in text:
            for row in rows:
                found += _begun(text, start, row) if row.kind in wanted else ()
    pulse()
    for row in registry.marked:
        if len(text) > PULSE_CHARS:
            pulse()
        if row.kind in wanted and _holds(lowered, row.marks) and _holds(lowered, row.also):
            found += _searched(text, lowered, row)
    numbers = [number.start() for number in NUMBER.finditer(text)]
    for row in registry.numbered if numbers else ():
        found += _at_numbers(text, numbers, row) if row.kind in wanted else ()
    found += (each for each in announced(text, lowered, registry) if each[2].kind in wanted)
    sure = list(proved(text, registry, wanted)) if numbers else []
    found += sure
    bordered = without_coded_ends(text) if "\\" in text else text
    proved_ones = tuple(span[:2] for span in sure)
    asked = Search(text, lowered, bordered, wanted, registry, proved_ones)
    for name, rows in registry.finders.items():
        if not wanted.isdisjoint(row.kind for row in rows):
            by_name = {row.name: row for row in rows}
            for first, last, which in _finder(name)(asked):
                if which in by_name and by_name[which].kind in wanted:
                    found.append((first, last, by_name[which]))
    return [s for s in found if s[2].kind != "KEY" or not is_placeholder(text[s[0] : s[1]])]


def _holds(lowered: str, strings: tuple[str, ...]) -> bool:
    """Return True if a text holds one of some strings, or there are none."""
    # a loop, since a generator takes twice as long
    for each in strings:
        if each in lowered:
            return True
    return not strings


def _begun(text: str, start: str, row: Row) -> Iterator[Span]:
    """Yield values of a row that begin with a string, or hold it."""
    at = text.find(start)
    while at >= 0:
        end = at + len(start)
        found = _found(text, at, end, row)
        if found:
            end = max(end, found[1])
            yield found
        at = text.find(start, max(end, at + 1))


def _at_numbers(text: str, numbers: list[int], row: Row) -> Iterator[Span]:
    """Yield values of a row at the numbers of a text, which begin at some offsets."""
    done = 0
    for number in numbers:
        if number >= done and (found := _found(text, number, number, row)):
            done = found[1]
            yield found


def _found(text: str, at: int, end: int, row: Row) -> Span | None:
    """Return the value of a row whose form begins at `end`, behind what marks it at `at`."""
    first = at
    if row.before:
        before = row.pattern_before.search(text, max(0, at - _BEFORE), at)
        if before is None:
            return None
        first = before.start()
    m = row.pattern.match(text, end)
    if m is None or not (row.glued or first == 0 or not text[first - 1].isalnum()):
        return None
    groups = row.pattern.groupindex
    start, last = m.span("value") if "value" in groups else (first, m.end())
    last = max(end, last - (text[last - 1] in "-_."))
    checked = (
        m["words"] if "words" in groups else text[max(end if end > at else first, start) : last]
    )
    if not row.passes(checked):
        return None
    if row.kind == "KEY" and text[last - 1].isalnum() and (rest := _REST.match(text, last)):
        last = rest.end()  # a key that is longer than its form is hidden whole
    return start, last, row


def _searched(text: str, lowered: str, row: Row) -> Iterator[Span]:
    """Yield what the form of a row matches."""
    groups = row.pattern.groupindex
    group = "value" if "value" in groups else 0
    for m in _beginning(text, lowered, row) if row.begins else row.pattern.finditer(text):
        value = m[group].rstrip(_TRIMMED) if row.trim else m[group]
        if not value or ("name" in groups and not is_announced(m["name"], value)):
            continue
        if row.near and not row.pattern_near.search(
            text, max(0, m.start() - row.reach), m.end() + row.reach
        ):
            continue
        if row.passes(value):
            yield m.start(group), m.start(group) + len(value), row


def _beginning(text: str, lowered: str, row: Row) -> Iterator[re.Match[str]]:
    """Yield the matches of a form that begins with one of the marks of its row."""
    for mark in row.marks:
        at = lowered.find(mark)
        while at >= 0:
            m = row.pattern.match(text, at)
            if m:
                yield m
            at = lowered.find(mark, m.end() if m else at + len(mark))


@cache
def _finder(name: str) -> Any:
    """Return a function that finds, by "module.function" of this package."""
    module, _, function = name.partition(".")
    return getattr(import_module(f"sanitizer.identifiers.{module}"), function)


def lower(text: str) -> str:
    """Return the text in lower case at the same offsets."""
    lowered = text.lower()
    if len(lowered) == len(text):
        return lowered
    # A few letters, such as U+0130, become two when lowered.
    return "".join(c.lower() if c.isascii() else c for c in text)
