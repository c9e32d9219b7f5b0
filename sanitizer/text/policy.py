"""Word lists: the packaged ones, hash-checked, and those of a policy file.

What is public and what is a unit: presets and TOML files.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, field, fields, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from sanitizer.errors import PolicyError
from sanitizer.identifiers import KINDS
from sanitizer.lm import Manifest, model_folder
from sanitizer.privacy import Cape, DynText
from sanitizer.text.words import without_clitic
from sanitizer.text.words import word_spans as all_words


@dataclass(frozen=True)
class WordSet:
    """Words and prefixes, compared without case. In a list, "cancer*" is a prefix."""

    exact: frozenset[str] = frozenset()
    prefixes: tuple[str, ...] = ()

    @classmethod
    def of(cls, entries: Iterable[str]) -> WordSet:
        lowered = [e.strip().lower() for e in entries]
        prefixes = tuple(sorted({e[:-1] for e in lowered if e.endswith("*") and len(e) > 1}))
        return cls(frozenset(e for e in lowered if e and not e.endswith("*")), prefixes)

    def __bool__(self) -> bool:
        return bool(self.exact or self.prefixes)

    def __contains__(self, word: str) -> bool:
        lowered = word.lower()
        return lowered in self.exact or (bool(self.prefixes) and lowered.startswith(self.prefixes))


@cache
def word_list(name: str) -> tuple[str, ...]:
    """Entries of a packaged word list, its hash checked; lines that begin with # are comments.

    Raises:
        ModelError: if the list is missing or damaged.
    """
    folder = model_folder("words")
    Manifest.read(folder).verify([name])
    lines = (folder / name).read_text("utf-8").splitlines()
    entries = (line.split("#", 1)[0].strip() for line in lines)
    return tuple(entry for entry in entries if entry)


def straight(word: str) -> str:
    """With typewriter apostrophes."""
    return word.replace("’", "'").replace("ʼ", "'")


def forms(word: str) -> set[str]:
    """How lists and patterns may name a word: as written, in lower case, without its clitic."""
    bases = (word, without_clitic(word))
    return {form for base in bases for form in (base, base.lower(), straight(base.lower()))}


PRESETS = ("strict", "balanced", "identifiers")
STYLES = ("placeholder", "same-form")
NUMBERS = ("random", "vault", "pass")
UNCLEAR = frozenset(
    {"DATE", "LINK"}
)  # often public matter: left alone where words are not perturbed either
_MECHANISMS: dict[str, type[Cape] | type[DynText]] = {"cape": Cape, "dyntext": DynText}
_NAMES = ("will", "don", "ma", "may")  # stopwords that are names when capitalized
_KEYS: dict[str, dict[str, type | tuple[type, ...]]] = {
    "": {"name": str, "base": str},
    "public": {"words": list},
    "sensitive": {"words": list, "patterns": list},
    "identifiers": {"kinds": list, "style": str, "names": bool},
    "numbers": {"to": str},
    "wire": {"images": str, "embeddings": str, "endpoints": list},
    "refuse": {"words": list, "patterns": list},
    "mechanism": {
        "name": str,
        "epsilon": (int, float),
        "variant": str,
        "context": str,
        "backbone": str,
        "profile": str,
        "n_shortlist": int,
        "n_top": int,
        "top_mass": float,
        "n_steps": int,
        "demote_self": bool,
        "consistent": bool,
        "delta": (int, float),
        "k_max": int,
        "k_min": int,
        "epsilon_density": (int, float),
        "density": str,
        "list_size": str,
        "replacement": str,
    },
}


@dataclass(frozen=True)
class WireRules:
    """What an API request may hold beside text.

    Attributes:
        images: "refuse", or "pass": images, audio and files inside a message leave as they are.
        embeddings: "refuse" (noise breaks search without a sign), "identifiers" (only these are
            replaced), or "perturb".
        endpoints: paths that may be read (GET, without a body) beside the known ones, such as
            "/models".
    """

    images: str = "refuse"
    embeddings: str = "refuse"
    endpoints: tuple[str, ...] = ()


@dataclass(frozen=True)
class Policy:
    """Which words leave as they are and what goes to the vault, fixed ahead of the text.

    A word is public only if its lower-case form is listed AND it is written in lower case, or
    capitalized where a sentence begins, or is "I": "Will" inside a sentence may be a name, "US" a
    country.

    Attributes:
        name: for the record.
        public: lower-case words released as they are.
        sensitive: never public, whatever `public` says.
        patterns: a word that matches one in full is never public.
        refuse, refuse_patterns: content that makes `sanitize` raise PolicyError.
        perturb: whether private words are drawn anew. If not, every word is public but for
            identifiers and what is listed as sensitive, which goes to the vault: no differential
                privacy.
        identifiers: kinds that go to the vault. style: "placeholder", or "same-form" values.
        names: whether names of persons, places and organizations go to the vault too; None: if the
            model for it (extra "ner") is installed.
        numbers: "vault", "random" (of the same length), or "pass".
        wire: what an API request may hold beside text.
        mechanism: chosen by the policy file; None leaves it to the caller. options: its arguments
            as written.
    """

    name: str
    public: frozenset[str] = field(repr=False)
    sensitive: WordSet = field(default=WordSet(), repr=False)
    patterns: tuple[re.Pattern[str], ...] = ()
    refuse: WordSet = field(default=WordSet(), repr=False)
    refuse_patterns: tuple[re.Pattern[str], ...] = ()
    perturb: bool = True
    identifiers: frozenset[str] = frozenset(KINDS)
    style: str = "placeholder"
    names: bool | None = None
    numbers: str = "random"
    wire: WireRules = WireRules()
    mechanism: Cape | DynText | None = None
    options: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def preset(cls, name: str) -> Policy:
        """ "strict": public are the 179 stopwords. "balanced": also 3,000 frequent words.
        "identifiers": all.

        The 3,000 hold no word of the always-sensitive list, no numeral, and no word that is mostly
        capitalized inside sentences. Identifiers go to the vault under each preset (under
        "identifiers" without plain links and dates), names only under the last two, numbers under
        "balanced"; "strict" makes numbers random.

        Raises:
            ValueError: unknown name. ModelError: a word list is missing.
        """
        if name not in PRESETS:
            raise ValueError(
                f"policy must be one of {', '.join(PRESETS)}, or the path of a .toml file"
            )
        if name == "identifiers":
            return cls(
                name,
                frozenset(),
                perturb=False,
                identifiers=frozenset(KINDS) - UNCLEAR,
                numbers="pass",
            )
        public = frozenset(word_list("stopwords.txt"))
        if name == "strict":
            return cls(name, public, names=False)
        return cls(name, public | frozenset(word_list("public.txt")), numbers="vault")

    @classmethod
    def load(cls, policy: Policy | str | Path) -> Policy:
        """A policy as it is, a preset by name, or a TOML file by path."""
        if isinstance(policy, Policy):
            return policy
        if isinstance(policy, Path) or policy.endswith(".toml"):
            return cls.from_toml(Path(policy))
        return cls.preset(policy)

    @classmethod
    def from_toml(cls, path: Path) -> Policy:
        """Read a policy file (format: docs/policy.md).

        Raises:
            PolicyError: naming file, line and key.
        """
        return _TomlPolicy(path).policy()

    @cached_property
    def digest(self) -> str:
        """A hash of all settings: the same name may stand for other lists tomorrow."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        sets = {k: sorted(v) if isinstance(v, frozenset) else v for k, v in values.items()}
        words = {
            k: (sorted(v.exact), v.prefixes) if isinstance(v, WordSet) else v
            for k, v in sets.items()
        }
        return hashlib.sha256(
            repr(sorted(words.items())).encode("utf-8", "surrogatepass")
        ).hexdigest()

    @property
    def kinds(self) -> tuple[str, str]:
        """Kinds of the units that are words, and of those that are numbers."""
        return "word" if self.perturb else "TERM", "NUMBER" if self.numbers == "vault" else "number"

    @cached_property
    def all_public(self) -> bool:
        """Whether every word and number is public."""
        return not self.perturb and self.numbers == "pass" and not (self.sensitive or self.patterns)

    def is_public(self, word: str, opens_sentence: bool, doubtful: bool = False) -> bool:
        """Whether this word is released as it is.

        Args:
            opens_sentence: a sentence begins here. doubtful: or only seems to, after a private word
                and a full stop ("Mr. Young"): then a capitalized word passes only if it is a
                    stopword and no name.
        """
        if not self.perturb:
            return not self.is_sensitive(word) and (self.numbers == "pass" or not word.isdecimal())
        lowered = word.lower()
        if straight(lowered) not in self.public or lowered.isdecimal() or self.is_sensitive(word):
            return False
        if word in (lowered, "I"):
            return True
        known = not doubtful or (lowered in word_list("stopwords.txt") and lowered not in _NAMES)
        return opens_sentence and known and word == lowered.capitalize()

    def is_sensitive(self, word: str) -> bool:
        """Whether the word, or what its clitic leaves of it, is listed as sensitive or matches a
        pattern.
        """
        if not (self.sensitive or self.patterns):
            return False
        return any(
            f in self.sensitive or any(p.fullmatch(f) for p in self.patterns) for f in forms(word)
        )

    def check(self, text: str, words: Iterable[str]) -> None:
        """Refuse a text that holds refused words or patterns.

        Args:
            words: all words of the text, public ones too.

        Raises:
            PolicyError: without quoting the text.
        """
        listed = bool(self.refuse) and any(f in self.refuse for w in words for f in forms(w))
        if listed or any(p.search(text) for p in self.refuse_patterns):
            raise PolicyError(f"policy {self.name!r} refuses this text")


