"""Synthetic texts, differentially private for each reference.

The model reads the query alone, and the query with each reference. A decoder of `sanitizer.privacy`
combines what they say about each next token, so that no single reference moves its distribution by
more than the budget allows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import signature
from typing import Any, TypeVar, Unpack

from sanitizer.privacy.weights import check_count
from sanitizer.synthesis.plan import (
    OptionKeywords,
    Reference,
    SynthesisOptions,
    SynthesisSetting,
    SynthesizedText,
    plan,
    reference_batches,
)
from sanitizer.synthesis.writing import Task, write

BATCH_SIZE = 8
"""References read for one text by default."""
N_SHOTS = 4
"""Demonstrations read for one output by default, as in the DPS-MOZO paper."""

Function = TypeVar("Function", bound=Callable[..., Any])


def _shows_options(function: Function) -> Function:
    """Show the fields of `SynthesisOptions` as keyword arguments in `help` and `signature`."""
    own = signature(function)
    named = [p for p in own.parameters.values() if p.kind is not p.VAR_KEYWORD]
    options = signature(SynthesisOptions).parameters.values()
    vars(function)["__signature__"] = own.replace(parameters=[*named, *options])
    return function


@_shows_options
def synthesize(
    references: Sequence[Reference], query: Reference, **options: Unpack[OptionKeywords]
) -> SynthesizedText:
    r"""Write one synthetic text, like the references, as the query asks.

    Guarantee: (epsilon, delta)-DP for each reference, replaced by null: the text, its length
    included, is almost as likely if any one reference counts as missing. `record.epsilon` is the
    bound that holds, at most `epsilon`. All of `max_tokens` are paid for, drawn or not. The proofs
    are about `InvisibleInk` and `DPSMOZO`.

    Public: the query, template, settings, number and order of the references. The text reads the
    first `batch_size`, whatever they say; the order must not depend on what they say.

    Not protected: what several references say together, and how long the computation takes.

    Args:
        references: documents, as strings; or demonstrations, as mappings with the template's
            fields. One or more.
        query: for documents, what to write; for demonstrations, the values of all fields but the
            last.
        epsilon: of one reference, in nats; if it is too small for any use, no reference is read,
            and the record says so.
        delta: in (0, 1); choose it below 1 / the number of references.
        method: "invisibleink" (an average of what references add), or "dps-mozo" (a product, for
            demonstrations).
        variant: "certified", or "published": the papers' own accounting and, for dps-mozo, their
            own algorithm.
        max_tokens: of the text; public.
        temperature: of invisibleink; default 0.8.
        top_k: how many tokens may come; default 50 (dps-mozo 100).
        batch_size: how many references are read; default 8 (dps-mozo 4, its published variant all),
            or all there are.
        n_shots: of dps-mozo's published variant: how many of the batch are drawn, and read again,
            for each token; default 4.
        n_queries: how many texts from the same references `epsilon` has to cover, this one
            included.
        template: with {query} and {reference} for documents; for demonstrations with fields of your
            own, the last of which is generated, by default "Input: {input}\nOutput: {output}".
            Public.
        max_reference_tokens: longer references are cut; default what fits into the model's window,
            a public number.
        model: folder, or a loaded model; default the packaged one, whose weights are fetched.
        ledger: charged before the text is drawn; the charge stays if an error follows.
        scopes: of the ledger; all of them are charged.
        on_token: called with 1 after each token.
        source: of randomness; replace it in tests only.

    Raises:
        ValueError: naming argument and value, before anything is drawn.
        TypeError: references, query or template of wrong types, or an unknown argument.
        ModelError: missing weights; the message names the command that fetches them.
        NotCertified: a score is not finite, or a ledger cannot pay for an uncertified variant.
        BudgetExceeded, LedgerError: nothing was drawn.

    Example (the first two lines need the weights: `sanitizer models fetch lm`):
        >>> reviews = ["A warm film with good songs.", "Dull, and far too long."]
        >>> text = synthesize(reviews, "Write a short review of a film.")  # doctest: +SKIP
        >>> text.record.epsilon <= 10  # doctest: +SKIP
        True
        >>> synthesize(reviews, "Write a short review of a film.", batch_size=3)
        Traceback (most recent call last):
        ValueError: references must be at least 1 batches of 3, got 2
    """
    (text,) = _texts(references, query, 1, SynthesisOptions.of("synthesize", options))
    return text


@_shows_options
def synthesize_batch(
    references: Sequence[Reference],
    query: Reference,
    n_texts: int,
    **options: Unpack[OptionKeywords],
) -> list[SynthesizedText]:
    """Write several texts at the price of one: each reads references of its own.

    Guarantee: as `synthesize`, for all texts together: a reference is read for one text at most
    (parallel composition). Text i reads the i-th run of `batch_size` references, by position; those
    left over are not read.

    Args:
        query: as for `synthesize`; the same for all texts.
        n_texts: at most as many as there are references.
        options: as for `synthesize`. `batch_size` is by default also at most the number of
            references divided by `n_texts`. A ledger is charged once.

    Raises:
        ValueError: also if there are fewer than `n_texts` references.
        TypeError, ModelError, NotCertified, BudgetExceeded, LedgerError: as `synthesize`.

    >>> synthesize_batch(["Tea at four.", "Call Ann."], "Write a note.", n_texts=3)
    Traceback (most recent call last):
    ValueError: references must be at least one for each of 3 texts, got 2
    """
    return _texts(references, query, n_texts, SynthesisOptions.of("synthesize_batch", options))


def _texts(
    references: Sequence[Reference], query: Reference, n_texts: int, options: SynthesisOptions
) -> list[SynthesizedText]:
    """Check, plan and write; see `synthesize_batch`."""
    if isinstance(references, str) or not isinstance(references, Sequence):
        raise TypeError(
            f"references must be a list of str or of mappings, got {type(references).__name__}"
        )
    check_count("n_texts", n_texts)
    check_count("max_tokens", options.max_tokens)
    check_count("n_queries", options.n_queries)
    usual = N_SHOTS if options.method == "dps-mozo" else BATCH_SIZE
    runs = reference_batches(
        len(references), n_texts, options.batch_size, None if options.redraws else usual
    )
    found = plan(setting_for(options, len(runs[0]), options.n_queries * options.max_tokens))
    rule = (
        f"text i of {n_texts} the i-th run of {len(runs[0])} references, by position; "
        "no other text reads these"
    )
    return write(references, [Task(query, run) for run in runs], found, rule)


def setting_for(options: SynthesisOptions, n_pool: int, n_charged: int) -> SynthesisSetting:
    """Return the setting of texts that read, or draw from, `n_pool` references each.

    One reference pays for `n_charged` tokens.
    """
    n_shots = options.n_shots
    if options.redraws:
        n_shots = min(N_SHOTS, n_pool) if n_shots is None else n_shots
        check_count("n_shots", n_shots, n_pool)
    elif n_shots is not None:
        raise ValueError(
            "n_shots belongs to dps-mozo's published variant (batch_size is its like), "
            f"got {n_shots!r}"
        )
    return SynthesisSetting(options, n_pool if n_shots is None else n_shots, n_pool, n_charged)
