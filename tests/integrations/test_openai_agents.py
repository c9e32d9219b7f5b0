"""openai-agents' real package: neither requests nor traces hold what is private."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("agents.tracing", reason="openai-agents is not installed")

import agents
from agents import Agent, OpenAIChatCompletionsModel, RunConfig, Runner, function_tool
from agents.tracing.processors import BatchTraceProcessor, default_exporter, default_processor
from openai import AsyncOpenAI

from sanitizer import RequestRefused, shield
from sanitizer.integrations.openai_agents import input_filter, shield_agents
from sanitizer.testing import RecordingServer, calls, echo
from tests.integrations.parties import MAIL, TEXT, assert_clean, identifiers, leaked

pytestmark = pytest.mark.slow


@pytest.fixture
def traces(monkeypatch: pytest.MonkeyPatch) -> Iterator[RecordingServer]:
    """Takes the place of OpenAI's server for traces."""
    monkeypatch.setenv("OPENAI_API_KEY", "test")
    with RecordingServer() as server:
        monkeypatch.setattr(default_exporter(), "endpoint", f"{server.url}/traces/ingest")
        agents.set_trace_processors([default_processor()])
        agents.set_tracing_disabled(False)
        yield server
        agents.flush_traces()


def client(server: RecordingServer) -> AsyncOpenAI:
    return AsyncOpenAI(base_url=server.url, api_key="test", max_retries=0)


def run(agent: Any, text: str, **options: Any) -> Any:
    async def work() -> Any:
        return await Runner.run(agent, text, **options)

    return asyncio.run(work())


def test_traces_past_a_shielded_client_are_refused(traces: RecordingServer) -> None:
    with RecordingServer() as server:
        model = OpenAIChatCompletionsModel("m", openai_client=shield(client(server), identifiers()))
        with pytest.raises(RequestRefused, match="shield_agents"):
            run(Agent(name="clerk", model=model), TEXT)
        agents.flush_traces()
        assert server.requests == []
        assert leaked(traces) == []


def test_trusted_traces_hold_everything(traces: RecordingServer) -> None:
    with RecordingServer() as server:
        shielded = shield(client(server), identifiers(), trusted_tracing=True)
        model = OpenAIChatCompletionsModel("m", openai_client=shielded)
        assert run(Agent(name="clerk", model=model), TEXT).final_output == TEXT
        agents.flush_traces()
        assert leaked(server) == []
        assert leaked(traces), "traces hold no messages any more: the check can go"


@pytest.mark.parametrize("api", ["responses", "chat_completions"])
def test_one_call_shields_the_default_client_and_stops_traces(
    traces: RecordingServer, api: Any
) -> None:
    with RecordingServer() as server:
        shield_agents(identifiers(), client(server))
        agents.set_default_openai_api(api)
        assert run(Agent(name="clerk", model="m"), TEXT).final_output == TEXT
        agents.flush_traces()
        assert_clean(server)
        assert traces.requests == []


def test_tools_read_originals_and_streams_are_restored(traces: RecordingServer) -> None:
    read = []

    @function_tool  # type: ignore[untyped-decorator, unused-ignore]  # where it is not installed
    def send(text: str) -> str:
        """Send a text."""
        read.append(text)
        return f"Sent: {text}"

    async def streamed(agent: Any) -> tuple[str, str]:
        result = Runner.run_streamed(agent, TEXT)
        deltas = [
            event.data.delta
            async for event in result.stream_events()
            if event.type == "raw_response_event"
            and event.data.type == "response.output_text.delta"
        ]
        return "".join(deltas), str(result.final_output)

    with RecordingServer() as server:
        server.script(calls("send"), echo)
        shield_agents(identifiers(), client(server))
        agents.set_default_openai_api("responses")
        agent = Agent(name="clerk", model="m", tools=[send])
        deltas, final = asyncio.run(streamed(agent))
        assert read == [TEXT]
        assert deltas == final == f"Sent: {TEXT}"
        assert_clean(server, n_requests=2)


def test_sanitized_traces(traces: RecordingServer) -> None:
    with RecordingServer() as server:
        shield_agents(identifiers(), client(server), traces="sanitized")
        agents.set_default_openai_api("chat_completions")
        run(Agent(name="clerk", model="m"), TEXT, run_config=RunConfig(group_id=f"of {MAIL}"))
        agents.flush_traces()
        (request,) = traces.requests
        spans = [each.get("span_data") or {} for each in request.json["data"]]
        (generation,) = [span for span in spans if span.get("type") == "generation"]
        assert "<EMAIL_1>" in json.dumps(generation["input"])
        assert generation["model"] == "m"
        assert any(span.get("name") == "clerk" for span in spans)
        assert leaked(traces, server) == []


def test_an_exporter_gets_no_span_that_cannot_be_sanitized(traces: RecordingServer) -> None:
    with RecordingServer() as server:
        shield_agents(identifiers(), client(server), traces="sanitized")
        with agents.trace("work"), agents.custom_span("step", {"text": float("nan"), "to": MAIL}):
            pass
        agents.flush_traces()
        assert leaked(traces) == []
        assert [each["object"] for r in traces.requests for each in r.json["data"]] == ["trace"]


def test_the_input_filter_works_with_any_model(traces: RecordingServer) -> None:
    agents.set_tracing_disabled(True)
    sanitizer = identifiers()
    with RecordingServer() as server:
        model = OpenAIChatCompletionsModel("m", openai_client=client(server))
        config = RunConfig(call_model_input_filter=input_filter(sanitizer))
        agent = Agent(name="clerk", instructions=f"Never write to {MAIL}.", model=model)
        answer = run(agent, TEXT, run_config=config).final_output
        assert "<EMAIL_1>" in answer
        assert sanitizer.restore(answer) == TEXT
        assert_clean(server)


def test_processors_in_use() -> None:
    assert BatchTraceProcessor(default_exporter())._exporter is default_exporter()
