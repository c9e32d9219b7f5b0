"""A memory of corrections: what it keeps, where it holds, and what its file shows."""

from __future__ import annotations

import os
import shutil
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from sanitizer import Corrections, PolicyError, Sanitizer, VaultError
from sanitizer.corrections.lists import VARIABLE, Memories
from sanitizer.text.policy import Policy

KEY = "a passphrase of many letters"
TEXT = "Project Falcon is late, says Jira, and PROJECT  FALCON costs more."


@pytest.fixture
def memory(tmp_path: Path) -> Corrections:
    return Corrections(tmp_path / "memory", KEY, create=True)


def test_phrases_are_kept_changed_and_forgotten(memory: Corrections) -> None:
    assert memory.add(["Project Falcon", " Project  Falcon ", "Jira"], "hide") == 2
    assert memory.add(["jira"], "keep") == 1
    assert memory.add(["jira"], "keep") == 0
    assert memory.entries() == [("keep", "jira"), ("hide", "Project Falcon")]
    assert memory.remove(["PROJECT FALCON", "nothing"]) == 1
    again = Corrections(memory.path, KEY).current()
    assert not again.hidden
    assert again.kept == {"jira"}


def test_phrases_that_mean_nothing_are_refused(memory: Corrections) -> None:
    for phrases, treatment, told in (
        (["..."], "hide", "must hold a word"),
        (["x" * 301], "hide", "at most 300"),
        (["4711"], "keep", "must hold a letter"),
        (["Jira"], "drop", "treatment must be one of"),
    ):
        with pytest.raises(ValueError, match=told):
            memory.add(phrases, treatment)
    assert memory.add(["4711"], "hide") == 1


def test_the_file_shows_nothing_and_opens_with_its_key_only(memory: Corrections) -> None:
    memory.add(["Project Falcon"], "hide")
    content = memory.path.read_bytes()
    assert b"Falcon" not in content
    assert memory.path.stat().st_mode & 0o077 == 0
    assert "Falcon" not in repr(memory) + repr(memory.current())
    with pytest.raises(VaultError):
        Corrections(memory.path, "another long passphrase")
    with pytest.raises(ValueError, match="at least 16"):
        Corrections(memory.path, "short")
    with closing(sqlite3.connect(memory.path, isolation_level=None)) as database:
        database.execute("UPDATE memory SET body = zeroblob(length(body))")
    with pytest.raises(VaultError, match="damaged"):
        Corrections(memory.path, KEY)


def test_a_memory_that_is_gone_is_an_error(memory: Corrections) -> None:
    sanitizer = Sanitizer(policy="identifiers", corrections=memory)
    memory.path.unlink()
    with pytest.raises(VaultError, match="no memory of corrections"):
        sanitizer.sanitize("Project Falcon")


def test_a_memory_that_cannot_be_made_says_why(tmp_path: Path) -> None:
    with pytest.raises(VaultError, match="memory: cannot be made: No such file or directory"):
        Corrections(tmp_path / "no-folder" / "memory", KEY, create=True)


def test_threads_and_objects_lose_nothing(memory: Corrections) -> None:
    def add(number: int) -> int:
        return Corrections(memory.path, KEY).add([f"Project {number}x"], "hide")

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(add, range(8))) == [1] * 8
    assert len(memory.current().hidden) == 8


def test_what_one_memory_hides_another_cannot_show(memory: Corrections, tmp_path: Path) -> None:
    team = Corrections(tmp_path / "team", KEY, create=True)
    team.add(["Project Falcon"], "hide")
    memory.add(["project falcon", "Jira"], "keep")
    both = Memories([memory, team])
    assert both.current() is both.current()
    assert both.current().hidden == {"Project Falcon"}
    assert both.current().kept == {"Jira"}


