"""The command `sanitizer corrections`, and what it changes in others."""

from __future__ import annotations

from pathlib import Path

import pytest

from sanitizer.cli.program import main

KEY = "a passphrase of many letters"


@pytest.fixture(autouse=True)
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "memory"
    monkeypatch.setenv("SANITIZER_CORRECTIONS", str(path))
    monkeypatch.setenv("SANITIZER_VAULT_KEY", KEY)
    return path


def test_phrases_are_added_listed_and_removed(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert main(["corrections", "add", "--hide", "Project Falcon"]) == 0
    assert main(["corrections", "add", "--keep", "Jira"]) == 0
    assert main(["corrections", "list"]) == 0
    assert capfdbinary.readouterr().out == b"keep  Jira\nhide  Project Falcon\n"
    assert main(["sanitize", "--policy", "identifiers", "Jira says project falcon"]) == 0
    assert capfdbinary.readouterr().out == b"Jira says <TERM_1>\n"
    assert main(["corrections", "remove", "project falcon"]) == 0
    assert main(["corrections", "remove", "project falcon"]) == 1
    assert main(["corrections", "list", "--json"]) == 0
    assert capfdbinary.readouterr().out == b'[{"treatment": "keep", "phrase": "Jira"}]\n'


def test_a_list_of_customers_is_imported(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    (tmp_path / "customers.csv").write_text("Customer,City\nCaldwell Foods,Leeds\nYoung,Will\n")
    assert main(["corrections", "import", str(tmp_path / "customers.csv")]) == 0
    assert capfdbinary.readouterr().err == b"customers.csv: 1 found, 1 new; 1 skipped\n"
    team = tmp_path / "team"
    arguments = ["--memory", str(team), "--column", "City", str(tmp_path / "customers.csv")]
    assert main(["corrections", "import", *arguments]) == 0
    assert main(["corrections", "list", "--memory", str(team)]) == 0
    assert capfdbinary.readouterr().out == b"hide  Leeds\n"


def test_what_is_missing_is_named_without_a_phrase(
    memory: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    def told(*arguments: str) -> bytes:
        assert main(list(arguments)) != 0
        error = capfdbinary.readouterr().err
        assert b"Falcon" not in error
        return error

    assert b"no memory of corrections" in told("sanitize", "Project Falcon")
    assert b"no memory of corrections" in told("corrections", "remove", "Project Falcon")
    monkeypatch.delenv("SANITIZER_VAULT_KEY")
    assert b"SANITIZER_VAULT_KEY" in told("corrections", "add", "Project Falcon")
    assert not memory.exists()
    monkeypatch.delenv("SANITIZER_CORRECTIONS")
    assert b"--memory" in told("corrections", "add", "Project Falcon")
