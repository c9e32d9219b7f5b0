"""What a setting hides of labelled texts, and what it changes beside.

A word is a run of letters and digits; in scripts without blanks each character is one. What counts
of a span are its hidden words: those that the detector's view does not show
(`sanitizer.detect.view`), or all of them if the view shows all. A span is hidden whole if each of
these words lies inside something that was replaced, and touched if a part of one does.
"""

from __future__ import annotations

import re
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any, NamedTuple

from sanitizer.detect.view import has_no_blanks, opened
from sanitizer.errors import PolicyError
from sanitizer.identifiers.search import find
from sanitizer.pipeline.sanitizer import Sanitizer
from sanitizer.progress import progress_bar
from sanitizer.randomness import SYSTEM_RANDOM, Source
from sanitizer.risk.labelled import LabelledText
from sanitizer.storage.vault import MemoryVault
from sanitizer.text.words import overlapping

FAMILIES = {
    "names": frozenset("PERSON ORGANIZATION PLACE PRODUCT".split()),
    "numbers": frozenset("MONEY DATE NUMBER ID".split()),
    "attributes": frozenset(
        "CONDITION TREATMENT BELIEF ORIGIN SEXUALITY CRIME OCCUPATION FAMILY".split()
    ),
    "identifiers": frozenset(["IDENTIFIER"]),
    "facts": frozenset(["FACT"]),
}
"""Family of private spans -> its classes."""
ALL_BUT_FACTS = "all but facts"
TOLD = "facts, hidden or warned about"
TASKS = "task words kept"
OTHERS = "other words changed"
BESIDE = "visible words beside a span changed"
UNTOUCHED = "texts with nothing private changed"
_GROUPS = (*list(FAMILIES)[:-1], ALL_BUT_FACTS, "facts")
MEASURES = (
    *(f"{name}, {how}" for name in _GROUPS for how in ("whole", "touched")),
    *(TOLD, TASKS, OTHERS, BESIDE, UNTOUCHED),
)
"""What is counted, in the order of tables; beside these `CLASS, whole` and `CLASS, touched`."""
WARMING = "Mail ada@example.org about Quorn, 12 May."
"""What is treated once before times are taken."""
_WORD = re.compile(r"[^\W_]+")
_PLACEHOLDER = re.compile(r"<?[A-Z_]+(?:_\d+)+>?")
Place = tuple[int, int]
Share = tuple[int, int]
"""How many of how many."""
Counts = Mapping[str, Share]


class Stretch(NamedTuple):
    """A replaced stretch of the original text, as offsets, and what took its place."""

    start: int
    end: int
    released: str


@dataclass(frozen=True)
class Treated:
    """What was done to one text: what was replaced, ascending, and what was warned about."""

    stretches: tuple[Stretch, ...] = field(repr=False)
    seconds: float
    warned: tuple[Place, ...] = ()


@dataclass(frozen=True)
class Evaluation:
    """What a setting did to labelled texts; it holds no text.

    Attributes:
        policy: its name. detector_sha256: digest of the model that read the texts; "" for none.
        n_texts: texts that count. n_refused: texts that the policy refused.
        milliseconds: median of a text.
        counts: measure -> how many of how many. languages, origins: the same of each one.
    """

    policy: str
    detector_sha256: str
    n_texts: int
    n_refused: int
    milliseconds: float
    counts: Counts
    languages: Mapping[str, Counts]
    origins: Mapping[str, Counts]

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return asdict(self)


def evaluate(
    sanitizer: Sanitizer,
    texts: Sequence[LabelledText],
    *,
    progress: bool = False,
    source: Source = SYSTEM_RANDOM,
) -> Evaluation:
    """Measure what a setting hides of labelled texts, and what it changes beside.

    Each text is a conversation of its own. Nothing is released, and nothing is charged.

    Args:
        sanitizer: its budget, ledger and memory are left alone.
        source: of the draws; replace it in tests only.

    Raises:
        ValueError: no texts, or all of them were refused.
        ModelError: as `Sanitizer.sanitize`.

    >>> from sanitizer.risk.labelled import LabelledText, LabelledSpan
    >>> text = LabelledText("Mail anna@example.org", (LabelledSpan(5, 21, "IDENTIFIER"),))
    >>> found = evaluate(Sanitizer(policy="identifiers"), [text])
    >>> found.counts["identifiers, whole"], found.counts["other words changed"]
    ((1, 1), (0, 1))
    """
    kinds = sanitizer.policy.identifiers
    treat(sanitizer, WARMING, source)  # models are loaded at the first use
    found: list[tuple[LabelledText, Counts]] = []
    seconds: list[float] = []
    with progress_bar(len(texts), progress) as advance:
        for each in texts:
            done = treat(sanitizer, each.text, source)
            if done is not None:
                found.append((each, counted(each, done, hidden_in(each.text, kinds))))
                seconds.append(done.seconds)
            advance(1)
    if not found:
        raise ValueError("no text to measure: there is none, or the policy refuses all")
    detector = sanitizer.inner.detector()
    return Evaluation(
        sanitizer.policy.name,
        "" if detector is None else detector.sha256,
        len(found),
        len(texts) - len(found),
        1000 * median(seconds),
        summed(counts for _, counts in found),
        _by_name((text.language, counts) for text, counts in found),
        _by_name((text.origin, counts) for text, counts in found),
    )


