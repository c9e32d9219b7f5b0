"""DynText's public tables at run time: the near outputs of a word, and how dense its surroundings
are.

The tables are made by models/build/density.py. Distances are Euclidean between vectors of length
one; they are computed here from the vectors, so that only lists and densities are stored.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sanitizer.errors import ModelError
from sanitizer.lm import PieceTable, WordTable, mapped
from sanitizer.privacy import LONGEST_LIST, DensityRange, Neighborhood

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class NearestLists:
    """Lists and densities of all inputs over one output set.

    Attributes:
        members: uint16 [n_inputs, 20], outputs, nearest first. density: uint16 [n_inputs].
        radius: the distance within which outputs count towards the density.
        range: of the density over all inputs.
        output_density, output_sensitivity: int32 [n_outputs], density and LS of the outputs
            themselves.
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
            folder: holds dyntext.json and the tables.
            kind: "words" or "tokens".
            rows: int [n_outputs], the input that each output is.

        Raises:
            ModelError: if a file is missing, damaged or does not fit.
        """
        members = np.array(
            mapped(folder / f"dyntext_{kind}_members.npy")
        )  # a copy: the bound depends on it
        density = mapped(folder / f"dyntext_{kind}_density.npy")
        fits = (
            members.shape == (len(density), LONGEST_LIST)
            and members.dtype == density.dtype == np.uint16
        )
        if not fits or members.max() >= len(rows) or rows.min() < 0 or rows.max() >= len(density):
            raise ModelError(f"the DynText tables of {kind} do not fit together")
        ordered = np.sort(members, axis=1)
        if bool((ordered[:, 1:] == ordered[:, :-1]).any()):
            raise ModelError(
                f"the DynText lists of {kind} repeat an output"
            )  # the bound needs distinct members
        of_outputs = density[rows].astype(np.int32)
        sensitivity = np.abs(of_outputs[:, None] - of_outputs[members[rows]]).max(axis=1)
        radius, ends = _facts(folder, kind)
        return cls(members, density, radius, ends, of_outputs, sensitivity)  # type: ignore[arg-type]

    def neighborhood(
        self, members: NDArray[np.intp], distances: Floats, density: int, offsets: Floats | None
    ) -> Neighborhood:
        """Put together what is known of one word."""
        own = int(np.abs(self.output_density[members] - density).max())
        near = members.astype(np.int32)
        return Neighborhood(
            near, distances, density, own, self.output_sensitivity[members], offsets
        )


class WordNeighborhoods:
    """Neighbors among the output words Y, for every word with a vector (certified variant).

    Args:
        table: the word vectors. lists: over Y, one row for each row of the table.
    """

    def __init__(self, table: WordTable, lists: NearestLists) -> None:
        if len(lists.density) != len(table.words):
            raise ModelError("the DynText tables do not fit the word vectors")
        self._table, self._lists = table, lists

    @classmethod
    def load(cls, folder: Path, table: WordTable) -> WordNeighborhoods:
        """Map the tables of a model folder. Raises ModelError."""
        rows = mapped(folder / "output_rows.npy")
        return cls(table, NearestLists.load(folder, "words", rows))  # type: ignore[arg-type]

    @property
    def range(self) -> DensityRange:
        """Of the density over all words with a vector."""
        return self._lists.range

    def of(self, row: int, with_offsets: bool = False) -> Neighborhood | None:
        """The neighborhood of a row of the word table; None for -1, a word without a vector.

        Args:
            row: as `WordTable.row` gives it.
            with_offsets: add the members' vectors, for DynText's replacement "noise".
        """
        if row < 0:
            return None
        members = self._lists.members[row].astype(np.intp)
        distances = _euclidean(self._table.distance(row, members))
        offsets = self._offsets(row, members) if with_offsets else None
        return self._lists.neighborhood(members, distances, int(self._lists.density[row]), offsets)

    def _offsets(self, row: int, members: NDArray[np.intp]) -> Floats:
        table = self._table
        word = table.vectors[row].astype(np.float32) / table.norms[row]
        outputs: Floats = (
            table.output_vectors[members].astype(np.float32) / table.output_norms[members, None]
        )
        offsets: Floats = outputs - word
        return offsets


class TokenNeighborhoods:
    """Neighbors among the masked LM's tokens, itself counted (published variant).

    A word of one piece has its row of the tables. A word of several is the mean of its pieces'
    vectors, which has
    no row: the whole vocabulary is measured in about three milliseconds, exactly as the tables were
    made.

    Args:
        table: the model's input table. rows: int8 [n_tokens, width], its rows without their scale.
        lists: over all tokens, one row for each token.
    """

    CHUNK = 512  # rows whose float32 form stays in the processor's cache

    def __init__(self, table: PieceTable, rows: NDArray[np.int8], lists: NearestLists) -> None:
        if not len(lists.density) == len(rows) == table.n_rows:
            raise ModelError("the DynText tables do not fit the token table")
        self._table, self._rows, self._lists = table, rows, lists

    @classmethod
    def load(cls, folder: Path, table: PieceTable) -> TokenNeighborhoods:
        """Map the tables of a model folder. Raises ModelError."""
        each = np.arange(table.n_rows, dtype=np.int32)
        lists = NearestLists.load(folder, "tokens", each)
        return cls(table, mapped(folder / "embeddings.npy"), lists)  # type: ignore[arg-type]

    @property
    def range(self) -> DensityRange:
        """Of the density over all tokens."""
        return self._lists.range

    def of(self, pieces: list[int], with_offsets: bool = False) -> Neighborhood:
        """The neighborhood of a word given by its token ids, one or more.

        Args:
            pieces: token ids; [UNK] for what the tokenizer does not know.
            with_offsets: add the members' vectors, for DynText's replacement "noise".
        """
        vector = _unit(self._table.mean(pieces)[None])[0]
        if len(pieces) == 1:
            members, density = (
                self._lists.members[pieces[0]].astype(np.intp),
                int(self._lists.density[pieces[0]]),
            )
        else:
            members, density = self._measured(vector)
        rows = _unit(self._rows[members].astype(np.float32))
        offsets = rows - vector if with_offsets else None
        return self._lists.neighborhood(
            members, _euclidean(np.float32(1) - rows @ vector), density, offsets
        )

    def _measured(self, vector: Floats) -> tuple[NDArray[np.intp], int]:
        """(the nearest tokens, the number within the radius), over the whole vocabulary."""
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
    """Distances of vectors of length one, from 1 - cosine: float32 [n] in [0, 2]."""
    return np.sqrt(np.maximum(2 * one_less_cosine, 0)).astype(np.float32)
