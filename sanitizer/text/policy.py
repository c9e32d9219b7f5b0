"""Policies: which words are public and what goes to the vault, by preset or TOML file.

Policy files are read by hand, from one table of all keys: a validation library would name neither
the line nor the key as the file spells it.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from sanitizer.errors import PolicyError
from sanitizer.identifiers import KINDS
from sanitizer.lm import Manifest, model_folder
from sanitizer.privacy import Cape, DynText
from sanitizer.storage import NATURAL
from sanitizer.text.prompt import Phrases
from sanitizer.text.words import without_clitic, word_spans


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


_COMMENT = re.compile("#.*")


@cache
def word_list(name: str, folder: str = "words") -> tuple[str, ...]:
    """Return the entries of a packaged word list, its hash checked; # begins a comment.

    Raises:
        ModelError: the list is missing or damaged.
    """
    path = model_folder(folder)
    Manifest.read(path).verify([name])
    lines = _COMMENT.sub("", (path / name).read_text("utf-8")).splitlines()
    return tuple(filter(None, map(str.strip, lines)))


def straight(word: str) -> str:
    """Return a word with typewriter apostrophes."""
    return word.replace("’", "'").replace("ʼ", "'")


def forms(word: str) -> set[str]:
    """Return the forms in which a list may name a word: as written, lower case, no clitic."""
    bases = (word, without_clitic(word))
    return {form for base in bases for form in (base, base.lower(), straight(base.lower()))}


PRESETS = ("identifiers", "deidentify", "balanced", "strict")
WORDS = "words"
"""Name of one more policy, for comparison: 3,000 frequent words are public, others are drawn."""
CLASSES = (
    *("PERSON", "ORGANIZATION", "PLACE", "PRODUCT", "ID", "MONEY", "DATE", "NUMBER"),
    *("CONDITION", "TREATMENT", "BELIEF", "ORIGIN", "SEXUALITY", "CRIME", "OCCUPATION", "FAMILY"),
    *("FACT", "TERM"),
)
"""Classes of what a detector finds. FACT: a word of a sensitive fact; TERM: a word on no list."""
DETECTORS = ("none", "local", "skeleton", "reading")
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
EMBEDDINGS = ("refuse", "identifiers", "perturb")
UNCLEAR = frozenset({"DATE", "LINK"})
"""Kinds that are often public: they stay under a policy that leaves other words as they are."""
_ENTITIES = ("PERSON", "ORGANIZATION", "PLACE", "PRODUCT", "ID", "MONEY", "DATE", "NUMBER")
_DEIDENTIFY = {
    **dict.fromkeys(CLASSES, "pass"),
    **dict.fromkeys(_ENTITIES, "vault"),
    "TERM": "capitals",
}
_BALANCED = {
    **_DEIDENTIFY,
    **dict.fromkeys(DRAWN, "draw"),
    # There are no 100 words of everyday language for sexuality; the others tell of a drawn thing.
    **dict.fromkeys(("SEXUALITY", "TREATMENT", "OCCUPATION", "FACT", "TERM"), "vault"),
}
_TREATED = {"identifiers": {}, "deidentify": _DEIDENTIFY, "balanced": _BALANCED}
_MECHANISMS: dict[str, type[Cape] | type[DynText]] = {"cape": Cape, "dyntext": DynText}
_NAMES = ("will", "don", "ma", "may")
"""Stopwords that are names when capitalized."""


@dataclass(frozen=True)
class WireRules:
    """What an API request may hold beside text.

    Attributes:
        images: "refuse", or "pass": images, audio and files inside a message leave as they are.
        embeddings: "refuse" (noise breaks a search without a sign of it), "identifiers" (only
            identifiers are replaced), or "perturb".
        endpoints: paths that may be read (GET, without a body) beside those the filter knows, such
            as "/models".
        links: "guard" (values inside links of an answer stay as they are, unless the link was
            sent: who renders a link sends it away), or "restore".
        tools: "restore" (arguments of calls are restored, since tools need them: an API that calls
            a tool which echoes them can compare), or "keep" (they stay as the API sent them).
        keep_tools: names of tools whose arguments stay, whatever `tools` says.
    """

    images: str = "refuse"
    embeddings: str = "refuse"
    endpoints: tuple[str, ...] = ()
    links: str = "guard"
    tools: str = "restore"
    keep_tools: tuple[str, ...] = ()

    def keeps(self, tool: str) -> bool:
        """Return True if arguments of a tool stay as the API sent them."""
        return self.tools == "keep" or tool in self.keep_tools


@dataclass(frozen=True)
class Policy:
    """Which words leave as they are and what goes to the vault, fixed ahead of the text.

    A word is public only if its lower-case form is listed AND it is written in lower case, or
    capitalized where a sentence begins, or is "I": "Will" inside a sentence may be a name, "US" a
    country.

    Attributes:
        name: name of the policy, for the record.
        public: lower-case words released as they are, and phrases of several words, as written.
        sensitive: words that are never public, whatever `public` says. Its phrases go to the vault.
        values: known words and phrases that go to the vault wherever they occur, without case.
        patterns: a word that matches one of these in full is never public. A pattern that takes
            longer than a second refuses the text.
        refuse: words that make `sanitize` raise PolicyError.
        refuse_patterns: patterns that make `sanitize` raise PolicyError.
        perturb: whether private words are drawn anew. If not, there is no differential privacy:
            identifiers and sensitive words go to the vault, and all other words are public.
        identifiers: kinds of identifiers that go to the vault.
        style: values released for identifiers: "placeholder" or "same-form".
        names: whether names of persons, places and organizations go to the vault too; None: if the
            model for it (extra "ner") is installed.
        numbers: where numbers go: "vault", "random" (of the same length), or "pass".
        wire: what an API request may hold beside text.
        mechanism: mechanism chosen by the policy file; None leaves it to the caller.
        options: arguments of the mechanism as written in the file.
        detector: what reads the text for `treatments`: "none", "local" (each hidden word by itself,
            in sight of public words), "skeleton" (public words only) or "reading" (the whole text;
            not certified).
        treatments: class -> one of TREATMENTS; a class that is missing passes.
        max_drawn: things of one conversation that are drawn at most; others get placeholders.
        natural: classes (of NATURAL) whose things get natural names, "Lena Okoro", instead of
            placeholders.
        hidden: phrases that go to the vault as `values` do, from memories of corrections.
        kept: phrases that leave where they are written like this, from the same.
        corrected: tells apart what memories said; takes the place of both in `digest`.
        roles: role of a speaker -> "public", "identifiers" or "treated" (see ROLES); a role that is
            missing is treated.

    Example:
        >>> policy = Policy.preset("strict")
        >>> policy.is_public("the", opens_sentence=False), policy.is_public("Will", False)
        (True, False)
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
    detector: str = "none"
    treatments: dict[str, str] = field(default_factory=dict)
    max_drawn: int = 3
    roles: dict[str, str] = field(default_factory=dict)
    values: frozenset[str] = field(default=frozenset(), repr=False)
    natural: frozenset[str] = frozenset()
    hidden: frozenset[str] = field(default=frozenset(), repr=False)
    kept: frozenset[str] = field(default=frozenset(), repr=False)
    corrected: str = ""

    @classmethod
    def preset(cls, name: str) -> Policy:
        """Return one of the packaged policies.

        "identifiers": identifiers go to the vault, as under each preset; all words are public.
        "deidentify": names of persons, firms, places and products, amounts, dates and other numbers
        of a person go to the vault too, and words on no list unless they are written in lower case;
        what is told of them stays. "balanced": illnesses, beliefs, origins and crimes are drawn
        within their class too; treatments, occupations, sexuality and all words on no list go to
        the vault. "strict": only the 179 stopwords are public; words are drawn one by one, and
        numbers are made random. "words", for comparison: as "strict", with 3,000 frequent words
        public, and numbers in the vault. The 3,000 hold no word of the always-sensitive list, no
        numeral, and no word that is mostly capitalized inside sentences.

        Raises:
            ValueError: unknown name.
            ModelError: a word list is missing.
        """
        if name not in (*PRESETS, WORDS):
            raise ValueError(
                f"policy must be one of {', '.join(PRESETS)}, or the path of a .toml file"
            )
        if name in _TREATED:
            return cls(
                name,
                frozenset(),
                perturb=False,
                identifiers=frozenset(KINDS) - (UNCLEAR if name != "balanced" else {"DATE"}),
                names=None if name == "identifiers" else False,
                numbers="pass",
                detector="none" if name == "identifiers" else "local",
                treatments=dict(_TREATED[name]),
            )
        public = frozenset(word_list("stopwords.txt"))
        if name == "strict":
            return cls(name, public, names=False)
        return cls(name, public | frozenset(word_list("public.txt")), numbers="vault")

    @classmethod
    def load(cls, policy: Policy | str | Path | Mapping[str, Any]) -> Policy:
        """Return a policy as it is, a preset by name, or the policy of a TOML file by path.

        A mapping holds what such a file does: see `from_dict`.

        Raises:
            ValueError: unknown name.
            TypeError: nothing of these.
            PolicyError: an unusable file or mapping.

        Example:
            >>> Policy.load("strict").numbers
            'random'
        """
        if isinstance(policy, Policy):
            return policy
        if isinstance(policy, Mapping):
            return cls.from_dict(policy)
        if not isinstance(policy, str | Path):
            raise TypeError(
                "policy must be a Policy, a name, the path of a .toml file or a dict, "
                f"got {type(policy).__name__}"
            )
        if isinstance(policy, Path) or policy.endswith(".toml"):
            return cls.from_toml(policy)
        return cls.preset(policy)

    @classmethod
    def from_toml(cls, path: str | Path) -> Policy:
        """Read a policy file (format: docs/policy.md).

        Raises:
            PolicyError: naming file, line and key.
        """
        return _PolicyFile.read(Path(path)).policy()

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Policy:
        """Return the policy that a file with these tables and keys would describe.

        Raises:
            PolicyError: naming the key.

        Example:
            >>> Policy.from_dict({"base": "strict", "mechanism": {"epsilon": 2}}).mechanism.epsilon
            2
        """
        return _PolicyFile(dict(values)).policy()

    def __repr__(self) -> str:
        return f"Policy({self.name!r})"

    @cached_property
    def digest(self) -> str:
        """Hash of all settings; the name does not tell which lists a file holds today."""
        # A hash of private phrases could be guessed at; what they are replaced by cannot.
        named = [f.name for f in fields(self) if f.name not in ("hidden", "kept")]
        values = {name: getattr(self, name) for name in named}
        sets = {k: sorted(v) if isinstance(v, frozenset) else v for k, v in values.items()}
        words = {
            k: (sorted(v.exact), v.prefixes, sorted(v.phrases)) if isinstance(v, WordSet) else v
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
        """True if every word and number is public."""
        listed = self.sensitive or self.patterns or self.detector != "none"
        return not self.perturb and self.numbers == "pass" and not listed

    @cached_property
    def drawn(self) -> frozenset[str]:
        """Classes of which stand-ins are drawn."""
        return frozenset(kind for kind, how in self.treatments.items() if how == "draw")

    @property
    def reads_models(self) -> bool:
        """True if a model reads the text: to draw words, or to find what is private."""
        return self.perturb or self.detector != "none"

    @cached_property
    def public_phrases(self) -> Phrases:
        """Finder of the phrases that are released as they are."""
        return _finder(
            self.kept | {phrase for phrase in self.public if not _is_word(phrase)}, False
        )

    @cached_property
    def terms(self) -> Phrases:
        """Finder of the phrases and values that go to the vault wherever they occur."""
        return _finder(self.sensitive.phrases | self.values | self.hidden, True)

    @property
    def lists_private(self) -> bool:
        """True if the policy lists words, patterns, phrases or values as private."""
        listed = self.sensitive.phrases or self.values or self.hidden
        return bool(self.sensitive or self.patterns or listed)

    def with_corrections(
        self, hidden: frozenset[str], kept: frozenset[str], corrected: str
    ) -> Policy:
        """Return a copy with these corrections in place of those that it had."""
        if (hidden, kept, corrected) == (self.hidden, self.kept, self.corrected):
            return self
        return replace(self, hidden=hidden, kept=kept, corrected=corrected)

    def identifiers_only(self) -> Policy:
        """Return a copy that replaces identifiers only, without dates, links, numbers and words.

        What the policy lists as sensitive goes to the vault under it too.
        """
        return replace(
            self,
            perturb=False,
            detector="none",
            treatments={},
            numbers="pass",
            identifiers=self.identifiers - UNCLEAR,
        )

    def hides(self, kind: str, text: str) -> bool:
        """Return True if a stretch of this class goes to the vault.

        Raises:
            PolicyError: the class is refused.
        """
        treatment = self.treatments.get(kind, "pass")
        if treatment == "refuse":
            raise PolicyError(f"policy {self.name!r} refuses texts with {kind}")
        if treatment == "capitals":
            return not (text.islower() and text.replace("-", "").replace("'", "").isalpha())
        return treatment in ("vault", "draw")

    def is_public(self, word: str, opens_sentence: bool, doubtful: bool = False) -> bool:
        """Return True if a word is released as it is.

        Args:
            opens_sentence: a sentence begins with the word, or seems to.
            doubtful: it may only seem to, after a private word and a full stop ("Mr. Young"): then
                a capitalized word passes only if it is a stopword and no name.
        """
        if not self.perturb:
            return not self.is_sensitive(word) and (self.numbers == "pass" or not word.isdecimal())
        lowered = word.lower()
        if straight(lowered) not in self.public or lowered.isdecimal() or self.is_sensitive(word):
            return False
        if word in (lowered, "I"):
            return True
        clear = not doubtful or (lowered in word_list("stopwords.txt") and lowered not in _NAMES)
        return opens_sentence and clear and word == lowered.capitalize()

    def is_sensitive(self, word: str) -> bool:
        """Return True if a word, with or without its clitic, is listed as sensitive."""
        if not (self.sensitive or self.patterns):
            return False
        return any(
            f in self.sensitive or self._matches("sensitive", self.patterns, f, whole=True)
            for f in forms(word)
        )

    def check(self, text: str, words: Iterable[str]) -> None:
        """Raise PolicyError if a text holds refused words or patterns.

        Args:
            words: all words of the text, public ones included.

        Raises:
            PolicyError: without quoting the text; also if a pattern takes too long.
        """
        listed = bool(self.refuse) and any(f in self.refuse for w in words for f in forms(w))
        if listed or self._matches("refuse", self.refuse_patterns, text, whole=False):
            raise PolicyError(f"policy {self.name!r} refuses this text")

    def _matches(
        self, table: str, patterns: Sequence[re.Pattern[str]], text: str, whole: bool
    ) -> bool:
        """Return True if a pattern matches a text.

        Raises:
            PolicyError: a pattern took longer than PATTERN_SECONDS, so what it says is not known.
        """
        for number, pattern in enumerate(patterns, 1):
            limited = _limited(pattern)
            find = limited.fullmatch if whole else limited.search
            try:
                if find(text, timeout=PATTERN_SECONDS):
                    return True
            except TimeoutError:
                raise PolicyError(
                    f"policy {self.name!r}: pattern {number} of [{table}] took longer than "
                    f"{PATTERN_SECONDS:g} s, so the text is refused; repetitions inside "
                    'repetitions, such as "(a+)+", take too long'
                ) from None
        return False


@lru_cache(maxsize=32)
def _finder(phrases: frozenset[str], private: bool) -> Phrases:
    """Return the finder of phrases; of many it takes a second to make."""
    return Phrases(phrases, private)


PATTERN_SECONDS = 1.0
"""Seconds that a pattern of a policy may take for a text or a word."""


@cache
def _limited(pattern: re.Pattern[str]) -> Any:
    """Return the pattern in a library whose searches end after a time, unlike those of `re`."""
    import regex

    return regex.compile(pattern.pattern, pattern.flags & ~re.UNICODE & ~re.DEBUG)


class _Bad(ValueError):
    """A value that cannot be used; the message says why."""


def _one_of(values: Iterable[str]) -> Callable[[Any], Any]:
    """Return a check that a value is one of these."""

    def check(value: Any) -> Any:
        if value not in values:
            raise _Bad(f"must be one of {', '.join(values)}, got {value!r}")
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
def _is_word(entry: str) -> bool:
    return list(word_spans(entry)) == [(0, len(entry))]


def _is_phrase(entry: str) -> bool:
    """Return True for several words, and for a word with other characters at its edges."""
    return "*" not in entry and any(word_spans(entry)) and not _is_word(entry)


def _words(values: list[Any]) -> list[str]:
    words = [straight(value.strip()) for value in _strings(values)]
    if not all(_is_word(word.removesuffix("*")) for word in words):
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
        if not (_is_word(entry) or _is_phrase(entry)):
            raise _Bad("each entry must be a word or a phrase, without *")
        if not any(c.isalpha() for c in entry):
            raise _Bad("a number is never public")
    return frozenset(entry.lower() if _is_word(entry) else entry for entry in entries)


def _count(value: int) -> int:
    if value < 0:
        raise _Bad(f"must be at least 0, got {value}")
    return value


def _known(values: list[Any]) -> frozenset[str]:
    if not all(any(word_spans(value)) for value in _strings(values)):
        raise _Bad("each entry must hold a letter or a digit")
    return frozenset(value.strip() for value in values)


def _patterns(values: list[Any]) -> tuple[re.Pattern[str], ...]:
    import regex

    try:
        patterns = tuple(re.compile(pattern) for pattern in _strings(values))
        for pattern in patterns:
            _limited(pattern)
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
    "": {"name": _Key(), "base": _Key(read=_one_of((*PRESETS, WORDS)))},
    "public": {"words": _Key(_LIST, _public, "public")},
    "sensitive": {
        "words": _Key(_LIST, _sensitive, "sensitive"),
        "values": _Key(_LIST, _known),
        "patterns": _Key(_LIST, _patterns, "patterns"),
    },
    "identifiers": {
        "kinds": _Key(_LIST, _kinds, "identifiers"),
        "style": _Key(read=_one_of(STYLES)),
        "names": _Key(_BOOL),
    },
    "numbers": {"to": _Key(attribute="numbers")},
    "detector": {"mode": _Key(read=_one_of(DETECTORS), attribute="detector")},
    "style": {name: _Key(read=_one_of(NAMES_AS)) for name in ("names", *NATURAL)},
    "conversation": {"max_drawn": _Key(_INT, _count)},
    "classes": {
        name: _Key(read=_one_of([how for how in TREATMENTS if name in DRAWN or how != "draw"]))
        for name in CLASSES
    },
    "roles": {name: _Key(read=_one_of(ROLES)) for name in ("system", "developer")},
    "wire": {
        "images": _Key(read=_one_of(IMAGES)),
        "embeddings": _Key(read=_one_of(EMBEDDINGS)),
        "endpoints": _Key(_LIST, _strings),
        "links": _Key(read=_one_of(LINKS)),
        "tools": _Key(read=_one_of(TOOLS)),
        "keep_tools": _Key(_LIST, _strings),
    },
    "refuse": {
        "words": _Key(_LIST, _word_set, "refuse"),
        "patterns": _Key(_LIST, _patterns, "refuse_patterns"),
    },
    "mechanism": {
        "name": _Key(read=_one_of(_MECHANISMS)),
        "epsilon": _Key(_NUMBER),
        **dict.fromkeys(("variant", "context", "backbone", "profile"), _Key()),
        **dict.fromkeys(("n_shortlist", "n_top"), _Key(_INT)),
        "top_mass": _Key((float,)),
        "guess_price": _Key(_NUMBER),
        "n_steps": _Key(_INT),
        **dict.fromkeys(("demote_self", "consistent"), _Key(_BOOL)),
        "delta": _Key(_NUMBER),
        **dict.fromkeys(("k_max", "k_min"), _Key(_INT)),
        "epsilon_density": _Key(_NUMBER),
        **dict.fromkeys(("density", "list_size", "replacement"), _Key()),
    },
}
"""Every key of a policy file by table; "" holds the keys outside all tables."""


