"""Where the work of the Sanitizer runs: at once if it is quick, else in a thread, so that others
are served.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from sanitizer.wire import short_enough

Result = TypeVar("Result")


class Workers:
    """A few threads.

    Args:
        may_block: even short texts may take long (a model, a disk). threads: default one per core,
            at least two.
    """

    def __init__(self, may_block: bool, threads: int | None = None) -> None:
        self._may_block = may_block
        self._pool = ThreadPoolExecutor(
            threads or max(2, os.cpu_count() or 1), thread_name_prefix="sanitizer"
        )

    async def run(self, size: int, work: Callable[[], Result]) -> Result:
        """The work's result; `size` is what it has to read, in bytes."""
        if not self._may_block and short_enough(size):
            return work()
        return await asyncio.get_running_loop().run_in_executor(self._pool, work)

    def close(self) -> None:
        """What waits is dropped; what runs ends by itself."""
        self._pool.shutdown(wait=False, cancel_futures=True)
