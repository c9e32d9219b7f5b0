"""Links: which places of a text, and of its conversation, name the same thing.

This is the one module that compares the forms of entities: equal, equal but for case, a part of a
name, one member of a class by several names. What it finds is public (docs/guarantees.md).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from sanitizer.detect.classes import MOST_WORDS, concept_of, is_adjective, may_be_phrase, may_name
from sanitizer.detect.view import is_everyday
from sanitizer.storage import same_thing
from sanitizer.text import Policy, Unit, overlapping, straight, word_spans

Offsets = Sequence[tuple[int, int]]
Known = Callable[[Collection[str]], Mapping[str, str]]
"""Function: forms -> the class of those that are things of the conversation already."""
_BY_ROLE = frozenset(["NUMBER", "DATE", "MONEY"])
"""Classes of what is private by its role: "4" is not the same thing wherever it stands."""
_NAMED = frozenset(["PERSON", "ORGANIZATION", "PLACE", "PRODUCT"])
_OTHER_NAMES = frozenset(["ORGANIZATION", "PLACE", "PRODUCT"])
_OPENS = re.compile(r"(?:\A|[.!?\u2026][\"')\]]*\s+|\n\s*)[\"'(*_]*\Z")


def linked(
    text: str,
    units: Sequence[Unit],
    passing: Offsets,
    words: Sequence[tuple[int, int]],
    known: Known,
    policy: Policy,
) -> list[Unit]:
    """Return units with those of known things added, and in place of some.

    Args:
        units: what was found. passing: hidden words that would pass, as offsets.
        words: of the text, where nothing was taken or declared.
    """
    return _Linked(text, units, passing, words, known, policy).units()


def listed_public(text: str, policy: Policy) -> bool:
    """Return True if the policy file lists every word of a stretch as public."""
    return bool(policy.public) and all(
        straight(text[begin:end].lower()) in policy.public for begin, end in word_spans(text)
    )


class _Linked:
    """Links the places of a text to its things and to those of the conversation.

    A thing is hidden wherever it stands, whatever a single place looks like; one of several words
    wherever they all stand, if one of them is not visible. Numbers are things by their role, and
    not linked. The first class found holds: "HCV" may be read as a name beside "hepatitis C".

    Args:
        units: what was found. passing: hidden words that would pass, as offsets.
        words: of the text, where nothing was taken or declared.
    """

    def __init__(
        self,
        text: str,
        units: Sequence[Unit],
        passing: Offsets,
        words: Sequence[tuple[int, int]],
        known: Known,
        policy: Policy,
    ) -> None:
        self._text, self._units, self._policy = text, units, policy
        self._places = [(unit.start, unit.end, unit) for unit in units]
        self._runs = sorted(self._around(passing, words), key=lambda run: (run[0], -run[1]))
        forms = {text[begin:end] for begin, end in self._runs}
        self._concepts = _concepts_of(forms, policy)
        self._concepts |= {unit.text: (unit.concept, unit.kind) for unit in units if unit.concept}
        things = [unit for unit in units if unit.kind not in _BY_ROLE]
        self._here = {same_thing(unit.text): unit.kind for unit in reversed(things)}
        self._here |= {
            word: unit.kind
            for unit in things
            if unit.kind == "PERSON" and " " in unit.text
            for word in unit.text.split()
            if word[:1].isupper()
        }
        self._drawn = {unit.concept.lower(): unit.kind for unit in reversed(things) if unit.concept}
        keys = {concept.lower() for concept, _ in self._concepts.values()}
        self._table = known(forms | keys) if forms else {}

    def units(self) -> list[Unit]:
        """Return all units, in order: those found, and in place of some those of known things."""
        linked: list[Unit] = []
        for begin, end in self._runs:
            if not (linked and begin < linked[-1].end):
                unit = self._unit(begin, end)
                linked += [] if unit is None else [unit]
        spans = [(unit.start, unit.end) for unit in linked]
        kept = [unit for unit in self._units if not overlapping(spans, unit.start, unit.end)]
        return sorted([*kept, *linked], key=lambda unit: unit.start)

    def _around(
        self, passing: Offsets, words: Sequence[tuple[int, int]]
    ) -> Iterator[tuple[int, int]]:
        """Yield the runs of words, with one that is hidden or would pass, that may be things."""
        numbers = {begin: number for number, (begin, _) in enumerate(words)}
        wholes = [(unit.start, unit.end) for unit in self._units]
        found = {*passing, *wholes}  # "Lund" of "Lund's" is no word of its own
        for begin, _ in [*passing, *wholes]:
            at = numbers.get(begin, len(words))
            found.update(
                (words[first][0], words[last][1])
                for first in range(max(0, at - MOST_WORDS + 1), at + 1)
                for last in range(at, min(first + MOST_WORDS, len(words)))
            )
        for begin, end in found:
            cut = any(low < begin or end < high for low, high in overlapping(wholes, begin, end))
            if not cut and may_be_phrase(self._text[begin:end]):
                yield begin, end

    def _unit(self, begin: int, end: int) -> Unit | None:
        """Return the unit of a run of words that is a thing; None if there is none to add."""
        form = self._text[begin:end]
        concept, own_class = self._concepts.get(form, ("", ""))
        inside = [unit for *_, unit in overlapping(self._places, begin, end)]
        kind = self._kind(form, concept)
        if kind is None and any(unit.kind == own_class for unit in inside):
            kind = own_class  # a part of its name was found
        if kind is None or kind in _BY_ROLE or listed_public(form, self._policy):
            return None
        concept = concept if kind in self._policy.drawn else ""
        alone = len(inside) == 1 and inside[0].text == form
        # "Lund" after "Peter Lund", though this place reads like a firm's or a town's.
        part = alone and kind == "PERSON" and inside[0].kind in _OTHER_NAMES and " " not in form
        if alone and not part and not (concept and inside[0].kind != kind):
            return None
        # "sick" is a word of every text, even if one place tells of an illness.
        if not concept and kind not in _NAMED and is_everyday(form):
            return None
        opens = _OPENS.search(self._text[max(0, begin - 8) : begin]) is not None
        concept = "" if is_adjective(form) else concept
        return Unit(begin, end, form, kind, bool(concept) and opens, concept=concept, found="link")

    def _kind(self, form: str, concept: str) -> str | None:
        """Return the class of a thing, None for what is none yet; of a drawn one its own."""
        key = concept.lower()
        drawn = self._table.get(key) or self._drawn.get(key)
        if drawn in self._policy.drawn:
            return drawn
        return (
            self._table.get(form)
            or self._here.get(same_thing(form))
            or self._here.get(form)  # a part of a name, written as it is there
            or drawn
        )


def _concepts_of(forms: Iterable[str], policy: Policy) -> dict[str, tuple[str, str]]:
    """Return form -> the member that it names, and its class, of those that are drawn."""
    listed = [form for form in forms if may_name(form)]
    return {
        form: (concept, kind)
        for form in listed
        for kind in sorted(policy.drawn, reverse=True)
        if (concept := concept_of(kind, form, typed=False)) is not None
    }
