"""Train what says of each thing of a text whether the request needs it, and write it.

`python -m models.build.reader.needed` after `package`: reads the labelled texts with the packaged
reader, trains two small layers over the states of what the user wrote, chooses the least odds by
the hands of `CHOOSE`, and writes needed.onnx with them into models/reader, in ten minutes.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from numpy.typing import NDArray
from torch import Tensor, nn

from models.build import manifest
from models.build.reader import export
from models.build.reader.labelled import Labelled, Span, all_texts
from models.build.reader.model import Layer
from models.build.reader.package import FOLDER
from sanitizer.detect.detector import asked, encode_view, together
from sanitizer.detect.view import opened
from sanitizer.identifiers.search import find
from sanitizer.lm.reader import ELIGIBLE, TELLING, OnnxReader
from sanitizer.text.policy import Policy

CHOOSE = re.compile(r"c01|h13|h01|end|enf|eng|n08")
"""Hands by whose texts training ends and thresholds are chosen; never trained on."""
WIDTH, HEADS, INNER, LAYERS = export.NEEDED_SIZES
TOKENS = 6000
MOST_LEFT = 0.07
"""Share of what is not needed that leaves, of all classes, by the texts that choose the odds."""
MOST_TAKEN = 0.03
"""Share of other numbers and dates that are taken for ages and births."""
_AGED = re.compile(
    r"(?i)(?:\baged?|\bage:?|\balter:?|\bâge:?|\bedad:?|\betà:?|\bidade:?|\bleeftijd:?|\bturn(?:ed|ing|s)|"
    r"\b(?:i|he|she)['’]?(?:m|s| am| is))\W*\Z"
)
_OLD = re.compile(
    r"(?i)\W{0,2}(?:years?[ -]old|y/?o\b|yrs? old|months? old|years of age|jahre alt|jährig|ans\b|"
    r"años|anni\b|anos\b|jaar oud|lat\b|år gammal|лет\b|років|yaşında|éves|-vuotias)"
)
_BORN = re.compile(
    r"(?i)(?:\bborn|\bd\.?o\.?b\b|date of birth|birth ?da(?:y|te)|\bgeb\.|geboren|geburts|\bnée?\b|"
    r"naissance|nacid|nacimiento|\bnat[oa]\b|nascid|nascimento|geboorte|urodz|född|födelse|рожд|"
    r"народ|doğum|syntym|született|narozen)[^.\n]{0,24}\Z"
)


_TELLS = re.compile(
    r"(?:(?<=[.!?] )|(?<=\n)|\A)(?:I|I'm|I've|My|He|She|We|They|The|Our|His|Her|It|This)\b"
    r"[^?!:\n]{8,200}?\.(?=\s|\Z)"
)
"""A sentence that tells something and asks nothing."""


class Example(NamedTuple):
    """What a user wrote of a text.

    Attributes:
        hand: of the text. states: float16 [n, width of the reader]. asked: (token, column, 0 or 1).
    """

    hand: str
    states: NDArray[np.float16]
    asked: list[tuple[int, int, int]]


def told_of(text: str, span: Span) -> Iterator[tuple[int, int]]:
    """Yield what is known of a span: (column, 0 or 1)."""
    if span.kind in ELIGIBLE and span.needed is not None:
        yield ELIGIBLE.index(span.kind), int(span.needed)
    before, after = text[max(0, span.start - 40) : span.start], text[span.end : span.end + 20]
    if span.kind == "NUMBER":
        written = text[span.start : span.end]
        old = _OLD.match(after) or _OLD.search(written) or _AGED.search(before)
        yield len(ELIGIBLE) + TELLING.index("AGE"), int(old is not None)
    if span.kind == "DATE":
        yield len(ELIGIBLE) + TELLING.index("BIRTH"), int(_BORN.search(before) is not None)


def statement_in(each: Labelled, rng: random.Random) -> Labelled | None:
    """Return one sentence of a text that only tells: alone it asks for nothing."""
    found = []
    for match in _TELLS.finditer(each.text):
        start, end = match.span()
        spans = tuple(
            replace(s, start=s.start - start, end=s.end - start, needed=False)
            for s in each.spans
            if start <= s.start and s.end <= end
        )
        if any(span.kind in ELIGIBLE for span in spans):
            found.append(replace(each, text=match[0], spans=spans))
    return rng.choice(found) if found else None


def example_of(each: Labelled, reader: OnnxReader, kinds: Sequence[str]) -> Example | None:
    """Return what is to be learnt of a text; None if nothing."""
    taken = [(i.start, i.end, i.kind) for i in find(each.text, kinds)]
    read = opened(each.text, taken)
    doc, plain = read.parted, read.decoded
    if doc.view.language is None:
        return None
    own = asked(doc.view)
    encoded = encode_view(own.view, reader.pieces)
    slots = dict(zip(own.slots, encoded.slots, strict=True))
    words = dict(zip(own.words, encoded.words, strict=True))
    order = [
        (plain.origin(doc.starts[n] + w.start), slots.get(n), False)
        for n, run in enumerate(doc.runs)
        for w in run.words
    ]
    order += [
        (plain.origin(doc.gaps[n] + w.start), words.get(i), True)
        for i, (n, w) in enumerate(doc.view.words)
    ]
    told = []
    for span in each.spans:
        inside = sorted(
            (visible, at, token) for at, token, visible in order if span.start <= at < span.end
        )
        if inside and (token := inside[0][2]) is not None:
            told += [(token + 1, column, value) for column, value in told_of(each.text, span)]
    if not told:
        return None
    states = np.concatenate(reader.states(encoded.ids)).astype(np.float16)
    return Example(each.hand, states, told)


class Needed(nn.Module):
    """Two small layers over the reader's states, and a head."""

    def __init__(self) -> None:
        super().__init__()
        self.enter = nn.Linear(export.WIDTH, WIDTH)
        self.n0 = nn.LayerNorm(WIDTH, export.EPSILON)
        self.layers = nn.ModuleList(
            Layer(WIDTH, HEADS, INNER, export.EPSILON) for _ in range(LAYERS)
        )
        self.head = nn.Linear(WIDTH, len(ELIGIBLE) + len(TELLING))
        self.drop = nn.Dropout(0.2)

    def forward(self, states: Tensor, lengths: Tensor) -> Tensor:
        """Return log odds [texts, tokens, columns].

        Args:
            states: [texts, tokens, width of the reader]. lengths: tokens of each text.
        """
        x = self.n0(self.enter(self.drop(states)))
        there = torch.arange(states.shape[1])[None, :] < lengths[:, None]
        for layer in self.layers:
            x = layer(x, there[:, None, None, :])
        found: Tensor = self.head(self.drop(x))
        return found


