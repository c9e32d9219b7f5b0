"""Plots of results/speed.json as SVG and PNG: how the time grows with prompts, batches and
vocabularies.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt

from benchmarks.common.machine import output_folder
from benchmarks.common.tables import load
from benchmarks.report.plots import bars, finish

WIDTH, HEIGHT = 6.4, 3.9
Points = list[dict[str, float]]
LINES = (("#b2182b", "o", "-"), ("black", "s", "--"))


def _draw(
    folder: Path,
    name: str,
    x: list[int],
    lines: dict[str, Points],
    words: tuple[str, str, str, str],
) -> None:
    """One plot; `words`: title, names of both axes, note. Sizes grow by factors, so their axis
    does.
    """
    title, across, up, note = words
    figure, axes = plt.subplots(figsize=(WIDTH, HEIGHT))
    for (label, points), (colour, marker, style) in zip(lines.items(), LINES, strict=False):
        axes.errorbar(
            x, [p["mean"] for p in points], yerr=bars(points), label=label, color=colour,
            marker=marker, linestyle=style, markersize=6, linewidth=1.6, elinewidth=0.8, capsize=2,
        )  # fmt: skip
    axes.set_xscale("log")
    axes.set_xticks(x, [f"{value:,}" for value in x])
    axes.minorticks_off()
    if len(lines) > 1:
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=0)
    axes.set_xlabel(across)
    axes.set_ylabel(up)
    finish(figure, axes, folder, name, title, note)


def _times(points: Points) -> float:
    """The last over the first."""
    return points[-1]["mean"] / points[0]["mean"]


def main() -> None:
    """Draw into the folder of the results; each title says what its points say."""
    data = load("speed")
    results, folder = data["results"], output_folder() / "plots"
    ran = f"bars: 95 % bootstrap intervals of medians; {data['circumstances']['command']}"
    note = f"{results['threads']} threads; {ran}"
    rows = results["lengths"]
    x, points = [r["n_words"] for r in rows], [r["ms_per_word"] for r in rows]
    title = f"A word of {x[-1]:,} costs {_times(points):.2g} times what a word of {x[0]} costs"
    words = (title, "words in the prompt", "ms per word", note)
    _draw(folder, "speed-by-length", x, {"certified Cape": points}, words)
    rows = results["batches"]
    x, points = [r["size"] for r in rows], [r["ms_per_prompt"] for r in rows]
    title = f"A prompt in a batch of {x[-1]} costs {_times(points):.2g} times what it costs alone"
    words = (title, "prompts of 20 words in a batch", "ms per prompt", note)
    _draw(folder, "speed-by-batch", x, {"certified Cape": points}, words)
    rows = results["vocabularies"]
    x = [r["n_outputs"] for r in rows]
    lines: dict[str, Points] = {
        f"{v} Cape": [r[v] for r in rows] for v in ("certified", "published")
    }
    grown, theirs = (f"{_times(points):.2g}" for points in lines.values())
    title = (
        f"{x[-1] // x[0]} times the outputs take {grown} times the time\n"
        f"certified, {theirs} times published"
    )
    words = (title, "outputs to choose from", "microseconds to weigh and draw", f"1 thread; {ran}")
    _draw(folder, "speed-by-vocabulary", x, lines, words)


if __name__ == "__main__":
    main()
