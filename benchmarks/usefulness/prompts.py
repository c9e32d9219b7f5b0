"""The sets of labelled texts.

Every person, firm and number in the texts of this repository is invented
(`sanitizer.risk.labelled` says how they are marked). Those of OPEN may be read, and the reader is
trained on them. Those of HELD, the even numbers of `prompts/foreign.txt` and all of `texts/` are
for figures only: nobody reads them while building what they measure.

The Text Anonymization Benchmark (`tab.py`) is not part of this repository, since it names real
people; nothing of its texts is kept.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from sanitizer.risk import labelled_texts
from sanitizer.risk.labelled import LabelledText

PROMPTS, TEXTS = Path(__file__).parent / "prompts", Path(__file__).parent / "texts"
OPEN = ("open", "dev", "second_open", "third_open", "fourth_open", "foreign_odd")
HELD = ("held", "second_held", "third_held", "fourth_held")
FOREIGN = {"foreign_odd": 1, "foreign_even": 0}
"""Halves of `foreign.txt`, which tells languages where the others tell topics."""


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
