"""Two commands with one store on PostgreSQL, as on two machines; one of them is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sanitizer import VaultError
from sanitizer.bulk.store import JobStore
from tests.bulk.helpers import KEY, job_of, read_rows, rows, store_of, sums, write_rows

N = 120
pytestmark = [
    pytest.mark.nightly,
    pytest.mark.parametrize("backend", ["postgres"], indirect=True),
    pytest.mark.usefixtures("backend"),
]


def started(folder: Path, source: Path, store: Path) -> subprocess.Popen[bytes]:
    """A command in a folder of its own, with an output of its own; what it says goes to a file."""
    folder.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "sanitizer", "bulk", str(source), str(folder / "out.jsonl")]
    options = ["--column", "text", "--unit-column", "user_id", "--vault", str(store)]
    options += ["--policy", "guarded"]
    # A pipe that nobody reads stays open, and may fill: the one that is killed is never read.
    with (folder / "told").open("ab") as told:
        return subprocess.Popen(
            [*command, *options, "--workers", "1"],
            cwd=folder,
            env={**os.environ, "SANITIZER_VAULT_KEY": KEY},
            stdout=subprocess.DEVNULL,
            stderr=told,
            start_new_session=True,
        )


def ended_well(process: subprocess.Popen[bytes], folder: Path) -> None:
    assert process.wait(400) == 0, (folder / "told").read_text()


def test_every_row_once_whoever_is_killed(tmp_path: Path) -> None:
    source, store = write_rows(tmp_path / "in.jsonl", rows(N)), store_of(tmp_path)
    first = started(tmp_path / "first", source, store)
    second = started(tmp_path / "second", source, store)
    end = time.monotonic() + 300
    while not (tmp_path / "killed").exists():
        assert time.monotonic() < end
        time.sleep(0.2)
        try:
            with JobStore(store) as opened:
                n = opened.n_done()
        except VaultError:  # not made yet
            n = 0
        if n:
            os.killpg(first.pid, signal.SIGKILL)
            (tmp_path / "killed").touch()
    first.wait(30)
    ended_well(second, tmp_path / "second")
    again = started(tmp_path / "first", source, store)
    ended_well(again, tmp_path / "first")
    outs = [read_rows(tmp_path / name / "out.jsonl") for name in ("first", "second")]
    assert outs[0] == outs[1]
    assert len(outs[0]) == N
    job = job_of(tmp_path, unit_column="user_id", policy="guarded")
    n_rows, of_rows, of_units = sums(job)
    assert n_rows == N
    # Five users, one illness each: five draws, whoever came first.
    assert of_rows == of_units == 5 * 5 * 10**9
