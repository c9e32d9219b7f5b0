"""Fixtures: a screen, a person in front of the window, and the server that keeps every byte.

The window is loaded only where a test asks for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from sanitizer.testing.server import Answer, Received, RecordingServer, Responder, echo

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


class Api(RecordingServer):
    """Lists no models when asked, before anything is charged; the script is for questions.

    `requests` holds the questions, `reached` what asked for the models.
    """

    def __init__(self, responder: Responder = echo) -> None:
        super().__init__(responder)
        self.reached: list[Received] = []
        self.models = Answer(b'{"data": []}')

    def _answer(self, received: Received) -> Answer:
        if received.method != "GET":
            return super()._answer(received)
        self.reached.append(received)
        return self.models


@pytest.fixture
def api() -> Iterator[Api]:
    """Provide an API that repeats what it was asked."""
    with Api() as server:
        yield server
