"""What an attacker who knows the mechanism may believe of a private word: exact likelihoods.

The output words Y as an attacker reads them: without letter case, as a prior, by rank, and by
nearness of word vectors. Likelihoods and ceilings come from the integers that are drawn from, so
nothing is estimated. Attacks, advice and the meter share this file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import exp, pi, sqrt
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from sanitizer.lm.causal import Logits
from sanitizer.lm.masked import MaskedLM, batches, rows
from sanitizer.lm.tokens import WordPieces
from sanitizer.pipeline.engines import MAX_BATCH_TOKENS, DynTextEngine, Engine, contexts
from sanitizer.pipeline.masked_text import Choices, MaskedText
from sanitizer.pipeline.sanitizer import Sanitizer
from sanitizer.privacy.dyntext import DensityRange, DynText, Neighborhood
from sanitizer.privacy.weights import Weights
from sanitizer.randomness import Source

Floats = NDArray[np.float64]
Item = TypeVar("Item")

CANDIDATES = (200, 100)
"""Words an attacker weighs: the likeliest in the context, and the nearest to the original."""
CANDIDATES_PUBLISHED = (50, 50)
"""CANDIDATES for published variants, where each needs the whole token vocabulary."""
CHUNK = 64
"""Released words whose neighbours are ranked at once, to bound memory."""
WIDEST = 40
"""Largest value of discrete Gaussian noise that is summed: twenty standard deviations."""


def check_texts(texts: Sequence[str]) -> None:
    """Raise TypeError if `texts` is one string, whose characters would be taken for texts."""
    if isinstance(texts, str):
        raise TypeError("texts must be a sequence of str, got one str")


def no_private_word(n_texts: int) -> ValueError:
    """Return the error for texts without any private word."""
    return ValueError(f"texts must have at least one private word, got {n_texts} texts without")


def spread(items: Sequence[Item], most: int) -> Sequence[Item]:
    """Return at most `most` of the items, evenly spaced.

    >>> spread("abcdefg", 3)
    'adg'
    """
    return items[:: max(1, -(-len(items) // most))]


@dataclass(frozen=True)
class Prior:
    """Belief about one private word before its output is seen.

    The candidates are most probable first, and the original is always one of them, at `truth`.

    >>> prior = Prior(("Leeds", "Paris"), np.array([0.75, 0.25]), truth=1)
    >>> prior.p, prior.p_top, prior.original_first
    (0.25, 0.75, False)
    """

    words: tuple[str, ...] = field(repr=False)
    mass: Floats = field(repr=False)
    truth: int

    @property
    def p(self) -> float:
        """Probability of the original."""
        return float(self.mass[self.truth])

    @property
    def original_first(self) -> bool:
        """True if the original is the most probable word."""
        return int(self.mass.argmax()) == self.truth

    @property
    def p_top(self) -> float:
        """Probability of the most probable word."""
        return float(self.mass.max())

    @property
    def alone(self) -> Prior:
        """Prior with the original as the only candidate."""
        return Prior((self.words[self.truth],), np.ones(1), 0)


class Vocabulary:
    """Y as an attacker reads it: without letter case, by likelihood, and by nearness of vectors.

    A word without a vector has no neighbours and is nobody's neighbour.

    Attributes:
        words: one spelling of each distinct word.
        first: int [n_words], position of that spelling among the outputs.
        fold: int [n_outputs], position of each output among the distinct words.
    """

    def __init__(self, model: MaskedLM) -> None:
        lowered = [w.lower() for w in model.outputs]
        self._names, first, self.fold = np.unique(lowered, return_index=True, return_inverse=True)
        self.first: NDArray[np.intp] = first
        self.words = [model.outputs[i] for i in first]
        self._table = model.words
        self._floor = 1.0 / len(model.words.words)

    def find(self, word: str) -> int:
        """Return the position of a word, any case; -1 if it is not in Y."""
        at = int(np.searchsorted(self._names, word.lower()))
        return at if at < len(self._names) and self._names[at] == word.lower() else -1

    def rank(self, logits: Logits, word: str) -> int:
        """Count the distinct words of Y that one context prefers to this one; all if not in Y."""
        own = self.find(word)
        if own < 0:
            return len(self.words)
        return len(set(self.fold[logits > logits[self.fold == own].max()]))

    def prior(self, logits: Logits, word: str, candidates: tuple[int, int] = CANDIDATES) -> Prior:
        """Return the softmax of one context's logits over a few candidates.

        Spellings that differ in case are added up. No word has less than one part in the word
        table's size, as if each of its words were equally likely; so has an original outside Y.
        What is left adds up to 1.

        Args:
            word: the original, always a candidate.
            candidates: how many of the likeliest words, and of those nearest to the original.
        """
        odds = np.exp(logits.astype(np.float64) - float(logits.max()))
        mass = np.maximum(np.bincount(self.fold, weights=odds / odds.sum()), self._floor)
        n_likely, n_near = candidates
        near = self.places(word, n_near)
        own = self.find(word)
        chosen = np.union1d(np.argsort(-mass, kind="stable")[:n_likely], near)
        chosen = np.union1d(chosen, [own]) if own >= 0 else chosen
        chosen = chosen[np.argsort(-mass[chosen], kind="stable")].astype(np.intp)
        words, kept = [self.words[i] for i in chosen], mass[chosen]
        truth = int(np.flatnonzero(chosen == own)[0]) if own >= 0 else len(words)
        words[truth : truth + 1] = [word]
        kept = kept if own >= 0 else np.append(kept, self._floor)
        return Prior(tuple(words), kept / kept.sum(), truth)

    @cached_property
    def _vectors(self) -> tuple[NDArray[np.intp], Logits]:
        """Positions of the words that have a vector, and the vectors."""
        rows = np.array([self._table.row(word) for word in self.words], dtype=np.intp)
        return np.flatnonzero(rows >= 0), self._table.unit(rows[rows >= 0])

    def places(self, word: str, n: int) -> NDArray[np.intp]:
        """Return positions of the n words of Y nearest to this one, int [n]; none if no vector."""
        row = self._table.row(word)
        if row < 0 or not n:
            return np.empty(0, dtype=np.intp)
        places, vectors = self._vectors
        return places[np.argsort(-(vectors @ self._table.unit(row)), kind="stable")[:n]]

    def ranks(
        self, original: str, released: Sequence[str], private: Sequence[str]
    ) -> NDArray[np.intp]:
        """Count the candidates nearer to each released word than the original is, int [n_trials].

        The released word itself counts. 0 where the original itself was released, the number of
        candidates if it is out of reach.

        Args:
            private: all private words of the text; those outside Y are candidates too.
        """
        places, vectors = self._vectors
        ranks = {word.lower(): len(places) for word in released}
        measured = [word for word in ranks if self._table.row(word) >= 0]
        own = self._table.row(original)
        if own >= 0 and measured:
            others = vectors[places != self.find(original)]
            outside = {word.lower() for word in private if self.find(word) < 0}
            rows = [self._table.row(word) for word in sorted(outside - {original.lower()})]
            others = np.concatenate([others, self._table.unit([row for row in rows if row >= 0])])
            for begin in range(0, len(measured), CHUNK):
                chunk = measured[begin : begin + CHUNK]
                near = self._table.unit([self._table.row(word) for word in chunk])
                distance = near @ self._table.unit(own)
                closer = (near @ others.T > distance[:, None]).sum(axis=1)
                ranks |= dict(zip(chunk, closer.tolist(), strict=True))
        ranks[original.lower()] = 0
        return np.array([ranks[word.lower()] for word in released], dtype=np.intp)


def public_logits(model: MaskedLM, pieces: WordPieces, text: MaskedText) -> dict[int, Logits]:
    """Return drawn word -> scores over Y, float32 [n_outputs], all private words hidden."""
    words = np.array(text.drawn, dtype=np.intp)
    planned = rows(0, text.ids, text.slots, words, model.max_length)
    found: dict[int, Logits] = {}
    for batch in batches(planned, (pieces.cls, pieces.sep), MAX_BATCH_TOKENS):
        scores = model.logits(batch.ids, batch.lengths, batch.at)
        found |= {word: row for (_, word), row in zip(batch.units, scores, strict=True)}
    return found


def ceiling(prior: float, epsilon: float) -> float:
    """Return the most that one output can make anyone believe in a word of probability `prior`.

    Guarantee: for epsilon-DP outputs p e^eps / (1 + p (e^eps - 1)), from Bayes' rule with every
    other word's likelihood at its least.

    >>> from math import log
    >>> round(ceiling(0.5, log(3)), 9)
    0.75
    """
    return prior / (prior + (1 - prior) * exp(-epsilon)) if prior > 0 else 0.0


def mean_ceiling(priors: Sequence[float], epsilon: float | None) -> float | None:
    """Return the mean ceiling over several words; None without an epsilon that is a theorem."""
    return None if epsilon is None else float(np.mean([ceiling(p, epsilon) for p in priors]))


@dataclass(frozen=True)
class Likelihood:
    """P(output | word) in one context: int [n], and float64 [n_words, n]."""

    outputs: NDArray[np.intp] = field(repr=False)
    p: Floats = field(repr=False)

    def log_column(self, output: int) -> Floats:
        """Return ln P(output | each word), float64 [n_words]; -inf where it is impossible."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.p[:, np.flatnonzero(self.outputs == output)[0]]))