class _PolicyFile:
    """One TOML file, or its content, that is read into a Policy; complaints name line and key."""

    def __init__(self, data: dict[str, Any], source: str = "", path: Path | None = None) -> None:
        self._data, self._source, self._path = data, source, path

    @classmethod
    def read(cls, path: Path) -> _PolicyFile:
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
        """Return the policy, or raise PolicyError."""
        tables = {table: self._table(table) for table in _KEYS}
        wire, mechanism = WireRules(**tables.pop("wire")), tables.pop("mechanism")
        classes, roles, styles = (tables.pop(name) for name in ("classes", "roles", "style"))
        of_all = styles.pop("names", "placeholder")
        natural = [kind for kind in NATURAL if styles.get(kind, of_all) == "natural"]
        set_here = {name: value for table in tables.values() for name, value in table.items()}
        base = Policy.preset(set_here.pop("base", "balanced"))
        if "numbers" in set_here:
            # Numbers may pass only where all words do.
            known = _one_of(NUMBERS[: 2 if base.perturb else 3])
            self._read("numbers", "to", known, set_here["numbers"])
        set_here["treatments"] = base.treatments | classes
        set_here["roles"] = roles
        set_here["natural"] = frozenset(natural)
        set_here["public"] = base.public | set_here.get("public", frozenset())
        return replace(
            base,
            **{"name": self._path.stem if self._path else "custom", **set_here},
            wire=wire,
            mechanism=self._mechanism(**mechanism) if mechanism else None,
            options={key: value for key, value in mechanism.items() if key != "name"},
        )

    def _table(self, table: str) -> dict[str, Any]:
        """Return attribute -> value of one table, every value checked."""
        found: dict[str, Any] = {}
        for key, value in (self._data.get(table, {}) if table else self._data).items():
            if not table and key and key in _KEYS and isinstance(value, dict):
                continue
            expected = _KEYS[table].get(key)
            if expected is None:
                raise self._error(table, key, f"unknown key; known: {', '.join(_KEYS[table])}")
            types = expected.types
            # In Python a bool is an int as well, but no policy file means it so.
            if not isinstance(value, types) or (isinstance(value, bool) and types != _BOOL):
                raise self._error(table, key, f"must be {' or '.join(t.__name__ for t in types)}")
            found[expected.attribute or key] = self._read(table, key, expected.read, value)
        return found

    def _read(self, table: str, key: str, read: Callable[[Any], Any], value: Any) -> Any:
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
