"""Train the tagger's second stage, which reads what is known of each hidden word.

    python -m models.build.tagger.known --data FOLDER

Texts are drawn as for the first stage, and with them sentences of reviews and of Wikipedia and
tasks with their answers, whose hidden words in lower case are nobody's. The packaged first stage
reads them once; what it says of each word is kept in the cache, and a small network learns from
that, from the states at the runs' slots and from `sanitizer.detect.tagging.Lexicon`. Writes the
checkpoint of both stages that `package` reads.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from models.build.corpus import imdb, wikipedia
from models.build.fetch import CACHE
from models.build.tagger import data
from models.build.tagger.batches import Batch, Mixture
from models.build.tagger.data import ALL, CLASSES, FACT, PROMPTS, Example
from models.build.tagger.encode import N_PIECES, Encoder, word_labels
from models.build.tagger.model import (
    KNOWN_WIDTH,
    LEAST_SHARE,
    Array,
    Body,
    Known,
    Tagger,
    packaged_arrays,
)
from models.build.tagger.package import FOLDER
from models.build.tagger.train import checkpoint, class_scores
from sanitizer.detect.skeleton import NUMBERS, WORD, public_forms
from sanitizer.detect.tagging import Lexicon
from sanitizer.lm import WordTable, model_folder

NATURAL = frozenset({"imdb", "wiki", "task"})
"""Sources of texts without labels, in which a hidden word in lower case is nobody's."""
N_DRAWN, N_TOPICAL, N_REVIEWS, N_ARTICLES = 16_000, 2600, 2000, 1500
TOPICS, SENSITIVE_SHARE = ("office",), 0.35
LONGEST = 1200  # characters of a text
BATCH, EPOCHS, RATE, WARMUP, DECAY = 512, 4, 2e-3, 50, 0.02
DROPS = {"scores": 0.3, "slot": 0.4, "own": 0.2, "beside": 0.4, "flags": 0.1}
"""Dropout of each sort of input: what the first stage and the frozen states say was partly learnt
from the same templates, so that more of it is hidden."""
INNER_DROP = 0.3
SHRINK, NOISE = 0.7, 3.0
"""What the first stage's log odds are multiplied by, and the deviation of what is added to them: it
read these templates for longer than the second stage does, and is surer of them than of new texts.
"""
PUPA_WEIGHT = 0.3
SEED = 17


@dataclass
class Words:
    """Words that the first stage read.

    Attributes:
        scores: float32 [n, 1 + n_classes]. slots: float16 [n, WIDTH], states at the runs' slots.
        rows: of each, the words of its run, the run's kind, its number in the run, its label (0
            none, -1 nothing learnt), and the source and labelled classes of its text.
    """

    scores: Array
    slots: Array
    rows: list[tuple[list[str], str, int, int, str, list[str]]]

    def save(self, path: Path) -> None:
        """Write two files."""
        np.savez(path.with_suffix(".npz"), scores=self.scores, slots=self.slots)
        path.with_suffix(".json").write_text(json.dumps(self.rows), "utf-8")

    @classmethod
    def load(cls, path: Path) -> Words:
        """Read what `save` wrote."""
        arrays = np.load(path.with_suffix(".npz"))
        rows = json.loads(path.with_suffix(".json").read_text("utf-8"))
        return cls(arrays["scores"], arrays["slots"], [tuple(row) for row in rows])

    def joined(self, other: Words) -> Words:
        """Return both."""
        scores = np.concatenate([self.scores, other.scores])
        slots = np.concatenate([self.slots, other.slots])
        return Words(scores, slots, self.rows + other.rows)


def pieces_of(texts: Iterable[str], n: int, every: int, rng: random.Random) -> Iterator[str]:
    """Yield one to three sentences of n texts, one in `every`."""
    found = 0
    for text in islice(texts, 0, None, every):
        plain = text.replace("<br />", " ").replace("\n", " ")
        sentences = re.split(r"(?<=[.!?])\s+", plain)
        begin = rng.randrange(len(sentences))
        piece = " ".join(sentences[begin : begin + rng.randint(1, 3)])
        if 30 < len(piece) < 500 and found < n:
            found += 1
            yield piece
        if found == n:
            return


