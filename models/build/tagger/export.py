"""Write the tagger as one ONNX graph for one text: states of its skeleton and its runs in, scores
out.

Every run is a row of its own; rows share the keys and values of the skeleton only, so that what one
run holds changes no bit of another's scores. Matrices of the layers have 4 bits, in blocks of 32
with inputs rounded to 8 bits by block; those of slots, of what visible words tell and of the second
stage have 8.
Operators are ONNX 17 and ONNX Runtime's own (com.microsoft).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper

from models.build.encoder import N_HEADS, WIDTH
from models.build.export import Array, GraphBuilder, norm
from models.build.tagger.encode import N_PIECES
from models.build.tagger.model import BLOCK, LEAST_SHARE, N_KNOWN, TOLD_REACH

HEAD_WIDTH = WIDTH // N_HEADS
EIGHT_BITS = frozenset({"slot", "told.first", "told.near", "known.slot", "known.words"})
_SHRINK = (1.0, 0.95, 0.9, 0.85, 0.8)
_LAST = 2**31 - 1


def four_bits(weight: Array) -> tuple[NDArray[np.uint8], Array]:
    """Quantize to 4 bits around zero point 8, by blocks, with the scale that loses least.

    Returns:
        uint8 [n_out, n_blocks, BLOCK / 2], two weights a byte, and float32 [n_out, n_blocks].
    """
    blocks = weight.reshape(len(weight), -1, BLOCK)
    furthest = np.abs(blocks).argmax(2)[:, :, None]
    extreme = np.take_along_axis(blocks, furthest, 2)[:, :, 0]
    tiny = np.abs(extreme) < 1e-8
    losses, scales, rounded = [], [], []
    for shrink in _SHRINK:  # the extreme becomes -8 at most, the only value without a counterpart
        scale = np.where(tiny, 1e-8, extreme * shrink / -8.0)
        q = np.clip(np.rint(blocks / scale[:, :, None]), -8, 7)
        losses.append(((q * scale[:, :, None] - blocks) ** 2).sum(2))
        scales.append(scale)
        rounded.append(q)
    best = np.argmin(losses, axis=0)[None]
    scale = np.take_along_axis(np.stack(scales), best, 0)[0]
    q = np.take_along_axis(np.stack(rounded), best[..., None], 0)[0]
    codes = (q + 8).astype(np.uint8)
    packed = codes[:, :, 0::2] | (codes[:, :, 1::2] << 4)
    return packed.astype(np.uint8), scale.astype(np.float32)


class TaggerGraph(GraphBuilder):
    """Nodes and initializers of the tagger.

    Args:
        weights: arrays by the names of the PyTorch model. bits: 4 or 8, of the layers' matrices.
    """

    def __init__(self, weights: dict[str, Array], bits: int) -> None:
        super().__init__(EIGHT_BITS)
        self.weights, self.bits = weights, bits

    def matrix(self, x: str, name: str, rows: slice = slice(None), source: str = "") -> str:
        """Add x @ weight.T + bias with the rows of the weight `source`, else `name`."""
        weight, bias = (self.weights[f"{source or name}.{part}"] for part in ("weight", "bias"))
        if self.bits == 8 or name in EIGHT_BITS:
            return self._blockwise(x, name, weight[rows], self.constant(f"{name}.bias", bias[rows]))
        b = self.constant(f"{name}.bias", bias[rows])
        packed, scale = four_bits(weight[rows])
        w = self.constant(f"{name}.weight", packed)
        s = self.constant(f"{name}.scale", scale.reshape(-1))
        n_out, n_in = weight[rows].shape
        shape = {"K": n_in, "N": n_out, "bits": 4, "block_size": BLOCK, "accuracy_level": 4}
        return self.node("MatMulNBits", [x, w, s, "", "", b], name, domain=_OWN, **shape)

    def floats(self, x: str, name: str, output: str) -> str:
        """Add x @ weight.T + bias in float32."""
        weight = self.constant(f"{name}.weight", self.weights[f"{name}.weight"].T)
        product = self.node("MatMul", [x, weight], f"{name}.product")
        bias = self.constant(f"{name}.bias", self.weights[f"{name}.bias"])
        return self.node("Add", [product, bias], output)

    def whole(self, name: str, values: Sequence[int]) -> str:
        """Add int64 constants."""
        return self.constant(name, np.array(values, np.int64))

    def normalized(self, x: str, name: str, skip: str = "") -> str:
        """Add a layer normalization."""
        return norm(self, x, name, self.weights, skip)

    def split(self, x: str, sizes: str, outputs: list[str], axis: int, name: str) -> None:
        """Add a node with many outputs."""
        self.nodes.append(helper.make_node("Split", [x, sizes], outputs, axis=axis, name=name))

    def turned(self, x: str, output: str, order: list[int]) -> str:
        """Add a transposition."""
        return self.node("Transpose", [x], output, perm=order)

    def shaped(self, x: str, shape: str, output: str) -> str:
        """Add a change of shape; `shape` is the name of a constant."""
        return self.node("Reshape", [x, shape], output)

    def part(self, x: str, name: str, key: str, begin: int, end: int) -> str:
        """Add the slice from begin to end of the third axis."""
        bounds = ((f"b{key}", begin), (f"e{key}", end), (f"a{key}", 2))
        names = [self.whole(f"{name}{bound}", [value]) for bound, value in bounds]
        return self.node("Slice", [x, *names], f"{name}{'po' if key == '0' else 'ps'}")


_OWN = "com.microsoft"


def _embedded(g: TaggerGraph, positions: Array, top: int) -> str:
    """Add what the first layer reads: a piece, its place, and the states at the run's slot."""
    slot = g.matrix(g.node("Gather", [f"states_{top}", "at"], "slot.states"), "slot")
    g.constant("positions.table", positions)
    g.constant("steps", np.arange(N_PIECES, dtype=np.int64)[None, :])
    g.whole("one", [1])
    places = g.node("Add", [g.node("Unsqueeze", ["at", "one"], "at.column"), "steps"], "places")
    g.node("Gather", ["positions.table", places], "positions")
    x = g.node("Add", ["pieces", "positions"], "with.positions")
    x = g.node("Add", [x, g.node("Unsqueeze", [slot, "one"], "slot.row")], "with.slot")
    return g.normalized(x, "norm")


