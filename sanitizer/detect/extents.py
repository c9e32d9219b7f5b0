"""Which words are one thing, and of which class it is.

It is decided by visible text, by the class of a finding and by its own run (docs/guarantees.md,
theorem B); the visible words around that belong to it are those of `surroundings`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from sanitizer.detect.classes import (
    Said,
    class_of,
    given_names,
    phrases_in,
    told_in,
    words_of,
)
from sanitizer.detect.numbers import FRACTION
from sanitizer.detect.skeleton import (
    FOREIGN,
    NUMBER,
    NUMERAL,
    PERSON_SLOT,
    POST_SLOT,
    SLOT,
    Run,
    Skeleton,
    public_forms,
)
from sanitizer.detect.surroundings import (
    MONTH,
    NAMES,
    TITLE,
    TOLD,
    is_of_model,
    is_of_somebody,
    is_treated,
    names_in,
    posts_in,
    with_words,
)
from sanitizer.text import overlapping

UNKNOWN = "TERM"
"""Class of a word that is on no list and that the tagger gives no class."""
_TRADED = frozenset(["ORGANIZATION", "PRODUCT"])
_JOINS = {
    "PERSON": re.compile(
        r"[ \u00a0]|\. |-|"
        r"(?i:(?:\. ?|[ -])(?:(?:van|von|de|del|della|da|di|du|dos|el|al|bin|ibn|ben|la|le|"
        r"der|den|ter|zu|y|st\.?)[ -])+)"
    ),
    "ORGANIZATION": re.compile(
        r" |\. |-| & | of | of the | and | for | for the |'s |\u2019s |(?: [A-Z][a-z]+)+ "
    ),
    "PLACE": re.compile(r" |-| of | of the |, (?=\d)| the | del? | de la | du | des "),
    "PRODUCT": re.compile(r" |-|\.|_"),
    "DATE": re.compile(
        rf" |, |[./:-]| of | de | the | past | around | about |T| ?[-\u2013+] ?|"
        rf" (?:of )?{MONTH}\.?,? "
    ),
    "MONEY": re.compile(r" |[.,-]"),
    "ID": re.compile(r" ?[-/#._] ?| "),
    "NUMBER": re.compile(r"[.,/:-]| "),
}
_JOIN = re.compile(r" |-| of | of the |'s |\u2019s ")
_TITLED = dict.fromkeys(["Frau", "Herr", "Herrn", "Familie"], "PERSON")
"""Words that are not visible with a capital, before a name."""
_RELATED = frozenset(
    "bruder chef chefin cousin cousine enkel enkelin freund freundin gro\u00dfmutter "
    "gro\u00dfvater kollege kollegen kollegin kunde kunden kundin mieter mieterin mutter nachbar "
    "nachbarin neffe nichte oma onkel opa patient patientin schwester sch\u00fcler "
    "sch\u00fclerin sohn tante tochter vater vermieter vermieterin".split()
)
"""German, Spanish and French words that say what somebody is to somebody, before a name; no part of
it."""
_NO_PART = _RELATED | frozenset(
    "frau herr herrn familie unterschrift liebe lieber lieben sehr geehrte geehrter geehrten "
    "hallo".split()
)
_ONES = re.compile(
    r"(?i)-(?:one|first|second|third)\b| (?:first|second|third)(?= of\b)|"
    r" one\b(?! (?:of|day|morning|evening|night|time|person|thing)\b)"
)
"""Visible end of a number in words: "forty-one", and "forty one" as it is dictated."""
_MOST_NAMES = 4
_NEAR = 40  # characters on each side of a finding that may belong to it
_FIRM = re.compile(
    r"(?<![^\W_])(?:Ltd|Limited|LLC|LLP|Inc|Corp|PLC|plc|GmbH|AG|KG|SARL|Oy|BV|NV|SpA|Sons|University|"
    r"Hospital|Clinic|School|College|Bank|Insurance|Logistics|Pharmaceuticals|Holdings|Partners)\.?\Z"
)
"""End of a firm's name, whatever the tagger takes it for."""
_HEADS = re.compile(
    r"(?:Ministry|Department|University|Bank|Institute|Board|Office|Faculty|School|College|Bureau|"
    r"Academy|Society|Association|Museum|Church|Bishop|Port|Court|House|Chamber)\Z"
)
"""What may go on with "of" and another name."""
_FOR = re.compile(
    r"(?i)(?<![^\W_])(?:academy|agency|alliance|association|board|bureau|campaign|cent(?:er|re)|clinic|"
    r"coalition|college|commission|committee|council|department|federation|forum|foundation|fund|"
    r"group|home|hospice|hospital|institute|ministry|network|office|school|society|trust|union)\Z"
)
"""What may go on with "for" and another name."""
_FIRM_OF_WORDS = re.compile(
    r"(?i)[\w.&'\u2019-]+ (?:.+ )?(?:academy|airlines|airways|associates|bakery|books|brewery|"
    r"capital|components|consulting|council|county court|court|crown court|dairy|dental|electric|"
    r"electronics|energy|engineering|estates|family court|foods|foundation|freight|group|hospice|"
    r"hotel|industries|infirmary|institute|labs|laboratories|lettings|library|media|ministry|"
    r"motors|museum|nursery|pharmacy|plastics|plumbing|police|press|primary|properties|publishing|"
    r"restaurant|roofing|services|shipping|software|solicitors|solutions|steel|steelworks|studios?|"
    r"surgery|systems|technologies|textiles|theatre|trust|union|ventures|veterinary)\Z"
)
"""A name of several words that ends as names of firms, courts and schools do."""
_POST = re.compile(
    r"(?i)(?:[\w&'\u2019-]+ )*(?:accountant|administrator|adviser|advisor|analyst|architect|"
    r"agent|apprentice|assistant|attorney|buyer|captain|cashier|cleaner|clerk|consultant|controller|coordinator|counsel|developer|"
    r"director|driver|editor|engineer|executive|foreman|gardener|head|inspector|intern|leader|"
    r"lecturer|librarian|manager|nurse|officer|operative|operator|partner|planner|porter|president|programmer|receptionist|recruiter|"
    r"representative|researcher|scientist|secretary|specialist|strategist|supervisor|surgeon|"
    r"teacher|technician|therapist|trainee|treasurer|chef|ceo|cto|cfo|coo)"
    r"(?: (?:of|for) [\w&'\u2019 -]+)?\Z"
)
_OF_POST = re.compile(r"(?i) (?:of|for) (?:the )?")
_DEPARTMENT = re.compile(
    r"(?i)(?:accounting|admissions|analytics|care|communications|compliance|customer|data|design|"
    r"development|education|engineering|facilities|finance|growth|health|human resources|hr|it|"
    r"learning|legal|logistics|marketing|nursing|operations|people|planning|procurement|product|"
    r"production|purchasing|quality|research|risk|safety|sales|security|service|strategy|studies|"
    r"support|technology|training|transport)(?: .+)?"
)
"""A post, as it stands under a name; visible text between it and its department; departments."""
_ABBREVIATED = re.compile(r"(?<![^\W_])[^\W\d_]{1,2}\Z")
_FIRST_OF_TWO = re.compile(r"(?<![^\W_])[A-Z][a-z]{1,11}-\Z")
"""The first part of a given name that is a word too, as in "Per-Erik"."""
_LETTERS_AND = re.compile(r"(?<![^\W_])[A-Z]{1,3}&\Z")
_AND_LETTERS = re.compile(r"&[A-Z]{1,2}(?![^\W_])")
"""Beginning and end of a firm's name whose letters are words too, as "IT" is."""
_INITIAL = re.compile(r"[A-Z]\. ?")
_SAINT = re.compile(r"(?:St|Ste|Mt|Ft)\. ")
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


