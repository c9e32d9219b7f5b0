"""What a conversation has already released: messages, and its table of things and stand-ins.

A thing (a person, a firm, an e-mail address, an illness) keeps one stand-in throughout a
conversation, however it is written: fresh draws of one thing average out (docs/guarantees.md);
repeating the first releases nothing new. Messages are found by HMAC, so no index of private text
exists. `Vault` is the protocol. `MemoryVault` is bounded, and gone with the process; `FileVault`
survives it, encrypted.
"""

from __future__ import annotations

import copy
import hmac
import re
import threading
import unicodedata
from abc import ABC, abstractmethod
from collections import Counter, OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, Self

from sanitizer.errors import VaultError
from sanitizer.randomness import secret_key
from sanitizer.results import SanitizedText

MAX_MESSAGES = 10_000
"""Messages that a vault keeps, unless told otherwise."""
MAX_ENTRIES = 100_000
"""Identifiers that a vault keeps, unless told otherwise."""
MAX_CHARS = 50_000_000
"""Characters of all messages together that a MemoryVault keeps, about 100 MB."""
MAX_FORMED = 10_000
"""Last number whose value may be drawn in the form of the original; above it come placeholders.

Values of one form may run out, and those that were forgotten may be drawn again.
"""


NUMBERING = ("apart", "from 1")
"""How the placeholders of a conversation are numbered; see `MemoryVault`."""
_FIRST_TAG = 10_000
NATURAL = ("PERSON", "PLACE", "ORGANIZATION")
"""Classes whose things may have natural names as stand-ins, such as "Lena Okoro"."""
_PLACEHOLDER = re.compile(r"<(([A-Z]+(?:_[A-Z]+)*)(?:_[0-9]+){1,3})>")


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


_NO_ORIGINALS = Originals()


class Vault(Protocol):
    """Store of tables and released messages, safe for many threads."""

    @property
    def secret(self) -> bytes:
        """Key of the message hashes, 32 bytes."""

    def get(self, key: bytes) -> SanitizedText | None:
        """Return the result kept under a key, or None. Raises VaultError."""

    def put_first(
        self, key: bytes, result: SanitizedText, conversation: str | None = None
    ) -> SanitizedText:
        """Keep a result unless one is there already; return the one that is kept.

        Args:
            conversation: whose message it is, for vaults that can forget one.

        Raises:
            VaultError: not writable.
        """

    def substitutes(
        self, conversation: str, wanted: Sequence[Wanted | tuple[str, str]], make: Make
    ) -> list[str]:
        """Return the released values of forms of things, in order; pairs are (kind, original).

        Atomic: of two threads or processes that want a value for one thing, the first makes it. A
        form keeps its value throughout a conversation. No value ever replaces two originals, but
        that all forms of a thing share a drawn value, which stands for the first. Numbers count
        up per kind and are not used again; `Entries.tag` stands before those of placeholders.

        Raises:
            VaultError: full, or not writable.
        """

    def originals(self, conversation: str) -> Originals:
        """Return released value -> original of one conversation. Raises VaultError.

        The mapping may show what is added later.
        """

    def known(self, conversation: str, forms: Collection[str]) -> dict[str, str]:
        """Return form -> class of those forms that are things already. Raises VaultError."""

    def scratch(self, conversation: str) -> MemoryVault:
        """Return a vault with a copy of one table, for what never leaves. Raises VaultError."""


@dataclass
class Thing:
    """A thing of one conversation.

    Attributes:
        kind: its class. value: released value of its first form. n_forms: how many it has.
    """

    kind: str
    value: str
    n_forms: int = 1


