"""`sanitizer audit`, `attack`, `advise`, `evaluate`, `models` and `budget` as a user meets them."""

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


def test_models_lists_and_verifies() -> None:
    done = run("models")
    assert done.returncode == 0
    assert b"masked-lm" in done.stdout
    assert b"hashes match" in done.stdout
    assert b"{" not in done.stdout
    assert max(map(len, done.stdout.splitlines())) < 300
    names = [json.loads(line)["name"] for line in run("models", "--json").stdout.splitlines()]
    assert names == ["classes", "languages", "lm", "masked-lm", "reader", "words"]


def test_a_ledger_s_changes_are_confirmed(tmp_path: Path) -> None:
    ledger, key = str(tmp_path / "ledger"), {"SANITIZER_LEDGER_KEY": "a key of sixteen bytes"}
    done = run("budget", ledger, "--create", "--limit", "user:ada", "5", environment=key)
    assert done.stdout.decode() == (
        f"{ledger}: created, without limits\n"
        "limit set; user:ada: 5 of 5 left, 0 spent, 0 reserved\n"
    )
    done = run("budget", ledger, "--limit", "user:*", "7", environment=key)
    assert done.stdout == b"user:*: limit 7 set, for each user without one of its own\n"
    assert b"0 of 5" not in run("budget", ledger, "--show", "user:ada", environment=key).stdout
    rows = run("budget", ledger, "--limit", "day", "9", "--json", environment=key)
    assert b"limit set; day: 9 of 9 left" in rows.stderr
    assert all(json.loads(line) for line in rows.stdout.splitlines())
