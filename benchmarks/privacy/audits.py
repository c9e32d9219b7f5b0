"""Claimed, certified and exact epsilon of every mechanism variant at the nominal values of the
papers.

    python -m benchmarks.privacy.audits [--causal] [--quick]

--causal: of Cape that reads from left to right, whose model must be there (`sanitizer models fetch
lm`); the certified variant at several places, each in a context whose words before were released by
a draw of its own, the largest is kept.

All words of each domain in one context (`sanitizer.risk.EXAMPLE`); the published Cape buckets of a
word are computed once and weighted for each nominal epsilon. Rows, and parts of the published walk,
are spread over processes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import Executor
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.common.machine import causal_fetched, parser, say, write
from benchmarks.common.processes import processes
from sanitizer import Cape, Sanitizer
from sanitizer.lm import OnnxCausalLM
from sanitizer.pipeline import LOGIT_RANGE
from sanitizer.privacy import DynText, bucket_weights
from sanitizer.risk import (
    EXAMPLE,
    EXAMPLE_POSITION,
    Extremes,
    audit,
    domain,
    position_logits,
)

NOMINAL = (1.0, 3.0, 6.0, 10.0, 14.0, 20.0)
POSITIONS = (0, EXAMPLE_POSITION, 2)
"""Places of certified causal Cape."""
CHUNK, N_PARTS = 64, 8
Row = dict[str, Any]


@cache
def causal_model() -> OnnxCausalLM:
    """Return the causal model, loaded once in a process."""
    return OnnxCausalLM()


@cache
def published(causal: bool) -> tuple[Sanitizer, NDArray[np.float32], list[str]]:
    """Published Cape, its scores of the context, float32 [n_outputs], and its inputs."""
    mechanism = Cape(variant="published", backbone="causal" if causal else "masked")
    sanitizer = Sanitizer(mechanism, causal=causal_model() if causal else None, policy="words")
    return sanitizer, position_logits(sanitizer, EXAMPLE, EXAMPLE_POSITION), domain(sanitizer)


def walked(causal: bool, wanted: int | None, part: int) -> tuple[list[Extremes], int]:
    """One of N_PARTS parts of the inputs under all nominal values at once, and how many inputs
    there are in all.

    Args:
        wanted: so many inputs, evenly spaced; None for all.
    """
    sanitizer, logits, words = published(causal)
    words = words if wanted is None else words[:: max(1, len(words) // wanted)][:wanted]
    models, nominal = (
        sanitizer.inner.models(),
        [Cape(epsilon, variant="published") for epsilon in NOMINAL],
    )
    low, high = LOGIT_RANGE if causal else models.model.logit_range
    scores, every = np.clip((logits - low) / (high - low), 0.0, 1.0), np.arange(len(logits))
    found = [Extremes.none(len(logits)) for _ in NOMINAL]
    for begin in range(CHUNK * part, len(words), CHUNK * N_PARTS):
        chunk = words[begin : begin + CHUNK]
        distance = models.engine.space.distances(chunk)
        for i in range(len(chunk)):
            utility: NDArray[np.float32] = nominal[0].utility(scores, distance(i, every))
            for cape, extremes in zip(nominal, found, strict=True):
                weights = bucket_weights(utility, cape.epsilon, cape.n_buckets)
                extremes.add(weights.probabilities(len(logits)), begin + i)
                extremes.claimed = max(extremes.claimed or 0.0, cape.claimed(weights) or 0.0)
    return found, len(words)


def published_cape(pool: Executor, n_inputs: int | None, causal: bool = False) -> list[Row]:
    """A row for each nominal value, from one walk over the inputs."""
    parts = list(pool.map(walked, [causal] * N_PARTS, [n_inputs] * N_PARTS, range(N_PARTS)))
    whole, n_words = parts[0]
    for found, _ in parts[1:]:
        for total, part in zip(whole, found, strict=True):
            total.merge(part)
    return [
        {
            "mechanism": "cape published" + ", causal" * causal,
            "nominal": epsilon,
            "claimed": extremes.claimed,
            "certified": None,
            "exact": extremes.worst()[1],
            "n_inputs": n_words,
        }
        for epsilon, extremes in zip(NOMINAL, whole, strict=True)
    ]


def by_audit(name: str, mechanism: Cape | DynText, n_inputs: int | None) -> Row:
    """One row by the package's own audit."""
    found = audit(Sanitizer(mechanism, policy="words"), n_inputs=n_inputs).as_dict()
    return {
        "mechanism": name,
        **{k: found[k] for k in ("nominal", "claimed", "certified", "exact", "n_inputs")},
    }


def said(rows: Iterable[Row]) -> Sequence[Row]:
    """Rows, shown as they come."""
    found = []
    for row in rows:
        say(str(row))
        found.append(row)
    return found


def causal_audit(epsilon: float, n_inputs: int | None, positions: Sequence[int]) -> Row:
    """Return the largest exact epsilon of certified causal Cape in several contexts."""
    sanitizer = Sanitizer(Cape(epsilon, backbone="causal"), policy="strict", causal=causal_model())
    found = [audit(sanitizer, EXAMPLE, position, n_inputs).as_dict() for position in positions]
    worst = max(found, key=lambda row: float(row["exact"]))
    shown = {k: worst[k] for k in ("nominal", "claimed", "certified", "exact")}
    n = sum(row["n_inputs"] for row in found)
    return {"mechanism": "cape certified, causal", **shown, "n_inputs": n}


def audits(pool: Executor, quick: bool) -> list[Row]:
    """Return the rows of Cape and DynText."""
    cape, dyntext, few = (200, 50, 50) if quick else (None, 20_000, 1_000)
    nominal = (10.0,) if quick else NOMINAL
    audited: list[tuple[str, list[Cape] | list[DynText], int | None]] = [
        ("cape certified", [Cape(e) for e in nominal], cape),
        ("cape medoids", [Cape(e, profile="medoids") for e in nominal], cape),
        ("dyntext certified", [DynText(e) for e in nominal], dyntext),
        ("dyntext published", [DynText(e, variant="published") for e in nominal], few),
    ]
    futures = [
        pool.map(by_audit, [name] * len(made), made, [n] * len(made)) for name, made, n in audited
    ]
    return [
        *said(futures[0]),
        *said(futures[1]),
        *said(published_cape(pool, cape)),
        *said(futures[2]),
        *said(futures[3]),
    ]


def causal_audits(pool: Executor, quick: bool) -> list[Row]:
    """Return the rows of Cape with the causal model."""
    n, nominal = (200, (10.0,)) if quick else (None, NOMINAL)
    places = [POSITIONS[1:2] if quick else POSITIONS] * len(nominal)
    made = pool.map(causal_audit, nominal, [n] * len(nominal), places)
    return [*said(made), *said(published_cape(pool, n, causal=True))]


def main() -> None:
    """Measure and write results/audits.json, or audits_causal.json."""
    line = parser(__doc__, "few inputs, one epsilon")
    line.add_argument("--causal", action="store_true", help="Cape with the causal model")
    options = line.parse_args()
    name = "audits_causal" if options.causal else "audits"
    if options.causal and not causal_fetched():
        say("not measured: the causal model's weights are not here (sanitizer models fetch lm)")
        return
    with processes() as pool:
        rows = (causal_audits if options.causal else audits)(pool, options.quick)
    write(name, rows)


if __name__ == "__main__":
    main()
