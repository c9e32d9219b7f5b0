"""The benchmark's subjects that read from left to right, with a causal model made of a formula."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from benchmarks.common.intervals import summary
from benchmarks.frontier.groups import Group, Tools
from benchmarks.frontier.left_context import Left, LeftMakers, put, spelled
from benchmarks.frontier.measures import of_left
from benchmarks.frontier.mechanisms import draws, exact_epsilon
from benchmarks.frontier.outputs import Tokens
from benchmarks.frontier.settings import CAUSAL, Setting
from sanitizer import Cape
from sanitizer.lm.masked import OnnxMaskedLM
from sanitizer.lm.tokens import ByteTokens, WordPieces
from sanitizer.pipeline.engines import Logits, engine_for
from sanitizer.pipeline.masked_text import Choices
from sanitizer.testing.models import ToyCausalLM

pytestmark = pytest.mark.slow

TEXT = "My father Peter has hepatitis and lives in Leeds."
WORDS = ("hepatitis", "Leeds", "doctor", "Qwyjibo", "zzzzqqq")


def scores(ids: Sequence[int]) -> Logits:
    """They depend on every token read."""
    return (20 * np.random.default_rng(tuple(ids)).random(49152)).astype(np.float32)


@pytest.fixture(scope="module")
def tools(model: OnnxMaskedLM) -> Tools:
    return Tools(model, WordPieces(model.folder / "tokenizer.json"))


@pytest.fixture(scope="module")
def causal() -> tuple[ToyCausalLM, ByteTokens]:
    toy = ToyCausalLM(scores)
    return toy, ByteTokens(toy.folder / "tokenizer.json")


@pytest.fixture(scope="module")
def makers(tools: Tools, causal: tuple[ToyCausalLM, ByteTokens]) -> LeftMakers:
    return LeftMakers(tools.model, tools.pieces, Tokens.of(tools.model, tools.pieces), causal)


def first_scores(subject: Left, group: Group) -> Logits:
    """At the first private word."""
    return next(subject.reader.words(Choices(group.masked(TEXT))))[1]


@pytest.fixture(scope="module")
def group(tools: Tools) -> Group:
    return Group(tools, [(TEXT, 1)], "strict", n_guessed=1, n_inferred=1)


@pytest.mark.parametrize("variant", ["certified", "published"])
@pytest.mark.parametrize("epsilon", [3.0, 10.0])
def test_its_tables_are_the_packages(
    tools: Tools,
    makers: LeftMakers,
    group: Group,
    causal: tuple[ToyCausalLM, ByteTokens],
    variant: str,
    epsilon: float,
) -> None:
    subject = makers.make(variant, epsilon, CAUSAL)
    logits = first_scores(subject, group)
    engine = engine_for(
        Cape(epsilon, variant=variant, backbone="causal"), tools.model, tools.pieces, causal
    )
    table = subject.table(WORDS, logits)
    for row, (outputs, weights) in zip(table.p, engine.distributions(WORDS, logits), strict=True):
        assert table.outputs.tolist() == outputs.tolist()
        assert row == pytest.approx(weights.probabilities(len(outputs)), rel=1e-9)


@pytest.mark.parametrize("epsilon", [2.0, 5.0])
def test_the_certified_one_has_its_epsilon_in_the_context_of_every_draw(
    makers: LeftMakers, group: Group, tools: Tools, epsilon: float
) -> None:
    subject = makers.make("certified", epsilon, CAUSAL)
    choices = Choices(group.masked(TEXT))
    for word, logits in subject.reader.words(choices):
        assert exact_epsilon(subject, tools.model.outputs[::60], logits) <= epsilon + 1e-9
        put(
            choices,
            word,
            subject.output(int(draws(subject.table(["x"], logits), 1)[0])),
            tools.pieces,
        )


def test_figures_of_a_sentence_are_means_over_its_draws(makers: LeftMakers, group: Group) -> None:
    ((sums, outputs),) = of_left(group, [makers.make("certified", 5.0, CAUSAL)], 0, 3)
    n_words = len(group.places[0])
    assert sums["n_words"] == n_words
    assert sums["n_guessed"] == pytest.approx(1)
    assert 0 <= sums["kept"] <= n_words
    assert [len(chosen) for chosen in outputs] == [3] * n_words
    assert all(isinstance(output, int) for chosen in outputs for output in chosen)


def test_published_contexts_are_the_same_at_every_epsilon(makers: LeftMakers, group: Group) -> None:
    first, second = (makers.make("published", e, CAUSAL) for e in (1.0, 10.0))
    assert first_scores(first, group) is first_scores(second, group)


def test_outputs_of_several_tokens_are_read_whole(tools: Tools, group: Group) -> None:
    choices = Choices(group.masked(TEXT))
    for i in range(len(choices.masked.words)):
        put(choices, i, "unbelievably-so", tools.pieces)
    ids, begins, ends = spelled(choices, tools.pieces)
    assert ids.tolist() == tools.pieces.encode(choices.finish()[0])
    own = tools.pieces.encode("unbelievably-so")
    assert all(ids[begin:end].tolist() == own for begin, end in zip(begins, ends, strict=True))


def test_what_the_masked_model_has_no_opinion_on_is_left_out() -> None:
    assert set(
        summary({"nll": [1.0, float("nan")], "n_inferred": [1.0, 1.0], "accuracy": [1.0, 0.0]})
    ) == {"accuracy"}


def test_the_causal_setting_is_another_cell_than_the_masked_one() -> None:
    masked, left = Setting("a", "cape certified", 5.0), Setting("a", "cape certified", 5.0, CAUSAL)
    assert left.reads_left
    assert not masked.reads_left
    assert masked.key(1) != left.key(1)
