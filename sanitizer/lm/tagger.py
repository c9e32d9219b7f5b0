"""The tagger: what each hidden word is, read from the word itself and from visible text alone.

A run's word pieces are extra rows that attend to the states of the skeleton (the text with one mask
for each run, which the masked LM reads anyway) and to themselves, never to other runs. Rows are
quantized one by one and their number and length are fixed by the skeleton, so that the scores of a
run are equal to the bit whatever the other runs hold (docs/guarantees.md, "Local reading"). So are
the facts about each word that a second stage reads: its vector and the lists that it is on.
"""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sanitizer.errors import ModelError
from sanitizer.lm.files import Manifest, model_folder
from sanitizer.lm.masked import session

DEFAULT_TAGGER = "tagger"
Floats = NDArray[np.float32]
_HIDDEN = np.float32(-1e4)  # added to the attention scores of pieces that are not there


class Tagger(Protocol):
    """Scores of runs, given the states of the skeleton that they were cut out of."""

    classes: tuple[str, ...]
    layers: tuple[int, ...]
    width: int
    sha256: str

    def scores(
        self,
        states: dict[int, Floats],
        pieces: Floats,
        lengths: NDArray[np.int64],
        at: NDArray[np.int64],
        known: Floats | None = None,
    ) -> tuple[Floats, Floats]:
        """Score the pieces of runs, and the places of the skeleton.

        Args:
            states: layer -> float32 [length, width], of one skeleton.
            pieces: float32 [n_runs, `width`, d], input vectors of the runs' pieces, zero beyond
                `lengths`. lengths: int64 [n_runs]. at: int64 [n_runs], the runs' places.
            known: float32 [n_runs, `width`, n], what is known of the word that begins at a
                piece, zero elsewhere; scores of other pieces mean nothing then. None: the first
                stage alone, which reads pieces only.

        Returns:
            float32 [n_runs, `width`, 1 + n_classes], log odds with "no class" first; and float32
            [length], the log odds that the visible words at each place tell something private.
        """


class OnnxTagger:
    """A tagger from a model folder (see models/build/tagger). Thread-safe.

    Args:
        folder: holds manifest.json and the files it lists. threads: for one pass.

    Raises:
        ModelError: a file is missing or damaged.
    """

    def __init__(self, folder: Path | None = None, threads: int | None = None) -> None:
        folder = folder or model_folder(DEFAULT_TAGGER)
        manifest = Manifest.read(folder)
        manifest.verify({*manifest.data["files"], "model.onnx"})
        self.sha256 = manifest.sha256
        try:
            self.classes = tuple(str(name) for name in manifest.data["classes"])
            self.layers = tuple(int(layer) for layer in manifest.data["layers"])
            self.width = int(manifest.data["n_pieces"])
            self._n_known = int(manifest.data["n_known"])
        except (KeyError, TypeError, ValueError):
            raise ModelError("the tagger has an unusable manifest") from None
        self._session = session(folder / "model.onnx", threads)

    def scores(
        self,
        states: dict[int, Floats],
        pieces: Floats,
        lengths: NDArray[np.int64],
        at: NDArray[np.int64],
        known: Floats | None = None,
    ) -> tuple[Floats, Floats]:
        """See `Tagger.scores`."""
        output = "scores" if known is None else "known_scores"
        if known is None:  # the runtime wants every input, whichever output it computes
            known = np.zeros((len(pieces), self.width, self._n_known), np.float32)
        absent = np.arange(self.width) >= lengths[:, None]
        feed = {"pieces": pieces, "valid": absent * _HIDDEN, "at": at, "known": known}
        feed |= {f"states_{layer}": states[layer] for layer in self.layers}
        try:
            scores, told = self._session.run([output, "told"], feed)
        except Exception:  # onnxruntime's own errors derive from Exception; their text holds shapes
            raise ModelError("the tagger failed on this input") from None
        return scores, np.logaddexp.reduce(told[:, 1:], axis=1) - told[:, 0]
