"""The causal language model's graph, for onnxruntime. It holds no weights.

Every large tensor is described by its place in `weights.bin`, which `sanitizer.lm.convert` makes
from the GGUF on the user's machine. So the graph depends on the model's sizes only.

Inputs:
    input_ids: int64 [batch, length]; length is 1 unless batch is 1.
    last: int32 [batch], position of each row's last token, earlier tokens counted.
    longest: int32 [], the largest of them plus one.
    at: int64 [n], flat positions row * length + column to return.
    scored: int64 [m], which of those n to score.
    past_key.i, past_value.i: float [batch, n_kv_heads, capacity, head], what was read before.

Outputs:
    hidden: float [n, width], whose products with the table's rows are the scores.
    logits: float [m, n_vocabulary].
    present_key.i, present_value.i: may be the same memory as the inputs.
"""

from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto

from models.build.graph import FLOAT, INT32, INT64, Graph, Value
from sanitizer.lm.weights_file import BLOCK, ModelShape, Place, layout, linears

WEIGHTS = "weights.bin"
FAST, EXACT = 4, 1
"""Accuracy levels of MatMulNBits: inputs rounded to 8 bits per block, or float32."""
_TYPES = {"|u1": TensorProto.UINT8, "<f4": TensorProto.FLOAT}


class CausalGraph(Graph):
    """A graph whose large tensors are places in WEIGHTS."""

    def __init__(self, shape: ModelShape, accuracy: int) -> None:
        super().__init__()
        self.shape, self.accuracy = shape, accuracy
        for name, place in layout(shape).items():
            self.constants[name] = _external(name, place)

    def blocks(self, x: str, weights: str, name: str, bits: int, size: tuple[int, int]) -> str:
        """Multiply x, float [rows, inputs], by quantized blocks; size: (outputs, inputs)."""
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
        """Multiply x by a 4-bit matrix: its blocks, plus the block sums of x times what the blocks
        omit.
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
    """Build the model; accuracy: FAST or EXACT."""
    g = CausalGraph(shape, accuracy)
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


def _by_block(g: CausalGraph, n: int) -> None:
    """Add float [n, n / BLOCK], one where the input belongs to the block, made while loading.

    A product with it is faster than ReduceSum.
    """
    name, n_blocks = f"by_block.{n}", n // BLOCK
    ones = [g.constant(f"{name}.eye", np.eye(n_blocks, dtype=np.float32)[:, None])]
    ones += [g.constant(f"{name}.shape", [n_blocks, BLOCK, n_blocks])]
    g.node(
        "Reshape",
        [g.node("Expand", ones, f"{name}.ones"), g.constant(f"{name}.rows", [n, n_blocks])],
        name,
    )


def _rotations(g: CausalGraph) -> None:
    """Add cosines and sines, float [n_positions, head / 2]; onnxruntime computes them once, when it
    loads the graph.
    """
    half = g.shape.head // 2
    speeds = (g.shape.theta ** (-np.arange(half) / half)).astype(np.float32)
    ends = [g.constant(f"range.{n}", np.float32(n)) for n in (0, g.shape.n_positions, 1)]
    column = g.node("Unsqueeze", [g.node("Range", ends, "angles.range"), "end"], "angles.column")
    angles = g.node("Mul", [column, g.constant("speeds", speeds[None])], "angles")
    g.node("Cos", [angles], "cos")
    g.node("Sin", [angles], "sin")


def _embedded(g: CausalGraph) -> str:
    """Add the lookup of table rows: d (q - 128)."""
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


def _norm(g: CausalGraph, x: str, pending: str, name: str) -> tuple[str, str]:
    """Add the norm of x + pending; return its name and that of the sum."""
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


def _layer(g: CausalGraph, i: int, x: str, pending: str) -> tuple[str, str]:
    """Add one layer; leave its last addition pending for the next norm.

    The last layer continues with the requested positions only.
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


def _attention(g: CausalGraph, i: int, qkv: str) -> str:
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


def _model(g: CausalGraph) -> onnx.ModelProto:
    inputs: dict[str, Value] = {
        "input_ids": (INT64, ["batch", "length"]),
        "last": (INT32, ["batch"]),
        "longest": (INT32, []),
        "at": (INT64, ["n"]),
        "scored": (INT64, ["m"]),
    }
    outputs: dict[str, Value] = {
        "hidden": (FLOAT, ["n", g.shape.width]),
        "logits": (FLOAT, ["m", g.shape.n_vocabulary]),
    }
    cache: Value = (FLOAT, ["batch", g.shape.n_kv_heads, "capacity", g.shape.head])
    for i in range(g.shape.n_layers):
        for kind in ("key", "value"):
            inputs[f"past_{kind}.{i}"] = cache
            outputs[f"present_{kind}.{i}"] = cache
    return g.model("causal-lm", inputs, outputs, opset=18)
