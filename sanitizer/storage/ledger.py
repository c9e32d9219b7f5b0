"""Budgets of epsilon in one file that outlives the process, and what every ledger offers.

A `Ledger` is a file that many threads and processes may use at once. In it a budget belongs to a
scope: a conversation, a user, a team, or the day (UTC). Epsilon is reserved before anything is
drawn and committed afterwards; what is never settled stays charged.

Guarantee: no scope is granted more than its limit, and no grant is forgotten. Reservations and
their sums are changed in one SQLite transaction under the write lock (BEGIN IMMEDIATE). A killed
process leaves its reservations charged. So does a power cut: a grant is on the disk before
`reserve` returns (WAL, synchronous=FULL). Commits and releases are not waited for (NORMAL): losing
one charges more, never less.

Stored: HMAC-SHA256 of kind and name, amounts in whole nano-epsilon, times in seconds. No text, no
names, no history of requests. Damage and edits are found at opening and when a row is used (see
`ledger_rows`).
Not protected: all files replaced together by older copies; whoever holds the key; network file
systems, on which WAL does not work. Keep `PATH`, `PATH-wal` and `PATH-mark` together.

`Budget` is what a Sanitizer charges (see `budget`); `Budgets` is what every ledger offers.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Literal, Protocol, Self

from sanitizer.errors import BudgetExceeded, LedgerError
from sanitizer.storage.ledger_rows import Account, Entry, LedgerHead, LedgerRows

KINDS = ("conversation", "user", "team", "day")
NANO = 10**9
"""Units of one epsilon in the file: amounts are integers, so that sums are exact."""
MAX_CHARGE = 1e9
"""Largest epsilon of one charge or limit."""
MIN_KEY_BYTES = 16
DAY_SECONDS = 86_400
GRANT_SYNC: Literal["NORMAL", "FULL"] = "FULL"
"""How a grant reaches the disk: NORMAL outlives a killed process, FULL a power cut too."""
UNLIMITED = 2**63 - 1
"""Limit of a scope without one: the largest integer that SQLite stores."""


def check_kind(kind: str) -> None:
    """Raise ValueError unless there is such a kind of scope."""
    if kind not in KINDS:
        # The value is not shown: it may be a name in the wrong place.
        raise ValueError(f"kind must be one of {', '.join(KINDS)}")


@dataclass(frozen=True, slots=True)
class Scope:
    """Owner of a budget: a conversation, a user, a team, or the day, which has no name.

    Args:
        kind: "conversation", "user", "team" or "day".
        name: which one; stored as a hash, never shown.

    Raises:
        ValueError: the kind is unknown, the name is missing, or the day has one.

    >>> Scope("user", "ada")
    Scope(kind='user')
    """

    kind: str
    name: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        check_kind(self.kind)
        if not isinstance(self.name, str):
            raise TypeError(f"name must be a str, got {type(self.name).__name__}")
        if (self.kind == "day") == bool(self.name):
            raise ValueError(
                f"name must {'' if self.name else 'not '}be empty for kind {self.kind!r}"
            )


DAY = Scope("day")


@dataclass(frozen=True, slots=True)
class Balance:
    """Budget of one scope in epsilon; without a limit, `limit` is None and `left` infinite."""

    limit: float | None
    spent: float
    reserved: float
    left: float


class Charge(Protocol):
    """Epsilon set aside; it counts as spent until it is released."""

    def commit(self) -> None:
        """Mark it as spent."""

    def release(self) -> None:
        """Give it back. Only where nothing was drawn."""


class Budget(Protocol):
    """Epsilon that may be spent: an amount is checked first, then set aside."""

    @property
    def limited(self) -> bool:
        """True if a limit could be exceeded."""

    @property
    def spent(self) -> float:
        """Epsilon charged so far."""

    @property
    def left(self) -> float | None:
        """Epsilon that may still be spent; None without a limit."""

    def reserve(self, epsilon: float, key: bytes | None = None) -> Charge:
        """Set epsilon aside. Raises BudgetExceeded.

        Args:
            key: of what is drawn for it; see `Budgets.reserve`.
        """


class Budgets(Protocol):
    """Budgets of many scopes: in this process, in a file (`Ledger`), or on PostgreSQL."""

    def set_limit(self, scope: Scope, epsilon: float) -> None:
        """Set the most that a scope may spend; for `DAY`: on every day."""

    def set_default_limit(self, kind: str, epsilon: float) -> None:
        """Set the limit of every scope of a kind that has none of its own."""

    def balance(self, scope: Scope) -> Balance:
        """Return what a scope (for `DAY`: today) has spent, reserved and left."""

    def reserve(
        self, scopes: Iterable[Scope], epsilon: float, key: bytes | None = None
    ) -> Reservation:
        """Charge epsilon to every scope or to none, before anything is drawn.

        Args:
            key: of what is drawn for it. A store that other processes share charges a key once:
                whoever reserves it again joins the charge, until a result is kept under the key.
                Others charge again, and give back what was not used.

        Raises:
            BudgetExceeded: a scope has not enough left; nothing is charged.
            LedgerError: nothing is granted.
        """

    def charge_once(self, amounts: Mapping[Scope, Fraction], name: bytes) -> bool:
        """Charge each scope its own amount, once for a name; see `Ledger.charge_once`."""

    def resolve_stale(self, older_than: float = 3600.0) -> int:
        """Count reservations open for `older_than` seconds as spent; return how many."""

    def export(self) -> list[dict[str, object]]:
        """Return every balance and open reservation, for JSON."""

    def close(self) -> None:
        """Close it; open reservations stay charged."""

    def _settle(self, number: int, charged: int) -> bool:
        """Settle a reservation; False if it was resolved as spent before."""


class Reservation:
    """Epsilon set aside by `Budgets.reserve`, charged unless `release` is called.

    As a context manager it is committed in full at the end, after an exception too (something may
    have been drawn), unless it was settled inside.
    """

    def __init__(self, ledger: Budgets, number: int, amount: int) -> None:
        self.id = number
        self._ledger = ledger
        self._amount = amount
        self._settled = False
        self._lock = threading.Lock()

    @property
    def epsilon(self) -> float:
        """Amount reserved in each scope."""
        return self._amount / NANO

    def commit(self, epsilon: float | None = None) -> None:
        """Count `epsilon` (default: all of it) as spent, rounded up, and free the rest.

        Raises:
            ValueError: epsilon is not positive, or more than was reserved. All of it stays charged.
            LedgerError: it was settled before, or the file cannot be written and all of it stays
                charged.
        """
        charged = self._amount if epsilon is None else nano_up(epsilon)
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
            # After another exception that one tells more; what is not settled stays charged.
            if kind is None:
                raise


class Ledger:
    """Budgets of many scopes in one file.

    Serves many threads; each process opens its own, after a fork again.

    Time never runs backwards here: it is the latest the file has seen. A clock set back opens no
    fresh day and revives no old one; after one set ahead, the day it named stays the day until the
    clock gets there.

    Args:
        path: made by `Ledger.create`; a missing file is an error, not a fresh budget.
        key: at least 16 secret bytes, the same at every opening.
        clock: seconds since 1970 (UTC).

    Raises:
        ValueError: a short key.
        LedgerError: missing, damaged, not writable, another version, another key.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     with Ledger.create(f"{folder}/ledger", b"sixteen or more bytes") as ledger:
    ...         ada = Scope("user", "ada")
    ...         ledger.set_limit(ada, 10.0)
    ...         with ledger.reserve([ada], 2.5):
    ...             pass  # draw here
    ...         ledger.balance(ada)
    Balance(limit=10.0, spent=2.5, reserved=0.0, left=7.5)
    """

    def __init__(
        self, path: str | Path, key: bytes, *, clock: Callable[[], float] = time.time
    ) -> None:
        self._store = LedgerRows(Path(path).absolute(), _check_key(key), clock)

    def __repr__(self) -> str:
        # What it holds is not read for a repr.
        return f"Ledger({str(self._store.path)!r})"

    @classmethod
    def create(
        cls, path: str | Path, key: bytes, *, clock: Callable[[], float] = time.time
    ) -> Self:
        """Make a new file without limits, and open it.

        Raises:
            LedgerError: `path` or its mark exists, and as at opening.
        """
        LedgerRows.create(Path(path).absolute(), _check_key(key))
        return cls(path, key, clock=clock)

    def set_limit(self, scope: Scope, epsilon: float) -> None:
        """Set the most that `scope` may spend; for `DAY`: on every day.

        It is rounded down to nano-epsilon.
        """
        if scope == DAY:
            return self.set_default_limit("day", epsilon)
        return self._set_cap(self._store.mac("scope", scope.kind, scope.name), scope.kind, epsilon)

    def set_default_limit(self, kind: str, epsilon: float) -> None:
        """Set the limit of every scope of `kind` that has none of its own.

        A scope without either may spend anything; what it spends is recorded.
        """
        check_kind(kind)
        self._set_cap(self._store.mac("every", kind), f"every {kind}", epsilon)

    def balance(self, scope: Scope) -> Balance:
        """Return what `scope` (for `DAY`: today) has spent, reserved and left."""
        with self._store.transaction("DEFERRED") as head:
            account = self._account(self._id(scope, head), scope.kind)
            cap = self._cap(account)
        return balance_of(account, cap)

    def reserve(
        self, scopes: Iterable[Scope], epsilon: float, key: bytes | None = None
    ) -> Reservation:
        """Charge `epsilon`, rounded up to nano-epsilon, to every scope or to none.

        Call it before drawing. A float counts as the decimal number it prints as. A scope named
        twice is charged once.

        Raises:
            ValueError: no scope, or epsilon not positive and at most 1e9.
            BudgetExceeded: a scope has not enough left; nothing is charged.
            LedgerError: damaged, not writable, or busy for a minute; nothing is granted.
        """
        amount, distinct = asked_for(scopes, epsilon)
        with self._store.transaction("IMMEDIATE", GRANT_SYNC) as head:
            accounts = [self._account(self._id(scope, head), scope.kind) for scope in distinct]
            for account in accounts:
                check_room(account, self._cap(account), amount)
            for account in accounts:
                reserved = account.reserved + amount
                self._store.put(head, account._replace(reserved=reserved, updated=head.seen))
            head.granted += 1
            charged = b"".join(account.id for account in accounts)
            self._store.put(head, Entry(head.granted, amount, charged, head.seen))
        return Reservation(self, head.granted, amount)

    def charge_once(self, amounts: Mapping[Scope, Fraction], name: bytes) -> bool:
        """Charge each scope its own amount, all of them or none, and only once for this name.

        For work that may be repeated: the name is kept with the charge, so that a retry after a
        crash finds it. Unlike a reservation it is spent at once.

        Args:
            amounts: exact epsilon of each scope, rounded up to nano-epsilon; positive.
            name: bytes that no other charge has, such as 16 random ones; stored as an HMAC.

        Returns:
            False if the charge of this name was made before: nothing is charged again.

        Raises:
            ValueError: an amount is not positive and at most 1e9.
            BudgetExceeded: a scope has not enough left; nothing is charged.
            LedgerError: damaged, not writable, or busy for a minute; nothing is granted.
        """
        nano = {scope: nano_up(amount) for scope, amount in amounts.items()}
        with self._store.transaction("IMMEDIATE", GRANT_SYNC) as head:
            marker = self._account(self._store.mac("charge", name), "charge")
            if self._store.find(Account, marker.id) is not None:
                return False
            for scope, amount in nano.items():
                account = self._account(self._id(scope, head), scope.kind)
                check_room(account, self._cap(account), amount)
                spent = account.spent + amount
                self._store.put(head, account._replace(spent=spent, updated=head.seen))
            total = sum(nano.values())
            self._store.put(head, marker._replace(spent=total, updated=head.seen))
            head.granted += 1
        return True

    def resolve_stale(self, older_than: float = 3600.0) -> int:
        """Count reservations open for `older_than` seconds as spent; return how many there were.

        They are never freed: whoever made them may have drawn.
        """
        check_age(older_than)
        with self._store.transaction("IMMEDIATE", "NORMAL") as head:
            stale = [e for e in self._store.rows(Entry) if head.seen - e.created >= older_than]
            for entry in stale:
                self._charge(head, entry, entry.amount)
        return len(stale)

    def export(self) -> list[dict[str, object]]:
        """Return every balance and open reservation, for JSON.

        Scopes are hashes in hex, amounts nano-epsilon, times seconds since 1970.
        """
        with self._store.transaction("DEFERRED"):
            accounts = self._store.rows(Account)
            entries = self._store.rows(Entry)
        return exported(accounts, entries)

    def close(self) -> None:
        """Close the file; open reservations stay charged."""
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _settle(self, number: int, charged: int) -> bool:
        """Settle a reservation; return False if `resolve_stale` came first (all of it is spent)."""
        with self._store.transaction("IMMEDIATE", "NORMAL") as head:
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
            spent = old.spent + charged
            reserved = old.reserved - entry.amount
            self._store.put(head, old._replace(spent=spent, reserved=reserved, updated=head.seen))

    def _set_cap(self, account_id: bytes, kind: str, epsilon: float) -> None:
        cap = nano_down(epsilon)
        with self._store.transaction("IMMEDIATE", GRANT_SYNC) as head:
            account = self._account(account_id, kind)
            self._store.put(head, account._replace(cap=cap, updated=head.seen))

    def _cap(self, account: Account) -> int | None:
        if account.cap is not None:
            return account.cap
        return self._account(self._store.mac("every", account.kind), "").cap

    def _account(self, account_id: bytes, kind: str) -> Account:
        return self._store.find(Account, account_id) or Account(account_id, kind)

    def _id(self, scope: Scope, head: LedgerHead) -> bytes:
        name = str(head.seen // DAY_SECONDS) if scope == DAY else scope.name
        return self._store.mac("scope", scope.kind, name)


@lru_cache(maxsize=1024)  # each message is charged a handful of prices, again and again
def as_printed(epsilon: float) -> Fraction:
    """Return the decimal number that a float prints as: ten charges of 0.1 fit into 1.0.

    >>> as_printed(0.1)
    Fraction(1, 10)
    """
    return Fraction(repr(float(epsilon)))


def _check_key(key: bytes) -> bytes:
    if len(key) < MIN_KEY_BYTES:
        raise ValueError(f"key must have at least {MIN_KEY_BYTES} bytes, got {len(key)}")
    return bytes(key)


def asked_for(scopes: Iterable[Scope], epsilon: float) -> tuple[int, list[Scope]]:
    """Return an amount in nano-epsilon, rounded up, and the distinct scopes.

    Raises:
        ValueError: no scope, or epsilon not positive and at most 1e9.
    """
    amount = nano_up(epsilon)
    distinct = list(dict.fromkeys(scopes))
    if not distinct:
        raise ValueError("scopes must name at least one scope, got none")
    return amount, distinct


def check_age(older_than: float) -> None:
    """Raise ValueError unless it is an age in seconds."""
    if not older_than >= 0:
        raise ValueError(f"older_than must be at least 0, got {older_than!r}")


def check_room(account: Account, cap: int | None, amount: int) -> None:
    """Raise BudgetExceeded if an account has not that much left, in nano-epsilon."""
    total = UNLIMITED if cap is None else cap
    left = max(0, total - account.spent - account.reserved)
    if amount > left:
        amounts = f"the {account.kind} budget has {_show(left)} of {_show(total)} left"
        raise BudgetExceeded(
            f"this needs epsilon {_show(amount)}, {amounts}",
            needed=amount / NANO,
            left=left / NANO,
            limit=total / NANO,
            scope=account.kind,
        )


def balance_of(account: Account, cap: int | None) -> Balance:
    """Return an account in epsilon."""
    left = math.inf if cap is None else max(0, cap - account.spent - account.reserved) / NANO
    limit = None if cap is None else cap / NANO
    return Balance(limit, account.spent / NANO, account.reserved / NANO, left)


def exported(accounts: Iterable[Account], entries: Iterable[Entry]) -> list[dict[str, object]]:
    """Return accounts and open reservations as plain values for JSON."""
    balances = [
        _renamed(a._asdict(), id="scope", cap="limit") | {"scope": a.id.hex()} for a in accounts
    ]
    open_ones = [
        _renamed(e._asdict(), id="reservation") | {"scopes": [i.hex() for i in e.scope_ids()]}
        for e in entries
    ]
    return balances + open_ones


def nano_up(epsilon: float | Fraction) -> int:
    """Return whole nano-epsilon, rounded up. Raises ValueError: not positive, or above 1e9."""
    return math.ceil(_nano(epsilon))


def nano_down(epsilon: float) -> int:
    """Return whole nano-epsilon, rounded down. Raises ValueError: not positive, or above 1e9."""
    return math.floor(_nano(epsilon))


def _nano(epsilon: float | Fraction) -> Fraction:
    """Return exact nano-epsilon, unrounded."""
    if not 0 < epsilon <= MAX_CHARGE:
        raise ValueError(f"epsilon must be positive and at most {MAX_CHARGE:g}, got {epsilon!r}")
    return (epsilon if isinstance(epsilon, Fraction) else as_printed(epsilon)) * NANO


def _show(amount: int) -> str:
    """Return nano-epsilon as a plain decimal number, exactly."""
    return f"{amount // NANO}.{amount % NANO:09d}".rstrip("0").rstrip(".")


def _renamed(row: dict[str, object], **names: str) -> dict[str, object]:
    return {names.get(key, key): value for key, value in row.items()}
