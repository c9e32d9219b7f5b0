"""A text before it is read, and what a policy makes of it afterwards.

Identifiers, listed phrases, and whatever looks like a released value go to the vault as a whole.
The policy decides what becomes of the entities that a detector finds in the rest; without one it
decides word by word.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from sanitizer.detect.classes import OPENS, Known, Linked, concept_of, is_adjective, listed_public
from sanitizer.detect.detector import FACT, UNKNOWN, Detector, Finding, Reading
from sanitizer.errors import PolicyError
from sanitizer.identifiers.networks import has_top_level
from sanitizer.identifiers.rows import KINDS
from sanitizer.text.encoded import encoded
from sanitizer.text.layout import ROW, Layout, records
from sanitizer.text.policy import CLASSES, Policy
from sanitizer.text.prompt import kept_phrases, merged
from sanitizer.text.syntax import Piece, form_for, pieces
from sanitizer.text.words import (
    Article,
    Segmented,
    Unit,
    outside,
    overlapping,
    segment,
    segment_taken,
    stretches,
    word_spans,
)

Span = tuple[int, int, str]
Offsets = Sequence[tuple[int, int]]
_ARTICLE = re.compile(r"(?<!\w)(an?) \Z", re.I)

_KINDS = "|".join(
    kind.replace("_", r"\\?_") for kind in sorted({*CLASSES, *KINDS, "TEXT"}, key=len, reverse=True)
)
_NAME = rf"(?:{_KINDS})(?:\\?_[0-9]+){{1,3}}(?::[a-z]{{4,8}})?"
SPELLED = re.compile(
    rf"(?i:<{_NAME}>|\\<{_NAME}\\>|&lt;{_NAME}&gt;|%3C{_NAME}%3E|"
    rf"&#(?:0{{0,5}}60|x0{{0,5}}3c);{_NAME}&#(?:0{{0,5}}62|x0{{0,5}}3e);)|\[{_NAME}\]|\\\[{_NAME}\\\]"
)
"""A placeholder of a known kind as an API may spell it: escaped, in brackets, in lower case."""
_LITERAL = re.compile(
    rf"<[A-Z]+(?:_[A-Z]+)*(?:_[0-9]+){{1,3}}(?::[a-z]{{4,8}})?>|{SPELLED.pattern}"
)
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
_PROGRAMS = ("python", "javascript", "other")
"""Languages whose strings and comments speak of their names."""
_BEHIND, _BEFORE = re.compile(r"[\s,;|\[\]]*"), re.compile(r"[\s,;|\[\]]*\Z")
"""What stands around rows of data and belongs to them."""
_DEEPEST = 3
"""How often what is encoded is decoded: what is encoded once more is hidden as a key would be."""
_OF_MACHINES = frozenset("IP MAC HOST URL LINK KEY DEVICE ENCODED COORDINATES TEXT TERM".split())
"""Kinds that tell of nobody in whose row they stand."""


@dataclass(frozen=True, slots=True)
class Document:
    """A text before it is read.

    Attributes:
        text: all of it. declared: stretches that are public, as offsets. taken: what is hidden as a
            whole: identifiers, listed phrases, what reads as a released value. Both ascending,
            apart from each other. is_read: a detector reads the rest. asks: it says of each thing
            too whether the request needs it. layout: how its lines are read, if not as
            they are written.
    """

    text: str = field(repr=False)
    declared: Offsets
    taken: tuple[Unit, ...]
    is_read: bool
    asks: bool = False
    layout: Layout | None = None

    @property
    def spans(self) -> list[Span]:
        """What is hidden as a whole, as offsets with kinds."""
        return [(unit.start, unit.end, unit.kind) for unit in self.taken]


def document(
    text: str,
    policy: Policy,
    declared: Offsets = (),
    keep: tuple[str, ...] = (),
    identifiers: Sequence[Span] = (),
    detector: Detector | None = None,
    owner: str = "",
    asks: bool = False,
    depth: int = 0,
) -> Document:
    """Find what is hidden or shown in a text whatever it says.

    Args:
        declared: stretches that the caller declares public, ascending, apart from each other.
        keep: phrases that the caller declares public wherever they occur as whole words.
        identifiers: (start, end, kind) of what is known to be one, ascending, apart.
        detector: remembers what was found. owner: for whom, apart from all others.
        asks: a person wrote the text, and the policy lets leave what the request needs.
        depth: how often the text was encoded.

    Raises:
        PolicyError: the text holds refused words or patterns.
    """
    if policy.refuses:
        policy.check(text, [text[begin:end] for begin, end in word_spans(text)])
    layout = Layout.of(text) if policy.rows else None
    if detector is None:
        spans = _hidden_spans(text, policy, layout)
    else:

        def find() -> list[Span]:
            found = _hidden_spans(text, policy, layout)
            if layout is not None and depth < _DEEPEST:
                return _with_encoded(found, layout, policy, detector, depth)
            return found

        spans = detector.once(find, "spans", owner, text, policy.digest)
    if identifiers:
        spans = sorted([*spans, *_clear_of(identifiers, spans)])
    if layout is not None:
        spans = [(*part, k) for a, b, k in spans for part in _parts(text, layout.margins, a, b)]
    # A phrase inside an identifier is no whole phrase, and one that holds a word that the policy
    # lists as sensitive is hidden.
    phrases = [*policy.public_phrases.spans(text), *kept_phrases(keep).spans(text)]
    if shown := [span for span in phrases if _may_pass(text, policy, spans, *span)]:
        declared = merged([*declared, *shown])
    taken = _cut(text, policy, spans, declared)
    all_declared = declared and all(shown for *_, shown in stretches(text, (), declared))
    is_read = detector is not None and not all_declared
    if is_read and policy.lists_words:
        listed = [
            Unit(begin, end, text[begin:end], "TERM", False, found=_source("TERM"))
            for begin, end, unit, shown in stretches(text, taken, declared)
            if unit is None and not shown and policy.is_sensitive(text[begin:end])
        ]
        taken = sorted([*taken, *listed], key=lambda unit: unit.start)
    return Document(text, declared, tuple(taken), is_read, asks and is_read, layout)


def _with_encoded(
    spans: list[Span], layout: Layout, policy: Policy, detector: Detector, depth: int
) -> list[Span]:
    """Return the spans, with encoded stretches that hold something private or cannot be read."""
    found = [
        part
        for layer in layout.layers
        for start, end, said in encoded(layer.text)
        if said is None or _is_private(said, policy, detector, depth + 1)
        for part in layer.placed(start, end)
    ]
    wholes = merged(
        [*found, *(s[:2] for s in spans if found and overlapping(merged(found), *s[:2]))]
    )
    return sorted(
        [*(s for s in spans if not overlapping(wholes, *s[:2])), *((*w, "ENCODED") for w in wholes)]
    )


def _is_private(text: str, policy: Policy, detector: Detector, depth: int) -> bool:
    """Return True if something of a text that was encoded would be hidden."""
    found = document(text, policy, detector=detector, depth=depth)
    read = read_apart(found, policy, detector)
    return bool(found.taken or segmented(found, policy, read, lambda forms: {}).units)


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
    units: list[Unit] = []
    for start, end, kind in spans:
        if not overlapping(declared, start, end):
            units.append(Unit(start, end, text[start:end], kind, False, found=_source(kind)))
            continue
        for begin, stop in _parts(text, declared, start, end):
            part = text[begin:stop]
            # Its kind is its own if the part is an identifier by itself.
            alone = (i.kind for i in policy.find_identifiers(part) if i.text == part)
            own = next(alone, kind)
            units.append(Unit(begin, stop, part, own, False, found=_source(own)))
    return units


def _source(kind: str) -> str:
    """Return in words what found a stretch that was taken before the text was read."""
    named = {"TEXT": "reads as a stand-in", "TERM": "policy"}
    return named.get(kind, f"pattern {kind}")


def _parts(text: str, spans: Offsets, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the parts of a stretch outside of ascending spans, if they hold a word, trimmed."""
    for begin, stop in outside(spans, start, end):
        part = text[begin:stop]
        if any(word_spans(part)):
            at = begin + len(part) - len(part.lstrip())
            yield at, at + len(part.strip())


