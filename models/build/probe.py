"""Print the graph with which `sanitizer.lm.masked` tests whether a processor's int8 products
saturate.

    python -m models.build.probe
"""

from __future__ import annotations

import numpy as np
from onnx import TensorProto, helper, numpy_helper

N_INPUTS, N_OUTPUTS = 16, 16
LARGEST = 127


def build() -> bytes:
    """Build one product as in the masked model: inputs rounded to unsigned bytes, times the largest
    weights.
    """
    weights = np.full((N_INPUTS, N_OUTPUTS), LARGEST, np.int8)
    constants = [
        numpy_helper.from_array(weights, "w"),
        numpy_helper.from_array(np.full((), 1, np.float32), "s"),
    ]
    node = helper.make_node("DynamicQuantizeMatMul", ["x", "w", "s"], ["y"], domain="com.microsoft")
    values = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", N_INPUTS])
        for name in ("x", "y")
    ]
    graph = helper.make_graph([node], "probe", values[:1], values[1:], constants)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    found: bytes = helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString(
        deterministic=True
    )
    return found


if __name__ == "__main__":
    before, after = build().split(bytes([LARGEST]) * (N_INPUTS * N_OUTPUTS))
    print(f"{before!r}\n{after!r}")
