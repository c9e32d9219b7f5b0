"""Word vectors in memory-mapped int8 tables: how far a private word is from each output.

The tables are made by models/build/vectors.py. A cosine of two rows is their integer dot product
over the product of their norms.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sanitizer.errors import ModelError

WORD_BYTES = 24
"""Longest word of the table, in bytes of UTF-8: the table has entries of fixed size."""


def mapped(path: Path) -> NDArray[np.generic]:
    """Map an array file into memory; raise ModelError if it is missing or no array."""
    try:
        array: NDArray[np.generic] = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError):
        raise ModelError(f"{path.name} cannot be read as a table") from None
    return array


@dataclass(frozen=True)
class WordTable:
    """Vectors of frequent words and of the outputs.

    >>> import numpy as np
    >>> from sanitizer.lm.files import model_folder
    >>> table = WordTable.load(model_folder("masked-lm"))
    >>> table.row("fiancée") == table.row("FIANCEE")
    True
    >>> table.distance(table.row("doctor"), np.arange(3)).shape
    (3,)

    Attributes:
        words: bytes S24 [n_words], sorted, lower case, UTF-8.
        vectors: int8 [n_words, n_dimensions].
        output_vectors: int8 [n_outputs, n_dimensions]; zero where an output has no vector.
    """

    words: NDArray[np.bytes_]
    vectors: NDArray[np.int8]
    output_vectors: NDArray[np.int8]

    @classmethod
    def load(cls, folder: Path) -> WordTable:
        """Map the tables of a model folder into memory; raise ModelError if one does not fit."""
        names = ("words", "vectors", "output_rows")
        words, vectors, rows = (mapped(folder / f"{name}.npy") for name in names)
        if len(words) != len(vectors) or rows.ndim != 1 or int(np.max(rows)) >= len(words):
            raise ModelError("the word tables do not fit together")
        present = np.asarray(rows, dtype=np.intp) >= 0
        output_vectors = np.where(present[:, None], vectors[rows], 0).astype(np.int8)
        return cls(words, vectors, output_vectors)  # type: ignore[arg-type]

    @cached_property
    def output_norms(self) -> NDArray[np.float32]:
        """Lengths of the outputs' vectors, float32 [n_outputs]; 1 where an output has none."""
        return np.maximum(_lengths(self.output_vectors), np.float32(1))

    def unit(self, rows: int | Sequence[int] | NDArray[np.intp]) -> NDArray[np.float32]:
        """Return the vectors of rows, of length one, float32 [..., n_dimensions]."""
        vectors = self.vectors[rows]
        return vectors.astype(np.float32) / _lengths(vectors)[..., None]

    def row(self, word: str) -> int:
        """Return the row of a word, or -1 if it has no vector.

        Words are compared without case; if that finds none, without accents either.
        """
        if len(word) > WORD_BYTES:  # a word has at least as many bytes as characters
            return -1
        row = self._find(word.lower())
        return row if row >= 0 or word.isascii() else self._find(_plain(word.lower()))

    def _find(self, word: str) -> int:
        key = word.encode("utf-8", "replace")
        if len(key) > WORD_BYTES:
            return -1
        at = int(np.searchsorted(self.words, np.bytes_(key)))
        return at if at < len(self.words) and self.words[at] == key else -1

    def distance(self, row: int, outputs: NDArray[np.intp]) -> NDArray[np.float32]:
        """Return 1 - cosine to each output, float32 [n] in [0, 2].

        It is 1 for outputs without a vector.

        Args:
            row: row of the private word.
            outputs: int [n], numbers of the outputs.
        """
        vector = self.vectors[row].astype(np.float32)
        dots = self.output_vectors[outputs].astype(np.float32) @ vector
        cosine = dots / (_lengths(self.vectors[row]) * self.output_norms[outputs])
        distance: NDArray[np.float32] = np.clip(np.float32(1.0) - cosine, 0.0, 2.0)
        return distance


def _lengths(vectors: NDArray[np.int8]) -> NDArray[np.float32]:
    """Return the lengths of integer vectors; their squares are exact in float32."""
    lengths: NDArray[np.float32] = np.sqrt(np.square(vectors.astype(np.float32)).sum(axis=-1))
    return lengths


def _plain(word: str) -> str:
    """Return the word without accents: "fiancée" -> "fiancee"."""
    return "".join(c for c in unicodedata.normalize("NFD", word) if not unicodedata.combining(c))