def _attended(g: TaggerGraph, x: str, states: str, p: str) -> str:
    """Add the attention of each run's pieces to the skeleton and to themselves.

    Names: n runs, H heads, R pieces, D values of a head, S places of the skeleton.
    """
    g.split(g.matrix(x, f"{p}qkv"), "split3", [f"{p}q", f"{p}k", f"{p}v"], 2, f"{p}split")
    both = g.matrix(states, f"{p}kv", slice(WIDTH, None), f"{p}qkv")  # [S, 2 * WIDTH]
    g.whole(f"{p}split2", [WIDTH, WIDTH])
    g.split(both, f"{p}split2", [f"{p}ks", f"{p}vs"], 1, f"{p}splitkv")
    orders = (("q", [0, 2, 1, 3]), ("k", [0, 2, 3, 1]), ("v", [0, 2, 1, 3]))
    q, k, v = (
        g.turned(g.shaped(f"{p}{part}", "heads4", f"{p}{part}4"), f"{p}{part}h", order)
        for part, order in orders
    )  # [n, H, R, D], keys [n, H, D, R]
    ks = g.turned(g.shaped(f"{p}ks", "heads3", f"{p}ks3"), f"{p}ksh", [1, 2, 0])  # [H, D, S]
    vs = g.turned(g.shaped(f"{p}vs", "heads3", f"{p}vs3"), f"{p}vsh", [1, 0, 2])  # [H, S, D]
    swap = [1, 0, 2, 3]  # between runs first and heads first
    rows = g.turned(q, f"{p}qt", swap)
    rows = g.shaped(rows, g.whole(f"{p}hnd", [N_HEADS, -1, HEAD_WIDTH]), f"{p}qs")
    shared = g.node("MatMul", [rows, ks], f"{p}ss")  # [H, n * R, S]
    own = g.node("MatMul", [q, k], f"{p}own0")
    own = g.node("Add", [own, g.node("Div", ["valid.row", "scale"], f"{p}mask")], f"{p}own")
    own = g.turned(own, f"{p}ownt", swap)
    own = g.shaped(own, g.whole(f"{p}hnr", [N_HEADS, -1, N_PIECES]), f"{p}owns")
    scores = g.node("Concat", [own, shared], f"{p}both", axis=2)
    scores = g.node("Mul", [scores, "scale"], f"{p}scaled")
    shares = g.node("Softmax", [scores], f"{p}prob", axis=-1)
    to_own = g.part(shares, p, "0", 0, N_PIECES)
    from_all = g.node("MatMul", [g.part(shares, p, "1", N_PIECES, _LAST), vs], f"{p}fs")
    to_own = g.shaped(to_own, g.whole(f"{p}hnrr", [N_HEADS, -1, N_PIECES, N_PIECES]), f"{p}po4")
    from_own = g.node("MatMul", [g.turned(to_own, f"{p}pon", swap), v], f"{p}fo")  # [n, H, R, D]
    shape = g.whole(f"{p}hnrd", [N_HEADS, -1, N_PIECES, HEAD_WIDTH])
    from_all = g.turned(g.shaped(from_all, shape, f"{p}fs4"), f"{p}fst", swap)
    found = g.node("Add", [from_own, from_all], f"{p}sum")
    return g.shaped(g.turned(found, f"{p}sumt", [0, 2, 1, 3]), "back", f"{p}attended")


def _layer(g: TaggerGraph, x: str, states: str, p: str) -> str:
    attended = g.matrix(_attended(g, x, states, p), f"{p}out")
    x = g.normalized(attended, f"{p}norm1", x)
    inner = g.node("Gelu", [g.matrix(x, f"{p}ffn1")], f"{p}gelu", domain=_OWN)
    return g.normalized(g.matrix(inner, f"{p}ffn2"), f"{p}norm2", x)


