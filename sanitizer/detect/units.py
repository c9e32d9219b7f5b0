"""A text split by a policy: what goes to the vault as a whole, and which words are private.

Identifiers, names, and whatever looks like a released value go to the vault as a whole. `split`
puts the rest of the text to the policy word by word.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from sanitizer.detect.classes import (
    MOST_WORDS,
    adjective_of,
    concept_of,
    gazetteers,
    is_adjective,
    listed_in,
    may_be_phrase,
    may_name,
    told_in,
)
from sanitizer.detect.detector import Detector
from sanitizer.detect.extents import Finding
from sanitizer.detect.skeleton import FOREIGN, public_forms
from sanitizer.detect.surroundings import is_treated, with_name
from sanitizer.errors import PolicyError
from sanitizer.identifiers import KINDS, find
from sanitizer.storage import same_thing
from sanitizer.text import (
    CLASSES,
    Article,
    Piece,
    Policy,
    Segmented,
    Unit,
    form_for,
    kept_phrases,
    merged,
    outside,
    overlapping,
    segment,
    segment_taken,
    straight,
    stretches,
    without_clitic,
    word_spans,
)

Span = tuple[int, int, str]
Offsets = Sequence[tuple[int, int]]
_NUMBERED = re.compile(r"(?<!\w)type (?:(?:[12]|i{1,2}|one|two)[ -])?\Z", re.I)
_LETTER = re.compile(r"[ -][a-z](?!\w)")
_BY_ROLE = frozenset(["NUMBER", "DATE", "MONEY"])
Known = Callable[[Collection[str]], Mapping[str, str]]
"""Function: forms -> the class of those that are things of the conversation already."""
_NAMED = frozenset(["PERSON", "ORGANIZATION", "PLACE", "PRODUCT"])
_TOLD = frozenset(
    ["CONDITION", "BELIEF", "ORIGIN", "CRIME", "SEXUALITY", "TREATMENT", "OCCUPATION", "TERM"]
)
"""Classes whose findings may hold a name that is listed, of the same class or another."""
_ARTICLE = re.compile(r"(?<!\w)(an?) \Z", re.I)
_LEAST_MEANT = 8
"""Letters of the shortest illness that a name in lower case may be, with a typing error."""
_OPENS = re.compile(r"(?:\A|[.!?\u2026][\"')\]]*\s+|\n\s*)[\"'(*_]*\Z")

_KINDS = "|".join(
    kind.replace("_", r"\\?_") for kind in sorted({*CLASSES, *KINDS, "TEXT"}, key=len, reverse=True)
)
_NAME = rf"(?:{_KINDS})(?:\\?_[0-9]+){{1,3}}"
SPELLED = re.compile(
    rf"(?i:<{_NAME}>|\\<{_NAME}\\>|&lt;{_NAME}&gt;|%3C{_NAME}%3E|"
    rf"&#(?:0{{0,5}}60|x0{{0,5}}3c);{_NAME}&#(?:0{{0,5}}62|x0{{0,5}}3e);)|\[{_NAME}\]|\\\[{_NAME}\\\]"
)
"""A placeholder of a known kind as an API may spell it: escaped, in brackets, in lower case."""
_LITERAL = re.compile(rf"<[A-Z]+(?:_[A-Z]+)*(?:_[0-9]+){{1,3}}>|{SPELLED.pattern}")
_LITERAL_IN_CODE = re.compile(
    rf"{_LITERAL.pattern}|"
    rf"(?<![^\W_])(?:{'|'.join([*CLASSES, *KINDS, 'TEXT'])})(?:_[0-9]+)+(?![^\W_])"
)
"""The same, and as placeholders are written in code."""
_OPENING_TAG = re.compile(r"(?:<|&lt;|%3C|\\\[|&#(?:0{0,5}60|x0{0,5}3c);)\Z", re.I)
_CLOSING_TAG = re.compile(r"\\?>|&gt;|%3E|\\\]|&#(?:0{0,5}62|x0{0,5}3e);", re.I)
_READS = {
    "NUMBER": "two",
    "PERSON": "she",
    "PLACE": "home",
    "ORGANIZATION": "work",
    "TEXT": "it",
    "TERM": "it",
}
"""Kinds whose lower-case name would read oddly in a sentence, and what the model reads instead."""
_NAMES = ("PERSON", "PLACE", "ORGANIZATION")


def split(
    text: str,
    policy: Policy,
    detector: Detector | None = None,
    declared: Offsets = (),
    keep: tuple[str, ...] = (),
    known: Known = lambda forms: {},
    identifiers: Sequence[Span] = (),
) -> Segmented:
    """Split a text into public words and private units by a policy.

    Args:
        detector: reads the text where the policy treats classes of what is found.
        declared: stretches that the caller declares public, ascending, apart from each other.
        keep: phrases that the caller declares public wherever they occur as whole words.
        known: what is a thing of the conversation already, wherever it stands.
        identifiers: (start, end, kind) of what is known to be one, ascending, apart.

    Raises:
        PolicyError: the text holds refused words or patterns.
        ModelError: a model failed.

    Example:
        >>> found = split("Mail anna@x.org or Zoltan.", Policy.preset("strict"))
        >>> [(unit.text, unit.kind) for unit in found.units]
        [('Mail', 'word'), ('anna@x.org', 'EMAIL'), ('Zoltan', 'word')]
        >>> found.n_public
        1
    """
    if policy.refuses:
        policy.check(text, (text[begin:end] for begin, end in word_spans(text)))
    spans = _hidden_spans(text, policy)
    if identifiers:
        spans = sorted([*spans, *_clear_of(identifiers, spans)])
    declared = _with_phrases(text, policy, spans, declared, keep)
    taken = _cut(text, policy, spans, declared)
    if detector is not None:
        return _detected(text, policy, taken, detector, declared, known)
    if policy.all_public:
        return segment_taken(text, taken, declared)
    found = segment(text, policy, taken, policy.kinds, declared)
    return found if policy.perturb else replace(found, articles=())


def _with_phrases(
    text: str, policy: Policy, spans: list[Span], declared: Offsets, keep: tuple[str, ...]
) -> Offsets:
    """Return the declared stretches and those that hold a declared phrase.

    A phrase inside an identifier is no whole phrase, and one that holds a word that the policy
    lists as sensitive is hidden.
    """
    phrases = [*policy.public_phrases.spans(text), *kept_phrases(keep).spans(text)]
    shown = [span for span in phrases if _may_pass(text, policy, spans, *span)]
    return merged([*declared, *shown]) if shown else declared


def _may_pass(text: str, policy: Policy, spans: list[Span], start: int, end: int) -> bool:
    """Return True if a declared phrase may leave at this place."""
    for begin, stop, kind in overlapping(spans, start, end):
        part = begin < start or stop > end
        if kind == "TERM" or (part and kind not in _NAMES):
            return False
    phrase = text[start:end]
    return not any(policy.is_sensitive(phrase[a:b]) for a, b in word_spans(phrase))


def _cut(text: str, policy: Policy, spans: Iterable[Span], declared: Offsets) -> list[Unit]:
    """Return what is hidden as a whole; of what reaches into declared text, the rest is hidden."""
    if not declared:
        return [Unit(start, end, text[start:end], kind, False) for start, end, kind in spans]
    units: list[Unit] = []
    for start, end, kind in spans:
        if not overlapping(declared, start, end):
            units.append(Unit(start, end, text[start:end], kind, False))
            continue
        for begin, stop in _parts(text, declared, start, end):
            part = text[begin:stop]
            units.append(Unit(begin, stop, part, _kind_of(part, policy, kind), False))
    return units


def _parts(text: str, spans: Offsets, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the parts of a stretch outside of ascending spans, if they hold a word, trimmed."""
    for begin, stop in outside(spans, start, end):
        part = text[begin:stop]
        if any(word_spans(part)):
            at = begin + len(part) - len(part.lstrip())
            yield at, at + len(part.strip())


