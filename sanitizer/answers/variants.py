r"""How an answer may write a released value otherwise than it was released.

A placeholder may come back escaped (`<EMAIL\_1>`, `&lt;EMAIL_1&gt;`, `%3CEMAIL_1%3E`), in square
brackets or in lower case. One with the random number of its conversation can be nothing else, so it
is found however it is bracketed or spelled (`{EMAIL_48213_1}`, `Email 48213-1`), and by frequent
names of its class in other languages (`<PERSONNE_48213_1>`). A stand-in that was drawn is a word or
a phrase of everyday language: it is found as whole words, in any case, with an ending; so is a
natural name, and each word of it stands for its part.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import NamedTuple

from sanitizer.detect import SPELLED
from sanitizer.storage import Originals
from sanitizer.text import article_for

LONGEST_PLACEHOLDER = 120
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


_IN_OTHER_WORDS = {
    "PERSON": "NAME PERSONA PERSONNE",
    "ORGANIZATION": "COMPANY EMPRESA ENTREPRISE FIRMA ORGANISATION ORGANIZACI\u00d3N UNTERNEHMEN",
    "PLACE": "LIEU LOCATION LUGAR ORT",
    "PRODUCT": "PRODUCTO PRODUIT PRODUKT",
    "MONEY": "AMOUNT BETRAG DINERO GELD IMPORTE MONTANT",
    "DATE": "DATUM FECHA",
    "NUMBER": "NOMBRE NUM\u00c9RO N\u00daMERO NUMMER ZAHL",
    "ADDRESS": "ADRESSE DIRECCI\u00d3N",
    "PHONE": "TELEFON TEL\u00c9FONO TELEPHONE T\u00c9L\u00c9PHONE",
    "EMAIL": "CORREO COURRIEL E-MAIL MAIL",
    "CONDITION": "ENFERMEDAD ERKRANKUNG KRANKHEIT MALADIE",
    "TREATMENT": "BEHANDLUNG TRAITEMENT TRATAMIENTO",
    "OCCUPATION": "BERUF M\u00c9TIER OCUPACI\u00d3N PROFESSION",
    "TERM": "BEGRIFF TERME T\u00c9RMINO",
    "ORIGIN": "HERKUNFT ORIGEN ORIGINE",
}
"""How answers translate the names of classes, or put them in other words."""
_CLASS_OF = {name: kind for kind, names in _IN_OTHER_WORDS.items() for name in names.split()}
_DASHES = "-\u2010\u2011"
_GAP = "[ \u00a0]{0,2}"
_OPENS = re.compile(
    r"(?:\\{0,2}[<\[]|(?:(?<![^\W_])|(?<=(?<!\\)\\[nrt]))(?<![$}\]]){{1,2}|[\u2039\u27e8\uff1c]|"
    rf"&lt;|%3C|\\u003c|&#(?:0{{0,5}}60|x0{{0,5}}3c);){_GAP}\Z",
    re.I,
)
_CLOSERS = {
    sign: re.compile(_GAP + pattern, re.I)
    for sign, pattern in {
        "<": "/?>",
        "[": r"\]",
        "{": "}",
        "{{": "}}",
        "\u2039": "\u203a",
        "\u27e8": "\u27e9",
        "\uff1c": "\uff1e",
        "&lt;": "&gt;",
        "%3c": "%3E",
        "\\u003c": r"\\u003e",
        "&#": "&#(?:0{0,5}62|x0{0,5}3e);",
        r"\<": r"\\>",
        r"\[": r"\\\]",
        r"\\<": r"\\\\>",
        r"\\[": r"\\\\\]",
    }.items()
}
"""Signs before a placeholder, in lower case, and what ends it after them."""
_OPENING_SIGNS = ("\\\\<", "\\\\[", "{{", "\u2039", "\u27e8", "\uff1c", "&lt;", "%3c", "\\u003c")
_BEGUN_SIGNS = {sign[:end] for sign in _OPENING_SIGNS for end in range(1, len(sign) + 1)}
_BEGUN_ENTITY = re.compile(r"&#(?:0{0,5}(?:6(?:0;?)?)?|x(?:0{0,5}(?:3(?:c;?)?)?)?)?", re.I)
_OPENED = re.compile(
    rf"(?:\\{{0,2}}[<\[]|{{{{1,2}}|[\u2039\u27e8\uff1c]|&lt;|%3C|\\u003c|&#(?:0{{0,5}}60|x0{{0,5}}3c);){_GAP}",
    re.I,
)
_STARTS = re.compile(r"[<\[{&%\\\u2039\u27e8\uff1c]|(?<![^\W\dcnrtC_])[^\W\d_]")
_NO_LETTERS = ("%3c", "\\u003c", "\\n", "\\r", "\\t")
_BAR = r"(?:\\{0,2}_|%5F|&#95;)"
_MARK = rf"(?:[{_DASHES}\s\\_]|%5F|&#95;)"
_LAST = "(?:%5?|&(?:#(?:95?)?)?)?"
_BEGUN = re.compile(
    rf"(?P<kind>[^\W\d_]++(?:{_MARK}{{1,9}}[^\W\d_]++){{0,3}})"
    rf"(?:{_MARK}{{1,9}}#?(?P<tag>\d{{0,5}})(?:(?<=\d)"
    rf"(?:{_MARK}{{1,9}}(?:#?\d{{1,9}}(?:\\{{0,2}}_\d{{0,9}}|[{_DASHES}]\d{{0,9}}|\\{{1,2}})?)?"
    rf"{_GAP}[\\/%3Eeu0&#gt62x;}}\]]{{0,10}}|{_LAST}))?|{_LAST})",
    re.I,
)
"""The beginning of a placeholder's name, by form; `_begun` looks at what it says."""


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
        self._tagged_of: tuple[frozenset[str], frozenset[str]] | None = None
        self._tagged: re.Pattern[str] | None = None
        self._classes: dict[str, str] = {}
        self._heads: set[str] = set()

    def find(self, text: str, at: int, before: str = "") -> Found | None:
        """Return the first value at or after a place, None if there is none.

        Args:
            before: the last characters of the answer before the text.
        """
        found = (
            self._placeholder(text, at),
            self._by_tag(text, at, before),
            self._word(text, at, before),
            self._names.find(text, at, before),
        )
        return min((each for each in found if each), default=None)

    def tagged(self, text: str) -> list[Found]:
        """Return the placeholders of this conversation in a text, in whatever spelling."""
        found: list[Found] = []
        while (each := self._by_tag(text, found[-1].end if found else 0, "")) is not None:
            found.append(each)
        return found

    def _by_tag(self, text: str, at: int, before: str) -> Found | None:
        """Return the first placeholder by the number that no other conversation has."""
        pattern = self._tag_pattern()
        if pattern is None or not any(tag in text for tag in self._originals.tags):
            return None
        whole, shift = before + text, len(before)
        for match in pattern.finditer(whole, at + shift):
            name = re.sub(r"[\W_]+", "_", match["kind"]).upper()
            number = match["n"] or match["n2"] or match["n3"]
            form = match["form"] or match["form2"]
            bare = "_".join([self._classes[name], match["tag"], number, *([form] if form else [])])
            original = self._originals.get(f"<{bare}>", self._originals.get(bare))
            if original is None:
                continue
            start, end = match.start() - shift, match.end() - shift
            opened = _OPENS.search(whole, max(at + shift, match.start() - 16), match.start())
            signs = "" if opened is None else opened[0].rstrip(" \u00a0")
            if opened is not None and not (signs[0] in "[{" and bare in self._originals):
                closed, begin = _closed(signs, text, end), opened.start()
                if closed is None and signs[0] == "\\":  # the backslashes are the text's own
                    plain = signs.lstrip("\\")
                    closed, begin = _closed(plain, text, end), begin + len(signs) - len(plain)
                if closed is not None:
                    start, end = begin - shift, closed
            return Found(start, end, original)
        return None

    def _tag_pattern(self) -> re.Pattern[str] | None:
        """Return the pattern of placeholders with a tag; it follows the table."""
        tags, kinds = self._originals.tags, self._originals.kinds
        if self._tagged_of == (tags, kinds):
            return self._tagged
        classes = {kind: kind for kind in kinds}
        classes |= {
            name.replace("-", "_"): kind for name, kind in _CLASS_OF.items() if kind in kinds
        }
        self._classes = classes
        self._heads = {name[:end] for name in classes for end in (1, 2)}
        self._tagged = _tagged_names(classes, tags) if tags and kinds else None
        self._tagged_of = tags, kinds
        return self._tagged

    def _tag_grows_from(self, text: str, begin: int, before: str) -> int:
        """Return where the end of a text begins that may become a placeholder with a tag."""
        if self._tag_pattern() is None:
            return len(text)
        for start in _STARTS.finditer(text, begin):
            at = start.start()
            if text[at].isalpha():
                if text[at : at + 2].upper() not in self._heads:
                    continue
                behind = text[at - 1] if at else before[-1:]
                before_it = (before[-6:] + text[max(0, at - 6) : at])[-6:].lower()
                inside = behind.isalnum() and not before_it.endswith(_NO_LETTERS)
                if not inside and self._begun(text, at):
                    return at
                continue
            tail = text[at:]
            if tail.lower() in _BEGUN_SIGNS or _BEGUN_ENTITY.fullmatch(tail) or tail in "\\[<":
                return at
            opened = _OPENED.match(text, at)
            end = len(text) if opened is None else opened.end()
            if opened is not None and (end == len(text) or self._begun(text, end)):
                return at
        return len(text)

    def _begun(self, text: str, at: int) -> bool:
        """Return True if the end of a text may be the beginning of a placeholder's name."""
        match = _BEGUN.fullmatch(text, at)
        if match is None:
            return False
        name = re.sub(r"(?:%5F|&#95;|[\W_])+", "_", match["kind"].upper())
        if not match["tag"]:
            return any(known.startswith(name) for known in self._classes)
        tags = self._originals.tags
        return name in self._classes and any(tag.startswith(match["tag"]) for tag in tags)

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

    def _word(self, text: str, at: int, before: str) -> Found | None:
        pattern = self._pattern()
        shift = len(before)
        match = pattern.search(before + text, at + shift) if pattern is not None else None
        if match is None:
            return None
        written, article = match["value"], match["article"] or ""
        value = self._values[" ".join(written.lower().split())]
        original = _cased(written, value, self._originals[value])
        ending = match["ending"] or ""
        if ending == "s" and original.endswith("s"):
            ending = ""
        article = article and article_for(original, article) + match["gap"]
        return Found(match.start() - shift, match.end() - shift, article + original + ending)

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

    def grows_from(self, text: str, before: str = "") -> int:
        """Return where the end of a text begins that may become a value, else its length."""
        self._pattern()
        longest = max(LONGEST_PLACEHOLDER, *(len(form) + 3 for form in self._forms), 0)
        begin = max(0, len(text) - longest)
        words = min(
            self._word_grows_from(text, begin, before),
            self._names.grows_from(text, begin),
            self._tag_grows_from(text, begin, before),
        )
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

    def _word_grows_from(self, text: str, begin: int, before: str) -> int:
        tail = text[begin:].lower()
        for at in range(len(tail) if self._values else 0):
            behind = text[begin + at - 1] if begin + at else before[-1:]
            if behind.isalnum() or behind == "_":
                continue
            rest = " ".join(tail[at:].split()) + " " * tail[at:].endswith((" ", "\n"))
            if rest and any(_may_be(rest, form) for form in self._forms):
                return begin + at
        return len(text)


