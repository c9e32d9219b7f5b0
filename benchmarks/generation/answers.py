"""Private few-shot answers: DPS-MOZO beside Wu et al.'s embedding-space aggregation, zero-shot and
few-shot.

    python -m benchmarks.generation.answers [--repetitions 8]

From the scores that `benchmarks.generation.membership` keeps: each sentence is to be labelled from
N_PARTS others of its repetition, one demonstration in each prompt. The figure is the chance of the
right label, at epsilon for one answer;
the neighbours: one demonstration replaced by null. All methods answer with one of the two labels, a
public vocabulary. The aggregation's parts have one demonstration each, its candidates are the two
labels, and its chance comes from the normal distribution of its noise along the line between their
vectors. DPS-MOZO multiplies N_PARTS distributions, so it is also compared with the zero-shot one to
that power, which reads nothing private. Few-shot without privacy is the product of the same
distributions. Intervals (95 %): sentences drawn again, 1,000 times.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from math import erf, exp, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.baselines.embedding_aggregation import EmbeddingAggregation
from benchmarks.common.intervals import interval, means
from benchmarks.common.machine import write
from benchmarks.common.sentences import SentenceEncoder
from benchmarks.common.tables import load, table
from benchmarks.generation.membership import DELTA, EPSILONS, LABELS, Asked, asked
from sanitizer.privacy import DPSMOZO, cost, largest, solve_range

N_PARTS = 8
Pair = NDArray[np.float32]
Answer = Callable[[Pair, Pair], float]
"""Scores of (right, wrong) label, [2] without and [N_PARTS, 2] with demonstrations: the chance of
the right one.
"""


def zero_shot(public: Pair, private: Pair) -> float:
    """Without demonstrations."""
    return 1 / (1 + exp(float(public[1] - public[0])))


def sharpened(public: Pair, private: Pair) -> float:
    """Return what DPS-MOZO comes to without demonstrations: the public chance to the power
    N_PARTS.
    """
    return 1 / (1 + exp(float(N_PARTS * (public[1] - public[0]))))


def few_shot(public: Pair, private: Pair) -> float:
    """Not private: the product of what the demonstrations say."""
    return 1 / (1 + exp(float((private[:, 1] - private[:, 0]).sum())))


def dps_mozo(range_: float) -> Answer:
    """The certified variant."""
    rule = DPSMOZO(N_PARTS, range_)

    def answer(public: Pair, private: Pair) -> float:
        right, wrong = rule.weights(np.vstack([public, private])).weights
        return right / (right + wrong)

    return answer


def aggregation(sigma: float, apart: float) -> Answer:
    """Embedding-space aggregation; `apart` is the distance of the two labels' unit vectors."""

    def answer(public: Pair, private: Pair) -> float:
        lead = (
            np.sign(private[:, 0] - private[:, 1]).sum() * apart / 2
        )  # along the line between the labels
        return (1 + erf(lead / sigma / sqrt(2))) / 2

    return answer


def sigma_for(epsilon: float, width: int) -> float:
    """The least noise that one answer needs."""
    return 1 / largest(
        lambda precision: EmbeddingAggregation(1 / precision).event(width), epsilon, DELTA, 1, 100.0
    )


def chances(data: list[Asked], answer: Answer) -> NDArray[np.float64]:
    """Of every sentence of every repetition, float64 [n]."""
    found = []
    for d in data:
        for i, pair in enumerate(zip(d.label, d.other, strict=True)):
            others = [(i + 1 + part) % len(d.label) for part in range(N_PARTS)]
            found.append(answer(d.public[i][list(pair)], d.private[others, i][:, list(pair)]))
    return np.array(found)


def measure(data: list[Asked]) -> list[dict[str, Any]]:
    """A row per method and epsilon."""
    vectors = SentenceEncoder().encode([label.strip() for label in LABELS])
    width, apart = vectors.shape[1], float(np.linalg.norm(vectors[0] - vectors[1]))
    answers: list[tuple[str, float | None, Answer]] = [
        ("zero-shot", 0.0, zero_shot),
        (f"zero-shot, to the power {N_PARTS}", 0.0, sharpened),
        ("few-shot, not private", None, few_shot),
    ]
    for epsilon in EPSILONS:
        range_, sigma = solve_range(epsilon, DELTA, 1), sigma_for(epsilon, width)
        assert cost(EmbeddingAggregation(sigma).event(width), 1, DELTA) <= epsilon
        answers.append(("DPS-MOZO, certified", epsilon, dps_mozo(range_)))
        answers.append(("embedding-space aggregation", epsilon, aggregation(sigma, apart)))
    rows = []
    for name, spent, answer in answers:
        found = chances(data, answer)
        row = {"method": name, "epsilon": spent, "n": len(found)} | interval(means(found))
        rows.append(row)
    return rows


def section() -> str:
    """The report's section, from results/answers.json."""
    data = load("answers")
    rows = [
        [
            r["method"],
            "infinite" if r["epsilon"] is None else f"{r['epsilon']:g}",
            f"{100 * r['mean']:.1f} ({100 * r['low']:.1f} to {100 * r['high']:.1f})",
        ]
        for r in data["results"]
    ]
    return (
        f"## Private few-shot answers\n\n`{data['circumstances']['command']}`: chance of the "
        f"right label of {data['results'][0]['n']} Rotten Tomatoes sentences, {N_PARTS} "
        "demonstrations, 95 % intervals.\n\n"
        + table(["method", "epsilon for an answer", "chance of the right label, percent"], rows)
    )


def main() -> None:
    """Measure, print, write results/answers.json."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--repetitions", type=int, default=8)
    options = parser.parse_args()
    rows = measure([asked(repetition, None) for repetition in range(options.repetitions)])
    print(json.dumps(rows, indent=1))
    print(
        write(
            "answers",
            f"python -m benchmarks.generation.answers --repetitions {options.repetitions}",
            rows,
        )
    )


if __name__ == "__main__":
    main()