_Group = tuple[Finding, int, int]
"""A finding with its first and its last run."""


_FULL_NAME = 2  # words


def names_on(
    text: str, run: Run, kinds: list[str | None], language: str = "en"
) -> list[str | None]:
    """Return the classes of a run's words, a name's also for the words with a capital beside it.

    Only the run itself is looked at: "Foods" belongs to the name in "Caldwell Foods", and in German
    "Volksbank" to that in "Volksbank Wiesengrund".
    """
    taken = NAMES if language == "de" else _TRADED
    found = list(kinds)
    for i in range(1, len(found)):
        before, word = (text[slice(*run.words[at])] for at in (i - 1, i))
        if (titled := _TITLED.get(before)) and _beside(text, run, i):
            found[i - 1 : i + 1] = None, titled
        related = language in FOREIGN and before.lower() in _RELATED
        if related and word.lower() in given_names():
            found[i - 1 : i + 1] = None, "PERSON"  # "Sohn Leon", whatever the tagger takes it for
        if (
            before.lower() in given_names()
            and {found[i - 1], found[i]} <= NAMES
            and _beside(text, run, i)
        ):
            found[i - 1] = found[i] = "PERSON"
        if found[i - 1] == "PERSON" and text[run.words[i - 1][1] : run.words[i][0]] == "-":
            found[i] = "PERSON"  # "Ji-woo"
        if {found[i - 1], found[i]} == {"ORGANIZATION", "PRODUCT"} and _beside(text, run, i):
            found[i - 1] = found[i] = "ORGANIZATION"  # "Copperhouse Joinery"
        if len(found) == _FULL_NAME and _beside(text, run, i) and found[i] == "PERSON":
            found[0] = "PERSON" if found[0] in ("ORGANIZATION", "PLACE") else found[0]
        follows = found[i] in NAMES or found[i] == "OCCUPATION"
        unknown = _is_unknown(word, found[i], language)
        other = unknown or (found[i - 1] == "PERSON" and follows)
        if other and found[i - 1] in NAMES and _beside(text, run, i):
            found[i] = found[i - 1]
    for i in reversed(range(1, len(found))):
        before = text[slice(*run.words[i - 1])]
        if found[i] == "PERSON" and before.lower() in _NO_PART:
            continue
        rare = found[i - 1] is None and language != "de" and not public_forms().listed(before)
        if rare and found[i] == "PERSON" and before.istitle() and _beside(text, run, i):
            found[i - 1] = "PERSON"  # "Rhea Banerjee", though dictionaries have the bird
        if found[i - 1] is None and found[i] in taken and _beside(text, run, i):
            first = run.words[i - 1][0]
            found[i - 1] = found[i] if text[first].isupper() else None
    return found


