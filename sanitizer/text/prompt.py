"""Text that the caller declares public: templates, and phrases wherever they occur.

Guarantee: none of its own. Declared text is part of the public skeleton (docs/guarantees.md,
"Declared text"): it leaves as it is, and what is private is read in sight of it.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from string import Formatter
from typing import Any, NamedTuple

from sanitizer.text.words import folded, without_clitic, word_spans

_PUBLIC = "public"
_SPACE = re.compile(r"\s+")
_SEPARATED = re.compile(r"[.,:/]\d")
_APOSTROPHES = str.maketrans("’ʼ", "''")


@dataclass(frozen=True, slots=True)
class DeclaredText:
    """A text of which the caller declares parts public. `Prompt.fill` makes it.

    Attributes:
        declared: offsets of the stretches that are public, ascending, apart from each other.
        keep: phrases that are public wherever they occur as whole words, written like this.
    """

    text: str = field(repr=False)
    declared: tuple[tuple[int, int], ...] = ()
    keep: tuple[str, ...] = field(default=(), repr=False)

    @classmethod
    def of(cls, text: object, keep: Sequence[str] = ()) -> DeclaredText:
        """Return a text, a filled prompt or a t-string with what is declared in it.

        Args:
            text: str, DeclaredText, or `string.templatelib.Template`: its literal parts and what
                is interpolated with the format "public" are declared.
            keep: phrases to declare as well.

        Raises:
            TypeError: another type, or one string instead of a list of phrases.
            ValueError: a phrase without a word.

        >>> DeclaredText.of("Ask Jira", keep=["Jira"]).declared
        ()
        """
        phrases = _checked(keep)
        if isinstance(text, DeclaredText):
            return cls(text.text, text.declared, (*text.keep, *phrases)) if phrases else text
        if isinstance(text, str):
            return cls(text, (), phrases)
        kind = type(text)
        # Known by its name: Python has the module from 3.14 on.
        if (kind.__module__, kind.__name__) == ("string.templatelib", "Template"):
            found = _joined(_interpolated(text))
            return cls(found.text, found.declared, phrases)
        hint = ": fill it first" if isinstance(text, Prompt) else ""
        raise TypeError(f"text must be a str, got {kind.__name__}{hint}")

    def all_declared(self) -> DeclaredText:
        """Return the text with every character declared public."""
        return DeclaredText(self.text, ((0, len(self.text)),) if self.text else ())

    @property
    def key(self) -> str:
        """What tells apart two declarations of one text; "" if nothing is declared."""
        return repr((self.declared, sorted(set(self.keep)))) if self.declared or self.keep else ""


class Prompt:
    """A template whose own words are public, with fields for private and for public values.

    "{letter}" is a private field: its value is treated as the policy says. "{language:public}" is a
    public one: its value leaves as it is. "{{" and "}}" are braces.

    Guarantee: literal parts and public values leave as they are, never changed and never part of a
    hidden stretch. What they say is public by the caller's declaration, identifiers included.

    Args:
        template: literal text with named fields.

    Raises:
        ValueError: a field without a name, with another format than "public", or both private and
            public.

    >>> from sanitizer import Sanitizer
    >>> prompt = Prompt("Tell {team:public} to answer {sender}.")
    >>> filled = prompt.fill(team="Jane's team", sender="anna@example.org")
    >>> Sanitizer(policy="identifiers").sanitize(filled).text
    "Tell Jane's team to answer <EMAIL_1>."
    """

    def __init__(self, template: str) -> None:
        self.template = template
        self._parts = tuple(_parts(template))
        rules: dict[str, bool] = {}
        for _, name, public in self._parts:
            if name and rules.setdefault(name, public) != public:
                raise ValueError(f"field {name!r} must be either public or private")
        self.fields = tuple(rules)

    def __repr__(self) -> str:
        return f"Prompt(fields={self.fields!r})"

    def fill(self, /, **values: str | int | float | DeclaredText) -> DeclaredText:
        """Return the text with these values in its fields, for `Sanitizer.sanitize`.

        Args:
            values: one for each field; a filled prompt keeps what is declared in it.

        Raises:
            TypeError: a field without a value, a value without a field, or a value of another type.

        >>> filled = Prompt("Translate to {language:public}: {letter}").fill(
        ...     language="German", letter="Dear Anna, ..."
        ... )
        >>> filled.text, filled.declared
        ('Translate to German: Dear Anna, ...', ((0, 21),))
        """
        missing = [name for name in self.fields if name not in values]
        if missing or len(values) != len(self.fields):
            unknown = [name for name in values if name not in self.fields]
            raise TypeError(f"fill: missing fields {missing}, unknown fields {unknown}")
        return _joined(
            (_text_of(values[name], name) if name else literal, public)
            for literal, name, public in self._parts
        )


def _parts(template: str) -> Iterator[tuple[str, str, bool]]:
    """Yield the parts of a template: literal text or "", the name of a field or "", if public."""
    if not isinstance(template, str):
        raise TypeError(f"template must be a str, got {type(template).__name__}")
    try:
        parsed = list(Formatter().parse(template))
    except ValueError as error:
        raise ValueError(f"template: {error}; a brace itself is written twice") from None
    for literal, name, form, conversion in parsed:
        if literal:
            yield literal, "", True
        if name is None:
            continue
        if not name.isidentifier():
            raise ValueError(f"template: a field must have a plain name, got {name!r}")
        if form not in ("", _PUBLIC) or conversion:
            raise ValueError(f"template: field {name!r} takes no format but 'public'")
        yield "", name, form == _PUBLIC


def _text_of(value: object, name: str) -> str | DeclaredText:
    if isinstance(value, str | DeclaredText):
        return value
    if isinstance(value, int | float):
        return str(value)
    raise TypeError(f"field {name!r} must be a str or a number, got {type(value).__name__}")


def _interpolated(template: Any) -> Iterator[tuple[str, bool]]:
    """Yield the parts of a `string.templatelib.Template`, and whether each is public."""
    convert: dict[str, Callable[[Any], str]] = {"r": repr, "s": str, "a": ascii}
    for part in template:
        if isinstance(part, str):
            yield part, True
        else:
            value = convert[part.conversion](part.value) if part.conversion else part.value
            public = part.format_spec == _PUBLIC
            yield str(value) if public else format(value, part.format_spec), public


def _joined(parts: Iterable[tuple[str | DeclaredText, bool]]) -> DeclaredText:
    """Return parts as one text; those marked True are declared."""
    texts: list[str] = []
    spans: list[tuple[int, int]] = []
    keep: tuple[str, ...] = ()
    at = 0
    for part, public in parts:
        text = part if isinstance(part, str) else part.text
        inside = () if isinstance(part, str) else part.declared
        keep += () if isinstance(part, str) else part.keep
        spans += [(at, at + len(text))] if public else [(at + a, at + b) for a, b in inside]
        texts.append(text)
        at += len(text)
    return DeclaredText("".join(texts), merged(spans), keep)


def merged(spans: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Return the union of spans, ascending and apart from each other.

    >>> merged([(4, 6), (0, 2), (1, 4), (7, 7)])
    ((0, 6),)
    """
    found: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if start == end:
            continue
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return tuple(found)


