"""Plots as PNG, made on demand (extra "plots"); documents show those of SHOWN, which are kept.

    python -m benchmarks.report.plots [usefulness | FIGURE-against-epsilon | FIGURE-against-ATTACK]

FIGURE: cosine, sentence_cosine, accuracy, pseudo_perplexity. ATTACK: knn_10, mti_1, map. With
`few-` in front, a few mechanisms only. Markers and line styles distinguish the curves without
colour; titles say what a plot shows.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.colors import to_rgb

from benchmarks.common.machine import output_folder, say
from benchmarks.common.tables import load
from benchmarks.report.views import FRONTIER_SHORT, WHOLE, texts_measured, tools
from sanitizer.risk.evaluation import OTHERS, TASKS

SHOWN = ("usefulness", "few-cosine-against-epsilon")
"""Plots that README.md, docs and pages show."""
OURS = "Cape certified"
STYLES: dict[str, tuple[str, str, str]] = {
    OURS: ("#b2182b", "o", "-"),
    "Cape certified, not demoted": ("#ef8a62", "D", "-"),
    "Cape published": ("black", "s", "--"),
    "DynText certified": ("#2166ac", "^", "-."),
    "DynText published": ("#2166ac", "v", ":"),
    "SANTEXT": ("#666666", "x", "-."),
    "exponential, all of Y": ("#8c510a", "<", "-."),
    "exponential, shortlist": ("#bf812d", ">", "--"),
    "randomized response, all of Y": ("#35978f", "1", "-."),
    "randomized response, shortlist": ("#01665e", "d", "--"),
}
"""Label of a mechanism -> colour, marker, line."""
TOOLS: dict[str, tuple[str, str, str]] = {
    "identifiers": ("#ef8a62", "s", "none"),
    "deidentify": ("#d6604d", "D", "none"),
    "balanced": ("#b2182b", "o", "none"),
    "presidio": ("#2166ac", "^", "none"),
    "spacy": ("#1b7837", "v", "none"),
    "spacy, names only": ("#7fbf7b", "<", "none"),
    "datafog": ("#666666", "x", "none"),
}
"""As STYLES, of what hides stretches of text."""
NAMES = {
    "cosine": "cosine of the vectors of word and output (mean)",
    "sentence_cosine": "cosine of the sentences' vectors (mean)",
    "pseudo_perplexity": "pseudo-perplexity at private places (lower reads better)",
    "accuracy": "sentiment accuracy (share)",
    "knn_10": "nearest-word attack: private word among the 10 nearest (share)",
    "mti_1": "masked-word inference names the private word (share)",
    "map": "best guess with known mechanism is right (share)",
}
"""Figure or attack -> name of its axis."""
EDGE, LAST = 17.0, 14.4
"""Where mechanisms without a finite epsilon are drawn, and the largest that is drawn in place."""
Row = dict[str, Any]


def bars(points: list[Mapping[str, float]]) -> list[list[float]]:
    """Return lengths below and above the means."""
    below = [max(0.0, p["mean"] - p["low"]) for p in points]
    return [below, [max(0.0, p["high"] - p["mean"]) for p in points]]


def _line(
    axes: Any, label: str, style: tuple[str, str, str], across: list[Any], up: list[Any]
) -> None:
    """Draw points with their intervals; `across` are figures with intervals, or numbers."""
    colour, marker, line = style
    measured = all(isinstance(point, Mapping) for point in across)
    axes.errorbar(
        [p["mean"] for p in across] if measured else across,
        [p["mean"] for p in up],
        xerr=bars(across) if measured else None, yerr=bars(up),
        label=label, color=colour, marker=marker, linestyle=line, markersize=6.5,
        linewidth=2.4 if label == OURS else 1.1, elinewidth=0.8, ecolor=(*to_rgb(colour), 0.45),
        zorder=3 if label == OURS else 2,
    )  # fmt: skip


def _save(figure: Any, panels: list[Any], name: str, title: str, note: str) -> Path:
    """Write a plot with its title, note and legend; return the PNG's path."""
    panels[0].set_title(title, loc="left", fontsize=10, fontweight="bold")
    for axes in panels:
        axes.grid(alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
    once = dict(zip(*reversed(panels[0].get_legend_handles_labels()), strict=True))
    figure.legend(
        once.values(), once.keys(), loc="lower center", bbox_to_anchor=(0.5, 0.025), ncol=4,
        frameon=False, fontsize=8,
    )  # fmt: skip
    figure.tight_layout(rect=(0, 0.05 + 0.04 * -(-len(once) // 4), 1, 1))
    figure.text(0.01, 0.005, note, fontsize=7, color="#444444")
    path = output_folder() / "plots" / f"{name}.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
    plt.close(figure)
    return path


def usefulness() -> Path:
    """Draw spans hidden against task words kept and other words changed."""
    figure, panels = plt.subplots(1, 2, figsize=(9.6, 5.0), sharey=True)
    for axes, key in zip(panels, (TASKS, OTHERS), strict=True):
        for name, own in tools().items():
            measures = own["measures"]
            style = TOOLS.get(name, ("black", "*", "none"))
            _line(axes, name, style, [measures[key]], [measures[WHOLE]])
        axes.set(xlabel=f"{key} (share)", xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
    panels[1].invert_xaxis()
    panels[0].set_ylabel("private spans except facts, hidden whole (share)")
    note = (
        f"{texts_measured()}; further up and to the right is better; bars: 95 % bootstrap "
        "intervals over prompts. python -m benchmarks usefulness"
    )
    return _save(figure, list(panels), "usefulness", "\n".join(_said()), note)


def _said() -> Iterator[str]:
    """Yield what the default reaches, and what the peer that hides most."""
    means = {
        name: [own["measures"][key]["mean"] for key in (WHOLE, TASKS)]
        for name, own in tools().items()
    }
    peers = [name for name in means if name in ("presidio", "spacy", "datafog")]
    for name in ("balanced", *sorted(peers, key=lambda peer: -float(means[peer][0]))[:1]):
        hidden, kept = means[name]
        yield f"{name} hides {hidden:.0%} of the spans and keeps {kept:.0%} of the task words"


def frontier(name: str) -> Path:
    """Draw one figure of every mechanism against exact epsilon or the success of an attack.

    Args:
        name: of the plot, as at the top of this file.

    Raises:
        ValueError: there is no such plot.
    """
    up, _, across = name.removeprefix("few-").partition("-against-")
    if up not in NAMES or across not in (*NAMES, "epsilon"):
        raise ValueError(f"plot must be usefulness or FIGURE-against-epsilon, got {name!r}")
    data = load("frontier")
    few = [label for label, _ in FRONTIER_SHORT] if name.startswith("few-") else list(STYLES)
    figure, axes = plt.subplots(figsize=(8.0, 5.2))
    for label in few:
        rows = [
            row
            for row in data["results"]["rows"]
            if (row["setting"]["label"], row["setting"]["policy"]) == (label, "strict")
            and up in row["figures"]
        ]
        key = _epsilon if across == "epsilon" else (lambda row: row["figures"][across]["mean"])
        rows.sort(key=key)
        at = [_epsilon(r) if across == "epsilon" else r["figures"][across] for r in rows]
        _line(axes, label, STYLES[label], at, [row["figures"][up] for row in rows])
    if across == "epsilon":
        ticks = range(0, 15, 2)
        axes.axvline(EDGE - 1.9, color="#bbbbbb", linewidth=0.8)
        axes.set_xticks([*ticks, EDGE], [*map(str, ticks), "larger than 14,\nor infinite"])
        axes.set_xlim(0, EDGE + 2)
    if up == "pseudo_perplexity":
        axes.set_yscale("log")
    axes.set(xlabel=NAMES.get(across, "exact epsilon per private word (nats)"), ylabel=NAMES[up])
    note = (
        f"{data['results']['n_sentences']} Rotten Tomatoes sentences, policy strict; bars: 95 % "
        f"bootstrap intervals over sentences. {data['circumstances']['command']}"
    )
    return _save(figure, [axes], name, f"{up} against {across}".replace("_", " "), note)


def _epsilon(row: Row) -> float:
    found = row["exact_epsilon"]
    return EDGE if isinstance(found, str) or found > LAST else float(found)


def draw(name: str) -> Path:
    """Draw one plot into the folder of the results; return its path."""
    return usefulness() if name == "usefulness" else frontier(name)


if __name__ == "__main__":
    for wanted in sys.argv[1:] or SHOWN:
        say(str(draw(wanted)))
