"""The table of a conversation: its things, their forms, and what is released in place of each.

A thing (a person, a firm, an e-mail address, an illness) keeps one stand-in throughout a
conversation, however it is written: fresh draws of one thing average out (docs/guarantees.md);
repeating the first releases nothing new.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, Self, TypeVar

from sanitizer.errors import VaultError

MAX_FORMED = 10_000
"""Last number whose value may be drawn in the form of the original; above it come placeholders.

Values of one form may run out, and those that were forgotten may be drawn again.
"""
MAX_CACHED = 1_000
"""Most conversations that one vault keeps decrypted in memory."""
MAX_CACHED_ENTRIES = 100_000
"""Most forms of things in all of those together, about a kilobyte each; one alone may be larger."""
NATURAL = ("PERSON", "PLACE", "ORGANIZATION")
"""Classes whose things may have natural names as stand-ins, such as "Lena Okoro"."""
LEFT, RELEASED, REFUSED = "left", "released", "refused"
"""Places of the rows of things that left as they are; of what an API asked for, as was decided."""
BEGUN, LATE = "begun", "late"
"""Places of the rows that mark a table: of a chat that was answered; of one that came back without
its table, or with another history, in which nothing is drawn or left from then on."""
_PLACEHOLDER = re.compile(r"<(([A-Z]+(?:_[A-Z]+)*)(?:_([1-9][0-9]{4})(?=_))?(?:_[0-9]+){1,3})>")


class Drawn(str):
    """Stand-in that was drawn by a mechanism.

    >>> drawn = Drawn("gout", epsilon=5.0)
    >>> drawn, drawn.epsilon
    ('gout', 5.0)

    Attributes:
        epsilon: what the draw cost, in nats.
    """

    epsilon: float

    def __new__(cls, text: str, epsilon: float) -> Self:
        drawn = super().__new__(cls, text)
        drawn.epsilon = epsilon
        return drawn

    def __reduce__(self) -> tuple[type[Self], tuple[str, float]]:
        return type(self), (str(self), self.epsilon)


class Wanted(NamedTuple):
    """A form of a thing for which a released value is wanted.

    Attributes:
        kind: class of the thing, in capitals; that of its first form holds for ever.
        original: the form as it is written.
        key: what tells things apart: forms with equal keys are one thing. "": the form without
            case.
        place: how placeholders are written at the place; "" in prose.
    """

    kind: str
    original: str
    key: str = ""
    place: str = ""

    @property
    def thing(self) -> str:
        """The key, or the form without case, in one Unicode form, with single spaces."""
        return self.key or same_thing(self.original)


def same_thing(text: str) -> str:
    """Return the key of a form: equal for forms that differ in case, spaces or encoding.

    >>> same_thing("ELENA  Marsh") == same_thing("Elena Marsh")
    True
    """
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split()) or text


class Originals(dict[str, str]):
    """Released value -> original, with an index for finding the values in a text.

    The index follows as pairs come and go. One thread may change it while others restore with it:
    they see a pair or they do not.

    Attributes:
        lengths: lengths of all values, the longest first; one of a removed value may stay.
        first: matches a character that a value may begin with; None while there are no values.
        beginnings: proper prefix of a value -> how many values begin with it.
        kinds: names of the placeholders without their numbers.
        tags: the numbers of placeholders that no other conversation has.
        drawn: the values that were drawn, with the epsilon of each. They are words, found by their
            own rules (`sanitizer.answers`), and so not in the index.
        names: natural names -> originals; found by rules of their own too.
        parts: word of a natural name -> part of the original that it stands for.
        marks: of all words of natural names, see `name_marks`.

    >>> originals = Originals({"<EMAIL_1>": "ada@example.org"})
    >>> originals["<EMAIL_1>"], originals.lengths, originals.beginnings["<EMAIL_"]
    ('ada@example.org', (9,), 1)
    """

    def __init__(self, pairs: Mapping[str, str] | None = None) -> None:
        super().__init__()
        self.lengths: tuple[int, ...] = ()
        self.first: re.Pattern[str] | None = None
        self.beginnings: Counter[str] = Counter()
        self.kinds: frozenset[str] = frozenset()
        self.tags: frozenset[str] = frozenset()
        self.drawn: dict[str, float] = {}
        self.names: dict[str, str] = {}
        self.parts: dict[str, str] = {}
        self.marks: set[str] = set()
        self._firsts = ""
        for value, original in (pairs or {}).items():
            self[value] = original

    def __setitem__(self, value: str, original: str) -> None:
        if isinstance(value, Drawn):
            self.drawn[str(value)] = value.epsilon
        elif not (
            value in self or value in self.drawn or value in self.names
        ):  # else a copy is made
            self._index(value)
        super().__setitem__(str(value), original)

    def add_name(self, name: str, original: str, kind: str) -> None:
        """Add a natural name; each of its words stands for a part of the original.

        >>> originals = Originals()
        >>> originals.add_name("Lena Okoro", "Elena Marsh", "PERSON")
        >>> originals.parts
        {'Lena': 'Elena', 'Okoro': 'Marsh'}
        """
        words, whole = name.split(), original.split()
        if len(words) > 1:
            self.parts.setdefault(words[0], whole[0] if kind == "PERSON" else original)
            if kind == "PERSON":
                self.parts.setdefault(words[-1], whole[-1])
        self.marks |= {mark for word in words for mark in name_marks(word)}
        self.names[name] = original
        super().__setitem__(name, original)

    def _index(self, value: str) -> None:
        if value[0] == "<" and (found := _PLACEHOLDER.fullmatch(value)) is not None:
            self.kinds |= {found[2]}
            if found[3]:
                self.tags |= {found[3]}
        self.beginnings.update(value[:end] for end in range(1, len(value)))
        # Only ever grown, and replaced whole: another thread may be reading both.
        if len(value) not in self.lengths:
            self.lengths = tuple(sorted({*self.lengths, len(value)}, reverse=True))
        if value[0] not in self._firsts:
            self._firsts += value[0]
            self.first = re.compile(f"[{re.escape(self._firsts)}]")


def name_marks(word: str) -> set[str]:
    """Return what a word of a name shares with every word that might be taken for it.

    These begin alike, in four letters, or differ in one letter.

    >>> name_marks("Anna").isdisjoint(name_marks("Anne")), name_marks("Anna") & name_marks("Otto")
    (False, set())
    """
    decomposed = unicodedata.normalize("NFKD", word.casefold())
    plain = "".join(c for c in decomposed if not unicodedata.combining(c))
    without = {plain[:i] + plain[i + 1 :] for i in range(len(plain))}
    return {plain, *without, f"{plain[:4]}*" if len(plain) > 3 else plain}


@dataclass
class Thing:
    """A thing of one conversation: its class, the value of its first form, and how many it has."""

    kind: str
    value: str
    n_forms: int = 1


def _no_room(n: int) -> None:
    raise VaultError("the table of a conversation is changed within Vault.edit only")


@dataclass
class Entries:
    """The table of one conversation. It is changed within `Vault.edit` only.

    Attributes:
        rows: the forms with their values, in the order in which they were assigned.
        values: (form, place) -> released value.
        originals: released value -> original.
        numbers: kind -> the last number used.
        things: key -> thing.
        parts: word of a person's name -> the key of the only person with it, None if several have.
        left: key -> class of the things that left as they are; "AGE" for an age.
        decided: key of a message -> what an answer to it asked for, RELEASED or REFUSED.
        tag: number before those of placeholders that no other conversation has; 0 for none.
        floor: numbers up to it may be in use by conversations that were forgotten.
        used: released value -> original of what this edit found and assigned.
        make_room: function (n) that lets n more forms be assigned; raises VaultError if they do not
            fit. Called before something is charged for them, so that a full vault costs nothing.
    """

    rows: list[Row] = field(default_factory=list, repr=False)
    values: dict[tuple[str, str], str] = field(default_factory=dict, repr=False)
    originals: Originals = field(default_factory=Originals, repr=False)
    numbers: Counter[str] = field(default_factory=Counter)
    things: dict[str, Thing] = field(default_factory=dict, repr=False)
    parts: dict[str, str | None] = field(default_factory=dict, repr=False)
    left: dict[str, str] = field(default_factory=dict, repr=False)
    decided: dict[str, list[Row]] = field(default_factory=dict, repr=False)
    is_late: bool = False
    tag: int = 0
    floor: int = 0
    used: dict[str, str] = field(default_factory=dict, repr=False)
    make_room: Callable[[int], None] = field(default=_no_room, repr=False, compare=False)

    @classmethod
    def of(cls, rows: Iterable[Row], numbers: Mapping[str, int], tag: int = 0) -> Self:
        entries = cls(numbers=Counter(numbers), tag=tag)
        for row in rows:
            entries.add(row)
        return entries

    def clear(self) -> None:
        """Begin anew: nothing has a value, no number was used."""
        self.rows, self.values, self.originals = [], {}, Originals()
        self.numbers, self.things, self.parts = Counter(), {}, {}
        self.left, self.decided, self.is_late = {}, {}, False

    @contextmanager
    def editing(self, make_room: Callable[[int], None]) -> Iterator[None]:
        """Let the table be changed in the block.

        Args:
            make_room: called before anything is added; it makes sure that nobody else changes the
                table from then on, and may bring it up to date.
        """
        self.make_room, self.used = make_room, {}
        try:
            yield
        finally:
            self.make_room = _no_room

    def placeholder(self, kind: str, number: int) -> str:
        """Return the placeholder of a thing: its class and its number in this conversation.

        >>> Entries(tag=48213).placeholder("PERSON", 1), Entries().placeholder("PERSON", 1)
        ('<PERSON_48213_1>', '<PERSON_1>')
        """
        return f"<{kind}_{self.tag}_{number}>" if self.tag else f"<{kind}_{number}>"

    @property
    def drawn(self) -> Mapping[str, float]:
        return self.originals.drawn

    def kinds(self, forms: Collection[str]) -> dict[str, str]:
        """Return form -> class of those forms that are things, or parts of a person's name.

        A part counts with a capital only: "Marsh" after "Elena Marsh", but no marsh.
        """
        found: dict[str, str] = {}
        for form in forms:
            key = same_thing(form)
            if (thing := self.things.get(key)) is not None:
                found[form] = thing.kind
            elif form[:1].isupper() and key in self.parts:
                found[form] = "PERSON"
        return found

    def find(self, wanted: Wanted) -> str | None:
        """Return the released value of a form; None if one must be assigned.

        A new form of a thing that has a value gets one here: the same if it was drawn, else the
        next placeholder of the thing, or the same part of its natural name.
        """
        place = (wanted.original, wanted.place)
        if place not in self.values:
            self.make_room(1)
        if place not in self.values and not wanted.place and (thing := self._thing(wanted)):
            value = self._again(thing, wanted)
            if value is not None:
                self.add(Row(*wanted, value, value.epsilon if isinstance(value, Drawn) else 0.0))
        if (found := self.values.get(place)) is None:
            return None
        self.used[str(found)] = wanted.original
        return str(found)

    def number(self, wanted: Wanted) -> int:
        """Return the next number of a form's class at its place; it is not used again."""
        counted = f"{wanted.kind} {wanted.place}".rstrip()
        self.numbers[counted] = max(self.numbers[counted], self.floor) + 1
        return self.numbers[counted]

    def assign(self, wanted: Wanted, value: str) -> str | None:
        """Keep a value for a form and return it; None if it stands for another original already.

        A form that has a value keeps it, and that is returned.

        Args:
            value: a `Drawn` if it was drawn; such a one must leave out what is taken beforehand,
                since to draw again would tell of the original.

        Raises:
            VaultError: the vault is full, or a draw gave a value that is taken.
        """
        if (kept := self.find(wanted)) is not None:
            return kept
        if value in self.originals:
            if isinstance(value, Drawn):
                raise VaultError("a draw gave a stand-in that is taken")
            return None
        epsilon = value.epsilon if isinstance(value, Drawn) else 0.0
        self.add(Row(*wanted, str(value), epsilon))
        self.used[str(value)] = wanted.original
        return str(value)

    def hide(self, wanted: Wanted) -> str:
        """Return the released value of a form; one that has none gets a placeholder."""
        value = self.find(wanted)
        while value is None:
            value = self.assign(wanted, self.placeholder(wanted.kind, self.number(wanted)))
        return value

    def _thing(self, wanted: Wanted) -> Thing | None:
        """Return the thing that a form belongs to; a part of a person's name belongs to it."""
        whole = self.parts.get(wanted.thing) if wanted.kind == "PERSON" else None
        return self.things.get(wanted.thing) or self.things.get(whole or "")

    def _again(self, thing: Thing, wanted: Wanted) -> str | None:
        """Return the value for another form of a thing; None if one must be made.

        The first or last word of a person's name is named as that part of it.
        """
        if isinstance(thing.value, Drawn):
            return thing.value
        if thing.value in self.originals.names:
            return self._name_again(thing, wanted.thing)
        if (placeholder := _PLACEHOLDER.fullmatch(thing.value)) is None:
            return None
        words = self.originals[thing.value].split()
        ends = {words[-1]: "last", words[0]: "first"} if len(words) > 1 else {}
        if thing.kind == "PERSON" and (part := ends.get(wanted.original)):
            return f"<{placeholder[1]}:{part}>"
        return f"<{placeholder[1]}_{thing.n_forms + 1}>"

    def _name_again(self, thing: Thing, form: str) -> str | None:
        """Return the natural name of another form of a thing: of a part, or in other letters.

        Which case comes next follows from how many forms there are, not from how this is written.
        """
        whole, name = same_thing(self.originals.names[thing.value]).split(), thing.value.split()
        base: str | None = None
        if form == " ".join(whole):
            base = thing.value
        elif form in (whole[-1], whole[0]):
            base = name[-1] if form == whole[-1] else name[0]
        written = () if base is None else (base, base.upper(), base.lower())
        return next((each for each in written if each not in self.originals), None)

    def leave(self, wanted: Wanted) -> None:
        """Keep that a thing left as it is: nothing stands for it from now on.

        Raises:
            VaultError: the vault is full.
        """
        if wanted.thing not in self.left:
            self.make_room(1)
            self.add(Row(*wanted[:3], LEFT, wanted.original, 0.0))

    def mark(self, place: str) -> None:
        """Mark a table as LATE, or an empty one as BEGUN; raise VaultError if the vault is full."""
        if not self.rows or (place == LATE and not self.is_late):
            self.make_room(1)
            self.add(Row("TEXT", "", "", place, "", 0.0))

    def add(self, row: Row) -> None:
        self.rows.append(row)
        if row.place in (BEGUN, LATE):
            self.is_late |= row.place == LATE
            return
        if row.place == LEFT:
            wanted = Wanted(*row[:3])
            self.left |= dict.fromkeys((wanted.thing, same_thing(row.original)), row.kind)
            return
        if row.place in (RELEASED, REFUSED):
            self.decided.setdefault(row.key, []).append(row)
            return
        value = Drawn(row.value, row.epsilon) if row.epsilon else row.value
        self.values[row.original, row.place] = value
        # A drawn thing may be read as a name at a later place: its first form stays.
        if row.kind in NATURAL and not (row.epsilon or row.place or row.value.startswith("<")):
            self.originals.add_name(row.value, row.original, row.kind)
        elif not (row.epsilon and row.value in self.originals):
            self.originals[value] = row.original
        if row.place:
            return
        wanted = Wanted(*row[:4])
        if (thing := self._thing(wanted)) is not None:
            thing.n_forms += 1
        else:
            thing = Thing(row.kind, value)
            if row.kind == "PERSON":
                for word in wanted.thing.split()[: 8 if " " in wanted.thing else 0]:
                    self.parts[word] = None if word in self.parts else wanted.thing
        self.things.setdefault(wanted.thing, thing)
        self.things.setdefault(same_thing(row.original), thing)

    def floor_without(self) -> int:
        """Return a number above which no value is one of these."""
        names = self.originals.names
        formed = any(not value.startswith("<") for value in self.originals if value not in names)
        # A value of the same form may be made again, under any number.
        return max(*self.numbers.values(), MAX_FORMED if formed else 0, 0)


