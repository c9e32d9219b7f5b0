"""Toy masked models, and what one mechanism makes of them."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from sanitizer.lm.tokens import WordPieces
from sanitizer.pipeline.engines import WordMechanism, engine_for
from sanitizer.risk.posterior import Likelihoods, Vocabulary
from sanitizer.testing.models import ToyBackbone


def bumpy(n: int, m: int) -> NDArray[np.float32]:
    """Score every position alike, so that contexts do not depend on what was released."""
    return np.tile(np.random.default_rng(7).normal(size=m).astype(np.float32) * 2, (n, 1))


def shouting(model: ToyBackbone, word: str) -> ToyBackbone:
    """Return a model that is sure of one word everywhere."""

    def scores(n: int, m: int) -> NDArray[np.float32]:
        found = np.zeros((n, m), dtype=np.float32)
        found[:, [i for i, output in enumerate(model.outputs) if output.lower() == word]] = 20.0
        return found

    return ToyBackbone(scores)


def likelihoods(mechanism: WordMechanism, toy: ToyBackbone, pieces: WordPieces) -> Likelihoods:
    """Return the exact distributions of one mechanism."""
    return Likelihoods(engine_for(mechanism, toy, pieces))


@pytest.fixture(scope="session")
def toy() -> ToyBackbone:
    """Make a model whose scores are the same at every position."""
    return ToyBackbone(bumpy)


@pytest.fixture(scope="session")
def pieces(toy: ToyBackbone) -> WordPieces:
    """Load the tokenizer."""
    return WordPieces(toy.folder / "tokenizer.json")


@pytest.fixture(scope="session")
def vocabulary(toy: ToyBackbone) -> Vocabulary:
    """Make the vocabulary without letter case."""
    return Vocabulary(toy)
