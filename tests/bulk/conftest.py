"""The keys of stores and ledgers, in the environment as users set them; models are loaded once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from sanitizer import Sanitizer
from sanitizer.bulk import files, rows
from sanitizer.storage import sealing
from tests.bulk.helpers import KEY, PART_ROWS
from tests.storage.postgres_server import PostgresServer, postgres_server


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SANITIZER_VAULT_KEY", KEY)
    monkeypatch.setenv("SANITIZER_LEDGER_KEY", KEY)
    monkeypatch.setattr(sealing, "SCRYPT_N", 16)  # guessing the key of a test costs nothing


@pytest.fixture(scope="session")
def running_postgres() -> Iterator[PostgresServer]:
    """One server for all tests of a process."""
    with postgres_server() as server:
        yield server


@pytest.fixture
def backend(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Where the stores of a test are: in files, or on PostgreSQL."""
    kind = str(getattr(request, "param", "file"))
    if kind == "postgres":
        server = request.getfixturevalue("running_postgres")
        monkeypatch.setenv("SANITIZER_DATABASE", server.url)
    else:
        monkeypatch.delenv("SANITIZER_DATABASE", raising=False)
    return kind


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "PART_ROWS", PART_ROWS)


@pytest.fixture(scope="session")
def loaded() -> Sanitizer:
    """A Sanitizer whose models are loaded."""
    return Sanitizer(threads=1)


@pytest.fixture(autouse=True)
def shared_models(loaded: Sanitizer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give all jobs of this process the same models."""

    def derived(mechanism: Any, policy: Any, *, vault: Any, threads: Any) -> Sanitizer:
        assert mechanism is None
        return loaded.derive(policy=policy, vault=vault)

    monkeypatch.setattr(rows, "Sanitizer", derived)