def natural(folder: Path) -> list[Example]:
    """Return texts without labels: reviews, articles, and the seed tasks with their answers."""
    rng = random.Random(5)
    texts = [("imdb", text) for text in pieces_of(imdb(), N_REVIEWS, 3, rng)]
    texts += [("wiki", text) for text in pieces_of(wikipedia(), N_ARTICLES, 2, rng)]
    for line in filter(None, (folder / data.FILES["seeds"][0]).read_text("utf-8").split("\n")):
        task = json.loads(line)
        for instance in task["instances"][:2]:
            asked = f"{task['instruction']}\n{instance['input']}"
            texts += [("task", asked[:600]), ("task", instance["output"][:500])]
    return [Example(text, [], data.NAMES, False, name) for name, text in texts if text.strip()]


def drawn(folder: Path) -> list[Example]:
    """Return texts of the first stage's mixture, and of templates for this stage."""
    mixture = Mixture(folder, 11)
    found = [mixture.example() for _ in range(N_DRAWN)]
    topical = Mixture(folder, 13, TOPICS)
    for _ in range(N_TOPICAL):
        name = "sensitive" if topical.rng.random() < SENSITIVE_SHARE else "negative"
        found.append(topical.topical(name))
    return [example for example in found if example.text.strip() and len(example.text) < LONGEST]


def read(model: Tagger, body: Body, examples: Sequence[Example], size: int = 24) -> Words:
    """Let the first stage read texts."""
    encoder = Encoder()
    texts = [(example, encoder.encode(example.text)) for example in examples]
    texts = sorted((t for t in texts if len(t[1].ids) <= 500), key=lambda text: len(text[1].ids))
    scores, slots = [], []
    rows: list[tuple[list[str], str, int, int, str, list[str]]] = []
    for begin in range(0, len(texts), size):
        batch = Batch(texts[begin : begin + size])
        runs = [
            (number, run)
            for number, (_, encoded) in enumerate(batch.texts)
            for run, pieces in enumerate(encoded.pieces)
            if pieces
        ]
        if not runs:
            continue
        for number, run in runs:
            batch.pieces.append(batch.texts[number][1].pieces[run][:N_PIECES])
            batch.at.append(batch.texts[number][1].at[run])
            batch.row.append(number)
        states, present = body.states([encoded for _, encoded in batch.texts])
        with torch.no_grad():
            found = class_scores(model, batch, states, present).numpy()
        top = states[max(states)].numpy()
        for row, (number, run) in enumerate(runs):
            example, encoded = batch.texts[number]
            one = encoded.runs[run]
            places = ((one.start, one.end),) if one.kind in NUMBERS else one.words
            words = [example.text[start:end] for start, end in places]
            labels = word_labels(one, example.spans)
            for i, (piece, label) in enumerate(zip(encoded.firsts[run], labels, strict=True)):
                if piece < N_PIECES:
                    scores.append(found[row, piece])
                    slots.append(top[number, batch.at[row]].astype(np.float16))
                    labelled = sorted(example.labelled)
                    rows.append((words, one.kind, i, label, example.source, labelled))
    return Words(np.array(scores), np.array(slots), rows)


def excluded(words: Words) -> Array:
    """Return bool [n, 1 + n_classes]: classes that a word certainly has not."""
    found = np.zeros((len(words.rows), 1 + len(CLASSES)), bool)
    for row, (run, kind, i, label, source, labelled) in enumerate(words.rows):
        if label:
            continue
        if source in NATURAL:
            found[row, 1:] = kind == WORD and run[i].islower()
        elif source == "pupa" or len(labelled) == len(ALL):
            found[row, 1:] = True
        else:
            found[row, 1:] = [name in labelled for name in CLASSES]
    return found


