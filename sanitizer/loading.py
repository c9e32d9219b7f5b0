"""What is loaded at first use, once, and shared by every Sanitizer derived from the first."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from pathlib import Path

from sanitizer.backbone import MaskedLM, OnnxMaskedLM
from sanitizer.causal import CausalLM, OnnxCausalLM
from sanitizer.engines import Engine, Mechanism, engine_for
from sanitizer.mechanisms.cape import Cape
from sanitizer.names import NameFinder
from sanitizer.text import ByteTokens, WordPieces


@dataclass(frozen=True)
class Parts:
    """What perturbing words needs; `sha256` is the manifest's of the model that reads the context."""

    model: MaskedLM
    pieces: WordPieces
    engine: Engine

    @property
    def sha256(self) -> str:
        return self.model.sha256 if self.engine.left is None else self.engine.left.sha256


class Models:
    """The masked LM and the causal LM with their tokenizers, and the model that finds names. Safe for many threads.

    Args:
        model: folder, a loaded model, or None for the packaged one. threads: for one forward pass.
        causal: as `model`, for the causal one, whose weights are fetched.
    """

    def __init__(
        self, model: MaskedLM | Path | None, threads: int | None, causal: CausalLM | Path | None = None
    ) -> None:
        self._model, self._causal_model, self._threads = model, causal, threads
        self._masked: tuple[MaskedLM, WordPieces] | None = None
        self._causal: tuple[CausalLM, ByteTokens] | None = None
        self._names: NameFinder | None = None
        self._lock = threading.Lock()

    def masked(self) -> tuple[MaskedLM, WordPieces]:
        """Model and tokenizer. Raises ModelError."""
        with self._lock:
            if self._masked is None:
                model = self._model
                if model is None or isinstance(model, Path):
                    model = OnnxMaskedLM(model, self._threads)
                self._masked = model, WordPieces(model.folder / "tokenizer.json")
            return self._masked

    def causal(self) -> tuple[CausalLM, ByteTokens]:
        """Causal model and tokenizer. Raises ModelError, which names the command that fetches missing weights."""
        with self._lock:
            if self._causal is None:
                model = self._causal_model
                if model is None or isinstance(model, Path):
                    model = OnnxCausalLM(model, self._threads)
                self._causal = model, ByteTokens(model.folder / "tokenizer.json")
            return self._causal

    def parts(self, mechanism: Mechanism) -> Parts:
        """What a mechanism needs; the causal model only if it reads with it. Raises ModelError."""
        reads_left = isinstance(mechanism, Cape) and mechanism.backbone == "causal"
        causal = self.causal() if reads_left else None  # first: its weights may be missing
        model, pieces = self.masked()
        return Parts(model, pieces, engine_for(mechanism, model, pieces, causal))

    def names(self, wanted: bool | None) -> NameFinder | None:
        """The finder of names if it is wanted, or if it is only welcome (None) and installed. Raises ModelError."""
        if wanted is False or (wanted is None and not NameFinder.installed()):
            return None
        with self._lock:
            if self._names is None:
                self._names = NameFinder.load()
            return self._names
