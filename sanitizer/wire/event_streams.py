"""Event streams (text/event-stream): bytes, however they are split, to events to restored bytes.

/chat/completions and /completions send chunks with a list of choices (`Chunks`), /responses sends
typed events (`EventFeed`), and so does /messages (`MessageEvents`). Gemini sends answers
(`GeminiEvents`), and so does Ollama, one a line (`LineStream`).

Events are cut here, not by a library, because an unchanged event has to pass byte for byte and no
event may grow without bound.
"""

from __future__ import annotations

import re
from typing import Any

from sanitizer.errors import UpstreamError
from sanitizer.wire.answers import Restoration, Stamp
from sanitizer.wire.endpoints import Endpoint
from sanitizer.wire.formats.chat_events import Chunks
from sanitizer.wire.formats.events import Events, Json
from sanitizer.wire.formats.gemini_events import GeminiEvents
from sanitizer.wire.formats.message_events import MessageEvents
from sanitizer.wire.formats.ollama_events import OllamaEvents
from sanitizer.wire.formats.response_events import EventFeed
from sanitizer.wire.json_text import dumps, loads

MAX_EVENT = 8_000_000
"""Longest event, in bytes; an image that is being generated may come in one."""

_END = re.compile(rb"(?:\r\n?+|\n)(?:\r\n?+|\n)")
_HALVED = (b"\r\n\r", b"\n\r")
_LINE_END = re.compile("\r\n|\n|\r")
_BOM = b"\xef\xbb\xbf"


class Frames:
    """Cutter of a byte stream into events, each with its blank line. Lines end in CRLF, LF or CR.

    >>> frames = Frames()
    >>> frames.feed(b"data: 1\\n\\ndata:")
    [b'data: 1\\n\\n']
    >>> frames.finish()
    b'data:'
    """

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._seen = 0
        self._begun = False

    def feed(self, data: bytes) -> list[bytes]:
        """Feed some bytes; return the events that are complete now.

        Raises:
            UpstreamError: an event is longer than MAX_EVENT.
        """
        self._buffer += data
        if not self._begun and len(self._buffer) >= len(_BOM):
            self._begun = True
            if self._buffer.startswith(_BOM):
                del self._buffer[: len(_BOM)]
        events = []
        done = 0
        while (end := _END.search(self._buffer, self._seen)) is not None:
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
        """End the stream; return the bytes that no blank line ended."""
        return bytes(self._buffer)


_SETTLING = re.compile(
    rb"\[DONE\]|content_block_stop|message_stop|response\.(?:completed|failed|incomplete|cancelled)"
)


def may_settle(data: bytes) -> bool:
    """Return True if bytes of a stream end an answer, so that feeding them writes to the vault.

    An end that is cut in two by two pieces is missed.

    >>> may_settle(b"data: [DONE]\\n\\n"), may_settle(b"data: {}\\n\\n")
    (True, False)
    """
    return _SETTLING.search(data) is not None


class Lines:
    """Cutter of a byte stream into lines of JSON, each with its end.

    >>> lines = Lines()
    >>> lines.feed(b'{"done":')
    []
    >>> lines.feed(b'true}\\n')
    [b'{"done":true}\\n']
    """

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> list[bytes]:
        """Feed some bytes; return the lines that are complete now.

        Raises:
            UpstreamError: a line is longer than MAX_EVENT.
        """
        *lines, rest = data.split(b"\n")
        self._buffer += lines[0] if lines else rest
        if len(self._buffer) > MAX_EVENT:
            raise UpstreamError("the API sent a line that is too long")
        if not lines:
            return []
        found = [bytes(self._buffer), *lines[1:]]
        self._buffer = bytearray(rest)
        return [line + b"\n" for line in found]

    def finish(self) -> bytes:
        """End the stream; return the bytes that no end of a line followed."""
        return bytes(self._buffer)


