"""A reservation is charged until it is settled; whatever is in doubt counts as charged."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sanitizer.errors import BudgetExceeded, LedgerError
from sanitizer.storage.ledger import DAY, DAY_SECONDS, NANO, Ledger, Reservation, Scope
from tests.storage.ledgers import ADA, KEY, NOON, OTHER, TALK, Clock, charged


def failing(reservation: Reservation, act: Callable[[Reservation], None]) -> None:
    """A request that fails after `act`."""
    with reservation:
        act(reservation)
        raise KeyError


# Reserving and settling


def test_a_reservation_is_charged_until_it_is_settled(ledger: Ledger) -> None:
    ledger.set_limit(TALK, 10.0)
    reservation = ledger.reserve([TALK], 4.0)
    assert (ledger.balance(TALK).reserved, ledger.balance(TALK).left) == (4.0, 6.0)
    reservation.commit(1.5)
    balance = ledger.balance(TALK)
    assert (balance.limit, balance.spent, balance.reserved, balance.left) == (10.0, 1.5, 0.0, 8.5)


def test_release_frees_all_of_it(ledger: Ledger) -> None:
    ledger.reserve([TALK, DAY], 4.0).release()
    assert charged(ledger, TALK) == charged(ledger, DAY) == 0.0


def test_a_with_block_commits_in_full(ledger: Ledger) -> None:
    with ledger.reserve([TALK], 4.0) as reservation:
        assert (reservation.epsilon, ledger.balance(TALK).reserved) == (4.0, 4.0)
    assert (ledger.balance(TALK).spent, ledger.balance(TALK).reserved) == (4.0, 0.0)


def test_an_exception_in_a_with_block_stays_charged(ledger: Ledger) -> None:
    with pytest.raises(KeyError):
        failing(ledger.reserve([TALK], 4.0), lambda _: None)
    assert charged(ledger, TALK) == 4.0


def test_an_exception_after_a_release_is_free(ledger: Ledger) -> None:
    with pytest.raises(KeyError):
        failing(ledger.reserve([TALK], 4.0), lambda reservation: reservation.release())
    assert charged(ledger, TALK) == 0.0


def test_the_first_error_is_the_one_seen_and_the_amount_stays_charged(
    ledger: Ledger, ledger_path: Path
) -> None:
    with pytest.raises(KeyError):
        failing(ledger.reserve([TALK], 4.0), lambda _: ledger.close())
    with Ledger(ledger_path, KEY) as again:
        assert again.balance(TALK).reserved == 4.0


def test_a_commit_that_fails_is_told_and_stays_charged(ledger: Ledger, ledger_path: Path) -> None:
    with pytest.raises(LedgerError), ledger.reserve([TALK], 4.0):
        ledger.close()
    with Ledger(ledger_path, KEY) as again:
        assert again.balance(TALK).reserved == 4.0


@pytest.mark.parametrize("first", ["commit", "release"])
@pytest.mark.parametrize("second", ["commit", "release"])
def test_settling_twice_is_an_error_and_changes_nothing(
    ledger: Ledger, first: str, second: str
) -> None:
    reservation = ledger.reserve([TALK], 4.0)
    getattr(reservation, first)()
    before = ledger.export()
    with pytest.raises(LedgerError, match="settled already"):
        getattr(reservation, second)()
    assert ledger.export() == before


def test_committing_more_than_reserved_is_refused(ledger: Ledger) -> None:
    reservation = ledger.reserve([TALK], 4.0)
    with pytest.raises(ValueError, match=r"at most the 4\.0 reserved, got 4\.1"):
        reservation.commit(4.1)
    assert charged(ledger, TALK) == 4.0


def test_a_scope_named_twice_is_charged_once(ledger: Ledger) -> None:
    reservation = ledger.reserve([TALK, DAY, TALK], 1.0)
    assert (charged(ledger, TALK), charged(ledger, DAY)) == (1.0, 1.0)
    reservation.commit()
    assert (ledger.balance(TALK).spent, ledger.balance(TALK).reserved) == (1.0, 0.0)


# The day and its clock


def test_each_day_has_a_budget_of_its_own(ledger: Ledger, clock: Clock) -> None:
    ledger.set_limit(DAY, 5.0)
    for day in range(3):
        clock.now = NOON + day * DAY_SECONDS
        assert ledger.balance(DAY).left == 5.0
        ledger.reserve([DAY], 5.0)
        with pytest.raises(BudgetExceeded):
            ledger.reserve([DAY], 1.0)


def test_the_day_changes_at_midnight_utc(ledger: Ledger, clock: Clock) -> None:
    midnight = NOON - NOON % DAY_SECONDS
    clock.now = midnight + DAY_SECONDS - 0.001
    ledger.reserve([DAY], 5.0)
    assert charged(ledger, DAY) == 5.0
    clock.now = midnight + DAY_SECONDS
    assert charged(ledger, DAY) == 0.0


def test_a_reservation_settles_on_the_day_it_was_made(ledger: Ledger, clock: Clock) -> None:
    reservation = ledger.reserve([DAY], 5.0)
    clock.now += DAY_SECONDS
    reservation.commit()
    assert charged(ledger, DAY) == 0.0
    assert ledger.export()[0]["spent"] == 5 * NANO


@pytest.mark.parametrize("reopened", [False, True])
def test_a_clock_set_back_opens_no_other_day(
    ledger: Ledger, ledger_path: Path, clock: Clock, reopened: bool
) -> None:
    ledger.set_limit(DAY, 5.0)
    ledger.reserve([DAY], 1.0)
    clock.now += DAY_SECONDS
    ledger.reserve([DAY], 5.0)
    clock.now -= 1.5 * DAY_SECONDS
    with Ledger(ledger_path, KEY, clock=clock) if reopened else ledger as used:
        assert used.balance(DAY).left == 0.0
        with pytest.raises(BudgetExceeded):
            used.reserve([DAY], 1.0)


@pytest.mark.parametrize("reading", [math.nan, math.inf, -1.0, 1e300])
def test_a_clock_that_makes_no_sense_stops_everything(
    ledger: Ledger, clock: Clock, reading: float
) -> None:
    clock.now = reading
    with pytest.raises(LedgerError, match="clock"):
        ledger.reserve([DAY], 1.0)
    clock.now = NOON
    assert charged(ledger, DAY) == 0.0


# Reservations nobody settles


def test_stale_reservations_become_spent_never_free(ledger: Ledger, clock: Clock) -> None:
    stale = ledger.reserve([TALK], 2.0)
    clock.now += 3600
    fresh = ledger.reserve([TALK], 1.0)
    assert ledger.resolve_stale(3600) == 1
    assert (ledger.balance(TALK).spent, ledger.balance(TALK).reserved) == (2.0, 1.0)
    with pytest.raises(LedgerError, match="stays charged"):
        stale.release()
    fresh.release()
    assert charged(ledger, TALK) == 2.0


def test_a_slow_request_may_still_commit_after_it_was_resolved(ledger: Ledger) -> None:
    slow = ledger.reserve([TALK], 2.0)
    assert ledger.resolve_stale(0) == 1
    slow.commit(1.0)
    assert charged(ledger, TALK) == 2.0


@pytest.mark.parametrize("seconds", [-1.0, math.nan])
def test_a_negative_age_is_refused(ledger: Ledger, seconds: float) -> None:
    with pytest.raises(ValueError, match="older_than"):
        ledger.resolve_stale(seconds)


def test_a_grant_is_on_the_disk_before_anything_can_be_drawn(ledger: Ledger) -> None:
    """2 is FULL: without it a power cut takes back grants. A lost settlement charges more."""
    settled = ledger.reserve([TALK], 1.0)
    for act, synchronous in ((settled.commit, 1), (lambda: ledger.reserve([TALK], 1.0), 2)):
        act()
        assert ledger._store._db.execute("PRAGMA synchronous").fetchone() == (synchronous,)


# Against a model


STEPS = st.lists(
    st.tuples(st.sampled_from([TALK, OTHER, ADA]), st.integers(1, 4 * NANO), st.integers(-1, 3)),
    max_size=12,
)


@settings(max_examples=25, deadline=None)
@given(steps=STEPS)
def test_sums_are_those_of_plain_integers(steps: list[tuple[Scope, int, int]]) -> None:
    """Third number: -1 leaves the reservation open, 0 releases it, n commits n thirds."""
    spent = dict.fromkeys([TALK, OTHER, ADA, DAY], 0)
    held = dict.fromkeys([TALK, OTHER, ADA, DAY], 0)
    with (
        tempfile.TemporaryDirectory() as folder,
        Ledger.create(Path(folder) / "ledger", KEY) as ledger,
    ):
        ledger.set_limit(DAY, 10.0)
        for scope, nano, thirds in steps:
            if spent[DAY] + held[DAY] + nano > 10 * NANO:
                with pytest.raises(BudgetExceeded):
                    ledger.reserve([scope, DAY], nano / NANO)
                continue
            reservation = ledger.reserve([scope, DAY], nano / NANO)
            part = nano * thirds // 3
            if thirds == 0 or part == 0:
                reservation.release()
            elif thirds > 0:
                reservation.commit(part / NANO)
            for charged_scope in (scope, DAY):
                held[charged_scope] += nano if thirds < 0 else 0
                spent[charged_scope] += part if thirds > 0 else 0
        for scope in spent:
            balance = ledger.balance(scope)
            assert (balance.spent, balance.reserved) == (spent[scope] / NANO, held[scope] / NANO)
