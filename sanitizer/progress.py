"""A progress bar on standard error. It shows counts and times only, never a word of a prompt."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

Item = TypeVar("Item")


@contextmanager
def progress_bar(total: int, shown: bool) -> Iterator[Callable[[int], None]]:
    """Show a bar for `total` items; yields a function that counts items just done.

    Args:
        total: how many items there will be.
        shown: False: nothing is shown. Callers show a bar only where a person is watching.

    >>> with progress_bar(2, shown=False) as advance:
    ...     for _ in range(2):
    ...         _ = advance(1)
    """
    if not shown:
        yield lambda n: None
        return
    from tqdm import tqdm  # 44 ms, which only those who see the bar need to wait

    with tqdm(total=total) as bar:

        def advance(n: int) -> None:
            bar.update(n)

        yield advance


def counted(items: Iterable[Item], total: int) -> Iterator[Item]:
    """Yield the items as they come, and show a bar for `total` of them.

    An item counts when the next one is asked for.
    """
    with progress_bar(total, shown=True) as advance:
        for item in items:
            yield item
            advance(1)