def _is_unknown(word: str, kind: str | None, language: str) -> bool:
    """Return True for a word whose class says nothing: none, or in another language than English
    an illness or the like that no list has.
    """
    if kind in (None, UNKNOWN, "FACT"):
        return True
    told = language != "en" and kind in TOLD
    return told and class_of(word) is None and word.lower() not in told_in(language)


def _beside(text: str, run: Run, number: int) -> bool:
    """Return True if a word of a run has a capital and one space before it."""
    start = run.words[number][0]
    return text[start].isupper() and text[run.words[number - 1][1] : start] == " "


def joined(
    found: Skeleton, words: Sequence[tuple[Finding, int]], declared: Sequence[tuple[int, int]]
) -> Iterator[Finding]:
    """Yield findings of one class that belong together as one, with the visible words around.

    Args:
        words: findings of single words, each with the number of its run.
        declared: stretches that nothing may take in.
    """
    groups: list[_Group] = []
    for each, run in words:
        finding = each
        if groups and _has_initial(found.text, groups[-1][0], each):
            held, first, last = groups[-1]
            groups[-1] = Finding(held.start, held.end, "PERSON"), first, last
            finding = Finding(each.start, each.end, "PERSON")
        if groups and _is_saint(found.text, groups[-1][0], finding):
            held, first, _ = groups[-1]
            kind = finding.kind if held.kind == "PERSON" else held.kind
            groups[-1] = Finding(held.start, finding.end, kind), first, run
            continue
        if groups and _numbered(found.text, groups[-1][0], finding):
            held, first, _ = groups[-1]
            groups[-1] = Finding(held.start, finding.end, "ID"), first, run
            continue
        if groups and groups[-1][0].kind == finding.kind:
            held, first, _ = groups[-1]
            between = found.text[held.end : finding.start]
            apart = (
                overlapping(declared, held.end, finding.start)
                or (held.kind == "NUMBER" and between == " " and not _adds(found, run))
                or (held.kind == "DATE" and _another_day(found, first, groups[-1][2], run))
                or (held.kind == "DATE" and _from_to(found, first, groups[-1][2], run))
            )
            if not apart and _joins(found.text, held, finding):
                groups[-1] = Finding(held.start, finding.end, held.kind), first, run
                continue
        if groups and _is_model(found, groups[-1], run, declared):
            held, first, _ = groups[-1]
            groups[-1] = Finding(held.start, finding.end, "PRODUCT"), first, run
            continue
        if groups and (linked := _linked(found.text, groups[-1][0], finding, declared)):
            held, first, _ = groups[-1]
            groups[-1] = Finding(held.start, finding.end, linked), first, run
            continue
        if groups and _is_post(found.text, groups[-1][0], finding):
            held, first, _ = groups[-1]
            groups[-1] = Finding(held.start, finding.end, "OCCUPATION"), first, run
            continue
        groups.append((finding, run, run))
    groups = _with_partners(found.text, groups)
    at = 0  # where the finding before ends
    for i, (group, first, last) in enumerate(groups):
        low = max(found.runs[first - 1].end if first else 0, group.start - _NEAR)
        high = found.runs[last + 1].start if last + 1 < len(found.runs) else len(found.text)
        finding = Finding(group.start, group.end, _named(found.text, group, low, high))
        wide = _widened(found, finding, first, last)
        following = groups[i + 1][0].start if i + 1 < len(groups) else len(found.text)
        clear = at <= wide.start and wide.end <= following
        if not clear or overlapping(declared, wide.start, wide.end):
            wide = finding
        at = wide.end
        yield wide


