"""Two replicas of the proxy under load: streams side by side, and requests at a steady rate.

Under `identifiers` requests begin at their rate whether or not earlier ones were answered, up to
MOST_OPEN at once; what could not begin in time is told by the rate that was reached. Under
`balanced`, where a model bounds the rate, a few clients ask one after the other, each time with
another text, so that no remembered reading helps. Every answer is checked: the address in it must
have come back. Replicas, the API, the load and, if `--database`
names one, PostgreSQL share the machine, so all figures are lower bounds.
"""

from __future__ import annotations

import asyncio
import collections
import contextlib
import hashlib
import os
import random
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp

from benchmarks.common.machine import parser, write
from benchmarks.common.texts import LONG
from benchmarks.common.timing import quantile

N_REPLICAS, N_CONVERSATIONS, REPEATED = 2, 200, 4
FULL_RATE = 300
MOST_OPEN = 400
ANSWER_SECONDS = 60.0
KEY = "a-made-up-key-of-the-load"
STORE_KEY = "a made up key of the store"


@contextlib.contextmanager
def started(command: list[str], says: str, **environment: str) -> Iterator[tuple[int, int]]:
    """A server as a process: (pid, port). `says` finds the port in its first lines.

    Raises:
        RuntimeError: it ended without saying it, with what it said instead.
    """
    joined = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    process = subprocess.Popen(command, env=os.environ | environment, **joined)  # type: ignore[call-overload]
    try:
        lines, said = iter(process.stdout.readline, ""), list[str]()
        found = None
        while found is None:
            if not (line := next(lines, "")):
                raise RuntimeError(f"{command[2:4]} did not start: {''.join(said)}")
            said.append(line)
            found = re.search(says, line)
        port = int(found[1])
        # What it goes on to say is read, so that it never waits for a reader.
        threading.Thread(target=collections.deque, args=(lines, 0), daemon=True).start()
        yield process.pid, port
    finally:
        process.terminate()
        process.wait(60)


@dataclass(frozen=True)
class Setting:
    """What is asked of the replicas; defaults are those of `identifiers`.

    Attributes:
        policy: preset. seconds: of load. streams: open at once. rate: requests begun a second; None
            lets `clients` ask one after the other. pace, events: a stream's events a second, and
            how many it has. things: after so many the first one comes again, and the tables grow no
            more; None lets them grow. words: of each text, which is then another one each time;
            None sends one sentence of 17 words with another address.
    """

    policy: str
    seconds: float
    streams: int = 500
    rate: int | None = FULL_RATE
    clients: int = 8
    pace: int = 4
    events: int = 40
    things: int | None = None
    words: int | None = None


