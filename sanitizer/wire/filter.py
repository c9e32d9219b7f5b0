"""The filter: a request in, what may be sent out; an answer in, what the application may see."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

from sanitizer.answers.asking import Need
from sanitizer.errors import RequestRefused, UpstreamError
from sanitizer.pipeline.sanitizer import Sanitizer
from sanitizer.results import SanitizedText
from sanitizer.wire.answers import (
    Asked,
    Kept,
    Restoration,
    Stamp,
    restored_body,
    said_in,
    stamped_body,
)
from sanitizer.wire.chats import Chat, chat_of
from sanitizer.wire.encodings import decoded
from sanitizer.wire.endpoints import Endpoint, find_endpoint
from sanitizer.wire.event_streams import MAX_ANSWER, EventStream
from sanitizer.wire.headers import WireRecord
from sanitizer.wire.history import (
    Late,
    claims_ended,
    drop_last_lines,
    last_line,
    places,
    recognize,
    set_apart,
)
from sanitizer.wire.json_text import SpelledNumber, TextSlot, dumps, loads, whole_number
from sanitizer.wire.release import Releaser, check_joins
from sanitizer.wire.shapes import request_shape
from sanitizer.wire.typed_json import tool_schemas
from sanitizer.wire.walker import Walker, sure_kind

_LOG = logging.getLogger("sanitizer")
MAX_BODY = 50_000_000
"""Longest body of a request, in bytes."""
Headers = Mapping[str, str]
"""Headers of a request, by lower-case names."""
_ASKED = ("user", "system", "developer", "tool")
"""Roles of texts about which an API may be asked."""
_TOOLS = ("tools", "functions", "toolConfig", "tool_config")
"""Fields of a request that declares tools."""
_JSON = ("json", "json_object", "json_schema", "application/json")
"""What says in a request that its answers are in JSON, where no schema stands in place of it."""
_SCHEMAS = ("json_schema.schema", "schema", "responseJsonSchema", "responseSchema")
"""Where the schema of an answer stands beside what says that it is in JSON."""
_STREAM_TYPES = {"events": "text/event-stream", "lines": "application/x-ndjson"}
# Cached because few paths are let through, and those come again and again.
_endpoint = lru_cache(maxsize=64)(find_endpoint)


@dataclass(frozen=True)
class Exchange:
    """A request that may be sent, and what restores its answer.

    >>> from sanitizer import Sanitizer
    >>> body = b'{"messages": [{"role": "user", "content": "Ask anna@example.org"}]}'
    >>> json = {"content-type": "application/json"}
    >>> filter = Filter(Sanitizer(policy="identifiers"))
    >>> exchange = filter.request("POST", "/v1/chat/completions", json, body)
    >>> exchange.body
    b'{"messages":[{"role":"user","content":"Ask <EMAIL_1>"}]}'
    >>> answer = b'{"choices": [{"message": {"role": "assistant", "content": "<EMAIL_1>?"}}]}'
    >>> exchange.response(200, "application/json", answer)
    b'{"choices":[{"message":{"role":"assistant","content":"anna@example.org?"}}]}'

    Attributes:
        body: sanitized; compact JSON in UTF-8, or empty.
        record: what the request releases.
        hints: of the user's newest text: what the task may miss, and what it lets leave.
        notes: what the API was told in place of each thing that was drawn: what an answer says of
            the one may not hold for the other. They hold originals, and stay on the machine.
        streams: True if the request asked for a stream.
        texts: its messages, and what was released of each.
    """

    body: bytes = field(repr=False)
    record: WireRecord
    streams: bool
    hints: tuple[str, ...] = field(repr=False)
    notes: tuple[str, ...] = field(repr=False)
    _endpoint: Endpoint = field(repr=False)
    _sanitizer: Sanitizer = field(repr=False)
    _asked: Asked = field(default_factory=Asked, repr=False)
    _newest: str = field(default="", repr=False)
    texts: tuple[tuple[str, SanitizedText], ...] = field(default=(), repr=False)

    @property
    def stream_type(self) -> str:
        """Media type of the endpoint's streams."""
        return _STREAM_TYPES.get(self._endpoint.stream, _STREAM_TYPES["events"])

    def needs(self, said: bytes | str) -> tuple[Need, ...]:
        """Return what an answer asks for that a person may let leave; raise VaultError.

        Args:
            said: a whole answer, or what the assistant says in one, as it came.
        """
        if isinstance(said, bytes):
            said = said_in(self._endpoint, said) if b"need" in said.lower() else ""
        return self._sanitizer.inner.answers.needs(said) if "need" in said.lower() else ()

    def decide(self, needs: Sequence[Need], chosen: Collection[str]) -> bool:
        """Keep what a person lets leave; return True if the request, made anew, then says more.

        Args:
            chosen: placeholders that may leave.

        Raises:
            VaultError: it cannot be kept.
        """
        return self._sanitizer.inner.answers.decide(self._newest, needs, chosen)

    @property
    def untyped(self) -> tuple[str, ...]:
        """What of the answer, so far, could not be written as its schema says; holds originals."""
        return tuple(self._asked.untyped)

    def is_stream(self, content_type: str) -> bool:
        """Return True if an answer of this type is a stream of the endpoint's events."""
        return _media_type(content_type) == self.stream_type

    def response(
        self,
        status: int,
        content_type: str,
        body: bytes,
        stamp: Stamp | None = None,
        *,
        rewrite: bool = False,
    ) -> bytes:
        """Return the restored answer, of type application/json.

        Answers of endpoints that are passed stay as they are, but for the stamp.

        Args:
            status: HTTP status of the answer.
            content_type: as the API stated it; not trusted, the body itself is read.
            body: the whole of it.
            stamp: applied to answers that are no errors.
            rewrite: the Sanitizer's extractor writes what the assistant says for the original
                prompt; this takes as long as its model does.

        Raises:
            UpstreamError: a 2xx body that is not this endpoint's JSON. VaultError.
        """
        if len(body) > MAX_ANSWER:
            raise UpstreamError(f"the API's answer is longer than {MAX_ANSWER:,} bytes")
        if self._endpoint.treatment == "treated":
            asked = self._asked if rewrite else replace(self._asked, prompts=())
            restoration = Restoration(self._sanitizer, asked)
            return restored_body(self._endpoint, status, body, restoration, stamp)
        return body if stamp is None or not 200 <= status < 300 else stamped_body(body, stamp)

    def stream(
        self,
        content_type: str,
        stamp: Stamp | None = None,
        said: Callable[[str], str] | None = None,
    ) -> EventStream:
        """Return what restores the events of an answer that is streamed, as `EventStream`.

        Raises:
            UpstreamError: the answer is no event stream, or the endpoint has none.
        """
        if not self._endpoint.stream or not self.is_stream(content_type):
            raise UpstreamError("the API did not answer with an event stream")
        restoration = Restoration(self._sanitizer, replace(self._asked, prompts=()))
        return EventStream(self._endpoint, restoration, stamp, said)


