"""The README section and the plot of results/usefulness.json: `python -m
benchmarks.report.usefulness` draws it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.common.machine import output_folder
from benchmarks.common.tables import folded, kept, load, shown, table

HALVES = {"held": "held-out prompts", "open": "open prompts"}
OTHER_HANDS = {
    "second_held": "held-out prompts of a second hand",
    "second_open": "open prompts of a second hand",
    "third_held": "held-out prompts of four more hands",
    "third_open": "open prompts of four more hands",
    "fourth_held": "held-out prompts of a fourth set",
    "fourth_open": "open prompts of a fourth set",
    "foreign": "German, French and Spanish prompts",
}
"""Sets that only have a table of their own."""
GROUPS = {
    "names": "names",
    "numbers": "numbers",
    "lower-case": "lower-case, off the lists",
    "all": "all",
}
Share = Mapping[str, float] | None


def percent(found: Share) -> str:
    """Return a share in percent with its interval; "-" if nothing was counted."""
    if found is None:
        return "-"
    mean, low, high = (100 * found[key] for key in ("mean", "low", "high"))
    return f"{mean:.0f} ({low:.0f} to {high:.0f})"


def rows(tools: Mapping[str, Any]) -> list[list[str]]:
    """Return one row for each tool on labelled prompts."""
    return [
        [
            name,
            *(percent(found["spans"][group]["hidden"]) for group in GROUPS),
            percent(found["spans"]["public facts"]["warned"]),
            percent(found["task_words_kept"]),
            percent(found["other_words_changed"]),
            percent(found["restored"]),
            shown(found["ms"]),
        ]
        for name, found in tools.items()
    ]


SHORT = ("deidentify", "balanced", "presidio", "spacy", "datafog")
"""The main README's rows: the presets that hide names, and the peers, each at its best."""


def short_table() -> str:
    """Return the main README's table: the held-out half, few columns."""
    half = load("usefulness")["results"]["held"]
    header = [
        f"{half['n_prompts']} held-out prompts, %",
        "names hidden",
        "private numbers hidden",
        "task words kept",
        "other words changed",
    ]
    body = [
        [
            name,
            percent(found["spans"]["names"]["hidden"]),
            percent(found["spans"]["numbers"]["hidden"]),
            percent(found["task_words_kept"]),
            percent(found["other_words_changed"]),
        ]
        for name, found in half["tools"].items()
        if name in SHORT
    ]
    return table(header, body) + "\n\nIn brackets 95 % intervals over prompts.\n"


def main_table(tools: Mapping[str, Any]) -> str:
    """Return the table of one half."""
    header = [
        "hidden or kept, %",
        *GROUPS.values(),
        "facts in public words: warned",
        "task words kept",
        "other words changed",
        "restored",
        "ms",
    ]
    return table(header, rows(tools))


def classes_table(tools: Mapping[str, Any]) -> str:
    """Return spans hidden, wholly and in part, by class."""
    some = next(iter(tools.values()))["spans"]
    names = [name for name in some if name not in GROUPS and some[name]["n"]]
    body = [
        [
            name,
            str(some[name]["n"]),
            *(
                f"{percent(found['spans'][name]['hidden'])}; "
                f"{percent(found['spans'][name]['in_part'])}"
                for found in tools.values()
            ),
        ]
        for name in names
    ]
    return table(["hidden; in part, %", "spans", *tools], body)


def files_table(results: Mapping[str, Any]) -> str:
    """Return the figures on PUPA and on the instructions, of those that were measured."""
    columns = [
        ("pupa", "private_words_hidden", "PUPA: private words hidden"),
        ("pupa", "other_words_changed", "PUPA: other words changed"),
        ("instructions", "words_changed", "instructions: words changed"),
    ]
    there = [column for column in columns if column[0] in results]
    if not there:
        return ""
    tools = results[there[0][0]]["tools"]
    body = [
        [tool, *(percent(results[part]["tools"][tool][key]) for part, key, _ in there)]
        for tool in tools
    ]
    return table(["%", *(title for *_, title in there)], body)


def files_note(results: Mapping[str, Any]) -> str:
    """Return where the two sets come from, and how much of them was read."""
    lines = []
    if "pupa" in results:
        found = results["pupa"]
        lines.append(
            f"PUPA (PUPA_New.csv of siyan-sylvia-li/PAPILLON, MIT): {found['n_prompts']} real "
            f"prompts with {found['n_units']:,} private units, of which "
            f"{found['n_units_not_in_their_prompt']} do not occur in their prompt. It was redacted "
            "once before, so its levels are indicative."
        )
    if "instructions" in results:
        n = results["instructions"]["n_prompts"]
        lines.append(
            f"Instructions (self-instruct, user-oriented, Apache-2.0): {n} tasks in which nothing "
            "is private."
        )
    return " ".join(lines)


