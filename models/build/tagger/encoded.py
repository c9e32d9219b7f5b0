"""Train the tagger where a GPU is: first write texts as arrays, then learn from these alone.

    python -m models.build.tagger.encoded write --data FOLDER --texts FOLDER --seed 1 --n 100000
    python -m models.build.tagger.encoded train --texts FOLDER --body FILE --start FILE

What is learnt is what `models.build.tagger.train` learns, but many more texts are read, and the
layers' matrices are rounded to 4 bits in every step, as they are shipped. "train" needs neither the
package nor Faker; the masked LM is read from its checkpoint.
"""

from __future__ import annotations

import argparse
import json
import pickle
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing import Process, Queue
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from models.build.encoder import MaskedLM
from models.build.tagger.data import CLASSES
from models.build.tagger.model import LAYERS, Array, States, Tagger

N_PIECES, NOTHING = 8, -1  # as in `encode`, which needs the package
PER_FILE = 4000
RATE, NEW_FACTOR, WARMUP_STEPS, TOLD_SHARE = 2e-4, 3.0, 200, 0.5
NEW = ("head", "told", "slot")
"""Parts that learn faster."""
N_READERS, AHEAD = 10, 64
OF_RUNS = ("pieces", "valid", "at", "row")
"""Arrays of a batch that the model reads beside the states, in its order."""


@dataclass(frozen=True)
class Text:
    """One encoded text.

    Attributes:
        ids: uint16 [n], the skeleton. pieces: uint16 [n] of each run. at: places of the runs.
        known: (run, piece, class, weight). partial: (run, piece, excluded classes as bits).
        told: int8 [n], class of each token of the skeleton, -1 for none; None where nothing is
            learnt of them.
    """

    ids: NDArray[np.uint16]
    pieces: list[NDArray[np.uint16]]
    at: list[int]
    known: list[tuple[int, int, int, float]]
    partial: list[tuple[int, int, int]]
    told: NDArray[np.int8] | None


def write(data: Path, texts: Path, seed: int, n: int) -> None:
    """Write n encoded texts, in files of PER_FILE."""
    from models.build.tagger.batches import Batches, Mixture
    from models.build.tagger.train import tells, told_labels

    batches = Batches(Mixture(data, seed), 1)
    texts.mkdir(parents=True, exist_ok=True)
    found: list[Text] = []
    part = 0
    while part * PER_FILE < n:
        example, encoded = batches.text()
        batch = batches.batch([(example, encoded)])
        if not batch.pieces:
            continue
        told = np.array(told_labels(example, encoded), np.int8) if tells(example) else None
        pieces = [np.array(run, np.uint16) for run in batch.pieces]
        partial = [
            (run, piece, sum(1 << CLASSES.index(name) for name in excluded))
            for run, piece, excluded in batch.partial
        ]
        ids = encoded.ids.astype(np.uint16)
        found.append(Text(ids, pieces, batch.at, batch.known, partial, told))
        if len(found) == PER_FILE:
            plain = [tuple(vars(text).values()) for text in found]
            (texts / f"{seed}-{part}.pkl").write_bytes(pickle.dumps(plain))
            found, part = [], part + 1


