"""Streams of typed events with deltas of one text each: those of /messages and of /responses."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from sanitizer.errors import UpstreamError
from sanitizer.wire.answers import Restoration, Stamp, alike
from sanitizer.wire.formats.events import Events, Json
from sanitizer.wire.history import CALL_ROLE, INPUT_ROLE, Note
from sanitizer.wire.json_text import SpelledNumber, TextPath, TextSlot
from sanitizer.wire.shapes import shapes
from sanitizer.wire.walker import ARGUMENTS_ROLE

# ---- /messages: blocks that begin, grow by deltas and end ----

_BLOCK_DELTAS = {
    "text_delta": "text",
    "thinking_delta": "thinking",
    "input_json_delta": "partial_json",
}
"""Type of a delta -> field whose text comes in pieces."""
_WHOLE_DELTAS = ("citations_delta", "compaction_delta", "signature_delta")
"""Types of deltas whose text comes in one piece."""
_ENDS = ("message_delta", "message_stop", "error")
"""Types of events at which all texts end."""
_BLOCK_EVENTS = ("message_start", "content_block_stop", "ping", *_ENDS)
"""Types of events that are let through, beside those that begin a block or go on with it."""


class MessageEvents(Events):
    """Handler of the events of a message.

    A text is identified by its block and the field of its deltas: ("0", "text"). Text held back
    comes in one more delta before the block ends. The type of a block says what its text is, so a
    stream with deltas of an unknown type is closed, as are those with unknown events.
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
        if kind not in _BLOCK_EVENTS:
            raise UpstreamError("the API sent an event of an unknown type")
        before: list[Json] = []
        if kind == "message_start":
            message = event.get("message")
            if isinstance(message, dict) and message.get("content"):
                raise UpstreamError("the API sent a message that does not begin empty")
        elif kind == "content_block_stop":
            index = _index(event, "index", needed=True)
            self._ended.add(index)
            before = self._held(lambda path: path[0] == index)
        elif kind in _ENDS:
            before = [*self._held(), *self._last_block(event)]
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

    def _last_block(self, event: Json) -> list[Json]:
        """Return the events of a block with the last line, where a message stops that has text."""
        delta, line = event.get("delta"), self._asked.last_line
        stops = isinstance(delta, dict) and delta.get("stop_reason") is not None
        if not (line and stops and self._channels.says(lambda path: path[1] == "text")):
            return []
        index = SpelledNumber(max(map(int, self._begun), default=0) + 1)
        place, block = {"index": index}, {"type": "text", "text": ""}
        return [
            {"type": "content_block_start", **place, "content_block": block},
            self._event_of((index, "text"), line),
            {"type": "content_block_stop", **place},
        ]

    def _opened(self, event: Json) -> tuple[list[Json], Json]:
        """Restore the event with which a block begins, as `event`."""
        index, block = _index(event, "index", needed=True), event.get("content_block")
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
        return [rest], self._event_of((index, str(field)), self._feed(index, str(field), text))

    def _delta(self, event: Json) -> Json:
        delta = event.get("delta")
        if _index(event, "index", needed=True) in self._ended:
            raise UpstreamError("the API sent more of a block that had ended")
        kind = delta.get("type") if isinstance(delta, dict) else None
        if kind in _WHOLE_DELTAS:
            return self._whole(event)
        field = _BLOCK_DELTAS.get(kind) if isinstance(kind, str) else None
        piece = delta.get(field) if isinstance(delta, dict) and field is not None else None
        if not isinstance(delta, dict) or field is None or not isinstance(piece, str):
            raise UpstreamError("the API sent a delta that cannot be read")
        shown = self._feed(_index(event, "index", needed=True), field, piece)
        return event if shown == piece else {**event, "delta": {**delta, field: shown}}

    def _whole(self, event: Json) -> Json:
        """Restore an event whose text comes in one piece, and note it."""
        shape, index = shapes("anthropic")["Event"], _index(event, "index", needed=True)
        restored: Json = self._restoration.document(
            shape, event, "", tool=self._tools.get(index), at=(int(index),)
        )
        return restored

    def _feed(self, index: str, field: str, piece: str) -> str:
        tool = self._tools.get(index, "") if field == "partial_json" else None
        is_json = tool is not None or (field == "text" and self._asked.in_json)
        role = "assistant" if tool is None else INPUT_ROLE
        aside = "thought" if field == "thinking" else ""
        note = Note("", "", role, aside, at=(int(index),))
        kind = "arguments" if is_json else "text"
        return self._channels.feed((index, field), piece, kind, note=note, tool=tool)

    def _event_of(self, path: TextPath, text: str) -> Json:
        index, field = str(path[0]), str(path[1])
        (kind,) = [kind for kind, of in _BLOCK_DELTAS.items() if of == field]
        delta = {"type": kind, field: text}
        return {"type": "content_block_delta", "index": SpelledNumber(index), "delta": delta}


# ---- /responses ----