def _kind_of(part: str, policy: Policy, kind: str) -> str:
    """Return the kind of a part of an identifier: its own if it is one by itself."""
    alone = [i.kind for i in find(part, policy.identifiers) if (i.start, i.end) == (0, len(part))]
    return alone[0] if alone else kind


def _detected(
    text: str,
    policy: Policy,
    taken: list[Unit],
    detector: Detector,
    declared: Offsets,
    known: Known,
) -> Segmented:
    """Split a text by what a detector finds in it; the policy decides which classes are hidden."""
    if declared and not any(not shown for *_, shown in stretches(text, (), declared)):
        return segment_taken(text, taken, declared)  # nothing is left to be read
    if policy.sensitive or policy.patterns:
        listed = [
            Unit(begin, end, text[begin:end], "TERM", False)
            for begin, end, unit, shown in stretches(text, taken, declared)
            if unit is None and not shown and policy.is_sensitive(text[begin:end])
        ]
        taken = sorted([*taken, *listed], key=lambda unit: unit.start)
    reading = detector.read(text, taken, declared)
    if reading.language is None:
        raise PolicyError(
            f'policy "{policy.name}" knows English, German, French and Spanish, and this text is '
            'in none of them; policy "identifiers" works in any language, without a claim'
        )
    names = {text[start:end] for start, end in reading.code}  # shown elsewhere: one name stays one
    found = [
        unit
        for each in reading.findings
        if not _listed_public(text[each.start : each.end], policy)
        and text[each.start : each.end] not in names
        and (unit := _unit(text, each, policy)) is not None
    ]
    found = _apart(text, found)
    clear = merged([*((unit.start, unit.end) for unit in taken), *declared, *reading.code])
    words = [
        (low + a, low + b)
        for low, high in outside(clear, 0, len(text))
        for a, b in word_spans(text[low:high])
    ]
    found = _Linked(text, found, reading.everyday, words, known, policy).units()
    units = sorted([*taken, *found], key=lambda unit: unit.start)
    units = _with_literals(text, units, declared)
    units = _in_code(text, units, reading.pieces)
    split_text = segment_taken(text, units, declared)
    articles = _articles(text, units, declared)
    return replace(split_text, articles=articles, facts=reading.facts, language=reading.language)


