"""Priors, likelihoods and ceilings: exact, and about what the pipeline really releases."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from math import exp, log

import numpy as np
import pytest

from sanitizer import Cape, Sanitizer
from sanitizer.lm.tokens import WordPieces
from sanitizer.pipeline.engines import WordMechanism
from sanitizer.pipeline.outputs import WordNeighborhoods
from sanitizer.privacy.dyntext import DynText
from sanitizer.risk.attacks import run_attacks
from sanitizer.risk.posterior import (
    Likelihoods,
    Prior,
    SameNumbers,
    Trials,
    Vocabulary,
    ceiling,
    guessed,
    list_shares,
    public_logits,
)
from sanitizer.testing.models import SeededSource, ToyBackbone
from tests.risk.conftest import bumpy, likelihoods, shouting

WORDS = ("London", "Paris", "doctor", "lawyer", "guitar", "cancer", "xyzzyq")


CERTIFIED: list[WordMechanism] = [
    Cape(1.0),
    Cape(4.0, n_shortlist=20, n_top=2),
    Cape(4.0, profile="geometric"),
    Cape(4.0, profile="prior"),
    Cape(4.0, profile="medoids"),
    DynText(4.0),
    DynText(8.0, list_size="fixed"),
]


class TestCeiling:
    def test_known_values(self) -> None:
        assert ceiling(0.5, log(3)) == pytest.approx(0.75)
        assert ceiling(0.2, 0.0) == pytest.approx(0.2)
        assert ceiling(0.01, 5.0) == pytest.approx(0.01 * exp(5) / (1 + 0.01 * (exp(5) - 1)))
        assert (ceiling(0.0, 9.0), ceiling(1.0, 9.0), ceiling(1e-9, 2000.0)) == (0.0, 1.0, 1.0)

    @pytest.mark.parametrize("mechanism", CERTIFIED, ids=lambda m: f"{m.name}-{m.epsilon:g}")
    @pytest.mark.parametrize("skew", [0.0, 1.0, 3.0])
    def test_no_output_makes_any_word_likelier_than_epsilon_allows(
        self, mechanism: WordMechanism, skew: float, toy: ToyBackbone, pieces: WordPieces
    ) -> None:
        mass = np.exp(-skew * np.arange(len(WORDS)))
        mass /= mass.sum()
        table = likelihoods(mechanism, toy, pieces).table(WORDS, bumpy(1, len(toy.outputs))[0])
        joint = mass[:, None] * table.p
        assert table.p.sum(axis=1) == pytest.approx(1.0)
        allowed = np.array([ceiling(float(p), mechanism.epsilon) for p in mass])
        assert (joint / joint.sum(axis=0) <= allowed[:, None] + 1e-12).all()
        best = float(joint.max(axis=0).sum())
        assert max(mass) - 1e-12 <= best <= allowed.max() + 1e-12
        guessing = [guessed(Prior(WORDS, mass, i), table).sum() for i in range(len(WORDS))]
        assert float(mass @ guessing) == pytest.approx(best)

    def test_the_best_guess_of_one_given_word_has_no_such_ceiling(self, toy: ToyBackbone) -> None:
        """Where the context gives the word away the guess is right at any epsilon; the belief still
        keeps its bound.
        """
        sure = shouting(toy, "london")
        found = run_attacks(
            Sanitizer(Cape(0.01), model=sure, policy="words"),
            ["We met in London."],
            20,
            source=SeededSource(1),
        )
        assert found.posterior.context_alone == found.posterior.success.share == 1.0
        assert found.posterior.belief_ceiling is not None
        assert found.posterior.prior < found.posterior.belief_ceiling
        assert found.posterior.belief <= found.posterior.belief_ceiling


class TestTrials:
    @pytest.mark.parametrize(
        "mechanism",
        [Cape(), Cape(n_steps=2), Cape(variant="published"), Cape(consistent=True), DynText(5.0)],
        ids=lambda m: f"{m.name}-{m.variant}",
    )
    def test_a_trial_releases_what_the_pipeline_would(
        self, mechanism: WordMechanism, toy: ToyBackbone
    ) -> None:
        sanitizer = Sanitizer(mechanism, model=toy, policy="words")
        text = "Peter told Anna in Leeds that Peter has hepatitis."
        loaded = sanitizer.inner.models()
        masked, vocabulary = sanitizer.inner.mask(text, SameNumbers()), Vocabulary(toy)
        priors = {
            at: vocabulary.prior(scores, masked.words[at].text, (5, 0))
            for at, scores in public_logits(toy, loaded.pieces, masked).items()
        }
        exact = Likelihoods(loaded.engine)
        trials = Trials(sanitizer, exact, priors, SeededSource(3))
        drawn = [
            trials.draw(sanitizer.inner.mask(text, SameNumbers())).finish()[0] for _ in range(3)
        ]
        again = SeededSource(3)
        assert drawn == [sanitizer.sanitize(text, fresh=True, source=again).text for _ in range(3)]
        first = masked.drawn[0]
        assert trials.log_likelihoods(first).shape == (3, len(priors[first].words))

    def test_list_lengths_are_as_likely_as_they_are_drawn(self, toy: ToyBackbone) -> None:
        mechanism = DynText(5.0, epsilon_density=30.0)
        near = WordNeighborhoods.load(toy.folder, toy.words)
        neighborhood = near.of(toy.words.row("hospital"))
        assert neighborhood is not None
        shares = list_shares(mechanism, neighborhood, near.range)
        assert shares.sum() == pytest.approx(1.0)
        source = SeededSource(5)
        drawn = Counter(
            mechanism.draw_list_size(neighborhood, near.range, source) for _ in range(1500)
        )
        for k, share in enumerate(shares, mechanism.shortest):
            assert drawn[k] / 1500 == pytest.approx(share, abs=0.06)


class TestVocabulary:
    def test_a_prior_adds_up_and_always_holds_the_original(
        self, vocabulary: Vocabulary, toy: ToyBackbone
    ) -> None:
        scores = bumpy(1, len(toy.outputs))[0]
        for word in ("London", "xyzzyq"):
            prior = vocabulary.prior(scores, word, (50, 3))
            assert prior.words[prior.truth] == word
            assert prior.mass.sum() == pytest.approx(1.0)
            assert prior.p >= 0.9 / len(toy.words.words)
            near = {vocabulary.words[place].lower() for place in vocabulary.places(word, 3)}
            assert near <= {each.lower() for each in prior.words}
            assert all(a >= b for a, b in pairwise(prior.mass))
            assert word not in repr(prior)

    def test_nearest_words(self, vocabulary: Vocabulary, toy: ToyBackbone) -> None:
        assert vocabulary.words[vocabulary.places("doctor", 1)[0]].lower() == "doctor"
        same, close, far = vocabulary.ranks(
            "doctor", ["Doctor", "physician", "guitar"], ["doctor", "Leeds"]
        )
        assert same == 0
        assert 0 < close < 10 < far
        (unknown,) = vocabulary.ranks("xyzzyq", ["guitar"], ["xyzzyq"])
        assert unknown > 10_000
