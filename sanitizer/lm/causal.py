"""Keys and values of prompts' beginnings, kept for the next prompt that begins the same.

The causal language model: batches of prompts, continued token by token.

Rows may differ in length; nothing is padded, for attention knows each row's own length. Keys and
values lie in arrays of ours, which onnxruntime reads and extends in place.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from sanitizer.errors import ModelError
from sanitizer.lm.files import Manifest, model_folder
from sanitizer.lm.masked import session
from sanitizer.lm.weights_file import ModelShape, WeightTable

Block = NDArray[np.float32]
BLOCK = 32
"""Tokens per block; a beginning is shared by whole blocks."""


class PrefixCache:
    """Blocks of BLOCK tokens, found by all tokens up to their end; the least recently used go
    first. Thread-safe.

    Not protected: the tokens of recent prompts stay in memory, as keys, until they are displaced or
    cleared.

    Args:
        max_tokens: how many tokens are kept at most; 0 keeps nothing.
    """

    def __init__(self, max_tokens: int) -> None:
        if max_tokens < 0:
            raise ValueError(f"max_tokens must not be negative, got {max_tokens}")
        self._n_blocks = max_tokens // BLOCK
        self.max_tokens = self._n_blocks * BLOCK
        self._blocks: OrderedDict[tuple[int, ...], Block] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """Tokens kept now."""
        return len(self._blocks) * BLOCK

    def find(self, ids: Sequence[int]) -> list[Block]:
        """The kept blocks of the longest known beginning, in order: float32 [..., BLOCK, head]
        each.
        """
        with self._lock:
            keys = self._known(ids)
            for key in reversed(keys):  # what comes first is needed most: it is displaced last
                self._blocks.move_to_end(key)
            return [self._blocks[key] for key in keys]

    def keep(self, ids: Sequence[int], values: Callable[[int, int], Block]) -> None:
        """Keep the whole blocks of `ids`; `values(begin, end)` gives a new array float32 [...,
        BLOCK, head].
        """
        with self._lock:
            for end in range(min(len(ids) // BLOCK, self._n_blocks) * BLOCK, 0, -BLOCK):
                key = tuple(ids[:end])
                if key not in self._blocks:
                    self._blocks[key] = values(end - BLOCK, end)
                self._blocks.move_to_end(key)
            while len(self._blocks) > self._n_blocks:
                self._blocks.popitem(last=False)

    def _known(self, ids: Sequence[int]) -> list[tuple[int, ...]]:
        keys = (tuple(ids[:end]) for end in range(BLOCK, len(ids) + 1, BLOCK))
        return list(takewhile(self._blocks.__contains__, keys))

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._blocks.clear()


DEFAULT_CAUSAL_MODEL = "lm"
MAX_CELLS = 5120
"""Rows times columns of one batch, 8 x 640: 236 MB of keys and values, under 600 MB in the whole
process.
"""
ROOM = 64
"""Columns added, at least, when a batch is full."""
_PER_PASS = 512
"""Tokens read at once: bounds the memory of a pass."""

Logits = NDArray[np.float32]
TokenLists = Sequence[Sequence[int]]
Binding = Any  # onnxruntime.IOBinding; that library belongs to `backbone`


class Read(NamedTuple):
    """What the model makes of some places. The score of token t after a place is hidden @
    vectors([t])[0], nearly.
    """

    hidden: NDArray[np.float32]
    """float32 [n, width]."""
    logits: Logits
    """float32 [m, n_vocabulary], of those of the n that were to be scored; by the model's own,
    rounded products.
    """


class Rows(Protocol):
    """A batch of token sequences that a model has read. Not thread-safe; any number may exist side
    by side.
    """

    logits: Logits
    """float32 [n_rows, n_vocabulary], scores of the next token."""
    lengths: list[int]
    """Tokens per row."""

    def step(self, tokens: Sequence[int]) -> Logits:
        """Append one token to each row; returns the new `logits`."""

    def extend(self, row: int, tokens: Sequence[int]) -> Logits:
        """Append one token or more to one row, in one pass; returns the new `logits`."""

    def fork(self, rows: Sequence[int]) -> Rows:
        """A batch of its own with these rows, in this order, repeated or left out at will; this one
        stays as it is.
        """


class CausalLM(Protocol):
    """What callers ask of a causal language model."""

    folder: Path
    sha256: str
    n_vocabulary: int
    max_length: int

    def prefill(self, prompts: TokenLists) -> Rows:
        """Read prompts of one token or more each. Beginnings read before are not read again.

        Raises:
            ValueError: an empty prompt, an unknown token, or more than the model or the memory
                bound holds.
        """

    def scores(self, ids: Sequence[int], at: Sequence[int]) -> Logits:
        """Scores of the token after each of the positions `at` of one text, float32 [len(at),
        n_vocabulary].
        """

    def vectors(self) -> NDArray[np.float32]:
        """The input table, a new float32 [n_vocabulary, width]."""

    def forget(self) -> None:
        """Drop the kept beginnings of earlier prompts."""


class OnnxCausalLM:
    """A causal LM from a model folder (see models/build), with weights fetched before. Implements
    `CausalLM`.

    Thread-safe. Deterministic on one machine with one number of threads: the same calls in the same
    order give the same bits. The shipped graph rounds inputs to 8 bits, and a last digit can tip a
    rounding: scores of a text read at once and of the same text read by steps lie about as far
    apart as from the float reference (KL 0.0045 nats).

    Args:
        folder: holds manifest.json, model.onnx and tokenizer.json; every file's SHA-256 is checked
            first.
        threads: for one pass; default all cores, at most 4.
        max_cells: bound of rows times columns of a batch, 46 kB each.
        max_kept: tokens of earlier prompts' beginnings to keep, 46 kB each; 0 keeps nothing.

    Raises:
        ModelError: a file is missing or damaged; for the weights, the message names the command
            that fetches them.
        ValueError: threads, max_cells or max_kept out of range.
    """

    def __init__(
        self,
        folder: Path | None = None,
        threads: int | None = None,
        max_cells: int = MAX_CELLS,
        max_kept: int = 1024,
    ) -> None:
        if threads is not None and threads < 1:
            raise ValueError(f"threads must be at least 1, got {threads}")
        if max_cells < 1:
            raise ValueError(f"max_cells must be at least 1, got {max_cells}")
        self.folder, self.max_cells, self._kept = (
            folder or model_folder(DEFAULT_CAUSAL_MODEL),
            max_cells,
            PrefixCache(max_kept),
        )
        manifest = Manifest.read(self.folder)
        manifest.verify({*manifest.data["files"], "model.onnx", "tokenizer.json"})
        weights = manifest.verify_weights()
        self.sha256 = manifest.sha256
        try:
            shape = ModelShape(**manifest.data["shape"])
        except (KeyError, TypeError):
            raise ModelError("the model has an unusable manifest") from None
        self.n_vocabulary, self.max_length, self.width = (
            shape.n_vocabulary,
            shape.n_positions,
            shape.width,
        )
        self.n_layers, self.cell = shape.n_layers, (shape.n_kv_heads, shape.head)
        self._table = WeightTable(weights, shape)
        self.session = session(self.folder / "model.onnx", threads, weights.parent)

    def prefill(self, prompts: TokenLists) -> OnnxRows:
        """See `CausalLM.prefill`. Rows are read one after the other, so what they share is read
        once.
        """
        for prompt in prompts:
            self.check_ids(prompt)
        rows = OnnxRows(self, [len(prompt) for prompt in prompts])
        for row, prompt in enumerate(prompts):
            begin = rows.place(row, self._kept.find(prompt[:-1]))
            rows.logits[row] = rows.read(row, prompt[begin:], begin, [len(prompt) - 1]).logits
            self._kept.keep(prompt, partial(rows.seen, row))
        return rows

    def scores(self, ids: Sequence[int], at: Sequence[int]) -> Logits:
        """See `CausalLM.scores`. Nothing is kept of this text."""
        self.check_ids(ids)
        if at and not 0 <= min(at) <= max(at) < len(ids):
            raise ValueError(f"at must lie in 0..{len(ids) - 1}, got {min(at)}..{max(at)}")
        return OnnxRows(self, [len(ids)]).read(0, ids, 0, at).logits

    def vectors(self, tokens: NDArray[np.int64] | None = None) -> NDArray[np.float32]:
        """See `CausalLM.vectors`; of some tokens if asked, float32 [n, width]. Read from the
        weights file, not kept.
        """
        return self._table.rows(slice(None) if tokens is None else tokens)

    def forget(self) -> None:
        """See `CausalLM.forget`."""
        self._kept.clear()

    @property
    def kept_tokens(self) -> int:
        """How many tokens of earlier prompts' beginnings are kept now."""
        return len(self._kept)

    def check_ids(self, ids: Sequence[int]) -> None:
        """Raises ValueError unless there is a token and every token is the model's; the message
        names none.
        """
        if not len(ids):
            raise ValueError("a prompt must have at least one token")
        if not 0 <= min(ids) <= max(ids) < self.n_vocabulary:
            raise ValueError(f"token ids must lie in 0..{self.n_vocabulary - 1}")


