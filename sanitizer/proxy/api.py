"""The API's endpoints: read a request, sanitize it, ask the upstream, restore the answer.

Errors are answered in the API's own shape, so that its SDKs raise them as they raise its own.
"""

from __future__ import annotations

import asyncio
import json
import logging
import traceback
from collections import Counter
from collections.abc import Coroutine, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any, TypeVar

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from sanitizer.answers.asking import Need
from sanitizer.errors import (
    AuditError,
    BudgetExceeded,
    LedgerError,
    ModelError,
    NotCertified,
    PolicyError,
    RequestRefused,
    SanitizerError,
    UpstreamError,
    VaultError,
)
from sanitizer.proxy.access import Headers, ProxySettings
from sanitizer.proxy.shared import HEADER, Metrics
from sanitizer.proxy.tenants import Anyone, Caller, Tenants, shown
from sanitizer.proxy.upstream import SILENT, UpstreamAnswer, target, to_client, to_upstream
from sanitizer.proxy.workers import Workers
from sanitizer.wire.endpoints import endpoint_of, format_of
from sanitizer.wire.event_streams import EventStream, may_settle
from sanitizer.wire.filter import Exchange
from sanitizer.wire.headers import SHORT_BYTES, record_headers

Result = TypeVar("Result")
log = logging.getLogger("sanitizer.proxy")

LAST_EVENT_SECONDS = 1.0
"""Time that a client may take for the event that ends a stream."""
SHARE = 0.75
"""Share of all requests under way that one tenant, or holder of a key, may have."""
UNWATCHED_SECONDS = 0.02
"""What is answered sooner is answered, whether or not the client is there."""