def segmented(
    document: Document, policy: Policy, reading: Reading | None, known: Known
) -> Segmented:
    """Split a text by its policy into what is public and what is private.

    Args:
        reading: what a detector found in it; None where none reads it. known: what is a thing of
            the conversation already, wherever it stands.

    Raises:
        PolicyError: the policy refuses what was found.
    """
    text, declared = document.text, document.declared
    taken = list(document.taken)
    if reading is None:
        taken = _in_json(text, taken)
        if policy.all_public:
            return segment_taken(text, taken, declared)
        found = segment(text, policy, taken, policy.kinds, declared)
        return found if policy.perturb else replace(found, articles=())
    if reading.language is None and policy.refuse_unlisted:
        raise PolicyError(
            f"policy {policy.name!r} refuses texts in a language without a list of words"
        )
    names = {text[start:end] for start, end in reading.code}  # shown elsewhere: one name stays one
    spoken = _spoken_of(text, reading, policy) if policy.rows else ()
    rows = _records(document, policy, reading) if policy.rows else ()
    units = [
        unit
        for each in reading.findings
        if not (policy.public and listed_public(text[each.start : each.end], policy))
        and text[each.start : each.end] not in names
        and (each.start, each.end) not in spoken
        and (unit := _unit(text, each, policy, bool(overlapping(rows, each.start, each.end))))
    ]
    if policy.rows and (hosts := _hosts(document, reading)):
        taken = sorted([*taken, *hosts], key=lambda unit: unit.start)
        wholes = [(unit.start, unit.end) for unit in hosts]
        units = [unit for unit in units if not overlapping(wholes, unit.start, unit.end)]
    clear = merged([*((unit.start, unit.end) for unit in taken), *declared, *reading.code])
    words = [(a, b) for a, b, _, shown in stretches(text, (), clear) if not shown]
    passing = [*reading.everyday]
    if policy.rows:  # what is not sure here may be a thing of the conversation
        starts = {unit.start for unit in units}
        passing += [(each.start, each.end) for each in reading.findings if each.start not in starts]
    units = Linked(text, units, sorted(passing), words, known, policy).units()
    units = sorted([*taken, *units], key=lambda unit: unit.start)
    units = _with_literals(text, units, declared)
    units = _in_code(text, units, reading.pieces)
    split_text = segment_taken(text, units, declared)
    passes = not policy.hides(FACT, "")
    facts = tuple((f.start, f.end) for f in reading.findings if passes and f.kind == FACT)
    articles = _articles(text, units, declared)
    return replace(split_text, articles=articles, facts=facts, language=reading.language)