def _tagged_names(classes: Collection[str], tags: Collection[str]) -> re.Pattern[str]:
    """Return the pattern of the names of placeholders with one of these tags, in any spelling."""
    ordered = sorted(classes, key=len, reverse=True)
    names = "|".join(name.replace("_", rf"(?:{_BAR}|[{_DASHES} ])") for name in ordered)
    dash, between = f"[{_DASHES}]", r"\s{0,2}"
    bar = rf"{between}{_BAR}{between}"
    return re.compile(
        rf"(?:(?<![^\W_])(?<![^\W_]_)|(?<=%3C)|(?<=\\u003c)|(?<=(?<!\\)\\[nrt]))"
        rf"(?P<kind>{names})(?:{bar}|{between}{dash}{between}|\s{{1,3}})#?"
        rf"(?P<tag>{'|'.join(sorted(tags))})"
        rf"(?:{bar}(?P<n>\d{{1,9}})(?:\\{{0,2}}_(?P<form>\d{{1,9}}))?|"
        rf"{between}{dash}{between}(?P<n2>\d{{1,9}})(?:{dash}(?P<form2>\d{{1,9}}))?|"
        rf"\s{{1,3}}#?(?P<n3>\d{{1,9}}))(?!\d|\\{{0,2}}_\d)",
        re.I,
    )


def _closed(signs: str, text: str, at: int) -> int | None:
    """Return where the signs end that close these before a placeholder; None if none do."""
    closer = _CLOSERS.get("&#" if signs.startswith("&#") else signs.lower())
    closed = None if closer is None else closer.match(text, at)
    return None if closed is None else closed.end()


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

    def find(self, text: str, at: int, before: str = "") -> Found | None:
        """Return the first name at or after a place; the longer of two that begin there."""
        self._follow()
        for match in _LETTERS.finditer(text, at) if self._known else ():
            start, end = match.span()
            behind = text[start - 1] if start else before[-1:]
            if behind.isalnum() or behind == "_":
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
