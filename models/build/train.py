"""Train the masked LM: whole body, one stage, learning rate by elapsed time.

    python -m models.build.train --tokens FILE [--start FILE|FOLDER] --minutes 6 --device cuda

It begins from a checkpoint, or from a packaged model's folder; without either, from the pinned
encoder with a new head. The word vectors stay as they are: other packaged files share them. The
matrices are rounded in every step as they are shipped (`encoder.rounded`). The schedule runs on the
clock (warm-up, then linear decay to zero at `--minutes`), so a run on a slower machine ends at the
same time with fewer steps. A checkpoint is written every few minutes, to begin from again.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from models.build.encoder import Layer, MaskedLM, recover
from models.build.fetch import CACHE
from models.build.tokens import CLS, MASK, SEP
from models.build.windows import Batch, Corpus

RATE, WARMUP_STEPS, DECAY = 4e-4, 150, 0.01
LENGTHS = ((64, 0.45), (128, 0.40), (256, 0.15))
"""Lengths of windows, and their shares of batches."""
WEIGHTS = {"wikipedia": 0.32, "imdb": 0.20, "everyday": 0.48}
"""How often each part of the corpus is drawn from."""


def evaluation_windows(
    ids: np.ndarray, n_rows: int, length: int = 48, seed: int = 7
) -> tuple[Tensor, Tensor]:
    """Return fixed held-out windows, 15 % of tokens masked one by one: (ids, targets) int64
    [n_rows, length].
    """
    rng = np.random.default_rng(seed)
    begins = rng.integers(0, len(ids) - length, n_rows)
    found = np.stack([ids[b : b + length - 2] for b in begins]).astype(np.int64)
    masked = (rng.random(found.shape) < 0.15) & (found != SEP)
    edge = np.full((n_rows, 1), -100, dtype=np.int64)
    shown = np.hstack([edge * 0 + CLS, np.where(masked, MASK, found), edge * 0 + SEP])
    return torch.from_numpy(shown), torch.from_numpy(
        np.hstack([edge, np.where(masked, found, -100), edge])
    )


@torch.no_grad()
def evaluate(model: MaskedLM, ids: Tensor, targets: Tensor) -> dict[str, float]:
    """Return top-1, top-50 and mean negative log-likelihood (nats) over all masked tokens."""
    hits, hits50, loss, n = 0, 0, 0.0, 0
    device = model.bias.device
    for begin in range(0, len(ids), 64):
        flat = targets[begin : begin + 64].reshape(-1).to(device)
        at = torch.nonzero(flat != -100)[:, 0]
        with torch.autocast(device.type, dtype=torch.bfloat16):
            logits = model(ids[begin : begin + 64].to(device), at).float()
        wanted = flat[at]
        best = logits.topk(50).indices == wanted[:, None]
        hits, hits50 = hits + int(best[:, 0].sum()), hits50 + int(best.sum())
        loss += float(torch.nn.functional.cross_entropy(logits, wanted, reduction="sum"))
        n += len(wanted)
    return {"top1": hits / n, "top50": hits50 / n, "nll": loss / n, "n_masked": n}


def optimizer_of(model: MaskedLM, device: str) -> torch.optim.AdamW:
    """Return the optimizer; the word vectors are not trained."""
    model.words.weight.requires_grad_(False)
    trained = [p for p in model.parameters() if p.requires_grad]
    groups = [
        {"params": [p for p in trained if p.ndim == 2], "weight_decay": DECAY},
        {"params": [p for p in trained if p.ndim < 2], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=RATE, betas=(0.9, 0.98), fused=True)


@dataclass
class Clock:
    """How far a training is: `progress` from 0 to 1, `steps`, `tokens` seen."""

    minutes: float
    begin: float = field(default_factory=time.monotonic)
    steps: int = 0
    tokens: int = 0

    @property
    def elapsed(self) -> float:
        """Minutes since it began."""
        return (time.monotonic() - self.begin) / 60

    @property
    def progress(self) -> float:
        return self.elapsed / self.minutes


class Training:
    """A model in training.

    Args:
        model: on its device. corpus: on the same. size: tokens of a batch.
    """

    def __init__(self, model: MaskedLM, corpus: Corpus, size: int, rate: float) -> None:
        self.model, self.corpus, self.size, self.rate = model, corpus, size, rate
        self.device = model.bias.device.type
        self.optimizer = optimizer_of(model, self.device)
        self.average = torch.zeros((), device=self.device)

    def drawn(self) -> Batch:
        """Return another batch."""
        shares = torch.tensor([share for _, share in LENGTHS])
        length, _ = LENGTHS[int(torch.multinomial(shares, 1))]
        return self.corpus.batch(max(1, self.size // length), length)

    def learn(self, clock: Clock) -> None:
        """Do one step."""
        batch = self.drawn()
        now = min(1.0, (clock.steps + 1) / WARMUP_STEPS) * max(0.0, 1.0 - clock.progress)
        for group in self.optimizer.param_groups:
            group["lr"] = self.rate * now
        with torch.autocast(self.device, dtype=torch.bfloat16):
            logits = self.model(batch.ids, batch.at)
        loss = torch.nn.functional.cross_entropy(logits.float(), batch.targets)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        keep = 0.99 if clock.steps else 0.0
        self.average = keep * self.average + (1 - keep) * loss.detach()
        clock.steps, clock.tokens = clock.steps + 1, clock.tokens + batch.ids.numel()


def train(
    model: MaskedLM,
    corpus: Corpus,
    held: dict[str, tuple[Tensor, Tensor]],
    options: argparse.Namespace,
) -> None:
    """Train for the wanted minutes of wall time; checkpoint and log beside `options.out`."""
    run = Training(model, corpus, options.size, options.rate)
    log: list[dict[str, object]] = []
    clock = Clock(options.minutes)
    last = 0.0

    def save() -> None:
        found = {name: evaluate(model, *windows) for name, windows in held.items()}
        entry = {"step": clock.steps, "minutes": clock.elapsed, "tokens": clock.tokens, **found}
        log.append(entry)
        print(json.dumps(entry), flush=True)
        torch.save(model.state_dict(), options.out)
        options.out.with_suffix(".json").write_text(json.dumps(log, indent=1))

    while clock.progress < 1.0:
        run.learn(clock)
        if clock.steps % 50 == 0:
            rate = clock.tokens / (60 * clock.elapsed)
            print(
                f"step {clock.steps} progress {clock.progress:.3f} "
                f"loss {float(run.average):.3f} tokens/s {rate:.0f}",
                flush=True,
            )
        if clock.elapsed - last > options.every:
            last = clock.elapsed
            save()
    save()


def begun(start: Path | None) -> MaskedLM:
    """Return the model to train."""
    model = MaskedLM()
    if start is None:
        recover(model)
    elif start.is_dir():
        from models.build.package import packaged  # which needs the package

        model.load_state_dict(packaged(start).state_dict())
    else:
        model.load_state_dict(torch.load(start))
    return model


def compiled(model: MaskedLM, warm: Callable[[], None]) -> bool:
    """Compile what follows the attention of each layer; return False where that does not work."""
    plain = Layer.after
    try:
        Layer.after = torch.compile(plain, dynamic=False)  # type: ignore[method-assign]
        warm()
    except Exception as error:  # whatever the compiler raises: it only saves time
        Layer.after = plain  # type: ignore[method-assign]
        print(f"not compiled: {error!r}"[:400], flush=True)
        return False
    return True


def main() -> None:
    """Read the options and train."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tokens", type=Path, required=True, help="written by models.build.tokens")
    parser.add_argument("--start", type=Path, help="checkpoint, or folder of a packaged model")
    parser.add_argument("--minutes", type=float, default=7)
    parser.add_argument("--every", type=float, default=1.5, help="minutes between checkpoints")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--size", type=int, default=65_536, help="tokens of a batch")
    parser.add_argument("--rate", type=float, default=RATE)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=CACHE / "masked-lm.pt")
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    torch.set_float32_matmul_precision("high")
    model = begun(options.start)
    first = {name: value.clone() for name, value in model.state_dict().items()}
    model.to(options.device)
    with np.load(options.tokens) as arrays:
        parts = [torch.from_numpy(arrays[name].astype(np.int32)) for name in WEIGHTS]
        continues = torch.from_numpy(arrays["continues"]).to(options.device)
        held = {
            name: evaluation_windows(arrays[key], 384, length)
            for name, key, length in (
                ("48", "heldout", 48),
                ("128", "heldout", 128),
                ("everyday 48", "everyday_heldout", 48),
            )
        }
    weights = list(WEIGHTS.values())
    corpus = Corpus([part.to(options.device) for part in parts], weights, continues)
    if options.device == "cuda":
        warm = Training(model, corpus, options.size, 0.0)
        begin = time.monotonic()
        done = compiled(model, lambda: warm.learn(Clock(1.0)))
        print(f"compiled {done} in {time.monotonic() - begin:.0f} s", flush=True)
        model.load_state_dict(first)
    train(model, corpus, held, options)


if __name__ == "__main__":
    main()
