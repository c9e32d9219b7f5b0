"""Plots of results/frontier.json as PNG: `python -m benchmarks.report.plots` (extra "plots").

SVGs are large and change with every version of matplotlib: they are made on demand, with
SANITIZER_BENCHMARK_SVG=1 in the environment, and not kept in the repository.

Each plot has one message, its title. Markers and line styles tell the curves apart without colour.
"""

from __future__ import annotations

import os
from pathlib import Path
from textwrap import fill
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.colors import to_rgb

from benchmarks.common.machine import output_folder
from benchmarks.common.tables import load

plt.rcParams.update(
    {"svg.fonttype": "none", "svg.hashsalt": "benchmarks", "font.family": "DejaVu Sans"}
)
SVG = "SANITIZER_BENCHMARK_SVG"  # in the environment: SVGs too
WIDTH, HEIGHT = 8.0, 5.2
TITLE = 78  # characters in a line of a title
STYLES: dict[str, tuple[str, str, str]] = {
    "Cape certified": ("#b2182b", "o", "-"),
    "Cape certified, not demoted": ("#ef8a62", "D", "-"),
    "Cape certified, causal": ("#d6604d", "p", ":"),
    "Cape published": ("black", "s", "--"),
    "Cape published, causal": ("#4d4d4d", "h", ":"),
    "DynText certified": ("#2166ac", "^", "-."),
    "DynText published": ("#2166ac", "v", ":"),
    "SANTEXT": ("#666666", "x", "-."),
    "SANTEXT+": ("#666666", "+", ":"),
    "CUSTEXT+": ("#1b7837", "P", ":"),
    "RANTEXT": ("#762a83", "*", ":"),
    "exponential, all of Y": ("#8c510a", "<", "-."),
    "exponential, shortlist": ("#bf812d", ">", "--"),
    "randomized response, all of Y": ("#35978f", "1", "-."),
    "randomized response, shortlist": ("#01665e", "d", "--"),
    "FBDD": ("#999999", "2", ":"),
}
NAMES = {
    "cosine": "cosine of the vectors of word and output (mean)",
    "sentence_cosine": "cosine of the sentences' vectors (mean)",
    "pseudo_perplexity": "pseudo-perplexity at private places (lower reads better)",
    "accuracy": "sentiment accuracy (share)",
    "knn_10": "nearest-word attack: private word among the 10 nearest (share)",
    "mti_1": "masked-word inference names the private word (share)",
    "map": "best guess with known mechanism is right (share)",
}
SHORT = {
    "cosine": "Meaning kept per word",
    "sentence_cosine": "Meaning kept per sentence",
    "pseudo_perplexity": "How badly the text reads",
    "accuracy": "Sentiment still told right",
    "knn_10": "nearest-word attack",
    "mti_1": "masked-word inference",
    "map": "the best guess",
}
OURS = "Cape certified"
FEW = (
    OURS,
    "Cape certified, not demoted",
    "Cape published",
    "DynText certified",
    "SANTEXT",
    "exponential, shortlist",
    "randomized response, shortlist",
)
WIDE, APART = (
    ("accuracy",),
    0.07,
)  # wide intervals at the same epsilon stand beside each other, this many nats apart
BETTER_LOW = {"pseudo_perplexity"}
NEAR = 0.05  # nats: as near to 5 as an exact epsilon is solved for
BESIDE = {"DynText published": -1.2, "CUSTEXT+": -0.6, "SANTEXT+": 0.0, "RANTEXT": 0.6, "FBDD": 1.2}
EDGE, LAST = (
    17.0,
    14.4,
)  # where those without a finite epsilon stand; the last that is shown in its place
Row = dict[str, Any]


def curves(rows: list[Row], figure_name: str) -> dict[str, list[Row]]:
    """Label -> its rows by own epsilon, for the labels that have a style, where the figure was
    measured.
    """
    found: dict[str, list[Row]] = {}
    for row in sorted(rows, key=lambda r: float(r["own_epsilon"])):
        if row["setting"]["label"] in STYLES and figure_name in row["figures"]:
            found.setdefault(row["setting"]["label"], []).append(row)
    return {label: found[label] for label in STYLES if label in found}


def _finite(epsilon: float | str) -> bool:
    """Known, and small enough to be shown in its place."""
    return not isinstance(epsilon, str) and epsilon <= LAST


def _line(
    axes: Any, label: str, rows: list[Row], x: list[float], y: str, *, x_bars: str | None = None
) -> None:
    colour, marker, style = STYLES[label]
    points = [r["figures"][y] for r in rows]
    across = [r["figures"][x_bars] for r in rows] if x_bars else []
    ours = label == "Cape certified"
    axes.errorbar(
        x, [p["mean"] for p in points], yerr=bars(points), xerr=bars(across) if x_bars else None,
        label=label, color=colour, marker=marker, linestyle=style if len(set(x)) > 1 else "none",
        markersize=8 if ours else 6, linewidth=2.4 if ours else 1.1,
        markerfacecolor=colour if ours or marker in "x+*12" else "white", elinewidth=0.8,
        ecolor=(*to_rgb(colour), 0.45), zorder=3 if ours else 2,
    )  # fmt: skip


def bars(points: list[dict[str, float]]) -> list[list[float]]:
    """Lengths below and above the means."""
    below = [max(0.0, p["mean"] - p["low"]) for p in points]
    return [below, [max(0.0, p["high"] - p["mean"]) for p in points]]


