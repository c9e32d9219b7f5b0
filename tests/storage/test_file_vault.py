"""One contract for every vault; and what the one in a file withstands."""

from __future__ import annotations

import json
import math
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sanitizer
from sanitizer.errors import VaultError
from sanitizer.results import Record, Replacement, SanitizedText
from sanitizer.storage.file_vault import KEY_VARIABLE, FileVault
from sanitizer.storage.vault import MAX_FORMED, MemoryVault, Vault

KEY = b"a key of at least sixteen bytes"
ROOT = Path(sanitizer.__file__).parent.parent
QUICK_SCRYPT = 2**4
ANNA, BERTA = ("EMAIL", "anna@example.org"), ("EMAIL", "berta@example.org")
PHONE = ("PHONE", "+44 20 7946 0958")


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """The work of deriving keys is not the subject here."""
    monkeypatch.setattr("sanitizer.storage.file_vault.SCRYPT_N", QUICK_SCRYPT)


def placeholder(kind: str, original: str, number: int) -> str:
    return f"<{kind}_{number}>"


def drawn(kind: str, original: str, number: int) -> str:
    """A value that knows no number, for as long as it may be drawn."""
    if number > MAX_FORMED:
        return placeholder(kind, original, number)
    return f"drawn {number}" + " (PHONE)" * (kind == "PHONE")


def result(text: str, *originals: str, **changed: object) -> SanitizedText:
    """A result with every field of the record set."""
    values: dict[str, object] = {f.name: f"{f.name} é" for f in fields(Record)}
    values |= {
        "settings": {"clip": [0.1, -2.5]},
        "epsilon_total": math.inf,
        "certified": True,
        "reason": None,
    }
    replacements = tuple(
        Replacement(i, i + 1, "x", "EMAIL", original) for i, original in enumerate(originals)
    )
    return SanitizedText(text, replacements, Record(**(values | changed)))  # type: ignore[arg-type]


