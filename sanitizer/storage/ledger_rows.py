"""The file under a ledger: authenticated rows in SQLite, one transaction at a time.

Every row carries an HMAC over its content; the head row carries one over the sum (XOR) of all of
these, so that a lost row or an older copy of one is found too. The file `-mark` beside it holds the
number of grants, written
after each: SQLite silently forgets what stood in a damaged or deleted WAL, and the mark tells.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

from sanitizer.errors import LedgerError
from sanitizer.storage.sqlite_file import ID_BYTES, MARK_BYTES, connect, hmac_of, identity, mark

APPLICATION, VERSION = 0x53414E4C, 1
LATEST = 2**40  # seconds; no clock means that
EXPECTED = (
    ("application_id", APPLICATION),
    ("user_version", VERSION),
    ("journal_mode", "wal"),
    ("quick_check", "ok"),
)
SCHEMA = (
    "CREATE TABLE account (id BLOB PRIMARY KEY, kind TEXT, cap INTEGER, spent INTEGER, reserved INTEGER, "
    "updated INTEGER, mac BLOB) WITHOUT ROWID",
    "CREATE TABLE head (key_check BLOB, granted INTEGER, seen INTEGER, digest BLOB, mac BLOB)",
    "CREATE TABLE reservation (id INTEGER PRIMARY KEY, amount INTEGER, scopes BLOB, created INTEGER, mac BLOB)",
)


class Account(NamedTuple):
    """One scope's sums in nano-epsilon, `updated` in seconds; `cap` is its own limit."""

    id: bytes
    kind: str
    cap: int | None = None
    spent: int = 0
    reserved: int = 0
    updated: int = 0


class Entry(NamedTuple):
    """A reservation that is not settled; settled ones leave only their sum."""

    id: int
    amount: int
    scopes: bytes
    created: int

    def scope_ids(self) -> list[bytes]:
        """The accounts it is charged to."""
        return [self.scopes[i : i + ID_BYTES] for i in range(0, len(self.scopes), ID_BYTES)]


@dataclass
class LedgerHead:
    """The state of the whole: grants so far, the latest time seen, the XOR of all row HMACs."""

    granted: int = 0
    seen: int = 0
    digest: int = 0


LedgerRow = TypeVar("LedgerRow", Account, Entry)
FIND: dict[type[Any], str] = {
    Account: "SELECT * FROM account WHERE id = ?",
    Entry: "SELECT * FROM reservation WHERE id = ?",
}
ALL: dict[type[Any], str] = {
    Account: "SELECT * FROM account ORDER BY kind, id",
    Entry: "SELECT * FROM reservation ORDER BY id",
}
PUT: dict[type[Any], str] = {
    Account: "INSERT OR REPLACE INTO account VALUES (?, ?, ?, ?, ?, ?, ?)",
    Entry: "INSERT OR REPLACE INTO reservation VALUES (?, ?, ?, ?, ?)",
}


