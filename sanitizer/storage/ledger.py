"""Budgets of epsilon, which belong to scopes: a conversation, a user, a team, or the day (UTC).

Epsilon is reserved before anything is drawn and committed afterwards; what is never settled stays
charged. Ledgers differ in the store that their rows are in: memory, a file, or PostgreSQL.

Guarantee: no scope is granted more than its limit, and no grant is forgotten. A charge and the sums
of its scopes are changed in one transaction, under locks. A killed process leaves its reservations
charged. So does a power cut: a grant is on the disk before `reserve` returns. Commits and releases
in a file are not waited for: losing one charges more, never less.

Stored: HMAC-SHA256 of kind and name, amounts in whole nano-epsilon, times in seconds, digests of
policy and model. No text, no names. Every row carries an HMAC of its content.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeVar

from sanitizer.errors import BudgetExceeded, LedgerError
from sanitizer.randomness import secret_key
from sanitizer.storage.databases import Closing
from sanitizer.storage.postgres_store import PATIENCE, PostgresStore
from sanitizer.storage.sealing import Keys, hmac_of
from sanitizer.storage.store import LATEST, LEDGER, MemoryStore, Rows, SqliteStore, mark

KINDS = ("conversation", "user", "team", "day")
NANO = 10**9
"""Units of one epsilon in the file: amounts are integers, so that sums are exact."""
MAX_CHARGE = 1e9
"""Largest epsilon of one charge or limit."""
MIN_KEY_BYTES = 16
DAY_SECONDS = 86_400
ID_BYTES = 32
"""Length of an account's id."""
OPEN, SPENT = "open", "spent"
"""States of a charge."""
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


class Account(NamedTuple):
    """Sums of one scope in nano-epsilon, `updated` in seconds; `cap` is the scope's own limit."""

    id: bytes
    kind: str
    cap: int | None = None
    spent: int = 0
    reserved: int = 0
    updated: int = 0


class Reservation:
    """Epsilon set aside by `Budgets.reserve`, charged unless `release` is called.

    As a context manager it is committed in full at the end, after an exception too (something may
    have been drawn), unless it was settled inside.

    Args:
        shared: whether others may use the charge too, so that it may be settled already.
        settled: whether it was spent at once.
    """

    def __init__(
        self,
        ledger: Budgets,
        number: int,
        amount: int,
        *,
        shared: bool = False,
        settled: bool = False,
    ) -> None:
        self.id = number
        self._ledger, self._amount = ledger, amount
        self._shared, self._settled = shared, settled
        self._lock = threading.Lock()

    @property
    def epsilon(self) -> float:
        return self._amount / NANO

    def commit(self, epsilon: float | None = None) -> None:
        """Count `epsilon` (default: all of it) as spent, rounded up, and free the rest.

        Raises:
            ValueError: epsilon is not positive, or more than was reserved. All of it stays charged.
            LedgerError: it was settled before, or the file cannot be written and all of it stays
                charged.
        """
        charged = self._amount if epsilon is None else math.ceil(_nano(epsilon))
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
            if self._settled and not self._shared:
                raise LedgerError(f"reservation {self.id} is settled already")
            found = self._settled or self._ledger.settle(self.id, charged)
            self._settled = True
            return found or self._shared

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


class _Charge(NamedTuple):
    """One charge, as its row holds it.

    Attributes:
        number: counts up.
        name: of what was drawn for it; random where there is none.
        amount: reserved in each account. spent: what was spent of it in the end.
        accounts: their ids, one after the other.
        state: OPEN, or SPENT once it is settled.
        holders: how many use it; one that was killed is counted for ever, so that it stays.
        created: seconds since 1970.
        about: digest of policy and model.
        kept: True once a result is kept under the name; set by the vault, and not in the HMAC.
    """

    number: int
    name: bytes
    amount: int
    spent: int
    accounts: bytes
    state: str
    holders: int
    created: int
    about: str
    kept: bool = False

    def account_ids(self) -> list[bytes]:
        return [self.accounts[i : i + ID_BYTES] for i in range(0, len(self.accounts), ID_BYTES)]


AnyRow = TypeVar("AnyRow", Account, _Charge)


