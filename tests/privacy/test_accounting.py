"""What releases cost together: one contract for every event, then four oracles.

The oracles: enumeration of all pairs of a small mechanism; the exact sum over a worst pair's
losses; the privacy loss distributions and the Rényi accountant of `dp-accounting`; and random
members of a class against the class's bound.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import cache, partial
from itertools import combinations
from math import comb, exp, expm1, inf, isfinite, lgamma, log, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from sanitizer.privacy.accounting import (
    Accountant,
    ApproximateEvent,
    BoundedRangeEvent,
    Event,
    GaussianEvent,
    PureEvent,
    StaircaseEvent,
    ZCDPEvent,
)
from tests.lazily import lazily
from tests.privacy.orders import renyi_divergence

if TYPE_CHECKING:
    import dp_accounting
    from dp_accounting import rdp
    from dp_accounting.pld import privacy_loss_distribution as pld
else:
    dp_accounting = lazily("dp_accounting")
    rdp = lazily("dp_accounting.rdp")
    pld = lazily("dp_accounting.pld.privacy_loss_distribution")

DELTAS = (1e-9, 1e-6, 1e-4)
EPSILONS = (0.1, 0.5, 1.0, 3.0, 5.0)
COUNTS = (1, 5, 20, 100, 500)
SHAPES = ((1, 200), (3, 50), (1, 2), (3, 4))
FOURIER_ERROR = 1e-14  # of the masses of a composed distribution
EXACT = 0.0  # cut no tail: its mass would count as lost
ORDERS = 1 + np.geomspace(1e-4, 1e5, 2000)


WORD: dict[str, Any] = {"unit": "word", "relation": "replace-one"}
pure: Callable[[float], PureEvent] = partial(PureEvent, **WORD)
bounded_range: Callable[[float], BoundedRangeEvent] = partial(BoundedRangeEvent, **WORD)
zcdp: Callable[[float], ZCDPEvent] = partial(ZCDPEvent, **WORD)


def staircase(epsilon: float, n_top: int = 1, n_outputs: int = 200) -> StaircaseEvent:
    return StaircaseEvent(epsilon, n_top, n_outputs, **WORD)


def gaussian(sigma: float, sensitivity: float = 1.0) -> GaussianEvent:
    return GaussianEvent(sigma, sensitivity, **WORD)


def approximate(epsilon: float, delta: float = 1e-9) -> ApproximateEvent:
    return ApproximateEvent(epsilon, delta, **WORD)


def spent(delta: float, *events: tuple[Event, int]) -> float:
    accountant = Accountant()
    for event, count in events:
        accountant.compose(event, count)
    return accountant.epsilon(delta)


# The contract of every kind of event. Each maker takes a size: the larger, the less private.

Maker = Callable[[float], Event]
MAKERS: dict[str, Maker] = {
    "pure": pure,
    "staircase": staircase,
    "wide staircase": lambda x: staircase(x, 7, 9),
    "bounded range": bounded_range,
    "zcdp": zcdp,
    "gaussian": lambda x: gaussian(1 / x),
    "approximate": approximate,
}
FAILURES = ("approximate",)
CONCENTRATED = ("zcdp", "gaussian")

every_kind = pytest.mark.parametrize("kind", MAKERS)


@every_kind
@pytest.mark.parametrize("size", [0.05, 1.0, 5.0])
@pytest.mark.parametrize("delta", [0.0, *DELTAS])
def test_more_releases_never_cost_less(kind: str, size: float, delta: float) -> None:
    costs = [spent(delta, (MAKERS[kind](size), n)) for n in (1, 2, 3, 10, 50, 500, 5000, 10**6)]
    assert costs == sorted(costs)


@every_kind
def test_a_larger_delta_never_costs_more(kind: str) -> None:
    costs = [
        spent(d, (MAKERS[kind](0.7), 30)) for d in (0.0, 1e-300, 1e-30, 1e-12, *DELTAS, 0.1, 0.999)
    ]
    assert costs == sorted(costs, reverse=True)
    assert isfinite(costs[-1])


@every_kind
def test_a_less_private_release_never_costs_less(kind: str) -> None:
    costs = [
        spent(1e-6, (MAKERS[kind](size), 20))
        for size in (1e-6, 0.01, 0.1, 0.5, 1.0, 2.0, 5.0, 20.0, 300.0)
    ]
    assert costs == sorted(costs)


@every_kind
def test_releases_add_up_however_they_are_grouped(kind: str) -> None:
    event, together, apart = MAKERS[kind](0.7), Accountant(), Accountant()
    together.compose(event, 12)
    apart.compose(event, 5)
    apart.compose(MAKERS[kind](0.7), 7)
    assert apart.events == together.events == ((event, 12),)
    assert apart.epsilon(1e-6) == together.epsilon(1e-6)


@every_kind
@pytest.mark.parametrize("other", MAKERS)
def test_the_order_of_releases_does_not_matter(kind: str, other: str) -> None:
    events = (MAKERS[kind](0.5), 3), (MAKERS[other](1.0), 4)
    assert spent(1e-6, *events) == pytest.approx(spent(1e-6, *reversed(events)), rel=1e-9)
    assert spent(1e-6, *events) >= max(spent(1e-6, event) for event in events)


@every_kind
def test_a_rejected_event_changes_nothing(kind: str) -> None:
    accountant, event = Accountant(), MAKERS[kind](0.7)
    accountant.compose(pure(1.0), 3)
    before = accountant.events, accountant.epsilon(1e-6)
    with pytest.raises(
        ValueError, match="unit must be that of the earlier events, 'word', got 'text'"
    ):
        accountant.compose(dataclasses.replace(event, unit="text"))
    with pytest.raises(
        ValueError, match="relation must be that of the earlier events, 'replace-one', got 'null'"
    ):
        accountant.compose(dataclasses.replace(event, relation="null"))
    for count in (-1, True, 2.0, None):
        with pytest.raises(ValueError, match="count must be an integer of at least 0, got"):
            accountant.compose(event, count)  # type: ignore[arg-type]
    assert (accountant.events, accountant.epsilon(1e-6)) == before


@every_kind
def test_only_pure_events_have_an_epsilon_without_delta(kind: str) -> None:
    finite = kind not in (*CONCENTRATED, *FAILURES)
    assert spent(0.0, (MAKERS[kind](0.7), 10)) == (pytest.approx(7.0) if finite else inf)


@every_kind
def test_the_divergence_grows_with_the_order_and_stays_finite(kind: str) -> None:
    for size in (1e-3, 0.5, 5.0, 60.0, 700.0):
        event = MAKERS[kind](size)
        divergence = renyi_divergence(event, [1.0, 1 + 1e-12, *ORDERS, 1e9])
        assert np.isfinite(divergence).all()
        assert (divergence > 0).all()
        assert (np.diff(divergence) >= -1e-11 * divergence[1:]).all()
        if kind not in CONCENTRATED:
            assert divergence[-1] <= size


# Arguments and single behaviours.


@pytest.mark.parametrize(
    "event",
    [
        1.0,
        None,
        Event(unit="word", relation="replace-one"),
        type("Other", (PureEvent,), {})(1.0, unit="a", relation="b"),
    ],
)
def test_an_unknown_event_is_refused(event: Event) -> None:
    accountant = Accountant()
    with pytest.raises(
        TypeError, match=f"event must be one of PureEvent, .*, got {type(event).__name__}"
    ):
        accountant.compose(event)
    assert accountant.events == ()


def test_nothing_released_costs_nothing() -> None:
    accountant = Accountant()
    accountant.compose(pure(1.0), 0)
    assert accountant.events == ()
    assert accountant.epsilon(0.0) == accountant.epsilon(1e-6) == 0.0
    accountant.compose(dataclasses.replace(pure(1.0), unit="text"))
    assert accountant.epsilon(0.0) == 1.0


def test_failures_are_paid_before_losses() -> None:
    events = (approximate(1.0, 1e-7), 5)
    assert spent(4.9e-7, events) == inf
    assert spent(5e-7, events) == 5.0
    assert spent(1e-6, events) == pytest.approx(spent(5e-7, (pure(1.0), 5)), rel=1e-9)
    assert spent(5e-7, events, (zcdp(0.1), 1)) == inf


def test_one_event_that_is_not_pure_makes_the_whole_not_pure() -> None:
    assert spent(0.0, (pure(1.0), 1), (zcdp(1e-9), 1)) == inf
    assert spent(1e-6, (pure(1.0), 1), (zcdp(1e-9), 1)) < 1.01


@pytest.mark.parametrize("count", [10**9, 10**15])
def test_very_many_releases_cost_about_their_mean_loss_each(count: int) -> None:
    for event in (pure(1.0), staircase(5.0), bounded_range(0.1), zcdp(0.3)):
        mean = float(renyi_divergence(event, 1.0))
        assert mean * count < spent(1e-6, (event, count)) < mean * count * 1.01


# Oracle one: all pairs of a small mechanism.


def rows(epsilon: float, n_top: int, n: int) -> NDArray[np.float64]:
    """Every distribution a staircase can give, float64 [n_inputs, n]."""
    weights = np.ones((comb(n, n_top), n))
    for row, top in zip(weights, combinations(range(n), n_top), strict=True):
        row[list(top)] = exp(epsilon)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


@pytest.mark.parametrize(("n_top", "n"), [(k, n) for n in range(2, 7) for k in range(1, n)])
@pytest.mark.parametrize("epsilon", [0.3, 2.0, 5.0])
def test_no_two_top_sets_are_further_apart_than_the_staircase_says(
    n_top: int, n: int, epsilon: float
) -> None:
    p = rows(epsilon, n_top, n)
    event = staircase(epsilon, n_top, n)
    for alpha in (1.5, 2.0, 7.0, 30.0):
        sums = np.exp(alpha * np.log(p[0]) + (1 - alpha) * np.log(p)).sum(axis=1)
        assert renyi_divergence(event, alpha) == pytest.approx(
            np.log(sums).max() / (alpha - 1), rel=1e-12
        )
    assert renyi_divergence(event, 1.0) == pytest.approx(
        (p[0] * np.log(p[0] / p)).sum(axis=1).max(), rel=1e-12
    )
    for delta in (0.05, 1e-3):
        cost = spent(delta, (event, 1))
        assert np.maximum(p[0] - exp(cost) * p, 0).sum(axis=1).max() <= delta
        if cost > 1e-9:
            assert np.maximum(p[0] - exp(cost * (1 - 1e-6)) * p, 0).sum(axis=1).max() > delta


def test_prior_weights_raised_in_part_are_no_worse_than_a_staircase_over_their_mass() -> None:
    prior, raised, factor = np.array([5, 1, 3, 2, 7, 2]), 6, exp(3.0)
    event = staircase(3.0, raised, int(prior.sum()))
    tables = []
    for order in (range(6), range(5, -1, -1), (2, 4, 0, 1, 3, 5), (3, 1, 5, 2, 0, 4)):
        left, up = raised, np.zeros(6)
        for i in order:
            up[i] = min(left, prior[i])
            left -= int(up[i])
        tables.append(((prior - up) + factor * up) / (prior.sum() + raised * (factor - 1)))
    for p in tables:
        for q in tables:
            for alpha in (1.5, 4.0, 20.0):
                assert (
                    np.log((p**alpha * q ** (1 - alpha)).sum()) / (alpha - 1)
                    <= renyi_divergence(event, alpha) + 1e-12
                )


# Oracle two: the exact sum over the losses of the worst pair, term by term in logarithms.


@cache
def loss_masses(epsilon: float, n_top: int, n: int, count: int) -> NDArray[np.float64]:
    """ln P(sum of losses = j * epsilon), j = 1..count, as a sum over how many are +, - and 0."""
    worst, scale = min(n_top, n - n_top), n_top + (n - n_top) * exp(-epsilon)
    zero = (n_top - worst) + (n - n_top - worst) * exp(-epsilon)
    ln_factorial = np.array([lgamma(i + 1) for i in range(count + 1)])
    masses = np.full(count, -inf)
    for j in range(1, count + 1):
        minus = (
            np.arange((count - j) // 2 + 1)
            if zero > 0
            else np.arange((count - j) // 2, (count - j) // 2 + 1)
        )
        zeros = count - j - 2 * minus
        if zero <= 0 and zeros[0]:
            continue
        terms = (
            ln_factorial[count]
            - ln_factorial[minus + j]
            - ln_factorial[minus]
            - ln_factorial[zeros]
        )
        terms += (
            (2 * minus + j) * log(worst / scale)
            - minus * epsilon
            + (zeros * log(zero / scale) if zero > 0 else 0)
        )
        masses[j - 1] = terms.max() + log(np.exp(terms - terms.max()).sum())
    return masses


def exact_delta(cost: float, epsilon: float, n_top: int, n: int, count: int) -> float:
    losses = epsilon * np.arange(1, count + 1)
    kept = losses > cost
    return float(
        np.exp(loss_masses(epsilon, n_top, n, count)[kept]) @ -np.expm1(cost - losses[kept])
    )


@pytest.mark.parametrize(("n_top", "n"), SHAPES)
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("count", COUNTS)
def test_equal_two_level_releases_cost_exactly_what_their_losses_say(
    n_top: int, n: int, epsilon: float, count: int
) -> None:
    for delta in (*DELTAS, 1e-40):
        cost = spent(delta, (staircase(epsilon, n_top, n), count))
        assert exact_delta(cost, epsilon, n_top, n, count) <= delta
        below = cost * (1 - 1e-8) - 1e-8
        assert below < 0 or exact_delta(below, epsilon, n_top, n, count) > delta


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("count", COUNTS)
def test_pure_releases_cost_what_randomized_response_does(epsilon: float, count: int) -> None:
    for delta in DELTAS:
        assert spent(delta, (pure(epsilon), count)) == spent(
            delta, (staircase(epsilon, 1, 2), count)
        )


# Oracle three: dp-accounting.


def pair_pld(epsilon: float, n_top: int, n: int, step: float) -> pld.PrivacyLossDistribution:
    """The worst pair's distribution; epsilon must be a multiple of step, so that nothing is
    rounded.
    """
    worst, scale = min(n_top, n - n_top), n_top * exp(epsilon) + n - n_top
    plus, minus = worst * exp(epsilon) / scale, worst / scale
    losses = {round(epsilon / step): plus, 0: 1 - plus - minus, -round(epsilon / step): minus}
    return pld.PrivacyLossDistribution.create_from_rounded_probability(losses, 0.0, step)


@pytest.mark.parametrize(("n_top", "n"), SHAPES)
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("count", [n for n in COUNTS if n < 500])
def test_the_bound_is_the_privacy_loss_distribution_of_dp_accounting(
    n_top: int, n: int, epsilon: float, count: int
) -> None:
    truth = pair_pld(epsilon, n_top, n, epsilon).self_compose(count, EXACT)
    for delta in DELTAS:
        tight = truth.get_epsilon_for_delta(delta)
        assert tight - 1e-6 <= spent(delta - FOURIER_ERROR, (staircase(epsilon, n_top, n), count))
        assert spent(delta, (staircase(epsilon, n_top, n), count)) <= tight * (1 + 1e-6) + 1e-6


@pytest.mark.parametrize("epsilons", [(5.0, 4.0), (0.3, 0.7), (1.5, 0.25)])
def test_unequal_epsilons_with_a_common_measure_are_exact_too(
    epsilons: tuple[float, float],
) -> None:
    truth = (
        pair_pld(epsilons[0], 1, 200, 0.05)
        .self_compose(20, EXACT)
        .compose(pair_pld(epsilons[1], 1, 2, 0.05).self_compose(7))
    )
    for delta in DELTAS:
        cost = spent(delta, (staircase(epsilons[0]), 20), (pure(epsilons[1]), 7))
        assert cost == pytest.approx(truth.get_epsilon_for_delta(delta), rel=1e-5)


def test_epsilons_without_a_common_measure_fall_back_on_the_renyi_curve() -> None:
    low = spent(1e-6, (staircase(3.0), 20), (pure(1.0), 7))
    cost = spent(1e-6, (staircase(3.0), 20), (pure(1.0 + 1e-7 * sqrt(2)), 7))
    assert low < cost < 1.1 * low


@pytest.mark.parametrize("n_buckets", [2, pytest.param(20, marks=pytest.mark.slow), 200])
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("count", COUNTS)
def test_randomized_response_costs_what_the_accountants_of_dp_accounting_say(
    n_buckets: int, epsilon: float, count: int
) -> None:
    noise = n_buckets / (exp(epsilon) + n_buckets - 1)
    event = dp_accounting.RandomizedResponseDpEvent(noise, n_buckets)
    accountant = rdp.RdpAccountant(ORDERS[::10], dp_accounting.NeighboringRelation.REPLACE_ONE)
    accountant.compose(event, count)
    divergence = renyi_divergence(staircase(epsilon, 1, n_buckets), ORDERS[::10])
    for delta in DELTAS:
        theirs = accountant.get_epsilon(delta)
        assert rdp.compute_epsilon(ORDERS[::10], count * divergence, delta)[0] == pytest.approx(
            theirs, rel=0.01
        )
        assert spent(delta, (staircase(epsilon, 1, n_buckets), count)) <= theirs * (1 + 1e-8) + 1e-8


@pytest.mark.parametrize("sigma", [0.5, 1.0, 5.0, 50.0])
@pytest.mark.parametrize("count", COUNTS)
def test_gaussians_cost_what_the_renyi_accountant_of_dp_accounting_says(
    sigma: float, count: int
) -> None:
    accountant = rdp.RdpAccountant(ORDERS)
    accountant.compose(dp_accounting.GaussianDpEvent(sigma), count)
    for delta in DELTAS:
        cost = spent(delta, (gaussian(2 * sigma, 2.0), count))
        assert cost == pytest.approx(spent(delta, (zcdp(1 / (2 * sigma**2)), count)), rel=1e-12)
        assert cost == pytest.approx(accountant.get_epsilon(delta), rel=0.01, abs=1e-6)
        assert cost >= dp_accounting.get_epsilon_gaussian(sigma / sqrt(count), delta) - 1e-6


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("count", [1, 5, 20, 100])
def test_failures_cost_what_dp_accounting_says(epsilon: float, count: int) -> None:
    parameters = pld.common.DifferentialPrivacyParameters(epsilon, 1e-9)
    truth = pld.from_privacy_parameters(
        parameters, value_discretization_interval=epsilon / 64
    ).self_compose(count, EXACT)
    cost, tight = (
        spent(1e-6, (approximate(epsilon, 1e-9), count)),
        truth.get_epsilon_for_delta(1e-6),
    )
    assert tight - count * epsilon / 64 - 1e-6 <= cost <= tight * 1.001 + 1e-6


@pytest.mark.parametrize("range_", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("count", [1, 5, 20, 100])
def test_bounded_range_costs_at_least_its_worst_known_member_and_at_most_concentrated(
    range_: float, count: int
) -> None:
    step = range_ / 32
    for delta in DELTAS:
        cost = spent(delta, (bounded_range(range_), count))
        for high in range(1, 32, 3):  # losses high and high - 32 steps (Dong, Durfee, Rogers 2020)
            plus = expm1((32 - high) * step) / (expm1((32 - high) * step) - expm1(-high * step))
            losses = {high: plus, high - 32: 1 - plus}
            member = pld.PrivacyLossDistribution.create_from_rounded_probability(
                losses, 0.0, step
            ).self_compose(count, EXACT)
            assert cost >= member.get_epsilon_for_delta(delta) - 1e-6
        accountant = rdp.RdpAccountant(ORDERS)
        accountant.compose(dp_accounting.GaussianDpEvent(2 / range_), count)
        assert cost <= min(count * range_, accountant.get_epsilon(delta)) * (1 + 1e-5)


# Oracle four: random members of a class.

weights = st.lists(st.floats(0.001, 1.0), min_size=4, max_size=4).map(np.array)


@settings(derandomize=True, max_examples=200, deadline=None)
@given(
    weights,
    st.lists(st.floats(0, 1), min_size=4, max_size=4),
    st.floats(0.01, 8),
    st.floats(1.01, 50),
)
def test_no_exponential_mechanism_exceeds_the_bounded_range_divergence(
    base: NDArray[np.float64], shifts: list[float], range_: float, alpha: float
) -> None:
    tilted = base * np.exp(range_ * np.array(shifts))
    p, q = tilted / tilted.sum(), base / base.sum()
    found = np.log((q * (p / q) ** alpha).sum()) / (alpha - 1)
    assert found <= renyi_divergence(bounded_range(range_), alpha) + 1e-9
    assert renyi_divergence(bounded_range(range_), alpha) <= min(range_, range_**2 / 8 * alpha)


@pytest.mark.parametrize("range_", [0.1, 1.0, 5.0])
@pytest.mark.parametrize("alpha", [1.001, 2.0, 10.0, 100.0])
def test_the_bounded_range_divergence_is_reached(range_: float, alpha: float) -> None:
    high = np.linspace(0, range_, 100_001)
    plus = (exp(range_) - np.exp(high)) / expm1(range_)
    excess = alpha - 1
    members = (excess * high + np.log(plus + (1 - plus) * exp(-excess * range_))) / excess
    assert renyi_divergence(bounded_range(range_), alpha) == pytest.approx(members.max(), rel=1e-6)


@settings(derandomize=True, max_examples=200, deadline=None)
@given(
    weights,
    st.lists(st.floats(-1, 1), min_size=4, max_size=4),
    st.floats(0.01, 8),
    st.floats(1.01, 50),
)
def test_no_pure_release_exceeds_the_divergence_of_randomized_response(
    base: NDArray[np.float64], shifts: list[float], size: float, alpha: float
) -> None:
    tilted = base * np.exp(size * np.array(shifts))
    p, q = tilted / tilted.sum(), base / base.sum()
    epsilon = max(float(np.abs(np.log(p / q)).max()), 1e-6)
    assert (
        np.log((q * (p / q) ** alpha).sum()) / (alpha - 1)
        <= renyi_divergence(pure(epsilon), alpha) + 1e-9
    )
