"""The single stages of a Sanitizer: masking, drawing, restoring and remembering."""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from sanitizer.answers import Extractor, Restorer, Segment
from sanitizer.detect import Detector, split
from sanitizer.pipeline.classes import ClassDraws
from sanitizer.pipeline.engines import (
    LoadedModels,
    ModelLoader,
    WordMechanism,
    draw,
)
from sanitizer.pipeline.known import Span
from sanitizer.pipeline.masked_text import Choices, MaskedText
from sanitizer.pipeline.record import (
    Settings,
    detected_record,
    perturbed_record,
    plain_record,
)
from sanitizer.pipeline.released import (
    Answers,
    OpenCharges,
    Released,
)
from sanitizer.pipeline.said import Passage, Resent
from sanitizer.pipeline.stand_ins import APART, Charge, StandIns
from sanitizer.randomness import SYSTEM_RANDOM, Source
from sanitizer.results import FactWarning, SanitizedText
from sanitizer.storage import (
    Vault,
    as_printed,
)
from sanitizer.text import DeclaredText, Policy, Segmented


class Inner:
    """The stages of one Sanitizer, for audits, attacks and API adapters that need them singly.

    Applications use the methods of `Sanitizer` instead, which charge the budget and keep what was
    released. Safe for many threads.

    Attributes:
        settings: what decides what is released.
        released: the messages that the conversation released.
        answers: the way back.
    """

    def __init__(
        self,
        settings: Settings,
        loader: ModelLoader,
        released: Released,
        extractor: Extractor | str | None,
    ) -> None:
        self.settings = settings
        self.released = released
        self.answers = Answers(released, settings, extractor)
        self._loader = loader
        vault = released.vault
        if released.preview and settings.policy.perturb:
            # What is looked at while somebody types is numbered apart: numbers tell how often.
            vault = vault.scratch(released.conversation)
        self._stand_ins = StandIns(settings.policy, vault, released.conversation)
        self._light: Inner | None = None

    def derive(
        self,
        conversation: str | None,
        policy: Policy | str | Path | Mapping[str, Any] | None,
        mechanism: WordMechanism | None,
        vault: Vault | None,
        preview: bool,
    ) -> Inner:
        """Return the stages under other settings; see `Sanitizer.derive`."""
        old = self.settings
        rules = old.policy if policy is None else Policy.load(policy)
        mechanism = mechanism or (rules.mechanism if policy else None) or old.mechanism
        settings = replace(old, mechanism=mechanism, policy=rules)
        same = mechanism == old.mechanism
        if vault is None:
            vault = self.released.vault
            if preview and not rules.perturb:
                vault = vault.scratch(conversation or self.released.conversation)
        released = Released(
            vault,
            settings,
            self.released.conversation if conversation is None else conversation,
            preview or self.released.preview,
            self.released.said if vault is self.released.vault else None,
            self.released.previews,
        )
        loader = self._loader if same else ModelLoader(self._loader.models, mechanism)
        return Inner(settings, loader, released, self.answers.extractor)

    def corrected(self, policy: Policy) -> Inner:
        """Return the same stages under a policy that differs in its corrections alone."""
        inner = self.derive(None, policy, self.settings.mechanism, self.released.vault, False)
        inner.answers.take_over(self.answers)
        return inner

    def beside(self, conversation: str) -> Inner:
        """Return the same stages for another conversation of the same vault."""
        return self.derive(conversation, None, None, None, False)

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
                f"{policy.name!r}; for the classes that balanced draws: sanitizer advise --classes"
            )
        return self._loader.load()

    def mask(
        self,
        text: str | DeclaredText,
        source: Source = SYSTEM_RANDOM,
        role: str = "user",
        charge: Charge = lambda epsilon, n_draws: None,
    ) -> MaskedText:
        """Return a text with its words hidden and its identifiers in the vault.

        Args:
            source: source of the values released for numbers and identifiers.
            role: all of the text is declared if the policy lets this role pass; APART if an API
                may know the text, which is then not compared with the table.
            charge: called before stand-ins are drawn within their classes, once for all of them.

        Raises:
            SanitizerError, TypeError, ValueError: as `Sanitizer.sanitize`.
        """
        read = DeclaredText.of(text)
        if self.treatment(role) == "public":
            read = read.all_declared()
        text, settings = read.text, self.settings
        if len(text) > settings.max_chars:
            raise ValueError(
                f"text must have at most max_chars={settings.max_chars} characters, got "
                f"{len(text)}; split it"
            )
        policy = settings.policy
        pieces = self.models().pieces if policy.perturb else None
        apart = role == APART
        known = no_things if apart else self._stand_ins.known
        spans = () if apart else self.known_identifiers(text)
        segmented = split(
            text, policy, self.detector(), read.declared, read.keep, known, spans
        )
        draws = self._class_draws(segmented)
        place = APART if apart else ""
        values = self._stand_ins.values(text, segmented, source, draws, charge, place)
        return MaskedText(text, segmented, values, pieces, settings.mechanism.consistent)

    def known_identifiers(self, text: str) -> Sequence[Span]:
        """Return where identifiers of the conversation stand in a text, whatever is around them.

        Where every word is drawn, none: there they are read like any other text.
        """
        if self.settings.policy.perturb:
            return ()
        return self._stand_ins.identifiers().spans(text)

    def says_again(self, text: str, role: str, covered: Sequence[tuple[int, int]]) -> bool:
        """Return True if an identifier of the conversation stands in what is left of a text.

        What announces an identifier stands beside one occurrence of it, or in a later text. What
        an API may know is not compared with the table.

        Args:
            covered: what was replaced, ascending.
        """
        if role == APART:
            return False
        starts = [start for start, _ in covered]
        for start, _, _ in self.known_identifiers(text):
            before = bisect_right(starts, start) - 1
            if before < 0 or covered[before][1] <= start:
                return True
        return False

    def known_number(self, spelling: str) -> str | None:
        """Return the stand-in of a JSON number that is an identifier of the conversation."""
        identifiers = self._stand_ins.identifiers()
        if (form := identifiers.number(spelling)) is None:
            return None
        return self._stand_ins.value_of(identifiers.kind(form), form)

    def draw(self, texts: Sequence[MaskedText], source: Source) -> list[SanitizedText]:
        """Draw every word of the texts; return the results, neither charged nor kept."""
        if not texts:
            return []
        models, settings = self.models(), self.settings
        return [
            SanitizedText(*choices.finish(), perturbed_record(choices, settings, models))
            for choices in draw(texts, models, source)
        ]

    def _class_draws(self, segmented: Segmented) -> ClassDraws | None:
        """Return what draws within classes, if the text holds such things and is English.

        Vectors and lists are English: in other languages the vault takes what would be drawn.
        """
        if segmented.language != "en" or not any(unit.concept for unit in segmented.units):
            return None
        return self.class_draws()

    def class_draws(self) -> ClassDraws:
        """Return what draws stand-ins within classes; raise ModelError."""
        return self._loader.class_draws()

    def treatment(self, role: str) -> str:
        """Return how the policy treats texts of a role: "public", "identifiers" or "treated"."""
        return self.settings.policy.roles.get(role, "treated")

    def undrawn(
        self, role: str, text: DeclaredText, source: Source, charges: OpenCharges
    ) -> SanitizedText:
        """Return the result of a text of which no words are drawn, or the answer it repeats.

        Args:
            charges: takes what stand-ins cost that are drawn within their classes.
        """
        read = self.released.resent(text) if role == "assistant" else text
        if isinstance(read, SanitizedText):
            return read
        text = read
        if self.treatment(role) != "identifiers":
            return self._without_draws(text, source, role, charges)
        if self._light is None:
            rules = replace(self.settings.policy.identifiers_only(), roles={})
            self._light = self.derive(None, rules, self.settings.mechanism, None, False)
        return self._light._without_draws(text, source, role, charges)

    def _without_draws(
        self, text: DeclaredText, source: Source, role: str, charges: OpenCharges
    ) -> SanitizedText:
        n_new = 0

        def charge(epsilon: float, n_draws: int) -> None:
            nonlocal n_new
            price = float(n_draws * as_printed(epsilon))
            charges.reserve(0, price, self.settings.mechanism.certified)
            charges.start_drawing()
            n_new += n_draws

        detector = self.detector()
        masked = self.mask(text, source, role, charge)
        if masked.n_identifiers and self.says_again(text.text, role, masked.covered):
            masked = self.mask(text, source, role, charge)
        if detector is None:
            record = plain_record(masked, self.settings.policy)
        else:
            drawn = self.released.vault.originals(self.released.conversation).drawn
            record = detected_record(masked, self.settings, detector.sha256, n_new, drawn)
        warnings = tuple(FactWarning(begin, end) for begin, end in masked.facts)
        return SanitizedText(*Choices(masked).finish(), record, warnings)

    def detector(self) -> Detector | None:
        """Return what finds private things under this policy; None if nothing does.

        Raises:
            ModelError: a model or a list is missing or damaged.
        """
        none = self.settings.policy.detector == "none"
        return None if none else self._loader.detector()

    def again(self, result: SanitizedText) -> SanitizedText:
        """Return a preview with the stand-ins that things have here; raise VaultError."""
        return self._stand_ins.again(result)

    def restorer(self) -> Restorer:
        """Return what restores identifiers, for many texts or streams; raise VaultError."""
        return self.answers.restorer()

    def remember_answer(self, sent: str, restored: str, role: str = "assistant") -> None:
        """Let an answer go back as it came.

        Chats send their whole history with each message. When `restored` comes in this role, edited
        or not, what the API wrote of it leaves as it came, free of charge: the API that sent it
        knows it, and learns only that it came back. What was put in is treated like any text.
        Answers are kept in the vault.

        Raises:
            VaultError: the answer cannot be kept.
        """
        self.answers.remember(sent, restored, role)

    def remember(self, passages: Sequence[Passage]) -> None:
        """Let the texts of one answer go back as they came; see `remember_answer`."""
        self.released.said.remember(self.released.conversation, passages)

    def watch(self, coming: Callable[[], list[Passage]]) -> None:
        """Let the texts of an answer be known that is still coming, and may be cut off."""
        self.released.said.watch(self.released.conversation, coming)

    def unwatch(self, coming: Callable[[], list[Passage]]) -> None:
        """Let an answer go that has come to its end."""
        self.released.said.unwatch(self.released.conversation, coming)

    def align(
        self, history: Sequence[Resent], *, sends: bool = True
    ) -> list[str | tuple[Segment, ...]]:
        """Return what leaves for each text of a history that the API wrote; see `Said.align`."""
        return self.released.said.align(self.released.conversation, history, sends=sends)

    def n_turns(self, *, reads: bool = True) -> int:
        """Return how often answers and what is the user's were noted; see `Said.n_turns`."""
        return self.released.said.n_turns(self.released.conversation, reads=reads)

    def read_once(self) -> AbstractContextManager[None]:
        """Read the table of the conversation once in the block, as far as the vault can."""
        reads: Callable[[str], AbstractContextManager[None]] | None
        reads = getattr(self.released.vault, "read_once", None)
        return nullcontext() if reads is None else reads(self.released.conversation)

    def restored_in(self, role: str) -> frozenset[str]:
        """Return the stand-ins that were restored in the answers' texts of one role."""
        return self.released.said.restored(self.released.conversation, role)


def no_things(forms: Collection[str]) -> Mapping[str, str]:
    """Return that none of these forms is a thing of a conversation."""
    return {}
