"""The claims about certified Cape, each tested with paired bootstrap intervals over the same sentences."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.intervals import interval, replicates

OURS = ("Cape certified", "Cape certified, not demoted")  # as shipped, and with the word itself in the ranking
MEANING = ("cosine", "sentence_cosine", "rouge_l", "accuracy")
ATTACKS = ("knn_10", "mti_1", "map")
BETTER_LOW = {"nll"}  # a smaller value is better
Entry = dict[str, Any]
Replicates = NDArray[np.float64]


def _named(entries: list[Entry], label: str) -> list[Entry]:
    return [e for e in entries if e["setting"]["label"] == label]


def _at(entries: list[Entry], label: str, epsilon: float) -> Entry | None:
    return next((e for e in _named(entries, label) if e["setting"]["epsilon"] == epsilon), None)


def difference(ours: Entry, other: Entry, name: str) -> dict[str, float]:
    """Ours less the other, signed so that above zero is better."""
    sign = -1.0 if name in BETTER_LOW else 1.0
    return interval(sign * (replicates(ours["per_sentence"], name) - replicates(other["per_sentence"], name)))


def at_equal_epsilon(entries: list[Entry], label_of_ours: str) -> list[dict[str, Any]]:
    """Ours against every mechanism with a finite exact epsilon that stands at the same target."""
    rows = []
    for other in entries:
        label, epsilon = other["setting"]["label"], other["setting"]["epsilon"]
        ours = _at(entries, label_of_ours, epsilon)
        comparable = (
            not label.startswith("Cape certified")
            and other["setting"]["policy"] == "strict"
            and other["exact_epsilon"] != "inf"
        )
        if ours is None or not comparable or float(other["exact_epsilon"]) > epsilon + 0.01:
            continue
        for name in (*MEANING, "nll", "plausibility"):
            rows.append({"against": label, "epsilon": epsilon, "figure": name, **difference(ours, other, name)})
    return rows


def _curve(entries: list[Entry], x: str, y: str) -> tuple[Replicates, Replicates]:
    """Attack success and utility of one curve's settings, [n_settings, 1 + n_resamples] each."""
    return (
        np.stack([replicates(e["per_sentence"], x) for e in entries]),
        np.stack([replicates(e["per_sentence"], y) for e in entries]),
    )


def at_equal_attack(entries: list[Entry], label_of_ours: str) -> list[dict[str, Any]]:
    """Our curve, interpolated at the attack success of each other setting; only where the curve reaches."""
    curve = sorted(_named(entries, label_of_ours), key=lambda e: float(e["setting"]["epsilon"]))
    if len(curve) < 2:
        return []
    rows = []
    for attack in ATTACKS:
        for name in (*MEANING, "nll"):
            x, y = _curve(curve, attack, name)
            for other in entries:
                label = other["setting"]["label"]
                if label.startswith("Cape certified") or other["setting"]["policy"] != "strict":
                    continue
                success, theirs = (replicates(other["per_sentence"], n) for n in (attack, name))
                if not x[:, 0].min() <= success[0] <= x[:, 0].max():
                    continue
                order = np.argsort(x, axis=0)
                at = [np.interp(success[i], x[order[:, i], i], y[order[:, i], i]) for i in range(x.shape[1])]
                sign = -1.0 if name in BETTER_LOW else 1.0
                rows.append(
                    {
                        "against": label,
                        "epsilon": other["setting"]["epsilon"],
                        "attack": attack,
                        "success": float(success[0]),
                        "figure": name,
                        **interval(sign * (np.array(at) - theirs)),
                    }
                )
    return rows


def compare(entries: list[Entry]) -> dict[str, Any]:
    """All claims, for each of `OURS`; empty where a run lacks the settings."""
    return {label: _of(entries, label) for label in OURS if _named(entries, label)}


def _of(entries: list[Entry], label: str) -> dict[str, Any]:
    ours, published = _at(entries, label, 5.0), _at(entries, "Cape published", 10.0)
    headline = {}
    if ours is not None and published is not None:
        names = (*MEANING, "nll", "plausibility", "knn_10", "mti_1", "map")
        headline = {name: difference(ours, published, name) for name in names}
    return {
        "certified 5 less published 10": headline,
        "at equal exact epsilon": at_equal_epsilon(entries, label),
        "at equal attack success": at_equal_attack(entries, label),
    }
