"""The reader for training: the first layers of multilingual-e5-small, and heads."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from models.build.reader.encode import Window
from models.build.reader.sources import CACHE, body
from sanitizer.lm.reader import CLASSES, ELIGIBLE, GENDERS

LAYERS = 6
DROPOUT = 0.1
N_CLASSES = len(CLASSES) + 1


class Batch:
    """Windows as tensors.

    Attributes:
        ids, positions, own: [batch, tokens]; own is 1 for pieces of runs. mask: bool. words, slots:
            flat places. labels, begins, genders: of the words. needs: (class, 0 or 1) of the slots.
    """

    def __init__(self, windows: Sequence[Window]) -> None:
        length = max(len(window.ids) for window in windows)
        shape = len(windows), length
        self.ids = torch.ones(shape, dtype=torch.long)
        self.positions = torch.ones(shape, dtype=torch.long)
        part = torch.full(shape, -1)
        for row, window in enumerate(windows):
            n = len(window.ids)
            self.ids[row, :n] = torch.tensor(window.ids)
            self.positions[row, :n] = torch.tensor(window.positions)
            part[row, :n] = torch.tensor(window.parts)
        self.own = (part > 0).long()
        asks, gives = part[:, :, None], part[:, None, :]
        mask = (gives == 0) | ((gives == asks) & (gives > 0))
        self.mask = (mask | torch.eye(length, dtype=torch.bool))[:, None]
        words = [
            (row * length + token, *told)
            for row, window in enumerate(windows)
            for token, *told in window.words
        ]
        self.words, self.labels, self.begins, self.genders = torch.tensor(words).T
        needs = [
            (row * length + token, kind, value)
            for row, window in enumerate(windows)
            for token, kind, value in window.needed
        ]
        found = torch.tensor(needs or torch.zeros(0, 3)).long().reshape(-1, 3).T
        self.slots, self.need_classes, self.needs = found


class Layer(nn.Module):
    """One layer: attention, then two products, each with a norm behind it."""

    def __init__(self, width: int, heads: int, inner: int, epsilon: float) -> None:
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v, self.o = (nn.Linear(width, width) for _ in range(4))
        self.n1, self.n2 = (nn.LayerNorm(width, epsilon) for _ in range(2))
        self.fi, self.fo = nn.Linear(width, inner), nn.Linear(inner, width)
        self.drop = nn.Dropout(DROPOUT)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """Return the next states.

        Args:
            x: [batch, tokens, width]. mask: bool [batch, 1, tokens, tokens], who sees whom.
        """
        batch, length, width = x.shape

        def parted(t: Tensor) -> Tensor:
            return t.view(batch, length, self.heads, width // self.heads).transpose(1, 2)

        seen = F.scaled_dot_product_attention(
            parted(self.q(x)), parted(self.k(x)), parted(self.v(x)), attn_mask=mask
        )
        x = self.n1(x + self.drop(self.o(seen.transpose(1, 2).reshape(batch, length, width))))
        return self.n2(x + self.drop(self.fo(F.gelu(self.fi(x)))))


class Reader(nn.Module):
    """Scores for words: classes, begins, gender; and for slots: needed."""

    def __init__(self, layers: int = LAYERS) -> None:
        super().__init__()
        sizes, arrays = body()
        width, inner = int(sizes["width"]), int(sizes["inner"])
        kept = np.load(CACHE / "kept.npy")

        def tensor(name: str, *shape: int) -> Tensor:
            return torch.tensor(arrays[name]).view(*shape)

        table = tensor("emb.word", -1, width)[torch.tensor(kept, dtype=torch.long)]
        self.emb = nn.Embedding.from_pretrained(table, freeze=True)
        self.pos = nn.Parameter(tensor("emb.pos", -1, width))
        self.typ = nn.Parameter(tensor("emb.type", -1, width)[:1].repeat(2, 1))
        self.n0 = nn.LayerNorm(width, sizes["epsilon"])
        self.n0.weight.data = tensor("emb.ln.w", width)
        self.n0.bias.data = tensor("emb.ln.b", width)
        self.layers = nn.ModuleList(
            Layer(width, int(sizes["heads"]), inner, sizes["epsilon"]) for _ in range(layers)
        )
        products = [("q", "q", width, width), ("k", "k", width, width), ("v", "v", width, width)]
        products += [("o", "ao", width, width), ("fi", "fi", inner, width)]
        products += [("fo", "fo", width, inner)]
        for i, layer in enumerate(self.layers):
            for name, source, rows, columns in products:
                product = getattr(layer, name)
                product.weight.data = tensor(f"l{i}.{source}.w", rows, columns)
                product.bias.data = tensor(f"l{i}.{source}.b", rows)
            for name, source in (("n1", "aln"), ("n2", "oln")):
                norm = getattr(layer, name)
                norm.weight.data = tensor(f"l{i}.{source}.w", width)
                norm.bias.data = tensor(f"l{i}.{source}.b", width)
        self.head = nn.Linear(width, N_CLASSES + 1 + len(GENDERS))
        self.need = nn.Linear(width, len(ELIGIBLE))
        self.drop = nn.Dropout(DROPOUT)
        for head in (self.head, self.need):
            nn.init.normal_(head.weight, std=0.02)
            nn.init.zeros_(head.bias)

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Return scores of the words [n, classes + 1 + genders] and of the slots [m, eligible]."""
        x = self.emb(batch.ids) + self.pos[batch.positions] + self.typ[batch.own]
        x = self.drop(self.n0(x))
        for layer in self.layers:
            x = layer(x, batch.mask)
        flat = self.drop(x.reshape(-1, x.shape[-1]))
        return self.head(flat[batch.words]), self.need(flat[batch.slots])
