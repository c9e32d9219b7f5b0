"""Checked tasks: their checks, what is sent, and what our presets do rightly."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.usefulness.checked import TASKS, Numbered, Preset, Sent, done, original, shares
from benchmarks.usefulness.tasks import NotAnswered, Task, amount, checker
from sanitizer import Sanitizer
from sanitizer.lm.masked import OnnxMaskedLM

EVERY = [task for half in TASKS.values() for task in half]


def test_there_are_two_halves_of_at_least_twelve_tasks() -> None:
    assert [len(half) for half in TASKS.values()] == [35, 17]
    assert len({task.name for task in EVERY}) == len(EVERY)


@pytest.mark.parametrize("task", EVERY, ids=lambda task: task.name)
def test_the_script_does_every_task_from_the_original_and_none_from_nothing(task: Task) -> None:
    assert done(task, original(task.prompt, 0), task.answer)
    assert not done(task, Sent("x", str), task.answer)
    assert not task.right("")
    assert not done(task, None, task.answer)


@pytest.mark.parametrize(
    ("form", "right", "wrong"),
    [
        ({"same": "a b"}, " a\n b ", "b a"),
        ({"one of": ["1", "2"]}, " 2", "3"),
        ({"holds": ["a b", "c"]}, "c, a\nb", "a b"),
        ({"mentions": ["Ann"]}, "ann", "bob"),
        ({"json": {"n": 1}}, '{"n": "1"}', "{n: 1}"),
        ({"runs": {"x": 1}}, "x = 1", "x ="),
        ({"csv": [["a", "b"]]}, "a,b", "a;b"),
        ({"sql": "CREATE TABLE t (a)", "rows": []}, "SELECT * FROM t", "SELECT FROM"),
        ({"sql": "CREATE TABLE t (a)", "rows": [[1]], "then": "SELECT a FROM t"},
         "INSERT INTO t VALUES (1)", "INSERT INTO t VALUES (2)"),
    ],
)  # fmt: skip
def test_checks_tell_right_from_wrong(form: dict[str, Any], right: str, wrong: str) -> None:
    check = checker(form)
    assert check(right)
    assert not check(wrong)


def test_an_amount_is_read_and_a_placeholder_is_none() -> None:
    assert amount("£1,250.50") == 1250.5
    with pytest.raises(NotAnswered):
        amount("<MONEY_1>")


def test_what_a_peer_finds_is_numbered_and_put_back() -> None:
    found = [
        (0, 3, "PERSON", 1.0),
        (8, 11, "PERSON", 1.0),
        (12, 17, "PLACE", 1.0),
        (0, 2, "X", 1.0),
    ]
    sent = Numbered(lambda text: found)("Ann and Ann Leeds.", 0)
    assert sent.text == "<PERSON_1> and <PERSON_1> <PLACE_1>."
    assert sent.restore("<PLACE_1>: <PERSON_1>") == "Leeds: Ann"
    assert Numbered(lambda text: found, frozenset({"PLACE"}))("Ann and Ann Leeds.", 0).text == (
        "Ann and Ann <PLACE_1>."
    )


def test_open_tasks_are_done_under_the_presets(model: OnnxMaskedLM) -> None:
    """The quick form: what the results say of the open half, less one task for luck."""
    senders: dict[str, tuple[Any, int]] = {
        name: (Preset(Sanitizer(policy=name, model=model)), 1)
        for name in ("identifiers", "deidentify", "balanced")
    }
    found = {name: sum(rows.values()) for name, rows in shares(TASKS["open"], senders).items()}
    assert found["identifiers"] == 34, "two spellings of an address are not told to be one"
    assert found["deidentify"] >= 27
    assert found["balanced"] >= 25
