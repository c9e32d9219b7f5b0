"""Request bodies read within limits, and the client watched while it waits."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from typing import Any, TypeVar

from starlette.types import Receive

from sanitizer.errors import RequestRefused

Result = TypeVar("Result")
DRAIN_SECONDS = 2.0
UNWATCHED_SECONDS = 0.02  # what is answered sooner is answered, whether or not the client is there


class ClientGone(Exception):
    """The client closed the connection: nobody waits for an answer."""


async def read_body(
    receive: Receive, headers: Mapping[str, str], most: int, seconds: float
) -> bytes:
    """The whole body.

    Raises:
        RequestRefused: 413 as soon as there is more than `most`, or is announced; 408 if it takes
            too long.
        ClientGone: it never came.
    """
    announced = headers.get("content-length", "0")
    if not announced.isdecimal() or len(announced) > 18 or int(announced) > most:
        raise _too_large(most)
    pieces: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(seconds):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise ClientGone
                pieces.append(message.get("body", b""))
                size += len(pieces[-1])
                if size > most:
                    raise _too_large(most)
                if not message.get("more_body", False):
                    return b"".join(pieces)
    except TimeoutError:
        raise RequestRefused(
            "the body of the request did not arrive in time", "timeout", 408
        ) from None


def _too_large(most: int) -> RequestRefused:
    return RequestRefused(
        f"a request's body may have at most {most} bytes; nothing was sent", "size", 413
    )


async def drain(receive: Receive) -> None:
    """Read on for a moment and forget it: a client that only sends would not see its answer
    otherwise.
    """
    try:
        async with asyncio.timeout(DRAIN_SECONDS):
            while (message := await receive())["type"] == "http.request" and message.get(
                "more_body", False
            ):
                pass
    except TimeoutError:
        pass


async def while_client_waits(work: Coroutine[Any, Any, Result], receive: Receive) -> Result:
    """Run to the end, or until the client is gone.

    Raises:
        ClientGone: the work was cancelled. What the work raises.
    """
    waiting = asyncio.current_task()
    assert waiting is not None
    gone = False

    async def watch() -> None:
        nonlocal gone
        while (await receive())["type"] != "http.disconnect":
            pass
        gone = True
        waiting.cancel()

    watchers: list[asyncio.Task[None]] = []
    loop = asyncio.get_running_loop()
    timer = loop.call_later(UNWATCHED_SECONDS, lambda: watchers.append(loop.create_task(watch())))
    try:
        return await work
    except asyncio.CancelledError:
        if gone and waiting.uncancel() == 0:  # else the server ends
            raise ClientGone from None
        raise
    finally:
        timer.cancel()
        for watcher in watchers:
            watcher.cancel()