def _spoken_of(text: str, reading: Reading, policy: Policy) -> set[tuple[int, int]]:
    """Return findings that are names of the code around them, and pass there: "Mark all"."""
    code = [(p.start, p.end, p.role) for p in reading.pieces if p.language in _PROGRAMS]
    sure = [f[:2] for f in reading.findings if policy.hides(f.kind, text[f[0] : f[1]], f.usual)]
    own = {text[a:b] for a, b, role in code if role == "name" and not overlapping(sure, a, b)}
    return {(a, b) for a, b in sure if text[a:b].lower() in own and overlapping(code, a, b)}


_BEFORE_VALUE, _AFTER_VALUE = re.compile(r"[:\[,]\s*-?\Z"), re.compile(r"\s*[,\]}]")


def _in_json(text: str, units: list[Unit]) -> list[Unit]:
    """Return the units; numbers of JSON have the form of a string, so that it still parses."""
    if not any(
        unit.text[:1].isdecimal()
        and _AFTER_VALUE.match(text, unit.end)
        and _BEFORE_VALUE.search(text, max(0, unit.start - 8), unit.start)
        for unit in units
    ):
        return units
    numbers = [p for p in pieces(text) if (p.role, p.language) == ("number", "json")]
    return _in_code(text, units, numbers)


def _hosts(document: Document, reading: Reading) -> list[Unit]:
    """Return the hosts of which the detector takes a part for private, each as a whole."""
    sure = [(f.start, f.end) for f in reading.findings if f.usual >= _SURE_HOST]
    return [
        Unit(*match.span(), match[0], "HOST", False, found="reader HOST")
        for match in _HOST.finditer(document.text)
        if has_top_level(match[0])
        and overlapping(sure, *match.span())
        and not overlapping(document.spans, *match.span())
        and not overlapping(document.declared, *match.span())
    ]


