"""The tagger in PyTorch: own layers over states of the packaged masked LM, which is not trained.

A run's pieces are rows that attend to the skeleton's states before layers LAYERS of the masked LM,
and to themselves. Each own layer begins as a copy of the masked LM's layer with that number.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import onnx
import onnxruntime
import torch
from numpy.typing import NDArray
from onnx import numpy_helper
from torch import Tensor, nn

from models.build.encoder import EPS, FFN, N_HEADS, N_LAYERS, WIDTH
from models.build.tagger.data import CLASSES

if TYPE_CHECKING:
    from models.build.tagger.encode import Encoded

MASKED_LM = Path(__file__).resolve().parents[2] / "masked-lm"
LAYERS = (3, 5)
TOLD_WIDTH, TOLD_REACH = 384, 2
"""Width of the head of visible words, and how many tokens on each side it reads."""
DROPOUT, TOLD_DROPOUT = 0.1, 0.15
KNOWN_WIDTH, N_KNOWN = 256, 640
"""Width of the second stage, and numbers that it reads of each word."""
LEAST_SHARE = 1e-4  # of a class of the first stage, as the second reads it
BLOCK = 32  # weights that share a scale
LEAST_SCALE = 1e-9
PARTS = ("weight", "bias")

Array = NDArray[np.float32]
States = dict[int, Tensor]
"""Layer -> float32 [texts, length, WIDTH], the states before it."""


def packaged_arrays(folder: Path = MASKED_LM) -> dict[str, Array]:
    """Return the packaged masked LM's arrays as floats, by name; matrices as [out, in]."""
    graph = onnx.load(folder / "model.onnx", load_external_data=False).graph
    raw = {tensor.name: tensor for tensor in graph.initializer}

    def array(name: str) -> NDArray[np.generic]:
        found: NDArray[np.generic] = numpy_helper.to_array(raw[name])
        return found

    words = np.load(folder / "embeddings.npy").astype(np.float32) * array("words.scale")
    found = {"words": words, "positions": array("positions.table")}
    plain = [f"{norm}.{part}" for norm in ("norm", "head_norm") for part in PARTS]
    matrices = [f"layers.{i}.{p}" for i in range(N_LAYERS) for p in ("qkv", "out", "ffn1", "ffn2")]
    for name in (*matrices, "transform"):
        scale = array(f"{name}.scale").astype(np.float32)
        found[f"{name}.weight"] = _dequantized(array(f"{name}.weight"), scale)
        plain.append(f"{name}.bias")
    for i in range(N_LAYERS):
        plain += [f"layers.{i}.{norm}.{p}" for norm in ("norm1", "norm2") for p in PARTS]
    return found | {name: array(name) for name in plain}


def _dequantized(weight: NDArray[np.generic], scale: Array) -> Array:
    """Return floats [out, in] of int8 [in, out] with column scales, or of uint8 [out, n, 32]."""
    floats = weight.astype(np.float32)
    if weight.dtype == np.int8:
        return (floats * scale).T
    n_out, n_blocks, _ = weight.shape
    return ((floats - 128) * scale.reshape(n_out, n_blocks, 1)).reshape(n_out, -1)


def packaged_state(folder: Path) -> dict[str, Tensor]:
    """Return a packaged tagger's state dict: what 4 and 8 bits kept of it, as floats."""
    graph = onnx.load(folder / "model.onnx").graph
    raw = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    found = {}
    for name, value in raw.items():
        module, _, part = name.rpartition(".")
        if part not in PARTS or module.endswith(".kv"):
            continue  # positions, constants, and rows of "qkv" that the graph holds twice
        floats = value.astype(np.float32)
        if value.dtype == np.uint8:
            floats = _unpacked(value, raw[f"{module}.scale"])
        elif floats.ndim == len(("in", "out")):
            floats = floats.T
        found[name] = torch.tensor(floats)
    return found


def _unpacked(weight: NDArray[np.uint8], scale: Array) -> Array:
    """Return floats [out, in] of uint8 [out, n_blocks, 32], or of two 4-bit weights a byte."""
    n_out, n_blocks, n_bytes = weight.shape
    if n_bytes == BLOCK:
        return _dequantized(weight, scale)
    both = np.stack([weight & 15, weight >> 4], -1).reshape(n_out, n_blocks, BLOCK)
    floats = (both.astype(np.float32) - 8) * scale.reshape(n_out, n_blocks, 1)
    return floats.reshape(n_out, -1)


