"""Kinds of identifiers as rows of data files: what is found, how it looks and what announces it.

A row is a table `[[kind]]` of a TOML file in `kinds/`, or of a policy. Its examples are its tests:
what is hidden stands in brackets ⟦ ⟧. `Registry` holds rows by what finds them in a text; `search`
is the loop over it.

Keys of a row:

- `name`: unique, in lower case with hyphens. `class`: one of `KINDS`. `label`: what a user reads.
- `form`: regular expression of the value. A group `value` in it is what is hidden, else all of it.
- `at`: strings that a value begins with; `form` is matched behind each. `before`: pattern of what
  stands before such a string and belongs to the value. `glued`: true if the string may stand
  inside a word.
- `numbers`: true if `form` is matched at every number of a text, behind `before` if it has that.
- `marks`: strings in lower case of which a text must hold one, before `form` is searched in it.
  `begins`: true if the form begins with one of them, which is far quicker. `also`: more such
  strings, of which a text must hold one too. `near`: pattern of what must stand within `reach`
  characters of a match.
- `words`: words and phrases that announce a value, by language; `form` is matched behind them.
  "(tax|fiscal|) number" stands for all its readings; a word in capitals counts in capitals only.
  `numbered`: true if "number", ":" or the like must follow. `digits`: the fewest digits of a value.
- `heads`: words that announce the cells of a column in its head, and nothing elsewhere.
- `finder`: function of this package that finds the kind, in place of a form; see `Search`.
- `check`: name of a function of `checks`, or `stdnum.` and a module of python-stdnum; a value that
  is not announced must pass it. `proof`: true if an announced value must pass it too. A group
  `name` of a form is the name of a secret, which decides whether the value is one. `trim`: true if
  marks at the end of a value belong to the sentence.
- `alone`: form of values that count without words, if `check` accepts them; `near` counts too.
- `positive`, `negative`: examples. `source`: where form, words and lengths are documented.

`[parts]` of a file names pieces of patterns; `<<name>>` in a form stands for one.
"""

from __future__ import annotations

import re
import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

KINDS: tuple[str, ...] = tuple(
    """
    KEY EMAIL URL LINK IBAN CARD SSN IP MAC DATE_OF_BIRTH DATE LICENCE PASSPORT NATIONAL_ID
    MEDICAL INSURANCE VEHICLE DEVICE PLATE ACCOUNT WALLET COORDINATES PHONE ADDRESS POSTCODE HOST
    ENCODED ID
    """.split()
)
"""Classes of identifiers, in order of precedence between spans of the same length.

A LINK is the plain address of a page; a URL has a user, a query, a fragment, or a private host, or
is the page of a person or what somebody shares. A HOST is a machine, or a name inside a private
network, ENCODED an identifier in base64 or hexadecimal, an ID the number of a customer, an employee
or a case.
"""

FOLDER = Path(__file__).parent / "kinds"
_END = r"(?![^\W_]|[_-][0-9]|[./](?!00?(?![\w.]))[0-9])"
"""Where a number ends; a spreadsheet writes one with ".0" behind."""
_SEPARATORS = re.compile(r"[\s./-]")
_CHOICE = re.compile(r"\(([^()]*)\)")
WORD, NUMBER = re.compile(r"[^\W\d_]+"), re.compile("[0-9]+")
HUMPS = re.compile(r"[A-Z]?[^\W\d_A-Z]+|[A-Z]+(?![a-z])|[A-Z]")
"""The words of "socialSecurityNumber"."""
UNSPACED = re.compile("[\u0900-\u0dff\u0e00-\u0eff\u3040-\u9fff\uac00-\ud7af]")
"""Letters of scripts whose words have no spaces or marks between them: Indic, Thai, East Asian."""
_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_PART = re.compile(r"<<(\w+)>>")
_LISTS = frozenset({"at", "marks", "also", "heads", "positive", "negative"})


