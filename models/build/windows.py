"""Windows of public text with parts hidden, drawn on the device that trains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from models.build.tokens import CLS, MASK, SEP

REGIMES = (0.45, 0.30, 0.25)
"""Shares of windows: single tokens at random (12 to 30 %, pieces of words among them: the usual
yardstick); whole words at random (10 to 40 %), a masked word being ONE mask, as in use; as in use:
nine tenths of the words that are not among the 200 or the 3,000 most frequent tokens. Where a word
of several tokens became one mask there is no target."""
N_FREQUENT = (200, 3000)
TARGETS = 0.2
"""Targets of a batch, as a share of its tokens; others that were hidden are not learnt from."""
REACH = 3
"""Tokens read for each token of a window, since hidden words shrink to one mask."""


@dataclass
class Batch:
    """ids: int64 [rows, length]; at: int64 [n], flat places; targets: int64 [n], -100 for none."""

    ids: Tensor
    at: Tensor
    targets: Tensor


def _ends(starts: Tensor) -> Tensor:
    """Return where words end, given where they start."""
    return torch.cat([starts[1:], starts.new_ones(1)])


def _rare(ids: Tensor, continues: Tensor) -> Tensor:
    """Return bool [2, n_vocabulary]: what is not among the N_FREQUENT most frequent whole words."""
    starts = ~continues[ids.long()]
    counts = torch.bincount(ids[starts & _ends(starts)].long(), minlength=len(continues))
    order = counts.argsort(descending=True)
    found = torch.ones(len(N_FREQUENT), len(continues), dtype=torch.bool, device=ids.device)
    for row, n in enumerate(N_FREQUENT):
        found[row, order[:n]] = False
    return found


class Corpus:
    """Token ids on a device, and what windows are drawn from.

    Args:
        parts: int64 [n] arrays of token ids, documents joined by [SEP]. weights: of each part, how
            often it is drawn from. continues: bool [n_vocabulary], True for pieces that continue a
            word. counted: ids whose most frequent tokens "as in use" shows, else all parts.
    """

    def __init__(
        self,
        parts: Sequence[Tensor],
        weights: Sequence[float],
        continues: Tensor,
        counted: Tensor | None = None,
    ) -> None:
        self.ids = torch.cat(list(parts))
        self.device = self.ids.device
        self.starts = ~continues[self.ids.long()]
        self.single = self.starts & _ends(self.starts)
        self.hide = _rare(self.ids if counted is None else counted, continues)
        sizes = torch.tensor([len(part) for part in parts])
        self._begins = torch.cat([torch.zeros(1, dtype=torch.long), sizes.cumsum(0)[:-1]])
        self._sizes, self._weights = sizes, torch.tensor(weights)

    def _first(self, n_rows: int, reach: int) -> Tensor:
        """Places where windows begin, int64 [n_rows]."""
        part = torch.multinomial(self._weights, n_rows, replacement=True)
        within = (torch.rand(n_rows) * (self._sizes[part] - reach - 64)).long()
        return (self._begins[part] + within).to(self.device)

    def batch(
        self, n_rows: int, length: int, regimes: Sequence[float] = REGIMES, targets: float = TARGETS
    ) -> Batch:
        """Draw windows of `length` tokens, [CLS] and [SEP] among them."""
        reach, device = REACH * length, self.device
        places = self._first(n_rows, reach)[:, None] + torch.arange(reach, device=device)
        ids, starts, single = self.ids[places].long(), self.starts[places], self.single[places]
        steps = torch.arange(reach, device=device).expand_as(ids)
        # Each token's word, named by the place of its first token.
        word = torch.where(starts, steps, 0).cummax(1).values
        regime = torch.multinomial(torch.tensor(regimes), n_rows, replacement=True).to(device)
        low, high = torch.tensor([[0.12, 0.10, 0.9], [0.30, 0.40, 0.9]], device=device)
        rate = low[regime] + (high - low)[regime] * torch.rand(n_rows, device=device)
        drawn = torch.rand(ids.shape, device=device) < rate[:, None]
        rare = self.hide[torch.randint(len(self.hide), (n_rows,), device=device)[:, None], ids]
        words = (regime > 0)[:, None]
        chosen = drawn & torch.where((regime == 2)[:, None], rare | ~single, True)
        masked = torch.where(words, chosen.gather(1, word), chosen)
        masked &= torch.where(words, ids.gather(1, word), ids) != SEP
        target = torch.where(masked & (single | ~words), ids, -100)
        kept = starts | ~masked | ~words
        row = torch.where(masked, MASK, ids)
        return self._packed(row, target, kept, length, targets)

    def _packed(
        self, row: Tensor, target: Tensor, kept: Tensor, length: int, targets: float
    ) -> Batch:
        """Leave out what is not kept, and choose the targets."""
        n_rows, inner = len(row), length - 2
        place = torch.where(kept, kept.cumsum(1) - 1, inner).clamp(max=inner)
        shown = torch.full((n_rows, length + 1), SEP, device=row.device)
        wanted = torch.full((n_rows, length + 1), -100, device=row.device)
        shown[:, 1:].scatter_(1, place, row)
        wanted[:, 1:].scatter_(1, place, target)
        shown, wanted = shown[:, :length].contiguous(), wanted[:, :length].contiguous()
        shown[:, 0], shown[:, -1], wanted[:, -1] = CLS, SEP, -100
        flat = wanted.view(-1)
        n = int(targets * len(flat))
        at = (torch.rand(flat.shape, device=flat.device) + (flat >= 0)).topk(n, sorted=False)[1]
        return Batch(shown, at, flat[at])
