"""Print the graph with which `sanitizer.lm.masked` tests whether a processor's int8 products
saturate.

    python -m models.build.probe
"""

from __future__ import annotations

import numpy as np
from onnx import helper

from models.build.graph import FLOAT, Graph, Value

N_INPUTS, N_OUTPUTS = 16, 16
LARGEST = 127


def build() -> bytes:
    """Build one product as in the masked model: inputs rounded to unsigned bytes, times the largest
    weights.
    """
    g = Graph()
    weights = np.full((N_INPUTS, N_OUTPUTS), LARGEST, np.int8)
    inputs = ["x", g.constant("w", weights), g.constant("s", np.full((), 1, np.float32))]
    g.nodes.append(helper.make_node("DynamicQuantizeMatMul", inputs, ["y"], domain="com.microsoft"))
    value: Value = (FLOAT, ["n", N_INPUTS])
    found: bytes = g.model("probe", {"x": value}, {"y": value}).SerializeToString(
        deterministic=True
    )
    return found


if __name__ == "__main__":
    before, after = build().split(bytes([LARGEST]) * (N_INPUTS * N_OUTPUTS))
    print(f"{before!r}\n{after!r}")
