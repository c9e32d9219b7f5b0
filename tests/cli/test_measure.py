"""`sanitizer audit`, `attack`, `advise` and `evaluate` as a user meets them."""

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


def test_a_policy_is_evaluated_on_labelled_texts_of_both_forms(tmp_path: Path) -> None:
    marked, lines = tmp_path / "own.txt", tmp_path / "own.jsonl"
    marked.write_text("### 1 | en | mail\nMail ⟦IDENTIFIER:anna@example.org⟧ now.\n", "utf-8")
    row = {"text": "Ask Zorblax.", "spans": [[4, 11, "PERSON"]], "language": "de"}
    lines.write_text(json.dumps(row), "utf-8")
    done = run("evaluate", "--policy", "identifiers", str(marked), str(lines))
    shown = done.stdout.decode().splitlines()
    assert shown[0].startswith("policy identifiers, 2 texts, "), done.stderr
    assert "|  | all | de | en |" in shown
    assert "| identifiers, whole | 1.000 of 1 | - | 1.000 of 1 |" in shown
    assert "| names, whole | 0.000 of 1 | 0.000 of 1 | - |" in shown
    found = json.loads(run("evaluate", "--policy", "identifiers", "--json", str(lines)).stdout)
    assert found["counts"]["PERSON, whole"] == [0, 1]
    assert b"Zorblax" not in done.stdout + done.stderr


def test_a_file_that_is_not_labelled_is_refused_without_showing_it(tmp_path: Path) -> None:
    file = tmp_path / "own.txt"
    file.write_text("My father Zorblax", "utf-8")
    done = run("evaluate", str(file))
    assert done.returncode == 2
    assert one_line(done.stderr)
    assert b"each begins with ###" in done.stderr
    assert b"Zorblax" not in done.stderr
    assert b"No such file" in run("evaluate", str(tmp_path / "none.txt")).stderr