PREVIEW = "/sanitizer/preview"
"""Path below which a request is looked at and not sent."""
JSON: Headers = [(b"content-type", b"application/json")]
RETRY_AFTER = 1.0
"""Seconds, where the error itself says nothing."""
_CODES = {
    BudgetExceeded: "budget_exceeded",
    NotCertified: "not_certified",
    PolicyError: "policy",
    VaultError: "vault",
    LedgerError: "ledger",
    ModelError: "model",
    AuditError: "audit",
}
_REFUSALS = (BudgetExceeded, NotCertified, PolicyError)
_OF_BOTH = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
_KINDS: Mapping[str, tuple[str, str, Mapping[int, str]]] = {
    "openai": ("invalid_request_error", "server_error", _OF_BOTH),
    "anthropic": (
        "invalid_request_error",
        "api_error",
        _OF_BOTH | {404: "not_found_error", 413: "request_too_large", 504: "timeout_error"},
    ),
    "gemini": (
        "INVALID_ARGUMENT",
        "INTERNAL",
        {401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND"}
        | {429: "RESOURCE_EXHAUSTED", 503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED"},
    ),
}
"""Format -> names of kinds of errors: of requests, of servers, and of single statuses."""


# ---- errors as answers ----


@dataclass(frozen=True)
class Failure:
    """Reason why a request was not answered.

    Attributes:
        message: what happened, in words that hold no text of the request.
        code: a short fixed word, for metrics too.
        retry: True if the same request may succeed soon.
        retry_after: seconds to wait before that.
    """

    status: int
    message: str
    code: str
    retry: bool = False
    retry_after: float = RETRY_AFTER

    @classmethod
    def of(cls, error: BaseException) -> Failure:
        """Return what a client may learn of an error.

        The message of an error that is not this package's own is never shown: it may quote text.
        """
        if isinstance(error, RequestRefused):
            return cls(error.status, str(error), error.reason, retry=error.status in (408, 429))
        if isinstance(error, UpstreamError):
            return cls(error.status, str(error), "upstream", retry=True)
        if isinstance(error, HTTPException):
            missing = error.status_code == 404
            what = "no such page" if missing else "this method is not allowed here"
            return cls(error.status_code, what, "page")
        code = next((code for kind, code in _CODES.items() if isinstance(error, kind)), "internal")
        if isinstance(error, _REFUSALS):
            return cls(403, str(error), code)
        if isinstance(error, SanitizerError) and error.retry_after is not None:
            told = f"the proxy's storage does not answer ({code}); nothing was sent, try again"
            return cls(503, told, code, True, error.retry_after)
        return cls(500, f"the proxy failed ({code}); see its log", code)

    def document(self, endpoint: str = "other") -> dict[str, Any]:
        """Return the body of the answer, in the shape of the endpoint's API."""
        form = format_of(endpoint)
        if form == "ollama":
            return {"error": self.message, "code": self.code}
        of_request, of_server, by_status = _KINDS[form]
        kind = by_status.get(self.status, of_server if self.status >= 500 else of_request)
        if form == "gemini":
            told = {"code": self.status, "message": self.message, "status": kind}
            return {"error": {**told, "details": [{"reason": self.code}]}}
        if form == "anthropic":
            inside = {"type": kind, "message": self.message, "code": self.code}
            return {"type": "error", "error": inside}
        kind = "insufficient_quota" if self.code == "budget_exceeded" else kind
        said = {"message": self.message, "type": kind, "param": None, "code": self.code}
        return {"error": said}

    def event(self, endpoint: str) -> bytes:
        """Return one event that ends a stream, which the SDKs raise as an error."""
        document = self.document(endpoint)
        if endpoint == "responses":  # whose events have a type, and its fields beside it
            document = {**document["error"], "type": "error", **document}
        body = json.dumps(document).encode()
        if format_of(endpoint) == "ollama":
            return body + b"\n"
        is_named = endpoint == "responses" or format_of(endpoint) == "anthropic"
        return b"event: error\n" * is_named + b"data: " + body + b"\n\n"


SHUTDOWN = Failure(503, "the proxy is shutting down", "shutdown", retry=True)


def log_failure(error: Exception) -> None:
    """Log a failure of the proxy or its upstream; mistakes of clients are counted, not logged.

    Messages of this package's errors hold no text; of all other errors only type and line are told.
    A database that is down was logged when it went, not again for each request.
    """
    if isinstance(error, UpstreamError):
        log.warning("%s", error)
    elif Failure.of(error).status < 500 or getattr(error, "is_repeated", False):
        return
    elif isinstance(error, SanitizerError):
        log.error("%s: %s", type(error).__name__, error)
    else:
        frames = traceback.extract_tb(error.__traceback__)
        where = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "unknown"
        log.error("%s at %s", type(error).__name__, where)


async def answer(send: Send, status: int, body: bytes, headers: Headers = JSON) -> None:
    """Send one whole answer."""
    length = (b"content-length", str(len(body)).encode())
    await send({"type": "http.response.start", "status": status, "headers": [*headers, length]})
    await send({"type": "http.response.body", "body": body})


# ---- requests, read within limits ----


class ClientGone(Exception):
    """The client closed the connection: nobody waits for an answer."""


async def read_body(receive: Receive, headers: Mapping[str, str], settings: ProxySettings) -> bytes:
    """Return the whole body of a request.

    Raises:
        RequestRefused: 413 as soon as more than `max_body` bytes were sent or announced; 408 if
            the body takes longer than `timeout`.
        ClientGone: the client left before the end of the body.
    """
    announced, most = headers.get("content-length", "0"), settings.max_body
    told = f"a request's body may have at most {most} bytes; nothing was sent"
    too_large = RequestRefused(told, "size", 413)
    # 18 digits at most, since Python refuses to read numbers of thousands of digits.
    if not announced.isdecimal() or len(announced) > 18 or int(announced) > most:
        raise too_large
    body = bytearray()
    try:
        async with asyncio.timeout(settings.timeout):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise ClientGone
                body += message.get("body", b"")
                if len(body) > most:
                    raise too_large
                if not message.get("more_body", False):
                    return bytes(body)
    except TimeoutError:
        told = "the body of the request did not arrive in time"
        raise RequestRefused(told, "timeout", 408) from None


async def read_json(request: Request, settings: ProxySettings) -> tuple[dict[str, Any], int]:
    """Return the object in the body of a request, and the body's length; refuse any other body."""
    body = await read_body(request.receive, request.state.headers, settings)
    try:
        given = json.loads(body)
    except (ValueError, RecursionError):
        raise RequestRefused("malformed JSON", "json") from None
    if not isinstance(given, dict):
        raise RequestRefused("a request must be a JSON object", "json")
    return given, len(body)


async def while_client_waits(work: Coroutine[Any, Any, Result], receive: Receive) -> Result:
    """Run the work to its end, or cancel it when the client leaves; return its result.

    Raises:
        ClientGone: the client left and the work was cancelled.
    """
    waiting = asyncio.current_task()
    assert waiting is not None
    gone = False

    async def watch() -> None:
        nonlocal gone
        while (await receive())["type"] != "http.disconnect":
            pass
        gone = True
        waiting.cancel()

    watchers: list[asyncio.Task[None]] = []
    loop = asyncio.get_running_loop()
    # Most requests end before the timer does, and are spared the cost of a second task.
    timer = loop.call_later(UNWATCHED_SECONDS, lambda: watchers.append(loop.create_task(watch())))
    try:
        return await work
    except asyncio.CancelledError:
        # `uncancel` returns 0 if the watcher alone has cancelled; else the server ends too.
        if gone and waiting.uncancel() == 0:
            raise ClientGone from None
        raise
    finally:
        timer.cancel()
        for watcher in watchers:
            watcher.cancel()


def json_answer(value: Mapping[str, Any]) -> Response:
    """Return an answer of the proxy's own endpoints, which no cache keeps."""
    body = json.dumps(value, allow_nan=False)
    return Response(body, media_type="application/json", headers={"cache-control": "no-store"})


async def answered(work: Coroutine[Any, Any, Mapping[str, Any]], request: Request) -> Response:
    """Answer with what the work returns, as long as the client waits for it."""
    return json_answer(await while_client_waits(work, request.receive))


# ---- the endpoints ----


@dataclass(frozen=True)
class Call:
    """One request of a client, read in full, with the channel of its answer.

    Attributes:
        path: path and query, for the filter.
        url: what the upstream is asked for.
    """

    method: str
    path: str
    url: str
    endpoint: str
    caller: Caller
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)
    send: Send = field(repr=False)


@dataclass(frozen=True)
class Api:
    """ASGI application that answers every path but those of the page and the proxy itself.

    Guarantee: the upstream receives the body that the filter returned and the headers that
    `to_upstream` lists, or nothing.
    """

    settings: ProxySettings
    callers: Anyone | Tenants
    workers: Workers
    metrics: Metrics
    under_way: Counter[str] = field(default_factory=Counter)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = scope["state"]["headers"]
        raw_path = scope["raw_path"].decode("latin-1")
        who: Mapping[str, str] = {}
        caller: Caller | None = None
        try:
            certificate = scope["state"].get("certificate")
            if is_preview := raw_path.startswith(f"{PREVIEW}/"):
                raw_path = raw_path.removeprefix(PREVIEW)
            elif raw_path.lower().startswith("/sanitizer/"):  # misspelled, it must not be sent
                raise RequestRefused(f"of these paths, only {PREVIEW} exists", "endpoint", 404)
            caller = self.callers.caller(headers, certificate, raw_path)
            scope["state"]["who"] = who = caller.who
            self.under_way[caller.holder.owner] += 1
            most = max(1, int(SHARE * self.settings.max_connections))
            if self.under_way[caller.holder.owner] > most:
                told = "too many requests of this tenant or key at the same time"
                raise RequestRefused(told, "busy", 429)
            if not caller.upstream.url:
                told = "this proxy serves its page only: it was started without --upstream"
                raise RequestRefused(told, "endpoint", 404)
            path, url = target(caller.upstream.url, raw_path, scope["query_string"], caller.mount)
            body = await read_body(receive, headers, self.settings)
            call = Call(scope["method"], path, url, endpoint_of(path), caller, headers, body, send)
            work = self._preview(call) if is_preview else self._exchange(call)
            await while_client_waits(work, receive)
        except Exception as error:
            if self.callers.audit.is_on and not isinstance(error, ClientGone | AuditError):
                code = Failure.of(error).code
                asked = who or shown((scope.get("client") or [""])[0], headers)
                await self.workers.run(0, lambda: self._refused(asked, headers, code))
            raise
        finally:
            if caller is not None:
                self.under_way[caller.holder.owner] -= 1
                if not self.under_way[caller.holder.owner]:
                    del self.under_way[caller.holder.owner]

    def _refused(self, who: Mapping[str, str], headers: Mapping[str, str], code: str) -> None:
        try:
            self.callers.audit.refused(who, headers, code)
        except AuditError:
            # Nothing leaves all the same, and the client shall learn of the first error.
            self.metrics.refusals.labels("audit").inc()

    async def _exchange(self, call: Call) -> None:
        begin = perf_counter()
        size, who = len(call.body), call.caller.holder.owner
        name, exchange = await self.workers.run(size, lambda: self._filtered(call), who)
        asked = perf_counter()
        self.metrics.times["filter"].observe(asked - begin)
        if exchange.record.charged:
            self.metrics.epsilon.inc(exchange.record.charged)
        there, body = call.caller.upstream, exchange.body
        accept = exchange.stream_type if exchange.streams else "application/json"
        headers = to_upstream(call.headers, there.key, body, accept, call.endpoint, there.passed)
        begun = await there.send(call.method, call.url, headers, body)
        self.metrics.times["upstream"].observe(perf_counter() - asked)
        try:
            streams = exchange.streams and exchange.is_stream(begun.content_type)
            give = self._stream if streams and begun.status < 300 else self._whole
            recorded = [*record_headers(exchange.record), (HEADER.encode(), name.encode())]
            await give(call, exchange, begun, recorded, asked - begin)
        finally:
            begun.close()
        self.metrics.times["request"].observe(perf_counter() - begin)

    async def _preview(self, call: Call) -> None:
        """Answer with what the request would send; nothing is sent, charged or kept."""
        caller, most = call.caller, self.settings.max_body
        asked = (caller.holder, call.path, call.headers, call.body, most)
        look = partial(caller.conversations.preview, *asked)
        size, who = len(call.body), caller.holder.owner
        body = await self.workers.run(size, lambda: json.dumps(look().as_dict()).encode(), who)
        await answer(call.send, 200, body, [*JSON, (b"cache-control", b"no-store")])

    def _filtered(self, call: Call) -> tuple[str, Exchange]:
        caller, most = call.caller, self.settings.max_body
        asked = (caller.holder, call.method, call.path, call.headers, call.body, most)
        name, exchange = caller.conversations.exchange(*asked)
        self.callers.audit.sent(caller.who, call.headers, exchange.record)
        return name, exchange

    async def _whole(
        self, call: Call, exchange: Exchange, begun: UpstreamAnswer, recorded: Headers, added: float
    ) -> None:
        body, came = await begun.whole(), perf_counter()
        content_type, needs = begun.content_type, ""
        if begun.status >= 300 and "json" not in content_type:
            # An error page of something before the API, whose text no client could read.
            message = f"the upstream answered with status {begun.status} and without JSON"
            failure = Failure(begun.status, message, "upstream")
            restored = json.dumps(failure.document(call.endpoint)).encode()
            content_type = "application/json"
        else:

            def read() -> tuple[bytes, str]:
                text = exchange.response(begun.status, content_type, body)
                return text, _told(exchange.needs(body))

            restored, needs = await self.workers.run(len(body), read)
        headers = [(b"content-type", content_type.encode("latin-1"))]
        headers += [*to_client(begun.headers), *recorded, _timing(added + perf_counter() - came)]
        if needs:
            headers.append((b"sanitizer-needs", needs.encode()))
        await answer(call.send, begun.status, restored, headers)

    async def _stream(
        self, call: Call, exchange: Exchange, begun: UpstreamAnswer, recorded: Headers, added: float
    ) -> None:
        """Pass events on as they arrive.

        The status has been sent by then, so a failure is told as the last event of the stream.
        """
        kind = exchange.stream_type.encode() + b"; charset=utf-8"
        headers = [(b"content-type", kind), (b"cache-control", b"no-store")]
        headers += [*to_client(begun.headers), *recorded, _timing(added)]

        def said(text: str) -> str:
            needs = _told(exchange.needs(text))
            return f"sanitizer-needs {needs}" if needs else ""

        events = exchange.stream(begun.content_type, said=said)
        await call.send({"type": "http.response.start", "status": begun.status, "headers": headers})
        try:
            last = await self._passed_on(call, events, begun)
        except BaseException as error:
            failure = Failure.of(UpstreamError(SILENT, 504))
            if isinstance(error, asyncio.CancelledError):
                failure = SHUTDOWN
            elif not isinstance(error, TimeoutError):
                failure = Failure.of(error)
                if isinstance(error, Exception):
                    log_failure(error)
            try:  # an application may send back what came of it
                await self.workers.run(0, events.leave)
            except Exception as later:
                log_failure(later)
            self.metrics.refusals.labels(failure.code).inc()
            event = failure.event(call.endpoint)
            # A client that does not read must not hold the end of the proxy up.
            with suppress(TimeoutError):
                async with asyncio.timeout(LAST_EVENT_SECONDS):
                    await call.send({"type": "http.response.body", "body": event})
            if not isinstance(error, Exception):
                raise
        else:
            await call.send({"type": "http.response.body", "body": last})

    async def _passed_on(self, call: Call, events: EventStream, begun: UpstreamAnswer) -> bytes:
        loop, seconds = asyncio.get_running_loop(), self.settings.timeout
        begins = True
        async with asyncio.timeout(seconds) as limit:
            while chunk := await begun.more(SHORT_BYTES):
                # Many events may have come at once: the first does not wait for the others.
                first, mark, rest = chunk.partition(b"\n\n")
                for piece in (first + mark, rest):
                    if not piece:
                        continue
                    # At its beginning and its end a stream asks the vault, which may be a database.
                    if begins or may_settle(piece):
                        begins = False
                        shown = await self.workers.run(len(piece), partial(events.feed, piece))
                    else:
                        shown = events.feed(piece)
                    if shown:
                        part = {"type": "http.response.body", "body": shown, "more_body": True}
                        await call.send(part)
                limit.reschedule(loop.time() + seconds)
                await asyncio.sleep(0)  # what is there already is read in turns with others
            return await self.workers.run(0, events.finish)


def _timing(added: float) -> tuple[bytes, bytes]:
    """Return the header of the seconds that reading, waiting for a turn and restoring added."""
    return b"server-timing", f"sanitizer;dur={1e3 * added:.1f}".encode()


def _told(needs: Iterable[Need]) -> str:
    """Return how many values of each class an answer asks for, "CONDITION=1"; "" for none."""
    counts = Counter(need.kind for need in needs)
    return ", ".join(f"{kind}={n}" for kind, n in sorted(counts.items()))
