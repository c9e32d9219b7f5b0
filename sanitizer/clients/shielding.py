"""`shield`: a client of an SDK in, one like it out whose every request goes through the filter."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from math import inf
from typing import Any, NamedTuple, NoReturn, TypeVar, cast

from sanitizer.clients.transport import KEY, Request, TransportFilter, is_filter
from sanitizer.errors import RequestRefused, SanitizerError
from sanitizer.pipeline.sanitizer import Sanitizer
from sanitizer.wire.answers import Stamp
from sanitizer.wire.filter import Exchange, Filter, Preview
from sanitizer.wire.headers import WireRecord

ClientT = TypeVar("ClientT")
ErrorT = TypeVar("ErrorT", bound=SanitizerError)
OnHint = Callable[[str], object]
"""Function that is told what leaves because a request needs it, and what its task may miss."""
OnNeed = Callable[[list[tuple[str, str]]], Iterable[str]]
"""Function ([(class, placeholder)]) -> the placeholders whose values may leave."""

NOTES_KEY = "sanitizer_notes"
"""Key of the notes: what the model was told in place of each thing that was drawn."""

_SDKS = {
    "openai": ("OpenAI", "AsyncOpenAI", "OpenAIError", (2, 31)),
    "anthropic": ("Anthropic", "AsyncAnthropic", "AnthropicError", (0, 98)),
}
"""Module -> its two clients, its errors, and the first version that raises these as they are."""
_NOWHERE = "wss://refused.invalid"  # the SDK wants an address for WebSockets; it is never used


def shield(
    client: ClientT,
    sanitizer: Sanitizer,
    *,
    trusted_tracing: bool = False,
    on_hint: OnHint | None = None,
    on_need: OnNeed | None = None,
) -> ClientT:
    """Return a client of the same kind and settings through which only sanitized text leaves.

    Key, organization, project, retries, timeout, base URL, headers, query, proxies, mounts, hooks
    and cookies stay. Prompts are sanitized, answers restored, streamed or not; answers carry
    `sanitizer_record`, a dict, and `sanitizer_notes`, what the model was told in place of what was
    drawn and what fits no schema, on the whole answer, on the first chunk of a stream of chat, on
    `event.response` of a stream of responses, and on `event.message` of a stream of Anthropic's
    messages. If the Sanitizer has an extractor, it writes what whole answers say for the original
    prompt, outside an event loop. Copies (`copy`, `with_options`) are shielded too,
    also with another `http_client`.

    The given client works on, unshielded, on the same connections. Closing the shielded client
    closes them if the given one is gone or closed; closing the given one ends what is under way in
    both.

    Guarantee: as `Filter`; what it does not know is refused, nothing is sent. WebSockets
    (`realtime`, `responses.connect`) are refused before anything is opened. Errors of the filter
    are raised as they are, at once, without a retry, and can be caught as `openai.OpenAIError` or
    `anthropic.AnthropicError` too.
    Not protected: headers and names in the URL; requests that never go through the client, such as
    those of a second client that a framework builds beside it (`http_twins`, `check_shielded`).
    Refused where it is noticed: LiteLLM's replacing the client by one of its own (for asynchronous
    calls only if LiteLLM was imported before), and traces of LangSmith and openai-agents.

    >>> from openai import OpenAI
    >>> from sanitizer import Sanitizer
    >>> from sanitizer.testing import RecordingServer
    >>> with RecordingServer() as server:
    ...     client = OpenAI(base_url=server.url, api_key="test")
    ...     shielded = shield(client, Sanitizer(policy="identifiers"))
    ...     message = {"role": "user", "content": "Ask anna@example.org"}
    ...     answer = shielded.chat.completions.create(model="any", messages=[message])
    ...     client.close()
    >>> server.requests[0].json["messages"][0]["content"]
    'Ask <EMAIL_1>'
    >>> answer.choices[0].message.content
    'Ask anna@example.org'
    >>> answer.sanitizer_record["n_identifiers"]
    1

    Args:
        client: OpenAI, AsyncOpenAI, AzureOpenAI, AsyncAzureOpenAI, Anthropic, AsyncAnthropic, or a
            subclass. One of Anthropic needs a key: a copy of it loses other credentials.
        trusted_tracing: traces of frameworks may leave as they are, past the filter.
        on_hint: called before a request is sent, with each hint for its newest text: what leaves
            because the request needs it, and what its task may miss. What it raises stops the
            request.
        on_need: called where an answer asks for values ("[need <CONDITION_1>]"), with a list
            of (class, placeholder): returns the placeholders that may leave. The request is then
            sent once more, with these values behind its newest text. At the end of a stream, which
            was shown, the values leave with the next request that holds this text. Ask a person
            there: without it nothing is released.

    Raises:
        TypeError: another kind of client.
        ValueError: the client is shielded already.
    """
    if (sdk := _sdk_of(client)) is None:
        raise TypeError(
            "client must be OpenAI, AsyncOpenAI, Anthropic or AsyncAnthropic,"
            f" got {type(client).__name__}; for others, put sanitizer.clients.httpx.FilterTransport"
            " into their HTTP client, or run `sanitizer serve` and use it as base_url"
        )
    given: Any = client
    kind: Any = type(given)
    if hasattr(given, "_shielded_by"):
        raise ValueError("client must not be shielded already; shield the original")
    import_module("sanitizer.clients.frameworks").watch_litellm()
    by = _Shield(sanitizer, trusted_tracing, sdk, on_hint, on_need)
    copied = given.copy(http_client=by.filtered(given._client, user=given))
    copied.__class__ = _shielded_kind(kind)
    copied._shielded_by = by
    return cast(ClientT, copied)


class AnswerRecord(NamedTuple):
    """What a shielded client says of an answer: what its request released, and `shield`'s notes."""

    record: WireRecord
    notes: tuple[str, ...]


