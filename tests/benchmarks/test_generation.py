"""Private generation: what its figures say, and what its methods spend."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.generation import membership
from benchmarks.generation import quality as generation_quality
from benchmarks.generation.quality import log_softmax
from benchmarks.generation.run import DELTA, methods
from sanitizer.errors import NotCertified


def test_scores_that_are_not_finite_are_refused() -> None:
    with pytest.raises(NotCertified):
        log_softmax(np.array([0.0, np.nan]))
    assert np.exp(log_softmax(np.array([[1.0, 2.0]]))).sum() == pytest.approx(1)


def test_zero_shot_reads_no_reference_and_few_shot_nothing_else() -> None:
    zero, few, *_ = methods(10.0, 64)
    scores = np.log(np.array([[1, 2, 5], [7, 1, 1]], dtype=np.float32))
    other = np.log(np.array([[1, 2, 5], [1, 7, 1]], dtype=np.float32))
    swapped = np.log(np.array([[5, 2, 1], [7, 1, 1]], dtype=np.float32))
    assert zero.weights(scores).weights == zero.weights(other).weights
    assert few.weights(scores).weights == few.weights(swapped).weights
    assert few.weights(scores).weights != few.weights(other).weights


def test_methods_spend_what_they_are_given() -> None:
    spent = {method.name: method.epsilon for method in methods(10.0, 64)}
    assert spent["zero-shot"] == 0
    assert spent["few-shot, not private"] == float("inf")
    assert 9.9 < spent["InvisibleInk"] <= 10.0
    assert 0 < DELTA < 1e-5


def test_area_of_a_perfect_a_blind_and_a_misled_attacker() -> None:
    perfect = np.eye(5) + 0.1
    assert membership.area([membership.wins(perfect)]) == pytest.approx(
        {"auc": 1, "low": 1, "high": 1}
    )
    assert membership.area([membership.wins(np.ones((5, 5)))])["auc"] == pytest.approx(0.5)
    assert membership.area([membership.wins(-perfect)])["auc"] == pytest.approx(0)


def test_area_counts_pairs_of_members_and_others_over_all_attacks() -> None:
    scores = np.array([[0.9, 0.2, 0.6], [0.1, 0.5, 0.7], [0.3, 0.4, 0.2]])
    own, others = [0.9, 0.5, 0.2], [0.2, 0.6, 0.1, 0.7, 0.3, 0.4]
    pairs = [(a > b) + (a == b) / 2 for a in own for b in others]
    assert membership.area([membership.wins(scores)])["auc"] == pytest.approx(np.mean(pairs))


def test_area_from_drawn_answers_is_that_of_many_draws() -> None:
    rng = np.random.default_rng(0)
    chances = rng.random((4, 4)) * 0.5 + 0.4 * np.eye(4)
    drawn = [
        membership.wins((rng.random((4, 4)) < chances).astype(np.float64)) for _ in range(4_000)
    ]
    assert membership.answer_wins(chances) == pytest.approx(np.mean(drawn, axis=0), abs=0.03)


def test_texts_of_the_same_distribution_are_no_distance_apart() -> None:
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((900, 8)).astype(np.float32) + np.float32(0.5)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    one = np.ones((1, 300))
    assert generation_quality.distances(vectors[:300], vectors[300:], one) == pytest.approx(
        0, abs=0.02
    )
    assert generation_quality.distances(-vectors[:300], vectors[300:], one) > 1
