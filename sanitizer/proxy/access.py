"""Who may ask: the known hosts, no foreign web page, and whoever holds the token."""

from __future__ import annotations

import base64
import binascii
import hmac
from collections.abc import Mapping

from starlette.types import Scope

from sanitizer.errors import RequestRefused
from sanitizer.proxy.failures import Headers
from sanitizer.proxy.settings import LOOPBACK_NAMES, ProxySettings
from sanitizer.urls import url_host

TOKEN = "sanitizer-token"  # noqa: S105  the header's name
FREE_PATHS = frozenset({"/healthz"})
ASK = (b"www-authenticate", b'Basic realm="sanitizer", charset="UTF-8"')
_LASTS = b"600"


def plain_headers(scope: Scope) -> dict[str, str]:
    """Lower-case names; a header that came twice is joined with commas, and so is none of the
    values known.
    """
    found: dict[str, str] = {}
    for raw_name, raw_value in scope["headers"]:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
        found[name] = f"{found[name]}, {value}" if name in found else value
    return found


class AccessCheck:
    """Refuses before anything is read.

    Guarantee: no web page of another origin can use the proxy, also not by a name that it makes
    point to this machine (DNS rebinding): the `Host` must be known, and an `Origin`, where there is
    one, the proxy's own.
    Not protected: from other programs of this machine, unless there is a token.

    Args:
        own: paths that are not the API's. A browser may send the token there as the password of
            Basic authentication, which it asks its user for.
    """

    def __init__(self, settings: ProxySettings, own: frozenset[str]) -> None:
        self._hosts = {url_host(name) for name in (*LOOPBACK_NAMES, *settings.hosts)}
        self._origins = frozenset(settings.origins)
        self._token = settings.token.encode() if settings.token else None
        self._bearer_is_token = settings.key is not None
        self._own = own

    def check(self, scope: Scope, headers: Mapping[str, str]) -> None:
        """Raises RequestRefused: 403 for a foreign host or origin, 401 without the token."""
        host, origin = headers.get("host", ""), headers.get("origin")
        if _without_port(host) not in self._hosts:
            raise RequestRefused(
                "this Host is not one of the proxy's own names (--allow-host)", "host", 403
            )
        if (
            origin is not None
            and origin != f"{scope['scheme']}://{host}"
            and origin not in self._origins
        ):
            raise RequestRefused(
                "web pages of this origin may not ask (--allow-origin)", "origin", 403
            )
        if origin is None and _from_elsewhere(headers):
            raise RequestRefused(
                "web pages of other origins may not ask (--allow-origin)", "origin", 403
            )
        if (
            self._token
            and scope["path"] not in FREE_PATHS
            and not self._has_token(scope["path"], headers)
        ):
            raise RequestRefused(
                f"the proxy's token is missing or wrong (header {TOKEN})", "token", 401
            )

    def cross_origin(self, scope: Scope, headers: Mapping[str, str]) -> Headers:
        """Headers that let an allowed page of another origin read the answer; none for all others."""
        origin = headers.get("origin")
        if origin not in self._origins:
            return []
        allow = [(b"access-control-allow-origin", origin.encode()), (b"vary", b"origin")]
        if scope["method"] != "OPTIONS":
            return [*allow, (b"access-control-expose-headers", b"*")]
        asked = headers.get("access-control-request-headers", "").encode("latin-1")
        methods = (b"access-control-allow-methods", b"GET, POST")
        return [
            *allow,
            methods,
            (b"access-control-allow-headers", asked),
            (b"access-control-max-age", _LASTS),
        ]

    def is_preflight(self, scope: Scope, headers: Mapping[str, str]) -> bool:
        """A browser asks on behalf of an allowed page; it cannot send the token with that."""
        if scope["method"] != "OPTIONS" or "access-control-request-method" not in headers:
            return False
        return (
            headers.get("origin") in self._origins
            and _without_port(headers.get("host", "")) in self._hosts
        )

    def _has_token(self, path: str, headers: Mapping[str, str]) -> bool:
        given, (scheme, _, value) = (
            [headers.get(TOKEN, "")],
            headers.get("authorization", "").partition(" "),
        )
        # `Authorization` is the proxy's own wherever it does not carry the key of the upstream.
        if scheme.lower() == "bearer" and (self._bearer_is_token or path in self._own):
            given.append(value)
        if scheme.lower() == "basic" and path in self._own:
            given.append(_password(value))
        assert self._token is not None
        return any(
            hmac.compare_digest(each.encode("utf-8", "replace"), self._token) for each in given
        )


def _from_elsewhere(headers: Mapping[str, str]) -> bool:
    """Whether a browser says that another site's page asks. A link followed to ours is no such
    thing.
    """
    if headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document":
        return False
    return headers.get("sec-fetch-site", "none") not in ("none", "same-origin")


def _password(basic: str) -> str:
    try:
        return base64.b64decode(basic, validate=True).decode().partition(":")[2]
    except (binascii.Error, ValueError):
        return ""


def _without_port(host: str) -> str:
    """The name of a `Host` header, lower case; brackets stay."""
    name, colon, port = host.rpartition(":")
    return (name if colon and port.isdecimal() else host).lower()
