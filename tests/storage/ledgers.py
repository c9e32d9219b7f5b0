"""Names and a clock for the tests of the ledger."""

from __future__ import annotations

from sanitizer.storage.ledger import DAY_SECONDS, Budgets, Scope

KEY = bytes(range(32))
TALK, OTHER, ADA, TEAM = (
    Scope("conversation", "c-17"),
    Scope("conversation", "c-18"),
    Scope("user", "ada@example.org"),
    Scope("team", "legal"),
)
NOON = 20_000 * DAY_SECONDS + 43_200


class Clock:
    """Stands still until it is set."""

    def __init__(self, now: float = NOON) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def charged(ledger: Budgets, scope: Scope) -> float:
    balance = ledger.balance(scope)
    return balance.spent + balance.reserved
