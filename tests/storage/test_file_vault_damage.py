"""A damaged, edited, older or unwritable vault is an error, never a wrong restore."""

from __future__ import annotations

import os
import random
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from sanitizer.errors import VaultError
from sanitizer.storage.file_vault import FileVault
from tests.storage.files import another_file, crash, cut, directory, edits
from tests.storage.processes import run
from tests.storage.vault_contract import (
    ANNA,
    BERTA,
    KEY,
    PHONE,
    placeholder,
    result,
    substitutes,
)


def use(path: Path) -> list[object]:
    """Everything that can be asked."""
    with FileVault(path, KEY, create=False) as opened:
        return [
            opened.originals("c"),
            opened.originals("d"),
            [opened.get(key) for key in (b"1", b"2", b"3")],
        ]


DAMAGES: dict[str, Callable[[Path], object]] = {
    "empty": lambda path: path.write_bytes(b""),
    "text": lambda path: path.write_bytes(b"placeholders\n" * 500),
    "a directory": directory,
    "missing": lambda path: path.unlink(),
    "another SQLite file": another_file,
    "cut to half": cut(0.5),
    "cut by a page": lambda path: os.truncate(path, path.stat().st_size - 4096),
    "another version": edits("PRAGMA user_version = 2"),
    "another application": edits("PRAGMA application_id = 1"),
    "another journal": edits("PRAGMA journal_mode = DELETE"),
    "a table more": edits("CREATE TABLE t (a)"),
    "a trigger": edits("CREATE TRIGGER t AFTER INSERT ON entry BEGIN DELETE FROM entry; END"),
    "no head": edits("DELETE FROM head"),
    "two heads": edits("INSERT INTO head SELECT * FROM head"),
    "another salt": edits("UPDATE head SET salt = randomblob(16)"),
    "a salt that is a number": edits("UPDATE head SET salt = 7"),
    "a head that is a number": edits("UPDATE head SET seal = 7, body = 7"),
    "a head without its tag": edits("UPDATE head SET seal = zeroblob(28)"),
    "a lost entry": edits("DELETE FROM entry WHERE place = 2"),
    "a lost last entry": edits("DELETE FROM entry WHERE place = 3"),
    "no entries": edits("DELETE FROM entry"),
    "an entry twice": edits(
        "INSERT INTO entry SELECT conversation, place + 10, seal, body FROM entry WHERE place = 1"
    ),
    "a copied entry": edits(
        "UPDATE entry SET (seal, body) = "
        "(SELECT seal, body FROM entry ORDER BY conversation, place LIMIT 1)"
    ),
    "places swapped": edits(
        "UPDATE entry SET place = 9 WHERE place = 1",
        "UPDATE entry SET place = 1 WHERE place = 2",
        "UPDATE entry SET place = 2 WHERE place = 9",
    ),
    "entries moved to the other conversation": edits(
        "CREATE TEMP TABLE ids AS SELECT min(conversation) a, max(conversation) b FROM entry",
        "UPDATE entry SET conversation = x'00' WHERE conversation = (SELECT a FROM ids)",
        "UPDATE entry SET conversation = (SELECT a FROM ids) "
        "WHERE conversation = (SELECT b FROM ids)",
        "UPDATE entry SET conversation = (SELECT b FROM ids) WHERE conversation = x'00'",
    ),
    "an entry that is a number": edits("UPDATE entry SET body = 7"),
    "an entry of text": edits("UPDATE entry SET body = 'x', seal = 'y'"),
    "no conversations": edits("DELETE FROM item WHERE age = 0"),
    "a lost message": edits("DELETE FROM item WHERE age = 2"),
    "messages of another age": edits("UPDATE item SET age = age + 1 WHERE age > 0"),
    "a message without an owner": edits("UPDATE item SET owner = NULL WHERE age = 1"),
    "a copied message": edits(
        "UPDATE item SET (seal, body) = (SELECT seal, body FROM item WHERE age = 1) WHERE age = 2"
    ),
    "a message under another id": edits("UPDATE item SET id = randomblob(32) WHERE age = 1"),
    "an id that is text": edits("UPDATE item SET id = 'x' WHERE age = 1"),
    "changed bodies": edits("UPDATE item SET body = zeroblob(length(body))"),
    "cut bodies": edits("UPDATE item SET body = substr(body, 1, length(body) - 1)"),
    "no mark": lambda path: path.with_name("vault-mark").unlink(),
    "an empty mark": lambda path: path.with_name("vault-mark").write_bytes(b""),
    "a higher mark": lambda path: path.with_name("vault-mark").write_bytes(bytes(7) + b"\xff"),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_damage_is_an_error_that_names_the_file_in_one_line(
    used_vault: Path, damage: Callable[[Path], object]
) -> None:
    damage(used_vault)
    with pytest.raises(VaultError) as error:
        use(used_vault)
    assert str(error.value).startswith(f"{used_vault}: ")
    assert "\n" not in str(error.value)
    assert error.value.__cause__ is None
    assert "example.org" not in str(error.value)


def test_a_deleted_vault_is_not_made_anew(used_vault: Path) -> None:
    used_vault.unlink()
    with pytest.raises(VaultError, match="missing"):
        FileVault(used_vault, KEY)
    assert not used_vault.exists()


def test_a_missing_file_or_folder_is_an_error(vault_path: Path) -> None:
    with pytest.raises(VaultError, match="vault"):
        FileVault(vault_path, KEY, create=False)
    with pytest.raises(VaultError, match="No such file"):
        FileVault(vault_path / "none" / "vault", KEY)


@pytest.mark.parametrize("suffix", ["", "-wal"])
def test_a_flipped_byte_is_an_error_or_changes_nothing(
    vault: FileVault, vault_path: Path, suffix: str
) -> None:
    substitutes(vault, "c", [ANNA, BERTA], placeholder)
    vault.put_first(b"1", result("one"))
    if not suffix:
        vault.close()
    expected, refused = use(crash(vault_path, "sound")), 0
    size = vault_path.with_name(vault_path.name + suffix).stat().st_size
    for position in random.Random(7).sample(range(size), 120):
        copy = crash(vault_path, f"flipped-{position}")
        with copy.with_name(copy.name + suffix).open("r+b") as file:
            file.seek(position)
            byte = file.read(1)[0]
            file.seek(position)
            file.write(bytes([byte ^ 0xFF]))
        try:
            assert use(copy) == expected, position
        except VaultError:
            refused += 1
    assert refused > 10


@pytest.mark.parametrize("n_bytes", [1, 100, 1000, 4000])
def test_a_file_cut_short_is_an_error_or_changes_nothing(used_vault: Path, n_bytes: int) -> None:
    """SQLite leaves the end of a page empty, and reads zeros where the file ends early."""
    expected = use(used_vault)
    os.truncate(used_vault, used_vault.stat().st_size - n_bytes)
    try:
        assert use(used_vault) == expected
    except VaultError as error:
        assert str(used_vault) in str(error)  # noqa: PT017 - both outcomes are right


@pytest.mark.parametrize("share", [0.0, 0.4, 0.9])
def test_a_wal_cut_short_is_an_error(vault: FileVault, vault_path: Path, share: float) -> None:
    for i in range(3):
        substitutes(vault, "c", [("TEXT", str(i))], placeholder)
    copy = crash(vault_path, "copy")
    cut(share)(copy.with_name("vault-wal"))
    with pytest.raises(VaultError, match="mark"):
        use(copy)


def rows(path: Path, table: str) -> list[tuple[object, ...]]:
    db = sqlite3.connect(path)
    found = db.execute(f"SELECT * FROM {table}").fetchall()  # noqa: S608
    db.close()
    return found


def put_back(path: Path, table: str, old: list[tuple[object, ...]]) -> None:
    db = sqlite3.connect(path)
    with db:
        db.execute(f"DELETE FROM {table}")  # noqa: S608
        for row in old:
            db.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)  # noqa: S608
    db.close()


