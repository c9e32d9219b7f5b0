"""Word vectors: lookup and distances."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sanitizer.errors import ModelError
from sanitizer.lm.masked import OnnxMaskedLM
from sanitizer.lm.word_vectors import PieceTable, WordTable


def nearest(model: OnnxMaskedLM, word: str, n: int) -> list[str]:
    distance = model.words.distance(model.words.row(word), np.arange(len(model.outputs)))
    return [model.outputs[i] for i in np.argsort(distance)[:n]]


def test_neighbours_mean_something(model: OnnxMaskedLM) -> None:
    assert {"infection", "disease", "liver", "virus"} & set(nearest(model, "hepatitis", 10))
    assert {"Manchester", "Liverpool", "Birmingham"} & set(nearest(model, "Leeds", 10))
    assert {"attorney", "lawyers"} & set(nearest(model, "lawyer", 10))


def test_a_word_is_nearest_to_itself(model: OnnxMaskedLM) -> None:
    distance = model.words.distance(model.words.row("hospital"), np.arange(len(model.outputs)))
    assert model.outputs[int(distance.argmin())] == "hospital"
    assert distance.min() == pytest.approx(0.0, abs=1e-5)
    assert distance.dtype == np.float32
    assert 0.0 <= distance.min() <= distance.max() <= 2.0


@pytest.mark.parametrize("word", ["Leeds", "LEEDS", "leeds"])
def test_lookup_ignores_case(model: OnnxMaskedLM, word: str) -> None:
    assert model.words.row(word) == model.words.row("leeds") >= 0


def test_lookup_ignores_accents_if_the_word_is_unknown_with_them(model: OnnxMaskedLM) -> None:
    assert model.words.row("résumé") == model.words.row("resume") >= 0


@pytest.mark.parametrize(
    "word", ["", "xqzzyvv", "北京", "a" * 25, "é" * 13, "y" * 100_000, "\ud800", "zzzzzzzzzzzz"]
)
def test_unknown_words_have_no_row(model: OnnxMaskedLM, word: str) -> None:
    assert model.words.row(word) == -1


def test_tables_that_do_not_fit_together(model_copy: Path) -> None:
    (model_copy / "vectors.npy").unlink()
    np.save(model_copy / "vectors.npy", np.ones((3, 200), dtype=np.int8))
    with pytest.raises(ModelError, match="fit together"):
        WordTable.load(model_copy)


def test_distances_in_the_token_table_match_a_plain_computation() -> None:
    rng = np.random.default_rng(3)
    rows, scale = (
        rng.integers(-127, 128, (50, 8)).astype(np.int8),
        rng.uniform(0.01, 0.1, 50).astype(np.float32),
    )
    table, plain = PieceTable(rows, scale), rows.astype(np.float32) * scale[:, None]
    asked = rng.normal(size=(3, 8)).astype(np.float32)
    d = np.linalg.norm(asked[:, None] - plain[None], axis=2)
    expected = (d - d.min(axis=1, keepdims=True)) / np.ptp(d, axis=1, keepdims=True)
    assert table.distances(asked) == pytest.approx(expected, abs=1e-3)
    assert table.times(asked) == pytest.approx(asked @ plain.T, abs=1e-4)
    cosine = (
        plain[[2, 5]]
        @ asked[0]
        / (np.linalg.norm(plain[[2, 5]], axis=1) * np.linalg.norm(asked[0]))
    )
    assert table.cosine_distance(asked[0], np.array([2, 5])) == pytest.approx(1 - cosine, abs=1e-5)


@pytest.mark.parametrize("n_words", range(1, 9))
def test_distances_of_a_word_do_not_depend_on_the_words_beside_it(
    model: OnnxMaskedLM, n_words: int
) -> None:
    means = np.stack([model.pieces.mean([1000 + i]) for i in range(8)])
    assert np.array_equal(
        model.pieces.distances(means[:n_words]), model.pieces.distances(means)[:n_words]
    )


def test_nor_on_its_place_among_them(model: OnnxMaskedLM) -> None:
    means = np.stack([model.pieces.mean([1000 + i]) for i in range(6)])
    turned = model.pieces.distances(means[::-1])[::-1]
    assert np.array_equal(model.pieces.distances(means), turned)