class VaultContract:
    """What every vault keeps. Subclasses say how one is made."""

    def make(self, folder: Path, max_messages: int = 100, max_entries: int = 100) -> Vault:
        raise NotImplementedError

    @pytest.fixture
    def vault(self, tmp_path: Path) -> Vault:
        return self.make(tmp_path)

    def test_an_original_keeps_its_value_and_numbers_count_up_per_kind(self, vault: Vault) -> None:
        assert vault.substitutes("c", [ANNA, PHONE, BERTA, ANNA], placeholder) == [
            "<EMAIL_1>",
            "<PHONE_1>",
            "<EMAIL_2>",
            "<EMAIL_1>",
        ]
        assert vault.substitutes("c", [BERTA, ("EMAIL", "c@example.org")], placeholder) == [
            "<EMAIL_2>",
            "<EMAIL_3>",
        ]
        assert vault.originals("c")["<EMAIL_2>"] == BERTA[1]
        assert len(vault.originals("c")) == 4

    def test_nothing_wanted_is_nothing_given(self, vault: Vault) -> None:
        assert vault.substitutes("c", [], placeholder) == []
        assert vault.originals("c") == {}

    def test_conversations_know_nothing_of_each_other(self, vault: Vault) -> None:
        vault.substitutes("c", [ANNA], placeholder)
        vault.substitutes("d", [BERTA], placeholder)
        assert vault.originals("c") == {"<EMAIL_1>": ANNA[1]}
        assert vault.originals("d") == {"<EMAIL_1>": BERTA[1]}
        assert vault.originals("") == {}

    def test_a_value_that_is_taken_is_made_again_with_the_next_number(self, vault: Vault) -> None:
        def halves(kind: str, original: str, number: int) -> str:
            return f"v{number // 2}"

        values = vault.substitutes("c", [("A", str(i)) for i in range(5)] + [("B", "0")], halves)
        assert len(set(values)) == 6

    def test_a_failing_maker_assigns_nothing(self, vault: Vault) -> None:
        def failing(kind: str, original: str, number: int) -> str:
            if original == BERTA[1]:
                raise KeyError
            return placeholder(kind, original, number)

        with pytest.raises(KeyError):
            vault.substitutes("c", [BERTA], failing)
        assert vault.originals("c") == {}

    def test_a_text_with_more_than_a_vault_holds_is_refused(self, tmp_path: Path) -> None:
        vault = self.make(tmp_path, max_entries=2)
        with pytest.raises(VaultError, match="max_entries=2"):
            vault.substitutes("c", [ANNA, BERTA, PHONE], placeholder)
        assert vault.originals("c") == {}
        assert vault.substitutes("c", [ANNA, BERTA], placeholder) == ["<EMAIL_1>", "<EMAIL_2>"]

    def test_the_first_result_stays(self, vault: Vault) -> None:
        first, second = result("one", ANNA[1]), result("two")
        assert vault.get(b"k") is None
        assert vault.put_first(b"k", first) is first
        assert vault.put_first(b"k", second) == first
        assert vault.get(b"k") == first

    def test_the_oldest_message_is_dropped(self, tmp_path: Path) -> None:
        vault = self.make(tmp_path, max_messages=2)
        for key in (b"a", b"b", b"c"):
            vault.put_first(key, result(key.decode()))
        assert vault.get(b"a") is None
        assert [vault.get(key) for key in (b"b", b"c")] == [result("b"), result("c")]

    def test_the_secret_stays_the_same(self, vault: Vault) -> None:
        assert vault.secret == vault.secret
        assert len(vault.secret) == 32

    @pytest.mark.parametrize("name", ["max_messages", "max_entries"])
    def test_limits_below_one_are_refused(self, tmp_path: Path, name: str) -> None:
        with pytest.raises(ValueError, match=f"{name} must be at least 1, got 0"):
            self.make(tmp_path, **{name: 0})

    def test_threads_never_share_a_value_between_two_originals(self, vault: Vault) -> None:
        def work(number: int) -> list[tuple[str, str]]:
            wanted = [("EMAIL", f"{i}@example.org") for i in range(number, number + 12)]
            return list(
                zip(
                    (w[1] for w in wanted), vault.substitutes("c", wanted, placeholder), strict=True
                )
            )

        with ThreadPoolExecutor(8) as pool:
            pairs = {pair for found in pool.map(work, range(16)) for pair in found}
        assert (
            len(pairs)
            == len({original for original, _ in pairs})
            == len({value for _, value in pairs})
            == 27
        )
        assert vault.originals("c") == {value: original for original, value in pairs}

    def test_threads_that_race_for_one_key_get_one_result(self, vault: Vault) -> None:
        with ThreadPoolExecutor(8) as pool:
            kept = list(pool.map(lambda i: vault.put_first(b"k", result(str(i))).text, range(16)))
        assert len(set(kept)) == 1

    def test_its_repr_tells_counts_only(self, vault: Vault) -> None:
        vault.substitutes("talk", [ANNA], placeholder)
        vault.put_first(b"k", result("hello", ANNA[1]))
        assert "1 messages, 1 identifiers" in repr(vault)
        assert not any(word in repr(vault) for word in ("anna", "talk", "hello"))


class TestMemoryVault(VaultContract):
    def make(self, folder: Path, max_messages: int = 100, max_entries: int = 100) -> Vault:
        return MemoryVault(max_messages, max_entries)

    def test_what_was_not_used_for_longest_is_forgotten_and_its_number_never_used_again(
        self,
    ) -> None:
        vault = MemoryVault(max_entries=2)
        vault.substitutes("c", [ANNA, BERTA], placeholder)
        vault.substitutes("c", [ANNA], placeholder)
        assert vault.substitutes("c", [("EMAIL", "new@x.org"), ANNA], placeholder) == [
            "<EMAIL_3>",
            "<EMAIL_1>",
        ]
        assert vault.originals("c") == {"<EMAIL_1>": ANNA[1], "<EMAIL_3>": "new@x.org"}

    def test_the_conversation_not_used_for_longest_goes_first(self) -> None:
        vault = MemoryVault(max_entries=2)
        vault.substitutes("a", [ANNA], placeholder)
        vault.substitutes("b", [ANNA], placeholder)
        assert vault.substitutes("b", [BERTA], placeholder) == ["<EMAIL_2>"]
        assert vault.originals("a") == {}
        assert vault.substitutes("a", [BERTA], placeholder) == ["<EMAIL_3>"]

    def test_once_a_drawn_value_is_forgotten_numbers_are_those_of_placeholders(self) -> None:
        vault = MemoryVault(max_entries=2)
        assert vault.substitutes("c", [ANNA, PHONE], drawn) == ["drawn 1", "drawn 1 (PHONE)"]
        assert vault.substitutes("c", [BERTA], drawn) == ["<EMAIL_10001>"]
        assert vault.substitutes("c", [ANNA], drawn) == ["<EMAIL_10002>"]

    def test_once_a_conversation_with_a_drawn_value_is_forgotten_so_are_those_of_all(self) -> None:
        vault = MemoryVault(max_entries=2)
        vault.substitutes("a", [ANNA], drawn)
        vault.substitutes("b", [ANNA], drawn)
        assert vault.substitutes("b", [BERTA], drawn) == ["<EMAIL_10001>"]
        assert vault.originals("a") == {}
        assert vault.substitutes("a", [ANNA], drawn) == ["<EMAIL_10002>"], (
            "numbers above those that went, too"
        )


