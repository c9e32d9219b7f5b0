"""Sanitizers of two replicas: one output for each text, paid once, whoever is first or dies."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from sanitizer import Policy, Sanitizer
from sanitizer.answers.alignment import Piece
from sanitizer.lm.masked import OnnxMaskedLM
from sanitizer.pipeline.record import answer_record
from sanitizer.pipeline.response_memory import Passage, Resent, ResponseMemory
from sanitizer.storage.ledger import DAY, PostgresLedger, Scope
from sanitizer.storage.postgres_store import PostgresStore
from sanitizer.storage.stored_vault import PostgresVault
from tests.storage.postgres_server import PostgresServer
from tests.storage.vault_contract import KEY

PROMPT = "My father Peter has hepatitis and lives in Leeds."
OWNER = Scope("user", "ada")


@pytest.fixture
def both(
    postgres: PostgresServer, store: PostgresStore, model: OnnxMaskedLM
) -> Iterator[list[Sanitizer]]:
    with PostgresStore(postgres.url, KEY, seconds=20.0) as other:
        yield [
            Sanitizer(
                model=model,
                policy="words",
                vault=PostgresVault(each),
                ledger=PostgresLedger(each),
                conversation="c",
                scopes=(OWNER, DAY),
            )
            for each in (store, other)
        ]


def test_a_text_is_drawn_and_paid_once_by_all_replicas(
    both: list[Sanitizer], store: PostgresStore
) -> None:
    with ThreadPoolExecutor(6) as pool:
        texts = set(pool.map(lambda i: both[i % 2].sanitize(PROMPT).text, range(12)))
    ledger = PostgresLedger(store)
    ledger.check()
    balance = ledger.balance(OWNER)
    assert (len(texts), balance.spent, balance.reserved) == (1, 15.0, 0.0)


def test_who_dies_after_paying_leaves_the_charge_to_who_tries_again(
    both: list[Sanitizer], store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = PostgresLedger(store)
    reserve = PostgresLedger.reserve

    def dies(*arguments: object, **named: object) -> object:
        reserve(*arguments, **named)  # type: ignore[arg-type]
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(PostgresLedger, "reserve", dies)
        with pytest.raises(KeyboardInterrupt):
            both[0].sanitize(PROMPT)
    assert ledger.balance(OWNER).reserved == 15.0
    both[1].sanitize(PROMPT)
    ledger.check()
    assert (ledger.balance(OWNER).spent, ledger.balance(OWNER).reserved) == (15.0, 0.0)


def test_another_policy_is_recorded_and_changes_no_stand_in(
    both: list[Sanitizer], store: PostgresStore, postgres: PostgresServer
) -> None:
    texts = []
    for policy in ("guarded", "deidentify"):
        about = both[0].derive(policy=policy).inner.digest
        each = both[0].derive(policy=policy, vault=PostgresVault(store, about))
        texts.append(each.sanitize("My father Peter has hepatitis.").text)
    assert texts[0].replace("hepatitis", "") != texts[1]
    assert texts[0].split()[2] == texts[1].split()[2] == "<PERSON_1>"
    about = postgres.sql("SELECT about FROM sanitizer.charge").strip()
    assert about == both[0].derive(policy="guarded").inner.digest


def answer_of(number: int) -> Passage:
    text = f"The answer number {number} is told here to all of you."
    return Passage("assistant", text, text, (Piece(text, text),), number)


def knows(memory: ResponseMemory, answer: Passage, conversation: str = "c") -> bool:
    (found,) = memory.align(conversation, [Resent("assistant", answer.shown)], sends=False)
    return found == answer.sent


def test_the_latest_answers_are_known_though_the_first_were_dropped(store: PostgresStore) -> None:
    """A vault drops the oldest of a conversation: another replica begins where its turns begin."""
    record = answer_record(Policy.preset("identifiers"))
    first = ResponseMemory(PostgresVault(store, max_messages=150), record)
    for number in range(420):
        first.remember("c", [answer_of(number)])
    second = ResponseMemory(PostgresVault(store, max_messages=150), record)
    assert knows(second, answer_of(300))
    assert knows(second, answer_of(419))
    assert not knows(second, answer_of(10))
    assert second.n_turns("c") == 420
    second.remember("c", [answer_of(420)])
    assert knows(first, answer_of(420))


def test_a_conversation_that_is_forgotten_takes_its_answers_along(store: PostgresStore) -> None:
    record, vault = answer_record(Policy.preset("identifiers")), PostgresVault(store)
    for conversation in ("c", "d"):
        ResponseMemory(vault, record).remember(conversation, [answer_of(1)])
    vault.forget("c")
    again = ResponseMemory(vault, record)
    assert not knows(again, answer_of(1))
    assert knows(again, answer_of(1), "d")
