"""Originals that were given away in answers, found again where nothing else tells what they are."""

from __future__ import annotations

import re
import threading
from decimal import Decimal, InvalidOperation
from itertools import islice

from sanitizer.storage import Originals

_NUMERIC = re.compile(r"[0-9eE\s().+/-]*[0-9][0-9eE\s().+/-]*", re.ASCII)
_NOWHERE = re.compile("(?!)")
_PREFIX = 3


class GivenAway:
    """Originals of a conversation, found where they stand as whole words or numbers. Safe for many
    threads.

    It is kept up with the vault's `Originals`, which it never copies: each request looks at new
    ones only.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._clear(Originals())

    def _clear(self, source: Originals) -> None:
        self._source, self._n_seen, self._n_removed = source, 0, source.n_removed
        self._values: dict[str, str] = {}
        self._numbers: dict[str, str] = {}
        self._prefixes: set[str] = set()
        self._short = False  # whether a text is shorter than its prefix could be
        self._firsts, self._begin = "", _NOWHERE  # where a text may begin
        self._lengths: tuple[int, ...] = ()

    def follow(self, originals: Originals) -> None:
        """Take in what was added since the last call."""
        with self._lock:
            if originals is not self._source or originals.n_removed != self._n_removed:
                self._clear(originals)
            new = _after(originals, self._n_seen)
            self._n_seen += len(new)
            for value, original in new:
                self._add(
                    value, value
                )  # what is released already stays whole, also if somebody typed it before
                if original and original not in originals:
                    self._add(original, value)
                    self._numbers |= dict.fromkeys(_spellings(original), value)

    def _add(self, text: str, value: str) -> None:
        self._values[text] = value
        self._prefixes.add(text[:_PREFIX])
        self._short = self._short or len(text) < _PREFIX
        if text[0] not in self._firsts:
            self._firsts += text[0]
            self._begin = _beginning(self._firsts)
        if len(text) not in self._lengths:
            self._lengths = tuple(sorted({*self._lengths, len(text)}, reverse=True))

    def text(self, text: str) -> str:
        """The text with released values in place of originals."""
        parts: list[str] = []
        done = 0
        for begin in self._begin.finditer(text):
            at = begin.start()
            if at < done or not (text[at : at + _PREFIX] in self._prefixes or self._short):
                continue
            if (found := self._longest(text, at)) is not None:
                parts += [text[done:at], self._values[found]]
                done = at + len(found)
        return "".join([*parts, text[done:]]) if parts else text

    def number(self, spelling: str) -> str | None:
        """What is released for a JSON number, if it is an original."""
        return next((self._numbers[s] for s in _spellings(spelling) if s in self._numbers), None)

    def _longest(self, text: str, at: int) -> str | None:
        """The longest that stands here and does not end inside a word."""
        for length in self._lengths:
            end = at + length
            piece = text[at:end]
            if piece in self._values and not (
                end < len(text) and _is_word(piece[-1]) and _is_word(text[end])
            ):
                return piece
        return None


def _after(originals: Originals, n_seen: int) -> list[tuple[str, str]]:
    """What was added after the first `n_seen`, from the end: there may be many before. Others may
    add meanwhile.
    """
    while True:
        n = len(originals)
        new = list(islice(reversed(originals.items()), max(0, n - n_seen)))
        if len(originals) == n:
            return new[::-1]


def _beginning(firsts: str) -> re.Pattern[str]:
    """One of these characters; those of words only where a word begins. The class stands first:
    `re` scans for it.
    """
    inside = re.escape("".join(filter(_is_word, firsts)))
    whole = "".join(c for c in firsts if not c.isspace())
    if not whole:
        return _NOWHERE
    return re.compile(f"[{re.escape(whole)}]" + (f"(?<!\\w[{inside}])" if inside else ""))


def _is_word(char: str) -> bool:
    return char.isalnum() or char == "_"


def _spellings(text: str) -> set[str]:
    """What a number is compared by: its digits, and its value. Empty if the text is no number."""
    if len(text) > 40 or not _NUMERIC.fullmatch(text):
        return set()
    found = {re.sub(r"[^0-9]", "", text).lstrip("0") or "0"} if "e" not in text.lower() else set()
    try:
        value = abs(Decimal(text))
    except InvalidOperation:
        return found
    return found | {f"{value.normalize():f}"} if abs(value.adjusted()) < 40 else found
