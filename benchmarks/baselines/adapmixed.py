"""PMixED and AdaPMixED (Flemings et al. 2024): each private distribution is drawn towards the
public one.

p_i(lambda) = lambda p_i + (1 - lambda) p_0, with the largest lambda in [0, 1] for which the Renyi
divergences of order alpha from and to p_0 are at most beta * alpha; the next token comes from the
mean over references. Left out: the noisy screening that AdaPMixED puts in front, which replaces
some tokens by public ones at a data-dependent cost of its own.

Two accounts, both at the one order alpha, composed by adding up over tokens:

- `loss`: the divergence between the mean on these references and on each neighbour in turn, the
largest. This is the
  paper's data-dependent account. It holds for the data at hand only and is itself private: no
  differential privacy until it is released privately too. Neighbours: replace-by-null, or
  add-remove as in the paper.
- `worst_case`: under replace-by-null the two means differ in one of N parts, p_i(lambda) against
p_0, so by joint
  convexity of exp((alpha - 1) D) the divergence is at most ln((N - 1 + e^((alpha - 1) beta alpha))
  / N) / (alpha - 1), whatever the data. A theorem up to the rounding of the weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, inf, log, log1p

import numpy as np

from benchmarks.baselines.next_token import ADD_REMOVE, REPLACE, Floats, log_softmax, weighted
from sanitizer.privacy import Logits, TokenWeights

STEPS = 16
"""Halvings of the interval of lambda; the lower end is taken, so the radius is kept."""


@dataclass(frozen=True)
class AdaPMixed:
    """Args: radius: beta * alpha, nats. alpha: the order, above 1. n_references: N."""

    radius: float
    alpha: float
    n_references: int
    relation: str = REPLACE
    name: str = "AdaPMixED"

    def mixed(self, scores: Logits) -> tuple[Floats, Floats]:
        """Return the public distribution [n_vocabulary] and the mixed ones
        [n_references, n_vocabulary], float64.
        """
        p = np.exp(log_softmax(scores))
        public, private = p[0], p[1:]
        excess = private / public - 1
        low, high = np.zeros((len(private), 1)), np.ones((len(private), 1))
        high[self._inside(public, excess, high)] = np.nextafter(
            1, 2
        )  # lambda 1 will do: no bisection needed
        low[high > 1] = 1
        for _ in range(STEPS if (low < 1).any() else 0):
            middle = (low + high) / 2
            inside = self._inside(public, excess, middle)
            low, high = np.where(inside, middle, low), np.where(inside, high, middle)
        return public, public * (1 + low * excess)

    def _inside(self, public: Floats, excess: Floats, part: Floats) -> np.ndarray:
        ratio = 1 + part * excess
        # At lambda = 1 a ratio may underflow to 0: the divergence from the public distribution is
        # infinite then.
        with np.errstate(divide="ignore"):
            logs = np.log(ratio)
        with np.errstate(over="ignore"):
            largest = np.maximum(
                (public * np.exp(self.alpha * logs)).sum(axis=1),
                (public * np.exp((1 - self.alpha) * logs)).sum(axis=1),
            )
        return np.asarray(np.log(largest)[:, None] <= (self.alpha - 1) * self.radius)

    def weights(self, scores: Logits) -> TokenWeights:
        """The distribution of the next token; scores float32 [1 + n_references, n_vocabulary]."""
        return weighted(np.log(self.mixed(scores)[1].mean(axis=0)))

    def loss(self, scores: Logits) -> float:
        """The largest divergence of order alpha to a neighbour and back, for one token. PRIVATE:
        see above.
        """
        public, mixed = self.mixed(scores)
        mean, n = mixed.mean(axis=0), len(mixed)
        if self.relation == ADD_REMOVE and n > 1:
            others = (n * mean - mixed) / (n - 1)
        else:
            others = mean + (public - mixed) / n
        return max(
            max(self._divergence(mean, other), self._divergence(other, mean)) for other in others
        )

    def _divergence(self, p: Floats, q: Floats) -> float:
        return float(np.log((p * (p / q) ** (self.alpha - 1)).sum()) / (self.alpha - 1))

    @property
    def worst_case(self) -> float:
        """The largest divergence of order alpha of one token under replace-by-null, for any
        references.
        """
        n, order = self.n_references, self.alpha - 1
        return log((n - 1 + exp(order * self.radius)) / n) / order

    def epsilon(self, max_tokens: int, delta: float) -> float:
        """Worst case of `max_tokens` tokens under replace-by-null; infinite for add-remove
        neighbours.
        """
        return (
            self.converted(max_tokens * self.worst_case, delta) if self.relation == REPLACE else inf
        )

    def converted(self, divergence: float, delta: float) -> float:
        """(epsilon, delta) of a divergence of order alpha (Canonne, Kamath, Steinke 2020,
        proposition 12).
        """
        return max(
            0.0, divergence - log(self.alpha * delta) / (self.alpha - 1) + log1p(-1 / self.alpha)
        )

    @classmethod
    def within(
        cls, epsilon: float, delta: float, max_tokens: int, n_references: int, alpha: float
    ) -> AdaPMixed | None:
        """The largest radius whose worst case stays within a budget; None if even a radius of 0
        does not.
        """
        free = cls(0.0, alpha, n_references)
        each = (epsilon - free.epsilon(1, delta)) / max_tokens if free.epsilon(1, delta) else 0.0
        if each <= 0:
            return None
        radius = log(n_references * exp((alpha - 1) * each) - n_references + 1) / (alpha - 1)
        return cls(radius, alpha, n_references)
