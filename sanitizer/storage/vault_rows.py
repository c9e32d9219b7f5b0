"""Rows of a vault's file, each sealed.

Every row is sealed (encrypted and authenticated) for its place. A single row cannot tell that
another is missing, older than the rest, or there twice; sums tell that. Each conversation holds a
chained HMAC of its entries. The head holds, for each first byte of an id, the XOR of the HMACs of
all items under it. The head's counter is the number of changes.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from sanitizer.errors import VaultError
from sanitizer.storage.sqlite_file import Layout, SQLiteFile, connect, make_files, mark

LAYOUT = Layout(
    noun="vault",
    counted="changes",
    error=VaultError,
    application=0x53414E56,
    version=1,
    schema=(
        "CREATE TABLE entry (conversation BLOB, place INTEGER, seal BLOB, body BLOB, "
        "PRIMARY KEY (conversation, place)) WITHOUT ROWID",
        "CREATE TABLE head (salt BLOB, key_check BLOB, seal BLOB, body BLOB)",
        "CREATE TABLE item (id BLOB PRIMARY KEY, owner BLOB, age INTEGER, seal BLOB, body BLOB) "
        "WITHOUT ROWID",
        "CREATE INDEX item_age ON item (age)",
    ),
)
BUCKETS = 256
"""Number of sums in the head, one for each first byte of an id."""
TAG_BYTES = 16
"""Length of a sum, and of the part of an item's HMAC that goes into it."""
SECRET_BYTES = 32
"""Length of the key of the message hashes, and of an id."""
_NUMBERS = struct.Struct(">5Q")


class Sealer(Protocol):
    """Keys of one vault, ready to encrypt and authenticate."""

    def seal(self, plain: bytes, *bound: object) -> tuple[bytes, bytes]:
        """Encrypt padded content; return (nonce and tag, ciphertext).

        It opens only with equal `bound` values.
        """

    def open(self, seal: object, body: object, *bound: object) -> bytes:
        """Return the content. Raises VaultError if it was not sealed for this place."""

    def mac(self, *fields: object) -> bytes:
        """Return the HMAC-SHA256 of fields whose repr tells them apart, 32 bytes."""


class Item(NamedTuple):
    """Conversation or message, without its content.

    Attributes:
        id: HMAC of the conversation's name or of the message's key.
        owner: id of the conversation; of a message kept without one, None.
        age: 0 for a conversation; of messages it counts up.
        seal: nonce and tag of the content.
    """

    id: bytes
    owner: bytes | None
    age: int
    seal: bytes


@dataclass
class VaultHead:
    """State of a whole vault.

    Attributes:
        secret: key of the message hashes.
        changes: transactions so far that changed something.
        n_entries: identifiers kept, of all conversations.
        n_messages: messages kept.
        last_age: age of the newest message.
        floor: numbers up to it may be in use by conversations that were forgotten.
        sums: XOR of the item HMACs, 16 bytes for each first byte of an id.
    """

    secret: bytes = field(repr=False)
    changes: int = 0
    n_entries: int = 0
    n_messages: int = 0
    last_age: int = 0
    floor: int = 0
    sums: bytearray = field(default_factory=lambda: bytearray(BUCKETS * TAG_BYTES), repr=False)

    @property
    def counter(self) -> int:
        """Number of changes."""
        return self.changes

    def encoded(self) -> bytes:
        """Serialize the head to a fixed number of bytes."""
        numbers = _NUMBERS.pack(
            self.changes, self.n_entries, self.n_messages, self.last_age, self.floor
        )
        return numbers + self.secret + self.sums

    @classmethod
    def decoded(cls, plain: bytes) -> VaultHead:
        """Restore a head from what `encoded` returned."""
        at = _NUMBERS.size + SECRET_BYTES
        changes, n_entries, n_messages, last_age, floor = _NUMBERS.unpack_from(plain)
        secret, sums = plain[_NUMBERS.size : at], bytearray(plain[at:])
        return cls(secret, changes, n_entries, n_messages, last_age, floor, sums)

    def sum_of(self, bucket: int) -> bytes:
        """Return the XOR of the HMACs of all items whose id begins with the byte `bucket`."""
        return bytes(self.sums[bucket * TAG_BYTES : (bucket + 1) * TAG_BYTES])

    def toggle(self, bucket: int, tag: bytes) -> None:
        """Add an item's HMAC to its sum, or take it out again: XOR does both."""
        mixed = bytes(a ^ b for a, b in zip(self.sum_of(bucket), tag, strict=True))
        self.sums[bucket * TAG_BYTES : (bucket + 1) * TAG_BYTES] = mixed


