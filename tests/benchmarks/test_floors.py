"""No change may spoil what `balanced` hides of the open prompts, or what it leaves of the task."""

from __future__ import annotations

from benchmarks.usefulness import floors
from sanitizer.risk.evaluation import MEASURES, OTHERS, TASKS


def test_balanced_does_not_fall_below_its_floors() -> None:
    """To write them anew: python -m benchmarks.usefulness.run --write-floors."""
    assert list(floors.worse(floors.measure(), floors.load())) == []


def test_a_floor_allows_one_point_and_no_more() -> None:
    floor = {"names, whole": 0.9, TASKS: 0.9, OTHERS: 0.1}
    assert list(floors.worse({"names, whole": 0.891, TASKS: 1.0, OTHERS: 0.109}, floor)) == []
    worse = floors.worse({"names, whole": 0.889, TASKS: 0.88, OTHERS: 0.111}, floor)
    assert [line.split(":")[0] for line in worse] == list(floor)


def test_each_measure_of_the_open_prompts_has_a_floor() -> None:
    assert list(floors.load()) == list(MEASURES)
