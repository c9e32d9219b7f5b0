"""From examples to what the tagger reads: the skeleton's token ids, the runs' pieces, labels.

Texts are read as `sanitizer.detect` reads them in use: identifiers first, then public forms, one
mask for each hidden run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.build.tagger.data import CLASSES, IGNORE, Span
from sanitizer.detect.skeleton import NUMBERS, WORD, Run, public_forms, skeleton
from sanitizer.identifiers import KINDS, find
from sanitizer.lm import WordPieces, model_folder
from sanitizer.text import Unit

N_PIECES = 8
"""Pieces of a run that the tagger reads at once."""
NOTHING = -1
"""Label of a word about which nothing is learnt."""


@dataclass(frozen=True)
class Encoded:
    """One text as the tagger reads it.

    Attributes:
        ids: int64 [n], the skeleton's tokens with [CLS] and [SEP].
        runs: the hidden runs. at: place of each run's slot in `ids`.
        pieces: piece ids of each run; none for identifiers.
        firsts: number of the first piece of each word of each run.
        chars: where each token of visible text begins; -1 for slots.
    """

    ids: NDArray[np.int64]
    runs: tuple[Run, ...]
    at: list[int]
    pieces: list[list[int]]
    firsts: list[list[int]]
    chars: NDArray[np.int64]


def identifiers(text: str) -> list[Unit]:
    """Return the identifiers of a text as units, ascending."""
    return [Unit(i.start, i.end, text[i.start : i.end], i.kind, False) for i in find(text, KINDS)]


class Encoder:
    """Makes arrays of texts, with the packaged tokenizer and public forms."""

    def __init__(self) -> None:
        self.pieces = WordPieces(model_folder("masked-lm") / "tokenizer.json")
        self._forms = public_forms()

    def encode(self, text: str, reading: bool = False) -> Encoded:
        """Encode a text.

        Args:
            reading: the skeleton shows hidden words, as the detector "reading" does.
        """
        runs = skeleton(text, self._forms, identifiers(text)).runs
        ids, chars = [self.pieces.cls], [-1]
        places: list[int] = []
        pieces: list[list[int]] = []
        firsts: list[list[int]] = []
        end = 0
        for run in runs:
            self._show(text, end, run.start, ids, chars)
            places.append(len(ids))
            own, first = self._run_pieces(text, run)
            pieces.append(own)
            firsts.append(first)
            if run.kind == WORD:
                ids += own if reading else [self.pieces.mask]
            else:
                reads = "two" if run.kind in NUMBERS else run.kind.lower().replace("_", " ")
                ids += self.pieces.encode(reads)
            chars += [-1] * (len(ids) - len(chars))
            end = run.end
        self._show(text, end, len(text), ids, chars)
        ids, chars = [*ids, self.pieces.sep], [*chars, -1]
        return Encoded(
            np.array(ids, np.int64), runs, places, pieces, firsts, np.array(chars, np.int64)
        )

    def _show(self, text: str, start: int, end: int, ids: list[int], chars: list[int]) -> None:
        """Add the tokens of a stretch of visible text, and where each begins."""
        for token, offset in self.pieces.placed(text[start:end]):
            ids.append(token)
            chars.append(start + offset)

    def _run_pieces(self, text: str, run: Run) -> tuple[list[int], list[int]]:
        """A run's pieces, and the number of the first piece of each of its words."""
        if run.kind in NUMBERS:
            return self.pieces.encode(text[run.start : run.end]) or [self.pieces.unknown], [0]
        ids: list[int] = []
        firsts: list[int] = []
        if run.kind == WORD:
            at = run.start
            for start, end in run.words:
                ids += self.pieces.encode(text[at:start])
                firsts.append(len(ids))
                ids += self.pieces.encode(text[start:end]) or [self.pieces.unknown]
                at = end
        return ids, firsts


def word_labels(run: Run, spans: Sequence[Span]) -> list[int]:
    """Return the class of each word of a run: 0 none, 1 the first of CLASSES, or NOTHING.

    A number is one word.
    """
    words = ((run.start, run.end),) if run.kind in NUMBERS else run.words
    return [word_label(start, end, spans) for start, end in words]


def word_label(start: int, end: int, spans: Sequence[Span]) -> int:
    """Return the class of what stands from start to end: 0 none, or NOTHING."""
    for span_start, span_end, kind in spans:
        if span_start < end and span_end > start:
            return NOTHING if kind in (IGNORE, "IDENTIFIER") else CLASSES.index(kind) + 1
    return 0
