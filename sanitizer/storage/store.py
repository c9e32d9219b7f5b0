"""Stores: the rows of vaults and ledgers, in a SQLite file or in memory, found by their ids.

`PostgresStore` is the third. All of them have the same tables, keep them under keys, and have the
methods of `SqliteStore`; they give transactions as `Rows`, against which vault and ledger are
written.

Each row of a file is authenticated for its place. A single row cannot tell that another is missing,
older than the rest, or there twice; sums tell that: the head row holds, for each bucket of ids, the
XOR of the HMACs of all rows in it. The head's counter is the number of changes. Beside `PATH` lies
`PATH-mark`, which holds the counter too and is written after each commit that raises it: SQLite
silently drops what a damaged or deleted write-ahead log (WAL) held, and the mark shows that
something is missing.
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Literal, Self

from sanitizer.errors import LedgerError, SanitizerError, VaultError
from sanitizer.randomness import secret_key
from sanitizer.storage.databases import Executor, SQLite, make_file
from sanitizer.storage.sealing import SALT_BYTES, WRONG_KEY, Keys, dumped, hmac_of

VERSION = 2
"""Version of the files; another one is refused."""
DURABLE: Literal["NORMAL", "FULL"] = "FULL"
"""How a change reaches the disk before it is used: NORMAL outlives a killed process, FULL a power
cut too."""
MARK_BYTES = 8
"""Length of the mark: the counter as one big-endian integer."""
BUCKETS = 128
"""Number of sums in the head, one for each first seven bits of an id."""
TAG_BYTES = 16
"""Length of a sum, and of the part of a row's HMAC that goes into it."""
MAX_SHOWN = 100
"""Most characters of SQLite's own report shown in an error; of a damaged file it can be long."""
LATEST = 2**40
"""Seconds since 1970 that no working clock reads."""


@dataclass(frozen=True)
class Table:
    """One table, as both databases take it but for the words in braces.

    Attributes:
        key: the column that rows are found by.
        tagged: what is part of the HMAC that goes into a sum; the first names the bucket.
        index: more that is made for it.
    """

    columns: str
    key: str = ""
    tagged: tuple[str, ...] = ()
    index: str = ""

    @cached_property
    def names(self) -> list[str]:
        return [part.split()[0] for part in self.columns.split(", ") if part[0].islower()]


TABLES = {
    "conversation": Table(
        "id {bytes} PRIMARY KEY, seal {bytes} NOT NULL, body {bytes} NOT NULL", "id", ("id", "seal")
    ),
    "entry": Table(
        "conversation {bytes}, place int, seal {bytes} NOT NULL, body {bytes} NOT NULL, "
        "PRIMARY KEY (conversation,place)"
    ),
    "message": Table(
        "id {bytes} {id_key}, owner {bytes} NOT NULL, number {serial}, seal {bytes} NOT NULL, "
        "body {bytes} NOT NULL",
        "id",
        ("id", "owner", "number", "seal"),
        "CREATE INDEX message_owner ON message (owner, number)",
    ),
    "account": Table(
        "id {bytes} PRIMARY KEY, kind text NOT NULL, cap bigint, spent bigint NOT NULL, "
        "reserved bigint NOT NULL, updated bigint NOT NULL, mac {bytes} NOT NULL",
        "id",
        ("id", "mac"),
    ),
    "charge": Table(
        "number {number_key}, name {bytes} UNIQUE NOT NULL, amount bigint NOT NULL, "
        "spent bigint NOT NULL, accounts {bytes} NOT NULL, state text NOT NULL, "
        "holders int NOT NULL, created bigint NOT NULL, about text NOT NULL, "
        "kept boolean NOT NULL DEFAULT false, mac {bytes} NOT NULL",
        "number",
        ("name", "number", "mac"),
        "CREATE INDEX charge_open ON charge (number) WHERE state = 'open'",
    ),
}
SQLITE = {
    "bytes": "BLOB",
    "id_key": "UNIQUE",
    "serial": "INTEGER PRIMARY KEY AUTOINCREMENT",
    "number_key": "INTEGER PRIMARY KEY AUTOINCREMENT",
}
"""What SQLite has for the words in braces."""
POSTGRES = {
    "bytes": "bytea",
    "id_key": "PRIMARY KEY",
    "serial": "bigserial",
    "number_key": "bigserial PRIMARY KEY",
}
"""What PostgreSQL has for them."""


