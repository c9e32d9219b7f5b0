"""Streams of /chat/completions and /completions: chunks with a list of choices.

Streams of /responses: typed events.

Event streams (text/event-stream): bytes in any split -> events -> restored bytes.
"""

from __future__ import annotations

import re
from typing import Any, Protocol

from sanitizer.errors import UpstreamError
from sanitizer.wire.answers import Restoration
from sanitizer.wire.channels import Channels, Path
from sanitizer.wire.find_text import ARGUMENTS_ROLE, Literal, dumps, loads
from sanitizer.wire.shapes import ARGUMENTS, CHUNK, ERROR, EVENT, TEXT, JsonShape, Media, Rule

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

    A text is known by its choice and its place in it: ("0", "delta", "content"), or, in the second
    tool call, ("0", "delta", "tool_calls", 1, "function", "arguments"). What is held back comes in
    a chunk of the same shape before the chunk with the finish reason, or in that chunk if it goes
    on with the same text.

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

    def _restored(self, path: Path, key: str, value: Any, rule: Rule | Media | JsonShape) -> Any:
        """The value restored where requests sanitize it; the same object if nothing changed."""
        kind = type(value)
        if kind is str:
            return self._text(
                path, key, value, rule.string if isinstance(rule, JsonShape) else rule
            )
        if kind is dict:
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

    def _text(self, path: Path, key: str, text: str, rule: Rule | Media) -> str:
        if rule is not TEXT and rule is not ARGUMENTS:
            return text
        if key not in _STREAMED:
            return self._restoration.texts.text(text)
        role = _role(path) if path[0] not in self._others else ""
        is_json = rule is ARGUMENTS or (role == "assistant" and self._restoration.in_json)
        return self._channels.feed(path, text, "arguments" if is_json else "text", self._last, role)

    def _element(
        self, path: Path, key: str, position: int, value: Any, rule: Rule | Media | JsonShape
    ) -> Any:
        """One of a list: a tool call, a content part. Its place is the index it states."""
        if isinstance(value, dict):
            index = value.get("index")
            place = (
                *path,
                int(index) if type(index) is Literal and index.isdecimal() else position,
            )
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
                value = [
                    {**self._marks.get(path[: n + 1], {}), **value}
                    if isinstance(value, dict)
                    else value
                ]
        envelope = {k: v for k, v in self._envelope.items() if k not in ("choices", "usage")}
        return {**envelope, "choices": [{"index": path[0], **value, "finish_reason": None}]}


def _role(path: Path) -> str:
    """In which role a text may go back as history: messages and arguments of calls only."""
    match path:
        case (_, "delta", "content") | (_, "delta", "content", int(), "text"):
            return "assistant"
        case (_, "delta", "function_call", "arguments") | (
            _,
            "delta",
            "tool_calls",
            int(),
            "function",
            "arguments",
        ):
            return ARGUMENTS_ROLE
    return ""


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
_FINAL = frozenset(
    f"response.{name}" for name in ("completed", "failed", "incomplete", "cancelled")
)
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


