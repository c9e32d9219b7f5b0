"""SANTEXT and SANTEXT+ (Yue et al., "Differential Privacy for Text Analytics via Natural Text
Sanitization", 2021).

SANTEXT, algorithm 1: P(y | w) proportional to exp(-eps d(w, y) / 2) over the vocabulary.
SANTEXT+, algorithm 2: the most frequent words are not sensitive. A sensitive word is drawn as above
from the sensitive words; another stays as it is with probability 1 - p, and is drawn so with
probability p.

Claimed: SANTEXT, eps d(w, w')-metric local DP; SANTEXT+, utility-optimized metric DP, with ln(1/p)
more.
True: SANTEXT keeps its claim. Under replace-one its epsilon is up to eps times the largest
distance: the audit gives the exact value. SANTEXT+ bounds nothing where a word that is not
sensitive is released as it is: no sensitive word can become it, so over all words its epsilon is
infinite; that is its design, not an error.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.baselines.base import Floats, Inputs, softmax


@dataclass(frozen=True)
class SanText:
    """Args: epsilon, per unit of distance."""

    epsilon: float
    name: str = "santext"

    def probabilities(self, inputs: Inputs) -> Floats:
        return softmax(-self.epsilon / 2 * inputs.distances)


@dataclass(frozen=True)
class SanTextPlus:
    """SANTEXT where frequent words mostly stay.

    Args:
        epsilon: per unit of distance. n_frequent: the first so many outputs are not sensitive
            (outputs are in the order of their frequency). p: how often such a word is drawn all the
            same.
    """

    epsilon: float
    n_frequent: int
    p: float = 0.2
    name: str = "santext+"

    def probabilities(self, inputs: Inputs) -> Floats:
        scores = -self.epsilon / 2 * inputs.distances.astype(np.float64)
        scores[:, : self.n_frequent] = -np.inf
        drawn = softmax(scores)
        is_itself = inputs.distances.min(axis=1) == 0
        keeps = np.flatnonzero(
            (inputs.nearest >= 0) & (inputs.nearest < self.n_frequent) & is_itself
        )
        drawn[keeps] *= self.p
        drawn[keeps, inputs.nearest[keeps]] += 1 - self.p
        return drawn
