"""Writing synthetic texts: everything is checked first, then paid for, then drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import TypedDict
from weakref import WeakKeyDictionary

from sanitizer.budget import budget_for
from sanitizer.causal import OnnxCausalLM
from sanitizer.decoding import base
from sanitizer.errors import NotCertified
from sanitizer.ledger import Ledger, Scope
from sanitizer.loading import Models
from sanitizer.progress import progress_bar
from sanitizer.sampling import SYSTEM, Source
from sanitizer.synthesis_plan import Plan
from sanitizer.synthesis_prompts import Prompts, Reference, check_references, prompts_for
from sanitizer.synthesis_scores import AllScores, DrawnScores, ModelScores, room
from sanitizer.synthesis_types import SynthesizedText
from sanitizer.text import ByteTokens


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
    references: Sequence[Reference], tasks: Sequence[Task], plan: Plan, rule: str, max_tokens: int, options: Options
) -> list[SynthesizedText]:
    """All texts. The references of tasks that are charged together (see `Setting.n_charged`) pay for all of them.

    Args:
        plan: the decoder, for batches of `plan.setting.n_pool`. rule: which text reads which references, in words.

    Raises:
        ValueError, TypeError, ModelError, BudgetExceeded, LedgerError: before anything was drawn.
        NotCertified: a score is not finite, or a ledger cannot pay for an uncertified variant.
    """
    check_references(references)
    model, tokens = loaded(options.get("model"))
    prompts = [prompts_for(references, task.query, options.get("template"), tokens) for task in tasks]
    limit = _limit(model, prompts, plan, max_tokens, options.get("max_reference_tokens"))
    read = [
        [] if plan.public_only else [p.private(references[i], limit) for i in task.reads]
        for task, p in zip(tasks, prompts, strict=True)
    ]
    _pay(plan, options)
    source, texts = options.get("source", SYSTEM), []
    extra = {"batch_size": plan.setting.n_pool, "max_reference_tokens": limit}
    with progress_bar(max_tokens * len(tasks), options.get("progress", False)) as advance:
        for p, private in zip(prompts, read, strict=True):
            body, n = _drawn(model, p, private, plan, max_tokens, source, _each(advance, options.get("on_token")))
            record = plan.record(rule, extra, max_tokens, n, model.sha256)
            texts.append(SynthesizedText(tokens.decode(body).strip(), record))
            advance(max_tokens - n)
    return texts


def loaded(model: OnnxCausalLM | Path | None) -> tuple[OnnxCausalLM, ByteTokens]:
    """The model with its tokenizer; the packaged one, and a model's tokenizer, are loaded once. Raises ModelError."""
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


def _limit(model: OnnxCausalLM, prompts: Sequence[Prompts], plan: Plan, max_tokens: int, asked: int | None) -> int:
    """Tokens read of each reference; from public numbers only."""
    if asked is not None:
        base.check_count("max_reference_tokens", asked)
    n_public = max(p.n_public for p in prompts)
    return room(model, 1 + plan.setting.n_rows, n_public, max_tokens, asked)


def _pay(plan: Plan, options: Options) -> None:
    """Charge the ledger, if there is one; from here on the charge stays, whatever happens."""
    ledger, scopes = options.get("ledger"), tuple(options.get("scopes", ()))
    if ledger is None and not scopes:
        return
    budget = budget_for(None, ledger, "", scopes)
    if options.get("n_queries", 1) != 1:
        raise ValueError(f"n_queries must be 1 with a ledger, which counts each call, got {options['n_queries']!r}")
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
    scores: base.NextScores
    if drawn_anew:
        scores = DrawnScores(model, rows, n_rows, source, prompts.beginning)
    else:
        kind = AllScores if plan.decoder.top_k is None else ModelScores
        scores = kind(model, rows, n_rows, prompts.beginning)
    found: list[int] = []
    for token in base.tokens(plan.decoder, scores, max_tokens, prompts.end, source):
        found.append(token)
        each(1)
    return [token for token in found if token not in prompts.end], len(found)


def _each(advance: Callable[[int], None], on_token: Callable[[int], None] | None) -> Callable[[int], None]:
    def both(n: int) -> None:
        advance(n)
        if on_token is not None:
            on_token(n)

    return both
