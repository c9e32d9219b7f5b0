"""Markdown tables and figures with their intervals, and the result files they come from."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.common.machine import RESULTS, output_folder

MANY = 1000  # from here on `shown` writes no digits after the point
FOLDED = 12  # rows; longer tables of details are folded


def load(name: str) -> dict[str, Any]:
    """One result file; that of a trial run where there is one."""
    path = output_folder() / f"{name}.json"
    found: dict[str, Any] = json.loads(
        (path if path.exists() else RESULTS / path.name).read_text("utf-8")
    )
    return found


def kept(name: str) -> bool:
    """Whether there is such a result."""
    return any((folder / f"{name}.json").exists() for folder in (output_folder(), RESULTS))


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def folded(text: str) -> str:
    """A table that opens on demand; a short one, or what is no table, as it is."""
    n = text.count("\n") - 1
    return text if n <= FOLDED else f"<details><summary>{n} rows</summary>\n\n{text}\n\n</details>"


def shown(found: Mapping[str, float], unit: str = "") -> str:
    """A figure with its interval, three digits."""
    mean, low, high = (
        f"{v:,.0f}" if v >= MANY else f"{v:.3g}"
        for v in (found["mean"], found["low"], found["high"])
    )
    return f"{mean}{unit} ({low} to {high})"


def figure(found: Mapping[str, float]) -> str:
    """A mean with its interval."""
    form = "{:.0f}" if abs(found["mean"]) >= 10 else "{:.3f}"
    return (form + " (" + form + " to " + form + ")").format(
        found["mean"], found["low"], found["high"]
    )
