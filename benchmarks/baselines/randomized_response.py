"""k-ary randomized response (Kairouz, Oh, Viswanath, "Extremal Mechanisms for Local Differential
Privacy", 2014).

The word itself has probability e^eps / (e^eps + n - 1), every other output 1 / (e^eps + n - 1). A
word that is not among the outputs first becomes the nearest output (any function of the word may
come first).

Claimed and true: exactly eps-DP under replace-one. A word of which nothing is known is drawn
uniformly; its probabilities lie between the two levels' (1/n), so the bound holds with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp

import numpy as np

from benchmarks.baselines.base import Floats, Inputs


@dataclass(frozen=True)
class RandomizedResponse:
    """Args: epsilon, in nats."""

    epsilon: float
    name: str = "randomized response"

    def probabilities(self, inputs: Inputs) -> Floats:
        n_words, n = inputs.distances.shape
        whole = exp(self.epsilon) + n - 1
        p = np.full((n_words, n), 1 / whole)
        known = np.flatnonzero(inputs.nearest >= 0)
        p[known, inputs.nearest[known]] = exp(self.epsilon) / whole
        p[inputs.nearest < 0] = 1 / n
        return p
