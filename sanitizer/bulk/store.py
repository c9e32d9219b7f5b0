"""The state of one bulk job: outputs, charges and tables, encrypted.

It is kept in one SQLite file, to which many processes of one machine write, or on PostgreSQL, to
which those of many do (`databases`). A row's output and its charge are written in one
transaction, so that a row is charged exactly once, and a second worker that did the same row reads
what the first released. Rows are found by HMAC-SHA256 of their names, under a key that is this
job's alone; everything else is under AES-256-GCM, bound to its place, and padded.

With a ledger, which is another file, a batch of rows is written first as pending, then charged
there under a random name that the batch holds (`Ledger.charge_once`), then marked as charged; only
then is it given out. Whoever meets a pending batch, after a crash, finishes it or, if the ledger
refuses, takes it back: each step may be repeated.

The store shows: how many rows, batches and units there are, their order and sizes as powers of two.
Not protected: whoever holds the key; the store replaced by an older copy; network file systems.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, Self

from sanitizer.bulk.databases import PREFIX, FileTables, PostgresTables, on_postgres
from sanitizer.errors import BudgetExceeded, VaultError
from sanitizer.randomness import secret_key
from sanitizer.storage import sealing
from sanitizer.storage.databases import Closing
from sanitizer.storage.ledger import Ledger, Scope
from sanitizer.storage.sealing import (
    KEY_VARIABLE,
    MIN_KEY_LENGTH,
    SALT_BYTES,
    SEAL_BYTES,
    derived_keys,
    dumped,
)
from sanitizer.storage.table import Cache, Entries, Row

LEDGER_KEY_VARIABLE = "SANITIZER_LEDGER_KEY"
NANO = 10**9
"""Units of one epsilon: charges are integers, so that sums are exact."""
FORMAT = "sanitizer bulk 2"
"""Of the store; another one is refused."""
MAX_DECODED = 64
"""Batches kept decrypted in memory."""
MAX_ASKED = 500
"""Most keys of one statement."""


@dataclass(frozen=True, slots=True)
class StoredRow:
    """What was released for one row.

    Attributes:
        digest: hash of what was read, in hex; tells that the input has changed.
        cells: the released cells, in the order of the job's columns.
        nano: what it cost, in nano-epsilon.
        n_things: things with stand-ins in it. n_drawn: stand-ins drawn now.
        refused: why nothing was released ("policy", "budget"); "" otherwise.
        unit: key of its unit in hex; "" if it is a conversation of its own.
        table: the table of a row that is a conversation of its own, if originals are kept.
    """

    digest: str
    cells: tuple[str | None, ...] = field(repr=False)
    nano: int = 0
    n_things: int = 0
    n_drawn: int = 0
    refused: str = ""
    unit: str = ""
    table: tuple[Row, ...] = field(default=(), repr=False)

    def values(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in self.__slots__)

    @classmethod
    def of(cls, values: Sequence[Any]) -> Self:
        digest, cells, nano, n_things, n_drawn, refused, unit, table = values
        rows = tuple(Row(*row) for row in table)
        return cls(digest, tuple(cells), nano, n_things, n_drawn, refused, unit, rows)


@dataclass
class UnitState:
    """The conversation of one unit.

    Attributes:
        version: how often it was written. spent: nano-epsilon.
        rows: of its table, in order. numbers: last number used of each kind.
    """

    version: int = 0
    spent: int = 0
    rows: list[Row] = field(default_factory=list, repr=False)
    numbers: dict[str, int] = field(default_factory=dict)

    def entries(self) -> Entries:
        return Entries.of(self.rows, self.numbers)


@dataclass(frozen=True, slots=True)
class NewRow:
    """A row to be written: key, content, and the unit's name, which the ledger is charged by."""

    key: bytes
    stored: StoredRow
    owner: str = field(default="", repr=False)


