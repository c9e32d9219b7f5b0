"""What tests and the examples in docstrings share."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import pytest

from sanitizer.storage import vault

# Some tests import it themselves, before the package has told it to be silent.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")


@pytest.fixture(scope="session", autouse=True)
def from_one() -> Iterator[Callable[[bytes, str], int]]:
    """Let placeholders begin at 1, so that what tests and examples say can be read."""
    real = vault._tag
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vault, "_tag", lambda secret, conversation: 0)
        yield real
