"""What the models read of one text when others are beside it in a batch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sanitizer import Sanitizer
from sanitizer.lm.masked import OnnxMaskedLM
from sanitizer.lm.reader import OnnxReader, Read
from sanitizer.testing.models import SeededSource
from sanitizer.text.prompt import DeclaredText

TEXT = "My father Peter has hepatitis and lives in Leeds."
BESIDE = ("Ruth Brandt wrote a long letter about the garden of our neighbour.", "Thank you all.")


class Recording:
    """A masked LM that notes what it is asked and what it answers."""

    def __init__(self, model: OnnxMaskedLM) -> None:
        self._model = model
        self.scores: list[tuple[bytes, bytes]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def logits(self, ids: Any, lengths: Any, at: Any) -> Any:
        found = self._model.logits(ids, lengths, at)
        self.scores.append((ids.tobytes(), found.tobytes()))
        return found


def test_things_are_found_from_the_same_bits_alone_and_in_a_batch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read: list[list[bytes]] = []
    real = OnnxReader.read

    def noted(*given: Any) -> Read:
        found = real(*given)
        read.append([each.classes.tobytes() for each in (found.visible, *found.runs)])
        return found

    monkeypatch.setattr(OnnxReader, "read", noted)
    Sanitizer(policy="balanced").sanitize(TEXT, source=SeededSource(1))
    Sanitizer(policy="balanced").sanitize_batch([BESIDE[0], TEXT, BESIDE[1]])
    alone, *batch = read
    assert len(batch) == 3
    assert alone in batch


def test_under_strict_scores_follow_from_public_and_released_words_of_the_batch(
    model: OnnxMaskedLM,
) -> None:
    """A private word of a text changes no bit that another text's words, or its own, are drawn by.

    The other texts' public words may, in the last digits: sums over a row's places are taken in
    another order where rows are longer. No scale of an int8 product is shared between texts.
    """
    asked: list[list[tuple[bytes, bytes]]] = []
    for word in ("hepatitis", "xqzzyvvian"):
        noted = Recording(model)
        batch = [DeclaredText(each, ()) for each in (BESIDE[0], TEXT.replace("hepatitis", word))]
        Sanitizer(policy="strict", model=noted).sanitize_batch(batch, source=SeededSource(3))
        asked.append(noted.scores)
    assert asked[0][0] == asked[1][0]
    assert asked[0]
    alone = Recording(model)
    Sanitizer(policy="strict", model=alone).sanitize(TEXT, source=SeededSource(3))
    width = np.frombuffer(alone.scores[0][0], np.int64).size
    assert width < np.frombuffer(asked[0][0][0], np.int64).size
