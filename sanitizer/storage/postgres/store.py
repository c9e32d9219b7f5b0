"""The store on PostgreSQL that replicas share: connection, transactions, tables and keys.

`PostgresVault` and `PostgresLedger` say what the rows mean. Drivers compared on this machine: one
transaction of six statements takes 0.5 ms with psycopg, 1.2 ms with pg8000 and 1.3 ms with asyncpg
in a loop of its own. asyncpg is taken all the same: its licence is Apache-2.0 (psycopg: LGPL), and
it gives up after a time that the caller sets, even if the server neither answers nor hangs up.

Guarantee: without the key, nothing private can be read from the database, its log or its backups:
names are HMACs, contents are sealed (`sealing`), for their place, padded. A row that was changed or
swapped is an error; so is one that is missing among those of a conversation.
Not protected: whoever may write to the database can remove whole conversations and charges, or put
older rows back; sizes as powers of two, times, which rows belong together; memory of this process.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import threading
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Self, TypeVar

from sanitizer.errors import SanitizerError, VaultError
from sanitizer.randomness import secret_key
from sanitizer.storage.sealing import (
    SALT_BYTES,
    SCRYPT_N,
    Keys,
    derived_keys,
    dumped,
    key_bytes,
)
from sanitizer.storage.sqlite_file import hmac_of

Result = TypeVar("Result")

log = logging.getLogger("sanitizer.storage")

VERSION = 1
"""Version of the tables; another one is refused."""
SECONDS = 1.5
"""How long a statement waits for the database before it fails."""
SERVER_SHARE = 0.8
"""Share of it after which the server itself ends a statement that waits for another's lock."""
PATIENCE = 30.0
"""How long a statement may take while the tables are made, or rows are sealed again."""
CONNECTIONS = 8
"""Most connections of one process."""
PROBE_SECONDS = 0.25
"""How often a database that did not answer is tried again."""
RETRY_AFTER = 1.0
IDLE_SECONDS = 30
"""How long a transaction may rest; then the server ends it, and a stopped process frees rows."""
UNUSED_SECONDS = 300.0
"""How long a connection may be unused; then another is opened in its place."""
CREATING = 0x53414E53  # advisory lock: replicas that start at once create the tables once
_GENERATION = 4
_RETRIABLE = ("55P03", "57014", "40001", "40P01")
"""Errors of a statement that waited too long, or met another transaction: not of the database."""
_DOWN = ("08", "57P", "53")

SCHEMA = """
CREATE SCHEMA IF NOT EXISTS sanitizer;
CREATE TABLE sanitizer.meta (version int NOT NULL, day bigint NOT NULL, mac bytea NOT NULL);
CREATE TABLE sanitizer.keyring (
    slot bytea PRIMARY KEY, salt bytea NOT NULL, cost int NOT NULL, seal bytea NOT NULL,
    body bytea NOT NULL);
CREATE TABLE sanitizer.conversation (
    id bytea PRIMARY KEY, seal bytea NOT NULL, body bytea NOT NULL);
CREATE TABLE sanitizer.entry (
    conversation bytea, place int, seal bytea NOT NULL, body bytea NOT NULL,
    PRIMARY KEY (conversation, place));
CREATE TABLE sanitizer.message (
    id bytea PRIMARY KEY, owner bytea NOT NULL, number bigserial,
    seal bytea NOT NULL, body bytea NOT NULL);
CREATE INDEX message_owner ON sanitizer.message (owner, number);
CREATE TABLE sanitizer.account (
    id bytea PRIMARY KEY, kind text NOT NULL, cap bigint, spent bigint NOT NULL,
    reserved bigint NOT NULL, updated bigint NOT NULL, mac bytea NOT NULL);
CREATE TABLE sanitizer.charge (
    number bigserial PRIMARY KEY, name bytea UNIQUE NOT NULL, amount bigint NOT NULL,
    spent bigint NOT NULL, accounts bytea NOT NULL, state text NOT NULL, holders int NOT NULL,
    created bigint NOT NULL, about text NOT NULL, kept boolean NOT NULL DEFAULT false,
    mac bytea NOT NULL);
CREATE INDEX charge_open ON sanitizer.charge (number) WHERE state = 'open';
CREATE TABLE sanitizer.audit (
    number bigserial PRIMARY KEY, at timestamptz NOT NULL DEFAULT now(), entry jsonb NOT NULL);
"""
SEALED = {
    "conversation": "id",
    "entry": "conversation, place",
    "message": "id, owner",
}
"""Table of sealed rows -> columns that each row is sealed for."""


