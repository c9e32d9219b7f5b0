"""Who may ask the proxy, whom it asks, and how much: settings, and the check of each request."""

from __future__ import annotations

import base64
import hmac
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from urllib.parse import urlsplit

from starlette.types import Scope

from sanitizer.errors import RequestRefused
from sanitizer.urls import check_base_url, url_host
from sanitizer.wire.endpoints import endpoint_of

Headers = list[tuple[bytes, bytes]]

LOOPBACK_NAMES = ("localhost", "127.0.0.1", "[::1]")
MIN_TOKEN = 16
TOKEN = "sanitizer-token"  # noqa: S105  the header's name
KEY_HEADERS = ("authorization", "api-key", "x-api-key", "x-goog-api-key")
"""Headers in which clients send the key of an API; the first holds it after "Bearer"."""
TRACES = ("traceparent", "tracestate")
TRACE_PARENT = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}")
"""Form of the first of them; the group is the trace."""
IDLE_HOURS = 72.0
"""After so many hours without a request a conversation ends: a weekend is shorter."""
FREE_PATHS = frozenset({"/healthz", "/readyz"})
METRICS = "/metrics"
ASK = (b"www-authenticate", b'Basic realm="sanitizer", charset="UTF-8"')
_PREFLIGHT_AGE = (b"access-control-max-age", b"600")  # seconds


@dataclass(frozen=True)
class ProxySettings:
    """Settings of a proxy: one upstream, who may ask, and how much.

    >>> ProxySettings("https://api.openai.com/v1", token="a-token-of-16-or-more").timeout
    600.0
    >>> ProxySettings("https://user:password@api.example/v1")
    Traceback (most recent call last):
    ValueError: upstream must be an http or https URL of host, port and path only

    Attributes:
        upstream: base URL of the API, such as "https://api.openai.com/v1". Its path replaces the
            "/v1" of the path that a client asks for; without a path the client's is kept.
            "": no API, the page alone is served.
        key: sent to the upstream as `Authorization: Bearer` in place of what the client sends; None
            passes the client's own.
        token: secret that clients must send: as `sanitizer-token`, or as `Authorization: Bearer`
            where that header does not carry the upstream's key. None: no token is asked for.
        hosts: names accepted in the `Host` header beside those of this machine ("localhost",
            "127.0.0.1", "[::1]"); "*" accepts all, for proxies whose clients must show a key.
        origins: web pages that may ask, such as "https://app.example", beside the proxy's own.
        max_body: largest body of a request, in bytes.
        max_connections: most requests under way at once.
        timeout: seconds within which a request's body must arrive, and the longest silence of the
            upstream or the client.
        idle: hours without a request after which a conversation ends, and is forgotten.
        by_history: chats are conversations of their own; False: all requests of a key are one.
        page: True to serve the page.
        ca: PEM file of the certificates to trust for the upstream instead of the usual ones.
        mounts: (path, base URL) of other APIs: what is asked for below the path goes to that URL,
            and below none of them nothing is let through. Without any, all goes to `upstream`.

    Raises:
        ValueError: naming argument and value, but never the value of key or token.
    """

    upstream: str
    key: str | None = field(default=None, repr=False)
    token: str | None = field(default=None, repr=False)
    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    max_body: int = 10_000_000
    max_connections: int = 1000
    timeout: float = 600.0
    idle: float = IDLE_HOURS
    by_history: bool = True
    page: bool = True
    ca: Path | None = None
    mounts: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        for url in (*filter(None, [self.upstream]), *(url for _, url in self.mounts)):
            check_base_url("upstream", url)
            if endpoint_of(urlsplit(url).path.rstrip("/")) != "other":
                told = "without an endpoint, as in https://api.openai.com/v1"
                raise ValueError(f"upstream must be the base URL, {told}")
        for name in ("key", "token"):
            value = getattr(self, name)
            if value is not None and not re.fullmatch(r"[!-~]+", value):
                raise ValueError(f"{name} must be visible ASCII without spaces, and not empty")
        if self.token is not None and (n := len(self.token)) < MIN_TOKEN:
            raise ValueError(f"token must have at least {MIN_TOKEN} characters, got {n}")
        for origin in self.origins:
            if not re.fullmatch(r"https?://[^/?#@\s]+", origin):
                raise ValueError(f"allow-origin must be like https://app.example, got {origin!r}")
        for name in ("max_body", "max_connections"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)!r}")
        for name in ("timeout", "idle"):
            if not (isfinite(value := getattr(self, name)) and value > 0):
                raise ValueError(f"{name} must be finite and positive, got {value!r}")


