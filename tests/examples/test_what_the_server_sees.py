"""The example that shows what arrives: it runs, and what it prints is what it promises."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MAIL, ACCOUNT = "peter.lund@example.com", "DE89 3704 0044 0532 0130 00"


def python(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.slow
def test_the_server_sees_no_identifier_and_the_application_gets_all_back() -> None:
    done = python("-W", "error", "-m", "examples.what_the_server_sees")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    shown = {
        name: re.findall(rf"^  {name} +(.*)$", done.stdout, re.M)
        for name in ("sent", "server saw", "got back")
    }
    assert [len(texts) for texts in shown.values()] == [8, 8, 8]
    for sent, seen, got in zip(*shown.values(), strict=True):
        for original, kind in ((MAIL, "EMAIL"), (ACCOUNT, "IBAN")):
            assert original not in seen
            stands_in = re.search(rf"<{kind}_[0-9_]+>", seen) is not None
            assert (original in sent) == stands_in == (original in got)
    assert "that arrived: 0" in done.stdout.splitlines()[-1]


@pytest.mark.slow
def test_an_identifier_that_arrives_is_told_by_the_exit_status() -> None:
    code = (
        "import sys, examples.what_the_server_sees as e;"
        "e.shield = lambda client, sanitizer: client;"
        "e.show = lambda *given: None; sys.exit(e.main())"
    )
    done = python("-c", code)
    assert done.returncode == 1, done.stderr
    assert "that arrived: 5" in done.stdout


@pytest.mark.parametrize("missing", ["openai", "uvicorn"])
def test_a_missing_extra_is_named(missing: str) -> None:
    code = (
        "import runpy, sys, importlib.util as u; found = u.find_spec;"
        f"u.find_spec = lambda name, *more: None if name == {missing!r} else found(name, *more);"
        f"sys.modules[{missing!r}] = None;"
        "runpy.run_module('examples.what_the_server_sees')"
    )
    done = python("-c", code)
    assert done.returncode == 2
    assert done.stderr == 'two extras are missing: pip install ".[openai,proxy]"\n'
