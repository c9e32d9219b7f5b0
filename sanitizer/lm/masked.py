"""The masked language model: token sequences as rows, rows as padded batches, batches scored.

With the released context, rows depend on public tokens and on where the private words are, never
on what they are.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sanitizer.errors import ModelError
from sanitizer.lm.files import Manifest, model_folder
from sanitizer.lm.word_vectors import PieceTable, WordTable, mapped

if TYPE_CHECKING:
    import onnxruntime

DEFAULT_MASKED_MODEL = "masked-lm"
MAX_THREADS = 4
"""Threads of one forward pass at most: more gain little on texts of this length."""
FILES = tuple(
    """
    bias.npy dyntext.json dyntext_tokens_density.npy dyntext_tokens_members.npy
    dyntext_words_density.npy dyntext_words_members.npy embedding_scale.npy embeddings.npy
    model.onnx output_rows.npy outputs.json tokenizer.json vectors.npy words.npy
    """.split()
)
"""Files that the folder of a masked model must hold."""
MARGIN = 24
"""Tokens of context that a row has beyond its own stretch of the text, on each side."""

PRECISE = "session.x64quantprecision"
"""onnxruntime's option under which quantized products (but for those in blocks) never saturate.

It is slow on processors with AMX, so it is set only where products would saturate.
"""
PROBE = (
    b'\x08\x08:\x83\x03\n2\n\x01x\n\x01w\n\x01s\x12\x01y"\x15DynamicQuantizeMatMul:\rcom.microsoft'
    b"\x12\x05probe*\x8c\x02\x08\x10\x08\x10\x10\x03B\x01wJ\x80\x02"
    + b"\x7f" * 256  # the weights
    + b"*\x0b\x10\x01B\x01sJ\x04\x00\x00\x80?"
    + b"Z\x14\n\x01x\x12\x0f\n\r\x08\x01\x12\t\n\x03\x12\x01n\n\x02\x08\x10"
    + b"b\x14\n\x01y\x12\x0f\n\r\x08\x01\x12\t\n\x03\x12\x01n\n\x02\x08\x10"
    + b"B\x04\n\x00\x10\x11B\x11\n\rcom.microsoft\x10\x01"
)
"""ONNX graph that multiplies by 16 x 16 int8 weights of 127; `models.build.probe` makes it."""


@dataclass(frozen=True, slots=True)
class Row:
    """One row of model input, without the tokens at its edges.

    Attributes:
        text: number of the text that the row belongs to.
        ids: int64 [length], token ids.
        words: int [n], numbers of the words asked for.
        at: int [n], their masked positions in `ids`.
    """

    text: int
    ids: NDArray[np.int64]
    words: NDArray[np.intp]
    at: NDArray[np.intp]


def rows(
    text: int,
    ids: NDArray[np.int64],
    slots: NDArray[np.intp],
    words: NDArray[np.intp],
    max_length: int,
) -> list[Row]:
    """Cover the words asked for, each by exactly one row of at most max_length - 2 tokens.

    A long text is cut into equal stretches; each row also reads MARGIN tokens on both sides.

    >>> import numpy as np
    >>> cut = rows(0, np.arange(300), np.array([7, 290]), np.array([0, 1]), max_length=128)
    >>> [(len(row.ids), row.words.tolist(), row.at.tolist()) for row in cut]
    [(99, [0], [7]), (99, [1], [89])]

    Args:
        text: number of the text.
        ids: int64 [n_tokens], its token ids with every private word masked.
        slots: int [n_words], ascending positions of all words in `ids`.
        words: int [n], ascending, numbers of the words asked for.
        max_length: tokens of one row, the two at its edges included.
    """
    if not len(words):
        return []
    room = max_length - 2
    positions = slots[words]
    if len(ids) <= room:
        return [Row(text, ids, words, positions)]
    n_rows = -(-len(ids) // (room - 2 * MARGIN))
    edges = np.linspace(0, len(ids), n_rows + 1).astype(np.intp)
    bounds = np.searchsorted(positions, edges)
    cut: list[Row] = []
    for left, right, first, last in zip(edges, edges[1:], bounds, bounds[1:], strict=False):
        begin, end = max(0, int(left) - MARGIN), min(len(ids), int(right) + MARGIN)
        if first < last:
            at = positions[first:last] - begin
            cut.append(Row(text, ids[begin:end], words[first:last], at))
    return cut


def centred_rows(
    text: int,
    ids: NDArray[np.int64],
    begins: NDArray[np.intp],
    ends: NDArray[np.intp],
    words: NDArray[np.intp],
    mask: int,
    max_length: int,
) -> Iterator[Row]:
    """Yield one row per word asked for: the word's tokens become one mask, all others stay.

    >>> import numpy as np
    >>> ids = np.array([5, 6, 7, 8])
    >>> (row,) = centred_rows(0, ids, np.array([1]), np.array([3]), np.array([0]), 103, 128)
    >>> row.ids.tolist()
    [5, 103, 8]

    Args:
        text: number of the text.
        ids: int64 [n_tokens], token ids of the original text.
        begins: int [n_words], first token of each word.
        ends: int [n_words], end of each word's tokens.
        words: int [n], numbers of the words asked for.
        mask: id of the mask token.
        max_length: tokens of one row, the two at its edges included.
    """
    side = (max_length - 3) // 2
    for word in words:
        left = ids[max(0, begins[word] - side) : begins[word]]
        right = ids[ends[word] : ends[word] + side]
        row = np.concatenate([left, [mask], right])
        yield Row(text, row, np.array([word], dtype=np.intp), np.array([len(left)], dtype=np.intp))


@dataclass(frozen=True, slots=True)
class Batch:
    """Padded model input.

    Attributes:
        ids: int64 [batch, length], token ids, edges included.
        lengths: int64 [batch], tokens of each row before the padding.
        at: int64 [n], flat masked positions: row * length + column.
        units: numbers of the text and of the word behind each of `at`.
    """

    ids: NDArray[np.int64]
    lengths: NDArray[np.int64]
    at: NDArray[np.int64]
    units: tuple[tuple[int, int], ...]


def batches(planned: Sequence[Row], edges: tuple[int, int], max_tokens: int) -> Iterator[Batch]:
    """Pack rows, in order, into batches of at most `max_tokens` tokens (at least one row each).

    >>> import numpy as np
    >>> planned = rows(0, np.array([7, 103]), np.array([1]), np.array([0]), max_length=128)
    >>> (batch,) = batches(planned, edges=(101, 102), max_tokens=512)
    >>> batch.ids.tolist(), batch.at.tolist(), batch.units
    ([[101, 7, 103, 102]], [2], ((0, 0),))

    Args:
        edges: ids of the tokens put before and after each row.
        max_tokens: rows times columns of one batch.
    """
    group: list[Row] = []
    width = 0
    for row in planned:
        wider = max(width, len(row.ids) + 2)
        if group and wider * (len(group) + 1) > max_tokens:
            yield _packed(group, edges, width)
            group, wider = [], len(row.ids) + 2
        group.append(row)
        width = wider
    if group:
        yield _packed(group, edges, width)


def _packed(group: Sequence[Row], edges: tuple[int, int], width: int) -> Batch:
    ids = np.zeros((len(group), width), dtype=np.int64)
    for i, row in enumerate(group):
        ids[i, 0], ids[i, len(row.ids) + 1] = edges
        ids[i, 1 : len(row.ids) + 1] = row.ids
    lengths = np.array([len(r.ids) + 2 for r in group], dtype=np.int64)
    at = np.concatenate([i * width + 1 + row.at for i, row in enumerate(group)]).astype(np.int64)
    units = tuple((row.text, int(word)) for row in group for word in row.words)
    return Batch(ids, lengths, at, units)


Floats = NDArray[np.float32]


class MaskedLM(Protocol):
    """Masked language model as the pipeline uses it; its outputs are whole words.

    Attributes:
        folder: folder of the model, which holds tokenizer.json.
        sha256: hash of its manifest.
        outputs: the output vocabulary Y.
        output_ids: int [n_outputs], token id of each output.
        logit_range: bounds of the scores over Y.
        max_length: tokens of one row at most.
        words: vectors of frequent words, and of the outputs.
        pieces: the model's own input vectors.
    """

    folder: Path
    sha256: str
    outputs: list[str]
    output_ids: NDArray[np.intp]
    logit_range: tuple[float, float]
    max_length: int
    words: WordTable
    pieces: PieceTable

    def logits(
        self, ids: NDArray[np.int64], lengths: NDArray[np.int64], at: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        """Return scores over Y at masked positions, float32 [n, n_outputs].

        Args:
            ids: int64 [batch, length], rows padded at the end.
            lengths: int64 [batch], real tokens per row.
            at: int64 [n], flat positions row * length + column.
        """

    def full_logits(
        self, ids: NDArray[np.int64], lengths: NDArray[np.int64], at: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        """Return as `logits`, but over the whole vocabulary, float32 [n, n_vocabulary]."""


class OnnxMaskedLM:
    """A masked language model from a model folder. Implements `MaskedLM`; thread-safe.

    >>> import numpy as np
    >>> from sanitizer.lm.tokens import WordPieces
    >>> model = OnnxMaskedLM()
    >>> pieces = WordPieces(model.folder / "tokenizer.json")
    >>> before, after = pieces.encode("I saw this"), pieces.encode("at the cinema.")
    >>> ids = [pieces.cls, *before, pieces.mask, *after, pieces.sep]
    >>> scores = model.logits(np.array([ids]), np.array([len(ids)]), np.array([len(before) + 1]))
    >>> model.outputs[int(scores.argmax())] in ("film", "movie")
    True

    Args:
        folder: holds manifest.json and the files it lists (models/build makes one); every file's
            SHA-256 is checked first. Default the packaged model.
        threads: threads of one forward pass; default all cores, at most 4.

    Raises:
        ModelError: a file is missing, damaged or does not fit.
        ValueError: threads below 1.
    """

    def __init__(self, folder: Path | None = None, threads: int | None = None) -> None:
        if threads is not None and threads < 1:
            raise ValueError(f"threads must be at least 1, got {threads}")
        self.folder = folder or model_folder(DEFAULT_MASKED_MODEL)
        manifest = Manifest.read(self.folder)
        manifest.verify({*manifest.data["files"], *FILES})
        self.sha256 = manifest.sha256
        settings = read_settings(self.folder, manifest.data)
        self.outputs, self.output_ids, self.logit_range, self.max_length = settings
        self.words = WordTable.load(self.folder)
        self.pieces = PieceTable.load(self.folder)
        self._bias = mapped(self.folder / "bias.npy").astype(np.float32)
        self._session = session(self.folder / "model.onnx", threads)

    def _run(
        self, name: str, ids: NDArray[np.int64], lengths: NDArray[np.int64], at: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        mask = (np.arange(ids.shape[1]) < lengths[:, None]).astype(np.int64)
        feed = {"input_ids": ids, "attention_mask": mask, "positions_at": at}
        try:
            (result,) = self._session.run([name], feed)
        # onnxruntime's errors derive from Exception; their text is dropped, since it may quote data
        except Exception:
            raise ModelError("the masked language model failed on this input") from None
        scores: NDArray[np.float32] = result
        return scores

    def logits(
        self, ids: NDArray[np.int64], lengths: NDArray[np.int64], at: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        return self._run("logits", ids, lengths, at)

    def full_logits(
        self, ids: NDArray[np.int64], lengths: NDArray[np.int64], at: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        states = self._run("states", ids, lengths, at)
        scores: NDArray[np.float32] = self.pieces.times(states) + self._bias
        return scores


def read_settings(
    folder: Path, data: dict[str, Any]
) -> tuple[list[str], NDArray[np.intp], tuple[float, float], int]:
    """Return output words, their token ids int [n_outputs], the logit range, and the row length.

    Args:
        data: content of its manifest.

    Raises:
        ModelError: the manifest or outputs.json lack one of them.
    """
    try:
        pairs = json.loads((folder / "outputs.json").read_text("utf-8"))
        low, high = data["logit_range"]
        words = [str(word) for word, _ in pairs]
        ids = np.array([index for _, index in pairs], dtype=np.intp)
        return words, ids, (float(low), float(high)), int(data["max_length"])
    except (OSError, KeyError, TypeError, ValueError):
        raise ModelError("the model has an unusable manifest or output list") from None


def runtime() -> ModuleType:
    """Return onnxruntime, told to be silent.

    From 1.32 on it reports to its makers when it is imported and when a model is loaded, and keeps
    a number of this machine in the user's cache. The variable stops that before the import; the
    call is for programs that imported it before.
    """
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime

    onnxruntime.disable_telemetry_events()
    silent: ModuleType = onnxruntime
    return silent


def session(
    path: Path, threads: int | None, weights: Path | None = None
) -> onnxruntime.InferenceSession:
    """Load a graph with onnxruntime.

    Args:
        threads: threads of one pass; default all cores, at most MAX_THREADS.
        weights: folder of the tensors that the graph describes by file and offset; default beside
            the graph.

    Raises:
        ModelError: onnxruntime cannot load it.
    """
    library = runtime()
    options = library.SessionOptions()
    options.intra_op_num_threads = threads or min(MAX_THREADS, os.cpu_count() or 1)
    options.inter_op_num_threads = 1
    options.log_severity_level = 4
    # Threads that wait in a loop take the cores from others: beside other programs, the same texts
    # took 2.1 processor seconds in place of 0.8.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    if saturates():
        options.add_session_config_entry(PRECISE, "1")
    graph: str | bytes = str(path)
    if weights is not None:
        # onnxruntime takes the folder of external tensors only for a graph given as bytes
        graph = path.read_bytes()
        options.add_session_config_entry(
            "session.model_external_initializers_file_folder_path", str(weights)
        )
    try:
        opened: onnxruntime.InferenceSession = library.InferenceSession(
            graph, options, providers=["CPUExecutionProvider"]
        )
        return opened
    except Exception:
        raise ModelError(f"{path.name} cannot be loaded by onnxruntime") from None


@cache
def saturates() -> bool:
    """Return True if int8 products saturate on this processor unless told not to.

    They do on x64 processors with AVX2 but without VNNI, where the packaged model would be another,
    much worse one. The largest product that can occur is tried.
    """
    onnxruntime = runtime()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    try:
        probe = onnxruntime.InferenceSession(PROBE, options, providers=["CPUExecutionProvider"])
        (found,) = probe.run(None, {"x": np.full((8, 16), 255, np.float32)})
    except Exception:  # unknown: the precise mode is never wrong
        return True
    return bool((np.asarray(found) != 16 * 255 * 127).any())