_TABLE = tomllib.loads(
    files(__package__).joinpath("response_events.toml").read_text(encoding="utf-8")
)
_ARGUMENTS = frozenset(_TABLE["texts"]["arguments"].split())
"""Texts of calls that are JSON."""
_TO_TOOLS = _ARGUMENTS | frozenset(_TABLE["texts"]["to_tools"].split())
_MAIN = _ARGUMENTS | {"output_text", "custom_tool_call_input"}
"""Texts that applications send back; the others stand aside."""
_TEXTS = frozenset(
    f"response.{name}" for names in _TABLE["texts"].values() for name in names.split()
)
_DELTAS = {f"{text}.delta": text for text in _TEXTS}
_STATES = frozenset(f"response.{step}" for step in _TABLE["steps"][""].split())
"""Events that hold the whole response, so far."""
_FINAL = _STATES - {"response.created", "response.queued", "response.in_progress"}
_STEPS = {
    f"response.{of}.{step}".replace("..", ".")
    for of, steps in _TABLE["steps"].items()
    for step in steps.split()
}
KNOWN = {"error", "keepalive", *_STEPS, *_DELTAS, *(f"{text}.done" for text in _TEXTS)}
"""Types of events that are let through."""
_PLACE = ("output_index", "content_index", "summary_index", "command_index")
_FIELDS, _PARTS = (
    {name: (*place.split(), "")[:2] for name, place in _TABLE[part].items()}
    for part in ("fields", "parts")
)
_Address = tuple[str, str, str]
"""Place of a text in a response: its output, the field of that, and the part."""


class EventFeed(Events):
    """Handler of typed events.

    A text is identified by the kind of its deltas and its place (output, content, summary,
    command). Text held back comes in one more delta before the event that says the text, its item
    or the response is done; later events are renumbered. Applications read a text from its deltas,
    from the event that ends it, from its item or from the response: where a later one says
    something else, what was said first takes its place, so that all read the same.
    """

    def __init__(self, restoration: Restoration) -> None:
        super().__init__(restoration)
        self._latest: dict[TextPath, Json] = {}
        self._tools: dict[str, str] = {}  # place of a call -> name of its tool
        self._told: dict[_Address, list[str]] = {}  # place of a text -> what came of it first
        self._ended: set[_Address] = set()
        self._number = 0
        self._inserted = 0

    def event(self, event: Json) -> tuple[list[Json], Json]:
        """Restore one event, as `Events.event`.

        Raises:
            UpstreamError: its type is not in KNOWN, its place cannot be read, it is more of a text
                that had ended, or it tells other texts than earlier events.
        """
        kind = event.get("type")
        if kind is None and "error" in event:
            return [], self._error(event)
        if not isinstance(kind, str) or kind not in KNOWN:
            raise UpstreamError("the API sent an event of an unknown type")
        number = event.get("sequence_number")
        if type(number) is SpelledNumber and number.isdecimal():
            self._number = int(number)
        item = event.get("item")
        if isinstance(item, dict) and isinstance(item.get("name"), str):
            self._tools[_index(event, "output_index")] = item["name"]
        if (text := _DELTAS.get(kind)) is not None:
            before, restored = [], self._delta(text, event)
        else:
            before = self._due(kind, event)
            name = _name(kind)
            restored = self._restoration.document(
                shapes("openai")["Event"],
                event,
                kind if kind in _FINAL or kind.endswith((".done", ".added")) else None,
                tool=self._tool(event) if name in _TO_TOOLS else None,
                at=(int(_index(event, "output_index")),),
                role="assistant" if kind.removesuffix(".done") in _TEXTS else "",
                agree=lambda slots: self._agree(event, slots),
                ends=(lambda path: path) if kind in _FINAL or kind.endswith(".done") else None,
            )
        if isinstance(response := event.get("response"), dict):
            self._restoration.name = str(response.get("id", ""))
        if kind in _FINAL:
            self._restoration.settle()
        return before, self._counted(restored) if self._inserted else restored

    def flush(self) -> list[Json]:
        """Return deltas for all text held back, as `Events.flush`."""
        self._number += 1
        return self._held()

    def stamped(self, event: Json, stamp: Stamp) -> Json:
        """Stamp the response in an event that holds it, as `Events.stamped`."""
        response = event.get("response")
        if event.get("type") not in _STATES or not isinstance(response, dict):
            return event
        return {**event, "response": stamp(response)}

    def _delta(self, text: str, event: Json) -> Json:
        delta, name = event.get("delta"), text.removeprefix("response.")
        is_json = name in _ARGUMENTS or (self._asked.in_json and name == "output_text")
        kind = "arguments" if is_json else "text"
        tool = self._tool(event) if name in _TO_TOOLS else None
        place = (text, *(_index(event, key) for key in _PLACE))
        note = self._note(name, place)
        if isinstance(delta, str):
            self._latest[place] = event
            if name in _FIELDS:
                part, field = _FIELDS[name]
                address = (place[1], part, _index(event, field))
                if address in self._ended:
                    raise UpstreamError("the API sent more of a text that had ended")
                self._told.setdefault(address, []).append(delta)
            shown: Any = self._channels.feed(place, delta, kind, note=note, tool=tool)
        elif isinstance(delta, dict) and all(isinstance(piece, str) for piece in delta.values()):
            self._latest[place] = event
            shown = {
                key: self._channels.feed((*place, key), piece, kind, note=note, tool=tool)
                for key, piece in delta.items()
            }
        else:
            raise UpstreamError("the API sent a delta that cannot be read")
        return event if shown == delta else {**event, "delta": shown}

    def _note(self, name: str, place: Sequence[str]) -> Note:
        """Return how the text of some deltas is noted."""
        role = CALL_ROLE if name in _TO_TOOLS else "assistant"
        role = ARGUMENTS_ROLE if name in _ARGUMENTS else role
        aside = "" if name in _MAIN else name
        aside = "thought" if name.startswith("reasoning") else aside
        return Note("", "", role, aside, "deltas", at=tuple(map(int, place[1:])))

    def _agree(self, event: Json, slots: Sequence[TextSlot]) -> None:
        """Write the texts that an event tells as a whole as they were told first."""
        if event["type"].endswith(".added"):
            return
        told = [(_address(event, slot.path), slot) for slot in slots]
        texts = [(address, slot) for address, slot in told if address is not None]
        self._ended.update(address for address, _ in texts)
        first = ["".join(self._told.setdefault(place, [slot.text])) for place, slot in texts]
        if not all(alike(one, slot.text) for one, (_, slot) in zip(first, texts, strict=True)):
            for one, (_, slot) in zip(first, texts, strict=True):
                slot.text = one

    def _tool(self, event: Json) -> str:
        """Return the name of the tool that an event's text goes to; "" if it is not known."""
        return self._tools.get(_index(event, "output_index"), "")

    def _due(self, kind: str, event: Json) -> list[Json]:
        """Return the deltas that have to come before this event."""
        if kind.endswith(".done") and (text := kind.removesuffix(".done")) in _TEXTS:
            place = (text, *(_index(event, key) for key in _PLACE))
            line = self._asked.last_line if text == "response.output_text" else ""
            return self._finished(place, line)
        if kind == "response.output_item.done":
            return self._finished(("", _index(event, "output_index")))
        return self._finished(()) if kind in _FINAL or kind == "error" else []

    def _finished(self, place: TextPath, line: str = "") -> list[Json]:
        """End the texts whose path begins with this place; "" means any kind of text.

        Args:
            line: is put under a text that is just there.
        """
        n = len(place)

        def inside(path: TextPath) -> bool:
            return path[1:n] == place[1:] and (not place or place[0] in ("", path[0]))

        events = self._held(inside)
        if line and place in self._latest:
            events.append(self._event_of(place, line))
        for path in [path for path in self._latest if inside(path)]:
            del self._latest[path]
        return events

    def _event_of(self, path: TextPath, held: str) -> Json:
        # In the form of the latest delta of the text.
        n = 1 + len(_PLACE)
        event = {k: v for k, v in self._latest[path[:n]].items() if k != "obfuscation"}
        if "logprobs" in event:
            event["logprobs"] = []
        event = self._counted({**event, "delta": {path[n]: held} if len(path) > n else held})
        self._inserted += 1
        return event

    def _counted(self, event: Json) -> Json:
        """Return the event with a number that counts the events put in before it."""
        number = {"sequence_number": self._number + self._inserted}
        return {**event, **number} if "sequence_number" in event else event


