"""A masked model that keeps what it is asked to read, and the shares of what is drawn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from math import exp

import numpy as np
from numpy.typing import NDArray

from sanitizer import Sanitizer
from sanitizer.testing.models import SeededSource, ToyBackbone

Scores = Callable[[int, int], NDArray[np.float32]]


def zeros(n: int, n_outputs: int) -> NDArray[np.float32]:
    return np.zeros((n, n_outputs), dtype=np.float32)


class Recording(ToyBackbone):
    """Attributes: seen: tokens of each call, in order."""

    def __init__(self, scores: Scores = zeros) -> None:
        super().__init__(scores)
        self.seen: list[list[int]] = []

    def logits(
        self, ids: NDArray[np.int64], lengths: NDArray[np.int64], at: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        self.seen.append([int(i) for i in ids.reshape(-1)])
        return super().logits(ids, lengths, at)


def check_shares(sanitizer: Sanitizer, word: str, n: int, source: SeededSource) -> None:
    """Draw a word n times: of five outputs, one has the high level of epsilon 1, four the low."""
    texts = sanitizer.sanitize_batch([f"the {word}"] * n, fresh=True, source=source)
    counts = sorted(Counter(t.text for t in texts).values())
    low, high = 1 / (exp(1) + 4), exp(1) / (exp(1) + 4)
    assert len(counts) == 5
    for count, p in zip(counts, [low] * 4 + [high], strict=True):
        assert abs(count - n * p) < 5 * (n * p * (1 - p)) ** 0.5  # five standard errors, fixed seed
