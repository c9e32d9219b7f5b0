"""The only source of randomness: exact integer weights, drawn with the system's CSPRNG.

Floating-point softmax sampling can break differential privacy in its low-order bits, and ordinary
generators are predictable. Here every categorical draw takes Python integers and compares them with
a uniform integer below their sum, so the distribution that runs is exactly rational and can be
audited.

Discrete Gaussian: Canonne, Kamath, Steinke, "The Discrete Gaussian for Differential Privacy"
(2020), Algorithms 1-3.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import accumulate
from math import isfinite, isqrt
from typing import Protocol

SCALE_BITS = 62
"""Bits of the largest integer weight made of a float."""


class Source(Protocol):
    """Source of uniform integers."""

    def randbelow(self, n: int, /) -> int:
        """Return a uniform integer in [0, n), n >= 1."""


class SystemSource:
    """The operating system's CSPRNG: the only source outside `sanitizer.testing`."""

    def randbelow(self, n: int, /) -> int:
        return secrets.randbelow(n)


SYSTEM_RANDOM = SystemSource()


def secret_key() -> bytes:
    """Return 32 fresh bytes for keyed hashes, from the operating system's CSPRNG."""
    return secrets.token_bytes(32)


def integer_weights(weights: Iterable[float]) -> list[int]:
    """Return integers proportional to float weights: floor(w / w_max * 2**62), at least 1 each.

    Args:
        weights: finite, non-negative, at least one positive.

    Raises:
        ValueError: if a weight is negative or not finite, or none is positive.

    >>> small, large = integer_weights([0.25, 1.0])
    >>> large // small
    4
    """
    values = [float(w) for w in weights]
    if not all(isfinite(v) and v >= 0.0 for v in values):
        raise ValueError("weights must be finite and non-negative")
    largest = max(values, default=0.0)
    if largest <= 0.0:
        raise ValueError("weights must have a positive member")
    return [max(1, int(v / largest * (1 << SCALE_BITS))) for v in values]


def draw(weights: Sequence[int], source: Source) -> int:
    """Draw an index i with probability exactly weights[i] / sum(weights).

    Args:
        weights: Python integers, each at least 1.
        source: of uniform integers.

    Raises:
        TypeError: if a weight is not a Python int.
        ValueError: if empty or a weight is below 1.

    >>> from sanitizer.testing import SeededSource
    >>> source = SeededSource(1)
    >>> [draw([1, 99], source) for _ in range(5)]
    [1, 1, 1, 1, 1]
    """
    # `type` and not `isinstance`: a numpy integer may overflow, and True is a mistake.
    if any(type(w) is not int for w in weights):
        raise TypeError("weights must be Python integers")
    if not weights or min(weights) < 1:
        raise ValueError("weights must be non-empty and each at least 1")
    totals = list(accumulate(weights))
    ticket = source.randbelow(totals[-1])
    return next(i for i, total in enumerate(totals) if ticket < total)


def bernoulli_exp(gamma: Fraction, source: Source) -> bool:
    """Return True with probability exactly exp(-gamma), gamma >= 0 (Algorithm 1)."""
    while gamma > 1:
        if not bernoulli_exp(Fraction(1), source):
            return False
        gamma -= 1
    k = 1
    while source.randbelow((p := gamma / k).denominator) < p.numerator:  # with probability p
        k += 1
    return k % 2 == 1


def discrete_laplace(scale: Fraction, source: Source) -> int:
    """Draw an integer x with probability proportional to exp(-|x| / scale) (Algorithm 2).

    Raises:
        ValueError: if scale is not positive.
    """
    if scale <= 0:
        raise ValueError(f"scale must be positive, got {scale}")
    t, s = scale.numerator, scale.denominator
    while True:
        u = source.randbelow(t)
        if not bernoulli_exp(Fraction(u, t), source):
            continue
        v = 0
        while bernoulli_exp(Fraction(1), source):
            v += 1
        magnitude = (u + t * v) // s
        negative = source.randbelow(2) == 1
        # Zero would come with either sign, twice as often as it should.
        if not (negative and magnitude == 0):
            return -magnitude if negative else magnitude


def discrete_gaussian(variance: Fraction, source: Source) -> int:
    """Draw an integer x with probability proportional to exp(-x**2 / (2 variance)) (Algorithm 3).

    A variance of zero gives zero.

    Raises:
        ValueError: if variance is negative.

    >>> from sanitizer.testing import SeededSource
    >>> source = SeededSource(1)
    >>> [discrete_gaussian(Fraction(25), source) for _ in range(5)]
    [1, 3, -3, 1, 1]
    """
    if variance < 0:
        raise ValueError(f"variance must be non-negative, got {variance}")
    if variance == 0:
        return 0
    t = isqrt(variance.numerator // variance.denominator) + 1
    while True:
        x = discrete_laplace(Fraction(t), source)
        gap = abs(x) - variance / t
        if bernoulli_exp(gap * gap / (2 * variance), source):
            return x
