"""What every decoder shares: scores of next tokens, exact weights, and the loop that draws.

A decoder never sees a model or a text. It is given a callable and says, from scores alone, how
likely each token is.

Exactness. What private rows add is rounded to a grid of 2**-32, clipped and summed as integers: no
rounding can make two neighbours differ by more than the clip. Exponentials are floats.
`exact_weights` turns them into integers whose logarithms are off by less than 2**-39. A range
compares four of them, 2**-37 at most; RANGE_SLACK, added to every certified range, is twice that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sanitizer.errors import NotCertified
from sanitizer.privacy.accounting import Accountant, Event
from sanitizer.privacy.weights import Floats, Logits, check_count, check_number
from sanitizer.randomness import Source, draw

RANGE_SLACK = 2.0**-36
"""Nats added to every certified range, for rounding: see above."""
DEPTH = 64.0
"""Nats below the likeliest token at which weights stop falling."""
LOW_BITS = 40
"""Bits of the smallest weight."""
GRID = 2.0**32
"""Steps of one nat to which private rows are rounded."""
MAX_ROWS = 1 << 12
"""Most references. With GRID and MAX_LOGIT, sums stay below 2**63."""
MAX_LOGIT = 2.0**16
"""Largest size of a logit on the grid."""
MAX_RANGE = 64.0
"""Largest range of one draw, in nats."""
USEFUL = 1e-3
"""Nats; a parameter that moves weights by less is not worth charging for."""


class Scores(Protocol):
    """Scores of the next token, computed where a decoder asks for them.

    Row 0 reads no reference; row i reads the i-th alone. A reference replaced by null has the
    scores of row 0 in `at`, which may be off from `public` by rounding: what a reference adds is a
    difference within `at`.
    """

    n_rows: int
    """Number of rows, 1 + n_references."""
    public: Logits
    """Row 0, float32 [n_vocabulary]."""

    def at(self, tokens: NDArray[np.int64]) -> Logits:
        """Return all rows' scores of some tokens, float32 [n_rows, n]."""


NextScores = Callable[[int | None], Logits | Scores]
"""Function that scores the next token: called with None, then with each token chosen.

An array, float32 [1 + n_references, n_vocabulary], holds all scores.
"""


@dataclass(frozen=True)
class TokenWeights:
    """Distribution over the next token: tokens int64 [n], and one Python int >= 1 for each."""

    tokens: NDArray[np.int64] = field(repr=False)
    weights: tuple[int, ...] = field(repr=False)

    def draw(self, source: Source) -> int:
        """Draw one token."""
        return int(self.tokens[draw(self.weights, source)])


class Decoder(Protocol):
    """Rule for the next token: frozen settings, no state."""

    @property
    def name(self) -> str:
        """Short name, for the record."""

    @property
    def reason(self) -> str | None:
        """Reason why the event is not a theorem about the code that runs; None if it is."""

    def weights(self, scores: Logits | Scores) -> TokenWeights:
        """Return the distribution of the next token.

        Args:
            scores: see `NextScores`. Which tokens are asked for depends on row 0 and the settings
                only.

        Raises:
            NotCertified: a score is not finite.
        """

    def event(self, unit: str, relation: str) -> Event:
        """Return what one token costs, for the accountant: one reference is replaced by null."""

    def settings(self) -> dict[str, Any]:
        """Return the resolved parameters, for the record."""


def tokens(
    decoder: Decoder, scores: NextScores, max_tokens: int, end: frozenset[int], source: Source
) -> Iterator[int]:
    """Draw one token after another, an end token last; `scores` is called once for each.

    Guarantee: at most `max_tokens` draws. Charge that many, drawn or not: where a text ends depends
    on the references. An error midway keeps the charge too, and itself tells that a score was not
    finite.

    Args:
        scores: see `NextScores`; a fresh one for each text.
        max_tokens: at least 1; public, never computed from the references.
        end: tokens that end the text; they count as drawn.

    Raises:
        ValueError: max_tokens below 1, before anything is scored. NotCertified: see
            `Decoder.weights`.

    >>> from sanitizer.privacy.invisibleink import InvisibleInk
    >>> from sanitizer.testing import SeededSource
    >>> def scores(last: int | None) -> Logits:  # row 0, and a row for each of two references
    ...     return np.array([[0, 1, 2], [0, 2, 2], [1, 1, 2]], dtype=np.float32)
    >>> decoder = InvisibleInk(clip_norm=0.5, n_references=2)
    >>> tuple(tokens(decoder, scores, 5, frozenset({0}), SeededSource(3)))
    (2, 1, 0)
    """
    check_count("max_tokens", max_tokens)
    return _tokens(decoder, scores, max_tokens, end, source)


def _tokens(
    decoder: Decoder, scores: NextScores, max_tokens: int, end: frozenset[int], source: Source
) -> Iterator[int]:
    last: int | None = None
    for _ in range(max_tokens):
        last = decoder.weights(scores(last)).draw(source)
        yield last
        if last in end:
            return


