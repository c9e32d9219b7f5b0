# ruff: noqa: ANN401, T201 - printing is what it is for
"""Show what an API sees of prompts: OpenAI's SDK through `shield` and through the proxy.

    pip install ".[openai,proxy]" && python -m examples.what_the_server_sees

The API is a server on this machine, so it needs no network and no account. Exit status 1: an
identifier, or a whole text, arrived at the server; 2: an extra is not installed.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from sanitizer import Sanitizer, shield
from sanitizer.cli.api import check_libraries
from sanitizer.testing import Answer, Received, RecordingServer, calls, echo

try:
    from openai import OpenAI

    check_libraries()
except (ImportError, ValueError):
    print('two extras are missing: pip install ".[openai,proxy]"', file=sys.stderr)
    sys.exit(2)

MAIL, ACCOUNT = "peter.lund@example.com", "DE89 3704 0044 0532 0130 00"
PROMPT = f"My father Peter has hepatitis and lives in Leeds. Write to {MAIL}."
QUESTION, RESULT = (
    f"What did {MAIL} order?",
    f"Two orders of insulin, paid from {ACCOUNT}.",
)
RECORD = ("epsilon-per-unit", "n-units", "epsilon-total", "charged", "n-identifiers")
TOOLS: list[Any] = [
    {"type": "function", "function": {"name": "find_orders", "parameters": {"type": "object"}}}
]


def respond(received: Received) -> Answer:
    """Answer in place of the API: call a tool once if there is one, or repeat the last text."""
    asked = "tools" in received.json and received.json["messages"][-1]["role"] == "user"
    return calls("find_orders")(received) if asked else echo(received)


@contextmanager
def proxy(upstream: str) -> Iterator[str]:
    """Run `sanitizer serve` as a process of its own; give its base URL."""
    command = [sys.executable, "-m", "sanitizer", "serve", "--upstream", upstream, "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            first = process.stderr.readline() if process.stderr else ""
            if "http://" not in first:
                raise SystemExit(first)
            yield first.split()[1] + "/v1"  # "sanitizer: http://127.0.0.1:PORT -> ..."
        finally:
            process.terminate()


def ask(client: OpenAI, messages: list[Any], **more: Any) -> Any:
    """Ask for a completion together with the headers of the answer, in which the record travels."""
    return client.chat.completions.with_raw_response.create(model="test", messages=messages, **more)


def show(
    title: str, sent: str, server: RecordingServer, got: str, record: Mapping[str, str]
) -> None:
    """Print what was sent, what arrived, what came back, and the record."""
    seen = server.requests[-1].json["messages"][-1]["content"]
    each, words, total, charged, identifiers = (record[f"sanitizer-{name}"] for name in RECORD)
    drawn = f"{words} drawn by chance at epsilon {each}" if int(words) else "nothing drawn anew"
    cost = f"{drawn}; {charged} charged, {total} in all"
    lines = {
        "sent": sent,
        "server saw": seen,
        "got back": got,
        "record": f"{cost}; in the vault: {identifiers}",
    }
    print(f"\n{title}", *(f"  {name:12}{value}" for name, value in lines.items()), sep="\n")


def chat(client: OpenAI, server: RecordingServer) -> None:
    """Ask a question and show the answer; then the same, streamed."""
    raw = ask(client, [{"role": "user", "content": PROMPT}])
    show("Chat", PROMPT, server, raw.parse().choices[0].message.content, raw.headers)
    raw = ask(client, [{"role": "user", "content": PROMPT}], stream=True)
    pieces = [chunk.choices[0].delta.content or "" for chunk in raw.parse()]
    show(
        f"The same again, streamed in {len(pieces)} pieces",
        PROMPT,
        server,
        "".join(pieces),
        raw.headers,
    )


def tool_call(client: OpenAI, server: RecordingServer) -> None:
    """Let the API call a tool, which reads originals; send its result back."""
    messages: list[Any] = [{"role": "user", "content": QUESTION}]
    raw = ask(client, messages, tools=TOOLS)
    message = raw.parse().choices[0].message
    (call,) = message.tool_calls
    show("Tool call", QUESTION, server, f"a call with {call.function.arguments}", raw.headers)
    messages += [message, {"role": "tool", "tool_call_id": call.id, "content": RESULT}]
    raw = ask(client, messages, tools=TOOLS)
    show("Tool result", RESULT, server, raw.parse().choices[0].message.content, raw.headers)


def main() -> int:
    """Run all calls both ways; return 1 if the server received an identifier or a whole prompt."""
    with RecordingServer(respond) as server, proxy(server.url) as url:
        shielded = shield(OpenAI(base_url=server.url, api_key="test"), Sanitizer())
        for name, client in (
            ("shield", shielded),
            ("the proxy", OpenAI(base_url=url, api_key="test")),
        ):
            print(f"\n==== Through {name}")
            chat(client, server)
            tool_call(client, server)
        arrived = [
            text
            for text in (MAIL, ACCOUNT, PROMPT, QUESTION, RESULT)
            if text.encode() in server.received
        ]
    print(f"\nPrivate strings in the {len(server.received)} bytes that arrived: {len(arrived)}")
    return int(bool(arrived))


if __name__ == "__main__":
    sys.exit(main())
