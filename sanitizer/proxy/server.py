"""The proxy under uvicorn: the listening socket, the limits of connections, and the shutdown.

The proxy as one ASGI application, and its outermost layer, where errors become answers.
"""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import ssl
import sys
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from math import ceil
from os import strerror
from pathlib import Path
from typing import Any

import uvicorn
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.auto import AutoHTTPProtocol

from sanitizer.errors import RequestRefused
from sanitizer.pipeline.sanitizer import Sanitizer
from sanitizer.proxy.access import (
    ASK,
    FREE_PATHS,
    METRICS,
    AccessCheck,
    Headers,
    ProxySettings,
    plain_headers,
)
from sanitizer.proxy.api import JSON, SHUTDOWN, Api, ClientGone, Failure, answer, log_failure
from sanitizer.proxy.configuration import digest_of
from sanitizer.proxy.guard_api import GuardApi
from sanitizer.proxy.page_api import PageApi
from sanitizer.proxy.shared import CONTENT_TYPE, Conversations, Metrics
from sanitizer.proxy.tenants import Anyone, Tenants
from sanitizer.proxy.workers import Workers
from sanitizer.randomness import secret_key
from sanitizer.urls import is_loopback, url_host
from sanitizer.wire.endpoints import endpoint_of

HEAD_BYTES = 65_536
_HEAD_ENDS = b"\r\n\r\n"
SPARE_CONNECTIONS = 64
"""Connections beyond the limit, for probes: other requests on them are refused."""
SHUTDOWN_SECONDS = 30
START_SECONDS = 60.0
SWITCH_SECONDS = 0.001
"""How long a thread goes on that others wait for: short requests run beside long ones."""
DRAIN_SECONDS = 2.0
"""Time for which a refused body is still read."""
TOO_LARGE = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
    b"connection: close\r\ncontent-length: 0\r\n\r\n"
)


@dataclass(frozen=True)
class Listener:
    """Address that the proxy listens on, and limits of its connections.

    >>> listener = Listener(port=8787)
    >>> listener.url(8787)
    'http://127.0.0.1:8787'
    >>> Listener("192.0.2.7").check(token=None)
    Traceback (most recent call last):
    ValueError: host 192.0.2.7 can be reached from other machines; to allow this, add --expose

    Attributes:
        port: 0 takes a free one.
        certfile, keyfile: PEM certificate, to serve https, and its key if that is in another file.
        exposed: True if the host may be one that other machines reach; needs a token.
        connections: connections open at once. On a few more only probes are answered, and others
            told to come back; still further ones are closed.
        client_ca: PEM file of the authorities whose client certificates are accepted.
        head_seconds: seconds within which the head of a request must arrive.
    """

    host: str = "127.0.0.1"
    port: int = 8787
    certfile: Path | None = None
    keyfile: Path | None = None
    exposed: bool = False
    connections: int = 1000
    client_ca: Path | None = None
    head_seconds: float = 10.0

    def check(self, token: str | None, has_tenants: bool = False) -> None:
        """Check the address.

        Args:
            has_tenants: clients must show a key of the configuration, which stands for a token.

        Raises:
            ValueError: a host that other machines reach, without `exposed` or without a token; a
                port that does not exist; a key or an authority without a certificate.
        """
        if self.client_ca is not None and self.certfile is None:
            raise ValueError("client-ca needs a certfile")
        if not 0 <= self.port <= 65_535:
            raise ValueError(f"port must be from 0 to 65535, got {self.port!r}")
        if self.keyfile is not None and self.certfile is None:
            raise ValueError("keyfile needs a certfile")
        if is_loopback(self.host):
            return
        if not self.exposed:
            told = f"host {self.host} can be reached from other machines"
            raise ValueError(f"{told}; to allow this, add --expose")
        if token is None and not has_tenants:
            raise ValueError("--expose needs a token (--token-env NAME)")

    def open(self) -> socket.socket:
        """Return the listening socket.

        Raises:
            ValueError: the address is taken or not this machine's.
        """
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        place = (self.host.strip("[]"), self.port)
        try:
            return socket.create_server(place, family=family, backlog=2048)
        except OSError as error:
            told = f"cannot listen on {self.host}, port {self.port}"
            raise ValueError(f"{told}: {strerror(error.errno or 0)}") from None

    def url(self, port: int) -> str:
        """Return the URL to tell the user."""
        return f"{'https' if self.certfile else 'http'}://{url_host(self.host)}:{port}"


