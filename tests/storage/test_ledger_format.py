"""What the file of a ledger holds, and what it takes to open it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from sanitizer.errors import BudgetExceeded, LedgerError
from sanitizer.storage.ledger import DAY, NANO, Ledger
from tests.storage.files import made_from
from tests.storage.ledgers import ADA, KEY, NOON, TALK, Clock, charged


def test_no_names_are_in_the_files_or_the_export(ledger: Ledger, ledger_path: Path) -> None:
    ledger.set_limit(ADA, 9.0)
    open_one = ledger.reserve([TALK, ADA, DAY], 1.0)
    stored = b"".join(file.read_bytes() for file in ledger_path.parent.iterdir())
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


# Opening


def test_balances_and_limits_survive_closing(ledger: Ledger, ledger_path: Path) -> None:
    ledger.set_limit(TALK, 10.0)
    ledger.reserve([TALK], 4.0).commit()
    ledger.reserve([TALK, DAY], 1.0)
    before = ledger.export()
    ledger.close()
    with Ledger(ledger_path, KEY) as again:
        assert again.export() == before


def test_a_missing_file_is_not_a_fresh_budget(ledger_path: Path) -> None:
    with pytest.raises(LedgerError):
        Ledger(ledger_path, KEY)
    assert list(ledger_path.parent.iterdir()) == []


def test_a_deleted_file_is_not_made_again(ledger: Ledger, ledger_path: Path) -> None:
    ledger.reserve([TALK], 1.0)
    ledger.close()
    ledger_path.unlink()
    for attempt in (Ledger, Ledger.create):
        with pytest.raises(LedgerError):
            attempt(ledger_path, KEY)


@pytest.mark.parametrize("by", [None, b""])
def test_a_file_deleted_or_replaced_under_a_running_ledger_grants_nothing(
    ledger: Ledger, ledger_path: Path, by: bytes | None
) -> None:
    ledger.reserve([TALK], 1.0)
    ledger_path.rename(ledger_path.with_name("elsewhere"))
    if by is not None:
        ledger_path.write_bytes(by)
    with pytest.raises(LedgerError):
        ledger.reserve([TALK], 1.0)


def test_create_never_replaces(ledger: Ledger, ledger_path: Path) -> None:
    ledger.reserve([TALK], 1.0)
    with pytest.raises(LedgerError, match="there already"):
        Ledger.create(ledger_path, KEY)
    assert charged(ledger, TALK) == 1.0


@pytest.mark.skipif(os.name != "posix", reason="modes and limits are POSIX")
def test_only_the_user_may_read_it(ledger: Ledger, ledger_path: Path) -> None:
    ledger.reserve([TALK], 1.0)
    assert {file.stat().st_mode & 0o777 for file in ledger_path.parent.iterdir()} == {0o600}


def test_a_short_key_is_refused_and_not_shown(ledger_path: Path) -> None:
    with pytest.raises(ValueError, match=r"at least 16 bytes, got 6") as refused:
        Ledger.create(ledger_path, b"secret")
    assert "secret" not in str(refused.value)
    assert not ledger_path.exists()


def test_the_wrong_key_is_told(ledger: Ledger, ledger_path: Path) -> None:
    ledger.close()
    with pytest.raises(LedgerError, match="wrong key"):
        Ledger(ledger_path, bytes(32))


def test_another_process_must_open_it_again(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "getpid", lambda: -1)
    with pytest.raises(LedgerError, match="fork"):
        ledger.reserve([TALK], 1.0)


def test_a_file_of_an_earlier_version_of_this_package_opens(
    used_ledger: Path, tmp_path: Path, clock: Clock
) -> None:
    """It was written with the same steps: nothing in the rows and their HMACs may have changed."""
    with (
        Ledger(made_from("ledger.sql", tmp_path / "earlier", 4), KEY, clock=clock) as earlier,
        Ledger(used_ledger, KEY, clock=clock) as used,
    ):
        assert earlier.export() == used.export()
        earlier.reserve([TALK], 5.0)
        with pytest.raises(BudgetExceeded):
            earlier.reserve([TALK], 1.0)