class Likelihoods:
    """Exact output distributions of private words under one setting.

    Where noise decides on the length of DynText's list, the lists are weighted by the exact
    probabilities of the noise. DynText with replacement "noise" has no exact probabilities, which
    raises ValueError.
    """

    def __init__(self, engine: Engine) -> None:
        if isinstance(engine, DynTextEngine) and engine.mechanism.replacement == "noise":
            raise ValueError("mechanism must have exact probabilities, got replacement='noise'")
        self._engine = engine
        self._kept: dict[str, tuple[NDArray[np.intp], Floats, float]] = {}
        self._n_outputs = 0

    def table(self, words: Sequence[str], logits: Logits | None) -> Likelihood:
        """Return the distributions of the words in one context; None if context is not read."""
        engine = self._engine
        if not isinstance(engine, DynTextEngine):
            found = list(engine.distributions(words, logits))
            outputs = found[0][0]
            rows = [weights.probabilities(len(outputs)) for _, weights in found]
            return Likelihood(outputs, np.stack(rows))
        # DynText reads no context, so each word is computed once. It is kept as its few list
        # members, and one probability for all other outputs.
        for word in words:
            if word not in self._kept:
                self._kept[word] = self._sparse(word, engine)
        p = np.empty((len(words), self._n_outputs))
        for row, word in zip(p, words, strict=True):
            members, values, rest = self._kept[word]
            row[:] = rest
            row[members] = values
        return Likelihood(np.arange(self._n_outputs), p)

    def _sparse(self, word: str, engine: DynTextEngine) -> tuple[NDArray[np.intp], Floats, float]:
        """Return (list members, their probabilities, the probability of each other output)."""
        found = list(engine.distributions([word], None))
        neighborhood, mixture = engine.neighborhood(word), np.ones(1)
        if len(found) > 1:
            mixture = (
                np.eye(1, len(found)).ravel()
                if neighborhood is None
                else list_shares(engine.mechanism, neighborhood, engine.lists.range)
            )
        self._n_outputs = len(found[0][0])
        p = np.zeros(self._n_outputs)
        for share, (_, weights) in zip(mixture, found, strict=True):
            if share:
                p += share * weights.probabilities(self._n_outputs)
        rest = float(p.min())
        members = np.flatnonzero(p > rest)
        return members, p[members], rest


