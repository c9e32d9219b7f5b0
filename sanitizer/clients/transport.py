"""What the transports of both HTTP libraries do; `httpx.py` and `httpx2.py` name the library.

The two libraries have the same classes under another module's name, so the behaviour takes the
library as a module. No HTTP library is imported in this file.
"""

from __future__ import annotations

import copy
import weakref
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from typing import Any, Generic, TypeVar

from sanitizer.errors import RequestRefused, SanitizerError
from sanitizer.pipeline.sanitizer import Sanitizer
from sanitizer.wire.answers import Stamp
from sanitizer.wire.event_streams import EventStream
from sanitizer.wire.filter import Exchange, Filter
from sanitizer.wire.headers import answer_headers, record_headers, sent_headers, short_enough

ClientT = TypeVar("ClientT")
TransportT = TypeVar("TransportT")
Restored = TypeVar("Restored")

KEY = "sanitizer_record"
"""Key of the record in an answer's object, and of the exchange in its response's extensions."""
Request = tuple[str, bytes, Mapping[str, str], bytes]
"""Method, target, headers and body of a request."""
# They would not fit the sanitized body, and a digest of private text must not leave.
_SIGNED = frozenset(
    "content-digest content-md5 digest repr-digest signature signature-input"
    " x-amz-content-sha256".split()
)
"""Headers that are computed from the body."""


class TransportFilter:
    """The filter as transports use it: no unexpected error and no signed request gets past it.

    Guarantee: every error is a SanitizerError without prompt text, also an unexpected one; no
    request is returned then. A header that holds a digest or a signature of the body is refused.
    Not protected: other headers, and names in the URL (see `Filter`).
    """

    answers_errors = False  # True for SDKs that try again whatever is raised, and then hide it

    def __init__(self, sanitizer: Sanitizer) -> None:
        self._filter = Filter(sanitizer)
        extracts = sanitizer.inner.answers.extractor is not None
        self._runs_model = extracts or sanitizer.policy.reads_models

    def is_slow(self, n_bytes: int) -> bool:
        """Return True if a body of this length takes too long for an event loop."""
        return self._runs_model or not short_enough(n_bytes)

    def request(
        self, method: str, target: bytes, headers: Mapping[str, str], body: bytes
    ) -> Exchange:
        """Return what may be sent in place of a request, as `Filter.request`.

        Raises:
            SanitizerError: also RequestRefused with reason "signed". Nothing may be sent then.
        """
        with self.stage("the request could not be sanitized, nothing was sent"):
            by_aws = headers.get("authorization", "").startswith("AWS4-")
            if by_aws or _SIGNED.intersection(headers):
                told = "the body was signed before it was sanitized, which the API cannot check"
                raise RequestRefused(told, "signed")
            return self._filter.request(method, target.decode("ascii"), headers, body)

    def response(self, exchange: Exchange, status: int, content_type: str, body: bytes) -> bytes:
        """Restore a whole answer. Raises UpstreamError, VaultError."""
        with self.restoring():
            stamp = self.stamp(exchange)
            return exchange.response(status, content_type, body, stamp, rewrite=True)

    def events(self, exchange: Exchange, content_type: str) -> EventStream:
        """Return what restores a streamed answer. Raises UpstreamError, VaultError."""
        with self.restoring():
            return exchange.stream(content_type, self.stamp(exchange), self.said(exchange))

    def again(self, exchange: Exchange, request: Request, body: bytes) -> Exchange | None:
        """Return the request with what a person let leave, if the answer asks for it; else None.

        `body` is the whole answer, as it came.
        """
        return None

    def said(self, exchange: Exchange) -> Callable[[str], str] | None:
        """Return what is told what a streamed answer said, as of an `EventStream`; None if none."""
        return None

    def restoring(self) -> AbstractContextManager[None]:
        """Raise the errors of restoring an answer as this filter chooses."""
        return self.stage("the answer could not be restored")

    def stamp(self, exchange: Exchange) -> Stamp | None:
        """Return what to put into the answer's object; None leaves it alone."""
        return None

    def error(self, error: SanitizerError) -> SanitizerError:
        """Return the error to raise in place of this one."""
        return error

    @contextmanager
    def stage(self, failure: str) -> Iterator[None]:
        """Raise every error as one of this package, without text of the request."""
        try:
            yield
        except SanitizerError as error:
            raise self.error(error) from None
        except Exception as error:
            # Neither its message nor its traceback is passed on: both may quote the text.
            told = f"{failure}: {type(error).__name__} in the filter"
            raise self.error(SanitizerError(told)) from None


Filtering = Callable[[Sanitizer], TransportFilter]
"""Returns how a transport uses the filter: a class, or a function like one."""


