"""The settings of a Sanitizer, and the record that states what they guarantee for one text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from math import inf
from typing import Any

from sanitizer.pipeline.engines import LoadedModels, WordMechanism
from sanitizer.pipeline.masked_text import Choices, MaskedText
from sanitizer.privacy import Accountant, Cape, DynText, Event, PureEvent
from sanitizer.results import Record
from sanitizer.storage import as_printed, same_thing
from sanitizer.text import Policy

BOUND_DELTA = 1e-6
"""Delta at which a record states a bound beside the plain sum."""


@dataclass(frozen=True)
class Settings:
    """The settings of one Sanitizer that decide what is released and what its record says.

    Attributes:
        mechanism: how private words are drawn.
        policy: what is public and what goes to the vault.
        delta: delta at which `epsilon_total` is composed.
        max_chars: most characters of a text.

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
        if self.policy.drawn and not self._draws_classes:
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

    @property
    def _draws_classes(self) -> bool:
        causal = isinstance(self.mechanism, Cape) and self.mechanism.backbone == "causal"
        return self.mechanism.certified and not causal

    @cached_property
    def digest(self) -> str:
        """Text that differs for settings under which a message is drawn differently."""
        return f"{self.mechanism!r} {self.policy.digest}"

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


_RANDOM = (
    "; numbers are compared with numbers of the same length and digits only "
    "(released at random, epsilon 0)"
)
_VAULT = (
    "; {what} are compared with others of the same kind{form} that are equal where these are "
    "(what is released does not depend on them, epsilon 0)"
)
_PUBLIC = (
    "words on the policy's public list, all text between words, which positions are private and "
    "how many, where identifiers stand, their kinds and which of them are equal"
)
_NOT_PROTECTED = (
    "public words, punctuation and layout, {numbers}, what the public words tell of the private "
    "ones, how many identifiers there are and which are equal, which whole messages of a "
    "conversation are equal"
)
NO_PRIVACY = Terms(
    unit="none",
    relation="none: no differential privacy is claimed",
    public="every word that is not found to be an identifier",
    not_protected="all words, names included, that no pattern or model finds; where identifiers "
    "stand, their kinds, and which of them are equal",
)
"""Terms of a text of which only identifiers were replaced."""

BY_CLASS = Terms(
    unit="one thing: a person, firm, place, product, number and so on, however many words it has "
    "and however often it occurs",
    relation="replace-one: texts in which one thing is replaced, wherever it occurs, by another "
    "that is read the same (same class at its places, same pattern of equal forms, equal to "
    "nothing else) while nothing else is read differently (what is released does not depend on "
    "it, epsilon 0)",
    public="words on the public lists, hidden words that were found to be everyday words or that "
    "the policy passes, all text between words, where hidden things are, how many, their classes "
    "and which are equal",
    not_protected="classes that the policy passes, what the detector takes for an everyday word, "
    "facts told in public words, what the public words tell of the hidden ones, how many things "
    "there are and which are equal",
)
"""Terms of a text in which things went to the vault by their class."""

DRAWN_BY_CLASS = Terms(
    unit=BY_CLASS.unit,
    relation="replace-one: texts in which one thing is replaced, wherever it occurs in the "
    "conversation, by another that is read the same (same class at its places, same pattern of "
    "equal forms, equal to nothing else) while nothing else is read differently. A thing whose "
    "stand-in was drawn: epsilon_per_unit, once per conversation; any other: what is released "
    "does not depend on it, epsilon 0",
    public=BY_CLASS.public + ", which things are drawn, and in which order they came first",
    not_protected=BY_CLASS.not_protected + "; things that tell of each other are protected "
    "together only: m drawn ones with m times epsilon_per_unit",
)
"""Terms of a text in which some classes of things are drawn, others went to the vault."""

DECLARED = ", and what the caller declared public: templates, phrases, roles"
"""What is public as well where text was declared."""

NOTHING_NEW = Terms(
    unit="one message",
    relation="any two messages: what is sent was received from the same address",
    public="the answer as it was received",
    not_protected="that it is sent back",
)
"""Terms of an answer that goes back to the API that sent it."""


