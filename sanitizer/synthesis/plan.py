"""What one synthesis is: its record, its prompts, and the decoder that its budget allows.

Records state the terms of the guarantee in words. Prompts are templates with fields: the public
prompt, and the same with one reference in it. A plan is the decoder with the largest signal that
the budget allows, and what its tokens cost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import inf
from pathlib import Path
from string import Formatter
from typing import Any, Protocol, TypedDict

from sanitizer.lm.causal import OnnxCausalLM
from sanitizer.lm.tokens import ByteTokens, ChatFormat
from sanitizer.privacy.dps_mozo import DPSMOZO, claimed_epsilon, solve_beta, solve_range
from sanitizer.privacy.invisibleink import InvisibleInk, solve_clip_norm
from sanitizer.privacy.next_token import cost
from sanitizer.privacy.weights import VARIANTS, check_count, check_number, check_one_of
from sanitizer.randomness import SYSTEM_RANDOM, Source
from sanitizer.results import finite
from sanitizer.storage.ledger import Ledger, Scope

UNIT = "one reference document"
RELATION = "replace-by-null"
NEIGHBOURS = (
    "replace-by-null: lists of references that differ in one, which stands in its place in one "
    "list and counts as missing in the other; exchanging it for another document takes two such "
    "steps"
)
PUBLIC = (
    "the query and the template, the settings, how many references there are and their order, and "
    "which text reads which: {rule}"
)
NOT_PROTECTED = (
    "what several references say together (a person with n of them has n times less protection, or "
    "worse), how long the computation takes, and that the model failed on a reference, which an "
    "error tells"
)
FELL_BACK = "epsilon is too small for these settings: no reference was read, and nothing is charged"


@dataclass(frozen=True, slots=True)
class SynthesisRecord:
    """What was released, and what that costs. Holds no text. Epsilons are in nats.

    Attributes:
        method, variant: as for `synthesize`.
        settings: the resolved parameters, all public.
        unit: whose data the guarantee protects, in words.
        relation: which inputs are neighbours, in words.
        public: what is not protected because it is taken to be known, in words.
        not_protected: what the guarantee does not cover, in words.
        epsilon: the bound for one unit, over everything this record covers; infinite if there is
            none.
        delta: of all epsilons here.
        claimed_epsilon: by the accounting of the paper, for the same settings; None if it says
            nothing.
        certified: True if `epsilon` is a theorem about the code that ran.
        reason: why it is not certified; None if it is.
        charged: what a budget pays for everything this record covers: `epsilon`, or if that is
            infinite the claim.
        n_references: how many were read for this text, or set of outputs.
        max_tokens: of one text, paid for in full.
        n_charged: tokens that one unit pays for, of all texts that read it.
        fell_back: True if epsilon was too small, so that no reference was read.
        note: says so; None otherwise.
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
        """Return plain values for JSON; a bound that is not finite becomes None."""
        return finite(asdict(self))


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
        """Return plain values for JSON."""
        return {"text": str(self), "record": self.record.as_dict()}


SYSTEM_PROMPT = "You write texts."
TEMPLATE = "{query}\n\nHere is an example:\n\n{reference}\n\nWrite a new text of the same kind."
DEMONSTRATION = "Input: {input}\nOutput: {output}"

Reference = str | Mapping[str, str]


class Prompts(Protocol):
    """The prompts of one text: a public one, and one with each reference."""

    public: list[int]
    """The prompt without any reference; it is also read in place of one replaced by null."""
    n_public: int
    """Number of tokens of the longest prompt, its reference not counted."""
    beginning: list[int]
    """First tokens of every private prompt, the same for all references."""
    end: frozenset[int]
    """Tokens that end the text."""

    def private(self, reference: Reference, limit: int) -> list[int]:
        """Return the prompt with the first tokens of one reference, `limit` at most."""