_IN_TOWN = re.compile(r"-(?:on|upon|in|by|the|de|la|le|les|sur|sous|en|am|an|der|l['\u2019]?)-")
_OF_FAMILY = re.compile(r" (?:van|von)(?: (?:de|den|der))? ")
_OF_PLACE = re.compile(r" (?:da|do|dos|das) ")
_REIGNED = re.compile(r" (?:II|III|IV) ")
_SITUATED = re.compile(r" (?:an der|am|im|de|del|de la|de los|du|des) ")
"""What is between the parts of names: "Stoke-on-Trent", "van den Berg", "Elizabeth II Hospital",
"Universidad de Yucat\u00e1n", "Unidos da Vila"."""


def _linked(
    text: str, held: Finding, finding: Finding, declared: Sequence[tuple[int, int]]
) -> str | None:
    """Return the class of one name whose parts have two classes, None for two names."""
    kinds = (held.kind, finding.kind)
    if not NAMES.issuperset(kinds) or overlapping(declared, held.end, finding.start):
        return None
    between = text[held.end : finding.start]
    if _IN_TOWN.fullmatch(between):
        return "PLACE" if "PLACE" in kinds else held.kind
    if _OF_FAMILY.fullmatch(between) and held.kind == "PERSON":
        return "PERSON"
    if _REIGNED.fullmatch(between):
        return finding.kind
    if _OF_PLACE.fullmatch(between):
        return held.kind
    situated = held.kind == "ORGANIZATION" and finding.kind != "PERSON"
    return held.kind if situated and _SITUATED.fullmatch(between) else None


def _is_model(found: Skeleton, held: _Group, run: int, declared: Sequence[tuple[int, int]]) -> bool:
    """Return True if a number is that of the model behind a product's name: "Torvik 900".

    Args:
        run: of the number.
    """
    text, number = found.text, found.runs[run]
    product, _, last = held
    if product.kind != "PRODUCT" or last != run - 1 or number.kind != NUMBER:
        return False
    if text[product.end : number.start] != " " or overlapping(declared, product.end, number.start):
        return False
    following = found.runs[run + 1].start if run + 1 < len(found.runs) else len(text)
    return is_of_model(text, number.end, following)


def _adds(found: Skeleton, run: int) -> bool:
    """Return True for a number in words, and for a fraction behind a number: "1 1/2"."""
    number = found.runs[run]
    fraction = FRACTION.fullmatch(found.text, number.start, number.end)
    return number.kind == NUMERAL or fraction is not None


