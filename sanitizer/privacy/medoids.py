"""Output sets chosen for coverage, with caps against the best guess (Cape's profile "medoids").

What a position may release is chosen for its context: outputs such that most words which may occur
there have a near one among them, and each output has a cap, the largest prior probability that a
word may have to be served by it. All of this reads the released context and public tables only;
the private word does no more than rank the outputs (`ranked`).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sanitizer.privacy.weights import Logits

CAP_RANKS = (1, 2, 4, 8, 16, 32, 64, 128)
"""A cap is the prior of the word at one of these ranks, or that of the least likely input."""
_LEAST_GAIN = np.float32(1e-6)  # below it is rounding
_BARRED = np.float32(-3.0e38)
ADMITTED = np.float32(1 - 1e-6)  # a cap is the prior of some word, but for its rounding
APART = np.float32(10.0)  # more than two cosines differ


@dataclass(frozen=True)
class Design:
    """Public output set of one context.

    Attributes:
        outputs: int [n], numbers of the outputs.
        caps: float32 [n], largest prior probability of a word that the output serves.
        chances: float32 [n_all], probability of each output of the whole space in this context.
    """

    outputs: NDArray[np.intp] = field(repr=False)
    caps: Logits = field(repr=False)
    chances: Logits = field(repr=False)


@dataclass(frozen=True)
class Coverage:
    """Contexts for which `choose_outputs` chooses, n_positions at once.

    Inputs are words that may occur there, in ascending order of prior probability.

    Attributes:
        similarity: float32 [n_positions, n_candidates, n_inputs] >= 0, of output and input.
        fit: float32 [n_positions, n_candidates] >= 0, how well each output fits the context.
        weight: float32 [n_positions, n_inputs], of each input, adding up to 1.
        prior: float32 [n_positions, n_inputs], ascending; 0 for what the context does not expect.
    """

    similarity: Logits = field(repr=False)
    fit: Logits = field(repr=False)
    weight: Logits = field(repr=False)
    prior: Logits = field(repr=False)


@dataclass(frozen=True, slots=True)
class Limits:
    """How many outputs a position has, and what they trade.

    Attributes:
        epsilon: in nats.
        n_top: outputs that are raised for each word.
        fewest: outputs of a position at least, where there are so many candidates.
        most: outputs of a position at most.
        guess_price: price of being guessed, in similarity: of the expected success of the best
            guess that an attacker with the same prior gains.
    """

    epsilon: float
    n_top: int
    fewest: int
    most: int
    guess_price: float


def choose_outputs(
    coverage: Coverage, limits: Limits
) -> tuple[list[NDArray[np.intp]], list[Logits]]:
    """Return the outputs of each position, and their caps.

    Outputs are numbers of candidates, in the order of choice.

    Greedy for the expected similarity of a draw. With a = e^epsilon - 1, k = n_top and
    U = similarity + fit, that is [a (sum over inputs x of weight(x) times the k largest U(x, y)
    with cap(y) >= prior(x), less guess_price times the sum of the caps) + sum of the mean
    similarity of every output] / (k a + n). A step opens an output or lifts a cap; an output is
    opened only if that raises the quotient.
    """
    greedy = _Greedy(coverage, limits)
    while greedy.step():
        pass
    return greedy.result()


class _Greedy:
    """State of `choose_outputs`: one step changes every position that is not done."""

    def __init__(self, coverage: Coverage, limits: Limits) -> None:
        self._limits = limits
        self._raised = np.float32(np.expm1(limits.epsilon))
        weight = coverage.weight[:, None, :]
        base = np.matmul(coverage.similarity, coverage.weight[:, :, None])[:, :, 0]
        n_positions, n_candidates, n_inputs = coverage.similarity.shape
        self._value = (coverage.similarity + coverage.fit[:, :, None]) * weight
        self._room = np.empty_like(self._value)
        self._served = np.zeros((n_positions, limits.n_top, n_inputs), dtype=np.float32)
        self._ends = _ends(coverage.prior)
        columns = np.arange(n_inputs)
        self._columns = columns
        self._sums = (columns[:, None] < self._ends).astype(np.float32)
        self._caps = coverage.prior[:, self._ends - 1]
        self._price = np.float32(limits.guess_price) * self._caps
        self._paid = np.zeros((n_positions, n_candidates), dtype=np.float32)
        self._opening = base / self._raised  # what opening adds; 0 once open
        self._cap = np.full((n_positions, n_candidates), -1, dtype=np.intp)
        self._order = np.full((n_positions, n_candidates), n_candidates, dtype=np.intp)
        self._count = np.zeros(n_positions, dtype=np.intp)
        self._total = np.zeros(n_positions, dtype=np.float32)
        self._left = np.arange(n_positions)

    def step(self) -> bool:
        """Take the best step of each position; return False if there is none any more."""
        left = self._left
        if not len(left):
            return False
        flat = self._gains(left)
        at = flat.argmax(axis=1)
        good = flat[np.arange(len(left)), at] > _LEAST_GAIN
        rows, at = left[good], at[good]
        self._left = rows
        self._take(rows, *np.divmod(at, len(self._ends)))
        return len(rows) > 0

    def _gains(self, left: NDArray[np.intp]) -> Logits:
        """Return what each step adds, float32 [n_left, n_candidates * n_ends].

        It is below 0 for a step that may not be taken.
        """
        whole = len(left) == len(self._value)  # no copy while every position goes on
        value = self._value if whole else self._value[left]
        last = self._served[left, -1]
        room = self._room[: len(left)]
        np.maximum(value, last[:, None], out=room)
        n_inputs, n_ends = self._sums.shape
        gains = (room.reshape(-1, n_inputs) @ self._sums).reshape(len(left), -1, n_ends)
        gains -= (last @ self._sums)[:, None]
        price = np.maximum(self._price[left][:, None] - self._paid[left][:, :, None], 0)
        gains -= price
        count = self._count[left]
        ratio = self._total[left] / (self._limits.n_top * self._raised + count)
        ratio[count >= self._limits.most] = -_BARRED
        closed = self._cap[left] < 0
        gains += np.where(closed, self._opening[left] - ratio[:, None], 0)[:, :, None]
        # A cap is lifted, never lowered: so there is an end to the steps whatever rounding does.
        gains[self._cap[left][:, :, None] >= np.arange(n_ends)] = _BARRED
        return np.asarray(gains.reshape(len(left), -1))

    def _take(
        self, rows: NDArray[np.intp], chosen: NDArray[np.intp], end: NDArray[np.intp]
    ) -> None:
        """Open an output, or lift its cap, in each of some positions."""
        value = self._value[rows, chosen]
        inside = self._columns < self._ends[end][:, None]
        lift = np.where(inside, value, 0)
        before = self._served[rows, -1].sum(axis=1)
        gained = np.maximum(lift, self._served[rows, -1]).sum(axis=1) - before
        self._value[rows, chosen] = np.where(inside, 0, value)  # these inputs it serves already
        for level in range(self._limits.n_top):
            kept = self._served[rows, level]
            self._served[rows, level] = np.maximum(kept, lift)
            lift = np.minimum(kept, lift)
        price = self._price[rows, end]
        gained -= np.maximum(price - self._paid[rows, chosen], 0)
        opened = self._cap[rows, chosen] < 0
        gained += np.where(opened, self._opening[rows, chosen], 0)
        self._paid[rows, chosen] = np.maximum(price, self._paid[rows, chosen])
        self._total[rows] += gained
        self._cap[rows, chosen] = np.maximum(end, self._cap[rows, chosen])
        self._order[rows[opened], chosen[opened]] = self._count[rows[opened]]
        self._count[rows] += opened

    def result(self) -> tuple[list[NDArray[np.intp]], list[Logits]]:
        """Return outputs and caps, filled up to `fewest` in the order of the candidates.

        Those that fill up have the smallest cap.
        """
        fewest = min(self._limits.fewest, self._cap.shape[1])
        order = np.argsort(self._order, axis=1, kind="stable")
        outputs = [row[: max(n, fewest)] for row, n in zip(order, self._count, strict=True)]
        caps = [
            own[np.maximum(cap[chosen], 0)]
            for own, cap, chosen in zip(self._caps, self._cap, outputs, strict=True)
        ]
        return outputs, caps


def _ends(prior: Logits) -> NDArray[np.intp]:
    """Return where the stretches of inputs end that a cap may admit, int [n_ends], ascending."""
    n = prior.shape[1]
    unexpected = int((prior == 0).sum(axis=1).max(initial=0))
    ends = {n - rank + 1 for rank in CAP_RANKS if n - rank + 1 > unexpected}
    return np.array(sorted(ends | {max(1, unexpected)}), dtype=np.intp)


def ranked(
    design: Design, cosine: Logits | None, prior: float, own: NDArray[np.intp]
) -> NDArray[np.intp]:
    """Return the outputs of a design as one private word ranks them, best first, int [n].

    First those whose cap admits the word, by similarity; then the others by cap; the word's own
    spelling last. Nothing here raises, and every output has a place.

    Args:
        cosine: float32 [n], of the word to the outputs; None: nothing is known.
        prior: the word's own prior probability; 0 if it is not one of Y.
        own: positions of the word itself among the outputs, if it is to be last.
    """
    near = np.zeros(len(design.outputs), np.float32) if cosine is None else cosine
    near = np.nan_to_num(near, nan=0.0, posinf=0.0, neginf=0.0)
    near = np.where(design.caps >= np.float32(prior) * ADMITTED, near, design.caps - APART)
    near[own] = -2 * APART
    return np.argsort(-near, kind="stable")
