"""Budgets survive crashes, crowds, damage and clocks; whatever is in doubt counts as charged."""

from __future__ import annotations

import json
import math
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sanitizer
from sanitizer.errors import BudgetExceeded, LedgerError
from sanitizer.storage.ledger import DAY, DAY_SECONDS, NANO, Ledger, Reservation, Scope

KEY = bytes(range(32))
TALK, OTHER, ADA = (
    Scope("conversation", "c-17"),
    Scope("conversation", "c-18"),
    Scope("user", "ada@example.org"),
)
NOON = 20_000 * DAY_SECONDS + 43_200


class Clock:
    """Stands still until it is set."""

    def __init__(self, now: float = NOON) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger"


@pytest.fixture
def ledger(path: Path, clock: Clock) -> Iterator[Ledger]:
    with Ledger.create(path, KEY, clock=clock) as made:
        yield made


def charged(ledger: Ledger, scope: Scope) -> float:
    balance = ledger.balance(scope)
    return balance.spent + balance.reserved


def failing(reservation: Reservation, act: Callable[[Reservation], None]) -> None:
    """A request that fails after `act`."""
    with reservation:
        act(reservation)
        raise KeyError


def crash(path: Path, name: str) -> Path:
    """What a crash leaves on the disk: the file, its WAL and its mark, with the ledger still open."""
    folder = path.parent / name
    folder.mkdir()
    for file in (path, path.with_name("ledger-wal"), path.with_name("ledger-mark")):
        shutil.copyfile(file, folder / file.name)
    return folder / path.name


def edit(path: Path, statement: str) -> None:
    db = sqlite3.connect(path)
    with db:
        db.execute(statement)
    db.close()


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
    ledger: Ledger, path: Path
) -> None:
    with pytest.raises(KeyError):
        failing(ledger.reserve([TALK], 4.0), lambda _: ledger.close())
    with Ledger(path, KEY) as again:
        assert again.balance(TALK).reserved == 4.0


def test_a_commit_that_fails_is_told_and_stays_charged(ledger: Ledger, path: Path) -> None:
    with pytest.raises(LedgerError), ledger.reserve([TALK], 4.0):
        ledger.close()
    with Ledger(path, KEY) as again:
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


# Limits


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


# What the file holds


def test_no_names_are_in_the_files_or_the_export(ledger: Ledger, path: Path) -> None:
    ledger.set_limit(ADA, 9.0)
    open_one = ledger.reserve([TALK, ADA, DAY], 1.0)
    stored = b"".join(file.read_bytes() for file in path.parent.iterdir())
    for text in (json.dumps(ledger.export()).encode(), stored):
        assert b"ada" not in text
        assert b"c-17" not in text
        assert KEY not in text
    open_one.commit()


def test_the_export_tells_balances_and_open_reservations(ledger: Ledger) -> None:
    ledger.set_limit(DAY, 9.0)
    ledger.reserve([TALK, DAY], 1.0)
    rows = json.loads(json.dumps(ledger.export()))
    assert [row.get("kind") for row in rows] == ["conversation", "day", "every day", None]
    talk, day, every, reservation = rows
    assert reservation["scopes"] == [talk["scope"], day["scope"]]
    assert (reservation["reservation"], reservation["amount"], reservation["created"]) == (
        1,
        NANO,
        NOON,
    )
    assert (talk["reserved"], talk["spent"], talk["limit"], talk["updated"]) == (
        NANO,
        0,
        None,
        NOON,
    )
    assert every["limit"] == 9 * NANO


def test_another_key_gives_other_hashes(ledger: Ledger, tmp_path: Path) -> None:
    ledger.reserve([TALK], 1.0)
    with Ledger.create(tmp_path / "second", bytes(32)) as second:
        second.reserve([TALK], 1.0)
        assert second.export()[0]["scope"] != ledger.export()[0]["scope"]


