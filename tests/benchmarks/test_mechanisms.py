"""The benchmark's quick tables are those of the package."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.frontier.groups import Group, Logits, Tools
from benchmarks.frontier.measures import rank
from benchmarks.frontier.mechanisms import Makers
from sanitizer import Cape
from sanitizer.lm.masked import OnnxMaskedLM
from sanitizer.lm.tokens import WordPieces
from sanitizer.pipeline.engines import engine_for
from sanitizer.privacy.dyntext import DynText
from sanitizer.risk.posterior import Likelihood, Likelihoods

WORDS = ("hepatitis", "Leeds", "doctor", "Qwyjibo", "\x00", "zzzzqqq")
TEXT = "My father Peter has hepatitis and lives in Leeds."


@pytest.fixture(scope="module")
def tools(model: OnnxMaskedLM) -> Tools:
    return Tools(model, WordPieces(model.folder / "tokenizer.json"))


def packaged(mechanism: Cape | DynText, tools: Tools, logits: Logits | None) -> Likelihood:
    engine = engine_for(mechanism, tools.model, tools.pieces)
    return Likelihoods(engine).table(WORDS, logits)


@pytest.fixture(scope="module")
def group(tools: Tools) -> Group:
    return Group(tools, [(TEXT, 1)], "strict", n_guessed=1, n_inferred=1)


@pytest.mark.parametrize("epsilon", [1.0, 10.0, 14.0])
def test_published_cape_at_any_epsilon_is_the_packages(
    tools: Tools, group: Group, epsilon: float
) -> None:
    mechanism, logits = Cape(epsilon, variant="published"), group.places[0][1].original
    quick = Makers(tools.model, tools.pieces).make("cape published", epsilon, {})
    ours, theirs = quick.table(WORDS, logits), packaged(mechanism, tools, logits)
    assert np.abs(ours.p / theirs.p - 1).max() < 1e-9


def test_a_tables_words_do_not_depend_on_what_was_asked_before(tools: Tools, group: Group) -> None:
    first, second = (place.released for place in group.places[0][:2])
    subject = Makers(tools.model, tools.pieces).make("exponential", 5.0, {"n_shortlist": 100})
    before = subject.table(["doctor"], first)
    subject.table(["doctor"], second)
    subject.table(list(WORDS), first)
    assert (subject.table(["doctor"], first).p == before.p).all()


def test_the_quick_rank_tells_the_first_ten_as_the_packages_does(
    tools: Tools, group: Group
) -> None:
    scores = group.places[0][0].released
    for word in (
        *tools.model.outputs[::1500],
        *(tools.model.outputs[i] for i in np.argsort(-scores)[:30]),
    ):
        exact, quick = tools.vocabulary.rank(scores, word), rank(tools.vocabulary, scores, word)
        assert min(exact, 10) == min(quick, 10)
