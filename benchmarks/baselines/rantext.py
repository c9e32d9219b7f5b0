"""RANTEXT of InferDPT (Tong et al., "InferDPT: Privacy-Preserving Inference for Black-box LLMs",
2023).

Laplace noise is added to the word's vector, coordinate by coordinate with the scale range_j / b;
the list holds the words that are nearer to the word than its noisy vector is. Its radius r is the
length of the noise and no more. From the list one word is drawn with probability proportional to
exp(eps (1 - d / r) / 2). The paper's noise budget b is eps below 2, and above it a slow function of
eps that was fitted to one model's vectors, about 9.3 throughout.

Claimed: eps-DP. True: the proof takes the list as given, the same for both words; but the list is
drawn anew around each private word and its noise is not paid for. What is released depends on both
draws. Summed over the radius, every output has a positive probability, so the exact epsilon is
finite; it is set by how rarely the list reaches far words, and lies far above eps. Cape's authors
give eps + 9 for it.

Here distances and radii are rounded up to multiples of STEP: with that the distribution of the
radius, and of the output, is computed without drawing anything. An empty list gives a uniform draw
(the original drops the word).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from math import log

import numpy as np

from benchmarks.baselines.base import Floats, Inputs, Places, Vectors

STEP = 1 / 256
LONGEST = 4.0
N_LEVELS = round(2 / STEP) + 1  # of distances
CELLS = 2048  # of the squared length of the noise, up to LONGEST squared


def noise_budget(epsilon: float) -> float:
    """b: epsilon below 2, else the published code's logarithm."""
    return (
        epsilon
        if epsilon < 2
        else 0.0165816 * log(max(19.0647216 * epsilon - 38.1294334, 1e-9)) + 9.3110838
    )


def radius_shares(ranges: Vectors, epsilon: float) -> Floats:
    """P(radius in the i-th step), float64 [LONGEST / STEP]; longer noise counts as the longest.

    The squared length is a sum of independent squared Laplace draws, convolved one by one on a
    grid.

    Args:
        ranges: float32 [n_dimensions], largest less smallest value of each coordinate over the
            outputs.
    """
    width = LONGEST**2 / CELLS
    edges = np.sqrt(
        np.maximum(np.arange(CELLS + 1) - 0.5, 0) * width
    )  # a cell is the values that round to it
    total = np.eye(1, CELLS).ravel()
    for scale in ranges.astype(np.float64) / noise_budget(epsilon):
        cell = np.exp(-edges[:-1] / scale) - np.exp(-edges[1:] / scale)
        total = np.convolve(total, cell)[
            :CELLS
        ]  # by sums, not by Fourier transform: small values stay exact
    radii = np.sqrt(np.arange(CELLS) * width)
    steps = np.minimum((radii / STEP).astype(np.intp), round(LONGEST / STEP) - 1)
    shares = np.bincount(steps, total, round(LONGEST / STEP))
    shares[-1] += max(0.0, 1 - shares.sum())
    return np.asarray(shares, dtype=np.float64)


@dataclass(frozen=True)
class RanText:
    """Args: epsilon, of the draw from the list. shares: see `radius_shares`."""

    epsilon: float
    shares: Floats = field(repr=False)
    name: str = "rantext"

    def probabilities(self, inputs: Inputs) -> Floats:
        levels = np.ceil(inputs.distances / STEP).astype(np.intp)
        counts = np.stack([np.bincount(row, minlength=N_LEVELS) for row in levels], axis=1)
        return np.stack([p[row] for p, row in zip(self._of_levels(counts), levels, strict=True)])

    @cached_property
    def _odds(self) -> Floats:
        """float64 [n_radii, n_levels]: weight of one output at each distance level, for each upper
        end of a radius.
        """
        d, radius = np.arange(N_LEVELS), np.arange(1, len(self.shares) + 1)[:, None]
        return np.where(d < radius, np.exp(self.epsilon / 2 * (1 - d / radius)), 0.0)

    def _of_levels(self, counts: Places) -> Floats:
        """P(one output at each distance level), float64 [n_words, n_levels]: all outputs of one
        level are alike.

        Args:
            counts: int [n_levels, n_words], outputs at each level.
        """
        sums = self._odds @ counts.astype(np.float64)
        share = np.divide(self.shares[:, None], sums, out=np.zeros_like(sums), where=sums > 0)
        empty = np.where(sums == 0, self.shares[:, None], 0.0).sum(axis=0) / counts.sum(axis=0)
        return np.asarray(share.T @ self._odds + empty[:, None])
