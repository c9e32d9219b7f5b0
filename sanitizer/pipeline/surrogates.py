"""Surrogates: what is released in place of each thing, and the identifiers that have one already.

The table of the conversation, in the vault, decides: a thing keeps its surrogate, a placeholder, a
value of the same form, a natural name, or a draw.

What a finder takes for an identifier depends on what stands next to it: "a078-05-1120b" is a number
to nobody. Once one is in the table of the conversation, it is hidden there too. So is what reads as
a placeholder of the conversation ("Person 48213-1"): in an answer it would be restored. Only texts
that are the user's are searched; what an API wrote or could know is never compared with the table.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from itertools import islice

from sanitizer.answers.lexical import plural_of
from sanitizer.answers.restorer import Restorer
from sanitizer.detect.classes import list_of
from sanitizer.detect.view import is_everyday
from sanitizer.errors import VaultError
from sanitizer.identifiers.search import same_form
from sanitizer.pipeline.classes import ClassDraws
from sanitizer.pipeline.names import OF_PEOPLE, Names, plural_places
from sanitizer.randomness import Source
from sanitizer.results import Replacement, SanitizedText
from sanitizer.storage.table import (
    MAX_FORMED,
    NATURAL,
    Drawn,
    Entries,
    Originals,
    Wanted,
    same_thing,
)
from sanitizer.text.policy import CLASSES, Policy
from sanitizer.text.words import Segmented, Unit, cased, overlapping, random_number

APART = "apart"
"""Place of things in texts that an API may know; also the role of such texts."""
UNKNOWN = "unknown"
"""Role of texts that may hold originals beside guesses of an API at them: no thing in one is told
from another, and none is restored."""
_UNFORMED = ("TEXT", "TERM", "NUMBER", "PERSON", "PLACE", "ORGANIZATION")
"""Kinds without a form of which another realistic value could be made."""
_ROOM = 2
"""Numbers of a placeholder, beside which a third one is read."""
_FORMS, _MARKS = ("prose", "quoted", "tag", "bare"), '<>"_'
_PLACEHOLDER = re.compile(r"<[A-Z]+(?:_[A-Z]+)*(?:_[0-9]+){1,3}>")

Span = tuple[int, int, str]
Kinds = Callable[[Collection[str]], Mapping[str, str]]
"""Function: forms -> the class of each that is a thing of the conversation."""

PREFIX = 3
"""Characters by which an identifier is looked for, and the fewest that it has."""
SURE = 8
"""Letters and digits of an identifier that is found inside of longer words and numbers too."""
LONG = 5
"""Letters and digits of an ID that is told apart where no detector reads."""
MAX_NUMBER = 40
"""Characters of the longest number that is compared by its value."""

_SPACED = re.compile(
    r"(?<![\w.,])\(?\+?[0-9](?:[ ()./-]{0,2}[0-9]){6,19}(?![\w]|[.,][0-9])", re.ASCII
)
"""A number that is long enough to be one identifier, however its digits are grouped."""
_NUMERIC = re.compile(r"[0-9eE\s().+/-]*[0-9][0-9eE\s().+/-]*", re.ASCII)
_ROLES = frozenset(["NUMBER", "DATE", "MONEY"])  # private by their role, and so not linked


def count_draws(table: Entries, segmented: Segmented, policy: Policy, place: str) -> int:
    """Return how many surrogates of a text will be drawn within their classes: for new things.

    Raises:
        VaultError: the table has no room for all that is new.
    """
    wanted, concepts = _wanted(segmented, place, policy)
    new = {each for each in wanted if (each.original, place) not in table.values}
    if not any(each[:2] in concepts for each in new):
        return 0
    table.make_room(len(new))  # and bring it up to date
    known: set[object] = set() if place else set(table.things)
    n_new = 0
    for i in _names_first(wanted):
        each = wanted[i]
        keys = {each.original} if place else {each.thing, same_thing(each.original)}
        is_new = (each.original, place) not in table.values and known.isdisjoint(keys)
        n_new += is_new and each[:2] in concepts
        known |= keys
    return max(0, min(n_new, policy.max_drawn - len(table.drawn)))


def surrogates(
    table: Entries,
    text: str,
    segmented: Segmented,
    policy: Policy,
    source: Source,
    place: str = "",
    draws: ClassDraws | None = None,
    n_draws: int = 0,
) -> list[str | None]:
    """Return what is released for each unit; None for a word that is drawn by its context.

    Args:
        table: of the conversation, being edited. text: the original. segmented: its units.
        place: APART for texts that are not the user's: equal things are not linked.
        draws: of classes. n_draws: how many are paid; what else would be drawn gets a placeholder.

    Raises:
        VaultError: the table is full.
    """
    units = segmented.units
    hidden = [unit for unit in units if unit.kind.isupper()]
    wanted, concepts = _wanted(segmented, place, policy)
    natural = policy.natural if place == "" else ()
    names = Names(text, segmented, natural) if natural else None
    coded = {unit.text for unit in hidden if unit.form == "quoted"}
    earlier = set(table.kinds(coded)) if coded else set()
    gone = {*table.drawn, *table.left}
    values: dict[int, str] = {}
    for i in _names_first(wanted):
        each = wanted[i]
        value = table.find(each)
        while value is None:
            number, made = table.number(each), None
            if n_draws and draws is not None and (concept := concepts.get(each[:2])):
                n_draws -= 1
                made = draws.draw(list_of(each.kind, concept), concept, gone, source)
                made = None if made is None else Drawn(made, draws.epsilon)
                gone |= {made} if made else set()
            elif names is not None:
                made = names.draw(each.kind, each.original, table.originals.marks, source)
            value = table.assign(each, made or plain(table, each, number, policy.style, source))
        values[i] = value
    people = any(unit.kind in OF_PEOPLE for unit in hidden)
    plural = plural_places(text, units) if people else ()
    written = iter(
        [
            _in_place(table, text, unit, values[i], coded, earlier, unit.start in plural)
            for i, unit in enumerate(hidden)
        ]
    )
    return [
        next(written)
        if unit.kind.isupper()
        else random_number(unit.text, source)
        if unit.kind == "number"
        else None
        for unit in units
    ]


def without_number(unit: Unit) -> str:
    """Return the placeholder of a unit in a text of role UNKNOWN: its class alone."""
    return _as_form(f"<{unit.kind.upper()}>", unit.form)


def _wanted(
    segmented: Segmented, place: str, policy: Policy
) -> tuple[list[Wanted], dict[tuple[str, str], str]]:
    """Return the forms that go to the vault, and (class, form) -> member, of those to be drawn."""
    hidden = [unit for unit in segmented.units if unit.kind.isupper()]
    wanted = [Wanted(unit.kind, unit.text, unit.concept.lower(), place) for unit in hidden]
    listed = [unit for unit in hidden if unit.concept and unit.kind in policy.drawn]
    return wanted, {(unit.kind, unit.text): unit.concept for unit in listed}


def _names_first(wanted: Sequence[Wanted]) -> list[int]:
    """Return the order in which things are made: a person's name before a part of it.

    So "Tom" belongs to "Tom Bell" although it occurs before.

    >>> _names_first([Wanted("PERSON", "Tom"), Wanted("ID", "7"), Wanted("PERSON", "Tom Bell")])
    [2, 0, 1]
    """
    people = [each.original.lower() for each in wanted if each.kind == "PERSON"]
    parts = {name for name in people if " " not in name}
    whole = {name for name in people if " " in name and not parts.isdisjoint(name.split())}
    first = [i for i, each in enumerate(wanted) if each.original.lower() in whole]
    return [*first, *sorted(set(range(len(wanted))) - set(first))]


def plain(table: Entries, wanted: Wanted, number: int, style: str, source: Source) -> str:
    """Return a value that is made without a draw.

    An original that has no other value of its form, or a number above `MAX_FORMED`, gets a
    placeholder.

    Guarantee: a placeholder tells the kind and a running number only; a value of the same form
    tells its form too.
    """
    if style == "same-form" and wanted.kind not in _UNFORMED and number <= MAX_FORMED:
        with suppress(ValueError):
            return same_form(wanted.kind, wanted.original, source)
    return table.placeholder(wanted.kind, number)


def _in_place(
    table: Entries,
    text: str,
    unit: Unit,
    value: str,
    coded: Collection[str],
    earlier: Collection[str],
    many: bool,
) -> str:
    """Return a value in the form of its place; the forms of placeholders are kept in the table.

    A placeholder keeps its number: `<PERSON_1>` in prose is PERSON_1 where a name of code stands.

    Args:
        coded: forms at bare places of this text. earlier: those of them that are things of the
            conversation already, and may have left between quotes. many: the place takes a plural.
    """
    if not _PLACEHOLDER.fullmatch(value):
        if unit.kind not in NATURAL:
            return cased((plural_of(value) if many else None) or value, unit.opens_sentence)
        if unit.form == "prose":
            return value
        wanted = Wanted(unit.kind, unit.text, place=unit.form)  # two words are no name of code
        kept = table.find(wanted)
        while kept is None:
            # numbered with all others, whose names in code it must not have
            made = table.placeholder(unit.kind, table.number(wanted._replace(place="")))
            kept = table.assign(wanted, _as_form(made, unit.form))
        return kept
    if coded or '"' in text:
        value = _told_apart(table, text, unit, value, coded, earlier)
    return value if unit.form == "prose" else _once(table, unit.kind, unit.text, unit.form, value)


def _told_apart(
    table: Entries,
    text: str,
    unit: Unit,
    value: str,
    coded: Collection[str],
    earlier: Collection[str],
) -> str:
    """Return a placeholder, or another one, so that a bare place of code is no string of the same.

    The placeholder of 622 in `{"n": 622}` leaves in quotes, which are not put back; that of 622 in
    `{"n": "622"}` stands between quotes that stay. So one of the two has another name: the one that
    comes later, or the string, if both are in one text.
    """
    originals = table.originals
    before, after = text[unit.start - 1 : unit.start], text[unit.end : unit.end + 1]
    if unit.form == "quoted":
        apart = unit.text in earlier and originals.get(f'"{value}"') != unit.text
    else:
        is_string = unit.form == "prose" and before == after == '"'
        both = unit.text in coded and unit.text not in earlier
        apart = is_string and (both or f'"{value}"' in originals)
    if not apart:
        return value
    wanted = Wanted(unit.kind, unit.text, place="other")
    other = table.find(wanted)
    if other is None and value.count("_") <= _ROOM + unit.kind.count("_"):
        other = table.assign(wanted, f"{value[:-1]}_0>")  # of the same number
    return table.hide(wanted) if other is None else other


def _once(table: Entries, kind: str, original: str, form: str, placeholder: str) -> str:
    """Return a placeholder as it is kept for places of this form; VaultError if that is taken."""
    wanted = Wanted(kind, original, place=form)
    kept = table.find(wanted) or table.assign(wanted, _as_form(placeholder, form))
    if kept is None:
        raise VaultError("a placeholder of code is taken already")
    return kept


def _as_form(placeholder: str, form: str) -> str:
    """Return a placeholder as a place of code takes it: quoted, or as a name."""
    if form == "prose":
        return placeholder
    if form == "quoted":
        return f'"{placeholder}"'
    return placeholder.strip("<>") + "_" * (form == "tag")


def again(table: Entries, result: SanitizedText) -> SanitizedText:
    """Return a result with the table's values for its things, made if missing; raise VaultError."""

    def value_of(each: Replacement) -> str:
        has_one = each.kind.isupper() and each.original  # pickled ones have none
        return _value_again(table, each) if has_one else each.replacement

    return _rewritten(result, value_of)


