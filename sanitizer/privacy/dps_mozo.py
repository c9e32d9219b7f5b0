"""DPS-MOZO: the product of one-demonstration distributions, each mixed with the one that reads
none.

Source: DPS-MOZO (2025), algorithms 1 to 3, theorems A.3, A.4 and B.3. The bound of theorem B.3 does
not hold (docs/guarantees.md has an example); `variant="certified"` bounds the range of each mixture
instead of its divergence.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import comb, exp, inf, log, log1p
from typing import Any

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
    Logits,
    Scores,
    TokenWeights,
    check_count,
    check_number,
    exact_weights,
    largest,
    on_grid,
    public_gaps,
    top_tokens,
)

VARIANTS = ("certified", "published")
LAMBDA_MAX = 1.5
ORDERS = range(2, 65)
STEPS = 50
MAX_BETA = 16.0
MAX_ORDER = 1024

Array = NDArray[np.float64]


@dataclass(frozen=True)
class DPSMOZO:
    """Sample the next token from softmax(n * logits_0 + sum of c_i), c_i = lambda_i * (logits_i -
    logits_0).

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
    """

    n_shots: int
    range_: float | None = None
    beta: float | None = None
    order: int | None = None
    top_k: int = 100
    lambda_max: float = LAMBDA_MAX
    variant: str = "certified"

    def __post_init__(self) -> None:
        if self.variant not in VARIANTS:
            raise ValueError(f"variant must be one of {VARIANTS}, got {self.variant!r}")
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
    def name(self) -> str:
        """ "dps-mozo"."""
        return "dps-mozo"

    @property
    def reason(self) -> str | None:
        """None if certified; else what is wrong with the published bound."""
        if self.variant == "certified":
            return None
        return (
            "theorem B.3 takes a bound at one Rényi order for one at all orders, and adds divergences of distributions "
            "that are multiplied pointwise; it fails on examples"
        )

    @property
    def public_only(self) -> bool:
        """Whether the weights depend on row 0 alone; nothing need be charged then."""
        return self.range_ == 0

    def weights(self, scores: Logits | Scores) -> TokenWeights:
        """See `Decoder.weights`. Raises ValueError if there are not 1 + n_shots rows."""
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

    def _certified(self, added: Array) -> NDArray[np.int64]:
        """The sum of all c_i on the grid; no c_i is above range_ there either, as that is rounded
        down.
        """
        bound = self.range_ or 0.0
        lambdas = np.minimum(
            self.lambda_max, bound / np.maximum(added.max(axis=1, keepdims=True), 1e-300)
        )
        return np.asarray(np.clip(on_grid(lambdas * added), 0, int(bound * GRID)).sum(axis=0))

    def _published(self, public: Array, added: Array) -> NDArray[np.int64]:
        mixed = _in_ball(public, added, self.beta or 0.0, self.order or 2, self.lambda_max)
        return np.asarray(on_grid(mixed).sum(axis=0))

    def event(self, unit: str, relation: str) -> Event:
        """What one token costs; for the published variant theorem B.3 taken at its word, without
        subsampling.
        """
        if self.variant == "published":
            return ZCDPEvent(rho=4 * (self.beta or 0.0), unit=unit, relation=relation)
        return BoundedRangeEvent(
            range_=(self.range_ or 0.0) + RANGE_SLACK, unit=unit, relation=relation
        )

    def settings(self) -> dict[str, Any]:
        """All arguments, and the name."""
        return {"name": self.name, **asdict(self)}


def solve_range(epsilon: float, delta: float, n_tokens: int) -> float:
    """The largest range with which `n_tokens` tokens cost at most epsilon at delta; for the
    certified variant.

    0.0 means "public only": the largest one is below 0.001. Of 1,000 tokens, one demonstration
    would then change a quarter of one at most, on average (total variation); better to read none,
    and to spend nothing.

    Args:
        epsilon: in nats, positive. delta: in [0, 1). n_tokens: of all answers, at least 1; public.

    Raises:
        ValueError: naming argument and value.
    """
    check_count("n_tokens", n_tokens)

    def event(range_: float) -> Event:
        return DPSMOZO(1, range_).event("demonstration", "replace-by-null")

    found = largest(event, epsilon, delta, n_tokens, MAX_RANGE)
    return found if found >= USEFUL else 0.0


def claimed_epsilon(
    beta: float, n_shots: int, n_references: int, n_tokens: int, delta: float, order: int
) -> float:
    """What the paper claims for the published variant; no theorem, see `DPSMOZO.reason`.

    Theorem B.3's 4 * beta * order per token, amplified by theorem A.4 with infinite epsilon(inf),
    times n_tokens, then theorem A.3. inf if it is too large for a float.

    Args:
        beta: in (0, 16]. n_shots: drawn for each token. n_references: the pool's size, at least
            n_shots.
        n_tokens: of all answers. delta: in (0, 1). order: an integer from 2 to 1024.

    Raises:
        ValueError: naming argument and value.
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
    """(beta, order), the largest beta for which the paper claims at most epsilon at delta; (0.0,
    order) if none.

    Args:
        epsilon: positive, in nats. order: default the best integer from 2 to 64. The others: see
            `claimed_epsilon`.

    Raises:
        ValueError: naming argument and value.
    """
    check_number("epsilon", epsilon, 0.0)
    _check_claim(n_shots, n_references, n_tokens, delta)
    if order is not None:
        _check_order(order)
    orders = ORDERS if order is None else (order,)
    return max((_beta(epsilon, delta, n_tokens, n_shots / n_references, a), a) for a in orders)


