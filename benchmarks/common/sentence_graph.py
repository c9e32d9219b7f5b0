"""all-MiniLM-L6-v2 as a float32 ONNX graph, built from its published weights and kept in the build
cache.

Inputs: input_ids int64 [batch, length]; attention_mask int32 [batch, length], 1 at real tokens.
Output: vectors float32 [batch, 384] of length one, the mean of the last layer's token vectors.
Needs the extra "bench" (onnx) once.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from models.build.fetch import CACHE, member

if TYPE_CHECKING:
    import onnx

Array = NDArray[np.float32]
N_LAYERS, N_HEADS, WIDTH, EPSILON = 6, 12, 384, 1e-12
ORT = "com.microsoft"


def tensors() -> dict[str, Array]:
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


def graph() -> Path:
    """The ONNX file, built when it is not there yet."""
    path = CACHE / "minilm-float32.onnx"
    if not path.exists():
        unfinished = path.with_suffix(".part")
        unfinished.write_bytes(_Builder(tensors()).model())
        unfinished.rename(path)
    return path


class _Builder:
    """Nodes and constants of the graph, in order."""

    def __init__(self, weights: Mapping[str, Array]) -> None:
        from onnx import helper, numpy_helper

        self._weights, self._helper, self._as_tensor = weights, helper, numpy_helper.from_array
        self._nodes: list[onnx.NodeProto] = []
        self._constants: dict[str, onnx.TensorProto] = {}

    def _constant(self, name: str, array: NDArray[np.generic]) -> str:
        self._constants.setdefault(name, self._as_tensor(np.ascontiguousarray(array), name))
        return name

    def _node(
        self, op: str, inputs: list[str], output: str, domain: str = "", **attributes: Any
    ) -> str:
        self._nodes.append(
            self._helper.make_node(op, inputs, [output], name=output, domain=domain, **attributes)
        )
        return output

    def _linear(self, x: str, name: str) -> str:
        weight = self._constant(name + ".weight", self._weights[name + ".weight"].T)
        bias = self._constant(name + ".bias", self._weights[name + ".bias"])
        return self._node("Add", [self._node("MatMul", [x, weight], name + ".product"), bias], name)

    def _normed(self, x: str, name: str, skip: str = "") -> str:
        parts = [
            self._constant(f"{name}.{p}", self._weights[f"{name}.{p}"]) for p in ("weight", "bias")
        ]
        if skip:
            inputs = [x, skip, *parts]
            return self._node(
                "SkipLayerNormalization", inputs, name + ".out", domain=ORT, epsilon=EPSILON
            )
        return self._node(
            "LayerNormalization", [x, *parts], name + ".out", axis=-1, epsilon=EPSILON
        )

    def _embedded(self) -> str:
        name = "embeddings."
        types = self._weights[name + "token_type_embeddings.weight"][0]
        table = self._constant("words", self._weights[name + "word_embeddings.weight"] + types)
        positions = self._constant("positions", self._weights[name + "position_embeddings.weight"])
        one, two, zero = (self._constant(f"i{i}", np.array([i])) for i in (1, 2, 0))
        length = self._node(
            "Slice", [self._node("Shape", ["input_ids"], "shape"), one, two], "length"
        )
        slots = self._node("Slice", [positions, zero, length, zero], "slots")
        summed = self._node(
            "Add", [self._node("Gather", [table, "input_ids"], "rows"), slots], "embedded"
        )
        return self._normed(summed, name + "LayerNorm")

    def _layer(self, x: str, name: str) -> str:
        parts = [
            self._linear(x, f"{name}attention.self.{part}") for part in ("query", "key", "value")
        ]
        mixed = self._node(
            "MultiHeadAttention",
            [*parts, "", "attention_mask"],
            name + "mixed",
            domain=ORT,
            num_heads=N_HEADS,
        )
        joined = self._linear(mixed, name + "attention.output.dense")
        x = self._normed(joined, name + "attention.output.LayerNorm", skip=x)
        inner = self._node(
            "Gelu", [self._linear(x, name + "intermediate.dense")], name + "gelu", domain=ORT
        )
        return self._normed(
            self._linear(inner, name + "output.dense"), name + "output.LayerNorm", skip=x
        )

    def _pooled(self, x: str) -> str:
        from onnx import TensorProto

        axis, last = self._constant("axis", np.array([1])), self._constant("last", np.array([2]))
        real = self._node("Cast", ["attention_mask"], "real", to=TensorProto.FLOAT)
        weighed = self._node("Mul", [x, self._node("Unsqueeze", [real, last], "real3")], "weighed")
        summed = self._node("ReduceSum", [weighed, axis], "summed", keepdims=0)
        return self._node("LpNormalization", [summed], "vectors", axis=-1, p=2)

    def model(self) -> bytes:
        """The serialized graph."""
        from onnx import TensorProto

        x = self._embedded()
        for layer in range(N_LAYERS):
            x = self._layer(x, f"encoder.layer.{layer}.")
        self._pooled(x)
        value = self._helper.make_tensor_value_info
        inputs = [
            value("input_ids", TensorProto.INT64, ["batch", "length"]),
            value("attention_mask", TensorProto.INT32, ["batch", "length"]),
        ]
        output = value("vectors", TensorProto.FLOAT, ["batch", WIDTH])
        made = self._helper.make_graph(
            self._nodes, "minilm", inputs, [output], list(self._constants.values())
        )
        opsets = [self._helper.make_opsetid("", 17), self._helper.make_opsetid(ORT, 1)]
        serialized: bytes = self._helper.make_model(
            made, opset_imports=opsets, ir_version=8
        ).SerializeToString()
        return serialized
