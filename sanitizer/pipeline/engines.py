"""A mechanism together with what it draws from: scores, distances, lists of nearest outputs.

An engine turns private words into choices, and tells the exact distribution of a word, for audits
and attacks. `CapeEngine` reads the context through a model: the masked model reads both sides of a
word, the causal model what comes before it (`LeftReader`). `DynTextEngine` needs no model pass.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from sanitizer.detect.detector import Detector
from sanitizer.lm.causal import CausalLM
from sanitizer.lm.loading import Models
from sanitizer.lm.masked import Batch, MaskedLM, Row, batches, centred_rows, rows
from sanitizer.lm.tokens import ByteTokens, WordPieces
from sanitizer.pipeline.classes import ClassDraws
from sanitizer.pipeline.masked_text import Choices, MaskedText
from sanitizer.pipeline.outputs import (
    ByteTokenSpace,
    Distance,
    Medoids,
    OneTokenOutputs,
    Outputs,
    OutputSpace,
    TokenNeighborhoods,
    TokenSpace,
    WordNeighborhoods,
    WordSpace,
    known_pieces,
)
from sanitizer.privacy.accounting import Event, PureEvent, StaircaseEvent
from sanitizer.privacy.cape import TWO_LEVELS, Cape
from sanitizer.privacy.dyntext import DynText, Neighborhood
from sanitizer.privacy.medoids import Design
from sanitizer.privacy.weights import Weights
from sanitizer.progress import report
from sanitizer.randomness import Source

WordMechanism = Cape | DynText
Logits = NDArray[np.float32]
_T = TypeVar("_T")

START = "<|endoftext|>"
"""Token that the causal model reads before every text; it separates documents in training."""
HEAD = "Text:"
"""Words read after START, so that the first word of a text follows something."""
LONGEST = 1024
"""Most tokens of left context; a longer text goes on from the last half of them."""
LOGIT_RANGE = (-6.407, 30.747)
"""Logits of the packaged causal model after HEAD that count as 0 and as 1.

