"""Code in a prompt still parses after its private words became placeholders.

The real parsers are used here only: the product reads layout, punctuation and fixed sets of words.
"""

from __future__ import annotations

import ast
import csv
import json
import re
import shutil
import sqlite3
import subprocess
import time
import tomllib
from collections.abc import Callable, Iterable
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sanitizer.text.syntax import Piece, form_for, is_code_word, pieces

WHOLE = ("json", "toml")


def replaced(text: str, private: Iterable[str], kind: str = "TERM") -> str:
    """The text with every private word as a placeholder, in the form of the place."""
    words = sorted(private, key=len, reverse=True)
    found = pieces(text)
    parts, at = [], 0
    # a word may follow an escape such as "\\n" directly
    before, after = r"(?:(?<![^\W_])|(?<=\\[nt]))", r"(?![^\W_])"
    private_word = re.compile(f"{before}(?:{'|'.join(map(re.escape, words))}){after}")
    for match in private_word.finditer(text):
        start, end = match.span()
        if start < at:
            continue
        piece = next((p for p in found if p.start <= start and end <= p.end), None)
        if piece is not None and piece.role == "number" and piece.language in WHOLE:
            start, end = piece.start, piece.end
        number = words.index(match.group()) + 1
        parts += [text[at:start], form_for(kind, number, piece)]
        at = end
    return "".join([*parts, text[at:]])


def roles(text: str) -> list[tuple[str, str, str]]:
    return [(text[p.start : p.end], p.role, p.language) for p in pieces(text)]


def role_of(text: str, word: str) -> tuple[str, str] | None:
    at = text.index(word)
    found = [p for p in pieces(text) if p.start <= at and at + len(word) <= p.end]
    return (found[0].role, found[0].language) if found else None


def parses_html(code: str) -> None:
    """Check that every tag that is opened is closed."""

    class Reader(HTMLParser):
        open: list[str] = []  # noqa: RUF012

        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            assert all(value != "" and not tag.startswith("<") for _, value in attrs)
            if tag not in ("br", "img", "input", "meta"):
                self.open = [*self.open, tag]

        def handle_endtag(self, tag: str) -> None:
            assert self.open[-1] == tag
            self.open = self.open[:-1]

    reader = Reader()
    reader.feed(code)
    reader.close()
    assert reader.open == []
    assert "<PER" not in code
    assert "<TERM" not in code


def parses_csv(code: str) -> None:
    rows = [row for row in csv.reader(code.splitlines(keepends=True), strict=True) if row]
    assert len(rows) > 1
    assert len({len(row) for row in rows}) == 1


def parses_sql(code: str) -> None:
    base = sqlite3.connect(":memory:")
    for statement in filter(str.strip, code.split(";")):
        try:
            base.execute(statement)
        except sqlite3.OperationalError as error:  # tables and columns need not exist
            if not str(error).startswith("no such"):
                raise
    base.close()


def parses_with(*command: str) -> Callable[[str], None]:
    def parse(code: str) -> None:
        if shutil.which(command[0]) is None:
            pytest.skip(f"needs {command[0]}")
        done = subprocess.run(
            command, input=code, capture_output=True, text=True, check=False, timeout=60
        )
        assert done.returncode == 0, done.stderr

    return parse


def parses_yaml(code: str) -> None:
    yaml = pytest.importorskip("yaml")
    assert yaml.safe_load(code) is not None


DATA = tomllib.loads(Path(__file__).with_name("cases_syntax.toml").read_text("utf-8"))
PRIVATE = DATA["private"]["words"]
PARSERS: dict[str, Callable[[str], object]] = {
    "python": ast.parse,
    "json": json.loads,
    "toml": tomllib.loads,
    "xml": ElementTree.fromstring,
    "html": parses_html,
    "csv": parses_csv,
    "sql": parses_sql,
    "shell": parses_with("bash", "-n"),
    "javascript": parses_with("node", "--check", "-"),
    "yaml": parses_yaml,
}
CASES = {
    name: (lead, DATA["bodies"].get(body, body), PARSERS[language])
    for name, (lead, body, language) in DATA["prompts"].items()
}
ENDS = {
    "```": "\n```\nThanks, Elena.",
    "~~~": "\n~~~\n",
    "Use": "` for Elena.",
    "": "\n\nThanks, Elena.",
}


def end_of(lead: str) -> str:
    return next(end for start, end in ENDS.items() if lead.startswith(start))


@pytest.mark.parametrize("name", CASES)
def test_code_parses_after_its_private_words_are_gone(name: str) -> None:
    lead, code, parses = CASES[name]
    parses(code)
    before = replaced(lead + code + end_of(lead), PRIVATE)
    after_lead = replaced(lead, PRIVATE) if lead[0] not in "`~" else lead
    inside = before[len(after_lead) : -len(replaced(end_of(lead), PRIVATE))]
    assert not re.search(r"Elena|Marsh|Halvorsen|84500", inside, re.I)
    assert re.search(r"TERM_\d", inside)
    parses(inside)
    assert not before.endswith("Elena.")
    assert before.startswith(after_lead)


