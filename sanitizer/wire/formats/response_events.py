"""Events of a stream of /responses: typed, with deltas of one text each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sanitizer.errors import UpstreamError
from sanitizer.wire.answers import Restoration, Stamp, alike
from sanitizer.wire.formats.events import Events, Json
from sanitizer.wire.history import CALL_ROLE, Note
from sanitizer.wire.json_text import SpelledNumber, TextPath, TextSlot
from sanitizer.wire.shapes import shapes
from sanitizer.wire.walker import ARGUMENTS_ROLE

_INPUTS = ("custom_tool_call_input", "shell_call_command", "code_interpreter_call_code")
_ARGUMENTS = ("function_call_arguments", "mcp_call_arguments", "mcp_call.arguments")
_TO_TOOLS = frozenset([*_INPUTS, *_ARGUMENTS])
_TEXTS = frozenset(f"response.{name}" for name in (
    *_ARGUMENTS,
    "output_text",
    "refusal",
    "reasoning",
    "reasoning_text",
    "reasoning_summary",
    "reasoning_summary_text",
    "code_interpreter_call_code",
    "code_interpreter_call.code",
    "custom_tool_call_input",
    "shell_call_command",
    "shell_call_output_content",
    "apply_patch_call_operation_diff",
    "audio.transcript",
    "audio_transcript",
))  # fmt: skip
_FINAL = frozenset(
    f"response.{name}" for name in ("completed", "failed", "incomplete", "cancelled")
)
# Events that hold the whole response, so far.
_STATES = _FINAL | {"response.created", "response.queued", "response.in_progress"}
_HOSTED = {
    "file_search_call": "in_progress searching completed failed",
    "web_search_call": "in_progress searching completed failed",
    "code_interpreter_call": "in_progress interpreting completed failed",
    "image_generation_call": "in_progress generating partial_image completed failed",
    "mcp_call": "in_progress completed failed",
    "mcp_list_tools": "in_progress completed failed",
    "compaction": "compacting",
    "steer": "accepted pending failed",
}
_WHOLE = frozenset({
    "error",
    "keepalive",
    "response.audio.delta",
    "response.audio.done",
    "response.shell_call_command.added",
    "response.output_text.annotation.added",
    *(f"response.{part}.{end}" for part in ("output_item", "content_part", "reasoning_summary_part")
      for end in ("added", "done")),
    *(f"response.{tool}.{step}" for tool, steps in _HOSTED.items() for step in steps.split()),
    *(f"{text}.done" for text in _TEXTS),
    *_STATES,
})  # fmt: skip
_DELTAS = {f"{text}.delta": text for text in _TEXTS}
KNOWN = _WHOLE | frozenset(_DELTAS)
"""Types of events that are let through."""
_PLACE = ("output_index", "content_index", "summary_index", "command_index")
# Deltas whose text is in a field of its item: part of the item, and field of its place there.
_FIELDS = {
    "output_text": ("content", "content_index"),
    "refusal": ("content", "content_index"),
    "reasoning_text": ("content", "content_index"),
    "reasoning_summary_text": ("summary", "summary_index"),
    "function_call_arguments": ("arguments", ""),
    "mcp_call_arguments": ("arguments", ""),
    "mcp_call.arguments": ("arguments", ""),
    "custom_tool_call_input": ("input", ""),
}
_PARTS = {
    "content_part": ("content", "content_index"),
    "reasoning_summary_part": ("summary", "summary_index"),
}
"""Events of parts: part of the item, and field of its place there."""
_MAIN = frozenset(["output_text", "custom_tool_call_input", *_ARGUMENTS])
"""Deltas of texts that applications send back; the others stand aside."""


_Address = tuple[str, str, str]
"""Place of a text in a response: its output, the field of that, and the part."""


class EventFeed(Events):
    """Handler of typed events.

    A text is identified by the kind of its deltas and its place (output, content, summary,
    command). Text held back comes in one more delta before the event that says the text, its item
    or the response is done; later events are renumbered. Applications read a text from its deltas,
    from the event that ends it, from its item or from the response: where a later one says
    something else, what was said first takes its place, so that all read the same.

    Args:
        restoration: of the answer.
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
        self._number = (
            int(number) if type(number) is SpelledNumber and number.isdecimal() else self._number
        )
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
            )
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

    def _held(self) -> list[Json]:
        return self._finished(())

    def _delta(self, text: str, event: Json) -> Json:
        delta, name = event.get("delta"), text.removeprefix("response.")
        kind = (
            "arguments"
            if name in _ARGUMENTS or (self._asked.in_json and name == "output_text")
            else "text"
        )
        if name in _TO_TOOLS and self._restoration.keeps(self._tool(event)):
            kind = "kept"
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
            shown: Any = self._channels.feed(place, delta, kind, note=note)
        elif isinstance(delta, dict) and all(isinstance(piece, str) for piece in delta.values()):
            self._latest[place] = event
            shown = {
                key: self._channels.feed((*place, key), piece, kind, note=note)
                for key, piece in delta.items()
            }
        else:
            raise UpstreamError("the API sent a delta that cannot be read")
        return event if shown == delta else {**event, "delta": shown}

    def _note(self, name: str, place: Sequence[str]) -> Note:
        """Return how the text of some deltas is noted."""
        at = tuple(int(each) for each in place[1:])
        role = "assistant"
        if name in _TO_TOOLS:
            role = ARGUMENTS_ROLE if name in _ARGUMENTS else CALL_ROLE
        aside = "" if name in _MAIN else name
        aside = "thought" if name.startswith("reasoning") else aside
        return Note("", "", role, aside, "deltas", at=at)

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
            return self._finished((text, *(_index(event, key) for key in _PLACE)))
        if kind == "response.output_item.done":
            return self._finished(("", _index(event, "output_index")))
        return self._finished(()) if kind in _FINAL or kind == "error" else []

    def _finished(self, place: TextPath) -> list[Json]:
        """End the texts whose path begins with this place; "" means any kind of text."""
        n = len(place)

        def inside(path: TextPath) -> bool:
            return path[1:n] == place[1:] and (not place or place[0] in ("", path[0]))

        events = [self._delta_of(path, text) for path, text in self._channels.finish(inside)]
        for path in [path for path in self._latest if inside(path)]:
            del self._latest[path]
        return events

    def _delta_of(self, path: TextPath, held: str) -> Json:
        """Return one more delta, in the form of the text's latest."""
        n = 1 + len(_PLACE)
        event = {k: v for k, v in self._latest[path[:n]].items() if k != "obfuscation"}
        if "logprobs" in event:
            event["logprobs"] = []
        event = self._counted({**event, "delta": {path[n]: held} if len(path) > n else held})
        self._inserted += 1
        return event

    def _counted(self, event: Json) -> Json:
        """Return the event with a number that counts the events put in before it."""
        return (
            {**event, "sequence_number": self._number + self._inserted}
            if "sequence_number" in event
            else event
        )


def _index(event: Json, key: str) -> str:
    """Return where an event's text stands; "0" if that is not said."""
    index = event.get(key)
    if index is None:
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
