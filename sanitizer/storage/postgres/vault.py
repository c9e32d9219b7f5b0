"""Vault on PostgreSQL: one table of things for all replicas, whoever asks first.

A conversation has one row, whose lock (SELECT ... FOR UPDATE) makes assigning atomic over all
processes. What a draw costs is charged in the same transaction, if the ledger is in the same
store: a stand-in is kept if and only if it was charged, and a retry finds it.

The conversation's row holds, sealed, how many entries there are and the chained HMAC of them all,
so that a missing or older entry is found. Rows are checked by one read at each call; entries that
are known already come from a cache in this process.
"""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any

from sanitizer.errors import VaultError
from sanitizer.randomness import secret_key
from sanitizer.results import SanitizedText
from sanitizer.storage.postgres.store import PostgresStore, Transaction
from sanitizer.storage.sealing import decoded, dumped, encoded
from sanitizer.storage.table import Cache, Entries, Row
from sanitizer.storage.vault import MAX_ENTRIES, MAX_MESSAGES, StoredVault, Tags

LOCKS = 256
"""Locks of this process; conversations that share one wait for each other."""

_BOTH = """
SELECT m.*, c.seal AS its_seal, c.body AS its_body FROM (VALUES ($1::bytea, $2::bytea)) AS asked
LEFT JOIN sanitizer.message m ON m.id = column1
LEFT JOIN sanitizer.conversation c ON c.id = column2
"""
_ADD = """
WITH changed AS (
    INSERT INTO sanitizer.conversation VALUES ($1, $2, $3)
    ON CONFLICT (id) DO UPDATE SET seal = excluded.seal, body = excluded.body RETURNING id)
INSERT INTO sanitizer.entry SELECT changed.id, added.*
FROM changed, unnest($4::int[], $5::bytea[], $6::bytea[]) AS added
"""
_PUT = """
INSERT INTO sanitizer.conversation VALUES ($1, $2, $3)
ON CONFLICT (id) DO UPDATE SET seal = excluded.seal, body = excluded.body
"""


@dataclass
class _Conversation:
    """One conversation, decrypted.

    Attributes:
        seal: of its row, as it was when this was current.
        life: drawn when its table begins, and again when it is forgotten.
        n: how many entries it has.
        chain: the chained HMAC that ends with entry n.
        floor: numbers up to it were used in an earlier life.
        entries: its things.
        is_sure: False while it is read, or holds things that no transaction has committed yet.
    """

    seal: bytes = b""
    life: bytes = field(default_factory=secret_key)
    n: int = 0
    chain: bytes = b""
    floor: int = 0
    entries: Entries = field(default_factory=Entries, repr=False)
    is_sure: bool = True

    def encoded(self) -> bytes:
        """Serialize what its row holds."""
        numbers = self.entries.numbers
        return dumped([self.life.hex(), self.n, self.chain.hex(), self.floor, numbers])


class _Thread(threading.local):
    """What one thread is doing in `read_once`.

    Attributes:
        seen: what it read there, by conversation; None outside of it.
        ahead: the conversation that its first statement there reads besides what it is for.
    """

    seen: dict[str, _Conversation] | None = None
    ahead: str | None = None


