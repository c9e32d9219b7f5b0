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
from sanitizer.storage.file_vault import FileVault
from sanitizer.storage.table import Wanted
from sanitizer.storage.vault import Vault, placeholders
from tests.storage.files import contents
from tests.storage.vault_contract import (
    ANNA,
    BERTA,
    KEY,
    PHONE,
    VaultContract,
    placeholder,
    result,
    substitutes,
)


class TestFileVault(VaultContract):
    def make(self, folder: Path, max_messages: int = 100, max_entries: int = 100) -> Vault:
        return FileVault(folder / "vault", KEY, max_messages=max_messages, max_entries=max_entries)

    def test_a_full_conversation_refuses_and_assigns_nothing(self, tmp_path: Path) -> None:
        vault = self.make(tmp_path, max_entries=2)
        substitutes(vault, "c", [ANNA], placeholder)
        with pytest.raises(VaultError, match="max_entries=2"):
            substitutes(vault, "c", [BERTA, PHONE], placeholder)
        assert vault.originals("c") == {"<EMAIL_1>": ANNA[1]}
        assert substitutes(vault, "c", [BERTA], placeholder) == ["<EMAIL_2>"]


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
        values = substitutes(first, conversation, wanted, placeholder)
        first.put_first(text.encode("utf-8", "surrogatepass"), kept)
        secret = first.secret
    with FileVault(folder / "vault", KEY, create=False) as again:
        assert again.secret == secret
        assert again.originals(conversation) == {
            v: o for v, (_, o) in zip(values, wanted, strict=True)
        }
        assert substitutes(again, conversation, wanted, placeholder) == values
        assert again.get(text.encode("utf-8", "surrogatepass")) == kept


def test_numbers_go_on_after_reopening(vault_path: Path) -> None:
    for number in range(1, 4):
        with FileVault(vault_path, KEY) as vault:
            assert substitutes(vault, "c", [("EMAIL", f"{number}@example.org")], placeholder) == [
                f"<EMAIL_{number}>"
            ]


def test_what_another_opening_writes_is_seen_at_once(vault: FileVault, vault_path: Path) -> None:
    substitutes(vault, "c", [ANNA], placeholder)
    with FileVault(vault_path, KEY) as other:
        assert substitutes(other, "c", [BERTA, ANNA], placeholder) == ["<EMAIL_2>", "<EMAIL_1>"]
        assert vault.originals("c") == {"<EMAIL_1>": ANNA[1], "<EMAIL_2>": BERTA[1]}
        assert substitutes(vault, "c", [PHONE, BERTA], placeholder) == ["<PHONE_1>", "<EMAIL_2>"]
        assert other.originals("c")["<PHONE_1>"] == PHONE[1]


def test_a_conversation_forgotten_and_begun_again_elsewhere_is_read_afresh(
    vault: FileVault, vault_path: Path
) -> None:
    substitutes(vault, "c", [ANNA], placeholder)
    with FileVault(vault_path, KEY) as other:
        other.forget("c")
        substitutes(other, "c", [BERTA], placeholder)
    assert vault.originals("c") == {"<EMAIL_2>": BERTA[1]}


@pytest.mark.parametrize("limit", ["_most", "_most_entries"])
def test_more_conversations_than_the_cache_holds(
    vault: FileVault, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    monkeypatch.setattr(vault._cache, limit, 2)
    for _ in range(2):
        for i in range(5):
            substitutes(vault, str(i), [("TEXT", str(i))], placeholder)
            assert len(vault._cache._kept) <= 2
    assert [vault.originals(str(i)) for i in range(5)] == [{"<TEXT_1>": str(i)} for i in range(5)]


# Forgetting


def test_what_is_forgotten_is_not_restored_and_its_numbers_are_not_used_again(
    vault: FileVault, vault_path: Path
) -> None:
    substitutes(vault, "c", [ANNA, BERTA], placeholder)
    substitutes(vault, "d", [PHONE], placeholder)
    vault.put_first(b"1", result("one"), "c")
    vault.put_first(b"2", result("two"))
    vault.put_first(b"3", result("three"), "d")
    vault.forget("c")
    assert vault.originals("c") == {}
    assert [vault.get(key) for key in (b"1", b"2", b"3")] == [None, None, result("three")]
    assert vault.originals("d") == {"<PHONE_1>": PHONE[1]}
    assert substitutes(vault, "c", [BERTA], placeholder) == ["<EMAIL_3>"]
    assert "1 messages, 2 identifiers" in repr(vault)
    vault.close()
    with FileVault(vault_path, KEY) as again:
        assert again.originals("c") == {"<EMAIL_3>": BERTA[1]}


def test_forgetting_makes_room(vault_path: Path) -> None:
    with FileVault(vault_path, KEY, max_entries=1) as vault:
        substitutes(vault, "c", [ANNA], placeholder)
        with pytest.raises(VaultError, match="full"):
            substitutes(vault, "d", [BERTA], placeholder)
        vault.forget("c")
        assert substitutes(vault, "d", [BERTA], placeholder) == ["<EMAIL_2>"]


def test_forgotten_rows_leave_no_bytes(vault: FileVault, vault_path: Path) -> None:
    substitutes(vault, "c", [ANNA], placeholder)
    vault.put_first(b"1", result("one"), "c")
    db = sqlite3.connect(vault_path)
    bodies = [
        body for (body,) in db.execute("SELECT body FROM entry UNION ALL SELECT body FROM item")
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


def test_forgetting_what_is_not_there_changes_nothing(vault: FileVault) -> None:
    substitutes(vault, "c", [ANNA], placeholder)
    vault.forget("d")
    assert vault.originals("c") == {"<EMAIL_1>": ANNA[1]}


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