@pytest.mark.parametrize(
    "tables", [["item"], ["entry"], ["head"], ["entry", "item"], ["head", "item", "entry"]]
)
def test_rows_put_back_to_an_earlier_state_under_a_running_vault_are_found(
    vault: FileVault, vault_path: Path, tables: list[str]
) -> None:
    substitutes(vault, "c", [ANNA], placeholder)
    old = {table: rows(vault_path, table) for table in tables}
    substitutes(vault, "c", [BERTA], placeholder)
    for table in tables:
        put_back(vault_path, table, old[table])
    with pytest.raises(VaultError):
        substitutes(vault, "c", [PHONE], placeholder)
    with pytest.raises(VaultError):
        vault.originals("c")


@pytest.mark.parametrize("by", [None, b""])
def test_a_file_deleted_or_replaced_under_a_running_vault_gives_nothing(
    vault_path: Path, by: bytes | None
) -> None:
    with FileVault(vault_path, KEY) as vault:
        substitutes(vault, "c", [ANNA], placeholder)
        vault_path.rename(vault_path.with_name("elsewhere"))
        if by is not None:
            vault_path.write_bytes(by)
        with pytest.raises(VaultError):
            substitutes(vault, "c", [BERTA], placeholder)
        with pytest.raises(VaultError):
            vault.originals("c")


