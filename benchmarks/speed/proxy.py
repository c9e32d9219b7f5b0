"""What the proxy adds: latency against direct calls in one interleaved run, a peer beside it, and
load.

Upstream, proxy and client run on one machine, so all figures are upper bounds. Every answer is
checked: the address in it must have come back.
"""

from __future__ import annotations

import argparse
import asyncio
import collections
import contextlib
import http.client
import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.common.machine import write
from benchmarks.common.timing import difference, median, quantile, share

N_STREAMS, PACE, EVENTS = 200, 10, 50
RATE, N_CONVERSATIONS = 100, 200
KEY = "sk-benchmark"
FIGURES = {"first_median_ms": (0, 0.5), "whole_median_ms": (1, 0.5), "whole_p95_ms": (1, 0.95)}
"""Figure -> of the first event (0) or the whole answer (1), and the quantile."""
HEADERS = {"content-type": "application/json", "authorization": f"Bearer {KEY}"}
SERVE = [sys.executable, "-m", "sanitizer", "serve", "--port", "0", "--no-page"]


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


def body(i: int, stream: bool, model: str = "m") -> bytes:
    """A prompt of 20 words with an e-mail address, another one for each i."""
    text = (
        f"Please write to user{i}@example.com: my father, who has diabetes, would like to travel "
        "to Leeds on Monday."
    )
    return json.dumps(
        {"model": model, "stream": stream, "messages": [{"role": "user", "content": text}]}
    ).encode()


def ask(connection: http.client.HTTPConnection, i: int, stream: bool) -> tuple[float, float]:
    """Seconds to the first event (or the answer), and to the end."""
    begin = time.perf_counter()
    connection.request("POST", "/v1/chat/completions", body(i, stream), HEADERS)
    answer = connection.getresponse()
    first = answer.read1(65536)
    seconds = time.perf_counter() - begin
    rest = answer.read()
    if answer.status != 200 or f"user{i}@example.com".encode() not in first + rest:
        raise RuntimeError(f"a wrong answer: status {answer.status}")
    return seconds, time.perf_counter() - begin


def latencies(ports: dict[str, int], n: int, stream: bool) -> dict[str, Any]:
    """Milliseconds of each, in turn n times, what they add to "direct", and what part of the peer's
    that is.
    """
    connections = {
        name: http.client.HTTPConnection("127.0.0.1", port) for name, port in ports.items()
    }
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in ports}
    for i in range(n + 20):
        for name, connection in connections.items():
            taken = ask(connection, i if not stream else i + 10**6, stream)
            if i >= 20:  # the first ones warm up
                times[name].append(taken)
    return {name: figures(name, times) for name in times}


def figures(name: str, times: dict[str, list[tuple[float, float]]]) -> dict[str, Any]:
    """Of one way to the upstream; every figure with its interval."""
    found: dict[str, Any] = {"added": {}, "of_peer": {}}
    for key, (i, q) in FIGURES.items():
        seconds = {way: [taken[i] for taken in series] for way, series in times.items()}
        direct = seconds["direct"]
        found[key] = quantile(seconds[name], q)
        if name != "direct":
            found["added"][key] = difference(seconds[name], direct, q)
        if "peer" in times and name not in {"direct", "peer"}:
            found["of_peer"][key] = share(seconds[name], seconds["peer"], direct, q)
    return found