class _Ref(weakref.ref[Any]):
    """A weak reference of our own: Python shares plain ones to the same object."""

    __slots__ = ()


class Owner:
    """The client that a filtered client shares its transports with: it decides who closes them.

    Args:
        client: HTTP client whose transports they are.
        user: object that uses this client, such as an SDK's; default the client itself. The client
            is kept alive with it, since a client closes its transports when it is collected.
    """

    def __init__(self, client: Any, user: object | None = None) -> None:
        self._client = _Ref(client)
        self._user = self._client if user is None else _Ref(user)
        self._kept = None if user is None else client
        self._lasting = _Ref(Owner)

    def let_go(self) -> bool:
        """Drop the hold on the client; return True if the caller must now close the transports."""
        self._kept = None
        # A class lives on, so this is empty only while the garbage collector takes this object
        # apart and has cleared all its references: they tell nothing then.
        if self._lasting() is None:
            return False
        client = self._client()
        return client is None or client.is_closed or self._user() is None


class _Transport(Generic[TransportT]):
    """What synchronous and asynchronous transports share.

    Attributes:
        http: module of the HTTP library.
        events_class: what restores events while they are read.
    """

    http: Any
    events_class: Any

    def __init__(
        self,
        transport: TransportT,
        sanitizer: Sanitizer,
        *,
        filter_class: Filtering = TransportFilter,
        owner: Owner | None = None,
    ) -> None:
        if isinstance(transport, _Transport):  # what is sanitized twice cannot be restored
            raise ValueError("transport must not be a filter already; wrap the one inside it")
        # Any, since the two libraries have no class in common.
        self._transport: Any = transport
        self._filter = filter_class(sanitizer)
        self._owner = owner

    def _sent(self, request: Any, exchange: Exchange) -> Any:
        """Return a new request, so that the given one can be sent again."""
        # The answer has to be read here, so no compression is asked for.
        headers = [*sent_headers(request.headers.raw), (b"accept-encoding", b"identity")]
        more = {"content": exchange.body, "extensions": request.extensions}
        return self.http.Request(request.method, request.url, headers=headers, **more)

    def _events(self, exchange: Exchange, response: Any) -> Any:
        """Return the answer as a restored stream; None if it is to be read whole, as errors are."""
        kind = response.headers.get("content-type", "")
        streams = exchange.streams or kind.lower().startswith("text/event-stream")
        if not streams or not 200 <= response.status_code < 300:
            return None
        stream = _stream_class(self.http, self.events_class)(
            response, self._filter.events(exchange, kind), self._filter
        )
        headers = answer_headers(response.headers.raw)
        return self._answer(exchange, response, headers, stream)

    def _whole(self, exchange: Exchange, response: Any, body: bytes) -> Any:
        """Return the answer with a restored body, not yet read, as from any transport."""
        headers = answer_headers(response.headers.raw)
        if body != response.content:  # then it is JSON, whatever came
            headers = [pair for pair in headers if pair[0].lower() != b"content-type"]
            headers.append((b"content-type", b"application/json"))
        headers.append((b"content-length", b"%d" % len(body)))
        stream = self.http.ByteStream(body)
        return self._answer(exchange, response, headers, stream)

    def _answer(self, exchange: Exchange, response: Any, headers: Any, stream: Any) -> Any:
        headers = [*headers, *record_headers(exchange.record)]
        told = {**response.extensions, KEY: exchange}
        status = response.status_code
        return self.http.Response(status, headers=headers, stream=stream, extensions=told)

    def _failed(self, error: BaseException) -> Any:
        """Raise an error, or return it in an answer after which nobody asks again."""
        if not (self._filter.answers_errors and isinstance(error, SanitizerError)):
            raise error
        told = {"error": {"message": str(error), "type": "sanitizer_error"}}
        status, headers = getattr(error, "status", 400), {"x-should-retry": "false"}
        return self.http.Response(status, headers=headers, json=told, extensions={KEY: error})

    def _is_mine(self) -> bool:
        return self._owner is None or self._owner.let_go()


def is_filter(transport: object) -> bool:
    """Return True if a transport passes its requests through the filter."""
    return isinstance(transport, _Transport)


class _Events:
    """A library's byte stream that restores events while it is read."""

    def __init__(self, response: Any, events: EventStream, to: TransportFilter) -> None:
        self._response = response
        self._events = events
        self._filter = to

    def _restored(self, step: Callable[..., Restored], *given: bytes) -> Restored:
        with self._filter.restoring():
            return step(*given)


class _SyncEvents(_Events):
    def __iter__(self) -> Iterator[bytes]:
        try:
            for data in self._response.iter_bytes():
                if restored := self._restored(self._events.feed, data):
                    yield restored
            if rest := self._restored(self._events.finish):
                yield rest
        except SanitizerError:
            self.close()
            raise

    def close(self) -> None:
        try:
            self._response.close()
        finally:  # what came is kept: it is known when it is sent back
            self._restored(self._events.leave)


