"""The suite every decoder inherits: exact checks on toy scores, all neighbours and all tokens."""

from __future__ import annotations

import dataclasses
from collections import Counter
from fractions import Fraction
from itertools import pairwise, permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from sanitizer.errors import NotCertified
from sanitizer.privacy.accounting import Accountant, BoundedRangeEvent, Event
from sanitizer.privacy.next_token import Decoder, cost
from sanitizer.testing.models import SeededSource
from tests.privacy.orders import renyi_divergence
from tests.privacy.toy_scores import (
    LARGEST,
    N_TOKENS,
    Asked,
    ToyScores,
    at_most_exp,
    divergence,
    generate,
    hockey_stick,
    loss_spread,
    neighbours,
    sequences,
    toy_scores,
)

ORDERS = (2, 3, 8)
NO_END: frozenset[int] = frozenset()
FLOATS = st.one_of(
    st.floats(-30, 30, width=32),
    st.floats(-LARGEST, LARGEST, width=32),
    st.sampled_from([0.0, 1e4]),
)


def event_of(decoder: Decoder) -> Event:
    return decoder.event("reference", "replace-by-null")


class DecoderContract:
    """Inherit, and override `decoders`."""

    n_references = 3

    @classmethod
    def decoders(cls) -> tuple[Decoder, ...]:
        """Several settings of the decoder under test, all with `n_references` references."""
        raise AssertionError("override me")

    def test_weights_are_positive_python_integers_of_distinct_tokens(self) -> None:
        for decoder in self.decoders():
            for scores in toy_scores(self.n_references):
                found = decoder.weights(scores)
                assert (
                    len(found.tokens) == len(found.weights) == len(set(found.tokens.tolist())) > 0
                )
                assert set(found.tokens.tolist()) <= set(range(N_TOKENS))
                assert all(type(w) is int and w >= 1 for w in found.weights)

    @pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
    @pytest.mark.parametrize("row", [0, 2])
    def test_a_score_that_is_not_finite_raises_and_nothing_is_drawn(
        self, value: float, row: int
    ) -> None:
        scores = np.zeros((1 + self.n_references, N_TOKENS), dtype=np.float32)
        scores[row, 3] = value
        for decoder in self.decoders():
            with pytest.raises(NotCertified):
                generate(decoder, lambda _: scores, 1, NO_END, _NoSource())

    @pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
    @pytest.mark.parametrize("row", [0, 2])
    def test_nor_is_one_that_was_asked_for(self, value: float, row: int) -> None:
        scores = np.zeros((1 + self.n_references, N_TOKENS), dtype=np.float32)
        scores[row] = value
        for decoder in self.decoders():
            with pytest.raises(NotCertified):
                decoder.weights(Asked(scores))

    def test_scores_computed_where_asked_give_the_same_weights(self) -> None:
        for decoder in self.decoders():
            for scores in toy_scores(self.n_references):
                alone, asked = decoder.weights(scores), decoder.weights(Asked(scores))
                assert alone.weights == asked.weights
                np.testing.assert_array_equal(alone.tokens, asked.tokens)

    def test_what_is_asked_for_depends_on_the_public_row_only(self) -> None:
        for decoder in self.decoders():
            for scores in toy_scores(self.n_references):
                asked = [Asked(rows) for rows in (scores, *neighbours(scores))]
                for rows in asked:
                    decoder.weights(rows)
                assert all(rows.tokens == asked[0].tokens for rows in asked)

    @pytest.mark.parametrize("missing", [1, -1])
    def test_scores_of_another_number_of_references_are_refused(self, missing: int) -> None:
        scores = np.zeros((1 + self.n_references - missing, N_TOKENS), dtype=np.float32)
        for decoder in self.decoders():
            with pytest.raises(ValueError, match="scores"):
                decoder.weights(scores)
            with pytest.raises(ValueError, match="scores"):
                decoder.weights(Asked(scores))
            asked = Asked(scores)
            asked.n_rows = 1 + self.n_references  # as it claims
            with pytest.raises(ValueError, match="scores"):
                decoder.weights(asked)

    def test_draws_follow_the_weights(self) -> None:
        scores, n, source = next(iter(toy_scores(self.n_references))), 10_000, SeededSource(4)
        for decoder in self.decoders():
            found = decoder.weights(scores)
            counts = Counter(found.draw(source) for _ in range(n))
            expected = {
                t: n * w / sum(found.weights)
                for t, w in zip(found.tokens.tolist(), found.weights, strict=True)
            }
            assert set(counts) <= set(expected)
            chi_square = sum((counts[t] - e) ** 2 / e for t, e in expected.items())
            assert chi_square < 26  # five degrees of freedom at most: one seed in 10,000 gives more

    def test_equal_seeds_give_equal_texts(self) -> None:
        for decoder in self.decoders():
            first, second = (
                generate(decoder, ToyScores(self.n_references), 20, frozenset({3}), SeededSource(7))
                for _ in range(2)
            )
            assert first == second

    def test_the_order_of_references_does_not_matter(self) -> None:
        for decoder in self.decoders():
            for scores in toy_scores(self.n_references):
                found = {
                    decoder.weights(scores[[0, *order]]).weights
                    for order in permutations(range(1, len(scores)))
                }
                assert len(found) == 1

    def test_settings_tell_everything(self) -> None:
        for decoder in self.decoders():
            told = decoder.settings()
            assert told.pop("name") == decoder.name
            rebuilt: Any = type(decoder)
            assert rebuilt(**told) == decoder

    def test_settings_cannot_be_changed(self) -> None:
        for decoder in self.decoders():
            with pytest.raises(dataclasses.FrozenInstanceError):
                decoder.top_k = 1  # type: ignore[attr-defined]


