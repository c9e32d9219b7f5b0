"""What a long session of a coding agent costs: the first request, each turn, a cold history.

    python -m benchmarks.speed.session [--quick] [--policy NAME]

A session is Anthropic's Messages with prompts and tools of 77 KB; each turn adds a result of a tool
of about 8 KB (sources and pages of this repository, so other text than that of a person), a short
answer and a call. Turns are filtered as the proxy filters them, answers restored and sent back.
Times are processor time of all threads, since the machine may be shared; wall time stands beside
it. Writes results/session.json.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.common.machine import RESULTS, parser, write
from benchmarks.common.texts import LONG
from sanitizer import Sanitizer
from sanitizer.wire.filter import Filter

ROOT = RESULTS.parents[1]
JSON = {"content-type": "application/json"}
PROMPTS, TOOLS, RESULT = 33_000, 44_000, 10_000
"""Characters of the system prompt, of the descriptions of tools, and of each result of a tool."""
N_TURNS, N_TOOLS = 50, 22


def sources() -> Iterator[str]:
    """Texts of this repository, in stretches of RESULT characters: pages, then code."""
    pages = sorted(ROOT.glob("docs/*.md"))
    code = sorted(ROOT.glob("sanitizer/pipeline/*.py")) + sorted(ROOT.glob("sanitizer/wire/*.py"))
    for path in [*code, *pages]:
        text = path.read_text("utf-8")
        yield from (text[i : i + RESULT] for i in range(0, len(text), RESULT))


def tools(text: str) -> list[dict[str, Any]]:
    """Tools whose descriptions are stretches of a text."""
    size = TOOLS // N_TOOLS
    fields = {f"field_{i}": {"type": "string", "description": f"Field {i}."} for i in range(4)}
    return [
        {
            "name": f"tool_{i}",
            "description": text[i * size : (i + 1) * size],
            "input_schema": {"type": "object", "properties": fields},
        }
        for i in range(N_TOOLS)
    ]


def first_request() -> dict[str, Any]:
    """The first request of a session: prompts, tools and a person's question."""
    page = Path(ROOT / "docs" / "recipes.md").read_text("utf-8")
    guide = Path(ROOT / "docs" / "guarantees.md").read_text("utf-8") * 2
    return {
        "model": "m",
        "max_tokens": 1000,
        "system": [{"type": "text", "text": guide[:PROMPTS]}],
        "tools": tools((page * 3)[: TOOLS + 1]),
        "messages": [{"role": "user", "content": f"{LONG} Where is that kept?"}],
    }


def chat_history(kb: int) -> list[dict[str, Any]]:
    """Messages of OpenAI's chat of so many KB in all: prompts, then results of tools."""
    guide = Path(ROOT / "docs" / "guarantees.md").read_text("utf-8") * 2
    found: list[dict[str, Any]] = [
        {"role": "system", "content": guide[:PROMPTS]},
        {"role": "user", "content": f"{LONG} Where is that kept?"},
    ]
    for i, text in enumerate(list(sources()) * 5):
        size = kb * 1000 - len(json.dumps(found))
        if size <= 0:
            break
        function = {"name": "tool_1", "arguments": json.dumps({"field_0": f"f{i}"})}
        call = {"id": f"call_{i}", "type": "function", "function": function}
        asked = f"I looked at part {i}, and now I read the next one."
        found += [
            {"role": "assistant", "content": asked, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"call_{i}", "content": text[:size]},
        ]
    return found


def said(i: int) -> dict[str, Any]:
    """What the API answers at a turn."""
    call = {"type": "tool_use", "id": f"toolu_{i}", "name": "tool_1", "input": {"field_0": f"f{i}"}}
    text = {"type": "text", "text": f"I looked at part {i}, and now I read the next one."}
    return {"id": f"m{i}", "type": "message", "role": "assistant", "content": [text, call]}


def timed(filter_: Filter, document: dict[str, Any]) -> tuple[dict[str, float], bytes, Any]:
    """Times of one request, in seconds; its body as it leaves, and the exchange."""
    body = json.dumps(document).encode()
    wall, busy = time.perf_counter(), time.process_time()
    exchange = filter_.request("POST", "/v1/messages", JSON, body)
    times = {"wall_s": time.perf_counter() - wall, "cpu_s": time.process_time() - busy}
    return times | {"kb": len(body) / 1000}, exchange.body, exchange


def session(policy: str, n_turns: int) -> dict[str, Any]:
    """Times of each turn of a session, and of its last request in a new one."""
    sanitizer = Sanitizer(policy=policy, conversation="session")
    sanitizer.load()
    filter_ = Filter(sanitizer)
    document, texts = first_request(), iter(list(sources()) * 5)
    turns: list[dict[str, Any]] = []
    before = b""
    for i in range(n_turns):
        times, body, exchange = timed(filter_, document)
        # All but what ends the document: the last message and what comes behind messages.
        kept = before.rpartition(b']}],"')[0] or before.rpartition(b"]")[0]
        new = times["kb"] - (turns[-1]["kb"] if turns else 0.0)
        turns.append(times | {"new_kb": new, "prefix_holds": body.startswith(kept)})
        before = body
        answer = json.dumps(said(i)).encode()
        seen = json.loads(exchange.response(200, "application/json", answer))
        result = {"type": "tool_result", "tool_use_id": f"toolu_{i}", "content": next(texts)}
        document["messages"] += [
            {"role": "assistant", "content": seen["content"]},
            {"role": "user", "content": [result]},
        ]
    again, _, _ = timed(filter_, {**document, "messages": document["messages"][:-2]})
    cold, _, _ = timed(Filter(sanitizer.derive(conversation="other")), document)
    return {"turns": turns, "same_again": again, "cold": cold}


def main() -> None:
    """Measure, and write results/session.json."""
    line = parser(__doc__, "ten turns")
    line.add_argument("--policy", default="balanced")
    options = line.parse_args()
    found = session(options.policy, 10 if options.quick else N_TURNS)
    turns = found["turns"]
    for i in sorted({0, 1, len(turns) // 2, len(turns) - 1}):
        print(f"turn {i + 1}: {turns[i]}")
    last = turns[-5:]
    per_kb = 0.09
    found["added_ms_beside_90_per_kb"] = [1e3 * (t["cpu_s"] - per_kb * t["new_kb"]) for t in last]
    found["prefix_holds"] = all(turn["prefix_holds"] for turn in turns)
    print(
        {k: v for k, v in found.items() if k != "turns"}, f"load {os.getloadavg()[0]:.1f}", sep="\n"
    )
    write("session", found | {"policy": options.policy, "load_average": os.getloadavg()[0]})


if __name__ == "__main__":
    main()
