"""Measure the detector with a packaged tagger on labelled texts, by overlap of spans."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from models.build.tagger.data import IGNORE, Corpora, Example, Span
from models.build.tagger.encode import identifiers
from sanitizer.detect import Detector
from sanitizer.detect.classes import gazetteers
from sanitizer.detect.skeleton import public_forms
from sanitizer.lm import Models, OnnxTagger

TOTAL = "all"
_UNMEASURED = frozenset({IGNORE, "IDENTIFIER"})  # patterns find identifiers, not the tagger

Figures = dict[str, dict[str, float | None]]
"""Class -> spans, recall, hidden and precision."""


def detector(folder: Path) -> Detector:
    """Return the detector "local" with the tagger of a folder."""
    model, pieces = Models(None, None).masked()
    return Detector(model, pieces, OnnxTagger(folder), public_forms(), gazetteers())


def _overlaps(span: Span, others: Iterable[Span]) -> list[str]:
    """Return the classes of the other spans that overlap this one."""
    return [kind for start, end, kind in others if start < span[1] and end > span[0]]


def measure(reader: Detector, examples: Iterable[Example]) -> Figures:
    """Return figures by class, and for all together.

    Recall is the share of labelled spans that overlap a finding of their class, `hidden` of any
    class, unknown words and identifiers included. Precision is the share of findings that overlap
    a span of their class, among the classes that the texts' source labels.
    """
    counts: Counter[tuple[str, str]] = Counter()

    def count(kind: str, what: str, yes: bool) -> None:
        for name in (kind, TOTAL):
            counts[name, what] += 1
            counts[name, f"{what} right"] += yes

    for example in examples:
        taken = identifiers(example.text)
        found = [(f.start, f.end, f.kind) for f in reader.read(example.text, taken).findings]
        hidden = found + [(unit.start, unit.end, unit.kind) for unit in taken]
        for span in example.spans:
            if span[2] not in _UNMEASURED:
                count(span[2], "spans", span[2] in _overlaps(span, found))
                count(span[2], "hidden", bool(_overlaps(span, hidden)))
        for finding in found:
            labels = _overlaps(finding, example.spans)
            if finding[2] in example.labelled and not _UNMEASURED & set(labels):
                count(finding[2], "findings", finding[2] in labels)
    names = sorted({name for name, _ in counts})
    return {name: _figures(counts, name) for name in names if counts[name, "spans"]}


def _figures(counts: Counter[tuple[str, str]], name: str) -> dict[str, float | None]:
    def share(what: str) -> float | None:
        n = counts[name, what]
        return round(counts[name, f"{what} right"] / n, 3) if n else None

    return {
        "spans": counts[name, "spans"],
        "recall": share("spans"),
        "hidden": share("hidden"),
        "precision": share("findings"),
    }


def quality(
    folder: Path, held: Corpora, prompts: list[Example], limit: int | None
) -> dict[str, Figures]:
    """Return figures on every set, by name.

    Args:
        held: corpora to measure on. limit: texts of each set, None for all.
    """
    reader = detector(folder)
    sets = {
        "WNUT17, test part": held["wnut17"],
        "wikigold, held-out fifth": held["wikigold"],
        "synthetic set, held-out templates": held["presidio"],
        "open prompts": prompts,
    }
    return {name: measure(reader, examples[:limit]) for name, examples in sets.items()}