def _another_day(found: Skeleton, first: int, last: int, run: int) -> bool:
    """Return True if a day follows that is another one of a list: "3 May 2024, 14 March 2023".

    Which runs are numbers is public, as is the text between runs; their letters are not read.

    Args:
        first, last: runs of the date before the comma. run: the one behind it.
    """
    text, runs = found.text, found.runs
    if text[runs[last].end : runs[run].start] != ", " or not runs[last].is_number:
        return False
    if not runs[run].is_number or all(run.is_number for run in runs[first : last + 1]):
        return True
    if run + 1 == len(runs) or runs[run + 1].is_number:
        return False
    return _TO_MONTH.fullmatch(text, runs[run].end, runs[run + 1].start) is not None


def _from_to(found: Skeleton, first: int, last: int, run: int) -> bool:
    """Return True for the last day of a stretch whose first has a month too: "3 May - 9 June".

    Args:
        first, last: runs of the date before the dash. run: the one behind it.
    """
    text, runs = found.text, found.runs
    if _DASH.fullmatch(text, runs[last].end, runs[run].start) and (
        _is_timed(text, runs[last]) and _is_timed(text, runs[run])
    ):
        return True  # "9:00 - 17:30"
    if _DASH.fullmatch(text, runs[last].end, runs[run].start) is None:
        dashed = _MONTH_DASH.fullmatch(text, runs[last].end, runs[run].start)
        return dashed is not None and _has_month(found, run)
    return _has_month(found, first) and _has_month(found, run)


def _is_timed(text: str, run: Run) -> bool:
    """Return True for a number with a colon in it, or with letters behind: "9:00", "4pm"."""
    lettered = text[run.start].isdigit() and text[run.end - 2 : run.end].lower() in ("am", "pm")
    return lettered or (
        run.is_number and ":" in (text[a[1] : b[0]] for a, b in pairwise(run.words))
    )


def _has_month(found: Skeleton, run: int) -> bool:
    """Return True for a day behind which, or before which, a month follows: a word or visible."""
    text, runs = found.text, found.runs
    if not runs[run].is_number:
        return True
    end = runs[run + 1].start if run + 1 < len(runs) else len(text)
    if _MONTH_AFTER.match(text, runs[run].end, end):
        return True
    if run + 1 == len(runs) or runs[run + 1].is_number:
        return False
    return _TO_MONTH.fullmatch(text, runs[run].end, end) is not None


_DASH = re.compile(r" ?[-\u2013] ?")
_MONTH_DASH = re.compile(rf" {MONTH}\.? ?[-\u2013] ?")
_MONTH_AFTER = re.compile(rf"(?:st|nd|rd|th|\.)? (?:of )?{MONTH}\b")
_TO_MONTH = re.compile(r"(?:st|nd|rd|th|\.)? (?:of )?")
"""Text between a day and its month."""


def _joins(text: str, held: Finding, finding: Finding) -> bool:
    """Return True if what is between two findings of one class is a part of one name.

    "Dunlevy and Aqua-Tek" may be one firm, "works for Dunlevy" is none.
    """
    between = text[held.end : finding.start]
    if held.kind == "DATE" and between == ". ":
        # "3. März" is no end of a sentence. That one is a number and the other a word is public;
        # which word it is must not decide about its neighbour (theorem B).
        return text[held.start : held.end].isdecimal() and text[finding.start].isalpha()
    if _JOINS.get(held.kind, _JOIN).fullmatch(between) is None:
        return False
    if text[held.start : held.end] == text[finding.start : finding.end]:
        return between in ("-", " ")  # "Leeds and Leeds" is a place, twice
    if between.startswith(".") and held.kind in NAMES:
        # The dot of "J. Lund" and "St. Ebba" is no end of a sentence.
        return _ABBREVIATED.search(text[held.start : held.end]) is not None
    if between.startswith(" for ") and _FOR.search(text, held.start, held.end) is None:
        return False  # somebody left the one for the other
    alike = text[held.start].isupper() == text[finding.start].isupper()
    return alike or held.kind not in NAMES or not any(map(str.isalpha, between))


