"""Transports for `httpx`: every request of a client goes through the filter.

    client = httpx.Client(transport=FilterTransport(httpx.HTTPTransport(), sanitizer))

A client's proxies and mounts are transports of their own: wrap each, or use `filtered`, which wraps
them all.
"""

from __future__ import annotations

import copy
from collections.abc import AsyncIterator, Iterator
from typing import TypeVar

import anyio.to_thread
import httpx

from sanitizer.clients.transport import (
    Events,
    Owner,
    TransportFilter,
    answer_headers,
    is_streamed,
    sent_headers,
)
from sanitizer.errors import SanitizerError
from sanitizer.pipeline import Sanitizer
from sanitizer.wire import Exchange

ClientT = TypeVar("ClientT", httpx.Client, httpx.AsyncClient)


class FilterTransport(httpx.BaseTransport):
    """Sanitizes requests before another transport sends them, and restores the answers.

    The request that was given stays as it was: it can be sent again, on a retry or a redirect, and
    goes through the filter again, which gives the same bytes. Streams stay streams; closing one
    closes the API's. The record is in the answer's headers, `sanitizer-epsilon-total` and so on.

    Guarantee: as `Filter`. Errors are raised as they are, SanitizerErrors, before anything is sent;
    errors of the other transport too.
    Not protected: headers, and names in the URL. Authentication that signs the body is refused if
    its header is a known one.

    Args:
        transport: sends what is sanitized. sanitizer: of the conversation.
        carrier: how the filter is used. owner: whose transport it is, if not ours alone to close.

    Raises:
        ValueError: the transport is a filter already.
    """

    def __init__(
        self,
        transport: httpx.BaseTransport,
        sanitizer: Sanitizer,
        *,
        carrier: type[TransportFilter] = TransportFilter,
        owner: Owner | None = None,
    ) -> None:
        _check(transport)
        self._transport, self._carrier, self._owner = transport, carrier(sanitizer), owner

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        exchange = self._carrier.request(
            request.method, request.url.raw_path, request.headers, request.read()
        )
        response = self._transport.handle_request(_sent(request, exchange))
        try:
            return self._answer(exchange, response)
        except BaseException:
            response.close()
            raise

    def _answer(self, exchange: Exchange, response: httpx.Response) -> httpx.Response:
        kind = response.headers.get("content-type", "")
        if is_streamed(exchange, response.status_code, kind):
            stream = _Stream(response, self._carrier.events(exchange, kind))
            return _streamed(response, exchange, stream)
        body = self._carrier.response(exchange, response.status_code, kind, response.read())
        return _whole(response, exchange, body)

    def close(self) -> None:
        if self._owner is None or self._owner.let_go():
            self._transport.close()


class AsyncFilterTransport(httpx.AsyncBaseTransport):
    """As `FilterTransport`, for asynchronous clients. What takes long is done in a thread.

    A cancelled call sends nothing once it is cancelled; what is being sanitized then is finished,
    and charged.

    Args:
        transport, sanitizer, carrier, owner: as `FilterTransport`.

    Raises:
        ValueError: the transport is a filter already.
    """

    def __init__(
        self,
        transport: httpx.AsyncBaseTransport,
        sanitizer: Sanitizer,
        *,
        carrier: type[TransportFilter] = TransportFilter,
        owner: Owner | None = None,
    ) -> None:
        _check(transport)
        self._transport, self._carrier, self._owner = transport, carrier(sanitizer), owner

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        given = (request.method, request.url.raw_path, request.headers, await request.aread())
        if self._carrier.heavy(len(given[-1])):
            exchange = await anyio.to_thread.run_sync(self._carrier.request, *given)
        else:
            exchange = self._carrier.request(*given)
        response = await self._transport.handle_async_request(_sent(request, exchange))
        try:
            return await self._answer(exchange, response)
        except BaseException:
            with anyio.CancelScope(shield=True):
                await response.aclose()
            raise

    async def _answer(self, exchange: Exchange, response: httpx.Response) -> httpx.Response:
        kind = response.headers.get("content-type", "")
        if is_streamed(exchange, response.status_code, kind):
            stream = _AsyncStream(response, self._carrier.events(exchange, kind))
            return _streamed(response, exchange, stream)
        given = (exchange, response.status_code, kind, await response.aread())
        if self._carrier.heavy(len(given[-1])):
            body = await anyio.to_thread.run_sync(self._carrier.response, *given)
        else:
            body = self._carrier.response(*given)
        return _whole(response, exchange, body)

    async def aclose(self) -> None:
        if self._owner is None or self._owner.let_go():
            await self._transport.aclose()


