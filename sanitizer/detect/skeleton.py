"""What every reader of a text sees: public words and layout, with one slot for each hidden run.

Guarantee: whether a word is visible depends on its written form, on fixed lists, and on what is
visible before it. A run that is replaced by another of the same kind that is not visible either
changes nothing else: no other word, run or kind (docs/guarantees.md, "Local reading").
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import pairwise

from sanitizer.lm import model_folder
from sanitizer.text import (
    NATIVE_ANYWHERE,
    UNREAD,
    UNREAD_ANYWHERE,
    Unit,
    language_lists,
    overlapping,
    stretches,
    without_clitic,
    word_list,
)

NUMBER = "number"
"""Kind of a run of decimal digits, public as such."""
NUMERAL = "numeral"
"""Kind of a run of words such as "fifteen", public as such."""
NUMBERS = frozenset([NUMBER, NUMERAL])
WORD = "word"
"""Kind of every other run that is not an identifier."""

SLOT = "\ufffc"
"""What a hidden run is shown as in visible text."""
PERSON_SLOT, POST_SLOT = "\ue000", "\ue001"
"""What the name of a person and an occupation are shown as, where it matters what is hidden."""
CAPITALS = frozenset(["US", "IT", "WHO", "AM", "ME", "OK", "IN", "OR", "MA", "PA", "MS", "CF"])
"""Capitals that may be a country, a firm, an illness or a body, though the word is public."""
_SPELLED = frozenset(
    "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety "
    "hundred hundreds thousand thousands dozen fourth fifth sixth seventh eighth "
    "ninth tenth eleventh twelfth thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth "
    "nineteenth twentieth thirtieth".split()
)
"""Words that say how many, how old or when: never visible, judged as digits are. "One", "first",
"second" and "third" are everyday words."""
_IN_RUN = frozenset(
    [" ", "-", "'", "\N{RIGHT SINGLE QUOTATION MARK}", "&", " & ", "/", "_", "\u2010", "\u2011"]
)
_IN_NUMBER = frozenset([".", ",", ":", "/", "-", "\u2013"])
_IN_GROUPS = frozenset([" ", "\u00a0", "\u202f", "\u2009"])
_GROUP = 3
"""Digits of a group, as in "480 000", and at most of the group before it."""
_LAST = re.compile(r"[0-9]+(?:k|K|m|M|mn|bn|b|B|x|[aApP][mM])")
"""End of a number such as "4.1m"."""
_MONTHS = "Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec"
_STAMP = {
    "-": re.compile(rf"[0-3][0-9]T[0-2][0-9]|{_MONTHS}|{_MONTHS.upper()}|{_MONTHS.lower()}"),
    ":": re.compile("[0-5][0-9](?:Z|[aApP][mM])"),
    "/": re.compile(_MONTHS),
}
"""Parts of a time stamp such as "2025-11-02T03:14:07Z", "14/Oct/2024:03:11:52" and "11-Mar-25", by
what is before them."""
_SENTENCE_END = re.compile(r"[.!?\u2026:;|\u2022>\n\u3002\uff01\uff1f]")
_AFTER_MARKER = re.compile(r"[.):]\s")
_INITIAL_END = re.compile(r"\.[ \u00a0]?")
_CAMEL = re.compile(r"[A-Z]+(?![a-z])|[A-Z][a-z]+|[a-z]+")

_REPORTS = frozenset(
    "Access Bad Cannot Failed Illegal Invalid Missing No Not Out Too Unable Unexpected Unhandled "
    "Unknown Unsupported".split()
)
_LEAST_PARTS = 4
"""First words of what a program reports, "FailedScheduling", and how many words no product has."""
_OF_CODE = frozenset(
    "Action Activity Adapter Address Api App Array Authentication Bean Block Body Builder Button "
    "Cache Callback Cell Check Class Client Code Collection Column Command Component Config "
    "Connection Context Control Controller Count Data Date Dto Element Entity Enum Error Event "
    "Exception Factory Field File Filter Folder Form Format Fragment Frame Function Group Handler "
    "Header Helper Hook Host Id Impl Index Info Input Interface Item Job Key Label Layout Length "
    "Level Line List Listener Loader Log Login Loop Manager Map Matrix Message Method Mode Model "
    "Module Name Node Not Null Number Object Offset Option Options Order Output Package Page Panel "
    "Parser Password Path Pipeline Plugin Point Policy Pool Process Processor Provider Query "
    "Queue Reader Record Ref Registry Repository Request Resource Response Result Role Root Route "
    "Router Row Rule Runner Schema Scope Script Selector Serializer Server Service Session Set "
    "Setting Settings Size Sort Source Spec State Status Store Stream String Style Table Tag Task "
    "Template Test Tests Text Thread Time Timeout Token Tree Type Types Unit Url User Users Util "
    "Utils Validator Value Values Vector Version View Warning Widget Window Worker Writer".split()
)
"""Last words of names in programs that begin with a capital."""


_SHORT_FORMS = frozenset(
    "auth oauth grafana mongodb eslint venv systemd ssh cli gui webhook webhooks utils "
    "oz lb lbs tbsp tbsps tsp tsps ml cl dl mm cm km kg mcg iu kw kwh kcal kj mph psi rpm ft yd "
    "sq".split()
)
"""Units and words of programmers as they are written in lower case; none is a name."""


@dataclass(frozen=True, slots=True)
class Run:
    """A stretch of hidden words: one slot to every reader but its own.

    Attributes:
        start, end: character offsets in the text. words: offsets of its words.
        kind: WORD, NUMBER, NUMERAL, or, in capitals, the kind of an identifier.
    """

    start: int
    end: int
    words: tuple[tuple[int, int], ...]
    kind: str

    @property
    def is_number(self) -> bool:
        """Whether it is one in digits or in words."""
        return self.kind in NUMBERS


@dataclass(frozen=True)
class PublicForms:
    """The fixed lists that decide which written forms are visible.

    Attributes:
        anywhere: lower-case words that are visible in every case form, and single forms in mixed
            case such as "JavaScript".
        opening: visible in lower case, in capitals from four letters on, and capitalized where a
            sentence or line opens.
        lower: visible in lower case only: capitalized, they may be names.
        judged: never visible, but known: released where they are found to be everyday words.
        ordinary: as `judged`: words of dictionaries and programs that nobody looked through.
        native: language -> its everyday words that are given names elsewhere: visible in lower case
            in texts of this language only.
    """

    anywhere: frozenset[str]
    opening: frozenset[str]
    lower: frozenset[str]
    judged: frozenset[str]
    ordinary: frozenset[str] = frozenset()
    native: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def of(self, language: str) -> PublicForms:
        """Return the lists for texts of a language, which follows from visible words alone."""
        names = self.native.get(language)
        return replace(self, lower=self.lower | names) if names else self

    def visible(self, word: str, opens: bool) -> bool:
        """Return True if this written form is visible.

        Args:
            opens: a sentence, line or list item opens with it, judged from visible text.
        """
        plain = _plain(word)
        if plain in _SPELLED or word in _SHORT_FORMS:
            return word in _SHORT_FORMS
        if plain in self.anywhere or word in self.anywhere:
            return word not in CAPITALS
        if len(word) == 1:
            return word in _LONE_WORDS or (word.islower() and word.isascii())
        rest = unelided(word)
        if rest != word and rest.islower() and self.visible(rest, False):
            return opens or word[0].islower()
        if plain in self.opening or plain in self.lower:
            shown = opens or (word.isupper() and len(word) > 3)
            return word.islower() or (shown and plain in self.opening)
        several = len(word) > 3 and word.endswith("s") and word[:-1].isupper()
        return self.visible(word[:-1], opens) if several else self._camel(word)

    def _camel(self, word: str) -> bool:
        """Return True for names of code such as "fileName" if each of their words is public.

        "ParkWell" may be a product: a capital first needs an end such as "Error".
        """
        parts = self._parts(word)
        return bool(parts) and (
            parts[0].islower()
            or parts[-1] in _OF_CODE
            or parts[0] in _REPORTS
            or len(parts) >= _LEAST_PARTS
        )

    def _parts(self, word: str) -> list[str]:
        """Return the words of a name such as "fileName" if all of them are public, else none."""
        if word.islower() or word.isupper() or not word.isascii() or word[1:].islower():
            return []
        parts: list[str] = _CAMEL.findall(word)
        known = "".join(parts) == word and all(self.known_public(part) for part in parts)
        return parts if known else []

    def compound(self, word: str) -> bool:
        """Return True for a name such as "fileName" or "ParkWell" of public words."""
        return bool(self._parts(word))

    def known_public(self, word: str) -> bool:
        """Return True if the word is public in lower case."""
        plain = _plain(word)
        return plain in self.anywhere or plain in self.opening or plain in self.lower

    def listed(self, word: str) -> bool:
        """Return True if the word is on a list that was looked through, in any case form."""
        return self.known_public(word) or _plain(word) in self.judged

    def known(self, word: str) -> bool:
        """Return True if the word is on any list, in whatever case form it is written."""
        if self.listed(word) or _plain(word) in self.ordinary or self.compound(word):
            return True
        return self.coined(word) or (
            word.islower() and any(self._of_dictionary(stem) for stem in _stems(word))
        )

    def coined(self, word: str) -> bool:
        """Return True for a word in lower case that two public ones make, or one with a prefix.

        Example:
            >>> none: frozenset[str] = frozenset()
            >>> forms = PublicForms(none, frozenset(["phone", "smart"]), none, none)
            >>> forms.coined("smartphones"), forms.coined("kowalphone")
            (True, False)
        """
        if not word.islower() or not word.isascii() or self._of_dictionary(word):
            return False
        singular = word.removesuffix("s")
        return any(
            (word[:at] in _PREFIXES or self._is_part(word[:at]))
            and (self._is_part(word[at:]) or self._is_part(singular[at:]))
            for at in range(_LEAST_COINED, len(word) - _LEAST_COINED)
        )

    def _is_part(self, word: str) -> bool:
        return word in self.opening or word in self.anywhere

    def _of_dictionary(self, word: str) -> bool:
        return word in self.ordinary or self.listed(word)


_ENDINGS = tuple(
    tuple(each.split(":"))
    for each in (
        "ies:y s: ally:al ily:y edly:ed ingly:ing ively:ive ously:ous fully:ful iness:y ness: "
        "isation:ization isations:ization ising:izing ised:ized ise:ize less: wise:"
    ).split()
)
"""Endings of words, and what they end with instead in the word that these are derived from."""
_LONE_WORDS = frozenset("\u00e0\u00c0")
_ELIDED = re.compile(r"(?i)(?:[cdjlmnst]|qu|jusqu|lorsqu|puisqu)['\u2019](?=[^\W\d_]{2})")
"""A French word of one letter, and what is before a vowel: "l'assureur"."""
_CONJUGATED = re.compile(
    r"(?P<er>\w{3,}?)(?:\u00e9e?s?|on[s]|ez|ent|ais|ait|aient|ant|er(?:a|ai|as|on[s]|ez|ont|ais|ait|aient))$|"
    r"(?P<ir>\w{3,}?)(?:ie?s?|it|iss(?:on[s]|ez|ent|ais|ait|aient|ant)|ir(?:a|ai|as|on[s]|ez|ont))$"
)
"""A French verb as it is conjugated."""
_LEAST_STEM = 5


def unelided(word: str) -> str:
    """Return a French word without what is elided before it.

    Example:
        >>> unelided("l'assureur"), unelided("aujourd'hui")
        ('assureur', "aujourd'hui")
    """
    elided = _ELIDED.match(word)
    return word[elided.end() :] if elided else word


_IN_SPANISH = re.compile(
    r"(\w{3,}?)(?:amos|emos|imos|aron|ieron|ando|iendo|aban?|\u00e1bamos|\u00eda[ns]?|\u00edamos|ado|ido|"
    r"(?:ar|er|ir)(?:\u00e9|\u00e1n?|emos|\u00edan?|\u00edamos|l[aeo]s?|me|nos|se)|"
    r"(?<=\w{4})(?:[aeo]n?|\u00f3|\u00e9))$"
)
"""A Spanish verb as it is conjugated."""
_ENCLITIC = re.compile(
    r"(\w{2,}?)([\u00e1\u00e9\u00ed])(\w{1,4}?)(?:[ae]?)(?:me|nos|te|se)(?:l[aeo]s?)?$"
)
_PLAIN_VOWELS = str.maketrans("\u00e1\u00e9\u00ed", "aei")
"""A Spanish verb with pronouns behind it, and its vowels without their accents."""


def is_spanish_verb(word: str) -> bool:
    """Return True for a form of a Spanish verb on the list of frequent words, in lower case.

    Raises:
        ModelError: a list is missing or damaged.
    """
    words = foreign_words("es")
    form = _IN_SPANISH.match(word)
    stems = [form[1]] if form else []
    if asked := _ENCLITIC.match(word):
        stems.append(f"{asked[1]}{asked[2].translate(_PLAIN_VOWELS)}{asked[3]}")
    return any(f"{stem}{end}" in words for stem in stems for end in ("ar", "er", "ir"))


_ENDS = ("e", "s", "es", "ment", "ement")


def is_french_form(word: str) -> bool:
    """Return True for a form of a French verb or adjective on the list of frequent words.

    Raises:
        ModelError: a list is missing or damaged.
    """
    if any(word.endswith(end) and word.removesuffix(end) in foreign_words("fr") for end in _ENDS):
        return True
    form = _CONJUGATED.match(word)
    if form is None:
        return False
    stem, ending = (form["er"], "er") if form["er"] else (form["ir"], "ir")
    return f"{stem}{ending}" in foreign_words("fr")


_PREFIXES = frozenset(
    "anti crypto cyber down eco geo hyper inter intra macro mega meta micro mid mini multi "
    "nano non out over post pre pro semi sub super tele trans ultra under uni up".split()
)
_LEAST_COINED = 3  # letters of the first part; the second has one more


def _stems(word: str) -> Iterator[str]:
    """Yield the words that one in lower case may be derived from: "hoodies", "procedurally"."""
    for ending, plain in _ENDINGS:
        stem = word.removesuffix(ending) + plain
        if word.endswith(ending) and len(stem) >= _LEAST_STEM:
            yield stem
    if word.startswith("un") and word.endswith(("ed", "able", "ing")):
        yield word.removeprefix("un")


def kind_of(word: str) -> str:
    """Return the kind of a hidden word.

    Example:
        >>> kind_of("12"), kind_of("Twelve"), kind_of("one")
        ('number', 'numeral', 'word')
    """
    if word.isdecimal():
        return NUMBER
    return NUMERAL if word.lower() in _SPELLED else WORD


def _plain(word: str) -> str:
    return word.lower().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")


@dataclass(frozen=True, slots=True)
class Skeleton:
    """A text with its hidden runs marked.

    Attributes:
        text: the original. runs: in order, never overlapping. n_visible: visible words.
    """

    text: str
    runs: tuple[Run, ...]
    n_visible: int


def skeleton(
    text: str,
    forms: PublicForms,
    taken: Sequence[Unit] = (),
    declared: Sequence[tuple[int, int]] = (),
    named: Collection[int] = (),
) -> Skeleton:
    """Find the hidden runs of a text.

    Words that follow each other with a space, a hyphen or an apostrophe between them are one run,
    as are the groups of digits of one number, and words such as "forty-two". A name such as
    "acme_payroll_2" is hidden as a whole if one of its parts is.

    Args:
        text: any string.
        taken: stretches that are hidden as a whole, such as identifiers; ascending.
        declared: stretches that are visible whatever their words are; ascending, clear of `taken`.
        named: where a field begins that holds a name: no sentence opens there.
    """
    found: list[Run] = []
    n_visible = at = 0
    opening = True  # whether the last word opened a sentence: "1. Apples" opens again after "1"
    hidden: str | None = None  # kind of the run that ends at `at`
    wholes = [(unit.start, unit.end) for unit in taken]
    for token, whole, shown in _tokens(text, taken, declared):
        words = token
        start, end = words[0][0], words[-1][1]
        gap = text[at:start]
        opens = at == 0 and not found and not n_visible
        numbered = hidden in NUMBERS and opening and gap in (" ", "\t")
        in_form = (numbered and asks_in_line(text, start, wholes)) or _in_head(text, gap, start)
        begins = _opens(gap, hidden, opening, in_form) and not (
            hidden is None and _signs(text, at, gap)
        )
        opens = (opens or begins) and start not in named
        if whole is not None:
            found.append(Run(start, end, words, whole.kind))
            at, hidden, opening = end, whole.kind, opens
            continue
        if not shown and not _all_visible(text, words, forms, opens):
            word = without_clitic(text[words[-1][0] : end])
            stop = words[-1][0] + len(word)
            words = (*words[:-1], (words[-1][0], stop))
            if not _all_visible(text, words, forms, opens):
                kind = kind_of(text[start:stop])
                last = _LAST if gap in (".", ",") else _STAMP.get(gap)
                if hidden == NUMBER and last is not None and last.fullmatch(text, start, stop):
                    kind = NUMBER
                follows = None if overlapping(declared, at, start) else hidden
                _append(text, found, Run(start, stop, words, kind), gap, follows)
                at, hidden, opening = stop, kind, opens
                n_visible += stop < end  # the clitic
                continue
        n_visible += len(words)
        at, hidden, opening = end, None, opens
    return Skeleton(text, tuple(found), n_visible)


def asks_in_line(text: str, start: int, hidden: Sequence[tuple[int, int]]) -> bool:
    """Return True for a line that ends with a colon, as one of a form does: "2 First name:".

    Args:
        hidden: stretches whose characters are not looked at, ascending.
    """
    end = text.find("\n", start)
    last = len(text[: end if end >= 0 else len(text)].rstrip(" ")) - 1
    return text[last] == ":" and not overlapping(hidden, last, last + 1)


def _in_head(text: str, gap: str, start: int) -> bool:
    """Return True between the heads of columns that are apart by spaces: in the first line of a
    block of lines. What its words are is not looked at.
    """
    if "   " not in gap and "\t" not in gap:
        return False
    begin = text.rfind("\n", 0, start) + 1
    return begin == 0 or not text[text.rfind("\n", 0, begin - 1) + 1 : begin].strip()


def _opens(gap: str, hidden: str | None, opening: bool, in_form: bool) -> bool:
    """Return True if a sentence, line or item opens after this gap between two words.

    Args:
        hidden: kind of the run before the gap, None after a visible word. opening: whether the word
            before the gap opened a sentence itself. in_form: a line of a form behind its number, or
            a column's head.
    """
    if in_form or (hidden in NUMBERS and opening and _AFTER_MARKER.match(gap)):
        return True
    if "  " in gap or "\t" in gap:
        return True  # a column
    if hidden == WORD and _INITIAL_END.fullmatch(gap):
        return False  # after "J." or "Mr." nobody knows
    return (_SENTENCE_END.search(gap) is not None and gap[-1:] not in ".:/") or "\n" in gap


_CLOSING = re.compile(
    r"(?:^|[ \n])(?:regards|Regards|wishes|cheers|Cheers|thanks|Thanks|sincerely|Sincerely|"
    r"faithfully|truly|respectfully|love)\Z"
)
"""The end of a letter before its writer's name. As written, each word is visible here."""
_LONGEST_CLOSING = 20
_BEFORE_NAME = re.compile(r"[,.!]{0,3}[ \t]*\n[ \t\n]*\Z")


