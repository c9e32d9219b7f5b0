"""Exact epsilon of one position by enumeration: every input, every output, from the integers that
are drawn.

For a given context, walk every private word of a domain, compute the distribution of its output,
and keep per output the largest and the smallest probability. The exact epsilon is the largest log
ratio.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sanitizer.pipeline import UNKNOWN, Choices, Engine, Sanitizer, choose, contexts
from sanitizer.privacy import Weights
from sanitizer.randomness import SYSTEM_RANDOM, Source

EXAMPLE = "My father Peter has hepatitis and lives in Leeds."
EXAMPLE_POSITION = 1
_CHUNK = 64


@dataclass(frozen=True, slots=True)
class AuditReport:
    """What an enumeration found at one position of one context. Epsilons are in nats.

    Attributes:
        nominal: the setting. claimed: the largest published claim over the inputs; None if
            certified.
        certified: the setting if it is a theorem; None otherwise.
        exact: largest log ratio of the probabilities of one output under two inputs; may be
            infinite. Where noise shapes the weights (DynText), over all its values: no smaller than
            that of the mixture.
        worst_inputs: the two words of the domain that are told apart best. worst_output: by which
            output.
        n_inputs, n_outputs: sizes of the enumeration. complete: whether all of the domain was
            walked.
    """

    mechanism: str
    variant: str
    nominal: float
    claimed: float | None
    certified: float | None
    exact: float
    worst_inputs: tuple[str, str]
    worst_output: str
    n_inputs: int
    n_outputs: int
    complete: bool

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON; an infinite epsilon as the string "inf"."""
        values = asdict(self)
        return {
            k: "inf" if isinstance(v, float) and math.isinf(v) else v for k, v in values.items()
        }


