"""On PostgreSQL a message is charged once, however often it is tried and by whom."""

from __future__ import annotations

import pytest

from sanitizer.errors import BudgetExceeded, LedgerError
from sanitizer.storage.ledger import DAY, PostgresLedger, Reservation
from sanitizer.storage.postgres_store import PostgresStore
from sanitizer.storage.stored_vault import PostgresVault
from tests.storage.ledgers import ADA, TALK
from tests.storage.postgres_server import PostgresServer
from tests.storage.vault_contract import result

K = b"key of a message"


@pytest.fixture
def ledger(store: PostgresStore) -> PostgresLedger:
    ledger = PostgresLedger(store)
    ledger.set_limit(TALK, 10.0)
    return ledger


def reserve(ledger: PostgresLedger, key: bytes | None = K) -> Reservation:
    return ledger.reserve([TALK, ADA, DAY], 4.0, key)


def sums(ledger: PostgresLedger) -> tuple[float, float]:
    ledger.check()
    balance = ledger.balance(TALK)
    return balance.spent, balance.reserved


def test_whoever_tries_again_joins_the_charge_of_one_who_died(ledger: PostgresLedger) -> None:
    reserve(ledger)
    again = reserve(ledger)
    assert sums(ledger) == (0.0, 4.0)
    again.commit()
    assert sums(ledger) == (4.0, 0.0)


def test_of_two_that_draw_at_once_one_is_kept_and_one_is_paid(
    ledger: PostgresLedger, store: PostgresStore
) -> None:
    vault = PostgresVault(store)
    first, second = reserve(ledger), reserve(ledger)
    assert vault.put_first(K, result("second"), "c").text == "second"
    second.commit()
    assert vault.put_first(K, result("first"), "c").text == "second"
    first.release()
    assert sums(ledger) == (4.0, 0.0)
    reserve(ledger).release()  # it was found meanwhile: nothing is charged, nothing given back
    assert sums(ledger) == (4.0, 0.0)


@pytest.mark.parametrize("order", [[0, 1], [1, 0]])
def test_the_loser_may_settle_first(
    ledger: PostgresLedger, store: PostgresStore, order: list[int]
) -> None:
    held = [reserve(ledger), reserve(ledger)]
    PostgresVault(store).put_first(K, result("x"), "c")
    for i in order:
        held[i].commit() if i else held[i].release()
    assert sums(ledger) == (4.0, 0.0)


def test_a_charge_that_someone_else_uses_is_not_given_back(ledger: PostgresLedger) -> None:
    first, second = reserve(ledger), reserve(ledger)
    first.release()
    assert sums(ledger) == (0.0, 4.0)
    second.release()
    assert sums(ledger) == (0.0, 0.0)
    reserve(ledger)
    assert sums(ledger) == (0.0, 4.0)


def test_a_kept_result_is_never_given_back(ledger: PostgresLedger, store: PostgresStore) -> None:
    held = reserve(ledger)
    PostgresVault(store).put_first(K, result("x"), "c")
    held.release()
    assert sums(ledger) == (0.0, 4.0)


def test_a_message_that_was_dropped_is_charged_anew(
    ledger: PostgresLedger, store: PostgresStore
) -> None:
    vault = PostgresVault(store)
    reserve(ledger).commit()
    vault.put_first(K, result("x"), "c")
    vault.forget("c")
    reserve(ledger)
    assert sums(ledger) == (4.0, 4.0)
    with pytest.raises(BudgetExceeded):
        reserve(ledger, b"another key")
    assert sums(ledger) == (4.0, 4.0)


def test_without_a_key_every_reservation_is_another_one(ledger: PostgresLedger) -> None:
    reserve(ledger, None)
    reserve(ledger, None)
    assert sums(ledger) == (0.0, 8.0)


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE sanitizer.account SET spent = 0",
        "UPDATE sanitizer.account SET reserved = 0",
        "UPDATE sanitizer.account SET cap = 1000000000000 WHERE kind = 'conversation'",
        "UPDATE sanitizer.meta SET day = day + 1",
        "UPDATE sanitizer.charge SET amount = 1",
        "UPDATE sanitizer.charge SET accounts = substr(accounts, 1, 32)",
    ],
)
def test_an_edited_row_is_an_error(
    ledger: PostgresLedger, postgres: PostgresServer, damage: str
) -> None:
    reserve(ledger).commit()
    open_one = reserve(ledger, b"open")
    postgres.sql(damage)

    def touch() -> None:
        open_one.commit()
        reserve(ledger, b"more")

    with pytest.raises(LedgerError, match="damaged or edited"):
        touch()


def test_a_missing_charge_or_balance_is_found_by_the_check(
    ledger: PostgresLedger, postgres: PostgresServer
) -> None:
    reserve(ledger).commit()
    ledger.check()
    postgres.sql("DELETE FROM sanitizer.charge")
    with pytest.raises(LedgerError, match="not the sum"):
        ledger.check()


def test_the_servers_own_setting_does_not_weaken_a_grant(
    ledger: PostgresLedger, store: PostgresStore, postgres: PostgresServer
) -> None:
    """The server of the tests has synchronous_commit = off."""
    assert postgres.sql("SHOW synchronous_commit").strip() == "off"
    (row,) = store.database.read(LedgerError, "SHOW synchronous_commit")
    assert row[0] == "on"
