"""The report's section on how speed grows, from results/speed.json."""

from __future__ import annotations

from typing import Any

from benchmarks.common.tables import load, shown, table


def beside(results: dict[str, Any]) -> str:
    """Ours and simpler tools on the same prompts."""
    names = {
        "certified": "certified Cape",
        "identifiers": "policy identifiers (no perturbation)",
        "lookup": "SANTEXT's lookup",
        "presidio": "Presidio's analyzer, patterns only (no perturbation)",
    }
    rows = [
        [name, *(shown(r["ms"][key], " ms") for r in results["beside"])]
        for key, name in names.items()
        if all(key in r["ms"] for r in results["beside"])
    ]
    per_word = [shown(r["ms_per_private_word"], " ms") for r in results["beside"]]
    rows.append(["certified Cape, per private word", *per_word])
    for variant in ("certified", "published") if "left" in results else ():
        prompts = [results["left"].get(f"{variant}, {r['prompt']}") for r in results["beside"]]
        rows.append(
            [f"{variant} Cape, causal", *("-" if p is None else shown(p, " ms") for p in prompts)]
        )
    if results["presidio"]:
        name = "Presidio / policy identifiers"
        rows.append([name, *(shown(r["presidio_over_identifiers"]) for r in results["beside"])])
    return table(["", *(f"{r['prompt']}, {r['n_units']} private" for r in results["beside"])], rows)


def section() -> str:
    """Tables as prompts, batches and vocabularies grow."""
    data = load("speed")
    results, lookup = data["results"], data["results"]["lookup"]
    batches = [[str(r["size"]), shown(r["ms_per_prompt"])] for r in results["batches"]]
    lengths = [
        [f"{r['n_words']:,}", shown(r["ms"]), shown(r["ms_per_word"])] for r in results["lengths"]
    ]
    sizes = [
        [f"{r['n_outputs']:,}", shown(r["certified"]), shown(r["published"])]
        for r in results["vocabularies"]
    ]
    return "\n\n".join(
        [
            "### Speed as prompts, batches and vocabularies grow\n\n"
            f"`{data['circumstances']['command']}`, {data['circumstances']['machine']}, "
            f"{results['threads']} threads; medians in turns, 95 % intervals. SANTEXT's lookup "
            f"needs a table first: {lookup['n_words']:,} words in {lookup['setup_s']:.1f} s and "
            f"{lookup['table_mb']:.0f} MB.",
            beside(results),
            *(
                f"![speed by {by}](results/plots/speed-by-{by}.png)"
                for by in ("length", "batch", "vocabulary")
            ),
            table(["prompts in a batch", "ms per prompt of 20 words"], batches),
            table(["words in the prompt", "ms", "ms per word"], lengths),
            table(["outputs", "us to weigh and draw one word: certified", "published"], sizes),
            (
                "Where the time goes: `py-spy record --output hot-path.svg -- python -m "
                "benchmarks.speed.hot_path`."
            ),
        ]
    )
