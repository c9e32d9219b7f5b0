"""Texts with labelled spans: public corpora and filled templates, and prompts to measure on.

The corpora name real people: they are read from a folder that the caller names, and nothing of
their text is kept in the repository.
"""

from __future__ import annotations

import csv
import json
import random
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from models.build.filled.fill import Fillers

TEMPLATES = Path(__file__).parent / "templates"
PROMPTS = Path(__file__).resolve().parents[3] / "benchmarks/usefulness/prompts/open.txt"
CLASSES = (
    "PERSON ORGANIZATION PLACE PRODUCT CONDITION TREATMENT BELIEF ORIGIN SEXUALITY CRIME "
    "OCCUPATION FAMILY MONEY DATE NUMBER ID FACT"
).split()
"""Classes of labelled spans."""
FACT = "FACT"
IGNORE = "IGNORE"
"""Class of a span that says neither yes nor no, such as a handle that a corpus does not label."""
UNIT = "UNIT"
"""Class of a span that is private, whatever it is."""
ALL = frozenset(CLASSES)
NAMES = frozenset({"PERSON", "ORGANIZATION", "PLACE", "PRODUCT"})
BASIC = NAMES - {"PRODUCT"}
SLOTS = {
    "per": "PERSON",
    "first": "PERSON",
    "last": "PERSON",
    "org": "ORGANIZATION",
    "place": "PLACE",
    "street": "PLACE",
    "prod": "PRODUCT",
    "date": "DATE",
    "money": "MONEY",
    "cond": "CONDITION",
    "drug": "TREATMENT",
    "job": "OCCUPATION",
    "belief": "BELIEF",
    "nat": "ORIGIN",
    "sex": "SEXUALITY",
    "crime": "CRIME",
    "age": "NUMBER",
    "num": "NUMBER",
    "id": "ID",
    "host": "ID",
    "fam": "FAMILY",
    "act": FACT,
    "few": "NUMBER",
    "grown": "NUMBER",
    "dur": "NUMBER",
    "size": "NUMBER",
    "pct": "NUMBER",
    "pay": "MONEY",
    "when": "DATE",
    "time": "DATE",
    "stamp": "DATE",
    "login": "PERSON",
    "room": "ID",
    "lper": "PERSON",
    "lorg": "ORGANIZATION",
    "sum": "MONEY",
    "dob": "DATE",
}
"""Slot of a template -> class of what fills it. Slots "title", "body" and "pub_..." have none."""
FILES = {
    "wikigold": ("ner/wikigold/wikigold.conll.txt",),
    "wnut17": ("ner/wnut17/wnut17train.conll", "ner/wnut17/emerging.dev.conll"),
    "wnut17 test": ("ner/wnut17/emerging.test.annotated",),
    "btc": tuple(f"ner/btc/{part}.conll" for part in "abefgh"),
    "sec": ("ner/sec-filings/FIN3.txt", "ner/sec-filings/FIN5.txt"),
    "presidio": ("presidio-research/synth_dataset_v2.json",),
    "seeds": ("self-instruct/seed_tasks.jsonl",),
    "pupa": ("pupa/PUPA_New.csv",),
    "lists": tuple(
        f"presidio-research/{name}.csv"
        for name in ("companies_and_organizations", "nationalities", "religions")
    ),
}
"""Files of the folder of data that are read, by corpus."""
COUNTED = (
    "templates with private values",
    "templates without",
    "sentences of corpora",
)
"""What the log of a training counts."""

Span = tuple[int, int, str]


@dataclass(frozen=True)
class Example:
    """A text with its labels.

    Attributes:
        spans: (start, end, class). labelled: classes that the source labels; nothing is learnt
            about others. fact: FACT spans are complete. source: name of the corpus.
    """

    text: str
    spans: list[Span]
    labelled: frozenset[str] = ALL
    fact: bool = True
    source: str = ""

    def shifted(self, prefix: str) -> Example:
        """Return the example with a prefix that no span covers."""
        n = len(prefix)
        spans = [(start + n, end + n, kind) for start, end, kind in self.spans]
        return replace(self, text=prefix + self.text, spans=spans)


# --- Marked texts: prompts and templates

