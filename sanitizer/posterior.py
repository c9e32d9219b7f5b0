"""What an attacker who knows the mechanism may believe of a private word: exact likelihoods and ceilings.

The likelihoods come from the integers that are drawn from, so nothing is estimated. What is shared by the
attacks and the advice is here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import exp, pi, sqrt

import numpy as np
from numpy.typing import NDArray

from sanitizer.backbone import MaskedLM
from sanitizer.engines import Engine, Mechanism
from sanitizer.mechanisms.base import Weights
from sanitizer.mechanisms.dyntext import DensityRange, DynText, Neighborhood
from sanitizer.neighborhoods import TokenNeighborhoods, WordNeighborhoods
from sanitizer.outputs import known_pieces
from sanitizer.text import WordPieces
from sanitizer.vocabulary import Prior

Floats = NDArray[np.float64]
Logits = NDArray[np.float32]

WIDEST = 40  # twenty standard deviations


def ceiling(prior: float, epsilon: float) -> float:
    """The most that one epsilon-DP output can make anyone believe in a word that had probability `prior`.

    Guarantee: p e^eps / (1 + p (e^eps - 1)), from Bayes' rule with every other word's likelihood at its least.

    Args:
        prior: in [0, 1]. epsilon: in nats, at least 0.
    """
    return prior / (prior + (1 - prior) * exp(-epsilon)) if prior > 0 else 0.0


def probabilities(weights: Weights, n: int) -> Floats:
    """float64 [n]: the distribution over an output set of n members."""
    p, total = np.zeros(n), sum(weights.totals)
    for i, (bucket, members) in enumerate(zip(weights.totals, weights.members, strict=True)):
        shares = weights.shares[i] if weights.shares else None
        where = slice(None) if len(members) == n and shares is None else members
        p[where] += bucket / total * (1 / len(members) if shares is None else shares / shares.sum())
    return p


@dataclass(frozen=True)
class Table:
    """P(output | word) in one context.

    Attributes:
        outputs: int [n]. p: float64 [n_words, n].
    """

    outputs: NDArray[np.intp] = field(repr=False)
    p: Floats = field(repr=False)

    def log_column(self, output: int) -> Floats:
        """ln P(output | each word), float64 [n_words]; -inf where it cannot be."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.p[:, np.flatnonzero(self.outputs == output)[0]]))


class Likelihoods:
    """Exact output distributions of private words under one setting.

    Where noise decides on the length of DynText's list, the lists are weighed by the noise's own
    probabilities.

    Raises:
        ValueError: DynText with replacement "noise" has no exact probabilities.
    """

    def __init__(self, engine: Engine, mechanism: Mechanism, model: MaskedLM, pieces: WordPieces) -> None:
        if isinstance(mechanism, DynText) and mechanism.replacement == "noise":
            raise ValueError("mechanism must have exact probabilities, got replacement='noise'")
        self._engine, self._mechanism, self._model, self._pieces = engine, mechanism, model, pieces
        self._kept: dict[str, tuple[NDArray[np.intp], Floats, float]] = {}
        self._n_outputs = 0

    def table(self, words: Sequence[str], logits: Logits | None) -> Table:
        """Distributions of the words in one context; logits float32 [n_outputs], None if context is not read."""
        if isinstance(self._mechanism, DynText):
            return self._mixed(words)
        found = list(self._engine.distributions(words, logits))
        outputs = found[0][0]
        return Table(outputs, np.stack([probabilities(weights, len(outputs)) for _, weights in found]))

    def _mixed(self, words: Sequence[str]) -> Table:
        """DynText reads no context, so each word is worked out once: few members, and the same for all others."""
        for word in words:
            if word not in self._kept:
                self._kept[word] = self._sparse(word)
        p = np.empty((len(words), self._n_outputs))
        for row, word in zip(p, words, strict=True):
            members, values, rest = self._kept[word]
            row[:] = rest
            row[members] = values
        return Table(np.arange(self._n_outputs), p)

    def _sparse(self, word: str) -> tuple[NDArray[np.intp], Floats, float]:
        found = list(self._engine.distributions([word], None))
        self._n_outputs = len(found[0][0])
        mixture = self._list_shares(word, len(found))
        p = np.zeros(self._n_outputs)
        for share, (_, weights) in zip(mixture, found, strict=True):
            if share:
                p += share * probabilities(weights, self._n_outputs)
        rest = float(p.min())
        members = np.flatnonzero(p > rest)
        return members, p[members], rest

    def _list_shares(self, word: str, n: int) -> Floats:
        """Probability of each list length, float64 [n]."""
        assert isinstance(self._mechanism, DynText)
        near, densities = self._neighborhoods
        neighborhood = near(word)
        if n == 1 or neighborhood is None:
            return np.eye(1, n).ravel()
        return list_shares(self._mechanism, neighborhood, densities)

    @cached_property
    def _neighborhoods(self) -> tuple[Callable[[str], Neighborhood | None], DensityRange]:
        model, pieces = self._model, self._pieces
        if self._mechanism.variant == "published":
            tokens = TokenNeighborhoods.load(model.folder, model.pieces)
            return lambda word: tokens.of(known_pieces(word, pieces) or [pieces.unknown]), tokens.range
        words = WordNeighborhoods.load(model.folder, model.words)
        return lambda word: words.of(model.words.row(word)), words.range


def list_shares(mechanism: DynText, neighborhood: Neighborhood, densities: DensityRange) -> Floats:
    """Probability of each list length from `shortest` to `k_max` of dynamic lists, float64 [n_lengths].

    Noise beyond the width of the densities gives the shortest or the longest list, each half of the time.
    """
    width = max(1, densities.highest - densities.lowest)
    noise = np.arange(-width, width + 1)
    p = _discrete_gaussian(noise, float(mechanism.variance(neighborhood, densities)))
    above = np.clip(neighborhood.density + noise, densities.lowest, densities.highest) - densities.lowest
    lengths = np.maximum(mechanism.shortest, mechanism.k_max * (width - above) // width)
    counted = np.bincount(lengths - mechanism.shortest, p, mechanism.k_max - mechanism.shortest + 1)
    shares = np.asarray(counted, dtype=np.float64)
    shares[[0, -1]] += max(0.0, 1.0 - float(p.sum())) / 2
    return shares


def _discrete_gaussian(x: NDArray[np.intp], variance: float) -> Floats:
    """Its probabilities at the integers x, float64 [n]."""
    if variance == 0:
        return np.asarray(x == 0, dtype=np.float64)
    # From 4 on the sum over all integers is the integral, up to e^(-8 pi^2) (Poisson summation).
    near = np.arange(-WIDEST, WIDEST + 1, dtype=np.float64)
    total = sqrt(2 * pi * variance) if variance >= 4 else float(np.exp(-(near**2) / (2 * variance)).sum())
    return np.asarray(np.exp(-(x.astype(np.float64) ** 2) / (2 * variance)) / total)


def guessed(prior: Prior, table: Table) -> Floats:
    """P(output | original) where the most probable word is the original, else 0; float64 [n].

    Its sum is the success of the best guesser from one output. Ties go to the word that is more probable beforehand.
    """
    best = (prior.mass[:, None] * table.p).argmax(axis=0)
    return np.where(best == prior.truth, table.p[prior.truth], 0.0)
