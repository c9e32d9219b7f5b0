"""The transports for httpx2."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import httpx2

from sanitizer.clients import httpx as httpx_adapter
from sanitizer.clients import httpx2 as adapter
from tests.clients.transport_contract import TransportContract, server

__all__ = ["server"]


class TestTransports(TransportContract):
    lib, adapter = httpx2, adapter


def test_the_two_adapters_say_the_same_of_their_library() -> None:
    """Behaviour is shared; what users read (classes, signatures, docstrings) is written twice."""
    guard = re.compile(r"try:\n    import httpx2\nexcept ModuleNotFoundError:\n(    .*\n)+")
    text, n_guards = guard.subn("import httpx2\n", Path(adapter.__file__).read_text("utf-8"))
    assert n_guards == 1
    assert re.sub(r"\s+", " ", re.sub(r"\bhttpx2\b", "httpx", text)) == re.sub(
        r"\s+", " ", Path(httpx_adapter.__file__).read_text("utf-8")
    )


def test_without_the_library_the_error_names_the_extra() -> None:
    modules = "sanitizer.clients.httpx, sanitizer.clients.httpx2"
    code = f"import sys; sys.modules['httpx2'] = None; import {modules}"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.stderr.splitlines()[-1] == (
        "ImportError: httpx2 is missing;"
        ' it comes with the extra "openai": pip install "dp-sanitizer[openai]"'
    )
