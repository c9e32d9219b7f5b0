"""InvisibleInk: the contract, the expanded set, and clip norms against closed forms and another
accountant.
"""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sanitizer.privacy.accounting import BoundedRangeEvent, ZCDPEvent
from sanitizer.privacy.invisibleink import InvisibleInk, solve_clip_norm
from sanitizer.privacy.next_token import RANGE_SLACK, USEFUL, Decoder
from tests.privacy.decoder_contract import CertifiedContract, SolvedContract, event_of
from tests.privacy.toy_scores import at_most_exp, loss_spread, toy_scores, without

COARSE = 2.0**-30  # four steps of the grid
ORDERS = (1 + np.geomspace(1e-3, 1e4, 4000)).tolist()


class TestCertified(CertifiedContract):
    @classmethod
    def decoders(cls) -> tuple[Decoder, ...]:
        n = cls.n_references
        return (
            InvisibleInk(1.0, n),
            InvisibleInk(0.3, n, temperature=0.7, top_k=2),
            InvisibleInk(1 / 3, n, temperature=1.0, top_k=None),
            InvisibleInk(20.0, n, temperature=1.2, top_k=1),
        )


class TestPublished(CertifiedContract):
    """Theorem 2 holds, so the published variant is held to the same contract."""

    @classmethod
    def decoders(cls) -> tuple[Decoder, ...]:
        return tuple(
            InvisibleInk(clip, cls.n_references, top_k=k, variant="published")
            for clip, k in ((1.0, 100), (4.0, 2))
        )


def test_variants_differ_in_the_event_only() -> None:
    for scores in toy_scores(3):
        certified, published = (
            InvisibleInk(1.0, 3, variant=v).weights(scores) for v in ("certified", "published")
        )
        assert certified.weights == published.weights
        assert np.array_equal(certified.tokens, published.tokens)


def test_events_are_those_of_theorem_2() -> None:
    range_ = 2 * 0.9 / (8 * 1.2)
    assert event_of(InvisibleInk(0.9, 8, 1.2)) == BoundedRangeEvent(
        range_ + RANGE_SLACK, unit="reference", relation="replace-by-null"
    )
    published = event_of(InvisibleInk(0.9, 8, 1.2, variant="published"))
    assert isinstance(published, ZCDPEvent)
    assert published.rho == pytest.approx(0.9**2 / (2 * 8**2 * 1.2**2), rel=1e-9)


@pytest.mark.parametrize("clip_norm", [0.01, 1.0, 7.0])
def test_the_range_is_met_so_no_smaller_event_would_do(clip_norm: float) -> None:
    scores = np.array([[0, 0], [100, -100], [0, 0]], dtype=np.float32)
    decoder = InvisibleInk(clip_norm, 2, 1.0)
    spread = loss_spread(decoder.weights(scores), decoder.weights(without(scores, 1)))
    assert spread > at_most_exp(clip_norm - COARSE)


def test_the_weights_are_equation_4s() -> None:
    scores = next(iter(toy_scores(3))).astype(np.float64)
    found = InvisibleInk(0.05, 3, 1.1).weights(scores.astype(np.float32))
    logits = (scores[0] + np.clip(scores[1:] - scores[0], -0.05, 0.05).mean(axis=0)) / 1.1
    expected = np.exp(logits) / np.exp(logits).sum()
    assert np.array(found.weights, dtype=float) / float(sum(found.weights)) == pytest.approx(
        expected, rel=1e-6
    )


def test_the_expanded_set_has_all_within_two_clips_of_the_kth() -> None:
    public = np.array([5, 4, 3.0, 2.51, 2.49, -9], dtype=np.float32)
    decoder = InvisibleInk(1.0, 4, top_k=3)  # 2C/B = 0.5
    assert decoder.weights(np.tile(public, (5, 1))).tokens.tolist() == [0, 1, 2, 3]
    assert InvisibleInk(1.0, 4, top_k=None).weights(np.tile(public, (5, 1))).tokens.tolist() == [
        0,
        1,
        2,
        3,
        4,
        5,
    ]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 5), st.floats(0.1, 5))
def test_it_holds_each_single_references_top_k(seed: int, k: int, clip_norm: float) -> None:
    scores = (3 * np.random.default_rng(seed).normal(size=(4, 12))).astype(np.float32)
    allowed = set(InvisibleInk(clip_norm, 3, top_k=k).weights(scores).tokens.tolist())
    for row in scores[1:]:
        alone = scores[0] + np.clip(row - scores[0], -clip_norm, clip_norm) / 3
        assert set(np.argsort(-alone)[:k].tolist()) <= allowed


class TestSolved(SolvedContract):
    least = USEFUL * 1.1

    @staticmethod
    def solved(epsilon: float, delta: float, n_tokens: int) -> float:
        return solve_clip_norm(epsilon, delta, n_tokens, 2)

    @staticmethod
    def decoder(parameter: float) -> Decoder:
        return InvisibleInk(parameter, 2)


class TestSolvedPublished(TestSolved):
    delta = 1e-6  # zCDP has no epsilon without

    @staticmethod
    def solved(epsilon: float, delta: float, n_tokens: int) -> float:
        return solve_clip_norm(epsilon, delta, n_tokens, 2, variant="published")

    @staticmethod
    def decoder(parameter: float) -> Decoder:
        return InvisibleInk(parameter, 2, variant="published")


def test_bounded_range_accounting_allows_a_larger_clip_norm() -> None:
    for epsilon in (0.5, 1.0, 3.0, 10.0):
        for n in (1, 50, 500):
            certified, published = (
                solve_clip_norm(epsilon, 1e-6, n, 8, variant=variant)
                for variant in ("certified", "published")
            )
            assert certified > published


@pytest.mark.parametrize("rho", [0.01, 0.1, 1.0])
def test_the_published_clip_norm_is_the_closed_form(rho: float) -> None:
    import dp_accounting  # takes a second, and every worker reads this file
    from dp_accounting import rdp

    oracle = rdp.RdpAccountant(ORDERS)
    oracle.compose(dp_accounting.ZCDpEvent(rho))
    found = solve_clip_norm(oracle.get_epsilon(1e-6), 1e-6, 100, 8, 1.1, "published")
    assert found == pytest.approx(8 * 1.1 * sqrt(2 * rho / 100), rel=1e-4)


def test_with_delta_zero_the_clip_norm_is_the_sums() -> None:
    assert solve_clip_norm(5.0, 0.0, 100, 8, 1.1) == pytest.approx(
        5.0 / 100 * 8 * 1.1 / 2, rel=1e-6
    )
    assert solve_clip_norm(5.0, 0.0, 100, 8, 1.1, "published") == 0.0