def record_of(answer: object) -> AnswerRecord:
    """Return what is said of an answer: whole, a stream, its first chunk, or a raw response.

    Raises:
        TypeError: nothing is said of it, as of later chunks.
    """
    inside = (getattr(answer, name, None) for name in ("response", "message", "http_response"))
    for each in (answer, *inside):
        exchange = getattr(each, "extensions", {}).get(KEY)
        if isinstance(exchange, Exchange):
            return AnswerRecord(exchange.record, exchange.notes)
        if isinstance(told := getattr(each, KEY, None), dict):
            values: dict[str, Any] = {k: inf if v is None else v for k, v in told.items()}
            return AnswerRecord(WireRecord(**values), tuple(getattr(each, NOTES_KEY)))
    raise TypeError(f"answer must be one of a shielded client, got {type(answer).__name__}")


def preview(
    client: object, messages: Sequence[object] = (), *, path: str = "", **request: object
) -> Preview:
    """Return what a shielded client would send for a request; also as its method `preview`.

    It charges, keeps and sends nothing. In an event loop, call it in a thread: models may read.

    Args:
        client: as `shield` returned it.
        messages: as for the request. request: what else it holds.
        path: of the endpoint; default chat completions or messages, and responses for `input=`.

    Raises:
        TypeError: the client is not shielded, or the request is no JSON.
        SanitizerError: as the request; but a budget has no limit here.
    """
    by = getattr(client, "_shielded_by", None)
    if not isinstance(by, _Shield):
        raise TypeError(f"client must be what shield returned, got {type(client).__name__}")
    of_sdk = "messages" if by.sdk == "anthropic" else "chat/completions"
    path = path or ("responses" if "input" in request else of_sdk)
    body = {"messages": list(messages), **request} if messages else request
    written = json.dumps(body, default=_plain).encode()
    headers = {"content-type": "application/json"}
    return Filter(by.sanitizer).preview(f"/{path.lstrip('/')}", headers, written)


def _plain(value: Any) -> Any:
    """Return an object of an SDK as it writes it into a request."""
    if not hasattr(value, "model_dump"):
        raise TypeError(f"a request must be JSON, got a {type(value).__name__} in it")
    return value.model_dump(mode="json", exclude_unset=True)


def shielded_http_client(http_client: Any, sanitizer: Sanitizer, trusted_tracing: bool) -> Any:
    """Return an HTTP client of either library whose transports are filtered, for the SDK's use.

    Raises:
        TypeError: of neither library. ValueError: filtered already.
    """
    return _Shield(sanitizer, trusted_tracing).filtered(http_client)


def is_shielded(client: Any) -> bool:
    """Return True if every request of one of the SDK's clients goes through a filter."""
    http_client = client._client
    mounts = [mount for mount in http_client._mounts.values() if mount is not None]
    return all(is_filter(each) for each in [http_client._transport, *mounts])


def _sdk_of(client: object) -> str | None:
    """Return the name of the loaded SDK that a client belongs to; None for others."""
    for name, (one, other, *_) in _SDKS.items():
        sdk: Any = sys.modules.get(name)
        if sdk is not None and isinstance(client, (getattr(sdk, one), getattr(sdk, other))):
            return name
    return None


