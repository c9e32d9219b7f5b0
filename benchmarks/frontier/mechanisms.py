"""Every mechanism of the frontier behind one interface: words and a context in, exact output
distributions out. Tables of Cape and DynText for many words at a time are those of the package,
which tests/benchmarks/test_mechanisms.py compares.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
from benchmarks.frontier.cape_tables import Buckets, Covering, Distances, PublishedCape, Staircase
from sanitizer.lm import MaskedLM, WordPieces
from sanitizer.pipeline import TokenNeighborhoods, WordNeighborhoods, engine_for, known_pieces
from sanitizer.privacy import Cape, DynText, Neighborhood, Weights
from sanitizer.randomness import SYSTEM_RANDOM
from sanitizer.risk import Extremes, Likelihood, list_shares

Logits = NDArray[np.float32]
CHUNK = 64
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


class Lists:
    """DynText with its exponential mechanism, all list lengths of a word at a time; equal to the
    package's up to its rounding to integers of 40 bits and more. Each word is worked out once: the
    context is not read.
    """

    context = "none"

    def __init__(self, mechanism: DynText, model: MaskedLM, pieces: WordPieces) -> None:
        self._mechanism, self._model, self._pieces = mechanism, model, pieces
        self._published = mechanism.variant == "published"
        near: TokenNeighborhoods | WordNeighborhoods
        if self._published:
            self.tokens: Places = np.arange(model.pieces.n_rows)
            near = TokenNeighborhoods.load(model.folder, model.pieces)
        else:
            self.tokens = model.output_ids
            near = WordNeighborhoods.load(model.folder, model.words)
        self._near = near
        self._kept: dict[str, tuple[Places, Floats, float]] = {}

    def table(self, words: Sequence[str], logits: Logits | None) -> Likelihood:
        p = np.empty((len(words), len(self.tokens)))
        for row, word in zip(p, words, strict=True):
            if word not in self._kept:
                self._kept[word] = self._of(word)
            members, values, rest = self._kept[word]
            row[:] = rest
            row[members] = values
        return Likelihood(np.arange(len(self.tokens)), p)

    def _neighborhood(self, word: str) -> Neighborhood | None:
        if isinstance(self._near, WordNeighborhoods):
            return self._near.of(self._model.words.row(word))
        return self._near.of(known_pieces(word, self._pieces) or [self._pieces.unknown])

    def _of(self, word: str) -> tuple[Places, Floats, float]:
        """Return the outputs that stand in a list int [n], their probabilities float64 [n], and
        that of any other.
        """
        near, n = self._neighborhood(word), len(self.tokens)
        outside = float(self._mechanism.gamma_mix(n))
        if near is None or len(near.members) < self._mechanism.shortest or outside == 1:
            return np.empty(0, dtype=np.intp), np.empty(0), 1 / n
        members = near.members[: self._mechanism.k_max].astype(np.intp)
        return members, (1 - outside) * self._inside(near) + outside / n, outside / n

    def _inside(self, near: Neighborhood) -> Floats:
        """Return P(member | the draw is from the list), float64 [k_max], over the lengths that the
        noise may give.
        """
        mechanism = self._mechanism
        d = near.distances[: mechanism.k_max].astype(np.float64)
        lengths = np.arange(mechanism.shortest, mechanism.k_max + 1)
        shares = np.ones(1)
        if mechanism.list_size == "fixed":
            lengths = lengths[:1]
        else:
            shares = list_shares(mechanism, near, self._near.range)
        nearest = np.zeros(len(d)) if self._published else np.minimum.accumulate(d)
        low = nearest[lengths - 1, None]
        width = np.maximum.accumulate(d)[lengths - 1, None] - low
        with np.errstate(divide="ignore", invalid="ignore"):
            scores = np.where(width > 0, np.clip(1 - (d - low) / width, 0, 1), 1.0)
        odds = np.exp(mechanism.scores_epsilon(len(self.tokens)) / 2 * scores)
        odds[np.arange(len(d)) >= lengths[:, None]] = 0.0
        return np.asarray(shares @ (odds / odds.sum(axis=1, keepdims=True)))


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
    def _distances(self) -> Distances:
        return Distances(self.model, self.pieces)

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
        """Return the subject of a setting; `epsilon` in the mechanism's own sense.

        Raises:
            ValueError: there are no quick tables of this setting.
        """
        if mechanism in BASELINES:
            baseline, reads = BASELINES[mechanism], mechanism == "exponential"
            return OverWords(baseline, epsilon, self.model, self._vectors, reads, **options)
        kind, _, variant = mechanism.partition(" ")
        if kind == "dyntext":
            return Lists(DynText(epsilon, variant=variant, **options), self.model, self.pieces)
        if mechanism == "cape published" and not options:
            return PublishedCape(epsilon, self._buckets, self.model.pieces.n_rows)
        cape = Cape(epsilon, variant=variant, **options)
        made: dict[str, Callable[..., Subject]] = {"staircase": Staircase, "medoids": Covering}
        if not cape.certified or cape.profile not in made:
            raise ValueError(f"mechanism must have quick tables, got {mechanism!r}, {options}")
        return made[cape.profile](cape, self.model, self._distances)
