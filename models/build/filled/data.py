"""Texts with labelled spans: filled templates, and prompts to measure on."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from models.build.filled.fill import Fillers

TEMPLATES = Path(__file__).parent / "templates"
PROMPTS = Path(__file__).resolve().parents[3] / "benchmarks/usefulness/prompts/open.txt"
_SLOTS = {
    "PERSON": "per first last login lper",
    "ORGANIZATION": "org lorg",
    "PLACE": "place street",
    "PRODUCT": "prod",
    "DATE": "date when time stamp dob",
    "MONEY": "money pay sum",
    "CONDITION": "cond",
    "TREATMENT": "drug",
    "OCCUPATION": "job",
    "BELIEF": "belief",
    "ORIGIN": "nat",
    "SEXUALITY": "sex",
    "CRIME": "crime",
    "NUMBER": "age num few grown dur size pct",
    "ID": "id host room",
    "FAMILY": "fam",
    "FACT": "act",
}
SLOTS = {slot: kind for kind, slots in _SLOTS.items() for slot in slots.split()}
"""Slot of a template -> class of what fills it. Slots "title", "body" and "pub_..." have none."""
Span = tuple[int, int, str]


@dataclass(frozen=True)
class Example:
    """A text with its labels, spans (start, end, class)."""

    text: str
    spans: list[Span]


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
    return [Example(*parsed(block.strip("\n"))) for block in blocks]


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
    return Example(*parsed(text))