def run(
    app: ASGIApp,
    listener: Listener,
    announce: Callable[[str], None],
    reload: Callable[[], None] | None = None,
    sock: socket.socket | None = None,
) -> None:
    """Serve until SIGINT or SIGTERM; requests under way then have half a minute to end.

    Args:
        announce: called with the URL once it can be reached.
        reload: called in a thread of its own at SIGHUP.
        sock: the listening socket, if it is open already.

    Raises:
        ValueError: a certificate that cannot be used, or an address that cannot be listened on.
    """
    with sock or listener.open() as opened, _signals(reload):
        url = listener.url(opened.getsockname()[1])
        make_server(app, listener, lambda: announce(url)).run(sockets=[opened])


@contextmanager
def serving(
    app: ASGIApp,
    listener: Listener,
    sock: socket.socket | None = None,
    beside: Callable[[], Coroutine[Any, Any, None]] | None = None,
) -> Iterator[str]:
    """Serve meanwhile, in a thread; yield the URL once it can be reached.

    Args:
        sock: the listening socket, if it is open already.
        beside: runs in the same event loop until the end.

    Raises:
        ValueError: as `run`, or it does not start.
    """
    ready = threading.Event()
    tasks: list[asyncio.Task[None]] = []  # the loop itself keeps none alive

    def begin() -> None:
        if beside is not None:
            tasks.append(asyncio.get_running_loop().create_task(beside()))
        ready.set()

    with sock or listener.open() as opened:
        server = make_server(app, listener, begin)
        thread = threading.Thread(target=server.run, args=[[opened]], daemon=True)
        thread.start()
        if not ready.wait(START_SECONDS):
            raise ValueError("the proxy did not start")
        try:
            yield listener.url(opened.getsockname()[1])
        finally:
            server.should_exit = True
            thread.join(START_SECONDS)


class _Server(uvicorn.Server):
    """Server that calls `ready` once it serves; from then on signals end it in order."""

    ready: Callable[[], None]

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        if self.started:
            self.ready()


def make_server(
    app: ASGIApp, listener: Listener, ready: Callable[[], None] = lambda: None
) -> uvicorn.Server:
    """Return a server that does not listen yet.

    It keeps no access log: paths and queries are not written anywhere.
    """
    config = uvicorn.Config(
        app,
        http=limited_protocol(listener.connections, listener.head_seconds),
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        log_level="warning",
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        ssl_certfile=listener.certfile,
        ssl_keyfile=listener.keyfile,
        ssl_ca_certs=None if listener.client_ca is None else str(listener.client_ca),
        ssl_cert_reqs=ssl.CERT_NONE if listener.client_ca is None else ssl.CERT_OPTIONAL,
    )
    sys.setswitchinterval(SWITCH_SECONDS)
    try:
        config.load()
    except OSError as error:
        files = f"certfile {listener.certfile}, keyfile {listener.keyfile or 'the same'}"
        raise ValueError(f"{files}: no PEM certificate and its key: {error.strerror}") from None
    server = _Server(config)
    server.ready = ready
    return server


@contextmanager
def _signals(reload: Callable[[], None] | None) -> Iterator[None]:
    """Call `reload` at SIGHUP; ignore SIGTERM, which uvicorn raises once more at its end."""
    handlers: dict[int, Any] = {signal.SIGTERM: lambda number, frame: None}
    if reload is not None and hasattr(signal, "SIGHUP"):

        def reload_apart(number: int, frame: object) -> None:
            # Outside the event loop, which it would hold up.
            threading.Thread(target=reload, daemon=True).start()

        handlers[signal.SIGHUP] = reload_apart
    kept = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    except KeyboardInterrupt:
        pass
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)


