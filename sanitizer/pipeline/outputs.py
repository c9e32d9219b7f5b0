"""What a private word may be replaced by, and which of these outputs are near it.

Output spaces give the distance of every output from a word, for Cape; `Medoids` chooses output sets
for its profile of that name. Neighborhoods give the nearest outputs of a word and the density
around it, for DynText: their tables are made by models/build/density.py, distances are Euclidean
between vectors of length one, computed here so that only lists and densities are stored.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sanitizer.errors import ModelError, NotCertified
from sanitizer.lm.causal import CausalLM
from sanitizer.lm.masked import MaskedLM
from sanitizer.lm.tokens import ByteTokens, WordPieces
from sanitizer.lm.word_vectors import PieceTable, WordTable, mapped, scaled_distances
from sanitizer.privacy.cape import Cape
from sanitizer.privacy.dyntext import LONGEST_LIST, DensityRange, Neighborhood
from sanitizer.privacy.medoids import Coverage, Design, choose_outputs

Floats = NDArray[np.float32]
Distance = Callable[[int, NDArray[np.intp]], Floats | None]
"""(number of the word, outputs int [n]) -> float32 [n], or None for a word that no table knows."""

UNKNOWN = "\x00"
"""A word without a vector and without known pieces: its draw reads the context alone."""
NO_OUTPUTS = np.empty(0, dtype=np.intp)
_LONGEST_WORD = 100
"""Characters above which the tokenizer of the masked model gives up on a word."""

N_INPUTS = 128
"""Likeliest words of a context that are weighed; the tail stands for all others."""
N_TAIL = 32
"""Centroids of the word table, for words that the context does not expect."""
TAIL_WEIGHT = 0.2
"""Weight of the tail among the inputs."""
FIT = 0.3
"""Largest similarity that fitting the context is worth."""
WIDTH = 64
"""Directions of the word vectors that similarity is measured in while outputs are chosen."""
BLOCK = 32
"""Positions worked on together, so that their tables stay in the processor's cache."""
_FLOORS = (5e-4, 1e-4, 1e-5)  # of chances; most contexts have enough words above the first two
_SAMPLE, _ROUNDS = 6_000, 6  # of the k-means behind the tail


class OutputSpace(ABC):
    """Distances and texts of the outputs."""

    n_outputs: int

    @abstractmethod
    def distances(self, words: Sequence[str]) -> Distance:
        """Return the function that measures the outputs from each of the private words."""

    def own(self, word: str) -> NDArray[np.intp]:
        """Return the outputs that spell the word itself, in any case; tokens never do."""
        return NO_OUTPUTS

    @abstractmethod
    def text(self, output: int) -> str:
        """Return an output as text."""

    @abstractmethod
    def token(self, output: int) -> int:
        """Return an output as a token of the masked model; [UNK] if it is not one."""

    @abstractmethod
    def inputs(self) -> list[str]:
        """Return the private words that an audit enumerates."""


class WordSpace(OutputSpace):
    """Y, the whole-word outputs, or some of them (certified variants).

    Distances come from word vectors; for a word without a vector from its pieces; for a word whose
    pieces are unknown there are none.
    """

    def __init__(self, model: Outputs, pieces: WordPieces) -> None:
        self._model = model
        self._pieces = pieces
        self.n_outputs = len(model.outputs)
        own: defaultdict[str, list[int]] = defaultdict(list)
        for index, word in enumerate(model.outputs):
            own[word.lower()].append(index)
        self._own = {word: np.array(indices, dtype=np.intp) for word, indices in own.items()}

    def distances(self, words: Sequence[str]) -> Distance:
        return lambda i, outputs: self._distance(words[i], outputs)

    def _distance(self, word: str, outputs: NDArray[np.intp]) -> Floats | None:
        row = self._model.words.row(word)
        if row >= 0:
            return self._model.words.distance(row, outputs)
        ids = known_pieces(word, self._pieces)
        if not ids:
            return None
        table = self._model.pieces
        return table.cosine_distance(table.mean(ids), self._model.output_ids[outputs])

    def own(self, word: str) -> NDArray[np.intp]:
        return self._own.get(word.lower(), NO_OUTPUTS)

    def text(self, output: int) -> str:
        return self._model.outputs[output]

    def token(self, output: int) -> int:
        return int(self._model.output_ids[output])

    def inputs(self) -> list[str]:
        return [*(bytes(w).decode("utf-8") for w in self._model.words.words), UNKNOWN]