def _signs(text: str, end: int, gap: str) -> bool:
    """Return True if a letter's writer may stand behind this gap, such as "Will" or "Grace".

    Args:
        end: of the word before the gap.
    """
    if _BEFORE_NAME.match(gap) is None:
        return False
    return _CLOSING.search(text, max(0, end - _LONGEST_CLOSING), end) is not None


def _append(text: str, found: list[Run], run: Run, gap: str, hidden: str | None) -> None:
    """Add a run of one word, or make the last run longer where both belong together."""
    inside = _IN_NUMBER if run.is_number else _IN_RUN
    if hidden == run.kind and _from_time(text, found[-1], run, gap):
        hidden = None
    if hidden == run.kind and (gap in inside or _grouped(text, found[-1], run, gap)):
        last = found.pop()
        run = Run(last.start, run.end, (*last.words, *run.words), run.kind)
    found.append(run)


def _from_time(text: str, last: Run, run: Run, gap: str) -> bool:
    """Return True if a run is the time of day until which something lasts: "9:00-17:30", "1pm-2pm".

    Only the signs inside and beside the two are looked at, and whether "am" or "pm" ends the first.
    """
    if run.kind != NUMBER or gap not in ("-", "\N{EN DASH}"):
        return False
    lettered = text[last.end - 2 : last.end].lower() in ("am", "pm")
    timed = ":" in (text[a[1] : b[0]] for a, b in pairwise(last.words))
    return lettered or (timed and text[run.end : run.end + 1] == ":")


