"""`shield` and the proxy in front of Anthropic's Messages, through the real SDK: nothing private
arrives, and everything comes back.
"""

from __future__ import annotations

import asyncio
import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest

from sanitizer import Sanitizer
from sanitizer.clients.shielding import shield
from sanitizer.errors import RequestRefused
from sanitizer.testing import other_apis
from sanitizer.testing.server import Answer, RecordingServer, calls
from tests.clients.sdk_clients import (
    SECRETS,
    TEXT,
    assert_none,
    check_clean,
    identifiers,
    said,
    since,
)
from tests.lazily import lazily
from tests.proxy.servers import Proxy, proxy

anthropic: Any = lazily("anthropic", optional=True)
ASK: dict[str, Any] = {"model": "claude-test", "max_tokens": 64}
TOOL: Any = {"name": "mail", "description": "Send it.", "input_schema": {"type": "object"}}
SIGNATURE = "EqQBCkYIBBgCKkBsaWduZWQ+/=="
FILE = f"""[mail]
to = {SECRETS[0]}
host = {SECRETS[3]}
"""


@pytest.fixture
def server() -> Iterator[RecordingServer]:
    with RecordingServer() as server:
        yield server


def client_of(url: str, kind: Any = None, **options: Any) -> Any:
    kind = kind or anthropic.Anthropic
    base = url.removesuffix("/v1")
    return kind(**{"base_url": base, "api_key": "test-key", "max_retries": 0, **options})


def _url(running: Proxy) -> str:
    return f"http://127.0.0.1:{running.port}/v1"


@pytest.fixture(params=["shield", "serve"])
def client(request: pytest.FixtureRequest, server: RecordingServer) -> Iterator[Any]:
    """A client whose requests are filtered on their way to the server."""
    if request.param == "shield":
        with client_of(server.url) as plain:
            yield shield(plain, identifiers())
        return
    with proxy(server.url) as running, client_of(_url(running)) as plain:
        yield plain


def test_a_message(client: Any, server: RecordingServer) -> None:
    answer = client.messages.create(**ASK, system=TEXT, messages=said(), metadata={"user_id": TEXT})
    assert answer.content[0].text == TEXT
    check_clean(server)
    assert server.requests[0].header("anthropic-version")
    assert server.requests[0].target == "/v1/messages"


@since(0, 36, "anthropic")
def test_a_beta_message(client: Any, server: RecordingServer) -> None:
    # Earlier versions of the SDK, and Claude Code, send this query.
    more: Any = {"betas": ["files-api-2025-04-14"], "extra_query": {"beta": "true"}}
    answer = client.beta.messages.create(**ASK, **more, messages=said())
    assert answer.content[0].text == TEXT
    check_clean(server)
    assert server.requests[0].target == "/v1/messages?beta=true"
    assert server.requests[0].header("anthropic-beta") == "files-api-2025-04-14"


def test_a_stream(client: Any, server: RecordingServer) -> None:
    with client.messages.stream(**ASK, messages=said()) as stream:
        assert "".join(stream.text_stream) == TEXT
        assert stream.get_final_message().content[0].text == TEXT
    kinds = [each.type for each in client.messages.create(**ASK, messages=said(), stream=True)]
    assert kinds[0] == "message_start"
    assert kinds[-3:] == ["content_block_stop", "message_delta", "message_stop"]
    check_clean(server, n_requests=2)


@since(0, 41, "anthropic")
def test_tokens_are_counted(client: Any, server: RecordingServer) -> None:
    assert client.messages.count_tokens(model="claude-test", messages=said()).input_tokens > 0
    check_clean(server)
    assert server.requests[0].target == "/v1/messages/count_tokens"


@pytest.mark.parametrize("streams", [False, True])
def test_calls_of_tools(client: Any, server: RecordingServer, streams: bool) -> None:
    server.script(calls("mail"))
    if streams:
        with client.messages.stream(**ASK, messages=said(), tools=[TOOL]) as stream:
            answer = stream.get_final_message()
    else:
        answer = client.messages.create(**ASK, messages=said(), tools=[TOOL])
    assert answer.content[0].input == {"text": TEXT}
    assert answer.stop_reason == "tool_use"
    check_clean(server)


