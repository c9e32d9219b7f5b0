"""What is loaded at first use, once, and shared by every Sanitizer derived from the first."""

from __future__ import annotations

import threading
from pathlib import Path

from sanitizer.lm.causal import CausalLM, OnnxCausalLM
from sanitizer.lm.masked import MaskedLM, OnnxMaskedLM
from sanitizer.lm.tokens import ByteTokens, WordPieces


class Models:
    """The masked LM and the causal LM with their tokenizers. Safe for many threads.

    Args:
        model: folder, a loaded model, or None for the packaged one. threads: for one forward pass.
        causal: as `model`, for the causal one, whose weights are fetched.
    """

    def __init__(
        self,
        model: MaskedLM | Path | None,
        threads: int | None,
        causal: CausalLM | Path | None = None,
    ) -> None:
        self._model, self._causal_model, self._threads = model, causal, threads
        self._masked: tuple[MaskedLM, WordPieces] | None = None
        self._causal: tuple[CausalLM, ByteTokens] | None = None
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
        """Causal model and tokenizer. Raises ModelError, which names the command that fetches
        missing weights.
        """
        with self._lock:
            if self._causal is None:
                model = self._causal_model
                if model is None or isinstance(model, Path):
                    model = OnnxCausalLM(model, self._threads)
                self._causal = model, ByteTokens(model.folder / "tokenizer.json")
            return self._causal
