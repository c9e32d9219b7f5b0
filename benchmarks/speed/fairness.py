"""How long a short request takes beside long ones, at one proxy.

    python -m benchmarks.speed.fairness [--quick] [--policy NAME] [--kb SIZE] [--long N]

N clients send one text of SIZE KB each, at once and all different; meanwhile another one asks
"Hello Dana." again and again, each time in a new conversation. Its times are told, alone and beside
the long ones, and the processor time that the proxy took. Writes results/fairness.json.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from typing import Any

import aiohttp

from benchmarks.common.machine import parser, write
from benchmarks.speed.load import cpu_seconds, started
from benchmarks.speed.session import RESULT, sources


def body(text: str) -> dict[str, Any]:
    """A request with one text."""
    return {"model": "m", "messages": [{"role": "user", "content": text}]}


async def ask(to: aiohttp.ClientSession, text: str, conversation: str) -> float:
    """Seconds until the answer is there, which must hold the text's name."""
    begin = time.perf_counter()
    headers = {"authorization": "Bearer k", "sanitizer-conversation": conversation}
    async with to.post("/v1/chat/completions", json=body(text), headers=headers) as answer:
        got = await answer.read()
        if answer.status != 200 or b"Dana" not in got:
            raise RuntimeError(f"a wrong answer: status {answer.status}")
    return time.perf_counter() - begin


async def measured(port: int, pid: int, kb: int, n_long: int, seconds: float) -> dict[str, Any]:
    """Times of the short requests, in milliseconds."""
    pages = "".join(sources())
    # A piece of its own begins each text, so that none is known.
    texts = [f"Dana {i}. {(pages[i * RESULT :] + pages * 3)[: kb * 1000]}" for i in range(n_long)]
    connector = aiohttp.TCPConnector(limit=0)
    timeout = aiohttp.ClientTimeout(total=None)
    async with aiohttp.ClientSession(
        f"http://127.0.0.1:{port}", connector=connector, timeout=timeout
    ) as to:
        alone = [1e3 * await ask(to, "Hello Dana.", f"a{i}") for i in range(22)][2:]
        busy, begin = cpu_seconds(pid), time.perf_counter()
        long = [asyncio.create_task(ask(to, text, f"l{i}")) for i, text in enumerate(texts)]
        beside: list[float] = []
        while time.perf_counter() - begin < seconds and not all(each.done() for each in long):
            beside.append(1e3 * await ask(to, "Hello Dana.", f"b{len(beside)}"))
            await asyncio.sleep(0.2)
        took, cores = time.perf_counter() - begin, cpu_seconds(pid) - busy
        ended = [each.result() for each in long if each.done()]
        for each in long:
            each.cancel()
        await asyncio.gather(*long, return_exceptions=True)
        await asyncio.sleep(5.0)
        idle = cpu_seconds(pid)
        await asyncio.sleep(2.0)
        idle = (cpu_seconds(pid) - idle) / 2
    beside.sort()
    return {
        "alone_median_ms": sorted(alone)[len(alone) // 2],
        "beside_median_ms": beside[len(beside) // 2],
        "beside_p95_ms": beside[int(0.95 * len(beside))],
        "beside_longest_ms": beside[-1],
        "n": len(beside),
        "long_ended_s": ended,
        "seconds": took,
        "cores_used": cores / took,
        "cores_used_after_all_left": idle,
    }


def main() -> None:
    """Measure, and write results/fairness.json."""
    line = parser(__doc__, "twenty seconds")
    line.add_argument("--policy", default="balanced")
    line.add_argument("--kb", type=int, default=950, help="of each long text, default 950")
    line.add_argument("--long", type=int, default=10, help="how many, default 10")
    options = line.parse_args()
    with started([sys.executable, "-m", "benchmarks.speed.upstream"], r"^(\d+)$") as (_, upstream):
        url = f"http://127.0.0.1:{upstream}/v1"
        serve = [sys.executable, "-m", "sanitizer", "serve", "--port", "0", "--no-page"]
        serve += ["--upstream", url, "--policy", options.policy]
        with started(serve, r"http://127.0.0.1:(\d+) ") as (pid, port):
            seconds = 20.0 if options.quick else 90.0
            asked = measured(port, pid, options.kb, options.long, seconds)
            found = asyncio.run(asked)
    load = {"load_average": os.getloadavg()[0]}
    asked_for = {"policy": options.policy, "kb": options.kb, "n_long": options.long}
    write("fairness", found | asked_for | load)


if __name__ == "__main__":
    main()
