"""Texts in which one thing is replaced by another, and what both share, for theorem B."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from sanitizer.detect.classes import concept_of, is_adjective
from sanitizer.detect.detector import Detector, Reading
from sanitizer.detect.units import _MACHINE_MADE, document
from sanitizer.detect.view import View, parted
from sanitizer.text.policy import Policy
from sanitizer.text.words import Unit, folded, word_spans

VALUES = {
    "PERSON": "Ifeanyi|Anna Lund|grace|J. Marsh|O'Brien|Müller-Örs|Нина|王小明|zoltan k|Xiu"
    "|Maria de la Cruz Ortega|Baker|DENISE QUORN|Tāne|Håkon Å",
    "ORGANIZATION": "Quorn & Sons|Halden AB|blue kettle|Stiftung Warentrost|ООО Ладья|K9|Acme"
    "|St Brannoc's|Nordwind Logistik GmbH|Paper House",
    "PLACE": "Leeds|Soria|Köln-Deutz|上海|Nether Wallop|quorn|Ust-Kut|Ålesund|Rue Vaneau",
    "PRODUCT": "Falcon|Orca 2|nightjar|Zephyr-X|Tern",
    "CONDITION": "asthma|Crohn's|diabetes|epilepsy|migraine|hepatitis C|stomach ulcer",
    "TREATMENT": "metformin|Zyvox|insulin|chemo|Ritalin 10",
    "BELIEF": "Muslim|Quaker|atheist|Sikh",
    "ORIGIN": "Kenyan|Roma|Sri Lankan|Kurdish",
    "CRIME": "arson|theft|perjury|fraud",
    "OCCUPATION": "welder|nurse|Hebamme|crane operator|barista",
    "FAMILY": "widow|stepson|divorced|ex-wife",
    "MONEY": "1,240|15k|980.50|three grand|7|1.200,00",
    "DATE": "2 January 2023|29 Feb|14/03/24|Tuesday|19:40|the 3rd|2021|May 5",
    "NUMBER": "43|71.5|fourteen|9|120/80|3x",
    "ID": "AX-4471|66120|Q7|kl_0992|B-12",
}
"""Values of all lengths, scripts and cases, parted by |."""


@dataclass(frozen=True)
class Pair:
    """Texts of a conversation, and the same with another value at all places of one thing."""

    texts: tuple[str, ...]
    others: tuple[str, ...]
    value: str
    new: str
    kind: str


def _words(text: str) -> set[str]:
    return {folded(text[a:b]) for a, b in word_spans(text)}


def pairs(texts: Sequence[str], readings: Sequence[Reading]) -> Iterator[Pair]:
    """Yield a conversation with another value for each thing that was found in it.

    A value that names something else of the texts, or a part of it, makes a link: no neighbour.
    """
    found = {
        (text[f.start : f.end], f.kind)
        for text, reading in zip(texts, readings, strict=True)
        for f in reading.findings
    }
    for value, kind in sorted(found):
        whole = "\n".join(texts).replace(value, " ")
        if kind not in VALUES or not _words(value).isdisjoint(_words(whole)):
            continue
        for new in VALUES[kind].split("|"):
            if new != value and _words(new).isdisjoint(_words(whole)):
                others = tuple(text.replace(value, new) for text in texts)
                yield Pair(tuple(texts), others, value, new, kind)


@dataclass(frozen=True)
class Shared:
    """What neighbours share (docs/guarantees.md): the view, and what is said of every word.

    Attributes:
        said: for each entity whether it is the thing, its class, whether it is drawn, its letters
            beside the thing, whether the request needs it, and (under "code") whether it is sure
            and whether it has the form of a hash or a version; for each hidden word of none the
            same, and that it passes.
    """

    view: View
    said: tuple[tuple[object, ...], ...]

    @property
    def others(self) -> tuple[tuple[object, ...], ...]:
        """What is said of all but the thing."""
        return tuple(each for each in self.said if not each[0])


@lru_cache(maxsize=64)
def _reading(detector: Detector, text: str, taken: tuple[Unit, ...]) -> Reading:
    """Read a text once for all of its pairs."""
    return detector.read(text, taken, asks=True)


def shared(detector: Detector, policy: Policy, text: str, value: str) -> Shared:
    """Return what a text shares with its neighbours, in which another value takes this one's place.

    The other word's classes are compared, not only what becomes of them.
    """
    taken = document(text, policy).taken
    hidden = [(unit.start, unit.end, unit.kind) for unit in taken]
    reading = _reading(detector, text, taken)
    places = [at for at in range(len(text)) if text.startswith(value, at)]
    said: list[tuple[int, tuple[object, ...]]] = []
    for each in reading.findings:
        written = text[each.start : each.end]
        own = any(each.start <= at and at + len(value) <= each.end for at in places)
        around = written.replace(value, "", 1) if own else written
        listed = each.kind in policy.drawn and concept_of(each.kind, written) is not None
        drawn = listed and not is_adjective(written)
        needed = each.needed, each.age
        sure = each.usual >= policy.sure.get(each.kind, 0.0)
        of_code = sure, bool(policy.sure and _MACHINE_MADE.fullmatch(written))
        said.append((each.start, (own, each.kind, drawn, around, each.visible, *needed, *of_code)))
    for start, end in reading.everyday:
        inside = any(at <= start and end <= at + len(value) for at in places)
        said.append((start, (inside, "passes", "" if inside else text[start:end])))
    ordered = tuple(each for _, each in sorted(said, key=lambda pair: pair[0]))
    return Shared(parted(text, hidden).view, ordered)
