"""Classes of things: their lists, how far a thing reaches, what visible words tell of a number.

Which illnesses, beliefs, origins and crimes have a common name is on lists. Names of drugs and of
medical conditions tell a class wherever they occur (`Gazetteers`). What a finding takes in is
visible text, decided by that text, by the finding's class and by its own run (docs/guarantees.md,
theorem B).

The lists are public. That a name is on one, and of which class, is part of how it is read; which
member it is, is not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import NamedTuple

from sanitizer.text.policy import DRAWN, straight, word_list
from sanitizer.text.skeleton import NUMBERS, NUMERAL, Run, Skeleton
from sanitizer.text.words import overlapping, word_spans

_LEAST_TYPED = 6  # letters of the shortest name of which a typing error is recognized
_MOST_WORDS = 5
_BEFORE = frozenset("a an the my his her their our your".split())
_EMPTY = _BEFORE | frozenset("of and or with disease disorder syndrome".split())


@dataclass(frozen=True)
class Gazetteers:
    """Words that have a class wherever they occur.

    Attributes:
        kinds: lower-case word -> class.
    """

    kinds: dict[str, str]

    def kind_of(self, word: str) -> str | None:
        """Return the class of a word, or None."""
        return self.kinds.get(word.lower())


class Listed(NamedTuple):
    """A listed name inside a text.

    Attributes:
        start, end: character offsets. kind: its class. concept: the member that it names.
    """

    start: int
    end: int
    kind: str
    concept: str


@cache
def class_members(kind: str) -> tuple[str, ...]:
    """Return the members of a class, the commonest first; raise ModelError as `word_list`.

    Example:
        >>> class_members("CONDITION")[:2]
        ('depression', 'asthma')
    """
    return word_list(f"{kind.lower()}.txt", "classes")


@cache
def _concepts(kind: str) -> Mapping[str, str]:
    """Return name -> member of the class, for the members themselves and for other names."""
    known = {plain_name(member): member for member in class_members(kind)}
    for line in word_list("concepts.txt", "classes"):
        member, _, names = line.partition(" = ")
        if plain_name(member) in known:
            known |= {plain_name(name): member for name in names.split(", ")}
    return known


def plain_name(text: str) -> str:
    """Return a name as names are compared: words in lower case, without an article before them.

    Example:
        >>> plain_name("A Heart-Attack")
        'heart attack'
    """
    plain = straight(text.lower())
    words = [plain[begin:end] for begin, end in word_spans(plain)]
    return " ".join(words[words[0] in _BEFORE :]) if len(words) > 1 else " ".join(words) or plain


def content_words(text: str) -> list[str]:
    """Return the words of a name that tell something.

    Example:
        >>> content_words("Obstruction of justice")
        ['obstruction', 'justice']
    """
    return [word for word in plain_name(text).split() if word not in _EMPTY and len(word) > 1]


def concept_of(kind: str, text: str, typed: bool = True) -> str | None:
    """Return the member of a class that a name means, None if it means none.

    Args:
        typed: a name with one typing error counts, if only one member is so near.

    Example:
        >>> concept_of("CONDITION", "Hep C"), concept_of("CONDITION", "astmha")
        ('hepatitis C', 'asthma')
    """
    names, name = _concepts(kind), plain_name(text)
    found = names.get(name) or names.get(name.removesuffix("s"))
    if found is None and typed and len(name) >= _LEAST_TYPED:
        near = {names[one] for one in _mistyped(name) if one in names}
        found = near.pop() if len(near) == 1 else None
    return found


def adjective_of(text: str) -> str | None:
    """Return BELIEF or ORIGIN if a stretch is exactly a name on that list: no firm or place.

    Example:
        >>> adjective_of("Muslim"), adjective_of("Leeds")
        ('BELIEF', None)
    """
    name = plain_name(text)
    return next((kind for kind in ("BELIEF", "ORIGIN") if name in _concepts(kind)), None)


def listed_in(text: str, start: int, end: int, kind: str) -> Listed | None:
    """Return the longest listed name in a stretch, of this class if there is one, or of another.

    Example:
        >>> listed_in("convicted of burglary", 0, 21, "CRIME")
        Listed(start=13, end=21, kind='CRIME', concept='burglary')
    """
    spans = [(start + a, start + b) for a, b in word_spans(text[start:end])]
    empty = [text[a:b].lower() in _EMPTY for a, b in spans]
    runs = [
        (spans[first][0], spans[first + n - 1][1], n)
        for n in range(min(len(spans), _MOST_WORDS), 0, -1)
        for first in range(len(spans) - n + 1)
        if not (empty[first] or empty[first + n - 1])
    ]
    # Typing errors are looked for last, and in single words and the whole only: it takes a while.
    for typed in (False, True):
        for kinds in ((kind,) if kind in DRAWN else (), DRAWN):
            for begin, stop, n in runs:
                for each in kinds if not typed or n in (1, len(spans)) else ():
                    if member := concept_of(each, text[begin:stop], typed):
                        return Listed(begin, stop, each, member)
    return None


def _mistyped(name: str) -> Iterator[str]:
    """Yield what a name may have been meant as: one letter more, less, other, or two swapped."""
    letters = "abcdefghijklmnopqrstuvwxyz "
    for i in range(len(name) + 1):
        head, tail = name[:i], name[i:]
        if tail:
            yield head + tail[1:]
            yield from (head + letter + tail[1:] for letter in letters)
        if len(tail) > 1:
            yield head + tail[1] + tail[0] + tail[2:]
        yield from (head + letter + tail for letter in letters)


# --- Extents and roles of findings

NAMES = frozenset(["PERSON", "ORGANIZATION", "PLACE", "PRODUCT"])
_PLACED = re.compile(
    r"(?i)\b(?:room|ward|bed|seat|flat|apartment|apt\.?|locker|suite|courtroom|cell)"
    r"(?: (?:no\.?|nr\.?|number))? ?#?$"
)
"""Visible text before the number of a room, a bed or a seat."""
_OLD = re.compile(
    r"(?i)(?:\b(?:i|he|she|who|mother|father|mum|mom|dad|son|daughter|wife|husband)"
    r"(?:['\u2019](?:m|s)| am| is| was)|\b(?:im|hes|shes))(?: (?:now|only|just|almost|nearly))? $"
)
_AGE_AFTER = re.compile(
    r"(?i)[ -]?(?:years?[ -]old|yrs? old|yo\b|y/o)|[.,;!?)]|\s*$|"
    r" (?:and|with|from|living|male|female|but|so|yrs|years of age)\b"
)
"""Visible text before and after an age."""
_WEIGHS = re.compile(
    r"(?i)\b(?:i|he|she)(?: now| still| only| currently)? weigh(?:s|ed)?(?: about| only| just)? $"
)
_OWNED = re.compile(
    r"(?i)(?:\b(?:my|our|his|her|their) (?:\w+ )?(?:salary|rent|income|pension|bonus|deposit|"
    r"debts?|loan|mortgage|wages?|savings|overdraft|allowance|alimony)"
    r"(?: (?:is|was|of|about|only|now))*|"
    r"\b(?:i|we|he|she) (?:earns?|earned|owes?|owed|inherited)"
    r"(?: (?:about|only|around|him|her|them|me|us|you))*) ?[$\u00a3\u20ac]?$"
)
"""Visible text before a sum of a person."""
_TRADED = frozenset(["ORGANIZATION", "PRODUCT"])

_JOINS = {
    "PERSON": re.compile(
        r"[ \u00a0]|\. |-|(?i:[ -](?:(?:van|von|de|del|della|da|di|du|dos|el|al|bin|ibn|ben|la|le|"
        r"der|den|ter|zu|y|st\.?)[ -])+)"
    ),
    "ORGANIZATION": re.compile(
        r" |\. |-| & | of | of the | and | for | for the |'s |\u2019s |(?: [A-Z][a-z]+)+ "
    ),
    "PLACE": re.compile(r" |-| of | of the |, (?=\d)| the "),
    "PRODUCT": re.compile(r" |-|\.|_"),
    "DATE": re.compile(r" |, |[./:-]| of | the | at | around |T| ?[-\u2013] ?"),
    "MONEY": re.compile(r" |[.,-]"),
    "ID": re.compile(r" ?[-/#._] ?| "),
    "NUMBER": re.compile(r"[.,/:-]| "),
}
_JOIN = re.compile(r" |-| of | of the |'s |\u2019s ")
_UNIT = (
    r"(?:kilos?|kilograms?|kgs?|grams?|mg|mcg|\u00b5g|g|ml|dl|l|cm|mm|mmol|mol|meters?|metres?|km|m|"
    r"lbs?|stone|pounds|inch(?:es)?|ft|feet|foot|miles?|years?|yrs?|months?|weeks?|days?|nights?|"
    r"hours?|hrs?|minutes|mins?|seconds|percent|per cent|bpm|mph|people|employees|guests)"
)
_NUMERAL_UNITS = rf"[ \u00a0-]?{_UNIT}(?:/{_UNIT})?(?:[ -]old)?\b|\u00b0C?|%|[ ]%"
_MONTH = (
    r"(?i:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|"
    r"sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_DAY = r"(?i:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?i:day)?"
_PART_OF_DAY = r"(?i:morning|afternoon|evening|night|noon|midnight)"
_ONES = re.compile(r"-(?:one|first|second|third)\b", re.I)
"""Visible end of a number in words: "forty-one"."""
_TAKEN_BEFORE = {
    "MONEY": re.compile(
        r"(?:(?:\b(?:R|CA|AU|A|US|NZ))?[$\u00a3\u20ac\u00a5\u20b9]|"
        r"\b(?:USD|EUR|GBP|CHF|CAD|AUD|NZD|SEK|NOK|DKK|PLN|CZK|HUF|INR|BRL|MXN|JPY|Rs\.?))\s?$"
    ),
    "DATE": re.compile(
        rf"(?:\b{_DAY}\.?,? (?:the )?|\b{_MONTH}\.? (?:the )?|\byesterday (?:at )?|\bmid-|"
        r"\b(?:the )?(?:beginning|start|middle|end|(?:first|last|second|third) (?:week|days)) of |"
        r"\bQ[1-4] |\b(?:last|next|early|late|mid) )+$"
    ),
    "PERSON": re.compile(
        r"\b(?:(?:Old|Big|Little|Young|Uncle|Auntie|Aunt|Grandma|Grandpa|Granny|Nana) |"
        r"(?:deploy|svc|admin|user)[-_.]|\b[a-z]\.)$"
    ),
    "ID": re.compile(r"(?:\b[a-z]+[-_])+$"),
    "PRODUCT": re.compile(
        r"(?<![.!?] )\b(?:Project|Operation|Programme|Program) $|\b[A-Z][a-z]+ & $"
    ),
    "ORGANIZATION": re.compile(r"\b[A-Z][a-z]+ & $"),
    "OCCUPATION": re.compile(
        r"(?:(?<=\ba )|(?<=\ban )|(?<=\bthe )|(?<=\bour )|(?<=\bmy )|(?<=, )|(?<=: )|(?<=\| ))"
        r"[A-Za-z]+ $"
    ),
    "CONDITION": re.compile(
        r"(?i:(?:\b(?:(?:stage|grade) \w+|(?:four|six|\d+) weeks|breast|lung|bowel|colon|skin|"
        r"brain|blood|bone|heart|kidney|liver|chronic|severe|mild|acute|advanced|nearly|partly|nut|hearing|"
        r"back|chest|eating|mental|panic|high|head|recovering)[ -])+)$"
    ),
    "CRIME": re.compile(r"(?i:\b(?:drunk|drug|tax|sexual|identity|armed|domestic)[ -])$"),
}
"""Visible text before a finding that becomes part of it."""
_TAKEN_AFTER = {
    "MONEY": re.compile(
        r"(?:\s?(?:[\u20ac\u00a3%]|(?:million|billion|thousand|grand|euros?|dollars?|pounds|bucks|quid|"
        r"cents|francs|kroner|kronor|rupees|lakh|crore|USD|EUR|GBP|CHF|CAD|AUD|k|m|bn)\b))*"
        r"(?:(?:,-)? ?(?:/|a |an |per |each |every )"
        r"(?:hour|day|night|week|month|quarter|year|annum|shift|term|session|head|person)\b)?"
    ),
    "NUMBER": re.compile(_NUMERAL_UNITS),
    "ID": re.compile(
        r"(?:[-_][a-z]{2,}(?![A-Za-z])|\.(?:int|lan|local|internal|corp|com|net|org|io|example)\b)+"
    ),
    "DATE": re.compile(
        rf"(?:(?:st|nd|rd|th|s|[ ]?[ap]\.?m\.?|[ ]?o['\u2019]clock)\b)?(?:,? (?:of )?(?:"
        rf"{_MONTH}\b\.?|{_DAY}\b|(?:in the |at ){_PART_OF_DAY}\b|tomorrow\b|sharp\b))*"
    ),
    "PRODUCT": re.compile(r"(?:[-_][a-z]+(?![A-Za-z]))+|(?: [A-Z][a-z]+)+(?![A-Za-z])"),
    "ORGANIZATION": re.compile(
        r"(?: [A-Z][a-z]+(?![A-Za-z]))*(?:,? (?:plc|ltd|llc|inc|gmbh|ag|bv|co|corp)\b)?"
    ),
    "CONDITION": re.compile(
        r"(?i:[ -](?:cancer|disease|disorder|syndrome|infection|allergy|addiction|failure|loss|use|"
        r"user|pain|attacks?|lice|pregnant|symptoms|patient)\b)+"
    ),
    "TREATMENT": re.compile(
        r"(?i:[ -](?:pump|replacement|operation|surgery|therapy|treatment|cartridges|tube|tablets|"
        r"injections?|implants?|device|monitor|cream|leg|fusion|\d+ ?(?:mg|mcg|ml))\b)+"
    ),
    "OCCUPATION": re.compile(
        r"(?i:[ -](?:manager|officer|assistant|teacher|engineer|driver|agent)\b)+"
    ),
    "CRIME": re.compile(r"(?i:[ -](?:driving|violence|possession|abuse|fraud|theft)\b)+"),
}
"""Visible text after a finding that becomes part of it."""
_MOST_NAMES = 4
_FIRM = re.compile(
    r"(?<![^\W_])(?:Ltd|Limited|LLC|LLP|Inc|Corp|PLC|plc|GmbH|AG|KG|SARL|Oy|BV|NV|SpA|Sons|University|"
    r"Hospital|Clinic|School|College|Bank|Insurance|Logistics|Pharmaceuticals|Holdings|Partners)\.?\Z"
)
"""End of a firm's name, whatever the tagger takes it for."""
_PREFIX = re.compile(r"[A-Z]{2,6}")  # of a number such as "OPS-4471"


