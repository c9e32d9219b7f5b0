"""Every mechanism of the frontier behind one interface: words and a context in, exact output
distributions out.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from benchmarks.baselines.words import (
    Baseline,
    Floats,
    Places,
    WordVectors,
    exponential,
    randomized_response,
    santext,
)
from sanitizer.lm.masked import MaskedLM
from sanitizer.lm.tokens import WordPieces
from sanitizer.pipeline.engines import engine_for
from sanitizer.privacy.cape import Cape
from sanitizer.privacy.dyntext import DynText
from sanitizer.privacy.weights import Weights
from sanitizer.randomness import SYSTEM_RANDOM
from sanitizer.risk.exact_audit import Extremes
from sanitizer.risk.posterior import Likelihood, Likelihoods

Logits = NDArray[np.float32]
Distributions = Callable[[Sequence[str], Logits], Iterator[tuple[Places, Weights]]]
CHUNK, N_KEPT = 64, 3
SHARES = 1 << 48
BASELINES: dict[str, Baseline] = {
    "santext": santext,
    "exponential": exponential,
    "randomized response": randomized_response,
}


class Subject(Protocol):
    """A mechanism under measurement.

    Attributes:
        context: what its scores read: "none", "released" (over Y), or "original" (over all tokens).
        tokens: int [n_space], the token id of each output.
    """

    context: str
    tokens: Places

    def table(self, words: Sequence[str], logits: Logits | None) -> Likelihood:
        """Return distributions of the words in one context; logits float32 [n_space]."""


def draws(table: Likelihood, n: int) -> Places:
    """Return n outputs of the table's first word, int [n]: its probabilities as integers of 48
    bits, the system's source.
    """
    shares = (table.p[0] * SHARES).astype(np.int64)
    weights = Weights((1,), (table.outputs,), (shares,))
    return np.array([weights.draw(SYSTEM_RANDOM) for _ in range(n)], dtype=np.intp)


def exact_epsilon(subject: Subject, words: Sequence[str], logits: Logits | None) -> float:
    """Return the largest log ratio over the words in one context; a lower bound unless the words
    are all there are.
    """
    n = subject.table(words[:1], logits).p.shape[1]
    extremes = Extremes.none(n)
    for begin in range(0, len(words), CHUNK):
        p = subject.table(words[begin : begin + CHUNK], logits).p
        extremes.highest = np.maximum(extremes.highest, p.max(axis=0))
        extremes.lowest = np.minimum(extremes.lowest, p.min(axis=0))
    return extremes.worst()[1]


class OverWords:
    """A baseline over Y, or over the likeliest `n_shortlist` of Y in the released context.

    Args:
        reads_context: whether it gets the context's scores.
    """

    def __init__(
        self,
        baseline: Baseline,
        epsilon: float,
        model: MaskedLM,
        vectors: WordVectors,
        reads_context: bool = False,
        n_shortlist: int | None = None,
    ) -> None:
        self._baseline, self._epsilon = baseline, epsilon
        self._vectors, self._range = vectors, model.logit_range
        self._reads, self._shortlist = reads_context, n_shortlist
        self.tokens = model.output_ids
        self.context = "released" if reads_context or n_shortlist else "none"

    def table(self, words: Sequence[str], logits: Logits | None) -> Likelihood:
        outputs = np.arange(len(self.tokens))
        if self._shortlist is not None and logits is not None:
            outputs = np.sort(np.argpartition(logits, -self._shortlist)[-self._shortlist :])
        scores = None
        if self._reads and logits is not None:
            low, high = self._range
            scores = np.clip(logits[outputs] - low, 0, high - low) / (high - low)
        inputs = self._vectors.inputs(words, outputs, scores)
        return Likelihood(outputs, self._baseline(self._epsilon, inputs))


class Packaged:
    """A mechanism of the package."""

    def __init__(self, mechanism: Cape | DynText, model: MaskedLM, pieces: WordPieces) -> None:
        engine = engine_for(mechanism, model, pieces)
        published = mechanism.variant == "published"
        self.context = engine.context
        self.tokens = np.arange(model.pieces.n_rows) if published else model.output_ids
        self._likelihoods = Likelihoods(engine)

    def table(self, words: Sequence[str], logits: Logits | None) -> Likelihood:
        return self._likelihoods.table(words, logits)


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


@dataclass(frozen=True)
class Makers:
    """Builds subjects; public tables are made once."""

    model: MaskedLM
    pieces: WordPieces
    _made: dict[str, Subject] = field(default_factory=dict)

    @cached_property
    def _vectors(self) -> WordVectors:
        return WordVectors(self.model.words)

    @cached_property
    def _buckets(self) -> Buckets:
        published = Cape(2.0, variant="published")
        return Buckets(engine_for(published, self.model, self.pieces).distributions)

    def kept(self, mechanism: str, epsilon: float, options: dict[str, Any]) -> Subject:
        """Return `make`, once for each setting: subjects remember what they worked out of a
        word.
        """
        key = repr((mechanism, epsilon, sorted(options.items())))
        if key not in self._made:
            self._made[key] = self.make(mechanism, epsilon, options)
        return self._made[key]

    def make(self, mechanism: str, epsilon: float, options: dict[str, Any]) -> Subject:
        """Return the subject of a setting; `epsilon` in the mechanism's own sense."""
        if mechanism in BASELINES:
            baseline, reads = BASELINES[mechanism], mechanism == "exponential"
            return OverWords(baseline, epsilon, self.model, self._vectors, reads, **options)
        kind, _, variant = mechanism.partition(" ")
        if mechanism == "cape published" and not options:
            return PublishedCape(epsilon, self._buckets, self.model.pieces.n_rows)
        made: type[Cape] | type[DynText] = Cape if kind == "cape" else DynText
        return Packaged(made(epsilon, variant=variant, **options), self.model, self.pieces)
