"""The proxy as one ASGI application, and its outermost layer, where errors become answers."""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sanitizer.errors import RequestRefused, SanitizerError, UpstreamError
from sanitizer.identifiers import NameFinder
from sanitizer.pipeline import Sanitizer
from sanitizer.proxy.access import ASK, AccessCheck, Headers, ProxySettings, plain_headers
from sanitizer.proxy.api import JSON, Api, ClientGone, Failure, answer, answer_failure, drain
from sanitizer.proxy.page_api import PageApi, page_routes
from sanitizer.proxy.shared import CONTENT_TYPE, Conversations, Metrics, Workers
from sanitizer.proxy.upstream import Upstream, endpoint_of
from sanitizer.randomness import secret_key

log = logging.getLogger("sanitizer.proxy")
CLOSE = (b"connection", b"close")


def create_app(
    sanitizer: Sanitizer,
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
    >>> from sanitizer.proxy import ProxySettings
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
            it. With a ledger each conversation has its own budget, without one all share the limit.
        settings: the upstream, who may ask, and how much.
        conversation_key: key of the keyed hash that names a conversation after an API key; give
            the same after a restart if ledger or vault outlive the process. Default: a fresh one.
        may_block: True if the vault is on disk, so that no work is done on the event loop.
    """
    metrics = Metrics()
    conversations = Conversations(sanitizer, conversation_key or secret_key())
    upstream, workers = Upstream(settings), Workers(may_block or _is_slow(sanitizer))
    routes = [Route("/healthz", _healthz), Route("/metrics", _metrics(metrics))]
    page = PageApi(sanitizer, settings, conversations, metrics) if settings.page else None
    if page is not None:
        routes += page_routes(page)

    @asynccontextmanager
    async def lifespan(app: ASGIApp) -> AsyncIterator[None]:
        await upstream.open()
        try:
            yield
        finally:
            await upstream.close()
            workers.close()
            if page is not None:
                page.close()

    own = frozenset(route.path for route in routes)
    api = Api(settings, conversations, upstream, workers, metrics)
    router = Router(routes, redirect_slashes=False, lifespan=lifespan)
    access = AccessCheck(settings, own)
    return ErrorLayer(api, router, access, metrics, own, settings.max_connections)


def _is_slow(sanitizer: Sanitizer) -> bool:
    """Return True if a model runs for each text."""
    names = sanitizer.policy.names
    return sanitizer.policy.perturb or (names is not False and NameFinder.installed())


async def _healthz(request: Request) -> Response:
    return Response(b"ok\n", media_type="text/plain")


def _metrics(metrics: Metrics) -> Callable[[Request], Awaitable[Response]]:
    async def show(request: Request) -> Response:
        return Response(metrics.text(), headers={"content-type": CONTENT_TYPE})

    return show


@dataclass
class Reply:
    """Channel of one answer, which remembers the status and adds the same headers to any answer.

    Attributes:
        send: sends the answer's messages.
        extra: headers to add.
        status: status that was sent; 0 until then.
    """

    send: Send
    extra: Headers
    status: int = 0

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            if self.extra:
                message = {**message, "headers": [*message["headers"], *self.extra]}
        await self.send(message)


class ErrorLayer:
    """Outermost layer of the application: limits, access, and errors made into answers and logs.

    Guarantee: no exception leaves it, so the server logs none. Its own log holds the messages of
    this package's errors, which hold no text; of all other errors only the type and the line.

    Args:
        api: answers all paths but those in `own`.
        router: answers the paths in `own`, and runs the lifespan.
        access: check of each request.
        metrics: counts requests and refusals.
        own: paths of the page and of the proxy itself.
        most: requests that may be under way at once.
    """

    def __init__(
        self,
        api: ASGIApp,
        router: ASGIApp,
        access: AccessCheck,
        metrics: Metrics,
        own: frozenset[str],
        most: int,
    ) -> None:
        self._api = api
        self._router = router
        self._access = access
        self._metrics = metrics
        self._own = own
        self._most = most

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._router(scope, receive, send)
            return
        headers = plain_headers(scope)
        scope.setdefault("state", {})["headers"] = headers
        scope["app"] = self
        is_own = scope["path"] in self._own
        reply = Reply(send, self._access.cross_origin(scope, headers))
        try:
            await self._answer(scope, receive, reply, self._router if is_own else self._api)
        except ClientGone:
            pass
        except asyncio.CancelledError:
            # Only the end of the server cancels a request, and it would log that as an error.
            shutdown = Failure(503, "the proxy is shutting down", "shutdown", retry=True)
            await self._tell(shutdown, reply, receive)
        except Exception as error:
            _log(error)
            failure = Failure.of(error)
            if failure.status == 401 and is_own:
                reply.extra = [*reply.extra, ASK]
            await self._tell(failure, reply, receive)
        finally:
            self._metrics.leave()
            if not is_own:
                status = str(reply.status) if reply.status else "gone"
                self._metrics.request(endpoint_of(scope["path"]), status)

    async def _answer(self, scope: Scope, receive: Receive, reply: Reply, app: ASGIApp) -> None:
        headers = scope["state"]["headers"]
        if self._metrics.enter() > self._most:
            raise RequestRefused(f"more than {self._most} requests are under way", "busy", 429)
        if self._access.is_preflight(scope, headers):
            await answer(reply, 200, b"", [])
            return
        self._access.check(scope, headers)
        await app(scope, receive, reply)

    async def _tell(self, failure: Failure, reply: Reply, receive: Receive) -> None:
        """Answer with a failure, if no answer has begun."""
        self._metrics.refusal(failure.code)
        if reply.status:
            # Too late: the server closes the connection before the end of the answer, which
            # clients see as broken.
            return
        if failure.status not in (408, 413):
            await answer_failure(reply, failure)
            return
        # The client may still be sending. It gets the whole answer now, but the end of it only
        # after a moment in which what it sends is read: a connection closed before that would be
        # reset, and the answer lost.
        body = failure.body()
        headers = [*JSON, (b"content-length", str(len(body)).encode()), CLOSE]
        await reply({"type": "http.response.start", "status": failure.status, "headers": headers})
        await reply({"type": "http.response.body", "body": body, "more_body": True})
        await drain(receive)
        await reply({"type": "http.response.body", "body": b""})


def _log(error: Exception) -> None:
    """Log a failure of the proxy or its upstream; mistakes of clients are counted, not logged."""
    if isinstance(error, UpstreamError):
        log.warning("%s", error)
    elif Failure.of(error).status < 500:
        pass
    elif isinstance(error, SanitizerError):
        log.error("%s: %s", type(error).__name__, error)
    else:
        frames = traceback.extract_tb(error.__traceback__)
        where = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "unknown"
        log.error("%s at %s", type(error).__name__, where)
