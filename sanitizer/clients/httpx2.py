"""Transports for `httpx2`: every request of a client goes through the filter.

    client = httpx2.Client(transport=FilterTransport(httpx2.HTTPTransport(), sanitizer))

A client's proxies and mounts are transports of their own: wrap each, or use `filtered`, which wraps
them all.
"""

from __future__ import annotations

from typing import TypeVar

try:
    import httpx2
except ModuleNotFoundError:
    raise ImportError(
        'httpx2 is missing; it comes with the extra "openai": pip install "dp-sanitizer[openai]"'
    ) from None

from sanitizer.clients.transport import (
    AsyncEvents,
    AsyncTransport,
    SyncEvents,
    SyncTransport,
    TransportFilter,
    filtered_client,
)
from sanitizer.pipeline import Sanitizer

ClientT = TypeVar("ClientT", httpx2.Client, httpx2.AsyncClient)


class _Stream(SyncEvents, httpx2.SyncByteStream): ...


class _AsyncStream(AsyncEvents, httpx2.AsyncByteStream): ...


class FilterTransport(SyncTransport[httpx2.BaseTransport], httpx2.BaseTransport):
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
    >>> transport = FilterTransport(httpx2.HTTPTransport(), Sanitizer(policy="identifiers"))
    >>> question = {"messages": [{"role": "user", "content": "Ask anna@example.org"}]}
    >>> with RecordingServer() as server, httpx2.Client(transport=transport) as client:
    ...     answer = client.post(server.url + "/chat/completions", json=question)
    >>> server.requests[0].json["messages"][0]["content"]
    'Ask <EMAIL_1>'
    >>> answer.json()["choices"][0]["message"]["content"]
    'Ask anna@example.org'
    >>> answer.headers["sanitizer-n-identifiers"]
    '1'

    Args:
        transport: sends what was sanitized.
        sanitizer: Sanitizer of the conversation.
        filter_class: how the filter is used.
        owner: client that uses the transport too; default none, so closing this closes it.

    Raises:
        ValueError: the transport is a filter already.
    """

    http = httpx2
    stream = _Stream


class AsyncFilterTransport(AsyncTransport[httpx2.AsyncBaseTransport], httpx2.AsyncBaseTransport):
    """Transport as `FilterTransport`, for asynchronous clients; long work is done in a thread.

    A cancelled call sends nothing once it is cancelled; what is being sanitized then is finished,
    and charged.

    >>> from sanitizer import Sanitizer
    >>> sanitizer = Sanitizer(policy="identifiers")
    >>> transport = AsyncFilterTransport(httpx2.AsyncHTTPTransport(), sanitizer)
    >>> client = httpx2.AsyncClient(transport=transport)

    Args:
        transport, sanitizer, filter_class, owner: as `FilterTransport`.

    Raises:
        ValueError: the transport is a filter already.
    """

    http = httpx2
    stream = _AsyncStream


def filtered(
    client: ClientT,
    sanitizer: Sanitizer,
    *,
    filter_class: type[TransportFilter] = TransportFilter,
    user: object | None = None,
) -> ClientT:
    """Return a client like this one whose every transport is filtered: main one, proxies, mounts.

    Cookies, headers, hooks and connections are shared with the given client, which works on
    unfiltered. Closing the new one closes the connections if the given one is gone or closed;
    closing the given one ends what is under way in both.

    >>> from sanitizer import Sanitizer
    >>> client = filtered(httpx2.Client(cookies={"a": "b"}), Sanitizer(policy="identifiers"))
    >>> client.cookies["a"]
    'b'

    Args:
        client: client of this library.
        sanitizer: Sanitizer of the conversation.
        filter_class: how the filter is used.
        user: object that uses the given client, and keeps it open while it lives.

    Raises:
        ValueError: a transport is a filter already.
        TypeError: the client chooses its transports by a method of its own.
    """
    classes = (FilterTransport, AsyncFilterTransport)
    return filtered_client(client, httpx2, *classes, sanitizer, filter_class, user)
