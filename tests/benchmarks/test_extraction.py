"""The extraction benchmark's arithmetic, its texts, and how it takes up a run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.common.intervals import means
from benchmarks.extraction import run as extraction
from benchmarks.extraction.figures import Answers, copied, measured
from benchmarks.extraction.run import NONE, Work, sent_texts
from benchmarks.extraction.store import Key, Store, fingerprint
from benchmarks.extraction.texts import FOLLOWING, Item, cut, in_turn
from benchmarks.report.extraction import answers_table, gains_table, levels

DIRECTIONS = {"east": (1.0, 0.0), "north": (0.0, 1.0), "between": (0.6, 0.8)}


class Reads(extraction.Local):
    """A local side without models."""

    def __init__(self, sample: list[Item]) -> None:
        pass

    def read(self, i: int, name: str, sent: str, answer: str) -> Iterator[tuple[str, str, bool]]:
        yield "continued", f"{sent} {answer}", False


def encode(texts: Sequence[str]) -> NDArray[np.float32]:
    """Vectors that anyone can read."""
    return np.array([DIRECTIONS[text] for text in texts], dtype=np.float32)


def answers() -> Answers:
    """Two items of one document, one of another: the lm puts two answers right, one halfway."""
    items = [Item(document, "east", "north") for document in (0, 0, 1)]
    texts = {
        "expected": ["north"] * 3,
        "asked": ["between"] * 3,
        "sent 3": ["north"] * 3,
        "noisy 3": ["east"] * 3,
    }
    texts |= {
        "continued": ["east"] * 3,
        "lexical 3": ["east"] * 3,
        "lm 3": ["north", "north", "between"],
    }
    return Answers(items, texts, {"lexical 3": [False] * 3, "lm 3": [True, True, False]})


def test_coherence_is_to_the_beginning_and_alignment_to_the_expected_answer() -> None:
    (row,) = measured(answers(), ["3"], encode)["rows"]
    assert row["noisy"]["coherence"]["mean"] == pytest.approx(1)
    assert row["noisy"]["alignment"]["mean"] == pytest.approx(0)
    assert row["lm"]["coherence"]["mean"] == pytest.approx(0.2)
    assert row["lm"]["alignment"]["mean"] == pytest.approx(2.8 / 3)
    assert row["lm"]["following"]["mean"] == pytest.approx(2.8 / 3)


def test_without_noise_alignment_is_one_by_definition() -> None:
    found = measured(answers(), ["3"], encode)["without_noise"]
    assert found["alignment"] == pytest.approx({"mean": 1, "low": 1, "high": 1})


def test_gains_are_paired_and_the_local_model_alone_stands_beside_them() -> None:
    (row,) = measured(answers(), ["3"], encode)["rows"]
    assert row["gains"]["lm - noisy"]["alignment"] == pytest.approx(
        {"mean": 2.8 / 3, "low": 0.8, "high": 1}
    )
    assert row["gains"]["lm - asked"]["alignment"]["mean"] == pytest.approx(0.4 / 3)
    assert row["gains"]["lexical - noisy"]["alignment"] == {"mean": 0, "low": 0, "high": 0}
    assert {kind: found["mean"] for kind, found in row["extracted"].items()} == pytest.approx(
        {"lexical": 0, "lm": 2 / 3}
    )
    assert row["extracted"]["lm"]["low"] < 2 / 3 < row["extracted"]["lm"]["high"]


def test_what_is_copied_is_counted_in_runs_of_three_words() -> None:
    assert copied("In the old city, he sang.", "He lived in the old city") == pytest.approx(2 / 4)
    assert copied("Old city", "In the old city") == 0


def test_documents_are_drawn_again_as_wholes() -> None:
    found = means([0.0, 0.0, 3.0], [7, 7, 9])
    assert found[0] == pytest.approx(1)
    assert set(found[1:].round(9)) == {0.0, 1.0, 3.0}  # both documents, or one of them twice


def test_tables_name_every_way_and_every_difference() -> None:
    results = measured(answers(), ["3"], encode)
    assert "| 3 | lm extractor | 0.200" in answers_table(results)
    assert "| 3 | lm extractor - noisy |" in gains_table(results)


def test_the_beginning_itself_is_as_well_aligned_as_the_expected_answer_is_coherent() -> None:
    results = measured(answers(), ["3"], encode)
    assert (
        levels(results, "alignment")["the beginning itself"]
        == results["without_noise"]["coherence"]
    )


def test_a_beginning_is_whole_sentences_and_the_rest_follows() -> None:
    first, second = "One " * 9 + "one.", "Two " * 14 + "two."
    found = cut(4, f"{first} {second} " + "Three " * 50)
    assert found is not None
    assert (found.document, found.beginning) == (4, f"{first} {second}")
    assert found.following.split() == ["Three"] * FOLLOWING


@pytest.mark.parametrize(
    "paragraph", ["Too short.", "word " * 41 + "end. " + "More " * 40, "word " * 24 + "end. More."]
)
def test_paragraphs_that_do_not_fit_are_left_out(paragraph: str) -> None:
    assert cut(0, paragraph) is None


def test_documents_take_turns() -> None:
    rest = "X " * FOLLOWING
    pages = [
        "\n".join(f"{name}{i} " + "w " * 24 + f"end. {rest}" for i in range(n))
        for name, n in (("A", 2), ("B", 1))
    ]
    assert [item.beginning.split()[0] for item in in_turn(pages)] == ["A0", "B0", "A1"]


def test_a_run_is_taken_up_where_it_was_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    asked: list[str] = []

    def ask(text: str) -> str:
        asked.append(text)
        return text.upper()

    def work() -> Work:
        sent = {NONE: ["first", "second"], "3": ["fir", "sec"]}
        return Work(sent, Store(path), Store(tmp_path / "local.jsonl"), ask, None)

    for job in list(work().left())[:3]:
        job()
    path.write_bytes(path.read_bytes() + b'{"item": 1, "cond')  # cut off while it was written
    for job in work().left():
        job()
    assert asked == ["first", "fir", "second", "sec"]
    assert not list(work().left())
    assert Store(path).get(Key(1, "3", "answer")) == "SEC"


def test_without_the_remote_model_only_known_answers_are_read(tmp_path: Path) -> None:
    remote, local = (Store(tmp_path / f"{name}.jsonl") for name in ("remote", "local"))
    remote.put(Key(1, NONE, "answer"), "known")
    work = Work({NONE: ["first", "second"]}, remote, local, None, Reads([]))
    for job in work.left():
        job()
    assert local.get(Key(1, NONE, "continued")) == "second known"
    assert Key(0, NONE, "continued") not in local
    assert not list(work.left())


def test_what_is_there_stays(tmp_path: Path) -> None:
    store, key = Store(tmp_path / "a.jsonl"), Key(0, "3", "lm")
    store.put(key, "first", extracted=True)
    store.put(key, "second")
    for found in (store, Store(tmp_path / "a.jsonl")):
        assert found.get(key) == "first"
        assert found.extracted(key)


def test_what_was_sent_is_drawn_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extraction, "EPSILONS", ())

    def never() -> dict[str, extraction.Condition]:
        raise AssertionError

    assert sent_texts([Item(0, "east", "north")], Store(tmp_path / "a.jsonl"), never) == {
        NONE: ["east"]
    }


def test_a_fingerprint_is_of_the_value() -> None:
    assert fingerprint({"a": [1]}) == fingerprint({"a": [1]}) != fingerprint({"a": [2]})