@dataclass
class Transaction:
    """Statements of one thread on one connection, all of them or none.

    Attributes:
        spends: True where a charge is spent at once: it is kept with what is drawn for it, or not.
        about: digest of policy and model, stored beside charges.
        seconds: how long a statement may take.
    """

    _database: Database
    _error: type[SanitizerError]
    seconds: float
    spends: bool = False
    about: str = ""
    _connection: Any = field(default=None, repr=False)
    _failed: bool = False

    def rows(self, statement: str, *values: object) -> list[Any]:
        """Return the rows of a statement, whose columns are found by name."""
        return list(self._wait(self._fetch(statement, values)))

    def row(self, statement: str, *values: object) -> Any:
        """Return the first row of a statement, or None."""
        return next(iter(self.rows(statement, *values)), None)

    def many(self, statement: str, values: Sequence[Sequence[object]]) -> None:
        """Run a statement for each tuple of values."""
        if values:
            self._wait(self._execute_many(statement, values))

    def commit(self) -> None:
        """End the transaction; once this returns, the server has all of it on its disk."""
        if self._connection is not None:
            self._wait(self._end("COMMIT"))

    def roll_back(self) -> None:
        """Undo everything without raising; a connection in doubt is closed, to the same effect."""
        if self._connection is None:
            return
        try:
            if not self._failed:
                self._wait(self._end("ROLLBACK"))
        except SanitizerError:
            pass
        if self._failed:
            self._database.drop(self._connection)

    def _wait(self, work: Coroutine[Any, Any, Result]) -> Result:
        try:
            return self._database.wait(work, self.seconds, self._error)
        except BaseException:
            self._failed = True
            raise

    async def _begun(self) -> Any:
        if self._connection is None:
            self._connection = await self._database.acquire()
            await self._connection.execute("BEGIN")
        return self._connection

    async def _fetch(self, statement: str, values: tuple[object, ...]) -> list[Any]:
        return list(await (await self._begun()).fetch(statement, *values))

    async def _execute_many(self, statement: str, values: Sequence[Sequence[object]]) -> None:
        await (await self._begun()).executemany(statement, values)

    async def _end(self, statement: str) -> None:
        await self._connection.execute(statement)
        self._database.release(self._connection)


class Database:
    """Connections to one database, for threads; each process opens its own.

    After a failure of the connection everything is refused at once, until a probe every quarter of
    a second has succeeded: requests that wait in line are refused in time too.

    Args:
        url: such as "postgresql://user@host/database"; never shown, since it may hold a password.
        seconds: how long a statement waits for the database.
        connections: most of this process.
        settings: of the server for each connection, besides those that every store needs.
    """

    def __init__(
        self, url: str, seconds: float, connections: int, settings: Mapping[str, str] | None = None
    ) -> None:
        import asyncpg

        self._driver = asyncpg
        self._url = url
        self._settings = settings or {}
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

    def read(self, error: type[SanitizerError], statement: str, *values: object) -> list[Any]:
        """Return the rows of one statement, which is its own transaction unless one was begun."""
        outer: Transaction | None = getattr(self._local, "transaction", None)
        if outer is not None:
            return outer.rows(statement, *values)
        self._check(error)
        return self.wait(self._read(statement, values), self.seconds, error)

    def script(self, error: type[SanitizerError], statements: str) -> None:
        """Run several statements without values, in the transaction of this thread."""
        with self.transaction(error) as transaction:
            transaction.row("SELECT 1")
            self.wait(transaction._connection.execute(statements), transaction.seconds, error)

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
        except OSError:
            self._fail()
            reason = "it cannot be reached"
        except Exception as failure:
            state = getattr(failure, "sqlstate", None) or ""
            if not state and type(failure).__module__.partition(".")[0] != "asyncpg":
                raise
            reason = f"{type(failure).__name__} {state}".rstrip()
            if not state or state.startswith(_DOWN):
                self._fail()
            elif state not in _RETRIABLE:
                raise error(f"PostgreSQL cannot be used: {reason}") from None
        raise _passing(error, f"PostgreSQL cannot be used: {reason}")

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
                **self._settings,
            },
        )
        self._opened = {each for each in self._opened if not each.is_closed()} | {connection}
        return connection

    async def _read(self, statement: str, values: tuple[object, ...]) -> list[Any]:
        connection = await self.acquire()
        try:
            rows = await connection.fetch(statement, *values)
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
            raise error("PostgreSQL: opened before a fork; open it again in this process")
        if self._down:
            refused = _passing(error, "PostgreSQL cannot be used: it did not answer a moment ago")
            refused.is_repeated = True
            raise refused

    def _fail(self) -> None:
        """Refuse everything until the database answers again."""
        with self._lock:
            if self._down:
                return
            self._down = True
        log.warning("PostgreSQL does not answer; everything is refused until it does")
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
            log.warning("PostgreSQL answers again")


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


def _passing(error: type[SanitizerError], message: str) -> SanitizerError:
    """Return an error that may be gone in a moment."""
    made = error(message)
    made.retry_after = RETRY_AFTER
    return made


