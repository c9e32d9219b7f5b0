"""A server that takes the API's place and keeps every byte it was sent, and what it can answer.

What it received is the judge of what leaves the machine. Public, so that users can test their own
code with it. It listens on loopback only, and checks no key.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import socket
import threading
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from typing import Any, Self
from urllib.parse import urlsplit

from sanitizer.testing import other_apis
from sanitizer.wire.endpoints import endpoint_of, format_of

Json = dict[str, Any]

JSON, EVENTS = "application/json", "text/event-stream"


@dataclass(frozen=True)
class Answer:
    """An answer of the server.

    >>> with RecordingServer() as server:
    ...     server.script(Answer(b"{}", status=429, headers=(("retry-after", "1"),)))

    Attributes:
        body: bytes are sent with their length; pieces are sent as they come, chunked. Pieces may
            wait for something before they come; if they raise, the connection is cut there.
    """

    body: bytes | Iterable[bytes] = b"{}"
    status: int = 200
    content_type: str = JSON
    headers: tuple[tuple[str, str], ...] = field(default=())


def error(
    status: int, message: str = "scripted error", headers: tuple[tuple[str, str], ...] = ()
) -> Answer:
    """Return an error in the API's shape.

    >>> error(429, "slow down").body
    b'{"error": {"message": "slow down", "type": "scripted", "param": null, "code": null}}'
    """
    body = {"error": {"message": message, "type": "scripted", "param": None, "code": None}}
    return Answer(json.dumps(body).encode(), status, headers=headers)


def html(status: int = 200) -> Answer:
    """Return a gateway's page, as it comes in place of JSON."""
    return Answer(b"<html><body>Bad gateway</body></html>", status, "text/html; charset=utf-8")


def last_text(document: Json) -> str:
    """Return the last text of a request, as `echo` sends it; several parts are joined by a space.

    >>> last_text({"messages": [{"role": "user", "content": "Hello"}]})
    'Hello'
    """
    asked = [document.get(key) for key in ("messages", "contents", "input", "prompt")]
    said = next((each for each in asked if each), "")
    if isinstance(said, list) and said:
        said = said[-1]
    if isinstance(said, dict):
        said = said.get("content") or said.get("output") or said.get("parts") or ""
    if isinstance(said, list):
        said = " ".join(_of_part(part) for part in said)
    return str(said)


def _of_part(part: Json) -> str:
    content = part.get("content")
    if isinstance(content, list):
        return " ".join(map(_of_part, content))
    return str(part.get("text") or content or "")


def answer(
    endpoint: str, document: Json, text: str, tool: str | None = None, size: int = 3
) -> Answer:
    """Return an answer in the endpoint's shape, as a stream if the request asks for one.

    >>> json.loads(answer("completions", {}, "Hello").body)["choices"][0]["text"]
    'Hello'

    Args:
        endpoint: "chat/completions", "responses", "completions", "embeddings", or one of
            Anthropic's, Gemini's or Ollama's (`other_apis`).
        tool: name of a function to call instead, with arguments {"text": text}.
        size: characters of one delta.
    """
    if format_of(endpoint) != "openai":
        body, events = other_apis.answer(endpoint, document, text, tool, size)
        kind = other_apis.LINES if format_of(endpoint) == "ollama" else EVENTS
        return Answer(body) if events is None else Answer(events, content_type=kind)
    keys = ((endpoint, tool is not None), (endpoint, False), ("completions", False))
    found = next(_table()[key] for key in keys if key in _table())
    arguments = json.dumps({"text": text})
    given = {"$TEXT": text, "$TOOL": tool, "$ARGUMENTS": arguments}
    if not found["events"] or document.get("stream") is not True:
        return Answer(json.dumps(_filled(found["whole"], given)).encode())
    whole = text if tool is None else arguments
    pieces = [whole[i : i + size] for i in range(0, len(whole), size)]
    return Answer(_events(endpoint, found["events"], given, pieces), content_type=EVENTS)


@cache
def _table() -> dict[tuple[str, bool], Json]:
    """Return what OpenAI's endpoints answer, by endpoint and whether a function is called."""
    lines = files(__package__).joinpath("answers.jsonl").read_text("utf-8").splitlines()
    return {(row["endpoint"], row["calls"]): row for row in map(json.loads, lines)}


def _filled(value: Any, given: Json) -> Any:
    """Return a value with what is given in place of names that begin with "$"."""
    if isinstance(value, dict):
        return {key: _filled(inner, given) for key, inner in value.items()}
    if isinstance(value, list):
        return [_filled(inner, given) for inner in value]
    return given.get(value, value) if isinstance(value, str) else value


def _events(endpoint: str, rows: list[Json], given: Json, pieces: list[str]) -> Iterable[bytes]:
    """Yield the events of a stream: those with "$PIECE" once for each piece."""
    filled = []
    for row in rows:
        is_repeated = "$PIECE" in json.dumps(row)
        for i, piece in enumerate(pieces if is_repeated else [""]):
            reason = "stop" if i == len(pieces) - 1 else None
            filled.append(_filled(row, {**given, "$PIECE": piece, "$REASON": reason}))
    if endpoint == "responses":
        for number, body in enumerate(filled):
            yield event({**body, "sequence_number": number}, body["type"])
        return
    yield from map(event, filled)
    yield b"data: [DONE]\n\n"


