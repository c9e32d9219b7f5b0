"""Budgets that outlive the process: one file that many threads and processes may use at once.

A budget belongs to a scope: a conversation, a user, or the day (UTC). Epsilon is reserved before
anything is drawn and committed afterwards; what is never settled stays charged.

Guarantee: no scope is granted more than its limit, and no grant is forgotten. Reservations and
their sums are changed in one SQLite transaction under the write lock (BEGIN IMMEDIATE). A killed
process leaves its reservations charged. So does a power cut: a grant is on the disk before
`reserve` returns (WAL, synchronous=FULL). Commits and releases are not waited for (NORMAL): losing
one charges more, never less.

Stored: HMAC-SHA256 of kind and name, amounts in whole nano-epsilon, times in seconds. No text, no
names, no history of requests. Damage and edits are found at opening and when a row is used (see
`ledger_store`).
Not protected: all files replaced together by older copies; whoever holds the key; network file
systems, on which WAL does not work. Keep `PATH`, `PATH-wal` and `PATH-mark` together.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Literal, Self

from sanitizer.errors import BudgetExceeded, LedgerError
from sanitizer.storage.ledger_rows import Account, Entry, LedgerHead, LedgerRows

KINDS = ("conversation", "user", "day")
NANO = 10**9
MAX_EPSILON = 1e9
MIN_KEY_BYTES = 16
DAY_SECONDS = 86_400
GRANT_SYNC: Literal["NORMAL", "FULL"] = "FULL"  # NORMAL outlives a killed process, FULL a power cut
UNLIMITED = 2**63 - 1  # the largest integer SQLite stores


def _check_kind(kind: str) -> None:
    if kind not in KINDS:
        raise ValueError(
            f"kind must be one of {', '.join(KINDS)}"
        )  # the value may be a name in the wrong place


@dataclass(frozen=True, slots=True)
class Scope:
    """Whose budget: `Scope("conversation", "c-17")`, `Scope("user", "ada")`, or `DAY`, which has no
    name.

    Raises:
        ValueError: an unknown kind, or a name missing or too many; the name itself is never shown.
    """

    kind: str
    name: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        _check_kind(self.kind)
        if not isinstance(self.name, str):
            raise TypeError(f"name must be a str, got {type(self.name).__name__}")
        if (self.kind == "day") == bool(self.name):
            raise ValueError(
                f"name must {'' if self.name else 'not '}be empty for kind {self.kind!r}"
            )


DAY = Scope("day")


@dataclass(frozen=True, slots=True)
class Balance:
    """One scope's budget in epsilon; without a limit, `limit` is None and `left` infinite."""

    limit: float | None
    spent: float
    reserved: float
    left: float


class Reservation:
    """Epsilon set aside by `Ledger.reserve`, charged unless `release` is called.

    As a context manager it is committed in full at the end, after an exception too (something may
    have been drawn), unless it was settled inside.
    """

    def __init__(self, ledger: Ledger, number: int, amount: int) -> None:
        self.id = number
        self._ledger, self._amount = ledger, amount
        self._settled, self._lock = False, threading.Lock()

    @property
    def epsilon(self) -> float:
        """The amount reserved in each scope."""
        return self._amount / NANO

    def commit(self, epsilon: float | None = None) -> None:
        """Count `epsilon` (default: all of it) as spent, rounded up, and free the rest.

        Raises:
            ValueError: not positive, or more than reserved. LedgerError: settled before, or the
            file cannot be written. After either, unless settled before, all of it stays charged.
        """
        charged = self._amount if epsilon is None else _nano_up(epsilon)
        if charged > self._amount:
            raise ValueError(
                f"epsilon must be at most the {self.epsilon!r} reserved, got {epsilon!r}"
            )
        self._settle(charged)

    def release(self) -> None:
        """Free all of it. Only for a request of which nothing was drawn.

        Raises:
            LedgerError: settled before, here or by `resolve_stale`, or the file cannot be written.
        """
        if not self._settle(0):
            raise LedgerError(f"reservation {self.id} was resolved as spent and stays charged")

    def _settle(self, charged: int) -> bool:
        with self._lock:
            if self._settled:
                raise LedgerError(f"reservation {self.id} is settled already")
            found = self._ledger._settle(self.id, charged)
            self._settled = True
            return found

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if not self._settled:
                self.commit()
        except LedgerError:
            if kind is None:
                raise  # otherwise the first error tells more; what is not settled stays charged