def test_settled_reservations_leave_only_their_sum(ledger: Ledger) -> None:
    for _ in range(5):
        ledger.reserve([TALK], 1.0).commit()
    assert len(ledger.export()) == 1


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
    ledger: Ledger, path: Path, clock: Clock, reopened: bool
) -> None:
    ledger.set_limit(DAY, 5.0)
    ledger.reserve([DAY], 1.0)
    clock.now += DAY_SECONDS
    ledger.reserve([DAY], 5.0)
    clock.now -= 1.5 * DAY_SECONDS
    with Ledger(path, KEY, clock=clock) if reopened else ledger as used:
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
    """2 is FULL: without it a power cut takes back grants. Settling may be lost, that charges more."""
    settled = ledger.reserve([TALK], 1.0)
    for act, synchronous in ((settled.commit, 1), (lambda: ledger.reserve([TALK], 1.0), 2)):
        act()
        assert ledger._store._db.execute("PRAGMA synchronous").fetchone() == (synchronous,)


# Opening


def test_balances_and_limits_survive_closing(ledger: Ledger, path: Path) -> None:
    ledger.set_limit(TALK, 10.0)
    ledger.reserve([TALK], 4.0).commit()
    ledger.reserve([TALK, DAY], 1.0)
    before = ledger.export()
    ledger.close()
    with Ledger(path, KEY) as again:
        assert again.export() == before


def test_a_missing_file_is_not_a_fresh_budget(path: Path) -> None:
    with pytest.raises(LedgerError):
        Ledger(path, KEY)
    assert list(path.parent.iterdir()) == []


def test_a_deleted_file_is_not_made_again(ledger: Ledger, path: Path) -> None:
    ledger.reserve([TALK], 1.0)
    ledger.close()
    path.unlink()
    for attempt in (Ledger, Ledger.create):
        with pytest.raises(LedgerError):
            attempt(path, KEY)


@pytest.mark.parametrize("by", [None, b""])
def test_a_file_deleted_or_replaced_under_a_running_ledger_grants_nothing(
    ledger: Ledger, path: Path, by: bytes | None
) -> None:
    ledger.reserve([TALK], 1.0)
    path.rename(path.with_name("elsewhere"))
    if by is not None:
        path.write_bytes(by)
    with pytest.raises(LedgerError):
        ledger.reserve([TALK], 1.0)


def test_create_never_replaces(ledger: Ledger, path: Path) -> None:
    ledger.reserve([TALK], 1.0)
    with pytest.raises(LedgerError, match="there already"):
        Ledger.create(path, KEY)
    assert charged(ledger, TALK) == 1.0


@pytest.mark.skipif(os.name != "posix", reason="modes and limits are POSIX")
def test_only_the_user_may_read_it(ledger: Ledger, path: Path) -> None:
    ledger.reserve([TALK], 1.0)
    assert {file.stat().st_mode & 0o777 for file in path.parent.iterdir()} == {0o600}


def test_a_short_key_is_refused_and_not_shown(path: Path) -> None:
    with pytest.raises(ValueError, match=r"at least 16 bytes, got 6") as refused:
        Ledger.create(path, b"secret")
    assert "secret" not in str(refused.value)
    assert not path.exists()


def test_the_wrong_key_is_told(ledger: Ledger, path: Path) -> None:
    ledger.close()
    with pytest.raises(LedgerError, match="wrong key"):
        Ledger(path, bytes(32))


def test_another_process_must_open_it_again(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "getpid", lambda: -1)
    with pytest.raises(LedgerError, match="fork"):
        ledger.reserve([TALK], 1.0)


# Damage


@pytest.fixture
def used(ledger: Ledger, path: Path) -> Path:
    """A closed ledger with limits, sums and an open reservation."""
    ledger.set_limit(TALK, 10.0)
    ledger.set_limit(DAY, 20.0)
    ledger.reserve([TALK, ADA, DAY], 4.0).commit()
    ledger.reserve([TALK, DAY], 1.0)
    ledger.close()
    return path


def _write(content: bytes) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(content)


def _truncate(share: float) -> Callable[[Path], object]:
    return lambda path: os.truncate(path, int(path.stat().st_size * share))