class _AsyncEvents(_Events):
    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for data in self._response.aiter_bytes():
                if restored := self._restored(self._events.feed, data):
                    yield restored
            if rest := self._restored(self._events.finish):
                yield rest
        except SanitizerError:
            await self.aclose()
            raise

    async def aclose(self) -> None:
        try:
            await self._response.aclose()
        finally:
            self._restored(self._events.leave)


@cache
def _stream_class(http: Any, events_class: Any) -> Any:
    """Return a class of the library's byte streams, which it asks for by type."""
    base = http.SyncByteStream if events_class is _SyncEvents else http.AsyncByteStream
    return type("RestoredStream", (events_class, base), {})


class SyncTransport(_Transport[TransportT]):
    """Behaviour of a `FilterTransport`."""

    events_class = _SyncEvents

    def handle_request(self, request: Any) -> Any:
        """Sanitize a request, send it, and restore its answer."""
        response = None
        try:
            asked = request.method, request.url.raw_path, request.headers, request.read()
            exchange = self._filter.request(*asked)
            response = self._transport.handle_request(self._sent(request, exchange))
            if (streamed := self._events(exchange, response)) is not None:
                return streamed
            if (again := self._filter.again(exchange, asked, response.read())) is not None:
                response.close()
                exchange = again
                response = self._transport.handle_request(self._sent(request, exchange))
            kind = response.headers.get("content-type", "")
            body = self._filter.response(exchange, response.status_code, kind, response.read())
            return self._whole(exchange, response, body)
        except BaseException as error:
            if response is not None:
                response.close()
            return self._failed(error)

    def close(self) -> None:
        """Close the other transport, unless a living client uses it too."""
        if self._is_mine():
            self._transport.close()


class AsyncTransport(_Transport[TransportT]):
    """Behaviour of an `AsyncFilterTransport`."""

    events_class = _AsyncEvents

    async def handle_async_request(self, request: Any) -> Any:
        """Sanitize a request, send it, and restore its answer."""
        response = None
        try:
            asked = request.method, request.url.raw_path, request.headers, await request.aread()
            exchange = await self._run(self._filter.request, *asked)
            response = await self._transport.handle_async_request(self._sent(request, exchange))
            if (streamed := self._events(exchange, response)) is not None:
                return streamed
            again = await self._run(self._filter.again, exchange, asked, await response.aread())
            if again is not None:
                await response.aclose()
                exchange = again
                response = await self._transport.handle_async_request(self._sent(request, exchange))
            kind = response.headers.get("content-type", "")
            body = await self._run(
                self._filter.response, exchange, response.status_code, kind, await response.aread()
            )
            return self._whole(exchange, response, body)
        except BaseException as error:
            from anyio import CancelScope

            with CancelScope(shield=True):  # a cancelled call has to close its connection too
                if response is not None:
                    await response.aclose()
            return self._failed(error)

    async def aclose(self) -> None:
        """Close the other transport, unless a living client uses it too."""
        if self._is_mine():
            await self._transport.aclose()

    async def _run(self, work: Any, *given: Any) -> Any:
        """Call the filter, in a thread if the body, its last argument, takes long."""
        if not self._filter.is_slow(len(given[-1])):
            return work(*given)
        from anyio.to_thread import run_sync

        return await run_sync(work, *given)


def filtered_client(
    kinds: Sequence[type[_Transport[Any]]],
    client: ClientT,
    sanitizer: Sanitizer,
    *,
    filter_class: Filtering = TransportFilter,
    user: object | None = None,
) -> ClientT:
    """Copy an HTTP client and filter every transport of the copy, as the library's `filtered`.

    `kinds` are the library's two classes of transports, the synchronous one first.
    """
    given: Any = client
    http = kinds[0].http
    is_sync = isinstance(client, http.Client)
    base, kind = (http.Client, kinds[0]) if is_sync else (http.AsyncClient, kinds[1])
    if type(given)._transport_for_url is not base._transport_for_url:
        kind_of_client = type(client).__name__
        told = f"a {kind_of_client} chooses its transports itself, so none can be wrapped for it"
        raise TypeError(told)
    owner = Owner(client, user)

    def wrap(transport: Any) -> Any:
        return kind(transport, sanitizer, filter_class=filter_class, owner=owner)

    new = copy.copy(given)
    new._transport = wrap(given._transport)
    if not given.is_closed:
        new._state = type(given._state).UNOPENED  # so that it can be entered as a context
    new._mounts = {
        pattern: None if mount is None else wrap(mount) for pattern, mount in given._mounts.items()
    }
    return new  # type: ignore[no-any-return]
