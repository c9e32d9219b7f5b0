"""`sanitizer kinds` lists what is taken for an identifier."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sanitizer.cli.program import main


def test_kinds_are_listed_by_class(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["kinds"]) == 0
    shown = capsys.readouterr().out
    assert "EMAIL\n  email: e-mail address" in shown
    assert "  github: GitHub token (its beginning)" in shown


def test_a_kind_is_shown_with_its_examples(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["kinds", "email", "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {row["class"] for row in rows} == {"EMAIL"}
    assert any("⟦anna@x.org⟧" in example for row in rows for example in row["examples"])


def test_a_policy_has_kinds_of_its_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "own.toml"
    path.write_text(
        '[identifiers]\noff = ["email"]\n'
        '[[identifiers.rows]]\nname = "desk"\nclass = "EMAIL"\n'
        'label = "desk"\nform = "D-[0-9]{4}"\n',
        "utf-8",
    )
    assert main(["kinds", "EMAIL", "--policy", str(path)]) == 0
    shown = capsys.readouterr().out
    assert "  desk: desk (its form)" in shown
    assert "  email:" not in shown


def test_an_unknown_kind_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["kinds", "hubbub"]) == 2
    assert "no kind or class 'hubbub'" in capsys.readouterr().err