def schema(names: Sequence[str], words: dict[str, str]) -> list[str]:
    """Return the statements that make tables."""
    tables = [(name, TABLES[name]) for name in names]
    made = [f"CREATE TABLE {name} ({table.columns.format(**words)})" for name, table in tables]
    return made + [table.index for _, table in tables if table.index]


@cache
def insert(table: str, *, numbered: bool = True) -> str:
    """Return the statement that inserts a row, with or without its number."""
    names = [name for name in TABLES[table].names if numbered or name != "number"]
    return f"INSERT INTO {table} ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})"  # noqa: S608  names of this file


@cache
def _put(table: str) -> str:
    key = TABLES[table].key
    changed = ", ".join(f"{name} = excluded.{name}" for name in TABLES[table].names if name != key)
    return insert(table) + (f" ON CONFLICT ({key}) DO UPDATE SET {changed}" if key else "")


class Rows:
    """Rows in one transaction of a store.

    Attributes:
        about: digest of policy and model, where a vault changes rows: a charge is spent at once
            then, with the digest beside it, and kept with what is drawn for it, or not.
    """

    locks = ""
    about: str | None = None

    def __init__(self, executor: Executor) -> None:
        self.rows, self.many = executor.rows, executor.many

    def row(self, statement: str, *values: object) -> Any:
        return next(iter(self.rows(statement, *values)), None)

    def find(self, table: str, ids: Sequence[object], *, lock: bool = False) -> dict[Any, Any]:
        """Return id -> row of those that there are, locked in the order of their ids."""
        if not ids:
            return {}
        key, marks = TABLES[table].key, ", ".join("?" * len(ids))
        statement = f"SELECT * FROM {table} WHERE {key} IN ({marks}) ORDER BY {key}"  # noqa: S608  names of this file
        return {row[key]: row for row in self.rows(statement + self.locks * lock, *ids)}

    def select(self, table: str, where: Mapping[str, object], *, lock: bool = False) -> list[Any]:
        """Return the rows whose columns have some values."""
        condition = " AND ".join(f"{name} = ?" for name in where) or "1 = 1"
        statement = f"SELECT * FROM {table} WHERE {condition}"  # noqa: S608  names of this package
        return self.rows(statement + self.locks * lock, *where.values())

    def locked(
        self, table: str, fresh: Mapping[Any, Sequence[object]], also: Sequence[object] = ()
    ) -> dict[Any, Any]:
        """Return id -> row, which nobody else changes until the end of the transaction.

        Args:
            fresh: id -> the row that is made of a missing one, if it must be there to be locked.
            also: ids of rows that are read only.
        """
        return self.find(table, [*fresh, *also])

    def put(self, table: str, rows: Sequence[Sequence[object]]) -> None:
        """Insert or replace rows; entries are inserted only."""
        self.many(_put(table), rows)

    def add(self, table: str, *values: object) -> int | None:
        """Insert a row and return its number; None if there is one of its name or id."""
        # Not RETURNING, which SQLite has since 3.35 only.
        unique = TABLES[table].tagged[0]
        place = [name for name in TABLES[table].names if name != "number"].index(unique)
        if self.rows(f"SELECT 1 FROM {table} WHERE {unique} = ?", values[place]):  # noqa: S608
            return None
        self.rows(insert(table, numbered=False), *values)
        return int(self.row("SELECT last_insert_rowid()")[0])

    def drop(self, table: str, ids: Sequence[object]) -> None:
        self.many(f"DELETE FROM {table} WHERE {TABLES[table].key} = ?", [(each,) for each in ids])  # noqa: S608

    def drop_entries(self, conversation: bytes) -> int:
        """Delete the entries of a conversation; return how many there were."""
        n = self.row("SELECT count(*) FROM entry WHERE conversation = ?", conversation)[0]
        self.rows("DELETE FROM entry WHERE conversation = ?", conversation)
        return int(n)


