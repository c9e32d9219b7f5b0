"""Structured identifiers against Presidio's pattern recognizers and datafog's regex engine.

    python -m benchmarks.peers.identifiers [--presidio PYTHON] [--datafog PYTHON]

PYTHON is the interpreter of an environment with `presidio-analyzer` or `datafog` installed; a peer
that is not named is left out, and the result says so. Each tool runs in a process of its own with
one thread, in
turns with the others, on the same texts: 1,500 synthetic ones (PyPI `presidio-evaluator` 0.3.2,
downloaded once and checked), and two long ordinary ones. The set is split by template: even numbers
for development, odd ones held out; nothing was tuned on the second half.

Presidio runs its default English pattern recognizers at its default score threshold, which is 0,
and once more at 0.4. Its language engine is spaCy's blank English tokenizer with the lower-cased
token for its lemma: no named entities, but its context words work.

Matching: "overlap" counts a labelled span as found when any span of a matching kind shares a
character with it, and a found span as right when it does so with a labelled span of a type in
`ALLOWED`. "Exact" wants the same start and end. Intervals are Wilson's at 95 %.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable
from math import sqrt
from pathlib import Path
from typing import Any

from benchmarks.common.machine import parser, write
from benchmarks.common.processes import Worker, tool_of
from benchmarks.common.texts import of_length
from benchmarks.common.timing import Times, median, ratio
from benchmarks.peers.tools import OURS
from models.build.fetch import member

# Type of the set -> kinds or labels that count as it: ours, Presidio's, datafog's.
TYPES: dict[str, tuple[set[str], set[str], set[str]]] = {
    "CREDIT_CARD": ({"CARD"}, {"CREDIT_CARD"}, {"CREDIT_CARD"}),
    "IBAN_CODE": ({"IBAN"}, {"IBAN_CODE"}, set()),
    "US_SSN": ({"SSN"}, {"US_SSN"}, {"SSN"}),
    "IP_ADDRESS": ({"IP"}, {"IP_ADDRESS"}, {"IP_ADDRESS"}),
    "EMAIL_ADDRESS": ({"EMAIL"}, {"EMAIL_ADDRESS"}, {"EMAIL"}),
    "PHONE_NUMBER": ({"PHONE"}, {"PHONE_NUMBER"}, {"PHONE"}),
    "DOMAIN_NAME": ({"URL", "LINK"}, {"URL"}, set()),
    "DATE_TIME": ({"DATE", "DATE_OF_BIRTH"}, {"DATE_TIME"}, {"DOB"}),
    "STREET_ADDRESS": ({"ADDRESS"}, set(), set()),
    "ZIP_CODE": ({"POSTCODE"}, set(), {"ZIP"}),
    "US_DRIVER_LICENSE": ({"LICENCE"}, {"US_DRIVER_LICENSE"}, set()),
}
# A postal code within a labelled street address is right, and so is the domain within an e-mail
# address.
ALLOWED = {"ZIP_CODE": {"STREET_ADDRESS"}, "DOMAIN_NAME": {"EMAIL_ADDRESS"}}
TOOLS = {"ours": 0, "presidio": 1, "presidio_at_0.4": 1, "datafog": 2}
SHARED = "kinds both know"
Span = tuple[int, int, str]


def wilson(hits: int, n: int, z: float = 1.959964) -> dict[str, Any]:
    """A proportion with its Wilson 95 % interval; None when there was nothing to count."""
    if not n:
        return {"hits": 0, "n": 0, "value": None, "interval_95": None}
    p, d = hits / n, 1 + z * z / n
    middle, half = (p + z * z / (2 * n)) / d, z * sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / d
    return {
        "hits": hits,
        "n": n,
        "value": p,
        "interval_95": [max(0.0, middle - half), min(1.0, middle + half)],
    }


def _meets(a: Span, others: Iterable[Span], exact: bool) -> bool:
    return any((a[:2] == b[:2]) if exact else (a[0] < b[1] and b[0] < a[1]) for b in others)


def score(
    texts: list[dict[str, Any]], found: list[list[Span]], kind: str, labels: set[str]
) -> dict[str, Any]:
    """Precision and recall of one tool on one type, by overlap and exactly."""
    result: dict[str, Any] = {}
    for rule in ("overlap", "exact"):
        exact, counts = rule == "exact", [0, 0, 0, 0]
        for text, spans in zip(texts, found, strict=True):
            gold = [
                (s["start_position"], s["end_position"], s["entity_type"]) for s in text["spans"]
            ]
            wanted = [g for g in gold if g[2] == kind]
            right = (
                wanted if exact else [g for g in gold if g[2] in {kind} | ALLOWED.get(kind, set())]
            )
            mine = [s for s in spans if s[2] in labels]
            counts[0] += sum(_meets(g, mine, exact) for g in wanted)
            counts[1] += len(wanted)
            counts[2] += sum(_meets(s, right, exact) for s in mine)
            counts[3] += len(mine)
        result[rule] = {"recall": wilson(*counts[:2]), "precision": wilson(*counts[2:])}
    return result


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


def quality(workers: dict[str, Worker], halves: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    """Half of the set -> type -> tool -> rule -> recall and precision."""
    result: dict[str, Any] = {}
    for half, texts in halves.items():
        spans: dict[str, list[list[Span]]] = {}
        for tool, worker in workers.items():
            answer = worker.ask({"do": "find", "texts": [t["full_text"] for t in texts]})
            spans[tool] = [[(s[0], s[1], s[2]) for s in found] for found in answer["spans"]]
            if tool == "presidio":
                kept = [[s for s in found if s[3] >= 0.4] for found in answer["spans"]]
                spans["presidio_at_0.4"] = [[(s[0], s[1], s[2]) for s in found] for found in kept]
        result[half] = {
            kind: {
                tool: score(texts, spans[tool], kind, names[TOOLS[tool]])
                for tool in spans
                if names[TOOLS[tool]]
            }
            for kind, names in TYPES.items()
        }
    return result


def below_presidio(found: dict[str, Any]) -> list[str]:
    """Where ours is below Presidio's at its default threshold, by overlap, on types both know.

    Where ours found nothing and nothing was to be found, its precision is not a number and not
    below.
    """
    lines = []
    for half, kinds in found.items():
        for kind, tools in kinds.items():
            for measure in ("recall", "precision") if "presidio" in tools else ():
                ours, theirs = (
                    tools[tool]["overlap"][measure]["value"] for tool in ("ours", "presidio")
                )
                if theirs is not None and ours is not None and ours < theirs:
                    lines.append(f"{half} {kind} {measure}: {ours} < {theirs}")
    return lines


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


def main() -> int:
    """Measure, print, write results/identifiers.json."""
    line = parser(__doc__, "50 texts of each half")
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
    halves = {
        name: [t for t in texts if t["template_id"] % 2 == odd][: 50 if options.quick else None]
        for odd, name in enumerate(("development", "held out"))
    }
    began = time.perf_counter()
    found = quality(workers, halves)
    results = {
        "versions": {tool: worker.versions for tool, worker in workers.items()},
        "not_run": sorted({"presidio", "datafog"} - set(workers)),
        "n_texts": {half: len(part) for half, part in halves.items()},
        "matching": " ".join((__doc__ or "").split("Matching:")[1].split()),
        "speed": speed(workers, shared, [t["full_text"] for half in halves.values() for t in half]),
        "below_presidio": below_presidio(found),
        "quality": found,
    }
    for worker in (*workers.values(), shared[OURS]):
        worker.close()
    print(json.dumps({key: results[key] for key in results if key != "quality"}, indent=1))
    print(f"{time.perf_counter() - began:.0f} s")
    write("identifiers", results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
