"""Floors: what `balanced` reached on all open prompts, which no change may spoil.

`python -m benchmarks.usefulness.run --write-floors` writes `floors.json`; a test of the quick suite
measures the same prompts again (tests/benchmarks/test_floors.py).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from benchmarks.usefulness.measure import Preset, measured
from benchmarks.usefulness.prompts import OPEN, labelled
from sanitizer.risk.evaluation import BESIDE, MEASURES, OTHERS, UNTOUCHED, summed
from sanitizer.risk.labelled import LabelledText

PATH = Path(__file__).with_name("floors.json")
POLICY = "balanced"
TOLERANCE = 0.01
LOW = frozenset([OTHERS, BESIDE, UNTOUCHED])
"""Measures of which less is better."""


def prompts() -> list[LabelledText]:
    """Return the prompts that floors are measured on."""
    return [each for name in OPEN for each in labelled(name)]


def measure() -> dict[str, float]:
    """Return the figures that have floors, as shares over all open prompts."""
    rows = measured({POLICY: Preset(POLICY, threads=1)}, prompts())[POLICY]
    counts = summed(row[1] for row in rows if row is not None)
    found = {name: counts[name] for name in MEASURES if name in counts}
    return {name: round(hits / n, 4) for name, (hits, n) in found.items()}


def worse(found: Mapping[str, float], floors: Mapping[str, float]) -> Iterator[str]:
    """Yield a line for each figure that is worse than its floor by more than TOLERANCE."""
    for name, before in floors.items():
        lost = (found[name] - before) * (1 if name in LOW else -1)
        if lost > TOLERANCE:
            yield f"{name}: {found[name]:.4f}, was {before:.4f}"


def load() -> dict[str, float]:
    """Return the floors."""
    found: dict[str, float] = json.loads(PATH.read_text("utf-8"))
    return found


def write() -> Path:
    """Measure, and write the floors."""
    PATH.write_text(json.dumps(measure(), indent=1) + "\n", "utf-8")
    return PATH
