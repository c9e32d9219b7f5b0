r"""How an answer may write a released value otherwise than it was released.

A placeholder may come back escaped (`<EMAIL\_1>`, `&lt;EMAIL_1&gt;`, `%3CEMAIL_1%3E`), in square
brackets or in lower case. One with the random number of its conversation can be nothing else, so it
is found however it is bracketed or spelled (`{EMAIL_48213_1}`, `Email 48213-1`), and by frequent
names of its class in other languages (`<PERSONNE_48213_1>`). A stand-in that was drawn is a word or
a phrase of everyday language: it is found as whole words, in any case, with an ending; so is a
natural name, and each word of it stands for its part.

Some patterns are those of `regex`, which can say that a text ends in what may become a match.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import Any, NamedTuple

import regex

from sanitizer.answers.amounts import FORMS
from sanitizer.answers.values import part_of
from sanitizer.detect.units import SPELLED
from sanitizer.identifiers import KINDS
from sanitizer.storage.table import Originals
from sanitizer.text.policy import CLASSES
from sanitizer.text.words import article_for

LONGEST_PLACEHOLDER = 120
"""Characters of the longest way to write a placeholder that is recognized."""

_CLASS_OF = {name: kind for kind, names in FORMS["classes"].items() for name in names.split()}
"""How answers translate the names of classes, or put them in other words -> the name."""
_KINDS = frozenset((*CLASSES, *KINDS))
_DASH = "[-\u2010\u2011]"
_BAR = r"(?:\\{0,2}_|%5F|&#95;)"
_GAP = "[ \u00a0]{0,2}"
_AFTER_ESCAPE = r"(?<=(?<!\\)\\[nrt])"  # in a string of JSON
_NO_CODE = rf"(?:(?<![^\W_])|{_AFTER_ESCAPE})(?<![$}}\]])"
_BRACKETS = {
    "<": "/?>",
    r"\\<": r"\\>",
    r"\\\\<": r"\\\\>",
    r"(?P<own>\[)": r"\]",
    r"\\\[": r"\\\]",
    r"\\\\\[": r"\\\\\]",
    rf"(?P<own>{_NO_CODE}{{{{)": "}}",
    rf"(?P<own>{_NO_CODE}(?<!{{){{)": "}",
    "\u2039": "\u203a",
    "\u27e8": "\u27e9",
    "\uff1c": "\uff1e",
    "&lt;": "&gt;",
    "%3C": "%3E",
    r"\\u003c": r"\\u003e",
    "&#(?:0{0,5}60|x0{0,5}3c);": "&#(?:0{0,5}62|x0{0,5}3e);",
}
"""What a placeholder may stand between; "own": signs that may be the text's own."""
_MORE = r"\Z(?s:.)"
"""Never matches, but may where more comes: behind a pattern of what an ending may follow."""
_WHOLE = "(?!)"
"""Never matches: behind a pattern of what is whole when it ends."""

Pattern = Any  # regex.Pattern, which has no types


class Found(NamedTuple):
    """A released value as an answer writes it.

    Attributes:
        start, end: character offsets in the answer. original: what takes its place.
    """

    start: int
    end: int
    original: str


