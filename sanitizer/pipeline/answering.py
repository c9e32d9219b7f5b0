"""The way back of one conversation: what answers show again, and what a person lets leave.

What an API was sent decides what is put back: identifiers and stand-ins by the table, other words
by the extractor. Answers are remembered, so that they may go back as they came.
"""

from __future__ import annotations

import hashlib
import re
from collections import deque
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Protocol

from sanitizer.answers.alignment import Piece
from sanitizer.answers.asking import NEED, NOTE, Need, needs_of
from sanitizer.answers.extractors import (
    AnswerContext,
    AnswerStream,
    Extractor,
    RecentPrompts,
    RestoredAnswer,
)
from sanitizer.answers.formulas import INSTRUCTION, OPENS
from sanitizer.answers.links import MAY_HOLD, Links
from sanitizer.answers.restorer import Part, Restorer
from sanitizer.pipeline.leaving import decide
from sanitizer.pipeline.record import Settings, answer_record
from sanitizer.pipeline.response_memory import Passage, Resent, ResponseMemory, declared
from sanitizer.results import VALUES, SanitizedText
from sanitizer.storage.table import Originals
from sanitizer.storage.vault import Vault
from sanitizer.text.prompt import DeclaredText

MAX_SENT = 64
"""Texts with links that are remembered, so that the links may come back restored."""
_HAS_VALUE = re.compile(f"<(?:{'|'.join(sorted(VALUES))})_")
"""Beginning of a placeholder that a formula may calculate with."""
_OF_APIS = frozenset({"assistant", "arguments", "value"})
"""Roles of texts that an API may have written: messages, and values in arguments."""

Answered = SanitizedText | Sequence[SanitizedText]
"""What an answer answers: a result of `sanitize`, or several, the last one answered."""


