"""What goes through: requests sanitized, answers restored, streams as they come; who shares a
conversation.
"""

from __future__ import annotations

import asyncio
import socket
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sanitizer import Sanitizer
from sanitizer.proxy.upstream import target
from sanitizer.storage.vault import MemoryVault
from tests.proxy.servers import (
    DONE,
    MAIL,
    STREAM_HEAD,
    Proxy,
    Received,
    Upstream,
    cases,
    chat,
    chunk,
    fixed,
    piece,
    proxy,
    reply,
    upstream,
)


def test_identifiers_stay_here_and_come_back(up: Upstream, api: Proxy) -> None:
    answer = api.chat(f"Write to {MAIL}.")
    assert answer.status_code == 200
    assert answer.json()["choices"][0]["message"]["content"] == f"You wrote: Write to {MAIL}."
    assert up.requests[0].said() == "Write to <EMAIL_1>."
    assert MAIL.encode() not in up.raw


def test_the_record_travels_in_headers(api: Proxy) -> None:
    headers = api.chat(f"Write to {MAIL}.").headers
    assert headers["sanitizer-n-identifiers"] == "1"
    assert headers["sanitizer-policy"] == "identifiers"
    assert headers["sanitizer-conversation"].startswith("chat-")


@pytest.mark.parametrize("stream", [True, False])
def test_an_answer_says_what_was_hidden_and_how_long_that_took(api: Proxy, stream: bool) -> None:
    answer = api.chat(f"Write to {MAIL}", stream=stream)
    assert answer.headers["sanitizer-classes"] == "EMAIL=1"
    name, _, milliseconds = answer.headers["server-timing"].partition(";dur=")
    assert name == "sanitizer"
    assert 0 <= float(milliseconds) < 20_000


def test_streams_are_restored(up: Upstream, api: Proxy) -> None:
    answer = api.chat(f"Write to {MAIL}.", stream=True)
    assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert answer.text.endswith("data: [DONE]\n\n")
    deltas = [line for line in answer.text.splitlines() if line.startswith("data: {")]
    assert MAIL in "".join(deltas)
    assert MAIL.encode() not in up.raw


def test_events_arrive_before_the_stream_ends() -> None:
    seen = threading.Event()

    async def behave(received: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(STREAM_HEAD + piece(chunk("first")))
        await writer.drain()
        assert await asyncio.to_thread(seen.wait, 10)
        writer.write(piece(chunk(None, "stop")) + piece(DONE) + piece(b""))

    body = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "x"}]}
    with upstream(behave) as up, proxy(up.url) as api:  # noqa: SIM117  two things: who serves, what is asked
        with api.client.stream("POST", "/v1/chat/completions", json=body) as answer:
            events = answer.iter_text()
            assert "first" in next(events)
            seen.set()
            assert "".join(events).endswith("data: [DONE]\n\n")


def test_a_client_that_goes_away_ends_the_request_upstream() -> None:
    async def behave(received: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(STREAM_HEAD + piece(chunk("first")))
        await asyncio.Event().wait()

    body = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "x"}]}
    with upstream(behave) as up, proxy(up.url) as api:
        with api.client.stream("POST", "/v1/chat/completions", json=body) as answer:
            next(answer.iter_text())
        assert up.closed.wait(10)


@pytest.mark.parametrize("goes", ["client", "API"])
def test_a_stream_that_ends_in_its_middle_is_in_the_vault(goes: str) -> None:
    """Another replica reads it there: what the API wrote is not the user's."""
    vault, said = MemoryVault(), "It is 219-09-9999, so to say."

    def opened() -> Sanitizer:
        return Sanitizer(policy="identifiers", vault=vault, conversation="c")

    async def behave(received: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(STREAM_HEAD + piece(chunk(said)))
        await writer.drain()
        if goes == "client":
            await asyncio.Event().wait()
        writer.close()

    body = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "x"}]}
    unknown = opened().derive(conversation="another")
    assert unknown.sanitize(said, role="assistant").text != said
    with upstream(behave) as up, proxy(up.url, opened()) as api:
        named = {"sanitizer-conversation": "c"}
        with api.client.stream("POST", "/v1/chat/completions", json=body, headers=named) as answer:
            events = answer.iter_text()
            next(events)
            shown = "" if goes == "client" else "".join(events)
        assert ("error" in shown) == (goes == "API")
        assert goes == "API" or up.closed.wait(10)
    assert opened().sanitize(said, role="assistant").text == said


