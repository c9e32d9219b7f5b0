"""What the ledger's and the vault's SQLite files have in common."""

from __future__ import annotations

import hmac
import sqlite3
from pathlib import Path

BUSY_SECONDS = 60.0


ID_BYTES, MARK_BYTES = 32, 8


def hmac_of(key: bytes, *fields: object) -> bytes:
    """HMAC-SHA256 of the fields' repr, as UTF-8 (lone surrogates are escaped by repr)."""
    return hmac.digest(key, repr(fields).encode(), "sha256")


def mark(path: Path) -> Path:
    """The file that counts grants beside the ledger."""
    return path.with_name(path.name + "-mark")


def identity(path: Path) -> tuple[int, int]:
    """Which file it is: SQLite goes on writing to one that was deleted or replaced. Raises
    FileNotFoundError.
    """
    found = path.stat()
    return found.st_dev, found.st_ino


def connect(path: Path) -> sqlite3.Connection:
    """An existing file only; statements are their own transactions unless one is begun."""
    uri = path.as_uri() + "?mode=rw"
    return sqlite3.connect(
        uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
    )
