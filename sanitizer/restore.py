"""Released values back to originals, by exact match, in whole texts and in streams."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple


class Originals(dict[str, str]):
    """Released value -> original, with what finding the values in a text needs, kept up as pairs come and go.

    One thread may change it while others restore with it: they see a pair or they do not.
    """

    def __init__(self, pairs: Mapping[str, str] | None = None) -> None:
        super().__init__()
        self.lengths: tuple[int, ...] = ()  # descending
        self.first: re.Pattern[str] | None = None  # what values begin with
        self.beginnings: Counter[str] = Counter()  # proper prefix of a value -> how many values have it
        self._lengths: Counter[int] = Counter()
        self._firsts = ""
        self.n_removed = 0
        for value, original in (pairs or {}).items():
            self[value] = original

    def __setitem__(self, value: str, original: str) -> None:
        if value not in self:
            self._count(value, 1)
        super().__setitem__(value, original)

    def __delitem__(self, value: str) -> None:
        super().__delitem__(value)
        self.n_removed += 1
        self._count(value, -1)

    def _count(self, value: str, by: int) -> None:
        self._lengths[len(value)] += by
        beginnings = self.beginnings
        for end in range(1, len(value)):
            beginning = value[:end]
            if n := beginnings.get(beginning, 0) + by:
                beginnings[beginning] = n
            else:
                del beginnings[beginning]
        if len(value) not in self.lengths:
            self.lengths = tuple(sorted(self._lengths, reverse=True))
        if value[0] not in self._firsts:
            self._firsts += value[0]
            self.first = re.compile(f"[{re.escape(self._firsts)}]")


class Part(NamedTuple):
    """A stretch of an answer: as it came, and what it stands for if that is a released value."""

    text: str
    original: str | None = None


def _joined(parts: Iterable[Part]) -> str:
    return "".join([part.text if part.original is None else part.original for part in parts])


class Restorer:
    """Puts originals back where their released values stand.

    Scans from the left; where several released values match, the longest wins. Each place is replaced once: an
    original that looks like a released value stays as it is.

    Args:
        originals: released value -> original; no released value is empty. `Originals` are used as they are, and what
            is added to them later is restored too; others are copied.
    """

    def __init__(self, originals: Mapping[str, str]) -> None:
        self.originals = originals if isinstance(originals, Originals) else Originals(originals)

    def text(self, text: str) -> str:
        """A whole text restored."""
        return _joined(self.parts(text)[0])

    def stream(self) -> RestoredStream:
        """The same for a text that comes in pieces, however it is split."""
        return RestoredStream(self)

    def parts(self, text: str, final: bool = True) -> tuple[list[Part], str]:
        """The text in parts, and the end that has to wait for more because it may become a released value.

        Args:
            final: nothing more comes, so that nothing waits.
        """
        if (first := self.originals.first) is None:
            return [Part(text)], ""
        parts: list[Part] = []
        done = at = 0
        while (found := first.search(text, at)) is not None:
            at = found.start()
            if not final and self._may_grow(text, at):
                return [*parts, Part(text[done:at])], text[at:]
            pair = self._longest(text, at)
            if pair is None:
                at += 1
                continue
            parts += [Part(text[done:at]), Part(*pair)]
            done = at = at + len(pair[0])
        return [*parts, Part(text[done:])], ""

    def _longest(self, text: str, at: int) -> tuple[str, str] | None:
        """The longest released value that stands at `at`, and its original."""
        for length in self.originals.lengths:
            value = text[at : at + length]
            if (original := self.originals.get(value)) is not None:
                return value, original
        return None

    def _may_grow(self, text: str, at: int) -> bool:
        """Whether the rest of the text is the beginning of a longer released value."""
        return len(text) - at < self.originals.lengths[0] and text[at:] in self.originals.beginnings


class RestoredStream:
    """One restored text that comes in pieces. Holds back only what may become a released value."""

    def __init__(self, restorer: Restorer) -> None:
        self._restorer, self._held = restorer, ""

    def feed(self, piece: str) -> str:
        """What can be shown once this piece has come."""
        return _joined(self.parts(piece))

    def parts(self, piece: str) -> list[Part]:
        """As `feed`, with what was restored told apart."""
        parts, self._held = self._restorer.parts(self._held + piece, final=False)
        return parts

    def finish(self) -> str:
        """The rest: nothing more comes."""
        return _joined(self.last_parts())

    def last_parts(self) -> list[Part]:
        """As `finish`, with what was restored told apart."""
        held, self._held = self._held, ""
        return self._restorer.parts(held)[0]
