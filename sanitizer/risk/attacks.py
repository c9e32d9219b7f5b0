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

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sanitizer.lm.masked import batches, centred_rows
from sanitizer.pipeline.engines import MAX_BATCH_TOKENS
from sanitizer.pipeline.masked_text import Choices
from sanitizer.pipeline.sanitizer import Sanitizer
from sanitizer.privacy.weights import check_count
from sanitizer.progress import progress_bar
from sanitizer.randomness import SYSTEM_RANDOM, Source
from sanitizer.risk.posterior import (
    CANDIDATES,
    CANDIDATES_PUBLISHED,
    Likelihoods,
    Prior,
    SameNumbers,
    Trials,
    Vocabulary,
    check_texts,
    mean_ceiling,
    no_private_word,
    public_logits,
)
from sanitizer.storage.vault import MemoryVault

SENDS = (1, 5, 20)
"""Numbers of sends after which the best guess is measured."""
NEAREST = 10
"""Rank up to which the original counts as found, besides the first."""
INFERRED_TRIALS = 20
"""Trials of which the model infers words; each is one model row per word."""
Z_95 = 1.959963984540054
"""Standard deviations within which 95 % of a normal distribution lie."""
Hits = NDArray[np.bool_]


@dataclass(frozen=True)
class Rate:
    """Share of n trials, with the ends of its 95 % Wilson interval.

    The interval is over the draws, not over the choice of texts.
    """

    share: float
    low: float
    high: float
    n: int

    @classmethod
    def of(cls, n_hits: int, n: int) -> Rate:
        """Return the rate of n_hits in n trials.

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

    @classmethod
    def pooled(cls, trials: Iterable[Hits]) -> Rate:
        """Return the rate of several trials together."""
        hits = np.concatenate(list(trials))
        return cls.of(int(hits.sum()), len(hits))


@dataclass(frozen=True)
class TopRates:
    """How often the original is the first, or among the first ten."""

    top_1: Rate
    top_10: Rate

    @classmethod
    def of(cls, ranks: Sequence[NDArray[np.intp]]) -> TopRates:
        """Return the rates of the originals' ranks, which begin at 0."""
        return cls(Rate.pooled(r < 1 for r in ranks), Rate.pooled(r < NEAREST for r in ranks))


