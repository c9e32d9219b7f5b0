"""A mechanism together with what it draws from: scores, distances, neighbor lists.

An engine turns private words into choices. `CapeEngine` reads the context through the model;
`DynTextEngine` needs no model pass. Both also tell the exact distribution of a word, for the audit
and the attacks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sanitizer.lm import Batch, ByteTokens, CausalLM, MaskedLM, Models, WordPieces
from sanitizer.pipeline.left_context import LOGIT_RANGE, LeftReader
from sanitizer.pipeline.neighborhoods import TokenNeighborhoods, WordNeighborhoods
from sanitizer.pipeline.outputs import (
    ByteTokenSpace,
    OneTokenOutputs,
    OutputSpace,
    TokenSpace,
    WordSpace,
    known_pieces,
)
from sanitizer.privacy import Cape, DynText, Event, Neighborhood, PureEvent, StaircaseEvent, Weights
from sanitizer.randomness import Source

WordMechanism = Cape | DynText
Logits = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Choice:
    """One draw: the output, and the published claim for it (None if certified)."""

    output: int
    claimed: float | None


class Engine(Protocol):
    """What the pipeline, the audit and the attacks ask for."""

    space: OutputSpace
    reads_context: bool
    score: Callable[[Batch], Logits] | None
    """Where a masked model reads the context: its scores over the outputs, float32 [n, n_outputs].
    """
    left: LeftReader | None
    """Where the causal model reads it."""
    n_steps: int
    context: str
    claimed_delta: float
    n_weights: int

    def choose(
        self, words: Sequence[str], logits: Logits | None, source: Source
    ) -> Iterator[Choice]:
        """One choice per private word; `logits` float32 [n_words, n_outputs] where the context is
        read.
        """

    def distributions(
        self, words: Sequence[str], logits: Logits | None
    ) -> Iterator[tuple[NDArray[np.intp], Weights]]:
        """Per private word its output set and exact weights (positions in the set), in one
        context's logits float32 [n_outputs]. Where noise shapes the weights there are `n_weights`
        per word, one for each value.
        """

    def event(self, unit: str, relation: str) -> Event:
        """What one draw is, for the accountant."""


class CapeEngine:
    """Cape over the whole-word outputs (certified) or the full token vocabulary (published).

    Raises:
        ValueError: backbone "causal" without a causal model.
    """

    reads_context = True
    claimed_delta = 0.0
    n_weights = 1

    def __init__(
        self,
        mechanism: Cape,
        model: MaskedLM,
        pieces: WordPieces,
        causal: tuple[CausalLM, ByteTokens] | None = None,
    ) -> None:
        self._mechanism, self.n_steps = mechanism, mechanism.n_steps
        assert mechanism.context is not None
        self.context = mechanism.context
        published = mechanism.variant == "published"
        self.space: OutputSpace
        self.score: Callable[[Batch], Logits] | None = None
        self.left: LeftReader | None = None
        if mechanism.backbone == "masked":
            self.space, self._logit_range = (
                (TokenSpace if published else WordSpace)(model, pieces),
                model.logit_range,
            )
            logits = model.full_logits if published else model.logits
            self.score = lambda batch: logits(batch.ids, batch.lengths, batch.at)
        elif causal is None:
            raise ValueError("causal must be a causal model where backbone is 'causal', got None")
        else:
            self.space, columns = _causal_space(published, model, pieces, *causal)
            self._logit_range = LOGIT_RANGE
            self.left = LeftReader(*causal, columns, self.context == "original")

    def choose(
        self, words: Sequence[str], logits: Logits | None, source: Source
    ) -> Iterator[Choice]:
        assert logits is not None
        distance = self.space.distances(words)
        for i, word in enumerate(words):
            outputs = self._mechanism.outputs(logits[i])
            weights = self._weights(word, logits[i][outputs], outputs, distance(i, outputs))
            yield Choice(int(outputs[weights.draw(source)]), self._mechanism.claimed(weights))

    def distributions(
        self, words: Sequence[str], logits: Logits | None
    ) -> Iterator[tuple[NDArray[np.intp], Weights]]:
        assert logits is not None
        outputs = self._mechanism.outputs(logits)
        distance, scores = self.space.distances(words), logits[outputs]
        for i, word in enumerate(words):
            yield outputs, self._weights(word, scores, outputs, distance(i, outputs))

    def _weights(
        self, word: str, scores: Logits, outputs: NDArray[np.intp], distance: Logits | None
    ) -> Weights:
        wanted = self.space.own(word)
        own = np.flatnonzero(np.isin(outputs, wanted)) if len(wanted) else wanted
        return self._mechanism.weights(scores, distance, own, self._logit_range)

    def event(self, unit: str, relation: str) -> Event:
        mechanism = self._mechanism
        n = min(mechanism.n_shortlist or 0, self.space.n_outputs)
        if mechanism.certified and mechanism.profile == "staircase":
            _, (n_top, _) = mechanism.levels(n)
            return StaircaseEvent(mechanism.epsilon, n_top, n, unit=unit, relation=relation)
        return PureEvent(mechanism.epsilon, unit=unit, relation=relation)


def _causal_space(
    published: bool, model: MaskedLM, pieces: WordPieces, causal: CausalLM, tokens: ByteTokens
) -> tuple[OutputSpace, NDArray[np.intp]]:
    """Outputs, and their tokens in the causal model, int [n_outputs]."""
    if published:
        space = ByteTokenSpace(causal, tokens, pieces)
        return space, np.arange(space.n_outputs)
    outputs = OneTokenOutputs.of(model, tokens)
    return WordSpace(outputs, pieces), outputs.columns


class DynTextEngine:
    """DynText over the whole-word outputs (certified) or the full token vocabulary (published)."""

    reads_context = False
    score: Callable[[Batch], Logits] | None = None
    left: LeftReader | None = None
    n_steps = 1
    context = "none"

    def __init__(self, mechanism: DynText, model: MaskedLM, pieces: WordPieces) -> None:
        self._mechanism, self._model, self._pieces = mechanism, model, pieces
        self._offsets = mechanism.replacement == "noise"
        self.claimed_delta = mechanism.delta if mechanism.variant == "published" else 0.0
        self.n_weights = (
            1 if mechanism.list_size == "fixed" else mechanism.k_max - mechanism.shortest + 1
        )
        self._words: WordNeighborhoods | None = None
        self._tokens: TokenNeighborhoods | None = None
        if mechanism.variant == "published":
            self.space: OutputSpace = TokenSpace(model, pieces)
            self._tokens = TokenNeighborhoods.load(model.folder, model.pieces)
            self._n_outputs, self._range = model.pieces.n_rows, self._tokens.range
        else:
            self.space = WordSpace(model, pieces)
            self._words = WordNeighborhoods.load(model.folder, model.words)
            self._n_outputs, self._range = len(model.outputs), self._words.range

    def choose(
        self, words: Sequence[str], logits: Logits | None, source: Source
    ) -> Iterator[Choice]:
        claim = self._mechanism.epsilon if self._mechanism.variant == "published" else None
        for word in words:
            near = self._neighborhood(word)
            yield Choice(self._mechanism.draw(near, self._n_outputs, self._range, source), claim)

    def distributions(
        self, words: Sequence[str], logits: Logits | None
    ) -> Iterator[tuple[NDArray[np.intp], Weights]]:
        everything, shortest = np.arange(self._n_outputs), self._mechanism.shortest
        for word in words:
            near = self._neighborhood(word)
            for k in range(shortest, shortest + self.n_weights):
                yield everything, self._mechanism.weights(near, self._n_outputs, k)

    def _neighborhood(self, word: str) -> Neighborhood | None:
        if self._words is not None:
            return self._words.of(self._model.words.row(word), self._offsets)
        assert self._tokens is not None
        known = known_pieces(word, self._pieces) or [self._pieces.unknown]
        return self._tokens.of(known, self._offsets)

    def event(self, unit: str, relation: str) -> Event:
        return PureEvent(self._mechanism.epsilon, unit=unit, relation=relation)


def engine_for(
    mechanism: WordMechanism,
    model: MaskedLM,
    pieces: WordPieces,
    causal: tuple[CausalLM, ByteTokens] | None = None,
) -> Engine:
    """The engine of a mechanism.

    Args:
        causal: for Cape with backbone "causal".

    Raises:
        ModelError: its tables are missing. ValueError: see `CapeEngine`.
    """
    if isinstance(mechanism, DynText):
        return DynTextEngine(mechanism, model, pieces)
    return CapeEngine(mechanism, model, pieces, causal)


@dataclass(frozen=True)
class LoadedModels:
    """What perturbing words needs; `sha256` is the manifest's of the model that reads the context."""

    model: MaskedLM
    pieces: WordPieces
    engine: Engine

    @property
    def sha256(self) -> str:
        return self.model.sha256 if self.engine.left is None else self.engine.left.sha256


def parts_for(models: Models, mechanism: WordMechanism) -> LoadedModels:
    """Load what a mechanism needs; the causal model only if it reads with it.

    Raises:
        ModelError: a model is missing or damaged.
    """
    reads_left = isinstance(mechanism, Cape) and mechanism.backbone == "causal"
    causal = models.causal() if reads_left else None  # first: its weights may be missing
    model, pieces = models.masked()
    return LoadedModels(model, pieces, engine_for(mechanism, model, pieces, causal))
