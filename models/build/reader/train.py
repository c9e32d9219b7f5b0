"""Train the reader, or go on from a checkpoint.

`python -m models.build.reader.train --minutes 120` writes build-cache/reader/reader.pt; a run that
is cut short goes on with --resume. Half an hour on two cores reads some 4 million tokens.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from models.build.reader.encode import CutPieces, Window, encoded
from models.build.reader.labelled import OLDER, TEXTS, Labelled, all_texts, load
from models.build.reader.model import N_CLASSES, Batch, Reader
from models.build.reader.sources import CACHE
from sanitizer.text.policy import Policy

PROMPTS = TEXTS.parents[3] / "benchmarks" / "usefulness" / "prompts"
CHOOSE = frozenset(["c01"])
"""Hands by whose texts thresholds are chosen; never trained on."""
LOWER, UPPER = 0.12, 0.02
"""Shares of texts that are read in lower case and in capitals."""
N_SORTED = 256
POSITIVE = 1.3


def training_texts() -> list[Labelled]:
    """Return the labelled texts but for those that choose thresholds, and the project's prompts."""
    texts = [each for each in all_texts() if each.hand not in CHOOSE]
    for name in OLDER:
        texts += load(PROMPTS / f"{name}.txt")
    foreign = load(PROMPTS / "foreign.txt")  # the even ones are a test
    return texts + [each for each in foreign if int(each.name.split("-")[-1]) % 2]


def varied(each: Labelled, rng: random.Random) -> Labelled:
    """Return a text, now and then in lower case or in capitals."""
    drawn = rng.random()
    for share, changed in ((LOWER, each.text.lower()), (LOWER + UPPER, each.text.upper())):
        if drawn < share:
            same = len(changed) == len(each.text)
            return replace(each, text=changed) if same else each
    return each


def windows(rng: random.Random) -> Iterator[Window]:
    """Yield windows without end: the texts in turns, those written meanwhile in the next turn."""
    pieces, kinds = CutPieces(), sorted(Policy.preset("balanced").identifiers)
    while True:
        texts = training_texts()
        print(len(texts), "labelled texts", flush=True)
        for each in rng.sample(texts, len(texts)):
            yield from encoded(varied(each, rng), pieces, kinds)


def batches(source: Iterator[Window], tokens: int, rng: random.Random) -> Iterator[list[Window]]:
    """Yield batches of windows of like lengths."""
    while True:
        some = sorted((next(source) for _ in range(N_SORTED)), key=lambda each: len(each.ids))
        groups: list[list[Window]] = [[]]
        for window in some:
            if groups[-1] and (len(groups[-1]) + 1) * len(window.ids) > tokens:
                groups.append([])
            groups[-1].append(window)
        rng.shuffle(groups)
        yield from groups


def loss_of(scores: Tensor, needs: Tensor, batch: Batch) -> Tensor:
    """Return the loss of one batch: of classes, begins, genders, and what is needed."""
    scores = scores.float()
    sure = batch.labels >= 0
    logs = torch.log_softmax(scores[sure][:, :N_CLASSES], -1)
    weights = torch.where(batch.labels[sure] > 0, POSITIVE, 1.0)
    loss = -(logs.gather(1, batch.labels[sure][:, None])[:, 0] * weights).mean()
    inside = batch.labels > 0
    if inside.any():
        begins = scores[inside, N_CLASSES]
        loss = loss + 0.2 * F.binary_cross_entropy_with_logits(begins, batch.begins[inside].float())
    gendered = batch.genders >= 0
    if gendered.any():
        genders = scores[gendered, N_CLASSES + 1 :]
        loss = loss + 0.1 * F.cross_entropy(genders, batch.genders[gendered])
    if len(batch.needs):
        odds = needs.float().gather(1, batch.need_classes[:, None])[:, 0]
        loss = loss + 0.15 * F.binary_cross_entropy_with_logits(odds, batch.needs.float())
    return loss


def saved(model: Reader, path: Path) -> None:
    """Write all but the embeddings, which do not change."""
    state = {k: v for k, v in model.state_dict().items() if not k.startswith("emb.")}
    partial = path.with_suffix(".part")
    torch.save(state, partial)
    partial.replace(path)


def main() -> None:
    """Train."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=120)
    parser.add_argument("--rate", type=float, default=3e-4)
    parser.add_argument("--tokens", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--resume", type=Path)
    parser.add_argument("--out", type=Path, default=CACHE / "reader.pt")
    parser.add_argument("--threads", type=int, default=2)
    chosen = parser.parse_args()
    torch.manual_seed(chosen.seed)
    torch.set_num_threads(chosen.threads)
    rng = random.Random(chosen.seed)
    model = Reader()
    if chosen.resume:
        model.load_state_dict(torch.load(chosen.resume), strict=False)  # no embeddings
    model.train()
    heads = [p for n, p in model.named_parameters() if n.startswith(("head", "need"))]
    rest = [p for n, p in model.named_parameters() if not n.startswith(("head", "need", "emb"))]
    groups = [{"params": rest, "times": 1.0}, {"params": heads, "times": 5.0}]
    optimizer = torch.optim.AdamW(groups, lr=chosen.rate, weight_decay=0.01, betas=(0.9, 0.98))
    begun, seen, average = time.time(), 0, None
    source = batches(windows(rng), chosen.tokens, rng)
    for step, some in enumerate(source):
        done = (time.time() - begun) / 60 / chosen.minutes
        if done >= 1:
            break
        batch = Batch(some)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            scores, needs = model(batch)
        loss = loss_of(scores, needs, batch)
        for group in optimizer.param_groups:
            warm = min(1.0, (step + 1) / 100)
            group["lr"] = chosen.rate * group["times"] * warm * max(0.02, 1 - done)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_([*rest, *heads], 1.0)
        optimizer.step()
        seen += batch.ids.numel()
        average = loss.item() if average is None else 0.98 * average + 0.02 * loss.item()
        if step % 50 == 0:
            rate = seen / (time.time() - begun)
            print(f"{done:.3f} step {step} loss {average:.4f}, {rate:.0f} tokens/s", flush=True)
        if step % 100 == 99:
            saved(model, chosen.out)
    saved(model, chosen.out)


if __name__ == "__main__":
    main()
