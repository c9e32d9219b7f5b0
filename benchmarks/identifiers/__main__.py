"""Measure policy `identifiers` on the suites of others: see the package."""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path

from benchmarks.common.machine import circumstances
from benchmarks.common.tables import table
from benchmarks.identifiers import detect_secrets, golang, libraries, presidio
from benchmarks.identifiers.samples import Sample, Spans
from sanitizer import Sanitizer

Counts = Counter[tuple[str, str, str]]
"""Numbers of samples by suite, half and outcome."""
FOLDERS: dict[str, Callable[[Path], Iterator[Sample]]] = {
    "presidio": presidio.cases,
    "gitleaks": golang.gitleaks,
    "trufflehog": golang.trufflehog,
    "detect-secrets": detect_secrets.cases,
}
"""Suites that are read from a checkout, by the option that names its folder."""


def missed(sample: Sample, covered: Spans) -> str:
    """Return what of a sample leaves, its hidden characters as dots; "" when nothing does.

    Of a negative, where nothing has to be hidden, nothing must be.
    """
    hidden = {at for start, end in covered for at in range(start, end)}
    if not sample.spans:
        return ", ".join(repr(sample.text[start:end]) for start, end in covered)
    left = [
        "".join("." if at in hidden else sample.text[at] for at in range(start, end))
        for start, end in sample.spans
        if not hidden.issuperset(range(start, end))
    ]
    return ", ".join(map(repr, left))


def main() -> None:
    """Print the table, and the failures of the half that may be read."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.identifiers", description=__doc__)
    for name in FOLDERS:
        parser.add_argument(f"--{name}", type=Path, metavar="FOLDER", help=f"checkout of {name}")
    parser.add_argument("--half", choices=("seen", "unseen", "both"), default="both")
    parser.add_argument("--suite", default="", help="only suites whose name contains this")
    parser.add_argument("--kind", default="", help="only kinds whose name contains this")
    parser.add_argument(
        "--failures",
        type=int,
        default=0,
        metavar="N",
        help="print N of each suite, of the seen half",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the counts")
    options = vars(parser.parse_args())

    sources = [
        extract(options[name.replace("-", "_")])
        for name, extract in FOLDERS.items()
        if options[name.replace("-", "_")]
    ]
    samples = [
        sample
        for sample in dict.fromkeys(chain(*sources, libraries.numbers(), libraries.phones()))
        if options["half"] in ("both", sample.half)
        and options["suite"] in sample.suite
        and options["kind"] in sample.kind
    ]
    counts, failures, seconds = measure(samples)
    for line in shown(failures, options["failures"]):
        print(line)
    suites = list(dict.fromkeys(sample.suite for sample in samples))
    header = ("suite", "seen half", "unseen half", "both", "alarms, seen", "alarms, unseen")
    print(table(header, [row(counts, suite) for suite in suites]))
    print(f"\n{len(samples)} texts, {1000 * seconds / max(1, len(samples)):.2f} ms a text")
    if options["json"]:
        figures = {" | ".join(key): n for key, n in sorted(counts.items())}
        result = circumstances("python -m benchmarks.identifiers") | {"counts": figures}
        options["json"].write_text(json.dumps(result, indent=1) + "\n")


def measure(samples: Sequence[Sample]) -> tuple[Counts, list[tuple[Sample, str]], float]:
    """Return counts by suite, half and outcome, the failures of the seen half, and the seconds.

    Each text is a conversation of its own: a value found in one must not be known in the next.
    """
    sanitizer = Sanitizer(policy="identifiers")
    start = time.perf_counter()
    results = sanitizer.sanitize_batch([sample.text for sample in samples], together=False)
    seconds = time.perf_counter() - start
    counts: Counts = Counter()
    failures = []
    for sample, result in zip(samples, results, strict=True):
        left = missed(sample, tuple(result.covered))
        outcome = ("found", "missed") if sample.spans else ("silent", "alarm")
        counts[sample.suite, sample.half, outcome[bool(left)]] += 1
        if left and sample.half == "seen":
            failures.append((sample, left))
    return counts, failures, seconds


def shown(failures: Sequence[tuple[Sample, str]], n: int) -> Iterator[str]:
    """Yield n failures of each suite and outcome, of as many kinds as there are."""
    of_kind: Counter[tuple[str, bool, str]] = Counter()
    ranked = []
    for sample, left in failures:
        key = (sample.suite, not sample.spans, sample.kind)
        of_kind[key] += 1
        ranked.append((key[:2], of_kind[key], key[2], left, sample.text))
    taken: Counter[tuple[str, bool]] = Counter()
    for suite, _, kind, left, text in sorted(ranked):
        taken[suite] += 1
        if taken[suite] <= n:
            label = "alarm" if suite[1] else "missed"
            yield f"{label}\t{suite[0]}\t{kind}\t{left}\t{text[:1000]!r}"


def row(counts: Counts, suite: str) -> list[str]:
    """Return the cells of a suite."""

    def cell(good: str, bad: str, *halves: str) -> str:
        n = sum(counts[suite, half, good] for half in halves)
        total = n + sum(counts[suite, half, bad] for half in halves)
        return f"{n} of {total} ({100 * n / total:.1f} %)" if total else ""

    found = [cell("found", "missed", *each) for each in (["seen"], ["unseen"], ["seen", "unseen"])]
    return [suite, *found, *(cell("alarm", "silent", half) for half in ("seen", "unseen"))]


if __name__ == "__main__":
    main()
