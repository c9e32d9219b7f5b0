"""The README section of results/tasks.json and results/limits.json."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.common.tables import folded, kept, load, shown, table
from benchmarks.report.usefulness import percent

HALVES = {"open": "open", "held": "held out"}


def rows(results: Mapping[str, Any], halves: list[str]) -> list[list[str]]:
    """Return one row for each tool: right by the script, and by the model, of each half."""
    names = results[halves[0]]["right"]
    return [
        [
            name,
            *(_right(results[half], name) for half in halves),
            *(_by_model(results[half], name) for half in halves),
        ]
        for name in names
    ]


def _right(half: Mapping[str, Any], name: str) -> str:
    return percent(half["right"][name]) if name in half["right"] else "-"


def _by_model(half: Mapping[str, Any], name: str) -> str:
    if "model" not in half or name not in half["model"]["tasks"]:
        return "-"
    found = half["model"]["tasks"][name]
    return f"{sum(found.values()):.0f} of {len(found)}"


def _share(tasks: Mapping[str, float] | None, task: str) -> str:
    return "-" if tasks is None else f"{tasks[task]:g}"


def by_task(results: Mapping[str, Any], halves: list[str]) -> str:
    """Return the share of draws in which each task was done rightly, by tool."""
    names = list(results[halves[0]]["right"])
    body = [
        [
            f"{kind}: {task}",
            HALVES[half],
            *(_share(results[half]["tasks"].get(name), task) for name in names),
        ]
        for half in halves
        for task, kind in results[half]["kinds"].items()
    ]
    return table(["share right", "half", *names], body)


def section() -> str:
    """Return the section for benchmarks/README.md."""
    data = load("tasks")
    results, ran = data["results"], data["circumstances"]
    halves = [half for half in HALVES if half in results]
    counts = ", ".join(f"{results[half]['n_tasks']} {HALVES[half]}" for half in halves)
    header = ["tasks done rightly, %", *(f"{HALVES[half]}" for half in halves)]
    header += [f"by the packaged model, {HALVES[half]}" for half in halves]
    parts = [
        f"## Checked tasks\n\n`{ran['command']}`: tasks whose answer a program checks after it was "
        f"put back ({counts}). A script answers from what was sent, and copies what a capable "
        "model would copy, or writes the formulas that a preset tells an API to write over hidden "
        "values; the packaged model answers the few that it does rightly on the original prompt. "
        "Peers' findings are numbered and put back for them. A tool that hides nothing "
        "does all tasks: read beside the table of what is hidden, above. In brackets 95 % "
        "bootstrap intervals over tasks.",
        table(header, rows(results, halves)),
        folded(by_task(results, halves)),
    ]
    if kept("limits"):
        parts.append(limits())
    if results["not_run"]:
        parts.append(f"Not measured: {', '.join(results['not_run'])}.")
    return "\n\n".join(parts)


def limits() -> str:
    """Return what the table costs, and what the cap on draws saves."""
    data = load("limits")
    results = data["results"]
    sizes = list(results["memory"])
    body = [
        [where, *(shown(results[where][size], " ms") for size in sizes)]
        for where in ("memory", "file")
    ]
    share = "; ".join(f"{policy} {percent(found)} %" for policy, found in results["table"].items())
    cap = "; ".join(
        f"{name}: epsilon {shown(found['epsilon'])} a prompt, at most {found['most']:g}, spans "
        f"hidden {percent(found['hidden'])} %"
        for name, found in results["cap"].items()
    )
    return (
        f"`{data['circumstances']['command']}`. The table of a conversation, of the time of "
        f"`sanitize` for {results['words']} words, its draws included: {share}. The cap on draws, "
        f"{results['n_prompts']} prompts under balanced: {cap}. One message with a new and a known "
        f"identifier, when the conversation holds so many:\n\n"
        + table(["vault", *(f"{int(size):,} things" for size in sizes)], body)
    )
