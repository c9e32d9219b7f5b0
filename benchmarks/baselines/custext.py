"""CUSTEXT and CUSTEXT+ (Chen et al., "A Customized Text Sanitization Mechanism with Differential
Privacy", 2023).

Section 4.1 maps every word to one set of K outputs; section 4.2 draws from that set by the
exponential mechanism, with a score between 0 and 1 that falls with the distance. CUSTEXT+ is the
same with stopwords left alone; where stopwords are public anyway, as in our comparison, the two are
one.

Claimed: eps-DP for words that share a set. True: yes, and nothing else. The sets are disjoint, so
two words of different sets never give the same output: under replace-one the epsilon is infinite,
and the released word tells for certain which K words the private one is among. The original also
passes on words it does not know; here these are drawn uniformly.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from benchmarks.baselines.base import Floats, Inputs, Places, Vectors, euclidean, softmax


def mapping(vectors: Vectors, k: int = 20) -> Places:
    """Disjoint sets of k near outputs, greedily from the most frequent word on (algorithm 1).

    Args:
        vectors: float32 [n_outputs, n_dimensions], of length one, the most frequent first.

    Returns:
        int [n_outputs], the set of each output; the last set may be smaller.
    """
    sets = np.full(len(vectors), -1, dtype=np.intp)
    free = np.arange(len(vectors))
    n_sets = 0
    while len(free):
        near = np.argsort(-(vectors[free] @ vectors[free[0]]), kind="stable")
        near = np.concatenate([[0], near[near != 0]])[:k]
        sets[free[near]] = n_sets
        free, n_sets = np.delete(free, near), n_sets + 1
    return sets


def diameters(vectors: Vectors, sets: Places) -> Vectors:
    """float32 [n_sets]: the largest distance inside each set, at least 1e-6."""
    members = [vectors[sets == i] for i in range(int(sets.max()) + 1)]
    return np.array([max(float(euclidean(m @ m.T).max()), 1e-6) for m in members], dtype=np.float32)


@dataclass(frozen=True)
class CusText:
    """Args: epsilon, within a set. sets, diameters: see `mapping` and `diameters`."""

    epsilon: float
    sets: Places = field(repr=False)
    diameters: Vectors = field(repr=False)
    name: str = "custext+"

    def probabilities(self, inputs: Inputs) -> Floats:
        own = self.sets[inputs.nearest]
        scores = -np.minimum(inputs.distances / self.diameters[own, None], 1)
        inside = self.sets[None] == own[:, None]
        drawn = softmax(np.where(inside, self.epsilon / 2 * scores, -np.inf))
        drawn[inputs.nearest < 0] = 1 / drawn.shape[1]
        return drawn
