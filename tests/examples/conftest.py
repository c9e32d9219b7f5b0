"""Fixtures: a screen, a person in front of the window, and the server that keeps every byte.

The window is loaded only where a test asks for it.
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
    """Provide one screen for all tests, as Qt connects once."""
    from tests.examples.screens import screen

    with screen():
        yield


@pytest.fixture
def someone(display: None) -> Iterator[Person]:
    """Provide a person in front of a new window."""
    from tests.examples.screens import person

    with person() as someone:
        yield someone


@pytest.fixture
def api() -> Iterator[RecordingServer]:
    """Provide an API that repeats what it was asked."""
    with RecordingServer() as server:
        yield server
