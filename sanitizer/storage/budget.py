"""What a Sanitizer charges: a limit of its own, or scopes of a ledger."""

from __future__ import annotations

import math
import threading
from collections import defaultdict
from fractions import Fraction
from typing import Self

from sanitizer.errors import BudgetExceeded, NotCertified
from sanitizer.storage.ledger import Budgets, Reservation, Scope, as_printed


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


class _LocalCharge:
    def __init__(self, budget: LocalBudget, epsilon: Fraction) -> None:
        self._budget = budget
        self._epsilon = epsilon

    def commit(self) -> None:
        """Do nothing: `reserve` has already counted the amount."""

    def release(self) -> None:
        with self._budget._lock:
            self._budget._spent -= self._epsilon


class LedgerBudget:
    """One or more scopes of a ledger, charged together; `spent` is that of the first."""

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


Budget = LocalBudget | LedgerBudget
"""Epsilon that may be spent: an amount is checked first, then set aside."""
Charge = _LocalCharge | Reservation
"""Epsilon set aside; it counts as spent until it is released."""


class Charges:
    """The charges of one group of texts, by the number of the text. One thread uses it.

    They are reserved before anything is drawn, and settled once for each text. If the block fails,
    those still open are given back if nothing was drawn yet, and committed afterwards: once
    something was drawn, whether and where a failure occurs may depend on private words.
    """

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._open: defaultdict[int, list[Charge]] = defaultdict(list)
        self._drawn = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        for text in list(self._open) if error is not None else ():
            self.settle(text, self._drawn)

    def reserve(self, text: int, epsilon: float, certified: bool, key: bytes | None = None) -> None:
        """Reserve the price of a text, or of one more draw for it.

        Args:
            key: of the message that will be kept; a shared ledger charges it once.

        Raises:
            BudgetExceeded: the budget has less left.
            NotCertified: a limit was set for a mechanism whose epsilon is not proved.
        """
        if self._budget.limited and not certified:
            raise NotCertified("a budget needs a certified mechanism")
        if epsilon:
            self._open[text].append(self._budget.reserve(epsilon, key))

    def start_drawing(self) -> None:
        """Commit, instead of giving back, whatever is still open when something fails from here."""
        self._drawn = True

    def settle(self, text: int, released: bool) -> None:
        """Commit the charge of a text whose draw was released, or give it back."""
        charges = self._open[text]
        while charges:
            charges[-1].commit() if released else charges[-1].release()
            charges.pop()  # only now: a failed commit is tried again on the way out
