"""Edits of a text, and the same edits of the pieces that the text is made of."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from sanitizer.results import SanitizedText

_TOKENS = re.compile(r"\w+|\W")


class Edit(NamedTuple):
    """New characters for a stretch of a text.

    Attributes:
        start, end: character offsets in the text before any edit.
        text: what stands there afterwards.
    """

    start: int
    end: int
    text: str

    def shifted(self, by: int) -> Edit:
        """Return the edit in a longer text, in which this one begins at `by`."""
        return Edit(self.start + by, self.end + by, self.text)


def edits_of(original: str, result: SanitizedText) -> list[Edit]:
    """Return what was replaced in a text as edits of the original, ascending."""
    edits: list[Edit] = []
    shift = 0  # how much longer the original is up to here
    for each in result.replacements:
        start = each.start + shift
        edits.append(Edit(start, start + len(each.original), each.replacement))
        shift += len(each.original) - len(each.replacement)
    if applied(original, edits) != result.text:
        raise ValueError("original must be the text that was sanitized")
    return edits


def edits_between(before: Sequence[str], after: Sequence[str]) -> list[Edit]:
    """Return edits that make one list of lines of another.

    Args:
        before, after: as many lines each; offsets count one character between lines.

    >>> edits_between(["Dear <PERSON_1>,", "hello"], ["Dear Anna,", "hello"])
    [Edit(start=5, end=15, text='Anna')]
    >>> edits_between(["<A_1>\\t<B_1>"], ["Anna\\tLeeds"])
    [Edit(start=0, end=5, text='Anna'), Edit(start=6, end=11, text='Leeds')]
    """
    edits: list[Edit] = []
    at = 0
    for old, new in zip(before, after, strict=True):
        if old != new:
            edits += [edit.shifted(at) for edit in _cell_edits(old, new)]
        at += len(old) + 1
    return edits


def _cell_edits(old: str, new: str) -> list[Edit]:
    """Return the edits of a line, each within one cell: those of a row lie between tabs."""
    cells, others = old.split("\t"), new.split("\t")
    if len(cells) != len(others):  # a stand-in of several cells, or a value with a tab in it
        return _line_edits(old, new)
    edits: list[Edit] = []
    at = 0
    for cell, other in zip(cells, others, strict=True):
        if cell != other:
            edits += [edit.shifted(at) for edit in _line_edits(cell, other)]
        at += len(cell) + 1
    return edits


def _line_edits(old: str, new: str) -> list[Edit]:
    words, others = _TOKENS.findall(old), _TOKENS.findall(new)
    starts = [0]
    for word in words:
        starts.append(starts[-1] + len(word))
    edits: list[Edit] = []
    for tag, i, j, k, m in SequenceMatcher(None, words, others, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        text = "".join(others[k:m])
        if edits and edits[-1].end >= starts[i] - 1:
            # A character between two edits belongs to a stand-in such as <PERSON_1>.
            last = edits.pop()
            text, i_start = last.text + old[last.end : starts[i]] + text, last.start
        else:
            i_start = starts[i]
        edits.append(Edit(i_start, starts[j], text))
    return edits


def applied(text: str, edits: Sequence[Edit]) -> str:
    """Return a text after its edits."""
    return "".join(apply_to_pieces([text], edits))


def apply_to_pieces(pieces: Sequence[str], edits: Sequence[Edit]) -> list[str]:
    """Return the pieces of a text after edits of the whole.

    What is new stands in the piece in which the edit begins; other pieces lose what was replaced
    in them, so that each keeps its place, and a document its layout.

    Args:
        pieces: which together are the text.
        edits: ascending, not overlapping.

    >>> apply_to_pieces(["Dear An", "na", ", hello"], [Edit(5, 9, "<PERSON_1>")])
    ['Dear <PERSON_1>', '', ', hello']
    """
    found: list[str] = []
    start = n_edit = 0
    for number, piece in enumerate(pieces):
        end = start + len(piece)
        is_last = number == len(pieces) - 1
        shown: list[str] = []
        at = start
        while n_edit < len(edits) and (edits[n_edit].start < end or is_last):
            edit = edits[n_edit]
            shown.append(piece[at - start : max(edit.start - start, at - start)])
            if edit.start >= start:
                shown.append(edit.text)
            at = max(at, min(edit.end, end))
            if edit.end > end and not is_last:
                break  # the next piece loses the rest of it
            n_edit += 1
        shown.append(piece[at - start :])
        found.append("".join(shown))
        start = end
    return found
