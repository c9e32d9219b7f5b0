"""LiteLLM's real package: what it would send past a shielded client is refused."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
pytest.importorskip("litellm", reason="litellm is not installed")

import litellm
from openai import AsyncOpenAI, OpenAI

from sanitizer import shield
from sanitizer.testing import RecordingServer
from tests.integrations.parties import TEXT, assert_clean, identifiers, leaked

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
    server.script(*[_error] * 3)
    with pytest.raises(Exception, match="sanitizer"):
        litellm.completion(
            model="openai/gpt-4.1-mini",
            messages=MESSAGES,
            client=shielded(server),
            fallbacks=["openai/gpt-5-codex"],
        )
    assert leaked(server) == []


def _error(received: Any) -> Any:
    from sanitizer.testing.server import error

    return error(400)


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
