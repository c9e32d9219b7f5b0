"""One SQLite file with a mark beside it: opening, verifying, transactions, errors.

`LedgerRows` and `VaultRows` say which rows there are and how each is authenticated. What they
share is here. A file is verified completely when it is opened. Every transaction begins with the
head row, which describes the state of the whole file. Beside `PATH` lies `PATH-mark`, which holds
the head's counter and is written after each commit that raises it: SQLite silently drops what a
damaged or deleted write-ahead log (WAL) held, and the mark shows that something is missing.
"""

from __future__ import annotations

import hmac
import os
import sqlite3
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Literal, Protocol, TypeVar

from sanitizer.errors import LedgerError, VaultError

BUSY_SECONDS = 60.0
"""How long a statement waits for another process's write lock before it fails."""
MARK_BYTES = 8
"""Length of the mark file: the counter as one big-endian integer."""
MAX_SHOWN = 100
"""Most characters of SQLite's own report shown in an error; of a damaged file it can be long."""


@dataclass(frozen=True, slots=True)
class Layout:
    """What identifies one kind of file, and how its errors speak of it.

    Attributes:
        noun: what the file is called in messages.
        counted: what the mark counts, in the plural.
        error: raised for everything that goes wrong with the file.
        application: SQLite's application id.
        version: of the format; another one is refused.
        schema: every CREATE statement, exactly as SQLite stores it.
    """

    noun: str
    counted: str
    error: type[LedgerError | VaultError]
    application: int
    version: int
    schema: tuple[str, ...]

    def write(self, db: sqlite3.Connection, head: tuple[object, ...]) -> None:
        """Create the tables and insert the head row into an empty database, in one transaction."""
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("BEGIN IMMEDIATE")
        db.execute(f"PRAGMA application_id = {self.application}")
        db.execute(f"PRAGMA user_version = {self.version}")
        for statement in self.schema:
            db.execute(statement)
        db.execute(f"INSERT INTO head VALUES ({', '.join('?' * len(head))})", head)  # noqa: S608
        db.execute("COMMIT")

    def check(self, db: sqlite3.Connection, path: Path) -> None:
        """Raise the layout's error unless the database is sound and has this format."""
        expected = {
            "application_id": self.application,
            "user_version": self.version,
            "journal_mode": "wal",
            "quick_check": "ok",
        }
        for pragma, value in expected.items():
            found = db.execute(f"PRAGMA {pragma}").fetchall()
            if found != [(value,)]:
                shown = repr(found[0][0])[:MAX_SHOWN]  # repr: quick_check reports several lines
                raise self.error(
                    f"{path}: not a sound {self.noun} of version {self.version}: "
                    f"{pragma} is {shown}"
                )
        # Triggers and views are in sqlite_schema too: one more of them could undo every write.
        statements = [sql for (sql,) in db.execute("SELECT sql FROM sqlite_schema")]
        if len(statements) != len(self.schema) or {*statements} != {*self.schema}:
            raise self.damaged(path, "other tables than expected")

    def damaged(self, path: Path, what: str) -> LedgerError | VaultError:
        """Return the error that says a file was damaged or edited."""
        return self.error(f"{path}: damaged or edited: {what}")

    @contextmanager
    def failures(self, path: Path) -> Iterator[None]:
        """Turn SQLite's and the operating system's errors into the layout's error.

        Their messages name files and tables, never contents.
        """
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            told = error.strerror if isinstance(error, OSError) else str(error)
            reason = _why(path, error) or told or type(error).__name__
        except UnicodeDecodeError:  # SQLite reads names and reports out of a damaged page
            reason = "damaged text"
        else:
            return
        raise self.error(f"{path}: cannot be used as a {self.noun}: {reason}") from None


def _why(path: Path, error: Exception) -> str:
    """Return what is wrong with a path where the system's own reason would mislead, or ""."""
    if path.is_dir():
        return "it is a folder"
    if isinstance(error, FileNotFoundError) and path.exists() and not mark(path).exists():
        return f"{mark(path).name} is not beside it (another kind of file, or copied alone)"
    return ""


class Head(Protocol):
    """The state of a whole file, as its head row holds it."""

    @property
    def counter(self) -> int:
        """Number that only grows; the mark holds it too."""


AnyHead = TypeVar("AnyHead", bound=Head)