def _grouped(text: str, last: Run, run: Run, gap: str) -> bool:
    """Return True if a run of digits is the next group of the number before it."""
    if run.kind != NUMBER or gap not in _IN_GROUPS or run.end - run.start != _GROUP:
        return False
    spaced = len(last.words) == 1 or last.words[-2][1] + 1 == last.words[-1][0]
    start, end = last.words[-1]
    # In "06:45 139" a time of day stands before a count.
    return spaced and end - start <= _GROUP and not (len(last.words) > 1 and text[start - 1] == ":")


Words = tuple[tuple[int, int], ...]
_IN_NAME = re.compile(r"[0-9]{1,3}|0[0-9]{3,4}|(?:19|20)[0-9]{2}")
"""The number in a name such as "file_2": the one in "u_90233" is an account's."""


def _all_visible(text: str, words: Words, forms: PublicForms, opens: bool) -> bool:
    """Return True if a word is visible, or every part of a name such as "file_name_2" is."""
    if len(words) == 1:
        return forms.visible(text[slice(*words[0])], opens)
    parts = (text[begin:end] for begin, end in words)
    return all(
        _IN_NAME.fullmatch(part) if part.isdecimal() else forms.known_public(part) for part in parts
    )


def _tokens(
    text: str, taken: Sequence[Unit], declared: Sequence[tuple[int, int]]
) -> Iterator[tuple[Words, Unit | None, bool]]:
    """Yield words and taken units in order, and whether they are declared.

    Words joined by underscores are one token.
    """
    held: list[tuple[int, int]] = []
    held_shown = False
    for begin, end, whole, shown in stretches(text, taken, declared):
        apart = held and (
            whole is not None
            or shown != held_shown
            or begin == held[-1][1]
            or text[held[-1][1] : begin].strip("_") != ""
        )
        if apart:
            yield tuple(held), None, held_shown
            held = []
        if whole is not None:
            yield ((begin, end),), whole, False
        else:
            held.append((begin, end))
            held_shown = shown
    if held:
        yield tuple(held), None, held_shown


