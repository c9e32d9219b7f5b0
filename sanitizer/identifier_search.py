"""All finders of identifiers over one text that has been folded to ASCII twins already.

Importing it compiles the patterns of all of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from sanitizer import identifier_numbers as numbers
from sanitizer import identifier_places as places
from sanitizer import identifier_words as words

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
    return lowered if len(lowered) == len(text) else "".join(c.lower() if c.isascii() else c for c in text)


def _of_digits(text: str, wanted: frozenset[str]) -> Iterator[Span]:
    digits, streets = not wanted.isdisjoint(_DIGIT_KINDS), "ADDRESS" in wanted
    codes = "POSTCODE" in wanted
    for chunk in numbers.CHUNK.finditer(text):
        start, end = chunk.span()
        if end - start < 5:
            before = text[max(0, start - 3) : start]
            if not _LETTER.search(before + text[end : end + 3]) or _IN_WORD.fullmatch(before):
                continue  # a small number is part of an identifier only beside words, and two letters of its own
        if digits:
            yield from numbers.in_chunk(text, start, end)
        if streets:
            yield from places.streets(text, start, end)
        if codes:
            yield from places.postcodes(text, start, end)
