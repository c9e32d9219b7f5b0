"""Events of a stream of /responses: typed, with deltas of one text each."""

from __future__ import annotations

from typing import Any

from sanitizer.errors import UpstreamError
from sanitizer.wire.answers import Restoration, Stamp, TextPath
from sanitizer.wire.find_text import SpelledNumber
from sanitizer.wire.formats.events import Events, Json
from sanitizer.wire.shapes import (
    ERROR,
    EVENT,
)

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
_PLACE = ("output_index", "item_id", "content_index", "summary_index", "command_index")
_REMEMBERED = _FINAL | {"response.output_item.done"}


class EventFeed(Events):
    """Handler of typed events.

    A text is identified by the kind of its deltas and its place (item, output, content, summary,
    command). Text held back comes in one more delta before the event that says the text, its item
    or the response is done; later events are renumbered.

    Args:
        restoration: of the answer.
    """

    def __init__(self, restoration: Restoration) -> None:
        super().__init__(restoration)
        self._latest: dict[TextPath, Json] = {}
        self._tools: dict[str, str] = {}  # place of a call -> name of its tool
        self._number = 0
        self._inserted = 0

    def event(self, event: Json) -> tuple[list[Json], Json]:
        """Restore one event, as `Events.event`.

        Raises:
            UpstreamError: its type is not in KNOWN.
        """
        kind = event.get("type")
        if kind is None and "error" in event:
            return [], self._restoration.document(ERROR, event)
        if not isinstance(kind, str) or kind not in KNOWN:
            raise UpstreamError("the API sent an event of an unknown type")
        number = event.get("sequence_number")
        self._number = (
            int(number) if type(number) is SpelledNumber and number.isdecimal() else self._number
        )
        item = event.get("item")
        if isinstance(item, dict) and isinstance(item.get("name"), str):
            self._tools[str(event.get("output_index", ""))] = item["name"]
        if (text := _DELTAS.get(kind)) is not None:
            before, restored = [], self._delta(text, event)
        else:
            before = self._due(kind, event)
            name = kind.removeprefix("response.").removesuffix(".done")
            restored = self._restoration.document(
                EVENT,
                event,
                remember=kind in _REMEMBERED,
                whole=kind in _FINAL,
                tool=self._tool(event) if name in _TO_TOOLS else None,
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
            if name in _ARGUMENTS or (self._restoration.in_json and name == "output_text")
            else "text"
        )
        if name in _TO_TOOLS and self._restoration.keeps(self._tool(event)):
            kind = "kept"
        place = (text, *(str(event.get(key, "")) for key in _PLACE))
        if isinstance(delta, str):
            self._latest[place] = event
            shown: Any = self._channels.feed(place, delta, kind)
        elif isinstance(delta, dict) and all(isinstance(piece, str) for piece in delta.values()):
            self._latest[place] = event
            shown = {
                key: self._channels.feed((*place, key), piece, kind) for key, piece in delta.items()
            }
        else:
            raise UpstreamError("the API sent a delta that cannot be read")
        return event if shown == delta else {**event, "delta": shown}

    def _tool(self, event: Json) -> str:
        """Return the name of the tool that an event's text goes to; "" if it is not known."""
        return self._tools.get(str(event.get("output_index", "")), "")

    def _due(self, kind: str, event: Json) -> list[Json]:
        """Return the deltas that have to come before this event."""
        if kind.endswith(".done") and (text := kind.removesuffix(".done")) in _TEXTS:
            return self._finished((text, *(str(event.get(key, "")) for key in _PLACE)))
        if kind == "response.output_item.done":
            return self._finished(("", str(event.get("output_index", ""))))
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