FOREIGN = ("de", "fr", "es")
"""Languages with lists of their own, beside English."""


_ALSO_NAMES = frozenset(
    "allen anders antun ben bent clair dan davor demi ella ester fleur ira jo lasse malin maxim "
    "mette mina mira ola ravi sean signe tomo".split()
)
"""Everyday words of German, French or Spanish that people write their names like, in lower case
too: "my brother ben". They do not tell the language of a text."""


_BRITISH = re.compile(
    r"(?<=[a-z]{4}i)z(?=(?:e[ds]?|ing|ations?|ers?)$)|(?<=[a-z]ly)z(?=(?:e[ds]?|ing|ers?)$)"
)
"""What British spelling has an s for: "categorize", "analyzed"."""


def _british(words: Iterable[str]) -> set[str]:
    """Return the words that British spelling writes with an s, written so."""
    return {_BRITISH.sub("s", word, count=1) for word in words if _BRITISH.search(word)}


@cache
def public_forms() -> PublicForms:
    """Return the packaged lists of public words; raise ModelError if one is missing or damaged."""
    anywhere, opening, lower, judged = (
        frozenset(word_list(f"{name}.txt", "forms"))
        for name in ("anywhere", "opening", "lower", "judged")
    )
    ordinary = frozenset(word_list("ordinary.txt", "forms"))
    anywhere |= _british(anywhere) - opening - lower - judged
    opening |= _british(opening | lower) - anywhere - lower - judged
    # Words that tell the language of a text are released whatever the language is.
    everyday = language_lists(model_folder("words") / "languages")
    anywhere |= UNREAD_ANYWHERE | NATIVE_ANYWHERE
    opening, lower, judged = (words - NATIVE_ANYWHERE for words in (opening, lower, judged))
    foreign = UNREAD.union(*everyday.values()) - anywhere - opening - judged
    native = {language: words & foreign & _ALSO_NAMES for language, words in everyday.items()}
    lower |= foreign - _ALSO_NAMES
    return PublicForms(anywhere, opening, lower, judged, ordinary, native)


