"""Scores and draws: one reference moves its own row only, bit by bit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from sanitizer import SynthesizedText, synthesize
from sanitizer.lm.causal import OnnxCausalLM
from sanitizer.lm.tokens import ByteTokens
from sanitizer.privacy.invisibleink import InvisibleInk
from sanitizer.privacy.next_token import Scores, TokenWeights
from sanitizer.privacy.weights import Logits
from sanitizer.synthesis.plan import (
    DocumentPrompts,
    Plan,
    Prompts,
    Reference,
    ShotPrompts,
    SynthesisOptions,
    Template,
    plan,
    reference_batches,
)
from sanitizer.synthesis.texts import setting_for
from sanitizer.synthesis.writing import (
    AllScores,
    ModelScores,
    RowScores,
    Task,
    drawn_without_replacement,
    read_rows,
    write,
)
from sanitizer.testing.models import SeededSource
from tests.synthesis.conftest import QUERY, REFERENCES

SHARED = "The coat hangs by the door of the house near the river; take it to Ann. Bye."
"""A block and one token."""
ALIKE = [SHARED, REFERENCES[1], REFERENCES[2], SHARED]
OTHERS = ["", "Gone", REFERENCES[1], "x" * 300, SHARED + "Never."]
SEEN: list[NDArray[np.float32]] = []


class Recording(InvisibleInk):
    """Keeps the scores it is given; its weights are those of the public row, so that equal draws
    give equal texts.
    """

    def weights(self, scores: Logits | Scores) -> TokenWeights:
        assert isinstance(scores, RowScores)
        SEEN.append(np.vstack([scores.at(np.arange(len(scores.public))), scores.public]))
        return InvisibleInk(0, self.n_references).weights(scores)


def recorded(
    model: OnnxCausalLM, references: Sequence[str], max_tokens: int = 5
) -> tuple[list[Any], SynthesizedText]:
    """The scores of each step, and the text."""
    options = SynthesisOptions(max_tokens=max_tokens, model=model, source=SeededSource(3))
    found = plan(setting_for(options, len(references), max_tokens))
    recording = Plan(found.setting, Recording(1.0, len(references)), 1.0, 1.0, False)
    SEEN.clear()
    (text,) = write(references, [Task(QUERY, range(len(references)))], recording, "")
    return list(SEEN), text


@pytest.mark.parametrize("at", [0, 2])
@pytest.mark.parametrize("other", OTHERS)
def test_another_reference_moves_its_own_row_only(toy: OnnxCausalLM, at: int, other: str) -> None:
    """Bit by bit, and whatever was read before; else the decoders' bounds would say nothing."""
    ours, text = recorded(toy, ALIKE)
    theirs, other_text = recorded(toy, [*ALIKE[:at], other, *ALIKE[at + 1 :]])
    assert len(ours) == len(theirs) >= 1
    for mine, his in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(np.delete(mine, at + 1, 0), np.delete(his, at + 1, 0))
        assert (mine[at + 1] != his[at + 1]).any()
    assert text == other_text
    assert text.record == other_text.record


def test_another_reference_moves_its_own_row_only_in_the_real_model(real: OnnxCausalLM) -> None:
    long = "The film begins in a small town by the sea, where a young teacher finds a letter. " * 4
    ours, _ = recorded(real, [long + "I liked it.", "Dull.", long + "The end is sad."], 2)
    theirs, _ = recorded(real, ["Nobody laughed.", "Dull.", long + "The end is sad."], 2)
    for mine, his in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(np.delete(mine, 1, 0), np.delete(his, 1, 0))


def test_the_public_row_reads_what_is_read_without_references(toy: OnnxCausalLM) -> None:
    tokens = ByteTokens(toy.folder / "tokenizer.json")
    prompts = DocumentPrompts(QUERY, None, tokens)
    _, alone = read_rows(toy, [prompts.public])
    _, among = read_rows(
        toy, [prompts.public, prompts.private("Tea at four.", 50)], prompts.beginning
    )
    np.testing.assert_array_equal(alone.logits[0], among.logits[0])
    assert QUERY in tokens.decode(prompts.public)
    assert "Tea" in tokens.decode(prompts.private("Tea at four.", 50))


@pytest.mark.parametrize("shots", [False, True])
def test_rows_are_scored_where_asked_as_they_are_everywhere(toy: OnnxCausalLM, shots: bool) -> None:
    tokens = ByteTokens(toy.folder / "tokenizer.json")
    prompts: Prompts = (
        ShotPrompts("2 and 2", None, tokens) if shots else DocumentPrompts(QUERY, None, tokens)
    )
    references: list[Reference] = [
        {"input": f"{i}", "output": "x"} if shots else f"Tea {i}." for i in range(3)
    ]
    rows = [prompts.public, *(prompts.private(reference, 50) for reference in references)]
    assert all(row[: len(prompts.beginning)] == prompts.beginning for row in rows[1:])
    few, every = ModelScores(toy, rows, 3, prompts.beginning), AllScores(toy, rows, 3)
    asked = np.array([0, 7, 40, 95])
    for token in (None, 5, 6):
        some, all_ = few(token), every(token)
        np.testing.assert_allclose(some.at(asked), all_[:, asked], atol=1e-4)
        np.testing.assert_allclose(some.public, all_[0], atol=1e-4)
    with pytest.raises(ValueError, match="beginning"):
        read_rows(toy, [rows[0], prompts.beginning], prompts.beginning)


def test_copies_of_one_row_score_alike_to_the_bit(toy: OnnxCausalLM) -> None:
    """A reference replaced by null has the scores of row 0."""
    scores = ModelScores(toy, [[3, 4, 5]], 3)(None).at(np.arange(96))
    np.testing.assert_array_equal(scores, np.repeat(scores[:1], 4, axis=0))


def test_what_earlier_texts_left_behind_is_not_read(toy: OnnxCausalLM) -> None:
    before, _ = recorded(toy, REFERENCES)
    toy.prefill([[3] * 200])
    synthesize(REFERENCES, QUERY, model=toy, max_tokens=6)
    again, _ = recorded(toy, REFERENCES)
    np.testing.assert_array_equal(before, again)


def test_draws_without_replacement_are_even() -> None:
    source, counts = SeededSource(7), np.zeros((5, 5))
    for _ in range(4000):
        first, second = drawn_without_replacement(5, 2, source)
        counts[first, second] += 1
    assert counts.trace() == 0
    assert abs(counts[~np.eye(5, dtype=bool)] - 200).max() < 70


def test_runs_of_references_follow_from_numbers_only() -> None:
    assert reference_batches(7, 3, None, 8) == [range(2), range(2, 4), range(4, 6)]
    assert reference_batches(100, 1, None, 8) == [range(8)]
    assert reference_batches(100, 2, 30, 8) == [range(30), range(30, 60)]


def test_templates_take_doubled_braces_for_text() -> None:
    template = Template.parse("{{x}} {a} and {b}.")
    assert template.fields == ["a", "b"]
    assert template.filled({"a": "{b}", "b": "2"}) == "{x} {b} and 2."
    before, after = template.around("b")
    assert before.filled({"a": "1"}) == "{x} 1 and "
    assert after.filled({}) == "."
