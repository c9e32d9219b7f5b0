"""What leaves as it is because the request needs it: one decision for a thing and conversation.

Decided at a thing's first place, from its class and what the reader says there; hidden stays
hidden, and left stays left, whatever later messages ask (docs/guarantees.md, "Needed").
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from sanitizer.answers.asking import Need
from sanitizer.errors import PolicyError
from sanitizer.storage.table import LEFT, REFUSED, RELEASED, Entries, Row, Wanted, same_thing
from sanitizer.text.policy import ELIGIBLE, Policy
from sanitizer.text.words import Segmented, Unit

QUASI = frozenset("PLACE ORIGIN OCCUPATION BELIEF SEXUALITY CRIME FAMILY AGE".split())
"""Classes of which a few together name a person."""
MOST_RELEASED = 2
"""Messages of a conversation after which a person may release what an answer asked for."""


def leave(table: Entries, segmented: Segmented, policy: Policy, may_leave: bool) -> Segmented:
    """Return a text in which what its request needs is no unit; keep in the table what left.

    Args:
        table: of the conversation, being edited. may_leave: a person wrote the text.

    Raises:
        PolicyError: the policy wants such requests refused. VaultError: the table is full.
    """
    units = segmented.units
    if not (table.left or (may_leave and any(unit.needed for unit in units))):
        return segmented
    decisions = _Decisions(table, policy, may_leave)
    treats = [i for i, unit in enumerate(units) if unit.kind == "TREATMENT"]
    others = [i for i, unit in enumerate(units) if unit.kind != "TREATMENT"]
    left = {i for i in others if decisions.leaves(units[i])}
    # Insulin beside a hidden diabetes would tell it.
    hides = any(units[i].kind == "CONDITION" for i in others if i not in left)
    decisions.may_leave = decisions.may_leave and not hides
    left |= {i for i in treats if decisions.leaves(units[i])}
    if not left:
        return segmented
    numbers = [i for i in range(len(units)) if i not in left]
    now = {i: number for number, i in enumerate(numbers)}
    return replace(
        segmented,
        units=tuple(units[i] for i in numbers),
        articles=tuple(
            replace(each, unit=now[each.unit]) for each in segmented.articles if each.unit in now
        ),
        left=tuple(units[i] for i in sorted(left)),
    )


class _Decisions:
    """The decisions of one text, in the order of its things."""

    def __init__(self, table: Entries, policy: Policy, may_leave: bool) -> None:
        self._table, self._policy, self.may_leave = table, policy, may_leave
        self._released = {value.lower() for value in table.originals}
        self._n_quasi = _n_quasi(table)
        self._hidden: set[str] = set()

    def leaves(self, unit: Unit) -> bool:
        """Return True if this place of a thing leaves as it is."""
        if unit.kind not in ELIGIBLE:
            return False
        kind = "AGE" if unit.age else unit.kind
        wanted, table = Wanted(kind, unit.text, unit.concept.lower()), self._table
        keys = {wanted.thing, same_thing(unit.text)}
        if not keys.isdisjoint(table.left):
            return True
        if self._is_hidden(unit, kind, keys):
            self._hidden |= keys
            return False
        if self._policy.wire.ask == "refuse":
            raise PolicyError(
                f"the request seems to need {unit.kind} as it is written: declare what may leave "
                'with keep=, or choose "leave", "warn" or "hide" for ask under [wire]'
            )
        table.leave(wanted)
        self._n_quasi += kind in QUASI
        return True

    def _is_hidden(self, unit: Unit, kind: str, keys: set[str]) -> bool:
        known = not keys.isdisjoint(self._table.things.keys() | self._hidden)
        if known or not (unit.needed and self.may_leave):
            return True
        # What stands for another thing would tell that they are equal.
        if unit.text.lower() in self._released:
            return True
        return kind in QUASI and self._n_quasi >= self._policy.leave_at_most


def _n_quasi(table: Entries) -> int:
    """Return how many things left of which a few name a person."""
    left = (row for row in table.rows if row.place in (LEFT, RELEASED))
    return sum(row.kind in QUASI for row in left)


def decide(
    table: Entries, message: str, needs: Sequence[Need], chosen: Collection[str], policy: Policy
) -> bool:
    """Keep what a person lets leave of what an answer asked for; the first decision holds.

    Args:
        table: of the conversation, being edited. message: key of the message answered.
        chosen: placeholders that may leave.

    Returns:
        True if something is released by it.

    Raises:
        VaultError: the table is full.
    """
    if message in table.decided:
        return False
    table.make_room(len(needs))
    so_far = {row.key for row in table.rows if row.place == RELEASED}
    released = False
    for need in needs:
        may = len(so_far) < MOST_RELEASED and not (
            need.kind in QUASI and _n_quasi(table) >= policy.leave_at_most
        )
        place = RELEASED if may and need.placeholder in chosen else REFUSED
        released = released or place == RELEASED
        table.add(Row(need.kind, need.original, message, place, need.placeholder, 0.0))
    return released
