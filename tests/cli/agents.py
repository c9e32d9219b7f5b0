"""Coding agents as they are, led by a scripted model: what each one's tools are called.

A session is a generator: it yields actions, and is sent what the API saw of each one's result.
"""

from __future__ import annotations

import json
import re
import subprocess
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
        bin: folder of its command, in that of all programs.
        options: of `sanitizer run`.
        is_typed: a person reads files and runs commands: what comes of them is in the next request.
    """

    name: str
    arguments: tuple[str, ...]
    call: Callable[[Action, Path], tuple[str, Json | str]]
    answer: Callable[[int, str, Any], Answer]
    files: tuple[tuple[str, str], ...] = ()
    bin: str = "node/node_modules/.bin"
    options: tuple[str, ...] = ()
    is_typed: bool = False


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
        if self.agent.is_typed and received.method == "POST":
            return self._typed(received)
        if received.method != "POST" or b'"tools"' not in received.body:
            return answer(received.endpoint, received.json if received.body else {}, "A session")
        results = dict(_results(received.json))
        for name in results.keys() - self._ids:
            self._ids.add(name)
            self._go_on(results[name])
        if self._next is None:
            return answer(received.endpoint, received.json, "All done.")
        self._n_calls += 1
        return self.agent.answer(self._n_calls, *self.agent.call(self._next, self.folder))

    def _typed(self, received: Received) -> Answer:
        """Look at what was typed since the last request; answer with the next edit."""
        said = [each["content"] for each in received.json["messages"] if each["role"] == "user"]
        while self._next and self._next.kind in ("read", "shell"):
            if self._next.kind == "read":
                begin = f"\n{self._next.path}\n```\n"
                text = next(each for each in said if begin in each)
                self._go_on(text.partition(begin)[2].partition("```\n")[0])
            else:
                begin = f"I ran this command:\n\n{self._next.new}\n\nAnd got this output:\n\n"
                self._go_on(next(each for each in said if each.startswith(begin))[len(begin) :])
        _, block = self.agent.call(self._next, self.folder) if self._next else ("", "All done.")
        if self._next:
            self._go_on("")
        return answer(received.endpoint, received.json, str(block), size=30)

    def _go_on(self, seen: str) -> None:
        self.seen.append(seen)
        try:
            self._next = self.session.send(_NUMBER.sub("", output(seen)))
        except StopIteration:
            self._next = None


def typed(session: Session, folder: Path) -> str:
    """Return what a person types who does a session's actions in a folder of the same files."""
    action, lines = next(session), []
    while True:
        path, seen = folder / action.path, ""
        if action.kind == "read":
            seen = path.read_text("utf-8")
        elif action.kind == "shell":
            words = ["sh", "-c", action.new]
            done = subprocess.run(words, cwd=folder, capture_output=True, check=True, text=True)
            seen = done.stdout
        else:
            before = path.read_text("utf-8") if action.old else ""
            path.write_text(before.replace(action.old, action.new, 1) or action.new, "utf-8")
        spoken = {"read": f"/add {action.path}", "shell": f"/run {action.new}"}
        lines.append(spoken.get(action.kind, "Go on with the next change."))
        try:
            action = session.send(seen)
        except StopIteration:
            return "\n".join([*lines, "That is all.", ""])


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
    kind = str(request.get("type") or request.get("role"))
    is_result = kind in ("tool", "tool_result") or kind.endswith("_call_output")
    if is_result or "functionResponse" in request:
        found = request.get("content") or request.get("output") or request.get("functionResponse")
        ids = (request.get(key) for key in ("tool_use_id", "tool_call_id", "call_id"))
        yield next(filter(None, ids), path), "\n".join(_texts(found))
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


def _of_chat(number: int, tool: str, arguments: Any) -> Answer:
    function = {"name": tool, "arguments": json.dumps(arguments)}
    call = {"index": 0, "id": f"call_{number}", "type": "function", "function": function}
    deltas = [({"role": "assistant", "tool_calls": [call]}, None), ({}, "tool_calls")]
    whole = {"id": f"c{number}", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    told = [
        event({**whole, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]})
        for delta, reason in deltas
    ]
    return Answer([*told, b"data: [DONE]\n\n"], content_type=EVENTS)


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


def _aider(action: Action, folder: Path) -> tuple[str, str]:
    """Write a block that aider applies to a file."""
    new = action.new.rstrip("\n")
    old = f"{action.old}\n" if action.old else ""
    block = f"<<<<<<< SEARCH\n{old}=======\n{new}\n>>>>>>> REPLACE"
    return "", f"{action.path}\n```\n{block}\n```\n"


def _llm(action: Action, folder: Path) -> tuple[str, Json]:
    return {
        "read": ("read_file", {"path": action.path}),
        "edit": ("edit_file", {"path": action.path, "old": action.old, "new": action.new}),
        "write": ("write_file", {"path": action.path, "text": action.new}),
        "shell": ("run_command", {"command": action.new}),
    }[action.kind]


TOOLS = """
import pathlib
import subprocess

def read_file(path: str) -> str:
    "Return the text of a file."
    return pathlib.Path(path).read_text()

def edit_file(path: str, old: str, new: str) -> str:
    "Replace a text that stands once in a file."
    text = pathlib.Path(path).read_text()
    if text.count(old) != 1:
        return "It does not stand there once."
    pathlib.Path(path).write_text(text.replace(old, new))
    return "Replaced."

def write_file(path: str, text: str) -> str:
    "Write a file."
    pathlib.Path(path).write_text(text)
    return "Written."

def run_command(command: str) -> str:
    "Run a command of the shell and return what it prints."
    return subprocess.run(command, shell=True, capture_output=True, text=True).stdout
"""
AIDER = (
    "--yes-always --no-fancy-input --no-pretty --no-check-update --no-show-release-notes"
    " --no-detect-urls --no-suggest-shell-commands --no-auto-commits --no-dirty-commits"
    " --no-gitignore --edit-format diff --model openai/gpt-4o"
)
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
    Agent("aider", ("aider", *AIDER.split()), _aider, _of_chat, bin="aider/bin", is_typed=True),
    Agent(
        "llm",
        ("llm", "-m", "gpt-4o-mini", "--chain-limit", "0", "--functions", TOOLS),
        _llm,
        _of_chat,
        bin="llm/bin",
        options=("--policy", "code"),
    ),
)
