"""Measure policy `identifiers` on the suites of others: see the package."""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from benchmarks.common.machine import circumstances
from benchmarks.common.processes import tool_of
from benchmarks.identifiers import golang, python_tests
from benchmarks.identifiers.samples import Sample, digest, phones, stdnum_numbers
from sanitizer import Sanitizer

Counts = Counter[tuple[str, str, str]]
"""Numbers of samples by suite, half and outcome."""
Places = Iterable[Sequence[Any]]
"""Stretches of a text; of what says where one is, its first two numbers count."""
FOLDERS: dict[str, Callable[[Path], Iterator[Sample]]] = {
    "presidio": python_tests.presidio,
    "gitleaks": golang.gitleaks,
    "trufflehog": golang.trufflehog,
    "detect-secrets": python_tests.detect_secrets,
}
"""Suites that are read from a checkout, by the option that names its folder."""


def missed(sample: Sample, covered: Places) -> str:
    """Return what of a sample leaves, its hidden characters as dots; "" when nothing does.

    Of a negative, where nothing has to be hidden, nothing must be.
    """
    hidden = {at for start, end, *_ in covered for at in range(start, end)}
    if not sample.spans:
        return ", ".join(repr(sample.text[start:end]) for start, end, *_ in covered)
    left = [
        "".join("." if at in hidden else sample.text[at] for at in range(start, end))
        for start, end in sample.spans
        if not hidden.issuperset(range(start, end))
    ]
    return ", ".join(map(repr, left))


def measure(
    samples: Sequence[Sample], covered: Iterable[Places] | None = None
) -> tuple[Counts, list[tuple[Sample, str]]]:
    """Return counts by suite, half and outcome, and what is left in failures of the seen half.

    Args:
        covered: what a tool replaces of each; None for ours. Each text is a conversation of its
            own: a value found in one must not be known in the next.
    """
    if covered is None:
        texts = [sample.text for sample in samples]
        results = Sanitizer(policy="identifiers").sanitize_batch(texts, together=False)
        covered = [result.covered for result in results]
    counts: Counts = Counter()
    failures = []
    for sample, places in zip(samples, covered, strict=True):
        left = missed(sample, places)
        outcome = ("found", "missed") if sample.spans else ("silent", "alarm")
        counts[sample.suite, sample.half, outcome[bool(left)]] += 1
        if left and sample.half == "seen":
            failures.append((sample, f"{outcome[1]}\t{sample.suite}\t{sample.kind}\t{left}"))
    return counts, failures


def share(counts: Counts, suite: str, half: str, counted: str, other: str) -> str:
    """Return a cell: how many of a half of a suite had an outcome."""
    n, others = counts[suite, half, counted], counts[suite, half, other]
    return f"{n} of {n + others} ({100 * n / (n + others):.1f} %)" if n + others else ""


def main() -> None:
    """Print the table, after failures of the half that may be read."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.identifiers", description=__doc__)
    for name in FOLDERS:
        parser.add_argument(f"--{name}", type=Path, metavar="FOLDER", help=f"checkout of {name}")
    parser.add_argument("--half", choices=("seen", "unseen", "both"), default="both")
    parser.add_argument("--suite", default="", help="only suites whose name contains this")
    parser.add_argument("--kind", default="", help="only kinds whose name contains this")
    parser.add_argument("--failures", type=int, default=0, help="print so many, of mixed kinds")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the table")
    parser.add_argument(
        "--peer", action="append", default=[], metavar="NAME=PYTHON", help="another tool"
    )
    options = parser.parse_args()
    folders = {name: getattr(options, name.replace("-", "_")) for name in FOLDERS}
    sources = [FOLDERS[name](folder) for name, folder in folders.items() if folder]
    samples = [
        sample
        for sample in dict.fromkeys(chain(*sources, stdnum_numbers(), phones()))
        if options.half in ("both", sample.half)
        and options.suite in sample.suite
        and options.kind in sample.kind
    ]
    start = time.perf_counter()
    counts, failures = measure(samples)
    milliseconds = 1000 * (time.perf_counter() - start) / max(1, len(samples))
    mixed = sorted(failures, key=lambda failure: digest(failure[0].text))
    for sample, line in mixed[: options.failures]:
        print(f"{line}\t{sample.text!r}")
    tools, versions = {"ours": counts}, {}
    for name, python in (each.split("=", 1) for each in options.peer):
        worker = tool_of(name, python)
        found = worker.ask({"do": "find", "texts": [sample.text for sample in samples]})
        tools[name], versions[name] = measure(samples, found["spans"])[0], worker.versions
    halves = ("found, seen half", "found, unseen half", "alarms, seen", "alarms, unseen")
    header = ("suite", "tool", *halves)
    rows = [
        [suite, tool]
        + [share(own, suite, half, "found", "missed") for half in ("seen", "unseen")]
        + [share(own, suite, half, "alarm", "silent") for half in ("seen", "unseen")]
        for suite in dict.fromkeys(sample.suite for sample in samples)
        for tool, own in tools.items()
    ]
    for cells in (header, ["---"] * len(header), *rows):
        print("| " + " | ".join(cells) + " |")
    print(f"\n{len(samples)} texts, {milliseconds:.2f} ms a text")
    if options.json:
        table = [dict(zip(header, row, strict=True)) for row in rows]
        result = {"circumstances": circumstances(), "versions": versions, "rows": table}
        options.json.write_text(json.dumps(result, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
