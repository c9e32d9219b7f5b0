"""Streams of /chat/completions and /completions: chunks with a list of choices."""

from __future__ import annotations

from typing import Any

from sanitizer.errors import UpstreamError
from sanitizer.wire.answers import Restoration
from sanitizer.wire.channels import Channels, Path
from sanitizer.wire.codec import Literal
from sanitizer.wire.shapes import ERROR

Json = dict[str, Any]

_STREAMED = frozenset(
    [
        "content",
        "refusal",
        "reasoning_content",
        "reasoning",
        "thinking",
        "text",
        "summary",
        "transcript",
        "arguments",
        "input",
    ]
)
_KEPT = frozenset(
    [
        "role",
        "id",
        "type",
        "name",
        "index",
        "finish_reason",
        "logprobs",
        "content_filter_results",
        "signature",
        "thought_signature",
        "data",
        "format",
        "encrypted_content",
    ]
)


class Chunks:
    """Restores chunks.

    A text is known by its choice and its place in it: ("0", "delta", "content"), or, in the second tool call,
    ("0", "delta", "tool_calls", 1, "function", "arguments"). What is held back comes in a chunk of the same shape
    before the chunk with the finish reason, or in that chunk if it goes on with the same text.

    Args:
        restoration: of the conversation.
    """

    def __init__(self, restoration: Restoration) -> None:
        self._restoration = restoration
        self._channels = Channels(restoration, remember=True)
        self._envelope: Json = {}
        self._marks: dict[Path, Json] = {}
        self._last = False

    def event(self, event: Json) -> tuple[list[Json], Json]:
        """Raises UpstreamError: neither choices nor an error are in it."""
        choices = event.get("choices")
        if choices is None and "error" in event:
            return [], self._restoration.document(ERROR, event)
        if not isinstance(choices, list):
            raise UpstreamError("the API sent an event of an unknown type")
        self._envelope = event
        before: list[Json] = []
        restored = [self._choice(choice, before) for choice in choices]
        same = all(new is old for new, old in zip(restored, choices, strict=True))
        return before, event if same else {**event, "choices": restored}

    def flush(self) -> list[Json]:
        """All that is held back."""
        return [self._chunk(path, held) for path, held in self._channels.finish(lambda path: True)]

    def _choice(self, choice: Any, before: list[Json]) -> Any:
        index = choice.get("index", Literal(0)) if isinstance(choice, dict) else None
        if type(index) is not Literal:
            raise UpstreamError("the API sent a choice that cannot be read")
        self._last = choice.get("finish_reason") is not None
        restored = self._restored((index,), "", choice)
        if self._last:
            before += [self._chunk(path, held) for path, held in self._channels.finish(lambda path: path[0] == index)]
        return restored

    def _restored(self, path: Path, key: str, value: Any) -> Any:
        """The value restored; the same object if nothing changed."""
        kind = type(value)
        if key in _KEPT:
            return value
        if kind is str:
            if key not in _STREAMED:
                return self._restoration.texts.text(value)
            return self._channels.feed(path, value, "arguments" if key == "arguments" else "text", self._last)
        if kind is dict:
            inside = {k: self._restored((*path, k), k, v) for k, v in value.items()}
            return inside if any(inside[k] is not v for k, v in value.items()) else value
        if kind is list:
            items = [self._element(path, key, i, inner) for i, inner in enumerate(value)]
            return items if any(new is not old for new, old in zip(items, value, strict=True)) else value
        return value

    def _element(self, path: Path, key: str, position: int, value: Any) -> Any:
        """One of a list: a tool call, a content part. Its place is the index it states."""
        if isinstance(value, dict):
            index = value.get("index")
            place = (*path, int(index) if type(index) is Literal and index.isdecimal() else position)
            if place not in self._marks and len(self._marks) < 10_000:
                self._marks[place] = {k: value[k] for k in ("index", "type") if k in value}
            return self._restored(place, key, value)
        return self._restored((*path, position), key, value)

    def _chunk(self, path: Path, held: str) -> Json:
        """A chunk that goes on with one text."""
        value: Any = held
        for n in range(len(path) - 1, 0, -1):
            step = path[n]
            if isinstance(step, str):
                value = {step: value}
            else:
                value = [{**self._marks.get(path[: n + 1], {}), **value} if isinstance(value, dict) else value]
        envelope = {k: v for k, v in self._envelope.items() if k not in ("choices", "usage")}
        return {**envelope, "choices": [{"index": path[0], **value, "finish_reason": None}]}
