"""LiteLLM's real proxy in front of a provider, with its own guardrail `llm_shield_proxy` asking the
guard endpoints, and with ours.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

pytest.importorskip("litellm", reason="litellm is not installed")
pytest.importorskip("fastapi", reason="litellm[proxy] is not installed")

from sanitizer.testing import RecordingServer, calls
from tests.integrations.parties import (
    TEXT,
    TOKEN,
    events_of,
    free_port,
    guarding,
    leaked,
    serving,
)

pytestmark = pytest.mark.slow

KEY = "sk-8d1f0c5be2a94b7790aa31c66e5f2d48"
MODELS = """
model_list:
  - model_name: chat
    litellm_params: {model: openai/gpt-4.1-mini, api_base: "UPSTREAM", api_key: test}
  - model_name: codex
    litellm_params: {model: openai/gpt-5-codex, api_base: "UPSTREAM", api_key: test}
guardrails:
  - guardrail_name: sanitizer
    litellm_params:
      mode: [pre_call, post_call]
      default_on: true
"""
BUILT_IN = """
      guardrail: llm_shield_proxy
      api_base: "GUARD"
      api_key: TOKEN
"""
OURS = """
      guardrail: sanitizer.integrations.litellm.SanitizerGuardrail
      policy: identifiers
"""
TOOL = {"type": "function", "function": {"name": "send", "parameters": {"type": "object"}}}


@dataclass
class Setup:
    provider: RecordingServer
    client: httpx.Client
    ours: bool

    def ask(self, path: str, **body: Any) -> httpx.Response:
        self.provider.requests.clear()
        return self.client.post(path, json=body)

    def assert_clean(self) -> None:
        """The provider was asked once, with stand-ins."""
        (request,) = self.provider.requests
        assert re.search(rb"<EMAIL_(?:\d{5}_)?1>", request.body)
        assert leaked(self.provider) == []


@pytest.fixture(scope="module", params=["llm_shield_proxy", "SanitizerGuardrail"])
def setup(request: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Setup]:
    folder = tmp_path_factory.mktemp("litellm")
    ours = request.param == "SanitizerGuardrail"
    with RecordingServer() as provider, guarding(provider.url) as guard:
        config = MODELS.rstrip() + (OURS if ours else BUILT_IN)
        for name, value in (("UPSTREAM", provider.url), ("GUARD", guard), ("TOKEN", TOKEN)):
            config = config.replace(name, value)
        (folder / "config.yaml").write_text(config)
        port = free_port()
        command = [str(Path(sys.executable).parent / "litellm")]
        command += ["--config", str(folder / "config.yaml"), "--host", "127.0.0.1"]
        command += ["--port", str(port)]
        address = f"http://127.0.0.1:{port}"
        environment = {"LITELLM_MASTER_KEY": KEY, "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
        with (
            serving(command, f"{address}/health/liveliness", folder / "log", **environment),
            httpx.Client(
                base_url=address,
                headers={"authorization": f"Bearer {KEY}"},
                timeout=60,
                trust_env=False,
            ) as client,
        ):
            yield Setup(provider, client, ours)


MESSAGES = [{"role": "user", "content": TEXT}]


@pytest.mark.parametrize("model", ["chat", "codex"])
class TestChat:
    def test_whole(self, setup: Setup, model: str) -> None:
        answer = setup.ask("/v1/chat/completions", model=model, messages=MESSAGES).json()
        assert answer["choices"][0]["message"]["content"] == TEXT
        setup.assert_clean()

    def test_streamed(self, setup: Setup, model: str) -> None:
        answer = setup.ask("/v1/chat/completions", model=model, messages=MESSAGES, stream=True)
        deltas = [event["choices"][0]["delta"].get("content") for event in events_of(answer)]
        assert "".join(filter(None, deltas)) == TEXT
        setup.assert_clean()

    @pytest.mark.parametrize("stream", [False, True])
    def test_tool_calls(self, setup: Setup, model: str, stream: bool) -> None:
        setup.provider.script(calls("send"))
        body = {"model": model, "messages": MESSAGES, "tools": [TOOL], "stream": stream}
        answer = setup.ask("/v1/chat/completions", **body)
        parts = (
            [event["choices"][0]["delta"] for event in events_of(answer)]
            if stream
            else [answer.json()["choices"][0]["message"]]
        )
        made = [call["function"] for part in parts for call in part.get("tool_calls") or []]
        assert json.loads("".join(call["arguments"] or "" for call in made)) == {"text": TEXT}
        setup.assert_clean()


def test_the_responses_api(setup: Setup) -> None:
    answer = setup.ask("/v1/responses", model="chat", input=TEXT).json()
    assert answer["output"][0]["content"][0]["text"] == TEXT
    setup.assert_clean()


def test_the_responses_api_streamed(setup: Setup) -> None:
    answer = setup.ask("/v1/responses", model="chat", input=TEXT, stream=True)
    events = events_of(answer)
    deltas = [e["delta"] for e in events if e["type"] == "response.output_text.delta"]
    assert "".join(deltas) == TEXT
    assert events[-1]["response"]["output"][0]["content"][0]["text"] == TEXT
    setup.assert_clean()


def test_a_history_with_tools(setup: Setup) -> None:
    arguments = json.dumps({"text": f"first\n{TEXT}"})
    call = {"id": "c", "type": "function", "function": {"name": "send", "arguments": arguments}}
    history = [
        *MESSAGES,
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": f"Sent: {TEXT}"},
    ]
    answer = setup.ask("/v1/chat/completions", model="chat", messages=history, tools=[TOOL]).json()
    assert answer["choices"][0]["message"]["content"] == f"Sent: {TEXT}"
    setup.assert_clean()
    sent = setup.provider.requests[0].json["messages"][1]["tool_calls"][0]["function"]
    text = json.loads(sent["arguments"])["text"]
    assert re.match(r"first\nWrite to <EMAIL_(?:\d{5}_)?1>", text)


def test_calls_that_ours_cannot_read_are_refused(setup: Setup) -> None:
    if not setup.ours:
        pytest.xfail("LiteLLM's guardrail decides which endpoints it hands over")
    answer = setup.ask("/v1/embeddings", model="chat", input=TEXT)
    assert answer.status_code == 404
    assert setup.provider.requests == []


@pytest.mark.parametrize(
    "content", [[{"type": "image_url", "image_url": {"url": "https://x.y/z"}}]]
)
def test_images_are_refused_by_ours(setup: Setup, content: Any) -> None:
    message = {"role": "user", "content": content}
    answer = setup.ask("/v1/chat/completions", model="chat", messages=[message])
    assert (answer.status_code == 400) is setup.ours
