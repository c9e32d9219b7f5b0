"""Extraction: from the answer to a sanitized prompt, an answer to the original one, on this machine.

What is shared by the ways to do it: what they are given, what they give back, and which prompts are remembered.
Everything here works on what was released already: it costs no budget.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator
from typing import Protocol, Self

from sanitizer.types import SanitizedText

MAX_PROMPTS = 16
WORD_KINDS = ("word", "number")
_REVERTED = (*WORD_KINDS, "article")

NO_PROMPT = "no prompt is known that this answer belongs to; pass prompt="
NO_RELEASED = "no word of the answer stands for one of the prompt beyond doubt"
NO_WORDS = "no word of the prompt was replaced, so there is nothing to put right"
LOST = "the extractor left out an identifier of the answer"
NOTHING = "the extractor wrote nothing"


class RestoredAnswer(str):
    """An answer as the user reads it: a string that knows how it came to be.

    Attributes:
        extracted: whether it was rewritten for the original prompt, beyond identifiers.
        note: why not, or what is wrong with it; None if there is nothing to say. Holds no text of prompt or answer.
    """

    extracted: bool
    note: str | None

    def __new__(cls, text: str, extracted: bool = False, note: str | None = None) -> Self:
        answer = super().__new__(cls, text)
        answer.extracted, answer.note = extracted, note
        return answer

    def __reduce__(self) -> tuple[type[Self], tuple[str, bool, str | None]]:
        return type(self), (str(self), self.extracted, self.note)


class NotExtracted(Exception):
    """There is no better answer than the one that came; the message says why, and quotes nothing."""


class EndedEarly(NotExtracted):
    """What was written is the answer, but it was cut off."""


class Extractor(Protocol):
    """Writes the answer to an original prompt. Must be safe for many threads, and must not leave the machine."""

    def load(self) -> None:
        """Load now what is otherwise loaded at first use. Raises ModelError."""

    def rewrite(self, prompt: str, draft: str) -> Iterator[str]:
        """The new answer, in pieces.

        Args:
            prompt: the original; placeholders stand in it for identifiers.
            draft: the answer to the sanitized prompt, with placeholders.

        Raises:
            NotExtracted: there is no answer. EndedEarly: there is, up to here.
            ModelError: a model could not be loaded.
        """


def original_prompt(result: SanitizedText) -> str:
    """The prompt before it was sanitized, with what stands for its identifiers."""
    parts: list[str] = []
    at = 0
    for r in result.replacements:
        parts += [result.text[at : r.start], r.original if r.kind in _REVERTED else r.replacement]
        at = r.end
    return "".join([*parts, result.text[at:]])


def replaced_words(result: SanitizedText) -> bool:
    """Whether any word or number of the prompt was drawn anew."""
    return any(r.kind in WORD_KINDS and r.replacement != r.original for r in result.replacements)


class Prompts:
    """The last prompts that were sanitized, in this process only. Safe for many threads.

    They hold originals, so there is no file of them, and nothing of them in a repr.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._results: OrderedDict[tuple[str, str], SanitizedText] = OrderedDict()

    def add(self, result: SanitizedText) -> None:
        """The newest one; the oldest of more than 16 is forgotten."""
        key = (result.text, original_prompt(result))
        with self._lock:
            self._results[key] = result
            self._results.move_to_end(key)
            if len(self._results) > MAX_PROMPTS:
                self._results.popitem(last=False)

    def last(self) -> tuple[SanitizedText, ...]:
        """Those that are remembered, the newest last."""
        with self._lock:
            return tuple(self._results.values())
