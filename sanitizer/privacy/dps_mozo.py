"""DPS-MOZO: a product of one-demonstration distributions, each mixed with the one reading none.

Source: DPS-MOZO (2025), algorithms 1 to 3, theorems A.3, A.4 and B.3. The bound of theorem B.3 does
not hold (docs/guarantees.md has an example); `variant="certified"` bounds the range of each mixture
instead of its divergence.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import comb, exp, inf, log, log1p
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sanitizer.privacy.accounting import BoundedRangeEvent, Event, ZCDPEvent
from sanitizer.privacy.next_token import (
    GRID,
    MAX_RANGE,
    MAX_ROWS,
    RANGE_SLACK,
    USEFUL,
    Checked,
    Scores,
    TokenWeights,
    exact_weights,
    largest,
    last_holding,
    on_grid,
    public_gaps,
    top_tokens,
)
from sanitizer.privacy.weights import (
    VARIANTS,
    Floats,
    Logits,
    check_count,
    check_integer,
    check_number,
    check_one_of,
)

LAMBDA_MAX = 1.5
"""The paper's largest weight of a demonstration."""
ORDERS = range(2, 65)
"""Rényi orders that `solve_beta` tries."""
STEPS = 50
"""Steps of a bisection; they halve the interval below the precision of a float."""
MAX_BETA = 16.0
MAX_ORDER = 1024


@dataclass(frozen=True)
class DPSMOZO:
    """Sample the next token from softmax(n * logits_0 + sum of c_i).

    Each demonstration adds c_i = lambda_i * (logits_i - logits_0).

    Guarantee (certified): lambda_i is the largest in [0, lambda_max] with max c_i - min c_i <=
    range_, so one demonstration replaced by null (c_i is then 0) moves the logarithms of all
    weights within an interval of length range_ + 2**-36, and leaves the set of tokens, the top_k of
    row 0, as it is. One replaced by another moves them twice as far. No amplification by
    subsampling is claimed; the bound also holds for a caller who draws other demonstrations for
    each token, as it then holds for every draw.
    Public: row 0, the settings, and the number of demonstrations. Not protected: what several
    demonstrations say together, the query, and that a score is not finite (an error says so).

    The published variant needs a fresh draw of n_shots demonstrations for each token: the scores of
    one call are then those of that draw, row i being its i-th member, and the caller draws without
    replacement from its pool, with a secret source. `claimed_epsilon` is what the paper claims for
    that.

    Args:
        n_shots: n, how many rows follow row 0; up to 4096.
        range_: r, the largest range of one c_i, in nats, in [0, 64]; certified only. 0 reads no
            demonstration.
        beta: the largest divergence of a mixture from row 0, of `order`, is beta * order; published
            only.
        order: alpha, an integer from 2 to 1024; published only.
        top_k: how many tokens may come.
        lambda_max: the largest weight of a demonstration; above 1 it is amplified.
        variant: "certified" or "published".

    Raises:
        ValueError: naming argument and value.

    >>> rule = DPSMOZO(n_shots=4, range_=0.5)
    >>> rule.event("demonstration", "replace-by-null").range_
    0.5000000000145519
    """

    n_shots: int
    range_: float | None = None
    beta: float | None = None
    order: int | None = None
    top_k: int = 100
    lambda_max: float = LAMBDA_MAX
    variant: str = "certified"
    name: ClassVar[str] = "dps-mozo"

    def __post_init__(self) -> None:
        check_one_of("variant", self.variant, VARIANTS)
        check_count("n_shots", self.n_shots, MAX_ROWS)
        check_count("top_k", self.top_k)
        check_number("lambda_max", self.lambda_max, 0.0, 100.0)
        if self.variant == "certified":
            _absent(self.variant, beta=self.beta, order=self.order)
            if self.range_ != 0 or isinstance(self.range_, bool):
                check_number("range_", self.range_, 0.0, MAX_RANGE)
        else:
            _absent(self.variant, range_=self.range_)
            check_number("beta", self.beta, 0.0, MAX_BETA)
            _check_order(self.order)

    @property
    def reason(self) -> str | None:
        """Reason why the published bound is no theorem; None if certified."""
        if self.variant == "certified":
            return None
        return (
            "theorem B.3 takes a bound at one Rényi order for one at all orders, and adds "
            "divergences of distributions that are multiplied pointwise; it fails on examples"
        )

    @property
    def public_only(self) -> bool:
        """True if the weights depend on row 0 alone; nothing need be charged then."""
        return self.range_ == 0

    def weights(self, scores: Logits | Scores) -> TokenWeights:
        """Return the distribution of the next token; raise ValueError for another n_shots."""
        rows = Checked(scores, self.n_shots)
        allowed = top_tokens(rows.public, self.top_k)
        public = public_gaps(rows.public)[allowed]
        added = rows.gained(allowed)
        added -= added.min(axis=1, keepdims=True)  # a constant, which no distribution notices
        private = (
            self._published(public, added)
            if self.variant == "published"
            else self._certified(added)
        )
        total = private + on_grid(self.n_shots * public)
        return TokenWeights(allowed, exact_weights((total - total.max()) / GRID))

    def _certified(self, added: Floats) -> NDArray[np.int64]:
        """Return the sum of all c_i on the grid, int64 [k]."""
        bound = self.range_ or 0.0
        lambdas = np.minimum(
            self.lambda_max, bound / np.maximum(added.max(axis=1, keepdims=True), 1e-300)
        )
        # The bound is rounded down, so that no c_i is above range_ on the grid either.
        return np.asarray(np.clip(on_grid(lambdas * added), 0, int(bound * GRID)).sum(axis=0))

    def _published(self, public: Floats, added: Floats) -> NDArray[np.int64]:
        mixed = _in_ball(public, added, self.beta or 0.0, self.order or 2, self.lambda_max)
        return np.asarray(on_grid(mixed).sum(axis=0))

    def event(self, unit: str, relation: str) -> Event:
        """Return what one token costs, for the accountant.

        For the published variant it is what theorem B.3 claims, without subsampling.
        """
        if self.variant == "published":
            return ZCDPEvent(rho=4 * (self.beta or 0.0), unit=unit, relation=relation)
        return BoundedRangeEvent(
            range_=(self.range_ or 0.0) + RANGE_SLACK, unit=unit, relation=relation
        )

    def settings(self) -> dict[str, Any]:
        return {"name": self.name, **asdict(self)}


