"""The report's section on private generation, from results/generation.json."""

from __future__ import annotations

from typing import Any

from benchmarks.common.tables import load, shown, table

Row = dict[str, Any]


def section() -> str:
    """The report's section, from results/generation.json."""
    data = load("generation")
    results = data["results"]
    parts = [f"## Private generation\n\n`{data['circumstances']['command']}`: {results['text']}."]
    parts += [
        _peer_tables(results["peer"]),
        _method_table(results),
        *(_cost_lines(c) for c in results["cost"]),
    ]
    if memory := results["memory"]:
        peaks, settings = [m["peak_mb"] for m in memory], memory[0]["settings"]
        parts.append(
            f"Memory of the process at most {min(peaks):.0f} to {max(peaks):.0f} MB in "
            f"{len(peaks)} runs with {settings['batch_size']} references of "
            f"{settings['max_reference_tokens']} tokens and {memory[0]['n_tokens']} tokens "
            "written."
        )
    return "\n\n".join(parts)


def _shown(value: Row, form: str = ".2f") -> str:
    return f"{value['mean']:{form}} ({value['low']:{form}} to {value['high']:{form}})"


def _peer_tables(peer: Row) -> str:
    clocks = {"cpu_seconds": "processor", "seconds": "wall"}
    speed = [
        [
            *(str(s[k]) for k in ("threads", "max_tokens", "n_texts")),
            clocks[r["clock"]],
            r["way"],
            *(_shown(r[k]) for k in ("ours", "invink", "ratio")),
        ]
        for s in peer["speed"]
        for r in s["speeds"]
    ]
    quality = [
        [tool, str(q["n_texts"]), _shown(q["distance"], ".3f"), _shown(q["perplexity"], ".1f")]
        for tool, q in peer["quality"].items()
    ]
    norms = [
        [
            f"{a['epsilon']:g}",
            str(a["max_tokens"]),
            f"{a['clip_norms']['certified']:.4f}",
            f"{a['clip_norms']['published']:.4f}",
            f"{a['invink']['clip_norm']:.4f}",
            *(f"{a[k]:.4f}" for k in ("epsilon_certified", "epsilon_published")),
            f"{a['invink']['epsilon']:.4f}",
        ]
        for a in peer["accounts"] or []
    ]
    header = [
        "epsilon",
        "tokens",
        "C, certified",
        "C, published",
        "C, invink",
        "its C: certified",
        "published",
        "invink",
    ]
    return "\n\n".join(
        [
            "InvisibleInk and the package invink on the same prompts, tokens per second:",
            table(["threads", "tokens", "texts", "clock", "of", "ours", "invink", "ratio"], speed),
            table(["tool", "texts", "distance to held-out reviews", "perplexity"], quality),
            "The clip norm that each accountant allows, and what each says of the package's:",
            table(header, norms),
        ]
    )


def _method_table(results: Row) -> str:
    rows = []
    for m in results["methods"]:
        spent = "infinite" if m["epsilon"] is None else f"{m['epsilon']:.2f}"
        cells = [f"{m['at']:g}", m["method"], m["relation"], spent]
        if not m.get("n_texts"):
            rows.append([*cells, "0", "-", "-", "-", "-"])
            continue
        figures = [
            _shown(m["distance"], ".3f"),
            _shown(m["perplexity"], ".1f"),
            _shown(m["distinct_words"]),
        ]
        rows.append([*cells, str(m["n_texts"]), *figures, _seconds(m["seconds"])])
    real = results["real_reviews"]
    figures = [
        _shown(real["distance"], ".3f"),
        _shown(real["perplexity"], ".1f"),
        _shown(real["distinct_words"]),
    ]
    rows.append(["-", "other real reviews", "-", "-", str(real["n_texts"]), *figures, "-"])
    header = [
        "at",
        "method",
        "neighbours",
        "epsilon",
        "texts",
        "distance",
        "perplexity",
        "distinct words",
        "s a text",
    ]
    return table(header, rows)


def _seconds(found: Row) -> str:
    """Texts of AugPE are written together: one time for all."""
    return shown(found) if found["low"] < found["high"] else f"{found['mean']:.3g} (one run)"


def _cost_lines(found: Row) -> str:
    rows = [
        [str(c["n_references"]), shown(_milli(c["seconds_per_token"]), " ms"), f"{c['r2']:.4f}"]
        for c in found["by_tokens"]
    ]
    line = found["by_rows"]
    start, slope = (shown(_milli(line[f"{name}_interval"]), " ms") for name in ("start", "slope"))
    return (
        table(
            [
                "references",
                f"a token, {found['threads']} thread(s)",
                "r2 of a straight line by tokens",
            ],
            rows,
        )
        + f"\n\nBy rows (references and the public one): {start} + {slope} a row, r2 "
        f"{line['r2']:.3f}; processor time, 95 % intervals over tokens."
    )


def _milli(found: Row) -> Row:
    return {key: 1e3 * value for key, value in found.items()}
