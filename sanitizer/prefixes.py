"""Keys and values of prompts' beginnings, kept for the next prompt that begins the same."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from itertools import takewhile

import numpy as np
from numpy.typing import NDArray

Block = NDArray[np.float32]
BLOCK = 32
"""Tokens per block; a beginning is shared by whole blocks."""


class PrefixCache:
    """Blocks of BLOCK tokens, found by all tokens up to their end; the least recently used go first. Thread-safe.

    Not protected: the tokens of recent prompts stay in memory, as keys, until they are displaced or cleared.

    Args:
        max_tokens: how many tokens are kept at most; 0 keeps nothing.
    """

    def __init__(self, max_tokens: int) -> None:
        if max_tokens < 0:
            raise ValueError(f"max_tokens must not be negative, got {max_tokens}")
        self._n_blocks = max_tokens // BLOCK
        self.max_tokens = self._n_blocks * BLOCK
        self._blocks: OrderedDict[tuple[int, ...], Block] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """Tokens kept now."""
        return len(self._blocks) * BLOCK

    def find(self, ids: Sequence[int]) -> list[Block]:
        """The kept blocks of the longest known beginning, in order: float32 [..., BLOCK, head] each."""
        with self._lock:
            keys = self._known(ids)
            for key in reversed(keys):  # what comes first is needed most: it is displaced last
                self._blocks.move_to_end(key)
            return [self._blocks[key] for key in keys]

    def keep(self, ids: Sequence[int], values: Callable[[int, int], Block]) -> None:
        """Keep the whole blocks of `ids`; `values(begin, end)` gives a new array float32 [..., BLOCK, head]."""
        with self._lock:
            for end in range(min(len(ids) // BLOCK, self._n_blocks) * BLOCK, 0, -BLOCK):
                key = tuple(ids[:end])
                if key not in self._blocks:
                    self._blocks[key] = values(end - BLOCK, end)
                self._blocks.move_to_end(key)
            while len(self._blocks) > self._n_blocks:
                self._blocks.popitem(last=False)

    def _known(self, ids: Sequence[int]) -> list[tuple[int, ...]]:
        keys = (tuple(ids[:end]) for end in range(BLOCK, len(ids) + 1, BLOCK))
        return list(takewhile(self._blocks.__contains__, keys))

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._blocks.clear()
