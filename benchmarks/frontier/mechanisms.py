"""Every mechanism of the frontier behind one interface: words and a context in, exact output
distributions out.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from benchmarks.baselines import custext, rantext
from benchmarks.baselines.base import (
    Baseline,
    Floats,
    Inputs,
    Places,
    Vectors,
    WordVectors,
    euclidean,
)
from benchmarks.baselines.exponential import Exponential
from benchmarks.baselines.fbdd import Fbdd
from benchmarks.baselines.randomized_response import RandomizedResponse
from benchmarks.baselines.santext import SanText, SanTextPlus
from benchmarks.frontier.cape_tables import (
    N_KEPT,
    Buckets,
    Covering,
    Distances,
    PublishedCape,
    Staircase,
)
from benchmarks.frontier.dyntext_tables import Lists
from benchmarks.frontier.left_context import LeftMakers, packaged
from benchmarks.frontier.outputs import Tokens
from sanitizer.lm import MaskedLM, WordPieces
from sanitizer.pipeline import engine_for
from sanitizer.privacy import Cape, DynText, Weights
from sanitizer.randomness import SYSTEM_RANDOM
from sanitizer.risk import Extremes, Likelihood, Likelihoods

Logits = NDArray[np.float32]
Kept = TypeVar("Kept")
CHUNK = 64
SHARES = 1 << 48


class Subject(Protocol):
    """A mechanism under measurement.

    Attributes:
        context: what its scores read: "none", "released" (over Y), "original" (over all tokens), or
            "left" (benchmarks/frontier/left_context.py).
        tokens: int [n_space], the token id of each output.
    """

    context: str
    tokens: Places

    def table(self, words: Sequence[str], logits: Logits | None) -> Likelihood:
        """Distributions of the words in one context; logits float32 [n_space]."""


def draws(table: Likelihood, n: int) -> Places:
    """n outputs of the table's first word, int [n]: its probabilities as integers of 48 bits, the
    system's source.
    """
    shares = (table.p[0] * SHARES).astype(np.int64)
    weights = Weights((1,), (table.outputs,), (shares,))
    return np.array([weights.draw(SYSTEM_RANDOM) for _ in range(n)], dtype=np.intp)


class Packaged:
    """A mechanism of the package."""

    def __init__(self, mechanism: Cape | DynText, model: MaskedLM, pieces: WordPieces) -> None:
        engine = engine_for(mechanism, model, pieces)
        published = mechanism.variant == "published"
        self.context = engine.context
        self.tokens = np.arange(model.pieces.n_rows) if published else model.output_ids
        self._likelihoods = Likelihoods(engine, mechanism, model, pieces)

    def table(self, words: Sequence[str], logits: Logits | None) -> Likelihood:
        return self._likelihoods.table(words, logits)


class Shared:
    """Distances of the last few words asked about, which all baselines read."""

    def __init__(self, vectors: WordVectors) -> None:
        self._vectors = vectors
        self._kept: OrderedDict[tuple[str, ...], tuple[Vectors, NDArray[np.bool_]]] = OrderedDict()
        self._far: OrderedDict[tuple[str, ...], Vectors] = OrderedDict()

    def inputs(
        self, words: Sequence[str], outputs: Places | None = None, scores: Vectors | None = None
    ) -> Inputs:
        """As `WordVectors.inputs`."""
        key = tuple(words)
        if key not in self._kept:
            _keep(self._kept, key, self._vectors.of(words))
        vectors, known = self._kept[key]
        if outputs is not None:
            return Inputs.of(euclidean(vectors @ self._vectors.outputs[outputs].T), known, scores)
        if key not in self._far:
            _keep(self._far, key, euclidean(vectors @ self._vectors.outputs.T))
        return Inputs.of(self._far[key], known, scores)


def _keep(kept: OrderedDict[tuple[str, ...], Kept], key: tuple[str, ...], found: Kept) -> None:
    kept[key] = found
    while len(kept) > N_KEPT:
        kept.popitem(last=False)


class OverWords:
    """A baseline over Y, or over the likeliest `n_shortlist` of Y in the released context.

    Args:
        reads_context: whether it gets the context's scores.
    """

    def __init__(
        self,
        baseline: Baseline,
        model: MaskedLM,
        vectors: Shared,
        reads_context: bool = False,
        n_shortlist: int | None = None,
    ) -> None:
        self._baseline, self._vectors, self._range = baseline, vectors, model.logit_range
        self._reads, self._shortlist = reads_context, n_shortlist
        self.tokens = model.output_ids
        self.context = "released" if reads_context or n_shortlist else "none"

    def table(self, words: Sequence[str], logits: Logits | None) -> Likelihood:
        outputs, scores = None, None
        if self._shortlist is not None and logits is not None:
            outputs = np.sort(np.argpartition(logits, -self._shortlist)[-self._shortlist :])
        if self._reads and logits is not None:
            low, high = self._range
            scores = np.clip(
                (logits if outputs is None else logits[outputs]) - low, 0, high - low
            ) / (high - low)
        inputs = self._vectors.inputs(words, outputs, scores)
        every = np.arange(len(self.tokens)) if outputs is None else outputs
        return Likelihood(every, self._baseline.probabilities(inputs))


class OverNoise:
    """FBDD. Its likelihoods are fitted: P(y | w) as a function of distance alone, from draws for
    public words.
    """

    context = "none"
    N_FITTED, N_DRAWS, N_LEVELS = 200, 200, 64

    def __init__(self, baseline: Fbdd, model: MaskedLM, vectors: WordVectors) -> None:
        self._baseline, self._vectors, self.tokens = baseline, vectors, model.output_ids

    @cached_property
    def _profile(self) -> Floats:
        """Weight of one output at each level of distance, float64 [N_LEVELS], smoothed by half a
        draw.
        """
        chosen = self._vectors.outputs[:: len(self._vectors.outputs) // self.N_FITTED]
        drawn = self._baseline.draw(chosen, self._vectors.outputs, self.N_DRAWS)
        levels = self._levels(euclidean(chosen @ self._vectors.outputs.T))
        there = np.bincount(levels.ravel(), minlength=self.N_LEVELS)
        hit = np.bincount(
            np.take_along_axis(levels, drawn, axis=1).ravel(), minlength=self.N_LEVELS
        )
        return np.asarray((hit + 0.5) / (there * self.N_DRAWS + 1))

    def _levels(self, distances: Vectors) -> Places:
        return np.minimum(distances / 2 * self.N_LEVELS, self.N_LEVELS - 1).astype(np.intp)

    def table(self, words: Sequence[str], logits: Logits | None) -> Likelihood:
        weights = self._profile[self._levels(self._vectors.inputs(words).distances)]
        return Likelihood(np.arange(len(self.tokens)), weights / weights.sum(axis=1, keepdims=True))

    def draw(self, word: str, n: int) -> Places:
        """Fresh outputs, int [n]."""
        return np.asarray(
            self._baseline.draw(self._vectors.of([word])[0], self._vectors.outputs, n)[0]
        )


class OverLists:
    """DynText with noise on the word's vector, which has no exact probabilities: draws only."""

    context = "none"

    def __init__(self, mechanism: DynText, model: MaskedLM, pieces: WordPieces) -> None:
        self._engine = engine_for(mechanism, model, pieces)
        self.tokens = (
            np.arange(model.pieces.n_rows) if mechanism.variant == "published" else model.output_ids
        )

    def table(self, words: Sequence[str], logits: Logits | None) -> Likelihood:
        raise NotImplementedError("no exact probabilities")

    def draw(self, word: str, n: int) -> Places:
        """Fresh outputs, int [n]."""
        return np.array(
            [c.output for c in self._engine.choose([word] * n, None, SYSTEM_RANDOM)], dtype=np.intp
        )


