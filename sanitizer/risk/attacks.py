"""Attacks that a user can run on a setting before trusting it.

Nothing leaves the machine, and nothing is charged. The attacker knows the mechanism, its settings
and the public words. For each private word, over fresh draws:

- nearest: the original is among the 1 or 10 words nearest to the released one, by word vectors;
- inference: our own masked LM, asked for the word at its position in the released text, names it;
- posterior: it is the most probable word given the output, by exact likelihoods, a public prior;
- repeated: the same from several sends of one text, with and without the conversation memory.

The output is described by the effective mapping set size S_t and the retention N_t. Every position
is attacked by itself: what several occurrences of one word, or words that go together, give away
between them is not measured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sanitizer.lm import batches, centred_rows
from sanitizer.pipeline import MAX_BATCH_TOKENS, Choices, Sanitizer
from sanitizer.privacy import check_count
from sanitizer.progress import progress_bar
from sanitizer.randomness import SYSTEM_RANDOM, Source
from sanitizer.risk.posterior import (
    CANDIDATES,
    CANDIDATES_PUBLISHED,
    Floats,
    Likelihoods,
    Nearest,
    Prior,
    SameNumbers,
    Trials,
    Vocabulary,
    ceiling,
    check_texts,
    no_private_word,
    public_logits,
)
from sanitizer.storage import MemoryVault
from sanitizer.text import word_spans

SENDS = (1, 5, 20)
"""Numbers of sends after which the best guess is measured."""
NEAREST = 10
"""Rank up to which the original counts as found, besides the first."""
INFERRED_TRIALS = 20
"""Trials of which the model infers words; each is one model row per word."""
Hits = NDArray[np.bool_]
Z_95 = 1.959963984540054
"""Standard deviations within which 95 % of a normal distribution lie."""


@dataclass(frozen=True)
class Rate:
    """Share of n trials, with its 95 % Wilson interval.

    The interval is over the draws, not over the choice of texts.

    Attributes:
        share: of the trials that were hits.
        low: lower end of the interval.
        high: upper end of the interval.
        n: number of trials.
    """

    share: float
    low: float
    high: float
    n: int

    @classmethod
    def of(cls, n_hits: int, n: int) -> Rate:
        """Return the rate of n_hits in n trials.

        Raises:
            ValueError: unless 0 <= n_hits <= n and n >= 1.

        Example:
            >>> rate = Rate.of(5, 10)
            >>> rate.share, round(rate.low, 3), round(rate.high, 3)
            (0.5, 0.237, 0.763)
        """
        if n < 1 or not 0 <= n_hits <= n:
            raise ValueError(
                f"n_hits must be from 0 to n and n at least 1, got {n_hits!r} of {n!r}"
            )
        share, z2 = n_hits / n, Z_95**2
        centre = (share + z2 / (2 * n)) / (1 + z2 / n)
        half = Z_95 * sqrt(share * (1 - share) / n + z2 / (4 * n * n)) / (1 + z2 / n)
        low = 0.0 if n_hits == 0 else max(0.0, centre - half)
        return cls(share, low, 1.0 if n_hits == n else min(1.0, centre + half), n)


@dataclass(frozen=True)
class TopRates:
    """How often the original is the first, or among the first ten."""

    top_1: Rate
    top_10: Rate


@dataclass(frozen=True)
class PosteriorAttack:
    """The best guess from one output, by Bayes' rule.

    Attributes:
        success: the most probable candidate is the original.
        context_alone: share of positions that the prior alone gets right, no output seen.
        prior: mean probability of the original before the output.
        belief: mean probability of the original after the output.
        belief_ceiling: mean over positions of what epsilon allows `belief` to be; None if not
            certified.
        success_ceiling: mean over positions of what epsilon allows `success` to be where the
            private words are drawn from the prior; None if not certified. Where the texts' words
            are likelier than the model thinks, `success` may lie above it, as `context_alone` then
            does.
        n_candidates: mean number of words the attacker weighs at a position: the likeliest there,
            those nearest to the original, and the original, so an attacker who must weigh all words
            does no better.
    """

    success: Rate
    context_alone: float
    prior: float
    belief: float
    belief_ceiling: float | None
    success_ceiling: float | None
    n_candidates: float


@dataclass(frozen=True)
class RepeatedSends:
    """The best guess from several sends of one text.

    Attributes:
        sends: how many.
        fresh: success if each send is drawn anew.
        remembered: success if each send repeats the first, from the memory.
        success_ceiling: for fresh draws, at sends * epsilon; None if not certified.
    """

    sends: int
    fresh: Rate
    remembered: Rate
    success_ceiling: float | None


@dataclass(frozen=True)
class AttackReport:
    """Results of all attacks; holds no text.

    Attributes:
        mechanism, variant, epsilon, certified, policy: what was attacked.
        n_texts: how many texts.
        n_words: private words attacked (with `consistent`, distinct ones).
        n_trials: draws of each text.
        n_outside: private words outside Y: inference never names them, the posterior still weighs
            them.
        n_unmeasured: private words without a vector: found by `nearest` only where released as they
            are.
        nearest: attack by word vectors.
        inference: attack by the masked LM.
        posterior: best guess from one output.
        repeated: best guess from several sends.
        remembered_outputs: most distinct outputs of one text in one conversation, over as many
            sends as attacked.
        rouge_l: mean Rouge-L F1 of text and output, over the trials that were inferred.
        mapping_size: S_t, mean number of distinct outputs of a word over the trials.
        retention: N_t, the word itself is released. Compared without case, like every hit.
    """

    mechanism: str
    variant: str
    epsilon: float
    certified: bool
    policy: str
    n_texts: int
    n_words: int
    n_trials: int
    n_outside: int
    n_unmeasured: int
    nearest: TopRates
    inference: TopRates
    posterior: PosteriorAttack
    repeated: tuple[RepeatedSends, ...]
    remembered_outputs: int
    rouge_l: float
    mapping_size: float
    retention: Rate

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return asdict(self)


@dataclass(frozen=True)
class Published:
    """One figure as its paper prints it, measured on other data with other models.

    Attributes:
        mechanism: as the paper names it.
        data: what it was measured on.
        measure: what `value` is.
        epsilon: nominal, as printed; not the epsilon of the code (docs/guarantees.md).
        value: of `measure`; percent or a share, as the measure says.
        status: why it cannot be compared directly.
    """

    mechanism: str
    data: str
    measure: str
    epsilon: float
    value: float
    status: str = "published, other data"


def _published(
    mechanism: str, data: str, measure: str, figures: dict[float, float]
) -> tuple[Published, ...]:
    """Return one figure for each epsilon."""
    return tuple(
        Published(mechanism, data, measure, epsilon, value) for epsilon, value in figures.items()
    )


PUBLISHED: tuple[Published, ...] = (
    *_published(
        "Cape (BERT)",
        "SST-2",
        "top-10 nearest attack, % not found",
        {1: 94.40, 2: 92.56, 3: 90.34, 6: 80.54, 10: 67.74, 14: 40.80, 20: 9.07},
    ),
    *_published(
        "Cape (BERT)",
        "SST-2",
        "Rouge-L F1, %",
        {1: 38.38, 2: 39.20, 3: 40.86, 6: 46.85, 10: 60.22, 14: 76.49, 20: 92.03},
    ),
    *_published("DynText", "IMDb", "attack success, share", {1: 0.00008, 2: 0.00008, 3: 0.00007}),
)


def run_attacks(
    sanitizer: Sanitizer,
    texts: Sequence[str],
    n_trials: int = 100,
    *,
    progress: bool = False,
    source: Source = SYSTEM_RANDOM,
) -> AttackReport:
    """Attack every private word of the texts, as the sanitizer would release them.

    Numbers are replaced by the same number in every trial: they are independent of everything
    private. With context "original" the attacker knows every other word of the text.

    Args:
        sanitizer: its budget, ledger and memory are left alone.
        texts: like those that will be sent.
        n_trials: draws of each text; repeated sends are attacked for as many sends as there are
            trials.
        progress: show a bar on standard error.
        source: of the draws; replace it in tests only.

    Raises:
        ValueError: n_trials below 1, no private word in the texts, or a mechanism without exact
            probabilities.
        TypeError: one str for texts.
        ModelError, PolicyError: as `Sanitizer.sanitize`.

    Example (with a toy model that has no preferences):
        >>> from sanitizer import Cape, Sanitizer
        >>> from sanitizer.testing import SeededSource, ToyBackbone
        >>> toy = ToyBackbone(lambda n, m: np.zeros((n, m), dtype=np.float32))
        >>> sanitizer = Sanitizer(Cape(2.0), "strict", model=toy)
        >>> report = run_attacks(sanitizer, ["We met in Leeds."], 5, source=SeededSource(1))
        >>> report.n_words, report.n_trials, report.remembered_outputs
        (2, 5, 1)
        >>> report.posterior.belief <= report.posterior.belief_ceiling
        True
    """
    check_count("n_trials", n_trials)
    check_texts(texts)
    attacker = _Attacker(sanitizer, n_trials, source)
    found: list[_Found] = []
    with progress_bar(len(texts) * n_trials, progress) as advance:
        for text in texts:
            found += attacker.attack(text, advance)
    if not found:
        raise no_private_word(len(texts))
    remembered = _remembered_outputs(sanitizer, texts, source)
    return _report(
        sanitizer, len(texts), n_trials, found, remembered, float(np.mean(attacker.rouge))
    )


@dataclass(frozen=True, eq=False)
class _Found:
    """The trials of one private word: bool arrays [n_trials], unless said otherwise.

    Attributes:
        kept: the word itself was released.
        nearest: the original is the first, and among the first ten.
        inferred: the same by inference, bool [at most INFERRED_TRIALS].
        guesses: for each number of sends, bool [n_trials // sends].
        belief: mean probability of the original after one output.
        prior: belief before the output.
        n_distinct: number of distinct outputs.
        outside: the word is not in Y.
        unmeasured: the word has no vector.
    """

    kept: Hits
    nearest: tuple[Hits, Hits]
    inferred: tuple[Hits, Hits]
    guesses: dict[int, Hits]
    belief: float
    prior: Prior
    n_distinct: int
    outside: bool
    unmeasured: bool


class _Attacker:
    """The setting under attack, loaded.

    Attributes:
        rouge: Rouge-L of each trial that was inferred.
    """

    def __init__(self, sanitizer: Sanitizer, n_trials: int, source: Source) -> None:
        loaded = sanitizer.inner.models()
        self._sanitizer = sanitizer
        self._loaded = loaded
        self._source = source
        self._n_trials = n_trials
        published = sanitizer.mechanism.variant == "published"
        self._candidates = CANDIDATES_PUBLISHED if published else CANDIDATES
        self._likelihoods = Likelihoods(
            loaded.engine, sanitizer.mechanism, loaded.model, loaded.pieces
        )
        self._vocabulary = Vocabulary(loaded.model)
        self._nearest = Nearest(loaded.model, self._vocabulary)
        self.rouge: list[float] = []

    def attack(self, text: str, advance: Callable[[int], None]) -> list[_Found]:
        """Attack every drawn word of one text."""
        masked = self._sanitizer.inner.mask(text, SameNumbers())
        if not masked.drawn:
            advance(self._n_trials)
            return []
        scores = public_logits(self._loaded.model, self._loaded.pieces, masked)
        priors = {
            word: self._nearest.prior(scores[word], masked.words[word].text, self._candidates)
            for word in masked.drawn
        }
        trials = Trials(self._sanitizer, self._likelihoods, priors, self._source)
        ranks: list[dict[int, int]] = []
        for number in range(self._n_trials):
            released = trials.draw(self._sanitizer.inner.mask(text, SameNumbers()))
            if number < INFERRED_TRIALS:
                ranks.append(self._infer(released))
                self.rouge.append(rouge_l(text, released.finish()[0]))
            advance(1)
        private = [unit.text for unit in masked.words]
        return [
            self._found(word, private, trials, priors[word], [r[word] for r in ranks])
            for word in masked.drawn
        ]

    def _infer(self, released: Choices) -> dict[int, int]:
        """Return word -> rank of the original in Y, from 0, with the released word masked."""
        model, pieces = self._loaded.model, self._loaded.pieces
        words = np.array(released.masked.drawn, dtype=np.intp)
        places = released.masked.slots
        planned = list(
            centred_rows(0, released.ids, places, places + 1, words, pieces.mask, model.max_length)
        )
        ranks: dict[int, int] = {}
        for batch in batches(planned, (pieces.cls, pieces.sep), MAX_BATCH_TOKENS):
            scores = model.logits(batch.ids, batch.lengths, batch.at)
            for (_, word), row in zip(batch.units, scores, strict=True):
                ranks[word] = self._vocabulary.rank(row, released.masked.words[word].text)
        return ranks

    def _found(
        self, word: int, private: list[str], trials: Trials, prior: Prior, ranks: list[int]
    ) -> _Found:
        """Evaluate all trials of one word."""
        original, space = private[word], self._loaded.engine.space
        outputs = [space.text(output) for output in trials.outputs[word]]
        near = self._nearest.ranks(original, outputs, private)
        logs = trials.log_likelihoods(word)
        placed = np.array(ranks)
        return _Found(
            kept=np.array([output.lower() == original.lower() for output in outputs]),
            nearest=(near < 1, near < NEAREST),
            inferred=(placed < 1, placed < NEAREST),
            guesses={
                sends: _guesses(prior, logs, sends) for sends in SENDS if sends <= self._n_trials
            },
            belief=float(_beliefs(prior, logs)[:, prior.truth].mean()),
            prior=prior,
            n_distinct=len(set(outputs)),
            outside=self._vocabulary.find(original) < 0,
            unmeasured=self._loaded.model.words.row(original) < 0,
        )


def _guesses(prior: Prior, logs: Floats, sends: int) -> Hits:
    """Return True where the best guess from `sends` outputs is right, bool [n_trials // sends]."""
    n_groups = len(logs) // sends
    together = logs[: n_groups * sends].reshape(n_groups, sends, -1).sum(axis=1)
    hits: Hits = (np.log(prior.mass) + together).argmax(axis=1) == prior.truth
    return hits


def _beliefs(prior: Prior, logs: Floats) -> Floats:
    """Return P(candidate | one output), float64 [n_trials, n_candidates]."""
    scores = np.log(prior.mass) + logs
    odds = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(odds / odds.sum(axis=1, keepdims=True))


def rouge_l(original: str, released: str) -> float:
    """Return Rouge-L F1 of two texts, by their longest common subsequence of words, without case.

    Source: Lin, "ROUGE: A Package for Automatic Evaluation of Summaries" (2004).

    Example:
        >>> rouge_l("We met in Leeds", "we met in Paris")
        0.75
    """
    first, second = (
        [text[a:b].lower() for a, b in word_spans(text)] for text in (original, released)
    )
    if not first or not second:
        return float(first == second)
    row = [0] * (len(second) + 1)
    for word in first:
        left = diagonal = 0
        for j, other in enumerate(second, 1):
            above = row[j]
            left = diagonal + 1 if word == other else max(left, above)
            row[j], diagonal = left, above
    return 2 * row[-1] / (len(first) + len(second))


def _remembered_outputs(sanitizer: Sanitizer, texts: Sequence[str], source: Source) -> int:
    """Return the most distinct outputs of one text in one remembered conversation."""
    conversation = sanitizer.derive(vault=MemoryVault(), charged=False)
    return max(
        len({conversation.sanitize(text, source=source).text for _ in range(max(SENDS))})
        for text in texts
    )


def _report(
    sanitizer: Sanitizer,
    n_texts: int,
    n_trials: int,
    found: list[_Found],
    remembered: int,
    rouge: float,
) -> AttackReport:
    """Pool the trials of all words."""
    mechanism = sanitizer.mechanism
    epsilon = mechanism.epsilon if mechanism.certified else None
    return AttackReport(
        mechanism=mechanism.name,
        variant=mechanism.variant,
        epsilon=mechanism.epsilon,
        certified=mechanism.certified,
        policy=sanitizer.policy.name,
        n_texts=n_texts,
        n_words=len(found),
        n_trials=n_trials,
        n_outside=sum(f.outside for f in found),
        n_unmeasured=sum(f.unmeasured for f in found),
        nearest=TopRates(
            _pooled(f.nearest[0] for f in found), _pooled(f.nearest[1] for f in found)
        ),
        inference=TopRates(
            _pooled(f.inferred[0] for f in found), _pooled(f.inferred[1] for f in found)
        ),
        posterior=_posterior_attack(found, epsilon),
        repeated=tuple(_repeated_sends(found, sends, epsilon) for sends in found[0].guesses),
        remembered_outputs=remembered,
        rouge_l=rouge,
        mapping_size=float(np.mean([f.n_distinct for f in found])),
        retention=_pooled(f.kept for f in found),
    )


def _posterior_attack(found: list[_Found], epsilon: float | None) -> PosteriorAttack:
    """Pool the best guesses from one output."""
    priors = [f.prior for f in found]
    return PosteriorAttack(
        success=_pooled(f.guesses[1] for f in found),
        context_alone=float(np.mean([p.original_first for p in priors])),
        prior=float(np.mean([p.p for p in priors])),
        belief=float(np.mean([f.belief for f in found])),
        belief_ceiling=None
        if epsilon is None
        else float(np.mean([ceiling(p.p, epsilon) for p in priors])),
        success_ceiling=_success_ceiling(found, epsilon),
        n_candidates=float(np.mean([len(p.words) for p in priors])),
    )


def _repeated_sends(found: list[_Found], sends: int, epsilon: float | None) -> RepeatedSends:
    """Pool the best guesses from several sends."""
    allowed = None if epsilon is None else _success_ceiling(found, sends * epsilon)
    fresh = _pooled(f.guesses[sends] for f in found)
    # With the memory every send repeats the first, so all sends together are one output.
    remembered = _pooled(f.guesses[1] for f in found)
    return RepeatedSends(sends, fresh, remembered, allowed)


def _success_ceiling(found: list[_Found], epsilon: float | None) -> float | None:
    """Return the mean of what epsilon allows the best guess; None without epsilon."""
    return (
        None
        if epsilon is None
        else float(np.mean([ceiling(f.prior.p_top, epsilon) for f in found]))
    )


def _pooled(hits: Iterable[Hits]) -> Rate:
    """Return the rate of all hits together."""
    together = np.concatenate(list(hits))
    return Rate.of(int(together.sum()), len(together))
