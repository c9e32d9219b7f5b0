"""DynText: all inputs and list sizes meet epsilon; the paper's formulas; and what breaks the
published one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from math import exp, expm1, log, log1p, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from sanitizer.privacy.dyntext import DensityRange, DynText, Neighborhood
from sanitizer.privacy.weights import LOW, MAX_EPSILON, Weights, high_level
from sanitizer.testing.models import SeededSource
from tests.privacy.toy_scores import TOY_VOCABULARY_SIZE

N = TOY_VOCABULARY_SIZE
LONGEST = 8
RADIUS = 1.2
EPSILONS = (1e-6, 0.1, 1.0, 5.0, 12.0, MAX_EPSILON)
N_REAL = 12_481

Distribution = list[Fraction]


def points() -> NDArray[np.float64]:
    """float64 [N + 4, 3]: the outputs, then words that are no outputs."""
    return np.random.default_rng(5).normal(size=(N + 4, 3))


def density(word: int) -> int:
    """Directly from the definition."""
    at = points()
    return sum(1 for y in range(N) if sqrt(sum((at[word] - at[y]) ** 2)) <= RADIUS)


def near(word: int) -> list[int]:
    at = points()
    return sorted(range(N), key=lambda y: float(np.linalg.norm(at[word] - at[y])))[:LONGEST]


def local_sensitivity(word: int) -> int:
    return max(abs(density(word) - density(y)) for y in near(word))


def toy_neighborhood(word: int) -> Neighborhood:
    members, at = near(word), points()
    offsets = (at[members] - at[word]).astype(np.float32)
    return Neighborhood(
        np.array(members, dtype=np.int32),
        np.linalg.norm(offsets, axis=1).astype(np.float32),
        density(word),
        local_sensitivity(word),
        np.array([local_sensitivity(y) for y in members], dtype=np.int32),
        offsets,
    )


TOY = [toy_neighborhood(word) for word in range(N + 4)]
DENSITIES = [word.density for word in TOY]
RANGE = DensityRange(min(DENSITIES), max(DENSITIES), max(word.sensitivity for word in TOY))


def neighborhood(distances: list[float], density: int = 0, sensitivity: int = 0) -> Neighborhood:
    """One with members 0, 1, 2 and so on."""
    k = len(distances)
    of_members = np.full(k, sensitivity, dtype=np.int32)
    return Neighborhood(
        np.arange(k, dtype=np.int32),
        np.array(distances, dtype=np.float32),
        density,
        sensitivity,
        of_members,
    )


def hostile() -> Iterator[Neighborhood | None]:
    """Nothing, a list that is too short, an empty one, equal distances, and distances that are no
    numbers.
    """
    yield None
    yield neighborhood([0.5])
    yield neighborhood([])
    yield neighborhood([0.0] * LONGEST)
    yield neighborhood([0.0] + [1.0] * (LONGEST - 1))
    yield neighborhood([float("nan")] * LONGEST)
    yield neighborhood([0.0, 1.0, float("nan"), float("inf"), 1.0, 2.0, 3.0, 4.0])


def exact(weights: Weights) -> Distribution:
    return [weights.probability(y) for y in range(N)]


def all_distributions(mechanism: DynText) -> list[Distribution]:
    """For every toy word, every list size, and every hostile input."""
    sizes = range(mechanism.shortest, mechanism.k_max + 1)
    return [exact(mechanism.weights(word, N, k)) for k in sizes for word in (*TOY, *hostile())]


def exact_epsilon(mechanism: DynText) -> float:
    found = all_distributions(mechanism)
    return max(log(max(column) / min(column)) for column in zip(*found, strict=True))


def certified(**options: object) -> Callable[[float], DynText]:
    return lambda epsilon: DynText(epsilon, k_max=LONGEST, **options)  # type: ignore[arg-type]


FORMS = {
    "defaults": certified(),
    "lists of one": certified(k_min=1),
    "longest lists only": certified(k_min=LONGEST),
    "flat scores": certified(k_min=3, epsilon_replacement=0.0),
    "steep scores": certified(k_min=3, epsilon_replacement=24.0),
    "middling scores": certified(k_min=2, epsilon_replacement=2.5),
    "fixed lists": certified(list_size="fixed"),
}


@pytest.mark.parametrize("form", FORMS)
class TestCertified:
    """The contract, over all inputs and all list sizes."""

    def test_every_pair_of_inputs_and_list_sizes_meets_epsilon_exactly(self, form: str) -> None:
        for epsilon in EPSILONS:
            bound = Fraction(high_level(epsilon), LOW)  # at most e^epsilon, from integers
            for column in zip(*all_distributions(FORMS[form](epsilon)), strict=True):
                assert 0 < max(column) <= bound * min(column)

    def test_probabilities_add_up(self, form: str) -> None:
        for epsilon in EPSILONS:
            assert all(sum(found) == 1 for found in all_distributions(FORMS[form](epsilon)))

    def test_weights_are_positive_python_integers_over_all_outputs(self, form: str) -> None:
        weights = FORMS[form](5.0).weights(
            TOY[0], N, LONGEST if form == "longest lists only" else 5
        )
        assert all(type(total) is int and total >= 1 for total in weights.totals)
        assert set(np.concatenate(weights.members)) == set(range(N))

    def test_it_says_so(self, form: str) -> None:
        mechanism = FORMS[form](5.0)
        assert mechanism.certified
        assert mechanism.reason is None
        assert mechanism.claimed(mechanism.weights(TOY[0], N, mechanism.shortest)) is None

    def test_an_epsilon_too_small_for_integers_is_uniform(self, form: str) -> None:
        assert set(exact(FORMS[form](1e-13).weights(TOY[0], N, FORMS[form](5.0).shortest))) == {
            Fraction(1, N)
        }


def highest_share(mechanism: DynText, distances: list[float]) -> Fraction:
    (shares, rest) = mechanism.weights(neighborhood(distances), N_REAL, len(distances)).shares
    assert rest is None
    assert shares is not None
    assert shares.min() >= LOW
    return Fraction(int(shares.max()), sum(int(s) for s in shares))


@given(st.floats(0, 24), st.lists(st.floats(0, 2, width=32), min_size=5, max_size=20))
def test_no_share_of_a_list_exceeds_p_top(eps_r: float, distances: list[float]) -> None:
    mechanism = DynText(epsilon_replacement=eps_r)
    assert highest_share(mechanism, sorted(distances)) <= mechanism.top_share(N_REAL)


def test_nor_does_it_by_rounding() -> None:
    for eps_r in np.linspace(20, 24, 101):
        mechanism = DynText(epsilon_replacement=float(eps_r))
        assert highest_share(mechanism, [0.0, 1.0, 1.0, 1.0, 1.0]) <= mechanism.top_share(N_REAL)


@pytest.mark.parametrize("epsilon", [0.5, 5.0, 10.0])
def test_the_bound_is_reached_by_the_worst_list(epsilon: float) -> None:
    assert exact_epsilon(DynText(epsilon, k_max=LONGEST, k_min=5)) == pytest.approx(
        epsilon, abs=1e-9
    )


@pytest.mark.parametrize("epsilon", [1.0, 6.0, 10.0, 12.0])
@pytest.mark.parametrize("eps_r", [0.0, 2.5, 8.0])
@pytest.mark.parametrize("k_min", [1, 5, 20])
def test_the_mixture_solves_the_closed_form(epsilon: float, eps_r: float, k_min: int) -> None:
    mechanism = DynText(epsilon, k_min=k_min, epsilon_replacement=eps_r)
    p_top = exp(eps_r / 2) / (exp(eps_r / 2) + k_min - 1)
    g = mechanism.gamma_mix(N_REAL)
    assert float(mechanism.top_share(N_REAL)) == pytest.approx(p_top, rel=1e-9)
    assert log1p(float((1 - g) / g) * N_REAL * p_top) == pytest.approx(epsilon, abs=1e-9)


def test_the_worked_example() -> None:
    assert float(DynText(10.0, epsilon_replacement=2.5).gamma_mix(9000)) == pytest.approx(
        0.16, abs=0.005
    )


@pytest.mark.parametrize("epsilon", [4.0, 10.0, 11.0, 12.0, 13.0, 20.0])
def test_scores_get_what_keeps_one_draw_of_twenty_outside(epsilon: float) -> None:
    mechanism = DynText(epsilon)
    g, eps_r = float(mechanism.gamma_mix(N_REAL)), mechanism.scores_epsilon(N_REAL)
    if eps_r == 0.0:
        assert g >= 0.05 - 1e-9
    elif eps_r < 8.0:
        assert g == pytest.approx(0.05)
    else:
        assert g <= 0.05 + 1e-9


def test_the_expected_score_of_a_two_level_list_grows_without_end() -> None:
    def expected(p: float) -> float:
        return expm1(10.0) * p / (expm1(10.0) + N_REAL * p)

    values = [expected(p) for p in np.linspace(0.2, 1.0, 50)]
    assert values == sorted(values)


def test_a_word_of_which_nothing_is_known_is_replaced_uniformly() -> None:
    for mechanism in (DynText(k_max=LONGEST), DynText(3.0, "published")):
        assert set(exact(mechanism.weights(None, N, 5))) == {Fraction(1, N)}
        drawn = {mechanism.draw(None, N, RANGE, SeededSource(seed)) for seed in range(200)}
        assert drawn == set(range(N))


def test_nearer_members_are_more_likely() -> None:
    weights = DynText(8.0, k_max=LONGEST, epsilon_replacement=4.0).weights(TOY[1], N, 6)
    found = [weights.probability(int(y)) for y in TOY[1].members]
    assert found[:6] == sorted(found[:6], reverse=True)
    assert found[0] > found[4]
    assert found[6] == found[7] < found[5]


def test_the_sampler_draws_what_the_weights_say() -> None:
    mechanism, n, source = DynText(2.0, k_max=LONGEST, list_size="fixed"), 20_000, SeededSource(8)
    weights = mechanism.weights(TOY[2], N, mechanism.shortest)
    counts = Counter(mechanism.draw(TOY[2], N, RANGE, source) for _ in range(n))
    for output in range(N):
        p = float(weights.probability(output))
        assert (
            abs(counts[output] - n * p) <= 5 * (n * p * (1 - p)) ** 0.5 + 5
        )  # five standard errors


class TestDensity:
    """Equations 4 to 7."""

    @pytest.mark.parametrize("word", range(N + 4))
    @pytest.mark.parametrize("epsilon_density", [0.5, 4.0])
    def test_smooth_sensitivity_against_its_definition(
        self, word: int, epsilon_density: float
    ) -> None:
        at, beta = points(), epsilon_density / (2 * log(2 / 1e-3))
        around = [word, *near(word)]
        wanted = max(
            local_sensitivity(t) * exp(-beta * float(np.linalg.norm(at[word] - at[t])))
            for t in around
        )
        mechanism = DynText(epsilon_density=epsilon_density, delta=1e-3)
        assert mechanism.smooth_sensitivity(TOY[word]) == pytest.approx(wanted, rel=1e-6)

    @pytest.mark.parametrize("density", ["smooth", "global"])
    def test_the_variance_is_the_papers_rounded_up(self, density: str) -> None:
        mechanism = DynText(density=density)
        sensitivity = (
            mechanism.smooth_sensitivity(TOY[3]) if density == "smooth" else RANGE.sensitivity
        )
        wanted = 2 * sensitivity**2 * log(1.25 / 1e-5) / 0.5**2
        assert wanted <= mechanism.variance(TOY[3], RANGE) <= wanted + 1 / 256

    def test_global_noise_is_never_below_smooth_noise(self) -> None:
        for word in TOY:
            assert DynText(density="global").variance(word, RANGE) >= DynText().variance(
                word, RANGE
            )

    @given(st.integers(0, 100), st.integers(1, 20))
    def test_without_noise_the_size_is_equation_7(self, density: int, k_min: int) -> None:
        word, ends = neighborhood([0.5] * 20, density, 0), DensityRange(0, 100, 0)
        wanted = max(k_min, 20 * (100 - density) // 100)
        assert DynText(k_min=k_min).draw_list_size(word, ends, SeededSource(0)) == wanted
        published = DynText(variant="published").draw_list_size(word, ends, SeededSource(0))
        assert published == max(1, 20 * (100 - density) // 100)

    @given(st.integers(0, 10_000), st.integers(0, 10_000), st.integers(1, 20), st.integers(0, 1000))
    def test_sizes_stay_between_k_min_and_k_max(
        self, density: int, sensitivity: int, k_min: int, seed: int
    ) -> None:
        word, ends = neighborhood([0.5] * 20, density, sensitivity), DensityRange(10, 500, 300)
        size = DynText(k_min=k_min).draw_list_size(word, ends, SeededSource(seed))
        assert k_min <= size <= 20

    def test_one_density_for_all_words_is_no_division_by_zero(self) -> None:
        assert (
            DynText().draw_list_size(
                neighborhood([0.5], 7, 0), DensityRange(7, 7, 0), SeededSource(0)
            )
            == 20
        )

    def test_little_noise_moves_the_size_a_little_and_much_noise_makes_it_a_coin(self) -> None:
        ends, source = DensityRange(0, 1000, 1000), SeededSource(3)

        def sizes(sensitivity: int) -> list[int]:
            word = neighborhood([0.5] * 20, 500, sensitivity)
            return [DynText(k_min=1).draw_list_size(word, ends, source) for _ in range(400)]

        little, much = sizes(5), sizes(1000)
        assert 9 <= float(np.mean(little)) <= 11
        assert 0.3 < np.std(little) < 3
        assert np.mean([k in (1, 20) for k in much]) > 0.9


class TestPublished:
    """The paper's algorithm, and why its bound does not hold."""

    def test_the_scores_are_equation_8(self) -> None:
        distances = [0.4, 0.5, 1.0, 2.0, 4.0]  # of a word in pieces, which is no token itself
        weights = DynText(3.0, "published").weights(neighborhood(distances), N, 4)
        raw = [exp(2.5 / 2 * (1 - d / 2.0)) for d in distances[:4]]
        assert [float(p) for p in exact(weights)[:4]] == pytest.approx([r / sum(raw) for r in raw])
        assert exact(weights)[4:] == [0] * (N - 4)

    def test_no_word_decides_whether_an_error_is_raised(self) -> None:
        for word in hostile():
            for k in range(1, LONGEST + 1):
                assert sum(exact(DynText(3.0, "published").weights(word, N, k))) == 1

    def test_an_output_in_one_list_only_has_an_infinite_ratio(self) -> None:
        found = [exact(DynText(3.0, "published").weights(word, N, 4)) for word in TOY]
        assert any(min(column) == 0 < max(column) for column in zip(*found, strict=True))

    def test_inside_shared_lists_the_ratio_exceeds_epsilon(self) -> None:
        mechanism = DynText(0.6, "published", epsilon_density=0.5)
        alone, shared = neighborhood([0.0, 0.0]), neighborhood([0.0] * 20)
        ratio = mechanism.weights(alone, 20, 1).probability(0) / mechanism.weights(
            shared, 20, 20
        ).probability(0)
        assert log(ratio) == pytest.approx(log(20))
        assert log(ratio) > mechanism.epsilon

    def test_a_list_of_one_returns_the_nearest(self) -> None:
        weights = DynText(3.0, "published").weights(TOY[4], N, 1)
        assert weights.probability(int(TOY[4].members[0])) == 1

    def test_it_says_so(self) -> None:
        mechanism = DynText(3.0, "published")
        assert not mechanism.certified
        assert mechanism.reason is not None
        for word in ("infinite", "ln 20", "smoothed", "unchanged", "global sensitivity"):
            assert word in mechanism.reason
        assert mechanism.claimed(mechanism.weights(TOY[0], N, 3)) == 3.0
        assert mechanism.gamma_mix(N) == 0

    def test_reasons_fit_the_ablation(self) -> None:
        reason = DynText(3.0, "published", list_size="fixed", replacement="noise").reason
        assert reason is not None
        assert "density" not in reason
        assert "own list" in reason

    def test_the_budget_is_split(self) -> None:
        assert DynText(3.0, "published").scores_epsilon(N) == 2.5
        assert DynText(3.0, "published", list_size="fixed").scores_epsilon(N) == 3.0


