"""The frontier's tables, from results/frontier.json: `python -m benchmarks.frontier_report [NAME]`."""

from __future__ import annotations

import sys
from typing import Any

from benchmarks.report import load, table

COLUMNS = (
    "cosine",
    "sentence_cosine",
    "rouge_l",
    "accuracy",
    "pseudo_perplexity",
    "kept",
    "knn_10",
    "mti_1",
    "map",
)
SHORT = (
    "words' cosine",
    "sentences' cosine",
    "Rouge-L",
    "accuracy",
    "pseudo-perplexity",
    "kept",
    "KNN-10",
    "MTI",
    "MAP",
)
KINDS = {"theorem": "", "all inputs": "", "walked": "≥ ", "bound": "≤ "}


def figure(found: dict[str, float]) -> str:
    """A mean with its interval."""
    form = "{:.0f}" if found["mean"] >= 10 else "{:.3f}"
    return f"{form.format(found['mean'])} ({form.format(found['low'])} to {form.format(found['high'])})"


def points(results: dict[str, Any]) -> str:
    """One row for each setting."""
    rows = []
    for row in results["rows"]:
        exact = row["exact_epsilon"]
        shown = "infinite" if exact == "inf" else f"{KINDS[row['exact_kind']]}{exact:.2f}"
        figures = [figure(row["figures"][name]) for name in COLUMNS]
        rows.append([row["setting"]["label"], f"{row['own_epsilon']:.4g}", shown, *figures])
    return table(["mechanism", "epsilon as set", "exact epsilon", *SHORT], rows)


def _verdict(row: dict[str, float]) -> str:
    return "ahead" if row["low"] > 0 else "behind" if row["high"] < 0 else "no difference shown"


def headline(claims: dict[str, Any]) -> str:
    """Certified Cape at 5 less published Cape at 10."""
    found = claims["certified 5 less published 10"]
    attacks = ("knn_10", "mti_1", "map")
    rows = [
        [name, f"{d['mean']:+.3f}", f"{d['low']:+.3f} to {d['high']:+.3f}", "" if name in attacks else _verdict(d)]
        for name, d in found.items()
    ]
    return table(["figure", "difference", "95 % interval", ""], rows)


def comparisons(rows: list[dict[str, Any]], keys: tuple[str, ...]) -> str:
    """Where certified Cape is behind; then how often it is ahead."""
    counts = {v: sum(_verdict(r) == v for r in rows) for v in ("ahead", "no difference shown", "behind")}
    text = ", ".join(f"{v}: {n}" for v, n in counts.items())
    behind = [
        [*(str(r[k]) for k in keys), f"{r['mean']:+.3f} ({r['low']:+.3f} to {r['high']:+.3f})"]
        for r in rows
        if _verdict(r) == "behind"
    ]
    return text + ("\n\n" + table([*keys, "difference"], behind) if behind else "")


def section(name: str = "frontier") -> str:
    """The whole section as Markdown."""
    data = load(name)
    results, claims = data["results"], data["results"]["claims"]
    clean = figure(results["clean_accuracy"])
    intro = (
        f"`{data['circumstances']['command']}`: {results['n_sentences']} held-out Rotten Tomatoes sentences, "
        f"{results['n_draws']} draw(s) each; in brackets 95 % bootstrap intervals over sentences. "
        f"Accuracy on the original sentences: {clean}."
    )
    parts = ["## Privacy and utility", intro, points(results)]
    for label, found in claims.items():
        parts += [
            f"### {label} at epsilon 5 less published Cape at nominal 10",
            headline(found),
            f"### {label} less others at the same exact epsilon (above zero: ours is better)",
            comparisons(found["at equal exact epsilon"], ("against", "epsilon", "figure")),
            f"### {label} less others at the same attack success",
            comparisons(found["at equal attack success"], ("against", "epsilon", "attack", "figure")),
        ]
    return "\n\n".join(parts)


if __name__ == "__main__":
    print(section(*sys.argv[1:2]))
