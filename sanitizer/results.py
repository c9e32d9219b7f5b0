"""Results of a call, frozen. Private words never appear in a repr."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from html import escape
from math import isfinite
from pathlib import Path
from typing import Any

LONGEST = 200
"""Characters of a text in a repr."""
_LEFT = (
    "leaves as you wrote it, because the request seems to need it: {} (to hide it, take the policy "
    '"guarded", or ask = "hide" under [wire])'
)
VALUES = frozenset("DATE DATE_OF_BIRTH MONEY NUMBER".split())
"""Kinds of what can be calculated with, or written in another way."""


def finite(values: dict[str, Any]) -> dict[str, Any]:
    """Return values with None in place of numbers that JSON does not have."""
    return {k: None if isinstance(v, float) and not isfinite(v) else v for k, v in values.items()}


@dataclass(frozen=True, slots=True)
class Replacement:
    """One replaced stretch of a text.

    Attributes:
        start: first character, as an offset in the SANITIZED text.
        end: offset behind the last character, in the SANITIZED text.
        replacement: the released characters.
        kind: "word", "number", "article" (a/an made to agree with a released word), or, in
            capitals, what it is in the vault, such as "EMAIL" or "NUMBER".
        original: the private characters; never in a repr, and in JSON only on request. "" after
            pickling.
        found: what found it, such as "reader PERSON 0.98" or "pattern EMAIL"; shown where the
            original is.

    >>> Replacement(0, 4, "Anna", "word", "Jane")
    Replacement(start=0, end=4, replacement='Anna', kind='word')
    """

    start: int
    end: int
    replacement: str
    kind: str
    original: str = field(repr=False)
    found: str = field(default="", repr=False, compare=False)

    def __reduce__(self) -> tuple[Any, ...]:
        # A pickle may be stored or sent to other machines, so that it holds no private word.
        return Replacement, (self.start, self.end, self.replacement, self.kind, "")

    def __copy__(self) -> Replacement:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Replacement:
        return self

    def as_dict(self, reveal: bool = False) -> dict[str, Any]:
        """Return plain values for JSON; the original only when `reveal` is true."""
        values = asdict(self)
        if not reveal:
            del values["original"], values["found"]
        return values


@dataclass(frozen=True, slots=True)
class Record:
    """Account of one release: how it was drawn, and what it costs. Epsilons are in nats.

    Attributes:
        mechanism: name of the mechanism.
        variant: "certified" or "published".
        settings: the mechanism's resolved parameters.
        epsilon_per_unit: the bound for one position (certified), or the nominal setting
            (published).
        epsilon_total: the composed bound for the whole text; for published variants the sum of the
            claimed per-unit values.
        delta: of epsilon_total; 0 for pure differential privacy.
        epsilon_at_delta: the smallest bound known for the whole text at `bound_delta`: at most
            `epsilon_total`, and less where many draws are composed. Infinite if not certified.
        bound_delta: delta of `epsilon_at_delta` and `conversation_epsilon_at_delta`.
        charged: what this call cost the budget; 0 if the text had been released before and was only
            repeated.
        epsilon_per_word: bound for one distinct word wherever it occurs.
        max_repeats: how often the most repeated private word occurs in the text.
        unit: what is protected, in words.
        neighboring_relation: when two inputs are neighbours, in words.
        public: what is taken to be public, in words.
        not_protected: what the guarantee does not cover, in words.
        n_units: perturbed words; of things, how many stand-ins were drawn now.
        n_numbers: numbers replaced at random.
        n_identifiers: identifiers and numbers that went to the vault.
        n_public: words released as they are.
        context: what the model read: "released", "original", or "none".
        certified: True if epsilon_per_unit is a theorem about the code that ran.
        reason: why it is not; None if it is.
        claimed_epsilon: the published claim per unit, for published variants.
        policy: name of the policy.
        model_sha256: hash of the model's manifest.
        detector: what read the text to find things: "none" or "local".
        n_things: distinct things that were replaced as a whole, identifiers among them.
        n_drawn: how many of them have a stand-in that was drawn, now or earlier.
        conversation_epsilon: epsilon of all stand-ins drawn in the conversation so far, added up.
        conversation_epsilon_at_delta: the smallest bound known for all of them at `bound_delta`.
        language: language of the text, where a detector read it; None if it is in none with a list.
        declared: how many of the public words the caller or the policy declared public as part of
            a template, phrase or role.
        left: classes of what left as it is, in order, because the request needs it.
        asked: what an answer to the text asked for: "released CONDITION" or "refused CONDITION".
    """

    mechanism: str
    variant: str
    settings: dict[str, Any] = field(hash=False)  # a dict has none
    epsilon_per_unit: float
    epsilon_total: float
    delta: float
    charged: float
    epsilon_per_word: float
    max_repeats: int
    unit: str
    neighboring_relation: str
    public: str
    not_protected: str
    n_units: int
    n_numbers: int
    n_identifiers: int
    n_public: int
    context: str
    certified: bool
    reason: str | None
    claimed_epsilon: float | None
    policy: str
    model_sha256: str
    detector: str = "none"
    n_things: int = 0
    n_drawn: int = 0
    conversation_epsilon: float = 0.0
    language: str | None = None
    declared: int = 0
    epsilon_at_delta: float = 0.0
    bound_delta: float = 0.0
    conversation_epsilon_at_delta: float = 0.0
    left: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Record({self.summary()})"

    def _repr_html_(self) -> str:
        return f"<small>{escape(self.summary())}</small>"

    def summary(self) -> str:
        """Return what was done and what it costs, in one line without text of the prompt."""
        made = "certified" if self.certified else "NOT certified"
        if self.detector == "none" and self.mechanism == "none":
            made = "no differential privacy"
        n = self.n_things if self.detector != "none" else self.n_units + self.n_identifiers
        return (
            f"policy {self.policy}, {n} replaced, epsilon {self.charged:g} charged, "
            f"{self.epsilon_total:g} in all, {made}"
        )

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, which has no infinity: such a bound becomes None."""
        return finite(asdict(self))


