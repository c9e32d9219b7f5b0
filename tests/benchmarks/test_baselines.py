"""The benchmarks' baselines against numbers worked out by hand."""

from __future__ import annotations

from math import exp, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.baselines import custext, fbdd, rantext
from benchmarks.baselines.base import Inputs, euclidean, softmax
from benchmarks.baselines.exponential import Exponential
from benchmarks.baselines.randomized_response import RandomizedResponse
from benchmarks.baselines.santext import SanText, SanTextPlus

THREE = np.array(
    [[0.0, 1.0, 2.0], [1.0, 0.0, 1.0], [2.0, 1.0, 0.0]], dtype=np.float32
)  # words on a line


def all_known(distances: np.ndarray) -> Inputs:
    return Inputs.of(distances, np.ones(len(distances), dtype=bool))


def exact_epsilon(p: np.ndarray) -> float:
    with np.errstate(divide="ignore"):
        return float((np.log(p.max(axis=0)) - np.log(p.min(axis=0))).max())


def test_distances_of_unit_vectors() -> None:
    cosines = np.array([[1.0, 0.0, -1.0, 0.5]], dtype=np.float32)
    assert euclidean(cosines)[0] == pytest.approx([0, 2**0.5, 2, 1])


def test_santext_by_hand() -> None:
    p = SanText(2 * log(2)).probabilities(
        all_known(THREE)
    )  # weights halve with each unit of distance
    assert p[0] == pytest.approx([4 / 7, 2 / 7, 1 / 7])
    assert p[1] == pytest.approx([1 / 4, 1 / 2, 1 / 4])
    assert exact_epsilon(p) == pytest.approx(
        log(4)
    )  # of a claimed 2 ln 2 per unit over a distance of 2


def test_santext_never_exceeds_epsilon_times_the_largest_distance() -> None:
    for epsilon in (0.5, 3.0, 20.0):
        assert exact_epsilon(SanText(epsilon).probabilities(all_known(THREE))) <= epsilon * 2


def test_santext_plus_keeps_frequent_words_and_draws_sensitive_words_only() -> None:
    p = SanTextPlus(2 * log(2), n_frequent=1, p=0.25).probabilities(all_known(THREE))
    assert p[0] == pytest.approx([0.75, 0.25 * 2 / 3, 0.25 / 3])
    assert p[1] == pytest.approx([0, 2 / 3, 1 / 3])
    assert exact_epsilon(p) == np.inf
    assert exact_epsilon(p[1:, 1:]) == pytest.approx(log(2))


def test_santext_plus_draws_a_word_that_is_only_near_a_frequent_one() -> None:
    near = np.array([[0.5, 1.0, 2.0]], dtype=np.float32)
    assert SanTextPlus(1.0, n_frequent=1).probabilities(all_known(near))[0, 0] == 0


def test_exponential_by_hand() -> None:
    p = Exponential(2.0, lambda_d=2 * log(2)).probabilities(
        all_known(THREE)
    )  # utilities 1, 1/2, 1/16
    weights = np.exp([1, 1 / 2, 1 / 16])
    assert p[0] == pytest.approx(weights / weights.sum())
    assert exact_epsilon(p) < 2.0


def test_exponential_reads_the_context() -> None:
    inputs = Inputs(
        np.zeros((1, 2), dtype=np.float32), np.array([0]), np.array([1.0, 0.25], dtype=np.float32)
    )
    p = Exponential(2 * log(2)).probabilities(inputs)  # utilities 1 and 1/2
    assert p[0, 0] / p[0, 1] == pytest.approx(2**0.5)


def test_randomized_response_is_exactly_epsilon() -> None:
    p = RandomizedResponse(log(3)).probabilities(all_known(THREE))
    assert p[0] == pytest.approx([3 / 5, 1 / 5, 1 / 5])
    assert exact_epsilon(p) == pytest.approx(log(3))


def test_randomized_response_draws_an_unknown_word_uniformly() -> None:
    unknown = Inputs.of(THREE[:1], np.array([False]))
    assert RandomizedResponse(2.0).probabilities(unknown)[0] == pytest.approx([1 / 3] * 3)


FOUR = np.array([[1, 0], [0.96, 0.28], [0, 1], [0.28, 0.96]], dtype=np.float32)  # two near pairs


def test_custext_sets_are_disjoint_and_near() -> None:
    assert custext.mapping(FOUR, k=2).tolist() == [0, 0, 1, 1]


def test_custext_gives_each_word_a_set_even_where_the_last_is_small() -> None:
    assert sorted(custext.mapping(FOUR, k=3).tolist()) == [0, 0, 0, 1]


def test_custext_by_hand() -> None:
    sets = custext.mapping(FOUR, k=2)
    mechanism = custext.CusText(2 * log(3), sets, custext.diameters(FOUR, sets))
    p = mechanism.probabilities(all_known(euclidean(FOUR @ FOUR.T)))
    assert p[0] == pytest.approx([3 / 4, 1 / 4, 0, 0], abs=1e-6)
    assert exact_epsilon(p[:2, :2]) == pytest.approx(log(3), abs=1e-6)
    assert exact_epsilon(p) == np.inf


