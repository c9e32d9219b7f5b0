"""Scores of the next token from the causal model, row by row, for the decoders.

Decoders take it that row i depends on nothing private but the i-th reference. So a beginning is
read once for several rows only where it is that of the public row: what other references share, or
earlier calls left behind, would tip the last digits of a row's scores.

Writing synthetic texts: everything is checked first, then paid for, then drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import TypedDict
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from sanitizer.errors import NotCertified
from sanitizer.lm import ByteTokens, Logits, Models, OnnxCausalLM, OnnxRows, Read, TokenLists
from sanitizer.privacy import NextScores, check_count
from sanitizer.privacy import tokens as next_tokens
from sanitizer.progress import progress_bar
from sanitizer.randomness import SYSTEM_RANDOM, Source
from sanitizer.storage import Ledger, Scope, budget_for
from sanitizer.synthesis.plan import (
    Plan,
    Prompts,
    Reference,
    SynthesizedText,
    check_references,
    prompts_for,
)

MIN_REFERENCE_TOKENS = 16
_AT_ONCE = 2048  # rows of the table, 2.3 kB each


def room(
    model: OnnxCausalLM, n_rows: int, n_public: int, max_tokens: int, asked: int | None
) -> int:
    """How many tokens of each reference can be read: a number that depends on public numbers only.

    Args:
        n_rows: of a batch, the public one among them. n_public: tokens of the longest prompt
            without its reference.
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


def read_rows(
    model: OnnxCausalLM, prompts: TokenLists, beginning: Sequence[int] = (), everywhere: bool = True
) -> tuple[OnnxRows, Read]:
    """Read prompts, of which only the first is public; returns the rows, to be advanced, and what
    comes after them.

    Guarantee: on one machine, with one number of threads, a row's scores are the same bits whatever
    the other prompts but the first are, now and in all later steps.

    Args:
        beginning: public; what all prompts but the first begin with. It is read once.
        everywhere: whether to score all rows, or the first one only.

    Raises:
        ValueError: as `OnnxCausalLM.prefill`, or a private prompt that is not longer than the
            beginning, or other.
    """
    n = len(beginning)
    for prompt in prompts:
        model.check_ids(prompt)
    if any(list(prompt[:n]) != list(beginning) or len(prompt) == n for prompt in prompts[1:]):
        raise ValueError("private prompts must begin with the public beginning, and go on")
    rows, read = OnnxRows(model, [len(prompt) for prompt in prompts]), []
    for row, prompt in enumerate(prompts):
        begin = n if row else 0
        if row == 1 and n:
            rows.read(row, beginning, 0, [])
        elif row:
            rows.copy(1, row, n)
        read.append(
            rows.read(row, prompt[begin:], begin, [len(prompt) - 1], score=everywhere or not row)
        )
    hidden, logits = (np.concatenate(parts) for parts in zip(*read, strict=True))
    return rows, Read(hidden, logits)


class RowScores:
    """Implements `Scores` of `sanitizer.privacy.next_token`: the public row everywhere, the others
    where they are asked for.

    Attributes:
        hidden: float32 [n_rows, width], what the model makes of each row's end. public: float32
            [n_vocabulary].
    """

    def __init__(self, model: OnnxCausalLM, hidden: NDArray[np.float32], public: Logits) -> None:
        self._model, self.hidden, self.public, self.n_rows = model, hidden, public, len(hidden)

    def at(self, tokens: NDArray[np.int64]) -> Logits:
        """See `Scores`. Each row by itself, so that its bits depend on nothing but it."""
        parts = [tokens[low : low + _AT_ONCE] for low in range(0, len(tokens), _AT_ONCE)]
        tables = (self._model.vectors(part) for part in parts)
        return np.concatenate([[table @ row for row in self.hidden] for table in tables], axis=1)


class _Text:
    """The rows of one text, read again from the beginning whenever the text begins."""

    def __init__(
        self, model: OnnxCausalLM, prompts: TokenLists, n_references: int, beginning: Sequence[int]
    ) -> None:
        self.model, self._prompts, self._n_rows, self._beginning = (
            model,
            prompts,
            1 + n_references,
            beginning,
        )
        self._rows: OnnxRows | None = None

    def read(self, token: int | None, everywhere: bool) -> Read:
        """What the model makes of each row's end, copies of the only row for the references that
        are not read.
        """
        n = len(self._prompts)
        if self._rows is None or token is None:
            self._rows, read = read_rows(self.model, self._prompts, self._beginning, everywhere)
        else:
            read = self._rows.advance([token] * n, range(n if everywhere else 1))
        return read if n > 1 else Read(*(np.repeat(part, self._n_rows, axis=0) for part in read))


