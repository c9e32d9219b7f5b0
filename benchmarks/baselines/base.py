"""What the word-level baselines share: their inputs, and the interface of a mechanism over a fixed
output list.

All baselines get the same word vectors, scaled to length one, so a Euclidean distance lies in [0,
2]. That is
also what lets them be compared: their papers use vectors of several kinds and scales.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sanitizer.lm import WordTable

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


class Baseline(Protocol):
    """A mechanism over a fixed list of outputs."""

    @property
    def name(self) -> str:
        """As in its paper."""

    @property
    def epsilon(self) -> float:
        """As set, in the paper's own sense."""

    def probabilities(self, inputs: Inputs) -> Floats:
        """float64 [n_words, n_outputs], each row adds up to 1."""


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
        """float32 [n_words, n_dimensions], zero where a word has none; and which have one, bool
        [n_words].
        """
        rows = np.array([self._table.row(word) for word in words], dtype=np.intp)
        vectors = self._table.vectors[rows].astype(np.float32) / self._table.norms[rows, None]
        return np.where(rows[:, None] >= 0, vectors, 0).astype(np.float32), rows >= 0

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
    """Distances of unit vectors, float32 like `cosines`."""
    return np.sqrt(np.maximum(2 - 2 * cosines, 0)).astype(np.float32)


def softmax(scores: NDArray[np.floating]) -> Floats:
    """Rows that add up to 1, float64 like `scores` [n, m]; scores of -inf have probability 0."""
    odds = np.exp(scores.astype(np.float64) - scores.max(axis=1, keepdims=True))
    return np.asarray(odds / odds.sum(axis=1, keepdims=True))
