"""Markdown tables and figures with their intervals, and the result files they come from."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.machine import RESULTS, output_folder


def load(name: str) -> dict[str, Any]:
    """One result file; that of a trial run where there is one."""
    path = output_folder() / f"{name}.json"
    found: dict[str, Any] = json.loads((path if path.exists() else RESULTS / path.name).read_text("utf-8"))
    return found


def kept(name: str) -> bool:
    """Whether there is such a result."""
    return any((folder / f"{name}.json").exists() for folder in (output_folder(), RESULTS))


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def figure(found: Mapping[str, float]) -> str:
    """A mean with its interval."""
    form = "{:.0f}" if abs(found["mean"]) >= 10 else "{:.3f}"
    return f"{form.format(found['mean'])} ({form.format(found['low'])} to {form.format(found['high'])})"
