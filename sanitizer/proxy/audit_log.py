"""The audit log: one line of JSON for each request that was sent or refused.

Guarantee: a line holds who asked, when, under which policy, counts and epsilon; never text, nor the
name of a conversation, which a client chooses. It is written before anything is sent, and where it
cannot be written nothing is sent.
"""

from __future__ import annotations

import json
import os
import re
import sys
import threading
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Protocol

from sanitizer.errors import AuditError, VaultError
from sanitizer.wire import WireRecord

COUNTED = (
    *("charged", "certified", "mechanism", "n_texts", "n_units"),
    *("n_numbers", "n_identifiers", "n_drawn", "conversation_epsilon"),
)
_TRACE = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}")

Write = Callable[[dict[str, object]], None]


class Store(Protocol):
    """A database that keeps the log."""

    def audit(self, entry: dict[str, object]) -> None:
        """Append an entry. Raises VaultError."""


class AuditLog:
    """Log of requests. Safe for many threads; `reopen` after the file was moved.

    Args:
        to: "stdout", "file:PATH", "database", or "" for none.
        store: the database, if it is that.
        now: the time, for tests.

    Attributes:
        is_on: True if there is a log.

    Raises:
        AuditError: from every method: it cannot be written.
    """

    def __init__(
        self,
        to: str = "",
        store: Store | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._path = to.removeprefix("file:") if to.startswith("file:") else None
        self._store = store if to == "database" else None
        self.is_on = bool(to)
        self._now = now
        self._file: int | None = None
        self._lock = threading.Lock()
        self.reopen()

    def reopen(self) -> None:
        """Open the file anew, where it is one."""
        if self._path is None:
            return
        try:
            new = os.open(self._path, os.O_APPEND | os.O_CREAT | os.O_WRONLY, 0o600)
        except OSError as error:
            raise AuditError(f"the audit log cannot be opened: {type(error).__name__}") from None
        with self._lock:
            old, self._file = self._file, new
            if old is not None:
                os.close(old)

    def sent(self, who: Mapping[str, str], headers: Mapping[str, str], record: WireRecord) -> None:
        """Log a request that will be sent."""
        values = {name: value for name, value in record.as_dict().items() if name in COUNTED}
        self._write("sent", who, headers, values)

    def refused(self, who: Mapping[str, str], headers: Mapping[str, str], reason: str) -> None:
        """Log a request that was not sent, or whose answer failed; the reason is a fixed word."""
        self._write("refused", who, headers, {"reason": reason})

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            if self._file is not None:
                os.close(self._file)
                self._file = None

    def _write(
        self,
        event: str,
        who: Mapping[str, str],
        headers: Mapping[str, str],
        values: Mapping[str, Any],
    ) -> None:
        if not self.is_on:
            return
        at = self._now().isoformat(timespec="milliseconds")
        entry: dict[str, object] = {"at": at, "event": event, **who, **values}
        if trace := _TRACE.fullmatch(headers.get("traceparent", "")):
            entry["trace"] = trace[1]
        try:
            self._put(entry)
        except VaultError as error:
            failed = AuditError("the audit log cannot be written: the database fails")
            failed.retry_after = error.retry_after
            raise failed from None
        except (OSError, ValueError) as error:
            raise AuditError(f"the audit log cannot be written: {type(error).__name__}") from None

    def _put(self, entry: dict[str, object]) -> None:
        if self._store is not None:
            self._store.audit(entry)
            return
        line = json.dumps(entry) + "\n"
        with self._lock:
            if self._path is None:
                sys.stdout.write(line)
                sys.stdout.flush()
            elif self._file is None:
                raise ValueError("closed")
            else:
                # One call, which with O_APPEND other processes do not break into.
                os.write(self._file, line.encode())
