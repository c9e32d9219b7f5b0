"""Output spaces: what a private word may be replaced by, and how far each is from a private word.

`WordSpace` is the whole-word vocabulary Y with word vectors (certified variants). `TokenSpace` is
the masked model's full token vocabulary with its own input table (published variants).
`causal_outputs` has the causal model's.

What a private word may be replaced by where the causal model reads the context.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sanitizer.lm import (
    ByteTokens,
    CausalLM,
    MaskedLM,
    PieceTable,
    WordPieces,
    WordTable,
    scaled_distances,
)

Distance = Callable[[int, NDArray[np.intp]], NDArray[np.float32] | None]
"""(number of the word, outputs int [n]) -> float32 [n], or None where nothing is known of the word.
"""

UNKNOWN = "\x00"
"""A word without vector and pieces: context alone."""
NO_OUTPUTS = np.empty(0, dtype=np.intp)
_LONGEST_WORD = 100  # the tokenizer knows nothing longer


class Outputs(Protocol):
    """Words of Y with what is known of them; a masked LM has all of Y."""

    @property
    def outputs(self) -> list[str]:
        """The words."""

    @property
    def output_ids(self) -> NDArray[np.intp]:
        """Their tokens in the masked model's vocabulary, int [n_outputs]."""

    @property
    def words(self) -> WordTable:
        """Word vectors."""

    @property
    def pieces(self) -> PieceTable:
        """The masked model's input table."""


class OutputSpace(Protocol):
    """Distances and texts of the outputs."""

    n_outputs: int

    def distances(self, words: Sequence[str]) -> Distance:
        """Distances from each of the private words."""

    def own(self, word: str) -> NDArray[np.intp]:
        """Outputs that spell the word itself, any case."""

    def text(self, output: int) -> str:
        """The output as text."""

    def token(self, output: int) -> int:
        """The output as a token of the masked model."""

    def inputs(self) -> list[str]:
        """The private words that an audit walks."""


class WordSpace:
    """Y, the whole-word outputs, with distances from word vectors; then from pieces; then none."""

    def __init__(self, model: Outputs, pieces: WordPieces) -> None:
        self._model, self._pieces, self.n_outputs = model, pieces, len(model.outputs)
        own: defaultdict[str, list[int]] = defaultdict(list)
        for index, word in enumerate(model.outputs):
            own[word.lower()].append(index)
        self._own = {word: np.array(indices, dtype=np.intp) for word, indices in own.items()}

    def distances(self, words: Sequence[str]) -> Distance:
        return lambda i, outputs: self._distance(words[i], outputs)

    def _distance(self, word: str, outputs: NDArray[np.intp]) -> NDArray[np.float32] | None:
        row = self._model.words.row(word)
        if row >= 0:
            return self._model.words.distance(row, outputs)
        known = known_pieces(word, self._pieces)
        if not known:
            return None
        table = self._model.pieces
        return table.cosine_distance(table.mean(known), self._model.output_ids[outputs])

    def own(self, word: str) -> NDArray[np.intp]:
        return self._own.get(word.lower(), NO_OUTPUTS)

    def text(self, output: int) -> str:
        return self._model.outputs[output]

    def token(self, output: int) -> int:
        return int(self._model.output_ids[output])

    def inputs(self) -> list[str]:
        return [*(bytes(w).decode("utf-8") for w in self._model.words.words), UNKNOWN]


class TokenSpace:
    """The full token vocabulary, with Euclidean distances in the model's own input table."""

    def __init__(self, model: MaskedLM, pieces: WordPieces) -> None:
        self._model, self._pieces, self.n_outputs = model, pieces, model.pieces.n_rows

    def distances(self, words: Sequence[str]) -> Distance:
        table = self._model.pieces
        means = np.stack(
            [table.mean(known_pieces(w, self._pieces) or [self._pieces.unknown]) for w in words]
        )
        measured = table.distances(means)
        return lambda i, outputs: measured[i][outputs]

    def own(self, word: str) -> NDArray[np.intp]:
        return NO_OUTPUTS

    def text(self, output: int) -> str:
        return self._pieces.token(output)

    def token(self, output: int) -> int:
        return output

    def inputs(self) -> list[str]:
        return self._pieces.whole_words()


def known_pieces(word: str, pieces: WordPieces) -> list[int]:
    """The word's pieces, or nothing where the tokenizer does not know it whole."""
    if len(word) > _LONGEST_WORD:
        return []
    ids = pieces.encode(word)
    return [] if pieces.unknown in ids else ids


@dataclass(frozen=True)
class OneTokenOutputs:
    """The words of Y that are one token of the causal model when a space stands before them.
    Implements `Outputs`.

    A word of several tokens would need a pass for each of its beginnings: Y goes without it.

    Attributes:
        outputs, output_ids, words, pieces: see `Outputs`. columns: int [n_outputs], their tokens in
            the causal model.
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
        return cls(
            [model.outputs[i] for i in kept], model.output_ids[kept], table, model.pieces, columns
        )


class ByteTokenSpace:
    """The causal model's full vocabulary, with Euclidean distances in its own input table.
    Implements `OutputSpace`.

    A private word is the mean of its tokens, written after a space. Holds the table as float32: 113
    MB for the packaged model.

    Args:
        pieces: the masked model's tokenizer, for `token`.
    """

    def __init__(self, model: CausalLM, tokens: ByteTokens, pieces: WordPieces) -> None:
        self._tokens, self._pieces, self._table = tokens, pieces, model.vectors()
        self._squares = np.square(self._table).sum(axis=1)
        self.n_outputs = len(self._table)

    def distances(self, words: Sequence[str]) -> Distance:
        means = np.stack(
            [self._table[self._tokens.encode(" " + word)].mean(axis=0) for word in words]
        )
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