@lru_cache(maxsize=16)
def terms(consistent: bool, numbers: str = "random", style: str = "placeholder") -> Terms:
    """Return the terms of one draw per position, or per distinct word if `consistent`.

    Args:
        numbers: "random" or "vault", where numbers go.
        style: "placeholder" or "same-form", the values released for identifiers.
    """
    what = "identifiers" if numbers == "random" else "identifiers and numbers"
    form = " and form" if style == "same-form" else ""
    shared = _RANDOM * (numbers == "random") + _VAULT.format(what=what, form=form)
    hidden = _NOT_PROTECTED.format(
        numbers="the length of numbers"
        if numbers == "random"
        else "how many numbers there are and which are equal"
    )
    if consistent:
        return Terms(
            unit="one distinct private word",
            relation="replace-one: texts that differ in one distinct private word, changed "
            "wherever it stands to one that stands nowhere else" + shared,
            public=_PUBLIC,
            not_protected=hidden + ", which private words are equal",
        )
    return Terms(
        unit="one private word at one position",
        relation="replace-one: texts that differ in one private word" + shared,
        public=_PUBLIC,
        not_protected=hidden,
    )


def perturbed_record(choices: Choices, settings: Settings, models: LoadedModels) -> Record:
    """Return the record of a text whose words were drawn."""
    masked, mechanism, engine = choices.masked, settings.mechanism, models.engine
    stated = terms(mechanism.consistent, settings.policy.numbers, settings.policy.style)
    repeats, n_draws = masked.max_repeats, len(masked.drawn)
    reason, claims = mechanism.reason, choices.claims
    certified, claimed = reason is None, max(claims, default=None)
    if certified:
        bare = terms(mechanism.consistent)
        per_unit = mechanism.epsilon
        event = engine.event(bare.unit, bare.relation)
        total = _composed(event, n_draws, settings.delta)
        at_delta = _composed(event, n_draws, max(BOUND_DELTA, settings.delta))
    else:
        at_delta = inf
        per_unit = claimed or inf
        total = sum(claims) if claims else inf
    per_word = per_unit * (min(repeats, 1) if mechanism.consistent else repeats)
    record = Record(
        mechanism=mechanism.name,
        variant=mechanism.variant,
        settings=mechanism.settings(),
        epsilon_per_unit=mechanism.epsilon,
        epsilon_total=total if n_draws else 0.0,
        delta=settings.delta if certified else engine.claimed_delta,
        charged=settings.cost(n_draws),
        epsilon_per_word=(total if engine.context == "original" else per_word) if n_draws else 0.0,
        max_repeats=repeats,
        unit=stated.unit,
        neighboring_relation=stated.relation,
        public=stated.public,
        not_protected=stated.not_protected,
        n_units=len(masked.words),
        n_numbers=masked.n_numbers,
        n_identifiers=masked.n_identifiers,
        n_public=masked.n_public,
        context=engine.context,
        certified=certified,
        reason=reason,
        claimed_epsilon=claimed,
        policy=settings.policy.name,
        model_sha256=models.sha256,
        epsilon_at_delta=at_delta if n_draws else 0.0,
        bound_delta=max(BOUND_DELTA, settings.delta),
    )
    return _with_declared(record, masked)


def _with_declared(record: Record, masked: MaskedText) -> Record:
    """Return the record; where text was declared public, it says so."""
    if not masked.n_declared:
        return record
    return replace(record, public=record.public + DECLARED, declared=masked.n_declared)


@lru_cache(maxsize=1024)
def _composed(event: Event, n_draws: int, delta: float) -> float:
    """Return the smallest valid epsilon of n draws at this delta."""
    accountant = Accountant()
    accountant.compose(event, n_draws)
    return accountant.epsilon(delta)


@lru_cache(maxsize=1024)
def _composed_of(epsilons: tuple[float, ...], delta: float) -> float:
    """Return the smallest valid epsilon of several draws that are pure, at this delta."""
    accountant = Accountant()
    for epsilon in epsilons:
        if epsilon > 0:
            event = PureEvent(epsilon, unit=DRAWN_BY_CLASS.unit, relation=DRAWN_BY_CLASS.relation)
            accountant.compose(event)
    return accountant.epsilon(delta)


def plain_record(masked: MaskedText, policy: Policy) -> Record:
    """Return the record of a text of which only identifiers were replaced, without any draw."""
    kept = _plain_record(masked.n_numbers, masked.n_identifiers, masked.n_public, policy.name)
    own = replace(kept, settings={})  # a dict of its own: who gets a record may write in it
    return _with_declared(own, masked)


