"""DynText's tables: what is packaged is what the formulas say, and damaged tables are refused."""

from __future__ import annotations

import json
from math import sqrt
from pathlib import Path

import numpy as np
import pytest

from models.build.density import FILES, measure, unit
from sanitizer.errors import ModelError
from sanitizer.lm.files import model_folder
from sanitizer.lm.word_vectors import PieceTable, WordTable, mapped
from sanitizer.pipeline.outputs import NearestLists, TokenNeighborhoods, WordNeighborhoods

FOLDER = model_folder("masked-lm")
EXAMPLES = ["hepatitis", "Leeds", "lawyer", "morphine", "the", "Peter", "bankrupt"]


@pytest.fixture(scope="module")
def table() -> WordTable:
    """The packaged word vectors."""
    return WordTable.load(FOLDER)


@pytest.fixture(scope="module")
def words(table: WordTable) -> WordNeighborhoods:
    """Lists over Y."""
    return WordNeighborhoods.load(FOLDER, table)


@pytest.fixture(scope="module")
def tokens() -> TokenNeighborhoods:
    """Lists over the token vocabulary."""
    return TokenNeighborhoods.load(FOLDER, PieceTable.load(FOLDER))


def outputs() -> list[str]:
    return [word for word, _ in json.loads((FOLDER / "outputs.json").read_text("utf-8"))]


def test_the_build_agrees_with_the_definitions() -> None:
    rng = np.random.default_rng(2)
    vectors = unit(rng.integers(-127, 128, (40, 5)).astype(np.int8))
    rows, k = np.arange(0, 40, 2), 6
    made = measure(vectors, vectors[rows], rows, k)

    def d(t: int, y: int) -> float:
        return sqrt(
            sum(
                (float(a) - float(b)) ** 2
                for a, b in zip(vectors[t], vectors[rows[y]], strict=True)
            )
        )

    each = range(len(rows))
    lists = [sorted(each, key=lambda y: d(t, y))[:k] for t in range(40)]
    radius = sum(sorted(d(int(r), y) for y in each)[k - 1] for r in rows) / len(rows)
    f = [sum(d(t, y) <= radius for y in each) for t in range(40)]
    assert made.radius == pytest.approx(radius, rel=1e-6)
    assert made.members.tolist() == lists
    assert made.density.tolist() == f
    assert made.sensitivity.tolist() == [
        max(abs(f[t] - f[rows[y]]) for y in lists[t]) for t in range(40)
    ]


@pytest.mark.parametrize("kind", ["words", "tokens"])
def test_lists_hold_each_output_once(kind: str) -> None:
    members = np.sort(np.asarray(mapped(FOLDER / f"dyntext_{kind}_members.npy")), axis=1)
    assert (np.diff(members.astype(np.int64), axis=1) > 0).all()


@pytest.mark.parametrize("word", EXAMPLES)
def test_lists_of_words_are_the_nearest_outputs(
    words: WordNeighborhoods, table: WordTable, word: str
) -> None:
    row = table.row(word)
    found = words.of(row)
    assert found is not None
    distances = np.sqrt(
        np.maximum(2 * table.distance(row, np.arange(len(table.output_vectors))), 0)
    )
    assert found.distances == pytest.approx(np.sort(distances)[:20], abs=1e-3)
    assert distances[found.members] == pytest.approx(found.distances, abs=1e-3)
    assert not np.signbit(np.diff(found.distances) + 1e-3).any()


def test_near_words_are_near_in_meaning(words: WordNeighborhoods, table: WordTable) -> None:
    written = outputs()

    def near(word: str) -> set[str]:
        found = words.of(table.row(word))
        assert found is not None
        return {written[i] for i in found.members}

    assert {"disease", "virus"} <= near("hepatitis")
    assert {"Manchester", "Yorkshire"} <= near("Leeds")
    assert {"lawyer", "attorney"} <= near("lawyer")


def test_a_word_of_y_heads_its_own_list(words: WordNeighborhoods, table: WordTable) -> None:
    written = outputs()
    for index in range(0, len(written), 500):
        found = words.of(table.row(written[index]))
        assert found is not None
        assert written[found.members[0]].lower() == written[index].lower()
        assert found.distances[0] == pytest.approx(0, abs=1e-3)


