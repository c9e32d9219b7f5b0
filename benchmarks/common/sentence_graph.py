"""all-MiniLM-L6-v2 as a float32 ONNX graph, built from its published weights.

Inputs: input_ids int64 [batch, length]; attention_mask int32 [batch, length], 1 at real tokens.
Output: vectors float32 [batch, 384] of length one, the mean of the last layer's token vectors.
Needs the extra "bench" (onnx).
"""

from __future__ import annotations

import json
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from models.build.fetch import member
from models.build.graph import FLOAT, INT32, INT64, Graph, Value

Array = NDArray[np.float32]
N_LAYERS, N_HEADS, WIDTH, EPSILON = 6, 12, 384, 1e-12


def tensors() -> dict[str, Array]:
    """Return the float32 arrays of the package's safetensors file: a JSON header, then the data."""
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


class Encoder(Graph):
    """The graph of the encoder.

    Args:
        weights: by name.
    """

    def __init__(self, weights: Mapping[str, Array]) -> None:
        super().__init__()
        self._weights = weights

    def _linear(self, x: str, name: str) -> str:
        weight = self.constant(name + ".weight", self._weights[name + ".weight"].T)
        bias = self.constant(name + ".bias", self._weights[name + ".bias"])
        return self.node("Add", [self.node("MatMul", [x, weight], name + ".product"), bias], name)

    def _embedded(self) -> str:
        name = "embeddings."
        types = self._weights[name + "token_type_embeddings.weight"][0]
        table = self.constant("words", self._weights[name + "word_embeddings.weight"] + types)
        positions = self.constant("positions", self._weights[name + "position_embeddings.weight"])
        one, two, zero = (self.constant(f"i{i}", np.array([i])) for i in (1, 2, 0))
        shape = self.node("Shape", ["input_ids"], "shape")
        length = self.node("Slice", [shape, one, two], "length")
        slots = self.node("Slice", [positions, zero, length, zero], "slots")
        rows = self.node("Gather", [table, "input_ids"], "rows")
        summed = self.node("Add", [rows, slots], "embedded")
        return self.norm(summed, name + "LayerNorm", self._weights, EPSILON)

    def _layer(self, x: str, name: str) -> str:
        parts = [self._linear(x, f"{name}attention.self.{p}") for p in ("query", "key", "value")]
        parts += ["", "attention_mask"]
        mixed = self.node("MultiHeadAttention", parts, name + "mixed", num_heads=N_HEADS)
        joined = self._linear(mixed, name + "attention.output.dense")
        x = self.norm(joined, name + "attention.output.LayerNorm", self._weights, EPSILON, skip=x)
        inner = self.node("Gelu", [self._linear(x, name + "intermediate.dense")], name + "gelu")
        dense = self._linear(inner, name + "output.dense")
        return self.norm(dense, name + "output.LayerNorm", self._weights, EPSILON, skip=x)

    def _pooled(self, x: str) -> None:
        axis, last = self.constant("axis", np.array([1])), self.constant("last", np.array([2]))
        real = self.node("Cast", ["attention_mask"], "real", to=FLOAT)
        weighed = self.node("Mul", [x, self.node("Unsqueeze", [real, last], "real3")], "weighed")
        summed = self.node("ReduceSum", [weighed, axis], "summed", keepdims=0)
        self.node("LpNormalization", [summed], "vectors", axis=-1, p=2)

    def serialized(self) -> bytes:
        """Return the serialized graph."""
        x = self._embedded()
        for layer in range(N_LAYERS):
            x = self._layer(x, f"encoder.layer.{layer}.")
        self._pooled(x)
        text = ["batch", "length"]
        inputs: dict[str, Value] = {"input_ids": (INT64, text), "attention_mask": (INT32, text)}
        found: bytes = self.model(
            "minilm", inputs, {"vectors": (FLOAT, ["batch", WIDTH])}
        ).SerializeToString()
        return found
