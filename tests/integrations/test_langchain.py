"""LangChain's real package: no twin of a client sends past the filter."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

pytest.importorskip("langchain_openai", reason="langchain-openai is not installed")

from langchain_openai import ChatOpenAI
from openai import OpenAI

from sanitizer import RequestRefused, shield
from sanitizer.clients import check_shielded
from sanitizer.integrations.langchain import openai_clients
from sanitizer.testing import RecordingServer
from tests.integrations.parties import TEXT, assert_clean, identifiers, leaked

pytestmark = pytest.mark.slow


def chat(server: RecordingServer, **options: Any) -> Any:
    given: dict[str, Any] = {"model": "m", "base_url": server.url, "api_key": "test"}
    return ChatOpenAI(max_retries=0, **given, **options)


def test_a_client_alone_has_an_unshielded_twin_and_that_is_noticed() -> None:
    with RecordingServer() as server, OpenAI(base_url=server.url, api_key="test") as client:
        shielded = shield(client, identifiers())
        model = chat(server, root_client=shielded, client=shielded.chat.completions)
        with pytest.raises(RequestRefused, match="async_client of ChatOpenAI"):
            check_shielded(model)
        asyncio.run(model.ainvoke(TEXT))
        assert leaked(server), "LangChain shields the twin itself now: say so in the recipe"


@pytest.mark.parametrize("responses", [False, True])
def test_both_twins_are_shielded(responses: bool) -> None:
    with RecordingServer() as server:
        model = chat(server, use_responses_api=responses, **openai_clients(identifiers()))
        check_shielded(model)
        assert model.invoke(TEXT).text == TEXT
        assert asyncio.run(model.ainvoke(TEXT)).text == TEXT
        assert "".join(chunk.text for chunk in model.stream(TEXT)) == TEXT
        assert_clean(server, n_requests=3)


def test_tracing_to_langsmith_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    langsmith = pytest.importorskip("langsmith")
    with RecordingServer() as server, RecordingServer() as traces:
        monkeypatch.setenv("LANGSMITH_ENDPOINT", traces.url)
        monkeypatch.setenv("LANGSMITH_API_KEY", "test")
        model = chat(server, **openai_clients(identifiers()))
        with langsmith.tracing_context(enabled=True):
            with pytest.raises(RequestRefused, match="LANGSMITH_TRACING"):
                openai_clients(identifiers())
            openai_clients(identifiers(), trusted_tracing=True)
            with pytest.raises(RequestRefused, match="LANGSMITH_TRACING"):
                model.invoke(TEXT)
        assert server.requests == []
        assert model.invoke(TEXT).text == TEXT