@dataclass(frozen=True)
class Ring:
    """The keys that rows are sealed under; each generation is another key.

    Attributes:
        secret: key of the message hashes, 32 bytes.
        macs: key of all other HMACs. It stays, since rows are found by them.
        seals: generation -> keys of sealed rows.
        current: generation of new rows.
    """

    secret: bytes = field(repr=False)
    macs: bytes = field(repr=False)
    seals: dict[int, bytes] = field(repr=False)
    current: int = 1

    @classmethod
    def new(cls) -> Ring:
        """Return a ring of fresh keys."""
        return cls(secret_key(), secret_key(), {1: secret_key() + secret_key()})

    def renewed(self) -> Ring:
        """Return a ring with one more generation, which is the current one."""
        seals = self.seals | {self.current + 1: secret_key() + secret_key()}
        return Ring(self.secret, self.macs, seals, self.current + 1)

    def encoded(self) -> bytes:
        """Serialize it."""
        seals = {str(number): key.hex() for number, key in self.seals.items()}
        return dumped([self.secret.hex(), self.macs.hex(), seals, self.current])

    @classmethod
    def decoded(cls, plain: bytes) -> Ring:
        """Restore a ring from what `encoded` returned."""
        secret, macs, seals, current = json.loads(plain)
        keys = {int(number): bytes.fromhex(key) for number, key in seals.items()}
        return cls(bytes.fromhex(secret), bytes.fromhex(macs), keys, current)