class TestNoiseOnTheEmbedding:
    """The ablation without the exponential mechanism."""

    def test_it_agrees_with_noise_on_every_component(self) -> None:
        mechanism = DynText(
            20.0, "published", list_size="fixed", k_max=LONGEST, replacement="noise"
        )
        word, rng, n = TOY[5], np.random.default_rng(1), 4000
        assert word.offsets is not None
        near = word.offsets[:4].astype(np.float64)
        deviation = float(word.distances[:4].max()) * sqrt(2 * log(1.25 / 1e-5)) / 20.0
        noise = rng.normal(size=(200_000, 1, 3)) * deviation
        wanted = (
            np.bincount(((near - noise) ** 2).sum(axis=2).argmin(axis=1), minlength=4) / 200_000
        )
        source = SeededSource(6)
        counts = Counter(mechanism.draw(word, N, RANGE, source) for _ in range(n))
        for member, p in zip(word.members[:4], wanted, strict=True):
            assert abs(counts[int(member)] - n * p) <= 5 * (n * p * (1 - p)) ** 0.5 + 5

    def test_certified_draws_leave_the_list_as_often_as_the_mixture_says(self) -> None:
        mechanism = DynText(3.0, k_max=LONGEST, list_size="fixed", replacement="noise")
        g, n, source = float(mechanism.gamma_mix(N)), 4000, SeededSource(7)
        assert log1p((1 - g) / g * N) == pytest.approx(3.0)
        drawn = [mechanism.draw(TOY[0], N, RANGE, source) for _ in range(n)]
        outside = sum(y not in TOY[0].members[:4] for y in drawn)
        p = g * (N - 4) / N
        assert abs(outside - n * p) <= 5 * (n * p * (1 - p)) ** 0.5

    def test_it_needs_the_vectors_and_has_no_weights(self) -> None:
        mechanism = DynText(3.0, "published", list_size="fixed", replacement="noise")
        with pytest.raises(ValueError, match="offsets"):
            mechanism.draw(neighborhood([0.5] * 20), N, RANGE, SeededSource(0))
        with pytest.raises(ValueError, match="no weights"):
            mechanism.weights(TOY[0], N, 10)

    def test_a_list_that_is_too_short_is_replaced_uniformly(self) -> None:
        mechanism = DynText(3.0, replacement="noise")
        short = replace(TOY[0], members=TOY[0].members[:2])
        assert {mechanism.draw(short, N, RANGE, SeededSource(seed)) for seed in range(200)} == set(
            range(N)
        )


@pytest.mark.parametrize("k", [0, 4, 21])
def test_a_list_size_out_of_range_is_named(k: int) -> None:
    with pytest.raises(ValueError, match="k must be"):
        DynText().weights(TOY[0], N, k)


def test_short_lists_need_no_k_min_where_none_is_used() -> None:
    assert DynText(3.0, "published", k_max=3).shortest == 1
    assert DynText(3.0, list_size="fixed", k_max=4).shortest == 2


def test_an_epsilon_density_of_one_and_more_is_allowed() -> None:
    assert DynText(epsilon_density=2.0).certified


def test_settings_are_those_that_matter() -> None:
    assert "k_min" not in DynText(3.0, "published").settings()
    assert "delta" not in DynText(list_size="fixed").settings()
    resolved = DynText(12.0).settings(N_REAL)
    assert resolved["gamma_mix"] == pytest.approx(0.05)
    assert 4 < resolved["epsilon_replacement"] < 5


def test_a_neighborhood_shows_nothing_of_the_word() -> None:
    assert repr(TOY[0]) == "Neighborhood()"
