"""The suite every mechanism inherits: an exact check on a toy vocabulary, over all inputs and
outputs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from sanitizer.errors import NotCertified
from sanitizer.privacy.weights import LOW, MAX_EPSILON, Mechanism, Weights, high_level
from sanitizer.testing.models import TOY_VOCABULARY_SIZE, SeededSource

Distribution = dict[int, Fraction]


def toy_distances() -> NDArray[np.float32]:
    """float32 [n, n], symmetric, zero on the diagonal."""
    points = np.random.default_rng(5).normal(size=(TOY_VOCABULARY_SIZE, 3))
    d = np.linalg.norm(points[:, None] - points[None], axis=2)
    scaled: NDArray[np.float32] = (d / d.max()).astype(np.float32)
    return scaled


def toy_contexts() -> Iterator[NDArray[np.float32]]:
    """Scores of several contexts: random, constant, and steep."""
    rng = np.random.default_rng(6)
    n = TOY_VOCABULARY_SIZE
    yield from rng.normal(size=(4, n)).astype(np.float32)
    yield np.zeros(n, dtype=np.float32)
    yield np.linspace(-40, 40, n).astype(np.float32)


def distributions(mechanism: Mechanism, logits: NDArray[np.float32]) -> list[Distribution]:
    """Exact output distribution for every toy word, and for a word nothing is known of."""
    outputs = mechanism.outputs(logits)
    scores = ((logits[outputs] - logits.min()) / max(float(np.ptp(logits)), 1e-9)).astype(
        np.float32
    )
    nothing = np.empty(0, dtype=np.intp)

    def exact(weights: Weights) -> Distribution:
        return {int(y): weights.probability(i) for i, y in enumerate(outputs)}

    known = [
        exact(mechanism.weights(scores, row[outputs], np.flatnonzero(outputs == w)))
        for w, row in enumerate(toy_distances())
    ]
    broken = np.full(len(outputs), np.nan, dtype=np.float32)
    return [
        *known,
        exact(mechanism.weights(scores, None, nothing)),
        exact(mechanism.weights(scores, broken, nothing)),
    ]


class MechanismContract:
    """Inherit, and override `mechanism`."""

    epsilons: tuple[float, ...] = (1e-6, 0.1, 1.0, 5.0, 12.0, MAX_EPSILON)

    @staticmethod
    def mechanism(epsilon: float) -> Mechanism:
        """The mechanism under test."""
        raise AssertionError("override me")

    @pytest.mark.parametrize(
        "bad", [0, -1.0, float("nan"), float("inf"), MAX_EPSILON * 2, True, "5"]
    )
    def test_bad_epsilon_is_named(self, bad: float) -> None:
        with pytest.raises(ValueError, match="epsilon"):
            self.mechanism(bad)

    def test_probabilities_add_up_and_none_is_zero(self) -> None:
        for epsilon in self.epsilons:
            for logits in toy_contexts():
                for distribution in distributions(self.mechanism(epsilon), logits):
                    assert sum(distribution.values()) == 1
                    assert all(p > 0 for p in distribution.values())

    def test_weights_are_positive_python_integers(self) -> None:
        mechanism = self.mechanism(5.0)
        scores = np.linspace(0, 1, TOY_VOCABULARY_SIZE, dtype=np.float32)
        weights = mechanism.weights(scores, toy_distances()[0], np.array([0]))
        assert all(type(t) is int and t >= 1 for t in weights.totals)
        together = np.concatenate(weights.members)
        assert set(together) == set(range(TOY_VOCABULARY_SIZE))

    def test_the_sampler_draws_what_the_weights_say(self) -> None:
        mechanism, n = self.mechanism(2.0), 20_000
        scores = np.linspace(0, 1, TOY_VOCABULARY_SIZE, dtype=np.float32)
        weights = mechanism.weights(scores, toy_distances()[1], np.array([1]))
        source = SeededSource(8)
        counts = Counter(weights.draw(source) for _ in range(n))
        for output in range(TOY_VOCABULARY_SIZE):
            p = float(weights.probability(output))
            assert (
                abs(counts[output] - n * p) <= 5 * (n * p * (1 - p)) ** 0.5 + 5
            )  # five standard errors


class CertifiedContract(MechanismContract):
    """For mechanisms that claim certified=True."""

    def test_says_so(self) -> None:
        assert self.mechanism(5.0).certified

    def test_every_pair_of_inputs_meets_epsilon_exactly(self) -> None:
        for epsilon in self.epsilons:
            bound = Fraction(high_level(epsilon), LOW)  # at most e^epsilon, from integers
            for logits in toy_contexts():
                found = distributions(self.mechanism(epsilon), logits)
                assert len({frozenset(d) for d in found}) == 1, (
                    "the output set depends on the private word"
                )
                for y in found[0]:
                    values = [d[y] for d in found]
                    assert max(values) <= bound * min(values)

    @pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
    def test_scores_that_are_not_finite_raise_before_anything_is_drawn(self, value: float) -> None:
        logits = np.zeros(TOY_VOCABULARY_SIZE, dtype=np.float32)
        logits[3] = value
        with pytest.raises(NotCertified):
            self.mechanism(5.0).outputs(logits)
