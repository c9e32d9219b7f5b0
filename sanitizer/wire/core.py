"""The filter: a request in, what may be sent out; an answer in, what the application should see. No HTTP here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sanitizer.errors import RequestRefused, UpstreamError
from sanitizer.pipeline import Sanitizer
from sanitizer.policy import UNCLEAR, Policy
from sanitizer.types import Record
from sanitizer.wire.answers import Restoration, restored_body
from sanitizer.wire.codec import Leaf, dumps, loads
from sanitizer.wire.endpoints import READ, endpoint
from sanitizer.wire.record import WireRecord
from sanitizer.wire.shapes import REQUESTS
from sanitizer.wire.sse import EventStream
from sanitizer.wire.walk import LIGHT_ROLE, Walker, person

MAX_BODY = 50_000_000


@dataclass(frozen=True)
class Exchange:
    """A request that may be sent, and what restores its answer.

    Attributes:
        body: sanitized; compact JSON in UTF-8, or empty.
        record: what is released by it.
        headers: the record, for a response.
        streams: whether the request asked for a stream.
    """

    body: bytes = field(repr=False)
    record: WireRecord
    headers: dict[str, str]
    streams: bool
    _endpoint: str = field(repr=False)
    _sanitizer: Sanitizer = field(repr=False)

    def response(self, status: int, content_type: str, body: bytes) -> bytes:
        """The restored answer; its type is application/json, but for extra endpoints, whose answers stay as they are.

        Args:
            content_type: as the API stated it; not trusted, the body itself is read.

        Raises:
            UpstreamError: a 2xx body that is not this endpoint's JSON. VaultError.
        """
        if self._endpoint == READ:
            return body
        return restored_body(self._endpoint, status, body, Restoration(self._sanitizer))

    def stream(self, content_type: str) -> EventStream:
        """The restored events of an answer that is streamed.

        Raises:
            UpstreamError: the answer is no event stream, or the endpoint has none.
        """
        if _media_type(content_type) != "text/event-stream" or self._endpoint in (READ, "embeddings"):
            raise UpstreamError("the API did not answer with an event stream")
        return EventStream(self._endpoint, Restoration(self._sanitizer))


class Filter:
    """Between an application and an API. Stateless beside the Sanitizer; serves many threads.

    Guarantee: a request is returned only if every string of it was sanitized or stands at a position that `shapes`
    lists as no text; anything else raises, and nothing may be sent then.
    Not protected: headers, the path, numbers, the lengths of texts, and what `shapes` says.

    Args:
        sanitizer: of the conversation. max_body: bytes of a request, at most.
    """

    def __init__(self, sanitizer: Sanitizer, max_body: int = MAX_BODY) -> None:
        if max_body < 1:
            raise ValueError(f"max_body must be at least 1, got {max_body!r}")
        policy = sanitizer.policy
        self._sanitizer, self._rules, self._max_body = sanitizer, policy.wire, max_body
        self._light = sanitizer.derive(policy=_light(policy)) if policy.perturb else sanitizer
        self._all_keys = bool(policy.sensitive or policy.patterns or policy.refuse or policy.refuse_patterns)

    def request(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Exchange:
        """What may be sent in place of a request.

        Args:
            method: in capitals. path: as sent, not decoded, with the query string if there is one.
            headers: lower-case names; content-type, content-encoding and upgrade are read. body: raw bytes.

        Raises:
            RequestRefused: reason "endpoint" (404), "content-type", "content-encoding" (415), "size" (413), or (400)
                "json", "structure", "tokens", "image", "audio", "file", "embeddings". Nothing may be sent then.
            SanitizerError: as `Sanitizer.sanitize`. Nothing may be sent then.
        """
        if "websocket" in headers.get("upgrade", "").lower():
            raise RequestRefused("WebSocket connections are not let through", "endpoint", 404)
        name = endpoint(method, path, self._rules.endpoints)
        if name == READ:
            return self._read(body)
        document = self._document(headers, body)
        embeds = name == "embeddings"
        if embeds and self._rules.embeddings == "refuse":
            raise RequestRefused(
                "the policy refuses embeddings: replaced words break search without a sign ([wire] embeddings)",
                "embeddings",
            )
        walker = Walker(media=self._rules.images == "pass", all_keys=self._all_keys)
        walked = walker.walk(REQUESTS[name], document)
        record = self._sanitize(walker.leaves, all_light=embeds and self._rules.embeddings == "identifiers")
        return Exchange(dumps(walked), record, record.headers(), document.get("stream") is True, name, self._sanitizer)

    def _read(self, body: bytes) -> Exchange:
        if body:
            raise RequestRefused("a request that reads may have no body", "endpoint", 404)
        record = WireRecord.of(self._sanitizer.policy.name, ())
        return Exchange(b"", record, record.headers(), False, READ, self._sanitizer)

    def _document(self, headers: Mapping[str, str], body: bytes) -> dict[str, Any]:
        """The body as a JSON object."""
        if headers.get("content-encoding", "").strip().lower() not in ("", "identity"):
            raise RequestRefused("compressed bodies cannot be read; send it plain", "content-encoding", 415)
        if _media_type(headers.get("content-type", "")) != "application/json":
            raise RequestRefused("the content type must be application/json, in UTF-8", "content-type", 415)
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

    def _sanitize(self, leaves: Sequence[Leaf], all_light: bool) -> WireRecord:
        """Put released texts in place: one batch, and one more for what the policy would perturb but must not."""
        light = (
            [leaf for leaf in leaves if all_light or leaf.sort == "light"] if self._light is not self._sanitizer else []
        )
        full = [leaf for leaf in leaves if not (all_light or leaf.sort == "light")] if light else leaves
        light_records = _released(self._light, light, light=True)
        return WireRecord.of(self._sanitizer.policy.name, _released(self._sanitizer, full), light_records)


def _released(sanitizer: Sanitizer, leaves: Sequence[Leaf], light: bool = False) -> list[Record]:
    if not leaves:
        return []
    try:
        results = sanitizer.sanitize_batch(
            [leaf.text for leaf in leaves], role=[LIGHT_ROLE if light else leaf.role for leaf in leaves]
        )
    except ValueError:  # its message may only speak of lengths, but that is not ours to promise
        raise RequestRefused("a text of the body is too long", "size", 413) from None
    for leaf, result in zip(leaves, results, strict=True):
        changed = result.text != leaf.text
        leaf.text = person(result.text) if changed and leaf.sort == "person" else result.text
    return [result.record for result in results]


def _light(policy: Policy) -> Policy:
    """The same policy, but words, dates, links and plain numbers stay."""
    return replace(policy, perturb=False, numbers="pass", identifiers=policy.identifiers - UNCLEAR)


def _media_type(content_type: str) -> str:
    """Type and subtype; "" if another character set than UTF-8 is stated."""
    first, *parameters = [part.strip().lower() for part in content_type.split(";")]
    charsets = [p.partition("=")[2].strip('" ') for p in parameters if p.startswith("charset")]
    return first if all(c in ("utf-8", "utf8") for c in charsets) else ""