class EventFeed:
    """Restores events.

    A text is known by the kind of its deltas and its place (item, output, content, summary,
    command). What is held back comes in one more delta before the event that says the text, its
    item or the response is done; events that follow are counted on from there.

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
        self._number = (
            int(number) if type(number) is Literal and number.isdecimal() else self._number
        )
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
        sort = (
            "arguments"
            if name in _ARGUMENTS or (self._restoration.in_json and name == "output_text")
            else "text"
        )
        place = (text, *(str(event.get(key, "")) for key in _PLACE))
        if isinstance(delta, str):
            self._latest[place] = event
            shown: Any = self._channels.feed(place, delta, sort)
        elif isinstance(delta, dict) and all(isinstance(piece, str) for piece in delta.values()):
            self._latest[place] = event
            shown = {
                key: self._channels.feed((*place, key), piece, sort) for key, piece in delta.items()
            }
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
        return (
            {**event, "sequence_number": self._number + self._inserted}
            if "sequence_number" in event
            else event
        )


MAX_EVENT = 8_000_000
"""Bytes of one event; an image that is being generated may come in one."""

_END = re.compile(rb"(?:\r\n?+|\n)(?:\r\n?+|\n)")
_HALVED = (b"\r\n\r", b"\n\r")
_LINE_END = re.compile("\r\n|\n|\r")
_BOM = b"\xef\xbb\xbf"


class Handler(Protocol):
    """What restores the events of one endpoint."""

    def event(self, event: dict[str, Any]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        """EventFeed to be put before this one, and this one restored: the same object if nothing
        changed.
        """

    def flush(self) -> list[dict[str, Any]]:
        """EventFeed for all that is held back: nothing more comes."""


class Frames:
    """Cuts a stream of bytes into events, each with its blank line. Line ends are CRLF, LF or CR."""

    def __init__(self) -> None:
        self._buffer, self._seen, self._begun = bytearray(), 0, False

    def feed(self, data: bytes) -> list[bytes]:
        """The events that are complete now.

        Raises:
            UpstreamError: an event is longer than MAX_EVENT.
        """
        self._buffer += data
        if not self._begun and len(self._buffer) >= len(_BOM):
            self._begun = True
            if self._buffer.startswith(_BOM):
                del self._buffer[: len(_BOM)]
        events = []
        done = 0
        while (end := _END.search(self._buffer, self._seen)) is not None:
            if end[0] in _HALVED and end.end() == len(self._buffer):
                break  # the other half of its last CRLF is to come
            events.append(bytes(self._buffer[done : end.end()]))
            done = self._seen = end.end()
        del self._buffer[:done]
        self._seen = max(len(self._buffer) - 3, 0)
        if len(self._buffer) > MAX_EVENT:
            raise UpstreamError("the API sent an event that is too long")
        return events

    def finish(self) -> bytes:
        """What is left without a blank line after it."""
        return bytes(self._buffer)


class EventStream:
    """The restored events of one answer. Comments and fields other than data stay as they are.

    Holds back only what may become a released value; it comes in an event of the same shape before
    the one that says the text is done. So the deltas put together are the restored text, however
    the stream is cut.

    Args:
        endpoint: whose events. restoration: of the conversation.
    """

    def __init__(self, endpoint: str, restoration: Restoration) -> None:
        self._frames, self._named = Frames(), endpoint == "responses"
        self._handler: Handler = EventFeed(restoration) if self._named else Chunks(restoration)

    def feed(self, data: bytes) -> bytes:
        """What can be passed on once these bytes have come.

        Raises:
            UpstreamError: an unknown type of event, or one that cannot be read. Close the stream
                then.
        """
        return b"".join([self._block(block) for block in self._frames.feed(data)])

    def finish(self) -> bytes:
        """The rest: the stream has ended.

        Raises:
            UpstreamError: inside an event.
        """
        rest = self._frames.finish()
        if rest.strip() in (b"data: [DONE]", b"data:[DONE]"):
            return self._block(rest)  # some servers leave out the blank line after the last event
        if rest.strip():
            raise UpstreamError("the API's stream ended inside an event")
        return self._synthesized(self._handler.flush())

    def _block(self, block: bytes) -> bytes:
        try:
            text = block.decode()
        except UnicodeDecodeError:
            raise UpstreamError("the API sent an event that is not UTF-8") from None
        lines = [
            line for line in (_LINE_END.split(text) if "\r" in text else text.split("\n")) if line
        ]
        values = [line[5:].removeprefix(" ") for line in lines if line.startswith("data:")]
        data = "\n".join(values)
        if not data:
            return block
        if data == "[DONE]":
            return self._synthesized(self._handler.flush()) + block
        event = _parsed(data)
        before, restored = self._handler.event(event)
        if restored is event:
            return self._synthesized(before) + block if before else block
        head = "".join([line + "\n" for line in lines if not line.startswith("data:")])
        return b"%b%bdata: %b\n\n" % (self._synthesized(before), head.encode(), dumps(restored))

    def _synthesized(self, events: list[dict[str, Any]]) -> bytes:
        heads = [f"event: {event['type']}\n".encode() if self._named else b"" for event in events]
        return b"".join(
            [
                head + b"data: " + dumps(event) + b"\n\n"
                for head, event in zip(heads, events, strict=True)
            ]
        )


def _parsed(data: str) -> dict[str, Any]:
    try:
        event = loads(data, strict=False)
    except ValueError:
        event = None
    if not isinstance(event, dict):
        raise UpstreamError("the API sent an event that is not a JSON object")
    return event
