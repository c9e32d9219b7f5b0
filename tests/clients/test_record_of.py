"""What is said of an answer, typed; and a look at a request before it is sent."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from math import inf
from typing import Any

import pytest
from anthropic import Anthropic, AsyncAnthropic
from openai import AsyncOpenAI, OpenAI

from sanitizer import Sanitizer, preview, record_of, shield
from sanitizer.clients.shielding import AnswerRecord
from sanitizer.pipeline.surrogates import UNSENT
from sanitizer.testing import RecordingServer
from sanitizer.testing.server import says
from tests.conftest import Told

TEXT = "I have eczema."


@pytest.fixture
def server(told: Told) -> Iterator[RecordingServer]:
    told(CONDITION="eczema")
    with RecordingServer(says("Rest.")) as running:
        yield running


@pytest.fixture
def sanitizer() -> Sanitizer:
    return Sanitizer(policy="guarded")


def check(found: AnswerRecord) -> None:
    assert found.record.n_drawn == 1
    assert found.record.certified
    (note,) = found.notes
    assert note.endswith("may not hold for eczema")


def test_openai_in_every_form(server: RecordingServer, sanitizer: Sanitizer) -> None:
    with shield(OpenAI(base_url=server.url, api_key="test"), sanitizer) as client:
        create = client.chat.completions.create
        whole = create(model="m", messages=[{"role": "user", "content": TEXT}])
        check(record_of(whole))
        check(record_of(client.responses.create(model="m", input=TEXT)))
        stream = create(model="m", messages=[{"role": "user", "content": TEXT}], stream=True)
        check(record_of(stream))
        first, second, *_ = stream
        check(record_of(first))
        with pytest.raises(TypeError):
            record_of(second)
        events = client.responses.create(model="m", input=TEXT, stream=True)
        check(record_of(next(iter(events))))
        raw = client.chat.completions.with_raw_response.create(
            model="m", messages=[{"role": "user", "content": TEXT}]
        )
        check(record_of(raw))


def test_anthropic_in_every_form(server: RecordingServer, sanitizer: Sanitizer) -> None:
    url = server.url.removesuffix("/v1")
    with shield(Anthropic(base_url=url, api_key="test"), sanitizer) as client:
        asked: Any = {"max_tokens": 9, "messages": [{"role": "user", "content": TEXT}]}
        check(record_of(client.messages.create(model="m", **asked)))
        streamed = client.messages.create(model="m", stream=True, **asked)
        check(record_of(streamed))
        check(record_of(next(iter(streamed))))
        with client.messages.stream(model="m", **asked) as stream:
            check(record_of(stream))
            check(record_of(stream.get_final_message()))


def test_asynchronous_clients(server: RecordingServer, sanitizer: Sanitizer) -> None:
    async def ask() -> None:
        async with shield(AsyncOpenAI(base_url=server.url, api_key="test"), sanitizer) as client:
            whole = await client.responses.create(model="m", input=TEXT)
            check(record_of(whole))
            check(record_of(await client.responses.create(model="m", input=TEXT, stream=True)))
        url = server.url.removesuffix("/v1")
        async with shield(AsyncAnthropic(base_url=url, api_key="test"), sanitizer) as other:
            asked: Any = {"max_tokens": 9, "messages": [{"role": "user", "content": TEXT}]}
            check(record_of(await other.messages.create(model="m", **asked)))
            check(record_of(await other.messages.create(model="m", stream=True, **asked)))

    asyncio.run(ask())


def test_a_bound_that_is_not_finite_is_one_again(server: RecordingServer) -> None:
    client = shield(OpenAI(base_url=server.url, api_key="test"), Sanitizer(policy="identifiers"))
    found = record_of(client.responses.create(model="m", input="Mail joe@x.org"))
    client.close()
    assert found.record.epsilon_total == inf
    assert found.notes == ()


def test_other_answers_have_none(server: RecordingServer) -> None:
    with OpenAI(base_url=server.url, api_key="test") as plain:
        answer = plain.responses.create(model="m", input=TEXT)
    for other in (answer, "text", None):
        with pytest.raises(TypeError):
            record_of(other)


def test_a_request_can_be_looked_at(server: RecordingServer, sanitizer: Sanitizer) -> None:
    client: Any = shield(OpenAI(base_url=server.url, api_key="test"), sanitizer)
    seen = client.preview([{"role": "user", "content": TEXT}])
    assert seen.body["messages"][0]["content"].startswith(f"I have {UNSENT}.")
    assert (seen.record.charged, sanitizer.spent, server.requests) == (5.0, 0.0, [])
    asked = client.chat.completions.create(model="m", messages=[{"role": "user", "content": TEXT}])
    history = [{"role": "user", "content": TEXT}, asked.choices[0].message]
    again = preview(client.with_options(timeout=9), history, temperature=0.5)
    assert again.body["messages"][1]["content"] == "Rest."
    assert again.body["temperature"] == 0.5
    assert preview(client, input=TEXT).record.charged == 0
    client.close()
    other = shield(Anthropic(base_url=server.url, api_key="test"), Sanitizer(policy="guarded"))
    assert preview(other, [{"role": "user", "content": TEXT}], max_tokens=9).record.n_drawn == 1
    other.close()
    assert len(server.requests) == 1


@pytest.mark.parametrize("given", [[{"role": "user", "content": object()}], [object()]])
def test_what_no_request_may_hold_is_an_error(sanitizer: Sanitizer, given: list[object]) -> None:
    client = shield(OpenAI(api_key="test"), sanitizer)
    with pytest.raises(TypeError, match="object"):
        preview(client, given)
    with pytest.raises(TypeError, match="shield"):
        preview(OpenAI(api_key="test"), [])


def test_texts_are_logged_only_if_the_environment_says_so(
    told: Told, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    told(PERSON="Elena")
    caplog.set_level(logging.DEBUG, "sanitizer")
    for value in ("", "0", "true"):
        monkeypatch.setenv("SANITIZER_LOG_TEXT", value)
        Sanitizer().sanitize("Elena came.")
    assert "Elena" not in caplog.text
    monkeypatch.setenv("SANITIZER_LOG_TEXT", "1")
    for policy in ("guarded", "strict"):
        caplog.clear()
        Sanitizer(policy=policy).sanitize("Elena came.")
        assert "'Elena came.' leaves as " in caplog.text
    caplog.clear()
    caplog.set_level(logging.INFO, "sanitizer")
    Sanitizer().sanitize("Elena came.")
    assert "Elena" not in caplog.text
