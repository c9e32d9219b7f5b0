"""`sanitizer audit` as a user meets it."""

from __future__ import annotations

import json

import pytest

from tests.cli.running import run


def test_the_audit_prints_all_four_epsilons() -> None:
    done = run("audit", "--inputs", "50", "--epsilon", "4")
    assert done.returncode == 0
    for name in (b"nominal", b"claimed", b"certified", b"exact"):
        assert name in done.stdout
    found = json.loads(run("audit", "--inputs", "50", "--json").stdout)
    assert found["exact"] == pytest.approx(found["certified"], abs=1e-9)
