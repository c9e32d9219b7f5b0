"""Ideas to move certified Cape's frontier, tried on public sentences that are never tested on.

    python -m benchmarks.ideas [--sentences N]

Figures per word from exact distributions (benchmarks/measures.py), policy strict. `n_steps` changes the context from
draw to draw, so its figures come from fresh draws.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from benchmarks.frontier import Harness, Setting
from benchmarks.intervals import interval, replicates
from benchmarks.machine import write
from benchmarks.measures import EXACT, Bench
from sanitizer import Cape, Policy, Sanitizer

EPSILONS = (3.0, 5.0, 8.0, 10.0)
SHAPES: dict[str, dict[str, Any]] = {
    "as shipped": {},
    "not demoted": {"demote_self": False},
    "one at the top": {"n_top": 1},
    "one at the top, not demoted": {"n_top": 1, "demote_self": False},
    "two at the top": {"n_top": 2},
    "six at the top": {"n_top": 6},
    "shortlist of 50": {"n_shortlist": 50},
    "shortlist of 200": {"n_shortlist": 200},
    "shortlist of 500": {"n_shortlist": 500},
    "shortlist of 200, one at the top": {"n_shortlist": 200, "n_top": 1},
    "shortlist of 100": {"n_shortlist": 100},
    "shortlist of 100, not demoted": {"n_shortlist": 100, "demote_self": False},
    "shortlist of 1000, one at the top, not demoted": {"n_shortlist": 1000, "n_top": 1, "demote_self": False},
    "shortlist of 4000, one at the top, not demoted": {"n_shortlist": 4000, "n_top": 1, "demote_self": False},
    "shortlist of 4000": {"n_shortlist": 4000},
    "meaning weighs twice as much": {"lambda_d": 6.0},
    "meaning alone": {"lambda_l": 0.0},
    "context weighs twice as much": {"lambda_l": 1.0},
    "prior": {"profile": "prior"},
    "prior, a third of the mass": {"profile": "prior", "top_mass": 0.003},
    "geometric": {"profile": "geometric"},
}


def exact(bench: Bench, harness: Harness, epsilon: float, options: dict[str, Any]) -> dict[str, Any]:
    """Means with intervals of one shape."""
    subject = harness.subject(Setting("", "cape certified", epsilon, options))
    found: dict[str, list[float]] = {}
    for places in bench.places:
        for name, value in bench.of_words(subject, places, 1)[0].items():
            found.setdefault(name, []).append(value)
    return {name: interval(replicates(found, name)) for name in (*EXACT, "map")}


def stepwise(bench: Bench, harness: Harness, epsilon: float, n_steps: int, n_draws: int) -> dict[str, Any]:
    """The words' mean cosine over fresh draws of the whole text."""
    mechanism = Cape(epsilon, n_steps=n_steps)
    sanitizer = Sanitizer(mechanism, Policy.preset("strict"), model=harness.model)
    sums: dict[str, list[float]] = {"cosine": [], "n_words": []}
    for text, _ in bench.sentences:
        replaced = [
            r
            for _ in range(n_draws)
            for r in sanitizer.sanitize(text, fresh=True).replacements
            if r.kind == "word" and r.original is not None
        ]
        sums["cosine"].append(sum(bench.tokens.cosine(r.original or "", r.replacement) for r in replaced))
        sums["n_words"].append(len(replaced))
    return {"cosine": interval(replicates(sums, "cosine"))}


def main() -> None:
    """Measure all ideas, write results/ideas.json."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sentences", type=int, default=150)
    parser.add_argument("--epsilons", type=float, nargs="+", default=EPSILONS)
    parser.add_argument("--only", default="", help="ideas that contain this")
    parser.add_argument("--threads", type=int)
    options = parser.parse_args()
    harness = Harness(options.sentences, 1, 1, 2, options.threads)
    bench = harness.untested("strict")
    rows = []
    for epsilon in options.epsilons:
        for name, shape in ((k, v) for k, v in SHAPES.items() if options.only in k):
            rows.append({"epsilon": epsilon, "idea": name, "options": shape, **exact(bench, harness, epsilon, shape)})
            print(epsilon, name, {k: round(rows[-1][k]["mean"], 3) for k in (*EXACT, "map")}, flush=True)
        for n_steps in (1, 2, 4) if options.only in "steps" else ():
            figures = stepwise(bench, harness, epsilon, n_steps, 3)
            rows.append(
                {"epsilon": epsilon, "idea": f"{n_steps} steps, drawn", "options": {"n_steps": n_steps}, **figures}
            )
            print(epsilon, rows[-1]["idea"], np.round(figures["cosine"]["mean"], 3), flush=True)
    if not options.only:
        print(write("ideas", f"python -m benchmarks.ideas --sentences {options.sentences}", rows))


if __name__ == "__main__":
    main()
