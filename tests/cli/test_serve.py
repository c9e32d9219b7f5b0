"""`sanitizer serve`: one limit for all requests, and workers that share a store."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from sanitizer.cli.api import EVERYONE, everyones_sanitizer
from sanitizer.cli.options import LEDGER_KEY
from sanitizer.errors import BudgetExceeded
from sanitizer.storage.ledger import DAY, Ledger, Scope
from tests.cli.running import run_process
from tests.proxy.replicas import KEY, configured
from tests.proxy.servers import Upstream, upstream
from tests.storage.postgres_server import PostgresServer, postgres_server

LEDGERS_KEY = "a made up key of a ledger"
ILL = "My father has {}."
OPTIONS = {
    "policy": "guarded",
    "mechanism": None,
    "consistent": False,
    "context": None,
    "model": None,
}


@pytest.mark.parametrize("has_ledger", [True, False])
def test_a_budget_is_that_of_all_conversations(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_ledger: bool
) -> None:
    monkeypatch.setenv(LEDGER_KEY, LEDGERS_KEY)
    path = tmp_path / "ledger"
    Ledger.create(path, LEDGERS_KEY.encode()).close()
    stores = {"budget": 7.0, "ledger": path if has_ledger else None, "vault": None}
    sanitizer = everyones_sanitizer({**OPTIONS, **stores})
    sanitizer.derive(conversation="a").sanitize(ILL.format("hepatitis"))
    for name in ("b", "another/made-up-key"):
        with pytest.raises(BudgetExceeded):
            sanitizer.derive(conversation=name).sanitize(ILL.format("asthma"))
    if has_ledger:
        with Ledger(path, LEDGERS_KEY.encode()) as ledger:
            everyone = ledger.balance(Scope("user", EVERYONE))
            assert (everyone.limit, everyone.spent) == (7.0, 5.0)
            assert ledger.balance(DAY).spent == 5.0


# ---- workers ----


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    with postgres_server() as running:
        yield running


@pytest.fixture
def up() -> Iterator[Upstream]:
    with upstream() as running:
        yield running


def children(process: subprocess.Popen[str]) -> list[int]:
    path = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    return [int(each) for each in path.read_text().split()]


def asked(url: str) -> httpx.Response:
    """The answer, from whichever worker takes the connection, once there is one."""
    body = {"model": "m", "messages": [{"role": "user", "content": ILL.format("hepatitis")}]}
    end = time.monotonic() + 60
    while True:
        try:
            return httpx.post(
                f"{url}/v1/chat/completions",
                json=body,
                headers={"authorization": f"Bearer {KEY}"},
                timeout=20,
                trust_env=False,
            )
        except httpx.TransportError:
            assert time.monotonic() < end
            time.sleep(0.1)


CONFIGURATION = f"""
[upstreams.first]
url = "https://api.example/v1"
[[tenants]]
name = "ada"
policy = "identifiers"
keys = ["sha256:{"0" * 64}"]
"""
WORKERS = """
import os, sys, time
from pathlib import Path
from sanitizer.cli import api

folder, fails_first = Path(sys.argv[1]), sys.argv[2] == "first"
api.START_SECONDS = 0.05

def work(ready):
    n = len(list(folder.iterdir()))
    (folder / str(os.getpid())).touch()
    if fails_first or n == 2:
        raise ValueError("the database is down")
    ready()
    time.sleep(0.1 if n == 1 else 60)

api.run_workers(1, work)
"""


def workers(folder: Path, fails: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WORKERS, str(folder), fails]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)


def test_workers_that_cannot_start_end_the_command(tmp_path: Path) -> None:
    with workers(tmp_path, "first") as process:
        _, told = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "the database is down" in told
    assert "stopped before it could serve" in told
    assert len(list(tmp_path.iterdir())) == 1


SIGNALLED_AT_FORK = """
import os, signal, sys, time
from pathlib import Path
from sanitizer.cli import api

folder = Path(sys.argv[1])
api.START_SECONDS = 0.05
fork, forks = os.fork, []

