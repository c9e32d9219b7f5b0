"""Which setting to use: the one that keeps the most meaning while no attacker succeeds more often
than is tolerated.

Nothing is estimated by drawing: meaning, attack and ceiling follow from the exact distributions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import isfinite, nan
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sanitizer.lm import MaskedLM, WordPieces
from sanitizer.pipeline import Sanitizer, WordMechanism, engine_for
from sanitizer.privacy import Cape, DynText
from sanitizer.progress import progress_bar
from sanitizer.randomness import SYSTEM_RANDOM, Source
from sanitizer.risk.attacks import SameNumbers
from sanitizer.risk.posterior import (
    Likelihood,
    Likelihoods,
    Logits,
    Nearest,
    Prior,
    Vocabulary,
    ceiling,
    guessed,
    public_logits,
)
from sanitizer.text import Policy

EPSILONS = (2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0)
CANDIDATES = (200, 100)  # as in the attacks
MAX_WORDS = 24
N_SAMPLES = 3
NOTE = (
    "The samples stay on this machine, so showing them releases nothing; do not send one of them, and do not choose "
    "among them: sanitize the text anew. The advice depends on the private words it was made from: make it from "
    "texts like yours, not from the one you will send."
)


def mechanisms(epsilon: float) -> tuple[WordMechanism, ...]:
    """What is compared at one epsilon: Cape's three profiles in their default shapes, and DynText;
    all certified.
    """
    return (
        Cape(epsilon),
        Cape(epsilon, profile="geometric"),
        Cape(epsilon, profile="prior"),
        DynText(epsilon),
    )


@dataclass(frozen=True)
class AdviceSetting:
    """One mechanism on the texts; means over the private words measured.

    Attributes:
        mechanism: ready for `Sanitizer`.
        meaning: expected cosine of the word vectors of word and output, over words that have one.
        kept: probability that the word itself is released.
        attack: success of the best guess from one output (`PosteriorAttack.success`), exact; None
            where the ceiling alone rules the setting out.
        ceiling: the most that epsilon lets anyone believe in the original, from the public prior;
            mean over words.
        worst_ceiling: the same for the word that its context gives away most.
    """

    mechanism: WordMechanism
    meaning: float
    kept: float
    attack: float | None
    ceiling: float
    worst_ceiling: float

    @property
    def name(self) -> str:
        """Such as "cape staircase"."""
        mechanism = self.mechanism
        return (
            f"{mechanism.name} {mechanism.profile}"
            if isinstance(mechanism, Cape)
            else mechanism.name
        )

    def within(self, risk: float) -> bool:
        """Whether ceiling and attack are at most `risk`."""
        return self.attack is not None and max(self.ceiling, self.attack) <= risk

    @property
    def danger(self) -> tuple[float, float, float]:
        """To sort by: the ceiling, then the attack, then the meaning lost."""
        return self.ceiling, 1.0 if self.attack is None else self.attack, -self.meaning

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        mechanism = self.mechanism
        about = {"name": self.name, "variant": mechanism.variant, "settings": mechanism.settings()}
        names = ("meaning", "kept", "attack", "ceiling", "worst_ceiling")
        return {
            **about,
            "epsilon": mechanism.epsilon,
            **{name: getattr(self, name) for name in names},
        }


@dataclass(frozen=True)
class Advice:
    """The choice, and what it was chosen from.

    Attributes:
        risk: tolerated attack success per word.
        met: whether any setting keeps both `ceiling` and `attack` within the risk.
        choice: of those that do, the one that keeps the most meaning; if none does, the safest.
        table: all settings, by epsilon.
        prior, worst_prior: mean and largest probability of the originals before any output is seen.
        context_alone: share of words that their context gives away with no output seen.
        n_words, n_measured: private words, and how many of them, evenly spread, were measured.
        samples: outputs of the choice for the first texts; see `note`.
    """

    risk: float
    met: bool
    choice: AdviceSetting
    table: tuple[AdviceSetting, ...]
    prior: float
    worst_prior: float
    context_alone: float
    n_words: int
    n_measured: int
    samples: tuple[str, ...] = field(repr=False)
    note: str = field(default=NOTE, repr=False)

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON; the samples are sanitized texts."""
        names = (
            "risk",
            "met",
            "prior",
            "worst_prior",
            "context_alone",
            "n_words",
            "n_measured",
            "samples",
            "note",
        )
        table = [setting.as_dict() for setting in self.table]
        return {
            **{n: getattr(self, n) for n in names},
            "choice": self.choice.as_dict(),
            "table": table,
        }


@dataclass(frozen=True)
class _Case:
    """One private word.

    Attributes:
        prior: from the released context; the original is among its words. logits: that context's
            scores.
        cosine: float32 [n_outputs] to each output; None without a vector.
        own: places among the outputs that spell the word itself.
    """

    prior: Prior
    logits: Logits = field(repr=False)
    cosine: Logits | None = field(repr=False)
    own: NDArray[np.intp] = field(repr=False)


