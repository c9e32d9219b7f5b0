"""Measure a masked LM on held-out public text: PyTorch float32, and ONNX graphs against it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnxruntime
import torch
from numpy.typing import NDArray

from models.build.encoder import MaskedLM
from models.build.tokens import CLS, MASK, SEP, Tokens, continues
from models.build.windows import Corpus

Logits = NDArray[np.float32]


@dataclass(frozen=True)
class Sample:
    """Masked windows: ids int64 [n, length]; flat masked positions at, wanted int64 [m]."""

    ids: NDArray[np.int64]
    at: NDArray[np.int64]
    wanted: NDArray[np.int64]


def token_sample(
    corpus: Tokens, n_rows: int, length: int = 48, rate: float = 0.15, seed: int = 11
) -> Sample:
    """Sample windows at random positions, `rate` of the tokens masked one by one (the usual
    yardstick).
    """
    rng = np.random.default_rng(seed)
    begins = rng.integers(0, len(corpus.ids) - length, n_rows)
    ids = np.stack([corpus.ids[b : b + length - 2] for b in begins]).astype(np.int64)
    masked = (rng.random(ids.shape) < rate) & (ids != SEP)
    edge = np.zeros((n_rows, 1), dtype=np.int64)
    shown = np.hstack([edge + CLS, np.where(masked, MASK, ids), edge + SEP])
    at = np.flatnonzero(np.hstack([edge, masked.astype(np.int64), edge]))
    return Sample(shown, at, np.hstack([edge, ids, edge]).reshape(-1)[at])


def word_sample(
    corpus: Tokens, train: Tokens, n_rows: int, length: int = 48, seed: int = 12
) -> Sample:
    """Sample windows masked as in use: nearly every word that is not frequent, each as ONE mask."""
    torch.manual_seed(seed)
    ids, counted = (torch.from_numpy(part.ids.astype(np.int32)) for part in (corpus, train))
    windows = Corpus([ids], [1.0], torch.from_numpy(continues()), counted)
    batch = windows.batch(n_rows, length, regimes=(0.0, 0.0, 1.0))
    told = batch.targets >= 0
    at, order = batch.at[told].sort()
    return Sample(batch.ids.numpy(), at.numpy(), batch.targets[told][order].numpy())


@torch.no_grad()
def torch_logits(model: MaskedLM, sample: Sample, rows: slice) -> Logits:
    """Return float32 [m, n_vocabulary] for the sample's masked positions within `rows`."""
    ids, at = _part(sample, rows)
    result: Logits = model(torch.from_numpy(ids), torch.from_numpy(at)).float().numpy()
    return result


class OnnxScorer:
    """Full-vocabulary logits of a saved graph, as the package computes them."""

    def __init__(self, folder: Path, table: Logits, bias: Logits) -> None:
        self.session = onnxruntime.InferenceSession(
            str(folder / "model.onnx"), providers=["CPUExecutionProvider"]
        )
        self.table, self.bias = table, bias

    def __call__(self, sample: Sample, rows: slice) -> Logits:
        ids, at = _part(sample, rows)
        feed = {"input_ids": ids, "attention_mask": np.ones_like(ids), "positions_at": at}
        (states,) = self.session.run(["states"], feed)
        result: Logits = states @ self.table.T + self.bias
        return result


def _part(sample: Sample, rows: slice) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    length = sample.ids.shape[1]
    first, last = rows.start * length, min(rows.stop, len(sample.ids)) * length
    return sample.ids[rows], sample.at[(sample.at >= first) & (sample.at < last)] - first


def log_softmax(logits: Logits) -> Logits:
    """Return log-probabilities row by row."""
    shifted = logits - logits.max(axis=1, keepdims=True)
    result: Logits = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return result


def measure(
    model: MaskedLM, sample: Sample, scorers: dict[str, OnnxScorer], step: int = 32
) -> dict[str, dict[str, float]]:
    """Return per scorer ("torch" first) top1, top50, nll in nats; for the others also agreement
    with torch and KL divergence from it.
    """
    sums: dict[str, NDArray[np.float64]] = {name: np.zeros(5) for name in ("torch", *scorers)}
    for begin in range(0, len(sample.ids), step):
        rows = slice(begin, begin + step)
        length = sample.ids.shape[1]
        inside = (sample.at >= begin * length) & (sample.at < (begin + step) * length)
        wanted = sample.wanted[inside]
        reference = log_softmax(torch_logits(model, sample, rows))
        for name in sums:
            logp = reference if name == "torch" else log_softmax(scorers[name](sample, rows))
            truth = logp[np.arange(len(wanted)), wanted]
            rank = (logp > truth[:, None]).sum(axis=1)
            agree = logp.argmax(axis=1) == reference.argmax(axis=1)
            kl = (np.exp(reference) * (reference - logp)).sum()
            sums[name] += [(rank == 0).sum(), (rank < 50).sum(), -truth.sum(), agree.sum(), kl]
    n = len(sample.wanted)
    names = ("top1", "top50", "nll", "top1_agreement", "kl")
    return {
        name: {k: round(float(v) / n, 5) for k, v in zip(names, total, strict=True)}
        for name, total in sums.items()
    }
