"""What a policy file may say: its tables and keys, and the values that they take.

Policy files are read by hand, from one table of all keys: a validation library would name neither
the line nor the key as the file spells it.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Collection
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from sanitizer.errors import PolicyError
from sanitizer.identifiers.rows import KINDS, Row, packaged, row_of
from sanitizer.privacy.cape import Cape
from sanitizer.privacy.dyntext import DynText
from sanitizer.storage.table import NATURAL
from sanitizer.text.policy import (
    CLASSES,
    DRAWN,
    ELIGIBLE,
    PRESETS,
    TREATMENTS,
    UNLESS,
    WORDS,
    Policy,
    WordSet,
    is_phrase,
    is_word,
    meant,
    timed,
)
from sanitizer.text.words import straight, word_spans

_NUMBERS = ("random", "vault", "pass")
_NAMED = ("PERSON", "PLACE", "ORGANIZATION")  # classes of the key "names"
_MECHANISMS: dict[str, type[Cape] | type[DynText]] = {"cape": Cape, "dyntext": DynText}


class _Bad(ValueError):
    """A value that cannot be used; the message says why."""


def _one_of(values: Collection[str | bool], value: Any) -> Any:
    if value not in values:
        known = ", ".join(v if isinstance(v, str) else str(v).lower() for v in values)
        raise _Bad(f"must be one of {known}, got {value!r}")
    return value


def _from(least: float, most: float, value: float) -> float:
    if not least <= value <= most:
        raise _Bad(f"must be from {least:g} to {most:g}, got {value}")
    return value


def _strings(values: list[Any]) -> tuple[str, ...]:
    if not all(isinstance(value, str) for value in values):
        raise _Bad("must be a list of strings")
    return tuple(value.strip() for value in values)


def _kinds(values: list[Any]) -> frozenset[str]:
    return frozenset(_one_of(KINDS, value) for value in _strings(values))


def _rows_off(values: list[Any]) -> frozenset[str]:
    unknown = set(_strings(values)) - set(packaged().rows)
    if unknown:
        raise _Bad(f"there is no kind {min(unknown)!r}; see: sanitizer kinds")
    return frozenset(values)


def _own_rows(values: list[Any]) -> tuple[Row, ...]:
    if not all(isinstance(value, dict) for value in values):
        raise _Bad("must be tables: [[identifiers.rows]]")
    try:
        rows = tuple(map(row_of, values))
        packaged().having(rows)
    except ValueError as error:
        raise _Bad(str(error)) from None
    return rows


def _words(values: list[Any]) -> WordSet:
    words = list(map(straight, _strings(values)))
    if not all(is_word(word.removesuffix("*")) for word in words):
        raise _Bad("each entry must be one word; * only at the end")
    return WordSet.of(words)


def _sensitive(values: list[Any]) -> WordSet:
    phrases = frozenset(filter(is_phrase, _strings(values)))
    return replace(_words([v for v in _strings(values) if v not in phrases]), phrases=phrases)


def _public(values: list[Any]) -> frozenset[str]:
    entries = list(map(straight, _strings(values)))
    if not all(is_word(entry) or is_phrase(entry) for entry in entries):
        raise _Bad("each entry must be a word or a phrase, without *")
    if not all(any(c.isalpha() for c in entry) for entry in entries):
        raise _Bad("a number is never public")
    return frozenset(entry.lower() if is_word(entry) else entry for entry in entries)


def _known(values: list[Any]) -> frozenset[str]:
    if not all(any(word_spans(value)) for value in _strings(values)):
        raise _Bad("each entry must hold a letter or a digit")
    return frozenset(_strings(values))


def _patterns(values: list[Any]) -> tuple[re.Pattern[str], ...]:
    import regex

    if not all(isinstance(value, str) for value in values):
        raise _Bad("must be a list of strings")
    try:
        patterns = tuple(re.compile(pattern) for pattern in values)
        for pattern in patterns:
            timed(pattern)
    except (re.error, regex.error) as error:
        raise _Bad(f"not a regular expression: {error}") from None
    return patterns


def _word_patterns(values: list[Any]) -> tuple[re.Pattern[str], ...]:
    patterns = _patterns(values)
    if any(re.search(r" |\\s", pattern.pattern) for pattern in patterns):
        raise _Bad("a pattern is compared with one word: several are a row of [[identifiers.rows]]")
    return patterns


class _Key(NamedTuple):
    """One key of a policy file: types of its value, how it is read, and the attribute it sets."""

    types: tuple[type, ...] = (str,)
    read: Callable[[Any], Any] = lambda value: value
    attribute: str = ""


def _choice(*values: str, attribute: str = "") -> _Key:
    return _Key(read=partial(_one_of, values), attribute=attribute)


_LIST, _BOOL, _INT, _NUMBER = (list,), (bool,), (int,), (int, float)
_KEYS: dict[str, dict[str, _Key]] = {
    "": {"name": _Key(), "base": _choice(*PRESETS, WORDS)},
    "public": {"words": _Key(_LIST, _public, "public")},
    "sensitive": {
        "words": _Key(_LIST, _sensitive, "sensitive"),
        "values": _Key(_LIST, _known),
        "patterns": _Key(_LIST, _word_patterns, "patterns"),
    },
    "identifiers": {
        "kinds": _Key(_LIST, _kinds, "identifiers"),
        "off": _Key(_LIST, _rows_off, "kinds_off"),
        "rows": _Key(_LIST, _own_rows, "own_kinds"),
        "style": _choice("placeholder", "same-form"),
        "names": _Key(_BOOL),
    },
    "numbers": {"to": _Key(attribute="numbers")},
    "detector": {"mode": _choice("none", "local", attribute="detector")},
    "style": dict.fromkeys(("names", *NATURAL), _choice("placeholder", "natural")),
    "conversation": dict.fromkeys(
        ("max_drawn", "leave_at_most"), _Key(_INT, partial(_from, 0, 1e9))
    ),
    "classes": {
        name: _choice(
            *(
                how
                for how in TREATMENTS
                if (name in DRAWN or not how.startswith("draw"))
                and (name in ELIGIBLE or not how.endswith(UNLESS))
            )
        )
        for name in CLASSES
    },
    "thresholds": dict.fromkeys(CLASSES, _Key(_NUMBER, partial(_from, 0, 1))),
    "roles": {
        **dict.fromkeys(
            ("system", "developer"), _choice("public", "identifiers", "names", "treated")
        ),
        "user": _choice("treated", "typed"),
    },
    "wire": {
        "images": _choice("refuse", "pass"),
        "embeddings": _choice("refuse", "identifiers", "perturb"),
        "endpoints": _Key(_LIST, _strings),
        "links": _choice("guard", "restore"),
        "tools": _choice("restore", "keep"),
        "keep_tools": _Key(_LIST, _strings),
        "formulas": _Key((bool, str), partial(_one_of, ("auto", True, False))),
        "note": _Key(_BOOL),
        "notes": _choice("beside", "text"),
        "ask": _choice("warn", "leave", "hide", "refuse"),
    },
    "refuse": {
        "words": _Key(_LIST, _words, "refuse"),
        "patterns": _Key(_LIST, _patterns, "refuse_patterns"),
        "unlisted_languages": _Key(_BOOL, attribute="refuse_unlisted"),
    },
    "mechanism": {
        "name": _choice(*_MECHANISMS),
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


class PolicyFile:
    """One TOML file, or its content; complaints name line and key."""

    def __init__(self, data: dict[str, Any], source: str = "", path: Path | None = None) -> None:
        self._data, self._source, self._path = data, source, path

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

    def policy(self) -> Policy:
        """Return the policy that the file describes, every value checked; raise PolicyError."""
        tables = {table: self._table(table) for table in _KEYS}
        wire, mechanism = tables.pop("wire"), tables.pop("mechanism")
        classes, roles, styles = (tables.pop(name) for name in ("classes", "roles", "style"))
        thresholds = tables.pop("thresholds")
        of_all = styles.pop("names", "placeholder")
        here = {name: value for table in tables.values() for name, value in table.items()}
        base = Policy.preset(here.pop("base", "balanced"))
        if "numbers" in here:
            # Numbers may pass only where all words do.
            known = _NUMBERS[: 2 if base.perturb else 3]
            self._checked("numbers", "to", partial(_one_of, known), here["numbers"])
        names = here.pop("names", None)
        if names and base.perturb:
            needs = f"needs a base of {', '.join(PRESETS[:-1])}: here each word is drawn"
            raise self._error("identifiers", "names", needs)
        if names is False and base.detector != "none":
            raise self._error("identifiers", "names", 'names stay with base = "identifiers" only')
        if names:
            base = replace(base, detector="local")
            classes = dict.fromkeys(_NAMED, "vault") | classes
        settings = {
            "name": self._path.stem if self._path else "custom",
            **here,
            "treatments": base.treatments | classes,
            "roles": base.roles | roles,
            "thresholds": thresholds,
            "sure": base.sure | thresholds if base.sure else {},
            "natural": frozenset(kind for kind in NATURAL if styles.get(kind, of_all) == "natural"),
            "public": base.public | here.get("public", frozenset()),
            "wire": replace(base.wire, **wire),
            "mechanism": self._mechanism(**mechanism) if mechanism else None,
            "options": {key: value for key, value in mechanism.items() if key != "name"},
        }
        return replace(base, **settings)

    def _table(self, table: str) -> dict[str, Any]:
        """Return attribute -> value of one table, every value checked."""
        found: dict[str, Any] = {}
        for key, value in (self._data.get(table, {}) if table else self._data).items():
            if not table and key and key in _KEYS and isinstance(value, dict):
                continue
            expected = _KEYS[table].get(key)
            if expected is None:
                raise self._error(table, key, self._unknown(table, key, value))
            types = expected.types
            # In Python a bool is an int as well, but no policy file means it so.
            if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
                raise self._error(table, key, f"must be {' or '.join(t.__name__ for t in types)}")
            found[expected.attribute or key] = self._checked(table, key, expected.read, value)
        return found

    @staticmethod
    def _unknown(table: str, key: str, value: object) -> str:
        """Return what is wrong with a key that no table has, and what may have been meant."""
        if not table and key and key in _KEYS:
            return f"must be a table, with keys such as {next(iter(_KEYS[key]))}"
        tables = [name for name in _KEYS if name]
        what, known = "key", list(_KEYS[table])
        if isinstance(value, dict):
            what, known = "table", tables
        inside = "" if table or what == "table" else f" and, in tables, [{'], ['.join(tables)}]"
        return f"unknown {what}; known: {', '.join(known)}{inside}{meant(key, known)}"

    def _checked(self, table: str, key: str, read: Callable[[Any], Any], value: Any) -> Any:
        try:
            return read(value)
        except _Bad as error:
            raise self._error(table, key, str(error)) from None

    def _mechanism(self, name: str = "cape", **options: Any) -> Cape | DynText:
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
