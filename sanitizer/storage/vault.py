"""What a conversation has already released: messages, and values that replace identifiers.

Fresh draws of one message average out (docs/guarantees.md); repeating the first output releases
nothing new. Messages are found by HMAC, so no index of private text exists. `Vault` is the
protocol. `MemoryVault` is bounded, and gone with the process; `FileVault` survives it, encrypted.
"""

from __future__ import annotations

import hmac
import re
import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

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


class Originals(dict[str, str]):
    """Released value -> original, with an index for finding the values in a text.

    The index follows as pairs come and go. One thread may change it while others restore with it:
    they see a pair or they do not.

    Attributes:
        lengths: lengths of all values, the longest first; one of a removed value may stay.
        first: matches a character that a value may begin with; None while there are no values.
        beginnings: proper prefix of a value -> how many values begin with it.
        n_removed: how many pairs were removed so far.

    >>> originals = Originals({"<EMAIL_1>": "ada@example.org"})
    >>> originals["<EMAIL_1>"], originals.lengths, originals.beginnings["<EMAIL_"]
    ('ada@example.org', (9,), 1)
    """

    def __init__(self, pairs: Mapping[str, str] | None = None) -> None:
        super().__init__()
        self.lengths: tuple[int, ...] = ()
        self.first: re.Pattern[str] | None = None
        self.beginnings: Counter[str] = Counter()
        self._lengths: Counter[int] = Counter()
        self._firsts = ""
        self.n_removed = 0
        for value, original in (pairs or {}).items():
            self[value] = original

    def __setitem__(self, value: str, original: str) -> None:
        if value not in self:
            self._count(value, 1)
        super().__setitem__(value, original)

    def __delitem__(self, value: str) -> None:
        super().__delitem__(value)
        self.n_removed += 1
        self._count(value, -1)

    def _count(self, value: str, by: int) -> None:
        """Count a value in the index, or out of it with `by` = -1."""
        self._lengths[len(value)] += by
        beginnings = self.beginnings
        for end in range(1, len(value)):
            beginning = value[:end]
            if n := beginnings.get(beginning, 0) + by:
                beginnings[beginning] = n
            else:
                del beginnings[beginning]
        # Only ever grown, and replaced whole: another thread may be reading both.
        if len(value) not in self.lengths:
            self.lengths = tuple(sorted(self._lengths, reverse=True))
        if value[0] not in self._firsts:
            self._firsts += value[0]
            self.first = re.compile(f"[{re.escape(self._firsts)}]")


_NO_ORIGINALS = Originals()

Make = Callable[[str, str, int], str]
"""Function (kind, original, number) -> a value to release for an original.

It is called again with the next number while the value is taken. Above MAX_FORMED it returns the
placeholder `<KIND_number>`.
"""


class Vault(Protocol):
    """Store of originals and released messages, safe for many threads."""

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
        self, conversation: str, wanted: Sequence[tuple[str, str]], make: Make
    ) -> list[str]:
        """Return the released values of (kind, original) pairs, in order.

        An original keeps its value throughout a conversation. No value ever replaces two originals
        of one conversation: numbers count up per kind, from 1, and are not used again.

        Raises:
            VaultError: full, or not writable; nothing was assigned.
        """

    def originals(self, conversation: str) -> Mapping[str, str]:
        """Return released value -> original of one conversation. Raises VaultError.

        The mapping may show what is added later.
        """


@dataclass
class Entries:
    """Identifiers of one conversation.

    Attributes:
        values: (kind, original) -> released value, the one used longest ago first.
        originals: released value -> original.
        numbers: kind -> the last number used.
        floor: new numbers are above it, so that no value forgotten here is made again.
    """

    values: OrderedDict[tuple[str, str], str] = field(default_factory=OrderedDict, repr=False)
    originals: Originals = field(default_factory=Originals, repr=False)
    numbers: Counter[str] = field(default_factory=Counter)
    floor: int = 0

    def assign(self, kind: str, original: str, make: Make, floor: int = 0) -> str:
        """Make and keep a new released value; return it. Numbers start above both floors."""
        while True:
            number = max(self.numbers[kind], self.floor, floor) + 1
            self.numbers[kind] = number
            value = make(kind, original, number)
            if value not in self.originals:
                self.add(kind, original, value)
                return value

    def add(self, kind: str, original: str, value: str) -> None:
        """Keep a pair."""
        self.values[kind, original] = value
        self.originals[value] = original

    def drop_oldest(self) -> None:
        """Forget the pair not used for longest.

        Its value is never made again: after one that was drawn, only placeholders are made here.
        """
        (kind, _), value = self.values.popitem(last=False)
        self.floor = max(self.floor, _floor_without(kind, value))
        del self.originals[value]

    def floor_without(self) -> int:
        """Return a number above which no value is one of these, or of those forgotten here."""
        drawn = (_floor_without(kind, value) for (kind, _), value in self.values.items())
        return max(self.floor, *self.numbers.values(), *drawn, 0)


