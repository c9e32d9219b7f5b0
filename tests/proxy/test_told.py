"""What the proxy tells its clients beside answers: what would leave, and what a stream asks for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from anthropic import Anthropic
from openai import OpenAI

from sanitizer import Sanitizer
from sanitizer.pipeline.surrogates import UNSENT
from sanitizer.storage.vault import MemoryVault
from sanitizer.testing import RecordingServer
from sanitizer.testing.server import says
from tests.conftest import Told
from tests.proxy.servers import Proxy, proxy

TEXT = "Elena has eczema and owes 410 euros."
ASKED = "I cannot say. [need <TREATMENT_1>] [need <MONEY_1>] [need <PERSON_1>]"
COMMENT = ": sanitizer-needs MONEY=1, TREATMENT=1\n\n"
KEY = {"authorization": "Bearer sk-a"}
MESSAGES: list[Any] = [{"role": "user", "content": TEXT}]
GEMINI = "/v1/models/m:streamGenerateContent?alt=sse"


@pytest.fixture
def upstream(told: Told) -> Iterator[RecordingServer]:
    told(PERSON="Elena", TREATMENT="eczema", MONEY="410 euros")
    with RecordingServer(says(ASKED)) as server:
        yield server


@pytest.fixture
def asking(upstream: RecordingServer) -> Iterator[Proxy]:
    with proxy(upstream.url, Sanitizer(vault=MemoryVault(numbers="from 1"))) as running:
        yield running


@pytest.mark.parametrize(
    ("path", "field", "end"),
    [
        ("/v1/chat/completions", "messages", "data: [DONE]"),
        ("/v1/responses", "input", "event: response.completed"),
        ("/v1/messages", "messages", "event: message_stop"),
    ],
)
def test_a_comment_of_a_stream_counts_what_it_asks_for(
    asking: Proxy, path: str, field: str, end: str
) -> None:
    asked = {"model": "m", field: MESSAGES, "stream": True, "max_tokens": 9}
    text = asking.client.post(path, json=asked, headers=KEY).text
    assert text.count(COMMENT) == 1
    assert text.partition(COMMENT)[2].startswith(end)


def test_sdks_read_past_the_comment(asking: Proxy) -> None:
    url = f"http://127.0.0.1:{asking.port}"
    with OpenAI(base_url=f"{url}/v1", api_key="sk-a") as client:
        chunks = client.chat.completions.create(model="m", messages=MESSAGES, stream=True)
        assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == ASKED
        *_, last = client.responses.create(model="m", input=TEXT, stream=True)
        assert last.type == "response.completed"
        assert last.response.output_text == ASKED
    with (
        Anthropic(base_url=url, api_key="sk-a") as other,
        other.messages.stream(model="m", max_tokens=9, messages=MESSAGES) as stream,
    ):
        assert "".join(stream.text_stream) == ASKED
        assert stream.get_final_message().stop_reason == "end_turn"


def test_no_comment_where_nothing_is_asked_for_or_none_could_be_read(
    asking: Proxy, upstream: RecordingServer
) -> None:
    contents = [{"role": "user", "parts": [{"text": TEXT}]}]
    answered = asking.client.post(GEMINI, json={"contents": contents}, headers=KEY)
    assert answered.status_code == 200
    assert "[need" in answered.text.replace('"', "")
    assert "sanitizer-needs" not in answered.text
    upstream.script(says("Nothing.")(upstream.requests[0]))
    assert "sanitizer-needs" not in asking.chat(TEXT, KEY, stream=True).text


def test_a_path_of_its_own_tells_what_would_leave(upstream: RecordingServer, told: Told) -> None:
    told(PERSON="Elena", CONDITION="eczema")
    sanitizer = Sanitizer(policy="guarded", vault=MemoryVault(numbers="from 1"), budget=9.0)
    body = {"model": "m", "messages": [{"role": "user", "content": "Elena has eczema."}]}
    with proxy(upstream.url, sanitizer) as running:
        seen = [
            running.client.post("/sanitizer/preview/v1/chat/completions", json=body, headers=KEY)
            for _ in range(3)
        ]
        first = seen[0].json()
        assert [each.json() for each in seen] == [first] * 3
        assert seen[0].headers["cache-control"] == "no-store"
        text = first["body"]["messages"][0]["content"]
        assert text.startswith(f"<PERSON_1> has {UNSENT}.\n")
        assert first["stand_ins"] == [["<PERSON_1>", "Elena"], [UNSENT, "eczema"]]
        assert first["record"]["charged"] == 5.0
        assert (first["budget_left"], sanitizer.spent) == (9.0, 0.0)
        assert upstream.requests == []
        assert "sanitizer_epsilon_spent_total 0.0" in running.client.get("/metrics").text
        running.client.post("/v1/chat/completions", json=body, headers=KEY)
        (sent,) = upstream.requests
        assert sent.json["messages"][0]["content"].startswith("<PERSON_1> has ")
        assert UNSENT not in sent.json["messages"][0]["content"]
        other = running.client.post(
            "/sanitizer/preview/v1/chat/completions",
            json=body,
            headers={"authorization": "Bearer b"},
        ).json()
        assert UNSENT in other["body"]["messages"][0]["content"], "of another key's conversation"


def test_what_would_be_refused_is(upstream: RecordingServer) -> None:
    token = "a-token-of-16-characters"  # noqa: S105  of this test
    body: dict[str, Any] = {"messages": MESSAGES}
    path = "/sanitizer/preview/v1/chat/completions"
    with proxy(upstream.url, token=token) as running:
        assert running.client.post(path, json=body).status_code == 401
        running.client.headers["sanitizer-token"] = token
        files = "/sanitizer/preview/v1/files"
        for wrong in (files, "/sanitizer/preview", path.replace("view", "views"), path.title()):
            assert running.client.post(wrong, json=body).status_code == 404
        image = [{"type": "image_url", "image_url": {"url": "https://x.example/a.png"}}]
        body = {"messages": [{"role": "user", "content": image}]}
        assert running.client.post(path, json=body).json()["error"]["code"] == "image"
    assert upstream.requests == []
