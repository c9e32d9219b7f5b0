"""What a synthesis spends: the decoder that a budget allows, and what its tokens cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

from sanitizer.decoding.base import check_count, check_number, cost
from sanitizer.decoding.dps_mozo import DPSMOZO, claimed_epsilon, solve_beta, solve_range
from sanitizer.decoding.invisibleink import InvisibleInk, solve_clip_norm
from sanitizer.synthesis_types import FELL_BACK, NEIGHBOURS, NOT_PROTECTED, PUBLIC, RELATION, UNIT, SynthesisRecord

METHODS = ("invisibleink", "dps-mozo")
VARIANTS = ("certified", "published")
TEMPERATURE, TOP_K = 0.8, 50
"""Of invisibleink. The papers' 1.0 to 1.2 are for large models: from the packaged one they draw too much nonsense."""


@dataclass(frozen=True)
class Setting:
    """What a caller asks for; see `sanitizer.synthesis.synthesize`.

    Attributes:
        n_rows: references read at each token. n_pool: references from which they come. n_charged: tokens, of all texts,
            that one reference pays for.
    """

    method: str
    variant: str
    epsilon: float
    delta: float
    temperature: float | None
    top_k: int | None
    n_rows: int
    n_pool: int
    n_charged: int

    def __post_init__(self) -> None:
        check_number("epsilon", self.epsilon, 0.0)
        check_number("delta", self.delta, 0.0, 1.0 - 1e-12)
        for name, value, known in (("method", self.method, METHODS), ("variant", self.variant, VARIANTS)):
            if value not in known:
                raise ValueError(f"{name} must be one of {', '.join(known)}, got {value!r}")
        if self.method == "dps-mozo" and self.temperature is not None:
            raise ValueError(f"temperature belongs to invisibleink, not to dps-mozo, got {self.temperature!r}")

    @property
    def redraws(self) -> bool:
        """Whether the references read are drawn anew for each token."""
        return (self.method, self.variant) == ("dps-mozo", "published")


@dataclass(frozen=True)
class Plan:
    """A decoder and its price.

    Attributes:
        epsilon: of one unit; inf if no bound is known. claimed: as the paper counts. public_only: reads no reference.
    """

    setting: Setting
    decoder: InvisibleInk | DPSMOZO
    epsilon: float
    claimed: float | None
    public_only: bool

    @property
    def charged(self) -> float:
        """What a budget pays."""
        return self.epsilon if self.epsilon < inf else self.claimed or 0.0

    def record(
        self, rule: str, extra: dict[str, Any], max_tokens: int, n_tokens: int, model_sha256: str
    ) -> SynthesisRecord:
        """The record; `rule`: which text reads which references. `extra`: settings besides the decoder's."""
        setting = self.setting
        return SynthesisRecord(
            method=setting.method,
            variant=setting.variant,
            settings=self.decoder.settings() | extra,
            unit=UNIT,
            relation=NEIGHBOURS,
            public=PUBLIC.format(rule=rule),
            not_protected=NOT_PROTECTED,
            epsilon=self.epsilon,
            delta=setting.delta,
            claimed_epsilon=self.claimed,
            certified=self.decoder.reason is None,
            reason=self.decoder.reason,
            charged=self.charged,
            n_references=0 if self.public_only else setting.n_pool,
            max_tokens=max_tokens,
            n_charged=0 if self.public_only else setting.n_charged,
            n_tokens=n_tokens,
            fell_back=self.public_only,
            note=FELL_BACK if self.public_only else None,
            model_sha256=model_sha256,
        )


def plan(setting: Setting) -> Plan:
    """The decoder with the largest signal that the budget allows. Raises ValueError naming argument and value."""
    return _ink(setting) if setting.method == "invisibleink" else _mozo(setting)


def _ink(setting: Setting) -> Plan:
    temperature = TEMPERATURE if setting.temperature is None else setting.temperature
    top_k = TOP_K if setting.top_k is None else setting.top_k
    shape: tuple[int, float] = setting.n_rows, temperature
    found = solve_clip_norm(setting.epsilon, setting.delta, setting.n_charged, *shape, setting.variant)
    decoder = InvisibleInk(found, *shape, top_k, setting.variant)
    if decoder.public_only:
        return Plan(setting, decoder, 0.0, 0.0, True)
    published = InvisibleInk(found, *shape, top_k, "published")
    return Plan(setting, decoder, _cost(decoder, setting), _cost(published, setting), False)


def _mozo(setting: Setting) -> Plan:
    top_k = DPSMOZO.top_k if setting.top_k is None else setting.top_k
    public = DPSMOZO(setting.n_rows, 0.0, top_k=top_k)
    if setting.redraws:
        shape = setting.n_charged, setting.n_rows, setting.n_pool
        beta, order = solve_beta(setting.epsilon, setting.delta, *shape)
        if not beta:
            return Plan(setting, public, 0.0, 0.0, True)
        decoder = DPSMOZO(setting.n_rows, beta=beta, order=order, top_k=top_k, variant="published")
        claim = claimed_epsilon(beta, setting.n_rows, setting.n_pool, setting.n_charged, setting.delta, order)
        return Plan(setting, decoder, inf, claim, False)
    found = solve_range(setting.epsilon, setting.delta, setting.n_charged)
    decoder = DPSMOZO(setting.n_rows, found, top_k=top_k)
    return Plan(setting, decoder, _cost(decoder, setting) if found else 0.0, None if found else 0.0, not found)


def _cost(decoder: InvisibleInk | DPSMOZO, setting: Setting) -> float:
    return cost(decoder.event(UNIT, RELATION), setting.n_charged, setting.delta)


def batches(n_references: int, n_batches: int, size: int | None, default: int | None) -> Sequence[range]:
    """Disjoint runs of positions, by number only: the first `size` references, the next, and so on.

    Args:
        size: of a run. default: the largest size if there is none; None: no limit.

    Raises:
        ValueError: too few references, or a size below 1.
    """
    check_count("batches", n_batches)
    if not n_references:
        raise ValueError("references must not be empty")
    if n_batches > n_references:
        raise ValueError(f"references must be at least one for each of {n_batches} texts, got {n_references}")
    if size is None:
        size = min(default or n_references, n_references // n_batches)
    check_count("batch_size", size)
    if size * n_batches > n_references:
        raise ValueError(f"references must be at least {n_batches} batches of {size}, got {n_references}")
    return [range(i * size, (i + 1) * size) for i in range(n_batches)]