UNSENT = "(drawn when sent)"
"""What a preview shows in place of what is drawn: nobody shall choose the best of many draws."""


def undrawn(result: SanitizedText, before: Originals) -> SanitizedText:
    """Return a result that shows `UNSENT` in place of all that was drawn at random for it.

    Args:
        before: what stood for what before; that and placeholders are shown.
    """
    known = {
        value.lower() for value in (*before, *before.parts, *map(plural_of, before.drawn)) if value
    }

    def value_of(each: Replacement) -> str:
        value = each.replacement
        shown = value.startswith("<") or _PLACEHOLDER.fullmatch(f"<{value.strip(_MARKS)}>")
        is_known = each.kind.isupper() and (shown or value.lower() in known)
        return value if is_known else each.original if each.kind == "article" else UNSENT

    return _rewritten(result, value_of)


def _rewritten(result: SanitizedText, value_of: Callable[[Replacement], str]) -> SanitizedText:
    """Return a result with other values in place of its things."""
    written: list[str] = []
    replacements = []
    at = length = 0
    for each in result.replacements:
        before, value = result.text[at : each.start], value_of(each)
        start = length + len(before)
        length, at = start + len(value), each.end
        written += [before, value]
        replacements.append(replace(each, start=start, end=length, replacement=value))
    text = "".join([*written, result.text[at:]])
    return replace(result, text=text, replacements=tuple(replacements))


