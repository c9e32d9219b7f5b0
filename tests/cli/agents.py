"""Coding agents as they are, led by a scripted model: what each one's tools are called.

A session is a generator: it yields actions, and is sent what the API saw of each one's result.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from sanitizer.testing.other_apis import events, message_events
from sanitizer.testing.server import EVENTS, Answer, Json, Received, answer, event

_NUMBER = re.compile(r"(?m)^ *[0-9]+(?:→|\t|: |\| )")


class Action(NamedTuple):
    """What a model has an agent do: "read", "edit" (old, new), "write" or "shell"."""

    kind: str
    path: str = ""
    old: str = ""
    new: str = ""


Session = Generator[Action, str, None]


@dataclass(frozen=True)
class Agent:
    """A program.

    Attributes:
        name, arguments: of its command, without the task.
        call: (action, folder) -> name of a tool and its arguments, or the text of a script.
        answer: (number of the call, tool, arguments) -> the answer that calls the tool.
        files: what it needs in its home.
    """

    name: str
    arguments: tuple[str, ...]
    call: Callable[[Action, Path], tuple[str, Json | str]]
    answer: Callable[[int, str, Any], Answer]
    files: tuple[tuple[str, str], ...] = ()


@dataclass
class Script:
    """A responder that plays a session.

    Attributes:
        seen: what the API saw of each action's result.
    """

    agent: Agent
    session: Session
    folder: Path

    def __post_init__(self) -> None:
        self.seen: list[str] = []
        self._ids: set[str] = set()
        self._n_calls = 0
        self._next: Action | None = next(self.session)

    def __call__(self, received: Received) -> Answer:
        if received.method != "POST" or b'"tools"' not in received.body:
            return answer(received.endpoint, received.json if received.body else {}, "A session")
        results = dict(_results(received.json))
        for name in results.keys() - self._ids:
            self._ids.add(name)
            self.seen.append(results[name])
            try:
                self._next = self.session.send(_NUMBER.sub("", output(results[name])))
            except StopIteration:
                self._next = None
        if self._next is None:
            return answer(received.endpoint, received.json, "All done.")
        self._n_calls += 1
        return self.agent.answer(self._n_calls, *self.agent.call(self._next, self.folder))


def output(seen: str) -> str:
    """Return what a command printed: codex's scripts hand it over in JSON."""
    _, is_script, document = seen.partition("Output:\n\n{")
    return str(json.loads("{" + document).get("output")) if is_script else seen


