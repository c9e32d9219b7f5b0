"""Draws within classes: how often an attacker's best guess is right, and how near stand-ins are.

    python -m benchmarks.privacy.classes [--quick | --context]

Exact, from the integer weights: all members of a class as inputs, no sampling. The attacker knows
the mechanism and the class, sees the one stand-in that a conversation ever shows, and guesses the
likeliest member; members are equally likely ("uniform"), or as common as their place in the list
says ("common first"). A text that grows and is sent again shows the same stand-in, so the figures
are those of the whole conversation. Cosine: of a stand-in to the original, by the word vectors.
Same group: how often a stand-in is of the original's group (models/classes/groups.txt); group
guess: how often the likeliest group is the right one.

--context: what it would bring to choose the outputs of a draw by its sentence too, in CONTEXTS, at
epsilon 5: the masked LM's score of a member's first piece is worth up to `worth` of similarity, and
with `prior` makes members that fit likelier ones. Plausible: mean ln of the share that the model
gives the first piece of a stand-in there, among the members of the class; `own` is that of the
things themselves. The attacker knows how common members are, or (`context`) also how well they fit.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.common.machine import say, write
from sanitizer import Cape, DynText
from sanitizer.detect import LISTS, class_members, group_of
from sanitizer.lm import MaskedLM, Models, WordPieces
from sanitizer.pipeline.classes import MOST_OUTPUTS, ClassDraws, _Class, common_first
from sanitizer.privacy import Coverage, Design, Limits, choose_outputs
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


CONTEXTS = {
    "CONDITION": (
        "My brother was diagnosed with {} last year.",
        "Dear Sir, I cannot work because of my {}.",
        "She takes two pills a day for her {}, and sleeps badly.",
        "The baby was born with {}.",
        "He told his boss about the {} after the accident.",
        "Can I fly to Spain with {}?",
    ),
    "RELIGION": ("She is a {} and prays every day.", "We need a room for our {} guests."),
    "POLITICS": ("My uncle is a {} and talks of nothing else.", "He left the party as a {}."),
    "ORIGIN": ("My neighbour is {} and cooks very well.", "She was asked if she is {}."),
    "CRIME": ("He was convicted of {} in 2012.", "My son is accused of {} at school."),
}
WAYS: tuple[tuple[str, float, bool], ...] = (
    ("as it is", 0.0, False),
    ("worth 0.1", 0.1, False),
    ("worth 0.3", 0.3, False),
    ("prior", 0.0, True),
    ("prior, worth 0.3", 0.3, True),
)
Floats = NDArray[np.float64]


class InContext(ClassDraws):
    """Draws whose outputs are chosen by the scores of one sentence too.

    Attributes:
        fit: of each member, from 0 to 1. worth: largest similarity that it counts for.
        shares: how common members are taken to be; None: by their place in the list.
    """

    fit: Floats
    worth = 0.0
    shares: Floats | None = None

    def _covering(self, known: _Class, left: NDArray[np.intp]) -> Design:
        assert isinstance(self.mechanism, Cape)
        listed = common_first(len(known.members)) if self.shares is None else self.shares
        common = listed.astype(np.float32)
        near = known.between(left)
        near[known.shares_words[left]] = 0.0
        near[np.arange(len(left)), left] = 0.0
        rare = np.argsort(common, kind="stable")
        contexts = Coverage(
            near[None, :, rare].astype(np.float32),
            (self.worth * self.fit[left])[None, :].astype(np.float32),
            common[None, rare],
            common[None, rare],
        )
        limits = Limits(self.epsilon, 1, 4, MOST_OUTPUTS, self.mechanism.guess_price)
        (chosen,), (caps,) = choose_outputs(contexts, limits)
        order = np.argsort(left[chosen])
        return Design(left[chosen][order], caps[order], common)


def scores_of(model: MaskedLM, pieces: WordPieces, context: str, kind: str) -> Floats:
    """Return ln of the model's share of each member's first piece, among them, float64 [n]."""
    before, after = (pieces.encode(part) for part in context.split("{}"))
    ids = np.array([[pieces.cls, *before, pieces.mask, *after, pieces.sep]])
    at = np.array([len(before) + 1])
    scores = model.full_logits(ids, np.array([ids.shape[1]]), at)[0].astype(np.float64)
    found = scores[[pieces.encode(name)[0] for name in class_members(kind)]]
    return np.asarray(found - np.logaddexp.reduce(found))


def in_contexts(model: MaskedLM, pieces: WordPieces) -> dict[str, dict[str, float]]:
    """Return what each way of reading the sentence brings, means over CONTEXTS."""
    found: dict[str, list[dict[str, float]]] = {}
    for kind, contexts in CONTEXTS.items():
        common = common_first(len(class_members(kind)))
        for context in contexts:
            scores = scores_of(model, pieces, context, kind)
            fitting = common * np.exp(scores / 2)  # half the model's say: first pieces are coarse
            fitting /= fitting.sum()
            for name, worth, prior in WAYS:
                draws = InContext(Cape(5.0), model, pieces)
                draws.fit = (scores - scores.min()) / np.ptp(scores)
                draws.worth, draws.shares = worth, fitting if prior else None
                rows = distributions(draws, kind)
                joint = rows * common[:, None]
                found.setdefault(name, []).append(
                    {
                        "outputs": float((rows[0] > 0).sum()),
                        "cosine": float((joint * draws.cosines(kind)).sum()),
                        "plausible": float((joint @ scores).sum()),
                        "own": float(common @ scores),
                        "best guess": float(joint.max(axis=0).sum()),
                        "best guess, context": float((rows * fitting[:, None]).max(axis=0).sum()),
                    }
                )
    return {
        name: {key: round(float(np.mean([each[key] for each in all_])), 3) for key in all_[0]}
        for name, all_ in found.items()
    }


def main() -> None:
    """Measure all classes and write the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="epsilon 5 only")
    parser.add_argument("--context", action="store_true", help="by the sentence too")
    options = parser.parse_args()
    quick = options.quick
    model, pieces = Models(None, None).masked()
    if options.context:
        for name, figures in (found_in := in_contexts(model, pieces)).items():
            say(f"{name}: {figures}")
        command = "python -m benchmarks.privacy.classes --context"
        print(write("class_contexts", command, found_in))
        return
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
    write("classes", "python -m benchmarks.privacy.classes", results)


if __name__ == "__main__":
    main()