def exact_weights(logs: Floats) -> tuple[int, ...]:
    """Return integers of at least 2**40, proportional to max(e^log, e^(largest - DEPTH)).

    Their logarithms are off by less than 2**-39: 2**-45 for the float argument (quotients of
    integers, as certified decoders give), 2**-50 for exp, and 2**-40 for the integer. The floor
    keeps any bounded range: if logs move by between m and m + r, then so do their largest, the
    floor under it, and the larger of log and floor.

    Args:
        logs: float64 [n], n >= 1.

    Raises:
        NotCertified: a value is not finite.

    >>> weights = exact_weights(np.log([1.0, 2.0]))
    >>> round(weights[1] / weights[0], 9)
    2.0
    """
    check_finite(logs)
    above = np.maximum(logs - logs.max() + DEPTH, 0.0)
    return tuple(map(int, np.ldexp(np.exp(above), LOW_BITS).tolist()))


def on_grid(values: Floats) -> NDArray[np.int64]:
    """Return the nearest whole multiples of 1 / GRID, int64 of the same shape.

    Values must be within MAX_ROWS * MAX_LOGIT.
    """
    return np.rint(values * GRID).astype(np.int64)


def public_gaps(public: Floats) -> Floats:
    """Return public logits less their largest, floored at -MAX_LOGIT; float64 of the same shape."""
    # Public values may be changed in any way: neighbouring inputs agree in them.
    return np.asarray(np.maximum(public - public.max(), -MAX_LOGIT))


class Checked:
    """Scores as float64, checked; those of an array all at once.

    Attributes:
        public: float64 [n_vocabulary], row 0.

    Raises:
        ValueError: another number of rows, or no token.
        NotCertified: a score is not finite.
    """

    def __init__(self, scores: Logits | Scores, n_references: int) -> None:
        shape = (
            scores.shape
            if isinstance(scores, np.ndarray)
            else (scores.n_rows, *scores.public.shape)
        )
        if len(shape) != 2 or shape[0] != 1 + n_references or not shape[1]:
            raise ValueError(
                f"scores must have {1 + n_references} rows of at least one token, got shape {shape}"
            )
        self._scores = scores
        self._n_rows = shape[0]
        public = scores[0] if isinstance(scores, np.ndarray) else scores.public
        check_finite(scores if isinstance(scores, np.ndarray) else public)
        self.public: Floats = public.astype(np.float64)

    def gained(self, tokens: NDArray[np.int64]) -> Floats:
        """Return what each reference adds to row 0's scores, float64 [n_references, n].

        Args:
            tokens: int64 [n], whose scores are compared.

        Raises:
            ValueError: the scores have another shape.
            NotCertified: a score is not finite.
        """
        rows = (
            self._scores[:, tokens]
            if isinstance(self._scores, np.ndarray)
            else self._scores.at(tokens)
        )
        if rows.shape != (self._n_rows, len(tokens)):
            raise ValueError(
                f"scores must be of {self._n_rows} rows and {len(tokens)} tokens, "
                f"got shape {rows.shape}"
            )
        check_finite(rows)
        return np.asarray(rows[1:].astype(np.float64) - rows[0])


def top_tokens(public: Floats, k: int) -> NDArray[np.int64]:
    """Return the k tokens with the largest scores, ascending; int64 [min(k, n_vocabulary)].

    Of tokens with equal scores the lower ones come first.

    >>> top_tokens(np.array([0.5, 2.0, 1.0, 2.0]), 2).tolist()
    [1, 3]
    """
    if k >= len(public):
        return np.arange(len(public))
    least = np.partition(public, -k)[-k]
    above = np.flatnonzero(public > least)
    return np.sort(np.concatenate([above, np.flatnonzero(public == least)[: k - len(above)]]))


def largest(
    event: Callable[[float], Event], epsilon: float, delta: float, count: int, high: float
) -> float:
    """Return the largest parameter with which `count` events cost at most epsilon at delta.

    Args:
        event: makes the event of a positive parameter; a larger one costs more.

    Returns:
        A parameter up to `high`; 0.0 if none is small enough.

    Raises:
        ValueError: naming argument and value.
    """
    check_number("epsilon", epsilon, 0.0)
    check_count("count", count)
    if cost(event(high), count, delta) <= epsilon:
        return high
    return last_holding(lambda middle: cost(event(middle), count, delta) <= epsilon, high)


def last_holding(holds: Callable[[float], bool], high: float) -> float:
    """Return the largest number up to `high` for which a condition holds that ends to hold once.

    Not above it, by bisection to the precision of a float; 0.0 if it holds nowhere.
    """
    low = 0.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def cost(event: Event, count: int, delta: float) -> float:
    """Return the epsilon of `count` equal events at delta; inf if none is finite.

    >>> from sanitizer.privacy.accounting import PureEvent
    >>> event = PureEvent(0.1, unit="word", relation="replace-one")
    >>> cost(event, 100, 0.0), round(cost(event, 100, 1e-5), 2)
    (10.0, 4.31)
    """
    accountant = Accountant()
    accountant.compose(event, count)
    return accountant.epsilon(delta)


def check_finite(values: NDArray[Any]) -> None:
    """Raise NotCertified unless all values are finite."""
    if not np.isfinite(values).all():
        raise NotCertified("the model's scores are not finite")
