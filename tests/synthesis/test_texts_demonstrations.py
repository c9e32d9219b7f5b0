"""Demonstrations: worked examples as references."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from typing import Any

import pytest

from sanitizer.lm.causal import OnnxCausalLM
from sanitizer.lm.tokens import ByteTokens
from sanitizer.privacy.dps_mozo import DPSMOZO, claimed_epsilon
from sanitizer.privacy.next_token import cost
from sanitizer.synthesis.plan import RELATION, UNIT, ShotPrompts, SynthesizedText
from sanitizer.synthesis.texts import synthesize, synthesize_batch
from sanitizer.synthesis.writing import DrawnScores, read_rows
from sanitizer.testing.models import SeededSource

SHOTS = [{"input": f"{i} and {i}", "output": f"{2 * i}"} for i in range(1, 13)]


def answered(
    toy: OnnxCausalLM, references: Sequence[Mapping[str, str]] = SHOTS, **options: Any
) -> SynthesizedText:
    settings: Any = {"method": "dps-mozo", "max_tokens": 4, "source": SeededSource(1)} | options
    return synthesize(references, settings.pop("query", "2 and 2"), model=toy, **settings)


def test_the_certified_bound_is_that_of_the_range(toy: OnnxCausalLM) -> None:
    record = answered(toy, n_queries=3, epsilon=4.0).record
    decoder = DPSMOZO(4, record.settings["range_"])
    assert record.epsilon == cost(decoder.event(UNIT, RELATION), 12, 1e-6)
    assert 3.9 < record.epsilon <= 4.0
    assert record.certified
    assert (record.n_references, record.n_charged, record.settings["n_shots"]) == (4, 12, 4)


def test_the_published_variant_draws_from_a_pool_and_is_not_certified(toy: OnnxCausalLM) -> None:
    record = answered(toy, variant="published", epsilon=4.0, batch_size=10, n_shots=1).record
    settings = record.settings
    claim = claimed_epsilon(settings["beta"], 1, 10, 4, 1e-6, settings["order"])
    assert record.claimed_epsilon == record.charged == claim <= 4.0
    found = (record.epsilon, record.certified, record.n_references, settings["n_shots"])
    assert found == (inf, False, 10, 1)
    assert record.as_dict()["epsilon"] is None
    assert record.reason


def test_the_published_variant_reads_what_it_draws(toy: OnnxCausalLM) -> None:
    """Each row is some demonstration's, as if read alone with the text so far; no one twice, every
    one at times.
    """
    prompts = ShotPrompts("2 and 2", None, ByteTokens(toy.folder / "tokenizer.json"))
    pool = [prompts.public, *(prompts.private(shot, 50) for shot in SHOTS[:3])]
    alone = {
        read_rows(toy, [[*pool[0], 9], [*pool[i], 9]])[1].hidden[1].tobytes(): i for i in (1, 2, 3)
    }
    seen = set()
    for seed in range(9):
        scores = DrawnScores(toy, pool, 2, SeededSource(seed))
        scores(None)
        first, second = (alone[row.tobytes()] for row in scores(9).hidden[1:])
        assert first != second
        seen |= {first, second}
    assert seen == {1, 2, 3}


def test_too_small_an_epsilon_reads_no_demonstration(toy: OnnxCausalLM) -> None:
    for variant in ("certified", "published"):
        ours, theirs = (
            answered(toy, shots, epsilon=1e-6, variant=variant) for shots in (SHOTS, SHOTS[::-1])
        )
        assert ours == theirs
        assert (ours.record.fell_back, ours.record.charged, ours.record.epsilon) == (True, 0.0, 0.0)


def test_each_demonstration_is_a_turn_of_the_chat_before_the_query(toy: OnnxCausalLM) -> None:
    tokens = ByteTokens(toy.folder / "tokenizer.json")
    prompts = ShotPrompts({"a": "7", "b": "8"}, "Add {a}, {b}\nSum: {sum}!", tokens)
    assert tokens.decode(prompts.public).endswith("user\nAdd 7, 8\nSum:\nassistant\n")
    shown = tokens.decode(prompts.private({"a": "1", "b": "2", "sum": "3", "by": "Ann"}, 90))
    assert shown.endswith("user\nAdd 1, 2\nSum:\nassistant\n3!\nuser\nAdd 7, 8\nSum:\nassistant\n")
    assert len(prompts.private({"a": "1" * 99, "b": "2", "sum": "3"}, 20)) == prompts.n_public + 20
    assert "3!" in tokens.decode(prompts.private({"a": "1" * 99, "b": "2", "sum": "3"}, 20))
    assert "1" * 5 in tokens.decode(prompts.private({"a": "1" * 99, "b": "2", "sum": "3" * 99}, 20))


def test_documents_may_be_multiplied_and_demonstrations_averaged(toy: OnnxCausalLM) -> None:
    documents = synthesize(["one", "two"], "Write.", method="dps-mozo", max_tokens=2, model=toy)
    assert documents.record.method == "dps-mozo"
    assert answered(toy, method="invisibleink").record.method == "invisibleink"
    texts = synthesize_batch(SHOTS, "2 and 2", 3, method="dps-mozo", max_tokens=2, model=toy)
    assert [text.record.n_references for text in texts] == [4, 4, 4]


def test_values_must_be_strings(toy: OnnxCausalLM) -> None:
    with pytest.raises(TypeError, match="input of references"):
        answered(toy, [{"input": 3, "output": "4"}])  # type: ignore[dict-item]


def test_the_real_model_follows_demonstrations(real: OnnxCausalLM) -> None:
    words = [("big", "small"), ("hot", "cold"), ("old", "new"), ("fast", "slow")]
    shots = [{"input": a, "output": b} for a, b in words]
    source = SeededSource(0)
    text = synthesize(shots, "happy", method="dps-mozo", max_tokens=4, epsilon=20.0, source=source)
    assert 0 < len(text) < 40
    assert text.record.certified
