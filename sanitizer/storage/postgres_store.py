"""The store on PostgreSQL that replicas share.

Guarantee: without the key, nothing private can be read from the database, its log or its backups:
names are HMACs, contents are sealed (`sealing`), for their place, padded. A row that was changed or
swapped is an error; so is one that is missing among those of a conversation.
Not protected: whoever may write to the database can remove whole conversations and charges, or put
older rows back; sizes as powers of two, times, which rows belong together; memory of this process.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from types import SimpleNamespace
from typing import Any

from sanitizer.errors import LedgerError, SanitizerError, VaultError
from sanitizer.randomness import secret_key
from sanitizer.storage import sealing
from sanitizer.storage.databases import CONNECTIONS, SECONDS, Closing, Database, Statements
from sanitizer.storage.sealing import SALT_BYTES, Keys, derived_keys, dumped, hmac_of, key_bytes
from sanitizer.storage.store import POSTGRES, TABLES, Rows, insert, schema, seconds_of

VERSION = 1
"""Version of the tables; another one is refused."""
PATIENCE = 30.0
"""How long a statement may take while the tables are made, or rows are sealed again."""
DAY_SECONDS = 86_400
"""Length of a day."""
_GENERATION = 4
"""Bytes before a seal that say which key it is under."""
SCHEMA = (
    "CREATE TABLE meta (version int NOT NULL, day bigint NOT NULL, mac bytea NOT NULL)",
    "CREATE TABLE keyring (slot bytea PRIMARY KEY, salt bytea NOT NULL, cost int NOT NULL, "
    "seal bytea NOT NULL, body bytea NOT NULL)",
    *schema(tuple(TABLES), POSTGRES),
    "CREATE TABLE audit (number bigserial PRIMARY KEY, at timestamptz NOT NULL DEFAULT now(), "
    "entry jsonb NOT NULL)",
)
_INSERT_KEY = "INSERT INTO keyring VALUES (?, ?, ?, ?, ?)"
SEALED = {"conversation": ("id",), "entry": ("conversation", "place"), "message": ("id", "owner")}
"""Table of sealed rows -> columns that each row is sealed for."""


class PostgresRows(Rows):
    """Rows of which others read and change some meanwhile, unless they are locked."""

    locks = " FOR UPDATE"

    def locked(
        self, table: str, fresh: Mapping[Any, Sequence[object]], also: Sequence[object] = ()
    ) -> dict[Any, Any]:
        # What is missing is made before anything is locked, and both in the order of the ids: two
        # transactions never wait for each other.
        there = self.find(table, [*fresh, *also])
        if missing := [fresh[each] for each in sorted(set(fresh) - set(there))]:
            self.many(f"{insert(table)} ON CONFLICT DO NOTHING", missing)
        return there | self.find(table, list(fresh), lock=True)

    def add(self, table: str, *values: object) -> int | None:
        statement = f"{insert(table, numbered=False)} ON CONFLICT DO NOTHING RETURNING number"
        row = self.row(statement, *values)
        return None if row is None else int(row["number"])


@dataclass(frozen=True)
class Ring:
    """The keys that rows are sealed under; each generation is another key.

    Attributes:
        secret: key of the message hashes, 32 bytes.
        macs: key of all other HMACs. It stays, since rows are found by them.
        seals: generation -> keys of sealed rows.
        current: generation of new rows.
    """

    secret: bytes = field(repr=False)
    macs: bytes = field(repr=False)
    seals: dict[int, bytes] = field(repr=False)
    current: int = 1

    @classmethod
    def new(cls) -> Ring:
        return cls(secret_key(), secret_key(), {1: secret_key() + secret_key()})

    def renewed(self) -> Ring:
        """Return a ring with one more generation, which is the current one."""
        seals = self.seals | {self.current + 1: secret_key() + secret_key()}
        return Ring(self.secret, self.macs, seals, self.current + 1)

    def encoded(self) -> bytes:
        seals = {str(number): key.hex() for number, key in self.seals.items()}
        return dumped([self.secret.hex(), self.macs.hex(), seals, self.current])

    @classmethod
    def decoded(cls, plain: bytes) -> Ring:
        secret, macs, seals, current = json.loads(plain)
        keys = {int(number): bytes.fromhex(key) for number, key in seals.items()}
        return cls(bytes.fromhex(secret), bytes.fromhex(macs), keys, current)


class PostgresStore(Closing):
    """An open store on PostgreSQL, for one or more vaults and ledgers. Serves many threads.

    Rows are sealed under keys that are stored in the database themselves, sealed under what scrypt
    derives from the caller's key. `add_key` and `remove_key` change the latter while replicas run;
    `renew` makes a new key for rows and seals all of them again.

    Args:
        url: such as "postgresql://user@host/database"; never shown.
        key: a secret of at least 16 characters or bytes, the same at every replica.
        create: make the tables if there are none; False makes that an error.
        seconds: how long a statement waits for the database.
        connections: most connections of this process.
        source: where the URL was read from, such as "env:NAME"; for messages.

    Raises:
        ValueError: a short key, no URL.
        VaultError: no database, no right to use it, another version of the tables, a wrong key.
    """

    shared = True

    def __init__(
        self,
        url: str,
        key: bytes | str,
        *,
        create: bool = True,
        seconds: float = SECONDS,
        connections: int = CONNECTIONS,
        source: str = "",
    ) -> None:
        self._key = key_bytes(key)
        self.database = Database(url, seconds, connections, "sanitizer", source)
        self.where = self.database.where
        self.patience = seconds
        self._thread = threading.local()
        try:
            self._prepare(create)
        except BaseException:
            self.database.close()
            raise

    def mac(self, *fields: object) -> bytes:
        return hmac_of(self._ring.macs, *fields)

    def seal(self, plain: bytes, *bound: object) -> tuple[bytes, bytes]:
        """Encrypt padded content; return (generation, nonce and tag; ciphertext)."""
        seal, body = self._seals[self._ring.current].seal(plain, *bound)
        return self._ring.current.to_bytes(_GENERATION, "big") + seal, body

    def open(self, seal: bytes, body: bytes, *bound: object) -> bytes:
        """Return the content. Raises VaultError if it was not sealed for this place."""
        generation = int.from_bytes(seal[:_GENERATION], "big")
        if generation not in self._seals:
            self._load()  # another process has renewed the keys
        if generation not in self._seals:
            raise VaultError(f"{self.where}: damaged or edited: a row of an unknown key")
        return self._seals[generation].open(seal[_GENERATION:], body, *bound)

    @contextmanager
    def read(self, error: type[SanitizerError]) -> Iterator[PostgresRows]:
        """Read rows; each statement is its own transaction unless one was begun."""
        rows = partial(self.database.read, error)
        yield PostgresRows(SimpleNamespace(rows=rows, many=None))

    write_one = read

    @contextmanager
    def write(
        self, error: type[SanitizerError], *, durable: bool = True, seconds: float | None = None
    ) -> Iterator[PostgresRows]:
        """Run one transaction; inside another one of this thread, a part of that."""
        with self.database.transaction(error, seconds) as transaction:
            rows = PostgresRows(transaction)
            rows.about = getattr(self._thread, "about", None)
            yield rows

    @contextmanager
    def spending(self, about: str) -> Iterator[PostgresRows]:
        """Run one transaction in which charges are spent at once.

        Args:
            about: digest of policy and model, stored beside the charges.
        """
        with self.database.transaction(VaultError) as transaction:
            self._thread.about = about
            try:
                yield PostgresRows(transaction)
            finally:
                self._thread.about = None

    def now(self, rows: Rows, clock: Callable[[], float] | None) -> int:
        """Return the time in seconds (None: by the database), never before the latest day seen."""
        row = rows.row(
            "SELECT day, mac, extract(epoch FROM clock_timestamp())::float8 AS now FROM meta"
        )
        if row["mac"] != self.mac("meta", VERSION, row["day"]):
            raise LedgerError(
                f"{self.where}: damaged or edited: the latest day does not match its HMAC"
            )
        reading, latest = seconds_of(clock() if clock else row["now"]), int(row["day"])
        if (today := reading // DAY_SECONDS) > latest:
            mac = self.mac("meta", VERSION, today)
            rows.rows("UPDATE meta SET day = ?, mac = ? WHERE day < ?", today, mac, today)
        return max(reading, latest * DAY_SECONDS)

    def version(self) -> int | None:
        """Return None: others may have changed anything."""
        return None

    def check(self) -> None:
        """Raise VaultError unless the database answers."""
        self.database.read(VaultError, "SELECT 1")

    def audit(self, entry: dict[str, object]) -> None:
        """Append an entry to the audit log; it holds no text. Raises VaultError."""
        self.database.read(VaultError, "INSERT INTO audit (entry) VALUES (?)", json.dumps(entry))

    def add_key(self, key: bytes | str) -> None:
        """Let another key open the store too. Raises ValueError, VaultError."""
        new = key_bytes(key)
        with self.write(VaultError) as rows:
            rows.rows(_INSERT_KEY, *self._keyring(new, self._ring))
        self._key = new

    def remove_key(self, key: bytes | str) -> None:
        """Take a key away; it opens the store no more.

        Raises:
            ValueError: short, or the one that is in use here.
            VaultError: it opens nothing.
        """
        old = key_bytes(key)
        if old == self._key:
            raise ValueError("key must be another one than that in use")
        with self.write(VaultError) as rows:
            slot, _ = self._slot(old)
            rows.rows("DELETE FROM keyring WHERE slot = ?", slot)

    def renew(self, batch: int = 500) -> int:
        """Seal all rows again under a new key; return how many.

        Replicas go on meanwhile. Only one key may open the store: remove the others before.

        Raises:
            VaultError: more keys than one, or the database fails; calling it again continues.
        """
        with self.write(VaultError, seconds=PATIENCE) as rows:
            slots = rows.rows("SELECT slot FROM keyring FOR UPDATE")
            if len(slots) != 1:
                raise VaultError(f"{self.where}: {len(slots)} keys open it; remove all but one")
            ring = self._ring.renewed()
            rows.rows("DELETE FROM keyring")
            rows.rows(_INSERT_KEY, *self._keyring(self._key, ring))
        self._use(ring)
        done = 0
        for table in SEALED:
            while n := self._renew_some(table, batch):
                done += n
        return done

    def close(self) -> None:
        self.database.close()

    def _renew_some(self, table: str, batch: int) -> int:
        places = SEALED[table]
        newest = self._ring.current.to_bytes(_GENERATION, "big")
        which = " AND ".join(f"{name} = ?" for name in places)
        with self.write(VaultError, seconds=PATIENCE) as rows:
            found = rows.rows(
                f"SELECT * FROM {table} WHERE substr(seal, 1, {_GENERATION}) <> ? "  # noqa: S608  names of this file
                f"LIMIT {batch} FOR UPDATE",
                newest,
            )
            sealed = []
            for row in found:
                place = [row[name] for name in places]
                plain = self.open(row["seal"], row["body"], table, *place)
                sealed.append((*self.seal(plain, table, *place), *place))
            rows.many(f"UPDATE {table} SET seal = ?, body = ? WHERE {which}", sealed)  # noqa: S608
        return len(found)

    def _prepare(self, create: bool) -> None:
        """Make the tables if there are none, and load the keys."""
        if create:
            self.database.make(VaultError, self._first, PATIENCE)
        if not self.database.has_tables(VaultError):
            raise VaultError(f"{self.where}: holds no store")
        found = self.database.read(VaultError, "SELECT version FROM meta")
        if [row["version"] for row in found] != [VERSION]:
            raise VaultError(f"{self.where}: not a store of version {VERSION}")
        self._load()

    def _first(self) -> Statements:
        """Return what begins a store: tables, keys, and the first day."""
        ring = Ring.new()
        meta = (VERSION, hmac_of(ring.macs, "meta", VERSION, 0))
        return [
            *((statement, ()) for statement in SCHEMA),
            (_INSERT_KEY, self._keyring(self._key, ring)),
            ("INSERT INTO meta VALUES (?, 0, ?)", meta),
        ]

    def _keyring(self, key: bytes, ring: Ring) -> tuple[object, ...]:
        """Return the row that lets a key open the store."""
        slot, salt = secret_key()[:SALT_BYTES], secret_key()[:SALT_BYTES]
        sealed = derived_keys(self.where, key, salt).seal(ring.encoded(), "ring", slot)
        return (slot, salt, sealing.SCRYPT_N, *sealed)

    def _slot(self, key: bytes) -> tuple[bytes, Ring]:
        """Return the slot that a key opens, and what is in it. Raises VaultError."""
        for row in self.database.read(VaultError, "SELECT * FROM keyring"):
            keys: Keys = derived_keys(self.where, key, row["salt"], row["cost"])
            try:
                plain = keys.open(row["seal"], row["body"], "ring", row["slot"])
            except VaultError:
                continue
            return row["slot"], Ring.decoded(plain)
        raise VaultError(f"{self.where}: {sealing.WRONG_KEY}")

    def _load(self) -> None:
        self._use(self._slot(self._key)[1])

    def _use(self, ring: Ring) -> None:
        self._ring, self.secret = ring, ring.secret
        self._seals = {number: Keys(self.where, key) for number, key in ring.seals.items()}
