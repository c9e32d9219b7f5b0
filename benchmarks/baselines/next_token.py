"""What the baselines of generation share, and the two that need no privacy: zero-shot and
non-private few-shot.

They read the same scores as the package's decoders (`sanitizer.decoding.base.NextScores`), as
arrays: row 0 without a reference, row i with the i-th alone. Each says what it costs by
`epsilon(max_tokens, delta)` and for which neighbours that holds; the unit is always one reference.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sanitizer.privacy import Logits, TokenWeights, check_finite, exact_weights, top_tokens

Floats = NDArray[np.float64]
UNIT = "one reference"
REPLACE, ZERO_OUT, ADD_REMOVE = "replace-by-null", "zero-out", "add-remove"


def log_softmax(scores: NDArray[np.floating]) -> Floats:
    """Return log-probabilities along the last axis, float64.

    Raises:
        NotCertified: a score is not finite.
    """
    check_finite(scores)
    shifted = scores.astype(np.float64) - scores.max(axis=-1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True)))


def weighted(logs: Floats, top_k: int | None = None) -> TokenWeights:
    """Integer weights of log-weights float64 [n_vocabulary], of all tokens or of the `top_k`
    heaviest.
    """
    tokens = top_tokens(logs, top_k or len(logs))
    return TokenWeights(tokens, exact_weights(logs[tokens]))


@dataclass(frozen=True)
class ZeroShot:
    """The model without references: reads row 0 only, so a reference costs nothing, whatever the
    neighbours.
    """

    temperature: float = 1.0
    top_k: int | None = 100
    name: str = "zero-shot"
    relation: str = "any"

    def weights(self, scores: Logits) -> TokenWeights:
        """The distribution of the next token; scores float32 [1 + n_references, n_vocabulary]."""
        return weighted(log_softmax(scores[0]) / self.temperature, self.top_k)

    def epsilon(self, max_tokens: int, delta: float) -> float:
        """0: nothing private is read."""
        return 0.0


@dataclass(frozen=True)
class FewShot:
    """The model as it answers with its references, unprotected.

    Reads the mean of the log-probabilities of rows 1, 2 and so on: with one such row, whose prompt
    holds every demonstration, ordinary few-shot; with a reference in each, what the private
    decoders would do without clipping.
    """

    temperature: float = 1.0
    top_k: int | None = 100
    name: str = "few-shot, not private"
    relation: str = "none"

    def weights(self, scores: Logits) -> TokenWeights:
        """The distribution of the next token; scores float32 [1 + n_references, n_vocabulary]."""
        return weighted(log_softmax(scores[1:]).mean(axis=0) / self.temperature, self.top_k)

    def epsilon(self, max_tokens: int, delta: float) -> float:
        """Infinite: no bound holds."""
        return np.inf
