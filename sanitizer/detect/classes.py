"""Which names mean one thing: members of public lists, and links between places of a text.

Stand-ins of illnesses, beliefs, origins and crimes are drawn from lists. That a name is on one, and
of which class, is part of how it is read; which member it is, is not. This is the one module that
compares the forms of entities: equal, equal but for case, a part of a name, one member of a class
by several names. What it finds is public (docs/guarantees.md).
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache

from sanitizer.detect.view import is_everyday, languages
from sanitizer.storage.table import same_thing
from sanitizer.text.policy import DRAWN, Policy, word_list
from sanitizer.text.words import Unit, straight, word_spans

Offsets = Sequence[tuple[int, int]]
Known = Callable[[Collection[str]], Mapping[str, str]]
"""Function: forms -> the class of those that are things of the conversation already."""

_LEAST_TYPED = 6  # letters of the shortest name of which a typing error is recognized
MOST_WORDS = 5
"""Words of the longest phrase that is looked up."""
_BEFORE = frozenset("a an the my his her their our your".split())
_EDGES = _BEFORE | frozenset("of and or with".split())
_EMPTY = _EDGES | frozenset("disease disorder syndrome".split())
_PHRASE = re.compile(r"[^\s.,;:!?()<>|]+(?:\s{1,2}[^\s.,;:!?()<>|]+)*")
_BY_ROLE = frozenset(["NUMBER", "DATE", "MONEY"])
"""Classes of what is private by its role: "4" is not the same thing wherever it stands."""
_NAMED = frozenset(["PERSON", "ORGANIZATION", "PLACE", "PRODUCT"])
_OTHER_NAMES = frozenset(["ORGANIZATION", "PLACE", "PRODUCT"])
OPENS = re.compile(r"(?:\A|[.!?\u2026][\"')\]]*\s+|\n\s*)[\"'(*_]*\Z")
_LISTS = {"BELIEF": ("RELIGION", "POLITICS")}
"""Classes with several lists: a religion is drawn for a religion. Which one is public."""
LISTS: tuple[str, ...] = tuple(name for kind in DRAWN for name in _LISTS.get(kind, (kind,)))
"""Names of all lists from which stand-ins are drawn."""


def lists_of(kind: str) -> tuple[str, ...]:
    """Return the names of the lists of a class, or of the list of this name."""
    return _LISTS.get(kind, (kind,))


def list_of(kind: str, concept: str) -> str:
    """Return the name of the list of a class that a thing is on; the first if it is on none.

    >>> list_of("BELIEF", "Muslim"), list_of("BELIEF", "socialist"), list_of("CRIME", "arson")
    ('RELIGION', 'POLITICS', 'CRIME')
    """
    first, *others = lists_of(kind)
    return next((name for name in others if concept in class_members(name)), first)


@cache
def class_members(kind: str) -> tuple[str, ...]:
    """Return the members of a class or a list, the commonest first.

    Raises:
        ModelError: as `word_list`.

    >>> class_members("CONDITION")[:2], class_members("POLITICS")[:2]
    (('depression', 'asthma'), ('conservative', 'liberal'))
    """
    if kind in _LISTS:
        return tuple(member for name in _LISTS[kind] for member in class_members(name))
    return word_list(f"{kind.lower()}.txt", "classes")


def group_of(member: str) -> str:
    """Return the group of a member of a class, "" for none: it is as private as the member.

    >>> group_of("coeliac disease"), group_of("arson")
    ('food', '')
    """
    return _groups().get(member, "")


@cache
def _groups() -> Mapping[str, str]:
    lines = [line.partition(" = ") for line in word_list("groups.txt", "classes")]
    return {member: name for name, _, members in lines for member in members.split(", ")}


def is_adjective(text: str) -> bool:
    """Return True for a name of a member that is an adjective: no member fits its place.

    That it is one is public, as its class is.

    >>> is_adjective("coeliac"), is_adjective("coeliac disease")
    (True, False)
    """
    return plain_name(text) in _adjectives()


@cache
def _adjectives() -> frozenset[str]:
    return frozenset(map(plain_name, word_list("adjectives.txt", "classes")))


@cache
def _concepts(kind: str) -> Mapping[str, str]:
    """Return name -> member of the class, for the members themselves and for other names."""
    known = {plain_name(member): member for member in class_members(kind)}
    for line in word_list("concepts.txt", "classes"):
        member, _, names = line.partition(" = ")
        if plain_name(member) in known:
            known |= {plain_name(name): member for name in names.split(", ")}
    return known


def _lowered(text: str) -> str:
    lowered = text.lower()
    return lowered if lowered.isascii() else straight(lowered)


def plain_name(text: str) -> str:
    """Return a name as names are compared: words in lower case, without an article before them.

    >>> plain_name("A Heart-Attack")
    'heart attack'
    """
    plain = _lowered(text)
    words = [plain[begin:end] for begin, end in word_spans(plain)]
    return " ".join(words[words[0] in _BEFORE :]) if len(words) > 1 else " ".join(words) or plain


def content_words(text: str) -> list[str]:
    """Return the words of a name that tell something.

    >>> content_words("Obstruction of justice")
    ['obstruction', 'justice']
    """
    return [word for word in plain_name(text).split() if word not in _EMPTY and len(word) > 1]


def concept_of(kind: str, text: str, typed: bool = True) -> str | None:
    """Return the member of a class that a name means, None if it means none.

    Args:
        typed: a name with one typing error counts, if only one member is so near.

    >>> concept_of("CONDITION", "Hep C"), concept_of("CONDITION", "astmha")
    ('hepatitis C', 'asthma')
    """
    names, name = _concepts(kind), plain_name(text)
    found = names.get(name) or names.get(name.removesuffix("s"))
    if found is None and typed and len(name) >= _LEAST_TYPED:
        near = {names[one] for one in mistyped(name) if one in names and _begins_alike(one, name)}
        found = near.pop() if len(near) == 1 else None
    return found


def _begins_alike(one: str, name: str) -> bool:
    """Return False for names of one length whose first letters differ: "limping" is no crime."""
    swapped = one[:2] == name[1::-1]
    return len(one) != len(name) or one[0] == name[0] or swapped


@cache
def _words_of_names() -> frozenset[str]:
    """Return the words of all names of members, with and without an -s."""
    found = {word for kind in DRAWN for name in _concepts(kind) for word in name.split()}
    return frozenset(found | {f"{word}s" for word in found})


def may_name(text: str) -> bool:
    """Return False for what certainly names no member of any class; quickly."""
    words = _lowered(text).replace("-", " ").split()
    known = _words_of_names()
    return all(word in known or word in _BEFORE for word in words)


def may_be_phrase(text: str) -> bool:
    """Return True for words with nothing but spaces and hyphens between them, as names have them.

    >>> may_be_phrase("Hep-C virus"), may_be_phrase("an illness"), may_be_phrase("Bern. Rain")
    (True, False, False)
    """
    words = text.lower().split(" ")
    edges = {words[0], words[-1]}
    return _PHRASE.fullmatch(text) is not None and (len(words) == 1 or edges.isdisjoint(_EDGES))


def mistyped(name: str) -> Iterator[str]:
    """Yield what a name may have been meant as: one letter more, less, other, or two swapped."""
    letters = "abcdefghijklmnopqrstuvwxyz "
    for i in range(len(name) + 1):
        head, tail = name[:i], name[i:]
        if tail:
            yield head + tail[1:]
            yield from (head + letter + tail[1:] for letter in letters)
        if len(tail) > 1:
            yield head + tail[1] + tail[0] + tail[2:]
        yield from (head + letter + tail for letter in letters)


def listed_public(text: str, policy: Policy) -> bool:
    """Return True if the policy file lists every word of a stretch as public."""
    return bool(policy.public) and all(
        _lowered(text[begin:end]) in policy.public for begin, end in word_spans(text)
    )


class Linked:
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
        words: Offsets,
        known: Known,
        policy: Policy,
    ) -> None:
        self._text, self._units, self._policy = text, units, policy
        self._starts = [unit.start for unit in units]
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
        self._listed = {u.concept.lower(): u.kind for u in reversed(things) if u.concept}
        concepts = {concept.lower() for concept, _ in self._concepts.values()}
        self._table = known(forms | concepts) if forms else {}

    def units(self) -> list[Unit]:
        """Return all units, in order: those found, and in place of some those of known things."""
        linked: list[Unit] = []
        for begin, end in self._runs:
            if not (linked and begin < linked[-1].end):
                unit = self._unit(begin, end)
                linked += [] if unit is None else [unit]
        covered = {at for unit in linked for at in range(unit.start, unit.end)}
        kept = [unit for unit in self._units if unit.start not in covered]
        return sorted([*kept, *linked], key=lambda unit: unit.start)

    def _around(self, passing: Offsets, words: Offsets) -> Iterator[tuple[int, int]]:
        """Yield the runs of words, with one that is hidden or would pass, that may be things.

        None holds a part of a unit.
        """
        numbers = {begin: number for number, (begin, _) in enumerate(words)}
        wholes = [(unit.start, unit.end) for unit in self._units]
        within = {at for begin, end in wholes for at in range(begin + 1, end)}
        found = {*passing, *wholes}  # "Lund" of "Lund's" is no word of its own
        for begin, _ in [*passing, *wholes]:
            at = numbers.get(begin, len(words))
            found.update(
                (words[first][0], words[last][1])
                for first in range(max(0, at - MOST_WORDS + 1), at + 1)
                for last in range(at, min(first + MOST_WORDS, len(words)))
            )
        for begin, end in found:
            if within.isdisjoint((begin, end)) and may_be_phrase(self._text[begin:end]):
                yield begin, end

    def _unit(self, begin: int, end: int) -> Unit | None:
        """Return the unit of a run of words that is a thing; None if there is none to add."""
        form = self._text[begin:end]
        concept, own_class = self._concepts.get(form, ("", ""))
        first = bisect_left(self._starts, begin)
        inside = self._units[first : bisect_left(self._starts, end, first)]
        kind = self._kind(form, concept)
        if kind is None and any(unit.kind == own_class for unit in inside):
            kind = own_class  # a part of its name was found
        if kind is None or kind in _BY_ROLE or listed_public(form, self._policy):
            return None
        concept = concept if kind in self._policy.listed else ""
        alone = len(inside) == 1 and inside[0].text == form
        # "Lund" after "Peter Lund", though this place reads like a firm's or a town's.
        part = alone and kind == "PERSON" and inside[0].kind in _OTHER_NAMES and " " not in form
        if alone and not part and not (concept and inside[0].kind != kind):
            return None
        # "sick" is a word of every text, even if one place tells of an illness.
        if not concept and kind not in _NAMED and is_everyday(form):
            return None
        opens = OPENS.search(self._text[max(0, begin - 8) : begin]) is not None
        concept = "" if is_adjective(form) else concept
        return Unit(begin, end, form, kind, bool(concept) and opens, concept=concept, found="link")

    def _kind(self, form: str, concept: str) -> str | None:
        """Return the class of a thing, None for what is none yet; of a listed one its own."""
        key = concept.lower()
        listed = self._table.get(key) or self._listed.get(key)
        if listed in self._policy.listed:
            return listed
        return (
            self._table.get(form)
            or self._here.get(same_thing(form))
            or self._here.get(form)  # a part of a name, written as it is there
            or listed
        )


def _concepts_of(forms: Iterable[str], policy: Policy) -> dict[str, tuple[str, str]]:
    """Return form -> the member that it names, and its class, of those that are hidden."""
    listed = [form for form in forms if may_name(form)]
    return {
        form: (concept, kind)
        for form in listed
        for kind in sorted(policy.listed, reverse=True)
        if (concept := concept_of(kind, form, typed=False)) is not None
    }


def load_lists() -> None:
    """Load the lists of languages and classes; raise ModelError if one is missing or damaged."""
    languages()
    for reads_list in (is_everyday, may_name, is_adjective):
        reads_list("")
