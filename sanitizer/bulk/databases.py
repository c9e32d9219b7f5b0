"""Where the rows of a job's store are: one SQLite file, or a schema of its own on PostgreSQL.

SQLite is for the processes of one machine, PostgreSQL for workers on several; there the address
comes from $SANITIZER_DATABASE, so that a job, which is sent to workers, holds no password.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from sanitizer.errors import VaultError
from sanitizer.storage import Database, SQLite, make_file

DATABASE_VARIABLE = "SANITIZER_DATABASE"
"""Environment variable that holds the address of PostgreSQL."""
BUSY_SECONDS = 60.0
"""How long a statement waits for other processes."""
_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
_PREFIX = "postgres:"
_SCHEMA = (
    "CREATE TABLE meta (name TEXT PRIMARY KEY, value {bytes})",
    "CREATE TABLE batch (id {number}, n BIGINT, charged BIGINT, body {bytes}, pending {bytes})",
    "CREATE TABLE line (key {bytes} PRIMARY KEY, batch BIGINT, place BIGINT)",
    "CREATE TABLE unit (key {bytes} PRIMARY KEY, version BIGINT, batch BIGINT, body {bytes}, "
    "before {bytes})",
    "CREATE INDEX open_batch ON batch (charged) WHERE charged = 0",
)
_SQLITE = {"bytes": "BLOB", "number": "INTEGER PRIMARY KEY AUTOINCREMENT"}
_POSTGRES = {"bytes": "BYTEA", "number": "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY"}


def on_postgres(store: Path) -> bool:
    """Return True if a store is on PostgreSQL.

    >>> on_postgres(Path("postgres:reviews")), on_postgres(Path("reviews.vault"))
    (True, False)
    """
    return str(store).startswith(_PREFIX)


def name_of(store: Path) -> str:
    """Return the name that a ledger is charged under: of the file, or on PostgreSQL."""
    return str(store).removeprefix(_PREFIX) if on_postgres(store) else store.name


class FileTables:
    """The tables of one job in a file; `PATH-wal` lies beside it while it is open."""

    elsewhere = "on one machine; for several, postgres:NAME"

    def __init__(self, path: Path) -> None:
        self._path, self.where = path, str(path)
        self._opened: SQLite | None = None

    def exists(self) -> bool:
        """Return True if the tables are there."""
        return self._path.exists()

    def create(self, meta: Sequence[tuple[str, bytes]]) -> None:
        """Make the tables, whole or not at all; of two processes the first one wins."""
        insert = "INSERT INTO meta VALUES (?, ?)"
        statements = [(statement.format(**_SQLITE), ()) for statement in _SCHEMA]
        try:
            make_file(self._path, [*statements, *((insert, values) for values in meta)])
        except OSError as error:
            raise VaultError(f"{self.where}: cannot be made: {error.strerror}") from None

    def open(self) -> None:
        """Open them, once they are there."""
        self._opened = db = SQLite(self._path, "store of a bulk job", VaultError)
        db.rows("PRAGMA synchronous = FULL")
        db.rows("PRAGMA secure_delete = ON")
        self.rows, self.many, self.empty_wal = db.rows, db.many, db.empty_wal
        self.writing = partial(db.transaction, "IMMEDIATE")
        self.reading = partial(db.transaction, "DEFERRED")

    def close(self) -> None:
        """Close the file."""
        if self._opened is not None:
            self._opened.close()


class PostgresTables:
    """The tables of one job, in a schema of the database that $SANITIZER_DATABASE names.

    Writers of one job wait for each other, as those of a file do. What was deleted stays in the
    database's files until a VACUUM, and in its backups.

    Args:
        name: of the job; the schema is "sanitizer_job_NAME".

    Raises:
        ValueError: NAME is not 1 to 40 lower-case letters, digits or _, or there is no address.
        VaultError: PostgreSQL cannot be reached.
    """

    elsewhere = "in another database"

    def __init__(self, name: str) -> None:
        if not _NAME.fullmatch(name):
            raise ValueError(
                f"a store on PostgreSQL must be {_PREFIX}NAME, with at most 40 lower-case letters, "
                f"digits or _, got {name!r}"
            )
        url = os.environ.get(DATABASE_VARIABLE, "")
        if not url:
            raise ValueError(f"set ${DATABASE_VARIABLE} to postgresql://USER@HOST/DATABASE")
        self.where = f"{_PREFIX}{name}"
        self._schema = f"sanitizer_job_{name}"
        # The second connection is for a progress bar that looks on.
        self._database = Database(url, BUSY_SECONDS, 2, {"search_path": self._schema})
        self.rows: Any = partial(self._database.read, VaultError)
        self.close = self._database.close

    def exists(self) -> bool:
        """Return True if the tables are there."""
        return bool(self.rows("SELECT 1 FROM pg_tables WHERE schemaname = ?", self._schema))

    def create(self, meta: Sequence[tuple[str, bytes]]) -> None:
        """Make the tables, whole or not at all; of two processes the first one wins."""
        with self.writing():
            if not self.exists():
                self.rows(f"CREATE SCHEMA IF NOT EXISTS {self._schema}")
                for statement in _SCHEMA:
                    self.rows(statement.format(**_POSTGRES))
                self.many("INSERT INTO meta VALUES (?, ?)", meta)

    def open(self) -> None:
        """Do nothing: the connections are open."""

    def many(self, statement: str, values: Sequence[Sequence[object]]) -> None:
        """Run a statement for each tuple of values."""
        with self._database.transaction(VaultError) as transaction:
            transaction.many(statement, values)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Run a transaction; no other process writes to this job meanwhile."""
        with self._database.transaction(VaultError) as transaction:
            transaction.rows("SELECT pg_advisory_xact_lock(hashtextextended(?, 0))", self._schema)
            yield

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Run a transaction whose statements all see the same state."""
        with self._database.transaction(VaultError) as transaction:
            transaction.rows("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            yield

    def empty_wal(self) -> bool:
        """Return True: what was deleted is the database's to overwrite."""
        return True
