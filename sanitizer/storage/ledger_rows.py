"""Rows of a ledger's file, each authenticated.

Every row carries an HMAC of its content. The head row carries one of the sum (XOR) of all these, so
that a lost row or an older copy of one is found too. Its counter is the number of grants.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from sanitizer.errors import LedgerError
from sanitizer.storage.sqlite_file import (
    Layout,
    SQLiteFile,
    connect,
    hmac_of,
    make_files,
    mark,
)

ID_BYTES = 32
"""Length of an account's id and of the sum of all HMACs."""
LATEST = 2**40
"""Seconds since 1970 that no working clock reads."""
LAYOUT = Layout(
    noun="ledger",
    counted="grants",
    error=LedgerError,
    application=0x53414E4C,
    version=1,
    schema=(
        "CREATE TABLE account (id BLOB PRIMARY KEY, kind TEXT, cap INTEGER, spent INTEGER, "
        "reserved INTEGER, updated INTEGER, mac BLOB) WITHOUT ROWID",
        "CREATE TABLE head (key_check BLOB, granted INTEGER, seen INTEGER, digest BLOB, mac BLOB)",
        "CREATE TABLE reservation (id INTEGER PRIMARY KEY, amount INTEGER, scopes BLOB, "
        "created INTEGER, mac BLOB)",
    ),
)


# The names of the next two classes are part of every row's HMAC: renamed, no file would open.
class Account(NamedTuple):
    """Sums of one scope in nano-epsilon, `updated` in seconds; `cap` is the scope's own limit."""

    id: bytes
    kind: str
    cap: int | None = None
    spent: int = 0
    reserved: int = 0
    updated: int = 0


class Entry(NamedTuple):
    """Reservation that is not settled; a settled one leaves only its sum."""

    id: int
    amount: int
    scopes: bytes
    created: int

    def scope_ids(self) -> list[bytes]:
        """Return the ids of the accounts it is charged to."""
        return [self.scopes[i : i + ID_BYTES] for i in range(0, len(self.scopes), ID_BYTES)]


@dataclass
class LedgerHead:
    """State of a whole ledger.

    Attributes:
        granted: reservations so far.
        seen: the latest time that any clock gave, in seconds.
        digest: XOR of the HMACs of all rows.
    """

    granted: int = 0
    seen: int = 0
    digest: int = 0

    @property
    def counter(self) -> int:
        """Number of grants."""
        return self.granted

    def fields(self, key: bytes) -> tuple[int, int, bytes, bytes]:
        """Return the head row as stored, without the key check."""
        digest = self.digest.to_bytes(ID_BYTES, "big")
        return self.granted, self.seen, digest, head_mac(key, self.granted, self.seen, digest)


AnyRow = TypeVar("AnyRow", Account, Entry)
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


class LedgerRows(SQLiteFile[LedgerHead]):
    """Open, verified file of a ledger. Serves many threads; unusable after a fork.

    Raises:
        LedgerError: here and from every method, whatever goes wrong with the file.
    """

    layout = LAYOUT

    def __init__(self, path: Path, key: bytes, clock: Callable[[], float]) -> None:
        self._key = key
        self._clock = clock
        self._digest_checked = False
        super().__init__(path)

    @staticmethod
    def create(path: Path, key: bytes) -> None:
        """Write an empty ledger and its mark; only this user may read them."""
        with LAYOUT.failures(path):
            if path.exists() or mark(path).exists():
                raise LedgerError(f"{path}: a ledger or its mark is there already")
            make_files(path)
            with closing(connect(path)) as db:
                LAYOUT.write(db, (hmac_of(key, "key check"), *LedgerHead().fields(key)))

    def find(self, table: type[AnyRow], row_id: bytes | int) -> AnyRow | None:
        """Return a verified row, or None if there is none with this id."""
        found = self._db.execute(FIND[table], (row_id,)).fetchone()
        return None if found is None else self._checked(table, found)

    def rows(self, table: type[AnyRow]) -> list[AnyRow]:
        """Return all rows of a table, verified."""
        return [self._checked(table, found) for found in self._db.execute(ALL[table])]

    def put(self, head: LedgerHead, row: AnyRow) -> None:
        """Insert or replace a row."""
        old = self.find(type(row), row.id)
        # Without this check an account that was deleted from the file would start again at zero.
        if old is None and isinstance(row, Account):
            self._check_digest(head)
        self._db.execute(PUT[type(row)], (*row, self._row_mac(row)))
        head.digest ^= self._tag(row) ^ (0 if old is None else self._tag(old))

    def remove(self, head: LedgerHead, entry: Entry) -> None:
        """Delete a reservation."""
        self._db.execute("DELETE FROM reservation WHERE id = ?", (entry.id,))
        head.digest ^= self._tag(entry)

    def mac(self, *fields: object) -> bytes:
        """Return the HMAC-SHA256 of fields whose repr tells them apart: str, bytes, int, None."""
        return hmac_of(self._key, *fields)

    def _row_mac(self, row: Account | Entry) -> bytes:
        return self.mac(type(row).__name__, *row)

    def _tag(self, row: Account | Entry) -> int:
        return int.from_bytes(self._row_mac(row), "big")

    def _checked(self, table: type[AnyRow], found: tuple[Any, ...]) -> AnyRow:
        *fields, mac = found
        row = table(*fields)
        if mac != self._row_mac(row):
            raise self.damaged("a row does not match its HMAC")
        return row

    def _check_digest(self, head: LedgerHead) -> None:
        if self._digest_checked:  # in this transaction, under the write lock
            return
        macs = self._db.execute("SELECT mac FROM account UNION ALL SELECT mac FROM reservation")
        digest = 0
        for (mac,) in macs:
            digest ^= int.from_bytes(mac, "big") if isinstance(mac, bytes) else 0
        if digest != head.digest:
            raise self.damaged("rows are missing or older than the rest")
        self._digest_checked = True

    def _unlock(self) -> None:
        """Do nothing: the key is at hand, and `_read_head` checks it each time."""

    def _read_head(self) -> LedgerHead:
        """Return the verified head, its time brought forward to the clock, never back."""
        self._digest_checked = False
        heads = self._db.execute(
            "SELECT key_check, granted, seen, digest, mac FROM head"
        ).fetchall()
        if len(heads) != 1:
            raise self.damaged("there must be one head row")
        key_check, granted, seen, digest, mac = heads[0]
        if key_check != self.mac("key check"):
            raise LedgerError(f"{self.path}: wrong key")
        if mac != head_mac(self._key, granted, seen, digest):
            raise self.damaged("the head row does not match its HMAC")
        reading = self._clock()
        if not 0 <= reading < LATEST:
            raise LedgerError(f"the clock gives no usable time: {reading!r}")
        return LedgerHead(granted, max(seen, int(reading)), int.from_bytes(digest, "big"))

    def _write_head(self, head: LedgerHead) -> None:
        self._db.execute(
            "UPDATE head SET granted = ?, seen = ?, digest = ?, mac = ?", head.fields(self._key)
        )

    def _check_rows(self, head: LedgerHead) -> None:
        self.rows(Account)
        self.rows(Entry)
        self._check_digest(head)


def head_mac(key: bytes, granted: int, seen: int, digest: bytes) -> bytes:
    """Return the HMAC of the head row's fields."""
    return hmac_of(key, "Head", LAYOUT.version, granted, seen, digest)