class PieceTable:
    """Input vectors of the masked language model, one per token of its vocabulary.

    >>> import numpy as np
    >>> table = PieceTable(np.array([[3, 4], [6, 8]], np.int8), np.ones(2, np.float32))
    >>> table.mean([0, 1]).tolist()
    [4.5, 6.0]

    Args:
        rows: int8 [n_vocabulary, width], vectors up to a factor.
        scale: float32 [n_vocabulary], factor of each row.
    """

    CHUNK = 512
    """Rows that are made float32 at a time, so that they stay in the processor's cache."""
    BLOCK = 4
    """Vectors that are multiplied at a time."""

    def __init__(self, rows: NDArray[np.int8], scale: NDArray[np.float32]) -> None:
        self._rows = rows
        self._scale = scale

    @classmethod
    def load(cls, folder: Path) -> PieceTable:
        """Map the table of a model folder into memory; raise ModelError if a file is damaged."""
        return cls(mapped(folder / "embeddings.npy"), mapped(folder / "embedding_scale.npy"))  # type: ignore[arg-type]

    @property
    def n_rows(self) -> int:
        """Number of tokens in the vocabulary."""
        return len(self._rows)

    def vectors(self, ids: NDArray[np.intp]) -> NDArray[np.float32]:
        """Return the vectors of token ids int [n], float32 [n, width]."""
        return self._rows[ids].astype(np.float32) * self._scale[ids, None]

    @cached_property
    def _squares(self) -> NDArray[np.float32]:
        """Squared norm of each row, float32 [n_vocabulary]."""
        chunks = (
            self._rows[i : i + self.CHUNK].astype(np.float32)
            for i in range(0, self.n_rows, self.CHUNK)
        )
        squares = np.concatenate([np.square(c).sum(axis=1) for c in chunks])
        return np.asarray(squares * self._scale**2, dtype=np.float32)

    def mean(self, pieces: list[int]) -> NDArray[np.float32]:
        """Return the mean vector of a word's pieces, float32 [width]."""
        mean: NDArray[np.float32] = self.vectors(np.array(pieces)).mean(axis=0)
        return mean

    def times(self, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return vectors @ table.T, float32 [n, n_vocabulary], computed chunk by chunk.

        A row of the result does not depend on how many other vectors there are.
        """
        # How a library multiplies depends on the number of rows, and so do the last digits: always
        # blocks of as many rows, so that equal words get equal scores in any batch.
        n_blocks = -(-len(vectors) // self.BLOCK)
        padded = np.pad(vectors, ((0, n_blocks * self.BLOCK - len(vectors)), (0, 0)))
        result = np.empty((len(padded), self.n_rows), dtype=np.float32)
        for begin in range(0, self.n_rows, self.CHUNK):
            columns = self._rows[begin : begin + self.CHUNK].astype(np.float32).T
            for row in range(0, len(padded), self.BLOCK):
                block = padded[row : row + self.BLOCK]
                result[row : row + self.BLOCK, begin : begin + self.CHUNK] = block @ columns
        result *= self._scale
        return result[: len(vectors)]

    def distances(self, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return Euclidean distances to the whole vocabulary, float32 [n, n_vocabulary].

        They are scaled to [0, 1] per vector.
        """
        return scaled_distances(vectors, self.times(vectors), self._squares)

    def cosine_distance(
        self, vector: NDArray[np.float32], ids: NDArray[np.intp]
    ) -> NDArray[np.float32]:
        """Return 1 - cosine of one vector to the rows `ids`, float32 [n]."""
        rows = self.vectors(ids)
        norms = np.linalg.norm(rows, axis=1) * max(float(np.linalg.norm(vector)), 1e-9)
        distance: NDArray[np.float32] = 1.0 - rows @ vector / np.maximum(norms, 1e-9)
        return distance.astype(np.float32)


def scaled_distances(
    vectors: NDArray[np.float32], products: NDArray[np.float32], squares: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Return Euclidean distances of vectors to the rows of a table, scaled to [0, 1] per vector.

    >>> import numpy as np
    >>> vectors, table = np.array([[0, 0]], np.float32), np.array([[0, 0], [3, 4]], np.float32)
    >>> scaled_distances(vectors, vectors @ table.T, (table**2).sum(axis=1)).tolist()
    [[0.0, 1.0]]

    Args:
        vectors: float32 [n, width].
        products: float32 [n, n_rows], products of each vector with each row.
        squares: float32 [n_rows], squared norms of the rows.

    Returns:
        float32 [n, n_rows].
    """
    squared = (vectors**2).sum(axis=1)[:, None] + squares - 2 * products
    d = np.sqrt(np.maximum(squared, 0.0))
    low, high = d.min(axis=1, keepdims=True), d.max(axis=1, keepdims=True)
    scaled: NDArray[np.float32] = (d - low) / np.maximum(high - low, 1e-9)
    return scaled
