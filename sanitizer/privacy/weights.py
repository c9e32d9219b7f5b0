"""What every mechanism shares: exact probability levels and bucketed integer distributions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from math import isfinite
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sanitizer.randomness import Source, draw

LOW = 1 << 40
MAX_EPSILON = 64.0

_EXACT = Context(prec=80, rounding=ROUND_FLOOR)


def check_epsilon(epsilon: float) -> float:
    """The value as a float.

    Raises:
        ValueError: if not finite, not positive, or above MAX_EPSILON.
    """
    if isinstance(epsilon, bool) or not isinstance(epsilon, (int, float)):
        raise ValueError(f"epsilon must be a number, got {epsilon!r}")
    if not (isfinite(epsilon) and 0.0 < epsilon <= MAX_EPSILON):
        raise ValueError(
            f"epsilon must be finite, positive and at most {MAX_EPSILON:g}, got {epsilon!r}"
        )
    return float(epsilon)


def high_level(epsilon: float) -> int:
    """floor(2**40 * e**epsilon), computed in 80 digits so that high / LOW never exceeds e**epsilon.

    Raises:
        ValueError: see `check_epsilon`.
    """
    return _high_level(check_epsilon(epsilon))


@lru_cache(maxsize=1024)
def _high_level(epsilon: float) -> int:
    """Of a valid epsilon; every word of a text asks for the same few."""
    exponential = _EXACT.next_minus(_EXACT.exp(Decimal(epsilon)))
    return max(LOW, int(_EXACT.multiply(exponential, Decimal(LOW))))


@dataclass(frozen=True)
class Weights:
    """A distribution over outputs: pick a bucket by integer weight, then a member.

    Attributes:
        totals: weight of each bucket as a whole, Python ints >= 1.
        members: the outputs in each bucket, int [size], non-empty; an output may stand in two.
        shares: per bucket int64 [size], its members' integer shares; None where they are equal.
    """

    totals: tuple[int, ...]
    members: tuple[NDArray[np.intp], ...] = field(repr=False)
    shares: tuple[NDArray[np.int64] | None, ...] = field(default=(), repr=False)

    @classmethod
    def levels(
        cls, levels: Sequence[int], ranked: NDArray[np.intp], sizes: Sequence[int]
    ) -> Weights:
        """Every member of the j-th run of `ranked` (length sizes[j]) has weight levels[j]."""
        bounds = np.cumsum(sizes)[:-1]
        totals = tuple(level * size for level, size in zip(levels, sizes, strict=True))
        return cls(totals, tuple(np.split(ranked, bounds)))

    def probability(self, output: int) -> Fraction:
        """Exact probability of one output; zero if it stands nowhere."""
        found = Fraction(0)
        for i, (total, members) in enumerate(zip(self.totals, self.members, strict=True)):
            for place in np.flatnonzero(members == output):
                found += Fraction(total, sum(self.totals)) * self._share(i, int(place))
        return found

    def _share(self, bucket: int, place: int) -> Fraction:
        shares = self.shares[bucket] if self.shares else None
        if shares is None:
            return Fraction(1, len(self.members[bucket]))
        return Fraction(int(shares[place]), int(shares.sum()))

    def draw(self, source: Source) -> int:
        """One output."""
        bucket = draw(self.totals, source)
        members, shares = self.members[bucket], self.shares[bucket] if self.shares else None
        if shares is None:
            return int(members[source.randbelow(len(members))])
        sums = np.cumsum(shares)
        return int(members[np.searchsorted(sums, source.randbelow(int(sums[-1])), side="right")])


class Mechanism(Protocol):
    """A mechanism that ranks outputs in a context; the contract tests are written against it."""

    @property
    def epsilon(self) -> float:
        """Per unit, in nats."""

    @property
    def name(self) -> str:
        """Short name, for the record."""

    @property
    def certified(self) -> bool:
        """Whether `epsilon` is a theorem about the code that runs."""

    def outputs(self, logits: NDArray[np.float32]) -> NDArray[np.intp]:
        """The public output set for a context: indices into `logits`, float32 [n_outputs]."""

    def weights(
        self,
        logits: NDArray[np.float32],
        distance: NDArray[np.float32] | None,
        own: NDArray[np.intp],
        logit_range: tuple[float, float] = (0.0, 1.0),
    ) -> Weights:
        """The distribution for one private word over the n members of the output set.

        Args:
            logits: float32 [n], the context's scores for the members.
            distance: float32 [n] from the private word to the members, or None if it has no vector.
            own: positions of the private word itself among the members; may be empty.
            logit_range: public constants of the model, the logits that count as 0 and as 1.
        """

    def settings(self) -> dict[str, Any]:
        """Resolved parameters, for the record."""
