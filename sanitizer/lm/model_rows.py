"""Token sequences of any length as rows that fit the model's window, and rows as padded batches.

With the released context, rows depend on public tokens and on where the words stand, never on what
the private words are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

MARGIN = 24


@dataclass(frozen=True, slots=True)
class Row:
    """One model row without its edge tokens.

    Attributes:
        text: number of the text it belongs to. ids: int64 [length].
        words: int [n], the words asked for. at: int [n], their masked places in `ids`.
    """

    text: int
    ids: NDArray[np.int64]
    words: NDArray[np.intp]
    at: NDArray[np.intp]


def rows(
    text: int,
    ids: NDArray[np.int64],
    slots: NDArray[np.intp],
    words: NDArray[np.intp],
    max_length: int,
) -> list[Row]:
    """Cover the words asked for, each by exactly one row of at most max_length - 2 tokens.

    A long text is cut into equal stretches; each row also sees MARGIN tokens on both sides.

    Args:
        text: number of the text. ids: its tokens. slots: int [n_words], ascending places of all
            words.
        words: int [n], ascending, the words asked for.
    """
    if not len(words):
        return []
    room, places = max_length - 2, slots[words]
    if len(ids) <= room:
        return [Row(text, ids, words, places)]
    n_rows = -(-len(ids) // (room - 2 * MARGIN))
    edges = np.linspace(0, len(ids), n_rows + 1).astype(np.intp)
    bounds = np.searchsorted(places, edges)
    cut: list[Row] = []
    for left, right, first, last in zip(edges, edges[1:], bounds, bounds[1:], strict=False):
        begin, end = max(0, int(left) - MARGIN), min(len(ids), int(right) + MARGIN)
        if first < last:
            cut.append(Row(text, ids[begin:end], words[first:last], places[first:last] - begin))
    return cut


def centred_rows(
    text: int,
    ids: NDArray[np.int64],
    begins: NDArray[np.intp],
    ends: NDArray[np.intp],
    words: NDArray[np.intp],
    mask: int,
    max_length: int,
) -> Iterator[Row]:
    """One row per word asked for: the word's tokens become one mask, everything around it is kept.

    Args:
        ids: int64 [n_tokens] of the original text. begins, ends: int [n_words], each word's tokens.
        words: int [n], the words asked for. mask: id of the mask token.
    """
    side = (max_length - 3) // 2
    for word in words:
        left = ids[max(0, begins[word] - side) : begins[word]]
        right = ids[ends[word] : ends[word] + side]
        row = np.concatenate([left, [mask], right])
        yield Row(text, row, np.array([word], dtype=np.intp), np.array([len(left)], dtype=np.intp))


@dataclass(frozen=True, slots=True)
class Batch:
    """Padded model input.

    Attributes:
        ids: int64 [batch, length]. lengths: int64 [batch]. at: int64 [n], flat masked positions.
        units: (text, word) behind each of `at`.
    """

    ids: NDArray[np.int64]
    lengths: NDArray[np.int64]
    at: NDArray[np.int64]
    units: tuple[tuple[int, int], ...]


def batches(planned: Sequence[Row], edges: tuple[int, int], max_tokens: int) -> Iterator[Batch]:
    """Pack rows, in order, into batches of at most `max_tokens` tokens (at least one row each).

    Args:
        edges: ids of the tokens put before and after each row.
    """
    group: list[Row] = []
    width = 0
    for row in planned:
        wider = max(width, len(row.ids) + 2)
        if group and wider * (len(group) + 1) > max_tokens:
            yield _pack(group, edges, width)
            group, wider = [], len(row.ids) + 2
        group.append(row)
        width = wider
    if group:
        yield _pack(group, edges, width)


def _pack(group: Sequence[Row], edges: tuple[int, int], width: int) -> Batch:
    ids = np.zeros((len(group), width), dtype=np.int64)
    for i, row in enumerate(group):
        ids[i, 0], ids[i, len(row.ids) + 1] = edges
        ids[i, 1 : len(row.ids) + 1] = row.ids
    lengths = np.array([len(r.ids) + 2 for r in group], dtype=np.int64)
    at = np.concatenate([i * width + 1 + row.at for i, row in enumerate(group)]).astype(np.int64)
    units = tuple((row.text, int(word)) for row in group for word in row.words)
    return Batch(ids, lengths, at, units)
