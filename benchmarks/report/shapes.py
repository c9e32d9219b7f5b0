"""The report's sections on shapes of certified Cape and on its peers word by word, from
results/shapes.json and words.json.
"""

from __future__ import annotations

from typing import Any

from benchmarks.common.tables import load, table
from benchmarks.frontier.words import FIGURES

Row = dict[str, Any]


def section() -> str:
    """Every shape tried at each epsilon."""
    data = load("shapes")
    results, lines = data["results"], []
    for row in results["table"]:
        profile = row["profile"]
        price = f", price {row['guess_price']:g}" if profile == "medoids" else ""
        if profile == "staircase":
            price = f", lambda_l {row['lambda_l']:g}"
        shape = f"{profile}, at most {row['n_shortlist']}, top {row['n_top']}{price}"
        names = ("cosine", "plausibility", "kept", "guess")
        demoted = "yes" if row["demote_self"] else "no"
        figures = [f"{row[name]:.3f}" for name in names]
        lines.append([f"{row['epsilon']:g}", shape, demoted, *figures, f"{row['n_outputs']:.0f}"])
    header = ["epsilon", "shape", "word itself last", "cosine", "plausibility (nats)", "kept"]
    return (
        f"## Shapes\n\n`{data['circumstances']['command']}`: {results['n_words']} private words of "
        f"calibration text, the best guess at {results['n_guessed']} of them; expectations from "
        "exact distributions. The rule: the largest cosine among the shapes that are guessed no "
        f"more often than the first, which was shipped before; within .003 the most plausible.\n\n"
        f"{table([*header, 'best guess', 'outputs'], lines)}"
    )


def words() -> str:
    """Certified Cape against its peers: figures, and what the differences say."""
    data = load("words")
    results = data["results"]
    rows = [
        [row["label"], f"{row['epsilon']:g}", *(_figure(row[name]) for name in FIGURES)]
        for row in results["rows"]
    ]
    header = ["mechanism", "epsilon", "cosine", "second", "plausibility", "kept", "best guess"]
    parts = [
        f"## Word by word\n\n`{data['circumstances']['command']}`: {results['n_words']} private "
        f"words of {results['n_sentences']} held-out sentences, the best guess at "
        f"{results['n_guessed']} of them; exact distributions, 95 % bootstrap intervals over "
        "sentences. *second* is the cosine of vectors that no mechanism reads.",
        table(header, rows),
    ]
    for name, found in results["claims"].items():
        lines = [_line(row) for row in found if row["figure"] != "map"]
        columns = ["ours", "against", "epsilon", "figure", "difference", ""]
        parts.append(f"### Claims {name}\n\n{table(columns, lines)}")
    return "\n\n".join(parts)


def _figure(found: Row) -> str:
    return f"{found['mean']:.3f} ({found['low']:.3f} to {found['high']:.3f})"


def _line(row: Row) -> list[str]:
    difference = f"{row['mean']:+.3f} ({row['low']:+.3f} to {row['high']:+.3f})"
    names = [row[name] for name in ("ours", "against")]
    return [*names, f"{row['epsilon']:g}", row["figure"], difference, row["verdict"]]
