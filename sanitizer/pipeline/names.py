"""How what is released fits its sentence: natural names, and the plural of a group of people.

Natural names ("Lena Okoro" for a person, a firm or a place) come from packaged public lists. What
is drawn depends on visible text and on earlier names: the language, a title or a pronoun beside the
place, words that a name must not be taken for. Nothing is excluded, or chosen, because of the name
that is replaced: the same random numbers give the same name for any other.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from importlib.resources import files

from sanitizer.randomness import Source
from sanitizer.storage.table import name_marks
from sanitizer.text.policy import word_list
from sanitizer.text.words import Segmented, Unit

OF_PEOPLE = frozenset(["BELIEF", "ORIGIN"])
"""Classes whose names may stand for many people."""
_WORDS = tomllib.loads(files("sanitizer.pipeline").joinpath("names.toml").read_text("utf-8"))


def _any(*names: str) -> str:
    """Return a pattern of the words of some lists."""
    words = "|".join(word for name in names for word in _WORDS[name].split())
    return f"(?:{words})".replace("'", "['\u2019]")


_MANY_BEFORE = re.compile(rf"(?i)(?<!\w){_any('many')}[ \u00a0]\Z")
_MANY_AFTER = re.compile(rf"(?i)[ \u00a0](?:who[ \u00a0])?{_any('are')}(?!\w)")
_ALONE_AFTER = re.compile(rf"(?i)[.,;:!?)\n]|\Z|[ \u00a0]{_any('acts', 'behind_many')}(?!\w)")
_FIRST = re.compile(rf"(?i)(?:\A|[.!?:][ \u00a0]|\n|\b{_any('clause')}[ \u00a0])\Z")
_OPENED = re.compile(rf"(?i)[ \u00a0]{_any('acts', 'at_first')}(?!\w)")
_ACT = re.compile(rf"(?i)[ \u00a0]{_any('acts')}(?!\w)")
_HELPED = re.compile(rf"(?i)(?:\b{_any('helped')}\b[^.!?\n]*|(?<!\w){_any('one')}[ \u00a0])\Z")
"""Visible text around the name of a group of people that says that many are meant."""


def plural_places(text: str, units: Sequence[Unit]) -> frozenset[int]:
    """Return where the units begin that stand for many people, told by visible text alone."""
    found = []
    for i, unit in enumerate(units):
        if unit.kind in OF_PEOPLE:
            before = text[units[i - 1].end if i else 0 : unit.start]
            after = text[unit.end : units[i + 1].start if i + 1 < len(units) else len(text)]
            whole = after if i + 1 == len(units) else f"{after}x"  # a unit is no end
            if (
                _MANY_AFTER.match(whole)
                or (_MANY_BEFORE.search(before) and _ALONE_AFTER.match(whole))
                or ((i == 0 or before) and _FIRST.search(before) and _OPENED.match(whole))
                or ((i == 0 or before) and _ACT.match(whole) and not _HELPED.search(before))
            ):
                found.append(unit.start)
    return frozenset(found)


TRIES = 64
"""Names that are drawn before a placeholder is taken: so many may be excluded."""
_FEMALE, _MALE = (
    re.compile(rf"(?i)(?<!\w){_any(gender)}\.?,?[ \u00a0]\Z") for gender in ("female", "male")
)
_SHE, _HE = frozenset(_WORDS["she"].split()), frozenset(_WORDS["he"].split())
_WORD = re.compile(r"\w+")
_SENTENCE_END = re.compile(r"[.!?\n\u2026]")
_FIRMS = tuple(_WORDS["firms"].split())


class Names:
    """Draws natural names for the units of one text.

    Args:
        text: the original. segmented: its units. classes: those that get natural names.
    """

    def __init__(self, text: str, segmented: Segmented, classes: Collection[str]) -> None:
        language = segmented.language or ""
        self._language = language if language in _people() and language in _towns() else "en"
        units = segmented.units
        ends = [0, *(unit.end for unit in units)]
        starts = [*(unit.start for unit in units), len(text)]
        shown = [text[end:start] for end, start in zip(ends, starts, strict=True)]
        self._visible = {word.casefold() for each in shown for word in _WORD.findall(each)}
        self._genders: dict[tuple[str, str], str] = {}
        for i, unit in enumerate(units):
            if unit.kind in classes:
                told = _gender(shown[i], shown[i + 1])
                self._genders.setdefault((unit.kind, unit.text), told)

    def draw(self, kind: str, original: str, taken: Collection[str], source: Source) -> str | None:
        """Draw a name for a thing; None if its class gets none, or if too many are excluded.

        Args:
            original: only tells the place. taken: marks of earlier names (`name_marks`).
        """
        gender = self._genders.get((kind, original))
        if gender is None:
            return None
        for _ in range(TRIES):
            words = _drawn(kind, self._language, gender, source)
            folded = [word.casefold() for word in words]
            marks = {mark for word in words if word not in _FIRMS for mark in name_marks(word)}
            if self._visible.isdisjoint(folded) and marks.isdisjoint(taken):
                return " ".join(words)
        return None


def _drawn(kind: str, language: str, gender: str, source: Source) -> tuple[str, ...]:
    """Return the words of a name; how many numbers are drawn depends on the first three only."""
    people = _people()[language]
    if kind == "PLACE":
        return (_one_of(_towns()[language], source),)
    family = _one_of(people["family"], source)
    if kind == "ORGANIZATION":
        return family, _one_of(_FIRMS, source)
    gender = gender or ("female", "male")[source.randbelow(2)]
    return _one_of(people[gender], source), family


def _one_of(names: Sequence[str], source: Source) -> str:
    return names[source.randbelow(len(names))]


def _gender(ahead: str, behind: str) -> str:
    """Return what the visible text beside a name tells: a title or relation before, or a pronoun.

    Args:
        ahead, behind: visible text up to the unit before, and up to the one after.

    >>> _gender("Dear Ms. ", " wrote."), _gender("Then ", " lost his keys"), _gender("", "")
    ('female', 'male', '')
    """
    for pattern, gender in ((_FEMALE, "female"), (_MALE, "male")):
        if pattern.search(ahead):
            return gender
    end = _SENTENCE_END.search(behind)
    for word in _WORD.findall(behind[: end.start() if end else len(behind)]):
        if word.lower() in _SHE | _HE:
            return "female" if word.lower() in _SHE else "male"
    return ""


@cache
def _people() -> Mapping[str, Mapping[str, tuple[str, ...]]]:
    found: dict[str, dict[str, tuple[str, ...]]] = {}
    for line in word_list("people.txt", "classes"):
        group, _, names = line.partition(" = ")
        language, kind = group.split()
        found.setdefault(language, {})[kind] = tuple(names.split())
    return found


@cache
def _towns() -> Mapping[str, tuple[str, ...]]:
    lines = [line.partition(" = ") for line in word_list("towns.txt", "classes")]
    return {language: tuple(names.split()) for language, _, names in lines}
