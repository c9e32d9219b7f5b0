"""The filter: a request in, what may be sent out; an answer in, what the application may see."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import pairwise
from typing import Any

from sanitizer.errors import RequestRefused, UpstreamError
from sanitizer.identifiers import find
from sanitizer.pipeline import APART, Sanitizer
from sanitizer.results import Record, SanitizedText
from sanitizer.text import DeclaredText
from sanitizer.wire.answers import Asked, Restoration, Stamp, restored_body, stamped_body
from sanitizer.wire.endpoints import Endpoint, find_endpoint
from sanitizer.wire.event_streams import EventStream, LineStream, restored_stream
from sanitizer.wire.headers import WireRecord
from sanitizer.wire.history import n_told_tools, places, quoted, recognize
from sanitizer.wire.json_text import SpelledNumber, TextSlot, dumps, loads, whole_number
from sanitizer.wire.shapes import request_shape
from sanitizer.wire.walker import LIGHT_ROLE, MIN_NUMBER, SURE_KINDS, Walker, sure_kind

MAX_BODY = 50_000_000
"""Longest body of a request, in bytes."""

MAX_PLAIN, MAX_PLAINS = 2_000, 20_000
"""Characters of the longest part of a schema that is noted as plain, and how many are."""
MAX_CUT = 64
"""Characters on each side of the end of a part in which an identifier that it cuts is found."""
_CUT = re.compile(r"[\w@.-][\w@]")
_GROUPED = frozenset(["CARD", "IBAN", "SSN"])
"""Kinds of identifiers whose groups may be apart by a space."""
MAX_TOLD = 200
"""Characters of the longest message that the one before it announces as a whole."""
_ANNOUNCEMENT = re.compile(r"[^\n.!?;]{1,64}\Z")
_FORBIDDEN = re.compile(r"[\s<|\\/>]+")  # in names of participants
_KEY = re.compile(r"[\w .-]{1,64}")  # names of values that may tell what the value is
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
        streams: True if the request asked for a stream.
    """

    body: bytes = field(repr=False)
    record: WireRecord
    streams: bool
    _endpoint: Endpoint = field(repr=False)
    _sanitizer: Sanitizer = field(repr=False)
    _asked: Asked = field(default_factory=Asked, repr=False)

    @property
    def headers(self) -> dict[str, str]:
        """The record as response headers."""
        return self.record.headers()

    @property
    def stream_type(self) -> str:
        """Media type of the endpoint's streams."""
        return _STREAM_TYPES.get(self._endpoint.stream, _STREAM_TYPES["events"])

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

        Answers of extra endpoints stay as they are, but for the stamp.

        Args:
            status: HTTP status of the answer.
            content_type: as the API stated it; not trusted, the body itself is read.
            body: the whole of it.
            stamp: returns a copy of the answer's object with something added; not applied to
                errors.
            rewrite: the Sanitizer's extractor writes what the assistant says for the original
                prompt; this takes as long as its model does.

        Raises:
            UpstreamError: a 2xx body that is not this endpoint's JSON. VaultError.
        """
        if self._endpoint.treatment == "treated":
            asked = self._asked if rewrite else replace(self._asked, prompts=())
            restoration = Restoration(self._sanitizer, asked)
            return restored_body(self._endpoint, status, body, restoration, stamp)
        return body if stamp is None or not 200 <= status < 300 else stamped_body(body, stamp)

    def stream(self, content_type: str, stamp: Stamp | None = None) -> EventStream | LineStream:
        """Return what restores the events of an answer that is streamed.

        Args:
            content_type: as the API stated it.
            stamp: as for `response`; applied where `EventStream` says.

        Raises:
            UpstreamError: the answer is no event stream, or the endpoint has none.
        """
        if not self._endpoint.stream or not self.is_stream(content_type):
            raise UpstreamError("the API did not answer with an event stream")
        restoration = Restoration(self._sanitizer, replace(self._asked, prompts=()))
        return restored_stream(self._endpoint, restoration, stamp)


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
        max_body: longest body of a request, in bytes.

    Raises:
        ValueError: max_body is below 1.
    """

    def __init__(self, sanitizer: Sanitizer, max_body: int = MAX_BODY) -> None:
        if max_body < 1:
            raise ValueError(f"max_body must be at least 1, got {max_body!r}")
        policy = sanitizer.policy
        self._sanitizer = sanitizer
        self._plain: set[str] = set()
        self._rules, self._roles = policy.wire, policy.roles
        self._max_body = max_body
        self._light = (
            sanitizer.derive(policy=policy.identifiers_only()) if policy.reads_models else sanitizer
        )
        # Replaces all identifiers and no words: asked what the name of an argument tells.
        self._finder = (
            sanitizer.derive(policy=replace(policy, perturb=False, detector="none"))
            if policy.reads_models
            else sanitizer
        )
        self._all_keys = policy.lists_private or policy.refuses

    def request(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Exchange:
        """Return what may be sent in place of a request.

        Args:
            method: in capitals.
            path: as sent, not decoded, with the query string if there is one.
            headers: lower-case names; content-type, content-encoding and upgrade are read.
            body: raw bytes.

        Raises:
            RequestRefused: reason "endpoint" (404), "content-type", "content-encoding" (415),
                "size" (413), or (400) "json", "structure", "tokens", "image", "audio", "file",
                "embeddings". Nothing may be sent then.
            SanitizerError: as `Sanitizer.sanitize`. Nothing may be sent then.
        """
        if "websocket" in headers.get("upgrade", "").lower():
            raise RequestRefused("WebSocket connections are not let through", "endpoint", 404)
        endpoint, names = _endpoint(method, path, tuple(self._rules.endpoints))
        if any(sure_kind(each) for each in names):
            raise RequestRefused("an identifier stands where a name is required", "endpoint", 404)
        if method == "GET":
            return self._read(endpoint, body)
        document = self._document(headers, body)
        embeds = endpoint.name == "embeddings"
        if embeds and self._rules.embeddings == "refuse":
            raise RequestRefused(
                "the policy refuses embeddings: replaced words break search without a sign"
                " ([wire] embeddings)",
                "embeddings",
            )
        with self._sanitizer.inner.read_once():
            return self._exchange(endpoint, document, embeds)

    def _exchange(self, endpoint: Endpoint, document: dict[str, Any], embeds: bool) -> Exchange:
        """Return a request to an endpoint, released, with what restores its answer."""
        finder = Walker(media=self._rules.images == "pass", all_keys=self._all_keys)
        found = finder.walk(request_shape(endpoint), document)
        said = places(finder)
        in_pieces = endpoint.format == "gemini" and _comes_in_pieces(document)
        n_turns = recognize(finder, self._sanitizer, in_pieces)
        all_light = embeds and self._rules.embeddings == "identifiers"
        _check_joins(finder.slots)
        told = any(slot.role == "tool" for slot in finder.slots)
        for slot in finder.slots if self._roles else ():
            if slot.kind != "light" and self._roles.get(slot.role) in ("identifiers", "public"):
                finder.left[f"messages of {slot.role}"] += 1
        record, prompts, told_how = self._sanitize(finder.slots, all_light)
        n_ended = n_told_tools(self._sanitizer) if told else 0
        record = replace(record, n_claims_ended=n_ended, untouched=dict(finder.left))
        self._hide_numbers(finder.numbers)
        if told_how:
            _instruct(endpoint, found, told_how)
        asked = Asked(
            _asks_for_json(document),
            said,
            endpoint.format == "gemini",
            _n_choices(endpoint.name, document),
            prompts,
            n_turns,
            # From the table as it is now: an answer has no other stand-ins than were sent before.
            self._sanitizer.inner.restorer(),
        )
        streams = _asks_for_stream(endpoint, document)
        return Exchange(dumps(found), record, streams, endpoint, self._sanitizer, asked)

    def _hide_numbers(self, slots: Sequence[TextSlot]) -> None:
        """Write numbers that are identifiers as strings: known ones, or by form and name."""
        found: list[tuple[TextSlot, str, int]] = []
        for slot in self._unknown(slots):
            if len(slot.text) >= MIN_NUMBER:
                digits = whole_number(slot.text)
                # With its name first: that may tell the kind.
                for named in dict.fromkeys((_named(slot.key, digits), digits)):
                    if self._ends_in_one(named, len(digits)):
                        found.append((slot, named, len(digits)))
                        break
        results = _batch(
            self._finder, [named for _, named, _ in found], [slot.role for slot, _, _ in found]
        )
        for (slot, named, size), result in zip(found, results, strict=True):
            slot.text = f'"{result.text[len(named) - size :]}"'
        if found:  # others may be the same numbers, where nothing tells what they are
            hidden = {id(slot) for slot, _, _ in found}
            self._unknown([slot for slot in slots if id(slot) not in hidden])

    def _unknown(self, slots: Sequence[TextSlot]) -> list[TextSlot]:
        """Write numbers that the conversation knows as strings; return the others."""
        others = []
        for slot in slots:
            known = None
            if slot.role != APART:
                known = self._sanitizer.inner.known_number(slot.text)
            if known is None:
                others.append(slot)
            else:
                slot.text = f'"{known}"'
        return others

    def _ends_in_one(self, text: str, size: int) -> bool:
        """Return True if the last characters are an identifier, and there is no other one."""
        found = find(text, self._sanitizer.policy.identifiers)
        return [(each.start, each.end) for each in found] == [(len(text) - size, len(text))]

    def _by_key(self, slots: Sequence[TextSlot]) -> list[tuple[TextSlot, Record]]:
        """Replace arguments in which their name gives away more identifiers; return those.

        Where words are perturbed, only those that are an identifier as a whole: the others are
        perturbed anyway.
        """
        told = [slot for slot in slots if self._tells(slot.key, slot.text)]
        named = [f"{slot.key}: {slot.text}" for slot in told]
        found = []
        for slot, result in zip(told, _batch(self._finder, named, LIGHT_ROLE), strict=True):
            slot.text = result.text[len(slot.key) + 2 :]
            found.append((slot, result.record))
        return found

    def _told_before(self, slots: Sequence[TextSlot]) -> list[TextSlot]:
        """Name the messages and parts that are an identifier as a whole since the one before says
        so ("My password is", "snowdrop"); return them.
        """
        told = []
        for one, two in pairwise(slots):
            if not _follow(one, two) or two.declared or len(two.text) > MAX_TOLD:
                continue
            said = _ANNOUNCEMENT.search(one.text.rstrip(" :=\n"))
            value = two.text.strip()
            if not (said and value and _KEY.fullmatch(key := said[0].strip())):
                continue
            begin = len(key) + 2
            found = find(f"{key}: {value}", self._sanitizer.policy.identifiers)
            if [(each.start, each.end) for each in found] == [(begin, begin + len(value))]:
                two.key = key
                told.append(two)
        return told

    def _tells(self, key: str, text: str) -> bool:
        """Return True if a value's name tells that there is more of an identifier in it."""
        kinds, begin = self._sanitizer.policy.identifiers, len(key) + 2
        named = find(f"{key}: {text}", kinds)
        if not named or named[0].start < begin:
            return False
        n_named, n_alone = (
            sum(i.end - i.start for i in each) for each in (named, find(text, kinds))
        )
        whole = named[0].start == begin and n_named == len(text)
        return n_named > n_alone and (whole or not self._sanitizer.policy.perturb)

    def _read(self, endpoint: Endpoint, body: bytes) -> Exchange:
        if body:
            raise RequestRefused("a request that reads may have no body", "endpoint", 404)
        record = WireRecord.of(self._sanitizer.policy.name, ())
        return Exchange(b"", record, False, endpoint, self._sanitizer)

    def _document(self, headers: Mapping[str, str], body: bytes) -> dict[str, Any]:
        """Read the body, which has to be a JSON object."""
        if headers.get("content-encoding", "").strip().lower() not in ("", "identity"):
            raise RequestRefused(
                "compressed bodies cannot be read; send it plain", "content-encoding", 415
            )
        if _media_type(headers.get("content-type", "")) != "application/json":
            raise RequestRefused(
                "the content type must be application/json, in UTF-8", "content-type", 415
            )
        if len(body) > self._max_body:
            raise RequestRefused(f"the body is longer than {self._max_body} bytes", "size", 413)
        try:
            document = loads(body.decode())
        except UnicodeDecodeError:
            raise RequestRefused("the body is not UTF-8", "json") from None
        except ValueError as error:
            raise RequestRefused(f"the body: {error}", "json") from None
        if not isinstance(document, dict):
            raise RequestRefused("the body is not a JSON object", "json")
        return document

    def _sanitize(
        self, slots: Sequence[TextSlot], all_light: bool
    ) -> tuple[WireRecord, tuple[SanitizedText, ...], str]:
        """Put released texts in place; return their record, the prompts for an extractor, and what
        the API must be told to calculate with hidden values, or "".

        One batch, and one more for texts whose words the policy would perturb but must not.
        """
        named = (
            []
            if all_light
            else [slot for slot in slots if not slot.declared and _KEY.fullmatch(slot.key)]
        )
        if not all_light:
            named += self._told_before(slots)
        found = self._by_key(named) if named else []
        if found:
            by_key = {id(slot) for slot, _ in found}
            slots = [slot for slot in slots if id(slot) not in by_key]
        n_all = len(slots)
        slots = [slot for slot in slots if slot.kind != "light" or slot.text not in self._plain]
        n_plain = n_all - len(slots)
        apart = self._light is not self._sanitizer
        light = [slot for slot in slots if self._is_light(slot, all_light)] if apart else []
        full = [slot for slot in slots if not self._is_light(slot, all_light)] if light else slots
        texts = [slot.text for slot in slots]
        results = _released(self._sanitizer, full)
        light_records = [result.record for result in _released(self._light, light, light=True)]
        light_records += [record for _, record in found]
        self._note_plain(texts, slots)
        records = [result.record for result in results]
        record = WireRecord.of(self._sanitizer.policy.name, records, light_records)
        said = list(zip(full, results, strict=True))
        prompts = [result for slot, result in said if (slot.role, slot.kind) == ("user", "text")]
        extracts = self._sanitizer.inner.answers.extractor is not None
        if n_plain:
            record = replace(record, n_texts=record.n_texts + n_plain)
        asks = [result for slot, result in said if slot.role in _SAID]
        told_how = self._sanitizer.inner.answers.instruction(asks)
        return record, tuple(prompts if extracts else ()), told_how

    def _note_plain(self, texts: Sequence[str], slots: Sequence[TextSlot]) -> None:
        """Note which parts of schemas hold no identifier: they come with every request."""
        for text, slot in zip(texts, slots, strict=True):
            if slot.kind == "light" and slot.text == text and len(text) <= MAX_PLAIN:
                if len(self._plain) >= MAX_PLAINS:
                    self._plain.clear()
                self._plain.add(text)

    def _is_light(self, slot: TextSlot, all_light: bool) -> bool:
        """Return True if only identifiers are replaced in a text."""
        of_role = self._roles.get(slot.role) == "identifiers"
        return all_light or slot.kind == "light" or of_role


def _released(
    sanitizer: Sanitizer, slots: Sequence[TextSlot], light: bool = False
) -> list[SanitizedText]:
    """Sanitize the texts in their slots; return the results."""
    if not slots:
        return []
    roles = [LIGHT_ROLE if light and slot.kind != "light" else slot.role for slot in slots]
    texts = [DeclaredText(slot.text, slot.declared or ()) for slot in slots]
    results = _batch(sanitizer, texts, roles)
    for slot, result in zip(slots, results, strict=True):
        # Always, not only where something was replaced: that would tell whether anything was.
        slot.text = _person(result.text) if slot.kind == "person" else result.text
        if slot.holds_json:
            values = {each.replacement for each in result.replacements if each.kind.isupper()}
            slot.text = quoted(slot.text, values)
    return results


def _batch(
    sanitizer: Sanitizer, texts: Sequence[str | DeclaredText], roles: str | list[str]
) -> list[SanitizedText]:
    try:
        return sanitizer.sanitize_batch(texts, role=roles, together=True)
    except ValueError as error:
        if not str(error).startswith("text must have at most"):
            raise
        raise RequestRefused("a text of the body is too long", "size", 413) from None


def _person(text: str) -> str:
    """Return a released name without the characters that the API forbids in names."""
    return _FORBIDDEN.sub("_", text).strip("_")[:64] or "_"


def _check_joins(slots: Sequence[TextSlot]) -> None:
    """Raise RequestRefused if an identifier is cut in two by the end of a part or a message."""
    for one, two in pairwise(slots):
        if not _follow(one, two):
            continue
        tail, head = one.text[-MAX_CUT:].rstrip(), two.text[:MAX_CUT].lstrip()
        if not (tail and head and _CUT.search(tail[-1] + head[0])):
            continue
        if find(tail, SURE_KINDS) or find(head, SURE_KINDS):
            continue  # they are seen, and hidden, as they are
        close = one.text[-1] == tail[-1] and two.text[0] == head[0]
        glued = find(tail + head, SURE_KINDS) if close else []
        for found in glued or find(f"{tail} {head}", _GROUPED):
            if found.start < len(tail) < found.end - (not glued):
                raise RequestRefused(
                    f"an identifier ({found.kind}) is cut in two by the end of a part or a"
                    " message; send it in one",
                    "structure",
                )


def _follow(one: TextSlot, two: TextSlot) -> bool:
    """Return True for two texts of one speaker, the second of which may go on with the first."""
    if one.role != two.role or one.kind != "text" or two.kind != "text" or one.key or two.key:
        return False
    # Not as a title and what it is the title of.
    return (one.field, one.n_results) == (two.field, two.n_results)


def _named(key: str, text: str) -> str:
    """Return a value after its name."""
    return f"{key}: {text}" if _KEY.fullmatch(key) else text


def _asks_for_stream(endpoint: Endpoint, document: dict[str, Any]) -> bool:
    if endpoint.format == "gemini":
        return endpoint.stream != ""
    # Ollama streams unless it is told not to.
    return document.get("stream", endpoint.format == "ollama") is True


def _instruct(endpoint: Endpoint, released: dict[Any, Any], told: str) -> None:
    """Tell the API how to write formulas: one text, always the same, where its system prompt is.

    Requests without such a place, as completions are, stay as they are.
    """
    place = endpoint.system
    if endpoint.format == "gemini" and "system_instruction" in released:
        place = "system_instruction"
    inner = released.get(place)
    if endpoint.format == "gemini":
        if place not in released:
            released[place] = inner = {"parts": []}
        parts = inner.get("parts") if isinstance(inner, dict) else None
        if isinstance(parts, list):
            parts.append({"text": told})
    elif place == "messages":
        if isinstance(inner, list) and not _told_in_first(inner, told):
            inner.insert(0, {"role": "system", "content": told})
    elif isinstance(inner, list):
        inner.append({"type": "text", "text": told})
    elif place:
        before = inner.text if isinstance(inner, TextSlot) else inner
        released[place] = f"{before}\n\n{told}" if before else told


def _told_in_first(messages: list[Any], told: str) -> bool:
    """Add a text to the system prompt that a list of messages begins with, if it does."""
    first = messages[0] if messages else None
    if not isinstance(first, dict) or first.get("role") not in ("system", "developer"):
        return False
    content = first.get("content")
    before = content.text if isinstance(content, TextSlot) else content
    if isinstance(before, str):
        first["content"] = f"{before}\n\n{told}"
    return isinstance(before, str)


_SAID = frozenset(["user", "system", "developer", "tool"])
"""Roles of texts about which an API may be asked."""


def _n_choices(name: str, document: dict[str, Any]) -> int | None:
    """Return how many answers a request asks for; None if it does not tell."""
    if name == "chat/completions":
        return _number_of(document.get("n"))
    if name == "streamGenerateContent":
        config = _generation_of(document)
        of_both = (config.get(field) for field in ("candidateCount", "candidate_count"))
        return _number_of(next((wanted for wanted in of_both if wanted is not None), None))
    return None


def _number_of(value: Any) -> int | None:
    if value is None:
        return 1
    digits = whole_number(value) if type(value) is SpelledNumber else ""
    return int(digits) if digits.isdecimal() else None


def _asks_for_json(document: dict[str, Any]) -> bool:
    config, form = _generation_of(document), document.get("format")
    if any(config.get(f) == "application/json" for f in ("responseMimeType", "response_mime_type")):
        return True
    if form == "json" or isinstance(form, dict):  # Ollama's: by name, or by a schema
        return True
    nested = [document.get(key) for key in ("text", "output_config")]
    forms = (
        *[document.get(key) for key in ("response_format", "output_format")],
        *[each.get("format") for each in nested if isinstance(each, dict)],
    )
    return any(
        isinstance(form, dict) and form.get("type") in ("json_object", "json_schema")
        for form in forms
    )


def _generation_of(document: dict[str, Any]) -> dict[str, Any]:
    """Return the settings with which Gemini writes, of both spellings of their field."""
    found = [document.get(field) for field in ("generationConfig", "generation_config")]
    return {k: v for each in reversed(found) if isinstance(each, dict) for k, v in each.items()}


def _comes_in_pieces(document: Mapping[str, Any]) -> bool:
    """Return True if a history has texts of the model next to each other, as SDKs keep a stream.

    Told by what is there alone, never by what it says.
    """
    before: bool | None = None  # whether the part before is a thought; None if it is no text
    contents = document.get("contents")
    for content in contents if isinstance(contents, list) else []:
        if not isinstance(content, dict) or content.get("role") != "model":
            before = None
            continue
        parts = content.get("parts")
        for part in parts if isinstance(parts, list) else []:
            is_text = isinstance(part, dict) and isinstance(part.get("text"), str)
            now = part.get("thought") is True if is_text else None
            if now is not None and now == before:
                return True
            before = now
    return False


def _media_type(content_type: str) -> str:
    """Return type and subtype; "" if another character set than UTF-8 is stated."""
    if content_type == "application/json":
        return content_type
    first, *parameters = [part.strip().lower() for part in content_type.split(";")]
    charsets = [p.partition("=")[2].strip('" ') for p in parameters if p.startswith("charset")]
    return first if all(c in ("utf-8", "utf8") for c in charsets) else ""
