"""A PostgreSQL server of the tests' own: in a temporary folder, on a socket, under another user."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

PORT = 5432
USER = "sanitizer"
CONFIGURATION = """
listen_addresses = ''
unix_socket_directories = '{folder}'
max_connections = 100
shared_buffers = 16MB
synchronous_commit = off
fsync = {fsync}
"""
# The server's default is `off` on purpose: the store must ask for `on` itself.


def binaries() -> Path | None:
    """The folder of initdb and postgres, wherever the distribution has put it."""
    folders = Path("/usr/lib/postgresql").glob("*/bin/initdb")  # Debian's, not on the path
    newest = max(folders, key=lambda path: int(path.parts[-3]), default=None)
    found = newest or shutil.which("initdb")
    return None if found is None else Path(found).parent


class PostgresServer:
    """A server that can be stopped, killed, frozen and started again."""

    def __init__(self, folder: Path, programs: Path, durable: bool = False) -> None:
        self.folder = folder
        self._programs = programs
        self._data = folder / "data"
        self.url = f"postgresql://{USER}@/postgres?host={folder}&port={PORT}"
        self._run("initdb", "-D", str(self._data), "-A", "trust", "-U", USER, "--no-sync")
        with (self._data / "postgresql.conf").open("a") as out:
            out.write(CONFIGURATION.format(folder=folder, fsync="on" if durable else "off"))
        self.start()

    def start(self) -> None:
        self._run("pg_ctl", "-D", str(self._data), "-w", "-l", str(self.folder / "log"), "start")

    def stop(self, mode: str = "immediate") -> None:
        """End it; "immediate" is what a crash leaves."""
        self._run("pg_ctl", "-D", str(self._data), "-w", "-m", mode, "stop")

    def freeze(self) -> None:
        """Stop every process of it: connections stay open, nothing answers."""
        for number in self._processes():
            with suppress(ProcessLookupError):
                os.kill(number, signal.SIGSTOP)

    def thaw(self) -> None:
        for number in self._processes():
            with suppress(ProcessLookupError):
                os.kill(number, signal.SIGCONT)

    def sql(self, statements: str) -> str:
        """Run statements as the owner of the database; return what psql prints."""
        return self._run("psql", "-h", str(self.folder), "-p", str(PORT), "-U", USER, "-qAt",
                         "-v", "ON_ERROR_STOP=1", "-d", "postgres", "-c", statements)  # fmt: skip

    def _processes(self) -> list[int]:
        main = int((self._data / "postmaster.pid").read_text().split()[0])
        listed = Path(f"/proc/{main}/task/{main}/children").read_text()
        return [main, *map(int, listed.split())]

    def _run(self, program: str, *arguments: str) -> str:
        return subprocess.run(
            [*_other_user(), str(self._programs / program), *arguments],
            check=True, capture_output=True, text=True, cwd=self.folder,
        ).stdout  # fmt: skip


def _other_user() -> Sequence[str]:
    """Nothing, or what runs a command as `postgres`: the server refuses to run as root."""
    if os.geteuid() != 0:
        return ()
    return ("setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", "--")


@contextmanager
def postgres_server(durable: bool = False) -> Iterator[PostgresServer]:
    """A server that runs; the test is skipped where PostgreSQL is not installed."""
    pytest.importorskip("asyncpg", reason='the extra "postgres" is not installed')
    if (programs := binaries()) is None:
        pytest.skip("PostgreSQL is not installed (apt-get install postgresql)")
    # A short path: that of a socket may have 107 bytes.
    with tempfile.TemporaryDirectory(prefix="pg-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        if os.geteuid() == 0:
            owner = pwd.getpwnam("postgres")
            os.chown(folder, owner.pw_uid, owner.pw_gid)
        folder.chmod(0o711)
        server = PostgresServer(folder, programs, durable)
        try:
            yield server
        finally:
            server.thaw()
            server.stop()
