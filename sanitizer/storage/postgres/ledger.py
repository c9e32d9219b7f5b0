"""Ledger on PostgreSQL: budgets that all replicas charge, each thing once.

Guarantee: no scope is granted more than its limit, and no grant is forgotten, over all processes.
The accounts of a charge are locked in the order of their ids, checked and raised in one
transaction, which is on the server's disk before `reserve` returns. What is never settled stays
charged. What is drawn is charged once, however often it is tried:

- for a thing, the charge is part of the transaction that keeps its stand-in;
- for a message, the charge has its HMAC as a name. Whoever tries again joins the open charge, and
  the first result that is kept under its key is what all of them release. Once the message was
  dropped, it is charged anew.

Stored: HMACs of names, amounts in whole nano-epsilon, times in seconds, digests of policy and
model. Every row carries an HMAC of its content.
Not protected: from whoever may write to the database, who can put older rows back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from fractions import Fraction
from typing import Any

from sanitizer.errors import LedgerError
from sanitizer.randomness import secret_key
from sanitizer.storage.ledger import (
    DAY,
    DAY_SECONDS,
    Balance,
    Reservation,
    Scope,
    asked_for,
    balance_of,
    check_age,
    check_kind,
    check_room,
    exported,
    nano_down,
    nano_up,
)
from sanitizer.storage.ledger_rows import LATEST, Account, Entry
from sanitizer.storage.postgres.store import PATIENCE, VERSION, PostgresStore, Transaction

OPEN, SPENT = "open", "spent"


@dataclass(frozen=True)
class _Charge:
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

    @property
    def entry(self) -> Entry:
        """The charge as the ledger in a file has it."""
        return Entry(self.number, self.amount, self.accounts, self.created)


_COLUMNS = "number, name, amount, spent, accounts, state, holders, created, about, kept, mac"
_CHANGE = """
UPDATE sanitizer.account AS old SET kind = new.kind, cap = new.cap, spent = new.spent,
    reserved = new.reserved, updated = new.updated, mac = new.mac
FROM unnest($1::bytea[], $2::bigint[], $3::bigint[], $4::text[], $5::bigint[], $6::bigint[],
    $7::bigint[], $8::bigint[], $9::bytea[])
    AS new(id, was_spent, was_reserved, kind, cap, spent, reserved, updated, mac)
