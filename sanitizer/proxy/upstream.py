"""The one address that requests go to, and what passes between it and the client.

The only file of the proxy that opens a connection. Beside the body a short list of headers passes;
everything else stays here. Not passed to the upstream: cookies, addresses (`X-Forwarded-For`,
`Forwarded`, `Via`), `Referer`, `Origin`, the client's `User-Agent` and `X-Stainless-*` (they
describe its machine), and every header that is named neither below nor in the configuration, by
which `traceparent` passes too.
"""

from __future__ import annotations

import asyncio
import json
import re
import ssl
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import cycle
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
from yarl import URL

from sanitizer.errors import UpstreamError
from sanitizer.proxy.access import KEY_HEADERS, TRACE_PARENT, TRACES, Headers, ProxySettings
from sanitizer.urls import is_loopback
from sanitizer.wire.endpoints import format_of
from sanitizer.wire.event_streams import MAX_ANSWER
from sanitizer.wire.headers import answer_headers, sent_headers

CONNECT_SECONDS = 10.0
SILENT = "the upstream was silent for too long"
_NO_TYPE = ("Content-Type",)  # of a request without a body the library would state one

TO_UPSTREAM = frozenset(KEY_HEADERS) | {
    *("anthropic-beta", "anthropic-version", "idempotency-key"),
    *("openai-organization", "openai-project", "openai-beta"),
}
"""Headers of a client that pass."""
_TO_CLIENT = re.compile(
    rb"x-request-id|request-id|apim-request-id|anthropic-(organization-id|ratelimit-[a-z-]+)|openai-(processing-ms|version|model|organization|project)"
    rb"|x-ratelimit-[a-z-]+|retry-after(-ms)?|x-should-retry"
)
USER_AGENT = "sanitizer"


def target(upstream: str, path: str, query: bytes, mount: str = "") -> tuple[str, str]:
    """Return (path and query for the filter, which judges them; URL to ask once it has).

    Args:
        upstream: base URL. Its path replaces "/v1"; without one, the client's path is kept whole.
        path: path of the request, not decoded.
        query: query of the request, as it was sent.
        mount: path that stands for the whole base URL, in place of the rule above.
    """
    base = upstream.rstrip("/")
    wanted = path.removeprefix(mount or ("/v1" if urlsplit(base).path else ""))
    if query:
        wanted = f"{wanted}?{query.decode('latin-1')}"
    return wanted, base + wanted


def to_upstream(
    headers: Mapping[str, str],
    key: str | None,
    body: bytes,
    accept: str = "application/json",
    endpoint: str = "",
    passed: frozenset[str] = frozenset(),
) -> dict[str, str]:
    """Return the headers of a request. `identity`: the answer has to be read here, and what
    decompresses to much must not.

    Args:
        key: sent in place of the client's, in the form of the endpoint's API.
        accept: media type of the answer.
        passed: names of headers that pass besides the usual ones.
    """
    kept = dict(sent_headers(headers.items(), only=passed | TO_UPSTREAM))
    unwanted = () if TRACE_PARENT.fullmatch(kept.get("traceparent", "")) else TRACES
    for name in unwanted if key is None else (*unwanted, *KEY_HEADERS):
        kept.pop(name, None)
    if key is not None:
        named = {"anthropic": ("x-api-key", key), "gemini": ("x-goog-api-key", key)}
        name, value = named.get(format_of(endpoint), ("authorization", f"Bearer {key}"))
        kept[name] = value
    if body:
        kept["content-type"] = "application/json"
    return kept | {"accept": accept, "accept-encoding": "identity", "user-agent": USER_AGENT}


def to_client(headers: Iterable[tuple[bytes, bytes]]) -> Headers:
    """Answer headers worth passing on; no cookies, nothing hop by hop."""
    return [(name.lower(), value) for name, value in answer_headers(headers, only=_TO_CLIENT)]


@dataclass(frozen=True)
class UpstreamAnswer:
    """An answer that the upstream began to send; the caller must `close` it."""

    status: int
    content_type: str
    headers: Headers = field(repr=False)
    response: aiohttp.ClientResponse = field(repr=False)
    seconds: float = field(repr=False)  # longest silence

    async def more(self, most: int = 2**16) -> bytes:
        """Return more of the body as it arrives, `most` bytes at once; empty at its end.

        Raises:
            UpstreamError: the connection ended before the body did.
        """
        try:
            return await self.response.content.read(most)
        except (aiohttp.ClientError, OSError):
            raise UpstreamError("the upstream ended its answer too early") from None

    async def whole(self) -> bytes:
        """Return the body, read to its end.

        Raises:
            UpstreamError: 504 for a longer silence; 502 if the body breaks off or is too long.
        """
        body, loop = bytearray(), asyncio.get_running_loop()
        # Most answers are here already: the timer would cost more than reading them.
        is_here = self.response.content.is_eof()
        try:
            async with nullcontext() if is_here else asyncio.timeout(self.seconds) as limit:
                while chunk := await self.more():
                    body += chunk
                    if len(body) > MAX_ANSWER:
                        raise UpstreamError("the upstream's answer is too long")
                    if limit is not None:
                        limit.reschedule(loop.time() + self.seconds)
        except TimeoutError:
            raise UpstreamError(SILENT, 504) from None
        return bytes(body)

    def close(self) -> None:
        """Release the connection, and end it if the body was not read to its end."""
        # At the end of the body the library has released the connection by itself, for reuse.
        if self.response.connection is not None:
            self.response.close()


