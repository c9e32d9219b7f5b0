"""What may befall a SQLite file and its mark."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from sanitizer.storage.store import MARK_BYTES, mark

DATA = Path(__file__).parent.parent / "data"


def crash(path: Path, name: str) -> Path:
    """What a crash leaves on the disk: the file, its WAL and its mark, while it is still open."""
    folder = path.parent / name
    folder.mkdir()
    for suffix in ("", "-wal", "-mark"):
        if (file := path.with_name(path.name + suffix)).exists():
            shutil.copyfile(file, folder / file.name)
    return folder / path.name


def contents(path: Path) -> list[bytes]:
    return [file.read_bytes() for file in path.parent.iterdir() if file.is_file()]


def edit(path: Path, *statements: str) -> None:
    db = sqlite3.connect(path, isolation_level=None)
    for statement in statements:
        db.execute(statement)
    db.close()


def cut(share: float) -> Callable[[Path], object]:
    return lambda path: os.truncate(path, int(path.stat().st_size * share))


def directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


def another_file(path: Path) -> None:
    path.unlink()
    edit(path, "CREATE TABLE t (a)")


def made_from(script: str, path: Path, counter: int) -> Path:
    """A file as an earlier version of this package left it, from SQL in tests/data."""
    db = sqlite3.connect(path)
    db.execute("PRAGMA journal_mode = WAL")
    db.executescript((DATA / script).read_text("utf-8"))
    db.close()
    mark(path).write_bytes(counter.to_bytes(MARK_BYTES, "big"))
    return path


@contextmanager
def unprivileged(folder: Path) -> Iterator[None]:
    """No right to write in `folder`; root gives up being root, because modes do not bind it."""
    folder.chmod(0o555)
    for file in folder.iterdir():
        file.chmod(0o444)
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)
        folder.chmod(0o755)
