"""FBDD (Feyisetan et al., "Privacy- and Utility-Preserving Textual Analysis via Calibrated
Multivariate Perturbations", 2020; also called MLDP or MADLIB).

Noise z with density proportional to exp(-eps |z|) is added to the word's vector (section 3.4: a
uniform direction, a length from the gamma distribution with shape n_dimensions and scale 1 / eps);
the nearest output is released.

Claimed: eps d(w, w')-metric DP. True, in real numbers: the density moves by at most exp(eps |v -
v'|). Under replace-one the epsilon is at most eps times the largest distance. The length is about
n_dimensions / eps, so at small eps the nearest word to it is anyone's. Its draws are floating-point
numbers, which weakens any such proof.

In one dimension the distribution is exact (`on_a_line`); in more it has no closed form and is
drawn.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass

import numpy as np

from benchmarks.baselines.base import Floats, Places, Vectors

CHUNK = 256  # noisy vectors compared at a time


def on_a_line(word: float, outputs: Floats, epsilon: float) -> Floats:
    """P(output) for one-dimensional vectors, float64 [n_outputs]; outputs ascending."""
    middles = (outputs[1:] + outputs[:-1]) / 2 - word
    below = np.where(middles < 0, 0.5 * np.exp(epsilon * np.minimum(middles, 0)), 0.0)
    above = np.where(middles >= 0, 1 - 0.5 * np.exp(-epsilon * np.maximum(middles, 0)), 0.0)
    return np.diff(np.concatenate([[0.0], below + above, [1.0]]))


@dataclass(frozen=True)
class Fbdd:
    """Args: epsilon, per unit of distance."""

    epsilon: float
    name: str = "fbdd"

    def draw(self, vectors: Vectors, outputs: Vectors, n: int) -> Places:
        """Outputs, int [n_words, n]. Vectors float32 [n_words, n_dimensions], outputs float32
        [n_outputs, same].
        """
        random = np.random.default_rng(secrets.randbits(128))
        size = (n, *vectors.shape)
        direction = random.standard_normal(size, dtype=np.float32)
        direction /= np.linalg.norm(direction, axis=-1, keepdims=True)
        length = random.gamma(vectors.shape[1], 1 / self.epsilon, size=(n, len(vectors), 1)).astype(
            np.float32
        )
        half_squares = (outputs**2).sum(axis=1) / 2
        noisy = (vectors + direction * length).reshape(-1, vectors.shape[1])
        blocks = (noisy[i : i + CHUNK] for i in range(0, len(noisy), CHUNK))
        nearest = np.concatenate(
            [(block @ outputs.T - half_squares).argmax(axis=1) for block in blocks]
        )
        return nearest.reshape(n, len(vectors)).T
