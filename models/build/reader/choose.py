"""Choose the reader's thresholds by the texts of hands that it was not trained on.

`python -m models.build.reader.choose` reads `train.CHOOSE` with the packaged reader and writes
thresholds.json: for each class the share of all classes from which a hidden word is private. What a
missed word costs beside one that is hidden for nothing is `MISSED`.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from models.build.reader.labelled import Labelled, all_texts
from models.build.reader.train import CHOOSE
from sanitizer.detect.detector import encode_runs, encode_view
from sanitizer.detect.view import is_everyday, opened
from sanitizer.identifiers.search import find
from sanitizer.lm.reader import CLASSES, ELIGIBLE, GENDERS, OnnxReader
from sanitizer.text.policy import Policy
from sanitizer.text.words import overlapping

MISSED = 3.0
"""Words hidden for nothing that one missed private word outweighs."""
GRID = np.round(np.arange(0.05, 0.96, 0.025), 3)
ALONE = 0.6
"""Share from which words that are all visible are an entity."""
LEAST_WORDS = 25
"""Words of a class from which it gets a threshold of its own."""


class Word(NamedTuple):
    """One word of a labelled text: the likeliest class, the share of all, and its label."""

    best: str
    share: float
    label: str | None
    visible: bool
    known: bool


class Asked(NamedTuple):
    """Heads that say more of a labelled entity: whether they are right with it.

    Attributes:
        what: "needed" or "gender". right: True where the head's answer is the writer's.
    """

    what: str
    right: bool


def read_words(each: Labelled, reader: OnnxReader, kinds: list[str]) -> Iterator[Word | Asked]:
    """Yield the words of a text outside of found identifiers and syntax, and what else is said."""
    text = each.text
    taken = [(i.start, i.end, i.kind) for i in find(text, kinds)]
    opened_text = opened(text, taken)
    doc, plain = opened_text.parted, opened_text.decoded
    code = plain.inside(opened_text.code)
    view, runs = encode_view(doc.view, reader.pieces), encode_runs(doc, reader.pieces)
    read = reader.read((view.ids, view.slots, view.words), [(run.ids, run.firsts) for run in runs])
    found = [
        (doc.gaps[n] + w.start, doc.gaps[n] + w.end, scores, True)
        for (n, w), scores in zip(doc.view.words, read.visible.classes, strict=True)
    ]
    for start, run, scores, needs in zip(doc.starts, runs, read.runs, read.needed, strict=True):
        found += [
            (start + w.start, start + w.end, row, False)
            for w, row in zip(run.words, scores.classes, strict=True)
        ]
        for w, genders in zip(run.words, scores.genders, strict=True):
            at = plain.origin(start + w.start)
            span = next((s for s in each.spans if s.start == at), None)
            if span is not None and span.gender:
                yield Asked("gender", GENDERS[int(genders.argmax())] == span.gender)
            if span is not None and span.needed is not None and span.kind in ELIGIBLE:
                yield Asked("needed", bool(needs[ELIGIBLE.index(span.kind)] > 0) == span.needed)
    for start, end, row, visible in found:
        if overlapping(code, start, end):
            continue
        odds = np.exp(row - row.max())
        at = plain.origin(start)
        span = next((s for s in each.spans if s.start <= at < s.end), None)
        word = plain.text[start:end]
        known = not word.isalpha() or len(word) == 1 or is_everyday(word)
        best = CLASSES[int(odds[1:].argmax())]
        share = float(1 - odds[0] / odds.sum())
        yield Word(best, share, span.kind if span else None, visible, known)


def best_threshold(words: list[Word]) -> float:
    """Return the threshold of least cost, the highest of equal ones."""
    shares = np.array([word.share for word in words])
    private = np.array([word.label is not None for word in words])
    costs = [
        MISSED * int((private & (shares < t)).sum()) + int((~private & (shares >= t)).sum())
        for t in GRID
    ]
    return float(GRID[len(GRID) - 1 - int(np.argmin(costs[::-1]))])


def main() -> None:
    """Write thresholds.json."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=Path)
    chosen = parser.parse_args()
    reader = OnnxReader(chosen.folder, threads=1)
    kinds = sorted(Policy.preset("balanced").identifiers)
    texts = [each for each in all_texts() if each.hand in CHOOSE]
    read = [found for each in texts for found in read_words(each, reader, kinds)]
    words = [found for found in read if isinstance(found, Word)]
    asked: dict[str, list[bool]] = defaultdict(list)
    for found in read:
        if isinstance(found, Asked):
            asked[found.what].append(found.right)
    hidden = [word for word in words if not word.visible]
    of_all = best_threshold(hidden)
    by_class: dict[str, list[Word]] = defaultdict(list)
    for word in hidden:
        by_class[word.best].append(word)
    # Half way to the threshold of all: a class has few words near its own.
    thresholds = {
        kind: round((best_threshold(by_class[kind]) + of_all) / 2, 4)
        if len(by_class[kind]) >= LEAST_WORDS
        else of_all
        for kind in CLASSES
    }
    strange = [word for word in hidden if not word.known]
    thresholds["unknown"] = min(of_all, best_threshold(strange))
    thresholds["alone"] = ALONE
    thresholds["visible"] = best_threshold([w for w in words if w.visible and w.best != "FACT"])
    told = [(word, word.share >= _limit(word, thresholds)) for word in words]
    private = [hides for word, hides in told if word.label not in (None, "FACT")]
    others = [hides for word, hides in told if word.label is None]
    quality = {
        "words of the texts for thresholds": {
            "private words found": round(sum(private) / len(private), 4),
            "other words found": round(sum(others) / len(others), 4),
            "n_private": len(private),
            "n_others": len(others),
        },
        "other heads on these texts": {
            f"{what} right": f"{sum(right) / len(right):.3f} of {len(right)}"
            for what, right in asked.items()
        },
    }
    path = Path(__file__).parent / "thresholds.json"
    written = json.dumps({"thresholds": thresholds, "quality": quality}, indent=1)
    path.write_text(written + "\n", "utf-8")
    print(len(texts), "texts; of all", of_all, thresholds, quality)


def _limit(word: Word, thresholds: dict[str, float]) -> float:
    """Return the share from which a word is hidden, as the detector has it."""
    least = thresholds[word.best]
    if word.visible:
        return max(least, thresholds["visible"])
    return least if word.known else min(least, thresholds["unknown"])


if __name__ == "__main__":
    main()
