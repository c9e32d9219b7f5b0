"""`sanitizer run` fails closed: programs reach their API by the proxy, and nothing else."""

from __future__ import annotations

import asyncio
import socket
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sanitizer.cli.programs import APIS, HOSTS, LOGINS, OTHER, PROGRAMS, program_of
from sanitizer.cli.sealed import Sealed
from sanitizer.proxy.gate import Gate
from sanitizer.testing.server import RecordingServer
from tests.cli.running import Done, one_line, run

MAIL = "anna@example.org"
TEXT = f"Write to {MAIL}"
DOUBLES = Path(__file__).with_name("program_doubles.py")
NAMES = ("codex", "claude", "gemini", "opencode", "aider", "llm", "ollama")


class Vendors:
    """A listener that plays the hosts of all vendors, and counts who knocks."""

    def __init__(self) -> None:
        self.received: list[bytes] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection:
                self.received.append(connection.recv(65_536))
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")

    def close(self) -> None:
        self._listener.close()


@pytest.fixture
def server() -> Iterator[RecordingServer]:
    with RecordingServer() as server:
        yield server


@pytest.fixture
def vendors(monkeypatch: pytest.MonkeyPatch) -> Iterator[Vendors]:
    """The listener, to which `run` itself is led too for every host that it lets through."""
    found = Vendors()
    connect = asyncio.open_connection

    async def to_the_listener(*_: Any, **__: Any) -> Any:
        return await connect("127.0.0.1", found.port)

    monkeypatch.setattr("sanitizer.proxy.gate.asyncio.open_connection", to_the_listener)
    monkeypatch.setenv("VENDORS", str(found.port))
    yield found
    found.close()