@dataclass
class Load:
    """What happened; times in milliseconds, memory in MB."""

    errors: Counter[str] = field(default_factory=Counter)
    requests: list[float] = field(default_factory=list)
    first_events: list[float] = field(default_factory=list)
    n_streams: int = 0
    n_held_up: int = 0
    seconds: float = 0.0
    memory: list[list[float]] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        n = len(self.memory)
        places = {"start": 0, "quarter": n // 4, "middle": n // 2, "end": n - 1}
        return {
            "requests_per_second": len(self.requests) / self.seconds,
            "n_requests": len(self.requests),
            "n_streams": self.n_streams,
            "n_errors": sum(self.errors.values()),
            "errors": dict(self.errors),
            "n_held_up": self.n_held_up,
            "request_median_ms": _quantile(self.requests, 0.5),
            "request_p95_ms": _quantile(self.requests, 0.95),
            "first_event_median_ms": _quantile(self.first_events, 0.5),
            "first_event_p95_ms": _quantile(self.first_events, 0.95),
            "memory_mb": {name: self.memory[place] for name, place in places.items()},
        }


def _quantile(times: list[float], q: float) -> dict[str, float] | None:
    """A quantile with its interval; None if there is nothing to take it of."""
    return quantile(times, q, 1) if times else None


def another_text(i: int, n: int) -> str:
    """`n` words of the long prompt, another text for each i: from any place, two words left out."""
    draw, words = random.Random(i), LONG.split()
    begin = draw.randrange(len(words))
    some = (words[begin:] + words)[: n + 2]
    for _ in range(2):
        del some[draw.randrange(len(some))]
    return " ".join(some)


def asked(i: int, stream: bool, setting: Setting) -> tuple[str, dict[str, Any]]:
    """Return address and request; every REPEATED requests speak of the same."""
    thing = i // REPEATED % (setting.things or 10**9)
    mail = f"user{thing}@example.com"
    text = (
        f"Please write to {mail}: my father, who has diabetes, would like to travel to Leeds on "
        "Monday."
    )
    if setting.words is not None:
        text = f"{mail} {another_text(i, setting.words - 1)}"
    body = {
        "model": f"paced-{setting.pace}-{setting.events}",
        "stream": stream,
        "messages": [{"role": "user", "content": text}],
    }
    headers = {
        "authorization": f"Bearer {KEY}",
        "sanitizer-conversation": f"c{thing % N_CONVERSATIONS}",
    }
    return mail, {"json": body, "headers": headers}


async def ask(
    load: Load, to: aiohttp.ClientSession, i: int, stream: bool, setting: Setting
) -> None:
    """Send one request of the load; what goes wrong is counted."""
    mail, request = asked(i, stream, setting)
    begin = time.perf_counter()
    try:
        async with asyncio.timeout(ANSWER_SECONDS + setting.events / setting.pace):
            async with to.post("/v1/chat/completions", **request) as answer:
                got = await answer.content.readany()
                first = 1e3 * (time.perf_counter() - begin)
                got += await answer.content.read()
    except (OSError, aiohttp.ClientError, TimeoutError) as error:
        load.errors[type(error).__name__] += 1
        return
    if answer.status != 200:
        load.errors[f"status {answer.status}"] += 1
    elif (code := re.search(rb'"code": ?"(\w+)"', got)) is not None:
        load.errors[f"stream ended: {code[1].decode()}"] += 1
    elif stream != (b"[DONE]" in got):
        load.errors["stream without its end"] += 1
    elif mail.encode() not in got:
        load.errors["another address" if b"@example.com" in got else "no address"] += 1
    elif stream:
        load.n_streams += 1
        load.first_events.append(first)
    else:
        load.requests.append(1e3 * (time.perf_counter() - begin))


def resident_mb(pid: int) -> float:
    """Resident memory of a process."""
    status = Path(f"/proc/{pid}/status").read_text("utf-8")
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def cpu_seconds(pid: int) -> float:
    """Processor time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def _stream_on(
    load: Load, to: aiohttp.ClientSession, place: int, end: float, s: Setting
) -> None:
    """One stream after the other; their beginnings are spread over the length of one."""
    await asyncio.sleep(place / max(s.streams, 1) * s.events / s.pace)
    n = 0
    while time.perf_counter() < end:
        await ask(load, to, (10**7 + place * 10**4 + n) * REPEATED, True, s)
        n += 1


async def _at_a_rate(
    load: Load, all_to: list[aiohttp.ClientSession], end: float, s: Setting
) -> None:
    """`rate` requests a second; beyond MOST_OPEN the next one waits, and is counted."""
    assert s.rate is not None
    tasks: set[asyncio.Task[None]] = set()
    begin, i = time.perf_counter(), 0
    while (now := time.perf_counter()) < end:
        if now < begin + i / s.rate:
            await asyncio.sleep(begin + i / s.rate - now)
        elif len(tasks) >= MOST_OPEN:
            load.n_held_up += 1
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        else:
            await asyncio.sleep(0)
        task = asyncio.create_task(ask(load, all_to[i % len(all_to)], i, False, s))
        tasks.add(task)
        task.add_done_callback(tasks.discard)
        i += 1
    load.seconds = time.perf_counter() - begin
    await asyncio.gather(*tasks)


async def _one_by_one(
    load: Load, all_to: list[aiohttp.ClientSession], end: float, s: Setting
) -> None:
    """`clients` ask one request after the other."""
    numbers = iter(range(10**9))

    async def client() -> None:
        while time.perf_counter() < end:
            i = next(numbers)
            await ask(load, all_to[i % len(all_to)], i, False, s)

    begin = time.perf_counter()
    await asyncio.gather(*[client() for _ in range(s.clients)])
    load.seconds = time.perf_counter() - begin


async def _watched(load: Load, pids: list[int]) -> None:
    while True:
        load.memory.append([resident_mb(pid) for pid in pids])
        await asyncio.sleep(1)


async def loaded(ports: list[int], pids: list[int], s: Setting) -> Load:
    """The whole load of one setting."""
    load, end = Load(), time.perf_counter() + s.seconds
    to = [
        aiohttp.ClientSession(f"http://127.0.0.1:{port}", connector=aiohttp.TCPConnector(limit=0))
        for port in ports
    ]
    watch = asyncio.create_task(_watched(load, pids))
    requests = (_one_by_one if s.rate is None else _at_a_rate)(load, to, end, s)
    streams = [_stream_on(load, to[i % len(to)], i, end, s) for i in range(s.streams)]
    await asyncio.gather(requests, *streams)
    watch.cancel()
    for each in to:
        await each.close()
    return load


def configuration(folder: Path, upstream: int, policy: str, database: str | None) -> Path:
    """The configuration of one tenant."""
    (folder / "store-key").write_text(STORE_KEY)
    (folder / "url").write_text(database or "")
    storage = f"""
[storage]
url = "file:{folder / "url"}"
key = "file:{folder / "store-key"}"
seconds = 10.0
"""
    path = folder / f"{policy}.toml"
    path.write_text(f"""{storage if database else ""}
[upstreams.echo]
url = "http://127.0.0.1:{upstream}/v1"
[[tenants]]
name = "load-{policy}"
policy = "{policy}"
keys = ["sha256:{hashlib.sha256(KEY.encode()).hexdigest()}"]
""")
    return path


@contextlib.contextmanager
def replicas(config: Path) -> Iterator[tuple[list[int], list[int]]]:
    """(process ids, ports) of N_REPLICAS that serve."""
    serve = [sys.executable, "-m", "sanitizer", "serve", "--config", str(config), "--port", "0"]
    with contextlib.ExitStack() as stack:
        made = [
            stack.enter_context(started(serve, r"http://127.0.0.1:(\d+)"))
            for _ in range(N_REPLICAS)
        ]
        yield [pid for pid, _ in made], [port for _, port in made]


def measured(setting: Setting, database: str | None) -> dict[str, Any]:
    """Figures of one setting."""
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        _, upstream = stack.enter_context(
            started([sys.executable, "-m", "benchmarks.speed.upstream"], r"^(\d+)$")
        )
        config = configuration(Path(name), upstream, setting.policy, database)
        pids, ports = stack.enter_context(replicas(config))
        asyncio.run(loaded(ports, pids, Setting(setting.policy, 1.0, 2, None, 2, 20, 5)))  # warms
        before = [cpu_seconds(pid) for pid in pids]
        begin = time.perf_counter()
        load = asyncio.run(loaded(ports, pids, setting))
        took = time.perf_counter() - begin
        cores = [(cpu_seconds(pid) - was) / took for pid, was in zip(pids, before, strict=True)]
    names = ("seconds", "streams", "rate", "pace", "events", "things", "words")
    asked_for = {name: getattr(setting, name) for name in names}
    busy = {"replica_cores_used": cores, "load_average": os.getloadavg()[0]}
    return {"asked": asked_for, **load.as_dict(), **busy}


def main() -> None:
    """Measure both policies, write results/load.json."""
    line = parser(__doc__, "twenty seconds of each load")
    line.add_argument("--seconds", type=float, help="length of each load, default 120")
    line.add_argument("--streams", type=int, default=Setting.streams, help="default 500")
    line.add_argument("--rate", type=int, default=FULL_RATE, help="a second, default 300")
    line.add_argument("--things", type=int, help="addresses spoken of, default ever new ones")
    line.add_argument("--only", metavar="POLICY", help="the loads of one policy")
    line.add_argument("--database", metavar="URL", help="a PostgreSQL that the replicas share")
    options = line.parse_args()
    seconds = options.seconds or (20.0 if options.quick else 120.0)
    load = {"streams": options.streams, "rate": options.rate, "things": options.things}
    settings = [
        Setting("identifiers", seconds, **load),
        Setting("balanced", seconds, streams=0, rate=None, words=17),
        Setting("balanced", seconds, streams=0, rate=None, words=80),
    ]
    results: dict[str, Any] = {
        each.policy + (f" {each.words} words" if each.words else ""): measured(
            each, options.database
        )
        for each in settings
        if options.only is None or options.only == each.policy
    }
    shared = options.database is not None
    write("load", results | {"n_replicas": N_REPLICAS, "shares_a_database": shared})


if __name__ == "__main__":
    main()
