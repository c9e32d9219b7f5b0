"""DynText's public tables: nearest members of the output set, and how dense the surroundings are.

    python -m models.build.density

Reads the packaged vectors in `models/masked-lm/` and writes there, for "words" (each word with a
vector, lists and densities over the output words Y) and "tokens" (each token, lists and densities
over the whole vocabulary):

- `dyntext_<kind>_members.npy`, uint16 [n, 20]: nearest first, equal distances in the order of the
output set;
- `dyntext_<kind>_density.npy`, uint16 [n]: members within the radius;
- `dyntext.json`: list length, radius, and range of the density.

Distance: Euclidean between vectors of length one, for both kinds, as in the paper, whose embeddings
have length
one. Distances are not stored: the vectors lie beside the tables and give 20 of them in
microseconds.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

FOLDER = Path(__file__).resolve().parents[1] / "masked-lm"
LENGTH = 20
"""The paper's K."""
CHUNK = 512
KINDS = ("words", "tokens")
FILES = [
    "dyntext.json",
    *(f"dyntext_{kind}_{part}.npy" for kind in KINDS for part in ("density", "members")),
]

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Tables:
    """members: int64 [n, k]; density: int64 [n]; radius: the paper's gamma; sensitivity: int64 [n],
    its LS.
    """

    members: Ints
    density: Ints
    radius: float
    sensitivity: Ints

    def facts(self) -> dict[str, float | int]:
        """Return the description for dyntext.json."""
        return {
            "radius": self.radius,
            "lowest": int(self.density.min()),
            "highest": int(self.density.max()),
            "sensitivity": int(self.sensitivity.max()),
        }


def unit(rows: NDArray[np.int8]) -> Floats:
    """Scale rows to length one, float32 [n, width]."""
    vectors = rows.astype(np.float32)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not lengths.all():
        raise ValueError("a vector has length zero")
    vectors /= lengths
    return vectors


def distances(queries: Floats, targets: Floats) -> Iterator[tuple[slice, Floats]]:
    """Yield Euclidean distances between unit vectors, one chunk of queries at a time: float32
    [CHUNK, n_targets].
    """
    for begin in range(0, len(queries), CHUNK):
        part = slice(begin, min(begin + CHUNK, len(queries)))
        squares = queries[part] @ targets.T
        np.multiply(squares, -2.0, out=squares)
        np.add(squares, 2.0, out=squares)
        yield part, np.sqrt(np.maximum(squares, 0.0, out=squares), out=squares)


def nearest(d: Floats, k: int) -> Ints:
    """Return the positions of the k nearest targets, ties by position: int64 [n, k]."""
    found = np.sort(np.argpartition(d, k - 1, axis=1)[:, :k], axis=1)
    order = np.argsort(np.take_along_axis(d, found, axis=1), axis=1, kind="stable")
    return np.take_along_axis(found, order, axis=1)


def mean_reach(targets: Floats, k: int) -> float:
    """Return gamma: mean distance of a target to its k-th nearest, itself counted (equation 2)."""
    total = sum(
        float(np.partition(d, k - 1, axis=1)[:, k - 1].sum(dtype=np.float64))
        for _, d in distances(targets, targets)
    )
    return total / len(targets)


def measure(queries: Floats, targets: Floats, rows: Ints, k: int = LENGTH) -> Tables:
    """Lists and densities of all queries over the targets.

    Args:
        queries: float32 [n, width], of length one. targets: float32 [n_targets, width], of length
            one.
        rows: int64 [n_targets], the query that each target is. k: length of the lists.
    """
    radius = mean_reach(targets, k)
    members, density = np.empty((len(queries), k), np.int64), np.empty(len(queries), np.int64)
    for part, d in distances(queries, targets):
        members[part] = nearest(d, k)
        density[part] = (d <= radius).sum(axis=1)  # equation 3
    sensitivity = np.abs(density[:, None] - density[rows][members]).max(axis=1)
    return Tables(members, density, radius, sensitivity)


def words(folder: Path) -> Tables:
    """Measure (a): every word with a vector, over the output words Y."""
    vectors = unit(np.load(folder / "vectors.npy"))
    rows = np.load(folder / "output_rows.npy").astype(np.int64)
    if rows.min() < 0:
        raise ValueError("every output word needs a vector")
    return measure(vectors, vectors[rows], rows)


def tokens(folder: Path) -> Tables:
    """Measure (b): every token of the model's table over the same table; each list holds the token
    itself.
    """
    # The scale of a row does not change its direction, so the int8 rows are enough.
    vectors = unit(np.load(folder / "embeddings.npy"))
    return measure(vectors, vectors, np.arange(len(vectors)))


def write(folder: Path, made: dict[str, Tables]) -> dict[str, int]:
    """Write FILES; return their sizes in bytes."""
    for kind, tables in made.items():
        for part, values in (("members", tables.members), ("density", tables.density)):
            if values.max() > np.iinfo(np.uint16).max:
                raise ValueError(f"{kind} {part} does not fit 16 bits, got {values.max()}")
            np.save(folder / f"dyntext_{kind}_{part}.npy", values.astype(np.uint16))
    text = json.dumps(
        {"length": LENGTH, **{kind: tables.facts() for kind, tables in made.items()}}, indent=1
    )
    (folder / "dyntext.json").write_text(text + "\n", encoding="utf-8")
    return {name: (folder / name).stat().st_size for name in FILES}


def main() -> None:
    """Run the command line; see the module's docstring."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the vectors are")
    parser.add_argument("--output", type=Path, help="where the tables go; default the same folder")
    options = parser.parse_args()
    made = {"words": words(options.folder), "tokens": tokens(options.folder)}
    print(json.dumps(write(options.output or options.folder, made)))


if __name__ == "__main__":
    main()
