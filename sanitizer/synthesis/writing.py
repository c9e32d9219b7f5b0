"""Writing synthetic texts: everything is checked first, then paid for, then drawn.

The decoders' guarantees need that row i of the scores depends on nothing private but the i-th
reference, to the last bit. So tokens are read once for several rows only where they are public:
sharing what references happen to have in common, or what earlier calls read, would change the last
digits of a row's scores.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from sanitizer.errors import NotCertified
from sanitizer.lm.causal import Logits, OnnxCausalLM, OnnxRows, Read, TokenLists
from sanitizer.lm.loading import Models
from sanitizer.lm.tokens import ByteTokens
from sanitizer.privacy.next_token import NextScores
from sanitizer.privacy.next_token import tokens as next_tokens
from sanitizer.privacy.weights import check_count
from sanitizer.progress import progress_bar
from sanitizer.randomness import Source
from sanitizer.storage.budget import budget_for
from sanitizer.synthesis.plan import (
    Plan,
    Prompts,
    Reference,
    SynthesizedText,
    check_references,
    prompts_for,
)

MIN_REFERENCE_TOKENS = 16
"""Fewest tokens of each reference for which a synthesis is worth while."""
_AT_ONCE = 2048
"""Rows of the table that are scored at once; 2.3 kB each in float32."""


def room(
    model: OnnxCausalLM, n_rows: int, n_public: int, max_tokens: int, asked: int | None
) -> int:
    """Return how many tokens of each reference can be read; it depends on public numbers only.

    Args:
        n_rows: of a batch, the public one included.
        n_public: tokens of the longest prompt without its reference.
        asked: exactly this many, if they fit; None: as many as fit, MIN_REFERENCE_TOKENS at least.
    """
    columns = min(model.max_length, model.max_cells // n_rows)
    left = columns - n_public - max_tokens
    wanted = MIN_REFERENCE_TOKENS if asked is None else asked
    if left < wanted:
        raise ValueError(
            f"query and template ({n_public} tokens) and max_tokens ({max_tokens}) must leave room "
            f"for {wanted} tokens of each reference: {n_rows} rows hold {columns} tokens each, so "
            f"{max(left, 0)} are left"
        )
    return left if asked is None else asked


def read_rows(
    model: OnnxCausalLM, prompts: TokenLists, beginning: Sequence[int] = (), everywhere: bool = True
) -> tuple[OnnxRows, Read]:
    """Read prompts, of which only the first is public.

    Guarantee: on one machine, with one number of threads, a row's scores are the same bits whatever
    the other prompts but the first are, now and in all later steps.

    Args:
        prompts: as tokens, the public one first.
        beginning: public; what all prompts but the first begin with, and go on. It is read once.
        everywhere: True to score all rows, False for the first one only.

    Returns:
        The rows, to be advanced token by token, and what the model makes of their ends.
    """
    n = len(beginning)
    for prompt in prompts:
        model.check_ids(prompt)
    if any(list(prompt[:n]) != list(beginning) or len(prompt) == n for prompt in prompts[1:]):
        raise ValueError("private prompts must begin with the public beginning, and go on")
    rows, read = OnnxRows(model, [len(prompt) for prompt in prompts]), []
    for row, prompt in enumerate(prompts):
        begin = n if row else 0
        # Row 1 reads the public beginning; the other private rows copy what it made of it.
        if row == 1 and n:
            rows.read(row, beginning, 0, [])
        elif row:
            rows.copy(1, row, n)
        read.append(
            rows.read(row, prompt[begin:], begin, [len(prompt) - 1], score=everywhere or not row)
        )
    hidden, logits = (np.concatenate(arrays) for arrays in zip(*read, strict=True))
    return rows, Read(hidden, logits)


class RowScores:
    """Scores of the next token: the public row everywhere, the others at the tokens asked for.

    Implements `sanitizer.privacy.Scores`.

    Attributes:
        hidden: float32 [n_rows, width], what the model makes of each row's end.
        public: float32 [n_vocabulary], scores of the public row.
    """

    def __init__(self, model: OnnxCausalLM, hidden: NDArray[np.float32], public: Logits) -> None:
        self._model, self.hidden, self.public = model, hidden, public
        self.n_rows = len(hidden)

    def at(self, tokens: NDArray[np.int64]) -> Logits:
        """Return the scores of all rows at some tokens; see `Scores`.

        The bits of a row depend on that row only.
        """
        chunks = [tokens[low : low + _AT_ONCE] for low in range(0, len(tokens), _AT_ONCE)]
        tables = (self._model.vectors(chunk) for chunk in chunks)
        # One product for each row: a matrix product may sum in an order that depends on the others.
        return np.concatenate([[table @ row for row in self.hidden] for table in tables], axis=1)


class _Text:
    """The rows of one text, read again from the beginning whenever the text begins.

    Args:
        prompts: the public one first; only that one for a text that reads no reference.
        n_references: how many rows follow the public one; copies of it if only that one is given.
    """

    def __init__(
        self,
        model: OnnxCausalLM,
        prompts: TokenLists,
        n_references: int,
        beginning: Sequence[int] = (),
    ) -> None:
        self._model, self._prompts, self._beginning = model, prompts, beginning
        self._n_rows = 1 + n_references
        self._rows: OnnxRows | None = None

    def read(self, token: int | None, everywhere: bool) -> Read:
        """Read one more token; return what the model makes of each row's end."""
        n = len(self._prompts)
        if self._rows is None or token is None:
            self._rows, read = read_rows(self._model, self._prompts, self._beginning, everywhere)
        else:
            read = self._rows.advance([token] * n, range(n if everywhere else 1))
        if n > 1:
            return read
        return Read(*(np.repeat(values, self._n_rows, axis=0) for values in read))


