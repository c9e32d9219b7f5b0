"""Measure the detector with a packaged tagger on labelled texts, by overlap of spans; and spaCy's
small model on the same texts.
"""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from models.build.tagger.data import IGNORE, UNIT, Corpora, Example, Span
from models.build.tagger.encode import identifiers
from sanitizer.detect import Detector
from sanitizer.detect.classes import gazetteers
from sanitizer.detect.skeleton import public_forms
from sanitizer.lm import Models, OnnxTagger

TOTAL = "all"
_UNMEASURED = frozenset({IGNORE, "IDENTIFIER"})  # patterns find identifiers, not the tagger

SPACY = {
    "PERSON": "PERSON",
    "ORG": "ORGANIZATION",
    **dict.fromkeys(("GPE", "LOC", "FAC"), "PLACE"),
    **dict.fromkeys(("PRODUCT", "WORK_OF_ART", "EVENT"), "PRODUCT"),
    "NORP": "ORIGIN",
    "MONEY": "MONEY",
    **dict.fromkeys(("DATE", "TIME"), "DATE"),
    **dict.fromkeys(("CARDINAL", "QUANTITY", "PERCENT", "ORDINAL"), "NUMBER"),
}
"""Type of spaCy -> class; the others only hide."""
Found = tuple[list[Span], list[Span]]
"""Findings with their classes, and all that is hidden."""
Figures = dict[str, dict[str, float | None]]
"""Class -> spans, recall, hidden and precision."""


def detector(folder: Path) -> Detector:
    """Return the detector "local" with the tagger of a folder."""
    model, pieces = Models(None, None).masked()
    return Detector(model, pieces, OnnxTagger(folder), public_forms(), gazetteers())


def _overlaps(span: Span, others: Iterable[Span]) -> list[str]:
    """Return the classes of the other spans that overlap this one."""
    return [kind for start, end, kind in others if start < span[1] and end > span[0]]


def ours(reader: Detector) -> Callable[[str], Found]:
    """Return what finds spans with a detector; unknown words and identifiers are hidden too."""

    def find(text: str) -> Found:
        taken = identifiers(text)
        found = [(f.start, f.end, f.kind) for f in reader.read(text, taken).findings]
        return found, found + [(unit.start, unit.end, unit.kind) for unit in taken]

    return find


class Spacy:
    """spaCy's small English model in an environment of its own.

    Args:
        python: its interpreter; run from the root of the repository.
    """

    def __init__(self, python: Path) -> None:
        command = [str(python), "-m", "benchmarks.usefulness.tools", "spacy"]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def __enter__(self) -> Spacy:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def __call__(self, text: str) -> Found:
        """Find spans of all its types."""
        asked, told = self._process.stdin, self._process.stdout
        assert asked is not None
        assert told is not None
        print(json.dumps({"do": "find", "text": text}), file=asked, flush=True)
        answer: dict[str, Any] = json.loads(told.readline())
        spans = [(start, end, SPACY.get(kind, kind)) for start, end, kind, _ in answer["spans"]]
        return spans, spans


def measure(find: Callable[[str], Found], examples: Iterable[Example]) -> Figures:
    """Return figures by class, and for all together.

    Recall is the share of labelled spans that overlap a finding of their class, `hidden` of any
    class. Precision is the share of findings that overlap a span of their class, among the classes
    that the texts' source labels. Spans without a class (UNIT) are hidden or not, no more.
    """
    counts: Counter[tuple[str, str]] = Counter()

    def count(kind: str, what: str, yes: bool) -> None:
        for name in (kind, TOTAL):
            counts[name, what] += 1
            counts[name, f"{what} right"] += yes

    for example in examples:
        found, hidden = find(example.text)
        for span in example.spans:
            if span[2] in _UNMEASURED:
                continue
            if span[2] != UNIT:
                count(span[2], "spans", span[2] in _overlaps(span, found))
            count(span[2], "hidden", bool(_overlaps(span, hidden)))
        for finding in found:
            labels = _overlaps(finding, example.spans)
            if finding[2] in example.labelled and not _UNMEASURED & set(labels):
                count(finding[2], "findings", finding[2] in labels)
    names = sorted({name for name, _ in counts})
    return {name: _figures(counts, name) for name in names if counts[name, "hidden"]}


def _figures(counts: Counter[tuple[str, str]], name: str) -> dict[str, float | None]:
    def share(what: str) -> float | None:
        n = counts[name, what]
        return round(counts[name, f"{what} right"] / n, 3) if n else None

    return {
        "spans": counts[name, "hidden"],
        "recall": share("spans"),
        "hidden": share("hidden"),
        "precision": share("findings"),
    }


def quality(
    folder: Path,
    held: Corpora,
    prompts: list[Example],
    limit: int | None = None,
    spacy: Path | None = None,
) -> dict[str, dict[str, Figures]]:
    """Return figures on every set, by tool ("ours", "spaCy") and name of the set.

    Args:
        held: corpora to measure on. limit: texts of each set, None for all.
        spacy: interpreter of an environment with spaCy and its small English model.
    """
    sets = {
        "WNUT17, test part": held["wnut17"],
        "wikigold, held-out fifth": held["wikigold"],
        "synthetic set, held-out templates": held["presidio"],
        "PUPA, the half not trained on": held["pupa"],
        "open prompts": prompts,
    }
    with ExitStack() as stack:
        tools: dict[str, Callable[[str], Found]] = {"ours": ours(detector(folder))}
        if spacy is not None:
            tools["spaCy"] = stack.enter_context(Spacy(spacy))
        return {
            tool: {name: measure(find, examples[:limit]) for name, examples in sets.items()}
            for tool, find in tools.items()
        }