def limited_protocol(most: int, head_seconds: float) -> type[asyncio.Protocol]:
    """Return uvicorn's HTTP protocol with three more limits.

    They are the number of connections, and the time and size of a request's head. A connection
    that sends a head slowly, or nothing, would stay open for ever otherwise.
    """
    base: Any = AutoHTTPProtocol

    class LimitedProtocol(base):  # type: ignore[misc]  # the server's choice of two classes
        app_state: dict[str, Any]
        _head: asyncio.TimerHandle | None = None
        _n_bytes, _end = 0, b""

        def connection_made(self, transport: asyncio.Transport) -> None:
            super().connection_made(transport)
            n_open = len(self.connections)
            if n_open > most + SPARE_CONNECTIONS:
                transport.close()
            self.app_state = {**self.app_state, "spare": n_open > most}
            shown: ssl.SSLObject | None = transport.get_extra_info("ssl_object")
            # Only a certificate that is one of those accepted is given.
            if shown is not None and (certificate := shown.getpeercert(binary_form=True)):
                self.app_state["certificate"] = digest_of(certificate)
            self._expect_head()

        def data_received(self, data: bytes) -> None:
            # No request is under way, so that a head is expected; a body may come with its end.
            if self.cycle is None or self.cycle.response_complete:
                end = (self._end + data).find(_HEAD_ENDS)
                n_here = len(data) if end < 0 else end + len(_HEAD_ENDS) - len(self._end)
                self._n_bytes, self._end = self._n_bytes + n_here, (self._end + data)[-3:]
                if self._n_bytes > HEAD_BYTES:
                    self.transport.write(TOO_LARGE)
                    self.transport.close()
                    return
            super().data_received(data)
            if self.cycle is None or self.cycle.response_complete:
                self._expect_head()
            else:
                self._forget_head()

        def connection_lost(self, exc: Exception | None) -> None:
            self._forget_head()
            super().connection_lost(exc)

        def _expect_head(self) -> None:
            if self._head is None:
                self._head = self.loop.call_later(head_seconds, self.transport.close)

        def _forget_head(self) -> None:
            self._n_bytes, self._end = 0, b""
            if self._head is not None:
                self._head.cancel()
                self._head = None

    return LimitedProtocol


def create_app(
    sanitizer: Sanitizer | Tenants,
    settings: ProxySettings,
    *,
    conversation_key: bytes | None = None,
    may_block: bool = False,
) -> ASGIApp:
    """Return the proxy as an application for any ASGI server that runs its lifespan.

    Guarantee: the upstream receives only what the sanitizer released, and the headers that
    `sanitizer.proxy.upstream` lists. If anything fails, nothing is sent, or, once an answer is
    streamed, nothing more is passed on.
    Not protected: what an upstream can tell from times and sizes; clients that share one API key
    from each other.

    >>> import asyncio, httpx
    >>> from sanitizer import Sanitizer
    >>> from sanitizer.proxy.access import ProxySettings
    >>> settings = ProxySettings("https://api.openai.com/v1")
    >>> app = create_app(Sanitizer(policy="identifiers"), settings)
    >>> async def health() -> str:
    ...     transport = httpx.ASGITransport(app)
    ...     async with httpx.AsyncClient(transport=transport) as client:
    ...         return (await client.get("http://localhost/healthz")).text
    >>> asyncio.run(health())
    'ok\\n'

    Args:
        sanitizer: its settings hold for everyone; each conversation gets a Sanitizer derived from
            it. A limit of one conversation is none for a client, who can begin another: set those
            of the scopes. Or the tenants of a configuration; then there is no page.
        settings: the upstream, who may ask, and how much.
        conversation_key: key of the keyed hash that names a conversation after an API key; give
            the same after a restart if ledger or vault outlive the process. Default: a fresh one.
        may_block: True if the vault is on disk, so that no work is done on the event loop.
    """
    metrics = Metrics()
    routes: list[Route] = []
    page: PageApi | None = None
    callers: Anyone | Tenants
    if isinstance(sanitizer, Tenants):
        callers, workers = sanitizer, Workers(True, sanitizer.n_waiting)
    else:
        key = conversation_key or secret_key()
        idle, by_history = settings.idle, settings.by_history
        conversations = Conversations(sanitizer, key, idle=idle, by_history=by_history)
        callers = Anyone(settings, conversations, sanitizer.policy.name)
        workers = Workers(may_block or sanitizer.policy.reads_models)
        # Neither guard nor page knows a tenant, so neither is there for tenants.
        sessions = Conversations(sanitizer, key, short=True, idle=idle)
        routes += GuardApi(sessions, settings, metrics, workers).routes()
        if settings.page:
            page = PageApi(sanitizer, settings, conversations, metrics, callers.upstream)
            routes += page.routes()

    async def is_alive(request: Request) -> Response:
        return Response(b"ok\n", media_type="text/plain")

    async def is_ready(request: Request) -> Response:
        # Not by the workers of the API, who may all be busy.
        await asyncio.get_running_loop().run_in_executor(None, callers.ready)
        return Response(b"ok\n", media_type="text/plain")

    async def counts(request: Request) -> Response:
        return Response(metrics.text(), headers={"content-type": CONTENT_TYPE})

    routes += [Route("/healthz", is_alive), Route("/readyz", is_ready), Route(METRICS, counts)]

    @asynccontextmanager
    async def lifespan(app: ASGIApp) -> AsyncIterator[None]:
        try:
            yield
        finally:
            await callers.close()
            workers.close()
            if page is not None:
                page.close()

    own = frozenset(route.path for route in routes)
    # Clients of tenants show keys to the API; a scraper has none.
    free = FREE_PATHS | {METRICS} if isinstance(sanitizer, Tenants) else FREE_PATHS
    api = Api(settings, callers, workers, metrics)
    router = Router(routes, redirect_slashes=False, lifespan=lifespan)
    access = AccessCheck(settings, own, free)
    return ErrorLayer(api, router, access, metrics, own, settings.max_connections)


