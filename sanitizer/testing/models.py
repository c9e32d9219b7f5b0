"""A seeded source and models without weights, for tests: nothing here is private or secure."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Collection, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from sanitizer.lm.causal import DEFAULT_CAUSAL_MODEL
from sanitizer.lm.files import Manifest, model_folder
from sanitizer.lm.masked import DEFAULT_MASKED_MODEL, read_settings
from sanitizer.lm.reader import CLASSES, ELIGIBLE, GENDERS, TELLING, Ask, Read, Scores
from sanitizer.lm.tokens import ByteTokens, PlacedPieces
from sanitizer.lm.word_vectors import PieceTable, WordTable

_WORD = re.compile(r"[^\W_]+")
_VISIBLE = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")


class SeededSource:
    """A reproducible source of uniform integers. NEVER for real prompts: its output is predictable.

    >>> source = SeededSource(1)
    >>> [source.randbelow(10) for _ in range(5)]
    [2, 9, 1, 4, 1]
    """

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def randbelow(self, n: int, /) -> int:
        """Draw a pseudo-random integer in [0, n)."""
        return self._random.randrange(n)


class ToyBackbone:
    """A MaskedLM with scores of your choice over the packaged vocabulary; no model is run.

    >>> from sanitizer import Sanitizer
    >>> flat = ToyBackbone(lambda n, n_outputs: np.zeros((n, n_outputs), dtype=np.float32))
    >>> result = Sanitizer(policy="strict", model=flat).sanitize("Zorblaxian")
    >>> result.record.n_units
    1

    Args:
        scores: (n, n_outputs) -> float32 [n, n_outputs]; called once per batch.
    """

    def __init__(self, scores: Callable[[int, int], NDArray[np.float32]]) -> None:
        self.folder = model_folder(DEFAULT_MASKED_MODEL)
        settings = read_settings(self.folder, Manifest.read(self.folder).data)
        self.outputs, self.output_ids, self.logit_range, self.max_length = settings
        self.sha256 = "toy"
        self.words, self.pieces = WordTable.load(self.folder), PieceTable.load(self.folder)
        self._scores = scores

    def logits(
        self, ids: NDArray[np.int64], lengths: NDArray[np.int64], at: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        """Return the chosen scores, float32 [n, n_outputs]."""
        return self._scores(len(at), len(self.outputs))

    def full_logits(
        self, ids: NDArray[np.int64], lengths: NDArray[np.int64], at: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        """Return the chosen scores over the whole vocabulary, float32 [n, n_vocabulary]."""
        return self._scores(len(at), self.pieces.n_rows)


class ToyReader:
    """A Reader that gives every hidden word the same class, and no visible word any.

    Hidden words that stand together are one thing.

    >>> reader = ToyReader("PERSON")
    >>> read = reader.read(([5, 6], [1], [0]), [([7], [0])])
    >>> int(read.runs[0].classes[0].argmax()), int(read.visible.classes[0].argmax())
    (1, 0)

    Args:
        kind: class of every hidden word; None for no class.
        words: word -> its class instead, whether it is hidden or visible; None for no class.

    Attributes:
        words: as given. needs: classes of what every request needs; "AGE": every number is an age.
    """

    sha256 = "toy reader"
    thresholds = dict.fromkeys([*CLASSES, "unknown", "visible", "alone"], 0.5)
    least_needed = dict.fromkeys([*ELIGIBLE, *TELLING], 0.5)
    needs: Collection[str] = ()

    def __init__(
        self, kind: str | None = "PERSON", words: Mapping[str, str | None] | None = None
    ) -> None:
        self.pieces = PlacedPieces(model_folder("reader") / "tokenizer.json")
        self._kind, self.words = kind, words or {}

    def read(
        self,
        view: tuple[Sequence[int], Sequence[int], Sequence[int]],
        runs: Sequence[tuple[Sequence[int], Sequence[int]]],
        ask: Ask | None = None,
    ) -> Read:
        """Return the scores of the class that each word has."""
        ids, slots, words = view
        ends = [*sorted([*words, *slots]), len(ids)]
        shown = [self._word(ids[at : ends[ends.index(at) + 1]]) for at in words]
        told = []
        for its, firsts in runs:
            # A token may reach over words, so that they are told by their order.
            found = _WORD.findall(self.pieces.text(its))
            whole = found if len(found) == len(firsts) else [""] * len(firsts)
            told.append(_scores([self.words.get(word, self._kind) for word in whole]))
            told[-1].begins[:1] = 1.0
        asked = [float(kind in self.needs) for kind in (*ELIGIBLE, *TELLING)]
        needed = np.array([asked] * len(ask.places if ask else ()), np.float32)
        return Read(_scores([self.words.get(word) for word in shown]), told, needed)

    def _word(self, ids: Sequence[int]) -> str:
        found = _VISIBLE.search(self.pieces.text(ids))
        return found.group() if found else ""


def _scores(kinds: Sequence[str | None]) -> Scores:
    n = len(kinds)
    classes = np.zeros((n, 1 + len(CLASSES)), np.float32)
    for number, kind in enumerate(kinds):
        classes[number, 0 if kind is None else 1 + CLASSES.index(kind)] = 20.0
    return Scores(classes, np.zeros(n, np.float32), np.zeros((n, len(GENDERS)), np.float32))


class ToyCausalLM:
    """A CausalLM with scores of your choice over the packaged vocabulary; it needs no weights.

    >>> flat = ToyCausalLM(lambda read: np.zeros(49152, dtype=np.float32))
    >>> rows = flat.prefill([[1, 2, 3]])
    >>> rows.step([4]).shape, rows.lengths
    ((1, 49152), [4])

    Args:
        scores: the tokens read so far -> float32 [n_vocabulary], scores of the next one.
    """

    def __init__(
        self, scores: Callable[[Sequence[int]], NDArray[np.float32]], max_length: int = 8192
    ) -> None:
        self.folder = model_folder(DEFAULT_CAUSAL_MODEL)
        self.sha256 = "toy causal"
        self.max_length = max_length
        self.n_vocabulary = ByteTokens(self.folder / "tokenizer.json").n_tokens
        self._scores = scores

    def prefill(self, prompts: Sequence[Sequence[int]]) -> ToyRows:
        """Return rows that have read the prompts."""
        return ToyRows([list(prompt) for prompt in prompts], self._scores, self.max_length)

    def scores(self, ids: Sequence[int], at: Sequence[int]) -> NDArray[np.float32]:
        """Return the chosen scores, float32 [len(at), n_vocabulary]."""
        return np.stack([self._scores(ids[: i + 1]) for i in at])

    def vectors(self) -> NDArray[np.float32]:
        """Return a made-up input table, float32 [n_vocabulary, 8]: near numbers are near."""
        numbers = np.arange(self.n_vocabulary, dtype=np.float32)[:, None]
        return np.sin(numbers / 3.0 ** np.arange(8, dtype=np.float32)).astype(np.float32)

    def forget(self) -> None:
        """Do nothing: nothing is kept between calls."""


class ToyRows:
    """Rows of a `ToyCausalLM`: texts that are read token by token."""

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
        """Read one token more in each row; return the scores of the next."""
        return self._become([[*ids, token] for ids, token in zip(self._read, tokens, strict=True)])

    def extend(self, row: int, tokens: Sequence[int]) -> NDArray[np.float32]:
        """Read more tokens in one row; return the scores of the next in each."""
        read = enumerate(self._read)
        return self._become([[*ids, *(tokens if i == row else [])] for i, ids in read])

    def fork(self, rows: Sequence[int]) -> ToyRows:
        """Return copies of some rows, which go on independently."""
        return ToyRows([list(self._read[row]) for row in rows], self._scores, self._max_length)