class CertifiedContract(DecoderContract):
    """For decoders whose `reason` is None."""

    def test_says_so(self) -> None:
        assert all(decoder.reason is None for decoder in self.decoders())

    def test_no_reference_moves_the_weights_beyond_the_event(self) -> None:
        for decoder in self.decoders():
            for scores in toy_scores(self.n_references):
                for neighbour in neighbours(scores):
                    check_event(decoder, scores, neighbour)

    def test_nor_for_any_scores(self) -> None:
        @settings(max_examples=60, deadline=None)
        @given(st.sampled_from(self.decoders()), st.integers(1, 8), st.data())
        def holds(decoder: Decoder, n_tokens: int, data: st.DataObject) -> None:
            shape = (1 + self.n_references, n_tokens)
            scores = data.draw(arrays.arrays(np.float32, shape, elements=FLOATS))
            for neighbour in neighbours(scores):
                check_event(decoder, scores, neighbour)

        holds()

    @pytest.mark.parametrize("end", [NO_END, frozenset({2})])
    def test_the_accountant_bounds_whole_texts(self, end: frozenset[int]) -> None:
        length, scores = 3, ToyScores(self.n_references)
        for decoder in self.decoders():
            accountant = Accountant()
            accountant.compose(event_of(decoder), length)
            p = sequences(decoder, scores.at, length, end)
            assert sum(p.values()) == 1
            for reference in range(1, 1 + self.n_references):
                q = sequences(
                    decoder, ToyScores(self.n_references, removed=reference).at, length, end
                )
                for delta in (1e-6, 1e-3, 1e-2, 0.1):
                    epsilon = accountant.epsilon(delta)
                    assert max(
                        hockey_stick(p, q, epsilon), hockey_stick(q, p, epsilon)
                    ) <= Fraction(delta)


def check_event(decoder: Decoder, scores: Any, neighbour: Any) -> None:
    """One token's weights against what the event says, both ways round; exactly for a bounded
    range.
    """
    p, q, event = decoder.weights(scores), decoder.weights(neighbour), event_of(decoder)
    spread = loss_spread(p, q)
    if isinstance(event, BoundedRangeEvent):
        assert spread <= at_most_exp(event.range_)
    for order in ORDERS:
        bound = float(renyi_divergence(event, order)) * (1 + 1e-9)
        assert max(divergence(p, q, order), divergence(q, p, order)) <= bound


class _NoSource:
    """A source nothing may be drawn from."""

    def randbelow(self, n: int, /) -> int:
        raise AssertionError("something was drawn")


class SolvedContract:
    """For parameters that are solved for: inherit, and override the three."""

    least: float
    delta = 0.0

    @staticmethod
    def solved(epsilon: float, delta: float, n_tokens: int) -> float:
        """The largest parameter within a budget."""
        raise AssertionError("override me")

    @staticmethod
    def decoder(parameter: float) -> Any:
        """The decoder of a parameter."""
        raise AssertionError("override me")

    def test_it_spends_the_budget_and_no_more(self) -> None:
        for epsilon in (0.5, 1.0, 4.0, 10.0):
            found = self.decoder(self.solved(epsilon, 1e-6, 200))
            assert epsilon * (1 - 1e-6) <= cost(event_of(found), 200, 1e-6) <= epsilon

    def test_it_grows_with_the_budget_and_shrinks_with_the_length(self) -> None:
        by_epsilon = [self.solved(e, 1e-6, 100) for e in (0.5, 1, 2, 4, 8)]
        by_length = [self.solved(3.0, 1e-6, n) for n in (1, 10, 100, 1000)]
        by_delta = [self.solved(3.0, d, 100) for d in (1e-9, 1e-6, 1e-3)]
        for grows in (by_epsilon, by_length[::-1], by_delta):
            assert all(a < b for a, b in pairwise(grows))

    def test_a_budget_too_small_says_public_only(self) -> None:
        just = cost(event_of(self.decoder(self.least)), 100, 1e-6)
        assert self.solved(just * 1.001, 1e-6, 100) >= self.least
        assert self.solved(just * 0.999, 1e-6, 100) == 0.0
        assert self.decoder(0.0).public_only
        assert not self.decoder(self.least).public_only
        assert cost(event_of(self.decoder(0.0)), 1000, self.delta) < 1e-7

    def test_without_a_parameter_references_are_not_read(self) -> None:
        decoder = self.decoder(0.0)
        for scores in toy_scores(2):
            alone = np.tile(scores[0], (3, 1))
            assert decoder.weights(scores).weights == decoder.weights(alone).weights
