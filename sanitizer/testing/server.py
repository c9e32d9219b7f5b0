"""A server that stands in for the API and keeps every byte it was sent: the judge of what leaves
the machine.

    with RecordingServer() as server:
        client = shield(OpenAI(base_url=server.url, api_key="test"), sanitizer)
        ...
        assert b"peter@example.org" not in server.received

Public, so that users can test their own code with it. It listens on loopback only, and checks no
key.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import socket
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

from sanitizer.testing.api_answers import Answer, answer, last_text


@dataclass(frozen=True)
class Received:
    """One request as it came.

    Attributes:
        method, target: of the request line. headers: as sent, in order. body: without transfer
            coding.
    """

    method: str
    target: str
    headers: tuple[tuple[str, str], ...]
    body: bytes = field(repr=False)

    @property
    def json(self) -> Any:
        """The body's document. Raises ValueError if it is not JSON."""
        return json.loads(self.body)

    @property
    def endpoint(self) -> str:
        """Which of the API's endpoints is meant: the end of the path."""
        parts = urlsplit(self.target).path.rsplit("/", 2)
        return "/".join(parts[-2:]) if parts[-2:] == ["chat", "completions"] else parts[-1]

    def header(self, name: str) -> str | None:
        """The first header of this name."""
        return next((value for known, value in self.headers if known.lower() == name.lower()), None)


Responder = Callable[[Received], Answer]


def echo(received: Received) -> Answer:
    """Says the last text of the request again."""
    return answer(received.endpoint, received.json, last_text(received.json))


def says(text: str, size: int = 3) -> Responder:
    """Says this text. size: characters of one delta."""
    return lambda received: answer(received.endpoint, received.json, text, size=size)


def calls(tool: str) -> Responder:
    """Calls a function with the last text of the request as argument "text"."""
    return lambda received: answer(received.endpoint, received.json, last_text(received.json), tool)


def zipped(responder: Responder = echo) -> Responder:
    """Compresses the answer, asked for or not."""

    def respond(received: Received) -> Answer:
        plain = responder(received)
        body = plain.body if isinstance(plain.body, bytes) else b"".join(plain.body)
        headers = (*plain.headers, ("content-encoding", "gzip"))
        return Answer(gzip.compress(body), plain.status, plain.content_type, headers)

    return respond


class RecordingServer:
    """An HTTP server on loopback, on a port of its own, that runs in threads of this process.

    Args:
        responder: answers every request for which nothing else is scripted.

    Attributes:
        requests: what came, in order. ended: set when the server stops; an answer that hangs waits
            for it.
        when_closed: called when a connection has ended.
    """

    def __init__(self, responder: Responder = echo) -> None:
        self.requests: list[Received] = []
        self.ended = threading.Event()
        self.when_closed: Callable[[], object] = lambda: None
        self._responder, self._script = responder, deque[Responder | Answer]()
        self._streams: list[bytearray] = []
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.recorder = self
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.01,), daemon=True
        )

    @property
    def host(self) -> str:
        """Address and port."""
        return f"127.0.0.1:{self._server.server_address[1]}"

    @property
    def url(self) -> str:
        """The API's base URL."""
        return f"http://{self.host}/v1"

    @property
    def received(self) -> bytes:
        """Every byte of every connection, also of those that were no HTTP."""
        return b"\n".join(map(bytes, list(self._streams)))

    @property
    def n_connections(self) -> int:
        """Connections that were opened."""
        return len(self._streams)

    def script(self, *answers: Responder | Answer) -> None:
        """Answer the next requests with these, in order."""
        self._script.extend(answers)

    def forget(self) -> None:
        """Drop what was recorded."""
        self.requests.clear()
        self._streams.clear()

    def close(self) -> None:
        """Stop, and let hanging answers end."""
        self.ended.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _connected(self) -> bytearray:
        stream = bytearray()
        self._streams.append(stream)
        return stream

    def _answer(self, received: Received) -> Answer:
        self.requests.append(received)
        try:
            scripted = self._script.popleft()
        except IndexError:
            scripted = self._responder
        return scripted if isinstance(scripted, Answer) else scripted(received)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 256
    recorder: RecordingServer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Broken connections are the tests' subject; nothing is printed."""


class _Tap(io.RawIOBase):
    """What a socket receives, copied as it comes."""

    def __init__(self, connection: socket.socket, sink: bytearray) -> None:
        self._connection, self._sink = connection, sink

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        n = self._connection.recv_into(buffer)
        self._sink += memoryview(buffer)[:n]
        return n


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def setup(self) -> None:
        super().setup()
        self.rfile = io.BufferedReader(_Tap(self.connection, self.server.recorder._connected()))

    def finish(self) -> None:
        super().finish()
        self.server.recorder.when_closed()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class names it so
        """Nothing is printed."""

    def _serve(self) -> None:
        received = Received(self.command, self.path, tuple(self.headers.items()), self._body())
        found = self.server.recorder._answer(received)
        self.send_response(found.status)
        self.send_header("content-type", found.content_type)
        for name, value in found.headers:
            self.send_header(name, value)
        if isinstance(found.body, bytes):
            self.send_header("content-length", str(len(found.body)))
        else:
            self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        self._send(found)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = do_OPTIONS = _serve  # noqa: N815

    def _send(self, found: Answer) -> None:
        if isinstance(found.body, bytes):
            self.wfile.write(found.body)
            return
        try:
            for piece in found.body:
                self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            self.wfile.write(b"0\r\n\r\n")
        except Exception:
            self.close_connection = True
            with contextlib.suppress(OSError):
                self.connection.shutdown(socket.SHUT_RDWR)

    def _body(self) -> bytes:
        if "chunked" not in self.headers.get("transfer-encoding", ""):
            return self.rfile.read(int(self.headers.get("content-length", 0)))
        pieces = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            pieces.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(pieces)