_MARK = re.compile(r"⟦([A-Z]+):([^⟦⟧]*)⟧|⟪([^⟪⟫]*)⟫")
_CLASS_MARK = re.compile(r"⟦([A-Z]+):([^⟦⟧]*)⟧")
_SLOT = re.compile(r"\{([a-z_]+?)(\d?)\}")
_ESCAPED = {"(": "\x00", ")": "\x01", "{": "\x02", "}": "\x03", "|": "\x04"}


def parsed(marked: str) -> tuple[str, list[Span]]:
    """Return a text without its marks, and the spans that `⟦CLASS:span⟧` marks."""
    text, spans, at = "", [], 0
    for mark in _MARK.finditer(marked):
        text += marked[at : mark.start()]
        inner = mark[2] if mark[1] else mark[3]
        if mark[1]:
            spans.append((len(text), len(text) + len(inner), mark[1]))
        text += inner
        at = mark.end()
    return text + marked[at:], spans


def prompts(path: Path = PROMPTS) -> list[Example]:
    """Return the labelled prompts of a file, each below a head `### id | topic | kind`."""
    _, *blocks = re.split(r"^### .*\n", path.read_text("utf-8"), flags=re.MULTILINE)
    return [Example(*parsed(block.strip("\n")), source="open") for block in blocks]


def templates(name: str, topics: Sequence[str] = ()) -> list[str]:
    """Return the lines of `templates/<name>.txt`, and of `templates/<name>-<topic>.txt`.

    Args:
        topics: only those of these topics' files; default all.
    """
    files = sorted([TEMPLATES / f"{name}.txt", *TEMPLATES.glob(f"{name}-*.txt")])
    if topics:
        files = [file for file in files if file.stem.removeprefix(f"{name}-") in topics]
    lines = [line for file in files for line in file.read_text("utf-8").split("\n")]
    return [line for line in lines if line.strip() and not line.startswith("#")]


def _closing(text: str, at: int) -> int:
    """Return the place after the parenthesis that closes the one at `at`."""
    depth, end = 1, at + 1
    while end < len(text) and depth:
        if text[end] == "\\":
            end += 2
            continue
        depth += (text[end] == "(") - (text[end] == ")")
        end += 1
    return end


def _alternatives(text: str) -> list[str]:
    """Split at each `|` that is in no parentheses and not escaped."""
    found, depth, at = [""], 0, 0
    while at < len(text):
        step = 2 if text[at] == "\\" and at + 1 < len(text) else 1
        part = text[at : at + step]
        depth += (part == "(") - (part == ")")
        if part == "|" and depth == 0:
            found.append("")
        else:
            found[-1] += part
        at += step
    return found


def expanded(template: str, rng: random.Random) -> str:
    """Choose one of each `(a|b|c)`; escaped brackets become control characters."""
    out, at = "", 0
    while at < len(template):
        char = template[at]
        escaped = _ESCAPED.get(template[at + 1 : at + 2]) if char == "\\" else None
        if escaped:
            out += escaped
            at += 2
        elif char == "(":
            end = _closing(template, at)
            choices = _alternatives(template[at + 1 : end - 1])
            if len(choices) > 1:
                out += expanded(rng.choice(choices), rng)
            else:
                out += f"({expanded(choices[0], rng)})"
            at = end
        else:
            out += char
            at += 1
    return out


def _is_slot(name: str) -> bool:
    return name in SLOTS or name.startswith("pub_") or name in ("title", "body")


def filled(template: str, fillers: Fillers) -> Example:
    """Return an example of a template: `{per}` another value each time, `{per1}` always the same.

    A slot inside a mark `⟦CLASS:...⟧` has the class of the mark.
    """
    known: dict[tuple[str, str], str] = {}

    def plain(slot: re.Match[str]) -> str:
        name, number = slot[1], slot[2]
        if not _is_slot(name):
            return slot[0]
        value = known.get((name, number)) if number else None
        if value is None:
            value = known[name, number] = fillers.value(name)
        return value

    def marked(slot: re.Match[str]) -> str:
        value = plain(slot)
        return f"⟦{SLOTS[slot[1]]}:{value}⟧" if slot[1] in SLOTS else value

    text = expanded(template.replace("\\n", "\n"), fillers.rng)
    text = _CLASS_MARK.sub(lambda m: f"⟦{m[1]}:{_SLOT.sub(plain, m[2])}⟧", text)
    text = _SLOT.sub(marked, text)
    for bracket, control in _ESCAPED.items():
        text = text.replace(control, bracket)
    return Example(*parsed(text), source="template")