@dataclass(frozen=True, slots=True)
class FactWarning:
    """A stretch of the text that may be sensitive although nothing in it was replaced for it.

    Attributes:
        start, end: character offsets in the ORIGINAL text.
        kind: "fact", a sensitive fact told in everyday words.
    """

    start: int
    end: int
    kind: str = "fact"


@dataclass(frozen=True, slots=True)
class Left:
    """A stretch of the text that the policy would hide, and that leaves as it is.

    Attributes:
        start, end: character offsets in the ORIGINAL text. kind: its class.
        why: "needed", the request seems to need it.
    """

    start: int
    end: int
    kind: str
    why: str = "needed"


@dataclass(frozen=True, slots=True)
class SanitizedText:
    """Released text, what was replaced in it, and the record.

    Attributes:
        text: the released text; it may leave the machine.
        replacements: in order of position; hold the originals, so they stay on the machine.
        record: what ran and what it costs; holds no text.
        warnings: what may be sensitive and leaves all the same; stays on the machine.
        left: what leaves because the request needs it; stays on the machine.
        conversation: name of its conversation where it is one of its own: `Sanitizer.restore`
            then needs this result. "": the Sanitizer's.
    """

    text: str
    replacements: tuple[Replacement, ...] = field(repr=False)
    record: Record
    warnings: tuple[FactWarning, ...] = ()
    left: tuple[Left, ...] = ()
    conversation: str = field(default="", compare=False)

    @property
    def covered(self) -> list[tuple[int, int]]:
        """Stretches of the original that are replaced, ascending: (start, end)."""
        found, at, gap = [], 0, 0
        for each in self.replacements:
            start = at + each.start - gap
            at, gap = start + len(each.original), each.end
            found.append((start, at))
        return found

    def explain(self) -> str:
        """Return a line for each replacement: what stands for what, and what found it.

        It holds the originals, and so it stays on the machine.
        """
        return "\n".join(
            f"{each.replacement}\t{each.original}\t{each.kind}\t{each.found or 'drawn'}"
            for each in self.replacements
        )

    @property
    def hints(self) -> tuple[str, ...]:
        """What the task may miss, told by the released text alone, and what was left for it.

        They stay on the machine. An API cannot sort, add or compare what it does not see. Told in
        English only.

        >>> hidden = Replacement(11, 20, "<MONEY_1>", "MONEY", "42 euros")
        >>> record = None
        >>> SanitizedText("The sum of <MONEY_1> and 3?", (hidden,), record).hints[0][:31]
        'amounts are hidden, and this te'
        """
        kinds, text = {each.kind for each in self.replacements}, _visible(self)
        found: dict[str, tuple[list[str], list[str]]] = {}
        for hint in _hints():
            hidden = [kind for kind in hint["kinds"] if kind in kinds]
            shown = hint.get("shows", "") in self.text
            if hidden and shown and re.search(hint["pattern"], text):
                what, passing = found.setdefault(hint["says"], ([], []))
                what.append(hint.get("what", ""))
                passing += [f'{kind} = "pass"' for kind in hidden]
        left = [_LEFT.format(", ".join(dict.fromkeys(each.kind for each in self.left)))]
        missed = [
            says.replace("{what}", ", ".join(what)).replace(
                "{pass}", " and ".join(dict.fromkeys(passing))
            )
            for says, (what, passing) in found.items()
        ]
        return (*(left if self.left else ()), *missed)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        text = self.text if len(self.text) <= LONGEST else f"{self.text[: LONGEST - 3]}..."
        return f"SanitizedText({text!r}, {self.record!r})"

    def _repr_html_(self) -> str:
        """Return the released text for a notebook, what was replaced in it marked; no originals."""
        shown, at = [], 0
        for each in self.replacements:
            shown += [
                escape(self.text[at : each.start]),
                f"<mark>{escape(each.replacement)}</mark>",
            ]
            at = each.end
        shown.append(escape(self.text[at:]))
        text = "".join(shown)
        return f'<div style="white-space: pre-wrap">{text}</div>{self.record._repr_html_()}'

    def as_dict(self, reveal: bool = False) -> dict[str, Any]:
        """Return plain values for JSON; originals only when `reveal` is true."""
        return {
            "text": self.text,
            "replacements": [each.as_dict(reveal) for each in self.replacements],
            "record": self.record.as_dict(),
            "warnings": [asdict(each) for each in self.warnings],
            "left": [asdict(each) for each in self.left],
            "hints": list(self.hints),
        }


