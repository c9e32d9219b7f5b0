"""How far findings reach into visible text."""

from __future__ import annotations

import pytest

from sanitizer.detect import public_forms
from sanitizer.detect.extents import Finding, joined, names_on
from sanitizer.detect.skeleton import skeleton
from sanitizer.detect.surroundings import is_of_model, names_in, of_calendar, posts_in


def things(text: str, kind: str) -> list[str]:
    """Return the things of a text if each hidden word of it has one class."""
    found = skeleton(text, public_forms())
    words = [
        (Finding(start, end, kind), number)
        for number, run in enumerate(found.runs)
        for start, end in ([(run.start, run.end)] if run.kind != "word" else run.words)
    ]
    return [text[each.start : each.end] for each in joined(found, words, ())]


@pytest.mark.parametrize(
    ("text", "kind", "expected"),
    [
        ("we met on 14 march at home", "DATE", ["14 march"]),
        ("we met on march 14 at home", "DATE", ["march 14"]),
        ("open since early 2019 only", "DATE", ["early 2019"]),
        ("at the end of 2019 again", "DATE", ["the end of 2019"]),
        ("see you at 5 pm please", "DATE", ["5 pm"]),
        ("it is 400 euros a month now", "MONEY", ["400 euros"]),
        ("it is CAD 3 million now", "MONEY", ["CAD 3 million"]),
        ("it is $20.50 an hour", "MONEY", ["$20.50"]),
        ("it is 9 g/l today", "NUMBER", ["9 g/l"]),
        ("it has been fourteen weeks now", "NUMBER", ["fourteen weeks"]),
        ("she is seventy eight", "NUMBER", ["seventy eight"]),
        ("she is twenty-one", "NUMBER", ["twenty-one"]),
        ("she is eighty one now", "NUMBER", ["eighty one"]),
        ("I saw seven one day", "NUMBER", ["seven"]),
        ("due on the twenty third of it", "DATE", ["twenty third"]),
        ("he comes wednesday at 7 sharp", "DATE", ["wednesday at 7 sharp"]),
        ("done.\nOPS-2291 there", "ID", ["OPS-2291"]),
        ("losing custody hearing soon", "FAMILY", ["losing custody hearing"]),
        ("the court interpreter said", "OCCUPATION", ["court interpreter"]),
        ("on beta blockers now", "TREATMENT", ["beta blockers"]),
        ("rows 12 34 there", "NUMBER", ["12", "34"]),
        ("it is NOK 480 000 now", "MONEY", ["NOK 480 000"]),
        ("home at half past three today", "DATE", ["half past three"]),
        ("logged 2031-04-05T06:17:08Z there", "DATE", ["2031-04-05T06:17:08Z"]),
        ("a retired dog groomer", "OCCUPATION", ["retired dog groomer"]),
        ("then groomer", "OCCUPATION", ["groomer"]),
        ("I would. Project Quornhoek starts", "PRODUCT", ["Project Quornhoek"]),
        ("call Baby Quornhoek now", "PERSON", ["Baby Quornhoek"]),
        ("we buy at QUORNHOEK ELECTRICAL now", "PERSON", ["QUORNHOEK ELECTRICAL"]),
        ("a Quornhoek bread maker is old", "PRODUCT", ["Quornhoek bread maker"]),
        ("a Quornhoek 900 bread maker", "PRODUCT", ["Quornhoek 900 bread maker"]),
        ("a quornhoek standing desk is old", "PERSON", ["quornhoek standing desk"]),
        ("she is at upper quornhoek now", "PLACE", ["upper quornhoek"]),
        ("she is at green quornhoek now", "ORGANIZATION", ["green quornhoek"]),
        ("join quornhoek rowing club now", "ORGANIZATION", ["quornhoek rowing club"]),
        ("at quornhoek's biscuit factory now", "PERSON", ["quornhoek's biscuit factory"]),
        ("from 20 Feb - 15 Mar now", "DATE", ["20 Feb", "15 Mar"]),
        ("from 3-5 May now", "DATE", ["3-5 May"]),
        ("it is 20 may. want it", "DATE", ["20 may"]),
        ("he waits at Quornhoek bus station now", "PLACE", ["Quornhoek bus station"]),
        ("ask Assurances Quornhoek now", "ORGANIZATION", ["Assurances Quornhoek"]),
        ("a bakery on Calle del Quornhoek", "PLACE", ["Calle del Quornhoek"]),
        ("| O. Quornhoek | is |", "PERSON", ["O. Quornhoek"]),
        ("we took vitamin A. Quornhoek left", "PERSON", ["Quornhoek"]),
        ("see CA/5521 there", "ID", ["CA/5521"]),
        ("a lapsed catholic", "BELIEF", ["lapsed catholic"]),
        ("has early-onset parkinson's", "CONDITION", ["early-onset parkinson's"]),
        ("has celiac disease", "CONDITION", ["celiac disease"]),
        ("at the Athletic Quornhoek today", "ORGANIZATION", ["Athletic Quornhoek"]),
        ("Dear Quornhoek", "ORGANIZATION", ["Quornhoek"]),
        ("call Nadia el-Zubari now", "PERSON", ["Nadia el-Zubari"]),
        ("call Pieter van den Quornhoek now", "PERSON", ["Pieter van den Quornhoek"]),
        (
            "from Quornhoek Garden Supplies plc today",
            "ORGANIZATION",
            ["Quornhoek Garden Supplies plc"],
        ),
    ],
)
def test_what_belongs_to_a_thing(text: str, kind: str, expected: list[str]) -> None:
    assert things(text, kind) == expected