def intro(data: Mapping[str, Any]) -> str:
    """Return what was measured, and how."""
    results, ran = data["results"], data["circumstances"]
    counts = "; ".join(
        f"{results[half]['n_prompts']} {name} with {results[half]['n_spans']:,} sensitive spans "
        f"and {results[half]['n_task_words']} task words"
        for half, name in (HALVES | OTHER_HANDS).items()
        if half in results
    )
    return (
        f"## Usefulness\n\n`{ran['command']}`, {ran['machine']}: {counts}. They were written and "
        "labelled for this; persons, firms and numbers are invented. A span is hidden if every "
        "word of it but stopwords was replaced by another; a fact in everyday words if at least "
        'one was. "Off the lists": spans in lower case with a word that is not among the '
        f"{results['n_public_words']:,} public ones; facts made of these alone can only be warned "
        "about. Restored: the released text came back byte for byte. In brackets 95 % bootstrap "
        "intervals over prompts; times are medians per prompt, in turns."
    )


def section() -> str:
    """Return the section for benchmarks/README.md."""
    data = load("usefulness")
    results = data["results"]
    there = [half for half in HALVES if half in results]
    parts = [intro(data), "![Spans hidden against words changed](results/plots/usefulness.png)"]
    for half, name in (HALVES | OTHER_HANDS).items():
        if half in results:
            parts.append(f"{name[0].upper()}{name[1:]}:\n\n{main_table(results[half]['tools'])}")
    parts.append(f"By class, {HALVES[there[0]]}:")
    parts.append(folded(classes_table(results[there[0]]["tools"])))
    parts += [part for part in (files_note(results), files_table(results)) if part]
    if kept("detectors"):
        parts.append(detectors())
    missing = [*results["not_run"], *results["unknown_presets"]]
    if missing:
        parts.append(f"Not measured: {', '.join(missing)}.")
    return "\n\n".join(parts)


def detectors() -> str:
    """Return the table of the three detectors."""
    data = load("detectors")
    header = ["detector, %", *GROUPS_OF_DETECTORS, "other words changed", "nothing else moved"]
    body = [
        [
            f"{mode}, {HALVES[half]}",
            *(percent(found[group]) for group in GROUPS_OF_DETECTORS),
            percent(found["others"]),
            f"{percent(found['stability']['all'])}; {percent(found['stability']['kept'])}",
            shown(found["ms"]),
        ]
        for half, modes in data["results"].items()
        for mode, found in modes.items()
    ]
    return (
        f"`{data['circumstances']['command']}`: the detectors under `balanced`. Nothing else moved:"
        " swaps of one thing for another of its class after which all other findings were the same;"
        " behind it, of those swaps after which the thing itself was read as before.\n\n"
        + table([*header, "ms"], body)
    )


GROUPS_OF_DETECTORS = ("names", "numbers", "all")
MARKERS: dict[str, tuple[str, str]] = {
    "identifiers": ("#ef8a62", "s"),
    "deidentify": ("#d6604d", "D"),
    "balanced": ("#b2182b", "o"),
    "strict": ("#67001f", "p"),
    "presidio": ("#2166ac", "^"),
    "spacy": ("#1b7837", "v"),
    "spacy, names only": ("#7fbf7b", "<"),
    "datafog": ("#666666", "x"),
}
HIDDEN, KEPT, CHANGED = "sensitive spans hidden", "task words kept", "other words changed"


def draw(results: Mapping[str, Any], folder: Path) -> Path:
    """Draw spans hidden against task words kept and other words changed; return the PNG's path."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    from benchmarks.report.plots import save

    half = next(half for half in HALVES if half in results)
    tools = results[half]["tools"]
    figure, panels = plt.subplots(1, 2, figsize=(9.6, 5.0), sharey=True)
    for axes, key, across in zip(
        panels, ("task_words_kept", "other_words_changed"), (KEPT, CHANGED), strict=True
    ):
        for name, found in tools.items():
            _point(axes, name, found[key], found["spans"]["all"]["hidden"])
        axes.set_xlabel(f"{across} (share)")
        axes.set_xlim(-0.02, 1.02)
        axes.set_ylim(-0.02, 1.02)
        axes.grid(alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
    panels[1].invert_xaxis()
    panels[0].set_ylabel(f"{HIDDEN} (share)")
    panels[0].set_title(title(tools), loc="left", fontsize=11, fontweight="bold")
    labels = panels[0].get_legend_handles_labels()
    figure.legend(
        *labels,
        loc="lower center",
        bbox_to_anchor=(0.5, 0.025),
        ncol=4,
        frameon=False,
        fontsize=8.5,
    )
    figure.tight_layout(rect=(0, 0.13, 1, 1))
    note = f"{results[half]['n_prompts']} {HALVES[half]}; further up and to the right is better;"
    figure.text(
        0.01,
        0.005,
        f"{note} bars: 95 % bootstrap intervals over prompts. python -m benchmarks.usefulness.run",
        fontsize=7,
        color="#444444",
    )
    return save(figure, folder, "usefulness")


def title(tools: Mapping[str, Any]) -> str:
    """Return what the plot says of the default, and of the peer that hides most."""
    peers = [name for name in tools if name in ("presidio", "spacy", "datafog")]

    def hidden(name: str) -> float:
        return float(tools[name]["spans"]["all"]["hidden"]["mean"])

    def said(name: str) -> str:
        kept = tools[name]["task_words_kept"]["mean"]
        return (
            f"{name} hides {hidden(name):.0%} of the spans and keeps {kept:.0%} of the task words"
        )

    best = max(peers, key=hidden, default=None)
    return "\n".join(said(name) for name in ("balanced", best) if name in tools and name)


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
