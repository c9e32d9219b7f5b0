"""Claimed, certified and exact epsilon of Cape that reads from left to right.

    python -m benchmarks.privacy.audits_causal

As benchmarks/privacy/audits.py, with the causal model, whose weights must be there (`sanitizer
models fetch lm`). The published variant: all its inputs at one place, in the original context. The
certified one: all words at several places, each in a context whose words before were released by a
draw of its own; the largest is kept.
"""

from __future__ import annotations

import sys
from functools import cache

from benchmarks.common.machine import say, write
from benchmarks.common.processes import processes
from benchmarks.frontier.left_context import fetched
from benchmarks.privacy.audits import NOMINAL, Row, published_cape, said
from sanitizer import Cape, Sanitizer
from sanitizer.lm import OnnxCausalLM
from sanitizer.risk import EXAMPLE, EXAMPLE_POSITION, audit

POSITIONS = (0, EXAMPLE_POSITION, 2)


@cache
def _model() -> OnnxCausalLM:
    return OnnxCausalLM()


def certified(epsilon: float, n_inputs: int | None, positions: tuple[int, ...]) -> Row:
    """One row: the largest exact epsilon of several contexts."""
    sanitizer = Sanitizer(Cape(epsilon, backbone="causal"), policy="strict", causal=_model())
    found = [audit(sanitizer, EXAMPLE, position, n_inputs).as_dict() for position in positions]
    worst = max(found, key=lambda row: float(row["exact"]))
    shown = {k: worst[k] for k in ("nominal", "claimed", "certified", "exact")}
    return {
        "mechanism": "cape certified, causal",
        **shown,
        "n_inputs": sum(row["n_inputs"] for row in found),
    }


def main(quick: bool) -> None:
    """Measure and write results/audits_causal.json."""
    if not fetched():
        return say(
            "not measured: the causal model's weights are not here (sanitizer models fetch lm)"
        )
    n, nominal, positions = (200, (10.0,), POSITIONS[1:2]) if quick else (None, NOMINAL, POSITIONS)
    with processes() as pool:
        made = pool.map(certified, nominal, [n] * len(nominal), [positions] * len(nominal))
        rows = [*said(made), *said(published_cape(pool, n, causal=True))]
    return say(
        str(write("audits_causal", "python -m benchmarks audits_causal" + " --quick" * quick, rows))
    )


if __name__ == "__main__":
    main("--quick" in sys.argv[1:])
