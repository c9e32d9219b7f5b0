"""The filter: a request in, what may be sent out; an answer in, what the application should see. No
HTTP here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from sanitizer.errors import RequestRefused, UpstreamError
from sanitizer.pipeline import Sanitizer
from sanitizer.results import Record, SanitizedText
from sanitizer.text import UNCLEAR, Policy
from sanitizer.wire.answers import Restoration, restored_body
from sanitizer.wire.event_streams import EventStream
from sanitizer.wire.find_text import (
    ARGUMENTS_ROLE,
    LIGHT_ROLE,
    TextFinder,
    TextSlot,
    dumps,
    loads,
    person,
)
from sanitizer.wire.given_away import GivenAway
from sanitizer.wire.record import WireRecord
from sanitizer.wire.shapes import READ, REQUESTS, endpoint

MAX_BODY = 50_000_000

_KEY = re.compile(r"[\w .-]{1,64}")  # that may tell what a value is
_endpoint = lru_cache(maxsize=64)(
    endpoint
)  # few paths are let through, and those are asked for again and again


@dataclass(frozen=True)
class Exchange:
    """A request that may be sent, and what restores its answer.

    Attributes:
        body: sanitized; compact JSON in UTF-8, or empty.
        record: what is released by it.
        streams: whether the request asked for a stream.
    """

    body: bytes = field(repr=False)
    record: WireRecord
    streams: bool
    _endpoint: str = field(repr=False)
    _sanitizer: Sanitizer = field(repr=False)
    _in_json: bool = field(default=False, repr=False)

    @property
    def headers(self) -> dict[str, str]:
        """The record, for a response."""
        return self.record.headers()

    def response(self, status: int, content_type: str, body: bytes) -> bytes:
        """The restored answer; its type is application/json, but for extra endpoints, whose answers
        stay as they are.

        Args:
            content_type: as the API stated it; not trusted, the body itself is read.

        Raises:
            UpstreamError: a 2xx body that is not this endpoint's JSON. VaultError.
        """
        if self._endpoint == READ:
            return body
        return restored_body(
            self._endpoint, status, body, Restoration(self._sanitizer, self._in_json)
        )

    def stream(self, content_type: str) -> EventStream:
        """The restored events of an answer that is streamed.

        Raises:
            UpstreamError: the answer is no event stream, or the endpoint has none.
        """
        if _media_type(content_type) != "text/event-stream" or self._endpoint in (
            READ,
            "embeddings",
        ):
            raise UpstreamError("the API did not answer with an event stream")
        return EventStream(self._endpoint, Restoration(self._sanitizer, self._in_json))


class Filter:
    """Between an application and an API. Serves many threads.

    Guarantee: a request is returned only if every string of it was sanitized or stands at a
    position that `shapes` lists as no text; anything else raises, and nothing may be sent then.
    Not protected: headers, the path, numbers, the lengths of texts, and what `shapes` says.

    Args:
        sanitizer: of the conversation. max_body: bytes of a request, at most.
    """

    def __init__(self, sanitizer: Sanitizer, max_body: int = MAX_BODY) -> None:
        if max_body < 1:
            raise ValueError(f"max_body must be at least 1, got {max_body!r}")
        policy = sanitizer.policy
        self._sanitizer, self._rules, self._max_body = sanitizer, policy.wire, max_body
        self._known = GivenAway()
        self._light = sanitizer.derive(policy=_light(policy)) if policy.perturb else sanitizer
        self._finder = (
            sanitizer.derive(policy=replace(policy, perturb=False)) if policy.perturb else sanitizer
        )
        self._all_keys = bool(
            policy.sensitive or policy.patterns or policy.refuse or policy.refuse_patterns
        )

    def request(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Exchange:
        """What may be sent in place of a request.

        Args:
            method: in capitals. path: as sent, not decoded, with the query string if there is one.
            headers: lower-case names; content-type, content-encoding and upgrade are read. body:
                raw bytes.

        Raises:
            RequestRefused: reason "endpoint" (404), "content-type", "content-encoding" (415),
                "size" (413), or (400) "json", "structure", "tokens", "image", "audio", "file",
                "embeddings". Nothing may be sent then.
            SanitizerError: as `Sanitizer.sanitize`. Nothing may be sent then.
        """
        if "websocket" in headers.get("upgrade", "").lower():
            raise RequestRefused("WebSocket connections are not let through", "endpoint", 404)
        name = _endpoint(method, path, tuple(self._rules.endpoints))
        if name == READ:
            return self._read(body)
        document = self._document(headers, body)
        embeds = name == "embeddings"
        if embeds and self._rules.embeddings == "refuse":
            raise RequestRefused(
                "the policy refuses embeddings: replaced words break search without a sign ([wire] embeddings)",
                "embeddings",
            )
        walker = TextFinder(
            media=self._rules.images == "pass", all_keys=self._all_keys, answered=self._answered
        )
        walked = walker.walk(REQUESTS[name], document)
        all_light = embeds and self._rules.embeddings == "identifiers"
        record = self._sanitize(walker.leaves, all_light)
        self._hide(walker, all_light)
        streams, in_json = document.get("stream") is True, _asks_for_json(document)
        return Exchange(dumps(walked), record, streams, name, self._sanitizer, in_json)

    def _by_key(self, leaves: Sequence[TextSlot]) -> list[tuple[TextSlot, Record]]:
        """Arguments in which more is an identifier once it is known what they are called; they are
        replaced here.

        Where words are perturbed, only those that are an identifier as a whole: the others are
        perturbed anyway.
        """
        pairs = [text for leaf in leaves for text in (f"{leaf.key}: {leaf.text}", leaf.text)]
        results = iter(_batch(self._finder, pairs, LIGHT_ROLE))
        found = []
        for leaf, named, alone in zip(leaves, results, results, strict=True):
            begin = len(leaf.key) + 2
            first = min((r.start for r in named.replacements), default=-1)
            n_found, n_alone = (
                sum(len(r.original) for r in result.replacements) for result in (named, alone)
            )
            whole = first == begin and n_found == len(leaf.text)
            if (
                first >= begin
                and n_found > n_alone
                and (whole or not self._sanitizer.policy.perturb)
            ):
                leaf.text = named.text[begin:]
                found.append((leaf, named.record))
        return found

    def _answered(self, arguments: str) -> str | None:
        """What the API sent, if these are arguments of a call that it made in this conversation."""
        return self._sanitizer.inner.answer_for(arguments, ARGUMENTS_ROLE)

    def _hide(self, walker: TextFinder, all_light: bool) -> None:
        """Originals that were given away in answers, and come back where nothing tells what they
        are.
        """
        known = self._known
        known.follow(self._sanitizer.inner.restorer().originals)
        everywhere = all_light or not self._sanitizer.policy.perturb
        for leaf in walker.leaves:
            if everywhere or leaf.sort == "light":
                text = known.text(leaf.text)
                leaf.text = person(text) if text != leaf.text and leaf.sort == "person" else text
        for leaf in walker.numbers:
            if (value := known.number(leaf.text)) is not None:
                leaf.text = f'"{value}"'

    def _read(self, body: bytes) -> Exchange:
        if body:
            raise RequestRefused("a request that reads may have no body", "endpoint", 404)
        record = WireRecord.of(self._sanitizer.policy.name, ())
        return Exchange(b"", record, False, READ, self._sanitizer)

    def _document(self, headers: Mapping[str, str], body: bytes) -> dict[str, Any]:
        """The body as a JSON object."""
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

    def _sanitize(self, leaves: Sequence[TextSlot], all_light: bool) -> WireRecord:
        """Put released texts in place: one batch, and one more for what the policy would perturb
        but must not.
        """
        named = (
            [] if all_light else [leaf for leaf in leaves if leaf.key and _KEY.fullmatch(leaf.key)]
        )
        found = self._by_key(named) if named else []
        if found:
            by_key = {id(leaf) for leaf, _ in found}
            leaves = [leaf for leaf in leaves if id(leaf) not in by_key]
        light = (
            [leaf for leaf in leaves if all_light or leaf.sort == "light"]
            if self._light is not self._sanitizer
            else []
        )
        full = (
            [leaf for leaf in leaves if not (all_light or leaf.sort == "light")]
            if light
            else leaves
        )
        light_records = _released(self._light, light, light=True) + [record for _, record in found]
        return WireRecord.of(
            self._sanitizer.policy.name, _released(self._sanitizer, full), light_records
        )


def _released(
    sanitizer: Sanitizer, leaves: Sequence[TextSlot], light: bool = False
) -> list[Record]:
    if not leaves:
        return []
    roles = [LIGHT_ROLE if light else leaf.role for leaf in leaves]
    results = _batch(sanitizer, [leaf.text for leaf in leaves], roles)
    for leaf, result in zip(leaves, results, strict=True):
        changed = result.text != leaf.text
        leaf.text = person(result.text) if changed and leaf.sort == "person" else result.text
    return [result.record for result in results]


def _batch(sanitizer: Sanitizer, texts: list[str], roles: str | list[str]) -> list[SanitizedText]:
    try:
        return sanitizer.sanitize_batch(texts, role=roles)
    except ValueError as error:
        if not str(error).startswith("text must have at most"):
            raise
        raise RequestRefused("a text of the body is too long", "size", 413) from None


def _asks_for_json(document: dict[str, Any]) -> bool:
    text = document.get("text")
    forms = (
        document.get("response_format"),
        text.get("format") if isinstance(text, dict) else None,
    )
    return any(
        isinstance(form, dict) and form.get("type") in ("json_object", "json_schema")
        for form in forms
    )


def _light(policy: Policy) -> Policy:
    """The same policy, but words, dates, links and plain numbers stay."""
    return replace(policy, perturb=False, numbers="pass", identifiers=policy.identifiers - UNCLEAR)


def _media_type(content_type: str) -> str:
    """Type and subtype; "" if another character set than UTF-8 is stated."""
    if content_type == "application/json":
        return content_type
    first, *parameters = [part.strip().lower() for part in content_type.split(";")]
    charsets = [p.partition("=")[2].strip('" ') for p in parameters if p.startswith("charset")]
    return first if all(c in ("utf-8", "utf8") for c in charsets) else ""
