"""Synthetic texts and private demonstrations, differentially private for each reference.

The model reads the query alone, and the query with each reference. A decoder of `sanitizer.privacy`
combines what they say about each next token, so that no single reference moves its distribution by
more than the budget allows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from inspect import signature
from pathlib import Path
from typing import Any, TypeVar, Unpack

from sanitizer.lm import OnnxCausalLM
from sanitizer.privacy import InvisibleInk, check_count, generate
from sanitizer.randomness import SYSTEM_RANDOM, Source
from sanitizer.synthesis.plan import (
    DEMONSTRATION,
    Reference,
    ShotPrompts,
    SynthesisRecord,
    SynthesisSetting,
    SynthesizedText,
    Template,
    plan,
    reference_batches,
)
from sanitizer.synthesis.writing import (
    ModelScores,
    OptionKeywords,
    SynthesisOptions,
    Task,
    load_model,
    room,
    write,
)

BATCH_SIZE = 8
"""References read for one text by default."""
N_SHOTS = 4
"""Demonstrations read for one output by default, as in the DPS-MOZO paper."""

Function = TypeVar("Function", bound=Callable[..., Any])


def _shows_options(**defaults: object) -> Callable[[Function], Function]:
    """Show the fields of `SynthesisOptions` as keyword arguments in `help` and `signature`.

    Args:
        defaults: those that differ from the fields'.
    """

    def shown(function: Function) -> Function:
        own = signature(function)
        named = [p for p in own.parameters.values() if p.kind is not p.VAR_KEYWORD]
        options = [
            p.replace(default=defaults.get(p.name, p.default))
            for p in signature(SynthesisOptions).parameters.values()
        ]
        vars(function)["__signature__"] = own.replace(parameters=[*named, *options])
        return function

    return shown


@_shows_options()
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
        progress: show a bar on standard error.
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


@_shows_options()
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
        references: as for `synthesize`.
        query: as for `synthesize`; the same for all texts.
        n_texts: at most as many as there are references.
        options: as for `synthesize`. `batch_size` is by default also at most the number of
            references divided by `n_texts`. A ledger is charged once.

    Raises:
        ValueError: also if there are fewer than `n_texts` references.
        TypeError, ModelError, NotCertified, BudgetExceeded, LedgerError: as `synthesize`.

    Example:
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
    runs = reference_batches(len(references), n_texts, options.batch_size, _usual_size(options))
    found = plan(setting_for(options, len(runs[0]), options.n_queries * options.max_tokens))
    rule = (
        f"text i of {n_texts} the i-th run of {len(runs[0])} references, by position; "
        "no other text reads these"
    )
    return write(references, [Task(query, run) for run in runs], found, rule, options)


def _usual_size(options: SynthesisOptions) -> int | None:
    """Return the default number of references for one text; None: as many as there are."""
    if options.redraws:
        return None
    return N_SHOTS if options.method == "dps-mozo" else BATCH_SIZE


def setting_for(options: SynthesisOptions, n_pool: int, n_charged: int) -> SynthesisSetting:
    """Return the setting of texts that read `n_pool` references each.

    Args:
        options: as the caller gave them.
        n_pool: references that a text reads, or draws from.
        n_charged: tokens that one reference pays for.

    Raises:
        ValueError: naming argument and value.
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
    return SynthesisSetting(
        method=options.method,
        variant=options.variant,
        epsilon=options.epsilon,
        delta=options.delta,
        temperature=options.temperature,
        top_k=options.top_k,
        n_rows=n_pool if n_shots is None else n_shots,
        n_pool=n_pool,
        n_charged=n_charged,
    )


@dataclass(frozen=True)
class Demonstrations:
    """Public inputs with outputs that may leave this machine.

    Attributes:
        examples: values of the template's fields, in the order of the inputs.
        template: the one they were made with.
        record: what all of them together cost.
    """

    examples: tuple[Mapping[str, str], ...] = field(repr=False)
    template: str
    record: SynthesisRecord

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        examples = [dict(example) for example in self.examples]
        return {"examples": examples, "template": self.template, "record": self.record.as_dict()}


