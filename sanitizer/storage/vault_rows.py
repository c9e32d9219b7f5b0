"""The file under a vault: sealed rows in SQLite, one transaction at a time.

Every row is sealed (encrypted and authenticated) for its place. What a single row cannot tell, that
none is missing, older than the rest, or there twice, is told by sums: each conversation holds a
chained HMAC over its entries, and the head holds, for each first byte of an id, the XOR of the
HMACs of all items under it. The file `-mark` beside
it counts changes: SQLite silently forgets what stood in a damaged or deleted WAL, and the mark
tells.
"""

from __future__ import annotations

import os
import sqlite3
import struct
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

from sanitizer.errors import VaultError
from sanitizer.storage.sqlite_file import MARK_BYTES, connect, identity, mark

APPLICATION, VERSION = 0x53414E56, 1
EXPECTED = (
    ("application_id", APPLICATION),
    ("user_version", VERSION),
    ("journal_mode", "wal"),
    ("quick_check", "ok"),
)
SCHEMA = (
    "CREATE TABLE entry (conversation BLOB, place INTEGER, seal BLOB, body BLOB, PRIMARY KEY (conversation, place)) "
    "WITHOUT ROWID",
    "CREATE TABLE head (salt BLOB, key_check BLOB, seal BLOB, body BLOB)",
    "CREATE TABLE item (id BLOB PRIMARY KEY, owner BLOB, age INTEGER, seal BLOB, body BLOB) WITHOUT ROWID",
    "CREATE INDEX item_age ON item (age)",
)
BUCKETS, TAG_BYTES, SECRET_BYTES = 256, 16, 32
_NUMBERS = struct.Struct(">5Q")


class Sealer(Protocol):
    """Keys at work."""

    def seal(self, plain: bytes, *bound: object) -> tuple[bytes, bytes]:
        """(nonce and tag, ciphertext) of padded content that opens only with equal `bound` values."""

    def open(self, seal: object, body: object, *bound: object) -> bytes:
        """The content. Raises VaultError if it was not sealed for this place."""

    def mac(self, *fields: object) -> bytes:
        """32 bytes, HMAC-SHA256 of fields whose repr tells them apart."""


class Item(NamedTuple):
    """A conversation (`owner` is its own id, `age` 0) or a message (`age` counts up), without its
    content.

    A message's owner is its conversation's id, or None if it was not told.
    """

    id: bytes
    owner: bytes | None
    age: int
    seal: bytes


@dataclass
class VaultHead:
    """The state of the whole.

    Attributes:
        secret: of the message hashes. changes: transactions so far. floor: numbers up to it may be
            in use by conversations that were forgotten. last_age: of the newest message.
        sums: XOR of the item HMACs, 16 bytes for each first byte of an id.
    """

    secret: bytes = field(repr=False)
    changes: int = 0
    n_entries: int = 0
    n_messages: int = 0
    last_age: int = 0
    floor: int = 0
    sums: bytearray = field(default_factory=lambda: bytearray(BUCKETS * TAG_BYTES), repr=False)

    def encoded(self) -> bytes:
        """Of fixed length."""
        numbers = _NUMBERS.pack(
            self.changes, self.n_entries, self.n_messages, self.last_age, self.floor
        )
        return numbers + self.secret + self.sums

    @classmethod
    def decoded(cls, plain: bytes) -> VaultHead:
        """The inverse."""
        at = _NUMBERS.size + SECRET_BYTES
        changes, n_entries, n_messages, last_age, floor = _NUMBERS.unpack_from(plain)
        secret, sums = plain[_NUMBERS.size : at], bytearray(plain[at:])
        return cls(secret, changes, n_entries, n_messages, last_age, floor, sums)

    def toggle(self, bucket: int, tag: bytes) -> None:
        """Put an item's HMAC into its sum, or take it out."""
        place = slice(bucket * TAG_BYTES, (bucket + 1) * TAG_BYTES)
        self.sums[place] = bytes(a ^ b for a, b in zip(self.sums[place], tag, strict=True))


