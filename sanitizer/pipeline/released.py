"""The way back: what a Sanitizer does with answers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sanitizer.answers import (
    AnswerContext,
    AnswerStream,
    Extractor,
    RecentPrompts,
    RestoredAnswer,
    Restorer,
)
from sanitizer.pipeline.record import answer_record
from sanitizer.results import SanitizedText
from sanitizer.storage import MemoryVault, Vault
from sanitizer.text import Policy

MAX_ANSWERS = 2_000

Prompt = SanitizedText | Sequence[SanitizedText]


class Answering:
    """The part of a `Sanitizer` that deals with answers; made by its constructor only."""

    _vault: Vault
    _answers: MemoryVault
    _prompts: RecentPrompts
    _extractor: Extractor | str | None
    _conversation: str
    _policy: Policy

    def restore(self, answer: str, prompt: Prompt | None = None) -> RestoredAnswer:
        """An answer with the originals in place of what stands for them in this conversation.

        If an extractor is set, the answer is also rewritten, on this machine, for the original
        prompt; where there is nothing to go on or the extractor fails, it comes as it is,
        identifiers restored, and `note` says why. All of
        it works on what was released already: it costs no budget.

        Args:
            answer: as the API wrote it.
            prompt: the result of `sanitize` that it answers, or several, the last one answered;
                default the last texts that this object sanitized in role "user". Give it when one
                object serves several threads.

        Raises:
            VaultError. ModelError: the extractor's model is missing or damaged. TypeError: a prompt
                as plain text.
        """
        restored = AnswerStream([answer], self._way(prompt), whole=True).answer()
        if restored.extracted and (sent := self.answer_for(answer)) is not None:
            self.remember_answer(sent, restored)
        return restored

    def restored_stream(self, pieces: Iterable[str], prompt: Prompt | None = None) -> AnswerStream:
        """As `restore`, for an answer that comes in pieces: an iterator with `extracted` and
        `note`.

        Identifiers and "lexical" hold back a word at most. The other extractors read the answer to
        its end first; "lm" then streams what it writes, unless identifiers stand in the answer:
        those are looked for first.
        """
        return AnswerStream(pieces, self._way(prompt))

    def restorer(self) -> Restorer:
        """What puts identifiers back, as the vault is now: for many texts, or for streams. Raises
        VaultError.
        """
        return Restorer(self._vault.originals(self._conversation))

    def _way(self, prompt: Prompt | None) -> AnswerContext:
        if isinstance(prompt, SanitizedText):
            prompt = [prompt]
        prompts = self._prompts.last() if prompt is None else tuple(prompt)
        if not all(isinstance(each, SanitizedText) for each in prompts):
            raise TypeError(
                "prompt must be what sanitize returned, or a sequence of that, not text"
            )
        return AnswerContext(self.restorer(), self._extractor, prompts, self._policy)

    def remember_answer(self, sent: str, restored: str, role: str = "assistant") -> None:
        """Let an answer go back as it came.

        Chats send their whole history with each message. When `restored` comes in this role,
        `sanitize` gives `sent`,
        free of charge: who sent it knows it, and learns only that it came back. The last 2,000 are
        kept, in this process.
        """
        if restored and self._policy.perturb:
            result = SanitizedText(sent, (), answer_record(self._policy))
            self._answers.put_first(self._key("answer", role, restored), result)

    def answer_for(self, restored: str, role: str = "assistant") -> str | None:
        """What was sent by the API where the user saw `restored`; None if it is not remembered."""
        found = self._answers.get(self._key("answer", role, restored))
        return None if found is None else found.text

    def _key(self, sort: str, role: str, text: str) -> bytes:
        """Where the vault keeps a message."""
        raise NotImplementedError
