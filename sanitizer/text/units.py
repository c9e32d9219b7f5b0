"""A text split by a policy: what goes to the vault as a whole, and which words are private.

Identifiers, names, and whatever looks like a released value go to the vault as a whole. `split`
puts the rest of the text to the policy word by word.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

from sanitizer.errors import PolicyError
from sanitizer.identifiers import NameFinder, find, name_finder, same_form
from sanitizer.randomness import Source
from sanitizer.storage import MAX_FORMED, Make, Vault
from sanitizer.text.detector import Detector
from sanitizer.text.policy import Policy, straight
from sanitizer.text.words import (
    Segmented,
    Unit,
    random_number,
    segment,
    segment_taken,
    word_spans,
)

Span = tuple[int, int, str]

_LITERAL = re.compile(r"<[A-Z]+(?:_[A-Z]+)*_[0-9]+>")
_UNFORMED = ("TEXT", "TERM", "NUMBER", "PERSON", "PLACE", "ORGANIZATION")
"""Kinds without a form of which another realistic value could be made."""
_READS = {
    "NUMBER": "two",
    "PERSON": "she",
    "PLACE": "home",
    "ORGANIZATION": "work",
    "TEXT": "it",
    "TERM": "it",
}
"""Kinds whose lower-case name would read oddly in a sentence, and what the model reads instead."""


def split(text: str, policy: Policy, detector: Detector | None = None) -> Segmented:
    """Split a text into public words and private units by a policy.

    Args:
        detector: reads the text where the policy treats classes of what is found.

    Raises:
        PolicyError: the text holds refused words or patterns.
        ModelError: names are wanted, and the model that finds them is missing.

    Example:
        >>> found = split("Mail anna@x.org or Zoltan.", Policy.preset("strict"))
        >>> [(unit.text, unit.kind) for unit in found.units]
        [('Mail', 'word'), ('anna@x.org', 'EMAIL'), ('Zoltan', 'word')]
        >>> found.n_public
        1
    """
    if policy.refuse or policy.refuse_patterns:
        policy.check(text, (text[begin:end] for begin, end in word_spans(text)))
    taken = find_units(text, policy, name_finder(policy.names))
    if detector is not None:
        return _detected(text, policy, taken, detector)
    if policy.all_public:
        return segment_taken(text, taken)
    return segment(text, policy, taken, policy.kinds)


def _detected(text: str, policy: Policy, taken: Sequence[Unit], detector: Detector) -> Segmented:
    """Split a text by what a detector finds in it; the policy decides which classes are hidden."""
    listed = [
        Unit(begin, end, text[begin:end], "TERM", False)
        for begin, end in (word_spans(text) if policy.sensitive or policy.patterns else ())
        if policy.is_sensitive(text[begin:end])
    ]
    if listed:
        spans = [(u.start, u.end, u.kind) for u in taken]
        clear = _clear_of([(u.start, u.end, u.kind) for u in listed], spans)
        taken = [Unit(a, b, text[a:b], kind, False) for a, b, kind in sorted([*spans, *clear])]
    reading = detector.read(text, taken)
    if reading.language is None:
        raise PolicyError(
            f"policy {policy.name!r} knows English, German, French and Spanish, and this text is "
            'in none of them; policy "identifiers" works in any language, without a claim'
        )
    found = [
        Unit(each.start, each.end, text[each.start : each.end], _hidden_kind(each.kind), False)
        for each in reading.findings
        if not _declared(text[each.start : each.end], policy)
        and policy.hides(each.kind, text[each.start : each.end])
    ]
    units = sorted([*taken, *found], key=lambda unit: unit.start)
    split_text = segment_taken(text, units)
    return replace(split_text, facts=reading.facts, language=reading.language)


def _hidden_kind(kind: str) -> str:
    """Return the kind that the placeholder names: a word of a fact is a term like any other."""
    return "TERM" if kind == "FACT" else kind


def _declared(text: str, policy: Policy) -> bool:
    """Return True if the policy file declares every word of a stretch public."""
    return bool(policy.public) and all(
        straight(text[begin:end].lower()) in policy.public for begin, end in word_spans(text)
    )


def find_units(text: str, policy: Policy, names: NameFinder | None) -> list[Unit]:
    """Return the stretches that go to the vault, ascending and never overlapping.

    Where two would overlap, text that looks like a released value comes before identifiers, and
    these come before names.

    Args:
        names: finder of names; None if names stay.
    """
    # Text that looks like a placeholder is hidden too: in an answer it would be restored.
    taken: list[Span] = [(*m.span(), "TEXT") for m in _LITERAL.finditer(text)]
    if policy.identifiers:
        found = [(i.start, i.end, i.kind) for i in find(text, policy.identifiers)]
        taken = sorted([*taken, *_clear_of(found, taken)]) if taken else found
    if names is not None:
        taken = sorted([*taken, *_clear_of(names.find(text), taken)])
    return [Unit(start, end, text[start:end], kind, False) for start, end, kind in taken]


def _clear_of(spans: Iterable[Span], taken: list[Span]) -> Iterator[Span]:
    """Yield the spans that overlap none of those taken; both ascending."""
    i = 0
    for span in spans:
        while i < len(taken) and taken[i][1] <= span[0]:
            i += 1
        if i == len(taken) or span[1] <= taken[i][0]:
            yield span


def maker(style: str, source: Source) -> Make:
    """Return the function that makes released values.

    An original that has no other value of its form, or a number above `MAX_FORMED`, gets a
    placeholder.

    Guarantee: a placeholder tells the kind and a running number only; a value of the same form
    tells its form too.

    Args:
        style: "placeholder" or "same-form".
    """
    if style == "placeholder":
        return _placeholder

    def formed(kind: str, original: str, number: int) -> str:
        if kind not in _UNFORMED and number <= MAX_FORMED:
            with suppress(ValueError):
                return same_form(kind, original, source)
        return _placeholder(kind, original, number)

    return formed


def _placeholder(kind: str, original: str, number: int) -> str:
    return f"<{kind}_{number}>"


def reads_as(kind: str) -> str:
    """Return the word that the model reads in place of an identifier: a constant of its kind.

    Example:
        >>> reads_as("PLACE"), reads_as("EMAIL")
        ('home', 'email')
    """
    return _READS.get(kind, kind.lower())


def stand_ins(
    segmented: Segmented, vault: Vault, conversation: str, style: str, source: Source
) -> list[str | None]:
    """Return the released value of each unit; None for a word that is to be drawn.

    Raises:
        VaultError: the vault is full or cannot be written.
    """
    if not segmented.units:
        return []
    wanted = [(u.kind, u.text) for u in segmented.units if u.kind.isupper()]
    values = iter(vault.substitutes(conversation, wanted, maker(style, source)))
    released: list[str | None] = []
    for unit in segmented.units:
        if unit.kind.isupper():
            released.append(next(values))
        else:
            released.append(random_number(unit.text, source) if unit.kind == "number" else None)
    return released
