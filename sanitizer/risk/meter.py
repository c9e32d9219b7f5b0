"""How likely a private word of a text is to be found, as the page shows it."""

from __future__ import annotations

import threading
from dataclasses import asdict, dataclass
from functools import cached_property

import numpy as np

from sanitizer.pipeline import Sanitizer
from sanitizer.randomness import SYSTEM_RANDOM
from sanitizer.risk.posterior import (
    Likelihoods,
    Nearest,
    Vocabulary,
    ceiling,
    guessed,
    public_logits,
)

MAX_WORDS = 3  # a word takes some 20 ms
CANDIDATES = (30, 20)  # fewer than in the attacks: the guesser does no worse

NO_NOISE = "Under this policy all words but identifiers leave as they are: no noise hides them."
NO_WORDS = "No private word stands in this text."
UNCERTIFIED = "This mechanism is not certified, so nothing bounds what its output tells."
MEASURED = (
    "Share of the {n} private words{some} that the best guess gets right, by an attacker who knows the mechanism and "
    "all public words: expected, and at most, if the words are as likely there as the model thinks."
)


@dataclass(frozen=True)
class Risk:
    """Probabilities that the best guess from one output is the private word, mean over the words.

    Attributes:
        ceiling: the most that epsilon allows if the words are drawn from the model's prior. 1
            without a bound.
        expected: exact for the words of this text under the model's prior; None if not measured. It
            may lie above the ceiling where the words are likelier than the model thinks.
        note: what they mean, in one sentence.
    """

    ceiling: float
    expected: float | None
    note: str

    def as_dict(self) -> dict[str, float | str | None]:
        """Plain values for JSON."""
        return asdict(self)


class RiskMeter:
    """Measures texts under one mechanism; one model pass per text. Safe for many threads."""

    def __init__(self, sanitizer: Sanitizer) -> None:
        self._mechanism, self._models = sanitizer.mechanism, sanitizer.inner.models()
        self._lock = threading.Lock()

    @cached_property
    def _vocabulary(self) -> Vocabulary:
        return Vocabulary(self._models.model)

    @cached_property
    def _nearest(self) -> Nearest:
        return Nearest(self._models.model, self._vocabulary)

    @cached_property
    def _likelihoods(self) -> Likelihoods:
        return Likelihoods(
            self._models.engine, self._mechanism, self._models.model, self._models.pieces
        )

    def measure(self, sanitizer: Sanitizer, text: str) -> Risk:
        """Of a text under this mechanism and the sanitizer's policy. Raises as
        `Sanitizer.sanitize`.
        """
        masked = sanitizer.inner.mask(text, SYSTEM_RANDOM)
        if not masked.drawn:
            return Risk(0.0, 0.0, NO_WORDS)
        if not self._mechanism.certified:
            return Risk(1.0, None, UNCERTIFIED)
        with self._lock:
            logits = sorted(public_logits(self._models.model, self._models.pieces, masked).items())
            every = -(-len(logits) // MAX_WORDS)
            figures = [
                self._of_word(masked.words[at].text, scores) for at, scores in logits[::every]
            ]
        most, expected = np.mean(figures, axis=0)
        some = f", as measured on {len(figures)} of them," if len(figures) < len(logits) else ""
        return Risk(float(most), float(expected), MEASURED.format(n=len(logits), some=some))

    def _of_word(
        self, word: str, scores: np.ndarray[tuple[int, ...], np.dtype[np.float32]]
    ) -> tuple[float, float]:
        n_likely, n_near = CANDIDATES
        prior = self._vocabulary.prior(scores, word, n_likely, self._nearest.places(word, n_near))
        table = self._likelihoods.table(prior.words, scores)
        return ceiling(prior.p_top, self._mechanism.epsilon), float(guessed(prior, table).sum())
