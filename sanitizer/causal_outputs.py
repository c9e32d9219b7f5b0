"""What a private word may be replaced by where the causal model reads the context."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from sanitizer.causal import CausalLM
from sanitizer.outputs import NO_OUTPUTS, Distance, Outputs
from sanitizer.tables import PieceTable, WordTable, scaled_distances
from sanitizer.text import ByteTokens, WordPieces


@dataclass(frozen=True)
class OneTokenOutputs:
    """The words of Y that are one token of the causal model when a space stands before them. Implements `Outputs`.

    A word of several tokens would need a pass for each of its beginnings: Y goes without it.

    Attributes:
        outputs, output_ids, words, pieces: see `Outputs`. columns: int [n_outputs], their tokens in the causal model.
    """

    outputs: list[str] = field(repr=False)
    output_ids: NDArray[np.intp] = field(repr=False)
    words: WordTable = field(repr=False)
    pieces: PieceTable = field(repr=False)
    columns: NDArray[np.intp] = field(repr=False)

    @classmethod
    def of(cls, model: Outputs, tokens: ByteTokens) -> OneTokenOutputs:
        """The part of a model's words."""
        spelled = [tokens.encode(" " + word) for word in model.outputs]
        kept = np.array([i for i, ids in enumerate(spelled) if len(ids) == 1], dtype=np.intp)
        table = replace(
            model.words,
            output_vectors=model.words.output_vectors[kept],
            output_norms=model.words.output_norms[kept],
        )
        columns = np.array([spelled[i][0] for i in kept], dtype=np.intp)
        return cls([model.outputs[i] for i in kept], model.output_ids[kept], table, model.pieces, columns)


class ByteTokenSpace:
    """The causal model's full vocabulary, with Euclidean distances in its own input table. Implements `OutputSpace`.

    A private word is the mean of its tokens, written after a space. Holds the table as float32: 113 MB for the
    packaged model.

    Args:
        pieces: the masked model's tokenizer, for `token`.
    """

    def __init__(self, model: CausalLM, tokens: ByteTokens, pieces: WordPieces) -> None:
        self._tokens, self._pieces, self._table = tokens, pieces, model.vectors()
        self._squares = np.square(self._table).sum(axis=1)
        self.n_outputs = len(self._table)

    def distances(self, words: Sequence[str]) -> Distance:
        means = np.stack([self._table[self._tokens.encode(" " + word)].mean(axis=0) for word in words])
        measured = scaled_distances(means, means @ self._table.T, self._squares)
        return lambda i, outputs: measured[i][outputs]

    def own(self, word: str) -> NDArray[np.intp]:
        return NO_OUTPUTS

    def text(self, output: int) -> str:
        return self._tokens.decode([output]).removeprefix(" ")

    def token(self, output: int) -> int:
        """One that the masked model does not know as a whole is its unknown token."""
        ids = self._pieces.encode(self.text(output))
        return ids[0] if len(ids) == 1 else self._pieces.unknown

    def inputs(self) -> list[str]:
        """Tokens that are a space and a word of letters."""
        texts = (self._tokens.decode([i]) for i in range(self.n_outputs))
        return [text[1:] for text in texts if text.startswith(" ") and text[1:].isalpha()]
