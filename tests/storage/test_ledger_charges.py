"""A charge with a name is made once, for each scope its own amount, all of them or none."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from sanitizer.errors import BudgetExceeded, LedgerError
from sanitizer.storage.ledger import NANO, Ledger
from tests.storage.files import edit
from tests.storage.ledgers import ADA, KEY, OTHER, TALK

NAME = b"a name of 16 b.."


def test_each_scope_is_charged_its_own_amount_exactly(ledger: Ledger) -> None:
    assert ledger.charge_once({ADA: Fraction(1, 3), OTHER: Fraction(5)}, NAME)
    (ada,) = [row for row in ledger.export() if row.get("spent") == NANO // 3 + 1]
    assert ada["kind"] == ADA.kind
    assert ledger.balance(OTHER).spent == 5.0


def test_a_charge_is_made_once_also_by_another_process(ledger: Ledger, tmp_path: Path) -> None:
    path = tmp_path / "named"
    with Ledger.create(path, KEY) as first, Ledger(path, KEY) as second:
        assert first.charge_once({ADA: Fraction(2)}, NAME)
        assert not second.charge_once({ADA: Fraction(2)}, NAME)
        assert second.charge_once({ADA: Fraction(2)}, b"another name")
        assert first.balance(ADA).spent == 4.0


def test_nothing_is_charged_if_one_scope_has_not_enough_left(ledger: Ledger) -> None:
    ledger.set_limit(OTHER, 1.0)
    with pytest.raises(BudgetExceeded):
        ledger.charge_once({ADA: Fraction(2), OTHER: Fraction(2)}, NAME)
    assert ledger.balance(ADA).spent == 0.0
    ledger.set_limit(OTHER, 2.0)
    assert ledger.charge_once({ADA: Fraction(2), OTHER: Fraction(2)}, NAME)


def test_a_charge_that_was_made_is_no_question_of_what_is_left(ledger: Ledger) -> None:
    ledger.set_limit(TALK, 2.0)
    assert ledger.charge_once({TALK: Fraction(2)}, NAME)
    assert not ledger.charge_once({TALK: Fraction(2)}, NAME)


def test_a_deleted_charge_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "named"
    with Ledger.create(path, KEY) as ledger:
        ledger.charge_once({ADA: Fraction(2)}, NAME)
        edit(path, "DELETE FROM charge")
        with pytest.raises(LedgerError, match="rows are missing"):
            ledger.charge_once({ADA: Fraction(2)}, NAME)


@pytest.mark.parametrize("amount", [Fraction(0), Fraction(-1), Fraction(10**10)])
def test_amounts_are_positive_and_finite(ledger: Ledger, amount: Fraction) -> None:
    with pytest.raises(ValueError, match="epsilon must be positive"):
        ledger.charge_once({ADA: amount}, NAME)