def test_a_client_that_does_not_wait_for_an_answer_ends_the_request_upstream() -> None:
    asked = threading.Event()

    async def behave(received: Received, writer: asyncio.StreamWriter) -> None:
        asked.set()
        await asyncio.Event().wait()

    with upstream(behave) as up, proxy(up.url) as api:
        with socket.create_connection(("127.0.0.1", api.port), timeout=20) as sock:
            body = b'{"messages":[]}'
            head = (
                f"POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\n"
                f"content-length: {len(body)}\r\ncontent-type: application/json\r\n\r\n"
            )
            sock.sendall(head.encode() + body)
            assert asked.wait(10)
        assert up.closed.wait(10)


def test_only_listed_headers_reach_the_upstream(up: Upstream, api: Proxy) -> None:
    private = {
        "cookie": "id=1",
        "x-forwarded-for": "203.0.113.9",
        "forwarded": "for=203.0.113.9",
        "referer": "https://intranet.example/case/7",
        "user-agent": "OpenAI/Python on a laptop",
        "x-stainless-os": "Linux",
        "traceparent": "00-1-2-3",
        "x-anything": "else",
        "sanitizer-conversation": "case-7",
        "connection": "keep-alive, x-anything",
    }
    api.chat("x", private, authorization="Bearer sk-client", openai_organization="org-1")
    assert set(up.requests[0].headers) == {
        "host",
        "accept",
        "accept-encoding",
        "authorization",
        "content-length",
        "content-type",
        "openai-organization",
        "user-agent",
    }
    assert up.requests[0].headers["authorization"] == "Bearer sk-client"
    assert up.requests[0].headers["user-agent"] == "sanitizer"


def test_only_listed_headers_come_back() -> None:
    kept = [
        "x-request-id: r1",
        "x-ratelimit-remaining-tokens: 9",
        "retry-after: 3",
        "openai-processing-ms: 5",
    ]
    dropped = ["set-cookie: a=b", "server: s", "x-other: y", "sanitizer-charged: 0", "alt-svc: h3"]
    with (
        upstream(fixed(reply(chat("x"), "application/json", 200, *kept, *dropped))) as up,
        proxy(up.url) as api,
    ):
        headers = api.chat("x").headers
    assert [headers[line.partition(":")[0]] for line in kept] == ["r1", "9", "3", "5"]
    assert not {"set-cookie", "server", "x-other", "alt-svc"} & set(headers)
    assert headers.get_list("sanitizer-charged") == ["0.0"]


def test_the_upstream_key_can_come_from_the_proxy(up: Upstream) -> None:
    with proxy(up.url, key="sk-proxy") as api:
        api.chat("x", authorization="Bearer sk-client", api_key="sk-other")
    assert up.requests[0].headers["authorization"] == "Bearer sk-proxy"
    assert "api-key" not in up.requests[0].headers
    assert b"sk-client" not in up.raw
    assert b"sk-other" not in up.raw


@cases("target")
def test_the_upstreams_path_takes_the_place_of_v1_or_of_a_mount(case: dict[str, str]) -> None:
    query = case["query"].encode()
    assert target(case["upstream"], case["path"], query, case["mount"])[1] == case["url"]


def test_azure_paths_and_their_version_pass(up: Upstream) -> None:
    body = {"messages": [{"role": "user", "content": MAIL}]}
    with proxy(up.url.removesuffix("/v1")) as api:
        path = "/openai/deployments/gpt/chat/completions"
        answer = api.client.post(
            f"{path}?api-version=2025-01-01", json=body, headers={"api-key": "k"}
        )
    assert answer.status_code == 200
    assert up.requests[0].line == f"POST {path}?api-version=2025-01-01 HTTP/1.1"
    assert up.requests[0].headers["api-key"] == "k"


def test_errors_of_the_upstream_pass_with_their_status() -> None:
    error = b'{"error":{"message":"slow down","type":"rate_limit","param":null,"code":"x"}}'
    with (
        upstream(fixed(reply(error, "application/json", 429, "retry-after: 7"))) as up,
        proxy(up.url) as api,
    ):
        answer = api.chat("x")
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "7")
    assert answer.json()["error"]["message"] == "slow down"


@settings(deadline=None, max_examples=25)
@given(text=st.text(alphabet=st.characters(codec="utf-8"), max_size=200))
def test_any_text_comes_back_as_it_was(shared: Proxy, text: str) -> None:
    for stream in (False, True):
        answer = shared.chat(text + f" {MAIL}", stream=stream)
        assert answer.status_code == 200
    assert (
        shared.chat(f"{text} {MAIL}").json()["choices"][0]["message"]["content"]
        == f"You wrote: {text} {MAIL}"
    )
