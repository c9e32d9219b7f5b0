"""Restoring: released values become originals again, by exact match, in texts and in streams."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from sanitizer.storage import Originals


class Part(NamedTuple):
    """Stretch of an answer.

    Attributes:
        text: the stretch as it came.
        original: the original if the stretch is a released value, else None.
    """

    text: str
    original: str | None = None


def _joined(parts: Iterable[Part]) -> str:
    return "".join([part.text if part.original is None else part.original for part in parts])


class Restorer:
    """Mapping of released values to originals, applied to texts.

    It scans from the left; where several released values match, the longest wins. Each stretch is
    replaced once: an original that looks like a released value stays as it is.

    >>> restorer = Restorer({"<EMAIL_1>": "anna@example.org"})
    >>> restorer.text("I wrote to <EMAIL_1>.")
    'I wrote to anna@example.org.'

    Args:
        originals: released value -> original; no released value is empty. `Originals` are used as
            they are, and what is added to them later is restored too; other mappings are copied.
    """

    def __init__(self, originals: Mapping[str, str]) -> None:
        self.originals = originals if isinstance(originals, Originals) else Originals(originals)

    def text(self, text: str) -> str:
        """Return a whole text with originals."""
        return _joined(self.parts(text)[0])

    def stream(self) -> RestoredStream:
        """Return a stream that restores one text which comes in pieces, however it is split."""
        return RestoredStream(self)

    def parts(self, text: str, final: bool = True) -> tuple[list[Part], str]:
        """Return the text in parts, and its end that may become a released value.

        Args:
            text: the text.
            final: no more text comes, so that no end is held back.
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
        """Return the longest released value that begins at `at`, and its original."""
        for length in self.originals.lengths:
            value = text[at : at + length]
            if (original := self.originals.get(value)) is not None:
                return value, original
        return None

    def _may_grow(self, text: str, at: int) -> bool:
        """Return True if the rest of the text is the beginning of a longer released value."""
        return len(text) - at < self.originals.lengths[0] and text[at:] in self.originals.beginnings


class RestoredStream:
    """Stream that restores one text; it holds back only what may become a released value.

    >>> stream = Restorer({"<EMAIL_1>": "anna@example.org"}).stream()
    >>> stream.feed("to <EM"), stream.feed("AIL_1>."), stream.finish()
    ('to ', 'anna@example.org.', '')
    """

    def __init__(self, restorer: Restorer) -> None:
        self._restorer = restorer
        self._held = ""

    def feed(self, piece: str) -> str:
        """Feed one piece; return the text that can be shown now."""
        return _joined(self.parts(piece))

    def parts(self, piece: str) -> list[Part]:
        """Feed one piece; return the parts that can be shown now."""
        parts, self._held = self._restorer.parts(self._held + piece, final=False)
        return parts

    def finish(self) -> str:
        """End the stream; return the text still held back."""
        return _joined(self.last_parts())

    def last_parts(self) -> list[Part]:
        """End the stream; return the parts still held back."""
        held, self._held = self._held, ""
        return self._restorer.parts(held)[0]
