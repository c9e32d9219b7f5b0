"""What a suite is made of: texts, and where in them a value stands that has to be hidden."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

Spans = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Sample:
    """One text of a suite.

    Attributes:
        suite: name of the suite, a row of the table.
        kind: what the suite calls the kind: a rule, a recognizer, a detector, a module, a region.
        text: what is sanitized.
        spans: stretches that have to be hidden whole; none in a negative.
    """

    suite: str
    kind: str
    text: str
    spans: Spans

    @property
    def half(self) -> str:
        """ "seen" or "unseen", by a hash of the kind's name: whoever writes rows reads one half."""
        return ("seen", "unseen")[hashlib.sha256(self.kind.encode()).digest()[0] & 1]


def trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """Return a span without the blanks, quotes and operators that some patterns take with it."""
    while start < end and text[start] in " \t\n=:\"'":
        start += 1
    while start < end and text[end - 1] in " \t\n\"'":
        end -= 1
    return start, end


def occurrences(text: str, value: str) -> Spans:
    """Return all places of a value in a text, trimmed."""
    found, at = [], text.find(value) if value else -1
    while at >= 0:
        found.append(trimmed(text, at, at + len(value)))
        at = text.find(value, at + len(value))
    return tuple(found)
