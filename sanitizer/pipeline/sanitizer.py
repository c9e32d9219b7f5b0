"""The Sanitizer: the only place that knows the order of the stages."""

from __future__ import annotations

import copy
import threading
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from sanitizer.answers import Extractor, RecentPrompts, extractor_for
from sanitizer.errors import BudgetExceeded, NotCertified, SanitizerError
from sanitizer.identifiers import find, name_finder
from sanitizer.lm import Batch, CausalLM, MaskedLM, Models
from sanitizer.pipeline.charging import PendingText, repeated, settling
from sanitizer.pipeline.drawing import MAX_BATCH_TOKENS, draw_words, step_batches
from sanitizer.pipeline.engines import LoadedModels, WordMechanism, parts_for
from sanitizer.pipeline.masked_text import MaskedText
from sanitizer.pipeline.record import perturbed_record, plain_record
from sanitizer.pipeline.released import MAX_ANSWERS, Answering
from sanitizer.privacy import Cape, DynText
from sanitizer.progress import counted
from sanitizer.randomness import SYSTEM_RANDOM, Source
from sanitizer.results import Record, SanitizedText
from sanitizer.storage import (
    Budget,
    Charge,
    Ledger,
    LocalBudget,
    MemoryVault,
    Scope,
    Vault,
    as_printed,
    budget_for,
    message_key,
)
from sanitizer.text import Policy, find_units, segment, segment_taken, stand_ins, word_spans

MAX_BATCH_TEXTS = 64


