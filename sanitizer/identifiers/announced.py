"""Values that a word before them announces: "passport no. X1234567", a column's head, "(my ssn)".

They count without proof, since a mistyped number is private too. Words and forms are rows; this
module says how a value may stand to its words. It reads forward from each word of a text, over a
bounded length.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import zip_longest

from sanitizer.identifiers.rows import (
    HUMPS,
    KINDS,
    NUMBER,
    UNSPACED,
    WORD,
    Registry,
    Row,
    any_of,
    words_of,
)

Found = tuple[int, int, Row]

_HUMP = re.compile("[a-z][A-Z]")
_BETWEEN = re.compile(r"[\s._/'\"’°-]{0,3}")
"""What may stand between two words of a phrase."""


_GAP = re.compile(
    rf"(?:[\s_.,:#=°º'\"()/№-]{{0,4}}(?:(?<![^\W_])|(?<=[a-z])(?=[A-Z]))"
    rf"(?:(?P<numbering>(?i:{any_of(words_of('numbering'))})(?!-?[0-9]))"
    rf"|{any_of(words_of('between'))}|[A-Z]{{2,3}}(?=\)))(?![^\W_])){{0,4}}"
    # a question, and who answers it
    r"(?:[?.:]{0,2}\r?\n{1,2}(?:\[[0-9:]{4,8}\] ?)?[^\W\d_][\w ]{0,20}: "
    r"(?:(?i:it['’]?s|it is|sure|yes|ok|das ist|es ist|c['’]est|es el)[ ,]{1,2}){0,2})?"
    r"(?P<sign>(?:&nbsp;|[\s_.,:#=°º'\"()>\\\]№*-]){0,8})"
)
_PARTICLES = re.compile(r"[^\x00-\x7f]{0,8}")
"""What a script without spaces writes behind a word."""
_SIGNS = frozenset("#:=№")
_OWNER = re.compile(
    r"(?i)\b(?:my|our|his|her|their|atm|unlock|sim|card|phone|debit|account|login|voicemail|code"
    r"|código|codice|mon|mi|meine?|mio|meu|mijn|il|el|le|die|de) \Z"
)
_CODED = re.compile(
    r"(?:(?=(?:[A-Z/-]{0,6}[0-9]){6})[A-Z0-9]+(?:[-/][A-Z0-9]+)+|[A-Z]{1,2}-[0-9]{4,9}"
    r"|[A-Z]{2,4}-?[0-9]{6,10})(?![\w-])"
)
"""A number with six digits and a hyphen, or letters before it: "policy" alone announces it."""
_ISO_DAY = re.compile("[12][0-9]{3}-[01][0-9]-[0-3][0-9]")
_LONG_NUMBER = re.compile(r"[0-9]{8}")
_AND = re.compile(rf",? (?:(?:{any_of(words_of('and'))}) )?|[,/&] ?")
_OWNED = any_of(words_of("owners")) + " "
_BEHIND = re.compile(
    rf"(?: \((?:{_OWNED})?|,? {any_of(words_of('copulas'))} {_OWNED}(?:\w{{2,20}} ){{0,2}})\Z"
)
_TOKEN_BEFORE = re.compile(
    r"(?<![\w-])(?<![0-9][ .-])[A-Za-z-]{0,6}[0-9]"
    r"(?:[ .-]?[0-9]|[A-Z](?=[A-Z]?(?:[0-9]|\Z))|-[A-Z]\Z)*\Z"
)
_FEWEST_BEHIND = 5
_PLAINLY, _FEWEST_CODED, _SHORT = 6, 4, 8
"""Digits of a value that an abbreviation in lower case announces with a sign: "npi: 1234567"; and
of one with letters that is longer than the last."""


def announced(text: str, lowered: str, registry: Registry) -> Iterator[Found]:
    """Yield what the words of a text announce; `lowered` has its characters in lower case."""
    done = -1
    for start, end, rows in _phrases(text, lowered, registry):
        if start >= done and not text[start - 1 : start].isdigit():  # part of a hash
            found = _value(text, start, end, rows) or _named_behind(text, start, end, rows)
            if found:
                yield from _and_others(text, found)
                done = end
    if "\n" in text and not {",", ";", "\t", "|"}.isdisjoint(text):
        yield from by_columns(text, registry)


def _phrases(text: str, lowered: str, registry: Registry) -> Iterator[tuple[int, int, list[Row]]]:
    """Yield where phrases that announce stand, the longest that begins at a place first."""
    words = list(_words(text))
    lower = [lowered[word.start() : word.end()] for word in words]
    for number, (one, two) in enumerate(zip_longest(lower, lower[1:])):
        for first in ((one, two), (one,)):
            for phrase, rows in registry.announced.get(first, ()):
                if end := _end_of_phrase(lowered, words, number, phrase):
                    yield words[number].start(), end, rows
    if UNSPACED.search(text):
        for m in registry.unspaced_words.finditer(text):
            particles = _PARTICLES.match(text, m.end())
            assert particles, "it may be empty"
            yield m.start(), particles.end(), registry.unspaced[m[0]]


def _words(text: str) -> Iterator[re.Match[str]]:
    """Yield words; those of "socialSecurityNumber" are three."""
    if not _HUMP.search(text):
        yield from WORD.finditer(text)
        return
    for word in WORD.finditer(text):
        if _HUMP.search(text, *word.span()):
            yield from HUMPS.finditer(text, *word.span())
        else:
            yield word


def _end_of_phrase(
    lowered: str, words: list[re.Match[str]], number: int, phrase: tuple[str, ...]
) -> int:
    """Return where a phrase ends that begins with a word of the text; 0 if it does not."""
    if number + len(phrase) > len(words):
        return 0
    for i, wanted in enumerate(phrase[1:], number + 1):
        start, end = words[i].span()
        if lowered[start:end] != wanted or not _BETWEEN.fullmatch(
            lowered, words[i - 1].end(), start
        ):
            return 0
    return words[number + len(phrase) - 1].end()


def _value(text: str, start: int, end: int, rows: list[Row]) -> Found | None:
    """Return the longest value behind an announcing phrase from `start` to `end`."""
    gap = _GAP.match(text, end)
    assert gap, "every part of it may be empty"
    first = gap.end()
    numbered = bool(gap["numbering"]) or not _SIGNS.isdisjoint(gap["sign"])
    coded = bool(_CODED.match(text, first)) and not _ISO_DAY.match(text, first)
    coded = coded or bool(_LONG_NUMBER.match(text, first))
    found: list[Found] = []
    for row in rows:
        if row.numbered and not (numbered or coded):
            continue
        before = row.before and row.pattern_before.search(text, end, first)
        each = _matched(text, before.start() if before else first, row)
        if each and row.capitals and not text[start:end].isupper():
            owned = _OWNER.search(text, max(0, start - 12), start) or gap["numbering"]
            value = text[slice(*each[:2])]
            n_digits = sum(map(str.isdigit, value))
            enough = n_digits >= _PLAINLY or (n_digits >= _FEWEST_CODED and len(value) > _SHORT)
            if not (owned if row.kind == "KEY" else numbered and enough):
                continue
        if each and first == end:  # "ABA6010" in a hash
            hashed = text[start - 1 : start] == "-" or not text[slice(*each[:2])].isdigit()
            each = None if hashed else each
        if each:
            found.append(each)
    return max(found, key=lambda each: (each[1], -KINDS.index(each[2].kind)), default=None)


def _matched(text: str, at: int, row: Row) -> Found | None:
    """Return the value of a row that begins at an offset."""
    m = row.pattern.match(text, at)
    if m is None:
        return None
    group = "value" if "value" in m.re.groupindex else 0
    value = m[group].rstrip(" .-/:*,")
    enough = sum(c.isdigit() for c in value) >= row.digits
    if value and enough and (not row.proof or row.passes(value)):
        return m.start(group), m.start(group) + len(value), row
    return None


def _and_others(text: str, found: Found) -> Iterator[Found]:
    """Yield a value, and those of the same digits and letters that follow it."""
    start, end, row = found
    yield found
    while (sign := _AND.match(text, end)) and (other := _matched(text, sign.end(), row)):
        if list(map(str.isdigit, text[start:end])) != list(
            map(str.isdigit, text[slice(*other[:2])])
        ):
            return
        yield other
        start, end, _ = other


def _named_behind(text: str, start: int, end: int, rows: list[Row]) -> Found | None:
    """Return the value whose name stands behind it: "447 12 34 (his ssn)", "447 12 is my ssn"."""
    said = _BEHIND.search(text, max(0, start - 40), start)
    if said is None or (said[0][1] == "(" and text[end : end + 1] != ")"):
        return None
    value = _TOKEN_BEFORE.search(text, max(0, said.start() - 32), said.start())
    for row in rows if value else ():
        assert value
        m = row.pattern.match(text, value.start())
        n_digits = sum(map(str.isdigit, value[0]))
        if m and m.end() == value.end() and n_digits >= max(row.digits, _FEWEST_BEHIND):
            return value.start(), value.end(), row
    return None


_CELL = re.compile(r"\s{0,4}[\"']?([^\"'\n]{0,200}?)[\"']?\s{0,4}\Z")
_SEVERAL_CELLS, _MOST_WORDS, _LONGEST_HEAD = 2, 4, 400


def by_columns(text: str, registry: Registry) -> Iterator[Found]:
    """Yield the cells of tables whose heads announce them, in CSV, tabs or Markdown.

    A head is a line without digits whose cells are apart by one sign; the lines after it with as
    many cells are its rows.
    """
    heads: list[Row | None] = []
    sign, at = "", 0
    for line in text.split("\n"):
        # A sign between quotes is none.
        cell = rf'(?:^|\{sign})("[^"]*"(?=\{sign}|$)|[^\{sign}]*)'
        cells = re.findall(cell, line) if sign else []
        if heads and len(cells) == len(heads):
            yield from _cells(cells, heads, at)
        else:
            sign, heads = _head(line, registry)
        at += len(line) + 1


def _cells(cells: list[str], heads: list[Row | None], at: int) -> Iterator[Found]:
    """Yield the cells of a row that begins at `at`."""
    for cell, row in zip(cells, heads, strict=True):
        if row and (inner := _CELL.match(cell)):
            value = inner[1]
            if row.pattern.fullmatch(value) and sum(map(str.isdigit, value)) >= row.digits:
                yield at + inner.start(1), at + inner.end(1), row
        at += len(cell) + 1


def _head(line: str, registry: Registry) -> tuple[str, list[Row | None]]:
    """Return the sign between the cells of a head and what each announces; empty for others."""
    sign = max(",;\t|", key=line.count)
    if len(line) > _LONGEST_HEAD or sign not in line or NUMBER.search(line):
        return "", []
    # a sentence has more words between its commas
    if line.count(" ") > _MOST_WORDS * (line.count(sign) + 1):
        return "", []
    heads = [_announces(cell, registry) for cell in line.split(sign)]
    n_named = len(heads) if sign in "|\t" else sum(map(bool, map(str.strip, line.split(sign))))
    return (sign, heads) if n_named >= _SEVERAL_CELLS and any(heads) else ("", [])


def _announces(cell: str, registry: Registry) -> Row | None:
    """Return the row that the head of a column names."""
    words = list(_words(cell))
    lowered = cell.lower()
    if not 1 <= len(words) <= _MOST_WORDS or len(lowered) != len(cell):
        return None
    for number, word in enumerate(words):
        both = tuple(each[0].lower() for each in words[number : number + 2])
        for first in (both, both[:1]):
            for phrase, rows in registry.announced.get(first, ()):
                if _end_of_phrase(lowered, words, number, phrase):
                    return rows[0]
        if word[0].lower() in registry.heads:
            return registry.heads[word[0].lower()]
    return None
