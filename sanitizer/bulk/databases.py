"""Where the rows of a job's store are: one SQLite file, or a schema of its own on PostgreSQL.

SQLite is for the processes of one machine, PostgreSQL for workers on several; there the address
comes from $SANITIZER_DATABASE, so that a job, which is sent to workers, holds no password.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from sanitizer.errors import VaultError
from sanitizer.storage.databases import BUSY_SECONDS, Database, SQLite, make_file

DATABASE_VARIABLE = "SANITIZER_DATABASE"
"""Environment variable that holds the address of PostgreSQL."""
_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
PREFIX = "postgres:"
"""Of the names of stores on PostgreSQL."""
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
    return str(store).startswith(PREFIX)


Made = Callable[[], Sequence[tuple[str, bytes]]]
"""Function () -> the rows of `meta`, which begin new tables."""


def _statements(words: dict[str, str], made: Made) -> list[tuple[str, tuple[object, ...]]]:
    tables = [(statement.format(**words), ()) for statement in _SCHEMA]
    return [*tables, *(("INSERT INTO meta VALUES (?, ?)", row) for row in made())]


class FileTables(SQLite):
    """The tables of one job in a file; `PATH-wal` lies beside it while it is open.

    Args:
        made: called if they are missing; None makes that an error.
    """

    def __init__(self, path: Path, made: Made | None) -> None:
        if made is not None and not path.exists():
            try:
                wal = ("PRAGMA journal_mode = WAL", ())
                make_file(path, [wal, *_statements(_SQLITE, made)])
            except OSError as error:
                raise VaultError(f"{path}: cannot be made: {error.strerror}") from None
        if not path.exists():
            raise VaultError(
                f"{path}: missing; the store of a job is on one machine; for several, postgres:NAME"
            )
        super().__init__(path, "store of a bulk job", VaultError)
        self.rows("PRAGMA secure_delete = ON")
        self.writing = partial(self.transaction, "IMMEDIATE")
        self.reading = partial(self.transaction, "DEFERRED")


class PostgresTables(Database):
    """The tables of one job, in a schema of the database that $SANITIZER_DATABASE names.

    Writers of one job wait for each other, as those of a file do. What was deleted stays in the
    database's files until a VACUUM, and in its backups.

    Args:
        name: of the job; the schema is "sanitizer_job_NAME".
        made: called if they are missing; None makes that an error.

    Raises:
        ValueError: NAME is not 1 to 40 lower-case letters, digits or _, or there is no address.
        VaultError: PostgreSQL cannot be reached.
    """

    def __init__(self, name: str, made: Made | None) -> None:
        if not _NAME.fullmatch(name):
            raise ValueError(
                f"a store on PostgreSQL must be {PREFIX}NAME, with at most 40 lower-case letters, "
                f"digits or _, got {name!r}"
            )
        if not (url := os.environ.get(DATABASE_VARIABLE, "")):
            raise ValueError(f"set ${DATABASE_VARIABLE} to postgresql://USER@HOST/DATABASE")
        # The second connection is for a progress bar that looks on.
        schema, source = f"sanitizer_job_{name}", f"${DATABASE_VARIABLE}"
        super().__init__(url, BUSY_SECONDS, 2, schema, source)
        self.rows, self.writing = partial(self.read, VaultError), partial(self.alone, VaultError)
        try:
            if made is not None:
                self.make(VaultError, partial(_statements, _POSTGRES, made), BUSY_SECONDS)
            if not self.has_tables(VaultError):
                raise VaultError(
                    f"{PREFIX}{name}: missing; the store of a job is in another database"
                )
        except BaseException:
            self.close()
            raise

    def many(self, statement: str, values: Sequence[Sequence[object]]) -> None:
        with self.transaction(VaultError) as transaction:
            transaction.many(statement, values)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Run a transaction whose statements all see the same state."""
        with self.transaction(VaultError) as transaction:
            transaction.rows("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            yield

    def empty_wal(self) -> bool:
        """Return True: what was deleted is the database's to overwrite."""
        return True