def _named(text: str, finding: Finding, low: int, high: int) -> str:
    """Return the class of a finding: of a name, by its given name, end, or place if it has one.

    Args:
        low, high: where visible text before and after it ends: another run is not read.
    """
    treated = finding.kind == UNKNOWN and is_treated(text[:high], finding.end)
    if treated or finding.kind not in {*NAMES, UNKNOWN}:
        return _of_no_name(text[:high], finding)
    start, written = finding.start, text[finding.start : finding.end]
    words = written.split()
    given = len(words) <= _MOST_NAMES and words[0].lower() in given_names()
    if finding.kind != UNKNOWN:
        if _FIRM.search(written) or _FIRM_OF_WORDS.fullmatch(written):
            return "ORGANIZATION"
        if given:
            return "PERSON"
        if _POST.fullmatch(written):
            return "OCCUPATION"
    placed = written[0].isupper() and written.lower() in words_of("places")
    titled = placed and TITLE.search(text[low:start])
    return "PLACE" if placed and not titled else finding.kind


def _of_no_name(text: str, finding: Finding) -> str:
    """Return the class of a finding that is no name: posts and treatments are told by words."""
    written = text[finding.start : finding.end]
    if finding.kind in TOLD and written[0].isupper() and _POST.fullmatch(written):
        return "OCCUPATION"
    treated = finding.kind in ("CONDITION", "FACT", UNKNOWN) and is_treated(text, finding.end)
    return "TREATMENT" if treated else finding.kind


def _is_saint(text: str, held: Finding, finding: Finding) -> bool:
    """Return True if two findings are a name such as "St. Erik": its dot ends no sentence."""
    return (
        {held.kind, finding.kind} <= NAMES
        and text[finding.start].isupper()
        and _SAINT.fullmatch(text, held.start, finding.start) is not None
    )


def _has_initial(text: str, held: Finding, finding: Finding) -> bool:
    """Return True if two findings are a person's initial and name, such as "M. Castellano"."""
    return (
        {held.kind, finding.kind} <= NAMES
        and text[finding.start].isupper()
        and _INITIAL.fullmatch(text, held.start, finding.start) is not None
    )


def _with_partners(text: str, groups: Sequence[_Group]) -> list[_Group]:
    """Return groups of findings, those of one name as one: "Aster & Vale Ltd", "Bank of Ulm"."""
    merged: list[_Group] = []
    for group in groups:
        finding, _, last = group
        held, first, _ = merged[-1] if merged else group
        between = text[held.end : finding.start]
        partner = between == " & " and _FIRM.search(text[finding.start : finding.end])
        head = {"of": _HEADS, "for": _FOR}.get(between[1:].split(" ")[0])
        between_names = between in (" of ", " of the ", " for ", " for the ")
        headed = between_names and head and head.search(text[held.start : held.end])
        if {held.kind, finding.kind} <= NAMES and (partner or headed):
            merged[-1] = Finding(held.start, finding.end, "ORGANIZATION"), first, last
        else:
            merged.append(group)
    return merged


def _is_post(text: str, held: Finding, finding: Finding) -> bool:
    """Return True if two findings are one post, such as "Head of Procurement"."""
    return (
        _DEPARTMENT.fullmatch(text, finding.start, finding.end) is not None
        and held.kind in {*NAMES, "OCCUPATION"}
        and _OF_POST.fullmatch(text, held.end, finding.start) is not None
        and _POST.fullmatch(text, held.start, held.end) is not None
    )


def _numbered(text: str, held: Finding, finding: Finding) -> bool:
    """Return True if two findings are one number with its letters: "OPS-4471", "88-213-K"."""
    if text[held.end : finding.start] != "-":
        return False
    first, last = text[held.start : held.end], text[finding.start : finding.end]
    prefixed = _PREFIX.fullmatch(first) is not None and last.isdecimal()
    return prefixed or (first[-1].isdecimal() and len(last) == 1 and last.isupper())


