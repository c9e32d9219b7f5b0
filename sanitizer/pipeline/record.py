"""The settings of a Sanitizer, and the record that states what they guarantee for one text."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from importlib.resources import files
from math import inf
from typing import Any

from sanitizer.pipeline.engines import LoadedModels, WordMechanism
from sanitizer.pipeline.masked_text import Choices, MaskedText
from sanitizer.privacy.accounting import Accountant, Event, PureEvent
from sanitizer.privacy.cape import Cape
from sanitizer.privacy.dyntext import DynText
from sanitizer.results import Record
from sanitizer.storage.ledger import as_printed
from sanitizer.storage.table import RELEASED, same_thing
from sanitizer.text.policy import Policy

BOUND_DELTA = 1e-6
"""Delta at which a record states a bound beside the plain sum."""


@dataclass(frozen=True)
class Settings:
    """The settings of one Sanitizer that decide what is released and what its record says.

    Attributes:
        delta: delta at which `epsilon_total` is composed.

    Raises:
        ValueError: naming argument and value.
        TypeError: not a mechanism, or a number of another type.
    """

    mechanism: WordMechanism
    policy: Policy
    delta: float
    max_chars: int

    def __post_init__(self) -> None:
        if not isinstance(self.mechanism, Cape | DynText):
            raise TypeError(
                "mechanism must be a Cape or DynText (policy=... takes names), "
                f"got {type(self.mechanism).__name__}"
            )
        causal = isinstance(self.mechanism, Cape) and self.mechanism.backbone == "causal"
        if self.policy.drawn and (causal or not self.mechanism.certified):
            raise ValueError(
                f"policy {self.policy.name!r} draws within classes, which needs a certified "
                "mechanism that reads no context from a causal model; policy 'strict' takes any"
            )
        if not 0.0 <= self.delta < 1.0:
            raise ValueError(f"delta must be at least 0 and below 1, got {self.delta!r}")
        if isinstance(self.max_chars, bool) or not isinstance(self.max_chars, int):
            raise TypeError(f"max_chars must be an int, got {type(self.max_chars).__name__}")
        if self.max_chars < 1:
            raise ValueError(f"max_chars must be at least 1, got {self.max_chars!r}")

    @cached_property
    def digest(self) -> str:
        """Text that differs for settings under which a message is drawn differently."""
        return f"{self.mechanism!r} {self.policy.digest}"

    @cached_property
    def class_options(self) -> dict[str, Any]:
        """What a record states of draws within classes: name and parameters of the mechanism."""
        mechanism = self.mechanism
        options: dict[str, Any] = {"epsilon": mechanism.epsilon}
        if isinstance(mechanism, Cape):
            options |= {"profile": "medoids", "n_top": 1}
            options |= {"guess_price": mechanism.guess_price, "demote_self": mechanism.demote_self}
        else:
            options |= mechanism.settings()
        return {"name": mechanism.name, **options, "max_drawn": self.policy.max_drawn}

    def cost(self, n_draws: int) -> float:
        """Return the epsilon charged for a number of draws, exact in decimal digits."""
        return float(n_draws * as_printed(self.mechanism.epsilon)) if n_draws else 0.0


@dataclass(frozen=True, slots=True)
class Terms:
    """What is protected, against which neighbouring inputs, and what is not protected."""

    unit: str
    relation: str
    public: str
    not_protected: str


_TEXTS = tomllib.loads(files("sanitizer.pipeline").joinpath("terms.toml").read_text("utf-8"))
_BY_WORD, _DRAWN, _MORE = _TEXTS["by_word"], _TEXTS["drawn_by_class"], _TEXTS["more"]
NO_PRIVACY, BY_CLASS, NOTHING_NEW = (
    Terms(**_TEXTS[name]) for name in ("no_privacy", "by_class", "nothing_new")
)
DRAWN_BY_CLASS = Terms(
    unit=BY_CLASS.unit,
    relation=_DRAWN["relation"],
    public=BY_CLASS.public + _DRAWN["also_public"],
    not_protected=BY_CLASS.not_protected + _DRAWN["also_not_protected"],
)


@lru_cache(maxsize=16)
def terms(consistent: bool, numbers: str = "random", style: str = "placeholder") -> Terms:
    """Return the terms of one draw per position, or per distinct word if `consistent`.

    Args:
        numbers: "random" or "vault", where numbers go.
        style: "placeholder" or "same-form", the values released for identifiers.
    """
    what = "identifiers" if numbers == "random" else "identifiers and numbers"
    form = " and form" if style == "same-form" else ""
    random = _BY_WORD["random_numbers"] * (numbers == "random")
    vault = _BY_WORD["vault"].format(what=what, form=form)
    told = "the length of numbers" if random else "how many numbers there are and which are equal"
    hidden = _BY_WORD["not_protected"].format(numbers=told)
    unit, differ = "one private word at one position", "one private word"
    if consistent:
        unit, hidden = "one distinct private word", hidden + ", which private words are equal"
        differ = f"{unit}, changed wherever it stands to one that stands nowhere else"
    relation = _BY_WORD["relation"].format(differ=differ) + random + vault
    return Terms(unit, relation, _BY_WORD["public"], hidden)


def _record(
    variant: str,
    epsilon: float,
    stated: Terms,
    policy: Policy,
    masked: MaskedText | None = None,
    reason: str | None = None,
) -> Record:
    """Return the record of a text of which nothing is drawn.

    Args:
        masked: the text; None for one that goes back as it came. reason: why nothing is certified.
    """
    declared = masked.segmented.n_declared if masked else 0
    return Record(
        mechanism="none",
        variant=variant,
        settings={},
        epsilon_per_unit=epsilon,
        epsilon_total=epsilon,
        delta=0.0,
        charged=0.0,
        epsilon_per_word=epsilon,
        max_repeats=0,
        unit=stated.unit,
        neighboring_relation=stated.relation,
        public=stated.public + _MORE["declared"] if declared else stated.public,
        not_protected=stated.not_protected,
        n_units=0,
        n_numbers=masked.n_numbers if masked else 0,
        n_identifiers=masked.n_identifiers if masked else 0,
        n_public=masked.segmented.n_public if masked else 0,
        context="none",
        certified=reason is None,
        reason=reason,
        claimed_epsilon=None,
        policy=policy.name,
        model_sha256="",
        declared=declared,
    )


def answer_record(policy: Policy) -> Record:
    """Return the record of an answer that goes back to its API: nothing new is released."""
    return _record("answer", 0.0, NOTHING_NEW, policy)


def plain_record(masked: MaskedText, policy: Policy) -> Record:
    """Return the record of a text of which only identifiers were replaced, without any draw."""
    reason = "the policy replaces identifiers only; all other words leave as they are"
    return _record("identifiers", inf, NO_PRIVACY, policy, masked, reason)


def perturbed_record(choices: Choices, settings: Settings, models: LoadedModels) -> Record:
    """Return the record of a text whose words were drawn."""
    masked, mechanism, engine = choices.masked, settings.mechanism, models.engine
    policy, delta = settings.policy, max(BOUND_DELTA, settings.delta)
    stated = terms(mechanism.consistent, policy.numbers, policy.style)
    repeats, n_draws = masked.max_repeats, len(masked.drawn)
    reason, claims = mechanism.reason, choices.claims
    claimed = max(claims, default=None)
    if reason is None:
        bare = terms(mechanism.consistent)
        per_unit = mechanism.epsilon
        event = engine.event(bare.unit, bare.relation)
        total = _composed(event, n_draws, settings.delta)
        at_delta = _composed(event, n_draws, delta)
    else:
        at_delta = inf
        per_unit = claimed or inf
        total = sum(claims) if claims else inf
    per_word = per_unit * (min(repeats, 1) if mechanism.consistent else repeats)
    return replace(
        _record(mechanism.variant, total if n_draws else 0.0, stated, policy, masked, reason),
        mechanism=mechanism.name,
        settings=mechanism.settings(),
        epsilon_per_unit=mechanism.epsilon,
        delta=settings.delta if reason is None else engine.claimed_delta,
        charged=settings.cost(n_draws),
        epsilon_per_word=(total if engine.context == "original" else per_word) if n_draws else 0.0,
        max_repeats=repeats,
        n_units=len(masked.words),
        context=engine.context,
        claimed_epsilon=claimed,
        model_sha256=models.sha256,
        epsilon_at_delta=at_delta if n_draws else 0.0,
        bound_delta=delta,
    )


@lru_cache(maxsize=1024)
def _composed(event: Event, n_draws: int, delta: float) -> float:
    """Return the smallest valid epsilon of n draws at this delta."""
    accountant = Accountant()
    accountant.compose(event, n_draws)
    return accountant.epsilon(delta)


@lru_cache(maxsize=1024)
def _composed_of(epsilons: tuple[float, ...], delta: float) -> float:
    """Return the smallest valid epsilon of several draws that are pure, at this delta."""
    if not epsilons:
        return 0.0
    accountant = Accountant()
    for epsilon in epsilons:
        if epsilon > 0:
            event = PureEvent(epsilon, unit=DRAWN_BY_CLASS.unit, relation=DRAWN_BY_CLASS.relation)
            accountant.compose(event)
    return accountant.epsilon(delta)


def detected_record(
    masked: MaskedText, settings: Settings, model_sha256: str, drawn: Mapping[str, float]
) -> Record:
    """Return the record of a text in which a detector found things.

    Args:
        drawn: what was drawn in the conversation so far, under any policy, with each epsilon.
    """
    policy, text = settings.policy, masked.text
    draws = bool(policy.drawn or drawn)
    record = replace(
        _record("classes", 0.0, DRAWN_BY_CLASS if draws else BY_CLASS, policy, masked),
        model_sha256=model_sha256,
        detector=policy.detector,
        language=masked.segmented.language,
        n_things=len({same_thing(text[cut.start : cut.end]) for cut in masked.cuts}),
        left=(
            *(unit.kind for unit in masked.segmented.left),
            *(row.kind for row in masked.decided if row.place == RELEASED),
        ),
        asked=tuple(f"{row.place} {row.kind}" for row in masked.decided),
    )
    if record.left or record.asked:
        record = replace(record, not_protected=record.not_protected + _MORE["left"])
    if not draws:
        return record
    each = settings.mechanism.epsilon if policy.drawn else max(drawn.values())
    known = {value.lower() for value in drawn}
    here = [value.lower() for value in masked.surrogates if value and value.lower() in known]
    spent, delta = settings.cost(masked.n_new), max(BOUND_DELTA, settings.delta)
    options = settings.class_options | {"epsilon": each}
    return replace(
        record,
        mechanism=options.pop("name"),
        settings=options,
        epsilon_per_unit=each,
        epsilon_total=spent,
        epsilon_per_word=each * bool(here),
        charged=spent,
        n_units=masked.n_new,
        n_identifiers=record.n_identifiers - len(here),
        n_drawn=len(set(here)),
        conversation_epsilon=float(sum(map(as_printed, drawn.values()))),
        epsilon_at_delta=_composed_of((each,) * masked.n_new, delta),
        bound_delta=delta,
        conversation_epsilon_at_delta=_composed_of(tuple(sorted(drawn.values())), delta),
    )
