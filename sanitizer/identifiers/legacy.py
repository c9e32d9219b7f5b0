"""Old finders, until their rows are written."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from sanitizer.identifiers.readings import token_around

Span = tuple[int, int, str]
_DIGIT_KINDS = frozenset({"CARD", "IBAN", "SSN", "IP", "PHONE", "DATE", "DATE_OF_BIRTH"})
_WEB_KINDS = frozenset({"URL", "LINK"})
_ADDRESS_KINDS = frozenset({"IP", "MAC"})
_ANNOUNCED_KINDS = frozenset({"POSTCODE", "LICENCE", "PASSPORT"})
_BY_WORDS = frozenset(
    """
    KEY SSN LICENCE PASSPORT NATIONAL_ID MEDICAL INSURANCE VEHICLE DEVICE PLATE ACCOUNT
    COORDINATES ID
    """.split()
)
"""Kinds of numbers that a word before them announces."""
_NUMBERS = _BY_WORDS | _DIGIT_KINDS
_BY_FORM = frozenset({"NATIONAL_ID", "VEHICLE"})
_TOKEN_KINDS = frozenset({"WALLET", "ENCODED"})
_SHORTEST_TOKEN, _SHORTEST_HEX, _SHORTEST_WORD = 10, 14, 12
"""Characters of the shortest word that can be such a one, of one without letters, and of one
without digits."""
_BETWEEN = 2
"""Letters between two numbers of one token that can be no word which announces."""
_GROUP = re.compile("[0-9]+")
_MIXED = re.compile("[a-z+/][A-Z]")
"""Matches in every word in base64 that has no digit."""
# Addresses of pages: no user, query or fragment, and a host that may be public.
_PLAIN_LINK = re.compile(
    r"(?:https?://)?(?:[\w-]+\.)+[^\W\d_]{2,}(?::\d+)?(?:/[^?#@]*)?"
    r"|(?:https?|wss?)://(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1\])(?::\d+)?"
    r"(?:/(?!\S{0,200}[0-9a-f]{8}(?:-[0-9a-f]{4}|[0-9a-f]{8}))[^?#@]*)?",
    re.I,
)
_LETTER = re.compile(r"[^\W\d_]")
_LONG_WORD = re.compile(r"\S{16}")
_IN_WORD = re.compile("[A-Za-z0-9]{3}")
_OF_TABLES = ("password", "passwort", "token", "apikey", "secret")


@cache
def _finders() -> tuple[Any, ...]:
    """Return the modules that find; at the first search that compiles all patterns, which takes
    tens of milliseconds.
    """
    from sanitizer.identifiers import (
        announced_old as announced,
    )
    from sanitizer.identifiers import (
        checks,
        digits,
    )

    return announced, None, digits, None, None, None, checks


def _candidates(text: str, wanted: frozenset[str]) -> list[Span]:
    """Return candidates, overlapping, in any order and of more kinds than wanted.

    Args:
        text: the text with ASCII twins.
        wanted: kinds that are searched for.
    """
    announced, _, digits, internet, _, places, checks = _finders()
    found: list[Span] = []
    has_digit = _GROUP.search(text) is not None
    lowered = _lowered(text) if has_digit or "KEY" in wanted else ""
    numbers = not wanted.isdisjoint(_NUMBERS)
    if has_digit and numbers:
        found += announced.by_other_words(text, lowered)
    if not has_digit:
        return found
    if "COORDINATES" in wanted:
        found += checks.coordinates(text)
    if "CARD" in wanted:
        found += digits.other_cards(text)
    found += _of_digits(text, lowered, wanted)
    return found


def _of_digits(text: str, lowered: str, wanted: frozenset[str]) -> Iterator[Span]:
    """Yield candidates that are found by their digits."""
    announced, _, digits, _, _, places, checks = _finders()
    numbers = not wanted.isdisjoint(_DIGIT_KINDS)
    streets, postcodes = "ADDRESS" in wanted, "POSTCODE" in wanted
    by_words, by_form = not wanted.isdisjoint(_BY_WORDS), not wanted.isdisjoint(_BY_FORM)
    pairs, tokens, n = "COORDINATES" in wanted, not wanted.isdisjoint(_TOKEN_KINDS), len(text)
    pairs = pairs and "." in text
    done = 0  # where the word that was read as a whole last ends
    last = 0  # where the number before ends
    for chunk in digits.CHUNK.finditer(text):
        start, end = chunk.span()
        size, before = end - start, text[start - 1] if start else ""
        after = text[end] if end < n else ""
        letter = before.isalpha()
        glued = letter or after.isalpha()
        # What holds the second number of a token such as "aK3x9Q", or announces it, would have
        # been found with the first.
        inside = letter and last > 0 and text[last:start].isalpha()
        announces = size > 2 or glued or before == "-"
        if by_words and announces and not (inside and start - last <= _BETWEEN):
            pass
        last = end
        if by_form and (size > 6 or before.isupper() or after.isupper()) and not inside:
            yield from checks.in_chunk(text, start, end)
        if tokens and end > done and (glued or size >= _SHORTEST_HEX):
            first, done = token_around(text, start, end, done)
            yield from checks.wallets(text, first, done)
        if size < 5:
            near = text[start - 3 if start > 3 else 0 : start]
            # A small number is part of an identifier only beside words, or after two letters that
            # belong to it, such as the country of an IBAN.
            if not _LETTER.search(near + text[end : end + 3]) or _IN_WORD.fullmatch(near):
                continue
        if pairs and size > 5:
            yield from checks.pairs(text, start)
        if numbers:
            yield from digits.in_chunk(text, start, end)


def _lowered(text: str) -> str:
    """Return the text in lower case at the same offsets."""
    lowered = text.lower()
    if len(lowered) == len(text):
        return lowered
    # A few letters, such as U+0130, become two when lowered.
    return "".join(c.lower() if c.isascii() else c for c in text)


def find(text: str, lowered: str, wanted: frozenset[str]) -> Iterator[Span]:
    for start, end, kind in _candidates(text, wanted):
        yield start, end, "old-" + kind.lower().replace("_", "-")
