"""What the proxy may do, as frozen values checked at the start."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from urllib.parse import urlsplit

from sanitizer.urls import check_base_url
from sanitizer.wire import ENDPOINTS

LOOPBACK_NAMES = ("localhost", "127.0.0.1", "[::1]")
MIN_TOKEN = 16


@dataclass(frozen=True)
class ProxySettings:
    """One upstream, who may ask, and how much.

    Attributes:
        upstream: base URL of the API, such as "https://api.openai.com/v1". Its path takes the place
            of the "/v1" that clients ask for; without a path theirs is kept.
        key: sent to the upstream as `Authorization: Bearer` in place of what the client sends; None
            passes the client's own.
        token: clients must send it: as `sanitizer-token`, or as `Authorization: Bearer` where that
            header does not carry the upstream's key. None: no token.
        hosts: names in the `Host` header beside this machine's own ("localhost", "127.0.0.1",
            "[::1]").
        origins: web pages that may ask, such as "https://app.example", beside the proxy's own.
        max_body: bytes of a request body. max_connections: requests under way at once.
        timeout: seconds for a request's body to arrive, and for each silence of the upstream or the
            client.
        page: whether the page is served.
        ca: PEM file of the certificates to trust for the upstream instead of the usual ones.

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
    page: bool = True
    ca: Path | None = None

    def __post_init__(self) -> None:
        _check_upstream(self.upstream)
        for name in ("key", "token"):
            _check_secret(name, getattr(self, name))
        if self.token is not None and len(self.token) < MIN_TOKEN:
            raise ValueError(
                f"token must have at least {MIN_TOKEN} characters, got {len(self.token)}"
            )
        for origin in self.origins:
            if not re.fullmatch(r"https?://[^/?#@\s]+", origin):
                raise ValueError(f"allow-origin must be like https://app.example, got {origin!r}")
        for name in ("max_body", "max_connections"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)!r}")
        if not (isfinite(self.timeout) and self.timeout > 0):
            raise ValueError(f"timeout must be finite and positive, got {self.timeout!r}")


def _check_upstream(url: str) -> None:
    check_base_url("upstream", url)
    if urlsplit(url).path.rstrip("/").endswith(tuple("/" + name for name in ENDPOINTS)):
        raise ValueError(
            "upstream must be the base URL, which ends before the endpoint, as in https://api.openai.com/v1"
        )


def _check_secret(name: str, value: str | None) -> None:
    if value is not None and not re.fullmatch(r"[!-~]+", value):
        raise ValueError(f"{name} must be visible ASCII without spaces, and not empty")