@dataclass
class Extremes:
    """Per output the largest and smallest probability so far, float64 [n], and the inputs that have
    them, int [n].
    """

    highest: NDArray[np.float64]
    lowest: NDArray[np.float64]
    who_highest: NDArray[np.intp]
    who_lowest: NDArray[np.intp]
    claimed: float | None = None

    @classmethod
    def none(cls, n: int) -> Extremes:
        return cls(
            np.full(n, -1.0),
            np.full(n, 2.0),
            np.zeros(n, dtype=np.intp),
            np.zeros(n, dtype=np.intp),
        )

    def add(self, p: NDArray[np.float64], who: int) -> None:
        """Take in one input's distribution, float64 [n_outputs]."""
        above, below = p > self.highest, p < self.lowest
        self.highest[above], self.who_highest[above] = p[above], who
        self.lowest[below], self.who_lowest[below] = p[below], who

    def merge(self, other: Extremes) -> None:
        """Take in another part of the domain."""
        above, below = other.highest > self.highest, other.lowest < self.lowest
        self.highest[above], self.who_highest[above] = (
            other.highest[above],
            other.who_highest[above],
        )
        self.lowest[below], self.who_lowest[below] = other.lowest[below], other.who_lowest[below]
        claims = [c for c in (self.claimed, other.claimed) if c is not None]
        self.claimed = max(claims, default=None)

    def worst(self) -> tuple[int, float]:
        """The output with the largest log ratio, and that ratio; among infinite ones the likeliest
        output.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = np.where(self.highest > 0, np.log(self.highest) - np.log(self.lowest), 0.0)
        exact = float(ratios.max())
        return int(np.where(ratios == exact, self.highest, -1.0).argmax()), exact


def probabilities(weights: Weights, n: int) -> NDArray[np.float64]:
    """float64 [n]: probability of each member of the output set, from the integer weights."""
    p, whole = np.zeros(n), sum(weights.totals)
    for i, (total, members) in enumerate(zip(weights.totals, weights.members, strict=True)):
        shares = weights.shares[i] if weights.shares else None
        bucket = total / whole  # Python's division of integers is correctly rounded
        p[members] += bucket / len(members) if shares is None else bucket * (shares / shares.sum())
    return p


def audit(
    sanitizer: Sanitizer,
    text: str = EXAMPLE,
    position: int = EXAMPLE_POSITION,
    n_inputs: int | None = None,
    advance: Callable[[int], None] = lambda n: None,
    source: Source = SYSTEM_RANDOM,
) -> AuditReport:
    """Enumerate one position.

    Args:
        sanitizer: the setting. text: a context with private words. position: which of them, from 0.
        n_inputs: how many words of the domain, evenly spaced; None for all.
        advance: told how many inputs are done.
        source: of the words that are drawn before this one, where the model reads them; replace it
            in tests only.

    Raises:
        ValueError: naming argument and value. Others as `Sanitizer.sanitize`.
    """
    if n_inputs is not None and n_inputs < 2:
        raise ValueError(f"inputs must be at least 2, got {n_inputs}")
    models = sanitizer.inner.models()
    everything = domain(sanitizer)
    step = 1 if n_inputs is None else max(1, len(everything) // n_inputs)
    words = everything[::step] if n_inputs is None else everything[::step][:n_inputs]
    logits = (
        position_logits(sanitizer, text, position, source) if models.engine.reads_context else None
    )
    found, n_outputs = _enumerate(
        models.engine, words, logits, sanitizer.mechanism.claimed, advance
    )
    worst, exact = found.worst()
    outputs, _ = next(models.engine.distributions(words[:1], logits))
    mechanism = sanitizer.mechanism
    return AuditReport(
        mechanism=mechanism.name,
        variant=mechanism.variant,
        nominal=mechanism.epsilon,
        claimed=found.claimed,
        certified=mechanism.epsilon if mechanism.certified else None,
        exact=exact,
        worst_inputs=(
            _shown(words[found.who_highest[worst]]),
            _shown(words[found.who_lowest[worst]]),
        ),
        worst_output=models.engine.space.text(int(outputs[worst])),
        n_inputs=len(words),
        n_outputs=n_outputs,
        complete=len(words) == len(everything),
    )


def domain(sanitizer: Sanitizer) -> list[str]:
    """The inputs: every word with a vector, and one that nothing is known of; for published
    variants the whole words of the model's vocabulary.
    """
    return sanitizer.inner.models().engine.space.inputs()


def position_logits(
    sanitizer: Sanitizer, text: str, position: int, source: Source = SYSTEM_RANDOM
) -> NDArray[np.float32]:
    """The model's scores at one private word of a text, float32 [n_outputs]; words drawn before it
    are released.

    Raises:
        ValueError: if the text has no such word.
    """
    masked, models = sanitizer.inner.mask(text), sanitizer.inner.models()
    if not 0 <= position < len(masked.words):
        raise ValueError(
            f"position must be below the {len(masked.words)} private words of the context, got {position}"
        )
    choices = [Choices(masked)]
    for units, scores in contexts(models, choices):
        for i, (_, word) in enumerate(units):
            if word == position and scores is not None:
                return np.asarray(scores[i])
        choose(models, choices, units, scores, source)
    raise ValueError(f"position {position} shares the draw of an equal word before it")


def _enumerate(
    engine: Engine,
    words: Sequence[str],
    logits: NDArray[np.float32] | None,
    claim: Callable[[Weights], float | None],
    advance: Callable[[int], None],
) -> tuple[Extremes, int]:
    n = len(next(engine.distributions(words[:1], logits))[0])

    def part(begin: int) -> Extremes:
        found = Extremes.none(n)
        for who, weights in _walk(engine, words, begin, logits):
            found.add(probabilities(weights, n), who)
            if (claimed := claim(weights)) is not None:
                found.claimed = max(found.claimed or 0.0, claimed)
        return found

    whole = Extremes.none(n)
    begins = range(0, len(words), _CHUNK)
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for begin, found in zip(begins, pool.map(part, begins), strict=True):
            whole.merge(found)
            advance(min(_CHUNK, len(words) - begin))
    return whole, n


def _walk(
    engine: Engine, words: Sequence[str], begin: int, logits: NDArray[np.float32] | None
) -> Iterator[tuple[int, Weights]]:
    """(input, weights) for one chunk; an input may come several times, once for each value of its
    noise.
    """
    chunk = words[begin : begin + _CHUNK]
    per_word = engine.n_weights
    for i, (_, weights) in enumerate(engine.distributions(chunk, logits)):
        yield begin + i // per_word, weights


def _shown(word: str) -> str:
    return "(a word without a vector)" if word == UNKNOWN else word
