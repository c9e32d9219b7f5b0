"""The page of tables of results/counterexamples.json: inputs that exceed published bounds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.common.tables import load, table


def cape(cases: Mapping[str, Any]) -> str:
    """Return the table on Cape's theorem 4.1."""
    header = ["inputs", "nominal", "claimed, buckets of one input", "claimed, of both", "exact"]
    body = [
        [
            name,
            f"{found['nominal']:g}",
            f"{found['claimed, one input']:.2f}",
            f"{found['claimed, both inputs']:.2f}",
            f"{found['exact']:.2f}",
        ]
        for name, found in cases.items()
    ]
    return table(header, body)


def dps_mozo(cases: Mapping[str, Any]) -> str:
    """Return the table on DPS-MOZO's theorem B.3."""
    header = ["demonstrations", "alpha", "beta", "tokens", "claimed 4 beta alpha", "divergence"]
    body = [
        [
            str(found["shots"]),
            str(found["order"]),
            f"{found['beta']:g}",
            str(found["tokens"]),
            f"{found['claimed']:.2f}",
            f"{found['exact']:.2f}",
        ]
        for found in cases.values()
    ]
    return table(header, body)


def section() -> str:
    """Return the tables of all publications."""
    data = load("counterexamples")
    results = data["results"]
    return (
        f"## Published bounds\n\n`{data['circumstances']['command']}`: computed from the integers "
        "that are drawn, for toy scores that the published algorithms allow. They show that a "
        "statement is false, not how much real texts leak.\n\n### Cape, theorem 4.1\n\n"
        f"{cape(results['cape'])}\n\n### DPS-MOZO, theorem B.3\n\n{dps_mozo(results['dps-mozo'])}"
    )
