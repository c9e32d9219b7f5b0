"""The plain exponential mechanism (McSherry and Talwar, 2007) with Cape's hybrid utility, without
its buckets.

P(y | w) proportional to exp(eps u(w, y) / 2), u = L^lambda_l exp(-lambda_d (1 - cosine)) in [0, 1],
sensitivity 1.

Claimed and true: eps-DP under replace-one, if the scores L read public or released text only, as
here. The exact epsilon is a little smaller, because no pair of words uses the whole range of u.
Over a public shortlist (a choice of columns before the call) the claim holds as well: the shortlist
is the same for every private word.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.baselines.base import Floats, Inputs, softmax


@dataclass(frozen=True)
class Exponential:
    """Args: epsilon, in nats. lambda_l, lambda_d: as in Cape's certified default."""

    epsilon: float
    lambda_l: float = 0.5
    lambda_d: float = 3.0
    name: str = "exponential"

    def probabilities(self, inputs: Inputs) -> Floats:
        utility = np.exp(-self.lambda_d * inputs.distances.astype(np.float64) ** 2 / 2)
        if inputs.scores is not None:
            utility *= inputs.scores**self.lambda_l
        return softmax(self.epsilon / 2 * utility)