def event(data: Json, name: str | None = None) -> bytes:
    """Return one event of a stream, named or not.

    >>> event({"choices": []})
    b'data: {"choices": []}\\n\\n'
    """
    head = f"event: {name}\n" if name else ""
    return (head + "data: " + json.dumps(data) + "\n\n").encode()


@dataclass(frozen=True)
class Received:
    """One request as the server received it.

    >>> request = Received("POST", "/v1/embeddings", (("X-Name", "value"),), b'{"input": "Hello"}')
    >>> request.endpoint, request.header("x-name"), request.json["input"]
    ('embeddings', 'value', 'Hello')

    Attributes:
        target: path and query. headers: as sent, in order. body: without transfer coding.
    """

    method: str
    target: str
    headers: tuple[tuple[str, str], ...]
    body: bytes = field(repr=False)

    @property
    def json(self) -> Any:
        """The document in the body. Raises ValueError if it is not JSON."""
        return json.loads(self.body)

    @property
    def endpoint(self) -> str:
        """The API's endpoint, or the end of the path."""
        path = urlsplit(self.target).path
        found = endpoint_of(path)
        return path.rpartition("/")[2] if found == "other" else found

    def header(self, name: str) -> str | None:
        """Return the first header of this name; None if there is none."""
        lower = name.lower()
        return next((value for each, value in self.headers if each.lower() == lower), None)


Responder = Callable[[Received], Answer]
"""Returns the answer to a request."""


def echo(received: Received) -> Answer:
    """Answer with the last text of the request.

    >>> echo(Received("POST", "/v1/completions", (), b'{"prompt": "Hello"}')).status
    200
    """
    return answer(received.endpoint, received.json, last_text(received.json))


def says(text: str, size: int = 3) -> Responder:
    """Return a responder that says this text, in deltas of `size` characters."""
    return lambda received: answer(received.endpoint, received.json, text, size=size)


def calls(tool: str) -> Responder:
    """Return a responder that calls a function with the request's last text as argument "text".

    >>> answer = calls("send")(Received("POST", "/v1/responses", (), b'{"input": "Hello"}'))
    >>> json.loads(answer.body)["output"][0]["arguments"]
    '{"text": "Hello"}'
    """
    return lambda received: answer(received.endpoint, received.json, last_text(received.json), tool)


def zipped(responder: Responder = echo) -> Responder:
    """Return a responder that compresses the answers of another, whether asked for or not."""

    def respond(received: Received) -> Answer:
        plain = responder(received)
        body = plain.body if isinstance(plain.body, bytes) else b"".join(plain.body)
        headers = (*plain.headers, ("content-encoding", "gzip"))
        return Answer(gzip.compress(body), plain.status, plain.content_type, headers)

    return respond


class RecordingServer:
    """An HTTP server on loopback, on a port of its own, that runs in threads of this process.

    >>> import httpx
    >>> with RecordingServer() as server:
    ...     question = {"messages": [{"role": "user", "content": "Hello"}]}
    ...     answer = httpx.post(server.url + "/chat/completions", json=question)
    >>> answer.json()["choices"][0]["message"]["content"]
    'Hello'
    >>> b"Hello" in server.received
    True

    Args:
        responder: answers every request for which nothing else is scripted.

    Attributes:
        requests: requests received, in order.
        ended: set when the server stops; an answer that hangs waits for it.
        when_closed: called when a connection has ended.
    """

    def __init__(self, responder: Responder = echo) -> None:
        self.requests: list[Received] = []
        self.ended = threading.Event()
        self.when_closed: Callable[[], object] = lambda: None
        self._responder = responder
        self._script = deque[Responder | Answer]()
        self._streams: list[bytearray] = []
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.recorder = self
        serve = self._server.serve_forever
        self._thread = threading.Thread(target=serve, args=(0.01,), daemon=True)

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
        """Every byte of every connection, also of those that did not speak HTTP."""
        return b"\n".join(map(bytes, list(self._streams)))

    @property
    def n_connections(self) -> int:
        """Number of connections that were opened."""
        return len(self._streams)

    def script(self, *answers: Responder | Answer) -> None:
        """Answer the next requests with these, in order."""
        self._script.extend(answers)

    def forget(self) -> None:
        """Delete what was recorded."""
        self.requests.clear()
        self._streams.clear()

    def close(self) -> None:
        """Stop the server, and let hanging answers end."""
        self.ended.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

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
        """Do nothing: tests break connections on purpose, and nothing is to be printed."""


class _Tap(io.RawIOBase):
    """A reader of a socket that copies what it receives."""

    def __init__(self, connection: socket.socket, sink: bytearray) -> None:
        self._connection = connection
        self._sink = sink

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
        stream = bytearray()
        self.server.recorder._streams.append(stream)
        self.rfile = io.BufferedReader(_Tap(self.connection, stream))

    def finish(self) -> None:
        super().finish()
        self.server.recorder.when_closed()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class names it so
        """Do nothing: nothing is to be printed."""

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
            # The pieces raised, or nobody reads any more: a cut connection is the answer.
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
