"""What is drawn is what the integers say."""

from __future__ import annotations

import secrets
from collections import Counter
from fractions import Fraction
from math import exp, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sanitizer.randomness import (
    SYSTEM_RANDOM,
    bernoulli_exp,
    discrete_gaussian,
    discrete_laplace,
    draw,
    integer_weights,
)
from sanitizer.testing.models import SeededSource

SOME, MANY = 200_000, 1_000_000  # draws: a wrong distribution is noticed with SOME already
N_DRAWS = [SOME, pytest.param(MANY, marks=pytest.mark.slow)]
CHI_SQUARE_5_DOF_P_1E_6 = (
    37.02  # P(chi-square with 5 degrees of freedom > 37.02) = 6e-7; the seed is fixed
)


def chi_square(counts: Counter[int], probabilities: list[float], n: int) -> float:
    return sum((counts[i] - n * p) ** 2 / (n * p) for i, p in enumerate(probabilities))


@pytest.mark.parametrize("n_draws", N_DRAWS)
def test_the_integer_distribution_is_what_is_drawn(n_draws: int) -> None:
    weights = [1 << 40, 3 << 40, 5, 7 << 39, (1 << 62) + 1, 1 << 61]
    total = sum(weights)
    source = SeededSource(20240501)
    counts = Counter(draw(weights, source) for _ in range(n_draws))
    kept = [0, 1, 3, 4, 5]  # weight 5 of 2^63 is not expected to appear at all
    assert counts[2] == 0
    likely = Counter({i: counts[k] for i, k in enumerate(kept)})
    assert chi_square(likely, [weights[k] / total for k in kept], n_draws) < CHI_SQUARE_5_DOF_P_1E_6


def test_a_wrong_distribution_would_be_noticed() -> None:
    source = SeededSource(20240501)
    counts = Counter(draw([10, 10, 10, 10, 10, 11], source) for _ in range(SOME))
    assert chi_square(counts, [1 / 6] * 6, SOME) > CHI_SQUARE_5_DOF_P_1E_6


@given(st.lists(st.integers(1, 1 << 200), min_size=1, max_size=6), st.data())
def test_each_ticket_lands_in_its_own_interval(weights: list[int], data: st.DataObject) -> None:
    ticket = data.draw(st.integers(0, sum(weights) - 1))

    class Fixed:
        def randbelow(self, n: int, /) -> int:
            assert n == sum(weights)
            assert type(n) is int
            return ticket

    index = draw(weights, Fixed())
    assert sum(weights[:index]) <= ticket < sum(weights[: index + 1])


@given(st.lists(st.floats(0, 1e300), min_size=1, max_size=50))
def test_every_allowed_output_has_an_integer_weight_of_at_least_one(weights: list[float]) -> None:
    if max(weights) <= 0:
        with pytest.raises(ValueError, match="positive"):
            integer_weights(weights)
        return
    found = integer_weights(weights)
    assert all(type(w) is int and 1 <= w <= 1 << 62 for w in found)
    assert max(found) == 1 << 62


@pytest.mark.parametrize("bad", [[float("nan")], [float("inf"), 1.0], [-1.0, 2.0], []])
def test_weights_that_mean_nothing_are_refused(bad: list[float]) -> None:
    with pytest.raises(ValueError, match="weights"):
        integer_weights(bad)


@pytest.mark.parametrize("bad", [[1.0, 2.0], [np.int64(3)], [True, 1]])
def test_no_float_reaches_the_draw(bad: list[int]) -> None:
    with pytest.raises(TypeError, match="Python integers"):
        draw(bad, SYSTEM_RANDOM)


@pytest.mark.parametrize("bad", [[], [0, 1], [-1, 5]])
def test_weights_below_one_never_reach_the_draw(bad: list[int]) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        draw(bad, SYSTEM_RANDOM)


def test_the_system_source_is_the_operating_systems(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def randbelow(n: int) -> int:
        asked.append(n)
        return 0

    monkeypatch.setattr(secrets, "randbelow", randbelow)
    assert draw([2, 3], SYSTEM_RANDOM) == 0
    assert asked == [5]


@pytest.mark.parametrize("gamma", [Fraction(0), Fraction(1, 3), Fraction(1), Fraction(5, 2)])
def test_bernoulli_exp_has_the_right_mean(gamma: Fraction) -> None:
    n, source = 40_000, SeededSource(3)
    hits = sum(bernoulli_exp(gamma, source) for _ in range(n))
    p = exp(-gamma)
    assert abs(hits - n * p) <= 5 * sqrt(n * p * (1 - p)) + 1e-9  # five standard errors, fixed seed


@pytest.mark.slow
def test_discrete_laplace_and_gaussian_have_the_right_shape() -> None:
    n, source = 40_000, SeededSource(4)
    scale, variance = Fraction(3, 2), Fraction(7, 3)
    laplace = Counter(discrete_laplace(scale, source) for _ in range(n))
    gaussian = Counter(discrete_gaussian(variance, source) for _ in range(n))
    everywhere = range(-60, 61)
    for counts, density in (
        (laplace, {x: exp(-abs(x) / float(scale)) for x in everywhere}),
        (gaussian, {x: exp(-x * x / (2 * float(variance))) for x in everywhere}),
    ):
        for x in range(-4, 5):
            p = density[x] / sum(density.values())
            assert abs(counts[x] - n * p) <= 5 * sqrt(n * p * (1 - p))


def test_no_noise_at_variance_zero_and_none_below() -> None:
    assert discrete_gaussian(Fraction(0), SYSTEM_RANDOM) == 0
    with pytest.raises(ValueError, match="variance"):
        discrete_gaussian(Fraction(-1), SYSTEM_RANDOM)
    with pytest.raises(ValueError, match="scale"):
        discrete_laplace(Fraction(0), SYSTEM_RANDOM)
