"""What restores the events of one answer, whatever the API: what all formats share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any

from sanitizer.answers.restorer import RestoredStream
from sanitizer.errors import UpstreamError
from sanitizer.wire.answers import Restoration, Stamp
from sanitizer.wire.history import PIECE_ROLE, Note
from sanitizer.wire.json_text import SpelledNumber, TextPath
from sanitizer.wire.shapes import shapes

Json = dict[str, Any]

MAX_CHARS = 50_000_000
"""Longest text that a stream may have, in characters: all of it is kept for the next request."""
MAX_CHANNELS = 10_000
"""Largest number of texts that one stream may have open."""


class Channel:
    """One text of a stream, restored piece by piece.

    Args:
        path: position of the text in its stream.
        note: how it is noted; its role is "" if it does not go back as history.
    """

    def __init__(
        self,
        restoration: Restoration,
        path: TextPath,
        kind: str,
        note: Note,
        tool: str | None = None,
    ) -> None:
        self._restoration = restoration
        self._begun = partial(restoration.stream, kind, tool)
        self._note = note
        self._stream = self._begun()
        # What came and is shown, and as it is shown: pairs, for another thread to read.
        self._parts: list[tuple[str, str]] = []
        self.n_chars = 0
        self._ended = self._is_told = False
        if note.role:
            restoration.note(path, self.so_far)

    def so_far(self) -> Note:
        """Return what was sent and shown until now."""
        parts = list(self._parts)
        sent, shown = ("".join([part[i] for part in parts]) for i in (0, 1))
        return self._note._replace(sent=sent, shown=shown, ended=self._ended)

    def feed(self, piece: str) -> str:
        """Feed one piece; return the text that can be shown now.

        A text that had come to its end goes on: applications add to it what comes later. One with
        formulas may not, since a link could come.

        Raises:
            UpstreamError: it is too long, or the answer was told in another way before.
        """
        if self._note.telling and piece:
            self._restoration.tellings.add(
                self._note,
                lambda: "".join([sent for sent, _ in self._parts]) + self._stream.held,
                self._is_told,
            )
            self._is_told = True
        if self._ended:
            if isinstance(self._stream, RestoredStream) and self._stream.waits:
                raise UpstreamError("a text with formulas goes on after its end")
            self._stream, self._ended = self._begun(), False
        came = self._stream.held + piece
        shown = self._stream.feed(piece)
        self.n_chars += len(piece)
        if self.n_chars > MAX_CHARS:
            raise UpstreamError("the API's stream has a text that is too long")
        self._add(came, shown)
        return shown

    def finish(self) -> str:
        """End the text; return what is still held back."""
        held = self._stream.held
        shown = self._stream.finish()
        self._add(held, shown)
        self._ended = True
        return shown

    def _add(self, came: str, shown: str) -> None:
        """Note what came, but for what is held back of it, as it is shown."""
        note = self._note._replace(sent=came[: len(came) - len(self._stream.held)], shown=shown)
        if note.role:
            self._parts.append((note.sent, shown))
        if note.role == "assistant" and not note.aside:
            self._restoration.arrive(note.sent, shown)
        if note.role == "assistant" and self._restoration.asked.in_parts and shown:
            self._restoration.remember(note._replace(role=PIECE_ROLE))


_UNNOTED = Note("", "", "")


class Channels:
    """All open texts of one stream, which come side by side and are restored each on its own."""

    def __init__(self, restoration: Restoration) -> None:
        self._restoration = restoration
        self._open: dict[TextPath, Channel] = {}
        self._ended: dict[TextPath, Channel] = {}

    def feed(
        self,
        path: TextPath,
        piece: str,
        kind: str = "text",
        last: bool = False,
        note: Note = _UNNOTED,
        tool: str | None = None,
    ) -> str:
        """Feed one piece of a text; return what can be shown of it now: all, if it is the last.

        An unknown path opens a `Channel` with this kind, note and tool. Raises UpstreamError for
        more texts than any answer has.
        """
        if (channel := self._open.get(path)) is None:
            if len(self._open) + len(self._ended) >= MAX_CHANNELS:
                raise UpstreamError("the API's stream has too many texts")
            ended = self._ended.pop(path, None)
            channel = ended or Channel(self._restoration, path, kind, note, tool)
            self._open[path] = channel
        return channel.feed(piece) + (self._end(path) if last else "")

    def __contains__(self, path: TextPath) -> bool:
        return path in self._open

    def says(self, which: Callable[[TextPath], bool]) -> bool:
        """Return True if something came of one of these texts, ended or not."""
        both = [*self._open.items(), *self._ended.items()]
        return any(channel.n_chars for path, channel in both if which(path))

    def finish(self, which: Callable[[TextPath], bool]) -> list[tuple[TextPath, str]]:
        """End some texts; return (path, text) of those that still held text back."""
        if not self._open:
            return []
        held = [(path, self._end(path)) for path in [path for path in self._open if which(path)]]
        return [(path, text) for path, text in held if text]

    def _end(self, path: TextPath) -> str:
        channel = self._ended[path] = self._open.pop(path)
        return channel.finish()


class Events(ABC):
    """Handler of the events of one answer; most APIs send the answer's object in the first."""

    def __init__(self, restoration: Restoration) -> None:
        self._restoration = restoration
        self._asked = restoration.asked
        self._channels = Channels(restoration)
        self._is_stamped = False
        self._choices: set[str] = set()

    @abstractmethod
    def event(self, event: Json) -> tuple[list[Json], Json]:
        """Restore one event; return the events to put before it, and the event itself.

        The event is the same object if nothing changed. Raises UpstreamError if its type is not
        known, or it cannot be read.
        """

    @abstractmethod
    def _event_of(self, path: TextPath, text: str) -> Json:
        """Return an event that goes on with one text."""

    def _held(self, which: Callable[[TextPath], bool] = lambda path: True) -> list[Json]:
        """End some texts; return events for what was held back of them."""
        return [self._event_of(path, text) for path, text in self._channels.finish(which)]

    def _index(self, choice: Any) -> SpelledNumber:
        """Return which of several answers an object is of.

        Raises:
            UpstreamError: it does not say so, or there are more than were asked for: applications
                that asked for one read all as of one.
        """
        index = choice.get("index", SpelledNumber(0)) if isinstance(choice, dict) else None
        if type(index) is not SpelledNumber or not index.isdecimal() or len(index) > 9:
            raise UpstreamError("the API sent a choice that cannot be read")
        self._choices.add(index)
        if len(self._choices) > (self._asked.n_choices or len(self._choices)):
            raise UpstreamError("the API sent more choices than were asked for")
        return index

    def _error(self, event: Json) -> Json:
        """Restore an event that says what went wrong."""
        found: Json = self._restoration.document(shapes("openai")["Error"], event)
        return found

    def flush(self) -> list[Json]:
        """End the stream; return events for all text held back."""
        held = self._held()
        self._restoration.settle()
        return held

    def stamped(self, event: Json, stamp: Stamp) -> Json:
        """Stamp the answer's object in an event that is to be passed on, if it holds one.

        Here that is the first event; the others belong to the same answer. Returns a copy; the same
        object if it holds none.
        """
        if self._is_stamped or "error" in event:
            return event
        self._is_stamped = True
        return stamp(event)


def with_list(holder: Json, key: str, found: list[Any]) -> Json:
    """Return an object with another list in a field; the same object if its elements are."""
    before = holder.get(key, [])
    same = len(before) == len(found) and all(a is b for a, b in zip(before, found, strict=True))
    return holder if same else {**holder, key: found}