WHERE old.id = new.id AND old.spent = new.was_spent AND old.reserved = new.was_reserved
RETURNING old.id
"""


class PostgresLedger:
    """Budgets of many scopes in a store on PostgreSQL; implements `Budgets`.

    Args:
        store: an open store.
        clock: seconds since 1970 (UTC); default the database's, which all replicas share. Set back,
            it opens no other day.

    Raises:
        LedgerError: from every method: the database fails, or a row does not match its HMAC.
    """

    def __init__(self, store: PostgresStore, *, clock: Callable[[], float] | None = None) -> None:
        self._store = store
        self._clock = clock

    def set_limit(self, scope: Scope, epsilon: float) -> None:
        """Set the most that `scope` may spend; for `DAY`: on every day."""
        if scope == DAY:
            return self.set_default_limit("day", epsilon)
        return self._set_cap(self._store.mac("scope", scope.kind, scope.name), scope.kind, epsilon)

    def set_default_limit(self, kind: str, epsilon: float) -> None:
        """Set the limit of every scope of `kind` that has none of its own."""
        check_kind(kind)
        self._set_cap(self._every(kind), f"every {kind}", epsilon)

    def balance(self, scope: Scope) -> Balance:
        """Return what `scope` (for `DAY`: today) has spent, reserved and left."""
        with self._store.database.transaction(LedgerError) as transaction:
            account_id = self._id(scope, self._now(transaction))
            found = self._found(transaction, [account_id, self._every(scope.kind)])
        account = found.get(account_id) or Account(account_id, scope.kind)
        return balance_of(account, self._cap(account, found))

    def reserve(
        self, scopes: Iterable[Scope], epsilon: float, key: bytes | None = None
    ) -> Reservation:
        """Charge `epsilon`, rounded up to nano-epsilon, to every scope or to none; see `Budgets`.

        Inside a transaction of the vault of the same store it is spent at once: the charge is there
        if and only if the stand-in is.
        """
        amount, distinct = asked_for(scopes, epsilon)
        with self._store.database.transaction(LedgerError) as transaction:
            now = self._now(transaction)
            accounts, caps = self._locked(transaction, distinct, now)
            spent = transaction.spends
            name = self._name(None if spent else key)
            old = self._charge_of(transaction, name)
            if old is not None and self._is_joined(transaction, old):
                if old.state == OPEN:
                    self._put_charge(transaction, replace(old, holders=old.holders + 1))
                return _SharedReservation(self, old.number, old.amount)
            for account in accounts:
                check_room(account, self._cap(account, caps), amount)
            number = self._grant(transaction, accounts, name, amount, now, spent)
        if key is None and not spent:
            return Reservation(self, number, amount)
        return _SharedReservation(self, number, amount, settled=spent)

    def charge_once(self, amounts: Mapping[Scope, Fraction], name: bytes) -> bool:
        """Charge each scope its own amount, all of them or none, and only once for this name.

        See `Ledger.charge_once`. Each amount is a charge of its own here.
        """
        nano = {scope: nano_up(amount) for scope, amount in amounts.items()}
        with self._store.database.transaction(LedgerError) as transaction:
            now = self._now(transaction)
            accounts, caps = self._locked(transaction, list(nano), now)
            names = [self._store.mac("once", name, number) for number in range(len(nano))]
            if names and self._charge_of(transaction, names[0]) is not None:
                return False
            charged = list(zip(accounts, nano.values(), names, strict=True))
            for account, amount, _ in charged:
                check_room(account, self._cap(account, caps), amount)
            for account, amount, charge in charged:
                self._grant(transaction, [account], charge, amount, now, spent=True)
        return True

    def resolve_stale(self, older_than: float = 3600.0) -> int:
        """Count charges open for `older_than` seconds as spent; return how many there were."""
        check_age(older_than)
        with self._store.database.transaction(LedgerError) as transaction:
            now = self._now(transaction)
            found = transaction.rows(
                "SELECT number FROM sanitizer.charge WHERE state = 'open' AND created <= $1 "
                "ORDER BY number",
                now - int(min(older_than, LATEST)),
            )
        return sum(self._resolve(row["number"]) for row in found)

    def export(self) -> list[dict[str, object]]:
        """Return every balance and open reservation, for JSON."""
        with self._store.database.transaction(LedgerError) as transaction:
            accounts = transaction.rows("SELECT * FROM sanitizer.account ORDER BY kind, id")
            charges = transaction.rows(
                f"SELECT {_COLUMNS} FROM sanitizer.charge "  # noqa: S608
                "WHERE state = 'open' ORDER BY number"
            )
        return exported(
            [self._account(row) for row in accounts], [self._charge(row).entry for row in charges]
        )

    def check(self) -> None:
        """Verify every row, and that each account holds the sum of its charges.

        Raises:
            LedgerError: a row was changed, or the sums differ.
        """
        with self._store.database.transaction(LedgerError, PATIENCE) as transaction:
            # No grant may come between the two reads.
            transaction.rows("LOCK TABLE sanitizer.account IN SHARE MODE")
            accounts = [
                self._account(r) for r in transaction.rows("SELECT * FROM sanitizer.account")
            ]
            charges = [
                self._charge(row)
                for row in transaction.rows(f"SELECT {_COLUMNS} FROM sanitizer.charge")  # noqa: S608
            ]
        sums = {account.id: [0, 0] for account in accounts}
        for charge in charges:
            for account_id in charge.entry.scope_ids():
                if account_id not in sums:
                    raise self._damaged("a balance is missing")
                sums[account_id][charge.state == OPEN] += (
                    charge.amount if charge.state == OPEN else charge.spent
                )
        if any(sums[each.id] != [each.spent, each.reserved] for each in accounts):
            raise self._damaged("a balance is not the sum of its charges")

    def close(self) -> None:
        """Do nothing: the store is closed by whoever opened it."""

    def _settle(self, number: int, charged: int) -> bool:
        """Settle a charge; return False if it was settled before, and stays as it is.

        One that others use, or whose result was kept, is not given back.
        """
        with self._store.database.transaction(LedgerError) as transaction:
            charge, accounts = self._open_charge(transaction, number)
            if charge is None:
                return False
            if charged == 0 and (charge.holders > 1 or charge.kept):
                self._put_charge(transaction, replace(charge, holders=charge.holders - 1))
            else:
                self._spend(transaction, charge, accounts, charged)
        return True

    def _resolve(self, number: int) -> bool:
        with self._store.database.transaction(LedgerError) as transaction:
            charge, accounts = self._open_charge(transaction, number)
            if charge is not None:
                self._spend(transaction, charge, accounts, charge.amount)
        return charge is not None

    def _open_charge(
        self, transaction: Transaction, number: int
    ) -> tuple[_Charge | None, dict[bytes, Account]]:
        """Return a charge with its accounts, all locked; None if it is not open.

        Accounts are locked first, as `reserve` does, so that the two never wait for each other.
        """
        seen = self._numbered(transaction, number)
        if seen is None:
            return None, {}
        accounts = self._found(transaction, seen.entry.scope_ids(), lock=True)
        charge = self._numbered(transaction, number, lock=True)
        return (charge if charge is not None and charge.state == OPEN else None), accounts

    def _spend(
        self,
        transaction: Transaction,
        charge: _Charge,
        accounts: dict[bytes, Account],
        charged: int,
    ) -> None:
        """Move a charge from reserved to spent, and free what is left of it."""
        changed = []
        for account_id in charge.entry.scope_ids():
            old = accounts.get(account_id)
            if old is None:
                raise self._damaged("a balance is missing")
            new = old._replace(spent=old.spent + charged, reserved=old.reserved - charge.amount)
            changed.append((old, new))
        self._change(transaction, changed)
        self._put_charge(transaction, replace(charge, state=SPENT, spent=charged))

    def _grant(
        self,
        transaction: Transaction,
        accounts: Sequence[Account],
        name: bytes,
        amount: int,
        now: int,
        spent: bool,
    ) -> int:
        """Raise the accounts and keep the charge; return its number."""
        changed = [
            (old, old._replace(spent=old.spent + amount, updated=now))
            if spent
            else (old, old._replace(reserved=old.reserved + amount, updated=now))
            for old in accounts
        ]
        self._change(transaction, changed)
        ids = b"".join(account.id for account in accounts)
        state = SPENT if spent else OPEN
        charge = _Charge(0, name, amount, amount * spent, ids, state, 1, now, transaction.about)
        row = transaction.row(
            "INSERT INTO sanitizer.charge (name, amount, spent, accounts, state, holders, created, "
            "about, mac) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) RETURNING number",
            *(*astuple(charge)[1:-1], self._charge_mac(charge)),
        )
        return int(row["number"])

    def _is_joined(self, transaction: Transaction, old: _Charge) -> bool:
        """Return True if an earlier charge of the name holds for what is drawn now.

        It does not if a result was kept and is gone: then what is drawn now is a second draw, and
        the earlier charge gives its name away.
        """
        if transaction.row("SELECT 1 FROM sanitizer.message WHERE id = $1", old.name):
            return True
        if old.state == OPEN and not old.kept:
            return True
        self._put_charge(transaction, replace(old, name=secret_key()))
        return False

    def _locked(
        self, transaction: Transaction, scopes: Sequence[Scope], now: int
    ) -> tuple[list[Account], dict[bytes, Account]]:
        """Return the accounts of scopes, locked in the order of their ids, and those of limits.

        What is missing is made before anything is locked, in the same order: two transactions
        never wait for each other.
        """
        kinds = {self._id(scope, now): scope.kind for scope in scopes}
        every = [self._every(kind) for kind in set(kinds.values())]
        there = self._found(transaction, [*kinds, *every])
        missing = sorted(set(kinds) - set(there))
        fresh = [Account(account_id, kinds[account_id]) for account_id in missing]
        transaction.many(
            "INSERT INTO sanitizer.account VALUES ($1, $2, $3, $4, $5, $6, $7) "
            "ON CONFLICT DO NOTHING",
            [(*account, self._account_mac(account)) for account in fresh],
        )
        found = self._found(transaction, list(kinds), lock=True)
        return [found[account_id] for account_id in kinds], there

    def _found(
        self, transaction: Transaction, ids: Sequence[bytes], lock: bool = False
    ) -> dict[bytes, Account]:
        select = "SELECT * FROM sanitizer.account WHERE id = ANY($1::bytea[]) ORDER BY id"
        rows = transaction.rows(f"{select} FOR UPDATE" if lock else select, list(ids))
        return {row["id"]: self._account(row) for row in rows}

    def _change(self, transaction: Transaction, changed: Sequence[tuple[Account, Account]]) -> None:
        """Write accounts; the sums that were read are part of the condition."""
        rows = [
            (old.id, old.spent, old.reserved, *new[1:], self._account_mac(new))
            for old, new in changed
        ]
        done = transaction.rows(_CHANGE, *(list(column) for column in zip(*rows, strict=True)))
        if len(done) != len(changed):
            raise self._damaged("a balance changed under its lock")

    def _set_cap(self, account_id: bytes, kind: str, epsilon: float) -> None:
        cap = nano_down(epsilon)
        with self._store.database.transaction(LedgerError) as transaction:
            found = self._found(transaction, [account_id]).get(account_id)
            if found is not None and found.cap == cap:
                return
            now = self._now(transaction)
            fresh = Account(account_id, kind, updated=now)
            transaction.rows(
                "INSERT INTO sanitizer.account VALUES ($1, $2, $3, $4, $5, $6, $7) "
                "ON CONFLICT DO NOTHING",
                *(*fresh, self._account_mac(fresh)),
            )
            old = self._found(transaction, [account_id], lock=True)[account_id]
            self._change(transaction, [(old, old._replace(cap=cap, updated=now))])

    def _cap(self, account: Account, caps: dict[bytes, Account]) -> int | None:
        if account.cap is not None:
            return account.cap
        every = caps.get(self._every(account.kind))
        return None if every is None else every.cap

    def _charge_of(self, transaction: Transaction, name: bytes) -> _Charge | None:
        row = transaction.row(
            f"SELECT {_COLUMNS} FROM sanitizer.charge WHERE name = $1 FOR UPDATE",  # noqa: S608
            name,
        )
        return None if row is None else self._charge(row)

    def _numbered(
        self, transaction: Transaction, number: int, lock: bool = False
    ) -> _Charge | None:
        select = f"SELECT {_COLUMNS} FROM sanitizer.charge WHERE number = $1"  # noqa: S608
        row = transaction.row(f"{select} FOR UPDATE" if lock else select, number)
        return None if row is None else self._charge(row)

    def _put_charge(self, transaction: Transaction, charge: _Charge) -> None:
        transaction.rows(
            "UPDATE sanitizer.charge SET name = $2, spent = $3, state = $4, holders = $5, mac = $6 "
            "WHERE number = $1",
            *(charge.number, charge.name, charge.spent, charge.state, charge.holders),
            self._charge_mac(charge),
        )

    def _account(self, row: Any) -> Account:
        *fields, mac = row
        account = Account(*fields)
        if mac != self._account_mac(account):
            raise self._damaged("a row does not match its HMAC")
        return account

    def _charge(self, row: Any) -> _Charge:
        *fields, mac = row
        charge = _Charge(*fields)
        if mac != self._charge_mac(charge):
            raise self._damaged("a row does not match its HMAC")
        return charge

    def _account_mac(self, account: Account) -> bytes:
        return self._store.mac("account", *account)

    def _charge_mac(self, charge: _Charge) -> bytes:
        return self._store.mac("charge row", *astuple(charge)[1:-1])

    def _name(self, key: bytes | None) -> bytes:
        return secret_key() if key is None else self._store.mac("message", key)

    def _every(self, kind: str) -> bytes:
        return self._store.mac("every", kind)

    def _id(self, scope: Scope, now: int) -> bytes:
        name = str(now // DAY_SECONDS) if scope == DAY else scope.name
        return self._store.mac("scope", scope.kind, name)

    def _now(self, transaction: Transaction) -> int:
        """Return the time in seconds, never before the latest day that was seen."""
        (row,) = transaction.rows(
            "SELECT day, mac, extract(epoch FROM clock_timestamp())::float8 AS now "
            "FROM sanitizer.meta"
        )
        if row["mac"] != self._store.mac("meta", VERSION, row["day"]):
            raise self._damaged("the latest day does not match its HMAC")
        reading: float = row["now"] if self._clock is None else self._clock()
        if not 0 <= reading < LATEST:
            raise LedgerError(f"the clock gives no usable time: {reading!r}")
        today, latest = int(reading) // DAY_SECONDS, int(row["day"])
        if today > latest:
            transaction.rows(
                "UPDATE sanitizer.meta SET day = $1, mac = $2 WHERE day < $1",
                *(today, self._store.mac("meta", VERSION, today)),
            )
        return max(int(reading), latest * DAY_SECONDS)

    def _damaged(self, what: str) -> LedgerError:
        return LedgerError(f"{self._store.where}: damaged or edited: {what}")


class _SharedReservation(Reservation):
    """A charge that has a name, so that others may use it too: it may be settled already."""

    def __init__(
        self, ledger: PostgresLedger, number: int, amount: int, settled: bool = False
    ) -> None:
        super().__init__(ledger, number, amount)
        self._settled = settled

    def _settle(self, charged: int) -> bool:
        with self._lock:
            if not self._settled:
                self._ledger._settle(self.id, charged)
                self._settled = True
        return True
