"""A reservation is charged until it is settled; whatever is in doubt counts as charged."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from sanitizer.errors import BudgetExceeded, LedgerError
from sanitizer.storage.ledger import DAY, DAY_SECONDS, Ledger, Reservation
from tests.storage.ledgers import KEY, TALK, Clock


def failing(reservation: Reservation, act: Callable[[Reservation], None]) -> None:
    """A request that fails after `act`."""
    with reservation:
        act(reservation)
        raise KeyError


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


# The day and its clock


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


# Reservations nobody settles


def test_a_grant_is_on_the_disk_before_anything_can_be_drawn(ledger: Ledger) -> None:
    """2 is FULL: without it a power cut takes back grants. A lost settlement charges more."""
    settled = ledger.reserve([TALK], 1.0)
    for act, synchronous in ((settled.commit, 1), (lambda: ledger.reserve([TALK], 1.0), 2)):
        act()
        assert ledger._store.rows("PRAGMA synchronous")[0][0] == synchronous