def arrays(texts: Sequence[Text]) -> dict[str, NDArray[Any]]:
    """Return one batch as padded arrays, by name."""
    n_runs = sum(len(text.pieces) for text in texts)
    length = max(len(text.ids) for text in texts)
    ids = np.zeros((len(texts), length), np.int64)
    told = np.full((len(texts), length), NOTHING, np.int64)
    pieces, valid = np.zeros((n_runs, N_PIECES), np.int64), np.zeros((n_runs, N_PIECES), bool)
    known: list[tuple[int, int, int]] = []
    weights: list[float] = []
    partial: list[tuple[int, int]] = []
    bits: list[int] = []
    at: list[int] = []
    row: list[int] = []
    for number, text in enumerate(texts):
        ids[number, : len(text.ids)] = text.ids
        if text.told is not None:
            told[number, : len(text.told)] = text.told
        begin = len(at)
        for run in text.pieces:
            pieces[len(at), : len(run)], valid[len(at), : len(run)] = run, True
            at.append(text.at[len(at) - begin])
            row.append(number)
        known += [(begin + run, piece, label) for run, piece, label, _ in text.known]
        weights += [weight for *_, weight in text.known]
        partial += [(begin + run, piece) for run, piece, _ in text.partial]
        bits += [excluded for *_, excluded in text.partial]
    wrong = np.array([[0] + [b >> i & 1 for i in range(len(CLASSES))] for b in bits], bool)
    return {
        "ids": ids,
        "lengths": np.array([len(text.ids) for text in texts]),
        "pieces": pieces,
        "valid": valid,
        "at": np.array(at),
        "row": np.array(row),
        "known": np.array(known, np.int64).reshape(-1, 3),
        "weights": np.array(weights, np.float32),
        "partial": np.array(partial, np.int64).reshape(-1, 2),
        "wrong": wrong.reshape(-1, len(CLASSES) + 1),
        "told": told,
    }


def _reader(paths: Sequence[Path], size: int, seed: int, out: Queue[Any]) -> None:
    """Send batches of texts of similar length, without an end."""
    torch.set_num_threads(1)
    rng = random.Random(seed)
    while True:
        for path in rng.sample(list(paths), len(paths)):
            found = pickle.loads(path.read_bytes())  # noqa: S301 - `write` wrote it
            texts = [Text(*plain) for plain in found]
            rng.shuffle(texts)
            for begin in range(0, len(texts) - 8 * size + 1, 8 * size):
                some = sorted(texts[begin : begin + 8 * size], key=lambda text: len(text.ids))
                groups = [some[i : i + size] for i in range(0, len(some), size)]
                rng.shuffle(groups)
                for group in groups:
                    out.put(arrays(group))


def batches(folder: Path, size: int, device: str) -> Iterator[dict[str, Tensor]]:
    """Yield batches on a device, read by processes of their own."""
    paths = sorted(folder.glob("*.pkl"))
    queue: Queue[Any] = Queue(AHEAD)
    n = min(N_READERS, len(paths))
    for i in range(n):
        Process(target=_reader, args=(paths[i::n], size, i, queue), daemon=True).start()
    while True:
        yield {name: torch.from_numpy(x).to(device) for name, x in queue.get().items()}


@torch.no_grad()
def states_of(body: MaskedLM, ids: Tensor, present: Tensor) -> States:
    """Return the states that the tagger reads."""
    x = body.norm(body.words(ids) + body.positions.weight[: ids.shape[1]])
    found: States = {}
    for i, layer in enumerate(body.layers):
        if i in LAYERS:
            found[i] = x
        if i == max(LAYERS):
            break
        x = layer(x, present[:, None, None, :])
    return found


