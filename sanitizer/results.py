"""Frozen values that travel between the stages. Private words never appear in a repr."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from math import isfinite
from typing import Any


@dataclass(frozen=True, slots=True)
class Replacement:
    """One replaced stretch.

    Attributes:
        start, end: character offsets in the SANITIZED text.
        replacement: the released characters.
        kind: "word", "number", "article" (a/an made to agree with a released word), or, in
            capitals, what it is in the vault, such as "EMAIL" or "NUMBER".
        original: the private characters; never in a repr, and in JSON only on request.
    """

    start: int
    end: int
    replacement: str
    kind: str
    original: str = field(repr=False)

    def as_dict(self, reveal: bool = False) -> dict[str, Any]:
        """Plain values for JSON; the original only when `reveal` is true."""
        values = asdict(self)
        if not reveal:
            del values["original"]
        return values


@dataclass(frozen=True, slots=True)
class Record:
    """What was released, and what that costs. Epsilons are in nats.

    Attributes:
        mechanism, variant, settings: what ran; `settings` holds the resolved parameters.
        epsilon_per_unit: the bound for one position (certified), or the nominal setting
            (published).
        epsilon_total: the composed bound for the whole text; for published variants the sum of the
            claimed per-unit values.
        delta: of epsilon_total; 0 for pure differential privacy.
        charged: what this call cost the budget; 0 if the text had been released before and was only
            repeated.
        epsilon_per_word: bound for one distinct word wherever it stands.
        max_repeats: how often the most repeated private word stands in the text.
        unit, neighboring_relation, public, not_protected: the terms of the guarantee, in words.
        n_units: perturbed words. n_numbers: numbers replaced at random. n_public: words released as
            is.
        n_identifiers: identifiers and numbers that went to the vault.
        context: what the model read: "released", "original", or "none".
        certified: whether epsilon_per_unit is a theorem about the code that ran; `reason` if not.
        claimed_epsilon: the published claim per unit, for published variants.
        policy: name of the policy. model_sha256: hash of the model's manifest.
    """

    mechanism: str
    variant: str
    settings: dict[str, Any] = field(hash=False)  # a dict has none
    epsilon_per_unit: float
    epsilon_total: float
    delta: float
    charged: float
    epsilon_per_word: float
    max_repeats: int
    unit: str
    neighboring_relation: str
    public: str
    not_protected: str
    n_units: int
    n_numbers: int
    n_identifiers: int
    n_public: int
    context: str
    certified: bool
    reason: str | None
    claimed_epsilon: float | None
    policy: str
    model_sha256: str

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON, which knows no infinity: a bound that is not finite becomes None."""
        return {
            k: None if isinstance(v, float) and not isfinite(v) else v
            for k, v in asdict(self).items()
        }


@dataclass(frozen=True, slots=True)
class SanitizedText:
    """The released text, what was replaced, and the record.

    Attributes:
        text: may leave the machine.
        replacements: in order of position; hold the originals, so they stay on the machine.
        record: holds no text.
    """

    text: str
    replacements: tuple[Replacement, ...] = field(repr=False)
    record: Record

    def as_dict(self, reveal: bool = False) -> dict[str, Any]:
        """Plain values for JSON; originals only when `reveal` is true."""
        replaced = [r.as_dict(reveal) for r in self.replacements]
        return {"text": self.text, "replacements": replaced, "record": self.record.as_dict()}
