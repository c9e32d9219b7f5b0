"""Released values back to originals, by exact match, in whole texts and in streams."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Mapping
from functools import cached_property


class Restorer:
    """Puts originals back where their released values stand.

    Scans from the left; where several released values match, the longest wins. Each place is replaced once: an
    original that looks like a released value stays as it is.

    Args:
        originals: released value -> original; no released value is empty. It must not change.
    """

    def __init__(self, originals: Mapping[str, str]) -> None:
        self.originals = originals
        self._lengths = sorted({len(value) for value in originals}, reverse=True)
        firsts = "".join(re.escape(c) for c in sorted({value[0] for value in originals}))
        self._first = re.compile(f"[{firsts}]") if firsts else None

    @cached_property
    def _sorted(self) -> list[str]:
        """Only streams need it."""
        return sorted(self.originals)

    def text(self, text: str) -> str:
        """A whole text restored."""
        return self._scan(text, final=True)[0]

    def stream(self) -> RestoredStream:
        """The same for a text that comes in pieces, however it is split."""
        return RestoredStream(self)

    def _scan(self, text: str, final: bool) -> tuple[str, str]:
        """Restored text, and the end that has to wait for more because it may become a released value."""
        if self._first is None:
            return text, ""
        parts: list[str] = []
        done = at = 0
        while (found := self._first.search(text, at)) is not None:
            at = found.start()
            if not final and self._may_grow(text, at):
                return "".join([*parts, text[done:at]]), text[at:]
            value = self._longest(text, at)
            if value is None:
                at += 1
                continue
            parts += [text[done:at], self.originals[value]]
            done = at = at + len(value)
        return "".join([*parts, text[done:]]), ""

    def _longest(self, text: str, at: int) -> str | None:
        """The longest released value that stands at `at`."""
        pieces = (text[at : at + length] for length in self._lengths)
        return next((piece for piece in pieces if piece in self.originals), None)

    def _may_grow(self, text: str, at: int) -> bool:
        """Whether the rest of the text is the beginning of a longer released value."""
        if len(text) - at >= self._lengths[0]:
            return False
        rest = text[at:]
        i = bisect_left(self._sorted, rest)
        i += i < len(self._sorted) and self._sorted[i] == rest
        return i < len(self._sorted) and self._sorted[i].startswith(rest)


class RestoredStream:
    """One restored text that comes in pieces. Holds back only what may become a released value."""

    def __init__(self, restorer: Restorer) -> None:
        self._restorer, self._held = restorer, ""

    def feed(self, piece: str) -> str:
        """What can be shown once this piece has come."""
        shown, self._held = self._restorer._scan(self._held + piece, final=False)
        return shown

    def finish(self) -> str:
        """The rest: nothing more comes."""
        rest, self._held = self._restorer.text(self._held), ""
        return rest
