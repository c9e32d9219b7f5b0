"""The reader: a small multilingual encoder that reads a view, and each hidden run by itself.

Tokens of the view attend to the view, pieces of a run to the view and to their own run: what is
said of a run is a function of the view and of its own characters, whatever else is hidden.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from sanitizer.errors import ModelError
from sanitizer.lm.files import Manifest, model_folder
from sanitizer.lm.masked import session
from sanitizer.lm.tokens import PlacedPieces
from sanitizer.progress import report

Floats = NDArray[np.float32]

CLASSES = (
    "PERSON ORGANIZATION PLACE PRODUCT CONDITION TREATMENT BELIEF ORIGIN SEXUALITY CRIME "
    "OCCUPATION FAMILY MONEY DATE NUMBER ID FACT IDENTIFIER"
).split()
"""Classes in the order of the scores; the score before them is that of none."""
ELIGIBLE = (
    "PLACE MONEY DATE NUMBER CONDITION TREATMENT BELIEF ORIGIN SEXUALITY CRIME OCCUPATION FAMILY"
).split()
"""Classes of what a request may need."""
TELLING = ("AGE", "BIRTH")
"""What a number or date may be besides: somebody's age, a date of birth."""
GENDERS = "fmp"
"""Grammatical gender of a person, or several: feminine, masculine, plural."""
BEGIN, END = 0, 2
"""Tokens before and after a view."""
MARGIN, STEP = 32, 160
"""Tokens of a view that are decided at once, and those on each side that give context alone."""
ROW, ROW_MARGIN = 32, 4
"""Most pieces of a run that are read at once, and those on each side that give context alone."""
WIDTHS = (4, 8, 16, 32)
CELLS = 64
"""Pieces of a row, and most of all rows of one call."""
POSITIONS = 2 * MARGIN + STEP + ROW
"""The last position that a window of a view, or a run in it, can have."""
_ABSENT = np.float32(-1e4)


class Scores(NamedTuple):
    """What the reader says of words.

    Attributes:
        classes: float32 [n, 1 + n_classes], log odds; the first is that of no class.
        begins: float32 [n], log odds that an entity begins. genders: float32 [n, 3], log odds.
    """

    classes: Floats
    begins: Floats
    genders: Floats


class Read(NamedTuple):
    """What the reader says of one document.

    Attributes:
        visible: scores of the visible words. runs: of each run, the scores of its words.
        needed: float32 [n_asked, n_eligible + n_telling], log odds that the request needs what is
            there, by its class, and of what else it is.
    """

    visible: Scores
    runs: list[Scores]
    needed: Floats


class Ask(NamedTuple):
    """What the user wrote of a view.

    Attributes:
        ids: its tokens. places: of those of which is asked whether the request needs them.
    """

    ids: Sequence[int]
    places: Sequence[int]


class Reader(Protocol):
    """Scores of the words of a document.

    Attributes:
        least_needed: class -> log odds from which the request needs a thing; and of TELLING.
    """

    sha256: str
    thresholds: dict[str, float]
    least_needed: dict[str, float]
    pieces: PlacedPieces

    def read(
        self,
        view: tuple[Sequence[int], Sequence[int], Sequence[int]],
        runs: Sequence[tuple[Sequence[int], Sequence[int]]],
        ask: Ask | None = None,
    ) -> Read:
        """Read one document.

        Args:
            view: tokens of the view, places of its slots, places of its visible words.
            runs: of each slot, tokens of the run (none for an identifier), and the place of the
                first token of each of its words.
            ask: what the user wrote of it; read by itself. None: nothing is asked.

        Raises:
            ModelError: the model failed.
        """


def windows_of(n: int) -> Iterator[tuple[int, int, int, int]]:
    """Cover the tokens of a view: (low, high, first, end), where `first` to `end` is decided.

    Example:
        >>> list(windows_of(200))
        [(0, 192, 0, 160), (128, 200, 160, 200)]
    """
    for first in range(0, n, STEP):
        end = min(n, first + STEP)
        yield max(0, first - MARGIN), min(n, end + MARGIN), first, end