def _widened(found: Skeleton, finding: Finding, first: int, last: int) -> Finding:
    """Return a finding with the visible words that belong to it: a currency, a unit, a weekday.

    Only visible text and the finding's own runs, `first` to `last`, are looked at.
    """
    text, runs = found.text, found.runs
    start, end = finding.start, finding.end
    low = max(runs[first - 1].end if first else 0, start - _NEAR)
    high = min(runs[last + 1].start if last + 1 < len(runs) else len(text), end + _NEAR)
    if runs[last].kind == NUMERAL and (match := _ONES.match(text[end:high])):
        end += len(match.group())
    if finding.kind in NAMES:
        letters, more = _LETTERS_AND.search(text[low:start]), _AND_LETTERS.match(text[end:high])
        start -= len(letters.group()) if letters else 0
        end += len(more.group()) if more else 0
    if finding.kind == "PERSON" and (match := _FIRST_OF_TWO.search(text[low:start])):
        start -= len(match.group())
    return Finding(*with_words(text, finding.kind, start, end, low, high), finding.kind)


_TAKES_IN = TOLD | {"TREATMENT", "OCCUPATION", "SEXUALITY", "FAMILY", UNKNOWN}
"""Classes of findings that a phrase around them takes in."""


_SLOTS = {"PERSON": PERSON_SLOT, "OCCUPATION": POST_SLOT}


def with_said(
    found: Skeleton,
    things: Sequence[Finding],
    closed: Sequence[tuple[int, int]],
    language: str = "en",
) -> list[Finding]:
    """Return findings and, with them, what phrases and posts of everyday words tell of somebody.

    A phrase is looked for in visible text and, at most, one hidden run beside it.

    Args:
        closed: stretches that nothing may take in, ascending. language: of the phrases; what
            somebody works as and names of everyday words are told in English alone.
    """
    shown, starts = _shown(found, things)
    if not is_of_somebody(shown):
        return list(things)
    said = [
        Said(starts[each.start], starts[each.end - 1] + 1, each.kind)
        for each in ((*names_in(shown), *posts_in(shown)) if language == "en" else ())
    ]
    said += _phrases_around(found, language)
    spans = [(each.start, each.end, each) for each in things]
    taken_in: set[Finding] = set()
    added: list[Finding] = []
    for each in sorted(said, key=lambda one: (one.start, -one.end)):
        again = added and each.start < added[-1].end
        if again or overlapping(closed, each.start, each.end):
            continue
        within = [thing for *_, thing in overlapping(spans, each.start, each.end)]
        takes_in = _TAKES_IN | NAMES if each.kind in NAMES else _TAKES_IN
        if not all(one.kind in takes_in and one not in taken_in for one in within):
            continue
        start = min([each.start, *(one.start for one in within)])
        end = max([each.end, *(one.end for one in within)])
        told = within and each.kind not in NAMES and within[0].kind != UNKNOWN
        added.append(Finding(start, end, within[0].kind if told else each.kind))
        taken_in.update(within)
    kept = [each for each in things if each not in taken_in]
    return sorted([*kept, *added], key=lambda one: one.start)


def _shown(found: Skeleton, things: Sequence[Finding]) -> tuple[str, list[int]]:
    """Return the visible text, a slot for each hidden run, and the offset of each character."""
    spans = [(each.start, each.end, each.kind) for each in things]
    parts, starts, at = list[str](), list[int](), 0
    for run in found.runs:
        within = overlapping(spans, run.start, run.end)
        kind = within[0][2] if within else ""
        parts += [found.text[at : run.start], _SLOTS.get(kind, SLOT)]
        starts += [*range(at, run.start), run.start]
        at = run.end
    return "".join([*parts, found.text[at:]]), [*starts, *range(at, len(found.text))]


def _phrases_around(found: Skeleton, language: str) -> Iterator[Said]:
    """Yield the listed phrases in visible text, and those that a hidden run is a part of."""
    text, runs = found.text, found.runs
    ends = [0, *(run.end for run in runs)]
    begins = [*(run.start for run in runs), len(text)]
    for low, high in zip(ends, begins, strict=True):
        yield from phrases_in(text, low, high, language)
    for number, run in enumerate(runs):
        if not run.is_number:
            low, high = (
                max(ends[number], run.start - _NEAR),
                min(begins[number + 1], run.end + _NEAR),
            )
            around = phrases_in(text, low, high, language)
            yield from (one for one in around if one.start < run.end and run.start < one.end)
