"""Ollama's own client through filtered HTTP clients and through the proxy: nothing private arrives,
and everything comes back, line by line or whole, with calls of tools.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest

from sanitizer.clients.httpx import filtered
from sanitizer.errors import RequestRefused
from sanitizer.testing import Answer, RecordingServer, calls
from tests.integrations.parties import MAIL, TEXT, TOKEN, assert_clean, guarding, identifiers

ollama = pytest.importorskip("ollama")
pytestmark = pytest.mark.slow

MODEL = "llama3.2:1b"
TOOL: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "mail",
        "description": "Send it.",
        "parameters": {"type": "object", "properties": {"text": {"type": "string"}}},
    },
}


@pytest.fixture
def server() -> Iterator[RecordingServer]:
    with RecordingServer() as server:
        yield server


def said(text: str = TEXT) -> list[dict[str, str]]:
    return [{"role": "user", "content": text}]


@pytest.fixture(params=["filtered", "serve"])
def client(request: pytest.FixtureRequest, server: RecordingServer) -> Iterator[Any]:
    base = server.url.removesuffix("/v1")
    if request.param == "filtered":
        client = ollama.Client(host=base)
        client._client = filtered(client._client, identifiers())
        yield client
        return
    with guarding(base) as url:
        yield ollama.Client(host=url, headers={"sanitizer-token": TOKEN})


def test_a_chat(client: Any, server: RecordingServer) -> None:
    system = {"role": "system", "content": TEXT}
    options = {"temperature": 0.5, "stop": [MAIL], "num_ctx": 4096}
    answer = client.chat(MODEL, [system, *said()], options=options, keep_alive="5m")
    assert answer.message.content == TEXT
    assert_clean(server)
    sent = server.requests[0].json
    assert sent["model"] == MODEL
    assert sent["options"]["num_ctx"] == 4096


def test_a_chat_line_by_line(client: Any, server: RecordingServer) -> None:
    lines = list(client.chat(MODEL, said(), stream=True))
    assert "".join(line.message.content or "" for line in lines) == TEXT
    assert lines[-1].done
    assert len(lines) > 3
    assert_clean(server)


def test_a_thought_comes_apart(client: Any, server: RecordingServer) -> None:
    def line(done: bool = False, **fields: str) -> bytes:
        message = {"role": "assistant", "content": "", **fields}
        return json.dumps({"model": MODEL, "message": message, "done": done}).encode() + b"\n"

    pieces = [
        line(thinking="Is <EM"),
        line(thinking="AIL_1> <EM"),
        line(content="<EMAIL"),
        line(content="_1>, <EMA"),
        line(done=True),
    ]
    server.script(Answer(pieces, content_type="application/x-ndjson"))
    lines = list(client.chat(MODEL, said(), stream=True))
    assert "".join(each.message.thinking or "" for each in lines) == f"Is {MAIL} <EM"
    assert "".join(each.message.content or "" for each in lines) == f"{MAIL}, <EMA"


def test_generate(client: Any, server: RecordingServer) -> None:
    answer = client.generate(MODEL, TEXT, system=TEXT)
    assert answer.response == TEXT
    lines = list(client.generate(MODEL, TEXT, stream=True))
    assert "".join(line.response or "" for line in lines) == TEXT
    assert_clean(server, 2)


@pytest.mark.parametrize("streams", [False, True])
def test_a_call_and_its_result(client: Any, server: RecordingServer, streams: bool) -> None:
    server.script(calls("mail"))
    found = client.chat(MODEL, said(), tools=[TOOL], stream=streams)
    answers = list(found) if streams else [found]
    (message,) = [each.message for each in answers if each.message.tool_calls]
    (call,) = message.tool_calls
    assert (call.function.name, dict(call.function.arguments)) == ("mail", {"text": TEXT})
    result = {"role": "tool", "tool_name": "mail", "content": f"Sent to {MAIL}."}
    answer = client.chat(MODEL, [*said(), message, result], tools=[TOOL])
    assert answer.message.content == f"Sent to {MAIL}."
    assert_clean(server, 2)
    sent = server.requests[1].json["messages"]
    arguments = sent[1]["tool_calls"][0]["function"]["arguments"]
    assert arguments == {"text": sent[0]["content"]}
    assert sent[2]["content"] == "Sent to <EMAIL_1>."


def test_a_history_goes_back_as_it_came(client: Any, server: RecordingServer) -> None:
    server.script(lambda received: _told("Ask <EMAIL_1>, not guest@example.org."))
    lines = list(client.chat(MODEL, said(), stream=True))
    shown = "".join(line.message.content or "" for line in lines)
    assert shown == f"Ask {MAIL}, not guest@example.org."
    history = [*said(), {"role": "assistant", "content": shown}, *said("Go on.")]
    client.chat(MODEL, history)
    back = server.requests[1].json["messages"][1]["content"]
    assert back == "Ask <EMAIL_1>, not guest@example.org."


def _told(text: str) -> Answer:
    from sanitizer.testing.server import answer

    return answer("api/chat", {}, text)


def test_json_stays_json(client: Any, server: RecordingServer) -> None:
    server.script(lambda received: _told('{"to": <EMAIL_1>}'))
    lines = list(client.chat(MODEL, said(), stream=True, format="json"))
    assert json.loads("".join(line.message.content or "" for line in lines)) == {"to": MAIL}


def test_an_error_is_the_clients(client: Any, server: RecordingServer) -> None:
    server.script(Answer(b'{"error": "no model for <EMAIL_1>"}', status=404))
    with pytest.raises(ollama.ResponseError, match=MAIL):
        client.chat(MODEL, said())
    server.script(
        Answer([b'{"error": "broken: <EMAIL_1>"}\n'], content_type="application/x-ndjson")
    )
    with pytest.raises(ollama.ResponseError, match=MAIL):
        list(client.chat(MODEL, said(), stream=True))


def test_models_are_listed(client: Any, server: RecordingServer) -> None:
    server.script(Answer(b'{"models": [{"model": "llama3.2:1b"}]}'))
    assert [each.model for each in client.list().models] == ["llama3.2:1b"]


def test_what_cannot_be_read_is_refused(server: RecordingServer) -> None:
    base = server.url.removesuffix("/v1")
    client = ollama.Client(host=base)
    client._client = filtered(client._client, identifiers())
    with pytest.raises(RequestRefused, match="images"):
        client.chat(MODEL, [{"role": "user", "content": "See", "images": [b"PNG"]}])
    with pytest.raises(RequestRefused, match="token numbers"):
        client.generate(MODEL, "Go on.", context=[1, 2, 3])
    with pytest.raises(RequestRefused, match="not let through"):
        client.embed(MODEL, TEXT)
    with guarding(base) as url:
        client = ollama.Client(host=url, headers={"sanitizer-token": TOKEN})
        with pytest.raises(ollama.ResponseError, match="token numbers"):
            client.generate(MODEL, "Go on.", context=[1, 2, 3], stream=False)
    assert server.received == b""


def test_an_asynchronous_client(server: RecordingServer) -> None:
    async def ask() -> str:
        client = ollama.AsyncClient(host=server.url.removesuffix("/v1"))
        client._client = filtered(client._client, identifiers())
        found = [line async for line in await client.chat(MODEL, said(), stream=True)]
        return "".join(line.message.content or "" for line in found)

    assert asyncio.run(ask()) == TEXT
    assert_clean(server)