def _apart(text: str, units: Iterable[Unit]) -> list[Unit]:
    """Return units that share no character: one may have taken in words of its neighbours.

    A unit that another takes in whole goes; of one that reaches into the unit before, the rest
    stays.
    """
    kept: list[Unit] = []
    for unit in units:
        while kept and unit.start <= kept[-1].start:
            kept.pop()
        start = max(unit.start, kept[-1].end if kept else 0)
        rest = text[start : unit.end].lstrip() if start > unit.start else unit.text
        if rest:
            kept.append(replace(unit, start=unit.end - len(rest), text=rest))
    return kept


def _unit(text: str, finding: Finding, policy: Policy) -> Unit | None:
    """Return the unit of a finding, None if the policy lets it pass.

    Of a class that is drawn it is the listed name inside, if what is left are everyday words; if
    none is listed, it is drawn no more than other things are.
    """
    start, end, kind = finding.start, finding.end, _hidden_kind(finding.kind)
    if kind in _NAMED:
        kind = adjective_of(text[start:end]) or _meant(text[start:end]) or kind
    listed = None
    if kind in _TOLD:
        numbered = _NUMBERED.search(text, max(0, start - 9), start)
        if kind == "CONDITION" and numbered is not None:
            start = numbered.start()
        listed = listed_in(text, start, _with_letter(text, end), kind)
    if listed is not None and kind == "TREATMENT" and is_treated(text, listed.end):
        listed = None
    if listed is not None:
        end = max(end, listed.end)
        rest = [text[a:b] for a, b in _parts(text, [listed[:2]], start, end)]
        words = [part[a:b] for part in rest for a, b in word_spans(part)]
        if not policy.drawn:
            end = finding.end
        elif not all(map(public_forms().listed, words)):
            listed = None
        elif policy.treatments.get(listed.kind) == "draw":
            kind = listed.kind
            start, end = with_name(text, kind, listed.start, listed.end, start, end)
    written = text[start:end]
    if (
        policy.treatments.get(kind, "pass") == "pass"
        and listed is None
        and _unlisted(written, kind)
    ):
        kind = "TERM"
    if not policy.hides(kind, written):
        return None
    if listed is None or kind not in policy.drawn or is_adjective(text[slice(*listed[:2])]):
        return Unit(start, end, written, kind, False)
    opens = _OPENS.search(text[max(0, start - 8) : start]) is not None
    return Unit(start, end, written, kind, opens, concept=listed.concept)


