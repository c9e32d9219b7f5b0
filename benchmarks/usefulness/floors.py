"""Floors: what the presets reached on open prompts, which no change may spoil.

`python -m benchmarks.usefulness.run --write-floors` writes `floors.json`; a test of the quick suite
measures the same prompts again (tests/usefulness/test_floor.py).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.usefulness.measure import Treat, public_words, summary
from benchmarks.usefulness.presets import known
from benchmarks.usefulness.prompts import Prompt, labelled

PATH = Path(__file__).with_name("floors.json")
PRESETS = ("deidentify", "balanced")
EVERY = 3
"""Every third open prompt is measured: the test must end within 20 seconds, for two presets."""
TOLERANCE = 0.02
Figures = dict[str, float]


def prompts() -> list[Prompt]:
    """Return the prompts that floors are measured on; all topics are among them."""
    return labelled("open")[::EVERY]


def figures(treat: Treat, measured: Sequence[Prompt]) -> Figures:
    """Return the three figures that have floors, as shares."""
    found = summary(measured, [treat(prompt.text) for prompt in measured], public_words())
    return {
        "spans_hidden": found["spans"]["all"]["hidden"]["mean"],
        "task_words_kept": found["task_words_kept"]["mean"],
        "other_words_changed": found["other_words_changed"]["mean"],
    }


def worse(found: Mapping[str, float], floor: Mapping[str, float]) -> list[str]:
    """Return a line for each figure that is worse than its floor by more than TOLERANCE."""
    lines = []
    for name, before in floor.items():
        lost = found[name] - before if name == "other_words_changed" else before - found[name]
        if lost > TOLERANCE:
            lines.append(f"{name}: {found[name]:.3f}, was {before:.3f}")
    return lines


def load() -> dict[str, Figures]:
    """Return the floors of each preset."""
    found: dict[str, Figures] = json.loads(PATH.read_text("utf-8"))
    return found


def write() -> Path:
    """Measure the presets that the product knows, and write their floors."""
    presets = {name: preset for name in PRESETS if (preset := known(name)) is not None}
    found = {name: figures(preset, prompts()) for name, preset in presets.items()}
    rounded = {
        name: {key: round(value, 4) for key, value in row.items()} for name, row in found.items()
    }
    PATH.write_text(json.dumps(rounded, indent=1) + "\n", "utf-8")
    return PATH