class Upstream:
    """Connections to the configured upstream and nowhere else: redirects are not followed.

    HTTP proxies are taken from the environment (HTTP_PROXY, HTTPS_PROXY, NO_PROXY) once, at the
    start; none is used for an upstream on this machine.

    Args:
        passed: names of headers of clients that pass besides the usual ones.

    Raises:
        ValueError: the file of certificates cannot be used.
    """

    def __init__(self, settings: ProxySettings, passed: frozenset[str] = frozenset()) -> None:
        self.url, self.key, self.passed = settings.upstream, settings.key, passed
        self._most = settings.max_connections
        try:
            self._verify = ssl.create_default_context(cafile=settings.ca) if settings.ca else True
        except OSError as error:
            raise ValueError(f"ca: {settings.ca}: no PEM file: {error.strerror}") from None
        parts = urlsplit(self.url)
        is_direct = is_loopback(parts.hostname or "") or proxy_bypass(parts.hostname or "")
        self._proxy = None if is_direct else getproxies().get(parts.scheme)
        self._seconds = settings.timeout
        self.name = f"the upstream {parts.netloc}"
        # Silence is timed here and by `UpstreamAnswer`; by the library only what comes before it.
        self._timeout = aiohttp.ClientTimeout(sock_connect=min(CONNECT_SECONDS, settings.timeout))
        self._session: aiohttp.ClientSession | None = None

    async def send(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes
    ) -> UpstreamAnswer:
        """Send a request and wait for the head of its answer.

        Raises:
            UpstreamError: 502, or 504 if no connection was made, or no answer begun, in time.
        """
        if self._session is None:  # it belongs to the event loop that sends
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=self._most, ssl=self._verify),
                cookie_jar=aiohttp.DummyCookieJar(),
                # Compressed answers are refused: a small one may decompress to any size.
                auto_decompress=False,
                timeout=self._timeout,
            )
        given: Any = {"headers": headers, "data": body or None, "proxy": self._proxy}
        given["skip_auto_headers"] = None if body else _NO_TYPE
        try:
            async with asyncio.timeout(self._seconds):
                response = await self._session.request(
                    method, _parsed(url), allow_redirects=False, **given
                )
        except aiohttp.ServerTimeoutError:
            raise UpstreamError(f"{self.name} could not be reached in time", 504) from None
        except TimeoutError:
            raise UpstreamError(SILENT, 504) from None
        except (aiohttp.ClientError, OSError):
            raise UpstreamError(f"{self.name} could not be reached, or is no HTTP server") from None
        kind, raw = response.headers.get("content-type", ""), [*response.raw_headers]
        answer = UpstreamAnswer(response.status, kind, raw, response, self._seconds)
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


# Few URLs are asked for, and the library keeps what it works out about one in the object.
_parsed = lru_cache(maxsize=64)(partial(URL, encoded=True))


# ---- one text of the page ----

MAX_TOLD = 300
"""Characters of an API's own error that the page shows."""
MAX_MODELS = 500


@dataclass(frozen=True)
class ChatApi:
    """The upstream as the page asks it: an API with OpenAI's `/models` and `/chat/completions`.

    Attributes:
        key: sent as `Authorization: Bearer`; None sends none.
    """

    upstream: Upstream
    key: str | None = field(repr=False)

    async def models(self) -> list[str]:
        """Return the names of its models; the list is empty if it does not tell.

        Nothing of any text is asked with it, so it is how an address and a key are tried.

        Raises:
            UpstreamError: nothing answers there, or the key is refused.
        """
        status, found = await self._ask("GET", "/models", b"")
        if status in (401, 403, 407):
            raise UpstreamError(f"the API refuses this key (status {status})")
        listed = found.get("data") if isinstance(found, dict) else None
        ids = [each.get("id") for each in listed or () if isinstance(each, dict)]
        return [name for name in ids if isinstance(name, str)][:MAX_MODELS]

    async def answer(self, model: str, texts: Sequence[str]) -> tuple[str, str]:
        """Return (what the model answered, "") or ("", why it did not, in the API's words).

        Args:
            texts: what was released and what was answered in turn, as it left and as it came; the
                last one is to be answered.
        """
        roles = cycle(["user", "assistant"])
        pairs = zip(roles, texts, strict=False)
        messages = [{"role": role, "content": text} for role, text in pairs]
        asked = {"model": model, "messages": messages}
        status, found = await self._ask("POST", "/chat/completions", json.dumps(asked).encode())
        if status != 200:
            return "", f"the API answered with status {status}{_told(found)}"
        said = None
        with suppress(KeyError, IndexError, TypeError):
            said = found["choices"][0]["message"]["content"]
        return (said, "") if isinstance(said, str) else ("", "the API answered without text")

    async def _ask(self, method: str, path: str, body: bytes) -> tuple[int, Any]:
        """Return (status, parsed body; None if it is no JSON)."""
        _, url = target(self.upstream.url, f"/v1{path}", b"")
        begun = await self.upstream.send(method, url, to_upstream({}, self.key, body), body)
        try:
            return begun.status, json.loads(await begun.whole())
        except (ValueError, RecursionError):
            return begun.status, None
        finally:
            begun.close()


def _told(found: Any) -> str:
    """Return what an API says of its error, after a colon; "" if it says nothing."""
    inside = found.get("error") if isinstance(found, dict) else None
    message = inside.get("message") if isinstance(inside, dict) else inside
    return f": {message[:MAX_TOLD]}" if isinstance(message, str) and message else ""