@pytest.mark.parametrize(
    "streams", [False, pytest.param(True, marks=since(0, 47, "anthropic"))]
)  # thoughts in streams
def test_a_session_of_a_coding_agent(client: Any, server: RecordingServer, streams: bool) -> None:
    """System blocks, thoughts, calls with objects, files in results; what arrives is read whole."""
    system: list[dict[str, Any]] = [
        {"type": "text", "text": "You are a coding agent."},
        {"type": "text", "text": f"User: {SECRETS[0]}.", "cache_control": {"type": "ephemeral"}},
    ]
    tools: list[Any] = [
        {"name": "Read", "description": "Read a file.", "input_schema": {"type": "object"}},
        {"name": "Edit", "description": "Edit a file.", "input_schema": {"type": "object"}},
    ]
    first: list[Any] = [
        {"type": "thinking", "thinking": "Mail <EMAIL_1> is set there.", "signature": SIGNATURE},
        {"type": "text", "text": "I look for <EMAIL_1>, not guess@example.org."},
        {
            "type": "tool_use",
            "id": "toolu_1",
            "name": "Read",
            "input": {"path": "a.toml", "n": 1.0},
        },
    ]
    second: list[Any] = [
        {"type": "redacted_thinking", "data": SIGNATURE},
        {
            "type": "tool_use",
            "id": "toolu_2",
            "name": "Edit",
            "input": {"old": "to = <EMAIL_1>\n", "new": "to = x@example.org\n", "lines": [1, 2]},
        },
    ]
    history: list[Any] = said(f"<system-reminder>{TEXT}</system-reminder>")
    answers = []
    for blocks, result in ((first, FILE), (second, "The file was changed."), ([], "")):
        server.script(_answer(blocks or [{"type": "text", "text": "Done."}], streams))
        answers.append(_ask(client, streams, system=system, tools=tools, messages=history))
        history.append({"role": "assistant", "content": answers[-1].content})
        if blocks:
            used = {"type": "tool_result", "tool_use_id": blocks[-1]["id"], "content": result}
            more = {"type": "text", "text": "Go on."}
            history.append({"role": "user", "content": [used, more]})
    shown = answers[0].content
    assert shown[0].thinking == f"Mail {SECRETS[0]} is set there."
    assert shown[0].signature == SIGNATURE
    assert shown[1].text == f"I look for {SECRETS[0]}, not guess@example.org."
    assert answers[1].content[1].input["old"] == f"to = {SECRETS[0]}\n"
    assert_none(server.received)
    arrived = server.requests[-1].json
    assert arrived["system"][1] == {**system[1], "text": "User: <EMAIL_1>."}
    assert arrived["tools"] == tools
    assert [message["role"] for message in arrived["messages"]] == [
        "user", "assistant", "user", "assistant", "user",
    ]  # fmt: skip
    for sent, came in ((first, 1), (second, 3)):
        for block, back in zip(sent, arrived["messages"][came]["content"], strict=True):
            assert {key: back[key] for key in block} == block
    assert arrived["messages"][2]["content"][0]["content"] == (
        "[mail]\nto = <EMAIL_1>\nhost = <IP_1>\n"
    )


def _answer(blocks: list[Any], streams: bool) -> Answer:
    blocks = copy.deepcopy(blocks)
    if streams:
        return Answer(other_apis.message_events(blocks, size=4), content_type="text/event-stream")
    return Answer(json.dumps(other_apis.message(blocks)).encode())


def _ask(client: Any, streams: bool, **body: Any) -> Any:
    if not streams:
        return client.messages.create(**ASK, **body)
    with client.messages.stream(**ASK, **body) as stream:
        return stream.get_final_message()