@pytest.mark.parametrize(
    ("text", "kinds", "expected"),
    [
        ("Quornhoek Rose", ["ORGANIZATION", None], ["ORGANIZATION", "ORGANIZATION"]),
        ("Quornhoek rose", ["ORGANIZATION", None], ["ORGANIZATION", None]),
        ("Rose Quornhoek", [None, "ORGANIZATION"], ["ORGANIZATION", "ORGANIZATION"]),
        ("Rose Quornhoek", [None, "PLACE"], [None, "PLACE"]),
        ("Rose Quornhoek", ["PERSON", "PLACE"], ["PERSON", "PERSON"]),
        ("Rose Quornhoek", [None, "CONDITION"], [None, "CONDITION"]),
        ("Otto Quornhoek", ["PLACE", "PRODUCT"], ["PERSON", "PERSON"]),
        ("Zzyx Quornhoek", ["PLACE", "PRODUCT"], ["PLACE", "PRODUCT"]),
    ],
)
def test_a_capital_beside_a_name(
    text: str, kinds: list[str | None], expected: list[str | None]
) -> None:
    (run,) = skeleton(text, public_forms()).runs
    assert names_on(text, run, kinds) == expected


@pytest.mark.parametrize(
    ("text", "kind", "expected"),
    [
        ("our Head of Procurement", "PERSON", ["Head of Procurement"]),
        ("our Director of Veltrano", "PERSON", ["Director", "Veltrano"]),
        ("Anna of Procurement", "PERSON", ["Anna", "Procurement"]),
    ],
)
def test_a_post_takes_in_its_department_and_no_firm(
    text: str, kind: str, expected: list[str]
) -> None:
    assert things(text, kind) == expected


def test_a_name_ends_with_its_sentence() -> None:
    text = "we call Harrow Zemlin. Bram writes to J. Lund and St. Ebba now"
    assert things(text, "PERSON") == ["Harrow Zemlin", "Bram", "J. Lund", "St. Ebba"]


@pytest.mark.parametrize("other", ["M", "Zem"])
def test_the_class_of_a_place_does_not_depend_on_another_run(other: str) -> None:
    text = f"{other}, Quorn? {other}. Leeds now"
    found = skeleton(text, public_forms())
    at = text.index("Leeds")
    number = next(i for i, run in enumerate(found.runs) if run.start == at)
    assert list(joined(found, [(Finding(at, at + 5, "PERSON"), number)], ())) == [
        Finding(at, at + 5, "PLACE")
    ]


def test_firms_on_both_sides_of_a_word_are_one_if_written_alike() -> None:
    words = "quornhoek and Zzyx"
    assert things(words, "ORGANIZATION") == ["quornhoek", "Zzyx"]
    assert things(words.title().replace("And", "and"), "ORGANIZATION") == ["Quornhoek and Zzyx"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("12. Januar 2031", True),
        ("it was Weds, 28", True),
        ("Januar und Zzyx", False),
        ("Zzyx 12", False),
    ],
)
def test_a_month_beside_a_number(text: str, expected: bool) -> None:
    found = skeleton(text, public_forms())
    assert expected == any(
        of_calendar(found, number, text[run.start : run.end])
        for number, run in enumerate(found.runs)
    )


@pytest.mark.parametrize(
    ("text", "posts"),
    [
        ("I'm a primary school teacher now", ["primary school teacher"]),
        ("\ue000, \ufffc, stock controller, 38k", ["stock controller"]),
        ("our team lead \ue000 said", ["team lead"]),
        ("our SENCO, Mr A. \ue000, will", ["SENCO"]),
        ("the health visitor, \ue000.", ["health visitor"]),
        ("Regards\n\ue000\nHead of Export, \ufffc", ["Head of Export"]),
        ("Regards\n> \ue000\n> Customer Care Manager\n", ["Customer Care Manager"]),
        ("my production planner is leaving", ["production planner"]),
        ("\ufffc, \ufffc, student and part time", ["student"]),
        ('"position": "store keeper",', ["store keeper"]),
        ("You are a helpful assistant.", []),
        ("Act as a career coach for me.", []),
        ("Write a job advert for a care assistant.", []),
        ("What is a health visitor?", []),
        ("It is a password manager, and I am a dog owner.", []),
        ("I'm looking for a piano teacher.", []),
        ("VS Code is a code editor.", []),
    ],
)
def test_what_somebody_works_as_in_visible_words(text: str, posts: list[str]) -> None:
    assert [text[each.start : each.end] for each in posts_in(text)] == posts


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Yours, Paper and Stone bv", ["Paper and Stone bv"]),
        ("The Sales of it at Kitchen & More GmbH.", ["Kitchen & More GmbH"]),
        ('the model "Morning Light" is old', ["Morning Light"]),
        ("a mechanic at honest motors", ["honest motors"]),
        ("she lives on castle street now", ["castle street"]),
        ("keep asking mrs plum for it", ["plum"]),
        ("look at the local bakery, and turn from the main road into a side street", []),
        ("open it with ms word, at primary school", []),
        ("We are a Limited company", []),
    ],
)
def test_names_of_visible_words(text: str, names: list[str]) -> None:
    assert [text[each.start : each.end] for each in names_in(text)] == names


def test_a_number_behind_a_product_is_its_model_where_nothing_is_counted() -> None:
    for after, told in ((" bread maker", True), (".", True), (" times", False), (" \ufffc", False)):
        assert is_of_model(f"X 900{after}", 5, 5 + len(after)) is told
