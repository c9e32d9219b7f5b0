"""Fresh draws of one text for the attacks, made by the pipeline's own stages; nothing is charged or
remembered.

Attacks that a user can run on a setting before trusting it. Nothing leaves the machine, and nothing
is charged.

The attacker knows the mechanism, its settings and the public words. For each private word, over
fresh draws:
  nearest     the original is among the 1 or 10 words nearest to the released one, by word vectors
  inference   our own masked LM, asked what stands at the position in the released text, names the
  original posterior   the most probable word given the output, with exact likelihoods and a public
  prior, is the original repeated    the same from several sends of one text, with and without the
  conversation memory
and two descriptions of the output: the effective mapping set size S_t and the retention N_t. Every
position is
attacked by itself: what several places of one word, or words that go together, give away between
them is not measured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sanitizer.lm import batches, centred_rows
from sanitizer.pipeline import Choices, MaskedText, Sanitizer, contexts
from sanitizer.privacy import Weights
from sanitizer.progress import progress_bar
from sanitizer.randomness import SYSTEM_RANDOM, Source
from sanitizer.risk.posterior import (
    MAX_BATCH_TOKENS,
    Floats,
    Likelihoods,
    Logits,
    Nearest,
    Prior,
    Vocabulary,
    ceiling,
    public_logits,
)
from sanitizer.risk.report import AttackReport, PosteriorAttack, Rate, RepeatedSends, TopRates
from sanitizer.storage import MemoryVault
from sanitizer.text import word_spans as all_words


class SameNumbers:
    """A source for the numbers only: every trial reads the same context."""

    def randbelow(self, n: int, /) -> int:
        return n // 2


class Trials:
    """Draws of one text, made as the pipeline makes them, and what each word's draws tell of it.

    Attributes:
        outputs: word -> its output in each trial.
    """

    def __init__(
        self,
        sanitizer: Sanitizer,
        likelihoods: Likelihoods,
        priors: dict[int, Prior],
        source: Source,
    ) -> None:
        self._sanitizer, self._likelihoods, self._priors, self._source = (
            sanitizer,
            likelihoods,
            priors,
            source,
        )
        self._models = sanitizer.inner.models()
        self._engine = self._models.engine
        self._fixed: dict[int, dict[int, Logits | None]] = {}
        self._weights: dict[int, tuple[NDArray[np.intp], Weights]] = {}
        self._logs: dict[int, list[Floats]] = {}
        self.outputs: dict[int, list[int]] = {word: [] for word in priors}

    def draw(self, masked: MaskedText) -> Choices:
        """Return the choices of one trial, in which every word of the text is released."""
        choices = Choices(masked)
        if self._engine.left is not None and self._engine.context == "released":
            for units, scores in contexts(self._models, [choices]):
                self._release(choices, _by_word(units, scores), always=False)
            return choices
        for step in range(self._engine.n_steps):
            always = step == 0 or self._engine.context != "released"
            by_word = self._fixed.get(step) or self._contexts(choices, step)
            if always:
                self._fixed[step] = by_word
            self._release(choices, by_word, always)
        return choices

    def _contexts(self, choices: Choices, step: int) -> dict[int, Logits | None]:
        """Drawn word -> the scores its draw reads, float32 [n_outputs], or None."""
        found: dict[int, Logits | None] = {}
        for units, scores in contexts(self._models, [choices], step):
            found |= _by_word(units, scores)
        return found

    def _release(self, choices: Choices, by_word: dict[int, Logits | None], always: bool) -> None:
        space = self._engine.space
        for word, logits in by_word.items():
            output = self._output(word, choices.masked.words[word].text, logits, always)
            choices.release(word, space.text(output), space.token(output))
            self.outputs[word].append(output)
            if not always:
                self._logs.setdefault(word, []).append(self._columns(word, logits, [output])[0])

    def _output(self, word: int, text: str, logits: Logits | None, always: bool) -> int:
        """One draw; where the context is always the same its weights are worked out once."""
        if logits is None or not always:
            scores = None if logits is None else logits[None]
            return next(self._engine.choose([text], scores, self._source)).output
        if word not in self._weights:
            self._weights[word] = next(self._engine.distributions([text], logits))
        outputs, weights = self._weights[word]
        return int(outputs[weights.draw(self._source)])

    def _columns(self, word: int, logits: Logits | None, outputs: list[int]) -> list[Floats]:
        table = self._likelihoods.table(self._priors[word].words, logits)
        return [table.log_column(output) for output in outputs]

    def log_likelihoods(self, word: int) -> Floats:
        """ln P(output | candidate), float64 [n_trials, n_candidates]."""
        if word in self._logs:
            return np.stack(self._logs[word])
        logits = next(by_word[word] for by_word in self._fixed.values() if word in by_word)
        return np.stack(self._columns(word, logits, self.outputs[word]))


def _by_word(units: Sequence[tuple[int, int]], scores: Logits | None) -> dict[int, Logits | None]:
    return {word: None if scores is None else scores[i] for i, (_, word) in enumerate(units)}


SENDS = (1, 5, 20)
NEAREST = 10
CANDIDATES = (200, 100)  # the likeliest in the context, and the nearest to the original
CANDIDATES_PUBLISHED = (50, 50)  # each needs the whole token vocabulary
INFERRED_TRIALS = 20  # each is a model row per word
Hits = NDArray[np.bool_]


def run_attacks(
    sanitizer: Sanitizer,
    texts: Sequence[str],
    n_trials: int = 100,
    *,
    progress: bool = False,
    source: Source = SYSTEM_RANDOM,
) -> AttackReport:
    """Attack every private word of the texts, as the sanitizer's mechanism and policy would release
    them.

    Numbers are replaced by the same number in every trial: they are independent of everything
    private. With context "original" the attacker knows every other word of the text.

    Args:
        sanitizer: its budget, ledger and memory are left alone.
        texts: like those that will be sent. n_trials: draws of each text; at least `sends` for
            repeated sends.
        progress: a bar on standard error. source: of the draws; replace it in tests only.

    Raises:
        ValueError: n_trials below 1, no private word in the texts, or a mechanism without exact
            probabilities.
        TypeError: one str for texts. Others as `Sanitizer.sanitize`.
    """
    if isinstance(n_trials, bool) or not isinstance(n_trials, int) or n_trials < 1:
        raise ValueError(f"n_trials must be an integer of at least 1, got {n_trials!r}")
    if isinstance(texts, str):
        raise TypeError("texts must be a sequence of str, got one str")
    attacker = _Attacker(sanitizer, n_trials, source)
    found: list[_Found] = []
    with progress_bar(len(texts) * n_trials, progress) as advance:
        for text in texts:
            found += attacker.attack(text, advance)
    if not found:
        raise ValueError(
            f"texts must have at least one private word, got {len(texts)} texts without"
        )
    remembered = _remembered_outputs(sanitizer, texts, source)
    return _report(
        sanitizer, len(texts), n_trials, found, remembered, float(np.mean(attacker.rouge))
    )


@dataclass(frozen=True, eq=False)
class _Found:
    """The trials of one private word: bool arrays [n_trials], unless said otherwise.

    Attributes:
        guesses: for each number of sends, bool [n_trials // sends].
        inferred: bool [at most INFERRED_TRIALS]. belief: mean probability of the original after one
            output.
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
    """The setting under attack, loaded."""

    def __init__(self, sanitizer: Sanitizer, n_trials: int, source: Source) -> None:
        models = sanitizer.inner.models()
        self._sanitizer, self._models, self._source, self._n_trials = (
            sanitizer,
            models,
            source,
            n_trials,
        )
        published = sanitizer.mechanism.variant == "published"
        self._candidates = CANDIDATES_PUBLISHED if published else CANDIDATES
        self._likelihoods = Likelihoods(
            models.engine, sanitizer.mechanism, models.model, models.pieces
        )
        self._vocabulary = Vocabulary(models.model)
        self._near = Nearest(models.model, self._vocabulary)
        self.rouge: list[float] = []

    def attack(self, text: str, advance: Callable[[int], None]) -> list[_Found]:
        """Every drawn word of one text."""
        masked = self._sanitizer.inner.mask(text, SameNumbers())
        if not masked.drawn:
            advance(self._n_trials)
            return []
        scores = public_logits(self._models.model, self._models.pieces, masked)
        priors = {word: self._prior(scores[word], masked.words[word].text) for word in masked.drawn}
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

    def _prior(self, scores: Logits, original: str) -> Prior:
        n_likely, n_near = self._candidates
        return self._vocabulary.prior(
            scores, original, n_likely, self._near.places(original, n_near)
        )

    def _infer(self, released: Choices) -> dict[int, int]:
        """Word -> rank of the original among the words of Y, from 0, where the released text has a
        mask.
        """
        model, pieces = self._models.model, self._models.pieces
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
        original, space = private[word], self._models.engine.space
        outputs = [space.text(output) for output in trials.outputs[word]]
        near = self._near.ranks(original, outputs, private)
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
            unmeasured=self._models.model.words.row(original) < 0,
        )


