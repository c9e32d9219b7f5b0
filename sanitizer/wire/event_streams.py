"""Event streams (text/event-stream): bytes, however they are split, to events to restored bytes.

/chat/completions and /completions send chunks with a list of choices (`Chunks`), /responses sends
typed events (`EventFeed`), and so does /messages (`MessageEvents`). Gemini sends answers
(`GeminiEvents`), and so does Ollama, one a line (`LineStream`).

Events are cut here, not by a library, because an unchanged event has to pass byte for byte and no
event may grow without bound.
"""

from __future__ import annotations

import re
from typing import Any, Protocol

from sanitizer.errors import UpstreamError
from sanitizer.wire.answers import Channels, Restoration, Stamp, TextPath
from sanitizer.wire.find_text import ARGUMENTS_ROLE, SpelledNumber, dumps, loads
from sanitizer.wire.formats import ollama
from sanitizer.wire.formats.gemini_events import GeminiEvents
from sanitizer.wire.formats.message_events import MessageEvents
from sanitizer.wire.formats.ollama_events import OllamaEvents
from sanitizer.wire.history import CALL_ROLE
from sanitizer.wire.shapes import (
    ARGUMENTS,
    CHUNK,
    ERROR,
    EVENT,
    TEXT,
    JsonShape,
    Media,
    Rule,
)

Json = dict[str, Any]

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


class Chunks:
    """Handler of chunks.

    A text is identified by its choice and its place in it: ("0", "delta", "content"), or, in the
    second tool call, ("0", "delta", "tool_calls", 1, "function", "arguments"). Text held back comes
    in a chunk of the same shape before the chunk with the finish reason, or in that chunk if it
    continues the same text.

    Args:
        restoration: of the answer.
    """

    def __init__(self, restoration: Restoration) -> None:
        self._restoration = restoration
        self._channels = Channels(restoration)
        self._envelope: Json = {}
        self._marks: dict[TextPath, Json] = {}  # place in a list -> index and type stated there
        self._last = False  # the choice at hand has a finish reason
        self._tools: dict[TextPath, str] = {}  # place of a call -> name of its tool
        self._others: set[str] = set()  # choices that somebody else than the assistant speaks in
        self._is_stamped = False

    def event(self, event: Json) -> tuple[list[Json], Json]:
        """Restore one chunk, as `Handler.event`.

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

    def flush(self) -> list[Json]:
        """Return chunks for all text held back, as `Handler.flush`."""
        held = [self._chunk(path, text) for path, text in self._channels.finish(lambda path: True)]
        self._restoration.settle()
        return held

    def stamped(self, event: Json, stamp: Stamp) -> Json:
        """Stamp the first chunk, as `Handler.stamped`; the others belong to the same answer."""
        if self._is_stamped or "error" in event:
            return event
        self._is_stamped = True
        return stamp(event)

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


class EventFeed:
    """Handler of typed events.

    A text is identified by the kind of its deltas and its place (item, output, content, summary,
    command). Text held back comes in one more delta before the event that says the text, its item
    or the response is done; later events are renumbered.

    Args:
        restoration: of the answer.
    """

    def __init__(self, restoration: Restoration) -> None:
        self._restoration = restoration
        self._channels = Channels(restoration)
        self._latest: dict[TextPath, Json] = {}
        self._tools: dict[str, str] = {}  # place of a call -> name of its tool
        self._number = 0
        self._inserted = 0

    def event(self, event: Json) -> tuple[list[Json], Json]:
        """Restore one event, as `Handler.event`.

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
        """Return deltas for all text held back, as `Handler.flush`."""
        self._number += 1
        return self._finished(())

    def stamped(self, event: Json, stamp: Stamp) -> Json:
        """Stamp the response in an event that holds it, as `Handler.stamped`."""
        response = event.get("response")
        if event.get("type") not in _STATES or not isinstance(response, dict):
            return event
        return {**event, "response": stamp(response)}

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

        events = [self._held(path, text) for path, text in self._channels.finish(inside)]
        for path in [path for path in self._latest if inside(path)]:
            del self._latest[path]
        return events

    def _held(self, path: TextPath, held: str) -> Json:
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


