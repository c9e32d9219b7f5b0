"""The preset deidentify, end to end: what leaves, what comes back, what still parses."""

from __future__ import annotations

import ast
import csv
import io
import json
import re
import sqlite3
import tomllib
from collections.abc import Callable
from pathlib import Path
from xml.etree.ElementTree import fromstring

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sanitizer import Policy, PolicyError, Sanitizer
from sanitizer.detect.classes import class_members
from sanitizer.lm.loading import Models
from sanitizer.lm.masked import OnnxMaskedLM
from sanitizer.testing.models import SeededSource, ToyReader
from tests.conftest import Told

ROOT = Path(__file__).parents[2]
CASES = tomllib.loads(Path(__file__).with_name("cases.toml").read_text("utf-8"))
MAIL = """Hi team,

please rewrite this mail so that it sounds friendlier, in at most 100 words:

Dear Mr Okonkwo-Reyes,

on 12 March 2024 you bought 3 licences of Quillmark Pro for 4,250 euros from Halden Logistics GmbH.
Since Tuesday 14 May your colleague Priya calls me twice a day at +44 20 7946 0321.

Kind regards
Elena Marsh
Accounts, Brightwater Ltd, Leeds"""


PARTS = """Elena Marsh|Otto|Leeds|please|the report|4,250 euros|on 12 March|acme_payroll_v2|HX-4471
joe@x.org|qzzk|PERSON_1|<PERSON_1>|東京|`Otto`|is|\n|\ud800|C++|3 sentences|in Ulm.""".split("|")


@pytest.fixture(scope="module")
def sanitizer() -> Sanitizer:
    return Sanitizer(policy="deidentify", threads=1)


def test_who_and_how_much_are_hidden_and_the_task_stays(sanitizer: Sanitizer) -> None:
    out = sanitizer.sanitize(MAIL)
    for private in ("Okonkwo", "Reyes", "4,250", "Halden", "Priya", "7946", "Marsh", "Leeds"):
        assert private not in out.text
    for task in ("rewrite this mail", "friendlier", "at most 100 words"):
        assert task in out.text
    assert sanitizer.restore(out.text) == MAIL


def test_the_record_states_the_claim(sanitizer: Sanitizer) -> None:
    record = sanitizer.sanitize(MAIL).record
    assert (record.detector, record.language, record.certified) == ("local", "en", True)
    assert record.epsilon_per_unit == record.epsilon_total == record.charged == 0.0
    assert record.n_things >= 8
    assert "read the same" in record.neighboring_relation
    assert record.model_sha256


def test_equal_things_have_equal_stand_ins_in_all_messages(sanitizer: Sanitizer) -> None:
    one = sanitizer.derive(conversation="equal")
    first = one.sanitize("Please call Elena Marsh tomorrow.").text
    second = one.sanitize("What did Elena Marsh say?").text
    (stand_in,) = re.findall(r"<PERSON_[0-9]+>", first)
    assert stand_in in second


def test_another_thing_that_is_read_the_same_leaves_the_same_bytes(sanitizer: Sanitizer) -> None:
    """The claim: epsilon 0 within a class."""
    texts = [
        f"Please tell my boss {name} that I earn {sum_} at {firm} since 2 March."
        for name, sum_, firm in [
            ("Elena Marsh", "4,250 euros", "Halden Logistics GmbH"),
            ("Otto Quill", "2,900 euros", "Brennerhof Logistics GmbH"),
            ("Priya Raman", "7,115 euros", "Quorn Logistics GmbH"),
        ]
    ]
    released = {sanitizer.derive(conversation=text).sanitize(text).text for text in texts}
    assert len(released) == 1


@settings(deadline=None)
@given(st.lists(st.sampled_from(PARTS), max_size=14))
def test_what_went_to_the_vault_comes_back_byte_for_byte(
    sanitizer: Sanitizer, parts: list[str]
) -> None:
    text = " ".join(["please write this about the report:", *parts])
    one = sanitizer.derive(conversation=text)
    assert one.restore(one.sanitize(text).text) == text


def fenced(text: str) -> str:
    return text.split("```")[1].partition("\n")[2]


def test_json_stays_json(sanitizer: Sanitizer) -> None:
    data = {"first_name": "Elena", "employer": "Brightwater", "salary": 52000, "visits": 3}
    out = sanitizer.sanitize("Convert this to CSV:\n```json\n" + json.dumps(data) + "\n```")
    assert set(json.loads(fenced(out.text))) == set(data)
    assert "Elena" not in out.text
    assert "52000" not in out.text