def runs_of(n: int) -> Iterator[tuple[int, int, range]]:
    """Cover the pieces of a run: (begin, stop, what is decided)."""
    if n <= ROW:
        yield 0, n, range(n)
        return
    step = ROW - 2 * ROW_MARGIN
    for first in range(0, n, step):
        end = min(n, first + step)
        yield max(0, first - ROW_MARGIN), min(n, end + ROW_MARGIN), range(first, end)


class _Row(NamedTuple):
    run: int
    begin: int
    ids: Sequence[int]
    decides: range
    at: int


class OnnxReader:
    """The reader from a model folder. Implements `Reader`; safe for many threads.

    Args:
        folder: holds manifest.json and the files it lists. threads: of one pass.

    Raises:
        ModelError: a file is missing or damaged.
    """

    def __init__(self, folder: Path | None = None, threads: int | None = None) -> None:
        folder = folder or model_folder("reader")
        manifest = Manifest.read(folder)
        manifest.verify()
        self.sha256 = manifest.sha256
        try:
            self.thresholds = {k: float(v) for k, v in manifest.data["thresholds"].items()}
        except (AttributeError, KeyError, TypeError, ValueError):
            raise ModelError("the reader has an unusable manifest") from None
        self.pieces = PlacedPieces(folder / "tokenizer.json")
        self._packed = np.load(folder / "embeddings.npy", mmap_mode="r")
        self._scales = np.load(folder / "scales.npy", mmap_mode="r")
        added = np.load(folder / "positions.npy").astype(np.float32)
        self._positions: Floats = added[None, :-2] + added[-2:, None]  # of the view, and of runs
        self._view = session(folder / "view.onnx", threads)
        self._runs = session(folder / "runs.onnx", threads)
        self._sizes = {width: self._sizes_of(width) for width in WIDTHS}
        self.least_needed = {k: float(v) for k, v in manifest.data.get("needed", {}).items()}
        self._folder, self._threads = folder, threads

    def _embedded(
        self, ids: Sequence[int] | NDArray[np.int64], positions: NDArray[np.int64], own: int
    ) -> Floats:
        """Return the input vectors of tokens, float32 [n, width]."""
        packed = self._packed[np.asarray(ids, np.int64)]
        values = np.empty((len(packed), 2 * packed.shape[1]), np.float32)
        values[:, 0::2], values[:, 1::2] = packed & 15, packed >> 4
        scales = self._scales[np.asarray(ids, np.int64)].astype(np.float32)
        blocks = (values - 8).reshape(len(packed), scales.shape[1], -1) * scales[:, :, None]
        vectors: Floats = blocks.reshape(len(packed), -1) + self._positions[own, positions]
        return vectors

    def read(
        self,
        view: tuple[Sequence[int], Sequence[int], Sequence[int]],
        runs: Sequence[tuple[Sequence[int], Sequence[int]]],
        ask: Ask | None = None,
    ) -> Read:
        """See `Reader.read`."""
        view_ids, slots, words = view
        ids = [BEGIN, *view_ids, END]
        n_scores = 1 + len(CLASSES) + 1 + len(GENDERS)
        seen = np.zeros((len(words), n_scores), np.float32)
        states: list[Floats] = []
        told = [np.zeros((len(firsts), n_scores), np.float32) for _, firsts in runs]
        word_at, slot_at = (np.asarray(each, np.int64) + 1 for each in (words, slots))
        for low, first, end, (scores, its, keys, values) in self._viewed(ids):
            states.append(its[first - low : end - low])
            inside = (word_at >= first) & (word_at < end)
            seen[inside] = scores[word_at[inside] - low]
            here = (slot_at >= first) & (slot_at < end)
            rows = [
                _Row(
                    number, begin, runs[number][0][begin:stop], decides, int(slot_at[number]) - low
                )
                for number in map(int, np.flatnonzero(here))
                if runs[number][0]
                for begin, stop, decides in runs_of(len(runs[number][0]))
            ]
            self._read_rows(rows, keys, values, [firsts for _, firsts in runs], told)
            report(end, len(ids))
        needed = np.zeros((0, len(ELIGIBLE) + len(TELLING)), np.float32)
        if ask is not None and ask.places:
            if list(ask.ids) != list(view_ids):
                states = self.states(ask.ids)
            (odds,) = self._run(self._needed, {"states": np.concatenate(states)})
            needed = odds[np.asarray(ask.places, np.int64) + 1]
        return Read(_parted(seen), [_parted(each) for each in told], needed)

    def _sizes_of(self, width: int) -> list[int]:
        """Return how many rows a call may have, ascending: powers of two, up to CELLS pieces.

        What else is hidden decides how many rows there are, and must not change a bit of the scores
        of one. Each row has its own scales. A kernel for another number of rows might add in
        another order; that is tried here, and if so, every call has the largest number.
        """
        most = CELLS // width
        ids, places = np.arange(CELLS), np.arange(CELLS) % width + 2
        _, _, keys, values = self._run(self._view, {"vectors": self._embedded(ids, places, 0)})
        vectors = self._embedded(ids, places, 1).reshape(most, width, -1)
        absent = np.zeros((most, width), np.float32)

        def scores(n: int) -> Floats:
            feed = {"vectors": vectors[:n], "absent": absent[:n], "keys": keys, "values": values}
            return self._run(self._runs, feed)[0]

        whole, sizes = scores(most), [1 << i for i in range(most.bit_length())]
        return sizes if all(np.array_equal(scores(n), whole[:n]) for n in sizes) else [most]

    @cached_property
    def _needed(self) -> Any:
        return session(self._folder / "needed.onnx", self._threads)

    def _viewed(self, ids: Sequence[int]) -> Iterator[tuple[int, int, int, list[Floats]]]:
        """Yield the windows of a view: where it begins, what is decided, what the graph says."""
        for low, high, first, end in windows_of(len(ids)):
            places = np.minimum(POSITIONS, 2 + np.arange(high - low))
            vectors = self._embedded(ids[low:high], places, 0)
            yield low, first, end, self._run(self._view, {"vectors": vectors})

    def states(self, ids: Sequence[int]) -> list[Floats]:
        """Return the last states of a view's tokens and of those around them, by windows."""
        windows = self._viewed([BEGIN, *ids, END])
        return [states[first - low : end - low] for low, first, end, (_, states, *_) in windows]

    def _read_rows(
        self,
        rows: Sequence[_Row],
        keys: Floats,
        values: Floats,
        firsts: Sequence[Sequence[int]],
        told: Sequence[Floats],
    ) -> None:
        """Fill in the scores of the words of runs of one window."""
        by_width: dict[int, list[_Row]] = defaultdict(list)
        for row in rows:
            by_width[next(w for w in WIDTHS if w >= len(row.ids))].append(row)
        for width, those in by_width.items():
            most = CELLS // width
            for some in (those[i : i + most] for i in range(0, len(those), most)):
                n = next(size for size in self._sizes[width] if size >= len(some))
                ids = np.ones((n, width), np.int64)
                places = np.full((n, width), 2, np.int64)
                absent = np.full((n, width), _ABSENT, np.float32)
                for number, row in enumerate(some):
                    length = len(row.ids)
                    ids[number, :length] = row.ids
                    places[number] = np.minimum(POSITIONS, 2 + row.at + np.arange(width))
                    absent[number, :length] = 0
                absent[:, 0] = 0  # a row that attends to nothing of its own gives no numbers
                vectors = self._embedded(ids.reshape(-1), places.reshape(-1), 1)
                feed = {"vectors": vectors.reshape(n, width, -1), "absent": absent}
                (scores,) = self._run(self._runs, feed | {"keys": keys, "values": values})
                for number, row in enumerate(some):
                    its = firsts[row.run]
                    low = bisect_left(its, row.decides.start)
                    high = bisect_left(its, row.decides.stop)
                    pieces = np.asarray(its[low:high], np.int64) - row.begin
                    told[row.run][low:high] = scores[number, pieces]

    @staticmethod
    def _run(model: object, feed: dict[str, Floats]) -> list[Floats]:
        try:
            found: list[Floats] = model.run(None, feed)  # type: ignore[attr-defined]
        except Exception:  # onnxruntime's own errors derive from Exception; their text holds shapes
            raise ModelError("the reader failed on this input") from None
        return found


def _parted(scores: Floats) -> Scores:
    n = 1 + len(CLASSES)
    return Scores(scores[:, :n], scores[:, n], scores[:, n + 1 :])
