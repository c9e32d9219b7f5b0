"""Synthetic texts with their records, and the terms of the guarantee in words.

Prompts of a synthesis: templates with fields, the public prompt, and the same with one reference in
it.

What a synthesis spends: the decoder that a budget allows, and what its tokens cost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import inf, isfinite
from string import Formatter
from typing import Any, Protocol

from sanitizer.lm import ByteTokens, ChatFormat
from sanitizer.privacy import (
    DPSMOZO,
    VARIANTS,
    InvisibleInk,
    check_count,
    check_number,
    claimed_epsilon,
    cost,
    solve_beta,
    solve_clip_norm,
    solve_range,
)

UNIT = "one reference document"
RELATION = "replace-by-null"
NEIGHBOURS = (
    "replace-by-null: lists of references that differ in one, which stands in its place in one list and counts as "
    "missing in the other; exchanging it for another document takes two such steps"
)
PUBLIC = (
    "the query and the template, the settings, how many references there are and their order, and which text reads "
    "which: {rule}"
)
NOT_PROTECTED = (
    "what several references say together (a person with n of them has n times less protection, or worse), how long "
    "the computation takes, and that the model failed on a reference, which an error tells"
)
FELL_BACK = "epsilon is too small for these settings: no reference was read, and nothing is charged"


@dataclass(frozen=True, slots=True)
class SynthesisRecord:
    """What was released, and what that costs. Holds no text. Epsilons are in nats.

    Attributes:
        method, variant, settings: what ran; `settings` holds the resolved parameters, all public.
        unit, relation, public, not_protected: the terms of the guarantee, in words.
        epsilon: the bound for one unit, over everything this record is of; infinite if there is
            none.
        delta: of all epsilons here.
        claimed_epsilon: by the accounting of the paper, for the same settings; None if it says
            nothing.
        certified: whether `epsilon` is a theorem about the code that ran; `reason` if not.
        charged: what a budget pays for everything this record is of: `epsilon`, or if that is
            infinite the claim.
        n_references: how many were read for this text, or set of answers.
        max_tokens: of one text, paid for in full. n_charged: tokens paid for one unit, of all texts
            that read it.
        n_tokens: how many were drawn.
        fell_back: whether the references were not read at all, since epsilon was too small; `note`
            says so.
        model_sha256: hash of the model's manifest.
    """

    method: str
    variant: str
    settings: dict[str, Any]
    unit: str
    relation: str
    public: str
    not_protected: str
    epsilon: float
    delta: float
    claimed_epsilon: float | None
    certified: bool
    reason: str | None
    charged: float
    n_references: int
    max_tokens: int
    n_charged: int
    n_tokens: int
    fell_back: bool
    note: str | None
    model_sha256: str

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON, which knows no infinity: a bound that is not finite becomes None."""
        return {
            k: None if isinstance(v, float) and not isfinite(v) else v
            for k, v in asdict(self).items()
        }


class SynthesizedText(str):
    """A synthetic text, which may leave the machine: a `str` with a record.

    Attributes:
        record: what it costs. Strings made from this one have none.
    """

    __slots__ = ("record",)
    record: SynthesisRecord

    def __new__(cls, text: str, record: SynthesisRecord) -> SynthesizedText:
        made = super().__new__(cls, text)
        made.record = record
        return made

    def __getnewargs__(self) -> tuple[str, SynthesisRecord]:  # type: ignore[override]
        return str(self), self.record

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"text": str(self), "record": self.record.as_dict()}


SYSTEM_PROMPT = "You write texts."
TEMPLATE = "{query}\n\nHere is an example:\n\n{reference}\n\nWrite a new text of the same kind."
DEMONSTRATION = "Input: {input}\nOutput: {output}"

Reference = str | Mapping[str, str]


class Prompts(Protocol):
    """The prompts of one text."""

    public: list[int]
    """Reads no reference: what a reference replaced by null comes to."""
    n_public: int
    """Tokens of the longest prompt without its reference."""
    beginning: list[int]
    """What every private prompt begins with, whatever its reference."""
    end: frozenset[int]
    """Tokens at which the text ends."""

    def private(self, reference: Reference, limit: int) -> list[int]:
        """Reads the first tokens of one reference, `limit` at most."""


