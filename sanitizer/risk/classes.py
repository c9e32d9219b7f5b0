"""How often an attacker's best guess at a thing drawn within its class is right, exactly.

The guesser is the best there is: it knows the mechanism, the class, how common its members are, and
the stand-in. `advise_classes` picks an epsilon for each class by it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, dataclass, replace
from math import exp
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sanitizer.detect.classes import LISTS, class_members, lists_of
from sanitizer.lm.loading import Models
from sanitizer.lm.masked import MaskedLM
from sanitizer.pipeline.classes import ClassDraws, common_first
from sanitizer.privacy.cape import Cape
from sanitizer.results import SanitizedText
from sanitizer.risk.advice import EPSILONS, Risk, check_risk
from sanitizer.text.policy import DRAWN as DRAWN_CLASSES

BY_CLASS = (
    "Nothing here is drawn: what leaves tells the class of each hidden thing, and which are equal."
)
DRAWN = (
    "For the {kind} at most risk: how often a best guess is right, if commoner ones are likelier. "
    "Without seeing the text it would be right in {blind:.0%} of all cases. Other hidden things "
    "tell their class only."
)
STRIDE = 17
"""Linked things: the second is this many places further in the list, so that both differ."""
MOST_LINKED = 2


def distributions(draws: ClassDraws, kind: str, taken: Collection[str] = ()) -> NDArray[np.float64]:
    """Return the probability of each stand-in for each member, float64 [n_members, n_members].

    Those that are taken may not come out any more.
    """
    names = class_members(kind)
    rows = np.zeros((len(names), len(names)))
    for i, name in enumerate(names):
        outputs, weights = draws.distribution(kind, name, taken)
        if weights is not None:
            rows[i, outputs] = weights.probabilities(len(outputs))
    return rows


def _joint(draws: ClassDraws, kind: str) -> NDArray[np.float64]:
    """Return P(member, stand-in) if commoner members are likelier, float64 [n, n]."""
    rows = distributions(draws, kind)
    return np.asarray(rows * common_first(len(rows))[:, None])


class ClassMeter:
    """Measures texts in which things are drawn within their classes; loads draws at the first."""

    def __init__(self, draws: Callable[[], ClassDraws]) -> None:
        self._draws = draws
        self._guesses: dict[str, float] = {}

    def measure(self, result: SanitizedText) -> Risk:
        """Return the risk of the drawn things of a text; it is that of the whole conversation."""
        drawn = {r.kind for r in result.replacements if not r.replacement.startswith("<")}
        kinds = [name for kind in drawn for name in lists_of(kind) if name in LISTS]
        if not kinds or not result.record.n_drawn:
            return Risk(0.0, 0.0, BY_CLASS)
        worst = max(kinds, key=self._guess)
        blind = float(common_first(len(class_members(worst)))[0])
        odds = blind / (1 - blind) * exp(self._draws().epsilon)
        note = DRAWN.format(kind=worst.lower(), blind=blind)
        return Risk(odds / (1 + odds), self._guess(worst), note, blind)

    def _guess(self, kind: str) -> float:
        if kind not in self._guesses:
            self._guesses[kind] = float(_joint(self._draws(), kind).max(axis=0).sum())
        return self._guesses[kind]


@dataclass(frozen=True)
class ClassSetting:
    """One class of things at one epsilon, exactly.

    Attributes:
        guess: how often the best guess is right; of linked things at the first of them. Of a class
            with several lists the worst.
        blind: how often it is right if nothing is seen.
        similarity: expected cosine of a thing and its stand-in.
    """

    kind: str
    epsilon: float
    guess: float
    blind: float
    similarity: float


@dataclass(frozen=True)
class ClassAdvice:
    """The largest epsilon of each class within a tolerated risk, and what it was chosen from.

    An epsilon is None where none is small enough: use the vault.
    """

    risk: float
    n_linked: int
    epsilons: dict[str, float | None]
    table: tuple[ClassSetting, ...]

    @property
    def epsilon(self) -> float | None:
        """Return an epsilon that suits all classes that can be drawn; None if none can."""
        return min((e for e in self.epsilons.values() if e is not None), default=None)

    @property
    def vault(self) -> tuple[str, ...]:
        """Return the classes that should not be drawn."""
        return tuple(kind for kind, epsilon in self.epsilons.items() if epsilon is None)

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return asdict(self) | {"epsilon": self.epsilon, "vault": list(self.vault)}


def advise_classes(
    risk: float,
    *,
    n_linked: int = 1,
    epsilons: Sequence[float] = (1.0, *EPSILONS),
    model: MaskedLM | Path | None = None,
) -> ClassAdvice:
    """Choose an epsilon for each class that can be drawn: the largest within the risk.

    The attacker knows the mechanism, the class and how common its members are, and sees the
    stand-in, in as many messages as a conversation has. What public words tell besides is not in
    the risk. No text is read: a draw within a class does not depend on any.

    Args:
        risk: tolerated success of the best guess at one thing, between 0 and 1.
        n_linked: 2 if the attacker may know how one drawn thing tells another of its class.
        epsilons: to choose from, in nats.

    Raises:
        ValueError: naming argument and value.
        ModelError: as `Sanitizer.sanitize`.
    """
    check_risk(risk, epsilons)
    if n_linked not in range(1, MOST_LINKED + 1):
        raise ValueError(f"n_linked must be 1 or {MOST_LINKED}, got {n_linked!r}")
    loaded = Models(model, None).masked()
    # Draws within classes read no shape.
    settings = replace(Cape(), n_shortlist=None, n_top=None, top_mass=None)
    draws = {e: ClassDraws(replace(settings, epsilon=e), *loaded) for e in sorted(epsilons)}
    found: dict[str, float | None] = dict.fromkeys(DRAWN_CLASSES)
    table: list[ClassSetting] = []
    for kind in DRAWN_CLASSES:
        for epsilon, own in draws.items():
            each = [_setting(own, name, n_linked) for name in lists_of(kind)]
            worst = max(each, key=lambda setting: setting.guess)
            similarity = float(np.mean([setting.similarity for setting in each]))
            table.append(replace(worst, kind=kind, epsilon=epsilon, similarity=similarity))
            if worst.guess > risk:
                break
            found[kind] = epsilon
    return ClassAdvice(risk, n_linked, found, tuple(table))


def _setting(draws: ClassDraws, name: str, n_linked: int) -> ClassSetting:
    joint = _joint(draws, name)
    guess = joint.max(axis=0).sum() if n_linked == 1 else _two_linked(draws, name, joint)
    blind = float(common_first(len(joint))[0])
    similarity = float((joint * draws.cosines(name)).sum())
    return ClassSetting(name, draws.epsilon, float(guess), blind, similarity)


def _two_linked(draws: ClassDraws, name: str, joint: NDArray[np.float64]) -> float:
    """Return how often the best guess is right at one of two things that tell each other.

    They are of one list: the first stand-in cannot come out for the second thing.
    """
    names, total = class_members(name), 0.0
    partner = np.roll(np.arange(len(names)), -STRIDE)
    for out in np.flatnonzero(joint[0]):
        second = distributions(draws, name, (names[out],))[partner]
        total += float((joint[:, [out]] * second).max(axis=0).sum())
    return total
