"""`sanitizer serve` as a process: its arguments, what it refuses at the start, and its end."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.cli.running import run
from tests.proxy.servers import (
    DONE,
    MAIL,
    STREAM_HEAD,
    Received,
    Upstream,
    cases,
    chunk,
    echo,
    piece,
    upstream,
)

TOKEN = "a-token-of-the-proxy"  # noqa: S105  opens nothing
SERVE = [sys.executable, "-m", "sanitizer", "serve"]


@contextmanager
def serving(
    url: str, *arguments: str, **environment: str
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """(the process, its address)."""
    command = [*SERVE, "--upstream", url, "--port", "0", "--policy", "identifiers", *arguments]
    process = subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, env=os.environ | environment
    )
    try:
        assert process.stderr is not None
        found = re.match(r"sanitizer: (https?://\S+) ", process.stderr.readline())
        assert found
        yield process, found[1]
    finally:
        process.kill()
        process.communicate(timeout=20)


def refused(*arguments: str, **environment: str) -> tuple[int, str]:
    """(exit status, what was said) of a command that must not start."""
    done = run(*SERVE[3:], "--port", "0", *arguments, environment=environment)
    said = done.stderr.decode()
    assert done.stdout == b""
    assert "Traceback" not in said
    assert said.count("\n") == 1
    return done.returncode, said


def chat(url: str, text: str = MAIL, **options: object) -> httpx.Response:
    body = {"messages": [{"role": "user", "content": text}]}
    url = f"{url}/v1/chat/completions"
    return httpx.post(url, json=body, trust_env=False, timeout=20, **options)  # type: ignore[arg-type]


def test_it_serves_and_says_where(up: Upstream) -> None:
    with serving(up.url) as (process, url):
        assert chat(url).json()["choices"][0]["message"]["content"] == f"You wrote: {MAIL}"
        assert httpx.get(f"{url}/healthz", trust_env=False).text == "ok\n"
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
        assert process.stderr is not None
        assert process.stderr.read() == ""
    assert MAIL.encode() not in up.raw


def test_keys_come_from_the_environment(up: Upstream) -> None:
    options = ["--key-env", "UP", "--token-env", "OWN"]
    with serving(up.url, *options, UP="sk-upstream", OWN=TOKEN) as (_, url):
        assert chat(url).status_code == 401
        assert chat(url, headers={"authorization": f"Bearer {TOKEN}"}).status_code == 200
    assert up.requests[0].headers["authorization"] == "Bearer sk-upstream"


def is_open(url: str) -> bool:
    try:
        return httpx.get(f"{url}/healthz", trust_env=False).status_code == 200
    except httpx.TransportError:
        return False


@pytest.mark.slow
def test_what_runs_is_finished_before_the_end() -> None:
    asked, leave = threading.Event(), threading.Event()

    async def behave(received: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(STREAM_HEAD + piece(chunk("first")))
        await writer.drain()
        asked.set()
        await asyncio.to_thread(leave.wait, 20)
        writer.write(piece(chunk("last")) + piece(chunk(None, "stop")) + piece(DONE) + piece(b""))
        await writer.drain()

    with upstream(behave) as up, serving(up.url) as (process, url):
        body = {"stream": True, "messages": [{"role": "user", "content": "x"}]}
        with httpx.stream(
            "POST", f"{url}/v1/chat/completions", json=body, trust_env=False, timeout=20
        ) as answer:
            events = answer.iter_text()
            assert "first" in next(events)
            assert asked.wait(10)
            process.send_signal(signal.SIGTERM)
            while is_open(url):
                pass  # it listens until it has seen the signal
            leave.set()
            assert "last" in "".join(events)
        assert process.wait(20) == 0


@pytest.mark.slow
def test_an_interrupt_ends_it_quietly(up: Upstream) -> None:
    with serving(up.url) as (process, _):
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0
        assert process.stderr is not None
        assert process.stderr.read() == ""


@pytest.mark.slow
def test_both_sides_speak_tls(certificate: tuple[Path, Path]) -> None:
    cert, key = map(str, certificate)
    server, client = (
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER),
        ssl.create_default_context(cafile=cert),
    )
    server.load_cert_chain(cert, key)
    with upstream(echo, tls=server) as up:
        there = up.url.replace("127.0.0.1", "localhost")
        with serving(there, "--certfile", cert, "--keyfile", key, "--ca", cert) as (_, url):
            assert url.startswith("https://")
            own = url.replace("127.0.0.1", "localhost")
            assert chat(own, verify=client, headers={"origin": own}).status_code == 200
        with serving(there) as (_, url):  # without --ca nobody vouches for this upstream
            assert chat(url).status_code == 502
    assert len(up.requests) == 1


UP = ("--upstream", "http://127.0.0.1:9/v1")


@cases("argument")
def test_bad_arguments_are_one_line(case: dict[str, Any]) -> None:
    given = ("--policy", "identifiers", *case["arguments"])
    status, said = refused(*given, OWN=TOKEN, SHORT="abc", EMPTY="")
    assert status == 2
    assert case["named"] in said
    assert TOKEN not in said
    assert "abc" not in said


@pytest.mark.slow
def test_a_port_that_is_taken_is_told(up: Upstream) -> None:
    with serving(up.url) as (_, url):
        status, said = refused(
            "--upstream", up.url, "--policy", "identifiers", "--port", url.rpartition(":")[2]
        )
    assert status == 2
    assert "cannot listen" in said


@pytest.mark.parametrize(("policy", "file"), [("strict", "model.onnx"), ("guarded", "vectors.npy")])
@pytest.mark.parametrize("harm", ["missing", "damaged"])
def test_it_does_not_start_without_its_model(
    model_copy: Path, harm: str, policy: str, file: str
) -> None:
    (model_copy / file).unlink()
    if harm == "damaged":
        (model_copy / file).write_bytes(b"\0" * 1000)
    status, said = refused(*UP, "--policy", policy, "--model", str(model_copy))
    assert status == 1
    assert file in said


def test_it_does_not_start_with_a_wrong_ledger_or_vault(tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.write_bytes(b"no database")
    key = {"SANITIZER_LEDGER_KEY": "k" * 20, "SANITIZER_VAULT_KEY": "k" * 20}
    assert refused(*UP, "--policy", "identifiers", "--ledger", str(broken), **key)[0] == 1
    assert refused(*UP, "--policy", "identifiers", "--vault", str(broken), **key)[0] == 1


@pytest.mark.slow
def test_a_vault_is_found_again_after_a_restart(up: Upstream, tmp_path: Path) -> None:
    environment = {"SANITIZER_VAULT_KEY": "k" * 20}
    headers = {"authorization": "Bearer sk-client", "sanitizer-conversation": "letters"}
    for _ in range(2):
        with serving(up.url, "--vault", str(tmp_path / "vault"), **environment) as (_, url):
            assert chat(url, headers=headers).status_code == 200
            chat(url, "other@private.example", headers=headers)
    said = [each.said() for each in up.requests]
    assert said[:2] == said[2:]
    (first,), (second,) = (re.findall(r"^<EMAIL_(\d+)_(?:1|2)>$", each) for each in said[:2])
    assert (said[0], said[1]) == (f"<EMAIL_{first}_1>", f"<EMAIL_{second}_2>")
    assert first == second
    assert b"private" not in (tmp_path / "vault").read_bytes()
