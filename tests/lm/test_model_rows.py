"""Every word asked for is covered once, whatever the length."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sanitizer.lm.model_rows import batches, centred_rows, rows

MASK, CLS, SEP = 103, 101, 102


@given(st.integers(1, 2000), st.sets(st.integers(0, 1999), max_size=60), st.integers(64, 256))
def test_rows_cover_each_word_once_and_fit(
    n_tokens: int, places: set[int], max_length: int
) -> None:
    slots = np.array(sorted(p for p in places if p < n_tokens), dtype=np.intp)
    ids = np.arange(n_tokens) + 1000
    ids[slots] = MASK
    cut = rows(0, ids, slots, np.arange(len(slots)), max_length)
    assert [int(w) for row in cut for w in row.words] == list(range(len(slots)))
    for row in cut:
        assert len(row.ids) <= max_length - 2
        assert all(row.ids[row.at] == MASK)


def test_rows_read_context_on_both_sides_of_a_cut() -> None:
    ids = np.arange(600) + 1000
    cut = rows(0, ids, np.arange(600), np.arange(600), 256)
    assert len(cut) > 1
    assert cut[1].at[0] >= 20
    assert max(len(r.ids) for r in cut) - min(len(r.ids) for r in cut) <= 30


@given(st.lists(st.integers(1, 60), min_size=1, max_size=20), st.integers(1, 200))
def test_batches_keep_order_and_point_at_the_masks(lengths: list[int], max_tokens: int) -> None:
    planned = []
    for text, length in enumerate(lengths):
        ids = np.arange(length) + 1000
        ids[length // 2] = MASK
        planned += rows(text, ids, np.array([length // 2]), np.array([0]), 128)
    seen = []
    for batch in batches(planned, (CLS, SEP), max_tokens):
        assert batch.ids.size <= max(max_tokens, max(lengths) + 2)
        assert all(batch.ids.reshape(-1)[batch.at] == MASK)
        assert all(batch.ids[:, 0] == CLS)
        assert all(batch.ids[np.arange(len(batch.ids)), batch.lengths - 1] == SEP)
        seen += [text for text, _ in batch.units]
    assert seen == list(range(len(lengths)))


def test_a_centred_row_masks_one_word_whole_and_keeps_the_others() -> None:
    ids = np.array([1, 2, 3, 4, 5, 6, 7])
    (row,) = centred_rows(0, ids, np.array([2]), np.array([5]), np.array([0]), MASK, 128)
    assert list(row.ids) == [1, 2, MASK, 6, 7]
    assert list(row.at) == [2]
    (short,) = centred_rows(
        0, np.arange(1000), np.array([500]), np.array([501]), np.array([0]), MASK, 65
    )
    assert len(short.ids) == 63
    assert short.ids[short.at[0]] == MASK
