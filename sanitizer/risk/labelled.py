"""Texts with labelled private spans, from marked files or JSON Lines.

In a marked file a line `### ID | LANGUAGE | KIND` begins a text; ` | ORIGIN` may follow, the origin
of the names in it. `⟦CLASS:span⟧` marks what is private, `⟪words⟫` what the task cannot do without.
A class may have suffixes (`⟦PERSON/f:Marta⟧`, `⟦MONEY/n:£12⟧`), which are not read here. In JSON
Lines each line is `{"text": ..., "spans": [[start, end, "CLASS"], ...]}`, where `id`, `language`,
`kind`, `origin` and `tasks` (`[[start, end], ...]`) may be told; offsets count characters.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from operator import index
from pathlib import Path
from typing import Any, NamedTuple

from sanitizer.lm.reader import CLASSES

_HEADING = re.compile(r"^### (.+?) \| (.+?) \| (.+?)(?: \| (.+))?$", re.MULTILINE)
_MARK = re.compile(r"⟦([A-Z]+)(?:/[a-z])*:([^⟦⟧⟪⟫]+)⟧|⟪([^⟦⟧⟪⟫]+)⟫")


class LabelledSpan(NamedTuple):
    """A private stretch of a text, as offsets, and its class."""

    start: int
    end: int
    kind: str


@dataclass(frozen=True)
class LabelledText:
    """One text whose private spans are known.

    Attributes:
        text: without marks; never in a repr.
        spans, tasks: ascending, apart. language, kind, origin: "" where nothing was told.
    """

    text: str = field(repr=False)
    spans: tuple[LabelledSpan, ...]
    tasks: tuple[tuple[int, int], ...] = ()
    name: str = ""
    language: str = ""
    kind: str = ""
    origin: str = ""


def unmarked(marked: str) -> tuple[str, tuple[LabelledSpan, ...], tuple[tuple[int, int], ...]]:
    """Return a marked text without its marks, its private spans and its task words.

    >>> unmarked("⟪Greet⟫ ⟦PERSON/f:Marta⟧.")
    ('Greet Marta.', (LabelledSpan(start=6, end=11, kind='PERSON'),), ((0, 5),))

    Raises:
        ValueError: an unknown class, or a mark that is not closed or inside another.
    """
    parts: list[str] = []
    spans: list[LabelledSpan] = []
    tasks: list[tuple[int, int]] = []
    at = size = 0
    for mark in _MARK.finditer(marked):
        written = mark[2] or mark[3]
        start = size + mark.start() - at
        parts += [marked[at : mark.start()], written]
        at, size = mark.end(), start + len(written)
        if mark[1] is None:
            tasks.append((start, size))
        elif mark[1] in CLASSES:
            spans.append(LabelledSpan(start, size, mark[1]))
        else:
            raise ValueError(f"a mark must have one of the classes {', '.join(CLASSES)}")
    text = "".join([*parts, marked[at:]])
    if not set("⟦⟧⟪⟫").isdisjoint(text):
        raise ValueError("a mark is not closed, or stands inside another")
    return text, tuple(spans), tuple(tasks)


def labelled_texts(path: Path) -> list[LabelledText]:
    """Return the texts of a file.

    Raises:
        ValueError: it is not written as this module says; the message quotes no text.
        OSError: it cannot be read.
    """
    content = path.read_text("utf-8")
    lines = (_of_line(line) for line in content.splitlines() if line.strip())
    read = lines if content.lstrip().startswith("{") else _from_marks(content)
    found: list[LabelledText] = []
    try:
        found.extend(read)
    except (TypeError, ValueError) as error:  # UnicodeDecodeError quotes nothing either
        raise ValueError(f"{path.name}, text {len(found) + 1}: {error}") from None
    if not found:
        raise ValueError(f"{path.name}: no text; each begins with ### ID | LANGUAGE | KIND")
    return found


def _from_marks(content: str) -> Iterator[LabelledText]:
    _, *parts = _HEADING.split(content)
    names: set[str] = set()
    for i in range(0, len(parts), 5):
        name, language, kind, origin, marked = parts[i : i + 5]
        if name in names:
            raise ValueError("it has the ID of another one")
        names.add(name)
        text, spans, tasks = unmarked(marked.strip("\n"))
        told = (each.strip() for each in (name, language, kind, origin or ""))
        yield LabelledText(text, spans, tasks, *told)


def _of_line(line: str) -> LabelledText:
    try:
        row: Any = json.loads(line)
    except ValueError:
        raise ValueError("it is no line of JSON") from None
    if not isinstance(row, dict) or not isinstance(row.get("text"), str):
        raise ValueError('it has no "text"')
    text = row["text"]
    try:
        spans = tuple(
            sorted(LabelledSpan(index(a), index(b), k) for a, b, k in row.get("spans", ()))
        )
        tasks = tuple(sorted((index(start), index(end)) for start, end in row.get("tasks", ())))
    except (TypeError, ValueError):
        raise ValueError('"spans" must be [[start, end, "CLASS"], ...]') from None
    if any(span.kind not in CLASSES for span in spans):
        raise ValueError(f"a span must have one of the classes {', '.join(CLASSES)}")
    for places in ([span[:2] for span in spans], tasks):
        inside = all(0 <= start < end <= len(text) for start, end in places)
        if not inside or any(one[1] > other[0] for one, other in pairwise(places)):
            raise ValueError("spans must lie inside their text, and apart from each other")
    told = (str(row.get(name, "")) for name in ("id", "language", "kind", "origin"))
    return LabelledText(text, spans, tasks, *told)