def _directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _another_file(path: Path) -> None:
    path.unlink()
    edit(path, "CREATE TABLE t (a)")


DAMAGES: dict[str, Callable[[Path], object]] = {
    "empty": _write(b""),
    "a page of zeros": _write(bytes(4096)),
    "text": _write(b"epsilon = 200\n" * 500),
    "a directory": _directory,
    "cut to a byte": lambda path: os.truncate(path, 1),
    "cut to half": _truncate(0.5),
    "cut by a page": lambda path: os.truncate(path, path.stat().st_size - 4096),
    "cut by a byte": lambda path: os.truncate(path, path.stat().st_size - 1),
    "another version": lambda path: edit(path, "PRAGMA user_version = 2"),
    "another application": lambda path: edit(path, "PRAGMA application_id = 1"),
    "another journal": lambda path: edit(path, "PRAGMA journal_mode = DELETE"),
    "a table more": lambda path: edit(path, "CREATE TABLE t (a)"),
    "a trigger": lambda path: edit(
        path, "CREATE TRIGGER t AFTER UPDATE ON account BEGIN UPDATE account SET spent = 0; END"
    ),
    "another SQLite file": _another_file,
    "less spent": lambda path: edit(
        path, "UPDATE account SET spent = spent - 1 WHERE kind = 'user'"
    ),
    "nothing reserved": lambda path: edit(path, "UPDATE account SET reserved = 0"),
    "spent as text": lambda path: edit(
        path, "UPDATE account SET spent = CAST(spent AS TEXT) || 'x'"
    ),
    "spent as float": lambda path: edit(path, "UPDATE account SET spent = spent + 0.5"),
    "a higher limit": lambda path: edit(
        path, "UPDATE account SET cap = 100000000000 WHERE kind = 'conversation'"
    ),
    "no limit": lambda path: edit(path, "UPDATE account SET cap = NULL"),
    "no HMAC": lambda path: edit(path, "UPDATE account SET mac = NULL"),
    "swapped balances": lambda path: edit(
        path,
        "UPDATE account SET spent = 0, mac = (SELECT mac FROM account WHERE kind = 'every day')",
    ),
    "a lost balance": lambda path: edit(path, "DELETE FROM account WHERE kind = 'user'"),
    "a lost limit": lambda path: edit(path, "DELETE FROM account WHERE kind = 'every day'"),
    "a lost reservation": lambda path: edit(path, "DELETE FROM reservation"),
    "a larger reservation": lambda path: edit(path, "UPDATE reservation SET amount = amount * 5"),
    "no head": lambda path: edit(path, "DELETE FROM head"),
    "two heads": lambda path: edit(path, "INSERT INTO head SELECT * FROM head"),
    "a clock wound back": lambda path: edit(path, "UPDATE head SET seen = 0"),
    "fewer grants": lambda path: edit(path, "UPDATE head SET granted = 0"),
    "no mark": lambda path: path.with_name("ledger-mark").unlink(),
    "an empty mark": lambda path: path.with_name("ledger-mark").write_bytes(b""),
    "a higher mark": lambda path: path.with_name("ledger-mark").write_bytes(bytes(7) + b"\3"),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_ledger_is_an_error(used: Path, damage: Callable[[Path], object]) -> None:
    damage(used)
    with pytest.raises(LedgerError):
        Ledger(used, KEY)


def test_an_edit_under_a_running_ledger_is_found_when_the_row_is_used(
    ledger: Ledger, path: Path
) -> None:
    ledger.reserve([TALK], 4.0).commit()
    edit(path, "UPDATE account SET spent = 0")
    with pytest.raises(LedgerError, match="HMAC"):
        ledger.reserve([TALK], 1.0)


def test_a_row_deleted_under_a_running_ledger_does_not_start_afresh(
    ledger: Ledger, path: Path
) -> None:
    ledger.reserve([TALK], 4.0).commit()
    edit(path, "DELETE FROM account")
    with pytest.raises(LedgerError, match="missing"):
        ledger.reserve([TALK], 1.0)


def test_what_fails_half_way_charges_nothing(ledger: Ledger, path: Path) -> None:
    ledger.reserve([TALK, ADA], 4.0).commit()
    edit(path, "DELETE FROM account WHERE kind = 'user'")
    with pytest.raises(LedgerError, match="missing"):
        ledger.reserve([TALK, OTHER], 1.0)
    assert charged(ledger, TALK) == 4.0


def test_an_older_copy_of_a_row_is_found(ledger: Ledger, path: Path) -> None:
    ledger.reserve([TALK], 1.0).commit()
    db = sqlite3.connect(path)
    old = db.execute("SELECT * FROM account").fetchone()
    ledger.reserve([TALK], 4.0).commit()
    with db:
        db.execute("INSERT OR REPLACE INTO account VALUES (?, ?, ?, ?, ?, ?, ?)", old)
    db.close()
    with pytest.raises(LedgerError, match="older"):
        Ledger(path, KEY)


def _flip(file: Path, position: int) -> None:
    content = bytearray(file.read_bytes())
    content[position] ^= 0xFF
    file.write_bytes(content)


def _flips_never_free_anything(path: Path, suffix: str, n_flips: int) -> int:
    """Flip one byte at a time; returns how many flips were refused. The rest must have changed no
    number.
    """
    with Ledger(crash(path, "sound"), KEY) as sound:
        expected = sound.export()
    n_refused = 0
    size = path.with_name(path.name + suffix).stat().st_size
    for position in sorted({*range(0, 100, 7), *random.Random(7).sample(range(size), n_flips)}):
        copy = crash(path, f"flipped-{position}")
        _flip(copy.with_name(copy.name + suffix), position)
        try:
            with Ledger(copy, KEY) as opened:
                assert opened.export() == expected, position
        except LedgerError:
            n_refused += 1
        shutil.rmtree(copy.parent)
    return n_refused


def test_a_flipped_byte_in_the_file_never_frees_anything(used: Path) -> None:
    with Ledger(used, KEY):
        assert _flips_never_free_anything(used, "", 100) > 10


def test_a_flipped_byte_in_the_wal_never_frees_anything(ledger: Ledger, path: Path) -> None:
    for _ in range(3):
        ledger.reserve([TALK, DAY], 1.0)
    assert _flips_never_free_anything(path, "-wal", 100) > 10


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9])
def test_a_wal_cut_short_is_an_error(ledger: Ledger, path: Path, share: float) -> None:
    for _ in range(3):
        ledger.reserve([TALK, DAY], 1.0)
    copy = crash(path, "copy")
    _truncate(share)(copy.with_name("ledger-wal"))
    with pytest.raises(LedgerError, match="mark"):
        Ledger(copy, KEY)


