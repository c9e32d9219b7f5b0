"""What is written from results/*.json: benchmarks/README.md and its pages of tables, and the blocks
of the main README and of docs/paper.md.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.common.machine import FOLDER, output_folder, say
from benchmarks.common.tables import kept, load, shown, table
from benchmarks.papers import cape as papers_cape
from benchmarks.papers import dyntext as papers_dyntext
from benchmarks.report import frontier as frontier_report
from benchmarks.report import paper, questions, shapes
from benchmarks.report.paper import BLOCK

HERE = Path(__file__).parents[1]
README, PAPER = HERE.parent / "README.md", HERE.parent / "docs" / "paper.md"


def per_prompt(results: dict[str, Any], threads: int) -> list[list[str]]:
    """Rows of milliseconds and ratios; a column per prompt length."""
    found = [r for r in results["per_prompt"] if r["threads"] == threads]
    lines = [
        ("certified Cape", "certified_ms", "{:.1f} ms"),
        ("the bare forward pass of the same batch", "bare_pass_ms", "{:.1f} ms"),
        ("certified Cape / bare pass", "ratio_to_bare_pass", "{:.2f}"),
        ("plain published Cape / certified Cape", "reference_over_certified", "{:.0f}"),
    ]
    return [[name, *(_with_interval(r, key, form) for r in found)] for name, key, form in lines]


def _with_interval(row: dict[str, Any], key: str, form: str) -> str:
    shown, ends = form.format(row[key]), row.get("intervals", {}).get(key)
    low, high = ("", "") if ends is None else (form.format(end).split()[0] for end in ends)
    return f"{shown} ({low} to {high})" if low else shown


def cold_start(results: dict[str, Any]) -> str:
    """One sentence."""
    cold = results["cold_start"]
    return (
        f"The whole command takes {_with_interval(cold, 'command_s', '{:.2f} s')} in a new "
        f"process, with at most {_with_interval(cold, 'peak_memory_mb', '{:.0f} MB')} of memory; "
        f"`import sanitizer` takes {_with_interval(cold, 'import_ms', '{:.0f} ms')}."
    )


def latency() -> str:
    """The latency section."""
    data = load("latency")
    results, circumstances = data["results"], data["circumstances"]
    parts = [
        f"## Speed\n\n`{circumstances['command']}`, {circumstances['machine']}, Python "
        f"{circumstances['python']}, onnxruntime {circumstances['onnxruntime']}; medians, in "
        "turns in one run, with 95 % intervals."
    ]
    for threads in sorted({r["threads"] for r in results["per_prompt"]}):
        rows = per_prompt(results, threads)
        prompts = [r["prompt"] for r in results["per_prompt"] if r["threads"] == threads]
        parts.append(table([f"{threads} thread(s)", *prompts], rows))
    return "\n\n".join([*parts, cold_start(results)])


def calibration() -> str:
    """The best shape of each profile at each epsilon."""
    data = load("calibration")
    rows = []
    for epsilon in sorted({r["epsilon"] for r in data["results"]["table"]}):
        for profile in ("staircase", "geometric", "prior"):
            found = [
                r
                for r in data["results"]["table"]
                if (r["epsilon"], r["profile"]) == (epsilon, profile)
            ]
            best = max(found, key=lambda r: float(r["utility"]))
            shape = f"q={best['top_mass']}" if profile == "prior" else f"k={best['n_top']}"
            figures = [f"{best[k]:.3f}" for k in ("utility", "cosine", "plausibility", "kept")]
            rows.append([f"{epsilon:g}", profile, str(best["n_shortlist"]), shape, *figures])
    header = [
        "epsilon",
        "profile",
        "shortlist",
        "top",
        "utility",
        "cosine",
        "plausibility (nats)",
        "kept",
    ]
    words = data["results"]["n_words"]
    return (
        f"## Choice of defaults\n\n`{data['circumstances']['command']}`: {words} private words "
        "of calibration text; the best shape of each profile by expected utility.\n\n"
        f"{table(header, rows)}"
    )


def audits() -> str:
    """Claimed, certified and exact, for each variant and nominal value."""
    names = [name for name in ("audits", "audits_causal") if kept(name)]
    found = [load(name) for name in names]

    def nats(value: Any) -> str:
        return "-" if value is None else "infinite" if value == "inf" else f"{value:.2f}"

    rows = [
        [
            r["mechanism"],
            f"{r['nominal']:g}",
            *(nats(r[k]) for k in ("claimed", "certified", "exact")),
            f"{r['n_inputs']:,}",
        ]
        for data in found
        for r in data["results"]
    ]
    commands = ", ".join(f"`{data['circumstances']['command']}`" for data in found)
    header = ["mechanism", "nominal", "claimed", "certified", "exact", "inputs walked"]
    intro = (
        f"## Exact epsilon\n\n{commands}: inputs' distributions at one place of one context "
        "(certified causal Cape: at three), from the integers that are drawn. Nothing is "
        "estimated, so there are no intervals; over part of the inputs, or in another context, a "
        "published mechanism may have more, a certified one never."
    )
    return f"{intro}\n\n{table(header, rows)}"


def identifiers() -> str:
    """Recall and precision beside the peers on the held-out half, and speed."""
    data = load("identifiers")
    results, tools = data["results"], ("ours", "presidio", "datafog")
    rows = []
    for kind, found in results["quality"]["held out"].items():
        cells = [
            found[tool]["overlap"][measure]
            for tool in tools
            if tool in found
            for measure in ("recall", "precision")
        ]
        shares = [_share(c) if c["n"] else "-" for c in cells]
        rows.append([kind, *shares, *["-"] * (6 - len(shares))])
    header = [
        "type",
        *(f"{tool} {measure}" for tool in tools for measure in ("recall", "precision")),
    ]
    speed = [
        [
            r["texts"],
            r["kinds"],
            shown(r["us_per_kilobyte"]["ours"]),
            *(_ratio(r, tool) for tool in tools[1:]),
        ]
        for r in results["speed"]
    ]
    return (
        f"## Identifiers\n\n`{data['circumstances']['command']}`, "
        f"{data['circumstances']['machine']}: {results['n_texts']['held out']} held-out "
        "synthetic texts; a labelled span counts as found when a span of its kind overlaps it; "
        "95 % Wilson intervals. Speed: medians in turns, 95 % intervals.\n\n"
        f"{table(header, rows)}\n\n"
        + table(["texts", "kinds", "ours, us per kB", "presidio / ours", "datafog / ours"], speed)
    )


def _share(found: dict[str, Any]) -> str:
    """Counts, and the share's interval in percent."""
    low, high = (100 * end for end in found["interval_95"])
    return f"{found['hits']}/{found['n']} ({low:.0f} to {high:.0f} %)"


