"""The test part of the Text Anonymization Benchmark, from a folder with `echr_test.json`.

github.com/NorskRegnesentral/text-anonymization-benchmark (MIT), judgments of the European Court of
Human Rights by Pilán et al. (Computational Linguistics 48, 2022). Figures are those of its own
`evaluation.py`: an entity is hidden if each of its mentions that an annotator masked is, up to
punctuation and small words (recall, of direct and of quasi identifiers, over all annotators); a
word that a tool hid is right in so far as annotators masked it (precision). Texts are not kept.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.common.timing import median
from benchmarks.usefulness.measure import Tool, shares

FILE = "echr_test.json"
DIRECT, QUASI, PRECISION = "direct identifiers hidden", "quasi identifiers hidden", "precision"
_SMALL = (
    "mr mrs ms and or from until to about after as at before between by during for in into of on "
    "over since with the a an no nr"
).split()
_SKIPPED = re.compile(
    rf"\b(?:{'|'.join(_SMALL)})\b|[’']s\b|[ ,.\-;:/&()\[\]–'\"’“”]", re.IGNORECASE
)
_WORD = re.compile(r"\w+")
Place = tuple[int, int]


@dataclass(frozen=True)
class Judgment:
    """One annotated text.

    Attributes:
        text: never in a repr.
        entities: of all annotators: whether a direct identifier, and its mentions to be masked.
        masked: of each annotator, the mentions to be masked.
    """

    text: str = field(repr=False)
    entities: tuple[tuple[bool, tuple[Place, ...]], ...]
    masked: tuple[tuple[Place, ...], ...]


def judgments(folder: Path) -> list[Judgment]:
    """Return the texts of the test part."""
    return [_judgment(each) for each in json.loads((folder / FILE).read_text("utf-8"))]


def _judgment(row: Mapping[str, Any]) -> Judgment:
    entities: list[tuple[bool, tuple[Place, ...]]] = []
    masked: list[tuple[Place, ...]] = []
    for annotated in row["annotations"].values():
        own: defaultdict[str, list[tuple[Place, str]]] = defaultdict(list)
        for each in annotated["entity_mentions"]:
            place = each["start_offset"], each["end_offset"]
            own[each["entity_id"]].append((place, each["identifier_type"]))
        wanted = {
            entity: tuple(place for place, kind in mentions if kind != "NO_MASK")
            for entity, mentions in own.items()
        }
        # Whether an entity is a direct identifier, its first mention says.
        entities += [(own[e][0][1] == "DIRECT", places) for e, places in wanted.items() if places]
        masked.append(tuple(place for places in wanted.values() for place in places))
    return Judgment(row["text"], tuple(entities), tuple(masked))


def counted(judgment: Judgment, hidden: Iterable[Place]) -> dict[str, tuple[int, int]]:
    """Count entities that are hidden, and right words among those that are.

    Args:
        hidden: what a tool replaced, apart.
    """
    text, places = judgment.text, list(hidden)
    covered = bytearray(len(text))
    for start, end in places:
        covered[start:end] = b"\1" * (end - start)

    def is_hidden(mention: Place) -> bool:
        start, end = mention
        left = bytearray(covered[start:end])
        for small in _SKIPPED.finditer(text[start:end]):
            left[small.start() : small.end()] = b"\1" * len(small[0])
        return all(left)

    found = {}
    for name, wanted in ((DIRECT, True), (QUASI, False)):
        own = [mentions for direct, mentions in judgment.entities if direct == wanted]
        found[name] = sum(all(map(is_hidden, mentions)) for mentions in own), len(own)
    words = [word.span() for place in places for word in _WORD.finditer(text, *place)]
    right = sum(
        any(start <= a and b <= end for start, end in masked)
        for a, b in words
        for masked in judgment.masked
    )
    return {**found, PRECISION: (right, len(words) * len(judgment.masked))}


def on_tab(tools: Mapping[str, Tool], read: Sequence[Judgment]) -> dict[str, Any]:
    """Return the figures of every tool."""
    results: dict[str, Any] = {"n_texts": len(read), "tools": {}}
    for name, tool in tools.items():
        done = [(each, tool(each.text)) for each in read]
        there = [(each, treated) for each, treated in done if treated is not None]
        places = [[(s.start, s.end) for s in treated.stretches] for _, treated in there]
        results["tools"][name] = {
            "n_texts": len(there),
            "n_refused": len(read) - len(there),
            "measures": shares(
                [counted(each, own) for (each, _), own in zip(there, places, strict=True)]
            ),
            "ms": median([treated.seconds for _, treated in there]) if there else None,
        }
    return results