def _records(document: Document, policy: Policy, reading: Reading) -> Offsets:
    """Return the rows of data in which a name surely stands, or an identifier of no machine."""
    found = [unit.start for unit in document.taken if unit.kind not in _OF_MACHINES]
    text = document.text
    found += [f.start for f in reading.findings if policy.hides(f.kind, text[f[0] : f[1]], f.usual)]
    assert document.layout is not None, "it goes with rows"
    rows: list[tuple[int, int]] = []
    for layer in document.layout.layers:
        places = [(p, layer.within(p.start), layer.within(p.end - 1)) for p in reading.pieces]
        parts = [
            replace(piece, start=start, end=end + 1)
            for piece, start, end in places
            if start is not None and end is not None
        ]
        told = [at for each in found if (at := layer.within(each)) is not None]
        begins = {layer.text.rfind("\n", 0, at) + 1 for at in told}
        tables = [(part.start, part.end) for part in parts if part.language == "csv"]
        lines = (m.span() for m in ROW.finditer(layer.text) if m.start() in begins)
        alone = [line for line in lines if not overlapping(tables, *line)]
        for row in (*records(layer.text, parts, told), *alone):
            rows += layer.placed(*row)
    return merged(rows)


def read_apart(document: Document, policy: Policy, detector: Detector) -> Reading:
    """Return what a detector finds in a text: outside of its rows of data, it is read without them.

    Beside a table of people the number of a process looks like one of theirs. Raises ModelError.
    """
    text, layout, others = document.text, document.layout, (policy.thresholds, document.asks)
    found = detector.read(text, document.taken, document.declared, *others, layout)
    if layout is None or not (rows := _records(document, policy, found)):
        return found
    blocks = [span for span in merged([*rows, *layout.margins]) if overlapping(rows, *span)]
    edges = [(_BEFORE.search(text, max(0, a - 40), a), _BEHIND.match(text, b)) for a, b in blocks]
    wide = merged((one.start(), two.end()) for one, two in edges if one and two)
    escapes = (*layout.escapes, *((a, b, "\n" * (a > 0)) for a, b in wide))
    taken = [unit for unit in document.taken if not overlapping(rows, unit.start, unit.end)]
    apart = detector.read(text, taken, document.declared, *others, replace(layout, escapes=escapes))
    inside = [each for each in found.findings if overlapping(rows, each.start, each.end)]
    passing = [span for span in found.everyday if overlapping(rows, *span)]
    both = sorted([*inside, *apart.findings]), sorted([*passing, *apart.everyday])
    return replace(found, findings=tuple(both[0]), everyday=tuple(both[1]))


def _unit(text: str, finding: Finding, policy: Policy, in_row: bool) -> Unit | None:
    """Return the unit of a finding, None if the policy lets it pass."""
    start, end, kind = finding.start, finding.end, finding.kind
    written = text[start:end]
    if not policy.hides(kind, written, finding.usual, in_row):
        return None
    is_part = kind == "ID" and "_" in (text[start - 1 : start], text[end : end + 1])
    is_made = kind in ("ID", "PRODUCT", *_NAMES) and _MACHINE_MADE.fullmatch(written)
    if policy.rows and not in_row and (is_part or is_made):
        return None
    opens = OPENS.search(text[max(0, start - 8) : start]) is not None
    source = f"reader {kind} {finding.score:.2f}"
    needed = finding.needed and kind in policy.left
    concept = concept_of(kind, written) if kind in policy.listed else None
    if concept is None or is_adjective(written):
        kind = UNKNOWN if kind == FACT else kind
        return Unit(start, end, written, kind, False, "prose", "", source, needed, finding.age)
    return Unit(start, end, written, kind, opens, "prose", concept, source, needed)


def _articles(text: str, units: Sequence[Unit], declared: Offsets) -> tuple[Article, ...]:
    """Return the visible articles directly before units that may be drawn."""
    found = []
    for number, unit in enumerate(units):
        before = _ARTICLE.search(text, max(0, unit.start - 4), unit.start)
        if unit.concept and before is not None:
            start, end = before.span(1)
            if not overlapping(declared, start, end):
                found.append(Article(start, end, number))
    return tuple(found)