@pytest.mark.parametrize("name", CASES)
def test_lines_may_end_in_carriage_returns(name: str) -> None:
    lead, code, _ = CASES[name]
    text = lead + code + end_of(lead)
    dos = text.replace("\r\n", "\n").replace("\n", "\r\n")
    plain = [(w, r, lang) for w, r, lang in roles(text.replace("\r\n", "\n")) if "\n" not in w]
    assert {w for w, _, _ in plain} <= {w.strip("\r") for w, _, _ in roles(dos)}


@pytest.mark.parametrize(("text", "word", "expected"), DATA["cases"]["roles"])
def test_roles(text: str, word: str, expected: list[str]) -> None:
    assert list(role_of(text, word) or ()) == expected


@pytest.mark.parametrize("prose", DATA["cases"]["prose"])
def test_prose_is_not_covered(prose: str) -> None:
    assert roles(prose) == []


def test_escapes_are_no_part_of_a_word() -> None:
    found = roles('{"a": "x\\nElena \\u00e9lan \\"q\\""}')
    assert ("Elena \\u00e9lan ", "string", "json") in found
    assert ("\\n", "keyword", "json") in found


def test_forms() -> None:
    def at(role: str, language: str) -> str:
        return form_for("SUM", 2, Piece(0, 1, role, language))  # type: ignore[arg-type]

    assert form_for("SUM", 2, None) == "<SUM_2>"
    bare = [("name", "python"), ("name", "json"), ("number", "sql"), ("string", "shell")]
    bare += [("text", "html"), ("comment", "html"), ("tag", "html"), ("name", "toml")]
    assert {at(*place) for place in bare} == {"SUM_2"}
    marked = [("string", "json"), ("comment", "python"), ("name", "csv"), ("number", "yaml")]
    assert {at(*place) for place in marked} == {"<SUM_2>"}
    assert at("number", "json") == at("number", "toml") == '"<SUM_2>"'


@pytest.mark.parametrize(("word", "language", "expected"), DATA["cases"]["code_words"])
def test_code_words(word: str, language: str, expected: bool) -> None:
    assert is_code_word(word, Piece(0, len(word), "name", language)) is expected


LETTERS = st.from_regex(r"(?:[xQ]q[A-Za-z0-9é]{0,7}|[1-9][qzx][0-9a-z]{0,3})", fullmatch=True)
DIGITS = st.from_regex(r"[1-9][0-9]{0,7}", fullmatch=True)
OPAQUE = re.compile(
    r"(?<![\w\\])(?:Elena|Marsh|Halvorsen|elena_marsh|elenaMarsh|owner|notes|staff|card|\d+)(?!\w)"
)
TEXTS = [lead + code + end_of(lead) for lead, code, _ in CASES.values()]


PARTS = [*DATA["cases"]["messy"], "\0", "\ud800"]
MESSY = st.lists(st.sampled_from(PARTS), max_size=40).map("".join)
MARKED = st.lists(st.sampled_from([*PARTS, "Elena", "Marsh", "41"]), max_size=40).map("".join)


@given(st.one_of(st.sampled_from(TEXTS), MARKED.filter(OPAQUE.search)), st.data())
def test_another_private_word_changes_nothing_else(text: str, data: st.DataObject) -> None:
    spots = list(OPAQUE.finditer(text))
    spot = data.draw(st.sampled_from(spots))
    word = data.draw(DIGITS if spot.group().isdecimal() else LETTERS)
    other = text[: spot.start()] + word + text[spot.end() :]
    shift = len(word) - len(spot.group())

    def moved(at: int) -> int:
        return at + shift if at >= spot.end() else at

    expected = [(moved(p.start), moved(p.end), p.role, p.language) for p in pieces(text)]
    assert [(p.start, p.end, p.role, p.language) for p in pieces(other)] == expected


TAGS = st.sampled_from(
    ["python", "js", "json", "sql", "yaml", "csv", "bash", "html", "toml", "go", ""]
)
FENCED = st.builds("```{}\n{}".format, TAGS, MESSY)


@given(st.one_of(MESSY, st.text(), FENCED))
def test_pieces_ascend_and_never_fail(text: str) -> None:
    found = pieces(text)
    assert all(0 <= p.start < p.end <= len(text) for p in found)
    assert all(a.end <= b.start for a, b in pairwise(found))


@pytest.mark.parametrize("part", DATA["cases"]["hostile"])
@pytest.mark.parametrize("lead", ["", "```python\n", "```yaml\n", "```html\n", "```sql\n", "x = "])
def test_time_is_about_linear(part: str, lead: str) -> None:
    start = time.process_time()
    pieces(lead + part * (40_000 // len(part)))
    assert time.process_time() - start < 1  # quadratic time would be many seconds


def test_a_megabyte_of_json_is_quick() -> None:
    text = json.dumps([{"name": "Elena", "age": 41, "note": "a\nb"}] * 22_000)
    start = time.process_time()
    assert len(pieces(text)) == 22_000 * 8
    assert time.process_time() - start < 2


@pytest.mark.parametrize(("text", "name"), DATA["cases"]["names"])
def test_traces_and_blocks_are_code(text: str, name: str) -> None:
    role, _ = role_of(text, name) or ("prose", "")
    assert role == "name"
