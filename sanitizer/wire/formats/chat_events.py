"""Chunks of a stream of /chat/completions and /completions: each has a list of choices."""

from __future__ import annotations

from typing import Any

from sanitizer.errors import UpstreamError
from sanitizer.wire.answers import Restoration, TextPath
from sanitizer.wire.find_text import ARGUMENTS_ROLE, SpelledNumber
from sanitizer.wire.formats.events import Events, Json
from sanitizer.wire.history import CALL_ROLE
from sanitizer.wire.shapes import (
    ARGUMENTS,
    CHUNK,
    ERROR,
    TEXT,
    JsonShape,
    Media,
    Rule,
)

# Fields whose text comes in pieces; any other text of a chunk is whole.
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


class Chunks(Events):
    """Handler of chunks.

    A text is identified by its choice and its place in it: ("0", "delta", "content"), or, in the
    second tool call, ("0", "delta", "tool_calls", 1, "function", "arguments"). Text held back comes
    in a chunk of the same shape before the chunk with the finish reason, or in that chunk if it
    continues the same text.

    Args:
        restoration: of the answer.
    """

    def __init__(self, restoration: Restoration) -> None:
        super().__init__(restoration)
        self._envelope: Json = {}
        self._marks: dict[TextPath, Json] = {}  # place in a list -> index and type stated there
        self._last = False  # the choice at hand has a finish reason
        self._tools: dict[TextPath, str] = {}  # place of a call -> name of its tool
        self._others: set[str] = set()  # choices that somebody else than the assistant speaks in

    def event(self, event: Json) -> tuple[list[Json], Json]:
        """Restore one chunk, as `Events.event`.

        Raises:
            UpstreamError: it has neither choices nor an error.
        """
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

    def _held(self) -> list[Json]:
        return [self._chunk(path, text) for path, text in self._channels.finish(lambda path: True)]

    def _choice(self, choice: Any, before: list[Json]) -> Any:
        index = choice.get("index", SpelledNumber(0)) if isinstance(choice, dict) else None
        if type(index) is not SpelledNumber:
            raise UpstreamError("the API sent a choice that cannot be read")
        self._last = choice.get("finish_reason") is not None
        delta = choice.get("delta")
        if (
            isinstance(delta, dict)
            and delta.get("role") not in (None, "assistant")
            and len(self._others) < 10_000
        ):
            self._others.add(index)
        restored = self._restored((index,), "", choice, CHUNK)
        if self._last:
            before += [
                self._chunk(path, held)
                for path, held in self._channels.finish(lambda path: path[0] == index)
            ]
        return restored

    def _restored(
        self, path: TextPath, key: str, value: Any, rule: Rule | Media | JsonShape
    ) -> Any:
        """Restore a value where requests sanitize it; return the same object if nothing changed."""
        kind = type(value)
        if kind is str:
            return self._text(
                path, key, value, rule.string if isinstance(rule, JsonShape) else rule
            )
        if kind is dict:
            is_call = isinstance(rule, JsonShape) and rule.is_call
            if is_call and type(name := value.get("name")) is str and len(path) < 10:
                self._tools[path] = name
            fields = rule.fields if isinstance(rule, JsonShape) else {}
            other = TEXT if isinstance(rule, JsonShape) or rule is ARGUMENTS else rule
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
            return (
                items
                if any(new is not old for new, old in zip(items, value, strict=True))
                else value
            )
        return value

    def _text(self, path: TextPath, key: str, text: str, rule: Rule | Media) -> str:
        if rule is not TEXT and rule is not ARGUMENTS:
            return text
        role = _role(path, rule) if path[0] not in self._others else ""
        call = path[:-1]
        tool = self._tools.get(call, "") if rule is ARGUMENTS or call in self._tools else None
        kept = tool is not None and self._restoration.keeps(tool)
        if key not in _STREAMED:
            shown = text if kept else self._restoration.texts.text(text)
            if role and text:
                self._restoration.remember(text, shown, role)
            return shown
        of_message = _is_message(path) and path[0] not in self._others
        is_json = rule is ARGUMENTS or (of_message and self._restoration.in_json)
        kind = "arguments" if is_json else "text"
        if tool is not None and rule is not ARGUMENTS and role:
            role = CALL_ROLE
        return self._channels.feed(path, text, "kept" if kept else kind, self._last, role)

    def _element(
        self, path: TextPath, key: str, position: int, value: Any, rule: Rule | Media | JsonShape
    ) -> Any:
        """Restore one element of a list (a tool call, a content part), placed by its own index."""
        if isinstance(value, dict):
            index = value.get("index")
            place = (
                *path,
                int(index) if type(index) is SpelledNumber and index.isdecimal() else position,
            )
            if place not in self._marks and len(self._marks) < 10_000:
                self._marks[place] = {k: value[k] for k in ("index", "type") if k in value}
            return self._restored(place, key, value, rule)
        return self._restored((*path, position), key, value, rule)

    def _chunk(self, path: TextPath, held: str) -> Json:
        """Return a chunk that continues one text."""
        value: Any = held
        for n in range(len(path) - 1, 0, -1):
            step = path[n]
            if isinstance(step, str):
                value = {step: value}
            else:
                value = [
                    {**self._marks.get(path[: n + 1], {}), **value}
                    if isinstance(value, dict)
                    else value
                ]
        envelope = {k: v for k, v in self._envelope.items() if k not in ("choices", "usage")}
        return {**envelope, "choices": [{"index": path[0], **value, "finish_reason": None}]}


def _role(path: TextPath, rule: Rule | Media) -> str:
    """Return the role in which a text may go back as history."""
    if "delta" not in path:
        return ""
    return ARGUMENTS_ROLE if rule is ARGUMENTS else "assistant"


def _is_message(path: TextPath) -> bool:
    """Return True if a text is the content of a message."""
    match path:
        case (_, "delta", "content") | (_, "delta", "content", int(), "text"):
            return True
    return False
