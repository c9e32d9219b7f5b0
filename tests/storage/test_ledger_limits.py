"""No scope is granted more than its limit, and no amount is lost by rounding."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal

import pytest

from sanitizer.errors import BudgetExceeded
from sanitizer.storage.ledger import DAY, NANO, Ledger, Scope
from tests.storage.ledgers import ADA, OTHER, TALK, charged


def test_if_one_scope_is_full_no_scope_is_charged(ledger: Ledger) -> None:
    ledger.set_limit(TALK, 10.0)
    ledger.set_limit(ADA, 1.0)
    before = ledger.export()
    for scopes in ([TALK, ADA, DAY], [ADA, TALK, DAY], [TALK, DAY, ADA]):
        with pytest.raises(BudgetExceeded):
            ledger.reserve(scopes, 1.5)
    assert ledger.export() == before


def test_a_refusal_tells_amounts_and_no_names(ledger: Ledger) -> None:
    ledger.set_limit(ADA, 1.0)
    ledger.reserve([ADA], 0.25)
    with pytest.raises(BudgetExceeded) as refused:
        ledger.reserve([ADA], 0.75000001)
    assert str(refused.value) == "this needs epsilon 0.75000001, the user budget has 0.75 of 1 left"


def test_what_is_left_can_be_spent_to_the_last_nano(ledger: Ledger) -> None:
    ledger.set_limit(TALK, 1.0)
    for _ in range(10):
        ledger.reserve([TALK], 0.1).commit()
    assert ledger.balance(TALK).left == 0.0
    with pytest.raises(BudgetExceeded):
        ledger.reserve([TALK], 1e-9)


def test_without_a_limit_spending_is_recorded(ledger: Ledger) -> None:
    ledger.reserve([TALK], 1e9).commit()
    balance = ledger.balance(TALK)
    assert (balance.limit, balance.spent, balance.left) == (None, 1e9, math.inf)


def test_without_a_limit_the_sum_still_cannot_overflow(ledger: Ledger) -> None:
    for _ in range(9):
        ledger.reserve([TALK], 1e9)
    with pytest.raises(BudgetExceeded):
        ledger.reserve([TALK], 1e9)


def test_a_default_limit_holds_for_scopes_without_their_own(ledger: Ledger) -> None:
    ledger.reserve([OTHER], 2.0)
    ledger.set_default_limit("conversation", 3.0)
    ledger.set_limit(TALK, 5.0)
    assert (ledger.balance(TALK).left, ledger.balance(OTHER).left, ledger.balance(ADA).left) == (
        5.0,
        1.0,
        math.inf,
    )
    with pytest.raises(BudgetExceeded):
        ledger.reserve([OTHER], 2.0)


def test_a_limit_below_what_is_spent_leaves_nothing(ledger: Ledger) -> None:
    ledger.reserve([TALK], 5.0)
    ledger.set_limit(TALK, 3.0)
    assert ledger.balance(TALK).left == 0.0
    with pytest.raises(BudgetExceeded, match=r"has 0 of 3 left"):
        ledger.reserve([TALK], 1e-9)


@pytest.mark.parametrize("epsilon", [math.nan, math.inf, -math.inf, 0.0, -1.0, 1.1e9, 10**400])
def test_amounts_that_are_none_are_refused(ledger: Ledger, epsilon: float) -> None:
    reservation = ledger.reserve([TALK], 1.0)
    calls: list[Callable[[float], object]] = [
        lambda e: ledger.reserve([TALK], e),
        lambda e: ledger.set_limit(TALK, e),
        lambda e: ledger.set_default_limit("user", e),
        reservation.commit,
    ]
    for call in calls:
        with pytest.raises(ValueError, match=r"epsilon must be"):
            call(epsilon)
    assert charged(ledger, TALK) == 1.0


@pytest.mark.parametrize(
    ("epsilon", "nano"),
    [
        (1e-12, 1),
        (5e-324, 1),
        (0.1, 10**8),
        (0.1 + 0.2, 300_000_001),
        (1 / 3, 333_333_334),
        (3, 3 * NANO),
    ],
)
def test_charges_are_rounded_up_and_limits_down(ledger: Ledger, epsilon: float, nano: int) -> None:
    exact = Decimal(repr(float(epsilon))) * NANO
    assert nano - 1 < exact <= nano
    ledger.reserve([TALK], epsilon).commit(epsilon)
    ledger.set_limit(TALK, epsilon)
    (row,) = ledger.export()
    assert (row["spent"], row["limit"]) == (nano, math.floor(exact))


def test_bad_scopes_are_refused_without_showing_names(ledger: Ledger) -> None:
    for arguments in (("ada", "user"), ("user", ""), ("day", "ada")):
        with pytest.raises(ValueError, match=r"must") as refused:
            Scope(*arguments)
        assert "ada" not in str(refused.value)
    with pytest.raises(ValueError, match="at least one"):
        ledger.reserve([], 1.0)
    with pytest.raises(ValueError, match="kind must be"):
        ledger.set_default_limit("year", 1.0)
    with pytest.raises(TypeError, match="must be a str, got NoneType"):
        Scope("user", None)  # type: ignore[arg-type]
    assert "ada" not in repr(ADA)
