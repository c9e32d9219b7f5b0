"""The causal model in plain numpy, float32, straight from a GGUF: the slow, readable oracle of the
graph.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sanitizer.lm.weights_file import Gguf, ModelShape, floats

Floats = NDArray[np.float32]


class Reference:
    """The model of one GGUF, in float32.

    Args:
        path: the GGUF.
    """

    def __init__(self, path: Path) -> None:
        self._gguf = Gguf(path)
        self.shape = ModelShape.of(self._gguf)

    def logits(self, ids: NDArray[np.int64]) -> Floats:
        """Return the scores after every token: float32 [len(ids), n_vocabulary]."""
        s = self.shape
        x = self._weight("token_embd")[ids]
        for i in range(s.n_layers):
            x = x + self._attended(self._norm(x, f"blk.{i}.attn_norm"), f"blk.{i}.attn")
            y = self._norm(x, f"blk.{i}.ffn_norm")
            gate = self._times(y, f"blk.{i}.ffn_gate")
            inner = gate / (1 + np.exp(-gate)) * self._times(y, f"blk.{i}.ffn_up")
            x = x + self._times(inner, f"blk.{i}.ffn_down")
        return self._times(self._norm(x, "output_norm"), "token_embd")

    def _attended(self, x: Floats, name: str) -> Floats:
        s, n = self.shape, len(x)
        q, k, v = (self._times(x, f"{name}_{part}").reshape(n, -1, s.head) for part in "qkv")
        q, k = self._rotated(q), self._rotated(k)
        future = np.triu(np.full((n, n), -np.inf, np.float32), 1)
        found = np.empty_like(q)
        for h in range(s.n_heads):
            shared = h // (s.n_heads // s.n_kv_heads)
            scores = q[:, h] @ k[:, shared].T / np.sqrt(np.float32(s.head)) + future
            weights = np.exp(scores - scores.max(axis=1, keepdims=True))
            found[:, h] = weights / weights.sum(axis=1, keepdims=True) @ v[:, shared]
        return self._times(found.reshape(n, -1), f"{name}_output")

    def _rotated(self, x: Floats) -> Floats:
        """Rotate neighbouring pairs, as the GGUF stores them: x float32 [n, heads, head]."""
        half = self.shape.head // 2
        angles = np.arange(len(x))[:, None, None] * self.shape.theta ** (-np.arange(half) / half)
        turned = (x[..., 0::2] + 1j * x[..., 1::2]) * np.exp(1j * angles)
        return np.stack([turned.real, turned.imag], axis=-1).reshape(x.shape).astype(np.float32)

    def _norm(self, x: Floats, name: str) -> Floats:
        return np.asarray(
            x / np.sqrt((x * x).mean(axis=1, keepdims=True) + self.shape.eps) * self._weight(name)
        )

    def _times(self, x: Floats, name: str) -> Floats:
        return np.asarray(x @ self._weight(name).T)

    def _weight(self, name: str) -> Floats:
        return floats(self._gguf.tensors[f"{name}.weight"])
