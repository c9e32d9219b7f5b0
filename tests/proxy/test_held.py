"""Clients that hold on to something: beside each of them "Hello Dana." is answered at once.

Seconds are generous, since the machine may be busy; that the others are still held is asserted.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.proxy.servers import (
    STREAM_HEAD,
    Proxy,
    Received,
    Upstream,
    chunk,
    echo,
    piece,
    proxy,
    upstream,
)
from tests.proxy.test_server import serving

SECONDS = 5.0
"""Within which a short request is answered beside all others; a second on a machine of its own."""
SENTENCE = "My colleague Imogen Achterberg of Brightwater Labs wrote part {} of this in Tromso. "
N_TOOLS = 10_000


@dataclass
class Endless:
    """An API whose streams never end, as quick as they are read, and which says what it was asked.

    Attributes:
        n_bytes: of all streams so far.
    """

    n_bytes: int = 0

    async def __call__(self, received: Received, writer: asyncio.StreamWriter) -> None:
        if not received.json().get("stream"):
            await echo(received, writer)
            return
        writer.write(STREAM_HEAD)
        event = piece(chunk("word " * 200))
        while True:
            writer.write(event)
            self.n_bytes += len(event)
            await writer.drain()


@dataclass
class Served:
    """A proxy in a process of its own, and what is behind it."""

    url: str
    pid: int
    behind: Upstream
    api: Endless = field(default_factory=Endless)

    @property
    def cpu_seconds(self) -> float:
        fields = Path(f"/proc/{self.pid}/stat").read_text("utf-8").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    @property
    def megabytes(self) -> float:
        pages = int(Path(f"/proc/{self.pid}/statm").read_text("utf-8").split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6

    async def connected(self, body: bytes, length: int = 0) -> Streams:
        """A connection on which a request was begun."""
        port = int(self.url.rpartition(":")[2])
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        head = (
            f"POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\n"
            f"content-type: application/json\r\ncontent-length: {length or len(body)}\r\n\r\n"
        )
        writer.write(head.encode() + body)
        await writer.drain()
        return reader, writer

    async def hello(self) -> float:
        """Seconds that one short request takes, in a conversation of its own."""
        begin = time.perf_counter()
        async with httpx.AsyncClient(timeout=60, trust_env=False) as client:
            answer = await client.post(f"{self.url}/v1/chat/completions", json=asked("Hello Dana."))
        assert answer.status_code == 200
        assert "Dana" in answer.json()["choices"][0]["message"]["content"]
        return time.perf_counter() - begin


Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


def asked(text: str, **more: Any) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "user", "content": text}], **more}


def a_long_text(kilobytes: int, name: str) -> str:
    return name + "".join(SENTENCE.format(i) for i in range(kilobytes * 1000 // len(SENTENCE)))


@pytest.fixture(scope="module", params=["code", "balanced"])
def served(request: pytest.FixtureRequest) -> Iterator[Served]:
    api = Endless()
    with (
        upstream(api) as behind,
        serving(behind.url, "--policy", request.param, "--no-page") as (process, url),
    ):
        found = Served(url, process.pid, behind, api)
        asyncio.run(found.hello())  # the first one reads models
        yield found


@asynccontextmanager
async def stalled(served: Served) -> AsyncIterator[Any]:
    """Clients that send half of a body and stop."""
    body = json.dumps(asked("Hello, this is half of it.")).encode()
    all_ = [await served.connected(body, 2 * len(body)) for _ in range(20)]

    async def held() -> bool:
        for reader, _ in all_:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(reader.read(1), 0.02)
        return True

    try:
        yield held
    finally:
        for _, writer in all_:
            writer.close()


@asynccontextmanager
async def slow_readers(served: Served) -> AsyncIterator[Any]:
    """Clients that ask for streams and read nothing of them."""
    before = served.megabytes
    body = json.dumps(asked("Tell me all.", stream=True)).encode()
    all_ = [await served.connected(body) for _ in range(10)]

    async def held() -> bool:
        sent, again = -1, 0
        while sent != served.api.n_bytes:  # to where all buffers are full
            sent, again = served.api.n_bytes, again + 1
            assert again < 50, "somebody reads it all"
            await asyncio.sleep(0.5)
        assert served.megabytes - before < 150
        return not any(writer.is_closing() for _, writer in all_)

    try:
        yield held
    finally:
        for _, writer in all_:
            writer.transport.abort()


@asynccontextmanager
async def endless_streams(served: Served) -> AsyncIterator[Any]:
    """Clients that read streams without an end."""
    body = json.dumps(asked("Tell me all.", stream=True)).encode()
    all_ = [await served.connected(body) for _ in range(5)]
    n_read = [0] * len(all_)

    async def read(place: int) -> None:
        while got := await all_[place][0].read(65_536):
            n_read[place] += len(got)

    tasks = [asyncio.create_task(read(place)) for place in range(len(all_))]

    async def held() -> bool:
        before = list(n_read)
        for _ in range(200):
            await asyncio.sleep(0.1)
            if all(now > then for now, then in zip(n_read, before, strict=True)):
                return True  # all go on
        return False

    try:
        yield held
    finally:
        for task, (_, writer) in zip(tasks, all_, strict=True):
            task.cancel()
            writer.transport.abort()
        await asyncio.gather(*tasks, return_exceptions=True)


@asynccontextmanager
async def many_tools(served: Served) -> AsyncIterator[Any]:
    """Clients that send 10,000 tools each."""

    def tool(i: int, name: str) -> dict[str, Any]:
        about = {"name": f"tool_{i}", "description": f"{name} reads part {i} of the list."}
        fields = {"part": {"type": "string", "description": f"What part {i} is called."}}
        schema = {"type": "object", "properties": fields}
        return {"type": "function", "function": {**about, "parameters": schema}}

    async def ask(name: str) -> None:
        body = asked(f"Hello {name}.", tools=[tool(i, name) for i in range(N_TOOLS)])
        async with httpx.AsyncClient(timeout=600, trust_env=False) as client:
            await client.post(f"{served.url}/v1/chat/completions", json=body)

    tasks = [asyncio.create_task(ask(name)) for name in ("Imogen", "Olu", "Wendell")]
    await asyncio.sleep(1.0)

    async def held() -> bool:
        return not any(task.done() for task in tasks)

    try:
        yield held
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@pytest.mark.slow
@pytest.mark.parametrize("hold", [stalled, slow_readers, endless_streams, many_tools])
def test_a_short_request_is_answered_beside_who_holds_on(hold: Any, served: Served) -> None:
    async def main() -> None:
        async with hold(served) as held:
            assert await held()
            for _ in range(3):
                assert await served.hello() < SECONDS
            assert await held()

    asyncio.run(main())


@pytest.mark.slow
def test_work_ends_when_who_asked_for_it_leaves(served: Served) -> None:
    async def main() -> None:
        long = [
            await served.connected(json.dumps(asked(a_long_text(300, name))).encode())
            for name in ("Imogen ", "Olu ", "Wendell ")
        ]
        begun = served.cpu_seconds
        await asyncio.sleep(1.5)
        assert served.cpu_seconds - begun > 0.2, "it is read"
        n_sent = len(served.behind.requests)
        for _, writer in long:
            writer.transport.abort()
        for _ in range(30):
            begun = served.cpu_seconds
            await asyncio.sleep(1.0)
            if served.cpu_seconds - begun < 0.1:
                break
        else:
            pytest.fail("it goes on")
        assert len(served.behind.requests) == n_sent, "nothing of it was sent"
        assert await served.hello() < SECONDS

    asyncio.run(main())


def test_stalled_clients_of_one_key_take_its_share_and_no_more(up: Upstream) -> None:
    def statuses(running: Proxy, key: str) -> set[int]:
        return {
            running.chat("Hello Dana.", authorization=f"Bearer {key}").status_code
            for _ in range(20)
        }

    with proxy(up.url, max_connections=8) as running, ExitStack() as stack:
        head = b"POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: 99\r\n"
        head += b"content-type: application/json\r\nauthorization: Bearer stalls\r\n\r\n{"
        for _ in range(6):
            place = ("127.0.0.1", running.port)
            stack.enter_context(socket.create_connection(place)).sendall(head)
        assert 429 in statuses(running, "stalls")
        assert statuses(running, "other") == {200}