def loss_of(model: Tagger, body: MaskedLM, batch: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
    """Return the losses of hidden words and of visible ones, as in `train`."""
    ids = batch["ids"]
    present = torch.arange(ids.shape[1], device=ids.device) < batch["lengths"][:, None]
    with torch.autocast(ids.device.type, dtype=torch.bfloat16):
        states = states_of(body, ids, present)
        scores = model(*(batch[name] for name in OF_RUNS), states, present)
        visible = model.visible(states, present)
    logs = torch.log_softmax(scores.float(), -1)
    rows, pieces, labels = batch["known"].T
    loss = -(logs[rows, pieces, labels] * batch["weights"]).sum()
    rows, pieces = batch["partial"].T
    share = (logs[rows, pieces].exp() * batch["wrong"]).sum(-1).clamp(max=0.999)
    loss = loss - torch.log(1 - share).sum()
    told = nn.functional.cross_entropy(
        visible.float().reshape(-1, visible.shape[-1]),
        batch["told"].reshape(-1),
        ignore_index=NOTHING,
        reduction="sum",
    ) / (batch["told"] != NOTHING).sum().clamp(min=1)
    return loss / max(len(batch["known"]) + len(batch["partial"]), 1), told


def optimizer_of(model: Tagger, rate: float) -> torch.optim.AdamW:
    """Return the optimizer; what the second stage learns is not learnt here."""
    trained = [(n, p) for n, p in model.named_parameters() if not n.startswith("known.")]
    old = [p for n, p in trained if not n.startswith(NEW)]
    new = [p for n, p in trained if n.startswith(NEW)]
    groups = [
        {"params": old, "factor": 1.0, "weight_decay": 0.01},
        {"params": new, "factor": NEW_FACTOR, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=rate, betas=(0.9, 0.98), fused=True)


def train(options: argparse.Namespace) -> None:
    """Train for the wanted minutes."""
    torch.manual_seed(1)
    device = options.device
    body = MaskedLM()
    body.load_state_dict(torch.load(options.body, map_location="cpu"))
    body.to(device).eval()
    found: dict[str, Array] = {
        "words": body.words.weight.detach().cpu().numpy(),
        "positions": body.positions.weight.detach().cpu().numpy(),
    }
    start = torch.load(options.start, map_location="cpu")
    model = Tagger(found, LAYERS, copies=False)
    model.load_state_dict(start, strict=False)
    model.to(device).train()
    optimizer = optimizer_of(model, options.rate)
    source = batches(options.texts, options.batch, device)
    next(source)  # the readers have begun
    begin, steps = time.monotonic(), 0
    average = torch.zeros(2, device=device)
    log: dict[str, Any] = {}
    while (progress := (time.monotonic() - begin) / (60 * options.minutes)) < 1:
        now = min(1.0, (steps + 1) / WARMUP_STEPS) * max(0.01, 1 - progress)
        for group in optimizer.param_groups:
            group["lr"] = options.rate * group["factor"] * now
        loss, told = loss_of(model, body, next(source))
        optimizer.zero_grad(set_to_none=True)
        torch.autograd.backward(loss + TOLD_SHARE * told)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        average = average * (0.98 if steps else 0) + (0.02 if steps else 1) * torch.stack(
            [loss.detach(), told.detach()]
        )
        steps += 1
        if steps % 100 == 0:
            first, second = average.tolist()
            log = {"steps": steps, "batch": options.batch, "loss": first, "told": second}
            print(f"progress {progress:.3f} {log}", flush=True)
    log["minutes"] = round((time.monotonic() - begin) / 60, 1)
    state = {n: x for n, x in model.state_dict().items() if not n.startswith("known.")}
    torch.save(state, options.out)
    options.out.with_suffix(".json").write_text(json.dumps(log, indent=1), "utf-8")


def main() -> None:
    """Read the options; write or train."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    writing, training = (commands.add_parser(name) for name in ("write", "train"))
    for command in (writing, training):
        command.add_argument("--texts", type=Path, required=True, help="folder of encoded texts")
    writing.add_argument("--data", type=Path, required=True, help="folder of data, see the package")
    writing.add_argument("--seed", type=int, default=1)
    writing.add_argument("--n", type=int, default=100_000)
    training.add_argument("--body", type=Path, required=True, help="checkpoint of the masked LM")
    training.add_argument("--start", type=Path, required=True, help="checkpoint of the tagger")
    training.add_argument("--out", type=Path, required=True)
    training.add_argument("--minutes", type=float, default=3)
    training.add_argument("--batch", type=int, default=96, help="texts")
    training.add_argument("--rate", type=float, default=RATE)
    training.add_argument("--device", default="cuda")
    options = parser.parse_args()
    if options.command == "write":
        write(options.data, options.texts, options.seed, options.n)
    else:
        train(options)


if __name__ == "__main__":
    main()
