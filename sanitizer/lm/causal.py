"""The causal language model: batches of prompts, continued token by token.

Rows may differ in length; nothing is padded, since attention knows each row's own length. Keys and
values are in numpy arrays, which onnxruntime reads and extends in place. Those of prompts'
beginnings are kept for the next prompt that begins the same (`PrefixCache`).
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

DEFAULT_CAUSAL_MODEL = "lm"
PREFIX_BLOCK = 32
"""Tokens per block of the prefix cache; prompts share whole blocks."""
MAX_CELLS = 5120
"""Largest rows x columns of one batch (8 x 640): 236 MB of keys and values, process under
600 MB.
"""
ROOM = 64
"""Columns added, at least, when a batch is full."""
_PER_PASS = 512
"""Tokens read in one pass at most: bounds the memory of a pass."""

Block = NDArray[np.float32]
Logits = NDArray[np.float32]
TokenLists = Sequence[Sequence[int]]
Binding = Any  # onnxruntime.IOBinding, which has no types


class PrefixCache:
    """Keys and values of prompts' beginnings, in blocks of PREFIX_BLOCK tokens. Thread-safe.

    A block is found by all tokens up to its end; the least recently used blocks are dropped first.

    Not protected: the tokens of recent prompts stay in memory, as keys, until they are displaced or
    cleared.

    Args:
        max_tokens: how many tokens are kept at most; 0 keeps nothing.
    """

    def __init__(self, max_tokens: int) -> None:
        if max_tokens < 0:
            raise ValueError(f"max_tokens must not be negative, got {max_tokens}")
        self._n_blocks = max_tokens // PREFIX_BLOCK
        self.max_tokens = self._n_blocks * PREFIX_BLOCK
        self._blocks: OrderedDict[tuple[int, ...], Block] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """Return the number of tokens kept now."""
        return len(self._blocks) * PREFIX_BLOCK

    def find(self, ids: Sequence[int]) -> list[Block]:
        """Return the kept blocks of the longest beginning of `ids` that is kept, in order.

        Returns:
            float32 [..., PREFIX_BLOCK, head] each.
        """
        with self._lock:
            begun = (tuple(ids[:end]) for end in range(PREFIX_BLOCK, len(ids) + 1, PREFIX_BLOCK))
            keys = list(takewhile(self._blocks.__contains__, begun))
            # Later blocks are useless without the earlier ones, so these are displaced last.
            for key in reversed(keys):
                self._blocks.move_to_end(key)
            return [self._blocks[key] for key in keys]

    def keep(self, ids: Sequence[int], values: Callable[[int, int], Block]) -> None:
        """Keep the whole blocks of `ids`.

        Args:
            values: (begin, end) -> keys and values of these tokens, a new float32 array [...,
                PREFIX_BLOCK, head].
        """
        with self._lock:
            for end in range(
                min(len(ids) // PREFIX_BLOCK, self._n_blocks) * PREFIX_BLOCK, 0, -PREFIX_BLOCK
            ):
                key = tuple(ids[:end])
                if key not in self._blocks:
                    self._blocks[key] = values(end - PREFIX_BLOCK, end)
                self._blocks.move_to_end(key)
            while len(self._blocks) > self._n_blocks:
                self._blocks.popitem(last=False)

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._blocks.clear()


class Read(NamedTuple):
    """Hidden states and scores at some positions.

    The score of token t after a position is nearly hidden @ vectors([t])[0].
    """

    hidden: NDArray[np.float32]
    """Hidden states at n positions, float32 [n, width]."""
    logits: Logits
    """Scores at the m of them that were to be scored, float32 [m, n_vocabulary].

    They are products as the model rounds them.
    """


class Rows(Protocol):
    """Batch of token sequences that a model has read.

    It is not thread-safe; any number of batches may exist at the same time.
    """

    logits: Logits
    """Scores of each row's next token, float32 [n_rows, n_vocabulary]."""
    lengths: list[int]
    """Tokens per row."""

    def step(self, tokens: Sequence[int]) -> Logits:
        """Append one token to each row and return the new `logits`."""

    def extend(self, row: int, tokens: Sequence[int]) -> Logits:
        """Append one token or more to one row, in one pass, and return the new `logits`."""

    def fork(self, rows: Sequence[int]) -> Rows:
        """Return a new batch of these rows, each as often as wanted; this one stays as it is."""


