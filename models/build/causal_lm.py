"""The causal language model's graph, for onnxruntime. It holds no weights.

Every large tensor is described by its place in `weights.bin`, which `sanitizer.lm.convert`
makes from the GGUF on the user's machine. So the graph depends on the model's sizes only.

Inputs: input_ids int64 [batch, length]; length is 1 unless batch is 1;
    last int32 [batch], each row's place of its last token, all that was read before counted;
    longest int32 [], the largest of them plus one; at int64 [n], flat places row * length + column
    to come out; scored int64 [m], which of those n to score;
    past_key.i, past_value.i float [batch, n_kv_heads, capacity, head], what was read before.
Outputs: hidden float [n, width], whose products with the table's rows are the scores; logits float
    [m, n_vocabulary]; present_key.i, present_value.i, which may be the same memory as the inputs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from sanitizer.lm import BLOCK, ModelShape, Place, layout, linears

WEIGHTS = "weights.bin"
FAST, EXACT = 4, 1
"""MatMulNBits' accuracy levels: inputs rounded to 8 bits per block, or float32."""
_CONTRIB = "com.microsoft"
_CONTRIB_OPS = {
    "GroupQueryAttention",
    "MatMulNBits",
    "QuickGelu",
    "SkipSimplifiedLayerNormalization",
}
_TYPES = {"|u1": TensorProto.UINT8, "<f4": TensorProto.FLOAT}


class Graph:
    """Collects nodes and constants."""

    def __init__(self, shape: ModelShape, accuracy: int) -> None:
        self.shape, self.accuracy = shape, accuracy
        self.nodes: list[onnx.NodeProto] = []
        self.constants = [_external(name, place) for name, place in layout(shape).items()]

    def constant(self, name: str, value: Any) -> str:
        """A small constant; returns its name."""
        self.constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def node(
        self,
        op: str,
        inputs: list[str],
        name: str,
        outputs: list[str] | None = None,
        **attributes: Any,
    ) -> str:
        """One operation; returns the name of its result, `name` unless `outputs` says otherwise."""
        domain = _CONTRIB if op in _CONTRIB_OPS else ""
        self.nodes.append(
            helper.make_node(op, inputs, outputs or [name], name=name, domain=domain, **attributes)
        )
        return name

    def blocks(self, x: str, weights: str, name: str, bits: int, size: tuple[int, int]) -> str:
        """x float [rows, inputs] times quantized blocks; size: (outputs, inputs)."""
        return self.node(
            "MatMulNBits",
            [x, f"{weights}.q", f"{weights}.scale"],
            name,
            N=size[0],
            K=size[1],
            bits=bits,
            block_size=BLOCK,
            accuracy_level=self.accuracy,
        )

    def linear(self, x: str, name: str, size: tuple[int, int]) -> str:
        """x times a 4-bit matrix: its blocks, and the block sums of x times what the blocks leave
        out.
        """
        main = self.blocks(x, name, f"{name}.blocks", 4, size)
        sums = self.node("MatMul", [x, f"by_block.{size[1]}"], f"{name}.sums")
        return self.node("Gemm", [sums, f"{name}.rest", main], name)


def _external(name: str, place: Place) -> onnx.TensorProto:
    tensor = TensorProto(name=name, data_type=_TYPES[place.dtype], dims=place.shape)
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in (("location", WEIGHTS), ("offset", place.offset), ("length", place.n_bytes)):
        tensor.external_data.add(key=key, value=str(value))
    return tensor


def build(shape: ModelShape, accuracy: int) -> onnx.ModelProto:
    """The model. accuracy: FAST or EXACT."""
    g = Graph(shape, accuracy)
    g.constant("end", [-1])
    g.constant("rows", [-1, shape.width])
    for n in sorted({size[1] for size in linears(shape).values()}):
        _by_block(g, n)
    sizes = g.node("Shape", ["input_ids"], "sizes")
    g.node("Concat", [sizes, g.constant("n_qkv", [shape.n_qkv])], "batched", axis=0)
    _rotations(g)
    x, pending = _embedded(g), ""
    for i in range(shape.n_layers):
        x, pending = _layer(g, i, x, pending)
    x, _ = _norm(g, x, pending, "norm")
    g.node("Identity", [x], "hidden")
    x = g.node("Gather", [x, "scored"], "norm.scored")
    g.blocks(x, "table", "logits", 8, (shape.n_vocabulary, shape.width))
    return _model(g)


def _by_block(g: Graph, n: int) -> None:
    """float [n, n / BLOCK], one where the input is of the block; made at loading. A product with it
    beats ReduceSum.
    """
    name, n_blocks = f"by_block.{n}", n // BLOCK
    ones = [g.constant(f"{name}.eye", np.eye(n_blocks, dtype=np.float32)[:, None])]
    ones += [g.constant(f"{name}.shape", [n_blocks, BLOCK, n_blocks])]
    g.node(
        "Reshape",
        [g.node("Expand", ones, f"{name}.ones"), g.constant(f"{name}.rows", [n, n_blocks])],
        name,
    )


