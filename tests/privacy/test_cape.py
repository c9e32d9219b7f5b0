"""Cape: the contract, the shape of the certified levels, and the published variant's broken
promise.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from math import log
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from sanitizer.privacy.cape import PROFILES, Cape, bucket_weights, default_shape
from sanitizer.privacy.weights import LOW, MAX_EPSILON, high_level
from tests.privacy.mechanism_contract import (
    CertifiedContract,
    MechanismContract,
    Ranked,
    distributions,
    toy_contexts,
    toy_distances,
)
from tests.privacy.medoid_positions import Covering


def form(**options: Any) -> Callable[[float], Cape]:
    return partial(Cape, **options)


MEDOIDS = {
    "medoids": form(profile="medoids", n_shortlist=8, n_top=1),
    "for nothing but similarity": form(
        profile="medoids", n_shortlist=12, n_top=1, demote_self=False, guess_price=0.0
    ),
    "several at the top": form(profile="medoids", n_shortlist=9, n_top=3, guess_price=2.0),
}
RANKED = {
    "staircase": form(n_shortlist=7, n_top=2),
    "scores of another model": form(backbone="causal", n_shortlist=7, n_top=2),
    "keeping the word itself": form(n_shortlist=9, n_top=1, demote_self=False),
    "geometric": form(profile="geometric", n_shortlist=11, n_top=1),
    "prior": form(profile="prior", n_shortlist=11, n_top=1, top_mass=0.2),
    "prior, even the best raised in part": form(
        profile="prior", n_shortlist=12, n_top=1, top_mass=0.001
    ),
    "whole vocabulary": form(n_shortlist=500, n_top=3),
    "defaults": form(),
}


class TestRanked(CertifiedContract):
    """Outputs ranked by utility."""

    @pytest.fixture(autouse=True, params=RANKED.values(), ids=list(RANKED))
    def _form(self, request: pytest.FixtureRequest) -> None:
        self.form = request.param


class TestMedoids(CertifiedContract):
    """Outputs chosen for coverage; how many there are follows from the context."""

    @pytest.fixture(autouse=True, params=MEDOIDS.values(), ids=list(MEDOIDS))
    def _form(self, request: pytest.FixtureRequest) -> None:
        self.form = request.param

    def position(self, epsilon: float, logits: NDArray[np.float32]) -> Covering:
        return Covering(self.form(epsilon), logits)

    def test_the_draw_is_as_tight_as_it_says(self) -> None:
        for logits in toy_contexts():
            found = distributions(self.position(5.0, logits))
            ratios = [max(d[y] for d in found) / min(d[y] for d in found) for y in found[0]]
            assert log(max(ratios)) == pytest.approx(5.0, abs=1e-9)


class TestPublished(MechanismContract):
    """The contract without the bound; that it does not hold is shown below."""

    form = partial(Cape, variant="published")
    epsilons = (0.1, 1.0, 5.0, 12.0)


def exact_epsilon(mechanism: Cape) -> float:
    worst = Fraction(1)
    for logits in toy_contexts():
        found = distributions(Ranked(mechanism, logits))
        for y in found[0]:
            values = [d[y] for d in found]
            worst = max(worst, max(values) / min(values))
    return log(worst)


def test_published_exceeds_its_nominal_epsilon_and_says_so() -> None:
    mechanism = Cape(0.1, variant="published")
    assert exact_epsilon(mechanism) > 0.5
    assert not mechanism.certified
    assert mechanism.reason is not None
    assert "sizes" in mechanism.reason


@pytest.mark.parametrize("epsilon", [0.5, 3.0, 5.0, 10.0])
def test_certified_is_tight(epsilon: float) -> None:
    assert exact_epsilon(Cape(epsilon, n_shortlist=7, n_top=2)) == pytest.approx(epsilon, abs=1e-9)


@pytest.mark.parametrize("epsilon", [0.5, 5.0])
def test_the_prior_profile_has_one_normalizer_for_all_words(epsilon: float) -> None:
    mechanism = Cape(epsilon, profile="prior", n_shortlist=12, n_top=1, top_mass=0.1)
    logits, none = (
        np.random.default_rng(2).normal(size=12).astype(np.float32),
        np.array([], dtype=np.intp),
    )
    totals = {sum(mechanism.weights(logits, row, none).totals) for row in toy_distances()}
    assert len(totals) == 1
    assert exact_epsilon(mechanism) <= epsilon


def test_the_claim_of_the_published_variant_is_above_nominal() -> None:
    mechanism = Cape(6.0, variant="published")
    weights = mechanism.weights(
        np.linspace(0, 1, 12, dtype=np.float32), toy_distances()[0], np.array([], dtype=np.intp)
    )
    claim = mechanism.claimed(weights)
    assert claim is not None
    assert claim >= 6.0
    assert Cape(6.0).claimed(weights) is None


@given(st.floats(1e-12, MAX_EPSILON))
def test_the_high_level_never_exceeds_the_exponential(epsilon: float) -> None:
    level = high_level(epsilon)
    assert level >= LOW
    assert log(level) - log(LOW) <= epsilon + 1e-13 * max(1.0, epsilon)


@given(
    st.floats(0.01, 20),
    st.integers(1, 40),
    st.integers(2, 300),
    st.sampled_from(["staircase", "geometric", "medoids"]),
)
def test_levels_cover_the_outputs_and_stay_in_range(
    epsilon: float, top: int, n: int, profile: str
) -> None:
    mechanism = Cape(epsilon, profile=profile, n_top=top, n_shortlist=max(n, top + 1))
    levels, sizes = mechanism.levels(n)
    assert sum(sizes) == n
    assert min(sizes) >= 1
    assert min(levels) >= LOW
    assert max(levels) <= high_level(epsilon)
    assert levels == sorted(levels, reverse=True)


def test_the_word_itself_takes_the_last_rank() -> None:
    scores = np.ones(12, dtype=np.float32)
    mechanism = Cape(5.0, n_shortlist=12, n_top=1)
    weights = mechanism.weights(scores, toy_distances()[4], np.array([4]))
    assert weights.probability(4) == min(weights.probability(y) for y in range(12))
    kept = Cape(5.0, n_shortlist=12, n_top=1, demote_self=False).weights(
        scores, toy_distances()[4], np.array([4])
    )
    assert kept.probability(4) == max(kept.probability(y) for y in range(12))


def test_the_shortlist_is_the_best_of_the_context() -> None:
    logits = np.random.default_rng(1).normal(size=1000).astype(np.float32)
    chosen = Cape(n_shortlist=50, n_top=1).outputs(logits)
    assert set(chosen) == set(np.argsort(-logits)[:50])


@given(st.lists(st.floats(0, 1, width=32), min_size=1, max_size=60), st.integers(1, 50))
def test_published_buckets_are_equal_width_intervals(values: list[float], n_buckets: int) -> None:
    utility = np.array(values, dtype=np.float32)
    weights = bucket_weights(utility, 6.0, n_buckets)
    assert sorted(np.concatenate(weights.members)) == list(range(len(values)))
    width = (utility.max() - utility.min()) / n_buckets
    means = [utility[m].mean() for m in weights.members]
    assert means == sorted(means)
    assert all(np.ptp(utility[m]) <= width * (1 + 1e-6) + 1e-12 for m in weights.members)
    assert list(weights.totals) == sorted(weights.totals)


@given(st.floats(0.01, MAX_EPSILON), st.sampled_from(PROFILES), st.integers(1, 30))
def test_the_default_shape_is_usable(epsilon: float, profile: str, top: int) -> None:
    shape, mechanism = default_shape(epsilon, profile), Cape(epsilon, profile=profile)
    assert (mechanism.n_shortlist, mechanism.n_top, mechanism.top_mass) == (
        shape.n_shortlist,
        shape.n_top,
        shape.top_mass,
    )
    wider = Cape(epsilon, profile=profile, n_top=top)
    assert wider.n_shortlist is not None
    assert top < wider.n_shortlist
    assert Cape(epsilon, profile=profile, n_shortlist=2).n_top == 1


def test_the_default_staircase_raises_one_output_of_a_list_that_grows_with_epsilon() -> None:
    found = [Cape(epsilon) for epsilon in (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)]
    assert {(mechanism.n_top, mechanism.lambda_l) for mechanism in found} == {(1, 0.0)}
    lists = [mechanism.n_shortlist or 0 for mechanism in found]
    assert lists == sorted(lists)
    # However large epsilon is, chance still decides: nobody gets the nearest output for certain.
    for mechanism, n in zip(found, lists, strict=True):
        levels, sizes = mechanism.levels(n)
        total = sum(level * size for level, size in zip(levels, sizes, strict=True))
        assert 0.3 < levels[0] / total < 0.995


def test_fitting_the_context_counts_where_the_list_is_long() -> None:
    assert [Cape(profile=profile).lambda_l for profile in ("geometric", "prior")] == [0.5, 0.5]
    assert Cape(variant="published").lambda_l == 0.5
    assert Cape(lambda_l=0.3).lambda_l == 0.3


def test_medoids_have_no_shortlist_by_utility() -> None:
    mechanism, logits = Cape(profile="medoids"), np.zeros(12, dtype=np.float32)
    with pytest.raises(ValueError, match="profile"):
        mechanism.outputs(logits)
    with pytest.raises(ValueError, match="profile"):
        mechanism.weights(logits, None, np.array([], dtype=np.intp))


def test_settings_are_those_of_the_profile() -> None:
    assert {"n_top", "guess_price"} <= set(Cape(profile="medoids").settings())
    assert not {"lambda_l", "lambda_d", "top_mass"} & set(Cape(profile="medoids").settings())
    assert "top_mass" in Cape(profile="prior").settings()
    assert "guess_price" not in Cape(profile="staircase").settings()


def test_reading_the_original_context_is_never_certified() -> None:
    assert not Cape(context="original").certified
