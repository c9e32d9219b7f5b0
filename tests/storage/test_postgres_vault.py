"""The vault on PostgreSQL keeps what every vault keeps, for all processes at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from sanitizer.errors import BudgetExceeded, VaultError
from sanitizer.storage.ledger import DAY, Scope
from sanitizer.storage.postgres.ledger import PostgresLedger
from sanitizer.storage.postgres.store import PostgresStore
from sanitizer.storage.postgres.vault import PostgresVault
from sanitizer.storage.table import Drawn, Entries, Wanted
from sanitizer.storage.vault import Vault, placeholders
from tests.storage.ledgers import ADA, TALK
from tests.storage.postgres_server import PostgresServer
from tests.storage.vault_contract import (
    ANNA,
    BERTA,
    KEY,
    PHONE,
    Make,
    VaultContract,
    placeholder,
    result,
    substitutes,
)

ILLNESS = Wanted("CONDITION", "hepatitis")


class TestPostgresVault(VaultContract):
    store: PostgresStore

    @pytest.fixture(autouse=True)
    def opened(self, store: PostgresStore) -> None:
        self.store = store

    def make(self, folder: Path, max_messages: int = 100, max_entries: int = 100) -> Vault:
        return PostgresVault(self.store, max_messages=max_messages, max_entries=max_entries)

    def test_a_full_conversation_refuses_and_assigns_nothing(self, tmp_path: Path) -> None:
        vault = self.make(tmp_path, max_entries=2)
        substitutes(vault, "c", [ANNA], placeholder)
        with pytest.raises(VaultError, match="max_entries=2"):
            substitutes(vault, "c", [BERTA, PHONE], placeholder)
        assert substitutes(vault, "c", [BERTA], placeholder) == ["<EMAIL_2>"]
        assert substitutes(vault, "d", [BERTA], placeholder) == ["<EMAIL_1>"], "the table is full"


@pytest.fixture
def other(postgres: PostgresServer, store: PostgresStore) -> Iterator[PostgresStore]:
    """Another replica."""
    with PostgresStore(postgres.url, KEY, create=False, seconds=20.0) as opened:
        yield opened


def test_replicas_give_the_same_answers(store: PostgresStore, other: PostgresStore) -> None:
    first, second = PostgresVault(store), PostgresVault(other)
    assert first.secret == second.secret
    assert substitutes(first, "c", [ANNA, BERTA], placeholder) == ["<EMAIL_1>", "<EMAIL_2>"]
    assert substitutes(second, "c", [BERTA, PHONE], placeholder) == ["<EMAIL_2>", "<PHONE_1>"]
    assert first.originals("c") == second.originals("c")
    assert len(first.originals("c")) == 3
    kept = first.put_first(b"k", result("one", ANNA[1]))
    assert second.put_first(b"k", result("two")) == kept == second.get(b"k")


def test_replicas_that_race_never_give_two_stand_ins(
    store: PostgresStore, other: PostgresStore
) -> None:
    vaults = [PostgresVault(each) for each in (store, other)]

    def work(number: int) -> list[str]:
        wanted = [("EMAIL", f"{i}@example.org") for i in range(number % 5, number % 5 + 4)]
        return substitutes(vaults[number % 2], "c", wanted, placeholder)

    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(work, range(30)))
    pairs = {
        (f"{number % 5 + i}@example.org", value)
        for number, values in enumerate(found)
        for i, value in enumerate(values)
    }
    assert len(pairs) == 8
    assert {value: original for original, value in pairs} == vaults[0].originals("c")


def test_what_was_forgotten_is_gone_everywhere_and_its_numbers_too(
    store: PostgresStore, other: PostgresStore
) -> None:
    first, second = PostgresVault(store), PostgresVault(other)
    substitutes(first, "c", [ANNA], placeholder)
    first.put_first(b"k", result("one"), "c")
    first.put_first(b"l", result("two"), "d")
    assert second.originals("c") == {"<EMAIL_1>": ANNA[1]}
    first.forget("c")
    assert second.originals("c") == {}
    assert (second.get(b"k"), second.get(b"l")) == (None, result("two"))
    assert substitutes(second, "c", [BERTA], placeholder) == ["<EMAIL_2>"]


# ---- charging with what is drawn ----


def paying(ledger: PostgresLedger, value: str, epsilon: float = 2.5) -> Make:
    def make(kind: str, original: str, number: int, table: Entries) -> str:
        ledger.reserve([TALK, DAY], epsilon).commit()
        return Drawn(value, epsilon)

    return make


def test_a_stand_in_is_kept_if_and_only_if_it_was_charged(store: PostgresStore) -> None:
    vault, ledger = PostgresVault(store, "digest"), PostgresLedger(store)
    assert substitutes(vault, "c", [ILLNESS], paying(ledger, "gout")) == ["gout"]
    assert ledger.balance(TALK).spent == ledger.balance(DAY).spent == 2.5

    def fails(kind: str, original: str, number: int, table: Entries) -> str:
        paying(ledger, "lupus")(kind, original, number, table)
        raise KeyError

    with pytest.raises(KeyError):
        substitutes(vault, "c", [Wanted("CONDITION", "asthma")], fails)
    assert ledger.balance(TALK).spent == 2.5
    assert vault.originals("c") == {"gout": "hepatitis"}
    ledger.check()


def test_what_the_budget_refuses_is_not_drawn(store: PostgresStore) -> None:
    vault, ledger = PostgresVault(store), PostgresLedger(store)
    ledger.set_limit(TALK, 4.0)
    wanted = [ILLNESS, Wanted("CONDITION", "asthma")]

    def make(kind: str, original: str, number: int, table: Entries) -> str:
        return paying(ledger, f"drawn for {original}")(kind, original, number, table)

    with pytest.raises(BudgetExceeded):
        substitutes(vault, "c", wanted, make)
    assert vault.originals("c") == {}
    assert ledger.balance(TALK).spent == ledger.balance(DAY).spent == 0.0


def test_replicas_that_draw_one_thing_at_once_pay_once(
    store: PostgresStore, other: PostgresStore
) -> None:
    stores = [store, other]

    def work(number: int) -> str:
        each = stores[number % 2]
        make = paying(PostgresLedger(each), f"drawn {number}", 0.123456789)
        return substitutes(PostgresVault(each), "c", [ILLNESS], make)[0]

    with ThreadPoolExecutor(6) as pool:
        assert len(set(pool.map(work, range(12)))) == 1
    ledger = PostgresLedger(store)
    assert ledger.balance(TALK).spent == ledger.balance(DAY).spent == 0.123456789
    ledger.check()


def test_digests_lie_beside_the_charge_and_change_nothing(
    postgres: PostgresServer, store: PostgresStore
) -> None:
    for about in ("policy one", "policy two"):
        make = paying(PostgresLedger(store), "gout")
        assert substitutes(PostgresVault(store, about), "c", [ILLNESS], make) == ["gout"]
    assert postgres.sql("SELECT about FROM sanitizer.charge").split("\n")[0] == "policy one"


# ---- what may befall rows ----


def test_nothing_private_is_in_the_database(postgres: PostgresServer, store: PostgresStore) -> None:
    vault = PostgresVault(store)
    substitutes(vault, "talk of ada", [ANNA, BERTA], placeholder)
    vault.put_first(b"k", result("hello", ANNA[1]), "talk of ada")
    PostgresLedger(store).reserve([ADA], 1.0)
    tables = ("conversation", "entry", "message", "account", "charge", "keyring", "meta")
    found = "".join(postgres.sql(f"SELECT * FROM sanitizer.{name}") for name in tables)  # noqa: S608
    shown = found + "".join(
        bytes.fromhex(word).decode("latin-1")
        for word in found.replace("|", "\n").replace("\\x", "").split("\n")
        if len(word) % 2 == 0 and word and set(word) <= set("0123456789abcdef")
    )
    assert len(found) > 1000
    for word in ("anna", "berta", "hello", "talk", "ada@", "EMAIL", KEY.decode()):
        assert word not in shown, word
    assert anything_open(postgres) == "0"


def anything_open(postgres: PostgresServer) -> str:
    """How many transactions of the store are still under way."""
    return postgres.sql(
        "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'sanitizer' "
        "AND state LIKE 'idle in%'"
    ).strip()


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE sanitizer.entry SET body = set_byte(body, 5, 255 - get_byte(body, 5))",
        "DELETE FROM sanitizer.entry WHERE place = 1",
        "DELETE FROM sanitizer.entry WHERE place = 2",
        "UPDATE sanitizer.entry SET place = 3 - place WHERE place < 3; ",
        "UPDATE sanitizer.conversation SET body = decode('00', 'hex')",
        "UPDATE sanitizer.conversation SET (seal, body) = (SELECT seal, body FROM sanitizer.entry "
        "LIMIT 1)",
        "UPDATE sanitizer.entry SET seal = overlay(seal placing decode('00000009', 'hex') from 1)",
    ],
)
def test_a_damaged_row_is_an_error(
    postgres: PostgresServer, store: PostgresStore, damage: str
) -> None:
    substitutes(PostgresVault(store), "c", [ANNA, BERTA], placeholder)
    if "3 - place" in damage:
        postgres.sql("ALTER TABLE sanitizer.entry DROP CONSTRAINT entry_pkey")
    postgres.sql(damage)
    for act in touching("c"):
        with pytest.raises(VaultError, match="damaged or edited"):
            act(PostgresVault(store))


def touching(name: str) -> list[Callable[[Vault], object]]:
    return [
        lambda vault: vault.originals(name),
        lambda vault: substitutes(vault, name, [ANNA, PHONE], placeholder),
    ]


def test_a_message_of_another_place_is_an_error(
    postgres: PostgresServer, store: PostgresStore
) -> None:
    vault = PostgresVault(store)
    for key in (b"1", b"2"):
        vault.put_first(key, result(key.decode()))
    postgres.sql("UPDATE sanitizer.message SET id = set_byte(id, 0, 255 - get_byte(id, 0))")
    assert vault.get(b"1") is None
    postgres.sql(
        "UPDATE sanitizer.message SET body = (SELECT body FROM sanitizer.message LIMIT 1), "
        "id = set_byte(id, 0, 255 - get_byte(id, 0))"
    )
    with pytest.raises(VaultError, match="damaged"):
        [vault.get(key) for key in (b"1", b"2")]


def test_a_user_has_messages_that_nobody_else_pushes_out(store: PostgresStore) -> None:
    vault = PostgresVault(store, max_messages=2)
    vault.put_first(b"mine", result("mine"), "c")
    for number in range(9):
        vault.put_first(b"%d" % number, result("theirs"), "d")
    assert vault.get(b"mine") == result("mine")
    assert vault.get(b"0") is None


def test_scopes_of_one_kind_are_told_apart(store: PostgresStore) -> None:
    ledger = PostgresLedger(store)
    ledger.reserve([Scope("user", "a"), Scope("team", "a")], 1.0).commit()
    ledger.reserve([Scope("user", "a")], 1.0).commit()
    assert ledger.balance(Scope("team", "a")).spent == 1.0


def test_a_block_reads_a_table_once_and_sees_what_it_assigns(
    store: PostgresStore, other: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = PostgresVault(store), PostgresVault(other)
    statements: list[str] = []
    read = type(store.database).read

    def counted(database: object, error: type, statement: str, *values: object) -> list[object]:
        statements.append(statement)
        return read(database, error, statement, *values)  # type: ignore[arg-type]

    with first.read_once("c"):
        assert not first.originals("c")
        (email,) = substitutes(second, "c", [ANNA], placeholder)
        assert not first.originals("c"), "as if it had come later"
        # What is assigned is what the database has, whatever was read before.
        assert substitutes(first, "c", [ANNA, BERTA], placeholder)[0] == email
        monkeypatch.setattr(type(store.database), "read", counted)
        assert len(first.originals("c")) == 2
        assert substitutes(first, "c", [BERTA], placeholder) == ["<EMAIL_2>"]
        assert statements == []
    substitutes(second, "c", [PHONE], placeholder)
    statements.clear()
    assert len(first.originals("c")) == 3
    assert len(statements) == 2  # the conversation, and its new entry


@pytest.mark.parametrize("earlier", [[], [PHONE]], ids=["new conversation", "known one"])
@pytest.mark.parametrize(
    ("theirs", "expected"),
    [(None, "<EMAIL_1>"), (ANNA, "<EMAIL_1>"), (BERTA, "<EMAIL_2>")],
    ids=["alone", "the same thing", "another thing"],
)
def test_what_another_replica_assigned_after_the_table_was_read_comes_first(
    store: PostgresStore,
    other: PostgresStore,
    earlier: list[tuple[str, str]],
    theirs: tuple[str, str] | None,
    expected: str,
) -> None:
    first, second = PostgresVault(store, numbers="from 1"), PostgresVault(other, numbers="from 1")
    placeholders(first, "c", earlier)
    with first.read_once("c"):
        assert first.get(b"no such message") is None
        with first.edit("c") as table:
            if theirs:
                placeholders(second, "c", [theirs])
            assert table.hide(Wanted(*ANNA)) == expected
    things = {original for _, original in (ANNA, *earlier, *([theirs] if theirs else []))}
    fresh = PostgresVault(store, numbers="from 1").originals("c")
    assert fresh == first.originals("c") == second.originals("c")
    assert set(fresh.values()) == things
    assert len(fresh) == len(things)


def test_a_block_that_assigns_nothing_writes_nothing(
    postgres: PostgresServer, store: PostgresStore
) -> None:
    vault = PostgresVault(store)
    placeholders(vault, "c", [ANNA])
    before = postgres.sql("SELECT *, xmin FROM sanitizer.conversation")
    for name in ("c", "d"):
        with vault.edit(name) as table:
            assert table.find(Wanted(*BERTA)) is None
    assert postgres.sql("SELECT *, xmin FROM sanitizer.conversation") == before


def test_what_was_not_committed_is_not_seen(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault = PostgresVault(store)

    def failing(*_: object) -> None:
        raise VaultError("the database went away")

    with vault.read_once("c"):
        substitutes(vault, "c", [ANNA], placeholder)
        with monkeypatch.context() as broken:
            broken.setattr(vault, "_write", failing)
            with pytest.raises(VaultError):
                substitutes(vault, "c", [BERTA, PHONE], placeholder)
        assert len(vault.originals("c")) == 1
        assert substitutes(vault, "c", [PHONE, BERTA], placeholder) == ["<PHONE_1>", "<EMAIL_2>"]
