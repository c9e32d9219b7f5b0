"""What every mechanism shares: exact levels, bucketed integer distributions, argument checks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from math import isfinite
from typing import Any, Protocol, TypeGuard

import numpy as np
from numpy.typing import NDArray

from sanitizer.randomness import Source, draw

Floats = NDArray[np.float64]
"""What is computed exactly or bounded: float64."""
Logits = NDArray[np.float32]
"""Scores as a model gives them: float32."""

VARIANTS = ("certified", "published")
"""With an epsilon that is a theorem about this code, or as the paper has it."""
LOW = 1 << 40
"""Weight of the least likely output; the others are up to e^epsilon times this."""
MAX_EPSILON = 64.0
"""Largest epsilon of one draw."""

_EXACT = Context(prec=80, rounding=ROUND_FLOOR)


def check_epsilon(epsilon: float) -> float:
    """Return it as a float; raise ValueError if not finite, positive and at most MAX_EPSILON."""
    if isinstance(epsilon, bool) or not isinstance(epsilon, (int, float)):
        raise ValueError(f"epsilon must be a number, got {epsilon!r}")
    if not (isfinite(epsilon) and 0.0 < epsilon <= MAX_EPSILON):
        raise ValueError(
            f"epsilon must be finite, positive and at most {MAX_EPSILON:g}, got {epsilon!r}"
        )
    return float(epsilon)


def high_level(epsilon: float) -> int:
    """Return floor(2**40 * e**epsilon).

    It is computed in 80 digits and rounded down, so that high / LOW never exceeds e**epsilon.
    Raises ValueError as `check_epsilon`.
    """
    return _high_level(check_epsilon(epsilon))


@lru_cache(maxsize=1024)
def _high_level(epsilon: float) -> int:
    # Cached: every word of a text asks for the same few.
    exponential = _EXACT.next_minus(_EXACT.exp(Decimal(epsilon)))
    return max(LOW, int(_EXACT.multiply(exponential, Decimal(LOW))))


@dataclass(frozen=True)
class Weights:
    """Distribution over outputs: pick a bucket by integer weight, then a member.

    Attributes:
        totals: weight of each bucket as a whole, Python ints >= 1.
        members: the outputs in each bucket, int [size], non-empty; an output may be in two.
        shares: per bucket int64 [size], its members' integer shares; None where they are equal.

    >>> weights = Weights((3, 1), (np.array([0]), np.array([1, 2])))
    >>> weights.probability(0), weights.probability(2)
    (Fraction(3, 4), Fraction(1, 8))
    >>> weights.probabilities(4).tolist()
    [0.75, 0.125, 0.125, 0.0]
    """

    totals: tuple[int, ...]
    members: tuple[NDArray[np.intp], ...] = field(repr=False)
    shares: tuple[NDArray[np.int64] | None, ...] = field(default=(), repr=False)

    @classmethod
    def levels(
        cls, levels: Sequence[int], ranked: NDArray[np.intp], sizes: Sequence[int]
    ) -> Weights:
        """Give every member of the j-th run of `ranked`, of length sizes[j], weight levels[j]."""
        bounds = np.cumsum(sizes)[:-1]
        totals = tuple(level * size for level, size in zip(levels, sizes, strict=True))
        return cls(totals, tuple(np.split(ranked, bounds)))

    @classmethod
    def staircase(cls, epsilon: float, ranked: NDArray[np.intp], n_top: int = 1) -> Weights:
        """Raise the first `n_top` of `ranked` by e^epsilon, rounded down; all others weigh LOW."""
        sizes = (n_top, len(ranked) - n_top)
        return cls.levels((high_level(epsilon), LOW), ranked, sizes)

    def probability(self, output: int) -> Fraction:
        """Return the exact probability of one output; zero if it is in no bucket."""
        found = Fraction(0)
        for i, (total, members) in enumerate(zip(self.totals, self.members, strict=True)):
            for place in np.flatnonzero(members == output):
                found += Fraction(total, sum(self.totals)) * self._share(i, int(place))
        return found

    def probabilities(self, n: int) -> Floats:
        """Return the probability of each of n outputs, float64 [n].

        They are computed from the integers that `draw` uses; each is off by its rounding only.
        """
        p = np.zeros(n)
        whole = sum(self.totals)
        for i, (total, members) in enumerate(zip(self.totals, self.members, strict=True)):
            shares = self.shares[i] if self.shares else None
            bucket = total / whole  # Python's division of integers is correctly rounded
            if shares is None and len(members) == n:
                p += bucket / n  # a bucket of all outputs, in whatever order: no gather needed
            elif shares is None:
                p[members] += bucket / len(members)
            else:
                p[members] += bucket * (shares / shares.sum())
        return p

    def _share(self, bucket: int, place: int) -> Fraction:
        shares = self.shares[bucket] if self.shares else None
        if shares is None:
            return Fraction(1, len(self.members[bucket]))
        return Fraction(int(shares[place]), int(shares.sum()))

    def draw(self, source: Source) -> int:
        """Draw one output."""
        bucket = draw(self.totals, source)
        members = self.members[bucket]
        shares = self.shares[bucket] if self.shares else None
        if shares is None:
            return int(members[source.randbelow(len(members))])
        sums = np.cumsum(shares)
        return int(members[np.searchsorted(sums, source.randbelow(int(sums[-1])), side="right")])


class Mechanism(Protocol):
    """Mechanism that ranks outputs in a context; the contract tests are written against it."""

    @property
    def epsilon(self) -> float:
        """Epsilon per unit, in nats."""

    @property
    def name(self) -> str:
        """Short name, for the record."""

    @property
    def certified(self) -> bool:
        """True if `epsilon` is a theorem about the code that runs."""

    def outputs(self, logits: Logits) -> NDArray[np.intp]:
        """Return the public output set, int [n], for scores of a context, float32 [n_outputs]."""

    def weights(
        self,
        logits: Logits,
        distance: NDArray[np.float32] | None,
        own: NDArray[np.intp],
        logit_range: tuple[float, float] = (0.0, 1.0),
    ) -> Weights:
        """Return the distribution for one private word over the n members of the output set.

        Args:
            logits: float32 [n], the context's scores for the members.
            distance: float32 [n] from the private word to the members, or None if it has no vector.
            own: positions of the private word itself among the members; may be empty.
            logit_range: public constants of the model, the logits that count as 0 and as 1.
        """

    def settings(self) -> dict[str, Any]:
        """Return the resolved parameters, for the record."""


def check_one_of(name: str, value: object, allowed: tuple[str, ...]) -> None:
    """Raise ValueError unless the value is one of those allowed."""
    if value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(allowed)}, got {value!r}")


def check_number(name: str, value: object, low: float, high: float = float("inf")) -> None:
    """Raise ValueError unless low < value <= high and finite."""
    if not (_is_number(value) and isfinite(value) and low < value <= high):
        raise ValueError(
            f"{name} must be a number above {low:g} and at most {high:g}, got {value!r}"
        )


def check_between(
    name: str, value: object, low: float, high: float, open_ends: bool = False
) -> None:
    """Raise ValueError unless low <= value <= high; `open_ends` refuses both ends."""
    good = _is_number(value) and low <= value <= high
    if not good or (open_ends and value in (low, high)):
        raise ValueError(f"{name} must be between {low:g} and {high:g}, got {value!r}")


def check_count(name: str, value: object, high: int | None = None, least: int = 1) -> None:
    """Raise ValueError unless an integer of at least `least` (and at most `high`)."""
    if not (_is_integer(value) and value >= least and (high is None or value <= high)):
        limit = "" if high is None else f" and at most {high}"
        raise ValueError(f"{name} must be an integer of at least {least}{limit}, got {value!r}")


def check_integer(name: str, value: object, least: int, most: int) -> None:
    """Raise ValueError unless an integer from `least` to `most`."""
    if not (_is_integer(value) and least <= value <= most):
        raise ValueError(f"{name} must be an integer from {least} to {most}, got {value!r}")


def _is_number(value: object) -> TypeGuard[int | float]:
    # True counts as 1 in Python; as an argument it is a mistake.
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_integer(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)