class TestFileVault(VaultContract):
    def make(self, folder: Path, max_messages: int = 100, max_entries: int = 100) -> Vault:
        return FileVault(folder / "vault", KEY, max_messages=max_messages, max_entries=max_entries)

    def test_a_full_conversation_refuses_and_assigns_nothing(self, tmp_path: Path) -> None:
        vault = self.make(tmp_path, max_entries=2)
        vault.substitutes("c", [ANNA], placeholder)
        with pytest.raises(VaultError, match="max_entries=2"):
            vault.substitutes("c", [BERTA, PHONE], placeholder)
        assert vault.originals("c") == {"<EMAIL_1>": ANNA[1]}
        assert vault.substitutes("c", [BERTA], placeholder) == ["<EMAIL_2>"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "vault"


@pytest.fixture
def vault(path: Path) -> Iterator[FileVault]:
    with FileVault(path, KEY) as made:
        yield made


# Keeping


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
        values = first.substitutes(conversation, wanted, placeholder)
        first.put_first(text.encode("utf-8", "surrogatepass"), kept)
        secret = first.secret
    with FileVault(folder / "vault", KEY, create=False) as again:
        assert again.secret == secret
        assert again.originals(conversation) == {
            v: o for v, (_, o) in zip(values, wanted, strict=True)
        }
        assert again.substitutes(conversation, wanted, placeholder) == values
        assert again.get(text.encode("utf-8", "surrogatepass")) == kept


def test_numbers_go_on_after_reopening(path: Path) -> None:
    for number in range(1, 4):
        with FileVault(path, KEY) as vault:
            assert vault.substitutes("c", [("EMAIL", f"{number}@example.org")], placeholder) == [
                f"<EMAIL_{number}>"
            ]


def test_what_another_opening_writes_is_seen_at_once(vault: FileVault, path: Path) -> None:
    vault.substitutes("c", [ANNA], placeholder)
    with FileVault(path, KEY) as other:
        assert other.substitutes("c", [BERTA, ANNA], placeholder) == ["<EMAIL_2>", "<EMAIL_1>"]
        assert vault.originals("c") == {"<EMAIL_1>": ANNA[1], "<EMAIL_2>": BERTA[1]}
        assert vault.substitutes("c", [PHONE, BERTA], placeholder) == ["<PHONE_1>", "<EMAIL_2>"]
        assert other.originals("c")["<PHONE_1>"] == PHONE[1]


def test_a_conversation_forgotten_and_begun_again_elsewhere_is_read_afresh(
    vault: FileVault, path: Path
) -> None:
    vault.substitutes("c", [ANNA], placeholder)
    with FileVault(path, KEY) as other:
        other.forget("c")
        other.substitutes("c", [BERTA], placeholder)
    assert vault.originals("c") == {"<EMAIL_2>": BERTA[1]}


def test_more_conversations_than_the_cache_holds(
    vault: FileVault, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sanitizer.storage.file_vault.MAX_CACHED", 2)
    for _ in range(2):
        for i in range(5):
            vault.substitutes(str(i), [("TEXT", str(i))], placeholder)
    assert [vault.originals(str(i)) for i in range(5)] == [{"<TEXT_1>": str(i)} for i in range(5)]


# Forgetting


def test_what_is_forgotten_is_not_restored_and_its_numbers_are_not_used_again(
    vault: FileVault, path: Path
) -> None:
    vault.substitutes("c", [ANNA, BERTA], placeholder)
    vault.substitutes("d", [PHONE], placeholder)
    vault.put_first(b"1", result("one"), "c")
    vault.put_first(b"2", result("two"))
    vault.put_first(b"3", result("three"), "d")
    vault.forget("c")
    assert vault.originals("c") == {}
    assert [vault.get(key) for key in (b"1", b"2", b"3")] == [None, None, result("three")]
    assert vault.originals("d") == {"<PHONE_1>": PHONE[1]}
    assert vault.substitutes("c", [BERTA], placeholder) == ["<EMAIL_3>"]
    assert "1 messages, 2 identifiers" in repr(vault)
    vault.close()
    with FileVault(path, KEY) as again:
        assert again.originals("c") == {"<EMAIL_3>": BERTA[1]}


def test_forgetting_makes_room(path: Path) -> None:
    with FileVault(path, KEY, max_entries=1) as vault:
        vault.substitutes("c", [ANNA], placeholder)
        with pytest.raises(VaultError, match="full"):
            vault.substitutes("d", [BERTA], placeholder)
        vault.forget("c")
        assert vault.substitutes("d", [BERTA], placeholder) == ["<EMAIL_2>"]


def test_forgotten_rows_leave_no_bytes(vault: FileVault, path: Path) -> None:
    vault.substitutes("c", [ANNA], placeholder)
    vault.put_first(b"1", result("one"), "c")
    db = sqlite3.connect(path)
    bodies = [
        body for (body,) in db.execute("SELECT body FROM entry UNION ALL SELECT body FROM item")
    ]
    db.close()
    assert all(any(body[:32] in content for content in contents(path)) for body in bodies)
    vault.forget("c")
    assert not any(
        body[i : i + 16] in content
        for content in contents(path)
        for body in bodies
        for i in (0, 32, 64)
    )


def test_forgetting_what_is_not_there_changes_nothing(vault: FileVault) -> None:
    vault.substitutes("c", [ANNA], placeholder)
    vault.forget("d")
    assert vault.originals("c") == {"<EMAIL_1>": ANNA[1]}


# Privacy of the files


def contents(path: Path) -> list[bytes]:
    return [file.read_bytes() for file in path.parent.iterdir() if file.is_file()]


def test_no_file_shows_anything_private(vault: FileVault, path: Path) -> None:
    vault.substitutes("conversation-of-zoe", [("EMAIL", "zoe@private.example")], placeholder)
    vault.put_first(b"key-of-a-message", result("Zoe met Xaver", "Xaver"), "conversation-of-zoe")
    assert {file.name for file in path.parent.iterdir()} == {
        "vault",
        "vault-wal",
        "vault-shm",
        "vault-mark",
    }
    secrets = (
        "conversation-of-zoe",
        "zoe",
        "Zoe",
        "private.example",
        "Xaver",
        "key-of-a-message",
        "EMAIL",
        "<EMAIL_1>",
    )
    found = b"".join(contents(path))
    for secret in [word.encode() for word in secrets] + [KEY, vault.secret]:
        assert secret not in found
        assert secret.hex().encode() not in found


def test_short_identifiers_look_alike(vault: FileVault, path: Path) -> None:
    for length in (1, 10, 60):
        vault.substitutes("c", [("TEXT", "x" * length)], placeholder)
    db = sqlite3.connect(path)
    assert db.execute("SELECT count(DISTINCT length(body)) FROM entry").fetchone() == (1,)
    db.close()


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX")
def test_only_the_user_may_read_the_files(vault: FileVault, path: Path) -> None:
    vault.substitutes("c", [ANNA], placeholder)
    assert {file.stat().st_mode & 0o777 for file in path.parent.iterdir()} == {0o600}


def test_equal_content_is_sealed_differently_each_time(vault: FileVault, path: Path) -> None:
    for i in range(20):
        vault.substitutes(str(i), [ANNA], placeholder)
    db = sqlite3.connect(path)
    seals = [
        seal for (seal,) in db.execute("SELECT seal FROM entry UNION ALL SELECT seal FROM item")
    ]
    db.close()
    assert len({seal[:12] for seal in seals}) == len(seals) == 40


# Keys


def test_the_key_may_come_from_the_environment(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY_VARIABLE, "sixteen letters!")
    FileVault(path).close()
    FileVault(path, "sixteen letters!").close()
    FileVault(path, b"sixteen letters!", create=False).close()


@pytest.mark.parametrize("key", ["secret", b"secret", ""])
def test_a_short_key_is_refused_and_not_shown(path: Path, key: bytes | str) -> None:
    with pytest.raises(ValueError, match="key must have at least 16 characters") as error:
        FileVault(path, key)
    assert "secret" not in str(error.value)
    assert not path.exists()


def test_no_key_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    with pytest.raises(ValueError, match=KEY_VARIABLE):
        FileVault(path)


def test_another_key_is_told(vault: FileVault, path: Path) -> None:
    with pytest.raises(VaultError, match=f"{path}: wrong key"):
        FileVault(path, KEY[::-1])


# Damage


@pytest.fixture
def used(vault: FileVault, path: Path) -> Path:
    """A closed vault with two conversations and three messages."""
    vault.substitutes("c", [ANNA, BERTA, PHONE], placeholder)
    vault.substitutes("d", [BERTA, ANNA], placeholder)
    for key in (b"1", b"2", b"3"):
        vault.put_first(key, result(key.decode(), ANNA[1]), "c")
    vault.close()
    return path


def use(path: Path) -> list[object]:
    """Everything that can be asked."""
    with FileVault(path, KEY, create=False) as opened:
        return [
            opened.originals("c"),
            opened.originals("d"),
            [opened.get(key) for key in (b"1", b"2", b"3")],
        ]


def edit(path: Path, *statements: str) -> None:
    db = sqlite3.connect(path, isolation_level=None)
    for statement in statements:
        db.execute(statement)
    db.close()


def edits(*statements: str) -> Callable[[Path], object]:
    return lambda path: edit(path, *statements)


def cut(share: float) -> Callable[[Path], object]:
    return lambda path: os.truncate(path, int(path.stat().st_size * share))


def _directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _another_file(path: Path) -> None:
    path.unlink()
    edit(path, "CREATE TABLE t (a)")


DAMAGES: dict[str, Callable[[Path], object]] = {
    "empty": lambda path: path.write_bytes(b""),
    "text": lambda path: path.write_bytes(b"placeholders\n" * 500),
    "a directory": _directory,
    "missing": lambda path: path.unlink(),
    "another SQLite file": _another_file,
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
        "UPDATE entry SET (seal, body) = (SELECT seal, body FROM entry ORDER BY conversation, place LIMIT 1)"
    ),
    "places swapped": edits(
        "UPDATE entry SET place = 9 WHERE place = 1",
        "UPDATE entry SET place = 1 WHERE place = 2",
        "UPDATE entry SET place = 2 WHERE place = 9",
    ),
    "entries moved to the other conversation": edits(
        "CREATE TEMP TABLE ids AS SELECT min(conversation) a, max(conversation) b FROM entry",
        "UPDATE entry SET conversation = x'00' WHERE conversation = (SELECT a FROM ids)",
        "UPDATE entry SET conversation = (SELECT a FROM ids) WHERE conversation = (SELECT b FROM ids)",
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
    used: Path, damage: Callable[[Path], object]
) -> None:
    damage(used)
    with pytest.raises(VaultError) as error:
        use(used)
    assert str(error.value).startswith(f"{used}: ")
    assert "\n" not in str(error.value)
    assert error.value.__cause__ is None
    assert "example.org" not in str(error.value)


def test_a_deleted_vault_is_not_made_anew(used: Path) -> None:
    used.unlink()
    with pytest.raises(VaultError, match="missing"):
        FileVault(used, KEY)
    assert not used.exists()


def test_a_missing_file_or_folder_is_an_error(path: Path) -> None:
    with pytest.raises(VaultError, match="vault"):
        FileVault(path, KEY, create=False)
    with pytest.raises(VaultError, match="No such file"):
        FileVault(path / "none" / "vault", KEY)


def crash(path: Path, name: str) -> Path:
    """What a crash leaves on the disk, with the vault still open."""
    folder = path.parent / name
    folder.mkdir()
    for suffix in ("", "-wal", "-mark"):
        if (file := path.with_name(path.name + suffix)).exists():
            shutil.copyfile(file, folder / file.name)
    return folder / path.name


@pytest.mark.parametrize("suffix", ["", "-wal"])
def test_a_flipped_byte_is_an_error_or_changes_nothing(
    vault: FileVault, path: Path, suffix: str
) -> None:
    vault.substitutes("c", [ANNA, BERTA], placeholder)
    vault.put_first(b"1", result("one"))
    if not suffix:
        vault.close()
    expected, refused = use(crash(path, "sound")), 0
    size = path.with_name(path.name + suffix).stat().st_size
    for position in random.Random(7).sample(range(size), 120):
        copy = crash(path, f"flipped-{position}")
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
def test_a_file_cut_short_is_an_error_or_changes_nothing(used: Path, n_bytes: int) -> None:
    """SQLite leaves the end of a page empty, and reads zeros where the file ends early."""
    expected = use(used)
    os.truncate(used, used.stat().st_size - n_bytes)
    try:
        assert use(used) == expected
    except VaultError as error:
        assert str(used) in str(error)  # noqa: PT017 - both outcomes are right


@pytest.mark.parametrize("share", [0.0, 0.4, 0.9])
def test_a_wal_cut_short_is_an_error(vault: FileVault, path: Path, share: float) -> None:
    for i in range(3):
        vault.substitutes("c", [("TEXT", str(i))], placeholder)
    copy = crash(path, "copy")
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
    vault: FileVault, path: Path, tables: list[str]
) -> None:
    vault.substitutes("c", [ANNA], placeholder)
    old = {table: rows(path, table) for table in tables}
    vault.substitutes("c", [BERTA], placeholder)
    for table in tables:
        put_back(path, table, old[table])
    with pytest.raises(VaultError):
        vault.substitutes("c", [PHONE], placeholder)
    with pytest.raises(VaultError):
        vault.originals("c")


@pytest.mark.parametrize("by", [None, b""])
def test_a_file_deleted_or_replaced_under_a_running_vault_gives_nothing(
    path: Path, by: bytes | None
) -> None:
    with FileVault(path, KEY) as vault:
        vault.substitutes("c", [ANNA], placeholder)
        path.rename(path.with_name("elsewhere"))
        if by is not None:
            path.write_bytes(by)
        with pytest.raises(VaultError):
            vault.substitutes("c", [BERTA], placeholder)
        with pytest.raises(VaultError):
            vault.originals("c")


@pytest.mark.parametrize("deleted", ["item", "entry"])
def test_rows_deleted_under_a_running_vault_do_not_start_afresh(
    vault: FileVault, path: Path, deleted: str
) -> None:
    vault.substitutes("c", [ANNA], placeholder)
    vault.put_first(b"1", result("one"))
    with FileVault(path, KEY) as other:
        put_back(path, deleted, [])
        with pytest.raises(VaultError):
            other.substitutes("c", [BERTA], placeholder)
        if deleted == "item":
            with pytest.raises(VaultError):
                vault.get(b"1")


def test_entries_of_a_forgotten_conversation_cannot_be_brought_back(
    vault: FileVault, path: Path
) -> None:
    vault.substitutes("c", [ANNA], placeholder)
    entries, items = rows(path, "entry"), rows(path, "item")
    vault.forget("c")
    put_back(path, "entry", entries)
    put_back(path, "item", items)
    with pytest.raises(VaultError):
        vault.originals("c")


def test_a_value_written_earlier_in_the_same_place_cannot_be_replayed(
    vault: FileVault, path: Path
) -> None:
    vault.substitutes("c", [ANNA], placeholder)
    old = rows(path, "entry")
    vault.forget("c")
    vault.substitutes("c", [BERTA], placeholder)
    put_back(path, "entry", old)
    with FileVault(path, KEY) as other, pytest.raises(VaultError):
        other.originals("c")


def test_rows_of_another_vault_under_the_same_key_do_not_open(used: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    with FileVault(other, KEY) as vault:
        vault.substitutes("c", [BERTA, ANNA, PHONE], placeholder)
    foreign = rows(other, "head")
    put_back(used, "head", foreign)
    with pytest.raises(VaultError):
        use(used)


# A disk that cannot be written, a file in use


@pytest.mark.skipif(os.name != "posix", reason="limits are POSIX")
def test_a_full_disk_assigns_nothing_and_hurts_nothing(vault: FileVault) -> None:
    import resource

    vault.substitutes("c", [ANNA], placeholder)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        with pytest.raises(VaultError, match="vault"):
            vault.substitutes("c", [BERTA], placeholder)
        with pytest.raises(VaultError, match="vault"):
            vault.put_first(b"k", result("one"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert vault.originals("c") == {"<EMAIL_1>": ANNA[1]}
    assert vault.get(b"k") is None
    assert vault.substitutes("c", [PHONE], placeholder) == ["<PHONE_1>"]


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
def test_a_read_only_file_is_an_error_at_opening(used: Path) -> None:
    for file in used.parent.iterdir():
        file.chmod(0o444)
    folders = [used.parent, used.parent.parent, used.parent.parent.parent]
    modes = [folder.stat().st_mode for folder in folders]
    for folder in folders:
        folder.chmod(0o555)
    try:
        told = run(READER, used)
    finally:
        for folder, mode in zip(folders, modes, strict=True):
            folder.chmod(mode)
    assert told.startswith(f"{used}: cannot be used as a vault: ")


def test_a_file_that_stays_locked_is_an_error(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sanitizer.storage.sqlite_file.BUSY_SECONDS", 0.01)
    with FileVault(path, KEY) as vault:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(VaultError, match="locked"):
            vault.substitutes("c", [ANNA], placeholder)
        other.close()
        assert vault.substitutes("c", [ANNA], placeholder) == ["<EMAIL_1>"]


def test_a_closed_vault_gives_nothing_away(vault: FileVault) -> None:
    vault.substitutes("c", [ANNA], placeholder)
    vault.close()
    with pytest.raises(VaultError):
        vault.originals("c")


def test_another_process_must_open_it_again(
    vault: FileVault, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault.substitutes("c", [ANNA], placeholder)
    monkeypatch.setattr(os, "getpid", lambda: -1)
    with pytest.raises(VaultError, match="fork"):
        vault.originals("c")


# Crowds and crashes


WORKER = """
import json, sys
import sanitizer.storage.file_vault
sanitizer.storage.file_vault.SCRYPT_N = 16
vault = sanitizer.storage.file_vault.FileVault(sys.argv[1], bytes.fromhex(sys.argv[2]))
for i in range(int(sys.argv[3]), int(sys.argv[4])):
    wanted = [("EMAIL", f"{i}@example.org"), ("EMAIL", f"{i + 1}@example.org")]
    values = vault.substitutes("c", wanted, lambda kind, original, number: f"<{kind}_{number}>")
    print(json.dumps([[o, v] for (_, o), v in zip(wanted, values)]), flush=True)
"""


def command(code: str, path: Path, *arguments: int) -> list[str]:
    return [sys.executable, "-c", code, str(path), KEY.hex(), *map(str, arguments)]


def run(code: str, path: Path) -> str:
    return subprocess.run(
        command(code, path), capture_output=True, text=True, check=True, cwd=ROOT
    ).stdout


def started(path: Path, begin: int, end: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command(WORKER, path, begin, end), stdout=subprocess.PIPE, text=True, cwd=ROOT
    )


def test_processes_that_make_and_use_one_vault_agree(path: Path) -> None:
    workers = [started(path, begin, begin + 30) for begin in (0, 10, 20)]
    lines = [line for worker in workers for line in worker.communicate()[0].splitlines()]
    assert [worker.returncode for worker in workers] == [0, 0, 0]
    pairs = {(original, value) for line in lines for original, value in json.loads(line)}
    assert len(pairs) == len({value for _, value in pairs}) == 51
    with FileVault(path, KEY, create=False) as vault:
        assert vault.originals("c") == {value: original for original, value in pairs}
        assert set(vault.originals("c")) == {f"<EMAIL_{n}>" for n in range(1, 52)}


def test_a_killed_process_loses_nothing_it_gave_out(path: Path) -> None:
    for attempt, n_lines in enumerate((1, 7, 20)):
        with started(path, 1000 * attempt, 1000 * attempt + 900) as victim:
            assert victim.stdout is not None
            lines = [victim.stdout.readline() for _ in range(n_lines)]
            victim.kill()
            lines += [line for line in victim.stdout.readlines() if line.endswith("\n")]
        with FileVault(path, KEY, create=False) as vault:
            originals = dict(vault.originals("c"))
            assert all(
                originals[value] == original
                for line in lines
                for original, value in json.loads(line)
            )
            (fresh,) = vault.substitutes("c", [("EMAIL", f"after {attempt}")], placeholder)
            assert fresh not in originals


def test_readers_and_writers_take_turns(vault: FileVault, path: Path) -> None:
    with FileVault(path, KEY) as other:
        done = threading.Event()

        def write() -> None:
            for i in range(30):
                other.substitutes("c", [("TEXT", str(i))], placeholder)
            done.set()

        writer = threading.Thread(target=write)
        writer.start()
        seen = [0]
        while not done.is_set():
            originals = dict(vault.originals("c"))
            assert originals == {f"<TEXT_{i + 1}>": str(i) for i in range(len(originals))}
            seen.append(len(originals))
        writer.join()
        assert seen == sorted(seen)
        assert len(vault.originals("c")) == 30
