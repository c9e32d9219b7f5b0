"""Google's own SDK through filtered HTTP clients and through the proxy: nothing private arrives,
and everything comes back, streamed or not, with calls of functions.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from sanitizer.clients.httpx import filtered
from sanitizer.errors import RequestRefused
from sanitizer.testing import Answer, RecordingServer, calls
from sanitizer.testing.other_apis import content, events
from tests.integrations.parties import MAIL, TEXT, TOKEN, assert_clean, guarding, identifiers

genai = pytest.importorskip("google.genai")
pytestmark = pytest.mark.slow

MODEL = "gemini-test"
DECLARED: dict[str, Any] = {
    "name": "mail",
    "description": "Send it.",
    "parameters": {"type": "OBJECT", "properties": {"text": {"type": "STRING"}}},
}
CONFIG: dict[str, Any] = {
    "tools": [{"function_declarations": [DECLARED]}],
    "automatic_function_calling": {"disable": True},
}


@pytest.fixture
def server() -> Iterator[RecordingServer]:
    with RecordingServer() as server:
        yield server


def sdk(url: str, **options: Any) -> Any:
    return genai.Client(
        api_key="test-key", vertexai=False, http_options={"base_url": url, **options}
    )


@pytest.fixture(params=["filtered", "serve"])
def client(request: pytest.FixtureRequest, server: RecordingServer) -> Iterator[Any]:
    base = server.url.removesuffix("/v1")
    if request.param == "filtered":
        with httpx.Client() as plain:
            yield sdk(base, httpx_client=filtered(plain, identifiers()))
        return
    with guarding(base) as url:
        yield sdk(url, headers={"sanitizer-token": TOKEN})


def test_an_answer(client: Any, server: RecordingServer) -> None:
    answer = client.models.generate_content(
        model=MODEL,
        contents=TEXT,
        config={"system_instruction": TEXT, "temperature": 0.5, "stop_sequences": [MAIL]},
    )
    assert answer.text == TEXT
    assert_clean(server)
    sent = server.requests[0]
    assert sent.target.endswith(f"/models/{MODEL}:generateContent")
    assert sent.header("x-goog-api-key") == "test-key"
    assert sent.json["generationConfig"]["temperature"] == 0.5


def test_a_stream(client: Any, server: RecordingServer) -> None:
    pieces = client.models.generate_content_stream(model=MODEL, contents=TEXT)
    assert "".join(piece.text or "" for piece in pieces) == TEXT
    assert_clean(server)


def test_tokens_are_counted(client: Any, server: RecordingServer) -> None:
    assert client.models.count_tokens(model=MODEL, contents=TEXT).total_tokens > 0
    assert_clean(server)


def test_models_are_listed(client: Any, server: RecordingServer) -> None:
    server.script(Answer(b'{"name": "models/gemini-test", "displayName": "Test"}'))
    assert client.models.get(model=MODEL).display_name == "Test"


@pytest.mark.parametrize("streams", [False, True])
def test_a_call_and_its_result(client: Any, server: RecordingServer, streams: bool) -> None:
    server.script(calls("mail"))
    ask = client.models.generate_content_stream if streams else client.models.generate_content
    found = ask(model=MODEL, contents=TEXT, config=CONFIG)
    answer = list(found)[-1] if streams else found
    (call,) = answer.function_calls
    assert (call.name, call.args) == ("mail", {"text": TEXT})
    result = genai.types.Part.from_function_response(
        name="mail", response={"sent": [f"to {MAIL}"], "number": 4111111111111111}
    )
    history = [
        genai.types.Content(role="user", parts=[genai.types.Part(text=TEXT)]),
        answer.candidates[0].content,
        genai.types.Content(role="user", parts=[result]),
    ]
    ended = client.models.generate_content(model=MODEL, contents=history, config=CONFIG)
    assert ended.text is not None
    assert_clean(server, 2)
    sent = server.requests[1].json["contents"]
    assert sent[1]["parts"][0]["functionCall"]["args"] == {
        "text": server.requests[0].json["contents"][0]["parts"][0]["text"]
    }
    assert sent[2]["parts"][0]["functionResponse"]["response"]["sent"] == ["to <EMAIL_1>"]


def test_a_chat_sends_back_what_came(client: Any, server: RecordingServer) -> None:
    """The SDK keeps each event of a stream as a content of its own; one cuts an address in two."""
    said = ["Ask <EM", "AIL_1> and gues", "t@exam", "ple.org, or 41", "11 1111 1111 1111."]
    server.script(
        Answer(events([{"text": each} for each in said]), content_type="text/event-stream")
    )
    chat = client.chats.create(model=MODEL)
    shown = "".join(each.text or "" for each in chat.send_message_stream(TEXT))
    assert shown == f"Ask {MAIL} and guest@example.org, or 4111 1111 1111 1111."
    assert chat.send_message("Go on.").text == "Go on."
    came = server.requests[1].json["contents"]
    back = "".join(
        part["text"] for each in came if each["role"] == "model" for part in each["parts"]
    )
    assert back == "".join(said)


def test_an_error_is_the_sdks(client: Any, server: RecordingServer) -> None:
    body = b'{"error": {"code": 400, "message": "<EMAIL_1> is no name", "status": "INVALID"}}'
    server.script(Answer(body, status=400))
    with pytest.raises(genai.errors.ClientError, match=MAIL):
        client.models.generate_content(model=MODEL, contents=TEXT)


def test_what_cannot_be_read_is_refused(server: RecordingServer) -> None:
    data = genai.types.Part.from_bytes(data=b"PNG", mime_type="image/png")
    base = server.url.removesuffix("/v1")
    with httpx.Client() as plain:
        client = sdk(base, httpx_client=filtered(plain, identifiers()))
        with pytest.raises(RequestRefused, match="files"):
            client.models.generate_content(model=MODEL, contents=[data])
        with pytest.raises(RequestRefused, match="not let through"):
            client.models.embed_content(model=MODEL, contents=TEXT)
    with guarding(base) as url:
        client = sdk(url, headers={"sanitizer-token": TOKEN})
        with pytest.raises(genai.errors.ClientError, match="files"):
            client.models.generate_content(model=MODEL, contents=[data])
    assert server.received == b""


def test_a_chat_of_an_asynchronous_client(server: RecordingServer) -> None:
    async def ask() -> str:
        base = server.url.removesuffix("/v1")
        async with httpx.AsyncClient() as plain:
            client = sdk(base, httpx_async_client=filtered(plain, identifiers()))
            stream = await client.aio.models.generate_content_stream(model=MODEL, contents=TEXT)
            return "".join([each.text or "" async for each in stream])

    assert asyncio.run(ask()) == TEXT
    assert_clean(server)


def test_json_stays_json(client: Any, server: RecordingServer) -> None:
    config = {"response_mime_type": "application/json"}
    said = b'{"to": "<EMAIL_1>", "why": "\\"so\\""}'
    server.script(Answer(_json_answer(said.decode())))
    answer = client.models.generate_content(model=MODEL, contents=TEXT, config=config)
    assert answer.text == said.decode().replace("<EMAIL_1>", MAIL)


def _json_answer(text: str) -> bytes:
    import json

    return json.dumps(content([{"text": text}])).encode()