def finish(figure: Any, axes: Any, folder: Path, name: str, title: str, note: str) -> None:
    """Title, legend beside the axes, note; saved."""
    axes.set_title(
        "\n".join(fill(line, TITLE) for line in title.split("\n")),
        loc="left",
        fontsize=10,
        fontweight="bold",
    )
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    once = dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
    if len(once) > 1:
        axes.legend(
            once.values(),
            once.keys(),
            fontsize=8,
            frameon=False,
            loc="upper left",
            bbox_to_anchor=(1.01, 1.0),
        )
    figure.text(0.01, 0.005, note, fontsize=7, color="#444444")
    figure.tight_layout(rect=(0, 0.03, 1, 1))
    save(figure, folder, name)


def save(figure: Any, folder: Path, name: str) -> Path:
    """Write a figure as PNG, and as SVG where that is asked for; return the PNG's path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.png"
    figure.savefig(path, dpi=150)
    if SVG in os.environ:
        figure.savefig(path.with_suffix(".svg"), metadata={"Date": None})
    plt.close(figure)
    return path


def against_epsilon(rows: list[Row], figure_name: str, folder: Path, name: str, note: str) -> None:
    """Utility against exact epsilon; mechanisms without a finite one stand at the right edge, by
    nominal value.
    """
    figure, axes = plt.subplots(figsize=(WIDTH, HEIGHT))
    shown, edge = curves(rows, figure_name), False
    for number, (label, found) in enumerate(shown.items()):
        finite = [r for r in found if _finite(r["exact_epsilon"])]
        beyond = [r for r in found if r not in finite and r["exact_epsilon"] != "unknown"]
        aside = APART * (number - len(shown) / 2) if figure_name in WIDE else 0.0
        if finite:
            _line(
                axes,
                label,
                finite,
                [float(r["exact_epsilon"]) + aside for r in finite],
                figure_name,
            )
        if beyond:
            _line(axes, label, beyond, [EDGE + BESIDE.get(label, 0.0)] * len(beyond), figure_name)
            edge = True
    _across(axes, edge)
    axes.set_xlabel("exact epsilon per private word (nats)")
    axes.set_ylabel(NAMES[figure_name])
    if figure_name in BETTER_LOW:
        axes.set_yscale("log")
    finish(
        figure,
        axes,
        folder,
        f"{name}{figure_name}-against-epsilon",
        at_epsilon(rows, figure_name),
        note,
    )


def _across(axes: Any, edge: bool) -> None:
    """Ticks of the exact epsilons; `edge`: with a place for those that are larger or infinite."""
    ticks = list(range(0, 15, 2))
    if edge:
        axes.axvline(EDGE - 1.9, color="#bbbbbb", linewidth=0.8)
        axes.set_xticks([*ticks, EDGE], [*map(str, ticks), "larger than 14,\nor infinite"])
    axes.set_xlim(0, EDGE + 2 if edge else None)


def at_epsilon(rows: list[Row], figure_name: str) -> str:
    """Two lines: what the plot shows, and what it says at exact epsilon 5 of ours and of the best
    other.
    """
    found = {
        r["setting"]["label"]: float(r["figures"][figure_name]["mean"])
        for r in rows
        if _finite(r["exact_epsilon"])
        and abs(r["exact_epsilon"] - 5) < NEAR
        and figure_name in r["figures"]
    }
    ours = found.get(OURS)
    others = {label: value for label, value in found.items() if not label.startswith(OURS)}
    title = f"{SHORT[figure_name]} against exact epsilon"
    if ours is None or not others:
        return title
    best = (min if figure_name in BETTER_LOW else max)(others, key=lambda label: others[label])
    return f"{title}\nat 5: certified Cape {_number(ours)}, {best} {_number(others[best])}"


def _number(value: float) -> str:
    return f"{value:.2f}" if value < 10 else f"{value:,.0f}"


def against_attack(
    rows: list[Row], attack: str, figure_name: str, folder: Path, name: str, note: str
) -> None:
    """Utility against the success of an attack: up and to the left is better."""
    figure, axes = plt.subplots(figsize=(WIDTH, HEIGHT))
    for label, found in curves(rows, figure_name).items():
        ordered = sorted(found, key=lambda r: float(r["figures"][attack]["mean"]))
        _line(
            axes,
            label,
            ordered,
            [r["figures"][attack]["mean"] for r in ordered],
            figure_name,
            x_bars=attack,
        )
    axes.set_xlabel(NAMES[attack])
    axes.set_ylabel(NAMES[figure_name])
    title = f"{SHORT[figure_name]} against {SHORT[attack]}\nfurther up and to the left is better"
    finish(figure, axes, folder, f"{name}{figure_name}-against-{attack}", title, note)


def main() -> None:
    """Draw the plots of the frontier that a page shows into the folder of the results."""
    data = load("frontier")
    rows = [r for r in data["results"]["rows"] if r["setting"]["policy"] == "strict"]
    few = [r for r in rows if r["setting"]["label"] in FEW]
    folder = output_folder() / "plots"
    note = (
        f"{data['results']['n_sentences']} Rotten Tomatoes sentences, policy strict; bars: 95 % "
        f"bootstrap intervals over sentences. {data['circumstances']['command']}"
    )
    for name, some in (("", rows), ("few-", few)):
        against_epsilon(some, "cosine", folder, name, note)
        against_attack(some, "map", "cosine", folder, name, note)
    against_epsilon(few, "accuracy", folder, "few-", note)
    against_attack(few, "mti_1", "cosine", folder, "few-", note)
    for figure_name in ("sentence_cosine", "pseudo_perplexity"):
        against_epsilon(rows, figure_name, folder, "", note)
    against_attack(rows, "knn_10", "cosine", folder, "", note)


if __name__ == "__main__":
    main()
