"""Old finders, until their rows are written."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import chain
from typing import Any

from sanitizer.identifiers.numbers import CHUNK
from sanitizer.identifiers.readings import plain_texts, token_around, without_coded_ends
from sanitizer.identifiers.rows import packaged

Span = tuple[int, int, str]
_WEB_KINDS = frozenset({"URL", "LINK"})
_ADDRESS_KINDS = frozenset({"IP", "MAC"})
_ANNOUNCED_KINDS = frozenset({"POSTCODE", "LICENCE", "PASSPORT"})
_SHORTEST_TOKEN, _SHORTEST_HEX, _SHORTEST_WORD = 10, 14, 12
"""Characters of the shortest word that can be such a one, of one without letters, and of one
without digits."""
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


def _of_networks(text: str, wanted: frozenset[str]) -> Iterator[Span]:
    """Yield e-mail addresses, links and names of hosts."""
    internet = _finders()[2]
    if "HOST" in wanted:
        yield from internet.shares(text)
    text = without_coded_ends(text)
    if "EMAIL" in wanted and "@" in text:
        yield from internet.emails(text)
    if "EMAIL" in wanted:
        yield from internet.other_emails(text)
    if "EMAIL" in wanted and ("[" in text or "(" in text or "{" in text):
        yield from internet.spelled_emails(text)
    if ("." in text or "://" in text) and not wanted.isdisjoint(_WEB_KINDS):
        for start, end, _ in internet.urls(text):
            plain = _PLAIN_LINK.fullmatch(text, start, end)
            page = plain and not (
                internet.OF_MACHINE.match(text, start, end)
                or internet.OF_PERSON.match(text, start, end)
            )
            yield start, end, "LINK" if page else "URL"
    if "HOST" in wanted:
        yield from internet.hosts(text)


@cache
def _finders() -> tuple[Any, ...]:
    """Return the modules that find; at the first search that compiles all patterns, which takes
    tens of milliseconds.
    """
    from sanitizer.identifiers import credentials, digits, internet, keys, places

    return credentials, digits, internet, keys, places


def _secrets(text: str, lowered: str) -> Iterator[Span]:
    """Yield keys, passwords and tokens."""
    credentials, _, _, keys, _ = _finders()
    if _LONG_WORD.search(text) or "-----BEGIN " in text:  # every other key has a long word
        yield from keys.keys(text)
    yield from credentials.secrets(text, lowered)
    if "@" in text and "://" in text:
        yield from credentials.of_urls(text)


def _candidates(text: str, wanted: frozenset[str]) -> list[Span]:
    """Return candidates, overlapping, in any order and of more kinds than wanted.

    Args:
        text: the text with ASCII twins.
        wanted: kinds that are searched for.
    """
    _, _, internet, _, places = _finders()
    found = list(_of_networks(text, wanted))
    has_digit = _GROUP.search(text) is not None
    lowered = _lowered(text) if has_digit else ""
    if "ENCODED" in wanted:
        for start, end in _words_without_digits(text):
            found += _in_token(text, start, end, wanted)
    if not has_digit:
        if "MAC" in wanted and text.count(":") > 4:
            found += internet.addresses(text)
        return found
    if not wanted.isdisjoint(_ADDRESS_KINDS):
        found += internet.all_addresses(text, lowered)
    if "ADDRESS" in wanted:
        found += places.boxes(text, lowered)
    if not wanted.isdisjoint(_ANNOUNCED_KINDS):
        found += places.announced(text, lowered)
    found += _of_digits(text, lowered, wanted)
    return found


def _of_digits(text: str, lowered: str, wanted: frozenset[str]) -> Iterator[Span]:
    """Yield candidates that are found by their digits."""
    _, digits, _, _, places = _finders()
    streets, postcodes, n = "ADDRESS" in wanted, "POSTCODE" in wanted, len(text)
    done = 0  # where the word that was read as a whole last ends
    for chunk in CHUNK.finditer(text):
        start, end = chunk.span()
        size, before = end - start, text[start - 1] if start else ""
        after = text[end] if end < n else ""
        letter = before.isalpha()
        glued = letter or after.isalpha()
        if "ENCODED" in wanted and end > done and (glued or size >= _SHORTEST_HEX):
            words = list(_words_with_digits(text, start, end, done))
            done = words[-1][1] if words else done
            yield from chain.from_iterable(_in_token(text, *word, wanted) for word in words)
        if size < 5:
            near = text[start - 3 if start > 3 else 0 : start]
            # A small number is part of an identifier only beside words, or after two letters that
            # belong to it, such as the country of an IBAN.
            if not _LETTER.search(near + text[end : end + 3]) or _IN_WORD.fullmatch(near):
                continue
        if "IP" in wanted and text.count(".", start, end) > 2:
            yield from digits.ipv4s(text, start, end)
        if streets and not letter:
            yield from places.streets(text, start, end)
        if postcodes and (letter or 5 <= size <= 10):
            yield from places.postcodes(text, start, end)


def _words_with_digits(text: str, start: int, end: int, done: int) -> Iterator[tuple[int, int]]:
    """Yield the words around the numbers of a chunk that are long enough to be encoded.

    Args:
        done: offset before which nothing is read.
    """
    for group in _GROUP.finditer(text, start, end):
        first, last = group.span()
        if first < done:
            continue
        before, after = text[first - 1 : first], text[last : last + 1]
        if before.isalpha() or after.isalpha() or last - first >= _SHORTEST_HEX:
            first, done = token_around(text, first, last, done)
            if done - first >= _SHORTEST_TOKEN:
                yield first, done


def _words_without_digits(text: str) -> Iterator[tuple[int, int]]:
    """Yield words in letters of both cases that are long enough to be encoded."""
    done = 0
    for match in _MIXED.finditer(text):
        if match.start() >= done:
            first, done = token_around(text, *match.span(), done)
            if done - first >= _SHORTEST_WORD and not _GROUP.search(text, first, done):
                yield first, done


def _in_token(text: str, start: int, end: int, wanted: frozenset[str]) -> Iterator[Span]:
    """Yield a long word that is an identifier in base64 or hexadecimal."""
    from sanitizer.identifiers.search import candidates

    inner = wanted - {"ENCODED", "DATE", "LINK"}
    for plain in plain_texts(text[start:end]):
        if candidates(plain, inner, packaged()):
            yield start, end, "ENCODED"
            return


def _lowered(text: str) -> str:
    """Return the text in lower case at the same offsets."""
    lowered = text.lower()
    if len(lowered) == len(text):
        return lowered
    # A few letters, such as U+0130, become two when lowered.
    return "".join(c.lower() if c.isascii() else c for c in text)


def find(text: str, lowered: str, wanted: frozenset[str]) -> Iterator[Span]:
    """Yield what the old finders find, as rows."""
    for start, end, kind in _candidates(text, wanted):
        yield start, end, "old-" + kind.lower().replace("_", "-")
