"""What files of vaults and ledgers hold, what opens them, and that damage is always an error."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
import tempfile
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from sanitizer.errors import BudgetExceeded, LedgerError, VaultError
from sanitizer.storage.ledger import DAY, Ledger
from sanitizer.storage.sealing import KEY_VARIABLE
from sanitizer.storage.stored_vault import FileVault
from sanitizer.storage.vault import placeholders
from tests.storage import ledgers, vault_contract
from tests.storage.files import (
    another_file,
    contents,
    crash,
    cut,
    directory,
    edit,
    made_from,
    unprivileged,
)
from tests.storage.ledgers import ADA, TALK, Clock
from tests.storage.vault_contract import ANNA, BERTA, PHONE, result

posix = pytest.mark.skipif(os.name != "posix", reason="modes and limits are POSIX")


@dataclass(frozen=True)
class Kind:
    """One kind of file: how it is made, opened, changed, and what it tells."""

    name: str
    error: type[LedgerError | VaultError]
    key: bytes
    make: Callable[..., Any]
    open: Callable[..., Any]
    change: Callable[[Any, int], object]
    told: Callable[[Any], object]

    def use(self, path: Path) -> object:
        with self.open(path, self.key) as opened:
            return self.told(opened)


VAULT = Kind(
    "vault",
    VaultError,
    vault_contract.KEY,
    FileVault,
    lambda path, key: FileVault(path, key, create=False),
    lambda vault, i: placeholders(vault, "c", [("TEXT", str(i))]),
    lambda vault: [
        *(dict(vault.originals(name)) for name in ("c", "d")),
        *(vault.get(key) for key in (b"1", b"2", b"3")),
    ],
)
LEDGER = Kind(
    "ledger",
    LedgerError,
    ledgers.KEY,
    Ledger.create,
    Ledger,
    lambda ledger, i: ledger.reserve([TALK, DAY], 1.0),
    lambda ledger: ledger.export(),
)


@pytest.fixture(params=[VAULT, LEDGER], ids=lambda kind: kind.name)
def kind(request: pytest.FixtureRequest) -> Kind:
    found: Kind = request.param
    return found


@pytest.fixture
def path(kind: Kind, tmp_path: Path) -> Path:
    return tmp_path / kind.name


@pytest.fixture
def opened(kind: Kind, path: Path) -> Iterator[Any]:
    with kind.make(path, kind.key) as made:
        yield made


@pytest.fixture
def used(kind: Kind, request: pytest.FixtureRequest) -> Path:
    """A closed file that holds something of everything."""
    found: Path = request.getfixturevalue(f"used_{kind.name}")
    return found


# ---- damage ----


CASES = tomllib.loads((Path(__file__).parent / "cases_damage.toml").read_text("utf-8"))
DAMAGES: dict[str, Callable[[Path], object]] = {
    "empty": lambda path: path.write_bytes(b""),
    "a page of zeros": lambda path: path.write_bytes(bytes(4096)),
    "text": lambda path: path.write_bytes(b"placeholders\n" * 500),
    "a directory": directory,
    "missing": lambda path: path.unlink(),
    "another SQLite file": another_file,
    "cut to a byte": lambda path: os.truncate(path, 1),
    "cut to half": cut(0.5),
    "cut by a page": lambda path: os.truncate(path, path.stat().st_size - 4096),
    "no mark": lambda path: mark(path).unlink(),
    "an empty mark": lambda path: mark(path).write_bytes(b""),
    "a higher mark": lambda path: mark(path).write_bytes(bytes(7) + b"\xff"),
}


def mark(path: Path) -> Path:
    return path.with_name(f"{path.name}-mark")


def refused(kind: Kind, path: Path) -> None:
    with pytest.raises(kind.error) as error:
        kind.use(path)
    assert str(error.value).startswith(f"{path}: ")
    assert "\n" not in str(error.value)
    assert error.value.__cause__ is None
    assert "example.org" not in str(error.value)


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_damage_is_an_error_that_names_the_file_in_one_line(
    kind: Kind, used: Path, damage: Callable[[Path], object]
) -> None:
    damage(used)
    refused(kind, used)


@pytest.mark.parametrize(
    ("kind", "name"),
    [(kind, name) for kind in (VAULT, LEDGER) for name in [*CASES["both"], *CASES[kind.name]]],
    ids=lambda each: getattr(each, "name", each),
)
def test_an_edit_is_an_error(kind: Kind, name: str, used: Path) -> None:
    edit(used, *{**CASES["both"], **CASES[kind.name]}[name])
    refused(kind, used)


@pytest.mark.parametrize("suffix", ["", "-wal"])
def test_a_flipped_byte_is_an_error_or_changes_nothing(
    kind: Kind, opened: Any, path: Path, suffix: str
) -> None:
    for i in range(3):
        kind.change(opened, i)
    if not suffix:
        opened.close()
    expected, n_refused = kind.use(crash(path, "sound")), 0
    size = path.with_name(path.name + suffix).stat().st_size
    for position in {*range(0, 100, 7), *random.Random(7).sample(range(size), 110)}:
        copy = crash(path, f"flipped-{position}")
        with copy.with_name(copy.name + suffix).open("r+b") as file:
            file.seek(position)
            byte = file.read(1)[0]
            file.seek(position)
            file.write(bytes([byte ^ 0xFF]))
        try:
            assert kind.use(copy) == expected, position
        except kind.error:
            n_refused += 1
        shutil.rmtree(copy.parent)
    assert n_refused > 10


@pytest.mark.parametrize("n_bytes", [1, 100, 1000, 4000])
def test_a_file_cut_short_is_an_error_or_changes_nothing(
    kind: Kind, used: Path, n_bytes: int
) -> None:
    """SQLite leaves the end of a page empty, and reads zeros where the file ends early."""
    expected = kind.use(used)
    os.truncate(used, used.stat().st_size - n_bytes)
    try:
        assert kind.use(used) == expected
    except kind.error as error:
        assert str(used) in str(error)  # noqa: PT017 - both outcomes are right


@pytest.mark.parametrize("share", [0.0, 0.4, 0.9])
def test_a_wal_cut_short_is_an_error(kind: Kind, opened: Any, path: Path, share: float) -> None:
    for i in range(3):
        kind.change(opened, i)
    copy = crash(path, "copy")
    cut(share)(copy.with_name(f"{kind.name}-wal"))
    with pytest.raises(kind.error, match="mark"):
        kind.use(copy)


def test_an_older_file_beside_its_mark_is_an_error(kind: Kind, opened: Any, path: Path) -> None:
    kind.change(opened, 1)
    old = crash(path, "old")
    kind.change(opened, 2)
    opened.close()
    for file in old.parent.iterdir():
        if not file.name.endswith("-mark"):
            shutil.copyfile(file, path.with_name(file.name))
    with pytest.raises(kind.error, match="mark"):
        kind.use(path)


@pytest.mark.parametrize("by", [None, b""])
def test_a_file_deleted_or_replaced_while_it_is_open_gives_nothing(
    kind: Kind, opened: Any, path: Path, by: bytes | None
) -> None:
    kind.change(opened, 1)
    path.rename(path.with_name("elsewhere"))
    if by is not None:
        path.write_bytes(by)
    with pytest.raises(kind.error):
        kind.change(opened, 2)
    with pytest.raises(kind.error):
        kind.told(opened)


def rows(path: Path, table: str) -> list[tuple[Any, ...]]:
    db = sqlite3.connect(path)
    found = db.execute(f"SELECT * FROM {table}").fetchall()  # noqa: S608
    db.close()
    return found


def put_back(path: Path, table: str, old: list[tuple[Any, ...]]) -> None:
    db = sqlite3.connect(path)
    with db:
        db.execute(f"DELETE FROM {table}")  # noqa: S608
        for row in old:
            db.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)  # noqa: S608
    db.close()


@pytest.mark.parametrize(
    ("kind", "tables"),
    [
        *((VAULT, tables) for tables in ("conversation", "entry", "head", "entry conversation")),
        (VAULT, "head conversation entry"),
        *((LEDGER, tables) for tables in ("account", "head", "account charge")),
        (LEDGER, "head account charge"),
    ],
    ids=lambda each: getattr(each, "name", each),
)
def test_rows_put_back_to_an_earlier_state_are_found(
    kind: Kind, opened: Any, path: Path, tables: str
) -> None:
    kind.change(opened, 1)
    old = {table: rows(path, table) for table in tables.split()}
    kind.change(opened, 2)
    for table, its_rows in old.items():
        put_back(path, table, its_rows)
    with pytest.raises(kind.error):
        kind.change(opened, 3)
    with pytest.raises(kind.error):
        kind.use(path)


@pytest.mark.parametrize("deleted", ["conversation", "message", "entry"])
def test_rows_deleted_under_a_running_vault_do_not_start_afresh(
    vault: FileVault, vault_path: Path, deleted: str
) -> None:
    placeholders(vault, "c", [ANNA])
    vault.put_first(b"1", result("one"))
    with FileVault(vault_path, VAULT.key) as other:
        put_back(vault_path, deleted, [])
        with pytest.raises(VaultError):
            vault.get(b"1") if deleted == "message" else vault.originals("c")
        if deleted != "message":
            with pytest.raises(VaultError):
                placeholders(other, "c", [BERTA])


def test_balances_edited_or_deleted_under_a_running_ledger_are_found(
    ledger: Ledger, ledger_path: Path
) -> None:
    ledger.reserve([TALK, ADA], 4.0).commit()
    edit(ledger_path, "UPDATE account SET spent = 0 WHERE kind = 'conversation'")
    with pytest.raises(LedgerError, match="HMAC"):
        ledger.reserve([ADA, TALK], 1.0)
    edit(ledger_path, "DELETE FROM account WHERE kind = 'conversation'")
    with pytest.raises(LedgerError, match="missing"):
        ledger.reserve([ADA, TALK], 1.0)
    assert ledgers.charged(ledger, ADA) == 4.0, "what fails half way charges nothing"


def test_a_deleted_charge_is_noticed(ledger: Ledger, ledger_path: Path) -> None:
    ledger.charge_once({ADA: 2}, b"a name")  # type: ignore[dict-item]
    edit(ledger_path, "DELETE FROM charge")
    with pytest.raises(LedgerError, match="rows are missing"):
        ledger.charge_once({ADA: 2}, b"a name")  # type: ignore[dict-item]


@pytest.mark.parametrize("tables", ["entry conversation", "entry"])
def test_entries_of_a_forgotten_conversation_cannot_be_brought_back(
    vault: FileVault, vault_path: Path, tables: str
) -> None:
    placeholders(vault, "c", [ANNA])
    old = {table: rows(vault_path, table) for table in tables.split()}
    vault.forget("c")
    if tables == "entry":
        placeholders(vault, "c", [BERTA])
    for table, its_rows in old.items():
        put_back(vault_path, table, its_rows)
    refused(VAULT, vault_path)


def test_rows_of_another_vault_under_the_same_key_do_not_open(
    used_vault: Path, tmp_path: Path
) -> None:
    with FileVault(tmp_path / "other", VAULT.key) as vault:
        placeholders(vault, "c", [BERTA, ANNA, PHONE])
    put_back(used_vault, "head", rows(tmp_path / "other", "head"))
    refused(VAULT, used_vault)


# ---- a disk that cannot be written, a file in use ----


@posix
def test_a_read_only_file_is_an_error_at_opening(kind: Kind) -> None:
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / kind.name
        kind.make(path, kind.key).close()
        with unprivileged(path.parent):
            assert path.read_bytes()
            refused(kind, path)


@posix
def test_a_full_disk_changes_nothing(kind: Kind, opened: Any) -> None:
    import resource

    kind.change(opened, 1)
    before = kind.told(opened)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        with pytest.raises(kind.error, match=kind.name):
            kind.change(opened, 2)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert kind.told(opened) == before
    kind.change(opened, 3)


def test_a_file_that_stays_locked_is_an_error(
    kind: Kind, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sanitizer.storage.databases.BUSY_SECONDS", 0.01)
    with kind.make(path, kind.key) as opened:
        before = kind.told(opened)
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(kind.error, match="locked"):
            kind.change(opened, 1)
        other.close()
        assert kind.told(opened) == before


def test_another_process_must_open_it_again(
    kind: Kind, opened: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind.change(opened, 1)
    monkeypatch.setattr(os, "getpid", lambda: -1)
    with pytest.raises(kind.error, match="fork"):
        kind.told(opened)
    with pytest.raises(kind.error, match="fork"):
        kind.change(opened, 2)


def test_a_closed_file_gives_nothing_away(kind: Kind, opened: Any) -> None:
    kind.change(opened, 1)
    opened.close()
    with pytest.raises(kind.error):
        kind.told(opened)


# ---- what the files show ----


def test_no_file_shows_anything_private(kind: Kind, opened: Any, path: Path) -> None:
    # Names of three letters alone would occur in ciphertext by chance.
    secrets = ["conversation-of-zoe", "of-zoe", "Zoe met", "private.example", "Xaver"]
    if kind is VAULT:
        placeholders(opened, secrets[0], [("EMAIL", "zoe@private.example")])
        opened.put_first(b"key-of-a-message", result("Zoe met Xaver", "Xaver"), secrets[0])
        secrets += ["key-of-a-message", "EMAIL", opened.secret.decode("latin-1")]
    else:
        opened.set_limit(ADA, 9.0)
        opened.reserve([TALK, ADA, DAY], 1.0)
        secrets = [ADA.name, TALK.name]
        assert not any(name in repr(opened.export()) for name in secrets)
    found = b"".join(contents(path))
    assert {file.name for file in path.parent.iterdir()} == {
        f"{kind.name}{suffix}" for suffix in ("", "-wal", "-shm", "-mark")
    }
    for secret in [word.encode("latin-1") for word in secrets] + [kind.key]:
        assert secret not in found
        assert secret.hex().encode() not in found


@posix
def test_only_the_user_may_read_the_files(kind: Kind, opened: Any, path: Path) -> None:
    kind.change(opened, 1)
    assert {file.stat().st_mode & 0o777 for file in path.parent.iterdir()} == {0o600}


def test_short_identifiers_look_alike(vault: FileVault, vault_path: Path) -> None:
    for length in (1, 10, 60):
        placeholders(vault, "c", [("TEXT", "x" * length)])
    assert len({len(row[-1]) for row in rows(vault_path, "entry")}) == 1


def test_equal_content_is_sealed_differently_each_time(vault: FileVault, vault_path: Path) -> None:
    for i in range(20):
        placeholders(vault, str(i), [ANNA])
    seals = [row[-2] for table in ("entry", "conversation") for row in rows(vault_path, table)]
    assert len({seal[:12] for seal in seals}) == len(seals) == 40


# ---- opening ----


def test_a_missing_file_is_no_fresh_one(kind: Kind, path: Path) -> None:
    with pytest.raises(kind.error):
        kind.open(path, kind.key)
    assert list(path.parent.iterdir()) == []
    with pytest.raises(kind.error, match="No such file"):
        kind.make(path / "none" / kind.name, kind.key)


def test_a_deleted_file_is_not_made_again(kind: Kind, used: Path) -> None:
    used.unlink()
    for attempt in (kind.open, kind.make):
        with pytest.raises(kind.error):
            attempt(used, kind.key)
    assert not used.exists()


def test_a_ledger_is_never_replaced(ledger: Ledger, ledger_path: Path) -> None:
    ledger.reserve([TALK], 1.0)
    with pytest.raises(LedgerError, match="there already"):
        Ledger.create(ledger_path, LEDGER.key)
    assert ledgers.charged(ledger, TALK) == 1.0


@pytest.mark.parametrize("key", [b"secret", b""])
def test_a_short_key_is_refused_and_not_shown(kind: Kind, path: Path, key: bytes) -> None:
    with pytest.raises(ValueError, match="key must have at least 16") as error:
        kind.make(path, key)
    assert "secret" not in str(error.value)
    assert not path.exists()


def test_another_key_is_told(kind: Kind, opened: Any, path: Path) -> None:
    with pytest.raises(kind.error, match=f"{path}: wrong key"):
        kind.open(path, kind.key[::-1])


def test_the_key_of_a_vault_may_come_from_the_environment(
    vault_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    with pytest.raises(ValueError, match=KEY_VARIABLE):
        FileVault(vault_path)
    monkeypatch.setenv(KEY_VARIABLE, "sixteen letters!")
    FileVault(vault_path).close()
    FileVault(vault_path, "sixteen letters!").close()
    FileVault(vault_path, b"sixteen letters!", create=False).close()


def test_what_is_no_vault_is_named_for_what_it_is(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("no vault")
    with pytest.raises(VaultError, match="notes-mark is not beside it"):
        FileVault(tmp_path / "notes", VAULT.key)
    with pytest.raises(VaultError, match="it is a folder"):
        FileVault(tmp_path, VAULT.key)


def test_balances_and_limits_survive_closing(used_ledger: Path) -> None:
    before = LEDGER.use(used_ledger)
    assert LEDGER.use(used_ledger) == before
    assert len(before) == 5  # type: ignore[arg-type]


def test_a_ledger_of_an_earlier_version_of_this_package_opens(
    used_ledger: Path, tmp_path: Path, clock: Clock
) -> None:
    """It was written with the same steps: nothing in the rows and their HMACs may have changed."""
    key = LEDGER.key
    with (
        Ledger(made_from("ledger.sql", tmp_path / "earlier", 4), key, clock=clock) as earlier,
        Ledger(used_ledger, key, clock=clock) as used,
    ):
        assert earlier.export() == used.export()
        earlier.reserve([TALK], 5.0)
        with pytest.raises(BudgetExceeded):
            earlier.reserve([TALK], 1.0)


def test_a_vault_of_an_earlier_version_of_this_package_opens(
    vault_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sanitizer.storage.sealing.SCRYPT_N", 2**15)
    with FileVault(made_from("vault.sql", vault_path, 4), VAULT.key, create=False) as vault:
        assert vault.originals("c") == {
            "<EMAIL_1>": ANNA[1],
            "<PHONE_1>": PHONE[1],
            "<EMAIL_2>": BERTA[1],
        }
        counts = ("n_things", "n_drawn", "declared")
        floats = ("conversation_epsilon", "epsilon_at_delta", "bound_delta")
        later: dict[str, object] = {**dict.fromkeys(counts, 0), **dict.fromkeys(floats, 0.0)}
        later |= {"conversation_epsilon_at_delta": 0.0, "detector": "none", "language": None}
        later |= {"left": (), "asked": ()}
        assert vault.get(b"1") == result("1", ANNA[1], **later)
        assert placeholders(vault, "e", [ANNA]) == ["<EMAIL_2>"], "1 was forgotten"