class Places:
    """Where the pieces of runs are: a text's pieces side by side, which attend to the text's
    skeleton and to their own run.

    Args:
        valid: bool [runs, pieces]. row: int64 [runs], the text of each run, ascending.
        present: bool [texts, length], the skeletons' tokens.

    Attributes:
        text: int64 [n], the text of each valid piece. number: int64 [n], its number in the text.
        mask: bool [texts, 1, most, length + most], True where a piece attends.
    """

    def __init__(self, valid: Tensor, row: Tensor, present: Tensor) -> None:
        run = valid.nonzero()[:, 0]
        self.text = row[run]
        counts = torch.bincount(self.text, minlength=len(present))
        steps = torch.arange(len(run), device=run.device)
        self.number = steps - (counts.cumsum(0) - counts)[self.text]
        self._most = int(counts.max())
        runs = torch.full((len(present), self._most), -1, device=run.device)
        runs[self.text, self.number] = run
        skeleton = present[:, None, :].expand(-1, self._most, -1)
        self.mask = torch.cat([skeleton, runs[:, :, None] == runs[:, None, :]], -1)[:, None]

    def spread(self, x: Tensor) -> Tensor:
        """Return [texts, most, width] of the pieces' [n, width], zero where no piece is."""
        spread = x.new_zeros(len(self.mask), self._most, x.shape[-1])
        spread[self.text, self.number] = x
        return spread


def four_bits(weight: Tensor) -> Tensor:
    """Return a matrix [n_out, n_in] rounded to 4 bits as it is shipped, in blocks along the inputs;
    its gradient is that of the matrix.
    """
    blocks = weight.detach().reshape(len(weight), -1, BLOCK)
    furthest = blocks.abs().argmax(2, keepdim=True)
    scale = blocks.gather(2, furthest) / -8.0
    scale = torch.where(scale.abs() < LEAST_SCALE, LEAST_SCALE, scale)
    shown = (torch.round(blocks / scale).clamp(-8, 7) * scale).reshape(weight.shape)
    return weight + (shown - weight).detach()


class FourBits(nn.Linear):
    """A linear layer that multiplies with its rounded matrix."""

    def forward(self, x: Tensor) -> Tensor:
        return nn.functional.linear(x, four_bits(self.weight), self.bias)


