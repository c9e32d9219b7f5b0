"""Stand-ins drawn within the class of a thing: an illness for an illness, a belief for a belief.

The outputs are members of a public list of the class, chosen so that most things have one near
them. Words of the table and of public text may be left out; nothing private changes what may come
out, how many outputs there are, or their weights: the thing only orders them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sanitizer.lm import PieceTable, WordPieces, WordTable
from sanitizer.pipeline.outputs import Outputs, known_pieces
from sanitizer.privacy import Cape, DynText, Neighborhood, Weights
from sanitizer.randomness import Source
from sanitizer.text import class_members, content_words, plain_name
from sanitizer.text.policy import DRAWN

MOST_OUTPUTS = 200
"""Most outputs of one draw."""
_SHARE = 0.3  # outputs for each e^epsilon: the nearest then comes about four times out of five
_HEAD = 10  # frequencies of members fall as 1 / (rank + _HEAD)

Floats = NDArray[np.float32]


class _Vectors:
    """Vectors of names: the mean of their words', or of their pieces' where no word has one."""

    def __init__(self, words: WordTable, table: PieceTable, pieces: WordPieces) -> None:
        self._words, self._table, self._pieces = words, table, pieces

    def by_words(self, text: str) -> Floats | None:
        """Return a vector of length 1 by the word vectors, float32 [n_dimensions], or None."""
        rows = [self._words.row(word) for word in content_words(text) or plain_name(text).split()]
        known = [row for row in rows if row >= 0]
        if not known:
            return None
        vectors = self._words.vectors[known].astype(np.float32)
        return _unit((vectors / self._words.norms[known, None]).mean(axis=0))

    def by_pieces(self, text: str) -> Floats | None:
        """Return a vector of length 1 in the masked LM's input space, float32 [width], or None."""
        ids = known_pieces(plain_name(text), self._pieces)
        return _unit(self._table.mean(ids)) if ids else None


def _unit(vector: Floats) -> Floats:
    result: Floats = vector / max(float(np.linalg.norm(vector)), 1e-9)
    return result


class _Directions:
    """Vectors of a class in one space, without the direction that all of them share."""

    def __init__(self, found: Sequence[Floats | None]) -> None:
        width = next(len(vector) for vector in found if vector is not None)
        raw = np.array([np.zeros(width) if v is None else v for v in found], dtype=np.float32)
        self._shared = np.linalg.svd(raw, full_matrices=False)[2][0]
        self.rows = np.array([self.of(vector) for vector in raw])

    def of(self, vector: Floats) -> Floats:
        """Return a vector without the shared direction, of length 1."""
        return _unit(vector - self._shared * float(vector @ self._shared))


def _share_words(member: str, concept: str) -> bool:
    """Return True if two names share a word, as "Catholic" and "Old Catholic" do."""
    return not set(content_words(member)).isdisjoint(content_words(concept))


@dataclass(frozen=True)
class _Class:
    """Members of a class with their vectors."""

    members: tuple[str, ...]
    words: _Directions = field(repr=False)
    pieces: _Directions = field(repr=False)

    def near(self, text: str, vectors: _Vectors) -> Floats:
        """Return the cosine of a name to each member, float32 [n_members]; 0 if unknown."""
        for space, of in ((self.words, vectors.by_words), (self.pieces, vectors.by_pieces)):
            vector = of(text)
            if vector is not None:
                return np.nan_to_num(space.rows @ space.of(vector), nan=0.0)
        return np.zeros(len(self.members), dtype=np.float32)