class JobStore(Closing):
    """The open store of one job. One thread uses it; each process opens its own.

    Args:
        path: of the file, or "postgres:NAME".
        facts: of a job that is begun, as `facts` returns them later; None opens an existing store
            whatever its job.
        ledger: charged for each batch; None: charges are in the store alone.
        create: make the store if it is missing; False makes that an error. Workers never make one:
            on another machine, a second store would charge and draw again.

    Raises:
        ValueError: no key in the environment, or a short one.
        VaultError: here and from every method: missing, damaged, another job's, another key's, or
            busy for a minute.
    """

    def __init__(
        self,
        path: Path,
        facts: Mapping[str, Any] | None = None,
        ledger: Path | None = None,
        create: bool = True,
    ) -> None:
        self._name = path.name.removeprefix(PREFIX)
        if ledger is not None and on_postgres(path):
            raise ValueError("a ledger is a file of one machine, and this store is for several")
        key = _key(KEY_VARIABLE, "job's store")
        self.where = str(path if on_postgres(path) else path.absolute())
        made = partial(self._made, key, facts) if create and facts is not None else None
        self._db = (
            PostgresTables(self._name, made)
            if on_postgres(path)
            else FileTables(path.absolute(), made)
        )
        self._decoded: Cache[int, list[StoredRow]] = Cache(MAX_DECODED)
        try:
            self.facts = self._verified(key)
            if facts is not None and self.facts != facts:
                raise VaultError(
                    f"{self.where}: holds a job with other columns, policy or model, with or "
                    "without a ledger or originals; name another file for this one"
                )
            self._ledger = (
                None if ledger is None else Ledger(ledger, _key(LEDGER_KEY_VARIABLE, "ledger"))
            )
        except BaseException:
            self._db.close()
            raise

    # ---- keys ----

    def row_key(self, name: str) -> bytes:
        return self._keys.mac("row", name)

    def unit_key(self, name: str) -> bytes:
        return self._keys.mac("unit", name)

    def digest(self, cells: Sequence[str | None]) -> str:
        """Return the hash by which changed input is noticed, in hex."""
        return self._keys.mac("cells", *cells)[:16].hex()

    # ---- reading ----

    def find(self, keys: Sequence[bytes]) -> dict[bytes, StoredRow]:
        """Return what was released for those rows that are done; pending ones are settled first."""
        with self._db.reading():  # what is charged in one snapshot stays
            found = self._some("SELECT key, batch, place FROM line WHERE key IN", keys)
            open_ones = {batch for (batch,) in self._db.rows(_OPEN)}
        places = {key: (batch, place) for key, batch, place in found}
        for batch in open_ones & {batch for batch, _ in places.values()}:
            try:
                self._settle(batch)
            except BudgetExceeded:  # taken back: its rows are not done
                places = {key: at for key, at in places.items() if at[0] != batch}
        return {key: self._batch(batch)[place] for key, (batch, place) in places.items()}

    def unit(self, key: bytes) -> UnitState:
        while True:
            found = self._db.rows(
                "SELECT version, batch, body, before FROM unit WHERE key = ?", key
            )
            if not found:
                return UnitState()
            version, batch, body, before = found[0]
            if before is None:
                return self._unit(key, version, body)
            try:
                self._settle(batch)
            except BudgetExceeded:
                continue

    def units(self) -> Iterator[UnitState]:
        for key, version, body in self._all_units():
            yield self._unit(key, version, body)

    def n_done(self) -> int:
        return int(self._db.rows("SELECT coalesce(sum(n), 0) FROM batch")[0][0])

    # ---- writing ----

    def commit(self, rows: Sequence[NewRow], units: Mapping[bytes, UnitState]) -> set[bytes]:
        """Write rows with their charges, and the units they changed, in one transaction.

        Args:
            rows: none of them done when it was looked for.
            units: key -> new state, with the version that was read.

        Returns:
            Keys of rows that were not written, because another worker had written them or their
            unit meanwhile. Their draws must be thrown away.

        Raises:
            BudgetExceeded: the ledger refuses; nothing was written.
        """
        with self._db.writing():
            lost = self._lost(rows, units)
            written = [row for row in rows if row.key not in lost]
            kept = {bytes.fromhex(row.stored.unit) for row in written if row.stored.unit}
            batch = self._insert(written, {key: units[key] for key in kept})
        if batch is not None:
            self._settle(batch)
        return lost

    def settle(self) -> None:
        """Finish what a crash left pending; what the ledger refuses is taken back."""
        for (batch,) in self._db.rows(_OPEN):
            try:
                self._settle(batch)
            except BudgetExceeded:
                continue

    def drop_originals(self) -> None:
        """Delete the tables, so that nothing can be restored, and overwrite their bytes."""
        with self._db.writing():
            for key, version, body in self._all_units():
                old = self._unit(key, version, body)
                new = self._unit_body(key, version, UnitState(version, old.spent))
                self._db.rows("UPDATE unit SET body = ? WHERE key = ?", new, key)
        if not self._db.empty_wal():
            raise VaultError(f"{self.where}: originals are deleted, but the WAL is in use")

    def close(self) -> None:
        self._db.close()
        if self._ledger is not None:
            self._ledger.close()

    # ---- transactions ----

    def _lost(self, rows: Sequence[NewRow], units: Mapping[bytes, UnitState]) -> set[bytes]:
        """Return the keys of rows that another worker has written, or whose unit it has."""
        found = self._some("SELECT key, version, before FROM unit WHERE key IN", list(units))
        there = {key: (version, before) for key, version, before in found}
        taken = {
            key.hex()
            for key, state in units.items()
            if there.get(key, (0, None)) != (state.version, None)
        }
        done = {key for (key,) in self._some(_THERE, [row.key for row in rows])}
        return {row.key for row in rows if row.stored.unit in taken or row.key in done}

    def _some(self, query: str, keys: Sequence[bytes]) -> list[tuple[Any, ...]]:
        """Return the rows of a query that ends in "IN", for any number of keys."""
        found: list[tuple[Any, ...]] = []
        for begin in range(0, len(keys), MAX_ASKED):
            some = keys[begin : begin + MAX_ASKED]
            found += self._db.rows(f"{query} ({', '.join('?' * len(some))})", *some)
        return found

    def _all_units(self) -> Iterator[tuple[Any, ...]]:
        """Yield (key, version, body) of all units, some at a time."""
        query = "SELECT key, version, body FROM unit WHERE key > ? ORDER BY key LIMIT ?"
        last = b""
        while found := self._db.rows(query, last, MAX_ASKED):
            yield from found
            last = found[-1][0]

    def _insert(self, rows: Sequence[NewRow], units: Mapping[bytes, UnitState]) -> int | None:
        """Insert a batch; return its number if the ledger must be charged for it."""
        if not rows:
            return None
        charges = self._charges(rows)
        ((number,),) = self._db.rows("INSERT INTO batch (n, charged) VALUES (0, 1) RETURNING id")
        keys = [row.key for row in rows]
        pending = None
        if charges:
            undo = [
                secret_key()[:16].hex(),
                sorted(charges.items()),
                [key.hex() for key in keys],
                [key.hex() for key in units],
            ]
            pending = self._seal(dumped(undo), "pending", number)
        body = self._seal(dumped([row.stored.values() for row in rows]), "batch", number)
        self._db.rows(
            "UPDATE batch SET n = ?, charged = ?, body = ?, pending = ? WHERE id = ?",
            *(len(rows), int(not charges), body, pending, number),
        )
        self._db.many(
            "INSERT INTO line VALUES (?, ?, ?)", [(key, number, i) for i, key in enumerate(keys)]
        )
        self._put_units(units, number, bool(charges))
        return number if charges else None

    def _charges(self, rows: Sequence[NewRow]) -> dict[str, int]:
        charges: Counter[str] = Counter()
        if self._ledger is not None:
            for row in rows:
                charges[row.owner] += row.stored.nano
        return {owner: nano for owner, nano in charges.items() if nano}

    def _put_units(self, units: Mapping[bytes, UnitState], batch: int, pending: bool) -> None:
        """Write units; pending ones keep the state before, in case the ledger refuses."""
        found: dict[bytes, bytes] = {}
        if pending:
            found = dict(self._some("SELECT key, body FROM unit WHERE key IN", list(units)))
        written = []
        for key, state in units.items():
            version, before = state.version + 1, None
            if pending:
                # Sealed for the version after the one it comes back as: see `_take_back`.
                old = self._unit(key, state.version, found[key]) if key in found else UnitState()
                before = self._unit_body(key, version + 1, old)
            written.append((key, version, batch, self._unit_body(key, version, state), before))
        self._db.many(_PUT_UNIT, written)

    def _settle(self, batch: int) -> None:
        """Charge the ledger for a pending batch, or take the batch back if the ledger refuses.

        The store's write lock is held meanwhile, so that no two processes decide differently.
        """
        with self._db.writing():
            found = self._db.rows("SELECT charged, pending FROM batch WHERE id = ?", batch)
            if not found:
                raise BudgetExceeded("the ledger refused this batch")
            charged, sealed = found[0]
            if charged:
                return
            if self._ledger is None:
                raise VaultError(f"{self.where}: was begun with a ledger; name it again")
            name, charges, keys, units = json.loads(self._open(sealed, "pending", batch))
            refusal: BudgetExceeded | None = None
            try:
                of_store = Scope("conversation", self._name)
                amounts = {
                    Scope("user", owner) if owner else of_store: Fraction(nano, NANO)
                    for owner, nano in charges
                }
                self._ledger.charge_once(amounts, bytes.fromhex(name))
            except BudgetExceeded as error:
                refusal = error
                self._take_back(batch, keys, units)
            else:
                self._db.rows("UPDATE batch SET charged = 1, pending = NULL WHERE id = ?", batch)
                self._db.many(
                    "UPDATE unit SET before = NULL WHERE key = ?",
                    [(bytes.fromhex(key),) for key in units],
                )
        if refusal is not None:
            raise refusal

    def _take_back(self, batch: int, keys: Sequence[str], units: Sequence[str]) -> None:
        """Delete a batch that the ledger refused; its units are as they were before."""
        self._db.rows("DELETE FROM batch WHERE id = ?", batch)
        self._db.many("DELETE FROM line WHERE key = ?", [(bytes.fromhex(key),) for key in keys])
        self._db.many(
            "UPDATE unit SET version = version + 1, body = before, before = NULL WHERE key = ?",
            [(bytes.fromhex(key),) for key in units],
        )

    # ---- content ----

    def _batch(self, number: int) -> list[StoredRow]:
        rows = self._decoded.use(number)
        if rows is None:
            read = self._db.rows("SELECT body FROM batch WHERE id = ?", number)
            body = read[0][0] if read else None
            found = json.loads(self._open(body, "batch", number))
            rows = [StoredRow.of(values) for values in found]
            self._decoded.keep(number, rows, 0)
        return rows

    def _unit(self, key: bytes, version: int, body: bytes) -> UnitState:
        spent, rows, numbers = json.loads(self._open(body, "unit", key, version))
        return UnitState(version, spent, [Row(*row) for row in rows], numbers)

    def _unit_body(self, key: bytes, version: int, state: UnitState) -> bytes:
        return self._seal(dumped([state.spent, state.rows, state.numbers]), "unit", key, version)

    def _seal(self, plain: bytes, *bound: object) -> bytes:
        return b"".join(self._keys.seal(plain, *bound))

    def _open(self, sealed: Any, *bound: object) -> bytes:
        seal, body = (sealed[:SEAL_BYTES], sealed[SEAL_BYTES:]) if sealed else (None, None)
        return self._keys.open(seal, body, *bound)

    # ---- the tables ----

    def _made(self, key: bytes, facts: Mapping[str, Any]) -> list[tuple[str, bytes]]:
        """Return what begins the store of a new job."""
        salt, cost = secret_key()[:SALT_BYTES], sealing.SCRYPT_N
        self._keys = derived_keys(self.where, key, salt, cost)
        return [
            ("format", FORMAT.encode()),
            ("salt", salt),
            ("cost", str(cost).encode()),
            ("check", self._keys.mac("key check")),
            ("facts", self._seal(dumped(dict(facts)), "facts")),
        ]

    def _verified(self, key: bytes) -> dict[str, Any]:
        """Derive the keys, and return the facts. Raises VaultError: another format or key."""
        if self._meta("format") != FORMAT.encode():
            raise VaultError(f"{self.where}: not the store of a bulk job of this version")
        cost = int(self._meta("cost"))
        self._keys = derived_keys(self.where, key, self._meta("salt"), cost)
        if self._meta("check") != self._keys.mac("key check"):
            raise VaultError(f"{self.where}: {sealing.WRONG_KEY}")
        facts: dict[str, Any] = json.loads(self._open(self._meta("facts"), "facts"))
        return facts

    def _meta(self, name: str) -> bytes:
        found = self._db.rows("SELECT value FROM meta WHERE name = ?", name)
        return found[0][0] if found and isinstance(found[0][0], bytes) else b""


_OPEN = "SELECT id FROM batch WHERE charged = 0"
_THERE = "SELECT key FROM line WHERE key IN"
_PUT_UNIT = (
    "INSERT INTO unit VALUES (?, ?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET "
    "version = excluded.version, batch = excluded.batch, body = excluded.body, "
    "before = excluded.before"
)


def _key(variable: str, what: str) -> bytes:
    key = os.environ.get(variable, "").encode("utf-8", "surrogateescape")
    if len(key) < MIN_KEY_LENGTH:
        raise ValueError(
            f"set ${variable} to the key of the {what}, at least {MIN_KEY_LENGTH} characters, the "
            "same at every run"
        )
    return key