class LineStream:
    """The restored lines of one answer of Ollama; otherwise as `EventStream`.

    Args:
        endpoint: endpoint that answers.
        restoration: of the answer.
        stamp: applied to the first line.
    """

    def __init__(self, endpoint: str, restoration: Restoration, stamp: Stamp | None = None) -> None:
        self._lines = Lines()
        self._handler: Events = OllamaEvents(endpoint, restoration)
        self._stamp = stamp

    def feed(self, data: bytes) -> bytes:
        """Feed some bytes; return those that can be passed on now.

        Raises:
            UpstreamError: a line cannot be read. Close the stream then.
        """
        return b"".join([self._line(line) for line in self._lines.feed(data)])

    def finish(self) -> bytes:
        """End the stream; return the bytes still held back.

        Raises:
            UpstreamError: the stream ended inside a line.
        """
        rest = self._lines.finish()
        try:
            last = self._line(rest)  # the end of the last line may be left out
        except UpstreamError:
            raise UpstreamError("the API's stream ended inside a line") from None
        held = b"".join([self._written(line) for line in self._handler.flush()])
        return last + b"\n" + held if last and held else last + held

    def leave(self) -> None:
        """As `EventStream.leave`."""
        self._handler.leave()

    def _line(self, line: bytes) -> bytes:
        if not line.strip():
            return line
        try:
            event = _parsed(line.decode())
        except UnicodeDecodeError:
            raise UpstreamError("the API sent a line that is not UTF-8") from None
        before, restored = self._handler.event(event)
        inserted = b"".join([self._written(each) for each in before])
        stamped = self._handler.stamped(restored, self._stamp) if self._stamp else restored
        return inserted + (line if stamped is event else dumps(stamped) + b"\n")

    def _written(self, event: Json) -> bytes:
        return dumps(self._handler.stamped(event, self._stamp) if self._stamp else event) + b"\n"


def restored_stream(
    endpoint: Endpoint, restoration: Restoration, stamp: Stamp | None = None
) -> EventStream | LineStream:
    """Return what restores the stream of an endpoint."""
    kind = LineStream if endpoint.stream == "lines" else EventStream
    return kind(endpoint.name, restoration, stamp)


class EventStream:
    """The restored events of one answer. Comments and fields other than data stay as they are.

    Holds back only what may become a released value; it comes in an event of the same shape before
    the one that says the text is done. So the concatenated deltas are the restored text, however
    the stream is cut.

    Args:
        endpoint: endpoint that answers.
        restoration: of the answer.
        stamp: applied to the first chunk of /chat/completions and /completions, to every response
            inside an event of /responses, and to the message in an event of /messages.
    """

    def __init__(self, endpoint: str, restoration: Restoration, stamp: Stamp | None = None) -> None:
        self._frames = Frames()
        self._named = endpoint in ("responses", "messages")
        of_endpoint: dict[str, Any] = {
            "responses": EventFeed,
            "messages": MessageEvents,
            "streamGenerateContent": GeminiEvents,
        }
        self._handler: Events = of_endpoint.get(endpoint, Chunks)(restoration)
        self._stamp = stamp

    def feed(self, data: bytes) -> bytes:
        """Feed some bytes; return those that can be passed on now.

        Raises:
            UpstreamError: an unknown type of event, or one that cannot be read. Close the stream
                then.
        """
        return b"".join([self._block(block) for block in self._frames.feed(data)])

    def finish(self) -> bytes:
        """End the stream; return the bytes still held back.

        Raises:
            UpstreamError: the stream ended inside an event.
        """
        rest = self._frames.finish()
        if rest.strip() in (b"data: [DONE]", b"data:[DONE]"):
            return self._block(rest)  # some servers leave out the blank line after the last event
        if rest.strip():
            raise UpstreamError("the API's stream ended inside an event")
        return self._inserted(self._handler.flush())

    def leave(self) -> None:
        """Keep what came of a stream that ends in its middle: it may be sent back all the same.

        Raises:
            VaultError: it cannot be kept.
        """
        self._handler.leave()

    def _block(self, block: bytes) -> bytes:
        try:
            text = block.decode()
        except UnicodeDecodeError:
            raise UpstreamError("the API sent an event that is not UTF-8") from None
        lines = [
            line for line in (_LINE_END.split(text) if "\r" in text else text.split("\n")) if line
        ]
        values = [line[5:].removeprefix(" ") for line in lines if line.startswith("data:")]
        data = "\n".join(values)
        if not data:
            return block
        if data == "[DONE]":
            return self._inserted(self._handler.flush()) + block
        event = _parsed(data)
        before, restored = self._handler.event(event)
        inserted = self._inserted(before) if before else b""
        restored = self._stamped(restored)
        if restored is event:
            return inserted + block
        head = "".join([line + "\n" for line in lines if not line.startswith("data:")])
        return b"%b%bdata: %b\n\n" % (inserted, head.encode(), dumps(restored))

    def _stamped(self, event: Json) -> Json:
        return event if self._stamp is None else self._handler.stamped(event, self._stamp)

    def _inserted(self, events: list[Json]) -> bytes:
        """Write events that the API did not send."""
        heads = [f"event: {event['type']}\n".encode() if self._named else b"" for event in events]
        return b"".join(
            [
                head + b"data: " + dumps(self._stamped(event)) + b"\n\n"
                for head, event in zip(heads, events, strict=True)
            ]
        )


def _parsed(data: str) -> Json:
    try:
        event = loads(data, strict=False)
    except ValueError:
        event = None
    if not isinstance(event, dict):
        raise UpstreamError("the API sent an event that is not a JSON object")
    return event
