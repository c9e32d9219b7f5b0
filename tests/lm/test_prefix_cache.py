"""Kept beginnings: found by all their tokens, never too many, the first ones displaced last."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from sanitizer.lm.causal import BLOCK, PrefixCache

texts = st.lists(
    st.lists(st.integers(0, 1), max_size=4).map(
        lambda bits: [b for b in bits for _ in range(BLOCK)]
    )
)


def keep(cache: PrefixCache, ids: list[int]) -> None:
    """Values that tell which tokens they stand for."""

    def values(begin: int, end: int) -> NDArray[np.float32]:
        return np.array([[hash(tuple(ids[:end])) % 10_007, begin]], np.float32)

    cache.keep(ids, values)


@settings(deadline=None)
@given(texts, st.integers(0, 6 * BLOCK))
def test_what_is_found_was_kept_for_the_same_beginning(
    prompts: list[list[int]], max_tokens: int
) -> None:
    cache = PrefixCache(max_tokens)
    for ids in prompts:
        keep(cache, ids)
        assert len(cache) <= max_tokens
        found = cache.find(ids)
        assert len(found) == min(len(ids), cache.max_tokens) // BLOCK
        for i, block in enumerate(found):
            assert block.tolist() == [[hash(tuple(ids[: (i + 1) * BLOCK])) % 10_007, i * BLOCK]]


def test_a_beginning_in_use_outlives_what_came_after_it() -> None:
    cache = PrefixCache(3 * BLOCK)
    shared = [1] * BLOCK
    for end in range(2, 20):
        keep(cache, [*shared, *[end] * BLOCK])
    assert len(cache.find([*shared, *[19] * BLOCK])) == 2
    assert len(cache.find([*shared, *[2] * BLOCK])) == 1


def test_part_of_a_block_is_not_kept_and_clearing_forgets() -> None:
    cache = PrefixCache(3 * BLOCK)
    keep(cache, [1] * (BLOCK - 1))
    assert len(cache) == 0
    keep(cache, [1] * (2 * BLOCK - 1))
    assert len(cache) == BLOCK
    cache.clear()
    assert cache.find([1] * BLOCK) == []
    with pytest.raises(ValueError, match="negative"):
        PrefixCache(-1)
