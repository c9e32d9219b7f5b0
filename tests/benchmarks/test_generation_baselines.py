"""The baselines of generation on cases worked out by hand, and their accounts against all toy
neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import exp, log, sqrt

import numpy as np
import pytest

from benchmarks.baselines import amin, augpe, embedding_aggregation, next_token
from benchmarks.baselines.adapmixed import AdaPMixed
from benchmarks.baselines.amin import Amin, SparseVector
from benchmarks.baselines.augpe import AugPE
from benchmarks.baselines.embedding_aggregation import EmbeddingAggregation
from benchmarks.baselines.next_token import ADD_REMOVE, REPLACE, ZERO_OUT, FewShot, ZeroShot
from benchmarks.generation import membership
from benchmarks.generation import methods as generation_methods
from benchmarks.generation import quality as generation_quality
from sanitizer.errors import NotCertified
from sanitizer.privacy.next_token import TokenWeights
from sanitizer.privacy.weights import Logits
from sanitizer.testing.models import SeededSource

DELTA = 1e-6


def probabilities(found: TokenWeights) -> np.ndarray:
    total = sum(found.weights)
    return np.array([float(Fraction(w, total)) for w in found.weights])


def range_of(p: TokenWeights, q: TokenWeights) -> float:
    assert (p.tokens == q.tokens).all()
    losses = np.log(probabilities(p)) - np.log(probabilities(q))
    return float(losses.max() - losses.min())


def toy_scores(seed: int, n_references: int = 3, scale: float = 3.0) -> Logits:
    rng = np.random.default_rng(seed)
    return (scale * rng.standard_normal((1 + n_references, 6))).astype(np.float32)


def with_null(scores: Logits, reference: int) -> Logits:
    other = scores.copy()
    other[reference] = scores[0]
    return other


def test_zero_shot_reads_no_reference() -> None:
    rule, scores = ZeroShot(top_k=None), np.log(np.array([[1, 2, 5], [7, 1, 1]], dtype=np.float32))
    assert probabilities(rule.weights(scores)) == pytest.approx([1 / 8, 2 / 8, 5 / 8])
    assert rule.weights(scores).weights == rule.weights(toy_like(scores)).weights
    assert rule.epsilon(100, DELTA) == 0


def toy_like(scores: Logits) -> Logits:
    other = scores.copy()
    other[1:] += np.arange(scores.shape[1], dtype=np.float32)
    return other


def test_few_shot_reads_its_references_and_has_no_bound() -> None:
    scores = np.log(np.array([[1, 1, 2], [7, 1, 2], [7, 1, 2]], dtype=np.float32))
    assert probabilities(FewShot(top_k=None).weights(scores)) == pytest.approx([0.7, 0.1, 0.2])
    assert FewShot(top_k=2).weights(scores).tokens.tolist() == [0, 2]
    assert FewShot().epsilon(1, DELTA) == np.inf


@pytest.mark.parametrize(
    "rule",
    [ZeroShot(), FewShot(), Amin(1.0, 1), AdaPMixed(0.5, 4.0, 1)],
    ids=lambda rule: rule.name,
)
def test_scores_that_are_not_finite_are_refused(
    rule: ZeroShot | FewShot | Amin | AdaPMixed,
) -> None:
    with pytest.raises(NotCertified):
        rule.weights(np.array([[np.nan, 1.0], [np.nan, 1.0]], dtype=np.float32))


def test_amin_by_hand() -> None:
    scores = np.array([[0, 0, 0], [5, 4, -9], [1, 3, 2]], dtype=np.float32)
    rule = Amin(clip_norm=1.0, n_references=2)
    # the largest becomes 1, the rest follows and is cut at -1: (1, 0, -1) and (-1, 1, 0)
    assert rule.mean(scores) == pytest.approx([0, 0.5, -0.5])
    assert probabilities(rule.weights(scores)) == pytest.approx(
        np.exp([0, 0.5, -0.5]) / sum(np.exp([0, 0.5, -0.5]))
    )


@pytest.mark.parametrize("seed", range(20))
def test_amin_stays_within_its_event_when_a_reference_becomes_null(seed: int) -> None:
    scores, rule = toy_scores(seed), Amin(2.0, 3, temperature=0.7, relation=REPLACE)
    for reference in (1, 2, 3):
        assert (
            range_of(rule.weights(scores), rule.weights(with_null(scores, reference)))
            <= rule.event.range_
        )


@pytest.mark.parametrize("seed", range(20))
def test_amin_stays_within_its_event_when_a_contribution_becomes_zero(seed: int) -> None:
    scores, rule = toy_scores(seed), Amin(2.0, 3, temperature=0.7, relation=ZERO_OUT)
    for reference in (1, 2, 3):
        without = rule.mean(np.delete(scores, reference, axis=0))
        other = next_token.weighted(without / rule.temperature)
        assert range_of(rule.weights(scores), other) <= rule.event.range_


def test_amin_does_not_keep_the_zero_out_bound_when_a_reference_becomes_null() -> None:
    scores = np.array([[0, 40], [40, 0], [40, 0]], dtype=np.float32)
    rule = Amin(2.0, 2, relation=ZERO_OUT)
    found = range_of(rule.weights(scores), rule.weights(with_null(scores, 1)))
    assert found == pytest.approx(2 * rule.event.range_)  # what the factor of 2 is for
    assert Amin.within(rule.event.range_, 2, relation=REPLACE).clip_norm == pytest.approx(1.0)


def test_distance_to_the_public_distribution_moves_as_accounted() -> None:
    for seed in range(20):
        scores = toy_scores(seed, n_references=4)
        moved = [
            abs(amin.distance(scores) - amin.distance(with_null(scores, i))) for i in range(1, 5)
        ]
        assert max(moved) <= 2 / 4


def sparse(threshold: float, max_private: int = 3) -> SparseVector:
    return SparseVector(Amin(4.0, 2), threshold, sigma=0.01, max_private=max_private)


def test_references_that_say_nothing_new_are_never_asked() -> None:
    scores = np.tile(toy_scores(0)[:1], (3, 1))
    drawn = list(sparse(0.5).tokens(lambda token: scores, 40, SeededSource(1)))
    assert len(drawn) == 40
    assert not any(private for _, private in drawn)


def test_a_text_ends_when_its_private_tokens_are_spent() -> None:
    scores = np.array([[9, 0, 0], [0, 9, 0], [0, 9, 0]], dtype=np.float32)
    drawn = list(sparse(0.5).tokens(lambda token: scores, 40, SeededSource(1)))
    assert [private for _, private in drawn] == [True] * 3
    assert {token for token, _ in drawn} == {1}


def test_sparse_vector_costs_its_runs_besides_its_tokens() -> None:
    rule = sparse(0.5)
    assert rule.event.epsilon == pytest.approx(2 * (2 / 2) / 0.01, rel=1e-5)
    assert rule.epsilon(DELTA) > rule.private.epsilon(3, DELTA)


def divergence(p: np.ndarray, q: np.ndarray, alpha: float) -> float:
    return float(log((p**alpha * q ** (1 - alpha)).sum()) / (alpha - 1))


def both_ways(p: np.ndarray, q: np.ndarray, alpha: float) -> float:
    return max(divergence(p, q, alpha), divergence(q, p, alpha))


def test_adapmixed_leaves_a_near_distribution_alone_and_draws_a_far_one_to_the_radius() -> None:
    p = np.array([[0.5, 0.3, 0.2], [0.5, 0.29, 0.21], [0.01, 0.01, 0.98]])
    rule = AdaPMixed(radius=0.2, alpha=3.0, n_references=2)
    public, mixed = rule.mixed(np.log(p).astype(np.float32))
    assert mixed[0] == pytest.approx(p[1], rel=1e-5)
    assert both_ways(mixed[1], public, 3.0) == pytest.approx(0.2, abs=1e-4)
    assert both_ways(mixed[1], public, 3.0) <= 0.2 + 1e-12


@pytest.mark.parametrize("seed", range(20))
def test_adapmixed_stays_within_its_worst_case_and_its_own_account_is_exact(seed: int) -> None:
    scores, rule = toy_scores(seed), AdaPMixed(0.4, 4.0, 3)
    here = probabilities(rule.weights(scores))
    found = [
        both_ways(here, probabilities(rule.weights(with_null(scores, i))), 4.0) for i in (1, 2, 3)
    ]
    assert rule.loss(scores) == pytest.approx(max(found), rel=1e-6)
    assert max(found) <= rule.worst_case


def test_adapmixed_account_for_removal() -> None:
    scores, rule = toy_scores(4), AdaPMixed(0.4, 4.0, 3, relation=ADD_REMOVE)
    here = probabilities(rule.weights(scores))
    others = [probabilities(rule.weights(np.delete(scores, i, axis=0))) for i in (1, 2, 3)]
    assert rule.loss(scores) == pytest.approx(
        max(both_ways(here, o, 4.0) for o in others), rel=1e-6
    )
    assert rule.epsilon(1, DELTA) == np.inf


def test_adapmixed_own_account_tells_neighbours_apart() -> None:
    scores = np.tile(toy_scores(0)[:1], (3, 1))
    other = scores.copy()
    other[1, 0] += 5
    rule = AdaPMixed(0.4, 4.0, 2)
    assert rule.loss(scores) == pytest.approx(0, abs=1e-12)
    assert rule.loss(other) > 0.01


def test_adapmixed_within_a_budget() -> None:
    rule = AdaPMixed.within(10.0, DELTA, 64, 7, 8.0)
    assert rule is not None
    assert rule.epsilon(64, DELTA) == pytest.approx(10.0)
    assert AdaPMixed.within(0.1, DELTA, 64, 7, 8.0) is None


LINE = np.array([[1, 0], [0, 1], [-1, 0]], dtype=np.float32)


def test_votes_go_to_the_nearest_candidate() -> None:
    private = np.array([[0.8, 0.6], [0.9, 0.1], [-1, 0]], dtype=np.float32)
    assert augpe.votes(private, LINE).tolist() == [2, 0, 1]
    assert augpe.votes(private[:0], LINE).tolist() == [0, 0, 0]


def test_votes_move_as_accounted() -> None:
    rng = np.random.default_rng(0)
    private, candidates = rng.standard_normal((30, 2)).astype(np.float32), LINE
    counts, largest = augpe.votes(private, candidates), 0.0
    for i in range(30):
        removed = augpe.votes(np.delete(private, i, axis=0), candidates)
        assert np.linalg.norm(counts - removed) <= augpe.SENSITIVITY[ADD_REMOVE]
        replaced = private.copy()
        replaced[i] = rng.standard_normal(2)
        largest = max(largest, float(np.linalg.norm(counts - augpe.votes(replaced, candidates))))
    assert largest == pytest.approx(augpe.SENSITIVITY[REPLACE])


def embedded(texts: Sequence[str]) -> np.ndarray:
    angles = np.array([float(text) for text in texts])
    return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)


def test_augpe_moves_towards_the_private_texts() -> None:
    source, rule = SeededSource(3), AugPE(sigma=0.5, n_rounds=12, n_texts=2, n_variations=3)
    found = rule.run(embedded(["1.0"] * 50), ["0.0", "3.0"], embedded, Steps(source), source)
    assert len(found) == 2
    assert min(abs(float(text) - 1.0) for text in found) < 0.15


class Steps:
    """A paraphraser of numbers: a little more or less."""

    def __init__(self, source: SeededSource) -> None:
        self._source = source

    def __call__(self, text: str) -> str:
        return f"{float(text) + (self._source.randbelow(41) - 20) / 50:.3f}"


def test_augpe_is_charged_one_gaussian_a_round() -> None:
    add, replace = (AugPE(5.0, 3, 2, 1, relation=r) for r in (ADD_REMOVE, REPLACE))
    assert replace.event.sensitivity == sqrt(2)
    assert add.epsilon(DELTA) < replace.epsilon(DELTA) < AugPE(5.0, 4, 2, 1).epsilon(DELTA)


def test_parts_of_demonstrations_are_disjoint_and_whole() -> None:
    found = embedding_aggregation.parts(10, 3)
    assert sorted(i for part in found for i in part) == list(range(10))
    assert [len(part) for part in found] == [4, 3, 3]


def test_aggregation_releases_the_candidate_nearest_to_the_mean() -> None:
    answers = np.array([[1, 0], [0.8, 0.6], [0, 1]], dtype=np.float32)
    candidates = np.array([[-1, 0], [0.7071, 0.7071], [0, -1]], dtype=np.float32)
    assert EmbeddingAggregation(sigma=0.01).choose(answers, candidates, SeededSource(0)) == 1


def test_sum_of_answers_moves_as_accounted() -> None:
    rng = np.random.default_rng(1)
    answers = rng.standard_normal((5, 8)).astype(np.float32)
    answers /= np.linalg.norm(answers, axis=1, keepdims=True)
    opposite, limit = answers.copy(), EmbeddingAggregation(1.0).event(8).sensitivity
    opposite[2] *= -1
    moved = embedding_aggregation.summed(answers) - embedding_aggregation.summed(opposite)
    assert 2 * (1 - 1e-4) < np.linalg.norm(moved) / embedding_aggregation.LATTICE <= limit


def test_aggregation_is_charged_one_gaussian_a_query() -> None:
    rule = EmbeddingAggregation(20.0)
    assert rule.epsilon(384, 2, DELTA) > rule.epsilon(384, 1, DELTA)
    assert rule.epsilon(384, 1, DELTA) < EmbeddingAggregation(10.0).epsilon(384, 1, DELTA)


def test_worst_case_by_hand() -> None:
    rule = AdaPMixed(radius=log(2), alpha=2.0, n_references=4)
    assert exp(rule.worst_case) == pytest.approx((3 + 2) / 4)


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


def test_methods_spend_what_they_are_given() -> None:
    found = generation_methods.methods(3.0, 32)
    assert {m.name for m in found if m.rule is None} == {"Amin et al., with sparse vector"}
    private = [m for m in found if m.reads and m.rule is not None and m.relation != "none"]
    assert [m.epsilon for m in private] == pytest.approx([3.0] * len(private), rel=1e-6)
