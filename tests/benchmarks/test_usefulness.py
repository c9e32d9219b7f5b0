"""Usefulness: labelled prompts, what counts as hidden and as changed, and the floors."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.__main__ import COMMANDS
from benchmarks.common.machine import RESULTS
from benchmarks.report.usefulness import classes_table, files_table, intro, main_table
from benchmarks.usefulness import floors, run
from benchmarks.usefulness.measure import (
    Changes,
    Outcome,
    Stretch,
    counted,
    covering,
    groups_of,
    of_public,
    of_pupa,
    public_words,
    sentence_around,
    share,
    stretches_of,
    summary,
)
from benchmarks.usefulness.presets import Preset, known, warned_in
from benchmarks.usefulness.prompts import (
    CLASSES,
    DEVELOPMENT,
    FOREIGN,
    HALVES,
    OTHER_HANDS,
    SETS,
    Prompt,
    instructions,
    labelled,
    parsed,
    pupa,
    read,
)
from benchmarks.usefulness.tools import TOOLS
from sanitizer import Policy, Sanitizer
from sanitizer.pipeline.record import MOVED_BY_OTHERS
from sanitizer.results import Replacement, SanitizedText

ROOT = Path(__file__).parents[2]
PUBLIC = frozenset({"lost", "job", "summarise", "we", "list", "the"})
MARKED = (
    "⟪Summarise⟫ this: ⟦PERSON:Elena Marsh⟧ has ⟦CONDITION:type 2 diabetes⟧. "
    "She ⟦FACT:lost the job⟧.\n⟦PERSON:Marsh⟧ pays ⟦MONEY:$41,500⟧."
)


def prompt(marked: str = MARKED) -> Prompt:
    return parsed("x-1", "health", "chat", marked)


def outcome(text: str, *replaced: str, released: str = "<TERM_1>", **others: Any) -> Outcome:
    """As if a tool had replaced the first occurrence of each."""
    places = sorted((text.index(each), text.index(each) + len(each)) for each in replaced)
    return Outcome(tuple(Stretch(*place, released) for place in places), 0.001, **others)


def spans_of(found: Any, name: str) -> tuple[int, int, int]:
    n, hidden, in_part, *_ = found.spans[name]
    return n, hidden, in_part


def test_marks_are_taken_out_and_their_places_kept() -> None:
    found = prompt()
    written = [(s.label, found.text[s.start : s.end]) for s in found.spans]
    assert written == [
        ("PERSON", "Elena Marsh"),
        ("CONDITION", "type 2 diabetes"),
        ("FACT", "lost the job"),
        ("PERSON", "Marsh"),
        ("MONEY", "$41,500"),
    ]
    assert [found.text[slice(*task)] for task in found.tasks] == ["Summarise"]
    assert found.text.startswith("Summarise this: Elena Marsh has type 2 diabetes. She")


@pytest.mark.parametrize("marked", ["⟦NOTHING:x⟧", "⟦PERSON:x", "⟪a⟦PERSON:x⟧⟫", "x⟫"])
def test_a_wrong_mark_is_refused_without_showing_the_text(marked: str) -> None:
    with pytest.raises(ValueError, match=r"^prompt x-1: [^x]*$"):
        prompt(f"{marked} secret")


def test_two_prompts_of_one_name_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "some.txt"
    path.write_text("### a | b | c\nx\n\n### a | b | c\ny\n", "utf-8")
    with pytest.raises(ValueError, match="two prompts are called a"):
        read(path)


def test_each_half_holds_150_prompts_and_none_is_in_both() -> None:
    halves = [labelled(half) for half in HALVES]
    assert [len(half) for half in halves] == [150, 150]
    assert len({each.name for half in halves for each in half}) == 300
    assert {span.label for each in halves[0] for span in each.spans} == set(CLASSES)
    assert all(each.tasks for half in halves for each in half)
    with pytest.raises(ValueError, match="set must be one of"):
        labelled("other")


def test_the_sets_of_other_hands_and_the_foreign_one_are_apart_from_the_others() -> None:
    sizes = {name: len(labelled(name)) for name in (*OTHER_HANDS, FOREIGN)}
    assert sizes == {
        "second_held": 70,
        "second_open": 70,
        "third_held": 100,
        "third_open": 100,
        "fourth_held": 60,
        "fourth_open": 120,
        "foreign": 66,
    }
    every = [each for name in SETS for each in labelled(name)]
    assert len({each.name for each in every}) == len({each.text for each in every}) == len(every)
    assert Counter(each.topic for each in labelled(FOREIGN)) == {"de": 22, "fr": 22, "es": 22}


def test_the_development_set_shares_no_prompt_with_the_halves() -> None:
    found = labelled(DEVELOPMENT)
    others = [each for half in HALVES for each in labelled(half)]
    assert Counter(each.name[0] for each in found) == {"d": 120, "e": 30, "w": 30}
    assert not {each.name for each in found} & {each.name for each in others}
    assert not {each.text for each in found} & {each.text for each in others}
    assert {span.label for each in found for span in each.spans} == set(CLASSES)
    assert 25 <= sum(not each.spans for each in found) <= 45


def test_each_development_prompt_has_three_to_eight_task_words_outside_its_spans() -> None:
    for each in labelled(DEVELOPMENT):
        assert 3 <= len(each.tasks) <= 8, each.name
        places = sorted([*((s.start, s.end) for s in each.spans), *each.tasks])
        assert all(one[1] <= other[0] for one, other in pairwise(places)), each.name
        taken = [each.text[slice(*place)] for place in places]
        assert all(written == written.strip() for written in taken), each.name


def test_only_the_named_sets_and_presets_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "labelled", lambda name: labelled(name)[:2])
    parse = run.parser().parse_args
    options = parse(["--set", "dev", "--preset", "identifiers", "--set", "dev"])
    results = run.measured(options, {})
    assert set(results) & set(SETS) == {"dev"}
    assert results["dev"]["n_prompts"] == 2
    assert set(results["dev"]["tools"]) == {"identifiers"}
    assert set(results["sha256"]) == {*HALVES, "dev"}
    assert run.short(results).startswith("dev, identifiers: hidden ")
    assert "--set dev" in run.command(options, [])
    assert [run.sets_of(parse(given)) for given in ([], ["--open"], ["--quick"])] == [
        ["open", "held", *OTHER_HANDS, FOREIGN],
        ["open"],
        ["open"],
    ]


def test_a_prompt_does_not_show_its_text() -> None:
    assert "Elena" not in repr(prompt())


def test_a_span_is_hidden_if_all_its_content_words_were_replaced() -> None:
    found = prompt()
    some = counted(found, outcome(found.text, "Elena", "2 diabetes"), PUBLIC)
    assert spans_of(some, "PERSON") == (2, 0, 1)
    assert spans_of(some, "CONDITION") == (1, 0, 1)
    every = counted(found, outcome(found.text, "Elena Marsh", "type 2 diabetes", "41,500"), PUBLIC)
    assert spans_of(every, "PERSON") == (2, 1, 1)
    assert spans_of(every, "CONDITION") == (1, 1, 1)
    assert spans_of(every, "MONEY") == (1, 1, 1)
    assert spans_of(every, "numbers") == (1, 1, 1)
    assert spans_of(every, "all") == (5, 3, 3)


def test_a_fact_is_hidden_if_one_content_word_was_replaced() -> None:
    found = prompt()
    assert spans_of(counted(found, outcome(found.text, "job"), PUBLIC), "FACT") == (1, 1, 1)
    # "the" is a stopword
    assert spans_of(counted(found, outcome(found.text, "the"), PUBLIC), "FACT") == (1, 0, 0)


def test_a_part_of_a_word_is_changed_but_not_hidden() -> None:
    changes = Changes("cardiology", [Stretch(0, 6, "x")])
    assert changes.touched((0, 10))
    assert not changes.hidden((0, 10))
    assert Changes("cardiology", [Stretch(0, 6, "x"), Stretch(6, 10, "y")]).hidden((0, 10))


def test_a_word_that_was_given_back_was_not_replaced() -> None:
    text = "Elena Marsh, 41"
    changes = Changes(text, [Stretch(0, 11, "Ruth MARSH"), Stretch(13, 15, "41")])
    assert [changes.touched(place) for place in ((0, 5), (6, 11), (13, 15))] == [True, False, False]


def test_the_number_of_a_placeholder_is_no_word_of_the_text() -> None:
    assert Changes("1 March", [Stretch(0, 7, "<DATE_1>")]).hidden((0, 1))


def test_facts_of_public_words_and_lower_case_spans_are_counted_apart() -> None:
    found = prompt(
        "⟦FACT:lost the job⟧ ⟦FACT:wet himself⟧ ⟦OCCUPATION:court interpreter⟧ ⟦PLACE:Oxley⟧"
    )
    groups = [set(groups_of(found.text, span, PUBLIC)) for span in found.spans]
    assert groups == [
        {"FACT", "all", "public facts"},
        {"FACT", "all", "lower-case", "all but public facts"},
        {"OCCUPATION", "all", "lower-case", "all but public facts"},
        {"PLACE", "all", "names", "all but public facts"},
    ]


def test_a_span_counts_as_warned_if_its_sentence_has_a_warning() -> None:
    found = prompt()
    at = found.text.index("She")
    warned = counted(found, outcome(found.text, warned=((at, at + 3),)), PUBLIC)
    assert warned.spans["FACT"] == (1, 0, 0, 1, 1)
    assert warned.spans["PERSON"] == (2, 0, 0, 0, 0)
    start, end = sentence_around(found.text, found.spans[2])
    assert found.text[start:end] == "She lost the job."


def test_task_words_and_other_words_are_counted_outside_the_spans() -> None:
    found = prompt()
    some = counted(found, outcome(found.text, "Summarise this", "pays"), PUBLIC)
    assert some.tasks == (0, 1)
    # this, has, She, pays
    assert some.others == (2, 4)


def test_replacements_are_found_in_the_original_text() -> None:
    text = "Ask Elena about Leeds and Leeds."
    result = Sanitizer(policy="balanced").sanitize(text)
    found = stretches_of(result, text)
    assert {text[each.start : each.end] for each in found} >= {"Elena", "Leeds"}
    with pytest.raises(ValueError, match="do not give the original"):
        stretches_of(result, text + "!")


@given(
    st.lists(st.tuples(st.text(max_size=4), st.text(min_size=1, max_size=4), st.text(max_size=6)))
)
def test_places_in_the_original_follow_from_any_replacements(
    parts: list[tuple[str, str, str]],
) -> None:
    original = released = ""
    replacements, expected = [], []
    for kept, was, now in parts:
        original, released = original + kept, released + kept
        expected.append(Stretch(len(original), len(original) + len(was), now))
        replacements.append(Replacement(len(released), len(released) + len(now), now, "word", was))
        original, released = original + was, released + now
    record: Any = None
    result = SanitizedText(released, tuple(replacements), record)
    assert list(stretches_of(result, original)) == expected


def test_overlapping_spans_of_a_peer_are_joined() -> None:
    assert covering([(5, 9), (0, 3), (2, 4)]) == (Stretch(0, 4, ""), Stretch(5, 9, ""))


def test_shares_have_intervals_over_prompts_and_none_without_anything_counted() -> None:
    found = share([(1, 2), (2, 2), (0, 0)])
    assert found is not None
    assert found["mean"] == 0.75
    assert found["low"] <= 0.75 <= found["high"]
    assert found["n"] == 4
    assert share([(0, 0)]) is None


def test_a_refused_prompt_is_counted_as_such() -> None:
    found = prompt()
    results = summary([found, found], [None, outcome(found.text, "Elena Marsh")], PUBLIC)
    assert (results["n_prompts"], results["n_refused"]) == (1, 1)
    assert results["spans"]["PERSON"]["hidden"]["mean"] == 0.5
    assert results["restored"] is None
    with pytest.raises(ValueError, match="every prompt was refused"):
        summary([found], [None], PUBLIC)


def test_a_preset_restores_identifiers_and_says_so() -> None:
    text = "Mail anna@example.org today"
    found = Preset("identifiers")(text)
    assert found is not None
    assert found.restored
    assert [text[each.start : each.end] for each in found.stretches] == ["anna@example.org"]
    assert known("no such preset") is None
    assert warned_in(Sanitizer(policy="identifiers").sanitize(text)) == ()


def test_public_words_are_the_default_policy_s() -> None:
    assert {"the", "don", "t", "please"} <= public_words()
    assert "diabetes" not in public_words()


def test_private_units_are_found_in_any_case_as_whole_words(tmp_path: Path) -> None:
    path = tmp_path / "pupa.csv"
    with path.open("w", encoding="utf-8", newline="") as lines:
        writer = csv.DictWriter(lines, ["user_query", "pii_units"])
        writer.writeheader()
        writer.writerow(
            {"user_query": "Ann asked ANN\nLEE and Annie", "pii_units": "ann lee||Ann||Bob"}
        )
    (found,) = pupa(path)
    assert found.units == ((0, 3), (10, 13), (10, 17))
    assert (found.n_units, found.n_missing) == (3, 1)
    results = of_pupa([found], [outcome(found.text, "Ann", "and")])
    assert results["private_words_hidden"]["mean"] == pytest.approx(1 / 3)
    assert results["other_words_changed"]["mean"] == pytest.approx(1 / 3)


def test_a_warning_of_the_next_sentence_is_none_of_this_one() -> None:
    prompt = parsed("x", "t", "k", "⟦PERSON:Ann⟧ is here. He left.")
    next_one = Outcome((), 0.0, ((12, 21),))  # from the space on, as sentences are found
    assert counted(prompt, next_one, frozenset()).spans["PERSON"] == (1, 0, 0, 0, 0)
    assert counted(prompt, next_one, frozenset()).harmless == (1, 1)


def test_warnings_of_sentences_without_a_span_are_counted() -> None:
    prompt = parsed("x", "t", "k", "Help. ⟦PERSON:Ann⟧ is ill.\nBe brief. 17!\n--\n")
    found = Outcome((), 0.0, ((0, 4), (18, 20)))
    assert counted(prompt, found, frozenset()).harmless == (2, 3)


def test_instructions_are_read_with_their_inputs(tmp_path: Path) -> None:
    path = tmp_path / "some.jsonl"
    row = {"instruction": "Sort this.", "instances": [{"input": "b a", "output": "a b"}]}
    path.write_text(json.dumps(row) + "\n", "utf-8")
    assert instructions(path) == ["Sort this.\n\nb a"]
    results = of_public(["Sort this."], [outcome("Sort this.", "Sort")])
    assert results["words_changed"]["mean"] == 0.5


class ScriptedWorker:
    """Finds every "Leeds" as a place, and every "Friday" as a date."""

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        kinds = (("Leeds", "GPE"), ("Friday", "DATE"))
        text = request["text"]
        spans = [
            (text.index(w), text.index(w) + len(w), kind, 1.0) for w, kind in kinds if w in text
        ]
        return {"spans": spans, "seconds": 0.5}


def test_a_variant_of_a_peer_keeps_some_types_only() -> None:
    worker: Any = ScriptedWorker()
    text = "Leeds on Friday"
    assert len(run.Peer(worker)(text).stretches) == 2
    assert run.Peer(worker, run.NAMES_OF_SPACY)(text).stretches == (Stretch(0, 5, ""),)
    assert set(run.VARIANTS) == set(run.PEERS) == set(TOOLS)


def test_a_peer_whose_environment_lacks_it_is_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    assert run.started({"datafog": "no-such-interpreter"}) == {}
    assert "datafog: not run" in capsys.readouterr().out


def test_an_unknown_peer_is_refused() -> None:
    command = [sys.executable, "-m", "benchmarks.usefulness.run", "--peer", "other=python"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 2
    assert "must be NAME=PYTHON of presidio, spacy, datafog" in done.stderr


def test_peers_and_files_are_handed_on_by_the_entry() -> None:
    (step,) = COMMANDS["usefulness"]
    assert step.arguments({}) == []
    given = {"spacy": "p", "pupa": "f", "xllamacpp": "x"}
    assert step.arguments(given) == ["--peer", "spacy=p", "--pupa", "f"]


def test_a_floor_allows_two_points_and_no_more() -> None:
    floor = {"spans_hidden": 0.9, "task_words_kept": 0.9, "other_words_changed": 0.1}
    good = {"spans_hidden": 0.885, "task_words_kept": 1.0, "other_words_changed": 0.115}
    assert floors.worse(good, floor) == []
    bad = {"spans_hidden": 0.87, "task_words_kept": 0.87, "other_words_changed": 0.13}
    assert [line.split(":")[0] for line in floors.worse(bad, floor)] == list(floor)


def test_floors_are_those_of_open_prompts() -> None:
    names = {each.name for each in floors.prompts()}
    assert names < {each.name for each in labelled("open")}
    assert set(floors.load()) <= set(floors.PRESETS)


def test_the_report_has_a_row_for_each_tool() -> None:
    found = prompt()
    tools = {
        "ours": summary([found], [outcome(found.text, "Elena Marsh", restored=True)], PUBLIC),
        "peer": summary([found], [outcome(found.text, "this")], PUBLIC),
    }
    rows = main_table(tools).splitlines()
    assert [row.split(" | ")[0] for row in rows[2:]] == ["| ours", "| peer"]
    assert len({row.count("|") for row in rows}) == 1
    assert "| PERSON | 2 | 50 (50 to 50); 50 (50 to 50) |" in classes_table(tools)
    public = {"tools": {"ours": of_public(["Sort"], [outcome("Sort", "Sort")])}}
    assert "| ours | 100 (100 to 100) |" in files_table({"instructions": public})
    half = {"n_prompts": 1, "n_spans": 5, "n_task_words": 1, "tools": tools}
    said = intro(
        {
            "results": {"open": half, "n_public_words": 6},
            "circumstances": {"command": "run", "machine": "here"},
        }
    )
    assert "1 open prompts with 5 sensitive spans and 1 task words" in said


def test_the_record_of_reading_says_what_was_measured() -> None:
    found = json.loads((RESULTS / "detectors.json").read_text("utf-8"))["results"]["held"]
    stable = found["reading"]["stability"]["all"]["mean"]
    assert round(100 * (1 - stable)) == MOVED_BY_OTHERS
    for mode in ("local", "skeleton"):
        assert found[mode]["stability"]["kept"]["mean"] == 1.0
    policy = Policy.from_dict({"base": "balanced", "detector": {"mode": "reading"}})
    record = Sanitizer(policy=policy).sanitize("Ask Otto Quorn about it.").record
    assert not record.certified
    assert f"in {MOVED_BY_OTHERS} of 100" in str(record.reason)
