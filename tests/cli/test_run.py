"""`sanitizer run`: a program behind the proxy, its exit status, and what is told at the end."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from sanitizer.testing.server import RecordingServer
from tests.cli.running import Done, run

MAIL = "anna@example.org"
ASK = f"""
import httpx, os, sys
base = os.environ["OPENAI_BASE_URL"]
assert base == os.environ["OPENAI_API_BASE"] and "127.0.0.1" in os.environ["NO_PROXY"]
body = {{"model": "m", "messages": [{{"role": "user", "content": "Write to {MAIL}"}}]}}
for path in sys.argv[1:]:
    print(httpx.post(base + path, json=body).text)
sys.exit(7)
"""
CHAT = "/chat/completions"


@pytest.fixture
def server() -> Iterator[RecordingServer]:
    with RecordingServer() as server:
        yield server


def ran(server: RecordingServer, *arguments: str) -> Done:
    return run("run", "--upstream", server.url, "--policy", "identifiers", *arguments)


def test_the_command_s_requests_go_through_the_proxy(
    server: RecordingServer, capfd: pytest.CaptureFixture[str]
) -> None:
    done = ran(server, "--", sys.executable, "-c", ASK, CHAT, CHAT)
    assert done.returncode == 7
    assert capfd.readouterr().out.count(MAIL) == 2  # restored in the answer
    assert len(server.requests) == 2
    assert MAIL.encode() not in server.received
    assert b"<EMAIL_1>" in server.received
    said = done.stderr.decode()
    assert "2 requests" in said
    assert "2 answered\n" in said
    assert "1 private thing replaced (1 EMAIL), 1 restored in answers; epsilon 0" in said
    assert re.search(r"time added: \d+ ms in total, median \d+ ms, at most \d+ ms\n", said)
    assert MAIL not in said


def test_what_left_is_listed_on_request_only(server: RecordingServer) -> None:
    done = ran(server, "--reveal", "--", sys.executable, "-c", ASK, CHAT)
    assert f"  <EMAIL_1>  was  {MAIL}\n".encode() in done.stderr
    assert ran(server, "--quiet", "--", sys.executable, "-c", ASK, CHAT).stderr == b""


def test_a_refused_request_is_counted(server: RecordingServer) -> None:
    done = ran(server, "--", sys.executable, "-c", ASK, CHAT, "/files")
    assert b"2 requests" in done.stderr
    assert b"1 answered, 1 refused or failed" in done.stderr
    assert len(server.requests) == 1


def test_a_command_that_asks_nobody_is_told(server: RecordingServer) -> None:
    done = ran(server, "--", sys.executable, "-c", "")
    assert done.returncode == 0
    assert b"did not use the proxy" in done.stderr


def test_exit_statuses_are_those_of_shells(server: RecordingServer, tmp_path: Path) -> None:
    done = ran(server, "--", "no-such-command-anywhere")
    assert done.returncode == 127
    assert done.stderr == b"sanitizer run: error: no-such-command-anywhere was not found\n"
    done = ran(server, "--", "my father has gout")
    assert done.stderr == b"sanitizer run: error: the command was not found\n"
    plain = tmp_path / "plain"
    plain.write_text("no program")
    assert ran(server, "--", str(plain)).returncode == 126
    killed = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    assert ran(server, "--", sys.executable, "-c", killed).returncode == 128 + signal.SIGKILL
    assert run("run").returncode == 2


LOOK = """
import os, pathlib
(noted,) = pathlib.Path(os.environ["XDG_STATE_HOME"]).glob("**/*.log")
print("MODES", *(oct(each.stat().st_mode)[-3:] for each in (noted.parent, noted)))
"""
PASSED = r"\d\d:\d\d:\d\d POST /openai/v1/chat/completions: passed \(200\), hidden: EMAIL=1, "


def test_another_terminal_shows_each_request_and_no_text(
    server: RecordingServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    watching = [sys.executable, "-m", "sanitizer", "run", "--watch"]
    with subprocess.Popen(watching, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as watch:
        in_time = threading.Timer(60, watch.kill)
        in_time.start()
        assert watch.stdout is not None
        assert watch.stderr is not None
        assert b"waiting for requests" in watch.stderr.readline()
        program = LOOK + ASK
        done = ran(
            server, "--quiet", "--", sys.executable, "-c", program, CHAT, f"/files/{MAIL}", CHAT
        )
        seen: list[str] = []
        while not seen or "time added" not in seen[-1]:
            seen.append(watch.stdout.readline().decode())
            assert seen[-1], "it ended"
        watch.send_signal(signal.SIGINT)
        assert watch.wait(30) == 0
        in_time.cancel()
    assert (done.returncode, done.stderr) == (7, b"")
    assert "MODES 700 600" in capfd.readouterr().out
    told = "".join(seen)
    asked = [line for line in seen if "POST" in line]
    assert re.fullmatch(PASSED + r"\d+ ms added\n", asked[0]), told
    assert re.search(r"POST /openai/v1/files/\.\.\.: refused \(404\), hidden: nothing, ", asked[1])
    assert re.match(PASSED, asked[2])
    assert len(asked) == 3
    assert "are sanitized" in told
    assert "3 requests, 2 answered, 1 refused or failed" in told
    assert MAIL not in told
    assert not list(tmp_path.glob("**/*.log"))


def test_notes_of_a_run_that_was_killed_go_after_a_day(
    server: RecordingServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    folder = tmp_path / "sanitizer" / "run"
    folder.mkdir(parents=True)
    old, new = folder / "1.log", folder / "2.log"
    for each in (old, new):
        each.write_text("a line\n")
    os.utime(old, (0, 0))
    assert ran(server, "--", "true").returncode == 0
    assert list(folder.iterdir()) == [new]
    assert run("run", "--watch", "--", "true").returncode == 2


def test_a_run_that_cannot_note_anything_runs(
    server: RecordingServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sanitizer").write_text("a file where a folder should be")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    done = ran(server, "--", sys.executable, "-c", ASK, CHAT)
    assert done.returncode == 7
    assert b"--watch cannot show this run" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signals_go_on_to_the_command(server: RecordingServer, number: signal.Signals) -> None:
    code = (
        "import signal, sys, time\n"
        f"signal.signal({int(number)}, lambda *_: sys.exit(5))\n"
        "print('ready', flush=True)\n"
        "time.sleep(60)"
    )
    command = [
        *(sys.executable, "-m", "sanitizer", "run", "--upstream", server.url),
        *("--policy", "identifiers", "--", sys.executable, "-c", code),
    ]
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        os.kill(process.pid, number)
        assert process.wait(30) == 5


def test_the_vault_is_that_of_restore(
    server: RecordingServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SANITIZER_VAULT_KEY", "a key of sixteen bytes")
    vault = ("--vault", str(tmp_path / "vault"))
    ran(server, *vault, "--", sys.executable, "-c", ASK, CHAT)
    done = run("restore", *vault, "--conversation", "default", "To <EMAIL_1>")
    assert done.stdout == f"To {MAIL}\n".encode()
