"""The masked language model behind a small protocol; the only place that knows onnxruntime."""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path
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
FILES = (
    "bias.npy",
    "dyntext.json",
    "dyntext_tokens_density.npy",
    "dyntext_tokens_members.npy",
    "dyntext_words_density.npy",
    "dyntext_words_members.npy",
    "embedding_scale.npy",
    "embeddings.npy",
    "model.onnx",
    "output_rows.npy",
    "outputs.json",
    "tokenizer.json",
    "vector_norms.npy",
    "vectors.npy",
    "words.npy",
)


PRECISE = "session.x64quantprecision"
"""onnxruntime's option under which quantized products (not those in blocks) never saturate; slow
where there is AMX.
"""
PROBE = (
    b'\x08\x08:\x83\x03\n2\n\x01x\n\x01w\n\x01s\x12\x01y"\x15DynamicQuantizeMatMul:\rcom.microsoft\x12\x05probe'
    b"*\x8c\x02\x08\x10\x08\x10\x10\x03B\x01wJ\x80\x02"
    + b"\x7f"
    * 256
    + b"*\x0b\x10\x01B\x01sJ\x04\x00\x00\x80?Z\x14\n\x01x\x12\x0f\n\r\x08\x01\x12\t\n\x03\x12\x01n\n\x02\x08\x10"
    b"b\x14\n\x01y\x12\x0f\n\r\x08\x01\x12\t\n\x03\x12\x01n\n\x02\x08\x10B\x04\n\x00\x10\x11B\x11\n\rcom.microsoft\x10\x01"
)
"""A product of float inputs with 16 x 16 weights of 127, as `models.build.probe` writes it."""


class MaskedLM(Protocol):
    """What the pipeline asks of a masked language model. Outputs are whole words of the vocabulary
    Y.
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
        """Scores over Y at masked positions.

        Args:
            ids: int64 [batch, length], rows padded at the end.
            lengths: int64 [batch], real tokens per row.
            at: int64 [n], flat positions row * length + column.

        Returns:
            float32 [n, n_outputs].
        """

    def full_logits(
        self, ids: NDArray[np.int64], lengths: NDArray[np.int64], at: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        """The same over the whole vocabulary, float32 [n, n_vocabulary]."""


class OnnxMaskedLM:
    """A masked LM from a model folder (see models/build). Implements `MaskedLM`; thread-safe.

    Args:
        folder: holds manifest.json and the files it lists; every file's SHA-256 is checked first.
        threads: for one forward pass; default all cores, at most 4.

    Raises:
        ModelError: a file is missing, damaged or does not fit. ValueError: threads below 1.
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
        self.words, self.pieces = WordTable.load(self.folder), PieceTable.load(self.folder)
        self._bias = mapped(self.folder / "bias.npy").astype(np.float32)
        self._session = session(self.folder / "model.onnx", threads)

    def _run(
        self, name: str, ids: NDArray[np.int64], lengths: NDArray[np.int64], at: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        mask = (np.arange(ids.shape[1]) < lengths[:, None]).astype(np.int64)
        feed = {"input_ids": ids, "attention_mask": mask, "positions_at": at}
        try:
            (result,) = self._session.run([name], feed)
        except (
            Exception
        ):  # onnxruntime's own errors derive from Exception; their text may hold shapes only
            raise ModelError("the masked language model failed on this input") from None
        scores: NDArray[np.float32] = result
        return scores

    def logits(
        self, ids: NDArray[np.int64], lengths: NDArray[np.int64], at: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        """See `MaskedLM.logits`."""
        return self._run("logits", ids, lengths, at)

    def full_logits(
        self, ids: NDArray[np.int64], lengths: NDArray[np.int64], at: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        """See `MaskedLM.full_logits`."""
        states = self._run("states", ids, lengths, at)
        scores: NDArray[np.float32] = self.pieces.times(states) + self._bias
        return scores


def read_settings(
    folder: Path, data: dict[str, Any]
) -> tuple[list[str], NDArray[np.intp], tuple[float, float], int]:
    """Output words, their token ids int [n_outputs], the logit range, and the window's length in
    tokens.

    Raises:
        ModelError: if the manifest's `data` or outputs.json lack one of them.
    """
    try:
        pairs = json.loads((folder / "outputs.json").read_text("utf-8"))
        low, high = data["logit_range"]
        ids = np.array([index for _, index in pairs], dtype=np.intp)
        return (
            [str(word) for word, _ in pairs],
            ids,
            (float(low), float(high)),
            int(data["max_length"]),
        )
    except (OSError, KeyError, TypeError, ValueError):
        raise ModelError("the model has an unusable manifest or output list") from None


def session(
    path: Path, threads: int | None, weights: Path | None = None
) -> onnxruntime.InferenceSession:
    """The graph, ready to run.

    Args:
        path: the ONNX file. threads: for one pass; default all cores, at most MAX_THREADS.
        weights: folder of the tensors that the graph describes by file and offset; default beside
            the graph.

    Raises:
        ModelError: if onnxruntime cannot load it.
    """
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads or min(MAX_THREADS, os.cpu_count() or 1)
    options.inter_op_num_threads = 1
    options.log_severity_level = 4
    if saturates():
        options.add_session_config_entry(PRECISE, "1")
    graph: str | bytes = str(path)
    if weights is not None:
        graph = path.read_bytes()
        options.add_session_config_entry(
            "session.model_external_initializers_file_folder_path", str(weights)
        )
    try:
        return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
    except Exception:
        raise ModelError(f"{path.name} cannot be loaded by onnxruntime") from None


@cache
def saturates() -> bool:
    """Whether int8 products saturate here unless told not to: on x64 processors with AVX2 but no
    VNNI.

    The packaged model would be another, much worse one there. Found out by the largest product
    there is.
    """
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    try:
        probe = onnxruntime.InferenceSession(PROBE, options, providers=["CPUExecutionProvider"])
        (found,) = probe.run(None, {"x": np.full((8, 16), 255, np.float32)})
    except Exception:  # not known; the precise mode is never wrong
        return True
    return bool((np.asarray(found) != 16 * 255 * 127).any())
