"""Released values back to originals, by exact match, in whole texts and in streams."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from sanitizer.storage import Originals


class Part(NamedTuple):
    """A stretch of an answer: as it came, and what it stands for if that is a released value."""

    text: str
    original: str | None = None


def _joined(parts: Iterable[Part]) -> str:
    return "".join([part.text if part.original is None else part.original for part in parts])


class Restorer:
    """Puts originals back where their released values stand.

    Scans from the left; where several released values match, the longest wins. Each place is
    replaced once: an original that looks like a released value stays as it is.

    Args:
        originals: released value -> original; no released value is empty. `Originals` are used as
            they are, and what is added to them later is restored too; others are copied.
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
        """The text in parts, and the end that has to wait for more because it may become a released
        value.

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
