"""The two databases that rows are kept in: one SQLite file, and PostgreSQL.

Both run the same statements, with "?" for values, and give rows whose columns are found by name or
place. SQLite is for the processes of one machine, PostgreSQL for those of several.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sqlite3
import threading
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import count
from pathlib import Path
from typing import Any, Literal, Protocol, Self, TypeVar

from sanitizer.errors import SanitizerError, to_install
from sanitizer.randomness import secret_key
from sanitizer.urls import database_host

Result = TypeVar("Result")
Statements = Sequence[tuple[str, Sequence[object]]]
"""Statements with their values."""

log = logging.getLogger("sanitizer.storage")

BUSY_SECONDS = 60.0
"""How long a statement waits for another process's lock of a SQLite file before it fails."""
SECONDS = 1.5
"""How long a statement waits for PostgreSQL before it fails."""
SERVER_SHARE = 0.8
"""Share of it after which the server itself ends a statement that waits for another's lock."""
CONNECTIONS = 8
"""Most connections of one process."""
PROBE_SECONDS = 0.25
"""How often a database that did not answer is tried again."""
RETRY_AFTER = 1.0
"""Seconds after which what failed for the moment may be tried again."""
IDLE_SECONDS = 30
"""How long a transaction may rest; then the server ends it, and a stopped process frees rows."""
UNUSED_SECONDS = 300.0
"""How long a connection may be unused; then another is opened in its place."""
_RETRIABLE = ("55P03", "57014", "40001", "40P01")
"""Errors of a statement that waited too long, or met another transaction: not of the database."""
_DOWN = ("08", "57P", "53")
"""Beginnings of the errors of a database that is going down, or is out of something."""
_FAILURES = (sqlite3.Error, OSError, UnicodeDecodeError)
"""What using a SQLite file raises; the last when names and reports come out of a damaged page."""
_REASONS = {  # what some of PostgreSQL's errors mean
    "28P01": "it refuses this user or password",
    "3D000": "it has no database of this name: createdb makes one",
    "42501": "this user lacks a right there: make it the owner of the database",
}


class Executor(Protocol):
    """Where statements run."""

    def rows(self, statement: str, *values: object) -> list[Any]:
        """Return the rows of a statement."""

    def many(self, statement: str, values: Sequence[Sequence[object]]) -> None:
        """Run a statement for each tuple of values."""


class Closing:
    """What is closed at the end of a `with` block."""

    def close(self) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class SQLite:
    """An open file. Safe for threads, one transaction at a time; unusable after a fork.

    Args:
        noun: what the file is called in messages.
        error: raised for whatever goes wrong with it.
    """

    def __init__(self, path: Path, noun: str, error: type[SanitizerError]) -> None:
        self.path, self.where = path, str(path)
        self._noun, self._error = noun, error
        self._process = os.getpid()
        self._lock = threading.RLock()
        self.patience = BUSY_SECONDS
        with self.failures():
            self._file = self._identity()
            self._db = sqlite3.connect(
                f"{path.as_uri()}?mode=rw",
                uri=True,
                timeout=BUSY_SECONDS,
                isolation_level=None,
                check_same_thread=False,
            )
            self._db.row_factory = sqlite3.Row

    def rows(self, statement: str, *values: object) -> list[Any]:
        """Return the rows of a statement, which is its own transaction unless one was begun."""
        with self._lock:
            try:
                return self._db.execute(statement, values).fetchall()
            except _FAILURES as error:
                raise self._failure(error) from None

    def many(self, statement: str, values: Sequence[Sequence[object]]) -> None:
        with self._lock, self.failures():
            self._db.executemany(statement, values)

    @contextmanager
    def transaction(
        self,
        begin: Literal["DEFERRED", "IMMEDIATE"] = "IMMEDIATE",
        synchronous: Literal["NORMAL", "FULL"] = "FULL",
    ) -> Iterator[Self]:
        """Run one transaction, all of it or nothing.

        Args:
            begin: IMMEDIATE takes the write lock.
            synchronous: FULL: what was written is on the disk when the transaction ends. NORMAL:
                it outlives a killed process, not a power cut.
        """
        self.check_process()  # before the lock: a thread that is gone may hold it for ever
        with self._lock, self.failures():
            self.check_identity()
            if begin == "IMMEDIATE":
                self._db.execute(f"PRAGMA synchronous = {synchronous}")
            self._db.execute(f"BEGIN {begin}")
            try:
                yield self
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise

    def empty_wal(self) -> bool:
        """Move everything into the main file; return False if the WAL is in use."""
        return not self.rows("PRAGMA wal_checkpoint(TRUNCATE)")[0][0]

    def close(self) -> None:
        with self._lock:
            self._db.close()

    def check_process(self) -> None:
        """Raise unless this is the process that opened the file."""
        if os.getpid() != self._process:
            raise self._error(f"{self.where}: opened before a fork; open it again in this process")

    def check_identity(self) -> None:
        """Raise unless the path is still that of the file that was opened.

        SQLite goes on writing to a file that was deleted or replaced.
        """
        if self._identity() != self._file:
            raise self._error(f"{self.where}: replaced while it was open")

    @contextmanager
    def failures(self) -> Iterator[None]:
        """Turn SQLite's and the operating system's errors into the file's error."""
        try:
            yield
        except _FAILURES as error:
            raise self._failure(error) from None

    def _failure(self, error: Exception) -> SanitizerError:
        """Return the file's error; the reason names files and tables, never contents."""
        told = getattr(error, "strerror", None) or str(error) or type(error).__name__
        is_text = isinstance(error, UnicodeDecodeError)  # its message would show the text
        reason = "damaged text" if is_text else self._why(error) or told
        return self._error(f"{self.where}: cannot be used as a {self._noun}: {reason}")

    def _why(self, error: Exception) -> str:
        """Return what is wrong with a path where the system's own reason would mislead, or ""."""
        return "it is a folder" if self.path.is_dir() else ""

    def _identity(self) -> tuple[int, int]:
        """Return what tells the file from another that takes its place under the same name."""
        found = self.path.stat()
        return found.st_dev, found.st_ino