def _rotations(g: Graph) -> None:
    """Cosines and sines, float [n_positions, head / 2]; onnxruntime computes them once, as it loads
    the graph.
    """
    half = g.shape.head // 2
    speeds = (g.shape.theta ** (-np.arange(half) / half)).astype(np.float32)
    ends = [g.constant(f"range.{n}", np.float32(n)) for n in (0, g.shape.n_positions, 1)]
    column = g.node("Unsqueeze", [g.node("Range", ends, "angles.range"), "end"], "angles.column")
    angles = g.node("Mul", [column, g.constant("speeds", speeds[None])], "angles")
    g.node("Cos", [angles], "cos")
    g.node("Sin", [angles], "sin")


def _embedded(g: Graph) -> str:
    """Rows of the table: d (q - 128)."""
    ids = g.node("Reshape", ["input_ids", "end"], "ids")
    levels = g.node(
        "Cast",
        [g.node("Gather", ["table.q", ids], "embed.q")],
        "embed.levels",
        to=TensorProto.FLOAT,
    )
    centred = g.node("Sub", [levels, g.constant("middle", np.float32(128))], "embed.centred")
    scale = g.node(
        "Unsqueeze", [g.node("Gather", ["table.scale", ids], "embed.d"), "end"], "embed.scale"
    )
    return g.node("Reshape", [g.node("Mul", [centred, scale], "embed.blocks"), "rows"], "embed")


def _norm(g: Graph, x: str, pending: str, name: str) -> tuple[str, str]:
    """The norm of x + pending, and that sum."""
    out, total, eps = f"{name}.out", f"{name}.sum", g.shape.eps
    if not pending:
        return g.node("SimplifiedLayerNormalization", [x, name], out, axis=-1, epsilon=eps), x
    outputs = [out, "", "", total]
    g.node(
        "SkipSimplifiedLayerNormalization",
        [x, pending, name],
        name + ".add",
        outputs=outputs,
        epsilon=eps,
    )
    return out, total


def _layer(g: Graph, i: int, x: str, pending: str) -> tuple[str, str]:
    """One layer; the last addition is left pending for the next norm. The last layer ends with the
    wanted places.
    """
    sizes = linears(g.shape)
    normed, x = _norm(g, x, pending, f"{i}.norm1")
    attended = _attention(g, i, g.linear(normed, f"{i}.qkv", sizes["qkv"]))
    if i == g.shape.n_layers - 1:
        x, attended = (g.node("Gather", [part, "at"], f"{part}.picked") for part in (x, attended))
    normed, x = _norm(g, x, g.linear(attended, f"{i}.out", sizes["out"]), f"{i}.norm2")
    both = g.linear(normed, f"{i}.gate_up", sizes["gate_up"])
    g.node("Split", [both], f"{i}.split", outputs=[f"{i}.gate", f"{i}.up"], axis=1, num_outputs=2)
    gate = g.node("QuickGelu", [f"{i}.gate"], f"{i}.silu", alpha=1.0)
    inner = g.node("Mul", [gate, f"{i}.up"], f"{i}.inner")
    return x, g.linear(inner, f"{i}.down", sizes["down"])


def _attention(g: Graph, i: int, qkv: str) -> str:
    inputs = [
        g.node("Reshape", [qkv, "batched"], f"{i}.batched"),
        "",
        "",
        f"past_key.{i}",
        f"past_value.{i}",
    ]
    inputs += ["last", "longest", "cos", "sin"]
    g.node(
        "GroupQueryAttention",
        inputs,
        f"{i}.attention",
        outputs=[f"{i}.attended", f"present_key.{i}", f"present_value.{i}"],
        num_heads=g.shape.n_heads,
        kv_num_heads=g.shape.n_kv_heads,
        do_rotary=1,
    )
    return g.node("Reshape", [f"{i}.attended", "rows"], f"{i}.flat")


def _model(g: Graph) -> onnx.ModelProto:
    info = helper.make_tensor_value_info
    inputs = [
        info("input_ids", TensorProto.INT64, ["batch", "length"]),
        info("last", TensorProto.INT32, ["batch"]),
        info("longest", TensorProto.INT32, []),
        info("at", TensorProto.INT64, ["n"]),
        info("scored", TensorProto.INT64, ["m"]),
    ]
    outputs = [
        info("hidden", TensorProto.FLOAT, ["n", g.shape.width]),
        info("logits", TensorProto.FLOAT, ["m", g.shape.n_vocabulary]),
    ]
    cache: list[str | int] = ["batch", g.shape.n_kv_heads, "capacity", g.shape.head]
    for i in range(g.shape.n_layers):
        for kind in ("key", "value"):
            inputs.append(info(f"past_{kind}.{i}", TensorProto.FLOAT, cache))
            outputs.append(info(f"present_{kind}.{i}", TensorProto.FLOAT, cache))
    graph = helper.make_graph(g.nodes, "causal-lm", inputs, outputs, g.constants)
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid(_CONTRIB, 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)