def _visible(result: SanitizedText) -> str:
    """Return what leaves of a text beside its replacements."""
    visible, at = [], 0
    for each in result.replacements:
        visible.append(result.text[at : each.start])
        at = each.end
    return " \0 ".join([*visible, result.text[at:]])


@cache
def _hints() -> list[dict[str, Any]]:
    """Return the rows of hints.toml, each with the pattern of all that asks."""
    rows: list[dict[str, Any]]
    rows = tomllib.loads(Path(__file__).with_name("hints.toml").read_text("utf-8"))["hint"]
    for row in rows:
        row["pattern"] = rf"(?i)\b(?:{'|'.join(row['asks'])})\b{row.get('then', '')}"
    return rows


def things_of(results: Sequence[SanitizedText]) -> set[tuple[str, str]]:
    """Return (class, replacement) of the different things that were replaced."""
    return {(each.kind, each.replacement) for result in results for each in result.replacements}


def joined_record(results: Sequence[SanitizedText]) -> Record:
    """Return one record for texts that were sanitized together, its counts and costs added up."""
    records = [result.record for result in results]
    if len(records) == 1:
        return records[0]
    sums = "n_units n_numbers n_identifiers n_public charged epsilon_total".split()
    sums += ["epsilon_at_delta", "bound_delta"]
    largest = ["epsilon_per_word", "conversation_epsilon", "conversation_epsilon_at_delta"]
    figures = {
        name: joined(getattr(record, name) for record in records)
        for joined, names in ((sum, sums), (max, largest))
        for name in names
    }
    most = max(records, key=lambda record: (record.epsilon_per_unit, record.n_drawn))
    return replace(
        most,
        **figures,
        n_things=len(things_of(results)),
        certified=all(record.certified for record in records),
        reason=next((record.reason for record in records if record.reason), None),
    )
