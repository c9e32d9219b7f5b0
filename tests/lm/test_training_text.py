"""What the masked LM's training text is read from."""

from __future__ import annotations

import json
from pathlib import Path

from models.build import everyday

MODULE = '''"""Keep orders."""

# A comment that is long enough to be kept.
x = 1  # short


def pay(order: int) -> None:
    """Pay an order.

    :param order: its number
    """
'''


def test_of_a_module_only_what_is_said_is_read() -> None:
    (said,) = everyday._said(MODULE)
    assert said.splitlines() == [
        "Keep orders.",
        "Pay an order.",
        ":param order: its number",
        "A comment that is long enough to be kept.",
    ]
    assert list(everyday._said("def broken(:")) == []


def test_markup_is_left_out(tmp_path: Path) -> None:
    page = "---\ntitle: Leave\n---\nAsk [your lead](https://x.example) first.\n```\ncode\n```\n"
    (tmp_path / "leave.md").write_text(page)
    assert list(everyday._markdown(tmp_path)) == ["Ask your lead first."]


def test_a_conversation_has_a_line_a_turn(tmp_path: Path) -> None:
    folder = tmp_path / "TM-4-2024" / "data"
    folder.mkdir(parents=True)
    talk = [{"utterances": [{"text": "A tea, please."}, {"text": "Here you are."}]}]
    (folder / "data_00.json").write_text(json.dumps(talk * 2))
    plain, named = everyday._taskmaster(tmp_path)
    assert plain == "A tea, please.\nHere you are."
    assert named == "Customer: A tea, please.\nAgent: Here you are."


def test_what_is_measured_on_is_no_training_text(tmp_path: Path) -> None:
    folder = tmp_path / "data_per_template"
    folder.mkdir()
    for name in ("imdb_Movie_1", "rotten_tomatoes_1", "glue_qqp_1"):
        task = {"prompt": f"{name}?", "completion": "Yes."}
        (folder / f"{name}.jsonl").write_text(json.dumps(task) + "\n")
    assert list(everyday._tasks(tmp_path)) == ["glue_qqp_1? Yes."]


def test_every_collection_says_where_it_comes_from_and_its_licence() -> None:
    for one in everyday.COLLECTIONS:
        assert one.licence
        assert one.pin.startswith(("github:", "pypi:"))
        assert "@" in one.pin
