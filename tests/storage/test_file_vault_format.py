"""What the files of a vault show, and which keys open it."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest

from sanitizer.errors import VaultError
from sanitizer.storage.file_vault import KEY_VARIABLE, FileVault
from tests.storage.files import contents, made_from
from tests.storage.vault_contract import (
    ANNA,
    BERTA,
    KEY,
    PHONE,
    placeholder,
    result,
    substitutes,
)


def test_no_file_shows_anything_private(vault: FileVault, vault_path: Path) -> None:
    substitutes(vault, "conversation-of-zoe", [("EMAIL", "zoe@private.example")], placeholder)
    vault.put_first(b"key-of-a-message", result("Zoe met Xaver", "Xaver"), "conversation-of-zoe")
    assert {file.name for file in vault_path.parent.iterdir()} == {
        "vault",
        "vault-wal",
        "vault-shm",
        "vault-mark",
    }
    secrets = (
        "conversation-of-zoe",
        "of-zoe",  # three letters alone would occur in ciphertext by chance
        "Zoe met",
        "private.example",
        "Xaver",
        "key-of-a-message",
        "EMAIL",
        "<EMAIL_1>",
    )
    found = b"".join(contents(vault_path))
    for secret in [word.encode() for word in secrets] + [KEY, vault.secret]:
        assert secret not in found
        assert secret.hex().encode() not in found


def test_short_identifiers_look_alike(vault: FileVault, vault_path: Path) -> None:
    for length in (1, 10, 60):
        substitutes(vault, "c", [("TEXT", "x" * length)], placeholder)
    db = sqlite3.connect(vault_path)
    assert db.execute("SELECT count(DISTINCT length(body)) FROM entry").fetchone() == (1,)
    db.close()


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX")
def test_only_the_user_may_read_the_files(vault: FileVault, vault_path: Path) -> None:
    substitutes(vault, "c", [ANNA], placeholder)
    assert {file.stat().st_mode & 0o777 for file in vault_path.parent.iterdir()} == {0o600}


def test_equal_content_is_sealed_differently_each_time(vault: FileVault, vault_path: Path) -> None:
    for i in range(20):
        substitutes(vault, str(i), [ANNA], placeholder)
    db = sqlite3.connect(vault_path)
    seals = [
        seal for (seal,) in db.execute("SELECT seal FROM entry UNION ALL SELECT seal FROM item")
    ]
    db.close()
    assert len({seal[:12] for seal in seals}) == len(seals) == 40


# Keys


def test_the_key_may_come_from_the_environment(
    vault_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY_VARIABLE, "sixteen letters!")
    FileVault(vault_path).close()
    FileVault(vault_path, "sixteen letters!").close()
    FileVault(vault_path, b"sixteen letters!", create=False).close()


@pytest.mark.parametrize("key", ["secret", b"secret", ""])
def test_a_short_key_is_refused_and_not_shown(vault_path: Path, key: bytes | str) -> None:
    with pytest.raises(ValueError, match="key must have at least 16 characters") as error:
        FileVault(vault_path, key)
    assert "secret" not in str(error.value)
    assert not vault_path.exists()


def test_no_key_is_refused(vault_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    with pytest.raises(ValueError, match=KEY_VARIABLE):
        FileVault(vault_path)


def test_another_key_is_told(vault: FileVault, vault_path: Path) -> None:
    with pytest.raises(VaultError, match=f"{vault_path}: wrong key"):
        FileVault(vault_path, KEY[::-1])


def test_a_file_of_an_earlier_version_of_this_package_opens(
    vault_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sanitizer.storage.file_vault.SCRYPT_N", 2**15)
    with FileVault(made_from("vault.sql", vault_path, 4), KEY, create=False) as vault:
        assert vault.originals("c") == {
            "<EMAIL_1>": ANNA[1],
            "<PHONE_1>": PHONE[1],
            "<EMAIL_2>": BERTA[1],
        }
        later = {
            "detector": "none",
            "n_things": 0,
            "n_drawn": 0,
            "conversation_epsilon": 0.0,
            "language": None,
            "declared": 0,
            "epsilon_at_delta": 0.0,
            "bound_delta": 0.0,
            "conversation_epsilon_at_delta": 0.0,
        }
        assert vault.get(b"1") == result("1", ANNA[1], **later)
        assert substitutes(vault, "d", [ANNA], placeholder) == ["<EMAIL_2>"], "1 was forgotten"


def test_what_is_no_vault_is_named_for_what_it_is(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("no vault")
    with pytest.raises(VaultError, match="notes-mark is not beside it"):
        FileVault(tmp_path / "notes", KEY)
    with pytest.raises(VaultError, match="it is a folder"):
        FileVault(tmp_path, KEY)
