"""The filter: a request in, what may be sent out; an answer in, what the application may see out.

`GivenAway` is the part of it that knows the originals which answers have shown already.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from itertools import islice
from typing import Any

from sanitizer.errors import RequestRefused, UpstreamError
from sanitizer.pipeline import Sanitizer
from sanitizer.results import Record, SanitizedText
from sanitizer.storage import Originals
from sanitizer.wire.answers import Restoration, Stamp, restored_body, stamped_body
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
from sanitizer.wire.headers import WireRecord
from sanitizer.wire.shapes import READ, REQUESTS, endpoint

MAX_BODY = 50_000_000
"""Longest body of a request, in bytes."""

_KEY = re.compile(r"[\w .-]{1,64}")  # names of values that may tell what the value is
# Cached because few paths are let through, and those come again and again.
_endpoint = lru_cache(maxsize=64)(endpoint)


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
    _endpoint: str = field(repr=False)
    _sanitizer: Sanitizer = field(repr=False)
    _in_json: bool = field(default=False, repr=False)

    @property
    def headers(self) -> dict[str, str]:
        """The record as response headers."""
        return self.record.headers()

    def response(
        self, status: int, content_type: str, body: bytes, stamp: Stamp | None = None
    ) -> bytes:
        """Return the restored answer, of type application/json.

        Answers of extra endpoints stay as they are, but for the stamp.

        Args:
            status: HTTP status of the answer.
            content_type: as the API stated it; not trusted, the body itself is read.
            body: the whole of it.
            stamp: returns a copy of the answer's object with something added; not applied to
                errors.

        Raises:
            UpstreamError: a 2xx body that is not this endpoint's JSON. VaultError.
        """
        if self._endpoint != READ:
            return restored_body(self._endpoint, status, body, self._restoration(), stamp)
        return body if stamp is None or not 200 <= status < 300 else stamped_body(body, stamp)

    def stream(self, content_type: str, stamp: Stamp | None = None) -> EventStream:
        """Return what restores the events of an answer that is streamed.

        Args:
            content_type: as the API stated it.
            stamp: as for `response`; applied where `EventStream` says.

        Raises:
            UpstreamError: the answer is no event stream, or the endpoint has none.
        """
        has_none = self._endpoint in (READ, "embeddings")
        if has_none or _media_type(content_type) != "text/event-stream":
            raise UpstreamError("the API did not answer with an event stream")
        return EventStream(self._endpoint, self._restoration(), stamp)

    def _restoration(self) -> Restoration:
        return Restoration(self._sanitizer, self._in_json)


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
    sanitizer.errors.RequestRefused: this method and path are not let through; ...

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
        self._rules, self._roles = policy.wire, policy.roles
        self._max_body = max_body
        self._given_away = GivenAway()
        self._light = (
            sanitizer.derive(policy=policy.identifiers_only()) if policy.reads_models else sanitizer
        )
        # Replaces all identifiers and no words: asked what the name of an argument tells.
        self._finder = (
            sanitizer.derive(policy=replace(policy, perturb=False, detector="none"))
            if policy.reads_models
            else sanitizer
        )
        self._all_keys = bool(policy.lists_private or policy.refuse or policy.refuse_patterns)

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
        name = _endpoint(method, path, tuple(self._rules.endpoints))
        if name == READ:
            return self._read(body)
        document = self._document(headers, body)
        embeds = name == "embeddings"
        if embeds and self._rules.embeddings == "refuse":
            raise RequestRefused(
                "the policy refuses embeddings: replaced words break search without a sign"
                " ([wire] embeddings)",
                "embeddings",
            )
        finder = TextFinder(
            media=self._rules.images == "pass", all_keys=self._all_keys, answered=self._answered
        )
        found = finder.find(REQUESTS[name], document)
        all_light = embeds and self._rules.embeddings == "identifiers"
        said = [slot for slot in finder.slots if self._said(slot)]
        record = self._sanitize(finder.slots, all_light)
        self._hide(finder, all_light, said)
        streams, in_json = document.get("stream") is True, _asks_for_json(document)
        return Exchange(dumps(found), record, streams, name, self._sanitizer, in_json)

    def _by_key(self, slots: Sequence[TextSlot]) -> list[tuple[TextSlot, Record]]:
        """Replace arguments in which their name gives away more identifiers; return those.

        Where words are perturbed, only those that are an identifier as a whole: the others are
        perturbed anyway.
        """
        pairs = [text for slot in slots for text in (f"{slot.key}: {slot.text}", slot.text)]
        results = iter(_batch(self._finder, pairs, LIGHT_ROLE))
        found = []
        for slot, named, alone in zip(slots, results, results, strict=True):
            begin = len(slot.key) + 2
            first = min((r.start for r in named.replacements), default=-1)
            n_found, n_alone = (
                sum(len(r.original) for r in result.replacements) for result in (named, alone)
            )
            whole = first == begin and n_found == len(slot.text)
            if (
                first >= begin
                and n_found > n_alone
                and (whole or not self._sanitizer.policy.perturb)
            ):
                slot.text = named.text[begin:]
                found.append((slot, named.record))
        return found

    def _answered(self, arguments: str) -> str | None:
        """Return what the API sent, if these are arguments of a call that it made earlier."""
        return self._sanitizer.inner.answer_for(arguments, ARGUMENTS_ROLE)

    def _said(self, slot: TextSlot) -> bool:
        """Return True if a text is an answer of the API, which goes back as it came."""
        return (
            slot.kind == "text" and self._sanitizer.inner.answered(slot.role, slot.text) is not None
        )

    def _hide(self, finder: TextFinder, all_light: bool, said: Sequence[TextSlot]) -> None:
        """Replace originals that answers gave away, where nothing tells that they are private.

        Args:
            said: answers of the API. Its own words stay, also where they equal an original: to
                replace them would tell the API that it has guessed.
        """
        given_away = self._given_away
        given_away.follow(self._sanitizer.inner.restorer().originals)
        everywhere = all_light or not self._sanitizer.policy.perturb
        as_they_came = {id(slot) for slot in said}
        for slot in finder.slots:
            if id(slot) in as_they_came:
                continue
            if not all_light and self._roles.get(slot.role) == "public":
                continue  # the policy's owner declared it
            if everywhere or slot.kind == "light":
                text = given_away.text(slot.text)
                slot.text = person(text) if slot.kind == "person" else text
        for slot in finder.numbers:
            if (value := given_away.number(slot.text)) is not None:
                slot.text = f'"{value}"'

    def _read(self, body: bytes) -> Exchange:
        if body:
            raise RequestRefused("a request that reads may have no body", "endpoint", 404)
        record = WireRecord.of(self._sanitizer.policy.name, ())
        return Exchange(b"", record, False, READ, self._sanitizer)

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

    def _sanitize(self, slots: Sequence[TextSlot], all_light: bool) -> WireRecord:
        """Put released texts in place; return their record.

        One batch, and one more for texts whose words the policy would perturb but must not.
        """
        named = (
            [] if all_light else [slot for slot in slots if slot.key and _KEY.fullmatch(slot.key)]
        )
        found = self._by_key(named) if named else []
        if found:
            by_key = {id(slot) for slot, _ in found}
            slots = [slot for slot in slots if id(slot) not in by_key]
        apart = self._light is not self._sanitizer
        light = [slot for slot in slots if self._is_light(slot, all_light)] if apart else []
        full = [slot for slot in slots if not self._is_light(slot, all_light)] if light else slots
        light_records = _released(self._light, light, light=True) + [record for _, record in found]
        return WireRecord.of(
            self._sanitizer.policy.name, _released(self._sanitizer, full), light_records
        )

    def _is_light(self, slot: TextSlot, all_light: bool) -> bool:
        """Return True if only identifiers are replaced in a text."""
        of_role = self._roles.get(slot.role) == "identifiers"
        return all_light or slot.kind == "light" or of_role


def _released(sanitizer: Sanitizer, slots: Sequence[TextSlot], light: bool = False) -> list[Record]:
    """Sanitize the texts in their slots; return their records."""
    if not slots:
        return []
    roles = [LIGHT_ROLE if light else slot.role for slot in slots]
    results = _batch(sanitizer, [slot.text for slot in slots], roles)
    for slot, result in zip(slots, results, strict=True):
        # Always, not only where something was replaced: that would tell whether anything was.
        slot.text = person(result.text) if slot.kind == "person" else result.text
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


def _media_type(content_type: str) -> str:
    """Return type and subtype; "" if another character set than UTF-8 is stated."""
    if content_type == "application/json":
        return content_type
    first, *parameters = [part.strip().lower() for part in content_type.split(";")]
    charsets = [p.partition("=")[2].strip('" ') for p in parameters if p.startswith("charset")]
    return first if all(c in ("utf-8", "utf8") for c in charsets) else ""


_NUMERIC = re.compile(r"[0-9eE\s().+/-]*[0-9][0-9eE\s().+/-]*", re.ASCII)
_NOWHERE = re.compile("(?!)")
_PREFIX = 3


class GivenAway:
    """Originals of a conversation, found where they occur as whole words or numbers.

    Kept up to date with the vault's `Originals`, which are never copied: each call of `follow`
    looks at new ones only. Safe for many threads.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._clear(Originals())

    def _clear(self, source: Originals) -> None:
        self._source = source
        self._n_seen = 0
        self._values: dict[str, str] = {}
        self._numbers: dict[str, str] = {}
        self._prefixes: set[str] = set()
        self._short = False  # True once a text is shorter than a prefix
        self._firsts = ""  # first characters of the texts
        self._begin = _NOWHERE  # matches where a text may begin
        self._lengths: tuple[int, ...] = ()

    def follow(self, originals: Originals) -> None:
        """Add the originals that are new since the last call."""
        with self._lock:
            if originals is not self._source:
                self._clear(originals)
            new = _after(originals, self._n_seen)
            self._n_seen += len(new)
            for value, original in new:
                if value in originals.drawn:
                    continue  # an everyday word such as "gout" may stand anywhere
                # A released value stays whole, even if a user typed it as a text of their own.
                self._add(value, value)
                if original and original not in originals:
                    self._add(original, value)
                    self._numbers |= dict.fromkeys(_spellings(original), value)

    def _add(self, text: str, value: str) -> None:
        self._values[text] = value
        self._prefixes.add(text[:_PREFIX])
        self._short = self._short or len(text) < _PREFIX
        if text[0] not in self._firsts:
            self._firsts += text[0]
            self._begin = _beginning(self._firsts)
        if len(text) not in self._lengths:
            self._lengths = tuple(sorted({*self._lengths, len(text)}, reverse=True))

    def text(self, text: str) -> str:
        """Return the text with released values in place of originals."""
        pieces: list[str] = []
        done = 0
        for begin in self._begin.finditer(text):
            at = begin.start()
            if at < done or not (text[at : at + _PREFIX] in self._prefixes or self._short):
                continue
            if (found := self._longest(text, at)) is not None:
                pieces += [text[done:at], self._values[found]]
                done = at + len(found)
        return "".join([*pieces, text[done:]]) if pieces else text

    def number(self, spelling: str) -> str | None:
        """Return the released value for a JSON number that is an original; None for any other."""
        return next((self._numbers[s] for s in _spellings(spelling) if s in self._numbers), None)

    def _longest(self, text: str, at: int) -> str | None:
        """Return the longest of the texts that occurs here and does not end inside a word."""
        for length in self._lengths:
            end = at + length
            piece = text[at:end]
            if piece in self._values and not (
                end < len(text) and _is_word(piece[-1]) and _is_word(text[end])
            ):
                return piece
        return None


