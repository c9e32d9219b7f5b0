"""Worker threads, and whose turn it is: short work does not wait for long work to end.

Work tells again and again that it goes on (`sanitizer.progress.pulse`), at each window that the
reader reads. There it waits where other work is due first: what has run for less time, by whoever
was served less; of equals the shorter. While short work runs, long work stands still, for half of
its time at most: it would take the processor, and Python's lock. So two threads serve many.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from math import log
from time import monotonic
from typing import TypeVar

from sanitizer.progress import pulsed_by
from sanitizer.wire.headers import short_enough

Result = TypeVar("Result")
_LOG = logging.getLogger("sanitizer.proxy")

FIRST_SECONDS, TIMES = 0.05, 4
"""Work that ran so long waits for newer work; and again each time it ran so many times as long."""
PAUSE_SECONDS = 0.005
"""How long work goes on at least before it looks whether others wait."""
STAND_SECONDS = 0.2
"""How long work stands still at once, at most, for short work that runs."""
MAX_PAUSED = 32
"""Threads that wait in the middle of their work; beyond them work goes on to its end."""
HALF_LIFE = 10.0
"""Seconds after which half of what somebody was served is forgotten."""
TOLD_EVERY = 5.0
"""Seconds of work after which the log says how far it is."""


class Stopped(Exception):
    """Nobody waits for the work any more."""


@dataclass(eq=False)
class Job:
    """Some work.

    Attributes:
        size: bytes to read. who: for whom. wake: called when its turn comes.
        seconds: it ran so far. since: when its turn began, or its waiting. told: when the log says
            how far it is. is_extra: it runs in the place for short work. waits: for its turn.
            is_gone: nobody waits for it. stood: seconds it stood still for short work.
    """

    size: int
    who: str
    wake: Callable[[], None] = field(repr=False)
    seconds: float = 0.0
    since: float = 0.0
    is_extra: bool = False
    is_gone: bool = False
    stood: float = 0.0
    waits: bool = False
    told: float = TOLD_EVERY


class Turns:
    """Order of work: `n` at once, and one more that is short. Safe for many threads."""

    def __init__(self, n: int, clock: Callable[[], float] = monotonic) -> None:
        self._free = {False: n, True: 1}  # places of all, and of short work
        self._waiting: list[Job] = []
        self._n_paused = self._n_short = 0
        self._quiet = threading.Event()  # no short work runs
        self._quiet.set()
        self._served: Counter[str] = Counter()
        self._clock, self._at = clock, clock()
        self._lock = threading.Lock()

    def enter(self, job: Job) -> None:
        """Queue work that is new; `wake` is called at once if it may begin."""
        with self._lock:
            self._queue(job)
            self._start_next()

    def leave(self, job: Job) -> None:
        """End a turn, or the waiting for one."""
        with self._lock:
            if job.waits:
                self._waiting.remove(job)
                return
            self._count(job)
            self._give_up(job)

    def pause(self, job: Job, done: int = 0, total: int = 0, charged: bool = False) -> None:
        """Let others go first where they are due; called by the work itself.

        Raises:
            Stopped: nobody waits for it, and nothing is charged yet.
        """
        if job.is_gone and not charged:
            raise Stopped
        if self._clock() - job.since < PAUSE_SECONDS:
            return
        with self._lock:
            self._count(job)
            if job.seconds >= job.told:
                job.told += TOLD_EVERY
                told = f"{job.seconds:.0f} s so far, {done} of {total} tokens of this text"
                _LOG.info("a request of %d KB is read: %s", job.size // 1000, told)
            again = self._put_off(job) if self._is_late(job) else None
            is_long = not short_enough(job.size)
        if again is not None:
            again.wait()
            with self._lock:
                self._n_paused -= 1
        elif is_long and job.stood < job.seconds and not self._quiet.is_set():
            self._quiet.wait(STAND_SECONDS)
            job.stood += self._clock() - job.since
            job.since = self._clock()
        if job.is_gone and not charged:
            raise Stopped

    def stop(self, job: Job) -> None:
        """Let work end at its next pulse."""
        job.is_gone = True
        with self._lock:
            if job.waits:
                self._start(job, False)  # beside the others, to its end

    def close(self) -> None:
        """Stop all that waits."""
        for job in tuple(self._waiting):
            self.stop(job)

    def _is_late(self, job: Job) -> bool:
        """Return True if other work is due before the rest of this."""
        if (due := self._due(job.is_extra)) is None or self._n_paused >= MAX_PAUSED:
            return False
        least = self._least()
        return self._level(due, least) < self._level(job, least)

    def _put_off(self, job: Job) -> threading.Event:
        """End a turn in its middle; the event is set when the next one comes."""
        again = threading.Event()
        job.wake = again.set
        self._queue(job)
        self._n_paused += 1
        self._give_up(job)
        return again

    def _give_up(self, job: Job) -> None:
        self._free[job.is_extra] += 1
        self._n_short -= short_enough(job.size)
        if not self._n_short:
            self._quiet.set()
        self._start_next()

    def _queue(self, job: Job) -> None:
        job.since, job.waits = self._clock(), True
        self._waiting.append(job)

    def _start_next(self) -> None:
        for is_extra in self._free:
            while self._free[is_extra] > 0 and (due := self._due(is_extra)) is not None:
                self._start(due, is_extra)

    def _start(self, job: Job, is_extra: bool) -> None:
        self._waiting.remove(job)
        job.is_extra, job.since, job.waits = is_extra, self._clock(), False
        self._free[is_extra] -= 1
        self._n_short += short_enough(job.size)
        if self._n_short:
            self._quiet.clear()
        job.wake()

    def _due(self, is_extra: bool) -> Job | None:
        """Return who is next."""
        some = [job for job in self._waiting if not is_extra or short_enough(job.size)]
        least = self._least()
        return min(some, key=lambda job: (self._level(job, least), job.size), default=None)

    def _least(self) -> float:
        """Return for how long he was served who was served least of those who wait."""
        return min([self._served[job.who] for job in self._waiting], default=0.0)

    def _level(self, job: Job, least: float) -> int:
        """Return how late work is due: later the longer it ran, sooner the longer it waited."""
        excess = max(0.0, self._served[job.who] - least)
        waited = (self._clock() - job.since) / TIMES if job.waits else 0.0
        seconds = job.seconds + excess - waited
        return 0 if seconds < FIRST_SECONDS else 1 + int(log(seconds / FIRST_SECONDS, TIMES))

    def _count(self, job: Job) -> None:
        """Count the time since its turn began."""
        now = self._clock()
        ran, job.since = now - job.since, now
        job.seconds += ran
        left = 0.5 ** ((now - self._at) / HALF_LIFE)
        kept = {who: left * n for who, n in self._served.items() if left * n > FIRST_SECONDS}
        self._served, self._at = Counter(kept), now
        self._served[job.who] += ran


class Workers:
    """Threads for work that would block the event loop; quick work runs at once.

    Args:
        may_block: even short texts may take long (a model, a disk), so all work runs in a thread.
        threads: work that is done at once; by default one per core, at least two: reading takes
            all cores by itself, and what it leaves is the rest of the work.
    """

    def __init__(self, may_block: bool, threads: int | None = None) -> None:
        self._may_block = may_block
        n = threads or max(2, os.cpu_count() or 1)
        self._turns = Turns(n)
        self._pool = ThreadPoolExecutor(n + 1 + MAX_PAUSED, thread_name_prefix="sanitizer")

    async def run(self, size: int, work: Callable[[], Result], who: str = "") -> Result:
        """Return the result of work that has to read so many bytes, which decide where it runs.

        Where the caller is cancelled, the work ends at its next pulse.

        Args:
            who: for whom: nobody is served much more than others who wait.
        """
        if not self._may_block and short_enough(size):
            return work()
        loop, turns = asyncio.get_running_loop(), self._turns
        begun: asyncio.Future[None] = loop.create_future()

        def begin() -> None:
            if not begun.done():
                begun.set_result(None)

        def worked() -> Result:
            try:
                with pulsed_by(partial(turns.pause, job)):
                    return work()
            finally:
                turns.leave(job)

        job = Job(size, who, lambda: loop.call_soon_threadsafe(begin))
        turns.enter(job)
        try:
            await begun
            running = self._pool.submit(worked)
        except BaseException:
            turns.leave(job)
            raise
        try:
            return await asyncio.wrap_future(running)
        except asyncio.CancelledError:
            turns.stop(job)
            if running.cancel():  # no thread had begun it
                turns.leave(job)
            raise

    def close(self) -> None:
        """Drop the work that waits; what runs already ends by itself."""
        self._turns.close()
        self._pool.shutdown(wait=False, cancel_futures=True)
