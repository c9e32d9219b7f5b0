"""Comparisons word by word: which is ahead at equal epsilon, and at equal best guess."""

from __future__ import annotations

import pytest

from benchmarks.common.intervals import Figures
from benchmarks.frontier.words import Point, at_equal_epsilon, at_equal_guess, points, verdict

N = 12
OURS = "medoids, not demoted"


def figures(cosine: float, guess: float) -> Figures:
    """Figures of sentences that differ a little, the same way for every mechanism."""
    wobble = [0.01 * (i % 3) for i in range(N)]
    means = {"cosine": cosine, "second": cosine / 2, "plausibility": -7 + cosine, "map": guess}
    found = {name: [mean + w for w in wobble] for name, mean in means.items()}
    return found | {"n_words": [1.0] * N, "n_guessed": [1.0] * N}


def point(label: str, epsilon: float) -> Point:
    return Point(label, "cape certified", epsilon, {})


@pytest.fixture
def entries() -> list[tuple[Point, Figures]]:
    """Our curve, and a peer that keeps more at equal epsilon but is guessed far more often."""
    return [
        (point(OURS, 3.0), figures(0.3, 0.1)),
        (point(OURS, 5.0), figures(0.5, 0.3)),
        (point("peer", 3.0), figures(0.32, 0.2)),
    ]


def test_equal_epsilon_compares_what_stands_there(entries: list[tuple[Point, Figures]]) -> None:
    rows = {row["figure"]: row for row in at_equal_epsilon(entries, OURS)}
    assert rows["cosine"]["mean"] == pytest.approx(-0.02)
    assert rows["cosine"]["verdict"] == "behind"
    assert rows["map"]["mean"] == pytest.approx(-0.1)


def test_equal_guess_interpolates_our_curve(entries: list[tuple[Point, Figures]]) -> None:
    rows = {row["figure"]: row for row in at_equal_guess(entries, OURS)}
    assert rows["cosine"]["mean"] == pytest.approx(0.4 - 0.32)
    assert rows["cosine"]["verdict"] == "ahead"
    entries[2] = (point("peer", 3.0), figures(0.32, 0.9))
    assert at_equal_guess(entries, OURS) == [], "beyond the curve nothing is said"


def test_an_interval_over_zero_is_a_tie() -> None:
    assert verdict({"mean": 0.1, "low": -0.1, "high": 0.3}) == "tie"


def test_published_points_are_asked_for() -> None:
    few, all_ = points((5.0,), published=False), points((5.0,), published=True)
    assert {p.label for p in all_} - {p.label for p in few} == {
        "Cape published",
        "CUSTEXT+",
        "DynText published",
    }
