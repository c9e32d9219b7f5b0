"""A local API for the benchmarks, as quick as Python makes it: says the last message again, whole
or streamed.

`python -m benchmarks.speed.upstream` prints its port and serves until it is killed. The model's
name sets the stream's pace: "paced-10-50" is 10 events a second, 50 events; any other name streams
20 events at once.
"""

from __future__ import annotations

import asyncio
import json
import sys

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: %s\r\n%s\r\n\r\n"


def chunk(text: str) -> bytes:
    """One event of a chat stream, as a chunk of a chunked body."""
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": None}
    whole = {
        "id": "c",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "m",
        "choices": [choice],
    }
    return framed(b"data: " + json.dumps(whole).encode() + b"\n\n")


def framed(data: bytes) -> bytes:
    """A chunk of a chunked body."""
    return b"%x\r\n%s\r\n" % (len(data), data)


def whole(text: str) -> bytes:
    """A chat completion, with its head."""
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": text},
        "finish_reason": "stop",
    }
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    body = {
        "id": "c",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [choice],
        "usage": usage,
    }
    data = json.dumps(body).encode()
    return HEAD % (b"application/json", b"content-length: %d" % len(data)) + data


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """One connection."""
    try:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            length = int(head.partition(b"content-length:")[2].partition(b"\r\n")[0] or 0)
            asked = json.loads(await reader.readexactly(length) or b"{}")
            text = str(asked["messages"][-1]["content"]) if "messages" in asked else ""
            if asked.get("stream"):
                await stream(writer, text, str(asked.get("model")))
            else:
                writer.write(whole(text))
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def stream(writer: asyncio.StreamWriter, text: str, model: str) -> None:
    """The text in the first event, then plain words."""
    writer.write(HEAD % (b"text/event-stream", b"transfer-encoding: chunked"))
    pace, n = map(int, model.split("-")[1:]) if model.startswith("paced-") else (0, 20)
    for i in range(n):
        writer.write(chunk(text if i == 0 else " word"))
        if pace:
            await writer.drain()
            await asyncio.sleep(1 / pace)
    writer.write(framed(b"data: [DONE]\n\n") + framed(b""))


async def main() -> None:
    """Serve on a free port of this machine."""
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
