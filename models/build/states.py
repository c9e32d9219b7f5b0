"""Let the packaged masked LM give out the states that the tagger reads, and nothing else anew.

    python -m models.build.states

Adds an Identity node and a graph output `states_K`, float32 [batch, length, width], for the input
of each layer K of LAYERS. Weights and other outputs stay as they are, to the bit.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import onnx
from onnx import TensorProto, helper

from models.build.encoder import WIDTH

FOLDER = Path(__file__).resolve().parents[1] / "masked-lm"
LAYERS = (1, 3, 5)


def with_states(model: onnx.ModelProto, layers: tuple[int, ...] = LAYERS) -> onnx.ModelProto:
    """Return the model with the inputs of these layers as outputs."""
    known = {output.name for output in model.graph.output}
    for layer in layers:
        name = f"states_{layer}"
        if name not in known:
            source = f"layers.{layer - 1}.norm2.out"
            node = helper.make_node("Identity", [source], [name], name=name)
            model.graph.node.append(node)
            shape: list[str | int | None] = ["batch", "length", WIDTH]
            model.graph.output.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))
    return model


def main() -> None:
    """Rewrite model.onnx and its entry in the manifest."""
    path = FOLDER / "model.onnx"
    model = with_states(onnx.load(path, load_external_data=False))
    path.write_bytes(model.SerializeToString())
    listed = FOLDER / "manifest.json"
    data = json.loads(listed.read_text("utf-8"))
    data["files"]["model.onnx"] = {
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        "bytes": path.stat().st_size,
    }
    text = json.dumps(data, indent=2, ensure_ascii=False) + "\n"
    listed.write_text(text, "utf-8")
    digest = hashlib.sha256(text.encode()).hexdigest()
    (FOLDER / "manifest.json.sha256").write_text(digest + "\n", "ascii")


if __name__ == "__main__":
    main()