class Ledger:
    """The budgets in one file. Serves many threads; each process opens its own, after a fork again.

    Time never runs backwards here: it is the latest the file has seen. A clock set back opens no
    fresh day and revives no old one; after one set ahead, the day it named stays the day until the
    clock gets there.

    Args:
        path: made by `Ledger.create`; a missing file is an error, not a fresh budget.
        key: at least 16 secret bytes, the same at every opening.
        clock: seconds since 1970 (UTC).

    Raises:
        ValueError: a short key. LedgerError: missing, damaged, not writable, another version,
            another key.
    """

    def __init__(
        self, path: str | Path, key: bytes, *, clock: Callable[[], float] = time.time
    ) -> None:
        self._store = LedgerRows(Path(path).absolute(), _check_key(key), clock)

    @classmethod
    def create(
        cls, path: str | Path, key: bytes, *, clock: Callable[[], float] = time.time
    ) -> Self:
        """A new file without limits. Raises as opening does, and LedgerError if `path` or its mark
        exists.
        """
        LedgerRows.create(Path(path).absolute(), _check_key(key))
        return cls(path, key, clock=clock)

    def set_limit(self, scope: Scope, epsilon: float) -> None:
        """The most `scope` may spend, rounded down to nano-epsilon; for `DAY`: on every day."""
        if scope == DAY:
            return self.set_default_limit("day", epsilon)
        return self._set_cap(self._store.mac("scope", scope.kind, scope.name), scope.kind, epsilon)

    def set_default_limit(self, kind: str, epsilon: float) -> None:
        """For every scope of `kind` without a limit of its own. Without either, spending is
        recorded only.
        """
        _check_kind(kind)
        self._set_cap(self._store.mac("every", kind), f"every {kind}", epsilon)

    def balance(self, scope: Scope) -> Balance:
        """What `scope` (for `DAY`: today) has spent, reserved and left."""
        with self._store.transaction("DEFERRED") as head:
            account = self._account(self._id(scope, head), scope.kind)
            cap = self._cap(account)
        left = math.inf if cap is None else max(0, cap - account.spent - account.reserved) / NANO
        return Balance(
            None if cap is None else cap / NANO, account.spent / NANO, account.reserved / NANO, left
        )

    def reserve(self, scopes: Iterable[Scope], epsilon: float) -> Reservation:
        """Charge `epsilon`, rounded up to nano-epsilon, to every scope or to none. Call it before
        drawing.

        A float counts as the decimal number it prints as. A scope named twice is charged once.

        Raises:
            ValueError: no scope, or epsilon not positive and at most 1e9. BudgetExceeded: a scope
            has not enough left; nothing is charged. LedgerError: damaged, not writable, or busy for
            a minute; nothing is granted.
        """
        amount, distinct = _nano_up(epsilon), list(dict.fromkeys(scopes))
        if not distinct:
            raise ValueError("scopes must name at least one scope, got none")
        with self._store.transaction("IMMEDIATE", GRANT_SYNC) as head:
            accounts = [self._account(self._id(scope, head), scope.kind) for scope in distinct]
            for account in accounts:
                self._check_room(account, amount)
            for account in accounts:
                self._store.put(
                    head, account._replace(reserved=account.reserved + amount, updated=head.seen)
                )
            head.granted += 1
            self._store.put(
                head, Entry(head.granted, amount, b"".join(a.id for a in accounts), head.seen)
            )
        return Reservation(self, head.granted, amount)

    def resolve_stale(self, older_than: float = 3600.0) -> int:
        """Count reservations open for `older_than` seconds as spent, never as free; returns how
        many.
        """
        if not older_than >= 0:
            raise ValueError(f"older_than must be at least 0, got {older_than!r}")
        with self._store.transaction("IMMEDIATE") as head:
            stale = [e for e in self._store.rows(Entry) if head.seen - e.created >= older_than]
            for entry in stale:
                self._charge(head, entry, entry.amount)
        return len(stale)

    def export(self) -> list[dict[str, object]]:
        """Every balance and open reservation, for JSON: hashes in hex, nano-epsilon, seconds since
        1970.
        """
        with self._store.transaction("DEFERRED"):
            accounts, entries = self._store.rows(Account), self._store.rows(Entry)
        balances = [
            _renamed(a._asdict(), id="scope", cap="limit") | {"scope": a.id.hex()} for a in accounts
        ]
        open_ones = [
            _renamed(e._asdict(), id="reservation") | {"scopes": [i.hex() for i in e.scope_ids()]}
            for e in entries
        ]
        return balances + open_ones

    def close(self) -> None:
        """Close the file; open reservations stay charged."""
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _settle(self, number: int, charged: int) -> bool:
        """False if `resolve_stale` came first: then all of it is spent."""
        with self._store.transaction("IMMEDIATE") as head:
            entry = self._store.find(Entry, number)
            if entry is not None:
                self._charge(head, entry, charged)
        return entry is not None

    def _charge(self, head: LedgerHead, entry: Entry, charged: int) -> None:
        self._store.remove(head, entry)
        for scope_id in entry.scope_ids():
            old = self._store.find(Account, scope_id)
            if old is None:
                raise self._store.damaged("a balance is missing")
            spent, reserved = old.spent + charged, old.reserved - entry.amount
            self._store.put(head, old._replace(spent=spent, reserved=reserved, updated=head.seen))

    def _set_cap(self, account_id: bytes, kind: str, epsilon: float) -> None:
        cap = math.floor(_nano(epsilon))
        with self._store.transaction("IMMEDIATE", GRANT_SYNC) as head:
            self._store.put(
                head, self._account(account_id, kind)._replace(cap=cap, updated=head.seen)
            )

    def _check_room(self, account: Account, amount: int) -> None:
        cap = self._cap(account)
        total = UNLIMITED if cap is None else cap
        left = max(0, total - account.spent - account.reserved)
        if amount > left:
            amounts = f"the {account.kind} budget has {_show(left)} of {_show(total)} left"
            raise BudgetExceeded(f"this needs epsilon {_show(amount)}, {amounts}")

    def _cap(self, account: Account) -> int | None:
        return (
            self._account(self._store.mac("every", account.kind), "").cap
            if account.cap is None
            else account.cap
        )

    def _account(self, account_id: bytes, kind: str) -> Account:
        return self._store.find(Account, account_id) or Account(account_id, kind)

    def _id(self, scope: Scope, head: LedgerHead) -> bytes:
        name = str(head.seen // DAY_SECONDS) if scope == DAY else scope.name
        return self._store.mac("scope", scope.kind, name)


def _check_key(key: bytes) -> bytes:
    if len(key) < MIN_KEY_BYTES:
        raise ValueError(f"key must have at least {MIN_KEY_BYTES} bytes, got {len(key)}")
    return bytes(key)


def _nano(epsilon: float) -> Fraction:
    """Exact nano-epsilon of the shortest decimal that prints as `epsilon`: 0.1 is one tenth."""
    if not 0 < epsilon <= MAX_EPSILON:
        raise ValueError(f"epsilon must be positive and at most {MAX_EPSILON:g}, got {epsilon!r}")
    return Fraction(repr(float(epsilon))) * NANO


def _nano_up(epsilon: float) -> int:
    return math.ceil(_nano(epsilon))


def _show(amount: int) -> str:
    """Nano-epsilon as a plain decimal number, exactly."""
    return f"{amount // NANO}.{amount % NANO:09d}".rstrip("0").rstrip(".")


def _renamed(row: dict[str, object], **names: str) -> dict[str, object]:
    return {names.get(key, key): value for key, value in row.items()}