def _guesses(prior: Prior, logs: Floats, sends: int) -> Hits:
    """Whether the most probable word given `sends` outputs is the original, bool [n_trials //
    sends].
    """
    n_groups = len(logs) // sends
    together = logs[: n_groups * sends].reshape(n_groups, sends, -1).sum(axis=1)
    hits: Hits = (np.log(prior.mass) + together).argmax(axis=1) == prior.truth
    return hits


def _beliefs(prior: Prior, logs: Floats) -> Floats:
    """Probability of each candidate after one output, float64 [n_trials, n_candidates]."""
    scores = np.log(prior.mass) + logs
    odds = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(odds / odds.sum(axis=1, keepdims=True))


def rouge_l(original: str, released: str) -> float:
    """Rouge-L F1 of two texts: the longest common subsequence of their words, compared without
    case.

    Source: Lin, "ROUGE: A Package for Automatic Evaluation of Summaries" (2004).
    """
    first, second = (
        [text[a:b].lower() for a, b in all_words(text)] for text in (original, released)
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
    """The most distinct outputs one text has in one conversation, through the pipeline's own
    memory.
    """
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
        posterior=_posterior(found, epsilon),
        repeated=tuple(_repeated(found, sends, epsilon) for sends in found[0].guesses),
        remembered_outputs=remembered,
        rouge_l=rouge,
        mapping_size=float(np.mean([f.n_distinct for f in found])),
        retention=_pooled(f.kept for f in found),
    )


