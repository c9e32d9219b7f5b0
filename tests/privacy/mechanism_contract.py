"""The suite every mechanism inherits: an exact check on a toy vocabulary, over all inputs and
outputs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
import pytest
from numpy.typing import NDArray

from sanitizer.errors import NotCertified
from sanitizer.privacy.weights import LOW, MAX_EPSILON, Mechanism, Weights, high_level
from sanitizer.testing.models import SeededSource
from tests.privacy.toy_scores import TOY_VOCABULARY_SIZE

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


class Position(Protocol):
    """A mechanism in one context.

    Attributes:
        outputs: int [n], the output set.
    """

    outputs: NDArray[np.intp]

    def weights(self, word: int | None, distance: NDArray[np.float32] | None) -> Weights:
        """Weights of one private word.

        Args:
            word: number of the toy word; None for one that is not in the vocabulary.
            distance: float32 [n_vocabulary] to all outputs; None if nothing is known.
        """


class Ranked:
    """The position of a mechanism that ranks a shortlist by utility."""

    def __init__(self, mechanism: Mechanism, logits: NDArray[np.float32]) -> None:
        self._mechanism, self.outputs = mechanism, mechanism.outputs(logits)
        scores = (logits[self.outputs] - logits.min()) / max(float(np.ptp(logits)), 1e-9)
        self._scores = scores.astype(np.float32)

    def weights(self, word: int | None, distance: NDArray[np.float32] | None) -> Weights:
        """See `Position`."""
        near = None if distance is None else distance[self.outputs]
        return self._mechanism.weights(self._scores, near, np.flatnonzero(self.outputs == word))


def distributions(position: Position) -> list[Distribution]:
    """Exact output distribution for every toy word, and for a word nothing is known of."""

    def exact(weights: Weights) -> Distribution:
        return {int(y): weights.probability(i) for i, y in enumerate(position.outputs)}

    known = [exact(position.weights(w, row)) for w, row in enumerate(toy_distances())]
    broken = np.full(TOY_VOCABULARY_SIZE, np.nan, dtype=np.float32)
    return [*known, exact(position.weights(None, None)), exact(position.weights(None, broken))]


class MechanismContract:
    """Inherit, and set `form`; override `position` where outputs are not a shortlist."""

    form: Callable[[float], Any]
    epsilons: tuple[float, ...] = (1e-6, 0.1, 1.0, 5.0, 12.0, MAX_EPSILON)

    def position(self, epsilon: float, logits: NDArray[np.float32]) -> Position:
        """The mechanism in one context."""
        return Ranked(self.form(epsilon), logits)

    @pytest.mark.parametrize(
        "bad", [0, -1.0, float("nan"), float("inf"), MAX_EPSILON * 2, True, "5"]
    )
    def test_bad_epsilon_is_named(self, bad: float) -> None:
        with pytest.raises(ValueError, match="epsilon"):
            self.form(bad)

    def test_probabilities_add_up_and_none_is_zero(self) -> None:
        for epsilon in self.epsilons:
            for logits in toy_contexts():
                for distribution in distributions(self.position(epsilon, logits)):
                    assert sum(distribution.values()) == 1
                    assert all(p > 0 for p in distribution.values())

    def test_weights_are_positive_python_integers(self) -> None:
        for logits in toy_contexts():
            position = self.position(5.0, logits)
            weights = position.weights(0, toy_distances()[0])
            assert all(type(t) is int and t >= 1 for t in weights.totals)
            together = np.concatenate(weights.members)
            assert set(together) == set(range(len(position.outputs)))

    def test_the_sampler_draws_what_the_weights_say(self) -> None:
        logits, n = np.linspace(0, 1, TOY_VOCABULARY_SIZE, dtype=np.float32), 20_000
        position = self.position(2.0, logits)
        weights = position.weights(1, toy_distances()[1])
        source = SeededSource(8)
        counts = Counter(weights.draw(source) for _ in range(n))
        for output in range(len(position.outputs)):
            p = float(weights.probability(output))
            assert (
                abs(counts[output] - n * p) <= 5 * (n * p * (1 - p)) ** 0.5 + 5
            )  # five standard errors


class CertifiedContract(MechanismContract):
    """For mechanisms that claim certified=True."""

    def test_says_so(self) -> None:
        assert self.form(5.0).certified

    def test_every_pair_of_inputs_meets_epsilon_exactly(self) -> None:
        for epsilon in self.epsilons:
            bound = Fraction(high_level(epsilon), LOW)  # at most e^epsilon, from integers
            for logits in toy_contexts():
                found = distributions(self.position(epsilon, logits))
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
            self.position(5.0, logits)
