"""Test doubles, public so that users can test their own code: nothing here is private or secure."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sanitizer.backbone import DEFAULT_MODEL, read_settings
from sanitizer.files import Manifest, model_folder
from sanitizer.tables import PieceTable, WordTable


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
    """A MaskedLM with scores of your choice over the packaged vocabulary and tables; no model is run.

    Args:
        scores: (n, n_outputs) -> float32 [n, n_outputs]; called once per batch.
        folder: model folder to take vocabulary, tables and tokenizer from; default the packaged one.
    """

    def __init__(self, scores: Callable[[int, int], NDArray[np.float32]], folder: Path | None = None) -> None:
        self.folder = folder or model_folder(DEFAULT_MODEL)
        settings = read_settings(self.folder, Manifest.read(self.folder).data)
        self.outputs, self.output_ids, self.logit_range, self.max_length = settings
        self.sha256 = "toy"
        self.words, self.pieces = WordTable.load(self.folder), PieceTable.load(self.folder)
        self._scores = scores

    def logits(self, ids: NDArray[np.int64], lengths: NDArray[np.int64], at: NDArray[np.int64]) -> NDArray[np.float32]:
        """The chosen scores, float32 [n, n_outputs]."""
        return self._scores(len(at), len(self.outputs))

    def full_logits(
        self, ids: NDArray[np.int64], lengths: NDArray[np.int64], at: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        """The chosen scores over the whole vocabulary, float32 [n, n_vocabulary]."""
        return self._scores(len(at), self.pieces.n_rows)
