"""The page of tables of results/bulk.json: many rows by engine."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.common.tables import load, table

COLUMNS = {
    "seconds": "seconds by the clock",
    "cpu_seconds": "processor seconds",
    "start_cpu_seconds": "of which for one row (the start)",
    "rounds": "rounds",
}


def section() -> str:
    """Return a table for each policy."""
    data = load("bulk")
    parts = [
        f"## Many rows\n\n`{data['circumstances']['command']}`, {data['circumstances']['machine']}."
    ]
    for policy, found in data["results"].items():
        busy = " to ".join(f"{n:.0f}" for n in found["load_of_the_machine"])
        body = [
            [way, *(f"{figures[key]:,}" for key in COLUMNS)]
            for way, figures in found.items()
            if isinstance(figures, Mapping)
        ]
        parts.append(
            f"Policy {policy}, {found['rows']:,} rows; {busy} programs waited for the processor, "
            "so the clock tells little:\n\n" + table(["engine, workers", *COLUMNS.values()], body)
        )
    return "\n\n".join(parts)
