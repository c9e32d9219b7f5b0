"""The detectors "local", "reading" and "skeleton" side by side: what they find, stability, time.

    python -m benchmarks.usefulness.detectors [--quick]

Each reads the labelled prompts under `balanced`. Stability: one labelled name, sum, date or number
of hidden words of a prompt is put in place of another of its class, and all findings elsewhere are
compared: the share of such swaps after which none moved or changed its class. "Kept": the same, of
the swaps after which the thing itself was read as before; the theorem says that "local" and
"skeleton" have 1 there.
"""

from __future__ import annotations

import argparse
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from benchmarks.common.machine import say, write
from benchmarks.usefulness.measure import NAMES, NUMBERS, public_words, share, summary
from benchmarks.usefulness.presets import Preset
from benchmarks.usefulness.prompts import HALVES, Prompt, Span, labelled
from sanitizer import Policy, Sanitizer
from sanitizer.detect import Detector, public_forms
from sanitizer.detect.skeleton import skeleton

MODES = ("local", "reading", "skeleton")
SWAPS, N_QUICK, SEED = 4, 4, 20_291
"""Things of a class that are swapped, and values for each; prompts of a quick run."""
Finding = tuple[int, int, str]


def policy_of(mode: str) -> Policy:
    """Return `balanced` with a detector."""
    return Policy.from_dict({"base": "balanced", "detector": {"mode": mode}})


def kind_at(text: str, start: int, end: int) -> str | None:
    """Return the kind of the hidden run that a stretch is, None if it is none or several."""
    found = skeleton(text, public_forms()).runs
    return next((run.kind for run in found if (run.start, run.end) == (start, end)), None)


def swaps(prompts: Sequence[Prompt]) -> Iterator[tuple[str, Span, str]]:
    """Yield texts with one of their spans, and another value of its class from another prompt; both
    are one run of the same kind where they are.
    """
    rng = random.Random(SEED)
    values: dict[tuple[str, str], list[tuple[Prompt, Span]]] = defaultdict(list)
    for prompt in prompts:
        for span in prompt.spans:
            kind = kind_at(prompt.text, span.start, span.end)
            if span.label in NAMES | NUMBERS and kind is not None:
                values[span.label, kind].append((prompt, span))
    for same in values.values():
        for prompt, span in rng.sample(same, min(SWAPS, len(same))):
            others = [(p, s) for p, s in same if p.name != prompt.name]
            for source, other in rng.sample(others, min(SWAPS, len(others))):
                yield prompt.text, span, source.text[other.start : other.end]


def parted(detector: Detector, text: str, start: int, end: int) -> tuple[list[Finding], list[str]]:
    """Return the findings outside a stretch, those behind it counted from its end, and the classes
    of those that touch it.
    """
    outside: list[Finding] = []
    inside: list[str] = []
    for found in detector.read(text).findings:
        if found.end <= start:
            outside.append((found.start, found.end, found.kind))
        elif found.start >= end:
            outside.append((found.start - end, found.end - end, found.kind))
        else:
            inside.append(found.kind)
    return outside, inside


def stability(detector: Detector, prompts: Sequence[Prompt]) -> dict[str, Any]:
    """Return the share of swaps that moved nothing else, of all and of those that kept the thing's
    own class.
    """
    every: list[tuple[int, int]] = []
    kept: list[tuple[int, int]] = []
    for text, span, value in swaps(prompts):
        swapped, end = text[: span.start] + value + text[span.end :], span.start + len(value)
        if kind_at(text, span.start, span.end) != kind_at(swapped, span.start, end):
            continue  # its first word opens a sentence there, and is visible
        before, was = parted(detector, text, span.start, span.end)
        after, now = parted(detector, swapped, span.start, end)
        every.append((int(before == after), 1))
        if was == now:
            kept.append((int(before == after), 1))
    return {"all": share(every), "kept": share(kept)}


def measured(mode: str, prompts: Sequence[Prompt]) -> dict[str, Any]:
    """Return the figures of one detector on prompts."""
    treat = Preset(policy_of(mode))
    found = summary(prompts, [treat(prompt.text) for prompt in prompts], public_words())
    detector = Sanitizer(policy=policy_of(mode)).inner.detector()
    if detector is None:
        raise ValueError(f"no detector for {mode}")
    return {
        **{name: found["spans"][name]["hidden"] for name in ("names", "numbers", "all")},
        "others": found["other_words_changed"],
        "ms": found["ms"],
        "stability": stability(detector, prompts),
    }


def main() -> None:
    """Measure every detector on each half of the prompts."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    halves = {name: labelled(name) for name in HALVES}
    if quick:
        halves = {"open": halves["open"][:N_QUICK]}
    results: dict[str, Any] = {}
    for half, prompts in halves.items():
        for mode in MODES:
            results.setdefault(half, {})[mode] = measured(mode, prompts)
            say(f"{half} {mode}: {results[half][mode]['stability']}")
    write("detectors", "python -m benchmarks.usefulness.detectors", results)


if __name__ == "__main__":
    main()
