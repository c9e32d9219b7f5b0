"""Shared by the tests of integrations: private values, and how to look for them in what left."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from sanitizer import Sanitizer
from sanitizer.testing import RecordingServer

MAIL, CARD = "peter.lund@example.com", "4111 1111 1111 1111"
TEXT = f"Write to {MAIL} about the card {CARD}."


def identifiers() -> Sanitizer:
    return Sanitizer(policy="identifiers")


def leaked(*servers: RecordingServer) -> list[str]:
    """Which private values reached a server, as they are, escaped in JSON, or without spaces."""
    seen = b"\n".join(server.received for server in servers).decode("utf-8", "replace")
    forms = {v: (v, json.dumps(v)[1:-1], v.replace(" ", "")) for v in (MAIL, CARD)}
    return [value for value in forms if any(form in seen for form in forms[value])]


def assert_clean(server: RecordingServer, n_requests: int = 1) -> None:
    """Something came, with stand-ins, and nothing private in it."""
    assert len(server.requests) == n_requests
    assert b"<EMAIL_1>" in server.received or b"\\u003cEMAIL_1\\u003e" in server.received
    assert leaked(server) == []


TOKEN = "a-token-of-the-tests"  # noqa: S105
SECONDS = 120  # until a server listens


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


@contextmanager
def guarding(upstream: str, sanitizer: Sanitizer | None = None) -> Iterator[str]:
    """The sanitizer's own proxy on a free port; gives its address."""
    from sanitizer.proxy import server
    from sanitizer.proxy.access import ProxySettings

    app = server.create_app(sanitizer or identifiers(), ProxySettings(upstream, token=TOKEN))
    with server.serving(app, server.Listener(port=0)) as url:
        yield url


@contextmanager
def serving(command: list[str], address: str, log: Path, **environment: str) -> Iterator[None]:
    """A program of its own process group, once an address of it answers."""
    with log.open("w") as output:
        process = subprocess.Popen(
            command,
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        until = time.monotonic() + SECONDS
        while not _answers(address):
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < until, log.read_text()
            time.sleep(0.2)
        yield
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGTERM)
        process.wait(SECONDS)


def _answers(address: str) -> bool:
    try:
        return httpx.get(address, trust_env=False, timeout=5).status_code < 500
    except httpx.HTTPError:
        return False


def events_of(answer: httpx.Response) -> list[Any]:
    """The JSON values of a stream."""
    lines = [line[5:].strip() for line in answer.text.splitlines() if line.startswith("data:")]
    return [json.loads(line) for line in lines if line != "[DONE]"]
