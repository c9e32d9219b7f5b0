"""Fresh draws of one text for the attacks, made by the pipeline's own stages; nothing is charged or remembered."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sanitizer.draft import Draft
from sanitizer.drawing import step_contexts
from sanitizer.mechanisms.base import Weights
from sanitizer.pipeline import Sanitizer
from sanitizer.posterior import Floats, Likelihoods
from sanitizer.sampling import Source
from sanitizer.vocabulary import Logits, Prior


class SameNumbers:
    """A source for the numbers only: every trial reads the same context."""

    def randbelow(self, n: int, /) -> int:
        return n // 2


class Trials:
    """Draws of one text, made as the pipeline makes them, and what each word's draws tell of it.

    Attributes:
        outputs: word -> its output in each trial.
    """

    def __init__(
        self, sanitizer: Sanitizer, likelihoods: Likelihoods, priors: dict[int, Prior], source: Source
    ) -> None:
        self._sanitizer, self._likelihoods, self._priors, self._source = sanitizer, likelihoods, priors, source
        self._engine = sanitizer.parts().engine
        self._fixed: dict[int, dict[int, Logits | None]] = {}
        self._weights: dict[int, tuple[NDArray[np.intp], Weights]] = {}
        self._logs: dict[int, list[Floats]] = {}
        self.outputs: dict[int, list[int]] = {word: [] for word in priors}

    def draw(self, draft: Draft) -> Draft:
        """One trial: every word of the draft is released."""
        if self._engine.left is not None and self._engine.context == "released":
            for units, scores in step_contexts(self._sanitizer.parts(), [draft], 0):
                self._release(draft, _by_word(units, scores), always=False)
            return draft
        for step in range(self._engine.n_steps):
            always = step == 0 or self._engine.context != "released"
            contexts = self._fixed.get(step) or self._contexts(draft, step)
            if always:
                self._fixed[step] = contexts
            self._release(draft, contexts, always)
        return draft

    def _contexts(self, draft: Draft, step: int) -> dict[int, Logits | None]:
        """Drawn word -> the scores its draw reads, float32 [n_outputs], or None."""
        found: dict[int, Logits | None] = {}
        for units, scores in step_contexts(self._sanitizer.parts(), [draft], step):
            found |= _by_word(units, scores)
        return found

    def _release(self, draft: Draft, contexts: dict[int, Logits | None], always: bool) -> None:
        space = self._engine.space
        for word, logits in contexts.items():
            output = self._output(word, draft.words[word].text, logits, always)
            draft.release(word, space.text(output), space.token(output))
            self.outputs[word].append(output)
            if not always:
                self._logs.setdefault(word, []).append(self._columns(word, logits, [output])[0])

    def _output(self, word: int, text: str, logits: Logits | None, always: bool) -> int:
        """One draw; where the context is always the same its weights are worked out once."""
        if logits is None or not always:
            scores = None if logits is None else logits[None]
            return next(self._engine.choose([text], scores, self._source)).output
        if word not in self._weights:
            self._weights[word] = next(self._engine.distributions([text], logits))
        outputs, weights = self._weights[word]
        return int(outputs[weights.draw(self._source)])

    def _columns(self, word: int, logits: Logits | None, outputs: list[int]) -> list[Floats]:
        table = self._likelihoods.table(self._priors[word].words, logits)
        return [table.log_column(output) for output in outputs]

    def log_likelihoods(self, word: int) -> Floats:
        """ln P(output | candidate), float64 [n_trials, n_candidates]."""
        if word in self._logs:
            return np.stack(self._logs[word])
        logits = next(contexts[word] for contexts in self._fixed.values() if word in contexts)
        return np.stack(self._columns(word, logits, self.outputs[word]))


def _by_word(units: Sequence[tuple[int, int]], scores: Logits | None) -> dict[int, Logits | None]:
    return {word: None if scores is None else scores[i] for i, (_, word) in enumerate(units)}
