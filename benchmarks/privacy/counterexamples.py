"""Published bounds beside what small inputs give: `python -m benchmarks.privacy.counterexamples`.

Each case is an input that the published algorithm allows, run through the algorithm as we have it;
probabilities come from the integers that are drawn, divergences from exact fractions. The cases are
toy scores, not those of a model: they show that a statement is false, not how much real texts leak.

- Cape, theorem 4.1 (epsilon + ln(largest bucket / smallest bucket)), for both readings of the
  maximum: over the buckets of one input, and over those of both.
- DPS-MOZO, theorem B.3 (Rényi divergence 4 beta alpha when one demonstration is replaced).
"""

from __future__ import annotations

from fractions import Fraction
from math import log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.common.machine import say, write
from sanitizer.privacy.cape import bucket_weights
from sanitizer.privacy.dps_mozo import DPSMOZO
from sanitizer.privacy.next_token import TokenWeights
from sanitizer.privacy.weights import Weights

N_BUCKETS = 50  # the paper's
Sizes = dict[int, int]  # place of a bucket from the bottom -> how many outputs are in it

# The last output is in the highest bucket for both inputs, so that its utility does not differ:
# only the sizes of buckets and the normalizers do.
CAPE: dict[str, tuple[float, Sizes, Sizes]] = {
    "as many buckets, small one on top of large ones, and the reverse": (
        0.1,
        {**dict.fromkeys(range(49), 34), 49: 17},
        {**dict.fromkeys(range(49), 33), 49: 66},
    ),
    "two buckets, and fifty": (
        0.1,
        {0: 90, 49: 10},
        {**dict.fromkeys(range(49), 1), 49: 51},
    ),
}
FAILURES: dict[str, tuple[DPSMOZO, tuple[tuple[float, ...], ...]]] = {
    "4 shots, order 5, beta 0.342: as the paper's table 5 has them": (
        DPSMOZO(4, beta=0.342, order=5, variant="published"),
        ((-3.5, -0.2, -1.9), (0, -6.8, -0.2), (0, -4, -8), (0, 2, 8)),
    ),
    "1 shot: a token of probability e^-20": (
        DPSMOZO(1, beta=0.342, order=5, variant="published"),
        ((0, -20), (0, 0), (0, 10), (0, -10)),
    ),
    "4 shots, order 2, beta 1": (
        DPSMOZO(4, beta=1.0, order=2, variant="published"),
        ((-4.8, -0.2, -1.7), (0, -10.7, -3.6), (0, -6.6, -13.8), (0, 12.8, 14.8)),
    ),
}
"""DPS-MOZO: row 0, what each of the other demonstrations adds, and what the last adds before and
after it is replaced."""


def utilities(sizes: Sizes) -> NDArray[np.float64]:
    """Return utilities in [0, 1] that fill the buckets as given; the last output is the highest."""
    return np.concatenate(
        [np.full(size, place / (N_BUCKETS - 1)) for place, size in sorted(sizes.items())]
    )


def cape(epsilon: float, first: Sizes, second: Sizes) -> dict[str, float]:
    """Return what is claimed, in both readings, and the exact epsilon between two inputs."""
    weights = [bucket_weights(utilities(sizes), epsilon, N_BUCKETS) for sizes in (first, second)]
    probabilities = [w.probabilities(sum(first.values())) for w in weights]
    losses = np.log(probabilities[0]) - np.log(probabilities[1])
    return {
        "nominal": epsilon,
        "claimed, one input": epsilon + max(_spread(w) for w in weights),
        "claimed, both inputs": epsilon + _spread(*weights),
        "exact": float(np.abs(losses).max()),
    }


def _spread(*weights: Weights) -> float:
    sizes = [len(members) for w in weights for members in w.members]
    return log(max(sizes) / min(sizes))


def divergence(p: TokenWeights, q: TokenWeights, order: int) -> float:
    """Return D_order(P || Q) in nats; the sum is exact, its logarithm a float."""
    total = Fraction(0)
    for a, b in zip(p.weights, q.weights, strict=True):
        total += Fraction(a, sum(p.weights)) ** order / Fraction(b, sum(q.weights)) ** (order - 1)
    return (log(total.numerator) - log(total.denominator)) / (order - 1)


def dps_mozo(decoder: DPSMOZO, case: tuple[tuple[float, ...], ...]) -> dict[str, float]:
    """Return what theorem B.3 claims of one token, and the divergence."""
    assert decoder.beta is not None
    assert decoder.order is not None
    public, others, before, after = (np.array(row) for row in case)
    rest = [public + others] * (decoder.n_shots - 1)
    p, q = (
        decoder.weights(np.array([public, *rest, public + last], dtype=np.float32))
        for last in (before, after)
    )
    return {
        "shots": decoder.n_shots,
        "order": decoder.order,
        "beta": decoder.beta,
        "tokens": len(public),
        "claimed": 4 * decoder.beta * decoder.order,
        "exact": max(divergence(p, q, decoder.order), divergence(q, p, decoder.order)),
    }


def measured() -> dict[str, Any]:
    """Return every case, by publication."""
    return {
        "cape": {name: cape(*case) for name, case in CAPE.items()},
        "dps-mozo": {name: dps_mozo(*case) for name, case in FAILURES.items()},
    }


def main() -> None:
    """Compute all cases and write the result."""
    results = measured()
    for publication, cases in results.items():
        for name, found in cases.items():
            say(f"{publication}, {name}: {found}")
    write("counterexamples", results)


if __name__ == "__main__":
    main()
