"""Tables of DynText, all list lengths of a word at a time: equal to the package's up to its
rounding to integers of 40 bits and more, which tests/benchmarks/test_mechanisms.py compares.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks.baselines.base import Floats, Places
from sanitizer.lm import MaskedLM, WordPieces
from sanitizer.pipeline import TokenNeighborhoods, WordNeighborhoods, known_pieces
from sanitizer.privacy import DynText, Neighborhood
from sanitizer.risk import Likelihood, list_shares


class Lists:
    """DynText with its exponential mechanism. Each word is worked out once: the context is not
    read.
    """

    context = "none"

    def __init__(self, mechanism: DynText, model: MaskedLM, pieces: WordPieces) -> None:
        self._mechanism, self._model, self._pieces = mechanism, model, pieces
        self._published = mechanism.variant == "published"
        self.tokens: Places = (
            np.arange(model.pieces.n_rows) if self._published else model.output_ids
        )
        self._tokens = (
            TokenNeighborhoods.load(model.folder, model.pieces) if self._published else None
        )
        self._words = None if self._published else WordNeighborhoods.load(model.folder, model.words)
        self._kept: dict[str, tuple[Places, Floats, float]] = {}

    def table(self, words: Sequence[str], logits: NDArray[np.float32] | None) -> Likelihood:
        p = np.empty((len(words), len(self.tokens)))
        for row, word in zip(p, words, strict=True):
            if word not in self._kept:
                self._kept[word] = self._of(word)
            members, values, rest = self._kept[word]
            row[:] = rest
            row[members] = values
        return Likelihood(np.arange(len(self.tokens)), p)

    def _neighborhood(self, word: str) -> Neighborhood | None:
        if self._words is not None:
            return self._words.of(self._model.words.row(word))
        assert self._tokens is not None
        return self._tokens.of(known_pieces(word, self._pieces) or [self._pieces.unknown])

    def _of(self, word: str) -> tuple[Places, Floats, float]:
        """The outputs that stand in a list int [n], their probabilities float64 [n], and that of
        any other.
        """
        near, n = self._neighborhood(word), len(self.tokens)
        outside = float(self._mechanism.gamma_mix(n))
        if near is None or len(near.members) < self._mechanism.shortest or outside == 1:
            return np.empty(0, dtype=np.intp), np.empty(0), 1 / n
        members = near.members[: self._mechanism.k_max].astype(np.intp)
        return members, (1 - outside) * self._inside(near) + outside / n, outside / n

    def _inside(self, near: Neighborhood) -> Floats:
        """P(member | the draw is from the list), float64 [k_max], over the lengths that the noise
        may give.
        """
        mechanism = self._mechanism
        d = near.distances[: mechanism.k_max].astype(np.float64)
        lengths = np.arange(mechanism.shortest, mechanism.k_max + 1)
        shares = np.ones(1)
        if mechanism.list_size == "fixed":
            lengths = lengths[:1]
        else:
            ends = self._words.range if self._words is not None else self._tokens.range  # type: ignore[union-attr]
            shares = list_shares(mechanism, near, ends)
        nearest = np.zeros(len(d)) if self._published else np.minimum.accumulate(d)
        low = nearest[lengths - 1, None]
        width = np.maximum.accumulate(d)[lengths - 1, None] - low
        with np.errstate(divide="ignore", invalid="ignore"):
            scores = np.where(width > 0, np.clip(1 - (d - low) / width, 0, 1), 1.0)
        odds = np.exp(mechanism.scores_epsilon(len(self.tokens)) / 2 * scores)
        odds[np.arange(len(d)) >= lengths[:, None]] = 0.0
        return np.asarray(shares @ (odds / odds.sum(axis=1, keepdims=True)))