@dataclass
class Reply:
    """Channel of one answer, which adds headers, and remembers the status; 0 until it is sent."""

    send: Send
    extra: Headers
    status: int = 0

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            if self.extra:
                message = {**message, "headers": [*message["headers"], *self.extra]}
        await self.send(message)


@dataclass(frozen=True)
class ErrorLayer:
    """Outermost layer of the application: limits, access, and errors made into answers and logs.

    Guarantee: no exception leaves it, so the server logs none. Its own log holds the messages of
    this package's errors, which hold no text; of all other errors only the type and the line.

    Attributes:
        api: answers all paths but those in `own`, which are of the page and the proxy itself.
        router: answers the paths in `own`, and runs the lifespan.
        most: requests that may be under way at once.
    """

    api: ASGIApp
    router: ASGIApp
    access: AccessCheck
    metrics: Metrics
    own: frozenset[str]
    most: int

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.router(scope, receive, send)
            return
        headers = plain_headers(scope)
        scope.setdefault("state", {})["headers"] = headers
        scope["app"] = self
        endpoint, is_own = endpoint_of(scope["path"]), scope["path"] in self.own
        reply = Reply(send, self.access.cross_origin(scope, headers))
        try:
            await self._answer(scope, receive, reply, self.router if is_own else self.api)
        except ClientGone:
            pass
        except asyncio.CancelledError:
            # Only the end of the server cancels a request, and it would log that as an error.
            await self._tell(SHUTDOWN, reply, receive, endpoint)
        except Exception as error:
            log_failure(error)
            failure = Failure.of(error)
            if failure.status == 401 and is_own:
                reply.extra = [*reply.extra, ASK]
            await self._tell(failure, reply, receive, endpoint)
        finally:
            self.metrics.leave()
            if not is_own:
                status = str(reply.status) if reply.status else "gone"
                who = scope["state"].get("who", {})
                named = who.get("tenant", ""), who.get("policy", "")
                self.metrics.requests.labels(endpoint, status, *named).inc()

    async def _answer(self, scope: Scope, receive: Receive, reply: Reply, app: ASGIApp) -> None:
        headers = scope["state"]["headers"]
        is_probe = scope["path"] in FREE_PATHS or scope["path"] == METRICS
        if (self.metrics.enter() > self.most or scope["state"].get("spare")) and not is_probe:
            raise RequestRefused(f"the proxy is busy with {self.most} other requests", "busy", 429)
        if self.access.is_preflight(scope, headers):
            await answer(reply, 200, b"", [])
            return
        self.access.check(scope, headers)
        await app(scope, receive, reply)

    async def _tell(self, failure: Failure, reply: Reply, receive: Receive, endpoint: str) -> None:
        """Answer with a failure, if no answer has begun."""
        self.metrics.refusals.labels(failure.code).inc()
        if reply.status:
            return  # too late: the server breaks the connection off, which clients see
        body = json.dumps(failure.document(endpoint)).encode()
        headers = [*JSON, (b"content-length", str(len(body)).encode())]
        if not failure.retry:
            headers.append((b"x-should-retry", b"false"))  # the SDKs obey it before the status
        if failure.status in (429, 503):
            headers.append((b"retry-after", str(max(1, ceil(failure.retry_after))).encode()))
        may_still_send = failure.status in (408, 413)
        if may_still_send:
            headers.append((b"connection", b"close"))
        await reply({"type": "http.response.start", "status": failure.status, "headers": headers})
        if may_still_send:
            # The client gets the whole answer now, but the end of it only after a moment in which
            # what it sends is read: a connection closed before that would be reset, and the answer
            # lost.
            await reply({"type": "http.response.body", "body": body, "more_body": True})
            with suppress(TimeoutError):
                async with asyncio.timeout(DRAIN_SECONDS):
                    while (await receive()).get("more_body"):
                        pass
            body = b""
        await reply({"type": "http.response.body", "body": body})
