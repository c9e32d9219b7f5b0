"""The proxy as one ASGI application."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, Router
from starlette.types import ASGIApp

from sanitizer.identifiers import NameFinder
from sanitizer.pipeline import Sanitizer
from sanitizer.proxy.access import AccessCheck
from sanitizer.proxy.api import Api
from sanitizer.proxy.conversations import Conversations
from sanitizer.proxy.errors_to_answers import ErrorLayer
from sanitizer.proxy.metrics import CONTENT_TYPE, Metrics
from sanitizer.proxy.page_api import PageApi
from sanitizer.proxy.settings import ProxySettings
from sanitizer.proxy.upstream import Upstream
from sanitizer.proxy.workers import Workers
from sanitizer.randomness import secret_key

Endpoint = Callable[[Request], Awaitable[Response]]

PAGE = Path(__file__).parent / "page"
_TYPES = {
    ".html": "text/html",
    ".js": "text/javascript",
    ".css": "text/css",
    ".svg": "image/svg+xml",
}
_PAGE_HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}


def create_app(
    sanitizer: Sanitizer,
    settings: ProxySettings,
    *,
    conversation_key: bytes | None = None,
    may_block: bool = False,
) -> ASGIApp:
    """The application, for any ASGI server that runs its lifespan.

    Guarantee: the upstream receives only what the sanitizer released, and the headers that
    `forwarding` lists. If anything fails, nothing is sent, or, once an answer is streamed, nothing
    more is passed on.
    Not protected: what an upstream can tell from times and sizes; who asks, if all share one key.

    Args:
        sanitizer: its settings are everyone's; each conversation gets one derived from it. With a
            ledger each has its own budget, without one all share the limit.
        conversation_key: of the keyed hash that names a conversation after an API key; give the
            same after a restart if ledger or vault outlive the process. Default: a fresh one.
        may_block: its vault is on disk, so it never works on the event loop.
    """
    metrics = Metrics()
    conversations = Conversations(sanitizer, conversation_key or secret_key())
    upstream, workers = Upstream(settings), Workers(may_block or _is_slow(sanitizer))
    routes = [Route("/healthz", _healthz), Route("/metrics", _metrics(metrics))]
    page = PageApi(sanitizer, settings, conversations, metrics) if settings.page else None
    if page is not None:
        routes += [*_page_files(), *_page_routes(page)]

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
    return ErrorLayer(
        api, router, AccessCheck(settings, own), metrics, own, settings.max_connections
    )


def _is_slow(sanitizer: Sanitizer) -> bool:
    """Whether a model runs for each text."""
    names = sanitizer.policy.names
    return sanitizer.policy.perturb or (names is not False and NameFinder.installed())


async def _healthz(request: Request) -> Response:
    return Response(b"ok\n", media_type="text/plain")


def _metrics(metrics: Metrics) -> Endpoint:
    async def show(request: Request) -> Response:
        return Response(metrics.text(), headers={"content-type": CONTENT_TYPE.decode()})

    return show


def _page_routes(page: PageApi) -> list[Route]:
    return [
        Route("/page/settings", page.settings),
        Route("/page/preview", page.preview, methods=["POST"]),
        Route("/page/copy", page.copy, methods=["POST"]),
    ]


def _page_files() -> list[Route]:
    """The files beside index.html, read once; index.html itself is the root."""
    found = []
    for path in sorted(PAGE.iterdir()):
        if path.suffix in _TYPES:
            where = "/" if path.name == "index.html" else f"/page/{path.name}"
            found.append(Route(where, _file(path.read_bytes(), _TYPES[path.suffix])))
    return found


def _file(content: bytes, media_type: str) -> Endpoint:
    async def show(request: Request) -> Response:
        return Response(content, media_type=media_type, headers=_PAGE_HEADERS)

    return show