@dataclass(frozen=True)
class Template:
    """Text with fields in braces; a brace that is text is doubled, as in str.format.

    Attributes:
        parts: (text, name of the field after it, or None at the end) in order.
    """

    parts: tuple[tuple[str, str | None], ...]

    @classmethod
    def parse(cls, text: str) -> Template:
        """Raises ValueError for broken braces, and for fields that are not plain names."""
        _is_str("template", text)
        try:
            parsed = list(Formatter().parse(text))
        except ValueError:
            raise ValueError(
                "template must have its braces in pairs; a brace that is text is doubled"
            ) from None
        for _, name, form, conversion in parsed:
            if name is not None and (form or conversion or not name.isidentifier()):
                raise ValueError(f"template fields must be plain names, got {name!r}")
        return cls(tuple((literal, name) for literal, name, _, _ in parsed))

    @property
    def fields(self) -> list[str]:
        """Names in order."""
        return [name for _, name in self.parts if name is not None]

    def filled(self, values: Mapping[str, str]) -> str:
        """The text with its fields replaced."""
        return "".join(
            text + (values[name] if name is not None else "") for text, name in self.parts
        )

    def around(self, field: str) -> tuple[Template, Template]:
        """What stands before a field, and after it."""
        at = next(i for i, (_, name) in enumerate(self.parts) if name == field)
        return Template((*self.parts[:at], (self.parts[at][0], None))), Template(
            self.parts[at + 1 :]
        )


class DocumentPrompts:
    """For whole documents as references: the query is asked, with a document as an example of the
    answer.

    Args:
        query: not empty. template: of the message with a document, fields {query} and {reference}.

    Raises:
        ValueError: an empty query, unknown fields, or {reference} not exactly once. TypeError: not
            a string.
    """

    def __init__(self, query: Reference, template: str | None, tokens: ByteTokens) -> None:
        if not isinstance(query, str):
            raise TypeError(f"query must be a str where references are, got {type(query).__name__}")
        if not query.strip():
            raise ValueError("query must not be empty")
        parsed = Template.parse(TEMPLATE if template is None else template)
        if unknown := sorted(set(parsed.fields) - {"query", "reference"}):
            raise ValueError(
                f"template may have the fields query and reference, got {', '.join(unknown)}"
            )
        if parsed.fields.count("reference") != 1:
            raise ValueError(
                f"template must have {{reference}} once, got it {parsed.fields.count('reference')} times"
            )
        before, after = parsed.around("reference")
        self._tokens, self._format = tokens, ChatFormat(tokens)
        self._before, self._after = (
            tokens.encode(part.filled({"query": query})) for part in (before, after)
        )
        self.public, self.end = self._format.prompt(query, SYSTEM_PROMPT), self._format.end
        self.n_public = max(len(self.public), len(self.private("", 0)))
        self.beginning = self._format.beginning(self._before, SYSTEM_PROMPT)

    def private(self, reference: Reference, limit: int) -> list[int]:
        """See `Prompts`."""
        document = self._tokens.encode(str(reference))[:limit]
        return self._format.chat([[*self._before, *document, *self._after]], SYSTEM_PROMPT)


