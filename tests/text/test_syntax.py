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


def parses_python(code: str) -> None:
    ast.parse(code)


def parses_json(code: str) -> None:
    json.loads(code)


def parses_toml(code: str) -> None:
    tomllib.loads(code)


def parses_xml(code: str) -> None:
    ElementTree.fromstring(code)  # noqa: S314


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


parses_shell = parses_with("bash", "-n")
parses_javascript = parses_with("node", "--check", "-")


def parses_yaml(code: str) -> None:
    yaml = pytest.importorskip("yaml")
    assert yaml.safe_load(code) is not None


PYTHON_CLASS = '''from dataclasses import dataclass

@dataclass
class HalvorsenClient:
    """Talks to the Halvorsen gateway."""
    elena_marsh: str = "Elena Marsh"
    salary: int = 84500

    def pay(self, factor: float = 1.5) -> str:
        # Elena asked for this
        return f"{self.elena_marsh} gets {self.salary * 2:.2f}\\nHalvorsen"
'''
PYTHON_SCRIPT = """import pandas as pd

df = pd.read_csv("halvorsen_2023.csv")
marsh = df[df["Elena"] > 84500]
for row in marsh.itertuples():
    print(row.Halvorsen, 'Elena\\'s', r"C:\\new\\Marsh")
"""
JAVASCRIPT = """const elenaMarsh = { name: "Elena", age: 41, 'Halvorsen': [1, 2] };
// Elena's order
function halvorsen(x) {
  return `Dear ${elenaMarsh.name}, Elena owes ${x * 41} to Halvorsen`;
}
halvorsen(84500);
"""
JSON_NESTED = """{
  "customer": {"name": "Elena Marsh", "age": 41, "score": -12.5e3, "Halvorsen": null},
  "notes": "Said \\"Halvorsen\\"\\nElena left\\tMarsh", "vip": true, "tags": ["Elena", 41]
}"""
YAML = """# Halvorsen cluster
service:
  name: "Elena Marsh"
  owner: Elena
  port: 8443
  Halvorsen: [Elena, Marsh, 41]
  note: |
    Elena: wrote this
    for Halvorsen
  env:
    - key: MARSH
      value: 'Elena'
"""
CSV = 'name,firm,salary\r\nElena,"Halvorsen, Inc.",84500\r\n"Marsh ""Em""",Halvorsen,41\r\n'
SHELL = """export HALVORSEN_KEY=Elena
curl -X POST "https://Halvorsen.example/Elena" -d '{"name": "Marsh", "age": 41}' | tee Elena.log
for f in Marsh/*.txt; do cp "$f" "/backup/Elena/${HALVORSEN_KEY}"; done
ssh Elena@Halvorsen 'ls -l' # Marsh
"""
SQL = """SELECT c.name, SUM(o.total) FROM customers c
JOIN Halvorsen o ON o.cid = c.id
WHERE c.name = 'Elena Marsh' AND c.city = "Marsh" AND o.total > 84500 -- Elena's
GROUP BY c.name;"""
SQL_INSERT = """INSERT INTO staff (name, firm, pay)
VALUES ('Elena', 'Halvorsen', 84500), ('O''Marsh', '', 41);"""
HTML = """<div class="card" data-owner="Elena">
  <h1>Elena Marsh</h1>

  <p>Works at Halvorsen &amp; Co. since 41 <br> <!-- Marsh --></p>
  <a href="https://Halvorsen.example/Elena?x=41">mail</a>
</div>"""
XML = """<?xml version="1.0"?>
<order id="41"><Halvorsen:by xmlns:Halvorsen="u">Elena</Halvorsen:by><Marsh/></order>"""
TOML = """[servers.Elena]
host = "Halvorsen"
port = 8443
since = 1979-05-27 07:32:00
Marsh.key = [41, 84500]
"""
PRIVATE = ["Elena", "Marsh", "Halvorsen", "elena_marsh", "elenaMarsh", "41", "84500", "halvorsen"]
PRIVATE += [
    "8443",
    "12.5e3",
    "HalvorsenClient",
    "marsh",
    "HALVORSEN_KEY",
    "MARSH",
    "1979",
    "2",
    "1.5",
]

