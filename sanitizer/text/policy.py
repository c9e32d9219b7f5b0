"""Policies: which words are public and what goes to the vault, by preset or TOML file."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import Any

from sanitizer.errors import PolicyError
from sanitizer.identifiers.rows import KINDS, Registry, Row, packaged
from sanitizer.identifiers.search import Identifier, find
from sanitizer.lm.files import Manifest, model_folder
from sanitizer.privacy.cape import Cape
from sanitizer.privacy.dyntext import DynText
from sanitizer.text.prompt import Phrases
from sanitizer.text.words import straight, without_clitic, word_spans

PRESETS = ("identifiers", "deidentify", "code", "balanced", "guarded", "strict")
"""Names of the packaged policies."""
WORDS = "words"
"""Name of one more policy, for comparison: 3,000 frequent words are public, others are drawn."""
CLASSES = (
    *("PERSON", "ORGANIZATION", "PLACE", "PRODUCT", "ID", "MONEY", "DATE", "NUMBER"),
    *("CONDITION", "TREATMENT", "BELIEF", "ORIGIN", "SEXUALITY", "CRIME", "OCCUPATION", "FAMILY"),
    *("FACT", "TERM"),
)
"""Classes of what a detector finds. FACT: told in everyday words; TERM: a word on no list."""
UNLESS = " unless needed"
"""End of a treatment: what the request needs leaves as it is, of ELIGIBLE classes only."""
ELIGIBLE = frozenset(CLASSES) - set("PERSON ORGANIZATION PRODUCT ID FACT TERM".split())
"""Classes of what a request may need."""
TREATMENTS = ("pass", "vault", "draw", "capitals", "refuse", "vault" + UNLESS, "draw" + UNLESS)
"""What happens to a class. "draw": its stand-in is drawn within the class, of DRAWN only.
"capitals": goes to the vault if it is not written in lower case."""
DRAWN: tuple[str, ...] = ("CONDITION", "BELIEF", "ORIGIN", "CRIME")
"""Classes with a list of at least 100 members, from which a stand-in can be drawn."""
UNCLEAR = frozenset({"DATE", "LINK"})
"""Kinds that are often public: they stay under a policy that leaves other words as they are."""
PATTERN_SECONDS = 1.0
"""Seconds that a pattern of a policy may take for a text or a word."""

_DEIDENTIFY = {
    **dict.fromkeys(CLASSES, "pass"),
    **dict.fromkeys(CLASSES[: CLASSES.index("CONDITION")], "vault"),
    "TERM": "capitals",
}
_GUARDED = {
    **_DEIDENTIFY,
    **dict.fromkeys(DRAWN, "draw"),
    # There are no 100 words of everyday language for sexuality; the others tell of a drawn thing.
    **dict.fromkeys(("SEXUALITY", "TREATMENT", "OCCUPATION", "FAMILY", "TERM"), "vault"),
}
_GUESSED = frozenset(["card-broken", "customer-numbered", "email-spoken"])
"""Kinds that prose has, and code by chance: rows of numbers, "client>=0.20", "at x dot com"."""
_IN_ROWS = {kind: "vault" if how == "draw" else how for kind, how in _GUARDED.items()}
"""Inside rows of data under "code". Nothing is drawn: the row is written back."""
_SURE = {
    **dict.fromkeys(("PERSON", "ORGANIZATION", "PRODUCT"), 0.9),
    **dict.fromkeys("PLACE MONEY CONDITION TREATMENT BELIEF ORIGIN SEXUALITY CRIME".split(), 0.95),
    **dict.fromkeys(("ID", "OCCUPATION", "FAMILY"), 0.95),
}
"""Least shares outside of rows under "code", where other classes pass: precision comes first."""
_SUREST = 0.995
"""The same in what programs say to an API: there nearly all capitals are names of their own."""
_TREATED = {
    "identifiers": {},
    "code": dict.fromkeys(_SURE, "vault"),
    "deidentify": _DEIDENTIFY | dict.fromkeys(("MONEY", "NUMBER"), "vault" + UNLESS),
    "balanced": {
        kind: how if how == "pass" else "vault" + UNLESS * (kind in ELIGIBLE)
        for kind, how in _GUARDED.items()
    },
    "guarded": _GUARDED,
}
_ALIASES = {"preset": "base", "policy": "base", "extends": "base", "inherits": "base"}
"""What other programs and our own help call a key."""
_NAMES = ("will", "don", "ma", "may")
"""Stopwords that are names when capitalized."""


@cache
def word_list(name: str, folder: str = "words") -> tuple[str, ...]:
    """Return the entries of a packaged list, without # comments; raise ModelError if damaged."""
    path = model_folder(folder)
    Manifest.read(path).verify([name])
    lines = (
        line.partition("#")[0].strip() for line in (path / name).read_text("utf-8").splitlines()
    )
    return tuple(filter(None, lines))


