"""Names at a sentence's start that are listed words ("Will owes me"): the reader decides.

Of the 60 sentences of `cases/sentence_starts.txt` that begin with a name most lose it, and most of
the 40 that begin with the word keep that. The floors leave room for a new model.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from sanitizer import Sanitizer
from sanitizer.lm.masked import OnnxMaskedLM

CASES = Path(__file__).parent / "cases" / "sentence_starts.txt"


def n_hidden(first: Sanitizer, mark: str) -> tuple[int, int]:
    """How many sentences lose their first word, and how many there are."""
    lines = CASES.read_text("utf-8").splitlines()
    texts = [line[2:] for line in lines if line.startswith(mark)]
    results = [
        first.derive(conversation=f"{mark}{i}").sanitize(text) for i, text in enumerate(texts)
    ]
    return sum(any(r.start == 0 for r in out.replacements) for out in results), len(texts)


@pytest.mark.slow
def test_names_are_hidden_and_most_words_pass(model: OnnxMaskedLM) -> None:
    first = Sanitizer(policy="deidentify", model=model)
    names, n_names = n_hidden(first, "+")
    words, n_words = n_hidden(first, "-")
    assert (n_names, n_words) == (60, 40)
    assert names >= 55
    assert words <= 20