class Answers:
    """What comes back in one conversation. Safe for many threads.

    Args:
        extractor: rewrites answers for the original prompt; None restores identifiers only.
        is_typed: returns whether a person writes in role "user", as far as can be told.

    Attributes:
        quotes: a text of the user's holds what looks like a formula, so that none is computed.
    """

    def __init__(
        self,
        settings: Settings,
        vault: Vault,
        conversation: str,
        extractor: Extractor | str | None,
        responses: ResponseMemory,
        is_typed: Callable[[], bool],
    ) -> None:
        self.settings, self.vault, self.conversation = settings, vault, conversation
        self.extractor, self._responses, self._is_typed = extractor, responses, is_typed
        self._prompts = RecentPrompts()
        self._sent: deque[str] = deque(maxlen=MAX_SENT)
        self._results: deque[SanitizedText] = deque(maxlen=MAX_SENT)
        self.quotes = False

    def follow(self, other: Answers) -> None:
        """Go on with what another one of the same conversation has remembered."""
        self._prompts, self._sent = other._prompts, other._sent
        self._results, self.quotes = other._results, other.quotes

    def resent(self, text: DeclaredText) -> DeclaredText | SanitizedText:
        """Return a text of the assistant with what the API wrote of it declared.

        Or the answer that it repeats. Where something is declared already, it stays as it is.
        """
        if text.declared or text.keep:
            return text
        (found,) = self._responses.align(self.conversation, [Resent("assistant", text.text)])
        if isinstance(found, str):
            return SanitizedText(found, (), answer_record(self.settings.policy))
        return declared(text.text, found) if found else text

    def prompted(self, result: SanitizedText, role: str) -> SanitizedText:
        """Return the result; remember what an answer to it may need.

        Links in what the API wrote are not the user's, though they were sent: an answer that the
        application changed a little comes back as a text like others.
        """
        if role not in _OF_APIS:
            if MAY_HOLD.search(result.text):
                self._sent.append(result.text)
            self._results.append(result)
            self.quotes = self.quotes or OPENS in result.text
        if self.extractor is not None and role == "user":
            self._prompts.add(result)
        return result

    def restore(self, answer: str, prompt: Answered | None) -> RestoredAnswer:
        """Restore a whole answer, and remember what was sent for the words it now shows."""
        restored = self.rewritten(answer, prompt)
        if restored.extracted:
            (sent,) = self._responses.align(
                self.conversation, [Resent("assistant", answer)], sends=False
            )
            if isinstance(sent, str):
                self.remember_answer(sent, restored)
        return restored

    def rewritten(self, answer: str, prompt: Answered | None) -> RestoredAnswer:
        """Restore a whole answer; what it shows is not remembered."""
        return AnswerStream([answer], self._context(prompt), whole=True).answer()

    def stream(self, pieces: Iterable[str], prompt: Answered | None) -> AnswerStream:
        """Restore an answer that comes in pieces."""
        return AnswerStream(pieces, self._context(prompt))

    def remember_answer(self, sent: str, restored: str, role: str = "assistant") -> None:
        """Let an answer go back as it came.

        Chats send their whole history with each message. When `restored` comes in this role, edited
        or not, what the API wrote of it leaves as it came, free of charge: the API that sent it
        knows it, and learns only that it came back. What was put in is treated like any text.
        Answers are kept in the vault. Raises VaultError.
        """
        pieces = pieces_of(sent, restored, [self.restorer()])
        self._responses.remember(
            self.conversation, [Passage(role, sent, restored, pieces, place=-1)]
        )

    def restorer(self, prompts: Sequence[SanitizedText] = (), capitals: bool = False) -> Restorer:
        """Return a restorer of the identifiers that the vault holds now; raise VaultError.

        Args:
            prompts: what was sent for certain, however long ago: its links may be restored. If the
                last one was a conversation of its own, that one's identifiers are restored.
            capitals: of names that were typed in lower case, where the answer is prose.
        """
        own = prompts[-1] if prompts and prompts[-1].conversation else None
        originals = self.vault.originals(own.conversation if own else self.conversation)
        if own and not originals:  # forgotten by the vault; what was replaced is known all the same
            found = [(each.replacement, each.original) for each in own.replacements]
            originals = Originals({value: was for value, was in found if value.startswith("<")})
        guarded = self.settings.policy.wire.links == "guard"
        sent = (*self._sent, *(each.text for each in prompts if MAY_HOLD.search(each.text)))
        # Nothing is held back for a formula where an API was told of none.
        computes = self._computes(prompts) and any(map(_HAS_VALUE.match, originals))
        links = Links(sent) if guarded else None
        return Restorer(originals, links, computes=computes, capitals=capitals)

    def needs(self, answer: str) -> tuple[Need, ...]:
        """Return what an answer asks for that a person may let leave; raise VaultError."""
        left = self.settings.policy.left
        if not (left and self._is_typed()):
            return ()
        return tuple(needs_of(answer, self.vault.originals(self.conversation), left))

    def decide(self, text: str, needs: Sequence[Need], chosen: Collection[str]) -> bool:
        """Keep what a person lets leave of what an answer to a text asked for.

        Returns:
            True if something is released: the same text, sanitized again, ends with it.
        """
        with self.vault.edit(self.conversation) as table:
            return decide(table, need_key(text), needs, chosen, self.settings.policy)

    def note(self, texts: Sequence[SanitizedText] | None = None) -> str:
        """Return what an API must be told of placeholders, "" where nothing is hidden.

        Args:
            texts: what a request holds; default the latest texts of the conversation.
        """
        policy, shown = self.settings.policy, self._results if texts is None else texts
        hidden = {each.kind for text in shown for each in text.replacements}
        if not (policy.wire.note and any(map(str.isupper, hidden))):
            return ""
        return NOTE.format(NEED if policy.left & hidden and self._is_typed() else "")

    def instruction(self, prompts: Sequence[SanitizedText] | None = None) -> str:
        """Return what an API must be told to calculate with hidden values, or "".

        Args:
            prompts: what a request holds; default the latest texts of the conversation.
        """
        texts = self._results if prompts is None else prompts
        hides = any(each.kind in VALUES for text in texts for each in text.replacements)
        told = hides or self.settings.policy.wire.formulas is True
        return INSTRUCTION if told and self._computes(prompts or ()) else ""

    def _computes(self, prompts: Sequence[SanitizedText]) -> bool:
        """Return True if formulas of answers are computed: not where a text holds some itself."""
        formulas = self.settings.policy.wire.formulas
        if formulas != "auto" or self.settings.policy.detector == "none":
            return formulas is True
        return not (self.quotes or any(OPENS in each.text for each in prompts))

    def _context(self, prompt: Answered | None) -> AnswerContext:
        if isinstance(prompt, SanitizedText):
            prompt = [prompt]
        prompts = self._prompts.last() if prompt is None else tuple(prompt)
        if not all(isinstance(each, SanitizedText) for each in prompts):
            raise TypeError(
                "prompt must be what sanitize returned, or a sequence of that, not text"
            )
        return AnswerContext(self.restorer(prompts), self.extractor, prompts, self.settings.policy)


class ByParts(Protocol):
    """What restores a whole text in parts, as `Restorer.parts`."""

    def parts(self, text: str, /) -> tuple[list[Part], str]:
        """Return the text in parts, and what is left of it."""


def pieces_of(sent: str, shown: str, restorers: Iterable[ByParts]) -> tuple[Piece, ...]:
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


def need_key(text: str) -> str:
    """Return the key under which a table keeps what a person decided after a text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