class _TomlPolicy:
    """One TOML file on its way to a Policy; every complaint names file, line and key."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self.source = path.read_text("utf-8")
            self.data = tomllib.loads(self.source)
        except OSError as error:
            raise PolicyError(f"{path}: cannot be read ({error.strerror})") from None
        except UnicodeDecodeError:
            raise PolicyError(f"{path}: is not UTF-8") from None
        except tomllib.TOMLDecodeError as error:
            raise PolicyError(f"{path}: {error}") from None
        self._check_keys()

    def policy(self) -> Policy:
        base = Policy.preset(self._base())
        words = frozenset(w.lower() for w in self._strings("public", "words"))
        found = self.data.get("identifiers", {})
        return replace(
            base,
            name=self.data.get("name", self.path.stem),
            public=base.public | words,
            sensitive=WordSet.of(self._strings("sensitive", "words")),
            patterns=self._patterns("sensitive"),
            refuse=WordSet.of(self._strings("refuse", "words")),
            refuse_patterns=self._patterns("refuse"),
            identifiers=self._kinds(base.identifiers),
            style=self._choice("identifiers", "style", base.style, STYLES),
            names=found.get("names", base.names),
            numbers=self._choice(
                "numbers", "to", base.numbers, NUMBERS[: 2 if base.perturb else 3]
            ),
            wire=self._wire(),
            mechanism=self._mechanism(),
            options={k: v for k, v in self.data.get("mechanism", {}).items() if k != "name"},
        )

    def _kinds(self, default: frozenset[str]) -> frozenset[str]:
        if "kinds" not in self.data.get("identifiers", {}):
            return default
        kinds = self._strings("identifiers", "kinds")
        for kind in kinds:
            if kind not in KINDS:
                raise self._error(
                    "identifiers", "kinds", f"must be among {', '.join(KINDS)}, got {kind!r}"
                )
        return frozenset(kinds)

    def _choice(self, table: str, key: str, default: str, known: tuple[str, ...]) -> str:
        value = str(self.data.get(table, {}).get(key, default))
        if value not in known:
            raise self._error(table, key, f"must be one of {', '.join(known)}, got {value!r}")
        return value

    def _wire(self) -> WireRules:
        plain = WireRules()
        return WireRules(
            images=self._choice("wire", "images", plain.images, ("refuse", "pass")),
            embeddings=self._choice(
                "wire", "embeddings", plain.embeddings, ("refuse", "identifiers", "perturb")
            ),
            endpoints=tuple(self._strings("wire", "endpoints")),
        )

    def _base(self) -> str:
        base = str(self.data.get("base", "balanced"))
        if base not in PRESETS:
            raise self._error("", "base", f"must be one of {', '.join(PRESETS)}, got {base!r}")
        return base

    def _check_keys(self) -> None:
        for key, value in self.data.items():
            if isinstance(value, dict) and key in _KEYS and key:
                for inner, found in value.items():
                    self._check_value(key, inner, found)
            else:
                self._check_value("", key, value)

    def _check_value(self, table: str, key: str, value: Any) -> None:
        expected = _KEYS[table].get(key)
        if expected is None:
            raise self._error(table, key, f"unknown key; known: {', '.join(_KEYS[table])}")
        if not isinstance(value, expected) or (isinstance(value, bool) and expected is not bool):
            kinds = expected if isinstance(expected, tuple) else (expected,)
            raise self._error(table, key, f"must be {' or '.join(k.__name__ for k in kinds)}")

    def _strings(self, table: str, key: str) -> list[str]:
        values = self.data.get(table, {}).get(key, [])
        if not all(isinstance(v, str) for v in values):
            raise self._error(table, key, "must be a list of strings")
        if key == "words":
            values = [straight(v.strip()) for v in values]
            for v in values:
                self._check_word(table, v)
        return list(values)

    def _check_word(self, table: str, entry: str) -> None:
        stem = entry if table == "public" else entry.removesuffix("*")
        if list(all_words(stem)) != [(0, len(stem))]:
            raise self._error(
                table, "words", "each entry must be one word; * only at the end, and not if public"
            )
        if table == "public" and stem.isdecimal():
            raise self._error(table, "words", "a number is never public")

    def _patterns(self, table: str) -> tuple[re.Pattern[str], ...]:
        try:
            return tuple(re.compile(p) for p in self._strings(table, "patterns"))
        except re.error as error:
            raise self._error(table, "patterns", f"not a regular expression: {error}") from None

    def _mechanism(self) -> Cape | DynText | None:
        options = dict(self.data.get("mechanism", {}))
        if not options:
            return None
        name = options.pop("name", "cape")
        if name not in _MECHANISMS:
            raise self._error(
                "mechanism", "name", f"must be one of {', '.join(_MECHANISMS)}, got {name!r}"
            )
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
        return PolicyError(f"{self.path}, line {self._line(table, key)}: {where}: {message}")

    def _line(self, table: str, key: str) -> int:
        current, wanted = "", re.compile(rf"\s*[\"']?{re.escape(key)}[\"']?\s*=")
        for number, line in enumerate(self.source.splitlines(), 1):
            if header := re.match(r"\s*\[+\s*[\"']?([\w-]+)", line):
                current = header.group(1)
                if not table and current == key:
                    return number
            elif current == table and wanted.match(line):
                return number
        return 1
