"""The Sanitizer: the only place that knows the order of the stages."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from sanitizer.answers.asking import Need
from sanitizer.answers.extractors import (
    AnswerStream,
    AsyncAnswerStream,
    Extractor,
    RestoredAnswer,
    extractor_for,
)
from sanitizer.corrections.lists import Listed, Memories, memories_of
from sanitizer.detect.classes import load_lists
from sanitizer.errors import BudgetExceeded, SanitizerError
from sanitizer.lm.causal import CausalLM
from sanitizer.lm.loading import Models
from sanitizer.lm.masked import MaskedLM
from sanitizer.pipeline.answering import Answered
from sanitizer.pipeline.conversation import Conversation, Message, repeated
from sanitizer.pipeline.engines import MAX_BATCH_TOKENS, ModelLoader, WordMechanism
from sanitizer.pipeline.masked_text import MaskedText
from sanitizer.pipeline.record import Settings
from sanitizer.privacy.cape import Cape
from sanitizer.progress import counted
from sanitizer.randomness import SYSTEM_RANDOM, Source, secret_key
from sanitizer.results import FactWarning, Left, SanitizedText
from sanitizer.storage.budget import Charges, LocalBudget, budget_for
from sanitizer.storage.ledger import Budgets, Scope
from sanitizer.storage.vault import MemoryVault, Vault
from sanitizer.text.policy import Policy
from sanitizer.text.prompt import DeclaredText

if TYPE_CHECKING:
    from sanitizer.corrections.memory import Corrections

_LOG = logging.getLogger("sanitizer")
LOG_TEXT = "SANITIZER_LOG_TEXT"
"""Environment variable: "1" lets texts, before and after, into the log at level DEBUG."""
MAX_BATCH_TEXTS = 64
"""Most texts that `sanitize_stream` charges and draws together."""


class Sanitizer:
    """Replaces the private words of a text, on this machine, before it is sent anywhere.

    Identifiers go to the vault, and `restore` brings them back in the answer; other private words
    are drawn anew by the mechanism. A text that was sanitized before, in the same role, comes back
    as it was and costs nothing.

    Guarantee: see the mechanism; every result's `record` states it with its terms. One Sanitizer
    serves many threads. Nothing is returned unless every unit was drawn and the budget was charged.
    Not protected: see `Record.not_protected`.

    Args:
        mechanism: how private words are drawn; default the policy file's mechanism if it names one,
            or else certified Cape.
        policy: "strict", "balanced", "identifiers" (no differential privacy), a Policy, or the path
            of a TOML file, or a dict of what such a file holds.
        model: model folder, or a loaded model; default the packaged one, loaded at first use.
        conversation: name of the conversation; equal texts in different conversations are drawn
            anew. Without a name it is one of its own; but "" in a vault or ledger that is given,
            where another process finds it again.
        budget: the most epsilon to spend in all: of this object, or of the conversation if there is
            a ledger.
        ledger: budgets that outlive the process; charged for `scopes`, by default the conversation.
        scopes: what else to charge in the ledger, such as a user or the day.
        delta: delta of `epsilon_total`; 0 composes by plain sum.
        vault: keeps originals and released texts; default in this process (`FileVault` survives it,
            encrypted).
        threads: threads of one forward pass; default all cores, at most 4.
        max_chars: most characters of a text; longer texts are refused.
        causal: model folder, or a loaded model, of the causal model that `Cape(backbone="causal")`
            and the extractor "lm" read with; default the packaged one.
        extractor: rewrites answers for the original prompt, on this machine: "lexical", "lm", or
            the URL of a model server here (docs/extractor.md); default None: identifiers are
            restored, words are not.
        trusted_extractor_host: allow a URL that is not of this machine: ORIGINAL prompts are sent
            there.
        corrections: what users and teams hide and keep for good: a `Corrections`, or the path of
            one or several files of such; default those of the environment variable
            SANITIZER_CORRECTIONS; () for none. What is added to them holds from the next call.

    Attributes:
        inner: single stages, for audits, attacks and API adapters; applications do not need it.

    Raises:
        ValueError: naming argument and value.
        TypeError: not a mechanism, a policy, a number, or an opened vault or ledger.
        PolicyError: an unusable policy file.

    >>> sanitizer = Sanitizer(policy="identifiers")
    >>> prompt = sanitizer.sanitize("Write to anna@example.org.")
    >>> prompt.text  # a five-digit tag of the conversation precedes the 1
    'Write to <EMAIL_1>.'
    >>> sanitizer.restore(f"I can: {prompt.text}")
    'I can: Write to anna@example.org.'
    """

    def __init__(
        self,
        mechanism: WordMechanism | None = None,
        policy: Policy | str | Path | Mapping[str, Any] = "balanced",
        *,
        model: MaskedLM | str | Path | None = None,
        conversation: str | None = None,
        budget: float | None = None,
        ledger: Budgets | None = None,
        scopes: Iterable[Scope] = (),
        delta: float = 0.0,
        vault: Vault | None = None,
        threads: int | None = None,
        max_chars: int = 1_000_000,
        causal: CausalLM | str | Path | None = None,
        extractor: Extractor | str | None = None,
        trusted_extractor_host: bool = False,
        corrections: Corrections | Memories | str | Path | Sequence[str | Path] | None = None,
    ) -> None:
        _check_stores(conversation, vault, ledger)
        self._memories = memories_of(corrections)
        self._seen = self._memories.current() if self._memories else None
        rules = _corrected(Policy.load(policy), self._seen)
        if mechanism is None:
            mechanism = rules.mechanism or Cape()
        settings = Settings(mechanism, rules, delta, max_chars)
        self._named = bool(conversation)
        if not conversation:
            conversation = _fresh_name() if vault is None and ledger is None else ""
        self._limit, self._ledger, self._scopes = budget, ledger, tuple(scopes)
        self._budget = budget_for(budget, ledger, conversation, self._scopes)
        models = Models(model, threads, causal)
        rewriter = extractor_for(extractor, models, trusted_extractor_host)
        vault = MemoryVault() if vault is None else vault
        loader = ModelLoader(models, mechanism)
        self._inner = Conversation(settings, loader, vault, conversation, rewriter)

    def derive(
        self,
        *,
        conversation: str | None = None,
        policy: Policy | str | Path | Mapping[str, Any] | None = None,
        mechanism: WordMechanism | None = None,
        vault: Vault | None = None,
        scopes: Iterable[Scope] | None = None,
        charged: bool = True,
        corrections: Corrections | Memories | str | Path | Sequence[str | Path] | None = None,
    ) -> Sanitizer:
        """Return a Sanitizer with some settings changed; model, vault and budget are shared.

        With a ledger, a conversation has its own budget; without one, all share the limit of the
        first.

        Args:
            scopes: what else to charge in the ledger, in place of the first one's scopes.
            charged: False for previews that never leave the machine: no budget, no charge.
            corrections: in place of those of the first; () for none.

        Raises:
            ValueError, TypeError, PolicyError: as the constructor.
            LedgerError: the ledger cannot be written.

        >>> first = Sanitizer(policy="identifiers", conversation="a")
        >>> second = first.derive(conversation="b")
        >>> [each.sanitize("Mail joe@x.org").text for each in (first, second)]
        ['Mail <EMAIL_1>', 'Mail <EMAIL_1>']
        >>> second.conversation
        'b'
        """
        _check_stores(conversation, vault, None)
        other, inner = self._copy(), self.inner
        if corrections is not None:
            other._memories = memories_of(corrections)
        other._seen = other._memories.current() if other._memories else None
        if policy is not None or corrections is not None:
            rules = inner.settings.policy if policy is None else Policy.load(policy)
            mechanism = mechanism or (inner.settings.mechanism if policy is None else None)
            policy = _corrected(rules, other._seen)
        other._inner = inner.derive(conversation, policy, mechanism, vault, not charged)
        other._scopes = self._scopes if scopes is None else tuple(scopes)
        other._named = self._named if conversation is None else bool(conversation)
        if not charged:
            other._budget = LocalBudget(None)
        elif self._ledger is not None and (conversation is not None or scopes is not None):
            other._budget = budget_for(self._limit, self._ledger, other.conversation, other._scopes)
        return other

    def unsent(self) -> Sanitizer:
        """Return a Sanitizer that shows what this one would release now: use it once.

        Guarantee: vault, budget and ledger of this one stay as they are. What would be drawn is
        shown as "(drawn when sent)"; its `spent` is what would be charged, without a limit.
        """
        other = self._copy()
        other._memories, other._inner = None, self.inner.unsent()
        other._budget = LocalBudget(None)
        return other

    def sanitize(
        self,
        text: str | DeclaredText,
        *,
        role: str = "user",
        fresh: bool = False,
        keep: Sequence[str] = (),
        source: Source = SYSTEM_RANDOM,
    ) -> SanitizedText:
        """Make one text private.

        Args:
            text: any string; control characters between words are carried over. Or a filled
                `Prompt`, whose own words are public.
            role: role of the speaker; the same text in another role is another message. The
                policy's `roles` may let a role pass.
            fresh: draw anew, and pay for it, even if this text was released before; not for
                previews.
            keep: phrases that you declare public wherever they occur as whole words, written like
                this; not inside identifiers, nor where the policy lists them as sensitive.
            source: source of randomness; replace it in tests only.

        Raises:
            ValueError: longer than `max_chars`, or a phrase of `keep` without a word.
            TypeError: not a string.
            PolicyError: refused content.
            BudgetExceeded, NotCertified, ModelError, LedgerError, VaultError: nothing was released.

        >>> out = Sanitizer(policy="strict").sanitize("I live in Leeds.")
        >>> [each.original for each in out.replacements]
        ['live', 'Leeds']
        >>> out.record.epsilon_total
        10.0
        """
        given = DeclaredText.of(text, keep)
        if self._draws_words(role, fresh):
            pending = self._pending(given, role, fresh, source)
            (result,) = self._by_words([pending], fresh, source)
            return result
        return self._leaving(given, role, fresh, source)[0]

    def _leaving(
        self, given: DeclaredText, role: str, fresh: bool, source: Source
    ) -> tuple[SanitizedText, bool]:
        """Return what leaves of a text, and whether it was treated anew."""
        answers = self.inner.answers
        found = answers.resent(given) if role == "assistant" else given
        if isinstance(found, SanitizedText):
            return answers.prompted(found, role), False
        before = None if fresh else self.inner.of_role(role).left_before(role, found)
        result = before or self._treated(found, role, source)
        _log_text(given.text, result)
        return answers.prompted(result, role), not before

    def _treated(self, found: DeclaredText, role: str, source: Source) -> SanitizedText:
        """Treat a text anew, and remember what leaves of it."""
        stages = self.inner.of_role(role)
        with Charges(self._budget) as charges:
            for is_last in (False, True):
                document = stages.document(found, role)
                private = stages.policy(document, stages.reading(document), role)
                masked = stages.surrogates(document.text, private, role, source, charges)
                # What was new in this text may stand in it once more, where nothing tells of it.
                if is_last or not (
                    masked.n_identifiers and stages.says_again(found.text, role, masked.covered)
                ):
                    break
            rendered, replacements = masked.render()
            record = stages.record(masked)
            charges.settle(0, released=True)
        warnings = tuple(FactWarning(begin, end) for begin, end in private.facts)
        left = tuple(Left(each.start, each.end, each.kind) for each in masked.segmented.left)
        result = stages.shown(SanitizedText(rendered, replacements, record, warnings, left))
        if left and self.policy.wire.ask == "warn":
            _LOG.info("left as the request needs it: %s", ", ".join(record.left))
        stages.note_left(role, found, result)
        return result

    def sanitize_batch(
        self,
        texts: Iterable[str | DeclaredText],
        *,
        progress: bool = False,
        role: str | Sequence[str] = "user",
        fresh: bool = False,
        keep: Sequence[str] = (),
        together: bool | None = None,
        source: Source = SYSTEM_RANDOM,
    ) -> list[SanitizedText]:
        """Make many texts private; return the results in order.

        Args:
            role: role of all texts, or one for each.
            fresh, keep, source: as for `sanitize`.
            together: True: all texts are of this Sanitizer's conversation, and equal things have
                equal stand-ins. False: each is a conversation of its own, under a random name:
                nothing shows that two texts speak of one person, a thing is drawn and charged once
                in each, and `restore` needs the result as its `prompt`. Default: together if the
                conversation has a name. Policies that draw word by word treat texts together.

        Raises:
            SanitizerError: as `sanitize`; texts that were released and charged before are in the
                error's `released`, in order.
            TypeError: one string instead of many.

        >>> texts = ["Mail joe@x.org", "Mail ann@x.org and joe@x.org"]
        >>> sanitizer = Sanitizer(policy="identifiers")
        >>> [out.text for out in sanitizer.sanitize_batch(texts)]
        ['Mail <EMAIL_1>', 'Mail <EMAIL_1> and <EMAIL_2>']
        >>> [out.text for out in sanitizer.sanitize_batch(texts, together=True)]
        ['Mail <EMAIL_1>', 'Mail <EMAIL_2> and <EMAIL_1>']
        """
        if isinstance(texts, str):
            raise TypeError("texts must be an iterable of str, got one str")
        read = [DeclaredText.of(text, keep) for text in texts]
        results: list[SanitizedText] = []
        new: list[bool] = []
        together = self._named if together is None else together
        linked = together and not self.policy.perturb
        with_roles = list(_with_roles(read, role))
        stream = self._stream(with_roles, fresh, together, source)
        try:
            for result, is_new in counted(stream, len(read)) if progress else stream:
                results.append(result)
                new.append(is_new and linked)
            # An identifier may stand where only a later text tells what it is. What left before it
            # was told leaves the same; an answer goes back as it came.
            for i, (text, its_role) in enumerate(with_roles):
                if not new[i] or its_role == "assistant":
                    continue
                if self.inner.says_again(text.text, its_role, results[i].covered):
                    again = self._treated(text, its_role, source)
                    results[i] = self.inner.answers.prompted(again, its_role)
        except SanitizerError as error:
            error.released = tuple(results)
            raise
        return results

    def sanitize_stream(
        self,
        texts: Iterable[str | DeclaredText],
        *,
        role: str | Sequence[str] = "user",
        fresh: bool = False,
        keep: Sequence[str] = (),
        together: bool | None = None,
        source: Source = SYSTEM_RANDOM,
    ) -> Iterator[SanitizedText]:
        """Yield the results of many texts one at a time; memory does not grow with their number.

        Arguments and errors are those of `sanitize_batch`.

        >>> lines = (f"Mail joe{i}@x.org" for i in range(1000))
        >>> next(Sanitizer(policy="identifiers").sanitize_stream(lines)).text
        'Mail <EMAIL_1>'
        """
        read = _with_roles((DeclaredText.of(text, keep) for text in texts), role)
        together = self._named if together is None else together
        return (result for result, _ in self._stream(read, fresh, together, source))

    def _stream(
        self,
        read: Iterable[tuple[DeclaredText, str]],
        fresh: bool,
        together: bool,
        source: Source,
    ) -> Iterator[tuple[SanitizedText, bool]]:
        """Yield the results of texts with their roles, and whether each was treated anew."""
        apart = not (self.policy.perturb or together)
        group: list[_Pending] = []
        n_tokens = 0
        for text, its_role in read:
            by_words = self._draws_words(its_role, fresh)
            if by_words:
                pending = self._pending(text, its_role, fresh, source)
                group.append(pending)
                n_tokens += len(pending.masked.ids) if pending.masked else 0
            if not by_words or n_tokens >= MAX_BATCH_TOKENS or len(group) >= MAX_BATCH_TEXTS:
                yield from ((each, False) for each in self._by_words(group, fresh, source))
                group, n_tokens = [], 0
            if not by_words:
                own = self
                if apart:
                    own = self._copy()
                    own._inner = self.inner.derive(_fresh_name())
                result, is_new = own._leaving(text, its_role, fresh, source)
                result = replace(result, conversation=own.conversation) if apart else result
                yield result, is_new
        yield from ((each, False) for each in self._by_words(group, fresh, source))

    def _copy(self) -> Sanitizer:
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        return other

    def _draws_words(self, role: str, fresh: bool) -> bool:
        """Return True if a role's words are drawn singly; raise ValueError for a fresh preview."""
        if fresh and self.inner.preview:
            raise ValueError("fresh must be False for previews: the best of many is not one draw")
        return self.policy.perturb and self.inner.treatment(role) != "identifiers"

    def _pending(self, text: DeclaredText, role: str, fresh: bool, source: Source) -> _Pending:
        """Return a text with the result already released for it, or masked and to be drawn."""
        inner = self.inner
        read = inner.answers.resent(text) if role == "assistant" else text
        if isinstance(read, SanitizedText):
            return _Pending(inner.message(role, text), read, None)
        message = inner.message(role, read)
        known = None if fresh else inner.known_result(message)
        return _Pending(message, known, None if known else inner.mask(read, source, role))

    def _by_words(
        self, group: Sequence[_Pending], fresh: bool, source: Source
    ) -> Iterator[SanitizedText]:
        """Charge, draw and keep a group, and yield its results in order.

        Where the budget ends, the results before are yielded, and then BudgetExceeded is raised.
        """
        inner, refusal = self.inner, None
        due: dict[int, MaskedText] = {}
        first: dict[bytes, int] = {}  # message key -> its first text, which later ones repeat
        results: dict[int, SanitizedText] = {}
        with Charges(self._budget) as charges:
            for i, (message, _, masked) in enumerate(group):
                if masked is None or (message.key in first and not fresh):
                    continue
                price, key = inner.settings.cost(len(masked.drawn)), message.key
                try:
                    certified = inner.settings.mechanism.certified
                    charges.reserve(i, price, certified, None if fresh else key)
                except BudgetExceeded as error:
                    refusal, group = error, group[:i]
                    break
                due[i], first[key] = masked, i
            charges.start_drawing()
            for i, drawn in zip(due, inner.draw(list(due.values()), source), strict=True):
                kept = inner.keep(group[i].message, drawn)
                # Another thread may have been first: its result is the one that was released.
                lost = kept is not drawn and not fresh
                charges.settle(i, released=not lost)
                results[i] = repeated(kept) if lost else drawn
        for i, (message, found, _) in enumerate(group):
            result = found or results.get(i) or repeated(results[first[message.key]])
            if inner.preview and (found or i in results):  # found: before a restart, perhaps
                inner.note_preview(message, result)
            _log_text(message.text, result)
            yield inner.answers.prompted(result, message.role)
        if refusal is not None:
            raise refusal

    def adopt(
        self,
        text: str | DeclaredText,
        preview: SanitizedText,
        role: str = "user",
        keep: Sequence[str] = (),
    ) -> SanitizedText:
        """Charge a result that was drawn as a preview, and keep it as the result of this text.

        Where several previews of this text were drawn, under several settings or in several roles,
        all of them are charged: the one that leaves was chosen by what it shows.

        Where no words are drawn one by one, a preview has a table of its own: then the text is
        sanitized now, and what the conversation does not know yet may get other stand-ins.

        Args:
            text, role, keep: what the preview was made of.
            preview: result of the same text, by a Sanitizer derived with `charged=False`. Its
                placeholders are numbered anew: what was only looked at has no number.

        Raises:
            ValueError: it is no preview of this text and conversation.
            BudgetExceeded, NotCertified, LedgerError, VaultError: it must not leave the machine.

        >>> sanitizer = Sanitizer(policy="strict", budget=10.0)
        >>> preview = sanitizer.derive(charged=False).sanitize("Leeds")
        >>> sanitizer.spent, sanitizer.adopt("Leeds", preview) == preview, sanitizer.spent
        (0.0, True, 5.0)
        """
        if not self._draws_words(role, False):
            return self.sanitize(text, role=role, keep=keep)
        inner = self.inner
        message = inner.message(role, DeclaredText.of(text, keep))
        if (known := inner.known_result(message)) is not None:
            return known
        with Charges(self._budget) as charges:
            price = inner.price_of_choice(message, preview)
            charges.reserve(0, price, preview.record.certified, message.key)
            charges.start_drawing()
            adopted = inner.again(preview)
            kept = inner.keep(message, adopted)
            charges.settle(0, released=kept is adopted)
        return adopted if kept is adopted else repeated(kept)

    @property
    def instruction(self) -> str:
        """What an API must be told of placeholders, and how to calculate with hidden values.

        It is empty until something is hidden. Wrapped clients and the proxy send it along; who
        sends texts otherwise puts it behind the text. Of formulas it speaks where the policy has
        them (`formulas` under `[wire]`; "guarded") and amounts, dates or quantities are hidden.

        >>> sanitizer = Sanitizer(policy="guarded")
        >>> prompt = sanitizer.sanitize("Total: Quill paid £1,250.00, and Marsh paid £980.50.")
        >>> "write a formula" in sanitizer.instruction
        True
        >>> sanitizer.restore("{{= <MONEY_1> + <MONEY_2> }}", prompt)
        '£2,230.50'
        """
        return "\n\n".join(
            filter(None, [self.inner.answers.note(), self.inner.answers.instruction()])
        )

    def restore(self, answer: str, prompt: Answered | None = None) -> RestoredAnswer:
        """Return an answer with the originals in place of the values released for them.

        If an extractor is set, the answer is also rewritten, on this machine, for the original
        prompt; where it has nothing to go on or fails, only identifiers are restored, and `note`
        says why. Only what was released already is used: it costs no budget.

        Args:
            prompt: the result of `sanitize` that it answers, or several, the last one answered;
                default the last texts that this object sanitized in role "user". Give it when one
                object serves several threads, and for a text that was a conversation of its own.

        Raises:
            VaultError: the vault cannot be read.
            ModelError: the extractor's model is missing or damaged.
            TypeError: an answer that is no text, or a prompt as plain text.

        >>> sanitizer = Sanitizer(policy="identifiers")
        >>> prompt = sanitizer.sanitize("Who is joe@x.org?")
        >>> sanitizer.restore("I do not know <EMAIL_1>.", prompt)
        'I do not know joe@x.org.'
        """
        if not isinstance(answer, str):
            raise TypeError(f"answer must be a str, got {type(answer).__name__}")
        return self.inner.answers.restore(answer, prompt)

    def needs(self, answer: str) -> tuple[Need, ...]:
        """Return what an answer asks for: it wrote `[need <CONDITION_1>]` for a hidden value.

        Empty where the policy lets nothing leave (`guarded`), and of what was drawn.

        Raises:
            VaultError: the vault cannot be read.

        >>> sanitizer = Sanitizer()
        >>> prompt = sanitizer.sanitize("Elena wrote to us about her 1200 euros.")
        >>> money = next(each for each in prompt.replacements if each.kind == "MONEY")
        >>> needs = sanitizer.needs(f"[need {money.replacement}]")
        >>> [each.kind for each in needs]
        ['MONEY']
        >>> text = "Elena wrote to us about her 1200 euros."
        >>> sanitizer.release(text, needs, [money.replacement]).text.endswith("1200 euros")
        True
        """
        return self.inner.answers.needs(answer)

    def release(
        self, text: str | DeclaredText, needs: Sequence[Need], chosen: Collection[str]
    ) -> SanitizedText:
        """Return a text that ends with what a person lets leave; what was sent before stays in it.

        Ask a person: each decision, a refusal included, is in the record and ends the claim for
        what it is about. A text is decided once, and two things of a conversation leave at most.

        Args:
            text: the original that was answered. needs: what the answer asked for.
            chosen: placeholders that may leave.

        Raises:
            SanitizerError: as `sanitize`.
        """
        given = DeclaredText.of(text)
        self.inner.answers.decide(given.text, needs, chosen)
        return self.sanitize(given)

    def restored_stream(
        self, pieces: Iterable[str], prompt: Answered | None = None
    ) -> AnswerStream:
        """Return an iterator that restores an answer in pieces; it has `extracted` and `note`.

        Identifiers and the extractor "lexical" hold back a word at most. The other extractors read
        the answer to its end first; "lm" then streams what it writes, unless the answer holds
        identifiers: whether all of them were kept is checked before anything is shown.

        Args:
            pieces: the answer, however it is split.
            prompt: as for `restore`.

        >>> sanitizer = Sanitizer(policy="identifiers")
        >>> prompt = sanitizer.sanitize("Who is joe@x.org?")
        >>> "".join(sanitizer.restored_stream(["<EMA", "IL_1> is ", "Joe."], prompt))
        'joe@x.org is Joe.'
        """
        return self.inner.answers.stream(pieces, prompt)

    async def asanitize(
        self,
        text: str | DeclaredText,
        *,
        role: str = "user",
        fresh: bool = False,
        keep: Sequence[str] = (),
    ) -> SanitizedText:
        """Make one text private, in a thread, as `sanitize`.

        Where the caller is cancelled, the text is still sanitized and charged.
        """
        return await asyncio.to_thread(self.sanitize, text, role=role, fresh=fresh, keep=keep)

    async def asanitize_batch(
        self,
        texts: Iterable[str | DeclaredText],
        *,
        role: str | Sequence[str] = "user",
        fresh: bool = False,
        keep: Sequence[str] = (),
        together: bool | None = None,
    ) -> list[SanitizedText]:
        """Make many texts private, in a thread; as `sanitize_batch`."""
        return await asyncio.to_thread(
            self.sanitize_batch, texts, role=role, fresh=fresh, keep=keep, together=together
        )

    async def arestore(self, answer: str, prompt: Answered | None = None) -> RestoredAnswer:
        """Return an answer with the originals in it, made in a thread; as `restore`."""
        return await asyncio.to_thread(self.restore, answer, prompt)

    def arestored_stream(
        self, pieces: AsyncIterable[str], prompt: Answered | None = None
    ) -> AsyncAnswerStream:
        """Return an asynchronous iterator that restores an answer in pieces; as `restored_stream`.

        Vault and extractor work in a thread of the stream's own, so that the loop never waits for
        them. Where the caller is cancelled, nothing more is read. Give the prompt where texts are
        sanitized meanwhile.
        """
        return AsyncAnswerStream(pieces, lambda given: self.restored_stream(given, prompt))

    def __repr__(self) -> str:
        # What a ledger holds is not read for a repr.
        budget = "ledger" if self._ledger else f"{self.spent:g} of {self._limit or inf:g} spent"
        return (
            f"Sanitizer(policy={self.policy.name!r}, mechanism={self.mechanism.name!r}, "
            f"epsilon={self.mechanism.epsilon:g}, {budget})"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError(
            "a Sanitizer cannot be pickled: it holds originals; make one in each process"
        )

    @property
    def inner(self) -> Conversation:
        """The conversation, with the single stages; follows memories of corrections."""
        if self._memories is not None and (now := self._memories.current()) is not self._seen:
            corrected = _corrected(self._inner.settings.policy, now)
            self._inner, self._seen = self._inner.corrected(corrected), now
        return self._inner

    @property
    def conversation(self) -> str:
        """Name of the conversation."""
        return self.inner.conversation

    @property
    def corrections(self) -> Memories | None:
        """The memories of corrections that are followed, or None."""
        return self._memories

    @property
    def mechanism(self) -> WordMechanism:
        """Mechanism that draws private words; fixed, because the record speaks of it."""
        return self.inner.settings.mechanism

    @property
    def policy(self) -> Policy:
        """Policy that says what is public and what goes to the vault; fixed."""
        return self.inner.settings.policy

    @property
    def spent(self) -> float:
        """Epsilon charged so far to this object's budget, or the conversation's in the ledger."""
        return self._budget.spent

    @property
    def budget_left(self) -> float | None:
        """Epsilon that may still be spent; None without a limit."""
        return self._budget.left

    def load(self, models: bool = True) -> None:
        """Load now what is otherwise loaded at the first text; raise ModelError if it fails.

        Args:
            models: False for patterns and lists only, which processes may share: a model has
                threads, and they are gone after a fork.
        """
        self.policy.find_identifiers("+1 202 555 0100")  # imports what reads numbers
        if self.policy.detector != "none":
            load_lists()
        if not models:
            return
        if self.policy.perturb:
            self.inner.models()
        if self.policy.drawn:
            self.inner.class_draws().load()  # not inside a transaction: others would wait for it
        self.inner.detector()
        extractor = self.inner.answers.extractor
        if extractor is not None and not isinstance(extractor, str):
            extractor.load()


def _check_stores(conversation: object, vault: object, ledger: object) -> None:
    """Raise TypeError for a name that is no text, and for a path in place of what it holds.

    A path would be noticed at the first text only, with an error that names an attribute.
    """
    if not isinstance(conversation, str | None):
        raise TypeError(f"conversation must be a str, got {type(conversation).__name__}")
    opened = {"vault": (vault, "FileVault(path)"), "ledger": (ledger, "Ledger(path, key)")}
    for name, (given, right) in opened.items():
        if isinstance(given, str | Path):
            raise TypeError(f"{name} must be an opened {name}, got a path: {name}={right}")


def _with_roles(
    texts: Iterable[DeclaredText], role: str | Sequence[str]
) -> Iterator[tuple[DeclaredText, str]]:
    """Yield each text with its role; raise TypeError or ValueError for roles that do not fit."""
    if isinstance(role, str):
        yield from ((text, role) for text in texts)
        return
    if not isinstance(role, Sequence) or not all(isinstance(each, str) for each in role):
        raise TypeError("role must be a str, or a sequence with one for each text")
    for text, its_role in zip_longest(texts, role):
        if text is None or its_role is None:
            than = "got fewer" if its_role is None else "got more"
            raise ValueError(f"role must hold one for each text, {than}")
        yield text, its_role


def _log_text(before: str, result: SanitizedText) -> None:
    """Log a text and what leaves in its place, if both the level and the environment ask for it."""
    if _LOG.isEnabledFor(logging.DEBUG) and os.environ.get(LOG_TEXT) == "1":
        _LOG.debug("%r leaves as %r", before, result.text)


def _fresh_name() -> str:
    """Return the name of a conversation that nobody asks for again."""
    return secret_key()[:16].hex()


def _corrected(rules: Policy, listed: Listed | None) -> Policy:
    """Return a policy with what memories say; one without memories stays as it is."""
    listed = listed or Listed()
    return rules.with_corrections(listed.hidden, listed.kept, listed.mark)


class _Pending(NamedTuple):
    """One text of a group: with the result already released for it, or masked and to be drawn."""

    message: Message
    found: SanitizedText | None
    masked: MaskedText | None