@dataclass(frozen=True)
class WordSet:
    """Words and prefixes, compared without case. In a list, "cancer*" is a prefix.

    Attributes:
        exact, prefixes: in lower case.
        phrases: entries of several words, as written; no word is "in" the set for them.

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
        formulas: whether answers may say in formulas how to calculate with hidden values; requests
            tell the API so, and what it writes is computed when the answer is restored. "auto":
            where amounts, dates or quantities are hidden by a detector; True: in every request.
        ask: what becomes of what a request needs, where the policy lets it leave: "leave", "warn"
            (it leaves, with a hint), "hide", or "refuse" (PolicyError says what to decide).
        note: the first text of a user in which something is hidden ends with a note on what
            placeholders are, and how a part of one is written.
        notes: where an application is told what the API was told in place of what was drawn:
            "beside" the answer, or as its last line too ("text"), which is never sent back.
    """

    images: str = "refuse"
    embeddings: str = "refuse"
    endpoints: tuple[str, ...] = ()
    links: str = "guard"
    tools: str = "restore"
    keep_tools: tuple[str, ...] = ()
    formulas: bool | str = False
    ask: str = "warn"
    note: bool = False
    notes: str = "beside"

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
        public: lower-case words released as they are, and phrases of several words, as written.
        sensitive: words that are never public, whatever `public` says. Its phrases go to the vault.
        values: known words and phrases that go to the vault wherever they occur, without case.
        patterns: a word that matches one of these in full is never public. A pattern that takes
            longer than a second refuses the text.
        refuse: words that make `sanitize` raise PolicyError.
        refuse_patterns: patterns that make `sanitize` raise PolicyError.
        perturb: whether private words are drawn anew. If not, there is no differential privacy:
            identifiers and sensitive words go to the vault, and all other words are public.
        identifiers: classes of identifiers that go to the vault.
        kinds_off: names of kinds (see `sanitizer kinds`) that are not searched for.
        own_kinds: kinds beside those of the package.
        style: values released for identifiers: "placeholder" or "same-form".
        numbers: where numbers go: "vault", "random" (of the same length), or "pass".
        wire: what an API request may hold beside text.
        mechanism: mechanism chosen by the policy file; None leaves it to the caller.
        options: arguments of the mechanism as written in the file.
        detector: what reads the text for `treatments`: "none", or "local": each hidden run by
            itself, in sight of visible words.
        thresholds: class -> least share from which the detector takes a word for private; the
            model's own for those that are missing.
        rows: class -> treatment inside rows of data that tell of somebody. If there are any,
            margins of lines are layout, and encoded stretches are decoded and read.
        sure: class -> least share from which what the detector found is hidden outside of rows.
        refuse_unlisted: texts in a language without a list of words make `sanitize` raise.
        treatments: class -> one of TREATMENTS; a class that is missing passes.
        max_drawn: things of one conversation that are drawn at most; others get placeholders.
        leave_at_most: places, origins, beliefs, occupations and the like of one conversation that
            leave because a request needs them; together they name a person.
        natural: classes (of NATURAL) whose things get natural names, "Lena Okoro", instead of
            placeholders.
        hidden: phrases that go to the vault as `values` do, from memories of corrections.
        kept: phrases that leave where they are written like this, from the same.
        corrected: tells apart what memories said; takes the place of both in `digest`.
        roles: role of a speaker -> "public", "identifiers", "names" (with people and firms) or
            "treated"; a role that is missing is treated.

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
    kinds_off: frozenset[str] = frozenset()
    own_kinds: tuple[Row, ...] = ()
    style: str = "placeholder"
    numbers: str = "random"
    wire: WireRules = WireRules()
    mechanism: Cape | DynText | None = None
    options: dict[str, Any] = field(default_factory=dict)
    detector: str = "none"
    treatments: dict[str, str] = field(default_factory=dict)
    thresholds: dict[str, float] = field(default_factory=dict)
    rows: dict[str, str] = field(default_factory=dict)
    sure: dict[str, float] = field(default_factory=dict)
    refuse_unlisted: bool = False
    max_drawn: int = 3
    leave_at_most: int = 2
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
        "deidentify": names of persons, firms, places and products and dates go to the vault too,
        sums and numbers unless the request needs them, and words on no list unless they are written
        in lower case; what is told of them stays. "code": names of persons, firms and internal
        things and numbers of customers go to the vault where they are sure to be some, and inside
        rows of data all that "guarded" hides; in texts of the system names of persons and firms
        alone. "balanced": illnesses, treatments, beliefs,
        origins, crimes, occupations, sexuality, family status and all words on no list go there
        too; of places, dates, sums and what is told stays what is needed. "guarded": nothing
        stays for being needed, and illnesses, beliefs, origins and crimes are drawn within their
        class. "strict": only the 179 stopwords are public; words are drawn one by one, and numbers
        are made random. "words", for comparison: as "strict", with 3,000 frequent words public, and
        numbers in the vault. The 3,000 hold no word of the always-sensitive list, no numeral, and
        no word that is mostly capitalized inside sentences.

        Raises:
            ValueError: unknown name.
            ModelError: a word list is missing.
        """
        if name not in (*PRESETS, WORDS):
            raise ValueError(
                f"policy must be one of {', '.join(PRESETS)}, or the path of a .toml file"
                + meant(name, (*PRESETS, WORDS))
            )
        if name in _TREATED:
            return cls(
                name,
                frozenset(),
                perturb=False,
                identifiers=frozenset(KINDS)
                - (UNCLEAR if name not in ("balanced", "guarded") else {"DATE"}),
                numbers="pass",
                detector="none" if name == "identifiers" else "local",
                treatments=dict(_TREATED[name]),
                kinds_off=_GUESSED if name == "code" else frozenset(),
                rows=dict(_IN_ROWS) if name == "code" else {},
                sure=dict(_SURE) if name == "code" else {},
                roles=dict.fromkeys(("system", "developer"), "names") if name == "code" else {},
                wire=WireRules(
                    formulas="auto" if name == "guarded" else False, note=name != "identifiers"
                ),
            )
        public = frozenset(word_list("stopwords.txt"))
        if name == "strict":
            return cls(name, public)
        return cls(name, public | frozenset(word_list("public.txt")), numbers="vault")

    @classmethod
    def load(cls, policy: Policy | str | Path | Mapping[str, Any]) -> Policy:
        """Return a policy as it is, a preset by name, or the policy of a TOML file by path.

        A mapping holds what such a file does: see `from_dict`.

        Raises:
            ValueError: unknown name.
            TypeError: nothing of these.
            PolicyError: an unusable file or mapping.

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
        """Read a policy file (docs/policy.md); raise PolicyError, naming file, line and key."""
        from sanitizer.text.policy_file import PolicyFile

        return PolicyFile.read(Path(path)).policy()

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Policy:
        """Return the policy that a file with these tables and keys would describe.

        Raises:
            PolicyError: naming the key.

        >>> Policy.from_dict({"base": "strict", "mechanism": {"epsilon": 2}}).mechanism.epsilon
        2
        """
        from sanitizer.text.policy_file import PolicyFile

        return PolicyFile(dict(values)).policy()

    def __repr__(self) -> str:
        return f"Policy({self.name!r})"

    @cached_property
    def digest(self) -> str:
        """Hash of all settings; the name does not tell which lists a file holds today."""

        def plain(value: Any) -> Any:
            if isinstance(value, WordSet):
                return sorted(value.exact), value.prefixes, sorted(value.phrases)
            return sorted(value) if isinstance(value, frozenset) else value

        # A hash of private phrases could be guessed at; what they are replaced by cannot.
        names = sorted(f.name for f in fields(self) if f.name not in ("hidden", "kept"))
        settings = repr([(name, plain(getattr(self, name))) for name in names])
        return hashlib.sha256(settings.encode("utf-8", "surrogatepass")).hexdigest()

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
        return frozenset(kind for kind, how in self.treatments.items() if how.startswith("draw"))

    @cached_property
    def listed(self) -> frozenset[str]:
        """Classes with a list that are hidden: the names of one member are one thing."""
        hiding = ("vault", "draw")
        return frozenset(k for k in DRAWN if self.treatments.get(k, "").startswith(hiding))

    @cached_property
    def left(self) -> frozenset[str]:
        """Classes of which leaves what a request needs."""
        if self.wire.ask == "hide":
            return frozenset()
        return frozenset(k for k, how in self.treatments.items() if how.endswith(UNLESS))

    @property
    def reads_models(self) -> bool:
        """True if a model reads the text: to draw words, or to find what is private."""
        return self.perturb or self.detector != "none"

    @cached_property
    def public_phrases(self) -> Phrases:
        """Finder of the phrases that are released as they are."""
        return _finder(self.kept | {phrase for phrase in self.public if not is_word(phrase)}, False)

    @cached_property
    def terms(self) -> Phrases:
        """Finder of the phrases and values that go to the vault wherever they occur."""
        return _finder(self.sensitive.phrases | self.values | self.hidden, True)

    @cached_property
    def lists_words(self) -> bool:
        """True if the policy lists words or patterns as private."""
        return bool(self.sensitive or self.patterns)

    @property
    def refuses(self) -> bool:
        """True if the policy lists words or patterns that refuse a text."""
        return bool(self.refuse or self.refuse_patterns)

    @property
    def lists_private(self) -> bool:
        """True if the policy lists words, patterns, phrases or values as private."""
        listed = self.sensitive.phrases or self.values or self.hidden
        return self.lists_words or bool(listed)

    def with_corrections(
        self, hidden: frozenset[str], kept: frozenset[str], corrected: str
    ) -> Policy:
        """Return a copy with these corrections in place of those that it had."""
        if (hidden, kept, corrected) == (self.hidden, self.kept, self.corrected):
            return self
        return replace(self, hidden=hidden, kept=kept, corrected=corrected)

    @cached_property
    def registry(self) -> Registry:
        """The kinds of identifiers that are searched for."""
        if not (self.kinds_off or self.own_kinds):
            return packaged()
        return packaged().having(self.own_kinds, self.kinds_off)

    def find_identifiers(self, text: str) -> list[Identifier]:
        """Return the identifiers of a text that go to the vault, ascending, apart from each other.

        >>> [each.kind for each in Policy.preset("balanced").find_identifiers("Mail a@x.org")]
        ['EMAIL']
        """
        return find(text, self.identifiers, self.registry)

    def identifiers_only(self) -> Policy:
        """Return a copy that replaces identifiers only, without dates, links, numbers and words.

        What the policy lists as sensitive goes to the vault under it too.
        """
        return replace(
            self,
            perturb=False,
            detector="none",
            treatments={},
            rows={},
            numbers="pass",
            identifiers=self.identifiers - UNCLEAR,
        )

    def names_only(self) -> Policy:
        """Return a copy that replaces identifiers and sure names of persons and firms only."""
        named = dict.fromkeys(("PERSON", "ORGANIZATION"), "vault")
        sure = dict.fromkeys(named, _SUREST)
        return replace(self, treatments=named, rows={}, roles={}, sure=sure)

    def leaving_nothing(self) -> Policy:
        """Return a copy under which nothing leaves because a request needs it."""
        return replace(self, wire=replace(self.wire, ask="hide"))

    def hides(self, kind: str, text: str, share: float = 1.0, in_row: bool = False) -> bool:
        """Return True if a stretch of this class goes to the vault.

        Args:
            share: `Finding.usual`. in_row: it stands in a row of data.

        Raises:
            PolicyError: the class is refused.
        """
        if not in_row and share < self.sure.get(kind, 0.0):
            return False
        treatment = (self.rows if in_row else self.treatments).get(kind, "pass")
        if treatment == "refuse":
            raise PolicyError(f"policy {self.name!r} refuses texts with {kind}")
        if treatment == "capitals":
            return not (text.islower() and text.replace("-", "").replace("'", "").isalpha())
        return treatment.removesuffix(UNLESS) in ("vault", "draw")

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
        plain = lowered if lowered.isascii() else straight(lowered)
        if plain not in self.public or lowered.isdecimal():
            return False
        if self.lists_words and self.is_sensitive(word):
            return False
        if word in (lowered, "I"):
            return True
        clear = not doubtful or (lowered in word_list("stopwords.txt") and lowered not in _NAMES)
        return opens_sentence and clear and word == lowered.capitalize()

    def is_sensitive(self, word: str) -> bool:
        """Return True if a word, with or without its clitic, is listed as sensitive."""
        return self.lists_words and any(
            f in self.sensitive or self._matches("sensitive", self.patterns, f, whole=True)
            for f in _forms(word)
        )

    def check(self, text: str, words: Iterable[str]) -> None:
        """Raise PolicyError if a text holds refused words or patterns.

        Args:
            words: all words of the text, public ones included.

        Raises:
            PolicyError: without quoting the text; also if a pattern takes too long.
        """
        listed = bool(self.refuse) and any(f in self.refuse for w in words for f in _forms(w))
        if listed or self._matches("refuse", self.refuse_patterns, text, whole=False):
            raise PolicyError(f"policy {self.name!r} refuses this text")

    def _matches(
        self, table: str, patterns: Sequence[re.Pattern[str]], text: str, whole: bool
    ) -> bool:
        """Return True if a pattern matches; raise PolicyError after PATTERN_SECONDS."""
        for number, pattern in enumerate(patterns, 1):
            bounded = timed(pattern)
            find = bounded.fullmatch if whole else bounded.search
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


@cache
def timed(pattern: re.Pattern[str]) -> Any:
    """Return the pattern in a library whose searches end after a time, unlike those of `re`."""
    import regex

    return regex.compile(pattern.pattern, pattern.flags & ~re.UNICODE & ~re.DEBUG)


def _forms(word: str) -> set[str]:
    """Return the forms in which a list may name a word: as written, lower case, no clitic."""
    bases = (word, without_clitic(word))
    return {form for base in bases for form in (base, base.lower(), straight(base.lower()))}


@cache
def is_word(entry: str) -> bool:
    """Return True if an entry is one word and nothing else."""
    return list(word_spans(entry)) == [(0, len(entry))]


def is_phrase(entry: str) -> bool:
    """Return True for several words, and for a word with other characters at its edges."""
    return "*" not in entry and any(word_spans(entry)) and not is_word(entry)


def meant(name: str, known: Collection[str]) -> str:
    """Return a question after the name that was probably meant, or "" if none is known.

    >>> meant("balancd", PRESETS)
    '; did you mean balanced?'
    """
    near = get_close_matches(name, known, 1, 0.6)
    near = near or [own for own in known if _ALIASES.get(name.lower()) == own]
    return f"; did you mean {near[0]}?" if near else ""
