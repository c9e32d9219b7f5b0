"""The view: what is visible, what one run is, and that nothing hidden moves it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sanitizer.detect.view import languages, parted, plain

EXCLUDED = Path(__file__).resolve().parents[2] / "models" / "build" / "reader" / "excluded"
READ = sorted(path.stem for path in EXCLUDED.glob("*.txt"))


def shown(text: str, **more: object) -> str:
    """Return a text with its runs in brackets."""
    found = parted(text, **more)  # type: ignore[arg-type]
    parts = zip(found.view.shown, found.runs, strict=False)
    return "".join(f"{a}[{run.written}]" for a, run in parts) + found.view.shown[-1]


@pytest.mark.parametrize("code", READ)
def test_no_name_and_no_sensitive_word_is_on_the_list_of_its_language(code: str) -> None:
    """Words that a reader of the candidates excluded, and some that are no candidates."""
    lines = (EXCLUDED / f"{code}.txt").read_text("utf-8").splitlines()
    excluded = {plain(line) for line in lines if line and not line.startswith("#")}
    listed = languages()[code].words
    assert len(excluded) > 300
    assert not excluded & {plain(word) for word in listed}


def test_there_are_lists_of_24_languages_and_most_were_read() -> None:
    assert len(languages()) >= 24
    assert len(READ) >= 18


@pytest.mark.parametrize(
    ("text", "runs"),
    [
        ("on 2 January 2023", "on [2 January 2023]"),
        ("write to Lund, Marsh and Baker", "write to [Lund], [Marsh] and [Baker]"),
        ("write to J. Marsh", "write to [J. Marsh]"),
        ("it is 1,240.50", "it is [1,240.50]"),
        ("he is O'Brien-Lund", "he is [O'Brien-Lund]"),
        ("don't", "don't"),
        ("我叫王小明，住在上海。", "[我叫王小明]，[住在上海]。"),
        ("Ich war am Montag bei Frau Müller", "Ich war am [Montag] bei [Frau Müller]"),
        ("Please translate:\nmia madre vive da sola in una casa a Soria", None),
    ],
)
def test_what_is_one_run(text: str, runs: str | None) -> None:
    if runs is not None:
        assert shown(text) == runs
    else:
        assert "[Soria]" in shown(text)
        assert "[vive" not in shown(text), "a line in another language has its words"


def test_no_run_goes_across_a_cell() -> None:
    text = "5,7"
    assert shown(text) == "[5,7]"
    assert shown(text, cells=[0, 2]) == "[5],[7]"


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("My father Peter Lund has hepatitis", "en"),
        ("Il mio vicino non mi ha più parlato da quando è tornato", "it"),
        ("Мой сосед не говорит со мной с тех пор, как он вернулся", "ru"),
        ("Lund Marsh Quorn", None),
        ("王小明", None),
    ],
)
def test_the_language_of_a_text(text: str, language: str | None) -> None:
    assert parted(text).view.language == language


HIDDEN = st.sampled_from(
    ["Otto", "Quorn Marsh", "zq", "29 Feb", "4,711", "王小明", "O'Brien", "Нина", "J. Lund-Å", "x9"]
)


@given(first=HIDDEN, second=HIDDEN, middle=st.sampled_from([" and ", ", ", "\n", ": the ", " | "]))
def test_hidden_words_move_nothing_else(first: str, second: str, middle: str) -> None:
    views = {
        parted(f"She saw {value}{middle}{second} again and then left.").view
        for value in (first, "Zed")
    }
    assert len(views) == 1
