"""The Sanitizer: the only place that knows the order of the stages."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from math import inf
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sanitizer.accounting import Accountant
from sanitizer.backbone import MaskedLM, OnnxMaskedLM
from sanitizer.budget import Charge, as_printed, budget_for
from sanitizer.draft import Draft
from sanitizer.engines import Engine, Mechanism, engine_for
from sanitizer.errors import BudgetExceeded, NotCertified, SanitizerError
from sanitizer.ledger import Ledger, Scope
from sanitizer.mechanisms.cape import Cape
from sanitizer.memory import ConversationMemory, Memory, message_key
from sanitizer.policy import Policy
from sanitizer.progress import progress_bar
from sanitizer.sampling import SYSTEM, Source, secret_key
from sanitizer.terms import terms
from sanitizer.text import WordPieces, segment, words
from sanitizer.types import Record, SanitizedText
from sanitizer.windows import Batch, Row, batches, centred_rows, rows

MAX_BATCH_TOKENS = 1024
MAX_BATCH_TEXTS = 64


@dataclass(frozen=True)
class _Parts:
    """What is loaded at first use."""

    model: MaskedLM
    pieces: WordPieces
    engine: Engine


@dataclass
class _Job:
    """One text of a group: to be drawn, or found in the memory."""

    key: bytes
    draft: Draft | None
    result: SanitizedText | None = None
    charge: Charge | None = None
    claims: list[float] = field(default_factory=list)


class Sanitizer:
    """Replaces the private words of a text, on this machine, before it is sent anywhere.

    A text that was sanitized before, in the same role, comes back as it was and costs nothing.

    Guarantee: see the mechanism; every result's `record` states it with its terms. One Sanitizer serves
    many threads. Nothing is returned unless every unit was drawn and the budget was charged.
    Not protected: see `Record.not_protected`.

    Args:
        mechanism: default certified Cape; the policy file's mechanism if it names one.
        policy: "strict", "balanced", a Policy, or the path of a TOML file.
        model: model folder, or a loaded model; default the packaged one, loaded at first use.
        conversation: name of the conversation; equal texts in different conversations are drawn anew.
        budget: the most epsilon to spend in all: of this object, or of the conversation if there is a ledger.
        ledger: budgets that outlive the process; charged for `scopes`, by default the conversation.
        scopes: what else to charge in the ledger, such as a user or the day.
        delta: for `epsilon_total`; 0 composes by plain sum.
        memory: of released texts; default the last 10,000 in this process.
        threads: for one forward pass; default all cores, at most 4.
        max_chars: longer texts are refused.

    Raises:
        ValueError: naming argument and value. PolicyError: an unusable policy file.
    """

    def __init__(
        self,
        mechanism: Mechanism | None = None,
        policy: Policy | str | Path = "balanced",
        *,
        model: MaskedLM | Path | None = None,
        conversation: str = "",
        budget: float | None = None,
        ledger: Ledger | None = None,
        scopes: Iterable[Scope] = (),
        delta: float = 0.0,
        memory: Memory | None = None,
        threads: int | None = None,
        max_chars: int = 1_000_000,
    ) -> None:
        self._policy = Policy.load(policy)
        self._mechanism: Mechanism = mechanism or self._policy.mechanism or Cape()
        if not 0.0 <= delta < 1.0:
            raise ValueError(f"delta must be at least 0 and below 1, got {delta!r}")
        if max_chars < 1:
            raise ValueError(f"max_chars must be at least 1, got {max_chars!r}")
        self._conversation, self._delta, self._max_chars = conversation, delta, max_chars
        self._budget = budget_for(budget, ledger, conversation, tuple(scopes))
        self._memory = ConversationMemory() if memory is None else memory
        self._secret = secret_key()
        self._model, self._threads = model, threads
        self._lock = threading.Lock()
        self._loaded: _Parts | None = None

    def sanitize(self, text: str, *, role: str = "user", fresh: bool = False, source: Source = SYSTEM) -> SanitizedText:
        """One text made private.

        Args:
            text: any string; control characters between words are carried over.
            role: who says it; the same text in another role is another message.
            fresh: draw anew, and pay for it, even if this text was released before.
            source: of randomness; replace it in tests only.

        Raises:
            ValueError: longer than `max_chars`. TypeError: not a string. PolicyError: refused content.
            BudgetExceeded, NotCertified, ModelError, LedgerError: nothing was released.
        """
        return next(self.sanitize_stream([text], role=role, fresh=fresh, source=source))

    def sanitize_batch(
        self,
        texts: Iterable[str],
        *,
        progress: bool = False,
        role: str = "user",
        fresh: bool = False,
        source: Source = SYSTEM,
    ) -> list[SanitizedText]:
        """Many texts, results in order. `progress` shows a bar on standard error.

        Raises:
            SanitizerError: as `sanitize`; texts that were released and charged before are in the error's
                `released`, in order.
        """
        if isinstance(texts, str):
            raise TypeError("texts must be an iterable of str, got one str")
        texts = list(texts)
        results: list[SanitizedText] = []
        with progress_bar(len(texts), progress) as advance:
            try:
                for result in self.sanitize_stream(texts, role=role, fresh=fresh, source=source):
                    results.append(result)
                    advance(1)
            except SanitizerError as error:
                error.released = tuple(results)
                raise
        return results

    def sanitize_stream(
        self, texts: Iterable[str], *, role: str = "user", fresh: bool = False, source: Source = SYSTEM
    ) -> Iterator[SanitizedText]:
        """As `sanitize_batch`, one result at a time: memory does not grow with the number of texts."""
        group: list[_Job] = []
        n_tokens = 0
        for text in texts:
            job = self._job(text, role, fresh, source)
            group.append(job)
            n_tokens += len(job.draft.ids) if job.draft else 0
            if n_tokens >= MAX_BATCH_TOKENS or len(group) >= MAX_BATCH_TEXTS:
                yield from self._results(group, fresh, source)
                group, n_tokens = [], 0
        if group:
            yield from self._results(group, fresh, source)

    @property
    def mechanism(self) -> Mechanism:
        """What draws; fixed, like all settings, because the record speaks of it."""
        return self._mechanism

    @property
    def policy(self) -> Policy:
        """What is public."""
        return self._policy

    @property
    def spent(self) -> float:
        """Epsilon charged so far to this object's budget, or to the conversation's in the ledger."""
        return self._budget.spent

    def load(self) -> None:
        """Load the model now instead of at the first text. Raises ModelError."""
        self.parts()

    def parts(self) -> _Parts:
        """The loaded model, tokenizer and engine: for audits and attacks."""
        if self._loaded is None:
            with self._lock:
                if self._loaded is None:
                    model = self._model
                    if model is None or isinstance(model, Path):
                        model = OnnxMaskedLM(model, self._threads)
                    pieces = WordPieces(model.folder / "tokenizer.json")
                    self._loaded = _Parts(model, pieces, engine_for(self.mechanism, model, pieces))
        return self._loaded

    def draft(self, text: str, source: Source = SYSTEM) -> Draft:
        """The text segmented, its words hidden; raises as `sanitize`."""
        if not isinstance(text, str):
            raise TypeError(f"text must be a str, got {type(text).__name__}")
        if len(text) > self._max_chars:
            raise ValueError(f"text must have at most max_chars={self._max_chars} characters, got {len(text)}")
        pieces = self.parts().pieces
        self.policy.check(text, (text[begin:end] for begin, end in words(text)))
        return Draft(text, segment(text, self.policy), pieces, self.mechanism.consistent, source)

    def batches(self, drafts: list[Draft], step: int = 0) -> Iterator[Batch]:
        """Model inputs for the words of one step, packed before the step's first release."""
        parts = self.parts()
        edges = (parts.pieces.cls, parts.pieces.sep)
        planned: list[Row] = []
        for number, draft in enumerate(drafts):
            due = np.array(draft.drawn[step :: parts.engine.n_steps], dtype=np.intp)
            if parts.engine.context == "released":
                planned += rows(number, draft.ids.copy(), draft.slots, due, parts.model.max_length)
            else:
                planned += centred_rows(number, *draft.original_ids(), due, parts.pieces.mask, parts.model.max_length)
        return batches(planned, edges, MAX_BATCH_TOKENS)

    def _job(self, text: str, role: str, fresh: bool, source: Source) -> _Job:
        if not isinstance(text, str):
            raise TypeError(f"text must be a str, got {type(text).__name__}")
        key = message_key(self._secret, self._conversation, role, text)
        known = None if fresh else self._memory.get(key)
        return _Job(key, None, _repeated(known)) if known else _Job(key, self.draft(text, source))

    def _results(self, group: list[_Job], fresh: bool, source: Source) -> Iterator[SanitizedText]:
        """Charge, draw and yield the results in order; where the budget ends, refuse from there on."""
        refusal: BudgetExceeded | None = None
        due: dict[bytes, _Job] = {}
        with _settling(due.values()) as drawing:
            for i, job in enumerate(group):
                if job.result is not None or (job.key in due and not fresh):
                    continue
                try:
                    job.charge = self._reserve(job.draft)
                except BudgetExceeded as error:
                    refusal, group = error, group[:i]
                    break
                due[i.to_bytes(8, "big") if fresh else job.key] = job
            drawing()
            self._draw_all(list(due.values()), source)
            for job in due.values():
                self._keep(job, fresh)
        for job in group:
            yield job.result or _repeated(due[job.key].result)
        if refusal is not None:
            raise refusal

    def _reserve(self, draft: Draft | None) -> Charge | None:
        assert draft is not None
        if self._budget.limited and not self.mechanism.certified:
            raise NotCertified("a budget needs a certified mechanism")
        cost = float(len(draft.drawn) * as_printed(self.mechanism.epsilon))
        return self._budget.reserve(cost) if cost else None

    def _draw_all(self, jobs: list[_Job], source: Source) -> None:
        drafts = [job.draft for job in jobs if job.draft is not None]
        self._draw(drafts, [job.claims for job in jobs], source)
        for job in jobs:
            job.result = self._finish(job)

    def _keep(self, job: _Job, fresh: bool) -> None:
        """Remember a result, and commit its charge; if another thread was first, its result is the one."""
        assert job.result is not None
        kept = self._memory.put_first(job.key, job.result)
        lost = not fresh and kept is not job.result
        if lost:
            job.result = _repeated(kept)
        if job.charge is not None:
            job.charge.release() if lost else job.charge.commit()
            job.charge = None

    def _draw(self, drafts: list[Draft], claims: list[list[float]], source: Source) -> None:
        engine = self.parts().engine
        if not engine.reads_context:
            for number, draft in enumerate(drafts):
                self._choose(drafts, [(number, word) for word in draft.drawn], None, claims, source)
            return
        for step in range(engine.n_steps):
            for batch in self.batches(drafts, step):
                self._choose(drafts, batch.units, engine.space.logits(batch), claims, source)

    def _choose(
        self,
        drafts: list[Draft],
        units: Sequence[tuple[int, int]],
        logits: NDArray[np.float32] | None,
        claims: list[list[float]],
        source: Source,
    ) -> None:
        """Draw the given (text, word) pairs and put the outputs in place."""
        engine = self.parts().engine
        private = [drafts[text].words[word].text for text, word in units]
        for (text, word), choice in zip(units, engine.choose(private, logits, source), strict=True):
            drafts[text].release(word, engine.space.text(choice.output), engine.space.token(choice.output))
            if choice.claimed is not None:
                claims[text].append(choice.claimed)

    def _finish(self, job: _Job) -> SanitizedText:
        assert job.draft is not None
        text, replacements = job.draft.finish()
        return SanitizedText(text, replacements, self._record(job.draft, job.claims))

    def _record(self, draft: Draft, claims: list[float]) -> Record:
        mechanism, parts = self.mechanism, self.parts()
        stated, repeats = terms(mechanism.consistent), draft.max_repeats()
        claimed = max(claims, default=None)
        plain = float(len(draft.drawn) * as_printed(mechanism.epsilon))
        total = self._composed(len(draft.drawn)) if mechanism.certified else sum(claims) if claims else inf
        per_unit = mechanism.epsilon if mechanism.certified else claimed if claims and claimed else inf
        per_word = per_unit * (min(repeats, 1) if mechanism.consistent else repeats)
        return Record(
            mechanism=mechanism.name,
            variant=mechanism.variant,
            settings=mechanism.settings(),
            epsilon_per_unit=mechanism.epsilon,
            epsilon_total=total if draft.drawn else 0.0,
            delta=self._delta if mechanism.certified else parts.engine.claimed_delta,
            charged=plain,
            epsilon_per_word=(total if parts.engine.context == "original" else per_word) if draft.drawn else 0.0,
            max_repeats=repeats,
            unit=stated.unit,
            neighboring_relation=stated.relation,
            public=stated.public,
            not_protected=stated.not_protected,
            n_units=len(draft.words),
            n_numbers=draft.n_numbers,
            n_public=draft.n_public,
            context=parts.engine.context,
            certified=mechanism.certified,
            reason=mechanism.reason,
            claimed_epsilon=claimed,
            policy=self.policy.name,
            model_sha256=parts.model.sha256,
        )

    def _composed(self, n_draws: int) -> float:
        """The smallest valid epsilon of n draws at this object's delta."""
        stated, accountant = terms(self.mechanism.consistent), Accountant()
        accountant.compose(self.parts().engine.event(stated.unit, stated.relation), n_draws)
        return accountant.epsilon(self._delta)


@contextmanager
def _settling(jobs: Iterable[_Job]) -> Iterator[Callable[[], None]]:
    """Settles open charges if anything fails: given back until the yielded function was called, spent after.

    Once something was drawn, whether and where a failure comes may tell of private words.
    """
    drawn = False

    def drawing() -> None:
        nonlocal drawn
        drawn = True

    try:
        yield drawing
    except BaseException:
        for charge in [job.charge for job in jobs if job.charge is not None]:
            charge.commit() if drawn else charge.release()
        raise


def _repeated(result: SanitizedText | None) -> SanitizedText:
    """A result released before: it costs nothing now."""
    assert result is not None
    return replace(result, record=replace(result.record, charged=0.0))