class Learner(nn.Module):
    """The second stage in training, on inputs of mean 0 and deviation 1 that are partly hidden.

    Args:
        words: the inputs, [n, n_scores], [n, WIDTH] and [n, n_known].
    """

    def __init__(self, inputs: Sequence[Tensor], drops: Sequence[Tensor]) -> None:
        super().__init__()
        self.known = Known(inputs[2].shape[1])
        self.means = [each.mean(0) for each in inputs]
        self.deviations = [each.std(0).clamp(min=1e-3) for each in inputs]
        self.drops, self.inner = drops, nn.Dropout(INNER_DROP)

    def forward(self, inputs: Sequence[Tensor]) -> Tensor:
        """Return log odds, float32 [n, 1 + n_classes]."""
        first = (self.known.scores, self.known.slot, self.known.words)
        inner = torch.zeros(())
        for i, (layer, x) in enumerate(zip(first, inputs, strict=True)):
            shown = (x - self.means[i]) / self.deviations[i]
            if self.training:
                keep = 1 - self.drops[i]
                shown = shown * (torch.rand_like(shown) < keep) / keep
            inner = inner + layer(shown)
        found: Tensor = self.known.last(self.inner(nn.functional.gelu(inner)))
        return found

    def plain(self) -> Known:
        """Return the second stage for inputs as they are; only the layer of scores has a bias."""
        first = (self.known.scores, self.known.slot, self.known.words)
        with torch.no_grad():
            bias = torch.zeros(KNOWN_WIDTH)
            for layer, mean, deviation in zip(first, self.means, self.deviations, strict=True):
                layer.weight /= deviation
                bias += layer.bias - layer.weight @ mean
                layer.bias.zero_()
            self.known.scores.bias.copy_(bias)
        return self.known


def inputs_of(words: Words, lexicon: Lexicon) -> list[Tensor]:
    """Return what the second stage reads of each word."""
    runs: dict[tuple[str, ...], Array] = {}
    known = np.empty((len(words.rows), lexicon.width), np.float32)
    for row, (run, kind, i, *_) in enumerate(words.rows):
        key = (kind, *run)
        if key not in runs:
            runs[key] = lexicon.known(run, kind)
        known[row] = runs[key][i]
    logs = torch.log(torch.softmax(torch.from_numpy(words.scores), -1) + LEAST_SHARE)
    return [logs, torch.from_numpy(words.slots.astype(np.float32)), torch.from_numpy(known)]


def drops_of(lexicon: Lexicon, n_dimensions: int) -> list[Tensor]:
    """Return the dropout of every input."""
    n_flags = lexicon.width - 3 * n_dimensions
    known = [DROPS["own"]] * n_dimensions + [DROPS["beside"]] * 2 * n_dimensions
    return [
        torch.tensor(DROPS["scores"]),
        torch.tensor(DROPS["slot"]),
        torch.tensor(known + [DROPS["flags"]] * n_flags),
    ]


def learnt(words: Words, lexicon: Lexicon, n_dimensions: int) -> tuple[Known, float]:
    """Train; return the second stage and the mean loss of the last epoch."""
    torch.manual_seed(SEED)
    inputs = inputs_of(words, lexicon)
    labels = torch.tensor([row[3] for row in words.rows])
    wrong = torch.from_numpy(excluded(words))
    weights = torch.tensor([PUPA_WEIGHT if row[4] == "pupa" else 1.0 for row in words.rows])
    used = ((labels > 0) | wrong.any(1)).nonzero()[:, 0]
    model = Learner(inputs, drops_of(lexicon, n_dimensions))
    optimizer = torch.optim.AdamW(model.parameters(), RATE, weight_decay=DECAY)
    n_batches = len(used) // BATCH
    loss_sum = 0.0
    for step in range(EPOCHS * n_batches):
        if step % n_batches == 0:
            order, loss_sum = used[torch.randperm(len(used))], 0.0
        part = order[step % n_batches * BATCH :][:BATCH]
        for group in optimizer.param_groups:
            now = min(1, (step + 1) / WARMUP) * (1 - step / (EPOCHS * n_batches))
            group["lr"] = RATE * now + 1e-5
        shares = torch.log_softmax(model([each[part] for each in inputs]), -1)
        told = labels[part] > 0
        right = shares[told].gather(1, labels[part][told][:, None])[:, 0]
        share = (shares[~told].exp() * wrong[part][~told]).sum(-1).clamp(max=0.9999)
        loss = -(right * weights[part][told]).sum()
        loss = (loss - (torch.log(1 - share) * weights[part][~told]).sum()) / BATCH
        optimizer.zero_grad()
        torch.autograd.backward(loss)
        optimizer.step()
        loss_sum += float(loss.detach()) / n_batches
    model.eval()
    return model.plain(), loss_sum


