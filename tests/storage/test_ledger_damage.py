"""A damaged, edited, older or unwritable ledger is an error and frees nothing."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from sanitizer.errors import LedgerError
from sanitizer.storage.ledger import DAY, Ledger
from tests.storage.files import another_file, crash, cut, directory, edit, unprivileged
from tests.storage.ledgers import ADA, KEY, TALK, Clock, charged


def _write(content: bytes) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(content)


DAMAGES: dict[str, Callable[[Path], object]] = {
    "empty": _write(b""),
    "a page of zeros": _write(bytes(4096)),
    "text": _write(b"epsilon = 200\n" * 500),
    "a directory": directory,
    "cut to a byte": lambda path: os.truncate(path, 1),
    "cut to half": cut(0.5),
    "cut by a page": lambda path: os.truncate(path, path.stat().st_size - 4096),
    "another version": lambda path: edit(path, "PRAGMA user_version = 1"),
    "another application": lambda path: edit(path, "PRAGMA application_id = 1"),
    "another journal": lambda path: edit(path, "PRAGMA journal_mode = DELETE"),
    "a table more": lambda path: edit(path, "CREATE TABLE t (a)"),
    "a trigger": lambda path: edit(
        path, "CREATE TRIGGER t AFTER UPDATE ON account BEGIN UPDATE account SET spent = 0; END"
    ),
    "another SQLite file": another_file,
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
    "no HMAC": lambda path: edit(path, "UPDATE account SET mac = zeroblob(32)"),
    "swapped balances": lambda path: edit(
        path,
        "UPDATE account SET spent = 0, mac = (SELECT mac FROM account WHERE kind = 'every day')",
    ),
    "a lost balance": lambda path: edit(path, "DELETE FROM account WHERE kind = 'user'"),
    "a lost limit": lambda path: edit(path, "DELETE FROM account WHERE kind = 'every day'"),
    "a lost reservation": lambda path: edit(path, "DELETE FROM charge"),
    "a larger reservation": lambda path: edit(path, "UPDATE charge SET amount = amount * 5"),
    "no head": lambda path: edit(path, "DELETE FROM head"),
    "two heads": lambda path: edit(path, "INSERT INTO head SELECT * FROM head"),
    "an edited head": lambda path: edit(path, "UPDATE head SET body = zeroblob(length(body))"),
    "no mark": lambda path: path.with_name("ledger-mark").unlink(),
    "an empty mark": lambda path: path.with_name("ledger-mark").write_bytes(b""),
    "a higher mark": lambda path: path.with_name("ledger-mark").write_bytes(bytes(7) + b"\xff"),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_ledger_is_an_error(used_ledger: Path, damage: Callable[[Path], object]) -> None:
    damage(used_ledger)
    with pytest.raises(LedgerError):
        Ledger(used_ledger, KEY)


def test_an_edit_under_a_running_ledger_is_found_when_the_row_is_used(
    ledger: Ledger, ledger_path: Path
) -> None:
    ledger.reserve([TALK], 4.0).commit()
    edit(ledger_path, "UPDATE account SET spent = 0")
    with pytest.raises(LedgerError, match="HMAC"):
        ledger.reserve([TALK], 1.0)


def test_a_row_deleted_under_a_running_ledger_does_not_start_afresh(
    ledger: Ledger, ledger_path: Path
) -> None:
    ledger.reserve([TALK], 4.0).commit()
    edit(ledger_path, "DELETE FROM account")
    with pytest.raises(LedgerError, match="missing"):
        ledger.reserve([TALK], 1.0)


def test_what_fails_half_way_charges_nothing(ledger: Ledger, ledger_path: Path) -> None:
    ledger.reserve([TALK, ADA], 4.0).commit()
    edit(ledger_path, "DELETE FROM account WHERE kind = 'user'")
    with pytest.raises(LedgerError, match="missing"):
        ledger.reserve([TALK, ADA], 1.0)
    assert charged(ledger, TALK) == 4.0


def test_an_older_copy_of_a_row_is_found(ledger: Ledger, ledger_path: Path) -> None:
    ledger.reserve([TALK], 1.0).commit()
    db = sqlite3.connect(ledger_path)
    old = db.execute("SELECT * FROM account").fetchone()
    ledger.reserve([TALK], 4.0).commit()
    with db:
        db.execute("INSERT OR REPLACE INTO account VALUES (?, ?, ?, ?, ?, ?, ?)", old)
    db.close()
    with pytest.raises(LedgerError, match="older"):
        Ledger(ledger_path, KEY)


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


def test_a_flipped_byte_in_the_file_never_frees_anything(used_ledger: Path) -> None:
    with Ledger(used_ledger, KEY):
        assert _flips_never_free_anything(used_ledger, "", 100) > 10


def test_a_flipped_byte_in_the_wal_never_frees_anything(ledger: Ledger, ledger_path: Path) -> None:
    for _ in range(3):
        ledger.reserve([TALK, DAY], 1.0)
    assert _flips_never_free_anything(ledger_path, "-wal", 100) > 10


@pytest.mark.parametrize("n_bytes", [1, 100, 1000])
def test_a_file_cut_short_is_an_error_or_changes_nothing(used_ledger: Path, n_bytes: int) -> None:
    """SQLite leaves the end of a page empty, and reads zeros where the file ends early."""
    with Ledger(used_ledger, KEY) as sound:
        expected = sound.export()
    os.truncate(used_ledger, used_ledger.stat().st_size - n_bytes)
    try:
        with Ledger(used_ledger, KEY) as opened:
            assert opened.export() == expected
    except LedgerError as error:
        assert str(used_ledger) in str(error)  # noqa: PT017 - both outcomes are right


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9])
def test_a_wal_cut_short_is_an_error(ledger: Ledger, ledger_path: Path, share: float) -> None:
    for _ in range(3):
        ledger.reserve([TALK, DAY], 1.0)
    copy = crash(ledger_path, "copy")
    cut(share)(copy.with_name("ledger-wal"))
    with pytest.raises(LedgerError, match="mark"):
        Ledger(copy, KEY)


def test_an_older_file_beside_its_mark_is_an_error(ledger: Ledger, ledger_path: Path) -> None:
    ledger.reserve([TALK], 1.0)
    old = crash(ledger_path, "old")
    ledger.reserve([TALK], 1.0)
    ledger.close()
    for file in old.parent.iterdir():
        if not file.name.endswith("-mark"):
            shutil.copyfile(file, ledger_path.with_name(file.name))
    with pytest.raises(LedgerError, match="mark"):
        Ledger(ledger_path, KEY)


# A disk that cannot be written


@pytest.mark.skipif(os.name != "posix", reason="modes and limits are POSIX")
def test_a_read_only_ledger_is_an_error_at_opening(clock: Clock) -> None:
    with tempfile.TemporaryDirectory() as name:
        ledger_path = Path(name) / "ledger"
        Ledger.create(ledger_path, KEY, clock=clock).close()
        with unprivileged(ledger_path.parent):
            assert ledger_path.read_bytes()
            with pytest.raises(LedgerError):
                Ledger(ledger_path, KEY, clock=clock)


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


def test_a_ledger_that_stays_busy_is_an_error(
    ledger_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sanitizer.storage.databases.BUSY_SECONDS", 0.01)
    with Ledger.create(ledger_path, KEY) as ledger:
        other = sqlite3.connect(ledger_path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerError, match="locked"):
            ledger.reserve([TALK], 1.0)
        other.close()
        assert charged(ledger, TALK) == 0.0
