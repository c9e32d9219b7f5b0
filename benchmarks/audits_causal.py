"""Claimed, certified and exact epsilon of Cape that reads from left to right: `python -m benchmarks.audits_causal`.

As benchmarks/audits.py, with the causal model, whose weights must be there (`sanitizer models fetch lm`). The
published variant: all its inputs at one place, in the original context. The certified one: all words at several
places, each in a context whose words before were released by a draw of its own; the largest is kept.
"""

from __future__ import annotations

import sys
from typing import Any

from benchmarks.audits import NOMINAL, published_cape
from benchmarks.left import fetched
from benchmarks.machine import say, write
from sanitizer import Cape, Sanitizer
from sanitizer.audit import EXAMPLE, EXAMPLE_POSITION, audit
from sanitizer.causal import OnnxCausalLM

POSITIONS = (0, EXAMPLE_POSITION, 2)


def certified(epsilon: float, model: OnnxCausalLM, n_inputs: int | None, positions: tuple[int, ...]) -> dict[str, Any]:
    """One row: the largest exact epsilon of several contexts."""
    sanitizer = Sanitizer(Cape(epsilon, backbone="causal"), policy="strict", causal=model)
    found = [audit(sanitizer, EXAMPLE, position, n_inputs).as_dict() for position in positions]
    worst = max(found, key=lambda row: float(row["exact"]))
    shown = {k: worst[k] for k in ("nominal", "claimed", "certified", "exact")}
    return {"mechanism": "cape certified, causal", **shown, "n_inputs": sum(row["n_inputs"] for row in found)}


def main(quick: bool) -> None:
    """Measure and write results/audits_causal.json."""
    if not fetched():
        return say("not measured: the causal model's weights are not here (sanitizer models fetch lm)")
    n, nominal, positions = (200, (10.0,), POSITIONS[1:2]) if quick else (None, NOMINAL, POSITIONS)
    model = OnnxCausalLM()
    rows = [certified(e, model, n, positions) for e in nominal]
    say(str(rows))
    rows += published_cape(n, Sanitizer(Cape(variant="published", backbone="causal"), causal=model))
    say(str(rows[len(nominal) :]))
    return print(write("audits_causal", "python -m benchmarks audits_causal" + " --quick" * quick, rows))


if __name__ == "__main__":
    main("--quick" in sys.argv[1:])
