"""What is kept in a file is there after reopening; what was forgotten is gone."""

from __future__ import annotations

import math
import os
import sqlite3
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sanitizer.errors import VaultError
from sanitizer.storage.stored_vault import FileVault
from sanitizer.storage.table import Wanted
from sanitizer.storage.vault import Vault, placeholders
from tests.storage.files import contents
from tests.storage.vault_contract import (
    ANNA,
    BERTA,
    KEY,
    VaultContract,
    result,
)


class TestFileVault(VaultContract):
    def make(self, folder: Path, max_messages: int = 100, max_entries: int = 100) -> Vault:
        return FileVault(folder / "vault", KEY, max_messages=max_messages, max_entries=max_entries)


TEXTS = st.text(st.characters(), max_size=30)


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    conversation=TEXTS,
    wanted=st.lists(st.tuples(st.sampled_from(["EMAIL", "TEXT"]), TEXTS), max_size=6),
    text=TEXTS,
)
def test_everything_is_there_after_reopening(
    tmp_path: Path, conversation: str, wanted: list[tuple[str, str]], text: str
) -> None:
    """Any text at all, lone surrogates and zeros too."""
    folder = tmp_path / os.urandom(8).hex()
    folder.mkdir()
    kept = result(text, *(original for _, original in wanted), epsilon_total=0.1, charged=-math.inf)
    with FileVault(folder / "vault", KEY) as first:
        values = placeholders(first, conversation, wanted)
        first.put_first(text.encode("utf-8", "surrogatepass"), kept)
        secret = first.secret
    with FileVault(folder / "vault", KEY, create=False) as again:
        assert again.secret == secret
        assert again.originals(conversation) == {
            v: o for v, (_, o) in zip(values, wanted, strict=True)
        }
        assert placeholders(again, conversation, wanted) == values
        assert again.get(text.encode("utf-8", "surrogatepass")) == kept


@pytest.mark.parametrize("limit", ["_most", "_most_entries"])
def test_more_conversations_than_the_cache_holds(
    vault: FileVault, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    monkeypatch.setattr(vault._cache, limit, 2)
    for _ in range(2):
        for i in range(5):
            placeholders(vault, str(i), [("TEXT", str(i))])
            assert len(vault._cache._kept) <= 2
    assert [vault.originals(str(i)) for i in range(5)] == [{"<TEXT_1>": str(i)} for i in range(5)]


# Forgetting


def test_messages_without_a_conversation_go_with_the_next_that_is_forgotten(
    vault: FileVault,
) -> None:
    for key, conversation in ((b"1", None), (b"2", "d")):
        vault.put_first(key, result("one"), conversation)
    vault.forget("c")
    assert [vault.get(key) for key in (b"1", b"2")] == [None, result("one")]


def test_forgetting_makes_room(vault_path: Path) -> None:
    with FileVault(vault_path, KEY, max_entries=1) as vault:
        placeholders(vault, "c", [ANNA])
        with pytest.raises(VaultError, match="full"):
            placeholders(vault, "d", [BERTA])
        vault.forget("c")
        assert placeholders(vault, "d", [BERTA]) == ["<EMAIL_2>"]


def test_forgotten_rows_leave_no_bytes(vault: FileVault, vault_path: Path) -> None:
    placeholders(vault, "c", [ANNA])
    vault.put_first(b"1", result("one"), "c")
    db = sqlite3.connect(vault_path)
    bodies = [
        body for (body,) in db.execute("SELECT body FROM entry UNION ALL SELECT body FROM message")
    ]
    db.close()
    assert all(any(body[:32] in content for content in contents(vault_path)) for body in bodies)
    vault.forget("c")
    assert not any(
        body[i : i + 16] in content
        for content in contents(vault_path)
        for body in bodies
        for i in (0, 32, 64)
    )


def test_a_block_that_assigns_nothing_writes_nothing(tmp_path: Path) -> None:
    with FileVault(tmp_path / "vault", KEY) as vault:
        placeholders(vault, "c", [ANNA])
    before = (tmp_path / "vault").read_bytes()
    with FileVault(tmp_path / "vault", KEY) as vault:
        for name in ("c", "d"):
            with vault.edit(name) as table:
                assert table.find(Wanted(*BERTA)) is None
        assert not (tmp_path / "vault-wal").stat().st_size
    assert (tmp_path / "vault").read_bytes() == before