class ModelScores:
    """A `NextScores` of one text: private rows are scored at the tokens that a decoder asks for.

    Args:
        prompts: the public one first; only that one for a text that reads no reference.
        n_references: how many rows follow the public one; copies of it if only that one is given.
        beginning: see `read_rows`.
    """

    def __init__(
        self,
        model: OnnxCausalLM,
        prompts: TokenLists,
        n_references: int,
        beginning: Sequence[int] = (),
    ) -> None:
        self._text = _Text(model, prompts, n_references, beginning)

    def __call__(self, token: int | None) -> RowScores:
        """Scores of the next token."""
        read = self._text.read(token, everywhere=False)
        return RowScores(self._text.model, read.hidden, read.logits[0])


class AllScores:
    """As `ModelScores`, all rows scored everywhere: for a decoder that asks for most tokens."""

    def __init__(
        self,
        model: OnnxCausalLM,
        prompts: TokenLists,
        n_references: int,
        beginning: Sequence[int] = (),
    ) -> None:
        self._text = _Text(model, prompts, n_references, beginning)

    def __call__(self, token: int | None) -> Logits:
        """Scores of the next token, float32 [1 + n_references, n_vocabulary]."""
        return self._text.read(token, everywhere=True).logits


class DrawnScores:
    """As `ModelScores`, for a fresh draw of references at each token, without replacement.

    Every token costs as much as reading the drawn references: memory does not grow with their
    number.

    Args:
        prompts: the public one, then those of the whole pool. n_drawn: how many rows follow the
            public one.
        source: of the draws. beginning: see `read_rows`.
    """

    def __init__(
        self,
        model: OnnxCausalLM,
        prompts: TokenLists,
        n_drawn: int,
        source: Source,
        beginning: Sequence[int] = (),
    ) -> None:
        self._model, self._prompts, self._n_drawn, self._source = model, prompts, n_drawn, source
        self._beginning, self._written = beginning, list[int]()

    def __call__(self, token: int | None) -> RowScores:
        """Scores of the next token, 1 + n_drawn rows."""
        self._written += [] if token is None else [token]
        chosen = drawn_without_replacement(len(self._prompts) - 1, self._n_drawn, self._source)
        rows = [0, *(1 + i for i in chosen)]
        texts = [[*self._prompts[row], *self._written] for row in rows]
        _, read = read_rows(self._model, texts, self._beginning, everywhere=False)
        return RowScores(self._model, read.hidden, read.logits[0])


def drawn_without_replacement(n: int, k: int, source: Source) -> Sequence[int]:
    """k of the numbers 0..n-1, every ordered choice equally likely (Fisher and Yates)."""
    numbers = list(range(n))
    for i in range(k):
        j = i + source.randbelow(n - i)
        numbers[i], numbers[j] = numbers[j], numbers[i]
    return numbers[:k]


class Options(TypedDict, total=False):
    """What `synthesize` and its like share; see there."""

    epsilon: float
    delta: float
    method: str
    variant: str
    max_tokens: int
    temperature: float | None
    top_k: int | None
    batch_size: int | None
    n_shots: int | None
    n_queries: int
    template: str | None
    max_reference_tokens: int | None
    model: OnnxCausalLM | Path | None
    ledger: Ledger | None
    scopes: Iterable[Scope]
    progress: bool
    on_token: Callable[[int], None] | None
    source: Source


@dataclass(frozen=True)
class Task:
    """One text to write: its query, and the positions of the references it reads."""

    query: Reference
    reads: range