class RunLayer(nn.Module):
    """A layer whose rows attend to the skeleton's states and to the rows of their own run."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv = FourBits(WIDTH, 3 * WIDTH)
        self.out = FourBits(WIDTH, WIDTH)
        self.norm1 = nn.LayerNorm(WIDTH, eps=EPS)
        self.ffn1 = FourBits(WIDTH, FFN)
        self.ffn2 = FourBits(FFN, WIDTH)
        self.norm2 = nn.LayerNorm(WIDTH, eps=EPS)
        self.drop = nn.Dropout(DROPOUT)

    def forward(self, x: Tensor, states: Tensor, places: Places) -> Tensor:
        """Return the next states of the pieces.

        Args:
            x: float [n, WIDTH], the pieces of all runs, one text's together.
            states: float [texts, length, WIDTH].
        """
        queries, *own = (places.spread(part) for part in torch.split(self.qkv(x), WIDTH, -1))
        weights = torch.split(four_bits(self.qkv.weight), WIDTH)
        biases = torch.split(self.qkv.bias, WIDTH)
        seen = [  # keys and values of the skeleton come before the runs' own
            torch.cat([nn.functional.linear(states, weights[i], biases[i]), part], 1)
            for i, part in enumerate(own, 1)
        ]
        q, k, v = (
            part.view(len(states), -1, N_HEADS, WIDTH // N_HEADS).transpose(1, 2)
            for part in (queries, *seen)
        )
        attended = nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=places.mask)
        flat = attended.transpose(1, 2).flatten(2)[places.text, places.number]
        x = self.norm1(x + self.drop(self.out(flat)))
        result: Tensor = self.norm2(x + self.drop(self.ffn2(nn.functional.gelu(self.ffn1(x)))))
        return result


class Told(nn.Module):
    """What visible words tell: scores of the skeleton's places by class, "no class" first.

    It reads the states that the runs read, and no run.

    Args:
        n_reads: how many layers' states there are.
    """

    def __init__(self, n_reads: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(n_reads * WIDTH, eps=EPS)
        self.first = nn.Linear(n_reads * WIDTH, TOLD_WIDTH)
        self.near = nn.Linear((2 * TOLD_REACH + 1) * TOLD_WIDTH, TOLD_WIDTH)
        self.last = nn.Linear(TOLD_WIDTH, len(CLASSES) + 1)
        self.drop = nn.Dropout(TOLD_DROPOUT)

    def forward(self, states: Tensor, present: Tensor) -> Tensor:
        """Return log odds, float32 [texts, length, 1 + n_classes].

        Args:
            states: float [texts, length, n_reads * WIDTH]. present: bool [texts, length].
        """
        x = nn.functional.gelu(self.first(self.drop(self.norm(states)))) * present[..., None]
        beside = nn.functional.pad(x, (0, 0, TOLD_REACH, TOLD_REACH))
        steps = range(2 * TOLD_REACH + 1)
        windows = torch.cat([beside[:, i : i + x.shape[1]] for i in steps], -1)
        x = x + nn.functional.gelu(self.near(windows))
        scores: Tensor = self.last(self.drop(x))
        return scores


class Known(nn.Module):
    """The second stage: scores of a word from the first stage's, from the state at its run's slot,
    and from what is known of the word (`sanitizer.detect.tagging.Lexicon`).

    Args:
        n_known: numbers for each word.
    """

    def __init__(self, n_known: int) -> None:
        super().__init__()
        n_scores = len(CLASSES) + 1
        self.scores = nn.Linear(n_scores, KNOWN_WIDTH)
        self.slot = nn.Linear(WIDTH, KNOWN_WIDTH)
        self.words = nn.Linear(n_known, KNOWN_WIDTH)
        self.last = nn.Linear(KNOWN_WIDTH, n_scores)

    def forward(self, scores: Tensor, slot: Tensor, known: Tensor) -> Tensor:
        """Return log odds, float32 [n, 1 + n_classes].

        Args:
            scores: float32 [n, 1 + n_classes], the first stage's. slot: float32 [n, WIDTH].
            known: float32 [n, n_known].
        """
        logs = torch.log(torch.softmax(scores, -1) + LEAST_SHARE)
        inner = self.scores(logs) + self.slot(slot) + self.words(known)
        found: Tensor = self.last(nn.functional.gelu(inner))
        return found


class Tagger(nn.Module):
    """Scores of runs by class, and of the skeleton's places by what their words tell.

    Args:
        arrays: of the packaged masked LM. layers: whose states each own layer reads.
        copies: begin with copies of the masked LM's layers; else `arrays` has no layers.
    """

    words: Tensor
    positions: Tensor

    def __init__(
        self, arrays: dict[str, Array], layers: Sequence[int] = LAYERS, copies: bool = True
    ) -> None:
        super().__init__()
        self.reads = tuple(layers)
        # Not saved with the checkpoint: these are the masked LM's.
        table, places = (torch.tensor(arrays[name]) for name in ("words", "positions"))
        self.register_buffer("words", table.half(), persistent=False)
        self.register_buffer("positions", places, persistent=False)
        self.norm = nn.LayerNorm(WIDTH, eps=EPS)
        self.slot = nn.Linear(WIDTH, WIDTH)
        nn.init.zeros_(self.slot.weight)
        nn.init.zeros_(self.slot.bias)
        self.layers = nn.ModuleList(RunLayer() for _ in layers)
        self.head = nn.Linear(WIDTH, len(CLASSES) + 1)
        self.dropout = nn.Dropout(DROPOUT)
        self.told = Told(len(self.reads))
        self.known = Known(N_KNOWN)
        own = {"norm": "norm"} | {f"layers.{k}": f"layers.{i}" for k, i in enumerate(layers)}
        if copies:
            self._copy(arrays, own)

    def _copy(self, arrays: dict[str, Array], own: dict[str, str]) -> None:
        """Start the modules that `own` names from the masked LM's of the given names."""
        with torch.no_grad():
            for name, parameter in self.named_parameters():
                for mine, theirs in own.items():
                    if name.startswith(mine + "."):
                        parameter.copy_(torch.tensor(arrays[theirs + name[len(mine) :]]))

    def forward(
        self,
        pieces: Tensor,
        valid: Tensor,
        at: Tensor,
        row: Tensor,
        states: States,
        present: Tensor,
    ) -> Tensor:
        """Return log odds, float32 [runs, n_pieces, 1 + n_classes].

        Args:
            pieces: int64 [runs, n_pieces]. valid: bool of the same shape. at: int64 [runs], places
                of the runs' slots. row: int64 [runs], their texts. present: bool [texts, length].
        """
        slot = self.slot(states[max(states)][row, at])[:, None, :]
        places = at[:, None] + torch.arange(pieces.shape[1], device=at.device)
        known = self.positions[places.clamp(max=len(self.positions) - 1)]
        x = self.dropout(self.norm(self.words[pieces].float() + known + slot)[valid])
        where = Places(valid, row, present)
        for layer, read in zip(self.layers, self.reads, strict=True):
            x = layer(x, states[read], where)
        spread = x.new_zeros(*valid.shape, WIDTH)
        spread[valid] = x.to(spread.dtype)
        scores: Tensor = self.head(self.dropout(spread.float()))
        return scores

    def visible(self, states: States, present: Tensor) -> Tensor:
        """Return log odds of each place of the skeletons, [texts, length, 1 + n_classes]."""
        scores: Tensor = self.told(torch.cat([states[i] for i in self.reads], -1), present)
        return scores


class Body:
    """The packaged masked LM, for states of many skeletons at once."""

    def __init__(self, threads: int, layers: Sequence[int] = LAYERS) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self._session = onnxruntime.InferenceSession(
            str(MASKED_LM / "model.onnx"), options, providers=["CPUExecutionProvider"]
        )
        self._layers = tuple(layers)

    def states(self, texts: Sequence[Encoded]) -> tuple[States, Tensor]:
        """Return the states of padded skeletons, and bool [texts, length], True at real tokens."""
        ids = np.zeros((len(texts), max(len(text.ids) for text in texts)), np.int64)
        present = np.zeros_like(ids)
        for row, text in enumerate(texts):
            ids[row, : len(text.ids)] = text.ids
            present[row, : len(text.ids)] = 1
        feed = {"input_ids": ids, "attention_mask": present, "positions_at": np.zeros(1, np.int64)}
        found = self._session.run([f"states_{layer}" for layer in self._layers], feed)
        states = {i: torch.from_numpy(x) for i, x in zip(self._layers, found, strict=True)}
        return states, torch.from_numpy(present.astype(bool))