@since(0, 31, "anthropic")
def test_an_error_of_the_api_is_restored(client: Any, server: RecordingServer) -> None:
    inside = {"type": "invalid_request_error", "message": "<EMAIL_1> is not known"}
    body = json.dumps({"type": "error", "error": inside, "request_id": "req_1"}).encode()
    server.script(Answer(body, status=400, headers=(("request-id", "req_1"),)))
    with pytest.raises(anthropic.BadRequestError) as raised:
        client.messages.create(**ASK, messages=said(f"Ask {SECRETS[0]}"))
    assert raised.value.body["error"]["message"] == f"{SECRETS[0]} is not known"
    assert raised.value.request_id == "req_1"


def test_an_error_in_a_stream(client: Any, server: RecordingServer) -> None:
    start = other_apis.message_event("message_start", message=other_apis.message([]))
    inside = {"type": "overloaded_error", "message": "Overloaded"}
    body = [start, other_apis.message_event("error", error=inside)]
    server.script(Answer(body, content_type="text/event-stream"))
    with (
        pytest.raises(anthropic.APIStatusError, match="Overloaded"),
        client.messages.stream(**ASK, messages=said()) as stream,
    ):
        stream.get_final_message()


@pytest.mark.parametrize(
    "block",
    [
        {"type": "image", "source": {"type": "url", "url": "https://a.example/x.png"}},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}},
        {"type": "document", "source": {"type": "base64", "data": "aGk=", "media_type": "x/pdf"}},
        {"type": "document", "source": {"type": "file", "file_id": "file_1"}},
        {"type": "document", "source": {"type": "brand_new", "data": "aGk="}},
        {"type": "container_upload", "file_id": "file_1"},
    ],
)
def test_what_is_no_text_is_refused(client: Any, server: RecordingServer, block: Any) -> None:
    with pytest.raises((RequestRefused, anthropic.BadRequestError), match=r"images|files"):
        client.messages.create(**ASK, messages=[{"role": "user", "content": [block]}])
    assert server.n_connections == 0


def test_text_of_documents_and_of_found_pages(client: Any, server: RecordingServer) -> None:
    content = [
        {
            "type": "document",
            "title": "Letter",
            "source": {"type": "text", "media_type": "text/plain", "data": TEXT},
            "citations": {"enabled": True},
        },
        {"type": "document", "source": {"type": "content", "content": said()[0]["content"]}},
        {
            "type": "search_result",
            "source": "https://a.example/x",
            "title": TEXT,
            "content": [{"type": "text", "text": TEXT}],
        },
    ]
    client.messages.create(**ASK, messages=[{"role": "user", "content": content}])
    check_clean(server)
    arrived = server.requests[0].json["messages"][0]["content"]
    assert arrived[0]["source"]["media_type"] == "text/plain"
    assert "<EMAIL_1>" in arrived[0]["source"]["data"]