def _known(g: TaggerGraph, slots: str) -> None:
    """Add the second stage (`model.Known`), for each piece, from the output "scores".

    Args:
        slots: name of the states at the runs' slots.
    """
    shares = g.node("Softmax", ["scores"], "known.shares", axis=-1)
    least = g.constant("known.least", np.array(LEAST_SHARE, np.float32))
    logs = g.node("Log", [g.node("Add", [shares, least], "known.added")], "known.logs")
    slot = g.node("Unsqueeze", [g.matrix(slots, "known.slot"), "one"], "known.row")
    inner = g.node("Add", [g.floats(logs, "known.scores", "known.of_scores"), slot], "known.both")
    inner = g.node("Add", [inner, g.matrix("known", "known.words")], "known.sum")
    g.floats(g.node("Gelu", [inner], "known.gelu", domain=_OWN), "known.last", "known_scores")


def _told(g: TaggerGraph, layers: Sequence[int]) -> None:
    """Add the head of visible words, which reads each place with TOLD_REACH places beside it."""
    both = g.node("Concat", [f"states_{layer}" for layer in layers], "told.states", axis=1)
    first = g.matrix(g.normalized(both, "told.norm"), "told.first")
    x = g.node("Gelu", [first], "told.inner", domain=_OWN)
    pads = g.whole("told.pads", [TOLD_REACH, 0, TOLD_REACH, 0])
    beside = g.node("Pad", [x, pads], "told.beside")
    rows = g.node("Shape", [x], "told.shape")
    n = g.node("Slice", [rows, g.whole("told.0", [0]), g.whole("told.1", [1])], "told.n")
    windows = []
    for i in range(2 * TOLD_REACH + 1):
        begin = g.whole(f"told.begin{i}", [i])
        end = g.node("Add", [n, begin], f"told.end{i}")
        windows.append(g.node("Slice", [beside, begin, end], f"told.window{i}"))
    near = g.matrix(g.node("Concat", windows, "told.windows", axis=1), "told.near")
    x = g.node("Add", [x, g.node("Gelu", [near], "told.around", domain=_OWN)], "told.sum")
    g.floats(x, "told.last", "told")


def _value(name: str, kind: int, shape: list[Any]) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, shape)


def build(
    weights: dict[str, Array], positions: Array, layers: Sequence[int], n_classes: int, bits: int
) -> onnx.ModelProto:
    """Build the ONNX model.

    Inputs: pieces float32 [n, N_PIECES, WIDTH], vectors of the runs' pieces; valid float32 [n,
    N_PIECES], 0 or a large negative number; at int64 [n], places of the runs; known float32 [n,
    N_PIECES, n_known], what is known of the word that begins at a piece; for each of `layers`,
    states_<layer> float32 [S, WIDTH]. Outputs: scores and known_scores float32 [n, N_PIECES, 1 +
    n_classes], of the first stage and of the second; told float32 [S, 1 + n_classes].

    Args:
        weights: state-dict arrays by name.
        positions: float32 [n, WIDTH], the masked LM's vectors of places.
        bits: 4 or 8, of the layers' matrices.
    """
    g = TaggerGraph(weights, bits)
    # No node reads these three: they are kept so that packaged graphs stay the same to the byte.
    for name, shape in (("to_heads_q", [-1, N_HEADS, HEAD_WIDTH]), ("flatW", [-1, WIDTH])):
        g.whole(name, shape)
    g.whole("nR", [0, 0, WIDTH])
    top = max(layers)
    x = _embedded(g, positions, top)
    g.whole("split3", [WIDTH] * 3)
    g.whole("heads4", [0, N_PIECES, N_HEADS, HEAD_WIDTH])
    g.whole("heads3", [-1, N_HEADS, HEAD_WIDTH])
    g.whole("back", [0, N_PIECES, WIDTH])
    g.node("Unsqueeze", ["valid", g.whole("axes12", [1, 2])], "valid.row")  # [n, 1, 1, R]
    g.constant("scale", np.array(1 / np.sqrt(HEAD_WIDTH), np.float32))
    for number, layer in enumerate(layers):
        x = _layer(g, x, f"states_{layer}", f"layers.{number}.")
    g.floats(x, "head", "scores")
    _known(g, "slot.states")
    _told(g, layers)
    states = [_value(f"states_{layer}", TensorProto.FLOAT, ["S", WIDTH]) for layer in layers]
    graph = helper.make_graph(
        g.nodes,
        "tagger",
        [
            _value("pieces", TensorProto.FLOAT, ["n", N_PIECES, WIDTH]),
            _value("valid", TensorProto.FLOAT, ["n", N_PIECES]),
            _value("at", TensorProto.INT64, ["n"]),
            _value("known", TensorProto.FLOAT, ["n", N_PIECES, N_KNOWN]),
            *states,
        ],
        [
            _value("scores", TensorProto.FLOAT, ["n", N_PIECES, n_classes + 1]),
            _value("known_scores", TensorProto.FLOAT, ["n", N_PIECES, n_classes + 1]),
            _value("told", TensorProto.FLOAT, ["S", n_classes + 1]),
        ],
        g.initializers,
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(_OWN, 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)
