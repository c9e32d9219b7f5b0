"""Cape that reads from left to right, as a subject: the context of a word is what stands before it.

In the released context that is what was drawn before, so its figures per word are exact in the
context of one draw of the words before, and another draw has others. In the original context all
epsilons read the same scores.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.baselines.base import Places
from benchmarks.frontier.cape_tables import Buckets, PublishedCape
from benchmarks.frontier.outputs import Tokens
from sanitizer.errors import ModelError
from sanitizer.lm import (
    ByteTokens,
    CausalLM,
    Manifest,
    MaskedLM,
    OnnxCausalLM,
    WordPieces,
    model_folder,
)
from sanitizer.pipeline import Choices, LeftReader, Logits, engine_for
from sanitizer.privacy import Cape
from sanitizer.risk import Likelihood, Likelihoods

Causal = tuple[CausalLM, ByteTokens]
Scored = Iterator[tuple[int, Logits]]


@cache
def manifest() -> Manifest:
    """Of the packaged causal model."""
    return Manifest.read(model_folder("lm"))


def fetched() -> bool:
    """Whether its weights are on this machine."""
    try:
        manifest().verify_weights()
    except ModelError:
        return False
    return True


def packaged() -> Causal:
    """The packaged causal model on one thread, for every process has one."""
    folder: Path = model_folder("lm")
    return OnnxCausalLM(folder, threads=1), ByteTokens(folder / "tokenizer.json")


@dataclass(eq=False)
class Left:
    """A mechanism that reads from left to right.

    Attributes:
        tokens: int [n_outputs], each output's token in the masked model; for published Cape, whose
            outputs are the causal model's tokens, its own place. texts: the outputs as text where
            they are not tokens of the masked
            model. words: what releasing an output keeps and gives away, by `tokens`.
        mechanism: gives the tables. reader: reads the context.
    """

    tokens: Places
    texts: list[str] | None
    words: Tokens
    mechanism: PublishedCape | Likelihoods
    reader: LeftReader | Originals
    context = "left"

    def table(self, words: Sequence[str], logits: Logits | None) -> Likelihood:
        return self.mechanism.table(words, logits)

    def output(self, chosen: int) -> int | str:
        """As released: a token of the masked model, or a text."""
        return int(self.tokens[chosen]) if self.texts is None else self.texts[chosen]


def put(choices: Choices, word: int, output: int | str, pieces: WordPieces) -> None:
    """Release a token of the masked model, or a text, which stands in `Choices.ids` as the
    unknown token.
    """
    if isinstance(output, str):
        choices.release(word, output, pieces.unknown)
    else:
        choices.release(word, pieces.token(output), output)


def spelled(choices: Choices, pieces: WordPieces) -> tuple[Places, Places, Places]:
    """Tokens of a released text whose words may be of several: ids int64 [n], begins and ends int
    [n_words].
    """
    masked = choices.masked
    own = [
        np.array(pieces.encode(choices.written(i)), dtype=np.int64)
        for i in range(len(masked.words))
    ]
    edges = [-1, *masked.slots.tolist(), len(choices.ids)]
    between = [choices.ids[before + 1 : after] for before, after in pairwise(edges)]
    lengths, gaps = (
        np.array([len(part) for part in parts], dtype=np.intp) for parts in (own, between)
    )
    ends = np.cumsum(gaps[:-1] + lengths)
    mixed = [part for pair in zip(between, own, strict=False) for part in pair]
    return np.concatenate([*mixed, between[-1]]), ends - lengths, ends


class Originals:
    """Reads original texts; the scores of the last one are kept, for every epsilon reads them."""

    def __init__(self, reader: LeftReader) -> None:
        self._reader, self._last = reader, (tuple[str, ...](), list[tuple[int, Logits]]())

    def words(self, choices: Choices) -> Scored:
        """As `LeftReader.words`."""
        masked = choices.masked
        text = (*masked.stretches(original=True), *(word.text for word in masked.words))
        if self._last[0] != text:
            self._last = text, list(self._reader.words(choices))
        return iter(self._last[1])


class LeftMakers:
    """Builds the subjects that read from left to right; what they share is made once.

    Args:
        words: the masked model's tokens.
    """

    def __init__(self, model: MaskedLM, pieces: WordPieces, words: Tokens, causal: Causal) -> None:
        self._model, self._pieces, self._words, self._causal = model, pieces, words, causal
        self._published: tuple[list[str], Tokens, Buckets, Originals] | None = None

    def make(self, variant: str, epsilon: float, options: dict[str, Any]) -> Left:
        """Cape's certified or published variant."""
        return (
            self._of_published(epsilon)
            if variant == "published"
            else self._certified(Cape(epsilon, **options))
        )

    def _certified(self, mechanism: Cape) -> Left:
        engine = engine_for(mechanism, self._model, self._pieces, self._causal)
        assert engine.left is not None
        tokens = np.array(
            [engine.space.token(i) for i in range(engine.space.n_outputs)], dtype=np.intp
        )
        likelihoods = Likelihoods(engine, mechanism, self._model, self._pieces)
        return Left(tokens, None, self._words, likelihoods, engine.left)

    def _of_published(self, epsilon: float) -> Left:
        if self._published is None:
            engine = engine_for(
                Cape(2.0, variant="published", backbone="causal"),
                self._model,
                self._pieces,
                self._causal,
            )
            assert engine.left is not None
            texts = [engine.space.text(i) for i in range(engine.space.n_outputs)]
            words = Tokens(self._model, [text.lower() for text in texts], self._causal[0].sha256)
            self._published = texts, words, Buckets(engine.distributions), Originals(engine.left)
        texts, words, buckets, reader = self._published
        published = PublishedCape(epsilon, buckets, len(texts))
        return Left(published.tokens, texts, words, published, reader)