class TokenSpace(OutputSpace):
    """The full token vocabulary, with Euclidean distances in the model's own input table.

    For published variants; so is `ByteTokenSpace`.
    """

    def __init__(self, model: MaskedLM, pieces: WordPieces) -> None:
        self._model = model
        self._pieces = pieces
        self.n_outputs = model.pieces.n_rows

    def distances(self, words: Sequence[str]) -> Distance:
        table = self._model.pieces
        means = np.stack(
            [table.mean(known_pieces(w, self._pieces) or [self._pieces.unknown]) for w in words]
        )
        measured = table.distances(means)
        return lambda i, outputs: measured[i][outputs]

    def text(self, output: int) -> str:
        return self._pieces.token(output)

    def token(self, output: int) -> int:
        return output

    def inputs(self) -> list[str]:
        return self._pieces.whole_words()


def known_pieces(word: str, pieces: WordPieces) -> list[int]:
    """Return the word's pieces; none if the tokenizer does not know all of them."""
    if len(word) > _LONGEST_WORD:
        return []
    ids = pieces.encode(word)
    return [] if pieces.unknown in ids else ids


@dataclass(frozen=True)
class OneTokenOutputs:
    """The words of Y that, after a space, are one token of the causal model.

    A word of several tokens would need a model pass for each of its beginnings, so it is left out.

    Attributes:
        outputs, output_ids, words, pieces: as of a `MaskedLM`, for these words alone.
        columns: int [n_outputs], token of each word in the causal model.
    """

    outputs: list[str] = field(repr=False)
    output_ids: NDArray[np.intp] = field(repr=False)
    words: WordTable = field(repr=False)
    pieces: PieceTable = field(repr=False)
    columns: NDArray[np.intp] = field(repr=False)

    @classmethod
    def of(cls, model: Outputs, tokens: ByteTokens) -> OneTokenOutputs:
        """Return the words of a masked model that are one of these tokens."""
        spelled = [tokens.encode(" " + word) for word in model.outputs]
        kept = np.array([i for i, ids in enumerate(spelled) if len(ids) == 1], dtype=np.intp)
        table = replace(model.words, output_vectors=model.words.output_vectors[kept])
        columns = np.array([spelled[i][0] for i in kept], dtype=np.intp)
        return cls(
            [model.outputs[i] for i in kept], model.output_ids[kept], table, model.pieces, columns
        )


Outputs = MaskedLM | OneTokenOutputs
"""The words of Y, or some of them, with their vectors."""


class ByteTokenSpace(OutputSpace):
    """The causal model's full vocabulary, with Euclidean distances in its own input table.

    A private word is the mean of its tokens, written after a space. The table is held as float32:
    113 MB for the packaged model.

    Args:
        pieces: tokenizer of the masked model, for `token`.
    """

    def __init__(self, model: CausalLM, tokens: ByteTokens, pieces: WordPieces) -> None:
        self._tokens = tokens
        self._pieces = pieces
        self._table = model.vectors()
        self._squares = np.square(self._table).sum(axis=1)
        self.n_outputs = len(self._table)

    def distances(self, words: Sequence[str]) -> Distance:
        means = np.stack(
            [self._table[self._tokens.encode(" " + word)].mean(axis=0) for word in words]
        )
        measured = scaled_distances(means, means @ self._table.T, self._squares)
        return lambda i, outputs: measured[i][outputs]

    def text(self, output: int) -> str:
        return self._tokens.decode([output]).removeprefix(" ")

    def token(self, output: int) -> int:
        ids = self._pieces.encode(self.text(output))
        return ids[0] if len(ids) == 1 else self._pieces.unknown

    def inputs(self) -> list[str]:
        texts = (self._tokens.decode([i]) for i in range(self.n_outputs))
        return [text[1:] for text in texts if text.startswith(" ") and text[1:].isalpha()]


