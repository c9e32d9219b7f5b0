"""Numbers that count without words: by their form and check digits.

Rows say their forms (`alone`); this module finds where they may begin.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from sanitizer.identifiers.rows import Registry, Row

_TOKEN = re.compile(r"(?<![A-Za-z0-9])[A-Za-z]*+[0-9]")
_CODE_BEFORE = re.compile(r"(?<![^\W_])(?<!\w[-.])[A-ZÄÖÜ]{1,4}[ -](?:[A-Z]{1,2} )?\Z")
_INSIDE = re.compile(r"\w[./_-]\Z")
_END = re.compile(r"(?![^\W_]|[_-][0-9]|[./](?!00?(?![\w.]))[0-9])")
"""A spreadsheet writes a number with ".0" behind."""
_NEAR = 60


def proved(text: str, registry: Registry, wanted: frozenset[str]) -> Iterator[tuple[int, int, Row]]:
    """Yield numbers that prove themselves.

    Of two readings of the same digits nobody can say which is meant: they are one stretch.
    """
    last: tuple[int, int, Row] | None = None
    for token in _TOKEN.finditer(text):
        start = token.start()
        inside = _INSIDE.search(text, max(0, start - 2), start)
        found = None if inside else _proved_at(text, start, registry, wanted)
        if found is None and text[start - 1 : start] in {" ", "-"}:
            code = _CODE_BEFORE.search(text, max(0, start - 10), start)
            found = _proved_at(text, code.start(), registry, wanted) if code else None
        if found and last and found[2] is last[2] and found[0] < last[1]:
            last = (last[0], max(last[1], found[1]), last[2])
        elif found:
            if last:
                yield last
            last = found
    if last:
        yield last


def _proved_at(
    text: str, start: int, registry: Registry, wanted: frozenset[str]
) -> tuple[int, int, Row] | None:
    if not registry.alone.match(text, start):
        return None
    for row in registry.proved:
        m = row.pattern_alone.match(text, start) if row.kind in wanted else None
        if m and _END.match(text, m.end()) and row.passes(m[0]):
            low, high = max(0, start - _NEAR), m.end() + _NEAR
            if not row.near or row.pattern_near.search(text, low, high):
                return start, m.end(), row
    return None