class VaultRows(SQLiteFile[VaultHead]):
    """Open, verified file of a vault. Serves many threads; unusable after a fork.

    Args:
        path: absolute path of the file.
        sealer: called with the file's salt; returns the keys.

    Raises:
        VaultError: here and from every method, whatever goes wrong with the file.
    """

    layout = LAYOUT

    def __init__(self, path: Path, sealer: Callable[[bytes], Sealer]) -> None:
        self._sealer_for = sealer
        super().__init__(path)

    @staticmethod
    def create(path: Path, sealer: Callable[[bytes], Sealer], salt: bytes, secret: bytes) -> None:
        """Write an empty vault and its mark, whole or not at all; only this user may read them.

        If another process makes the same vault meanwhile, the first one wins.
        """
        unfinished = path.with_name(f"{path.name}-{salt.hex()[:16]}")
        with LAYOUT.failures(path):
            try:
                make_files(unfinished)
                keys = sealer(salt)
                sealed = keys.seal(VaultHead(secret).encoded(), "head", LAYOUT.version)
                with closing(connect(unfinished)) as db:
                    LAYOUT.write(db, (salt, keys.mac("key check"), *sealed))
                # A link, unlike a rename, never replaces what another process has put there.
                with suppress(FileExistsError):
                    os.link(mark(unfinished), mark(path))
                if any(mark(path).read_bytes()) and not path.exists():
                    raise VaultError(f"{path}: the vault is missing, its mark is there")
                with suppress(FileExistsError):
                    os.link(unfinished, path)
            finally:
                unfinished.unlink(missing_ok=True)
                mark(unfinished).unlink(missing_ok=True)

    def version(self) -> int:
        """Return a number that changes when another connection changes the file."""
        with LAYOUT.failures(self.path):
            self._check_process()
            self._check_identity()
            return int(self._db.execute("PRAGMA data_version").fetchone()[0])

    def find(self, head: VaultHead, item_id: bytes) -> bytes | None:
        """Return the content of an item; None only if there is no such item."""
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
        """Return the messages that were kept first."""
        found = self._db.execute(
            "SELECT id, owner, age, seal FROM item WHERE age > 0 ORDER BY age LIMIT ?", (n_items,)
        )
        return [Item(*row) for row in found]

    def belonging_to(self, owner: bytes) -> list[Item]:
        """Return a conversation and its messages, and all messages kept without a conversation."""
        found = self._db.execute(
            "SELECT id, owner, age, seal FROM item WHERE owner = ? OR owner IS NULL", (owner,)
        )
        return [Item(*row) for row in found]

    def remove(self, head: VaultHead, items: list[Item]) -> None:
        """Delete items, and the entries of those that are conversations.

        Their bytes are overwritten.
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
        """Append an entry; return the chained HMAC that ends with it."""
        seal, body = self._sealer.seal(plain, "entry", conversation, place)
        self._db.execute("INSERT INTO entry VALUES (?, ?, ?, ?)", (conversation, place, seal, body))
        return self._sealer.mac("chain", chain, place, seal)

    def entries(
        self, conversation: bytes, first: int, last: int, chain: bytes, end: bytes
    ) -> list[bytes]:
        """Return the entries at places `first` to `last`.

        Args:
            conversation: its id.
            first: place of the first entry wanted, from 1.
            last: place of the last entry that the conversation has.
            chain: the chained HMAC that ends before `first`.
            end: the chained HMAC that ends with `last`.

        Raises:
            VaultError: the chain does not lead from `chain` to `end`, or an entry is missing.
        """
        found = self._db.execute(
            "SELECT place, seal, body FROM entry "
            "WHERE conversation = ? AND place >= ? ORDER BY place",
            (conversation, first),
        ).fetchall()
        # Those before the first were read by this process already: their number is not counted
        # again, which would take longer with each of them.
        (lowest, highest) = self._db.execute(
            "SELECT (SELECT min(place) FROM entry WHERE conversation = ?),"
            " (SELECT max(place) FROM entry WHERE conversation = ?)",
            (conversation, conversation),
        ).fetchone()
        for place, seal, _ in found:
            chain = self._sealer.mac("chain", chain, place, seal)
        complete = (lowest, highest) == (1, last) and [row[0] for row in found] == list(
            range(first, last + 1)
        )
        if not complete or chain != end:
            raise self.damaged("entries are missing or not as they were written")
        return [
            self._sealer.open(seal, body, "entry", conversation, place)
            for place, seal, body in found
        ]

    def scrub(self) -> None:
        """Move everything into the main file and empty the WAL, which may hold deleted rows."""
        with LAYOUT.failures(self.path):
            if self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
                raise VaultError(
                    f"{self.path}: forgotten, but the WAL beside it is in use and "
                    "could not be emptied"
                )

    def mac(self, *fields: object) -> bytes:
        """Return the HMAC of the fields under the vault's key."""
        return self._sealer.mac(*fields)

    def _tag(self, item: Item) -> bytes:
        return self._sealer.mac("tag", *item)[:TAG_BYTES]

    def _items(self, head: VaultHead, bucket: int) -> list[Item]:
        """Return all items whose id begins with the byte `bucket`, their sum verified."""
        low = bytes([bucket])
        # No byte follows 255: ids have 32 bytes, so 33 times 255 is above all of them.
        high = bytes([bucket + 1]) if bucket < BUCKETS - 1 else b"\xff" * (SECRET_BYTES + 1)
        found = self._db.execute(
            "SELECT id, owner, age, seal FROM item WHERE id >= ? AND id < ?", (low, high)
        )
        items = [Item(*row) for row in found]
        total = 0
        for item in items:
            total ^= int.from_bytes(self._tag(item), "big")
        if total.to_bytes(TAG_BYTES, "big") != head.sum_of(bucket):
            raise self.damaged("rows are missing or older than the rest")
        return items

    def _unlock(self) -> None:
        # Deleted rows are overwritten with zeros: `FileVault.forget` promises it.
        self._db.execute("PRAGMA secure_delete = ON")
        salt, key_check, _, _ = self._head_row()
        self._sealer = self._sealer_for(salt)
        if key_check != self._sealer.mac("key check"):
            raise VaultError(f"{self.path}: wrong key")

    def _read_head(self) -> VaultHead:
        _, _, seal, body = self._head_row()
        self._before = self._sealer.open(seal, body, "head", LAYOUT.version)
        return VaultHead.decoded(self._before)

    def _head_row(self) -> tuple[Any, Any, Any, Any]:
        heads = self._db.execute("SELECT salt, key_check, seal, body FROM head LIMIT 2").fetchall()
        if len(heads) != 1 or not isinstance(heads[0][0], bytes):
            raise self.damaged("there must be one head row")
        salt, key_check, seal, body = heads[0]
        return salt, key_check, seal, body

    def _write_head(self, head: VaultHead) -> None:
        """Count a change and write the head, if anything changed."""
        if head.encoded() == self._before:
            return
        head.changes += 1
        self._db.execute(
            "UPDATE head SET seal = ?, body = ?",
            self._sealer.seal(head.encoded(), "head", LAYOUT.version),
        )

    def _check_rows(self, head: VaultHead) -> None:
        """Check all sums and counts; contents are checked when they are used."""
        n_items = sum(len(self._items(head, bucket)) for bucket in range(BUCKETS))
        counts = [
            self._db.execute(f"SELECT count(*) FROM {table}").fetchone()[0]  # noqa: S608
            for table in ("item", "entry")
        ]
        if counts != [n_items, head.n_entries]:
            raise self.damaged("rows are missing or too many")
