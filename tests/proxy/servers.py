"""Real servers on loopback: an upstream that records every byte it receives, and the proxy in front
of it.
"""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from sanitizer import Sanitizer
from sanitizer.proxy import server
from sanitizer.proxy.access import ProxySettings
from sanitizer.proxy.server import Listener, create_app

MAIL = "peter.lund@private.example"
_LINES = Path(__file__).with_name("cases.jsonl").read_text("utf-8").splitlines()
CASES = [json.loads(line) for line in _LINES]
"""Rows of bad input and what comes of it, for several files of tests."""
JSON = {"content-type": "application/json"}
Behave = Callable[["Received", asyncio.StreamWriter], Awaitable[None]]


def cases(of: str) -> pytest.MarkDecorator:
    """Run a test for each row of a kind, given as `case`."""
    return pytest.mark.parametrize(
        "case", [pytest.param(each, id=each["id"]) for each in CASES if each["of"] == of]
    )


@dataclass
class Received:
    """One request as it came."""

    line: str
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)

    def said(self) -> str:
        """The text of the last message."""
        return str(self.json()["messages"][-1]["content"])


@dataclass
class Upstream:
    """An API of one behaviour; `raw` holds every byte it ever received.

    Attributes:
        closed: set when a client closed a connection before its answer was complete.
    """

    behave: Behave
    raw: bytearray = field(default_factory=bytearray)
    requests: list[Received] = field(default_factory=list)
    closed: threading.Event = field(default_factory=threading.Event)
    url: str = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (received := await self._read(reader)) is not None:
                self.requests.append(received)
                behaving = asyncio.ensure_future(self.behave(received, writer))
                watching = asyncio.ensure_future(reader.read(1))
                await asyncio.wait({behaving, watching}, return_when=asyncio.FIRST_COMPLETED)
                if not behaving.done():
                    self.closed.set()
                    behaving.cancel()
                    return
                watching.cancel()
                await asyncio.gather(watching, return_exceptions=True)
                behaving.result()
        except (ConnectionError, asyncio.CancelledError):
            self.closed.set()
        finally:
            writer.close()

    async def _read(self, reader: asyncio.StreamReader) -> Received | None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError as error:
            self.raw += error.partial
            return None
        self.raw += head
        line, *lines = head.decode("latin-1").split("\r\n")
        headers = {
            k.lower(): v.strip() for k, _, v in (each.partition(":") for each in lines if each)
        }
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        self.raw += body
        return Received(line, headers, body)


def reply(
    body: bytes, content_type: str = "application/json", status: int = 200, *headers: str
) -> bytes:
    """A whole answer."""
    lines = [
        f"HTTP/1.1 {status} X",
        f"content-type: {content_type}",
        f"content-length: {len(body)}",
        *headers,
    ]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def fixed(answer: bytes) -> Behave:
    """Always the same bytes."""

    async def behave(received: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(answer)
        await writer.drain()

    return behave


def chat(text: str) -> bytes:
    """A chat completion."""
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
    whole = {
        "id": "c1",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [choice],
    }
    return json.dumps(whole).encode()


def chunk(text: str | None, finish: str | None = None) -> bytes:
    """One event of a chat stream."""
    delta = {"content": text} if text is not None else {}
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    whole = {
        "id": "c1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "m",
        "choices": [choice],
    }
    return b"data: " + json.dumps(whole).encode() + b"\n\n"


STREAM_HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
)
DONE = b"data: [DONE]\n\n"


def piece(data: bytes) -> bytes:
    """One chunk of a chunked body; an empty one ends it."""
    return b"%x\r\n%s\r\n" % (len(data), data)


async def echo(received: Received, writer: asyncio.StreamWriter) -> None:
    """Says the last message again, streamed letter by letter if asked to."""
    asked = received.json()
    if not asked.get("stream"):
        writer.write(reply(chat("You wrote: " + received.said())))
        await writer.drain()
        return
    writer.write(STREAM_HEAD)
    for letter in received.said():
        writer.write(piece(chunk(letter)))
        await writer.drain()
    writer.write(piece(chunk(None, "stop")) + piece(DONE) + piece(b""))
    await writer.drain()


def an_api(status: int = 200, answered: bytes = b"") -> Behave:
    """An API with two models, that says what it was asked or what it is given."""
    names = json.dumps({"data": [{"id": "small-1"}, {"id": "large-1"}, {"id": 5}, "x"]}).encode()

    async def behave(received: Received, writer: asyncio.StreamWriter) -> None:
        if received.line.startswith("GET"):
            writer.write(reply(names, status=status))
            await writer.drain()
        elif answered:
            writer.write(answered)
            writer.close()
        else:
            await echo(received, writer)

    return behave


@contextmanager
def upstream(behave: Behave = echo, tls: ssl.SSLContext | None = None) -> Iterator[Upstream]:
    """A recording upstream on a free port of this machine."""
    made, started, stop = Upstream(behave), threading.Event(), asyncio.Event()
    loop = asyncio.new_event_loop()

    async def main() -> None:
        server = await asyncio.start_server(made.serve, "127.0.0.1", 0, ssl=tls)
        port = server.sockets[0].getsockname()[1]
        made.url = f"{'https' if tls else 'http'}://127.0.0.1:{port}/v1"
        started.set()
        await stop.wait()
        server.close()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()
        await loop.shutdown_asyncgens()

    thread = threading.Thread(target=loop.run_until_complete, args=(main(),))
    thread.start()
    assert started.wait(10)
    try:
        yield made
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(10)
        loop.close()


@dataclass
class Proxy:
    """A proxy that runs."""

    port: int
    client: httpx.Client
    upstream: str = ""

    def chat(
        self,
        text: str,
        more: Mapping[str, str] | None = None,
        *,
        stream: bool = False,
        **headers: str,
    ) -> httpx.Response:
        """Ask for a chat completion; header names with _ for -, or as they are in `more`."""
        body = {"model": "m", "messages": [{"role": "user", "content": text}]} | (
            {"stream": True} if stream else {}
        )
        named = {name.replace("_", "-"): value for name, value in headers.items()} | dict(
            more or {}
        )
        return self.client.post("/v1/chat/completions", json=body, headers=named)

    def raw(self, data: bytes, until: bytes = b"") -> bytes:
        """Bytes sent as they are; what came back until `until`, or the end."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=20) as sock:
            sock.sendall(data)
            got = b""
            while (more := sock.recv(65536)) and not (until and until in got + more):
                got += more
            return got + more


@contextmanager
def serving(
    app: Any, listener: Listener, verify: ssl.SSLContext | bool = False, name: str = "127.0.0.1"
) -> Iterator[Proxy]:
    """An application under the proxy's own server; certificates are made by tests."""
    with server.serving(app, listener) as url:
        there = url.replace("127.0.0.1", name)
        with httpx.Client(base_url=there, timeout=20, trust_env=False, verify=verify) as client:
            yield Proxy(int(url.rpartition(":")[2]), client)


@contextmanager
def proxy(
    url: str,
    sanitizer: Sanitizer | None = None,
    listener: Listener = Listener(port=0),  # noqa: B008  frozen
    may_block: bool = False,
    **settings: Any,
) -> Iterator[Proxy]:
    """The proxy; policy "identifiers" unless a sanitizer is given."""
    own = sanitizer or Sanitizer(policy="identifiers")
    app = create_app(own, ProxySettings(upstream=url, **settings), may_block=may_block)
    with serving(app, listener) as running:
        yield replace(running, upstream=urlsplit(url).netloc)