@dataclass(frozen=True)
class Row:
    """One kind of identifier; the module says what each field means."""

    name: str
    kind: str
    label: str = ""
    form: str = ""
    at: tuple[str, ...] = ()
    before: str = ""
    glued: bool = False
    numbers: bool = False
    marks: tuple[str, ...] = ()
    begins: bool = False
    also: tuple[str, ...] = ()
    near: str = ""
    reach: int = 60
    words: tuple[str, ...] = ()
    numbered: bool = False
    capitals: bool = False
    digits: int = 0
    heads: tuple[str, ...] = ()
    finder: str = ""
    check: str = ""
    proof: bool = False
    trim: bool = False
    alone: str = ""
    positive: tuple[str, ...] = ()
    negative: tuple[str, ...] = ()
    source: str = ""

    def __reduce__(self) -> tuple[Any, ...]:
        return Row, tuple(getattr(self, each.name) for each in fields(self))

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """`form`, compiled at its first use."""
        return re.compile(self.form)

    @cached_property
    def pattern_alone(self) -> re.Pattern[str]:
        """`alone`, compiled at its first use."""
        return re.compile(f"(?:{self.alone}){_END}")

    @cached_property
    def pattern_near(self) -> re.Pattern[str]:
        """`near`, compiled at its first use."""
        return re.compile(self.near)

    @cached_property
    def pattern_before(self) -> re.Pattern[str]:
        """`before`, compiled at its first use; it matches up to where the search ends."""
        return re.compile(rf"(?:{self.before})\Z")

    @cached_property
    def checker(self) -> Callable[[str], bool]:
        """Function that says whether a value passes the check of this kind."""
        return _checker(self.check)

    @property
    def found_by(self) -> str:
        """How values are found, in words."""
        parts = {
            "its beginning": self.at,
            "words": self.words,
            "the head of a column": self.heads,
            "its form": self.alone or self.numbers or self.marks or self.finder,
        }
        found = " or ".join(part for part, given in parts.items() if given) or "its form"
        return f"{found}, checked" if self.check and not self.words else found

    def passes(self, value: str) -> bool:
        """Return True if a value passes the check, or the kind has none."""
        return not self.check or self.checker(value)


@cache
def _checker(name: str) -> Callable[[str], bool]:
    """Return the function of a check; raise ValueError if there is none of the name."""
    if name.startswith("stdnum."):
        try:
            return _validator(import_module(name).validate)
        except ImportError:
            raise ValueError(f"check: python-stdnum has no module {name!r}") from None
    modules = (f"sanitizer.identifiers.{each}" for each in ("checks", "secrets", "networks"))
    found = next((f for m in modules if (f := getattr(import_module(m), name, None))), None)
    if found is None:
        raise ValueError(f"check: there is no function {name!r}")
    checked: Callable[[str], bool] = found
    return checked


def _validator(validate: Callable[[str], str]) -> Callable[[str], bool]:
    """Return whether python-stdnum accepts a number.

    Some of its modules raise other errors than its own for numbers of no known form.
    """

    def validates(value: str) -> bool:
        try:
            validate(value)
        except Exception:
            return False
        return True

    def accepts(value: str) -> bool:
        return validates(value) or validates(_SEPARATORS.sub("", value))

    return accepts


def _whole(form: str, parts: Mapping[str, str]) -> str:
    """Return a form with its parts, which may hold others; raise KeyError."""
    while _PART.search(form):
        form = _PART.sub(lambda m: parts[m[1]], form)
    return form


@cache
def words_of(topic: str) -> tuple[str, ...]:
    """Return the words of a topic in all languages of `kinds/words.toml`, the longest first."""
    table = tomllib.loads((FOLDER / "words.toml").read_text("utf-8"))[topic]
    return tuple(sorted({word for words in table.values() for word in words}, key=len)[::-1])


def _spelled(phrase: str) -> Iterator[str]:
    """Yield the readings of a phrase with choices, as words with blanks between.

    They are in lower case, except for abbreviations.
    """
    choice = _CHOICE.search(phrase)
    if choice is None:
        unspaced = UNSPACED.search(phrase)
        letters = phrase if phrase.isupper() and phrase.isascii() else phrase.lower()
        yield phrase if unspaced else " ".join(WORD.findall(letters))
        return
    for each in choice[1].split("|"):
        yield from _spelled(phrase[: choice.start()] + each + phrase[choice.end() :])


def row_of(table: Mapping[str, Any], parts: Mapping[str, str] | None = None) -> Row:
    """Return the row of a table as it stands in a file or a policy.

    Raises:
        ValueError: an unknown key, class or part, a value of another type, or nothing to find by.
    """
    given = dict(table)
    name = given.get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ValueError(f"kind: name must be in lower case with hyphens, got {name!r}")
    given["kind"] = given.pop("class", None)
    if given["kind"] not in KINDS:
        raise ValueError(f"kind {name}: class must be of {', '.join(KINDS)}; got {given['kind']!r}")
    words = given.pop("words", {})
    listed = words.values() if isinstance(words, Mapping) else [words]
    try:
        given["words"] = tuple(
            dict.fromkeys(word for each in listed for phrase in each for word in _spelled(phrase))
        )
        for key in _LISTS & set(given):
            given[key] = tuple(str(each) for each in given[key])
        for key in ("form", "alone", "before", "near"):
            given[key] = _whole(given.get(key, ""), parts or {})
            re.compile(given[key])
        row = Row(**given)
    except KeyError as error:
        raise ValueError(f"kind {name}: there is no part {error.args[0]!r}") from None
    except (TypeError, AttributeError):
        known = ", ".join(sorted({f.name for f in fields(Row)} - {"kind"} | {"class"}))
        raise ValueError(
            f"kind {name}: keys must be of {known}, with values of their type"
        ) from None
    except re.error as error:
        raise ValueError(f"kind {name}: a pattern is not valid: {error}") from None
    if not (row.finder or row.alone or row.form):
        raise ValueError(f"kind {name}: it needs a form")
    if row.check:
        _checker(row.check)
    return row