class Budgets(Closing):
    """Budgets of many scopes in a store; what all ledgers are."""

    def __init__(
        self, store: MemoryStore | SqliteStore | PostgresStore, clock: Callable[[], float] | None
    ) -> None:
        self._store = store
        self._clock = clock

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
        self._set_cap(self._every(kind), f"every {kind}", epsilon)

    def balance(self, scope: Scope) -> Balance:
        """Return what `scope` (for `DAY`: today) has spent, reserved and left."""
        with self._store.read(LedgerError) as rows:
            account_id, every = self._id(scope, self._now(rows)), self._every(scope.kind)
            found = self._accounts(rows.find("account", [account_id, every]))
        account = found.get(account_id) or Account(account_id, scope.kind)
        cap = self._cap(account, found)
        left = math.inf if cap is None else max(0, cap - account.spent - account.reserved) / NANO
        limit = None if cap is None else cap / NANO
        return Balance(limit, account.spent / NANO, account.reserved / NANO, left)

    def reserve(
        self, scopes: Iterable[Scope], epsilon: float, key: bytes | None = None
    ) -> Reservation:
        """Charge `epsilon`, rounded up to nano-epsilon, to every scope or to none.

        Call it before drawing. A float counts as the decimal number it prints as. A scope named
        twice is charged once. In a transaction of a vault of the same store it is spent at once:
        the charge is there if and only if the stand-in is.

        Args:
            key: of what is drawn for it. A store that other processes share charges a key once:
                whoever reserves it again joins the charge, until a result is kept under the key.
                Others charge again, and give back what was not used.

        Raises:
            ValueError: no scope, or epsilon not positive and at most 1e9.
            BudgetExceeded: a scope has not enough left; nothing is charged.
            LedgerError: damaged, not writable, or busy for a minute; nothing is granted.
        """
        amount, distinct = math.ceil(_nano(epsilon)), list(dict.fromkeys(scopes))
        if not distinct:
            raise ValueError("scopes must name at least one scope, got none")
        with self._store.write(LedgerError) as rows:
            now = self._now(rows)
            accounts, caps = self._locked(rows, distinct, now)
            spends = rows.about is not None
            joins = key is not None and self._store.shared and not spends
            name = self._store.mac("message", key) if joins else secret_key()
            old = self._named(rows, name) if joins else None
            if old is not None and self._is_joined(rows, old):
                if old.state == OPEN:
                    self._put(rows, "charge", old._replace(holders=old.holders + 1))
                return Reservation(self, old.number, old.amount, shared=True)
            for account in accounts:
                _check_room(account, self._cap(account, caps), amount)
            number = self._grant(rows, accounts, name, amount, now, spent=spends)
        return Reservation(self, number, amount, shared=joins or spends, settled=spends)

    def charge_once(self, amounts: Mapping[Scope, Fraction], name: bytes) -> bool:
        """Charge each scope its own amount, all of them or none, and only once for this name.

        For work that may be repeated: the name is kept with the charges, so that a retry after a
        crash finds it. Unlike a reservation they are spent at once.

        Args:
            amounts: exact epsilon of each scope, rounded up to nano-epsilon; positive.
            name: bytes that no other charge has, such as 16 random ones; stored as an HMAC.

        Returns:
            False if the charge of this name was made before: nothing is charged again.

        Raises:
            SanitizerError, ValueError: as `reserve`.
        """
        nano = {scope: math.ceil(_nano(amount)) for scope, amount in amounts.items()}
        with self._store.write(LedgerError) as rows:
            now = self._now(rows)
            accounts, caps = self._locked(rows, list(nano), now)
            names = [self._store.mac("once", name, number) for number in range(len(nano))]
            if names and self._named(rows, names[0]) is not None:
                return False
            charged = list(zip(accounts, nano.values(), names, strict=True))
            for account, amount, _ in charged:
                _check_room(account, self._cap(account, caps), amount)
            for account, amount, charge in charged:
                self._grant(rows, [account], charge, amount, now, spent=True)
        return True

    def resolve_stale(self, older_than: float = 3600.0) -> int:
        """Count reservations open for `older_than` seconds as spent; return how many there were.

        They are never freed: whoever made them may have drawn.
        """
        if not older_than >= 0:
            raise ValueError(f"older_than must be at least 0, got {older_than!r}")
        with self._store.read(LedgerError) as rows:
            last = self._now(rows) - int(min(older_than, LATEST))
            _, found = self._all(rows, state=OPEN)
        stale = [charge.number for charge in found if charge.created <= last]
        return sum(self.settle(number, None) for number in stale)

    def export(self) -> list[dict[str, object]]:
        """Return every balance and open reservation, for JSON.

        Scopes are hashes in hex, amounts nano-epsilon, times seconds since 1970.
        """
        with self._store.read(LedgerError) as rows:
            accounts, open_ones = self._all(rows, state=OPEN)
        names = ("scope", "kind", "limit", "spent", "reserved", "updated")
        exported: list[dict[str, object]] = [
            dict(zip(names, (each.id.hex(), *each[1:]), strict=True)) for each in accounts
        ]
        for charge in open_ones:
            scopes = [account_id.hex() for account_id in charge.account_ids()]
            about = {"amount": charge.amount, "created": charge.created}
            exported.append({"reservation": charge.number, "scopes": scopes, **about})
        return exported

    def close(self) -> None:
        """Close the store; open reservations stay charged."""
        self._store.close()

    def _all(self, rows: Rows, **which: object) -> tuple[list[Account], list[_Charge]]:
        """Return all accounts, and the charges whose columns have some values, verified."""
        accounts = [self._read(Account, row) for row in rows.select("account", {})]
        charges = [self._read(_Charge, row) for row in rows.select("charge", which)]
        return sorted(accounts, key=lambda each: (each.kind, each.id)), sorted(charges)

    def settle(self, number: int, charged: int | None) -> bool:
        """Settle a charge; return False if it was settled before, and stays as it is.

        One that others use, or whose result was kept, is not given back.

        Args:
            charged: what was spent of it; None: all of it.
        """
        with self._store.write(LedgerError, durable=False) as rows:
            # Accounts are locked first, as `reserve` does, so that the two never wait for each
            # other.
            if (seen := self._numbered(rows, number)) is None:
                return False
            ids = seen.account_ids()
            accounts = self._accounts(rows.find("account", ids, lock=True))
            charge = self._numbered(rows, number, lock=True)
            if charge is None or charge.state != OPEN:
                return False
            if charged == 0 and (charge.holders > 1 or charge.kept):
                self._put(rows, "charge", charge._replace(holders=charge.holders - 1))
                return True
            if not accounts.keys() >= set(ids):
                raise self._damaged("a balance is missing")
            spent = charge.amount if charged is None else charged
            self._add(rows, [accounts[each] for each in ids], spent, -charge.amount)
            if self._store.shared:
                self._put(rows, "charge", charge._replace(state=SPENT, spent=spent))
            else:  # a settled charge leaves only its sum
                rows.drop("charge", [number])
        return True

    def _grant(
        self,
        rows: Rows,
        accounts: Sequence[Account],
        name: bytes,
        amount: int,
        now: int,
        *,
        spent: bool,
    ) -> int:
        """Raise the accounts and keep the charge; return its number."""
        now_accounts = [each._replace(updated=now) for each in accounts]
        self._add(rows, now_accounts, amount * spent, amount * (not spent))
        ids = b"".join(account.id for account in accounts)
        state = SPENT if spent else OPEN
        charge = _Charge(0, name, amount, amount * spent, ids, state, 1, now, rows.about or "")
        number = rows.add("charge", *charge[1:], self._mac(charge))
        if number is None:
            raise LedgerError(f"{self._store.where}: a charge of this name is there already")
        return number

    def _is_joined(self, rows: Rows, old: _Charge) -> bool:
        """Return True if an earlier charge of the name holds for what is drawn now.

        It does not if a result was kept and is gone: then what is drawn now is a second draw, and
        the earlier charge gives its name away.
        """
        if rows.find("message", [old.name]) or (old.state == OPEN and not old.kept):
            return True
        self._put(rows, "charge", old._replace(name=secret_key()))
        return False

    def _locked(
        self, rows: Rows, scopes: Sequence[Scope], now: int
    ) -> tuple[list[Account], dict[bytes, Account]]:
        """Return the accounts of scopes, locked, and all that limits are in."""
        kinds = {self._id(scope, now): scope.kind for scope in scopes}
        fresh = {each: Account(each, kind) for each, kind in kinds.items()}
        every = [self._every(kind) for kind in set(kinds.values())]
        made = {each: (*account, self._mac(account)) for each, account in fresh.items()}
        found = self._accounts(rows.locked("account", made, every))
        return [found.get(each, account) for each, account in fresh.items()], found

    def _add(self, rows: Rows, accounts: Sequence[Account], spent: int, reserved: int) -> None:
        raised = [
            each._replace(spent=each.spent + spent, reserved=each.reserved + reserved)
            for each in accounts
        ]
        self._put(rows, "account", *raised)

    def _set_cap(self, account_id: bytes, kind: str, epsilon: float) -> None:
        cap = math.floor(_nano(epsilon))
        with self._store.write(LedgerError) as rows:
            fresh = Account(account_id, kind, updated=self._now(rows))
            found = rows.locked("account", {account_id: (*fresh, self._mac(fresh))})
            account = self._accounts(found).get(account_id, fresh)
            if account.cap != cap:
                self._put(rows, "account", account._replace(cap=cap, updated=fresh.updated))

    def _cap(self, account: Account, found: Mapping[bytes, Account]) -> int | None:
        every = found.get(self._every(account.kind))
        return account.cap if account.cap is not None or every is None else every.cap

    def _named(self, rows: Rows, name: bytes) -> _Charge | None:
        found = rows.select("charge", {"name": name}, lock=True)
        return self._read(_Charge, found[0]) if found else None

    def _numbered(self, rows: Rows, number: int, *, lock: bool = False) -> _Charge | None:
        row = rows.find("charge", [number], lock=lock).get(number)
        return None if row is None else self._read(_Charge, row)

    def _accounts(self, found: Mapping[bytes, Any]) -> dict[bytes, Account]:
        return {account_id: self._read(Account, row) for account_id, row in found.items()}

    def _put(self, rows: Rows, table: str, *changed: Account | _Charge) -> None:
        rows.put(table, [(*each, self._mac(each)) for each in changed])

    def _read(self, kind: type[AnyRow], row: Any) -> AnyRow:
        *fields, mac = row
        made = kind(*fields)
        if mac != self._mac(made):
            raise self._damaged("a row does not match its HMAC")
        return made

    def _mac(self, row: Account | _Charge) -> bytes:
        if isinstance(row, Account):
            return self._store.mac("account", *row)
        return self._store.mac("charge row", *row[1:-1])  # without what others may set

    def _every(self, kind: str) -> bytes:
        return self._store.mac("every", kind)

    def _id(self, scope: Scope, now: int) -> bytes:
        name = str(now // DAY_SECONDS) if scope == DAY else scope.name
        return self._store.mac("scope", scope.kind, name)

    def _now(self, rows: Rows) -> int:
        return self._store.now(rows, self._clock)

    def _damaged(self, what: str) -> LedgerError:
        return LedgerError(f"{self._store.where}: damaged or edited: {what}")


class Ledger(Budgets):
    """Budgets of many scopes in one file, for many threads and processes.

    Each process opens its own, after a fork again. No history of requests is kept. Damage and edits
    are found at opening and when a row is used.
    Not protected: all files replaced together by older copies; whoever holds the key; network file
    systems, on which WAL does not work. Keep `PATH`, `PATH-wal` and `PATH-mark` together.

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
        self._path = Path(path).absolute()
        super().__init__(SqliteStore(self._path, LEDGER, _keys(self._path, key)), clock)
        try:
            with self._store.read(LedgerError) as rows:
                self._all(rows)
        except BaseException:
            self.close()
            raise

    def __repr__(self) -> str:
        return f"Ledger({str(self._path)!r})"

    @classmethod
    def create(
        cls, path: str | Path, key: bytes, *, clock: Callable[[], float] = time.time
    ) -> Self:
        """Make a new file without limits, and open it.

        Raises:
            LedgerError: `path` or its mark exists, and as at opening.
        """
        made = Path(path).absolute()
        keys = _keys(made, key)
        if made.exists() or mark(made).exists():
            raise LedgerError(f"{made}: a ledger or its mark is there already")
        SqliteStore.create(made, LEDGER, keys)
        return cls(path, key, clock=clock)


class MemoryLedger(Budgets):
    """Budgets of many scopes in this process, gone with it; for a server of one process.

    Args:
        clock: seconds since 1970 (UTC). Set back, it opens no other day.

    >>> ledger = MemoryLedger()
    >>> ledger.set_limit(Scope("user", "ada"), 10.0)
    >>> ledger.reserve([Scope("user", "ada")], 2.5).commit()
    >>> ledger.balance(Scope("user", "ada")).left
    7.5
    """

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        super().__init__(MemoryStore(), clock)


class PostgresLedger(Budgets):
    """Budgets of many scopes in a store on PostgreSQL, over all processes.

    What is drawn is charged once, however often it is tried:

    - for a thing, the charge is part of the transaction that keeps its stand-in;
    - for a message, the charge has its HMAC as a name. Whoever tries again joins the open charge,
      and the first result that is kept under its key is what all of them release. Once the message
      was dropped, it is charged anew.

    Not protected: from whoever may write to the database, who can put older rows back.

    Args:
        clock: seconds since 1970 (UTC); default the database's, which all replicas share. Set back,
            it opens no other day.

    Raises:
        LedgerError: from every method: the database fails, or a row does not match its HMAC.
    """

    def __init__(self, store: PostgresStore, *, clock: Callable[[], float] | None = None) -> None:
        super().__init__(store, clock)
        self._database = store

    def check(self) -> None:
        """Verify every row, and that accounts hold the sums of their charges; raise LedgerError."""
        with self._database.write(LedgerError, seconds=PATIENCE) as rows:
            rows.rows("LOCK TABLE account IN SHARE MODE")  # no grant may come between the two reads
            accounts, charges = self._all(rows)
        sums = {account.id: [0, 0] for account in accounts}
        for charge in charges:
            is_open = charge.state == OPEN
            for account_id in charge.account_ids():
                if account_id not in sums:
                    raise self._damaged("a balance is missing")
                sums[account_id][is_open] += charge.amount if is_open else charge.spent
        if any(sums[each.id] != [each.spent, each.reserved] for each in accounts):
            raise self._damaged("a balance is not the sum of its charges")

    def close(self) -> None:
        """Do nothing: the store is closed by whoever opened it."""


def _keys(path: Path, key: bytes) -> Callable[[bytes], Keys]:
    """Return what makes the keys of a ledger from the salt of its file."""
    if len(key) < MIN_KEY_BYTES:
        raise ValueError(f"key must have at least {MIN_KEY_BYTES} bytes, got {len(key)}")

    halves = [hmac_of(bytes(key), half) for half in ("seals", "macs")]
    # Not salted: a scope has the same id in all ledgers of a key.
    return lambda salt: Keys(path, b"".join(halves), LedgerError)


@lru_cache(maxsize=1024)  # each message is charged a handful of prices, again and again
def as_printed(epsilon: float) -> Fraction:
    """Return the decimal number that a float prints as: ten charges of 0.1 fit into 1.0.

    >>> as_printed(0.1)
    Fraction(1, 10)
    """
    return Fraction(repr(float(epsilon)))


def _check_room(account: Account, cap: int | None, amount: int) -> None:
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


def _nano(epsilon: float | Fraction) -> Fraction:
    """Return exact nano-epsilon. Raises ValueError: not positive, or above 1e9."""
    if not 0 < epsilon <= MAX_CHARGE:
        raise ValueError(f"epsilon must be positive and at most {MAX_CHARGE:g}, got {epsilon!r}")
    return (epsilon if isinstance(epsilon, Fraction) else as_printed(epsilon)) * NANO


def _show(amount: int) -> str:
    return f"{amount // NANO}.{amount % NANO:09d}".rstrip("0").rstrip(".")
