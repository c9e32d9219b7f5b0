"""Profile "medoids" over a toy vocabulary, as the contract tests ask for it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sanitizer.lm.word_vectors import PieceTable, WordTable
from sanitizer.pipeline.outputs import Medoids, OneTokenOutputs
from sanitizer.privacy.cape import Cape
from sanitizer.privacy.weights import Weights
from tests.privacy.toy_scores import TOY_VOCABULARY_SIZE


def toy_outputs(seed: int = 7) -> OneTokenOutputs:
    """Make twelve words, each with a random vector; the last two are spellings of one."""
    n = TOY_VOCABULARY_SIZE
    names = [chr(ord("a") + i) for i in range(n - 1)]
    vectors = np.random.default_rng(seed).integers(-127, 128, (n - 1, 5)).astype(np.int8)
    rows = [*range(n - 1), n - 2]
    table = WordTable(np.array(names, dtype="S24"), vectors, vectors[rows])
    pieces = PieceTable(vectors[rows], np.ones(n, dtype=np.float32))
    each = np.arange(n)
    return OneTokenOutputs([*names, names[-1].upper()], each, table, pieces, each)


class Covering:
    """A position of profile "medoids"; see `mechanism_contract.Position`."""

    def __init__(self, mechanism: Cape, logits: NDArray[np.float32]) -> None:
        self._mechanism = mechanism
        self.medoids = Medoids(mechanism, toy_outputs(), (-3.0, 3.0))
        (self.design,) = self.medoids.designs(logits[None])
        self.outputs = self.design.outputs

    def weights(self, word: int | None, distance: NDArray[np.float32] | None) -> Weights:
        """See `Position`."""
        near = None if distance is None else distance[self.outputs]
        chance = 0.0 if word is None else float(self.design.chances[word])
        own = np.flatnonzero(self.outputs == word)
        return self._mechanism.design_weights(self.design, near, chance, own)
