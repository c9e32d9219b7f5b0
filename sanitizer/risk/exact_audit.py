"""Exact epsilon of one position by enumeration: every input, every output, from the drawn integers.

In a given context, enumerate every private word of a domain, compute the distribution of its
output, and keep per output the largest and the smallest probability. The exact epsilon is the
largest log ratio.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sanitizer.pipeline.engines import Engine, choose, contexts
from sanitizer.pipeline.masked_text import Choices
from sanitizer.pipeline.outputs import UNKNOWN
from sanitizer.pipeline.sanitizer import Sanitizer
from sanitizer.privacy.weights import Weights
from sanitizer.randomness import SYSTEM_RANDOM, Source

EXAMPLE = "My father Peter has hepatitis and lives in Leeds."
EXAMPLE_POSITION = 1
"""Which private word of EXAMPLE is audited, from 0."""
_CHUNK = 64
"""Inputs enumerated by one task of the thread pool."""


@dataclass(frozen=True, slots=True)
class AuditReport:
    """Result of an enumeration at one position of one context. Epsilons are in nats.

    Attributes:
        nominal: the setting; `certified` is the same if it is a theorem, and else None.
        claimed: the largest published claim over the inputs; None if certified.
        exact: largest log ratio of the probabilities of one output under two inputs; may be
            infinite. Where noise shapes the weights (DynText), over all its values: no smaller than
            that of the mixture.
        worst_inputs, worst_output: the two words that can be told apart best, and by what.
        complete: True if the whole domain was enumerated.
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
        """Return plain values for JSON; an infinite epsilon as the string "inf"."""
        values = asdict(self)
        return {
            k: "inf" if isinstance(v, float) and math.isinf(v) else v for k, v in values.items()
        }


@dataclass
class Extremes:
    """Per output the largest and smallest probability so far, and the inputs that have them.

    Arrays are float64 and int [n_outputs]; `claimed` is the largest published claim so far, None if
    there is none.
    """

    highest: NDArray[np.float64]
    lowest: NDArray[np.float64]
    who_highest: NDArray[np.intp]
    who_lowest: NDArray[np.intp]
    claimed: float | None = None

    @classmethod
    def none(cls, n: int) -> Extremes:
        """Return the extremes of no input over n outputs."""
        nobody = np.zeros(n, dtype=np.intp)
        return cls(np.full(n, -1.0), np.full(n, 2.0), nobody, nobody.copy())

    def add(self, p: NDArray[np.float64], who: int) -> None:
        """Add one input's distribution, float64 [n_outputs]."""
        each = np.full(len(p), who, dtype=np.intp)
        self.merge(Extremes(p, p, each, each))

    def merge(self, other: Extremes) -> None:
        """Add the extremes of another part of the domain."""
        above, below = other.highest > self.highest, other.lowest < self.lowest
        for mine, theirs, better in (
            (self.highest, other.highest, above),
            (self.who_highest, other.who_highest, above),
            (self.lowest, other.lowest, below),
            (self.who_lowest, other.who_lowest, below),
        ):
            mine[better] = theirs[better]
        claims = [c for c in (self.claimed, other.claimed) if c is not None]
        self.claimed = max(claims, default=None)

    def worst(self) -> tuple[int, float]:
        """Return the output with the largest log ratio, and that ratio.

        Among infinite ratios the likeliest output is returned.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = np.where(self.highest > 0, np.log(self.highest) - np.log(self.lowest), 0.0)
        exact = float(ratios.max())
        return int(np.where(ratios == exact, self.highest, -1.0).argmax()), exact


def audit(
    sanitizer: Sanitizer,
    text: str = EXAMPLE,
    position: int = EXAMPLE_POSITION,
    n_inputs: int | None = None,
    advance: Callable[[int], None] = lambda n: None,
    source: Source = SYSTEM_RANDOM,
) -> AuditReport:
    """Enumerate one position; return its exact epsilon.

    Args:
        text: a context with private words.
        position: which of them, from 0.
        n_inputs: how many words of the domain, evenly spaced; None for all.
        advance: called with the number of inputs done.
        source: of the words that are drawn before this one, where the model reads them; replace it
            in tests only.

    Raises:
        ValueError: naming argument and value.
        ModelError, PolicyError: as `Sanitizer.sanitize`.

    Example (with a toy model that has no preferences):
        >>> from sanitizer import Cape, Sanitizer
        >>> from sanitizer.testing import ToyBackbone
        >>> toy = ToyBackbone(lambda n, m: np.zeros((n, m), dtype=np.float32))
        >>> report = audit(Sanitizer(Cape(3.0), "strict", model=toy), n_inputs=50)
        >>> report.certified, round(report.exact, 9), report.complete
        (3.0, 3.0, False)
    """
    if n_inputs is not None and n_inputs < 2:
        raise ValueError(f"inputs must be at least 2, got {n_inputs}")
    models = sanitizer.inner.models()
    everything = domain(sanitizer)
    step = 1 if n_inputs is None else max(1, len(everything) // n_inputs)
    words = everything[::step][:n_inputs]
    logits = (
        position_logits(sanitizer, text, position, source) if models.engine.reads_context else None
    )
    found, n_outputs = _enumerate(
        models.engine, words, logits, sanitizer.mechanism.claimed, advance
    )
    worst, exact = found.worst()
    outputs, _ = next(models.engine.distributions(words[:1], logits))
    mechanism = sanitizer.mechanism
    shown = ["(a word without a vector)" if word == UNKNOWN else word for word in words]
    return AuditReport(
        mechanism=mechanism.name,
        variant=mechanism.variant,
        nominal=mechanism.epsilon,
        claimed=found.claimed,
        certified=mechanism.epsilon if mechanism.certified else None,
        exact=exact,
        worst_inputs=(shown[found.who_highest[worst]], shown[found.who_lowest[worst]]),
        worst_output=models.engine.space.text(int(outputs[worst])),
        n_inputs=len(words),
        n_outputs=n_outputs,
        complete=len(words) == len(everything),
    )


def domain(sanitizer: Sanitizer) -> list[str]:
    """Return the inputs: every word with a vector, and one word that nothing is known about.

    For published variants: the whole words of the model's vocabulary.
    """
    return sanitizer.inner.models().engine.space.inputs()


def position_logits(
    sanitizer: Sanitizer, text: str, position: int, source: Source = SYSTEM_RANDOM
) -> NDArray[np.float32]:
    """Return the model's scores at one private word of a text, float32 [n_outputs].

    Words that are drawn before it are drawn and released. Raises ValueError if the text has no such
    word.
    """
    masked, models = sanitizer.inner.mask(text), sanitizer.inner.models()
    if not 0 <= position < len(masked.words):
        raise ValueError(
            f"position must be below the {len(masked.words)} private words of the context, "
            f"got {position}"
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
    """Return the extremes over all words, and the number of outputs."""
    n = len(next(engine.distributions(words[:1], logits))[0])

    def of_chunk(begin: int) -> Extremes:
        found = Extremes.none(n)
        chunk = words[begin : begin + _CHUNK]
        for i, (_, weights) in enumerate(engine.distributions(chunk, logits)):
            # An input comes once for each value of its noise.
            found.add(weights.probabilities(n), begin + i // engine.n_weights)
            if (claimed := claim(weights)) is not None:
                found.claimed = max(found.claimed or 0.0, claimed)
        return found

    whole = Extremes.none(n)
    begins = range(0, len(words), _CHUNK)
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for begin, found in zip(begins, pool.map(of_chunk, begins), strict=True):
            whole.merge(found)
            advance(min(_CHUNK, len(words) - begin))
    return whole, n
