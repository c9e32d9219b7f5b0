"""A progress bar on standard error; where that is no terminal, a line each ten seconds.

It shows counts and times only, never a word of a prompt.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

Item = TypeVar("Item")
Report = Callable[[int, int, bool], None]
_REPORT: ContextVar[Report | None] = ContextVar("report", default=None)
_PULSE: ContextVar[Report | None] = ContextVar("pulse", default=None)
_LONG = 1500  # pieces of a text, about three windows of the reader: shorter ones need no bar
_EVERY = 10.0  # seconds between two lines where nobody watches a terminal


def report(done: int, total: int, charged: bool = False) -> None:
    """Tell whoever watches this thread how far the work on a text is; without one, do nothing.

    Args:
        done, total: in units of the caller.
        charged: True once the text may have been charged, so that stopping would lose it.
    """
    pulse(done, total, charged)
    if (watcher := _REPORT.get()) is not None:
        watcher(done, total, charged)


def pulse(done: int = 0, total: int = 0, charged: bool = False) -> None:
    """Let whoever shares the processor with long work go first; `report` does it too."""
    if (waiter := _PULSE.get()) is not None:
        waiter(done, total, charged)


@contextmanager
def pulsed_by(waiter: Report) -> Iterator[None]:
    """Call `waiter(done, total, charged)` at each pulse of the work in this context.

    It may wait, and raise what ends the work while nothing is charged.
    """
    token = _PULSE.set(waiter)
    try:
        yield
    finally:
        _PULSE.reset(token)


@contextmanager
def reported_to(watcher: Report) -> Iterator[None]:
    """Call `watcher(done, total, charged)` while texts are worked on in this context.

    What it raises ends the work, so that it can be cancelled while nothing is charged.

    >>> with reported_to(lambda done, total, charged: print(f"{done} of {total}")):
    ...     report(1, 2)
    1 of 2
    """
    token = _REPORT.set(watcher)
    try:
        yield
    finally:
        _REPORT.reset(token)


@contextmanager
def reading_bar(shown: bool) -> Iterator[Report]:
    """Yield a watcher for `reported_to` that shows a bar for each long text."""
    with ExitStack() as bars:
        bar: Any = None

        def watcher(done: int, total: int, charged: bool) -> None:
            nonlocal bar
            if shown and bar is None and done < total and total > _LONG:
                bar = bars.enter_context(_bar(total, desc="reading: ", leave=False))
            if bar is not None:
                bar.update(done - bar.n)
                if done >= total:
                    bar.close()
                    bar = None

        yield watcher


@contextmanager
def progress_bar(total: int, shown: bool) -> Iterator[Callable[[int], None]]:
    """Show a bar for `total` items, or nothing; yield a function that counts items just done."""
    with _bar(total, disable=not shown) as bar:
        yield bar.update


class _Lines:
    """A file that takes the states of a bar and makes each of them a line of standard error."""

    def write(self, state: str) -> None:
        if line := state.strip():  # what clears a bar is blank
            sys.stderr.write(f"{line}\n")


def _bar(total: int, **options: Any) -> Any:
    from tqdm import tqdm  # takes 44 ms

    if not sys.stderr.isatty():
        form = "sanitizer: {desc}{n_fmt} of {total_fmt}, {elapsed} so far, about {remaining} left"
        options |= {"bar_format": form, "file": _Lines(), "leave": False}
        options |= {"delay": _EVERY, "mininterval": _EVERY, "miniters": 1}
    return tqdm(total=total, **options)


def counted(items: Iterable[Item], total: int) -> Iterator[Item]:
    """Yield the items as they come, and show a bar for `total` of them.

    An item counts when the next one is asked for.
    """
    yield from _bar(total, iterable=items)
