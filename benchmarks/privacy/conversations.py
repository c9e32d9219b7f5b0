"""Attacks over whole conversations: what several messages give away of one illness together.

    python -m benchmarks.privacy.conversations [--letters 40] [--quick]

The attacker knows the mechanism, the class and how common its members are, sees all that leaves,
and guesses the likeliest member.

Growing text: a letter in VERSIONS versions, each with one sentence more. Under `words` (what
the default was once) each version is drawn anew: likelihoods of all draws are multiplied, exactly,
in the context that each draw read. Under `guarded` a thing is drawn once, so the figure is exact,
and that of one version. Members of one word only, so that both policies have the same inputs.

Resent history: a chat of TURNS turns that sends all earlier messages again, one of them edited each
time: distinct stand-ins of the illness, and epsilon charged.

Linked things: m things of a conversation of which one tells all others (the attacker knows how);
one of them is guessed from all m stand-ins. Exact for m of 1 and 2, by LINKED draws for 3.
`max_drawn = 1` draws the first only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.common.machine import parser, say, write
from sanitizer import Cape, Sanitizer
from sanitizer.detect.classes import class_members
from sanitizer.lm.loading import Models
from sanitizer.pipeline.classes import ClassDraws, common_first
from sanitizer.randomness import Source
from sanitizer.risk.attacks import Rate
from sanitizer.risk.classes import distributions
from sanitizer.risk.posterior import Likelihoods, Prior, Trials, public_logits
from sanitizer.storage.vault import MemoryVault
from sanitizer.testing import SeededSource

VERSIONS, TURNS, LINKED, SEED = 20, 10, 2_000, 77_001
KIND = "CONDITION"
LETTER = "Dear neighbours, my brother has {illness} and cannot come."
MORE = (
    "He is at home today.",
    "We would like to come next week.",
    "Please tell the others.",
    "The garden can wait until spring.",
    "He sleeps a lot.",
    "Thank you for the bread.",
    "I can help on Sunday.",
    "The doctor was kind.",
    "We do not know how long it takes.",
    "He asks for music.",
    "It rained all night here.",
    "The car is ready now.",
    "My mother cooks for us.",
    "The children paint him pictures.",
    "He laughs more than before.",
    "We will write again.",
    "Keep the key for now.",
    "The cat is well.",
    "I have paid the bill.",
)
Floats = NDArray[np.float64]


@cache
def single_words() -> tuple[str, ...]:
    """Return the illnesses of one word, which both policies can hide alike."""
    return tuple(name for name in class_members(KIND) if name.isalpha() and name.islower())


@cache
def shares() -> Floats:
    """Return how common each of `single_words` is, float64 [n]."""
    names = class_members(KIND)
    common = common_first(len(names))
    found = np.array([common[names.index(name)] for name in single_words()])
    return np.asarray(found / found.sum())


def versions(illness: str, n: int = VERSIONS) -> list[str]:
    """Return the versions of a letter, each one sentence longer."""
    return [" ".join([LETTER.format(illness=illness), *MORE[:k]]) for k in range(n)]


class Growing:
    """The attacker of a growing letter under a policy that draws each word of each version.

    Args:
        sanitizer: with a policy that perturbs words.
    """

    def __init__(self, sanitizer: Sanitizer) -> None:
        self._sanitizer = sanitizer
        self._loaded = sanitizer.inner.models()
        loaded = self._loaded
        self._likelihoods = Likelihoods(loaded.engine)

    def right_after(self, truth: int, n: int, source: Source) -> NDArray[np.bool_]:
        """Return for each number of versions if the best guess is the illness, bool [n].

        Args:
            truth: number of the illness among `single_words`.
        """
        belief = np.log(shares())
        found = np.zeros(n, dtype=bool)
        for k, text in enumerate(versions(single_words()[truth], n)):
            belief = belief + self._seen(text, truth, source)
            found[k] = int(belief.argmax()) == truth
        return found

    def _seen(self, text: str, truth: int, source: Source) -> Floats:
        """Draw one version; return ln P(what was released | each illness), float64 [n]."""
        masked = self._sanitizer.inner.mask(text, SeededSource(1))
        illness = next(i for i in masked.drawn if masked.words[i].text == single_words()[truth])
        scores = public_logits(self._loaded.model, self._loaded.pieces, masked)
        prior = Prior(single_words(), shares(), truth)
        priors = {
            word: prior if word == illness else _alone(masked.words[word].text) for word in scores
        }
        trials = Trials(self._sanitizer, self._likelihoods, priors, source)
        trials.draw(masked)
        return np.asarray(trials.log_likelihoods(illness)[0])


def _alone(word: str) -> Prior:
    return Prior((word,), np.ones(1), 0)


def growing(n_letters: int, n_versions: int = VERSIONS) -> dict[str, Any]:
    """Return the best guess after each number of versions, before and after."""
    attacker = Growing(Sanitizer(policy="words", vault=MemoryVault()))
    random = np.random.default_rng(SEED)
    found = []
    for letter in range(n_letters):
        truth = int(random.choice(len(shares()), p=shares()))
        found.append(attacker.right_after(truth, n_versions, SeededSource(SEED + letter)))
        if letter % 10 == 9:
            say(f"{letter + 1} letters: {np.mean(found, axis=0).round(2).tolist()}")
    hits = np.array(found).sum(axis=0)
    once = once_drawn(_draws(Cape()))
    return {
        "n_letters": n_letters,
        "blind": float(shares().max()),
        "words": [asdict(Rate.of(int(h), n_letters)) for h in hits],
        "guarded": once,
        "guarded, as sent": sent_again(n_versions),
    }


def once_drawn(draws: ClassDraws) -> float:
    """Return how often the best guess from one stand-in is right, exactly."""
    names = class_members(KIND)
    rows = distributions(draws, KIND)[[names.index(name) for name in single_words()]]
    return float((rows * shares()[:, None]).max(axis=0).sum())


def sent_again(n_versions: int) -> dict[str, Any]:
    """Return what leaves of a growing letter under `guarded`."""
    sanitizer = Sanitizer(policy="guarded")
    results = [sanitizer.sanitize(text) for text in versions("asthma", n_versions)]
    shown = {r.replacement for each in results for r in each.replacements if r.kind == KIND}
    return {"stand-ins": len(shown), "epsilon": sanitizer.spent}


def resent(turns: int) -> dict[str, dict[str, Any]]:
    """Return distinct stand-ins and epsilon of a history that is resent and edited."""
    found = {}
    for policy in ("words", "guarded"):
        sanitizer = Sanitizer(policy=policy)
        shown: set[str] = set()
        for turn in range(1, turns + 1):
            history = [f"My brother has asthma. {MORE[k]}" for k in range(turn)]
            history[turn // 2] += " Please."  # one of them is edited before it is sent again
            for result in sanitizer.sanitize_batch(history, together=True):
                shown |= {
                    r.replacement.lower() for r in result.replacements if r.original == "asthma"
                }
        found[policy] = {"stand-ins": len(shown), "epsilon": sanitizer.spent, "turns": turns}
        say(f"resent, {policy}: {found[policy]}")
    return found


def _draws(mechanism: Cape) -> ClassDraws:
    return ClassDraws(mechanism, *Models(None, None).masked())


def linked(draws: ClassDraws, n_linked: int, n_samples: int = LINKED) -> dict[str, Any]:
    """Return how often the best guess is right at one of m things that tell each other.

    Thing j is the member a fixed number of places further in the list; all are of one class, which
    is the worst case: earlier stand-ins are then left out of the later draws.
    """
    names = class_members(KIND)
    n = len(names)
    common = common_first(n)
    partner = [np.roll(np.arange(n), -17 * j) for j in range(n_linked)]
    if n_linked == 1:
        rows = _table(draws, names, ())
        return {"right": float((rows * common[:, None]).max(axis=0).sum())}
    if n_linked == 2:
        first = _table(draws, names, ())
        total = 0.0
        for out in np.flatnonzero(first[0]):
            second = _table(draws, names, (names[out],))[partner[1]]
            joint = common[:, None] * first[:, [out]] * second
            total += float(joint.max(axis=0).sum())
        return {"right": total}
    random = np.random.default_rng(SEED)
    hits = sum(_guessed(draws, names, common, partner, random) for _ in range(n_samples))
    return {"right": hits / n_samples, "interval": asdict(Rate.of(hits, n_samples))}


def _guessed(
    draws: ClassDraws,
    names: Sequence[str],
    common: Floats,
    partner: Sequence[NDArray[np.intp]],
    random: np.random.Generator,
) -> bool:
    truth = int(random.choice(len(names), p=common))
    belief = np.log(common)
    taken: tuple[str, ...] = ()
    for places in partner:
        rows = _table(draws, names, taken)[places]
        out = int(random.choice(len(names), p=rows[truth]))
        with np.errstate(divide="ignore"):
            belief = belief + np.log(rows[:, out])
        taken = (*taken, names[out])
    return int(belief.argmax()) == truth


_TABLES: dict[tuple[float, tuple[str, ...]], Floats] = {}


def _table(draws: ClassDraws, names: Sequence[str], taken: Sequence[str]) -> Floats:
    """Return P(stand-in | member) with some names taken, float64 [n, n]; order does not matter."""
    key = (draws.epsilon, tuple(sorted(taken)))
    if key not in _TABLES:
        rows = np.zeros((len(names), len(names)))
        for i, name in enumerate(names):
            outputs, weights = draws.distribution(KIND, name, taken)
            assert weights is not None
            rows[i, outputs] = weights.probabilities(len(outputs))
        _TABLES[key] = rows
    return _TABLES[key]


def joint(epsilons: Sequence[float], n_samples: int) -> list[dict[str, Any]]:
    """Return the joint guess at linked things for some epsilons."""
    rows = []
    for epsilon in epsilons:
        _TABLES.clear()
        draws = _draws(Cape(epsilon))
        for m in (1, 2, 3) if n_samples else (1, 2):
            rows.append({"epsilon": epsilon, "linked": m, **linked(draws, m, n_samples)})
            say(str(rows[-1]))
    return rows


def main() -> None:
    """Attack, and write results/conversations.json."""
    line = parser(__doc__, "two letters of four versions")
    line.add_argument("--letters", type=int, default=40)
    options = line.parse_args()
    quick = options.quick
    results = {
        "linked": joint((5.0,) if quick else (3.0, 5.0), 0 if quick else LINKED),
        "resent": resent(3 if quick else TURNS),
        "growing": growing(2 if quick else options.letters, 4 if quick else VERSIONS),
    }
    write("conversations", results)


if __name__ == "__main__":
    main()
