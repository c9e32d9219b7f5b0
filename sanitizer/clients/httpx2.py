"""Transports for `httpx2`: what `sanitizer.clients.httpx` has, for clients of that library."""

from __future__ import annotations

from typing import TypeVar

import httpx2

from sanitizer.clients.transport import (
    AsyncTransport,
    Filtering,
    SyncTransport,
    TransportFilter,
    filtered_client,
)
from sanitizer.pipeline.sanitizer import Sanitizer

ClientT = TypeVar("ClientT", httpx2.Client, httpx2.AsyncClient)


class FilterTransport(SyncTransport[httpx2.BaseTransport], httpx2.BaseTransport):
    """Transport as `sanitizer.clients.httpx.FilterTransport`, for clients of httpx2."""

    http = httpx2


class AsyncFilterTransport(AsyncTransport[httpx2.AsyncBaseTransport], httpx2.AsyncBaseTransport):
    """Transport as `sanitizer.clients.httpx.AsyncFilterTransport`, for clients of httpx2."""

    http = httpx2


def filtered(
    client: ClientT,
    sanitizer: Sanitizer,
    *,
    filter_class: Filtering = TransportFilter,
    user: object | None = None,
) -> ClientT:
    """Return a client as `sanitizer.clients.httpx.filtered` does, of httpx2."""
    kind = FilterTransport if isinstance(client, httpx2.Client) else AsyncFilterTransport
    return filtered_client(client, kind, sanitizer, filter_class, user)
