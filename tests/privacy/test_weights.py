"""Probabilities come from the integers that are drawn; bad arguments are named."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sanitizer.privacy.weights import (
    Weights,
    check_between,
    check_count,
    check_integer,
    check_number,
    check_one_of,
)


def test_probabilities_come_from_the_integers() -> None:
    weights = Weights((3, 1), (np.array([0, 2]), np.array([1, 2])), (np.array([1, 2]), None))
    assert weights.probabilities(3) == pytest.approx([0.25, 0.125, 0.625])
    assert [float(weights.probability(i)) for i in range(3)] == pytest.approx([0.25, 0.125, 0.625])


def test_a_bucket_may_hold_every_output() -> None:
    weights = Weights((1, 3), (np.array([2]), np.array([2, 0, 1])))
    exact = [weights.probability(i) for i in range(3)]
    assert weights.probabilities(3) == pytest.approx([float(p) for p in exact])
    assert sum(exact) == 1


@pytest.mark.parametrize(
    ("check", "arguments", "good", "bad"),
    [
        (check_one_of, (("a", "b"),), ["a"], ["c", None, 1]),
        (check_number, (0.0, 2.0), [0.1, 2, 2.0], [0, 2.1, float("nan"), True, "1", None]),
        (check_between, (0.0, 2.0), [0, 2.0], [-0.1, float("nan"), True, "1", None]),
        (check_between, (0.0, 2.0, True), [0.1], [0, 2.0, True]),
        (check_count, (), [1, 10**9], [0, 1.0, True, None]),
        (check_count, (3, 2), [2, 3], [1, 4]),
        (check_integer, (2, 3), [2, 3], [1, 4, 2.0, True, None]),
    ],
)
def test_what_is_wrong_is_named(
    check: Any, arguments: tuple[object, ...], good: list[object], bad: list[object]
) -> None:
    for value in good:
        check("size", value, *arguments)
    for value in bad:
        with pytest.raises(ValueError, match=r"^size must be .*, got"):
            check("size", value, *arguments)
