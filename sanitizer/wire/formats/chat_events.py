"""Chunks of a stream of /chat/completions and /completions: each has a list of choices."""

from __future__ import annotations

from typing import Any

from sanitizer.errors import UpstreamError
from sanitizer.wire.answers import Restoration, TextPath
from sanitizer.wire.find_text import ARGUMENTS_ROLE, SpelledNumber
from sanitizer.wire.formats.events import Events, Json
from sanitizer.wire.history import CALL_ROLE, Note
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


_MAX_INDEX = 1_000_000


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
        self._choices: set[str] = set()
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
        if type(index) is not SpelledNumber or not index.isdecimal():
            raise UpstreamError("the API sent a choice that cannot be read")
        self._choices.add(index)
        # Applications that asked for one answer read all chunks as of one.
        if len(self._choices) > (self._restoration.n_choices or len(self._choices)):
            raise UpstreamError("the API sent more choices than were asked for")
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
                self._restoration.remember(Note(text, shown, role, _aside(path), "", int(path[0])))
            return shown
        of_message = _is_message(path) and path[0] not in self._others
        is_json = rule is ARGUMENTS or (of_message and self._restoration.in_json)
        kind = "arguments" if is_json else "text"
        if tool is not None and rule is not ARGUMENTS and role:
            role = CALL_ROLE
        note = Note("", "", role, _aside(path), "", int(path[0]))
        return self._channels.feed(path, text, "kept" if kept else kind, self._last, note)

    def _element(
        self, path: TextPath, key: str, position: int, value: Any, rule: Rule | Media | JsonShape
    ) -> Any:
        """Restore one element of a list (a tool call, a content part), placed by its own index."""
        if isinstance(value, dict):
            place = (*path, self._place(path, key, position, value))
            if place not in self._marks and len(self._marks) < 10_000:
                self._marks[place] = {k: value[k] for k in ("index", "type") if k in value}
            return self._restored(place, key, value, rule)
        return self._restored((*path, position), key, value, rule)

    def _place(self, path: TextPath, key: str, position: int, value: Json) -> int:
        """Return the place of an element of a list.

        Applications list calls by index or as they come: both are one order, or it is an error.
        Some APIs give all calls of an answer one index: one with a name and an id of its own is
        another one.
        """
        index = value.get("index")
        if index is None or (key != "tool_calls" and type(index) is not SpelledNumber):
            index = SpelledNumber(position)
        if type(index) is not SpelledNumber or not index.isdecimal():
            raise UpstreamError("the API sent a part of an answer that cannot be read")
        place = min(int(index[:9]), _MAX_INDEX)
        if key != "tool_calls":
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
