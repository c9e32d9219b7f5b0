"""Events of a stream of /messages: blocks that begin, grow by deltas and end."""

from __future__ import annotations

from sanitizer.errors import UpstreamError
from sanitizer.wire.answers import Restoration, Stamp
from sanitizer.wire.formats.events import Events, Json
from sanitizer.wire.history import INPUT_ROLE, Note
from sanitizer.wire.json_text import SpelledNumber, TextPath
from sanitizer.wire.shapes import shapes

_DELTAS = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "partial_json"}
"""Type of a delta -> field whose text comes in pieces."""
_WHOLE_DELTAS = ("citations_delta", "compaction_delta", "signature_delta")
"""Types of deltas whose text comes in one piece."""
_ENDS = ("message_delta", "message_stop", "error")
"""Types of events at which all texts end."""
_KNOWN = ("message_start", "content_block_stop", "ping", *_ENDS)
"""Types of events that are let through, beside those that begin a block or go on with it."""


class MessageEvents(Events):
    """Handler of the events of a message.

    A text is identified by its block and the field of its deltas: ("0", "text"). Text held back
    comes in one more delta before the block ends. The type of a block says what its text is, so a
    stream with deltas of an unknown type is closed, as are those with unknown events.

    Args:
        restoration: of the answer.
    """

    def __init__(self, restoration: Restoration) -> None:
        super().__init__(restoration)
        self._tools: dict[str, str] = {}  # index of a block -> name of its tool
        self._begun: set[str] = set()
        self._ended: set[str] = set()

    def event(self, event: Json) -> tuple[list[Json], Json]:
        """Restore one event, as `Events.event`.

        Raises:
            UpstreamError: its type is not known, it is a delta that cannot be read, or applications
                could read its text in several ways: a block begins twice, goes on after its end, or
                the message does not begin empty.
        """
        kind = event.get("type")
        if kind == "error" or (kind is None and "error" in event):
            return self._held(), self._error(event)
        if kind == "content_block_start":
            return self._opened(event)
        if kind == "content_block_delta":
            return [], self._delta(event)
        if kind not in _KNOWN:
            raise UpstreamError("the API sent an event of an unknown type")
        before: list[Json] = []
        if kind == "message_start":
            message = event.get("message")
            if isinstance(message, dict) and message.get("content"):
                raise UpstreamError("the API sent a message that does not begin empty")
        elif kind == "content_block_stop":
            self._ended.add(_index(event))
            before = self._finished(_index(event))
        elif kind in _ENDS:
            before = self._held()
        restored = self._restoration.document(shapes("anthropic")["Event"], event)
        # A message may be left between two blocks, and what came of it be sent back.
        if kind in ("content_block_stop", "message_stop"):
            self._restoration.settle(last=kind == "message_stop")
        return before, restored

    def stamped(self, event: Json, stamp: Stamp) -> Json:
        """Stamp the message in the event that begins it, as `Events.stamped`."""
        message = event.get("message")
        if event.get("type") != "message_start" or not isinstance(message, dict):
            return event
        return {**event, "message": stamp(message)}

    def _opened(self, event: Json) -> tuple[list[Json], Json]:
        """Restore the event with which a block begins, as `event`."""
        index, block = _index(event), event.get("content_block")
        if not isinstance(block, dict) or index in self._begun:
            raise UpstreamError("the API sent a block that cannot be read")
        self._begun.add(index)
        if isinstance(name := block.get("name"), str):
            self._tools[index] = name
        field = block.get("type")
        text = block.get(field) if field in ("text", "thinking") else None
        if not isinstance(text, str) or not text:
            return [], self._whole(event)
        # The deltas continue what the block begins with, and some applications read them alone.
        rest = self._whole({**event, "content_block": {**block, field: ""}})
        return [rest], _delta_of((index, str(field)), self._feed(index, str(field), text))

    def _delta(self, event: Json) -> Json:
        delta = event.get("delta")
        if _index(event) in self._ended:
            raise UpstreamError("the API sent more of a block that had ended")
        kind = delta.get("type") if isinstance(delta, dict) else None
        if kind in _WHOLE_DELTAS:
            return self._whole(event)
        field = _DELTAS.get(kind) if isinstance(kind, str) else None
        piece = delta.get(field) if isinstance(delta, dict) and field is not None else None
        if not isinstance(delta, dict) or field is None or not isinstance(piece, str):
            raise UpstreamError("the API sent a delta that cannot be read")
        shown = self._feed(_index(event), field, piece)
        return event if shown == piece else {**event, "delta": {**delta, field: shown}}

    def _whole(self, event: Json) -> Json:
        """Restore an event whose text comes in one piece, and note it."""
        shape, index = shapes("anthropic")["Event"], _index(event)
        restored: Json = self._restoration.document(
            shape, event, "", tool=self._tools.get(index), at=(int(index),)
        )
        return restored

    def _feed(self, index: str, field: str, piece: str) -> str:
        if field == "partial_json":
            kept = self._restoration.keeps(self._tools.get(index, ""))
            kind, role = "kept" if kept else "arguments", INPUT_ROLE
        else:
            is_json = field == "text" and self._asked.in_json
            kind, role = "arguments" if is_json else "text", "assistant"
        aside = "thought" if field == "thinking" else ""
        note = Note("", "", role, aside, at=(int(index),))
        return self._channels.feed((index, field), piece, kind, note=note)

    def _held(self) -> list[Json]:
        return [_delta_of(*each) for each in self._channels.finish(lambda path: True)]

    def _finished(self, index: str) -> list[Json]:
        """End the texts of one block; return deltas for what was held back."""
        return [_delta_of(*each) for each in self._channels.finish(lambda path: path[0] == index)]


def _delta_of(path: TextPath, text: str) -> Json:
    """Return one more delta of a text."""
    index, field = str(path[0]), str(path[1])
    (kind,) = [kind for kind, of in _DELTAS.items() if of == field]
    delta = {"type": kind, field: text}
    return {"type": "content_block_delta", "index": SpelledNumber(index), "delta": delta}


def _index(event: Json) -> str:
    """Return the place of an event's block."""
    index = event.get("index")
    if type(index) is not SpelledNumber or not index.isdecimal():
        raise UpstreamError("the API sent a block without a place")
    return str(index)
