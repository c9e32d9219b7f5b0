"""The way out of `run`: known hosts are refused, others are passed on, by another proxy if set."""

from __future__ import annotations

import asyncio
import base64
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest

from sanitizer.proxy.gate import Gate
from sanitizer.proxy.server import Listener

Script = list[bytes]


@contextlib.asynccontextmanager
async def served(gate: Gate) -> AsyncIterator[int]:
    sock = Listener(port=0).open()
    task = asyncio.create_task(gate.serve(sock))
    yield sock.getsockname()[1]
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task


@contextlib.asynccontextmanager
async def host(answers: tuple[bytes, ...], got: Script) -> AsyncIterator[int]:
    """Serve a host (or another proxy) that answers each piece in turn, then closes."""

    async def one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for each in answers:
            got.append(await reader.read(65_536))
            writer.write(each)
            await writer.drain()
        writer.close()

    async with await asyncio.start_server(one, "127.0.0.1", 0) as server:
        yield server.sockets[0].getsockname()[1]


def asked(*pieces: bytes, answers: tuple[bytes, ...] = ()) -> tuple[bytes, Script, list[Any]]:
    """Send pieces through a gate; return (what came back, what the host got, whom it asked for)."""
    got: Script = []
    opened: list[Any] = []
    connect = asyncio.open_connection

    async def go() -> bytes:
        async with host(answers, got) as behind, served(Gate(["openai.com"], sealed=True)) as port:

            async def to_the_host(name: str, port: int, **_: Any) -> Any:
                opened.append((name, port))
                reader, writer = await connect("127.0.0.1", behind)
                if not name.startswith("here"):
                    writer.get_extra_info = lambda *_: ("192.0.2.1", port)  # type: ignore[method-assign]
                return reader, writer

            reader, writer = await connect("127.0.0.1", port)
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(asyncio, "open_connection", to_the_host)
                said = b""
                for piece in pieces:
                    writer.write(piece)
                    said += await asyncio.wait_for(reader.read(65_536), 10)
                said += await asyncio.wait_for(reader.read(), 10)
            writer.close()
            await writer.wait_closed()
            return said

    return asyncio.run(go()), got, opened


@pytest.mark.parametrize(
    "head",
    [
        b"CONNECT api.openai.com:443 HTTP/1.1\r\n\r\n",
        b"CONNECT API.OpenAI.com.:443 HTTP/1.1\r\nHost: f.example\r\n\r\n",
        b"POST http://api.openai.com/v1/responses HTTP/1.1\r\nHost: x\r\n\r\n",
        b"CONNECT 127.0.0.1:11434 HTTP/1.1\r\n\r\n",
        b"GET http://localhost:11434/ HTTP/1.1\r\n\r\n",
        b"CONNECT [::1]:443 HTTP/1.1\r\n\r\n",
        b"GET /relative HTTP/1.1\r\n\r\n",
    ],
)
def test_a_refused_host_is_never_asked(head: bytes) -> None:
    said, got, opened = asked(head, answers=(b"x",))
    assert said.startswith(b"HTTP/1.1 403 Forbidden\r\n")
    assert b"sanitizer run refuses" in said
    assert (got, opened) == ([], [])


@pytest.mark.parametrize(
    "head",
    [
        b"\x16\x03\x01\r\n\r\n",
        b"CONNECT\r\n\r\n",
        b"x" * 200_000,
        "CONNECT ªpi.openai.com:443 HTTP/1.1\r\n\r\n".encode("latin-1"),
    ],
)
def test_what_is_no_request_ends_the_connection(head: bytes) -> None:
    with contextlib.suppress(ConnectionError):
        assert asked(head) == (b"", [], [])


def test_a_name_that_leads_to_this_machine_is_no_way_in() -> None:
    said, got, _ = asked(b"CONNECT here.example:80 HTTP/1.1\r\n\r\n", answers=(b"x",))
    assert said.startswith(b"HTTP/1.1 502 ")
    assert got in ([], [b""])  # nothing was said there


def test_a_tunnel_to_another_host_passes_every_byte() -> None:
    said, got, opened = asked(
        b"CONNECT f.example:8443 HTTP/1.1\r\n\r\n",
        b"\x16one",
        b"two",
        answers=(
            b"1\x00",
            b"2",
        ),
    )
    assert said == b"HTTP/1.1 200 Connection established\r\n\r\n1\x002"
    assert (got, opened) == ([b"\x16one", b"two"], [("f.example", 8443)])


def test_a_plain_request_is_the_only_one_of_its_connection() -> None:
    head = b"GET http://f.example/a?b=1 HTTP/1.1\r\nHost: f.example\r\n"
    head += b"Proxy-Connection: keep-alive\r\n"
    said, got, opened = asked(head + b"\r\n", answers=(b"HTTP/1.1 204 No Content\r\n\r\n",))
    assert said.startswith(b"HTTP/1.1 204")
    assert opened == [("f.example", 80)]
    assert got == [b"GET /a?b=1 HTTP/1.1\r\nHost: f.example\r\nConnection: close\r\n\r\n"]


def test_other_hosts_are_reached_by_the_user_s_own_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy"):
        monkeypatch.setenv(name, "http://me:p%40ss@proxy.corp:3128")
    monkeypatch.setenv("no_proxy", "intern.corp")
    login = b"Proxy-Authorization: Basic " + base64.b64encode(b"me:p@ss")
    ok = b"HTTP/1.1 200 OK\r\n\r\n"
    said, got, opened = asked(
        b"CONNECT f.example:443 HTTP/1.1\r\n\r\n",
        b"hello",
        answers=(
            ok,
            b"there",
        ),
    )
    assert said.endswith(b"established\r\n\r\nthere")
    assert opened == [("proxy.corp", 3128)]
    assert got[0].startswith(b"CONNECT f.example:443 HTTP/1.1\r\n")
    assert login in got[0]
    _, got, _ = asked(b"GET http://f.example/ HTTP/1.1\r\nHost: f.example\r\n\r\n", answers=(ok,))
    assert got[0].startswith(b"GET http://f.example/ HTTP/1.1\r\n")
    assert login in got[0]
    *_, opened = asked(b"CONNECT intern.corp:443 HTTP/1.1\r\n\r\n", b"hello", answers=(b"x",))
    assert opened == [("intern.corp", 443)]
    said, *_ = asked(
        b"CONNECT f.example:443 HTTP/1.1\r\n\r\n", answers=(b"HTTP/1.1 407 No\r\n\r\n",)
    )
    assert said.startswith(b"HTTP/1.1 502")
