"""Vaults that others use at the same time: in a file by processes, on PostgreSQL by replicas."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from sanitizer.storage.postgres_store import PostgresStore
from sanitizer.storage.stored_vault import FileVault, PostgresVault, StoredVault
from sanitizer.storage.table import Wanted
from sanitizer.storage.vault import placeholders
from tests.storage.postgres_server import PostgresServer
from tests.storage.vault_contract import ANNA, BERTA, KEY, PHONE, result

Opener = Callable[[], StoredVault]


@pytest.fixture(params=["file", "postgres"])
def opener(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Opener]:
    """Opens the same vault again, as another process or replica does."""
    with ExitStack() as stack:
        if request.param == "file":
            yield lambda: stack.enter_context(FileVault(tmp_path / "vault", KEY, numbers="from 1"))
        else:
            server: PostgresServer = request.getfixturevalue("postgres")

            def opened() -> StoredVault:
                store = PostgresStore(server.url, KEY, seconds=20.0)
                return PostgresVault(stack.enter_context(store), numbers="from 1")

            yield opened


def test_what_one_assigns_the_other_sees_at_once(opener: Opener) -> None:
    first, second = opener(), opener()
    assert first.secret == second.secret
    assert placeholders(first, "c", [ANNA]) == ["<EMAIL_1>"]
    assert placeholders(second, "c", [BERTA, ANNA]) == ["<EMAIL_2>", "<EMAIL_1>"]
    assert first.originals("c") == {"<EMAIL_1>": ANNA[1], "<EMAIL_2>": BERTA[1]}
    assert placeholders(first, "c", [PHONE, BERTA]) == ["<PHONE_1>", "<EMAIL_2>"]
    assert second.originals("c")["<PHONE_1>"] == PHONE[1]
    kept = first.put_first(b"k", result("one", ANNA[1]))
    assert second.put_first(b"k", result("two")) == kept == second.get(b"k")


def test_what_one_forgets_is_gone_and_its_numbers_are_not_used_again(opener: Opener) -> None:
    first, second = opener(), opener()
    placeholders(first, "c", [ANNA, BERTA])
    placeholders(first, "d", [PHONE])
    for key, conversation in ((b"1", "c"), (b"2", "d")):
        first.put_first(key, result(conversation), conversation)
    assert len(second.originals("c")) == 2
    first.forget("c")
    first.forget("no such conversation")
    assert first.originals("c") == second.originals("c") == {}
    assert [second.get(key) for key in (b"1", b"2")] == [None, result("d")]
    assert second.originals("d") == {"<PHONE_1>": PHONE[1]}
    assert placeholders(second, "c", [BERTA]) == ["<EMAIL_3>"]
    assert first.originals("c") == opener().originals("c") == {"<EMAIL_3>": BERTA[1]}


@pytest.mark.parametrize("earlier", [[], [PHONE]], ids=["new conversation", "known one"])
@pytest.mark.parametrize(
    ("theirs", "expected"),
    [(None, "<EMAIL_1>"), (ANNA, "<EMAIL_1>"), (BERTA, "<EMAIL_2>")],
    ids=["alone", "the same thing", "another thing"],
)
def test_what_the_other_assigned_after_the_table_was_read_comes_first(
    opener: Opener,
    earlier: list[tuple[str, str]],
    theirs: tuple[str, str] | None,
    expected: str,
) -> None:
    first, second = opener(), opener()
    placeholders(first, "c", earlier)
    with first.edit("c") as table:
        if theirs:
            placeholders(second, "c", [theirs])
        assert table.hide(Wanted(*ANNA)) == expected
    things = {original for _, original in (ANNA, *earlier, *([theirs] if theirs else []))}
    fresh = opener().originals("c")
    assert fresh == first.originals("c") == second.originals("c")
    assert set(fresh.values()) == things
    assert len(fresh) == len(things)


def test_they_never_give_two_stand_ins_to_one_thing(opener: Opener) -> None:
    vaults = [opener(), opener()]

    def work(number: int) -> list[str]:
        wanted = [("EMAIL", f"{i}@example.org") for i in range(number % 5, number % 5 + 4)]
        return placeholders(vaults[number % 2], "c", wanted)

    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(work, range(30)))
    pairs = {
        (f"{number % 5 + i}@example.org", value)
        for number, values in enumerate(found)
        for i, value in enumerate(values)
    }
    assert len(pairs) == 8
    assert {value: original for original, value in pairs} == vaults[0].originals("c")
