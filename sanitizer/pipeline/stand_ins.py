"""What is released in place of each thing: a placeholder, a value of the same form, or a draw.

The table of the conversation, in the vault, decides: a thing keeps its stand-in.

Natural names ("Lena Okoro" for a person, a firm or a place) come from packaged public lists. What
is drawn depends on visible text and on earlier stand-ins: the language, a title or a pronoun beside
the place, words that a name must not be taken for. Nothing is excluded, or chosen, because of the
name that is replaced: the same random numbers give the same name for any other.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from typing import NamedTuple

from sanitizer.answers import plural_of
from sanitizer.detect import list_of
from sanitizer.errors import VaultError
from sanitizer.identifiers import same_form
from sanitizer.pipeline.classes import ClassDraws
from sanitizer.pipeline.known import KnownIdentifiers
from sanitizer.randomness import Source
from sanitizer.results import Replacement, SanitizedText
from sanitizer.storage import (
    MAX_FORMED,
    NATURAL,
    Drawn,
    Entries,
    Vault,
    Wanted,
    name_marks,
    placeholders,
    same_thing,
)
from sanitizer.text import CLASSES, Policy, Segmented, Unit, cased, random_number, word_list

Charge = Callable[[float, int], None]
"""Function (epsilon of one draw, how many draws) that reserves their price; it raises
BudgetExceeded, and then has reserved nothing."""

Make = Callable[[str, str, int, Entries], str]
"""Function (kind, original, number, table) -> a value to release for the first form of a thing.

