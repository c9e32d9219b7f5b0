"""Private documents in, a synthetic text out that may leave this machine, with differential privacy
for each document.

The model reads the query alone, and the query with each reference; a decoder from
`sanitizer.decoding` mixes what they say about each next token, so that no single reference moves
its distribution by more than the budget allows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Unpack

from sanitizer.lm import OnnxCausalLM
from sanitizer.privacy import check_count
from sanitizer.randomness import SYSTEM_RANDOM, Source
from sanitizer.storage import Ledger, Scope
from sanitizer.synthesis.plan import (
    Reference,
    SynthesisSetting,
    SynthesizedText,
    plan,
    reference_batches,
)
from sanitizer.synthesis.writing import Options, Task, write

BATCH_SIZE = 8
N_SHOTS = 4


def synthesize(
    references: Sequence[Reference],
    query: Reference,
    *,
    epsilon: float = 10.0,
    delta: float = 1e-6,
    method: str = "invisibleink",
    max_tokens: int = 64,
    variant: str = "certified",
    temperature: float | None = None,
    top_k: int | None = None,
    batch_size: int | None = None,
    n_shots: int | None = None,
    n_queries: int = 1,
    template: str | None = None,
    max_reference_tokens: int | None = None,
    model: OnnxCausalLM | Path | None = None,
    ledger: Ledger | None = None,
    scopes: Iterable[Scope] = (),
    progress: bool = False,
    on_token: Callable[[int], None] | None = None,
    source: Source = SYSTEM_RANDOM,
) -> SynthesizedText:
    """One synthetic text, like the references, as the query asks.

    Guarantee: (epsilon, delta)-DP for each reference, replaced by null: the text, its length
    included, is almost as likely if any one reference counts as missing. `record.epsilon` is the
    bound that holds, at most `epsilon`. All of `max_tokens` are paid for, drawn or not. See
    `InvisibleInk` and `DPSMOZO` for the proofs' subject.
    Public: the query, template, settings, how many references there are and in which order they
    stand. The text reads the first `batch_size`, whatever they say; the order must not follow from
    what they say.
    Not protected: what several references say together, and how long the computation takes.

    Args:
        references: documents, as strings; or demonstrations, as mappings with the template's
            fields. One or more.
        query: for documents, what to write; for demonstrations, the values of all fields but the
            last.
        epsilon: of one reference, in nats; too small for any use, no reference is read, and the
            record says so.
        delta: in (0, 1); below 1 / the number of references.
        method: "invisibleink" (an average of what references add), or "dps-mozo" (a product, for
            demonstrations).
        max_tokens: of the text; public.
        variant: "certified", or "published": the papers' own accounting and, for dps-mozo, their
            own algorithm.
        temperature: of invisibleink; default 0.8. top_k: how many tokens may come; default 50
            (dps-mozo 100).
        batch_size: how many references are read; default 8 (dps-mozo 4, its published variant all),
            or all there are.
        n_shots: of dps-mozo's published variant: how many of the batch are drawn, and read again,
            for each token; default 4.
        n_queries: how many texts from the same references `epsilon` has to cover, this one among
            them.
        template: with {query} and {reference} for documents; for demonstrations with fields of your
            own, the last of which is generated, by default "Input: {input}\\nOutput: {output}".
            Public.
        max_reference_tokens: longer references are cut; default what fits into the model's window,
            a public number.
        model: folder, or a loaded model; default the packaged one, whose weights are fetched.
        ledger: charged for `scopes` before the text is drawn; the charge stays if an error follows.
        progress: show a bar on standard error. on_token: called with 1 after each token.
        source: of randomness; replace it in tests only.

    Raises:
        ValueError: naming argument and value, before anything is drawn. TypeError: references or
            query of wrong types.
        ModelError: missing weights (the message names the command that fetches them). NotCertified:
            a score is not
            finite. BudgetExceeded, LedgerError: nothing was drawn.
    """
    (text,) = synthesize_batch(
        references,
        query,
        1,
        epsilon=epsilon,
        delta=delta,
        method=method,
        max_tokens=max_tokens,
        variant=variant,
        temperature=temperature,
        top_k=top_k,
        batch_size=batch_size,
        n_shots=n_shots,
        n_queries=n_queries,
        template=template,
        max_reference_tokens=max_reference_tokens,
        model=model,
        ledger=ledger,
        scopes=scopes,
        progress=progress,
        on_token=on_token,
        source=source,
    )
    return text


def synthesize_batch(
    references: Sequence[Reference], query: Reference, n_texts: int, **options: Unpack[Options]
) -> list[SynthesizedText]:
    """Many texts at the price of one: each reads references of its own.

    Guarantee: as `synthesize`, for all texts together: a reference is read for one text at most
    (parallel composition). Text i reads the i-th run of `batch_size` references, by position; those
    left over are not read.

    Args:
        n_texts: at most as many as there are references. The others: see `synthesize`; `batch_size`
            is by default also at most the number of references divided by `n_texts`. A ledger is
            charged once.

    Raises:
        As `synthesize`.
    """
    if isinstance(references, str) or not isinstance(references, Sequence):
        raise TypeError(
            f"references must be a list of str or of mappings, got {type(references).__name__}"
        )
    max_tokens, n_queries = options.get("max_tokens", 64), options.get("n_queries", 1)
    check_count("n_texts", n_texts)
    check_count("max_tokens", max_tokens)
    check_count("n_queries", n_queries)
    runs = reference_batches(
        len(references), n_texts, options.get("batch_size"), _usual_size(options)
    )
    found = plan(setting_for(options, len(runs[0]), n_queries * max_tokens))
    rule = f"text i of {n_texts} the i-th run of {len(runs[0])} references, by position; no other text reads these"
    return write(references, [Task(query, run) for run in runs], found, rule, max_tokens, options)


def _usual_size(options: Options) -> int | None:
    """References for one text, if nothing is said; None: as many as there are."""
    if options.get("method") != "dps-mozo":
        return BATCH_SIZE
    return None if options.get("variant") == "published" else N_SHOTS


def setting_for(options: Options, n_pool: int, n_charged: int) -> SynthesisSetting:
    """The setting of texts that read `n_pool` references each. Raises ValueError naming argument
    and value.
    """
    method, variant, n_shots = (
        options.get("method", "invisibleink"),
        options.get("variant", "certified"),
        options.get("n_shots"),
    )
    redraws = (method, variant) == ("dps-mozo", "published")
    if redraws:
        n_shots = min(N_SHOTS, n_pool) if n_shots is None else n_shots
        check_count("n_shots", n_shots, n_pool)
    elif n_shots is not None:
        raise ValueError(
            f"n_shots belongs to dps-mozo's published variant (batch_size is its like), got {n_shots!r}"
        )
    return SynthesisSetting(
        method=method,
        variant=variant,
        epsilon=options.get("epsilon", 10.0),
        delta=options.get("delta", 1e-6),
        temperature=options.get("temperature"),
        top_k=options.get("top_k"),
        n_rows=n_shots if n_shots is not None else n_pool,
        n_pool=n_pool,
        n_charged=n_charged,
    )
