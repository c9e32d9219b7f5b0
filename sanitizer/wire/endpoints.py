"""Which paths are let through. Everything else is refused."""

from __future__ import annotations

import re
from collections.abc import Collection

from sanitizer.errors import RequestRefused

ENDPOINTS = ("chat/completions", "responses", "completions", "embeddings")
READ = "read"  # an extra path the policy lets be read

_TARGET = re.compile(
    r"((?:/[A-Za-z0-9_][A-Za-z0-9._~-]*)+)(?:\?api-version=[0-9][0-9-]{0,20}(?:-?preview)?)?", re.ASCII
)
_NAMED = ("deployments", "engines")  # followed by a name of the user's choice
_RESOURCES = frozenset(
    [
        "assistants",
        "audio",
        "batches",
        "chat",
        "chatkit",
        "completions",
        "containers",
        "conversations",
        "embeddings",
        "evals",
        "files",
        "fine_tuning",
        "fine-tuning",
        "images",
        "models",
        "moderations",
        "organization",
        "realtime",
        "responses",
        "threads",
        "uploads",
        "vector_stores",
        "videos",
    ]
)


def endpoint(method: str, target: str, readable: Collection[str] = ()) -> str:
    """The endpoint a request means: one of ENDPOINTS, or READ.

    A base path may come before it ("/v1", "/openai/v1", "/openai/deployments/NAME"): plain segments, none of them the
    name of another resource. The only query let through is Azure's `api-version`, since a query may hold text.
    Not protected: names in the base path; they are the application's configuration.

    Args:
        target: path as sent, not decoded, with the query string if there is one. readable: paths such as "/models",
            for GET.

    Raises:
        RequestRefused: reason "endpoint", status 404.
    """
    match = _TARGET.fullmatch(target)
    path = match[1] if match else ""
    known = (
        ENDPOINTS if method == "POST" else [p.strip("/") for p in readable if p.strip("/")] if method == "GET" else []
    )
    for name in known:
        if path.endswith("/" + name) and _is_base(path[: -len(name) - 1]):
            return name if method == "POST" else READ
    raise RequestRefused(
        "this method and path are not let through; known are POST to "
        + ", ".join("/" + e for e in ENDPOINTS)
        + ", and GET of what the policy lists ([wire] endpoints)",
        "endpoint",
        404,
    )


def _is_base(path: str) -> bool:
    """Whether only a base path is left: no segment names a resource."""
    segments = path.split("/")[1:]
    return not any(
        segment.lower() in _RESOURCES and (i == 0 or segments[i - 1] not in _NAMED)
        for i, segment in enumerate(segments)
    )
