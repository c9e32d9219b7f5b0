"""Reads GGUF files: metadata, and tensors as numpy views of the mapped file. Nothing is executed or unpacked."""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sanitizer.errors import ModelError

BLOCK = 32
"""Weights per block."""
FLOAT32, Q4_1, Q8_0 = 0, 3, 8
BYTES = {FLOAT32: 4 * BLOCK, Q4_1: 20, Q8_0: 34}
"""Bytes per BLOCK weights, by GGUF type number."""
_FORMATS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}
_TEXT, _LIST = 8, 9
_MAGIC, _VERSIONS = b"GGUF", (2, 3)


@dataclass(frozen=True, slots=True)
class Tensor:
    """One tensor: `shape` is [rows, columns] or [columns], `kind` its GGUF type, `raw` uint8 view of its bytes."""

    shape: tuple[int, ...]
    kind: int
    raw: NDArray[np.uint8]


class Gguf:
    """One file, mapped.

    Attributes:
        metadata: values by key; strings as bytes. tensors: by name; reading one touches its pages only.

    Raises:
        ModelError: if the file cannot be read, is no GGUF, or ends too early.
    """

    def __init__(self, path: Path) -> None:
        try:
            self._bytes = np.memmap(path, np.uint8, "r")
            self._view, self._at = self._bytes.data, 0
            self.metadata, self.tensors = self._read()
        except (OSError, ValueError, KeyError, struct.error):
            raise ModelError(f"{path.name} is not a usable GGUF file") from None

    def _read(self) -> tuple[dict[str, Any], dict[str, Tensor]]:
        if bytes(self._view[:4]) != _MAGIC or struct.unpack_from("<I", self._view, 4)[0] not in _VERSIONS:
            raise ValueError("not GGUF")
        self._at = 8
        n_tensors, n_values = self._next("<Q"), self._next("<Q")
        metadata = {self._text().decode(): self._value(self._next("<I")) for _ in range(n_values)}
        entries = [self._entry() for _ in range(n_tensors)]
        alignment = int(metadata.get("general.alignment", 32))
        begin = -(-self._at // alignment) * alignment
        return metadata, {name: self._tensor(begin + offset, shape, kind) for name, offset, shape, kind in entries}

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
        return self._next(_FORMATS[kind])

    def _entry(self) -> tuple[str, int, tuple[int, ...], int]:
        name = self._text().decode()
        shape = tuple(self._next("<Q") for _ in range(self._next("<I")))[::-1]  # stored innermost first
        kind, offset = self._next("<I"), self._next("<Q")
        return name, offset, shape, kind

    def _tensor(self, begin: int, shape: tuple[int, ...], kind: int) -> Tensor:
        size = math.prod(shape) * BYTES[kind] // BLOCK
        if begin + size > len(self._bytes):
            raise ValueError("tensor beyond the end")
        return Tensor(shape, kind, self._bytes[begin : begin + size])


def floats(tensor: Tensor) -> NDArray[np.float32]:
    """The tensor's values, float32 of its shape."""
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
    """Q8_0 as (q int8 [rows, n_blocks, BLOCK], d float32 [rows, n_blocks]): weight = d q."""
    blocks = _blocks(tensor, Q8_0)
    return blocks[:, :, 2:].view(np.int8), _half(blocks, 0)


def four_bits(tensor: Tensor) -> tuple[NDArray[np.uint8], NDArray[np.float32], NDArray[np.float32]]:
    """Q4_1 as (q uint8 [rows, n_blocks, BLOCK] of 0..15, d, m float32 [rows, n_blocks]): weight = d q + m."""
    blocks = _blocks(tensor, Q4_1)
    packed = blocks[:, :, 4:]  # low halves are weights 0-15, high halves 16-31
    return np.concatenate([packed & 15, packed >> 4], axis=2), _half(blocks, 0), _half(blocks, 2)


def _blocks(tensor: Tensor, kind: int) -> NDArray[np.uint8]:
    if tensor.kind != kind or len(tensor.shape) != 2 or tensor.shape[1] % BLOCK:
        raise ModelError("the GGUF file holds a tensor of an unexpected kind")
    return tensor.raw.reshape(tensor.shape[0], -1, BYTES[kind])


def _half(blocks: NDArray[np.uint8], at: int) -> NDArray[np.float32]:
    return np.ascontiguousarray(blocks[:, :, at : at + 2]).view("<f2")[:, :, 0].astype(np.float32)