def _after(originals: Originals, n_seen: int) -> list[tuple[str, str]]:
    """Return the pairs that were added after the first `n_seen`."""
    # Counted from the end, since there may be many before; again if another thread adds meanwhile.
    while True:
        n = len(originals)
        new = list(islice(reversed(originals.items()), max(0, n - n_seen)))
        if len(originals) == n:
            return new[::-1]


def _beginning(firsts: str) -> re.Pattern[str]:
    """Match one of these characters; those of words only where a word begins."""
    # The class comes first in the pattern, because `re` scans quickly for a leading class.
    inside = re.escape("".join(filter(_is_word, firsts)))
    whole = "".join(c for c in firsts if not c.isspace())
    if not whole:
        return _NOWHERE
    return re.compile(f"[{re.escape(whole)}]" + (f"(?<!\\w[{inside}])" if inside else ""))


def _is_word(char: str) -> bool:
    return char.isalnum() or char == "_"


def _spellings(text: str) -> set[str]:
    """Return what a number is compared by: its digits, and its value; nothing if it is none."""
    if len(text) > 40 or not _NUMERIC.fullmatch(text):
        return set()
    found = {re.sub(r"[^0-9]", "", text).lstrip("0") or "0"} if "e" not in text.lower() else set()
    try:
        value = abs(Decimal(text))
    except InvalidOperation:
        return found
    return found | {f"{value.normalize():f}"} if abs(value.adjusted()) < 40 else found
