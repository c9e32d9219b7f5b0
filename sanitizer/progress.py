"""A progress bar on standard error, only where a person is watching."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

Item = TypeVar("Item")

_WIDTH = 30
_EVERY = 0.1


@contextmanager
def progress_bar(total: int, shown: bool) -> Iterator[Callable[[int], None]]:
    """Yields a function to call with the number of items just done. Silent if `shown` is false."""
    done, last = 0, 0.0

    def advance(n: int) -> None:
        nonlocal done, last
        done += n
        now = time.monotonic()
        if shown and (now - last > _EVERY or done >= total):
            last = now
            filled = _WIDTH * done // max(total, 1)
            sys.stderr.write(f"\r[{'#' * filled}{'.' * (_WIDTH - filled)}] {done}/{total}")
            sys.stderr.flush()

    try:
        yield advance
    finally:
        if shown and done:
            sys.stderr.write("\n")


def counted(items: Iterable[Item], total: int) -> Iterator[Item]:
    """The items as they come, with a bar."""
    with progress_bar(total, True) as advance:
        for item in items:
            yield item
            advance(1)