def test_a_word_without_a_vector_has_no_neighborhood(
    words: WordNeighborhoods, table: WordTable
) -> None:
    assert words.of(table.row("qqxzzy")) is None


@pytest.mark.parametrize("pieces", [[1119], [2704], [100], [28995]])
def test_a_token_heads_its_own_list(tokens: TokenNeighborhoods, pieces: list[int]) -> None:
    found = tokens.of(pieces)
    assert found.members[0] == pieces[0]
    assert 1 <= found.density <= tokens.range.highest


def test_every_token_is_in_its_own_list() -> None:
    members = np.asarray(mapped(FOLDER / "dyntext_tokens_members.npy"))
    assert (members == np.arange(len(members))[:, None]).any(axis=1).all()


@pytest.mark.parametrize("piece", [1119, 2704, 5000, 20000])
def test_a_mean_is_measured_as_the_tables_were(tokens: TokenNeighborhoods, piece: int) -> None:
    table, measured = tokens.of([piece]), tokens.of([piece, piece])
    assert measured.members.tolist() == table.members.tolist()
    assert measured.distances == pytest.approx(table.distances, abs=1e-3)
    assert abs(measured.density - table.density) <= 1  # one output may lie on the radius
    assert measured.sensitivity == pytest.approx(table.sensitivity, abs=1)


def test_the_mean_of_several_pieces_lies_near_them(tokens: TokenNeighborhoods) -> None:
    found = tokens.of([1119, 4163, 27659])
    assert len(found.members) == 20
    assert found.distances[0] > 0
    assert list(found.distances) == sorted(found.distances)


def test_densities_and_sensitivities_lie_in_the_public_range(
    words: WordNeighborhoods, tokens: TokenNeighborhoods
) -> None:
    for found, ends in (
        *((words.of(row), words.range) for row in range(0, 100_000, 4999)),
        *((tokens.of([token]), tokens.range) for token in range(0, 28_996, 1499)),
    ):
        assert found is not None
        assert ends.lowest <= found.density <= ends.highest
        assert found.sensitivity <= ends.sensitivity
        assert 0 <= found.sensitivities.min() <= found.sensitivities.max() <= ends.sensitivity


def test_offsets_are_as_long_as_the_distances(
    words: WordNeighborhoods, tokens: TokenNeighborhoods, table: WordTable
) -> None:
    for found in (
        words.of(table.row("hepatitis"), True),
        tokens.of([2704], True),
        tokens.of([1119, 4163], True),
    ):
        assert found is not None
        assert found.offsets is not None
        assert np.linalg.norm(found.offsets, axis=1) == pytest.approx(found.distances, abs=1e-3)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("content", [None, b"", b"not a table"])
def test_damaged_tables_are_refused(model_copy: Path, name: str, content: bytes | None) -> None:
    (model_copy / name).unlink()
    if content is not None:
        (model_copy / name).write_bytes(content)
    with pytest.raises(ModelError):
        load_both(model_copy)


@pytest.mark.parametrize("kind", ["words", "tokens"])
@pytest.mark.parametrize(
    "damage", ["fewer members", "fewer densities", "shorter lists", "unknown outputs", "wrong type"]
)
def test_tables_that_do_not_fit_are_refused(model_copy: Path, kind: str, damage: str) -> None:
    names = [f"dyntext_{kind}_{part}.npy" for part in ("members", "density")]
    members, density = (np.array(np.load(model_copy / name)) for name in names)
    changed = {
        "fewer members": (members[:-1], density),
        "fewer densities": (members[:-1], density[:-1]),
        "shorter lists": (members[:, :10], density),
        "unknown outputs": (np.where(members == 7, 65535, members).astype(np.uint16), density),
        "wrong type": (members.astype(np.float32), density),
    }[damage]
    for name, values in zip(names, changed, strict=True):
        (model_copy / name).unlink()
        np.save(model_copy / name, values)
    with pytest.raises(ModelError, match="DynText tables"):
        load_both(model_copy)


def test_an_output_without_a_row_is_refused() -> None:
    with pytest.raises(ModelError, match="do not fit"):
        NearestLists.load(FOLDER, "words", np.full(12_481, -1, dtype=np.int32))


def load_both(folder: Path) -> None:
    WordNeighborhoods.load(folder, WordTable.load(FOLDER))
    TokenNeighborhoods.load(folder, PieceTable.load(FOLDER))
