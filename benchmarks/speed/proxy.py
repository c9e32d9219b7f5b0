"""What the proxy adds: latency against direct calls in one interleaved run, a peer beside it, and
load.

    python -m benchmarks.speed.proxy [--quick] [--peer PYTHON] [--history KB ...]

With --history it only measures what is added to the first event of a stream where a coding agent
sends its whole history again, of so many KB, under `code`: the same request again and again, and
one that ends with a line that is new; all of it, and without the time for reading the request.
It prints that, and writes results/proxy_history.json.

Upstream, proxy and client run on one machine, so all figures are upper bounds. Every answer is
checked: the address in it must have come back.
"""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import os
import re
import sys
import time
from collections.abc import Sequence
from typing import Any

from benchmarks.common.machine import parser, write
from benchmarks.common.timing import difference, quantile, share
from benchmarks.speed.load import Setting, cpu_seconds, loaded, started
from benchmarks.speed.session import chat_history

N_STREAMS, PACE, EVENTS = 200, 10, 50
RATE = 100
KEY = "sk-benchmark"
FIGURES = {
    "first_median_ms": (0, 0.5),
    "first_p95_ms": (0, 0.95),
    "whole_median_ms": (1, 0.5),
    "whole_p95_ms": (1, 0.95),
}
"""Figure -> of the first event (0) or the whole answer (1), and the quantile."""
HEADERS = {"content-type": "application/json", "authorization": f"Bearer {KEY}"}
NAMED = {"sanitizer-conversation": "session"}
"""Where requests come with a history that no proxy has answered."""
SERVE = [sys.executable, "-m", "sanitizer", "serve", "--port", "0", "--no-page"]


def body(i: int, stream: bool, before: Sequence[dict[str, Any]] = ()) -> bytes:
    """A prompt of 20 words with an e-mail address, another one for each i, behind a history."""
    text = (
        f"Please write to user{i}@example.com: my father, who has diabetes, would like to travel "
        "to Leeds on Monday."
    )
    return json.dumps(
        {"model": "m", "stream": stream, "messages": [*before, {"role": "user", "content": text}]}
    ).encode()


def ask(
    connection: http.client.HTTPConnection,
    i: int,
    stream: bool,
    before: Sequence[dict[str, Any]] = (),
) -> tuple[float, float, float]:
    """Seconds to the first event (or the answer), to the end, and for reading the request."""
    sent, headers = body(i, stream, before), HEADERS | (NAMED if before else {})
    begin = time.perf_counter()
    connection.request("POST", "/v1/chat/completions", sent, headers)
    answer = connection.getresponse()
    first = answer.read1(65536)
    seconds = time.perf_counter() - begin
    rest = answer.read()
    if answer.status != 200 or f"user{i}@example.com".encode() not in first + rest:
        raise RuntimeError(f"a wrong answer: status {answer.status}")
    reading = answer.headers.get("server-timing", "").partition("dur=")[2] or 0
    return seconds, time.perf_counter() - begin, float(reading) / 1e3


def latencies(
    ports: dict[str, int],
    n: int,
    stream: bool,
    before: Sequence[dict[str, Any]] = (),
    again: bool = False,
) -> dict[str, Any]:
    """Milliseconds of each, in turn n times, what they add to "direct", and what part of the peer's
    that is.

    Args:
        before: the history that each request begins with. again: all requests are the same.
    """
    connections = {
        name: http.client.HTTPConnection("127.0.0.1", port) for name, port in ports.items()
    }
    times: dict[str, list[tuple[float, float, float]]] = {name: [] for name in ports}
    for i in range(n + 20):
        for name, connection in connections.items():
            number = 0 if again else i + 10**6 * stream
            taken = ask(connection, number, stream, before)
            if i >= 20:  # the first ones warm up
                times[name].append(taken)
    return {name: figures(name, times) for name in times}


def figures(name: str, times: dict[str, list[tuple[float, float, float]]]) -> dict[str, Any]:
    """Of one way to the upstream; every figure with its interval."""
    found: dict[str, Any] = {"added": {}, "of_peer": {}}
    for key, (i, q) in FIGURES.items():
        seconds = {way: [taken[i] for taken in series] for way, series in times.items()}
        direct = seconds["direct"]
        found[key] = quantile(seconds[name], q)
        if name != "direct":
            found["added"][key] = difference(seconds[name], direct, q)
        if name != "direct" and i == 0:
            rest = [first - reading for first, _, reading in times[name]]
            found["added"][f"{key} beside reading"] = difference(rest, direct, q)
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


def peer_command(python: str) -> list[str]:
    """The installed peer."""
    return [python, "-m", "llm_shield_proxy.cli", "--host", "127.0.0.1", "--port", "18080"]


def with_history(sizes: Sequence[int], n: int) -> dict[str, Any]:
    """Latencies of streams whose requests begin with histories of so many KB, under `code`."""
    results: dict[str, Any] = {}
    with contextlib.ExitStack() as stack:
        _, upstream = stack.enter_context(
            started([sys.executable, "-m", "benchmarks.speed.upstream"], r"^(\d+)$")
        )
        command = [*SERVE, "--upstream", f"http://127.0.0.1:{upstream}/v1", "--policy", "code"]
        _, port = stack.enter_context(started(command, r"http://127.0.0.1:(\d+) "))
        ports = {"direct": upstream, "code": port}
        for kb in sizes:
            for name, again in (("again", True), ("with a new line", False)):
                each = latencies(ports, n, True, chat_history(kb), again)
                added: dict[str, Any] = each["code"]["added"]
                shown = {k: round(v["mean"], 1) for k, v in added.items() if k[:5] == "first"}
                print(f"{kb} KB, {name}: added to the first event: {shown}")
                results[f"{kb} KB, {name}"] = each
    return results


def main() -> None:
    """Measure, write results/proxy.json."""
    line = parser(__doc__, "fewer requests, a load of ten seconds")
    line.add_argument("--peer", metavar="PYTHON", help="an environment with llm-shield-proxy")
    line.add_argument("--history", metavar="KB", type=int, nargs="+", help="only these histories")
    options = line.parse_args()
    if options.history:
        n = 40 if options.quick else 200
        busy_with = {"load_average": os.getloadavg()[0]}
        write("proxy_history", with_history(options.history, n) | busy_with)
        return
    quick, peer = options.quick, options.peer
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
        asked = Setting(
            "identifiers", seconds, streams=N_STREAMS, rate=RATE, pace=PACE, events=EVENTS
        )
        pid = pids["identifiers"]
        before = cpu_seconds(pid)
        load = asyncio.run(loaded([ports["identifiers"]], [pid], asked)).as_dict()
        busy = cpu_seconds(pid) - before
        load["memory_mb"] = {place: mb for place, (mb,) in load["memory_mb"].items()}
        load |= {"requests_per_second": RATE, "n_conversations": N_STREAMS, "seconds": seconds}
        load |= {"proxy_cores_used": busy / (seconds + EVENTS / PACE)}
        results["load"] = load
    write("proxy", results)


if __name__ == "__main__":
    main()
