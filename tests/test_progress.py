"""A bar counts, and shows nothing else."""

from __future__ import annotations

import pytest

from sanitizer import Sanitizer, progress
from sanitizer.progress import counted, progress_bar, reading_bar, report, reported_to


def on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let standard error be a terminal."""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)


def test_where_no_terminal_is_each_state_is_a_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with progress_bar(3, shown=True) as advance:
        advance(3)
    assert capsys.readouterr().err == ""  # not ten seconds yet
    monkeypatch.setattr(progress, "_EVERY", 0.0)
    with progress_bar(3, shown=True) as advance:
        advance(1)
        advance(2)
    lines = capsys.readouterr().err.splitlines()
    assert [line.partition(",")[0] for line in lines[-2:]] == [
        "sanitizer: 1 of 3",
        "sanitizer: 3 of 3",
    ]
    with reading_bar(shown=True) as watcher, reported_to(watcher):
        report(500, 5000)
    assert capsys.readouterr().err.startswith("sanitizer: reading: ")


def test_a_bar_that_is_not_shown_writes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bar(3, shown=False) as advance:
        advance(3)
    assert capsys.readouterr() == ("", "")


def test_a_bar_counts_on_standard_error(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    on_a_terminal(monkeypatch)
    with progress_bar(30, shown=True) as advance:
        advance(10)
        advance(20)
    out, err = capsys.readouterr()
    assert out == ""
    assert "30/30" in err
    assert err.endswith("\n")


def test_counted_items_come_unchanged_and_are_not_shown(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    on_a_terminal(monkeypatch)
    words = ["Peter", "Leeds"]
    assert list(counted(iter(words), 2)) == words
    err = capsys.readouterr().err
    assert "2/2" in err
    assert not any(word in err for word in words)


def test_an_error_ends_the_bar(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    on_a_terminal(monkeypatch)
    items = counted(iter([1, 2]), 2)
    next(items), next(items)
    with pytest.raises(KeyError):
        items.throw(KeyError())  # type: ignore[attr-defined]
    assert "1/2" in capsys.readouterr().err


def test_a_long_text_has_a_bar_and_a_short_one_has_none(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    on_a_terminal(monkeypatch)
    with reading_bar(shown=True) as watcher, reported_to(watcher):
        report(1, 100)
        assert capsys.readouterr().err == ""
        report(500, 5000)
        report(5000, 5000)
        report(600, 6000)
    assert "reading" in capsys.readouterr().err


def test_who_watches_can_end_the_reading() -> None:
    def stop(done: int, total: int, charged: bool) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), reported_to(stop):
        Sanitizer(policy="deidentify").sanitize("Anna Lund lives with her brother in Leeds.")
    report(1, 2)  # nobody watches any more
