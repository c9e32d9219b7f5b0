"""Mechanisms of others that draw a word from a fixed list of outputs, as exact probabilities.

All get the same word vectors, scaled to length one, so that a Euclidean distance lies in [0, 2] and
they can be compared: their papers use vectors of several kinds and scales.

- SANTEXT (Yue et al., "Differential Privacy for Text Analytics via Natural Text Sanitization",
  2021, algorithm 1): P(y | w) proportional to exp(-eps d(w, y) / 2). It claims and keeps an
  eps d(w, w')-metric local DP; under replace-one its epsilon is up to eps times the largest
  distance, and the audit gives the exact value.
- The exponential mechanism (McSherry and Talwar, 2007) with Cape's hybrid utility, without its
  buckets: P(y | w) proportional to exp(eps u / 2), u = L^lambda_l exp(-lambda_d (1 - cosine)) in
  [0, 1]. It claims and keeps eps-DP, if the scores L read public or released text only, as here;
  the exact epsilon is a little smaller, since no pair of words uses the whole range of u. Over a
  public shortlist the claim holds as well: it is the same for every private word.
- k-ary randomized response (Kairouz, Oh, Viswanath, "Extremal Mechanisms for Local Differential
  Privacy", 2014): the word itself, or the output nearest to it, has e^eps times the probability of
  every other output. Exactly eps-DP. A word of which nothing is known is drawn uniformly, with
  probabilities between the two levels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import exp

import numpy as np
from numpy.typing import NDArray

from sanitizer.lm.word_vectors import WordTable

Floats = NDArray[np.float64]
Vectors = NDArray[np.float32]
Places = NDArray[np.intp]


@dataclass(frozen=True)
class Inputs:
    """Private words as a baseline reads them.

    Attributes:
        distances: float32 [n_words, n_outputs] in [0, 2].
        nearest: int [n_words], the output that is the word itself or else nearest to it; -1:
            nothing is known of it.
        scores: float32 [n_outputs] in [0, 1], how well each output fits the public context; None if
            not read.
    """

    distances: Vectors
    nearest: Places
    scores: Vectors | None = None

    @classmethod
    def of(
        cls, distances: Vectors, known: NDArray[np.bool_], scores: Vectors | None = None
    ) -> Inputs:
        """Find the nearest outputs; `known` bool [n_words]."""
        return cls(distances, np.where(known, distances.argmin(axis=1), -1).astype(np.intp), scores)


Baseline = Callable[[float, Inputs], Floats]
"""Function (epsilon, inputs) -> float64 [n_words, n_outputs], each row adds up to 1."""


class WordVectors:
    """Unit vectors of the private words and of the outputs.

    Args:
        table: the packaged word vectors.
    """

    def __init__(self, table: WordTable) -> None:
        self._table = table
        self.outputs: Vectors = (
            table.output_vectors.astype(np.float32) / table.output_norms[:, None]
        )

    def of(self, words: Sequence[str]) -> tuple[Vectors, NDArray[np.bool_]]:
        """Return float32 [n_words, n_dimensions], zero where a word has none, and bool [n_words],
        which have one.
        """
        rows = np.array([self._table.row(word) for word in words], dtype=np.intp)
        return np.where(rows[:, None] >= 0, self._table.unit(rows), 0).astype(np.float32), rows >= 0

    def inputs(
        self, words: Sequence[str], outputs: Places | None = None, scores: Vectors | None = None
    ) -> Inputs:
        """Measure words against the outputs, or some of them (int [n]). An unknown word is equally
        far from all.
        """
        vectors, known = self.of(words)
        others = self.outputs if outputs is None else self.outputs[outputs]
        return Inputs.of(euclidean(vectors @ others.T), known, scores)


def euclidean(cosines: Vectors) -> Vectors:
    """Return distances of unit vectors, float32 like `cosines`."""
    return np.sqrt(np.maximum(2 - 2 * cosines, 0)).astype(np.float32)


def softmax(scores: NDArray[np.floating]) -> Floats:
    """Return rows that add up to 1, float64 like `scores` [n, m]; -inf has probability 0."""
    odds = np.exp(scores.astype(np.float64) - scores.max(axis=1, keepdims=True))
    return np.asarray(odds / odds.sum(axis=1, keepdims=True))


def santext(epsilon: float, inputs: Inputs) -> Floats:
    """Return SANTEXT's probabilities; epsilon is per unit of distance."""
    return softmax(-epsilon / 2 * inputs.distances)


def exponential(
    epsilon: float, inputs: Inputs, lambda_l: float = 0.5, lambda_d: float = 3.0
) -> Floats:
    """Return the exponential mechanism's probabilities, with the weights of Cape's default."""
    utility = np.exp(-lambda_d * inputs.distances.astype(np.float64) ** 2 / 2)
    if inputs.scores is not None:
        utility *= inputs.scores**lambda_l
    return softmax(epsilon / 2 * utility)


def randomized_response(epsilon: float, inputs: Inputs) -> Floats:
    """Return randomized response's probabilities."""
    n_words, n = inputs.distances.shape
    whole = exp(epsilon) + n - 1
    p = np.full((n_words, n), 1 / whole)
    known = np.flatnonzero(inputs.nearest >= 0)
    p[known, inputs.nearest[known]] = exp(epsilon) / whole
    p[inputs.nearest < 0] = 1 / n
    return p
