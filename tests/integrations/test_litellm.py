"""LiteLLM's real package: what it would send past a shielded client is refused, and its own calls
are sanitized before it chooses where to send them.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
pytest.importorskip("litellm", reason="litellm is not installed")

import litellm
from openai import AsyncOpenAI, OpenAI

from sanitizer import RequestRefused, shield
from sanitizer.integrations.litellm import ShieldedLiteLLM
from sanitizer.testing import Answer, RecordingServer, calls
from sanitizer.testing.server import error
from tests.integrations.parties import MAIL, TEXT, assert_clean, identifiers, leaked

pytestmark = pytest.mark.slow

MESSAGES = [{"role": "user", "content": TEXT}]
TOOL = {
    "type": "function",
    "function": {"name": "send", "parameters": {"type": "object", "properties": {}}},
}


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[RecordingServer]:
    """The API, under every address and key that LiteLLM takes from the environment."""
    with RecordingServer() as server:
        for name in ("OPENAI_BASE_URL", "OPENAI_API_BASE", "MISTRAL_API_BASE"):
            monkeypatch.setenv(name, server.url)
        for name in ("OPENAI_API_KEY", "MISTRAL_API_KEY"):
            monkeypatch.setenv(name, "test")
        yield server


def shielded(server: RecordingServer, kind: Any = OpenAI) -> Any:
    client = kind(base_url=server.url, api_key="test", max_retries=0)
    return shield(client, identifiers())


LEAKS: list[dict[str, Any]] = [
    {"model": "openai/gpt-5-codex"},
    {"model": "openai/o3-pro"},
    {"model": "openai/responses/gpt-4.1-mini"},
    {"model": "openai/gpt-5.4", "tools": [TOOL], "reasoning_effort": "high"},
    {"model": "openai/gpt-5-codex", "stream": True},
    {"model": "mistral/mistral-small"},
    {"model": "hosted_vllm/any"},
]


@pytest.mark.parametrize("call", LEAKS, ids=lambda call: "-".join(map(str, call.values()))[:40])
class TestClientsThatLiteLlmWouldReplace:
    def test_synchronous(self, server: RecordingServer, call: dict[str, Any]) -> None:
        with pytest.raises(Exception, match=r"sanitizer\.integrations\.litellm"):
            litellm.completion(messages=MESSAGES, client=shielded(server), **_at(call, server))
        assert server.requests == []

    def test_asynchronous(self, server: RecordingServer, call: dict[str, Any]) -> None:
        async def ask() -> Any:
            client = shielded(server, AsyncOpenAI)
            return await litellm.acompletion(messages=MESSAGES, client=client, **_at(call, server))

        with pytest.raises(Exception, match=r"sanitizer\.integrations\.litellm"):
            asyncio.run(ask())
        assert server.requests == []

    def test_without_the_check_it_leaks(
        self, server: RecordingServer, call: dict[str, Any]
    ) -> None:
        client = OpenAI(base_url="http://127.0.0.1:9", api_key="test", max_retries=0)
        answer = litellm.completion(messages=MESSAGES, client=client, **_at(call, server))
        if call.get("stream"):
            list(answer)
        assert leaked(server), "LiteLLM uses the client that it is given now: the check can go"


def _at(call: dict[str, Any], server: RecordingServer) -> dict[str, Any]:
    return {**call, "api_base": server.url, "num_retries": 0}


def test_the_function_of_the_responses_api(server: RecordingServer) -> None:
    with pytest.raises(Exception, match=r"sanitizer\.integrations\.litellm"):
        litellm.responses(model="openai/gpt-4.1-mini", input=TEXT, client=shielded(server))
    assert server.requests == []


def test_fallbacks_do_not_leak(server: RecordingServer) -> None:
    server.script(*[error(400)] * 3)
    with pytest.raises(Exception, match="sanitizer"):
        litellm.completion(
            model="openai/gpt-4.1-mini",
            messages=MESSAGES,
            client=shielded(server),
            fallbacks=["openai/gpt-5-codex"],
        )
    assert leaked(server) == []


@pytest.mark.parametrize("ask", [litellm.completion, litellm.text_completion])
def test_clients_that_it_uses_are_shielded(
    server: RecordingServer, ask: Callable[..., Any]
) -> None:
    given: dict[str, Any] = {"prompt": TEXT}
    if ask is litellm.completion:
        given = {"messages": MESSAGES}
    answer = ask(model="openai/gpt-3.5-turbo-instruct", client=shielded(server), **given)
    choice = answer.choices[0]
    assert getattr(choice, "text", None) or choice.message.content == TEXT
    assert_clean(server)


class TestShieldedLiteLLM:
    @pytest.mark.parametrize("call", LEAKS, ids=lambda call: "-".join(map(str, call.values()))[:40])
    def test_calls_that_leaked(self, server: RecordingServer, call: dict[str, Any]) -> None:
        client = ShieldedLiteLLM(identifiers())
        answer = client.completion(messages=MESSAGES, **_at(call, server))
        assert _text(answer) == TEXT
        assert_clean(server)

    @pytest.mark.parametrize("stream", [False, True])
    @pytest.mark.parametrize("model", ["openai/gpt-4.1-mini", "openai/gpt-5-codex"])
    def test_asynchronous(self, server: RecordingServer, model: str, stream: bool) -> None:
        async def ask() -> str:
            client = ShieldedLiteLLM(identifiers())
            answer = await client.acompletion(model=model, messages=MESSAGES, stream=stream)
            return _text([chunk async for chunk in answer] if stream else answer)

        assert asyncio.run(ask()) == TEXT
        assert_clean(server)

    @pytest.mark.parametrize("stream", [False, True])
    @pytest.mark.parametrize("model", ["openai/gpt-4.1-mini", "openai/gpt-5-codex"])
    def test_tool_calls(self, server: RecordingServer, model: str, stream: bool) -> None:
        server.script(calls("send"))
        client = ShieldedLiteLLM(identifiers())
        answer = client.completion(model=model, messages=MESSAGES, tools=[TOOL], stream=stream)
        found = [chunk.choices[0].delta for chunk in answer] if stream else []
        found = found or [answer.choices[0].message]
        made = [call.function for part in found for call in part.tool_calls or []]
        assert json.loads("".join(call.arguments or "" for call in made)) == {"text": TEXT}
        assert [call.name for call in made if call.name] == ["send"]
        assert_clean(server)

    def test_its_own_messages_go_back(self, server: RecordingServer) -> None:
        client = ShieldedLiteLLM(identifiers())
        answer = client.completion(model="openai/gpt-4.1-mini", messages=MESSAGES)
        history = [*MESSAGES, answer.choices[0].message, {"role": "user", "content": "And?"}]
        client.completion(model="openai/gpt-4.1-mini", messages=history)
        assert_clean(server, n_requests=2)

    def test_another_provider_s_own_format(self, server: RecordingServer) -> None:
        said = [{"type": "text", "text": "Dear <EMAIL_1>"}]
        usage = {"input_tokens": 1, "output_tokens": 1}
        message = {"id": "m", "type": "message", "role": "assistant", "model": "c"}
        done = {**message, "content": said, "stop_reason": "end_turn", "usage": usage}
        server.script(Answer(json.dumps(done).encode()))
        answer = ShieldedLiteLLM(identifiers()).completion(
            model="anthropic/claude-sonnet-4-5",
            messages=MESSAGES,
            api_base=server.url,
            api_key="test",
            max_tokens=5,
        )
        assert _text(answer) == f"Dear {MAIL}"
        assert_clean(server)
        assert server.requests[0].target.endswith("/messages")

    def test_callbacks_see_stand_ins(self, server: RecordingServer) -> None:
        seen: list[str] = []

        class Spy(litellm.integrations.custom_logger.CustomLogger):  # type: ignore[misc, name-defined, unused-ignore]
            def log_pre_api_call(self, model: Any, messages: Any, kwargs: Any) -> None:
                seen.append(f"{messages} {kwargs}")

        litellm.callbacks.append(spy := Spy())
        try:
            ShieldedLiteLLM(identifiers()).completion(
                model="openai/gpt-4.1-mini", messages=MESSAGES
            )
        finally:
            litellm.callbacks.remove(spy)
        assert seen
        assert MAIL not in "".join(seen)

    @pytest.mark.parametrize(
        "more",
        [
            {"image": object()},
            {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": "x"}]}]},
        ],
    )
    def test_what_cannot_be_read_is_refused(
        self, server: RecordingServer, more: dict[str, Any]
    ) -> None:
        call = {"model": "openai/gpt-4.1-mini", "messages": MESSAGES, **more}
        with pytest.raises(RequestRefused):
            ShieldedLiteLLM(identifiers()).completion(**call)
        assert server.requests == []


def _text(answer: Any) -> str:
    if hasattr(answer, "choices"):
        return str(answer.choices[0].message.content)
    return "".join(chunk.choices[0].delta.content or "" for chunk in answer)
