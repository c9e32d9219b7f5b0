"""Every token as a word: what releasing it in the place of a private word keeps and gives away."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from numpy.typing import NDArray

from models.build.fetch import CACHE
from sanitizer.backbone import MaskedLM
from sanitizer.text import WordPieces

Logits = NDArray[np.float32]
Hits = NDArray[np.bool_]
N_NEAR = 10


class Tokens:
    """Texts and vectors of all tokens, and how near the nearest and the tenth word of Y is to each."""

    def __init__(self, model: MaskedLM, pieces: WordPieces) -> None:
        self.texts = [pieces.token(i).lower() for i in range(model.pieces.n_rows)]
        rows = np.array([model.words.row(t) for t in self.texts], dtype=np.intp)
        unit = model.words.vectors[rows].astype(np.float32) / model.words.norms[rows, None]
        self.vectors: Logits = np.where(rows[:, None] >= 0, unit, 0).astype(np.float32)
        self.has_vector = rows >= 0
        self._table = model.words
        self._same: defaultdict[str, list[int]] = defaultdict(list)
        for token, text in enumerate(self.texts):
            self._same[text].append(token)
        distinct = np.unique([self.texts[i] for i in model.output_ids], return_index=True)[1]
        self.first, self.tenth = self._bounds(self.vectors[model.output_ids[distinct]], model.sha256)

    def _bounds(self, words: Logits, key: str) -> tuple[Logits, Logits]:
        """Cosine to the nearest and to the tenth word of Y, float32 [n_tokens] each; kept in the build cache."""
        path = CACHE / f"tenth-{key[:16]}.npy"
        if not path.exists():
            path.parent.mkdir(exist_ok=True)
            near = [
                -np.partition(-(self.vectors[i : i + 512] @ words.T), (0, N_NEAR - 1), axis=1)[:, [0, N_NEAR - 1]]
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
        first, second = (self._table.vectors[r].astype(np.float32) / self._table.norms[r] for r in rows)
        return float(first @ second)

    def compare(self, word: str) -> tuple[Logits, Hits, Hits, Hits]:
        """To every token: cosine float32, whether it is the word itself, and whether it finds it among 1 or 10."""
        row, same = self._table.row(word), np.zeros(len(self.texts), dtype=bool)
        same[self._same.get(word.lower(), [])] = True
        if row < 0:
            return same.astype(np.float32), same, same, same
        own = self._table.vectors[row].astype(np.float32) / self._table.norms[row]
        cosine = np.where(same, np.float32(1), self.vectors @ own)
        near = [(cosine >= bound - 1e-6) & self.has_vector | same for bound in (self.first, self.tenth)]
        return cosine, same, near[0], near[1]