class Registry:
    """Rows, by what finds them.

    Attributes:
        begun: string that values begin with -> rows.
        marked: rows with marks, and those of a form alone.
        numbered: rows that are tried at every number.
        announced: first two words of a phrase -> phrases that begin with them, the longest first,
            each as its words and the rows that it announces.
        heads: word of the head of a column -> row.
        finders: names of functions that find kinds of their own.
        proved: rows of numbers that count alone.
        unspaced: phrase of a script without spaces -> rows.
    """

    def __init__(self, rows: Iterable[Row]) -> None:
        self.rows = {row.name: row for row in rows}
        self.begun: defaultdict[str, list[Row]] = defaultdict(list)
        self.marked: list[Row] = []
        self.numbered = [row for row in self.rows.values() if row.numbers]
        self.finders: defaultdict[str, list[Row]] = defaultdict(list)
        self.proved: list[Row] = []
        self.unspaced: defaultdict[str, list[Row]] = defaultdict(list)
        self.heads = {word: row for row in self.rows.values() for word in row.heads}
        phrases: defaultdict[tuple[str, ...], list[Row]] = defaultdict(list)
        for row in self.rows.values():
            for start in row.at:
                self.begun[start].append(row)
            anchored = row.at or row.words or row.heads or row.numbers
            if row.marks or (row.form and not anchored):
                self.marked.append(row)
            if row.finder:
                self.finders[row.finder].append(row)
            if row.alone:
                self.proved.append(row)
            for phrase in row.words:
                if UNSPACED.search(phrase):
                    self.unspaced[phrase].append(row)
                else:
                    words = tuple(phrase.lower().split())
                    capitals = phrase.isupper() and phrase.isascii()
                    phrases[words].append(replace(row, capitals=True) if capitals else row)
        self.announced: defaultdict[tuple[str, ...], list[tuple[tuple[str, ...], list[Row]]]]
        self.announced = defaultdict(list)
        for spelled, found in sorted(phrases.items(), key=lambda item: -len(item[0])):
            self.announced[spelled[:2]].append((spelled, found))

    @cached_property
    def unspaced_words(self) -> re.Pattern[str]:
        """Pattern of the phrases in scripts without spaces, the longest first."""
        return re.compile("|".join(sorted(map(re.escape, self.unspaced), key=len)[::-1]) or r"\Z.")

    @cached_property
    def alone(self) -> re.Pattern[str]:
        """Pattern of what may be a number that counts alone."""
        return re.compile("|".join(f"(?:{row.alone})" for row in self.proved) or r"\Z.")

    def having(self, more: Iterable[Row] = (), off: Iterable[str] = ()) -> Registry:
        """Return a registry with more rows, and without those whose names are given.

        Raises:
            ValueError: a name to switch off is unknown, or one of a new row is taken.
        """
        rows = dict(self.rows)
        for name in off:
            if rows.pop(name, None) is None:
                raise ValueError(f"there is no kind {name!r}; see: sanitizer kinds")
        for row in more:
            if row.name in self.rows:
                raise ValueError(f"kind {row.name}: the name is taken")
            rows[row.name] = row
        return Registry(rows.values())


@dataclass(frozen=True, slots=True)
class Search:
    """What a function is asked that finds kinds of its own.

    Attributes:
        text: the text, with ASCII twins. lowered: in lower case, at the same offsets.
        bordered: the text with coded line ends as line ends, at the same offsets.
        wanted: the classes that are searched for. registry: the rows.
        proved: spans of the numbers that prove themselves, ascending and apart.
    """

    text: str
    lowered: str
    bordered: str
    wanted: frozenset[str]
    registry: Registry
    proved: tuple[tuple[int, int], ...]


def word_lists(name: str) -> dict[str, list[str]]:
    """Return the lists of words of a TOML file of this package: subject -> words."""
    return tomllib.loads((Path(__file__).parent / f"{name}.toml").read_text("utf-8"))


def any_of(words: Iterable[str]) -> str:
    """Return a pattern for one of some words, the longest first."""
    return f"(?:{'|'.join(sorted(map(re.escape, words), reverse=True))})"


def rows_of(text: str) -> Iterator[Row]:
    """Yield the rows of the text of a TOML file; raise ValueError."""
    table = tomllib.loads(text)
    yield from (row_of(each, table.get("parts")) for each in table.get("kind", ()))


@cache
def packaged() -> Registry:
    """Return the registry of the kinds that come with the package."""
    files = sorted(FOLDER.glob("*.toml"))
    rows = [row for path in files for row in rows_of(path.read_text("utf-8"))]
    assert len(rows) == len({row.name for row in rows}), "two kinds have one name"
    return Registry(rows)
