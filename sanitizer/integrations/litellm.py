"""LiteLLM: its SDK with every call sanitized first, and a guardrail for its proxy.

client = ShieldedLiteLLM(Sanitizer())
answer = client.completion(model="anthropic/claude-sonnet-4-5", messages=[...])
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import litellm
from litellm.integrations.custom_guardrail import CustomGuardrail
from litellm.types.guardrails import GuardrailEventHooks
from litellm.types.utils import ModelResponse, ModelResponseStream, TextCompletionResponse
from pydantic import ValidationError

from sanitizer.errors import RequestRefused, SanitizerError
from sanitizer.integrations.turns import Json, Turn, Turns
from sanitizer.pipeline.sanitizer import Sanitizer

# What tells LiteLLM whom to ask and how. Everything else of a call is part of the request.
_CONTROL = re.compile(
    r"model|client|api_(?:key|base|version)|base_url|custom_llm_provider|organization|timeout"
    r"|request_timeout|stream_timeout|(?:num|max)_retries|fallbacks|context_window_fallback_dict"
    r"|headers|extra_headers|ssl_verify|shared_session|caching|cache|ttl|mock_\w+|drop_params"
    r"|(?:in|out)put_cost_per_\w+|tpm|rpm|(?:aws|azure|vertex|litellm|watsonx|databricks)_\w+"
)
# Types of Python in a call, which LiteLLM turns into schemas of JSON: these stay whole anyway.
_SCHEMAS = ("response_format", "text_format")


class ShieldedLiteLLM:
    """LiteLLM's `completion` and `acompletion`, for models of every provider.

    The call is sanitized before LiteLLM chooses a provider, an endpoint or a client, so it does not
    matter which. LiteLLM's own logs, callbacks and caches hold stand-ins.

    Guarantee: as `Turns`, for all arguments but those that say whom to ask and how (`model`,
    `api_key`, `api_base`, `headers`, `timeout`, `fallbacks`, `aws_...` and the like).
    Not protected: these arguments; what is done with the answers.
    """

    def __init__(self, sanitizer: Sanitizer) -> None:
        self._turns = Turns(sanitizer)

    def completion(self, **call: Any) -> Any:
        """Return what `litellm.completion` does, restored; chunks are restored as they come.

        Raises:
            RequestRefused, SanitizerError: nothing was sent.
        """
        turn, given = self._begin(call)
        answer = litellm.completion(**given)
        if isinstance(answer, ModelResponse):
            return restored(turn, answer)
        events = turn.events().through(map(_written, answer))
        return (ModelResponseStream(**event) for event in events)

    async def acompletion(self, **call: Any) -> Any:
        """Return what `litellm.acompletion` does, restored, as `completion`."""
        turn, given = self._begin(call)
        answer = await litellm.acompletion(**given)
        if isinstance(answer, ModelResponse):
            return restored(turn, answer)
        return restored_chunks(turn, answer)

    def _begin(self, call: Json) -> tuple[Turn, Json]:
        """Return the turn, and the arguments to call LiteLLM with."""
        schemas = {k for k in _SCHEMAS if isinstance(call.get(k), type)}
        control = {k: v for k, v in call.items() if _CONTROL.fullmatch(k) or k in schemas}
        request = {k: _plain(v) for k, v in call.items() if k not in control}
        try:
            turn = self._turns.begin(request)
        except TypeError:
            names = ", ".join(sorted(request))
            told = f"one of {names} holds something that is no JSON value"
            raise RequestRefused(told, "structure") from None
        return turn, {**control, **turn.request}


def _plain(value: Any) -> Any:
    """Return a value with LiteLLM's own messages, from earlier answers, as JSON values."""
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return _written(value) if hasattr(value, "model_dump") else value


def _written(value: Any, exclude_none: bool = True) -> Json:
    found: Json = value.model_dump(mode="json", exclude_none=exclude_none, warnings=False)
    return found


def restored(turn: Turn, answer: Any) -> Any:
    """Return an answer of LiteLLM's restored: a copy, since it may be in a cache others read."""
    found = type(answer)(**turn.answer(_written(answer)))
    if hasattr(answer, "_hidden_params"):
        found._hidden_params = answer._hidden_params
    return found


async def restored_chunks(turn: Turn, answer: AsyncIterator[Any]) -> AsyncIterator[Any]:
    """Yield the chunks of a streamed answer, restored as they come."""

    async def written() -> AsyncIterator[Json]:
        async for chunk in answer:
            yield _written(chunk)

    async for event in turn.events().athrough(written()):
        yield ModelResponseStream(**event)


# ---- the guardrail of LiteLLM's proxy ----

_MOST = 10_000  # conversations, and requests under way, that are kept
_ENDPOINTS = {
    **dict.fromkeys(("completion", "acompletion"), "chat/completions"),
    **dict.fromkeys(("text_completion", "atext_completion"), "completions"),
    **dict.fromkeys(("responses", "aresponses"), "responses"),
}
# What LiteLLM's proxy adds to a request for itself; none of it is sent to a provider.
_INTERNAL = re.compile(
    r"metadata|proxy_server_request|secret_fields|guardrails|tags|user_api_key\w*|ttl|cache"
)


