"""Weights of the causal model: read from a GGUF file, written as onnxruntime reads them.

`Gguf` gives metadata, and tensors as numpy views of the mapped file; nothing is executed or
unpacked. The reader is written by hand: two types of elements and a few values of metadata are all
that is needed. `convert` writes the same numbers in another layout; `WeightTable` reads one table
of the file written.

Four-bit blocks stay as they are: MatMulNBits computes d (q - 8), and a small product adds what is
left, m + 8 d for each block, times the block's sum of inputs. So no weight is rounded. The file is
a function of the GGUF's bytes alone; the model's manifest holds its SHA-256.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sanitizer.errors import ModelError

BLOCK = 32
"""Weights per block of a quantized tensor, which share scale and offset."""
FLOAT32, Q4_1, Q8_0 = 0, 3, 8  # GGUF's numbers for the types of elements
BYTES = {FLOAT32: 4 * BLOCK, Q4_1: 20, Q8_0: 34}
"""Bytes per BLOCK weights, by type of element."""
PAGE = 4096
"""Tensors of the weights file begin at multiples of it, so that they can be mapped."""
MIDDLE = 8
"""Number that MatMulNBits subtracts from a 4-bit level when it is given no zero points."""
# GGUF's numbers for the types of metadata values -> formats of `struct`
_FORMATS = dict(zip((*range(8), 10, 11, 12), "BbHhIif?Qqd", strict=True))
_TEXT, _LIST = 8, 9
_MAGIC, _VERSIONS = b"GGUF", (2, 3)


@dataclass(frozen=True, slots=True)
class Tensor:
    """One tensor of a GGUF file.

    Attributes:
        shape: [rows, columns] or [columns].
        kind: GGUF's number for the type of its elements.
        raw: uint8 view of its bytes.
    """

    shape: tuple[int, ...]
    kind: int
    raw: NDArray[np.uint8]


class Gguf:
    """A GGUF file, mapped into memory.

    Attributes:
        metadata: values by key; strings as bytes.
        tensors: tensors by name; reading one touches its pages only.

    Raises:
        ModelError: the file cannot be read, is no GGUF, or ends too early.
    """

    def __init__(self, path: Path) -> None:
        try:
            self._bytes = np.memmap(path, np.uint8, "r")
            self._view = self._bytes.data
            self._at = 0
            self.metadata, self.tensors = self._read()
        except (OSError, ValueError, KeyError, struct.error):
            raise ModelError(f"{path.name} is not a usable GGUF file") from None

    def _read(self) -> tuple[dict[str, Any], dict[str, Tensor]]:
        if (
            bytes(self._view[:4]) != _MAGIC
            or struct.unpack_from("<I", self._view, 4)[0] not in _VERSIONS
        ):
            raise ValueError("not GGUF")
        self._at = 8
        n_tensors, n_values = self._next("<Q"), self._next("<Q")
        metadata = {self._text().decode(): self._value(self._next("<I")) for _ in range(n_values)}
        entries = [self._entry() for _ in range(n_tensors)]
        alignment = int(metadata.get("general.alignment", 32))
        begin = -(-self._at // alignment) * alignment
        return metadata, {
            name: self._tensor(begin + offset, shape, kind) for name, offset, shape, kind in entries
        }

    def _next(self, form: str) -> Any:
        (value,) = struct.unpack_from(form, self._view, self._at)
        self._at += struct.calcsize(form)
        return value

    def _text(self) -> bytes:
        size = self._next("<Q")
        if size > len(self._view) - self._at:
            raise ValueError("text beyond the end")
        self._at += size
        return bytes(self._view[self._at - size : self._at])

    def _value(self, kind: int) -> Any:
        if kind == _TEXT:
            return self._text()
        if kind == _LIST:
            inner, n = self._next("<I"), self._next("<Q")
            return [self._value(inner) for _ in range(n)]
        return self._next(f"<{_FORMATS[kind]}")

    def _entry(self) -> tuple[str, int, tuple[int, ...], int]:
        name = self._text().decode()
        innermost_first = [self._next("<Q") for _ in range(self._next("<I"))]
        shape = tuple(reversed(innermost_first))
        kind, offset = self._next("<I"), self._next("<Q")
        return name, offset, shape, kind

    def _tensor(self, begin: int, shape: tuple[int, ...], kind: int) -> Tensor:
        size = math.prod(shape) * BYTES[kind] // BLOCK
        if begin + size > len(self._bytes):
            raise ValueError("tensor beyond the end")
        return Tensor(shape, kind, self._bytes[begin : begin + size])


def floats(tensor: Tensor) -> NDArray[np.float32]:
    """Return the values of a tensor, float32 of its shape."""
    if tensor.kind == FLOAT32:
        return tensor.raw.view("<f4").reshape(tensor.shape)
    if tensor.kind == Q8_0:
        quants, scale = eight_bits(tensor)
        values = quants.astype(np.float32) * scale[:, :, None]
    else:
        levels, scale, low = four_bits(tensor)
        values = levels.astype(np.float32) * scale[:, :, None] + low[:, :, None]
    return values.reshape(tensor.shape)


def eight_bits(tensor: Tensor) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Return q int8 [rows, n_blocks, BLOCK] and d float32 [rows, n_blocks] of Q8_0: weights d q."""
    blocks = _blocks(tensor, Q8_0)
    return blocks[:, :, 2:].view(np.int8), _half(blocks, 0)