@cache
def _shielded_kind(kind: Any) -> Any:
    """Return a subclass of the client's class whose copies are shielded too."""

    class Shielded(kind):  # type: ignore[misc]
        _shielded_by: _Shield

        @property  # type: ignore[misc]
        def __class__(self) -> Any:
            """The class; refuse if LiteLLM asks in order to put a client of its own here."""
            # `isinstance` asks here once the type itself has not answered.
            asker = sys._getframe(1).f_globals.get("__name__", "")
            if asker.startswith("litellm."):
                import_module("sanitizer.clients.frameworks").refuse_replacement(asker)
            return type(self)

        def _make_status_error(self, err_msg: str, *, body: object, response: Any) -> Any:
            """Return the error that the filter put into an answer, or make one as the SDK does."""
            if isinstance(told := response.extensions.get(KEY), SanitizerError):
                return told
            return kind._make_status_error(self, err_msg, body=body, response=response)

        @property
        def websocket_base_url(self) -> NoReturn:
            """Refuse: every WebSocket of the SDK asks here before anything is opened."""
            told = "WebSocket connections cannot be sanitized"
            raise as_sdk_error(RequestRefused(told, "endpoint", 404))

        @websocket_base_url.setter
        def websocket_base_url(self, url: object) -> None:
            """Keep an address, which is never used: SDKs with WebSockets set one at first."""
            self.__dict__["websocket_base_url"] = url

        def copy(self, **options: Any) -> Any:
            """Copy as the SDK does; the copy is shielded by the same Sanitizer."""
            if options.get("http_client") is not None:
                options["http_client"] = self._shielded_by.filtered(options["http_client"])
            # Given one, the SDK does not ask for ours; it takes no address beside data_residency.
            if "websocket_base_url" in vars(self) and options.get("data_residency") is None:
                options["websocket_base_url"] = _NOWHERE
            copied = kind.copy(self, **options)  # no super(), which `__class__` above would mislead
            copied._shielded_by = self._shielded_by
            return copied

        with_options = copy
        preview = preview

    # The name of the class is sent as the user agent, so it has to be the SDK's.
    Shielded.__name__, Shielded.__qualname__ = kind.__name__, kind.__qualname__
    Shielded.__module__, Shielded.__doc__ = kind.__module__, kind.__doc__
    return Shielded


@dataclass(frozen=True)
class _Shield:
    """How one client is shielded, and so are its copies."""

    sanitizer: Sanitizer
    trusted_tracing: bool
    sdk: str = "openai"
    on_hint: OnHint | None = None
    on_need: OnNeed | None = None

    def filtered(self, http_client: Any, user: object | None = None) -> Any:
        """Filter every transport of an HTTP client of either library."""
        for name in ("httpx2", "httpx"):
            library: Any = sys.modules.get(name)
            if library and isinstance(http_client, (library.Client, library.AsyncClient)):
                adapter = import_module(f"sanitizer.clients.{name}")
                by = partial(_SdkFilter, by=self)
                return adapter.filtered(http_client, self.sanitizer, filter_class=by, user=user)
        raise TypeError(f"http_client must be of httpx2 or httpx, got {type(http_client).__name__}")


class _SdkFilter(TransportFilter):
    """A filter for the SDK: answers carry the record, and errors are the SDK's as well.

    It lets nothing out while a framework sends traces past it, unless these are trusted.
    """

    def __init__(self, sanitizer: Sanitizer, by: _Shield) -> None:
        super().__init__(sanitizer)
        self._by = by
        version = sys.modules[by.sdk].__version__.split(".")[:2]
        self.answers_errors = tuple(map(int, version)) < _SDKS[by.sdk][3]

    def request(
        self, method: str, target: bytes, headers: Mapping[str, str], body: bytes
    ) -> Exchange:
        if not self._by.trusted_tracing:
            with self.stage("whether traces are sent could not be found out, nothing was sent"):
                import_module("sanitizer.clients.frameworks").refuse_tracing()
        exchange = super().request(method, target, headers, body)
        if (tell := self._by.on_hint) is not None:
            for hint in exchange.hints:
                tell(hint)
        return exchange

    def again(self, exchange: Exchange, request: Request, body: bytes) -> Exchange | None:
        with self.stage("what the answer asks for could not be released"):
            released = self._ask(exchange, body)
        return self.request(*request) if released else None

    def said(self, exchange: Exchange) -> Callable[[str], str] | None:
        def ask(said: str) -> str:
            self._ask(exchange, said)
            return ""

        return None if self._by.on_need is None else ask

    def _ask(self, exchange: Exchange, said: bytes | str) -> bool:
        """Ask what may leave of what an answer needs; return True if something may."""
        if self._by.on_need is None or not (needs := exchange.needs(said)):
            return False
        chosen = self._by.on_need([(need.kind, need.placeholder) for need in needs])
        return exchange.decide(needs, tuple(chosen))

    def stamp(self, exchange: Exchange) -> Stamp:
        record = exchange.record.as_dict()
        # What fits no schema is known when the answer was restored, just before this is called.
        notes = exchange.notes
        return lambda answer: {**answer, KEY: record, NOTES_KEY: [*notes, *exchange.untyped]}

    def error(self, error: SanitizerError) -> SanitizerError:
        return as_sdk_error(error, self._by.sdk)


def as_sdk_error(error: ErrorT, sdk: str = "openai") -> ErrorT:
    """Make the error one of the SDK's too, and return it."""
    # The SDK passes its own errors on at once; others it may wrap, and send the request again.
    theirs: Any = getattr(sys.modules[sdk], _SDKS[sdk][2])
    ours: Any = type(error)
    if not issubclass(ours, theirs):
        error.__class__ = _both(ours, theirs)
    return error


@cache
def _both(ours: Any, theirs: Any) -> Any:
    """Return a class of errors that can be caught as either of the two."""
    kept = {"__module__": ours.__module__, "__doc__": ours.__doc__}
    return type(ours.__name__, (ours, theirs), kept)
