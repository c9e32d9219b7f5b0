"""Lists of things: illnesses, beliefs, origins and crimes by name, drugs, given names.

Which illnesses, beliefs, origins and crimes have a common name is on lists. Names of drugs and of
medical conditions tell a class wherever they occur (`Gazetteers`).

Phrases of everyday words that tell of somebody's illness and so on are on a list too
(`phrases_in`).

The lists are public. That a name is on one, and of which class, is part of how it is read; which
member it is, is not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from sanitizer.detect.skeleton import FOREIGN, PublicForms, public_forms
from sanitizer.text import (
    DRAWN,
    straight,
    word_list,
    word_spans,
)

_LEAST_TYPED = 6  # letters of the shortest name of which a typing error is recognized
_LEAST_MISSPELT, _MOST_MISSPELT = 5, 20  # letters of a word that may be misspelt
_LEAST_CHANGED = 7  # letters of one in which a letter may be another
MOST_WORDS = 5
"""Words of the longest phrase that is looked up."""
_BEFORE = frozenset("a an the my his her their our your".split())
_EDGES = _BEFORE | frozenset("of and or with".split())
_EMPTY = _EDGES | frozenset("disease disorder syndrome".split())
_PHRASE = re.compile(r"[^\s.,;:!?()<>|]+(?:\s{1,2}[^\s.,;:!?()<>|]+)*")


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


class Listed(NamedTuple):
    """A listed name inside a text.

    Attributes:
        start, end: character offsets. kind: its class. concept: the member that it names.
    """

    start: int
    end: int
    kind: str
    concept: str


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


def adjective_of(text: str) -> str | None:
    """Return BELIEF or ORIGIN if a stretch is exactly a name on that list: no firm or place.

    Example:
        >>> adjective_of("Muslim"), adjective_of("Leeds")
        ('BELIEF', None)
    """
    name = plain_name(text)
    return next((kind for kind in ("BELIEF", "ORIGIN") if name in _concepts(kind)), None)


def listed_in(text: str, start: int, end: int, kind: str) -> Listed | None:
    """Return the longest listed name in a stretch, of this class if there is one, or of another.

    Example:
        >>> listed_in("convicted of burglary", 0, 21, "CRIME")
        Listed(start=13, end=21, kind='CRIME', concept='burglary')
    """
    spans = [(start + a, start + b) for a, b in word_spans(text[start:end])]
    empty = [text[a:b].lower() in _EMPTY for a, b in spans]
    runs = [
        (spans[first][0], spans[first + n - 1][1], n)
        for n in range(min(len(spans), MOST_WORDS), 0, -1)
        for first in range(len(spans) - n + 1)
        if not (empty[first] or empty[first + n - 1])
    ]
    if len(spans) > 1 and empty[-1] and not empty[0]:  # "chronic obstructive pulmonary disease"
        runs.insert(0, (spans[0][0], spans[-1][1], len(spans)))
    # Typing errors are looked for last, and in single words and the whole only: it takes a while.
    # An everyday word is none: "dancer" is no "cancer".
    mistaken = [
        run for run in runs if run[2] in (1, len(spans)) and not _all_known(text[run[0] : run[1]])
    ]
    for tried in (runs, mistaken):
        for kinds in ((kind,) if kind in DRAWN else (), DRAWN):
            for begin, stop, _ in tried:
                for each in kinds:
                    if member := concept_of(each, text[begin:stop], typed=tried is mistaken):
                        return Listed(begin, stop, each, member)
    return None


def _all_known(text: str) -> bool:
    """Return True if each word of a text is on a list of public forms."""
    return all(public_forms().known(text[a:b]) for a, b in word_spans(text))


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


def misspelt(word: str, forms: PublicForms) -> bool:
    """Return True if a word in lower case is one typing error away from a visible one.

    In a short word no letter may be another one: "hermes" is nobody's "heroes".
    """
    if not _LEAST_MISSPELT <= len(word) <= _MOST_MISSPELT or not word.islower():
        return False
    short = len(word) < _LEAST_CHANGED
    return any(
        forms.known_public(meant)
        for meant in mistyped(word)
        if not (short and len(meant) == len(word) and sorted(meant) != sorted(word))
    )


@cache
def words_of(name: str) -> frozenset[str]:
    """Return a list of models/forms, lower case; raise ModelError as `public_forms`."""
    return frozenset(word_list(f"{name}.txt", "forms"))


@cache
def told_in(language: str) -> Mapping[str, str]:
    """Return words of a language that have a class wherever they occur; none of English.

    The tagger read too few texts in other languages to be asked about them alone.
    """
    return _told_by_list(language) if language in FOREIGN else {}


@cache
def _told_by_list(language: str) -> Mapping[str, str]:
    lines = (line.split() for line in word_list(f"told_{language}.txt", "forms"))
    return {word: kind for kind, *words in lines for word in words}


@cache
def known_to_all(kind: str) -> frozenset[str]:
    """Return names that everybody knows, as they are written; raise ModelError as `public_forms`.

    Args:
        kind: "peoples" and states of history, "makers", their "devices", "products", language
            models ("assistants") and their "sizes", "functions" of spreadsheets, or
            "abbreviations" with an ampersand.

    Example:
        >>> "Vikings" in known_to_all("peoples"), "VLOOKUP" in known_to_all("functions")
        (True, True)
    """
    lines = (line.partition(" = ") for line in word_list("everybody.txt", "forms"))
    return frozenset(name for key, _, names in lines if key == kind for name in names.split(", "))


@cache
def given_names() -> frozenset[str]:
    """Return the packaged given names, in lower case; raise ModelError as `public_forms`."""
    return frozenset(word_list("given_names.txt", "classes"))


@cache
def gazetteers() -> Gazetteers:
    """Return the packaged names of drugs and conditions; raise ModelError as `public_forms`."""
    kinds = dict.fromkeys(word_list("drugs.txt", "forms"), "TREATMENT")
    return Gazetteers(kinds | dict.fromkeys(word_list("conditions.txt", "forms"), "CONDITION"))


def class_of(word: str) -> str | None:
    """Return the class of a word that a list of sensitive classes has by itself, or None.

    Example:
        >>> class_of("epilepsy"), class_of("Chemotherapy"), class_of("table")
        ('CONDITION', 'TREATMENT', None)
    """
    listed = (kind for kind in DRAWN if concept_of(kind, word, typed=False) is not None)
    treated = "TREATMENT" if word.lower() in words_of("treatments") else None
    found = next(listed, None) or gazetteers().kind_of(word) or treated
    return found or _told_by_list("en").get(word.lower())


class Said(NamedTuple):
    """A stretch that tells something of somebody, though no word in it does by itself.

    Attributes:
        start, end: character offsets. kind: its class.
    """

    start: int
    end: int
    kind: str


_MOST_SAID = 6  # words of the longest phrase
_SAID_WORD = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)?")
_BETWEEN = re.compile(r" |-")
_POSSESSIVES = dict.fromkeys("his her their our your".split(), "my")
_OF_WHOM = frozenset(["his", "her"])


@cache
def _phrases(language: str) -> Mapping[tuple[str, ...], str]:
    """Return the packaged phrases of a language, words in lower case, and their classes."""
    lines = (line.partition(" = ") for line in word_list(f"phrases_{language}.txt", "forms"))
    return {
        tuple(name.replace("-", " ").split()): kind
        for kind, _, names in lines
        for name in names.split(", ")
    }


@cache
def _last_words(language: str) -> frozenset[str]:
    return frozenset(phrase[-1] for phrase in _phrases(language))


def phrases_in(text: str, low: int, high: int, language: str = "en") -> Iterator[Said]:
    """Yield the listed phrases between two offsets, ascending, the longest where several end.

    Example:
        >>> list(phrases_in("has a bad back and", 0, 18))
        [Said(start=6, end=14, kind='CONDITION')]
    """
    known, last_words = _phrases(language), _last_words(language)
    words = [match.span() for match in _SAID_WORD.finditer(text, low, high)]
    plain = [straight(text[a:b].lower()) for a, b in words]
    for last, word in enumerate(plain):
        if word not in last_words:
            continue
        first = last
        while (
            first
            and last - first + 1 < _MOST_SAID
            and _BETWEEN.fullmatch(text, words[first - 1][1], words[first][0])
        ):
            first -= 1
        for begin in range(first, last):
            said = tuple(plain[begin : last + 1])
            kind = known.get(said) or known.get(
                tuple(_POSSESSIVES.get(each, each) for each in said)
            )
            if kind is not None:
                # Whose husband it is stays, though it is what tells.
                told = words[begin + (plain[begin] in _OF_WHOM)]
                yield Said(told[0], words[last][1], kind)
                break
