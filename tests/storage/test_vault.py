"""What the vault in memory keeps and forgets."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from sanitizer.pipeline.record import answer_record
from sanitizer.results import SanitizedText
from sanitizer.storage.vault import MemoryVault, Vault, message_key, placeholders
from sanitizer.text.policy import Policy
from tests.storage.vault_contract import (
    ANNA,
    BERTA,
    KEY,
    VaultContract,
    drawn,
    substitutes,
)


class TestMemoryVault(VaultContract):
    def make(self, folder: Path, max_messages: int = 100, max_entries: int = 100) -> Vault:
        return MemoryVault(max_messages, max_entries)

    def test_the_conversation_not_used_for_longest_goes_first(self) -> None:
        vault = MemoryVault(max_entries=2)
        placeholders(vault, "a", [ANNA])
        placeholders(vault, "b", [ANNA])
        assert placeholders(vault, "b", [BERTA]) == ["<EMAIL_2>"]
        assert vault.originals("a") == {}
        assert placeholders(vault, "a", [BERTA]) == ["<EMAIL_3>"]

    def test_once_a_conversation_with_a_drawn_value_is_forgotten_so_are_those_of_all(self) -> None:
        vault = MemoryVault(max_entries=2)
        substitutes(vault, "a", [ANNA], drawn)
        substitutes(vault, "b", [ANNA], drawn)
        assert substitutes(vault, "b", [BERTA], drawn) == ["<EMAIL_10001>"]
        assert vault.originals("a") == {}
        assert substitutes(vault, "a", [ANNA], drawn) == ["<EMAIL_10002>"], (
            "numbers above those that went, too"
        )


def kept(text: str, variant: str = "certified") -> SanitizedText:
    record = replace(answer_record(Policy.preset("words")), variant=variant)
    return SanitizedText(text, (), record)


def test_the_memory_forgets_the_message_not_used_for_longest() -> None:
    vault = MemoryVault(max_messages=2)
    for key in (b"a", b"b"):
        vault.put_first(key, kept(key.decode()))
    assert vault.get(b"a") == kept("a")
    vault.put_first(b"c", kept("c"))
    assert [vault.get(key) for key in (b"a", b"b", b"c")] == [kept("a"), None, kept("c")]


def test_answers_have_room_of_their_own_with_what_chats_are_found_by() -> None:
    vault = MemoryVault(max_messages=2)
    vault.put_first(b"m", kept("m"))
    keys = [bytes([i]) for i in range(9)]
    for key in keys:
        vault.put_first(key, kept("a", "answer"))
    assert vault.get(b"m") == kept("m")
    assert [vault.get(key) is None for key in keys] == [True] + [False] * 8


def test_long_messages_are_forgotten_sooner(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sanitizer.storage.vault.MAX_CHARS", 100)
    vault = MemoryVault()
    for key in (b"a", b"b"):
        vault.put_first(key, kept(key.decode() * 60))
    assert (vault.get(b"a"), vault.get(b"b")) == (None, kept("b" * 60))
    vault.put_first(b"c", kept("c" * 200))
    assert vault.get(b"c") == kept("c" * 200), "the last one stays, however long"


def test_a_full_memory_forgets_a_conversation_and_never_uses_its_numbers_again() -> None:
    vault = MemoryVault(max_entries=3)

    def values(conversation: str, *originals: str) -> list[str]:
        return substitutes(
            vault,
            conversation,
            [("TEXT", o) for o in originals],
            lambda k, _, n, table: f"<{k}_{n}>",
        )

    assert values("c", "a", "b") == ["<TEXT_1>", "<TEXT_2>"]
    assert values("d", "a") == ["<TEXT_1>"]
    assert values("c", "a") == ["<TEXT_1>"]
    assert values("e", "x") == ["<TEXT_2>"], (
        "the conversation not used for longest went, and number 1 with it"
    )
    assert vault.originals("d") == {}
    assert values("d", "y", "z") == ["<TEXT_3>", "<TEXT_4>"]
    assert vault.originals("c") == {}
    assert values("e", "x") == ["<TEXT_2>"]


def test_keys_keep_conversation_role_and_content_apart() -> None:
    keys = {
        message_key(KEY, *p)
        for p in (("a", "b", "c"), ("ab", "", "c"), ("a", "bc", ""), ("", "", "abc"))
    }
    assert len(keys) == 4
    assert message_key(KEY, "a", "b", "c") != message_key(KEY[::-1], "a", "b", "c")
    assert len(message_key(KEY, "", "", "\ud800")) == 32


def test_an_unknown_numbering_is_refused() -> None:
    with pytest.raises(ValueError, match="numbers"):
        MemoryVault(numbers="random")
