"""What the HTTP adapters share: which bytes and headers go out, and which come back. No HTTP
library here.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from sanitizer.errors import RequestRefused, SanitizerError
from sanitizer.pipeline import Sanitizer
from sanitizer.wire import Exchange, Filter

RawHeaders = Sequence[tuple[bytes, bytes]]

INLINE_BYTES = 4_000
"""An event loop does no more than this by itself: at most about 5 ms, where every few words are an
identifier.
"""

# Of the body as it was: its length, its spelling, what the answer may be compressed with.
_OF_THE_BODY = frozenset(
    [b"accept-encoding", b"content-encoding", b"content-length", b"expect", b"transfer-encoding"]
)
# Computed from the body: they would not fit the sanitized one, and a digest of private text must
# not leave.
_SIGNED = frozenset(
    [
        "content-digest",
        "content-md5",
        "digest",
        "repr-digest",
        "signature",
        "signature-input",
        "x-amz-content-sha256",
    ]
)


class Events(Protocol):
    """An answer that is streamed: bytes in, restored bytes out."""

    def feed(self, data: bytes) -> bytes:
        """What can be passed on now. Raises UpstreamError: close the stream then."""

    def finish(self) -> bytes:
        """The rest. Raises UpstreamError."""


class TransportFilter:
    """Takes requests through the filter, and answers back.

    Guarantee: every error is a SanitizerError without prompt text, also those nobody expected; no
    request is returned then. A header that holds a digest or a signature of the body is refused.
    Not protected: other headers, and names in the URL (see `Filter`).

    Args:
        sanitizer: of the conversation.
    """

    def __init__(self, sanitizer: Sanitizer) -> None:
        self._filter = Filter(sanitizer)
        self._heavy = sanitizer.policy.perturb or bool(sanitizer.policy.names)

    def heavy(self, n_bytes: int) -> bool:
        """Whether a body of this length takes too long for an event loop."""
        return self._heavy or n_bytes > INLINE_BYTES

    def request(
        self, method: str, target: bytes, headers: Mapping[str, str], body: bytes
    ) -> Exchange:
        """What may be sent.

        Args:
            method: in capitals. target: path and query as sent. headers: with lower-case names.
                body: whole.

        Raises:
            RequestRefused: as `Filter.request`, and with reason "signed". SanitizerError. Nothing
                may be sent then.
        """
        with self._stage("the request could not be sanitized, nothing was sent"):
            signed = _SIGNED.intersection(headers) or headers.get("authorization", "").startswith(
                "AWS4-"
            )
            if signed:
                raise RequestRefused(
                    "the body was signed before it was sanitized, which the API cannot check",
                    "signed",
                )
            return self._filter.request(method, target.decode("ascii"), headers, body)

    def response(self, exchange: Exchange, status: int, content_type: str, body: bytes) -> bytes:
        """A whole answer, restored. Raises UpstreamError, VaultError."""
        with self._stage("the answer could not be restored"):
            return exchange.response(status, content_type, body)

    def events(self, exchange: Exchange, content_type: str) -> Events:
        """An answer that is streamed, restored. Raises UpstreamError, VaultError."""
        with self._stage("the answer could not be restored"):
            return _Guarded(self, exchange.stream(content_type))

    def error(self, error: SanitizerError) -> SanitizerError:
        """The error to raise in place of this one."""
        return error

    @contextmanager
    def _stage(self, failure: str) -> Iterator[None]:
        try:
            yield
        except SanitizerError as error:
            raise self.error(error) from None
        except Exception as error:  # its message may quote the text
            raise self.error(
                SanitizerError(f"{failure}: {type(error).__name__} in the filter")
            ) from None


class _Ref(weakref.ref[Any]):
    """A weak reference of our own: plain ones to the same object are one and the same."""

    __slots__ = ()


class Owner:
    """Whose transports a filtered client uses, and when they are to be closed with it.

    Args:
        client: the HTTP client whose transports they are. user: of the client, which is kept as
            long as nobody has let go of it, since it closes its transports when it is collected;
            default the client itself.
    """

    def __init__(self, client: Any, user: object | None = None) -> None:
        self._client = _Ref(client)
        self._user = self._client if user is None else _Ref(user)
        self._kept = None if user is None else client
        self._lasting = _Ref(Owner)

    def let_go(self) -> bool:
        """Whether nobody else uses the transports any more, so that they are to be closed."""
        self._kept = None
        if (
            self._lasting() is None
        ):  # the collector has us, and emptied our references: they tell nothing
            return False
        client = self._client()
        return client is None or client.is_closed or self._user() is None


class _Guarded:
    """A stream whose errors are the carrier's."""

    def __init__(self, carrier: TransportFilter, events: Events) -> None:
        self._carrier, self._events = carrier, events

    def feed(self, data: bytes) -> bytes:
        with self._carrier._stage("the answer could not be restored"):
            return self._events.feed(data)

    def finish(self) -> bytes:
        with self._carrier._stage("the answer could not be restored"):
            return self._events.finish()


def is_streamed(exchange: Exchange, status: int, content_type: str) -> bool:
    """Whether an answer is to be read as a stream; errors never are."""
    return 200 <= status < 300 and (
        exchange.streams or content_type.lower().startswith("text/event-stream")
    )


def sent_headers(headers: RawHeaders) -> list[tuple[bytes, bytes]]:
    """A request's headers without those of the original body; the answer is asked for uncompressed."""
    return [*_without(headers, _OF_THE_BODY), (b"accept-encoding", b"identity")]


def answer_headers(
    headers: RawHeaders, exchange: Exchange, body: bytes | None = None, rewritten: bool = False
) -> list[tuple[bytes, bytes]]:
    """An answer's headers as they fit what is restored, and the record, which the API cannot forge.

    Args:
        body: the whole of it; None for a stream. rewritten: whether the body is ours, and so JSON,
            whatever came.
    """
    kept = _without(headers, _OF_THE_BODY | {b"content-type"} if rewritten else _OF_THE_BODY)
    kind = [(b"content-type", b"application/json")] if rewritten else []
    size = [] if body is None else [(b"content-length", b"%d" % len(body))]
    record = [
        (name.encode("ascii"), value.encode("ascii")) for name, value in exchange.headers.items()
    ]
    return (
        [(n, v) for n, v in kept if not n.lower().startswith(b"sanitizer-")] + kind + size + record
    )


def _without(headers: RawHeaders, names: frozenset[bytes]) -> list[tuple[bytes, bytes]]:
    return [(name, value) for name, value in headers if name.lower() not in names]
