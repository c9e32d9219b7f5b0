"""Lists of classes: which illnesses, beliefs, origins and crimes have a common name.

Names of drugs and of medical conditions tell a class wherever they occur (`Gazetteers`).

The lists are public. That a name is on one, and of which class, is part of how it is read; which
member it is, is not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from sanitizer.text.policy import DRAWN, straight, word_list
from sanitizer.text.words import word_spans

_LEAST_TYPED = 6  # letters of the shortest name of which a typing error is recognized
_MOST_WORDS = 5
_BEFORE = frozenset("a an the my his her their our your".split())
_EMPTY = _BEFORE | frozenset("of and or with disease disorder syndrome".split())


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


@cache
def class_members(kind: str) -> tuple[str, ...]:
    """Return the members of a class, the commonest first; raise ModelError as `word_list`.

    Example:
        >>> class_members("CONDITION")[:2]
        ('depression', 'asthma')
    """
    return word_list(f"{kind.lower()}.txt", "classes")


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
        near = {names[one] for one in _mistyped(name) if one in names}
        found = near.pop() if len(near) == 1 else None
    return found


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
        for n in range(min(len(spans), _MOST_WORDS), 0, -1)
        for first in range(len(spans) - n + 1)
        if not (empty[first] or empty[first + n - 1])
    ]
    # Typing errors are looked for last, and in single words and the whole only: it takes a while.
    for typed in (False, True):
        for kinds in ((kind,) if kind in DRAWN else (), DRAWN):
            for begin, stop, n in runs:
                for each in kinds if not typed or n in (1, len(spans)) else ():
                    if member := concept_of(each, text[begin:stop], typed):
                        return Listed(begin, stop, each, member)
    return None


def _mistyped(name: str) -> Iterator[str]:
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