def advise(
    texts: Sequence[str],
    risk: float,
    policy: Policy | str | Path = "balanced",
    *,
    epsilons: Sequence[float] = EPSILONS,
    model: MaskedLM | Path | None = None,
    progress: bool = False,
    source: Source = SYSTEM_RANDOM,
) -> Advice:
    """The setting with the most meaning whose ceiling and measured attack are at most `risk`.

    Args:
        texts: like those that will be sent. risk: tolerated success per word, between 0 and 1.
        policy: as for `Sanitizer`; its mechanism is not used. epsilons: to choose from, in nats.
        model: as for `Sanitizer`. progress: a bar on standard error.
        source: of the samples; replace it in tests only.

    Raises:
        ValueError: naming argument and value. TypeError: one str for texts. Others as
            `Sanitizer.sanitize`.
    """
    _check(texts, risk, epsilons)
    sanitizer = Sanitizer(Cape(), policy, model=model)
    cases = _cases(sanitizer, texts)
    if not cases:
        raise ValueError(
            f"texts must have at least one private word, got {len(texts)} texts without"
        )
    measured = cases[:: -(-len(cases) // MAX_WORDS)]
    models = sanitizer.inner.models()
    wanted = [mechanism for epsilon in sorted(epsilons) for mechanism in mechanisms(epsilon)]
    most = max(risk, _ceilings(measured, min(epsilons)).mean())
    with progress_bar(len(wanted) * len(measured), progress) as advance:
        table = tuple(
            _measure(m, measured, most, models.model, models.pieces, advance) for m in wanted
        )
    good = [setting for setting in table if setting.within(risk)]
    choice = max(good, key=lambda s: s.meaning) if good else min(table, key=lambda s: s.danger)
    chosen = Sanitizer(choice.mechanism, sanitizer.policy, model=models.model)
    priors = [case.prior for case in measured]
    return Advice(
        risk=risk,
        met=bool(good),
        choice=choice,
        table=table,
        prior=float(np.mean([p.p for p in priors])),
        worst_prior=max(p.p for p in priors),
        context_alone=float(np.mean([int(p.mass.argmax()) == p.truth for p in priors])),
        n_words=len(cases),
        n_measured=len(measured),
        samples=tuple(
            chosen.sanitize(texts[i % len(texts)], fresh=True, source=source).text
            for i in range(N_SAMPLES)
        ),
    )


def _check(texts: Sequence[str], risk: float, epsilons: Sequence[float]) -> None:
    if isinstance(texts, str):
        raise TypeError("texts must be a sequence of str, got one str")
    if (
        isinstance(risk, bool)
        or not isinstance(risk, (int, float))
        or not (isfinite(risk) and 0.0 < risk < 1.0)
    ):
        raise ValueError(f"risk must be above 0 and below 1, got {risk!r}")
    if not len(epsilons):
        raise ValueError("epsilons must not be empty")


def _cases(sanitizer: Sanitizer, texts: Sequence[str]) -> list[_Case]:
    """Every private word of the texts."""
    models = sanitizer.inner.models()
    model, vocabulary = models.model, Vocabulary(models.model)
    nearest, everything = Nearest(model, vocabulary), np.arange(len(model.outputs))
    n_likely, n_near = CANDIDATES
    found: list[_Case] = []
    for text in texts:
        masked = sanitizer.inner.mask(text, SameNumbers())
        for at, logits in sorted(public_logits(model, models.pieces, masked).items()):
            word = masked.words[at].text
            row = model.words.row(word)
            prior = vocabulary.prior(logits, word, n_likely, nearest.places(word, n_near))
            cosine = 1 - model.words.distance(row, everything) if row >= 0 else None
            own = np.flatnonzero(vocabulary.fold == vocabulary.find(word))
            found.append(_Case(prior, logits, cosine, own))
    return found


def _ceilings(cases: Sequence[_Case], epsilon: float) -> NDArray[np.float64]:
    return np.array([ceiling(case.prior.p, epsilon) for case in cases])


def _measure(
    mechanism: WordMechanism,
    cases: Sequence[_Case],
    most: float,
    model: MaskedLM,
    pieces: WordPieces,
    advance: Callable[[int], None],
) -> AdviceSetting:
    """One setting on all cases; attacked only where the mean ceiling is at most `most`."""
    likelihoods = Likelihoods(engine_for(mechanism, model, pieces), mechanism, model, pieces)
    ceilings = _ceilings(cases, mechanism.epsilon)
    attacked = bool(ceilings.mean() <= most)
    rows: list[tuple[float, float, float]] = []
    for case in cases:
        prior = case.prior if attacked else case.prior.alone
        rows.append(_figures(case, prior, likelihoods.table(prior.words, case.logits)))
        advance(1)
    meaning, kept, attack = np.array(rows).T
    known = meaning[~np.isnan(meaning)]
    return AdviceSetting(
        mechanism=mechanism,
        meaning=float(known.mean()) if len(known) else 0.0,
        kept=float(kept.mean()),
        attack=float(attack.mean()) if attacked else None,
        ceiling=float(ceilings.mean()),
        worst_ceiling=float(ceilings.max()),
    )


def _figures(case: _Case, prior: Prior, table: Likelihood) -> tuple[float, float, float]:
    """(expected cosine or nan, probability of the word itself, success of the best guess)."""
    p = table.p[prior.truth]
    meaning = nan if case.cosine is None else float(p @ case.cosine[table.outputs])
    return (
        meaning,
        float(p[np.isin(table.outputs, case.own)].sum()),
        float(guessed(prior, table).sum()),
    )
