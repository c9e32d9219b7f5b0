"""LangChain's real package: no twin of a client sends past the filter."""

from __future__ import annotations

import asyncio
import json
from importlib.util import find_spec
from typing import Any

import pytest

pytest.importorskip("langchain_openai", reason="langchain-openai is not installed")

from langchain_openai import ChatOpenAI
from openai import OpenAI

from sanitizer import RequestRefused, shield
from sanitizer.clients import check_shielded
from sanitizer.integrations.langchain import SanitizerMiddleware, openai_clients
from sanitizer.testing import RecordingServer, calls, echo
from sanitizer.testing.server import says
from tests.integrations.parties import MAIL, TEXT, assert_clean, identifiers, leaked

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


# ---- the agent's middleware ----

if HAS_LANGCHAIN := find_spec("langchain") is not None:
    from langchain.agents import create_agent
    from langchain_core.tools import tool

needs_langchain = pytest.mark.skipif(not HAS_LANGCHAIN, reason="langchain is not installed")
STATE: Any = {"messages": [{"role": "user", "content": TEXT}]}


def agent(server: RecordingServer, read: list[str], **options: Any) -> Any:
    @tool
    def send(text: str) -> str:
        """Send a text."""
        read.append(text)
        return f"Sent: {text}"

    middleware = [SanitizerMiddleware(identifiers())]
    return create_agent(chat(server, **options), [send], middleware=middleware)


@needs_langchain
class TestMiddleware:
    @pytest.mark.parametrize("responses", [False, True])
    def test_tools_read_originals(self, responses: bool) -> None:
        read: list[str] = []
        with RecordingServer() as server:
            server.script(calls("send"), echo)
            made = agent(server, read, use_responses_api=responses)
            messages = made.invoke(STATE)["messages"]
            assert read == [TEXT]
            assert [m.text for m in messages if m.type != "ai"] == [TEXT, f"Sent: {TEXT}"]
            said = [message for message in messages if message.type == "ai"]
            assert said[-1].text == f"Sent: {TEXT}"
            if not responses:  # the server gives all responses one id, so one message is kept
                assert said[0].tool_calls[0]["args"] == {"text": TEXT}
            assert_clean(server, n_requests=2)

    def test_asynchronous(self) -> None:
        read: list[str] = []
        with RecordingServer() as server:
            server.script(calls("send"), echo)
            done = asyncio.run(agent(server, read).ainvoke(STATE))
            assert (read, done["messages"][-1].text) == ([TEXT], f"Sent: {TEXT}")
            assert_clean(server, n_requests=2)

    @pytest.mark.parametrize("said", [TEXT, f"{TEXT} <EM", "Is it <EMAIL_1>"])
    def test_streamed(self, said: str) -> None:
        read: list[str] = []
        shown = said.replace("<EMAIL_1>", MAIL)
        with RecordingServer() as server:
            server.script(calls("send"), says(said.replace(MAIL, "<EMAIL_1>")))
            run = agent(server, read, streaming=True).stream_events(STATE, version="v3")
            events = [event["params"]["data"] for event in run if event["method"] == "messages"]
            deltas = [e["delta"] for e, _ in events if e["event"] == "content-block-delta"]
            assert "".join(d.get("text", "") for d in deltas) == shown
            assert json.loads("".join(d.get("args", "") for d in deltas)) == {"text": TEXT}
            blocks = [e["content"] for e, _ in events if e["event"] == "content-block-finish"]
            assert [b.get("args") or b["text"] for b in blocks] == [{"text": TEXT}, shown]
            assert_clean(server, n_requests=2)

    def test_streamed_asynchronously(self) -> None:
        async def work(made: Any) -> str:
            run = await made.astream_events(STATE, version="v3")
            return "".join([text async for message in run.messages async for text in message.text])

        with RecordingServer() as server:
            assert asyncio.run(work(agent(server, [], streaming=True))) == TEXT
            assert_clean(server)

    def test_structured_answers(self) -> None:
        from pydantic import BaseModel

        class Letter(BaseModel):
            text: str

        with RecordingServer() as server:
            server.script(calls("Letter"))
            middleware = [SanitizerMiddleware(identifiers())]
            made = create_agent(chat(server), [], middleware=middleware, response_format=Letter)
            done = made.invoke(STATE)
            assert done["structured_response"] == Letter(text=TEXT)
            assert_clean(server)

    def test_a_tool_s_description_with_an_identifier_is_refused(self) -> None:
        @tool
        def send(text: str) -> str:
            """Send a text to peter.lund@example.com."""
            return text

        with RecordingServer() as server:
            middleware = [SanitizerMiddleware(identifiers())]
            made = create_agent(chat(server), [send], middleware=middleware)
            with pytest.raises(RequestRefused, match="description of a tool"):
                made.invoke(STATE)
            assert server.requests == []

    def test_traces_are_refused(self) -> None:
        langsmith = pytest.importorskip("langsmith")
        with RecordingServer() as server, langsmith.tracing_context(enabled="local"):
            with pytest.raises(RequestRefused, match="LANGSMITH_TRACING"):
                agent(server, []).invoke(STATE)
            assert server.requests == []
