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
        role: in which it may go back as history; "" if it is not kept for that.
    """

    def __init__(self, restoration: Restoration, sort: str, role: str) -> None:
        self._restoration, self._role = restoration, role
        self._stream = restoration.stream(sort)
        self._sent: list[str] = []
        self._shown: list[str] = []
        self._n_chars = 0

    def feed(self, piece: str) -> str:
        """What can be shown now."""
        shown = self._stream.feed(piece)
        self._n_chars += len(piece)
        if self._role and self._n_chars <= MAX_REMEMBERED:
            self._sent.append(piece)
            self._shown.append(shown)
        return shown

    def finish(self) -> str:
        """What was held back."""
        held = self._stream.finish()
        if self._sent and self._n_chars <= MAX_REMEMBERED:
            self._restoration.remember(
                "".join(self._sent), "".join([*self._shown, held]), self._role
            )
        return held


class Channels:
    """All open texts of one stream.

    Args:
        restoration: of the conversation.
    """

    def __init__(self, restoration: Restoration) -> None:
        self._restoration = restoration
        self._open: dict[Path, Channel] = {}

    def feed(
        self, path: Path, piece: str, sort: str = "text", last: bool = False, role: str = ""
    ) -> str:
        """What can be shown of this text now: all of it, if this is its last piece. Other
        arguments: of `Channel`.

        Raises:
            UpstreamError: more texts are open than any answer has.
        """
        if (channel := self._open.get(path)) is None:
            if len(self._open) >= MAX_CHANNELS:
                raise UpstreamError("the API's stream has too many texts")
            channel = self._open[path] = Channel(self._restoration, sort, role)
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