class ModelScores(_Text):
    """Scores of one text, private rows at the tokens that a decoder asks for; a `NextScores`."""

    def __call__(self, token: int | None) -> RowScores:
        """Return the scores of the next token."""
        read = self.read(token, everywhere=False)
        return RowScores(self._model, read.hidden, read.logits[0])


class AllScores(_Text):
    """Scores of one text, all rows at all tokens, for a decoder that asks for most."""

    def __call__(self, token: int | None) -> Logits:
        """Return the scores of the next token, float32 [1 + n_references, n_vocabulary]."""
        return self.read(token, everywhere=True).logits


class DrawnScores:
    """Scores of one text, with a fresh draw of references at each token, without replacement.

    Every token costs as much as reading the drawn references; memory does not grow with their
    number. The prompts are the public one, then those of the whole pool.
    """

    def __init__(
        self,
        model: OnnxCausalLM,
        prompts: TokenLists,
        n_drawn: int,
        source: Source,
        beginning: Sequence[int] = (),
    ) -> None:
        self._model, self._prompts, self._beginning = model, prompts, beginning
        self._n_drawn, self._source = n_drawn, source
        self._written: list[int] = []

    def __call__(self, token: int | None) -> RowScores:
        """Return the scores of the next token, 1 + n_drawn rows."""
        self._written += [] if token is None else [token]
        chosen = drawn_without_replacement(len(self._prompts) - 1, self._n_drawn, self._source)
        rows = [0, *(1 + i for i in chosen)]
        texts = [[*self._prompts[row], *self._written] for row in rows]
        _, read = read_rows(self._model, texts, self._beginning, everywhere=False)
        return RowScores(self._model, read.hidden, read.logits[0])


def drawn_without_replacement(n: int, k: int, source: Source) -> Sequence[int]:
    """Draw k of the numbers 0..n-1, every ordered choice equally likely (Fisher and Yates)."""
    numbers = list(range(n))
    for i in range(k):
        j = i + source.randbelow(n - i)
        numbers[i], numbers[j] = numbers[j], numbers[i]
    return numbers[:k]


@dataclass(frozen=True)
class Task:
    """One text to write, and the positions of the references that it reads."""

    query: Reference
    reads: range


def write(
    references: Sequence[Reference],
    tasks: Sequence[Task],
    plan: Plan,
    rule: str,
) -> list[SynthesizedText]:
    """Write all texts; references pay for all tasks that read them.

    Args:
        plan: the decoder, for batches of `plan.setting.n_pool`.
        rule: which text reads which references, in words.
    """
    options = plan.setting.options
    check_references(references)
    model, tokens = load_model(options.model)
    prompts = [prompts_for(references, task.query, options.template, tokens) for task in tasks]
    asked = options.max_reference_tokens
    if asked is not None:
        check_count("max_reference_tokens", asked)
    n_public = max(p.n_public for p in prompts)
    limit = room(model, 1 + plan.setting.n_rows, n_public, options.max_tokens, asked)
    read = [
        [] if plan.public_only else [p.private(references[i], limit) for i in task.reads]
        for task, p in zip(tasks, prompts, strict=True)
    ]
    # From here on the charge stays, whatever happens: an error already tells about the references.
    _pay(plan)
    texts: list[SynthesizedText] = []
    extra = {"batch_size": plan.setting.n_pool, "max_reference_tokens": limit}
    with progress_bar(options.max_tokens * len(tasks), options.progress) as advance:
        for p, private in zip(prompts, read, strict=True):
            drawn: list[int] = []
            for token in _draw(model, p, private, plan):
                drawn.append(token)
                advance(1)
                if options.on_token is not None:
                    options.on_token(1)
            record = plan.record(rule, extra, len(drawn), model.sha256)
            body = [token for token in drawn if token not in p.end]
            texts.append(SynthesizedText(tokens.decode(body).strip(), record))
            advance(options.max_tokens - len(drawn))
    return texts


def load_model(model: OnnxCausalLM | Path | None) -> tuple[OnnxCausalLM, ByteTokens]:
    """Return the model with its tokenizer; tokenizers and the packaged model are loaded once."""
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


def _pay(plan: Plan) -> None:
    """Charge the ledger, if there is one."""
    options = plan.setting.options
    scopes = tuple(options.scopes)
    if options.ledger is None and not scopes:
        return
    budget = budget_for(None, options.ledger, "", scopes)
    if options.n_queries != 1:
        raise ValueError(
            f"n_queries must be 1 with a ledger, which counts each call, got {options.n_queries!r}"
        )
    if not isfinite(plan.epsilon):
        raise NotCertified("a ledger needs a certified variant")
    if plan.epsilon:
        budget.reserve(plan.epsilon).commit()


def _draw(
    model: OnnxCausalLM, prompts: Prompts, private: Sequence[list[int]], plan: Plan
) -> Iterator[int]:
    """Draw the tokens of one text, the one that ends it included."""
    rows, options = [prompts.public, *private], plan.setting.options
    place = (model, rows, plan.setting.n_rows)
    scores: NextScores
    if options.redraws and not plan.public_only:
        scores = DrawnScores(*place, options.source, prompts.beginning)
    elif plan.decoder.top_k is None:
        scores = AllScores(*place, prompts.beginning)
    else:
        scores = ModelScores(*place, prompts.beginning)
    return next_tokens(plan.decoder, scores, options.max_tokens, prompts.end, options.source)
