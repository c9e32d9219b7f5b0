"""Margins of lines, texts inside of texts, and rows of data."""

from __future__ import annotations

import json
import re

import pytest

from sanitizer import Policy, Sanitizer
from sanitizer.detect import units
from sanitizer.detect.detector import Finding, Reading
from sanitizer.text.layout import Layout, margins

ROWS = """id,name,balance,joined
5561,Marit Solberg,1200.50,2021-03-04
5562,Bo Lindqvist,20.00,2022-11-30"""
PEOPLE = """id,name,email,phone,plan,balance,joined
7355610,Marit Solberg,marit.solberg@quaysidefreight.com,+47 912 34 567,gold,1200.50,2021-03-04
7355620,Bo Lindqvist,bo@lindqvist.se,+46 70 123 45 67,silver,20.00,2022-11-30"""
DIFF = """diff --git a/x.csv b/x.csv
index 83db48f..bf2a5cc 100644
--- a/x.csv
+++ b/x.csv
@@ -1,3 +1,3 @@ head
 id,name,balance,joined
-5561,Marit Solberg,1200.50,2021-03-04
+5561,Marit Solberg,1300.50,2021-03-04
 5562,Bo Lindqvist,20.00,2022-11-30
 not a row of it"""
KEY = """-----BEGIN RSA PRIVATE KEY-----
MIIEowIBAAKCAQEAu1SU1LfVLPHCozMxH2Mo4lgOEePzNm0tRgeLezV6ffAt0gun
-----END RSA PRIVATE KEY-----"""


def numbered(text: str, form: str, first: int = 1) -> str:
    return "\n".join(form.format(n) + line for n, line in enumerate(text.split("\n"), first))


@pytest.mark.parametrize("form", ["{}\t", "{:6}\t", "{:6}→", "{}: ", "{}:", "{:3} | ", "L{}: "])
def test_numbers_of_lines_are_margins_and_rows_are_read_without_them(form: str) -> None:
    first = 1 if form == "{}\t" else 9
    text = numbered(ROWS, form, first)
    assert len(margins(text)) == 3
    sanitizer = Sanitizer(policy="code")
    sent = sanitizer.sanitize(text, role="tool").text
    begins = [len(form.format(n)) for n in (first + 1, first + 2)]
    assert [line.index("<") for line in sent.split("\n")[1:]] == begins
    assert not [part for part in ("5561", "Marit", "1200.50", "2021", "Lindqvist") if part in sent]
    assert sanitizer.restore(sent) == text


@pytest.mark.parametrize("text", ["5561\tMarit\n5572\tBo", "12:30 lunch\n13:00 talk", "7: x"])
def test_other_numbers_at_the_beginning_of_lines_are_no_margins(text: str) -> None:
    assert margins(text) == []


def test_signs_of_a_diff_stay_and_its_head_says_how_many() -> None:
    assert [DIFF[a:b] for a, b in margins(DIFF)][1:] == ["@@ -1,3 +1,3 @@", " ", "-", "+", " "]
    sent = Sanitizer(policy="code").sanitize(DIFF, role="tool").text
    head, *rows = sent.split("\n")[4:]
    assert head == "@@ -1,3 +1,3 @@ head"
    assert [row[:4] for row in rows] == [" id,", "-<ID", "+<ID", " <ID", " not"]


def test_a_key_of_several_lines_does_not_swallow_their_numbers() -> None:
    sanitizer = Sanitizer(policy="code")
    sent = sanitizer.sanitize(numbered(KEY, "{:6}\t", 7), role="tool").text
    assert [line[:12] for line in sent.split("\n")] == [f"     {n}\t<KEY_" for n in (7, 8, 9)]
    assert sanitizer.restore(sent.split("\n")[1][7:]) == KEY.split("\n")[1]


@pytest.mark.parametrize(
    "around",
    [
        lambda t: json.dumps({"chunk": "37a7a9", "code": 0, "out": t}),
        "<content>\n{}\n</content>".format,
    ],
)
def test_a_file_inside_of_json_or_tags_is_read_as_a_file(around: object) -> None:
    assert callable(around)
    text = around(ROWS)
    assert ROWS in [layer.text.rstrip("\n") for layer in Layout.of(text).layers]
    sanitizer = Sanitizer(policy="code")
    sent = sanitizer.sanitize(text, role="tool").text
    for part in ("5561", "Marit", "1200.50", "2021-03-04", "Lindqvist", "5562"):
        assert part not in sent
    assert sent.startswith(text[:30].split("id,")[0])
    assert sanitizer.restore(sent) == text


def test_rows_of_data_are_treated_as_guarded_and_other_words_are_not() -> None:
    sanitizer = Sanitizer(policy="code")
    people = (
        '[{"name": "Marit Solberg", "balance": 1200.5}, {"name": "Bo Lindqvist", "balance": 20}]'
    )
    sent = sanitizer.sanitize(people, role="tool").text
    assert "1200.5" not in sent
    assert sanitizer.restore(sent) == people
    package = '{"name": "tool", "version": "1.2.3", "author": "Marit Solberg <marit@example.org>"}'
    sent = sanitizer.sanitize(package, role="tool").text
    assert '"version": "1.2.3"' in sent
    assert "Marit" not in sent
    metrics = "service,p50_ms,p99_ms\nauth,12.4,88.1\nsearch,44.9,310.2\n"
    assert sanitizer.sanitize(metrics, role="tool").text == metrics


