"""Claimed, certified and exact epsilon of every mechanism variant at the nominal values of the papers.

All words of each domain in one context (sanitizer.audit.EXAMPLE); the published Cape buckets of a word are computed
once and weighted for each nominal epsilon.
"""

from __future__ import annotations

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.machine import write
from sanitizer import Cape, Sanitizer
from sanitizer.audit import EXAMPLE, EXAMPLE_POSITION, Extremes, audit, domain, position_logits, probabilities
from sanitizer.left_context import LOGIT_RANGE
from sanitizer.mechanisms.cape import bucket_weights
from sanitizer.mechanisms.dyntext import DynText

NOMINAL = (1.0, 3.0, 6.0, 10.0, 14.0, 20.0)
CHUNK = 64


def published_cape(n_inputs: int | None, sanitizer: Sanitizer | None = None) -> list[dict[str, Any]]:
    """One walk over the vocabulary for all nominal values.

    Args:
        sanitizer: published Cape; default with the masked model.
    """
    sanitizer = sanitizer or Sanitizer(Cape(variant="published"))
    parts, mechanism = sanitizer.parts(), Cape(variant="published")
    left = parts.engine.left is not None
    nominal = [Cape(epsilon, variant="published") for epsilon in NOMINAL]
    words = domain(sanitizer)
    words = words if n_inputs is None else words[:: max(1, len(words) // n_inputs)][:n_inputs]
    logits = position_logits(sanitizer, EXAMPLE, EXAMPLE_POSITION)
    low, high = LOGIT_RANGE if left else parts.model.logit_range
    scores = np.clip((logits - low) / (high - low), 0.0, 1.0)
    every = np.arange(len(logits))

    def part(begin: int) -> list[Extremes]:
        found = [Extremes.none(len(logits)) for _ in NOMINAL]
        chunk = words[begin : begin + CHUNK]
        distance = parts.engine.space.distances(chunk)
        for i in range(len(chunk)):
            utility: NDArray[np.float32] = mechanism.utility(scores, distance(i, every))
            for cape, extremes in zip(nominal, found, strict=True):
                weights = bucket_weights(utility, cape.epsilon, cape.n_buckets)
                extremes.add(probabilities(weights, len(logits)), begin + i)
                extremes.claimed = max(extremes.claimed or 0.0, cape.claimed(weights) or 0.0)
        return found

    whole = [Extremes.none(len(logits)) for _ in NOMINAL]
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for parts_found in pool.map(part, range(0, len(words), CHUNK)):
            for total, found in zip(whole, parts_found, strict=True):
                total.merge(found)
    return [
        {
            "mechanism": "cape published" + ", causal" * left,
            "nominal": epsilon,
            "claimed": extremes.claimed,
            "certified": None,
            "exact": extremes.worst()[1],
            "n_inputs": len(words),
        }
        for epsilon, extremes in zip(NOMINAL, whole, strict=True)
    ]


def by_audit(name: str, mechanism: Cape | DynText, n_inputs: int | None) -> dict[str, Any]:
    """One row by the package's own audit."""
    found = audit(Sanitizer(mechanism), n_inputs=n_inputs).as_dict()
    return {"mechanism": name, **{k: found[k] for k in ("nominal", "claimed", "certified", "exact", "n_inputs")}}


def main(quick: bool) -> None:
    """Measure and write results/audits.json."""
    cape, dyntext, few = (200, 50, 50) if quick else (None, 20_000, 1_000)
    nominal = (10.0,) if quick else NOMINAL
    rows = [by_audit("cape certified", Cape(e), cape) for e in nominal]
    rows += published_cape(cape)
    rows += [by_audit("dyntext certified", DynText(e), dyntext) for e in nominal]
    rows += [by_audit("dyntext published", DynText(e, variant="published"), few) for e in nominal]
    for row in rows:
        print(row, flush=True)
    print(write("audits", "python -m benchmarks audits" + " --quick" * quick, rows))


if __name__ == "__main__":
    main("--quick" in sys.argv[1:])