def seconds_of(reading: float) -> int:
    """Return what a clock reads in whole seconds. Raises LedgerError: no usable time."""
    if not 0 <= reading < LATEST:
        raise LedgerError(f"the clock gives no usable time: {reading!r}")
    return int(reading)


# ---- in memory ----


class MemoryStore:
    """Rows of a ledger in this process, gone with it."""

    where, shared = "memory", False

    def __init__(self) -> None:
        self._key, self._seen, self._lock = secret_key(), 0, threading.Lock()
        self._db = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        self._db.row_factory = sqlite3.Row
        for statement in schema(LEDGER.tables, SQLITE):
            self._db.execute(statement)

    def rows(self, statement: str, *values: object) -> list[Any]:
        return self._db.execute(statement, values).fetchall()

    def many(self, statement: str, values: Sequence[Sequence[object]]) -> None:
        self._db.executemany(statement, values)

    def mac(self, *fields: object) -> bytes:
        return hmac_of(self._key, *fields)

    @contextmanager
    def write(self, error: type[SanitizerError], *, durable: bool = True) -> Iterator[Rows]:
        with self._lock:
            self._db.execute("BEGIN")
            try:
                yield Rows(self)
                self._db.execute("COMMIT")
            except BaseException:
                self._db.execute("ROLLBACK")
                raise

    read = write

    def now(self, rows: Any, clock: Callable[[], float] | None) -> int:
        self._seen = max(self._seen, seconds_of(clock() if clock else 0))
        return self._seen

    def close(self) -> None:
        """Do nothing: it is gone with the object."""

    def __del__(self) -> None:
        self._db.close()  # Python warns of one that is left open


