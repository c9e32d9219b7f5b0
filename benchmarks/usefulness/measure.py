"""Tools that hide what is private, and their figures on labelled texts.

What counts as hidden and as changed is defined in `sanitizer.risk.evaluation`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks.common.intervals import weightings
from benchmarks.common.processes import Worker
from benchmarks.common.timing import median
from sanitizer import Policy, Sanitizer
from sanitizer.progress import progress_bar
from sanitizer.risk.evaluation import Stretch, Treated, counted, hidden_in, treat
from sanitizer.risk.labelled import LabelledText
from sanitizer.testing import SeededSource

SEED = 20_271
Tool = Callable[[str], Treated | None]
"""A text in, what was done to it out; None if it was refused."""
Row = tuple[LabelledText, Mapping[str, tuple[int, int]], float] | None
"""A text, what was counted in it, seconds; None if it was refused."""


class Preset:
    """One policy as a tool; each text is a conversation of its own, with draws of its own seed.

    Args:
        policy: a preset's name, or a policy: what is found is measured, so that nothing leaves for
            being needed (`benchmarks.usefulness.needed` measures that). threads: of one pass of a
            model.
    """

    def __init__(self, policy: str | Policy, threads: int | None = None) -> None:
        self.sanitizer = Sanitizer(policy=Policy.load(policy).leaving_nothing(), threads=threads)
        self._n = 0

    def __call__(self, text: str) -> Treated | None:
        """Return what was done to a text."""
        self._n += 1
        return treat(self.sanitizer, text, SeededSource(SEED + self._n))


class Peer:
    """Another tool: whatever it finds counts as replaced.

    Args:
        worker: its process. kept: types of findings to keep; None keeps all.
    """

    def __init__(self, worker: Worker, kept: Collection[str] | None = None) -> None:
        self._worker, self._kept = worker, kept

    def __call__(self, text: str) -> Treated:
        """Return what it found in a text."""
        answer = self._worker.ask({"do": "find", "texts": [text]})
        places = [
            (start, end)
            for start, end, label, _ in answer["spans"][0]
            if self._kept is None or label in self._kept
        ]
        return Treated(covering(places), answer["seconds"])


def covering(places: Iterable[tuple[int, int]]) -> tuple[Stretch, ...]:
    """Return stretches over what a tool found, overlapping ones joined."""
    joined: list[Stretch] = []
    for start, end in sorted(places):
        if joined and start < joined[-1].end:
            joined[-1] = joined[-1]._replace(end=max(end, joined[-1].end))
        else:
            joined.append(Stretch(start, end, ""))
    return tuple(joined)


def measured(tools: Mapping[str, Tool], texts: Sequence[LabelledText]) -> dict[str, list[Row]]:
    """Let every tool treat every text, in turns; return what was counted."""
    kinds = Policy.preset("balanced").identifiers
    found: dict[str, list[Row]] = {name: [] for name in tools}
    with progress_bar(len(texts), shown=True) as advance:
        for text in texts:
            hidden = hidden_in(text.text, kinds)
            for name, tool in tools.items():
                done = tool(text.text)
                counts = {} if done is None else counted(text, done, hidden)
                found[name].append(None if done is None else (text, counts, done.seconds))
            advance(1)
    return found


def figures(rows: Sequence[Row]) -> dict[str, Any]:
    """Return the figures of one tool on some texts; `measures` is empty if it refused all."""
    there = [row for row in rows if row is not None]
    return {
        "n_texts": len(there),
        "n_refused": len(rows) - len(there),
        "measures": shares([counts for _, counts, _ in there]),
        "ms": median([seconds for *_, seconds in there]) if there else None,
    }


def shares(counts: Sequence[Mapping[str, tuple[int, int]]]) -> dict[str, dict[str, float]]:
    """Return each measure as a share, with its 95 % bootstrap interval over texts."""
    names = list(dict.fromkeys(name for each in counts for name in each))
    if not names:
        return {}
    table = np.array([[each.get(name, (0, 0)) for name in names] for each in counts], np.float64)
    weights = weightings(len(counts))
    hits, of = weights @ table[:, :, 0], weights @ table[:, :, 1]
    found: dict[str, dict[str, float]] = {}
    for i, name in enumerate(names):
        # A resample that holds none of a rare class says nothing about it.
        some = hits[of[:, i] > 0, i] / of[of[:, i] > 0, i]
        low, high = np.quantile(some[1:] if len(some) > 1 else some, (0.025, 0.975))
        found[name] = {
            "mean": float(some[0]),
            "low": float(low),
            "high": float(high),
            "n": int(of[0, i]),
        }
    return found
