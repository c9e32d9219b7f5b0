"""The section and the plot of results/usefulness.json: `python -m benchmarks.report.usefulness`
draws it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.common.machine import output_folder
from benchmarks.common.tables import folded, load, shown, table
from benchmarks.usefulness.table import (
    HELD_SETS,
    OPEN_SETS,
    WHOLE,
    details,
    main_table,
)
from sanitizer.risk.evaluation import OTHERS, TASKS, TOLD

GROUPS = {
    HELD_SETS: "prompts that nobody read",
    OPEN_SETS: "prompts that the reader was trained on",
}
"""Groups of sets that short tables are about, the first that was measured, and what they hold."""
SHORT = {
    "names hidden": "names, whole",
    "private numbers hidden": "numbers, whole",
    "illnesses, beliefs, work and the like hidden": "attributes, whole",
    "task words kept": TASKS,
    "other words changed": OTHERS,
}
MARKERS: dict[str, tuple[str, str]] = {
    "identifiers": ("#ef8a62", "s"),
    "deidentify": ("#d6604d", "D"),
    "balanced": ("#b2182b", "o"),
    "presidio": ("#2166ac", "^"),
    "spacy": ("#1b7837", "v"),
    "spacy, names only": ("#7fbf7b", "<"),
    "datafog": ("#666666", "x"),
}
Share = Mapping[str, float] | None


def percent(found: Share) -> str:
    """Return a share in percent with its interval; "-" if nothing was counted."""
    if found is None:
        return "-"
    mean, low, high = (100 * found[key] for key in ("mean", "low", "high"))
    return f"{mean:.0f} ({low:.0f} to {high:.0f})"


def group(results: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """Return what short tables are about: its description, and its figures."""
    measured = results["groups"] | results["sets"]
    name = next((name for name in GROUPS if name in measured), next(iter(measured)))
    return f"{measured[name]['n_texts']} {GROUPS.get(name, f'texts of {name}')}", measured[name]


def short_table() -> str:
    """Return the main README's table."""
    told, found = group(load("usefulness")["results"])
    body = [
        [name, *(percent(own["measures"].get(measure)) for measure in SHORT.values())]
        for name, own in found["tools"].items()
    ]
    return (
        f"{table([f'{told}, %', *SHORT], body)}\n\nIn brackets 95 % intervals over prompts; hidden "
        "is what was replaced as a whole.\n"
    )


def section() -> str:
    """Return the section for benchmarks/README.md."""
    data = load("usefulness")
    results, ran = data["results"], data["circumstances"]
    sets, tools = results["sets"], list(group(results)[1]["tools"])
    n_texts, n_spans = (sum(each[n] for each in sets.values()) for n in ("n_texts", "n_spans"))
    parts = [
        f"## Usefulness\n\n`{ran['command']}`, {ran['machine']}: {n_texts:,} texts with "
        f"{n_spans:,} private spans, written and labelled for this; persons, firms and numbers are "
        "invented. A span counts by its hidden words, those that are on no list of everyday words "
        "(by all, if all are): whole if each of them was replaced, touched if one was. Other words "
        'changed: those outside of all spans; visible words beside a span ("Dr", "of") are '
        "counted apart. By rules: the detector before the reader; aim: what was asked of the "
        "reader before it was made. Two figures: the least and the most of the sets.",
        main_table(results),
        f"![Spans hidden against words changed](results/plots/usefulness.png)\n\nBy set, "
        f"`{tools[0]}`:",
        details(sets, tools[:1]),
    ]
    others = {"languages": "language", "origins": "origin of names"}
    for part, name in others.items():
        if results[part]:
            parts += [f"By {name}, `{tools[0]}`:", details(results[part], tools[:1])]
    apart = {name: results[name] for name in ("pupa", "instructions") if name in results}
    parts += ["All tools:", folded(details(sets | apart, tools))]
    parts += ["By class, whole, in percent:", folded(classes_table(group(results)[1]["tools"]))]
    if results["not_run"]:
        parts.append(f"Not measured: {', '.join(results['not_run'])}.")
    return "\n\n".join(parts)


