"""`sanitizer audit`, `attack` and `advise` as a user meets them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.running import one_line, run


def test_the_audit_prints_all_four_epsilons() -> None:
    done = run("audit", "--inputs", "50", "--epsilon", "4")
    assert done.returncode == 0
    for name in (b"nominal", b"claimed", b"certified", b"exact"):
        assert name in done.stdout
    found = json.loads(run("audit", "--inputs", "50", "--json").stdout)
    assert found["exact"] == pytest.approx(found["certified"], abs=1e-9)


def test_attack_and_advise_take_a_text_or_the_name_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "prompts.txt"
    file.write_text("We met Zorblax.", encoding="utf-8")
    for where in (["We met Zorblax."], [str(file)], ["-f", str(file)]):
        done = run("attack", "--json", "--trials", "2", *where)
        assert json.loads(done.stdout)["policy"] == "strict", done.stderr
    assert b"give TEXT or --file" in run("attack", "-f", str(file), "We met Zorblax.").stderr
    assert str(tmp_path).encode() in run("attack", str(tmp_path / "none.txt")).stderr
    done = run("advise", "--risk", "0.1")
    assert done.returncode
    assert b"give TEXT, --file FILE, or --classes" in done.stderr


def test_several_words_without_quotes_are_told_from_an_option() -> None:
    done = run("attack", "Peter", "Lund")
    assert one_line(done.stderr)
    assert b"put the text in quotes" in done.stderr
    assert b"Lund" not in done.stderr


def test_a_preset_that_draws_classes_is_referred_to_advise() -> None:
    done = run("audit", "--policy", "balanced")
    assert b"strict, words" in done.stderr
    assert b"sanitizer advise --classes" in done.stderr
