"""Rows a second of bulk jobs, by engine, and what each engine adds to the bare function.

The bare function is `RowSanitizer` over the parts of a file in one process, with the store and the
output. Each run is a process of its own with a fresh store, and the runs of a round take turns.
Besides the clock, the processor time of a run's whole tree of processes is taken: on a machine that
others use too, it is the fairer measure of what an engine adds. A run of one row is what starting
costs; "after start" is the rest.

    python -m benchmarks.speed.bulk --policy identifiers --rows 100000 [--engines local,ray,spark]

Ray and Spark are used if they are installed beside this package.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.common.machine import output_folder, parser, say, write

QUICK_ROWS, QUICK_ENGINES = 400, "local"
PACKAGES = {"local": "pyarrow", "ray": "ray", "spark": "pyspark"}
TEXT = (
    "Dear team, customer {i} wrote from user{i}@example.org that his father has hepatitis and "
    "would like to travel on Monday. Please call back."
)
VARIABLES = {
    "SANITIZER_VAULT_KEY": "an obviously fake key for benchmarks",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "PYTHONWARNINGS": "ignore",
}


def made(folder: Path, n_rows: int) -> Path:
    """A Parquet file of rows of 22 words with an address and an illness each."""
    path = folder / "in.parquet"
    texts = [TEXT.format(i=i) for i in range(n_rows)]
    pq.write_table(pa.table({"n": range(n_rows), "text": texts}), path, row_group_size=20_000)
    return path


def one(source: Path, policy: str, engine: str, workers: int) -> dict[str, float]:
    """Return seconds of one job in this process."""
    from sanitizer.bulk import BulkJob, sanitize_files

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        job = BulkJob(folder / "store", ("text",), policy=policy, threads=1)
        begin = time.perf_counter()
        report = sanitize_files(job, source, folder / "out.parquet", engine=engine, workers=workers)
        seconds = time.perf_counter() - begin
        return {
            "seconds": seconds,
            "rows_per_second": report.n_rows / seconds,
            "rows": report.n_rows,
            "epsilon_total": report.epsilon_total,
        }


def below(pid: int) -> dict[tuple[int, int], float]:
    """Processor seconds so far of a process and all below it, by (pid, time of its start)."""
    parents, found = {}, {}
    for path in Path("/proc").glob("[0-9]*"):
        try:
            fields = (path / "stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        parents[int(path.name)] = int(fields[1])
        seconds = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        found[int(path.name), int(fields[19])] = seconds

    def belongs(each: int) -> bool:
        while each > 1 and each != pid:
            each = parents.get(each, 0)
        return each == pid

    return {key: seconds for key, seconds in found.items() if belongs(key[0])}


def measured(source: Path, policy: str, engine: str, workers: int) -> dict[str, float]:
    """One job in a process of its own, and the processor time of all its processes."""
    arguments = ["--one", str(source), policy, engine, str(workers)]
    used: dict[tuple[int, int], float] = {}
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.speed.bulk", *arguments],
            env=os.environ | VARIABLES,
            stdout=out,
            stderr=errors,
        )
        ended, status = 0, 0
        while not ended:
            used |= below(process.pid)
            time.sleep(0.1)
            ended, status, usage = os.wait4(process.pid, os.WNOHANG)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        errors.seek(0)
        if process.returncode:
            raise RuntimeError(f"{engine}, {workers} workers: {errors.read()[-2000:]}")
        found: dict[str, float] = json.loads(out.read().splitlines()[-1])
    # The kernel's sum lacks processes that nobody waited for, the samples the last moments.
    waited = usage.ru_utime + usage.ru_stime
    return found | {"cpu_seconds": max(sum(used.values()), waited)}


def figures(
    runs: list[dict[str, float]],
    start: dict[str, float],
    bare: list[dict[str, float]],
    bare_start: dict[str, float],
) -> dict[str, Any]:
    """Median of each figure, and what the engine adds to the bare function, round by round."""
    found: dict[str, Any] = {
        key: round(statistics.median(run[key] for run in runs), 2) for key in runs[0]
    }
    pairs = [
        (run["cpu_seconds"], base["cpu_seconds"]) for run, base in zip(runs, bare, strict=True)
    ]
    begin, base_begin = start["cpu_seconds"], bare_start["cpu_seconds"]
    whole = [cpu / base - 1 for cpu, base in pairs]
    then = [(cpu - begin) / (base - base_begin) - 1 for cpu, base in pairs]
    return found | {
        "start_seconds": round(start["seconds"], 2),
        "start_cpu_seconds": round(begin, 2),
        "cpu_added": round(statistics.median(whole), 3),
        "cpu_added_after_start": round(statistics.median(then), 3),
        "rounds": len(runs),
    }


def compare(policy: str, n_rows: int, engines: list[str], rounds: int) -> dict[str, Any]:
    """All engines with one worker and two, beside the bare function."""
    kinds = [("bare", "local", 0)]
    kinds += [(f"{engine}, {n}", engine, n) for engine in engines for n in (1, 2)]
    runs: dict[str, list[dict[str, float]]] = {name: [] for name, _, _ in kinds}
    starts: dict[str, dict[str, float]] = {}
    loads = [os.getloadavg()[0]]
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as single:
        source, one_row = made(Path(folder), n_rows), made(Path(single), 1)
        for i in range(rounds):
            for name, engine, workers in kinds:
                if i == 0:
                    starts[name] = measured(one_row, policy, engine, workers)
                runs[name].append(measured(source, policy, engine, workers))
                loads.append(os.getloadavg()[0])
                say(f"{policy}, {name}: {json.dumps(runs[name][-1])}, load {loads[-1]:.1f}")
    return {
        "rows": n_rows,
        "load_of_the_machine": [round(min(loads), 1), round(max(loads), 1)],
        **{
            name: figures(each, starts[name], runs["bare"], starts["bare"])
            for name, each in runs.items()
        },
    }


def main() -> None:
    """Measure one policy; results of other policies in the file are kept."""
    line = parser(__doc__, "few rows, one engine")
    line.add_argument("--one", nargs=4, help=argparse.SUPPRESS)
    line.add_argument("--policy", default="identifiers")
    line.add_argument("--rows", type=int, default=100_000)
    line.add_argument("--rounds", type=int, default=1)
    line.add_argument("--engines", default=",".join(PACKAGES))
    options = line.parse_args()
    if options.one:
        source, policy, engine, workers = options.one
        print(json.dumps(one(Path(source), policy, engine, int(workers))))
        return
    if options.quick:
        options.rows, options.engines = QUICK_ROWS, QUICK_ENGINES
    engines = [name for name in options.engines.split(",") if find_spec(PACKAGES[name])]
    path = output_folder() / "bulk.json"
    results = json.loads(path.read_text("utf-8"))["results"] if path.exists() else {}
    results[options.policy] = compare(options.policy, options.rows, engines, options.rounds)
    write("bulk", results)


if __name__ == "__main__":
    main()