@dataclass(frozen=True)
class Preview:
    """What a request would send, and what it would cost. It holds originals.

    Attributes:
        body: the request as it would be sent, with "(drawn when sent)" for what would be drawn.
        stand_ins: what would be sent and what it stands for, in order.
        left: class and words of what leaves because the request needs it.
        warnings: phrases that seem to tell a sensitive fact, and leave.
        hints: what the task may miss, and what was left for it.
        record: what would be released; `charged` is the cost, `untouched` tells of images.
        budget_left: epsilon that may still be spent; None without a limit.
    """

    body: dict[str, Any] = field(repr=False)
    stand_ins: tuple[tuple[str, str], ...] = field(repr=False)
    left: tuple[tuple[str, str], ...] = field(repr=False)
    warnings: tuple[str, ...] = field(repr=False)
    hints: tuple[str, ...] = field(repr=False)
    record: WireRecord
    budget_left: float | None

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, the originals among them."""
        return {**vars(self), "record": self.record.as_dict()}


class Read(NamedTuple):
    """A request that was read, and not released yet.

    Attributes:
        document: as it came. found: with slots in place of its texts. walker: that found them.
        chat: its turns; None if it has none.
    """

    endpoint: Endpoint
    document: dict[str, Any]
    found: Any
    walker: Walker
    chat: Chat | None


class Filter:
    """Sanitizer of whole API requests, for one conversation. Safe for many threads.

    Guarantee: a request is returned only if every string of it was sanitized or is at a position
    that `shapes` lists as no text; anything else raises, and nothing may be sent then.
    Not protected: headers, the path, numbers, the lengths of texts, and what `shapes` says.

    >>> from sanitizer import Sanitizer
    >>> filter = Filter(Sanitizer(policy="identifiers"))
    >>> filter.request("GET", "/v1/files", {}, b"").body
    Traceback (most recent call last):
        ...
    sanitizer.errors.RequestRefused: this method and path are not let through (files ...

    Args:
        sanitizer: Sanitizer of the conversation.
    """

    def __init__(self, sanitizer: Sanitizer) -> None:
        self._sanitizer, self._policy = sanitizer, sanitizer.policy
        self._releaser = Releaser(sanitizer)

    def request(self, method: str, path: str, headers: Headers, body: bytes) -> Exchange:
        """Return what may be sent in place of a request.

        Args:
            method: in capitals.
            path: as sent, not decoded, with the query string if there is one.
            headers: lower-case names; content-type, content-encoding and upgrade are read.
            body: raw bytes; compressed ones are read as `content-encoding` says.

        Raises:
            RequestRefused: reason "endpoint" (404), "content-type", "content-encoding" (415),
                "size" (413), or (400) "json", "structure", "tokens", "image", "audio", "file",
                "embeddings", "content-encoding". Nothing may be sent then.
            SanitizerError: as `Sanitizer.sanitize`. Nothing may be sent then.
        """
        return self.release(self.read(method, path, headers, body))

    def read(
        self, method: str, path: str, headers: Headers, body: bytes, most: int | None = None
    ) -> Read:
        """Read a request, whichever conversation it is of; raise RequestRefused, as `request`.

        Args:
            most: bytes of the body, decompressed, if fewer than MAX_BODY.
        """
        if "websocket" in headers.get("upgrade", "").lower():
            told = "WebSocket connections are not let through: send each request with POST"
            raise RequestRefused(told, "websocket", 426)
        endpoint, names = _endpoint(method, path, tuple(self._policy.wire.endpoints))
        if any(sure_kind(each) for each in names):
            raise RequestRefused("an identifier stands where a name is required", "endpoint", 404)
        policy = self._policy
        all_keys = policy.lists_private or policy.refuses
        walker = Walker(media=policy.wire.images == "pass", all_keys=all_keys)
        if method == "GET":
            if body:
                raise RequestRefused("a request that reads may have no body", "endpoint", 404)
            chat = Chat((), 0, (), names[0]) if endpoint.chat else None
            return Read(endpoint, {}, None, walker, chat)
        document = self._document(headers, body, most)
        if endpoint.name == "embeddings" and policy.wire.embeddings == "refuse":
            raise RequestRefused(
                "the policy refuses embeddings: replaced words break search without a sign"
                " ([wire] embeddings)",
                "embeddings",
            )
        found = walker.walk(request_shape(endpoint), document)
        drop_last_lines(walker, found)
        return Read(endpoint, document, found, walker, chat_of(endpoint, document, walker))

    def preview(self, path: str, headers: Headers, body: bytes, most: int | None = None) -> Preview:
        """Return what `request` would send by POST now.

        Guarantee: vault, conversation and budget stay as they are, and so do the numbers of later
        placeholders.

        Raises:
            SanitizerError: as `request`; but a budget has no limit here.
        """
        given, sanitizer = self._sanitizer, self._sanitizer.unsent()
        unsent = Filter(sanitizer)
        exchange = unsent.release(unsent.read("POST", path, headers, body, most))
        known, now = (each.inner.vault.originals(given.conversation) for each in (given, sanitizer))
        written, texts = exchange.body.decode(), exchange.texts
        replaced = (e for _, of in texts for e in of.replacements if e.kind != "article")
        here = [(e.replacement, e.original) for e in replaced]
        others = [(value, now[value]) for value in now if value in written]
        return Preview(
            json.loads(written),
            tuple(dict.fromkeys(here + [p for p in others if p[0][0] == "<" or p[0] in known])),
            tuple((e.kind, text[e.start : e.end]) for text, of in texts for e in of.left),
            tuple(text[fact.start : fact.end] for text, of in texts for fact in of.warnings),
            exchange.hints,
            exchange.record,
            given.budget_left,
        )

    def release(self, read: Read, kept: Kept | None = None, late: Late | None = None) -> Exchange:
        """Return what may be sent in place of a request, with what restores its answer.

        Args:
            read: by a filter of the same policy; released once.
            kept: called with the texts of its answer, once they are kept, and the answer's name.
            late: of a late conversation. What the API may have written there, and is not known,
                gets placeholders without numbers.

        Raises:
            SanitizerError: as `request`.
        """
        if read.found is None:
            record = WireRecord.of(self._policy.name, ())
            sanitizer, asked = self._sanitizer, Asked(kept=kept)
            return Exchange(b"", record, False, (), (), read.endpoint, sanitizer, asked)
        with self._sanitizer.inner.read_once():
            return self._released(read, kept, late)

    def _released(self, read: Read, kept: Kept | None, late: Late | None) -> Exchange:
        policy, sanitizer = self._policy, self._sanitizer
        endpoint, document, found, walker, _ = read
        before = places(walker)
        in_pieces = endpoint.format == "gemini" and _comes_in_pieces(document)
        n_turns = recognize(walker, sanitizer, in_pieces, late)
        if late is not None:
            set_apart(walker, policy.roles)
        check_joins(walker.slots)
        typed = [slot.text for slot in walker.slots if (slot.role, slot.kind) == ("user", "text")]
        told = any(slot.role == "tool" for slot in walker.slots)
        if told or any(document.get(name) for name in _TOOLS):
            sanitizer.inner.declares_tools()
        for slot in walker.slots:
            how = policy.roles.get(slot.role)
            if slot.kind != "light" and how in ("identifiers", "names", "public"):
                walker.left[f"messages of {slot.role}"] += 1
        all_light = endpoint.name == "embeddings" and policy.wire.embeddings == "identifiers"
        given = {id(slot): slot.text for slot in walker.slots}
        record, said = self._releaser.release(walker.slots, all_light)
        # From the table as it is now: an answer has no other stand-ins than were sent before.
        texts = sanitizer.inner.answers.restorer(capitals=True)
        ended = claims_ended(sanitizer, texts, told)
        for kind in (kind for _, result in said for kind in result.record.left):
            walker.left[f"needed {kind}"] += 1
        hints = next((result.hints for slot, result in reversed(said) if slot.role == "user"), ())
        record = replace(
            record,
            n_claims_ended=len(ended),
            claims_ended=ended,
            n_warnings=sum(len(result.warnings) for _, result in said),
            n_hints=len(hints),
            untouched=dict(walker.left),
        )
        _tell(record)
        self._releaser.hide_numbers(walker.numbers)
        answers = sanitizer.inner.answers
        of_user = [(s, result) for s, result in said if (s.role, s.kind) == ("user", "text")]
        for slot, result in of_user:
            if not slot.holds_json and (note := answers.note([result])):
                slot.text = f"{slot.text}\n\n{note}"
                break  # it stands at one place from turn to turn, for caches of APIs
        # What the API must be told to calculate with hidden values.
        if told_how := answers.instruction([result for s, result in said if s.role in _ASKED]):
            _instruct(endpoint, found, told_how)
        prompts = tuple(result for _, result in of_user) if answers.extractor is not None else ()
        in_json, notes = _asks_for_json(endpoint, document), texts.notes()
        # What was generated may come back as a prompt, in which it would be the user's.
        as_text = policy.wire.notes == "text" and not in_json and endpoint.name != "api/generate"
        asked = Asked(
            in_json,
            before,
            endpoint.format == "gemini",
            _n_choices(endpoint, document),
            prompts,
            n_turns,
            texts,
            last_line(notes) if as_text else "",
            {} if policy.wire.tools == "keep" else _schemas(endpoint, document),
            kept=kept,
        )
        return Exchange(
            dumps(found),
            record,
            _asks_for_stream(endpoint, document),
            hints,
            notes,
            endpoint,
            sanitizer,
            asked,
            typed[-1] if typed else "",
            tuple((given[id(slot)], result) for slot, result in said),
        )

    def _document(self, headers: Headers, body: bytes, most: int | None) -> dict[str, Any]:
        """Read the body, which has to be a JSON object."""
        if _media_type(headers.get("content-type", "")) != "application/json":
            raise RequestRefused(
                "the content type must be application/json, in UTF-8", "content-type", 415
            )
        most = min(MAX_BODY, most or MAX_BODY)
        if len(body) > most:
            raise RequestRefused(f"the body is longer than {most} bytes", "size", 413)
        if encoding := headers.get("content-encoding"):
            body = decoded(encoding, body, most)
        try:
            document = loads(body.decode())
        except UnicodeDecodeError:
            raise RequestRefused("the body is not UTF-8", "json") from None
        except ValueError as error:
            raise RequestRefused(f"the body: {error}", "json") from None
        if not isinstance(document, dict):
            raise RequestRefused("the body is not a JSON object", "json")
        return document


def _tell(record: WireRecord) -> None:
    """Log what may be missed or sensitive: counts and classes, no text."""
    counts = record.n_warnings, record.n_hints, record.untouched.get("media", 0)
    if any(counts):
        _LOG.info(
            "phrases that seem to tell a sensitive fact and leave: %d; hints: %d; images and files "
            "that are not read: %d",
            *counts,
        )


def _asks_for_stream(endpoint: Endpoint, document: dict[str, Any]) -> bool:
    if endpoint.format == "gemini":
        return endpoint.stream != ""
    # Ollama streams unless it is told not to.
    return document.get("stream", endpoint.format == "ollama") is True


def _instruct(endpoint: Endpoint, released: dict[Any, Any], told: str) -> None:
    """Tell the API how to write formulas: one text, always the same, where its system prompt is.

    Requests without such a place, as completions are, stay as they are.
    """
    holder, place = released, endpoint.system
    if endpoint.format == "gemini":
        place = "system_instruction" if "system_instruction" in released else place
        found = released.setdefault(place, {"parts": []})
        parts = found.get("parts") if isinstance(found, dict) else None
        if isinstance(parts, list):
            parts.append({"text": told})
        return
    if place == "messages":
        if not isinstance(messages := released.get(place), list):
            return
        holder = messages[0] if messages and isinstance(messages[0], dict) else {}
        is_system = holder.get("role") in ("system", "developer")
        if not is_system or not isinstance(holder.get("content"), (str, TextSlot)):
            holder = {"role": "system", "content": ""}
            messages.insert(0, holder)
        place = "content"
    before = holder.get(place)
    if isinstance(before, list):
        before.append({"type": "text", "text": told})
    elif place:
        before = before.text if isinstance(before, TextSlot) else before
        holder[place] = f"{before}\n\n{told}" if before else told


def _n_choices(endpoint: Endpoint, document: dict[str, Any]) -> int | None:
    """Return how many answers a request asks for; None if it does not tell."""
    value = _at(document, endpoint.choices)
    if value is None:
        return 1 if endpoint.choices else None
    digits = whole_number(value) if type(value) is SpelledNumber else ""
    return int(digits) if digits.isdecimal() else None


def _asks_for_json(endpoint: Endpoint, document: dict[str, Any]) -> bool:
    found = [_at(document, path) for path in endpoint.json.split()]
    # Ollama's is a name, or a schema.
    kinds = dict if endpoint.format == "ollama" else ()
    return any(value in _JSON or isinstance(value, kinds) for value in found)


def _schemas(endpoint: Endpoint, document: dict[str, Any]) -> dict[str | None, Any]:
    """Return the JSON schemas of an answer: of each tool by its name, of messages under None."""
    declared = (document.get(name) for name in ("tools", "functions"))
    found: dict[str | None, Any] = dict(pair for each in declared for pair in tool_schemas(each))
    for path in endpoint.json.split():
        beside = _at(document, path.rpartition(".")[0])
        for stated in (_at(document, path), *(_at(beside, name) for name in _SCHEMAS)):
            if isinstance(stated, dict):
                found.setdefault(None, stated)
    return found


def _at(document: Any, path: str) -> Any:
    """Return the value at a path, such as "text.format.type"; Gemini reads both spellings."""
    for step in path.split("."):
        names = (step, re.sub("[A-Z]", lambda m: "_" + m[0].lower(), step))
        found = [document.get(name) for name in names] if isinstance(document, dict) else []
        document = next((value for value in found if value is not None), None)
    return document


def _comes_in_pieces(document: Mapping[str, Any]) -> bool:
    """Return True if a history has texts of the model next to each other, as SDKs keep a stream.

    Told by what is there alone, never by what it says.
    """
    thoughts: list[bool | None] = []  # of each part; None for those that are no text of the model
    contents = document.get("contents")
    for content in contents if isinstance(contents, list) else []:
        of_model = isinstance(content, dict) and content.get("role") == "model"
        parts = content.get("parts") if of_model else [None]
        for part in parts if isinstance(parts, list) else []:
            is_text = isinstance(part, dict) and isinstance(part.get("text"), str)
            thoughts.append(part.get("thought") is True if is_text else None)
    return any(one is not None and one == two for one, two in pairwise(thoughts))


def _media_type(content_type: str) -> str:
    """Return type and subtype; "" if another character set than UTF-8 is stated."""
    if content_type == "application/json":
        return content_type
    first, *parameters = [part.strip().lower() for part in content_type.split(";")]
    charsets = [p.partition("=")[2].strip('" ') for p in parameters if p.startswith("charset")]
    return first if all(c in ("utf-8", "utf8") for c in charsets) else ""