def _checked(keep: Sequence[str]) -> tuple[str, ...]:
    """Return phrases, or raise."""
    if isinstance(keep, str):
        raise TypeError("keep must be a list of phrases, got one str")
    for phrase in keep:
        if not isinstance(phrase, str):
            raise TypeError(f"keep must hold phrases, got {type(phrase).__name__}")
        if not any(word_spans(phrase)):
            raise ValueError("keep must hold phrases with a letter or a digit")
    return tuple(keep)


class _Phrase(NamedTuple):
    """A phrase as it is compared: its words, and the text before, between and after them."""

    words: tuple[str, ...]
    gaps: tuple[str, ...]


class Phrases:
    """Phrases that are found wherever they occur as whole words; white space counts as one space.

    Time is linear in the text, whatever the number of phrases that begin with different words.

    Args:
        phrases: each holds a word.
        private: find too much rather than too little: compare without case, and also parts of
            numbers ("4" in "4.5"). Otherwise "'s" and the like after a phrase are taken in.

    >>> Phrases(["step 4", "Jira"]).spans("Jira's step 4 is no step 40, jira")
    ((0, 6), (7, 13))
    """

    def __init__(self, phrases: Iterable[str], private: bool = False) -> None:
        self._form = partial(_form, private=private)
        self._private = private
        self._by_first: defaultdict[str, list[_Phrase]] = defaultdict(list)
        for text in phrases:
            phrase = self._read(text.strip())
            self._by_first[phrase.words[0]].append(phrase)

    def _read(self, text: str) -> _Phrase:
        spans = list(word_spans(text))
        ends, begins = [0, *(end for _, end in spans)], [*(start for start, _ in spans), len(text)]
        gaps = (_SPACE.sub(" ", text[a:b]) for a, b in zip(ends, begins, strict=True))
        return _Phrase(tuple(self._form(text[a:b]) for a, b in spans), tuple(gaps))

    def spans(self, text: str) -> tuple[tuple[int, int], ...]:
        """Return where the phrases occur, ascending and apart from each other."""
        if not self._by_first:
            return ()
        words = list(word_spans(text))
        found: list[tuple[int, int]] = []
        for number, (start, end) in enumerate(words):
            word = text[start:end]
            for form in {self._form(word), self._form(without_clitic(word))}:
                for phrase in self._by_first.get(form, ()):
                    if (span := self._at(text, words, number, phrase)) is not None:
                        found.append(span)
        return merged(found)

    def _at(
        self, text: str, words: Sequence[tuple[int, int]], number: int, phrase: _Phrase
    ) -> tuple[int, int] | None:
        """Return the span of a phrase whose first word is this word of the text, or None."""
        last = number + len(phrase.words) - 1
        if last >= len(words):
            return None
        for i, (wanted, gap) in enumerate(
            zip(phrase.words[:-1], phrase.gaps[1:-1], strict=True), number
        ):
            between = text[words[i][1] : words[i + 1][0]]
            if self._form(text[slice(*words[i])]) != wanted or _SPACE.sub(" ", between) != gap:
                return None
        start, end = words[last]
        if self._form(word := text[start:end]) != phrase.words[-1]:
            bare = without_clitic(word)
            if self._form(bare) != phrase.words[-1] or phrase.gaps[-1]:
                return None
            end = start + len(bare) if self._private else end
        before, after = phrase.gaps[0], phrase.gaps[-1]
        first, end = words[number][0] - len(before), end + len(after)
        if text[max(first, 0) : words[number][0]] != before or not text.endswith(after, 0, end):
            return None
        cut = not self._private and (_in_number(text, first) or _in_number(text, end))
        return None if cut else (first, end)


@lru_cache(maxsize=64)
def kept_phrases(keep: tuple[str, ...]) -> Phrases:
    """Return the finder of the phrases that one caller keeps."""
    return Phrases(keep)


def _form(word: str, private: bool) -> str:
    """Return the form in which words are compared."""
    plain = word.translate(_APOSTROPHES)
    return folded(plain) if private else unicodedata.normalize("NFC", plain)


def _in_number(text: str, at: int) -> bool:
    """Return True if a place is inside a numeral with separators, such as "1,250.00"."""
    around = text[max(at - 2, 0) : at], text[at : at + 2]
    return any(
        before[-1:].isdecimal() and _SEPARATED.fullmatch(after) is not None
        for before, after in (around, (around[1][:1], around[0][::-1]))
    )