def plain_headers(scope: Scope) -> dict[str, str]:
    """Return the headers of a request by lower-case name.

    The values of a header that occurs twice are joined with commas, so that none of them passes
    for a known host, origin or token.
    """
    found: dict[str, str] = {}
    for raw_name, raw_value in scope["headers"]:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
        found[name] = f"{found[name]}, {value}" if name in found else value
    return found


class AccessCheck:
    """Check of host, origin and token, made before anything else of a request is read.

    Guarantee: no web page of another origin can use the proxy, not even under a name that it makes
    point to this machine (DNS rebinding): the `Host` must be known, and an `Origin`, if any, must
    be the proxy's own.
    Not protected: from other programs of this machine, unless there is a token.

    Args:
        own: paths of the proxy itself, which are not the API's. A browser may send the token there
            as the password of Basic authentication, which it asks its user for.
        free: paths of these that probes ask for, by any host name and without a token.
    """

    def __init__(
        self, settings: ProxySettings, own: frozenset[str], free: frozenset[str] = FREE_PATHS
    ) -> None:
        self._own, self._free = own, free
        self._any_host = "*" in settings.hosts
        self._hosts = {url_host(name) for name in (*LOOPBACK_NAMES, *settings.hosts)}
        self._origins = frozenset(settings.origins)
        self._token = settings.token.encode() if settings.token else None
        self._bearer_is_token = settings.key is not None

    def check(self, scope: Scope, headers: Mapping[str, str]) -> None:
        """Refuse a request that may not be made.

        Raises:
            RequestRefused: 403 for a foreign host or origin, 401 without the token.
        """
        if scope["path"] in self._free:
            return
        host, origin = headers.get("host", ""), headers.get("origin")
        if not self._any_host and _without_port(host) not in self._hosts:
            told = "the Host header holds a name that this proxy does not have (--allow-host)"
            raise RequestRefused(told, "host", 403)
        known = {f"{scope['scheme']}://{host}", *self._origins}
        if _from_another_site(headers) if origin is None else origin not in known:
            told = "web pages of this origin may not use the proxy (--allow-origin)"
            raise RequestRefused(told, "origin", 403)
        if self._token:
            self._check_token(self._token, scope["path"], headers)

    def cross_origin(self, scope: Scope, headers: Mapping[str, str]) -> Headers:
        """Return the headers that let an allowed page of another origin read the answer.

        The list is empty for all other requests.
        """
        origin = headers.get("origin")
        if origin not in self._origins:
            return []
        allow = [(b"access-control-allow-origin", origin.encode()), (b"vary", b"origin")]
        if scope["method"] != "OPTIONS":
            return [*allow, (b"access-control-expose-headers", b"*")]
        asked = headers.get("access-control-request-headers", "").encode("latin-1")
        allow += [(b"access-control-allow-headers", asked), _PREFLIGHT_AGE]
        return [*allow, (b"access-control-allow-methods", b"GET, POST")]

    def is_preflight(self, scope: Scope, headers: Mapping[str, str]) -> bool:
        """Return True if a browser asks on behalf of an allowed page whether it may ask.

        Browsers cannot send the token with such a request, so it is answered without one.
        """
        return (
            scope["method"] == "OPTIONS"
            and "access-control-request-method" in headers
            and headers.get("origin") in self._origins
            and _without_port(headers.get("host", "")) in self._hosts
        )

    def _check_token(self, token: bytes, path: str, headers: Mapping[str, str]) -> None:
        given = [headers.get(TOKEN, "")]
        scheme, _, value = headers.get("authorization", "").partition(" ")
        # `Authorization` is the proxy's own wherever it does not carry the key of the upstream.
        if scheme.lower() == "bearer" and (self._bearer_is_token or path in self._own):
            given.append(value)
        if scheme.lower() == "basic" and path in self._own:
            given.append(_password(value))
        if self._bearer_is_token:
            given += [headers.get(name, "") for name in ("x-api-key", "x-goog-api-key")]
        # compare_digest takes as long for every wrong token, so it cannot be guessed by the clock.
        if not any(hmac.compare_digest(each.encode("utf-8", "replace"), token) for each in given):
            told = f"the proxy's token is missing or wrong (header {TOKEN})"
            raise RequestRefused(told, "token", 401)


def _from_another_site(headers: Mapping[str, str]) -> bool:
    """Return True if a browser says that a page of another site asks.

    Following a link to the proxy's own page is allowed: nothing is sent with it.
    """
    if headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document":
        return False
    return headers.get("sec-fetch-site", "none") not in ("none", "same-origin")


def _password(basic: str) -> str:
    with suppress(ValueError):  # of base64 too
        return base64.b64decode(basic, validate=True).decode().partition(":")[2]
    return ""


def _without_port(host: str) -> str:
    """Return the name of a `Host` header in lower case, IPv6 addresses in brackets."""
    name, colon, port = host.rpartition(":")
    return (name if colon and port.isdecimal() else host).lower()
