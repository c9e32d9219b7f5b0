"""Labelled texts, and what is counted in them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sanitizer import Sanitizer
from sanitizer.identifiers.rows import KINDS
from sanitizer.lm.reader import CLASSES
from sanitizer.risk import evaluate, labelled_texts
from sanitizer.risk.evaluation import (
    BESIDE,
    OTHERS,
    TASKS,
    TOLD,
    UNTOUCHED,
    Counts,
    Stretch,
    Treated,
    counted,
    hidden_in,
    summed,
    words_in,
)
from sanitizer.risk.labelled import LabelledText, unmarked
from sanitizer.testing import SeededSource

MARKED = (
    "⟪Summarise⟫ this: Dr ⟦PERSON/f:Elvane Morrux⟧ owes ⟦MONEY/n:$41,500⟧ since the "
    "⟦DATE:14th of March⟧ and ⟦FACT:lost the job⟧."
)


def text_of(marked: str = MARKED) -> LabelledText:
    return LabelledText(*unmarked(marked))


def done(text: str, *words: str, released: str = "<TERM_1>", warned: str = "") -> Treated:
    """As if the first occurrence of each had been replaced."""
    places = sorted((text.index(word), text.index(word) + len(word)) for word in words)
    at = text.index(warned)
    told = ((at, at + len(warned)),) if warned else ()
    return Treated(tuple(Stretch(*place, released) for place in places), 0.1, told)


def counts_of(text: LabelledText, treated: Treated, hidden: Sequence[str]) -> Counts:
    places = [(text.text.index(word), text.text.index(word) + len(word)) for word in hidden]
    return counted(text, treated, places)


HIDDEN = ("Elvane", "Morrux", "41,500", "14th", "March")


def test_a_span_is_whole_if_each_of_its_hidden_words_was_replaced() -> None:
    text = text_of()
    some = counts_of(text, done(text.text, "Elvane", "$41,500", "14th", "March"), HIDDEN)
    assert some["names, whole"] == (0, 1)
    assert some["names, touched"] == (1, 1)
    assert some["numbers, whole"] == (2, 2), '"of" is seen anyway'
    assert some["all but facts, whole"] == (2, 3)
    assert some["MONEY, whole"] == (1, 1)


def test_a_part_of_a_word_is_touched_and_not_whole() -> None:
    text = text_of()
    some = counts_of(text, done(text.text, "Elvane Morr"), HIDDEN)
    assert (some["names, whole"], some["names, touched"]) == ((0, 1), (1, 1))


def test_a_span_of_visible_words_is_whole_if_all_of_them_were_replaced() -> None:
    text = text_of()
    part = counts_of(text, done(text.text, "job", warned="lost the"), HIDDEN)
    assert (part["facts, whole"], part["facts, touched"], part[TOLD]) == ((0, 1), (1, 1), (1, 1))
    told = counts_of(text, done(text.text, warned="the job"), HIDDEN)
    assert (told["facts, touched"], told[TOLD]) == ((0, 1), (0, 1))
    assert counts_of(text, done(text.text, "lost the job"), HIDDEN)["facts, whole"] == (1, 1)


def test_visible_words_beside_a_span_are_counted_apart() -> None:
    text = text_of("Ask the Dr ⟦PERSON:Morrux⟧ about Quorn today.")
    hidden = ("Morrux", "Quorn")
    found = counts_of(text, done(text.text, "the Dr Morrux about Quorn today"), hidden)
    assert found[BESIDE] == (3, 6), "the, Dr, about"
    assert found[OTHERS] == (2, 6), "Quorn is hidden, and today stands behind it"
    alone = counts_of(text, done(text.text, "the"), hidden)
    assert (alone[BESIDE], alone[OTHERS]) == ((0, 6), (1, 6))


def test_a_word_that_was_given_back_is_not_changed() -> None:
    text = text_of("⟪Compare⟫ the bills")
    found = counts_of(text, done(text.text, "Compare the", released="compare <TERM_1>"), ())
    assert found[TASKS] == (1, 1)
    assert found[OTHERS] == (1, 3)


def test_texts_with_nothing_private_count_if_anything_was_replaced() -> None:
    text = text_of("Nothing here")
    assert counts_of(text, done(text.text), ())[UNTOUCHED] == (0, 1)
    assert counts_of(text, done(text.text, "Nothing"), ())[UNTOUCHED] == (1, 1)
    assert UNTOUCHED not in counts_of(text_of(), done("", ""), ())


def test_each_character_is_a_word_where_there_are_no_blanks() -> None:
    assert [word[0] for word in words_in("東京に Anna")] == [0, 1, 2, 4]
    assert list(words_in("don't", 4)) == [(4, 5)]


def test_what_the_view_hides_is_identifiers_and_words_on_no_list() -> None:
    text = "Please write to Elvane Morrux, anna@example.org, about M\\u00fcller"
    found = [text[start:end] for start, end in hidden_in(text, KINDS)]
    assert found == ["Elvane", "Morrux", "anna@example.org", "M\\u00fcller"]


@given(st.lists(st.tuples(st.text("ab ⟪x", max_size=4), st.sampled_from(CLASSES)), max_size=5))
def test_marks_are_taken_out_and_their_places_kept(parts: list[tuple[str, str]]) -> None:
    plain = [(before.replace("⟪", ""), kind) for before, kind in parts]
    marked = "".join(f"{before}⟦{kind}/f/n:some words⟧" for before, kind in plain)
    text, spans, tasks = unmarked(f"⟪{'t'}⟫{marked}.")
    assert text == "t" + "".join(f"{before}some words" for before, _ in plain) + "."
    assert [(text[a:b], kind) for a, b, kind in spans] == [("some words", k) for _, k in plain]
    assert tasks == ((0, 1),)


@pytest.mark.parametrize("marked", ["⟦NOTHING:x⟧", "⟦PERSON:x", "⟪a⟦PERSON:x⟧⟫", "x⟫"])
def test_a_wrong_mark_is_refused_without_showing_the_text(marked: str, tmp_path: Path) -> None:
    path = tmp_path / "some.txt"
    path.write_text(f"### a | en | chat\nfine\n\n### b | en | chat\n{marked} secret\n", "utf-8")
    with pytest.raises(ValueError, match=r"^some.txt, text 2: [^x]*$"):
        labelled_texts(path)


def test_headings_tell_language_kind_and_origin(tmp_path: Path) -> None:
    path = tmp_path / "some.txt"
    path.write_text(
        "### a-1 | de | mail | Yoruba\nx\n### Notes\ny\n\n### b | en | chat\nz", "utf-8"
    )
    first, second = labelled_texts(path)
    assert (first.name, first.language, first.kind, first.origin) == ("a-1", "de", "mail", "Yoruba")
    assert (first.text, second.text, second.origin) == ("x\n### Notes\ny", "z", "")
    path.write_text("### a | b | c\nx\n\n### a | b | c\ny\n", "utf-8")
    with pytest.raises(ValueError, match="text 2: it has the ID of another one"):
        labelled_texts(path)
    path.write_text("no heading", "utf-8")
    with pytest.raises(ValueError, match="no text; each begins with"):
        labelled_texts(path)


def test_lines_of_json_have_spans_by_offsets(tmp_path: Path) -> None:
    path = tmp_path / "some.jsonl"
    row = {"text": "Ask Ida Lund", "spans": [[4, 12, "PERSON"]], "language": "en"}
    path.write_text(f"{json.dumps(row)}\n\n{json.dumps({'text': 'x'})}\n", "utf-8")
    first, second = labelled_texts(path)
    assert [first.text[a:b] for a, b, _ in first.spans] == ["Ida Lund"]
    assert (first.language, second.spans) == ("en", ())
    assert "Ida" not in repr(first)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("{", "no line of JSON"),
        ('{"texts": "x"}', 'no "text"'),
        ('{"text": "secret", "spans": [[0, 9, "PERSON"]]}', "inside their text"),
        ('{"text": "secret", "spans": [[0, 3, "PERSON"], [2, 4, "PLACE"]]}', "apart"),
        ('{"text": "secret", "spans": [[0, 3, "NAME"]]}', "one of the classes"),
        ('{"text": "secret", "spans": [[0, "x", "PERSON"]]}', "spans"),
        ('{"text": "secret", "spans": 3}', "spans"),
    ],
)
def test_a_wrong_line_is_named_and_not_shown(row: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "some.jsonl"
    path.write_text(f'{{"text": "fine"}}\n{row}\n', "utf-8")
    with pytest.raises(ValueError, match=rf"^some.jsonl, text 2: .*{said}") as caught:
        labelled_texts(path)
    assert "secret" not in str(caught.value)


def test_a_setting_is_measured_whole_by_language_and_by_origin() -> None:
    texts = [
        LabelledText(*unmarked("Mail ⟦IDENTIFIER:anna@example.org⟧ now"), language="en"),
        LabelledText(*unmarked("Schreib an ⟦PERSON:Märta⟧"), language="de", origin="Swedish"),
    ]
    sanitizer = Sanitizer(policy="identifiers", budget=1.0)
    found = evaluate(sanitizer, texts, source=SeededSource(1))
    assert (found.policy, found.n_texts, found.n_refused) == ("identifiers", 2, 0)
    assert found.counts["identifiers, whole"] == (1, 1)
    assert found.counts["names, whole"] == (0, 1)
    assert found.languages["de"]["names, whole"] == (0, 1)
    assert list(found.origins) == ["Swedish"]
    assert summed(found.languages.values()) == found.counts
    assert "Märta" not in json.dumps(found.as_dict(), ensure_ascii=False)
    assert sanitizer.spent == 0
    with pytest.raises(ValueError, match="no text to measure"):
        evaluate(sanitizer, [])


def test_a_text_that_the_policy_refuses_is_counted_apart() -> None:
    sanitizer = Sanitizer(policy={"base": "identifiers", "refuse": {"words": ["secret"]}})
    found = evaluate(sanitizer, [LabelledText("fine", ()), LabelledText("a secret", ())])
    assert (found.n_texts, found.n_refused) == (1, 1)
