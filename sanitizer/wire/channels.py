"""The texts that one stream carries side by side, each restored on its own."""

from __future__ import annotations

from collections.abc import Callable

from sanitizer.errors import UpstreamError
from sanitizer.wire.answers import Restoration

MAX_CHANNELS = 10_000
MAX_REMEMBERED = 1_000_000

Path = tuple[str | int, ...]
"""Where a text stands in its stream: keys, and places in lists."""


class Channel:
    """One text that comes in pieces.

    Args:
        restoration: of the conversation. sort: "text", or "arguments" (pieces of a JSON document).
        remember: keep what was sent and shown until the end, so that it can go back as history.
    """

    def __init__(self, restoration: Restoration, sort: str, remember: bool) -> None:
        self._restoration, self._sort, self._remember = restoration, sort, remember
        self._stream = (restoration.arguments if sort == "arguments" else restoration.texts).stream()
        self._sent: list[str] = []
        self._shown: list[str] = []
        self._n_chars = 0

    def feed(self, piece: str) -> str:
        """What can be shown now."""
        shown = self._stream.feed(piece)
        self._n_chars += len(piece)
        if self._remember and self._n_chars <= MAX_REMEMBERED:
            self._sent.append(piece)
            self._shown.append(shown)
        return shown

    def finish(self) -> str:
        """What was held back."""
        held = self._stream.finish()
        if self._sent and self._n_chars <= MAX_REMEMBERED:
            self._restoration.remember("".join(self._sent), "".join([*self._shown, held]), sort=self._sort)
        return held


class Channels:
    """All open texts of one stream.

    Args:
        restoration: of the conversation. remember: whether they may come back as history.
    """

    def __init__(self, restoration: Restoration, remember: bool) -> None:
        self._restoration, self._remember = restoration, remember
        self._open: dict[Path, Channel] = {}

    def feed(self, path: Path, piece: str, sort: str = "text", last: bool = False) -> str:
        """What can be shown of this text now: all of it, if this is its last piece.

        Raises:
            UpstreamError: more texts are open than any answer has.
        """
        if (channel := self._open.get(path)) is None:
            if len(self._open) >= MAX_CHANNELS:
                raise UpstreamError("the API's stream has too many texts")
            channel = self._open[path] = Channel(self._restoration, sort, self._remember)
        if not last:
            return channel.feed(piece)
        del self._open[path]
        return channel.feed(piece) + channel.finish()

    def finish(self, which: Callable[[Path], bool]) -> list[tuple[Path, str]]:
        """Close some texts: (path, what was held back), where anything was."""
        if not self._open:
            return []
        paths = [path for path in self._open if which(path)]
        held = [(path, self._open.pop(path).finish()) for path in paths]
        return [(path, text) for path, text in held if text]
