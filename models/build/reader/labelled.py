"""The labelled texts: plain files, one hand (writer) a prefix, marked as texts/GUIDE.md says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

TEXTS = Path(__file__).resolve().parent / "texts"
_MARK = re.compile(r"⟦([A-Z]+)(?:/([fmpn])(?:/([fmpn]))?)?:([^⟦⟧⟪⟫]+)⟧|⟪([^⟦⟧⟪⟫]+)⟫")
_HEADING = re.compile(r"^### (.+?) \| (.+?) \| (.+)$", re.M)
_SUFFIXED = re.compile(r"[a-z]{2}[b-z]|en[d-z]|[chn][0-9]+|pubb")
_BARE = re.compile(r"(?:en[abc]|pub)")
OLDER = ("open", "dev", "second_open", "third_open", "fourth_open")
"""The project's own sets of prompts that everybody has read: training texts."""


@dataclass(frozen=True)
class Span:
    """A labelled stretch of a text.

    Attributes:
        start, end: offsets. kind: its class. gender: "f", "m", "p" or "". needed: True or False
            where the writer said so, None where nothing is known.
    """

    start: int
    end: int
    kind: str
    gender: str = ""
    needed: bool | None = None


@dataclass(frozen=True)
class Labelled:
    """One labelled text.

    Attributes:
        hand: prefix of its file. spans: ascending, apart.
    """

    name: str
    hand: str
    language: str
    kind: str
    text: str
    spans: tuple[Span, ...]


def parsed(marked: str, suffixed: bool) -> tuple[str, tuple[Span, ...]]:
    """Return a marked text without its marks, and the spans."""
    parts: list[str] = []
    spans: list[Span] = []
    at = size = 0
    for mark in _MARK.finditer(marked):
        parts.append(marked[at : mark.start()])
        size += mark.start() - at
        written = mark[4] or mark[5]
        if mark[1]:
            told = {mark[2], mark[3]} - {None}
            gender = next(iter(told & {"f", "m", "p"}), "")
            needed = ("n" in told) if suffixed else None
            spans.append(Span(size, size + len(written), mark[1], gender, needed))
        parts.append(written)
        size += len(written)
        at = mark.end()
    return "".join([*parts, marked[at:]]), tuple(spans)


def load(path: Path, needed: dict[str, list[str]] | None = None) -> Iterator[Labelled]:
    """Yield the texts of one file.

    Args:
        needed: for texts without suffixes, by name: the stretches without which the request cannot
            be done.
    """
    hand = path.stem.partition("_")[0]
    suffixed = _BARE.fullmatch(hand) is None and _SUFFIXED.fullmatch(hand) is not None
    parts = _HEADING.split(path.read_text("utf-8"))
    for name, language, kind, marked in zip(*(parts[i::4] for i in range(1, 5)), strict=True):
        text, spans = parsed(marked.strip("\n"), suffixed)
        wanted = (needed or {}).get(name.strip())
        if wanted is not None:
            spans = tuple(
                Span(s.start, s.end, s.kind, s.gender, text[s.start : s.end] in wanted)
                for s in spans
            )
        yield Labelled(name.strip(), hand, language.strip(), kind.strip(), text, spans)


def all_texts(folder: Path = TEXTS) -> list[Labelled]:
    """Return all labelled texts, by file and place."""
    needed: dict[str, list[str]] = {}
    for line in (folder / "needed.tsv").read_text("utf-8").splitlines():
        name, _, listed = line.partition("\t")
        needed[name.strip()] = [each.strip() for each in listed.split("¦") if each.strip()]
    return [each for path in sorted(folder.glob("*_*.txt")) for each in load(path, needed)]