def signalled():
    number = fork()
    forks.append(number)
    if number == 0 and len(forks) == 2:  # the second worker, while the handlers are the parent's
        os.kill(os.getpid(), signal.SIGTERM)
    return number

def work(ready):
    (folder / str(os.getpid())).touch()
    ready()
    time.sleep(60)

os.fork = signalled
api.run_workers(2, work)
"""


def test_a_signal_that_meets_a_new_worker_ends_that_worker_only(tmp_path: Path) -> None:
    command = [sys.executable, "-c", SIGNALLED_AT_FORK, str(tmp_path)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        end = time.monotonic() + 60
        while len(list(tmp_path.iterdir())) < 2:  # the first, and one in the second's place
            assert process.poll() is None
            assert time.monotonic() < end
            time.sleep(0.02)
        alive = {str(each) for each in children(process)}
        process.terminate()
        _, told = process.communicate(timeout=60)
    assert alive == {each.name for each in tmp_path.iterdir()}
    assert "Traceback" not in told


def test_once_one_has_served_failures_and_kills_are_followed_by_another_start(
    tmp_path: Path,
) -> None:
    with workers(tmp_path, "later") as process:
        end = time.monotonic() + 60

        def until(n: int) -> None:
            while len(list(tmp_path.iterdir())) < n:
                assert process.poll() is None
                assert time.monotonic() < end
                time.sleep(0.02)

        until(1)
        # Killed at once, perhaps before it served: no sign of a wrong configuration.
        os.kill(children(process)[0], signal.SIGKILL)
        until(4)  # the second ends in order, the third by an error, the fourth stays
        process.send_signal(signal.SIGTERM)
        _, told = process.communicate(timeout=60)
    assert process.returncode == 0
    assert told.count("the database is down") == 1


def test_lists_are_read_before_workers_begin_and_models_are_not(tmp_path: Path) -> None:
    (tmp_path / "proxy.toml").write_text(CONFIGURATION.replace("identifiers", "balanced"))
    program = (
        "import sys; from pathlib import Path; from sanitizer.cli.api import read_lists; "
        "read_lists(Path(sys.argv[1])); "
        "from sanitizer.detect.view import languages; "
        "from sanitizer.identifiers.rows import packaged; "
        "assert all(f.cache_info().currsize for f in (languages, packaged)); "
        "assert 'sanitizer.proxy.server' in sys.modules; "
        "assert 'onnxruntime' not in sys.modules"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "proxy.toml")]
    subprocess.run(command, check=True, timeout=60)


@pytest.mark.slow
def test_workers_share_a_store_and_one_that_dies_is_replaced(
    server: PostgresServer, up: Upstream, tmp_path: Path
) -> None:
    config = configured(server, up, tmp_path)
    command = [sys.executable, "-m", "sanitizer", "serve", "--config", str(config)]
    with subprocess.Popen(
        [*command, "--port", "0", "--workers", "2"], stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        found = re.match(r"sanitizer: (\S+) ", process.stderr.readline())
        assert found
        answers = [asked(found[1]) for _ in range(4)]
        assert [each.status_code for each in answers] == [200] * 4
        before = children(process)
        assert len(before) == 2
        os.kill(before[0], signal.SIGKILL)
        answers += [asked(found[1]) for _ in range(4)]
        assert [each.status_code for each in answers] == [200] * 8
        end = time.monotonic() + 30
        while len(now := children(process)) < 2 or set(now) == set(before):
            assert time.monotonic() < end
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    assert sum(float(each.headers["sanitizer-charged"]) for each in answers) == float(
        answers[0].headers["sanitizer-charged"]
    )
    assert len({each.said() for each in up.requests}) == 1


@pytest.mark.slow
def test_workers_without_a_store_are_refused(tmp_path: Path) -> None:
    (tmp_path / "proxy.toml").write_text(CONFIGURATION)
    config = ("--config", str(tmp_path / "proxy.toml"))
    done = run_process("serve", *config, "--port", "0", "--workers", "2")
    assert done.returncode == 2
    assert b"--workers needs [storage]" in done.stderr
    assert b"Traceback" not in done.stderr