It is called again with the next number while the value is taken.
"""

APART = "apart"
"""Place of things in texts that an API may know; also the role of such texts."""
_UNFORMED = ("TEXT", "TERM", "NUMBER", "PERSON", "PLACE", "ORGANIZATION")
"""Kinds without a form of which another realistic value could be made."""
_ROOM = 2  # numbers of a placeholder, beside which a third one is read
_FORMS, _MARKS = ("prose", "quoted", "tag", "bare"), '<>"_'
_PLACEHOLDER = re.compile(r"<[A-Z]+(?:_[A-Z]+)*(?:_[0-9]+){1,3}>")


class StandIns:
    """Makes the released values of one Sanitizer.

    Args:
        policy: which classes are drawn, how many things of a conversation, and the style of values.
        vault: holds the tables. conversation: whose table is used.
    """

    def __init__(self, policy: Policy, vault: Vault, conversation: str) -> None:
        self._policy, self._vault, self._conversation = policy, vault, conversation
        detected = CLASSES if policy.detector != "none" else set(CLASSES) - {"ID"}
        self._identifiers = KnownIdentifiers(self.known, detected)

    def known(self, forms: Collection[str]) -> Mapping[str, str]:
        """Return form -> class of those forms that are things of the conversation already."""
        return self._vault.known(self._conversation, forms)

    def identifiers(self) -> KnownIdentifiers:
        """Return what finds the identifiers of the conversation; raise VaultError."""
        self._identifiers.follow(self._vault.originals(self._conversation))
        return self._identifiers

    def value_of(self, kind: str, form: str) -> str:
        """Return the released value that a form of the table has."""
        wanted = [Wanted(kind, form)]
        (value,) = placeholders(self._vault, self._conversation, wanted)
        return value

    def _assigned(self, wanted: Sequence[Wanted], make: Make) -> list[str]:
        """Return the released values of forms, in order; those that have none are made."""
        if not wanted:
            return []
        with self._vault.edit(self._conversation) as table:
            new = [each for each in dict.fromkeys(wanted) if table.find(each) is None]
            if new:
                table.make_room(len(new))
            for each in new:
                value = table.find(each)
                while value is None:
                    number = table.number(each)
                    value = table.assign(each, make(each.kind, each.original, number, table))
            return [str(table.find(each)) for each in wanted]

    def again(self, result: SanitizedText) -> SanitizedText:
        """Return a result with the values that the table has for its things, made if it has none.

        Raises:
            VaultError: the table is full or cannot be written.
        """
        written: list[str] = []
        replacements = []
        at = length = 0
        for each in result.replacements:
            before = result.text[at : each.start]
            value = each.replacement
            if each.kind.isupper() and each.original:  # pickled ones have none
                value = self._value_again(each)
            start = length + len(before)
            length, at = start + len(value), each.end
            written += [before, value]
            replacements.append(replace(each, start=start, end=length, replacement=value))
        text = "".join([*written, result.text[at:]])
        return replace(result, text=text, replacements=tuple(replacements))

    def _value_again(self, each: Replacement) -> str:
        shown = [each.replacement]  # of the same form: it stays unless it is taken
        form = _form_of(each.replacement)

        def make(kind: str, original: str, number: int, table: Entries) -> str:
            is_plain = form is not None or not shown
            return table.placeholder(kind, number) if is_plain else shown.pop()

        wanted = Wanted(each.kind, each.original)
        (value,) = self._assigned([wanted], make)
        if form is None or form == "prose" or not _PLACEHOLDER.fullmatch(value):
            return value
        made = _once(_as_form(value, form))
        (kept,) = self._assigned([wanted._replace(place=form)], made)
        return kept

    def values(
        self,
        text: str,
        segmented: Segmented,
        source: Source,
        draws: ClassDraws | None = None,
        charge: Charge = lambda epsilon, n_draws: None,
        place: str = "",
    ) -> list[str | None]:
        """Return the released value of each unit; None for a word that is drawn by its context.

        Args:
            text: the original. segmented: its units.
            draws: of classes; None where nothing is drawn, and what would be gets a placeholder.
            charge: called before the first draw, for all of them, so that nothing is charged for
                a text that cannot be paid as a whole.
            place: APART for texts that are not the user's: equal things are not linked.

        Raises:
            VaultError: the table is full or cannot be written.
            BudgetExceeded: by `charge`; nothing was drawn.
        """
        units = segmented.units
        if not units:
            return []
        policy = self._policy
        hidden = [unit for unit in units if unit.kind.isupper()]
        wanted = [Wanted(unit.kind, unit.text, unit.concept.lower(), place) for unit in hidden]
        concepts = {(unit.kind, unit.text): unit.concept for unit in hidden if unit.concept}
        plain = maker(policy.style, source)
        natural = policy.natural if place == "" else ()
        names = Names(text, segmented, natural) if natural else None
        to_draw = [each for each in wanted if (each.kind, each.original) in concepts]
        n_paid = 0

        def make(kind: str, original: str, number: int, table: Entries) -> str:
            nonlocal n_paid
            name = concepts.get((kind, original))
            if draws is not None and name and len(table.drawn) < policy.max_drawn:
                if not n_paid:
                    room = policy.max_drawn - len(table.drawn)
                    n_paid = max(1, min(_n_new(to_draw, table), room))
                    charge(draws.epsilon, n_paid)
                n_paid -= 1
                value = draws.draw(list_of(kind, name), name, table.drawn, source)
                if value is not None:
                    return Drawn(value, draws.epsilon)
            if names is not None:
                value = names.draw(kind, original, table.originals.marks, source)
                if value is not None:
                    return value
            return plain(kind, original, number, table)

        coded = {unit.text for unit in hidden if unit.form == "quoted"}
        earlier = set(self.known(coded)) if coded else set()
        order = _names_first(wanted)
        first_made = self._assigned([wanted[i] for i in order], make)
        made = [value for _, value in sorted(zip(order, first_made, strict=True))]
        made = self._told_apart(text, hidden, made, coded, earlier)
        values = self._as_code(hidden, made, _plural_places(text, units))
        return [
            next(values)
            if unit.kind.isupper()
            else random_number(unit.text, source)
            if unit.kind == "number"
            else None
            for unit in units
        ]

    def _told_apart(
        self,
        text: str,
        hidden: Sequence[Unit],
        values: Sequence[str],
        coded: Collection[str],
        earlier: Collection[str],
    ) -> list[str]:
        """Return the values, some other, so that a bare place of code is no string of the same.

        The placeholder of 622 in `{"n": 622}` leaves in quotes, which are not put back; that of
        622 in `{"n": "622"}` stands between quotes that stay. So one of the two has another name:
        the one that comes later, or the string, if both are in one text.

        Args:
            coded: forms at bare places of this text. earlier: those of them that are things of
                the conversation already, and may have left between quotes.
        """
        if not (coded or '"' in text):
            return list(values)
        originals = self._vault.originals(self._conversation)
        told = []
        for unit, value in zip(hidden, values, strict=True):
            before, after = text[unit.start - 1 : unit.start], text[unit.end : unit.end + 1]
            if not _PLACEHOLDER.fullmatch(value):
                apart = False
            elif unit.form == "quoted":
                apart = unit.text in earlier and originals.get(f'"{value}"') != unit.text
            else:
                is_string = unit.form == "prose" and before == after == '"'
                both = unit.text in coded and unit.text not in earlier
                apart = is_string and (both or f'"{value}"' in originals)
            told.append(self._other_name(unit, value) if apart else value)
        return told

    def _other_name(self, unit: Unit, value: str) -> str:
        """Return another placeholder of a thing, of the same number if there is room in it."""
        left = [f"{value[:-1]}_0>"] if value.count("_") <= _ROOM + unit.kind.count("_") else []

        def make(kind: str, original: str, number: int, table: Entries) -> str:
            return left.pop() if left else table.placeholder(kind, number)

        wanted = [Wanted(unit.kind, unit.text, place="other")]
        (kept,) = self._assigned(wanted, make)
        return kept

    def _as_code(
        self, hidden: Sequence[Unit], values: Sequence[str], plural: Collection[int]
    ) -> Iterator[str]:
        """Yield the released values in the form of their places; each form is kept in the vault.

        A placeholder keeps its number: `<PERSON_1>` in prose is PERSON_1 where a name of code
        stands.

        Args:
            plural: where the places begin that take a plural.
        """
        for unit, value in zip(hidden, values, strict=True):
            natural = unit.kind in NATURAL and not _PLACEHOLDER.fullmatch(value)
            if unit.form == "prose" and natural:
                yield value
                continue
            if not natural and not _PLACEHOLDER.fullmatch(value):
                many = plural_of(value) if unit.start in plural else None
                yield cased(many or value, unit.opens_sentence)
                continue
            if unit.form == "prose":
                yield value
                continue
            if natural:  # two words are no name of code
                yield self._bare(unit)
                continue
            wanted = [Wanted(unit.kind, unit.text, place=unit.form)]
            written = _as_form(value, unit.form)
            (kept,) = self._assigned(wanted, _once(written))
            yield kept

    def _bare(self, unit: Unit) -> str:
        """Return a placeholder for a place of code; it is kept in the vault."""

        def make(kind: str, original: str, number: int, table: Entries) -> str:
            return _as_form(table.placeholder(kind, number), unit.form)

        wanted = [Wanted(unit.kind, unit.text, place=unit.form)]
        (kept,) = self._assigned(wanted, make)
        return kept


def _names_first(wanted: Sequence[Wanted]) -> list[int]:
    """Return the order in which things are made: a person's name before a part of it.

    So "Tom" belongs to "Tom Bell" although it occurs before.

    Example:
        >>> _names_first([Wanted("PERSON", "Tom"), Wanted("ID", "7"), Wanted("PERSON", "Tom Bell")])
        [2, 0, 1]
    """
    people = [each.original.lower() for each in wanted if each.kind == "PERSON"]
    parts = {name for name in people if " " not in name}
    whole = {name for name in people if " " in name and not parts.isdisjoint(name.split())}
    first = [i for i, each in enumerate(wanted) if each.original.lower() in whole]
    return [*first, *sorted(set(range(len(wanted))) - set(first))]


def _n_new(wanted: Sequence[Wanted], table: Entries) -> int:
    """Return how many of these will be made: things, or forms where things are not linked."""
    made: set[object] = set()
    known = set(table.things)
    for each in wanted:
        if each.place:
            made |= {(each.original, each.place)} if table.find(each) is None else set()
        elif each.thing not in known:
            known |= {each.thing, same_thing(each.original)}
            made.add(each.thing)
    return len(made)


_OF_PEOPLE = frozenset(["BELIEF", "ORIGIN"])
_MANY_BEFORE = re.compile(
    r"(?i)(?<!\w)(?:all|both|few|many|most|other|several|some|these|those|among|between|"
    r"do|don['\u2019]t)[ \u00a0]\Z"
)
_MANY_AFTER = re.compile(
    r"(?i)[ \u00a0](?:who[ \u00a0])?(?:are|aren['\u2019]t|were|weren['\u2019]t|have|"
    r"haven['\u2019]t|do|don['\u2019]t)(?!\w)"
)
_ALONE_AFTER = re.compile(
    r"(?i)[.,;:!?)\n]|\Z|[ \u00a0](?:and|at|believe|bury|can|celebrate|drink|eat|fast|from|in|live|"
    r"marry|meditate|must|not|observe|of|on|or|pray|should|think|to|under|want|wear|who|will|with|"
    r"worship|would)(?!\w)"
)
_FIRST = re.compile(
    r"(?i)(?:\A|[.!?:][ \u00a0]|\n|\b(?:because|how|that|when|where|why)[ \u00a0])\Z"
)
_ACT = re.compile(
    r"(?i)[ \u00a0](?:believe|bury|celebrate|drink|eat|fast|live|marry|meditate|observe|pray|think|"
    r"want|wear|worship)(?!\w)"
)
_OPENED = re.compile(
    r"(?i)[ \u00a0](?:also|always|believe|from|get|have|in|like|never|often|say|seem|sometimes|"
    r"tend|usually|who)(?!\w)"
)
_ACT_ALONE = re.compile(
    r"(?i)[ \u00a0](?:believe|bury|celebrate|eat|live|marry|meditate|observe|pray|think|wear|"
    r"worship)(?!\w)"
)
_HELPED = re.compile(
    r"(?i)(?:\b(?:can|could|d(?:id|oes)(?:n['\u2019]t)?|hear|heard|help(?:ed|s)?|lets?|ma[dk]es?|may|"
    r"might|must|saw|see|shall|should|watch(?:ed)?|will|would)\b[^.!?\n]*|"
    r"(?<!\w)(?:an?|any|each|every|no|one|that|this)[ \u00a0])\Z"
)
"""Visible text around the name of a group of people that says that many are meant."""


def _plural_places(text: str, units: Sequence[Unit]) -> frozenset[int]:
    """Return where the units begin that stand for many people, told by visible text alone."""
    found = []
    for i, unit in enumerate(units):
        if unit.kind in _OF_PEOPLE:
            before = text[units[i - 1].end if i else 0 : unit.start]
            after = text[unit.end : units[i + 1].start if i + 1 < len(units) else len(text)]
            whole = after if i + 1 == len(units) else f"{after}x"  # a unit is no end
            if (
                _MANY_AFTER.match(whole)
                or (_MANY_BEFORE.search(before) and _ALONE_AFTER.match(whole))
                or ((i == 0 or before) and _acts(before, whole))
            ):
                found.append(unit.start)
    return frozenset(found)


def _acts(before: str, after: str) -> bool:
    """Return True if a bare name between the two does what only several people do."""
    if _FIRST.search(before) and (_ACT.match(after) or _OPENED.match(after)):
        return True
    return _ACT_ALONE.match(after) is not None and _HELPED.search(before) is None


def _form_of(value: str) -> str | None:
    """Return the form of the place of a placeholder; None for any other value."""
    prose = f"<{value.strip(_MARKS)}>"
    forms = _FORMS if _PLACEHOLDER.fullmatch(prose) else ()
    return next((form for form in forms if _as_form(prose, form) == value), None)


def _as_form(placeholder: str, form: str) -> str:
    """Return a placeholder as a place of code takes it: quoted, or as a name."""
    if form == "prose":
        return placeholder
    if form == "quoted":
        return f'"{placeholder}"'
    return placeholder.strip("<>") + "_" * (form == "tag")


def maker(style: str, source: Source) -> Make:
    """Return the function that makes released values without a draw.

    An original that has no other value of its form, or a number above `MAX_FORMED`, gets a
    placeholder.

    Guarantee: a placeholder tells the kind and a running number only; a value of the same form
    tells its form too.

    Args:
        style: "placeholder" or "same-form".
    """
    if style == "placeholder":
        return _placeholder

    def formed(kind: str, original: str, number: int, table: Entries) -> str:
        if kind not in _UNFORMED and number <= MAX_FORMED:
            with suppress(ValueError):
                return same_form(kind, original, source)
        return _placeholder(kind, original, number, table)

    return formed


def _placeholder(kind: str, original: str, number: int, table: Entries) -> str:
    return table.placeholder(kind, number)


def _once(value: str) -> Make:
    """Return what makes one value, and an error where that is taken."""
    left = [value]

    def make(kind: str, original: str, number: int, table: Entries) -> str:
        if not left:
            raise VaultError("a placeholder of code is taken already")
        return left.pop()

    return make


TRIES = 64
"""Names that are drawn before a placeholder is taken: so many may be excluded."""
_FEMALE = re.compile(
    r"(?i)(?<!\w)(?:ms|mrs|miss|madam|lady|mother|mum|mom|wife|daughter|sister|aunt|grandmother|"
    r"girlfriend|frau|mutter|schwester|tochter|mme|mlle|madame|sra|srta|se\u00f1ora|do\u00f1a)"
    r"\.?,?[ \u00a0]\Z"
)
_MALE = re.compile(
    r"(?i)(?<!\w)(?:mr|sir|father|dad|husband|son|brother|uncle|grandfather|boyfriend|herr|herrn|"
    r"vater|bruder|sohn|monsieur|sr|se\u00f1or|don)\.?,?[ \u00a0]\Z"
)
_SHE = frozenset("she her hers herself elle ella".split())
_HE = frozenset("he him his himself".split())
_WORD = re.compile(r"\w+")
_SENTENCE_END = re.compile(r"[.!?\n\u2026]")
_FIRMS = ("Group", "Partners", "Services", "Systems", "Holdings", "Consulting", "Industries")
"""Second words of firms; public, and never restored by themselves."""


class Setting(NamedTuple):
    """What visible text tells of the place of a name.

    Attributes:
        language: that of the names, English where there are none of the text's. gender: "female",
            "male", or "" if it tells nothing.
    """

    language: str
    gender: str


class Names:
    """Draws natural names for the units of one text.

    Args:
        text: the original. segmented: its units. classes: those that get natural names.
    """

    def __init__(self, text: str, segmented: Segmented, classes: Collection[str]) -> None:
        self._classes = classes
        known = segmented.language in _people() and segmented.language in _towns()
        language = segmented.language if known and segmented.language else "en"
        self._settings: dict[tuple[str, str], Setting] = {}
        units = segmented.units
        self._visible = _visible(text, units)
        for before, unit, after in zip([None, *units], units, [*units[1:], None], strict=False):
            if unit.kind not in classes or (unit.kind, unit.text) in self._settings:
                continue
            ahead = text[before.end if before else 0 : unit.start]
            behind = text[unit.end : after.start if after else len(text)]
            setting = Setting(language, _gender(ahead, behind))
            self._settings[unit.kind, unit.text] = setting

    def draw(self, kind: str, original: str, taken: Collection[str], source: Source) -> str | None:
        """Draw a name for a thing; None if its class gets none, or if too many are excluded.

        Args:
            original: only tells the place. taken: marks of earlier names (`name_marks`).
        """
        setting = self._settings.get((kind, original))
        if setting is None:
            return None
        for _ in range(TRIES):
            words = _drawn(kind, setting, source)
            folded = [word.casefold() for word in words]
            if self._visible.isdisjoint(folded) and _marks(words).isdisjoint(taken):
                return " ".join(words)
        return None


def _marks(words: Sequence[str]) -> set[str]:
    return {mark for word in words if word not in _FIRMS for mark in name_marks(word)}


def _drawn(kind: str, setting: Setting, source: Source) -> tuple[str, ...]:
    """Return the words of a name; how many numbers are drawn depends on kind and setting only."""
    people = _people()[setting.language]
    if kind == "PLACE":
        return (_one_of(_towns()[setting.language], source),)
    family = _one_of(people["family"], source)
    if kind == "ORGANIZATION":
        return family, _one_of(_FIRMS, source)
    gender = setting.gender or ("female", "male")[source.randbelow(2)]
    return _one_of(people[gender], source), family


def _one_of(names: Sequence[str], source: Source) -> str:
    return names[source.randbelow(len(names))]


def _visible(text: str, units: Sequence[Unit]) -> frozenset[str]:
    """Return the words of a text outside of its units, folded."""
    found: set[str] = set()
    at = 0
    for start, end in [*((unit.start, unit.end) for unit in units), (len(text), len(text))]:
        found |= {word.casefold() for word in _WORD.findall(text[at:start])}
        at = end
    return frozenset(found)


def _gender(ahead: str, behind: str) -> str:
    """Return what the visible text beside a name tells: a title or relation before, or a pronoun.

    Args:
        ahead, behind: visible text up to the unit before, and up to the one after.

    Example:
        >>> _gender("Dear Ms. ", " wrote."), _gender("Then ", " lost his keys"), _gender("", "")
        ('female', 'male', '')
    """
    for pattern, gender in ((_FEMALE, "female"), (_MALE, "male")):
        if pattern.search(ahead):
            return gender
    end = _SENTENCE_END.search(behind)
    for word in _WORD.findall(behind[: end.start() if end else len(behind)]):
        if word.lower() in _SHE | _HE:
            return "female" if word.lower() in _SHE else "male"
    return ""


@cache
def _people() -> Mapping[str, Mapping[str, tuple[str, ...]]]:
    found: dict[str, dict[str, tuple[str, ...]]] = {}
    for line in word_list("people.txt", "classes"):
        group, _, names = line.partition(" = ")
        language, kind = group.split()
        found.setdefault(language, {})[kind] = tuple(names.split())
    return found


@cache
def _towns() -> Mapping[str, tuple[str, ...]]:
    lines = [line.partition(" = ") for line in word_list("towns.txt", "classes")]
    return {language: tuple(names.split()) for language, _, names in lines}