def test_rantext_with_a_known_radius_by_hand() -> None:
    shares = np.zeros(round(rantext.LONGEST / rantext.STEP))
    shares[round(1 / rantext.STEP) - 1] = 1.0  # the radius is always 1: words nearer than 1
    distances = np.array([[0.0, 0.5, 1.0, 1.5]], dtype=np.float32)
    p = rantext.RanText(4 * log(2), shares).probabilities(all_known(distances))
    assert p[0] == pytest.approx([2 / 3, 1 / 3, 0, 0])  # weights 4 and 2


def test_rantext_mixes_over_the_radius() -> None:
    shares = np.zeros(round(rantext.LONGEST / rantext.STEP))
    shares[[round(0.25 / rantext.STEP) - 1, round(1 / rantext.STEP) - 1]] = 0.5
    distances = np.array([[0.0, 0.5]], dtype=np.float32)
    p = rantext.RanText(4 * log(2), shares).probabilities(all_known(distances))
    assert p[0] == pytest.approx([0.5 + 0.5 * 2 / 3, 0.5 / 3])


def test_rantext_radius_of_one_coordinate_is_exponential() -> None:
    shares = rantext.radius_shares(np.array([1.0], dtype=np.float32), epsilon=1.0)  # |Laplace(1)|
    upper = np.arange(1, len(shares) + 1) * rantext.STEP
    at_one, at_two = (int(np.searchsorted(upper, x)) for x in (1.0, 2.0))
    assert shares.sum() == pytest.approx(1)
    assert shares[: at_one + 1].sum() == pytest.approx(1 - exp(-1), abs=0.01)
    assert shares[: at_two + 1].sum() == pytest.approx(1 - exp(-2), abs=0.01)


def test_rantext_mean_square_radius() -> None:
    shares = rantext.radius_shares(np.full(50, 0.1, dtype=np.float32), epsilon=1.0)
    middles = (np.arange(len(shares)) + 0.5) * rantext.STEP
    assert (shares * middles**2).sum() == pytest.approx(
        50 * 2 * 0.1**2, rel=0.02
    )  # a Laplace draw has 2 b^2


def test_rantext_noise_budget_is_epsilon_below_two() -> None:
    assert rantext.noise_budget(1.5) == 1.5
    assert rantext.noise_budget(6.0) == pytest.approx(9.38, abs=0.01)


def test_fbdd_on_a_line_by_hand() -> None:
    p = fbdd.on_a_line(
        0.0, np.array([0.0, 2.0]), epsilon=log(2)
    )  # the middle is at 1: P(z > 1) = 1/4
    assert p == pytest.approx([3 / 4, 1 / 4])


def test_fbdd_on_a_line_keeps_its_metric_bound() -> None:
    outputs = np.array([0.0, 1.0, 3.0])
    p = np.stack([fbdd.on_a_line(w, outputs, 0.7) for w in outputs])
    assert p.sum(axis=1) == pytest.approx(1)
    assert exact_epsilon(p) <= 0.7 * 3 + 1e-12


def test_fbdd_crosses_to_the_other_output_as_often_as_its_density_says() -> None:
    outputs = np.array([[0.0, 0.0], [4.0, 0.0]], dtype=np.float32)
    drawn = fbdd.Fbdd(1.0).draw(outputs[:1], outputs, 20_000)
    # P(first coordinate above 2) for density e^-|z| / 2 pi, by numerical integration
    x, y = np.meshgrid(np.arange(2, 30, 0.02) + 0.01, np.arange(-30, 30, 0.02) + 0.01)
    expected = float((np.exp(-np.hypot(x, y)) / (2 * np.pi)).sum() * 0.02**2)
    assert drawn.mean() == pytest.approx(expected, abs=0.012)


@settings(deadline=None)  # a table of RANTEXT takes time on a busy machine
@given(st.lists(st.floats(-1, 1, width=32), min_size=2, max_size=8), st.floats(0.1, 20))
def test_every_row_adds_up_to_one(cosines: list[float], epsilon: float) -> None:
    inputs = all_known(euclidean(np.array([cosines], dtype=np.float32)))
    n = len(cosines)
    shares = np.full(round(rantext.LONGEST / rantext.STEP), rantext.STEP / rantext.LONGEST)
    sets = np.arange(n) // 2
    mechanisms = (
        SanText(epsilon),
        SanTextPlus(epsilon, n_frequent=1),
        Exponential(epsilon),
        RandomizedResponse(epsilon),
        custext.CusText(epsilon, sets, np.ones(n, dtype=np.float32)),
        rantext.RanText(epsilon, shares),
    )
    for mechanism in mechanisms:
        p = mechanism.probabilities(inputs)
        assert p.shape == (1, n)
        assert (p >= 0).all()
        assert p.sum() == pytest.approx(1)


def test_softmax_gives_nothing_to_what_is_ruled_out() -> None:
    assert softmax(np.array([[0.0, -np.inf]]))[0].tolist() == [1.0, 0.0]
