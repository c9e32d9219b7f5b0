"""The one address that requests go to. The only file of the proxy that opens a connection."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
from yarl import URL

from sanitizer.errors import UpstreamError
from sanitizer.proxy.failures import Headers
from sanitizer.proxy.settings import ProxySettings
from sanitizer.urls import is_loopback

MAX_ANSWER = 64_000_000  # bytes of one answer that is not streamed
CONNECT_SECONDS = 10.0
_NO_TYPE = ("Content-Type",)  # of a request without a body the library would state one


@dataclass(frozen=True)
class UpstreamAnswer:
    """What the upstream began to answer.

    Attributes:
        headers: raw. response: the open connection; `close` it.
    """

    status: int
    content_type: str
    headers: Headers = field(repr=False)
    response: aiohttp.ClientResponse = field(repr=False)

    def is_here(self) -> bool:
        """Whether all of the body has come: `more` will not wait."""
        return self.response.content.is_eof()

    async def more(self) -> bytes:
        """More of the body as it comes; empty at its end. Raises UpstreamError."""
        try:
            return await self.response.content.readany()
        except (aiohttp.ClientError, OSError):
            raise UpstreamError("the upstream broke off its answer") from None

    def close(self) -> None:
        """Free the connection; if the body was not read to its end, the connection ends."""
        if self.response.connection is not None:  # else it is free already
            self.response.close()


class Upstream:
    """Sends requests to the configured upstream and nowhere else: redirects are not followed.

    Proxies are taken from the environment (HTTP_PROXY, HTTPS_PROXY, NO_PROXY) once, at the start;
    never for an upstream on this machine.

    Raises:
        OSError: the file of certificates cannot be read.
    """

    def __init__(self, settings: ProxySettings) -> None:
        self._most = settings.max_connections
        self._verify = ssl.create_default_context(cafile=str(settings.ca)) if settings.ca else True
        self._proxy = _proxy_for(settings.upstream)
        # Silence is timed by the caller, for the whole exchange; here only what comes before it.
        self._timeout = aiohttp.ClientTimeout(sock_connect=min(CONNECT_SECONDS, settings.timeout))
        self._session: aiohttp.ClientSession | None = None

    async def open(self) -> None:
        """Call once, in the loop that will send."""
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=self._most, ssl=self._verify),
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            timeout=self._timeout,
        )

    async def send(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes
    ) -> UpstreamAnswer:
        """Ask, and wait for the first bytes. Raises UpstreamError: 502, 504 after a timeout."""
        assert self._session is not None
        try:
            response = await self._session.request(
                method,
                _parsed(url),
                headers=headers,
                data=body or None,
                skip_auto_headers=None if body else _NO_TYPE,
                allow_redirects=False,
                proxy=self._proxy,
            )
        except aiohttp.ServerTimeoutError:
            raise UpstreamError("the upstream cannot be reached in time", 504) from None
        except (aiohttp.ClientError, OSError):
            raise UpstreamError("the upstream cannot be reached, or does not speak HTTP") from None
        answer = UpstreamAnswer(
            response.status,
            response.headers.get("content-type", ""),
            [*response.raw_headers],
            response,
        )
        if response.headers.get("content-encoding", "identity") != "identity":
            answer.close()
            raise UpstreamError("the upstream compressed its answer without being asked")
        if 300 <= response.status < 400:
            answer.close()
            raise UpstreamError("the upstream answered with a redirect, which is not followed")
        return answer

    async def close(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()


@lru_cache(maxsize=64)
def _parsed(url: str) -> URL:
    """Few are asked for: the endpoints. What the library finds out about one it keeps in the
    object.
    """
    return URL(url, encoded=True)


def _proxy_for(upstream: str) -> str | None:
    parts = urlsplit(upstream)
    host = parts.hostname or ""
    if is_loopback(host) or proxy_bypass(host):
        return None
    return getproxies().get(parts.scheme)
