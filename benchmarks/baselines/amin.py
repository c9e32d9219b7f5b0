"""Private prediction of Amin et al. (2024, arXiv 2407.12108), as InvisibleInk's paper describes and
corrects it.

Each reference's logits are shifted so that the largest is C, cut at -C and averaged; a private
token is drawn from softmax(mean / temperature) over the whole vocabulary. In front stands the
sparse vector technique: while the mean of the private distributions is within a noisy threshold of
the public distribution (L1), tokens are drawn from the public one at no further cost; the first
time it is not, one private token is drawn and the threshold gets new noise.

Accounting, for a number of private tokens fixed and charged in advance (the paper charges those it
happened to use, a number that depends on the data):

- one private token: a coordinate of the mean moves by at most s, so its range is 2 s / temperature;
s = C / B when a
  reference's contribution is replaced by zeros (zero-out), 2 C / B when the reference is replaced
  by null. The paper claims C / B for add-remove neighbours, for which it does not hold (the divisor
  changes too).
- one run of the sparse vector: the distance moves by at most d = 1 / B (zero-out) or 2 / B
(replace-by-null); with
  Laplace noise sigma on the threshold and 2 sigma on each distance it is 2 d / sigma-DP (Dwork and
  Roth 2014, 3.23).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from benchmarks.baselines.next_token import (
    REPLACE,
    UNIT,
    ZERO_OUT,
    Floats,
    ZeroShot,
    log_softmax,
    weighted,
)
from sanitizer.privacy import (
    RANGE_SLACK,
    Accountant,
    BoundedRangeEvent,
    Logits,
    PureEvent,
    TokenWeights,
    cost,
)
from sanitizer.randomness import Source, discrete_laplace

LATTICE = 1 << 20
"""Points per unit of L1 distance: noise is drawn as integers, which have no low-order bits to leak.
"""
TIMES = {ZERO_OUT: 1, REPLACE: 2}


@dataclass(frozen=True)
class Amin:
    """A private token.

    Args:
        clip_norm: C, nats. n_references: B. relation: "zero-out" or "replace-by-null".
    """

    clip_norm: float
    n_references: int
    temperature: float = 1.0
    relation: str = REPLACE
    name: str = "Amin et al."

    def mean(self, scores: Logits) -> Floats:
        """The mean of the clipped logits, float64 [n_vocabulary], each in [-C, C]."""
        shifted = log_softmax(scores[1:])
        shifted += self.clip_norm - shifted.max(axis=1, keepdims=True)
        return np.asarray(np.maximum(shifted, -self.clip_norm).sum(axis=0) / self.n_references)

    def weights(self, scores: Logits) -> TokenWeights:
        """The distribution of a private token; scores float32 [1 + n_references, n_vocabulary]."""
        return weighted(self.mean(scores) / self.temperature)

    @property
    def event(self) -> BoundedRangeEvent:
        """One private token."""
        sensitivity = TIMES[self.relation] * self.clip_norm / self.n_references
        range_ = 2 * sensitivity / self.temperature + RANGE_SLACK
        return BoundedRangeEvent(unit=UNIT, relation=self.relation, range_=range_)

    def epsilon(self, max_tokens: int, delta: float) -> float:
        """When every token is private."""
        return cost(self.event, max_tokens, delta)

    @classmethod
    def within(
        cls, range_: float, n_references: int, temperature: float = 1.0, relation: str = REPLACE
    ) -> Amin:
        """The largest clipping norm whose private token stays within a range."""
        norm = range_ * temperature * n_references / (2 * TIMES[relation])
        return cls(norm, n_references, temperature, relation)


@dataclass(frozen=True)
class SparseVector:
    """Public tokens where they will do.

    Args:
        threshold: L1 distance of distributions, in [0, 2]. sigma: scale of its Laplace noise.
            max_private: private tokens, fixed and charged in advance; the text ends after them.
                temperature: of public tokens.
    """

    private: Amin
    threshold: float
    sigma: float
    max_private: int
    temperature: float = 1.0

    @property
    def event(self) -> PureEvent:
        """One run, up to and with its first distance above the threshold."""
        moved = (
            TIMES[self.private.relation] / self.private.n_references + 2 / LATTICE
        )  # rounding to the lattice
        return PureEvent(unit=UNIT, relation=self.private.relation, epsilon=2 * moved / self.sigma)

    def epsilon(self, delta: float) -> float:
        """Of a whole text; a run that the end of the text cuts short is one of those charged."""
        accountant = Accountant()
        accountant.compose(self.private.event, self.max_private)
        accountant.compose(self.event, self.max_private)
        return accountant.epsilon(delta)

    def tokens(
        self, scores: Callable[[int | None], Logits], max_tokens: int, source: Source
    ) -> Iterator[tuple[int, bool]]:
        """(token, whether it is private), at most `max_tokens` and at most `max_private` private
        ones.
        """
        n_private, limit, token = 0, self._noisy(self.threshold, 1, source), None
        public = ZeroShot(self.temperature, None)
        for _ in range(max_tokens):
            if n_private == self.max_private:
                return
            now = scores(token)
            above = self._noisy(distance(now), 2, source) >= limit
            token = (self.private if above else public).weights(now).draw(source)
            yield token, above
            if above:
                n_private, limit = n_private + 1, self._noisy(self.threshold, 1, source)

    def _noisy(self, value: float, times: int, source: Source) -> int:
        scale = Fraction(round(times * self.sigma * LATTICE))
        return round(value * LATTICE) + discrete_laplace(scale, source)


def distance(scores: Logits) -> float:
    """L1 distance of the mean private distribution from the public one, in [0, 2]."""
    p = np.exp(log_softmax(scores))
    return float(np.abs(p[1:].mean(axis=0) - p[0]).sum())
