"""InvisibleInk: what private references add to a public model's scores, clipped and averaged.

Source: InvisibleInk (2025), equations 3 and 4, algorithm 1, theorem 2. Theorem 2 holds;
`variant="certified"` accounts for the same weights by their bounded range, which costs less
(docs/guarantees.md).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sanitizer.privacy.accounting import BoundedRangeEvent, Event, ZCDPEvent
from sanitizer.privacy.next_token import (
    GRID,
    MAX_LOGIT,
    MAX_RANGE,
    MAX_ROWS,
    RANGE_SLACK,
    USEFUL,
    Checked,
    Scores,
    TokenWeights,
    exact_weights,
    largest,
    on_grid,
    public_gaps,
)
from sanitizer.privacy.weights import (
    VARIANTS,
    Floats,
    Logits,
    check_count,
    check_number,
    check_one_of,
)

MAX_TEMPERATURE = 100.0


@dataclass(frozen=True)
class InvisibleInk:
    """Sample the next token from public scores plus the average of clipped differences.

    Guarantee: one reference replaced by null (its scores are then row 0) moves the logarithms of
    all weights within an interval of length 2 * clip_norm / (n_references * temperature) + 2**-36,
    and leaves the set of tokens as it is. Its difference, clipped to clip_norm either way, leaves a
    sum that is divided by n_references * temperature. One reference replaced by another moves them
    twice as far.
    Public: row 0, the settings, and the number of references. Not protected: what several
    references say together, the query, and that a score is not finite (an error says so).

    Args:
        clip_norm: C, the largest change of a logit that one reference can ask for; in [0, 65536]. 0
            reads no reference.
        n_references: B, how many rows follow row 0; up to 4096.
        temperature: tau, in (0, 100].
        top_k: draw among the k likeliest public tokens and those within 2C/B of the k-th; None: the
            whole vocabulary.
        variant: "certified" (bounded range) or "published" (theorem 2's zCDP); the weights are the
            same.

    Raises:
        ValueError: naming argument and value.

    >>> decoder = InvisibleInk(clip_norm=1.0, n_references=2, temperature=1.0)
    >>> scores = np.array([[0, 1, 2], [0, 2, 2], [9, 1, 2]], dtype=np.float32)
    >>> weights = decoder.weights(scores).weights  # of logits 0.5, 1.5 and 2
    >>> [round(weight / weights[0], 3) for weight in weights]
    [1.0, 2.718, 4.482]
    """

    clip_norm: float
    n_references: int
    temperature: float = 1.1
    top_k: int | None = 100
    variant: str = "certified"
    name: ClassVar[str] = "invisibleink"
    reason: ClassVar[None] = None
    """The events of both variants are theorems."""

    def __post_init__(self) -> None:
        if self.clip_norm != 0 or isinstance(self.clip_norm, bool):
            check_number("clip_norm", self.clip_norm, 0.0, MAX_LOGIT)
        _check(self.n_references, self.temperature, self.variant)
        if self.top_k is not None:
            check_count("top_k", self.top_k)

    @property
    def public_only(self) -> bool:
        """True if the weights depend on row 0 alone; nothing need be charged then."""
        return self.clip_norm == 0

    def weights(self, scores: Logits | Scores) -> TokenWeights:
        """Return the distribution of the next token; raise ValueError for another n_references."""
        rows = Checked(scores, self.n_references)
        allowed = self._allowed(rows.public)
        added = np.clip(rows.gained(allowed), -self.clip_norm, self.clip_norm)
        # Rounded down, so that on the grid, too, no reference adds more than clip_norm.
        limit = int(self.clip_norm * GRID)
        total = np.clip(on_grid(added), -limit, limit).sum(axis=0)
        total += on_grid(self.n_references * public_gaps(rows.public)[allowed])
        return TokenWeights(allowed, exact_weights((total - total.max()) / self._divisor))

    @property
    def _divisor(self) -> float:
        return GRID * self.n_references * self.temperature

    def _allowed(self, public: Floats) -> NDArray[np.int64]:
        """Return the expanded top-k set, from the public row only; int64 [n], ascending."""
        if self.top_k is None or self.top_k >= len(public):
            return np.arange(len(public))
        least = np.partition(public, -self.top_k)[-self.top_k]
        return np.flatnonzero(public >= least - 2 * self.clip_norm / self.n_references)

    def event(self, unit: str, relation: str) -> Event:
        """Return what one token costs, for the accountant.

        For `public_only` it is an upper bound of the 0 that it costs.
        """
        range_ = 2 * self.clip_norm / (self.n_references * self.temperature) + RANGE_SLACK
        if self.variant == "certified":
            return BoundedRangeEvent(range_=range_, unit=unit, relation=relation)
        rho = range_**2 / 8  # theorem 2's C^2 / (2 B^2 tau^2), slack apart
        return ZCDPEvent(rho=rho, unit=unit, relation=relation)

    def settings(self) -> dict[str, Any]:
        return {"name": self.name, **asdict(self)}


def solve_clip_norm(
    epsilon: float,
    delta: float,
    max_tokens: int,
    n_references: int,
    temperature: float = 1.1,
    variant: str = "certified",
) -> float:
    """Return the largest clip norm with which `max_tokens` tokens cost at most epsilon at delta.

    0.0 means "public only": the largest one is below 0.001 * temperature. References that all agree
    would then move no token's log-weight by more than 0.001, so 1,000 tokens differ from the public
    model's by half a token at most, on average (total variation); better to read no reference, and
    to spend nothing.

    Args:
        epsilon: in nats, positive.
        delta: in [0, 1); 0 gives 0.0 for the published variant.
        max_tokens: of the whole release, at least 1; public.
        n_references: how many rows follow row 0; up to 4096.
        temperature: in (0, 100].
        variant: "certified" or "published".

    Raises:
        ValueError: naming argument and value.

    >>> round(solve_clip_norm(epsilon=8.0, delta=1e-6, max_tokens=200, n_references=16), 2)
    1.81
    """
    check_count("max_tokens", max_tokens)
    _check(n_references, temperature, variant)

    def event(clip_norm: float) -> Event:
        decoder = InvisibleInk(clip_norm, n_references, temperature, variant=variant)
        return decoder.event("reference", "replace-by-null")

    high = min(MAX_RANGE * n_references * temperature / 2, MAX_LOGIT)
    found = largest(event, epsilon, delta, max_tokens, high)
    return found if found >= USEFUL * temperature else 0.0


def _check(n_references: int, temperature: float, variant: str) -> None:
    check_count("n_references", n_references, MAX_ROWS)
    check_number("temperature", temperature, 0.0, MAX_TEMPERATURE)
    check_one_of("variant", variant, VARIANTS)
