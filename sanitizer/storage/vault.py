"""What conversations have already released: their messages and tables.

Messages are found by HMAC, so no index of private text exists. `Vault` is the protocol.
`MemoryVault` is bounded, and gone with the process; `FileVault` survives it, encrypted.
"""

from __future__ import annotations

import hmac
import sys
import threading
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Collection, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager

from sanitizer.errors import VaultError, plural
from sanitizer.randomness import secret_key
from sanitizer.results import SanitizedText
from sanitizer.storage.table import Cache, Entries, Originals, Wanted

MAX_MESSAGES = 10_000
"""Messages that a vault keeps, unless told otherwise."""
MAX_ENTRIES = 100_000
"""Identifiers that a vault keeps, unless told otherwise."""
MAX_CHARS = 50_000_000
"""Characters of all messages together that a MemoryVault keeps, about 100 MB."""
NUMBERING = ("apart", "from 1")
"""How the placeholders of a conversation are numbered; see `MemoryVault`."""
_FIRST_TAG = 10_000


class Vault(ABC):
    """Store of tables and released messages, safe for many threads.

    Attributes:
        secret: key of the message hashes, 32 bytes.
    """

    secret: bytes

    @abstractmethod
    def get(self, key: bytes) -> SanitizedText | None:
        """Return the result kept under a key, or None. Raises VaultError."""

    @abstractmethod
    def put_first(
        self, key: bytes, result: SanitizedText, conversation: str | None = None
    ) -> SanitizedText:
        """Keep a result unless one is there already; return the one that is kept.

        Args:
            conversation: whose message it is, for vaults that can forget one.

        Raises:
            VaultError: not writable.
        """

    @abstractmethod
    def edit(self, conversation: str) -> AbstractContextManager[Entries]:
        """Let one thread of all processes at a time look things up in a table and add to it.

        At the end of the block all that was assigned is kept, in one transaction; after an
        exception nothing is, but that numbers may be used up. Only then may it be released. A block
        that finds everything writes nothing. Within it no other method of the vault is called.

        Atomic: of two threads or processes that want a value for one thing, the first assigns it. A
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
        with self.edit(conversation) as table:
            return table.originals

    def known(self, conversation: str, forms: Collection[str]) -> dict[str, str]:
        """Return form -> class of those forms that are things already. Raises VaultError."""
        with self.edit(conversation) as table:
            return table.kinds(forms)

    def forget(self, conversation: str, *, final: bool = False) -> None:
        """Remove what is kept of a conversation; what it released is not restored any more.

        Args:
            final: no other conversation will have its name, so that its numbers may come again.

        Raises:
            VaultError: not writable, or this vault cannot forget.
        """
        raise VaultError(f"{type(self).__name__} cannot forget a conversation")

    def scratch(self, conversation: str) -> Scratch:
        """Return a vault that shows this one, for what never leaves. Raises VaultError.

        Args:
            conversation: whose table is copied now; those of others are at their first use.
        """
        found = Scratch(self)
        found.originals(conversation)
        return found


class MemoryVault(Vault):
    """Vault in this process, gone with it.

    Answers of an API have room of their own: however much it writes, no message is forgotten.

    Args:
        max_messages: at least 1; the message not used for longest is forgotten first. The same when
            all messages together have more than 50 million characters. Answers, and what chats are
            found by: four times as many, and as many characters again.
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
    >>> placeholders(vault, "c-17", pairs)
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
        check_settings(max_messages, max_entries, numbers)
        self._max_entries = max_entries
        # Each answer comes with what its chat is found by.
        self._messages: Cache[bytes, SanitizedText] = Cache(max_messages, MAX_CHARS)
        self._answers: Cache[bytes, SanitizedText] = Cache(4 * max_messages, MAX_CHARS)
        self._conversations: OrderedDict[str, Entries] = OrderedDict()
        self._n_entries = 0
        self._floor = 0
        self.secret = secret_key()
        self._apart = numbers == "apart"
        self._lock = threading.Lock()

    def get(self, key: bytes) -> SanitizedText | None:
        with self._lock:
            return self._messages.use(key) or self._answers.use(key)

    def put_first(
        self, key: bytes, result: SanitizedText, conversation: str | None = None
    ) -> SanitizedText:
        with self._lock:
            kept = self._answers if result.record.variant == "answer" else self._messages
            if (first := kept.use(key)) is not None:
                return first
            kept.keep(key, result, _size(result))
        return result

    @contextmanager
    def edit(self, conversation: str) -> Iterator[Entries]:
        with self._lock:
            entries = self._conversations.get(conversation) or Entries(
                tag=tag_of(self.secret, conversation) if self._apart else 0
            )
            if conversation in self._conversations:
                self._conversations.move_to_end(conversation)
            n_before = len(entries.rows)
            try:
                with entries.editing(lambda n: self._make_room(entries, n_before, n)):
                    yield entries
            except BaseException:
                if len(entries.rows) > n_before and n_before:
                    self._conversations[conversation] = Entries.of(
                        entries.rows[:n_before], entries.numbers, entries.tag
                    )
                raise
            if len(entries.rows) > n_before:
                self._conversations[conversation] = entries
                self._n_entries += len(entries.rows) - n_before

    def _make_room(self, entries: Entries, n_before: int, n: int) -> None:
        """Forget other conversations; raise VaultError if this one alone has no room."""
        if len(entries.rows) + n > self._max_entries:
            raise VaultError(
                f"the conversation is full: it holds at most max_entries={self._max_entries} things"
            )
        # This one is the last, and never reached: the others would be gone, and it has room.
        while self._n_entries + len(entries.rows) - n_before + n > self._max_entries:
            self._drop(next(iter(self._conversations)))
        entries.floor = self._floor

    def forget(self, conversation: str, *, final: bool = False) -> None:
        """Remove a conversation's identifiers; texts are forgotten as they are not used."""
        with self._lock:
            if conversation in self._conversations:
                self._drop(conversation, final)

    def _drop(self, conversation: str, final: bool = False) -> None:
        gone = self._conversations.pop(conversation)
        self._n_entries -= len(gone.rows)
        self._floor = self._floor if final else max(self._floor, gone.floor_without())

    def __repr__(self) -> str:
        n_messages = plural(len(self._messages), "message")
        return f"MemoryVault({n_messages}, {plural(self._n_entries, 'identifier')})"


