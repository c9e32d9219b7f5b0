"""What a policy file may say: its tables and keys, and the values that they take.

Policy files are read by hand, from one table of all keys: a validation library would name neither
the line nor the key as the file spells it.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from sanitizer.errors import PolicyError
from sanitizer.identifiers import KINDS
from sanitizer.privacy import Cape, DynText
from sanitizer.storage import NATURAL
from sanitizer.text.words import straight, word_spans

PRESETS = ("identifiers", "deidentify", "balanced", "strict")
WORDS = "words"
"""Name of one more policy, for comparison: 3,000 frequent words are public, others are drawn."""
CLASSES = (
    *("PERSON", "ORGANIZATION", "PLACE", "PRODUCT", "ID", "MONEY", "DATE", "NUMBER"),
    *("CONDITION", "TREATMENT", "BELIEF", "ORIGIN", "SEXUALITY", "CRIME", "OCCUPATION", "FAMILY"),
    *("FACT", "TERM"),
)
"""Classes of what a detector finds. FACT: told in everyday words; TERM: a word on no list."""
DETECTORS = ("none", "local")
TREATMENTS = ("pass", "vault", "draw", "capitals", "refuse")
"""What happens to a class. "draw": its stand-in is drawn within the class, of DRAWN only.
"capitals": goes to the vault if it is not written in lower case."""
DRAWN = ("CONDITION", "BELIEF", "ORIGIN", "CRIME")
"""Classes with a list of at least 100 members, from which a stand-in can be drawn."""
ROLES = ("public", "identifiers", "treated")
"""How a role's messages are treated: they leave as they are, only identifiers are replaced, or as
any other text."""
STYLES = ("placeholder", "same-form")
NAMES_AS = ("placeholder", "natural")
NUMBERS = ("random", "vault", "pass")
IMAGES = ("refuse", "pass")
LINKS = ("guard", "restore")
TOOLS = ("restore", "keep")
FORMULAS = ("auto", True, False)
EMBEDDINGS = ("refuse", "identifiers", "perturb")
_MECHANISMS: dict[str, type[Cape] | type[DynText]] = {"cape": Cape, "dyntext": DynText}


@dataclass(frozen=True)
class WordSet:
    """Words and prefixes, compared without case. In a list, "cancer*" is a prefix.

    Attributes:
        exact, prefixes: in lower case.
        phrases: entries of several words, as written; no word is "in" the set for them.

    Example:
        >>> words = WordSet.of(["Acme", "cancer*"])
        >>> "ACME" in words, "cancerous" in words, "Acmes" in words
        (True, True, False)
    """

    exact: frozenset[str] = frozenset()
    prefixes: tuple[str, ...] = ()
    phrases: frozenset[str] = frozenset()

    @classmethod
    def of(cls, entries: Iterable[str]) -> WordSet:
        """Return the set of listed words; empty entries are ignored."""
        lowered = [e.strip().lower() for e in entries]
        prefixes = tuple(sorted({e[:-1] for e in lowered if e.endswith("*") and len(e) > 1}))
        return cls(frozenset(e for e in lowered if e and not e.endswith("*")), prefixes)

    def __bool__(self) -> bool:
        return bool(self.exact or self.prefixes)

    def __contains__(self, word: str) -> bool:
        lowered = word.lower()
        return lowered in self.exact or (bool(self.prefixes) and lowered.startswith(self.prefixes))


PATTERN_SECONDS = 1.0
"""Seconds that a pattern of a policy may take for a text or a word."""


@cache
def limited(pattern: re.Pattern[str]) -> Any:
    """Return the pattern in a library whose searches end after a time, unlike those of `re`."""
    import regex

    return regex.compile(pattern.pattern, pattern.flags & ~re.UNICODE & ~re.DEBUG)


class _Bad(ValueError):
    """A value that cannot be used; the message says why."""


_ALIASES = {"preset": "base", "policy": "base", "extends": "base", "inherits": "base"}
"""What other programs and our own help call a key."""


def meant(name: str, known: Collection[str]) -> str:
    """Return a question after the name that was probably meant, or "" if none is known.

    >>> meant("balancd", PRESETS)
    '; did you mean balanced?'
    """
    near = get_close_matches(name, known, 1, 0.6)
    near = near or [own for own in known if _ALIASES.get(name.lower()) == own]
    return f"; did you mean {near[0]}?" if near else ""


def one_of(values: Iterable[str | bool]) -> Callable[[Any], Any]:
    """Return a check that a value is one of these."""

    def check(value: Any) -> Any:
        if value not in values:
            known = ", ".join(v if isinstance(v, str) else str(v).lower() for v in values)
            raise _Bad(f"must be one of {known}, got {value!r}")
        return value

    return check


def _strings(values: list[Any]) -> tuple[str, ...]:
    if not all(isinstance(value, str) for value in values):
        raise _Bad("must be a list of strings")
    return tuple(values)


def _kinds(values: list[Any]) -> frozenset[str]:
    for kind in _strings(values):
        if kind not in KINDS:
            raise _Bad(f"must be among {', '.join(KINDS)}, got {kind!r}")
    return frozenset(values)


@cache
def is_word(entry: str) -> bool:
    """Return True if an entry is one word and nothing else."""
    return list(word_spans(entry)) == [(0, len(entry))]


def _is_phrase(entry: str) -> bool:
    """Return True for several words, and for a word with other characters at its edges."""
    return "*" not in entry and any(word_spans(entry)) and not is_word(entry)


def _words(values: list[Any]) -> list[str]:
    words = [straight(value.strip()) for value in _strings(values)]
    if not all(is_word(word.removesuffix("*")) for word in words):
        raise _Bad("each entry must be one word; * only at the end")
    return words


def _word_set(values: list[Any]) -> WordSet:
    return WordSet.of(_words(values))


def _sensitive(values: list[Any]) -> WordSet:
    phrases = frozenset(value.strip() for value in _strings(values) if _is_phrase(value.strip()))
    words = _word_set([value for value in values if value.strip() not in phrases])
    return replace(words, phrases=phrases)


def _public(values: list[Any]) -> frozenset[str]:
    entries = [straight(value.strip()) for value in _strings(values)]
    for entry in entries:
        if not (is_word(entry) or _is_phrase(entry)):
            raise _Bad("each entry must be a word or a phrase, without *")
        if not any(c.isalpha() for c in entry):
            raise _Bad("a number is never public")
    return frozenset(entry.lower() if is_word(entry) else entry for entry in entries)


def _count(value: int) -> int:
    if value < 0:
        raise _Bad(f"must be at least 0, got {value}")
    return value


def _share(value: float) -> float:
    if not 0 <= value <= 1:
        raise _Bad(f"must be from 0 to 1, got {value}")
    return float(value)


def _known(values: list[Any]) -> frozenset[str]:
    if not all(any(word_spans(value)) for value in _strings(values)):
        raise _Bad("each entry must hold a letter or a digit")
    return frozenset(value.strip() for value in values)


def of_names(perturb: bool, detected: bool) -> Callable[[bool], bool]:
    """Return what reads whether names go to the vault.

    Args:
        perturb: the base draws each word. detected: its detector finds names.
    """

    def read(value: bool) -> bool:
        if value and perturb:
            raise _Bad(f"needs a base of {', '.join(PRESETS[:-1])}: here each word is drawn")
        if detected and not value:
            raise _Bad('names stay with base = "identifiers" only')
        return value

    return read


def _patterns(values: list[Any]) -> tuple[re.Pattern[str], ...]:
    import regex

    try:
        patterns = tuple(re.compile(pattern) for pattern in _strings(values))
        for pattern in patterns:
            limited(pattern)
    except (re.error, regex.error) as error:
        raise _Bad(f"not a regular expression: {error}") from None
    return patterns


class _Key(NamedTuple):
    """One key of a policy file: types of its value, how it is read, and the attribute it sets."""

    types: tuple[type, ...] = (str,)
    read: Callable[[Any], Any] = lambda value: value
    attribute: str = ""


_LIST, _BOOL, _INT, _NUMBER = (list,), (bool,), (int,), (int, float)
_KEYS: dict[str, dict[str, _Key]] = {
    "": {"name": _Key(), "base": _Key(read=one_of((*PRESETS, WORDS)))},
    "public": {"words": _Key(_LIST, _public, "public")},
    "sensitive": {
        "words": _Key(_LIST, _sensitive, "sensitive"),
        "values": _Key(_LIST, _known),
        "patterns": _Key(_LIST, _patterns, "patterns"),
    },
    "identifiers": {
        "kinds": _Key(_LIST, _kinds, "identifiers"),
        "style": _Key(read=one_of(STYLES)),
        "names": _Key(_BOOL),
    },
    "numbers": {"to": _Key(attribute="numbers")},
    "detector": {"mode": _Key(read=one_of(DETECTORS), attribute="detector")},
    "style": {name: _Key(read=one_of(NAMES_AS)) for name in ("names", *NATURAL)},
    "conversation": {"max_drawn": _Key(_INT, _count)},
    "classes": {
        name: _Key(read=one_of([how for how in TREATMENTS if name in DRAWN or how != "draw"]))
        for name in CLASSES
    },
    "thresholds": {name: _Key(_NUMBER, _share) for name in CLASSES},
    "roles": {name: _Key(read=one_of(ROLES)) for name in ("system", "developer")},
    "wire": {
        "images": _Key(read=one_of(IMAGES)),
        "embeddings": _Key(read=one_of(EMBEDDINGS)),
        "endpoints": _Key(_LIST, _strings),
        "links": _Key(read=one_of(LINKS)),
        "tools": _Key(read=one_of(TOOLS)),
        "keep_tools": _Key(_LIST, _strings),
        "formulas": _Key((bool, str), one_of(FORMULAS)),
    },
    "refuse": {
        "words": _Key(_LIST, _word_set, "refuse"),
        "patterns": _Key(_LIST, _patterns, "refuse_patterns"),
        "unlisted_languages": _Key(_BOOL, attribute="refuse_unlisted"),
    },
    "mechanism": {
        "name": _Key(read=one_of(_MECHANISMS)),
        "epsilon": _Key(_NUMBER),
        **dict.fromkeys(("variant", "context", "backbone", "profile"), _Key()),
        **dict.fromkeys(("n_shortlist", "n_top", "n_buckets"), _Key(_INT)),
        "top_mass": _Key((float,)),
        **dict.fromkeys(("guess_price", "lambda_l", "lambda_d"), _Key(_NUMBER)),
        "n_steps": _Key(_INT),
        **dict.fromkeys(("demote_self", "consistent"), _Key(_BOOL)),
        "delta": _Key(_NUMBER),
        **dict.fromkeys(("k_max", "k_min"), _Key(_INT)),
        **dict.fromkeys(("epsilon_density", "epsilon_replacement"), _Key(_NUMBER)),
        **dict.fromkeys(("density", "list_size", "replacement"), _Key()),
    },
}
"""Every key of a policy file by table; "" holds the keys outside all tables."""


def _unknown(table: str, key: str, value: object) -> str:
    """Return what is wrong with a key that no table has, and what may have been meant."""
    if not table and key and key in _KEYS:
        return f"must be a table, with keys such as {next(iter(_KEYS[key]))}"
    tables = [name for name in _KEYS if name]
    known = tables if isinstance(value, dict) else list(_KEYS[table])
    what = "table" if isinstance(value, dict) else "key"
    inside = "" if table or what == "table" else f" and, in tables, [{'], ['.join(tables)}]"
    return f"unknown {what}; known: {', '.join(known)}{inside}{meant(key, known)}"


class PolicyFile:
    """One TOML file, or its content; complaints name line and key.

    Attributes:
        name: of the file, without its ending.
    """

    def __init__(self, data: dict[str, Any], source: str = "", path: Path | None = None) -> None:
        self._data, self._source, self._path = data, source, path
        self.name = path.stem if path else "custom"

    @classmethod
    def read(cls, path: Path) -> PolicyFile:
        """Return the content of a file, or raise PolicyError."""
        try:
            source = path.read_text("utf-8")
            return cls(tomllib.loads(source), source, path)
        except OSError as error:
            raise PolicyError(f"{path}: cannot be read ({error.strerror})") from None
        except UnicodeDecodeError:
            raise PolicyError(f"{path}: is not UTF-8") from None
        except tomllib.TOMLDecodeError as error:
            raise PolicyError(f"{path}: {error}") from None

    def tables(self) -> dict[str, dict[str, Any]]:
        """Return table -> attribute -> value, every value checked; raise PolicyError."""
        return {table: self._table(table) for table in _KEYS}

    def _table(self, table: str) -> dict[str, Any]:
        """Return attribute -> value of one table, every value checked."""
        found: dict[str, Any] = {}
        for key, value in (self._data.get(table, {}) if table else self._data).items():
            if not table and key and key in _KEYS and isinstance(value, dict):
                continue
            expected = _KEYS[table].get(key)
            if expected is None:
                raise self._error(table, key, _unknown(table, key, value))
            types = expected.types
            # In Python a bool is an int as well, but no policy file means it so.
            if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
                raise self._error(table, key, f"must be {' or '.join(t.__name__ for t in types)}")
            found[expected.attribute or key] = self.checked(table, key, expected.read, value)
        return found

    def checked(self, table: str, key: str, read: Callable[[Any], Any], value: Any) -> Any:
        """Return a value as it is read; raise PolicyError if it cannot be used."""
        try:
            return read(value)
        except _Bad as error:
            raise self._error(table, key, str(error)) from None

    def mechanism(self, name: str = "cape", **options: Any) -> Cape | DynText:
        """Return the mechanism of the table [mechanism]; raise PolicyError."""
        known = {f.name for f in fields(_MECHANISMS[name])}
        for key in options:
            if key not in known:
                raise self._error("mechanism", key, f"{name} has no such setting")
        try:
            return _MECHANISMS[name](**options)
        except ValueError as error:
            key = next((k for k in options if str(error).startswith(k)), "name")
            raise self._error("mechanism", key, str(error)) from None

    def _error(self, table: str, key: str, message: str) -> PolicyError:
        where = f"[{table}] {key}" if table else key
        if self._path is None:
            return PolicyError(f"policy: {where}: {message}")
        return PolicyError(f"{self._path}, line {self._line(table, key)}: {where}: {message}")

    def _line(self, table: str, key: str) -> int:
        """Return the line of a key; 1 if it is not found, as in a table written in one line."""
        current, wanted = "", re.compile(rf"\s*[\"']?{re.escape(key)}[\"']?\s*=")
        for number, line in enumerate(self._source.splitlines(), 1):
            if header := re.match(r"\s*\[+\s*[\"']?([\w-]+)", line):
                current = header.group(1)
                if not table and current == key:
                    return number
            elif current == table and wanted.match(line):
                return number
        return 1
