"""The attacks: intervals, ceilings by exact computation, and that they attack what the pipeline
really releases.
"""

from __future__ import annotations

from typing import Any

import pytest

from sanitizer import Cape, Sanitizer
from sanitizer.cli.display import attack_text
from sanitizer.lm.tokens import WordPieces
from sanitizer.pipeline.engines import WordMechanism
from sanitizer.privacy.dyntext import DynText
from sanitizer.risk.attacks import AttackReport, Rate, run_attacks
from sanitizer.risk.posterior import Vocabulary, ceiling, guessed
from sanitizer.testing.models import SeededSource, ToyBackbone
from tests.risk.conftest import bumpy, likelihoods, shouting

PROMPT = "My father Peter has hepatitis and lives in Leeds."
PRIVATE = ("Peter", "hepatitis", "Leeds")


def attacked(
    mechanism: WordMechanism, toy: ToyBackbone, *texts: str, trials: int = 5, seed: int = 1
) -> AttackReport:
    sanitizer = Sanitizer(mechanism, model=toy, policy="words")
    return run_attacks(sanitizer, texts, trials, source=SeededSource(seed))


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


class TestReport:
    def test_the_measured_guess_is_near_the_exact_one_and_below_its_ceiling(
        self, toy: ToyBackbone, pieces: WordPieces, vocabulary: Vocabulary
    ) -> None:
        mechanism, word, scores = Cape(4.0), "London", bumpy(1, len(toy.outputs))[0]
        found = attacked(mechanism, toy, "We met in London.", trials=300, seed=2)
        prior = vocabulary.prior(scores, word)
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
        found = attacked(DynText(8.0), toy, PROMPT, trials=40, seed=4)
        assert [r.sends for r in found.repeated] == [1, 5, 20]
        once, several, many = found.repeated
        assert once.fresh == found.posterior.success
        assert many.fresh.share >= several.fresh.share > once.fresh.share
        assert all(r.remembered == once.fresh for r in found.repeated)
        assert found.remembered_outputs == 1

    def test_a_published_variant_has_no_ceiling(self, toy: ToyBackbone) -> None:
        found = attacked(DynText(3.0, variant="published"), toy, "In London.")
        assert not found.certified
        assert found.posterior.success_ceiling is found.posterior.belief_ceiling is None
        assert [r.success_ceiling for r in found.repeated] == [None, None]
        assert "NOT certified" in attack_text(found)

    def test_inference_finds_what_the_model_is_sure_of(self, toy: ToyBackbone) -> None:
        sure = shouting(toy, "london")
        found = attacked(Cape(), sure, "We met in London.").inference
        assert found.top_1.share == found.top_10.share == 1.0
        other = attacked(Cape(), sure, "We met in Qzylph.").inference
        assert other.top_10.share == 0.0

    def test_a_word_that_is_always_kept(self, toy: ToyBackbone) -> None:
        """With the word itself in the list and a huge epsilon every attack wins."""
        mechanism = Cape(40.0, lambda_l=0.0, demote_self=False, n_shortlist=20_000, n_top=1)
        found = attacked(mechanism, toy, "We met in London.", trials=20)
        won = (found.retention, found.nearest.top_1, found.posterior.success)
        assert [rate.share for rate in won] == [1.0] * 3
        assert found.mapping_size == 1.0

    def test_counts(self, toy: ToyBackbone) -> None:
        texts = ["In London.", "The of and", "", "Qzylphon has 17 in London, and London has."]
        found = attacked(Cape(consistent=True), toy, *texts, trials=3)
        assert (found.n_texts, found.n_words, found.n_trials) == (4, 3, 3)
        assert found.n_outside == found.n_unmeasured == 1
        assert found.retention.n == 9
        assert [r.sends for r in found.repeated] == [1]
        assert 1.0 <= found.mapping_size <= 3.0

    def test_no_private_word_is_shown_and_nothing_is_charged(self, toy: ToyBackbone) -> None:
        sanitizer = Sanitizer(model=toy, budget=1.0, policy="words")
        found = run_attacks(sanitizer, [PROMPT], 2, source=SeededSource(1))
        shown = repr(found) + str(found.as_dict()) + attack_text(found)
        assert not any(word in shown for word in PRIVATE)
        assert sanitizer.spent == 0.0


@pytest.mark.parametrize(
    ("texts", "trials", "mechanism", "error", "said"),
    [
        *(([PROMPT], n, Cape(), ValueError, "n_trials") for n in (0, -1, 1.5, True)),
        *((texts, 1, Cape(), ValueError, "texts") for texts in ([], ["the of"], [""])),
        ("London", 1, Cape(), TypeError, "texts"),
        ([PROMPT], 1, DynText(5.0, replacement="noise"), ValueError, "replacement='noise'"),
    ],
)
def test_bad_arguments_are_named(
    toy: ToyBackbone,
    texts: Any,
    trials: Any,
    mechanism: WordMechanism,
    error: type[Exception],
    said: str,
) -> None:
    with pytest.raises(error, match=said):
        run_attacks(Sanitizer(mechanism, model=toy, policy="words"), texts, trials)
