"""Streams of /chat/completions and /completions: chunks with a list of choices."""

from __future__ import annotations

from typing import Any

from sanitizer.errors import UpstreamError
from sanitizer.wire.answers import Restoration
from sanitizer.wire.channels import Channels, Path
from sanitizer.wire.codec import Literal
from sanitizer.wire.shapes import ARGUMENTS, CHUNK, ERROR, TEXT, Media, Rule, Shape
from sanitizer.wire.walk import ARGUMENTS_ROLE

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
        self._channels = Channels(restoration)
        self._envelope: Json = {}
        self._marks: dict[Path, Json] = {}
        self._last = False
        self._others: set[str] = set()

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
        held = [self._chunk(path, text) for path, text in self._channels.finish(lambda path: True)]
        self._restoration.settle()
        return held

    def _choice(self, choice: Any, before: list[Json]) -> Any:
        index = choice.get("index", Literal(0)) if isinstance(choice, dict) else None
        if type(index) is not Literal:
            raise UpstreamError("the API sent a choice that cannot be read")
        self._last = choice.get("finish_reason") is not None
        delta = choice.get("delta")
        if isinstance(delta, dict) and delta.get("role") not in (None, "assistant") and len(self._others) < 10_000:
            self._others.add(index)
        restored = self._restored((index,), "", choice, CHUNK)
        if self._last:
            before += [self._chunk(path, held) for path, held in self._channels.finish(lambda path: path[0] == index)]
        return restored

    def _restored(self, path: Path, key: str, value: Any, rule: Rule | Media | Shape) -> Any:
        """The value restored where requests sanitize it; the same object if nothing changed."""
        kind = type(value)
        if kind is str:
            return self._text(path, key, value, rule.string if isinstance(rule, Shape) else rule)
        if kind is dict:
            fields = rule.fields if isinstance(rule, Shape) else {}
            other = TEXT if isinstance(rule, Shape) or rule is ARGUMENTS else rule
            inside = value
            for k, v in value.items():
                if type(v) is not str and type(v) is not dict and type(v) is not list:
                    continue
                if (new := self._restored((*path, k), k, v, fields.get(k, other))) is not v:
                    inside = dict(value) if inside is value else inside
                    inside[k] = new
            return inside
        if kind is list:
            items = [self._element(path, key, i, inner, rule) for i, inner in enumerate(value)]
            return items if any(new is not old for new, old in zip(items, value, strict=True)) else value
        return value

    def _text(self, path: Path, key: str, text: str, rule: Rule | Media) -> str:
        if rule is not TEXT and rule is not ARGUMENTS:
            return text
        if key not in _STREAMED:
            return self._restoration.texts.text(text)
        role = _role(path) if path[0] not in self._others else ""
        is_json = rule is ARGUMENTS or (role == "assistant" and self._restoration.in_json)
        return self._channels.feed(path, text, "arguments" if is_json else "text", self._last, role)

    def _element(self, path: Path, key: str, position: int, value: Any, rule: Rule | Media | Shape) -> Any:
        """One of a list: a tool call, a content part. Its place is the index it states."""
        if isinstance(value, dict):
            index = value.get("index")
            place = (*path, int(index) if type(index) is Literal and index.isdecimal() else position)
            if place not in self._marks and len(self._marks) < 10_000:
                self._marks[place] = {k: value[k] for k in ("index", "type") if k in value}
            return self._restored(place, key, value, rule)
        return self._restored((*path, position), key, value, rule)

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


def _role(path: Path) -> str:
    """In which role a text may go back as history: messages and arguments of calls only."""
    match path:
        case (_, "delta", "content") | (_, "delta", "content", int(), "text"):
            return "assistant"
        case (_, "delta", "function_call", "arguments") | (_, "delta", "tool_calls", int(), "function", "arguments"):
            return ARGUMENTS_ROLE
    return ""