def batches(examples: Sequence[Example], rng: random.Random) -> Iterator[list[Example]]:
    """Yield batches of texts of like lengths."""
    some = sorted(rng.sample(examples, len(examples)), key=lambda each: len(each.states) // 8)
    groups: list[list[Example]] = [[]]
    for each in some:
        if groups[-1] and (len(groups[-1]) + 1) * len(each.states) > TOKENS:
            groups.append([])
        groups[-1].append(each)
    rng.shuffle(groups)
    yield from groups


def read(model: Needed, some: Sequence[Example]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return log odds, labels, columns and texts of all that is asked of some texts."""
    longest = max(len(each.states) for each in some)
    states = torch.zeros(len(some), longest, export.WIDTH)
    for row, each in enumerate(some):
        states[row, : len(each.states)] = torch.tensor(each.states).float()
    places = [(row, *told) for row, each in enumerate(some) for told in each.asked]
    rows, tokens, columns, labels = torch.tensor(places).T
    odds = model(states, torch.tensor([len(each.states) for each in some]))
    return odds[rows, tokens, columns], labels, columns, rows


def raised(odds: Tensor, rows: Tensor, columns: Tensor) -> None:
    """Raise the log odds of things as the detector does: towards those of their class and text."""
    for row, column in set(zip(rows.tolist(), columns.tolist(), strict=True)):
        if column < len(ELIGIBLE):
            those = (rows == row) & (columns == column)
            odds[those] = together(odds[those], odds[those].max())


def judged(model: Needed, examples: Sequence[Example]) -> dict[int, tuple[Tensor, Tensor]]:
    """Return column -> log odds and labels."""
    model.eval()
    found = defaultdict(list)
    with torch.no_grad():
        for some in batches(examples, random.Random(0)):
            odds, labels, columns, rows = read(model, some)
            raised(odds, rows, columns)
            for column in columns.unique().tolist():
                found[column].append((odds[columns == column], labels[columns == column]))
    model.train()
    return {k: tuple(map(torch.cat, zip(*v, strict=True))) for k, v in found.items()}  # type: ignore[misc]


def threshold(odds: Tensor, labels: Tensor, most: float) -> float:
    """Return the least log odds with which at most this share of what is not needed leaves."""
    others = odds[labels == 0].sort(descending=True).values
    at = int(most * len(others))
    return round(float(others[at]) + 0.01, 3) if at < len(others) else 0.0


def main() -> None:
    """Train and write."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--rate", type=float, default=5e-4)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, default=FOLDER)
    chosen = parser.parse_args()
    torch.manual_seed(chosen.seed)
    rng = random.Random(chosen.seed)
    reader = OnnxReader(chosen.folder)
    kinds = sorted(Policy.preset("balanced").identifiers)
    texts = all_texts()
    texts += [told for each in texts if (told := statement_in(each, rng)) is not None]
    examples = [found for each in texts if (found := example_of(each, reader, kinds)) is not None]
    held = [each for each in examples if CHOOSE.match(each.hand)]
    trained = [each for each in examples if not CHOOSE.match(each.hand)]
    print(len(trained), "texts to train,", len(held), "to choose", flush=True)
    model = Needed()
    optimizer = torch.optim.AdamW(model.parameters(), lr=chosen.rate, weight_decay=0.05)
    steps = chosen.epochs * sum(1 for _ in batches(trained, rng))
    plan = torch.optim.lr_scheduler.OneCycleLR(optimizer, chosen.rate, steps + 8, pct_start=0.1)
    best, kept, of_best = 9.0, model.state_dict(), {}
    for epoch in range(chosen.epochs):
        total = n = 0.0
        for some in batches(trained, rng):
            odds, labels, *_ = read(model, some)
            loss = F.binary_cross_entropy_with_logits(odds, labels.float())
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            plan.step()
            total, n = total + loss.item() * len(odds), n + len(odds)
        by_column = judged(model, held)
        eligible = [by_column[i] for i in range(len(ELIGIBLE))]
        odds, labels = (torch.cat(each) for each in zip(*eligible, strict=True))
        found = F.binary_cross_entropy_with_logits(odds, labels.float()).item()
        ranks = odds.argsort().argsort()[labels == 1].double() + 1
        n_one, n_none = int(labels.sum()), int((labels == 0).sum())
        area = (ranks.sum() - n_one * (n_one + 1) / 2) / (n_one * n_none)
        limit = threshold(odds, labels, MOST_LEFT)
        left = (odds[labels == 1] >= limit).double().mean()
        print(f"{epoch} trained {total / n:.4f} held {found:.4f} area {area:.4f} left {left:.3f}")
        if found < best:
            best, of_best = found, by_column
            kept = {k: v.clone() for k, v in model.state_dict().items()}
    graph = export.needed_graph({k: v.numpy() for k, v in kept.items()})
    (chosen.folder / "needed.onnx").write_bytes(graph.SerializeToString())
    finish(of_best, chosen.folder)


