"""Vaults that survive the process: in an encrypted file, or on PostgreSQL for all replicas.

A conversation has one row, which holds, sealed, how many entries there are and the chained HMAC of
them all, so that a missing or older entry is found. Entries that are known already come from a
cache in this process.
"""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from sanitizer.errors import VaultError
from sanitizer.randomness import secret_key
from sanitizer.results import SanitizedText
from sanitizer.storage.databases import Closing
from sanitizer.storage.postgres_store import PostgresRows, PostgresStore
from sanitizer.storage.sealing import decoded, derived_keys, dumped, encoded, key_bytes
from sanitizer.storage.store import VAULT, Rows, SqliteStore
from sanitizer.storage.table import Cache, Entries, Row
from sanitizer.storage.vault import MAX_ENTRIES, MAX_MESSAGES, Vault, check_settings, tag_of

LOCKS = 256
"""Locks of this process; conversations that share one wait for each other."""


@dataclass
class _Conversation:
    """One conversation, decrypted.

    Attributes:
        seal: of its row, as it was when this was current.
        life: drawn when its table begins, and again after it was forgotten, so that entries of an
            earlier life cannot be replayed.
        n: how many entries it has.
        chain: the chained HMAC that ends with entry n.
        floor: numbers up to it were used in an earlier life.
        entries: its things.
        version: of the store when this was last found to be current.
    """

    seal: bytes = b""
    life: bytes = field(default_factory=secret_key)
    n: int = 0
    chain: bytes = b""
    floor: int = 0
    entries: Entries = field(default_factory=Entries, repr=False)
    version: int | None = None

    def encoded(self) -> bytes:
        numbers = self.entries.numbers
        return dumped([self.life.hex(), self.n, self.chain.hex(), self.floor, numbers])


class _Thread(threading.local):
    """What one thread is doing in `read_once`.

    Attributes:
        read: the conversations that it has read there; None outside of it.
        ahead: the conversation that its first statement there reads besides what it is for.
    """

    read: set[str] | None = None
    ahead: str | None = None


