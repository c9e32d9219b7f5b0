"""Event streams (text/event-stream): bytes in any split -> events -> restored bytes."""

from __future__ import annotations

import re
from typing import Any, Protocol

from sanitizer.errors import UpstreamError
from sanitizer.wire.answers import Restoration
from sanitizer.wire.chunks import Chunks
from sanitizer.wire.codec import dumps, loads
from sanitizer.wire.events import Events

MAX_EVENT = 8_000_000
"""Bytes of one event; an image that is being generated may come in one."""

_END = re.compile(rb"(?:\r\n?+|\n)(?:\r\n?+|\n)")
_HALVED = (b"\r\n\r", b"\n\r")
_LINE_END = re.compile("\r\n|\n|\r")
_BOM = b"\xef\xbb\xbf"


class Handler(Protocol):
    """What restores the events of one endpoint."""

    def event(self, event: dict[str, Any]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        """Events to be put before this one, and this one restored: the same object if nothing changed."""

    def flush(self) -> list[dict[str, Any]]:
        """Events for all that is held back: nothing more comes."""


class Frames:
    """Cuts a stream of bytes into events, each with its blank line. Line ends are CRLF, LF or CR."""

    def __init__(self) -> None:
        self._buffer, self._seen, self._begun = bytearray(), 0, False

    def feed(self, data: bytes) -> list[bytes]:
        """The events that are complete now.

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
                break  # the other half of its last CRLF is to come
            events.append(bytes(self._buffer[done : end.end()]))
            done = self._seen = end.end()
        del self._buffer[:done]
        self._seen = max(len(self._buffer) - 3, 0)
        if len(self._buffer) > MAX_EVENT:
            raise UpstreamError("the API sent an event that is too long")
        return events

    def finish(self) -> bytes:
        """What is left without a blank line after it."""
        return bytes(self._buffer)


class EventStream:
    """The restored events of one answer. Comments and fields other than data stay as they are.

    Holds back only what may become a released value; it comes in an event of the same shape before the one that
    says the text is done. So the deltas put together are the restored text, however the stream is cut.

    Args:
        endpoint: whose events. restoration: of the conversation.
    """

    def __init__(self, endpoint: str, restoration: Restoration) -> None:
        self._frames, self._named = Frames(), endpoint == "responses"
        self._handler: Handler = Events(restoration) if self._named else Chunks(restoration)

    def feed(self, data: bytes) -> bytes:
        """What can be passed on once these bytes have come.

        Raises:
            UpstreamError: an unknown type of event, or one that cannot be read. Close the stream then.
        """
        return b"".join([self._block(block) for block in self._frames.feed(data)])

    def finish(self) -> bytes:
        """The rest: the stream has ended.

        Raises:
            UpstreamError: inside an event.
        """
        rest = self._frames.finish()
        if rest.strip() in (b"data: [DONE]", b"data:[DONE]"):
            return self._block(rest)  # some servers leave out the blank line after the last event
        if rest.strip():
            raise UpstreamError("the API's stream ended inside an event")
        return self._synthesized(self._handler.flush())

    def _block(self, block: bytes) -> bytes:
        try:
            text = block.decode()
        except UnicodeDecodeError:
            raise UpstreamError("the API sent an event that is not UTF-8") from None
        lines = [line for line in (_LINE_END.split(text) if "\r" in text else text.split("\n")) if line]
        values = [line[5:].removeprefix(" ") for line in lines if line.startswith("data:")]
        data = "\n".join(values)
        if not data:
            return block
        if data == "[DONE]":
            return self._synthesized(self._handler.flush()) + block
        event = _parsed(data)
        before, restored = self._handler.event(event)
        if restored is event:
            return self._synthesized(before) + block if before else block
        head = "".join([line + "\n" for line in lines if not line.startswith("data:")])
        return b"%b%bdata: %b\n\n" % (self._synthesized(before), head.encode(), dumps(restored))

    def _synthesized(self, events: list[dict[str, Any]]) -> bytes:
        heads = [f"event: {event['type']}\n".encode() if self._named else b"" for event in events]
        return b"".join([head + b"data: " + dumps(event) + b"\n\n" for head, event in zip(heads, events, strict=True)])


def _parsed(data: str) -> dict[str, Any]:
    try:
        event = loads(data, strict=False)
    except ValueError:
        event = None
    if not isinstance(event, dict):
        raise UpstreamError("the API sent an event that is not a JSON object")
    return event
