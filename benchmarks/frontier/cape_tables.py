"""Tables of Cape for many words at a time: equal to the package's, which
tests/benchmarks/test_mechanisms.py compares.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.baselines.words import Floats, Places
from sanitizer.lm import MaskedLM, WordPieces
from sanitizer.pipeline import WordSpace
from sanitizer.pipeline.outputs import Medoids
from sanitizer.privacy import Cape, Design, Weights
from sanitizer.privacy.medoids import ADMITTED, APART
from sanitizer.risk import Likelihood

Logits = NDArray[np.float32]
N_KEPT = 3
Distributions = Callable[[Sequence[str], Logits], Iterator[tuple[Places, Weights]]]


class Staircase:
    """Certified Cape with two levels over the likeliest outputs.

    Args:
        distances: those of the package, kept for the last few words asked about.
    """

    context = "released"

    def __init__(self, mechanism: Cape, model: MaskedLM, distances: Distances) -> None:
        self._mechanism, self._range, self._distances = mechanism, model.logit_range, distances
        self.tokens = model.output_ids

    def table(self, words: Sequence[str], logits: Logits | None) -> Likelihood:
        assert logits is not None
        outputs, (low, high) = self._mechanism.outputs(logits), self._range
        scores = np.clip((logits[outputs] - low) / (high - low), 0.0, 1.0)
        distances, own = self._distances.near(tuple(words), outputs)
        utility = self._mechanism.utility(scores, distances)
        if self._mechanism.demote_self:
            utility[own] = -1.0
        return Likelihood(outputs, _two_levels(self._mechanism, utility))


class Covering:
    """Certified Cape with profile "medoids"; the outputs of the last few contexts are kept.

    Args:
        distances: as for `Staircase`.
    """

    context = "released"

    def __init__(self, mechanism: Cape, model: MaskedLM, distances: Distances) -> None:
        self._mechanism, self._distances = mechanism, distances
        self._medoids = Medoids(mechanism, model, model.logit_range)
        self._kept: OrderedDict[int, tuple[Logits, Design]] = OrderedDict()
        self.tokens = model.output_ids

    def prepare(self, contexts: Sequence[Logits]) -> None:
        """Choose the outputs of many contexts at once; these are kept until others are prepared."""
        self._kept.clear()
        designs = self._medoids.designs(np.stack(contexts))
        for logits, design in zip(contexts, designs, strict=True):
            self._kept[id(logits)] = logits, design

    def _design(self, logits: Logits) -> Design:
        if id(logits) not in self._kept:  # the scores are kept too, so that no address comes twice
            while len(self._kept) >= N_KEPT:
                self._kept.popitem(last=False)
            self._kept[id(logits)] = logits, next(self._medoids.designs(logits[None]))
        return self._kept[id(logits)][1]

    def table(self, words: Sequence[str], logits: Logits | None) -> Likelihood:
        assert logits is not None
        design = self._design(logits)
        distances, own = self._distances.near(tuple(words), design.outputs)
        priors = self._distances.chances(tuple(words), design.chances)
        order = 1 - distances
        admitted = design.caps >= priors[:, None] * ADMITTED
        order = np.where(admitted, order, design.caps - APART)
        if self._mechanism.demote_self:
            order[own] = -2 * APART
        return Likelihood(design.outputs, _two_levels(self._mechanism, order))


def _two_levels(mechanism: Cape, order: Logits) -> Floats:
    """Probabilities of two levels, float64 like `order`, whose largest members are raised."""
    levels, sizes = mechanism.levels(order.shape[1])
    total = sum(level * size for level, size in zip(levels, sizes, strict=True))
    p = np.full(order.shape, levels[-1] * sizes[-1] / total * (1 / sizes[-1]))
    best = np.argpartition(-order, sizes[0] - 1, axis=1)[:, : sizes[0]]
    np.put_along_axis(p, best, levels[0] * sizes[0] / total * (1 / sizes[0]), axis=1)
    return p


@dataclass(frozen=True, eq=False)
class _Words:
    """A few words: unit vectors, zero where a word has none; and which word of Y each spells."""

    vectors: Logits
    unknown: list[int]
    spelled: Places


class Distances:
    """The package's distances, and which outputs spell a word; words are kept for a while."""

    def __init__(self, model: MaskedLM, pieces: WordPieces) -> None:
        self._space, self._table = WordSpace(model, pieces), model.words
        self._outputs = (
            model.words.output_vectors.astype(np.float32) / model.words.output_norms[:, None]
        )
        lowered = [word.lower() for word in model.outputs]
        names, self._fold = np.unique(lowered, return_inverse=True)
        self._number = {str(name): i for i, name in enumerate(names)}
        self._kept: OrderedDict[tuple[str, ...], _Words] = OrderedDict()

    def near(self, words: tuple[str, ...], outputs: Places) -> tuple[Logits, NDArray[np.bool_]]:
        """To some outputs, float32 [n_words, n], 0 if nothing is known; and bool, the same word."""
        found = self._of(words)
        distances = np.clip(1 - found.vectors @ self._outputs[outputs].T, 0, 2)
        for i in found.unknown:
            of_pieces = self._space.distances(words)(i, outputs)
            distances[i] = 0 if of_pieces is None else of_pieces
        return distances, found.spelled[:, None] == self._fold[outputs]

    def chances(self, words: tuple[str, ...], chances: Logits) -> Logits:
        """Of each word, its spellings together, float32 [n_words]; 0 for what is not one of Y.

        Args:
            chances: float32 [n_outputs].
        """
        return np.array([chances[self._space.own(word)].sum() for word in words], np.float32)

    def _of(self, words: tuple[str, ...]) -> _Words:
        if words not in self._kept:
            rows = np.array([self._table.row(word) for word in words], dtype=np.intp)
            vectors = self._table.vectors[rows].astype(np.float32) / self._table.norms[rows, None]
            vectors = np.where(rows[:, None] >= 0, vectors, 0).astype(np.float32)
            spelled = [self._number.get(word.lower(), -1) for word in words]
            self._kept[words] = _Words(
                vectors, np.flatnonzero(rows < 0).tolist(), np.array(spelled)
            )
            while len(self._kept) > N_KEPT:
                self._kept.popitem(last=False)
        return self._kept[words]


