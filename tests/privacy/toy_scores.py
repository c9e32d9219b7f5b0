"""Toy scores, and exact statements about the weights a decoder gives them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from math import log

import numpy as np
from numpy.typing import NDArray

from sanitizer.privacy.next_token import Decoder, NextScores, TokenWeights, tokens
from sanitizer.privacy.weights import Logits
from sanitizer.randomness import Source

N_TOKENS = 6
TOY_VOCABULARY_SIZE = 12
LARGEST = float(np.finfo(np.float32).max)
Distribution = dict[tuple[int, ...], Fraction]

_FLOOR = Context(prec=60, rounding=ROUND_FLOOR)


def generate(
    decoder: Decoder, scores: NextScores, max_tokens: int, end: frozenset[int], source: Source
) -> tuple[int, ...]:
    """Draw a whole text."""
    return tuple(tokens(decoder, scores, max_tokens, end, source))


def toy_scores(n_references: int) -> Iterator[Logits]:
    """float32 [1 + n_references, N_TOKENS]: flat and steep, tied, extreme, and with references that
    agree.
    """
    rng, shape = np.random.default_rng(11), (1 + n_references, N_TOKENS)
    for scale in (0.1, 1.0, 10.0, 100.0):
        yield (scale * rng.normal(size=shape)).astype(np.float32)
    yield np.zeros(shape, dtype=np.float32)
    yield rng.integers(-2, 3, size=shape).astype(np.float32)
    yield rng.choice([-1e4, 1e4], size=shape).astype(np.float32)
    yield rng.choice([-LARGEST, 0.0, LARGEST], size=shape).astype(np.float32)
    agreeing = np.tile(rng.choice([-1e4, 1e4], size=N_TOKENS), (1 + n_references, 1))
    agreeing[0] = rng.normal(size=N_TOKENS)
    yield agreeing.astype(np.float32)
    shifted = np.zeros(shape)
    shifted[1] = 1e30  # the same distribution as row 0
    yield shifted.astype(np.float32)


def without(scores: Logits, reference: int) -> Logits:
    """The scores with one reference, counted from 1, replaced by null."""
    changed = scores.copy()
    changed[reference] = scores[0]
    return changed


def neighbours(scores: Logits) -> Iterator[Logits]:
    """All of them: each reference replaced by null."""
    for reference in range(1, len(scores)):
        yield without(scores, reference)


def loss_spread(p: TokenWeights, q: TokenWeights) -> Fraction:
    """e to the range of ln(P/Q) over all tokens, exactly."""
    assert np.array_equal(p.tokens, q.tokens), "the tokens that may come depend on a reference"
    ratios = [Fraction(a, b) for a, b in zip(p.weights, q.weights, strict=True)]
    return max(ratios) / min(ratios)


def at_most_exp(range_: float) -> Fraction:
    """e^range_, rounded down to 60 digits."""
    return Fraction(_FLOOR.next_minus(_FLOOR.exp(Decimal(range_))))


def divergence(p: TokenWeights, q: TokenWeights, order: int) -> float:
    """D_order(P || Q) in nats; the sum is exact, its logarithm a float."""
    total = Fraction(0)
    for a, b in zip(p.weights, q.weights, strict=True):
        total += Fraction(a, sum(p.weights)) ** order / Fraction(b, sum(q.weights)) ** (order - 1)
    return (log(total.numerator) - log(total.denominator)) / (order - 1)


class Asked:
    """The `Scores` of an array; notes which tokens are asked for."""

    def __init__(self, scores: Logits) -> None:
        self._scores, self.public, self.n_rows = scores, scores[0], len(scores)
        self.tokens: list[list[int]] = []

    def at(self, tokens: NDArray[np.int64]) -> Logits:
        self.tokens.append(tokens.tolist())
        return self._scores[:, tokens]


class ToyScores:
    """A NextScores of a small random model, in which what is read before matters.

    Args:
        n_references: rows after row 0. n_tokens: of the vocabulary. removed: a reference that is
            replaced by null.
    """

    def __init__(
        self, n_references: int, n_tokens: int = 4, removed: int | None = None, seed: int = 3
    ) -> None:
        self._shape, self._removed, self._seed = (1 + n_references, n_tokens), removed, seed
        self.calls: list[int | None] = []

    def __call__(self, token: int | None) -> Logits:
        self.calls.append(token)
        return self.at(tuple(t for t in self.calls if t is not None))

    def at(self, prefix: tuple[int, ...]) -> Logits:
        """The scores after a prefix."""
        rng = np.random.default_rng([self._seed, *prefix])
        scores = (2 * rng.normal(size=self._shape)).astype(np.float32)
        return scores if self._removed is None else without(scores, self._removed)


def sequences(
    decoder: Decoder, scores: Callable[[tuple[int, ...]], Logits], length: int, end: frozenset[int]
) -> Distribution:
    """Return the exact probability of every text of up to `length` tokens, ended or not."""
    found: Distribution = {}
    open_: Distribution = {(): Fraction(1)}
    for _ in range(length):
        longer: Distribution = {}
        for prefix, mass in open_.items():
            drawn = decoder.weights(scores(prefix))
            total = sum(drawn.weights)
            for token, weight in zip(drawn.tokens.tolist(), drawn.weights, strict=True):
                (found if token in end else longer)[*prefix, token] = mass * Fraction(weight, total)
        open_ = longer
    return found | open_


def hockey_stick(p: Distribution, q: Distribution, epsilon: float) -> Fraction:
    """The smallest delta for which P(S) <= e^epsilon Q(S) + delta, for every set S; not below the
    true value.
    """
    growth = at_most_exp(epsilon)
    return sum((max(p[text] - growth * q[text], Fraction(0)) for text in p), Fraction(0))