def four_bits(tensor: Tensor) -> tuple[NDArray[np.uint8], NDArray[np.float32], NDArray[np.float32]]:
    """Return q, d and m of a tensor in Q4_1, whose weights are d q + m.

    Returns:
        q uint8 [rows, n_blocks, BLOCK] of 0..15, d and m float32 [rows, n_blocks].
    """
    blocks = _blocks(tensor, Q4_1)
    packed = blocks[:, :, 4:]  # the low halves of the bytes are weights 0-15, the high halves 16-31
    return np.concatenate([packed & 15, packed >> 4], axis=2), _half(blocks, 0), _half(blocks, 2)


def _blocks(tensor: Tensor, kind: int) -> NDArray[np.uint8]:
    if tensor.kind != kind or len(tensor.shape) != 2 or tensor.shape[1] % BLOCK:
        raise ModelError("the GGUF file holds a tensor of an unexpected kind")
    return tensor.raw.reshape(tensor.shape[0], -1, BYTES[kind])


def _half(blocks: NDArray[np.uint8], at: int) -> NDArray[np.float32]:
    return np.ascontiguousarray(blocks[:, :, at : at + 2]).view("<f2")[:, :, 0].astype(np.float32)


@dataclass(frozen=True)
class ModelShape:
    """Sizes of a Llama-like model.

    Attributes:
        n_kv_heads: heads of keys and values, which several attention heads share.
        n_positions: tokens that the model can read at most.
        theta: base of the rotary embedding. eps: number added to variances before they divide.
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
        """Width of queries, keys and values, concatenated."""
        return (self.n_heads + 2 * self.n_kv_heads) * self.head

    @classmethod
    def of(cls, gguf: Gguf) -> ModelShape:
        """Return the sizes that a GGUF file states; raise ModelError if one is missing."""
        data = {key.removeprefix("llama."): value for key, value in gguf.metadata.items()}
        keys = """
            block_count embedding_length attention.head_count attention.head_count_kv
            feed_forward_length vocab_size context_length rope.freq_base
            attention.layer_norm_rms_epsilon
        """
        try:
            return cls(*(data[key] for key in keys.split()))
        except KeyError as error:
            raise ModelError(f"the GGUF file states no {error.args[0]}") from None


@dataclass(frozen=True)
class Place:
    """Position of a tensor in the weights file: type as numpy writes it, shape, and first byte."""

    dtype: str
    shape: tuple[int, ...]
    offset: int

    @property
    def n_bytes(self) -> int:
        """Size of the tensor in bytes."""
        return int(np.prod(self.shape)) * np.dtype(self.dtype).itemsize


def layout(shape: ModelShape) -> dict[str, Place]:
    """Return the position of every tensor, by its name in the graph, in the order of the file."""
    places: dict[str, Place] = {}
    end = 0
    for name, dtype, size in _tensors(shape):
        places[name] = Place(dtype, size, end)
        end = -(-(end + places[name].n_bytes) // PAGE) * PAGE
    return places


def _tensors(shape: ModelShape) -> Iterator[tuple[str, str, tuple[int, ...]]]:
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


def linears(shape: ModelShape) -> dict[str, tuple[int, int]]:
    """Return outputs and inputs of a layer's matrices, by name.

    Matrices that read the same input are concatenated: one product is faster than several.
    """
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


class WeightTable:
    """Input table of a weights file, which also scores outputs.

    It is mapped, so that it takes no memory of its own.
    """

    def __init__(self, path: Path, shape: ModelShape) -> None:
        places = layout(shape)
        self._width = shape.width
        self._levels = _mapped(path, places["table.q"])
        self._scale = _mapped(path, places["table.scale"])

    def rows(self, tokens: slice | NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the vectors of some tokens, a new float32 [n, width]."""
        levels, scale = np.asarray(self._levels[tokens]), np.asarray(self._scale[tokens])
        found: NDArray[np.float32] = (levels.astype(np.float32) - 128) * scale[:, :, None]
        return found.reshape(-1, self._width)


def _mapped(path: Path, place: Place) -> NDArray[Any]:
    return np.memmap(path, place.dtype, "r", place.offset, place.shape)


def convert(source: Path, target: Path, advance: Callable[[int], None] = lambda _: None) -> None:
    """Write the weights file of a GGUF.

    Args:
        target: the weights file, written from the beginning.
        advance: called with the number of layers just done.

    Raises:
        ModelError: the GGUF is not such a model.
        OSError: `target` cannot be written.
    """
    gguf = Gguf(source)
    shape = ModelShape.of(gguf)
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


def _converted(gguf: Gguf, shape: ModelShape) -> Iterator[tuple[list[str], list[NDArray[Any]]]]:
    """Yield names and arrays, in the order of the file."""
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
    """Return unsigned levels and scale of a tensor in Q8_0: weight = d (q - 128)."""
    quants, scale = eight_bits(tensor)
    return [quants.view(np.uint8) ^ 128, scale]


def _linear(tensors: list[Tensor], heads: tuple[int, ...]) -> list[NDArray[Any]]:
    """Return levels, scale and rest of matrices, concatenated.

    Args:
        heads: for each matrix the number of heads if its rows are interleaved for rotation, else 0.
    """
    matrices = [
        [_halves_apart(a, n) for a in four_bits(t)] for t, n in zip(tensors, heads, strict=True)
    ]
    levels, scale, low = (np.concatenate(same) for same in zip(*matrices, strict=True))
    pairs = levels[:, :, 0::2] | levels[:, :, 1::2] << 4
    return [pairs, scale, (low + MIDDLE * scale).T]


def _halves_apart(rows: NDArray[Any], n_heads: int) -> NDArray[Any]:
    """Return rows whose heads have the first of each rotated pair in their first half.

    GGUF stores the two of a pair next to each other; the graph rotates one half against the other.
    """
    if not n_heads:
        return rows
    return rows.reshape(n_heads, -1, 2, *rows.shape[1:]).swapaxes(1, 2).reshape(rows.shape)
