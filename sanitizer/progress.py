"""Bars (or lines, where no terminal is), and notes for another terminal: no word of a prompt."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from time import sleep, time
from typing import IO, Any, TypeVar

Item = TypeVar("Item")
Report = Callable[[int, int, bool], None]
Note = Callable[[str], object]
_REPORT: ContextVar[Report | None] = ContextVar("report", default=None)
_PULSE: ContextVar[Report | None] = ContextVar("pulse", default=None)
_LONG = 1500  # pieces of a text, about three windows of the reader: shorter ones need no bar
_EVERY = 10.0  # seconds between two lines where nobody watches a terminal
LOOK_SECONDS, DAY_SECONDS = 0.2, 86_400.0
"""How often who follows looks for notes, and when those of a process that was killed go."""


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
def _set(variable: ContextVar[Report | None], value: Report) -> Iterator[None]:
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)


def pulsed_by(waiter: Report) -> AbstractContextManager[None]:
    """Call `waiter(done, total, charged)` at each pulse of the work in this context.

    It may wait, and raise what ends the work while nothing is charged.
    """
    return _set(_PULSE, waiter)


def reported_to(watcher: Report) -> AbstractContextManager[None]:
    """Call `watcher(done, total, charged)` while texts are worked on in this context.

    What it raises ends the work, so that it can be cancelled while nothing is charged.

    >>> with reported_to(lambda done, total, charged: print(f"{done} of {total}")):
    ...     report(1, 2)
    1 of 2
    """
    return _set(_REPORT, watcher)


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


# ---- notes that another terminal shows ----


def _folder() -> Path:
    """Return the folder of the notes, a file for each process that makes some."""
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    folder = Path(state, "sanitizer", "run")
    folder.mkdir(0o700, parents=True, exist_ok=True)
    return folder


@contextmanager
def notes() -> Iterator[Note]:
    """Yield a function that adds a line to the notes of this process, which go at its end.

    Only this user can read them. Where none can be written, that is said on standard error.
    """

    def add(line: str) -> None:
        with suppress(OSError):  # a full disk ends no request
            os.write(file, f"{line}\n".encode())

    file = -1  # what is written there is lost
    try:
        path = _folder() / f"{os.getpid()}.log"
        for old in path.parent.glob("*.log"):
            if time() - old.stat().st_mtime > DAY_SECONDS:
                old.unlink(missing_ok=True)
        file = os.open(path, os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_WRONLY, 0o600)
    except OSError as error:
        sys.stderr.write(f"sanitizer: --watch cannot show this run: {error.strerror}\n")
    try:
        yield add
    finally:
        with suppress(OSError):  # there is none, or a system keeps it for who reads it
            os.close(file)
            path.unlink()


def followed() -> Iterator[str]:
    """Yield the notes of all processes, those that are there and those that come, for ever."""
    files: dict[Path, IO[str]] = {}
    while True:
        with suppress(OSError):  # it has just ended
            files |= {each: each.open() for each in set(_folder().glob("*.log")) - set(files)}
        for path, file in tuple(files.items()):
            is_over = not path.exists()
            yield file.read()
            if is_over:
                files.pop(path).close()
        sleep(LOOK_SECONDS)
