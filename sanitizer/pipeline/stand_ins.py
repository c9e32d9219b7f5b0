"""What is released in place of each thing: a placeholder, a value of the same form, or a draw.

The table of the conversation, in the vault, decides: a thing keeps its stand-in.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress

from sanitizer.errors import VaultError
from sanitizer.identifiers import same_form
from sanitizer.pipeline.classes import ClassDraws
from sanitizer.pipeline.known import KnownIdentifiers
from sanitizer.pipeline.names import Names
from sanitizer.randomness import Source
from sanitizer.storage import MAX_FORMED, NATURAL, Drawn, Entries, Make, Vault, Wanted
from sanitizer.text import Policy, Segmented, Unit, cased, list_of, random_number

Charge = Callable[[float], None]
"""Function that reserves the epsilon of one draw; it raises BudgetExceeded."""

APART = "apart"
"""Place of things in texts that an API may know; also the role of such texts."""
_UNFORMED = ("TEXT", "TERM", "NUMBER", "PERSON", "PLACE", "ORGANIZATION")
"""Kinds without a form of which another realistic value could be made."""
_PLACEHOLDER = re.compile(r"<[A-Z]+(?:_[A-Z]+)*(?:_[0-9]+){1,3}>")


class StandIns:
    """Makes the released values of one Sanitizer.

    Args:
        policy: which classes are drawn, how many things of a conversation, and the style of values.
        vault: holds the tables. conversation: whose table is used.
    """

    def __init__(self, policy: Policy, vault: Vault, conversation: str) -> None:
        self._policy, self._vault, self._conversation = policy, vault, conversation
        self._identifiers = KnownIdentifiers(self.known, policy.names is True)

    def known(self, forms: Collection[str]) -> Mapping[str, str]:
        """Return form -> class of those forms that are things of the conversation already."""
        return self._vault.known(self._conversation, forms)

    def identifiers(self) -> KnownIdentifiers:
        """Return what finds the identifiers of the conversation; raise VaultError."""
        self._identifiers.follow(self._vault.originals(self._conversation))
        return self._identifiers

    def value_of(self, kind: str, form: str) -> str:
        """Return the released value that a form of the table has."""
        wanted = [Wanted(kind, form)]
        (value,) = self._vault.substitutes(self._conversation, wanted, _placeholder)
        return value

    def values(
        self,
        text: str,
        segmented: Segmented,
        source: Source,
        draws: ClassDraws | None = None,
        charge: Charge = lambda epsilon: None,
        place: str = "",
    ) -> list[str | None]:
        """Return the released value of each unit; None for a word that is drawn by its context.

        Args:
            text: the original. segmented: its units.
            draws: of classes; None where nothing is drawn, and what would be gets a placeholder.
            charge: called before each draw.
            place: APART for texts that are not the user's: equal things are not linked.

        Raises:
            VaultError: the table is full or cannot be written.
            BudgetExceeded: by `charge`; what was drawn before stays drawn.
        """
        units = segmented.units
        if not units:
            return []
        policy = self._policy
        hidden = [unit for unit in units if unit.kind.isupper()]
        wanted = [Wanted(unit.kind, unit.text, unit.concept.lower(), place) for unit in hidden]
        concepts = {(unit.kind, unit.text): unit.concept for unit in hidden if unit.concept}
        plain = maker(policy.style, source)
        natural = policy.natural if place == "" else ()
        names = Names(text, segmented, natural) if natural else None

        def make(kind: str, original: str, number: int, table: Entries) -> str:
            name = concepts.get((kind, original))
            if draws is not None and name and len(table.drawn) < policy.max_drawn:
                charge(draws.epsilon)
                value = draws.draw(list_of(kind, name), name, table.drawn, source)
                if value is not None:
                    return Drawn(value, draws.epsilon)
            if names is not None:
                value = names.draw(kind, original, table.originals.marks, source)
                if value is not None:
                    return value
            return plain(kind, original, number, table)

        made = self._vault.substitutes(self._conversation, wanted, make)
        values = self._as_code(hidden, made)
        return [
            next(values)
            if unit.kind.isupper()
            else random_number(unit.text, source)
            if unit.kind == "number"
            else None
            for unit in units
        ]

    def _as_code(self, hidden: Sequence[Unit], values: list[str]) -> Iterator[str]:
        """Yield the released values in the form of their places; each form is kept in the vault.

        A placeholder keeps its number: `<PERSON_1>` in prose is PERSON_1 where a name of code
        stands.
        """
        for unit, value in zip(hidden, values, strict=True):
            natural = unit.kind in NATURAL and not _PLACEHOLDER.fullmatch(value)
            if unit.form == "prose" and natural:
                yield value
                continue
            if not natural and not _PLACEHOLDER.fullmatch(value):
                yield cased(value, unit.opens_sentence)
                continue
            if unit.form == "prose":
                yield value
                continue
            if natural:  # two words are no name of code
                yield self._bare(unit)
                continue
            wanted = [Wanted(unit.kind, unit.text, place=unit.form)]
            written = _as_form(value, unit.form)
            (kept,) = self._vault.substitutes(self._conversation, wanted, _once(written))
            yield kept

    def _bare(self, unit: Unit) -> str:
        """Return a placeholder for a place of code; it is kept in the vault."""

        def make(kind: str, original: str, number: int, table: Entries) -> str:
            return _as_form(table.placeholder(kind, number), unit.form)

        wanted = [Wanted(unit.kind, unit.text, place=unit.form)]
        (kept,) = self._vault.substitutes(self._conversation, wanted, make)
        return kept


def _as_form(placeholder: str, form: str) -> str:
    """Return a placeholder as a place of code takes it: quoted, or as a name."""
    if form == "quoted":
        return f'"{placeholder}"'
    return placeholder.strip("<>") + "_" * (form == "tag")


def maker(style: str, source: Source) -> Make:
    """Return the function that makes released values without a draw.

    An original that has no other value of its form, or a number above `MAX_FORMED`, gets a
    placeholder.

    Guarantee: a placeholder tells the kind and a running number only; a value of the same form
    tells its form too.

    Args:
        style: "placeholder" or "same-form".
    """
    if style == "placeholder":
        return _placeholder

    def formed(kind: str, original: str, number: int, table: Entries) -> str:
        if kind not in _UNFORMED and number <= MAX_FORMED:
            with suppress(ValueError):
                return same_form(kind, original, source)
        return _placeholder(kind, original, number, table)

    return formed


def _placeholder(kind: str, original: str, number: int, table: Entries) -> str:
    return table.placeholder(kind, number)


def _once(value: str) -> Make:
    """Return what makes one value, and an error where that is taken."""
    left = [value]

    def make(kind: str, original: str, number: int, table: Entries) -> str:
        if not left:
            raise VaultError("a placeholder of code is taken already")
        return left.pop()

    return make
