"""Texts of a batch are conversations of their own, unless a name says that they belong together."""

from __future__ import annotations

import pickle

import pytest

from sanitizer import BudgetExceeded, Ledger, Sanitizer
from sanitizer.storage.vault import MemoryVault

ANNA, BOTH = "Mail anna@example.org", "Mail joe@example.org and anna@example.org"
ASTHMA = "She has asthma."


def texts(sanitizer: Sanitizer, together: bool | None = None) -> list[str]:
    return [each.text for each in sanitizer.sanitize_batch([ANNA, BOTH], together=together)]


def test_rows_of_an_unnamed_sanitizer_are_not_linked() -> None:
    apart = ["Mail <EMAIL_1>", "Mail <EMAIL_1> and <EMAIL_2>"]
    assert texts(Sanitizer(policy="identifiers")) == apart
    assert texts(Sanitizer(policy="identifiers", conversation="c"), together=False) == apart


def test_a_name_or_the_caller_says_that_rows_belong_together() -> None:
    linked = ["Mail <EMAIL_1>", "Mail <EMAIL_2> and <EMAIL_1>"]
    assert texts(Sanitizer(policy="identifiers", conversation="c")) == linked
    assert texts(Sanitizer(policy="identifiers").derive(conversation="c")) == linked
    assert texts(Sanitizer(policy="identifiers"), together=True) == linked


@pytest.mark.usefixtures("apart")
def test_each_answer_is_restored_by_its_own_row() -> None:
    sanitizer = Sanitizer(policy="identifiers")
    first, second = sanitizer.sanitize_batch([ANNA, BOTH])
    assert sanitizer.restore(first.text, first) == ANNA
    assert sanitizer.restore(second.text, second) == BOTH
    assert sanitizer.restore(second.text, first) == second.text
    assert "".join(sanitizer.restored_stream(second.text, second)) == BOTH
    assert sanitizer.restore(first.text) == first.text, "which row it answers is not known"
    again = pickle.loads(pickle.dumps(second))  # noqa: S301
    assert sanitizer.restore(second.text, again) == BOTH, "the vault has what a pickle has not"


def test_a_row_that_the_vault_forgot_is_restored_by_its_result() -> None:
    sanitizer = Sanitizer(policy="identifiers", vault=MemoryVault(max_entries=2))
    first, second = sanitizer.sanitize_batch([ANNA, BOTH])
    assert not sanitizer.inner.vault.originals(first.conversation)
    assert sanitizer.restore(first.text, first) == ANNA
    assert sanitizer.restore(second.text, second) == BOTH


def test_each_row_draws_and_pays_for_itself() -> None:
    apart = Sanitizer(policy="guarded", budget=20.0)
    records = [each.record for each in apart.sanitize_batch([ASTHMA, ASTHMA])]
    assert [(r.charged, r.conversation_epsilon) for r in records] == [(5, 5), (5, 5)]
    assert apart.spent == 10
    linked = Sanitizer(policy="guarded", budget=20.0)
    records = [each.record for each in linked.sanitize_batch([ASTHMA, ASTHMA], together=True)]
    assert [(r.charged, r.conversation_epsilon) for r in records] == [(5, 5), (0, 5)]
    assert linked.spent == 5


def test_the_cap_of_draws_counts_in_each_row() -> None:
    rows = ["She has asthma. He has gout. I have lupus. You have measles."] * 2
    results = Sanitizer(policy="guarded").sanitize_batch(rows)
    assert [each.record.n_drawn for each in results] == [3, 3]


@pytest.mark.slow
def test_a_ledger_is_charged_for_all_rows(tmp_path: object) -> None:
    with Ledger.create(f"{tmp_path}/ledger", b"a key of sixteen bytes") as ledger:
        sanitizer = Sanitizer(policy="guarded", budget=12.0, ledger=ledger, conversation="job")
        with pytest.raises(BudgetExceeded) as refused:
            sanitizer.sanitize_batch([ASTHMA] * 3, together=False)
        assert [each.record.charged for each in refused.value.released] == [5, 5]
        assert sanitizer.spent == 10


def test_words_that_are_drawn_one_by_one_are_treated_together() -> None:
    sanitizer = Sanitizer(policy="strict")
    one, two = sanitizer.sanitize_batch(["I live in Leeds."] * 2)
    assert one.text == two.text
    assert two.record.charged == 0


def test_many_rows_cost_no_more_each() -> None:
    vault = MemoryVault(max_entries=3)
    sanitizer = Sanitizer(policy="identifiers", vault=vault)
    rows = (f"Mail a{i}@example.org" for i in range(500))
    assert {each.text for each in sanitizer.sanitize_stream(rows)} >= {"Mail <EMAIL_1>"}
    assert "3 identifiers" in repr(vault)
