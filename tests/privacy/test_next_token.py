"""The loop that draws, exact weights, and the search for the largest parameter."""

from __future__ import annotations

from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sanitizer.errors import NotCertified
from sanitizer.privacy.accounting import Accountant, BoundedRangeEvent, Event
from sanitizer.privacy.invisibleink import InvisibleInk
from sanitizer.privacy.next_token import (
    DEPTH,
    LOW_BITS,
    cost,
    exact_weights,
    largest,
    tokens,
    top_tokens,
)
from sanitizer.testing.models import SeededSource
from tests.privacy.toy_scores import ToyScores, generate

DECODER = InvisibleInk(1.0, 2)
END = frozenset({0, 1})


def ranged(range_: float) -> Event:
    return BoundedRangeEvent(range_, unit="reference", relation="replace-by-null")


def test_a_text_has_exactly_max_tokens_if_nothing_ends_it() -> None:
    scores = ToyScores(2)
    found = generate(DECODER, scores, 9, frozenset(), SeededSource(1))
    assert len(found) == 9


def test_each_token_is_scored_once_and_none_after_the_last() -> None:
    scores = ToyScores(2)
    found = generate(DECODER, scores, 9, frozenset(), SeededSource(1))
    assert scores.calls == [None, *found[:-1]]


def test_an_end_token_ends_the_text_inside_the_budget() -> None:
    for seed in range(40):
        found = generate(DECODER, ToyScores(2), 5, END, SeededSource(seed))
        assert 1 <= len(found) <= 5
        assert found[-1] in END or len(found) == 5
        assert not END & set(found[:-1])


def test_the_end_token_may_be_the_last_of_the_budget() -> None:
    found = [generate(DECODER, ToyScores(2), 1, END, SeededSource(seed)) for seed in range(40)]
    assert {text[-1] in END for text in found} == {True, False}


def test_tokens_come_one_by_one() -> None:
    scores = ToyScores(2)
    stream = tokens(DECODER, scores, 5, frozenset(), SeededSource(1))
    first = next(stream)
    assert scores.calls == [None]
    assert (first, *stream) == generate(DECODER, ToyScores(2), 5, frozenset(), SeededSource(1))


@pytest.mark.parametrize("bad", [0, -1, 2.0, True])
def test_a_bad_budget_is_refused_before_anything_is_scored(bad: int) -> None:
    scores = ToyScores(2)
    with pytest.raises(ValueError, match="max_tokens"):
        tokens(DECODER, scores, bad, END, SeededSource(1))
    assert not scores.calls


def test_neither_tokens_nor_weights_are_printed() -> None:
    scores = ToyScores(2).at(())
    assert repr(DECODER.weights(scores)) == "TokenWeights()"


@given(st.lists(st.floats(-60, 0), min_size=1, max_size=6))
def test_weights_are_exponentials_up_to_rounding(logs: list[float]) -> None:
    above = np.array(logs) - max(logs)
    found = exact_weights(above)
    assert min(found) >= 1 << LOW_BITS
    with localcontext(prec=50):
        scale = Decimal(DEPTH).exp() * (1 << LOW_BITS)
        for weight, log in zip(found, above.tolist(), strict=True):
            assert abs((Decimal(weight) / (scale * Decimal(log).exp())).ln()) < Decimal(2) ** -39


def test_the_floor_keeps_far_tokens_in_and_weights_short() -> None:
    found = exact_weights(np.array([0.0, -DEPTH, -1e4, -1e300]))
    assert found[1:] == (1 << LOW_BITS,) * 3
    assert found[0].bit_length() < 140


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_logs_that_are_not_finite_are_refused(value: float) -> None:
    with pytest.raises(NotCertified):
        exact_weights(np.array([0.0, value]))


@given(st.lists(st.integers(-2, 2), min_size=1, max_size=8), st.integers(1, 9))
def test_top_tokens_are_the_largest_and_ties_go_to_lower_tokens(values: list[int], k: int) -> None:
    ranked = sorted(range(len(values)), key=lambda i: (-values[i], i))
    assert top_tokens(np.array(values, dtype=np.float64), k).tolist() == sorted(ranked[:k])


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 10.0])
def test_the_largest_parameter_fits_and_a_larger_one_does_not(epsilon: float, delta: float) -> None:
    found = largest(ranged, epsilon, delta, 50, 64.0)
    assert cost(ranged(found), 50, delta) <= epsilon < cost(ranged(found * (1 + 1e-6)), 50, delta)


def test_where_everything_fits_the_largest_is_the_limit() -> None:
    assert largest(ranged, 1e6, 0.0, 50, 64.0) == 64.0


def test_cost_is_the_accountants() -> None:
    accountant = Accountant()
    for _ in range(7):
        accountant.compose(ranged(0.1))
    assert cost(ranged(0.1), 7, 1e-6) == accountant.epsilon(1e-6)