@dataclass(frozen=True)
class Template:
    """Text with fields in braces; literal braces are doubled, as in str.format.

    Attributes:
        parts: (text, name of the field after it, or None at the end) in order.

    >>> Template.parse("{{x}} {a} and {b}.").filled({"a": "1", "b": "2"})
    '{x} 1 and 2.'
    """

    parts: tuple[tuple[str, str | None], ...]

    @classmethod
    def parse(cls, text: str) -> Template:
        """Parse a template; refuse unpaired braces, and fields that are not plain names."""
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
        """Names of the fields, in order."""
        return [name for _, name in self.parts if name is not None]

    def filled(self, values: Mapping[str, str]) -> str:
        """Return the text with its fields replaced."""
        return "".join(
            text + (values[name] if name is not None else "") for text, name in self.parts
        )

    def around(self, field: str) -> tuple[Template, Template]:
        """Return the template before a field, and the one after it."""
        at = next(i for i, (_, name) in enumerate(self.parts) if name == field)
        before = (*self.parts[:at], (self.parts[at][0], None))
        return Template(before), Template(self.parts[at + 1 :])


class DocumentPrompts:
    """Prompts for whole documents: they ask the query, with a document as an example of the answer.

    The template is of the message with a document; it may have the field {query}, and has
    {reference} once. None is `TEMPLATE`.
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
        if (count := parsed.fields.count("reference")) != 1:
            raise ValueError(f"template must have {{reference}} once, got it {count} times")
        before, after = parsed.around("reference")
        self._tokens = tokens
        self._format = ChatFormat(tokens)
        self._before = tokens.encode(before.filled({"query": query}))
        self._after = tokens.encode(after.filled({"query": query}))
        self.public = self._format.prompt(query, SYSTEM_PROMPT)
        self.end = self._format.end
        self.n_public = max(len(self.public), len(self.private("", 0)))
        self.beginning = self._format.beginning(self._before, SYSTEM_PROMPT)

    def private(self, reference: Reference, limit: int) -> list[int]:
        document = self._tokens.encode(str(reference))[:limit]
        return self._format.chat([[*self._before, *document, *self._after]], SYSTEM_PROMPT)


class ShotPrompts:
    """Prompts for demonstrations: one as an earlier turn of the chat, then the query's own turn.

    The template is of a demonstration, `DEMONSTRATION` if None. Its last field is the one to be
    generated; the query has the values of the others, or the value, if there is only one.
    """

    def __init__(self, query: Reference, template: str | None, tokens: ByteTokens) -> None:
        parsed = Template.parse(DEMONSTRATION if template is None else template)
        self.fields = parsed.fields
        if len(self.fields) < 2 or len(set(self.fields)) < len(self.fields):
            got = ", ".join(self.fields) or "none"
            raise ValueError(f"template must have two or more fields, each once, got {got}")
        self._asking, self._closing = parsed.around(self.fields[-1])
        self._tokens = tokens
        self._format = ChatFormat(tokens)
        if isinstance(query, str) and len(self.fields) == 2:
            query = {self.fields[0]: query}
        if isinstance(query, Mapping) and (unknown := sorted(set(query) - set(self.fields[:-1]))):
            raise ValueError(
                f"query may have the fields {', '.join(self.fields[:-1])}, got {', '.join(unknown)}"
            )
        self._query = self._asked(_checked("query", query, self.fields[:-1]))
        self.public = self._after([])
        self.end = self._format.end
        self.n_public = len(self._after([[], []]))
        self.beginning = self._format.beginning([], SYSTEM_PROMPT)

    def private(self, reference: Reference, limit: int) -> list[int]:
        # The input is cut before the output is, which keeps at least half of the limit.
        values = _checked("references", reference, self.fields)
        shown = self._asked(values)
        output = self._tokens.encode(values[self.fields[-1]] + self._closing.filled({}))
        output = output[: max(limit - len(shown), limit // 2)]
        return self._after([shown[: limit - len(output)], output])

    def _after(self, example: Sequence[list[int]]) -> list[int]:
        """Return the query after a worked example, its input and output, as tokens."""
        return self._format.chat([*example, self._query], SYSTEM_PROMPT)

    def _asked(self, values: Mapping[str, str]) -> list[int]:
        return self._tokens.encode(self._asking.filled(values).rstrip())


def check_references(references: Sequence[Reference]) -> None:
    """Raise TypeError unless all references are strings, or all are mappings."""
    kinds = {
        str if isinstance(r, str) else Mapping if isinstance(r, Mapping) else type(r)
        for r in references
    }
    if len(kinds) > 1 or not kinds <= {str, Mapping}:
        got = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise TypeError(f"references must all be str, or all mappings, got {got}")


def prompts_for(
    references: Sequence[Reference], query: Reference, template: str | None, tokens: ByteTokens
) -> Prompts:
    """Return prompts for documents if the references are strings, else for demonstrations."""
    kind = DocumentPrompts if isinstance(references[0], str) else ShotPrompts
    return kind(query, template, tokens)


def _checked(what: str, values: Reference, fields: Sequence[str]) -> Mapping[str, str]:
    """Return `values` if it has these fields, as strings; messages show no value."""
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
"""Defaults of invisibleink. The papers' temperatures of 1.0 to 1.2 are for large models; from the
packaged one they draw too much nonsense.
"""


class OptionKeywords(TypedDict, total=False):
    """Types of the fields of `SynthesisOptions` as keyword arguments, for type checkers."""

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


@dataclass(frozen=True, kw_only=True)
class SynthesisOptions:
    """Keyword arguments of `synthesize` and similar functions, with their defaults; see there."""

    epsilon: float = 10.0
    delta: float = 1e-6
    method: str = "invisibleink"
    variant: str = "certified"
    max_tokens: int = 64
    temperature: float | None = None
    top_k: int | None = None
    batch_size: int | None = None
    n_shots: int | None = None
    n_queries: int = 1
    template: str | None = None
    max_reference_tokens: int | None = None
    model: OnnxCausalLM | Path | None = None
    ledger: Ledger | None = None
    scopes: Iterable[Scope] = ()
    progress: bool = False
    on_token: Callable[[int], None] | None = None
    source: Source = SYSTEM_RANDOM

    @classmethod
    def of(cls, function: str, keywords: OptionKeywords) -> SynthesisOptions:
        """Take a function's keyword arguments apart; refuse unknown ones, as Python does."""
        for name in keywords:
            if name not in cls.__dataclass_fields__:
                raise TypeError(f"{function}() got an unexpected keyword argument {name!r}")
        return cls(**keywords)

    @property
    def redraws(self) -> bool:
        """True if the references read are drawn anew for each token."""
        return (self.method, self.variant) == ("dps-mozo", "published")