# ---- in a file ----


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of file.

    Attributes:
        noun: what it is called in messages.
        application: SQLite's application id.
        tables: names of its tables.
    """

    noun: str
    error: type[LedgerError | VaultError]
    application: int
    tables: tuple[str, ...]

    def schema(self) -> list[str]:
        """Return every CREATE statement, exactly as SQLite stores it."""
        head = "CREATE TABLE head (salt BLOB, key_check BLOB, seal BLOB, body BLOB)"
        return [head, *schema(self.tables, SQLITE)]


VAULT = Kind("vault", VaultError, 0x53414E56, ("conversation", "entry", "message"))
LEDGER = Kind("ledger", LedgerError, 0x53414E4C, ("account", "charge"))


@dataclass
class Head:
    """State of a whole file.

    Attributes:
        counter: durable changes so far.
        seen: the latest time that any clock gave, in seconds.
        floor: numbers up to it may be in use by conversations that were forgotten.
        numbers: table -> the last number that a row got.
        held: table -> how many rows there are.
        sums: XOR of the rows' HMACs, one for each bucket.
    """

    secret: bytes = field(default_factory=secret_key, repr=False)
    counter: int = 0
    seen: int = 0
    floor: int = 0
    numbers: Counter[str] = field(default_factory=Counter)
    held: Counter[str] = field(default_factory=Counter)
    sums: list[int] = field(default_factory=lambda: [0] * BUCKETS, repr=False)

    def encoded(self) -> bytes:
        values = [self.secret.hex(), self.counter, self.seen, self.floor, self.numbers, self.held]
        return b"".join(each.to_bytes(TAG_BYTES, "big") for each in self.sums) + dumped(values)

    @classmethod
    def decoded(cls, plain: bytes) -> Self:
        at = BUCKETS * TAG_BYTES
        secret, counter, seen, floor, numbers, held = json.loads(plain[at:])
        sums = [int.from_bytes(plain[i : i + TAG_BYTES], "big") for i in range(0, at, TAG_BYTES)]
        counts = Counter(numbers), Counter(held)
        return cls(bytes.fromhex(secret), counter, seen, floor, *counts, sums)


class CheckedRows(Rows):
    """Rows of a file, which are looked for in the sums of its head."""

    def __init__(self, store: SqliteStore, head: Head) -> None:
        super().__init__(store)
        self.head = head
        self._store = store
        self._checked: set[int] = set()

    def check(self, row_id: bytes) -> None:
        self._check(_bucket(row_id))

    def _check(self, bucket: int) -> int:
        """Verify the sum of a bucket; return how many rows are in it."""
        low, n_rows, total = bytes([2 * bucket]), 0, 0
        # No byte follows 255: ids have 32 bytes, so 33 times 255 is above all of them.
        high = bytes([2 * bucket + 2]) if bucket < BUCKETS - 1 else b"\xff" * 33
        if bucket in self._checked:
            return 0
        for table in self._store.kind.tables:
            if columns := TABLES[table].tagged:
                found = self.rows(
                    f"SELECT {', '.join(columns)} FROM {table} "  # noqa: S608
                    f"WHERE {columns[0]} >= ? AND {columns[0]} < ?",
                    *(low, high),
                )
                n_rows += len(found)
                for row in found:
                    total ^= self._tag(table, row)
        if total != self.head.sums[bucket]:
            raise self._store.damaged("rows are missing or older than the rest")
        self._checked.add(bucket)
        return n_rows

    def check_all(self) -> None:
        """Check all sums and counts; contents are checked when they are used."""
        n_rows = sum(self._check(bucket) for bucket in range(BUCKETS)) + self.head.held["entry"]
        counts = [self.rows(f"SELECT count(*) FROM {table}") for table in self._store.kind.tables]  # noqa: S608
        if sum(found[0][0] for found in counts) != n_rows:
            raise self._store.damaged("rows are missing or too many")

    def find(self, table: str, ids: Sequence[object], *, lock: bool = False) -> dict[Any, Any]:
        for each in ids:
            if isinstance(each, bytes):
                self.check(each)
        return super().find(table, ids)

    def select(self, table: str, where: Mapping[str, object], *, lock: bool = False) -> list[Any]:
        if isinstance(row_id := where.get(TABLES[table].tagged[0]), bytes):
            self.check(row_id)
        return super().select(table, where)

    def put(self, table: str, rows: Sequence[Sequence[object]]) -> None:
        if table == "entry":
            self.head.held[table] += len(rows)
        else:
            for values in rows:
                new = dict(zip(TABLES[table].names, values, strict=True))
                for row in (*self.find(table, [new[TABLES[table].key]]).values(), new):
                    self._toggle(table, row)
        super().put(table, rows)

    def add(self, table: str, *values: object) -> int | None:
        names = [name for name in TABLES[table].names if name != "number"]
        row: dict[str, Any] = dict(zip(names, values, strict=True))
        self.check(row[TABLES[table].tagged[0]])
        number = super().add(table, *values)
        if number is not None:
            if number <= self.head.numbers[table]:
                raise self._store.damaged("a number would be used again")
            self.head.numbers[table] = number
            self.head.held[table] += 1
            self._toggle(table, {**row, "number": number})
        return number

    def drop(self, table: str, ids: Sequence[object]) -> None:
        found = self.find(table, ids)
        for row in found.values():
            self._toggle(table, row)
        self.head.held[table] -= len(found)
        super().drop(table, ids)

    def drop_entries(self, conversation: bytes) -> int:
        n = super().drop_entries(conversation)
        self.head.held["entry"] -= n
        return n

    def _toggle(self, table: str, row: Any) -> None:
        """Add a row's HMAC to its sum, or take it out again: XOR does both."""
        row_id: bytes = row[TABLES[table].tagged[0]]
        self.check(row_id)
        self.head.sums[_bucket(row_id)] ^= self._tag(table, row)

    def _tag(self, table: str, row: Any) -> int:
        place = (row[name] for name in TABLES[table].tagged)
        return int.from_bytes(self._store.mac("tag", table, *place)[:TAG_BYTES], "big")


