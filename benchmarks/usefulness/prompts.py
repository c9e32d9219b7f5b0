"""Prompts with labelled sensitive spans and task words, and two public sets given by path.

A file of `prompts/` holds prompts that were written for this project; every person, firm and
number in them is invented. A line `### ID | TOPIC | KIND` begins a prompt. In its text
`⟦CLASS:span⟧` marks what is sensitive and `⟪word⟫` a word that the task cannot be done without. The
prompts in `open.txt` may be read while a detector is made; those in `held.txt` are for its figures
only. `dev.txt` is for choosing thresholds, and never trained on; who wrote its first 120 prompts
had seen neither the two halves nor the templates of the training texts. Its prompts `e-` (everyday
chats) and `w-` (texts at work) were added later, and rules were made with them in sight.
`second_open.txt` and `second_held.txt` are the
halves of a second set, of chats and of texts at work, by hands that knew nothing but these marks,
`third_open.txt` and `third_held.txt` those of a third one, by four more that also knew the classes,
`fourth_open.txt` and `fourth_held.txt` of a fourth, by three hands like these;
`foreign.txt` has German, French and Spanish prompts, a third each, of which every other one (odd
numbers) was read while the lists of these languages were made.

PUPA and the instructions of self-instruct are not part of this repository, since they name real
people; their texts are read from the files that the caller names, and nothing of them is kept.
"""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

FOLDER = Path(__file__).parent / "prompts"
HALVES = ("open", "held")
DEVELOPMENT = "dev"
"""The set that thresholds are chosen on."""
OTHER_HANDS = (
    *("second_held", "second_open", "third_held", "third_open"),
    *("fourth_held", "fourth_open"),
)
FOREIGN = "foreign"
SETS = (*HALVES, DEVELOPMENT, *OTHER_HANDS, FOREIGN)
CLASSES = (
    "PERSON ORGANIZATION PLACE PRODUCT CONDITION TREATMENT BELIEF ORIGIN SEXUALITY CRIME "
    "OCCUPATION FAMILY MONEY DATE NUMBER ID IDENTIFIER FACT"
).split()
_HEAD = re.compile(r"^### (.+?) \| (.+?) \| (.+)$", re.MULTILINE)
_MARK = re.compile(r"⟦([A-Z]+):([^⟦⟧⟪⟫]+)⟧|⟪([^⟦⟧⟪⟫]+)⟫")
_BRACKETS = re.compile("[⟦⟧⟪⟫]")
_LONGEST_FIELD = 1 << 24
"""Characters in a field of a CSV file; the default of Python's reader is too small for answers."""


@dataclass(frozen=True)
class Span:
    """One sensitive stretch of a prompt: character offsets in its text, and its class."""

    start: int
    end: int
    label: str


@dataclass(frozen=True)
class Prompt:
    """One labelled prompt.

    Attributes:
        name: its identifier, such as "a-001".
        topic, kind: of the task, such as "health" and "chat".
        text: without marks; never in a repr.
        spans: what is sensitive, in order.
        tasks: character offsets of the task words, in order.
    """

    name: str
    topic: str
    kind: str
    text: str = field(repr=False)
    spans: tuple[Span, ...]
    tasks: tuple[tuple[int, int], ...]


def parsed(name: str, topic: str, kind: str, marked: str) -> Prompt:
    """Return a prompt without its marks.

    Raises:
        ValueError: an unknown class, or a mark that is not closed; names the prompt, not its text.
    """
    parts: list[str] = []
    spans: list[Span] = []
    tasks: list[tuple[int, int]] = []
    at = length = 0
    for mark in _MARK.finditer(marked):
        before, inside = marked[at : mark.start()], mark[2] or mark[3]
        start = length + len(before)
        length, at = start + len(inside), mark.end()
        parts += [before, inside]
        if mark[1] is None:
            tasks.append((start, length))
        elif mark[1] in CLASSES:
            spans.append(Span(start, length, mark[1]))
        else:
            raise ValueError(f"prompt {name}: {mark[1]!r} is no class")
    text = "".join([*parts, marked[at:]])
    if _BRACKETS.search(text):
        raise ValueError(f"prompt {name}: a mark is not closed, or inside another")
    return Prompt(name, topic, kind, text, tuple(spans), tuple(tasks))


def read(path: Path) -> list[Prompt]:
    """Return the prompts of one file, in order.

    Raises:
        ValueError: a mark is wrong, or two prompts have one name.
    """
    _, *parts = _HEAD.split(path.read_text("utf-8"))
    rows = zip(parts[::4], parts[1::4], parts[2::4], parts[3::4], strict=True)
    found = [parsed(name, topic, kind, marked.strip()) for name, topic, kind, marked in rows]
    twice = [name for name, n in Counter(prompt.name for prompt in found).items() if n > 1]
    if twice:
        raise ValueError(f"{path.name}: two prompts are called {twice[0]}")
    return found


def labelled(name: str) -> list[Prompt]:
    """Return the prompts of one of `SETS`."""
    if name not in SETS:
        raise ValueError(f"set must be one of {SETS}, got {name!r}")
    return read(FOLDER / f"{name}.txt")


@dataclass(frozen=True)
class Foreign:
    """One prompt of PUPA: its text, where its private units occur, and how many do not occur."""

    text: str = field(repr=False)
    units: tuple[tuple[int, int], ...]
    n_units: int
    n_missing: int


def pupa(path: Path) -> list[Foreign]:
    """Return the prompts of PUPA_New.csv; units are found in any case, as whole words."""
    before = csv.field_size_limit(_LONGEST_FIELD)
    try:
        with path.open(encoding="utf-8", newline="") as lines:
            return [
                _foreign(row["user_query"], row["pii_units"] or "") for row in csv.DictReader(lines)
            ]
    finally:
        csv.field_size_limit(before)


def _foreign(text: str, listed: str) -> Foreign:
    units = sorted({unit.strip() for unit in listed.split("||") if unit.strip()})
    found = {unit: list(_occurrences(unit, text)) for unit in units}
    missing = sum(not places for places in found.values())
    every = sorted({place for places in found.values() for place in places})
    return Foreign(text, tuple(every), len(units), missing)


def _occurrences(unit: str, text: str) -> Iterator[tuple[int, int]]:
    words = r"\s+".join(re.escape(word) for word in unit.split())
    for found in re.finditer(rf"(?<![^\W_]){words}(?![^\W_])", text, re.IGNORECASE):
        yield found.span()


def instructions(path: Path) -> list[str]:
    """Return the instructions of self-instruct with their inputs; nothing in them is private."""
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]
    return [
        "\n\n".join(part for part in (row["instruction"], row["instances"][0]["input"]) if part)
        for row in rows
    ]
