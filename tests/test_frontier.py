"""The frontier's arithmetic, on cases small enough to check by hand."""

from __future__ import annotations

from collections.abc import Sequence
from math import erf, log

import numpy as np
import pytest

from benchmarks.claims import at_equal_attack, at_equal_epsilon, difference
from benchmarks.frontier import Setting
from benchmarks.intervals import interval, replicates, summary
from benchmarks.sentences import Sentiment, gelu
from benchmarks.subjects import draws, exact_epsilon
from sanitizer.posterior import Table


class Toy:
    """Two words, two outputs, and a table that anyone can read."""

    context = "none"
    tokens = np.arange(2)

    def table(self, words: Sequence[str], logits: object) -> Table:
        rows = {"first": [0.75, 0.25], "second": [0.25, 0.75]}
        return Table(self.tokens, np.array([rows[w] for w in words]))


def entry(label: str, epsilon: float, cosine: list[float], attack: list[float]) -> dict[str, object]:
    n = len(cosine)
    figures = dict.fromkeys(("sentence_cosine", "rouge_l", "accuracy", "plausibility"), cosine)
    figures |= {"cosine": cosine, "knn_10": attack, "map": attack, "mti_1": attack, "nll": cosine}
    figures |= {name: [1.0] * n for name in ("n_words", "n_guessed", "n_inferred")}
    setting = {"label": label, "epsilon": epsilon, "policy": "strict"}
    return {"setting": setting, "exact_epsilon": epsilon, "per_sentence": figures}


def test_exact_epsilon_of_a_toy() -> None:
    assert exact_epsilon(Toy(), ["first", "second"], None) == pytest.approx(log(3))


def test_draws_follow_the_table() -> None:
    drawn = draws(Toy().table(["first"], None), 4_000)
    assert drawn.mean() == pytest.approx(0.25, abs=0.05)  # seven standard deviations


def test_an_impossible_output_is_never_drawn() -> None:
    assert set(draws(Table(np.array([7, 9]), np.array([[1.0, 0.0]])), 200).tolist()) == {7}


def test_means_weigh_sentences_by_their_words() -> None:
    figures = {"cosine": [3.0, 0.0], "n_words": [3.0, 1.0]}
    assert replicates(figures, "cosine")[0] == pytest.approx(3 / 4)


def test_the_interval_of_equal_sentences_is_a_point() -> None:
    found = interval(replicates({"rouge_l": [0.5] * 20}, "rouge_l"))
    assert (found["low"], found["mean"], found["high"]) == pytest.approx((0.5, 0.5, 0.5))


def test_pseudo_perplexity_is_the_exponential_of_the_mean() -> None:
    found = summary({"nll": [log(8), log(2)], "n_inferred": [1.0, 1.0]})
    assert found["pseudo_perplexity"]["mean"] == pytest.approx(4)


def test_differences_are_paired_and_signed_so_that_more_is_better() -> None:
    ours, other = entry("Cape certified", 5, [0.6, 0.2], [0, 0]), entry("x", 5, [0.5, 0.1], [0, 0])
    better = difference(ours, other, "cosine")
    assert (better["low"], better["high"]) == pytest.approx((0.1, 0.1))
    assert difference(ours, other, "nll")["mean"] == pytest.approx(-0.1)


def test_only_mechanisms_within_the_epsilon_are_compared_at_it() -> None:
    ours, within, above = (
        entry("Cape certified", 5, [0.6], [0.0]),
        entry("within", 5, [0.5], [0.0]),
        entry("above", 5, [0.5], [0.0]) | {"exact_epsilon": 9.0},
    )
    assert {r["against"] for r in at_equal_epsilon([ours, within, above], "Cape certified")} == {"within"}


def test_our_curve_is_interpolated_at_the_others_attack_success() -> None:
    low, high = entry("Cape certified", 3, [0.2], [0.1]), entry("Cape certified", 8, [0.6], [0.5])
    rows = at_equal_attack([low, high, entry("x", 5, [0.3], [0.3])], "Cape certified")
    (row,) = [r for r in rows if (r["attack"], r["figure"]) == ("map", "cosine")]
    assert row["mean"] == pytest.approx(0.4 - 0.3)


def test_our_curve_is_never_extended() -> None:
    low, high = entry("Cape certified", 3, [0.2], [0.1]), entry("Cape certified", 8, [0.6], [0.5])
    assert at_equal_attack([low, high, entry("x", 5, [0.9], [0.8])], "Cape certified") == []


def test_entries_of_different_settings_have_different_names() -> None:
    names = {Setting("a", "santext", e).key(40, d, "model") for e in (1.0, 2.0) for d in (1, 2)}
    assert len(names) == 4


def test_sentiment_learns_what_is_separable() -> None:
    random = np.random.default_rng(1)
    x = random.normal(size=(200, 3)).astype(np.float32)
    labels = (x[:, 0] > 0).astype(np.intp)
    assert (Sentiment(x, labels).predict(x) == labels).mean() > 0.95


def test_gelu_is_the_exact_one() -> None:
    x = np.linspace(-4, 4, 33, dtype=np.float32)
    exact = [v * 0.5 * (1 + erf(v / 2**0.5)) for v in x.tolist()]
    assert gelu(x) == pytest.approx(exact, abs=2e-6)
