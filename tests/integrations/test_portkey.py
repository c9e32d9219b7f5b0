"""Portkey's real gateway (npm) with its webhook asking the guard endpoints."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

pytest.importorskip("starlette", reason="the extra proxy is not installed")

from sanitizer.testing import RecordingServer
from tests.integrations.parties import TEXT, TOKEN, assert_clean, free_port, guarding, serving
from tests.integrations.parties import leaked as leaks

pytestmark = pytest.mark.slow

GATEWAY = (
    Path(os.environ.get("SANITIZER_TEST_CLIENTS", "nowhere"))
    / "node/node_modules/@portkey-ai/gateway/build/start-server.js"
)
Ask = Callable[..., httpx.Response]


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    if shutil.which("node") is None or not GATEWAY.exists():
        pytest.skip("SANITIZER_TEST_CLIENTS has no @portkey-ai/gateway (.ci/clients installs it)")
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    command = ["node", str(GATEWAY), f"--port={port}", "--headless"]
    log = tmp_path_factory.mktemp("portkey") / "log"
    with serving(command, address, log, TRUSTED_CUSTOM_HOSTS="127.0.0.1"):
        yield address


def ask(gateway: str, provider: RecordingServer, guard: str, fail: bool, stream: bool) -> Any:
    headers = {"authorization": f"Bearer {TOKEN}", "x-session-id": "session-1"}
    webhook: dict[str, Any] = {"webhookURL": f"{guard}/v1/guard/portkey", "headers": headers}
    if fail:
        webhook |= {"failOnError": True}
    check = {"default.webhook": webhook, "deny": True}
    config = {"input_guardrails": [check], "output_guardrails": [check]}
    return httpx.post(
        f"{gateway}/v1/chat/completions",
        headers={
            "authorization": "Bearer test",
            "x-portkey-provider": "openai",
            "x-portkey-custom-host": provider.url,
            "x-portkey-config": json.dumps(config),
        },
        json={"model": "m", "messages": [{"role": "user", "content": TEXT}], "stream": stream},
        timeout=60,
        trust_env=False,
    )


def test_request_and_answer(gateway: str) -> None:
    with RecordingServer() as provider, guarding(provider.url) as guard:
        answer = ask(gateway, provider, guard, fail=True, stream=False)
        assert answer.json()["choices"][0]["message"]["content"] == TEXT
        assert_clean(provider)


def test_streams_keep_stand_ins(gateway: str) -> None:
    with RecordingServer() as provider, guarding(provider.url) as guard:
        answer = ask(gateway, provider, guard, fail=True, stream=True)
        assert TEXT not in answer.text
        assert_clean(provider)


def test_without_fail_on_error_a_dead_guard_lets_everything_out(gateway: str) -> None:
    dead = f"http://127.0.0.1:{free_port()}"
    with RecordingServer() as provider:
        assert ask(gateway, provider, dead, fail=True, stream=False).status_code == 446
        assert provider.requests == []
        ask(gateway, provider, dead, fail=False, stream=False)
        assert leaks(provider), "the gateway fails closed by itself now: say so in the recipe"
