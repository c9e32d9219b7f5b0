"""The benchmarks' baselines against numbers worked out by hand."""

from __future__ import annotations

from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.baselines.words import Inputs, euclidean, exponential, randomized_response, santext
from benchmarks.frontier.mechanisms import BASELINES

THREE = np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 1.0], [2.0, 1.0, 0.0]], dtype=np.float32)
"""Distances of words on a line."""


def all_known(distances: np.ndarray) -> Inputs:
    return Inputs.of(distances, np.ones(len(distances), dtype=bool))


def exact_epsilon(p: np.ndarray) -> float:
    return float((np.log(p.max(axis=0)) - np.log(p.min(axis=0))).max())


def test_distances_of_unit_vectors() -> None:
    cosines = np.array([[1.0, 0.0, -1.0, 0.5]], dtype=np.float32)
    assert euclidean(cosines)[0] == pytest.approx([0, 2**0.5, 2, 1])


def test_santext_halves_with_each_unit_of_distance() -> None:
    p = santext(2 * log(2), all_known(THREE))
    assert p[0] == pytest.approx([4 / 7, 2 / 7, 1 / 7])
    assert p[1] == pytest.approx([1 / 4, 1 / 2, 1 / 4])
    assert exact_epsilon(p) == pytest.approx(log(4))  # of 2 ln 2 per unit over a distance of 2


@pytest.mark.parametrize("epsilon", [0.5, 3.0, 20.0])
def test_santext_never_exceeds_epsilon_times_the_largest_distance(epsilon: float) -> None:
    assert exact_epsilon(santext(epsilon, all_known(THREE))) <= epsilon * 2


def test_exponential_weighs_by_half_its_utility() -> None:
    p = exponential(2.0, all_known(THREE), lambda_d=2 * log(2))  # utilities 1, 1/2, 1/16
    weights = np.exp([1, 1 / 2, 1 / 16])
    assert p[0] == pytest.approx(weights / weights.sum())
    assert exact_epsilon(p) < 2.0


def test_exponential_reads_the_context() -> None:
    scores = np.array([1.0, 0.25], dtype=np.float32)
    inputs = Inputs(np.zeros((1, 2), dtype=np.float32), np.array([0]), scores)
    p = exponential(2 * log(2), inputs)  # utilities 1 and 1/2
    assert p[0, 0] / p[0, 1] == pytest.approx(2**0.5)


def test_randomized_response_is_exactly_epsilon() -> None:
    p = randomized_response(log(3), all_known(THREE))
    assert p[0] == pytest.approx([3 / 5, 1 / 5, 1 / 5])
    assert exact_epsilon(p) == pytest.approx(log(3))


def test_randomized_response_draws_an_unknown_word_uniformly() -> None:
    unknown = Inputs.of(THREE[:1], np.array([False]))
    assert randomized_response(2.0, unknown)[0] == pytest.approx([1 / 3] * 3)


@given(st.lists(st.floats(-1, 1, width=32), min_size=2, max_size=8), st.floats(0.1, 20))
def test_every_row_adds_up_to_one(cosines: list[float], epsilon: float) -> None:
    inputs = all_known(euclidean(np.array([cosines], dtype=np.float32)))
    for baseline in BASELINES.values():
        p = baseline(epsilon, inputs)
        assert p.shape == (1, len(cosines))
        assert (p >= 0).all()
        assert p.sum() == pytest.approx(1)