# --- Corpora

_KINDS = {
    "PER": "PERSON",
    "LOC": "PLACE",
    "ORG": "ORGANIZATION",
    "MISC": "PRODUCT",
    "person": "PERSON",
    "location": "PLACE",
    "corporation": "ORGANIZATION",
    "group": "PRODUCT",
    "product": "PRODUCT",
    "creative-work": "PRODUCT",
}
_PRESIDIO = {
    "PERSON": "PERSON",
    "GPE": "PLACE",
    "STREET_ADDRESS": "PLACE",
    "ORGANIZATION": "ORGANIZATION",
    "DATE_TIME": "DATE",
    "AGE": "NUMBER",
    "NRP": "ORIGIN",
    "ZIP_CODE": "PLACE",
}
_NO_SPACE_BEFORE = {*".,;:!?)]}%’”", "'s", "n't", "'m", "'re", "'ve", "'ll", "'d", "..."}
_NO_SPACE_AFTER = set("([{$#@“‘")
_ORIGINS = frozenset(
    "american british english german french jewish muslim christian catholic islamic arab soviet "
    "european asian african indian chinese japanese russian roman".split()
)
_ROLES = frozenset(
    "lender borrower bank company seller buyer purchaser landlord tenant agent executive parties "
    "party guarantor subsidiary trustee holder debtor creditor co-borrower employee employer "
    "licensee licensor tenants borrowers lenders".split()
)
"""Words of contracts that corpora label as names of persons and firms."""

Tagged = list[tuple[str, str]]
"""Tokens of a sentence with their labels, such as "B-PER"."""


def nations(data: Path) -> frozenset[str]:
    """Return words for nationalities and some religions, lower case."""
    path = data / "presidio-research" / "nationalities.csv"
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    columns = ("nationality", "man", "woman", "plural")
    return _ORIGINS | {row[column].lower() for row in rows for column in columns}


def sentences(path: Path, tabs: bool = False) -> Iterator[Tagged]:
    """Yield the sentences of a file with one token a line, its label last."""
    found: Tagged = []
    for line in path.read_text("utf-8", errors="replace").split("\n"):
        if line.startswith("-DOCSTART-") or not line.strip():
            if found:
                yield found
            found = []
            continue
        parts = line.split("\t") if tabs and "\t" in line else line.split()
        if len(parts) >= 2:
            found.append((parts[0], parts[-1]))
    if found:
        yield found


def _spaces(sentence: Tagged) -> Iterator[str]:
    """What stands before each token: a space, or nothing at punctuation and inside of quotes."""
    n_quotes, before = 0, ""
    for i, (word, _) in enumerate(sentence):
        tight = i == 0 or word in _NO_SPACE_BEFORE or before in _NO_SPACE_AFTER
        if word == '"':
            n_quotes += 1
            tight = tight or n_quotes % 2 == 0
        elif before == '"' and n_quotes % 2 == 1:
            tight = True
        yield "" if tight else " "
        before = word


def running(
    sentence: Tagged, source: str, labelled: frozenset[str], origins: frozenset[str]
) -> Example:
    """Return a sentence of a corpus as running text.

    Args:
        origins: words whose class is ORIGIN, whatever the corpus calls them.
    """
    text, before = "", "O"
    spans: list[Span] = []
    for (token, label), space in zip(sentence, _spaces(sentence), strict=True):
        start = len(text) + len(space)
        text += space + token
        if label != "O":
            kind = label.split("-", 1)[1]
            if label[0] == "I" and before.split("-", 1)[-1] == kind and spans:
                spans[-1] = (spans[-1][0], len(text), spans[-1][2])
            else:
                spans.append((start, len(text), _KINDS[kind]))
        if token.startswith("@") and len(token) > 1:
            spans.append((start, len(text), IGNORE))
        before = label
    kept = []
    for start, end, kind in spans:
        words = text[start:end].lower()
        actual = "ORIGIN" if words in origins else kind
        if actual not in ("PERSON", "ORGANIZATION") or words not in _ROLES:
            kept.append((start, end, actual))
    return Example(text, kept, labelled, False, source)