@_shows_options(method="dps-mozo")
def private_demonstrations(
    references: Sequence[Mapping[str, str]],
    inputs: Sequence[Reference],
    **options: Unpack[OptionKeywords],
) -> Demonstrations:
    """Write outputs for public inputs, learned from private demonstrations.

    Guarantee: (epsilon, delta)-DP for each reference, replaced by null, over all outputs together;
    using them later, with `answer_privately` or elsewhere, costs nothing more. Input i is answered
    from run i mod m of `batch_size` references, m the number of whole runs (at most one for each
    input), so a reference pays for the inputs of its run only. The published variant draws from the
    first `batch_size` references for every token of every input.

    Public: inputs, template, settings, number and order of the references.

    Args:
        references: private demonstrations, with all fields of the template.
        inputs: public; one or more, each as the `query` of `synthesize`.
        options: as for `synthesize`; `method` is "dps-mozo" by default, `max_tokens` is of one
            output, and `n_queries` can only be 1.

    Raises:
        ValueError: also if there is no input.
        TypeError, ModelError, NotCertified, BudgetExceeded, LedgerError: as `synthesize`.

    Example (the first two lines need the weights: `sanitizer models fetch lm`):
        >>> opposites = [{"input": "big", "output": "small"}, {"input": "hot", "output": "cold"}]
        >>> made = private_demonstrations(opposites, ["old", "fast"])  # doctest: +SKIP
        >>> answer = answer_privately(made, "happy", max_tokens=4)  # doctest: +SKIP
        >>> private_demonstrations(opposites, [])
        Traceback (most recent call last):
        ValueError: inputs must be a list of one or more
    """
    if isinstance(inputs, (str, Mapping)) or not inputs:
        raise ValueError("inputs must be a list of one or more")
    chosen = SynthesisOptions.of("private_demonstrations", {"method": "dps-mozo", **options})
    check_count("max_tokens", chosen.max_tokens)
    check_count("n_queries", chosen.n_queries, 1)
    runs = _runs(len(references), len(inputs), chosen)
    tasks = [Task(query, runs[i % len(runs)]) for i, query in enumerate(inputs)]
    # The first runs answer one input more than the others where the division leaves a rest.
    n_charged = -(-len(tasks) // len(runs)) * chosen.max_tokens
    found = plan(setting_for(chosen, len(runs[0]), n_charged))
    rule = f"input i run i mod {len(runs)} of {len(runs[0])} references, by position"
    outputs = write(references, tasks, found, rule, chosen)
    template = DEMONSTRATION if chosen.template is None else chosen.template
    record = replace(
        outputs[0].record,
        n_tokens=sum(output.record.n_tokens for output in outputs),
        n_references=0 if found.public_only else len(runs) * len(runs[0]),
    )
    return Demonstrations(_examples(template, inputs, outputs), template, record)


def _examples(
    template: str, inputs: Sequence[Reference], outputs: Sequence[SynthesizedText]
) -> tuple[Mapping[str, str], ...]:
    """Return the values of all fields for each input and its output."""
    first, *_, last = Template.parse(template).fields
    return tuple(
        {**(query if isinstance(query, Mapping) else {first: query}), last: str(output)}
        for query, output in zip(inputs, outputs, strict=True)
    )


def _runs(n_references: int, n_inputs: int, options: SynthesisOptions) -> Sequence[range]:
    """Return runs of references by position: one for each input, or as many as there are.

    There is one pool where references are drawn anew for each token.
    """
    if options.redraws:
        return reference_batches(n_references, 1, options.batch_size, None)
    (first,) = reference_batches(n_references, 1, options.batch_size, N_SHOTS)
    n_runs = min(n_inputs, n_references // len(first))
    return reference_batches(n_references, n_runs, len(first), N_SHOTS)


def answer_privately(
    demonstrations: Demonstrations,
    query: Reference,
    *,
    max_tokens: int = 64,
    temperature: float = 1.0,
    top_k: int = 1,
    n_shots: int = N_SHOTS,
    model: OnnxCausalLM | Path | None = None,
    source: Source = SYSTEM_RANDOM,
) -> str:
    """Answer a query with the model after private demonstrations; this costs nothing.

    Args:
        demonstrations: from `private_demonstrations`, which paid for them.
        query: as for `synthesize`.
        max_tokens: of the answer.
        temperature: of the draws.
        top_k: how many tokens may come; 1 takes the likeliest token each time.
        n_shots: how many of the demonstrations, from the first on, are read.
        model: as for `synthesize`.
        source: of randomness; replace it in tests only.

    Raises:
        ValueError, TypeError, ModelError: as `synthesize`.

    Example: see `private_demonstrations`.
    """
    check_count("max_tokens", max_tokens)
    check_count("n_shots", n_shots)
    decoder = InvisibleInk(0, 1, temperature, top_k)
    loaded, tokens = load_model(model)
    prompts = ShotPrompts(query, demonstrations.template, tokens)
    shown = demonstrations.examples[:n_shots]
    n_public = len(prompts.after([([], [])] * len(shown)))
    limit = room(loaded, 1, n_public, max_tokens, None) // len(shown)
    prompt = prompts.after([prompts.example(example, limit) for example in shown])
    drawn = generate(decoder, ModelScores(loaded, [prompt], 1), max_tokens, prompts.end, source)
    return tokens.decode(drawn.body).strip()
