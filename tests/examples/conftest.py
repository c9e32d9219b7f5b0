"""Who is in front of the screen, and the server that keeps every byte. Loaded only where a test
asks for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from sanitizer.testing.server import RecordingServer

if TYPE_CHECKING:
    from tests.examples.screens import Person


@pytest.fixture(scope="session")
def display() -> Iterator[None]:
    """A screen; one for all, as Qt connects once."""
    from tests.examples.screens import screen

    with screen():
        yield


@pytest.fixture
def someone(display: None) -> Iterator[Person]:
    """In front of a new window."""
    from tests.examples.screens import person

    with person() as someone:
        yield someone


@pytest.fixture
def api() -> Iterator[RecordingServer]:
    """An API that says what it was asked."""
    with RecordingServer() as server:
        yield server