class Sanitizer(Answering):
    """Replaces the private words of a text, on this machine, before it is sent anywhere.

    Identifiers go to the vault, and `restore` brings them back in the answer; other private words
    are drawn anew by the mechanism. A text that was sanitized before, in the same role, comes back
    as it was and costs nothing.

    Guarantee: see the mechanism; every result's `record` states it with its terms. One Sanitizer
    serves many threads. Nothing is returned unless every unit was drawn and the budget was charged.
    Not protected: see `Record.not_protected`.

    Args:
        mechanism: default certified Cape; the policy file's mechanism if it names one.
        policy: "strict", "balanced", "identifiers" (no differential privacy), a Policy, or the path
            of a TOML file.
        model: model folder, or a loaded model; default the packaged one, loaded at first use.
        causal: the same for the causal model, which `Cape(backbone="causal")` and the extractor
            "lm" read with.
        conversation: name of the conversation; equal texts in different conversations are drawn
            anew.
        budget: the most epsilon to spend in all: of this object, or of the conversation if there is
            a ledger.
        ledger: budgets that outlive the process; charged for `scopes`, by default the conversation.
        scopes: what else to charge in the ledger, such as a user or the day.
        delta: for `epsilon_total`; 0 composes by plain sum.
        vault: of originals and released texts; default in this process (`FileVault` survives it,
            encrypted).
        threads: for one forward pass; default all cores, at most 4.
        max_chars: longer texts are refused.
        extractor: rewrites answers for the original prompt, on this machine: "lexical", "lm", or
            the URL of a model server here (docs/extractor.md); default None: identifiers are
            restored, words are not.
        trusted_extractor_host: allow a URL that is not of this machine: ORIGINAL prompts are sent
            there.

    Raises:
        ValueError: naming argument and value. TypeError: not a mechanism. PolicyError: an unusable
            policy file.
    """

    def __init__(
        self,
        mechanism: WordMechanism | None = None,
        policy: Policy | str | Path = "balanced",
        *,
        model: MaskedLM | Path | None = None,
        conversation: str = "",
        budget: float | None = None,
        ledger: Ledger | None = None,
        scopes: Iterable[Scope] = (),
        delta: float = 0.0,
        vault: Vault | None = None,
        threads: int | None = None,
        max_chars: int = 1_000_000,
        causal: CausalLM | Path | None = None,
        extractor: Extractor | str | None = None,
        trusted_extractor_host: bool = False,
    ) -> None:
        self._policy = Policy.load(policy)
        if not isinstance(mechanism, (Cape, DynText, type(None))):
            raise TypeError(
                f"mechanism must be a Cape or DynText (policy=... takes names), got {type(mechanism).__name__}"
            )
        self._mechanism: WordMechanism = mechanism or self._policy.mechanism or Cape()
        if not 0.0 <= delta < 1.0:
            raise ValueError(f"delta must be at least 0 and below 1, got {delta!r}")
        if max_chars < 1:
            raise ValueError(f"max_chars must be at least 1, got {max_chars!r}")
        self._conversation, self._delta, self._max_chars = conversation, delta, max_chars
        self._limit, self._ledger, self._scopes = budget, ledger, tuple(scopes)
        self._budget: Budget = budget_for(budget, ledger, conversation, self._scopes)
        self._vault: Vault = MemoryVault() if vault is None else vault
        self._answers = MemoryVault(
            MAX_ANSWERS
        )  # apart: what an API answers must not push out what was released
        self._models, self._sort = Models(model, threads, causal), "message"
        self._extractor, self._prompts = (
            extractor_for(extractor, self._models, trusted_extractor_host),
            RecentPrompts(),
        )
        self._lock = threading.Lock()
        self._loaded: LoadedModels | None = None

    def derive(
        self,
        *,
        conversation: str | None = None,
        policy: Policy | str | Path | None = None,
        mechanism: WordMechanism | None = None,
        vault: Vault | None = None,
        charged: bool = True,
    ) -> Sanitizer:
        """Another Sanitizer with some settings changed; model, vault and budget are shared.

        With a ledger, a conversation has its own budget; without one, all share the limit of the
        first.

        Args:
            charged: False for previews that never leave the machine: no budget, no charge.

        Raises:
            ValueError, PolicyError: as the constructor. LedgerError: the ledger cannot be written.
        """
        other = copy.copy(self)
        other._lock, other._prompts = threading.Lock(), RecentPrompts()
        other._vault = self._vault if vault is None else vault
        other._policy = self._policy if policy is None else Policy.load(policy)
        other._mechanism = mechanism or (policy and other._policy.mechanism) or self._mechanism
        if other._mechanism != self._mechanism:
            other._loaded = None
        if conversation is not None:
            other._conversation = conversation
            if self._ledger is not None and charged:
                other._budget = budget_for(self._limit, self._ledger, conversation, self._scopes)
        if not charged:
            other._budget, other._sort = LocalBudget(None), "preview"
        return other

    def sanitize(
        self, text: str, *, role: str = "user", fresh: bool = False, source: Source = SYSTEM_RANDOM
    ) -> SanitizedText:
        """One text made private.

        Args:
            text: any string; control characters between words are carried over.
            role: who says it; the same text in another role is another message.
            fresh: draw anew, and pay for it, even if this text was released before.
            source: of randomness; replace it in tests only.

        Raises:
            ValueError: longer than `max_chars`. TypeError: not a string. PolicyError: refused
            content. BudgetExceeded, NotCertified, ModelError, LedgerError: nothing was released.
        """
        return next(self.sanitize_stream([text], role=role, fresh=fresh, source=source))

    def sanitize_batch(
        self,
        texts: Iterable[str],
        *,
        progress: bool = False,
        role: str | Sequence[str] = "user",
        fresh: bool = False,
        source: Source = SYSTEM_RANDOM,
    ) -> list[SanitizedText]:
        """Many texts, results in order.

        Args:
            progress: show a bar on standard error. role: of all texts, or one for each.

        Raises:
            SanitizerError: as `sanitize`; texts that were released and charged before are in the
                error's `released`, in order.
        """
        if isinstance(texts, str):
            raise TypeError("texts must be an iterable of str, got one str")
        texts = list(texts)
        results: list[SanitizedText] = []
        stream = self.sanitize_stream(texts, role=role, fresh=fresh, source=source)
        try:
            for result in counted(stream, len(texts)) if progress else stream:
                results.append(result)
        except SanitizerError as error:
            error.released = tuple(results)
            raise
        return results

    def sanitize_stream(
        self,
        texts: Iterable[str],
        *,
        role: str | Sequence[str] = "user",
        fresh: bool = False,
        source: Source = SYSTEM_RANDOM,
    ) -> Iterator[SanitizedText]:
        """As `sanitize_batch`, one result at a time: memory does not grow with the number of texts."""
        group: list[PendingText] = []
        n_tokens = 0
        pairs = (
            ((text, role) for text in texts)
            if isinstance(role, str)
            else zip(texts, role, strict=True)
        )
        if (
            not self.policy.perturb
        ):  # what stands for an identifier follows from the vault: nothing to charge or keep
            for text, its_role in pairs:
                yield self._prompted(self._finish(self.draft(text, source)), its_role)
            return
        for text, its_role in pairs:
            job = self._job(text, its_role, fresh, source)
            group.append(job)
            n_tokens += len(job.draft.ids) if job.draft else 0
            if n_tokens >= MAX_BATCH_TOKENS or len(group) >= MAX_BATCH_TEXTS:
                yield from self._results(group, fresh, source)
                group, n_tokens = [], 0
        if group:
            yield from self._results(group, fresh, source)

    def adopt(self, text: str, preview: SanitizedText, role: str = "user") -> SanitizedText:
        """Charge a result that was drawn as a preview; from now on it is what `sanitize` gives for
        this text.

        Args:
            preview: of the same text, by a Sanitizer derived from this one with `charged=False`.

        Raises:
            BudgetExceeded, NotCertified, LedgerError, VaultError: it must not leave the machine.
        """
        key = self._key(self._sort, role, text)
        if (known := self._vault.get(key)) is not None:
            return repeated(known)
        job = PendingText(key, None, preview)
        job.charge = self._reserve(preview.record.charged, preview.record.certified)
        with settling([job]) as drawing:
            drawing()
            self._keep(job, fresh=False)
        return job.result or preview

    @property
    def conversation(self) -> str:
        """Its name."""
        return self._conversation

    @property
    def mechanism(self) -> WordMechanism:
        """What draws; fixed, like all settings, because the record speaks of it."""
        return self._mechanism

    @property
    def policy(self) -> Policy:
        """What is public and what goes to the vault."""
        return self._policy

    @property
    def spent(self) -> float:
        """Epsilon charged so far to this object's budget, or to the conversation's in the ledger."""
        return self._budget.spent

    @property
    def budget_left(self) -> float | None:
        """Epsilon that may still be spent; None without a limit."""
        return self._budget.left

    def load(self) -> None:
        """Load now what is otherwise loaded at the first text. Raises ModelError."""
        name_finder(self.policy.names)
        find("0", self.policy.identifiers)  # imports the finders
        if self.policy.perturb:
            self.parts()
        if self._extractor is not None and not isinstance(self._extractor, str):
            self._extractor.load()

    def parts(self) -> LoadedModels:
        """The loaded model, tokenizer and engine: for audits and attacks.

        Raises:
            ValueError: the policy perturbs no words. ModelError.
        """
        if not self.policy.perturb:
            raise ValueError(f"policy must be one that perturbs words, got {self.policy.name!r}")
        if self._loaded is None:
            with self._lock:
                if self._loaded is None:
                    self._loaded = parts_for(self._models, self.mechanism)
        return self._loaded

    def draft(self, text: str, source: Source = SYSTEM_RANDOM) -> MaskedText:
        """The text segmented, its words hidden, its identifiers in the vault; raises as `sanitize`."""
        if not isinstance(text, str):
            raise TypeError(f"text must be a str, got {type(text).__name__}")
        if len(text) > self._max_chars:
            raise ValueError(
                f"text must have at most max_chars={self._max_chars} characters, got {len(text)}"
            )
        policy = self._policy
        pieces = self.parts().pieces if policy.perturb else None
        if policy.refuse or policy.refuse_patterns:
            policy.check(text, (text[begin:end] for begin, end in word_spans(text)))
        taken = find_units(text, policy, name_finder(policy.names))
        segmented = (
            segment_taken(text, taken)
            if policy.all_public
            else segment(text, policy, taken, policy.kinds)
        )
        released = stand_ins(segmented, self._vault, self._conversation, policy.style, source)
        return MaskedText(text, segmented, released, pieces, self._mechanism.consistent)

    def batches(self, drafts: list[MaskedText], step: int = 0) -> Iterator[Batch]:
        """Model inputs for the words of one step, packed before the step's first release."""
        return step_batches(self.parts(), drafts, step)

    def _job(self, text: str, role: str, fresh: bool, source: Source) -> PendingText:
        if not isinstance(text, str):
            raise TypeError(f"text must be a str, got {type(text).__name__}")
        key = self._key(self._sort, role, text)
        known = None if fresh else self._known(key, role, text)
        draft, result = (None, self._again(known)) if known else (self.draft(text, source), None)
        return PendingText(key, draft, result, role=role)

    def _again(self, known: SanitizedText) -> SanitizedText:
        """A result found in the vault: it costs nothing now. A preview keeps its price: it was not
        paid.
        """
        return known if self._sort == "preview" else repeated(known)

    def _known(self, key: bytes, role: str, text: str) -> SanitizedText | None:
        """What stands for this text already."""
        return self._vault.get(key) or self._answers.get(self._key("answer", role, text))

    def _key(self, sort: str, role: str, text: str) -> bytes:
        """Where the vault keeps a message; other settings are another message."""
        settings = "" if sort == "answer" else f"{self._mechanism!r} {self._policy.digest}"
        return message_key(self._vault.secret, sort, settings, self._conversation, role, text)

    def _results(
        self, group: list[PendingText], fresh: bool, source: Source
    ) -> Iterator[SanitizedText]:
        """Charge, draw and yield the results in order; where the budget ends, refuse from there on."""
        refusal: BudgetExceeded | None = None
        due: dict[bytes, PendingText] = {}
        with settling(due.values()) as drawing:
            for i, job in enumerate(group):
                if job.result is not None or (job.key in due and not fresh):
                    continue
                try:
                    assert job.draft is not None
                    job.charge = self._reserve(self._cost(job.draft), self.mechanism.certified)
                except BudgetExceeded as error:
                    refusal, group = error, group[:i]
                    break
                due[i.to_bytes(8, "big") if fresh else job.key] = job
            drawing()
            self._draw_all(list(due.values()), source)
            for job in due.values():
                self._keep(job, fresh)
        for job in group:
            yield self._prompted(job.result or repeated(due[job.key].result), job.role)
        if refusal is not None:
            raise refusal

    def _prompted(self, result: SanitizedText, role: str) -> SanitizedText:
        """The result, remembered if an answer to it may have to be extracted."""
        if self._extractor is not None and role == "user":
            self._prompts.add(result)
        return result

    def _cost(self, draft: MaskedText) -> float:
        return float(len(draft.drawn) * as_printed(self.mechanism.epsilon)) if draft.drawn else 0.0

    def _reserve(self, cost: float, certified: bool) -> Charge | None:
        if self._budget.limited and self.policy.perturb and not certified:
            raise NotCertified("a budget needs a certified mechanism")
        return self._budget.reserve(cost) if cost else None

    def _draw_all(self, jobs: list[PendingText], source: Source) -> None:
        drafts = [job.draft for job in jobs if job.draft is not None]
        draw_words(self.parts(), drafts, [job.claims for job in jobs], source)
        for job in jobs:
            assert job.draft is not None
            job.result = self._finish(job.draft, job.claims)

    def _keep(self, job: PendingText, fresh: bool) -> None:
        """Remember a result, and commit its charge; if another thread was first, its result is the
        one.
        """
        assert job.result is not None
        kept = (
            self._vault.put_first(job.key, job.result, self._conversation)
            if self.policy.perturb
            else job.result
        )
        lost = not fresh and kept is not job.result
        if lost:
            job.result = repeated(kept)
        if job.charge is not None:
            job.charge.release() if lost else job.charge.commit()
            job.charge = None

    def _finish(self, draft: MaskedText, claims: Sequence[float] = ()) -> SanitizedText:
        text, replacements = draft.finish()
        return SanitizedText(text, replacements, self._record(draft, list(claims)))

    def _record(self, draft: MaskedText, claims: list[float]) -> Record:
        if not self.policy.perturb:
            return plain_record(draft, self.policy)
        parts = self.parts()
        return perturbed_record(
            draft, claims, self.mechanism, parts.engine, self.policy, self._delta, parts.sha256
        )
