"""Synthetic texts with their records, and the terms of the guarantee in words."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import isfinite
from typing import Any

UNIT = "one reference document"
RELATION = "replace-by-null"
NEIGHBOURS = (
    "replace-by-null: lists of references that differ in one, which stands in its place in one list and counts as "
    "missing in the other; exchanging it for another document takes two such steps"
)
PUBLIC = (
    "the query and the template, the settings, how many references there are and their order, and which text reads "
    "which: {rule}"
)
NOT_PROTECTED = (
    "what several references say together (a person with n of them has n times less protection, or worse), how long "
    "the computation takes, and that the model failed on a reference, which an error tells"
)
FELL_BACK = "epsilon is too small for these settings: no reference was read, and nothing is charged"


@dataclass(frozen=True, slots=True)
class SynthesisRecord:
    """What was released, and what that costs. Holds no text. Epsilons are in nats.

    Attributes:
        method, variant, settings: what ran; `settings` holds the resolved parameters, all public.
        unit, relation, public, not_protected: the terms of the guarantee, in words.
        epsilon: the bound for one unit, over everything this record is of; infinite if there is none.
        delta: of all epsilons here.
        claimed_epsilon: by the accounting of the paper, for the same settings; None if it says nothing.
        certified: whether `epsilon` is a theorem about the code that ran; `reason` if not.
        charged: what a budget pays for everything this record is of: `epsilon`, or if that is infinite the claim.
        n_references: how many were read for this text, or set of answers.
        max_tokens: of one text, paid for in full. n_charged: tokens paid for one unit, of all texts that read it.
        n_tokens: how many were drawn.
        fell_back: whether the references were not read at all, since epsilon was too small; `note` says so.
        model_sha256: hash of the model's manifest.
    """

    method: str
    variant: str
    settings: dict[str, Any]
    unit: str
    relation: str
    public: str
    not_protected: str
    epsilon: float
    delta: float
    claimed_epsilon: float | None
    certified: bool
    reason: str | None
    charged: float
    n_references: int
    max_tokens: int
    n_charged: int
    n_tokens: int
    fell_back: bool
    note: str | None
    model_sha256: str

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON, which knows no infinity: a bound that is not finite becomes None."""
        return {k: None if isinstance(v, float) and not isfinite(v) else v for k, v in asdict(self).items()}


class SynthesizedText(str):
    """A synthetic text, which may leave the machine: a `str` with a record.

    Attributes:
        record: what it costs. Strings made from this one have none.
    """

    __slots__ = ("record",)
    record: SynthesisRecord

    def __new__(cls, text: str, record: SynthesisRecord) -> SynthesizedText:
        made = super().__new__(cls, text)
        made.record = record
        return made

    def __getnewargs__(self) -> tuple[str, SynthesisRecord]:  # type: ignore[override]
        return str(self), self.record

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"text": str(self), "record": self.record.as_dict()}
