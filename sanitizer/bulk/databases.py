"""Where the rows of a job's store are: one SQLite file, or a schema of its own on PostgreSQL.

Both run the same statements, with "?" for values. SQLite is for the processes of one machine,
PostgreSQL for workers on several; there the address comes from $SANITIZER_DATABASE, so that a job,
which is sent to workers, holds no password.
"""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Protocol

from sanitizer.errors import VaultError
from sanitizer.randomness import secret_key
from sanitizer.storage import Database

DATABASE_VARIABLE = "SANITIZER_DATABASE"
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
_WITHOUT_ROWID = ("meta", "line", "unit")


class JobDatabase(Protocol):
    """The open tables of one job, for one thread.

    Attributes:
        where: name of it, for messages.
    """

    where: str

    def exists(self) -> bool:
        """Return True if the tables are there."""

    def create(self, meta: Sequence[tuple[str, bytes]]) -> None:
        """Make the tables, whole or not at all; of two processes the first one wins."""

    def open(self) -> None:
        """Open them, once they are there."""

    def rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """Return the rows of a statement."""

    def many(self, statement: str, values: Sequence[Sequence[object]]) -> None:
        """Run a statement for each tuple of values."""

    def writing(self) -> AbstractContextManager[None]:
        """Run a transaction; no other process writes to this job meanwhile."""

    def reading(self) -> AbstractContextManager[None]:
        """Run a transaction whose statements all see the same state."""

    def overwrite(self) -> bool:
        """Overwrite what was deleted, where that can be done; return False if it is in use."""

    def close(self) -> None:
        """Close the connections."""


def job_database(store: Path) -> JobDatabase:
    """Return the database of a store: "postgres:NAME", or the path of a file.

    Raises:
        ValueError: NAME is not 1 to 40 lower-case letters, digits or _, or there is no address.
        VaultError: PostgreSQL cannot be reached.
    """
    return PostgresSchema(name_of(store)) if on_postgres(store) else SqliteFile(store)


def on_postgres(store: Path) -> bool:
    """Return True if a store is on PostgreSQL.

    >>> on_postgres(Path("postgres:reviews")), on_postgres(Path("reviews.vault"))
    (True, False)
    """
    return str(store).startswith(_PREFIX)


def name_of(store: Path) -> str:
    """Return the name that a ledger is charged under: of the file, or on PostgreSQL."""
    return str(store).removeprefix(_PREFIX) if on_postgres(store) else store.name


class SqliteFile:
    """Tables in one file; `PATH-wal` lies beside it while it is open."""

    def __init__(self, path: Path) -> None:
        self._path = Path(path).absolute()
        self.where = str(self._path)
        self._opened: sqlite3.Connection | None = None

    @property
    def _db(self) -> sqlite3.Connection:
        assert self._opened is not None, "opened before it is used"
        return self._opened

    def exists(self) -> bool:
        return self._path.exists()

    def create(self, meta: Sequence[tuple[str, bytes]]) -> None:
        mark = secret_key()[:16].hex()
        unfinished = self._path.with_name(f".{self._path.name}-{mark}")
        try:
            os.close(os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            made = sqlite3.connect(unfinished, isolation_level=None)
            made.execute("PRAGMA journal_mode = WAL")
            for statement in _SCHEMA:
                table = statement.split()[2]
                made.execute(
                    statement.format(bytes="BLOB", number="INTEGER PRIMARY KEY AUTOINCREMENT")
                    + (" WITHOUT ROWID" if table in _WITHOUT_ROWID else "")
                )
            made.executemany("INSERT INTO meta VALUES (?, ?)", meta)
            made.close()
            os.link(unfinished, self._path)
        except FileExistsError:
            pass
        finally:
            for suffix in ("", "-wal", "-shm"):
                unfinished.with_name(unfinished.name + suffix).unlink(missing_ok=True)

    def open(self) -> None:
        self._opened = sqlite3.connect(
            self._path.as_uri() + "?mode=rw",
            uri=True,
            timeout=BUSY_SECONDS,
            isolation_level=None,
            check_same_thread=False,
        )
        self._db.execute("PRAGMA synchronous = FULL")
        self._db.execute("PRAGMA secure_delete = ON")

    def rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        return self._db.execute(statement, values).fetchall()

    def many(self, statement: str, values: Sequence[Sequence[object]]) -> None:
        self._db.executemany(statement, values)

    def writing(self) -> AbstractContextManager[None]:
        return self._transaction("IMMEDIATE")

    def reading(self) -> AbstractContextManager[None]:
        return self._transaction("DEFERRED")

    def overwrite(self) -> bool:
        return not self.rows("PRAGMA wal_checkpoint(TRUNCATE)")[0][0]

    def close(self) -> None:
        if self._opened is not None:
            self._opened.close()

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[None]:
        self._db.execute(f"BEGIN {begin}")
        try:
            yield
            self._db.execute("COMMIT")
        except BaseException:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise


class PostgresSchema:
    """Tables in a schema of the database that $SANITIZER_DATABASE names.

    Writers of one job wait for each other, as those of a file do. What was deleted stays in the
    database's files until a VACUUM, and in its backups.

    Args:
        name: of the job; the schema is "sanitizer_job_NAME".
    """

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
        try:
            # The second connection is for a progress bar that looks on.
            self._database = Database(url, BUSY_SECONDS, 2, {"search_path": self._schema})
        except ImportError:
            raise ValueError(
                'PostgreSQL needs asyncpg: pip install "dp-sanitizer[postgres]"'
            ) from None

    def exists(self) -> bool:
        return bool(self.rows("SELECT 1 FROM pg_tables WHERE schemaname = ?", self._schema))

    def create(self, meta: Sequence[tuple[str, bytes]]) -> None:
        with self.writing():
            if self.exists():
                return
            self.rows(f"CREATE SCHEMA IF NOT EXISTS {self._schema}")
            number = "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY"
            for statement in _SCHEMA:
                self.rows(statement.format(bytes="BYTEA", number=number))
            self.many("INSERT INTO meta VALUES (?, ?)", meta)

    def open(self) -> None:
        """Do nothing: the connections are open."""

    def rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        return [
            tuple(row) for row in self._database.read(VaultError, _numbered(statement), *values)
        ]

    def many(self, statement: str, values: Sequence[Sequence[object]]) -> None:
        with self._database.transaction(VaultError) as transaction:
            transaction.many(_numbered(statement), values)

    @contextmanager
    def writing(self) -> Iterator[None]:
        with self._database.transaction(VaultError) as transaction:
            transaction.rows("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", self._schema)
            yield

    @contextmanager
    def reading(self) -> Iterator[None]:
        with self._database.transaction(VaultError) as transaction:
            transaction.rows("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            yield

    def overwrite(self) -> bool:
        return True

    def close(self) -> None:
        self._database.close()


def _numbered(statement: str) -> str:
    """Return a statement with PostgreSQL's names of values.

    >>> _numbered("SELECT n FROM batch WHERE id = ? AND n > ?")
    'SELECT n FROM batch WHERE id = $1 AND n > $2'
    """
    numbers = iter(range(1, statement.count("?") + 1))
    return re.sub(r"\?", lambda _: f"${next(numbers)}", statement)
