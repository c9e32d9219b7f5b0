"""Structured identifiers against Presidio's pattern recognizers and datafog's regex engine.

    python -m benchmarks.peers.identifiers [--presidio PYTHON] [--datafog PYTHON] [--quick]

PYTHON is the interpreter of an environment with `presidio-analyzer` or `datafog` installed; a peer
that is not named is left out, and the result says so. Each tool runs in a process of its own with
one thread, in turns with the others, on the same texts: the held-out half (odd templates; nothing
was tuned on it) of 1,500 synthetic ones (PyPI `presidio-evaluator` 0.3.2), and two long ordinary
ones.

A labelled span counts as found when any span of a matching kind shares a character with it, and a
found span as right when it does so with a labelled span of a type in `ALLOWED`. Intervals are
Wilson's at 95 %.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

from benchmarks.common.machine import parser, write
from benchmarks.common.processes import Worker, tool_of
from benchmarks.common.texts import of_length
from benchmarks.common.timing import Times, median, ratio
from benchmarks.peers.tools import OURS
from models.build.fetch import member
from sanitizer.risk.attacks import Rate

TYPES: dict[str, dict[str, Collection[str]]] = {
    "CREDIT_CARD": {OURS: ["CARD"], "presidio": ["CREDIT_CARD"], "datafog": ["CREDIT_CARD"]},
    "IBAN_CODE": {OURS: ["IBAN"], "presidio": ["IBAN_CODE"]},
    "US_SSN": {OURS: ["SSN"], "presidio": ["US_SSN"], "datafog": ["SSN"]},
    "IP_ADDRESS": {OURS: ["IP"], "presidio": ["IP_ADDRESS"], "datafog": ["IP_ADDRESS"]},
    "EMAIL_ADDRESS": {OURS: ["EMAIL"], "presidio": ["EMAIL_ADDRESS"], "datafog": ["EMAIL"]},
    "PHONE_NUMBER": {OURS: ["PHONE"], "presidio": ["PHONE_NUMBER"], "datafog": ["PHONE"]},
    "DOMAIN_NAME": {OURS: ["URL", "LINK"], "presidio": ["URL"]},
    "DATE_TIME": {OURS: ["DATE", "DATE_OF_BIRTH"], "presidio": ["DATE_TIME"], "datafog": ["DOB"]},
    "STREET_ADDRESS": {OURS: ["ADDRESS"]},
    "ZIP_CODE": {OURS: ["POSTCODE"], "datafog": ["ZIP"]},
    "US_DRIVER_LICENSE": {OURS: ["LICENCE"], "presidio": ["US_DRIVER_LICENSE"]},
}
"""Type of the set -> tool -> its kinds that count as it."""
ALLOWED = {"ZIP_CODE": "STREET_ADDRESS", "DOMAIN_NAME": "EMAIL_ADDRESS"}
"""A postal code within a labelled street address is right, and so is the domain within an e-mail
address."""
SHARED = "kinds both know"
Span = tuple[int, int, str]


def share(hits: int, n: int) -> dict[str, Any]:
    """Return a proportion with its Wilson 95 % interval; None when there was nothing to count."""
    if not n:
        return {"hits": 0, "n": 0, "value": None, "interval_95": None}
    rate = Rate.of(hits, n)
    return {"hits": hits, "n": n, "value": rate.share, "interval_95": [rate.low, rate.high]}


def _meets(a: Span, others: Iterable[Span]) -> bool:
    return any(a[0] < b[1] and b[0] < a[1] for b in others)


def score(
    texts: list[dict[str, Any]], found: list[list[Span]], kind: str, labels: Collection[str]
) -> dict[str, Any]:
    """Return precision and recall of one tool on one type."""
    counts = [0, 0, 0, 0]
    for text, spans in zip(texts, found, strict=True):
        gold = [(s["start_position"], s["end_position"], s["entity_type"]) for s in text["spans"]]
        wanted = [g for g in gold if g[2] == kind]
        right = [g for g in gold if g[2] in (kind, ALLOWED.get(kind))]
        mine = [s for s in spans if s[2] in labels]
        counts[0] += sum(_meets(g, mine) for g in wanted)
        counts[1] += len(wanted)
        counts[2] += sum(_meets(s, right) for s in mine)
        counts[3] += len(mine)
    return {"overlap": {"recall": share(*counts[:2]), "precision": share(*counts[2:])}}


def quality(workers: dict[str, Worker], texts: list[dict[str, Any]]) -> dict[str, Any]:
    """Return type -> tool -> recall and precision."""
    spans = {
        name: worker.ask({"do": "find", "texts": [t["full_text"] for t in texts]})["spans"]
        for name, worker in workers.items()
    }
    return {
        kind: {
            name: score(texts, spans[name], kind, labels)
            for name, labels in of_tools.items()
            if name in spans
        }
        for kind, of_tools in TYPES.items()
    }


def timed(workers: dict[str, Worker], texts: list[str], rounds: int) -> Times:
    """Return seconds of each tool per kilobyte (1,000 bytes of UTF-8), in turns; each timed call
    comes after an untimed text.
    """
    times: Times = {name: [] for name in workers}
    kilobytes = sum(len(text.encode()) for text in texts) / 1000
    for _ in range(rounds):
        for name, worker in workers.items():
            worker.ask({"do": "find", "texts": texts[:1]})
            times[name].append(worker.ask({"do": "find", "texts": texts})["seconds"] / kilobytes)
    return times


def speed(
    workers: dict[str, Worker], shared: dict[str, Worker], short: list[str]
) -> list[dict[str, Any]]:
    """Return the time per kilobyte on each kind of text, with all kinds and with datafog's only."""
    readme = (Path(__file__).parents[2] / "README.md").read_text("utf-8")
    rows = []
    for name, texts, rounds in (
        ("the set", short, 9),
        ("long prose", [of_length(2_000)], 25),
        ("this README", [readme], 25),
    ):
        for kinds, used in (("all kinds of each", workers), (SHARED, shared)):
            times = timed(used, texts, rounds)
            ratios = {f"{t}_over_ours": ratio(times[t], times[OURS]) for t in times if t != OURS}
            each = {tool: median(found, 1e6) for tool, found in times.items()}
            rows.append({"texts": name, "kinds": kinds, "us_per_kilobyte": each, "ratios": ratios})
    return rows


def main() -> None:
    """Measure, write results/identifiers.json."""
    line = parser(__doc__, "50 texts")
    line.add_argument("--presidio", help="interpreter of an environment with presidio-analyzer")
    line.add_argument("--datafog", help="interpreter of an environment with datafog")
    options = line.parse_args()
    workers = {OURS: tool_of(OURS, sys.executable)}
    if options.presidio:
        workers["presidio"] = tool_of("presidio, patterns", options.presidio)
    if options.datafog:
        workers["datafog"] = tool_of("datafog", options.datafog)
    shared = {OURS: tool_of("ours, shared kinds", sys.executable)}
    shared |= {name: worker for name, worker in workers.items() if name == "datafog"}
    texts = json.loads(member("pii_texts", "data/synth_dataset_v2.json"))
    held = [t for t in texts if t["template_id"] % 2][: 50 if options.quick else None]
    results = {
        "versions": {tool: worker.versions for tool, worker in workers.items()},
        "not_run": sorted({"presidio", "datafog"} - set(workers)),
        "n_texts": {"held out": len(held)},
        "speed": speed(workers, shared, [t["full_text"] for t in held]),
        "quality": {"held out": quality(workers, held)},
    }
    for worker in (*workers.values(), shared[OURS]):
        worker.close()
    write("identifiers", results)


if __name__ == "__main__":
    main()