@cache
def foreign_words(language: str) -> frozenset[str]:
    """Return the frequent words of a language, lower case; none of English and others.

    Raises:
        ModelError: a list is missing or damaged.
    """
    if language not in FOREIGN:
        return frozenset()
    everyday = language_lists(model_folder("words") / "languages")[language]
    return everyday | frozenset(word_list(f"ordinary_{language}.txt", "forms"))


@cache
def languages() -> Mapping[str, AbstractSet[str]]:
    """Return the lists by which a text's language is told; all their words are visible."""
    forms = public_forms()
    english = frozenset(word_list("anywhere.txt", "forms"))
    english |= forms.opening | frozenset(word_list("lower.txt", "forms"))
    visible = forms.anywhere | forms.opening | forms.lower
    others = language_lists(model_folder("words") / "languages")
    return {"en": english} | {name: words & visible for name, words in others.items()}


_LEAST_PART = 4
_LINKS = ("", "s", "es", "n", "en", "er", "e")
_TOLD_ENDS = (
    "anfall arbeiter arzt \u00e4rztin arbeiterin bruch entz\u00fcndung fahrer fahrerin krank "
    "kranke krankheit krebs lehrer lehrerin leiden operation pfleger pflegerin schmerz schmerzen "
    "l\u00e4hmung vergiftung behinderung verletzung blutung erkrankung vorhautverengung "
    "schwangerschaft "
    "schw\u00e4che schwester st\u00f6rung sucht therapie tumor vorfall"
).split()
"""Last parts of illnesses, treatments and occupations."""


