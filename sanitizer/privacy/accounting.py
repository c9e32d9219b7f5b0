"""What releases cost together: each is recorded as an event, and an accountant prices all of them.

Epsilons, ranges and losses are in nats. `Accountant.epsilon` gives the smallest of three bounds,
all of them valid:

- basic composition: epsilons add up, deltas add up (Dwork and Roth 2014, theorem 3.16);
- the composed Rényi curve, turned into (epsilon, delta) at the best order (Canonne, Kamath, Steinke
  2020, proposition 12), with each event's own divergence: see `divergence_above_one`;
- the composed privacy loss of the worst pairs, where each event has one: two-level mechanisms and
  pure DP. For equal pure events this is the optimal composition theorem (Kairouz, Oh, Viswanath
  2015, theorem 3.3).

Sums are floating point; each computed bound is raised by a relative 1e-9, far above its rounding
error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from math import exp, expm1, fsum, inf, isfinite, log
from typing import Any

import numpy as np

from sanitizer.privacy.weights import Floats

SLACK = 1e-9
"""Share by which computed bounds are raised, for rounding."""
ROUNDING = 1e-12
"""Relative error that a few floating-point operations may have."""
UNDERFLOW = 1e-290
"""Above all mass that products below the smallest float can lose."""
LARGEST_HALF_WIDTH = 4096
"""Most lattice points on either side of zero; keeps one call below about 0.1 s."""
SMALLEST_EXCESS = 1e-100
"""Taken for alpha - 1 = 0; the formulas below lose nothing there."""
EXCESSES = np.geomspace(1e-8, 1e8, 321)
"""Values of alpha - 1 at which Rényi bounds are tried first."""


@dataclass(frozen=True, kw_only=True)
class Event:
    """Release, and what it is private about; the base of the kinds below.

    Args:
        unit: what is protected, for example "word".
        relation: when two inputs are neighbours, for example "replace-one".

    Raises:
        ValueError: naming argument and value; so do all kinds.
    """

    unit: str
    relation: str

    def __post_init__(self) -> None:
        for name, value in ((f.name, getattr(self, f.name)) for f in fields(self)):
            _check(name, value)


@dataclass(frozen=True)
class PureEvent(Event):
    """Release with pure DP.

    Guarantee: no output is more than e^epsilon times likelier on one input than on a neighbour.
    epsilon > 0.
    """

    epsilon: float


@dataclass(frozen=True)
class ApproximateEvent(Event):
    """Release with approximate DP.

    Guarantee: P(S) <= e^epsilon Q(S) + delta for every set S of outputs, where P and Q are the
    distributions on two neighbouring inputs. epsilon > 0, delta in [0, 1).
    """

    epsilon: float
    delta: float


@dataclass(frozen=True)
class BoundedRangeEvent(Event):
    """Release of bounded range (Durfee and Rogers 2019).

    A draw of the exponential mechanism is one. Guarantee: for two neighbouring inputs, the privacy
    losses of all outputs lie in one interval of
    length range_ > 0.
    """

    range_: float


@dataclass(frozen=True)
class ZCDPEvent(Event):
    """Release with zero-concentrated DP (Bun and Steinke 2016, definition 1.1).

    Guarantee: the Rényi divergence of every order alpha > 1 is at most rho * alpha. rho > 0.
    """

    rho: float


@dataclass(frozen=True)
class GaussianEvent(Event):
    """Value plus Gaussian noise of scale sigma, or integer plus discrete Gaussian noise.

    Guarantee: the value moves by at most `sensitivity` (L2) between neighbouring inputs, so
    rho = sensitivity^2 / (2 sigma^2) (Bun and Steinke 2016, proposition 1.6; Canonne, Kamath,
    Steinke 2020, theorem 4). Both > 0.
    """

    sigma: float
    sensitivity: float = 1.0


@dataclass(frozen=True)
class StaircaseEvent(Event):
    """Draw in which n_top of n_outputs outputs weigh e^epsilon and the others 1.

    Also for integer weights of a public prior: n_top is then their raised mass, n_outputs the whole
    mass.

    Guarantee: whatever the input, exactly n_top are raised; neighbouring inputs share the outputs,
    the weights and both counts, so n_outputs is the number of outputs that could be drawn, not a
    setting above it. epsilon > 0, 0 < n_top < n_outputs.
    """

    epsilon: float
    n_top: int
    n_outputs: int

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.n_top >= self.n_outputs:
            raise ValueError(f"n_top must be below n_outputs ({self.n_outputs}), got {self.n_top}")


KINDS = (PureEvent, ApproximateEvent, BoundedRangeEvent, ZCDPEvent, GaussianEvent, StaircaseEvent)


class Accountant:
    """All releases about the same unit, and what they cost together.

    Guarantee: `epsilon(delta)` is an upper bound for the whole sequence of releases, even when a
    mechanism looks at the earlier outputs, as long as the events themselves (their kind, parameters
    and number) do not depend on them.

    >>> accountant = Accountant()
    >>> accountant.compose(PureEvent(0.5, unit="word", relation="replace-one"), count=40)
    >>> accountant.epsilon(), round(accountant.epsilon(delta=1e-6), 2)
    (20.0, 17.25)
    """

    def __init__(self) -> None:
        self._counts: dict[Event, int] = {}

    @property
    def events(self) -> tuple[tuple[Event, int], ...]:
        """Distinct events with how often each was recorded, in the order of their first time."""
        return tuple(self._counts.items())

    def compose(self, event: Event, count: int = 1) -> None:
        """Record `count` releases of the same kind.

        Zero changes nothing; nor does a call that raises.

        Raises:
            TypeError: if the event is of a kind this accountant cannot price.
            ValueError: if the unit or the relation is not that of the events before, or the count
                is no integer >= 0.
        """
        # The type itself, not a subclass: one could overrule what the event promises.
        if type(event) not in KINDS:
            kinds = ", ".join(kind.__name__ for kind in KINDS)
            raise TypeError(f"event must be one of {kinds}, got {type(event).__name__}")
        _check("count", count)
        first = next(iter(self._counts), event)
        for name in ("unit", "relation"):
            ours, new = getattr(first, name), getattr(event, name)
            if new != ours:
                raise ValueError(
                    f"{name} must be that of the earlier events, {ours!r}, got {new!r}"
                )
        if count:
            self._counts[event] = self._counts.get(event, 0) + count

    def epsilon(self, delta: float = 0.0) -> float:
        """Return the smallest epsilon known to hold for everything recorded, in nats.

        It is inf if none is known to hold with `delta`.

        Args:
            delta: in [0, 1). With 0 only events of pure DP have a finite epsilon.

        Raises:
            ValueError: if delta is not in [0, 1).
        """
        _check("delta", delta)
        # An (epsilon, delta) release is epsilon-DP but for a failure of mass delta (Kairouz, Oh,
        # Viswanath 2015, theorem 3.3 and its proof), so failures are paid first and what is left
        # of delta goes to the losses.
        spent = fsum(n * e.delta for e, n in self.events if isinstance(e, ApproximateEvent))
        if spent > delta:
            return inf
        basic = fsum(n * _pure(e) for e, n in self.events)
        rest = delta - spent
        if not self._counts or rest <= 0:
            return basic
        bounds = (_from_renyi(self.events, rest), _from_losses(self.events, rest))
        return max(0.0, min(basic, *(bound * (1 + SLACK) for bound in bounds)))


def divergence_above_one(event: Event, excess: Floats) -> Floats:
    """Return the largest Rényi divergence between neighbouring inputs, of orders 1 + excess, > 1.

    In nats, float64 of the shape of `excess`. For an ApproximateEvent it is that of the part left
    when the failure of mass delta has not happened.

    >>> event = ZCDPEvent(0.5, unit="word", relation="replace-one")
    >>> divergence_above_one(event, np.array([1.0])).tolist()
    [1.0]
    """
    match event:
        case ZCDPEvent(rho=rho):
            return rho * (1 + excess)
        case GaussianEvent(sigma=sigma, sensitivity=sensitivity):
            return (sensitivity / sigma) ** 2 / 2 * (1 + excess)
        case BoundedRangeEvent(range_=range_):
            return _renyi_bounded_range(range_, excess)
        case _:
            return _renyi_two_levels(*_two_levels(event), excess)


def _two_levels(event: Event) -> tuple[float, float, float]:
    """Return the two-level mechanism that is the event's worst case.

    It is given as (epsilon, raised share q, the other share 1 - q). Pure DP is q = 1/2, randomized
    response: every mechanism with pure DP is that one, post-processed (Kairouz, Oh, Viswanath 2015,
    theorem 3.3 and its proof), and its divergence is the largest (Steinke 2024, theorem 4).
    """
    match event:
        case StaircaseEvent(epsilon=epsilon, n_top=n_top, n_outputs=n):
            return epsilon, n_top / n, (n - n_top) / n
        case PureEvent(epsilon=epsilon) | ApproximateEvent(epsilon=epsilon):
            return epsilon, 0.5, 0.5
    raise TypeError(f"{type(event).__name__} has no two levels")


# The worst pair of two-level distributions. Let A and B be the top sets of two inputs, q the share
# of all outputs in each, d the share in A but not in B; equally many are in B but not in A, so
# d <= min(q, 1 - q), with equality when the sets overlap as little as they can: disjoint if
# 2q <= 1, covering everything if 2q >= 1. With Z = q e^eps + 1 - q the losses ln P/Q are +eps on A
# only, -eps on B only and 0 elsewhere, with P-mass d e^eps / Z, d / Z and the rest. For t >= 0 the
# hockey-stick divergence sum max(P - e^t Q, 0) is d max(e^eps - e^t, 0) / Z; for t < 0 it is
# 1 - e^t + e^t times that of Q and P at -t. Both grow with d. So d = min(q, 1 - q) is worst for
# every t at once: one pair dominates all (Zhu, Dong, Wang 2022, definition 7), also in adaptive
# composition (theorem 10 there) and for every Rényi order. It also grows with eps, so a larger
# epsilon may be taken instead. A prior that raises an output in part is a mixture of raised and
# not; divergences are convex, so it is no worse than whole outputs with the same raised mass.


def _renyi_two_levels(epsilon: float, share: float, other: float, excess: Floats) -> Floats:
    """Return ln[1 + d (e^(alpha eps) - 1)(1 - e^(-excess eps)) / Z] / excess.

    In the brackets is [d e^(alpha eps) + d e^(-excess eps) + Z - d e^eps - d] / Z, the sum of
    P^alpha Q^(1-alpha), factored into positive terms, which are computed in logarithms.
    """
    order = (1 + excess) * epsilon
    worst = log(min(share, other) / (share + other * exp(-epsilon)))  # ln(d e^eps / Z)
    powers = excess * epsilon + np.log(-np.expm1(-order)) + np.log(-np.expm1(-excess * epsilon))
    return np.asarray(np.logaddexp(0.0, worst + powers) / excess)


def _renyi_bounded_range(range_: float, excess: Floats) -> Floats:
    """Return the largest divergence over all intervals of length r.

    It is at most r^2/8 * alpha (Cesar and Rogers 2021).

    E_Q[(P/Q)^alpha] is largest when P/Q takes the interval's ends only, x and x e^-r (it is convex,
    the mean is 1). With a = excess it is then x^a [(e^r - e^(-a r)) - x (1 - e^(-a r))] / (e^r -
    1), which is largest at x = a (e^r - e^(-a r)) / (alpha (1 - e^(-a r))): the value x^a (e^r -
    e^(-a r)) / (alpha (e^r - 1)).
    """
    order = (1 + excess) * range_
    fall = np.log(-np.expm1(-excess * range_))
    log_x = np.log(excess) - np.log1p(excess) + range_ + np.log(-np.expm1(-order)) - fall
    scale = np.log1p(np.exp(fall - range_ - np.log(-expm1(-range_)))) - np.log1p(excess)
    exact = log_x + scale / excess + ROUNDING  # opposite terms: their difference is off by less
    return np.asarray(np.minimum(exact, range_ * np.minimum(1.0, range_ / 8 * (1 + excess))))


def _from_renyi(events: Sequence[tuple[Event, int]], delta: float) -> float:
    """Return min over alpha of D + ln(1 / (alpha delta)) / (alpha - 1) + ln(1 - 1/alpha).

    Source: Canonne, Kamath, Steinke 2020, proposition 12. Every order gives a valid bound; the
    search goes over a fixed grid, then twice over a finer one around the best.
    """
    grid, best = EXCESSES, inf
    for _ in range(3):
        divergence = np.sum([n * divergence_above_one(e, grid) for e, n in events], axis=0)
        to_alpha = np.log1p(1 / grid)  # -ln(1 - 1/alpha)
        bounds = divergence - (np.log1p(grid) + log(delta)) / grid - to_alpha
        place = int(np.argmin(bounds))
        best = min(best, float(bounds[place]))
        grid = np.geomspace(grid[max(place - 1, 0)], grid[min(place + 1, len(grid) - 1)], 33)
    return best


def _from_losses(events: Sequence[tuple[Event, int]], delta: float) -> float:
    """Return the smallest epsilon at which the product of the worst pairs is within delta.

    Its hockey-stick divergence is at most delta there. inf if an event has no worst pair of two
    levels, or there are too many of them for the lattice.
    """
    if any(isinstance(e, (BoundedRangeEvent, ZCDPEvent, GaussianEvent)) for e, _ in events):
        return inf
    step = _step([(_pure(e), n) for e, n in events])
    if step is None:
        return inf
    masses = np.ones(1)
    for event, count in events:
        masses = np.convolve(masses, _power(_masses(event, step), count))
    half = len(masses) // 2
    return _smallest_epsilon(step * np.arange(1.0, half + 1), masses[half + 1 :], delta)


def _smallest_epsilon(losses: Floats, masses: Floats, delta: float) -> float:
    """Return the smallest epsilon, from above, by bisection.

    Args:
        losses: float64 [n], positive and growing.
        masses: float64 [n], of the losses under P.
        delta: in (0, 1).
    """
    low, high = 0.0, float(losses[-1])
    for _ in range(60):
        middle = (low + high) / 2
        gains = -np.expm1(np.minimum(middle - losses, 0.0))  # 1 - e^(epsilon - loss), or 0
        if float(masses @ gains) * (1 + SLACK) + UNDERFLOW <= delta:
            high = middle
        else:
            low = middle
    return high


def _step(levels: Sequence[tuple[float, int]]) -> float | None:
    """Return the step of the coarsest lattice that holds every (epsilon, count), or None."""
    smallest = min(epsilon for epsilon, _ in levels)
    for divisor in range(1, LARGEST_HALF_WIDTH + 1):
        places = [epsilon * divisor / smallest for epsilon, _ in levels]
        if sum(n * round(p) for p, (_, n) in zip(places, levels, strict=True)) > LARGEST_HALF_WIDTH:
            break
        if all(abs(p - round(p)) <= ROUNDING * p for p in places):
            # A little more than the quotient: no lattice point lies below its loss.
            return smallest / divisor * (1 + 2 * ROUNDING)
    return None


def _masses(event: Event, step: float) -> Floats:
    """Return the P-masses of the worst pair's losses, float64 [2 * half + 1].

    The losses are the lattice points from -half to half times `step`.
    """
    epsilon, share, other = _two_levels(event)
    half = round(epsilon / step)
    low = exp(-half * step)
    worst, scale = min(share, other), share + other * low
    masses = np.zeros(2 * half + 1)
    masses[[0, half, 2 * half]] = worst * low, (share - worst) + (other - worst) * low, worst
    return masses / scale


def _power(masses: Floats, count: int) -> Floats:
    """Return the masses of the sum of `count` independent losses.

    Squares are repeated and convolved by direct sums: a Fourier transform would lose the tails.
    """
    result = np.ones(1)
    while count:
        if count & 1:
            result = np.convolve(result, masses)
        count >>= 1
        masses = np.convolve(masses, masses) if count else masses
    return result


def _pure(event: Event) -> float:
    """Return the pure epsilon, apart from any failure of mass delta; inf if there is none."""
    match event:
        case BoundedRangeEvent(range_=range_):
            return range_  # both inputs' masses add up to 1, so the interval contains 0
        case ZCDPEvent() | GaussianEvent():
            return inf
        case _:
            return _two_levels(event)[0]


def _check(name: str, value: Any) -> None:
    kind, holds, words = _RULES.get(name, _POSITIVE)
    if isinstance(value, bool) or not isinstance(value, kind) or not holds(value):
        raise ValueError(f"{name} must be {words}, got {value!r}")


Rule = tuple[type | tuple[type, ...], Callable[[Any], bool], str]
_POSITIVE: Rule = ((int, float), lambda v: isfinite(v) and v > 0, "finite and positive")
_WORDS: Rule = (str, bool, "a non-empty string")
_COUNT: Rule = (int, lambda v: v >= 1, "an integer of at least 1")
_RULES: dict[str, Rule] = {
    "unit": _WORDS,
    "relation": _WORDS,
    "n_top": _COUNT,
    "n_outputs": _COUNT,
    "count": (int, lambda v: v >= 0, "an integer of at least 0"),
    "delta": ((int, float), lambda v: 0 <= v < 1, "at least 0 and below 1"),
}
