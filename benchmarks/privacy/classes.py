"""Draws within classes: how often an attacker's best guess is right, and how near stand-ins are.

    python -m benchmarks.privacy.classes [--quick]

Exact, from the integer weights: all members of a class as inputs, no sampling. The attacker knows
the mechanism and the class, sees the one stand-in that a conversation ever shows, and guesses the
likeliest member; members are equally likely ("uniform"), or as common as their place in the list
says ("common first"). A text that grows and is sent again shows the same stand-in, so the figures
are those of the whole conversation. Cosine: of a stand-in to the original, by the word vectors.
Same group: how often a stand-in is of the original's group (models/classes/groups.txt); group
guess: how often the likeliest group is the right one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.common.machine import parser, say, write
from sanitizer import Cape, DynText
from sanitizer.detect.classes import LISTS, class_members, group_of
from sanitizer.lm.loading import Models
from sanitizer.pipeline.classes import ClassDraws, common_first
from sanitizer.risk.classes import distributions

EPSILONS = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0)


def measured(draws: ClassDraws, kind: str) -> dict[str, Any]:
    """Return the figures of one class."""
    rows, near = distributions(draws, kind), draws.cosines(kind)
    n = len(rows)
    groups = np.array([group_of(member) for member in class_members(kind)])
    alike = groups[:, None] == groups[None, :] if groups.any() else None
    found: dict[str, Any] = {"members": n, "outputs": int((rows[0] > 0).sum())}
    for prior, shares in (("uniform", np.full(n, 1 / n)), ("common first", common_first(n))):
        joint = rows * shares[:, None]
        found[prior] = {
            "blind guess": round(float(shares.max()), 4),
            "best guess": round(float(joint.max(axis=0).sum()), 4),
            "own name": round(float(np.trace(joint)), 4),
            "cosine": round(float((joint * near).sum()), 3),
        }
        if alike is not None:
            guessed = np.array([joint[row].sum(axis=0) for row in np.unique(alike, axis=0)])
            found[prior] |= {
                "same group": round(float((joint * alike).sum()), 3),
                "group guess": round(float(guessed.max(axis=0).sum()), 3),
            }
    return found


def main() -> None:
    """Measure all classes and write the result."""
    line = parser(__doc__, "epsilon 5 only")
    quick = line.parse_args().quick
    model, pieces = Models(None, None).masked()
    results: dict[str, Any] = {}
    for epsilon in (5.0,) if quick else EPSILONS:
        for name, mechanism in (
            ("cape", Cape(epsilon)),
            ("cape, own name not demoted", Cape(epsilon, demote_self=False)),
            ("dyntext", DynText(epsilon)),
        ):
            draws = ClassDraws(mechanism, model, pieces)
            found = {kind: measured(draws, kind) for kind in LISTS}
            results.setdefault(name, {})[f"{epsilon:g}"] = found
            say(f"epsilon {epsilon:g}, {name}: {found['CONDITION']['common first']}")
    write("classes", results)


if __name__ == "__main__":
    main()
