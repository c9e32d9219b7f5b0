"""What restores the events of one answer, whatever the API: what all formats share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from sanitizer.wire.answers import Channels, Restoration, Stamp

Json = dict[str, Any]


class Events(ABC):
    """Handler of the events of one answer; most APIs send the answer's object in the first.

    Args:
        restoration: of the answer.
    """

    def __init__(self, restoration: Restoration) -> None:
        self._restoration = restoration
        self._channels = Channels(restoration)
        self._is_stamped = False

    @abstractmethod
    def event(self, event: Json) -> tuple[list[Json], Json]:
        """Restore one event; return the events to put before it, and the event itself.

        The event is the same object if nothing changed.

        Raises:
            UpstreamError: its type is not known, or it cannot be read.
        """

    @abstractmethod
    def _held(self) -> list[Json]:
        """End all texts; return events for what was held back of them."""

    def leave(self) -> None:
        """Keep what came of an answer that is left in its middle; raise VaultError."""
        self._restoration.settle()

    def flush(self) -> list[Json]:
        """End the stream; return events for all text held back."""
        held = self._held()
        self._restoration.settle()
        return held

    def stamped(self, event: Json, stamp: Stamp) -> Json:
        """Stamp the answer's object in an event that is to be passed on, if it holds one.

        Here that is the first event; the others belong to the same answer. Returns a copy; the same
        object if it holds none.
        """
        if self._is_stamped or "error" in event:
            return event
        self._is_stamped = True
        return stamp(event)
