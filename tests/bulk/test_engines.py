"""The engines: each row once, whatever happens to the workers. Most of it runs at night."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from sanitizer.bulk import restore_files, sanitize_files
from sanitizer.bulk.store import JobStore
from tests.bulk.helpers import job_of, read_rows, rows, sums, write_rows

HAS = {"local": True, "ray": find_spec("ray"), "spark": find_spec("pyspark")}
OTHERS = [
    pytest.param(
        name,
        marks=pytest.mark.skipif(not HAS[name], reason=f'the extra "{name}" is not installed'),
    )
    for name in ("ray", "spark")
]
ENGINES = ["local", *OTHERS]


def command(source: Path, target: Path, *more: str) -> list[str]:
    """The command `bulk` over the column of texts."""
    given = ["bulk", str(source), str(target), "--column", "text"]
    store = ["--vault", str(target.with_name("store"))]
    return [sys.executable, "-m", "sanitizer", *given, *store, *more]


def started(arguments: list[str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )


def n_done(store: Path) -> int:
    if not store.exists():
        return 0
    with JobStore(store) as opened:
        return opened.n_done()


def wait_for(store: Path, n: int, process: subprocess.Popen[bytes]) -> None:
    """Wait until the job has done some rows."""
    end = time.monotonic() + 400
    while n_done(store) < n:
        assert process.poll() is None, "the job ended early"
        assert time.monotonic() < end, "nothing was done"
        time.sleep(0.05)


def workers_of(pid: int, says: str) -> list[int]:
    """Return the processes below a process whose command line holds a word."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            command_line = (path / "cmdline").read_bytes().decode("utf-8", "replace")
            parent, seen = int(path.name), []
            while parent > 1:
                seen.append(parent)
                parent = int(
                    (Path("/proc") / str(parent) / "stat").read_text().rsplit(")")[-1].split()[1]
                )
        except OSError:
            continue
        if pid in seen[1:] and says in command_line:
            found.append(int(path.name))
    return found


def whole(source: Path, out: Path, store: Path, tmp_path: Path) -> None:
    """Check that each row is there once, and comes back."""
    before, after = read_rows(source), read_rows(out)
    assert len(after) == len(before)
    assert all("example.org" not in row["text"] for row in after)
    restore_files(store, out, tmp_path / f"back{source.suffix}", ("text",))
    assert read_rows(tmp_path / f"back{source.suffix}") == before


def test_local_processes_do_what_one_process_does(tmp_path: Path) -> None:
    source = write_rows(tmp_path / "in.csv", rows(100))
    job, out = job_of(tmp_path), tmp_path / "out.csv"
    report = sanitize_files(job, source, out, workers=2)
    assert report.n_rows == sums(job)[0] == 100
    whole(source, out, job.store, tmp_path)


@pytest.mark.parametrize(
    ("engine", "workers", "says"),
    [("dask", 1, "engine must be one of"), ("local", -1, "workers must be at least")],
)
def test_unknown_engines_are_refused(tmp_path: Path, engine: str, workers: int, says: str) -> None:
    source = write_rows(tmp_path / "in.csv", rows(1))
    with pytest.raises(ValueError, match=says):
        sanitize_files(
            job_of(tmp_path), source, tmp_path / "out.csv", engine=engine, workers=workers
        )


def test_an_engine_that_is_missing_names_its_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sanitizer.bulk.engines.find_spec", lambda name: None)
    source = write_rows(tmp_path / "in.csv", rows(1))
    with pytest.raises(ValueError, match=r"sanitizer\[ray\]"):
        sanitize_files(job_of(tmp_path), source, tmp_path / "out.csv", engine="ray")


