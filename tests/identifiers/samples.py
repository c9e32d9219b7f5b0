"""One identifier of each form, and a text around it."""

from __future__ import annotations

import json
from pathlib import Path

JWT = (
    "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0"
    ".dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"
)
PEM = (
    "-----BEGIN RSA PRIVATE KEY-----\n"
    "MIIBOgIBAAJBAKj34GkxFhD90vcNLYLInFEX6Ppy1tPf9Cnzj4p4WGeKLs1Pt8Q\n"
    "-----END RSA PRIVATE KEY-----"
)

LONG = {"<JWT>": JWT, "<PEM>": PEM}
CASES = Path(__file__).parent / "cases"

# Kind, identifier, text with {} in its place: one identifier each, with exactly this span.
FOUND: list[tuple[str, str, str]] = [
    (kind, LONG.get(identifier, identifier), around)
    for kind, identifier, around in map(
        json.loads, (CASES / "found.jsonl").read_text("utf-8").splitlines()
    )
]
