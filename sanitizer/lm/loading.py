"""Loading at first use: each model once, shared by every Sanitizer derived from the first."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from sanitizer.lm.causal import CausalLM, OnnxCausalLM
from sanitizer.lm.files import Manifest, model_folder
from sanitizer.lm.masked import DEFAULT_MASKED_MODEL, MaskedLM, OnnxMaskedLM
from sanitizer.lm.reader import OnnxReader, Reader
from sanitizer.lm.tokens import ByteTokens, WordPieces
from sanitizer.lm.word_vectors import PieceTable, WordTable


class Tables(Protocol):
    """Word and piece vectors of a masked model, which need no pass of it."""

    words: WordTable
    pieces: PieceTable


@dataclass
class _Tables:
    words: WordTable
    pieces: PieceTable


class Models:
    """The language models and the reader with their tokenizers. Safe for many threads.

    >>> import numpy as np
    >>> from sanitizer.testing import ToyBackbone
    >>> models = Models(ToyBackbone(lambda n, size: np.zeros((n, size), np.float32)), threads=None)
    >>> model, pieces = models.masked()
    >>> pieces.token(pieces.mask)
    '[MASK]'

    Args:
        model: the masked model, loaded or as a folder; None for the packaged one.
        threads: threads of one forward pass; default all cores, at most 4.
        causal: the causal model, loaded or as a folder; None for the packaged one, whose weights
            are fetched.

    Raises:
        ValueError: fewer than one thread.
    """

    def __init__(
        self,
        model: MaskedLM | str | Path | None,
        threads: int | None,
        causal: CausalLM | str | Path | None = None,
    ) -> None:
        if threads is not None and threads < 1:
            raise ValueError(f"threads must be at least 1, got {threads!r}")
        self._masked_model = Path(model) if isinstance(model, str) else model
        self._causal_model = Path(causal) if isinstance(causal, str) else causal
        self._threads = threads
        self._masked: tuple[MaskedLM, WordPieces] | None = None
        self._causal: tuple[CausalLM, ByteTokens] | None = None
        self._tables: tuple[Tables, WordPieces] | None = None
        self._reader: Reader | None = None
        self._lock = threading.Lock()

    def masked(self) -> tuple[MaskedLM, WordPieces]:
        """Return the masked model and its tokenizer; raise ModelError if a file cannot be used."""
        with self._lock:
            if self._masked is None:
                model = self._masked_model
                if model is None or isinstance(model, Path):
                    model = OnnxMaskedLM(model, self._threads)
                self._masked = model, WordPieces(model.folder / "tokenizer.json")
            return self._masked

    def tables(self) -> tuple[Tables, WordPieces]:
        """Return the masked model's vectors and tokenizer, without the model; raise ModelError."""
        with self._lock:
            if self._masked is not None:
                return self._masked
            model = self._masked_model
            if model is not None and not isinstance(model, Path):
                return model, WordPieces(model.folder / "tokenizer.json")
            if self._tables is None:
                folder = model or model_folder(DEFAULT_MASKED_MODEL)
                manifest = Manifest.read(folder)
                manifest.verify(name for name in manifest.data["files"] if name != "model.onnx")
                tables: Tables = _Tables(WordTable.load(folder), PieceTable.load(folder))
                self._tables = tables, WordPieces(folder / "tokenizer.json")
            return self._tables

    def causal(self) -> tuple[CausalLM, ByteTokens]:
        """Return the causal model and its tokenizer.

        Raises:
            ModelError: a file is missing or damaged; for weights, the message names the command
                that fetches them.
        """
        with self._lock:
            if self._causal is None:
                model = self._causal_model
                if model is None or isinstance(model, Path):
                    model = OnnxCausalLM(model, self._threads)
                self._causal = model, ByteTokens(model.folder / "tokenizer.json")
            return self._causal

    def reader(self) -> Reader:
        """Return the packaged reader; raise ModelError if a file is missing or damaged."""
        with self._lock:
            if self._reader is None:
                self._reader = OnnxReader(threads=self._threads)
            return self._reader