@pytest.mark.slow
@pytest.mark.parametrize("engine", OTHERS)
def test_engines_write_what_local_processes_write(tmp_path: Path, engine: str) -> None:
    source, out = write_rows(tmp_path / "in.parquet", rows(700)), tmp_path / "out.parquet"
    ran = subprocess.run(
        command(source, out, "--policy", "identifiers", "--engine", engine, "--workers", "2"),
        capture_output=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr.decode()
    whole(source, out, tmp_path / "store", tmp_path)


WORKERS = {"local": "spawn_main", "ray": "ray::", "spark": "pyspark.daemon"}


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
def test_a_worker_is_killed_and_each_row_is_there_once_with_exact_sums(
    tmp_path: Path, engine: str
) -> None:
    n_rows = 200
    source = write_rows(tmp_path / "in.csv", rows(n_rows, n_users=n_rows))
    out, store = tmp_path / "out.csv", tmp_path / "store"
    more = ("--policy", "guarded", "--workers", "2", "--engine", engine)
    process = started(command(source, out, *more, "--report", str(tmp_path / "report")))
    try:
        wait_for(store, 20, process)
        victims = workers_of(process.pid, WORKERS[engine])
        if engine == "spark":  # the daemon forks its workers; the last is one of them
            victims = victims[1:] or victims
        assert victims
        os.kill(victims[-1], signal.SIGKILL)
        said = process.communicate(timeout=500)
    finally:
        process.kill()
    assert process.returncode == 0, said[1].decode()[-2000:]
    whole(source, out, store, tmp_path)
    report: dict[str, Any] = json.loads((tmp_path / "report").read_text())
    assert (report["n_rows"], report["epsilon_total"]) == (n_rows, 5.0 * n_rows)
    assert report["units_by_epsilon"] == {"5": n_rows}
    assert sums(job_of(tmp_path))[:2] == (n_rows, 5 * 10**9 * n_rows)


def interrupted(process: subprocess.Popen[bytes]) -> int:
    os.killpg(process.pid, signal.SIGINT)
    said = process.communicate(timeout=60)[1].decode()
    assert "run the same command again" in said
    return process.returncode


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [0.0, 4.0])  # workers import; workers are in a long row
def test_ctrl_c_ends_workers_at_once_and_in_one_line(tmp_path: Path, seconds: float) -> None:
    long = {"text": "My father Peter has asthma and lives in Leeds. " * 1500}
    some = [long, *rows(512), long]  # two parts, so that there are two workers
    source = write_rows(tmp_path / "in.jsonl", some)
    process = started(command(source, tmp_path / "out.jsonl", "--workers", "2"))
    while not workers_of(process.pid, WORKERS["local"]):
        assert process.poll() is None
    time.sleep(seconds)
    begin = time.monotonic()
    os.killpg(process.pid, signal.SIGINT)
    said = process.communicate(timeout=100)[1].decode()
    assert time.monotonic() - begin < 10.0  # STOP_SECONDS, on a busy machine
    assert process.returncode == 130
    assert said.count("\n") == 1, said
    assert "run the same command again" in said


def killed(process: subprocess.Popen[bytes]) -> int:
    process.kill()
    process.communicate(timeout=60)
    return process.returncode


@pytest.mark.slow
@pytest.mark.parametrize(("end", "status"), [(interrupted, 130), (killed, -signal.SIGKILL)])
def test_a_job_that_is_stopped_goes_on_without_drawing_or_paying_twice(
    tmp_path: Path, end: Callable[[subprocess.Popen[bytes]], int], status: int
) -> None:
    n_rows = 200
    source = write_rows(tmp_path / "in.jsonl", rows(n_rows, n_users=n_rows))
    out, store = tmp_path / "out.jsonl", tmp_path / "store"
    more = ("--policy", "guarded", "--workers", "2", "--unit-column", "user_id")
    arguments = command(source, out, *more)
    process = started(arguments)
    wait_for(store, 20, process)
    assert end(process) == status
    assert not out.exists()
    time.sleep(3)  # workers whose parent was killed end by themselves
    before = n_done(store)
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]
    ran = subprocess.run(
        [*arguments, "--report", str(tmp_path / "report")], capture_output=True, check=False
    )
    assert ran.returncode == 0, ran.stderr.decode()
    report = json.loads((tmp_path / "report").read_text())
    assert (report["n_before"], report["n_rows"]) == (before, n_rows)
    assert (report["n_units"], report["epsilon_total"]) == (n_rows, 5.0 * n_rows)
    whole(source, out, store, tmp_path)


