"""The command line run as a user runs it."""

from __future__ import annotations

import subprocess
import sys

PROMPT = "My father Peter has hepatitis and lives in Leeds."


def run(*arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "sanitizer", *arguments],
        input=stdin,
        capture_output=True,
        check=False,
    )


def one_line(error: bytes) -> bool:
    return error.count(b"\n") == 1 and error.startswith(b"sanitizer") and b"Traceback" not in error
