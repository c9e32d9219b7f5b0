"""Y as an attacker reads it: without letter case, as a prior, by rank, and by nearness of word vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sanitizer.backbone import MaskedLM
from sanitizer.draft import Draft
from sanitizer.text import WordPieces
from sanitizer.windows import batches, rows

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
        words: one spelling of each distinct word. fold: int [n_outputs], each output's place among them.
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
        """The softmax of one context's logits, cut to a few candidates: as much as an attacker can weigh.

        Spellings that differ in case are added up. No word has less than one part in the word table's size, as if
        each of its words were equally likely; so has an original outside Y. What is left adds up to 1.

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
            return Prior((*words, word), np.append(kept, self._floor) / (kept.sum() + self._floor), len(words))
        truth = int(np.flatnonzero(chosen == own)[0])
        words[truth] = word
        return Prior(tuple(words), kept / kept.sum(), truth)


def public_logits(model: MaskedLM, pieces: WordPieces, draft: Draft) -> dict[int, Logits]:
    """Drawn word -> scores over Y, float32 [n_outputs], with every private word of the text hidden."""
    planned = rows(0, draft.ids, draft.slots, np.array(draft.drawn, dtype=np.intp), model.max_length)
    found: dict[int, Logits] = {}
    for batch in batches(planned, (pieces.cls, pieces.sep), MAX_BATCH_TOKENS):
        scores = model.logits(batch.ids, batch.lengths, batch.at)
        found |= {word: row for (_, word), row in zip(batch.units, scores, strict=True)}
    return found


class Nearest:
    """Words by the cosine of their vectors, among Y and the private words of the text at hand.

    A word without a vector has no neighbors and is nobody's: it is found only where it is released as it is.
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
        return np.asarray(self._words.vectors[chosen].astype(np.float32) / self._words.norms[chosen, None])

    def places(self, word: str, n: int) -> NDArray[np.intp]:
        """Where the n words of Y nearest to this one stand in the vocabulary, int [n]; none without a vector."""
        row = self._words.row(word)
        if row < 0:
            return np.empty(0, dtype=np.intp)
        cosines = self._table @ self._unit([row])[0]
        return self._places[np.argsort(-cosines, kind="stable")[:n]]

    def ranks(self, original: str, released: Sequence[str], private: Sequence[str]) -> NDArray[np.intp]:
        """How many candidates are nearer to each released word than the original, the released word counted.

        Args:
            original: the private word. released: what stood for it in each trial.
            private: all private words of the text; those outside Y are candidates too.

        Returns:
            int [n_trials]; 0 where the original itself was released, the number of candidates if out of reach.
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
                closer = self._closer(self._unit([rows[word] for word in part]), self._unit([own])[0], others)
                ranks |= dict(zip(part, closer.tolist(), strict=True))
        ranks[original.lower()] = 0
        return np.array([ranks[word.lower()] for word in released], dtype=np.intp)

    def _others(self, original: str, private: Sequence[str]) -> Logits:
        """Vectors of all candidates but the original, float32 [n, n_dimensions]."""
        place = self._at.get(self._vocabulary.find(original))
        inside = self._table if place is None else np.delete(self._table, place, axis=0)
        outside = {word.lower() for word in private if self._vocabulary.find(word) < 0} - {original.lower()}
        rows = [row for word in sorted(outside) if (row := self._words.row(word)) >= 0]
        return np.concatenate([inside, self._unit(rows)]) if rows else inside

    @staticmethod
    def _closer(released: Logits, original: Logits, others: Logits) -> NDArray[np.intp]:
        """Per released vector how many of the others are nearer to it than the original, int [n]."""
        return np.asarray((released @ others.T > (released @ original)[:, None]).sum(axis=1))
