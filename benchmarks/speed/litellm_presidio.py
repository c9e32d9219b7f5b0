"""What LiteLLM's proxy with its Presidio guardrail adds to a coding agent's turns, beside ours.

    python -m benchmarks.speed.litellm_presidio --litellm PYTHON --presidio PYTHON [--quick]

The session of `benchmarks.speed.session` goes to an API on this machine, directly and through each
proxy, ours under `code`. Results of tools name an owner's address, and the API's answer repeats the
first and the newest as it got them: were they hidden, did they come back? LiteLLM keeps nothing
between requests and gets each tenth turn only. In its favour Presidio is one process with spaCy's
small model and `FEW` kinds, and no anonymizer runs: LiteLLM does not use its answer. Writes
results/session_peers.json.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import secrets
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.common.machine import parser, say, write
from benchmarks.common.processes import Worker, tool_of
from benchmarks.peers.tools import FEW
from benchmarks.speed.load import started
from benchmarks.speed.proxy import SERVE
from benchmarks.speed.session import first_request, said, sources
from sanitizer.testing.server import Answer, Received, RecordingServer, answer

EVERY, PORT, POLICY = 10, "18081", "code"
KEY = f"sk-{secrets.token_hex(32)}"
HEADERS = {"content-type": "application/json", "authorization": f"Bearer {KEY}", "x-api-key": KEY}
HEADERS |= {"anthropic-version": "2023-06-01", "sanitizer-conversation": "session"}


def api(received: Received) -> Answer:
    """Repeat the first and the newest owner."""
    owners = re.findall(r"Ask (\S+) about", received.body.decode()) or ["nobody"]
    return answer(received.endpoint, received.json, f"I asked {owners[0]} and {owners[-1]}.")


def presidio(worker: Worker, received: Received) -> Answer:
    """Answer as the analyzer; say nothing as the anonymizer."""
    if received.target == "/anonymize":
        return Answer(b'{"text": "", "items": []}')
    (spans,) = worker.ask({"do": "find", "texts": [received.json["text"]]})["spans"]
    names = ("start", "end", "entity_type", "score")
    return Answer(json.dumps([dict(zip(names, span, strict=True)) for span in spans]).encode())


def settings(upstream: str, service: str) -> dict[str, Any]:
    """Return LiteLLM's configuration: answers are put back, and not searched themselves."""
    model = {"model": "anthropic/m", "api_base": upstream, "api_key": "unused"}
    guard = {"guardrail": "presidio", "mode": "pre_call", "default_on": True}
    guard |= {"output_parse_pii": True, "presidio_filter_scope": "input"}
    guard |= {f"presidio_{part}_api_base": service for part in ("analyzer", "anonymizer")}
    guard |= {"pii_entities_config": dict.fromkeys(FEW, "MASK")}
    guards = [{"guardrail_name": "presidio", "litellm_params": guard}]
    return {"model_list": [{"model_name": "m", "litellm_params": model}], "guardrails": guards}


def turn(host: str, document: Any, owners: list[str], upstream: RecordingServer) -> dict[str, Any]:
    """Send one request; return its seconds, and how many owners were hidden and came back."""
    connection, body = http.client.HTTPConnection(host, timeout=300), json.dumps(document).encode()
    begin = time.perf_counter()
    connection.request("POST", "/v1/messages", body, HEADERS)
    response = connection.getresponse()
    data, seconds = response.read().decode(), time.perf_counter() - begin
    if response.status != 200:
        raise RuntimeError(f"status {response.status}: {data[:300]}")
    sent, ends = upstream.requests[-1].body.decode(), dict.fromkeys(owners[:1] + owners[-1:])
    upstream.forget()
    hidden, back = sum(each not in sent for each in ends), sum(each in data for each in ends)
    return {"seconds": seconds, "owners": len(ends), "hidden": hidden, "back": back}


def session(hosts: dict[str, str], upstream: RecordingServer, most: int) -> list[dict[str, Any]]:
    """Return the turns up to `most` kilobytes: what each way took, and added to the direct one."""
    document, texts = first_request(), iter(list(sources()) * 5)
    rows: list[dict[str, Any]] = []
    owners: list[str] = []
    for host in hosts.values():  # what is loaded at the first request
        turn(host, document | {"tools": [], "system": []}, [], upstream)
    while not rows or rows[-1]["kb"] < most:
        row: dict[str, Any] = {"kb": len(json.dumps(document)) / 1000}
        for way, host in hosts.items():
            if way != "litellm" or row["kb"] >= most or len(rows) % EVERY == 0:
                row[way] = turn(host, document, owners, upstream)
                row[way]["added_ms"] = 1e3 * (row[way]["seconds"] - row["direct"]["seconds"])
        say(json.dumps(row))
        rows.append(row)
        owners.append(f"owner{len(rows)}@example.com")
        content = f"Ask {owners[-1]} about this.\n{next(texts)}"
        result = {"type": "tool_result", "tool_use_id": f"toolu_{len(rows)}", "content": content}
        document["messages"] += [
            {"role": "assistant", "content": said(len(rows))["content"]},
            {"role": "user", "content": [result]},
        ]
    return rows


def main() -> None:
    """Measure, write results/session_peers.json."""
    line = parser(__doc__, "until 150 KB")
    line.add_argument("--litellm", required=True, help="interpreter with litellm[proxy]")
    line.add_argument("--presidio", required=True, help="interpreter with presidio-analyzer")
    options = line.parse_args()
    worker = tool_of("presidio, few kinds", options.presidio)
    (metadata,) = Path(options.litellm).parents[1].glob("lib/*/site-packages/litellm-*.dist-info")
    with contextlib.ExitStack() as stack:
        upstream = stack.enter_context(RecordingServer(api))
        service = stack.enter_context(RecordingServer(lambda asked: presidio(worker, asked)))
        config = Path(stack.enter_context(tempfile.TemporaryDirectory()), "config.yaml")
        config.write_text(json.dumps(settings(*(f"http://{s.host}" for s in (upstream, service)))))
        litellm = [options.litellm, str(Path(options.litellm).with_name("litellm"))]
        litellm += ["--config", str(config), "--host", "127.0.0.1", "--port", PORT]
        ours = [*SERVE, "--policy", POLICY, "--upstream", upstream.url]
        environment = {"LITELLM_MASTER_KEY": KEY, "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
        hosts = {"direct": upstream.host}
        for way, command in (("ours", ours), ("litellm", litellm)):
            running = started(command, r"http://127.0.0.1:(\d+)", **environment)
            hosts[way] = f"127.0.0.1:{stack.enter_context(running)[1]}"
        rows = session(hosts, upstream, 150 if options.quick else 500)
    worker.close()
    versions = worker.versions | {"litellm": metadata.stem.removeprefix("litellm-")}
    write("session_peers", {"policy": POLICY, "versions": versions, "turns": rows})


if __name__ == "__main__":
    main()