def _ratio(row: dict[str, Any], tool: str) -> str:
    ratio = row["ratios"].get(f"{tool}_over_ours")
    return "-" if ratio is None else shown(ratio)


def proxy() -> str:
    """What the proxy adds, beside the peer, and the load it carried."""
    data = load("proxy")
    results, rows = data["results"], []
    for name, what in (
        ("whole", "whole answer"),
        ("streamed", "streamed answer"),
        ("streamed", "first event"),
    ):
        figure = "first_median_ms" if what == "first event" else "whole_median_ms"
        tools = results[name] | {"balanced": results[f"{name}_balanced"]["balanced"]}
        ways = ("identifiers", "balanced", "peer")
        added = [shown(tools[way]["added"][figure], " ms") if way in tools else "-" for way in ways]
        part = tools["identifiers"]["of_peer"].get(figure)
        rows.append([what, *added, "-" if part is None else shown(part)])
    load_ = results["load"]
    memory = ", ".join(f"{load_['memory_mb'][k]:.0f}" for k in ("start", "middle", "end"))
    header = [
        "added, median",
        "identifiers",
        "balanced (certified Cape)",
        "llm-shield-proxy",
        "identifiers / peer",
    ]
    return (
        f"## Proxy\n\n`{data['circumstances']['command']}`, {data['circumstances']['machine']}; "
        f"client, proxy and upstream on these cores; 95 % intervals.\n\n{table(header, rows)}\n\n"
        f"Load: {load_['n_streams']:.0f} streams and {load_['n_requests']} requests in "
        f"{load_['seconds']:.0f} s, {load_['n_errors']} errors; request median "
        f"{shown(load_['request_median_ms'], ' ms')}, 95th percentile "
        f"{shown(load_['request_p95_ms'], ' ms')}; memory at start, middle, end: {memory} MB."
    )


def papers() -> str:
    """The papers' tables beside ours."""
    data = load("papers")
    results, latency_, speed = (
        data["results"],
        load("latency")["results"],
        kept("speed") and load("speed")["results"],
    )
    intro = (
        f"## The papers' tables\n\n`{data['circumstances']['command']}`: "
        f"{results['n_sentences']} held-out Rotten Tomatoes sentences; the papers' figures have "
        "no intervals, ours 95 % bootstrap intervals over sentences. Epsilon is nominal, as each "
        "paper uses it, and is not comparable between mechanisms. Accuracy on the original "
        f"sentences: {papers_cape.percent(results['clean_accuracy'])} (paper: "
        f"{papers_cape.CLEAN}, random 51.72)."
    )
    return "\n\n".join(
        [
            intro,
            papers_cape.section(results, latency_, speed or None),
            papers_dyntext.section(results),
        ]
    )


