"""Claimed, certified and exact epsilon of every mechanism variant at the nominal values of the
papers.

    python -m benchmarks.privacy.audits [--causal] [--quick]

--causal: of Cape that reads from left to right, whose model must be there (`sanitizer models fetch
lm`); the certified variant at several places, each in a context whose words before were released by
a draw of its own, the largest is kept. All words of each domain in one context
(`sanitizer.risk.EXAMPLE`); rows are spread over processes.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from benchmarks.common.machine import causal_fetched, parser, say, write
from benchmarks.common.processes import processes
from sanitizer import Cape, Sanitizer
from sanitizer.lm.causal import OnnxCausalLM
from sanitizer.privacy.dyntext import DynText
from sanitizer.risk.exact_audit import EXAMPLE, EXAMPLE_POSITION, audit

NOMINAL = (1.0, 3.0, 6.0, 10.0, 14.0, 20.0)
POSITIONS = (0, EXAMPLE_POSITION, 2)
"""Places of certified causal Cape."""
Row = dict[str, Any]
Wanted = tuple[str, Cape | DynText, int | None, Sequence[int]]
"""Name, mechanism, how many inputs (None for all), and places."""


@cache
def causal_model() -> OnnxCausalLM:
    """Return the causal model, loaded once in a process."""
    return OnnxCausalLM()


def audited(wanted: Wanted) -> Row:
    """Return one row: the largest exact epsilon of the places."""
    name, mechanism, n_inputs, positions = wanted
    causal = causal_model() if getattr(mechanism, "backbone", "") == "causal" else None
    policy = "strict" if len(positions) > 1 else "words"
    sanitizer = Sanitizer(mechanism, policy=policy, causal=causal)
    found = [audit(sanitizer, EXAMPLE, place, n_inputs).as_dict() for place in positions]
    worst = max(found, key=lambda row: float(row["exact"]))
    shown = {k: worst[k] for k in ("nominal", "claimed", "certified", "exact")}
    return {"mechanism": name, **shown, "n_inputs": sum(row["n_inputs"] for row in found)}


def rows(causal: bool, quick: bool) -> list[Wanted]:
    """Return what is audited."""
    nominal = (10.0,) if quick else NOMINAL
    cape, dyntext, few = (200, 50, 50) if quick else (None, 20_000, 1_000)
    one = POSITIONS[1:2]
    if causal:
        places = one if quick else POSITIONS
        left = [Cape(e, backbone="causal") for e in nominal]
        published = [Cape(e, variant="published", backbone="causal") for e in nominal]
        return [
            *(("cape certified, causal", each, cape, places) for each in left),
            *(("cape published, causal", each, cape, one) for each in published),
        ]
    return [
        *(("cape certified", Cape(e), cape, one) for e in nominal),
        *(("cape medoids", Cape(e, profile="medoids"), cape, one) for e in nominal),
        *(("cape published", Cape(e, variant="published"), cape, one) for e in nominal),
        *(("dyntext certified", DynText(e), dyntext, one) for e in nominal),
        *(("dyntext published", DynText(e, variant="published"), few, one) for e in nominal),
    ]


def main() -> None:
    """Measure and write results/audits.json, or audits_causal.json."""
    line = parser(__doc__, "few inputs, one epsilon")
    line.add_argument("--causal", action="store_true", help="Cape with the causal model")
    options = line.parse_args()
    name = "audits_causal" if options.causal else "audits"
    if options.causal and not causal_fetched():
        say("not measured: the causal model's weights are not here (sanitizer models fetch lm)")
        return
    found = []
    with processes() as pool:
        for row in pool.map(audited, rows(options.causal, options.quick)):
            say(str(row))
            found.append(row)
    write(name, found)


if __name__ == "__main__":
    main()
