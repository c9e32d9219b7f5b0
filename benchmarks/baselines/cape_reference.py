"""A straightforward reading of published Cape: the yardstick for speed.

One float32 forward pass per private word, logits and distances over the full vocabulary in numpy,
numpy's generator. The float32 graph is the shipped one with its integer matrices turned back into
floats.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from numpy.typing import NDArray
from onnx import helper, numpy_helper

from sanitizer.lm import WordPieces, centred_rows, model_folder
from sanitizer.pipeline import Sanitizer

Array = NDArray[np.float32]


def float_session(folder: Path, threads: int) -> onnxruntime.InferenceSession:
    """The shipped graph in float32: inputs are not rounded, and weights are floats."""
    model = onnx.load(str(folder / "model.onnx"))
    arrays = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
    arrays["head.weight"] = arrays["words.q"][arrays["head.outputs"]].T  # a node of the graph
    made = {output: node for node in model.graph.node for output in node.output}
    nodes: list[onnx.NodeProto] = []
    for node in model.graph.node:
        (name, *_) = node.output
        if node.op_type == "Mul" and node.input[0].endswith(".rows.product"):
            quantized = made[node.input[0]]
            q, scale = (arrays[quantized.input[i]].astype(np.float32) for i in (1, 3))
            matrix = numpy_helper.from_array(q * scale, name + ".float")
            model.graph.initializer.append(matrix)
            source = made[quantized.input[0]].input[0]
            nodes.append(helper.make_node("MatMul", [source, matrix.name], [name]))
        elif ".rows." not in name and not name.endswith((".abs", ".max")):
            nodes.append(node)
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )


class CapeReference:
    """Published Cape, word by word.

    Args:
        epsilon: nominal, per word.
    """

    def __init__(self, epsilon: float, threads: int, n_buckets: int = 50) -> None:
        folder = model_folder("masked-lm")
        self.session = float_session(folder, threads)
        scale = np.load(folder / "embedding_scale.npy")[:, None]
        self.table: Array = np.load(folder / "embeddings.npy").astype(np.float32) * scale
        self.bias: Array = np.load(folder / "bias.npy")
        self.pieces, self.sanitizer = (
            WordPieces(folder / "tokenizer.json"),
            Sanitizer(model=folder, policy="words"),
        )
        self.epsilon, self.n_buckets = epsilon, n_buckets
        self.random = np.random.default_rng()
        self.range = (-12.0, 12.0)

    def sanitize(self, text: str) -> list[str]:
        """One replacement per private word."""
        masked = self.sanitizer.inner.mask(text)
        if not masked.words:
            return []
        every = np.arange(len(masked.words))
        ids, begins, ends = masked.original_ids()
        rows = centred_rows(0, ids, begins, ends, every, self.pieces.mask, 256)
        return [
            self._replace(row.ids, int(row.at[0]), unit.text)
            for row, unit in zip(rows, masked.words, strict=True)
        ]

    def _replace(self, ids: NDArray[np.int64], at: int, word: str) -> str:
        row = np.concatenate([[self.pieces.cls], ids, [self.pieces.sep]])[None]
        feed = {
            "input_ids": row,
            "attention_mask": np.ones_like(row),
            "positions_at": np.array([at + 1]),
        }
        (states,) = self.session.run(["states"], feed)
        logits = states[0] @ self.table.T + self.bias
        low, high = self.range
        scores = np.clip((logits - low) / (high - low), 0, 1)
        centre = self.table[self.pieces.encode(word)].mean(axis=0)
        distance = np.linalg.norm(self.table - centre, axis=1)
        closeness = np.exp(-(distance - distance.min()) / (distance.max() - distance.min()))
        utility = np.sqrt(scores) * closeness
        edges = np.linspace(utility.min(), utility.max(), self.n_buckets + 1)
        bucket = np.clip(np.digitize(utility, edges) - 1, 0, self.n_buckets - 1)
        used = np.unique(bucket)
        means = np.array([utility[bucket == b].mean() for b in used])
        odds = np.exp(self.epsilon * means / 2)
        chosen = self.random.choice(used, p=odds / odds.sum())
        return self.pieces.token(int(self.random.choice(np.flatnonzero(bucket == chosen))))
