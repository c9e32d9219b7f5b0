"""Bad input from clients: each gets an answer in the API's shape, and nothing is sent."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import json
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from sanitizer.proxy.server import Listener
from tests.proxy.servers import (
    JSON,
    MAIL,
    Proxy,
    Received,
    Upstream,
    cases,
    chat,
    proxy,
    reply,
    upstream,
)

GOOD = json.dumps({"model": "m", "messages": [{"role": "user", "content": MAIL}]}).encode()
DEEP = b'{"messages":' + b"[" * 10_000 + b"]" * 10_000 + b"}"


@pytest.fixture(scope="module")
def pair() -> Iterator[tuple[Upstream, Proxy]]:
    with upstream() as up, proxy(up.url, max_body=100_000) as api:
        yield up, api


def refused(answer: httpx.Response, status: int, code: str) -> None:
    """The API's error shape, and no word of the request in it."""
    assert answer.status_code == status, answer.text
    error = answer.json()["error"]
    assert error["code"] == code
    assert set(error) == {"message", "type", "param", "code"}
    assert MAIL not in answer.text
    assert answer.headers.get("x-should-retry", "false") == "false"


@cases("body")
def test_bodies_that_cannot_be_read_are_refused(
    pair: tuple[Upstream, Proxy], case: dict[str, Any]
) -> None:
    up, api = pair
    body = case["body"].encode("latin-1")
    answer = api.client.post("/v1/chat/completions", content=body, headers=JSON)
    refused(answer, case["status"], case["code"])
    assert not up.raw


@pytest.mark.parametrize("body", [DEEP, GOOD.decode().encode("utf-16"), b" " * 100_001])
def test_deep_wide_and_long_bodies_are_refused(pair: tuple[Upstream, Proxy], body: bytes) -> None:
    up, api = pair
    answer = api.client.post("/v1/chat/completions", content=body, headers=JSON)
    refused(answer, *((413, "size") if body.isspace() else (400, "json")))
    assert not up.raw


@cases("headers")
def test_only_plain_json_is_read(pair: tuple[Upstream, Proxy], case: dict[str, Any]) -> None:
    up, api = pair
    answer = api.client.post("/v1/chat/completions", content=GOOD, headers=case["headers"])
    refused(answer, 415, case["code"])
    assert not up.raw


def test_a_compressed_body_is_refused_above_the_limit(pair: tuple[Upstream, Proxy]) -> None:
    up, api = pair
    headers = JSON | {"content-encoding": "gzip"}
    body = GOOD + b" " * 100_000
    answer = api.client.post("/v1/chat/completions", content=gzip.compress(body), headers=headers)
    refused(answer, 413, "size")
    assert not up.raw


def test_a_compressed_body_leaves_plain(up: Upstream, api: Proxy) -> None:
    headers = JSON | {"content-encoding": "gzip"}
    body = gzip.compress(GOOD)
    answer = api.client.post("/v1/chat/completions", content=body, headers=headers)
    assert answer.status_code == 200
    assert b"content-encoding: gzip" not in up.raw.lower()
    assert up.requests[0].json()["messages"]


@cases("no endpoint")
def test_unknown_endpoints_and_methods_are_refused(
    pair: tuple[Upstream, Proxy], case: dict[str, Any]
) -> None:
    up, api = pair
    # Sent as it stands here: clients would tidy some of these paths.
    lines = f"content-type: application/json\r\ncontent-length: {len(GOOD)}\r\n"
    lines += f"host: 127.0.0.1:{api.port}\r\nconnection: close\r\n\r\n"
    answer = api.raw(f"{case['method']} {case['path']} HTTP/1.1\r\n{lines}".encode() + GOOD)
    assert answer.startswith(b"HTTP/1.1 404 ")
    assert (b'"code": "endpoint"' in answer) == (case["method"] != "HEAD")
    assert not up.raw


def test_the_page_answers_only_its_methods(pair: tuple[Upstream, Proxy]) -> None:
    refused(pair[1].client.put("/page/preview", content=b"{}", headers=JSON), 405, "page")


def test_unknown_fields_pass(up: Upstream, api: Proxy) -> None:
    body = json.loads(GOOD) | {"novel": {"depth": 3, "on": True, "ratio": 0.5}}
    assert api.client.post("/v1/chat/completions", json=body).status_code == 200
    assert up.requests[0].json()["novel"] == body["novel"]


def head(api: Proxy, length: int, more: str = "") -> bytes:
    lines = f"host: 127.0.0.1:{api.port}\r\ncontent-type: application/json\r\n{more}"
    return f"POST /v1/chat/completions HTTP/1.1\r\n{lines}content-length: {length}\r\n\r\n".encode()


def test_fifty_megabytes_are_refused_before_they_are_sent(pair: tuple[Upstream, Proxy]) -> None:
    up, api = pair
    answer = api.raw(head(api, 50_000_000) + b"{", until=b"}}")
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b'"code": "size"' in answer
    assert not up.raw


