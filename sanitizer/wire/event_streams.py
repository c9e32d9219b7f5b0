"""Streams: bytes, however they are split, to events to restored bytes.

Most APIs send events (text/event-stream), Ollama sends lines of JSON. Both are cut here, not by a
library, because an unchanged event has to pass byte for byte and no event may grow without bound.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from sanitizer.errors import UpstreamError
from sanitizer.wire.answers import Restoration, Stamp
from sanitizer.wire.endpoints import Endpoint
from sanitizer.wire.formats.answer_events import ChatLines, GeminiEvents, GenerateLines
from sanitizer.wire.formats.chat_events import Chunks
from sanitizer.wire.formats.events import Events, Json
from sanitizer.wire.formats.typed_events import EventFeed, MessageEvents
from sanitizer.wire.json_text import dumps, loads

MAX_ANSWER = 32_000_000
"""Bytes of the longest answer, streamed or not."""
MAX_EVENT = 8_000_000
"""Longest event, in bytes; an image that is being generated may come in one."""

_BLANK_LINE = re.compile(rb"(?:\r\n?+|\n)(?:\r\n?+|\n)")
_HALVED = (b"\r\n\r", b"\n\r")
_NEW_LINE = re.compile(rb"\n")
_BOM = b"\xef\xbb\xbf"
_DONE = "[DONE]"
_LAST = ("message_stop", "response.completed", "response.incomplete")
"""Types of events that end an answer, where no other mark does."""
_SETTLING = (
    *(b"[DONE]", b"content_block_stop", b"message_stop", b"response.completed"),
    *(b"response.failed", b"response.incomplete", b"response.cancelled"),
)
_HANDLERS: dict[str, type[Events]] = {
    "chat/completions": Chunks,
    "completions": Chunks,
    "responses": EventFeed,
    "messages": MessageEvents,
    "streamGenerateContent": GeminiEvents,
    "api/chat": ChatLines,
    "api/generate": GenerateLines,
}
"""Endpoint -> what restores the events of its streams."""


def may_settle(data: bytes) -> bool:
    """Return True if bytes of a stream end an answer, so that feeding them writes to the vault.

    An end that is cut in two by two pieces is missed.

    >>> may_settle(b"data: [DONE]\\n\\n"), may_settle(b"data: {}\\n\\n")
    (True, False)
    """
    return any(mark in data for mark in _SETTLING)


class Frames:
    """Cutter of a byte stream into events, each with its blank line. Lines end in CRLF, LF or CR.

    >>> frames = Frames()
    >>> frames.feed(b"data: 1\\n\\ndata:")
    [b'data: 1\\n\\n']
    >>> frames.finish()
    b'data:'

    Args:
        end: what an event ends with.
    """

    def __init__(self, end: re.Pattern[bytes] = _BLANK_LINE) -> None:
        self._end = end
        self._buffer = bytearray()
        self._seen = 0
        self._begun = False

    def feed(self, data: bytes) -> list[bytes]:
        """Feed bytes; return the events that are whole; raise UpstreamError over MAX_EVENT."""
        self._buffer += data
        if not self._begun and len(self._buffer) >= len(_BOM):
            self._begun = True
            if self._buffer.startswith(_BOM):
                del self._buffer[: len(_BOM)]
        events = []
        done = 0
        while (end := self._end.search(self._buffer, self._seen)) is not None:
            if end[0] in _HALVED and end.end() == len(self._buffer):
                break  # the second half of its last CRLF may be still to come
            events.append(bytes(self._buffer[done : end.end()]))
            done = self._seen = end.end()
        del self._buffer[:done]
        self._seen = max(len(self._buffer) - 3, 0)
        if len(self._buffer) > MAX_EVENT:
            raise UpstreamError("the API sent an event that is too long")
        return events

    def finish(self) -> bytes:
        """End the stream; return the bytes that no end followed."""
        return bytes(self._buffer)


class EventStream:
    """The restored events of one answer. Comments and fields other than data stay as they are.

    Holds back only what may become a released value; it comes in an event of the same shape before
    the one that says the text is done. So the concatenated deltas are the restored text, however
    the stream is cut.

    Args:
        stamp: applied to the first event of most APIs, to every response inside an event of
            /responses, and to the message in an event of /messages.
        said: called once with what the assistant said, as it came, before the event that ends the
            answer: returns a comment to put there, or "". Comments are left out where an API's own
            SDK cannot read them: Gemini's, and lines of JSON.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        restoration: Restoration,
        stamp: Stamp | None = None,
        said: Callable[[str], str] | None = None,
    ) -> None:
        self._are_lines = endpoint.stream == "lines"
        self._are_named = endpoint.name in ("responses", "messages")
        self._frames = Frames(_NEW_LINE if self._are_lines else _BLANK_LINE)
        self._handler = _HANDLERS[endpoint.name](restoration)
        self._stamp = stamp
        self._restoration, self._tell = restoration, said
        self._has_comments = endpoint.format in ("openai", "anthropic")
        self._n_bytes = 0

    def feed(self, data: bytes) -> bytes:
        """Feed some bytes; return those that can be passed on now.

        Raises:
            UpstreamError: an unknown type of event, one that cannot be read, or more than
                MAX_ANSWER in all. Close the stream then.
        """
        self._n_bytes += len(data)
        if self._n_bytes > MAX_ANSWER:
            raise UpstreamError(f"the API's stream is longer than {MAX_ANSWER:,} bytes")
        return b"".join([self._restored(block) for block in self._frames.feed(data)])

    def finish(self) -> bytes:
        """End the stream; return the bytes held; raise UpstreamError if it ended in an event."""
        rest = self._frames.finish()
        # The end of the last line or event may be left out.
        if self._are_lines or rest.strip() in (b"data: [DONE]", b"data:[DONE]"):
            try:
                last = self._restored(rest)
            except UpstreamError:
                raise UpstreamError("the API's stream ended inside a line") from None
        elif rest.strip():
            raise UpstreamError("the API's stream ended inside an event")
        else:
            last = b""
        held = self._inserted(self._handler.flush()) + self._comment()
        return last + b"\n" + held if last and held else last + held

    def _comment(self) -> bytes:
        """Return a comment on what was said; b"" if there is none, or it was told before."""
        tell, self._tell = self._tell, None
        told = tell(self._restoration.said()) if tell is not None else ""
        return f": {told}\n\n".encode() if told and self._has_comments else b""

    def leave(self) -> None:
        """Keep what came of a stream left in its middle: it may be sent back; raise VaultError."""
        self._restoration.settle()

    def _restored(self, block: bytes) -> bytes:
        try:
            text = block.decode()
        except UnicodeDecodeError:
            raise UpstreamError("the API sent an event that is not UTF-8") from None
        head, data = "", text.strip()
        if not self._are_lines:
            lines = [line.decode() for line in block.splitlines()]
            values = [line[5:].removeprefix(" ") for line in lines if line.startswith("data:")]
            data = "\n".join(values)
            others = [line for line in lines if line and not line.startswith("data:")]
            head = "".join([line + "\n" for line in others])
        if not data:
            return block
        if data == _DONE and not self._are_lines:
            return self._inserted(self._handler.flush()) + self._comment() + block
        event = _parsed(data)
        before, restored = self._handler.event(event)
        inserted = self._inserted(before) if before else b""
        inserted += self._comment() if event.get("type") in _LAST else b""
        restored = self._stamped(restored)
        return inserted + (block if restored is event else self._written(restored, head))

    def _stamped(self, event: Json) -> Json:
        return event if self._stamp is None else self._handler.stamped(event, self._stamp)

    def _written(self, event: Json, head: str) -> bytes:
        if self._are_lines:
            return dumps(event) + b"\n"
        return b"%bdata: %b\n\n" % (head.encode(), dumps(event))

    def _inserted(self, events: list[Json]) -> bytes:
        """Write events that the API did not send."""
        named = [(f"event: {e['type']}\n" if self._are_named else "", e) for e in events]
        return b"".join([self._written(self._stamped(event), head) for head, event in named])


def _parsed(data: str) -> Json:
    event: Any
    try:
        event = loads(data, strict=False)
    except ValueError:
        event = None
    if not isinstance(event, dict):
        raise UpstreamError("the API sent an event that is not a JSON object")
    return event
