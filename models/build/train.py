"""Train the masked LM: new head, whole body unfrozen, learning rate by elapsed time.

    python -m models.build.train --minutes 75 --threads 2

The schedule runs on the clock (warm-up, then linear decay to zero at `--minutes`), so a run on a
slower machine ends at the same time with fewer steps. A checkpoint is written every few minutes.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np
import torch

from models.build.encoder import MaskedLM, recover
from models.build.fetch import CACHE
from models.build.tokens import CLS, MASK, SEP, Tokens, Windows, tokens

BODY_RATE, HEAD_FACTOR, WARMUP_STEPS = 1.2e-4, 8.0, 80


def evaluation_windows(
    corpus: Tokens, n_rows: int, length: int = 48, seed: int = 7
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return fixed held-out windows, 15 % of tokens masked one by one: (ids, targets) int64
    [n_rows, length].
    """
    rng = np.random.default_rng(seed)
    begins = rng.integers(0, len(corpus.ids) - length, n_rows)
    ids = np.stack([corpus.ids[b : b + length - 2] for b in begins]).astype(np.int64)
    masked = (rng.random(ids.shape) < 0.15) & (ids != SEP)
    edge = np.full((n_rows, 1), -100, dtype=np.int64)
    shown = np.hstack([edge * 0 + CLS, np.where(masked, MASK, ids), edge * 0 + SEP])
    return torch.from_numpy(shown), torch.from_numpy(
        np.hstack([edge, np.where(masked, ids, -100), edge])
    )


@torch.no_grad()
def evaluate(model: MaskedLM, ids: torch.Tensor, targets: torch.Tensor) -> dict[str, float]:
    """Return top-1, top-50 and mean negative log-likelihood (nats) over all masked tokens."""
    hits, hits50, loss, n = 0, 0, 0.0, 0
    for begin in range(0, len(ids), 64):
        flat = targets[begin : begin + 64].reshape(-1)
        at = torch.nonzero(flat != -100)[:, 0]
        with torch.autocast("cpu", dtype=torch.bfloat16):
            logits = model(ids[begin : begin + 64], at).float()
        wanted = flat[at]
        best = logits.topk(50).indices == wanted[:, None]
        hits, hits50 = hits + int(best[:, 0].sum()), hits50 + int(best.sum())
        loss += float(torch.nn.functional.cross_entropy(logits, wanted, reduction="sum"))
        n += len(wanted)
    return {"top1": hits / n, "top50": hits50 / n, "nll": loss / n, "n_masked": n}


def _groups(model: MaskedLM) -> list[dict[str, object]]:
    head = [*model.transform.parameters(), *model.head_norm.parameters(), model.bias]
    fresh = {id(p) for p in head}
    body = [p for p in model.parameters() if id(p) not in fresh]
    matrices = [p for p in body if p.ndim == 2]
    vectors = [p for p in body if p.ndim < 2]
    return [
        {"params": matrices, "factor": 1.0, "weight_decay": 0.01},
        {"params": vectors, "factor": 1.0, "weight_decay": 0.0},
        {"params": head, "factor": HEAD_FACTOR, "weight_decay": 0.0},
    ]


def _rate(progress: float, step: int) -> float:
    return min(1.0, (step + 1) / WARMUP_STEPS) * max(0.0, 1.0 - progress)


def train(
    minutes: float,
    out: Path,
    seed: int = 1,
    every: float = 4.0,
    resume: Path | None = None,
    done: float = 0.0,
) -> None:
    """Train for `minutes` of wall time; checkpoints and `<out>.json` (the log) beside `out`.

    Args:
        resume: go on from this checkpoint, at the point `done` (0 to 1) of the decay.
    """
    torch.manual_seed(seed)
    model = MaskedLM()
    recover(model)
    corpus = tokens("train")
    counts = np.bincount(corpus.ids, minlength=len(model.bias)) + 1.0
    with torch.no_grad():
        model.bias.copy_(torch.from_numpy(np.log(counts / counts.sum())).float())
    if resume is not None:
        model.load_state_dict(torch.load(resume))
    windows = Windows(corpus, np.random.default_rng(seed))
    held_ids, held_targets = evaluation_windows(tokens("heldout"), 384)
    optimizer = torch.optim.AdamW(_groups(model), lr=BODY_RATE, betas=(0.9, 0.98), fused=True)
    log, begin, last, step, seen, average = [], time.monotonic(), time.monotonic(), 0, 0, 10.0
    while (progress := (time.monotonic() - begin) / (60 * minutes)) < 1.0:
        for group in optimizer.param_groups:
            group["lr"] = BODY_RATE * group["factor"] * _rate(done + (1 - done) * progress, step)
        long = step % 4 == 3
        ids, targets = (
            torch.from_numpy(a) for a in windows.batch(12 if long else 32, 128 if long else 48)
        )
        at = torch.nonzero(targets.reshape(-1) != -100)[:, 0]
        with torch.autocast("cpu", dtype=torch.bfloat16):
            logits = model(ids, at)
        loss = torch.nn.functional.cross_entropy(logits.float(), targets.reshape(-1)[at])
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        step, seen, average = step + 1, seen + ids.numel(), 0.98 * average + 0.02 * float(loss)
        if step % 20 == 0:
            rate = seen / (time.monotonic() - begin)
            print(
                f"step {step} progress {progress:.3f} loss {average:.3f} tokens/s {rate:.0f}",
                flush=True,
            )
        if time.monotonic() - last > 60 * every:
            last = time.monotonic()
            entry = {
                "step": step,
                "minutes": (last - begin) / 60,
                "tokens": seen,
                **evaluate(model, held_ids, held_targets),
            }
            log.append(entry)
            print(json.dumps(entry), flush=True)
            torch.save(model.state_dict(), out)
            out.with_suffix(".json").write_text(json.dumps(log, indent=1))
    log.append(
        {
            "step": step,
            "minutes": (time.monotonic() - begin) / 60,
            "tokens": seen,
            **evaluate(model, held_ids, held_targets),
        }
    )
    print(json.dumps(log[-1]), flush=True)
    torch.save(model.state_dict(), out)
    out.with_suffix(".json").write_text(json.dumps(log, indent=1))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=75)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--resume", type=Path, help="checkpoint to go on from")
    parser.add_argument(
        "--done", type=float, default=0.0, help="share of the decay already behind it"
    )
    parser.add_argument("--out", type=Path, default=CACHE / "masked-lm.pt")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    train(options.minutes, options.out, resume=options.resume, done=options.done)