def _floor_without(kind: str, value: str) -> int:
    """Return the floor that forgetting one value asks for."""
    # A drawn value may be drawn again, under any number; a placeholder has its number to itself.
    return 0 if re.fullmatch(rf"<{re.escape(kind)}_[0-9]+>", value) else MAX_FORMED


class MemoryVault:
    """Vault in this process, gone with it.

    Args:
        max_messages: at least 1; the message not used for longest is forgotten first. The same when
            all messages together have more than 50 million characters.
        max_entries: identifiers kept in all, at least 1. The conversation not used for longest is
            forgotten first; of a single one, the identifiers not used for longest. Numbers are
            never used again, so that what was released cannot come back as another's. A value of
            the same form has none: once one is forgotten, new identifiers get placeholders (of that
            conversation; of every one, if a whole conversation went).

    >>> vault = MemoryVault()
    >>> pairs = [("EMAIL", "ada@example.org"), ("EMAIL", "bob@example.org")]
    >>> vault.substitutes("c-17", pairs, lambda kind, original, number: f"<{kind}_{number}>")
    ['<EMAIL_1>', '<EMAIL_2>']
    >>> vault.originals("c-17")["<EMAIL_2>"]
    'bob@example.org'
    """

    def __init__(self, max_messages: int = MAX_MESSAGES, max_entries: int = MAX_ENTRIES) -> None:
        for name, value in (("max_messages", max_messages), ("max_entries", max_entries)):
            if value < 1:
                raise ValueError(f"{name} must be at least 1, got {value!r}")
        self._max_messages = max_messages
        self._max_entries = max_entries
        self._messages: OrderedDict[bytes, SanitizedText] = OrderedDict()
        self._conversations: OrderedDict[str, Entries] = OrderedDict()
        self._n_chars = 0
        self._n_entries = 0
        self._floor = 0
        self._secret = secret_key()
        self._lock = threading.Lock()

    @property
    def secret(self) -> bytes:
        return self._secret

    def get(self, key: bytes) -> SanitizedText | None:
        with self._lock:
            if (found := self._messages.get(key)) is not None:
                self._messages.move_to_end(key)
            return found

    def put_first(
        self, key: bytes, result: SanitizedText, conversation: str | None = None
    ) -> SanitizedText:
        with self._lock:
            if (kept := self._messages.get(key)) is None:
                self._messages[key] = kept = result
                self._n_chars += _size(result)
            self._messages.move_to_end(key)
            while len(self._messages) > self._max_messages or (
                self._n_chars > MAX_CHARS and len(self._messages) > 1
            ):
                self._n_chars -= _size(self._messages.popitem(last=False)[1])
            return kept

    def substitutes(
        self, conversation: str, wanted: Sequence[tuple[str, str]], make: Make
    ) -> list[str]:
        if not wanted:
            return []
        if len(wanted) > self._max_entries and len(set(wanted)) > self._max_entries:
            raise VaultError(f"a text may hold at most max_entries={self._max_entries} identifiers")
        with self._lock:
            entries = self._conversations.get(conversation)
            if entries is None:
                entries = self._conversations[conversation] = Entries()
            self._conversations.move_to_end(conversation)
            for pair in wanted:
                if pair in entries.values:
                    entries.values.move_to_end(pair)
            return [
                entries.values.get(pair) or self._assign(entries, pair, make) for pair in wanted
            ]

    def _assign(self, entries: Entries, wanted: tuple[str, str], make: Make) -> str:
        """Return a new value."""
        # What is wanted in the same call was moved to the end, so it is not forgotten for this one.
        while self._n_entries >= self._max_entries:
            self._forget_some(entries)
        value = entries.assign(*wanted, make, self._floor)
        self._n_entries += 1
        return value

    def _forget_some(self, used: Entries) -> None:
        """Forget another conversation, or else the oldest identifier of `used`, the only one."""
        if len(self._conversations) > 1:
            _, gone = self._conversations.popitem(last=False)
            self._n_entries -= len(gone.values)
            self._floor = max(self._floor, gone.floor_without())
        else:
            used.drop_oldest()
            self._n_entries -= 1

    def originals(self, conversation: str) -> Mapping[str, str]:
        with self._lock:
            entries = self._conversations.get(conversation)
            return entries.originals if entries else _NO_ORIGINALS

    def __repr__(self) -> str:
        return f"MemoryVault({len(self._messages)} messages, {self._n_entries} identifiers)"


def _size(result: SanitizedText) -> int:
    """Return about how many characters it takes to keep a result."""
    return len(result.text) + sum(200 + len(r.original) for r in result.replacements)


def message_key(secret: bytes, *fields: str) -> bytes:
    """Return the HMAC-SHA256 of a message and of what it belongs to, 32 bytes.

    >>> message_key(b"secret", "user", "Hello") == message_key(b"secret", "userHello")
    False
    """
    encoded = [field.encode("utf-8", "surrogatepass") for field in fields]
    # Each field comes with its length, so that no two lists of fields look alike.
    framed = b"".join(len(field).to_bytes(8, "big") + field for field in encoded)
    return hmac.digest(secret, framed, "sha256")