class OnnxRows:
    """Implements `Rows` once all rows are read. Made by `OnnxCausalLM.prefill`; or bare, by who
    reads rows one by one.

    Rows made bare, and rows that were advanced, have no `logits` of their own until the next
    `step`.
    """

    def __init__(self, model: OnnxCausalLM, lengths: list[int]) -> None:
        if not lengths:
            raise ValueError("a batch must have at least one row")
        self._model, self.lengths = model, lengths
        self._check_size(max(lengths))
        self.logits: Logits = np.empty((len(lengths), model.n_vocabulary), np.float32)
        self._cache = [self._zeros(max(lengths)) for _ in range(2 * model.n_layers)]
        self._binding = self._bound(slice(None))

    def step(self, tokens: Sequence[int]) -> Logits:
        """See `Rows.step`."""
        self.logits = self.advance(tokens, range(len(self.lengths))).logits
        return self.logits

    def advance(self, tokens: Sequence[int], scored: Sequence[int]) -> Read:
        """As `step`, but only the rows `scored` are scored everywhere, and the attribute `logits`
        is not brought up.
        """
        if len(tokens) != len(self.lengths):
            raise ValueError(
                f"tokens must be one for each of {len(self.lengths)} rows, got {len(tokens)}"
            )
        self._model.check_ids(tokens)
        self._make_room(max(self.lengths) + 1)
        ids = np.asarray(tokens, np.int64)[:, None]
        read = self._pass(
            self._binding, ids, self.lengths, np.arange(len(ids)), np.asarray(scored, np.int64)
        )
        self.lengths = [length + 1 for length in self.lengths]
        return read

    def extend(self, row: int, tokens: Sequence[int]) -> Logits:
        """See `Rows.extend`."""
        if not 0 <= row < len(self.lengths):
            raise ValueError(f"row must lie in 0..{len(self.lengths) - 1}, got {row}")
        self._model.check_ids(tokens)
        begin, end = self.lengths[row], self.lengths[row] + len(tokens)
        self._make_room(end)
        logits = self.logits.copy()  # what was returned before stays as it is
        logits[row] = self.read(row, tokens, begin, [end - 1]).logits
        self.lengths[row], self.logits = end, logits
        return logits

    def fork(self, rows: Sequence[int]) -> OnnxRows:
        """See `Rows.fork`."""
        if rows and not 0 <= min(rows) <= max(rows) < len(self.lengths):
            raise ValueError(
                f"rows must lie in 0..{len(self.lengths) - 1}, got {min(rows)}..{max(rows)}"
            )
        forked = OnnxRows(self._model, [self.lengths[row] for row in rows])
        for old, new in zip(self._cache, forked._cache, strict=True):
            new[:] = old[list(rows), :, : new.shape[2]]
        forked.logits = self.logits[list(rows)]
        return forked

    def place(self, row: int, blocks: Sequence[NDArray[np.float32]]) -> int:
        """Put kept blocks at the beginning of a row; returns how many tokens they stand for."""
        for i, block in enumerate(blocks):
            for layer, values in zip(self._cache, block, strict=True):
                layer[row, :, i * BLOCK : (i + 1) * BLOCK] = values
        return len(blocks) * BLOCK

    def copy(self, source: int, target: int, end: int) -> None:
        """Let a row begin with the first `end` tokens of another one, which has been read that far."""
        for layer in self._cache:
            layer[target, :, :end] = layer[source, :, :end]

    def seen(self, row: int, begin: int, end: int) -> NDArray[np.float32]:
        """Keys and values of a row's tokens begin..end: a new float32 [2 n_layers, n_kv_heads, end
        - begin, head].
        """
        return np.stack([layer[row, :, begin:end] for layer in self._cache])

    def read(
        self, row: int, ids: Sequence[int], begin: int, at: Sequence[int], score: bool = True
    ) -> Read:
        """Read tokens of one row; those before place `begin` must be there.

        Args:
            ids: the row from `begin` on. at: places in the row from `begin` on that are wanted, any
                order.
            score: whether to score them; if not, `logits` has no rows.
        """
        binding, places = self._bound(slice(row, row + 1)), np.asarray(at, np.int64) - begin
        tokens, all_ = np.asarray([ids], np.int64), self._outputs(len(places), len(places) * score)
        for low in range(0, len(ids), _PER_PASS):
            part = tokens[:, low : low + _PER_PASS]
            here = np.flatnonzero((places >= low) & (places < low + _PER_PASS))
            read = self._pass(
                binding, part, [begin + low], places[here] - low, np.arange(len(here) * score)
            )
            all_.hidden[here] = read.hidden
            if score:
                all_.logits[here] = read.logits
        return all_

    def _outputs(self, n: int, m: int) -> Read:
        return Read(
            np.empty((n, self._model.width), np.float32),
            np.empty((m, self._model.n_vocabulary), np.float32),
        )

    def _pass(
        self,
        binding: Binding,
        ids: NDArray[np.int64],
        known: list[int],
        at: NDArray[np.int64],
        scored: NDArray[np.int64],
    ) -> Read:
        """Read ids int64 [n_rows, length] after `known` tokens of each row; `scored` are positions
        in `at`.
        """
        last = np.asarray(known, np.int32) + np.int32(ids.shape[1] - 1)
        feed = {
            "input_ids": np.ascontiguousarray(ids),
            "last": last,
            "longest": last.max() + np.int32(1),
        }
        for name, value in (feed | {"at": at, "scored": scored}).items():
            binding.bind_cpu_input(name, np.asarray(value))
        read = self._outputs(len(at), len(scored))
        for name, array in read._asdict().items():
            _bind(binding.bind_output, name, array)
        try:
            self._model.session.run_with_iobinding(binding)
        except (
            Exception
        ):  # onnxruntime's own errors derive from Exception; their text may hold shapes only
            raise ModelError("the causal language model failed on this input") from None
        return read

    def _bound(self, rows: slice) -> Binding:
        """A binding whose keys and values are read from and written to the same arrays."""
        binding = self._model.session.io_binding()
        for i in range(self._model.n_layers):
            for kind, layer in zip(("key", "value"), self._cache[2 * i : 2 * i + 2], strict=True):
                _bind(binding.bind_input, f"past_{kind}.{i}", layer[rows])
                _bind(binding.bind_output, f"present_{kind}.{i}", layer[rows])
        return binding

    def _zeros(self, columns: int) -> NDArray[np.float32]:
        n_heads, head = self._model.cell
        return np.zeros((len(self.lengths), n_heads, columns, head), np.float32)

    def _make_room(self, columns: int) -> None:
        """Have at least so many columns."""
        if columns <= self._cache[0].shape[2]:
            return
        self._check_size(columns)
        used = max(self.lengths)
        widest = min(self._model.max_length, self._model.max_cells // len(self.lengths))
        for i, old in enumerate(self._cache):
            self._cache[i] = self._zeros(min(max(columns + ROOM, columns * 5 // 4), widest))
            self._cache[i][:, :, :used] = old[:, :, :used]
        self._binding = self._bound(slice(None))

    def _check_size(self, columns: int) -> None:
        if columns > self._model.max_length:
            raise ValueError(f"a row holds at most {self._model.max_length} tokens, got {columns}")
        if columns * len(self.lengths) > self._model.max_cells:
            raise ValueError(
                f"a batch holds at most {self._model.max_cells} rows times columns, got {len(self.lengths)} x {columns}"
            )


def _bind(bind: Any, name: str, array: NDArray[Any]) -> None:
    bind(name, "cpu", 0, array.dtype.type, array.shape, array.ctypes.data)
