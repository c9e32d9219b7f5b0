"""Which setting to use, and how much one text is at risk: both from exact distributions.

The advice is the setting that keeps the most meaning while no attacker succeeds more often than is
tolerated. Nothing is estimated by drawing: meaning, attack and ceiling are exact. The meter
measures single texts for the proxy's page.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from math import nan
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sanitizer.lm.causal import Logits
from sanitizer.lm.masked import MaskedLM
from sanitizer.pipeline.engines import LoadedModels, WordMechanism, engine_for
from sanitizer.pipeline.sanitizer import Sanitizer
from sanitizer.privacy.cape import PROFILES, Cape
from sanitizer.privacy.dyntext import DynText
from sanitizer.progress import progress_bar
from sanitizer.randomness import SYSTEM_RANDOM, Source
from sanitizer.risk.posterior import (
    Likelihoods,
    Prior,
    SameNumbers,
    Vocabulary,
    ceiling,
    check_texts,
    guessed,
    no_private_word,
    public_logits,
    spread,
)
from sanitizer.text.policy import Policy
from sanitizer.text.prompt import DeclaredText

EPSILONS = (2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0)
"""Default choice of epsilons, in nats."""
N_SAMPLES = 3
"""Sample outputs shown with an advice."""
N_ADVICE_WORDS = 24
"""Most private words that an advice measures under each setting."""
N_METER_WORDS = 3
"""Most private words that the meter measures in a text; each takes some 20 ms."""
METER_CANDIDATES = (30, 20)
"""CANDIDATES for the meter: fewer are quicker, and a guesser of fewer words does no worse."""

NOTE = (
    "The samples stay on this machine, so showing them releases nothing; do not send one of them, "
    "and do not choose among them: sanitize the text anew. The advice depends on the private words "
    "it was made from: make it from texts like yours, not from the one you will send."
)
NO_NOISE = "Under this policy all words but identifiers leave as they are: no noise hides them."
NOTHING_PRIVATE = "No private word occurs in this text."
UNCERTIFIED = "This mechanism is not certified, so nothing bounds what its output tells."
MEASURED = (
    "Share of the {n} private words{some} that the best guess gets right, by an attacker who knows "
    "the mechanism and all public words: expected, and at most, if the words are as likely there "
    "as the model thinks."
)


def mechanisms(epsilon: float) -> tuple[WordMechanism, ...]:
    """Return what is compared at one epsilon: the profiles of Cape, and DynText; all certified."""
    return (*(Cape(epsilon, profile=profile) for profile in PROFILES), DynText(epsilon))


@dataclass(frozen=True)
class AdviceSetting:
    """One mechanism, ready for `Sanitizer`, on the texts; means over the private words measured.

    Attributes:
        meaning: expected cosine of the word vectors of word and output, over words that have one.
        kept: probability that the word itself is released.
        attack: exact success of the best guess from one output; None where the ceiling alone rules
            the setting out.
        ceiling: the most that epsilon lets anyone believe in the original, from the public prior.
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
        """Name of mechanism and profile, such as "cape staircase"."""
        profile = f" {self.mechanism.profile}" if isinstance(self.mechanism, Cape) else ""
        return self.mechanism.name + profile

    def within(self, risk: float) -> bool:
        """Return True if ceiling and attack are at most `risk`."""
        return self.attack is not None and max(self.ceiling, self.attack) <= risk

    @property
    def danger(self) -> tuple[float, float, float]:
        """Sort key, safest first."""
        return self.ceiling, 1.0 if self.attack is None else self.attack, -self.meaning

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        figures = dict(vars(self))
        mechanism = figures.pop("mechanism")
        about = {"name": self.name, "variant": mechanism.variant, "settings": mechanism.settings()}
        return {**about, "epsilon": mechanism.epsilon, **figures}


