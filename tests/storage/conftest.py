"""Open and closed ledgers and vaults."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sanitizer.storage.ledger import DAY, Ledger
from sanitizer.storage.postgres_store import PostgresStore
from sanitizer.storage.stored_vault import FileVault
from sanitizer.storage.vault import placeholders
from tests.storage import ledgers, vault_contract
from tests.storage.ledgers import ADA, TALK, Clock
from tests.storage.postgres_server import PostgresServer, postgres_server
from tests.storage.vault_contract import ANNA, BERTA, PHONE, result

QUICK_SCRYPT = 2**4


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """The work of deriving keys is not the subject here."""
    monkeypatch.setattr("sanitizer.storage.sealing.SCRYPT_N", QUICK_SCRYPT)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def ledger_path(tmp_path: Path) -> Path:
    return tmp_path / "ledger"


@pytest.fixture
def ledger(ledger_path: Path, clock: Clock) -> Iterator[Ledger]:
    with Ledger.create(ledger_path, ledgers.KEY, clock=clock) as made:
        yield made


@pytest.fixture
def used_ledger(ledger: Ledger, ledger_path: Path) -> Path:
    """A closed ledger with limits, sums and an open reservation."""
    ledger.set_limit(TALK, 10.0)
    ledger.set_limit(DAY, 20.0)
    ledger.reserve([TALK, ADA, DAY], 4.0).commit()
    ledger.reserve([TALK, DAY], 1.0)
    ledger.close()
    return ledger_path


@pytest.fixture
def vault_path(tmp_path: Path) -> Path:
    return tmp_path / "vault"


@pytest.fixture
def vault(vault_path: Path) -> Iterator[FileVault]:
    with FileVault(vault_path, vault_contract.KEY) as made:
        yield made


@pytest.fixture
def used_vault(vault: FileVault, vault_path: Path) -> Path:
    """A closed vault with two conversations and three messages."""
    placeholders(vault, "c", [ANNA, BERTA, PHONE])
    placeholders(vault, "d", [BERTA, ANNA])
    for key in (b"1", b"2", b"3"):
        vault.put_first(key, result(key.decode(), ANNA[1]), "c")
    vault.close()
    return vault_path


@pytest.fixture(scope="session")
def running_postgres() -> Iterator[PostgresServer]:
    """One server for all tests of a process."""
    with postgres_server() as server:
        yield server


@pytest.fixture
def postgres(running_postgres: PostgresServer) -> PostgresServer:
    """The server, with nothing of ours in its database."""
    running_postgres.sql("DROP SCHEMA IF EXISTS sanitizer CASCADE")
    return running_postgres


@pytest.fixture
def store(postgres: PostgresServer) -> Iterator[PostgresStore]:
    with PostgresStore(postgres.url, vault_contract.KEY, seconds=20.0) as made:
        yield made