def test_an_older_file_beside_its_mark_is_an_error(ledger: Ledger, path: Path) -> None:
    ledger.reserve([TALK], 1.0)
    old = crash(path, "old")
    ledger.reserve([TALK], 1.0)
    ledger.close()
    for file in old.parent.iterdir():
        if not file.name.endswith("-mark"):
            shutil.copyfile(file, path.with_name(file.name))
    with pytest.raises(LedgerError, match="mark"):
        Ledger(path, KEY)


# A disk that cannot be written


@contextmanager
def _unprivileged(folder: Path) -> Iterator[None]:
    """No right to write in `folder`; root gives up being root, because modes do not bind it."""
    folder.chmod(0o555)
    for file in folder.iterdir():
        file.chmod(0o444)
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)
        folder.chmod(0o755)


@pytest.mark.skipif(os.name != "posix", reason="modes and limits are POSIX")
def test_a_read_only_ledger_is_an_error_at_opening(clock: Clock) -> None:
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "ledger"
        Ledger.create(path, KEY, clock=clock).close()
        with _unprivileged(path.parent):
            assert path.read_bytes()
            with pytest.raises(LedgerError):
                Ledger(path, KEY, clock=clock)


@pytest.mark.skipif(os.name != "posix", reason="modes and limits are POSIX")
def test_a_full_disk_refuses_before_anything_is_granted(ledger: Ledger) -> None:
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        with pytest.raises(LedgerError):
            ledger.reserve([TALK], 1.0)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert charged(ledger, TALK) == 0.0
    ledger.reserve([TALK], 1.0)


