"""What the scripts that write ONNX graphs share: nodes and constants, in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

CONTRIB = "com.microsoft"
OF_ONNXRUNTIME = frozenset(
    "DynamicQuantizeMatMul Gelu GroupQueryAttention MatMulIntegerToFloat MatMulNBits "
    "MultiHeadAttention QuickGelu SkipLayerNormalization SkipSimplifiedLayerNormalization".split()
)
"""Operators of onnxruntime's own; the others are of ONNX."""
FLOAT, INT32, INT64 = TensorProto.FLOAT, TensorProto.INT32, TensorProto.INT64
Value = tuple[int, Sequence[int | str | None]]
"""Type and shape of an input or output."""


class Graph:
    """Nodes and constants collected so far."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, onnx.TensorProto] = {}

    def constant(
        self, name: str, value: NDArray[np.generic] | np.generic | Sequence[Any] | float
    ) -> str:
        """Add a constant, unless there is one of this name; return its name."""
        if name not in self.constants:
            array = np.ascontiguousarray(value).reshape(np.shape(value))
            self.constants[name] = numpy_helper.from_array(array, name)
        return name

    def node(
        self,
        op: str,
        inputs: Sequence[str],
        name: str,
        outputs: Sequence[str] | None = None,
        **attributes: Any,
    ) -> str:
        """Add one operation; return the name of its result, `name` unless `outputs` is given."""
        domain = CONTRIB if op in OF_ONNXRUNTIME else ""
        self.nodes.append(
            helper.make_node(op, inputs, outputs or [name], name=name, domain=domain, **attributes)
        )
        return name

    def norm(
        self, x: str, name: str, weights: Mapping[str, NDArray[Any]], eps: float, skip: str = ""
    ) -> str:
        """Add a layer normalization of x, or of x + skip; return the result's name."""
        parts = [self.constant(f"{name}.{p}", weights[f"{name}.{p}"]) for p in ("weight", "bias")]
        if skip:
            return self.node(
                "SkipLayerNormalization", [x, skip, *parts], name + ".out", epsilon=eps
            )
        return self.node("LayerNormalization", [x, *parts], name + ".out", axis=-1, epsilon=eps)

    def model(
        self,
        name: str,
        inputs: Mapping[str, Value],
        outputs: Mapping[str, Value],
        opset: int = 17,
    ) -> onnx.ModelProto:
        """Return the model."""
        first, last = (
            [helper.make_tensor_value_info(n, kind, shape) for n, (kind, shape) in values.items()]
            for values in (inputs, outputs)
        )
        graph = helper.make_graph(self.nodes, name, first, last, list(self.constants.values()))
        opsets = [helper.make_opsetid("", opset), helper.make_opsetid(CONTRIB, 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=8)
