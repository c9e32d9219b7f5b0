"""The extraction benchmark's arithmetic, its texts, and how a run is taken up."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.common.intervals import means
from benchmarks.common.kept import Kept, fingerprint
from benchmarks.extraction import run
from benchmarks.extraction.run import NONE, copied, measured, texts_of
from benchmarks.extraction.texts import FOLLOWING, Item, cut, in_turn

DIRECTIONS = {"east": (1.0, 0.0), "north": (0.0, 1.0), "between": (0.6, 0.8)}
ITEMS = [Item(document, "east", "north") for document in (0, 0, 1)]


def encode(texts: Sequence[str]) -> NDArray[np.float32]:
    """Vectors that anyone can read."""
    return np.array([DIRECTIONS[text] for text in texts], dtype=np.float32)


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Two items of one document, one of another: the lm puts two answers right, one halfway."""
    monkeypatch.setattr(run, "EPSILONS", (3.0,))
    rows = []
    for i, lm in enumerate(("north", "north", "between")):
        alone = {"sent": "east", "answer": "north", "asked": "between", "continued": "east"}
        read = {"sent": "north", "noisy": "east", "lexical": "east", "lm": lm}
        changed = {"noisy": False, "lexical": False, "lm": lm == "north"}
        rows.append({"i": i, "condition": NONE, "texts": alone})
        rows.append({"i": i, "condition": "3", "texts": read, "extracted": changed})
    whole, texts, extracted = texts_of([*rows, {"i": 3, "condition": NONE, "texts": {}}])
    assert whole == [0, 1, 2]
    return measured(ITEMS, texts, extracted, encode)


def test_coherence_is_to_the_beginning_and_alignment_to_the_expected_answer(
    found: dict[str, Any],
) -> None:
    (row,) = found["rows"]
    assert row["noisy"]["coherence"]["mean"] == pytest.approx(1)
    assert row["noisy"]["alignment"]["mean"] == pytest.approx(0)
    assert row["lm"]["coherence"]["mean"] == pytest.approx(0.2)
    assert row["lm"]["alignment"]["mean"] == pytest.approx(2.8 / 3)
    assert row["lm"]["following"]["mean"] == pytest.approx(2.8 / 3)
    assert found["without_noise"]["alignment"] == pytest.approx({"mean": 1, "low": 1, "high": 1})


def test_gains_are_paired_and_the_local_model_alone_stands_beside_them(
    found: dict[str, Any],
) -> None:
    (row,) = found["rows"]
    assert row["gains"]["lm - noisy"]["alignment"] == pytest.approx(
        {"mean": 2.8 / 3, "low": 0.8, "high": 1}
    )
    assert row["gains"]["lm - asked"]["alignment"]["mean"] == pytest.approx(0.4 / 3)
    assert row["gains"]["lexical - noisy"]["alignment"] == {"mean": 0, "low": 0, "high": 0}
    shares = {kind: each["mean"] for kind, each in row["extracted"].items()}
    assert shares == pytest.approx({"lexical": 0, "lm": 2 / 3})
    assert row["extracted"]["lm"]["low"] < 2 / 3 < row["extracted"]["lm"]["high"]


def test_what_is_copied_is_counted_in_runs_of_three_words() -> None:
    assert copied("In the old city, he sang.", "He lived in the old city") == pytest.approx(2 / 4)
    assert copied("Old city", "In the old city") == 0


def test_documents_are_drawn_again_as_wholes() -> None:
    found = means([0.0, 0.0, 3.0], [7, 7, 9])
    assert found[0] == pytest.approx(1)
    assert set(found[1:].round(9)) == {0.0, 1.0, 3.0}  # both documents, or one of them twice


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


def test_a_run_is_taken_up_where_it_was_cut_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benchmarks.common.kept.CACHE", tmp_path)
    kept = Kept("rows")
    for i in kept.missing(2, condition="a"):
        kept.add({"i": i, "condition": "a"})
    path = tmp_path / "rows.jsonl"
    path.write_bytes(path.read_bytes() + b'{"i": 2, "cond')  # cut off while it was written
    again = Kept("rows")
    assert again.missing(3, condition="a") == [2]
    assert again.missing(2, condition="b") == [0, 1]
    again.add({"i": 2, "condition": "a"})
    assert Kept("rows").missing(3, condition="a") == []


def test_a_fingerprint_is_of_the_value() -> None:
    assert fingerprint({"a": [1]}) == fingerprint({"a": [1]}) != fingerprint({"a": [2]})
