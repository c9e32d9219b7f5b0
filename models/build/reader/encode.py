"""Labelled texts as windows of tokens with what is to be learnt at each word."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tokenizers import Tokenizer

from models.build.reader.labelled import Labelled, Span
from models.build.reader.sources import CACHE
from sanitizer.detect.detector import encode_runs, encode_view
from sanitizer.detect.view import opened
from sanitizer.identifiers.search import find
from sanitizer.lm.reader import BEGIN, CLASSES, ELIGIBLE, END, GENDERS, runs_of, windows_of
from sanitizer.text.words import overlapping

UNKNOWN = -1
"""Label of what nothing is known of."""


class CutPieces:
    """The cut tokenizer."""

    def __init__(self) -> None:
        self._tokenizer = Tokenizer.from_file(str(CACHE / "tokenizer.json"))
        self.mask = self._tokenizer.get_vocab_size()
        self.line = self._tokenizer.token_to_id("¶")

    def placed(self, texts: Sequence[str]) -> list[list[tuple[int, int, int]]]:
        """Return the tokens of each text with offsets."""
        found = self._tokenizer.encode_batch(list(texts), add_special_tokens=False)
        return [[(i, a, b) for i, (a, b) in zip(e.ids, e.offsets, strict=True)] for e in found]


@dataclass
class Window:
    """One window: the view's tokens, then the pieces of its runs.

    Attributes:
        ids, positions, parts: of each token; part 0 is the view, others are the rows of runs.
        words: (token, label, begins, gender) of each word, label as index or UNKNOWN.
        needed: (token of the slot, class, 0 or 1).
    """

    ids: list[int]
    positions: list[int]
    parts: list[int]
    words: list[tuple[int, int, int, int]] = field(default_factory=list)
    needed: list[tuple[int, int, int]] = field(default_factory=list)


def encoded(each: Labelled, pieces: CutPieces, kinds: Sequence[str]) -> Iterator[Window]:
    """Yield the windows of a text, its identifiers found as they are when it is read."""
    text = each.text
    taken = [(i.start, i.end, i.kind) for i in find(text, kinds)]
    read = opened(text, taken)
    doc, plain = read.parted, read.decoded
    code = plain.inside(read.code)
    view = encode_view(doc.view, pieces)
    runs = encode_runs(doc, pieces)
    ids = [BEGIN, *view.ids, END]
    # (start, token of the view or None, run, index of the word)
    order: list[tuple[int, int, int, int]] = []
    for i, (stretch, word) in enumerate(doc.view.words):
        start = doc.gaps[stretch] + word.start
        if not overlapping(code, start, start + 1):
            order.append((start, 0, -1, i))
    for number, run in enumerate(runs):
        order += [(doc.starts[number] + w.start, 1, number, i) for i, w in enumerate(run.words)]
    order.sort()
    labels: dict[tuple[int, int], tuple[int, int, int]] = {}
    wanted: dict[int, dict[int, int]] = {}
    last: Span | None = None
    for start, _, number, i in order:
        at = plain.origin(start)
        span = next((s for s in each.spans if s.start <= at < s.end), None)
        if span is None:
            labels[number, i] = 0, 0, UNKNOWN
        else:
            kind = CLASSES.index(span.kind) if span.kind in CLASSES else UNKNOWN - 1
            gender = GENDERS.index(span.gender) if span.gender else UNKNOWN
            labels[number, i] = kind + 1, int(span is not last), gender
            if number >= 0 and span.needed is not None and span.kind in ELIGIBLE:
                of_class = wanted.setdefault(number, {})
                place = ELIGIBLE.index(span.kind)
                of_class[place] = max(of_class.get(place, 0), int(span.needed))
        last = span
    for low, high, first, end in windows_of(len(ids)):
        window = Window(ids[low:high], list(range(2, 2 + high - low)), [0] * (high - low))
        for i, token in enumerate(view.words):
            if first <= token + 1 < end and (-1, i) in labels:
                window.words.append((token + 1 - low, *labels[-1, i]))
        part = 0
        for number, slot in enumerate(view.slots):
            at = slot + 1
            if not (first <= at < end) or not runs[number].ids:
                continue
            for place, value in wanted.get(number, {}).items():
                window.needed.append((at - low, place, value))
            for begin, stop, decides in runs_of(len(runs[number].ids)):
                part += 1
                base = len(window.ids)
                some = runs[number].ids[begin:stop]
                window.ids += some
                window.parts += [part] * len(some)
                window.positions += [min(511, 2 + at - low + j) for j in range(len(some))]
                window.words += [
                    (base + token - begin, *labels[number, i])
                    for i, token in enumerate(runs[number].firsts)
                    if token in decides
                ]
        if window.words:
            yield window