@lru_cache(maxsize=1024)
def _plain_record(n_numbers: int, n_identifiers: int, n_public: int, policy: str) -> Record:
    """Return a cached record: many texts have the same counts, and making one takes longer."""
    reason = "the policy replaces identifiers only; all other words leave as they are"
    counts = {"n_numbers": n_numbers, "n_identifiers": n_identifiers, "n_public": n_public}
    return _record_without_draws("identifiers", inf, NO_PRIVACY, policy, reason, **counts)


def detected_record(
    masked: MaskedText,
    settings: Settings,
    model_sha256: str,
    n_new: int,
    drawn: Mapping[str, float],
) -> Record:
    """Return the record of a text in which a detector found things.

    Args:
        n_new: how many stand-ins were drawn for this text.
        drawn: all that were drawn in the conversation so far, with the epsilon of each.
    """
    policy = settings.policy
    record = _record_without_draws(
        "classes",
        0.0,
        BY_CLASS,
        policy.name,
        None,
        n_numbers=masked.n_numbers,
        n_identifiers=masked.n_identifiers,
        n_public=masked.n_public,
    )
    things = {same_thing(masked.text[cut.start : cut.end]) for cut in masked.cuts}
    if policy.drawn:
        record = _drawn_record(record, masked, settings, n_new, drawn)
    return replace(
        _with_declared(record, masked),
        model_sha256=model_sha256,
        detector=policy.detector,
        language=masked.language,
        n_things=len(things),
    )


def _drawn_record(
    record: Record,
    masked: MaskedText,
    settings: Settings,
    n_new: int,
    drawn: Mapping[str, float],
) -> Record:
    """Return the record of a text in which the stand-ins of some classes are drawn."""
    mechanism, known = settings.mechanism, {value.lower() for value in drawn}
    here = {value.lower() for value in masked.stand_ins if value and value.lower() in known}
    spent, total = settings.cost(n_new), sum(as_printed(each) for each in drawn.values())
    certified = record.certified
    delta = max(BOUND_DELTA, settings.delta)
    now = _composed_of((mechanism.epsilon,) * n_new, delta)
    so_far = _composed_of(tuple(sorted(drawn.values())), delta)
    options: dict[str, Any] = {"epsilon": mechanism.epsilon}
    if isinstance(mechanism, Cape):
        names = ("guess_price", "demote_self")
        options |= {"profile": "medoids", "n_top": 1}
        options |= {name: getattr(mechanism, name) for name in names}
    else:
        options |= mechanism.settings()
    options["max_drawn"] = settings.policy.max_drawn
    return replace(
        record,
        mechanism=mechanism.name,
        variant="classes",
        settings=options,
        epsilon_per_unit=mechanism.epsilon if certified else inf,
        epsilon_total=spent if certified else inf,
        epsilon_per_word=mechanism.epsilon * bool(here) if certified else inf,
        charged=spent,
        unit=DRAWN_BY_CLASS.unit,
        neighboring_relation=DRAWN_BY_CLASS.relation,
        public=DRAWN_BY_CLASS.public,
        not_protected=DRAWN_BY_CLASS.not_protected,
        n_units=n_new,
        n_identifiers=record.n_identifiers
        - sum(value is not None and value.lower() in known for value in masked.stand_ins),
        n_drawn=len(here),
        conversation_epsilon=float(total) if certified else inf,
        epsilon_at_delta=now if certified else inf,
        bound_delta=delta,
        conversation_epsilon_at_delta=so_far if certified else inf,
    )


def answer_record(policy: Policy) -> Record:
    """Return the record of an answer that goes back to its API: nothing new is released."""
    return _record_without_draws("answer", 0.0, NOTHING_NEW, policy.name, None)


def _record_without_draws(
    variant: str,
    epsilon: float,
    stated: Terms,
    policy: str,
    reason: str | None,
    n_numbers: int = 0,
    n_identifiers: int = 0,
    n_public: int = 0,
) -> Record:
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
        public=stated.public,
        not_protected=stated.not_protected,
        n_units=0,
        n_numbers=n_numbers,
        n_identifiers=n_identifiers,
        n_public=n_public,
        context="none",
        certified=reason is None,
        reason=reason,
        claimed_epsilon=None,
        policy=policy,
        model_sha256="",
    )
