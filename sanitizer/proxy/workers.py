"""Worker threads, and whose turn it is: short work does not wait for long work to end.

Work tells again and again that it goes on (`sanitizer.progress.pulse`), at each window that the
reader reads. There it waits where other work is due first: what ran for less time, of whoever was
served less; of equals the shorter. While short work runs, long work stands still, for half of its
time at most: it would take the processor, and Python's lock. So two threads serve many.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
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
PAUSE_SECONDS, STAND_SECONDS = 0.005, 0.2
"""How long work goes on before it looks who waits, and stands still at once, at most."""
MAX_PAUSED = 32
"""Threads that wait in the middle of their work; beyond them work goes on to its end."""
HALF_LIFE = 10.0
"""Seconds after which half of what somebody was served is forgotten."""
TOLD_EVERY = 10.0
"""Seconds of work after which the log says how far it is."""


class Stopped(Exception):
    """Nobody waits for the work any more."""


@dataclass(eq=False)
class Job:
    """Some work.

    Attributes:
        size: bytes to read. who: for whom. wake: called when its turn comes.
        seconds, stood: how long it ran so far, and stood still for short work.
        since: when its turn began, or its waiting. waits: for its turn. is_gone: nobody waits.
        is_extra: it runs in the place for short work.
    """

    size: int
    who: str
    wake: Callable[[], object] = field(repr=False)
    seconds: float = 0.0
    stood: float = 0.0
    since: float = 0.0
    waits: bool = False
    is_gone: bool = False
    is_extra: bool = False

    @property
    def is_short(self) -> bool:
        """True if its size is that of a prompt."""
        return short_enough(self.size)


class Turns:
    """Order of work: `n` at once, and one more that is short. Safe for many threads."""

    def __init__(self, n: int, clock: Callable[[], float] = monotonic) -> None:
        self._free = {False: n, True: 1}  # places for all, and for short work
        self._waiting: list[Job] = []
        self._n_paused = self._n_short = 0
        self._quiet = threading.Event()  # no short work runs
        self._quiet.set()
        self._served: dict[str, float] = {}
        self._clock, self._at = clock, clock()
        self._lock = threading.RLock()

    def enter(self, job: Job) -> None:
        """Queue work; `wake` is called at once if it may begin."""
        with self._lock:
            job.since, job.waits = self._clock(), True
            self._waiting.append(job)
            self._start_next()

    def leave(self, job: Job) -> None:
        """End a turn, or the waiting for one."""
        with self._lock:
            if job.waits:
                self._waiting.remove(job)
            else:
                self._count(job)
                self._end(job)
                self._start_next()

    def pause(self, job: Job, done: int = 0, total: int = 0, charged: bool = False) -> None:
        """Let others go first where they are due; called by the work itself.

        Raises:
            Stopped: nobody waits for it, and nothing is charged yet.
        """
        if self._clock() - job.since > PAUSE_SECONDS and not job.is_gone:
            with self._lock:
                if self._count(job):
                    told = f"{job.seconds:.0f} s so far, {done} of {total} tokens of this text"
                    _LOG.warning("still reading a request of %d KB: %s", job.size // 1000, told)
                due, least, again = self._due(job.is_extra), self._least(), None
                is_late = due and self._level(due, least) < self._level(job, least)
                if is_late and self._n_paused < MAX_PAUSED:
                    again = threading.Event()
                    job.wake = again.set
                    self._n_paused += 1
                    self._end(job)
                    self.enter(job)
            if again is not None:
                again.wait()
                with self._lock:
                    self._n_paused -= 1
            elif not (job.is_short or job.stood >= job.seconds or self._quiet.is_set()):
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

    def _end(self, job: Job) -> None:
        self._free[job.is_extra] += 1
        self._n_short -= job.is_short
        if not self._n_short:
            self._quiet.set()

    def _start_next(self) -> None:
        for is_extra in self._free:
            while self._free[is_extra] > 0 and (due := self._due(is_extra)) is not None:
                self._start(due, is_extra)

    def _start(self, job: Job, is_extra: bool) -> None:
        self._waiting.remove(job)
        job.is_extra, job.since, job.waits = is_extra, self._clock(), False
        self._free[is_extra] -= 1
        self._n_short += job.is_short
        if self._n_short:
            self._quiet.clear()
        job.wake()

    def _due(self, is_extra: bool) -> Job | None:
        """Return who is next."""
        some, least = [job for job in self._waiting if job.is_short or not is_extra], self._least()
        return min(some, key=lambda job: (self._level(job, least), job.size), default=None)

    def _least(self) -> float:
        """Return for how long he was served who was served least of those who wait."""
        return min([self._served.get(job.who, 0.0) for job in self._waiting], default=0.0)

    def _level(self, job: Job, least: float) -> int:
        """Return how late work is due: later the longer it ran, sooner the longer it waited."""
        excess = max(0.0, self._served.get(job.who, 0.0) - least)
        waited = (self._clock() - job.since) / TIMES if job.waits else 0.0
        seconds = job.seconds + excess - waited
        return 0 if seconds < FIRST_SECONDS else 1 + int(log(seconds / FIRST_SECONDS, TIMES))

    def _count(self, job: Job) -> bool:
        """Count the time since its turn began; return True if the log should say so."""
        now = self._clock()
        ran, job.since = now - job.since, now
        left, self._at = 0.5 ** ((now - self._at) / HALF_LIFE), now
        kept = {who: left * n for who, n in self._served.items() if left * n > FIRST_SECONDS}
        self._served = {**kept, job.who: kept.get(job.who, 0.0) + ran}
        job.seconds += ran
        return job.seconds // TOLD_EVERY > (job.seconds - ran) // TOLD_EVERY


class Workers:
    """Threads for work that would block the event loop; quick work runs at once.

    Args:
        may_block: even short texts may take long (a model, a disk), so all work runs in a thread.
        threads: work that is done at once; by default one per core, at least two.
    """

    def __init__(self, may_block: bool, threads: int | None = None) -> None:
        self._may_block = may_block
        n = threads or max(2, os.cpu_count() or 1)
        self._turns = Turns(n)
        self._pool = ThreadPoolExecutor(n + 1 + MAX_PAUSED, thread_name_prefix="sanitizer")

    async def run(self, size: int, work: Callable[[], Result], who: str = "") -> Result:
        """Return the result of work that has to read so many bytes, which decide where it runs.

        Where the caller is cancelled, the work ends at its next pulse. `who` it is for: nobody is
        served much more than others who wait.
        """
        if not self._may_block and short_enough(size):
            return work()
        loop, turns, begun = asyncio.get_running_loop(), self._turns, asyncio.Event()

        def worked() -> Result:
            try:
                with pulsed_by(partial(turns.pause, job)):
                    return work()
            finally:
                turns.leave(job)

        job = Job(size, who, lambda: loop.call_soon_threadsafe(begun.set))
        turns.enter(job)
        try:
            await begun.wait()
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