def _meant(written: str) -> str | None:
    """Return CONDITION if what was read as a name is a listed illness with a typing error.

    Names have capitals: only what is written without one, "hepatits C", is looked up, and no short
    word: a host is called "hermes".
    """
    long = len(written) >= _LEAST_MEANT and written[0].islower()
    return "CONDITION" if long and concept_of("CONDITION", written) else None


def _unlisted(written: str, kind: str) -> bool:
    """Return True if a word with a capital is on no list: it may be a name, whatever else.

    Figures of sums, dates and quantities are no names: what may pass passes.
    """
    by_role = kind in _BY_ROLE
    words = [written[a:b] for a, b in word_spans(written)]
    forms, names = public_forms(), gazetteers()
    return any(
        not (
            word.islower()
            or (by_role and _is_figure(word))
            or forms.listed(without_clitic(word))
            or names.kind_of(word)
            or any(told_in(each).get(word.lower()) == kind for each in FOREIGN)  # German nouns
        )
        for word in words
    )


def _is_figure(word: str) -> bool:
    return any(map(str.isdigit, word)) and not any(map(str.isalpha, word))


def _with_letter(text: str, end: int) -> int:
    """Return the end of a visible single letter after a finding: the "c" of "hep c"."""
    letter = _LETTER.match(text, end)
    return letter.end() if letter else end


_OTHER_NAMES = frozenset(["ORGANIZATION", "PLACE", "PRODUCT"])


class _Linked:
    """Links the places of a text to its things and to those of the conversation.

    A thing is hidden wherever it stands, whatever a single place looks like; one of several words
    wherever they all stand, if one of them is not visible. Numbers are things by their role, and
    not linked. The first class found holds: "HCV" may be read as a name beside "hepatitis C".

    Args:
        units: what was found. passing: hidden words that would pass, as offsets.
        words: of the text, where nothing was taken or declared.
    """

    def __init__(
        self,
        text: str,
        units: Sequence[Unit],
        passing: Offsets,
        words: Sequence[tuple[int, int]],
        known: Known,
        policy: Policy,
    ) -> None:
        self._text, self._units, self._policy = text, units, policy
        self._places = [(unit.start, unit.end, unit) for unit in units]
        self._runs = sorted(self._around(passing, words), key=lambda run: (run[0], -run[1]))
        forms = {text[begin:end] for begin, end in self._runs}
        self._concepts = _concepts_of(forms, policy)
        self._concepts |= {unit.text: (unit.concept, unit.kind) for unit in units if unit.concept}
        things = [unit for unit in units if unit.kind not in _BY_ROLE]
        self._here = {same_thing(unit.text): unit.kind for unit in reversed(things)}
        self._here |= {
            word: unit.kind
            for unit in things
            if unit.kind == "PERSON" and " " in unit.text
            for word in unit.text.split()
            if word[:1].isupper()
        }
        self._drawn = {unit.concept.lower(): unit.kind for unit in reversed(things) if unit.concept}
        keys = {concept.lower() for concept, _ in self._concepts.values()}
        self._table = known(forms | keys) if forms else {}

    def units(self) -> list[Unit]:
        """Return all units, in order: those found, and in place of some those of known things."""
        linked: list[Unit] = []
        for begin, end in self._runs:
            if not (linked and begin < linked[-1].end):
                unit = self._unit(begin, end)
                linked += [] if unit is None else [unit]
        spans = [(unit.start, unit.end) for unit in linked]
        kept = [unit for unit in self._units if not overlapping(spans, unit.start, unit.end)]
        return sorted([*kept, *linked], key=lambda unit: unit.start)

    def _around(
        self, passing: Offsets, words: Sequence[tuple[int, int]]
    ) -> Iterator[tuple[int, int]]:
        """Yield the runs of words, with one that is hidden or would pass, that may be things."""
        numbers = {begin: number for number, (begin, _) in enumerate(words)}
        wholes = [(unit.start, unit.end) for unit in self._units]
        found = {*passing, *wholes}  # "Lund" of "Lund's" is no word of its own
        for begin, _ in [*passing, *wholes]:
            at = numbers.get(begin, len(words))
            found.update(
                (words[first][0], words[last][1])
                for first in range(max(0, at - MOST_WORDS + 1), at + 1)
                for last in range(at, min(first + MOST_WORDS, len(words)))
            )
        for begin, end in found:
            cut = any(low < begin or end < high for low, high in overlapping(wholes, begin, end))
            if not cut and may_be_phrase(self._text[begin:end]):
                yield begin, end

    def _unit(self, begin: int, end: int) -> Unit | None:
        """Return the unit of a run of words that is a thing; None if there is none to add."""
        form = self._text[begin:end]
        concept, own_class = self._concepts.get(form, ("", ""))
        inside = [unit for *_, unit in overlapping(self._places, begin, end)]
        kind = self._kind(form, concept)
        if kind is None and any(unit.kind == own_class for unit in inside):
            kind = own_class  # a part of its name was found
        if kind is None or kind in _BY_ROLE or _listed_public(form, self._policy):
            return None
        concept = concept if kind in self._policy.drawn else ""
        alone = len(inside) == 1 and inside[0].text == form
        # "Lund" after "Peter Lund", though this place reads like a firm's or a town's.
        part = alone and kind == "PERSON" and inside[0].kind in _OTHER_NAMES and " " not in form
        if alone and not part and not (concept and inside[0].kind != kind):
            return None
        # "sick" is a word of every text, even if one place tells of an illness.
        if not concept and kind not in _NAMED and public_forms().listed(form):
            return None
        opens = _OPENS.search(self._text[max(0, begin - 8) : begin]) is not None
        concept = "" if is_adjective(form) else concept
        return Unit(begin, end, form, kind, bool(concept) and opens, concept=concept)

    def _kind(self, form: str, concept: str) -> str | None:
        """Return the class of a thing, None for what is none yet; of a drawn one its own."""
        key = concept.lower()
        drawn = self._table.get(key) or self._drawn.get(key)
        if drawn in self._policy.drawn:
            return drawn
        return (
            self._table.get(form)
            or self._here.get(same_thing(form))
            or self._here.get(form)  # a part of a name, written as it is there
            or drawn
        )


