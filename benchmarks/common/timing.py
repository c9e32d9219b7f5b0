"""Timings in turns, with 95 % bootstrap intervals of quantiles, and of their ratios and
differences.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks.common.intervals import N_RESAMPLES, SEED, interval

Times = dict[str, list[float]]
Interval = dict[str, float]


def in_turns(runs: Mapping[str, Callable[[], object]], n: int, warm: bool = True) -> Times:
    """Seconds of each, in turn n times; each timed call comes after an untimed one of the same,
    unless told not to.
    """
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
    return quantile(times, 0.5, scale)


def quantile(times: Sequence[float], q: float, scale: float = 1e3) -> Interval:
    """As `median`."""
    return interval(replicates(times, q) * scale)


def ratio(times: Sequence[float], others: Sequence[float]) -> Interval:
    """Of the medians of two series taken in turns: rounds are drawn again, both together."""
    return interval(replicates(times) / replicates(others))


def difference(
    times: Sequence[float], others: Sequence[float], q: float = 0.5, scale: float = 1e3
) -> Interval:
    """Of the quantiles, as `ratio`."""
    return interval((replicates(times, q) - replicates(others, q)) * scale)


def share(
    times: Sequence[float], others: Sequence[float], base: Sequence[float], q: float = 0.5
) -> Interval:
    """What the first add to the base, over what the second add to it; as `ratio`."""
    below = replicates(base, q)
    return interval((replicates(times, q) - below) / (replicates(others, q) - below))


def replicates(times: Sequence[float], q: float = 0.5) -> NDArray[np.float64]:
    """The quantile of the times as they are, then of each resample of the rounds, float64 [1 +
    N_RESAMPLES].
    """
    values = np.asarray(times, dtype=np.float64)
    drawn = np.random.default_rng(SEED).integers(len(values), size=(N_RESAMPLES, len(values)))
    return np.concatenate([np.quantile(values, [q]), np.quantile(values[drawn], q, axis=1)])
