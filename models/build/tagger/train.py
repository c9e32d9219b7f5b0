"""Train the tagger.

    python -m models.build.tagger.train --data FOLDER --minutes 22

The masked LM is read from its packaged graph and stays as it is. Writes the checkpoint, and its log
(minutes, steps, losses) as JSON beside it.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from models.build.fetch import CACHE
from models.build.tagger.batches import Batch, Batches, Mixture
from models.build.tagger.data import ALL, CLASSES, Example
from models.build.tagger.encode import N_PIECES, NOTHING, Encoded, word_label
from models.build.tagger.model import LAYERS, Body, Tagger, packaged_arrays, packaged_state

RATE, NEW_FACTOR, WARMUP_STEPS, SMALLEST_RATE = 1e-4, 8.0, 40, 0.02
"""Learning rate; factor for parts that begin at random; share of the rate at the end."""
TOLD_SHARE = 0.5  # of the loss
SAVE_EVERY = 100
FAST_BFLOAT16 = torch.cpu._is_amx_tile_supported()
"""Elsewhere floats of 32 bits are faster: with AVX-512 alone a step took 1.71 s, not 1.28."""
PROMPTED = "steps with open prompts"
"""Key of the log: steps of a checkpoint from when the open prompts were training texts."""


@dataclass
class Average:
    """Running average that begins with the first value."""

    keep: float
    value: float | None = None

    def add(self, value: float) -> None:
        """Take in another value."""
        before = value if self.value is None else self.value
        self.value = self.keep * before + (1 - self.keep) * value


def class_scores(model: Tagger, batch: Batch, states: dict[int, Tensor], present: Tensor) -> Tensor:
    """Return the model's scores of a batch."""
    pieces = torch.tensor([row + [0] * (N_PIECES - len(row)) for row in batch.pieces])
    lengths = torch.tensor([len(row) for row in batch.pieces])
    valid = torch.arange(N_PIECES) < lengths[:, None]
    scores: Tensor = model(
        pieces, valid, torch.tensor(batch.at), torch.tensor(batch.row), states, present
    )
    return scores


def class_loss(scores: Tensor, batch: Batch) -> Tensor:
    """Return the mean loss of all words: cross entropy where the class is known; where only some
    classes are excluded, that none of them is likely.
    """
    log_shares = torch.log_softmax(scores.float(), -1)
    loss = scores.new_zeros((), dtype=torch.float32)
    if batch.known:
        rows, pieces, labels, weights = (list(part) for part in zip(*batch.known, strict=True))
        loss = loss - (log_shares[rows, pieces, labels] * torch.tensor(weights)).sum()
    if batch.partial:
        rows, pieces, excluded = (list(part) for part in zip(*batch.partial, strict=True))
        wrong = torch.tensor([[False, *(c in some for c in CLASSES)] for some in excluded])
        share = (log_shares[rows, pieces].exp() * wrong).sum(-1).clamp(max=0.999)
        loss = loss - torch.log(1 - share).sum()
    return loss / max(len(batch.known) + len(batch.partial), 1)


def told_loss(scores: Tensor, batch: Batch) -> Tensor | None:
    """Return the mean cross entropy of visible tokens whose class is known, None without any.

    Args:
        scores: float [texts, length, 1 + n_classes].
    """
    wanted = torch.full(scores.shape[:2], NOTHING)
    for row, (example, encoded) in enumerate(batch.texts):
        if tells(example):
            wanted[row, : len(encoded.chars)] = torch.tensor(told_labels(example, encoded))
    if not (wanted != NOTHING).any():
        return None
    flat = scores.float().reshape(-1, scores.shape[-1])
    return nn.functional.cross_entropy(flat, wanted.reshape(-1), ignore_index=NOTHING)


def tells(example: Example) -> bool:
    """Return True if all that is sensitive in a text is labelled, facts in common words too."""
    return example.labelled == ALL and example.source != "pupa"


def told_labels(example: Example, encoded: Encoded) -> list[int]:
    """Return the class of each token of the skeleton: 0 none, NOTHING for slots."""
    labels = [NOTHING] * len(encoded.chars)
    for i, char in enumerate(encoded.chars.tolist()):
        if char >= 0:
            labels[i] = word_label(char, char + 1, example.spans)
    return labels


def optimizer_of(model: Tagger, rate: float) -> torch.optim.AdamW:
    """Return the optimizer; parts that begin at random learn faster."""
    new = ("head", "told", "slot")
    named = list(model.named_parameters())
    groups = [
        {
            "params": [p for name, p in named if not name.startswith(new)],
            "factor": 1.0,
            "weight_decay": 0.01,
        },
        {
            "params": [p for name, p in named if name.startswith(new)],
            "factor": NEW_FACTOR,
            "weight_decay": 0.0,
        },
    ]
    return torch.optim.AdamW(groups, lr=rate, betas=(0.9, 0.98), fused=True)


