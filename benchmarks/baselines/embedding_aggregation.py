"""Private in-context learning by embedding-space aggregation (Wu et al. 2023), as the DPS-MOZO
paper describes it.

The demonstrations are split into N disjoint parts; the model answers the query once with each; the
answers' sentence vectors are averaged and Gaussian noise is added; of candidate answers written
without demonstrations, the one nearest to the noisy mean is released.

Accounting: one query is one Gaussian mechanism. The vectors have length one, so replacing a
demonstration (by null or by another) moves their sum by at most 2. Parts are taken by position,
which is public. The paper also amplifies by Poisson subsampling of the demonstrations; that is left
out, and nothing is claimed for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from benchmarks.baselines.next_token import REPLACE, UNIT
from sanitizer.privacy import GaussianEvent, cost
from sanitizer.randomness import Source, discrete_gaussian

Vectors = NDArray[np.float32]
LATTICE = 1 << 16
"""Points per unit of a coordinate; sums and noise are integers."""


def parts(n_demonstrations: int, n_parts: int) -> list[list[int]]:
    """Disjoint parts by position; the last ones may be a demonstration shorter."""
    return [list(range(i, n_demonstrations, n_parts)) for i in range(n_parts)]


@dataclass(frozen=True)
class EmbeddingAggregation:
    """Args: sigma: noise of a coordinate of the sum of the answers' unit vectors (N times that of
    their mean).
    """

    sigma: float
    relation: str = REPLACE
    name: str = "embedding-space aggregation"

    def event(self, width: int) -> GaussianEvent:
        """Return the event of one query: rounding to the lattice moves a vector by at most
        sqrt(width) / 2 points.
        """
        sensitivity = 2 + sqrt(width) / LATTICE
        return GaussianEvent(
            unit=UNIT, relation=self.relation, sigma=self.sigma, sensitivity=sensitivity
        )

    def epsilon(self, width: int, n_queries: int, delta: float) -> float:
        """Of all queries."""
        return cost(self.event(width), n_queries, delta)

    def choose(self, answers: Vectors, candidates: Vectors, source: Source) -> int:
        """Which candidate is released.

        Args:
            answers: float32 [n_parts, width], private unit vectors. candidates: float32
                [n_candidates, width], public.
        """
        variance = Fraction(round((self.sigma * LATTICE) ** 2))
        noisy = [int(x) + discrete_gaussian(variance, source) for x in summed(answers)]
        return int((candidates @ np.asarray(noisy, dtype=np.float64)).argmax())


def summed(answers: Vectors) -> NDArray[np.int64]:
    """The sum of the vectors, none longer than one, each rounded to the lattice, int64 [width]."""
    exact = answers.astype(np.float64)
    exact /= np.maximum(np.linalg.norm(exact, axis=1, keepdims=True), 1) * (1 + 1e-12)
    return np.asarray(np.rint(exact * LATTICE).astype(np.int64).sum(axis=0))