MAX_EVENT = 8_000_000
"""Longest event, in bytes; an image that is being generated may come in one."""

_END = re.compile(rb"(?:\r\n?+|\n)(?:\r\n?+|\n)")
_HALVED = (b"\r\n\r", b"\n\r")
_LINE_END = re.compile("\r\n|\n|\r")
_BOM = b"\xef\xbb\xbf"


class Handler(Protocol):
    """What restores the events of one endpoint."""

    def event(self, event: Json) -> tuple[list[Json], Json]:
        """Restore one event; return the events to put before it, and the event itself.

        The event is the same object if nothing changed.
        """

    def flush(self) -> list[Json]:
        """End the stream; return events for all text held back."""

    def stamped(self, event: Json, stamp: Stamp) -> Json:
        """Stamp the answer's object in an event that is to be passed on, if it holds one.

        Returns a copy; the same object if it holds none.
        """


class Frames:
    """Cutter of a byte stream into events, each with its blank line. Lines end in CRLF, LF or CR.

    >>> frames = Frames()
    >>> frames.feed(b"data: 1\\n\\ndata:")
    [b'data: 1\\n\\n']
    >>> frames.finish()
    b'data:'
    """

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._seen = 0
        self._begun = False

    def feed(self, data: bytes) -> list[bytes]:
        """Feed some bytes; return the events that are complete now.

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
                break  # the second half of its last CRLF may be still to come
            events.append(bytes(self._buffer[done : end.end()]))
            done = self._seen = end.end()
        del self._buffer[:done]
        self._seen = max(len(self._buffer) - 3, 0)
        if len(self._buffer) > MAX_EVENT:
            raise UpstreamError("the API sent an event that is too long")
        return events

    def finish(self) -> bytes:
        """End the stream; return the bytes that no blank line ended."""
        return bytes(self._buffer)


_SETTLING = re.compile(
    rb"\[DONE\]|content_block_stop|message_stop|response\.(?:completed|failed|incomplete|cancelled)"
)


def may_settle(data: bytes) -> bool:
    """Return True if bytes of a stream end an answer, so that feeding them writes to the vault.

    An end that is cut in two by two pieces is missed.

    >>> may_settle(b"data: [DONE]\\n\\n"), may_settle(b"data: {}\\n\\n")
    (True, False)
    """
    return _SETTLING.search(data) is not None


class Lines:
    """Cutter of a byte stream into lines of JSON, each with its end.

    >>> lines = Lines()
    >>> lines.feed(b'{"done":')
    []
    >>> lines.feed(b'true}\\n')
    [b'{"done":true}\\n']
    """

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> list[bytes]:
        """Feed some bytes; return the lines that are complete now.

        Raises:
            UpstreamError: a line is longer than MAX_EVENT.
        """
        *lines, rest = data.split(b"\n")
        self._buffer += lines[0] if lines else rest
        if len(self._buffer) > MAX_EVENT:
            raise UpstreamError("the API sent a line that is too long")
        if not lines:
            return []
        found = [bytes(self._buffer), *lines[1:]]
        self._buffer = bytearray(rest)
        return [line + b"\n" for line in found]

    def finish(self) -> bytes:
        """End the stream; return the bytes that no end of a line followed."""
        return bytes(self._buffer)


class LineStream:
    """The restored lines of one answer of Ollama; otherwise as `EventStream`.

    Args:
        endpoint: endpoint that answers.
        restoration: of the answer.
        stamp: applied to the first line.
    """

    def __init__(self, endpoint: str, restoration: Restoration, stamp: Stamp | None = None) -> None:
        self._lines = Lines()
        self._handler: Handler = OllamaEvents(endpoint, restoration)
        self._stamp = stamp

    def feed(self, data: bytes) -> bytes:
        """Feed some bytes; return those that can be passed on now.

        Raises:
            UpstreamError: a line cannot be read. Close the stream then.
        """
        return b"".join([self._line(line) for line in self._lines.feed(data)])

    def finish(self) -> bytes:
        """End the stream; return the bytes still held back.

        Raises:
            UpstreamError: the stream ended inside a line.
        """
        rest = self._lines.finish()
        try:
            last = self._line(rest)  # the end of the last line may be left out
        except UpstreamError:
            raise UpstreamError("the API's stream ended inside a line") from None
        held = b"".join([self._written(line) for line in self._handler.flush()])
        return last + b"\n" + held if last and held else last + held

    def _line(self, line: bytes) -> bytes:
        if not line.strip():
            return line
        try:
            event = _parsed(line.decode())
        except UnicodeDecodeError:
            raise UpstreamError("the API sent a line that is not UTF-8") from None
        before, restored = self._handler.event(event)
        inserted = b"".join([self._written(each) for each in before])
        stamped = self._handler.stamped(restored, self._stamp) if self._stamp else restored
        return inserted + (line if stamped is event else dumps(stamped) + b"\n")

    def _written(self, event: Json) -> bytes:
        return dumps(self._handler.stamped(event, self._stamp) if self._stamp else event) + b"\n"


def restored_stream(
    endpoint: str, restoration: Restoration, stamp: Stamp | None = None
) -> EventStream | LineStream:
    """Return what restores the stream of an endpoint."""
    kind = LineStream if endpoint in ollama.REQUESTS else EventStream
    return kind(endpoint, restoration, stamp)


class EventStream:
    """The restored events of one answer. Comments and fields other than data stay as they are.

    Holds back only what may become a released value; it comes in an event of the same shape before
    the one that says the text is done. So the concatenated deltas are the restored text, however
    the stream is cut.

    Args:
        endpoint: endpoint that answers.
        restoration: of the answer.
        stamp: applied to the first chunk of /chat/completions and /completions, to every response
            inside an event of /responses, and to the message in an event of /messages.
    """

    def __init__(self, endpoint: str, restoration: Restoration, stamp: Stamp | None = None) -> None:
        self._frames = Frames()
        self._named = endpoint in ("responses", "messages")
        of_endpoint: dict[str, Any] = {
            "responses": EventFeed,
            "messages": MessageEvents,
            "streamGenerateContent": GeminiEvents,
        }
        self._handler: Handler = of_endpoint.get(endpoint, Chunks)(restoration)
        self._stamp = stamp

    def feed(self, data: bytes) -> bytes:
        """Feed some bytes; return those that can be passed on now.

        Raises:
            UpstreamError: an unknown type of event, or one that cannot be read. Close the stream
                then.
        """
        return b"".join([self._block(block) for block in self._frames.feed(data)])

    def finish(self) -> bytes:
        """End the stream; return the bytes still held back.

        Raises:
            UpstreamError: the stream ended inside an event.
        """
        rest = self._frames.finish()
        if rest.strip() in (b"data: [DONE]", b"data:[DONE]"):
            return self._block(rest)  # some servers leave out the blank line after the last event
        if rest.strip():
            raise UpstreamError("the API's stream ended inside an event")
        return self._inserted(self._handler.flush())

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
            return self._inserted(self._handler.flush()) + block
        event = _parsed(data)
        before, restored = self._handler.event(event)
        inserted = self._inserted(before) if before else b""
        restored = self._stamped(restored)
        if restored is event:
            return inserted + block
        head = "".join([line + "\n" for line in lines if not line.startswith("data:")])
        return b"%b%bdata: %b\n\n" % (inserted, head.encode(), dumps(restored))

    def _stamped(self, event: Json) -> Json:
        return event if self._stamp is None else self._handler.stamped(event, self._stamp)

    def _inserted(self, events: list[Json]) -> bytes:
        """Write events that the API did not send."""
        heads = [f"event: {event['type']}\n".encode() if self._named else b"" for event in events]
        return b"".join(
            [
                head + b"data: " + dumps(self._stamped(event)) + b"\n\n"
                for head, event in zip(heads, events, strict=True)
            ]
        )


def _parsed(data: str) -> Json:
    try:
        event = loads(data, strict=False)
    except ValueError:
        event = None
    if not isinstance(event, dict):
        raise UpstreamError("the API sent an event that is not a JSON object")
    return event
