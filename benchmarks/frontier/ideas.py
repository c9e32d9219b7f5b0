"""Ideas to move certified Cape's frontier, tried on public sentences that are never tested on.

    python -m benchmarks.frontier.ideas [--quick] [--sentences N]

Figures per word come from exact distributions (benchmarks/frontier/measures.py), policy strict;
each idea's difference to the shipped setting at the same epsilon is paired over sentences.
`n_steps` changes the context from draw to draw, so its figures come from fresh draws.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import cache
from typing import Any

from benchmarks.common.intervals import interval, replicates
from benchmarks.common.machine import say, write
from benchmarks.common.processes import processes
from benchmarks.frontier.cells import Circumstances
from benchmarks.frontier.groups import Group, Tools
from benchmarks.frontier.measures import EXACT, Figures, of_words
from benchmarks.frontier.mechanisms import Makers
from sanitizer import Cape, Sanitizer
from sanitizer.lm import OnnxMaskedLM, WordPieces

EPSILONS = (3.0, 5.0, 8.0, 10.0)
SHIPPED = "as shipped"
SHAPES: dict[str, dict[str, Any]] = {
    SHIPPED: {},
    "the word itself ranked (not demoted)": {"demote_self": False},
    "one at the top": {"n_top": 1},
    "one at the top, not demoted": {"n_top": 1, "demote_self": False},
    "six at the top": {"n_top": 6},
    "shortlist of 50": {"n_shortlist": 50},
    "shortlist of 200": {"n_shortlist": 200},
    "shortlist of 500": {"n_shortlist": 500},
    "shortlist of 200, one at the top": {"n_shortlist": 200, "n_top": 1},
    "shortlist of 1000, one at the top, not demoted": {
        "n_shortlist": 1000,
        "n_top": 1,
        "demote_self": False,
    },
    "shortlist of 4000": {"n_shortlist": 4000},
    "meaning weighs twice as much": {"lambda_d": 6.0},
    "meaning alone": {"lambda_l": 0.0},
    "context weighs twice as much": {"lambda_l": 1.0},
    "prior": {"profile": "prior"},
    "prior, a third of the mass": {"profile": "prior", "top_mass": 0.003},
    "geometric": {"profile": "geometric"},
}
FIGURES = (*EXACT, "mapping", "map")


def exact(group: Group, makers: Makers, epsilon: float) -> list[dict[str, Any]]:
    """A row for each shape: means with intervals, and differences to the shipped one."""
    subjects = [makers.make("cape certified", epsilon, options) for options in SHAPES.values()]
    found: list[Figures] = [{} for _ in subjects]
    for places in group.places:
        for figures, (sums, _) in zip(
            found, of_words(group.tools.tokens, subjects, places, 1), strict=True
        ):
            for name, value in sums.items():
                figures.setdefault(name, []).append(value)
    shipped = found[list(SHAPES).index(SHIPPED)]
    return [
        {
            "epsilon": epsilon,
            "idea": name,
            "options": options,
            **{n: interval(replicates(figures, n)) for n in FIGURES},
            "gain": {n: interval(replicates(figures, n) - replicates(shipped, n)) for n in FIGURES},
        }
        for (name, options), figures in zip(SHAPES.items(), found, strict=True)
    ]


def stepwise(group: Group, epsilon: float, n_steps: int, n_draws: int) -> Figures:
    """Sums of the words' cosine per sentence, over fresh draws of the whole text."""
    sanitizer = Sanitizer(Cape(epsilon, n_steps=n_steps), policy="strict", model=group.tools.model)
    sums: Figures = {"cosine": [], "n_words": []}
    for text, _ in group.sentences:
        replaced = [
            r
            for _ in range(n_draws)
            for r in sanitizer.sanitize(text, fresh=True).replacements
            if r.kind == "word" and r.original is not None
        ]
        tokens = group.tools.tokens
        sums["cosine"].append(sum(tokens.cosine(r.original or "", r.replacement) for r in replaced))
        sums["n_words"].append(len(replaced))
    return sums


def in_steps(
    group: Group, epsilon: float, steps: Sequence[int], n_draws: int
) -> list[dict[str, Any]]:
    """A row for each number of steps, with differences to one step."""
    found = {n: replicates(stepwise(group, epsilon, n, n_draws), "cosine") for n in steps}
    return [
        {
            "epsilon": epsilon,
            "idea": f"{n} step{'s' * (n > 1)}, drawn",
            "options": {"n_steps": n},
            "cosine": interval(values),
            "gain": {"cosine": interval(values - found[steps[0]])},
        }
        for n, values in found.items()
    ]


@cache
def bench(n: int) -> tuple[Group, Makers]:
    """Sentences and what makes the mechanisms."""
    model = OnnxMaskedLM(threads=1)
    tools = Tools(model, WordPieces(model.folder / "tokenizer.json"))
    return Group(tools, Circumstances().training()[:n], "strict", 2, 0), Makers(model, tools.pieces)


def at(epsilon: float, n: int) -> dict[str, Any]:
    """All ideas at one epsilon on n sentences; how many of these have private words, and how many
    words.
    """
    group, makers = bench(n)
    rows = [*exact(group, makers, epsilon), *in_steps(group, epsilon, (1, 2, 4), 3)]
    return {
        "n_sentences": len(group.sentences),
        "n_words": sum(map(len, group.places)),
        "rows": rows,
    }


def main() -> None:
    """Measure all ideas, write results/ideas.json."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="2 sentences, epsilon 5")
    parser.add_argument("--sentences", type=int, default=100)
    options = parser.parse_args()
    n, epsilons = (2, (5.0,)) if options.quick else (options.sentences, EPSILONS)
    parts: list[dict[str, Any]] = []
    with processes() as pool:
        for epsilon, part in zip(
            epsilons, pool.map(at, epsilons, [n] * len(epsilons)), strict=True
        ):
            say(
                f"epsilon {epsilon:g}: "
                + str({r["idea"]: round(float(r["cosine"]["mean"]), 3) for r in part["rows"]})
            )
            parts.append(part)
    command = f"python -m benchmarks.frontier.ideas{' --quick' * options.quick} --sentences {n}"
    print(
        write(
            "ideas", command, parts[0] | {"rows": [row for part in parts for row in part["rows"]]}
        )
    )


if __name__ == "__main__":
    main()