@dataclass(frozen=True, slots=True)
class Finding:
    """A stretch that the detector gives a class.

    Attributes:
        start, end: character offsets. kind: the class, in capitals, or UNKNOWN.
    """

    start: int
    end: int
    kind: str


def role(before: str, after: str) -> str | None:
    """Return the class of a number that visible words around it tell, or None."""
    if _PLACED.search(before):
        return "ID"
    if _OLD.search(before) and _AGE_AFTER.match(after):
        return "NUMBER"
    if _WEIGHS.search(before):
        return "NUMBER"
    return "MONEY" if _OWNED.search(before) else None


def names_on(text: str, run: Run, kinds: list[str | None]) -> list[str | None]:
    """Return the classes of a run's words, a name's also for the words with a capital beside it.

    Only the run itself is looked at: "Foods" belongs to the name in "Caldwell Foods".
    """
    found = list(kinds)
    for i in range(1, len(found)):
        given = text[slice(*run.words[i - 1])].lower() in given_names()
        if given and {found[i - 1], found[i]} <= NAMES and _beside(text, run, i):
            found[i - 1] = found[i] = "PERSON"
        other = found[i] is None or (found[i - 1] == "PERSON" and found[i] in NAMES)
        if other and found[i - 1] in NAMES and _beside(text, run, i):
            found[i] = found[i - 1]
    for i in reversed(range(1, len(found))):
        if found[i - 1] is None and found[i] in _TRADED and _beside(text, run, i):
            first = run.words[i - 1][0]
            found[i - 1] = found[i] if text[first].isupper() else None
    return found