class Training:
    """A model in training, with its averages.

    Args:
        told: only what visible words tell is trained, all else stays as it is.
    """

    def __init__(self, model: Tagger, body: Body, rate: float, told: bool = False) -> None:
        self.model, self.body, self.rate, self.told = model, body, rate, told
        for name, parameter in model.named_parameters():
            parameter.requires_grad_(not told or name.startswith("told"))
        self.optimizer = optimizer_of(model, rate)
        self.loss, self.told_loss = Average(0.97), Average(0.98)
        self.step = 0

    def learn(self, batch: Batch, progress: float) -> None:
        """Do one step; `progress` is the share of the time that has passed."""
        if self.told:
            batch = Batch([text for text in batch.texts if tells(text[0])])
        if not batch.texts:
            return
        states, present = self.body.states([encoded for _, encoded in batch.texts])
        now = min(1.0, (self.step + 1) / WARMUP_STEPS) * max(SMALLEST_RATE, 1 - progress)
        for group in self.optimizer.param_groups:
            group["lr"] = self.rate * group["factor"] * now
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=FAST_BFLOAT16):
            visible = self.model.visible(states, present)
            told = told_loss(visible, batch)
            loss = TOLD_SHARE * (visible.sum() * 0 if told is None else told)
            if not self.told:
                loss = loss + class_loss(class_scores(self.model, batch, states, present), batch)
        if told is not None:
            self.told_loss.add(float(told.detach()))
        self.optimizer.zero_grad(set_to_none=True)
        torch.autograd.backward(loss)
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.step += 1
        self.loss.add(float(loss.detach()))


def checkpoint(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Return the state and the log of a checkpoint, or of a packaged tagger's folder."""
    if path.is_dir():
        facts = json.loads((path / "manifest.json").read_text("utf-8"))
        return packaged_state(path), facts["training"]
    return torch.load(path), json.loads(path.with_suffix(".json").read_text("utf-8"))


def train(options: argparse.Namespace) -> None:
    """Train for the wanted minutes of wall time."""
    torch.manual_seed(1)
    mixture = Mixture(options.data, options.seed, options.topics)
    model = Tagger(packaged_arrays(), options.layers)
    before: dict[str, Any] = {"minutes": 0.0, "steps": 0}
    if options.resume is not None:
        state, before = checkpoint(options.resume)
        kept = model.load_state_dict(state, strict=not options.told)
        if any(not name.startswith("told") for name in kept.missing_keys):
            raise ValueError(f"{options.resume} lacks {kept.missing_keys}")
    model.train()
    run = Training(model, Body(options.threads, options.layers), options.rate, options.told)

    def save(minutes: float) -> None:
        earlier = before.get("told", {}) if options.told else {}
        done: dict[str, Any] = {
            "minutes": round(earlier.get("minutes", 0.0) + minutes, 1),
            "steps": earlier.get("steps", 0) + run.step,
            "loss": run.told_loss.value,
        }
        log = (
            before | {"told": done}
            if options.told
            else {
                "minutes": round(before["minutes"] + minutes, 1),
                "steps": before["steps"] + run.step,
                "batch": options.batch,
                "layers": list(options.layers),
                "threads": options.threads,
                "loss": run.loss.value,
                "told": done,
                **mixture.counts,
                **{key: before[key] for key in (PROMPTED,) if key in before},
            }
        )
        torch.save(model.state_dict(), options.out)
        options.out.with_suffix(".json").write_text(json.dumps(log, indent=1), "utf-8")

    begin = time.monotonic()
    for batch in Batches(mixture, options.batch):
        minutes = (time.monotonic() - begin) / 60
        if minutes >= options.minutes:
            break
        run.learn(batch, minutes / options.minutes)
        if run.step % 20 == 0:
            print(
                f"step {run.step} progress {minutes / options.minutes:.3f} "
                f"loss {run.loss.value or 0:.4f} told {run.told_loss.value or 0:.4f}",
                flush=True,
            )
        if run.step % SAVE_EVERY == 0:
            save(minutes)
    save((time.monotonic() - begin) / 60)


def main() -> None:
    """Read the options and train."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder of data, see the package")
    parser.add_argument("--minutes", type=float, default=22)
    parser.add_argument("--out", type=Path, default=CACHE / "tagger.pt")
    parser.add_argument("--resume", type=Path, help="checkpoint, or folder of a packaged tagger")
    parser.add_argument("--layers", type=int, nargs="+", default=LAYERS)
    parser.add_argument("--rate", type=float, default=RATE)
    parser.add_argument("--batch", type=int, default=24, help="texts")
    parser.add_argument("--seed", type=int, default=7, help="of the texts")
    parser.add_argument(
        "--topics", nargs="*", default=(), help="of templates that half of all are drawn from"
    )
    parser.add_argument(
        "--told", action="store_true", help="train only the head of visible words, on --resume"
    )
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    train(options)


if __name__ == "__main__":
    main()