@dataclass
class Entries:
    """The table of one conversation.

    Attributes:
        values: (form, place) -> released value.
        originals: released value -> original.
        numbers: kind -> the last number used.
        things: key -> thing.
        parts: word of a person's name -> the key of the only person with it, None if several have.
        tag: number before those of placeholders that no other conversation has; 0 for none.
    """

    values: dict[tuple[str, str], str] = field(default_factory=dict, repr=False)
    originals: Originals = field(default_factory=Originals, repr=False)
    numbers: Counter[str] = field(default_factory=Counter)
    things: dict[str, Thing] = field(default_factory=dict, repr=False)
    parts: dict[str, str | None] = field(default_factory=dict, repr=False)
    tag: int = 0

    def placeholder(self, kind: str, number: int) -> str:
        """Return the placeholder of a thing: its class and its number in this conversation.

        >>> Entries(tag=48213).placeholder("PERSON", 1), Entries().placeholder("PERSON", 1)
        ('<PERSON_48213_1>', '<PERSON_1>')
        """
        return f"<{kind}_{self.tag}_{number}>" if self.tag else f"<{kind}_{number}>"

    @property
    def drawn(self) -> Mapping[str, float]:
        """The values that were drawn so far, with the epsilon of each."""
        return self.originals.drawn

    def find(self, wanted: Wanted) -> str | None:
        """Return the released value of a form; None if it has none yet."""
        return self.values.get((wanted.original, wanted.place))

    def kinds(self, forms: Collection[str]) -> dict[str, str]:
        """Return form -> class of those forms that are things."""
        found = {form: self.things.get(same_thing(form)) for form in forms}
        return {form: thing.kind for form, thing in found.items() if thing is not None}

    def assign(self, wanted: Wanted, make: Make, floor: int = 0) -> Row:
        """Make and keep a released value for a form without one; numbers start above the floor.

        Raises:
            VaultError: a draw gave a value that is taken; to draw again would tell of the original.
        """
        thing = None if wanted.place else self._thing(wanted)
        value: str | None = None
        if thing is not None:
            value = self._again(thing, wanted.thing)
        while value is None:
            counted = f"{wanted.kind} {wanted.place}".rstrip()
            number = max(self.numbers[counted], floor) + 1
            self.numbers[counted] = number
            made = make(wanted.kind, wanted.original, number, self)
            if isinstance(made, Drawn) and made in self.originals:
                raise VaultError("a draw gave a stand-in that is taken")
            value = None if made in self.originals else made
        row = Row(*wanted, value, value.epsilon if isinstance(value, Drawn) else 0.0)
        self.add(row)
        return row

    def _thing(self, wanted: Wanted) -> Thing | None:
        """Return the thing that a form belongs to; a part of a person's name belongs to it."""
        whole = self.parts.get(wanted.thing) if wanted.kind == "PERSON" else None
        return self.things.get(wanted.thing) or self.things.get(whole or "")

    def _again(self, thing: Thing, form: str) -> str | None:
        """Return the value for another form of a thing; None if one must be made.

        Args:
            form: folded.
        """
        if isinstance(thing.value, Drawn):
            return thing.value
        if thing.value in self.originals.names:
            return self._name_again(thing, form)
        if (placeholder := _PLACEHOLDER.fullmatch(thing.value)) is None:
            return None
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

    def add(self, row: Row) -> None:
        """Keep a form with its value."""
        value = Drawn(row.value, row.epsilon) if row.epsilon else row.value
        self.values[row.original, row.place] = value
        if row.kind in NATURAL and not (row.place or row.value.startswith("<")):
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

    @classmethod
    def of(cls, values: list[Any]) -> Row:
        """Return a row from its values, or from (kind, original, value), as rows once were."""
        if len(values) == len(cls._fields):
            return cls(*values)
        kind, original, value = values
        kind, _, place = kind.partition(" ")
        return cls(kind, original, "", place, value, 0.0)


Make = Callable[[str, str, int, Entries], str]
"""Function (kind, original, number, table) -> a value to release for the first form of a thing.

A value that was drawn is a `Drawn`. It is called again with the next number while the value is
taken; a draw must leave out what is taken beforehand, for drawing again would tell of the original.
Above MAX_FORMED it returns `Entries.placeholder`.
"""