def solve_range(epsilon: float, delta: float, n_tokens: int) -> float:
    """Return the largest range with which `n_tokens` tokens cost at most epsilon at delta.

    It is for the certified variant. 0.0 means "public only": the largest one is below 0.001. Of
    1,000 tokens, one demonstration would then change a quarter of one at most, on average (total
    variation); better to read none, and to spend nothing.

    Args:
        epsilon: in nats, positive.
        delta: in [0, 1).
        n_tokens: of all answers, at least 1; public.

    Raises:
        ValueError: naming argument and value.

    >>> round(solve_range(epsilon=8.0, delta=1e-6, n_tokens=100), 3)
    0.293
    """
    check_count("n_tokens", n_tokens)

    def event(range_: float) -> Event:
        return DPSMOZO(1, range_).event("demonstration", "replace-by-null")

    found = largest(event, epsilon, delta, n_tokens, MAX_RANGE)
    return found if found >= USEFUL else 0.0


def claimed_epsilon(
    beta: float, n_shots: int, n_references: int, n_tokens: int, delta: float, order: int
) -> float:
    """Return what the paper claims for the published variant; no theorem, see `DPSMOZO.reason`.

    It is theorem B.3's 4 * beta * order per token, amplified by theorem A.4 with infinite
    epsilon(inf), times n_tokens, then theorem A.3. inf if it is too large for a float.

    Args:
        beta: in (0, 16].
        n_shots: drawn for each token.
        n_references: size of the pool, at least n_shots.
        n_tokens: of all answers.
        delta: in (0, 1).
        order: an integer from 2 to 1024.

    Raises:
        ValueError: naming argument and value.

    >>> round(claimed_epsilon(0.01, 4, 1000, 100, 1e-5, order=8), 2)
    1.22
    """
    check_number("beta", beta, 0.0, MAX_BETA)
    _check_claim(n_shots, n_references, n_tokens, delta)
    _check_order(order)
    return n_tokens * _amplified(beta, n_shots / n_references, order) + _conversion(delta, order)


