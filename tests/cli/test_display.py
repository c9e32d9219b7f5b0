"""Results as they are shown on a terminal."""

from __future__ import annotations

import re

import pytest

from sanitizer import Cape, Sanitizer
from sanitizer.cli.display import WIDTH, before_after, describe, in_short, safe, width
from sanitizer.results import joined_record


def test_before_and_after_mark_what_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "Call \x1b[7;1H then Peter now."
    result = Sanitizer(policy="words").sanitize(text)
    monkeypatch.delenv("NO_COLOR", raising=False)
    plain = before_after([result])
    assert "[Peter]" in plain
    assert "\x1b" not in plain
    assert "not protected:" not in plain
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert "\x1b[32m" in before_after([result])
    monkeypatch.setenv("NO_COLOR", "1")
    assert before_after([result]) == plain


def test_many_texts_have_one_record_with_their_sums() -> None:
    texts = ["Peter is ill.", "Anna met Peter.", "Who?"]
    results = Sanitizer(policy="strict").sanitize_batch(texts)
    shown = before_after(results)
    assert shown.count("before  ") == 3
    record = describe(joined_record(results), len(results))
    assert record.count("not protected:") == record.count("3 texts together:") == 1
    total = sum(result.record.charged for result in results)
    assert joined_record(results).charged == total > 0
    assert f"epsilon {total:g} for the whole text" in " ".join(record.split())


@pytest.mark.parametrize(
    ("policy", "hidden", "cost"),
    [
        ("balanced", "1 CONDITION, 1 PERSON; 3 words unchanged", "epsilon 0, cert"),
        (
            "guarded",
            r"1 CONDITION, 1 PERSON \(1 drawn at random\); 3 words unchanged",
            "epsilon 5, cert",
        ),
        ("deidentify", "1 PERSON; 4 words unchanged", "epsilon 0, certified"),
        (
            "identifiers",
            "nothing; all other words unchanged, names too",
            "no differential privacy, NOT certified",
        ),
        # Words that were drawn alike are counted once.
        ("strict", "[123] words?; 2 words unchanged", "epsilon 5 per word, 15 in total, certified"),
    ],
)
def test_a_person_reads_in_two_lines_what_was_hidden(policy: str, hidden: str, cost: str) -> None:
    result = Sanitizer(policy=policy).sanitize("My father Peter has hepatitis.")
    first, second = in_short([result]).split("\n")
    assert re.fullmatch(f"hidden: {hidden}", first)
    assert second.startswith(cost)
    assert "2 texts together: hidden: " in in_short([result, result])


def test_a_variant_that_is_not_proved_says_so_in_short() -> None:
    result = Sanitizer(Cape(variant="published"), "strict").sanitize("Peter is ill.")
    assert "NOT certified (in full: --record" in in_short([result])


def test_a_record_of_many_is_certified_only_if_all_are() -> None:
    text = "Peter is ill."
    sure = Sanitizer(policy="strict").sanitize(text)
    claimed = Sanitizer(Cape(variant="published"), "strict").sanitize(text)
    assert joined_record([sure, sure]).certified
    assert not joined_record([sure, claimed]).certified


@pytest.mark.parametrize(("columns", "wrapped"), [("60", 60), ("300", WIDTH), ("10", 40)])
def test_paragraphs_are_as_wide_as_the_terminal(
    columns: str, wrapped: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    assert width() == WIDTH
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert width() == wrapped


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\tb\n", "a\tb\n"),
        ("\x1b[2J\r", "\\x1b[2J\\x0d"),
        ("\x9b7m", "\\x9b7m"),
        ("a\u202eb", "a\\x202eb"),
        ("\ud800", "\\xd800"),
        ("שלום 👩‍👩‍👧 a\u00a0b", "שלום 👩‍👩‍👧 a\u00a0b"),
    ],
)
def test_no_text_drives_the_terminal_or_turns_around(text: str, shown: str) -> None:
    assert safe(text) == shown
