"""Cape: context-aware perturbation with a hybrid utility and bucketized sampling.

Source: Cape (2025), equations 3-11, algorithms 1-2, theorem 4.1. The published algorithm is here as
`variant="published"`; the default, `variant="certified"`, keeps its utility and replaces its
buckets by fixed ranks over a public shortlist, which makes the printed epsilon a theorem
(docs/guarantees.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sanitizer.errors import NotCertified
from sanitizer.privacy.medoids import Design, Limits, ranked
from sanitizer.privacy.weights import (
    LOW,
    MAX_EPSILON,
    VARIANTS,
    Logits,
    Weights,
    check_count,
    check_epsilon,
    check_one_of,
    high_level,
)
from sanitizer.randomness import integer_weights

CONTEXTS = ("released", "original")
BACKBONES = ("masked", "causal")
PROFILES = ("staircase", "geometric", "prior", "medoids")

# The staircase: of the shapes whose best guess succeeds no more often than that of the longer lists
# with two or three raised outputs used before, the one with the largest cosine (within .003 of it
# the most plausible one), on public calibration text (benchmarks/calibration/shapes.py,
# results/shapes.json), for the masked LM of 2026-11-26. One output is raised, however large its
# share: with two or three the best guess was as good within its interval. Where the word itself is
# not demoted, the guess may succeed as often as that of randomized response over the likeliest 100,
# which makes the list longer at 4 and 5 (from 8 on it stays: it is ahead at equal epsilon, and
# guessed more often). The other profiles: the largest expected utility
# (benchmarks/calibration/calibrate.py, results/calibration.json).
# Columns: epsilon at most, shortlist of staircase, and where the word is not demoted, its top,
# shortlist of geometric, of prior and of medoids, prior mass.
SHAPES = (
    (1.0, 4, 4, 1, 10, 1000, 10, 0.1),
    (2.0, 5, 5, 1, 10, 1000, 10, 0.1),
    (3.0, 7, 7, 1, 10, 1000, 16, 0.1),
    (4.0, 10, 20, 1, 10, 1000, 24, 0.03),
    (5.0, 20, 30, 1, 25, 1000, 40, 0.03),
    (6.0, 60, 60, 1, 100, 1000, 80, 0.01),
    (8.0, 200, 200, 1, 100, 1000, 200, 0.003),
    (MAX_EPSILON, 400, 400, 1, 200, 4000, 200, 0.001),
)
TWO_LEVELS = ("staircase", "medoids")
"""Profiles in which a fixed number of outputs is raised, and the others are not."""
FEWEST = 4
"""A position of "medoids" has at least this part of `n_shortlist` outputs."""
CANDIDATES = 1
"""Candidates for each output of `n_shortlist`."""
GUESS_PRICE = 0.3
"""Default of `guess_price`."""
_RANKED = ("lambda_l", "lambda_d", "n_top")
_SHAPED = {
    "staircase": _RANKED,
    "geometric": _RANKED,
    "prior": ("lambda_l", "lambda_d", "top_mass"),
    "medoids": ("n_top", "guess_price"),
}
GEOMETRIC_STEPS = 8
"""Most levels of the profile "geometric"."""
PRIOR_TOTAL = 1 << 40
"""Sum to which a prior is scaled before it is rounded to integers."""


@dataclass(frozen=True, slots=True)
class CapeShape:
    """Size of the shortlist, number of outputs at the top level, and prior mass."""

    n_shortlist: int
    n_top: int
    top_mass: float


def default_shape(
    epsilon: float, profile: str = "staircase", demote_self: bool = True
) -> CapeShape:
    """Return the shape for an epsilon: the one measured at the next epsilon of SHAPES."""
    _, stairs, keeping, n_top, geometric, prior, medoids, mass = next(
        row for row in SHAPES if epsilon <= row[0]
    )
    return {
        "staircase": CapeShape(stairs if demote_self else keeping, n_top, mass),
        "geometric": CapeShape(geometric, 1, mass),
        "prior": CapeShape(prior, 1, mass),
        "medoids": CapeShape(medoids, 1, mass),
    }[profile]


@dataclass(frozen=True)
class Cape:
    """Perturb each private word by context and meaning.

    Guarantee (certified, context "released"): exactly `epsilon`-DP per position under replace-one.
    Ranks are cut at fixed places into buckets of fixed weight, so every output has one of the same
    few probabilities whatever the private word is, and the largest is at most e^epsilon times the
    smallest. The output set depends on public or released text only.
    Not protected: which positions are private, their number, public words, and all text between
    words. A word that occurs r times is protected with r * epsilon.
    With backbone "causal" words are drawn from left to right; each draw reads the public and
    released text to its left, nothing to its right. The guarantee is the same.

    Args:
        epsilon: per private word, in nats; in (0, 64].
        variant: "certified", or "published" (the paper's algorithm; its claimed bound does not
            hold).
        context: what the model reads besides public words: "released" (only released words) or
            "original" (the other private words). Default: released if certified, original if
            published.
        backbone: "masked" (a model that reads both sides, packaged), or "causal" (one that reads
            the left side, whose weights are fetched once; slower, a pass for each word).
        profile: "staircase" (two levels over a shortlist), "geometric" (several), "prior" (the
            model's public prior, raised for the best outputs), or "medoids" (two levels over
            outputs chosen so that most words that may stand there have a near one). Certified
            only.
        n_shortlist: outputs allowed at a position; default by rule from epsilon. With "medoids"
            the most there may be: how many there are follows from the context. Certified only.
        n_top: outputs at the highest level; default by rule from epsilon. Certified only.
        top_mass: prior mass of the raised outputs; default by rule from epsilon. Profile "prior"
            only.
        guess_price: similarity given up for a lower success of the best guess: at a higher price
            likely words get no output of their own. Profile "medoids", and things that are drawn
            within their class.
        n_buckets: equal-width utility buckets. Published only.
        lambda_l: exponent of the context score; default 0 for "staircase", whose short list fits
            the context by itself, and 0.5 otherwise. Not with "medoids".
        lambda_d: exponent of the meaning score; default 3 if certified, 1 if published. Not with
            "medoids".
        n_steps: groups of words drawn one after the other, each reading the earlier ones' outputs.
            Masked only.
        demote_self: give the word itself the lowest rank. Certified only.
        consistent: one draw per distinct word, used wherever the word occurs.

    Raises:
        ValueError: naming argument and value.

    >>> mechanism = Cape(epsilon=3.0)
    >>> mechanism.certified, mechanism.n_shortlist, mechanism.n_top
    (True, 7, 1)
    >>> Cape(variant="published", context="released").reason
    'the published proof compares bucket sizes of one input only; across inputs they differ'
    """

    epsilon: float = 5.0
    variant: str = "certified"
    context: str | None = None
    backbone: str = "masked"
    profile: str = "staircase"
    n_shortlist: int | None = None
    n_top: int | None = None
    top_mass: float | None = None
    guess_price: float = GUESS_PRICE
    n_buckets: int = 50
    lambda_l: float | None = None
    lambda_d: float | None = None
    n_steps: int = 1
    demote_self: bool = True
    consistent: bool = False
    name: ClassVar[str] = "cape"

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)
        check_one_of("variant", self.variant, VARIANTS)
        check_one_of("profile", self.profile, PROFILES)
        check_one_of("backbone", self.backbone, BACKBONES)
        certified = self.variant == "certified"
        self._default("context", "released" if certified else "original")
        check_one_of("context", self.context, CONTEXTS)
        self._default("lambda_d", 3.0 if certified else 1.0)
        self._default("lambda_l", 0.0 if certified and self.profile == "staircase" else 0.5)
        self._set_shape()
        self._check_numbers()

    def _default(self, name: str, value: object) -> None:
        """Set an argument that was not given; the instance is frozen from the outside only."""
        if getattr(self, name) is None:
            object.__setattr__(self, name, value)

    def _set_shape(self) -> None:
        shape = default_shape(self.epsilon, self.profile, self.demote_self)
        if self.n_shortlist is not None:
            check_count("n_shortlist", self.n_shortlist, least=2)
        # Of n_top and n_shortlist, the one that was given wins: the other makes room for it.
        self._default("n_top", min(shape.n_top, (self.n_shortlist or shape.n_shortlist) - 1))
        check_count("n_top", self.n_top)
        self._default("n_shortlist", max(shape.n_shortlist, self._top + 1))
        self._default("top_mass", shape.top_mass)

    def _check_numbers(self) -> None:
        for name in ("n_buckets", "n_steps"):
            check_count(name, getattr(self, name))
        if self.backbone == "causal" and self.n_steps != 1:
            raise ValueError(
                "n_steps must be 1 with backbone 'causal', which draws word by word, "
                f"got {self.n_steps}"
            )
        if self._top >= self._shortlist:
            raise ValueError(
                f"n_top must be below n_shortlist ({self.n_shortlist}), got {self.n_top}"
            )
        if not 0.0 < self._mass < 1.0:
            raise ValueError(f"top_mass must be between 0 and 1, got {self.top_mass!r}")
        for name in ("lambda_l", "lambda_d", "guess_price"):
            value = getattr(self, name)
            if not (np.isfinite(value) and value >= 0):
                raise ValueError(f"{name} must be finite and non-negative, got {value!r}")

    @property
    def certified(self) -> bool:
        return self.reason is None

    @property
    def reason(self) -> str | None:
        """Reason why the epsilon is not certified; None when it is."""
        reads_original = self.context == "original"
        if self.variant == "published":
            return (
                "the published proof compares bucket sizes of one input only; "
                "across inputs they differ"
            ) + (", and the context reads the other private words" if reads_original else "")
        if reads_original:
            return (
                "the context reads the other private words, so one changed word moves every output"
            )
        return None

    @property
    def _shortlist(self) -> int:
        assert self.n_shortlist is not None
        return self.n_shortlist

    @property
    def _top(self) -> int:
        assert self.n_top is not None
        return self.n_top

    @property
    def n_fewest(self) -> int:
        """Outputs of a position at least: with "medoids" their number varies with the context."""
        if self.profile != "medoids":
            return self._shortlist
        return max(self._top + 1, -(-self._shortlist // FEWEST))

    @property
    def n_candidates(self) -> int:
        """Likeliest words of a context among which "medoids" chooses the outputs."""
        return CANDIDATES * self._shortlist

    @property
    def limits(self) -> Limits:
        """What "medoids" chooses output sets by."""
        return Limits(self.epsilon, self._top, self.n_fewest, self._shortlist, self.guess_price)

    @property
    def _mass(self) -> float:
        assert self.top_mass is not None
        return self.top_mass

    def settings(self) -> dict[str, Any]:
        """Return the resolved parameters that matter for this variant."""
        names = ["epsilon", "backbone", "n_steps", "consistent"]
        if self.variant == "published":
            names += ["lambda_l", "lambda_d", "n_buckets"]
        else:
            names += ["profile", "n_shortlist", "demote_self", *_SHAPED[self.profile]]
        return {name: getattr(self, name) for name in names}

    def outputs(self, logits: Logits) -> NDArray[np.intp]:
        """Return the public output set: all, or the `n_shortlist` best by the context's logits.

        Args:
            logits: float32 [n_outputs], from public and released text only.

        Raises:
            NotCertified: if a logit is not finite.
            ValueError: profile "medoids", which chooses outputs with `choose_outputs`.
        """
        self._check_ranks_by_utility()
        if not np.isfinite(logits).all():
            raise NotCertified("the model gave a score that is not finite")
        if self.variant == "published" or len(logits) <= self._shortlist:
            return np.arange(len(logits))
        return np.argpartition(logits, -self._shortlist)[-self._shortlist :]

    def weights(
        self,
        logits: Logits,
        distance: NDArray[np.float32] | None,
        own: NDArray[np.intp],
        logit_range: tuple[float, float] = (0.0, 1.0),
    ) -> Weights:
        """Return the distribution for one private word over the n members of its output set.

        Args:
            logits: float32 [n], the context's scores for the members.
            distance: float32 [n] >= 0 from the private word to the members; None: context alone.
            own: positions of the private word itself among the members.
            logit_range: the logits that count as 0 and as 1; values outside are clipped (Cape,
                equation 9).

        Raises:
            ValueError: profile "medoids", whose weights are `design_weights`.
        """
        self._check_ranks_by_utility()
        low, high = logit_range
        utility = self.utility(np.clip((logits - low) / (high - low), 0.0, 1.0), distance)
        if self.variant == "published":
            return bucket_weights(utility, self.epsilon, self.n_buckets)
        if self.demote_self:
            utility[own] = -1.0
        if self.profile == "prior":
            return prior_weights(utility, logits, self.epsilon, self._mass)
        return self._rank_weights(utility)

    def _check_ranks_by_utility(self) -> None:
        if self.profile == "medoids" and self.variant == "certified":
            raise ValueError("profile must not be 'medoids', whose outputs are chosen as a Design")

    def design_weights(
        self,
        design: Design,
        distance: NDArray[np.float32] | None,
        prior: float,
        own: NDArray[np.intp],
    ) -> Weights:
        """Return the distribution for one private word over a position's outputs ("medoids").

        Args:
            design: public, of the position's context.
            distance: float32 [n] >= 0 from the private word to the outputs; None: not known.
            prior: the word's prior probability in the context; 0 if it is not one of Y.
            own: positions of the private word itself among the outputs.
        """
        cosine = None if distance is None else 1 - distance
        order = ranked(design, cosine, prior, own if self.demote_self else own[:0])
        levels, sizes = self.levels(len(order))
        return Weights.levels(levels, order, sizes)

    def utility(
        self, scores: NDArray[np.float32], distance: NDArray[np.float32] | None
    ) -> NDArray[np.float32]:
        """Return L^lambda_l * D^lambda_d, float32 [n] (Cape, equation 8).

        Args:
            scores: L, float32 [n] in [0, 1].
            distance: float32 [n], D = exp(-distance); None: D = 1.
        """
        power = self.lambda_l or 0.0
        utility = np.sqrt(scores) if power == 0.5 else scores**power
        if distance is not None:
            utility = utility * np.exp(-(self.lambda_d or 0.0) * distance)
        # A private word must never decide whether an error is raised: no number ranks last.
        return np.nan_to_num(utility, copy=True, nan=0.0, posinf=0.0, neginf=0.0)

    def claimed(self, weights: Weights) -> float | None:
        """Return the claim published for one input; None if certified.

        It is epsilon + ln(largest bucket / smallest bucket) (Cape, theorem 4.1).
        """
        if self.variant != "published":
            return None
        sizes = [len(m) for m in weights.members]
        return self.epsilon + float(np.log(max(sizes) / min(sizes)))

    def levels(self, n: int) -> tuple[list[int], list[int]]:
        """Return the integer level of each rank bucket over n outputs, and its size.

        All levels are within e^epsilon of LOW.
        """
        top = min(self._top, n - 1) or 1
        if n == 1:
            return [LOW], [1]
        if self.profile in TWO_LEVELS:
            return [high_level(self.epsilon), LOW], [top, n - top]
        sizes = _geometric_sizes(top, n, GEOMETRIC_STEPS)
        last = len(sizes) - 1
        highest = high_level(self.epsilon)
        between = [
            min(highest, high_level(self.epsilon * (last - j) / last)) for j in range(1, last)
        ]
        return [highest, *between, LOW], sizes

    def _rank_weights(self, utility: NDArray[np.float32]) -> Weights:
        levels, sizes = self.levels(len(utility))
        # With two levels only the set at the top matters, and a partition takes linear time.
        if len(sizes) == 2:
            ranked = np.argpartition(-utility, sizes[0] - 1)
        else:
            ranked = np.argsort(-utility, kind="stable")
        return Weights.levels(levels, ranked, sizes)


def prior_weights(
    utility: NDArray[np.float32], logits: Logits, epsilon: float, mass: float
) -> Weights:
    """Return a public prior, with the best outputs raised by e^epsilon up to a fixed prior mass.

    The prior Q is the softmax of the context's logits as integers. The best outputs by utility are
    taken until their Q adds up to exactly round(mass * sum Q), the last one in part, so the
    normalizer is the same whatever the private word is, and every output's weight lies between Q *
    LOW and Q * high.

    Args:
        utility: float32 [n], of the private word.
        logits: float32 [n], public.
        epsilon: in nats.
        mass: prior mass of the raised outputs, in (0, 1).
    """
    odds = np.exp(logits.astype(np.float64) - float(logits.max()))
    prior = np.maximum((odds / odds.sum() * PRIOR_TOTAL).astype(np.int64), 1)
    raised = min(max(1, round(mass * PRIOR_TOTAL)), int(prior.sum()) - 1)
    ranked = np.argsort(-utility, kind="stable")
    sums = np.cumsum(prior[ranked])
    n_whole = int(np.searchsorted(sums, raised, side="right"))
    part = raised - (int(sums[n_whole - 1]) if n_whole else 0)
    shares = prior[ranked]
    top, rest = ranked[:n_whole], ranked[n_whole:]
    rest_shares = shares[n_whole:].copy()
    # The last raised output belongs to both buckets: `part` of its prior is raised, the rest not.
    rest_shares[0] -= part
    top = np.append(top, ranked[n_whole]) if part else top
    top_shares = np.append(shares[:n_whole], part) if part else shares[:n_whole]
    totals = (high_level(epsilon) * raised, LOW * (int(prior.sum()) - raised))
    return Weights(totals, (top, rest), (top_shares, rest_shares))


def bucket_weights(utility: NDArray[np.floating[Any]], epsilon: float, n_buckets: int) -> Weights:
    """Return the weights of the published bucketized exponential mechanism (Cape, algorithm 2).

    Buckets are intervals of equal width of [min, max] of the utility, empty ones skipped. A
    bucket's weight is exp(epsilon / 2 * mean utility of its members); the sensitivity is taken
    as 1.

    >>> weights = bucket_weights(np.array([0.0, 0.1, 1.0]), epsilon=2.0, n_buckets=2)
    >>> [m.tolist() for m in weights.members], weights.probabilities(3).round(3).tolist()
    ([[0, 1], [2]], [0.139, 0.139, 0.721])
    """
    utility = utility.astype(np.float64)
    low, high = float(utility.min()), float(utility.max())
    width = (high - low) / n_buckets
    bucket = np.zeros(len(utility), dtype=np.intp)
    if width > 0:
        bucket = np.minimum(((utility - low) / width).astype(np.intp), n_buckets - 1)
    sizes = np.bincount(bucket, minlength=n_buckets)
    sums = np.bincount(bucket, weights=utility, minlength=n_buckets)
    # In the smallest integer type the stable sort is a radix sort, in linear time.
    order = np.argsort(bucket.astype(np.min_scalar_type(n_buckets)), kind="stable")
    members = [m for m in np.split(order, np.cumsum(sizes)[:-1]) if len(m)]
    means = sums[sizes > 0] / sizes[sizes > 0]
    return Weights(
        tuple(integer_weights(np.exp(epsilon / 2 * (means - means.max())))), tuple(members)
    )


def _geometric_sizes(first: int, n: int, steps: int) -> list[int]:
    """Return at most `steps` growing sizes that start at `first` and add up to n > first."""
    steps = max(2, min(steps, 1 + n // max(1, 2 * first)))
    low, high = 1.0, float(n)
    for _ in range(60):
        ratio = (low + high) / 2
        if sum(first * ratio**j for j in range(steps)) < n:
            low = ratio
        else:
            high = ratio
    sizes = [first, *(max(1, int(first * low**j)) for j in range(1, steps - 1))]
    return [*sizes, n - sum(sizes)]
