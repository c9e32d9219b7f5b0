"""Write the trained masked LM as one ONNX graph with int8 matrices.

The graph gathers the masked positions before the last layer's output projection, so that the head
and most of the last layer run on those positions only, and projects onto the output vocabulary Y
only. Its second output, the head states, serves the full vocabulary through the shared embedding
table. Operators are ONNX 17 and ONNX Runtime's own (com.microsoft).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from models.build.encoder import EPS, N_HEADS, N_LAYERS, WIDTH
from models.build.states import with_states

Array = NDArray[np.float32]


def quantized_rows(matrix: Array) -> tuple[NDArray[np.int8], Array]:
    """Quantize symmetrically to int8 with one scale per row: (int8 [n, d], float32 [n])."""
    scale = np.maximum(np.abs(matrix).max(axis=1), 1e-8) / 127.0
    return np.rint(matrix / scale[:, None]).astype(np.int8), scale.astype(np.float32)


class GraphBuilder:
    """Nodes and initializers collected so far.

    Args:
        exact: "float32" keeps all matrices; otherwise the parts (such as "ffn2", or "3.ffn2" for
            one layer) whose int8 weights and inputs are scaled by blocks of 32 instead of by row
            and tensor.
    """

    def __init__(self, exact: str | frozenset[str]) -> None:
        self.exact = exact
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: list[onnx.TensorProto] = []

    def constant(self, name: str, array: NDArray[np.generic]) -> str:
        self.initializers.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def node(
        self, op: str, inputs: list[str], output: str, domain: str = "", **attributes: Any
    ) -> str:
        self.nodes.append(
            helper.make_node(op, inputs, [output], name=output, domain=domain, **attributes)
        )
        return output

    def linear(self, x: str, name: str, weight: Array, bias: Array) -> str:
        """Add x @ weight.T + bias, weight float32 [n_out, n_in]; return the result's name."""
        b = self.constant(name + ".bias", bias)
        if self.exact == "float32":
            w = self.constant(name + ".weight", weight.T)
            return self.node("Add", [self.node("MatMul", [x, w], name + ".product"), b], name)
        if (
            name.removeprefix("layers.") not in self.exact
            and name.rsplit(".", 1)[-1] not in self.exact
        ):
            q, scale = quantized_rows(weight)
            w, s = self.constant(name + ".weight", q.T), self.constant(name + ".scale", scale)
            return self.node(
                "DynamicQuantizeMatMul", [x, w, s, "", b], name, domain="com.microsoft"
            )
        return self._blockwise(x, name, weight, b)

    def _blockwise(self, x: str, name: str, weight: Array, bias: str, block: int = 32) -> str:
        n_out, n_in = weight.shape
        blocks = weight.reshape(n_out, n_in // block, block)
        scale = np.maximum(np.abs(blocks).max(axis=2), 1e-8) / 127.0
        q = (np.rint(blocks / scale[:, :, None]) + 128).astype(np.uint8)
        w = self.constant(name + ".weight", q)
        s = self.constant(name + ".scale", scale.astype(np.float32).reshape(-1))
        shape = {"K": n_in, "N": n_out, "bits": 8, "block_size": block, "accuracy_level": 4}
        return self.node(
            "MatMulNBits", [x, w, s, "", "", bias], name, domain="com.microsoft", **shape
        )


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
    return norm(g, summed, "norm", weights)


def norm(g: GraphBuilder, x: str, name: str, weights: dict[str, Array], skip: str = "") -> str:
    """Add a layer normalization of x, or of x + skip; return the result's name."""
    scale = g.constant(name + ".weight", weights[name + ".weight"])
    shift = g.constant(name + ".bias", weights[name + ".bias"])
    if skip:
        return g.node(
            "SkipLayerNormalization",
            [x, skip, scale, shift],
            name + ".out",
            domain="com.microsoft",
            epsilon=EPS,
        )
    return g.node("LayerNormalization", [x, scale, shift], name + ".out", axis=-1, epsilon=EPS)


def _layer(g: GraphBuilder, x: str, i: int, weights: dict[str, Array], pick: bool) -> str:
    name = f"layers.{i}."

    def linear(source: str, part: str) -> str:
        return g.linear(
            source, name + part, weights[f"{name}{part}.weight"], weights[f"{name}{part}.bias"]
        )

    packed = linear(x, "qkv")
    parts = [f"{name}{p}" for p in "qkv"]
    g.nodes.append(
        helper.make_node("Split", [packed, "thirds"], parts, axis=2, name=name + "split")
    )
    attended = g.node(
        "MultiHeadAttention",
        [*parts, "", "mask32"],
        name + "attended",
        domain="com.microsoft",
        num_heads=N_HEADS,
    )
    if pick:
        attended = g.node(
            "Gather",
            [g.node("Reshape", [attended, "flat"], name + "flat"), "positions_at"],
            name + "picked",
        )
        x = g.node(
            "Gather",
            [g.node("Reshape", [x, "flat"], name + "residual.flat"), "positions_at"],
            name + "residual",
        )
    x = norm(g, linear(attended, "out"), name + "norm1", weights, skip=x)
    inner = g.node("Gelu", [linear(x, "ffn1")], name + "gelu", domain="com.microsoft")
    return norm(g, linear(inner, "ffn2"), name + "norm2", weights, skip=x)


def build(
    weights: dict[str, Array], outputs: NDArray[np.int64], exact: str | frozenset[str]
) -> onnx.ModelProto:
    """Build the ONNX model.

    Inputs: input_ids int64 [batch, length]; attention_mask int64 [batch, length], 1 at real tokens;
    positions_at int64 [n], flat masked positions row * length + column. Outputs: logits float32
    [n, n_outputs] over Y; states float32 [n, width]; and for the tagger states_1, states_3 and
    states_5, float32 [batch, length, width], the inputs of these layers.

    Args:
        weights: state-dict arrays by name.
        outputs: int64 [n_outputs], output token ids.
        exact: as for `GraphBuilder`.
    """
    g = GraphBuilder(exact)
    g.constant("flat", np.array([-1, WIDTH]))
    g.constant("thirds", np.array([WIDTH] * 3))
    g.node("Cast", ["attention_mask"], "mask32", to=TensorProto.INT32)
    x = _embed(g, weights)
    for i in range(N_LAYERS):
        x = _layer(g, x, i, weights, pick=i == N_LAYERS - 1)
    x = g.linear(x, "transform", weights["transform.weight"], weights["transform.bias"])
    x = norm(g, g.node("Gelu", [x], "transform.gelu", domain="com.microsoft"), "head_norm", weights)
    g.node("Identity", [x], "states")
    head = g.linear(x, "head", weights["words.weight"][outputs], weights["bias"][outputs])
    g.node("Identity", [head], "logits")
    graph = helper.make_graph(
        g.nodes,
        "masked-lm",
        [
            helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["batch", "length"]),
            helper.make_tensor_value_info("attention_mask", TensorProto.INT64, ["batch", "length"]),
            helper.make_tensor_value_info("positions_at", TensorProto.INT64, ["n"]),
        ],
        [
            helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["n", len(outputs)]),
            helper.make_tensor_value_info("states", TensorProto.FLOAT, ["n", WIDTH]),
        ],
        g.initializers,
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return with_states(helper.make_model(graph, opset_imports=opsets, ir_version=8))


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
