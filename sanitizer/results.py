"""Results of a call, frozen. Private words never appear in a repr."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, field
from html import escape
from math import isfinite
from typing import Any

LONGEST = 200  # characters of a text in a repr

_RECKONS = re.compile(
    r"(?i)\b(?:add(?:s|ed)? up|add(?:ing)? (?:the|these|those|all|them)|average|bigger|biggest|"
    r"budget|discount|interest|rounded|calculat(?:e|es|ing)|cheap(?:er|est)|"
    r"convert(?:s|ed|ing)?\b(?![^.\n]{0,40}\b(?i:bullets?|citation|code|csv|directions|html|json|"
    r"list|markdown|prose|python|string|table|text|typescript|xml|yaml)\b)|"
    r"compar(?:e|es|ing)|comput(?:e|es|ing)|"
    r"costs? (?:more|less|most)|difference between|earns? (?:more|less|most|least)|"
    r"(?:most|less|least|more) expensive|high(?:er|est)|how (?:much|many)|larg(?:er|est)|"
    r"low(?:er|est)|maximum|mean of|median|minimum|normal|(?:lab|blood|test) (?:results?|values?)|"
    r"order(?:ed)? (?:by|from)|percent(?:age)? of|"
    r"divid(?:e|ed|es|ing)|in total|left over|multipl(?:y|ied)|per person|percent|"
    r"rank(?:ed|ing)?|small(?:er|est)|sort(?:s|ed|ing)?|split(?:s|ting)?|subtract|"
    r"sum(?: (?:of|up)|s)?|what(?:['\u2019]s| is) left|"
    r"total(?:s|led)?|(?:more|less) than|work out)\b"
)
_ORDERS_TIME = re.compile(
    r"(?i)\b(?:calculat(?:e|ing)|chronological(?:ly)?|clash(?:es)?|"
    r"(?:over|under|above|below|at least) \d+|day by day|day of the week|"
    r"overlap(?:s|ping)?|earl(?:ier|iest)|"
    r"(?:arrives?|begins?|comes?|ends?|expires?|is due|leaves?|runs? out|starts?) "
    r"(?:first|last|next)|first or last|how (?:long|old|many)|itinerary|latest|soonest|timeline|"
    r"weekday|with (?:the )?dates|"
    r"old(?:er|est)|order(?:ed)? (?:by|from)|sort(?:s|ed|ing)?|"
    r"which (?:is|was|comes) first|young(?:er|est))\b"
)
_ASKS_ABOUT = re.compile(
    r"(?i)\b(?:advice|allowed|can (?:i|he|she|we)|caus(?:e|es|ed)|compatible|dangerous|dose|"
    r"careful|dosage|explain|harm(?:s|ful)?|help with|interact(?:s|ions?)?|mean(?:s|ing)?|"
    r"ok(?:ay)? to|"
    r"safe(?:ly)?|should (?:i|he|she|we)|side effects?|specialist|symptoms?|treat(?:ed|s|ment)?|"
    r"what (?:is|are))\b[^?\n]{0,200}\?"
)
_MATCHES = re.compile(
    r"(?i)\b(?:regex(?:es|p)?|regular expressions?|check digits?|validat(?:e|es|ing|or|ion)|"
    r"(?:id|number|date) formats?|next (?:\w+ )?number|could not convert|invalid literal|"
    r"does not match format|invalid (?:date|number|format|isoformat)|(?:cannot|can't|could not|"
    r"fail(?:s|ed) to|unable to) (?:be )?pars(?:e|ed|ing)|NumberFormatException|"
    r"\w*ParseException|FormatException|pars(?:e|es|ing) (?:this|the) (?:date|number|amount))\b"
)
_WRITTEN = (
    "ID",
    "NUMBER",
    "MONEY",
    "DATE",
    "PHONE",
    "EMAIL",
    "IP",
    "POSTCODE",
    "PLATE",
    "IBAN",
    "TERM",
)
_NAME_PARTS = re.compile(
    r"(?i)\b(?:(?:last|family|first|given|middle)[ _]?names?|surnames?|initials|"
    r"alphabetical(?:ly)?|rhym(?:e|es|ing))\b"
)
_PAPERS = re.compile(
    r"(?i)\b(?:visas?|passports?|residence|permits?|citizenship|nationality|asylum|immigration|"
    r"embassy|consulate|naturali[sz]\w+)\b"
)
_ILLS = ("TREATMENT", "CONDITION")
_CALCULATES = (
    ("amounts", ("MONEY", "NUMBER"), _RECKONS),
    ("dates and ages", ("DATE", "DATE_OF_BIRTH", "NUMBER"), _ORDERS_TIME),
)
"""What an API may be asked to calculate with, its kinds, and the words that ask for it."""
VALUES = frozenset(kind for _, kinds, _ in _CALCULATES for kind in kinds)
"""Kinds of what can be calculated with, or written in another way."""


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
        return {
            k: None if isinstance(v, float) and not isfinite(v) else v
            for k, v in asdict(self).items()
        }


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
class SanitizedText:
    """Released text, what was replaced in it, and the record.

    Attributes:
        text: the released text; it may leave the machine.
        replacements: in order of position; hold the originals, so they stay on the machine.
        record: what ran and what it costs; holds no text.
        warnings: what may be sensitive and leaves all the same; stays on the machine.
        conversation: name of its conversation where it is one of its own: `Sanitizer.restore`
            then needs this result. "": the Sanitizer's.
    """

    text: str
    replacements: tuple[Replacement, ...] = field(repr=False)
    record: Record
    warnings: tuple[FactWarning, ...] = ()
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
        """What the task may miss, told by the released text alone; it stays on the machine.

        An API cannot sort, add or compare what it does not see. Told in English only.

        >>> hidden = Replacement(11, 20, "<MONEY_1>", "MONEY", "42 euros")
        >>> record = None
        >>> SanitizedText("The sum of <MONEY_1> and 3?", (hidden,), record).hints[0][:31]
        'amounts are hidden, and this te'
        """
        kinds, text = {each.kind for each in self.replacements}, _visible(self)
        found = []
        asked = [
            (what, [kind for kind in of if kind in kinds])
            for what, of, pattern in _CALCULATES
            if kinds & set(of) and pattern.search(text)
        ]
        if asked:
            cells = dict.fromkeys(f'{kind} = "pass"' for _, hidden in asked for kind in hidden)
            found.append(
                f"{', '.join(what for what, _ in asked)} are hidden, and this text seems to ask to "
                "sort, add or compare: an API cannot do that; let it write formulas that are "
                "computed here (formulas under [wire]), mark those that may leave with keep= "
                f"(--keep), or set {' and '.join(cells)} under [classes] of a policy file"
            )
        written = [kind for kind in _WRITTEN if kind in kinds]
        if written and _MATCHES.search(text):
            found.append(
                "this text seems to ask about how something is written, which placeholders do not "
                'show; mark an example with keep= (--keep), or set style = "same-form" under '
                "[identifiers] of a policy file"
            )
        if "PERSON" in kinds and _NAME_PARTS.search(text) and "<PERSON_" in self.text:
            found.append(
                "this text seems to ask about parts of names, which placeholders do not show; mark "
                'those that may leave with keep= (--keep), or set names = "natural" under [style] '
                "of a policy file"
            )
        ills = [kind for kind in _ILLS if kind in kinds]
        if ills and _ASKS_ABOUT.search(text):
            passing = " and ".join(f'{kind} = "pass"' for kind in ills)
            found.append(
                "illnesses or medicines are replaced, and this text seems to ask about them: "
                "the answer will be about what stands in their place; mark those that may "
                f"leave with keep= (--keep), or set {passing} under [classes] of a policy file"
            )
        if "ORIGIN" in kinds and _PAPERS.search(text):
            found.append(
                "where somebody comes from is replaced, and this text seems to ask about papers, "
                'which depend on it: mark it with keep= (--keep), or set ORIGIN = "pass" or '
                '"vault" under [classes] of a policy file'
            )
        return tuple(found)

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
            "hints": list(self.hints),
        }


def _visible(result: SanitizedText) -> str:
    """Return what leaves of a text beside its replacements."""
    visible, at = [], 0
    for each in result.replacements:
        visible.append(result.text[at : each.start])
        at = each.end
    return " \0 ".join([*visible, result.text[at:]])