_NOUN = re.compile(
    r"\w{5,}(?:ungs?|ungen|heit|heiten|keit|keiten|schaft|schaften|t\u00e4t|t\u00e4ten|tion|tionen|nisse?s?|"
    r"urkunden?|gericht[es]?|gerichte|antr\u00e4ge|antrag[es]?s?|zeitr\u00e4ume|zeitraum[es]?s?|bescheid[es]?s?|"
    r"verfahrens?|beh\u00f6rden?|angelegenheiten?|erkl\u00e4rungen?|versicherungen?|vertr\u00e4ge|stunden?|scheine?s?)"
)
"""Endings of German nouns that no name has."""
_LEAST_FIRST = 3
_PLAIN_ENDS = (
    "abrechnung anfrage angebot anmeldung anschrift antrag auftrag ausweis beitrag bescheid "
    "bestellung best\u00e4tigung betrag bewerbung datum einkommen einladung feier formular frist "
    "geb\u00fchr geb\u00fchren heizung karte kaution kosten k\u00fcndigung liste miete nummer "
    "preis rechnung schreiben spende spenden stelle tarif termin termine unterlagen versicherung "
    "vertrag verwaltung wartung wohnung zahlung zeichen zeit zeiten zeugnis zuschuss"
).split()
"""Last parts of German words of letters and offices, which no name ends with."""


def is_plain_compound(word: str) -> bool:
    """Return True for a German word of letters and offices, such as "Vertragsnummer".

    Raises:
        ModelError: a list is missing or damaged.
    """
    plain, everyday = word.lower(), foreign_words("de")
    if _NOUN.fullmatch(plain) and not plain.endswith(tuple(_TOLD_ENDS)):
        return True
    for end in _PLAIN_ENDS:
        first = plain.removesuffix(end)
        if len(first) == len(plain):
            continue
        cut = [first[: len(first) - len(link)] for link in _LINKS if first.endswith(link)]
        if any(len(part) >= _LEAST_FIRST and part in everyday for part in cut):
            return True
    return False


def is_compound(word: str) -> bool:
    """Return True for a German word that two frequent ones make, such as "Restschuld", if it tells
    of no illness and no occupation.

    Raises:
        ModelError: a list is missing or damaged.
    """
    plain, everyday = word.lower(), foreign_words("de")
    return not plain.endswith(tuple(_TOLD_ENDS)) and any(
        plain[at:] in everyday
        and any(
            plain[:at].endswith(link) and plain[: at - len(link)] in everyday for link in _LINKS
        )
        for at in range(_LEAST_PART, len(plain) - _LEAST_PART + 1)
    )
