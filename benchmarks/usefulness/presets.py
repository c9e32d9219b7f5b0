"""Our presets, each prompt a conversation of its own."""

from __future__ import annotations

import time
from typing import Any

from benchmarks.usefulness.measure import Outcome, Place, stretches_of
from sanitizer import Policy, PolicyError, Sanitizer
from sanitizer.results import SanitizedText
from sanitizer.testing import SeededSource

PRESETS = ("identifiers", "deidentify", "balanced", "strict")
SEED = 20_271


class Preset:
    """One preset as a tool: sanitizes a text, and puts the released text back.

    Draws are seeded by the number of the prompt, so a run can be repeated.

    Args:
        name: of the preset, or a policy.

    Raises:
        ValueError, PolicyError: the product knows no such preset.
    """

    def __init__(self, name: str | Policy) -> None:
        self._first = Sanitizer(policy=name)
        self._n = 0

    def __call__(self, text: str) -> Outcome | None:
        """Return what was done to a text; None if the policy refuses it."""
        self._n += 1
        sanitizer = self._first.derive(conversation=f"prompt {self._n}")
        begin = time.perf_counter()
        try:
            result = sanitizer.sanitize(text, source=SeededSource(SEED + self._n))
        except PolicyError:
            return None
        seconds = time.perf_counter() - begin
        restored = str(sanitizer.restore(result.text, result)) == text
        return Outcome(stretches_of(result, text), seconds, warned_in(result), restored)


def warned_in(result: SanitizedText) -> tuple[Place, ...]:
    """Return the places of a result's warnings, in the original text; none if it has no warnings.

    A warning has `start` and `end`, as offsets in the original text.
    """
    warnings: tuple[Any, ...] = getattr(result, "warnings", ())
    return tuple((each.start, each.end) for each in warnings)


def known(name: str) -> Preset | None:
    """Return a preset, or None if the product does not know it."""
    try:
        return Preset(name)
    except (ValueError, PolicyError):
        return None
