"""A few sentences with everything about them that is the same for all mechanisms."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from benchmarks.baselines.words import Floats, Places
from benchmarks.common.sentences import SentenceEncoder, Sentiment
from models.build.fetch import CACHE
from sanitizer.lm.masked import Batch, MaskedLM, Row, batches, centred_rows
from sanitizer.lm.tokens import WordPieces
from sanitizer.lm.word_vectors import WordTable
from sanitizer.pipeline.masked_text import MaskedText
from sanitizer.pipeline.sanitizer import Sanitizer
from sanitizer.risk.posterior import Prior, SameNumbers, Vocabulary, public_logits

Logits = NDArray[np.float32]
Hits = NDArray[np.bool_]
N_NEAR = 10
LIKELY, NEAR = 50, 50  # candidates of the best guess besides the word itself
BATCH_TOKENS = 2048


def _unit(table: WordTable, words: list[str]) -> Logits:
    """Return vectors of length one, float32 [n, n_dimensions]; zero where a word has none."""
    rows = np.array([table.row(word) for word in words], dtype=np.intp)
    return np.where(rows[:, None] >= 0, table.unit(rows), 0).astype(np.float32)


class Tokens:
    """Texts and vectors of all tokens, and how near the nearest and the tenth word of Y is to each.

    Args:
        model: the masked model, whose tokens they are.
    """

    def __init__(self, model: MaskedLM, pieces: WordPieces) -> None:
        self.texts = [pieces.token(i).lower() for i in range(model.pieces.n_rows)]
        self.vectors = _unit(model.words, self.texts)
        self.has_vector = self.vectors.any(axis=1)
        self._table = model.words
        self._same: defaultdict[str, list[int]] = defaultdict(list)
        for token, text in enumerate(self.texts):
            self._same[text].append(token)
        self._words, self._key = sorted({word.lower() for word in model.outputs}), model.sha256

    @cached_property
    def _bounds(self) -> tuple[Logits, Logits]:
        """Return the cosine to the nearest and to the tenth word of Y, float32 [n_tokens] each;
        kept in the build cache.
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

    def compare(self, word: str) -> tuple[Logits, Hits, Hits, Hits]:
        """Return for every token: cosine float32, whether it is the word itself, and whether it
        finds it among 1 or 10.
        """
        row, same = self._table.row(word), np.zeros(len(self.texts), dtype=bool)
        same[self._same.get(word.lower(), [])] = True
        if row < 0:
            return same.astype(np.float32), same, same, same
        cosine = np.where(same, np.float32(1), self.vectors @ self._table.unit(row))
        near = [(cosine >= bound - 1e-6) & self.has_vector | same for bound in self._bounds]
        return cosine, same, near[0], near[1]


@dataclass(frozen=True)
class Tools:
    """What all groups share. Only what needs them asks for the encoder and the classifier."""

    model: MaskedLM
    pieces: WordPieces
    encoder: SentenceEncoder | None = None
    sentiment: Sentiment | None = None

    @cached_property
    def tokens(self) -> Tokens:
        return Tokens(self.model, self.pieces)

    @cached_property
    def vocabulary(self) -> Vocabulary:
        return Vocabulary(self.model)

    def scored(self, rows: Sequence[Row]) -> Iterator[tuple[Batch, Logits]]:
        """Rows of like lengths together, each batch with its scores over all tokens, float32 [n,
        n_tokens].
        """
        ordered = sorted(rows, key=lambda row: len(row.ids))
        for batch in batches(ordered, (self.pieces.cls, self.pieces.sep), BATCH_TOKENS):
            yield batch, self.model.full_logits(batch.ids, batch.lengths, batch.at)


@dataclass(frozen=True)
class Place:
    """One private word and its contexts.

    Attributes:
        released: float32 [n_outputs], scores over Y with every private word hidden.
        original: float32 [n_tokens], scores over all tokens in the original text.
        prior: what the best guesser believes beforehand; None where this attack is not run.
    """

    word: str
    released: Logits
    original: Logits
    prior: Prior | None

    def logits(self, context: str) -> Logits | None:
        """What a mechanism with this kind of context reads."""
        return {"none": None, "released": self.released, "original": self.original}[context]


class Group:
    """Sentences under one policy.

    Args:
        sentences: (text, 1 if positive); those without a private word are left out.
        policy: preset name.
        n_guessed, n_inferred: places per sentence, evenly spaced, for the best guess and for
            masked-word inference.
    """

    def __init__(
        self,
        tools: Tools,
        sentences: Sequence[tuple[str, int]],
        policy: str,
        n_guessed: int,
        n_inferred: int,
    ) -> None:
        self.tools, self._n_guessed, self._n_inferred = tools, n_guessed, n_inferred
        self._sanitizer = Sanitizer(policy=policy, model=tools.model)
        self.sentences = [(t, y) for t, y in sentences if self.masked(t).words]
        self.places = [self._places(text) for text, _ in self.sentences]

    @cached_property
    def clean(self) -> Logits:
        """Vectors of the originals, float32 [n, width]."""
        assert self.tools.encoder is not None
        return self.tools.encoder.encode([t for t, _ in self.sentences])

    @property
    def clean_accuracy(self) -> Floats:
        """Whether each original sentence is classified right, float64 [n]."""
        assert self.tools.sentiment is not None
        labels = np.array([y for _, y in self.sentences])
        return np.asarray(self.tools.sentiment.predict(self.clean) == labels, dtype=np.float64)

    def masked(self, text: str) -> MaskedText:
        return self._sanitizer.inner.mask(text, SameNumbers())

    def attacked(self, sentence: int) -> Places:
        """The places for masked-word inference, int [n]."""
        return _spaced(len(self.places[sentence]), self._n_inferred)

    def _places(self, text: str) -> list[Place]:
        tools, masked = self.tools, self.masked(text)
        released = public_logits(tools.model, tools.pieces, masked)
        every, longest = np.arange(len(masked.words)), tools.model.max_length
        rows = list(centred_rows(0, *masked.original_ids(), every, tools.pieces.mask, longest))
        original = {
            word: row
            for batch, scores in tools.scored(rows)
            for (_, word), row in zip(batch.units, scores, strict=True)
        }
        guessed_at = set(_spaced(len(every), self._n_guessed).tolist())
        return [
            Place(
                unit.text,
                released[i],
                original[i],
                self._prior(released[i], unit.text) if i in guessed_at else None,
            )
            for i, unit in enumerate(masked.words)
        ]

    def _prior(self, released: Logits, word: str) -> Prior:
        return self.tools.vocabulary.prior(released, word, (LIKELY, NEAR))


def _spaced(n: int, wanted: int) -> Places:
    """At most `wanted` of n places, evenly spaced, int."""
    return np.arange(n)[:: max(1, n // max(1, wanted))][:wanted]
