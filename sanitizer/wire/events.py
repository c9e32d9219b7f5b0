"""Streams of /responses: typed events."""

from __future__ import annotations

from typing import Any

from sanitizer.errors import UpstreamError
from sanitizer.wire.answers import Restoration
from sanitizer.wire.channels import Channels, Path
from sanitizer.wire.codec import Literal
from sanitizer.wire.shapes import ERROR, EVENT

Json = dict[str, Any]

_ARGUMENTS = ("function_call_arguments", "mcp_call_arguments", "mcp_call.arguments")
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
_FINAL = frozenset(f"response.{name}" for name in ("completed", "failed", "incomplete", "cancelled"))
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
    *(f"response.{name}" for name in ("created", "queued", "in_progress")),
    *(f"response.{part}.{end}" for part in ("output_item", "content_part", "reasoning_summary_part")
      for end in ("added", "done")),
    *(f"response.{tool}.{step}" for tool, steps in _HOSTED.items() for step in steps.split()),
    *(f"{text}.done" for text in _TEXTS),
    *_FINAL,
})  # fmt: skip
_DELTAS = {f"{text}.delta": text for text in _TEXTS}
KNOWN = _WHOLE | frozenset(_DELTAS)
"""Every type of event that is let through."""

_PLACE = ("output_index", "item_id", "content_index", "summary_index", "command_index")
_REMEMBERED = _FINAL | {"response.output_item.done"}


class Events:
    """Restores events.

    A text is known by the kind of its deltas and its place (item, output, content, summary, command). What is held
    back comes in one more delta before the event that says the text, its item or the response is done; events that
    follow are counted on from there.

    Args:
        restoration: of the conversation.
    """

    def __init__(self, restoration: Restoration) -> None:
        self._restoration = restoration
        self._channels = Channels(restoration)
        self._latest: dict[Path, Json] = {}
        self._number = self._inserted = 0

    def event(self, event: Json) -> tuple[list[Json], Json]:
        """Raises UpstreamError: of a type that is not known here."""
        kind = event.get("type")
        if kind is None and "error" in event:
            return [], self._restoration.document(ERROR, event)
        if not isinstance(kind, str) or kind not in KNOWN:
            raise UpstreamError("the API sent an event of an unknown type")
        number = event.get("sequence_number")
        self._number = int(number) if type(number) is Literal and number.isdecimal() else self._number
        if (text := _DELTAS.get(kind)) is not None:
            before, restored = [], self._delta(text, event)
        else:
            before = self._due(kind, event)
            restored = self._restoration.document(EVENT, event, remember=kind in _REMEMBERED)
        if kind in _FINAL:
            self._restoration.settle()
        return before, self._counted(restored) if self._inserted else restored

    def flush(self) -> list[Json]:
        """All that is held back."""
        self._number += 1
        return self._finished(())

    def _delta(self, text: str, event: Json) -> Json:
        delta, name = event.get("delta"), text.removeprefix("response.")
        sort = "arguments" if name in _ARGUMENTS or (self._restoration.in_json and name == "output_text") else "text"
        place = (text, *(str(event.get(key, "")) for key in _PLACE))
        if isinstance(delta, str):
            self._latest[place] = event
            shown: Any = self._channels.feed(place, delta, sort)
        elif isinstance(delta, dict) and all(isinstance(piece, str) for piece in delta.values()):
            self._latest[place] = event
            shown = {key: self._channels.feed((*place, key), piece, sort) for key, piece in delta.items()}
        else:
            raise UpstreamError("the API sent a delta that cannot be read")
        return event if shown == delta else {**event, "delta": shown}

    def _due(self, kind: str, event: Json) -> list[Json]:
        """Deltas that have to come before this event."""
        if kind.endswith(".done") and (text := kind.removesuffix(".done")) in _TEXTS:
            return self._finished((text, *(str(event.get(key, "")) for key in _PLACE)))
        if kind == "response.output_item.done":
            return self._finished(("", str(event.get("output_index", ""))))
        return self._finished(()) if kind in _FINAL or kind == "error" else []

    def _finished(self, place: Path) -> list[Json]:
        """Close the texts whose path begins with this place; "" stands for any kind of text."""
        n = len(place)

        def inside(path: Path) -> bool:
            return path[1:n] == place[1:] and (not place or place[0] in ("", path[0]))

        events = [self._held(path, text) for path, text in self._channels.finish(inside)]
        for path in [path for path in self._latest if inside(path)]:
            del self._latest[path]
        return events

    def _held(self, path: Path, held: str) -> Json:
        """One more delta, in the form of the text's last."""
        n = 1 + len(_PLACE)
        event = {k: v for k, v in self._latest[path[:n]].items() if k != "obfuscation"}
        if "logprobs" in event:
            event["logprobs"] = []
        event = self._counted({**event, "delta": {path[n]: held} if len(path) > n else held})
        self._inserted += 1
        return event

    def _counted(self, event: Json) -> Json:
        """Numbered as the event in hand is, after those that were put in."""
        return {**event, "sequence_number": self._number + self._inserted} if "sequence_number" in event else event
