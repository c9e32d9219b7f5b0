"""Private demonstrations: made once from private ones, with differential privacy, and then used at
no further cost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Unpack

from sanitizer.lm import OnnxCausalLM
from sanitizer.privacy import InvisibleInk, check_count, generate
from sanitizer.randomness import SYSTEM_RANDOM, Source
from sanitizer.synthesis.plan import (
    DEMONSTRATION,
    Reference,
    ShotPrompts,
    SynthesisRecord,
    Template,
    plan,
    reference_batches,
)
from sanitizer.synthesis.texts import N_SHOTS, setting_for
from sanitizer.synthesis.writing import ModelScores, Options, Task, loaded, room, write


@dataclass(frozen=True)
class Demonstrations:
    """Public inputs with outputs that may leave this machine.

    Attributes:
        examples: values of the template's fields, in the order of the inputs. template: as they
            were made with.
        record: what all of them together cost.
    """

    examples: tuple[Mapping[str, str], ...] = field(repr=False)
    template: str
    record: SynthesisRecord

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        examples = [dict(example) for example in self.examples]
        return {"examples": examples, "template": self.template, "record": self.record.as_dict()}


def private_demonstrations(
    references: Sequence[Mapping[str, str]], inputs: Sequence[Reference], **options: Unpack[Options]
) -> Demonstrations:
    """Outputs for public inputs, learned from private demonstrations.

    Guarantee: (epsilon, delta)-DP for each reference, replaced by null, over all outputs together;
    what is done with them later costs nothing more. Input i is answered from run i mod m of
    `batch_size` references, m the number of whole runs (at most one for each input), so a reference
    pays for the inputs of its run only. The published variant draws from the first `batch_size`
    references for every token of every input.
    Public: inputs, template, settings, number and order of the references.

    Args:
        references: private demonstrations, with all fields of the template.
        inputs: public; one or more, each as the `query` of `synthesize`.
        options: as `synthesize`; `method` is "dps-mozo" by default, `max_tokens` is of one output.

    Raises:
        As `synthesize`.
    """
    if isinstance(inputs, (str, Mapping)) or not inputs:
        raise ValueError("inputs must be a list of one or more")
    options = {"method": "dps-mozo", **options}
    max_tokens = options.get("max_tokens", 64)
    check_count("max_tokens", max_tokens)
    check_count("n_queries", options.get("n_queries", 1), 1)
    text = options.get("template") or DEMONSTRATION
    runs = _runs(len(references), len(inputs), options)
    tasks = [Task(query, runs[i % len(runs)]) for i, query in enumerate(inputs)]
    n_charged = -(-len(tasks) // len(runs)) * max_tokens
    found = plan(setting_for(options, len(runs[0]), n_charged))
    rule = f"input i run i mod {len(runs)} of {len(runs[0])} references, by position"
    made = write(references, tasks, found, rule, max_tokens, options)
    *others, output = Template.parse(text).fields
    examples = tuple(
        {
            **(query if isinstance(query, Mapping) else {others[0]: query}),
            output: str(answer_privately),
        }
        for query, answer_privately in zip(inputs, made, strict=True)
    )
    n_tokens = sum(answer_privately.record.n_tokens for answer_privately in made)
    n_read = 0 if found.public_only else len(runs) * len(runs[0])
    return Demonstrations(
        examples, text, replace(made[0].record, n_tokens=n_tokens, n_references=n_read)
    )


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
    """An answer_privately by the model after the first `n_shots` demonstrations; costs nothing.

    Args:
        query: as in `synthesize`. top_k: 1 takes the likeliest token each time. The others: see
            `synthesize`.

    Raises:
        ValueError, TypeError, ModelError: as `synthesize`.
    """
    check_count("max_tokens", max_tokens)
    check_count("n_shots", n_shots)
    decoder = InvisibleInk(0, 1, temperature, top_k)
    found, tokens = loaded(model)
    prompts = ShotPrompts(query, demonstrations.template, tokens)
    shown = demonstrations.examples[:n_shots]
    limit = room(found, 1, len(prompts.after([([], [])] * len(shown))), max_tokens, None) // len(
        shown
    )
    prompt = prompts.after([prompts.example(example, limit) for example in shown])
    drawn = generate(decoder, ModelScores(found, [prompt], 1), max_tokens, prompts.end, source)
    return tokens.decode(drawn.body).strip()


def _runs(n_references: int, n_inputs: int, options: Options) -> Sequence[range]:
    """Runs of references by position: as many as there are, or are needed; one pool if they are
    drawn anew.
    """
    if (options.get("method"), options.get("variant")) == ("dps-mozo", "published"):
        return reference_batches(n_references, 1, options.get("batch_size"), None)
    (first,) = reference_batches(n_references, 1, options.get("batch_size"), N_SHOTS)
    return reference_batches(
        n_references, min(n_inputs, n_references // len(first)), len(first), N_SHOTS
    )
