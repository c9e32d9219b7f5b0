"""DynText: a draw from a list of near words, whose length follows the density around the word.

Source: DynText (2025), equations 2-8. The published algorithm is here as `variant="published"`; the
default, `variant="certified"`, keeps its lists, densities, noise and scores, and mixes the draw
with a uniform one over all outputs, which makes the printed epsilon a theorem (docs/guarantees.md).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from math import ceil, expm1, inf, isfinite, log, sqrt
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sanitizer.privacy.weights import (
    LOW,
    VARIANTS,
    Floats,
    Weights,
    check_between,
    check_epsilon,
    check_integer,
    check_one_of,
    high_level,
)
from sanitizer.randomness import Source, discrete_gaussian, integer_weights

DENSITIES = ("smooth", "global")
LIST_SIZES = ("dynamic", "fixed")
REPLACEMENTS = ("exponential", "noise")

LONGEST_LIST = 20
"""The paper's K, and the length of the shipped lists."""
SHARE_OUTSIDE = 1 / 20
"""Share of the draws from all outputs that the default `epsilon_replacement` aims at."""
MAX_EPSILON_REPLACEMENT = 24.0
"""Largest `epsilon_replacement`: 20 shares up to 2**40 * e**12 still add up below 2**63."""
USUAL_EPSILON_REPLACEMENT = 8.0
"""Largest default `epsilon_replacement`: above it the word itself holds most of its list."""
LEAST_EPSILON_DENSITY = 1e-3
VARIANCE_STEP = 256
"""Steps of one squared count to which the variance of the noise is rounded up."""
NOISE_STEPS = 1 << 10
"""Steps of one standard deviation to which the noise on a vector is rounded."""


@dataclass(frozen=True, eq=False)
class Neighborhood:
    """Row of the public tables for one private word.

    Attributes:
        members: int32 [K], distinct outputs, nearest first.
        distances: float32 [K] from the word to them.
        density: number of outputs within the public radius of the word.
        sensitivity: largest difference of density between the word and its members.
        sensitivities: int32 [K], the same for each member.
        offsets: float32 [K, width], the members' vectors less the word's; needed by replacement
            "noise" only.
    """

    members: NDArray[np.int32] = field(repr=False)
    distances: NDArray[np.float32] = field(repr=False)
    density: int = field(repr=False)
    sensitivity: int = field(repr=False)
    sensitivities: NDArray[np.int32] = field(repr=False)
    offsets: NDArray[np.float32] | None = field(default=None, repr=False)


@dataclass(frozen=True)
class DensityRange:
    """Range of the density over all words, and the largest `Neighborhood.sensitivity`; public."""

    lowest: int
    highest: int
    sensitivity: int