@dataclass(frozen=True)
class Advice:
    """The choice, and what it was chosen from.

    Attributes:
        met: True if any setting keeps both `ceiling` and `attack` within the risk.
        choice: of those that do, the one that keeps the most meaning; if none does, the safest.
        table: all settings, by epsilon.
        prior, worst_prior: mean and largest probability of an original before any output is seen.
        context_alone: share of words that their context gives away with no output seen.
        n_measured: how many of the texts' `n_words` private words, evenly spread, were measured.
        samples: outputs of the choice for the first texts; `note` says how to use them.
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
        """Return plain values for JSON; the samples are sanitized texts."""
        figures = dict(vars(self))
        choice, table = figures.pop("choice"), figures.pop("table")
        return {
            **figures,
            "choice": choice.as_dict(),
            "table": [setting.as_dict() for setting in table],
        }


@dataclass(frozen=True)
class _Case:
    """One private word in its context."""

    prior: Prior
    logits: Logits = field(repr=False)
    cosine: Logits | None = field(repr=False)  # [n_outputs] to each output; None without a vector
    own: NDArray[np.intp] = field(repr=False)  # positions of the outputs that spell the word itself


def advise(
    texts: Sequence[str],
    risk: float,
    policy: Policy | str | Path = "strict",
    *,
    epsilons: Sequence[float] = EPSILONS,
    model: MaskedLM | Path | None = None,
    progress: bool = False,
    source: Source = SYSTEM_RANDOM,
) -> Advice:
    """Choose the setting with the most meaning whose ceiling and attack are at most `risk`.

    Args:
        texts: like those that will be sent.
        risk: tolerated success per word, between 0 and 1.
        policy: as for `Sanitizer`; its mechanism is not used.
        epsilons: to choose from, in nats.
        source: of the samples; replace it in tests only.

    Raises:
        ValueError, TypeError: naming argument and value.
        ModelError, PolicyError: as `Sanitizer.sanitize`.

    Example (with a toy model that has no preferences):
        >>> from sanitizer.testing import SeededSource, ToyBackbone
        >>> toy = ToyBackbone(lambda n, m: np.zeros((n, m), dtype=np.float32))
        >>> texts, source = ["We met in Leeds."], SeededSource(1)
        >>> advice = advise(texts, 0.05, epsilons=(2.0, 4.0), model=toy, source=source)
        >>> advice.met, advice.choice.mechanism.epsilon, advice.n_measured
        (True, 2.0, 2)
    """
    check_texts(texts)
    check_risk(risk, epsilons)
    sanitizer = Sanitizer(Cape(), policy, model=model)
    cases = list(_cases(sanitizer, texts))
    if not cases:
        raise no_private_word(len(texts))
    measured = spread(cases, N_ADVICE_WORDS)
    loaded = sanitizer.inner.models()
    wanted = [mechanism for epsilon in sorted(epsilons) for mechanism in mechanisms(epsilon)]
    most = max(risk, float(np.mean([ceiling(case.prior.p, min(epsilons)) for case in measured])))
    with progress_bar(len(wanted) * len(measured), progress) as advance:
        table = tuple(_measure(each, measured, most, loaded, advance) for each in wanted)
    good = [setting for setting in table if setting.within(risk)]
    choice = max(good, key=lambda s: s.meaning) if good else min(table, key=lambda s: s.danger)
    chosen = Sanitizer(choice.mechanism, sanitizer.policy, model=loaded.model)
    priors = [case.prior for case in measured]
    return Advice(
        risk=risk,
        met=bool(good),
        choice=choice,
        table=table,
        prior=float(np.mean([p.p for p in priors])),
        worst_prior=max(p.p for p in priors),
        context_alone=float(np.mean([p.original_first for p in priors])),
        n_words=len(cases),
        n_measured=len(measured),
        samples=tuple(
            chosen.sanitize(texts[i % len(texts)], fresh=True, source=source).text
            for i in range(N_SAMPLES)
        ),
    )


def check_risk(risk: float, epsilons: Sequence[float]) -> None:
    """Raise ValueError for a risk, or epsilons, to which nothing can be chosen."""
    if isinstance(risk, bool) or not isinstance(risk, (int, float)) or not 0.0 < risk < 1.0:
        raise ValueError(f"risk must be above 0 and below 1, got {risk!r}")
    if not len(epsilons):
        raise ValueError("epsilons must not be empty")


def _cases(sanitizer: Sanitizer, texts: Sequence[str]) -> Iterator[_Case]:
    """Yield every private word of the texts."""
    loaded = sanitizer.inner.models()
    model, vocabulary = loaded.model, Vocabulary(loaded.model)
    everything = np.arange(len(model.outputs))
    for text in texts:
        masked = sanitizer.inner.mask(text, SameNumbers())
        for at, logits in sorted(public_logits(model, loaded.pieces, masked).items()):
            word = masked.words[at].text
            row = model.words.row(word)
            cosine = 1 - model.words.distance(row, everything) if row >= 0 else None
            own = np.flatnonzero(vocabulary.fold == vocabulary.find(word))
            yield _Case(vocabulary.prior(logits, word), logits, cosine, own)


def _measure(
    mechanism: WordMechanism,
    cases: Sequence[_Case],
    most: float,
    loaded: LoadedModels,
    advance: Callable[[int], None],
) -> AdviceSetting:
    """Measure one setting on all cases; attack it only where the mean ceiling is at most `most`."""
    likelihoods = Likelihoods(engine_for(mechanism, loaded.model, loaded.pieces))
    ceilings = np.array([ceiling(case.prior.p, mechanism.epsilon) for case in cases])
    attacked = bool(ceilings.mean() <= most)
    rows: list[tuple[float, float, float]] = []
    for case in cases:
        prior = case.prior if attacked else case.prior.alone
        table = likelihoods.table(prior.words, case.logits)
        p = table.p[prior.truth]
        meaning = nan if case.cosine is None else float(p @ case.cosine[table.outputs])
        kept = float(p[np.isin(table.outputs, case.own)].sum())
        rows.append((meaning, kept, float(guessed(prior, table).sum())))
        advance(1)
    meanings, keeping, attack = np.array(rows).T
    with_vector = meanings[~np.isnan(meanings)]
    return AdviceSetting(
        mechanism=mechanism,
        meaning=float(with_vector.mean()) if len(with_vector) else 0.0,
        kept=float(keeping.mean()),
        attack=float(attack.mean()) if attacked else None,
        ceiling=float(ceilings.mean()),
        worst_ceiling=float(ceilings.max()),
    )


@dataclass(frozen=True)
class Risk:
    """Probabilities that the best guess from one output is the private word, mean over the words.

    Attributes:
        ceiling: the most that epsilon allows if the words are drawn from the model's prior. 1
            without a bound.
        expected: exact for the words of this text under the model's prior; None if not measured. It
            may lie above the ceiling where the words are likelier than the model thinks.
        note: what they mean, in one sentence.
        blind: the same for a guess without the output; None if not measured.
    """

    ceiling: float
    expected: float | None
    note: str
    blind: float | None = None

    def as_dict(self) -> dict[str, float | str | None]:
        """Return plain values for JSON."""
        return asdict(self)


class RiskMeter:
    """Measures texts under one mechanism; one model pass per text. Safe for many threads.

    Example (with a toy model that has no preferences):
        >>> from sanitizer.testing import ToyBackbone
        >>> toy = ToyBackbone(lambda n, m: np.zeros((n, m), dtype=np.float32))
        >>> sanitizer = Sanitizer(Cape(2.0), "strict", model=toy)
        >>> RiskMeter(sanitizer).measure(sanitizer, "of the").note
        'No private word occurs in this text.'
        >>> 0 < RiskMeter(sanitizer).measure(sanitizer, "We met in Leeds.").ceiling < 1
        True
    """

    def __init__(self, sanitizer: Sanitizer) -> None:
        self._mechanism = sanitizer.mechanism
        self._loaded = sanitizer.inner.models()
        self._lock = threading.Lock()

    @cached_property
    def _tools(self) -> tuple[Vocabulary, Likelihoods]:
        return Vocabulary(self._loaded.model), Likelihoods(self._loaded.engine)

    def measure(self, sanitizer: Sanitizer, text: str | DeclaredText) -> Risk:
        """Measure a text under this mechanism and the policy; raise as `Sanitizer.sanitize`."""
        masked = sanitizer.inner.mask(text, SYSTEM_RANDOM)
        if not masked.drawn:
            return Risk(0.0, 0.0, NOTHING_PRIVATE)
        if not self._mechanism.certified:
            return Risk(1.0, None, UNCERTIFIED)
        with self._lock:
            logits = sorted(public_logits(self._loaded.model, self._loaded.pieces, masked).items())
            figures = [
                self._of_word(masked.words[at].text, scores)
                for at, scores in spread(logits, N_METER_WORDS)
            ]
        most, expected = np.mean(figures, axis=0)
        some = f", as measured on {len(figures)} of them," if len(figures) < len(logits) else ""
        return Risk(float(most), float(expected), MEASURED.format(n=len(logits), some=some))

    def _of_word(self, word: str, scores: Logits) -> tuple[float, float]:
        vocabulary, likelihoods = self._tools
        prior = vocabulary.prior(scores, word, METER_CANDIDATES)
        table = likelihoods.table(prior.words, scores)
        return ceiling(prior.p_top, self._mechanism.epsilon), float(guessed(prior, table).sum())
