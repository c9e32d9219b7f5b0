"""A document as tokens: the view's, and each run's own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from sanitizer.detect.view import RUN, Document, Run, View, Word, has_no_blanks


class Pieces(Protocol):
    """A tokenizer.

    Attributes:
        mask: token that stands for a run. line: token that stands for the end of a line.
    """

    mask: int
    line: int

    def placed(self, texts: Sequence[str]) -> list[list[tuple[int, int, int]]]:
        """Return the tokens of each text with offsets, (id, start, end), without special ones."""


class EncodedView(NamedTuple):
    """Tokens of a view.

    Attributes:
        ids: tokens. slots: place of each slot's token. words: place of each visible word's first.
    """

    ids: list[int]
    slots: list[int]
    words: list[int]


class EncodedRun(NamedTuple):
    """Tokens of a run.

    Attributes:
        ids: tokens; none for an identifier. words: what is labelled, as offsets in the run; in
            scripts without blanks each piece is such a word. firsts: place of each one's first
            token.
    """

    ids: list[int]
    words: tuple[Word, ...]
    firsts: list[int]


def encode_view(view: View, pieces: Pieces) -> EncodedView:
    """Return the tokens of a view: a mask for a run, the kind's name for an identifier."""
    kinds = sorted({slot.kind for slot in view.slots if slot.kind != RUN})
    rows = [line for shown in view.shown for line in shown.split("\n")]
    found = pieces.placed([*rows, *(kind.lower().replace("_", " ") for kind in kinds)])
    named = {kind: [each[0] for each in found[len(rows) + i]] for i, kind in enumerate(kinds)}
    ids: list[int] = []
    slots: list[int] = []
    words: list[int] = []
    number = row = 0
    for stretch, shown in enumerate(view.shown):
        at = 0
        for line in shown.split("\n"):
            tokens, base, place = found[row], len(ids), 0
            while number < len(view.words) and view.words[number][0] == stretch:
                start = view.words[number][1].start - at
                if start >= len(line):
                    break
                while place < len(tokens) - 1 and tokens[place][2] <= start:
                    place += 1
                # A tokenizer may drop what it does not know: that is read with what is before it.
                words.append(base + place if tokens else max(0, base - 1))
                number += 1
            ids += [token for token, _, _ in tokens]
            at += len(line) + 1
            row += 1
            if at <= len(shown):
                ids.append(pieces.line)
        if stretch < len(view.slots):
            slots.append(len(ids))
            kind = view.slots[stretch].kind
            ids += [pieces.mask] if kind == RUN else named[kind] or [pieces.mask]
    return EncodedView(ids, slots, words)


def encode_runs(document: Document, pieces: Pieces) -> list[EncodedRun]:
    """Return the tokens of each run; those of one do not depend on another."""
    found = pieces.placed([run.written if run.words else "" for run in document.runs])
    return [_encoded(run, tokens) for run, tokens in zip(document.runs, found, strict=True)]


def _encoded(run: Run, tokens: Sequence[tuple[int, int, int]]) -> EncodedRun:
    words: list[Word] = []
    firsts: list[int] = []
    place = 0
    for word in run.words:
        while place < len(tokens) - 1 and tokens[place][2] <= word.start:
            place += 1
        if not has_no_blanks(run.written[word.start : word.end]):
            words.append(word)
            firsts.append(place)
            continue
        at, low = place, word.start
        while at < len(tokens) and tokens[at][1] < word.end:
            last = at + 1 >= len(tokens) or tokens[at + 1][1] >= word.end
            high = word.end if last else min(tokens[at][2], word.end)
            if high > low:
                words.append(Word(low, high))
                firsts.append(at)
                low = high
            at += 1
        if low < word.end:  # no token at all
            words.append(Word(low, word.end))
            firsts.append(place)
    return EncodedRun([token for token, _, _ in tokens] if run.words else [], tuple(words), firsts)
