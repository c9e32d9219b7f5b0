"""The store opens with its key only, and refuses while the server is gone."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from sanitizer.errors import LedgerError, SanitizerError, VaultError
from sanitizer.storage.ledger import PostgresLedger, Scope
from sanitizer.storage.postgres_store import PostgresStore
from sanitizer.storage.sealing import read_secret
from sanitizer.storage.stored_vault import PostgresVault
from sanitizer.storage.vault import placeholders
from sanitizer.urls import database_host
from tests.cli.running import run
from tests.storage.ledgers import TALK
from tests.storage.postgres_server import PostgresServer, postgres_server
from tests.storage.vault_contract import ANNA, BERTA, KEY, PHONE, result

NEW = b"another key of sixteen bytes"
REFUSED_SECONDS = 2.0


# ---- opening ----


def test_replicas_that_start_at_once_make_one_store(postgres: PostgresServer) -> None:
    def secret(_: int) -> bytes:
        with PostgresStore(postgres.url, KEY) as store:
            return store.secret

    with ThreadPoolExecutor(4) as pool:
        assert len(set(pool.map(secret, range(4)))) == 1


def test_a_store_opens_with_its_key_only(postgres: PostgresServer, store: PostgresStore) -> None:
    with pytest.raises(VaultError, match="wrong key"):
        PostgresStore(postgres.url, NEW)
    with pytest.raises(ValueError, match="16 characters"):
        PostgresStore(postgres.url, "short")


def test_a_missing_store_is_an_error_where_it_must_be_there(postgres: PostgresServer) -> None:
    with pytest.raises(VaultError, match="no store"):
        PostgresStore(postgres.url, KEY, create=False)


def test_another_version_is_refused(postgres: PostgresServer, store: PostgresStore) -> None:
    postgres.sql("UPDATE sanitizer.meta SET version = 2")
    with pytest.raises(VaultError, match="not a store of version 1"):
        PostgresStore(postgres.url, KEY)


def test_a_message_names_host_and_source_and_never_the_password(
    caplog: pytest.LogCaptureFixture,
) -> None:
    begin = time.monotonic()
    url = "postgresql://ada:secret-word@127.0.0.1:9/private"
    with pytest.raises(VaultError) as caught:
        PostgresStore(url, KEY, source="file:secrets/url")
    assert time.monotonic() - begin < REFUSED_SECONDS
    told = str(caught.value)
    where = "PostgreSQL at 127.0.0.1:9 (URL from file:secrets/url) cannot be used: it cannot be"
    assert told.startswith(f"{where} reached (Connection refused)")
    assert not {"ada", "secret-word", "private"} & set(told.replace(":", " ").split())
    assert caught.value.__cause__ is None
    assert not caplog.records, "the error says it"


def test_what_the_server_refuses_is_told_in_words(postgres: PostgresServer) -> None:
    with pytest.raises(VaultError, match="has no database of this name"):
        PostgresStore(postgres.url.replace("/postgres?", "/nowhere?"), KEY)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ada:12@secret@127.0.0.1/a",
        "postgresql://ada:12/secret@127.0.0.1/a",
        "postgresql://ada:12?secret@127.0.0.1/a",
        "postgresql://ada:12#secret@127.0.0.1/a",
        "postgresql://ada:secret",
        "mysql://ada:secret@127.0.0.1/a",
    ],
)
def test_a_url_in_which_a_password_looks_like_a_host_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="must be like postgresql://USER") as caught:
        PostgresStore(url, KEY)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("postgresql://ada:%40%2F@db.example:5433/a", "db.example:5433"),
        ("postgres://ada@[::1]/a", "[::1]:5432"),
        ("postgresql://one:1,two:2/a", "one:1,two:2"),
        ("postgresql://ada@/a?host=/run/postgresql&port=6000", "/run/postgresql:6000"),
        ("postgresql:///a", "this machine:5432"),
    ],
)
def test_the_host_of_a_url(url: str, host: str) -> None:
    assert database_host(url) == host


def test_the_command_shows_the_budgets_of_a_proxy(
    postgres: PostgresServer, store: PostgresStore, tmp_path: Path
) -> None:
    (tmp_path / "url").write_text(postgres.url)
    (tmp_path / "key").write_bytes(KEY)
    config = tmp_path / "proxy.toml"
    tenants = """
