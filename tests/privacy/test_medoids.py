"""Output sets chosen for coverage: near the best, within limits, ranked without a trace."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from sanitizer.privacy.accounting import StaircaseEvent
from sanitizer.privacy.cape import Cape
from sanitizer.privacy.medoids import Coverage, Design, Limits, choose_outputs, ranked
from tests.privacy.mechanism_contract import toy_contexts
from tests.privacy.medoid_positions import Covering
from tests.privacy.orders import renyi_divergence

NOTHING = np.array([], dtype=np.intp)
ORDERS = [1.0, 2.0, 8.0, 50.0]
Floats = NDArray[np.float32]


def coverage(n: int, n_candidates: int, n_inputs: int, seed: int = 0) -> Coverage:
    """Random similarities; the first two inputs are not expected by the context."""
    random = np.random.default_rng(seed)
    similarity = random.random((n, n_candidates, n_inputs)).astype(np.float32) ** 3
    prior = np.sort(random.dirichlet(np.ones(n_inputs), n).astype(np.float32), axis=1)
    prior[:, :2] = 0
    weight = (prior + 0.02) / (prior + 0.02).sum(axis=1, keepdims=True)
    fit = (0.1 * random.random((n, n_candidates))).astype(np.float32)
    return Coverage(similarity, fit, weight.astype(np.float32), prior)


def expected(parts: Coverage, chosen: NDArray[np.intp], caps: Floats, limits: Limits) -> float:
    """The objective that `choose_outputs` states, for the first position."""
    served = parts.similarity[0, chosen] + parts.fit[0, chosen, None]
    served = np.where(caps[:, None] >= parts.prior[0] * (1 - 1e-6), served, 0)
    best = np.sort(served, axis=0)[::-1][: limits.n_top].sum(axis=0)
    raised = np.expm1(limits.epsilon)
    gain = float(parts.weight[0] @ best) - limits.guess_price * float(caps.sum())
    base = float((parts.similarity[0, chosen] @ parts.weight[0]).sum())
    return float((raised * gain + base) / (limits.n_top * raised + len(chosen)))


@pytest.mark.parametrize("n_top", [1, 2])
@pytest.mark.parametrize("seed", range(6))
def test_greedy_is_close_to_the_best_of_all_sets(n_top: int, seed: int) -> None:
    parts = coverage(1, 7, 9, seed)
    limits = Limits(3.0, n_top, n_top + 1, 7, guess_price=0.0)
    (chosen,), (caps,) = choose_outputs(parts, limits)
    reached = expected(parts, chosen, caps, limits)
    every = parts.prior[0].max()
    best = max(
        expected(parts, np.array(some), np.full(len(some), every, np.float32), limits)
        for size in range(n_top + 1, 8)
        for some in combinations(range(7), size)
    )
    assert 0.97 * best <= reached <= best + 1e-5


@pytest.mark.parametrize("fewest", [2, 5, 30])
def test_sets_stay_within_their_limits(fewest: int) -> None:
    parts = coverage(9, 20, 30)
    outputs, caps = choose_outputs(parts, Limits(4.0, 1, fewest, 6, 0.3))
    for i, (chosen, its_caps) in enumerate(zip(outputs, caps, strict=True)):
        assert min(fewest, 20) <= len(chosen) <= max(6, min(fewest, 20))
        assert len(set(chosen.tolist())) == len(chosen)
        assert chosen.max() < 20
        assert set(its_caps.tolist()) <= set(parts.prior[i].tolist())


def test_a_position_is_chosen_for_as_if_it_were_alone() -> None:
    parts, limits = coverage(5, 12, 25, seed=3), Limits(5.0, 1, 3, 9, 0.2)
    together, caps = choose_outputs(parts, limits)
    for i in range(5):
        alone = Coverage(*(each[i : i + 1] for each in vars(parts).values()))
        (chosen,), (its_caps,) = choose_outputs(alone, limits)
        assert chosen.tolist() == together[i].tolist()
        assert its_caps.tolist() == caps[i].tolist()


def test_a_higher_price_lowers_the_caps() -> None:
    parts = coverage(8, 20, 40, seed=5)
    sums = [
        sum(float(c.sum()) for c in choose_outputs(parts, Limits(5.0, 1, 4, 12, price))[1])
        for price in (0.0, 0.3, 3.0)
    ]
    assert sums[0] > sums[1] > sums[2]


def design(caps: list[float]) -> Design:
    n = len(caps)
    return Design(np.arange(n), np.array(caps, np.float32), np.full(n, 1 / n, np.float32))


def test_outputs_that_admit_the_word_come_first_and_its_own_spelling_last() -> None:
    cosine = np.array([0.9, 0.2, 0.5, 0.1], np.float32)
    made = design([0.01, 0.3, 0.3, 0.2])
    assert ranked(made, cosine, 0.0, NOTHING).tolist() == [0, 2, 1, 3]
    assert ranked(made, cosine, 0.25, NOTHING).tolist() == [2, 1, 3, 0]
    assert ranked(made, cosine, 0.25, np.array([2])).tolist() == [1, 3, 0, 2]
    assert ranked(made, cosine, 0.9, NOTHING).tolist() == [1, 2, 3, 0]


@given(
    st.lists(st.floats(width=32), min_size=2, max_size=9),
    st.floats(0, 1),
    st.integers(0, 8),
)
def test_every_output_has_a_place_whatever_the_word_is(
    cosine: list[float], prior: float, own: int
) -> None:
    """Also for vectors that give no number: a private word never decides whether an error comes."""
    n = len(cosine)
    found = ranked(
        design([0.1] * n), np.array(cosine, np.float32), prior, np.array([own % n], dtype=np.intp)
    )
    assert sorted(found.tolist()) == list(range(n))


@pytest.mark.parametrize("n_top", [1, 2, 3])
@pytest.mark.parametrize("n_shortlist", [5, 8, 12])
def test_the_accountant_hears_of_the_size_that_loses_most(n_top: int, n_shortlist: int) -> None:
    mechanism = Cape(3.0, profile="medoids", n_shortlist=n_shortlist, n_top=n_top)
    positions = [Covering(mechanism, logits) for logits in toy_contexts()]
    medoids = positions[0].medoids
    sizes = range(min(medoids.limits.fewest, 11), min(n_shortlist, 11) + 1)
    assert {len(position.outputs) for position in positions} <= set(sizes)
    told = renyi_divergence(event(n_top, medoids.worst_size), ORDERS)
    for size in sizes:
        assert (renyi_divergence(event(n_top, size), ORDERS) <= told + 1e-12).all()


def event(n_top: int, n_outputs: int) -> StaircaseEvent:
    return StaircaseEvent(3.0, n_top, n_outputs, unit="word", relation="replace-one")


def test_no_spelling_comes_twice_and_the_likelier_one_comes() -> None:
    """The toy's last two outputs spell one word."""
    mechanism = Cape(5.0, profile="medoids", n_shortlist=11, n_top=1, guess_price=0.0)
    for best in (10, 11):
        logits = np.zeros(12, dtype=np.float32)
        logits[best] = 3.0
        outputs = Covering(mechanism, logits).outputs.tolist()
        assert best in outputs
        assert 21 - best not in outputs
        assert len(set(outputs)) == len(outputs)
