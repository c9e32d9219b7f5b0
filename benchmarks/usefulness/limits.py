"""What the table of a conversation costs, and what the cap on draws saves.

    python -m benchmarks.usefulness.limits [--quick]

Cap: epsilon charged for each labelled prompt under `balanced`, and the share of sensitive spans
hidden, with the default cap on draws and without one. Table: the share of the time of `sanitize`
that is spent in it, for a prompt of 200 words; and milliseconds of one message with one new and one
known thing when a conversation holds 1,000 to 100,000, in memory and in a file.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.common.intervals import interval, means
from benchmarks.common.machine import say, write
from benchmarks.common.texts import LONG
from benchmarks.common.timing import median
from benchmarks.usefulness.measure import shares
from benchmarks.usefulness.prompts import OPEN, labelled
from benchmarks.usefulness.table import WHOLE
from sanitizer import FileVault, Policy, Sanitizer
from sanitizer.pipeline.stand_ins import StandIns
from sanitizer.risk import LabelledText, counted, hidden_in, treated
from sanitizer.storage import MemoryVault, Vault
from sanitizer.testing import SeededSource

NO_CAP, EVERY, SIZES, MESSAGES = 1_000, 6, (1_000, 10_000, 100_000), 25
ROOM = 200_000
KEY = "a key of at least sixteen bytes"


def capped(prompts: list[LabelledText]) -> dict[str, Any]:
    """Return epsilon for each prompt and the share of spans hidden, with and without a cap."""
    policy = Policy.preset("balanced")
    found = {}
    for name, rules in (("default", policy), ("no cap", replace(policy, max_drawn=NO_CAP))):
        first = Sanitizer(policy=rules, vault=MemoryVault())
        spent, counts = [], []
        for i, prompt in enumerate(prompts):
            s = first.derive(conversation=f"{i}")
            result = s.sanitize(prompt.text, source=SeededSource(i))
            spent.append(result.record.charged)
            hidden = hidden_in(prompt.text, policy.identifiers)
            counts.append(counted(prompt, treated(result, 0.0), hidden))
        found[name] = {
            "epsilon": interval(means(spent)),
            "most": max(spent),
            "hidden": shares(counts)[WHOLE],
        }
        say(f"{name}: {found[name]}")
    return found


@contextmanager
def timed(seconds: list[float]) -> Iterator[None]:
    """Note the seconds that each call of the table takes."""
    kept = {name: getattr(StandIns, name) for name in ("known", "values")}

    def wrapped(call: Callable[..., Any]) -> Callable[..., Any]:
        def timing(*args: Any, **named: Any) -> Any:
            begin = time.perf_counter()
            try:
                return call(*args, **named)
            finally:
                seconds.append(time.perf_counter() - begin)

        return timing

    for name, call in kept.items():
        setattr(StandIns, name, wrapped(call))
    try:
        yield
    finally:
        for name, call in kept.items():
            setattr(StandIns, name, call)


def table_share(n: int) -> dict[str, Any]:
    """Return the share of the time of `sanitize` that the table takes; draws are part of it."""
    found = {}
    for policy in ("deidentify", "balanced"):
        first = Sanitizer(policy=policy, vault=MemoryVault())
        first.sanitize(LONG)
        shares = []
        for i in range(n):
            s = first.derive(conversation=f"{i}")
            spent: list[float] = []
            with timed(spent):
                begin = time.perf_counter()
                s.sanitize(LONG)
                whole = time.perf_counter() - begin
            shares.append(sum(spent) / whole)
        found[policy] = median(shares, 1.0)
        say(f"table, {policy}: {found[policy]}")
    return found


def grown(vault: Vault, sizes: tuple[int, ...]) -> dict[str, Any]:
    """Return milliseconds of one message as a conversation grows."""
    s = Sanitizer(policy="identifiers", vault=vault)
    found: dict[str, Any] = {}
    n = 0
    for size in sizes:
        while n < size:
            some = range(n, min(size, n + 1_000))
            s.sanitize("\n".join(f"user{i}@example.org" for i in some))
            n = some.stop
        times = []
        for k in range(MESSAGES):
            text = f"Mail new{size}-{k}@example.org and user{k}@example.org"
            begin = time.perf_counter()
            result = s.sanitize(text)
            times.append(time.perf_counter() - begin)
            if str(s.restore(result.text)) != text:
                raise ValueError("a message did not come back")
        found[str(size)] = median(times)
        say(f"{type(vault).__name__}, {size} things: {found[str(size)]}")
    return found


def main() -> None:
    """Measure, and write results/limits.json."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.usefulness.limits")
    parser.add_argument("--quick", action="store_true", help="20 open prompts, small tables")
    quick = parser.parse_args().quick
    sizes = SIZES[:1] if quick else SIZES
    prompts = [prompt for name in OPEN for prompt in labelled(name)][:: 30 if quick else EVERY]
    with tempfile.TemporaryDirectory() as folder:
        memory = grown(MemoryVault(max_entries=ROOM), sizes)
        with FileVault(Path(folder) / "vault", KEY, max_entries=ROOM) as vault:
            file = grown(vault, sizes)
    results = {
        "memory": memory,
        "file": file,
        "table": table_share(3 if quick else 30),
        "n_prompts": len(prompts),
        "words": len(LONG.split()),
        "cap": capped(prompts),
    }
    print(write("limits", "python -m benchmarks.usefulness.limits" + " --quick" * quick, results))


if __name__ == "__main__":
    main()