@pytest.mark.parametrize(
    "value",
    [
        "jos\u00e9.14@example.co.uk",
        "\u00a351,419 or 20 \u20ac",
        "Zo\u0308e\u2019s \U0001f600 \u2013 Zo\u00eb",
    ],
)
def test_json_with_escapes_stays_json(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    """What is hidden begins and ends beside an escape, never in it."""
    monkeypatch.setattr(Models, "reader", lambda self: ToyReader("PERSON"))
    sanitizer, text = Sanitizer(policy="deidentify"), json.dumps({"note": value})
    out = sanitizer.sanitize(text)
    assert isinstance(json.loads(out.text), dict)
    assert sanitizer.restore(out.text) == text


def rows(text: str) -> None:
    assert {len(row) for row in csv.reader(io.StringIO(text.strip()))} == {3}


PARSERS: dict[str, Callable[[str], object]] = {
    "python": ast.parse,
    "json": json.loads,
    "toml": tomllib.loads,
    "xml": fromstring,
    "csv": rows,
}


@pytest.mark.parametrize("language", PARSERS)
def test_code_stays_code_whatever_words_are_found(told: Told, language: str) -> None:
    parse, code = PARSERS[language], CASES["code"][language]
    parse(code)
    words, source = sorted(set(re.findall(r"[^\W_]+", code))), SeededSource(1)
    for number in range(24):
        text = f"Why?\n```{language}\n{code}\n```" if number % 2 else code
        found = [word for word in words if not source.randbelow(3)]
        told(**{kind: " ".join(found[i::3]) for i, kind in enumerate(("PERSON", "NUMBER", "DATE"))})
        sanitizer = Sanitizer(policy="deidentify")
        out = sanitizer.sanitize(text)
        parse(fenced(out.text) if number % 2 else out.text)
        assert sanitizer.restore(out.text) == text


def test_a_tag_is_not_taken_for_a_placeholder(told: Told) -> None:
    told(PERSON="setQzzk")
    sanitizer = Sanitizer(policy="deidentify")
    text = "Why?\n```jsx\nreturn <setQzzk>{p.name}</setQzzk>;\n```"
    out = sanitizer.sanitize(text)
    assert "setQzzk" not in out.text
    assert "```jsx" in out.text
    assert sanitizer.restore(out.text) == text


def test_sql_stays_sql(sanitizer: Sanitizer) -> None:
    query = "SELECT name FROM employees WHERE city = 'Leeds' AND name = 'Elena Marsh'"
    out = sanitizer.sanitize(f"Explain this query:\n```sql\n{query}\n```")
    database = sqlite3.connect(":memory:")
    database.execute("CREATE TABLE employees (name, city)")
    database.execute("EXPLAIN " + fenced(out.text))
    assert "Marsh" not in out.text


def test_a_text_in_no_known_language_is_read_unless_a_policy_refuses_it(
    sanitizer: Sanitizer,
) -> None:
    text = "我的父亲彼得患有肝炎，住在利兹。请给医生写一封信。"
    out = sanitizer.sanitize(text)
    assert (out.record.language, sanitizer.restore(out.text)) == (None, text)
    rules = {"base": "deidentify", "refuse": {"unlisted_languages": True}}
    with pytest.raises(PolicyError, match="language without a list"):
        sanitizer.derive(policy=rules).sanitize(text)


def test_german_is_told_in_the_record(sanitizer: Sanitizer) -> None:
    text = "Bitte schreiben Sie mir einen kurzen Brief an meinen Vermieter, Herrn Krause aus Ulm."
    out = sanitizer.sanitize(text)
    assert out.record.language == "de"
    assert "Krause" not in out.text


def test_facts_in_everyday_words_are_warned_about(sanitizer: Sanitizer) -> None:
    out = sanitizer.sanitize("Please help me. He hits me every night and I cannot pay the rent.")
    assert out.warnings
    assert all(warning.kind == "fact" for warning in out.warnings)


@pytest.mark.parametrize("policy", ["deidentify", "balanced"])
def test_a_warning_names_the_phrase_that_tells(told: Told, policy: str) -> None:
    told(FACT="lost my job hide")
    text = "At marsh@northgate.example, where I lost my job, ask for Jo. The kids hide there."
    out = Sanitizer(policy=policy).sanitize(text)
    assert [text[each.start : each.end] for each in out.warnings] == ["lost my job", "hide"]
    assert "lost my job, ask" in out.text


@pytest.mark.parametrize(
    "text",
    [
        "Write a function that sorts a list of numbers. It should be fast. Explain how it works.",
        "Translate into German: the meeting is on Friday. Bring the reports.",
        "Suggest a title and three short headings for a page about bread.",
    ],
)
def test_a_text_about_nobody_is_not_warned_about(sanitizer: Sanitizer, text: str) -> None:
    assert sanitizer.sanitize(text).warnings == ()


def test_a_class_can_be_refused_or_hidden_by_a_policy_file(tmp_path: Path) -> None:
    path = tmp_path / "clinic.toml"
    path.write_text('base = "deidentify"\n[classes]\nTREATMENT = "vault"\nPLACE = "refuse"\n')
    clinic = Sanitizer(policy=path, threads=1)
    assert "sertraline" not in clinic.sanitize("I take sertraline every morning.").text
    with pytest.raises(PolicyError, match="refuses texts with PLACE"):
        clinic.sanitize("I live in Leeds and work at home.")


def test_the_readme_shows_what_leaves(model: OnnxMaskedLM) -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    shown = re.findall(r"^(you write|API sees|API answers|you read) +(.*)$", readme, re.M)
    lines = {name: line.replace("_48213_", "_") for name, line in shown}
    s = Sanitizer(model=model)
    assert s.sanitize(lines["you write"]).text == lines["API sees"]
    assert s.restore(lines["API answers"]) == lines["you read"]


def test_the_readme_shows_what_is_drawn(model: OnnxMaskedLM) -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    ((written, shown),) = re.findall(r'--policy guarded "(.*)"\n# (.*)$', readme, re.M)
    leaves = [Sanitizer(policy="guarded", model=model).sanitize(written) for _ in range(4)]
    (drawn,) = [r for r in leaves[0].replacements if r.kind == "CONDITION"]
    before, after = leaves[0].text[: drawn.start], leaves[0].text[drawn.end :]
    shown = shown.replace("_48213_", "_")
    name = shown.removeprefix(before).removesuffix(after)
    assert name in class_members("CONDITION"), "whatever was drawn, the rest is as shown"
    assert shown in [each.text for each in leaves], "what is shown is what most readers will see"


def test_amounts_pass_where_the_policy_lets_them(model: OnnxMaskedLM) -> None:
    """Sums were terms then, so that the way that the documentation names did not work."""
    base = {"base": "deidentify", "classes": {"MONEY": "pass"}}
    s = Sanitizer(policy=Policy.load(base), model=model)
    out = s.sanitize("Sort by price: Elena Marsh owes £2,310.00, Otto Quill owes £95.50.")
    assert "£2,310.00" in out.text
    assert "£95.50" in out.text
    assert "Marsh" not in out.text
    assert out.hints == ()


def test_values_of_an_ini_file_get_no_quotes(told: Told) -> None:
    """Such a file has bare words, which TOML has not: quotes would be part of the value."""
    told(PRODUCT="db")
    s = Sanitizer(policy="deidentify")
    text = "Change the port:\n\n[db]\nhost = db-eu-1\nport = 5432\npassword = Tr0ub4dor&3\n"
    out = s.sanitize(text)
    assert '"' not in out.text
    assert "port = 5432" in out.text
    assert "Tr0ub4dor" not in out.text
    assert s.restore(out.text.replace("5432", "9090"), out) == text.replace("5432", "9090")


@pytest.mark.parametrize("policy", ["deidentify", "balanced"])
def test_a_part_of_a_name_belongs_to_it_though_it_reads_like_a_firm(
    told: Told, policy: str
) -> None:
    sanitizer = Sanitizer(policy=policy)
    told(PERSON="Peter Lund")
    first = sanitizer.sanitize("My father Peter Lund called the clinic.").text
    told(ORGANIZATION="Lund")
    text = "Write to Lund's insurer that it is still open."
    second = sanitizer.sanitize(text)
    (whole,), (part,) = (re.findall("<PERSON_[0-9_:a-z]+>", each) for each in (first, second.text))
    assert part == f"{whole[:-1]}:last>"
    assert sanitizer.restore(second.text, second) == text


@pytest.mark.parametrize("text", CASES["prompts_back"])
def test_what_was_replaced_comes_back_byte_for_byte(sanitizer: Sanitizer, text: str) -> None:
    out = sanitizer.sanitize(text)
    assert out.text != text
    assert sanitizer.restore(out.text, out) == text
