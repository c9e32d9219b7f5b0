"""The record put into answers, where a client of the API finds it: key "sanitizer_record" of the
answer's object.
"""

from __future__ import annotations

import json
import re
from typing import Any

from sanitizer.clients.transport import Events
from sanitizer.wire import Frames, dumps, loads

KEY = "sanitizer_record"

_STATES = frozenset(
    f"response.{state}"
    for state in ("created", "queued", "in_progress", "completed", "incomplete", "failed")
)
"""Events of the Responses API that hold the response itself."""


def stamped(body: bytes, record: dict[str, Any]) -> bytes:
    """A JSON object with the record in it; anything else as it is. A record the API wrote is
    replaced.
    """
    try:
        document = _object(body.decode("utf-8-sig"))
    except UnicodeDecodeError:
        return body
    if document is None:
        return body
    document[KEY] = _plain(record)
    return dumps(document)


class Stamped:
    """A restored stream with the record in it.

    Of chunks (chat, completions), the first one carries it; later ones belong to the same request.
    Of Responses events, every one that holds the response carries it there.

    Args:
        events: what restores the stream. record: plain values.
    """

    def __init__(self, events: Events, record: dict[str, Any]) -> None:
        self._events, self._record = events, _plain(record)
        self._frames, self._begun = Frames(), False

    def feed(self, data: bytes) -> bytes:
        return b"".join(
            [self._block(block) for block in self._frames.feed(self._events.feed(data))]
        )

    def finish(self) -> bytes:
        rest = self._events.finish()
        blocks = self._frames.feed(rest)
        return b"".join([self._block(block) for block in blocks]) + self._frames.finish()

    def _block(self, block: bytes) -> bytes:
        if self._begun and b'"response"' not in block:
            return block
        lines = re.split("\r\n|\n|\r", block.decode())
        data = "\n".join(line[5:].removeprefix(" ") for line in lines if line.startswith("data:"))
        if (event := _object(data)) is None:
            return block
        self._begun = True
        if not self._stamp(event):
            return block
        others = [line + "\n" for line in lines if line and not line.startswith("data:")]
        return "".join(others).encode() + b"data: " + dumps(event) + b"\n\n"

    def _stamp(self, event: dict[str, Any]) -> bool:
        """Put the record where it belongs in this event, if anywhere."""
        kind, response = event.get("type"), event.get("response")
        if isinstance(kind, str):
            found = response if kind in _STATES and isinstance(response, dict) else None
        else:
            found = event if "error" not in event else None
        if found is not None:
            found[KEY] = self._record
        return found is not None


def _object(text: str) -> dict[str, Any] | None:
    try:
        found = loads(text, strict=False)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _plain(record: dict[str, Any]) -> Any:
    """The record with its numbers as the writer of documents takes them."""
    return loads(json.dumps(record))
