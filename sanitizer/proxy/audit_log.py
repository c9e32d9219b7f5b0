"""The audit log: one line of JSON for each request that was sent or refused.

Guarantee: a line holds who asked, when, under which policy, counts and epsilon; never text, nor the
name of a conversation, which a client chooses. It is written before anything is sent, and where it
cannot be written nothing is sent.
Not so for the copy that OpenTelemetry carries to a collector: it is sent in the background, and
what a collector that does not answer misses is missing there.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from sanitizer.errors import AuditError, VaultError, to_install
from sanitizer.proxy.access import TRACE_PARENT
from sanitizer.storage.postgres_store import PostgresStore
from sanitizer.wire.headers import WireRecord

COUNTED = (
    "charged certified mechanism n_texts n_units n_numbers n_identifiers n_drawn "
    "conversation_epsilon n_warnings n_hints classes untouched".split()
)
Json = dict[str, Any]

EXPORT_SECONDS = 5.0
"""Longest time that a collector may take for one batch."""
EXPORT_EVERY_MILLISECONDS = 1000.0
"""How long entries wait for others to be sent with."""


class AuditLog:
    """Log of requests. Safe for many threads; `reopen` after the file was moved.

    Args:
        to: "stdout", "file:PATH", "database", or "" for none.
        store: the database, if it is that.
        copy: gets each entry too, once it is written.

    Attributes:
        is_on: True if there is a log.

    Raises:
        AuditError: from every method: it cannot be written.
    """

    def __init__(
        self, to: str = "", store: PostgresStore | None = None, copy: Collector | None = None
    ) -> None:
        self._path = to.removeprefix("file:") if to.startswith("file:") else None
        self._store = store if to == "database" else None
        self.is_on = bool(to)
        self._copy = copy
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
            why = error.strerror or type(error).__name__
            raise AuditError(f"the audit log {self._path} cannot be opened: {why}") from None
        with self._lock:
            old, self._file = self._file, new
            if old is not None:
                os.close(old)

    def sent(self, who: Mapping[str, str], headers: Mapping[str, str], record: WireRecord) -> None:
        """Log a request that will be sent."""
        values = {name: value for name, value in record.as_dict().items() if name in COUNTED}
        values = {name: value for name, value in values.items() if value != {}}
        self._write("sent", who, headers, values)

    def refused(self, who: Mapping[str, str], headers: Mapping[str, str], reason: str) -> None:
        """Log a request that was not sent, or whose answer failed; the reason is a fixed word."""
        self._write("refused", who, headers, {"reason": reason})

    def close(self) -> None:
        """Close the file, and send what a collector has not got yet."""
        if self._copy is not None:
            self._copy.close()
        with self._lock:
            if self._file is not None:
                os.close(self._file)
                self._file = None

    def _write(
        self, event: str, who: Mapping[str, str], headers: Mapping[str, str], values: Json
    ) -> None:
        if not self.is_on:
            return
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        entry: dict[str, object] = {"at": at, "event": event, **who, **values}
        traceparent = headers.get("traceparent", "")
        if trace := TRACE_PARENT.fullmatch(traceparent):
            entry["trace"] = trace[1]
        try:
            self._put(entry)
        except VaultError as error:
            failed = AuditError("the audit log cannot be written: the database failed")
            failed.retry_after, failed.is_repeated = error.retry_after, error.is_repeated
            raise failed from None
        except (OSError, ValueError) as error:
            raise AuditError(f"the audit log cannot be written: {type(error).__name__}") from None
        if self._copy is not None:
            self._copy.add(entry, traceparent if trace else "")

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


class Collector:
    """Sender of entries to an OpenTelemetry collector by OTLP/HTTP, in batches, in the background.

    An entry is a log record: its event is the name ("sanitizer.sent"), the rest are attributes; the
    trace is that of the request. Where the collector does not answer, batches are tried again for
    a while, then dropped; the library logs that. Headers and certificates for the collector are
    taken from the library's variables (`OTEL_EXPORTER_OTLP_HEADERS`, `..._CERTIFICATE`).

    Args:
        url: such as "http://collector:4318/v1/logs".

    Raises:
        ValueError: the extra `otel` is not installed.
    """

    def __init__(self, url: str) -> None:
        try:
            from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
            from opentelemetry.sdk._logs import LoggerProvider
            from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
            from opentelemetry.sdk.resources import Resource
        except ImportError as error:
            told = f"[audit] otlp needs {error.name}: {to_install('otel')}"
            raise ValueError(told) from None
        self._provider = LoggerProvider(Resource.create({"service.name": "sanitizer"}))
        processor = BatchLogRecordProcessor(
            OTLPLogExporter(endpoint=url, timeout=EXPORT_SECONDS),
            schedule_delay_millis=EXPORT_EVERY_MILLISECONDS,
        )
        self._provider.add_log_record_processor(processor)
        self._logger = self._provider.get_logger("sanitizer.proxy")

    def add(self, entry: Mapping[str, object], traceparent: str) -> None:
        """Queue an entry; return at once."""
        from opentelemetry._logs import SeverityNumber
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        at = datetime.fromisoformat(str(entry["at"]))
        sent = entry["event"] == "sent"
        flat = {k: json.dumps(v) if isinstance(v, dict) else v for k, v in entry.items()}
        values: Any = {k: v for k, v in flat.items() if k not in ("at", "event") and v is not None}
        self._logger.emit(
            timestamp=round(at.timestamp() * 1000) * 1_000_000,
            severity_number=SeverityNumber.INFO if sent else SeverityNumber.WARN,
            body=f"request {entry['event']}",
            event_name=f"sanitizer.{entry['event']}",
            attributes=values,
            context=TraceContextTextMapPropagator().extract({"traceparent": traceparent}),
        )

    def close(self) -> None:
        """Send what is queued, for a few seconds at most."""
        self._provider.shutdown()
