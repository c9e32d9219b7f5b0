"""Lists of illnesses, beliefs, origins and crimes, from which stand-ins are drawn.

The lists are public. That a name is on one, and of which class, is part of how it is read; which
member it is, is not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache

from sanitizer.text import (
    DRAWN,
    straight,
    word_list,
    word_spans,
)

_LEAST_TYPED = 6  # letters of the shortest name of which a typing error is recognized
MOST_WORDS = 5
"""Words of the longest phrase that is looked up."""
_BEFORE = frozenset("a an the my his her their our your".split())
_EDGES = _BEFORE | frozenset("of and or with".split())
_EMPTY = _EDGES | frozenset("disease disorder syndrome".split())
_PHRASE = re.compile(r"[^\s.,;:!?()<>|]+(?:\s{1,2}[^\s.,;:!?()<>|]+)*")


_LISTS = {"BELIEF": ("RELIGION", "POLITICS")}
"""Classes with several lists: a religion is drawn for a religion. Which one is public."""
LISTS = tuple(name for kind in DRAWN for name in _LISTS.get(kind, (kind,)))
"""Names of all lists from which stand-ins are drawn."""


def lists_of(kind: str) -> tuple[str, ...]:
    """Return the names of the lists of a class, or of the list of this name."""
    return _LISTS.get(kind, (kind,))


def list_of(kind: str, concept: str) -> str:
    """Return the name of the list of a class that a thing is on; the first if it is on none.

    Example:
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

    Example:
        >>> class_members("CONDITION")[:2], class_members("POLITICS")[:2]
        (('depression', 'asthma'), ('conservative', 'liberal'))
    """
    if kind in _LISTS:
        return tuple(member for name in _LISTS[kind] for member in class_members(name))
    return word_list(f"{kind.lower()}.txt", "classes")


def group_of(member: str) -> str:
    """Return the group of a member of a class, "" for none: it is as private as the member.

    Example:
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

    Example:
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


def plain_name(text: str) -> str:
    """Return a name as names are compared: words in lower case, without an article before them.

    Example:
        >>> plain_name("A Heart-Attack")
        'heart attack'
    """
    plain = straight(text.lower())
    words = [plain[begin:end] for begin, end in word_spans(plain)]
    return " ".join(words[words[0] in _BEFORE :]) if len(words) > 1 else " ".join(words) or plain


def content_words(text: str) -> list[str]:
    """Return the words of a name that tell something.

    Example:
        >>> content_words("Obstruction of justice")
        ['obstruction', 'justice']
    """
    return [word for word in plain_name(text).split() if word not in _EMPTY and len(word) > 1]


def concept_of(kind: str, text: str, typed: bool = True) -> str | None:
    """Return the member of a class that a name means, None if it means none.

    Args:
        typed: a name with one typing error counts, if only one member is so near.

    Example:
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
    words = straight(text.lower()).replace("-", " ").split()
    known = _words_of_names()
    return all(word in known or word in _BEFORE for word in words)


def may_be_phrase(text: str) -> bool:
    """Return True for words with nothing but spaces and hyphens between them, as names have them.

    Example:
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
