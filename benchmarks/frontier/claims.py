"""The claims about certified Cape, each tested with paired bootstrap intervals over the same
sentences.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.common.intervals import interval, replicates

OURS = (
    "Cape certified",
    "Cape certified, not demoted",
)  # as shipped, and with the word itself in the ranking
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
    return interval(
        sign * (replicates(ours["per_sentence"], name) - replicates(other["per_sentence"], name))
    )


def at_equal_epsilon(entries: list[Entry], label_of_ours: str) -> list[dict[str, Any]]:
    """Ours against every mechanism with a finite exact epsilon that stands at the same target."""
    rows = []
    for other in entries:
        label, epsilon = other["setting"]["label"], other["setting"]["epsilon"]
        ours = _at(entries, label_of_ours, epsilon)
        comparable = (
            not label.startswith("Cape certified")
            and other["setting"]["policy"] == "strict"
            and other["exact_epsilon"] not in ("inf", "unknown")
        )
        if ours is None or not comparable or float(other["exact_epsilon"]) > epsilon + 0.01:
            continue
        for name in (*MEANING, "nll", "plausibility"):
            kept = {"kept": _kept(ours), "their_kept": _kept(other)}
            rows.append(
                {
                    "against": label,
                    "epsilon": epsilon,
                    "figure": name,
                    **kept,
                    **difference(ours, other, name),
                }
            )
    return rows


def _kept(entry: Entry) -> float:
    """Share of words released as they are: what Rouge-L counts, and half of what a cosine does."""
    return float(replicates(entry["per_sentence"], "kept")[0])


def _curve(entries: list[Entry], x: str, y: str) -> tuple[Replicates, Replicates]:
    """Attack success and utility of one curve's settings, [n_settings, 1 + n_resamples] each."""
    return (
        np.stack([replicates(e["per_sentence"], x) for e in entries]),
        np.stack([replicates(e["per_sentence"], y) for e in entries]),
    )


def at_equal_attack(entries: list[Entry], label_of_ours: str) -> list[dict[str, Any]]:
    """Our curve, interpolated at the attack success of each other setting; only where the curve
    reaches.
    """
    curve = sorted(_named(entries, label_of_ours), key=lambda e: float(e["setting"]["epsilon"]))
    if len(curve) < 2:
        return []
    rows = []
    for attack in ATTACKS:
        for name in (*MEANING, "nll"):
            x, y = _curve(curve, attack, name)
            for other in entries:
                label = other["setting"]["label"]
                ours_too = label.startswith("Cape certified")
                if ours_too or other["setting"]["policy"] != "strict":
                    continue
                success, theirs = (replicates(other["per_sentence"], n) for n in (attack, name))
                if not x[:, 0].min() <= success[0] <= x[:, 0].max():
                    continue
                order = np.argsort(x, axis=0)
                at = [
                    np.interp(success[i], x[order[:, i], i], y[order[:, i], i])
                    for i in range(x.shape[1])
                ]
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
    """All comparisons, for each of `OURS`; empty where a run lacks the settings."""
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


def verdict(row: dict[str, Any]) -> str:
    """Of one difference: "ahead" or "behind" where its whole interval is."""
    return "ahead" if row["low"] > 0 else "behind" if row["high"] < 0 else "no difference shown"


@dataclass(frozen=True)
class Claim:
    """A claim and the differences that decide on it.

    Attributes:
        strict: whether every one of them must be ahead; otherwise none may be behind.
    """

    text: str
    rows: list[dict[str, Any]]
    strict: bool

    @property
    def holds(self) -> str:
        """ "true", "false", or "not shown" (none behind, but not all ahead where all should be)."""
        found = {verdict(row) for row in self.rows}
        if not found:
            return "not measured"
        if "behind" in found:
            return "false"
        return "true" if found == {"ahead"} or not self.strict else "not shown"

    def counts(self) -> str:
        """How the differences are spread."""
        found = [verdict(row) for row in self.rows]
        return ", ".join(
            f"{v} {found.count(v)}" for v in ("ahead", "no difference shown", "behind")
        )


def claims(found: dict[str, Any]) -> list[Claim]:
    """What was to be shown of one of `OURS`, from its comparisons."""
    head = found["certified 5 less published 10"]
    meaning = [{"figure": name, **head[name]} for name in MEANING if name in head]
    reading = [{"figure": name, **head[name]} for name in ("nll", "plausibility") if name in head]
    equal = found["at equal exact epsilon"]
    made = [
        Claim(
            "at epsilon 5 it keeps at least the meaning of published Cape at nominal 10",
            meaning,
            False,
        ),
        Claim("at epsilon 5 it reads better than published Cape at nominal 10", reading, True),
    ]
    for name in (*MEANING, "nll"):
        rows = [row for row in equal if row["figure"] == name]
        made.append(
            Claim(
                f"{name}: ahead of every mechanism with a finite epsilon, at each from 2 to 10",
                rows,
                True,
            )
        )
    for attack in ATTACKS:
        rows = [row for row in found["at equal attack success"] if row["attack"] == attack]
        made.append(Claim(f"at equal success of {attack} it is behind none", rows, False))
    return made


def lines(comparisons: dict[str, Any]) -> Iterator[str]:
    """Every claim of every one of `OURS`, for the terminal."""
    for label, found in comparisons.items():
        for claim in claims(found):
            yield f"{claim.holds.upper():12} {label}: {claim.text} ({claim.counts()})"