class PostgresVault(StoredVault):
    """Vault in a store on PostgreSQL; implements the protocol `Vault`.

    Args:
        store: an open store.
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
        super().__init__(max_messages, max_entries)
        self._store = store
        self._tags = Tags(store.secret, numbers)
        self._about = about
        self._what = f"{store.where}, the table of a conversation"
        self._cache: Cache[bytes, _Conversation] = Cache()
        self._lock = threading.Lock()
        self._thread = _Thread()
        self._locks = [threading.Lock() for _ in range(LOCKS)]

    @property
    def secret(self) -> bytes:
        return self._store.secret

    def get(self, key: bytes) -> SanitizedText | None:
        message_id = self._store.mac("message", key)
        if self._thread.ahead is not None:
            return self._get_ahead(message_id, self._thread.ahead)
        found = self._store.database.read(
            VaultError, "SELECT * FROM sanitizer.message WHERE id = $1", message_id
        )
        return self._message(found[0]) if found else None

    def _get_ahead(self, message_id: bytes, conversation: str) -> SanitizedText | None:
        """Return a message; the same statement reads the conversation, which is asked for next."""
        self._thread.ahead = None
        conversation_id = self._id(conversation)
        with self._alone(conversation):
            (found,) = self._store.database.read(VaultError, _BOTH, message_id, conversation_id)
            row = {"seal": found["its_seal"], "body": found["its_body"]}
            state = self._current(conversation_id, row if row["seal"] is not None else None)
            state.entries.tag = self._tags.of(conversation)
            self._see(conversation, state)
        return self._message(found) if found["id"] is not None else None

    def put_first(
        self, key: bytes, result: SanitizedText, conversation: str | None = None
    ) -> SanitizedText:
        """Keep a result unless one is there already; return the one that is kept.

        The charge that was reserved under this key counts as used from here on.
        """
        message_id = self._store.mac("message", key)
        owner = b"" if conversation is None else self._id(conversation)
        if result.record.variant == "answer":
            owner = self._answers_of(owner)
        row = (message_id, owner, *self._store.seal(encoded(result), "message", message_id, owner))
        # Nothing is charged for an answer: a statement is a transaction of its own.
        is_answer = result.record.variant == "answer"
        database = self._store.database
        with nullcontext() if is_answer else database.transaction(VaultError):
            new = database.read(
                VaultError,
                "INSERT INTO sanitizer.message (id, owner, seal, body) "
                "VALUES ($1, $2, $3, $4) ON CONFLICT (id) DO NOTHING RETURNING number",
                *row,
            )
            if not new:
                kept = self.get(key)
                if kept is None:
                    raise VaultError(f"{self._store.where}: a message was dropped meanwhile")
                return kept
            if not is_answer:  # Its charge has the same name: it is never given back from here on.
                update = "UPDATE sanitizer.charge SET kept = true WHERE name = $1"
                database.read(VaultError, update, message_id)
            if new[0]["number"] % max(1, self._max_messages // 100) == 0:
                self._drop_oldest(owner)
        return result

    @contextmanager
    def edit(self, conversation: str) -> Iterator[Entries]:
        """Let one thread change a table, as `Vault.edit`.

        What a ledger of the same store charges in the block is part of its transaction.
        """
        conversation_id = self._id(conversation)
        transaction: Transaction | None = None
        with self._alone(conversation):
            state = self._seen(conversation)
            entries = state.entries
            with ExitStack() as stack:

                def make_room(n: int) -> None:
                    nonlocal transaction
                    if transaction is None:
                        state.is_sure = False
                        transaction = stack.enter_context(
                            self._store.database.transaction(VaultError)
                        )
                        transaction.about, transaction.spends = self._about, True
                        row = self._locked(transaction, conversation_id)
                        self._load(conversation_id, row, state)
                        state.is_sure = False
                        entries.floor = state.floor
                    self._check_room(len(entries.rows), n, self._what)

                with entries.editing(make_room):
                    yield entries
                if transaction is not None and len(entries.rows) > state.n:
                    self._write(transaction, conversation_id, state)
            if transaction is not None:
                state.is_sure = True
                self._keep(conversation_id, state)
                self._see(conversation, state)

    def forget(self, conversation: str) -> None:
        """Remove a conversation's things and messages; its numbers are not used again.

        The rows' bytes stay in the database's files until it is vacuumed, and in its backups.
        """
        conversation_id = self._id(conversation)
        state = _Conversation()
        with self._alone(conversation):
            with self._store.database.transaction(VaultError) as transaction:
                self._load(conversation_id, self._locked(transaction, conversation_id), state)
                again = _Conversation(floor=max(state.floor, state.entries.floor_without()))
                transaction.rows(
                    "DELETE FROM sanitizer.entry WHERE conversation = $1", conversation_id
                )
                transaction.rows(
                    "DELETE FROM sanitizer.message WHERE owner = ANY($1::bytea[])",
                    [conversation_id, self._answers_of(conversation_id)],
                )
                transaction.rows(_PUT, conversation_id, *self._put(conversation_id, again))
            self._keep(conversation_id, again)

    def __repr__(self) -> str:
        (counts,) = self._store.database.read(
            VaultError,
            "SELECT (SELECT count(*) FROM sanitizer.message) AS messages, "
            "(SELECT count(*) FROM sanitizer.entry) AS entries",
        )
        return f"PostgresVault({counts['messages']} messages, {counts['entries']} identifiers)"

    def _id(self, conversation: str) -> bytes:
        return self._store.mac("conversation", conversation)

    def _answers_of(self, owner: bytes) -> bytes:
        return self._store.mac("answers", owner)

    @contextmanager
    def _alone(self, conversation: str) -> Iterator[None]:
        lock = self._locks[self._id(conversation)[0] % LOCKS]
        seconds = self._store.database.seconds
        if not lock.acquire(timeout=seconds):
            busy = VaultError(f"{self._store.where}: the conversation is busy")
            busy.retry_after = seconds
            raise busy
        try:
            yield
        finally:
            lock.release()

    def _entries_of(self, conversation: str) -> Entries:
        return self._stored(conversation).entries

    def _entries_seen(self, conversation: str) -> Entries:
        return self._seen(conversation).entries

    def _stored(self, conversation: str) -> _Conversation:
        conversation_id = self._id(conversation)
        state = self._current(conversation_id, self._row(conversation_id))
        state.entries.tag = self._tags.of(conversation)
        self._see(conversation, state)
        return state

    def _seen(self, conversation: str) -> _Conversation:
        found = (self._thread.seen or {}).get(conversation)
        return found if found and found.is_sure else self._stored(conversation)

    @contextmanager
    def read_once(self, conversation: str) -> Iterator[None]:
        thread = self._thread
        outside, thread.seen, thread.ahead = thread.seen, {}, conversation
        try:
            yield
        finally:
            thread.seen, thread.ahead = outside, None

    def _see(self, conversation: str, state: _Conversation) -> None:
        if self._thread.seen is not None:
            self._thread.seen[conversation] = state
            self._thread.ahead = None

    def _message(self, row: Any) -> SanitizedText:
        plain = self._store.open(row["seal"], row["body"], "message", row["id"], row["owner"])
        return decoded(plain, self._store.where)

    def _drop_oldest(self, owner: bytes) -> None:
        self._store.database.read(
            VaultError,
            "DELETE FROM sanitizer.message WHERE id IN (SELECT id FROM sanitizer.message "
            "WHERE owner = $1 ORDER BY number DESC OFFSET $2)",
            *(owner, self._max_messages),
        )

    def _current(self, conversation_id: bytes, found: Any) -> _Conversation:
        """Return the conversation as the database has it now.

        Args:
            found: its row, just read; None if it has none.
        """
        with self._lock:
            state = self._cache.get(conversation_id) or _Conversation()
        while found is not None:
            try:
                self._load(conversation_id, found, state)
            except VaultError:
                # It may have been forgotten between the two reads.
                before, found = found, self._row(conversation_id)
                if found is None or found["seal"] == before["seal"]:
                    raise
            else:
                self._keep(conversation_id, state)
                return state
        return _Conversation()

    def _row(self, conversation_id: bytes) -> Any:
        found = self._store.database.read(
            VaultError, "SELECT * FROM sanitizer.conversation WHERE id = $1", conversation_id
        )
        return found[0] if found else None

    def _load(self, conversation_id: bytes, row: Any, state: _Conversation) -> None:
        """Bring a conversation up to date, reading from the database what it does not have.

        It is out of the cache until `_keep`: if something fails, a half-changed one must not stay.

        Args:
            row: that of the conversation; None if there is none.
        """
        with self._lock:
            self._cache.pop(conversation_id)
        if row is not None and state.seal == row["seal"]:
            return
        state.is_sure = False
        life, n, chain, floor, numbers = secret_key().hex(), 0, "", 0, {}
        if row is not None:
            plain = self._store.open(row["seal"], row["body"], "conversation", conversation_id)
            life, n, chain, floor, numbers = json.loads(plain)
        if state.life.hex() != life or state.n > n:
            state.life, state.n, state.chain = bytes.fromhex(life), 0, b""
            state.entries.clear()
        for entry in self._entries(conversation_id, state, n, bytes.fromhex(chain)):
            state.entries.add(Row.of(json.loads(entry)[0]))
        state.seal = b"" if row is None else row["seal"]
        state.n, state.chain, state.floor = n, bytes.fromhex(chain), floor
        state.entries.numbers = Counter(numbers)
        state.is_sure = True

    def _entries(
        self, conversation_id: bytes, state: _Conversation, n: int, end: bytes
    ) -> list[bytes]:
        """Return the entries after those that are known; raise if one is missing or older.

        Entries are only ever added, but those above `n` may come from a later transaction.
        """
        select = (
            "SELECT place, seal, body FROM sanitizer.entry "
            "WHERE conversation = $1 AND place > $2 AND place <= $3 ORDER BY place"
        )
        which = (conversation_id, state.n, n)
        found = self._store.database.read(VaultError, select, *which) if state.n < n else []
        opened = [
            self._store.open(row["seal"], row["body"], "entry", conversation_id, row["place"])
            for row in found
        ]
        chain = state.chain or state.life
        for row, plain in zip(found, opened, strict=True):
            chain = self._linked(chain, row["place"], plain)
        complete = [row["place"] for row in found] == list(range(state.n + 1, n + 1))
        if not complete or (n and chain != end):
            raise VaultError(f"{self._store.where}: damaged or edited: entries are missing")
        return opened

    def _linked(self, chain: bytes, place: int, plain: bytes) -> bytes:
        return self._store.mac("chain", chain, place, plain)

    def _locked(self, transaction: Transaction, conversation_id: bytes) -> Any:
        """Return a conversation's row, locked until the transaction ends; None if there is none.

        Then its id is locked, so that nobody else makes the row meanwhile.
        """
        select = "SELECT * FROM sanitizer.conversation WHERE id = $1 FOR UPDATE"
        found = transaction.row(select, conversation_id)
        if found is None:
            number = int.from_bytes(conversation_id[:8], "big", signed=True)
            transaction.rows("SELECT pg_advisory_xact_lock($1)", number)
            found = transaction.row(select, conversation_id)
        return found

    def _write(
        self, transaction: Transaction, conversation_id: bytes, state: _Conversation
    ) -> None:
        """Write the entries that are new."""
        places, seals, bodies = [], [], []
        for row in state.entries.rows[state.n :]:
            state.n += 1
            plain = dumped([row, self._about])
            seal, body = self._store.seal(plain, "entry", conversation_id, state.n)
            state.chain = self._linked(state.chain or state.life, state.n, plain)
            places.append(state.n)
            seals.append(seal)
            bodies.append(body)
        sealed = self._put(conversation_id, state)
        transaction.rows(_ADD, conversation_id, *sealed, places, seals, bodies)

    def _put(self, conversation_id: bytes, state: _Conversation) -> tuple[bytes, bytes]:
        """Return what is to be written of a conversation's row."""
        state.seal, body = self._store.seal(state.encoded(), "conversation", conversation_id)
        return state.seal, body

    def _keep(self, conversation_id: bytes, state: _Conversation) -> None:
        with self._lock:
            self._cache.keep(conversation_id, state, state.n)