Measured by benchmarks/calibration/causal_calibration.py.
"""


@dataclass(frozen=True, slots=True)
class Choice:
    """One draw: the output, and what the published algorithm claims for it (None if certified)."""

    output: int
    claimed: float | None


class Engine(ABC):
    """A mechanism with its models and tables.

    Attributes:
        reads_context: whether draws read scores.
        score: masked model's scores over the outputs, float32 [n, n_outputs]; None if unused.
        left: reader of the causal model's scores; None if unused.
        n_steps: groups of words that are drawn one after the other.
        context: what a draw reads: "released", "original" or "none".
        claimed_delta: the delta that a published algorithm claims.
        n_weights: distributions per word; more than one where noise shapes the weights.
    """

    space: OutputSpace
    reads_context = False
    score: Callable[[Batch], Logits] | None = None
    left: LeftReader | None = None
    n_steps = 1
    context = "none"
    claimed_delta = 0.0
    n_weights = 1

    @abstractmethod
    def choose(
        self, words: Sequence[str], logits: Logits | None, source: Source
    ) -> Iterator[Choice]:
        """Draw one output per private word.

        Args:
            logits: float32 [n_words, n_outputs]; None where no context is read.
        """

    @abstractmethod
    def distributions(
        self, words: Sequence[str], logits: Logits | None
    ) -> Iterator[tuple[NDArray[np.intp], Weights]]:
        """Yield the output set and the exact weights of each private word in one context.

        Where noise shapes the weights there are `n_weights` per word, one for each value of it.

        Args:
            logits: float32 [n_outputs]; None where no context is read.
        """

    @abstractmethod
    def event(self, unit: str, relation: str) -> Event:
        """Return what one draw is for the accountant."""


class LeftReader:
    """Reads texts from left to right with the causal model, one pass for each word that is drawn.

    In the released context it reads public text, stand-ins and words released before, so the scores
    at a word are the same whatever that word and the words to its right are. A word is scored as if
    a space came before it. Safe for many threads.

    Args:
        columns: int [n_outputs], token of each output.
        original: read the original words, which is not certified.
    """

    def __init__(
        self, model: CausalLM, tokens: ByteTokens, columns: NDArray[np.intp], original: bool
    ) -> None:
        self.sha256 = model.sha256
        self._tokens = tokens
        self._columns = columns
        self._original = original
        self._head = model.prefill([[tokens.special(START), *tokens.encode(HEAD)]])
        self._longest = min(LONGEST, model.max_length)

    def words(self, choices: Choices) -> Iterator[tuple[int, Logits]]:
        """Yield (drawn word, its scores float32 [n_outputs]), in order.

        In the released context each word must be released before the next is asked for. Raises
        RuntimeError if it was not.
        """
        # Texts are not batched: a pass for a few tokens costs about as much as a pass for one, and
        # the words of different texts come after different numbers of tokens.
        masked, rows, read = choices.masked, self._head.fork([0]), list[int]()
        due = set(masked.drawn)
        unread = " "  # separates the text from HEAD
        for word, stretch in enumerate(masked.stretches(self._original)):
            unread += stretch
            if word in due:
                before = unread.removesuffix(" ")  # a word's token holds the space before it
                unread = unread[len(before) :]
                if ids := self._tokens.encode(before):
                    read += ids
                    if rows.lengths[0] + len(ids) > self._longest:
                        # Half is kept, not all that fits: else every further word would start anew.
                        del read[: -(self._longest // 2)]
                        ids, rows = read, self._head.fork([0])
                    rows.extend(0, ids)
                yield word, np.asarray(rows.logits[0])[self._columns]
            unread += masked.words[word].text if self._original else choices.written(word)


class CapeEngine(Engine):
    """Cape over the whole-word outputs (certified) or the full token vocabulary (published).

    Raises:
        ValueError: backbone "causal" without a causal model.
    """

    reads_context = True

    def __init__(
        self,
        mechanism: Cape,
        model: MaskedLM,
        pieces: WordPieces,
        causal: tuple[CausalLM, ByteTokens] | None = None,
    ) -> None:
        assert mechanism.context is not None
        self._mechanism = mechanism
        self.n_steps = mechanism.n_steps
        self.context = mechanism.context
        self._events: dict[tuple[str, str], Event] = {}
        published = mechanism.variant == "published"
        self._medoids: Medoids | None = None
        outputs: Outputs = model
        if mechanism.backbone == "masked":
            self.space = (TokenSpace if published else WordSpace)(model, pieces)
            self._logit_range = model.logit_range
            logits = model.full_logits if published else model.logits
            self.score = lambda batch: logits(batch.ids, batch.lengths, batch.at)
        elif causal is None:
            raise ValueError("causal must be a causal model where backbone is 'causal', got None")
        else:
            self.space, columns, outputs = _causal_space(published, model, pieces, *causal)
            self._logit_range = LOGIT_RANGE
            self.left = LeftReader(*causal, columns, self.context == "original")
        if mechanism.profile == "medoids" and not published:
            self._medoids = Medoids(mechanism, outputs, self._logit_range)

    def choose(
        self, words: Sequence[str], logits: Logits | None, source: Source
    ) -> Iterator[Choice]:
        assert logits is not None
        mechanism, distance = self._mechanism, self.space.distances(words)
        certified, designs = mechanism.certified, list(self._designs(logits))
        for i, (word, design) in enumerate(zip(words, designs, strict=True)):
            outputs, weights = self._weights(i, word, logits[i], design, distance)
            chosen = int(outputs[weights.draw(source)])
            yield Choice(chosen, None if certified else mechanism.claimed(weights))

    def distributions(
        self, words: Sequence[str], logits: Logits | None
    ) -> Iterator[tuple[NDArray[np.intp], Weights]]:
        assert logits is not None
        design, distance = next(self._designs(logits[None])), self.space.distances(words)
        for i, word in enumerate(words):
            yield self._weights(i, word, logits, design, distance)

    def _designs(self, logits: Logits) -> Iterator[Design | NDArray[np.intp]]:
        """Yield the output set of each context; scores float32 [n, n_outputs]."""
        if self._medoids is not None:
            yield from self._medoids.designs(logits)
        else:
            yield from map(self._mechanism.outputs, logits)

    def _weights(
        self,
        i: int,
        word: str,
        scores: Logits,
        design: Design | NDArray[np.intp],
        distance: Distance,
    ) -> tuple[NDArray[np.intp], Weights]:
        own = self.space.own(word)
        outputs = design.outputs if isinstance(design, Design) else design
        places = np.flatnonzero(np.isin(outputs, own)) if len(own) else own
        if not isinstance(design, Design):
            return outputs, self._mechanism.weights(
                scores[outputs], distance(i, outputs), places, self._logit_range
            )
        prior = float(design.chances[own].sum())  # 0 if the word is not one of Y
        return outputs, self._mechanism.design_weights(design, distance(i, outputs), prior, places)

    def event(self, unit: str, relation: str) -> Event:
        known = self._events.get((unit, relation))  # checking a new event costs as much as a draw
        return known or self._events.setdefault((unit, relation), self._event(unit, relation))

    def _event(self, unit: str, relation: str) -> Event:
        mechanism = self._mechanism
        n = min(mechanism.n_shortlist or 0, self.space.n_outputs)
        if self._medoids is not None:
            n = self._medoids.worst_size
        if mechanism.certified and mechanism.profile in TWO_LEVELS:
            _, (n_top, _) = mechanism.levels(n)
            return StaircaseEvent(mechanism.epsilon, n_top, n, unit=unit, relation=relation)
        return PureEvent(mechanism.epsilon, unit=unit, relation=relation)


def _causal_space(
    published: bool, model: MaskedLM, pieces: WordPieces, causal: CausalLM, tokens: ByteTokens
) -> tuple[OutputSpace, NDArray[np.intp], Outputs]:
    """Return the space, the outputs' tokens in the causal model, int [n_outputs], and the words."""
    if published:
        space = ByteTokenSpace(causal, tokens, pieces)
        return space, np.arange(space.n_outputs), model
    outputs = OneTokenOutputs.of(model, tokens)
    return WordSpace(outputs, pieces), outputs.columns, outputs