def finish(held: dict[int, tuple[Tensor, Tensor]], folder: Path) -> None:
    """Write the least odds and the quality of what is trained into the reader's manifest.

    Args:
        held: column -> log odds and labels of the texts that choose.
    """
    names = [*ELIGIBLE, *TELLING]
    eligible = [held[k] for k in range(len(ELIGIBLE))]
    least = threshold(*(torch.cat(each) for each in zip(*eligible, strict=True)), MOST_LEFT)
    limits = dict.fromkeys(ELIGIBLE, least)
    limits |= {name: threshold(*held[names.index(name)], MOST_TAKEN) for name in TELLING}
    told = json.loads((folder / "manifest.json").read_text("utf-8"))
    told["needed"] = limits
    told["quality"]["needed, on the texts that chose its thresholds"] = {
        names[k]: {
            "needed": int(labels.sum()),
            "of these left": round(
                float((odds[labels == 1] >= limits[names[k]]).double().mean()), 3
            ),
            "not needed": int((labels == 0).sum()),
            "of these left ": round(
                float((odds[labels == 0] >= limits[names[k]]).double().mean()), 3
            ),
        }
        for k, (odds, labels) in sorted(held.items())
    }
    names = sorted({*told.pop("files"), "needed.onnx"})
    manifest.write(folder, names, **told)
    print(json.dumps(told["quality"], indent=1), limits)


if __name__ == "__main__":
    main()
