"""What passes between client and upstream beside the body: a short list; everything else stays
here.

Not passed to the upstream: cookies, addresses (`X-Forwarded-For`, `Forwarded`, `Via`), `Referer`,
`Origin`, tracing, the client's `User-Agent` and `X-Stainless-*` (they describe its machine), and
every header not named below.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from urllib.parse import urlsplit

from sanitizer.proxy.failures import Headers
from sanitizer.wire import ENDPOINTS, answer_headers, sent_headers

TO_UPSTREAM = (
    "authorization",
    "api-key",
    "openai-organization",
    "openai-project",
    "openai-beta",
    "idempotency-key",
)
_TO_CLIENT = re.compile(
    rb"x-request-id|apim-request-id|openai-(processing-ms|version|model|organization|project)|x-ratelimit-[a-z-]+"
    rb"|retry-after(-ms)?|x-should-retry"
)
USER_AGENT = "sanitizer"


def target(upstream: str, path: str, query: bytes) -> tuple[str, str]:
    """(path and query for the filter, which judges them; URL to ask once it has).

    Args:
        upstream: its path takes the place of "/v1"; without one, the client's path is kept whole.
        path: not decoded. query: raw.
    """
    base = upstream.rstrip("/")
    wanted = path.removeprefix("/v1") if urlsplit(base).path else path
    if query:
        wanted = f"{wanted}?{query.decode('latin-1')}"
    return wanted, base + wanted


def endpoint_of(path: str) -> str:
    """The endpoint's name for metrics, never the path itself: "chat/completions", ..., "other"."""
    path = path.partition("?")[0]
    for name in ENDPOINTS:
        if path.endswith("/" + name):
            return name
    return "other"


def to_upstream(
    headers: Mapping[str, str], key: str | None, body: bytes, streams: bool
) -> dict[str, str]:
    """Request headers. `identity`: the answer has to be read here, and what decompresses to much
    must not.
    """
    kept = dict(sent_headers(headers.items(), only=TO_UPSTREAM))
    if key is not None:
        kept.pop("api-key", None)
        kept["authorization"] = f"Bearer {key}"
    if body:
        kept["content-type"] = "application/json"
    accept = "text/event-stream" if streams else "application/json"
    return kept | {"accept": accept, "accept-encoding": "identity", "user-agent": USER_AGENT}


def to_client(headers: Iterable[tuple[bytes, bytes]]) -> Headers:
    """Answer headers worth passing on; no cookies, nothing hop by hop."""
    return [(name.lower(), value) for name, value in answer_headers(headers, only=_TO_CLIENT)]