def told_apart(words: Words, scores: Array) -> dict[str, float]:
    """Return how well scores tell private words of labelled prompts from others.

    Returns:
        "auc", the area under the curve of all classes together, and "right", the share of private
        words with a class whose likeliest class is theirs; both also for words in lower case.

    Args:
        scores: float32 [n, 1 + n_classes], of either stage.
    """
    labels = np.array([row[3] for row in words.rows])
    lower = np.array([kind == WORD and run[i].islower() for run, kind, i, *_ in words.rows])
    shares = np.exp(scores - scores.max(1, keepdims=True))
    private = 1 - shares[:, 0] / shares.sum(1)
    found = {}
    for name, chosen in (("", labels >= 0), (" lower case", (labels >= 0) & lower)):
        ranks = private[chosen].argsort(kind="stable").argsort() + 1
        yes = labels[chosen] > 0
        n = int(yes.sum())
        above = ranks[yes].sum() - n * (n + 1) / 2
        found[f"auc{name}"] = round(float(above / (n * (len(yes) - n))), 3)
        classed = chosen & (labels > 0) & (labels != CLASSES.index(FACT) + 1)
        right = scores[classed, 1:].argmax(1) + 1 == labels[classed]
        found[f"right{name}"] = round(float(right.mean()), 3)
    return found


def main() -> None:
    """Read the options, read the texts unless that was done, and train."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder of data, see the package")
    parser.add_argument("--first", type=Path, default=FOLDER, help="checkpoint or packaged folder")
    parser.add_argument("--read", type=Path, default=CACHE / "words", help="what was read before")
    parser.add_argument("--out", type=Path, default=CACHE / "tagger.pt")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    begin = time.monotonic()
    state, log = checkpoint(options.first)
    state = {name: value for name, value in state.items() if not name.startswith("known.")}
    model = Tagger(packaged_arrays(), log["layers"])
    model.load_state_dict(state, strict=False)
    body = Body(options.threads, log["layers"])
    if not options.read.with_suffix(".npz").exists():
        examples = drawn(options.data) + natural(options.data)
        read(model.eval(), body, examples).save(options.read)
    words = Words.load(options.read)
    noise = np.random.default_rng(1).normal(0, NOISE, words.scores.shape)
    words.scores = words.scores * SHRINK + noise.astype(np.float32)
    table = WordTable.load(model_folder("masked-lm"))
    lexicon = Lexicon(table, public_forms())
    known, loss = learnt(words, lexicon, table.vectors.shape[1])
    state |= {f"known.{name}": value for name, value in known.state_dict().items()}
    done: dict[str, Any] = {"words": len(words.rows), "epochs": EPOCHS, "loss": round(loss, 4)}
    done["minutes"] = round((time.monotonic() - begin) / 60, 1)
    torch.save(state, options.out)
    options.out.with_suffix(".json").write_text(
        json.dumps(log | {"known": done}, indent=1), "utf-8"
    )
    print(done)
    for name in ("dev", "second_open"):
        seen = read(model.eval(), body, data.prompts(PROMPTS.with_stem(name)))
        with torch.no_grad():
            second = known(torch.from_numpy(seen.scores), *inputs_of(seen, lexicon)[1:]).numpy()
        print(name, "first", told_apart(seen, seen.scores), "second", told_apart(seen, second))


if __name__ == "__main__":
    main()