def _beta(epsilon: float, delta: float, n_tokens: int, share: float, order: int) -> float:
    low, high = 0.0, MAX_BETA
    for _ in range(STEPS):
        middle = (low + high) / 2
        fits = n_tokens * _amplified(middle, share, order) + _conversion(delta, order) <= epsilon
        low, high = (middle, high) if fits else (low, middle)
    return low


def _amplified(beta: float, share: float, order: int) -> float:
    """Theorem A.4 (Wang et al. 2019) with epsilon(j) = 4 * beta * order for all j up to `order`.

    Only `order` is bounded, and divergences grow with the order. The paper's table 5 comes out this
    way.
    """
    try:
        growth = exp(4 * beta * order)
        total = share**2 * comb(order, 2) * min(4 * (growth - 1), 2 * growth)
        total += sum(share**j * comb(order, j) * 2 * growth ** (j - 1) for j in range(3, order + 1))
    except OverflowError:
        return inf
    return log1p(total) / (order - 1)


def _conversion(delta: float, order: int) -> float:
    """Theorem A.3: what turns a Rényi bound of this order into epsilon at delta."""
    return log((order - 1) / order) - (log(delta) + log(order)) / (order - 1)


def _in_ball(public: Array, added: Array, beta: float, order: int, lambda_max: float) -> Array:
    """c_i for the largest lambda_i in the ball of radius beta * order, by bisection; float64
    [n_shots, k].

    Both divergences grow with lambda: the mixtures are one exponential family, and its cumulant is
    convex.
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


def _renyi(p: Array, q: Array, order: int) -> Array:
    """D_order(p || q) of the last axis' log-probabilities; its size becomes 1."""
    return _total(order * p + (1 - order) * q) / (order - 1)


def _normal(logits: Array) -> Array:
    return logits - _total(logits)


def _total(logs: Array) -> Array:
    """ln of the sum of exponentials along the last axis, kept with size 1."""
    top = logs.max(axis=-1, keepdims=True)
    return np.asarray(top + np.log(np.exp(logs - top).sum(axis=-1, keepdims=True)))


def _absent(variant: str, **arguments: float | None) -> None:
    for name, value in arguments.items():
        if value is not None:
            raise ValueError(f"{name} is no argument of variant {variant!r}, got {value!r}")


def _check_order(order: int | None) -> None:
    if isinstance(order, bool) or not isinstance(order, int) or not 2 <= order <= MAX_ORDER:
        raise ValueError(f"order must be an integer from 2 to {MAX_ORDER}, got {order!r}")


def _check_claim(n_shots: int, n_references: int, n_tokens: int, delta: float) -> None:
    check_count("n_references", n_references)
    check_count("n_shots", n_shots, n_references)
    check_count("n_tokens", n_tokens)
    check_number("delta", delta, 0.0, 1.0)
