"""Transports for `httpx2`: what `sanitizer.clients.httpx` has, for clients of that library."""

from __future__ import annotations

from functools import partial

import httpx2

from sanitizer.clients.transport import AsyncTransport, SyncTransport, filtered_client


class FilterTransport(SyncTransport[httpx2.BaseTransport], httpx2.BaseTransport):
    """Transport as `sanitizer.clients.httpx.FilterTransport`, for clients of httpx2."""

    http = httpx2


class AsyncFilterTransport(AsyncTransport[httpx2.AsyncBaseTransport], httpx2.AsyncBaseTransport):
    """Transport as `sanitizer.clients.httpx.AsyncFilterTransport`, for clients of httpx2."""

    http = httpx2


filtered = partial(filtered_client, (FilterTransport, AsyncFilterTransport))
"""Return a client as `sanitizer.clients.httpx.filtered` does, of httpx2."""