class _Messages:
    """Results by key; the one not used for longest is forgotten first.

    How much fits is counted in what was released, since a size of originals would show in what is
    forgotten, and so drawn anew.

    Args:
        limit: most results.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._kept: OrderedDict[bytes, SanitizedText] = OrderedDict()
        self._n_chars = 0

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, key: bytes) -> SanitizedText | None:
        if (found := self._kept.get(key)) is not None:
            self._kept.move_to_end(key)
        return found

    def put_first(self, key: bytes, result: SanitizedText) -> SanitizedText:
        if (kept := self._kept.get(key)) is None:
            self._kept[key] = kept = result
            self._n_chars += _size(result)
        self._kept.move_to_end(key)
        while len(self._kept) > self._limit or (self._n_chars > MAX_CHARS and len(self._kept) > 1):
            self._n_chars -= _size(self._kept.popitem(last=False)[1])
        return kept


class MemoryVault:
    """Vault in this process, gone with it.

    Answers of an API have room of their own: however much it writes, no message is forgotten.

    Args:
        max_messages: at least 1; the message not used for longest is forgotten first. The same when
            all messages together have more than 50 million characters. Answers: as many again.
        max_entries: forms of things kept in all, at least 1. The conversation not used for longest
            is forgotten first, as a whole; what it drew would be drawn, and charged, anew. A single
            conversation that is full refuses new things. Numbers are never used again, so that what
            was released cannot come back as another's. A value of the same form has none: once a
            conversation with one is forgotten, new identifiers get placeholders.
        numbers: "apart": the placeholders of each conversation carry a random tag of five digits
            (`<EMAIL_48213_1>`), so that one of another conversation, of an earlier process or of
            another replica stays as it is and is not taken for one of this conversation (but for
            one chance in 90,000). "from 1": for examples, where nothing is restored that
            another table may have released.

    >>> vault = MemoryVault(numbers="from 1")
    >>> pairs = [("EMAIL", "ada@example.org"), ("EMAIL", "bob@example.org")]
    >>> make = lambda kind, original, number, table: table.placeholder(kind, number)
    >>> vault.substitutes("c-17", pairs, make)
    ['<EMAIL_1>', '<EMAIL_2>']
    >>> vault.originals("c-17")["<EMAIL_2>"]
    'bob@example.org'
    """

    def __init__(
        self,
        max_messages: int = MAX_MESSAGES,
        max_entries: int = MAX_ENTRIES,
        numbers: str = "apart",
    ) -> None:
        for name, value in (("max_messages", max_messages), ("max_entries", max_entries)):
            if value < 1:
                raise ValueError(f"{name} must be at least 1, got {value!r}")
        self._max_entries = max_entries
        self._messages, self._answers = _Messages(max_messages), _Messages(max_messages)
        self._conversations: OrderedDict[str, Entries] = OrderedDict()
        self._n_entries = 0
        self._floor = 0
        self._secret = secret_key()
        self._tags = Tags(self._secret, numbers)
        self._lock = threading.Lock()

    @property
    def secret(self) -> bytes:
        return self._secret

    def get(self, key: bytes) -> SanitizedText | None:
        with self._lock:
            return self._messages.get(key) or self._answers.get(key)

    def put_first(
        self, key: bytes, result: SanitizedText, conversation: str | None = None
    ) -> SanitizedText:
        with self._lock:
            is_answer = result.record.variant == "answer"
            return (self._answers if is_answer else self._messages).put_first(key, result)

    def substitutes(
        self, conversation: str, wanted: Sequence[Wanted | tuple[str, str]], make: Make
    ) -> list[str]:
        forms = [Wanted(*each) for each in wanted]
        if not forms:
            return []
        with self._lock:
            entries = self._conversations.get(conversation)
            if entries is None:
                entries = self._conversations[conversation] = self._empty(conversation)
            self._conversations.move_to_end(conversation)
            new = [each for each in dict.fromkeys(forms) if entries.find(each) is None]
            self._make_room(conversation, len(new))
            for each in new:
                if entries.find(each) is None:
                    entries.assign(each, make, self._floor)
                    self._n_entries += 1
            return [str(entries.values[each.original, each.place]) for each in forms]

    def _make_room(self, conversation: str, n_new: int) -> None:
        """Forget other conversations; raise VaultError if this one alone has no room."""
        if len(self._conversations[conversation].values) + n_new > self._max_entries:
            raise VaultError(
                f"the conversation is full: it holds at most max_entries={self._max_entries} things"
            )
        # It is the last one, and never reached: the others would be gone, and it has room.
        while self._n_entries + n_new > self._max_entries:
            _, gone = self._conversations.popitem(last=False)
            self._n_entries -= len(gone.values)
            self._floor = max(self._floor, gone.floor_without())

    def originals(self, conversation: str) -> Originals:
        with self._lock:
            entries = self._conversations.get(conversation)
            return entries.originals if entries else _NO_ORIGINALS

    def known(self, conversation: str, forms: Collection[str]) -> dict[str, str]:
        with self._lock:
            entries = self._conversations.get(conversation)
            return entries.kinds(forms) if entries else {}

    def scratch(self, conversation: str) -> MemoryVault:
        with self._lock:
            entries = self._conversations.get(conversation) or self._empty(conversation)
            return MemoryVault.of(conversation, entries)

    def _empty(self, conversation: str) -> Entries:
        return Entries(tag=self._tags.of(conversation))

    @classmethod
    def of(cls, conversation: str, entries: Entries) -> MemoryVault:
        """Return a vault that holds a copy of one table."""
        vault = cls()
        vault._conversations[conversation] = copy.deepcopy(entries)
        vault._n_entries = len(entries.values)
        return vault

    def __repr__(self) -> str:
        return f"MemoryVault({len(self._messages)} messages, {self._n_entries} identifiers)"


class Tags:
    """Numbers that tell the placeholders of a vault's conversations apart.

    They follow from the vault's secret, so that they need no place of their own: random to who does
    not have it, the same for all processes that share a vault, others after a restart without one.

    Args:
        secret: of the vault, 32 bytes. numbers: one of NUMBERING.

    Raises:
        ValueError: another numbering.
    """

    def __init__(self, secret: bytes, numbers: str) -> None:
        if numbers not in NUMBERING:
            raise ValueError(f"numbers must be one of {NUMBERING}, got {numbers!r}")
        self._secret = secret
        self._apart = numbers == "apart"

    def of(self, conversation: str) -> int:
        """Return the tag of a conversation, five digits; 0 if placeholders have none.

        >>> Tags(bytes(32), "from 1").of("c-17")
        0
        """
        return _tag(self._secret, conversation) if self._apart else 0


def _tag(secret: bytes, conversation: str) -> int:
    drawn = int.from_bytes(message_key(secret, "numbers", conversation), "big")
    return _FIRST_TAG + drawn % (100_000 - _FIRST_TAG)


def _size(result: SanitizedText) -> int:
    """Return about how many characters it takes to keep a result, as far as all may know."""
    return len(result.text) + 200 * len(result.replacements)


def message_key(secret: bytes, *fields: str) -> bytes:
    """Return the HMAC-SHA256 of a message and of what it belongs to, 32 bytes.

    >>> message_key(b"secret", "user", "Hello") == message_key(b"secret", "userHello")
    False
    """
    encoded = [field.encode("utf-8", "surrogatepass") for field in fields]
    # Each field comes with its length, so that no two lists of fields look alike.
    framed = b"".join(len(field).to_bytes(8, "big") + field for field in encoded)
    return hmac.digest(secret, framed, "sha256")


class StoredVault(ABC):
    """What vaults outside the memory share: limits, and what they answer about one table.

    Args:
        max_messages, max_entries: as of the vault; at least 1.

    Raises:
        ValueError: a limit below 1.
    """

    def __init__(self, max_messages: int, max_entries: int) -> None:
        for name, value in (("max_messages", max_messages), ("max_entries", max_entries)):
            if value < 1:
                raise ValueError(f"{name} must be at least 1, got {value!r}")
        self._max_messages = max_messages
        self._max_entries = max_entries

    @abstractmethod
    def _alone(self, conversation: str) -> AbstractContextManager[None]:
        """Let one thread of this process at a time read and change a conversation."""

    @abstractmethod
    def _entries_of(self, conversation: str) -> Entries:
        """Return a conversation's table as it is stored now. Raises VaultError."""

    @abstractmethod
    def _assigned(self, conversation: str, wanted: Sequence[Wanted], make: Make) -> Entries:
        """Assign values to forms that have none, in one transaction; return the table."""

    def substitutes(
        self, conversation: str, wanted: Sequence[Wanted | tuple[str, str]], make: Make
    ) -> list[str]:
        """Return the released values of forms of things, as `Vault.substitutes`."""
        forms = [Wanted(*each) for each in wanted]
        if not forms:
            return []
        with self._alone(conversation):
            entries = self._entries_of(conversation)
            if next(unassigned(entries, forms), None) is not None:
                entries = self._assigned(conversation, forms, make)
            return [str(entries.values[each.original, each.place]) for each in forms]

    def originals(self, conversation: str) -> Originals:
        """Return released value -> original, as `Vault.originals`."""
        with self._alone(conversation):
            return self._entries_of(conversation).originals

    def known(self, conversation: str, forms: Collection[str]) -> dict[str, str]:
        """Return form -> class, as `Vault.known`."""
        with self._alone(conversation):
            return self._entries_of(conversation).kinds(forms)

    def scratch(self, conversation: str) -> MemoryVault:
        """Return a vault with a copy of one table, as `Vault.scratch`."""
        with self._alone(conversation):
            return MemoryVault.of(conversation, self._entries_of(conversation))

    def _check_room(self, n_held: int, n_new: int, what: str) -> None:
        """Raise VaultError if so many more forms do not fit."""
        if n_held + n_new > self._max_entries:
            raise VaultError(
                f"{what}: full, it holds at most max_entries={self._max_entries} identifiers"
            )


def unassigned(entries: Entries, wanted: Iterable[Wanted]) -> Iterator[Wanted]:
    """Yield the forms that have no value when their turn comes, each once.

    An earlier one may have given a later one its value: forms of one thing.
    """
    for each in dict.fromkeys(wanted):
        if entries.find(each) is None:
            yield each