class ClassDraws:
    """Draws stand-ins within classes by a certified mechanism. Safe for many threads.

    Guarantee: as the mechanism's, once per draw: the weights of the outputs are the same numbers
    for every thing of the class, in an order that depends on the thing.

    Args:
        mechanism: Cape or DynText, certified.
        model: its word and piece vectors are used, its scores are not.
        pieces: its tokenizer.
    """

    def __init__(self, mechanism: Cape | DynText, model: Outputs, pieces: WordPieces) -> None:
        self.mechanism = mechanism
        self._vectors = _Vectors(model.words, model.pieces, pieces)
        self._classes: dict[str, _Class] = {}
        self._chosen: dict[tuple[str, frozenset[int]], NDArray[np.intp]] = {}
        self._lock = threading.Lock()

    @property
    def classes(self) -> tuple[str, ...]:
        """Classes that can be drawn."""
        return DRAWN

    @property
    def epsilon(self) -> float:
        """Epsilon of one draw, in nats."""
        return self.mechanism.epsilon

    def draw(self, kind: str, concept: str, taken: Collection[str], source: Source) -> str | None:
        """Draw a stand-in for a thing.

        Args:
            kind: a class with a list (`sanitizer.text.policy.DRAWN`).
            concept: what the thing is called; any text.
            taken: names that may not come out: earlier stand-ins, and words of public text.

        Returns:
            A member of the class; None if too few are left, which is public.
        """
        outputs, weights = self.distribution(kind, concept, taken)
        if weights is None:
            return None
        return self._class(kind).members[int(outputs[weights.draw(source)])]

    def distribution(
        self, kind: str, concept: str, taken: Collection[str] = ()
    ) -> tuple[NDArray[np.intp], Weights | None]:
        """Return the outputs of a draw, as numbers of members, and their exact weights."""
        known = self._class(kind)
        gone = frozenset(i for i, member in enumerate(known.members) if member in taken)
        outputs = self._outputs(kind, known, gone)
        if len(outputs) < 2:
            return outputs, None
        near = known.near(concept, self._vectors)[outputs]
        if isinstance(self.mechanism, DynText):
            return outputs, self._dyntext(self.mechanism, near)
        if self.mechanism.demote_self:  # one word in common may say it all
            own = [_share_words(known.members[i], concept) for i in outputs]
            near = np.where(own, np.float32(-2.0), near)
        ranked = np.argsort(-near, kind="stable")
        return outputs, Weights.staircase(self.epsilon, ranked)

    @staticmethod
    def _dyntext(mechanism: DynText, near: Floats) -> Weights:
        order = np.argsort(-near, kind="stable")[: mechanism.k_max].astype(np.int32)
        around = np.zeros(len(order), dtype=np.int32)
        listed = Neighborhood(order, (1 - near[order]).astype(np.float32), 0, 0, around)
        return mechanism.weights(listed, len(near), mechanism.shortest)

    def _class(self, kind: str) -> _Class:
        with self._lock:
            if kind not in self._classes:
                names = class_members(kind)
                by: tuple[Callable[[str], Floats | None], ...] = (
                    self._vectors.by_words,
                    self._vectors.by_pieces,
                )
                words, pieces = (_Directions([of(name) for name in names]) for of in by)
                self._classes[kind] = _Class(names, words, pieces)
            return self._classes[kind]

    def cosines(self, kind: str) -> Floats:
        """Return the cosine of each member of a class to each, float32 [n_members, n_members]."""
        rows = self._class(kind).words.rows
        found: Floats = rows @ rows.T
        return found

    def n_outputs(self, n_members: int) -> int:
        """Return how many outputs a draw has: public, by epsilon and the size of the class."""
        if isinstance(self.mechanism, DynText):
            return min(n_members, MOST_OUTPUTS)
        wanted = round(_SHARE * float(np.exp(self.epsilon)))
        return min(n_members, MOST_OUTPUTS, max(4, wanted))

    def _outputs(self, kind: str, known: _Class, gone: frozenset[int]) -> NDArray[np.intp]:
        """Choose the outputs for coverage, greedily: public members only."""
        with self._lock:
            if (kind, gone) not in self._chosen:
                if len(self._chosen) > 256:
                    self._chosen.clear()
                left = np.array([i for i in range(len(known.members)) if i not in gone], np.intp)
                n = self.n_outputs(len(left))
                chosen = _covering(known.words.rows, left, n, self.epsilon, self._demotes)
                self._chosen[kind, gone] = chosen
            return self._chosen[kind, gone]

    @property
    def _demotes(self) -> bool:
        return isinstance(self.mechanism, Cape) and self.mechanism.demote_self


def common_first(n: int) -> NDArray[np.float64]:
    """Return how common the members of a list are, by their places in it, float64 [n]."""
    shares = 1.0 / (np.arange(n) + _HEAD)
    return np.asarray(shares / shares.sum())


def _covering(
    rows: Floats, left: NDArray[np.intp], n: int, epsilon: float, demotes: bool
) -> NDArray[np.intp]:
    """Return `n` of the members left such that each member has a near one, ascending, int [n].

    Greedy for the expected cosine of a draw, members weighted by how common they are.
    """
    common = common_first(len(rows))
    near = np.clip(rows @ rows[left].T, 0.0, None).astype(np.float64)
    if demotes:
        near[left, np.arange(len(left))] = 0.0
    raised = np.expm1(min(epsilon, 30.0))
    best = np.zeros(len(rows))
    chosen: list[int] = []
    open_ = np.ones(len(left), dtype=bool)
    for _ in range(n):
        gains = raised * (common @ np.clip(near - best[:, None], 0.0, None)) + common @ near
        at = int(np.where(open_, gains, -1.0).argmax())
        open_[at] = False
        chosen.append(int(left[at]))
        best = np.maximum(best, near[:, at])
    return np.array(sorted(chosen), dtype=np.intp)