class DynTextEngine(Engine):
    """DynText over the whole-word outputs (certified) or the full token vocabulary (published).

    Attributes:
        mechanism: DynText. lists: the outputs near each word.
    """

    def __init__(self, mechanism: DynText, model: MaskedLM, pieces: WordPieces) -> None:
        self.mechanism, self._model, self._pieces = mechanism, model, pieces
        self._offsets = mechanism.replacement == "noise"
        self.claimed_delta = mechanism.delta if mechanism.variant == "published" else 0.0
        self.n_weights = (
            1 if mechanism.list_size == "fixed" else mechanism.k_max - mechanism.shortest + 1
        )
        self.lists: TokenNeighborhoods | WordNeighborhoods
        if mechanism.variant == "published":
            self.space = TokenSpace(model, pieces)
            self.lists = TokenNeighborhoods.load(model.folder, model.pieces)
        else:
            self.space = WordSpace(model, pieces)
            self.lists = WordNeighborhoods.load(model.folder, model.words)

    def choose(
        self, words: Sequence[str], logits: Logits | None, source: Source
    ) -> Iterator[Choice]:
        claim = self.mechanism.epsilon if self.mechanism.variant == "published" else None
        for word in words:
            near = self.neighborhood(word)
            n, ends = self.space.n_outputs, self.lists.range
            yield Choice(self.mechanism.draw(near, n, ends, source), claim)

    def distributions(
        self, words: Sequence[str], logits: Logits | None
    ) -> Iterator[tuple[NDArray[np.intp], Weights]]:
        everything, shortest = np.arange(self.space.n_outputs), self.mechanism.shortest
        for word in words:
            near = self.neighborhood(word)
            for k in range(shortest, shortest + self.n_weights):
                yield everything, self.mechanism.weights(near, self.space.n_outputs, k)

    def neighborhood(self, word: str) -> Neighborhood | None:
        """Return the outputs near a word; None for one that no table knows."""
        if isinstance(self.lists, WordNeighborhoods):
            return self.lists.of(self._model.words.row(word), self._offsets)
        ids = known_pieces(word, self._pieces) or [self._pieces.unknown]
        return self.lists.of(ids, self._offsets)

    def event(self, unit: str, relation: str) -> Event:
        return PureEvent(self.mechanism.epsilon, unit=unit, relation=relation)


def engine_for(
    mechanism: WordMechanism,
    model: MaskedLM,
    pieces: WordPieces,
    causal: tuple[CausalLM, ByteTokens] | None = None,
) -> Engine:
    """Return the engine of a mechanism; raise as `CapeEngine`, or ModelError for a missing table.

    Args:
        causal: the causal model and its tokenizer, for Cape with backbone "causal".
    """
    if isinstance(mechanism, DynText):
        return DynTextEngine(mechanism, model, pieces)
    return CapeEngine(mechanism, model, pieces, causal)


@dataclass(frozen=True)
class LoadedModels:
    """Everything that perturbing words needs, loaded."""

    model: MaskedLM
    pieces: WordPieces
    engine: Engine

    @property
    def sha256(self) -> str:
        """Hash of the manifest of the model that reads the context."""
        return self.model.sha256 if self.engine.left is None else self.engine.left.sha256