def _by_name(found: Iterable[tuple[str, Counts]]) -> dict[str, Counts]:
    parts: defaultdict[str, list[Counts]] = defaultdict(list)
    for name, counts in found:
        parts[name].append(counts)
    return {name: summed(parts[name]) for name in sorted(parts) if name}


def treat(sanitizer: Sanitizer, text: str, source: Source) -> Treated | None:
    """Return what a setting does to a text, a conversation of its own; None if refused."""
    alone = sanitizer.derive(vault=MemoryVault(), charged=False)
    begin = time.perf_counter()
    try:
        result = alone.sanitize(text, source=source)
    except PolicyError:
        return None
    seconds = time.perf_counter() - begin
    replaced = zip(result.covered, result.replacements, strict=True)
    return Treated(
        tuple(Stretch(start, end, each.replacement) for (start, end), each in replaced),
        seconds,
        tuple((each.start, each.end) for each in result.warnings),
    )


def hidden_in(text: str, kinds: Iterable[str]) -> list[Place]:
    """Return what the detector's view of a text does not show: identifiers, and words on no list.

    Identifiers of these kinds are found before the text is read.
    """
    taken = [(each.start, each.end, each.kind) for each in find(text, frozenset(kinds))]
    read = opened(text, taken)
    plain, doc = read.decoded, read.parted
    return [
        (plain.origin(at + start), plain.origin(at + end))
        for at, run in zip(doc.starts, doc.runs, strict=True)
        for start, end in run.words or ((0, len(run.written)),)
    ]


def words_in(text: str, start: int = 0, end: int | None = None) -> Iterator[Place]:
    """Yield the words of a stretch of a text.

    >>> list(words_in("don't 東京"))
    [(0, 3), (4, 5), (6, 7), (7, 8)]
    """
    for word in _WORD.finditer(text, start, len(text) if end is None else end):
        if has_no_blanks(word[0]):
            yield from ((i, i + 1) for i in range(word.start(), word.end()))
        else:
            yield word.span()


def counted(labelled: LabelledText, done: Treated, hidden: Iterable[Place]) -> Counts:
    """Count what happened to one labelled text, of which the view does not show `hidden`."""
    text, stretches = labelled.text, done.stretches
    counts: defaultdict[str, Share] = defaultdict(lambda: (0, 0))

    def count(name: str, hit: bool) -> None:
        counts[name] = counts[name][0] + hit, counts[name][1] + 1

    unseen, replaced = _flags(text, hidden), _flags(text, stretches)
    told = _flags(text, [*stretches, *done.warned])
    for start, end, kind in labelled.spans:
        words = list(words_in(text, start, end)) or [(start, end)]
        words = [word for word in words if any(unseen[slice(*word)])] or words
        whole = all(all(replaced[slice(*word)]) for word in words)
        touched = any(any(replaced[slice(*word)]) for word in words)
        families = [name for name, kinds in FAMILIES.items() if kind in kinds]
        for name in (*families, *[ALL_BUT_FACTS] * ("facts" not in families), kind):
            count(f"{name}, whole", whole)
            count(f"{name}, touched", touched)
        if "facts" in families:
            count(TOLD, all(all(told[slice(*word)]) for word in words))
    words = list(words_in(text))
    changed = [_is_changed(text, word, stretches) for word in words]
    inside = _flags(text, labelled.spans)
    private = [any(inside[slice(*word)]) for word in words]
    visible = [not any(unseen[slice(*word)]) for word in words]
    beside = _beside(private, [a and b for a, b in zip(changed, visible, strict=True)])
    for is_private, is_beside, now in zip(private, beside, changed, strict=True):
        if not is_private:
            count(OTHERS, now and not is_beside)
            count(BESIDE, is_beside)
    for start, end in labelled.tasks:
        for word in words_in(text, start, end):
            count(TASKS, not _is_changed(text, word, stretches))
    if not labelled.spans:
        count(UNTOUCHED, bool(stretches))
    return dict(counts)


def summed(counts: Iterable[Counts]) -> dict[str, Share]:
    """Add up what was counted in several texts."""
    found: dict[str, Share] = {}
    for each in counts:
        for name, (hits, n) in each.items():
            before = found.get(name, (0, 0))
            found[name] = before[0] + hits, before[1] + n
    return found


def _flags(text: str, places: Iterable[tuple[Any, ...]]) -> bytearray:
    """Return 1 for each character inside of a place, and 0 for all others."""
    found = bytearray(len(text))
    for start, end, *_ in places:
        found[start:end] = b"\1" * (end - start)
    return found


def _is_changed(text: str, word: Place, stretches: Sequence[Stretch]) -> bool:
    """Return True if a part of a word was replaced, and the word is not in what took its place."""
    written = text[slice(*word)].casefold()
    return any(
        written not in _WORD.findall(_PLACEHOLDER.sub(" ", each.released).casefold())
        for each in overlapping(stretches, *word)
    )


def _beside(private: Sequence[bool], changed: Sequence[bool]) -> list[bool]:
    """Return which changed words have only such words between themselves and a private one."""
    found = [False] * len(private)
    for order in (range(len(private)), range(len(private) - 1, -1, -1)):
        near = False
        for i in order:
            near = private[i] or (near and changed[i])
            found[i] |= near and not private[i]
    return found