@dataclass(frozen=True)
class PosteriorAttack:
    """The best guess from one output, by Bayes' rule.

    Attributes:
        success: the most probable candidate is the original.
        context_alone: share of positions that the prior alone gets right, no output seen.
        prior, belief: mean probability of the original before and after the output.
        belief_ceiling: mean of what epsilon allows `belief` to be; None if not certified.
        success_ceiling: the same of `success`, if the words are drawn from the prior. Where they
            are likelier than the model thinks, `success` and `context_alone` may lie above it.
        n_candidates: mean number of words the attacker weighs at a position: the likeliest there,
            those nearest to the original, and the original. Weighing all does no better.
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
        fresh, remembered: success if each send is drawn anew, or repeats the first.
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
        n_words: private words attacked (with `consistent`, distinct ones).
        n_trials: draws of each text.
        n_outside: private words outside Y, which inference never names.
        n_unmeasured: those without a vector, found by `nearest` only where released as they are.
        nearest, inference: attacks by word vectors, and by the masked LM.
        posterior, repeated: best guess from one output, and from several sends.
        remembered_outputs: most distinct outputs of one text in one conversation.
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
    mapping_size: float
    retention: Rate

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return asdict(self)


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
    with progress_bar(len(texts) * n_trials, progress) as advance:
        found = [word for text in texts for word in attacker.attack(text, advance)]
    if not found:
        raise no_private_word(len(texts))
    mechanism, priors = sanitizer.mechanism, [word.prior for word in found]
    epsilon = mechanism.epsilon if mechanism.certified else None
    success = {
        sends: Rate.pooled(word.guesses[sends] for word in found) for sends in found[0].guesses
    }
    top = [prior.p_top for prior in priors]
    # Sent again in one conversation, a text leaves as before.
    conversation = sanitizer.derive(vault=MemoryVault(), charged=False)
    remembered = max(
        len({conversation.sanitize(text, source=source).text for _ in range(max(SENDS))})
        for text in texts
    )
    return AttackReport(
        mechanism=mechanism.name,
        variant=mechanism.variant,
        epsilon=mechanism.epsilon,
        certified=mechanism.certified,
        policy=sanitizer.policy.name,
        n_texts=len(texts),
        n_words=len(found),
        n_trials=n_trials,
        n_outside=sum(word.outside for word in found),
        n_unmeasured=sum(word.unmeasured for word in found),
        nearest=TopRates.of([word.near for word in found]),
        inference=TopRates.of([word.inferred for word in found]),
        posterior=PosteriorAttack(
            success=success[1],
            context_alone=float(np.mean([prior.original_first for prior in priors])),
            prior=float(np.mean([prior.p for prior in priors])),
            belief=float(np.mean([word.belief for word in found])),
            belief_ceiling=mean_ceiling([prior.p for prior in priors], epsilon),
            success_ceiling=mean_ceiling(top, epsilon),
            n_candidates=float(np.mean([len(prior.words) for prior in priors])),
        ),
        # With the memory every send repeats the first, so all sends together are one output.
        repeated=tuple(
            RepeatedSends(sends, rate, success[1], mean_ceiling(top, epsilon and sends * epsilon))
            for sends, rate in success.items()
        ),
        remembered_outputs=remembered,
        mapping_size=float(np.mean([word.n_distinct for word in found])),
        retention=Rate.pooled(word.kept for word in found),
    )


@dataclass(frozen=True, eq=False)
class _Found:
    """The trials of one private word."""

    n_distinct: int  # outputs
    kept: Hits  # [n_trials], where the word itself was released
    near: NDArray[np.intp]  # [n_trials], rank of the original among the words nearest to the output
    inferred: NDArray[np.intp]  # [at most INFERRED_TRIALS], its rank by inference
    guesses: dict[int, Hits]  # sends -> [n_trials // sends], where the best guess is right
    prior: Prior
    belief: float  # mean probability of the original after one output
    outside: bool  # not in Y
    unmeasured: bool  # without a vector


class _Attacker:
    """The setting under attack, loaded."""

    def __init__(self, sanitizer: Sanitizer, n_trials: int, source: Source) -> None:
        self._sanitizer, self._n_trials, self._source = sanitizer, n_trials, source
        self._loaded = sanitizer.inner.models()
        published = sanitizer.mechanism.variant == "published"
        self._candidates = CANDIDATES_PUBLISHED if published else CANDIDATES
        self._likelihoods = Likelihoods(self._loaded.engine)
        self._vocabulary = Vocabulary(self._loaded.model)

    def attack(self, text: str, advance: Callable[[int], None]) -> Iterator[_Found]:
        """Attack every drawn word of one text."""
        masked = self._sanitizer.inner.mask(text, SameNumbers())
        if not masked.drawn:
            advance(self._n_trials)
            return
        model, private = self._loaded.model, [unit.text for unit in masked.words]
        logits = public_logits(model, self._loaded.pieces, masked)
        priors = {
            word: self._vocabulary.prior(logits[word], private[word], self._candidates)
            for word in masked.drawn
        }
        trials = Trials(self._sanitizer, self._likelihoods, priors, self._source)
        ranks: list[dict[int, int]] = []
        for number in range(self._n_trials):
            released = trials.draw(self._sanitizer.inner.mask(text, SameNumbers()))
            if number < INFERRED_TRIALS:
                ranks.append(self._infer(released))
            advance(1)
        for word in masked.drawn:
            original, prior = private[word], priors[word]
            outputs = [self._loaded.engine.space.text(each) for each in trials.outputs[word]]
            logs = trials.log_likelihoods(word)
            scores = np.log(prior.mass) + logs
            odds = np.exp(scores - scores.max(axis=1, keepdims=True))
            yield _Found(
                n_distinct=len(set(outputs)),
                kept=np.array([output.lower() == original.lower() for output in outputs]),
                near=self._vocabulary.ranks(original, outputs, private),
                inferred=np.array([each[word] for each in ranks]),
                guesses={
                    sends: _guesses(prior, logs, sends)
                    for sends in SENDS
                    if sends <= self._n_trials
                },
                belief=float((odds[:, prior.truth] / odds.sum(axis=1)).mean()),
                prior=prior,
                outside=self._vocabulary.find(original) < 0,
                unmeasured=model.words.row(original) < 0,
            )

    def _infer(self, released: Choices) -> dict[int, int]:
        """Return word -> rank of the original in Y, from 0, with the released word masked."""
        model, pieces = self._loaded.model, self._loaded.pieces
        words, places = np.array(released.masked.drawn, dtype=np.intp), released.masked.slots
        planned = list(
            centred_rows(0, released.ids, places, places + 1, words, pieces.mask, model.max_length)
        )
        return {
            word: self._vocabulary.rank(row, released.masked.words[word].text)
            for batch in batches(planned, (pieces.cls, pieces.sep), MAX_BATCH_TOKENS)
            for (_, word), row in zip(
                batch.units, model.logits(batch.ids, batch.lengths, batch.at), strict=True
            )
        }


def _guesses(prior: Prior, logs: NDArray[np.float64], sends: int) -> Hits:
    n_groups = len(logs) // sends
    together = logs[: n_groups * sends].reshape(n_groups, sends, -1).sum(axis=1)
    return np.asarray((np.log(prior.mass) + together).argmax(axis=1) == prior.truth)
