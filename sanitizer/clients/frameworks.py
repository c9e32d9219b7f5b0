"""What frameworks around OpenAI's SDK send past a shielded client, and how it is noticed.

Some build a second client beside the one they are given, and some send traces that hold the whole
conversation. No framework is imported here: only those that the program has loaded are looked at.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from functools import wraps
from importlib import import_module
from typing import Any

from sanitizer.clients.shielding import as_sdk_error, is_shielded, shielded_http_client
from sanitizer.errors import RequestRefused
from sanitizer.pipeline.sanitizer import Sanitizer


def http_twins(
    sanitizer: Sanitizer, *, async_name: str = "http_async_client", trusted_tracing: bool = False
) -> dict[str, Any]:
    """Return two shielded HTTP clients, synchronous and asynchronous, as keyword arguments.

    Frameworks build two clients of OpenAI's SDK for one model. Whatever they build on these goes
    through the filter: copies, clients that are made anew for each call, the Responses API.

    Guarantee: as `shield`, for all that is sent through either client.
    Not protected: what a framework sends without them, such as traces to another server. Traces to
    LangSmith are refused here if they are turned on.

    >>> from sanitizer import Sanitizer
    >>> sorted(http_twins(Sanitizer(policy="identifiers")))
    ['http_async_client', 'http_client']

    Args:
        async_name: name of the second argument; the default is LangChain's.
        trusted_tracing: traces may leave as they are, since their server is trusted.

    Raises:
        RequestRefused: traces with the messages would be sent past the filter.
    """
    from openai import DefaultAsyncHttpxClient, DefaultHttpxClient

    if not trusted_tracing:
        refuse_tracing()
    return {
        "http_client": shielded_http_client(DefaultHttpxClient(), sanitizer, trusted_tracing),
        async_name: shielded_http_client(DefaultAsyncHttpxClient(), sanitizer, trusted_tracing),
    }


def check_shielded(model: object) -> None:
    """Check that every client of OpenAI's SDK that a framework's model holds is shielded.

    Looked at are the model's own attributes, and the clients that LlamaIndex builds when it needs
    them. A model that passes may still send something else elsewhere, such as traces.

    >>> from openai import AsyncOpenAI, OpenAI
    >>> from sanitizer import Sanitizer, shield
    >>> class Model:
    ...     client = None
    >>> model = Model()
    >>> model.client = shield(OpenAI(api_key="test"), Sanitizer(policy="identifiers"))
    >>> check_shielded(model)
    >>> model.async_client = AsyncOpenAI(api_key="test")
    >>> check_shielded(model)
    Traceback (most recent call last):
    sanitizer.errors.RequestRefused: async_client of Model is not shielded: ...

    Raises:
        RequestRefused: a client would send past the filter; the message names the attribute.
        TypeError: the model holds no client of the SDK, so that nothing is known about it.
    """
    kind, n_found = type(model).__name__, 0
    for name, client in _clients(model):
        n_found += 1
        if not is_shielded(client):
            told = "is not shielded: it sends past the filter (docs/recipes.md)"
            raise RequestRefused(f"{name} of {kind} {told}", "unshielded")
    if not n_found:
        raise TypeError(f"model must hold clients of OpenAI's SDK, a {kind} holds none")


def _clients(model: object) -> Iterator[tuple[str, Any]]:
    """Yield name and client of each of the SDK's clients that a model holds or would build."""
    sdk = sys.modules.get("openai")
    if sdk is None:
        return
    kinds = (sdk.OpenAI, sdk.AsyncOpenAI)
    private: Any = getattr(model, "__pydantic_private__", None) or {}
    for name, value in {**vars(model), **private}.items():
        client = value if isinstance(value, kinds) else getattr(value, "_client", None)
        if isinstance(client, kinds):
            yield name, client
    for name in ("_get_client", "_get_aclient"):  # LlamaIndex
        build = getattr(model, name, None)
        if callable(build) and isinstance(client := build(), kinds):
            yield name, client


# ---- LiteLLM ----

_REPLACES = re.compile(r"litellm\.llms\.(?!(openai|azure|azure_ai)\.)")
_BUILDS_ITS_OWN = (
    "LiteLLM would not use the client that it was given for this model, but one of its own, past"
    " the filter; use sanitizer.integrations.litellm, which sanitizes before LiteLLM chooses;"
    " nothing was sent"
)


def refuse_replacement(asker: str) -> None:
    """Refuse if the module that asks what a shielded client is would put another in its place.

    LiteLLM does so where it does not call OpenAI's SDK: for models in Responses mode and for other
    providers it asks whether the client is one of its own kind, and builds one if not.

    Raises:
        RequestRefused: LiteLLM would send past the filter.
    """
    if _REPLACES.match(asker):
        raise as_sdk_error(RequestRefused(_BUILDS_ITS_OWN, "unshielded"))


def watch_litellm() -> None:
    """Have LiteLLM, if it is loaded, refuse shielded clients where it would drop them.

    For models in Responses mode its asynchronous functions drop the client without a look at it,
    so the function that they all go through is wrapped, once.
    """
    extras: Any = sys.modules.get("litellm.completion_extras")
    bridge = getattr(extras, "responses_api_bridge", None)
    if bridge is None or hasattr(bridge.completion, "_refuses_shielded"):
        return
    complete = bridge.completion

    @wraps(complete)
    def completion(*args: Any, **kwargs: Any) -> Any:
        if hasattr(kwargs.get("client"), "_shielded_by"):
            raise as_sdk_error(RequestRefused(_BUILDS_ITS_OWN, "unshielded"))
        return complete(*args, **kwargs)

    completion._refuses_shielded = True  # type: ignore[attr-defined]
    bridge.completion = completion


# ---- traces ----


def refuse_tracing() -> None:
    """Refuse if a loaded framework is about to send traces with the messages past the filter.

    Raises:
        RequestRefused: LangSmith's tracing is on, or this runs inside a trace of openai-agents that
            is exported to OpenAI. That exporter is taken out first, since it would send the trace
            of this refusal too.
    """
    loaded = {"langchain_core", "langsmith"} <= sys.modules.keys()
    if loaded and import_module("langsmith.utils").tracing_is_enabled():
        raise RequestRefused(
            "LangSmith's tracing is on and would send the messages past the filter: unset"
            " LANGSMITH_TRACING, or pass trusted_tracing=True; nothing was sent by this client",
            "tracing",
        )
    if _agents_trace():
        raise RequestRefused(
            "openai-agents' tracing is on and would send the messages past the filter: call"
            " sanitizer.integrations.openai_agents.shield_agents first, or"
            " agents.set_tracing_disabled(True), or pass trusted_tracing=True",
            "tracing",
        )


def _agents_trace() -> bool:
    """Return True inside a trace that would go to OpenAI; take its exporter out."""
    tracing: Any = sys.modules.get("agents.tracing")
    processors: Any = sys.modules.get("agents.tracing.processors")
    if tracing is None or processors is None:
        return False
    trace = tracing.get_current_trace()
    if trace is None or type(trace).__name__ == "NoOpTrace":
        return False
    multi = getattr(tracing.get_trace_provider(), "_multi_processor", None)
    running = list(getattr(multi, "_processors", ()))
    kind = processors.BackendSpanExporter
    exporting = [each for each in running if isinstance(getattr(each, "_exporter", None), kind)]
    if exporting:
        tracing.set_trace_processors([each for each in running if each not in exporting])
    return bool(exporting)