def _bucket(row_id: bytes) -> int:
    return row_id[0] >> 1


class SqliteStore(SQLite):
    """A store in one file, verified when it is opened. Safe for threads; unusable after a fork.

    Args:
        path: absolute path of the file.
        kind: of the file; it says which error is raised for whatever goes wrong.
        keys: called with the file's salt; returns the keys.

    Attributes:
        where: what the store is called in messages.
        shared: whether other machines use it too. Then limits are those of a conversation, and a
            charge with a key is joined by whoever tries again.
        patience: seconds that a thread waits for another.
        mac, seal, open: of the file's keys.
    """

    shared = False

    def __init__(self, path: Path, kind: Kind, keys: Callable[[bytes], Keys]) -> None:
        super().__init__(path, kind.noun, kind.error)
        self.kind = kind
        self._counter = 0
        self._sealed: tuple[object, object] = (b"", b"")  # the head that was verified last
        try:
            with self.failures():
                self._verify(keys)
        except BaseException:
            self._db.close()
            raise

    @classmethod
    def create(cls, path: Path, kind: Kind, keys: Callable[[bytes], Keys]) -> None:
        """Write an empty file and its mark, whole or not at all; only this user may read them.

        If another process makes the same meanwhile, the first one wins.
        """
        salt = secret_key()[:SALT_BYTES]
        made = keys(salt)
        head = made.seal(Head().encoded(), "head", kind.noun, VERSION)
        first = (salt, made.mac("key check"), *head)
        statements = [
            "PRAGMA journal_mode = WAL",
            f"PRAGMA application_id = {kind.application}",
            f"PRAGMA user_version = {VERSION}",
            *kind.schema(),
        ]
        unfinished = path.with_name(f".{path.name}-{salt.hex()}")
        try:
            number = os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
            with os.fdopen(number, "wb") as out:
                out.write(bytes(MARK_BYTES))
            with suppress(FileExistsError):
                os.link(unfinished, mark(path))
            if any(mark(path).read_bytes()) and not path.exists():
                raise kind.error(f"{path}: the {kind.noun} is missing, its mark is there")
            insert = ("INSERT INTO head VALUES (?, ?, ?, ?)", first)
            make_file(path, [*((statement, ()) for statement in statements), insert])
        except OSError as error:
            raise kind.error(f"{path}: cannot be used as a {kind.noun}: {error.strerror}") from None
        finally:
            unfinished.unlink(missing_ok=True)

    @contextmanager
    def read(self, error: type[SanitizerError]) -> Iterator[CheckedRows]:
        """Read rows, all of them of one moment."""
        with self.transaction("DEFERRED"):
            self._head()
            yield CheckedRows(self, self._verified)

    @contextmanager
    def write(self, error: type[SanitizerError], *, durable: bool = True) -> Iterator[CheckedRows]:
        """Run one transaction, all of it or nothing.

        Args:
            durable: False where losing it in a power cut charges more, never less.
        """
        self.check_process()
        with self._lock, self.failures():
            with self.transaction("IMMEDIATE", DURABLE if durable else "NORMAL"):
                before = self._head()
                head = Head.decoded(before)
                counter = head.counter
                yield CheckedRows(self, head)
                if head.encoded() != before:
                    # What a power cut may take back is not counted: the mark would be ahead.
                    head.counter += durable
                    sealed = self.seal(head.encoded(), "head", self.kind.noun, VERSION)
                    self.rows("UPDATE head SET seal = ?, body = ?", *sealed)
            self._counter = head.counter
            if head.counter > counter:
                with mark(self.path).open("r+b", buffering=0) as out:
                    out.write(head.counter.to_bytes(MARK_BYTES, "big"))

    write_one = write

    def now(self, rows: Any, clock: Callable[[], float] | None) -> int:
        """Return the time in seconds since 1970, never before the latest that was seen."""
        head: Head = rows.head
        head.seen = max(head.seen, seconds_of(clock() if clock else 0))
        return head.seen

    def version(self) -> int | None:
        """Return a number that changes when another connection changes the file."""
        self.check_process()
        with self.failures():
            self.check_identity()
            return int(self.rows("PRAGMA data_version")[0][0])

    def damaged(self, what: str) -> LedgerError | VaultError:
        """Return the error that says this file was damaged or edited."""
        return self.kind.error(f"{self.path}: damaged or edited: {what}")

    def _head(self) -> bytes:
        """Return the encoding of the verified head."""
        _, _, seal, body = self._head_row()
        if (seal, body) != self._sealed:
            self._encoded = self.open(seal, body, "head", self.kind.noun, VERSION)
            self._verified, self._sealed = Head.decoded(self._encoded), (seal, body)
        if self._verified.counter < self._counter:
            raise self.damaged("older than a moment ago")
        return self._encoded

    def _head_row(self) -> tuple[Any, Any, Any, Any]:
        heads = self.rows("SELECT salt, key_check, seal, body FROM head LIMIT 2")
        if len(heads) != 1 or not isinstance(heads[0][0], bytes):
            raise self.damaged("there must be one head row")
        salt, key_check, seal, body = heads[0]
        return salt, key_check, seal, body

    def _verify(self, keys: Callable[[bytes], Keys]) -> None:
        """Check the whole file once, with the right to write.

        Nothing is found out only after something was drawn.
        """
        # The mark is read before the head: meanwhile other processes may raise both, head first.
        marked = mark(self.path).read_bytes()
        expected: dict[str, object] = {
            "application_id": self.kind.application,
            "user_version": VERSION,
            "journal_mode": "wal",
            "quick_check": "ok",
        }
        for pragma, value in expected.items():
            found = [row[0] for row in self.rows(f"PRAGMA {pragma}")]
            if found != [value]:
                shown = repr(found[0])[:MAX_SHOWN]  # repr: quick_check reports several lines
                raise self.kind.error(
                    f"{self.path}: not a sound {self.kind.noun} of version {VERSION}, or made by "
                    f"another version of this package: {pragma} is {shown}"
                )
        # Triggers and views are in sqlite_schema too: one more of them could undo every write.
        statements = [
            row[0]
            for row in self.rows(
                "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name <> 'sqlite_sequence'"
            )
        ]
        if sorted(statements) != sorted(self.kind.schema()):
            raise self.damaged("other tables than expected")
        # Deleted rows are overwritten with zeros: `FileVault.forget` promises it.
        self.rows("PRAGMA secure_delete = ON")
        salt, key_check, _, _ = self._head_row()
        own = keys(salt)
        self.mac, self.seal, self.open = own.mac, own.seal, own.open
        if key_check != self.mac("key check"):
            raise self.kind.error(f"{self.path}: {WRONG_KEY}")
        with self.write(self.kind.error) as rows:
            if len(marked) != MARK_BYTES or int.from_bytes(marked, "big") > rows.head.counter:
                raise self.damaged("changes are missing that the mark counts")
            rows.check_all()
            self.secret = rows.head.secret

    def _why(self, error: Exception) -> str:
        missing = isinstance(error, FileNotFoundError) and self.path.exists()
        if missing and not (its_mark := mark(self.path)).exists():
            return f"{its_mark.name} is not beside it (another kind of file, or copied alone)"
        return super()._why(error)


def mark(path: Path) -> Path:
    """Return the path of the mark that lies beside a file."""
    return path.with_name(path.name + "-mark")
