"""What `benchmarks.generation.run` has kept so far, and figures made of it."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.common.intervals import interval, means, weightings
from benchmarks.generation.quality import N_TOKENS
from models.build.fetch import CACHE

Row = dict[str, Any]
Judged = Callable[[list[str]], Row]


class Kept:
    """Rows in the build cache, one JSON line each."""

    def __init__(self, name: str) -> None:
        self._path: Path = CACHE / f"generation-{name}.jsonl"
        known = self._path.read_text("utf-8").splitlines() if self._path.exists() else []
        self.rows: list[Row] = [json.loads(line) for line in known]

    def add(self, row: Row) -> None:
        self.rows.append(row)
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
        print({key: value for key, value in row.items() if key not in {"text", "rows"}}, flush=True)

    def missing(self, n: int, **values: Any) -> list[int]:
        """Those of the numbers 0..n-1 for which no row with these values is kept."""
        known = {
            row.get("i")
            for row in self.rows
            if all(row.get(key) == value for key, value in values.items())
        }
        return [i for i in range(n) if i not in known]


def fitted(x: list[float], y: list[float]) -> Row:
    """Least squares y = a + b x, and the share of the variance that it explains."""
    slope, start = np.polyfit(x, y, 1)
    left = np.asarray(y) - (start + slope * np.asarray(x))
    return {"start": float(start), "slope": float(slope), "r2": float(1 - left.var() / np.var(y))}


def cost_summary(row: Row) -> Row:
    """Straight lines through seconds by tokens for each B, and through seconds per token by rows.

    Intervals are over the tokens' own times.
    """
    a_token = [means(np.diff(r["seconds"])) for r in row["rows"]]
    lines = [
        {"n_references": r["n_references"], "seconds_per_token": interval(each)}
        | fitted(list(range(len(r["seconds"]))), r["seconds"])
        for r, each in zip(row["rows"], a_token, strict=True)
    ]
    rows = [1.0 + line["n_references"] for line in lines]
    slopes, starts = np.polyfit(rows, a_token, 1)
    ends = {"slope_interval": interval(slopes), "start_interval": interval(starts)}
    by_rows = fitted(rows, [float(each[0]) for each in a_token]) | ends
    return {"threads": row["threads"], "by_tokens": lines, "by_rows": by_rows}


WAYS = {
    "whole call": ("", 0),
    "after the first token": ("first_", 1),
}
"""What of a call is counted: everything, or all tokens but the first, which waits for the prompts.
"""


def rate(rows: list[Row], clock: str, way: str) -> NDArray[np.float64]:
    """Tokens per second, all texts together, then on resamples of them; float64 [1 + N_RESAMPLES].

    Args:
        clock: "seconds", or "cpu_seconds" of the processor. way: of WAYS.
    """
    first, left = WAYS[way]
    seconds = np.array([r[clock] - (r[first + clock] if first else 0.0) for r in rows])
    n = np.array([float(r["n_tokens"] - left) for r in rows])
    weights = weightings(len(rows))
    return np.asarray(weights @ n / (weights @ seconds))


def speeds(own: list[Row], other: list[Row]) -> list[Row]:
    """Tokens per second of both and their ratio, by clock and way; pairs of texts are drawn again
    together.
    """
    found = []
    for clock in ("cpu_seconds", "seconds"):
        for way in WAYS:
            rates = rate(own, clock, way), rate(other, clock, way)
            figures = {"ours": rates[0], "invink": rates[1], "ratio": rates[0] / rates[1]}
            found.append(
                {"clock": clock, "way": way} | {name: interval(f) for name, f in figures.items()}
            )
    return found


def peer_summary(judge: Judged) -> Row:
    """Speed by threads and tokens; quality of each tool's texts of N_TOKENS."""
    rows, found = Kept("peer").rows, []
    texts: dict[str, list[str]] = defaultdict(list)
    for threads, max_tokens in sorted(
        {(r["threads"], r["max_tokens"]) for r in rows if "text" in r}
    ):
        own, other = (
            [
                r
                for r in rows
                if [r.get(k) for k in ("tool", "threads", "max_tokens")]
                == [tool, threads, max_tokens]
            ]
            for tool in ("ours", "invink")
        )
        own = own[: len(other)]
        entry = {
            "threads": threads,
            "max_tokens": max_tokens,
            "n_texts": len(other),
            "speeds": speeds(own, other),
            "invink_peak_memory_mb": max(r["peak_memory_mb"] for r in other),
            "epsilon_spent": {"ours": own[0]["epsilon_spent"], "invink": other[0]["epsilon_spent"]},
        }
        found.append(entry)
        if max_tokens == N_TOKENS:
            texts["ours"] += [r["text"] for r in own]
            texts["invink"] += [r["text"] for r in other]
    accounts_ = next((r for r in rows if r["tool"] == "accounts"), {})
    return {
        "speed": found,
        "quality": {tool: judge(t) for tool, t in texts.items()},
        "examples": {tool: t[0] for tool, t in texts.items()},
        "accounts": accounts_.get("rows"),
        "versions": accounts_.get("versions"),
    }


def methods_summary(judge: Judged) -> list[Row]:
    """A row per epsilon and method; of AugPE, the run with the most texts."""
    groups: dict[tuple[float, str, str], list[Row]] = defaultdict(list)
    joint = Kept("augpe").rows
    most = max((r["of"] for r in joint), default=0)
    for row in [*Kept("methods").rows, *(r for r in joint if r["of"] == most)]:
        groups[row["at"], row["method"], row["relation"]].append(row)
    found = []
    for (at, name, relation), rows in groups.items():
        written = [r for r in rows if "text" in r]
        entry = {
            "at": at,
            "method": name,
            "relation": relation,
            **{k: rows[0][k] for k in ("epsilon", "settings")},
        }
        if written:
            entry |= judge([r["text"] for r in written])
            entry |= {
                "seconds": interval(means([r["seconds"] for r in written])),
                "example": written[0]["text"],
            }
            entry["divergences"] = (
                [r["divergence"] for r in written] if name == "AdaPMixED" else None
            )
        found.append(entry)
    return found
