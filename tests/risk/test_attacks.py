"""The attacks: intervals, ceilings by exact computation, and that they attack what the pipeline
really releases.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from math import exp, log

import numpy as np
import pytest
from numpy.typing import NDArray

from sanitizer import Cape, Sanitizer
from sanitizer.cli.display import attack_text
from sanitizer.lm.tokens import WordPieces
from sanitizer.pipeline.engines import WordMechanism, engine_for
from sanitizer.pipeline.outputs import WordNeighborhoods
from sanitizer.privacy.dyntext import DynText
from sanitizer.risk.attacks import SameNumbers, Trials, rouge_l, run_attacks
from sanitizer.risk.posterior import (
    Likelihoods,
    Nearest,
    Prior,
    Vocabulary,
    ceiling,
    guessed,
    list_shares,
    public_logits,
)
from sanitizer.risk.report import PUBLISHED, Rate
from sanitizer.testing.models import SeededSource, ToyBackbone

PROMPT = "My father Peter has hepatitis and lives in Leeds."
PRIVATE = ("Peter", "hepatitis", "Leeds")
WORDS = ("London", "Paris", "doctor", "lawyer", "guitar", "cancer", "xyzzyq")
CERTIFIED: list[WordMechanism] = [
    Cape(1.0),
    Cape(4.0, n_shortlist=20, n_top=2),
    Cape(4.0, profile="geometric"),
    Cape(4.0, profile="prior"),
    DynText(4.0),
    DynText(8.0, list_size="fixed"),
]


def flat(n: int, m: int) -> NDArray[np.float32]:
    return np.zeros((n, m), dtype=np.float32)


def bumpy(n: int, m: int) -> NDArray[np.float32]:
    """The same scores at every position, so that contexts do not depend on what was released."""
    return np.tile(np.random.default_rng(7).normal(size=m).astype(np.float32) * 2, (n, 1))


def shouting(model: ToyBackbone, word: str) -> ToyBackbone:
    """A model that is sure of one word everywhere."""

    def scores(n: int, m: int) -> NDArray[np.float32]:
        found = flat(n, m)
        found[:, [i for i, output in enumerate(model.outputs) if output.lower() == word]] = 20.0
        return found

    return ToyBackbone(scores)


@pytest.fixture(scope="module")
def toy() -> ToyBackbone:
    return ToyBackbone(bumpy)


@pytest.fixture(scope="module")
def pieces(toy: ToyBackbone) -> WordPieces:
    return WordPieces(toy.folder / "tokenizer.json")


@pytest.fixture(scope="module")
def vocabulary(toy: ToyBackbone) -> Vocabulary:
    return Vocabulary(toy)


def likelihoods(mechanism: WordMechanism, toy: ToyBackbone, pieces: WordPieces) -> Likelihoods:
    return Likelihoods(engine_for(mechanism, toy, pieces), mechanism, toy, pieces)


class TestRate:
    @pytest.mark.parametrize(
        ("n_hits", "n", "low", "high"),
        [
            (0, 10, 0.0, 0.277533),
            (5, 10, 0.236593, 0.763407),
            (10, 10, 0.722467, 1.0),
            (1, 100, 0.001767, 0.054486),
        ],
    )
    def test_wilson_intervals(self, n_hits: int, n: int, low: float, high: float) -> None:
        rate = Rate.of(n_hits, n)
        assert rate.share == n_hits / n
        assert (rate.low, rate.high) == pytest.approx((low, high), abs=1e-5)

    @pytest.mark.parametrize(("n_hits", "n"), [(0, 0), (-1, 5), (6, 5)])
    def test_impossible_counts_are_named(self, n_hits: int, n: int) -> None:
        with pytest.raises(ValueError, match="n_hits"):
            Rate.of(n_hits, n)


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
            Sanitizer(Cape(0.01), model=sure), ["We met in London."], 20, source=SeededSource(1)
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
        sanitizer, text = (
            Sanitizer(mechanism, model=toy),
            "Peter told Anna in Leeds that Peter has hepatitis.",
        )
        models = sanitizer.inner.models()
        masked, vocabulary = sanitizer.inner.mask(text, SameNumbers()), Vocabulary(toy)
        nothing = np.empty(0, dtype=np.intp)
        priors = {
            at: vocabulary.prior(scores, masked.words[at].text, 5, nothing)
            for at, scores in public_logits(toy, models.pieces, masked).items()
        }
        exact = Likelihoods(models.engine, mechanism, toy, models.pieces)
        trials = Trials(sanitizer, exact, priors, SeededSource(3))
        drawn = [
            trials.draw(sanitizer.inner.mask(text, SameNumbers())).finish()[0] for _ in range(3)
        ]
        again = SeededSource(3)
        assert drawn == [sanitizer.sanitize(text, fresh=True, source=again).text for _ in range(3)]
        assert trials.log_likelihoods(masked.drawn[0]).shape == (
            3,
            len(priors[masked.drawn[0]].words),
        )

    def test_list_lengths_are_as_likely_as_they_are_drawn(self, toy: ToyBackbone) -> None:
        mechanism, near = (
            DynText(5.0, epsilon_density=30.0),
            WordNeighborhoods.load(toy.folder, toy.words),
        )
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
        scores, near = bumpy(1, len(toy.outputs))[0], np.array([4, 9], dtype=np.intp)
        for word in ("London", "xyzzyq"):
            prior = vocabulary.prior(scores, word, 50, near)
            assert prior.words[prior.truth] == word
            assert prior.mass.sum() == pytest.approx(1.0)
            assert prior.p >= 0.9 / len(toy.words.words)
            assert {vocabulary.words[4], vocabulary.words[9]} <= set(prior.words)
            assert all(a >= b for a, b in pairwise(prior.mass))
            assert word not in repr(prior)

    def test_nearest_words(self, vocabulary: Vocabulary, toy: ToyBackbone) -> None:
        nearest = Nearest(toy, vocabulary)
        assert vocabulary.words[nearest.places("doctor", 1)[0]].lower() == "doctor"
        same, close, far = nearest.ranks(
            "doctor", ["Doctor", "physician", "guitar"], ["doctor", "Leeds"]
        )
        assert same == 0
        assert 0 < close < 10 < far
        (unknown,) = nearest.ranks("xyzzyq", ["guitar"], ["xyzzyq"])
        assert unknown > 10_000


class TestReport:
    def test_the_measured_guess_is_near_the_exact_one_and_below_its_ceiling(
        self, toy: ToyBackbone, pieces: WordPieces, vocabulary: Vocabulary
    ) -> None:
        mechanism, word, scores = Cape(4.0), "London", bumpy(1, len(toy.outputs))[0]
        found = run_attacks(
            Sanitizer(mechanism, model=toy), ["We met in London."], 300, source=SeededSource(2)
        )
        prior = vocabulary.prior(scores, word, 200, Nearest(toy, vocabulary).places(word, 100))
        exact = guessed(prior, likelihoods(mechanism, toy, pieces).table(prior.words, scores)).sum()
        assert found.n_words == 1
        assert found.posterior.success.low <= exact <= found.posterior.success.high
        assert found.posterior.prior == pytest.approx(prior.p)
        assert found.posterior.belief_ceiling == pytest.approx(ceiling(prior.p, 4.0))
        assert found.posterior.success_ceiling is not None
        assert found.posterior.belief_ceiling is not None
        assert found.posterior.success.low <= found.posterior.success_ceiling
        assert found.posterior.belief <= found.posterior.belief_ceiling

    def test_fresh_draws_average_out_and_the_memory_stops_that(self, toy: ToyBackbone) -> None:
        found = run_attacks(
            Sanitizer(DynText(8.0), model=toy), [PROMPT], 40, source=SeededSource(4)
        )
        assert [r.sends for r in found.repeated] == [1, 5, 20]
        once, several, many = found.repeated
        assert once.fresh == found.posterior.success
        assert many.fresh.share >= several.fresh.share > once.fresh.share
        assert all(r.remembered == once.fresh for r in found.repeated)
        assert found.remembered_outputs == 1

    def test_a_published_variant_has_no_ceiling(self, toy: ToyBackbone) -> None:
        found = run_attacks(
            Sanitizer(DynText(3.0, variant="published"), model=toy), ["In London."], 5
        )
        assert not found.certified
        assert found.posterior.success_ceiling is found.posterior.belief_ceiling is None
        assert [r.success_ceiling for r in found.repeated] == [None, None]
        assert "NOT certified" in attack_text(found)

    def test_inference_finds_what_the_model_is_sure_of(self, toy: ToyBackbone) -> None:
        sure = Sanitizer(Cape(), model=shouting(toy, "london"))
        found = run_attacks(sure, ["We met in London."], 5, source=SeededSource(1)).inference
        assert found.top_1.share == found.top_10.share == 1.0
        other = run_attacks(sure, ["We met in Qzylph."], 5, source=SeededSource(1)).inference
        assert other.top_10.share == 0.0

    def test_a_word_that_is_always_kept(self, toy: ToyBackbone) -> None:
        """With the word itself in the list and a huge epsilon every attack wins."""
        mechanism = Cape(40.0, lambda_l=0.0, demote_self=False, n_shortlist=20_000, n_top=1)
        found = run_attacks(
            Sanitizer(mechanism, model=toy), ["We met in London."], 20, source=SeededSource(1)
        )
        assert (
            found.retention.share
            == found.nearest.top_1.share
            == found.posterior.success.share
            == 1.0
        )
        assert found.mapping_size == 1.0

    def test_counts(self, toy: ToyBackbone) -> None:
        texts = ["In London.", "The of and", "", "Qzylphon has 17 in London, and London has."]
        found = run_attacks(
            Sanitizer(Cape(consistent=True), model=toy), texts, 3, source=SeededSource(1)
        )
        assert (found.n_texts, found.n_words, found.n_trials) == (4, 3, 3)
        assert found.n_outside == found.n_unmeasured == 1
        assert found.retention.n == 9
        assert [r.sends for r in found.repeated] == [1]
        assert 1.0 <= found.mapping_size <= 3.0

    def test_no_private_word_is_shown_and_nothing_is_charged(self, toy: ToyBackbone) -> None:
        sanitizer = Sanitizer(model=toy, budget=1.0)
        found = run_attacks(sanitizer, [PROMPT], 2, source=SeededSource(1))
        shown = repr(found) + str(found.as_dict()) + attack_text(found)
        assert not any(word in shown for word in PRIVATE)
        assert sanitizer.spent == 0.0

    def test_published_figures_stand_beside_ours_and_say_so(self, toy: ToyBackbone) -> None:
        text = attack_text(run_attacks(Sanitizer(model=toy), [PROMPT], 2, source=SeededSource(1)))
        assert {p.status for p in PUBLISHED} == {"published, other data"}
        for figure in ("published, other data", "SST-2", "IMDb", "94.4", "9.07"):
            assert figure in text


class TestBadArguments:
    @pytest.mark.parametrize("n_trials", [0, -1, 1.5, True])
    def test_trials(self, toy: ToyBackbone, n_trials: int) -> None:
        with pytest.raises(ValueError, match="n_trials"):
            run_attacks(Sanitizer(model=toy), [PROMPT], n_trials)

    @pytest.mark.parametrize("texts", [[], ["the of"], [""]])
    def test_texts(self, toy: ToyBackbone, texts: list[str]) -> None:
        with pytest.raises(ValueError, match="texts"):
            run_attacks(Sanitizer(model=toy), texts, 1)

    def test_one_text_is_not_a_sequence_of_texts(self, toy: ToyBackbone) -> None:
        with pytest.raises(TypeError, match="texts"):
            run_attacks(Sanitizer(model=toy), "London", 1)

    def test_a_mechanism_without_exact_probabilities(self, toy: ToyBackbone) -> None:
        with pytest.raises(ValueError, match="replacement='noise'"):
            run_attacks(Sanitizer(DynText(5.0, replacement="noise"), model=toy), [PROMPT], 1)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("The cat sat on the mat", "the cat sat on the mat", 1.0),
        ("a b c d", "a x c d", 0.75),
        ("a b c", "c b a", 1 / 3),
        ("a b", "x y z", 0.0),
        ("a b c d e f", "a c e", 2 * 3 / 9),
        ("", "", 1.0),
        ("", "a", 0.0),
    ],
)
def test_rouge_l(first: str, second: str, expected: float) -> None:
    assert rouge_l(first, second) == pytest.approx(expected)
