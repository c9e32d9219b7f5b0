"""The terms that stand next to every epsilon, in words.

The record of one sanitized text.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from math import inf

from sanitizer.pipeline.engines import Engine, WordMechanism
from sanitizer.pipeline.masked_text import MaskedText
from sanitizer.privacy import Accountant
from sanitizer.results import Record
from sanitizer.storage import as_printed
from sanitizer.text import Policy

_RANDOM = "; numbers are compared with numbers of the same length and digits only (released at random, epsilon 0)"
_VAULT = (
    "; {what} are compared with others of the same kind{form} that are equal where these are (what is released does "
    "not depend on them, epsilon 0)"
)


@dataclass(frozen=True, slots=True)
class Terms:
    """What is protected, against what, and what is not."""

    unit: str
    relation: str
    public: str
    not_protected: str


_PUBLIC = (
    "words on the policy's public list, all text between words, which positions are private and how many, "
    "where identifiers stand, their kinds and which of them are equal"
)
_NOT_PROTECTED = (
    "public words, punctuation and layout, {numbers}, what the public words tell of the private ones, "
    "how many identifiers there are and which are equal, which whole messages of a conversation are equal"
)
NO_PRIVACY = Terms(
    unit="none",
    relation="none: no differential privacy is claimed",
    public="every word that is not found to be an identifier",
    not_protected="all words, names included, that no pattern or model finds; where identifiers stand, their kinds, "
    "and which of them are equal",
)

NOTHING_NEW = Terms(
    unit="one message",
    relation="any two messages: what is sent was received from the same address",
    public="the answer as it was received",
    not_protected="that it is sent back",
)


def terms(consistent: bool, numbers: str = "random", style: str = "placeholder") -> Terms:
    """Of a draw per position, or per distinct word.

    Args:
        numbers: "random", or "vault". style: of what stands for identifiers, "placeholder" or
            "same-form".
    """
    what, form = "identifiers" if numbers == "random" else "identifiers and numbers", ""
    if style == "same-form":
        form = " and form"
    shared = _RANDOM * (numbers == "random") + _VAULT.format(what=what, form=form)
    hidden = _NOT_PROTECTED.format(
        numbers="the length of numbers"
        if numbers == "random"
        else "how many numbers there are and which are equal"
    )
    if consistent:
        return Terms(
            unit="one distinct private word",
            relation="replace-one: texts that differ in one distinct private word, changed wherever it stands to "
            "one that stands nowhere else" + shared,
            public=_PUBLIC,
            not_protected=hidden + ", which private words are equal",
        )
    return Terms(
        unit="one private word at one position",
        relation="replace-one: texts that differ in one private word" + shared,
        public=_PUBLIC,
        not_protected=hidden,
    )


def perturbed_record(
    draft: MaskedText,
    claims: list[float],
    mechanism: WordMechanism,
    engine: Engine,
    policy: Policy,
    delta: float,
    model_sha256: str,
) -> Record:
    """What a mechanism released.

    Args:
        claims: what the published algorithm claims for each draw; empty if certified.
        delta: at which `epsilon_total` is composed.
    """
    stated = terms(mechanism.consistent, policy.numbers, policy.style)
    repeats, n_draws = draft.max_repeats(), len(draft.drawn)
    claimed = max(claims, default=None)
    total = (
        _composed(mechanism, engine, n_draws, delta)
        if mechanism.certified
        else sum(claims)
        if claims
        else inf
    )
    per_unit = mechanism.epsilon if mechanism.certified else claimed if claims and claimed else inf
    per_word = per_unit * (min(repeats, 1) if mechanism.consistent else repeats)
    return Record(
        mechanism=mechanism.name,
        variant=mechanism.variant,
        settings=mechanism.settings(),
        epsilon_per_unit=mechanism.epsilon,
        epsilon_total=total if n_draws else 0.0,
        delta=delta if mechanism.certified else engine.claimed_delta,
        charged=float(n_draws * as_printed(mechanism.epsilon)),
        epsilon_per_word=(total if engine.context == "original" else per_word) if n_draws else 0.0,
        max_repeats=repeats,
        unit=stated.unit,
        neighboring_relation=stated.relation,
        public=stated.public,
        not_protected=stated.not_protected,
        n_units=len(draft.words),
        n_numbers=draft.n_numbers,
        n_identifiers=draft.n_identifiers,
        n_public=draft.n_public,
        context=engine.context,
        certified=mechanism.certified,
        reason=mechanism.reason,
        claimed_epsilon=claimed,
        policy=policy.name,
        model_sha256=model_sha256,
    )


def plain_record(draft: MaskedText, policy: Policy) -> Record:
    """Of a text whose identifiers went to the vault, and nothing else: no differential privacy."""
    kept = _plain_record(draft.n_numbers, draft.n_identifiers, draft.n_public, policy.name)
    return replace(kept, settings={})  # of its own: who gets a record may write in it


@lru_cache(maxsize=1024)
def _plain_record(n_numbers: int, n_identifiers: int, n_public: int, policy: str) -> Record:
    """Kept, since many texts have the same counts: to make a record takes longer than to count."""
    reason = "the policy replaces identifiers only; all other words leave as they are"
    counts = {"n_numbers": n_numbers, "n_identifiers": n_identifiers, "n_public": n_public}
    return _record_without_draws("identifiers", inf, NO_PRIVACY, policy, reason, **counts)


def answer_record(policy: Policy) -> Record:
    """Of an answer that goes back to the API that sent it: nothing new is released."""
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


def _composed(mechanism: WordMechanism, engine: Engine, n_draws: int, delta: float) -> float:
    """The smallest valid epsilon of n draws at this delta."""
    stated, accountant = terms(mechanism.consistent), Accountant()
    accountant.compose(engine.event(stated.unit, stated.relation), n_draws)
    return accountant.epsilon(delta)