def joined(examples: Sequence[Example]) -> Example:
    """Return several sentences as one text."""
    text = ""
    spans: list[Span] = []
    for example in examples:
        moved = example.shifted(f"{text} " if text else "")
        text, spans = moved.text, spans + moved.spans
    return replace(examples[0], text=text, spans=spans)


def _presidio(data: Path) -> list[tuple[int, Example]]:
    """Synthetic texts with the numbers of their templates."""
    found = []
    for row in json.loads((data / FILES["presidio"][0]).read_text("utf-8")):
        spans = sorted(
            (s["start_position"], s["end_position"], _PRESIDIO.get(s["entity_type"], IGNORE))
            for s in row["spans"]
        )
        example = Example(row["full_text"], spans, NAMES | {"DATE"}, False, "presidio")
        found.append((row["template_id"], example))
    return found


Corpora = dict[str, list[Example]]


def corpora(data: Path) -> tuple[Corpora, Corpora]:
    """Return corpora to train on and to measure on, by name.

    Measured on: a fifth of wikigold in blocks of ten sentences, the test part of WNUT17, the texts
    of a fifth of the synthetic set's templates, and the half of PUPA that is not trained on.
    """
    rng, origins = random.Random(5), nations(data)

    def read(name: str, source: str, labelled: frozenset[str], tabs: bool) -> list[Example]:
        return [
            running(sentence, source, labelled, origins)
            for file in FILES[name]
            for sentence in sentences(data / file, tabs)
        ]

    wikigold = read("wikigold", "wikigold", NAMES, False)
    blocks = [wikigold[i : i + 10] for i in range(0, len(wikigold), 10)]
    order = list(range(len(blocks)))
    rng.shuffle(order)
    held, kept = sorted(order[: len(order) // 5]), order[len(order) // 5 :]
    synthetic = _presidio(data)
    numbers = sorted({number for number, _ in synthetic})
    rng.shuffle(numbers)
    held_numbers = set(numbers[: len(numbers) // 5])
    train = {
        "wikigold": [example for i in kept for example in blocks[i]],
        "wnut17": read("wnut17", "wnut17", NAMES, True),
        "btc": read("btc", "btc", BASIC, True),
        "sec": read("sec", "sec", BASIC, False),
        "presidio": [example for number, example in synthetic if number not in held_numbers],
    }
    test = {
        "wikigold": [example for i in held for example in blocks[i]],
        "wnut17": read("wnut17 test", "wnut17", NAMES, True),
        "presidio": [example for number, example in synthetic if number in held_numbers],
        "pupa": pupa(data, held=True),
    }
    return train, test


def instructions(data: Path) -> list[Example]:
    """Return instructions in which nothing is private."""
    lines = (data / FILES["seeds"][0]).read_text("utf-8").split("\n")
    return [Example(json.loads(line)["instruction"], [], source="seed") for line in lines if line]


def pupa(data: Path, limit: int = 700, held: bool = False) -> list[Example]:
    """Return every second prompt of PUPA, cut after `limit` characters.

    Its private units have no classes, and it is incomplete: they are IGNORE, all else is a little
    less likely private.

    Args:
        held: the other half, to measure on; there units are UNIT.
    """
    with (data / FILES["pupa"][0]).open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))[int(held) :: 2]
    kind = UNIT if held else IGNORE
    return [
        _pupa_example(row["user_query"], row["pii_units"].split("||"), limit, kind) for row in rows
    ]


def _pupa_example(query: str, units: Iterable[str], limit: int, kind: str) -> Example:
    text = re.sub(r"<PRESIDIO_ANONYMIZED_\w+>", "___", query[:3000])
    spans: list[Span] = []
    for unit in (unit.strip() for unit in units):
        if unit and "presidio_anonymized" not in unit:
            pattern = rf"(?<!\w){re.escape(unit)}(?!\w)"
            found = re.finditer(pattern, text.lower())
            spans += [(m.start(), m.end(), kind) for m in found if m.end() < limit]
    return Example(text[:limit], spans, frozenset(), False, "pupa")