@pytest.mark.parametrize(
    "around",
    ["{}\n{}", "{}\n\n{}\n", "{1}\n{0}", "<out>\n{}\n{}\n</out>"],
)
def test_what_stands_beside_rows_is_read_without_them(around: str) -> None:
    public = "Process Group PGID: 16395\nlistening on port 48761"
    sent = Sanitizer(policy="code").sanitize(around.format(PEOPLE, public), role="tool").text
    assert public in sent
    private = "Customer 4711832 of Brightwater Labs complained, ask Wendell."
    sent = Sanitizer(policy="code").sanitize(around.format(PEOPLE, private), role="tool").text
    assert re.search(r"Customer <ID_\w+> of <ORGANIZATION_\w+> complained, ask <PERSON_", sent)
    assert not [name for name in ("7355610", "Solberg", "20.00") if name in sent]


@pytest.mark.parametrize("form", ["{}\t", "{:6}\t", "{}: ", "{:3} | "])
def test_rows_with_margins_are_left_out_as_a_whole(form: str) -> None:
    text = numbered(f"{PEOPLE}\n&amp;,b@example.org,c@example.org,+47 912 34 567", form)
    result = Sanitizer(policy="code").sanitize(text, role="tool")
    cells = {cell for line in PEOPLE.split("\n") for cell in line.split(",")}
    cells |= {"b@example.org", "c@example.org"}
    assert {each.original for each in result.replacements} <= cells
    assert len(result.replacements) >= 14


def test_records_of_a_list_are_left_out_and_what_is_around_them_is_read() -> None:
    people = [{"name": "Marit Solberg", "order": 88123}, {"name": "Bo Lindqvist", "order": 88124}]
    text = json.dumps({"people": people, "pid": 48213, "by": "Wendell Achebe"}, indent=1)
    sanitizer = Sanitizer(policy="code")
    sent = sanitizer.sanitize(text, role="tool").text
    assert '"pid": 48213' in sent
    assert not [name for name in ("Solberg", "Lindqvist", "88124", "Achebe") if name in sent]
    assert sanitizer.restore(sent) == text
    alone = json.dumps(people)
    assert "88123" not in sanitizer.sanitize(alone, role="tool").text


@pytest.mark.parametrize(("word", "stays"), [("babaf03", True), ("1.2.3", True), ("Fabia", False)])
def test_what_a_machine_drew_is_no_name(word: str, stays: bool) -> None:
    policy = Policy.preset("code")
    document = units.document(f"{word} fixed it", policy)
    reading = Reading((Finding(0, len(word), "PERSON", 0.99, False),))
    hidden = units.segmented(document, policy, reading, lambda forms: {}).units
    assert (not hidden) == stays


def test_a_row_that_was_copied_alone_is_a_row() -> None:
    sanitizer = Sanitizer(policy="code")
    table = sanitizer.sanitize(PEOPLE, role="tool").text.split("\n")
    around = "# 2022-01-31\n{}\ncall(1,2,3,4)\n".format
    sent = sanitizer.sanitize(around(PEOPLE.splitlines()[2]), role="tool")
    assert sent.text == around(table[2])
    metrics = "auth,12.4,88.1,2022-11-30"
    assert Sanitizer(policy="code").sanitize(metrics, role="tool").text == metrics


@pytest.mark.parametrize("as_name", [True, False])
def test_a_docstring_speaks_of_its_function(as_name: bool) -> None:
    policy = Policy.preset("code")
    text = f'{PEOPLE}\n\ndef mark(rows):\n    """Mark every row as seen."""\n    return rows\n'
    document = units.document(text, policy)
    assert document.layout is not None
    said = ["Mark"] if as_name else ["mark", "Mark"]  # what a reader takes for a person
    places = [(text.index(word), text.index(word) + 4) for word in said]
    found = tuple(Finding(*place, "PERSON", 0.99, False) for place in places)
    reading = Reading(found, pieces=document.layout.pieces())
    hidden = units.segmented(document, policy, reading, lambda forms: {}).units
    assert [unit.text for unit in hidden if unit.text in said] == ([] if as_name else said)


def test_what_is_no_json_or_toml_value_gets_no_quotes() -> None:
    text = "[db]\nhost = 10.20.3.44\nport = 5432\n"
    sent = Sanitizer(policy="code").sanitize(text, role="tool").text
    assert sent.startswith("[db]\nhost = <IP_")
    assert sent.endswith(">\nport = 5432\n")


def test_texts_of_the_system_lose_names_alone() -> None:
    policy = Policy.preset("code")
    assert policy.roles == {"system": "names", "developer": "names"}
    named = policy.names_only()
    assert set(named.treatments) == {"PERSON", "ORGANIZATION"}
    assert not named.rows
    assert not policy.left
    assert not policy.drawn


def test_a_known_number_is_hidden_where_nothing_tells_what_it_is() -> None:
    sanitizer = Sanitizer(policy="code")
    table = "id,name,balance\n7355610,Marit Solberg,1200.50\n7355620,Bo Lindqvist,20.00\n"
    assert "7355620" not in sanitizer.sanitize(table, role="tool").text
    alone = "# note\n7355620,Bo Lindqvist,20.00,2022-11-30\n"
    assert "7355620" not in sanitizer.sanitize(alone, role="tool").text