class Row(NamedTuple):
    """A form of a thing with its released value, as it is kept.

    Attributes:
        kind, original, key, place: see `Wanted`. value: released. epsilon: of its draw; 0 if none.
    """

    kind: str
    original: str
    key: str
    place: str
    value: str
    epsilon: float


Key = TypeVar("Key")
Cached = TypeVar("Cached")


class Cache(Generic[Key, Cached]):
    """What is held ready of conversations, or texts: what was used last. Not safe for threads.

    Args:
        most: of them. most_entries: entries, or characters, of all together; one may have more.
    """

    def __init__(self, most: int = MAX_CACHED, most_entries: int = MAX_CACHED_ENTRIES) -> None:
        self._most, self._most_entries = most, most_entries
        self._kept: OrderedDict[Key, tuple[Cached, int]] = OrderedDict()
        self._n_entries = 0

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, key: Key) -> Cached | None:
        return self._kept.get(key, (None, 0))[0]

    def use(self, key: Key) -> Cached | None:
        """Return what is kept under a key, which is now the one that was used last."""
        if key in self._kept:
            self._kept.move_to_end(key)
        return self.get(key)

    def pop(self, key: Key) -> Cached | None:
        found, n_entries = self._kept.pop(key, (None, 0))
        self._n_entries -= n_entries
        return found

    def keep(self, key: Key, value: Cached, n_entries: int) -> None:
        """Keep one with so many entries, and let go of those that were not used for longest."""
        self.pop(key)
        self._kept[key] = value, n_entries
        self._n_entries += n_entries
        while len(self._kept) > 1 and (
            len(self._kept) > self._most or self._n_entries > self._most_entries
        ):
            self.pop(next(iter(self._kept)))

    def clear(self) -> None:
        self._kept.clear()
        self._n_entries = 0
