r"""How an answer may write a released value otherwise than it was released.

A placeholder may come back escaped (`<EMAIL\_1>`, `&lt;EMAIL_1&gt;`, `%3CEMAIL_1%3E`), in square
brackets or in lower case. A stand-in that was drawn is a word or a phrase of everyday language: it
is found as whole words, in any case, with an ending; so is a natural name, and each word of it
stands for its part.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from sanitizer.detect import SPELLED
from sanitizer.storage import Originals
from sanitizer.text import article_for

LONGEST_PLACEHOLDER = 80
"""Characters of the longest way to write a placeholder that is recognized."""

_NAME = re.compile(r"[A-Z]+(?:\\?_[A-Z]+)*(?:\\?_[0-9]+)+", re.I)
_OPENING = re.compile(r"[<\[&%\\]")
_UNFINISHED = re.compile(
    r"\\|&(?:l(?:t)?|#(?:0{0,5}6?0?|x0{0,5}3?c?))?|%3?|"
    r"(?:\\?[<\[]|&lt;|&#0{0,5}60;|&#x0{0,5}3c;|%3C)(?P<name>[A-Za-z]*(?:\\?_?[A-Za-z]+)*)"
    r"(?:(?:\\?_[0-9]*){0,3}\\?)(?:&(?:g(?:t)?|#(?:0{0,5}6?2?|x0{0,5}3?e?))?|%3?|\\)?",
    re.I,
)
_ARTICLE = r"(?:(?P<article>an?)(?P<gap>\s+))?"
_ENDING = r"(?P<ending>['\u2019]s|s)?"
_LETTERS = re.compile(r"[^\W\d_]+")
_NEXT = re.compile(r"\s+[^\W\d_]+")


class Found(NamedTuple):
    """A released value as an answer writes it.

    Attributes:
        start, end: character offsets in the answer. original: what takes its place.
    """

    start: int
    end: int
    original: str


class Variants:
    """Finder of other spellings of the values of one table.

    Args:
        originals: released value -> original.
        escaped: find other spellings of placeholders too.
    """

    def __init__(self, originals: Originals, escaped: bool = True) -> None:
        self._originals = originals
        self._escaped = escaped
        self._n_drawn = -1
        self._drawn: re.Pattern[str] | None = None
        self._values: dict[str, str] = {}
        self._forms: set[str] = set()
        self._names = _Names(originals)

    def find(self, text: str, at: int) -> Found | None:
        """Return the first value at or after a place, None if there is none."""
        found = (self._placeholder(text, at), self._word(text, at), self._names.find(text, at))
        return min((each for each in found if each), default=None)

    def _placeholder(self, text: str, at: int) -> Found | None:
        if not (self._escaped and self._originals.kinds):
            return None
        for match in SPELLED.finditer(text, at):
            name = _NAME.search(match.group().removeprefix("%3C").removeprefix("%3c"))
            assert name is not None
            if match.group()[0] == "[" and name.group() in self._originals:
                continue  # as code has it: the brackets are the text's own
            value = f"<{name.group().replace(chr(92), '').upper()}>"
            if (original := self._originals.get(value)) is not None:
                return Found(*match.span(), original)
        return None

    def _word(self, text: str, at: int) -> Found | None:
        pattern = self._pattern()
        match = pattern.search(text, at) if pattern is not None else None
        if match is None:
            return None
        written, article = match["value"], match["article"] or ""
        value = self._values[" ".join(written.lower().split())]
        original = _cased(written, value, self._originals[value])
        ending = match["ending"] or ""
        if ending == "s" and original.endswith("s"):
            ending = ""
        article = article and article_for(original, article) + match["gap"]
        return Found(*match.span(), article + original + ending)

    def _pattern(self) -> re.Pattern[str] | None:
        """Return the pattern of the drawn values; it follows the table."""
        # A copy: other requests of the conversation may add to them meanwhile.
        drawn = tuple(self._originals.drawn)
        if len(drawn) != self._n_drawn:
            self._n_drawn = len(drawn)
            self._values = {value.lower(): value for value in drawn}
            # The longest first: one value may begin another.
            ordered = sorted(self._values, key=len, reverse=True)
            parts = [r"\s+".join(map(re.escape, value.split())) for value in ordered]
            pattern = rf"(?<!\w){_ARTICLE}(?P<value>{'|'.join(parts)}){_ENDING}(?!\w)"
            self._drawn = re.compile(pattern, re.I) if parts else None
            self._forms = {a + value for value in self._values for a in ("", "a ", "an ")}
        return self._drawn

    def grows_from(self, text: str) -> int:
        """Return where the end of a text begins that may become a value, else its length."""
        self._pattern()
        longest = max(LONGEST_PLACEHOLDER, *(len(form) + 3 for form in self._forms), 0)
        begin = max(0, len(text) - longest)
        words = min(self._word_grows_from(text, begin), self._names.grows_from(text, begin))
        if self._escaped and self._originals.kinds:
            for opening in _OPENING.finditer(text, begin):
                if self._unfinished(text, opening.start()):
                    return min(opening.start(), words)
        return words

    def _unfinished(self, text: str, at: int) -> bool:
        match = _UNFINISHED.fullmatch(text, at)
        if match is None:
            return False
        name = (match["name"] or "").replace("\\", "").upper().rstrip("_")
        return any(kind.startswith(name) for kind in self._originals.kinds)

    def _word_grows_from(self, text: str, begin: int) -> int:
        tail = text[begin:].lower()
        for at in range(len(tail) if self._values else 0):
            behind = text[begin + at - 1 : begin + at]
            if behind.isalnum() or behind == "_":
                continue
            rest = " ".join(tail[at:].split()) + " " * tail[at:].endswith((" ", "\n"))
            if rest and any(_may_be(rest, form) for form in self._forms):
                return begin + at
        return len(text)


class _Names:
    """Finder of natural names and of their words; it follows the table."""

    def __init__(self, originals: Originals) -> None:
        self._originals = originals
        self._n_seen = 0
        self._known: dict[str, tuple[str, str]] = {}  # folded -> as released, original
        self._beginnings: set[str] = set()

    def _follow(self) -> None:
        names = self._originals.names
        if len(names) == self._n_seen:
            return
        self._n_seen = len(names)
        # A whole name comes before a word of another: an exact form is kept by itself.
        for value, original in [*names.items(), *self._originals.parts.items()]:
            folded = value.lower()
            self._known.setdefault(folded, (value, original))
            self._beginnings.update(folded[:end] for end in range(1, len(folded)))

    def find(self, text: str, at: int) -> Found | None:
        """Return the first name at or after a place; the longer of two that begin there."""
        self._follow()
        for match in _LETTERS.finditer(text, at) if self._known else ():
            start, end = match.span()
            if start and (text[start - 1].isalnum() or text[start - 1] == "_"):
                continue
            longer = _NEXT.match(text, end)
            for stop in (longer.end() if longer else end, end):
                if (original := self._original(text, start, stop)) is not None:
                    return Found(start, stop, original)
        return None

    def _original(self, text: str, start: int, stop: int) -> str | None:
        """Return what stands for a stretch of words if it is a name, with an -s or without."""
        if text[stop : stop + 1].isdigit() or text[stop : stop + 1] == "_":
            return None
        written = " ".join(text[start:stop].split())
        for form, ending in ((written, ""), (written[:-1], written[-1:])):
            if ending not in ("", "s") or (known := self._known.get(form.lower())) is None:
                continue
            exact = self._originals.names.get(form)
            original = _cased(form, *known) if exact is None else exact
            return original + ending * (not original.endswith("s"))
        return None

    def grows_from(self, text: str, begin: int) -> int:
        """Return where the end of a text begins that may become a name, else its length."""
        self._follow()
        begins = [match.start() for match in _LETTERS.finditer(text, begin)] if self._known else []
        for start in begins[-2:]:
            rest = " ".join(text[start:].lower().split()) + " " * text[-1:].isspace()
            whole = rest in self._known or rest.removesuffix("s") in self._known
            if whole or rest in self._beginnings:
                return start
        return len(text)


def _may_be(rest: str, value: str) -> bool:
    """Return True if the end of a text is a value, its beginning, or a value with an ending."""
    if rest.startswith(value):
        return rest[len(value) :] in ("", "s", "'", "'s", "\u2019", "\u2019s")
    return value.startswith(rest)


def _cased(written: str, released: str, original: str) -> str:
    """Return the original with a capital where the answer has one that the released value lacks."""
    if len(written) > 1 and written.isupper() and not released.isupper():
        return original.upper()
    if written[:1].isupper() and not released[:1].isupper():
        return original[:1].upper() + original[1:]
    return original
