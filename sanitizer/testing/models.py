"""Test doubles, public so that users can test their own code: nothing here is private or secure."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sanitizer.lm import (
    DEFAULT_CAUSAL_MODEL,
    DEFAULT_MASKED_MODEL,
    ByteTokens,
    Manifest,
    PieceTable,
    WordTable,
    model_folder,
    read_settings,
)


class SeededSource:
    """A reproducible source of uniform integers. NEVER for real prompts: its output is predictable.

    Args:
        seed: equal seeds give equal draws.
    """

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def randbelow(self, n: int, /) -> int:
        """A pseudo-random integer in [0, n)."""
        return self._random.randrange(n)


TOY_VOCABULARY_SIZE = 12


class ToyBackbone:
    """A MaskedLM with scores of your choice over the packaged vocabulary and tables; no model is
    run.

    Args:
        scores: (n, n_outputs) -> float32 [n, n_outputs]; called once per batch.
        folder: model folder to take vocabulary, tables and tokenizer from; default the packaged
            one.
    """

    def __init__(
        self, scores: Callable[[int, int], NDArray[np.float32]], folder: Path | None = None
    ) -> None:
        self.folder = folder or model_folder(DEFAULT_MASKED_MODEL)
        settings = read_settings(self.folder, Manifest.read(self.folder).data)
        self.outputs, self.output_ids, self.logit_range, self.max_length = settings
        self.sha256 = "toy"
        self.words, self.pieces = WordTable.load(self.folder), PieceTable.load(self.folder)
        self._scores = scores

    def logits(
        self, ids: NDArray[np.int64], lengths: NDArray[np.int64], at: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        """The chosen scores, float32 [n, n_outputs]."""
        return self._scores(len(at), len(self.outputs))

    def full_logits(
        self, ids: NDArray[np.int64], lengths: NDArray[np.int64], at: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        """The chosen scores over the whole vocabulary, float32 [n, n_vocabulary]."""
        return self._scores(len(at), self.pieces.n_rows)


class ToyCausalLM:
    """A CausalLM with scores of your choice over the packaged vocabulary; no model is run and no
    weights are needed.

    Args:
        scores: the tokens read so far -> float32 [n_vocabulary], scores of the next one.
        folder: model folder to take the tokenizer from; default the packaged one.
        max_length: tokens of a row.
    """

    def __init__(
        self,
        scores: Callable[[Sequence[int]], NDArray[np.float32]],
        folder: Path | None = None,
        max_length: int = 8192,
    ) -> None:
        self.folder, self.sha256, self.max_length = (
            folder or model_folder(DEFAULT_CAUSAL_MODEL),
            "toy causal",
            max_length,
        )
        self.n_vocabulary = ByteTokens(self.folder / "tokenizer.json").n_tokens
        self._scores = scores

    def prefill(self, prompts: Sequence[Sequence[int]]) -> ToyRows:
        """Rows that have read the prompts."""
        return ToyRows([list(prompt) for prompt in prompts], self._scores, self.max_length)

    def scores(self, ids: Sequence[int], at: Sequence[int]) -> NDArray[np.float32]:
        """The chosen scores, float32 [len(at), n_vocabulary]."""
        return np.stack([self._scores(ids[: i + 1]) for i in at])

    def vectors(self) -> NDArray[np.float32]:
        """A made-up input table, float32 [n_vocabulary, 8]: near numbers are near."""
        numbers = np.arange(self.n_vocabulary, dtype=np.float32)[:, None]
        return np.sin(numbers / 3.0 ** np.arange(8, dtype=np.float32)).astype(np.float32)

    def forget(self) -> None:
        """Nothing is kept."""


class ToyRows:
    """Rows of a `ToyCausalLM`."""

    def __init__(
        self,
        read: list[list[int]],
        scores: Callable[[Sequence[int]], NDArray[np.float32]],
        max_length: int,
    ) -> None:
        self._scores, self._max_length = scores, max_length
        self._become(read)

    def _become(self, read: list[list[int]]) -> NDArray[np.float32]:
        lengths = [len(ids) for ids in read]
        if not lengths or not 0 < min(lengths) <= max(lengths) <= self._max_length:
            raise ValueError(f"rows must hold 1 to {self._max_length} tokens, got {lengths}")
        self._read, self.lengths = read, lengths
        self.logits = np.stack([self._scores(ids) for ids in read])
        return self.logits

    def step(self, tokens: Sequence[int]) -> NDArray[np.float32]:
        """One token more in each row."""
        return self._become([[*ids, token] for ids, token in zip(self._read, tokens, strict=True)])

    def extend(self, row: int, tokens: Sequence[int]) -> NDArray[np.float32]:
        """More tokens in one row."""
        return self._become(
            [[*ids, *(tokens if i == row else [])] for i, ids in enumerate(self._read)]
        )

    def fork(self, rows: Sequence[int]) -> ToyRows:
        """Rows of their own."""
        return ToyRows([list(self._read[row]) for row in rows], self._scores, self._max_length)
