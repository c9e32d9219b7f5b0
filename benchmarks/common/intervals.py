"""Means with 95 % bootstrap intervals; of words: whole sentences are drawn again."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

N_RESAMPLES = 1_000
SEED = 20_251
COUNTS = {"map": "n_guessed", "nll": "n_inferred", "mti_1": "n_inferred", "mti_10": "n_inferred"}
EXACT = ("cosine", "second", "kept", "knn_1", "knn_10", "plausibility", "mapping")
COUNTS |= dict.fromkeys(EXACT, "n_words")
Figures = Mapping[str, Sequence[float]]


def resamples(n: int) -> NDArray[np.float64]:
    """How often each of n sentences is drawn, float64 [N_RESAMPLES, n]; the same for every
    mechanism.
    """
    random = np.random.default_rng(SEED)
    return random.multinomial(n, np.full(n, 1 / n), size=N_RESAMPLES).astype(np.float64)


def weightings(n: int) -> NDArray[np.float64]:
    """How often each of n counts: once each, then as `resamples`; float64 [1 + N_RESAMPLES, n]."""
    return np.vstack([np.ones(n), resamples(n)])


def means(
    values: Sequence[float] | NDArray[np.float64], groups: Sequence[Hashable] | None = None
) -> NDArray[np.float64]:
    """The mean of the values as they are, then on resamples of them, or of whole groups; float64 [1
    + N_RESAMPLES].

    Args:
        groups: of each value, which group it belongs to; None: each to its own.
    """
    places = (
        np.arange(len(values))
        if groups is None
        else np.unique(np.asarray(groups), return_inverse=True)[1]
    )
    sums, counts = np.bincount(places, np.asarray(values, dtype=np.float64)), np.bincount(places)
    weights = weightings(len(sums))
    return np.asarray(weights @ sums / (weights @ counts))


def replicates(figures: Figures, name: str) -> NDArray[np.float64]:
    """The mean of one figure on the sentences as they are, then on each resample, float64 [1 +
    N_RESAMPLES].
    """
    values = np.asarray(figures[name], dtype=np.float64)
    counts = (
        np.asarray(figures[COUNTS[name]], dtype=np.float64)
        if name in COUNTS
        else np.ones(len(values))
    )
    weights = weightings(len(values))
    return np.asarray(weights @ values / (weights @ counts))


def interval(found: NDArray[np.float64]) -> dict[str, float]:
    """mean, low and high of replicates."""
    low, high = np.quantile(found[1:], (0.025, 0.975))
    return {"mean": float(found[0]), "low": float(low), "high": float(high)}


def summary(figures: Figures) -> dict[str, dict[str, float]]:
    """Every figure with its interval, but for those that were nowhere measured; `pseudo_perplexity`
    from `nll`.
    """
    found = {
        n: interval(replicates(figures, n))
        for n in figures
        if not n.startswith("n_") and _known(figures, n)
    }
    if "nll" in found:
        found["pseudo_perplexity"] = {k: float(np.exp(v)) for k, v in found["nll"].items()}
    return found


def _known(figures: Figures, name: str) -> bool:
    counted = name not in COUNTS or any(figures[COUNTS[name]])
    return counted and bool(np.isfinite(figures[name]).all())