class Scratch(MemoryVault):
    """Vault that shows another one and keeps what is added to it, as long as it lives itself.

    Guarantee: nothing of the other changes: no message, table or number.

    Args:
        below: the other.

    Attributes:
        is_unsent: what is drawn for this one is not to be seen.
    """

    is_unsent = False

    def __init__(self, below: Vault) -> None:
        super().__init__(max_entries=sys.maxsize)
        self.below, self.secret = below, below.secret

    def get(self, key: bytes) -> SanitizedText | None:
        return super().get(key) or self.below.get(key)

    @contextmanager
    def edit(self, conversation: str) -> Iterator[Entries]:
        if conversation not in self._conversations:
            with self.below.edit(conversation) as table:
                table.make_room(0)  # it brings table and floor up to date
                copied, floor = Entries.of(table.rows, table.numbers, table.tag), table.floor
            with self._lock:
                if self._conversations.setdefault(conversation, copied) is copied:
                    self._n_entries += len(copied.rows)
                self._floor = max(self._floor, floor)
        with super().edit(conversation) as table:
            yield table


def tag_of(secret: bytes, conversation: str) -> int:
    """Return the number that tells the placeholders of a conversation apart, five digits.

    It follows from the vault's secret, so that it needs no place of its own: random to who does not
    have it, the same for all processes that share a vault, another after a restart without one.
    """
    return _tag(secret, conversation)


def _tag(secret: bytes, conversation: str) -> int:
    drawn = int.from_bytes(message_key(secret, "numbers", conversation), "big")
    return _FIRST_TAG + drawn % (100_000 - _FIRST_TAG)


def _size(result: SanitizedText) -> int:
    """Return about how many characters it takes to keep a result, as far as all may know.

    A size of originals would show in what is forgotten, and so drawn anew.
    """
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


def check_settings(max_messages: int, max_entries: int, numbers: str) -> None:
    """Raise ValueError if a vault may keep nothing, or its placeholders are numbered otherwise."""
    for name, value in (("max_messages", max_messages), ("max_entries", max_entries)):
        if value < 1:
            raise ValueError(f"{name} must be at least 1, got {value!r}")
    if numbers not in NUMBERING:
        raise ValueError(f"numbers must be one of {NUMBERING}, got {numbers!r}")


def placeholders(
    vault: Vault, conversation: str, wanted: Iterable[Wanted | tuple[str, str]]
) -> list[str]:
    """Return the released values of forms, in order; those that have none get placeholders.

    Args:
        wanted: forms; pairs are (kind, original).

    Raises:
        VaultError: full, or not writable; nothing was assigned.
    """
    with vault.edit(conversation) as table:
        return [table.hide(Wanted(*each)) for each in wanted]