def filtered(
    client: ClientT,
    sanitizer: Sanitizer,
    *,
    carrier: type[TransportFilter] = TransportFilter,
    user: object | None = None,
) -> ClientT:
    """A client like this one whose every transport is filtered: the main one, proxies and mounts.

    Cookies, headers, hooks and connections are shared with the given client, which works on
    unfiltered. Closing the new one closes the connections if the given one is gone or closed;
    closing the given one ends what is under way in both.

    Args:
        client: any. sanitizer: of the conversation. carrier: as `FilterTransport`. user: see
            `Owner`.

    Raises:
        ValueError: a transport is a filter already. TypeError: the client chooses its transports in
            its own way.
    """
    base = httpx.Client if isinstance(client, httpx.Client) else httpx.AsyncClient
    if type(client)._transport_for_url is not base._transport_for_url:
        raise TypeError(
            f"a {type(client).__name__} chooses its transports itself, so none can be wrapped for it"
        )
    wrap = FilterTransport if isinstance(client, httpx.Client) else AsyncFilterTransport
    new, owner = copy.copy(client), Owner(client, user)
    new._transport = wrap(client._transport, sanitizer, carrier=carrier, owner=owner)
    if not client.is_closed:
        new._state = type(client._state).UNOPENED  # so that it can be a context of its own
    new._mounts = {
        pattern: None if mount is None else wrap(mount, sanitizer, carrier=carrier, owner=owner)
        for pattern, mount in client._mounts.items()
    }
    return new


class _Stream(httpx.SyncByteStream):
    def __init__(self, response: httpx.Response, events: Events) -> None:
        self._response, self._events = response, events

    def __iter__(self) -> Iterator[bytes]:
        try:
            for data in self._response.iter_bytes():
                if restored := self._events.feed(data):
                    yield restored
            if rest := self._events.finish():
                yield rest
        except SanitizerError:
            self.close()
            raise

    def close(self) -> None:
        self._response.close()


class _AsyncStream(httpx.AsyncByteStream):
    def __init__(self, response: httpx.Response, events: Events) -> None:
        self._response, self._events = response, events

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for data in self._response.aiter_bytes():
                if restored := self._events.feed(data):
                    yield restored
            if rest := self._events.finish():
                yield rest
        except SanitizerError:
            await self.aclose()
            raise

    async def aclose(self) -> None:
        await self._response.aclose()


def _check(transport: object) -> None:
    """Twice sanitized is nonsense."""
    if isinstance(transport, (FilterTransport, AsyncFilterTransport)):
        raise ValueError("transport must not be a filter already; wrap the one inside it")


def _sent(request: httpx.Request, exchange: Exchange) -> httpx.Request:
    """A new request, so that the one given can be sent again."""
    headers = sent_headers(request.headers.raw)
    return httpx.Request(
        request.method,
        request.url,
        headers=headers,
        content=exchange.body,
        extensions=request.extensions,
    )


def _streamed(
    response: httpx.Response,
    exchange: Exchange,
    stream: httpx.SyncByteStream | httpx.AsyncByteStream,
) -> httpx.Response:
    headers = answer_headers(response.headers.raw, exchange)
    return httpx.Response(
        response.status_code, headers=headers, stream=stream, extensions=response.extensions
    )


def _whole(response: httpx.Response, exchange: Exchange, body: bytes) -> httpx.Response:
    """Not yet read, as from any transport."""
    headers = answer_headers(
        response.headers.raw, exchange, body, rewritten=body != response.content
    )
    return httpx.Response(
        response.status_code,
        headers=headers,
        stream=httpx.ByteStream(body),
        extensions=response.extensions,
    )
