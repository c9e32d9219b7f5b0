"""Result files, and how their figures are written."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.common.machine import RESULTS, output_folder

MANY = 1000
"""From here on figures of three digits have none after the point."""


def load(name: str) -> dict[str, Any]:
    """Return one result file; that of a trial run where there is one."""
    path = output_folder() / f"{name}.json"
    path = path if path.exists() else RESULTS / path.name
    return _read(path, path.stat().st_mtime_ns)


@cache
def _read(path: Path, changed: int) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return found


def written(value: Any, spec: str = "") -> str:
    """Return a value as a page shows it; a figure with its interval as "mean (low to high)".

    Args:
        spec: of Python, or `3` for three digits, with a unit if one follows (`3 ms`); `%` for a
            share in percent, `.1%` with a digit after the point; `f` for no digits after the point
            from 10 on, else three; `s` for a share without its interval, `of` for how many of how
            many.
    """
    if value is None or value == {}:
        return "-"
    if isinstance(value, list):
        return " to ".join(written(each, spec) for each in value)
    return _figure(value, spec or "3") if isinstance(value, Mapping) else _number(value, spec)


def _number(value: Any, spec: str) -> str:
    if spec.startswith("3"):
        return (f"{value:,.0f}" if value >= MANY else f"{value:.3g}") + spec[1:]
    if spec.endswith("%"):
        return f"{100 * value:{spec[:-1] or '.0'}f}"
    return "infinite" if value == "inf" else format(value, spec)


def _figure(found: Mapping[str, Any], spec: str) -> str:
    mean = next(found[key] for key in ("mean", "share", "auc") if key in found)
    if spec == "s":
        return f"{mean:.3f}".removeprefix("0")
    if spec == "of":
        return f"{round(mean * found['n'])} of {found['n']}"
    if spec == "f":
        spec = ".0f" if abs(mean) >= 10 else ".3f"
    of_ends = "3" if spec.startswith("3") else spec
    low, high = (_number(found[end], of_ends) for end in ("low", "high"))
    return f"{_number(mean, spec)} ({low} to {high})"
