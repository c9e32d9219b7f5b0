"""What is loaded at first use, once, and shared by every Sanitizer derived from the first."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from pathlib import Path

from sanitizer.backbone import MaskedLM, OnnxMaskedLM
from sanitizer.engines import Engine
from sanitizer.names import NameFinder
from sanitizer.text import WordPieces


@dataclass(frozen=True)
class Parts:
    """What perturbing words needs."""

    model: MaskedLM
    pieces: WordPieces
    engine: Engine


class Models:
    """The masked LM with its tokenizer, and the model that finds names. Safe for many threads.

    Args:
        model: folder, a loaded model, or None for the packaged one. threads: for one forward pass.
    """

    def __init__(self, model: MaskedLM | Path | None, threads: int | None) -> None:
        self._model, self._threads = model, threads
        self._masked: tuple[MaskedLM, WordPieces] | None = None
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

    def names(self, wanted: bool | None) -> NameFinder | None:
        """The finder of names if it is wanted, or if it is only welcome (None) and installed. Raises ModelError."""
        if wanted is False or (wanted is None and not NameFinder.installed()):
            return None
        with self._lock:
            if self._names is None:
                self._names = NameFinder.load()
            return self._names