def test_fifty_megabytes_in_chunks_are_refused_while_they_come(
    pair: tuple[Upstream, Proxy],
) -> None:
    up, api = pair
    megabyte, sent = b"f4240\r\n" + b" " * 1_000_000 + b"\r\n", 0
    with socket.create_connection(("127.0.0.1", api.port), timeout=20) as sock:
        sock.sendall(head(api, 0).replace(b"content-length: 0", b"transfer-encoding: chunked"))
        sock.setblocking(False)
        answer = b""
        while b"}}" not in answer and sent < 50:
            try:
                answer += sock.recv(65536)
            except BlockingIOError:
                sock.settimeout(20)
                sock.sendall(megabyte)
                sock.setblocking(False)
                sent += 1
    assert b"HTTP/1.1 413 " in answer
    assert sent < 50
    assert not up.raw


def test_a_client_that_sends_all_first_sees_why_it_was_refused(
    pair: tuple[Upstream, Proxy],
) -> None:
    answer = pair[1].client.post("/v1/chat/completions", content=b" " * 50_000_000, headers=JSON)
    refused(answer, 413, "size")


def test_a_client_that_asks_first_need_not_send(pair: tuple[Upstream, Proxy]) -> None:
    _, api = pair
    answer = api.raw(head(api, 50_000_000, "expect: 100-continue\r\n"), until=b"}}")
    assert answer.startswith(b"HTTP/1.1 413 ")


@pytest.mark.parametrize("length", ["-1", "1e3", "99999999999999999999", "5, 6"])
def test_a_length_that_is_no_number_is_refused(pair: tuple[Upstream, Proxy], length: str) -> None:
    up, api = pair
    answer = api.raw(
        head(api, 0).replace(b"content-length: 0", b"content-length: " + length.encode()),
        until=b"}}",
    )
    assert answer.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 413 "))
    assert not up.raw


def test_a_body_that_does_not_come_is_not_awaited_for_ever() -> None:
    with upstream() as up, proxy(up.url, timeout=0.2) as api:
        answer = api.raw(head(api, 50) + b"{", until=b"}}")
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b'"code": "timeout"' in answer
    assert not up.raw


@pytest.mark.parametrize(
    "beginning", [b"", b"POST /v1/chat", b"POST / HTTP/1.1\r\nhost: a\r\nx: y"]
)
def test_a_head_that_comes_slowly_ends_the_connection(beginning: bytes) -> None:
    with upstream() as up, proxy(up.url, listener=Listener(port=0, head_seconds=0.2)) as api:
        begin = time.monotonic()
        assert api.raw(beginning) == b""
        assert time.monotonic() - begin < 15


def test_a_second_head_that_comes_slowly_ends_the_connection_too() -> None:
    with upstream() as up, proxy(up.url, listener=Listener(port=0, head_seconds=0.2)) as api:
        request = f"GET /healthz HTTP/1.1\r\nhost: 127.0.0.1:{api.port}\r\n\r\n".encode()
        with socket.create_connection(("127.0.0.1", api.port), timeout=20) as sock:
            sock.sendall(request)
            while not (got := sock.recv(1000)).endswith(b"ok\n"):
                assert got
            sock.sendall(request[:9])
            assert sock.recv(1000) == b""


