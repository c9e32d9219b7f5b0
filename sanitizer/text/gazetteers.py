"""Names of drugs and of medical conditions, from public lists (models/words/gazetteers.txt)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Gazetteers:
    """Words that have a class wherever they occur.

    Attributes:
        kinds: lower-case word -> class.
    """

    kinds: dict[str, str]

    def kind_of(self, word: str) -> str | None:
        """Return the class of a word, or None."""
        return self.kinds.get(word.lower())
