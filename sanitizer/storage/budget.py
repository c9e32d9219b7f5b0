"""What a Sanitizer charges: a limit of its own, or scopes of a ledger; and a ledger in memory."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction

from sanitizer.errors import BudgetExceeded, LedgerError
from sanitizer.randomness import secret_key
from sanitizer.storage.ledger import (
    DAY,
    DAY_SECONDS,
    Balance,
    Budget,
    Budgets,
    Charge,
    Reservation,
    Scope,
    as_printed,
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
from sanitizer.storage.sqlite_file import hmac_of


class LocalBudget:
    """Limit in this process, gone with it.

    Args:
        limit: finite and positive, or None.

    Raises:
        ValueError: otherwise.
        TypeError: no number, such as "10".

    >>> budget = LocalBudget(1.0)
    >>> charges = [budget.reserve(0.1) for _ in range(9)]
    >>> budget.spent, budget.left
    (0.9, 0.1)
    >>> charges[0].release()
    >>> budget.left
    0.2
    """

    def __init__(self, limit: float | None) -> None:
        if isinstance(limit, bool) or not isinstance(limit, int | float | None):
            raise TypeError(
                f"budget must be a number (of epsilon) or None, got {type(limit).__name__}"
            )
        if limit is not None and not (math.isfinite(limit) and limit > 0):
            raise ValueError(f"budget must be finite and positive, got {limit!r}")
        self._limit = None if limit is None else as_printed(limit)
        self._spent = Fraction(0)
        self._lock = threading.Lock()

    @property
    def limited(self) -> bool:
        return self._limit is not None

    @property
    def spent(self) -> float:
        return float(self._spent)

    @property
    def left(self) -> float | None:
        return None if self._limit is None else float(self._limit - self._spent)

    def reserve(self, epsilon: float, key: bytes | None = None) -> Charge:
        amount = as_printed(epsilon)
        with self._lock:
            if self._limit is not None and self._spent + amount > self._limit:
                left, limit = float(self._limit - self._spent), float(self._limit)
                raise BudgetExceeded(
                    f"this needs epsilon {epsilon:g}, the budget has {left:g} of {limit:g} left",
                    epsilon,
                    left,
                    limit,
                )
            self._spent += amount
        return _LocalCharge(self, amount)

    def _give_back(self, epsilon: Fraction) -> None:
        with self._lock:
            self._spent -= epsilon


class _LocalCharge:
    """Epsilon set aside in a `LocalBudget`."""

    def __init__(self, budget: LocalBudget, epsilon: Fraction) -> None:
        self._budget = budget
        self._epsilon = epsilon

    def commit(self) -> None:
        """Do nothing: `reserve` has already counted the amount."""

    def release(self) -> None:
        self._budget._give_back(self._epsilon)


class LedgerBudget:
    """Scopes of a ledger that are charged together.

    Args:
        ledger: an open ledger.
        scopes: at least one; `spent` is that of the first.
    """

    limited = True

    def __init__(self, ledger: Budgets, scopes: tuple[Scope, ...]) -> None:
        if not scopes:
            raise ValueError("a ledger needs a conversation or scopes to charge, got none")
        self._ledger = ledger
        self._scopes = scopes

    @property
    def spent(self) -> float:
        balance = self._ledger.balance(self._scopes[0])
        return balance.spent + balance.reserved

    @property
    def left(self) -> float | None:
        left = min(self._ledger.balance(scope).left for scope in self._scopes)
        return left if math.isfinite(left) else None

    def reserve(self, epsilon: float, key: bytes | None = None) -> Charge:
        return self._ledger.reserve(self._scopes, epsilon, key)


def budget_for(
    limit: float | None, ledger: Budgets | None, conversation: str, scopes: tuple[Scope, ...]
) -> Budget:
    """Return the budget of a Sanitizer.

    Args:
        limit: in epsilon; with a ledger, the limit of the conversation.
        ledger: where epsilon is charged; None: in this process only.
        conversation: name of the conversation, charged in the ledger too; "" for none.
        scopes: of the ledger, charged besides the conversation.

    Raises:
        ValueError: scopes without a ledger, a ledger without anything to charge, or a limit that
            belongs to no conversation of the ledger.
        TypeError: the limit is no number.
    """
    local = LocalBudget(limit)  # checks the limit
    if ledger is None:
        if scopes:
            raise ValueError("scopes need a ledger, got None")
        return local
    if conversation:
        own = Scope("conversation", conversation)
        if limit is not None:
            ledger.set_limit(own, limit)
        scopes = (own, *scopes)
    elif limit is not None:
        raise ValueError("budget with a ledger needs a conversation, got ''")
    return LedgerBudget(ledger, scopes)


class MemoryLedger:
    """Budgets of many scopes in this process, gone with it; implements `Budgets`.

    For a server of one process: `Ledger` and `PostgresLedger` outlive it.

    Args:
        clock: seconds since 1970 (UTC). Set back, it opens no other day.

    >>> ledger = MemoryLedger()
    >>> ledger.set_limit(Scope("user", "ada"), 10.0)
    >>> ledger.reserve([Scope("user", "ada")], 2.5).commit()
    >>> ledger.balance(Scope("user", "ada")).left
    7.5
    """

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._seen = 0
        self._granted = 0
        self._accounts: dict[bytes, Account] = {}
        self._entries: dict[int, Entry] = {}
        self._key = secret_key()
        self._lock = threading.Lock()

    def set_limit(self, scope: Scope, epsilon: float) -> None:
        if scope == DAY:
            return self.set_default_limit("day", epsilon)
        return self._set_cap(self._mac("scope", scope.kind, scope.name), scope.kind, epsilon)

    def set_default_limit(self, kind: str, epsilon: float) -> None:
        check_kind(kind)
        self._set_cap(self._mac("every", kind), f"every {kind}", epsilon)

    def balance(self, scope: Scope) -> Balance:
        with self._lock:
            account = self._account(self._id(scope), scope.kind)
            return balance_of(account, self._cap(account))

    def reserve(
        self, scopes: Iterable[Scope], epsilon: float, key: bytes | None = None
    ) -> Reservation:
        amount, distinct = asked_for(scopes, epsilon)
        with self._lock:
            accounts = [self._account(self._id(scope), scope.kind) for scope in distinct]
            for account in accounts:
                check_room(account, self._cap(account), amount)
            for account in accounts:
                self._put(account._replace(reserved=account.reserved + amount))
            self._granted += 1
            charged = b"".join(account.id for account in accounts)
            self._entries[self._granted] = Entry(self._granted, amount, charged, self._seen)
            return Reservation(self, self._granted, amount)

    def charge_once(self, amounts: Mapping[Scope, Fraction], name: bytes) -> bool:
        nano = {scope: nano_up(amount) for scope, amount in amounts.items()}
        with self._lock:
            marker = self._account(self._mac("charge", name), "charge")
            if marker.id in self._accounts:
                return False
            charged = [(self._account(self._id(scope), scope.kind), nano[scope]) for scope in nano]
            for account, amount in charged:
                check_room(account, self._cap(account), amount)
            for account, amount in charged:
                self._put(account._replace(spent=account.spent + amount))
            self._put(marker._replace(spent=sum(nano.values())))
        return True

    def resolve_stale(self, older_than: float = 3600.0) -> int:
        check_age(older_than)
        with self._lock:
            self._now()
            stale = [e for e in self._entries.values() if self._seen - e.created >= older_than]
            for entry in stale:
                self._charge(entry, entry.amount)
        return len(stale)

    def export(self) -> list[dict[str, object]]:
        with self._lock:
            accounts = sorted(self._accounts.values(), key=lambda each: (each.kind, each.id))
            return exported(accounts, self._entries.values())

    def close(self) -> None:
        """Do nothing: there is nothing open."""

    def _settle(self, number: int, charged: int) -> bool:
        with self._lock:
            entry = self._entries.get(number)
            if entry is not None:
                self._charge(entry, charged)
        return entry is not None

    def _charge(self, entry: Entry, charged: int) -> None:
        del self._entries[entry.id]
        for account_id in entry.scope_ids():
            old = self._accounts[account_id]
            self._put(old._replace(spent=old.spent + charged, reserved=old.reserved - entry.amount))

    def _set_cap(self, account_id: bytes, kind: str, epsilon: float) -> None:
        cap = nano_down(epsilon)
        with self._lock:
            self._put(self._account(account_id, kind)._replace(cap=cap))

    def _cap(self, account: Account) -> int | None:
        if account.cap is not None:
            return account.cap
        return self._account(self._mac("every", account.kind), "").cap

    def _account(self, account_id: bytes, kind: str) -> Account:
        return self._accounts.get(account_id) or Account(account_id, kind)

    def _put(self, account: Account) -> None:
        self._accounts[account.id] = account._replace(updated=self._now())

    def _id(self, scope: Scope) -> bytes:
        name = str(self._now() // DAY_SECONDS) if scope == DAY else scope.name
        return self._mac("scope", scope.kind, name)

    def _mac(self, *fields: object) -> bytes:
        return hmac_of(self._key, *fields)

    def _now(self) -> int:
        reading = self._clock()
        if not 0 <= reading < LATEST:
            raise LedgerError(f"the clock gives no usable time: {reading!r}")
        self._seen = max(self._seen, int(reading))
        return self._seen