class PostgresStore:
    """An open store on PostgreSQL, for one or more vaults and ledgers. Serves many threads.

    Rows are sealed under keys that are stored in the database themselves, sealed under what scrypt
    derives from the caller's key. `add_key` and `remove_key` change the latter while replicas run;
    `renew` makes a new key for rows and seals all of them again.

    Args:
        url: such as "postgresql://user@host/database"; never shown.
        key: a secret of at least 16 characters or bytes, the same at every replica.
        create: make the tables if there are none; False makes that an error.
        seconds: how long a statement waits for the database.
        connections: most connections of this process.

    Raises:
        ValueError: a short key.
        VaultError: no database, no right to use it, another version of the tables, a wrong key.
    """

    where = "PostgreSQL"

    def __init__(
        self,
        url: str,
        key: bytes | str,
        *,
        create: bool = True,
        seconds: float = SECONDS,
        connections: int = CONNECTIONS,
    ) -> None:
        self._key = key_bytes(key)
        try:
            self.database = Database(url, seconds, connections)
        except ImportError:
            raise ValueError(
                'PostgreSQL needs asyncpg: pip install "dp-sanitizer[postgres]"'
            ) from None
        try:
            self._prepare(create)
        except BaseException:
            self.database.close()
            raise

    @property
    def secret(self) -> bytes:
        """Key of the message hashes, 32 bytes."""
        return self._ring.secret

    def mac(self, *fields: object) -> bytes:
        """Return the HMAC-SHA256 of fields whose repr tells them apart, 32 bytes."""
        return hmac_of(self._ring.macs, *fields)

    def seal(self, plain: bytes, *bound: object) -> tuple[bytes, bytes]:
        """Encrypt padded content; return (generation, nonce and tag; ciphertext)."""
        seal, body = self._seals[self._ring.current].seal(plain, *bound)
        return self._ring.current.to_bytes(_GENERATION, "big") + seal, body

    def open(self, seal: bytes, body: bytes, *bound: object) -> bytes:
        """Return the content. Raises VaultError if it was not sealed for this place."""
        generation = int.from_bytes(seal[:_GENERATION], "big")
        if generation not in self._seals:
            self._load()  # another process has renewed the keys
        if generation not in self._seals:
            raise VaultError(f"{self.where}: damaged or edited: a row of an unknown key")
        return self._seals[generation].open(seal[_GENERATION:], body, *bound)

    def check(self) -> None:
        """Raise VaultError unless the database answers."""
        self.database.read(VaultError, "SELECT 1")

    def audit(self, entry: dict[str, object]) -> None:
        """Append an entry to the audit log; it holds no text. Raises VaultError."""
        self.database.read(
            VaultError, "INSERT INTO sanitizer.audit (entry) VALUES ($1)", json.dumps(entry)
        )

    def add_key(self, key: bytes | str) -> None:
        """Let another key open the store too. Raises ValueError, VaultError."""
        new = key_bytes(key)
        with self.database.transaction(VaultError) as transaction:
            self._put_slot(transaction, new, self._ring)
        self._key = new

    def remove_key(self, key: bytes | str) -> None:
        """Take a key away; it opens the store no more.

        Raises:
            ValueError: short, or the one that is in use here.
            VaultError: it opens nothing.
        """
        old = key_bytes(key)
        if old == self._key:
            raise ValueError("key must be another one than that in use")
        with self.database.transaction(VaultError) as transaction:
            slot, _ = self._slot(old)
            transaction.rows("DELETE FROM sanitizer.keyring WHERE slot = $1", slot)

    def renew(self, batch: int = 500) -> int:
        """Seal all rows again under a new key; return how many.

        Replicas go on meanwhile. Only one key may open the store: remove the others before.

        Raises:
            VaultError: more keys than one, or the database fails; calling it again continues.
        """
        with self.database.transaction(VaultError, PATIENCE) as transaction:
            slots = transaction.rows("SELECT slot FROM sanitizer.keyring FOR UPDATE")
            if len(slots) != 1:
                raise VaultError(f"{self.where}: {len(slots)} keys open it; remove all but one")
            ring = self._ring.renewed()
            transaction.rows("DELETE FROM sanitizer.keyring")
            self._put_slot(transaction, self._key, ring)
        self._use(ring)
        done = 0
        for table in SEALED:
            while n := self._renew_some(table, batch):
                done += n
        return done

    def close(self) -> None:
        """Close all connections."""
        self.database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return "PostgresStore()"

    def _renew_some(self, table: str, batch: int) -> int:
        places = SEALED[table].split(", ")
        newest = self._ring.current.to_bytes(_GENERATION, "big")
        which = " AND ".join(f"{name} = ${i}" for i, name in enumerate(places, 3))
        with self.database.transaction(VaultError, PATIENCE) as transaction:
            found = transaction.rows(
                f"SELECT * FROM sanitizer.{table} WHERE substr(seal, 1, {_GENERATION}) <> $1 "  # noqa: S608  names of this file
                f"LIMIT {batch} FOR UPDATE",
                newest,
            )
            sealed = []
            for row in found:
                place = [row[name] for name in places]
                plain = self.open(row["seal"], row["body"], table, *place)
                sealed.append((*self.seal(plain, table, *place), *place))
            transaction.many(
                f"UPDATE sanitizer.{table} SET seal = $1, body = $2 WHERE {which}",  # noqa: S608
                sealed,
            )
        return len(found)

    def _prepare(self, create: bool) -> None:
        """Make the tables if there are none, and load the keys."""
        if not self._exists():
            if not create:
                raise VaultError(f"{self.where}: holds no store")
            with self.database.transaction(VaultError, PATIENCE) as transaction:
                transaction.rows("SELECT pg_advisory_xact_lock($1)", CREATING)
                if not self._exists():
                    self._create(transaction)
        found = self.database.read(VaultError, "SELECT version FROM sanitizer.meta")
        if [row["version"] for row in found] != [VERSION]:
            raise VaultError(f"{self.where}: not a store of version {VERSION}")
        self._load()

    def _exists(self) -> bool:
        # Not to_regclass: it may answer from a cache that is older than the lock.
        return bool(
            self.database.read(
                VaultError,
                "SELECT 1 FROM pg_tables WHERE schemaname = 'sanitizer' AND tablename = 'meta'",
            )
        )

    def _create(self, transaction: Transaction) -> None:
        self.database.script(VaultError, SCHEMA)
        ring = Ring.new()
        self._put_slot(transaction, self._key, ring)
        mac = hmac_of(ring.macs, "meta", VERSION, 0)
        transaction.rows("INSERT INTO sanitizer.meta VALUES ($1, 0, $2)", VERSION, mac)

    def _put_slot(self, transaction: Transaction, key: bytes, ring: Ring) -> None:
        slot, salt = secret_key()[:SALT_BYTES], secret_key()[:SALT_BYTES]
        sealed = derived_keys(self.where, key, salt, SCRYPT_N).seal(ring.encoded(), "ring", slot)
        transaction.rows(
            "INSERT INTO sanitizer.keyring VALUES ($1, $2, $3, $4, $5)",
            *(slot, salt, SCRYPT_N, *sealed),
        )

    def _slot(self, key: bytes) -> tuple[bytes, Ring]:
        """Return the slot that a key opens, and what is in it. Raises VaultError."""
        for row in self.database.read(VaultError, "SELECT * FROM sanitizer.keyring"):
            keys: Keys = derived_keys(self.where, key, row["salt"], row["cost"])
            try:
                plain = keys.open(row["seal"], row["body"], "ring", row["slot"])
            except VaultError:
                continue
            return row["slot"], Ring.decoded(plain)
        raise VaultError(f"{self.where}: wrong key")

    def _load(self) -> None:
        self._use(self._slot(self._key)[1])

    def _use(self, ring: Ring) -> None:
        self._ring = ring
        self._seals = {number: Keys(self.where, key) for number, key in ring.seals.items()}