class ShotPrompts:
    """For demonstrations as references: a worked example as an earlier turn of the chat, then the
    query's own.

    The last field of the template is the one to be generated.

    Args:
        query: values of the other fields; or the value, if there is only one. template: of a
            demonstration.

    Raises:
        ValueError: fewer than two fields, or fields missing or unknown. TypeError: not strings.
    """

    def __init__(self, query: Reference, template: str | None, tokens: ByteTokens) -> None:
        parsed = Template.parse(DEMONSTRATION if template is None else template)
        self.fields = parsed.fields
        if len(self.fields) < 2 or len(set(self.fields)) < len(self.fields):
            raise ValueError(
                f"template must have two or more fields, each once, got {', '.join(self.fields) or 'none'}"
            )
        self._asking, self._closing = parsed.around(self.fields[-1])
        self._tokens, self._format = tokens, ChatFormat(tokens)
        if isinstance(query, str) and len(self.fields) == 2:
            query = {self.fields[0]: query}
        if isinstance(query, Mapping) and (unknown := sorted(set(query) - set(self.fields[:-1]))):
            raise ValueError(
                f"query may have the fields {', '.join(self.fields[:-1])}, got {', '.join(unknown)}"
            )
        self._query = self._asked(_checked("query", query, self.fields[:-1]))
        self.public, self.end = self.after([]), self._format.end
        self.n_public = len(self.after([([], [])]))
        self.beginning = self._format.beginning([], SYSTEM_PROMPT)

    def private(self, reference: Reference, limit: int) -> list[int]:
        """See `Prompts`. The input gives way before the output does, which keeps at least half of
        the limit.
        """
        return self.after([self.example(reference, limit)])

    def after(self, examples: Sequence[tuple[list[int], list[int]]]) -> list[int]:
        """The query after worked examples, as tokens."""
        return self._format.chat(
            [*(turn for example in examples for turn in example), self._query], SYSTEM_PROMPT
        )

    def example(self, reference: Reference, limit: int) -> tuple[list[int], list[int]]:
        """Input and output of a worked example as tokens, `limit` at most together."""
        values = _checked("references", reference, self.fields)
        shown = self._asked(values)
        output = self._tokens.encode(values[self.fields[-1]] + self._closing.filled({}))
        output = output[: max(limit - len(shown), limit // 2)]
        return shown[: limit - len(output)], output

    def _asked(self, values: Mapping[str, str]) -> list[int]:
        return self._tokens.encode(self._asking.filled(values).rstrip())


def check_references(references: Sequence[Reference]) -> None:
    """Raises TypeError unless all are strings, or all are mappings."""
    kinds = {
        str if isinstance(r, str) else Mapping if isinstance(r, Mapping) else type(r)
        for r in references
    }
    if len(kinds) > 1 or not kinds <= {str, Mapping}:
        raise TypeError(
            f"references must all be str, or all mappings, got {', '.join(sorted(k.__name__ for k in kinds))}"
        )


def prompts_for(
    references: Sequence[Reference], query: Reference, template: str | None, tokens: ByteTokens
) -> Prompts:
    """For documents if the references are strings, for demonstrations if they are mappings; raises
    as these do.
    """
    kind = DocumentPrompts if isinstance(references[0], str) else ShotPrompts
    return kind(query, template, tokens)


def _checked(what: str, values: Reference, fields: Sequence[str]) -> Mapping[str, str]:
    """Raises TypeError or ValueError unless `values` has these fields, as strings; messages show no
    value.
    """
    if not isinstance(values, Mapping):
        raise TypeError(
            f"{what} must have the fields {', '.join(fields)}, got {type(values).__name__}"
        )
    if missing := [name for name in fields if name not in values]:
        raise ValueError(
            f"{what} must have the template's fields, but {', '.join(missing)} is missing"
        )
    for name in fields:
        _is_str(f"{name} of {what}", values[name])
    return values


def _is_str(name: str, value: object) -> None:
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a str, got {type(value).__name__}")


METHODS = ("invisibleink", "dps-mozo")
TEMPERATURE, TOP_K = 0.8, 50
"""Of invisibleink. The papers' 1.0 to 1.2 are for large models: from the packaged one they draw too
much nonsense.
"""


@dataclass(frozen=True)
class SynthesisSetting:
    """What a caller asks for; see `sanitizer.synthesis.synthesize`.

    Attributes:
        n_rows: references read at each token. n_pool: references from which they come. n_charged:
            tokens, of all texts, that one reference pays for.
    """

    method: str
    variant: str
    epsilon: float
    delta: float
    temperature: float | None
    top_k: int | None
    n_rows: int
    n_pool: int
    n_charged: int

    def __post_init__(self) -> None:
        check_number("epsilon", self.epsilon, 0.0)
        check_number("delta", self.delta, 0.0, 1.0 - 1e-12)
        for name, value, known in (
            ("method", self.method, METHODS),
            ("variant", self.variant, VARIANTS),
        ):
            if value not in known:
                raise ValueError(f"{name} must be one of {', '.join(known)}, got {value!r}")
        if self.method == "dps-mozo" and self.temperature is not None:
            raise ValueError(
                f"temperature belongs to invisibleink, not to dps-mozo, got {self.temperature!r}"
            )

    @property
    def redraws(self) -> bool:
        """Whether the references read are drawn anew for each token."""
        return (self.method, self.variant) == ("dps-mozo", "published")


@dataclass(frozen=True)
class Plan:
    """A decoder and its price.

    Attributes:
        epsilon: of one unit; inf if no bound is known. claimed: as the paper counts. public_only:
            reads no reference.
    """

    setting: SynthesisSetting
    decoder: InvisibleInk | DPSMOZO
    epsilon: float
    claimed: float | None
    public_only: bool

    @property
    def charged(self) -> float:
        """What a budget pays."""
        return self.epsilon if self.epsilon < inf else self.claimed or 0.0

    def record(
        self, rule: str, extra: dict[str, Any], max_tokens: int, n_tokens: int, model_sha256: str
    ) -> SynthesisRecord:
        """The record; `rule`: which text reads which references. `extra`: settings besides the
        decoder's.
        """
        setting = self.setting
        return SynthesisRecord(
            method=setting.method,
            variant=setting.variant,
            settings=self.decoder.settings() | extra,
            unit=UNIT,
            relation=NEIGHBOURS,
            public=PUBLIC.format(rule=rule),
            not_protected=NOT_PROTECTED,
            epsilon=self.epsilon,
            delta=setting.delta,
            claimed_epsilon=self.claimed,
            certified=self.decoder.reason is None,
            reason=self.decoder.reason,
            charged=self.charged,
            n_references=0 if self.public_only else setting.n_pool,
            max_tokens=max_tokens,
            n_charged=0 if self.public_only else setting.n_charged,
            n_tokens=n_tokens,
            fell_back=self.public_only,
            note=FELL_BACK if self.public_only else None,
            model_sha256=model_sha256,
        )


def plan(setting: SynthesisSetting) -> Plan:
    """The decoder with the largest signal that the budget allows. Raises ValueError naming argument
    and value.
    """
    return _ink(setting) if setting.method == "invisibleink" else _mozo(setting)


def _ink(setting: SynthesisSetting) -> Plan:
    temperature = TEMPERATURE if setting.temperature is None else setting.temperature
    top_k = TOP_K if setting.top_k is None else setting.top_k
    shape: tuple[int, float] = setting.n_rows, temperature
    found = solve_clip_norm(
        setting.epsilon, setting.delta, setting.n_charged, *shape, setting.variant
    )
    decoder = InvisibleInk(found, *shape, top_k, setting.variant)
    if decoder.public_only:
        return Plan(setting, decoder, 0.0, 0.0, True)
    published = InvisibleInk(found, *shape, top_k, "published")
    return Plan(setting, decoder, _cost(decoder, setting), _cost(published, setting), False)


def _mozo(setting: SynthesisSetting) -> Plan:
    top_k = DPSMOZO.top_k if setting.top_k is None else setting.top_k
    public = DPSMOZO(setting.n_rows, 0.0, top_k=top_k)
    if setting.redraws:
        shape = setting.n_charged, setting.n_rows, setting.n_pool
        beta, order = solve_beta(setting.epsilon, setting.delta, *shape)
        if not beta:
            return Plan(setting, public, 0.0, 0.0, True)
        decoder = DPSMOZO(setting.n_rows, beta=beta, order=order, top_k=top_k, variant="published")
        claim = claimed_epsilon(
            beta, setting.n_rows, setting.n_pool, setting.n_charged, setting.delta, order
        )
        return Plan(setting, decoder, inf, claim, False)
    found = solve_range(setting.epsilon, setting.delta, setting.n_charged)
    decoder = DPSMOZO(setting.n_rows, found, top_k=top_k)
    return Plan(
        setting,
        decoder,
        _cost(decoder, setting) if found else 0.0,
        None if found else 0.0,
        not found,
    )


def _cost(decoder: InvisibleInk | DPSMOZO, setting: SynthesisSetting) -> float:
    return cost(decoder.event(UNIT, RELATION), setting.n_charged, setting.delta)


def reference_batches(
    n_references: int, n_batches: int, size: int | None, default: int | None
) -> Sequence[range]:
    """Disjoint runs of positions, by number only: the first `size` references, the next, and so on.

    Args:
        size: of a run. default: the largest size if there is none; None: no limit.

    Raises:
        ValueError: too few references, or a size below 1.
    """
    check_count("reference_batches", n_batches)
    if not n_references:
        raise ValueError("references must not be empty")
    if n_batches > n_references:
        raise ValueError(
            f"references must be at least one for each of {n_batches} texts, got {n_references}"
        )
    if size is None:
        size = min(default or n_references, n_references // n_batches)
    check_count("batch_size", size)
    if size * n_batches > n_references:
        raise ValueError(
            f"references must be at least {n_batches} reference_batches of {size}, got {n_references}"
        )
    return [range(i * size, (i + 1) * size) for i in range(n_batches)]
