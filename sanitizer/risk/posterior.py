"""Y as an attacker reads it: without letter case, as a prior, by rank, and by nearness of word
vectors.

What an attacker who knows the mechanism may believe of a private word: exact likelihoods and
ceilings.

The likelihoods come from the integers that are drawn from, so nothing is estimated. What is shared
by the attacks and the advice is here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import exp, pi, sqrt

import numpy as np
from numpy.typing import NDArray

from sanitizer.lm import MaskedLM, WordPieces, batches, rows
from sanitizer.pipeline import (
    Engine,
    MaskedText,
    TokenNeighborhoods,
    WordMechanism,
    WordNeighborhoods,
    known_pieces,
)
from sanitizer.privacy import DensityRange, DynText, Neighborhood

Floats = NDArray[np.float64]
Logits = NDArray[np.float32]

MAX_BATCH_TOKENS = 1024
CHUNK = 64


@dataclass(frozen=True)
class Prior:
    """What is believed of one private word before its output is seen.

    Attributes:
        words: the candidates, most probable first; the original is always one of them.
        mass: float64 [n_candidates], adds up to 1.
        truth: place of the original.
    """

    words: tuple[str, ...] = field(repr=False)
    mass: Floats = field(repr=False)
    truth: int

    @property
    def p(self) -> float:
        """Probability of the original."""
        return float(self.mass[self.truth])

    @property
    def p_top(self) -> float:
        """Probability of the most probable word."""
        return float(self.mass.max())

    @property
    def alone(self) -> Prior:
        """The original as the only candidate."""
        return Prior((self.words[self.truth],), np.ones(1), 0)


class Vocabulary:
    """Y without its letter case.

    Attributes:
        words: one spelling of each distinct word. fold: int [n_outputs], each output's place among
            them.
    """

    def __init__(self, model: MaskedLM) -> None:
        lowered = [w.lower() for w in model.outputs]
        self._names, first, self.fold = np.unique(lowered, return_index=True, return_inverse=True)
        self.first: NDArray[np.intp] = first
        self.words = [model.outputs[i] for i in first]
        self._floor = 1.0 / len(model.words.words)

    def find(self, word: str) -> int:
        """Place of a word, any case; -1 if it is not in Y."""
        at = int(np.searchsorted(self._names, word.lower()))
        return at if at < len(self._names) and self._names[at] == word.lower() else -1

    def rank(self, logits: Logits, word: str) -> int:
        """Distinct words of Y that one context prefers to this one; all of them if it is not in Y."""
        own = self.find(word)
        if own < 0:
            return len(self.words)
        return len(set(self.fold[logits > logits[self.fold == own].max()]))

    def prior(self, logits: Logits, word: str, n_likely: int, near: NDArray[np.intp]) -> Prior:
        """The softmax of one context's logits, cut to a few candidates: as much as an attacker can
        weigh.

        Spellings that differ in case are added up. No word has less than one part in the word
        table's size, as if each of its words were equally likely; so has an original outside Y.
        What is left adds up to 1.

        Args:
            logits: float32 [n_outputs]. word: the original, always a candidate.
            n_likely: how many of the most probable words are candidates.
            near: int [n], places of further candidates: words easily taken for the original.
        """
        odds = np.exp(logits.astype(np.float64) - float(logits.max()))
        mass = np.maximum(np.bincount(self.fold, weights=odds / odds.sum()), self._floor)
        own = self.find(word)
        chosen = np.union1d(np.argsort(-mass, kind="stable")[:n_likely], near)
        chosen = np.union1d(chosen, [own]) if own >= 0 else chosen
        chosen = chosen[np.argsort(-mass[chosen], kind="stable")].astype(np.intp)
        words, kept = [self.words[i] for i in chosen], mass[chosen]
        if own < 0:
            return Prior(
                (*words, word),
                np.append(kept, self._floor) / (kept.sum() + self._floor),
                len(words),
            )
        truth = int(np.flatnonzero(chosen == own)[0])
        words[truth] = word
        return Prior(tuple(words), kept / kept.sum(), truth)


def public_logits(model: MaskedLM, pieces: WordPieces, draft: MaskedText) -> dict[int, Logits]:
    """Drawn word -> scores over Y, float32 [n_outputs], with every private word of the text hidden."""
    planned = rows(
        0, draft.ids, draft.slots, np.array(draft.drawn, dtype=np.intp), model.max_length
    )
    found: dict[int, Logits] = {}
    for batch in batches(planned, (pieces.cls, pieces.sep), MAX_BATCH_TOKENS):
        scores = model.logits(batch.ids, batch.lengths, batch.at)
        found |= {word: row for (_, word), row in zip(batch.units, scores, strict=True)}
    return found


class Nearest:
    """Words by the cosine of their vectors, among Y and the private words of the text at hand.

    A word without a vector has no neighbors and is nobody's: it is found only where it is released
    as it is.
    """

    def __init__(self, model: MaskedLM, vocabulary: Vocabulary) -> None:
        self._words, self._vocabulary = model.words, vocabulary
        rows = [model.words.row(word) for word in vocabulary.words]
        self._places = np.flatnonzero(np.array(rows) >= 0)
        self._at = {int(place): i for i, place in enumerate(self._places)}
        self._table = self._unit([row for row in rows if row >= 0])

    def _unit(self, rows: Sequence[int]) -> Logits:
        """Vectors of length one, float32 [n, n_dimensions]."""
        chosen = np.array(rows, dtype=np.intp)
        return np.asarray(
            self._words.vectors[chosen].astype(np.float32) / self._words.norms[chosen, None]
        )

    def places(self, word: str, n: int) -> NDArray[np.intp]:
        """Where the n words of Y nearest to this one stand in the vocabulary, int [n]; none without
        a vector.
        """
        row = self._words.row(word)
        if row < 0:
            return np.empty(0, dtype=np.intp)
        cosines = self._table @ self._unit([row])[0]
        return self._places[np.argsort(-cosines, kind="stable")[:n]]

    def ranks(
        self, original: str, released: Sequence[str], private: Sequence[str]
    ) -> NDArray[np.intp]:
        """How many candidates are nearer to each released word than the original, the released word
        counted.

        Args:
            original: the private word. released: what stood for it in each trial.
            private: all private words of the text; those outside Y are candidates too.

        Returns:
            int [n_trials]; 0 where the original itself was released, the number of candidates if
            out of reach.
        """
        out_of_reach = len(self._table)
        ranks = {word.lower(): out_of_reach for word in released}
        rows = {word: self._words.row(word) for word in ranks}
        measured = [word for word, row in rows.items() if row >= 0]
        own = self._words.row(original)
        if own >= 0 and measured:
            others = self._others(original, private)
            for begin in range(0, len(measured), CHUNK):
                part = measured[begin : begin + CHUNK]
                closer = self._closer(
                    self._unit([rows[word] for word in part]), self._unit([own])[0], others
                )
                ranks |= dict(zip(part, closer.tolist(), strict=True))
        ranks[original.lower()] = 0
        return np.array([ranks[word.lower()] for word in released], dtype=np.intp)

    def _others(self, original: str, private: Sequence[str]) -> Logits:
        """Vectors of all candidates but the original, float32 [n, n_dimensions]."""
        place = self._at.get(self._vocabulary.find(original))
        inside = self._table if place is None else np.delete(self._table, place, axis=0)
        outside = {word.lower() for word in private if self._vocabulary.find(word) < 0} - {
            original.lower()
        }
        rows = [row for word in sorted(outside) if (row := self._words.row(word)) >= 0]
        return np.concatenate([inside, self._unit(rows)]) if rows else inside

    @staticmethod
    def _closer(released: Logits, original: Logits, others: Logits) -> NDArray[np.intp]:
        """Per released vector how many of the others are nearer to it than the original, int [n]."""
        return np.asarray((released @ others.T > (released @ original)[:, None]).sum(axis=1))


WIDEST = 40  # twenty standard deviations


def ceiling(prior: float, epsilon: float) -> float:
    """The most that one epsilon-DP output can make anyone believe in a word that had probability
    `prior`.

    Guarantee: p e^eps / (1 + p (e^eps - 1)), from Bayes' rule with every other word's likelihood at
    its least.

    Args:
        prior: in [0, 1]. epsilon: in nats, at least 0.
    """
    return prior / (prior + (1 - prior) * exp(-epsilon)) if prior > 0 else 0.0


@dataclass(frozen=True)
class Likelihood:
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

    def __init__(
        self, engine: Engine, mechanism: WordMechanism, model: MaskedLM, pieces: WordPieces
    ) -> None:
        if isinstance(mechanism, DynText) and mechanism.replacement == "noise":
            raise ValueError("mechanism must have exact probabilities, got replacement='noise'")
        self._engine, self._mechanism, self._model, self._pieces = engine, mechanism, model, pieces
        self._kept: dict[str, tuple[NDArray[np.intp], Floats, float]] = {}
        self._n_outputs = 0

    def table(self, words: Sequence[str], logits: Logits | None) -> Likelihood:
        """Distributions of the words in one context; logits float32 [n_outputs], None if context is
        not read.
        """
        if isinstance(self._mechanism, DynText):
            return self._mixed(words)
        found = list(self._engine.distributions(words, logits))
        outputs = found[0][0]
        return Likelihood(
            outputs, np.stack([weights.probabilities(len(outputs)) for _, weights in found])
        )

    def _mixed(self, words: Sequence[str]) -> Likelihood:
        """DynText reads no context, so each word is worked out once: few members, and the same for
        all others.
        """
        for word in words:
            if word not in self._kept:
                self._kept[word] = self._sparse(word)
        p = np.empty((len(words), self._n_outputs))
        for row, word in zip(p, words, strict=True):
            members, values, rest = self._kept[word]
            row[:] = rest
            row[members] = values
        return Likelihood(np.arange(self._n_outputs), p)

    def _sparse(self, word: str) -> tuple[NDArray[np.intp], Floats, float]:
        found = list(self._engine.distributions([word], None))
        self._n_outputs = len(found[0][0])
        mixture = self._list_shares(word, len(found))
        p = np.zeros(self._n_outputs)
        for share, (_, weights) in zip(mixture, found, strict=True):
            if share:
                p += share * weights.probabilities(self._n_outputs)
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
            return lambda word: tokens.of(
                known_pieces(word, pieces) or [pieces.unknown]
            ), tokens.range
        words = WordNeighborhoods.load(model.folder, model.words)
        return lambda word: words.of(model.words.row(word)), words.range


def list_shares(mechanism: DynText, neighborhood: Neighborhood, densities: DensityRange) -> Floats:
    """Probability of each list length from `shortest` to `k_max` of dynamic lists, float64
    [n_lengths].

    Noise beyond the width of the densities gives the shortest or the longest list, each half of the
    time.
    """
    width = max(1, densities.highest - densities.lowest)
    noise = np.arange(-width, width + 1)
    p = _discrete_gaussian(noise, float(mechanism.variance(neighborhood, densities)))
    above = (
        np.clip(neighborhood.density + noise, densities.lowest, densities.highest)
        - densities.lowest
    )
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
    total = (
        sqrt(2 * pi * variance)
        if variance >= 4
        else float(np.exp(-(near**2) / (2 * variance)).sum())
    )
    return np.asarray(np.exp(-(x.astype(np.float64) ** 2) / (2 * variance)) / total)


def guessed(prior: Prior, table: Likelihood) -> Floats:
    """P(output | original) where the most probable word is the original, else 0; float64 [n].

    Its sum is the success of the best guesser from one output. Ties go to the word that is more
    probable beforehand.
    """
    best = (prior.mass[:, None] * table.p).argmax(axis=0)
    return np.where(best == prior.truth, table.p[prior.truth], 0.0)