class PublishedCape:
    """Published Cape at several epsilons: the buckets of a word in a context are the same for all
    of them.

    The package's own weights at epsilon 2 are exp(mean utility) of each bucket; at another epsilon
    they are a power of these.
    """

    def __init__(self, epsilon: float, buckets: Buckets, n_outputs: int) -> None:
        self.context, self.tokens = "original", np.arange(n_outputs)
        self._epsilon, self._buckets = epsilon, buckets

    def table(self, words: Sequence[str], logits: Logits | None) -> Likelihood:
        assert logits is not None
        p = np.empty((len(words), len(self.tokens)))
        for row, found in zip(p, self._buckets.of(tuple(words), logits), strict=True):
            odds = np.exp(self._epsilon / 2 * found.logs)
            row[:] = (odds / odds.sum() / found.sizes)[found.numbers]
        return Likelihood(self.tokens, p)


@dataclass(frozen=True, eq=False)
class Bucketed:
    """One word's buckets.

    Attributes:
        numbers: uint8 [n_outputs], the bucket of each output. logs: float64 [n_buckets], mean
            utility less the
            largest. sizes: int [n_buckets].
    """

    numbers: NDArray[np.uint8]
    logs: Floats
    sizes: Places


class Buckets:
    """Buckets of words in the last few contexts asked about.

    Args:
        distributions: of an engine of published Cape at epsilon 2.
    """

    def __init__(self, distributions: Distributions) -> None:
        self._distributions = distributions
        self._kept: OrderedDict[tuple[tuple[str, ...], int], tuple[Logits, list[Bucketed]]] = (
            OrderedDict()
        )

    def of(self, words: tuple[str, ...], logits: Logits) -> list[Bucketed]:
        """logits float32 [n_outputs]."""
        key = (
            words,
            id(logits),
        )  # the scores are kept beside, so that no others take their address
        if key not in self._kept:
            self._kept[key] = (
                logits,
                [self._bucketed(w) for _, w in self._distributions(words, logits)],
            )
            while len(self._kept) > N_KEPT:
                self._kept.popitem(last=False)
        return self._kept[key][1]

    @staticmethod
    def _bucketed(weights: Weights) -> Bucketed:
        sizes = np.array([len(m) for m in weights.members])
        numbers = np.empty(sizes.sum(), dtype=np.uint8)
        for i, members in enumerate(weights.members):
            numbers[members] = i
        totals = np.array([float(t) for t in weights.totals])
        return Bucketed(numbers, np.log(totals / totals.max()), sizes)
