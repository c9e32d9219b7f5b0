"""AugPE (Xie et al. 2024): paraphrase and vote, with texts only and no access to scores.

A round: every private text votes for the candidate nearest to it (sentence vectors); noise is added
to the counts; the candidates with the most votes stay, and the model paraphrases each of them a few
times to make the next candidates. Private texts are read by the votes alone; paraphrases are of
released candidates.

Accounting: one noisy histogram a round. Its L2 sensitivity is 1 for add-remove neighbours and
sqrt(2) for replace-by-null (one count falls, another rises); discrete Gaussian noise of scale sigma
on each count, so a round is a GaussianEvent and rounds compose. Rounds, candidates and how many
stay are fixed in advance.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from benchmarks.baselines.next_token import ADD_REMOVE, REPLACE, UNIT
from sanitizer.privacy import GaussianEvent, cost
from sanitizer.randomness import Source, discrete_gaussian

Vectors = NDArray[np.float32]
Counts = NDArray[np.int64]
SENSITIVITY = {ADD_REMOVE: 1.0, REPLACE: sqrt(2)}


@dataclass(frozen=True)
class AugPE:
    """Args: sigma: noise of a count. n_rounds; n_texts: how many stay; n_variations: of each,
    besides itself.
    """

    sigma: float
    n_rounds: int
    n_texts: int
    n_variations: int
    relation: str = REPLACE
    name: str = "AugPE"

    @property
    def event(self) -> GaussianEvent:
        """One round of votes."""
        return GaussianEvent(
            unit=UNIT,
            relation=self.relation,
            sigma=self.sigma,
            sensitivity=SENSITIVITY[self.relation],
        )

    def epsilon(self, delta: float) -> float:
        """Of all rounds."""
        return cost(self.event, self.n_rounds, delta)

    def run(
        self,
        private: Vectors,
        candidates: Sequence[str],
        embed: Callable[[Sequence[str]], Vectors],
        paraphrase: Callable[[str], str],
        source: Source,
    ) -> list[str]:
        """The texts of the last round.

        Args:
            private: float32 [n_private, width], unit vectors. candidates: written without private
                text. embed: texts to
                unit vectors. paraphrase: another wording of one text.
        """
        kept = list(candidates)
        for _ in range(self.n_rounds):
            pool = kept + [paraphrase(text) for text in kept for _ in range(self.n_variations)]
            counts = self.noisy(votes(private, embed(pool)), source)
            kept = [pool[i] for i in np.argsort(-counts, kind="stable")[: self.n_texts]]
        return kept

    def noisy(self, counts: Counts, source: Source) -> Counts:
        """Counts with discrete Gaussian noise on each, int64."""
        variance = Fraction(self.sigma) ** 2
        return np.array(
            [int(c) + discrete_gaussian(variance, source) for c in counts], dtype=np.int64
        )


def votes(private: Vectors, candidates: Vectors) -> Counts:
    """How many private vectors are nearest to each candidate, int64 [n_candidates]; the first of
    equals gets it.
    """
    nearest = (
        (private @ candidates.T).argmax(axis=1) if len(private) else np.zeros(0, dtype=np.intp)
    )
    return np.bincount(nearest, minlength=len(candidates)).astype(np.int64)