@dataclass(frozen=True)
class NearestLists:
    """Nearest outputs and densities of all inputs over one output set.

    Attributes:
        members: uint16 [n_inputs, 20], outputs, nearest first.
        density: uint16 [n_inputs], number of outputs within the radius.
        radius: largest distance of an output that counts towards the density.
        range: range of the density over all inputs.
        output_density: int32 [n_outputs], density of the outputs themselves.
        output_sensitivity: int32 [n_outputs], local sensitivity of that density.
    """

    members: NDArray[np.uint16]
    density: NDArray[np.uint16]
    radius: float
    range: DensityRange
    output_density: NDArray[np.int32]
    output_sensitivity: NDArray[np.int32]

    @classmethod
    def load(cls, folder: Path, kind: str, rows: NDArray[np.int32]) -> NearestLists:
        """Map the tables of a model folder.

        Args:
            folder: folder with dyntext.json and the tables.
            kind: "words" or "tokens".
            rows: int [n_outputs], row of each output among the inputs.

        Raises:
            ModelError: a file is missing, damaged or does not fit.
        """
        # A copy: the privacy bound holds for the lists checked below, and a mapped file may change.
        members = np.array(mapped(folder / f"dyntext_{kind}_members.npy"))
        density = mapped(folder / f"dyntext_{kind}_density.npy")
        fits = (
            members.shape == (len(density), LONGEST_LIST)
            and members.dtype == density.dtype == np.uint16
        )
        if not fits or members.max() >= len(rows) or rows.min() < 0 or rows.max() >= len(density):
            raise ModelError(f"the DynText tables of {kind} do not fit together")
        ordered = np.sort(members, axis=1)
        if bool((ordered[:, 1:] == ordered[:, :-1]).any()):  # the bound needs distinct members
            raise ModelError(f"the DynText lists of {kind} repeat an output")
        of_outputs = density[rows].astype(np.int32)
        sensitivity = np.abs(of_outputs[:, None] - of_outputs[members[rows]]).max(axis=1)
        radius, ends = _facts(folder, kind)
        return cls(members, density, radius, ends, of_outputs, sensitivity)  # type: ignore[arg-type]

    def neighborhood(
        self,
        members: NDArray[np.intp],
        one_less_cosine: Floats,
        density: int,
        offsets: Floats | None,
    ) -> Neighborhood:
        """Return the neighborhood of one word from its members, their cosines and its density."""
        own = int(np.abs(self.output_density[members] - density).max())
        near, distances = members.astype(np.int32), _euclidean(one_less_cosine)
        return Neighborhood(
            near, distances, density, own, self.output_sensitivity[members], offsets
        )


class WordNeighborhoods:
    """Neighbors among the output words Y, for every word with a vector (certified variant)."""

    def __init__(self, table: WordTable, lists: NearestLists) -> None:
        if len(lists.density) != len(table.words):
            raise ModelError("the DynText tables do not fit the word vectors")
        self._table, self._lists = table, lists
        self.range = lists.range

    @classmethod
    def load(cls, folder: Path, table: WordTable) -> WordNeighborhoods:
        """Map the tables of a model folder; raise ModelError if one cannot be used."""
        rows = mapped(folder / "output_rows.npy")
        return cls(table, NearestLists.load(folder, "words", rows))  # type: ignore[arg-type]

    def of(self, row: int, with_offsets: bool = False) -> Neighborhood | None:
        """Return the neighborhood of a row of the word table; None for a word without a vector.

        Args:
            row: row as `WordTable.row` gives it; -1 for a word without a vector.
            with_offsets: add the members' vectors, for DynText's replacement "noise".
        """
        if row < 0:
            return None
        members = self._lists.members[row].astype(np.intp)
        table, offsets = self._table, None
        if with_offsets:
            near = table.output_vectors[members].astype(np.float32)
            offsets = near / table.output_norms[members, None] - table.unit(row)
        density = int(self._lists.density[row])
        return self._lists.neighborhood(members, table.distance(row, members), density, offsets)


class TokenNeighborhoods:
    """Neighbors among the masked LM's tokens, the word itself included (published variant).

    A word of one piece has a row in the tables. A word of several pieces is the mean of their
    vectors, which has no row: its distances to the whole vocabulary are computed as they were for
    the tables, in about three milliseconds.

    Args:
        rows: int8 [n_tokens, width], the rows of the table without their scale.
    """

    CHUNK = 512
    """Rows converted to float32 at a time; more would not stay in the processor's cache."""

    def __init__(self, table: PieceTable, rows: NDArray[np.int8], lists: NearestLists) -> None:
        if not len(lists.density) == len(rows) == table.n_rows:
            raise ModelError("the DynText tables do not fit the token table")
        self._table, self._rows, self._lists = table, rows, lists
        self.range = lists.range

    @classmethod
    def load(cls, folder: Path, table: PieceTable) -> TokenNeighborhoods:
        """Map the tables of a model folder; raise ModelError if one cannot be used."""
        each = np.arange(table.n_rows, dtype=np.int32)
        lists = NearestLists.load(folder, "tokens", each)
        return cls(table, mapped(folder / "embeddings.npy"), lists)  # type: ignore[arg-type]

    def of(self, pieces: list[int], with_offsets: bool = False) -> Neighborhood:
        """Return the neighborhood of a word given by its token ids.

        Args:
            pieces: token ids, one or more; [UNK] where the tokenizer does not know a piece.
            with_offsets: add the members' vectors, for DynText's replacement "noise".
        """
        vector = _unit(self._table.mean(pieces)[None])[0]
        if len(pieces) == 1:
            members = self._lists.members[pieces[0]].astype(np.intp)
            density = int(self._lists.density[pieces[0]])
        else:
            members, density = self._measured(vector)
        rows = _unit(self._rows[members].astype(np.float32))
        offsets = rows - vector if with_offsets else None
        return self._lists.neighborhood(members, np.float32(1) - rows @ vector, density, offsets)

    def _measured(self, vector: Floats) -> tuple[NDArray[np.intp], int]:
        """Return (nearest tokens, number of tokens within the radius) of a vector."""
        dots: Floats = np.concatenate([part @ vector for part in self._chunks()])
        cosines = dots / self._norms
        near = np.argpartition(-cosines, LONGEST_LIST - 1)[:LONGEST_LIST]
        near = near[np.lexsort((near, -cosines[near]))]
        return near, int((_euclidean(np.float32(1) - cosines) <= self._lists.radius).sum())

    @cached_property
    def _norms(self) -> Floats:
        return np.concatenate([np.sqrt(np.square(part).sum(axis=1)) for part in self._chunks()])

    def _chunks(self) -> Iterator[Floats]:
        for begin in range(0, len(self._rows), self.CHUNK):
            yield self._rows[begin : begin + self.CHUNK].astype(np.float32)