class StoredVault(Vault):
    """What the vaults of all stores share.

    Args:
        about: digest of policy and model, stored beside what is assigned.
        max_messages, max_entries, numbers: as of the vaults.
    """

    _changing: Callable[[], AbstractContextManager[Rows]]
    """Runs a transaction in which things are assigned."""
    _limits: Callable[[Any, _Conversation], tuple[int, int]]
    """Returns how many forms count as held, and the number above which new ones start."""
    _drop_oldest: Callable[[Any, bytes, int], None]
    """Drops messages that are too many, once one of an owner got a number."""
    _forgotten: Callable[[Any, bytes, int], list[bytes]]
    """Puts a conversation's row away, and its floor; returns the owners of messages that go too."""

    def __init__(
        self,
        store: SqliteStore | PostgresStore,
        about: str,
        max_messages: int,
        max_entries: int,
        numbers: str,
    ) -> None:
        check_settings(max_messages, max_entries, numbers)
        self._store, self.secret = store, store.secret
        self._about = about
        self._max_messages, self._max_entries = max_messages, max_entries
        self._apart = numbers == "apart"
        self._cache: Cache[bytes, _Conversation] = Cache()
        self._lock = threading.Lock()  # of the cache
        self._locks = [threading.Lock() for _ in range(LOCKS)]
        self._thread = _Thread()

    def get(self, key: bytes) -> SanitizedText | None:
        with self._store.read(VaultError) as rows:
            return self._found(rows, self._store.mac("message", key))

    def put_first(
        self, key: bytes, result: SanitizedText, conversation: str | None = None
    ) -> SanitizedText:
        """Keep a result unless one is there already; return the one that is kept.

        In a file, the next conversation to be forgotten takes messages without one along. On
        PostgreSQL, the charge that was reserved under this key counts as used from here on.
        """
        message_id = self._store.mac("message", key)
        owner = b"" if conversation is None else self._id(conversation)
        is_answer = result.record.variant == "answer"
        if is_answer:
            owner = self._store.mac("answers", owner)
        # Nothing is charged for an answer: a statement may be a transaction of its own.
        begin = self._store.write_one if is_answer else self._store.write
        with begin(VaultError) as rows:
            sealed = self._store.seal(encoded(result), "message", message_id, owner)
            number = rows.add("message", message_id, owner, *sealed)
            if number is None:
                if (kept := self._found(rows, message_id)) is None:
                    raise VaultError(f"{self._store.where}: a message was dropped meanwhile")
                return kept
            if not is_answer and self._store.shared:
                # Its charge has the same name: it is never given back from here on.
                rows.rows("UPDATE charge SET kept = true WHERE name = ?", message_id)
            self._drop_oldest(rows, owner, number)
        return result

    @contextmanager
    def edit(self, conversation: str) -> Iterator[Entries]:
        """What a ledger of the same store charges in the block is part of its transaction."""
        conversation_id = self._id(conversation)
        rows: Rows | None = None
        with self._alone(conversation):
            state = self._stored(conversation)
            entries = state.entries
            with ExitStack() as stack:

                def make_room(n: int) -> None:
                    nonlocal rows
                    if rows is None:
                        rows = stack.enter_context(self._changing())
                        row = self._row(rows, conversation_id, lock=True)
                        self._load(rows, conversation_id, row, state)
                    n_held, entries.floor = self._limits(rows, state)
                    if n_held + n > self._max_entries:
                        raise VaultError(
                            f"{self._store.where}: full, it holds at most "
                            f"max_entries={self._max_entries} identifiers"
                        )

                with entries.editing(make_room):
                    yield entries
                if rows is not None and len(entries.rows) > state.n:
                    self._write(rows, conversation_id, state)
            if rows is not None:
                self._keep(conversation_id, state)

    def forget(self, conversation: str, *, final: bool = False) -> None:
        """Remove a conversation's identifiers and messages; its numbers are not used again."""
        conversation_id, state = self._id(conversation), _Conversation()
        with self._alone(conversation), self._store.write(VaultError) as rows:
            self._load(rows, conversation_id, self._row(rows, conversation_id, lock=True), state)
            rows.drop_entries(conversation_id)
            floor = 0 if final else max(state.floor, state.entries.floor_without())
            for owner in self._forgotten(rows, conversation_id, floor):
                found = rows.rows("SELECT id FROM message WHERE owner = ?", owner)
                rows.drop("message", [row["id"] for row in found])

    def _id(self, conversation: str) -> bytes:
        return self._store.mac("conversation", conversation)

    def _row(self, rows: Rows, conversation_id: bytes, *, lock: bool = False) -> Any:
        return rows.find("conversation", [conversation_id], lock=lock).get(conversation_id)

    def _found(self, rows: Rows, message_id: bytes) -> SanitizedText | None:
        row = rows.find("message", [message_id]).get(message_id)
        return None if row is None else self._message(row)

    def _message(self, row: Any) -> SanitizedText:
        plain = self._store.open(row["seal"], row["body"], "message", row["id"], row["owner"])
        return decoded(plain, self._store.where)

    @contextmanager
    def _alone(self, conversation: str) -> Iterator[None]:
        """Let one thread of this process at a time read and change a conversation."""
        lock = self._locks[self._id(conversation)[0] % LOCKS]
        if not lock.acquire(timeout=self._store.patience):
            busy = VaultError(f"{self._store.where}: the conversation is busy")
            busy.retry_after = self._store.patience
            raise busy
        try:
            yield
        finally:
            lock.release()

    def _stored(self, conversation: str) -> _Conversation:
        """Return a conversation as it is stored, or was when it was read in `read_once`."""
        conversation_id, read = self._id(conversation), self._thread.read
        with self._lock:
            state = self._cache.get(conversation_id)
        if state is None or not (read and conversation in read):
            version = self._store.version()
            if state is None or version is None or state.version != version:
                with self._store.read(VaultError) as rows:
                    row = self._row(rows, conversation_id)
                    state = self._current(rows, conversation, row)
        if self._apart and not state.entries.tag:
            state.entries.tag = tag_of(self.secret, conversation)
        return state

    def _current(self, rows: Rows, conversation: str, found: Any) -> _Conversation:
        """Return the conversation whose row was just read; None if it has none."""
        conversation_id = self._id(conversation)
        with self._lock:
            state = self._cache.get(conversation_id) or _Conversation()
        while True:
            try:
                self._load(rows, conversation_id, found, state)
                break
            except VaultError:
                # It may have been forgotten between the two reads.
                before, found = found, self._row(rows, conversation_id)
                if before is None or found is None or found["seal"] == before["seal"]:
                    raise
        self._keep(conversation_id, state)
        if self._thread.read is not None:
            self._thread.read.add(conversation)
            self._thread.ahead = None
        return state

    def _load(self, rows: Rows, conversation_id: bytes, row: Any, state: _Conversation) -> None:
        """Bring a conversation up to date, reading from the store what it does not have.

        It is out of the cache until `_keep`: if something fails, a half-changed one must not stay.

        Args:
            row: that of the conversation; None if there is none.
        """
        with self._lock:
            self._cache.pop(conversation_id)
        if row is not None and state.seal == row["seal"] and self._store.shared:
            return  # in a file, the entries that are known may have been deleted meanwhile
        life, n, chain, floor, numbers = secret_key().hex(), 0, "", 0, {}
        if row is not None:
            plain = self._store.open(row["seal"], row["body"], "conversation", conversation_id)
            life, n, chain, floor, numbers = json.loads(plain)
        if state.life.hex() != life or state.n > n:
            state.life, state.n, state.chain = bytes.fromhex(life), 0, b""
            state.entries.clear()
        for entry in self._entries(rows, conversation_id, state, n, bytes.fromhex(chain)):
            state.entries.add(Row(*json.loads(entry)[0]))
        state.seal = b"" if row is None else row["seal"]
        state.n, state.chain, state.floor = n, bytes.fromhex(chain), floor
        state.entries.numbers = Counter(numbers)

    def _entries(
        self, rows: Rows, conversation_id: bytes, state: _Conversation, n: int, end: bytes
    ) -> list[bytes]:
        """Return the entries after those that are known; raise if one is missing or older.

        Entries are only ever added, but where others share the store those above `n` may come from
        a later transaction.
        """
        found = rows.rows(
            "SELECT place, seal, body FROM entry "
            "WHERE conversation = ? AND place > ? AND place <= ? ORDER BY place",
            *(conversation_id, state.n, n),
        )
        opened = [
            self._store.open(row["seal"], row["body"], "entry", conversation_id, row["place"])
            for row in found
        ]
        chain = state.chain or state.life
        for row, plain in zip(found, opened, strict=True):
            chain = self._store.mac("chain", chain, row["place"], plain)
        complete = [row["place"] for row in found] == list(range(state.n + 1, n + 1))
        if not self._store.shared and n:
            # Those that are known are not counted again, which would take longer with each of them.
            ends = "SELECT min(place), max(place) FROM entry WHERE conversation = ?"
            complete = complete and tuple(rows.row(ends, conversation_id)) == (1, n)
        if not complete or (n and chain != end):
            raise VaultError(f"{self._store.where}: damaged or edited: entries are missing")
        return opened

    def _write(self, rows: Rows, conversation_id: bytes, state: _Conversation) -> None:
        """Write the entries that are new, and what the conversation's row says of them."""
        added = []
        for row in state.entries.rows[state.n :]:
            state.n += 1
            plain = dumped([row, self._about])
            sealed = self._store.seal(plain, "entry", conversation_id, state.n)
            chain = state.chain or state.life
            state.chain = self._store.mac("chain", chain, state.n, plain)
            added.append((conversation_id, state.n, *sealed))
        rows.put("entry", added)
        self._put(rows, conversation_id, state)

    def _put(self, rows: Rows, conversation_id: bytes, state: _Conversation) -> None:
        sealed = self._store.seal(state.encoded(), "conversation", conversation_id)
        rows.put("conversation", [(conversation_id, *sealed)])
        state.seal = sealed[0]

    def _keep(self, conversation_id: bytes, state: _Conversation) -> None:
        state.version = self._store.version()
        with self._lock:
            self._cache.keep(conversation_id, state, state.n)