CASES: dict[str, tuple[str, str, Callable[[str], None]]] = {
    "python class": ("```python\n", PYTHON_CLASS, parses_python),
    "python class, bare": ("Explain this, Elena:\n\n", PYTHON_CLASS, parses_python),
    "python class, no tag": ("```\n", PYTHON_CLASS, parses_python),
    "python script": ("```py\n", PYTHON_SCRIPT, parses_python),
    "python script, bare": ("Why is this slow?\n\n", PYTHON_SCRIPT, parses_python),
    "python dict": ("Fix:\n", 'data = {\n    "Elena": 41,\n    Marsh: "x",\n}\n', parses_python),
    "python, inline": ("Use `", "Marsh(Elena, 41, 'Halvorsen')", parses_python),
    "javascript": ("```js\n", JAVASCRIPT, parses_javascript),
    "javascript, bare": ("Review for Marsh:\n", JAVASCRIPT, parses_javascript),
    "json": ("```json\n", JSON_NESTED, parses_json),
    "json, bare": ("Convert this to CSV:\n", JSON_NESTED, parses_json),
    "json in a sentence": ("Marsh: turn ", '{"Elena": "Marsh", "a": [41, true]}', parses_json),
    "json list": ("Sort ", '["Elena", "Marsh", 41]', parses_json),
    "json, no tag": ("~~~\n", JSON_NESTED, parses_json),
    "yaml": ("```yaml\n", YAML, parses_yaml),
    "yaml, bare": ("Look:\n\n", YAML, parses_yaml),
    "csv": ("```csv\n", CSV, parses_csv),
    "csv, bare": ("Sum up for Elena:\n\n", CSV, parses_csv),
    "shell": ("```bash\n", SHELL, parses_shell),
    "shell, bare": ("What does this do?\n", SHELL, parses_shell),
    "sql": ("```sql\n", SQL, parses_sql),
    "sql, bare": ("Why is it slow, Elena?\n", SQL, parses_sql),
    "sql in a sentence": ("Elena asks: optimise ", SQL, parses_sql),
    "sql insert": ("Look:\n", SQL_INSERT, parses_sql),
    "sql, lower": ("Fix: ", "select * from Marsh where name = 'Elena' and x > 41;", parses_sql),
    "html": ("```html\n", HTML, parses_html),
    "html, bare": ("Make it responsive: ", HTML, parses_html),
    "xml": ("```xml\n", XML, parses_xml),
    "xml, bare": ("Elena sent\n", XML, parses_xml),
    "toml": ("```toml\n", TOML, parses_toml),
    "toml, bare": ("Check:\n\n", TOML, parses_toml),
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


@pytest.mark.parametrize(
    ("text", "word", "expected"),
    [
        ("```python\nx_y = aB.c\n```", "x_y", ("name", "python")),
        ("```python\nx_y = aB.c\n```", "c", ("name", "python")),
        ("```python\nif x: pass\n```", "if", ("keyword", "python")),
        ("```python\ny = f'{who} came'\n```", "who", ("name", "python")),
        ("```python\ny = f'{who} came'\n```", "came", ("string", "python")),
        ("```python\ny = 1.5  # note\n```", "1.5", ("number", "python")),
        ("```python\ny = 1.5e-3 + t.0\n```", "1.5e-3", ("number", "python")),
        ("```python\ny = 1.5e-3 + t.0\n```", "0", ("number", "python")),
        ("```python\ny = (.25, 1)\n```", ".25", ("number", "python")),
        ("```python\ny = 1.5  # note\n```", "note", ("comment", "python")),
        ('```json\n{"k": "v", "n": -1.5e3, "t": true}\n```', "k", ("name", "json")),
        ('```json\n{"k": "v", "n": -1.5e3, "t": true}\n```', "v", ("string", "json")),
        ('```json\n{"k": "v", "n": -1.5e3, "t": true}\n```', "-1.5e3", ("number", "json")),
        ('```json\n{"k": "v", "n": -1.5e3, "t": true}\n```', "true", ("keyword", "json")),
        ("```yaml\nfirst name: Zed Q\nage: 41\n```", "first name", ("name", "yaml")),
        ("```yaml\nfirst name: Zed Q\nage: 41\n```", "Zed Q", ("string", "yaml")),
        ("```yaml\nfirst name: Zed Q\nage: 41\n```", "41", ("number", "yaml")),
        ("```csv\nname,age\nZed,41\n```", "name", ("name", "csv")),
        ("```csv\nname,age\nZed,41\n```", "Zed", ("string", "csv")),
        ("Sum it:\na,b,c\nZed,4,1\nIda,2,3\nWho is first, who last?", "Ida", ("string", "csv")),
        ("```html\n<p id='q'>Zed</p>\n```", "p", ("tag", "html")),
        ("```html\n<p id='q'>Zed</p>\n```", "id", ("name", "html")),
        ("```html\n<p id='q'>Zed</p>\n```", "q", ("string", "html")),
        ("```html\n<p id='q'>Zed</p>\n```", "Zed", ("text", "html")),
        ("```sql\nselect a from t\n```", "from", ("keyword", "sql")),
        ("```rust\nlet zed = 5;\n```", "zed", ("name", "other")),
        ("```\nDear Zed, it's late\n```", "Dear Zed, it's late", ("text", "other")),
        ("call `zedQuark` now", "zedQuark", ("name", "other")),
        ("call `zedQuark` now", "now", None),
        ("Run this:\n$ ls /home/zed", "zed", ("name", "shell")),
    ],
)
def test_roles(text: str, word: str, expected: tuple[str, str] | None) -> None:
    assert role_of(text, word) == expected


@pytest.mark.parametrize(
    "prose",
    [
        "Dear Elena,\nthank you for the letter; I will call you.\nBest,\nOtto",
        "Select the best candidate from the list, and update Elena.",
        "Elena Marsh <elena@example.org> wrote to <PERSON_1>.",
        "For example: 3 < 5, and x > 2. Return to Elena if she calls (at 5).",
        "import taxes rose, from 5% to 7%\nif you can, tell Otto:\n  he should know",
        "From: Elena\nTo: Otto\nSubject: money\n\nHi Otto,\nall fine.",
        "1. make tea\n2. find Elena\n- echo of the past\n* call Otto",
        "With Elena as (acting) head; see [1, 2] and {x}.",
        "The 1,250 people, and the 3,000 others.\nMore, and more.",
        "",
    ],
)
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


@pytest.mark.parametrize(
    ("word", "language", "expected"),
    [
        ("def", "python", True),
        ("DataFrame", "python", True),
        ("halvorsen", "python", False),
        ("console", "javascript", True),
        ("SELECT", "sql", True),
        ("VARCHAR", "sql", True),
        ("Grant", "sql", False),
        ("Select", "sql", False),
        ("DIV", "html", True),
        ("href", "html", True),
        ("curl", "shell", True),
        ("curl", "json", False),
        ("true", "json", True),
        ("println", "other", True),
    ],
)
def test_code_words(word: str, language: str, expected: bool) -> None:
    assert is_code_word(word, Piece(0, len(word), "name", language)) is expected


LETTERS = st.from_regex(r"(?:[xQ]q[A-Za-z0-9é]{0,7}|[1-9][qzx][0-9a-z]{0,3})", fullmatch=True)
DIGITS = st.from_regex(r"[1-9][0-9]{0,7}", fullmatch=True)
OPAQUE = re.compile(
    r"(?<![\w\\])(?:Elena|Marsh|Halvorsen|elena_marsh|elenaMarsh|owner|notes|staff|card|\d+)(?!\w)"
)
TEXTS = [lead + code + end_of(lead) for lead, code, _ in CASES.values()]


PARTS = ["```", "~~~", "\n", "\r\n", "`", '"', "'", '"""', "{", "}", "[", "]", "<", "</", ">", "\\"]
PARTS += [
    "<!--",
    "/*",
    "#",
    "--",
    ",",
    ";",
    ":",
    "=",
    "(",
    ")",
    " ",
    "\t",
    "- ",
    "$ ",
    "f",
    "x",
    "7",
]
PARTS += [
    "\0",
    "\ud800",
    "é",
    "SELECT ",
    " FROM ",
    "def ",
    "curl ",
    "|",
    "${",
    "json",
    "python",
    ".",
]
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


@given(st.one_of(MESSY, st.text()))
def test_pieces_ascend_and_never_fail(text: str) -> None:
    found = pieces(text)
    assert all(0 <= p.start < p.end <= len(text) for p in found)
    assert all(a.end <= b.start for a, b in pairwise(found))


TAGS = ["python", "js", "json", "sql", "yaml", "csv", "bash", "html", "toml", "go", "zed", ""]


@given(st.sampled_from(TAGS), MESSY)
def test_an_open_fence_with_a_tag_never_fails(tag: str, body: str) -> None:
    found = pieces(f"```{tag}\n{body}")
    assert all(p.start < p.end for p in found)
    assert all(a.end <= b.start for a, b in pairwise(found))


HOSTILE = [
    "```\n",
    "`",
    '{"',
    '{"a":',
    "<a ",
    "<!--",
    "</a>",
    '"',
    "'",
    "\\'",
    "/*",
    "a.",
    "((",
    "- ",
]
HOSTILE += [
    "SELECT ",
    "UPDATE x ",
    "x=",
    "x: ",
    "a,b\n",
    "f(",
    ")",
    '"""',
    "${",
    "[[",
    "\n\n",
    "   ",
]


@pytest.mark.parametrize("part", HOSTILE)
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


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("   at Quarry.Ketch.Program.Main(String[] args) in D:\\a\\Program.cs:line 19", "Quarry"),
        ("\tat org.quarry.Ketch.run(Ketch.java:57)", "quarry"),
        ("    at Object.quarry (/srv/app/index.js:10:5)", "quarry"),
        ('  File "/srv/quarry/report.py", line 4, in total', "total"),
        ("server {\n  quarry_body_size 64m;\n}", "quarry_body_size"),
    ],
)
def test_traces_and_blocks_are_code(text: str, name: str) -> None:
    role, _ = role_of(text, name) or ("prose", "")
    assert role == "name"


@pytest.mark.parametrize(
    "text", ["at Quarry (the big one) we met", "at Ketch: 10 people", "See you at Ketch.\nBye"]
)
def test_prose_that_begins_with_at_is_no_trace(text: str) -> None:
    assert pieces(text) == ()
