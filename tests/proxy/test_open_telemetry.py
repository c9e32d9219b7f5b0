"""The copy of the audit log that OpenTelemetry carries to a collector on loopback."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sanitizer.errors import PolicyError
from sanitizer.proxy.audit_log import AuditLog, Collector
from sanitizer.proxy.configuration import Configuration
from sanitizer.testing import Answer, RecordingServer
from tests.proxy.servers import MAIL, Upstream
from tests.proxy.test_tenants import ADA, TRACE, served, text_of

pytest.importorskip("opentelemetry.sdk._logs")


@pytest.fixture
def collector() -> Iterator[RecordingServer]:
    def accept(received: Any) -> Answer:
        return Answer(b"", content_type="application/x-protobuf")

    with RecordingServer(accept) as server:
        yield server


def records(collector: RecordingServer) -> list[tuple[Any, dict[str, Any]]]:
    """Each log record that came, with its attributes."""
    from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest

    found = []
    for request in collector.requests:
        assert request.target == "/v1/logs"
        for resource in ExportLogsServiceRequest.FromString(request.body).resource_logs:
            for scope in resource.scope_logs:
                for record in scope.log_records:
                    values = {each.key: _value(each.value) for each in record.attributes}
                    found.append((record, values))
    return found


def _value(value: Any) -> Any:
    return getattr(value, value.WhichOneof("value"))


def test_the_collector_gets_what_the_log_says_and_no_text(
    up: Upstream, tmp_path: Path, collector: RecordingServer
) -> None:
    copied = f'to = "file:audit"\notlp = "http://{collector.host}/v1/logs"'
    text = text_of(up.url).replace('to = "file:audit"', copied)
    with served(up, tmp_path, text) as proxy:
        asked = f"Mail {MAIL}"
        answer = proxy.ask(asked, traceparent=TRACE, sanitizer_conversation="about-peter")
        assert answer.status_code == 200
        proxy.ask("Hello", key="nobody-knows-this-key")
        log = proxy.log()
    (sent, values), (refused, reasons) = records(collector)
    assert sent.event_name == "sanitizer.sent"
    assert sent.trace_id.hex() == TRACE.split("-")[1]
    assert sent.span_id.hex() == TRACE.split("-")[2]
    flat = {k: json.dumps(v) if isinstance(v, dict) else v for k, v in log[0].items()}
    assert values == {k: v for k, v in flat.items() if k not in ("at", "event")}
    assert refused.event_name == "sanitizer.refused"
    assert reasons == {k: v for k, v in log[1].items() if k not in ("at", "event")}
    assert reasons["reason"] == "key"
    for word in (MAIL, "about-peter", "Hello", ADA, "nobody"):
        assert word.encode() not in collector.received


def test_a_collector_that_does_not_answer_holds_nothing_up(tmp_path: Path) -> None:
    with RecordingServer() as server:
        gone = server.url
    log = AuditLog(f"file:{tmp_path / 'audit'}", copy=Collector(f"{gone}/logs"))
    begin = time.monotonic()
    log.refused({"tenant": "ada"}, {}, "key")
    assert time.monotonic() - begin < 1
    assert "ada" in (tmp_path / "audit").read_text()


@pytest.mark.parametrize(
    ("audit", "told"),
    [
        ('otlp = "http://127.0.0.1:4318/v1/logs"', "otlp needs `to`"),
        ('to = "stdout"\notlp = "127.0.0.1:4318"', "otlp must be"),
        ('to = "stdout"\notlp = "http://a:b@collector/v1/logs"', "otlp must be"),
    ],
)
def test_mistakes_name_the_key(audit: str, told: str) -> None:
    text = text_of("http://127.0.0.1:1").replace('to = "file:audit"', audit)
    with pytest.raises(PolicyError, match=told):
        Configuration.of(text)