class SanitizerGuardrail(CustomGuardrail):
    """Guardrail of LiteLLM's proxy: requests leave with stand-ins, answers come back restored.

    In LiteLLM's configuration: `guardrail: sanitizer.integrations.litellm.SanitizerGuardrail`,
    `mode: [pre_call, post_call]`, `default_on: true`, and `policy`.

    Guarantee: as `Turns`, for chat completions, completions and the Responses API; other calls are
    refused. Each key of LiteLLM's is a conversation.
    Not protected: requests for which LiteLLM does not run it; what LiteLLM logged before it.

    Args:
        policy: name or file of the policy.
        sanitizer: Sanitizer whose settings hold for all, in place of a policy.
    """

    def __init__(
        self, policy: str = "balanced", sanitizer: Sanitizer | None = None, **settings: Any
    ) -> None:
        self._sanitizer = Sanitizer(policy=policy) if sanitizer is None else sanitizer
        self._conversations = OrderedDict[str, Turns]()
        self._under_way = OrderedDict[str, Turn]()
        hooks = [GuardrailEventHooks.pre_call, GuardrailEventHooks.post_call]
        super().__init__(supported_event_hooks=hooks, **settings)

    async def async_pre_call_hook(
        self, user_api_key_dict: Any, cache: Any, data: Json, call_type: str
    ) -> Json:
        """Put stand-ins into a request."""
        if self.should_run_guardrail(data, GuardrailEventHooks.pre_call) is not True:
            return data
        with _as_http_errors():
            turn = await self._begin(user_api_key_dict, data, call_type)
        _keep(self._under_way, _call_id(data), turn)
        logged = data.get("proxy_server_request")
        if isinstance(logged, dict):  # what LiteLLM writes into its own logs
            data["proxy_server_request"] = {**logged, "body": turn.request}
        data.update(turn.request)
        return data

    async def _begin(self, user: Any, data: Mapping[str, Any], call_type: str) -> Turn:
        endpoint = _ENDPOINTS.get(call_type)
        if endpoint is None:
            told = f"calls of type {call_type} are not let through; known are "
            raise RequestRefused(told + ", ".join(_ENDPOINTS), "endpoint", 404)
        own = {k for k in data if _CONTROL.fullmatch(k) or _INTERNAL.fullmatch(k)}
        request = {k: _plain(v) for k, v in data.items() if k not in own}
        turns = self._conversation(user)
        from anyio.to_thread import run_sync

        try:
            return await run_sync(turns.begin, request, endpoint)
        except TypeError:
            raise RequestRefused("the request holds no JSON values", "structure") from None

    def _conversation(self, user: Any) -> Turns:
        holder = getattr(user, "api_key", None) or getattr(user, "user_id", None) or ""
        name = f"litellm/{holder}"
        if (found := self._conversations.get(name)) is None:
            found = Turns(self._sanitizer.derive(conversation=name))
        _keep(self._conversations, name, found)
        return found

    async def async_post_call_success_hook(
        self, data: Json, user_api_key_dict: Any, response: Any
    ) -> Any:
        """Put originals into a copy of an answer."""
        turn = self._under_way.pop(_call_id(data), None)
        if turn is None:
            return response
        known = isinstance(response, ModelResponse | TextCompletionResponse)
        return restored(turn, response) if known or hasattr(response, "output") else response

    async def async_post_call_streaming_iterator_hook(
        self, user_api_key_dict: Any, response: Any, request_data: Json
    ) -> AsyncIterator[Any]:
        """Put originals into an answer as it comes."""
        turn = self._under_way.pop(_call_id(request_data), None)
        if turn is None:
            async for chunk in response:
                yield chunk
            return
        kinds: dict[str, Any] = {}
        events = turn.events()
        try:
            async for chunk in response:
                # With nothing left out: events have fields that must be there.
                written = _written(chunk, exclude_none=False)
                kinds[str(written.get("type"))] = type(chunk)
                for event in events.feed(written):
                    yield _like(kinds, event)
            for event in events.finish():
                yield _like(kinds, event)
        finally:
            events.leave()


def _like(kinds: Mapping[str, Any], event: Json) -> Any:
    """Return an event as an object of the class that events of its type have."""
    kind = kinds[str(event.get("type"))]
    try:
        return kind(**event)
    except ValidationError:  # LiteLLM passes on what providers send, valid or not
        return kind.model_construct(**event)


def _call_id(data: Mapping[str, Any]) -> str:
    return str(data.get("litellm_call_id") or id(data))


def _keep(kept: OrderedDict[str, Any], name: str, value: Any) -> None:
    """Keep a value as the one used last; drop the oldest beyond the limit."""
    kept[name] = value
    kept.move_to_end(name)
    if len(kept) > _MOST:
        kept.popitem(last=False)


@contextmanager
def _as_http_errors() -> Iterator[None]:
    """Raise this package's errors as those that LiteLLM's proxy answers with."""
    from fastapi import HTTPException

    try:
        yield
    except RequestRefused as error:
        raise HTTPException(error.status, {"error": str(error)}) from None
    except SanitizerError as error:
        raise HTTPException(500, {"error": str(error)}) from None
