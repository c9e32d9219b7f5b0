"""What every ledger keeps: in memory, in a file, on PostgreSQL.

A reservation is charged until it is settled; whatever is in doubt counts as charged.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sanitizer.errors import BudgetExceeded, LedgerError
from sanitizer.storage.ledger import (
    DAY,
    DAY_SECONDS,
    NANO,
    Budgets,
    Ledger,
    MemoryLedger,
    PostgresLedger,
    Scope,
)
from sanitizer.storage.postgres_store import PostgresStore
from tests.storage.ledgers import ADA, KEY, NOON, OTHER, TALK, TEAM, Clock, charged


@pytest.fixture(params=["memory", "file", "postgres"])
def ledger(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> Iterator[Budgets]:
    if request.param == "memory":
        yield MemoryLedger(clock)
    elif request.param == "file":
        with Ledger.create(tmp_path / "ledger", KEY, clock=clock) as made:
            yield made
    else:
        store: PostgresStore = request.getfixturevalue("store")
        yield PostgresLedger(store, clock=clock)


def test_a_reservation_is_charged_until_it_is_settled(ledger: Budgets) -> None:
    ledger.set_limit(TALK, 10.0)
    reservation = ledger.reserve([TALK], 4.0)
    assert (ledger.balance(TALK).reserved, ledger.balance(TALK).left) == (4.0, 6.0)
    reservation.commit(1.5)
    balance = ledger.balance(TALK)
    assert (balance.limit, balance.spent, balance.reserved, balance.left) == (10.0, 1.5, 0.0, 8.5)


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("released", [False, True])
def test_a_with_block_commits_in_full_unless_it_released(
    ledger: Budgets, fails: bool, released: bool
) -> None:
    def request() -> None:
        with ledger.reserve([TALK, DAY], 4.0) as reservation:
            assert (reservation.epsilon, ledger.balance(TALK).reserved) == (4.0, 4.0)
            if released:
                reservation.release()
            if fails:
                raise KeyError

    with pytest.raises(KeyError) if fails else nullcontext():
        request()
    for scope in (TALK, DAY):
        balance = ledger.balance(scope)
        assert (balance.spent, balance.reserved) == (0.0 if released else 4.0, 0.0)


@pytest.mark.parametrize("first", ["commit", "release"])
@pytest.mark.parametrize("second", ["commit", "release"])
def test_settling_twice_is_an_error_and_changes_nothing(
    ledger: Budgets, first: str, second: str
) -> None:
    reservation = ledger.reserve([TALK], 4.0)
    getattr(reservation, first)()
    before = ledger.export()
    with pytest.raises(LedgerError, match="settled already"):
        getattr(reservation, second)()
    assert ledger.export() == before


def test_committing_more_than_reserved_is_refused(ledger: Budgets) -> None:
    reservation = ledger.reserve([TALK], 4.0)
    with pytest.raises(ValueError, match=r"at most the 4\.0 reserved, got 4\.1"):
        reservation.commit(4.1)
    assert charged(ledger, TALK) == 4.0


def test_a_scope_named_twice_is_charged_once(ledger: Budgets) -> None:
    reservation = ledger.reserve([TALK, DAY, TALK], 1.0)
    assert (charged(ledger, TALK), charged(ledger, DAY)) == (1.0, 1.0)
    reservation.commit()
    assert (ledger.balance(TALK).spent, ledger.balance(TALK).reserved) == (1.0, 0.0)


def test_each_day_has_a_budget_of_its_own(ledger: Budgets, clock: Clock) -> None:
    ledger.set_limit(DAY, 5.0)
    for day in range(3):
        clock.now = NOON + day * DAY_SECONDS
        assert ledger.balance(DAY).left == 5.0
        ledger.reserve([DAY], 5.0)
        with pytest.raises(BudgetExceeded):
            ledger.reserve([DAY], 1.0)


def test_the_day_changes_at_midnight_utc(ledger: Budgets, clock: Clock) -> None:
    midnight = NOON - NOON % DAY_SECONDS
    clock.now = midnight + DAY_SECONDS - 0.001
    ledger.reserve([DAY], 5.0)
    assert charged(ledger, DAY) == 5.0
    clock.now = midnight + DAY_SECONDS
    assert charged(ledger, DAY) == 0.0


def test_a_reservation_settles_on_the_day_it_was_made(ledger: Budgets, clock: Clock) -> None:
    reservation = ledger.reserve([DAY], 5.0)
    clock.now += DAY_SECONDS
    reservation.commit()
    assert charged(ledger, DAY) == 0.0
    assert ledger.export()[0]["spent"] == 5 * NANO


@pytest.mark.parametrize("reading", [math.nan, math.inf, -1.0, 1e300])
def test_a_clock_that_makes_no_sense_stops_everything(
    ledger: Budgets, clock: Clock, reading: float
) -> None:
    clock.now = reading
    with pytest.raises(LedgerError, match="clock"):
        ledger.reserve([DAY], 1.0)
    clock.now = NOON
    assert charged(ledger, DAY) == 0.0


def test_stale_reservations_become_spent_never_free(ledger: Budgets, clock: Clock) -> None:
    stale = ledger.reserve([TALK], 2.0)
    clock.now += 3600
    fresh = ledger.reserve([TALK], 1.0)
    assert ledger.resolve_stale(3600) == 1
    assert (ledger.balance(TALK).spent, ledger.balance(TALK).reserved) == (2.0, 1.0)
    with pytest.raises(LedgerError, match="stays charged"):
        stale.release()
    fresh.release()
    assert charged(ledger, TALK) == 2.0


def test_a_slow_request_may_still_commit_after_it_was_resolved(ledger: Budgets) -> None:
    slow = ledger.reserve([TALK], 2.0)
    assert ledger.resolve_stale(0) == 1
    slow.commit(1.0)
    assert charged(ledger, TALK) == 2.0


@pytest.mark.parametrize("seconds", [-1.0, math.nan])
def test_a_negative_age_is_refused(ledger: Budgets, seconds: float) -> None:
    with pytest.raises(ValueError, match="older_than"):
        ledger.resolve_stale(seconds)


def test_a_clock_set_back_opens_no_other_day(ledger: Budgets, clock: Clock) -> None:
    ledger.set_limit(DAY, 5.0)
    ledger.reserve([DAY], 1.0)
    clock.now += DAY_SECONDS
    ledger.reserve([DAY], 5.0)
    clock.now -= 1.5 * DAY_SECONDS
    assert ledger.balance(DAY).left == 0.0
    with pytest.raises(BudgetExceeded):
        ledger.reserve([DAY], 1.0)


# Limits


def test_every_scope_is_charged_or_none(ledger: Budgets) -> None:
    ledger.set_limit(TEAM, 3.0)
    ledger.reserve([ADA, TEAM], 2.0).commit()
    with pytest.raises(BudgetExceeded, match=r"the team budget has 1 of 3 left"):
        ledger.reserve([ADA, TEAM, DAY], 2.0)
    assert (charged(ledger, ADA), charged(ledger, TEAM), charged(ledger, DAY)) == (2.0, 2.0, 0.0)


def test_what_fails_half_way_charges_nothing(
    ledger: Budgets, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger.reserve([TALK], 2.0).commit()

    def failing(*_: object) -> None:  # the accounts are raised by then
        raise KeyError

    with monkeypatch.context() as broken:
        broken.setattr("sanitizer.storage.ledger._Charge", failing)
        with pytest.raises(KeyError):
            ledger.reserve([TALK, ADA, DAY], 1.0)
    assert (charged(ledger, TALK), charged(ledger, ADA), charged(ledger, DAY)) == (2.0, 0.0, 0.0)


def test_a_limit_of_a_kind_holds_for_all_without_one_of_their_own(ledger: Budgets) -> None:
    ledger.set_default_limit("user", 1.0)
    other = Scope("user", "berta@example.org")
    ledger.set_limit(other, 2.0)
    ledger.set_limit(other, 2.0)
    assert (ledger.balance(ADA).limit, ledger.balance(other).limit) == (1.0, 2.0)
    with pytest.raises(BudgetExceeded):
        ledger.reserve([ADA], 1.000000001)
    ledger.reserve([other], 2.0)
    assert ledger.balance(other).left == 0.0


def test_bad_scopes_are_refused_without_showing_names(ledger: Budgets) -> None:
    for arguments in (("ada", "user"), ("user", ""), ("day", "ada")):
        with pytest.raises(ValueError, match=r"must") as refused:
            Scope(*arguments)
        assert "ada" not in str(refused.value)
    with pytest.raises(ValueError, match="at least one scope"):
        ledger.reserve([], 1.0)
    with pytest.raises(ValueError, match="kind must be one of") as refused:
        ledger.set_default_limit("anna", 1.0)
    assert "anna" not in str(refused.value)
    with pytest.raises(TypeError, match="must be a str, got NoneType"):
        Scope("user", None)  # type: ignore[arg-type]
    assert "ada" not in repr(ADA)


def test_a_refusal_tells_amounts_and_no_names(ledger: Budgets) -> None:
    ledger.set_limit(ADA, 1.0)
    ledger.reserve([ADA], 0.25)
    with pytest.raises(BudgetExceeded) as refused:
        ledger.reserve([ADA], 0.75000001)
    left = "this needs epsilon 0.75000001, the user budget has 0.75 of 1 left: raise the limit, or"
    assert str(refused.value).startswith(left)


def test_what_is_left_can_be_spent_to_the_last_nano(ledger: Budgets) -> None:
    ledger.set_limit(TALK, 1.0)
    for _ in range(10):
        ledger.reserve([TALK], 0.1).commit()
    assert ledger.balance(TALK).left == 0.0
    with pytest.raises(BudgetExceeded):
        ledger.reserve([TALK], 1e-9)
    ledger.set_limit(TALK, 0.5)
    with pytest.raises(BudgetExceeded, match=r"has 0 of 0\.5 left"):
        ledger.reserve([TALK], 1e-9)


def test_without_a_limit_spending_is_recorded_and_cannot_overflow(ledger: Budgets) -> None:
    for number in range(9):
        reservation = ledger.reserve([TALK], 1e9)
        if not number:
            reservation.commit()
    balance = ledger.balance(TALK)
    assert (balance.limit, balance.spent, balance.left) == (None, 1e9, math.inf)
    with pytest.raises(BudgetExceeded):
        ledger.reserve([TALK], 1e9)


@pytest.mark.parametrize(
    "epsilon", [math.nan, math.inf, -math.inf, 0.0, -1.0, 1.1e9, pytest.param(10**400, id="huge")]
)
def test_amounts_that_are_none_are_refused(ledger: Budgets, epsilon: float) -> None:
    reservation = ledger.reserve([TALK], 1.0)
    calls: list[Callable[[float], object]] = [
        lambda e: ledger.reserve([TALK], e),
        lambda e: ledger.set_limit(TALK, e),
        lambda e: ledger.set_default_limit("user", e),
        lambda e: ledger.charge_once({TALK: e}, b"name"),  # type: ignore[dict-item]
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
def test_charges_are_rounded_up_and_limits_down(epsilon: float, nano: int) -> None:
    ledger = MemoryLedger()
    exact = Decimal(repr(float(epsilon))) * NANO
    assert nano - 1 < exact <= nano
    ledger.reserve([TALK], epsilon).commit(epsilon)
    ledger.set_limit(TALK, epsilon)
    (row,) = ledger.export()
    assert (row["spent"], row["limit"]) == (nano, math.floor(exact))


def test_a_name_is_charged_once_and_each_scope_its_own_amount(ledger: Budgets) -> None:
    ledger.set_limit(TALK, 2.0)
    amounts = {ADA: Fraction(1, 3), TALK: Fraction(2)}
    assert ledger.charge_once(amounts, b"job and row")
    assert not ledger.charge_once(amounts, b"job and row")
    with pytest.raises(BudgetExceeded):
        ledger.charge_once(amounts, b"job and another row")
    assert (ledger.balance(ADA).spent, ledger.balance(TALK).spent) == (0.333333334, 2.0)
    ledger.set_limit(TALK, 4.0)
    assert ledger.charge_once(amounts, b"job and another row"), "it was refused, and not charged"
    assert ledger.charge_once({}, b"nothing")


def test_the_export_tells_balances_and_open_reservations_and_names_nobody(
    ledger: Budgets,
) -> None:
    ledger.set_limit(TALK, 10.0)
    for _ in range(5):
        ledger.reserve([TALK, ADA], 1.5).commit(1.0)
    ledger.reserve([ADA], 0.25)
    talk, ada, reservation = rows = json.loads(json.dumps(ledger.export()))
    assert (talk["kind"], ada["kind"]) == ("conversation", "user")
    assert (talk["limit"], talk["updated"]) == (10 * NANO, NOON)
    assert (ada["limit"], ada["spent"], ada["reserved"]) == (None, 5 * NANO, NANO // 4)
    assert reservation["scopes"] == [ada["scope"]]
    assert (reservation["amount"], reservation["created"]) == (NANO // 4, NOON)
    assert ADA.name not in repr(rows)


def test_threads_are_granted_no_more_than_the_limit(ledger: Budgets) -> None:
    ledger.set_limit(DAY, 10.0)

    def work(number: int) -> int:
        try:
            # In another order each time: accounts are locked in one order all the same.
            scopes = [DAY, ADA, Scope("conversation", str(number % 3))]
            ledger.reserve(scopes[:: 1 if number % 2 else -1], 0.7).commit()
        except BudgetExceeded:
            return 0
        return 1

    with ThreadPoolExecutor(6) as pool:
        assert sum(pool.map(work, range(24))) == 14
    assert ledger.balance(DAY).spent == ledger.balance(ADA).spent == 9.8


# Against a model


STEPS = st.lists(
    st.tuples(st.sampled_from([TALK, OTHER, ADA]), st.integers(1, 4 * NANO), st.integers(-1, 3)),
    max_size=8,
)


@settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(steps=STEPS)
def test_sums_are_those_of_plain_integers(
    ledger: Budgets, steps: list[tuple[Scope, int, int]]
) -> None:
    """Third number: -1 leaves the reservation open, 0 releases it, n commits n thirds."""
    before = {scope: ledger.balance(scope) for scope in (TALK, OTHER, ADA, DAY)}
    spent = {scope: round(each.spent * NANO) for scope, each in before.items()}
    held = {scope: round(each.reserved * NANO) for scope, each in before.items()}
    for scope, nano, thirds in steps:
        reservation = ledger.reserve([scope, DAY], nano / NANO)
        part = nano * thirds // 3
        if thirds == 0 or part == 0:
            reservation.release()
        elif thirds > 0:
            reservation.commit(part / NANO)
        for charged_scope in (scope, DAY):
            held[charged_scope] += nano if thirds < 0 else 0
            spent[charged_scope] += part if thirds > 0 else 0
    for scope, nano in spent.items():
        balance = ledger.balance(scope)
        assert (balance.spent, balance.reserved) == (nano / NANO, held[scope] / NANO)