def filter_ms(port: int) -> float:
    """Mean milliseconds that the proxy spent on sanitizing requests, as it says itself."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request("GET", "/metrics")
    text = connection.getresponse().read().decode()
    total, count = (
        float(re.search(rf"^sanitizer_filter_seconds_{k} (\S+)", text, re.M)[1])  # type: ignore[index]
        for k in ("sum", "count")
    )
    return 1e3 * total / count


# ---- load ----


@dataclass
class Load:
    """What happened under load; times in milliseconds."""

    errors: list[str] = field(default_factory=list)
    requests: list[float] = field(default_factory=list)
    first_events: list[float] = field(default_factory=list)
    streams: int = 0
    late: int = 0
    memory_mb: list[float] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON; memory at the start, in the middle and at the end."""
        memory = self.memory_mb
        return {
            "n_requests": len(self.requests),
            "n_streams": self.streams,
            "n_errors": len(self.errors),
            "errors": sorted(set(self.errors))[:5],
            "request_median_ms": median(self.requests, 1),
            "request_p95_ms": quantile(self.requests, 0.95, 1),
            "first_event_median_ms": median(self.first_events, 1),
            "requests_begun_late": self.late,
            "memory_mb": {
                "start": memory[0],
                "middle": memory[len(memory) // 2],
                "end": memory[-1],
            },
        }


async def exchange(port: int, data: bytes, conversation: int, begin: float) -> tuple[bytes, float]:
    """One request on a connection of its own: the answer, and milliseconds to its first event or
    its end.
    """
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    head = (
        "".join(f"{k}: {v}\r\n" for k, v in HEADERS.items())
        + f"content-length: {len(data)}\r\nconnection: close\r\n"
    )
    writer.write(
        f"POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\n{head}\r\n".encode() + data
    )
    try:
        got = await reader.readuntil(b"user")  # the address: the first event, restored
        first = 1e3 * (time.perf_counter() - begin)
        return got + await reader.read(-1), first
    finally:
        writer.close()


async def one(load: Load, port: int, i: int, stream: bool) -> None:
    """One request of the load; what goes wrong is counted."""
    begin = time.perf_counter()
    try:
        async with asyncio.timeout(60):
            got, first = await exchange(
                port, body(i, stream, f"paced-{PACE}-{EVENTS}"), i % N_CONVERSATIONS, begin
            )
        if (
            b" 200 " not in got[:20]
            or f"user{i}@example.com".encode() not in got
            or stream != (b"[DONE]" in got)
        ):
            load.errors.append("wrong answer")
    except (OSError, asyncio.IncompleteReadError, TimeoutError) as error:
        load.errors.append(type(error).__name__)
        return
    if stream:
        load.streams += 1
        load.first_events.append(first)
    else:
        load.requests.append(1e3 * (time.perf_counter() - begin))


async def streaming(load: Load, port: int, place: int, end: float) -> None:
    """One stream after the other."""
    await asyncio.sleep(
        place / N_STREAMS * EVENTS / PACE
    )  # begin spread over the length of one stream
    n = 0
    while time.perf_counter() < end:
        await one(load, port, 10**7 + place * 10**4 + n, stream=True)
        n += 1


async def requesting(load: Load, port: int, pid: int, end: float) -> None:
    """RATE requests a second, whether or not the earlier ones were answered."""
    tasks: set[asyncio.Task[None]] = set()
    begin, i = time.perf_counter(), 0
    while (now := time.perf_counter()) < end:
        due = begin + i / RATE
        if now < due:
            await asyncio.sleep(due - now)
        elif now > due + 0.1:
            load.late += 1
        task = asyncio.create_task(one(load, port, i, stream=False))
        tasks.add(task)
        task.add_done_callback(tasks.discard)
        if i % RATE == 0:
            load.memory_mb.append(resident_mb(pid))
        i += 1
    await asyncio.gather(*tasks)


def resident_mb(pid: int) -> float:
    """Resident memory of a process."""
    status = Path(f"/proc/{pid}/status").read_text("utf-8")
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


async def loaded(port: int, pid: int, seconds: float) -> Load:
    """The whole load."""
    load, end = Load(), time.perf_counter() + seconds
    streams = [streaming(load, port, place, end) for place in range(N_STREAMS)]
    await asyncio.gather(requesting(load, port, pid, end), *streams)
    load.memory_mb.append(resident_mb(pid))
    return load


def cpu_seconds(pid: int) -> float:
    """Processor time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


# ---- all ----


def peer_command(python: str) -> list[str]:
    """The installed peer."""
    return [python, "-m", "llm_shield_proxy.cli", "--host", "127.0.0.1", "--port", "18080"]


def main(quick: bool, peer: str | None = None) -> None:
    """Measure, print, write results/proxy.json.

    Args:
        peer: a Python with `llm-shield-proxy` installed; without it only the proxy is measured.
    """
    n, seconds = (100, 10.0) if quick else (500, 120.0)
    with contextlib.ExitStack() as stack:
        _, upstream = stack.enter_context(
            started([sys.executable, "-m", "benchmarks.speed.upstream"], r"^(\d+)$")
        )
        ports, url = {"direct": upstream}, f"http://127.0.0.1:{upstream}/v1"
        pids = {}
        for policy in ("identifiers", "balanced"):
            command = [*SERVE, "--upstream", url, "--policy", policy]
            pids[policy], ports[policy] = stack.enter_context(
                started(command, r"http://127.0.0.1:(\d+) ")
            )
        quick_ports = {name: port for name, port in ports.items() if name != "balanced"}
        if peer is not None:
            settings = {
                "UPSTREAM_BASE_URL": url,
                "UPSTREAM_API_KEY": "unused",
                "VALID_VIRTUAL_KEYS": KEY,
            }
            _, quick_ports["peer"] = stack.enter_context(
                started(peer_command(peer), r"running on \S+:(\d+)", **settings)
            )
        results: dict[str, Any] = {}
        for name, stream in (("whole", False), ("streamed", True)):
            results[name] = latencies(quick_ports, n, stream)
            results[f"{name}_balanced"] = latencies(
                {k: ports[k] for k in ("direct", "balanced")}, n // 5, stream
            )
        results["balanced_filter_mean_ms"] = filter_ms(ports["balanced"])
        results["identifiers_filter_mean_ms"] = filter_ms(ports["identifiers"])
        before = cpu_seconds(pids["identifiers"])
        load = asyncio.run(loaded(ports["identifiers"], pids["identifiers"], seconds))
        busy = cpu_seconds(pids["identifiers"]) - before
        setting: dict[str, float] = {
            "n_streams": N_STREAMS,
            "events_per_second": PACE,
            "requests_per_second": RATE,
        }
        setting |= {"n_conversations": N_CONVERSATIONS, "seconds": seconds}
        results["load"] = (
            setting | load.as_dict() | {"proxy_cores_used": busy / (seconds + EVENTS / PACE)}
        )
    print(json.dumps(results, indent=1))
    measured = (
        "python -m benchmarks proxy"
        + " --quick" * quick
        + " --peer llm-shield-proxy=PYTHON" * (peer is not None)
    )
    print(write("proxy", measured, results))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--quick", action="store_true", help="fewer requests, a load of ten seconds"
    )
    parser.add_argument("--peer", metavar="PYTHON", help="an environment with llm-shield-proxy")
    main(**vars(parser.parse_args()))