class CausalLM(Protocol):
    """Causal language model as the pipeline uses it.

    >>> import numpy as np
    >>> from sanitizer.testing import ToyCausalLM
    >>> model: CausalLM = ToyCausalLM(lambda ids: np.eye(1, 49152, len(ids), dtype=np.float32)[0])
    >>> rows = model.prefill([[5, 6, 7], [8]])
    >>> rows.logits.argmax(axis=1).tolist(), rows.step([9, 9]).argmax(axis=1).tolist()
    ([3, 1], [4, 2])

    Attributes:
        folder: folder of the model, which holds tokenizer.json.
        sha256: hash of its manifest.
        max_length: tokens of one row at most.
    """

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
        """Return scores of the token after each of some positions of one text.

        Args:
            at: the positions.

        Returns:
            float32 [len(at), n_vocabulary].
        """

    def vectors(self) -> NDArray[np.float32]:
        """Return the input table, a new float32 [n_vocabulary, width]."""

    def forget(self) -> None:
        """Drop the kept beginnings of earlier prompts."""


class OnnxCausalLM:
    """A causal language model from a model folder. Implements `CausalLM`; thread-safe.

    It is deterministic on one machine with one number of threads: the same calls in the same order
    give the same bits. The shipped graph rounds inputs to 8 bits, and a difference in a last digit
    can change a rounding: scores of a text read in one pass and of the same text read in steps
    differ about as much as either does from the float reference (KL 0.0045 nats).

    Args:
        folder: holds manifest.json, model.onnx and tokenizer.json (models/build makes one), every
            file's SHA-256 is checked first. Default the packaged model, whose weights are fetched.
        threads: threads of one pass; default all cores, at most 4.
        max_cells: largest rows x columns of a batch; each takes 46 kB.
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
        self.folder = folder or model_folder(DEFAULT_CAUSAL_MODEL)
        self.max_cells = max_cells
        self.kept = PrefixCache(max_kept)
        manifest = Manifest.read(self.folder)
        manifest.verify({*manifest.data["files"], "model.onnx", "tokenizer.json"})
        weights = manifest.verify_weights()
        self.sha256 = manifest.sha256
        try:
            shape = ModelShape(**manifest.data["shape"])
        except (KeyError, TypeError):
            raise ModelError("the model has an unusable manifest") from None
        self.n_vocabulary = shape.n_vocabulary
        self.max_length = shape.n_positions
        self.width = shape.width
        self.n_layers = shape.n_layers
        self.cell = (shape.n_kv_heads, shape.head)
        self._table = WeightTable(weights, shape)
        self.session = session(self.folder / "model.onnx", threads, weights.parent)

    def prefill(self, prompts: TokenLists) -> OnnxRows:
        """See `CausalLM.prefill`.

        Rows are read one after the other, so that what several of them share is read once.
        """
        for prompt in prompts:
            self.check_ids(prompt)
        rows = OnnxRows(self, [len(prompt) for prompt in prompts])
        for row, prompt in enumerate(prompts):
            # without the last token: at least one must be read to have scores
            begin = rows.place(row, self.kept.find(prompt[:-1]))
            rows.logits[row] = rows.read(row, prompt[begin:], begin, [len(prompt) - 1]).logits
            self.kept.keep(prompt, partial(rows.seen, row))
        return rows

    def scores(self, ids: Sequence[int], at: Sequence[int]) -> Logits:
        """See `CausalLM.scores`. No beginning of this text is kept."""
        self.check_ids(ids)
        if at and not 0 <= min(at) <= max(at) < len(ids):
            raise ValueError(f"at must lie in 0..{len(ids) - 1}, got {min(at)}..{max(at)}")
        return OnnxRows(self, [len(ids)]).read(0, ids, 0, at).logits

    def vectors(self, tokens: NDArray[np.int64] | None = None) -> NDArray[np.float32]:
        """See `CausalLM.vectors`. The table is read from the weights file, and not kept.

        Args:
            tokens: int64 [n], for their vectors only, float32 [n, width]; default all tokens.
        """
        return self._table.rows(slice(None) if tokens is None else tokens)

    def forget(self) -> None:
        self.kept.clear()

    def check_ids(self, ids: Sequence[int]) -> None:
        """Raise ValueError, which names no token, if there is none, or an unknown one."""
        if not len(ids):
            raise ValueError("a prompt must have at least one token")
        if not 0 <= min(ids) <= max(ids) < self.n_vocabulary:
            raise ValueError(f"token ids must lie in 0..{self.n_vocabulary - 1}")


class OnnxRows:
    """Rows of an `OnnxCausalLM`. Implements `Rows` once all rows are read.

    `OnnxCausalLM.prefill` makes them and reads all rows. Who makes them directly reads the rows one
    by one with `read`. These rows, and rows moved on with `advance`, have valid `logits` only after
    the next `step`.
    """

    def __init__(self, model: OnnxCausalLM, lengths: list[int]) -> None:
        if not lengths:
            raise ValueError("a batch must have at least one row")
        self._model = model
        self.lengths = lengths
        self._check_size(max(lengths))
        self.logits: Logits = np.empty((len(lengths), model.n_vocabulary), np.float32)
        self._cache = [self._zeros(max(lengths)) for _ in range(2 * model.n_layers)]
        self._binding = self._bound(slice(None))

    def step(self, tokens: Sequence[int]) -> Logits:
        self.logits = self.advance(tokens, range(len(self.lengths))).logits
        return self.logits

    def advance(self, tokens: Sequence[int], scored: Sequence[int]) -> Read:
        """Append one token to each row, and score some rows only; the attribute `logits` is stale.

        Args:
            tokens: one token for each row.
            scored: numbers of the rows to score over the whole vocabulary.
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
        """Copy kept blocks to the beginning of a row and return how many tokens they cover."""
        for i, block in enumerate(blocks):
            for layer, values in zip(self._cache, block, strict=True):
                layer[row, :, i * PREFIX_BLOCK : (i + 1) * PREFIX_BLOCK] = values
        return len(blocks) * PREFIX_BLOCK

    def copy(self, source: int, target: int, end: int) -> None:
        """Copy the first `end` tokens of row `source`, which must be read, to row `target`."""
        for layer in self._cache:
            layer[target, :, :end] = layer[source, :, :end]

    def seen(self, row: int, begin: int, end: int) -> NDArray[np.float32]:
        """Return keys and values of a row's tokens, float32 [2 n_layers, n_kv_heads, n, head]."""
        return np.stack([layer[row, :, begin:end] for layer in self._cache])

    def read(
        self, row: int, ids: Sequence[int], begin: int, at: Sequence[int], score: bool = True
    ) -> Read:
        """Read tokens of one row; those before position `begin` must have been read.

        Args:
            ids: tokens of the row from `begin` on.
            begin: position of the first of them.
            at: positions wanted, none before `begin`, in any order.
            score: score these positions; otherwise `logits` has no rows.
        """
        binding = self._bound(slice(row, row + 1))
        wanted = np.asarray(at, np.int64) - begin
        tokens = np.asarray([ids], np.int64)
        result = self._outputs(len(wanted), len(wanted) * score)
        for low in range(0, len(ids), _PER_PASS):
            stretch = tokens[:, low : low + _PER_PASS]
            here = np.flatnonzero((wanted >= low) & (wanted < low + _PER_PASS))
            scored = np.arange(len(here) * score)
            read = self._pass(binding, stretch, [begin + low], wanted[here] - low, scored)
            result.hidden[here] = read.hidden
            if score:
                result.logits[here] = read.logits
        return result

    def _outputs(self, n: int, m: int) -> Read:
        return Read(
            np.empty((n, self._model.width), np.float32),
            np.empty((m, self._model.n_vocabulary), np.float32),
        )

    def _pass(
        self,
        binding: Binding,
        ids: NDArray[np.int64],
        n_before: list[int],
        at: NDArray[np.int64],
        scored: NDArray[np.int64],
    ) -> Read:
        """Run the graph once.

        Args:
            ids: int64 [n_rows, length], tokens to read.
            n_before: tokens of each row that were read before.
            at: int64 [n], flat positions row * length + column wanted.
            scored: int64 [m], which of the n to score.
        """
        last = np.asarray(n_before, np.int32) + np.int32(ids.shape[1] - 1)
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
        # onnxruntime's errors derive from Exception; their text is dropped, since it may quote data
        except Exception:
            raise ModelError("the causal language model failed on this input") from None
        return read

    def _bound(self, rows: slice) -> Binding:
        """Return a binding that reads keys and values from, and writes them to, the same arrays.

        Reading and writing in place saves a copy of the whole cache at every step.
        """
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
        """Enlarge the arrays of keys and values to at least `columns` columns."""
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
                f"a batch holds at most {self._model.max_cells} rows times columns, "
                f"got {len(self.lengths)} x {columns}"
            )


def _bind(bind: Any, name: str, array: NDArray[Any]) -> None:
    bind(name, "cpu", 0, array.dtype.type, array.shape, array.ctypes.data)