@dataclass(frozen=True)
class SynthesisSetting:
    """One synthesis as planned: the options, and public numbers that follow from them.

    Attributes:
        n_rows: references read at each token.
        n_pool: references from which they come.
        n_charged: tokens, of all texts, that one reference pays for.
    """

    options: SynthesisOptions
    n_rows: int
    n_pool: int
    n_charged: int

    def __post_init__(self) -> None:
        options = self.options
        check_number("epsilon", options.epsilon, 0.0)
        check_number("delta", options.delta, 0.0, 1.0 - 1e-12)
        check_one_of("method", options.method, METHODS)
        check_one_of("variant", options.variant, VARIANTS)
        if options.method == "dps-mozo" and options.temperature is not None:
            raise ValueError(
                f"temperature belongs to invisibleink, not to dps-mozo, got {options.temperature!r}"
            )


@dataclass(frozen=True)
class Plan:
    """A decoder and its price.

    Attributes:
        epsilon: of one unit; inf if no bound is known.
        claimed: as the paper counts; None if it says nothing.
        public_only: True if no reference is read.
    """

    setting: SynthesisSetting
    decoder: InvisibleInk | DPSMOZO
    epsilon: float
    claimed: float | None
    public_only: bool

    @property
    def charged(self) -> float:
        """Epsilon that a budget pays: the bound, or if there is none the claim."""
        return self.epsilon if self.epsilon < inf else self.claimed or 0.0

    def record(
        self, rule: str, extra: dict[str, Any], n_tokens: int, model_sha256: str
    ) -> SynthesisRecord:
        """Return the record of one text.

        Args:
            rule: which text reads which references, in words.
            extra: settings besides the decoder's.
        """
        setting, options = self.setting, self.setting.options
        return SynthesisRecord(
            method=options.method,
            variant=options.variant,
            settings=self.decoder.settings() | extra,
            unit=UNIT,
            relation=NEIGHBOURS,
            public=PUBLIC.format(rule=rule),
            not_protected=NOT_PROTECTED,
            epsilon=self.epsilon,
            delta=options.delta,
            claimed_epsilon=self.claimed,
            certified=self.decoder.reason is None,
            reason=self.decoder.reason,
            charged=self.charged,
            n_references=0 if self.public_only else setting.n_pool,
            max_tokens=options.max_tokens,
            n_charged=0 if self.public_only else setting.n_charged,
            n_tokens=n_tokens,
            fell_back=self.public_only,
            note=FELL_BACK if self.public_only else None,
            model_sha256=model_sha256,
        )


