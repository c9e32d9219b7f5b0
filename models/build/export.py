"""Write the trained masked LM as one ONNX graph with int8 matrices.

The graph gathers the masked positions before the last layer's output projection, so that the head
and most of the last layer run on those positions only, and projects onto the output vocabulary Y
only. Its second output, the head states, serves the full vocabulary through the shared embedding
table. All layers but the attention work on flat rows, one for each token, and each row of a
product's input has a scale of its own: a token's outlier costs other tokens nothing, and no scale
depends on another text of the batch. Operators are ONNX 17 and ONNX Runtime's own (com.microsoft).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from models.build.encoder import EPS, LEVELS, N_HEADS, N_LAYERS, WIDTH
from models.build.graph import FLOAT, INT64, Graph, Value

Array = NDArray[np.float32]
STATES = (1, 3, 5)
"""Layers whose inputs are outputs of the graph."""
GELU_ZERO = 32
"""What 0 is rounded to after GELU, whose least value is -.17: most of the range is for above 0."""
GELU_LEAST = 0.17


def quantized_rows(matrix: Array, levels: int = 127) -> tuple[NDArray[np.int8], Array]:
    """Quantize symmetrically to int8 with one scale per row: (int8 [n, d], float32 [n]).

    Args:
        levels: values on each side of zero.
    """
    scale = np.maximum(np.abs(matrix).max(axis=1), 1e-8) / levels
    return np.rint(matrix / scale[:, None]).astype(np.int8), scale.astype(np.float32)


class GraphBuilder(Graph):
    """A graph of int8 products: weights with a scale for each output, inputs with one for each
    row.
    """

    def constant(
        self, name: str, value: NDArray[np.generic] | np.generic | Sequence[Any] | float
    ) -> str:
        """Add a constant; a single value as an array of one, as the shipped graphs have it."""
        return super().constant(name, np.atleast_1d(value))

    def product(self, x: str, name: str, weight: Array, after_gelu: bool = False) -> str:
        """Add x @ weight.T, x float32 [rows, n_in], weight float32 [n_out, n_in]; return its name.

        Args:
            x: name of the input. name: of the part. weight: the matrix.
            after_gelu: x has no values below -GELU_LEAST.
        """
        q, scale = quantized_rows(weight, LEVELS)
        weights = self.constant(name + ".weight", q.T), self.constant(name + ".scale", scale)
        return self.by_rows(x, name, weights, after_gelu)

    def biased(self, x: str, name: str, weights: Mapping[str, Array]) -> str:
        """Add x @ weight.T + bias of a part; return its name."""
        product = self.product(x, name, weights[name + ".weight"])
        return self.node(
            "Add", [product, self.constant(name + ".bias", weights[name + ".bias"])], name
        )

    def by_rows(self, x: str, name: str, weights: tuple[str, str], after_gelu: bool) -> str:
        """Add the product with inputs quantized row by row."""
        zero = GELU_ZERO if after_gelu else 128
        top, least = (255 - zero, GELU_LEAST / zero) if after_gelu else (127, 1e-8)
        for key, value in (
            (f"top.{zero}", np.array(1 / top, np.float32)),
            (f"least.{zero}", np.array(least, np.float32)),
            (f"zero.{zero}", np.array(zero, np.uint8)),
            ("unit", np.array(1, np.float32)),
            ("last", np.array([1])),
        ):
            self.constant(key, value)
        size = x if after_gelu else self.node("Abs", [x], name + ".abs")
        furthest = self.node("ReduceMax", [size], name + ".max", axes=[-1], keepdims=0)
        scale = self.node("Mul", [furthest, f"top.{zero}"], name + ".rows.wanted")
        scale = self.node("Max", [scale, f"least.{zero}"], name + ".rows.scale")
        value = helper.make_tensor("value", TensorProto.UINT8, [1], [zero])
        shape = self.node("Shape", [scale], name + ".rows.shape")
        zeros = self.node("ConstantOfShape", [shape], name + ".rows.zeros", value=value)
        q = self.node("QuantizeLinear", [x, scale, zeros], name + ".rows.q", axis=0)
        inputs = [q, weights[0], "unit", weights[1], f"zero.{zero}"]
        product = self.node("MatMulIntegerToFloat", inputs, name + ".rows.product")
        column = self.node("Unsqueeze", [scale, "last"], name + ".rows.column")
        return self.node("Mul", [product, column], name + ".product")


def _embed(g: GraphBuilder, weights: dict[str, Array]) -> str:
    q, scale = quantized_rows(weights["words.weight"])
    table, scales = g.constant("words.q", q), g.constant("words.scale", scale[:, None])
    rows = g.node(
        "Cast",
        [g.node("Gather", [table, "input_ids"], "words.rows")],
        "words.float",
        to=TensorProto.FLOAT,
    )
    words = g.node("Mul", [rows, g.node("Gather", [scales, "input_ids"], "words.scales")], "words")
    length = g.node(
        "Slice",
        [
            g.node("Shape", ["input_ids"], "shape"),
            g.constant("i1", np.array([1])),
            g.constant("i2", np.array([2])),
        ],
        "length",
    )
    positions = g.constant("positions.table", weights["positions.weight"])
    begin = g.constant("i0", np.array([0]))
    slots = g.node("Slice", [positions, begin, length, begin], "positions")
    summed = g.node("Add", [words, slots], "embedded")
    return g.node("Reshape", [g.norm(summed, "norm", weights, EPS), "flat"], "rows")


def _layer(g: GraphBuilder, x: str, i: int, weights: dict[str, Array], pick: bool) -> str:
    """Add a layer; x and the result are float [rows, width]."""
    name = f"layers.{i}."

    def bias(part: str) -> str:
        return g.constant(f"{name}{part}.bias", weights[f"{name}{part}.bias"])

    def product(source: str, part: str) -> str:
        after_gelu = part == "ffn2"
        return g.product(source, name + part, weights[f"{name}{part}.weight"], after_gelu)

    def added(source: str, part: str, skip: str, after: str) -> str:
        # Sum, not Add: onnxruntime would fuse Add into SkipLayerNormalization, which takes ten
        # times as long as the two nodes.
        summed = g.node("Sum", [product(source, part), skip, bias(part)], name + part)
        return g.norm(summed, name + after, weights, EPS)

    flat = product(x, "qkv")
    packed = g.node("Reshape", [flat, "shape.packed"], name + "qkv")
    parts = [f"{name}{p}" for p in "qkv"]
    g.node("Split", [packed, "thirds"], name + "split", outputs=parts, axis=2)
    attended = g.node(
        "MultiHeadAttention",
        [*parts, bias("qkv"), "mask32"],
        name + "attended",
        num_heads=N_HEADS,
    )
    attended = g.node("Reshape", [attended, "flat"], name + "flat")
    if pick:
        attended = g.node("Gather", [attended, "positions_at"], name + "picked")
        x = g.node("Gather", [x, "positions_at"], name + "residual")
    x = added(attended, "out", x, "norm1")
    inner = g.node("Add", [product(x, "ffn1"), bias("ffn1")], name + "ffn1")
    inner = g.node("Gelu", [inner], name + "gelu")
    x = added(inner, "ffn2", x, "norm2")
    if i + 1 in STATES:
        g.node("Reshape", [x, "shape.states"], f"states_{i + 1}")
    return x


def _head(g: GraphBuilder, x: str, weights: dict[str, Array], outputs: NDArray[np.int64]) -> str:
    """Add the scores over Y. Its matrix is a part of the words' table, which onnxruntime takes out
    once, when it reads the graph: the file holds it once.
    """
    words, bias = weights["words.weight"][outputs], weights["bias"][outputs]
    rows = g.node("Gather", ["words.q", g.constant("head.outputs", outputs)], "head.rows")
    matrix = g.node("Transpose", [rows], "head.weight", perm=[1, 0])
    scale = g.constant("head.scale", quantized_rows(words)[1])
    product = g.by_rows(x, "head", (matrix, scale), after_gelu=False)
    return g.node("Add", [product, g.constant("head.bias", bias)], "head")


def build(weights: dict[str, Array], outputs: NDArray[np.int64]) -> onnx.ModelProto:
    """Build the ONNX model.

    Inputs: input_ids int64 [batch, length]; attention_mask int64 [batch, length], 1 at real tokens;
    positions_at int64 [n], flat masked positions row * length + column. Outputs: logits float32
    [n, n_outputs] over Y; states float32 [n, width]; and states_1, states_3 and
    states_5, float32 [batch, length, width], the inputs of these layers.

    Args:
        weights: state-dict arrays by name.
        outputs: int64 [n_outputs], output token ids.
    """
    g = GraphBuilder()
    g.constant("flat", np.array([-1, WIDTH]))
    g.constant("thirds", np.array([WIDTH] * 3))
    g.node("Cast", ["attention_mask"], "mask32", to=TensorProto.INT32)
    x = _embed(g, weights)
    for key, width in (("packed", 3 * WIDTH), ("states", WIDTH)):
        sizes = ["shape", g.constant("width." + key, np.array([width]))]
        g.node("Concat", sizes, "shape." + key, axis=0)
    for i in range(N_LAYERS):
        x = _layer(g, x, i, weights, pick=i == N_LAYERS - 1)
    x = g.biased(x, "transform", weights)
    x = g.norm(g.node("Gelu", [x], "transform.gelu"), "head_norm", weights, EPS)
    g.node("Identity", [x], "states")
    g.node("Identity", [_head(g, x, weights, outputs)], "logits")
    text: Value = (INT64, ["batch", "length"])
    return g.model(
        "masked-lm",
        {"input_ids": text, "attention_mask": text, "positions_at": (INT64, ["n"])},
        {"logits": (FLOAT, ["n", len(outputs)]), "states": (FLOAT, ["n", WIDTH])}
        | {f"states_{i}": (FLOAT, ["batch", "length", WIDTH]) for i in STATES},
    )


def save(model: onnx.ModelProto, folder: Path) -> None:
    """Write model.onnx; the embedding table goes to embeddings.npy, shared with numpy by offset."""
    folder.mkdir(parents=True, exist_ok=True)
    (table,) = [t for t in model.graph.initializer if t.name == "words.q"]
    np.save(folder / "embeddings.npy", numpy_helper.to_array(table))
    size = table.dims[0] * table.dims[1]
    offset = (folder / "embeddings.npy").stat().st_size - size
    table.ClearField("raw_data")
    table.data_location = TensorProto.EXTERNAL
    for key, value in (
        ("location", "embeddings.npy"),
        ("offset", str(offset)),
        ("length", str(size)),
    ):
        table.external_data.add(key=key, value=value)
    (folder / "model.onnx").write_bytes(model.SerializeToString())