class Variants:
    """Finder of other spellings of the values of one table, which may grow.

    Args:
        originals: released value -> original.
        escaped: find other spellings of placeholders too.
    """

    def __init__(self, originals: Originals, escaped: bool = True) -> None:
        self._originals = originals
        self._escaped = escaped
        self._n_words = (0, 0)
        self._words: dict[str, tuple[str, str]] = {}  # in lower case -> as released, original
        self._longest = 0
        self._of_words: tuple[Pattern, Pattern] | None = None

    def find(self, text: str, at: int, before: str = "") -> Found | None:
        """Return the first value at or after a place, None if there is none.

        Args:
            before: the last characters of the answer before the text.
        """
        found = (
            self._placeholder(text, at),
            self._by_tag(text, at, before),
            self._word(text, at, before),
        )
        return min((each for each in found if each), default=None)

    def tagged(self, text: str) -> list[Found]:
        """Return the placeholders of this conversation in a text, in whatever spelling."""
        found: list[Found] = []
        while (each := self._by_tag(text, found[-1].end if found else 0, "")) is not None:
            found.append(each)
        return found

    def grows_from(self, text: str, before: str = "") -> int:
        """Return where the end of a text begins that may become a value, else its length."""
        originals, words = self._originals, self._word_patterns()
        patterns = [words[1]] if words else []
        if self._escaped and originals.kinds:
            patterns.append(_spelled())
        if originals.tags and originals.kinds:
            patterns.append(_tagged(originals.kinds - _KINDS)[1])
        whole, shift = before + text, len(before)
        begin = max(shift, len(whole) - max(LONGEST_PLACEHOLDER, self._longest))
        found = (pattern.search(whole, begin, partial=True) for pattern in patterns)
        return min((each.start() - shift for each in found if each), default=len(text))

    def _by_tag(self, text: str, at: int, before: str) -> Found | None:
        """Return the first placeholder by the number that no other conversation has."""
        tags, kinds = self._originals.tags, self._originals.kinds
        whole, shift = before + text, len(before)
        least = begin = at + shift
        while kinds and (places := [p for tag in tags if (p := whole.find(tag, begin)) >= 0]):
            place, begin = min(places), min(places) + 1
            around = max(least, begin - LONGEST_PLACEHOLDER), begin + LONGEST_PLACEHOLDER
            matches = _tagged(kinds - _KINDS)[0].finditer(whole, *around, overlapped=True)
            match = next((each for each in matches if each.start("tag") == place), None)
            if match is None:
                continue
            name = re.sub(r"[\W_]+", "_", match["kind"]).upper()
            numbers = [match["tag"], match["n"], *([match["form"]] if match["form"] else [])]
            bare = "_".join([_CLASS_OF.get(name, name), *numbers])
            original = self._originals.get(f"<{bare}>", self._originals.get(bare))
            if original is not None:
                if match["part"]:
                    original = part_of(original, match["part"].lower())
                start, end = match.span("name" if match["own"] and bare in self._originals else 0)
                return Found(start - shift, end - shift, original)
            least = match.end()
        return None

    def _placeholder(self, text: str, at: int) -> Found | None:
        if not (self._escaped and self._originals.kinds):
            return None
        for match in SPELLED.finditer(text, at):
            (name,) = _NAME.findall(match[0].removeprefix("%3C").removeprefix("%3c"))
            if match[0][0] == "[" and name in self._originals:
                continue  # as code has it: the brackets are the text's own
            value = f"<{name.replace(chr(92), '').upper()}>"
            if (original := self._originals.get(value)) is not None:
                part = _PART.search(match[0])
                if part is not None:
                    original = part_of(original, part[1].lower())
                return Found(*match.span(), original)
        return None

    def _word(self, text: str, at: int, before: str) -> Found | None:
        patterns, shift = self._word_patterns(), len(before)
        for match in patterns[0].finditer(before + text, at + shift) if patterns else ():
            written = " ".join(match["value"].split())
            if written.lower() not in self._words:
                continue  # a letter that is another one in lower case
            value, original = self._words[written.lower()]
            original = self._originals.names.get(written) or _cased(written, value, original)
            ending = match["ending"] or ""
            if ending == "s" and original.endswith("s"):
                ending = ""
            begin = match.start("value")
            if match["article"] and value in self._originals.drawn:
                # The one that was sent fits the stand-in, as does the answer's.
                begin = match.start()
                original = article_for(original, match["article"]) + match["gap"] + original
            return Found(begin - shift, match.end() - shift, original + ending)
        return None

    def _word_patterns(self) -> tuple[Pattern, Pattern] | None:
        """Return the patterns of drawn values and names, and of what may become one."""
        originals = self._originals
        n_words = len(originals.drawn), len(originals.names)
        if n_words != self._n_words:
            self._n_words = n_words
            # Copies: other requests of the conversation may add to them meanwhile.
            drawn = [(value, originals[value]) for value in tuple(originals.drawn)]
            # A whole name comes before a word of another.
            for value, original in [*drawn, *originals.names.items(), *originals.parts.items()]:
                self._words.setdefault(" ".join(value.lower().split()), (value, original))
            self._longest = 2 * max(map(len, self._words))
            self._of_words = _words_in_text(tuple(self._words))
        return self._of_words


