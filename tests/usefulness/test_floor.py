"""No change may spoil what the presets hide of the open prompts, or what they leave of the task."""

from __future__ import annotations

import pytest

from benchmarks.usefulness.floors import PRESETS, figures, load, prompts, worse
from benchmarks.usefulness.presets import known

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_does_not_fall_below_its_floors(name: str) -> None:
    preset = known(name)
    if preset is None:
        pytest.skip(f"the product knows no preset {name!r}")
    floors = load()
    assert name in floors, "run python -m benchmarks.usefulness.run --write-floors"
    assert worse(figures(preset, prompts()), floors[name]) == []