class FileVault(StoredVault, Closing):
    """Vault in an encrypted file; for the processes of one machine.

    Many threads and processes may use one file at once; each process opens its own, after a fork
    again. What a call gives out is on the disk before it returns (WAL, synchronous=FULL): an
    original whose placeholder was sent can be restored after a power cut, and no number is used for
    another.

    Guarantee: without the key, nothing private can be read from the files, and a changed, swapped,
    copied, older or missing row is a VaultError, never a wrong restore. Names of conversations and
    keys of messages are stored as HMAC-SHA256, everything else under AES-256-GCM with a random
    96-bit nonce and associated data that names the row's role and place; keys by scrypt from the
    caller's key and a stored salt. Contents are padded to powers of two.
    The files still show: how many entries and messages there are, which belong together, in which
    order they came, their sizes as powers of two, and when the file was last written.
    Not protected: memory of the running process and swap; whoever holds the key; all files replaced
    together by older copies; old blocks that the disk or its backups keep after `forget`; network
    file systems, on which WAL does not work. Keep `PATH`, `PATH-wal` and `PATH-mark` together.

    Args:
        path: of the vault; `PATH-mark` and, while it is open, `PATH-wal` and `PATH-shm` lie beside
            it.
        key: a secret of at least 16 characters or bytes, the same at every opening; by default from
            the environment variable SANITIZER_VAULT_KEY. A passphrase should be long: whoever has
            the file can guess.
        create: make the vault if it is missing; False makes that an error.
        max_messages: released messages kept, at least 1; the oldest are dropped first.
        max_entries: forms of things kept in all, at least 1. A full vault refuses new ones: forget
            conversations.
        numbers: of placeholders, "apart" or "from 1": see `MemoryVault`.

    Raises:
        ValueError: no key, a short one, a limit below 1, or another numbering.
        VaultError: missing, damaged, not writable, another format or version, wrong key, or busy
            for a minute.

    >>> from tempfile import TemporaryDirectory
    >>> from sanitizer.storage.vault import placeholders
    >>> with TemporaryDirectory() as folder:
    ...     with FileVault(f"{folder}/vault", "a long passphrase", numbers="from 1") as vault:
    ...         print(placeholders(vault, "c-17", [("EMAIL", "ada@example.org")]))
    ...     with FileVault(f"{folder}/vault", "a long passphrase", create=False) as vault:
    ...         print(vault.originals("c-17")["<EMAIL_1>"])
    ['<EMAIL_1>']
    ada@example.org
    """

    def __init__(
        self,
        path: str | Path,
        key: bytes | str | None = None,
        *,
        create: bool = True,
        max_messages: int = MAX_MESSAGES,
        max_entries: int = MAX_ENTRIES,
        numbers: str = "apart",
    ) -> None:
        check_settings(max_messages, max_entries, numbers)
        place = Path(path).absolute()
        keys = partial(derived_keys, place, key_bytes(key))
        if create and not place.exists():
            SqliteStore.create(place, VAULT, keys)
        self._file = SqliteStore(place, VAULT, keys)
        super().__init__(self._file, "", max_messages, max_entries, numbers)

    def forget(self, conversation: str, *, final: bool = False) -> None:
        """Remove a conversation's identifiers and messages.

        All messages that were kept without a conversation go too. What was released is not restored
        any more, and no conversation uses its numbers again.

        Raises:
            VaultError: nothing was removed; or, as the message says, the WAL could not be emptied.
        """
        super().forget(conversation, final=final)
        if not self._file.empty_wal():  # which may hold deleted rows
            raise VaultError(
                f"{self._file.where}: forgotten, but the WAL beside it is in use and "
                "could not be emptied"
            )

    def close(self) -> None:
        """Close the file, and forget what was decrypted."""
        with self._lock:
            self._cache.clear()
        self._file.close()

    def _changing(self) -> AbstractContextManager[Rows]:
        return self._file.write(VaultError)

    def _limits(self, rows: Any, state: _Conversation) -> tuple[int, int]:
        n_new = len(state.entries.rows) - state.n
        return rows.head.held["entry"] + n_new, rows.head.floor

    def _drop_oldest(self, rows: Any, owner: bytes, number: int) -> None:
        n_over = max(0, rows.head.held["message"] - self._max_messages)
        found = rows.rows("SELECT id FROM message ORDER BY number LIMIT ?", n_over)
        rows.drop("message", [row["id"] for row in found])

    def _forgotten(self, rows: Any, conversation_id: bytes, floor: int) -> list[bytes]:
        rows.head.floor = max(rows.head.floor, floor)
        rows.drop("conversation", [conversation_id])
        owners = (conversation_id, b"")
        return [*owners, *(self._store.mac("answers", owner) for owner in owners)]