def classes_table(tools: Mapping[str, Any]) -> str:
    """Return spans hidden whole by class, with their number."""
    some = next(iter(tools.values()))["measures"]
    names = sorted(name for name in some if name.split(",")[0].isupper() and "whole" in name)
    body = [
        [
            name.partition(",")[0],
            str(some[name]["n"]),
            *(percent(found["measures"].get(name)) for found in tools.values()),
        ]
        for name in names
    ]
    return table(["", "spans", *tools], body)


def in_words(results: Mapping[str, Any]) -> str:
    """Return lines on the tools that people ask about first, for the page of questions."""
    told, found = group(results)
    tools = found["tools"]
    chosen = [each for each in ("balanced", "deidentify", "presidio", "spacy") if each in tools]
    measures = {
        **SHORT,
        "facts in everyday words hidden or warned about": TOLD,
        "all private spans but facts hidden": WHOLE,
    }
    lines = [
        f"- {what}: "
        + ", ".join(f"{each} {percent(tools[each]['measures'].get(key))} %" for each in chosen)
        for what, key in measures.items()
    ]
    times = ", ".join(f"{each} {shown(tools[each]['ms'], ' ms')}" for each in chosen)
    return "\n".join([f"On {told}:\n", *lines, f"- time: {times}"])


def draw(results: Mapping[str, Any], folder: Path) -> Path:
    """Draw spans hidden against task words kept and other words changed; return the PNG's path."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    from benchmarks.report.plots import save

    told, found = group(results)
    figure, panels = plt.subplots(1, 2, figsize=(9.6, 5.0), sharey=True)
    for axes, key in zip(panels, (TASKS, OTHERS), strict=True):
        for name, own in found["tools"].items():
            _point(axes, name, own["measures"][key], own["measures"][WHOLE])
        axes.set_xlabel(f"{key} (share)")
        axes.set_xlim(-0.02, 1.02)
        axes.set_ylim(-0.02, 1.02)
        axes.grid(alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
    panels[1].invert_xaxis()
    panels[0].set_ylabel("private spans but facts hidden whole (share)")
    panels[0].set_title(title(found["tools"]), loc="left", fontsize=11, fontweight="bold")
    figure.legend(
        *panels[0].get_legend_handles_labels(),
        loc="lower center",
        bbox_to_anchor=(0.5, 0.025),
        ncol=4,
        frameon=False,
        fontsize=8.5,
    )
    figure.tight_layout(rect=(0, 0.13, 1, 1))
    figure.text(
        0.01,
        0.005,
        f"{told}; further up and to the right is better; bars: 95 % bootstrap intervals over "
        "prompts. python -m benchmarks usefulness",
        fontsize=7,
        color="#444444",
    )
    return save(figure, folder, "usefulness")


def title(tools: Mapping[str, Any]) -> str:
    """Return what the plot says of the default, and of the peer that hides most."""

    def mean(name: str, measure: str) -> float:
        return float(tools[name]["measures"][measure]["mean"])

    peers = [name for name in tools if name in ("presidio", "spacy", "datafog")]
    best = max(peers, key=lambda name: mean(name, WHOLE), default=None)
    return "\n".join(
        f"{name} hides {mean(name, WHOLE):.0%} of the spans and keeps {mean(name, TASKS):.0%} of "
        "the task words"
        for name in ("balanced", best)
        if name in tools and name
    )


def _point(axes: Any, name: str, across: Mapping[str, float], up: Mapping[str, float]) -> None:
    from benchmarks.report.plots import bars

    colour, marker = MARKERS.get(name, ("black", "*"))
    axes.errorbar(
        [across["mean"]], [up["mean"]], xerr=bars([dict(across)]),
        yerr=bars([dict(up)]), label=name, color=colour, marker=marker, linestyle="none",
        markersize=7, elinewidth=0.8, capsize=2,
    )  # fmt: skip


def main() -> None:
    """Draw into the folder of the results."""
    print(draw(load("usefulness")["results"], output_folder() / "plots"))


if __name__ == "__main__":
    main()
