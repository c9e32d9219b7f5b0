"""The report's section on the causal model: its speed beside llama.cpp, and how near its graph is
to the reference.
"""

from __future__ import annotations

from typing import Any

from benchmarks.common.tables import figure, kept, load, shown, table
from benchmarks.common.timing import median, ratio


def speed() -> str:
    """Tokens a second of both, by threads; intervals over rounds, each after the first."""
    data, rows = load("causal_speed"), []
    for found in data["results"]:
        for i, (name, n) in enumerate(
            (("prompt", found["n_prompt"]), ("generation", found["n_generated"]))
        ):
            ours, theirs = (
                [round_[i] for round_ in found["seconds"][tool]] for tool in ("ours", "llama.cpp")
            )
            times = [_per_second(ours, n), _per_second(theirs, n), ratio(theirs, ours)]
            rows.append([str(found["threads"]), f"{name}, {n} tokens", *map(shown, times)])
    header = ["threads", "what", "ours, tokens a second", "llama.cpp", "ours / llama.cpp"]
    return (
        f"`{data['circumstances']['command']}`: {data['results'][0]['rounds']} rounds in turns.\n\n"
        + table(header, rows)
    )


def _per_second(seconds: list[float], n: int) -> dict[str, float]:
    found = median(seconds, 1.0)
    return {"mean": n / found["mean"], "low": n / found["high"], "high": n / found["low"]}


def quality() -> str:
    """Distance of the shipped graph to plain float32."""
    data = load("causal_quality")
    results: dict[str, Any] = data["results"]
    rows = [
        [
            name,
            *(
                f"{found[k]:.4g}{_ends(found['intervals'][k])}"
                for k in ("kl_nats", "nll_nats", "same_top1")
            ),
        ]
        for name, found in results["graphs"].items()
    ]
    return (
        f"`{data['circumstances']['command']}`: {results['text']}; reference "
        f"{results['reference_nll_nats']:.4f} nats a token. 95 % intervals over blocks of "
        f"{results['block']} tokens.\n\n"
        + table(["graph", "KL to the reference (nats)", "nats a token", "same best token"], rows)
    )


def _ends(interval: dict[str, float]) -> str:
    return f" ({interval['low']:.4g} to {interval['high']:.4g})"


def calibration() -> str:
    """What the model reads before a text, and the range of its scores."""
    data = load("causal_calibration")
    results: dict[str, Any] = data["results"]
    rows = [
        [
            name,
            str(found["n_words"]),
            figure(found["nll"]),
            " to ".join(map(str, found["logit_range"])),
        ]
        for name, found in results["begins"].items()
    ]
    return (
        f"`{data['circumstances']['command']}`: constants of Cape's left context, chosen on "
        "calibration text; 95 % intervals over sentences.\n\n"
        + table(
            ["begins with", "words", "nats a word over Y", "logits that count as 0 and 1"], rows
        )
    )


def section() -> str:
    """Those of the three whose results are there."""
    parts = {"causal_speed": speed, "causal_quality": quality, "causal_calibration": calibration}
    return "\n\n".join(
        ["## The causal model", *(make() for name, make in parts.items() if kept(name))]
    )