def _facts(folder: Path, kind: str) -> tuple[float, DensityRange]:
    try:
        facts = json.loads((folder / "dyntext.json").read_text("utf-8"))[kind]
        ends = DensityRange(*(int(facts[name]) for name in ("lowest", "highest", "sensitivity")))
        return float(facts["radius"]), ends
    except (OSError, KeyError, TypeError, ValueError):
        raise ModelError("dyntext.json cannot be used") from None


def _unit(vectors: Floats) -> Floats:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, 1e-9), dtype=np.float32)


def _euclidean(one_less_cosine: Floats) -> Floats:
    """Return the distances of vectors of length one from 1 - cosine: float32 [n] in [0, 2]."""
    return np.sqrt(np.maximum(2 * one_less_cosine, 0)).astype(np.float32)


class Medoids:
    """Chooses output sets by coverage of the words that may stand in a context.

    Each context is scored once, with a prior over the distinct words of Y, the likeliest of them as
    inputs and as candidates, and centroids of the word table for words that it does not expect.

    Guarantee: what is chosen is a function of the scores, of public tables and of settings.

    Args:
        mechanism: Cape with profile "medoids".
        outputs: the words of Y with their vectors.
        logit_range: the scores that count as fitting not at all, and perfectly.
    """

    def __init__(self, mechanism: Cape, outputs: Outputs, logit_range: tuple[float, float]) -> None:
        self._spellings, self._fold = _spellings(outputs.outputs)
        table = outputs.words
        vectors = table.output_vectors.astype(np.float32) / table.output_norms[:, None]
        _, axes = np.linalg.eigh(vectors.T @ vectors)  # the last: where vectors differ most
        axes = np.ascontiguousarray(axes[:, ::-1][:, :WIDTH], dtype=np.float32)
        self._vectors = vectors[self._spellings[:, 0]] @ axes
        centres, self._shares = tail(table, N_TAIL)
        self._to_tail = self._vectors @ (centres @ axes).T
        self._range = logit_range
        self.limits = mechanism.limits
        self._n_candidates = min(mechanism.n_candidates, len(self._spellings))
        self._n_inputs = min(max(N_INPUTS, self._n_candidates), len(self._spellings))
        self._demotes = mechanism.demote_self

    @property
    def worst_size(self) -> int:
        """Number of outputs at which a draw with two levels loses most.

        Of the numbers that a context can give, it is the one nearest to twice the raised outputs.
        """
        limits = self.limits
        fewest, most = (min(n, self._n_candidates) for n in (limits.fewest, limits.most))
        return min(max(fewest, 2 * limits.n_top), most)

    def designs(self, logits: Floats) -> Iterator[Design]:
        """Yield the output set of each context.

        Args:
            logits: float32 [n, n_outputs], from public and released text only.

        Raises:
            NotCertified: if a logit is not finite.
        """
        if not np.isfinite(logits).all():
            raise NotCertified("the model gave a score that is not finite")
        for begin in range(0, len(logits), BLOCK):
            yield from self._block(logits[begin : begin + BLOCK])

    def _block(self, logits: Floats) -> Iterator[Design]:
        odds = np.exp(logits - logits.max(axis=1, keepdims=True))
        odds /= odds.sum(axis=1, keepdims=True)
        found = [self._likely(row) for row in odds]
        words = np.stack([each for each, _ in found])
        mass = np.stack([each for _, each in found])
        candidates = words[:, ::-1][:, : self._n_candidates]
        spelled = self._likeliest_spelling(odds, candidates)
        low, high = self._range
        fit = (np.take_along_axis(logits, spelled, axis=1) - low) / (high - low)
        rest = np.broadcast_to(TAIL_WEIGHT * self._shares, (len(mass), len(self._shares)))
        weight = (1 - TAIL_WEIGHT) * mass / mass.sum(axis=1, keepdims=True)
        contexts = Coverage(
            self._similarity(words),
            np.asarray(FIT * np.clip(fit, 0, 1), dtype=np.float32),
            np.concatenate([rest, weight], axis=1).astype(np.float32),
            np.pad(mass, ((0, 0), (len(self._shares), 0))),
        )
        chosen, caps = choose_outputs(contexts, self.limits)
        for i, (which, its_caps) in enumerate(zip(chosen, caps, strict=True)):
            yield Design(spelled[i][which], its_caps, odds[i])

    def _likely(self, odds: Floats) -> tuple[NDArray[np.intp], Floats]:
        """Return the likeliest distinct words of a context, likeliest last, and their chances."""
        n = self._n_inputs
        words = np.arange(len(self._spellings))
        for floor in _FLOORS:  # sorting all of Y would take longer than all the rest
            seen = np.zeros(len(words), dtype=bool)
            seen[self._fold[odds > floor]] = True
            some = np.flatnonzero(seen)
            if len(some) >= n:
                words = some
                break
        mass = np.append(odds, np.float32(0))[self._spellings[words]].sum(axis=1)
        order = np.argsort(mass, kind="stable")[-n:]
        return words[order], mass[order]

    def _likeliest_spelling(self, odds: Floats, words: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return an output for each word, int [n, n_words]."""
        spelled = self._spellings[words]
        padded = np.pad(odds, ((0, 0), (0, 1)), constant_values=-1)
        at = padded[np.arange(len(words))[:, None, None], spelled].argmax(axis=2)
        return np.take_along_axis(spelled, at[:, :, None], axis=2)[:, :, 0]

    def _similarity(self, words: NDArray[np.intp]) -> Floats:
        """Return the cosine of candidates and inputs, at least 0; words likeliest last."""
        n, n_candidates = len(self._shares), self._n_candidates
        rows = self._vectors[words]
        ours = np.ascontiguousarray(rows[:, ::-1][:, :n_candidates])
        near = np.concatenate(
            [
                self._to_tail[words[:, ::-1][:, :n_candidates]],
                np.matmul(ours, rows.transpose(0, 2, 1)),
            ],
            axis=2,
        )
        np.maximum(near, 0, out=near)
        every = np.arange(n_candidates)  # a word serves itself perfectly, or, demoted, never
        near[:, every, n + words.shape[1] - 1 - every] = 0 if self._demotes else 1
        return near


def _spellings(outputs: list[str]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return which outputs spell which distinct words.

    Returns:
        int [n_words, most], outputs of each word, filled up with the number of outputs; int
        [n_outputs], the word that each output spells.
    """
    _, fold = np.unique([word.lower() for word in outputs], return_inverse=True)
    counts = np.bincount(fold)
    order = np.argsort(fold, kind="stable")
    begins = np.cumsum(counts) - counts
    places = begins[:, None] + np.arange(counts.max())
    there = np.arange(counts.max()) < counts[:, None]
    spelled = np.where(there, order[np.minimum(places, len(order) - 1)], len(order))
    return spelled, fold


def tail(table: WordTable, n: int) -> tuple[Floats, Floats]:
    """Return centroids of the word table and their shares: spherical k-means on a fixed sample.

    Returns:
        float32 [n, n_dimensions], rows of length 1; float32 [n], adding up to 1.
    """
    n = min(n, len(table.words))
    chosen = np.linspace(0, len(table.words) - 1, min(_SAMPLE, len(table.words))).astype(np.int64)
    sample = table.unit(chosen)
    centres = sample[np.linspace(0, len(sample) - 1, n).astype(np.int64)]
    for _ in range(_ROUNDS):
        nearest = (sample @ centres.T).argmax(axis=1)
        sums = np.zeros_like(centres)
        np.add.at(sums, nearest, sample)
        length = np.linalg.norm(sums, axis=1, keepdims=True)
        centres = np.where(length > 1e-9, sums / np.maximum(length, 1e-9), centres)
    counts = np.bincount((sample @ centres.T).argmax(axis=1), minlength=n)
    return centres.astype(np.float32), (counts / counts.sum()).astype(np.float32)