def _index(event: Json, key: str, needed: bool = False) -> str:
    """Return where an event's text stands; "0" if that is not said, and not needed."""
    index = event.get(key)
    if index is None and not needed:
        return "0"
    if type(index) is not SpelledNumber or not index.isdecimal() or len(index) > 9:
        raise UpstreamError("the API sent an event whose place cannot be read")
    return str(int(index))


def _name(kind: str) -> str:
    """Return what an event that ends something ends: "output_text", "output_item" and so on."""
    return kind.removeprefix("response.").removesuffix(".done")


def _address(event: Json, path: TextPath) -> _Address | None:
    """Return the place of a text that an event tells as a whole; None if it tells none there."""
    kind, output = str(event.get("type")), _index(event, "output_index")
    name = _name(kind)
    part, place = _FIELDS.get(name, _PARTS.get(name, ("", "")))
    steps: list[str | int]
    match path:
        case ("text" | "refusal" | "arguments" | "input",) if name in _FIELDS:
            return output, part, _index(event, place)
        case ("part", "text" | "refusal" | "arguments" | "input") if name in _PARTS:
            return output, part, _index(event, place)
        case ("item", *steps) if name == "output_item":
            pass
        case ("response", "output", int(position), *steps) if kind in _FINAL:
            output = str(position)
        case _:
            return None
    match steps:
        case ("content" | "summary" as part, int(i), "text" | "refusal" | "arguments" | "input"):
            return output, str(part), str(i)
        case ("arguments" | "input" as part,):
            return output, str(part), "0"
    return None
