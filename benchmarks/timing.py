"""Timings in turns, with 95 % bootstrap intervals of medians, and of their ratios and differences."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from benchmarks.intervals import N_RESAMPLES, SEED

Times = dict[str, list[float]]
Interval = dict[str, float]


def in_turns(runs: Mapping[str, Callable[[], object]], n: int, warm: bool = True) -> Times:
    """Seconds of each, in turn n times; each timed call comes after an untimed one of the same, unless told not to."""
    times: Times = {name: [] for name in runs}
    for _ in range(n):
        for name, run in runs.items():
            if warm:
                run()
            begin = time.perf_counter()
            run()
            times[name].append(time.perf_counter() - begin)
    return times


def median(times: Sequence[float], scale: float = 1e3) -> Interval:
    """mean (the median itself), low and high; by default in milliseconds."""
    return _interval(_medians(times) * scale, float(np.median(times)) * scale)


def ratio(times: Sequence[float], others: Sequence[float]) -> Interval:
    """Of the medians of two series taken in turns: rounds are drawn again, both together."""
    return _interval(_medians(times) / _medians(others), float(np.median(times) / np.median(others)))


def difference(times: Sequence[float], others: Sequence[float], scale: float = 1e3) -> Interval:
    """Of the medians, as `ratio`."""
    middle = float(np.median(times) - np.median(others)) * scale
    return _interval((_medians(times) - _medians(others)) * scale, middle)


def _medians(times: Sequence[float]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    values = np.asarray(times)
    drawn = np.random.default_rng(SEED).integers(len(values), size=(N_RESAMPLES, len(values)))
    return np.asarray(np.median(values[drawn], axis=1))


def _interval(found: np.ndarray[tuple[int], np.dtype[np.float64]], middle: float) -> Interval:
    low, high = np.quantile(found, (0.025, 0.975))
    return {"mean": middle, "low": float(low), "high": float(high)}
