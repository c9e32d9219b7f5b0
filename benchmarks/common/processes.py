"""Processes: a pool of one thread each, for independent work of Python or of small model passes is
quickest so; and tools in environments of their own.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Any

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@contextmanager
def processes(
    n: int | None = None, start: Callable[..., None] | None = None, arguments: tuple[Any, ...] = ()
) -> Iterator[ProcessPoolExecutor]:
    """The pool; numpy's own threads are off in its processes.

    Args:
        n: how many; default all cores. start: called in each with `arguments` as it begins.
    """
    before = {name: os.environ.get(name) for name in THREADS}
    os.environ.update(dict.fromkeys(THREADS, "1"))
    try:
        with ProcessPoolExecutor(
            n, get_context("spawn"), initializer=start, initargs=arguments
        ) as pool:
            yield pool
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


class Worker:
    """A tool in a process of its own, which answers one JSON line per request.

    Args:
        command: that starts it; it knows the request {"do": "versions"}.
    """

    def __init__(self, command: Sequence[str]) -> None:
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[2],
        )
        self.versions: dict[str, str] = self.ask({"do": "versions"})

    def ask(self, request: dict[str, Any]) -> Any:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def close(self) -> None:
        self._process.communicate()


def tool_of(name: str, python: str, module: str = "benchmarks.peers.tools") -> Worker:
    """Return a tool of `benchmarks.peers` in its environment, by the interpreter of that."""
    return Worker([python, "-m", module, name])