def test_a_ledger_that_stays_busy_is_an_error(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sanitizer.storage.sqlite_file.BUSY_SECONDS", 0.01)
    with Ledger.create(path, KEY) as ledger:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerError, match="locked"):
            ledger.reserve([TALK], 1.0)
        other.close()
        assert charged(ledger, TALK) == 0.0


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


# Crowds and crashes


def test_threads_share_a_ledger_without_overspending(ledger: Ledger) -> None:
    ledger.set_limit(TALK, 20.0)
    granted: list[int] = []

    def work() -> None:
        for _ in range(10):
            try:
                with ledger.reserve([TALK, DAY], 1.0) as reservation:
                    granted.append(reservation.id)
            except BudgetExceeded:
                pass

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(granted) == list(range(1, 21))
    assert charged(ledger, TALK) == charged(ledger, DAY) == 20.0


N_PROCESSES, N_REQUESTS, LIMIT = 8, 1250, 4000 * NANO
WORKER = """
import sys
import sanitizer.storage.ledger
from sanitizer.errors import BudgetExceeded
from sanitizer.storage.ledger import DAY, Ledger, Scope
path, key, number, n_requests = sys.argv[1], bytes.fromhex(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
user = Scope("user", "ada")
sanitizer.storage.ledger.GRANT_SYNC = "NORMAL"  # a killed process loses nothing it wrote; only a power cut needs FULL
with Ledger(path, key) as ledger:
    for i in range(n_requests):
        nano = (number * 7_919_777 + i * 618_033_989) % 10**9 + 1
        try:
            reservation = ledger.reserve([Scope("conversation", str(number % 3)), user, DAY], nano / 1e9)
            print(reservation.id, nano, flush=True)
            reservation.commit()
        except BudgetExceeded:
            print(0, nano, flush=True)
"""


def test_no_charge_is_lost_or_doubled_when_processes_crowd_and_one_is_killed(path: Path) -> None:
    """10,000 requests, 8 processes, one killed anywhere: what was granted is what is charged, to
    the nano.
    """
    with Ledger.create(path, KEY, clock=lambda: 0.0) as ledger:
        ledger.set_limit(Scope("user", "ada"), LIMIT / NANO)
    root = Path(sanitizer.__file__).parent.parent
    logs = [path.with_name(f"log-{number}") for number in range(1, N_PROCESSES)]
    command = [sys.executable, "-c", WORKER, str(path), KEY.hex()]
    others = []
    for number, log in enumerate(logs, 1):
        with log.open("w") as out:
            others.append(
                subprocess.Popen([*command, str(number), str(N_REQUESTS)], stdout=out, cwd=root)
            )
    with subprocess.Popen(
        [*command, "0", str(N_REQUESTS)], stdout=subprocess.PIPE, text=True, cwd=root
    ) as victim:
        assert victim.stdout is not None
        lines = [victim.stdout.readline() for _ in range(random.Random(2026).randrange(200, 900))]
        victim.kill()
        lines += victim.stdout.readlines()
    assert [process.wait() for process in others] == [0] * len(others)

    told = [line.split() for line in lines if line.endswith("\n")]
    n_victim = len(told)
    told += [line.split() for log in logs for line in log.read_text().splitlines()]
    assert len(told) == n_victim + (N_PROCESSES - 1) * N_REQUESTS
    granted = {int(number): int(nano) for number, nano in told if number != "0"}
    assert len(granted) == sum(number != "0" for number, _ in told), "a grant was given twice"

    with Ledger(path, KEY) as ledger:
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
        assert LIMIT - NANO < total <= LIMIT
        assert ledger.resolve_stale(0) == n_open <= 1
        assert ledger.balance(Scope("user", "ada")).spent == total / NANO