def solve_beta(
    epsilon: float,
    delta: float,
    n_tokens: int,
    n_shots: int,
    n_references: int,
    order: int | None = None,
) -> tuple[float, int]:
    """Return the largest beta for which the paper claims at most epsilon at delta, and its order.

    Args:
        epsilon: positive, in nats.
        order: by default the best integer from 2 to 64. The others as for `claimed_epsilon`.

    Returns:
        (beta, order); beta is 0.0 if none is small enough.

    Raises:
        ValueError: naming argument and value.

    >>> beta, order = solve_beta(8.0, 1e-5, 100, n_shots=4, n_references=1000)
    >>> round(beta, 3), order
    (0.506, 3)
    """
    check_number("epsilon", epsilon, 0.0)
    _check_claim(n_shots, n_references, n_tokens, delta)
    if order is not None:
        _check_order(order)
    share = n_shots / n_references

    def best(order: int) -> float:
        rest = epsilon - _conversion(delta, order)
        return last_holding(lambda b: n_tokens * _amplified(b, share, order) <= rest, MAX_BETA)

    return max((best(each), each) for each in (ORDERS if order is None else (order,)))


def _amplified(beta: float, share: float, order: int) -> float:
    """Return theorem A.4 (Wang et al. 2019) with epsilon(j) = 4 * beta * order for all j <= order.

    Only `order` is bounded, and divergences grow with the order. With this reading the paper's
    table 5 comes out.
    """
    try:
        growth = exp(4 * beta * order)
        total = share**2 * comb(order, 2) * min(4 * (growth - 1), 2 * growth)
        total += sum(share**j * comb(order, j) * 2 * growth ** (j - 1) for j in range(3, order + 1))
    except OverflowError:
        return inf
    return log1p(total) / (order - 1)


def _conversion(delta: float, order: int) -> float:
    """Return what theorem A.3 adds to a Rényi bound of this order to get epsilon at delta."""
    return log((order - 1) / order) - (log(delta) + log(order)) / (order - 1)


def _in_ball(public: Floats, added: Floats, beta: float, order: int, lambda_max: float) -> Floats:
    """Return c_i for the largest lambda_i in the ball of radius beta * order, float64 [n_shots, k].

    It is found by bisection. Both divergences grow with lambda: the mixtures are one exponential
    family, and its cumulant is convex.
    """
    base = _normal(public)
    low, high = np.zeros((len(added), 1)), np.full((len(added), 1), lambda_max)
    middle = high
    for _ in range(STEPS):
        mixed = _normal(base + middle * added)
        fits = np.maximum(_renyi(mixed, base, order), _renyi(base, mixed, order)) <= beta * order
        low, high = np.where(fits, middle, low), np.where(fits, high, middle)
        middle = (low + high) / 2
    return low * added


def _renyi(p: Floats, q: Floats, order: int) -> Floats:
    """Return D_order(p || q) of the last axis' log-probabilities; its size becomes 1."""
    return _total(order * p + (1 - order) * q) / (order - 1)


def _normal(logits: Floats) -> Floats:
    return logits - _total(logits)


def _total(logs: Floats) -> Floats:
    """Return ln of the sum of exponentials along the last axis, kept with size 1."""
    top = logs.max(axis=-1, keepdims=True)
    return np.asarray(top + np.log(np.exp(logs - top).sum(axis=-1, keepdims=True)))


def _absent(variant: str, **arguments: float | None) -> None:
    for name, value in arguments.items():
        if value is not None:
            raise ValueError(f"{name} is no argument of variant {variant!r}, got {value!r}")


def _check_order(order: int | None) -> None:
    check_integer("order", order, 2, MAX_ORDER)


def _check_claim(n_shots: int, n_references: int, n_tokens: int, delta: float) -> None:
    check_count("n_references", n_references)
    check_count("n_shots", n_shots, n_references)
    check_count("n_tokens", n_tokens)
    check_number("delta", delta, 0.0, 1.0)
