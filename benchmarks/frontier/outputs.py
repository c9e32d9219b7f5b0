"""Every token as a word: what releasing it in the place of a private word keeps and gives away."""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from models.build.fetch import CACHE
from sanitizer.lm import MaskedLM, WordPieces, WordTable

Logits = NDArray[np.float32]
Hits = NDArray[np.bool_]
N_NEAR = 10


def _unit(table: WordTable, words: list[str]) -> Logits:
    """Vectors of length one, float32 [n, n_dimensions]; zero where a word has none."""
    rows = np.array([table.row(word) for word in words], dtype=np.intp)
    unit = table.vectors[rows].astype(np.float32) / table.norms[rows, None]
    return np.where(rows[:, None] >= 0, unit, 0).astype(np.float32)


class Tokens:
    """Texts and vectors of all tokens, and how near the nearest and the tenth word of Y is to each.

    Args:
        texts: of the tokens, in lower case. key: hash of the model whose tokens they are.
    """

    def __init__(self, model: MaskedLM, texts: list[str], key: str) -> None:
        self.texts = texts
        self.vectors = _unit(model.words, self.texts)
        self.has_vector = self.vectors.any(axis=1)
        self._table = model.words
        self._same: defaultdict[str, list[int]] = defaultdict(list)
        for token, text in enumerate(self.texts):
            self._same[text].append(token)
        self._words, self._key = sorted({word.lower() for word in model.outputs}), key

    @classmethod
    def of(cls, model: MaskedLM, pieces: WordPieces) -> Tokens:
        """The masked model's."""
        return cls(
            model, [pieces.token(i).lower() for i in range(model.pieces.n_rows)], model.sha256
        )

    @cached_property
    def _bounds(self) -> tuple[Logits, Logits]:
        """Cosine to the nearest and to the tenth word of Y, float32 [n_tokens] each; kept in the
        build cache.
        """
        path = CACHE / f"tenth-{self._key[:16]}.npy"
        if not path.exists():
            words = _unit(self._table, self._words)
            path.parent.mkdir(exist_ok=True)
            near = [
                -np.partition(-(self.vectors[i : i + 512] @ words.T), (0, N_NEAR - 1), axis=1)[
                    :, [0, N_NEAR - 1]
                ]
                for i in range(0, len(self.vectors), 512)
            ]
            np.save(path, np.concatenate(near))
        first, tenth = np.load(path).T
        return first, tenth

    def cosine(self, word: str, other: str) -> float:
        """Of two words' vectors; 0 where one has none."""
        rows = [self._table.row(w) for w in (word, other)]
        if min(rows) < 0:
            return float(word.lower() == other.lower())
        first, second = (
            self._table.vectors[r].astype(np.float32) / self._table.norms[r] for r in rows
        )
        return float(first @ second)

    def compare(self, word: str) -> tuple[Logits, Hits, Hits, Hits]:
        """To every token: cosine float32, whether it is the word itself, and whether it finds it
        among 1 or 10.
        """
        row, same = self._table.row(word), np.zeros(len(self.texts), dtype=bool)
        same[self._same.get(word.lower(), [])] = True
        if row < 0:
            return same.astype(np.float32), same, same, same
        own = self._table.vectors[row].astype(np.float32) / self._table.norms[row]
        cosine = np.where(same, np.float32(1), self.vectors @ own)
        near = [(cosine >= bound - 1e-6) & self.has_vector | same for bound in self._bounds]
        return cosine, same, near[0], near[1]
