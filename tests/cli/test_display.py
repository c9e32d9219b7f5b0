"""Results as they are shown on a terminal."""

from __future__ import annotations

import pytest

from sanitizer.cli.display import before_after, safe, speed
from sanitizer.pipeline.sanitizer import Sanitizer


def test_before_and_after_mark_what_changed() -> None:
    text = "Call \x1b[7;1H then Peter now."
    result = Sanitizer(policy="words").sanitize(text)
    plain = before_after(text, result, colour=False)
    assert "[Peter]" in plain
    assert "\x1b" not in plain
    assert "not protected:" in plain
    assert "\x1b[32m" in before_after(text, result, colour=True)


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


def test_speed_needs_two_tokens_and_time() -> None:
    assert speed(3, 0.5) == "4.0 tokens per second\n"
    assert speed(1, 0.5) == speed(3, 0.0) == ""
