"""The frontier's arithmetic, on cases small enough to check by hand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import log
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from benchmarks.common.intervals import interval, replicates, summary
from benchmarks.common.sentences import Sentiment
from benchmarks.frontier.claims import (
    Claim,
    at_equal_attack,
    at_equal_epsilon,
    claims,
    compare,
    difference,
)
from benchmarks.frontier.measures import rouge_l
from benchmarks.frontier.mechanisms import draws, exact_epsilon
from benchmarks.frontier.run import Setting, Size, groups
from sanitizer.risk.posterior import Likelihood


class Toy:
    """Two words, two outputs, and a table that anyone can read."""

    context = "none"
    tokens = np.arange(2)

    def table(self, words: Sequence[str], logits: object) -> Likelihood:
        rows = {"first": [0.75, 0.25], "second": [0.25, 0.75]}
        return Likelihood(self.tokens, np.array([rows[w] for w in words]))


def entry(
    label: str, epsilon: float, cosine: list[float], attack: list[float]
) -> dict[str, object]:
    n = len(cosine)
    figures = dict.fromkeys(("sentence_cosine", "rouge_l", "accuracy", "plausibility"), cosine)
    figures |= {
        "kept": cosine,
        "cosine": cosine,
        "knn_10": attack,
        "map": attack,
        "mti_1": attack,
        "nll": cosine,
    }
    figures |= {name: [1.0] * n for name in ("n_words", "n_guessed", "n_inferred")}
    setting = {"label": label, "epsilon": epsilon, "policy": "strict"}
    return {"setting": setting, "exact_epsilon": epsilon, "per_sentence": figures}


def test_exact_epsilon_of_a_toy() -> None:
    assert exact_epsilon(Toy(), ["first", "second"], None) == pytest.approx(log(3))


def test_draws_follow_the_table() -> None:
    drawn = draws(Toy().table(["first"], None), 4_000)
    assert drawn.mean() == pytest.approx(0.25, abs=0.05)  # seven standard deviations


def test_an_impossible_output_is_never_drawn() -> None:
    assert set(draws(Likelihood(np.array([7, 9]), np.array([[1.0, 0.0]])), 200).tolist()) == {7}


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
    assert {r["against"] for r in at_equal_epsilon([ours, within, above], "Cape certified")} == {
        "within"
    }


def test_our_curve_is_interpolated_at_the_others_attack_success() -> None:
    low, high = entry("Cape certified", 3, [0.2], [0.1]), entry("Cape certified", 8, [0.6], [0.5])
    rows = at_equal_attack([low, high, entry("x", 5, [0.3], [0.3])], "Cape certified")
    (row,) = [r for r in rows if (r["attack"], r["figure"]) == ("map", "cosine")]
    assert row["mean"] == pytest.approx(0.4 - 0.3)


def test_our_curve_is_never_extended() -> None:
    low, high = entry("Cape certified", 3, [0.2], [0.1]), entry("Cape certified", 8, [0.6], [0.5])
    assert at_equal_attack([low, high, entry("x", 5, [0.9], [0.8])], "Cape certified") == []


def test_sentiment_learns_what_is_separable() -> None:
    random = np.random.default_rng(1)
    x = random.normal(size=(200, 3)).astype(np.float32)
    labels = (x[:, 0] > 0).astype(np.intp)
    assert (Sentiment(x, labels).predict(x) == labels).mean() > 0.95


def rows(*spans: tuple[float, float]) -> list[dict[str, float]]:
    return [{"low": low, "high": high} for low, high in spans]


@pytest.mark.parametrize(
    ("spans", "strict", "holds"),
    [
        ([(0.1, 0.2), (0.1, 0.3)], True, "true"),
        ([(0.1, 0.2), (-0.1, 0.3)], True, "not shown"),
        ([(0.1, 0.2), (-0.1, 0.3)], False, "true"),
        ([(0.1, 0.2), (-0.3, -0.1)], False, "false"),
        ([], False, "not measured"),
    ],
)
def test_a_claim_is_decided_by_whole_intervals(
    spans: list[tuple[float, float]], strict: bool, holds: str
) -> None:
    assert Claim("", rows(*spans), strict).holds == holds


def test_every_claim_about_a_better_mechanism_is_true() -> None:
    ours = [entry("Cape certified", e, [0.1 * e] * 3, [0.05 * e] * 3) for e in (3, 5, 8)]
    worse = [entry("x", e, [0.01 * e] * 3, [0.05 * e] * 3) for e in (3, 5, 8)]
    for one in (*ours, *worse):
        one["per_sentence"]["nll"] = [-v for v in one["per_sentence"]["cosine"]]  # type: ignore[index]
    published = entry("Cape published", 10, [0.2] * 3, [0.9] * 3) | {"exact_epsilon": 9.99}
    published["per_sentence"]["nll"] = [5.0] * 3  # type: ignore[index]
    found = compare([*ours, *worse, published])["Cape certified"]
    assert {claim.text: claim.holds for claim in claims(found)} == {
        claim.text: "true" for claim in claims(found)
    }


def test_means_that_were_nowhere_measured_are_left_out() -> None:
    found = summary(
        {
            "map": [0.0, 0.0],
            "n_guessed": [0.0, 0.0],
            "mapping": [float("nan")] * 2,
            "n_words": [1.0, 1.0],
        }
    )
    assert found == {}


def test_what_is_kept_is_not_measured_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benchmarks.frontier.run.CACHE", tmp_path)
    monkeypatch.setattr(Size, "sentiment", lambda *_: None)
    monkeypatch.setattr("benchmarks.frontier.run.SentenceEncoder", lambda: None)
    monkeypatch.setattr("benchmarks.frontier.run.processes", pool)
    asked: list[int] = []

    def note(number: int, *_: object) -> int:
        asked.append(number)
        return number

    monkeypatch.setattr("benchmarks.frontier.run.measured", note)
    kept: Any = groups
    wanted = [(Setting("a", "a", 1.0), 1.0)]
    assert kept(4, Size(n_group=2), wanted, 1, "model") == [0, 1]
    assert kept(6, Size(n_group=2), wanted, 1, "model") == [0, 1, 2]
    assert asked == [0, 1, 2]
    same = [(Setting("another curve", "a", 1.0), 1.0)]
    kept(6, Size(n_group=2), same, 1, "model")
    assert asked == [0, 1, 2]
    kept(2, Size(n_group=2, n_guessed=1), wanted, 1, "model")
    kept(2, Size(n_group=2), wanted, 1, "another model")
    assert asked == [0, 1, 2, 0, 0]


@contextmanager
def pool(workers: int) -> Iterator[object]:
    yield SimpleNamespace(map=map)


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