class VaultRows:
    """An open, verified file. One thread at a time; not usable after a fork.

    Args:
        sealer: the keys for a salt.

    Raises:
        VaultError: here and from every method, whatever goes wrong with the file.
    """

    def __init__(self, path: Path, sealer: Callable[[bytes], Sealer]) -> None:
        self.path, self._process, self._changes = path, os.getpid(), 0
        with vault_failures(path):
            self._file = identity(path)
            self._db = connect(path)
            try:
                self._verify(sealer)
            except BaseException:
                self._db.close()
                raise

    @staticmethod
    def create(path: Path, sealer: Callable[[bytes], Sealer], salt: bytes, secret: bytes) -> None:
        """Write an empty vault and its mark, readable by this user only; whole, or not at all.

        If another process is making the same vault, the first one wins.
        """
        draft = path.with_name(f"{path.name}-{salt.hex()[:16]}")
        with vault_failures(path):
            try:
                for file, content in ((mark(draft), bytes(MARK_BYTES)), (draft, b"")):
                    with os.fdopen(
                        os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb"
                    ) as out:
                        out.write(content)
                with closing(connect(draft)) as db:
                    _lay_out(db, sealer(salt), salt, secret)
                with suppress(FileExistsError):
                    os.link(mark(draft), mark(path))
                if any(mark(path).read_bytes()) and not path.exists():
                    raise VaultError(f"{path}: the vault is missing, its mark is there")
                with suppress(FileExistsError):
                    os.link(draft, path)
            finally:
                draft.unlink(missing_ok=True)
                mark(draft).unlink(missing_ok=True)

    @contextmanager
    def transaction(self, begin: Literal["DEFERRED", "IMMEDIATE"]) -> Iterator[VaultHead]:
        """All or nothing. Change `head` and rows under IMMEDIATE only; then it is on the disk when
        it ends.
        """
        with vault_failures(self.path):
            self._check_process()
            self._db.execute(f"BEGIN {begin}")
            try:
                head = self._head()
                before = head.encoded()
                yield head
                if changed := head.encoded() != before:
                    head.changes += 1
                    self._put_head(head)
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise
            self._changes = head.changes
            if changed:
                with mark(self.path).open("r+b", buffering=0) as out:
                    out.write(head.changes.to_bytes(MARK_BYTES, "big"))

    def version(self) -> int:
        """Differs from an earlier one if another connection changed the file in between."""
        with vault_failures(self.path):
            self._check_process()
            return int(self._db.execute("PRAGMA data_version").fetchone()[0])

    def find(self, head: VaultHead, item_id: bytes) -> bytes | None:
        """The content of an item; None only if there is none."""
        self._items(head, item_id[0])
        found = self._db.execute("SELECT * FROM item WHERE id = ?", (item_id,)).fetchone()
        if found is None:
            return None
        *place, seal, body = found
        return self._sealer.open(seal, body, "item", *place)

    def put(
        self, head: VaultHead, item_id: bytes, owner: bytes | None, age: int, plain: bytes
    ) -> None:
        """Insert or replace an item."""
        for old in self._items(head, item_id[0]):
            if old.id == item_id:
                head.toggle(item_id[0], self._tag(old))
        seal, body = self._sealer.seal(plain, "item", item_id, owner, age)
        self._db.execute(
            "INSERT OR REPLACE INTO item VALUES (?, ?, ?, ?, ?)", (item_id, owner, age, seal, body)
        )
        head.toggle(item_id[0], self._tag(Item(item_id, owner, age, seal)))

    def oldest(self, n_items: int) -> list[Item]:
        """The messages that came first."""
        found = self._db.execute(
            "SELECT id, owner, age, seal FROM item WHERE age > 0 ORDER BY age LIMIT ?", (n_items,)
        )
        return [Item(*row) for row in found]

    def belonging_to(self, owner: bytes) -> list[Item]:
        """A conversation and its messages, and all messages whose conversation was not told."""
        found = self._db.execute(
            "SELECT id, owner, age, seal FROM item WHERE owner = ? OR owner IS NULL", (owner,)
        )
        return [Item(*row) for row in found]

    def remove(self, head: VaultHead, items: list[Item]) -> None:
        """Delete items, and the entries of those that are conversations; their bytes are
        overwritten.
        """
        for bucket in {item.id[0] for item in items}:
            self._items(head, bucket)
        for item in items:
            self._db.execute("DELETE FROM item WHERE id = ?", (item.id,))
            head.toggle(item.id[0], self._tag(item))
            if item.age == 0:
                self._db.execute("DELETE FROM entry WHERE conversation = ?", (item.id,))
            else:
                head.n_messages -= 1

    def add_entry(self, conversation: bytes, place: int, chain: bytes, plain: bytes) -> bytes:
        """Append an entry; returns the chain that ends with it."""
        seal, body = self._sealer.seal(plain, "entry", conversation, place)
        self._db.execute("INSERT INTO entry VALUES (?, ?, ?, ?)", (conversation, place, seal, body))
        return self._sealer.mac("chain", chain, place, seal)

    def entries(
        self, conversation: bytes, first: int, last: int, chain: bytes, end: bytes
    ) -> list[bytes]:
        """The entries at places `first` to `last`, where the chain goes from `chain` to `end`."""
        found = self._db.execute(
            "SELECT place, seal, body FROM entry WHERE conversation = ? AND place >= ? ORDER BY place",
            (conversation, first),
        ).fetchall()
        size = self._db.execute(
            "SELECT count(*) FROM entry WHERE conversation = ?", (conversation,)
        ).fetchone()
        for place, seal, _ in found:
            chain = self._sealer.mac("chain", chain, place, seal)
        if (
            size != (last,)
            or chain != end
            or [place for place, _, _ in found] != list(range(first, last + 1))
        ):
            raise self.damaged("entries are missing or not as they were written")
        return [
            self._sealer.open(seal, body, "entry", conversation, place)
            for place, seal, body in found
        ]

    def scrub(self) -> None:
        """Move everything into the main file and empty the WAL, where deleted rows may still stand."""
        with vault_failures(self.path):
            if self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
                raise VaultError(
                    f"{self.path}: forgotten, but the WAL beside it is in use and could not be emptied"
                )

    def mac(self, *fields: object) -> bytes:
        """The HMAC under the vault's key."""
        return self._sealer.mac(*fields)

    def close(self) -> None:
        """Close the connection."""
        self._db.close()

    def damaged(self, what: str) -> VaultError:
        """The error to raise."""
        return VaultError(f"{self.path}: damaged or edited: {what}")

    def _check_process(self) -> None:
        if os.getpid() != self._process:
            raise VaultError(f"{self.path}: opened before a fork; open it again in this process")
        if identity(self.path) != self._file:
            raise VaultError(f"{self.path}: replaced while it was open")

    def _tag(self, item: Item) -> bytes:
        return self._sealer.mac("tag", *item)[:TAG_BYTES]

    def _items(self, head: VaultHead, bucket: int) -> list[Item]:
        """All items whose id begins with a byte, their sum verified."""
        low, high = (
            bytes([bucket]),
            bytes([bucket + 1]) if bucket < BUCKETS - 1 else b"\xff" * (SECRET_BYTES + 1),
        )
        found = self._db.execute(
            "SELECT id, owner, age, seal FROM item WHERE id >= ? AND id < ?", (low, high)
        )
        items, total = [Item(*row) for row in found], 0
        for item in items:
            total ^= int.from_bytes(self._tag(item), "big")
        if (
            total.to_bytes(TAG_BYTES, "big")
            != head.sums[bucket * TAG_BYTES : (bucket + 1) * TAG_BYTES]
        ):
            raise self.damaged("rows are missing or older than the rest")
        return items

    def _head(self) -> VaultHead:
        _, _, seal, body = self._head_row()
        head = VaultHead.decoded(self._sealer.open(seal, body, "head", VERSION))
        if head.changes < self._changes:
            raise self.damaged("older than a moment ago")
        return head

    def _head_row(self) -> tuple[Any, Any, Any, Any]:
        heads = self._db.execute("SELECT salt, key_check, seal, body FROM head LIMIT 2").fetchall()
        if len(heads) != 1 or not isinstance(heads[0][0], bytes):
            raise self.damaged("there must be one head row")
        salt, key_check, seal, body = heads[0]
        return salt, key_check, seal, body

    def _put_head(self, head: VaultHead) -> None:
        self._db.execute(
            "UPDATE head SET seal = ?, body = ?", self._sealer.seal(head.encoded(), "head", VERSION)
        )

    def _verify(self, sealer: Callable[[bytes], Sealer]) -> None:
        """Check the file and all sums once, with the right to write; contents are checked when they
        are used.
        """
        counted = mark(self.path).read_bytes()  # first: other processes may go on writing
        for pragma, expected in EXPECTED:
            if self._db.execute(f"PRAGMA {pragma}").fetchall() != [(expected,)]:
                raise VaultError(
                    f"{self.path}: not a sound vault of version {VERSION}: {pragma} is not as expected"
                )
        if {
            sql for (sql,) in self._db.execute("SELECT sql FROM sqlite_schema WHERE sql NOT NULL")
        } != {*SCHEMA}:
            raise self.damaged("other tables than expected")
        self._db.execute("PRAGMA synchronous = FULL")
        self._db.execute("PRAGMA secure_delete = ON")
        salt, key_check, _, _ = self._head_row()
        self._sealer = sealer(salt)
        if key_check != self._sealer.mac("key check"):
            raise VaultError(f"{self.path}: wrong key")
        with self.transaction("IMMEDIATE") as head:
            if len(counted) != MARK_BYTES or int.from_bytes(counted, "big") > head.changes:
                raise self.damaged("changes are missing that the mark counts")
            items = [item for bucket in range(BUCKETS) for item in self._items(head, bucket)]
            sizes = [
                self._db.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
                for table in ("item", "entry")
            ]
            if sizes != [len(items), head.n_entries]:
                raise self.damaged("rows are missing or too many")


def _lay_out(db: sqlite3.Connection, sealer: Sealer, salt: bytes, secret: bytes) -> None:
    """Tables and head in an empty database, in one transaction."""
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("BEGIN IMMEDIATE")
    db.execute(f"PRAGMA application_id = {APPLICATION}")
    db.execute(f"PRAGMA user_version = {VERSION}")
    for statement in SCHEMA:
        db.execute(statement)
    sealed = sealer.seal(VaultHead(secret).encoded(), "head", VERSION)
    db.execute("INSERT INTO head VALUES (?, ?, ?, ?)", (salt, sealer.mac("key check"), *sealed))
    db.execute("COMMIT")


@contextmanager
def vault_failures(path: Path) -> Iterator[None]:
    """SQLite's and the system's errors as VaultError; they speak of files and tables, never of
    contents.
    """
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        reason = (error.strerror if isinstance(error, OSError) else str(error)) or type(
            error
        ).__name__
        raise VaultError(f"{path}: cannot be used as a vault: {reason}") from None
    except UnicodeDecodeError:  # from a schema or a report that SQLite reads out of a damaged page
        raise VaultError(f"{path}: cannot be used as a vault: damaged text") from None
