"""One conversation: the table of its things, what it released, and what an API answered.

The steps from a text to what leaves are methods here, in the order in which `Sanitizer.sanitize`
takes them. `answers` is the way back.
"""

from __future__ import annotations

import hashlib
import threading
from bisect import bisect_right
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from sanitizer.answers.extractors import Extractor
from sanitizer.detect.classes import Known
from sanitizer.detect.detector import Detector, Reading
from sanitizer.detect.units import Document, document, read_apart, segmented
from sanitizer.pipeline.answering import Answers, need_key
from sanitizer.pipeline.engines import LoadedModels, ModelLoader, WordMechanism, draw
from sanitizer.pipeline.leaving import leave
from sanitizer.pipeline.masked_text import MaskedText
from sanitizer.pipeline.record import (
    Settings,
    answer_record,
    detected_record,
    perturbed_record,
    plain_record,
)
from sanitizer.pipeline.response_memory import ResponseMemory
from sanitizer.pipeline.surrogates import (
    APART,
    UNKNOWN,
    KnownIdentifiers,
    again,
    count_draws,
    surrogates,
    undrawn,
    without_number,
)
from sanitizer.randomness import SYSTEM_RANDOM, Source
from sanitizer.results import Record, SanitizedText
from sanitizer.storage.budget import Charges
from sanitizer.storage.table import Cache, Row, Wanted
from sanitizer.storage.vault import Scratch, Vault, message_key
from sanitizer.text.policy import CLASSES, Policy
from sanitizer.text.prompt import DeclaredText
from sanitizer.text.words import Segmented

MAX_PREVIEWED = 10_000
"""Texts whose previews are remembered until one of them is adopted."""
MAX_LEFT, MAX_CHARS_LEFT = 30_000, 20_000_000
"""Texts, and characters of them, of which what left is remembered: about 40 long sessions."""


class Message(NamedTuple):
    """One text of a conversation, and the key under which its result is kept."""

    key: bytes
    role: str
    text: str


class Previews:
    """Prices of the previews that were drawn, by text. Safe for many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._prices: Cache[bytes, dict[tuple[bytes, str], float]] = Cache(MAX_PREVIEWED)

    def note(self, text: bytes, draw: tuple[bytes, str], price: float) -> None:
        """Note a preview: the key of its message, and what was drawn."""
        with self._lock:
            self._prices.keep(text, {**(self._prices.get(text) or {}), draw: price}, 0)

    def of(self, text: bytes) -> dict[tuple[bytes, str], float]:
        """Return the prices of a text's previews."""
        with self._lock:
            return self._prices.get(text) or {}


class LeftBefore:
    """What left of the texts that were released last, by message key. Safe for many threads.

    Args:
        below: of the vault that a scratch is of: it is read as well.
    """

    def __init__(self, below: LeftBefore | None = None) -> None:
        self._below, self._lock = below, threading.Lock()
        self._kept: Cache[bytes, SanitizedText] = Cache(MAX_LEFT, MAX_CHARS_LEFT)

    def get(self, key: bytes) -> SanitizedText | None:
        with self._lock:
            found = self._kept.use(key)
        return found or (self._below.get(key) if self._below else None)

    def put(self, key: bytes, result: SanitizedText) -> None:
        with self._lock:
            self._kept.keep(key, result, len(result.text))


