"""Transports for `httpx`: every request of a client goes through the filter.

    client = httpx.Client(transport=FilterTransport(httpx.HTTPTransport(), sanitizer))

A client's proxies and mounts are transports of their own: wrap each, or use `filtered`, which wraps
them all.
"""

from __future__ import annotations

from typing import TypeVar

import httpx

from sanitizer.clients.transport import (
    AsyncTransport,
    Filtering,
    SyncTransport,
    TransportFilter,
    filtered_client,
)
from sanitizer.pipeline.sanitizer import Sanitizer

ClientT = TypeVar("ClientT", httpx.Client, httpx.AsyncClient)


class FilterTransport(SyncTransport[httpx.BaseTransport], httpx.BaseTransport):
    """Transport that sanitizes requests before another one sends them, and restores the answers.

    The given request stays as it was: it can be sent again, on a retry or a redirect, and goes
    through the filter again, which gives the same bytes. Streams stay streams; closing one closes
    the API's. The record is in the answer's headers, `sanitizer-epsilon-total` and so on.

    Guarantee: as `Filter`. SanitizerErrors are raised as they are, before anything is sent; errors
    of the other transport too.
    Not protected: headers, and names in the URL. Authentication that signs the body is refused if
    its header is one of the usual ones.

    >>> from sanitizer import Sanitizer
    >>> from sanitizer.testing import RecordingServer
    >>> transport = FilterTransport(httpx.HTTPTransport(), Sanitizer(policy="identifiers"))
    >>> question = {"messages": [{"role": "user", "content": "Ask anna@example.org"}]}
    >>> with RecordingServer() as server, httpx.Client(transport=transport) as client:
    ...     answer = client.post(server.url + "/chat/completions", json=question)
    >>> server.requests[0].json["messages"][0]["content"]
    'Ask <EMAIL_1>'
    >>> answer.json()["choices"][0]["message"]["content"]
    'Ask anna@example.org'
    >>> answer.headers["sanitizer-n-identifiers"]
    '1'

    Args:
        transport: sends what was sanitized.
        owner: client that uses the transport too; default none, so closing this closes it.

    Raises:
        ValueError: the transport is a filter already.
    """

    http = httpx


class AsyncFilterTransport(AsyncTransport[httpx.AsyncBaseTransport], httpx.AsyncBaseTransport):
    """Transport as `FilterTransport`, for asynchronous clients; long work is done in a thread.

    A cancelled call sends nothing once it is cancelled; what is being sanitized then is finished,
    and charged.

    >>> from sanitizer import Sanitizer
    >>> sanitizer = Sanitizer(policy="identifiers")
    >>> transport = AsyncFilterTransport(httpx.AsyncHTTPTransport(), sanitizer)
    >>> client = httpx.AsyncClient(transport=transport)
    """

    http = httpx


def filtered(
    client: ClientT,
    sanitizer: Sanitizer,
    *,
    filter_class: Filtering = TransportFilter,
    user: object | None = None,
) -> ClientT:
    """Return a client like this one whose every transport is filtered: main one, proxies, mounts.

    Cookies, headers, hooks and connections are shared with the given client, which works on
    unfiltered. Closing the new one closes the connections if the given one is gone or closed;
    closing the given one ends what is under way in both. `user`, if given, is an object that uses
    the given client, and keeps it open while it lives.

    >>> from sanitizer import Sanitizer
    >>> client = filtered(httpx.Client(cookies={"a": "b"}), Sanitizer(policy="identifiers"))
    >>> client.cookies["a"]
    'b'

    Raises:
        ValueError: a transport is a filter already.
        TypeError: the client chooses its transports by a method of its own.
    """
    kinds = (FilterTransport, AsyncFilterTransport)
    return filtered_client(kinds, client, sanitizer, filter_class=filter_class, user=user)
