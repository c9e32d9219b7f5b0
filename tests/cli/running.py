"""The command line run as a user runs it: in this process, or in one of its own."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from typing import Any
from unittest import mock

from sanitizer.cli.program import main

PROMPT = "My father Peter has hepatitis and lives in Leeds."

Done = subprocess.CompletedProcess[bytes]


def run(*arguments: str, stdin: bytes = b"", environment: Mapping[str, str] | None = None) -> Done:
    """Run a command in this process, which saves the start of another; nothing is a terminal."""
    out, err = io.BytesIO(), io.BytesIO()
    streams: dict[str, Any] = {
        "stdin": io.TextIOWrapper(io.BytesIO(stdin), "utf-8"),
        "stdout": io.TextIOWrapper(out, "utf-8", write_through=True),
        "stderr": io.TextIOWrapper(err, "utf-8", write_through=True),
    }
    with (
        mock.patch.multiple(sys, **streams),
        mock.patch.dict(os.environ, environment or {}),
    ):
        status = main(arguments)
    return Done(arguments, status, out.getvalue(), err.getvalue())


def as_json(*arguments: str, stdin: bytes = b"") -> Any:
    """Return what `sanitize --json` prints."""
    return json.loads(run("sanitize", "--json", *arguments, stdin=stdin).stdout)


def run_process(*arguments: str, stdin: bytes = b"") -> Done:
    """Run a command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "sanitizer", *arguments],
        input=stdin,
        capture_output=True,
        check=False,
    )


def one_line(error: bytes) -> bool:
    return error.count(b"\n") == 1 and error.startswith(b"sanitizer") and b"Traceback" not in error