def test_a_slow_answer_is_not_taken_for_a_slow_head() -> None:
    async def slow(received: Received, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(0.5)  # longer than a head may take: the subject of this test
        writer.write(reply(chat("done")))

    with upstream(slow) as up, proxy(up.url, listener=Listener(port=0, head_seconds=0.1)) as api:
        assert api.chat("x").status_code == 200


def test_huge_headers_are_refused(pair: tuple[Upstream, Proxy]) -> None:
    up, api = pair
    line = b"x-filler: " + b"a" * 4000 + b"\r\n"
    with socket.create_connection(("127.0.0.1", api.port), timeout=20) as sock:
        sock.sendall(b"POST /v1/chat/completions HTTP/1.1\r\n")
        got = b""
        for _ in range(1000):
            try:
                sock.sendall(line)
            except OSError:
                break
        else:
            pytest.fail("four megabytes of headers were taken")
        with contextlib.suppress(
            OSError
        ):  # the answer may be lost where the client goes on sending
            got = sock.recv(1000)
    assert not got or got.startswith((b"HTTP/1.1 431 ", b"HTTP/1.1 400 "))
    assert not up.raw


@pytest.mark.parametrize(("n", "status"), [(60_000, b"200"), (66_000, b"431")])
def test_the_limit_of_headers_holds_however_they_come(
    up: Upstream, api: Proxy, n: int, status: bytes
) -> None:
    body = json.dumps({"messages": [{"role": "user", "content": "Hello." * 15_000}]}).encode()
    head = b"POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: %d\r\n"
    head += b"content-type: application/json\r\nx-long: " + b"a" * n + b"\r\n\r"
    with socket.create_connection(("127.0.0.1", api.port), timeout=20) as sock:
        sock.sendall(head % len(body))
        time.sleep(0.05)  # so that the end of the head comes with the body
        with contextlib.suppress(OSError):
            sock.sendall(b"\n" + body)
        assert sock.recv(12).split()[1] == status


def test_pipelined_requests_are_answered_in_turn(up: Upstream, api: Proxy) -> None:
    one, two = (GOOD.replace(MAIL.encode(), name) for name in (b"first", b"second"))
    answer = api.raw(
        head(api, len(one)) + one + head(api, len(two)) + two, until=b"You wrote: second"
    )
    assert answer.index(b"You wrote: first") < answer.index(b"You wrote: second")
    assert [each.said() for each in up.requests] == ["first", "second"]


def test_websockets_are_refused(pair: tuple[Upstream, Proxy]) -> None:
    up, api = pair
    upgrade = (
        "connection: upgrade\r\nupgrade: websocket\r\n"
        "sec-websocket-version: 13\r\nsec-websocket-key: eA==\r\n"
    )
    for path in ("/v1/realtime", "/v1/responses"):
        request = f"GET {path} HTTP/1.1\r\nhost: 127.0.0.1:{api.port}\r\n{upgrade}\r\n".encode()
        answer = api.raw(request, until=b"}}")
        assert answer.startswith(b"HTTP/1.1 426 ")
        assert b"POST" in answer
    assert not up.raw


def test_a_connection_stays_open_after_answers_and_refusals(pair: tuple[Upstream, Proxy]) -> None:
    with socket.create_connection(("127.0.0.1", pair[1].port), timeout=20) as sock:
        for path, status in (
            ("/healthz", 200),
            ("/v1/files", 404),
            ("/v1/x", 404),
            ("/healthz", 200),
        ):
            head = f"GET {path} HTTP/1.1\r\nhost: 127.0.0.1:{pair[1].port}\r\n\r\n"
            sock.sendall(head.encode())
            got = b""
            while b"\r\n\r\n" not in got:
                got += sock.recv(10_000)
            assert got.startswith(f"HTTP/1.1 {status} ".encode())
            length = int(got.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
            while len(got.partition(b"\r\n\r\n")[2]) < length:
                got += sock.recv(10_000)


@pytest.mark.parametrize(
    "data", [b"\x16\x03\x01\x02\x00\x01\x00\x01", b"\r\n\r\n\r\n", b"GET\r\n\r\n", b"\x00" * 100]
)
def test_what_is_not_http_is_refused(pair: tuple[Upstream, Proxy], data: bytes) -> None:
    up, api = pair
    with socket.create_connection(("127.0.0.1", api.port), timeout=20) as sock:
        sock.sendall(data)
        sock.shutdown(socket.SHUT_WR)
        assert sock.recv(1000)[:13] in (b"HTTP/1.1 400 ", b"")
    assert not up.raw


def test_requests_beyond_the_limit_are_told_to_come_again() -> None:
    entered, leave = threading.Semaphore(0), threading.Event()

    async def behave(received: Received, writer: asyncio.StreamWriter) -> None:
        entered.release()
        await asyncio.to_thread(leave.wait, 20)
        writer.write(reply(chat("done")))

    # Connections are limited apart from this; requests first.
    with upstream(behave) as up, proxy(up.url, max_connections=1) as api:
        first = threading.Thread(target=api.chat, args=("x",))
        first.start()
        assert entered.acquire(timeout=10)
        answer = httpx.post(
            f"http://127.0.0.1:{api.port}/v1/responses", json={"input": "x"}, trust_env=False
        )
        leave.set()
        first.join(20)
    assert (answer.status_code, answer.json()["error"]["code"]) == (429, "busy")
    assert "x-should-retry" not in answer.headers
    assert len(up.requests) == 1


def test_one_key_cannot_take_all_places() -> None:
    entered, leave = threading.Semaphore(0), threading.Event()

    async def behave(received: Received, writer: asyncio.StreamWriter) -> None:
        entered.release()
        await asyncio.to_thread(leave.wait, 20)
        writer.write(reply(chat("done")))
        await writer.drain()

    def post(key: str) -> int:
        url = f"http://127.0.0.1:{api.port}/v1/chat/completions"
        headers = JSON | {"authorization": f"Bearer {key}"}
        return httpx.post(url, content=GOOD, headers=headers, trust_env=False).status_code

    with (
        upstream(behave) as up,
        proxy(up.url, max_connections=4) as api,
        ThreadPoolExecutor() as pool,
    ):
        slow = [pool.submit(post, "one") for _ in range(3)]
        assert all(entered.acquire(timeout=10) for _ in slow)
        assert post("one") == 429
        other = pool.submit(post, "two")
        assert entered.acquire(timeout=10)
        leave.set()
        assert [each.result(20) for each in (*slow, other)] == [200] * 4
        assert post("one") == 200


@pytest.mark.slow
def test_connections_beyond_the_limit_are_closed() -> None:
    with upstream() as up, proxy(up.url, listener=Listener(port=0, connections=1)) as api:
        api.chat("x")  # this connection stays open
        assert api.raw(b"") == b""
