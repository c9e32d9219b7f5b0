"""Rényi divergences by their order, as papers state them."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from sanitizer.privacy.accounting import SMALLEST_EXCESS, Event, divergence_above_one
from sanitizer.privacy.weights import Floats


def renyi_divergence(event: Event, alpha: ArrayLike) -> Floats:
    """Return the largest divergence between neighbouring inputs, of each order of at least 1."""
    excess = np.asarray(alpha, dtype=np.float64) - 1
    return divergence_above_one(event, np.maximum(excess, SMALLEST_EXCESS))
