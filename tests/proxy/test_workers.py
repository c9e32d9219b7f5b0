"""Whose turn it is: short before long, whoever was served least, nobody for ever."""

from __future__ import annotations

import asyncio
import logging
import threading

import pytest

from sanitizer.progress import pulse
from sanitizer.proxy.workers import MAX_PAUSED, Job, Stopped, Turns, Workers


class Clock:
    """Seconds that pass only when told."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Room:
    """Turns of a machine with n cores, and who began in which order."""

    def __init__(self, n: int = 1) -> None:
        self.clock = Clock()
        self.turns = Turns(n, self.clock)
        self.begun: list[str] = []

    def comes(self, name: str, size: int, who: str = "") -> Job:
        job = Job(size, who, lambda: self.begun.append(name))
        self.turns.enter(job)
        return job

    def runs(self, job: Job, seconds: float) -> None:
        self.clock.now += seconds
        self.turns.leave(job)


def test_of_those_who_wait_the_shortest_begins() -> None:
    room = Room()
    first = room.comes("first", 900_000)
    room.comes("long", 800_000)
    room.comes("middle", 50_000)
    room.runs(first, 1.0)
    assert room.begun == ["first", "middle"]


def test_short_work_has_a_place_beside_long_work() -> None:
    room = Room(2)
    for i in range(10):
        room.comes(f"long {i}", 1_000_000)
    room.comes("short", 100)
    assert room.begun == ["long 0", "long 1", "short"]


def test_who_was_served_less_goes_first() -> None:
    room = Room()
    running = room.comes("a 0", 100_000, "a")
    room.comes("a 1", 50_000, "a")
    room.comes("b 0", 90_000, "b")
    room.runs(running, 3.0)
    assert room.begun[-1] == "b 0"


def test_what_waited_long_is_not_passed_for_ever() -> None:
    room = Room()
    running = room.comes("begun", 1_000_000)
    room.clock.now += 3.0
    room.turns.pause(running)
    old = room.comes("old", 500_000)
    old.seconds = 1.0  # it ran, and waits again
    room.clock.now += 8.0
    room.comes("new", 400_000)
    room.turns.leave(running)
    assert room.begun[-1] == "new"
    room = Room()
    running = room.comes("begun", 1_000_000)
    old = room.comes("old", 500_000)
    old.seconds = 1.0
    room.clock.now += 8.0
    for i in range(3):
        room.comes(f"new {i}", 600_000)
    room.turns.leave(running)
    assert room.begun[-1] == "old"


def test_long_work_waits_in_its_middle_for_newer_work() -> None:
    room = Room()
    long = room.comes("long", 1_000_000)
    begins, went_on = threading.Event(), threading.Event()
    newer = Job(20_000, "", begins.set)
    room.turns.enter(newer)

    def work() -> None:
        room.turns.pause(long)
        went_on.set()

    room.clock.now += 1.0
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    assert begins.wait(5)
    assert not went_on.is_set()
    room.runs(newer, 0.01)
    assert went_on.wait(5)
    thread.join(5)
    assert long.seconds == pytest.approx(1.0)


def test_equals_do_not_take_turns() -> None:
    room = Room()
    one = room.comes("one", 1_000_000)
    room.comes("two", 900_000)
    room.clock.now += 0.04
    room.turns.pause(one)  # it would wait for ever
    assert room.begun == ["one"]


def test_work_that_nobody_waits_for_ends_unless_it_is_charged() -> None:
    room = Room()
    job = room.comes("job", 10)
    room.turns.stop(job)
    room.turns.pause(job, charged=True)
    with pytest.raises(Stopped):
        room.turns.pause(job)
    room.turns.leave(job)
    room.comes("next", 10)
    assert room.begun == ["job", "next"]


def test_the_log_says_how_far_long_work_is(caplog: pytest.LogCaptureFixture) -> None:
    room = Room()
    job = room.comes("job", 500_000)
    with caplog.at_level(logging.WARNING, "sanitizer.proxy"):
        for done in range(22):
            room.clock.now += 1.0
            room.turns.pause(job, done, 40)
    assert [record.message for record in caplog.records] == [
        "still reading a request of 500 KB: 10 s so far, 9 of 40 tokens of this text",
        "still reading a request of 500 KB: 20 s so far, 19 of 40 tokens of this text",
    ]


def test_a_short_text_is_done_while_long_ones_run() -> None:
    workers = Workers(True, 2)
    release = threading.Event()

    def endless() -> None:
        while not release.is_set():
            pulse()

    async def main() -> None:
        long = [asyncio.create_task(workers.run(10**6, endless)) for _ in range(10)]
        await asyncio.sleep(0)
        short = [workers.run(20_000, lambda: 1, "other") for _ in range(2 * MAX_PAUSED)]
        assert sum(await asyncio.wait_for(asyncio.gather(*short), 20)) == 2 * MAX_PAUSED
        release.set()
        await asyncio.gather(*long)

    asyncio.run(main())
    workers.close()


def test_cancelled_work_ends_and_makes_room() -> None:
    workers = Workers(True, 1)
    ended = threading.Event()

    def endless() -> None:
        try:
            while True:
                pulse()
        finally:
            ended.set()

    async def main() -> None:
        running = asyncio.create_task(workers.run(10**6, endless))
        waiting = asyncio.create_task(workers.run(10**6, endless))
        await asyncio.sleep(0.01)
        for task in (waiting, running):
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        assert await asyncio.to_thread(ended.wait, 5)
        assert await asyncio.wait_for(workers.run(10**6, lambda: 1), 5) == 1

    asyncio.run(main())
    workers.close()


def test_long_work_stands_still_while_short_work_runs_for_half_of_its_time() -> None:
    room = Room(2)
    long, short = room.comes("long", 1_000_000), room.comes("short", 100)
    room.clock.now += 1.0
    stood, over = threading.Event(), threading.Event()

    def work() -> None:
        stood.set()
        room.turns.pause(long)
        over.set()

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    assert stood.wait(5)
    room.clock.now += 2.0  # as long as that takes
    room.turns.leave(short)
    assert over.wait(5)
    thread.join(5)
    room.comes("another", 100)
    room.clock.now += 0.1
    room.turns.pause(long)  # it stood still for longer than it ran
    assert room.begun == ["long", "short", "another"]
