"""The Sanitizer: the only place that knows the order of the stages."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sanitizer.backbone import MaskedLM, OnnxMaskedLM
from sanitizer.draft import Draft
from sanitizer.errors import BudgetExceeded, NotCertified
from sanitizer.mechanisms.cape import Cape
from sanitizer.outputs import OutputSpace, TokenSpace, WordSpace
from sanitizer.policy import Policy
from sanitizer.progress import progress_bar
from sanitizer.sampling import SYSTEM, Source
from sanitizer.text import WordPieces, segment
from sanitizer.types import Record, SanitizedText
from sanitizer.windows import Batch, Row, batches, centred_rows, rows

MAX_BATCH_TOKENS = 1024
MAX_BATCH_TEXTS = 64

UNIT = "one private word at one position"
RELATION = (
    "replace-one: texts that differ in one private word; numbers are compared with numbers of the same length only "
    "(released uniformly, epsilon 0)"
)
RELATION_CONSISTENT = (
    "replace-one: texts that differ in one distinct private word, changed wherever it stands; numbers are compared "
    "with numbers of the same length only (released uniformly, epsilon 0)"
)
PUBLIC = "words on the policy's public list, all text between words, which positions are private and how many"
NOT_PROTECTED = (
    "public words, punctuation and layout, the length of numbers, what the public words tell of the private ones"
)
NOT_PROTECTED_CONSISTENT = NOT_PROTECTED + ", which private words are equal"


class Sanitizer:
    """Replaces the private words of a text, on this machine, before it is sent anywhere.

    Guarantee: see the mechanism; every result's `record` states it with its terms. One Sanitizer serves
    many threads. Nothing is returned unless every unit was drawn.
    Not protected: see `Record.not_protected`.

    Args:
        mechanism: default certified Cape; the policy file's mechanism if it names one.
        policy: "strict", "balanced", a Policy, or the path of a TOML file.
        model: model folder; default the packaged one, loaded at first use.
        budget: the most epsilon this object spends in all; None for no limit.
        threads: for one forward pass; default all cores, at most 4.
        max_chars: longer texts are refused.

    Raises:
        ValueError: naming argument and value. PolicyError: an unusable policy file.
    """

    def __init__(
        self,
        mechanism: Cape | None = None,
        policy: Policy | str | Path = "balanced",
        *,
        model: MaskedLM | Path | None = None,
        budget: float | None = None,
        threads: int | None = None,
        max_chars: int = 1_000_000,
    ) -> None:
        self.policy = Policy.load(policy)
        self.mechanism = mechanism or self.policy.mechanism or Cape()
        if budget is not None and not (np.isfinite(budget) and budget > 0):
            raise ValueError(f"budget must be finite and positive, got {budget!r}")
        if max_chars < 1:
            raise ValueError(f"max_chars must be at least 1, got {max_chars!r}")
        self.budget, self.max_chars = budget, max_chars
        self._spent = 0.0
        self._lock = threading.Lock()
        self._model, self._threads = model, threads
        self._loaded: tuple[MaskedLM, WordPieces, OutputSpace] | None = None

    def sanitize(self, text: str, *, source: Source = SYSTEM) -> SanitizedText:
        """One text made private.

        Args:
            text: any string; lone surrogates and control characters are carried over.
            source: of randomness; replace it in tests only.

        Raises:
            ValueError: longer than `max_chars`. TypeError: not a string. PolicyError: refused content.
            BudgetExceeded, NotCertified, ModelError: nothing was released.
        """
        return next(self.sanitize_stream([text], source=source))

    def sanitize_batch(
        self, texts: Iterable[str], *, progress: bool = False, source: Source = SYSTEM
    ) -> list[SanitizedText]:
        """Many texts, results in order. `progress` shows a bar on standard error. Raises as `sanitize`."""
        texts = list(texts)
        with progress_bar(len(texts), progress) as advance:
            return list(self.sanitize_stream(texts, source=source, advance=advance))

    def sanitize_stream(
        self, texts: Iterable[str], *, source: Source = SYSTEM, advance: Callable[[int], None] = lambda n: None
    ) -> Iterator[SanitizedText]:
        """As `sanitize_batch`, one result at a time: memory does not grow with the number of texts."""
        group: list[Draft] = []
        n_tokens = 0
        for text in texts:
            group.append(self._draft(text, source))
            n_tokens += len(group[-1].ids)
            if n_tokens >= MAX_BATCH_TOKENS or len(group) >= MAX_BATCH_TEXTS:
                yield from self._release(group, source)
                advance(len(group))
                group, n_tokens = [], 0
        if group:
            yield from self._release(group, source)
            advance(len(group))

    @property
    def spent(self) -> float:
        """Epsilon charged so far against `budget`."""
        return self._spent

    def load(self) -> None:
        """Load the model now instead of at the first text. Raises ModelError."""
        self._parts()

    def _parts(self) -> tuple[MaskedLM, WordPieces, OutputSpace]:
        if self._loaded is None:
            with self._lock:
                if self._loaded is None:
                    model = self._model
                    if model is None or isinstance(model, Path):
                        model = OnnxMaskedLM(model, self._threads)
                    pieces = WordPieces(model.folder / "tokenizer.json")
                    space = TokenSpace if self.mechanism.variant == "published" else WordSpace
                    self._loaded = model, pieces, space(model, pieces)
        return self._loaded

    def _draft(self, text: str, source: Source) -> Draft:
        if not isinstance(text, str):
            raise TypeError(f"text must be a str, got {type(text).__name__}")
        if len(text) > self.max_chars:
            raise ValueError(f"text must have at most max_chars={self.max_chars} characters, got {len(text)}")
        _, pieces, _ = self._parts()
        segmented = segment(text, self.policy.is_public)
        self.policy.check(text, (u.text for u in segmented.units))
        return Draft(text, segmented, pieces, self.mechanism.consistent, source)

    def _release(self, drafts: list[Draft], source: Source) -> list[SanitizedText]:
        self._charge(sum(len(d.drawn) for d in drafts))
        claims: list[list[float]] = [[] for _ in drafts]
        for step in range(self.mechanism.n_steps):
            for batch in self._batches(drafts, step):
                self._draw(drafts, batch, claims, source)
        return [self._finish(d, c) for d, c in zip(drafts, claims, strict=True)]

    def _charge(self, n_draws: int) -> None:
        if self.budget is None or n_draws == 0:
            return
        if not self.mechanism.certified:
            raise NotCertified("a budget needs a certified mechanism")
        cost = n_draws * self.mechanism.epsilon
        with self._lock:
            if self._spent + cost > self.budget:
                left = self.budget - self._spent
                raise BudgetExceeded(f"this needs epsilon {cost:g}, the budget has {left:g} of {self.budget:g} left")
            self._spent += cost

    def _batches(self, drafts: list[Draft], step: int) -> Iterator[Batch]:
        """Model inputs for the words of one step. Rows must be packed before the step's first release."""
        model, pieces, _ = self._parts()
        edges = (pieces.cls, pieces.sep)
        planned: list[Row] = []
        for number, draft in enumerate(drafts):
            due = np.array(draft.drawn[step :: self.mechanism.n_steps], dtype=np.intp)
            if self.mechanism.context == "released":
                planned += rows(number, draft.ids.copy(), draft.slots, due, model.max_length)
            else:
                planned += centred_rows(number, *draft.original_ids(), due, pieces.mask, model.max_length)
        return batches(planned, edges, MAX_BATCH_TOKENS)

    def _draw(self, drafts: list[Draft], batch: Batch, claims: list[list[float]], source: Source) -> None:
        model, _, space = self._parts()
        logits = space.logits(batch)
        distance = space.distances([drafts[t].words[w].text for t, w in batch.units])
        for i, (number, word) in enumerate(batch.units):
            outputs = self.mechanism.outputs(logits[i])
            own = _positions(outputs, space.own(drafts[number].words[word].text))
            weights = self.mechanism.weights(logits[i][outputs], distance(i, outputs), own, model.logit_range)
            chosen = int(outputs[weights.draw(source)])
            drafts[number].release(word, space.text(chosen), space.token(chosen))
            if (claim := self.mechanism.claimed(weights)) is not None:
                claims[number].append(claim)

    def _finish(self, draft: Draft, claims: list[float]) -> SanitizedText:
        text, replacements = draft.finish()
        return SanitizedText(text, replacements, self._record(draft, claims))

    def _record(self, draft: Draft, claims: list[float]) -> Record:
        mechanism = self.mechanism
        total = sum(claims) if claims else len(draft.drawn) * mechanism.epsilon
        repeats = draft.max_repeats()
        per_word = mechanism.epsilon * (min(repeats, 1) if mechanism.consistent else repeats)
        assert mechanism.context is not None
        return Record(
            mechanism=mechanism.name,
            variant=mechanism.variant,
            settings=mechanism.settings(),
            epsilon_per_unit=mechanism.epsilon,
            epsilon_total=total,
            delta=0.0,
            epsilon_per_word=per_word if mechanism.context == "released" else total,
            max_repeats=repeats,
            unit=UNIT,
            neighboring_relation=RELATION_CONSISTENT if mechanism.consistent else RELATION,
            public=PUBLIC,
            not_protected=NOT_PROTECTED_CONSISTENT if mechanism.consistent else NOT_PROTECTED,
            n_units=len(draft.words),
            n_numbers=draft.n_numbers,
            n_public=draft.n_public,
            context=mechanism.context,
            certified=mechanism.certified,
            reason=mechanism.reason,
            claimed_epsilon=max(claims) if claims else None,
            policy=self.policy.name,
            model_sha256=self._parts()[0].sha256,
        )


def _positions(outputs: NDArray[np.intp], wanted: NDArray[np.intp]) -> NDArray[np.intp]:
    """Where the wanted outputs stand in `outputs`, int [n]; empty if nowhere."""
    return np.flatnonzero(np.isin(outputs, wanted)) if len(wanted) else wanted