def plan(setting: SynthesisSetting) -> Plan:
    """Choose the decoder with the largest signal that the budget allows.

    >>> setting = SynthesisSetting(SynthesisOptions(), n_rows=8, n_pool=8, n_charged=64)
    >>> 9.9 < plan(setting).epsilon <= 10.0
    True
    """
    return _ink(setting) if setting.options.method == "invisibleink" else _mozo(setting)


def _ink(setting: SynthesisSetting) -> Plan:
    """Plan InvisibleInk: the largest clip norm that the budget allows."""
    options = setting.options
    temperature = TEMPERATURE if options.temperature is None else options.temperature
    top_k = TOP_K if options.top_k is None else options.top_k
    shape: tuple[int, float] = setting.n_rows, temperature
    found = solve_clip_norm(
        options.epsilon, options.delta, setting.n_charged, *shape, options.variant
    )
    decoder = InvisibleInk(found, *shape, top_k, options.variant)
    if decoder.public_only:
        return Plan(setting, decoder, 0.0, 0.0, True)
    published = InvisibleInk(found, *shape, top_k, "published")
    return Plan(setting, decoder, _cost(decoder, setting), _cost(published, setting), False)


def _mozo(setting: SynthesisSetting) -> Plan:
    """Plan DPS-MOZO: the widest range, or for the published variant the largest beta."""
    options, n_rows, n_charged = setting.options, setting.n_rows, setting.n_charged
    top_k = DPSMOZO.top_k if options.top_k is None else options.top_k
    public = Plan(setting, DPSMOZO(n_rows, 0.0, top_k=top_k), 0.0, 0.0, True)
    budget = options.epsilon, options.delta
    if not options.redraws:
        found = solve_range(*budget, n_charged)
        decoder = DPSMOZO(n_rows, found, top_k=top_k)
        return Plan(setting, decoder, _cost(decoder, setting), None, False) if found else public
    beta, order = solve_beta(*budget, n_charged, n_rows, setting.n_pool)
    if not beta:
        return public
    claim = claimed_epsilon(beta, n_rows, setting.n_pool, n_charged, options.delta, order)
    decoder = DPSMOZO(n_rows, beta=beta, order=order, top_k=top_k, variant="published")
    return Plan(setting, decoder, inf, claim, False)


def _cost(decoder: InvisibleInk | DPSMOZO, setting: SynthesisSetting) -> float:
    """Return epsilon of all tokens that one reference pays for."""
    return cost(decoder.event(UNIT, RELATION), setting.n_charged, setting.options.delta)


def reference_batches(
    n_references: int, n_batches: int, size: int | None, default: int | None
) -> Sequence[range]:
    """Return disjoint runs of positions: the first `size` references, the next, and so on.

    Args:
        size: of a run; None: as large as possible, up to `default`, if that is not None.

    >>> reference_batches(7, 3, None, 8)
    [range(0, 2), range(2, 4), range(4, 6)]
    """
    check_count("batches", n_batches)
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
            f"references must be at least {n_batches} batches of {size}, got {n_references}"
        )
    return [range(i * size, (i + 1) * size) for i in range(n_batches)]
