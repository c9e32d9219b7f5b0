"""Chunks of a stream of /chat/completions and /completions: each has a list of choices."""

from __future__ import annotations

from typing import Any

from sanitizer.errors import UpstreamError
from sanitizer.wire.answers import Restoration
from sanitizer.wire.formats.events import Events, Json, with_list
from sanitizer.wire.history import CALL_ROLE, Note
from sanitizer.wire.json_text import SpelledNumber, TextPath, TextSlot
from sanitizer.wire.shapes import shapes
from sanitizer.wire.walker import ARGUMENTS_ROLE, Walker

_STREAMED = frozenset(
    "content refusal reasoning_content reasoning thinking text summary transcript arguments"
    " input".split()
)
"""Fields whose text comes in pieces; any other text of a chunk is whole."""
_MAX_INDEX = 1_000_000
_MAX_NOTED = 10_000


class Chunks(Events):
    """Handler of chunks.

    A text is identified by its choice and its place in it: ("0", "delta", "content"), or, in the
    second tool call, ("0", "delta", "tool_calls", 1, "function", "arguments"). Text held back comes
    in a chunk of the same shape before the chunk with the finish reason, or in that chunk if it
    continues the same text.
    """

    def __init__(self, restoration: Restoration) -> None:
        super().__init__(restoration)
        self._envelope: Json = {}
        self._marks: dict[TextPath, Json] = {}  # place in a list -> index and type stated there
        self._tools: dict[TextPath, str] = {}  # place of a call -> name of its tool
        self._others: set[str] = set()  # choices that somebody else than the assistant speaks in
        self._calls: dict[TextPath, tuple[str, int]] = {}  # place of calls -> id, how many before
        self._latest: dict[TextPath, int] = {}  # list of calls -> highest place

    def event(self, event: Json) -> tuple[list[Json], Json]:
        """Restore one chunk, as `Events.event`.

        Raises:
            UpstreamError: it has neither choices nor an error, or applications could read its texts
                in several ways: there are more choices than were asked for, or calls out of order.
        """
        choices = event.get("choices")
        if choices is None and "error" in event:
            return [], self._error(event)
        if not isinstance(choices, list):
            raise UpstreamError("the API sent an event of an unknown type")
        self._envelope = {k: v for k, v in event.items() if k not in ("choices", "usage")}
        before: list[Json] = []
        restored = [self._choice(choice, before) for choice in choices]
        return before, with_list(event, "choices", restored)

    def _choice(self, choice: Any, before: list[Json]) -> Any:
        index = self._index(choice)
        last = choice.get("finish_reason") is not None
        delta = choice.get("delta")
        speaks = not isinstance(delta, dict) or delta.get("role") in (None, "assistant")
        if not speaks and len(self._others) < _MAX_NOTED:
            self._others.add(index)
        walker = Walker(answer=True, path=(index,), place=self._place)
        found = walker.walk(shapes("openai")["Chunk"], choice)
        self._tools |= {path: name for path, name in walker.calls.items() if len(path) < 10}
        changed = False
        for slot in walker.slots:
            if slot.kind != "person":
                sent, slot.text = slot.text, self._text(slot, last)
                changed |= slot.text != sent
        if last:
            before += self._held(lambda path: path[0] == index)
            said = (index, "delta", "content")
            if (line := self._asked.last_line) and self._channels.says(said.__eq__):
                end = next((slot for slot in walker.slots if slot.path == said and slot.text), None)
                if end is None:
                    before.append(self._event_of(said, line))
                elif speaks:
                    end.text, changed = end.text + line, True
        return found if changed else choice

    def _text(self, slot: TextSlot, last: bool) -> str:
        """Return what can be shown of a text now: all, if it is the last of it."""
        path, text, is_arguments = slot.path, slot.text, slot.kind == "arguments"
        if path in self._channels:
            return self._channels.feed(path, text, last=last)
        speaks = path[0] not in self._others
        role = "assistant" if speaks and "delta" in path else ""
        call = path[:-1]
        tool = self._tools.get(call, "") if is_arguments or call in self._tools else None
        if role and is_arguments:
            role = ARGUMENTS_ROLE
        note = Note("", "", role, _aside(path), choice=int(path[0]))
        if slot.field not in _STREAMED:
            kept = tool is not None and self._restoration.keeps(tool)
            shown = text if kept else self._restoration.texts.text(text)
            if role and text:
                self._restoration.remember(note._replace(sent=text, shown=shown))
            return shown
        if tool is not None and role == "assistant":
            note = note._replace(role=CALL_ROLE)
        is_json = is_arguments or (speaks and _is_message(path) and self._asked.in_json)
        return self._channels.feed(path, text, "arguments" if is_json else "text", last, note, tool)

    def _place(self, path: TextPath, position: int, value: Any) -> int:
        """Return the place of an element of a list (a tool call, a content part), by its index."""
        if not isinstance(value, dict):
            return position
        place = self._place_of(path, position, value)
        if (*path, place) not in self._marks and len(self._marks) < _MAX_NOTED:
            self._marks[*path, place] = {k: value[k] for k in ("index", "type") if k in value}
        return place

    def _place_of(self, path: TextPath, position: int, value: Json) -> int:
        """Return the place of an object in a list.

        Applications list calls by index or as they come: both are one order, or it is an error.
        Some APIs give all calls of an answer one index: one with a name and an id of its own is
        another one.
        """
        index, are_calls = value.get("index"), path[-1] == "tool_calls"
        if index is None or (not are_calls and type(index) is not SpelledNumber):
            index = SpelledNumber(position)
        if type(index) is not SpelledNumber or not index.isdecimal():
            raise UpstreamError("the API sent a part of an answer that cannot be read")
        place = min(int(index[:9]), _MAX_INDEX)
        if not are_calls:
            return place
        call_id = value.get("id")
        known, n_before = self._calls.get((*path, place), ("", 0))
        if isinstance(call_id, str) and call_id and _names_tool(value) and call_id != known:
            n_before += bool(known)
            self._calls[*path, place] = (call_id, n_before)
        place += n_before * _MAX_INDEX
        if (*path, place) not in self._marks and place < self._latest.get(path, 0):
            raise UpstreamError("the API sent calls out of order")
        self._latest[path] = max(place, self._latest.get(path, 0))
        return place

    def _event_of(self, path: TextPath, text: str) -> Json:
        value: Any = text
        for n in range(len(path) - 1, 0, -1):
            step = path[n]
            if isinstance(step, str):
                value = {step: value}
            elif isinstance(value, dict):
                value = [{**self._marks.get(path[: n + 1], {}), **value}]
            else:
                value = [value]
        choice = {"index": path[0], **value, "finish_reason": None}
        return {**self._envelope, "choices": [choice]}


def _names_tool(call: Json) -> bool:
    """Return True if a call begins here: the later pieces of it have no name."""
    tools = [call.get("function"), call.get("custom"), call]
    return any(isinstance(tool, dict) and bool(tool.get("name")) for tool in tools)


def _aside(path: TextPath) -> str:
    """Return the field in which a text stands beside a message; "" if it is of that or a call."""
    of_message = _is_message(path) or path[-1] in ("arguments", "input")
    return "" if of_message or len(path) < 3 else str(path[2])


def _is_message(path: TextPath) -> bool:
    """Return True if a text is the content of a message."""
    match path:
        case (_, "delta", "content") | (_, "delta", "content", int(), "text"):
            return True
    return False
