"""Answers in the API's own shape: errors above all."""

from __future__ import annotations

import json
from dataclasses import dataclass

from starlette.exceptions import HTTPException
from starlette.types import Send

from sanitizer.errors import (
    BudgetExceeded,
    LedgerError,
    ModelError,
    NotCertified,
    PolicyError,
    RequestRefused,
    UpstreamError,
    VaultError,
)

Headers = list[tuple[bytes, bytes]]

JSON: Headers = [(b"content-type", b"application/json")]
NO_RETRY = (b"x-should-retry", b"false")  # the SDKs obey this before they look at the status
_REFUSED = {BudgetExceeded: "budget_exceeded", NotCertified: "not_certified", PolicyError: "policy"}
_PARTS = {VaultError: "vault", LedgerError: "ledger", ModelError: "model"}


@dataclass(frozen=True)
class Failure:
    """Why a request was not answered.

    Attributes:
        code: a short fixed word, for metrics too. retry: whether the same request may succeed soon.
    """

    status: int
    message: str
    code: str
    retry: bool = False

    @classmethod
    def of(cls, error: BaseException) -> Failure:
        """What a client may learn of an error: never the message of one that is not this package's
        own.
        """
        if isinstance(error, RequestRefused):
            return cls(error.status, str(error), error.reason, retry=error.status in (408, 429))
        if isinstance(error, UpstreamError):
            return cls(error.status, str(error), "upstream", retry=True)
        if isinstance(error, HTTPException):
            what = (
                "no such page"
                if error.status_code == 404
                else "this method does not fit this address"
            )
            return cls(error.status_code, what, "page")
        for kind, code in _REFUSED.items():
            if isinstance(error, kind):
                return cls(403, str(error), code)
        name = next((name for kind, name in _PARTS.items() if isinstance(error, kind)), "internal")
        return cls(500, f"the proxy failed ({name}); its log says how", name)

    @property
    def type(self) -> str:
        """The API's name for the sort of error."""
        if self.code == "budget_exceeded":
            return "insufficient_quota"
        known = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
        return known.get(
            self.status, "server_error" if self.status >= 500 else "invalid_request_error"
        )

    def as_dict(self) -> dict[str, str | None]:
        """The API's error object."""
        return {"message": self.message, "type": self.type, "param": None, "code": self.code}

    def body(self) -> bytes:
        """The whole answer."""
        return json.dumps({"error": self.as_dict()}).encode()

    def event(self, endpoint: str) -> bytes:
        """The same inside a stream: one event, that the SDKs raise as an error.

        Args:
            endpoint: as `endpoint_of` names it: Responses streams know a typed error event, the
                others do not.
        """
        if endpoint == "responses":
            typed = {**self.as_dict(), "type": "error", "error": self.as_dict()}
            return b"event: error\ndata: " + json.dumps(typed).encode() + b"\n\n"
        return b"data: " + self.body() + b"\n\n"


async def answer(send: Send, status: int, body: bytes, headers: Headers = JSON) -> None:
    """One whole answer."""
    length = (b"content-length", str(len(body)).encode())
    await send({"type": "http.response.start", "status": status, "headers": [*headers, length]})
    await send({"type": "http.response.body", "body": body})


async def answer_failure(send: Send, failure: Failure, headers: Headers | None = None) -> None:
    """An error, with what tells the SDKs whether to try again."""
    extra = [] if failure.retry else [NO_RETRY]
    await answer(send, failure.status, failure.body(), [*JSON, *extra, *(headers or [])])