def _value_again(table: Entries, each: Replacement) -> str:
    wanted = Wanted(each.kind, each.original)
    prose = f"<{each.replacement.strip(_MARKS)}>"
    forms = _FORMS if _PLACEHOLDER.fullmatch(prose) else ()
    form = next((form for form in forms if _as_form(prose, form) == each.replacement), None)
    value = table.find(wanted)
    if value is None and form is None:  # of the same form: it stays unless it is taken
        value = table.assign(wanted, each.replacement)
    value = value or table.hide(wanted)
    if form is None or form == "prose" or not _PLACEHOLDER.fullmatch(value):
        return value
    return _once(table, each.kind, each.original, form, value)


LONGEST_REST = 64
"""Letters and digits on each side of a known identifier that are hidden with it."""
_TOKEN_BEFORE = re.compile(r"[A-Za-z0-9]+\Z")
_TOKEN_REST = re.compile(rf"[A-Za-z0-9]{{1,{LONGEST_REST}}}")


class KnownIdentifiers:
    """The identifiers of one conversation; safe for many threads.

    Kept up to date with the vault's `Originals`, which are never copied: each call of `follow`
    looks at new ones only.

    Args:
        kinds: tells the class of an original.
        detected: classes whose things are for a detector, which says where each stands. All by
            default.
    """

    def __init__(self, kinds: Kinds, detected: Collection[str] | None = None) -> None:
        self._kinds_of = kinds
        self._detected = CLASSES if detected is None else detected
        self._lock = threading.Lock()
        self._clear(Originals())

    def _clear(self, source: Originals) -> None:
        self._source = source
        self._n_seen = 0
        self._kinds: dict[str, str] = {}
        self._numbers: dict[str, str] = {}
        self._prefixes: set[str] = set()
        self._firsts: set[str] = set()
        self._begin: re.Pattern[str] | None = None
        self._lengths: tuple[int, ...] = ()

    def follow(self, originals: Originals) -> None:
        """Add the originals that are new since the last call."""
        if originals is self._source and len(originals) == self._n_seen:
            return
        with self._lock:
            if originals is not self._source:
                self._clear(originals)
            new = _after(originals, self._n_seen)
            self._n_seen += len(new)
            n_firsts = len(self._firsts)
            wanted = {form: value for value, form in new if value not in originals.drawn}
            for form, kind in self._kinds_of(wanted).items():
                if self._is_told_apart(form, kind):
                    self._add(form, kind)
                    self._numbers |= dict.fromkeys(_spellings(form), form)
            if len(self._firsts) > n_firsts:
                firsts = "".join(sorted(self._firsts))
                self._begin = re.compile(f"[{re.escape(firsts)}]")

    def _is_told_apart(self, form: str, kind: str) -> bool:
        """Return True if a form means the same thing wherever it stands."""
        if kind in _ROLES or len(form) < PREFIX or kind in self._detected:
            return False
        if kind in CLASSES and sum(map(str.isalnum, form)) < LONG:
            return False
        return not (form.isalpha() and is_everyday(form))

    def _add(self, form: str, kind: str) -> None:
        self._kinds[form] = kind
        self._prefixes.add(form[:PREFIX])
        self._firsts.add(form[0])
        if len(form) not in self._lengths:
            self._lengths = tuple(sorted({*self._lengths, len(form)}, reverse=True))

    def spans(self, text: str) -> list[Span]:
        """Return (start, end, class) of what is found, ascending and apart; the longest wins."""
        found: list[Span] = []
        if any(tag in text for tag in self._source.tags):
            spelled = Restorer(self._source, links=None).spelled(text)
            found = [(start, end, "TEXT") for start, end in spelled]
        for some in (self._found(text), self._grouped(text)):
            apart = [span for span in some if not overlapping(found, *span[:2])]
            found = sorted([*found, *apart])
        return found

    def _found(self, text: str) -> Iterator[Span]:
        begin = self._begin
        if begin is None:
            return
        done = 0
        for match in begin.finditer(text):
            at = match.start()
            if at < done or text[at : at + PREFIX] not in self._prefixes:
                continue
            if (form := self._longest(text, at)) is not None:
                # The rest of a longer token would tell of the whole: "00412557093".
                start = _TOKEN_BEFORE.search(text, max(done, at - LONGEST_REST), at)
                rest = _TOKEN_REST.match(text, at + len(form))
                done = rest.end() if rest else at + len(form)
                yield start.start() if start else at, done, self._kinds[form]

    def _grouped(self, text: str) -> Iterator[Span]:
        """Yield numbers whose digits are those of an identifier, in other groups."""
        if not self._numbers:
            return
        for match in _SPACED.finditer(text):
            if (wanted := self.number(match[0])) is not None:
                yield *match.span(), wanted.kind

    def number(self, spelling: str) -> Wanted | None:
        """Return the identifier that a JSON number is; None for any other."""
        forms = (self._numbers[s] for s in _spellings(spelling) if s in self._numbers)
        return next((Wanted(self._kinds[form], form) for form in forms), None)

    def _longest(self, text: str, at: int) -> str | None:
        """Return the longest form that occurs here on its own, or is sure."""
        for length in self._lengths:
            form = text[at : at + length]
            if (kind := self._kinds.get(form)) is None:
                continue
            sure = kind not in CLASSES and sum(map(str.isalnum, form)) >= SURE
            if sure or not (_joined(text, at) or _joined(text, at + length)):
                return form
        return None


def _joined(text: str, at: int) -> bool:
    """Return True if a place is inside of a word or of a number."""
    if not 0 < at < len(text):
        return False
    before, after = text[at - 1], text[at]
    return (before.isalpha() and after.isalpha()) or (before.isdigit() and after.isdigit())


def _after(originals: Originals, n_seen: int) -> list[tuple[str, str]]:
    """Return the pairs that were added after the first `n_seen`."""
    # Counted from the end, since there may be many before; again if another thread adds meanwhile.
    while True:
        n = len(originals)
        new = list(islice(reversed(originals.items()), max(0, n - n_seen)))
        if len(originals) == n:
            return new[::-1]


def _spellings(text: str) -> set[str]:
    """Return what a number is compared by: its digits, and its value; nothing if it is none."""
    if len(text) > MAX_NUMBER or not _NUMERIC.fullmatch(text):
        return set()
    found = {re.sub(r"[^0-9]", "", text).lstrip("0") or "0"} if "e" not in text.lower() else set()
    try:
        value = abs(Decimal(text))
    except InvalidOperation:
        return found
    if abs(value.adjusted()) < MAX_NUMBER:
        found.add(f"{value.normalize():f}")
    return found
