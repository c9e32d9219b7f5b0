"""Other Python processes that open a vault."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import sanitizer
from tests.storage.vault_contract import KEY

ROOT = Path(sanitizer.__file__).parent.parent


def command(code: str, path: Path, *arguments: int) -> list[str]:
    return [sys.executable, "-c", code, str(path), KEY.hex(), *map(str, arguments)]


def run(code: str, path: Path) -> str:
    return subprocess.run(
        command(code, path), capture_output=True, text=True, check=True, cwd=ROOT
    ).stdout


def started(code: str, path: Path, begin: int, end: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command(code, path, begin, end), stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