FILES = """
import sys
from pathlib import Path
from sanitizer.bulk import BulkJob, sanitize_files
job = BulkJob(Path(sys.argv[1]), ("text",), policy="identifiers", threads=1)
sanitize_files(job, Path(sys.argv[2]), Path(sys.argv[3]), engine="ray", workers=2)
assert "ray" in sys.modules and "ray.data" not in sys.modules
"""


@pytest.mark.slow
@pytest.mark.skipif(not HAS["ray"], reason='the extra "ray" is not installed')
def test_files_go_to_actors_of_ray_without_what_its_datasets_load(tmp_path: Path) -> None:
    source, out, store = tmp_path / "in.csv", tmp_path / "out.csv", tmp_path / "store"
    write_rows(source, rows(40))
    ran = subprocess.run(
        [sys.executable, "-c", FILES, *map(str, (store, source, out))],
        capture_output=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr.decode()[-3000:]
    whole(source, out, store, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("engine", OTHERS)
def test_what_a_worker_of_an_engine_refuses_is_told_as_it_is(tmp_path: Path, engine: str) -> None:
    source = write_rows(tmp_path / "in.csv", rows(40, n_users=1))
    more = ("--engine", engine, "--workers", "1", "--unit-column", "user_id", "--budget", "1")
    ran = subprocess.run(
        command(source, tmp_path / "out.csv", *more), capture_output=True, check=False
    )
    assert ran.returncode != 0
    assert "the budget of its unit has not enough left" in ran.stderr.decode()


# ---- datasets of the engines themselves ----


DATASET = """
import sys
from pathlib import Path
from sanitizer.bulk import BulkJob, ray_dataset, spark_frame
job = BulkJob(Path(sys.argv[1]), ("text",), policy="identifiers", id_column="number", threads=1)
"""
RAY = """
import ray
ray.init(num_cpus=3, include_dashboard=False, log_to_driver=False)
read = ray.data.read_parquet(sys.argv[2])
ray_dataset(read, job, workers=2).write_parquet(sys.argv[3])
"""
SPARK = """
import os
os.environ["PYSPARK_PYTHON"] = sys.executable
from pyspark.sql import SparkSession
builder = SparkSession.builder.master("local[2]")
spark = builder.config("spark.driver.host", "127.0.0.1").getOrCreate()
frame = spark_frame(spark.read.parquet(sys.argv[2]), job)
assert frame.count() == 700  # an action of its own: draws nothing again
frame.write.parquet(sys.argv[3])
"""


@pytest.mark.slow
@pytest.mark.parametrize("engine", OTHERS)
def test_datasets_of_an_engine_go_through_the_function(tmp_path: Path, engine: str) -> None:
    source, out, store = tmp_path / "in.parquet", tmp_path / "out", tmp_path / "store"
    write_rows(source, rows(700))
    code = DATASET + {"ray": RAY, "spark": SPARK}[engine]
    ran = subprocess.run(
        [sys.executable, "-c", code, *map(str, (store, source, out))],
        capture_output=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr.decode()[-3000:]
    found = [row for path in out.rglob("*.parquet") for row in read_rows(path)]
    found.sort(key=lambda row: str(row["number"]))
    assert [row["number"] for row in found] == [f"{i:03}" for i in range(700)]
    # In a process of its own each row's numbers have a tag of theirs.
    assert all(re.search(r"to <EMAIL_\d+_1>\.$", row["text"]) for row in found)