class LedgerRows:
    """An open, verified file. Serves many threads; not usable after a fork.

    Raises:
        LedgerError: here and from every method, whatever goes wrong with the file.
    """

    def __init__(self, path: Path, key: bytes, clock: Callable[[], float]) -> None:
        self.path, self._key, self._clock = path, key, clock
        self._lock, self._process = threading.Lock(), os.getpid()
        with ledger_failures(path):
            self._file = identity(path)
            self._db = connect(path)
            try:
                self._verify()
            except BaseException:
                self._db.close()
                raise

    @staticmethod
    def create(path: Path, key: bytes) -> None:
        """Write an empty ledger and its mark, both readable by this user only."""
        with ledger_failures(path):
            if path.exists() or mark(path).exists():
                raise LedgerError(f"{path}: a ledger or its mark is there already")
            for file, content in ((mark(path), bytes(MARK_BYTES)), (path, b"")):
                with os.fdopen(
                    os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb"
                ) as out:
                    out.write(content)
            db = connect(path)
            try:
                lay_out(db, key)
            finally:
                db.close()

    @contextmanager
    def transaction(
        self,
        begin: Literal["DEFERRED", "IMMEDIATE"],
        synchronous: Literal["NORMAL", "FULL"] = "NORMAL",
    ) -> Iterator[LedgerHead]:
        """All or nothing. Change `head` and rows under IMMEDIATE only; FULL: on the disk when it
        ends.
        """
        if os.getpid() != self._process:
            raise LedgerError(f"{self.path}: opened before a fork; open it again in this process")
        with self._lock, ledger_failures(self.path):
            if identity(self.path) != self._file:
                raise LedgerError(f"{self.path}: replaced while it was open")
            self._db.execute(f"PRAGMA synchronous = {synchronous}")
            self._db.execute(f"BEGIN {begin}")
            try:
                head = self._head()
                granted = head.granted
                yield head
                if begin == "IMMEDIATE":
                    self._put_head(head)
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise
            if head.granted > granted:
                self._raise_mark(head.granted)

    def find(self, table: type[LedgerRow], row_id: bytes | int) -> LedgerRow | None:
        """The verified row, or None."""
        found = self._db.execute(FIND[table], (row_id,)).fetchone()
        return None if found is None else self._checked(table, found)

    def rows(self, table: type[LedgerRow]) -> list[LedgerRow]:
        """All rows, verified."""
        return [self._checked(table, found) for found in self._db.execute(ALL[table])]

    def put(self, head: LedgerHead, row: LedgerRow) -> None:
        """Insert or replace. Before a new account the set is checked: a lost one must not start
        afresh.
        """
        old = self.find(type(row), row.id)
        if old is None and isinstance(row, Account):
            self._check_set(head)
        self._db.execute(PUT[type(row)], (*row, self.mac(type(row).__name__, *row)))
        head.digest ^= self._tag(row) ^ (0 if old is None else self._tag(old))

    def remove(self, head: LedgerHead, entry: Entry) -> None:
        """Delete a reservation."""
        self._db.execute("DELETE FROM reservation WHERE id = ?", (entry.id,))
        head.digest ^= self._tag(entry)

    def mac(self, *fields: object) -> bytes:
        """HMAC-SHA256 of fields whose repr tells them apart: str, bytes, int, None."""
        return hmac_of(self._key, *fields)

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            self._db.close()

    def damaged(self, what: str) -> LedgerError:
        """The error to raise."""
        return LedgerError(f"{self.path}: damaged or edited: {what}")

    def _tag(self, row: Account | Entry) -> int:
        return int.from_bytes(self.mac(type(row).__name__, *row), "big")

    def _checked(self, table: type[LedgerRow], found: tuple[Any, ...]) -> LedgerRow:
        *fields, mac = found
        row = table(*fields)
        if mac != self.mac(table.__name__, *fields):
            raise self.damaged("a row does not match its HMAC")
        return row

    def _check_set(self, head: LedgerHead) -> None:
        macs = self._db.execute("SELECT mac FROM account UNION ALL SELECT mac FROM reservation")
        digest = 0
        for (mac,) in macs:
            digest ^= int.from_bytes(mac, "big") if isinstance(mac, bytes) else 0
        if digest != head.digest:
            raise self.damaged("rows are missing or older than the rest")

    def _head(self) -> LedgerHead:
        """The verified head, its time brought forward to the clock, never back."""
        heads = self._db.execute(
            "SELECT key_check, granted, seen, digest, mac FROM head"
        ).fetchall()
        if len(heads) != 1:
            raise self.damaged("there must be one head row")
        key_check, granted, seen, digest, mac = heads[0]
        if key_check != self.mac("key check"):
            raise LedgerError(f"{self.path}: wrong key")
        if mac != self.mac("Head", VERSION, granted, seen, digest):
            raise self.damaged("the head row does not match its HMAC")
        reading = self._clock()
        if not 0 <= reading < LATEST:
            raise LedgerError(f"the clock gives no usable time: {reading!r}")
        return LedgerHead(granted, max(seen, int(reading)), int.from_bytes(digest, "big"))

    def _put_head(self, head: LedgerHead) -> None:
        self._db.execute(
            "UPDATE head SET granted = ?, seen = ?, digest = ?, mac = ?",
            head_fields(self._key, head),
        )

    def _raise_mark(self, granted: int) -> None:
        with mark(self.path).open("r+b", buffering=0) as out:
            out.write(granted.to_bytes(MARK_BYTES, "big"))

    def _verify(self) -> None:
        """Read everything once, and write once, so that nothing is found out only after a draw."""
        granted = mark(self.path).read_bytes()  # first: other processes may go on granting
        for pragma, expected in EXPECTED:
            if (found := self._db.execute(f"PRAGMA {pragma}").fetchall()) != [(expected,)]:
                raise LedgerError(
                    f"{self.path}: not a sound ledger of version {VERSION}: {pragma} is {found[0][0]!r}"
                )
        if (
            tuple(sql for (sql,) in self._db.execute("SELECT sql FROM sqlite_schema ORDER BY name"))
            != SCHEMA
        ):
            raise self.damaged("other tables than expected")
        with self.transaction("IMMEDIATE") as head:
            if len(granted) != MARK_BYTES or int.from_bytes(granted, "big") > head.granted:
                raise self.damaged("grants are missing that the mark counts")
            self.rows(Account), self.rows(Entry)
            self._check_set(head)


def head_fields(key: bytes, head: LedgerHead) -> tuple[int, int, bytes, bytes]:
    """The head row as stored, without the key check."""
    digest = head.digest.to_bytes(ID_BYTES, "big")
    return (
        head.granted,
        head.seen,
        digest,
        hmac_of(key, "Head", VERSION, head.granted, head.seen, digest),
    )


def lay_out(db: sqlite3.Connection, key: bytes) -> None:
    """Tables and head in an empty database, in one transaction."""
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("BEGIN IMMEDIATE")
    db.execute(f"PRAGMA application_id = {APPLICATION}")
    db.execute(f"PRAGMA user_version = {VERSION}")
    for statement in SCHEMA:
        db.execute(statement)
    db.execute(
        "INSERT INTO head VALUES (?, ?, ?, ?, ?)",
        (hmac_of(key, "key check"), *head_fields(key, LedgerHead())),
    )
    db.execute("COMMIT")


@contextmanager
def ledger_failures(path: Path) -> Iterator[None]:
    """SQLite's and the system's errors as LedgerError; amounts and hashes only, no names, are ever
    in them.
    """
    try:
        yield
    except (
        sqlite3.Error,
        OSError,
        UnicodeDecodeError,
    ) as error:  # damaged names of tables are not UTF-8
        reason = (
            error.strerror
            if isinstance(error, OSError)
            else str(error)
            if isinstance(error, sqlite3.Error)
            else ""
        )
        raise LedgerError(f"{path}: cannot be used as a ledger: {reason or 'damaged'}") from None