@pytest.mark.parametrize("policy", ["identifiers", "deidentify", "strict"])
def test_corrections_hold_under_every_policy_and_come_back(
    memory: Corrections, policy: str
) -> None:
    memory.add(["Project Falcon"], "hide")
    memory.add(["Jira"], "keep")
    sanitizer = Sanitizer(policy=policy, corrections=memory)
    sent = sanitizer.sanitize(TEXT).text
    assert "alcon" not in sent.casefold()
    assert "Jira" in sent
    if policy != "strict":
        assert sanitizer.restore(sent) == TEXT
    assert "Falcon" in Sanitizer(policy="identifiers").sanitize(TEXT).text


def test_a_correction_holds_from_the_next_call(memory: Corrections) -> None:
    sanitizer = Sanitizer(policy="identifiers", corrections=memory)
    derived = sanitizer.derive(conversation="c", policy="deidentify")
    assert sanitizer.sanitize(TEXT).text == TEXT
    Corrections(memory.path, KEY).add(["Project Falcon"], "hide")
    for each in (sanitizer, derived):
        assert "Falcon" not in each.sanitize(TEXT).text
        assert each.restore(each.sanitize(TEXT).text) == TEXT
    memory.remove(["Project Falcon"])
    assert sanitizer.sanitize(TEXT).text == TEXT
    assert sanitizer.derive(corrections=()).corrections is None


def test_the_environment_names_memories(
    memory: Corrections, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    team = Corrections(tmp_path / "team", KEY, create=True)
    team.add(["Caldwell"], "hide")
    memory.add(["Project Falcon"], "hide")
    monkeypatch.setenv("SANITIZER_VAULT_KEY", KEY)
    monkeypatch.setenv(VARIABLE, os.pathsep.join([str(memory.path), str(team.path)]))
    sent = Sanitizer(policy="identifiers").sanitize("Caldwell likes project falcon").text
    assert sent == "<TERM_1> likes <TERM_2>"
    shutil.move(team.path, tmp_path / "elsewhere")
    with pytest.raises(VaultError, match="no memory"):
        Sanitizer(policy="identifiers")
    monkeypatch.delenv("SANITIZER_VAULT_KEY")
    with pytest.raises(ValueError, match="SANITIZER_VAULT_KEY"):
        Sanitizer(policy="identifiers")


def test_a_policys_sensitive_words_win_over_what_is_kept(memory: Corrections) -> None:
    memory.add(["Jira"], "keep")
    policy = Policy.from_dict({"base": "identifiers", "sensitive": {"words": ["Jira"]}})
    assert (
        Sanitizer(policy=policy, corrections=memory).sanitize("Ask Jira.").text == "Ask <TERM_1>."
    )
    refusing = Policy.from_dict({"base": "identifiers", "refuse": {"words": ["Jira"]}})
    with pytest.raises(PolicyError):
        Sanitizer(policy=refusing, corrections=memory).sanitize("Ask Jira.")


def test_the_digest_of_a_policy_tells_of_changes_and_of_no_phrase(memory: Corrections) -> None:
    policy = Policy.preset("identifiers")
    digests = {policy.digest}
    for phrase in ("Project Falcon", "Project Heron"):
        memory.add([phrase], "hide")
        listed = memory.current()
        digests.add(policy.with_corrections(listed.hidden, listed.kept, listed.mark).digest)
    assert len(digests) == 3
    other = policy.with_corrections(frozenset({"Project Falcon"}), frozenset(), "")
    assert other.digest == policy.digest, "only the mark, which needs the memory's key, counts"


def test_neighbours_of_a_listed_value_release_the_same(memory: Corrections) -> None:
    """A memory is a setting: with both values on it, one stands for the other, epsilon 0."""
    memory.add(["Project Falcon", "Operation Night Heron"], "hide")
    sent = {
        Sanitizer(policy="deidentify", corrections=memory).sanitize(f"We end {name} in May.").text
        for name in ("Project Falcon", "Operation Night Heron")
    }
    assert len(sent) == 1
