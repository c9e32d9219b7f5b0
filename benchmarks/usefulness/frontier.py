"""A few points of the frontier on sentences of this project's own prompts.

    python -m benchmarks.usefulness.frontier [--quick] [--sentences N]

One sentence of each of 100 prompts that may be read (benchmarks/usefulness/prompts), of 8 to 40
words, in the place of film reviews: what people ask and tell, with names, numbers and programs.
Figures and exact epsilons are those of `benchmarks.frontier.run`; the accuracy of a classifier of
reviews is left out. Writes results/frontier_prompts.json.
"""

from __future__ import annotations

import argparse
import random
import re
from typing import Any

from benchmarks.common.intervals import SEED, summary
from benchmarks.common.machine import say, write
from benchmarks.frontier.cells import Bench, Circumstances, Job
from benchmarks.frontier.run import audits
from benchmarks.frontier.settings import SHORTLIST, Setting
from benchmarks.usefulness.prompts import labelled

N_SENTENCES, N_QUICK = 100, 5
SETS = ("dev", "open", "second_open")
SHORTEST, LONGEST = 8, 40  # words
LEFT_OUT = ("accuracy",)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")


def sentences(n: int) -> list[tuple[str, int]]:
    """Return n sentences, one of a prompt, in a fixed order; their labels mean nothing."""
    found = []
    for prompt in (prompt for name in SETS for prompt in labelled(name)):
        parts = (part.strip() for part in _SENTENCE.split(prompt.text))
        fitting = [part for part in parts if SHORTEST <= len(part.split()) <= LONGEST]
        if fitting:
            found.append((fitting[0], 0))
    random.Random(SEED).shuffle(found)
    return found[:n]


def chosen(quick: bool) -> list[Setting]:
    """Return what is measured: at 3, 5 and 8, and published mechanisms at their own 10."""
    found = []
    for e in (5.0,) if quick else (3.0, 5.0, 8.0):
        found += [
            Setting("Cape certified", "cape certified", e),
            Setting("Cape certified, not demoted", "cape certified", e, {"demote_self": False}),
            Setting("DynText certified", "dyntext certified", e),
            Setting("SANTEXT", "santext", e, solve=True),
            Setting("exponential, shortlist", "exponential", e, SHORTLIST, solve=True),
            Setting("randomized response, shortlist", "randomized response", e, SHORTLIST),
        ]
    return [*found, Setting("Cape published", "cape published", 10.0)]


class OwnPrompts(Bench):
    """The models and subjects, on prompts.

    Args:
        n: how many sentences.
    """

    def __init__(self, circumstances: Circumstances, n: int) -> None:
        super().__init__(circumstances)
        self._test = sentences(n)


def run(quick: bool, n: int) -> dict[str, Any]:
    """Measure every setting on every group of n sentences."""
    circumstances = Circumstances(n_training=300) if quick else Circumstances()
    _, audit = audits(circumstances, quick)
    solved = [(setting, *audit.solved(setting)) for setting in chosen(quick)]
    bench = OwnPrompts(circumstances, n)
    figures: list[dict[str, list[float]]] = [{} for _ in solved]
    n_groups = -(-n // circumstances.size)
    for number in range(n_groups):
        job = Job("strict", number, tuple((setting, own) for setting, own, _ in solved))
        for sums, cell in zip(figures, bench.run(job), strict=True):
            for name, values in cell["figures"].items():
                sums.setdefault(name, []).extend(values)
        say(f"[{number + 1}/{n_groups}]")
    rows = [
        {
            "setting": vars(setting) | {"options": setting.options},
            "own_epsilon": own,
            **exact.as_dict(),
            "figures": {k: v for k, v in summary(sums).items() if k not in LEFT_OUT},
        }
        for (setting, own, exact), sums in zip(solved, figures, strict=True)
    ]
    return {
        "n_sentences": len(figures[0]["n_words"]),
        "n_words": int(sum(figures[0]["n_words"])),
        "n_guessed": int(sum(figures[0]["n_guessed"])),
        "bootstrap_seed": SEED,
        "rows": rows,
    }


def main(quick: bool, n: int) -> None:
    """Measure, and write the results."""
    command = f"python -m benchmarks.usefulness.frontier{' --quick' * quick} --sentences {n}"
    print(write("frontier_prompts", command, run(quick, n)))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="5 sentences, one epsilon")
    parser.add_argument("--sentences", type=int)
    options = parser.parse_args()
    wanted = options.sentences or (N_QUICK if options.quick else N_SENTENCES)
    main(options.quick, wanted)