[upstreams.first]
url = "http://127.0.0.1:9/v1"
[[tenants]]
name = "ada"
keys = ["file:key"]
"""
    config.write_text(f'[storage]\nurl = "file:url"\nkey = "file:key"\n{tenants}')
    PostgresLedger(store).reserve([Scope("user", "ada")], 2.0).commit()
    done = run("budget", str(config), "--limit", "user:ada", "5", "--show", "user:ada")
    told = "user:ada: 3 of 5 left, 2 spent, 0 reserved\n"
    assert done.stdout.decode() == f"limit set; {told}{told}"
    assert b"1 row; --show" in run("budget", str(config)).stdout
    assert run("budget", str(config), "--create").returncode == 2
    config.write_text(tenants)
    assert b"no [storage]" in run("budget", str(config)).stderr


def test_it_is_not_used_after_a_fork(store: PostgresStore) -> None:
    number = os.fork()
    if number == 0:
        try:
            PostgresLedger(store).balance(TALK)
        except LedgerError as error:
            os._exit(7 if "before a fork" in str(error) else 8)
        os._exit(9)
    assert os.waitstatus_to_exitcode(os.waitpid(number, 0)[1]) == 7


# ---- keys ----


def test_a_key_is_changed_while_replicas_run(
    postgres: PostgresServer, store: PostgresStore
) -> None:
    vault = PostgresVault(store)
    placeholders(vault, "c", [ANNA, BERTA])
    vault.put_first(b"k", result("one", ANNA[1]), "c")
    with PostgresStore(postgres.url, KEY) as admin:
        admin.add_key(NEW)
        with PostgresStore(postgres.url, NEW) as restarted:
            assert PostgresVault(restarted).originals("c") == vault.originals("c")
        with pytest.raises(VaultError, match="2 keys open it"):
            admin.renew()
        admin.remove_key(KEY)
        with pytest.raises(ValueError, match="in use"):
            admin.remove_key(NEW)
        before = postgres.sql("SELECT body FROM sanitizer.entry ORDER BY place")
        assert admin.renew(batch=1) == 4
        after = postgres.sql("SELECT body FROM sanitizer.entry ORDER BY place")
        assert not set(before.split()) & set(after.split())
        assert PostgresVault(admin).originals("c") == {
            "<EMAIL_1>": ANNA[1],
            "<EMAIL_2>": BERTA[1],
        }
        assert PostgresVault(admin).get(b"k") == result("one", ANNA[1])
    with pytest.raises(VaultError, match="wrong key"):
        PostgresStore(postgres.url, KEY)


def test_a_replica_that_runs_reads_what_another_sealed_anew(
    postgres: PostgresServer, store: PostgresStore
) -> None:
    running = PostgresVault(store)
    placeholders(running, "c", [ANNA])
    with PostgresStore(postgres.url, KEY) as admin:
        admin.renew()
        placeholders(PostgresVault(admin), "c", [BERTA])
    assert placeholders(running, "c", [PHONE, BERTA]) == ["<PHONE_1>", "<EMAIL_2>"]
    assert len(running.originals("c")) == 3


def test_secrets_come_from_the_environment_a_file_or_a_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_KEY", "from the environment")
    (tmp_path / "key").write_text("from a file\n")
    assert read_secret("env:A_KEY") == "from the environment"
    assert read_secret(f"file:{tmp_path / 'key'}") == "from a file"
    assert read_secret("command:printf 'from a program\\nmore'") == "from a program"


@pytest.mark.parametrize(
    "source", ["env:NOT_SET_ANYWHERE", "file:/no/such/file", "command:false", "hunter2-hunter2", ""]
)
def test_a_missing_secret_is_an_error_that_shows_none(source: str) -> None:
    with pytest.raises(ValueError, match="secret") as caught:
        read_secret(source)
    assert "hunter2" not in str(caught.value)


def test_importing_the_storage_loads_no_driver() -> None:
    code = "import sys, sanitizer.storage as s; s.PostgresStore; print('asyncpg' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


# ---- a server that is gone ----


@pytest.fixture
def own_server() -> Iterator[PostgresServer]:
    with postgres_server() as server:
        yield server


def refused(store: PostgresStore) -> float:
    """How long the slowest of nine requests took to be refused, eight at once, in seconds."""

    def ask(number: int) -> float:
        vault, ledger = PostgresVault(store), PostgresLedger(store)
        begin = time.monotonic()
        with pytest.raises(SanitizerError, match=r"cannot be used|did not answer|busy") as caught:
            vault.get(b"k") if number % 2 else ledger.reserve([TALK], 1.0)
        assert caught.value.retry_after
        return time.monotonic() - begin

    with ThreadPoolExecutor(8) as pool:
        slowest = max(pool.map(ask, range(8)))
    begin = time.monotonic()
    with pytest.raises(VaultError):
        placeholders(PostgresVault(store), "c", [BERTA])
    return max(slowest, time.monotonic() - begin)


def eventually(store: PostgresStore) -> None:
    """Wait until the store works again."""
    end = time.monotonic() + 20
    while True:
        try:
            return store.check()
        except VaultError:
            assert time.monotonic() < end
            time.sleep(0.05)


@pytest.mark.slow
def test_a_dead_database_refuses_in_time_and_loses_nothing(
    own_server: PostgresServer, caplog: pytest.LogCaptureFixture
) -> None:
    with PostgresStore(own_server.url, KEY) as store:
        vault, ledger = PostgresVault(store), PostgresLedger(store)
        placeholders(vault, "c", [ANNA])
        ledger.reserve([TALK], 2.0).commit()
        own_server.stop()
        assert refused(store) < REFUSED_SECONDS
        own_server.start()
        eventually(store)
        assert placeholders(vault, "c", [ANNA, BERTA]) == ["<EMAIL_1>", "<EMAIL_2>"]
        assert ledger.balance(TALK).spent == 2.0
        own_server.freeze()  # connections stay open, nothing answers
        assert refused(store) < REFUSED_SECONDS
        assert refused(store) < 0.2, "until it answers again, nobody waits"
        own_server.thaw()
        eventually(store)
        assert placeholders(vault, "c", [PHONE]) == ["<PHONE_1>"]
        ledger.check()
    gc.collect()  # which would tell of tasks whose errors nobody took
    down, up = "does not answer; everything is refused until it does", "answers again"
    where = f"PostgreSQL at {own_server.folder}:5432"
    assert [each.message for each in caplog.records] == [
        f"{where} {each}" for each in (down, up, down, up)
    ], "once each, without tracebacks"


@pytest.mark.slow
def test_what_is_refused_while_the_database_is_down_was_logged_when_it_went(
    own_server: PostgresServer,
) -> None:
    with PostgresStore(own_server.url, KEY) as store:
        own_server.stop()
        told = []
        for _ in range(3):
            with pytest.raises(VaultError) as caught:
                store.check()
            told.append(caught.value.is_repeated)
        own_server.start()
    assert told == [False, True, True]
