"""The API's endpoints: read, sanitize, ask the upstream, restore."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import lru_cache
from time import perf_counter

from starlette.types import Receive, Scope, Send

from sanitizer.errors import UpstreamError
from sanitizer.proxy import forwarding
from sanitizer.proxy.conversations import HEADER, Conversations
from sanitizer.proxy.failures import Failure, Headers, answer
from sanitizer.proxy.metrics import Metrics
from sanitizer.proxy.request_body import read_body, while_client_waits
from sanitizer.proxy.settings import ProxySettings
from sanitizer.proxy.upstream import MAX_ANSWER, Upstream, UpstreamAnswer
from sanitizer.proxy.workers import Workers
from sanitizer.wire import Exchange, WireRecord

SILENT = "the upstream was silent for too long"
LAST_WORDS_SECONDS = 1.0


@dataclass(frozen=True)
class Call:
    """One request of a client, read in full, and the way to answer it."""

    method: str
    path: str
    url: str
    conversation: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)
    send: Send = field(repr=False)


class Api:
    """ASGI application of everything that is neither the page nor about the proxy itself.

    Guarantee: the upstream receives what the filter returned and the headers of `forwarding`, or
    nothing.
    """

    def __init__(
        self,
        settings: ProxySettings,
        conversations: Conversations,
        upstream: Upstream,
        workers: Workers,
        metrics: Metrics,
    ) -> None:
        self._settings, self._conversations, self._upstream = settings, conversations, upstream
        self._workers, self._metrics = workers, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = scope["state"]["headers"]
        raw_path = scope["raw_path"].decode("latin-1")
        path, url = forwarding.target(self._settings.upstream, raw_path, scope["query_string"])
        conversation = self._conversations.name(headers)
        body = await read_body(receive, headers, self._settings.max_body, self._settings.timeout)
        call = Call(scope["method"], path, url, conversation, headers, body, send)
        await while_client_waits(self._exchange(call), receive)

    async def _exchange(self, call: Call) -> None:
        begin = perf_counter()
        exchange = await self._workers.run(len(call.body), lambda: self._filtered(call))
        asked = perf_counter()
        self._metrics.time("filter", asked - begin)
        if exchange.record.charged:
            self._metrics.charge(exchange.record.charged)
        begun = await self._ask(call, exchange)
        self._metrics.time("upstream", perf_counter() - asked)
        try:
            streams = (
                exchange.streams
                and begun.status < 300
                and begun.content_type.startswith("text/event-stream")
            )
            await (self._stream if streams else self._whole)(call, exchange, begun)
        finally:
            begun.close()
        self._metrics.time("request", perf_counter() - begin)

    def _filtered(self, call: Call) -> Exchange:
        return self._conversations.filter(call.conversation).request(
            call.method, call.path, call.headers, call.body
        )

    async def _ask(self, call: Call, exchange: Exchange) -> UpstreamAnswer:
        headers = forwarding.to_upstream(
            call.headers, self._settings.key, exchange.body, exchange.streams
        )
        try:
            async with asyncio.timeout(self._settings.timeout):
                return await self._upstream.send(call.method, call.url, headers, exchange.body)
        except TimeoutError:
            raise UpstreamError(SILENT, 504) from None

    async def _whole(self, call: Call, exchange: Exchange, begun: UpstreamAnswer) -> None:
        body = await self._read(begun)
        shown = [*forwarding.to_client(begun.headers), *_record_headers(call, exchange)]
        if begun.status >= 300 and "json" not in begun.content_type:
            message = f"the upstream answered with status {begun.status} and no JSON"
            restored, content_type = (
                Failure(begun.status, message, "upstream").body(),
                "application/json",
            )
        else:
            content_type = begun.content_type
            restored = await self._workers.run(
                len(body), lambda: exchange.response(begun.status, begun.content_type, body)
            )
        await answer(
            call.send,
            begun.status,
            restored,
            [(b"content-type", content_type.encode("latin-1")), *shown],
        )

    async def _read(self, begun: UpstreamAnswer) -> bytes:
        pieces: list[bytes] = []
        size, loop, seconds = 0, asyncio.get_running_loop(), self._settings.timeout
        try:
            async with nullcontext() if begun.is_here() else asyncio.timeout(seconds) as limit:
                while chunk := await begun.more():
                    pieces.append(chunk)
                    size += len(chunk)
                    if size > MAX_ANSWER:
                        raise UpstreamError("the upstream's answer is too long")
                    if limit is not None:
                        limit.reschedule(loop.time() + seconds)
        except TimeoutError:
            raise UpstreamError(SILENT, 504) from None
        return b"".join(pieces)

    async def _stream(self, call: Call, exchange: Exchange, begun: UpstreamAnswer) -> None:
        """Events as they come. Once begun, a failure can only be told inside the stream, as its
        last event.
        """
        kept = [*forwarding.to_client(begun.headers), *_record_headers(call, exchange)]
        headers = [
            (b"content-type", b"text/event-stream; charset=utf-8"),
            (b"cache-control", b"no-store"),
            *kept,
        ]
        await call.send({"type": "http.response.start", "status": begun.status, "headers": headers})
        try:
            last = await self._events(call, exchange, begun)
        except asyncio.CancelledError:
            await self._last_words(
                call, Failure(503, "the proxy is shutting down", "shutdown", retry=True)
            )
            raise
        except Exception as error:
            failure = Failure.of(
                UpstreamError(SILENT, 504) if isinstance(error, TimeoutError) else error
            )
            await self._last_words(call, failure)
        else:
            await call.send({"type": "http.response.body", "body": last})

    async def _events(self, call: Call, exchange: Exchange, begun: UpstreamAnswer) -> bytes:
        """Passes on all events but the last bytes, which it returns."""
        loop, seconds, events = (
            asyncio.get_running_loop(),
            self._settings.timeout,
            exchange.stream(begun.content_type),
        )
        async with asyncio.timeout(seconds) as limit:
            while chunk := await begun.more():
                first, mark, rest = chunk.partition(b"\n\n")
                for piece in (
                    first + mark,
                    rest,
                ):  # many may have come at once: the first does not wait for them
                    if piece and (shown := events.feed(piece)):
                        await call.send(
                            {"type": "http.response.body", "body": shown, "more_body": True}
                        )
                limit.reschedule(loop.time() + seconds)
            return await self._workers.run(0, events.finish)

    async def _last_words(self, call: Call, failure: Failure) -> None:
        self._metrics.refusal(failure.code)
        event = failure.event(forwarding.endpoint_of(call.path))
        try:
            async with asyncio.timeout(
                LAST_WORDS_SECONDS
            ):  # a client that does not read holds nothing up
                await call.send({"type": "http.response.body", "body": event})
        except TimeoutError:
            pass


def _record_headers(call: Call, exchange: Exchange) -> Headers:
    return [*_encoded(exchange.record), (HEADER.encode(), call.conversation.encode())]


@lru_cache(maxsize=256)
def _encoded(record: WireRecord) -> tuple[tuple[bytes, bytes], ...]:
    """Most requests of a conversation release as much as another: equal records, which hold no
    text.
    """
    return tuple((name.encode(), value.encode()) for name, value in record.headers().items())