def _results(request: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield id (or place, if it has none) and text of the results of tools in a request."""
    if isinstance(request, list):
        for number, each in enumerate(request):
            yield from _results(each, f"{path}/{number}")
        return
    if not isinstance(request, dict):
        return
    kind = str(request.get("type"))
    if kind == "tool_result" or kind.endswith("_call_output") or "functionResponse" in request:
        found = request.get("content") or request.get("output") or request.get("functionResponse")
        yield request.get("tool_use_id") or request.get("call_id") or path, "\n".join(_texts(found))
        return
    for key in ("messages", "input", "contents", "content", "parts"):
        yield from _results(request.get(key), f"{path}/{key}")


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)
    elif isinstance(value, dict):
        for key in ("text", "content", "response", "output", "error"):
            yield from _texts(value.get(key))


# ---- what each one's tools and answers are ----


def _of_messages(number: int, tool: str, arguments: Any) -> Answer:
    block = {"type": "tool_use", "id": f"toolu_{number}", "name": tool, "input": arguments}
    own = f"msg_{number}".encode()  # by which parts of one message are known
    told = [each.replace(b"msg_1", own) for each in message_events([block])]
    return Answer(told, content_type=EVENTS)


def _of_gemini(number: int, tool: str, arguments: Any) -> Answer:
    part = {"functionCall": {"id": f"call_{number}", "name": tool, "args": arguments}}
    return Answer(events([part]), content_type=EVENTS)


def _of_responses(number: int, tool: str, script: Any) -> Answer:
    item = {"type": "custom_tool_call", "id": f"ctc_{number}", "call_id": f"call_{number}"}
    item |= {"name": tool, "input": script, "status": "completed"}
    response: Json = {"id": "resp_1", "object": "response", "status": "in_progress", "output": []}
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    done = response | {"status": "completed", "output": [item], "usage": usage}
    begun = item | {"input": "", "status": "in_progress"}
    told: list[Json] = [
        {"type": "response.created", "response": response},
        {"type": "response.output_item.added", "output_index": 0, "item": begun},
        {
            "type": "response.custom_tool_call_input.delta",
            "output_index": 0,
            "item_id": item["id"],
            "delta": script,
        },
        {
            "type": "response.custom_tool_call_input.done",
            "output_index": 0,
            "item_id": item["id"],
            "input": script,
        },
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": done},
    ]
    body = b"".join(
        event({**each, "sequence_number": n}, each["type"]) for n, each in enumerate(told)
    )
    return Answer(body, content_type=EVENTS)


def _claude(action: Action, folder: Path) -> tuple[str, Json]:
    path = {"file_path": str(folder / action.path)}
    return {
        "read": ("Read", path),
        "edit": ("Edit", {**path, "old_string": action.old, "new_string": action.new}),
        "write": ("Write", {**path, "content": action.new}),
        "shell": ("Bash", {"command": action.new}),
    }[action.kind]


def _opencode(action: Action, folder: Path) -> tuple[str, Json]:
    path = {"filePath": str(folder / action.path)}
    return {
        "read": ("read", path),
        "edit": ("edit", {**path, "oldString": action.old, "newString": action.new}),
        "write": ("write", {**path, "content": action.new}),
        "shell": ("bash", {"command": action.new, "description": "Look"}),
    }[action.kind]


def _gemini(action: Action, folder: Path) -> tuple[str, Json]:
    path = {"file_path": str(folder / action.path)}
    edit = {**path, "old_string": action.old, "new_string": action.new, "instruction": "As asked"}
    return {
        "read": ("read_file", path),
        "edit": ("replace", edit),
        "write": ("write_file", {**path, "content": action.new}),
        "shell": ("run_shell_command", {"command": action.new}),
    }[action.kind]


def _codex(action: Action, folder: Path) -> tuple[str, str]:
    """Write a script: it runs commands, and applies patches that copy what the API saw."""
    command = {"read": f"cat {action.path}", "shell": action.new}.get(action.kind)
    if command is not None:
        return "exec", f"text(await tools.exec_command({json.dumps({'cmd': command})}))"
    old = "".join(f"-{line}\n" for line in action.old.split("\n")) if action.old else ""
    new = "".join(f"+{line}\n" for line in action.new.rstrip("\n").split("\n"))
    head = f"*** {'Update' if old else 'Add'} File: {action.path}\n" + ("@@\n" if old else "")
    patch = f"*** Begin Patch\n{head}{old}{new}*** End Patch"
    return "exec", f"text(await tools.apply_patch({json.dumps(patch, ensure_ascii=False)}))"


AGENTS = (
    Agent(
        "claude",
        ("claude", "--allowedTools", "Bash,Read,Edit,Write", "-p"),
        _claude,
        _of_messages,
    ),
    Agent(
        "codex",
        ("codex", "exec", "--skip-git-repo-check", "-s", "danger-full-access"),
        _codex,
        _of_responses,
    ),
    Agent(
        "gemini",
        ("gemini", "-y", "-p"),
        _gemini,
        _of_gemini,
        ((".gemini/settings.json", '{"security": {"auth": {"selectedType": "gemini-api-key"}}}'),),
    ),
    Agent(
        "opencode",
        ("opencode", "run", "-m", "anthropic/claude-sonnet-4-5"),
        _opencode,
        _of_messages,
    ),
)