SECTIONS: list[tuple[str, Callable[[], str] | str]] = [
    ("latency", latency),
    ("speed", "benchmarks.report.speed"),
    ("causal_speed", "benchmarks.report.causal"),
    ("audits", audits),
    ("counterexamples", "benchmarks.report.counterexamples"),
    ("frontier", frontier_report.section),
    ("attacks", frontier_report.attacks),
    ("reconstruction", "benchmarks.report.reconstruction"),
    ("ideas", frontier_report.ideas),
    ("words", shapes.words),
    ("shapes", shapes.section),
    ("calibration", calibration),
    ("papers", papers),
    ("usefulness", "benchmarks.report.usefulness"),
    ("tasks", "benchmarks.report.tasks"),
    ("classes", "benchmarks.report.classes"),
    ("conversations", "benchmarks.report.conversations"),
    ("extraction", "benchmarks.report.extraction"),
    ("generation", "benchmarks.report.generation"),
    ("membership", "benchmarks.generation.membership"),
    ("answers", "benchmarks.generation.answers"),
    ("identifiers", identifiers),
    ("proxy", proxy),
    ("bulk", "benchmarks.report.bulk"),
]
"""Result file, and what makes its section: a function, or a module with `section()`."""


PLOTS = [
    ("frontier", "benchmarks.report.plots"),
    ("speed", "benchmarks.report.speed_plots"),
    ("extraction", "benchmarks.report.extraction"),
    ("usefulness", "benchmarks.report.usefulness"),
]
"""Result file, and the module whose `main()` draws its plots."""


def sections() -> dict[str, str]:
    """Pages of tables by name, of the results that are there."""
    found = {}
    for name, make in SECTIONS:
        if kept(name):
            text = make() if callable(make) else str(import_module(make).section())
            text = text.replace("\n### ", "\n## ").replace("(results/", "(../results/")
            found[name] = text.removeprefix("#") + "\n"
    return found


def short_speed() -> str:
    """The main README's sentence on speed."""
    usefulness, proxy_ = load("usefulness"), load("proxy")
    found = import_module("benchmarks.report.usefulness").group(usefulness["results"])[1]["tools"]
    ways = {
        "balanced": "under `balanced`",
        "identifiers": "under `identifiers`",
        "presidio": "with Presidio",
    }
    times = [f"{shown(found[k]['ms'], ' ms')} {way}" for k, way in ways.items() if k in found]
    figure, load_ = "whole_median_ms", proxy_["results"]["load"]
    added = shown(proxy_["results"]["whole"]["identifiers"]["added"][figure], " ms")
    return (
        f"On {usefulness['circumstances']['machine'].split(', ')[1]} one of these prompts takes "
        f"{', '.join(times)}; under `identifiers` the proxy adds {added} to an answer and carried "
        f"{load_['requests_per_second']:.0f} requests a second with {load_['n_errors']} errors."
    )


def in_readme(text: str) -> str:
    """The main README with its blocks of figures made anew."""
    usefulness = import_module("benchmarks.report.usefulness")
    blocks = {"speed": short_speed, "usefulness": usefulness.short_table}
    return BLOCK.sub(lambda found: f"{found[1]}{blocks[found[2]]()}\n{found[3]}", text)


def write_pages(folder: Path) -> None:
    """Write the page of questions and the pages of tables."""
    (folder / "tables").mkdir(parents=True, exist_ok=True)
    for name, text in sections().items():
        (folder / "tables" / f"{name}.md").write_text(text, "utf-8")
    (folder / "README.md").write_text(questions.page(), "utf-8")


def main() -> None:
    """Draw the plots, write benchmarks/README.md with its tables, and the figures elsewhere.

    A trial run's report goes where its results are, and what is in the repository stays.
    """
    trial = FOLDER in os.environ
    for name, module in PLOTS:
        if kept(name):
            import_module(module).main()
    folder = output_folder() if trial else HERE
    write_pages(folder)
    if not trial:
        for path, written in ((README, in_readme), (PAPER, paper.in_paper)):
            path.write_text(written(path.read_text("utf-8")), "utf-8")
    results = load("latency")["results"]
    say("\n".join("| " + " | ".join(row) + " |" for row in per_prompt(results, 2)))
    say(cold_start(results))
    say(str(folder / "README.md"))


if __name__ == "__main__":
    main()