def _beside(text: str, run: Run, number: int) -> bool:
    """Return True if a word of a run has a capital and one space before it."""
    start = run.words[number][0]
    return text[start].isupper() and text[run.words[number - 1][1] : start] == " "


def numbers_on(found: Skeleton, decided: list[list[str | None]]) -> None:
    """Give words of one number the class of one of them: "four hundred ten", "12 thousand".

    Which runs are numbers, and which are in words, is public.
    """
    pairs = list(pairwise(range(len(decided))))
    for one, other in [*pairs, *((b, a) for a, b in reversed(pairs))]:
        first, last = sorted([found.runs[one], found.runs[other]], key=lambda run: run.start)
        beside = found.text[first.end : last.start] == " "
        if beside and first.kind in NUMBERS and last.kind == NUMERAL:
            decided[other] = [decided[other][0] or decided[one][0]]


def joined(
    found: Skeleton, words: Sequence[tuple[Finding, int]], declared: Sequence[tuple[int, int]]
) -> Iterator[Finding]:
    """Yield findings of one class that belong together as one, with the visible words around.

    Args:
        words: findings of single words, each with the number of its run.
        declared: stretches that nothing may take in.
    """
    groups: list[tuple[Finding, int, int]] = []
    for finding, run in words:
        if groups and _numbered(found.text, groups[-1][0], finding):
            held, first, _ = groups[-1]
            groups[-1] = Finding(held.start, finding.end, "ID"), first, run
            continue
        if groups and groups[-1][0].kind == finding.kind:
            held, first, _ = groups[-1]
            between = found.text[held.end : finding.start]
            apart = overlapping(declared, held.end, finding.start) or (
                held.kind == "NUMBER" and between == " " and found.runs[run].kind != NUMERAL
            )
            if not apart and _JOINS.get(held.kind, _JOIN).fullmatch(between):
                groups[-1] = Finding(held.start, finding.end, held.kind), first, run
                continue
        groups.append((finding, run, run))
    at = 0  # where the finding before ends
    for i, (group, first, last) in enumerate(groups):
        finding = Finding(group.start, group.end, _named(found.text, group))
        wide = _widened(found, finding, first, last)
        following = groups[i + 1][0].start if i + 1 < len(groups) else len(found.text)
        clear = at <= wide.start and wide.end <= following
        if not clear or overlapping(declared, wide.start, wide.end):
            wide = finding
        at = wide.end
        yield wide


