"""The transports for httpx2."""

from __future__ import annotations

import subprocess
import sys

import httpx2

from sanitizer.clients import httpx2 as adapter
from tests.clients.transport_contract import TransportContract, server

__all__ = ["server"]


class TestTransports(TransportContract):
    lib, adapter = httpx2, adapter


def test_without_the_library_the_error_names_the_extra() -> None:
    modules = "sanitizer.clients.httpx, sanitizer.clients.httpx2"
    code = f"import sys; sys.modules['httpx2'] = None; import {modules}"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.stderr.splitlines()[-1] == (
        "ImportError: httpx2 is missing;"
        ' it comes with the extra "openai": pip install "dp-sanitizer[openai]"'
    )
