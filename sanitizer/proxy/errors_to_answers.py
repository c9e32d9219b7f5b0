"""The outermost layer: limits, the guard, and one place where errors become answers and log lines."""

from __future__ import annotations

import asyncio
import logging
import traceback
from dataclasses import dataclass
from pathlib import Path

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sanitizer.errors import RequestRefused, SanitizerError, UpstreamError
from sanitizer.proxy.access import ASK, AccessCheck, plain_headers
from sanitizer.proxy.failures import Failure, Headers, answer, answer_failure
from sanitizer.proxy.forwarding import endpoint_of
from sanitizer.proxy.metrics import Metrics
from sanitizer.proxy.request_body import ClientGone, drain

log = logging.getLogger("sanitizer.proxy")
CLOSE = (b"connection", b"close")


@dataclass
class Reply:
    """What has been sent; adds the same headers to whatever is."""

    send: Send
    extra: Headers
    status: int = 0

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            if self.extra:
                message = {**message, "headers": [*message["headers"], *self.extra]}
        await self.send(message)


class ErrorLayer:
    """Wraps the whole application.

    Guarantee: no exception leaves it, so the server logs none; its own log holds messages of this
    package's errors, which hold no text, and of all others only the type and the line.

    Args:
        api: answers all paths but those in `own`, which `router` answers. most: requests at once.
    """

    def __init__(
        self,
        api: ASGIApp,
        router: ASGIApp,
        guard: AccessCheck,
        metrics: Metrics,
        own: frozenset[str],
        most: int,
    ) -> None:
        self._api, self._router, self._guard = api, router, guard
        self._metrics, self._own, self._most = metrics, own, most

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._router(scope, receive, send)
            return
        headers = plain_headers(scope)
        scope.setdefault("state", {})["headers"] = headers
        scope["app"] = self
        is_own = scope["path"] in self._own
        reply = Reply(send, self._guard.cross_origin(scope, headers))
        under_way = self._metrics.enter()
        try:
            if under_way > self._most:
                raise RequestRefused(f"more than {self._most} requests are under way", "busy", 429)
            if self._guard.is_preflight(scope, headers):
                await answer(reply, 200, b"", [])
                return
            self._guard.check(scope, headers)
            await (self._router if is_own else self._api)(scope, receive, reply)
        except ClientGone:
            pass
        except (
            asyncio.CancelledError
        ):  # only the server's end cancels, and it would log it as an error
            await self._tell(
                Failure(503, "the proxy is shutting down", "shutdown", retry=True), reply, receive
            )
        except Exception as error:
            _log(error)
            failure = Failure.of(error)
            if failure.status == 401 and is_own:
                reply.extra = [*reply.extra, ASK]
            await self._tell(failure, reply, receive)
        finally:
            self._metrics.leave()
            if not is_own:
                self._metrics.request(
                    endpoint_of(scope["path"]), str(reply.status) if reply.status else "gone"
                )

    async def _tell(self, failure: Failure, reply: Reply, receive: Receive) -> None:
        self._metrics.refusal(failure.code)
        if reply.status:
            return  # too late: the connection is closed without an end, which clients see as broken
        if failure.status not in (408, 413):
            await answer_failure(reply, failure)
            return
        # The client may still be sending. It gets the whole answer now, and the end of it a moment
        # later.
        body = failure.body()
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode()),
            CLOSE,
        ]
        await reply({"type": "http.response.start", "status": failure.status, "headers": headers})
        await reply({"type": "http.response.body", "body": body, "more_body": True})
        await drain(receive)
        await reply({"type": "http.response.body", "body": b""})


def _log(error: Exception) -> None:
    """Failures of the proxy's own; what clients did wrong is counted, not logged."""
    if isinstance(error, UpstreamError):
        log.warning("%s", error)
    elif Failure.of(error).status < 500:
        pass
    elif isinstance(error, SanitizerError):
        log.error("%s: %s", type(error).__name__, error)
    else:
        frames = traceback.extract_tb(error.__traceback__)
        where = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "unknown"
        log.error("%s at %s", type(error).__name__, where)