def _named(text: str, finding: Finding) -> str:
    """Return the class of a finding: of a name, by its given name or legal form if it has one."""
    if finding.kind not in NAMES:
        return finding.kind
    written = text[finding.start : finding.end]
    if _FIRM.search(written):
        return "ORGANIZATION"
    words = written.split()
    person = len(words) <= _MOST_NAMES and words[0].lower() in given_names()
    return "PERSON" if person else finding.kind


def _numbered(text: str, held: Finding, finding: Finding) -> bool:
    """Return True if two findings are one number with its prefix, such as "OPS-4471"."""
    return (
        text[held.end : finding.start] == "-"
        and _PREFIX.fullmatch(text[held.start : held.end]) is not None
        and text[finding.start : finding.end].isdecimal()
    )


def _widened(found: Skeleton, finding: Finding, first: int, last: int) -> Finding:
    """Return a finding with the visible words that belong to it: a currency, a unit, a weekday.

    Only visible text and the finding's own runs, `first` to `last`, are looked at.
    """
    text, runs = found.text, found.runs
    start, end, kind = finding.start, finding.end, finding.kind
    before, after = _TAKEN_BEFORE.get(kind), _TAKEN_AFTER.get(kind)
    low = max(runs[first - 1].end if first else 0, start - 40)
    high = min(runs[last + 1].start if last + 1 < len(runs) else len(text), end + 40)
    if before is not None and (match := before.search(text[low:start])):
        start -= len(match.group())
    if runs[last].kind == NUMERAL and (match := _ONES.match(text[end:high])):
        end += len(match.group())
    if after is not None and (match := after.match(text[end:high])):
        end += len(match.group())
    return Finding(start, end, kind)


@cache
def given_names() -> frozenset[str]:
    """Return the packaged given names, in lower case; raise ModelError as `public_forms`."""
    return frozenset(word_list("given_names.txt", "classes"))
