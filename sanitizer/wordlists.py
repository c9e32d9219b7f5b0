"""Word lists: the packaged ones, hash-checked, and those of a policy file."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from sanitizer.files import Manifest, model_folder
from sanitizer.text import without_clitic


@dataclass(frozen=True)
class WordSet:
    """Words and prefixes, compared without case. In a list, "cancer*" is a prefix."""

    exact: frozenset[str] = frozenset()
    prefixes: tuple[str, ...] = ()

    @classmethod
    def of(cls, entries: Iterable[str]) -> WordSet:
        lowered = [e.strip().lower() for e in entries]
        prefixes = tuple(sorted({e[:-1] for e in lowered if e.endswith("*") and len(e) > 1}))
        return cls(frozenset(e for e in lowered if e and not e.endswith("*")), prefixes)

    def __bool__(self) -> bool:
        return bool(self.exact or self.prefixes)

    def __contains__(self, word: str) -> bool:
        lowered = word.lower()
        return lowered in self.exact or (bool(self.prefixes) and lowered.startswith(self.prefixes))


@cache
def word_list(name: str) -> tuple[str, ...]:
    """Entries of a packaged word list, its hash checked; lines that begin with # are comments.

    Raises:
        ModelError: if the list is missing or damaged.
    """
    folder = model_folder("words")
    Manifest.read(folder).verify([name])
    lines = (folder / name).read_text("utf-8").splitlines()
    entries = (line.split("#", 1)[0].strip() for line in lines)
    return tuple(entry for entry in entries if entry)


def straight(word: str) -> str:
    """With typewriter apostrophes."""
    return word.replace("’", "'").replace("ʼ", "'")


def forms(word: str) -> set[str]:
    """How lists and patterns may name a word: as written, in lower case, without its clitic."""
    bases = (word, without_clitic(word))
    return {form for base in bases for form in (base, base.lower(), straight(base.lower()))}
