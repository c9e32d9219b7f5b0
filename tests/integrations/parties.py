"""Shared by the tests of integrations: private values, and how to look for them in what left."""

from __future__ import annotations

import json

from sanitizer import Sanitizer
from sanitizer.testing import RecordingServer

MAIL, CARD = "peter.lund@example.com", "4111 1111 1111 1111"
TEXT = f"Write to {MAIL} about the card {CARD}."


def identifiers() -> Sanitizer:
    return Sanitizer(policy="identifiers")


def leaked(*servers: RecordingServer) -> list[str]:
    """Which private values reached a server, as they are, escaped in JSON, or without spaces."""
    seen = b"\n".join(server.received for server in servers).decode("utf-8", "replace")
    forms = {v: (v, json.dumps(v)[1:-1], v.replace(" ", "")) for v in (MAIL, CARD)}
    return [value for value in forms if any(form in seen for form in forms[value])]


def assert_clean(server: RecordingServer, n_requests: int = 1) -> None:
    """Something came, with stand-ins, and nothing private in it."""
    assert len(server.requests) == n_requests
    assert b"<EMAIL_1>" in server.received or b"\\u003cEMAIL_1\\u003e" in server.received
    assert leaked(server) == []