def make_file(path: Path, statements: Statements) -> None:
    """Make a SQLite file, whole or not at all; only this user may read it.

    If another process makes the same meanwhile, the first one wins.

    Args:
        statements: what fills it.

    Raises:
        OSError: it cannot be written.
    """
    unfinished = path.with_name(f".{path.name}-{secret_key()[:16].hex()}")
    try:
        os.close(os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        with closing(sqlite3.connect(unfinished, isolation_level=None)) as db:
            for statement, values in statements:
                db.execute(statement, values)
        # A link, unlike a rename, never replaces what another process has put there.
        with suppress(FileExistsError):
            os.link(unfinished, path)
    finally:
        for suffix in ("", "-wal", "-shm"):
            unfinished.with_name(unfinished.name + suffix).unlink(missing_ok=True)


@dataclass
class Transaction:
    """Statements of one thread on one connection, all of them or none."""

    _database: Database
    _error: type[SanitizerError]
    seconds: float
    _connection: Any = field(default=None, repr=False)
    _failed: bool = False

    def rows(self, statement: str, *values: object) -> list[Any]:
        return list(self._run("fetch", statement, *values))

    def many(self, statement: str, values: Sequence[Sequence[object]]) -> None:
        if values:
            self._run("executemany", statement, values)

    def commit(self) -> None:
        """End the transaction; once this returns, the server has all of it on its disk."""
        if self._connection is not None:
            self._run("execute", "COMMIT")

    def roll_back(self) -> None:
        """Undo everything without raising; a connection in doubt is closed, to the same effect."""
        if self._connection is None:
            return
        with suppress(SanitizerError):
            if not self._failed:
                self._run("execute", "ROLLBACK")
        if self._failed:
            self._database.drop(self._connection)

    def _run(self, method: str, statement: str, *values: object) -> Any:
        work = self._call(method, numbered(statement), values)
        try:
            return self._database.wait(work, self.seconds, self._error)
        except BaseException:
            self._failed = True
            raise

    async def _call(self, method: str, statement: str, values: tuple[object, ...]) -> Any:
        if self._connection is None:
            self._connection = await self._database.acquire()
            await self._connection.execute("BEGIN")
        result = await getattr(self._connection, method)(statement, *values)
        if statement in ("COMMIT", "ROLLBACK"):
            self._database.release(self._connection)
        return result


class Database:
    """Connections to one database, for threads; each process opens its own.

    After a failure of the connection everything is refused at once, until a probe every quarter of
    a second has succeeded: requests that wait in line are refused in time too.

    Args:
        url: such as "postgresql://user@host/database"; never shown, since it may hold a password.
        seconds: how long a statement waits for the database.
        connections: most of this process.
        schema: that its tables are in.
        source: where the URL was read from, which messages name beside host and port.
    """

    def __init__(
        self, url: str, seconds: float, connections: int, schema: str, source: str = ""
    ) -> None:
        try:
            import asyncpg
        except ImportError:
            raise ValueError(f"PostgreSQL needs asyncpg: {to_install('postgres')}") from None

        self.where = f"PostgreSQL at {database_host(url)}" + f" (URL from {source})" * bool(source)
        self._driver = asyncpg
        self._url = url
        self.schema = schema
        self.seconds = seconds
        self._process = os.getpid()
        self._local = threading.local()
        self._down = False
        self._lock = threading.Lock()
        # A pool of asyncpg's makes two tasks for each statement, which is a tenth of its time.
        self._free: asyncio.LifoQueue[tuple[Any, float] | None] = asyncio.LifoQueue()
        for _ in range(connections):
            self._free.put_nowait(None)
        self._opened: set[Any] = set()
        self._loop = _new_loop()
        self._thread = threading.Thread(
            target=self._loop.run_forever, name="sanitizer-postgres", daemon=True
        )
        self._thread.start()

    @contextmanager
    def transaction(
        self, error: type[SanitizerError], seconds: float | None = None
    ) -> Iterator[Transaction]:
        """Run one transaction of this thread; inside another one, a part of that.

        Args:
            seconds: how long a statement may take, where that is not the usual time.

        Raises:
            SanitizerError: of the class `error`, whatever goes wrong with the database; its
                `retry_after` is set if that may pass.
        """
        outer: Transaction | None = getattr(self._local, "transaction", None)
        if outer is not None:
            yield outer
            return
        self._check(error)
        inner = self._local.transaction = Transaction(self, error, seconds or self.seconds)
        try:
            if seconds is not None:
                inner.rows(f"SET LOCAL statement_timeout = {seconds * 1000:.0f}")
                inner.rows(f"SET LOCAL lock_timeout = {seconds * 1000:.0f}")
            yield inner
            inner.commit()
        except BaseException:
            inner.roll_back()
            raise
        finally:
            self._local.transaction = None

    @contextmanager
    def alone(
        self, error: type[SanitizerError], seconds: float | None = None
    ) -> Iterator[Transaction]:
        """Run a transaction; of those in one schema that are run so, one at a time."""
        with self.transaction(error, seconds) as transaction:
            transaction.rows("SELECT pg_advisory_xact_lock(hashtextextended(?, 0))", self.schema)
            yield transaction

    def has_tables(self, error: type[SanitizerError]) -> bool:
        """Return True if the tables are there."""
        # Not to_regclass: it may answer from a cache that is older than the lock.
        select = "SELECT 1 FROM pg_tables WHERE schemaname = ? AND tablename = 'meta'"
        return bool(self.read(error, select, self.schema))

    def make(
        self, error: type[SanitizerError], statements: Callable[[], Statements], seconds: float
    ) -> None:
        """Make the tables, whole or not at all; of two processes the first one wins.

        Args:
            statements: returns what fills the schema.
        """
        if self.has_tables(error):
            return
        with self.alone(error, seconds) as transaction:
            if not self.has_tables(error):
                transaction.rows(f"CREATE SCHEMA IF NOT EXISTS {self.schema}")
                for statement, values in statements():
                    transaction.rows(statement, *values)

    def read(self, error: type[SanitizerError], statement: str, *values: object) -> list[Any]:
        """Return the rows of one statement, which is its own transaction unless one was begun."""
        outer: Transaction | None = getattr(self._local, "transaction", None)
        if outer is not None:
            return outer.rows(statement, *values)
        self._check(error)
        return self.wait(self._read(statement, values), self.seconds, error)

    def wait(
        self, work: Coroutine[Any, Any, Result], seconds: float, error: type[SanitizerError]
    ) -> Result:
        """Return the result of work in the loop.

        Raises:
            SanitizerError: of the class `error`; the message quotes nothing of the statement.
        """
        future = asyncio.run_coroutine_threadsafe(_heard(work), self._loop)
        try:
            return future.result(seconds)
        except TimeoutError:
            future.cancel()
            self._fail()
            reason = "it did not answer in time"
        except OSError as failure:
            self._fail()
            why = failure.strerror or type(failure).__name__
            reason = f"it cannot be reached ({why}): is it running there?"
        except Exception as failure:
            state = getattr(failure, "sqlstate", None) or ""
            if not state and type(failure).__module__.partition(".")[0] != "asyncpg":
                raise
            reason = _REASONS.get(state, f"{type(failure).__name__} {state}".rstrip())
            if not state or state.startswith(_DOWN):
                self._fail()
            elif state not in _RETRIABLE:
                raise error(f"{self.where} cannot be used: {reason}") from None
        raise _passing(error, f"{self.where} cannot be used: {reason}")

    async def acquire(self) -> Any:
        """Return a connection that nobody else uses: the one that was used last, or a new one."""
        slot = await self._free.get()
        if slot is not None and not slot[0].is_closed():
            if self._loop.time() - slot[1] < UNUSED_SECONDS:
                return slot[0]
            slot[0].terminate()
        try:
            return await self._connect()
        except BaseException:
            self._free.put_nowait(None)
            raise

    def release(self, connection: Any) -> None:
        """Give a connection back, after COMMIT or ROLLBACK only; in the loop."""
        self._free.put_nowait((connection, self._loop.time()))

    def drop(self, connection: Any) -> None:
        """Close a connection whose state is in doubt, without waiting."""
        self._loop.call_soon_threadsafe(self._end, connection)

    def _end(self, connection: Any) -> None:
        connection.terminate()
        self._free.put_nowait(None)

    def close(self) -> None:
        """Close all connections and end the loop."""

        async def end() -> None:
            for connection in self._opened:
                connection.terminate()
            others = asyncio.all_tasks() - {asyncio.current_task()}
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)

        if self._loop.is_running() and self._process == os.getpid():
            asyncio.run_coroutine_threadsafe(end(), self._loop).result(5)
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(5)
            self._loop.close()

    async def _connect(self) -> Any:
        milliseconds = f"{self.seconds * SERVER_SHARE * 1000:.0f}"
        connection = await self._driver.connect(
            self._url,
            timeout=self.seconds,
            server_settings={
                "application_name": "sanitizer",
                # What is given out must outlive a power cut: the server's default may be off.
                "synchronous_commit": "on",
                "default_transaction_isolation": "read committed",
                "lock_timeout": milliseconds,
                "statement_timeout": milliseconds,
                "idle_in_transaction_session_timeout": f"{IDLE_SECONDS}s",
                "tcp_keepalives_idle": "10",
                "tcp_keepalives_interval": "5",
                "tcp_keepalives_count": "3",
                "search_path": self.schema,
            },
        )
        self._opened = {each for each in self._opened if not each.is_closed()} | {connection}
        return connection

    async def _read(self, statement: str, values: tuple[object, ...]) -> list[Any]:
        connection = await self.acquire()
        try:
            rows = await connection.fetch(numbered(statement), *values)
        except self._driver.PostgresError:
            self.release(connection)
            raise
        except BaseException:
            self._end(connection)
            raise
        self.release(connection)
        return list(rows)

    def _check(self, error: type[SanitizerError]) -> None:
        if os.getpid() != self._process:
            raise error(f"{self.where}: opened before a fork; open it again in this process")
        if self._down:
            raise _passing(error, f"{self.where}: it did not answer a moment ago", repeated=True)

    def _fail(self) -> None:
        with self._lock:
            if self._down:
                return
            self._down = True
        if self._opened:  # before, whoever opens the store is told
            log.warning("%s does not answer; everything is refused until it does", self.where)
        asyncio.run_coroutine_threadsafe(self._probe(), self._loop)

    async def _probe(self) -> None:
        driver = self._driver
        while self._down:
            await asyncio.sleep(PROBE_SECONDS)
            try:
                connection = await self._driver.connect(self._url, timeout=self.seconds)
                await connection.fetchval("SELECT 1", timeout=self.seconds)
                await connection.close(timeout=self.seconds)
            except (TimeoutError, OSError, driver.PostgresError, driver.InterfaceError):
                continue
            for _ in range(self._free.qsize()):
                slot = self._free.get_nowait()
                if slot is not None:
                    slot[0].terminate()
                self._free.put_nowait(None)
            self._down = False
            log.warning("%s answers again", self.where)


@lru_cache(maxsize=256)
def numbered(statement: str) -> str:
    """Return a statement with PostgreSQL's names of values.

    >>> numbered("SELECT n FROM batch WHERE id = ? AND n > ?")
    'SELECT n FROM batch WHERE id = $1 AND n > $2'
    """
    first, *rest = statement.split("?")
    return first + "".join(f"${number}{part}" for number, part in zip(count(1), rest))


def _new_loop() -> asyncio.AbstractEventLoop:
    """Return a loop for the connections, if possible one that takes half the time."""
    try:
        import uvloop
    except ImportError:  # not for Windows
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


async def _heard(work: Coroutine[Any, Any, Result]) -> Result:
    """Return the result of work; once its thread waits no more, its errors are nobody's.

    asyncio would log them with a traceback.
    """
    try:
        return await work
    except Exception:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise asyncio.CancelledError from None
        raise


def _passing(error: type[SanitizerError], message: str, repeated: bool = False) -> SanitizerError:
    """Return an error that may be gone in a moment; where it is repeated, logs need it no more."""
    made = error(message)
    made.retry_after, made.is_repeated = RETRY_AFTER, repeated
    return made