MAX_BATCH_TOKENS = 1024
"""Tokens of one model input: larger inputs take more memory and no less time per token."""

Group = tuple[Sequence[tuple[int, int]], Logits | None]
"""(text, word) pairs, and the scores that their draws read, float32 [n, n_outputs]; None where no
context is read.
"""


def draw(texts: Sequence[MaskedText], models: LoadedModels, source: Source) -> list[Choices]:
    """Draw every private word of the texts and return one `Choices` for each text."""
    choices = [Choices(text) for text in texts]
    n_done, n_words = 0, sum(len(text.drawn) for text in texts)
    for units, logits in contexts(models, choices):
        choose(models, choices, units, logits, source)
        n_done += len(units)
        report(n_done, n_words, charged=True)
    return choices


def contexts(
    models: LoadedModels, choices: Sequence[Choices], step: int | None = None
) -> Iterator[Group]:
    """Yield the words that are drawn, in order, with the scores that their draws read.

    The words of a group must be released before the next group is asked for: later scores may read
    them.

    Args:
        step: only the words of this step, counted from 0; default every step.
    """
    engine = models.engine
    for number in range(engine.n_steps) if step is None else (step,):
        if engine.left is not None:
            for text, each in enumerate(choices):
                for word, scores in engine.left.words(each):
                    yield ((text, word),), scores[None]
        elif engine.score is not None:
            for batch in step_batches(models, choices, number):
                yield batch.units, engine.score(batch)
        else:
            for text, each in enumerate(choices):
                yield tuple((text, word) for word in each.masked.drawn), None


def choose(
    models: LoadedModels,
    choices: Sequence[Choices],
    units: Sequence[tuple[int, int]],
    logits: Logits | None,
    source: Source,
) -> None:
    """Draw one group of `contexts`, and release its outputs into `choices`."""
    engine = models.engine
    private = [choices[text].masked.words[word].text for text, word in units]
    drawn = list(engine.choose(private, logits, source))
    written = [(engine.space.text(it.output), engine.space.token(it.output)) for it in drawn]
    for (text, word), choice, output in zip(units, drawn, written, strict=True):
        choices[text].release(word, *output)
        if choice.claimed is not None:
            choices[text].claims.append(choice.claimed)


def step_batches(
    models: LoadedModels, choices: Sequence[Choices], step: int = 0
) -> Iterator[Batch]:
    """Return the inputs of the masked model for the words of one step."""
    planned: list[Row] = []
    engine, longest = models.engine, models.model.max_length
    for text, each in enumerate(choices):
        due = np.array(each.masked.drawn[step :: engine.n_steps], dtype=np.intp)
        if engine.context == "released":
            ids = each.ids.copy()  # a release during this step must not reach its later batches
            planned += rows(text, ids, each.masked.slots, due, longest)
        else:
            planned += centred_rows(
                text, *each.masked.original_ids(), due, models.pieces.mask, longest
            )
    return batches(planned, (models.pieces.cls, models.pieces.sep), MAX_BATCH_TOKENS)


class ModelLoader:
    """Loads what one mechanism needs at first use. Safe for many threads."""

    def __init__(self, models: Models, mechanism: WordMechanism) -> None:
        self.models = models
        self._mechanism = mechanism
        self._loaded: dict[str, Any] = {}
        self._lock = threading.Lock()

    def _once(self, name: str, load: Callable[[], _T]) -> _T:
        if name not in self._loaded:
            with self._lock:
                if name not in self._loaded:
                    self._loaded[name] = load()
        found: _T = self._loaded[name]
        return found

    def class_draws(self) -> ClassDraws:
        """Return what draws stand-ins within classes; raise ModelError."""
        return self._once("draws", lambda: ClassDraws(self._mechanism, *self.models.tables()))

    def detector(self) -> Detector:
        """Return what finds private things; raise ModelError."""
        return self._once("detector", lambda: Detector(self.models.reader()))

    def words(self) -> LoadedModels:
        """Return what draws words one by one; raise ModelError."""
        return self._once("words", self._load_words)

    def _load_words(self) -> LoadedModels:
        mechanism = self._mechanism
        reads_left = isinstance(mechanism, Cape) and mechanism.backbone == "causal"
        # The causal model comes first: its weights are fetched, so they are what may be missing.
        causal = self.models.causal() if reads_left else None
        model, pieces = self.models.masked()
        return LoadedModels(model, pieces, engine_for(mechanism, model, pieces, causal))
