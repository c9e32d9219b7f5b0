"""What a conversation has released already, and the way back from its answers.

Charges for a group of texts: reserved before anything is drawn, settled once for each text.
"""

from __future__ import annotations

import re
import threading
from collections import OrderedDict, defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import NamedTuple

from sanitizer.answers import (
    INSTRUCTION,
    MAY_LINK,
    OPENS,
    AnswerContext,
    AnswerStream,
    Extractor,
    Links,
    Piece,
    RecentPrompts,
    RestoredAnswer,
    Restorer,
)
from sanitizer.errors import NotCertified
from sanitizer.pipeline.record import Settings, answer_record
from sanitizer.pipeline.said import Passage, Resent, Said, declared
from sanitizer.results import VALUES, SanitizedText
from sanitizer.storage import Budget, Charge, Originals, Vault, message_key
from sanitizer.text import DeclaredText

MAX_PREVIEWED = 10_000
"""Texts whose previews are remembered until one of them is adopted."""
MAX_SENT = 64
"""Texts with links that are remembered, so that the links may come back restored."""
_HAS_VALUE = re.compile(f"<(?:{'|'.join(sorted(VALUES))})_")
"""Beginning of a placeholder that a formula may calculate with."""
_OF_APIS = frozenset({"assistant", "arguments", "value"})
"""Roles of texts that an API may have written: messages, and values in arguments."""

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
        said: the answers of the API that the vault holds; default read anew.
        previews: what was drawn without a charge, in all conversations.

    Attributes:
        said: what the API said in the conversations of this vault.
    """

    def __init__(
        self,
        vault: Vault,
        settings: Settings,
        conversation: str,
        preview: bool = False,
        said: Said | None = None,
        previews: Previews | None = None,
    ) -> None:
        self.vault = vault
        self.conversation = conversation
        self.said = Said(vault, answer_record(settings.policy)) if said is None else said
        self.preview = preview
        self.previews = Previews() if previews is None else previews
        self._settings = settings

    def message(self, role: str, text: DeclaredText) -> Message:
        """Return a text of this conversation with its key.

        The same text with something else declared public is another message.
        """
        kind = "preview" if self.preview else "message"
        settings = self._settings.digest + text.key
        return Message(self._key(kind, settings, role, text.text), role, text.text)

    def released(self, message: Message) -> SanitizedText | None:
        """Return the result already released for a message, or None. It costs nothing now."""
        return self._again(self.vault.get(message.key))

    def note_preview(self, message: Message, result: SanitizedText) -> None:
        """Note that a preview of a text was drawn under these settings, or is shown again."""
        price = self._settings.cost(result.record.n_units)
        self.previews.note(self._text_key(message), (message.key, _drawn(result)), price)

    def price_of_choice(self, message: Message, preview: SanitizedText) -> float:
        """Return the epsilon of a preview, and of all others of its text that were looked at.

        Who has seen several draws chooses one of them by what it shows.

        Raises:
            ValueError: it is no preview of this text in this conversation.
        """
        if not self.previews.knows(self._text_key(message), _drawn(preview)):
            raise ValueError(
                "preview must be one of this text and conversation, drawn by this Sanitizer or one"
                " derived from it (of many, the latest are known)"
            )
        price = self._settings.cost(preview.record.n_units)
        return max(price, self.previews.price(self._text_key(message)))

    def _text_key(self, message: Message) -> bytes:
        # Whatever its role: all of its previews were seen.
        return self._key("previews", "", "", message.text)

    def keep(self, message: Message, result: SanitizedText) -> SanitizedText:
        """Keep a result unless the message has one already; return the one that is kept.

        Under a policy that draws no words nothing is kept: identifiers follow from the vault.
        """
        if not self._settings.policy.perturb:
            return result
        return self.vault.put_first(message.key, result, self.conversation)

    def resent(self, text: DeclaredText) -> DeclaredText | SanitizedText:
        """Return a text of the assistant with what the API wrote of it declared.

        Or the answer that it repeats. Where something is declared already, it stays as it is.
        """
        if text.declared or text.keep:
            return text
        (found,) = self.said.align(self.conversation, [Resent("assistant", text.text)])
        if isinstance(found, str):
            return self.answer(found)
        return declared(text.text, found) if found else text

    def answer(self, sent: str) -> SanitizedText:
        """Return an answer as it goes back: nothing new is released."""
        return SanitizedText(sent, (), answer_record(self._settings.policy))

    def _again(self, result: SanitizedText | None) -> SanitizedText | None:
        # A preview keeps its price, for nobody has paid it.
        return result if result is None or self.preview else repeated(result)

    def _key(self, kind: str, settings: str, role: str, text: str) -> bytes:
        return message_key(self.vault.secret, kind, settings, self.conversation, role, text)


class Previews:
    """Prices of the previews that were drawn, by text. Safe for many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._prices: OrderedDict[bytes, dict[tuple[bytes, str], float]] = OrderedDict()

    def note(self, text: bytes, draw: tuple[bytes, str], price: float) -> None:
        """Note a preview: the key of its message, and what was drawn."""
        with self._lock:
            self._prices.setdefault(text, {})[draw] = price
            self._prices.move_to_end(text)
            if len(self._prices) > MAX_PREVIEWED:
                self._prices.popitem(last=False)

    def knows(self, text: bytes, drawn: str) -> bool:
        """Return True if this was drawn as a preview of a text."""
        with self._lock:
            return any(drawn == each for _, each in self._prices.get(text, {}))

    def price(self, text: bytes) -> float:
        """Return what all previews of a text cost together."""
        with self._lock:
            return sum(self._prices.get(text, {}).values())


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
        self._said: deque[SanitizedText] = deque(maxlen=MAX_SENT)
        self._quotes = False

    def take_over(self, other: Answers) -> None:
        """Remember what another remembers, of the same conversation."""
        self._prompts, self._sent = other._prompts, other._sent
        self._said, self._quotes = other._said, other._quotes

    def prompted(self, result: SanitizedText, role: str) -> SanitizedText:
        """Return the result; remember what an answer to it may need.

        Links in what the API wrote are not the user's, though they were sent: an answer that the
        application changed a little comes back as a text like others.
        """
        if role not in _OF_APIS:
            if MAY_LINK.search(result.text):
                self._sent.append(result.text)
            self._said.append(result)
            self._quotes = self._quotes or OPENS in result.text
        if self.extractor is not None and role == "user":
            self._prompts.add(result)
        return result

    def restore(self, answer: str, prompt: Answered | None) -> RestoredAnswer:
        """Restore a whole answer, and remember what was sent for the words it now shows."""
        restored = AnswerStream([answer], self._context(prompt), whole=True).answer()
        if restored.extracted:
            conversation = self._released.conversation
            (sent,) = self._released.said.align(
                conversation, [Resent("assistant", answer)], sends=False
            )
            if isinstance(sent, str):
                self.remember(sent, restored)
        return restored

    def rewritten(self, answer: str, prompts: Sequence[SanitizedText]) -> RestoredAnswer:
        """Restore a whole answer by the extractor; what it shows is not remembered."""
        return AnswerStream([answer], self._context(prompts), whole=True).answer()

    def remember(self, sent: str, restored: str, role: str = "assistant") -> None:
        """Let an answer go back as it came: see `Inner.remember_answer`."""
        pieces = pieces_of(sent, restored, [self.restorer()])
        passage = Passage(role, sent, restored, pieces, place=-1)
        self._released.said.remember(self._released.conversation, [passage])

    def stream(self, pieces: Iterable[str], prompt: Answered | None) -> AnswerStream:
        """Restore an answer that comes in pieces."""
        return AnswerStream(pieces, self._context(prompt))

    def restorer(self, prompts: Sequence[SanitizedText] = ()) -> Restorer:
        """Return a restorer of the identifiers that the vault holds now; raise VaultError.

        Args:
            prompts: what was sent for certain, however long ago: its links may be restored. If the
                last one was a conversation of its own, that one's identifiers are restored.
        """
        own = prompts[-1] if prompts and prompts[-1].conversation else None
        name = own.conversation if own else self._released.conversation
        originals = self._released.vault.originals(name)
        if own and not originals:  # forgotten by the vault; what was replaced is known all the same
            originals = _originals_of(own)
        guarded = self._policy.wire.links == "guard"
        sent = (*self._sent, *(each.text for each in prompts if MAY_LINK.search(each.text)))
        # Nothing is held back for a formula where an API was told of none.
        computes = self._computes(prompts) and any(map(_HAS_VALUE.match, originals))
        return Restorer(originals, Links(sent) if guarded else None, computes=computes)

    def instruction(self, prompts: Sequence[SanitizedText] | None = None) -> str:
        """Return what an API must be told to calculate with hidden values, or "".

        Args:
            prompts: what a request holds; default the latest texts of the conversation.
        """
        texts = self._said if prompts is None else prompts
        hides = any(each.kind in VALUES for text in texts for each in text.replacements)
        told = hides or self._policy.wire.formulas is True
        return INSTRUCTION if told and self._computes(prompts or ()) else ""

    def _computes(self, prompts: Sequence[SanitizedText]) -> bool:
        """Return True if formulas of answers are computed: not where a text holds some itself."""
        formulas = self._policy.wire.formulas
        if formulas != "auto" or self._policy.detector == "none":
            return formulas is True
        return not (self._quotes or any(OPENS in each.text for each in prompts))

    def _context(self, prompt: Answered | None) -> AnswerContext:
        if isinstance(prompt, SanitizedText):
            prompt = [prompt]
        prompts = self._prompts.last() if prompt is None else tuple(prompt)
        if not all(isinstance(each, SanitizedText) for each in prompts):
            raise TypeError(
                "prompt must be what sanitize returned, or a sequence of that, not text"
            )
        return AnswerContext(self.restorer(prompts), self.extractor, prompts, self._policy)


