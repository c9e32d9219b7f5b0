"""Toy models that the tests of attacks and of their likelihoods share."""

from __future__ import annotations

import pytest

from sanitizer.lm.tokens import WordPieces
from sanitizer.risk.posterior import (
    Vocabulary,
)
from sanitizer.testing.models import ToyBackbone
from tests.risk.toy_models import bumpy


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