def write(
    references: Sequence[Reference],
    tasks: Sequence[Task],
    plan: Plan,
    rule: str,
    max_tokens: int,
    options: Options,
) -> list[SynthesizedText]:
    """All texts. The references of tasks that are charged together (see `Setting.n_charged`) pay
    for all of them.

    Args:
        plan: the decoder, for batches of `plan.setting.n_pool`. rule: which text reads which
            references, in words.

    Raises:
        ValueError, TypeError, ModelError, BudgetExceeded, LedgerError: before anything was drawn.
        NotCertified: a score is not finite, or a ledger cannot pay for an uncertified variant.
    """
    check_references(references)
    model, tokens = loaded(options.get("model"))
    prompts = [
        prompts_for(references, task.query, options.get("template"), tokens) for task in tasks
    ]
    limit = _limit(model, prompts, plan, max_tokens, options.get("max_reference_tokens"))
    read = [
        [] if plan.public_only else [p.private(references[i], limit) for i in task.reads]
        for task, p in zip(tasks, prompts, strict=True)
    ]
    _pay(plan, options)
    source, texts = options.get("source", SYSTEM_RANDOM), []
    extra = {"batch_size": plan.setting.n_pool, "max_reference_tokens": limit}
    with progress_bar(max_tokens * len(tasks), options.get("progress", False)) as advance:
        for p, private in zip(prompts, read, strict=True):
            body, n = _drawn(
                model, p, private, plan, max_tokens, source, _each(advance, options.get("on_token"))
            )
            record = plan.record(rule, extra, max_tokens, n, model.sha256)
            texts.append(SynthesizedText(tokens.decode(body).strip(), record))
            advance(max_tokens - n)
    return texts


def loaded(model: OnnxCausalLM | Path | None) -> tuple[OnnxCausalLM, ByteTokens]:
    """The model with its tokenizer; the packaged one, and a model's tokenizer, are loaded once.
    Raises ModelError.
    """
    if model is None or isinstance(model, Path):
        found, tokens = (_PACKAGED if model is None else Models(None, None, model)).causal()
        assert isinstance(found, OnnxCausalLM)
        return found, tokens
    if not isinstance(model, OnnxCausalLM):
        raise TypeError(f"model must be a folder or an OnnxCausalLM, got {type(model).__name__}")
    if model not in _TOKENS:
        _TOKENS[model] = ByteTokens(model.folder / "tokenizer.json")
    return model, _TOKENS[model]


_PACKAGED = Models(None, None)
_TOKENS: WeakKeyDictionary[OnnxCausalLM, ByteTokens] = WeakKeyDictionary()


def _limit(
    model: OnnxCausalLM, prompts: Sequence[Prompts], plan: Plan, max_tokens: int, asked: int | None
) -> int:
    """Tokens read of each reference; from public numbers only."""
    if asked is not None:
        check_count("max_reference_tokens", asked)
    n_public = max(p.n_public for p in prompts)
    return room(model, 1 + plan.setting.n_rows, n_public, max_tokens, asked)


def _pay(plan: Plan, options: Options) -> None:
    """Charge the ledger, if there is one; from here on the charge stays, whatever happens."""
    ledger, scopes = options.get("ledger"), tuple(options.get("scopes", ()))
    if ledger is None and not scopes:
        return
    budget = budget_for(None, ledger, "", scopes)
    if options.get("n_queries", 1) != 1:
        raise ValueError(
            f"n_queries must be 1 with a ledger, which counts each call, got {options['n_queries']!r}"
        )
    if not isfinite(plan.epsilon):
        raise NotCertified("a ledger needs a certified variant")
    if plan.epsilon:
        budget.reserve(plan.epsilon).commit()


def _drawn(
    model: OnnxCausalLM,
    prompts: Prompts,
    private: Sequence[list[int]],
    plan: Plan,
    max_tokens: int,
    source: Source,
    each: Callable[[int], None],
) -> tuple[list[int], int]:
    """The text's tokens, and how many were drawn: the one that ends it among them."""
    rows, n_rows = [prompts.public, *private], plan.setting.n_rows
    drawn_anew = plan.setting.redraws and not plan.public_only
    scores: NextScores
    if drawn_anew:
        scores = DrawnScores(model, rows, n_rows, source, prompts.beginning)
    else:
        kind = AllScores if plan.decoder.top_k is None else ModelScores
        scores = kind(model, rows, n_rows, prompts.beginning)
    found: list[int] = []
    for token in next_tokens(plan.decoder, scores, max_tokens, prompts.end, source):
        found.append(token)
        each(1)
    return [token for token in found if token not in prompts.end], len(found)


def _each(
    advance: Callable[[int], None], on_token: Callable[[int], None] | None
) -> Callable[[int], None]:
    def both(n: int) -> None:
        advance(n)
        if on_token is not None:
            on_token(n)

    return both
