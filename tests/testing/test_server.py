"""The recording server: what tests of users rely on."""

from __future__ import annotations

import gzip
import http.client
import json
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from sanitizer.testing.server import (
    Answer,
    RecordingServer,
    calls,
    error,
    html,
    last_text,
    says,
    zipped,
)

HELLO = {"messages": [{"role": "user", "content": "Hello"}]}


@pytest.fixture
def server() -> Iterator[RecordingServer]:
    with RecordingServer() as server:
        yield server


def post(
    server: RecordingServer, body: Any = HELLO, path: str = "/v1/chat/completions", **headers: str
) -> Any:
    connection = http.client.HTTPConnection(server.host, timeout=10)
    try:
        encoded = body if hasattr(body, "__next__") else json.dumps(body)
        connection.request("POST", path, encoded, headers, encode_chunked=True)
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def test_every_byte_is_recorded(server: RecordingServer) -> None:
    post(server, path="/v1/chat/completions?q=1", header="Value")
    (request,) = server.requests
    assert (request.method, request.target, request.endpoint) == (
        "POST",
        "/v1/chat/completions?q=1",
        "chat/completions",
    )
    assert request.header("HEADER") == "Value"
    assert request.header("other") is None
    assert request.json == HELLO
    assert server.received.startswith(b"POST /v1/chat/completions?q=1 HTTP/1.1\r\n")
    assert server.received.endswith(request.body)


def test_bodies_in_chunks_are_read(server: RecordingServer) -> None:
    pieces = iter([json.dumps(HELLO).encode()[:9], json.dumps(HELLO).encode()[9:]])
    post(server, pieces, **{"transfer-encoding": "chunked"})
    assert server.requests[0].json == HELLO


def test_what_is_no_http_is_recorded_too(server: RecordingServer) -> None:
    with socket.create_connection(server.host.split(":")) as connection:  # type: ignore[arg-type]
        connection.sendall(b"\x16\x03\x01 secret\n\n")
        while connection.recv(1000):
            pass
    assert b"\x16\x03\x01 secret" in server.received
    assert server.requests == []
    assert server.n_connections == 1


def test_answers_are_scripted_in_order(server: RecordingServer) -> None:
    server.script(error(429, "slow down"), html(502), says("Hi"))
    assert [post(server)[0] for _ in range(3)] == [429, 502, 200]
    assert json.loads(post(server)[1])["choices"][0]["message"]["content"] == "Hello"
    server.forget()
    assert (server.requests, server.received) == ([], b"")


def test_answers_can_be_compressed_and_call_tools(server: RecordingServer) -> None:
    server.script(zipped(calls("find")))
    message = json.loads(gzip.decompress(post(server)[1]))["choices"][0]["message"]
    assert json.loads(message["tool_calls"][0]["function"]["arguments"]) == {"text": "Hello"}


def test_an_answer_that_raises_cuts_the_connection(server: RecordingServer) -> None:
    def breaks() -> Iterator[bytes]:
        yield b"half"
        raise RuntimeError

    server.script(Answer(breaks()))
    with pytest.raises(http.client.IncompleteRead):
        post(server)


@pytest.mark.parametrize(
    ("document", "text"),
    [
        ({"input": "a"}, "a"),
        ({"prompt": ["a", "b"]}, "b"),
        ({"input": [{"type": "function_call_output", "output": "a"}]}, "a"),
        (
            {"messages": [{"content": [{"text": "a"}, {"type": "image_url"}, {"text": "b"}]}]},
            "a  b",
        ),
        ({}, ""),
    ],
)
def test_the_last_text_is_found(document: Any, text: str) -> None:
    assert last_text(document) == text
