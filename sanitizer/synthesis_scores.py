"""Scores of the next token from the causal model, row by row, for the decoders.

Decoders take it that row i depends on nothing private but the i-th reference. So a beginning is read once for several
rows only where it is that of the public row: what other references share, or earlier calls left behind, would tip the
last digits of a row's scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from sanitizer.causal import Logits, OnnxCausalLM, OnnxRows, Prompts
from sanitizer.prefixes import PrefixCache
from sanitizer.sampling import Source

MIN_REFERENCE_TOKENS = 16


def room(model: OnnxCausalLM, n_rows: int, n_public: int, max_tokens: int, asked: int | None) -> int:
    """How many tokens of each reference can be read: a number that depends on public numbers only.

    Args:
        n_rows: of a batch, the public one among them. n_public: tokens of the longest prompt without its reference.
        max_tokens: to be generated. asked: at most so many; None: as many as fit.

    Raises:
        ValueError: fewer than asked, or than MIN_REFERENCE_TOKENS.
    """
    columns = min(model.max_length, model.max_cells // n_rows)
    left = columns - n_public - max_tokens
    wanted = MIN_REFERENCE_TOKENS if asked is None else asked
    if left < wanted:
        raise ValueError(
            f"query and template ({n_public} tokens) and max_tokens ({max_tokens}) must leave room for {wanted} tokens "
            f"of each reference: {n_rows} rows hold {columns} tokens each, so {max(left, 0)} are left"
        )
    return left if asked is None else asked


def read_rows(model: OnnxCausalLM, prompts: Prompts) -> OnnxRows:
    """Read prompts, of which only the first is public.

    Guarantee: on one machine, with one number of threads, a row's scores are the same bits whatever the other prompts
    but the first are, now and in all later steps.

    Raises:
        ValueError: as `OnnxCausalLM.prefill`.
    """
    for prompt in prompts:
        model.check_ids(prompt)
    rows = OnnxRows(model, [len(prompt) for prompt in prompts])
    shared = PrefixCache(len(prompts[0]))
    for row, prompt in enumerate(prompts):
        begin = rows.place(row, shared.find(prompt[:-1]))
        rows.logits[row] = rows.read(row, prompt[begin:], begin, [len(prompt) - 1])
        if row == 0:
            shared.keep(prompt, partial(rows.seen, row))
    return rows


class ModelScores:
    """A `NextScores` of one text. Implements the contract of `sanitizer.decoding.base`.

    Args:
        prompts: the public one first; only that one for a text that reads no reference.
        n_references: how many rows follow the public one; copies of it if only that one is given.
    """

    def __init__(self, model: OnnxCausalLM, prompts: Prompts, n_references: int) -> None:
        self._model, self._prompts, self._n_rows = model, prompts, 1 + n_references
        self._rows: OnnxRows | None = None

    def __call__(self, token: int | None) -> Logits:
        """Scores of the next token, float32 [1 + n_references, n_vocabulary]."""
        if self._rows is None or token is None:
            self._rows = read_rows(self._model, self._prompts)
        else:
            self._rows.step([token] * len(self._prompts))
        logits = self._rows.logits
        return logits if len(self._prompts) > 1 else np.repeat(logits, self._n_rows, axis=0)


class DrawnScores:
    """As `ModelScores`, for a fresh draw of references at each token, without replacement.

    Every token costs as much as reading the drawn references: memory does not grow with their number.

    Args:
        prompts: the public one, then those of the whole pool. n_drawn: how many rows follow the public one.
        source: of the draws.
    """

    def __init__(self, model: OnnxCausalLM, prompts: Prompts, n_drawn: int, source: Source) -> None:
        self._model, self._prompts, self._n_drawn, self._source = model, prompts, n_drawn, source
        self._written: list[int] = []

    def __call__(self, token: int | None) -> Logits:
        """Scores of the next token, float32 [1 + n_drawn, n_vocabulary]."""
        self._written += [] if token is None else [token]
        chosen = drawn_without_replacement(len(self._prompts) - 1, self._n_drawn, self._source)
        rows = [0, *(1 + i for i in chosen)]
        return read_rows(self._model, [[*self._prompts[row], *self._written] for row in rows]).logits


def drawn_without_replacement(n: int, k: int, source: Source) -> Sequence[int]:
    """k of the numbers 0..n-1, every ordered choice equally likely (Fisher and Yates)."""
    numbers = list(range(n))
    for i in range(k):
        j = i + source.randbelow(n - i)
        numbers[i], numbers[j] = numbers[j], numbers[i]
    return numbers[:k]
