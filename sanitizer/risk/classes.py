"""How often an attacker's best guess at a thing drawn within its class is right, exactly."""

from __future__ import annotations

from math import exp

import numpy as np
from numpy.typing import NDArray

from sanitizer.detect import class_members, lists_of
from sanitizer.pipeline.classes import ClassDraws, common_first
from sanitizer.results import SanitizedText
from sanitizer.risk.advice import Risk

BY_CLASS = (
    "Nothing here is drawn: what leaves tells the class of each hidden thing, and which are equal."
)
DRAWN = (
    "For the {kind} at most risk: how often a best guess is right, if commoner ones are likelier. "
    "Without seeing the text it would be right in {blind:.0%} of all cases. Other hidden things "
    "tell their class only."
)


def distributions(draws: ClassDraws, kind: str) -> NDArray[np.float64]:
    """Return the probability of each stand-in for each member, float64 [n_members, n_members]."""
    names = class_members(kind)
    rows = np.zeros((len(names), len(names)))
    for i, name in enumerate(names):
        outputs, weights = draws.distribution(kind, name)
        if weights is not None:
            rows[i, outputs] = weights.probabilities(len(outputs))
    return rows


class ClassMeter:
    """Measures texts in which things are drawn within their classes.

    Args:
        draws: of the Sanitizer.
    """

    def __init__(self, draws: ClassDraws) -> None:
        self._draws = draws
        self._guesses: dict[str, float] = {}

    def measure(self, result: SanitizedText) -> Risk:
        """Return the risk of the drawn things of a text; it is that of the whole conversation."""
        drawn = {r.kind for r in result.replacements if not r.replacement.startswith("<")}
        kinds = [name for kind in drawn for name in lists_of(kind) if name in self._draws.classes]
        if not kinds or not result.record.n_drawn:
            return Risk(0.0, 0.0, BY_CLASS)
        worst = max(kinds, key=self._guess)
        blind = float(common_first(len(class_members(worst)))[0])
        odds = blind / (1 - blind) * exp(self._draws.epsilon)
        note = DRAWN.format(kind=worst.lower(), blind=blind)
        return Risk(odds / (1 + odds), self._guess(worst), note)

    def _guess(self, kind: str) -> float:
        if kind not in self._guesses:
            rows = distributions(self._draws, kind)
            joint = rows * common_first(len(rows))[:, None]
            self._guesses[kind] = float(joint.max(axis=0).sum())
        return self._guesses[kind]