class SQLiteFile(ABC, Generic[AnyHead]):
    """An open, verified file. Safe for threads, one transaction at a time; unusable after a fork.

    Raises:
        LedgerError, VaultError: here and from every method, whatever goes wrong with the file; the
            layout says which.
    """

    layout: Layout

    def __init__(self, path: Path) -> None:
        self.path = path
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._counter = 0
        with self.layout.failures(path):
            self._file = identity(path)
            self._db = connect(path)
            try:
                self._verify()
            except BaseException:
                self._db.close()
                raise

    @abstractmethod
    def _unlock(self) -> None:
        """Prepare the keys. Called once at opening, when the format was found right."""

    @abstractmethod
    def _read_head(self) -> AnyHead:
        """Return the verified head."""

    @abstractmethod
    def _write_head(self, head: AnyHead) -> None:
        """Write the head back. Called at the end of every IMMEDIATE transaction."""

    @abstractmethod
    def _check_rows(self, head: AnyHead) -> None:
        """Verify everything in the file. Called once at opening."""

    @contextmanager
    def transaction(
        self,
        begin: Literal["DEFERRED", "IMMEDIATE"],
        synchronous: Literal["NORMAL", "FULL"] = "FULL",
    ) -> Iterator[AnyHead]:
        """Run one transaction, all of it or nothing; yields the head.

        Args:
            begin: IMMEDIATE takes the write lock. Change the head and rows under it only.
            synchronous: FULL: what was written is on the disk when the transaction ends. NORMAL:
                it outlives a killed process, not a power cut.
        """
        # Before the lock: after a fork, a thread that no longer exists may hold it for ever.
        self._check_process()
        with self._lock, self.layout.failures(self.path):
            self._check_identity()
            self._db.execute(f"PRAGMA synchronous = {synchronous}")
            self._db.execute(f"BEGIN {begin}")
            try:
                head = self._read_head()
                if head.counter < self._counter:
                    raise self.damaged("older than a moment ago")
                before = head.counter
                yield head
                if begin == "IMMEDIATE":
                    self._write_head(head)
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise
            self._counter = head.counter
            if head.counter > before:
                with mark(self.path).open("r+b", buffering=0) as out:
                    out.write(head.counter.to_bytes(MARK_BYTES, "big"))

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            self._db.close()

    def damaged(self, what: str) -> LedgerError | VaultError:
        """Return the error that says this file was damaged or edited."""
        return self.layout.damaged(self.path, what)

    def _check_process(self) -> None:
        """Raise unless this is the process that opened the file."""
        if os.getpid() != self._process:
            raise self.layout.error(
                f"{self.path}: opened before a fork; open it again in this process"
            )

    def _check_identity(self) -> None:
        """Raise unless `path` is still the file that was opened."""
        if identity(self.path) != self._file:
            raise self.layout.error(f"{self.path}: replaced while it was open")

    def _verify(self) -> None:
        """Check the whole file once, with the right to write.

        Nothing is found out only after something was drawn.
        """
        # The mark is read before the head: meanwhile other processes may raise both, head first.
        marked = mark(self.path).read_bytes()
        self.layout.check(self._db, self.path)
        self._unlock()
        with self.transaction("IMMEDIATE") as head:
            if len(marked) != MARK_BYTES or int.from_bytes(marked, "big") > head.counter:
                raise self.damaged(f"{self.layout.counted} are missing that the mark counts")
            self._check_rows(head)


def hmac_of(key: bytes, *fields: object) -> bytes:
    """Return the HMAC-SHA256 of the fields' repr as UTF-8 (repr escapes lone surrogates)."""
    return hmac.digest(key, repr(fields).encode(), "sha256")


def mark(path: Path) -> Path:
    """Return the path of the mark that lies beside a file."""
    return path.with_name(path.name + "-mark")


def identity(path: Path) -> tuple[int, int]:
    """Return what tells one file from another that takes its place under the same name.

    SQLite goes on writing to a file that was deleted or replaced.

    Raises:
        FileNotFoundError: there is no such file.
    """
    found = path.stat()
    return found.st_dev, found.st_ino


def connect(path: Path) -> sqlite3.Connection:
    """Connect to an existing file; a statement is its own transaction unless one was begun."""
    uri = path.as_uri() + "?mode=rw"
    return sqlite3.connect(
        uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
    )


def make_files(path: Path) -> None:
    """Make an empty file and its mark, which counts nothing yet; only this user may read them.

    Raises:
        FileExistsError: one of them exists.
    """
    for file, content in ((mark(path), bytes(MARK_BYTES)), (path, b"")):
        with os.fdopen(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as out:
            out.write(content)
