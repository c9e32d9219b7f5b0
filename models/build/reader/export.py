"""Write the trained reader as two graphs over one file of int8 matrices.

`view.onnx` reads a view once and gives its scores, and the keys and values of every layer;
`runs.onnx` reads rows of runs, whose pieces attend to these and to their own row. Each row of a
product's input has a scale of its own: no bit of a run's scores depends on another run.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, numpy_helper

from models.build.export import GraphBuilder
from models.build.graph import FLOAT, Value
from sanitizer.lm.reader import CLASSES, ELIGIBLE, GENDERS, TELLING

Array = NDArray[np.float32]
WIDTH, HEADS = 384, 12
NEEDED_SIZES = (144, 6, 288, 2)
"""Of what reads which things a request needs: width, heads, inner width, layers."""
EPSILON = 1e-12
N_SCORES = 1 + len(CLASSES) + 1 + len(GENDERS)
WEIGHTS = "weights.bin"
_LARGE = 4096  # bytes from which a tensor goes to the shared file


def _rest(g: GraphBuilder, x: str, seen: str, name: str, weights: dict[str, Array]) -> str:
    """Add what follows attention in a layer; x and the result are [rows, width]."""

    def added(source: str, part: str, skip: str, after: str) -> str:
        # Sum, not Add: onnxruntime would fuse Add into a slower node.
        product = g.product(source, name + part, weights[f"{name}{part}.weight"], part == "fo")
        bias = g.constant(f"{name}{part}.bias", weights[f"{name}{part}.bias"])
        summed = g.node("Sum", [product, skip, bias], name + part)
        return g.norm(summed, name + after, weights, EPSILON)

    x = added(seen, "o", x, "n1")
    inner = g.node("Gelu", [g.biased(x, name + "fi", weights)], name + "gelu")
    return added(inner, "fo", x, "n2")


def _head(g: GraphBuilder, x: str, name: str, output: str, weights: dict[str, Array]) -> None:
    matrix = g.constant(name + ".weight", weights[name + ".weight"].T)
    bias = g.constant(name + ".bias", weights[name + ".bias"])
    g.node("Add", [g.node("MatMul", [x, matrix], name + ".product"), bias], output)


def view_graph(weights: dict[str, Array], layers: int) -> onnx.ModelProto:
    """Build the graph of a view.

    Input: vectors float32 [n, width], embeddings with positions. Outputs: scores float32
    [n, N_SCORES]; the states of the last layer, float32 [n, width]; keys and values float32
    [layers, n, width].
    """
    g = GraphBuilder()
    kept: dict[str, list[str]] = {"k": [], "v": []}
    entered = g.norm("vectors", "n0", weights, EPSILON)
    x = _layers(g, entered, weights, (layers, WIDTH, HEADS), kept)
    _head(g, x, "head", "scores", weights)
    g.node("Concat", kept["k"], "keys", axis=0)
    g.node("Concat", kept["v"], "values", axis=0)
    kept_shape: Value = (FLOAT, [layers, "n", WIDTH])
    outputs: dict[str, Value] = {"scores": (FLOAT, ["n", N_SCORES]), x: (FLOAT, ["n", WIDTH])}
    outputs |= {"keys": kept_shape, "values": kept_shape}
    return g.model("view", {"vectors": (FLOAT, ["n", WIDTH])}, outputs)


def _layers(
    g: GraphBuilder,
    x: str,
    weights: dict[str, Array],
    sizes: tuple[int, int, int],
    kept: dict[str, list[str]],
) -> str:
    """Add layers whose tokens attend to each other; x and the result are [rows, width].

    Args:
        sizes: layers, width, heads. kept: gets the keys ("k") and values ("v") of each layer.
    """
    layers, width, heads = sizes
    g.constant("flat", np.array([-1, width]))
    g.constant("one", np.array([1, -1, width]))
    for i in range(layers):
        name = f"layers.{i}."
        parts = []
        for part in "qkv":
            flat = g.biased(x, name + part, weights)
            parts.append(g.node("Reshape", [flat, "one"], f"{name}{part}.one"))
            if part != "q":
                kept[part].append(parts[-1])
        seen = g.node("MultiHeadAttention", parts, name + "seen", num_heads=heads)
        x = _rest(g, x, g.node("Reshape", [seen, "flat"], name + "seen.flat"), name, weights)
    return x


def needed_graph(weights: dict[str, Array]) -> onnx.ModelProto:
    """Build the graph of what a request needs.

    Input: states float32 [n, WIDTH], the reader's, of what the user wrote. Output: needed float32
    [n, eligible + telling], log odds.
    """
    width, heads, _, layers = NEEDED_SIZES
    g = GraphBuilder()
    entered = g.norm(g.biased("states", "enter", weights), "n0", weights, EPSILON)
    x = _layers(g, entered, weights, (layers, width, heads), {"k": [], "v": []})
    _head(g, x, "head", "needed", weights)
    needed: Value = (FLOAT, ["n", len(ELIGIBLE) + len(TELLING)])
    return g.model("needed", {"states": (FLOAT, ["n", WIDTH])}, {"needed": needed})


def runs_graph(weights: dict[str, Array], layers: int) -> onnx.ModelProto:
    """Build the graph of runs.

    Inputs: vectors float32 [rows, pieces, width]; absent float32 [rows, pieces], 0 at pieces and
    -10000 at padding; keys and values as `view_graph` gives them. Output: scores float32
    [rows, pieces, N_SCORES].
    """
    g = GraphBuilder()
    size = WIDTH // HEADS
    g.constant("flat", np.array([-1, WIDTH]))
    g.constant("heads", np.array([-1, HEADS, size]))
    g.constant("scaled", np.array(size**-0.5, np.float32))
    g.constant("first", np.array(0))
    shape = g.node("Shape", ["absent"], "shape")  # [rows, pieces]
    by_rows = g.node(  # [heads, rows, pieces, size]
        "Concat",
        [g.constant("n.heads", np.array([HEADS])), shape, g.constant("n.size", np.array([size]))],
        "shape.rows",
        axis=0,
    )
    g.constant("by.heads", np.array([HEADS, -1, size]))
    pieces = g.node("Gather", [shape, g.constant("i1", np.array([1]))], "n.pieces")
    beside = g.node("Concat", ["n.heads", g.constant("any", np.array([-1])), pieces], "s.b", axis=0)
    own_shape = g.node("Concat", ["n.heads", shape, pieces], "shape.own", axis=0)
    shown = g.node("Shape", ["keys"], "shape.view")
    seen_n = g.node("Gather", [shown, "i1"], "n.view")
    sizes = g.node("Concat", [seen_n, pieces], "n.parts", axis=0)
    hidden = g.node("Unsqueeze", ["absent", g.constant("axes", np.array([0, 2]))], "hidden")
    x = g.norm(g.node("Reshape", ["vectors", "flat"], "rows"), "n0", weights, EPSILON)
    for i in range(layers):
        name = f"layers.{i}."
        own = {}
        for part in "qkv":
            flat = g.biased(x, name + part, weights)
            cut = g.node("Reshape", [flat, "heads"], f"{name}{part}.cut")
            own[part] = g.node("Transpose", [cut], f"{name}{part}.heads", perm=[1, 0, 2])
        at = g.constant(f"{name}at", np.array(i))
        view = {}
        for part, source in (("k", "keys"), ("v", "values")):
            one = g.node("Gather", [source, at], f"{name}{part}.layer", axis=0)
            cut = g.node("Reshape", [one, "heads"], f"{name}{part}.layer.cut")
            perm = [1, 2, 0] if part == "k" else [1, 0, 2]
            view[part] = g.node("Transpose", [cut], f"{name}{part}.view", perm=perm)
        q = g.node("Mul", [own["q"], "scaled"], name + "q.scaled")
        to_view = g.node("MatMul", [q, view["k"]], name + "to.view")
        rows = {
            part: g.node(
                "Reshape", [q if part == "q" else own[part], by_rows], f"{name}{part}.rows"
            )
            for part in "qkv"
        }
        turned = g.node("Transpose", [rows["k"]], name + "k.turned", perm=[0, 1, 3, 2])
        to_own = g.node("MatMul", [rows["q"], turned], name + "to.own.raw")
        to_own = g.node("Add", [to_own, hidden], name + "to.own")
        to_own = g.node("Reshape", [to_own, beside], name + "to.own.flat")
        odds = g.node("Concat", [to_view, to_own], name + "odds", axis=2)
        shares = g.node("Softmax", [odds], name + "shares", axis=-1)
        parts = [name + "of.view", name + "of.own"]
        g.node("Split", [shares, sizes], name + "cut", outputs=parts, axis=2)
        from_view = g.node("MatMul", [parts[0], view["v"]], name + "from.view")
        of_own = g.node("Reshape", [parts[1], own_shape], name + "of.own.rows")
        from_own = g.node("MatMul", [of_own, rows["v"]], name + "from.own.rows")
        from_own = g.node("Reshape", [from_own, "by.heads"], name + "from.own")
        both = g.node("Sum", [from_view, from_own], name + "seen.heads")
        back = g.node("Transpose", [both], name + "seen.back", perm=[1, 0, 2])
        x = _rest(g, x, g.node("Reshape", [back, "flat"], name + "seen"), name, weights)
    _head(g, x, "head", "scores.flat", weights)
    last = g.constant("n.scores", np.array([N_SCORES]))
    out = g.node("Concat", [shape, last], "shape.scores", axis=0)
    g.node("Reshape", ["scores.flat", out], "scores")
    view_shape: Value = (FLOAT, [layers, "n", WIDTH])
    inputs: dict[str, Value] = {
        "vectors": (FLOAT, ["rows", "pieces", WIDTH]),
        "absent": (FLOAT, ["rows", "pieces"]),
        "keys": view_shape,
        "values": view_shape,
    }
    return g.model("runs", inputs, {"scores": (FLOAT, ["rows", "pieces", N_SCORES])})


def save(models: dict[str, onnx.ModelProto], folder: Path) -> None:
    """Write the graphs, and their large tensors once, into one file."""
    offsets: dict[str, tuple[int, bytes]] = {}
    with (folder / WEIGHTS).open("wb") as file:
        for model in models.values():
            for tensor in model.graph.initializer:
                raw = numpy_helper.to_array(tensor).tobytes()
                if len(raw) < _LARGE:
                    continue
                if tensor.name not in offsets:
                    file.write(b"\0" * (-file.tell() % 64))
                    offsets[tensor.name] = file.tell(), raw
                    file.write(raw)
                offset, known = offsets[tensor.name]
                assert known == raw, tensor.name
                tensor.ClearField("raw_data")
                tensor.data_location = TensorProto.EXTERNAL
                told = (("location", WEIGHTS), ("offset", str(offset)), ("length", str(len(raw))))
                for key, value in told:
                    tensor.external_data.add(key=key, value=value)
    for name, model in models.items():
        (folder / f"{name}.onnx").write_bytes(model.SerializeToString())
