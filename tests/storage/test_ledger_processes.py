"""Threads and processes share a ledger; one that is killed loses and doubles nothing."""

from __future__ import annotations

import random
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

import sanitizer
from sanitizer.errors import BudgetExceeded, LedgerError
from sanitizer.storage.ledger import DAY, DAY_SECONDS, NANO, Ledger, Scope
from tests.storage.ledgers import KEY, TALK, Clock


def test_the_first_error_is_the_one_seen_and_the_amount_stays_charged(
    ledger: Ledger, ledger_path: Path
) -> None:
    def closing_and_failing() -> None:
        with ledger.reserve([TALK], 4.0):
            ledger.close()
            raise KeyError

    with pytest.raises(KeyError):
        closing_and_failing()
    with Ledger(ledger_path, KEY) as again:
        assert again.balance(TALK).reserved == 4.0


def test_a_commit_that_fails_is_told_and_stays_charged(ledger: Ledger, ledger_path: Path) -> None:
    with pytest.raises(LedgerError), ledger.reserve([TALK], 4.0):
        ledger.close()
    with Ledger(ledger_path, KEY) as again:
        assert again.balance(TALK).reserved == 4.0


def test_a_clock_set_back_opens_no_other_day_after_reopening(
    ledger: Ledger, ledger_path: Path, clock: Clock
) -> None:
    ledger.set_limit(DAY, 5.0)
    clock.now += DAY_SECONDS
    ledger.reserve([DAY], 5.0)
    clock.now -= 1.5 * DAY_SECONDS
    with Ledger(ledger_path, KEY, clock=clock) as used:
        assert used.balance(DAY).left == 0.0
        with pytest.raises(BudgetExceeded):
            used.reserve([DAY], 1.0)


def test_a_grant_is_on_the_disk_before_anything_can_be_drawn(ledger: Ledger) -> None:
    """2 is FULL: without it a power cut takes back grants. A lost settlement charges more."""
    settled = ledger.reserve([TALK], 1.0)
    for act, synchronous in ((settled.commit, 1), (lambda: ledger.reserve([TALK], 1.0), 2)):
        act()
        assert ledger._store.rows("PRAGMA synchronous")[0][0] == synchronous  # type: ignore[union-attr]


def test_a_name_is_charged_once_also_by_another_process(ledger: Ledger, ledger_path: Path) -> None:
    amounts = {TALK: Fraction(2)}
    with Ledger(ledger_path, KEY) as second:
        assert ledger.charge_once(amounts, b"a name")
        assert not second.charge_once(amounts, b"a name")
        assert second.charge_once(amounts, b"another name")
        assert ledger.balance(TALK).spent == 4.0


WORKER = """
import sys
import sanitizer.storage.ledger, sanitizer.storage.store
from sanitizer.errors import BudgetExceeded, LedgerError
from sanitizer.storage.ledger import DAY, Ledger, Scope
path, key = sys.argv[1], bytes.fromhex(sys.argv[2])
number, n_requests = int(sys.argv[3]), int(sys.argv[4])
user = Scope("user", "ada")
# A killed process loses nothing it wrote; only a power cut needs FULL.
sanitizer.storage.store.DURABLE = "NORMAL"
with Ledger(path, key) as ledger:
    for i in range(n_requests):
        nano = (number * 7_919_777 + i * 618_033_989) % 10**9 + 1
        try:
            scopes = [Scope("conversation", str(number % 3)), user, DAY]
            reservation = ledger.reserve(scopes, nano / 1e9)
            print(reservation.id, nano, flush=True)
            reservation.commit()
        except BudgetExceeded:
            print(0, nano, flush=True)
"""


@pytest.mark.parametrize(
    ("n_processes", "n_requests"), [(6, 200), pytest.param(8, 1250, marks=pytest.mark.slow)]
)
def test_no_charge_is_lost_or_doubled_when_processes_crowd_and_one_is_killed(
    ledger_path: Path, n_processes: int, n_requests: int
) -> None:
    """Many requests of each process, one killed anywhere: what was granted is what is charged, to
    the nano. Four fifths of what is asked for is within the limit.
    """
    limit = n_processes * n_requests * 2 // 5 * NANO
    with Ledger.create(ledger_path, KEY, clock=lambda: 0.0) as ledger:
        ledger.set_limit(Scope("user", "ada"), limit / NANO)
    root = Path(sanitizer.__file__).parent.parent
    logs = [ledger_path.with_name(f"log-{number}") for number in range(1, n_processes)]
    command = [sys.executable, "-c", WORKER, str(ledger_path), KEY.hex()]
    others = []
    for number, log in enumerate(logs, 1):
        with log.open("w") as out:
            others.append(
                subprocess.Popen([*command, str(number), str(n_requests)], stdout=out, cwd=root)
            )
    with subprocess.Popen(
        [*command, "0", str(n_requests)], stdout=subprocess.PIPE, text=True, cwd=root
    ) as victim:
        assert victim.stdout is not None
        n_read = random.Random(2026).randrange(n_requests // 6, n_requests * 7 // 10)
        lines = [victim.stdout.readline() for _ in range(n_read)]
        victim.kill()
        lines += victim.stdout.readlines()
    assert [process.wait() for process in others] == [0] * len(others)

    told = [line.split() for line in lines if line.endswith("\n")]
    n_victim = len(told)
    told += [line.split() for log in logs for line in log.read_text().splitlines()]
    assert len(told) == n_victim + (n_processes - 1) * n_requests
    granted = {int(number): int(nano) for number, nano in told if number != "0"}
    assert len(granted) == sum(number != "0" for number, _ in told), "a grant was given twice"

    with Ledger(ledger_path, KEY) as ledger:
        rows = ledger.export()
        n_open = sum("reservation" in row for row in rows)
        ids = {*granted, *(int(str(row["reservation"])) for row in rows if "reservation" in row)}
        missing = set(range(1, max(ids) + 1)) - set(granted)
        assert len(missing) <= 1, "only the grant the victim had no time to tell"
        total = sum(granted.values()) + len(missing) * (n_victim * 618_033_989 % NANO + 1)
        for kind in ("conversation", "user", "day"):
            accounts = [row for row in rows if row.get("kind") == kind]
            assert (
                sum(int(str(row["spent"])) + int(str(row["reserved"])) for row in accounts) == total
            ), kind
        assert limit - NANO < total <= limit
        assert ledger.resolve_stale(0) == n_open <= 1
        assert ledger.balance(Scope("user", "ada")).spent == total / NANO