def _concepts_of(forms: Iterable[str], policy: Policy) -> dict[str, tuple[str, str]]:
    """Return form -> the member that it names, and its class, of those that are drawn."""
    listed = [form for form in forms if may_name(form)]
    return {
        form: (concept, kind)
        for form in listed
        for kind in sorted(policy.drawn, reverse=True)
        if (concept := concept_of(kind, form, typed=False)) is not None
    }


def _articles(text: str, units: Sequence[Unit], declared: Offsets) -> tuple[Article, ...]:
    """Return the visible articles directly before units that are drawn."""
    found = []
    for number, unit in enumerate(units):
        before = _ARTICLE.search(text, max(0, unit.start - 4), unit.start)
        if unit.concept and before is not None:
            start, end = before.span(1)
            if not overlapping(declared, start, end):
                found.append(Article(start, end, number))
    return tuple(found)


_OF_WORDS = frozenset(
    "PERSON ORGANIZATION PLACE PRODUCT HOST KEY EMAIL URL LINK TERM OCCUPATION".split()
)
"""Classes of what is no number, date or truth value."""


def _in_code(text: str, units: Sequence[Unit], parts: Sequence[Piece]) -> list[Unit]:
    """Return the units with the form that their placeholders have where code must still parse."""
    code = [(piece.start, piece.end, piece) for piece in parts] if units else []
    if not code:
        return list(units)
    placed: list[Unit] = []
    begins, ends = {unit.start for unit in units}, {unit.end for unit in units}
    for unit in units:
        # A bare name that touches a word, or another thing, could not be told from it again.
        touched = (unit.start in ends or text[unit.start - 1 : unit.start].isalnum()) or (
            unit.end in begins or text[unit.end : unit.end + 1].isalnum()
        )
        around = overlapping(code, unit.start, unit.end)
        piece = around[0][2] if around else None
        written = form_for("X", 1, piece)
        if piece is not None and piece.language == "toml" and unit.kind in _OF_WORDS:
            written = f"<{unit.kind}>"  # no value of TOML is a bare word: this is an INI file
        if piece is not None and written.startswith('"'):
            start, end = min(unit.start, piece.start), max(unit.end, piece.end)
            if placed and placed[-1].end > start:
                continue  # a number of several runs is one unit
            whole = replace(unit, start=start, end=end, text=text[start:end], form="quoted")
            placed.append(whole)
            continue
        # "<h1>" must not become "<TERM_1>", which is a placeholder itself, nor escaped.
        tag = _OPENING_TAG.search(text[max(0, unit.start - 11) : unit.start]) and (
            _CLOSING_TAG.match(text, unit.end)
        )
        bare = "tag" if tag else "bare"
        placed.append(replace(unit, form="prose" if touched or "<" in written else bare))
    return placed


