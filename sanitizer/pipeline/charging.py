"""Texts on their way through the Sanitizer, and their charges."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from sanitizer.pipeline.masked_text import MaskedText
from sanitizer.results import SanitizedText
from sanitizer.storage import Charge


@dataclass
class PendingText:
    """One text of a group: to be drawn, or found in the vault."""

    key: bytes
    draft: MaskedText | None
    result: SanitizedText | None = None
    charge: Charge | None = None
    claims: list[float] = field(default_factory=list)
    role: str = "user"


@contextmanager
def settling(jobs: Iterable[PendingText]) -> Iterator[Callable[[], None]]:
    """Settles open charges if anything fails: given back until the yielded function was called,
    spent after.

    Once something was drawn, whether and where a failure comes may tell of private words.
    """
    drawn = False

    def drawing() -> None:
        nonlocal drawn
        drawn = True

    try:
        yield drawing
    except BaseException:
        for charge in [job.charge for job in jobs if job.charge is not None]:
            charge.commit() if drawn else charge.release()
        raise


def repeated(result: SanitizedText | None) -> SanitizedText:
    """A result released before: it costs nothing now."""
    assert result is not None
    return replace(result, record=replace(result.record, charged=0.0))