@dataclass(frozen=True)
class Makers:
    """Builds subjects; public tables are made once."""

    model: MaskedLM
    pieces: WordPieces
    _shares: dict[float, Floats] = field(default_factory=dict)
    _buckets: dict[str, Buckets] = field(default_factory=dict)
    _made: dict[str, Subject] = field(default_factory=dict)

    @cached_property
    def vectors(self) -> WordVectors:
        return WordVectors(self.model.words)

    @cached_property
    def _distances(self) -> Distances:
        return Distances(self.model, self.pieces)

    @cached_property
    def _shared(self) -> Shared:
        return Shared(self.vectors)

    def _published_cape(self, epsilon: float, options: dict[str, Any]) -> PublishedCape:
        key = repr(sorted(options.items()))
        if key not in self._buckets:
            engine = engine_for(Cape(2.0, variant="published", **options), self.model, self.pieces)
            self._buckets[key] = Buckets(engine.distributions)
        return PublishedCape(epsilon, self._buckets[key], self.model.pieces.n_rows)

    @cached_property
    def _sets(self) -> tuple[Places, Vectors]:
        sets = custext.mapping(self.vectors.outputs)
        return sets, custext.diameters(self.vectors.outputs, sets)

    def _radii(self, epsilon: float) -> Floats:
        if epsilon not in self._shares:
            ranges = self.vectors.outputs.max(axis=0) - self.vectors.outputs.min(axis=0)
            self._shares[epsilon] = rantext.radius_shares(ranges, epsilon)
        return self._shares[epsilon]

    def kept(self, mechanism: str, epsilon: float, options: dict[str, Any]) -> Subject:
        """`make`, once for each setting: subjects remember what they worked out of a word."""
        key = repr((mechanism, epsilon, sorted(options.items())))
        if key not in self._made:
            self._made[key] = self.make(mechanism, epsilon, options)
        return self._made[key]

    def make(self, mechanism: str, epsilon: float, options: dict[str, Any]) -> Subject:
        """The subject of a setting; `epsilon` in the mechanism's own sense."""
        kind, _, variant = mechanism.partition(" ")
        if kind == "cape":
            return self._cape(variant, epsilon, options)
        if options.get("replacement") == "noise":
            return OverLists(DynText(epsilon, variant=variant, **options), self.model, self.pieces)
        if kind == "dyntext":
            return Lists(DynText(epsilon, variant=variant, **options), self.model, self.pieces)
        if kind == "fbdd":
            return OverNoise(Fbdd(epsilon), self.model, self.vectors)
        baseline = self._baselines[mechanism](epsilon)
        return OverWords(baseline, self.model, self._shared, mechanism == "exponential", **options)

    def _cape(self, variant: str, epsilon: float, options: dict[str, Any]) -> Subject:
        if options.get("backbone") == "causal":
            return self._left.make(variant, epsilon, options)
        if variant == "published" and set(options) <= {"lambda_l", "lambda_d", "n_buckets"}:
            return self._published_cape(epsilon, options)
        cape = Cape(epsilon, variant=variant, **options)
        if cape.certified and cape.n_steps == 1:
            if cape.profile == "staircase":
                return Staircase(cape, self.model, self._distances)
            if cape.profile == "medoids":
                return Covering(cape, self.model, self._distances)
        return Packaged(cape, self.model, self.pieces)

    @cached_property
    def _left(self) -> LeftMakers:
        return LeftMakers(self.model, self.pieces, Tokens.of(self.model, self.pieces), packaged())

    @cached_property
    def _baselines(self) -> dict[str, Callable[[float], Baseline]]:
        return {
            "santext": SanText,
            "santext+": lambda e: SanTextPlus(e, len(self.model.outputs) // 2),
            "custext+": lambda e: custext.CusText(e, *self._sets),
            "rantext": lambda e: rantext.RanText(e, self._radii(e)),
            "exponential": Exponential,
            "randomized response": RandomizedResponse,
        }


def exact_epsilon(subject: Subject, words: Sequence[str], logits: Logits | None) -> float:
    """The largest log ratio over the words in one context; a lower bound unless the words are all
    there are.
    """
    n = subject.table(words[:1], logits).p.shape[1]
    extremes = Extremes.none(n)
    for begin in range(0, len(words), CHUNK):
        p = subject.table(words[begin : begin + CHUNK], logits).p
        extremes.highest = np.maximum(extremes.highest, p.max(axis=0))
        extremes.lowest = np.minimum(extremes.lowest, p.min(axis=0))
    return extremes.worst()[1]
