"""Prompts in ChatML, the form that the packaged causal model was taught to answer."""

from __future__ import annotations

from collections.abc import Sequence

from sanitizer.lm.tokens import ByteTokens

SYSTEM_PROMPT = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"
"""What the model's own template says where no system message is given."""


class ChatFormat:
    """Turns messages into tokens. Special tokens come from the format only: one written out in a
    message is text.

    Args:
        tokens: of a model whose chats are ChatML.

    Raises:
        ModelError: the tokenizer has none of the special tokens.
    """

    def __init__(self, tokens: ByteTokens) -> None:
        self._tokens = tokens
        self._begin, self._stop = tokens.special("<|im_start|>"), tokens.special("<|im_end|>")
        self._newline = tokens.encode("\n")
        self.end: frozenset[int] = frozenset(
            {self._begin, self._stop, tokens.special("<|endoftext|>")}
        )
        """Tokens at which an answer ends; not part of it."""

    def prompt(self, user: str, system: str | None = None) -> list[int]:
        """Tokens up to where the answer begins.

        Args:
            user: the message to answer. system: instructions before it; default those of the
                model's own template.
        """
        return self.chat([self._tokens.encode(user)], system)

    def chat(self, messages: Sequence[Sequence[int]], system: str | None = None) -> list[int]:
        """As `prompt`, for messages of a chat as tokens: the user's first, then in turn, the user's
        last.
        """
        found = self._turn(
            "system", self._tokens.encode(SYSTEM_PROMPT if system is None else system)
        )
        for i, message in enumerate(messages):
            found += self._turn("assistant" if i % 2 else "user", message)
        return found + self._opening("assistant")

    def beginning(self, message: Sequence[int], system: str | None = None) -> list[int]:
        """What every chat begins with whose first message begins with these tokens."""
        opened = self.chat([], system)[: -len(self._opening("assistant"))]
        return [*opened, *self._opening("user"), *message]

    def _turn(self, role: str, message: Sequence[int]) -> list[int]:
        return [*self._opening(role), *message, self._stop, *self._newline]

    def _opening(self, role: str) -> list[int]:
        return [self._begin, *self._tokens.encode(f"{role}\n")]