_HOST = re.compile(
    r"(?<![\w@.$-])(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.){2,8}[a-z]{2,24}(?![\w(-])"
)
_SURE_HOST = 0.5
"""Least share of a part of a host's name: three labels and a domain say already what it is."""
_MACHINE_MADE = re.compile(
    r"(?=[0-9]*[a-f])[0-9a-f]{6,64}|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
    r"|v?[0-9]+(?:\.[0-9]+)+(?:[-+.]\w+)*|v[0-9]+"
)
"""Hashes and other numbers that a machine drew, of commits, layers, requests; and versions."""
_OF_TOML = re.compile(
    r"[-+]?(?:[0-9][0-9_]*(?:\.[0-9][0-9_]*)?(?:[eE][-+]?[0-9]+)?|0[xob]\w+|inf|nan)|true|false"
    r"|(?:[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[Tt ]|\Z))?(?:[0-9]{2}:[0-9]{2}:[0-9]{2}.*)?"
)
"""A bare value of TOML: numbers, truth values, dates and times."""


def _in_code(text: str, units: Sequence[Unit], parts: Sequence[Piece]) -> list[Unit]:
    """Return the units with the form that their placeholders have where code must still parse."""
    code = [(piece.start, piece.end, piece) for piece in parts] if units else []
    if not code:
        return list(units)
    placed: list[Unit] = []
    begins, ends = {unit.start for unit in units}, {unit.end for unit in units}
    for found in units:
        unit, around = found, overlapping(code, found.start, found.end)
        piece = around[0][2] if around else None
        is_value = piece is not None and (piece.role, piece.language) == ("number", "toml")
        if piece and is_value and not _OF_TOML.fullmatch(text[piece.start : piece.end]):
            piece = replace(piece, role="string")  # this is an INI file
        if piece is not None and piece.role == "number":
            start, end = min(unit.start, piece.start), max(unit.end, piece.end)
            if placed and placed[-1].end > start:
                continue  # a number of several runs is one unit
            unit = replace(unit, start=start, end=end, text=text[start:end])
        # A bare name that touches a word, or another thing, could not be told from it again.
        touched = (unit.start in ends or text[unit.start - 1 : unit.start].isalnum()) or (
            unit.end in begins or text[unit.end : unit.end + 1].isalnum()
        )
        written = form_for("X", 1, piece)
        # "<h1>" must not become "<TERM_1>", which is a placeholder itself, nor escaped.
        tag = _OPENING_TAG.search(text[max(0, unit.start - 11) : unit.start]) and (
            _CLOSING_TAG.match(text, unit.end)
        )
        form = "prose" if touched or "<" in written else "tag" if tag else "bare"
        placed.append(replace(unit, form="quoted" if written.startswith('"') else form))
    return placed


def _with_literals(text: str, units: list[Unit], declared: Offsets) -> list[Unit]:
    """Return the units, and what reads as a placeholder once the units beside it are replaced.

    In "KEY_1ghp_..." the key hides the letters that make "KEY_1" a part of a longer word.
    """
    ends = [0, *(unit.end for unit in units)]
    begins = [*(unit.start for unit in units), len(text)]
    found = [
        Unit(start + m.start(), start + m.end(), m.group(), "TEXT", False, found=_source("TEXT"))
        for start, end in zip(ends, begins, strict=True)
        if start < end and "_" in (between := text[start:end])
        for m in _LITERAL_IN_CODE.finditer(between)
        if not (declared and overlapping(declared, start + m.start(), start + m.end()))
    ]
    return sorted([*units, *found], key=lambda unit: unit.start) if found else units


def _hidden_spans(text: str, policy: Policy, layout: Layout | None) -> list[Span]:
    """Return what goes to the vault if nothing is declared, ascending and never overlapping."""
    # Text that looks like a placeholder is hidden too: in an answer it would be restored.
    literal = _LITERAL if policy.detector == "none" else _LITERAL_IN_CODE
    taken: list[Span] = [(*m.span(), "TEXT") for m in literal.finditer(text)]
    if policy.identifiers:
        found = (
            [(i.start, i.end, i.kind) for i in policy.find_identifiers(text)]
            if not layout
            else [
                (*part, each.kind)
                for layer in layout.layers
                for each in policy.find_identifiers(layer.text)
                for start, end in layer.placed(each.start, each.end)
                for part in _parts(text, (), start, end)
            ]
        )
        found.sort()
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

    >>> reads_as("PLACE"), reads_as("EMAIL")
    ('home', 'email')
    """
    return _READS.get(kind, kind.lower())
