"""The README section and the plots of results/extraction.json: `python -m
benchmarks.report.extraction` draws these.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.common.machine import output_folder
from benchmarks.common.tables import load, shown, table

LABELS = {"noisy": "noisy", "lexical": "lexical extractor", "lm": "lm extractor"}
ALONE_LABELS = {"asked": "local model alone, asked", "continued": "local model alone, continuing"}
PUBLISHED = {3.0: (44.74, 49.79), 6.0: (47.00, 51.27), None: (59.78, 65.05)}
"""Cape (BERT), Table 6 of its paper: coherence and alignment times 100; None: without noise."""


def spread(found: dict[str, float], sign: bool = False) -> str:
    """A mean with its interval."""
    form = "{:+.3f}" if sign else "{:.3f}"
    return (form + " (" + form + " to " + form + ")").format(
        found["mean"], found["low"], found["high"]
    )


def answers_table(results: dict[str, Any]) -> str:
    """Coherence and alignment of every text."""
    rows = [
        [f"{row['epsilon']:g}", label, *_figures(row[kind])]
        for row in results["rows"]
        for kind, label in LABELS.items()
    ]
    rows += [["-", label, *_figures(results[way])] for way, label in ALONE_LABELS.items()]
    rows.append(["no noise", "remote answer", *_figures(results["without_noise"])])
    return table(
        [
            "epsilon",
            "answer",
            "coherence",
            "alignment",
            "to the text that follows",
            "copied",
            "words",
        ],
        rows,
    )


def _figures(found: dict[str, Any]) -> list[str]:
    cosines = [spread(found[m]) for m in ("coherence", "alignment", "following")]
    return [*cosines, *(shown(found[m]) for m in ("copied", "words"))]


def gains_table(results: dict[str, Any]) -> str:
    """Paired differences."""
    names = {
        "lexical - noisy": "lexical extractor - noisy",
        "lm - noisy": "lm extractor - noisy",
        "lm - lexical": "lm - lexical extractor",
        "lm - asked": "lm extractor - local model alone, asked",
        "lm - continued": "lm extractor - local model alone, continuing",
    }
    rows = [
        [
            f"{row['epsilon']:g}",
            label,
            *(spread(row["gains"][name][m], True) for m in ("coherence", "alignment")),
        ]
        for name, label in names.items()
        for row in results["rows"]
    ]
    return table(["epsilon", "difference", "coherence", "alignment"], rows)


def published() -> str:
    """What the paper reports for its own models and its own epsilon."""
    parts = [
        f"{'without noise' if e is None else f'epsilon {e:g}'} {c:.2f} and {a:.2f}"
        for e, (c, a) in PUBLISHED.items()
    ]
    return (
        "The Cape paper's Table 6 (other models: Qwen2-1.5B extracts, SimCSE vectors; Wikitext; "
        "its epsilon is nominal, see docs/guarantees.md) has, times 100, coherence and alignment "
        f"{'; '.join(parts)}."
    )


def section() -> str:
    """For benchmarks/README.md."""
    data = load("extraction")
    results, circumstances = data["results"], data["circumstances"]
    shares = ", ".join(
        f"{shown(row['extracted']['lexical'])} at {row['epsilon']:g}" for row in results["rows"]
    )
    return (
        f"## Extraction\n\n`{circumstances['command']}`, {circumstances['machine']}: "
        f"{results['n_items']} beginnings of paragraphs from {results['n_documents']} held-out "
        "Wikipedia pages. A small instruct model on the same machine stands for the remote model "
        "and goes on from each beginning, as it is or with all words but stopwords "
        'drawn anew (certified Cape, policy "strict"). Coherence: cosine of the sentence vectors '
        "(MiniLM) of original "
        "beginning and answer. Alignment: of the answer and the remote model's answer to the "
        "original. In brackets 95 % bootstrap intervals over pages; differences are paired. "
        "Copied: the share of an answer's runs of three words that stand in the beginning.\n\n"
        "![Coherence and alignment against epsilon](results/plots/extraction.png)\n\n"
        f"{answers_table(results)}\n\n{gains_table(results)}\n\nThe local model alone sees the "
        "original beginning and no answer: asked as the remote model is, or continuing the text. "
        "To say the beginning again would have coherence 1 and alignment "
        f"{spread(results['without_noise']['coherence'])}: neither figure says whether an answer "
        "is new or true.\n\nThe lexical extractor found something to put right in a share of the "
        f"answers of {shares}. {published()}"
    )


def draw(results: dict[str, Any], folder: Path) -> Path:
    """Coherence and alignment against epsilon, side by side; returns the PNG's path."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    from benchmarks.report.plots import save

    figure, panels = plt.subplots(1, 2, figsize=(9.6, 5.0))
    for axes, measure in zip(panels, ("alignment", "coherence"), strict=True):
        _panel(axes, results, measure)
    panels[0].set_title(
        "Extracted answers come nearer to those without noise",
        loc="left",
        fontsize=11,
        fontweight="bold",
    )
    named = {
        label: h
        for axes in panels
        for h, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    figure.legend(
        named.values(),
        named.keys(),
        loc="lower center",
        bbox_to_anchor=(0.5, 0.025),
        ncol=4,
        frameon=False,
        fontsize=8.5,
    )
    figure.tight_layout(rect=(0, 0.13, 1, 1))
    note = (
        f"{results['n_items']} beginnings from {results['n_documents']} held-out Wikipedia pages; "
        "bars: 95 % bootstrap"
    )
    figure.text(
        0.01,
        0.005,
        f"{note} intervals over pages. python -m benchmarks.extraction.run",
        fontsize=7,
        color="#444444",
    )
    return save(figure, folder, "extraction")


STYLES = {
    "noisy": ("black", "o", "--"),
    "lexical": ("#666666", "^", ":"),
    "lm": ("#b2182b", "s", "-"),
}
LEVELS: dict[str, tuple[str, Any]] = {
    "asked": ("#2166ac", "-."),
    "continued": ("#762a83", (0, (6, 3))),
    "no noise": ("#1b7837", (0, (1, 3))),
    "the beginning itself": ("#8c510a", (0, (3, 1, 1, 1, 1, 1))),
}


def levels(results: dict[str, Any], measure: str) -> dict[str, dict[str, float]]:
    """What does not depend on epsilon. The beginning itself is as well aligned as the expected
    answer is coherent.
    """
    last = "the beginning itself" if measure == "alignment" else "no noise"
    return {way: results[way][measure] for way in ALONE_LABELS} | {
        last: results["without_noise"]["coherence"]
    }


def _panel(axes: Any, results: dict[str, Any], measure: str) -> None:
    """One measure: a line for each way to read the answers, and levels that do not depend on
    epsilon.
    """
    epsilons = [row["epsilon"] for row in results["rows"]]
    for shift, (kind, (colour, marker, style)) in zip(
        (-0.06, 0.0, 0.06), STYLES.items(), strict=True
    ):
        points = [row[kind][measure] for row in results["rows"]]
        bars = [[p["mean"] - p["low"] for p in points], [p["high"] - p["mean"] for p in points]]
        axes.errorbar(
            [e + shift for e in epsilons], [p["mean"] for p in points], yerr=bars,
            label=LABELS[kind], color=colour, marker=marker, linestyle=style,
            markersize=6, linewidth=1.6, elinewidth=0.8, capsize=2,
        )  # fmt: skip
    for name, level in levels(results, measure).items():
        level_colour, dashes = LEVELS[name]
        axes.axhline(
            level["mean"],
            color=level_colour,
            linestyle=dashes,
            linewidth=1.2,
            label=ALONE_LABELS.get(name, name),
        )
    axes.set_xticks(epsilons)
    axes.set_xlabel("epsilon per private word (nats)")
    axes.set_ylabel(f"{measure} (mean cosine of sentence vectors)")
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)


def main() -> None:
    """Draw into the folder of the results."""
    print(draw(load("extraction")["results"], output_folder() / "plots"))


if __name__ == "__main__":
    main()