def _with_literals(text: str, units: list[Unit], declared: Offsets) -> list[Unit]:
    """Return the units, and what reads as a placeholder once the units beside it are replaced.

    In "KEY_1ghp_..." the key hides the letters that make "KEY_1" a part of a longer word.
    """
    ends = [0, *(unit.end for unit in units)]
    begins = [*(unit.start for unit in units), len(text)]
    found = [
        Unit(start + m.start(), start + m.end(), m.group(), "TEXT", False)
        for start, end in zip(ends, begins, strict=True)
        if start < end and "_" in (between := text[start:end])
        for m in _LITERAL_IN_CODE.finditer(between)
        if not overlapping(declared, start + m.start(), start + m.end())
    ]
    return sorted([*units, *found], key=lambda unit: unit.start) if found else units


def _hidden_kind(kind: str) -> str:
    """Return the kind that the placeholder names: a word of a fact is a term like any other."""
    return "TERM" if kind == "FACT" else kind


def _listed_public(text: str, policy: Policy) -> bool:
    """Return True if the policy file lists every word of a stretch as public."""
    return bool(policy.public) and all(
        straight(text[begin:end].lower()) in policy.public for begin, end in word_spans(text)
    )


def find_units(text: str, policy: Policy, declared: Offsets = ()) -> list[Unit]:
    """Return the stretches that go to the vault, ascending and never overlapping.

    Where two would overlap, text that looks like a released value comes before identifiers; what is
    left of a listed phrase is hidden too. None overlaps declared text.

    Args:
        declared: stretches that are public, ascending, apart from each other.
    """
    return _cut(text, policy, _hidden_spans(text, policy), declared)


def _hidden_spans(text: str, policy: Policy) -> list[Span]:
    """Return what goes to the vault if nothing is declared, ascending and never overlapping."""
    # Text that looks like a placeholder is hidden too: in an answer it would be restored.
    literal = _LITERAL if policy.detector == "none" else _LITERAL_IN_CODE
    taken: list[Span] = [(*m.span(), "TEXT") for m in literal.finditer(text)]
    if policy.identifiers:
        found = [(i.start, i.end, i.kind) for i in find(text, policy.identifiers)]
        taken = sorted([*taken, *_clear_of(found, taken)]) if taken else found
    if listed := policy.terms.spans(text):
        places = [(start, end) for start, end, _ in taken]
        rest = [(*part, "TERM") for span in listed for part in _parts(text, places, *span)]
        taken = sorted([*taken, *rest])
    return taken


def _clear_of(spans: Iterable[Span], taken: list[Span]) -> Iterator[Span]:
    """Yield the spans that overlap none of those taken; both ascending."""
    i = 0
    for span in spans:
        while i < len(taken) and taken[i][1] <= span[0]:
            i += 1
        if i == len(taken) or span[1] <= taken[i][0]:
            yield span


def reads_as(kind: str) -> str:
    """Return the word that the model reads in place of an identifier: a constant of its kind.

    Example:
        >>> reads_as("PLACE"), reads_as("EMAIL")
        ('home', 'email')
    """
    return _READS.get(kind, kind.lower())