@dataclass(frozen=True)
class DynText:
    """Replace each private word by one of its near words, or now and then by any output.

    Guarantee (certified): exactly `epsilon`-DP per position under replace-one, for any lists, list
    sizes and scores. Proof: a list of `k` or more shares in [LOW, T] gives a member at most
    p = T / (T + (k-1) LOW), so of A + U in all an output has at least U/n and at most U/n + A p;
    A and U are integers with n A p / U <= e^epsilon - 1.
    It does not use the noise on the density: the list size is never released, and the bound holds
    for every one.
    Not protected: which positions are private, their number, public words, and all text between
    words; how long the draw takes. A word that occurs r times is protected with r * epsilon.

    The scores' share of epsilon (`epsilon_replacement`) is by default the largest, up to 8, that
    leaves the list in at most one draw of twenty; 0, a uniform draw from the list, where even that
    leaves it more often. To maximize the expected score instead would be no rule: where one member
    scores 1 and the others 0 the expected score is (e^eps - 1) p / (e^eps - 1 + n p), which grows
    with p without end, towards the word itself.

    Args:
        epsilon: per private word, in nats; in (0, 64]. Published: nominal, density and scores
            together.
        variant: "certified", or "published" (the paper's algorithm; its claimed bound does not
            hold).
        delta: of the noise on the density and of its smoothing, in (0, 1); no part of the certified
            bound.
        k_max: longest list, at most 20 (the paper's K).
        k_min: shortest dynamic list, at most `k_max`. Certified only: published lists may have one
            member.
        epsilon_density: scale of the noise on the density, in [0.001, 64]. From 1 on the paper's
            formula for it is no longer a theorem, even with global sensitivity; neither variant
            relies on it.
        density: "smooth" (sensitivity around the word) or "global" (ablation: the largest of all
            words).
        list_size: "dynamic", or "fixed" (ablation: half of `k_max`, no density).
        replacement: "exponential", or "noise" (ablation: Gaussian noise on the word's vector, then
            the nearest member; the noise has equation 4's scale with the list's width as
            sensitivity).
        epsilon_replacement: for the scores, in [0, 24]; default see above. Certified only; the
            published variant spends what `epsilon_density` leaves.
        consistent: one draw per distinct word, used wherever the word occurs.

    Raises:
        ValueError: naming argument and value.

    >>> mechanism = DynText(epsilon=8.0)
    >>> mechanism.certified, mechanism.shortest
    (True, 5)
    >>> near = Neighborhood(
    ...     members=np.arange(5, dtype=np.int32),
    ...     distances=np.array([0, 0.2, 0.4, 0.6, 0.8], dtype=np.float32),
    ...     density=40,
    ...     sensitivity=3,
    ...     sensitivities=np.full(5, 3, dtype=np.int32),
    ... )
    >>> mechanism.weights(near, n_outputs=9, k=5).probabilities(9)[:6].round(3).tolist()
    [0.635, 0.234, 0.086, 0.032, 0.012, 0.0]
    """

    epsilon: float = 10.0
    variant: str = "certified"
    delta: float = 1e-5
    k_max: int = LONGEST_LIST
    k_min: int = 5
    epsilon_density: float = 0.5
    density: str = "smooth"
    list_size: str = "dynamic"
    replacement: str = "exponential"
    epsilon_replacement: float | None = None
    consistent: bool = False
    name: ClassVar[str] = "dyntext"

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)
        check_one_of("variant", self.variant, VARIANTS)
        check_one_of("density", self.density, DENSITIES)
        check_one_of("list_size", self.list_size, LIST_SIZES)
        check_one_of("replacement", self.replacement, REPLACEMENTS)
        check_between("delta", self.delta, 0.0, 1.0, open_ends=True)
        check_between("epsilon_density", self.epsilon_density, LEAST_EPSILON_DENSITY, 64.0)
        check_integer("k_max", self.k_max, 2, LONGEST_LIST)
        uses_k_min = self.variant == "certified" and self.list_size == "dynamic"
        check_integer("k_min", self.k_min, 1, self.k_max if uses_k_min else LONGEST_LIST)
        if self.epsilon_replacement is not None:
            least = LEAST_EPSILON_DENSITY if self.replacement == "noise" else 0.0
            check_between(
                "epsilon_replacement", self.epsilon_replacement, least, MAX_EPSILON_REPLACEMENT
            )
        if self.variant == "published":
            self._check_published()

    def _check_published(self) -> None:
        if self.epsilon_replacement is not None:
            raise ValueError(
                "epsilon_replacement is for the certified variant, "
                f"got {self.epsilon_replacement!r}"
            )
        if self.list_size == "dynamic" and self.epsilon_density >= self.epsilon:
            raise ValueError(
                f"epsilon_density must be below epsilon ({self.epsilon:g}), "
                f"got {self.epsilon_density!r}"
            )

    @property
    def certified(self) -> bool:
        return self.reason is None

    @property
    def reason(self) -> str | None:
        """Reason why the epsilon is not certified; None when it is."""
        return "; ".join(self._flaws()) if self.variant == "published" else None

    def _flaws(self) -> Iterator[str]:
        yield (
            "an output that stands in one word's list only has an infinite ratio, "
            "which the proof leaves out"
        )
        if self.replacement == "noise":
            yield "noise scaled to a word's own list tells of the word"
        else:
            yield (
                "inside shared lists the proof loses the length of the list, "
                f"up to ln {self.k_max} more"
            )
        if self.list_size == "dynamic":
            yield "the noise on the density is a formula for global sensitivity and epsilon below 1"
            if self.density == "smooth":
                yield (
                    "its smoothed sensitivity counts the word's own only where the list "
                    "holds the word"
                )
            yield "a list of one member returns the word unchanged"

    @property
    def shortest(self) -> int:
        """Smallest length that a list can have."""
        if self.list_size == "fixed":
            return self.k_max // 2
        return self.k_min if self.variant == "certified" else 1

    def settings(self, n_outputs: int | None = None) -> dict[str, Any]:
        """Return the parameters that matter for this variant.

        Args:
            n_outputs: size of the output set; where it is given, what follows from it is added.
        """
        names = ["epsilon", "list_size", "replacement", "k_max", "consistent"]
        if self.list_size == "dynamic":
            names += ["density", "delta", "epsilon_density"]
        if self.variant == "certified":
            names += ["epsilon_replacement", *(["k_min"] if self.list_size == "dynamic" else [])]
        found = {name: getattr(self, name) for name in names}
        if n_outputs is not None:
            found["epsilon_replacement"] = self.scores_epsilon(n_outputs)
            found["gamma_mix"] = float(self.gamma_mix(n_outputs))
        return found

    def claimed(self, weights: Weights) -> float | None:
        """Return the published claim; None if certified.

        It is epsilon_density + epsilon_replacement = epsilon, with `delta`.
        """
        return self.epsilon if self.variant == "published" else None

    def smooth_sensitivity(self, neighborhood: Neighborhood) -> float:
        """Return the largest sensitivity around the word, fading with distance (equation 5).

        The word's own is included.
        """
        beta = self.epsilon_density / (2 * (log(2.0) - log(self.delta)))
        faded = neighborhood.sensitivities * np.exp(
            -beta * neighborhood.distances.astype(np.float64)
        )
        return max(float(neighborhood.sensitivity), float(np.nan_to_num(faded).max(initial=0.0)))

    def variance(self, neighborhood: Neighborhood, densities: DensityRange) -> Fraction:
        """Return the variance of the noise on the density (equation 4), rounded up to 1/256.

        It is in squared counts.
        """
        smooth = self.density == "smooth"
        sensitivity = self.smooth_sensitivity(neighborhood) if smooth else densities.sensitivity
        exact = 2 * sensitivity**2 * (log(1.25) - log(self.delta)) / self.epsilon_density**2
        return Fraction(ceil(exact * VARIANCE_STEP), VARIANCE_STEP)

    def draw_list_size(
        self, neighborhood: Neighborhood, densities: DensityRange, source: Source
    ) -> int:
        """Draw the length of the list (equations 6 and 7).

        The denser the word's surroundings seem, the shorter it is.

        Args:
            neighborhood: of the private word.
            densities: public constants of the tables.
            source: of the discrete Gaussian noise.

        Returns:
            An integer in [shortest, k_max].
        """
        if self.list_size == "fixed":
            return self.shortest
        noisy = neighborhood.density + discrete_gaussian(
            self.variance(neighborhood, densities), source
        )
        above = min(max(noisy, densities.lowest), densities.highest) - densities.lowest
        width = max(1, densities.highest - densities.lowest)
        return max(self.shortest, self.k_max * (width - above) // width)

    def scores_epsilon(self, n_outputs: int) -> float:
        """Return eps_r, the weight of the scores in a draw from the list.

        It was given, is left over (published), or follows by rule from the number of outputs.
        """
        if self.variant == "published":
            return self.epsilon - (self.epsilon_density if self.list_size == "dynamic" else 0.0)
        if self.epsilon_replacement is not None:
            return self.epsilon_replacement
        if self.replacement == "noise":
            return USUAL_EPSILON_REPLACEMENT  # the mixture pays for a certain member anyway
        top = SHARE_OUTSIDE / (1 - SHARE_OUTSIDE) * expm1(self.epsilon) / n_outputs
        odds = top * (self.shortest - 1) / (1 - top) if top < 1 else inf
        return min(2 * log(odds), USUAL_EPSILON_REPLACEMENT) if odds > 1 else 0.0

    def top_share(self, n_outputs: int) -> Fraction:
        """Return p_top, the largest probability that a draw from any list gives one member."""
        if self.replacement == "noise":
            return Fraction(1)
        top = _level(self.scores_epsilon(n_outputs))
        return Fraction(top, top + (self.shortest - 1) * LOW)

    def gamma_mix(self, n_outputs: int) -> Fraction:
        """Return g, the probability of drawing from all outputs; 0 if published.

        It solves epsilon = ln(1 + (1 - g) / g * n_outputs * p_top).
        """
        inside, outside = self._mixture(n_outputs)
        return Fraction(outside, inside + outside)

    def _mixture(self, n_outputs: int) -> tuple[int, int]:
        """Return the integer weights of the list and of all outputs.

        The first is 0 where epsilon is too small for a list, the second 0 if published.
        """
        if self.variant == "published":
            return 1, 0
        p = self.top_share(n_outputs)
        return (high_level(self.epsilon) - LOW) * p.denominator, n_outputs * p.numerator * LOW

    def weights(self, neighborhood: Neighborhood | None, n_outputs: int, k: int) -> Weights:
        """Return the distribution for one private word, given the length of its list.

        Args:
            neighborhood: of the word; None if nothing is known of it: uniform over all outputs.
            n_outputs: size of the public output set.
            k: length of the list, as `draw_list_size` gives it.

        Returns:
            Weights with integer shares in the list; certified: a second bucket that holds every
            output.

        Raises:
            ValueError: if k is outside [shortest, k_max], or replacement is "noise", which has no
                weights.
        """
        check_integer("k", k, self.shortest, self.k_max)
        if self.replacement == "noise":
            raise ValueError("replacement='noise' has no weights; use draw")
        everywhere = _all_outputs(n_outputs)
        inside, outside = self._mixture(n_outputs)
        if inside == 0 or neighborhood is None or len(neighborhood.members) < self.shortest:
            return Weights((1,), (everywhere,))
        members = neighborhood.members[:k].astype(np.intp)
        distances = neighborhood.distances[:k]
        eps_r = self.scores_epsilon(n_outputs)
        if self.variant == "published":
            shares = integer_weights(np.exp(eps_r / 2 * (_scores(distances, 0.0) - 1)))
            return Weights(tuple(shares), tuple(np.split(members, len(members))))
        return Weights((inside, outside), (members, everywhere), (_shares(distances, eps_r), None))

    def draw(
        self,
        neighborhood: Neighborhood | None,
        n_outputs: int,
        densities: DensityRange,
        source: Source,
    ) -> int:
        """Draw one output for one private word: list size, then list or all outputs, then output.

        Args:
            neighborhood: of the word; None if nothing is known of it.

        Raises:
            ValueError: if replacement is "noise" and the neighborhood has no offsets.
        """
        if neighborhood is None or len(neighborhood.members) < self.shortest:
            return source.randbelow(n_outputs)
        k = self.draw_list_size(neighborhood, densities, source)
        if self.replacement == "exponential":
            return self.weights(neighborhood, n_outputs, k).draw(source)
        inside, outside = self._mixture(n_outputs)
        if source.randbelow(inside + outside) < outside:
            return source.randbelow(n_outputs)
        return self._nearest_after_noise(neighborhood, k, self.scores_epsilon(n_outputs), source)

    def _nearest_after_noise(
        self, neighborhood: Neighborhood, k: int, eps_r: float, source: Source
    ) -> int:
        """Return the member nearest to the word's vector after noise was added to it."""
        if neighborhood.offsets is None:
            raise ValueError("replacement='noise' needs a neighborhood with offsets, got None")
        # Noise outside the span of the members changes all distances alike, so none is drawn there.
        members = np.linalg.qr(neighborhood.offsets[:k].astype(np.float64).T, mode="r")
        deviation = (
            float(neighborhood.distances[:k].max())
            * sqrt(2 * (log(1.25) - log(self.delta)))
            / eps_r
        )
        steps = [discrete_gaussian(Fraction(NOISE_STEPS**2), source) for _ in range(len(members))]
        point = np.array(steps)[:, None] * (deviation / NOISE_STEPS)
        return int(neighborhood.members[int(((members - point) ** 2).sum(axis=0).argmin())])


@lru_cache(maxsize=8)
def _all_outputs(n: int) -> NDArray[np.intp]:
    everywhere = np.arange(n)
    everywhere.flags.writeable = False
    return everywhere


def _level(eps_r: float) -> int:
    """Return floor(2**40 * e**(eps_r / 2)), the share of a member that scores 1."""
    return high_level(eps_r / 2) if eps_r / 2 > 0 else LOW


def _scores(distances: NDArray[np.float32], nearest: float) -> Floats:
    """Return scores from 1 at distance `nearest` to 0 at the farthest, float64 [k].

    Where `nearest` is 0 they are the u of equation 8.
    """
    d = distances.astype(np.float64)
    width = float(d.max()) - nearest
    # A private word must never decide whether an error is raised: if a distance is no number, all
    # members score 1.
    if not (isfinite(width) and width > 0):
        return np.ones(len(d))
    return np.clip(1 - (d - nearest) / width, 0.0, 1.0)


def _shares(distances: NDArray[np.float32], eps_r: float) -> NDArray[np.int64]:
    """Return the members' integer shares, int64 [k] in [LOW, 2**40 * e**(eps_r / 2)].

    The nearest member scores 1, as the word itself does in its own list.
    """
    scores = _scores(distances, float(distances.min()))
    shares = (LOW * np.exp(eps_r / 2 * scores)).astype(np.int64)
    return np.clip(shares, LOW, _level(eps_r))
