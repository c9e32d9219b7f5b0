"""The sets of labelled texts, and public ones given by path.

Every person, firm and number in the texts of this repository is invented
(`sanitizer.risk.labelled` says how they are marked). Those of OPEN may be read, and the reader is
trained on them. Those of HELD, the even numbers of `prompts/foreign.txt` and all of `texts/` are
for figures only: nobody reads them while building what they measure.

PUPA, the instructions of self-instruct and the Text Anonymization Benchmark (`tab.py`) are not part
of this repository, since they name real people; nothing of their texts is kept.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from sanitizer.risk import LabelledSpan, LabelledText, labelled_texts

PROMPTS, TEXTS = Path(__file__).parent / "prompts", Path(__file__).parent / "texts"
OPEN = ("open", "dev", "second_open", "third_open", "fourth_open", "foreign_odd")
HELD = ("held", "second_held", "third_held", "fourth_held")
FOREIGN = {"foreign_odd": 1, "foreign_even": 0}
"""Halves of `foreign.txt`, which tells languages where the others tell topics."""
UNIT = "UNIT"
"""Class of PUPA's private units."""
_LONGEST_FIELD = 1 << 24
"""Characters in a field of a CSV file; the default of Python's reader is too small for answers."""


def unread() -> tuple[str, ...]:
    """Return the names of the sets that nobody read."""
    return (*HELD, "foreign_even", *sorted(path.stem for path in TEXTS.glob("*.txt")))


def path_of(name: str) -> Path:
    """Return the file of a set."""
    own = TEXTS / f"{name}.txt"
    return own if own.exists() else PROMPTS / f"{'foreign' if name in FOREIGN else name}.txt"


def labelled(name: str) -> list[LabelledText]:
    """Return the texts of a set.

    Raises:
        ValueError: there is no such set.
    """
    if name not in (*OPEN, *unread()):
        raise ValueError(f"set must be one of {', '.join((*OPEN, *unread()))}, got {name!r}")
    found = labelled_texts(path_of(name))
    if name in FOREIGN:
        return [each for each in found if int(each.name.split("-")[-1]) % 2 == FOREIGN[name]]
    return found if path_of(name).parent == TEXTS else [replace(e, language="en") for e in found]


def pupa(path: Path) -> list[LabelledText]:
    """Return the prompts of PUPA_New.csv; units are found in any case, as whole words."""
    before = csv.field_size_limit(_LONGEST_FIELD)
    try:
        with path.open(encoding="utf-8", newline="") as lines:
            return [
                LabelledText(row["user_query"], _units(row["user_query"], row["pii_units"] or ""))
                for row in csv.DictReader(lines)
            ]
    finally:
        csv.field_size_limit(before)


def _units(text: str, listed: str) -> tuple[LabelledSpan, ...]:
    """Return where units stand; of those that share a character the first and longest."""
    units = {unit.strip() for unit in listed.split("||") if unit.strip()}
    places = sorted({each for unit in units for each in _occurrences(unit, text)}, key=_first)
    found: list[LabelledSpan] = []
    for start, end in places:
        if not found or found[-1].end <= start:
            found.append(LabelledSpan(start, end, UNIT))
    return tuple(found)


def _first(place: tuple[int, int]) -> tuple[int, int]:
    return place[0], -place[1]


def _occurrences(unit: str, text: str) -> Iterator[tuple[int, int]]:
    words = r"\s+".join(re.escape(word) for word in unit.split())
    for found in re.finditer(rf"(?<![^\W_]){words}(?![^\W_])", text, re.IGNORECASE):
        yield found.span()


def instructions(path: Path) -> list[LabelledText]:
    """Return the instructions of self-instruct with their inputs; nothing in them is private."""
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]
    return [
        LabelledText("\n\n".join(filter(None, (r["instruction"], r["instances"][0]["input"]))), ())
        for r in rows
    ]