_PART = re.compile(":([a-z]{4,8})", re.I)
"""A part of a name or id that an answer asks for."""
_NAME = re.compile(r"[A-Z]+(?:\\?_[A-Z]+)*(?:\\?_[0-9]+)+", re.I)


@cache
def _spelled() -> Pattern:
    """Return the pattern of what may become a placeholder without the number of a conversation."""
    return regex.compile(f"(?:{SPELLED.pattern}){_WHOLE}")


@lru_cache(maxsize=64)
def _words_in_text(words: tuple[str, ...]) -> tuple[Pattern, Pattern]:
    """Return the pattern of whole words, the longest first, and of what may become one."""
    ordered = sorted(words, key=len, reverse=True)
    values = "|".join(r"\s+".join(map(re.escape, value.split())) for value in ordered)
    pattern = (
        rf"(?<!\w)(?:(?P<article>an?)(?P<gap>\s+))?(?P<value>{values})"
        r"(?P<ending>['\u2019]s|s)?(?!\w)"
    )
    return re.compile(pattern, re.I), regex.compile(pattern + _MORE, regex.I)


@lru_cache(maxsize=64)
def _tagged(more: frozenset[str]) -> tuple[Pattern, Pattern]:
    """Return the pattern of placeholders with the number of a conversation, in any spelling and
    brackets, and of what may become one.

    Args:
        more: kinds besides those of the package. One pattern serves all conversations, since it
            takes tens of milliseconds to compile.
    """
    names = {*_KINDS, *more, *_CLASS_OF}
    ordered = sorted(names, key=len, reverse=True)
    kind = "|".join(name.replace("_", rf"(?:{_BAR}|[ ]|{_DASH})") for name in ordered)
    bar, dash = (rf"\s{{0,2}}{sign}\s{{0,2}}" for sign in (_BAR, _DASH))
    number, form = r"(?P<n>\d{1,9})", r"(?P<form>\d{1,9})"
    begins = rf"(?:(?<![^\W_])(?<![^\W_]_)|(?<=%3C)|(?<=\\u003c)|{_AFTER_ESCAPE})"
    name = (
        rf"(?P<name>{begins}(?P<kind>{kind})(?:{bar}|{dash}|\s{{1,3}})#?"
        r"(?P<tag>[1-9]\d{4})"
        rf"(?:{bar}{number}(?:\\{{0,2}}_{form})?|{dash}{number}(?:{_DASH}{form})?|"
        rf"\s{{1,3}}#?{number})(?!\d|\\{{0,2}}_\d))(?::(?P<part>[a-z]{{4,8}})(?!\w))?"
    )
    opened = "|".join(f"(?P<b{i}>{opening})" for i, opening in enumerate(_BRACKETS))
    patterns = []
    for bare, whole in (("", ""), (_MORE, _WHOLE)):
        closed = bare
        for i, closing in reversed(list(enumerate(_BRACKETS.values()))):
            closed = f"(?(b{i}){_GAP}{closing}{whole}|{closed})"
        patterns.append(regex.compile(f"(?:(?:{opened}){_GAP})?{name}{closed}", regex.I))
    return patterns[0], patterns[1]


def _cased(written: str, released: str, original: str) -> str:
    """Return the original with a capital where the answer has one that the released value lacks."""
    if len(written) > 1 and written.isupper() and not released.isupper():
        return original.upper()
    if written[:1].isupper() and not released[:1].isupper():
        return original[:1].upper() + original[1:]
    return original
