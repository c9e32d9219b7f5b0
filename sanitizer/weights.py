"""The causal model's weights file, made from its GGUF: the same numbers, laid out as onnxruntime reads them.

Four-bit blocks stay as they are: MatMulNBits computes d (q - 8), and a small product adds what is left, m + 8 d for
each block, times the block's sum of inputs. So no weight is rounded. The file is a function of the GGUF's bytes
alone; the model's manifest holds its SHA-256.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sanitizer.errors import ModelError
from sanitizer.gguf import BLOCK, Gguf, Tensor, eight_bits, floats, four_bits

PAGE = 4096
"""Tensors begin at multiples of it, so that they can be mapped."""
MIDDLE = 8
"""What MatMulNBits subtracts from a 4-bit level when it is given no zero points."""


@dataclass(frozen=True)
class Shape:
    """Sizes of a Llama-like model.

    Attributes:
        n_layers, width, n_heads, n_kv_heads, n_inner (width of the feed-forward part), n_vocabulary, n_positions.
        theta: base of the rotary embedding. eps: of the norms.
    """

    n_layers: int
    width: int
    n_heads: int
    n_kv_heads: int
    n_inner: int
    n_vocabulary: int
    n_positions: int
    theta: float
    eps: float

    @property
    def head(self) -> int:
        """Width of one attention head."""
        return self.width // self.n_heads

    @property
    def n_qkv(self) -> int:
        """Width of queries, keys and values side by side."""
        return (self.n_heads + 2 * self.n_kv_heads) * self.head

    @classmethod
    def of(cls, gguf: Gguf) -> Shape:
        """The sizes a GGUF file states.

        Raises:
            ModelError: if one is missing.
        """
        data = {key.removeprefix("llama."): value for key, value in gguf.metadata.items()}
        try:
            return cls(
                n_layers=int(data["block_count"]),
                width=int(data["embedding_length"]),
                n_heads=int(data["attention.head_count"]),
                n_kv_heads=int(data["attention.head_count_kv"]),
                n_inner=int(data["feed_forward_length"]),
                n_vocabulary=int(data["vocab_size"]),
                n_positions=int(data["context_length"]),
                theta=float(data["rope.freq_base"]),
                eps=float(data["attention.layer_norm_rms_epsilon"]),
            )
        except KeyError as error:
            raise ModelError(f"the GGUF file states no {error.args[0]}") from None


@dataclass(frozen=True)
class Place:
    """One tensor of the weights file: element type as numpy writes it, shape, and first byte."""

    dtype: str
    shape: tuple[int, ...]
    offset: int

    @property
    def n_bytes(self) -> int:
        """Size."""
        return int(np.prod(self.shape)) * np.dtype(self.dtype).itemsize


def layout(shape: Shape) -> dict[str, Place]:
    """Every tensor's place, by its name in the graph, in the order of the file."""
    places: dict[str, Place] = {}
    end = 0
    for name, dtype, size in _tensors(shape):
        places[name] = Place(dtype, size, end)
        end = -(-(end + places[name].n_bytes) // PAGE) * PAGE
    return places


def _tensors(shape: Shape) -> Iterator[tuple[str, str, tuple[int, ...]]]:
    yield "table.q", "|u1", (shape.n_vocabulary, shape.width // BLOCK, BLOCK)
    yield "table.scale", "<f4", (shape.n_vocabulary, shape.width // BLOCK)
    for i in range(shape.n_layers):
        for norm in ("norm1", "norm2"):
            yield f"{i}.{norm}", "<f4", (shape.width,)
        for part, (rows, columns) in linears(shape).items():
            yield f"{i}.{part}.q", "|u1", (rows, columns // BLOCK, BLOCK // 2)
            yield f"{i}.{part}.scale", "<f4", (rows, columns // BLOCK)
            yield f"{i}.{part}.rest", "<f4", (columns // BLOCK, rows)
    yield "norm", "<f4", (shape.width,)


def linears(shape: Shape) -> dict[str, tuple[int, int]]:
    """(outputs, inputs) of a layer's matrices; those that read the same input stand side by side."""
    return {
        "qkv": (shape.n_qkv, shape.width),
        "out": (shape.width, shape.width),
        "gate_up": (2 * shape.n_inner, shape.width),
        "down": (shape.width, shape.n_inner),
    }


_SOURCES = {
    "qkv": ("attn_q", "attn_k", "attn_v"),
    "out": ("attn_output",),
    "gate_up": ("ffn_gate", "ffn_up"),
    "down": ("ffn_down",),
    "norm1": ("attn_norm",),
    "norm2": ("ffn_norm",),
}


class Table:
    """The input table of a weights file, which also scores outputs; mapped, so that it takes no memory of its own."""

    def __init__(self, path: Path, shape: Shape) -> None:
        places = layout(shape)
        self._width = shape.width
        self._levels, self._scale = (
            np.memmap(path, place.dtype, "r", place.offset, place.shape)
            for place in (places["table.q"], places["table.scale"])
        )

    def rows(self, tokens: slice | NDArray[np.int64]) -> NDArray[np.float32]:
        """Rows of some tokens, a new float32 [n, width]."""
        levels, scale = np.asarray(self._levels[tokens]), np.asarray(self._scale[tokens])
        found: NDArray[np.float32] = (levels.astype(np.float32) - 128) * scale[:, :, None]
        return found.reshape(-1, self._width)


def convert(source: Path, target: Path, advance: Callable[[int], None] = lambda _: None) -> None:
    """Write the weights file.

    Args:
        source: the GGUF. target: written from the beginning. advance: called with the number of layers just done.

    Raises:
        ModelError: if the GGUF is not such a model. OSError: if `target` cannot be written.
    """
    gguf = Gguf(source)
    shape = Shape.of(gguf)
    places = layout(shape)
    with target.open("wb") as file:
        for names, arrays in _converted(gguf, shape):
            for name, array in zip(names, arrays, strict=True):
                place = places[name]
                if array.shape != place.shape:
                    raise ModelError(f"the GGUF file has {name} in another shape")
                file.seek(place.offset)
                file.write(array.astype(place.dtype, copy=False).tobytes())
            advance(names[-1].endswith("down.rest"))


def _converted(gguf: Gguf, shape: Shape) -> Iterator[tuple[list[str], list[NDArray[Any]]]]:
    """Names and arrays, in the order of the file."""
    yield ["table.q", "table.scale"], _table(_tensor(gguf, "token_embd"))
    for i in range(shape.n_layers):
        for part, names in _SOURCES.items():
            tensors = [_tensor(gguf, f"blk.{i}.{name}") for name in names]
            if part.startswith("norm"):
                yield [f"{i}.{part}"], [floats(tensors[0])]
                continue
            heads = (shape.n_heads, shape.n_kv_heads, 0) if part == "qkv" else (0,) * len(tensors)
            yield [f"{i}.{part}.{x}" for x in ("q", "scale", "rest")], _linear(tensors, heads)
    yield ["norm"], [floats(_tensor(gguf, "output_norm"))]


def _tensor(gguf: Gguf, name: str) -> Tensor:
    try:
        return gguf.tensors[f"{name}.weight"]
    except KeyError:
        raise ModelError(f"the GGUF file has no tensor {name}") from None


def _table(tensor: Tensor) -> list[NDArray[Any]]:
    """Q8_0 with unsigned levels: weight = d (q - 128)."""
    quants, scale = eight_bits(tensor)
    return [quants.view(np.uint8) ^ 128, scale]


def _linear(tensors: list[Tensor], heads: tuple[int, ...]) -> list[NDArray[Any]]:
    """Matrices side by side; `heads`: of each matrix, where its rows are interleaved for rotation, else 0."""
    parts = [[_halves_apart(a, n) for a in four_bits(t)] for t, n in zip(tensors, heads, strict=True)]
    levels, scale, low = (np.concatenate(same) for same in zip(*parts, strict=True))
    pairs = levels[:, :, 0::2] | levels[:, :, 1::2] << 4
    return [pairs, scale, (low + MIDDLE * scale).T]


def _halves_apart(rows: NDArray[Any], n_heads: int) -> NDArray[Any]:
    """GGUF stores a head's rotated pairs next to each other; the graph rotates a first half against a second."""
    if not n_heads:
        return rows
    return rows.reshape(n_heads, -1, 2, *rows.shape[1:]).swapaxes(1, 2).reshape(rows.shape)
