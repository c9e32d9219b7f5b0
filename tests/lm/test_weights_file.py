"""GGUF files are read as they are written, and refused when they are not whole; weights keep every
number.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from sanitizer.errors import ModelError
from sanitizer.lm.files import file_sha256
from sanitizer.lm.weights_file import (
    MIDDLE,
    PAGE,
    Gguf,
    ModelShape,
    convert,
    eight_bits,
    floats,
    four_bits,
    layout,
)
from tests.lm import toy_lm


@pytest.fixture
def path(tmp_path: Path) -> Path:
    toy_lm.write_gguf(tmp_path / "toy.gguf")
    return tmp_path / "toy.gguf"


def test_metadata_and_shapes_come_back(path: Path) -> None:
    gguf = Gguf(path)
    assert gguf.metadata["toy.words"] == [b"one", b"two"]
    assert asdict(ModelShape.of(gguf)) == pytest.approx(asdict(toy_lm.SHAPE), rel=1e-6)
    assert gguf.tensors["blk.1.ffn_down.weight"].shape == (64, 96)


def test_blocks_are_what_the_format_says(path: Path) -> None:
    """Weight by weight, from the bytes."""
    tensor = Gguf(path).tensors["blk.0.attn_k.weight"]
    raw = tensor.raw.tobytes()[20:40]  # the second block of the first row
    d, m = np.frombuffer(raw[:4], "<f2").astype(np.float32)
    expected = [d * (byte & 15) + m for byte in raw[4:]] + [d * (byte >> 4) + m for byte in raw[4:]]
    np.testing.assert_array_equal(floats(tensor)[0, 32:], np.array(expected, np.float32))
    table = Gguf(path).tensors["token_embd.weight"]
    raw = table.raw.tobytes()[:34]
    values = np.frombuffer(raw[2:], np.int8) * np.frombuffer(raw[:2], "<f2").astype(np.float32)
    np.testing.assert_array_equal(floats(table)[0, :32], values)


def test_weights_keep_every_number(path: Path, tmp_path: Path) -> None:
    convert(path, tmp_path / "weights.bin")
    gguf, raw, places = Gguf(path), (tmp_path / "weights.bin").read_bytes(), layout(toy_lm.SHAPE)
    read = {
        name: np.frombuffer(raw, p.dtype, int(np.prod(p.shape)), p.offset).reshape(p.shape)
        for name, p in places.items()
    }
    quants, scale, rest = (read[f"1.down.{part}"] for part in ("q", "scale", "rest"))
    levels = np.stack([quants & 15, quants >> 4], axis=-1).reshape(64, 3, 32)
    expected, d, m = four_bits(gguf.tensors["blk.1.ffn_down.weight"])
    np.testing.assert_array_equal(levels, expected)
    np.testing.assert_array_equal(scale, d)
    np.testing.assert_array_equal(rest.T, m + MIDDLE * d)
    table, d = eight_bits(gguf.tensors["token_embd.weight"])
    np.testing.assert_array_equal(read["table.q"].astype(np.int16) - 128, table)
    np.testing.assert_array_equal(read["table.scale"], d)
    assert all(place.offset % PAGE == 0 for place in places.values())


def test_the_same_file_gives_the_same_weights(path: Path, tmp_path: Path) -> None:
    done: list[int] = []
    convert(path, tmp_path / "a", done.append)
    convert(path, tmp_path / "b")
    assert file_sha256(tmp_path / "a") == file_sha256(tmp_path / "b")
    assert sum(done) == toy_lm.SHAPE.n_layers


@pytest.mark.parametrize("size", [0, 3, 20, 100, 700, 5000, -1])
def test_a_file_cut_short_is_refused(path: Path, size: int) -> None:
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(ModelError, match="not a usable GGUF"):
        Gguf(path)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b"GGUF\x03", b"GGUF\x09", "not a usable GGUF"),
        (b"GGUF\x03", b"GGML\x03", "not a usable GGUF"),
        (b"llama.vocab_size", b"llama.other_size", "states no vocab_size"),
        (b"blk.1.ffn_up.weight", b"blk.1.ffn_xx.weight", "no tensor blk.1.ffn_up"),
    ],
)
def test_another_model_is_refused(
    path: Path, tmp_path: Path, old: bytes, new: bytes, message: str
) -> None:
    path.write_bytes(path.read_bytes().replace(old, new))
    with pytest.raises(ModelError, match=message):
        convert(path, tmp_path / "weights.bin")