class TestShield:
    def test_the_record_is_on_answers_and_on_the_message_of_a_stream(
        self, server: RecordingServer
    ) -> None:
        with client_of(server.url) as plain:
            client = shield(plain, identifiers())
            answer = client.messages.create(**ASK, messages=said())
            with client.messages.stream(**ASK, messages=said()) as stream:
                streamed = stream.get_final_message()
        assert answer.sanitizer_record["n_identifiers"] == len(SECRETS)
        assert streamed.sanitizer_record["n_identifiers"] == len(SECRETS)

    def test_asynchronous_clients(self, server: RecordingServer) -> None:
        async def work() -> tuple[str, str]:
            async with client_of(server.url, anthropic.AsyncAnthropic) as plain:
                client = shield(plain, identifiers())
                answer = await client.messages.create(**ASK, messages=said())
                async with client.messages.stream(**ASK, messages=said()) as stream:
                    streamed = await stream.get_final_message()
                return answer.content[0].text, streamed.content[0].text

        assert asyncio.run(work()) == (TEXT, TEXT)
        check_clean(server, n_requests=2)

    def test_copies_are_shielded(self, server: RecordingServer) -> None:
        with client_of(server.url) as plain:
            client = shield(plain, identifiers())
            copies = [client.with_options(timeout=5)]
            if hasattr(client, "with_middleware"):  # since 0.108
                copies.append(client.with_middleware())
            for copied in copies:
                copied.messages.create(**ASK, messages=said())
        check_clean(server, n_requests=len(copies))

    @since(0, 41, "anthropic")
    def test_errors_are_the_sdk_s_too_and_not_tried_again(self, server: RecordingServer) -> None:
        with client_of(server.url, max_retries=3) as plain:
            client = shield(plain, identifiers())
            with pytest.raises(RequestRefused) as refused:
                client.messages.batches.list()
            assert isinstance(refused.value, anthropic.AnthropicError)
            with pytest.raises(ValueError, match="shielded already"):
                shield(client, identifiers())
        assert server.n_connections == 0

    def test_a_tool_may_keep_stand_ins(self, server: RecordingServer) -> None:
        from dataclasses import replace

        from sanitizer import Policy
        from sanitizer.text.policy import WireRules

        policy = replace(Policy.preset("identifiers"), wire=WireRules(tools="keep"))
        with client_of(server.url) as plain:
            client = shield(plain, Sanitizer(policy=policy))
            server.script(calls("mail"), calls("mail"))
            whole = client.messages.create(**ASK, messages=said(SECRETS[0]))
            with client.messages.stream(**ASK, messages=said(SECRETS[0])) as stream:
                streamed = stream.get_final_message()
        for answer in (whole, streamed):
            assert answer.content[0].input == {"text": "<EMAIL_1>"}


class TestProxy:
    def test_its_own_key_takes_the_place_of_the_client_s(self, server: RecordingServer) -> None:
        with (
            proxy(server.url, key="upstream-key") as running,
            client_of(_url(running)) as plain,
        ):
            plain.messages.create(**ASK, messages=said())
        assert server.requests[0].header("x-api-key") == "upstream-key"
        assert server.requests[0].header("authorization") is None
        assert b"test-key" not in server.received

    def test_each_key_has_conversations_of_its_own(self, server: RecordingServer) -> None:
        def ask(running: Proxy, key: str, email: str) -> str:
            text = json.dumps({**ASK, "messages": said(f"Ask {email}")})
            headers = {"x-api-key": key, "content-type": "application/json"}
            answer = running.client.post("/v1/messages", content=text, headers=headers)
            return str(answer.headers["sanitizer-conversation"])

        with proxy(server.url) as running:
            names = [ask(running, *each) for each in (("a", SECRETS[0]), ("b", "b@example.org"))]
        assert len({*names}) == 2
        sent = [each.json["messages"][0]["content"] for each in server.requests]
        assert sent == ["Ask <EMAIL_1>"] * 2

    def test_its_token_may_stand_where_the_key_does(self, server: RecordingServer) -> None:
        settings: dict[str, Any] = {"key": "upstream-key", "token": "t" * 32}
        headers = {"x-api-key": "t" * 32, "content-type": "application/json"}
        with proxy(server.url, **settings) as running:
            for given, status in ((headers, 200), ({**headers, "x-api-key": "u" * 32}, 401)):
                body = json.dumps({**ASK, "messages": said()})
                answer = running.client.post("/v1/messages", content=body, headers=given)
                assert answer.status_code == status
        assert len(server.requests) == 1
        assert b"tttt" not in server.received

    @since(0, 87, "anthropic")
    def test_its_errors_have_the_shape_of_the_api(self, server: RecordingServer) -> None:
        with (
            proxy(server.url) as running,
            client_of(_url(running)) as plain,
            pytest.raises(anthropic.BadRequestError) as raised,
        ):
            plain.messages.create(**ASK, messages=[{"role": "two words", "content": "x"}])
        assert raised.value.body["type"] == "error"
        assert raised.value.body["error"]["type"] == "invalid_request_error"
        assert raised.value.type == "invalid_request_error"
        assert server.n_connections == 0
