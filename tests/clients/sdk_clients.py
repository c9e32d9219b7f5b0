"""Shared by the tests of transports and `shield`: planted secrets, clients of either SDK, a forward
proxy.
"""

from __future__ import annotations

import asyncio
import http.client
import importlib
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from sanitizer import Sanitizer
from sanitizer.clients.shielding import shield
from sanitizer.testing.server import Answer, Received, RecordingServer
from tests.lazily import lazily

if TYPE_CHECKING:
    import openai
else:
    openai = lazily("openai")


def installed(sdk: str) -> tuple[int, ...]:
    """Major and minor version of an SDK; () where there is none."""
    try:
        return tuple(int(part) for part in version(sdk).split(".")[:2])
    except PackageNotFoundError:
        return ()


LIB: Any = importlib.import_module("httpx2" if installed("openai") >= (3,) else "httpx")

SECRETS = (
    "peter.quill@example.com",
    "4111 1111 1111 1111",
    "GB82 WEST 1234 5698 7654 32",
    "192.168.17.23",
)
TEXT = "Mail {} or charge {} or pay {} from {}, please.".format(*SECRETS)


def since(major: int, minor: int, sdk: str = "openai") -> pytest.MarkDecorator:
    """Skip a test where an SDK is older than what the test asks of it."""
    lacks = installed(sdk) < (major, minor)
    return pytest.mark.skipif(lacks, reason=f"needs what came with {sdk} {major}.{minor}")


def identifiers() -> Sanitizer:
    return Sanitizer(policy="identifiers")


def said(text: str = TEXT, role: str = "user") -> list[Any]:
    return [{"role": role, "content": text}]


def check_clean(*servers: RecordingServer, n_requests: int = 1) -> None:
    """Something came, and nothing private in it."""
    for server in servers:
        assert len(server.requests) == n_requests
        assert_none(server.received)


def assert_none(received: bytes) -> None:
    for secret in SECRETS:
        assert secret.encode() not in received
        assert secret.replace(" ", "").encode() not in received.replace(b" ", b"")


@contextmanager
def shielded(
    server: RecordingServer, sanitizer: Sanitizer | None = None, **options: Any
) -> Iterator[Any]:
    """A shielded OpenAI client of the server."""
    options = {"base_url": server.url, "api_key": "test", "max_retries": 0, **options}
    with openai.OpenAI(**options) as client:
        yield shield(client, sanitizer or identifiers())


def run_async(
    server: RecordingServer,
    job: Any,
    sanitizer: Sanitizer | None = None,
    kind: Any = None,
    **options: Any,
) -> Any:
    """The result of `await job(client)` with a shielded AsyncOpenAI client of the server."""

    async def work() -> Any:
        async with (kind or openai.AsyncOpenAI)(
            **{"base_url": server.url, "api_key": "test", "max_retries": 0, **options}
        ) as client:
            return await job(shield(client, sanitizer or identifiers()))

    return run(work())


def run(work: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(asyncio.wait_for(work, 30))


class ForwardProxy(RecordingServer):
    """An HTTP proxy that sends on what comes with a whole URL, and records it. Tunnels (CONNECT)
    are refused.
    """

    def __init__(self) -> None:
        super().__init__(_forwarded)

    @property
    def address(self) -> str:
        return f"http://{self.host}"


def _forwarded(received: Received) -> Answer:
    url = urlsplit(received.target)
    assert url.hostname
    connection = http.client.HTTPConnection(url.hostname, url.port, timeout=10)
    try:
        target = url.path + (f"?{url.query}" if url.query else "")
        connection.request(received.method, target, received.body, dict(received.headers))
        response = connection.getresponse()
        body = response.read()
        return Answer(
            body, response.status, response.getheader("content-type", ""), (("x-proxy", "passed"),)
        )
    finally:
        connection.close()
