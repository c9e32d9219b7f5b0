"""The measure of usefulness: its sets, its tools, its figures and its tables."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from benchmarks.peers.tools import TOOLS
from benchmarks.report import views
from benchmarks.usefulness import prompts, run, tab
from benchmarks.usefulness.measure import Peer, Preset, covering, figures, measured, shares
from benchmarks.usefulness.prompts import HELD, OPEN, labelled, unread
from sanitizer import Policy
from sanitizer.risk.evaluation import Stretch, Treated
from sanitizer.risk.labelled import LabelledText, unmarked

ROOT = Path(__file__).parents[2]
MARKED = "⟪Greet⟫ ⟦PERSON:Zorblax Quill⟧ in ⟦PLACE:Wexcombe⟧ today, and ⟦FACT:lost the job⟧."


def text_of(marked: str = MARKED, language: str = "en") -> LabelledText:
    return LabelledText(*unmarked(marked), language=language)


def hiding(*words: str) -> Any:
    """A tool that finds each of these words where it first stands."""

    def treat(text: str) -> Treated:
        places = [(text.index(w), text.index(w) + len(w)) for w in words if w in text]
        return Treated(covering(places), 0.001)

    return treat


def test_the_open_and_the_unread_sets_share_no_text() -> None:
    sizes = {name: len(labelled(name)) for name in (*OPEN, *HELD, "foreign_even")}
    assert sizes == {
        "open": 150,
        "dev": 180,
        "second_open": 70,
        "third_open": 100,
        "fourth_open": 120,
        "foreign_odd": 33,
        "held": 150,
        "second_held": 70,
        "third_held": 100,
        "fourth_held": 60,
        "foreign_even": 33,
    }
    every = [each.text for name in (*OPEN, *unread()) for each in labelled(name)]
    repeated = sum(n > 1 for n in Counter(every).values())  # a message would show them
    assert repeated == 0
    with pytest.raises(ValueError, match="set must be one of"):
        labelled("other")


def test_old_sets_are_english_but_for_the_foreign_one() -> None:
    assert {each.language for name in OPEN[:5] for each in labelled(name)} == {"en"}
    assert {each.language for each in labelled("foreign_odd")} == {"de", "fr", "es"}


def test_only_the_named_sets_and_policies_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    few = {name: labelled(name)[:3] for name in ("dev", "foreign_odd")}
    monkeypatch.setattr(prompts, "labelled", few.__getitem__)
    parse = run.arguments().parse_args
    options = parse("--set dev --policy identifiers --set foreign_odd --set dev".split())
    results = run.all_results(options, {})
    assert list(results["sets"]) == list(results["sha256"]) == ["dev", "foreign_odd"]
    assert results["groups"]["open sets"]["n_texts"] == 6
    assert sum(found["n_texts"] for found in results["languages"].values()) == 3
    assert list(results["sets"]["dev"]["tools"]) == ["identifiers"]
    quality = json.loads(json.dumps(results), object_hook=run.of_quality)
    assert set(results) - set(quality) == {"languages", "origins"}
    own, same = (each["sets"]["dev"]["tools"]["identifiers"] for each in (results, quality))
    assert own == same | {"ms": own["ms"]}


def test_what_was_hidden_has_intervals_over_texts() -> None:
    rows = measured({"tool": hiding("Zorblax Quill", "today")}, [text_of(), text_of("Hello")])
    found = figures(rows["tool"])
    measures = found["measures"]
    assert (found["n_texts"], found["n_refused"]) == (2, 0)
    assert measures["names, whole"]["mean"] == 0.5
    assert measures["names, whole"]["n"] == 2
    assert measures["PERSON, whole"] == {"mean": 1.0, "low": 1.0, "high": 1.0, "n": 1}
    assert measures["texts with nothing private changed"]["mean"] == 0.0
    assert found["ms"]["mean"] == pytest.approx(1)
    assert shares([]) == {}


def test_a_refused_text_is_counted_as_such() -> None:
    rows = measured({"all": lambda text: None}, [text_of()])["all"]
    assert figures(rows) == {"n_texts": 0, "n_refused": 1, "measures": {}, "ms": None}


def test_a_preset_treats_each_text_as_a_conversation_of_its_own() -> None:
    preset = Preset("identifiers")
    for _ in range(2):
        found = preset("Mail anna@example.org today")
        assert found is not None
        assert [stretch[:2] for stretch in found.stretches] == [(5, 21)]
    assert (
        Preset(Policy.from_dict({"base": "identifiers", "refuse": {"words": ["mail"]}}))("mail")
        is None
    )


def test_overlapping_findings_of_a_peer_are_joined() -> None:
    assert covering([(5, 9), (0, 3), (2, 4)]) == (Stretch(0, 4, ""), Stretch(5, 9, ""))


class ScriptedWorker:
    """Finds every "Leeds" as a place, and every "Friday" as a date."""

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        kinds = (("Leeds", "GPE"), ("Friday", "DATE"))
        (text,) = request["texts"]
        spans = [
            (text.index(w), text.index(w) + len(w), kind, 1.0) for w, kind in kinds if w in text
        ]
        return {"spans": [spans], "seconds": 0.5}


def test_a_variant_of_a_peer_keeps_some_types_only() -> None:
    worker: Any = ScriptedWorker()
    text = "Leeds on Friday"
    assert len(Peer(worker)(text).stretches) == 2
    assert Peer(worker, run.NAMES_OF_SPACY)(text).stretches == (Stretch(0, 5, ""),)
    assert set(run.VARIANTS) == set(run.PEERS) <= set(TOOLS)


def test_a_peer_whose_environment_lacks_it_is_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    assert run.started({"datafog": "no-such-interpreter"}) == {}
    assert "datafog: not run" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            "--peer other=python",
            "must be NAME=PYTHON of presidio, spacy, presidio-medium, datafog, scrubadub",
        ),
        ("--tab nowhere", "must be a folder with echr_test.json"),
    ],
)
def test_what_cannot_be_measured_is_refused(given: str, said: str) -> None:
    command = [sys.executable, "-m", "benchmarks.usefulness.run", *given.split()]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 2
    assert said in done.stderr


TAB_TEXT = "Mr Zorblax Quill of Wexcombe saw Quill there."


def mention(entity: str, kind: str, start: int, end: int) -> dict[str, Any]:
    offsets = {"start_offset": start, "end_offset": end}
    return {"entity_id": entity, "entity_type": "PERSON", "identifier_type": kind, **offsets}


def test_the_text_anonymization_benchmark_is_counted_by_entity_and_annotator(
    tmp_path: Path,
) -> None:
    annotators = {
        "one": [
            mention("a", "DIRECT", 0, 16),
            mention("a", "DIRECT", 33, 38),
            mention("b", "QUASI", 20, 28),
        ],
        "two": [mention("c", "DIRECT", 3, 16), mention("d", "NO_MASK", 20, 28)],
    }
    row = {
        "text": TAB_TEXT,
        "annotations": {name: {"entity_mentions": own} for name, own in annotators.items()},
    }
    (tmp_path / tab.FILE).write_text(json.dumps([row]), "utf-8")
    read = tab.judgments(tmp_path)
    # "Mr" counts for nothing; the second "Quill" is missed, and "there" is wrong.
    found = tab.counted(read[0], [(3, 10), (11, 16), (20, 28), (39, 44)])
    assert found == {tab.DIRECT: (1, 2), tab.QUASI: (1, 1), tab.PRECISION: (5, 8)}
    results = tab.on_tab({"tool": hiding("Zorblax Quill")}, read)
    assert results["tools"]["tool"]["measures"][tab.PRECISION]["mean"] == 1.0


def results_of(name: str) -> dict[str, Any]:
    texts = [text_of(), text_of("⟦PERSON/f:Märta⟧ ruft.", language="de"), text_of("Nothing.")]
    tools = {"balanced": hiding("Zorblax Quill", "Nothing"), "presidio": hiding("Märta", "today")}
    rows = measured(tools, texts)
    whole = run.described(texts, rows)
    german = run.described(texts[1:2], {tool: own[1:2] for tool, own in rows.items()})
    return {
        "sets": {name: whole, "t01_public": whole},
        "groups": {"held sets": whole},
        "languages": {"de": german},
        "origins": {},
    }


def test_tables_have_a_cell_for_each_tool(monkeypatch: pytest.MonkeyPatch) -> None:
    results = results_of("held")
    monkeypatch.setattr(views, "load", lambda name: {"results": results})
    assert views.names_of_tools() == "balanced | presidio"
    assert views.reached()["held sets"]["names, whole"] == ".333 | .333"
    unmoved = "texts with nothing private changed"
    assert views.reached()["t01_public"][unmoved] == "1 of 1 | 0 of 1"
    german = next(views.languages())
    assert (german["what"], german["cells"]) == ("all but facts, whole: de", ".000 | 1.000")
    assert views.times_of_presidio() == "1.00 | 1.00"
    rows = [(row["name"], row["tool"]) for row in views.details()]
    assert rows[:2] == [("held", "balanced"), ("held", "presidio")]
    assert rows[-1] == ("de", "balanced")
    person = next(row for row in views.by_class() if row["class"] == "PERSON")
    assert person["cells"] == "50 (0 to 100) | 50 (0 to 100)"
    assert views.texts_measured() == "3 held-out prompts"
