"""Where epsilon is charged: a limit of this process, or a ledger that outlives it."""

from __future__ import annotations

import threading
from fractions import Fraction
from math import isfinite
from typing import Protocol

from sanitizer.errors import BudgetExceeded
from sanitizer.storage.ledger import Ledger, Scope


def as_printed(epsilon: float) -> Fraction:
    """The decimal number a float prints as: ten charges of 0.1 fit into 1.0."""
    return Fraction(str(epsilon))


class Charge(Protocol):
    """Epsilon set aside: it counts as spent until it is released."""

    def commit(self) -> None:
        """It was spent."""

    def release(self) -> None:
        """Nothing was released for it."""


class Budget(Protocol):
    """Checks first, then sets aside."""

    @property
    def limited(self) -> bool:
        """Whether a limit could be exceeded."""

    @property
    def spent(self) -> float:
        """Epsilon charged so far."""

    @property
    def left(self) -> float | None:
        """Epsilon that may still be spent; None without a limit."""

    def reserve(self, epsilon: float) -> Charge:
        """Set epsilon aside. Raises BudgetExceeded."""


class LocalBudget:
    """A limit in this process.

    Args:
        limit: finite and positive, or None.

    Raises:
        ValueError: otherwise.
    """

    def __init__(self, limit: float | None) -> None:
        if limit is not None and not (isfinite(limit) and limit > 0):
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

    def reserve(self, epsilon: float) -> Charge:
        amount = as_printed(epsilon)
        with self._lock:
            if self._limit is not None and self._spent + amount > self._limit:
                left, limit = float(self._limit - self._spent), float(self._limit)
                raise BudgetExceeded(
                    f"this needs epsilon {epsilon:g}, the budget has {left:g} of {limit:g} left"
                )
            self._spent += amount
        return _LocalCharge(self, amount)

    def _give_back(self, epsilon: Fraction) -> None:
        with self._lock:
            self._spent -= epsilon


class _LocalCharge:
    def __init__(self, budget: LocalBudget, epsilon: Fraction) -> None:
        self._budget, self._epsilon = budget, epsilon

    def commit(self) -> None:
        """Counted already."""

    def release(self) -> None:
        self._budget._give_back(self._epsilon)


class LedgerBudget:
    """Scopes of a ledger, charged together.

    Args:
        scopes: at least one; `spent` is that of the first.
    """

    limited = True

    def __init__(self, ledger: Ledger, scopes: tuple[Scope, ...]) -> None:
        if not scopes:
            raise ValueError("a ledger needs a conversation or scopes to charge, got none")
        self._ledger, self._scopes = ledger, scopes

    @property
    def spent(self) -> float:
        balance = self._ledger.balance(self._scopes[0])
        return balance.spent + balance.reserved

    @property
    def left(self) -> float | None:
        left = min(self._ledger.balance(scope).left for scope in self._scopes)
        return left if isfinite(left) else None

    def reserve(self, epsilon: float) -> Charge:
        return self._ledger.reserve(self._scopes, epsilon)


def budget_for(
    limit: float | None, ledger: Ledger | None, conversation: str, scopes: tuple[Scope, ...]
) -> Budget:
    """The budget of a Sanitizer. With a ledger, `limit` becomes the limit of the conversation."""
    if ledger is None:
        if scopes:
            raise ValueError("scopes need a ledger, got None")
        return LocalBudget(limit)
    if conversation:
        own = Scope("conversation", conversation)
        if limit is not None:
            ledger.set_limit(own, limit)
        scopes = (own, *scopes)
    elif limit is not None:
        raise ValueError("budget with a ledger needs a conversation, got ''")
    return LedgerBudget(ledger, scopes)