def _posterior(found: list[_Found], epsilon: float | None) -> PosteriorAttack:
    priors = [f.prior for f in found]
    return PosteriorAttack(
        success=_pooled(f.guesses[1] for f in found),
        context_alone=float(np.mean([int(p.mass.argmax()) == p.truth for p in priors])),
        prior=float(np.mean([p.p for p in priors])),
        belief=float(np.mean([f.belief for f in found])),
        belief_ceiling=None
        if epsilon is None
        else float(np.mean([ceiling(p.p, epsilon) for p in priors])),
        success_ceiling=_success_ceiling(found, epsilon),
        n_candidates=float(np.mean([len(p.words) for p in priors])),
    )


def _repeated(found: list[_Found], sends: int, epsilon: float | None) -> RepeatedSends:
    """With the memory every send repeats the first, so all sends together are one output."""
    allowed = None if epsilon is None else _success_ceiling(found, sends * epsilon)
    fresh, remembered = (
        _pooled(f.guesses[sends] for f in found),
        _pooled(f.guesses[1] for f in found),
    )
    return RepeatedSends(sends, fresh, remembered, allowed)


def _success_ceiling(found: list[_Found], epsilon: float | None) -> float | None:
    return (
        None
        if epsilon is None
        else float(np.mean([ceiling(f.prior.p_top, epsilon) for f in found]))
    )


def _pooled(hits: Iterable[Hits]) -> Rate:
    together = np.concatenate(list(hits))
    return Rate.of(int(together.sum()), len(together))