def list_shares(mechanism: DynText, neighborhood: Neighborhood, densities: DensityRange) -> Floats:
    """Return the probability of each list length of dynamic lists, float64 [n_lengths].

    Lengths go from `shortest` to `k_max`. Noise beyond the width of the densities gives the
    shortest or the longest list, each half of the time.
    """
    lowest, highest = densities.lowest, densities.highest
    width = max(1, highest - lowest)
    noise = np.arange(-width, width + 1)
    p = _discrete_gaussian(noise, float(mechanism.variance(neighborhood, densities)))
    above = np.clip(neighborhood.density + noise, lowest, highest) - lowest
    lengths = np.maximum(mechanism.shortest, mechanism.k_max * (width - above) // width)
    counted = np.bincount(lengths - mechanism.shortest, p, mechanism.k_max - mechanism.shortest + 1)
    shares = np.asarray(counted, dtype=np.float64)
    shares[[0, -1]] += max(0.0, 1.0 - float(p.sum())) / 2
    return shares


def _discrete_gaussian(x: NDArray[np.intp], variance: float) -> Floats:
    """Return the probabilities of discrete Gaussian noise at the integers x, float64 [n]."""
    if variance == 0:
        return np.asarray(x == 0, dtype=np.float64)
    # From 4 on the sum over all integers is the integral, up to e^(-8 pi^2) (Poisson summation).
    near = np.arange(-WIDEST, WIDEST + 1, dtype=np.float64)
    few = float(np.exp(-(near**2) / (2 * variance)).sum())
    total = sqrt(2 * pi * variance) if variance >= 4 else few
    return np.asarray(np.exp(-(x.astype(np.float64) ** 2) / (2 * variance)) / total)


def guessed(prior: Prior, table: Likelihood) -> Floats:
    """Return P(output | original) where the original is the most probable word, else 0.

    The sum of these, float64 [n], is the success of the best guesser from one output. Ties go to
    the word that is more probable beforehand.

    >>> prior = Prior(("Leeds", "Paris"), np.array([0.5, 0.5]), truth=0)
    >>> table = Likelihood(np.arange(2), np.array([[0.75, 0.25], [0.25, 0.75]]))
    >>> guessed(prior, table)
    array([0.75, 0.  ])
    """
    best = (prior.mass[:, None] * table.p).argmax(axis=0)
    return np.where(best == prior.truth, table.p[prior.truth], 0.0)


class SameNumbers:
    """A source for the numbers only: every trial reads the same context."""

    def randbelow(self, n: int, /) -> int:
        """Return the middle of the range."""
        return n // 2


class Trials:
    """Fresh draws of one text, made by the pipeline's own stages, and what they tell of each word.

    Nothing is charged or remembered.

    Attributes:
        outputs: word -> its output in each trial.
    """

    def __init__(
        self,
        sanitizer: Sanitizer,
        likelihoods: Likelihoods,
        priors: dict[int, Prior],
        source: Source,
    ) -> None:
        self._loaded = sanitizer.inner.models()
        self._engine = self._loaded.engine
        self._likelihoods, self._priors, self._source = likelihoods, priors, source
        self._fixed: dict[int, dict[int, Logits | None]] = {}
        self._weights: dict[int, tuple[NDArray[np.intp], Weights]] = {}
        self._logs: dict[int, list[Floats]] = {}
        self.outputs: dict[int, list[int]] = {word: [] for word in priors}

    def draw(self, masked: MaskedText) -> Choices:
        """Return the choices of one trial, in which every word of the text is released."""
        choices = Choices(masked)
        if self._engine.left is not None and self._engine.context == "released":
            for units, scores in contexts(self._loaded, [choices]):
                self._release(choices, _by_word(units, scores), always=False)
            return choices
        for step in range(self._engine.n_steps):
            # The first step reads public words only, so every trial has the same context.
            always = step == 0 or self._engine.context != "released"
            by_word = self._fixed.get(step) or {
                word: logits
                for units, scores in contexts(self._loaded, [choices], step)
                for word, logits in _by_word(units, scores).items()
            }
            if always:
                self._fixed[step] = by_word
            self._release(choices, by_word, always)
        return choices

    def _release(self, choices: Choices, by_word: dict[int, Logits | None], always: bool) -> None:
        space = self._engine.space
        for word, logits in by_word.items():
            output = self._output(word, choices.masked.words[word].text, logits, always)
            choices.release(word, space.text(output), space.token(output))
            self.outputs[word].append(output)
            if not always:
                self._logs.setdefault(word, []).append(self._table(word, logits).log_column(output))

    def _output(self, word: int, original: str, logits: Logits | None, always: bool) -> int:
        """Draw one output; where the context is always the same, the weights are computed once."""
        if logits is None or not always:
            scores = None if logits is None else logits[None]
            return next(self._engine.choose([original], scores, self._source)).output
        if word not in self._weights:
            self._weights[word] = next(self._engine.distributions([original], logits))
        outputs, weights = self._weights[word]
        return int(outputs[weights.draw(self._source)])

    def _table(self, word: int, logits: Logits | None) -> Likelihood:
        return self._likelihoods.table(self._priors[word].words, logits)

    def log_likelihoods(self, word: int) -> Floats:
        """Return ln P(output | candidate), float64 [n_trials, n_candidates]."""
        if word in self._logs:
            return np.stack(self._logs[word])
        logits = next(contexts[word] for contexts in self._fixed.values() if word in contexts)
        table = self._table(word, logits)
        return np.stack([table.log_column(output) for output in self.outputs[word]])


def _by_word(units: Sequence[tuple[int, int]], scores: Logits | None) -> dict[int, Logits | None]:
    """Return word -> its scores, float32 [n_outputs], or None without context."""
    return {word: None if scores is None else scores[i] for i, (_, word) in enumerate(units)}