def _originals_of(result: SanitizedText) -> Originals:
    """Return what stands for what in one text, placeholders only."""
    found = [(each.replacement, each.original) for each in result.replacements]
    return Originals({value: original for value, original in found if value.startswith("<")})


def pieces_of(sent: str, shown: str, restorers: Iterable[Restorer]) -> tuple[Piece, ...]:
    """Return the stretches of an answer, restored ones apart from what the API wrote.

    An answer that was rewritten is one stretch.
    """
    if sent == shown:
        return (Piece(sent, shown),)
    for restorer in restorers:
        parts, _ = restorer.parts(sent)
        pieces = [Piece(p.text, p.text if p.original is None else p.original) for p in parts]
        if "".join(piece.shown for piece in pieces) == shown:
            return tuple(piece for piece in pieces if piece.sent)
    return (Piece(sent, shown),)


def _drawn(result: SanitizedText) -> str:
    """Return what was drawn of a text, whatever the numbers of its placeholders are."""
    return "\0".join(each.replacement for each in result.replacements if each.kind.islower())


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

    def reserve(self, text: int, epsilon: float, certified: bool, key: bytes | None = None) -> None:
        """Reserve the price of a text, or of one more draw for it.

        Args:
            key: of the message that will be kept; a shared ledger charges it once.

        Raises:
            BudgetExceeded: the budget has less left.
            NotCertified: a limit was set for a mechanism whose epsilon is not proved.
        """
        if self._budget.limited and not certified:
            raise NotCertified("a budget needs a certified mechanism")
        if epsilon:
            self._open[text].append(self._budget.reserve(epsilon, key))

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