class Conversation:
    """The stages of one Sanitizer, and what its conversation holds. Safe for many threads.

    Applications use the methods of `Sanitizer`, which charge the budget and keep what was released;
    audits, attacks and API adapters need the stages singly.

    Args:
        vault: holds table, messages and answers.
        extractor: rewrites answers for the original prompt; None restores identifiers only.
        preview: results are previews, which only other previews find.
        responses: the answers that the vault holds; default read anew.
        previews: what was drawn without a charge, in all conversations.
        left: what left of the texts of all conversations of the vault.

    Attributes:
        answers: what comes back.
        remember, watch, unwatch, align, follow, n_turns, restored_in: of `ResponseMemory`, for this
            conversation. class_draws: returns what draws within classes; raises ModelError.
    """

    def __init__(
        self,
        settings: Settings,
        loader: ModelLoader,
        vault: Vault,
        conversation: str,
        extractor: Extractor | str | None,
        preview: bool = False,
        responses: ResponseMemory | None = None,
        previews: Previews | None = None,
        left: LeftBefore | None = None,
    ) -> None:
        policy = settings.policy
        self.settings, self.vault, self.conversation = settings, vault, conversation
        self.preview = preview
        self._loader, self.class_draws = loader, loader.class_draws
        self._previews = previews or Previews()
        self._left = left or LeftBefore()
        responses = responses or ResponseMemory(vault, answer_record(policy))
        self._responses = responses
        self.remember = partial(responses.remember, conversation)
        self.watch = partial(responses.watch, conversation)
        self.unwatch = partial(responses.unwatch, conversation)
        self.align = partial(responses.align, conversation)
        self.follow = partial(responses.follow, conversation)
        self.n_turns = partial(responses.n_turns, conversation)
        self.restored_in = partial(responses.restored, conversation)
        # What is looked at while somebody types is numbered apart: numbers tell how often.
        self._tables = vault.scratch(conversation) if preview and policy.perturb else vault
        self._known = partial(self._tables.known, conversation)
        detected = CLASSES if policy.detector != "none" else set(CLASSES) - {"ID"}
        self._identifiers = KnownIdentifiers(self._known, detected)
        self._light: dict[str, Conversation] = {}
        self._has_tools = False
        self._tools = f"tools/{conversation.rpartition('/')[2]}"
        self.answers = Answers(settings, vault, conversation, extractor, responses, self._is_typed)

    def derive(
        self,
        conversation: str | None = None,
        policy: Policy | str | Path | dict[str, Any] | None = None,
        mechanism: WordMechanism | None = None,
        vault: Vault | None = None,
        preview: bool = False,
    ) -> Conversation:
        """Return another one, or this one under other settings; see `Sanitizer.derive`."""
        old = self.settings
        rules = old.policy if policy is None else Policy.load(policy)
        mechanism = mechanism or (rules.mechanism if policy else None) or old.mechanism
        name = self.conversation if conversation is None else conversation
        if vault is None:
            scratch = preview and not rules.perturb
            vault = self.vault.scratch(name) if scratch else self.vault
        is_below = isinstance(vault, Scratch) and vault.below is self.vault
        left = LeftBefore(self._left if is_below else None)
        return Conversation(
            replace(old, mechanism=mechanism, policy=rules),
            self._loader
            if mechanism == old.mechanism
            else ModelLoader(self._loader.models, mechanism),
            vault,
            name,
            self.answers.extractor,
            preview or self.preview,
            self._responses if vault is self.vault else None,
            self._previews,
            self._left if vault is self.vault else left,
        )

    def corrected(self, policy: Policy) -> Conversation:
        """Return the same conversation under a policy that differs in its corrections alone."""
        other = self.derive(None, policy, self.settings.mechanism, self.vault)
        other.answers.follow(self.answers)
        return other

    def of_role(self, role: str) -> Conversation:
        """Return it as the policy treats texts of a role: of some, identifiers or names alone."""
        how, policy = self.treatment(role), self.settings.policy
        if how not in ("identifiers", "names"):
            return self
        if how not in self._light:
            rules = policy.names_only() if how == "names" else policy.identifiers_only()
            rules = replace(rules, roles={})
            self._light[how] = self.derive(None, rules, self.settings.mechanism)
        return self._light[how]

    def treatment(self, role: str) -> str:
        """Return how `Policy.roles` treats texts of a role; raise TypeError if it is no str."""
        if not isinstance(role, str):
            raise TypeError(f"role must be a str, got {type(role).__name__}")
        return self.settings.policy.roles.get(role, "treated")

    @property
    def digest(self) -> str:
        """Digest of policy, mechanism and models: what decides how a thing is read and drawn."""
        detector = self.detector()
        reader = "" if detector is None else detector.sha256
        return hashlib.sha256(f"{self.settings.digest} {reader}".encode()).hexdigest()

    def models(self) -> LoadedModels:
        """Return the loaded model, tokenizer and engine.

        Raises:
            ValueError: the policy draws no words.
            ModelError: a model is missing or damaged.
        """
        policy = self.settings.policy
        if not policy.perturb:
            raise ValueError(
                f"policy must be one that draws words one by one (strict, words), got "
                f"{policy.name!r}; for the classes that guarded draws: sanitizer advise --classes"
            )
        return self._loader.words()

    def detector(self) -> Detector | None:
        """Return what finds private things, None if nothing does; raise ModelError."""
        return None if self.settings.policy.detector == "none" else self._loader.detector()

    # ---- from a text to what leaves ----

    def document(self, text: DeclaredText, role: str) -> Document:
        """Find what is declared and what is hidden in a text before it is read.

        Args:
            role: all of the text is declared if the policy lets this role pass; APART if an API
                may know the text, which is then not compared with the table.

        Raises:
            ValueError: longer than `max_chars`. PolicyError: refused content.
        """
        settings = self.settings
        if self.treatment(role) == "public":
            text = text.all_declared()
        if len(text.text) > settings.max_chars:
            raise ValueError(
                f"text must have at most max_chars={settings.max_chars} characters, got "
                f"{len(text.text)}; split it"
            )
        spans = self._known_spans(text.text, role)
        policy, detector, name = settings.policy, self.detector(), self.conversation
        # The values of a template are no request.
        asks = bool(policy.left) and role == "user" and not text.declared
        return document(text.text, policy, text.declared, text.keep, spans, detector, name, asks)

    def declares_tools(self) -> None:
        """Note that a request declared tools: programs write in role "user" from now on.

        It holds for all conversations of the same holder of a key. Raises VaultError.
        """
        if self.settings.policy.left and not self._has_tools:
            with self._tables.edit(self._tools) as table:
                table.hide(Wanted("TEXT", "tools"))
            self._has_tools = True

    def _is_typed(self) -> bool:
        """Return True if a person writes in role "user", as far as can be told."""
        if self.settings.policy.roles.get("user") == "typed":
            return True
        self._has_tools = self._has_tools or bool(self._tables.originals(self._tools))
        return not self._has_tools

    def reading(self, document: Document) -> Reading | None:
        """Return what the detector finds in a text, None if none reads it; raise ModelError.

        It is remembered: a chat sends its whole history each time.
        """
        if not document.is_read:
            return None
        detector, policy = self._loader.detector(), self.settings.policy
        of = self.conversation, document.text, document.spans, document.declared, document.asks
        read = partial(read_apart, document, policy, detector)
        by = sorted(policy.thresholds.items()), policy.rows and policy.digest
        return detector.once(read, "reading", *of, *by)

    def policy(self, document: Document, reading: Reading | None, role: str) -> Segmented:
        """Decide what is hidden: entities, and things of the conversation; raise PolicyError."""
        # No form in a text that an API may know is told to be a thing of the conversation.
        known: Known = (lambda forms: {}) if role == APART else self._known
        return segmented(document, self.settings.policy, reading, known)

    def surrogates(
        self, text: str, private: Segmented, role: str, source: Source, charges: Charges | None
    ) -> MaskedText:
        """Look up what is released for each thing; reserve, draw and assign what is new.

        Args:
            charges: None for audits, which release nothing.

        Raises:
            BudgetExceeded, NotCertified: nothing was drawn.
            VaultError: the table is full or cannot be written.
        """
        settings, draws = self.settings, None
        policy, mechanism = settings.policy, settings.mechanism
        # Vectors and lists are English: in other languages the vault takes what would be drawn.
        listed = {unit.kind for unit in private.units if unit.concept}
        if private.language == "en" and not policy.drawn.isdisjoint(listed):
            draws = self.class_draws()
        pieces = self.models().pieces if policy.perturb else None
        place = APART if role == APART else ""
        n_new = 0
        values: list[str | None] = []
        decided: Sequence[Row] = ()
        may_leave = any(unit.needed for unit in private.units) and self._is_typed()
        if role == UNKNOWN:
            values = [without_number(unit) for unit in private.units]
        elif private.units:
            with self._tables.edit(self.conversation) as table:
                if table.is_late:  # what stood for its things before is not known any more
                    draws, may_leave = None, False
                if policy.left:
                    private = leave(table, private, policy, may_leave)
                if draws is not None:
                    n_new = count_draws(table, private, policy, place)
                if n_new and charges is not None:
                    charges.reserve(0, settings.cost(n_new), mechanism.certified)
                    charges.start_drawing()
                values = surrogates(table, text, private, policy, source, place, draws, n_new)
                if role == "user" and table.decided:
                    decided = table.decided.get(need_key(text), ())
        return MaskedText(text, private, values, pieces, mechanism.consistent, n_new, decided)

    def record(self, masked: MaskedText) -> Record:
        """State what was replaced in a text of which no words were drawn, and what that costs."""
        detector = self.detector()
        if detector is None:
            return plain_record(masked, self.settings.policy)
        drawn = self.vault.originals(self.conversation).drawn
        return detected_record(masked, self.settings, detector.sha256, drawn)

    def mask(
        self, text: str | DeclaredText, source: Source = SYSTEM_RANDOM, role: str = "user"
    ) -> MaskedText:
        """Return a text with its words hidden and its identifiers in the vault, uncharged.

        Raises:
            SanitizerError, TypeError, ValueError: as `Sanitizer.sanitize`.
        """
        document = self.document(DeclaredText.of(text), role)
        private = self.policy(document, self.reading(document), role)
        return self.surrogates(document.text, private, role, source, None)

    def draw(self, texts: Sequence[MaskedText], source: Source) -> list[SanitizedText]:
        """Draw every word of the texts; return the results, neither charged nor kept."""
        if not texts:
            return []
        models, settings = self.models(), self.settings
        return [
            self.shown(
                SanitizedText(*choices.finish(), perturbed_record(choices, settings, models))
            )
            for choices in draw(texts, models, source)
        ]

    def shown(self, result: SanitizedText) -> SanitizedText:
        """Return a result as it is to be seen: before it is sent, not what was drawn for it."""
        if isinstance(self.vault, Scratch) and self.vault.is_unsent:
            return undrawn(result, self.vault.below.originals(self.conversation))
        return result

    def unsent(self) -> Conversation:
        """Return this conversation for a look at what would leave; it changes nothing of it."""
        scratch = self.vault.scratch(self.conversation)
        scratch.is_unsent, other = True, self.derive(vault=scratch)
        other.answers.quotes = self.answers.quotes
        return other

    # ---- identifiers that the table knows ----

    def _known_spans(self, text: str, role: str) -> Sequence[tuple[int, int, str]]:
        """Return where identifiers of the conversation stand in a text, whatever is around them.

        Where every word is drawn, none: there they are read like any other text. What an API may
        know is not compared with the table.
        """
        if role == APART or self.settings.policy.perturb:
            return ()
        return self._followed().spans(text)

    def _followed(self) -> KnownIdentifiers:
        self._identifiers.follow(self._tables.originals(self.conversation))
        return self._identifiers

    def says_again(self, text: str, role: str, covered: Sequence[tuple[int, int]]) -> bool:
        """Return True if an identifier of the conversation stands in what is left of a text.

        What announces an identifier stands beside one occurrence of it, or in a later text.

        Args:
            covered: what was replaced, ascending.
        """
        starts = [start for start, _ in covered]
        for start, _, _ in self._known_spans(text, role):
            before = bisect_right(starts, start) - 1
            if before < 0 or covered[before][1] <= start:
                return True
        return False

    def known_number(self, spelling: str) -> str | None:
        """Return the stand-in of a JSON number that is an identifier of the conversation."""
        if (wanted := self._followed().number(spelling)) is None:
            return None
        with self._tables.edit(self.conversation) as table:
            return table.hide(wanted)

    # ---- what was released ----

    def message(self, role: str, text: DeclaredText) -> Message:
        """Return a text of this conversation with its key.

        It is the only place that makes message keys: the same text in another role or conversation,
        under another setting, or with something else declared public, is another message.
        """
        kind = "preview" if self.preview else "message"
        settings = self.settings.digest + text.key
        return Message(self._key(kind, settings, role, text.text), role, text.text)

    def _key(self, kind: str, settings: str, role: str, text: str) -> bytes:
        return message_key(self.vault.secret, kind, settings, self.conversation, role, text)

    def left_before(self, role: str, text: DeclaredText) -> SanitizedText | None:
        """Return what left of a text when it came before; None if it is to be treated anew.

        A chat sends its whole history with each message: what left once leaves again byte for byte,
        whatever was found to be private since, so that caches of APIs hold; the API has it. Raises
        VaultError.
        """
        found = self._left.get(self._left_key(role, text))
        if found is None:
            return None
        with self._tables.edit(self.conversation) as table:
            decided = table.decided.get(need_key(text.text), ()) if role == "user" else ()
            # A vault may have forgotten the conversation, and an answer could not be restored.
            known = all(each.replacement in table.originals for each in found.replacements)
        return found if known and len(decided) == len(found.record.asked) else None

    def note_left(self, role: str, text: DeclaredText, result: SanitizedText) -> None:
        """Remember what leaves of a text; not where a record tells of draws since."""
        if not self.settings.policy.drawn:
            self._left.put(self._left_key(role, text), result)

    def _left_key(self, role: str, text: DeclaredText) -> bytes:
        # That of a preview too, which has a memory of its own.
        return self._key("message", self.settings.digest + text.key, role, text.text)

    def known_result(self, message: Message) -> SanitizedText | None:
        """Return the result already released for a message, or None. It costs nothing now."""
        result = self.vault.get(message.key)
        if result is None:
            return None
        # A preview keeps its price, for nobody has paid it.
        return self.again(result) if self.preview else repeated(result)

    def again(self, result: SanitizedText) -> SanitizedText:
        """Return a preview with the stand-ins that things have here; raise VaultError."""
        with self._tables.edit(self.conversation) as table:
            return again(table, result)

    def keep(self, message: Message, result: SanitizedText) -> SanitizedText:
        """Keep a result unless the message has one already; return the one that is kept."""
        return self.vault.put_first(message.key, result, self.conversation)

    def note_preview(self, message: Message, result: SanitizedText) -> None:
        """Note that a preview of a text was drawn under these settings, or is shown again."""
        price = self.settings.cost(result.record.n_units)
        self._previews.note(self._text_key(message), (message.key, _drawn(result)), price)

    def price_of_choice(self, message: Message, preview: SanitizedText) -> float:
        """Return the epsilon of a preview, and of all others of its text that were looked at.

        Who has seen several draws chooses one of them by what it shows. Raises ValueError for what
        is no preview of this text in this conversation.
        """
        prices = self._previews.of(self._text_key(message))
        if not any(_drawn(preview) == drawn for _, drawn in prices):
            raise ValueError(
                "preview must be one of this text and conversation, drawn by this Sanitizer or one"
                " derived from it (of many, the latest are known)"
            )
        return max(self.settings.cost(preview.record.n_units), sum(prices.values()))

    def _text_key(self, message: Message) -> bytes:
        # Whatever its role: all of its previews were seen.
        return self._key("previews", "", "", message.text)

    def note_chat(self, key: bytes, name: str) -> str:
        """Keep the name of a chat under a key unless there is one; return the one that is kept."""
        record = answer_record(self.settings.policy)
        return self.vault.put_first(key, SanitizedText(name, (), record), self.conversation).text

    def read_once(self) -> AbstractContextManager[None]:
        """Read the table of the conversation once in the block, as far as the vault can."""
        reads: Callable[[str], AbstractContextManager[None]] | None
        reads = getattr(self.vault, "read_once", None)
        return nullcontext() if reads is None else reads(self.conversation)


def _drawn(result: SanitizedText) -> str:
    """Return what was drawn of a text, whatever the numbers of its placeholders are."""
    return "\0".join(each.replacement for each in result.replacements if each.kind.islower())


def repeated(result: SanitizedText) -> SanitizedText:
    """Return a result released before as it is repeated now, at no cost."""
    return replace(result, record=replace(result.record, charged=0.0))
