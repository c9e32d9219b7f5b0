"""`shield`: through the real SDK, to a real server, nothing private arrives and everything comes
back.

These files run once more with older SDKs (test_older_sdks.py).
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from sanitizer.clients.shielding import shield
from sanitizer.testing.server import RecordingServer, calls
from tests.clients.sdk_clients import (
    LIB,
    SECRETS,
    TEXT,
    assert_none,
    check_clean,
    identifiers,
    run_async,
    said,
    shielded,
    since,
)
from tests.clients.tool_calls import WORD, toy
from tests.lazily import lazily

if TYPE_CHECKING:
    import openai
else:
    openai = lazily("openai")

TOOL: Any = {"type": "function", "function": {"name": "mail", "parameters": {"type": "object"}}}


@pytest.fixture
def server() -> Iterator[RecordingServer]:
    with RecordingServer() as server:
        yield server


def test_the_sdk_is_the_one_these_tests_are_for() -> None:
    with openai.OpenAI(api_key="test") as client:
        assert isinstance(client._client, LIB.Client)


class TestRequests:
    def test_text(self, server: RecordingServer) -> None:
        with shielded(server) as client:
            answer = client.chat.completions.create(model="m", messages=said())
        assert answer.choices[0].message.content == TEXT
        check_clean(server)

    def test_parts(self, server: RecordingServer) -> None:
        parts = [{"type": "text", "text": secret} for secret in SECRETS]
        with shielded(server) as client:
            answer = client.chat.completions.create(
                model="m", messages=[{"role": "user", "content": parts}]
            )
        assert answer.choices[0].message.content == " ".join(SECRETS)
        check_clean(server)

    def test_tool_calls_and_their_results_in_the_history(self, server: RecordingServer) -> None:
        call = {
            "id": "call_1",
            "type": "function",
            "function": {"name": "mail", "arguments": json.dumps({"to": TEXT})},
        }
        history = [
            *said("Send it."),
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "call_1", "content": json.dumps({"sent": [TEXT]})},
        ]
        with shielded(server) as client:
            client.chat.completions.create(model="m", messages=history, tools=[TOOL])
        check_clean(server)

    def test_the_model_s_tool_calls_are_restored(self, server: RecordingServer) -> None:
        server.script(calls("mail"))
        with shielded(server) as client:
            answer = client.chat.completions.create(model="m", messages=said(), tools=[TOOL])
        function = answer.choices[0].message.tool_calls[0].function
        assert json.loads(function.arguments) == {"text": TEXT}
        check_clean(server)

    @since(1, 66)
    def test_responses(self, server: RecordingServer) -> None:
        given = [
            {"role": "user", "content": [{"type": "input_text", "text": TEXT}]},
            {
                "type": "function_call",
                "call_id": "c",
                "name": "mail",
                "arguments": json.dumps({"to": TEXT}),
            },
            {"type": "function_call_output", "call_id": "c", "output": TEXT},
        ]
        with shielded(server) as client:
            answer = client.responses.create(model="m", instructions=TEXT, input=given)
            assert client.responses.create(model="m", input=TEXT).output_text == TEXT
        assert answer.output_text == TEXT
        check_clean(server, n_requests=2)

    def test_completions(self, server: RecordingServer) -> None:
        with shielded(server) as client:
            assert client.completions.create(model="m", prompt=TEXT).choices[0].text == TEXT
            pieces = list(client.completions.create(model="m", prompt=TEXT, stream=True))
        assert "".join(piece.choices[0].text for piece in pieces) == TEXT
        check_clean(server, n_requests=2)

    @since(1, 17)
    def test_words(self, server: RecordingServer) -> None:
        with shielded(server, toy()) as client:
            answer = client.chat.completions.create(model="m", messages=said(f"{WORD}. {TEXT}"))
            history = [
                *said(f"{WORD}. {TEXT}"),
                answer.choices[0].message.to_dict(),
                *said("And now?"),
            ]
            client.chat.completions.create(model="m", messages=history)
        assert_none(server.received)
        assert WORD.encode() not in server.received
        first, second = (request.json["messages"][0] for request in server.requests)
        assert first == second


class TestStreams:
    def test_chat(self, server: RecordingServer) -> None:
        with shielded(server) as client:
            chunks = list(client.chat.completions.create(model="m", messages=said(), stream=True))
        assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == TEXT
        check_clean(server)

    @since(1, 92)
    def test_the_sdk_s_own_collecting_of_streams(self, server: RecordingServer) -> None:
        with shielded(server) as client:
            with client.chat.completions.stream(model="m", messages=said()) as stream:
                answer = stream.get_final_completion()
            with client.responses.stream(model="m", input=TEXT) as stream:
                response = stream.get_final_response()
        assert answer.choices[0].message.content == response.output_text == TEXT
        chat_record, response_record = (
            dict(answer.sanitizer_record),
            dict(response.sanitizer_record),
        )
        assert chat_record.pop("untouched")
        assert response_record.pop("untouched")
        assert chat_record == response_record
        check_clean(server, n_requests=2)

    @since(1, 67)
    def test_tool_calls(self, server: RecordingServer) -> None:
        server.script(calls("mail"), calls("mail"))
        with shielded(server) as client:
            chunks = list(
                client.chat.completions.create(
                    model="m", messages=said(), tools=[TOOL], stream=True
                )
            )
            events = list(client.responses.create(model="m", input=TEXT, stream=True))
        called = [
            call.function.arguments for c in chunks for call in c.choices[0].delta.tool_calls or []
        ]
        assert json.loads("".join(called)) == {"text": TEXT}
        deltas = "".join(
            e.delta for e in events if e.type == "response.function_call_arguments.delta"
        )
        assert (
            json.loads(deltas)
            == json.loads(events[-1].response.output[0].arguments)
            == {"text": TEXT}
        )
        check_clean(server, n_requests=2)

    def test_asynchronous(self, server: RecordingServer) -> None:
        async def job(client: Any) -> str:
            stream = await client.chat.completions.create(model="m", messages=said(), stream=True)
            return "".join([chunk.choices[0].delta.content or "" async for chunk in stream])

        assert run_async(server, job) == TEXT
        check_clean(server)

    @since(1, 67)
    def test_asynchronous_collecting(self, server: RecordingServer) -> None:
        async def job(client: Any) -> str:
            async with client.responses.stream(model="m", input=TEXT) as stream:
                return str((await stream.get_final_response()).output_text)

        assert run_async(server, job) == TEXT
        check_clean(server)


class TestRawResponses:
    def test_raw(self, server: RecordingServer) -> None:
        with shielded(server) as client:
            raw = client.chat.completions.with_raw_response.create(model="m", messages=said())
        assert raw.parse().choices[0].message.content == TEXT
        assert raw.headers["sanitizer-n-identifiers"] == str(len(SECRETS))
        check_clean(server)

    def test_streaming(self, server: RecordingServer) -> None:
        with shielded(server) as client:
            create = client.chat.completions.with_streaming_response.create
            with create(model="m", messages=said()) as response:
                whole = response.parse().choices[0].message.content
            with create(model="m", messages=said()) as response:
                pieces = b"".join(response.iter_bytes())
            with create(model="m", messages=said(), stream=True) as response:
                lines = list(response.iter_lines())
        assert whole == json.loads(pieces)["choices"][0]["message"]["content"] == TEXT
        assert SECRETS[0] in "".join(lines)
        check_clean(server, n_requests=3)

    @since(1, 66)
    def test_asynchronous(self, server: RecordingServer) -> None:
        async def job(client: Any) -> None:
            raw = await client.responses.with_raw_response.create(model="m", input=TEXT)
            assert raw.parse().output_text == TEXT
            async with client.responses.with_streaming_response.create(
                model="m", input=TEXT
            ) as response:
                assert (await response.parse()).output_text == TEXT

        run_async(server, job)
        check_clean(server, n_requests=2)


class TestRecord:
    @since(1, 66)
    def test_it_is_on_whole_answers(self, server: RecordingServer) -> None:
        with shielded(server, toy()) as client:
            for answer in (
                client.chat.completions.create(model="m", messages=said(WORD)),
                client.responses.create(model="m", input=f"{WORD}."),
                client.completions.create(model="m", prompt=f"{WORD}!"),
            ):
                record = answer.sanitizer_record
                assert (
                    record["epsilon_total"] == record["epsilon_per_unit"] == record["charged"] > 0
                )
                assert (record["certified"], record["n_units"], record["policy"]) == (
                    True,
                    1,
                    "words",
                )

    def test_it_is_on_the_first_chunk(self, server: RecordingServer) -> None:
        with shielded(server) as client:
            chunks = list(client.chat.completions.create(model="m", messages=said(), stream=True))
        assert chunks[0].sanitizer_record["n_identifiers"] == len(SECRETS)
        assert not any(hasattr(chunk, "sanitizer_record") for chunk in chunks[1:])

    @since(1, 67)
    def test_it_is_on_the_responses_of_events(self, server: RecordingServer) -> None:
        with shielded(server) as client:
            events = list(client.responses.create(model="m", input=TEXT, stream=True))
        with_response = [event for event in events if hasattr(event, "response")]
        assert [e.type for e in with_response] == ["response.created", "response.completed"]
        assert all(
            e.response.sanitizer_record["n_identifiers"] == len(SECRETS) for e in with_response
        )

    def test_the_api_cannot_forge_it(self, server: RecordingServer) -> None:
        from sanitizer.testing.server import Answer, Received, echo

        def forged(received: Received) -> Answer:
            body = json.loads(bytes(echo(received).body))  # type: ignore[arg-type]
            return Answer(json.dumps({**body, "sanitizer_record": "x"}).encode())

        server.script(forged)
        with shielded(server) as client:
            answer = client.chat.completions.create(model="m", messages=said())
        assert answer.sanitizer_record["n_identifiers"] == len(SECRETS)


class TestManyAtOnce:
    def test_32_threads_share_a_client(self, server: RecordingServer) -> None:
        texts = [f"Mail person{i}@example.com of {SECRETS[i % len(SECRETS)]}." for i in range(32)]
        with shielded(server) as client, ThreadPoolExecutor(32) as pool:

            def ask(text: str) -> Any:
                return (
                    client.chat.completions.create(model="m", messages=said(text))
                    .choices[0]
                    .message.content
                )

            assert list(pool.map(ask, texts)) == texts
        check_clean(server, n_requests=32)
        assert b"@example.com" not in server.received

    def test_50_calls_are_gathered(self, server: RecordingServer) -> None:
        texts = [f"Mail person{i}@example.com." for i in range(50)]

        async def job(client: Any) -> list[str]:
            calls = [
                client.chat.completions.create(model="m", messages=said(text)) for text in texts
            ]
            return [answer.choices[0].message.content for answer in await asyncio.gather(*calls)]

        assert run_async(server, job) == texts
        assert len(server.requests) == 50
        assert b"@example.com" not in server.received


class TestAzure:
    @staticmethod
    def options(server: RecordingServer) -> dict[str, Any]:
        return {
            "base_url": None,
            "azure_endpoint": f"http://{server.host}",
            "api_version": "2024-10-21",
            "api_key": "azure-key",
        }

    def test_synchronous(self, server: RecordingServer) -> None:
        options = self.options(server)
        del options["base_url"]
        with openai.AzureOpenAI(**options) as plain:
            client = shield(plain, identifiers())
            assert isinstance(client, openai.AzureOpenAI)
            answer = client.chat.completions.create(model="deployed", messages=said())
            assert answer.choices[0].message.content == TEXT
            list(
                client.with_options(timeout=9).chat.completions.create(
                    model="deployed", messages=said(), stream=True
                )
            )
        check_clean(server, n_requests=2)
        assert (
            server.requests[0].target
            == "/openai/deployments/deployed/chat/completions?api-version=2024-10-21"
        )
        assert server.requests[0].header("api-key") == "azure-key"

    def test_asynchronous(self, server: RecordingServer) -> None:
        async def job(client: Any) -> Any:
            return await client.chat.completions.create(model="deployed", messages=said())

        answer = run_async(server, job, kind=openai.AsyncAzureOpenAI, **self.options(server))
        assert answer.choices[0].message.content == TEXT
        check_clean(server)


@since(3, 0)
def test_a_client_on_the_other_http_library_is_shielded(server: RecordingServer) -> None:
    import httpx

    with httpx.Client() as http_client, shielded(server, http_client=http_client) as client:
        answer = client.chat.completions.create(model="m", messages=said())
    assert answer.choices[0].message.content == TEXT
    check_clean(server)
