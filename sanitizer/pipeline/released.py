"""What a conversation has released already, and the way back from its answers.

Charges for a group of texts: reserved before anything is drawn, settled once for each text.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import NamedTuple

from sanitizer.answers import (
    AnswerContext,
    AnswerStream,
    Extractor,
    Links,
    RecentPrompts,
    RestoredAnswer,
    Restorer,
    may_link,
)
from sanitizer.errors import NotCertified
from sanitizer.pipeline.record import Settings, answer_record
from sanitizer.results import SanitizedText
from sanitizer.storage import Budget, Charge, MemoryVault, Vault, message_key
from sanitizer.text import DeclaredText

MAX_SENT = 64
"""Texts with links that are remembered, so that the links may come back restored."""
MAX_ANSWERS = 2_000
"""Answers remembered in this process; the oldest of more are forgotten."""

Answered = SanitizedText | Sequence[SanitizedText]
"""What an answer answers: a result of `sanitize`, or several, the last one answered."""


class Message(NamedTuple):
    """One text of a conversation, and the key under which its result is kept."""

    key: bytes
    role: str
    text: str


class Released:
    """The messages that one conversation released under one setting. Safe for many threads.

    It is the only place that makes message keys: the same text in another role or conversation, or
    under another setting, is another message.

    Args:
        vault: where results and originals are kept.
        settings: the settings under which results are released.
        conversation: name of the conversation.
        preview: whether results are previews, which only other previews find.
        answers: answers of the API, kept apart from `vault` so that they never push out what was
            released; default an empty memory.
    """

    def __init__(
        self,
        vault: Vault,
        settings: Settings,
        conversation: str,
        preview: bool = False,
        answers: MemoryVault | None = None,
    ) -> None:
        self.vault = vault
        self.conversation = conversation
        self.answers = MemoryVault(MAX_ANSWERS) if answers is None else answers
        self.preview = preview
        self._settings = settings

    def message(self, role: str, text: DeclaredText) -> Message:
        """Return a text of this conversation with its key.

        The same text with something else declared public is another message.
        """
        kind = "preview" if self.preview else "message"
        settings = self._settings.digest + text.key
        return Message(self._key(kind, settings, role, text.text), role, text.text)

    def find(self, message: Message) -> SanitizedText | None:
        """Return the result already released for a message, or the answer it repeats, or None."""
        return self.released(message) or self.answer(message.role, message.text)

    def released(self, message: Message) -> SanitizedText | None:
        """Return the result already released for a message, or None. It costs nothing now."""
        return self._again(self.vault.get(message.key))

    def keep(self, message: Message, result: SanitizedText) -> SanitizedText:
        """Keep a result unless the message has one already; return the one that is kept.

        Under a policy that draws no words nothing is kept: identifiers follow from the vault.
        """
        if not self._settings.policy.perturb:
            return result
        return self.vault.put_first(message.key, result, self.conversation)

    def remember_answer(self, sent: str, restored: str, role: str = "assistant") -> None:
        """Let an answer go back as it came: see `Inner.remember_answer`."""
        if restored and self._settings.policy.reads_models:
            result = SanitizedText(sent, (), answer_record(self._settings.policy))
            self.answers.put_first(self._key("answer", "", role, restored), result)

    def answer_for(self, restored: str, role: str = "assistant") -> str | None:
        """Return the answer that the user saw as `restored`; None if it is not remembered."""
        found = self._answer(role, restored)
        return None if found is None else found.text

    def answer(self, role: str, restored: str) -> SanitizedText | None:
        """Return an answer as the API sent it, at no cost now; None if it is not remembered."""
        return self._again(self._answer(role, restored))

    def _answer(self, role: str, restored: str) -> SanitizedText | None:
        return self.answers.get(self._key("answer", "", role, restored))

    def _again(self, result: SanitizedText | None) -> SanitizedText | None:
        # A preview keeps its price, for nobody has paid it.
        return result if result is None or self.preview else repeated(result)

    def _key(self, kind: str, settings: str, role: str, text: str) -> bytes:
        return message_key(self.vault.secret, kind, settings, self.conversation, role, text)


class Answers:
    """The way back for one Sanitizer: restores the answers to what it released.

    Args:
        released: the conversation.
        settings: the settings under which prompts were sanitized.
        extractor: rewrites answers for the original prompt; None restores identifiers only.
    """

    def __init__(
        self, released: Released, settings: Settings, extractor: Extractor | str | None
    ) -> None:
        self.extractor = extractor
        self._released = released
        self._policy = settings.policy
        self._prompts = RecentPrompts()
        self._sent: deque[str] = deque(maxlen=MAX_SENT)

    def prompted(self, result: SanitizedText, role: str) -> SanitizedText:
        """Return the result; remember what an answer to it may need."""
        if may_link(result.text):
            self._sent.append(result.text)
        if self.extractor is not None and role == "user":
            self._prompts.add(result)
        return result

    def restore(self, answer: str, prompt: Answered | None) -> RestoredAnswer:
        """Restore a whole answer, and remember what was sent for the words it now shows."""
        restored = AnswerStream([answer], self._context(prompt), whole=True).answer()
        if restored.extracted and (sent := self._released.answer_for(answer)) is not None:
            self._released.remember_answer(sent, restored)
        return restored

    def stream(self, pieces: Iterable[str], prompt: Answered | None) -> AnswerStream:
        """Restore an answer that comes in pieces."""
        return AnswerStream(pieces, self._context(prompt))

    def restorer(self, prompts: Sequence[SanitizedText] = ()) -> Restorer:
        """Return a restorer of the identifiers that the vault holds now; raise VaultError.

        Args:
            prompts: what was sent for certain, however long ago: its links may be restored.
        """
        originals = self._released.vault.originals(self._released.conversation)
        guarded = self._policy.wire.links == "guard"
        sent = (*self._sent, *(each.text for each in prompts if may_link(each.text)))
        return Restorer(originals, Links(sent) if guarded else None)

    def _context(self, prompt: Answered | None) -> AnswerContext:
        if isinstance(prompt, SanitizedText):
            prompt = [prompt]
        prompts = self._prompts.last() if prompt is None else tuple(prompt)
        if not all(isinstance(each, SanitizedText) for each in prompts):
            raise TypeError(
                "prompt must be what sanitize returned, or a sequence of that, not text"
            )
        return AnswerContext(self.restorer(prompts), self.extractor, prompts, self._policy)


def repeated(result: SanitizedText) -> SanitizedText:
    """Return a result released before as it is repeated now, at no cost."""
    return replace(result, record=replace(result.record, charged=0.0))


class Charges:
    """Charges one budget for the texts of one Sanitizer. Safe for many threads.

    Attributes:
        budget: where epsilon is counted.
    """

    def __init__(self, budget: Budget) -> None:
        self.budget = budget

    @contextmanager
    def settling(self) -> Iterator[OpenCharges]:
        """Yield the charges of one group, and settle those still open if anything fails.

        They are released if nothing was drawn yet, and committed afterwards: once a word was drawn,
        whether and where a failure occurs may depend on private words.
        """
        charges = OpenCharges(self.budget)
        try:
            yield charges
        except BaseException:
            charges.settle_all()
            raise


class OpenCharges:
    """The charges of one group of texts, by the number of the text. One thread uses it."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._open: defaultdict[int, list[Charge]] = defaultdict(list)
        self._drawn = False

    def reserve(self, text: int, epsilon: float, certified: bool) -> None:
        """Reserve the price of a text, or of one more draw for it.

        Raises:
            BudgetExceeded: the budget has less left.
            NotCertified: a limit was set for a mechanism whose epsilon is not proved.
        """
        if self._budget.limited and not certified:
            raise NotCertified("a budget needs a certified mechanism")
        if epsilon:
            self._open[text].append(self._budget.reserve(epsilon))

    def start_drawing(self) -> None:
        """Commit, instead of releasing, whatever is still open when something fails from here."""
        self._drawn = True

    def settle(self, text: int, released: bool) -> None:
        """Commit the charge of a text whose draw was released, or give it back."""
        charges = self._open[text]
        while charges:
            charges[-1].commit() if released else charges[-1].release()
            charges.pop()  # only now: a failed commit is tried again by `settle_all`

    def settle_all(self) -> None:
        """Settle every open charge after a failure."""
        for text in list(self._open):
            self.settle(text, self._drawn)
