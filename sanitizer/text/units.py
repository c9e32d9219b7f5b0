"""What goes to the vault as a whole: identifiers, names, and what looks like a released value."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress

from sanitizer.identifiers import NameFinder, find, same_form
from sanitizer.randomness import Source
from sanitizer.storage import MAX_FORMED, Make, Vault
from sanitizer.text.policy import Policy
from sanitizer.text.words import Segmented, Unit, random_number

Span = tuple[int, int, str]

_LITERAL = re.compile(r"<[A-Z]+(?:_[A-Z]+)*_[0-9]+>")
_UNFORMED = (
    "TEXT",
    "TERM",
    "NUMBER",
    "PERSON",
    "PLACE",
    "ORGANIZATION",
)  # no realistic other value
_READS = {
    "NUMBER": "two",
    "PERSON": "she",
    "PLACE": "home",
    "ORGANIZATION": "work",
    "TEXT": "it",
    "TERM": "it",
}


def find_units(text: str, policy: Policy, names: NameFinder | None) -> list[Unit]:
    """Stretches that go to the vault, ascending, never overlapping; where they would, the first
    sort listed wins.
    """
    taken: list[Span] = [(*m.span(), "TEXT") for m in _LITERAL.finditer(text)]
    if policy.identifiers:
        found = [(i.start, i.end, i.kind) for i in find(text, policy.identifiers)]
        taken = sorted([*taken, *_clear_of(found, taken)]) if taken else found
    if names is not None:
        taken = sorted([*taken, *_clear_of(names.find(text), taken)])
    return [Unit(start, end, text[start:end], kind, False) for start, end, kind in taken]


def _clear_of(spans: Iterable[Span], taken: list[Span]) -> Iterator[Span]:
    """The spans that overlap none of those taken, both ascending."""
    i = 0
    for span in spans:
        while i < len(taken) and taken[i][1] <= span[0]:
            i += 1
        if i == len(taken) or span[1] <= taken[i][0]:
            yield span


def maker(style: str, source: Source) -> Make:
    """How released values are made.

    What cannot be given another value of its form, or has a number above `memory.MAX_FORMED`, gets
    a placeholder.

    Guarantee: a placeholder tells the kind and a running number only; a value of the same form
    tells its form too.
    """

    if style == "placeholder":
        return _placeholder

    def formed(kind: str, original: str, number: int) -> str:
        if kind not in _UNFORMED and number <= MAX_FORMED:
            with suppress(ValueError):
                return same_form(kind, original, source)
        return _placeholder(kind, original, number)

    return formed


def _placeholder(kind: str, original: str, number: int) -> str:
    return f"<{kind}_{number}>"


def reads_as(kind: str) -> str:
    """The word the model reads in place of a unit that went to the vault: a constant of its kind."""
    return _READS.get(kind, kind.lower())


def stand_ins(
    segmented: Segmented, vault: Vault, conversation: str, style: str, source: Source
) -> list[str | None]:
    """What is released for each unit; None for a word that is to be drawn. Raises VaultError."""
    if not segmented.units:
        return []
    wanted = [(u.kind, u.text) for u in segmented.units if u.kind.isupper()]
    values = iter(vault.substitutes(conversation, wanted, maker(style, source)))
    return [
        next(values)
        if u.kind.isupper()
        else random_number(u.text, source)
        if u.kind == "number"
        else None
        for u in segmented.units
    ]