@pytest.fixture
def bin_(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on the path with a double of every program."""
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    for name in (*NAMES, "careless", "cursor-agent"):
        double = tmp_path / name
        double.write_text(f"#!{sys.executable}\n{DOUBLES.read_text('utf-8')}", "utf-8")
        double.chmod(0o755)
    return tmp_path


def ran(server: RecordingServer, *arguments: str, **environment: str) -> Done:
    """Run a command whose own base URLs all lead to one server."""
    host = server.url.removesuffix("/v1")
    own = {next(iter(api.variables)): host for api in APIS} | {"OPENAI_BASE_URL": server.url}
    return run("run", "--policy", "identifiers", *arguments, environment=own | environment)


@pytest.mark.parametrize("name", NAMES)
def test_a_known_program_reaches_its_api_by_the_proxy_alone(
    name: str,
    server: RecordingServer,
    vendors: Vendors,
    bin_: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    done = ran(server, "--", name, "exec", TEXT)
    assert done.returncode == 0
    assert vendors.received == []
    assert len(server.requests) == 1
    assert MAIL.encode() not in server.received
    assert b"<EMAIL_1>" in server.received
    out = capfd.readouterr().out
    assert MAIL in out  # restored in the answer
    assert "ProxyError" in out  # to the vendor's own host
    said = done.stderr.decode()
    assert f"sanitizer: {name}: requests to " in said
    assert "1 request, 1 answered" in said
    assert "(1 EMAIL), 1 restored" in said
    assert "1 connection to openai.com refused" in said
    assert "1 connection to claude.ai refused" in said


def test_a_program_that_reads_no_variable_is_refused_its_api(
    server: RecordingServer, vendors: Vendors, bin_: Path
) -> None:
    done = ran(server, "--", "careless", TEXT)
    assert (vendors.received, len(server.requests)) == ([], 0)
    assert b"2 connections to openai.com refused, nothing was sent" in done.stderr
    assert b"did not use the proxy" in done.stderr
    done = ran(server, "--unprotected", "--", "careless", TEXT)
    assert len(vendors.received) == 3
    assert b"UNPROTECTED" in done.stderr


@pytest.mark.parametrize(
    ("command", "environment"),
    [
        (("cursor-agent", "hello"), {}),
        (("sudo", "claude"), {}),
        (("npx", "-y", "cursor-agent"), {}),
        (("claude", "hello"), {"CLAUDE_CODE_USE_BEDROCK": "1"}),
        (("gemini", "hello"), {"GOOGLE_GENAI_USE_VERTEXAI": "true"}),
    ],
)
def test_a_command_that_cannot_be_covered_is_not_run(
    command: tuple[str, ...], environment: dict[str, str], server: RecordingServer, bin_: Path
) -> None:
    done = ran(server, "--", *command, **environment)
    assert done.returncode == 2
    assert one_line(done.stderr)
    assert b"--unprotected" in done.stderr
    assert not server.requests


def test_each_api_has_its_own_upstream_and_nothing_else_is_served(
    bin_: Path, vendors: Vendors, capfd: pytest.CaptureFixture[str]
) -> None:
    asks = (
        "import os, httpx\n"
        "def ask(url): print(httpx.post(url, json={'model': 'm', 'input': 'Hello'}).status_code)\n"
        "base = os.environ['OPENAI_BASE_URL']\n"
        "ask(base + '/responses'); ask(base[:-9] + 'v1/responses'); ask(base[:-9] + 'responses')"
    )
    with RecordingServer() as one, RecordingServer() as two:
        both = ("--upstream", one.url, "--upstream", f"anthropic={two.url.removesuffix('/v1')}")
        run("run", "--policy", "identifiers", *both, "--", "claude", TEXT)
        assert [len(each.requests) for each in (one, two)] == [0, 1]
        run("run", "--policy", "identifiers", *both, "--", sys.executable, "-c", asks)
        assert [len(each.requests) for each in (one, two)] == [1, 1]
    assert capfd.readouterr().out.endswith("200\n404\n404\n")
    for wrong in ("grok=https://x.ai", "openai=x.ai", "https://a:b@x.ai"):
        assert run("run", "--upstream", wrong, "--", "claude").returncode == 2


def test_the_user_s_own_base_urls_are_read_as_each_program_reads_them() -> None:
    named = {api.name: api for api in APIS}
    ollama = named["Ollama"].upstream
    assert ollama({"OLLAMA_HOST": "0.0.0.0"}) == "http://127.0.0.1:11434"  # noqa: S104
    assert ollama({"OLLAMA_HOST": "box.local:80"}) == "http://box.local:80"
    assert ollama({"OLLAMA_HOST": "https://box.local/x/"}) == "https://box.local/x"
    assert named["OpenAI"].upstream({"OPENAI_BASE_URL": ""}) == "https://api.openai.com/v1"
    assert named["OpenAI"].upstream({"OPENAI_API_BASE": "http://x/v1/"}) == "http://x/v1"
    with pytest.raises(ValueError, match="ANTHROPIC_BASE_URL must"):
        named["Anthropic"].upstream({"ANTHROPIC_BASE_URL": "https://key:secret@host"})


@pytest.mark.parametrize(
    ("command", "place"),
    [
        ("codex exec", 1),
        ("/opt/bin/codex", 1),
        ("npx -y @openai/codex@latest exec", 3),
        ("uvx aider-chat==1.0", 2),
        ("env A=1 claude", 3),
        ("cat codex", 0),
        ("npx cowsay", 0),
    ],
)
def test_flags_come_right_after_the_program_s_name(command: str, place: int) -> None:
    row, found = program_of(command.split())
    assert (row is not OTHER, found) == (place > 0, place)


def test_every_vendor_of_the_table_is_a_host_that_is_refused() -> None:
    gate = Gate(HOSTS, LOGINS)
    urls = [api.url for api in APIS if api.url.startswith("https")]
    assert all(gate.refusal(url.split("/")[2]) for url in urls)
    assert {api for row in PROGRAMS for api in row.apis} <= {api.name for api in APIS}


ASK = f"""
import httpx, os, socket, sys
try:
    socket.create_connection(("127.0.0.1", int(sys.argv[1])), 2)
except OSError:
    print("sealed")
body = {{"model": "m", "messages": [{{"role": "user", "content": "{TEXT}"}}]}}
print(httpx.post(os.environ["OPENAI_BASE_URL"] + "/chat/completions", json=body).text)
sys.exit(7)
"""


def kernel_lets() -> bool:
    try:
        with Sealed():
            return True
    except ValueError:
        return False


def test_from_a_network_of_its_own_only_the_proxy_is_reached(
    server: RecordingServer, capfd: pytest.CaptureFixture[str]
) -> None:
    port = server.url.rpartition(":")[2].removesuffix("/v1")
    done = ran(server, "--sealed", "--", sys.executable, "-c", ASK, port)
    if not kernel_lets():
        assert done.returncode == 2
        assert b"--sealed" in done.stderr
        return
    assert done.returncode == 7
    out = capfd.readouterr().out
    assert out.startswith("sealed\n")
    assert MAIL in out
    assert MAIL.encode() not in server.received
    assert ran(server, "--sealed", "--unprotected", "--", "true").returncode == 2
    assert ran(server, "--sealed", "--", "no-such-command-anywhere").returncode == 127
