"""What attacks on a setting found, as frozen values; and what the papers print for theirs."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import sqrt
from typing import Any

Z_95 = 1.959963984540054


@dataclass(frozen=True)
class Rate:
    """A share of n trials, with its 95 % Wilson interval over the draws (not over the choice of
    texts).
    """

    share: float
    low: float
    high: float
    n: int

    @classmethod
    def of(cls, n_hits: int, n: int) -> Rate:
        """Raises ValueError unless 0 <= n_hits <= n and n >= 1."""
        if n < 1 or not 0 <= n_hits <= n:
            raise ValueError(
                f"n_hits must be from 0 to n and n at least 1, got {n_hits!r} of {n!r}"
            )
        share, z2 = n_hits / n, Z_95**2
        centre = (share + z2 / (2 * n)) / (1 + z2 / n)
        half = Z_95 * sqrt(share * (1 - share) / n + z2 / (4 * n * n)) / (1 + z2 / n)
        low = 0.0 if n_hits == 0 else max(0.0, centre - half)
        return cls(share, low, 1.0 if n_hits == n else min(1.0, centre + half), n)


@dataclass(frozen=True)
class TopRates:
    """How often the original is the first, or among the first ten."""

    top_1: Rate
    top_10: Rate


@dataclass(frozen=True)
class PosteriorAttack:
    """The best guess from one output, by Bayes' rule.

    Attributes:
        success: the most probable candidate is the original.
        context_alone: share of positions that the prior alone gets right, no output seen.
        prior, belief: mean probability of the original, before and after the output.
        belief_ceiling: mean over positions of what epsilon allows `belief` to be; None if not
            certified.
        success_ceiling: mean over positions of what epsilon allows `success` to be where the
            private words are drawn from the prior; None if not certified. Where the texts' words
            are likelier than the model thinks, `success` may lie above it, as `context_alone` then
            does.
        n_candidates: mean number of words the attacker weighs at a position: the likeliest there,
            those nearest to the original, and the original, so an attacker who must weigh all words
            does no better.
    """

    success: Rate
    context_alone: float
    prior: float
    belief: float
    belief_ceiling: float | None
    success_ceiling: float | None
    n_candidates: float


@dataclass(frozen=True)
class RepeatedSends:
    """The best guess from `sends` sends of one text: drawn anew each time, or repeated from the
    memory.

    Attributes:
        success_ceiling: for fresh draws, at sends * epsilon; None if not certified.
    """

    sends: int
    fresh: Rate
    remembered: Rate
    success_ceiling: float | None


@dataclass(frozen=True)
class AttackReport:
    """What the attacks found; holds no text.

    Attributes:
        n_words: private words attacked (with `consistent`, distinct ones). n_trials: draws of each
            text.
        n_outside: private words outside Y: inference never names them, the posterior still weighs
            them.
        n_unmeasured: private words without a vector: found by `nearest` only where released as they
            are.
        mapping_size: S_t, mean number of distinct outputs of a word over the trials.
        retention: N_t, the word itself is released. Compared without case, like every hit.
        rouge_l: mean Rouge-L F1 of text and output, over the trials that were inferred.
        remembered_outputs: most distinct outputs of one text in one conversation, over as many
            sends as attacked.
    """

    mechanism: str
    variant: str
    epsilon: float
    certified: bool
    policy: str
    n_texts: int
    n_words: int
    n_trials: int
    n_outside: int
    n_unmeasured: int
    nearest: TopRates
    inference: TopRates
    posterior: PosteriorAttack
    repeated: tuple[RepeatedSends, ...]
    remembered_outputs: int
    rouge_l: float
    mapping_size: float
    retention: Rate

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)


@dataclass(frozen=True)
class Published:
    """One figure as its paper prints it, measured on other data with other models.

    Attributes:
        epsilon: nominal, as printed; not the epsilon of the code (docs/guarantees.md).
        value: of `measure`; percent or a share, as the measure says.
    """

    mechanism: str
    data: str
    measure: str
    epsilon: float
    value: float
    status: str = "published, other data"


def _published(
    mechanism: str, data: str, measure: str, figures: dict[float, float]
) -> tuple[Published, ...]:
    return tuple(
        Published(mechanism, data, measure, epsilon, value) for epsilon, value in figures.items()
    )


PUBLISHED: tuple[Published, ...] = (
    *_published(
        "Cape (BERT)",
        "SST-2",
        "top-10 nearest attack, % not found",
        {1: 94.40, 2: 92.56, 3: 90.34, 6: 80.54, 10: 67.74, 14: 40.80, 20: 9.07},
    ),
    *_published(
        "Cape (BERT)",
        "SST-2",
        "Rouge-L F1, %",
        {1: 38.38, 2: 39.20, 3: 40.86, 6: 46.85, 10: 60.22, 14: 76.49, 20: 92.03},
    ),
    *_published("DynText", "IMDb", "attack success, share", {1: 0.00008, 2: 0.00008, 3: 0.00007}),
)