class PostgresVault(StoredVault):
    """Vault in a store on PostgreSQL, one table of things for all replicas.

    Its row's lock makes assigning atomic over all processes. What a draw costs is charged in the
    same transaction, if the ledger is in the same store: a stand-in is kept if and only if it was
    charged, and a retry finds it. What is forgotten stays in the database's files until it is
    vacuumed, and in its backups.

    Args:
        about: digest of policy and model, stored beside what is assigned and charged; not part of
            any key.
        max_messages: released messages kept of one conversation, at least 1; its oldest are
            dropped first. Answers of an API: as many again, so that they push out no message.
        max_entries: forms of things kept of one conversation, at least 1. A full table refuses.
        numbers: of placeholders, "apart" or "from 1": see `MemoryVault`.

    Raises:
        ValueError: a limit below 1, or another numbering.
        VaultError: from every method: the database fails, or a row does not open.
    """

    def __init__(
        self,
        store: PostgresStore,
        about: str = "",
        *,
        max_messages: int = MAX_MESSAGES,
        max_entries: int = MAX_ENTRIES,
        numbers: str = "apart",
    ) -> None:
        super().__init__(store, about, max_messages, max_entries, numbers)
        self._shared = store

    def get(self, key: bytes) -> SanitizedText | None:
        """Return the result kept under a key, as `Vault.get`.

        The first statement in `read_once` reads the conversation too, which is asked for next.
        """
        if (conversation := self._thread.ahead) is None:
            return super().get(key)
        self._thread.ahead = None
        ids = self._store.mac("message", key), self._id(conversation)
        with self._alone(conversation), self._store.read(VaultError) as rows:
            found = rows.row(_BOTH, *ids)
            row = {"seal": found["its_seal"], "body": found["its_body"]}
            self._current(rows, conversation, row if row["seal"] is not None else None)
        return self._message(found) if found["id"] is not None else None

    @contextmanager
    def read_once(self, conversation: str) -> Iterator[None]:
        """Let this thread read a table at most once in the block, but for what it assigns.

        That of the conversation may be read with the first message. What others add meanwhile is
        seen afterwards, as if they had come later.
        """
        thread = self._thread
        outside, thread.read, thread.ahead = thread.read, set(), conversation
        try:
            yield
        finally:
            thread.read, thread.ahead = outside, None

    def _changing(self) -> AbstractContextManager[PostgresRows]:
        return self._shared.spending(self._about)

    def _row(self, rows: Rows, conversation_id: bytes, *, lock: bool = False) -> Any:
        found = super()._row(rows, conversation_id, lock=lock)
        if lock and found is None:  # its id is locked, so that nobody else makes the row meanwhile
            number = int.from_bytes(conversation_id[:8], "big", signed=True)
            rows.rows("SELECT pg_advisory_xact_lock(?)", number)
            found = super()._row(rows, conversation_id, lock=True)
        return found

    def _limits(self, rows: Rows, state: _Conversation) -> tuple[int, int]:
        return len(state.entries.rows), state.floor

    def _drop_oldest(self, rows: Rows, owner: bytes, number: int) -> None:
        if number % max(1, self._max_messages // 100) == 0:
            rows.rows(
                "DELETE FROM message WHERE id IN "
                "(SELECT id FROM message WHERE owner = ? ORDER BY number DESC OFFSET ?)",
                *(owner, self._max_messages),
            )

    def _forgotten(self, rows: Rows, conversation_id: bytes, floor: int) -> list[bytes]:
        if floor:
            self._put(rows, conversation_id, _Conversation(floor=floor))
        else:
            rows.drop("conversation", [conversation_id])
        return [conversation_id, self._store.mac("answers", conversation_id)]


_BOTH = """
SELECT m.*, c.seal AS its_seal, c.body AS its_body FROM (VALUES (?::bytea, ?::bytea)) AS asked
LEFT JOIN message m ON m.id = column1
LEFT JOIN conversation c ON c.id = column2
"""
