"""Stand-ins drawn within the class of a thing: an illness for an illness, a belief for a belief.

The outputs are members of a public list of the class, chosen so that most things have one near
them, each with a cap on how common the things are that it serves (`sanitizer.privacy.medoids`).
Words of the table and of public text may be left out; nothing private changes what may come out,
how many outputs there are, or their weights: the thing only orders them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sanitizer.detect.classes import LISTS, class_members, content_words, group_of, plain_name
from sanitizer.lm.loading import Tables
from sanitizer.lm.tokens import WordPieces
from sanitizer.pipeline.outputs import known_pieces
from sanitizer.privacy.cape import Cape
from sanitizer.privacy.dyntext import DynText, Neighborhood
from sanitizer.privacy.medoids import Coverage, Design, Limits, choose_outputs, ranked
from sanitizer.privacy.weights import Weights
from sanitizer.randomness import Source

Floats = NDArray[np.float32]

MOST_OUTPUTS = 200
"""Most outputs of one draw."""
_FEWEST = 4
"""Outputs of a draw, where so many members are left."""
_MOST_DESIGNS = 256
"""Sets of outputs that are remembered."""
_MOST_STEPS, _SETTLED = 1000, 1e-12
"""Steps of power iteration, and its change in a step at the end."""
_ALIKE = np.float32(0.2)
"""What one group in common counts for beside the cosine, of 1 in all."""
_HEAD = 10
"""Frequencies of members fall as 1 / (rank + this)."""


def _unit(vector: Floats) -> Floats:
    result: Floats = vector / max(float(np.linalg.norm(vector)), 1e-9)
    return result


def _shared(rows: Floats) -> Floats:
    """Return the first right singular vector of rows, of length 1, float32 [width].

    By power iteration: it takes a handful of small products, since the rows point much the same
    way, where a whole decomposition takes a thousand times as long and every core.
    """
    wide = rows.astype(np.float64)
    squares, found = wide.T @ wide, wide.sum(axis=0)
    for _ in range(_MOST_STEPS):
        before, found = found, squares @ found
        found /= max(float(np.linalg.norm(found)), 1e-300)
        if float(np.abs(found - before).max()) < _SETTLED:
            break
    direction: Floats = found.astype(np.float32)
    return direction


class _Space:
    """Vectors of a class, of length 1, without the direction that all of them share.

    Args:
        names: the members. raw: function (name) -> its vector, None if it has none.
    """

    def __init__(self, names: Sequence[str], raw: Callable[[str], Floats | None]) -> None:
        self._raw = raw
        found = [raw(name) for name in names]
        width = next(len(vector) for vector in found if vector is not None)
        rows = np.array([np.zeros(width) if v is None else v for v in found], dtype=np.float32)
        self._shared = _shared(rows)
        self.rows = np.array([self._without_shared(vector) for vector in rows])

    def _without_shared(self, vector: Floats) -> Floats:
        return _unit(vector - self._shared * float(vector @ self._shared))

    def near(self, name: str) -> Floats | None:
        """Return the cosine of a name and each member, float32 [n]; None if it has no vector."""
        vector = self._raw(name)
        return None if vector is None else self.rows @ self._without_shared(vector)


@dataclass(frozen=True)
class _Class:
    """Members of a class, their numbers and vectors, and which share a word, or a group."""

    members: tuple[str, ...]
    numbers: dict[str, int] = field(repr=False)
    shares_words: NDArray[np.bool_] = field(repr=False)
    alike: NDArray[np.bool_] = field(repr=False)
    words: _Space = field(repr=False)
    pieces: _Space = field(repr=False)

    def near(self, name: str) -> Floats:
        """Return how near a name is to each member, float32 [n_members]; 0 if unknown."""
        found = self.words.near(name)
        found = self.pieces.near(name) if found is None else found
        found = np.zeros(len(self.members), np.float32) if found is None else np.nan_to_num(found)
        number = self.numbers.get(name)
        return found if number is None else self._with_groups(found, self.alike[number])

    def between(self, some: NDArray[np.intp]) -> Floats:
        """Return how near some members are to all, float32 [n, n_members], 0 to 1."""
        cosines = np.clip(self.words.rows[some] @ self.words.rows.T, 0.0, 1.0)
        return self._with_groups(cosines, self.alike[some])

    def _with_groups(self, cosines: Floats, alike: NDArray[np.bool_]) -> Floats:
        if not self.alike.any():
            return cosines
        found: Floats = (1 - _ALIKE) * cosines + _ALIKE * alike.astype(np.float32)
        return found


class ClassDraws:
    """Draws stand-ins within classes by a certified mechanism. Safe for many threads.

    Guarantee: as the mechanism's, once per draw: the weights of the outputs are the same numbers
    for every thing of the class, in an order that depends on the thing.

    Args:
        mechanism: Cape or DynText, certified.
    """

    def __init__(self, mechanism: Cape | DynText, model: Tables, pieces: WordPieces) -> None:
        self.mechanism, self.epsilon = mechanism, mechanism.epsilon
        self._model, self._pieces = model, pieces
        self._classes: dict[str, _Class] = {}
        self._chosen: dict[tuple[str, frozenset[int]], Design] = {}
        self._lock = threading.Lock()

    def load(self) -> None:
        """Prepare every class now, which the first draw from it does otherwise."""
        for kind in LISTS:
            self._design(kind, self._class(kind), frozenset())

    def draw(self, kind: str, concept: str, taken: Collection[str], source: Source) -> str | None:
        """Draw a stand-in for a thing.

        Args:
            kind: name of a list (`sanitizer.detect.list_of`).
            concept: what the thing is called; any text.
            taken: names that may not come out: earlier stand-ins, and what left as it is.

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
        known, mechanism = self._class(kind), self.mechanism
        names = {name.lower() for name in taken}
        gone = frozenset(i for i, member in enumerate(known.members) if member.lower() in names)
        design = self._design(kind, known, gone)
        outputs = design.outputs
        if len(outputs) < 2:
            return outputs, None
        near = known.near(concept)[outputs]
        if isinstance(mechanism, DynText):
            order = np.argsort(-near, kind="stable")[: mechanism.k_max].astype(np.int32)
            around = np.zeros(len(order), dtype=np.int32)
            listed = Neighborhood(order, (1 - near[order]).astype(np.float32), 0, 0, around)
            return outputs, mechanism.weights(listed, len(near), mechanism.shortest)
        own = np.array([], dtype=np.intp)
        if mechanism.demote_self:  # one word in common may say it all
            own_words = set(content_words(concept))
            shared = [not own_words.isdisjoint(content_words(known.members[i])) for i in outputs]
            own = np.flatnonzero(shared)
        number = known.numbers.get(concept)
        prior = 0.0 if number is None else float(design.chances[number])
        return outputs, Weights.staircase(self.epsilon, ranked(design, near, prior, own))

    def cosines(self, kind: str) -> Floats:
        """Return the cosine of each member of a class to each, float32 [n_members, n_members]."""
        rows = self._class(kind).words.rows
        found: Floats = rows @ rows.T
        return found

    def _class(self, kind: str) -> _Class:
        with self._lock:
            if kind not in self._classes:
                names = class_members(kind)
                words = [set(content_words(name)) for name in names]
                groups = [group_of(name) for name in names]
                self._classes[kind] = _Class(
                    names,
                    {name: i for i, name in enumerate(names)},
                    np.array([[not one.isdisjoint(other) for other in words] for one in words]),
                    np.array([[bool(one) and one == other for other in groups] for one in groups]),
                    _Space(names, self._by_words),
                    _Space(names, self._by_pieces),
                )
            return self._classes[kind]

    def _by_words(self, name: str) -> Floats | None:
        """Return the mean of a name's word vectors, of length 1, or None."""
        table = self._model.words
        rows = [table.row(word) for word in content_words(name) or plain_name(name).split()]
        known = [row for row in rows if row >= 0]
        return _unit(table.unit(known).mean(axis=0)) if known else None

    def _by_pieces(self, name: str) -> Floats | None:
        """Return the mean of a name's pieces in the masked LM's input space, or None."""
        ids = known_pieces(plain_name(name), self._pieces)
        return _unit(self._model.pieces.mean(ids)) if ids else None

    def _design(self, kind: str, known: _Class, gone: frozenset[int]) -> Design:
        """Choose the outputs: public members only."""
        with self._lock:
            if (kind, gone) not in self._chosen:
                if len(self._chosen) > _MOST_DESIGNS:
                    self._chosen.clear()
                left = np.array([i for i in range(len(known.members)) if i not in gone], np.intp)
                self._chosen[kind, gone] = self._covering(known, left)
            return self._chosen[kind, gone]

    def _covering(self, known: _Class, left: NDArray[np.intp]) -> Design:
        """Return outputs, ascending, such that each member of a class has a near one.

        Members are weighted by how common they are. DynText takes the commonest ones left.
        """
        common = common_first(len(known.members)).astype(np.float32)
        mechanism = self.mechanism
        if isinstance(mechanism, DynText) or len(left) <= 1:
            outputs = left[:MOST_OUTPUTS]
            return Design(outputs, np.ones(len(outputs), np.float32), common)
        near = known.between(left)
        if mechanism.demote_self:
            near[known.shares_words[left]] = 0.0
        near[np.arange(len(left)), left] = 0.0 if mechanism.demote_self else 1.0
        rare_first = np.arange(len(common))[::-1]
        contexts = Coverage(
            near[None, :, rare_first].astype(np.float32),
            np.zeros((1, len(left)), dtype=np.float32),
            common[None, rare_first],
            common[None, rare_first],
        )
        limits = Limits(self.epsilon, 1, _FEWEST, MOST_OUTPUTS, mechanism.guess_price)
        (chosen,), (caps,) = choose_outputs(contexts, limits)
        order = np.argsort(left[chosen])
        return Design(left[chosen][order], caps[order], common)


def common_first(n: int) -> NDArray[np.float64]:
    """Return how common the members of a list are, by their places in it, float64 [n]."""
    shares = 1.0 / (np.arange(n) + _HEAD)
    return np.asarray(shares / shares.sum())
