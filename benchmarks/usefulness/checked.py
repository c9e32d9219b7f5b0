"""Share of tasks done rightly after restoring, by preset and beside the peers.

    python -m benchmarks.usefulness.checked [--peer NAME=PYTHON]... [--open] [--quick]

Each task is a prompt whose answer a program can check (`benchmarks/usefulness/tasks.py`). What a
tool lets out is answered, the answer is put back by the tool, and the check reads the result. All
tasks are answered by a script that copies what a capable model copies from what it was SENT; it
never sees the original. Presets draw anew in each of DRAWS conversations.
Where a preset tells an API how to write formulas over hidden values, the script writes them, as a
model does that was told (`sanitizer.answers.formulas`); "without formulas" is not told.

Peers only find things. So that they can be compared, what they find is replaced by numbered
placeholders ("<PERSON_1>", the same for the same characters) and put back: kinder than what they
do by themselves.

"original" sends the prompt as it is. The open half may be read while anything is built; the held
one is for figures only. --open leaves it out; --quick: open half, presets, one draw.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from benchmarks.common.intervals import interval, means
from benchmarks.common.machine import parser, say, write
from benchmarks.common.processes import Worker
from benchmarks.usefulness.run import PEERS, VARIANTS, started
from benchmarks.usefulness.tasks import NotAnswered, Task, tasks
from sanitizer import PolicyError, Sanitizer
from sanitizer.testing import SeededSource

TASKS = {half: tasks(half) for half in ("open", "held")}
PRESETS = ("identifiers", "deidentify", "balanced", "words", "strict")
DRAWS = 5
SEED = 31_337
Spans = Sequence[tuple[int, int, str, float]]


@dataclass(frozen=True)
class Sent:
    """What left for one task, and the way back.

    Attributes:
        text: what left; it may be shown. restore: an answer -> what the user reads.
        formulas: the answerer was told how to write formulas over hidden values.
    """

    text: str
    restore: Callable[[str], str] = field(repr=False)
    formulas: bool = False


Sender = Callable[[str, int], Sent | None]
"""Function (prompt, number of the draw) -> what left; None if the prompt was refused."""


def original(prompt: str, draw: int) -> Sent:
    """Send a prompt as it is."""
    return Sent(prompt, str)


class Preset:
    """One preset; each task and draw is a conversation of its own.

    Args:
        sanitizer: under whose settings prompts leave.
    """

    def __init__(self, sanitizer: Sanitizer) -> None:
        self._first = sanitizer

    def __call__(self, prompt: str, draw: int) -> Sent | None:
        """Return what left."""
        sanitizer = self._first.derive(conversation=f"{draw} {prompt}")
        try:
            result = sanitizer.sanitize(prompt, source=SeededSource(SEED + draw))
        except PolicyError:
            return None
        told = bool(sanitizer.instruction)
        return Sent(result.text, lambda answer: str(sanitizer.restore(answer, result)), told)


class Numbered:
    """A peer, with numbered placeholders for what it finds.

    Args:
        find: text -> spans that it finds. kept: types of spans to keep; None keeps all.
    """

    def __init__(self, find: Callable[[str], Spans], kept: frozenset[str] | None = None) -> None:
        self._find, self._kept = find, kept

    def __call__(self, prompt: str, draw: int) -> Sent:
        """Return what left."""
        values: dict[tuple[str, str], str] = {}
        parts, at = [], 0
        spans = [span for span in self._find(prompt) if self._kept is None or span[2] in self._kept]
        for start, end, label, _ in sorted(spans, key=lambda span: (span[0], -span[1])):
            if start < at:
                continue  # overlaps one that was replaced
            key = (label, prompt[start:end])
            number = 1 + sum(kind == label for kind, _ in values)
            parts += [prompt[at:start], values.setdefault(key, f"<{label}_{number}>")]
            at = end
        return Sent("".join([*parts, prompt[at:]]), partial(_put_back, values))


def _put_back(values: Mapping[tuple[str, str], str], answer: str) -> str:
    for (_, written), value in values.items():
        answer = answer.replace(value, written)
    return answer


def found_by(worker: Worker) -> Callable[[str], Spans]:
    """Return what a peer finds in a text."""

    def find(text: str) -> Spans:
        spans: Spans = worker.ask({"do": "find", "texts": [text]})["spans"][0]
        return spans

    return find


def done(task: Task, sent: Sent | None, answer: Callable[[str], str]) -> bool:
    """Return True if the task was done rightly from what was sent."""
    if sent is None:
        return False
    ways = [answer, task.formula if sent.formulas else None]
    for way in filter(None, ways):
        with suppress(NotAnswered):
            return task.right(sent.restore(way(sent.text)))
    return False


def shares(
    tasks: Sequence[Task], senders: Mapping[str, tuple[Sender, int]]
) -> dict[str, dict[str, float]]:
    """Return sender -> task -> share of its draws in which a script did the task rightly."""
    found: dict[str, dict[str, float]] = {}
    for name, (sender, draws) in senders.items():
        found[name] = {
            task.name: sum(done(task, sender(task.prompt, n), task.answer) for n in range(draws))
            / draws
            for task in tasks
        }
        say(f"{name}: {sum(found[name].values()) / len(tasks):.3f}")
    return found


def summary(found: Mapping[str, Mapping[str, float]]) -> dict[str, Any]:
    """Return the mean share of each sender with its interval over tasks; None without tasks."""
    return {
        name: interval(means(list(rows.values()))) if rows else None for name, rows in found.items()
    }


def measured(halves: Sequence[str], senders: Mapping[str, tuple[Sender, int]]) -> dict[str, Any]:
    """Return the results of some halves."""
    results: dict[str, Any] = {}
    for half in halves:
        say(f"{half} tasks")
        tasks = TASKS[half]
        scripted = shares(tasks, {**senders, **without_formulas()})
        results[half] = {
            "n_tasks": len(tasks),
            "kinds": {task.name: task.kind for task in tasks},
            "right": summary(scripted),
            "tasks": scripted,
        }
    return results


def without_formulas() -> dict[str, tuple[Sender, int]]:
    """Return the presets under which amounts and dates are hidden, without formulas over them."""
    policies: dict[str, dict[str, Any]] = {
        f"{name}, without formulas": {"base": name, "wire": {"formulas": False}}
        for name in ("deidentify", "balanced")
    }
    return {name: (Preset(Sanitizer(policy=policy)), 1) for name, policy in policies.items()}


def senders_of(workers: Mapping[str, Worker], draws: int = DRAWS) -> dict[str, tuple[Sender, int]]:
    """Return name -> sender, and in how many draws it is tried."""
    found: dict[str, tuple[Sender, int]] = {"original": (original, 1)}
    for name in PRESETS:
        drawn = draws if name in ("words", "strict") else 1
        found[name] = (Preset(Sanitizer(policy=name)), drawn)
    for name, worker in workers.items():
        for label, kept in VARIANTS[name].items():
            kinds = None if kept is None else frozenset(kept)
            found[label] = (Numbered(found_by(worker), kinds), 1)
    return found


def main() -> int:
    """Measure, print, and write results/tasks.json."""
    line = parser(__doc__, "open half, one draw")
    line.add_argument("--peer", action="append", default=[], metavar="NAME=PYTHON")
    line.add_argument("--open", action="store_true", help="without the held-out tasks")
    options = line.parse_args()
    if bad := [peer for peer in options.peer if peer.partition("=")[0] not in PEERS]:
        line.error(f"argument --peer: must be NAME=PYTHON of {', '.join(PEERS)}, got {bad[0]!r}")
    workers = started(dict(peer.split("=", 1) for peer in options.peer))
    halves = ["open"] if options.open or options.quick else list(TASKS)
    results = measured(halves, senders_of(workers, 1 if options.quick else DRAWS))
    results["versions"] = {name: worker.versions for name, worker in workers.items()}
    results["not_run"] = sorted(set(PEERS) - set(workers))
    for worker in workers.values():
        worker.close()
    write("tasks", results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
