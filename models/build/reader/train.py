"""Train the reader, or go on from a checkpoint.

`python -m models.build.reader.train --minutes 120` writes build-cache/reader/reader.pt; a run that
is cut short goes on with --resume. Half an hour on two cores reads some 4 million tokens.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from models.build.reader.encode import CutPieces, Window, encoded
from models.build.reader.model import N_CLASSES, Batch, Reader
from models.build.reader.sources import CACHE
from models.build.reader.texts import OLDER, TEXTS, Labelled, Span, all_texts, load
from sanitizer.detect.view import _functions, languages
from sanitizer.lm.reader import CLASSES
from sanitizer.text import Policy

PROMPTS = TEXTS.parents[3] / "benchmarks" / "usefulness" / "prompts"
CHOOSE = frozenset(["c01"])
"""Hands by whose texts thresholds are chosen; never trained on."""
LOWER, UPPER = 0.12, 0.02
"""Shares of texts that are read in lower case and in capitals."""
N_SORTED = 256
POSITIVE = 1.3


def training_texts(mix: Path | None) -> tuple[list[Labelled], list[Labelled]]:
    """Return the labelled texts, and those of templates and corpora."""
    texts = [each for each in all_texts() if each.hand not in CHOOSE]
    for name in OLDER:
        texts += load(PROMPTS / f"{name}.txt")
    foreign = load(PROMPTS / "foreign.txt")  # the even ones are a test
    texts += [each for each in foreign if int(each.name.split("-")[-1]) % 2]
    others = []
    for line in mix.read_text("utf-8").splitlines() if mix else ():
        row = json.loads(line)
        spans = tuple(Span(*span) for span in row["spans"])
        its = frozenset(row["labelled"])
        others.append(Labelled("", row["source"], "en", "", row["text"], spans, its))
    return texts, others


def varied(each: Labelled, rng: random.Random) -> Labelled:
    """Return a text, now and then in lower case or in capitals."""
    drawn = rng.random()
    for share, changed in ((LOWER, each.text.lower()), (LOWER + UPPER, each.text.upper())):
        if drawn < share:
            same = len(changed) == len(each.text)
            return replace(each, text=changed) if same else each
    return each


def windows(
    mix: Path | None, share: float, rng: random.Random
) -> Iterator[tuple[Window, frozenset[str]]]:
    """Yield windows without end, each with the classes that are labelled in it.

    Args:
        share: of labelled texts, which come in turns; what is written meanwhile is read in the next.
    """
    pieces, kinds = CutPieces(), sorted(Policy.preset("balanced").identifiers)
    texts, others = training_texts(mix)
    turn: list[Labelled] = []
    while True:
        if not others or rng.random() < share:
            if not turn:
                languages.cache_clear()
                _functions.cache_clear()
                texts, others = training_texts(mix)
                print(len(texts), "labelled texts,", len(others), "others", flush=True)
                turn = rng.sample(texts, len(texts))
            each = varied(turn.pop(), rng)
        else:
            each = rng.choice(others)
        for window in encoded(each, pieces, kinds):
            yield window, each.classes


def batches(
    source: Iterator[tuple[Window, frozenset[str]]], tokens: int, rng: random.Random
) -> Iterator[list[tuple[Window, frozenset[str]]]]:
    """Yield batches of windows of like lengths."""
    while True:
        some = sorted((next(source) for _ in range(N_SORTED)), key=lambda pair: len(pair[0].ids))
        groups: list[list[tuple[Window, frozenset[str]]]] = [[]]
        for pair in some:
            if groups[-1] and (len(groups[-1]) + 1) * len(pair[0].ids) > tokens:
                groups.append([])
            groups[-1].append(pair)
        rng.shuffle(groups)
        yield from groups


def loss_of(scores: Tensor, needs: Tensor, batch: Batch, known: Tensor) -> Tensor:
    """Return the loss of one batch.

    Args:
        known: bool [n, classes]: which classes are labelled in the text of each word.
    """
    scores = scores.float()
    logs = torch.log_softmax(scores[:, :N_CLASSES], -1)
    labels = batch.labels
    whole = known.all(1)
    sure = (labels > 0) | ((labels == 0) & whole)
    weights = torch.where(labels[sure] > 0, POSITIVE, 1.0)
    loss = -(logs[sure].gather(1, labels[sure][:, None])[:, 0] * weights).sum()
    # In a corpus no label means: none of its classes.
    partly = (labels == 0) & ~whole
    share = (logs[partly, 1:].exp() * known[partly]).sum(1).clamp(max=0.999)
    loss = (loss - torch.log(1 - share).sum()) / max(1, int(sure.sum() + partly.sum()))
    inside = labels > 0
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
    parser.add_argument("--share", type=float, default=0.75)
    parser.add_argument("--tokens", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--mix", type=Path)
    parser.add_argument("--resume", type=Path)
    parser.add_argument("--out", type=Path, default=CACHE / "reader.pt")
    parser.add_argument("--threads", type=int, default=2)
    chosen = parser.parse_args()
    torch.manual_seed(chosen.seed)
    torch.set_num_threads(chosen.threads)
    rng = random.Random(chosen.seed)
    model = Reader()
    if chosen.resume:
        adopt(model, torch.load(chosen.resume))
    model.train()
    heads = [p for n, p in model.named_parameters() if n.startswith(("head", "need"))]
    rest = [p for n, p in model.named_parameters() if not n.startswith(("head", "need", "emb"))]
    groups = [{"params": rest, "times": 1.0}, {"params": heads, "times": 5.0}]
    optimizer = torch.optim.AdamW(groups, lr=chosen.rate, weight_decay=0.01, betas=(0.9, 0.98))
    begun, seen, average = time.time(), 0, None
    source = batches(windows(chosen.mix, chosen.share, rng), chosen.tokens, rng)
    for step, pairs in enumerate(source):
        done = (time.time() - begun) / 60 / chosen.minutes
        if done >= 1:
            break
        batch = Batch([window for window, _ in pairs])
        known = torch.tensor(
            [
                [kind in classes for kind in CLASSES]
                for window, classes in pairs
                for _ in window.words
            ]
        )
        with torch.autocast("cpu", dtype=torch.bfloat16):
            scores, needs = model(batch)
        loss = loss_of(scores, needs, batch, known)
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


def adopt(model: Reader, state: dict[str, Tensor]) -> None:
    """Load weights; heads of another size keep what they share: classes come first."""
    own = model.state_dict()
    for name, value in state.items():
        if name not in own:
            continue
        if own[name].shape == value.shape:
            own[name].copy_(value)
        elif name.startswith("head"):
            n = len(CLASSES)  # of an earlier reader: none, 17 classes, begins; IDENTIFIER is new
            own[name][:n].copy_(value[:n])
            own[name][N_CLASSES].copy_(value[n])
    model.load_state_dict(own)


if __name__ == "__main__":
    main()
