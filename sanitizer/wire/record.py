"""What one request released: it travels with the answer and holds no text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from math import isfinite
from typing import Any

from sanitizer.results import Record


@dataclass(frozen=True, slots=True)
class WireRecord:
    """The records of a request's texts, put together. Epsilons are in nats.

    Where only identifiers are replaced (descriptions of tools, keys of objects), no epsilon is
    counted: their words are outside the guarantee, like public words.

    Attributes:
        epsilon_total: sum over the texts, repeated ones too; 0 if nothing was released, infinite
            without a guarantee.
        epsilon_per_unit: the largest of the texts'.
        charged: what this request cost the budget.
        delta: sum over the texts.
        unit: what one unit is, in words. certified: whether every text's bound is a theorem.
        mechanism, policy: their names.
        n_texts: strings that were looked at. n_units: words perturbed. n_numbers: numbers made
            random.
        n_identifiers: identifiers replaced.
    """

    epsilon_total: float
    epsilon_per_unit: float
    charged: float
    delta: float
    unit: str
    certified: bool
    mechanism: str
    policy: str
    n_texts: int
    n_units: int
    n_numbers: int
    n_identifiers: int

    @classmethod
    def of(cls, policy: str, full: Sequence[Record], light: Sequence[Record] = ()) -> WireRecord:
        """Of the texts as the policy has them (`full`), and of those where only identifiers were
        replaced.
        """
        return (
            _of_one(policy, full[0])
            if len(full) == 1 and not light
            else cls._sum(policy, full, light)
        )

    @classmethod
    def _sum(cls, policy: str, full: Sequence[Record], light: Sequence[Record] = ()) -> WireRecord:
        main = max(full, key=lambda r: (r.mechanism != "none", r.epsilon_per_unit), default=None)
        both = [*full, *light]
        return cls(
            epsilon_total=sum([r.epsilon_total for r in full], 0.0),
            epsilon_per_unit=max([r.epsilon_per_unit for r in full], default=0.0),
            charged=sum([r.charged for r in full], 0.0),
            delta=sum([r.delta for r in full], 0.0),
            unit=main.unit if main else "",
            certified=all(r.certified for r in full),
            mechanism=main.mechanism if main else "none",
            policy=policy,
            n_texts=len(both),
            n_units=sum([r.n_units for r in both]),
            n_numbers=sum([r.n_numbers for r in both]),
            n_identifiers=sum([r.n_identifiers for r in both]),
        )

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON, which knows no infinity: a bound that is not finite becomes None."""
        values = {name: getattr(self, name) for name in _HEADERS}
        return {
            k: None if isinstance(v, float) and not isfinite(v) else v for k, v in values.items()
        }

    def headers(self) -> dict[str, str]:
        """The same as response headers, "sanitizer-epsilon-total: 12.0" and so on; ASCII only."""
        return {header: _header(getattr(self, name)) for name, header in _HEADERS.items()}


@lru_cache(maxsize=1024)
def _of_one(policy: str, record: Record) -> WireRecord:
    """Kept: where nothing is perturbed, many requests release as much as another."""
    return WireRecord._sum(policy, (record,))


_HEADERS = {each.name: "sanitizer-" + each.name.replace("_", "-") for each in fields(WireRecord)}
_UNFIT = re.compile(r"[^ -~]")


def _header(value: float | str) -> str:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return text if text.isascii() and text.isprintable() else _UNFIT.sub("?", text)
