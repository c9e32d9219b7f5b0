"""`shield`: an OpenAI client like the one given, whose every request goes through the filter."""

from __future__ import annotations

import sys
from functools import cache
from importlib import import_module
from typing import Any, NoReturn, TypeVar, cast

from sanitizer.clients.stamp import Stamped, stamped
from sanitizer.clients.transport import Events, TransportFilter
from sanitizer.errors import RequestRefused, SanitizerError
from sanitizer.pipeline import Sanitizer
from sanitizer.wire import Exchange

ClientT = TypeVar("ClientT")

_HOW_ELSE = "put sanitizer.clients.httpx.FilterTransport into its HTTP client, or run `sanitizer serve` and use it as base_url"
_NOWHERE = "wss://refused.invalid"  # never read


def shield(client: ClientT, sanitizer: Sanitizer) -> ClientT:
    """A client of the same kind and with the same settings, through which only sanitized text
    leaves.

    Key, organization, project, retries, timeout, base URL, headers, query, proxies, mounts, hooks
    and cookies stay. Prompts are sanitized, answers restored, streamed or not; answers carry
    `sanitizer_record`: a dict, on the whole answer, on the first chunk of a stream of chat, and on
    `event.response` of a stream of responses. Copies (`copy`, `with_options`) are shielded too,
    also with another `http_client`.

    The given client works on, unshielded, on the same connections. Closing the shielded client
    closes them if the given one is gone or closed; closing the given one ends what is under way in
    both.

    Guarantee: as `Filter`; what it does not know is refused, nothing is sent. WebSockets
    (`realtime`, `responses.connect`) are refused before anything is opened. Errors of the filter
    are raised as they are, at once, without a retry, and can be caught as `openai.OpenAIError` too.
    Not protected: headers and names in the URL; requests that never go through the client.

    Args:
        client: OpenAI, AsyncOpenAI, AzureOpenAI, AsyncAzureOpenAI, or a subclass. sanitizer: of the
            conversation.

    Raises:
        TypeError: another kind of client. ValueError: it is shielded already.
    """
    sdk = sys.modules.get("openai")
    if sdk is None or not isinstance(client, (sdk.OpenAI, sdk.AsyncOpenAI)):
        raise TypeError(
            f"client must be OpenAI or AsyncOpenAI, got {type(client).__name__}; for others, {_HOW_ELSE}"
        )
    given: Any = client
    kind: Any = type(given)
    if hasattr(given, "_shielded_by"):
        raise ValueError("client must not be shielded already; shield the original")
    copied = given.copy(http_client=_filtered(given._client, sanitizer, user=given))
    copied.__class__ = _shielded_kind(kind)
    copied._shielded_by = sanitizer
    return cast(ClientT, copied)


@cache
def _shielded_kind(kind: Any) -> Any:
    """The same class, shielded. A class, so that copies are shielded too; its name is sent as the
    user agent.
    """

    class Shielded(kind):  # type: ignore[misc]
        _shielded_by: Sanitizer

        @property
        def websocket_base_url(self) -> NoReturn:
            """Every WebSocket of the SDK asks for its address here, before anything is opened."""
            raise _as_sdk_error(
                RequestRefused("WebSocket connections cannot be sanitized", "endpoint", 404)
            )

        @websocket_base_url.setter
        def websocket_base_url(self, url: object) -> None:
            """The SDK's constructor sets it."""

        def copy(self, **options: Any) -> Any:
            """As the SDK's `copy`; the copy is shielded by the same Sanitizer."""
            if options.get("http_client") is not None:
                options["http_client"] = _filtered(options["http_client"], self._shielded_by)
            if options.get("data_residency") is None:  # one excludes the other
                options["websocket_base_url"] = _NOWHERE  # so that the SDK does not ask for ours
            copied = super().copy(**options)
            copied._shielded_by = self._shielded_by
            return copied

        with_options = copy

    Shielded.__name__, Shielded.__qualname__ = kind.__name__, kind.__qualname__
    Shielded.__module__, Shielded.__doc__ = kind.__module__, kind.__doc__
    return Shielded


def _filtered(http_client: Any, sanitizer: Sanitizer, user: object | None = None) -> Any:
    """The HTTP client with every transport filtered, whichever of the two libraries it is of."""
    for name in ("httpx2", "httpx"):
        library = sys.modules.get(name)
        if library is not None and isinstance(http_client, (library.Client, library.AsyncClient)):
            adapter = import_module(f"sanitizer.clients.{name}")
            return adapter.filtered(http_client, sanitizer, carrier=_SdkCarrier, user=user)
    raise TypeError(f"http_client must be of httpx2 or httpx, got {type(http_client).__name__}")


class _SdkCarrier(TransportFilter):
    """Answers carry the record, and errors are the SDK's as well."""

    def response(self, exchange: Exchange, status: int, content_type: str, body: bytes) -> bytes:
        restored = super().response(exchange, status, content_type, body)
        return stamped(restored, exchange.record.as_dict()) if 200 <= status < 300 else restored

    def events(self, exchange: Exchange, content_type: str) -> Events:
        return Stamped(super().events(exchange, content_type), exchange.record.as_dict())

    def error(self, error: SanitizerError) -> SanitizerError:
        return _as_sdk_error(error)


def _as_sdk_error(error: SanitizerError) -> SanitizerError:
    """The same error, which is the SDK's too: it passes those on at once; others it may wrap and
    try again.
    """
    theirs: Any = sys.modules["openai"].OpenAIError
    ours: Any = type(error)
    if not issubclass(ours, theirs):
        error.__class__ = _both(ours, theirs)
    return error


@cache
def _both(ours: Any, theirs: Any) -> Any:
    """A class of errors that is caught as either."""
    return type(
        ours.__name__, (ours, theirs), {"__module__": ours.__module__, "__doc__": ours.__doc__}
    )
