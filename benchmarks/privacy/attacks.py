"""What single settings give away, by the package's own attacks: `python -m
benchmarks.privacy.attacks [--quick]`.

Held-out Rotten Tomatoes sentences (the frontier's), policy strict, fresh draws of each. Beside the
frontier's three
attacks: several sends of one text with and without the conversation memory, the ceilings that
theory sets, how many different outputs a word has (S_t) and how often it stays (N_t). Intervals:
Wilson, 95 %, over draws.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from benchmarks.common.machine import say, write
from benchmarks.common.processes import processes
from benchmarks.common.sentences import rotten_tomatoes
from benchmarks.frontier.cells import N_TEST
from sanitizer import Cape, Sanitizer
from sanitizer.pipeline import WordMechanism
from sanitizer.privacy import DynText
from sanitizer.risk import run_attacks


def mechanisms(quick: bool) -> Iterator[tuple[str, WordMechanism]]:
    """Label and mechanism."""
    yield "Cape certified", Cape(5.0)
    if quick:
        return
    yield "Cape certified", Cape(3.0)
    yield "Cape certified", Cape(8.0)
    yield "Cape certified, not demoted", Cape(5.0, demote_self=False)
    yield "DynText certified", DynText(10.0)
    yield "Cape published", Cape(10.0, variant="published")
    yield "DynText published", DynText(10.0, variant="published")


def attacked(
    mechanism: WordMechanism, texts: list[str], trials: int
) -> tuple[float, dict[str, Any]]:
    """Epsilon and what the attacks found."""
    return mechanism.epsilon, run_attacks(
        Sanitizer(mechanism, policy="strict"), texts, trials
    ).as_dict()


def main() -> None:
    """Attack, and write results/attacks.json."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="two sentences, one setting")
    parser.add_argument("--sentences", type=int, default=12)
    parser.add_argument("--trials", type=int, default=100)
    options = parser.parse_args()
    n, trials = (2, 20) if options.quick else (options.sentences, options.trials)
    texts = [text for text, _ in rotten_tomatoes()[:N_TEST][:n]]
    rows: list[dict[str, Any]] = []
    with processes() as pool:
        jobs = [
            (label, pool.submit(attacked, mechanism, texts, trials))
            for label, mechanism in mechanisms(options.quick)
        ]
        for label, job in jobs:
            epsilon, found = job.result()
            rows.append({"label": label, "epsilon": epsilon, "attacks": found})
            say(f"{label} {epsilon:g}: best guess {found['posterior']['success']}")
    command = (
        f"python -m benchmarks.privacy.attacks{' --quick' * options.quick} --sentences {n} "
        f"--trials {trials}"
    )
    print(write("attacks", command, {"n_sentences": n, "n_trials": trials, "rows": rows}))


if __name__ == "__main__":
    main()