@pytest.mark.parametrize("deleted", ["item", "entry"])
def test_rows_deleted_under_a_running_vault_do_not_start_afresh(
    vault: FileVault, vault_path: Path, deleted: str
) -> None:
    substitutes(vault, "c", [ANNA], placeholder)
    vault.put_first(b"1", result("one"))
    with FileVault(vault_path, KEY) as other:
        put_back(vault_path, deleted, [])
        with pytest.raises(VaultError):
            substitutes(other, "c", [BERTA], placeholder)
        if deleted == "item":
            with pytest.raises(VaultError):
                vault.get(b"1")


def test_entries_of_a_forgotten_conversation_cannot_be_brought_back(
    vault: FileVault, vault_path: Path
) -> None:
    substitutes(vault, "c", [ANNA], placeholder)
    entries, items = rows(vault_path, "entry"), rows(vault_path, "item")
    vault.forget("c")
    put_back(vault_path, "entry", entries)
    put_back(vault_path, "item", items)
    with pytest.raises(VaultError):
        vault.originals("c")


def test_a_value_written_earlier_in_the_same_place_cannot_be_replayed(
    vault: FileVault, vault_path: Path
) -> None:
    substitutes(vault, "c", [ANNA], placeholder)
    old = rows(vault_path, "entry")
    vault.forget("c")
    substitutes(vault, "c", [BERTA], placeholder)
    put_back(vault_path, "entry", old)
    with FileVault(vault_path, KEY) as other, pytest.raises(VaultError):
        other.originals("c")


def test_rows_of_another_vault_under_the_same_key_do_not_open(
    used_vault: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    with FileVault(other, KEY) as vault:
        substitutes(vault, "c", [BERTA, ANNA, PHONE], placeholder)
    foreign = rows(other, "head")
    put_back(used_vault, "head", foreign)
    with pytest.raises(VaultError):
        use(used_vault)


# A disk that cannot be written, a file in use


@pytest.mark.skipif(os.name != "posix", reason="limits are POSIX")
def test_a_full_disk_assigns_nothing_and_hurts_nothing(vault: FileVault) -> None:
    import resource

    substitutes(vault, "c", [ANNA], placeholder)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        with pytest.raises(VaultError, match="vault"):
            substitutes(vault, "c", [BERTA], placeholder)
        with pytest.raises(VaultError, match="vault"):
            vault.put_first(b"k", result("one"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert vault.originals("c") == {"<EMAIL_1>": ANNA[1]}
    assert vault.get(b"k") is None
    assert substitutes(vault, "c", [PHONE], placeholder) == ["<PHONE_1>"]


READER = """
import os, sys
import sanitizer.storage.file_vault
from sanitizer.errors import VaultError
sanitizer.storage.file_vault.SCRYPT_N = 16
if os.geteuid() == 0:
    os.seteuid(65534)  # modes do not bind root
try:
    sanitizer.storage.file_vault.FileVault(sys.argv[1], bytes.fromhex(sys.argv[2]))
except VaultError as error:
    print(error)
"""


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX")
def test_a_read_only_file_is_an_error_at_opening(used_vault: Path) -> None:
    for file in used_vault.parent.iterdir():
        file.chmod(0o444)
    above = [*used_vault.parents]  # under xdist there is one more than without
    folders = above[: 1 + next(i for i, f in enumerate(above) if f.name.startswith("pytest-of-"))]
    modes = [folder.stat().st_mode for folder in folders]
    for folder in folders:
        folder.chmod(0o555)
    try:
        told = run(READER, used_vault)
    finally:
        for folder, mode in zip(folders, modes, strict=True):
            folder.chmod(mode)
    assert told.startswith(f"{used_vault}: cannot be used as a vault: ")
