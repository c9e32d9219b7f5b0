"""Tables of Cape for many words at a time: equal to the package's, which
tests/benchmarks/test_mechanisms.py compares.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.baselines.base import Floats, Places
from sanitizer.lm import MaskedLM, WordPieces
from sanitizer.pipeline import WordSpace
from sanitizer.privacy import Cape, Weights
from sanitizer.risk import Likelihood

Logits = NDArray[np.float32]
N_KEPT = 3
Distributions = Callable[[Sequence[str], Logits], Iterator[tuple[Places, Weights]]]


class Staircase:
    """Certified Cape with two levels.

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
        distances, own = self._distances.of(tuple(words))
        utility = self._mechanism.utility(scores, distances[:, outputs])
        if self._mechanism.demote_self:
            utility[own[:, outputs]] = -1.0
        levels, sizes = self._mechanism.levels(len(outputs))
        total = sum(level * size for level, size in zip(levels, sizes, strict=True))
        p = np.full(utility.shape, levels[-1] * sizes[-1] / total * (1 / sizes[-1]))
        best = np.argpartition(-utility, sizes[0] - 1, axis=1)[:, : sizes[0]]
        np.put_along_axis(p, best, levels[0] * sizes[0] / total * (1 / sizes[0]), axis=1)
        return Likelihood(outputs, p)


class Distances:
    """The package's distances to all of Y, and which outputs spell the word, for the last few words
    asked about.
    """

    def __init__(self, model: MaskedLM, pieces: WordPieces) -> None:
        self._space, self._every = WordSpace(model, pieces), np.arange(len(model.output_ids))
        self._kept: OrderedDict[tuple[str, ...], tuple[Logits, NDArray[np.bool_]]] = OrderedDict()

    def of(self, words: tuple[str, ...]) -> tuple[Logits, NDArray[np.bool_]]:
        """float32 [n_words, n_outputs], 0 where nothing is known; bool, same."""
        if words not in self._kept:
            distance = self._space.distances(words)
            found = [distance(i, self._every) for i in range(len(words))]
            own = np.zeros((len(words), len(self._every)), dtype=bool)
            for row, word in zip(own, words, strict=True):
                row[self._space.own(word)] = True
            nothing = np.zeros(len(self._every), dtype=np.float32)
            self._kept[words] = np.stack([nothing if d is None else d for d in found]), own
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
