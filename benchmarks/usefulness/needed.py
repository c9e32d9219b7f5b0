"""What leaves because a request needs it: right, wrong, and by texts that try to make it so.

`python -m benchmarks.usefulness.needed` reads texts whose writers said of each thing whether the
request needs it. Of those in requests/t04_*.txt a second reader, who did not see what the first
said, did so too (requests/second.tsv); figures are of what both agree on. The texts t05 hold other
people's words that ask for what they hold: marked as not the user's (quotes, quoted lines, fences,
tags), and unmarked. Those of t06 tell several sensitive things in passing. Written by hands that
knew nothing of the product; nobody reads them.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarks.common.machine import parser, write
from benchmarks.usefulness.prompts import TEXTS
from sanitizer import Sanitizer
from sanitizer.risk import labelled_texts
from sanitizer.text.policy import ELIGIBLE

REQUESTS = Path(__file__).parent / "requests"
TWO_READERS = ("t04_private", "t04_work")
ATTACKS = ("t05_marked", "t05_unmarked")
INCIDENTAL = "t06_incidental"
TOLD = frozenset("CONDITION TREATMENT BELIEF ORIGIN SEXUALITY CRIME OCCUPATION FAMILY".split())
"""Classes of what people tell in passing."""
_NEEDED = re.compile(r"⟦([A-Z]+)((?:/[a-z])*):[^⟦⟧]+⟧")
_HEADING = re.compile(r"^### (.+?) \|.*$", re.M)


class Thing(NamedTuple):
    """A labelled thing of a text, and what became of it.

    Attributes:
        kind: its class. needed: what the writer and the second reader say; None if they differ.
        left: it leaves because the request needs it. seen: its words leave, for whatever reason.
        whole: none of its letters and digits leaves.
    """

    kind: str
    needed: bool | None
    left: bool
    seen: bool
    whole: bool


def needed_in(path: Path) -> dict[str, list[bool]]:
    """Return what the writer says of the things of each text, by name, in order."""
    parts = _HEADING.split(path.read_text("utf-8"))
    return {
        name.strip(): ["/n" in mark[2] for mark in _NEEDED.finditer(marked)]
        for name, marked in zip(parts[1::2], parts[2::2], strict=True)
    }


def second() -> dict[str, set[int]]:
    """Return the numbers of the needed things by the second reader, by name of the text."""
    lines = (REQUESTS / "second.tsv").read_text("utf-8").splitlines()
    split = (line.partition("\t") for line in lines if line.strip())
    return {name.strip(): set(map(int, numbers.split())) for name, _, numbers in split}


def things(path: Path, policy: str, two_readers: bool) -> Iterator[Thing]:
    """Yield the things of a file, each text a conversation of its own."""
    told, other = needed_in(path), second() if two_readers else {}
    root = Sanitizer(policy=policy)
    for each in labelled_texts(path):
        result = root.sanitize_batch([each.text], together=False)[0]
        hidden = [*result.covered]
        number = 0
        for span, needed in zip(each.spans, told[each.name], strict=True):
            if span.kind not in ELIGIBLE:
                continue
            number += 1
            agreed = not two_readers or (number in other[each.name]) == needed
            left = any(a.start < span.end and span.start < a.end for a in result.left)
            seen = not any(start < span.end and span.start < end for start, end in hidden)
            whole = all(
                any(start <= at < end for start, end in hidden)
                for at in range(span.start, span.end)
                if each.text[at].isalnum()
            )
            yield Thing(span.kind, needed if agreed else None, left, seen, whole)


def shares(found: list[Thing]) -> dict[str, object]:
    """Return how much of what is needed and of what is not leaves."""
    rows: dict[str, object] = {"things": len(found)}
    rows["agreed"] = sum(each.needed is not None for each in found)
    for name, needed in (("needed", True), ("not needed", False)):
        those = [each for each in found if each.needed is needed]
        rows[name] = len(those)
        for what in ("left", "seen"):
            n = sum(getattr(each, what) for each in those)
            rows[f"{name}, {what}"] = round(n / len(those), 4) if those else None
    return rows


def in_passing(policy: str) -> dict[str, object]:
    """Return how much is hidden of sensitive things that no request needs, by its writer."""
    path = REQUESTS / f"{INCIDENTAL}.txt"
    found = [each for each in things(path, policy, False) if each.kind in TOLD and not each.needed]
    whole = {kind: [each.whole for each in found if each.kind == kind] for kind in sorted(TOLD)}
    return {
        "things": len(found),
        "whole": round(sum(each.whole for each in found) / len(found), 4),
        "touched": round(sum(not each.seen for each in found) / len(found), 4),
        "by class": {kind: f"{sum(those)} of {len(those)}" for kind, those in whole.items()},
    }


def main() -> None:
    """Write results/needed.json."""
    chosen = parser(__doc__, "the attacks only").parse_args()
    sets = [*TWO_READERS, "t01_people", "t01_tasks", *sorted(p.stem for p in TEXTS.glob("t02_*"))]
    results: dict[str, object] = {}
    for policy in ("balanced", "deidentify"):
        by_set = {
            name: list(
                things(
                    (REQUESTS if name in TWO_READERS else TEXTS) / f"{name}.txt",
                    policy,
                    name in TWO_READERS,
                )
            )
            for name in ([] if chosen.quick else sets)
        }
        attacked = {n: list(things(REQUESTS / f"{n}.txt", policy, False)) for n in ATTACKS}
        pooled = [each for name in TWO_READERS for each in by_set.get(name, ())]
        by_class: dict[str, list[Thing]] = defaultdict(list)
        for each in pooled:
            by_class[each.kind].append(each)
        results[policy] = {
            "two readers": shares(pooled),
            "by class": {kind: shares(those) for kind, those in sorted(by_class.items())},
            "by set": {name: shares(those) for name, those in by_set.items()},
            "attacks": {name: shares(those) for name, those in attacked.items()},
            "in passing": in_passing(policy),
            "left by attacks": {
                name: dict(Counter(each.kind for each in those if each.left))
                for name, those in attacked.items()
            },
        }
    results["guarded"] = {"in passing": in_passing("guarded")}
    write("needed", results)


if __name__ == "__main__":
    main()
