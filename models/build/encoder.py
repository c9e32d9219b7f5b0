"""DistilBERT-cased as a PyTorch module, with weights recovered from the pinned int8 tagger.

The pinned package holds the encoder only, fine-tuned as an edit tagger; its prediction head is not
published. The head here (transform, tied decoder, bias) is new and has to be trained.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from torch import Tensor, nn

from models.build.fetch import CACHE, member

N_LAYERS, N_HEADS, WIDTH, FFN, N_VOCABULARY, N_POSITIONS = 6, 12, 768, 3072, 28996, 512
EPS = 1e-12
LEVELS = 31
"""Values of a weight of the layers on each side of zero. With 6 bits no sum of two of their
products saturates on processors without VNNI (those of the head's 8 bits may: `sanitizer.lm` asks
for the precise mode there), and packed files are a quarter smaller than with 8."""


def rounded(weight: Tensor) -> Tensor:
    """Return a matrix [n_out, n_in] rounded to the values it is shipped with, LEVELS on each side
    of zero for each output; its gradient is that of the matrix.
    """
    scale = weight.detach().abs().amax(1, keepdim=True).clamp(min=1e-8) / LEVELS
    return weight + (torch.round(weight / scale) * scale - weight).detach()


class Rounded(nn.Linear):
    """A linear layer that multiplies with its rounded matrix."""

    def forward(self, x: Tensor) -> Tensor:
        return nn.functional.linear(x, rounded(self.weight), self.bias)


class Layer(nn.Module):
    """One post-norm transformer layer."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv = Rounded(WIDTH, 3 * WIDTH)
        self.out = Rounded(WIDTH, WIDTH)
        self.norm1 = nn.LayerNorm(WIDTH, eps=EPS)
        self.ffn1 = Rounded(WIDTH, FFN)
        self.ffn2 = Rounded(FFN, WIDTH)
        self.norm2 = nn.LayerNorm(WIDTH, eps=EPS)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return the next states.

        Args:
            x: float [batch, length, WIDTH]. mask: bool [batch, 1, 1, length], False at padding.
        """
        b, t, _ = x.shape
        flat = self.qkv(x.reshape(-1, WIDTH))
        q, k, v = flat.view(b, t, 3, N_HEADS, WIDTH // N_HEADS).permute(2, 0, 3, 1, 4)
        attended = nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.after(x.reshape(-1, WIDTH), attended.transpose(1, 2).reshape(-1, WIDTH)).view(
            b, t, WIDTH
        )

    def after(self, x: Tensor, attended: Tensor) -> Tensor:
        """Return what follows the attention: float [rows, WIDTH], as both arguments are."""
        x = self.norm1(x + self.out(attended))
        result: Tensor = self.norm2(x + self.ffn2(nn.functional.gelu(self.ffn1(x))))
        return result


class MaskedLM(nn.Module):
    """Encoder, head transform and tied decoder."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(N_VOCABULARY, WIDTH)
        self.positions = nn.Embedding(N_POSITIONS, WIDTH)
        self.norm = nn.LayerNorm(WIDTH, eps=EPS)
        self.layers = nn.ModuleList(Layer() for _ in range(N_LAYERS))
        self.transform = Rounded(WIDTH, WIDTH)
        self.head_norm = nn.LayerNorm(WIDTH, eps=EPS)
        self.bias = nn.Parameter(torch.zeros(N_VOCABULARY))
        nn.init.eye_(self.transform.weight)
        nn.init.zeros_(self.transform.bias)

    def hidden(self, ids: Tensor, at: Tensor) -> Tensor:
        """Return head states, float [n_at, WIDTH], at flat positions `at` of ids, int64 [batch,
        length].
        """
        x = self.norm(self.words(ids) + self.positions.weight[: ids.shape[1]])
        for layer in self.layers:
            x = layer(x)
        picked = x.reshape(-1, WIDTH)[at]
        result: Tensor = self.head_norm(nn.functional.gelu(self.transform(picked)))
        return result

    def forward(self, ids: Tensor, at: Tensor) -> Tensor:
        """Return logits over the vocabulary, float [n_at, N_VOCABULARY]."""
        return nn.functional.linear(self.hidden(ids, at), self.words.weight, self.bias)


def _dequantized(path_bytes: bytes) -> dict[str, np.ndarray]:
    """Return the tagger's float arrays by parameter name; matrices as [in, out]."""
    graph = onnx.load_model_from_string(path_bytes).graph
    raw = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
    floats = {n: a for n, a in raw.items() if a.dtype == np.float32}
    for name in [n for n in raw if n.endswith("_quantized")]:
        stem = name.removesuffix("_quantized")
        scale, zero = raw[stem + "_scale"], raw[stem + "_zero_point"]
        floats[stem] = (raw[name].astype(np.float32) - zero.astype(np.float32)) * scale
    producer = {out: node for node in graph.node for out in node.output}
    for node in graph.node:
        if node.op_type != "MatMul":
            continue
        source = producer.get(node.input[1])
        if source is not None and source.input[0].endswith("_quantized"):
            floats[node.name] = floats[source.input[0].removesuffix("_quantized")]
    return floats


def recover(model: MaskedLM, cache: Path = CACHE) -> None:
    """Copy the tagger's encoder weights into `model`."""
    arrays = _dequantized(member("distilbert", "tagger.onnx", cache))

    def put(parameter: Tensor, array: np.ndarray) -> None:
        with torch.no_grad():
            parameter.copy_(torch.from_numpy(np.ascontiguousarray(array)))

    top = "distilbert.embeddings."
    put(model.words.weight, arrays[top + "word_embeddings.weight"])
    put(model.positions.weight, arrays[top + "position_embeddings.weight"])
    put(model.norm.weight, arrays[top + "LayerNorm.weight"])
    put(model.norm.bias, arrays[top + "LayerNorm.bias"])
    for i, layer in enumerate(model.layers):
        assert isinstance(layer, Layer)
        node, name = f"/distilbert/transformer/layer.{i}/", f"distilbert.transformer.layer.{i}."
        qkv = [arrays[f"{node}attention/{p}_lin/MatMul"].T for p in "qkv"]
        put(layer.qkv.weight, np.concatenate(qkv))
        put(
            layer.qkv.bias, np.concatenate([arrays[f"{name}attention.{p}_lin.bias"] for p in "qkv"])
        )
        put(layer.out.weight, arrays[f"{node}attention/out_lin/MatMul"].T)
        put(layer.out.bias, arrays[f"{name}attention.out_lin.bias"])
        put(layer.ffn1.weight, arrays[f"{node}ffn/lin1/MatMul"].T)
        put(layer.ffn1.bias, arrays[f"{name}ffn.lin1.bias"])
        put(layer.ffn2.weight, arrays[f"{node}ffn/lin2/MatMul"].T)
        put(layer.ffn2.bias, arrays[f"{name}ffn.lin2.bias"])
        for ours, theirs in (("norm1", "sa_layer_norm"), ("norm2", "output_layer_norm")):
            put(getattr(layer, ours).weight, arrays[f"{name}{theirs}.weight"])
            put(getattr(layer, ours).bias, arrays[f"{name}{theirs}.bias"])
